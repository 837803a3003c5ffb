/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_RINGKERNELS_BASELINE_BASE_H
#define PEAL_RINGKERNELS_BASELINE_BASE_H

#include <peal/device/impl/base/host_support.h>

#include "ringkernels/no_loop_program.h"
#include "ringkernels/baseline_program.h"

/* Code of all baseline kernels: lanes, waiting, flags, reports. */

/* Polls of a word between two checks of the clock. */
#define LOOKS 64

struct baseline_worker {
	const struct peali_baseline_side *side;
	uint8_t *in, *out;
	/*
	 * [0] leader's word to all lanes; [1] next ticket; [2], [3] per-lane
	 * rings: start of the timed part, ended lanes
	 */
	uint64_t *own;
	uint64_t *base;
	struct peali_baseline_report *report;
	struct peali_crowd_line *line; /* of a member of a crowd */
	uint32_t member; /* of a crowd */
	struct peali_bench_share share;
	uint64_t launched_ns;
	/* only the leader uses the fields below, except `wrong` */
	uint64_t began_ns, batch_ns, wrong;
	uint32_t in_batch, warmed;
};

/* ---- lanes and waiting --------------------------------------------------- */

static PEAL_DEV PEAL_INLINE void meet(const struct baseline_worker *r)
{
#if PEAL_ON_HOST
	if (r->share.lanes > 1)
		peal_host_sync_lanes();
#else
	if (r->share.lanes > 1)
		peal_hw_sync();
#endif
}

/* Returns the leader's word to all lanes. */
static PEAL_DEV PEAL_INLINE uint64_t say(const struct baseline_worker *r,
					 uint64_t word)
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

#if PEAL_ON_HOST
static PEAL_INLINE struct peal_bell *bell_of(const struct baseline_worker *r)
{
	return (struct peal_bell *)(uintptr_t)r->side->bell + r->member;
}
#endif

/* Waits between two polls. Only the leader uses the bell. */
static PEAL_DEV PEAL_INLINE void idle(const struct baseline_worker *r)
{
#if PEAL_ON_HOST
	if (r->share.lane)
		peal_pause();
	else
		peal_host_idle(bell_of(r), 1);
#else
	(void)r;
	peal_poll_gap();
#endif
}

static PEAL_DEV PEAL_INLINE void awake(const struct baseline_worker *r)
{
#if PEAL_ON_HOST
	if (!r->share.lane)
		peal_bell_reset(bell_of(r));
#else
	(void)r;
#endif
}

static PEAL_DEV PEAL_INLINE int is_late(const struct baseline_worker *r)
{
	return peal_clock_ns() - r->launched_ns > r->side->limit_ns;
}

/*
 * Loads a word, relaxed; the caller adds a fence. ThreadSanitizer cannot see
 * fences, so the load is then an acquire.
 */
static PEAL_DEV PEAL_INLINE uint64_t look(const struct baseline_worker *r,
					  const uint64_t *word)
{
	if (PEAL_TSAN)
		return peal_load_acquire_sys(word);
	return r->side->across ? peal_load_relaxed_sys(word) :
				 peal_load_relaxed_dev(word);
}

static PEAL_DEV PEAL_INLINE void put(const struct baseline_worker *r,
				     uint64_t *word, uint64_t value)
{
	if (PEAL_TSAN)
		peal_store_release_sys(word, value);
	else if (r->side->across)
		peal_store_relaxed_sys(word, value);
	else
		peal_store_relaxed_dev(word, value);
}

static PEAL_DEV PEAL_INLINE void fence_release(const struct baseline_worker *r)
{
	if (r->side->across)
		peal_fence_release_sys();
	else
		peal_fence_release_dev();
}

static PEAL_DEV PEAL_INLINE void fence_acquire(const struct baseline_worker *r)
{
	if (r->side->across)
		peal_fence_acquire_sys();
	else
		peal_fence_acquire_dev();
}

/*
 * Waits, relaxed, until a word is at least `least`. Returns the value, or 0 if
 * the limit has passed or the writer has ended. Only the leader calls this, or
 * any lane with `alone`. On the host such a lane lets the other lanes run.
 */
static PEAL_DEV PEAL_INLINE uint64_t await_by(const struct baseline_worker *r,
					      const uint64_t *word,
					      uint64_t least, int alone)
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
		if (PEAL_ON_HOST && alone)
			meet(r);
	}
	awake(r);
	return v == PEALI_BASELINE_ENDED ? 0 : v;
}

static PEAL_DEV PEAL_INLINE uint64_t await(const struct baseline_worker *r,
					   const uint64_t *word, uint64_t least)
{
	return await_by(r, word, least, 0);
}

/* ---- reports ------------------------------------------------------------- */

static PEAL_DEV void begin(struct baseline_worker *r)
{
	uint32_t i;

	for (i = r->share.lane; i < r->share.words; i += r->share.lanes)
		r->base[i] = peali_bench_word(r->side->seed, i);
	r->began_ns = r->batch_ns = r->launched_ns;
	r->wrong = 0;
	r->in_batch = r->warmed = 0;
	meet(r);
}

/* Checks a payload. Each lane has its own count of errors. */
static PEAL_DEV PEAL_INLINE void check(struct baseline_worker *r,
				       const void *payload, uint64_t number,
				       uint64_t mask)
{
	r->wrong += peali_bench_check((const uint64_t *)payload, r->base,
				      number, mask, r->share) != 0;
}

/* All lanes: reports `messages` in `elapsed_ns`. */
static PEAL_DEV void finish(struct baseline_worker *r, uint64_t messages,
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

/* Leader: counts a round trip. Returns 1 once all samples are taken. */
static PEAL_DEV PEAL_INLINE int trip(struct baseline_worker *r, uint64_t number)
{
	const struct peali_baseline_side *side = r->side;
	struct peali_baseline_report *report = r->report;
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

/*
 * Counts a message or a phase. The timed part begins after the last warm-up
 * one.
 */
static PEAL_DEV PEAL_INLINE void count(struct baseline_worker *r,
				       uint64_t number)
{
	if (number + 1 == r->side->warm)
		r->began_ns = peal_clock_ns();
}

static PEAL_DEV void ring_end(struct baseline_worker *r, uint64_t number)
{
	r->wrong += number != r->side->messages;
	meet(r);
	finish(r, number - (number < r->side->warm ? number : r->side->warm),
	       peal_clock_ns() - r->began_ns);
}

/* ---- flags --------------------------------------------------------------- */

static PEAL_DEV PEAL_INLINE uint64_t *flag_of(uint8_t *area)
{
	return (uint64_t *)(void *)(area + PEALI_BASELINE_FLAG_AT);
}

/* Sets a flag after all lanes have written. */
static PEAL_DEV PEAL_INLINE void raise_flag(const struct baseline_worker *r,
					    uint64_t *flag, uint64_t number)
{
	meet(r);
	if (r->share.lane)
		return;
	fence_release(r);
	put(r, flag, number);
}

static PEAL_DEV PEAL_INLINE uint64_t await_flag(const struct baseline_worker *r,
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

/* ---- a barrier on one counter -------------------------------------------- */

/* Passes the barrier. The counter only grows, so no reset is needed. */
static PEAL_DEV uint64_t counter_pass(const struct baseline_worker *r,
				      uint64_t phase)
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

#endif
