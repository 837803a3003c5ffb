/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_EVENT_H
#define PEAL_EVENT_H

/*
 * Events let one device signal progress to other devices and to the host.
 *
 * A worker of one device, the recorder, records an event. The event counts its
 * records. Handlers of other devices, the watchers, and the host read the count
 * or wait for it. A record goes straight into the memory of each watcher.
 *
 * An event with the option `by_host` is recorded by the host, when the recorder
 * has done its work (peal_event_record_behind). peal_event_await_before lets
 * later work of a device wait for an event, also of another device:
 *
 *	peal_send(...);					work of device 0
 *	peal_event_record_behind(event);		of device 0, by_host
 *	peal_event_await_before(event, 1, 1);
 *	peal_send(...);					work of device 1
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
	/*
	 * 1: peal_event_record_behind records the event, and no handler may
	 * record it. 0: handlers of the recorder's device record it.
	 */
	uint32_t by_host;
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
	uint32_t by_host; /* the option of peal_event_create */
	uint64_t count; /* number of records; 0: the fields below are 0 */
	/* Time of the record by the recorder's clock, ns. With `by_host`: by
	 * the host's clock. */
	uint64_t device_ns;
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
 * Handlers of the recorder's device and the host can always read the event. If
 * the host records the event, all devices poll host memory.
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
 * @retval PEAL_EINVAL  an argument is NULL, `by_host` is above 1, a device
 *     appears twice, or n is too large.
 * @retval PEAL_ENODEV  there is no such device.
 * @retval PEAL_ENOPEER  the recorder and a watcher can access no common memory,
 *     or with `by_host` a device cannot read host memory. The error text names
 *     the devices.
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
 * and read the event by its address, unless the host records the event. A
 * watcher can only read the event.
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
 * Thread-safe. Blocks until the event was recorded `count` times, or until the
 * timeout.
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
 * The call uses the device's clock if both records are of one device. For other
 * records, or if `by_host` differs, it uses the host's clock.
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
 * Records an event of the host behind all work of the recorder's device.
 *
 * The record takes effect later, at a moment at which the device has no work.
 * peal_device_sync defines this work: messages, jobs, copies, runs of graphs and
 * collectives. The moment is after the call. So all work is done that any
 * thread submitted to the device before the call. Submitted is:
 * - a message, once peal_send or another call that sends it has returned.
 * - a job, a copy, a run or a collective, once the call that starts it has
 *   returned.
 *
 * The record does not wait for copies that start later, nor for the end of later
 * jobs, runs and collectives. Nor does it wait for messages that an endpoint
 * sends behind a later peal_event_await_before. Other later messages may delay
 * the record, such as those of later jobs. So a device that always has messages
 * never gets it. Work of a kernel that has ended does not delay the record. An
 * item of a pipeline counts as work of the device that has its message.
 *
 * Two records can wait for each other. Each device then has messages that were
 * sent after its record, behind an await of the other record. To prevent this,
 * record both events before the messages are sent, and wait for the first one.
 *
 * No record takes effect while another call waits for a worker, such as
 * peal_actor_spawn. So a handler must not wait for a record of the host while the
 * host may call its worker.
 *
 * A thread of the runtime makes the record: it adds 1 to the count. Handlers and
 * host threads that see the record see all data that the work has written. Each
 * call makes one record.
 *
 * Thread-safe. Does not wait for the work.
 *
 * @param event an event with the option `by_host`.
 * @return 0, or a negative error code:
 * @retval PEAL_EINVAL  event is NULL.
 * @retval PEAL_ENOTSUP  handlers record the event.
 * @retval PEAL_ENOMEM  there is not enough memory, or no further thread.
 */
int peal_event_record_behind(struct peal_event *event);

/**
 * Makes later work of a device wait until an event has a given number of records.
 *
 * The call returns at once. Work that the host submits to the device after the
 * call waits. Earlier work does not, so it may record the event. After several
 * calls, work waits for all of these events. Work that waits:
 * - a message from an endpoint by a link to a kernel of the device. The kernel
 *   may be launched later. The message waits in its link, behind the earlier ones
 *   and a mark, which takes a slot. A full link makes its sender wait, and so does
 *   a link with messages behind 16 such calls. A message of peal_send_reserve
 *   counts from that call on.
 * - a request, and an item of a pipeline, with its message to the device.
 * - the end of a stream by peal_send_end.
 * - the part of a graph's run or of a collective on the device. Other devices
 *   begin their parts. peal_collective_start refuses a collective with
 *   PEAL_EBUSY if the call itself has to copy data of the device.
 * - a job of an executor that has the device. The job assigns no task to any
 *   device meanwhile. A job without elements does not wait.
 * - a change of peer access in the background (peal_peer_enable_async) that gives
 *   the device access, or ends it.
 * - a copy in the background from the device or to it. Other copies go on, unless
 *   they use the memory that this copy writes, or write the memory that it reads.
 *   A transfer with several devices on a side counts as using all memory.
 *
 * A call that itself does its work does not wait, such as peal_peer_copy,
 * peal_transfer_run, peal_buffer_write, peal_actor_spawn or
 * peal_kernel_tell_all. Call peal_event_wait before it. Messages that handlers
 * send do not wait, and neither do timers. Nor do messages from endpoints of other
 * processes, and entries that the host puts into queues of peal/device_queue.h.
 *
 * An event that is never recorded holds the work until peal_event_cancel. A
 * kernel that stops or aborts meanwhile loses these messages as usual. The
 * timeouts of calls that wait for the work hold as usual.
 *
 * After the event, handlers of the device see all data that was written before
 * that record. A thread of the runtime looks at the event, so the work begins up
 * to some milliseconds later.
 *
 * Thread-safe. Does not wait for the event.
 *
 * @param event an event of any device, recorded by handlers or by the host.
 * @param count the number of records. If the event has them, the call does
 *     nothing.
 * @param device the index of the device with the work that waits.
 * @return 0, or a negative error code:
 * @retval PEAL_EINVAL  event is NULL.
 * @retval PEAL_ENODEV  the event's runtime has no such device.
 * @retval PEAL_ENOMEM  there is not enough memory, or no further thread.
 */
int peal_event_await_before(struct peal_event *event, uint64_t count,
			    int device);

/**
 * Cancels all records and awaits of the host that have not taken effect yet.
 *
 * A cancelled record does not count. Work that waits for a cancelled await goes
 * on, as if the event were recorded.
 *
 * Thread-safe. Blocks while the runtime's thread looks at such a record. A look
 * takes as long as peal_device_sync with timeout 0, or as another call that waits
 * for a worker.
 *
 * @param event an event.
 * @return 0, or a negative error code:
 * @retval PEAL_EINVAL  event is NULL.
 */
int peal_event_cancel(struct peal_event *event);

/**
 * Frees an event.
 *
 * Its addresses become invalid: no handler may use the event any more. A handler
 * may still be in its call when the host sees the record. Then call
 * peal_device_sync of the recorder's device first. peal_runtime_shutdown frees all
 * events. Pending records then do not count, and work that waits for an event does
 * not begin any more.
 *
 * Not thread-safe: no other call on this event may run at the same time.
 *
 * @param event an event; NULL: the call does nothing.
 * @return 0, or a negative error code:
 * @retval PEAL_EBUSY  a record or an await of the host has not taken effect yet.
 */
int peal_event_destroy(struct peal_event *event);

PEAL_END_C
#endif
