/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_CLOCK_H
#define PEAL_CLOCK_H

#include <stdint.h>

#include <peal/abi/control.h>
#include <peal/errors.h>

#ifdef __cplusplus
extern "C" {
#endif

struct peal_kernel;

/*
 * Clocks. What all of Peal has in common is the host's CLOCK_MONOTONIC, in ns:
 * deadlines are points of that. A device has a clock of its own, peal_clock_ns
 * in handlers, which began at some other time and is not quite as fast. For
 * each kernel the runtime knows two bounds between which the host's clock is
 * (struct peal_clock, peal/abi/control.h): the watchdog writes its clock into
 * the lease word, some 50 times a second; a worker that sees it answers with
 * its own, which is thus later; and what a worker has said of its clock when
 * the host reads it is earlier than that. Nobody waits for it but the launch,
 * some milliseconds at most. As long as no worker looks (all are in handlers,
 * or asleep) the bounds grow wider by 1 in 1024 of the time, which is more than
 * two clocks that are in order drift apart. Handlers: peal_common_ns.
 */

/**
 * The time that all have in common: the host's clock.
 *
 * @return CLOCK_MONOTONIC in ns. Thread-safe, wait-free.
 */
uint64_t peal_clock_common_ns(void);

/**
 * How the clock of a kernel's device stands to the host's.
 *
 * @param kernel    a kernel in any state.
 * @param clock_out the bounds, as of the latest contact.
 * @return 0; PEAL_EAGAIN no worker has said yet what its clock is; PEAL_EINVAL.
 *         Thread-safe.
 */
int peal_kernel_clock(struct peal_kernel *kernel, struct peal_clock *clock_out);

/**
 * A time of a device's clock as one of the host's.
 *
 * @param clock           of peal_kernel_clock.
 * @param device_ns       what peal_clock_ns has said in a handler.
 * @param uncertainty_out the host's clock was within so many ns of the result,
 *                        to either side; NULL: not wanted. The further device_ns
 *                        is from clock->at, before or behind, the more.
 * @return CLOCK_MONOTONIC in ns. Thread-safe, wait-free.
 */
uint64_t peal_clock_to_host(const struct peal_clock *clock, uint64_t device_ns,
			    uint64_t *uncertainty_out);

/**
 * A time of the host's clock as one of a device's.
 *
 * @param clock           of peal_kernel_clock.
 * @param host_ns         CLOCK_MONOTONIC in ns.
 * @param uncertainty_out as peal_clock_to_host.
 * @return in ns, as peal_clock_ns says it in handlers. Thread-safe, wait-free.
 */
uint64_t peal_clock_to_device(const struct peal_clock *clock, uint64_t host_ns,
			      uint64_t *uncertainty_out);

#ifdef __cplusplus
}
#endif
#endif
