/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The program of `peal bench`. The actor that starts a measurement also times
 * it, by the clock of its worker. The program verifies every word of the
 * messages.
 *
 *	ping ⇄ bounce		round trips
 *	respond			replies to requests
 *	guest			one of very many actors
 *	nursery			makes guests and ends them
 *	rally ⇄ rally		messages back and forth, by peal_tell or links
 *	rally ⇄ answer		asks and answers
 *	mover			migrates to another worker while messages arrive
 *	callers → callee	many senders to one actor, by peal_tell
 *	source → sink		messages
 *	feeder → relay → drain	large payloads
 *	phases			barriers
 *	hub			links between all devices
 *	popper			one of a crowd at a work queue
 *	copier			one of a crowd that copies memory
 *	phases_all		one of a crowd at a barrier
 *
 * A round begins with START from the host. The report goes to the host by the
 * actor's last port.
 */
#include <peal/device/kernel.h>

#include "ringkernels/bench_crowd.h"
#include "ringkernels/bench_program.h"

#define HANDLERS(X)                                                            \
	X(ping, sizeof(struct ping), PEAL_EMITS(2, 1))                         \
	X(bounce, 0, PEAL_EMITS(1, 1))                                         \
	X(respond, 0, PEAL_EMITS(1, 1))                                        \
	X(guest, sizeof(struct peali_bench_call), PEAL_SINK)                   \
	X(nursery, 0, PEAL_SINK)                                               \
	X(rally_tell, sizeof(struct round), PEAL_LIMITS(1, 1, 1, 0, 0))        \
	X(rally_emit, sizeof(struct round), PEAL_EMITS(2, 1))                  \
	X(rally_ask, sizeof(struct round), PEAL_LIMITS(1, 1, 1, 0, 0))         \
	X(answer, 0, PEAL_SINK)                                                \
	X(mover, sizeof(struct mover), PEAL_SINK)                              \
	X(caller, sizeof(struct round), PEAL_TELLS(PEALI_BENCH_TELLS + 1))     \
	X(callee, sizeof(struct callee), PEAL_EMITS(1, 1))                     \
	X(source, sizeof(struct round), PEAL_EMITS(2, PEALI_BENCH_BATCH))      \
	X(sink, sizeof(struct round), PEAL_EMITS(1, 1))                        \
	X(feeder, sizeof(struct round), PEAL_EMITS(2, 1))                      \
	X(relay, 0, PEAL_EMITS(1, 1))                                          \
	X(drain, sizeof(struct round), PEAL_EMITS(1, 1))                       \
	X(phases, sizeof(struct round), PEAL_EMITS(1, 1))                      \
	X(hub3, 0, PEAL_EMITS(3, 1))                                           \
	X(hub7, 0, PEAL_EMITS(7, 1))                                           \
	X(hub15, 0, PEAL_EMITS(15, 1))                                         \
	X(endless, 0, PEAL_SINK)                                               \
	X(exact, 0, PEAL_LIMITS(0, 0, 0, sizeof(struct peali_bench_call), 0))  \
	X(spout, 0, PEAL_EMITS(2, 1))                                          \
	X(popper, sizeof(struct popper), PEAL_TELLS(CROWD_TELLS))              \
	X(copier, 0, PEAL_TELLS(CROWD_TELLS))                                  \
	X(phases_all, 0, PEAL_TELLS(CROWD_TELLS))
PEAL_HANDLERS(HANDLERS);

/* The first part of the state of most actors. */
struct round {
	struct peali_bench_start start;
	uint64_t base[PEALI_BENCH_WORDS]; /* payload of message 0 */
	uint64_t next; /* number of the next message */
	uint64_t wrong;
	uint64_t began_ns; /* start of the timed part */
	struct peali_bench_report report;
};

/* Handles START. All lanes make the base words. */
static PEAL_DEV int round_start(struct peal_worker *w, struct round *r)
{
	const struct peali_bench_start *start =
		(const struct peali_bench_start *)peal_data(w);
	uint64_t words;
	uint32_t i;

	if (peal_length(w) != sizeof(*start))
		return PEAL_EPROTO;
	words = start->bytes / 8;
	if (words > PEALI_BENCH_WORDS)
		words = PEALI_BENCH_WORDS;
	for (i = peal_lane(w); i < words; i += peal_lanes(w))
		r->base[i] = peali_bench_word(start->seed, i);
	if (peal_is_leader(w)) {
		r->start = *start;
		r->next = 0;
		r->wrong = 0;
		r->began_ns = 0;
	}
	peal_sync(w);
	return 0;
}

/* Returns the calling lane's share of a message. */
static PEAL_DEV PEAL_INLINE struct peali_bench_share
round_share(const struct peal_worker *w, uint64_t bytes)
{
	struct peali_bench_share share;

	share.words = (uint32_t)(bytes / 8);
	share.lane = peal_lane(w);
	share.lanes = peal_lanes(w);
	return share;
}

/*
 * Checks that a received message is number `number`. Counts it if it is wrong.
 */
static PEAL_DEV PEAL_INLINE void round_check(struct peal_worker *w,
					     struct round *r, uint64_t number,
					     uint64_t mask)
{
	uint64_t wrong = peal_length(w) != r->start.bytes;

	if (!wrong)
		wrong = peali_bench_check((const uint64_t *)peal_data(w),
					  r->base, number, mask,
					  round_share(w, peal_length(w)));
	if (peal_vote_any(w, wrong != 0) && peal_is_leader(w))
		r->wrong++;
}

/* Sends message number r->next + ahead on port 0. */
static PEAL_DEV PEAL_INLINE int
round_send(struct peal_worker *w, const struct round *r, uint64_t ahead)
{
	void *place = 0;
	int result = peal_reserve(w, 0, r->start.bytes, &place);

	if (PEAL_UNLIKELY(result))
		return result == PEAL_EPIPE ? 0 : result;
	peali_bench_fill((uint64_t *)place, r->base, r->next + ahead,
			 round_share(w, r->start.bytes));
	peal_commit(w, 0, PEALI_BENCH_DATA, r->start.bytes);
	return 0;
}

/* Leader: fills the report of the round. */
static PEAL_DEV void round_end(struct round *r, uint64_t messages)
{
	r->report.elapsed_ns = peal_clock_ns() - r->began_ns;
	r->report.messages = messages;
	r->report.wrong = r->wrong;
	r->report.n_samples = 0;
	r->report.reserved = 0;
}

/* Sends the report. The samples, if any, follow the report in the state. */
static PEAL_DEV int round_report(struct peal_worker *w, uint32_t port,
				 const struct peali_bench_report *report)
{
	uint64_t bytes = sizeof(*report);

	peal_sync(w);
	bytes += (uint64_t)report->n_samples * sizeof(uint32_t);
	return peal_emit(w, port, PEALI_BENCH_REPORT, report, bytes, 0);
}

/*
 * Handles START for a receiver and confirms it to the host. The host then sends
 * START to the sender.
 */
static PEAL_DEV int round_ready(struct peal_worker *w, struct round *r)
{
	int result = round_start(w, r);

	if (result)
		return result;
	if (peal_is_leader(w)) {
		r->began_ns = peal_clock_ns();
		round_end(r, 0);
	}
	return round_report(w, 0, &r->report);
}

/* Counts a received message. Reports after the last message. */
static PEAL_DEV PEAL_INLINE int round_received(struct peal_worker *w,
					       struct round *r)
{
	if (peal_is_leader(w)) {
		r->next++;
		if (PEAL_UNLIKELY(r->next == r->start.warm))
			r->began_ns = peal_clock_ns();
		if (PEAL_UNLIKELY(r->next == r->start.messages))
			round_end(r, r->next - r->start.warm);
	}
	peal_sync(w);
	if (PEAL_LIKELY(r->next != r->start.messages))
		return 0;
	return round_report(w, 0, &r->report);
}

/* ---- ping and bounce ----------------------------------------------------- */

struct ping {
	struct round round;
	uint64_t batch_ns; /* start of the present batch */
	uint32_t in_batch;
	uint32_t warmed; /* 1: samples are taken */
	uint32_t ended; /* 1: the round is over */
	uint32_t reserved;
	/* round_report sends both fields in one message */
	struct peali_bench_report report;
	uint32_t samples[PEALI_BENCH_SAMPLES];
};

/* Leader: ends a batch of round trips. */
static PEAL_DEV PEAL_NOINLINE void ping_batch(struct ping *p)
{
	struct peali_bench_report *head = &p->report;
	const struct peali_bench_start *start = &p->round.start;
	uint64_t now = peal_clock_ns();
	uint64_t elapsed = now - p->round.began_ns;
	int late = start->budget_ns && elapsed > start->budget_ns;

	if (!p->warmed) {
		p->warmed = p->round.next >= start->warm || late;
		if (p->warmed) /* the timed part begins */
			p->round.began_ns = now;
	} else {
		p->samples[head->n_samples++] =
			(uint32_t)((now - p->batch_ns) *
				   PEALI_BENCH_UNITS_PER_NS / start->batch);
		head->messages += start->batch;
		head->elapsed_ns = elapsed;
		p->ended = head->n_samples >= start->samples || late;
	}
	p->in_batch = 0;
	p->batch_ns = now;
}

/* Sends numbered messages one at a time: the next one after each return. */
static PEAL_DEV int ping(struct peal_worker *w)
{
	struct ping *p = (struct ping *)peal_state(w);
	uint64_t number;
	int result = 0;

	if (PEAL_UNLIKELY(peal_type(w) == PEALI_BENCH_START)) {
		result = round_start(w, &p->round);
		if (result)
			return result;
		if (peal_is_leader(w)) {
			p->report.n_samples = 0;
			p->report.messages = 0;
			p->report.elapsed_ns = 0;
			p->round.began_ns = peal_clock_ns();
			p->in_batch = 0;
			p->warmed = 0;
			p->ended = 0;
		}
		peal_sync(w);
		return round_send(w, &p->round, 0);
	}
	number = p->round.next;
	peal_sync(w); /* all lanes have read it */
	if (peal_is_leader(w)) {
		p->round.next++;
		if (++p->in_batch == p->round.start.batch)
			ping_batch(p);
	}
	peal_sync(w);
	if (PEAL_LIKELY(!p->ended))
		result = round_send(w, &p->round, 0);
	/* check while the next message travels */
	round_check(w, &p->round, number, p->round.start.mask);
	if (PEAL_LIKELY(!p->ended))
		return result;
	if (peal_is_leader(w))
		p->report.wrong = p->round.wrong;
	return round_report(w, 1, &p->report);
}

/* Sends every message back inverted. So the receiver can verify the return. */
static PEAL_DEV int bounce(struct peal_worker *w)
{
	const uint64_t *in = (const uint64_t *)peal_data(w);
	uint64_t bytes = peal_length(w);
	void *place = 0;
	uint64_t *out;
	uint64_t i;
	int result = peal_reserve(w, 0, bytes, &place);

	if (PEAL_UNLIKELY(result))
		return result == PEAL_EPIPE ? 0 : result;
	out = (uint64_t *)place;
	for (i = peal_lane(w); i < bytes / 8; i += peal_lanes(w))
		out[i] = ~in[i];
	peal_commit(w, 0, peal_type(w), bytes);
	return 0;
}

/* Replies with the request. */
static PEAL_DEV int respond(struct peal_worker *w)
{
	return peal_reply(w, 0, peal_type(w), peal_data(w), peal_length(w));
}

/* Checks that the message is for this guest, and counts the message. */
static PEAL_DEV int guest(struct peal_worker *w)
{
	struct peali_bench_call *mine =
		(struct peali_bench_call *)peal_state(w);
	const struct peali_bench_call *call =
		(const struct peali_bench_call *)peal_data(w);

	if (peal_length(w) != sizeof(*call) || call->guest != mine->guest)
		return PEAL_EPROTO;
	if (peal_is_leader(w))
		mine->calls++;
	return 0;
}

struct mover {
	uint64_t next;
	uint8_t rest[PEALI_BENCH_MOVED - sizeof(uint64_t)];
};

/* Checks that the messages arrive in order. */
static PEAL_DEV int mover(struct peal_worker *w)
{
	struct mover *m = (struct mover *)peal_state(w);
	uint64_t next = m->next;

	peal_sync(w);
	if (peal_length(w) != sizeof(struct peali_bench_call) ||
	    ((const struct peali_bench_call *)peal_data(w))->calls != next)
		return PEAL_EPROTO;
	if (peal_is_leader(w))
		m->next = next + 1;
	return 0;
}

/* Makes `guest` guests, one after another, and ends each. */
static PEAL_DEV int nursery(struct peal_worker *w)
{
	struct peali_bench_call call =
		*(const struct peali_bench_call *)peal_data(w);
	uint64_t n = call.guest;
	uint32_t actor = 0;
	int result = 0;

	call.calls = 0;
	for (call.guest = 0; call.guest < n && !result; call.guest++) {
		result = peal_spawn(w, PEAL_HANDLER(guest), &call, sizeof(call),
				    0, &actor);
		if (!result)
			result = peal_retire(w, actor);
	}
	return result;
}

/* ---- tells --------------------------------------------------------------- */

#define RALLY_EMIT 0
#define RALLY_TELL 1
#define RALLY_ASK 2

/* Sends a number to the other rally actor, by one of three ways. */
static PEAL_DEV int rally_play(struct peal_worker *w, struct round *r,
			       uint64_t number, int way)
{
	uint32_t to = (uint32_t)r->start.address;

	if (way == RALLY_EMIT)
		return peal_emit(w, 1, PEALI_BENCH_DATA, &number,
				 sizeof(number), 0);
	if (way == RALLY_TELL)
		return peal_tell(w, to, PEALI_BENCH_DATA, &number,
				 sizeof(number), 0);
	return peal_ask(w, to, PEALI_BENCH_DATA, &number, sizeof(number),
			PEALI_BENCH_DATA, PEALI_BENCH_ASK_NS, 0);
}

/*
 * Two actors exchange the numbers 0 to `messages`, which START sets to an odd
 * number. The actor that sends 0 receives the last number and reports.
 */
static PEAL_DEV int rally(struct peal_worker *w, int way)
{
	struct round *r = (struct round *)peal_state(w);
	uint64_t number;
	int result;

	if (peal_type(w) == PEALI_BENCH_START) {
		result = round_start(w, r);
		if (result)
			return result;
		if (peal_is_leader(w)) {
			r->next = 1 - r->start.self;
			r->began_ns = peal_clock_ns();
		}
		peal_sync(w);
		return r->start.self ? 0 : rally_play(w, r, 0, way);
	}
	if (peal_length(w) != sizeof(number))
		return PEAL_EPROTO;
	number = *(const uint64_t *)peal_data(w);
	peal_sync(w);
	if (peal_is_leader(w)) {
		r->wrong += number != r->next;
		r->next += 2;
		if (number == r->start.messages)
			round_end(r, number + 1);
	}
	peal_sync(w);
	if (PEAL_LIKELY(number != r->start.messages))
		return rally_play(w, r, number + 1, way);
	return round_report(w, 0, &r->report);
}

static PEAL_DEV int rally_tell(struct peal_worker *w)
{
	return rally(w, RALLY_TELL);
}

static PEAL_DEV int rally_emit(struct peal_worker *w)
{
	return rally(w, RALLY_EMIT);
}

static PEAL_DEV int rally_ask(struct peal_worker *w)
{
	return rally(w, RALLY_ASK);
}

/* Answers with the next number. */
static PEAL_DEV int answer(struct peal_worker *w)
{
	uint64_t number;

	if (peal_length(w) != sizeof(number))
		return PEAL_EPROTO;
	number = 1 + *(const uint64_t *)peal_data(w);
	return peal_reply(w, 0, PEALI_BENCH_DATA, &number, sizeof(number));
}

/*
 * Tells messages to the callee. Tells itself to continue while messages remain.
 */
static PEAL_DEV int caller(struct peal_worker *w)
{
	struct round *r = (struct round *)peal_state(w);
	struct peali_bench_call call = { 0, 0 };
	uint64_t n, i, next;
	int result = 0;

	if (peal_type(w) == PEALI_BENCH_START)
		result = round_start(w, r);
	call.guest = r->start.self;
	next = r->next;
	n = r->start.messages - next;
	if (n > PEALI_BENCH_TELLS)
		n = PEALI_BENCH_TELLS;
	peal_sync(w);
	for (i = 0; i < n && !result; i++) {
		call.calls = next + i;
		result = peal_tell(w, (uint32_t)r->start.address,
				   PEALI_BENCH_DATA, &call, sizeof(call), 0);
	}
	if (peal_is_leader(w))
		r->next = next + n;
	if (result || next + n == r->start.messages)
		return result;
	return peal_tell(w, peal_self(w), PEALI_BENCH_TICK, &n, sizeof(n), 0);
}

struct callee {
	struct round round;
	uint64_t next[PEALI_BENCH_CALLERS];
};

/*
 * START has the total number of `messages`. Each caller's messages must arrive
 * in order.
 */
static PEAL_DEV int callee(struct peal_worker *w)
{
	struct callee *c = (struct callee *)peal_state(w);
	const struct peali_bench_call *call =
		(const struct peali_bench_call *)peal_data(w);
	uint32_t i;
	int result;

	if (peal_type(w) == PEALI_BENCH_START) {
		result = round_start(w, &c->round);
		for (i = peal_lane(w); i < PEALI_BENCH_CALLERS;
		     i += peal_lanes(w))
			c->next[i] = 0;
		if (peal_is_leader(w))
			c->round.began_ns = peal_clock_ns();
		return result;
	}
	if (peal_length(w) != sizeof(*call) ||
	    call->guest >= PEALI_BENCH_CALLERS)
		return PEAL_EPROTO;
	if (peal_is_leader(w)) {
		c->round.wrong += call->calls != c->next[call->guest]++;
		if (++c->round.next == c->round.start.messages)
			round_end(&c->round, c->round.next);
	}
	peal_sync(w);
	if (PEAL_LIKELY(c->round.next != c->round.start.messages))
		return 0;
	return round_report(w, 0, &c->round.report);
}

/* ---- source and sink ----------------------------------------------------- */

/*
 * Sends messages in batches. A message to itself (port 1) starts the next
 * batch.
 */
static PEAL_DEV int source(struct peal_worker *w)
{
	struct round *r = (struct round *)peal_state(w);
	uint64_t n, i;
	int result = 0;

	if (peal_type(w) == PEALI_BENCH_START)
		result = round_start(w, r);
	if (result)
		return result;
	n = r->start.messages - r->next;
	if (n > r->start.batch)
		n = r->start.batch;
	if (n > PEALI_BENCH_BATCH)
		n = PEALI_BENCH_BATCH;
	for (i = 0; i < n && !result; i++)
		result = round_send(w, r, i);
	peal_sync(w);
	if (peal_is_leader(w))
		r->next += n;
	peal_sync(w);
	if (!result && r->next < r->start.messages)
		result = peal_emit(w, 1, PEALI_BENCH_TICK, &n, sizeof(n), 0);
	return result;
}

/* Checks messages. Reports after the last message. */
static PEAL_DEV int sink(struct peal_worker *w)
{
	struct round *r = (struct round *)peal_state(w);

	if (PEAL_UNLIKELY(peal_type(w) == PEALI_BENCH_START))
		return round_ready(w, r);
	round_check(w, r, r->next, 0);
	return round_received(w, r);
}

/* ---- feeder, relay, drain ------------------------------------------------ */

/* Sends its template repeatedly, with the message's number in word 0. */
static PEAL_DEV int feeder(struct peal_worker *w)
{
	struct round *r = (struct round *)peal_state(w);
	void *place = 0;
	int result = 0;

	if (peal_type(w) == PEALI_BENCH_START)
		result = round_start(w, r);
	if (!result)
		result = peal_reserve(w, 0, r->start.bytes, &place);
	if (result)
		return result == PEAL_EPIPE ? 0 : result;
	peal_copy_lanes(w, place, (const void *)(uintptr_t)r->start.address,
			r->start.bytes);
	if (peal_is_leader(w))
		*(uint64_t *)place = r->next;
	peal_commit(w, 0, PEALI_BENCH_DATA, r->start.bytes);
	peal_sync(w);
	if (peal_is_leader(w))
		r->next++;
	peal_sync(w);
	if (r->next == r->start.messages)
		return 0;
	return peal_emit(w, 1, PEALI_BENCH_TICK, &r->next, sizeof(r->next), 0);
}

/* Forwards every message. */
static PEAL_DEV int relay(struct peal_worker *w)
{
	return peal_emit(w, 0, peal_type(w), peal_data(w), peal_length(w), 0);
}

/* Checks payloads of any length. Reports after the last message. */
static PEAL_DEV int drain(struct peal_worker *w)
{
	struct round *r = (struct round *)peal_state(w);
	const uint64_t *words = (const uint64_t *)peal_data(w);
	uint64_t sum;

	if (peal_type(w) == PEALI_BENCH_START)
		return round_ready(w, r);
	if (peal_length(w) != r->start.bytes)
		return PEAL_EPROTO;
	sum = peal_sum(w, peali_bench_sum(words, peal_length(w) / 8,
					  peal_lane(w), peal_lanes(w)));
	/* The seed is the template's sum, with 0 in word 0. */
	if (peal_is_leader(w))
		r->wrong += words[0] != r->next ||
			    sum != r->start.seed + r->next;
	return round_received(w, r);
}

/* ---- phases -------------------------------------------------------------- */

/* Phases between two checks of the participants' phase words. */
#define PHASES_LOOK_EVERY 64

static PEAL_DEV uint64_t *phase_word(const struct peali_bench_start *start,
				     uint32_t participant)
{
	return (uint64_t *)(uintptr_t)(start->address +
				       (uint64_t)participant *
					       PEAL_SHARED_LINE);
}

/*
 * Returns the participants that are not in this phase. The barrier orders the
 * loads.
 */
static PEAL_DEV uint64_t phases_look(const struct peali_bench_start *start,
				     uint64_t phase)
{
	uint64_t wrong = 0;
	uint32_t i;

	for (i = 0; i < start->participants; i++)
		wrong += peal_load_relaxed_sys(phase_word(start, i)) != phase;
	return wrong;
}

/* Runs one round: `messages` phases of the worker's barrier 0. */
static PEAL_DEV int phases(struct peal_worker *w)
{
	const struct peali_bench_start *start =
		(const struct peali_bench_start *)peal_data(w);
	struct round *r = (struct round *)peal_state(w);
	uint64_t i;
	int result = round_start(w, r);

	for (i = 1; !result && i <= start->messages; i++) {
		int look = peal_is_leader(w) && i % PHASES_LOOK_EVERY == 0;

		if (look)
			peal_store_relaxed_sys(phase_word(start, start->self),
					       start->seed + i);
		result = peal_barrier_arrive_lanes(w, 0);
		if (!result)
			result = peal_barrier_wait_lanes(w, 0, -1);
		if (look)
			r->wrong += phases_look(start, start->seed + i);
		if (i == start->warm && peal_is_leader(w))
			r->began_ns = peal_clock_ns();
	}
	if (result)
		return result;
	if (peal_is_leader(w))
		round_end(r, start->messages - start->warm);
	return round_report(w, 0, &r->report);
}

/* ---- hubs ---------------------------------------------------------------- */

/* On START, sends one message on every port. Other messages need no action. */
static PEAL_DEV PEAL_INLINE int hub(struct peal_worker *w, uint32_t ports)
{
	uint64_t word = peal_self(w);
	uint32_t port;
	int result = 0;

	for (port = 0; port < ports && !result; port++)
		if (peal_type(w) == PEALI_BENCH_START)
			result = peal_emit(w, port, PEALI_BENCH_DATA, &word,
					   sizeof(word), 0);
	return result;
}

/* One handler per number of ports: an unconnected port would block messages. */
static PEAL_DEV int hub3(struct peal_worker *w)
{
	return hub(w, 3);
}

static PEAL_DEV int hub7(struct peal_worker *w)
{
	return hub(w, 7);
}

static PEAL_DEV int hub15(struct peal_worker *w)
{
	return hub(w, 15);
}

/* ---- faults -------------------------------------------------------------- */

/* Runs until peal_budget_check returns a value other than 0. */
static PEAL_DEV int endless(struct peal_worker *w)
{
	int over;

	do
		over = peal_budget_check(w);
	while (!over);
	return over;
}

/* Accepts messages of one length only. */
static PEAL_DEV int exact(struct peal_worker *w)
{
	(void)w;
	return 0;
}

/* Sends such messages without end. */
static PEAL_DEV int spout(struct peal_worker *w)
{
	const struct peali_bench_call call = { 0, 0 };
	int result = peal_emit(w, 0, PEALI_BENCH_DATA, &call, sizeof(call), 0);

	return result ? result : peal_emit(w, 1, PEALI_BENCH_TICK, &call, 0, 0);
}

PEAL_PROGRAM(peal_bench, HANDLERS);
