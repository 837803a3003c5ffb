/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Baseline kernels for `peal bench`: code as one writes it on a GPU without
 * ring kernels. The kernels are no resident loop: each worker does its job once
 * and returns. Each wait ends at the time limit at the latest. The worker that
 * begins, or receives messages, measures the time by its own clock. All
 * payloads are checked.
 */
#include <peal/abi/program.h>
#include <peal/device/impl/base/host_support.h>

#include "ringkernels/no_loop_program.h"
#include "ringkernels/baseline_crowd.h"
#include "ringkernels/baseline_rings.h"

/* Phases of a barrier between two checks of the participants. */
#define PHASES_LOOK_EVERY 64

struct peal_kernel_params;

/* ---- a flag and a fence -------------------------------------------------- */

/*
 * Returns one of two payloads, so that an answer does not overwrite a payload
 * that is still being checked.
 */
static PEAL_DEV PEAL_INLINE uint64_t *payload_of(uint8_t *area, uint64_t number)
{
	return (uint64_t *)(void *)(area + PEALI_BASELINE_SLOTS_AT +
				    (number & 1) * 2 * PEALI_BENCH_BYTES);
}

static PEAL_DEV void flag_begin(struct baseline_worker *r)
{
	uint64_t number = 1;
	int ended = 0;

	while (!ended) {
		peali_bench_fill(payload_of(r->out, number), r->base, number,
				 r->share);
		raise_flag(r, flag_of(r->out), number);
		if (number > 1) /* check while the next message travels */
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
	raise_flag(r, flag_of(r->out), PEALI_BASELINE_ENDED);
	finish(r, number - 1, r->batch_ns - r->began_ns);
}

static PEAL_DEV void flag_answer(struct baseline_worker *r)
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

/* ---- one atom ------------------------------------------------------------ */

/* Stores an atom: the number, and words that depend on the number. */
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

/*
 * Leader: waits for the atom of a number and checks it. Returns 0 if it is
 * late.
 */
static PEAL_DEV int atom_await(struct baseline_worker *r, uint32_t number)
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
		if (seen == (uint32_t)PEALI_BASELINE_ENDED ||
		    (++turn % LOOKS == 0 && is_late(r)))
			return 0;
		idle(r);
	}
	awake(r);
	return 1;
}

static PEAL_DEV void atom_run(struct baseline_worker *r)
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
		atom_put(r->out, r->side->seed, (uint32_t)PEALI_BASELINE_ENDED);
	finish(r, number - 1, r->batch_ns - r->began_ns);
}

/* ---- a barrier on one counter -------------------------------------------- */

static PEAL_DEV uint64_t *phase_word(const struct baseline_worker *r,
				     uint32_t index)
{
	return (uint64_t *)(void *)(r->out + PEALI_BASELINE_SLOTS_AT +
				    (uint64_t)index * PEAL_SHARED_LINE);
}

/* Leader: returns the number of participants that are not in this phase. */
static PEAL_DEV uint64_t phases_look(const struct baseline_worker *r,
				     uint64_t phase)
{
	uint64_t wrong = 0;
	uint32_t i;

	for (i = 0; i < r->side->participants; i++)
		wrong += look(r, phase_word(r, i)) != phase;
	return wrong;
}

static PEAL_DEV void counter_run(struct baseline_worker *r)
{
	const struct peali_baseline_side *side = r->side;
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

/* ---- one payload --------------------------------------------------------- */

/* Adds a sum of the payload; the host checks the total after the round. */
static PEAL_DEV void sum_run(struct baseline_worker *r)
{
	const uint64_t *words =
		(const uint64_t *)(const void *)(r->in +
						 PEALI_BASELINE_SLOTS_AT);
	uint64_t sum = 0;
	uint32_t i;

	for (i = r->share.lane; i < r->share.words; i += r->share.lanes)
		sum += words[i] * (2 * (uint64_t)i + 1);
	peal_add_relaxed_dev(&r->report->head.elapsed_ns, sum);
}

/* ---- one task ------------------------------------------------------------ */

/* Counts the task, and takes the rest of its time. */
static PEAL_DEV void step_run(const struct baseline_worker *r)
{
	uint64_t *count = flag_of(r->in);

	if (!r->share.lane)
		*count += 1;
	while (peal_clock_ns() - r->launched_ns < r->side->budget_ns)
		peal_pause();
}

/* ---- entry --------------------------------------------------------------- */

static PEAL_DEV void run_job(struct baseline_worker *r)
{
	int role = r->side->role != 0;

	switch (r->side->job) {
	case PEALI_BASELINE_FLAG:
		role ? flag_answer(r) : flag_begin(r);
		break;
	case PEALI_BASELINE_ATOM:
		atom_run(r);
		break;
	case PEALI_BASELINE_TICKET:
		role ? ticket_take(r) : ticket_send(r);
		break;
	case PEALI_BASELINE_ACQREL:
		role ? acqrel_take(r) : acqrel_send(r);
		break;
	case PEALI_BASELINE_COUNTER:
		counter_run(r);
		break;
	case PEALI_BASELINE_CAS:
		role ? cas_take(r) : cas_send(r);
		break;
	case PEALI_BASELINE_LANES:
		role ? lanes_take(r) : lanes_send(r);
		break;
	case PEALI_BASELINE_LL:
		role ? ll_take(r) : ll_send(r);
		break;
	case PEALI_BASELINE_SEMAPHORE:
		role ? semaphore_take(r) : semaphore_send(r);
		break;
	case PEALI_BASELINE_BROKER:
	case PEALI_BASELINE_POPPERS:
		queue_run(r, r->side->job == PEALI_BASELINE_BROKER);
		break;
	case PEALI_BASELINE_GRID:
		grid_run(r);
		break;
	default:
		break;
	}
}

static PEAL_DEV int run(const struct peal_kernel_params *raw, uint32_t worker,
			uint32_t lane)
{
	const struct peali_baseline_params *params =
		(const struct peali_baseline_params *)(const void *)raw;
	const struct peali_baseline_side *side =
		(const struct peali_baseline_side *)(const void *)(params + 1);
	struct baseline_worker r;
	struct peali_baseline_member *members;
	uint64_t work;

	if (params->magic != PEALI_BASELINE_MAGIC)
		return 0;
	r.member = params->is_crowd ? worker : 0;
	r.side = side += worker - r.member;
	r.in = (uint8_t *)(uintptr_t)side->in;
	r.out = (uint8_t *)(uintptr_t)side->out;
	members = (struct peali_baseline_member *)(uintptr_t)side->work;
	work = (uint64_t)(uintptr_t)(members + r.member);
	r.own = (uint64_t *)(uintptr_t)work;
	r.line = &members[r.member].line;
	r.base = (uint64_t *)(uintptr_t)(work + PEALI_BASELINE_BASE_AT);
	r.report = (struct peali_baseline_report
			    *)(uintptr_t)(work + PEALI_BASELINE_REPORT_AT);
	r.share.words = side->bytes / 8;
	r.share.lane = PEAL_SINGLE_LANE ? 0 : lane;
	r.share.lanes = PEAL_SINGLE_LANE ? 1 : side->lanes;
	r.launched_ns = peal_clock_ns();
	if (side->job == PEALI_BASELINE_SUM) {
		sum_run(&r);
		return 0;
	}
	if (side->job == PEALI_BASELINE_STEP) {
		step_run(&r);
		return 0;
	}
	begin(&r);
	run_job(&r);
	return 0;
}

PEALI_NO_LOOP_PROGRAM(peal_baseline);
