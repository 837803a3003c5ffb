/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What one writes on a GPU without ring kernels, for `peal bench` to compare
 * with. Not a resident loop: each worker does its job once and returns, from
 * each wait at the latest when its limit has passed. Whoever begins, or takes
 * messages, times it by its own clock; all payloads are checked.
 */
#include <peal/abi/program.h>
#include <peal/device/host.h>

#include "ringkernels/bare_program.h"
#include "ringkernels/rivals_program.h"

/* Looks at a word between two looks at the clock. */
#define LOOKS 64
/* Phases of a barrier between two looks at who has arrived. */
#define PHASES_LOOK_EVERY 64

struct peal_kernel_params;

struct rival {
	const struct peali_rival_side *side;
	uint8_t *in, *out;
	uint64_t *own; /* what the leader says to the other lanes; the ticket */
	uint64_t *base;
	struct peali_rival_report *report;
	struct peali_bench_share share;
	uint64_t launched_ns;
	/* of the leader */
	uint64_t began_ns, batch_ns, wrong;
	uint32_t in_batch, warmed;
};

/* ---- lanes and waiting ----------------------------------------------------- */

static PEAL_DEV PEAL_INLINE void meet(const struct rival *r)
{
#if PEAL_ON_HOST
	if (r->share.lanes > 1)
		peal_host_sync_lanes();
#else
	if (r->share.lanes > 1)
		peal_hw_sync();
#endif
}

/* The leader's word to all lanes. */
static PEAL_DEV PEAL_INLINE uint64_t say(const struct rival *r, uint64_t word)
{
	if (r->share.lanes == 1)
		return word;
	if (!r->share.lane)
		peal_store_relaxed_dev(r->own, word);
	meet(r);
	word = peal_load_relaxed_dev(r->own);
	meet(r);
	return word;
}

static PEAL_DEV PEAL_INLINE void idle(const struct rival *r)
{
#if PEAL_ON_HOST
	peal_host_idle((struct peal_bell *)(uintptr_t)r->side->bell, 1);
#else
	(void)r;
	peal_poll_gap();
#endif
}

static PEAL_DEV PEAL_INLINE void awake(const struct rival *r)
{
#if PEAL_ON_HOST
	peal_bell_reset((struct peal_bell *)(uintptr_t)r->side->bell);
#else
	(void)r;
#endif
}

static PEAL_DEV PEAL_INLINE int is_late(const struct rival *r)
{
	return peal_clock_ns() - r->launched_ns > r->side->limit_ns;
}

/* Relaxed, with a fence beside it, which ThreadSanitizer cannot see. */
static PEAL_DEV PEAL_INLINE uint64_t look(const struct rival *r,
					  const uint64_t *word)
{
	if (PEAL_TSAN)
		return peal_load_acquire_sys(word);
	return r->side->across ? peal_load_relaxed_sys(word) :
				 peal_load_relaxed_dev(word);
}

static PEAL_DEV PEAL_INLINE void put(const struct rival *r, uint64_t *word,
				     uint64_t value)
{
	if (PEAL_TSAN)
		peal_store_release_sys(word, value);
	else if (r->side->across)
		peal_store_relaxed_sys(word, value);
	else
		peal_store_relaxed_dev(word, value);
}

static PEAL_DEV PEAL_INLINE void fence_release(const struct rival *r)
{
	if (r->side->across)
		peal_fence_release_sys();
	else
		peal_fence_release_dev();
}

static PEAL_DEV PEAL_INLINE void fence_acquire(const struct rival *r)
{
	if (r->side->across)
		peal_fence_acquire_sys();
	else
		peal_fence_acquire_dev();
}

/* Leader: until a word has at least that value; 0 if it will not. Relaxed. */
static PEAL_DEV PEAL_INLINE uint64_t await(const struct rival *r,
					   const uint64_t *word, uint64_t least)
{
	uint32_t turn = 0;
	uint64_t v;

	for (;;) {
		v = look(r, word);
		if (PEAL_LIKELY(v >= least))
			break;
		if (++turn % LOOKS == 0 && is_late(r))
			return 0;
		idle(r);
	}
	awake(r);
	return v == PEALI_RIVAL_ENDED ? 0 : v;
}

/* ---- reports --------------------------------------------------------------- */

static PEAL_DEV void begin(struct rival *r)
{
	uint32_t i;

	for (i = r->share.lane; i < r->share.words; i += r->share.lanes)
		r->base[i] = peali_bench_word(r->side->seed, i);
	r->began_ns = r->batch_ns = r->launched_ns;
	r->wrong = 0;
	r->in_batch = r->warmed = 0;
	meet(r);
}

/* Checks a payload; each lane counts for itself until the end. */
static PEAL_DEV PEAL_INLINE void check(struct rival *r, const void *payload,
				       uint64_t number, uint64_t mask)
{
	r->wrong += peali_bench_check((const uint64_t *)payload, r->base,
				      number, mask, r->share) != 0;
}

/* All lanes: what the job has come to, `messages` timed in `elapsed_ns`. */
static PEAL_DEV void finish(struct rival *r, uint64_t messages,
			    uint64_t elapsed_ns)
{
	struct peali_bench_report *head = &r->report->head;

	if (r->wrong)
		peal_add_relaxed_dev(&head->wrong, r->wrong);
	if (r->share.lane)
		return;
	head->messages = messages;
	head->elapsed_ns = elapsed_ns;
}

/* Leader: one more round trip is over; 1 once all samples are taken. */
static PEAL_DEV PEAL_INLINE int trip(struct rival *r, uint64_t number)
{
	const struct peali_rival_side *side = r->side;
	struct peali_rival_report *report = r->report;
	uint64_t now;
	int late;

	if (++r->in_batch < side->batch)
		return 0;
	now = peal_clock_ns();
	late = now - r->began_ns > side->budget_ns;
	if (!r->warmed) {
		r->warmed = number >= side->warm || late;
		late = 0;
		if (r->warmed)
			r->began_ns = now;
	} else {
		report->samples[report->head.n_samples++] =
			(uint32_t)((now - r->batch_ns) *
				   PEALI_BENCH_UNITS_PER_NS / side->batch);
		late |= report->head.n_samples >= side->samples;
	}
	r->in_batch = 0;
	r->batch_ns = now;
	return r->warmed && late && report->head.n_samples;
}

/* ---- a flag and a fence ---------------------------------------------------- */

/* Of two: an answer does not overwrite what is still being checked. */
static PEAL_DEV PEAL_INLINE uint64_t *payload_of(uint8_t *area, uint64_t number)
{
	return (uint64_t *)(void *)(area + PEALI_RIVAL_SLOTS_AT +
				    (number & 1) * 2 * PEALI_BENCH_BYTES);
}

static PEAL_DEV PEAL_INLINE uint64_t *flag_of(uint8_t *area)
{
	return (uint64_t *)(void *)(area + PEALI_RIVAL_FLAG_AT);
}

/* All lanes have written: says so. */
static PEAL_DEV PEAL_INLINE void raise_flag(const struct rival *r,
					    uint64_t *flag, uint64_t number)
{
	meet(r);
	if (r->share.lane)
		return;
	fence_release(r);
	put(r, flag, number);
}

static PEAL_DEV PEAL_INLINE uint64_t await_flag(const struct rival *r,
						const uint64_t *flag,
						uint64_t number)
{
	uint64_t v = 0;

	if (!r->share.lane) {
		v = await(r, flag, number);
		fence_acquire(r);
	}
	return say(r, v);
}

static PEAL_DEV void flag_begin(struct rival *r)
{
	uint64_t number = 1;
	int ended = 0;

	while (!ended) {
		peali_bench_fill(payload_of(r->out, number), r->base, number,
				 r->share);
		raise_flag(r, flag_of(r->out), number);
		if (number > 1) /* while the next message is on its way */
			check(r, payload_of(r->in, number - 1), number - 1,
			      ~(uint64_t)0);
		if (!await_flag(r, flag_of(r->in), number)) {
			r->wrong++;
			break;
		}
		ended = (int)say(r, !r->share.lane && trip(r, number));
		number++;
	}
	check(r, payload_of(r->in, number - 1), number - 1, ~(uint64_t)0);
	raise_flag(r, flag_of(r->out), PEALI_RIVAL_ENDED);
	finish(r, number - 1, r->batch_ns - r->began_ns);
}

static PEAL_DEV void flag_answer(struct rival *r)
{
	uint64_t number = 1;
	uint32_t i;

	for (; await_flag(r, flag_of(r->in), number); number++) {
		const uint64_t *in = payload_of(r->in, number);
		uint64_t *out = payload_of(r->out, number);

		for (i = r->share.lane; i < r->share.words; i += r->share.lanes)
			out[i] = ~in[i];
		raise_flag(r, flag_of(r->out), number);
	}
	finish(r, number - 1, 0);
}

/* ---- one atom -------------------------------------------------------------- */

/* Its number, and words of the payload that depend on it. */
static PEAL_DEV PEAL_INLINE void atom_put(uint8_t *area, uint64_t seed,
					  uint32_t number)
{
	uint32_t word = (uint32_t)peali_bench_word(seed, number);
#if PEAL_HAVE_ATOM16
	struct peal_atom16 atom;

	atom.word[0] = number;
	atom.word[1] = word;
	atom.word[2] = ~word;
	atom.word[3] = word ^ number;
	peal_atom16_store((struct peal_atom16 *)(void *)area, atom);
#else
	peal_atom8_store((uint64_t *)(void *)area,
			 (uint64_t)number << 32 | word);
#endif
}

/* Leader: 1 the atom of that number is there, and right; 0 it is late. */
static PEAL_DEV int atom_await(struct rival *r, uint32_t number)
{
	uint32_t word = (uint32_t)peali_bench_word(r->side->seed, number);
	uint32_t turn = 0, seen = 0;

	for (;;) {
#if PEAL_HAVE_ATOM16
		struct peal_atom16 atom = peal_atom16_load(
			(const struct peal_atom16 *)(const void *)r->in);

		seen = atom.word[0];
		if (seen == number) {
			r->wrong += atom.word[1] != word ||
				    atom.word[2] != ~word ||
				    atom.word[3] != (word ^ number);
			break;
		}
#else
		uint64_t atom = peal_atom8_load((uint64_t *)(void *)r->in);

		seen = (uint32_t)(atom >> 32);
		if (seen == number) {
			r->wrong += (uint32_t)atom != word;
			break;
		}
#endif
		if (seen == (uint32_t)PEALI_RIVAL_ENDED ||
		    (++turn % LOOKS == 0 && is_late(r)))
			return 0;
		idle(r);
	}
	awake(r);
	return 1;
}

static PEAL_DEV void atom_run(struct rival *r)
{
	uint32_t number = 1;
	int ended = 0;

	if (r->share.lane)
		return;
	while (!ended) {
		if (!r->side->role)
			atom_put(r->out, r->side->seed, number);
		if (!atom_await(r, number)) {
			r->wrong += !r->side->role;
			break;
		}
		if (r->side->role)
			atom_put(r->out, r->side->seed, number);
		else
			ended = trip(r, number);
		number++;
	}
	if (!r->side->role)
		atom_put(r->out, r->side->seed, (uint32_t)PEALI_RIVAL_ENDED);
	finish(r, number - 1, r->batch_ns - r->began_ns);
}

/* ---- rings ----------------------------------------------------------------- */

static PEAL_DEV PEAL_INLINE uint8_t *slot_of(const struct rival *r,
					     uint8_t *area, uint64_t number)
{
	return area + PEALI_RIVAL_SLOTS_AT +
	       (number & (r->side->slots - 1)) *
		       peali_rival_stride(r->side->bytes);
}

static PEAL_DEV PEAL_INLINE uint64_t *payload_in(uint8_t *slot)
{
	return (uint64_t *)(void *)(slot + 16);
}

/* The turn word of a slot: in its receiver's area it says that it is full, in
 * its sender's that it is free. */
static PEAL_DEV PEAL_INLINE uint64_t *turn_in(uint8_t *slot)
{
	return (uint64_t *)(void *)slot;
}

/* Receiver: one more is taken; from the last warm one on it counts. */
static PEAL_DEV PEAL_INLINE void count(struct rival *r, uint64_t number)
{
	if (number + 1 == r->side->warm)
		r->began_ns = peal_clock_ns();
}

static PEAL_DEV void ring_end(struct rival *r, uint64_t number)
{
	r->wrong += number != r->side->messages;
	meet(r);
	finish(r, number - (number < r->side->warm ? number : r->side->warm),
	       peal_clock_ns() - r->began_ns);
}

static PEAL_DEV void ticket_send(struct rival *r)
{
	uint64_t n = 0, ticket = 0, slots = r->side->slots;

	for (; n < r->side->messages; n++) {
		uint64_t fine = 1;

		if (!r->share.lane) {
			ticket = peal_add_relaxed_dev(r->own + 1, 1);
			if (ticket >= slots) {
				fine = await(r,
					     turn_in(slot_of(r, r->in, ticket)),
					     ticket - slots + 1);
				fence_acquire(r);
			}
			ticket = fine ? ticket : PEALI_RIVAL_ENDED;
		}
		ticket = say(r, ticket);
		if (ticket == PEALI_RIVAL_ENDED)
			break;
		peali_bench_fill(payload_in(slot_of(r, r->out, ticket)),
				 r->base, ticket, r->share);
		raise_flag(r, turn_in(slot_of(r, r->out, ticket)), ticket + 1);
	}
	ring_end(r, n);
}

static PEAL_DEV void ticket_take(struct rival *r)
{
	uint64_t n = 0;

	for (; n < r->side->messages; n++) {
		uint8_t *slot = slot_of(r, r->in, n);

		if (!await_flag(r, turn_in(slot), n + 1))
			break;
		check(r, payload_in(slot), n, 0);
		raise_flag(r, turn_in(slot_of(r, r->out, n)), n + 1);
		count(r, n);
	}
	ring_end(r, n);
}

static PEAL_DEV PEAL_INLINE uint64_t *head_of(uint8_t *area)
{
	return (uint64_t *)(void *)(area + PEALI_RIVAL_HEAD_AT);
}

/* Lanes have met: releases all that they have done. */
static PEAL_DEV PEAL_INLINE void release(const struct rival *r, uint64_t *word,
					 uint64_t value)
{
	meet(r);
	if (r->share.lane)
		return;
	if (r->side->across)
		peal_store_release_sys(word, value);
	else
		peal_store_release_dev(word, value);
}

/* Leader awaits by relaxed looks, and acquires what it has seen. */
static PEAL_DEV PEAL_INLINE uint64_t acquire(const struct rival *r,
					     const uint64_t *word,
					     uint64_t least)
{
	uint64_t v = 0;

	if (!r->share.lane && await(r, word, least))
		v = r->side->across ? peal_load_acquire_sys(word) :
				      peal_load_acquire_dev(word);
	return say(r, v);
}

static PEAL_DEV void acqrel_send(struct rival *r)
{
	uint64_t n = 0, head = 0, slots = r->side->slots;

	for (; n < r->side->messages; n++) {
		if (n - head >= slots) {
			if (n % r->side->batch) /* what is owed comes first */
				release(r, flag_of(r->out), n);
			head = acquire(r, head_of(r->in), n - slots + 1);
			if (!head)
				break;
		}
		peali_bench_fill(payload_in(slot_of(r, r->out, n)), r->base, n,
				 r->share);
		if ((n + 1) % r->side->batch == 0 || n + 1 == r->side->messages)
			release(r, flag_of(r->out), n + 1);
	}
	ring_end(r, n);
}

static PEAL_DEV void acqrel_take(struct rival *r)
{
	uint64_t n = 0, tail = 0;

	for (; n < r->side->messages; n++) {
		if (n >= tail) {
			tail = acquire(r, flag_of(r->in), n + 1);
			if (!tail)
				break;
		}
		check(r, payload_in(slot_of(r, r->in, n)), n, 0);
		if ((n + 1) % (r->side->slots / 4) == 0)
			release(r, head_of(r->out), n + 1);
		count(r, n);
	}
	ring_end(r, n);
}

/* ---- a barrier on one counter ---------------------------------------------- */

static PEAL_DEV uint64_t *phase_word(const struct rival *r, uint32_t who)
{
	return (uint64_t *)(void *)(r->out + PEALI_RIVAL_SLOTS_AT +
				    (uint64_t)who * PEAL_SHARED_LINE);
}

/* Leader: how many have not arrived, or have gone ahead. */
static PEAL_DEV uint64_t phases_look(const struct rival *r, uint64_t phase)
{
	uint64_t wrong = 0;
	uint32_t i;

	for (i = 0; i < r->side->participants; i++)
		wrong += look(r, phase_word(r, i)) != phase;
	return wrong;
}

/* The counter only grows: nobody has to set it back. */
static PEAL_DEV uint64_t counter_pass(const struct rival *r, uint64_t phase)
{
	uint64_t *counter = flag_of(r->out);
	uint64_t here = 0;

	meet(r);
	if (!r->share.lane) {
		peal_add_acqrel_dev(counter, 1);
		here = await(r, counter, phase * r->side->participants);
		fence_acquire(r);
	}
	return say(r, here);
}

static PEAL_DEV void counter_run(struct rival *r)
{
	const struct peali_rival_side *side = r->side;
	uint64_t i;

	for (i = 1; i <= side->messages; i++) {
		int looks = !r->share.lane && i % PHASES_LOOK_EVERY == 0;

		if (looks)
			put(r, phase_word(r, side->role), side->seed + i);
		if (!counter_pass(r, i))
			break;
		if (looks)
			r->wrong += phases_look(r, side->seed + i);
		count(r, i - 1);
	}
	ring_end(r, i - 1);
}

/* ---- one payload ----------------------------------------------------------- */

/* The host looks at the sum of all when the round is over. */
static PEAL_DEV void sum_run(struct rival *r)
{
	const uint64_t *words =
		(const uint64_t *)(const void *)(r->in + PEALI_RIVAL_SLOTS_AT);
	uint64_t sum = 0;
	uint32_t i;

	for (i = r->share.lane; i < r->share.words; i += r->share.lanes)
		sum += words[i] * (2 * (uint64_t)i + 1);
	peal_add_relaxed_dev(&r->report->head.elapsed_ns, sum);
}

/* ---- entry ----------------------------------------------------------------- */

static PEAL_DEV void run_job(struct rival *r)
{
	int role = r->side->role != 0;

	switch (r->side->job) {
	case PEALI_RIVAL_FLAG:
		if (role)
			flag_answer(r);
		else
			flag_begin(r);
		break;
	case PEALI_RIVAL_ATOM:
		atom_run(r);
		break;
	case PEALI_RIVAL_TICKET:
		if (role)
			ticket_take(r);
		else
			ticket_send(r);
		break;
	case PEALI_RIVAL_ACQREL:
		if (role)
			acqrel_take(r);
		else
			acqrel_send(r);
		break;
	case PEALI_RIVAL_COUNTER:
		counter_run(r);
		break;
	default:
		break;
	}
}

static PEAL_DEV int run(const struct peal_kernel_params *raw, uint32_t worker,
			uint32_t lane)
{
	const struct peali_rival_params *params =
		(const struct peali_rival_params *)(const void *)raw;
	const struct peali_rival_side *side =
		(const struct peali_rival_side *)(const void *)(params + 1) +
		worker;
	struct rival r;

	if (params->magic != PEALI_RIVALS_MAGIC)
		return 0;
	r.side = side;
	r.in = (uint8_t *)(uintptr_t)side->in;
	r.out = (uint8_t *)(uintptr_t)side->out;
	r.own = (uint64_t *)(uintptr_t)side->work;
	r.base = (uint64_t *)(uintptr_t)(side->work + PEALI_RIVAL_BASE_AT);
	r.report =
		(struct peali_rival_report *)(uintptr_t)(side->work +
							 PEALI_RIVAL_REPORT_AT);
	r.share.words = side->bytes / 8;
	r.share.lane = PEAL_SINGLE_LANE ? 0 : lane;
	r.share.lanes = PEAL_SINGLE_LANE ? 1 : side->lanes;
	r.launched_ns = peal_clock_ns();
	if (side->job == PEALI_RIVAL_SUM) {
		sum_run(&r);
		return 0;
	}
	begin(&r);
	run_job(&r);
	return 0;
}

PEALI_BARE_PROGRAM(rivals);
