/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_CLOCK_H
#define PEAL_CLOCK_H

/*
 * Converts times between the host's clock and the clocks of devices. The
 * host time of Peal is the host's CLOCK_MONOTONIC, in ns. Deadlines are
 * host times. A device has its own clock, with another start and another
 * rate (peal_clock_ns in handlers). peal_kernel_clock (peal/kernel.h) reads
 * the relation of both clocks. peal_clock_to_host or peal_clock_to_device then
 * converts a time. Handlers read the host time with peal_host_time_ns.
 */

#include <stdint.h>

#include <peal/abi/control.h>
#include <peal/errors.h>

PEAL_BEGIN_C

/*
 * For each kernel the runtime keeps a lower and an upper bound of the host's
 * clock (struct peal_clock in peal/abi/control.h). The watchdog thread writes
 * the host's clock to the kernel about 50 times a second. A worker that sees a
 * new value answers with its own clock. Each answer can narrow the bounds.
 * Between answers both bounds widen by 1/1024 of the elapsed time. Two sound
 * clocks drift apart by less. No worker answers while all workers run handlers
 * or sleep. Only the launch of a kernel waits for answers: usually some
 * milliseconds, and up to 8 s without an answer.
 */

/**
 * Returns the host time: the time of the host's clock.
 *
 * Thread-safe, wait-free.
 *
 * @return CLOCK_MONOTONIC in ns.
 */
uint64_t peal_clock_host_ns(void);

/**
 * Converts a time of a device's clock to the host's clock.
 *
 * Thread-safe, wait-free.
 *
 * @param clock           bounds from peal_kernel_clock.
 * @param device_ns       a time that peal_clock_ns returned in a handler.
 * @param uncertainty_out ns. The true time differs from the result by at most
 *                        this value. The value grows with the distance of
 *                        `device_ns` from `clock->at`, in both directions.
 *                        NULL: not wanted.
 * @return CLOCK_MONOTONIC in ns: the middle between the two bounds.
 */
uint64_t peal_clock_to_host(const struct peal_clock *clock, uint64_t device_ns,
			    uint64_t *uncertainty_out);

/**
 * Converts a time of the host's clock to a device's clock.
 *
 * Thread-safe, wait-free.
 *
 * @param clock           bounds from peal_kernel_clock.
 * @param host_ns         a time of CLOCK_MONOTONIC, in ns.
 * @param uncertainty_out ns, as in peal_clock_to_host. NULL: not wanted.
 * @return ns of the device's clock, comparable to peal_clock_ns in handlers.
 */
uint64_t peal_clock_to_device(const struct peal_clock *clock, uint64_t host_ns,
			      uint64_t *uncertainty_out);

PEAL_END_C
#endif
