/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_WORK_SHARE_H
#define PEAL_WORK_SHARE_H

/*
 * Work stealing between the work queues of devices, without the host.
 *
 * Each device has a work queue (peal/device_queue.h). The handlers of a device put
 * and take messages there. peal_work_share_create starts a forwarder on each
 * device: a kernel of one worker. If its queue is nearly empty, a forwarder asks the
 * others in turn. Another forwarder takes messages from its queue and sends them by
 * a link. The host takes no part: its threads may sleep. A forwarder measures how fast
 * its queue empties. So it looks again about when the queue is nearly empty.
 *
 * A message is in one queue at a time, so one consumer gets it. A message that
 * moves loses its place in the order. A forwarder gives at most the part of its
 * queue that belongs to one of n devices. So devices of unequal speed end at nearly
 * equal times, if each message takes little time.
 *
 * A device or a consumer can end before the messages of its queue. The share then
 * leaves some of them there: `low` messages, or all if its forwarder has ended too.
 */

#include <stdint.h>

#include <peal/device_queue.h>
#include <peal/errors.h>

PEAL_BEGIN_C

struct peal_runtime;
struct peal_work_share;

/** Options of a share. A field of 0 takes its default. */
struct peal_work_share_options {
	uint32_t size; /* sizeof(struct peal_work_share_options) */
	uint32_t batch; /* messages of an answer (default 8, 1..8) */
	/*
	 * A forwarder asks if its queue has fewer messages, and keeps as many
	 * (default 2, 1..2^20). Use about the number of a device's consumers.
	 * The messages that it keeps stay in the queue if the consumers of the
	 * device end.
	 */
	uint32_t low;
	uint32_t reserved; /* 0 */
	/*
	 * ns between two looks of a forwarder at its queue: at least (default
	 * 20000), and at most (default 5000000). 1000..10^9 each. The time of an
	 * idle share doubles with each look.
	 *
	 * An idle share of n queues looks n times per most_ns. With short times
	 * it uses much of a core, and peal_device_sync may never see idle
	 * devices. With the default times, an idle share of 24 emulated devices
	 * uses most of a core, and peal_device_sync needs seconds. So give a
	 * large share a longer most_ns, for example in proportion to n.
	 * An idle device then notices work of the others later.
	 *
	 * A most_ns of 0 is least_ns if the default is less.
	 */
	uint64_t least_ns, most_ns;
	const char *name; /* for texts (default "share"); at most 47 bytes are
			   * kept */
};

/** Counts of a forwarder. Each is read alone. */
struct peal_work_share_info {
	int device; /* index */
	uint64_t asked; /* answers of other forwarders */
	uint64_t refused; /* of these: without a message */
	uint64_t given, taken; /* messages to and from other forwarders */
	uint64_t held; /* now: taken, and the queue has no free slot */
	uint64_t looks; /* at its queue; each asks one other forwarder, and
			 * after a refusal the next one */
};

/**
 * Starts the forwarders of n work queues.
 *
 * Each queue needs a producer and a consumer for the forwarder: the consumer with
 * the number max_consumers - 1. The handlers use the other ones. The caller frees
 * the queues after peal_work_share_destroy. Before, peal_memory_free fails with
 * PEAL_EBUSY.
 *
 * The runtime owns the share. peal_work_share_destroy or peal_runtime_shutdown ends
 * it. Thread-safe. Blocks until the workers run.
 *
 * @param runtime   an open runtime.
 * @param devices   n indexes of devices; queue i is in the memory of device i.
 * @param queues    n queues of kind PEAL_QUEUE_WORK with equal message_bytes.
 * @param n         number of queues, 2..24.
 * @param options   NULL for all defaults.
 * @param share_out set on success.
 * @return 0, or a negative error code:
 * @retval PEAL_EINVAL  a pointer is NULL, or an option or n is out of range. Or a
 *                      queue is no work queue, is in another share, or allows
 *                      one producer or consumer. Or the queues have
 *                      unequal message_bytes, or a queue is given twice.
 * @retval PEAL_EFAULT  a queue is not in allocated memory of its device.
 * @retval PEAL_ENODEV  there is no such device.
 * @retval PEAL_ENOMEM  a device or the host has too little memory.
 * @retval PEAL_ENOPEER a pair of devices has no route.
 * @retval PEAL_ENOSPC  a device has too many kernels.
 * @retval PEAL_EPROGRAM a device has no image of the forwarder.
 * @retval PEAL_EHUNG   a worker did not answer within PEAL_CONTROL_TIMEOUT_MS.
 */
int peal_work_share_create(struct peal_runtime *runtime, const int *devices,
			   const struct peal_device_queue *queues, uint32_t n,
			   const struct peal_work_share_options *options,
			   struct peal_work_share **share_out);

/**
 * Reads the counts of a forwarder. Thread-safe. The forwarder goes on meanwhile.
 *
 * @param share    a share.
 * @param index    number of the queue, from 0.
 * @param info_out filled on success.
 * @return 0, or a negative error code:
 * @retval PEAL_ENOENT  there is no such queue.
 * @retval PEAL_EINVAL  a pointer is NULL.
 */
int peal_work_share_info(struct peal_work_share *share, uint32_t index,
			 struct peal_work_share_info *info_out);

/**
 * Ends the forwarders and frees the share.
 *
 * The messages stay in the queues. No message is lost: the forwarders first put
 * all messages that they hold into their queues. If a queue stays full, the call
 * fails, and the share still exists: let consumers take messages, and call again.
 * The forwarders then steal no more.
 *
 * Not thread-safe: no other call on the share may run. Waits for the forwarders for
 * at most PEAL_CONTROL_TIMEOUT_MS, and then for the ends of their kernels.
 *
 * @param share a share; NULL does nothing.
 * @return 0, or a negative error code:
 * @retval PEAL_ETIMEDOUT a forwarder holds messages, and its queue is full.
 * @retval PEAL_EHUNG     a worker did not answer. The share still exists. A
 *                        share with an ended kernel ends at once, and PEAL_LOG
 *                        names the messages that were between two queues.
 */
int peal_work_share_destroy(struct peal_work_share *share);

PEAL_END_C
#endif
