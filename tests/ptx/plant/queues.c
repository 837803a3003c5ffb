/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernels of one lane that use Peal's queues. They check the bytes and the order
 * of each message, and that it arrives once. A wrong message executes `trap`.
 */
#include <peal/device/kernel.h>
#include <peal/device/topic_subscriber.h>
#include <peal/device/work_abandon.h>
#include <peal/device/work_consumer.h>

#include "tests/ptx/plant/item.h"
#include "tests/ptx/plant/queues.h"

#define HEADER ((struct peal_header){ 1, 2, 0 })
#define NEED(condition)                                                        \
	do {                                                                   \
		if (!(condition))                                              \
			__trap();                                              \
	} while (0)

/* Whether a message has the header of all messages. */
static PEAL_DEV int is_header(struct peal_header header)
{
	return header.actor == HEADER.actor && header.type == HEADER.type &&
	       !header.flags;
}

/* The parameters of all kernels: see struct queue_role. */
#define ROLE(name)                                                             \
	PEAL_KERNEL void name(void *queue, void *end, uint64_t n, uint64_t id, \
			      uint64_t *words)

/* ---- links --------------------------------------------------------------- */

/* Writes a message where the link has reserved memory. */
static PEAL_DEV void commit(struct peal_link_producer *p, uint32_t from,
			    uint32_t number, uint32_t bytes)
{
	void *to = 0;

	while (peal_link_reserve(p, bytes, &to))
		;
	item_fill((uint32_t *)to, from, number, bytes);
	peal_link_commit(p, HEADER, bytes);
}

ROLE(link_put)
{
	struct peal_link_producer *p = (struct peal_link_producer *)end;
	struct item item;
	uint32_t from = (uint32_t)id, i, bytes;

	(void)queue;
	(void)words;
	for (i = 0; i < n; i++) {
		bytes = item_bytes(from, i, QUEUE_LONG);
		if (i % 2) {
			commit(p, from, i, bytes);
			continue;
		}
		item_fill(item.word, from, i, bytes);
		while (peal_link_push(p, HEADER, item.word, bytes))
			;
	}
	while (peal_link_push_mark(p, PEAL_KIND_END))
		;
}

/* Puts pairs of short messages, then a SEAL. */
ROLE(link_put_pairs)
{
	struct peal_link_producer *p = (struct peal_link_producer *)end;
	uint32_t pair[8], i;

	(void)queue;
	(void)words;
	for (i = 0; i < n; i += 2) {
		item_fill(pair, (uint32_t)id, i, 16);
		item_fill(pair + 4, (uint32_t)id, i + 1, 16);
		while (peal_link_push_bulk(p, HEADER, pair, 16, 2))
			;
	}
	while (peal_link_push_mark(p, PEAL_KIND_SEAL))
		;
}

/* Takes a message. Every second time it uses two loaded words only after the
 * release. */
static PEAL_DEV void take(struct peal_link_consumer *c,
			  const struct peal_message *m, uint32_t from,
			  uint32_t number)
{
	const uint32_t *word = (const uint32_t *)m->data;
	uint32_t bytes = (uint32_t)m->length, last = bytes / 4 - 1, w0, w1;

	NEED(is_header(m->header));
	NEED(m->sequence == number && bytes >= ITEM_MIN &&
	     bytes <= c->message_bytes);
	if (number % 2) {
		NEED(item_is(word, bytes, from, number));
		peal_link_release(c, m);
		return;
	}
	w0 = word[0];
	w1 = word[last];
	peal_link_release(c, m);
	NEED(w0 == number && w1 == item_word(from, number, bytes, last));
}

/* Takes n messages and a mark. A SEAL lets the host reuse the ring. */
ROLE(link_take)
{
	struct peal_link_consumer *c = (struct peal_link_consumer *)end;
	struct peal_message m;
	uint32_t i = 0;

	(void)queue;
	(void)words;
	for (;;) {
		if (peal_link_peek(c, &m)) {
			peal_link_flush_credit(c);
			continue;
		}
		if (peali_kind_is_mark(m.kind))
			break;
		take(c, &m, (uint32_t)id, i++);
	}
	NEED(i == n);
	peal_link_release_mark(c, m.kind);
}

/* ---- mailbox ------------------------------------------------------------- */

/* Puts two messages by one call. */
static PEAL_DEV void put_pair(struct peal_mailbox *m,
			      struct peal_mailbox_lease *lease, uint32_t from,
			      uint32_t number)
{
	uint32_t pair[8];

	item_fill(pair, from, number, 16);
	item_fill(pair + 4, from, number + 1, 16);
	while (peal_mailbox_put_bulk(m, lease, HEADER, pair, 16, 2))
		;
}

ROLE(mailbox_put)
{
	struct peal_mailbox *m = (struct peal_mailbox *)queue;
	struct peal_mailbox_lease *lease = (struct peal_mailbox_lease *)end;
	struct item item;
	uint32_t from = (uint32_t)id, i, bytes;

	(void)words;
	for (i = 0; i < n; i++) {
		if (m->lease >= 2 && i % 4 == 1 && i + 1 < n) {
			put_pair(m, lease, from, i++);
			continue;
		}
		bytes = item_bytes(from, i, m->message_bytes);
		item_fill(item.word, from, i, bytes);
		while (peal_mailbox_put(m, lease, HEADER, item.word, bytes))
			peal_mailbox_lease_release(m, lease);
		if (i % 3 == 0)
			peal_mailbox_lease_release(m, lease);
	}
	while (lease->asked || lease->granted)
		peal_mailbox_lease_release(m, lease);
}

/* `id`: number of producers. Each of them puts n messages. */
ROLE(mailbox_take)
{
	struct peal_mailbox *m = (struct peal_mailbox *)queue;
	uint32_t next[QUEUE_ROLES] = { 0 }, from;
	struct peal_slot_view view = { 0, 0, 0 };
	const uint32_t *word;
	uint64_t left = n * id;

	(void)end;
	(void)words;
	while (left) {
		if (!peal_mailbox_peek(m, &view)) {
			peal_mailbox_flush(m);
			continue;
		}
		NEED(is_header(*(const struct peal_header *)(const void *)
					view.content));
		word = (const uint32_t *)(const void *)(view.content + 8);
		from = item_from(word);
		NEED(from < id &&
		     item_is(word, view.length - 8, from, next[from]));
		next[from]++;
		peal_mailbox_release(m);
		left--;
	}
	peal_mailbox_flush(m);
}

/* ---- work queue ---------------------------------------------------------- */

ROLE(work_put)
{
	struct peal_work *q = (struct peal_work *)queue;
	struct peal_work_producer *p = (struct peal_work_producer *)end;
	struct item item;
	uint32_t from = (uint32_t)id, i, bytes;

	(void)words;
	for (i = 0; i < n; i++) {
		bytes = item_bytes(from, i, q->message_bytes);
		item_fill(item.word, from, i, bytes);
		while (peal_work_push(q, p, HEADER, item.word, bytes))
			;
	}
	peal_work_lease_release(q, p);
}

/* Counts a message in words[2 + sender * n + number]. Each arrives once. */
static PEAL_DEV void count_once(uint64_t *words, uint64_t n, uint32_t from,
				uint32_t number)
{
	NEED(number < n);
	NEED(!peal_add_relaxed_dev(&words[2 + from * n + number], 1));
	peal_add_relaxed_dev(&words[0], 1);
}

/* `id`: number of producers. All consumers together take their messages. */
ROLE(work_take)
{
	struct peal_work *q = (struct peal_work *)queue;
	struct peal_work_consumer *c = (struct peal_work_consumer *)end;
	struct peal_work_received got[2];
	struct item items[2];
	int i, k;

	while (peal_load_relaxed_dev(&words[0]) < n * id) {
		k = peal_work_pop_burst(q, c, items, sizeof(struct item), 2,
					got);
		NEED(k > 0 || k == PEAL_EAGAIN);
		for (i = 0; i < k; i++) {
			const uint32_t *word = items[i].word;

			NEED(is_header(got[i].header));
			NEED(item_from(word) < id &&
			     item_is(word, got[i].length, item_from(word),
				     word[0]));
			count_once(words, n, item_from(word), word[0]);
		}
	}
	NEED(!c->dead || words[1]);
	peal_work_unclaim(q, c);
}

/* Takes a ticket and ends, without a message. */
ROLE(work_die)
{
	struct peal_work *q = (struct peal_work *)queue;
	uint64_t first = 0;

	(void)n;
	(void)id;
	while (peal_work_take_tickets(q, (struct peal_work_producer *)end, 1,
				      &first))
		;
	peal_store_release_dev(&words[1], 1 + first);
}

/* Gives up the ticket of work_die(). */
ROLE(work_recover)
{
	struct peal_work *q = (struct peal_work *)queue;
	uint64_t number = 0, ticket;

	(void)end;
	(void)n;
	(void)id;
	do
		ticket = peal_load_acquire_dev(&words[1]);
	while (!ticket);
	do
		NEED(peal_work_open_ticket(q, number, &number));
	while (number++ != ticket - 1);
	NEED(!peal_work_abandon_ticket(q, ticket - 1));
}

/* ---- topic --------------------------------------------------------------- */

ROLE(topic_put)
{
	struct peal_topic *t = (struct peal_topic *)queue;
	struct peal_topic_publisher *p = (struct peal_topic_publisher *)end;
	struct item item;
	uint32_t i, bytes;

	(void)id;
	(void)words;
	peal_topic_publisher_init(t, p);
	for (i = 0; i < n; i++) {
		bytes = item_bytes(0, i, t->message_bytes);
		item_fill(item.word, 0, i, bytes);
		while (peal_topic_publish(t, p, HEADER, item.word, bytes))
			;
	}
}

/* Takes a message of number `*next` or later. Returns 1 for the last one. */
static PEAL_DEV int take_published(struct peal_topic *t,
				   struct peal_topic_subscriber *s, uint64_t n,
				   uint32_t *next)
{
	struct peal_topic_received got;
	struct item item;

	if (peal_topic_take(t, s, item.word, sizeof(item), &got) != 1)
		return 0;
	NEED(got.type == HEADER.type && !got.flags);
	NEED(got.number == *next + got.missed);
	NEED(!got.missed || t->mode == PEAL_TOPIC_OVERWRITE);
	NEED(item_is(item.word, got.length, 0, (uint32_t)got.number));
	*next = (uint32_t)got.number + 1;
	return *next == n;
}

/* `id`: number of its cursor; `words`: its stage. It leaves and joins again
 * once. The last message is taken, as no later one can overwrite it. */
ROLE(topic_take)
{
	struct peal_topic *t = (struct peal_topic *)queue;
	struct peal_topic_subscriber *s = (struct peal_topic_subscriber *)end;
	uint32_t next, taken = 0;
	uint64_t half = n / 2;

	NEED(!peal_topic_join(t, s, (uint32_t)id, 1, words));
	next = (uint32_t)s->number;
	while (next < n && !take_published(t, s, n, &next)) {
		if (taken || next < half)
			continue;
		taken = 1;
		peal_topic_leave(s);
		NEED(!peal_topic_join(t, s, (uint32_t)id, 1, words));
		next = (uint32_t)s->number;
	}
	peal_topic_leave(s);
}

/* ---- barrier, cluster ---------------------------------------------------- */

/* `words`: two arrays with a word of each participant. */
ROLE(barrier_meet)
{
	const struct peal_barrier_view *view =
		(const struct peal_barrier_view *)end;
	uint32_t phase, i;
	int result;

	(void)queue;
	for (phase = 0; phase < n; phase++) {
		uint64_t *word = words + phase % 2 * QUEUE_ROLES;

		word[id] = phase * QUEUE_ROLES + id;
		peal_barrier_signal(view);
		do
			result = peal_barrier_test(view);
		while (result == PEAL_EAGAIN);
		NEED(!result);
		for (i = 0; i < view->participants; i++)
			NEED(word[i] == phase * QUEUE_ROLES + i);
	}
}

#if PEAL_HAVE_CLUSTERS
/* Two blocks swap words of their shared memory. */
ROLE(cluster_swap)
{
	uint32_t rank = peal_hw_worker(), lane = peal_hw_lane(), i;
	uint64_t *own = (uint64_t *)(void *)peal_hw_cluster_memory(rank);
	uint64_t *other = (uint64_t *)(void *)peal_hw_cluster_memory(1 - rank);

	(void)queue;
	(void)end;
	(void)id;
	(void)words;
	for (i = 0; i < n; i++) {
		own[lane] = i * 100 + rank * 10 + lane;
		peali_cluster_meet(0);
		NEED(other[lane] == i * 100 + (1 - rank) * 10 + lane);
		peali_cluster_meet(0);
	}
}
#endif
