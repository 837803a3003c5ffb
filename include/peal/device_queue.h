/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_DEVICE_QUEUE_H
#define PEAL_DEVICE_QUEUE_H

/*
 * Queues that the host makes and handlers share.
 *
 * The host calls peal_device_queue_create. The host passes the queue's address
 * to the actors, in a message or in the first bytes of their states. Each actor
 * makes its end of the queue with the functions of peal/device/device_queue.h.
 * The actors then put and take messages, with the functions of
 * PEAL_TYPED_DEVICE_QUEUE (peal/device/typed_queue.h) or with the untyped
 * functions. The host frees the queue with peal_memory_free.
 */

#include <peal/memory.h>
#include <peal/queue.h>

PEAL_BEGIN_C

/**
 * A queue that peal_device_queue_create has made.
 *
 * A put wakes no consumer. Each consumer polls the queue, for example whenever
 * its handler runs. A host thread can have an end only of a link in host
 * memory.
 */
struct peal_device_queue {
	uint64_t address; /* of the first byte, as the device sees it */
	uint64_t bytes; /* of memory from `address` on */
	uint32_t kind; /* enum peal_queue_kind, never PEAL_QUEUE_ANY */
	uint32_t policy; /* enum peal_slot_policy, never PEAL_POLICY_DEFAULT */
	uint32_t capacity; /* slots */
	uint32_t max_producers, max_consumers; /* ends of each role, at most */
	/*
	 * Messages in one bulk put, at most (1..PEAL_QUEUE_BURST). A producer
	 * always gets that many free slots if the consumers take all messages.
	 */
	uint32_t bulk;
	uint64_t message_bytes; /* bytes of the largest message */
};

/**
 * Makes an empty queue in memory that handlers share.
 *
 * In device memory, every end belongs to a worker of that device. The workers
 * may belong to different kernels. In host memory, the queue must be a link.
 * Each end of that link belongs to a worker of any device or to a host thread.
 *
 * The caller frees the queue with peal_memory_free, `device` and
 * `queue_out->address`. No worker and no thread may use an end afterwards.
 *
 * Thread-safe. Kernels may run during the call. Waits for no worker.
 *
 * @param runtime    an open runtime.
 * @param device     device index, or PEAL_HOST_MEMORY.
 * @param options    as for peal_queue_create, except `policy`; NULL: all
 *                   defaults. The device must support `policy`. The default is
 *                   the device's default policy. In host memory, every device
 *                   must support `policy`.
 * @param queue_out  filled on success.
 * @return 0, or a negative error code:
 * @retval PEAL_EINVAL  an argument is NULL, or an option is out of range. Or
 *                      the kind allows fewer ends, or cannot be in host
 *                      memory. The error text names the option, its value and
 *                      the allowed values.
 * @retval PEAL_ENODEV  there is no such device.
 * @retval PEAL_ENOMEM  too little memory is free. The error text says how
 *                      many bytes are free.
 * @retval PEAL_EDRIVER a driver call failed.
 */
int peal_device_queue_create(struct peal_runtime *runtime, int device,
			     const struct peal_queue_options *options,
			     struct peal_device_queue *queue_out);

PEAL_END_C
#endif
