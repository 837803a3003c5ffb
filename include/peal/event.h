/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_EVENT_H
#define PEAL_EVENT_H

/*
 * Events let handlers on one device signal progress to other devices and to the
 * host.
 *
 * A worker of one device, the recorder, records an event. The event counts its
 * records. Handlers of other devices, the watchers, and the host read the count
 * or wait for it. A record goes straight into the memory of each watcher.
 *
 * The host makes an event and sends its addresses to the handlers:
 *
 *	peal_event_create(runtime, device, watchers, n, NULL, &event);
 *	peal_event_address(event, device, &address);	each device
 *	...
 *	peal_event_wait(event, 1, -1);
 *	peal_event_destroy(event);
 *
 * Handlers use peal_event_record, peal_event_count and peal_event_await of
 * peal/device/event.h.
 */

#include <stdint.h>

#include <peal/abi/event.h>
#include <peal/errors.h>

PEAL_BEGIN_C

struct peal_runtime;

/** An event: a count of records, with the time of the latest record. */
struct peal_event;

/** Options of an event. A field of 0 takes its default. */
struct peal_event_options {
	uint32_t size; /* sizeof(struct peal_event_options) */
	uint32_t reserved; /* 0 */
	/*
	 * For error texts (default "event"). Copied, at most 47 bytes: "..."
	 * replaces the middle of more.
	 */
	const char *name;
};

/** The state of an event at its latest record. */
struct peal_event_info {
	char name[48];
	int device; /* index of the recorder's device */
	uint32_t watchers; /* number of other devices that can read the event */
	uint32_t in_host_memory; /* watchers that poll host memory instead */
	uint32_t reserved; /* 0 */
	uint64_t count; /* number of records; 0: the fields below are 0 */
	uint64_t device_ns; /* time of the record by the recorder's clock, ns */
	/*
	 * Time of the record by the host's CLOCK_MONOTONIC, in ns. 0: the
	 * worker did not know the host's clock.
	 */
	uint64_t host_ns;
	uint64_t uncertainty_ns; /* error bound of host_ns, +/- ns */
};

/**
 * Makes an event without records.
 *
 * Handlers of the recorder's device and the host can always read the event.
 *
 * Thread-safe. Blocks while the runtime probes a pair of devices for the first
 * time, as peal_topology_pair does.
 *
 * @param runtime an open runtime.
 * @param device the index of the recorder's device.
 * @param watchers n indices of other devices, each once.
 * @param n 0..PEAL_EVENT_DEVICES_MAX - 1.
 * @param options NULL: all defaults.
 * @param event_out receives the event. The caller destroys it.
 * @return 0, or a negative error code:
 * @retval PEAL_EINVAL  an argument is NULL, `reserved` is not 0, a device
 *     appears twice, or n is too large.
 * @retval PEAL_ENODEV  there is no such device.
 * @retval PEAL_ENOPEER  the recorder and a watcher can access no common memory.
 *     The error text names the two devices.
 * @retval PEAL_ENOMEM  there is not enough memory.
 * @retval PEAL_EDRIVER  a driver call failed.
 */
int peal_event_create(struct peal_runtime *runtime, int device,
		      const int *watchers, uint32_t n,
		      const struct peal_event_options *options,
		      struct peal_event **event_out);

/**
 * Returns the address of an event for the handlers of one device.
 *
 * The address is valid on that device only. The recorder's device can record
 * and read the event by its address. A watcher can only read the event.
 *
 * Thread-safe and wait-free.
 *
 * @param event an event.
 * @param device the index of the recorder's device or of a watcher.
 * @param address_out receives the address for the functions of
 *     peal/device/event.h.
 * @return 0, or a negative error code:
 * @retval PEAL_ENODEV  the device is not one of the event. The error text lists
 *     the event's devices.
 * @retval PEAL_EINVAL  an argument is NULL.
 */
int peal_event_address(const struct peal_event *event, int device,
		       uint64_t *address_out);

/**
 * Waits until an event has a given number of records.
 *
 * After 0 the host sees all data that the recorder wrote before that record.
 *
 * Thread-safe. Blocks until a worker has recorded the event `count` times, or
 * until the timeout.
 *
 * @param event an event.
 * @param count the number of records. 0: the call returns at once.
 * @param timeout_ns ns. 0: only checks; -1: no limit.
 * @return 0, or a negative error code:
 * @retval PEAL_EAGAIN  the timeout is 0 and the event has fewer records.
 * @retval PEAL_ETIMEDOUT  the event still has fewer records. The error text
 *     gives their number.
 * @retval PEAL_EINVAL  event is NULL.
 */
int peal_event_wait(struct peal_event *event, uint64_t count,
		    int64_t timeout_ns);

/**
 * Reads the count of an event and the time of its latest record.
 *
 * Thread-safe. Does not block.
 *
 * @param event an event.
 * @param info_out filled on success. All fields belong to one record.
 * @return 0, or a negative error code:
 * @retval PEAL_EAGAIN  a worker records the event faster than the call can
 *     read; call again.
 * @retval PEAL_EINVAL  an argument is NULL.
 */
int peal_event_info(const struct peal_event *event,
		    struct peal_event_info *info_out);

/**
 * Computes the time between two records, also of events of different devices.
 *
 * The call uses the device's clock if both records are of one device, otherwise
 * the host's clock.
 *
 * Thread-safe.
 *
 * @param earlier filled by peal_event_info.
 * @param later filled by peal_event_info.
 * @param ns_out receives the time from `earlier` to `later` in ns. The time is
 *     negative if `later` is the earlier record.
 * @param uncertainty_out receives the error bound of the time, +/- ns; 0 for
 *     records of one device. NULL: not wanted.
 * @return 0, or a negative error code:
 * @retval PEAL_EAGAIN  one event has no record. Or the devices differ and one
 *     worker did not know the host's clock.
 * @retval PEAL_EINVAL  earlier, later or ns_out is NULL.
 */
int peal_event_elapsed(const struct peal_event_info *earlier,
		       const struct peal_event_info *later, int64_t *ns_out,
		       uint64_t *uncertainty_out);

/**
 * Frees an event.
 *
 * Its addresses become invalid: no handler may use the event any more.
 *
 * Not thread-safe: no other call on this event may run at the same time.
 *
 * @param event an event; NULL: the call does nothing.
 * @return 0.
 */
int peal_event_destroy(struct peal_event *event);

PEAL_END_C
#endif
