/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Forwarders between the work queues of devices (peal/abi/work_share.h). The leader
 * decides on a step and stores it. All lanes then send its messages.
 */
#define PEAL_USES PEAL_USE_TIMERS
#include <peal/device/device_queue.h>
#include <peal/device/kernel.h>
#include <peal/device/tell.h>

#include <peal/abi/work_share.h>

#include "ringkernels/fixed_port_handlers.h"

#define SENDS (PEAL_WORK_SHARE_BATCH + 2) /* of a port, for one message */
#define IDLE_LOOKS 8 /* an idle share then asks once per look */

struct forwarder {
	struct peal_work_share_init init; /* written by the host */
	struct peal_work_producer producer;
	struct peal_work_consumer consumer;
	struct peal_work_share_counts counts;
	uint32_t ready; /* 1: the ends of the queue are made */
	uint32_t held, first; /* items in the second half of the memory */
	uint32_t victim; /* rank of the forwarder to ask next */
	uint32_t open; /* 1: an answer is missing */
	uint32_t quits, said; /* 1: QUIT has come; DONE was sent */
	uint32_t refusals; /* in sequence, since the last look */
	uint32_t idle_looks; /* that asked, in sequence: no message came */
	uint32_t reserved;
	uint64_t delay_ns; /* to the next look */
	/* messages taken from the queue, and the time, as it was filled or low */
	uint64_t since_taken, since_ns;
	/* the present step */
	uint32_t answer_port, ask_port; /* 0: none */
	uint32_t tick, done; /* 1: set the timer; send DONE */
	struct peal_work_share_word answer, ask;
	uint32_t length[PEAL_WORK_SHARE_BATCH]; /* of the items to give */
};

/* ---- the queue, for the leader ------------------------------------------- */

static PEAL_DEV struct peal_work *queue_of(const struct forwarder *f)
{
	return peal_device_queue_work(f->init.queue);
}

/* Returns the item with a number below 2 * batch. */
static PEAL_DEV uint8_t *item_at(const struct forwarder *f, uint32_t i)
{
	return (uint8_t *)(uintptr_t)f->init.items +
	       (uint64_t)i * f->init.item_bytes;
}

/* Returns the messages taken from the queue so far. */
static PEAL_DEV uint64_t taken_so_far(const struct forwarder *f)
{
	return peal_load_relaxed_dev(&queue_of(f)->turn);
}

/* Returns the messages in the queue. Other workers put and take meanwhile. */
static PEAL_DEV uint32_t queued(const struct forwarder *f)
{
	uint64_t taken = taken_so_far(f);
	uint64_t n = peal_load_relaxed_dev(&queue_of(f)->ticket) - taken;

	return n > 0xffffffffu ? 0 : (uint32_t)n;
}

/* From now on the time per message is measured. */
static PEAL_DEV void measure(struct forwarder *f)
{
	f->since_taken = taken_so_far(f);
	f->since_ns = peal_clock_ns();
}

/* The forwarder asks the next one from now on. */
static PEAL_DEV void next_victim(struct forwarder *f)
{
	do
		f->victim = (f->victim + 1) % f->init.n;
	while (f->victim == f->init.rank);
}

static PEAL_DEV int make_ends(struct forwarder *f)
{
	int result =
		peal_device_queue_work_producer(f->init.queue, &f->producer);

	if (!result)
		result = peal_device_queue_work_consumer(
			f->init.queue, f->init.consumer, &f->consumer);
	f->ready = !result;
	f->delay_ns = f->init.least_ns;
	f->victim = f->init.rank;
	next_victim(f);
	measure(f);
	return result;
}

/* Puts an item into the queue. Its first 8 bytes are the header. */
static PEAL_DEV int put_item(struct forwarder *f, const uint8_t *item,
			     uint32_t bytes)
{
	struct peal_header header;

	__builtin_memcpy(&header, item, sizeof(header));
	return peal_work_push(queue_of(f), &f->producer, header,
			      item + sizeof(header), bytes - sizeof(header));
}

/* Holds an item, behind those that are held. A length precedes its bytes. */
static PEAL_DEV int hold_item(struct forwarder *f, const uint8_t *item,
			      uint32_t bytes)
{
	uint32_t i = (f->first + f->held) % f->init.batch;
	uint8_t *to = item_at(f, f->init.batch + i);

	if (f->held == f->init.batch || bytes + 8 > f->init.item_bytes)
		return PEAL_EPROTO; /* more than this forwarder asked for */
	__builtin_memcpy(to, &bytes, sizeof(bytes));
	__builtin_memcpy(to + 8, item, bytes);
	f->held++;
	return 0;
}

/* Ends the ends of the queue. Later questions are answered without a message. */
static PEAL_DEV void leave_queue(struct forwarder *f)
{
	peal_work_lease_release(queue_of(f), &f->producer);
	peal_work_unclaim(queue_of(f), &f->consumer);
}

/* Puts the items that are held into the queue, as far as it has slots. */
static PEAL_DEV void put_held(struct forwarder *f)
{
	while (f->held) {
		const uint8_t *item = item_at(f, f->init.batch + f->first);
		uint32_t bytes;

		__builtin_memcpy(&bytes, item, sizeof(bytes));
		if (put_item(f, item + 8, bytes))
			break;
		f->first = (f->first + 1) % f->init.batch;
		f->held--;
	}
}

/* Takes up to n messages from the queue, as items to give. Returns their number. */
static PEAL_DEV uint32_t take_items(struct forwarder *f, uint32_t n)
{
	struct peal_work_received got;
	uint32_t i;

	for (i = 0; i < n; i++) {
		uint8_t *item = item_at(f, i);

		if (peal_work_pop(queue_of(f), &f->consumer,
				  item + sizeof(got.header),
				  f->init.message_bytes, &got) != 1)
			break;
		__builtin_memcpy(item, &got.header, sizeof(got.header));
		f->length[i] = (uint32_t)(got.length + sizeof(got.header));
	}
	/* the producers get the slots of these messages */
	if (i)
		peal_work_flush(queue_of(f), &f->consumer);
	return i;
}

/* ---- decisions, for the leader ------------------------------------------- */

static PEAL_DEV uint32_t port_of(const struct forwarder *f, uint32_t rank)
{
	return rank < f->init.rank ? 1 + rank : rank;
}

/* Asks another forwarder if the queue is nearly empty. */
static PEAL_DEV void ask_next(struct forwarder *f)
{
	if (f->open || f->held || f->quits || queued(f) >= f->init.low)
		return;
	f->open = 1;
	f->ask.rank = f->init.rank;
	f->ask.n = f->init.batch;
	f->ask_port = port_of(f, f->victim);
}

/* Answers a forwarder that asks. Gives a share of the queue, and keeps `low`. */
static PEAL_DEV int answer(struct forwarder *f,
			   const struct peal_work_share_word *word)
{
	uint32_t there = queued(f), n = 0;

	if (word->rank >= f->init.n || word->rank == f->init.rank)
		return PEAL_EPROTO;
	if (there > f->init.low && !f->said)
		n = (there - f->init.low + f->init.n - 1) / f->init.n;
	n = n < word->n ? n : word->n;
	n = n < f->init.batch ? n : f->init.batch;
	f->answer.rank = f->init.rank;
	f->answer.n = take_items(f, n);
	f->answer_port = port_of(f, word->rank);
	f->counts.given += f->answer.n;
	return 0;
}

/*
 * The answer to this forwarder's question is complete. A forwarder that gave
 * messages is asked again. After a refusal the next one is asked at once, until
 * all have refused. After IDLE_LOOKS without a message only one is asked per look.
 */
static PEAL_DEV void answered(struct forwarder *f, uint32_t n)
{
	f->open = 0;
	f->counts.asked++;
	if (n) {
		f->refusals = f->idle_looks = 0;
		f->delay_ns = f->init.least_ns;
		measure(f);
	} else {
		f->counts.refused++;
		f->refusals++;
		next_victim(f);
	}
	if (f->refusals < f->init.n - 1 && f->idle_looks < IDLE_LOOKS)
		ask_next(f);
}

/* Puts a message of another forwarder into the queue, or holds it. */
static PEAL_DEV int keep(struct peal_worker *w, struct forwarder *f)
{
	const uint8_t *item = (const uint8_t *)peal_data(w);
	uint32_t bytes = (uint32_t)peal_length(w);

	if (bytes < sizeof(struct peal_header) || !f->open)
		return PEAL_EPROTO;
	f->counts.taken++;
	if (!f->held && !put_item(f, item, bytes))
		return 0;
	return hold_item(f, item, bytes);
}

/*
 * Returns the time to the next look. If consumers take messages, it is half of the
 * time after which the queue is probably low. So the forwarder asks about when the
 * queue gets low. Without such consumers each time is twice the last one.
 */
static PEAL_DEV uint64_t next_delay(struct forwarder *f)
{
	uint32_t there = queued(f);
	uint64_t taken = taken_so_far(f) - f->since_taken;

	if (there < f->init.low)
		measure(f);
	else if (taken)
		return (there - f->init.low + 1) *
		       ((peal_clock_ns() - f->since_ns) / taken) / 2;
	return 2 * f->delay_ns;
}

static PEAL_DEV void look(struct forwarder *f)
{
	f->counts.looks++;
	put_held(f);
	f->refusals = 0;
	ask_next(f);
	if (f->ask_port && f->idle_looks < IDLE_LOOKS)
		f->idle_looks++;
	f->tick = 1;
	f->delay_ns = next_delay(f);
	if (f->delay_ns < f->init.least_ns)
		f->delay_ns = f->init.least_ns;
	if (f->delay_ns > f->init.most_ns)
		f->delay_ns = f->init.most_ns;
}

static PEAL_DEV int take_word(struct peal_worker *w, struct forwarder *f)
{
	const struct peal_work_share_word *word =
		(const struct peal_work_share_word *)peal_data(w);

	if (peal_length(w) != sizeof(*word))
		return PEAL_EPROTO;
	if (peal_type(w) == PEAL_WORK_SHARE_ASK)
		return answer(f, word);
	answered(f, word->n);
	return 0;
}

static PEAL_DEV int take(struct peal_worker *w, struct forwarder *f)
{
	switch (peal_type(w)) {
	case PEAL_WORK_SHARE_TICK:
		look(f);
		return 0;
	case PEAL_WORK_SHARE_ASK:
	case PEAL_WORK_SHARE_ANSWER:
		return take_word(w, f);
	case PEAL_WORK_SHARE_GIVE:
		return keep(w, f);
	case PEAL_WORK_SHARE_QUIT:
		f->quits = 1;
		return 0;
	default:
		return PEAL_EPROTO;
	}
}

/* Publishes the counts: the host reads each alone. */
static PEAL_DEV void publish(struct forwarder *f)
{
	struct peal_work_share_counts *to =
		(struct peal_work_share_counts *)(uintptr_t)f->init.counts;

	peal_store_relaxed_sys(&to->asked, f->counts.asked);
	peal_store_relaxed_sys(&to->refused, f->counts.refused);
	peal_store_relaxed_sys(&to->given, f->counts.given);
	peal_store_relaxed_sys(&to->taken, f->counts.taken);
	peal_store_relaxed_sys(&to->held, f->held);
	peal_store_relaxed_sys(&to->looks, f->counts.looks);
}

static PEAL_DEV int decide(struct peal_worker *w, struct forwarder *f)
{
	int result = 0;

	f->answer_port = f->ask_port = f->tick = f->done = 0;
	f->answer.n = 0;
	if (!f->ready) {
		result = make_ends(f);
		f->tick = !result; /* the host's first message starts it */
	}
	if (!result && peal_type(w))
		result = take(w, f);
	f->done = f->quits && !f->open && !f->held && !f->said;
	f->said |= f->done;
	if (f->done)
		leave_queue(f);
	publish(f);
	return result;
}

/* ---- all lanes ----------------------------------------------------------- */

static PEAL_DEV int send_answer(struct peal_worker *w,
				const struct forwarder *f)
{
	uint32_t i;
	int result = 0;

	for (i = 0; i < f->answer.n && !result; i++)
		result = peal_emit(w, f->answer_port, PEAL_WORK_SHARE_GIVE,
				   item_at(f, i), f->length[i], 0);
	return result ? result :
			peal_emit(w, f->answer_port, PEAL_WORK_SHARE_ANSWER,
				  &f->answer, sizeof(f->answer), 0);
}

static PEAL_DEV int set_timer(struct peal_worker *w, const struct forwarder *f)
{
	struct peal_send_options later = PEAL_SEND_OPTIONS;

	later.delay_ns = f->delay_ns;
	return peal_tell(w, peal_self(w), PEAL_WORK_SHARE_TICK, 0, 0, &later);
}

static PEAL_DEV PEAL_NOINLINE int share(struct peal_worker *w)
{
	struct forwarder *f = (struct forwarder *)peal_state(w);
	int result = 0;

	peal_sync(w);
	if (peal_is_leader(w))
		result = decide(w, f);
	result = (int)(int64_t)peal_broadcast(w, (uint64_t)(int64_t)result);
	if (!result && f->answer_port)
		result = send_answer(w, f);
	if (!result && f->ask_port)
		result = peal_emit(w, f->ask_port, PEAL_WORK_SHARE_ASK, &f->ask,
				   sizeof(f->ask), 0);
	if (!result && f->done)
		result = peal_emit(w, 0, PEAL_WORK_SHARE_DONE, &f->answer,
				   sizeof(f->answer), 0);
	if (!result && f->tick)
		result = set_timer(w, f);
	return result;
}

#define SHARE(X, n)                                                            \
	static PEAL_DEV int share_##n(struct peal_worker *w)                   \
	{                                                                      \
		return share(w);                                               \
	}
EACH_PORT_COUNT_TO_24(SHARE, )

#define SHARE_OF(X, n)                                                         \
	X(share_##n, sizeof(struct forwarder), PEAL_LIMITS(n, SENDS, 1, 0, 0))
#define HANDLERS(X) EACH_PORT_COUNT_TO_24(SHARE_OF, X)
PEAL_PROGRAM(peal_work_share, HANDLERS);
