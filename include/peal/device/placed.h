/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_DEVICE_PLACED_H
#define PEAL_DEVICE_PLACED_H

#include <peal/abi/placed.h>
#include <peal/device/consumer.h>
#include <peal/device/mailbox.h>
#include <peal/device/producer.h>
#include <peal/device/take_topic.h>
#include <peal/device/take_work.h>

/*
 * Ends of a queue of one's own, out of the address that peal_queue_place of
 * peal/placed.h gave. Who puts or takes keeps its end, in its actor's state:
 *
 *	struct hand { uint64_t queue; struct peal_work_consumer end; };
 *
 *	if (peal_is_leader(w))
 *		result = peal_placed_work_consumer(hand->queue, 0, &hand->end);
 *	...
 *	taken = task_work_pop_burst(peal_placed_work(hand->queue), &hand->end,
 *				    tasks, 8, got);
 *
 * A mailbox needs no more than peal_placed_mailbox: a producer's lease begins as
 * zeros, its consumer has nothing of its own. The ends of a link are made once;
 * others at any time, again too, once who had that end has given it up: a
 * producer by peal_mailbox_return or peal_work_return, a consumer by
 * peal_work_hand_back and peal_work_flush, or by peal_topic_leave. One lane, as
 * all that puts and takes. Wait-free.
 */

/* The header at an address, if a queue with that magic lies behind it. */
static PEAL_DEV PEAL_UNUSED inline const struct peal_placed *
peali_placed(uint64_t address, uint64_t magic)
{
	const struct peal_placed *p =
		(const struct peal_placed *)(uintptr_t)address;

	/* acquire: what lay there before it was placed is not remembered */
	if (!address || peal_load_acquire_sys(&p->magic) != PEAL_PLACED_MAGIC)
		return 0;
	return *(const uint64_t *)(const void *)(p + 1) == magic ? p : 0;
}

/* The same queue itself; 0: it is none. */
static PEAL_DEV PEAL_INLINE void *peali_placed_queue(uint64_t address,
						     uint64_t magic)
{
	return peali_placed(address, magic) ?
		       (void *)(uintptr_t)(address +
					   sizeof(struct peal_placed)) :
		       0;
}

/* Where the messages of an end are unpacked to; 0 where they are not. */
static PEAL_DEV PEAL_INLINE void *
peali_placed_stage(const struct peal_placed *p, uint32_t index)
{
	if (!p->stage_bytes)
		return 0;
	return (void *)((uintptr_t)p + p->stages_offset +
			index * p->stage_bytes);
}

/** The work queue that was placed there; 0: there is none. */
static PEAL_DEV PEAL_UNUSED inline struct peal_work *
peal_placed_work(uint64_t address)
{
	return (struct peal_work *)peali_placed_queue(address, PEAL_WORK_MAGIC);
}

/** The mailbox that was placed there; 0: there is none. */
static PEAL_DEV PEAL_UNUSED inline struct peal_mailbox *
peal_placed_mailbox(uint64_t address)
{
	return (struct peal_mailbox *)peali_placed_queue(address,
							 PEAL_MAILBOX_MAGIC);
}

/** The topic that was placed there; 0: there is none. */
static PEAL_DEV PEAL_UNUSED inline struct peal_topic *
peal_placed_topic(uint64_t address)
{
	return (struct peal_topic *)peali_placed_queue(address,
						       PEAL_TOPIC_MAGIC);
}

/* A link as its producer, end 0, or its consumer sees it. */
static PEAL_DEV PEAL_UNUSED inline int
peali_placed_link(uint64_t address, uint32_t end, struct peal_link_view *view)
{
	const struct peal_placed *p = peali_placed(address, PEAL_RING_MAGIC);
	const struct peal_link_counts *counts;

	if (!p)
		return PEAL_ENOENT;
	view->ring = address + sizeof(*p);
	view->credit = address + p->credit_offset;
	view->counts = view->credit + sizeof(struct peal_credit);
	view->stage = (uintptr_t)peali_placed_stage(p, end);
	view->bell = 0;
	view->message_bytes = p->message_bytes;
	view->mirror = view->actor = view->index = 0;
	counts = (const struct peal_link_counts *)(uintptr_t)view->counts;
	/* one that goes on has to know how far it was */
	return peal_load_relaxed_sys(end ? &counts->delivered :
					   &counts->accepted) ?
		       PEAL_EBUSY :
		       0;
}

/**
 * Makes the sending end of a placed link.
 *
 * @param address of the placed queue
 * @param p       the producer's own
 * @return 0; PEAL_ENOENT no link was placed there; PEAL_EBUSY messages were put
 *         already, by another end.
 */
static PEAL_DEV PEAL_UNUSED inline int
peal_placed_link_producer(uint64_t address, struct peal_link_producer *p)
{
	struct peal_link_view view;
	int result = peali_placed_link(address, 0, &view);

	if (!result)
		peal_link_producer_init(p, &view);
	return result;
}

/**
 * Makes the receiving end of a placed link.
 *
 * @param address of the placed queue
 * @param c       the consumer's own
 * @return 0; PEAL_ENOENT no link was placed there; PEAL_EBUSY messages were
 *         taken already, by another end.
 */
static PEAL_DEV PEAL_UNUSED inline int
peal_placed_link_consumer(uint64_t address, struct peal_link_consumer *c)
{
	struct peal_link_view view;
	int result = peali_placed_link(address, 1, &view);

	if (!result)
		peal_link_consumer_init(c, &view);
	return result;
}

/**
 * Makes a producer's place at a placed work queue.
 *
 * @param address of the placed queue
 * @param p       the producer's own
 * @return 0; PEAL_ENOENT no work queue was placed there.
 */
static PEAL_DEV PEAL_UNUSED inline int
peal_placed_work_producer(uint64_t address, struct peal_work_producer *p)
{
	struct peal_work *q = peal_placed_work(address);

	if (!q)
		return PEAL_ENOENT;
	peal_work_producer_init(q, p);
	return 0;
}

/**
 * Makes a consumer's place at a placed work queue.
 *
 * @param address of the placed queue
 * @param index   of a consumer that nobody else is, below what the queue was
 *                placed for
 * @param c       the consumer's own
 * @return 0; PEAL_ENOENT no work queue was placed there; PEAL_EINVAL it is not
 *         for so many consumers.
 */
static PEAL_DEV PEAL_UNUSED inline int
peal_placed_work_consumer(uint64_t address, uint32_t index,
			  struct peal_work_consumer *c)
{
	const struct peal_placed *p = peali_placed(address, PEAL_WORK_MAGIC);

	if (!p)
		return PEAL_ENOENT;
	if (index >= p->consumers)
		return PEAL_EINVAL;
	peal_work_consumer_init(peal_placed_work(address), c,
				peali_placed_stage(p, index));
	return 0;
}

/**
 * Makes the publisher's place at a placed topic.
 *
 * @param address of the placed queue
 * @param p       the publisher's own
 * @return 0; PEAL_ENOENT no topic was placed there.
 */
static PEAL_DEV PEAL_UNUSED inline int
peal_placed_publisher(uint64_t address, struct peal_topic_publisher *p)
{
	struct peal_topic *t = peal_placed_topic(address);

	if (!t)
		return PEAL_ENOENT;
	peal_topic_publisher_init(t, p);
	return 0;
}

/**
 * Joins a placed topic.
 *
 * @param address of the placed queue
 * @param index   of a consumer that nobody else is, below what the queue was
 *                placed for
 * @param oldest  as for peal_topic_join
 * @param s       the subscriber's own
 * @return 0; PEAL_ENOENT no topic was placed there; PEAL_EINVAL it is not for so
 *         many consumers.
 */
static PEAL_DEV PEAL_UNUSED inline int
peal_placed_subscriber(uint64_t address, uint32_t index, int oldest,
		       struct peal_topic_subscriber *s)
{
	const struct peal_placed *p = peali_placed(address, PEAL_TOPIC_MAGIC);

	if (!p)
		return PEAL_ENOENT;
	return peal_topic_join(peal_placed_topic(address), s, index, oldest,
			       peali_placed_stage(p, index));
}

#endif
