/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_DEVICE_DEVICE_QUEUE_H
#define PEAL_DEVICE_DEVICE_QUEUE_H

#include <peal/abi/device_queue.h>
#include <peal/device/link_consumer.h>
#include <peal/device/mailbox.h>
#include <peal/device/link_producer.h>
#include <peal/device/topic_subscriber.h>
#include <peal/device/work_consumer.h>

/*
 * Ends of a placed queue. The host makes the queue by peal_device_queue_create
 * (peal/device_queue.h) and passes its address to the actors. An actor keeps
 * its end in its state:
 *
 *	struct hand { uint64_t queue; struct peal_work_consumer end; };
 *
 *	if (peal_is_leader(w))
 *		result = peal_device_queue_work_consumer(h->queue, 0, &h->end);
 *	...
 *	taken = task_work_pop_burst(peal_device_queue_work(h->queue), &h->end,
 *				    tasks, 8, got);
 *
 * For a mailbox, peal_device_queue_mailbox suffices: a producer's lease begins
 * as zeros, and the consumer has no private state. Each end of a link can be
 * made once. Other ends can be made at any time, and again after the earlier
 * owner has given them up:
 *
 * - A producer calls peal_mailbox_lease_release or peal_work_lease_release.
 * - A consumer calls peal_work_unclaim.
 * - A subscriber calls peal_topic_leave.
 *
 * All calls are wait-free and for one lane.
 */

/* Returns the header at an address if a queue with that magic number follows,
 * else 0. */
static PEAL_DEV PEAL_UNUSED inline const struct peal_device_queue_header *
peali_device_queue_check(uint64_t address, uint64_t magic)
{
	const struct peal_device_queue_header *p =
		(const struct peal_device_queue_header *)(uintptr_t)address;

	/* acquire: drops stale cache lines from before the placement */
	if (!address ||
	    peal_load_acquire_sys(&p->magic) != PEAL_DEVICE_QUEUE_MAGIC)
		return 0;
	return *(const uint64_t *)(const void *)(p + 1) == magic ? p : 0;
}

/* Returns the queue at an address, or 0. */
static PEAL_DEV PEAL_INLINE void *peali_device_queue_at(uint64_t address,
							uint64_t magic)
{
	return peali_device_queue_check(address, magic) ?
		       (void *)(uintptr_t)(address +
					   sizeof(struct peal_device_queue_header)) :
		       0;
}

/* Returns the buffer for unpacking of an end; 0: no buffer is needed. */
static PEAL_DEV PEAL_INLINE void *
peali_device_queue_stage(const struct peal_device_queue_header *p,
			 uint32_t index)
{
	if (!p->stage_bytes)
		return 0;
	return (void *)((uintptr_t)p + p->stages_offset +
			index * p->stage_bytes);
}

/** Returns the work queue that was placed at an address, or 0. */
static PEAL_DEV PEAL_UNUSED inline struct peal_work *
peal_device_queue_work(uint64_t address)
{
	return (struct peal_work *)peali_device_queue_at(address,
							 PEAL_WORK_MAGIC);
}

/** Returns the mailbox that was placed at an address, or 0. */
static PEAL_DEV PEAL_UNUSED inline struct peal_mailbox *
peal_device_queue_mailbox(uint64_t address)
{
	return (struct peal_mailbox *)peali_device_queue_at(address,
							    PEAL_MAILBOX_MAGIC);
}

/** Returns the topic that was placed at an address, or 0. */
static PEAL_DEV PEAL_UNUSED inline struct peal_topic *
peal_device_queue_topic(uint64_t address)
{
	return (struct peal_topic *)peali_device_queue_at(address,
							  PEAL_TOPIC_MAGIC);
}

/* Fills in a link's view for its producer (end 0) or its consumer (end 1). */
static PEAL_DEV PEAL_UNUSED inline int
peali_device_queue_link(uint64_t address, uint32_t end,
			struct peal_link_view *view)
{
	const struct peal_device_queue_header *p =
		peali_device_queue_check(address, PEAL_RING_MAGIC);
	const struct peal_link_counts *counts;

	if (!p)
		return PEAL_ENOENT;
	view->ring = address + sizeof(*p);
	view->credit = address + p->credit_offset;
	view->counts = view->credit + sizeof(struct peal_credit);
	view->stage = (uintptr_t)peali_device_queue_stage(p, end);
	view->bell = 0;
	view->message_bytes = p->message_bytes;
	view->mirror = 0;
	view->actor = 0;
	view->index = 0;
	counts = (const struct peal_link_counts *)(uintptr_t)view->counts;
	/* a later end would have to know the earlier end's position */
	return peal_load_relaxed_sys(end ? &counts->delivered :
					   &counts->accepted) ?
		       PEAL_EBUSY :
		       0;
}

/**
 * Makes the sending end of a placed link.
 *
 * @param address address of the placed queue.
 * @param p       the producer's private state, filled on success.
 * @return 0, or a negative error code:
 * @retval PEAL_ENOENT  there is no placed link.
 * @retval PEAL_EBUSY   another end has put messages already.
 */
static PEAL_DEV PEAL_UNUSED inline int
peal_device_queue_link_producer(uint64_t address, struct peal_link_producer *p)
{
	struct peal_link_view view;
	int result = peali_device_queue_link(address, 0, &view);

	if (!result)
		peal_link_producer_init(p, &view);
	return result;
}

/**
 * Makes the receiving end of a placed link.
 *
 * @param address address of the placed queue.
 * @param c       the consumer's private state, filled on success.
 * @return 0, or a negative error code:
 * @retval PEAL_ENOENT  there is no placed link.
 * @retval PEAL_EBUSY   another end has taken messages already.
 */
static PEAL_DEV PEAL_UNUSED inline int
peal_device_queue_link_consumer(uint64_t address, struct peal_link_consumer *c)
{
	struct peal_link_view view;
	int result = peali_device_queue_link(address, 1, &view);

	if (!result)
		peal_link_consumer_init(c, &view);
	return result;
}

/**
 * Makes a producer of a placed work queue.
 *
 * @param address address of the placed queue.
 * @param p       the producer's private state, filled on success.
 * @return 0, or a negative error code:
 * @retval PEAL_ENOENT  there is no placed work queue.
 */
static PEAL_DEV PEAL_UNUSED inline int
peal_device_queue_work_producer(uint64_t address, struct peal_work_producer *p)
{
	struct peal_work *q = peal_device_queue_work(address);

	if (!q)
		return PEAL_ENOENT;
	peal_work_producer_init(q, p);
	return 0;
}

/**
 * Makes a consumer of a placed work queue.
 *
 * @param address address of the placed queue.
 * @param index   index of a consumer without another owner, below `consumers`
 *                of struct peal_device_queue.
 * @param c       the consumer's private state, filled on success.
 * @return 0, or a negative error code:
 * @retval PEAL_ENOENT  there is no placed work queue.
 * @retval PEAL_EINVAL  index is too large.
 */
static PEAL_DEV PEAL_UNUSED inline int
peal_device_queue_work_consumer(uint64_t address, uint32_t index,
				struct peal_work_consumer *c)
{
	const struct peal_device_queue_header *p =
		peali_device_queue_check(address, PEAL_WORK_MAGIC);

	if (!p)
		return PEAL_ENOENT;
	if (index >= p->consumers)
		return PEAL_EINVAL;
	peal_work_consumer_init(peal_device_queue_work(address), c,
				peali_device_queue_stage(p, index));
	return 0;
}

/**
 * Makes the publisher of a placed topic.
 *
 * @param address address of the placed queue.
 * @param p       the publisher's private state, filled on success.
 * @return 0, or a negative error code:
 * @retval PEAL_ENOENT  there is no placed topic.
 */
static PEAL_DEV PEAL_UNUSED inline int
peal_device_queue_publisher(uint64_t address, struct peal_topic_publisher *p)
{
	struct peal_topic *t = peal_device_queue_topic(address);

	if (!t)
		return PEAL_ENOENT;
	peal_topic_publisher_init(t, p);
	return 0;
}

/**
 * Joins a placed topic.
 *
 * @param address address of the placed queue.
 * @param index   index of a subscriber without another owner, below `consumers`
 *                of struct peal_device_queue.
 * @param oldest  as for peal_topic_join.
 * @param s       the subscriber's private state, filled on success.
 * @return 0, or a negative error code:
 * @retval PEAL_ENOENT  there is no placed topic.
 * @retval PEAL_EINVAL  index is too large.
 */
static PEAL_DEV PEAL_UNUSED inline int
peal_device_queue_subscriber(uint64_t address, uint32_t index, int oldest,
			     struct peal_topic_subscriber *s)
{
	const struct peal_device_queue_header *p =
		peali_device_queue_check(address, PEAL_TOPIC_MAGIC);

	if (!p)
		return PEAL_ENOENT;
	return peal_topic_join(peal_device_queue_topic(address), s, index,
			       oldest, peali_device_queue_stage(p, index));
}

#endif
