/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_EVENT_H
#define PEAL_EVENT_H

#include <stdint.h>

#include <peal/abi/event.h>
#include <peal/errors.h>

#ifdef __cplusplus
extern "C" {
#endif

struct peal_runtime;

/*
 * Events: a handler on one device records that it has come so far, and how often;
 * handlers on other devices wait for that or look, and so does the host. A record
 * goes straight into the memory of each device that it is for. The device's side is
 * in peal/device/event.h: peal_event_record, peal_event_count, peal_event_await.
 */
struct peal_event;

/** Zero in a field: its default. */
struct peal_event_options {
	uint32_t size; /* sizeof(struct peal_event_options) */
	uint32_t reserved; /* 0 */
	const char *name; /* for texts; "event". Copied. */
};

/** An event, and when it was recorded last. */
struct peal_event_info {
	char name[48];
	int device; /* whose worker records it */
	uint32_t watchers; /* other devices that it is for */
	uint32_t in_host_memory; /* of them, those that look into host memory */
	uint32_t reserved;
	uint64_t count; /* times that it was recorded; 0: the rest is 0 */
	uint64_t device_ns; /* the clock of its device then */
	uint64_t common_ns; /* the host's clock, CLOCK_MONOTONIC, then; 0: the
			     * worker did not know it */
	uint64_t uncertainty_ns; /* it was within so many ns of that */
};

/**
 * Makes an event, which was never recorded.
 *
 * @param runtime   an open runtime.
 * @param device    whose worker records it.
 * @param watchers  n other devices whose handlers look at it, each once; those of
 *                  `device` and the host always can.
 * @param n         0 .. PEAL_EVENT_DEVICES_MAX - 1.
 * @param options   NULL for all defaults.
 * @param event_out the event; the caller destroys it.
 * @return 0; PEAL_EINVAL a device is named twice, or too many; PEAL_ENODEV;
 *         PEAL_ENOPEER the two have no memory in common (named); PEAL_ENOMEM.
 *         Thread-safe; as peal_topology_pair for pairs that were not probed yet.
 */
int peal_event_create(struct peal_runtime *runtime, int device,
		      const int *watchers, uint32_t n,
		      const struct peal_event_options *options,
		      struct peal_event **event_out);

/**
 * The address by which handlers of a device name an event.
 *
 * @param event       an event.
 * @param device      its device, for peal_event_record too; or a watcher.
 * @param address_out for peal/device/event.h, there alone.
 * @return 0; PEAL_ENODEV it is not for that device (the text says for which);
 *         PEAL_EINVAL. Thread-safe, wait-free.
 */
int peal_event_address(const struct peal_event *event, int device,
		       uint64_t *address_out);

/**
 * Waits until an event was recorded so often.
 *
 * @param event      an event.
 * @param count      0 is always so.
 * @param timeout_ns 0 looks, -1 waits for ever.
 * @return 0 it was, and what its worker has written before can be read;
 *         PEAL_EAGAIN not yet, of a timeout of 0; PEAL_ETIMEDOUT (the text says
 *         how often it was); PEAL_EINVAL. Thread-safe.
 */
int peal_event_wait(struct peal_event *event, uint64_t count,
		    int64_t timeout_ns);

/**
 * How often an event was recorded, and when.
 *
 * @param event    an event.
 * @param info_out filled on success, all of one record.
 * @return 0; PEAL_EAGAIN it is being recorded again and again, faster than it can be
 *         read; PEAL_EINVAL. Thread-safe.
 */
int peal_event_info(const struct peal_event *event,
		    struct peal_event_info *info_out);

/**
 * The time from one record to another, of events of any two devices.
 *
 * @param earlier         of peal_event_info.
 * @param later           of peal_event_info; may be the earlier one: then it is
 *                        negative.
 * @param ns_out          by the device's clock, if both are of one device; else by
 *                        the host's.
 * @param uncertainty_out it was within so many ns of that; 0 on one device. NULL:
 *                        not wanted.
 * @return 0; PEAL_EAGAIN one was never recorded, or its worker did not know the
 *         host's clock; PEAL_EINVAL. Thread-safe.
 */
int peal_event_elapsed(const struct peal_event_info *earlier,
		       const struct peal_event_info *later, int64_t *ns_out,
		       uint64_t *uncertainty_out);

/**
 * Frees an event. No handler names it any more.
 *
 * @param event an event; NULL does nothing.
 * @return 0. No other call on it may run at the same time.
 */
int peal_event_destroy(struct peal_event *event);

/** For peal_device_sync: all devices of the runtime. */
#define PEAL_ALL_DEVICES (-2)

/**
 * Waits for a moment at which a device has nothing to do: every message for its
 * kernels that a link has accepted, a topic has published or a handler has told is
 * handled or dead. Where handlers tell each other for ever there is no such moment.
 * Kernels that have ended do not count, what waits at a suspended one does. Timers that
 * have not fired do not, nor asks that wait for who has not answered. A link of which a
 * process has died that sent there may miss a message for ever: destroy it. On GPUs it
 * has to last some hundredths of a second, until all workers have said so.
 *
 * @param runtime    an open runtime.
 * @param device     its index, or PEAL_ALL_DEVICES.
 * @param timeout_ns 0 looks, which on GPUs is never long enough; -1 waits for ever.
 * @return 0, and what handlers had written then can be read; PEAL_EAGAIN not now, of
 *         a timeout of 0; PEAL_ETIMEDOUT (the text says what there is to do, and
 *         where); PEAL_ENODEV; PEAL_EINVAL. Thread-safe.
 */
int peal_device_sync(struct peal_runtime *runtime, int device,
		     int64_t timeout_ns);

#ifdef __cplusplus
}
#endif
#endif
