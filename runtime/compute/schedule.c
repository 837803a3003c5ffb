/* SPDX-License-Identifier: Apache-2.0 */
/* Executors: chooses the device and the elements of the next task. */
#include "runtime/compute/executor.h"

/*
 * Shortest duration of a task: LEAST_TIMES round trips of a task without
 * elements, but at least LEAST_NS. It applies once the device's speed is known.
 * A limit or the end of the elements can make a task shorter.
 */
#define LEAST_TIMES 8
#define LEAST_NS 50000.0
/* Dynamic: a device's first task is 1 / PROBES of a worker's equal share. */
#define PROBES 64
/*
 * Tasks per worker of a static part. Several tasks let other devices take over
 * the part of an ended kernel, and let a cancelled job end soon.
 */
#define PIECES 4

const char *peal_schedule_name(uint32_t schedule)
{
	static const char *const names[PEAL_SCHEDULE_COUNT] = {
		"default", "static", "dynamic", "guided", "memory"
	};

	return schedule < PEAL_SCHEDULE_COUNT ? names[schedule] : "?";
}

static uint64_t at_most(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static uint64_t at_least(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

double peali_executor_speed(const struct peal_executor *e, uint32_t rank)
{
	const struct peali_executor_handler *h = e->handler;

	return h->busy_ns[rank] > 0 ? h->elements[rank] / h->busy_ns[rank] *
					      e->devices[rank].workers :
				      0;
}

static int has_space(const struct peal_executor *e, uint32_t rank)
{
	const struct peali_executor_device *s = &e->devices[rank];

	return !s->result && s->in_flight < s->slots && s->out < s->most;
}

/* Returns the fewest elements of a task for a device. */
static uint64_t least(const struct peal_executor *e, uint32_t rank)
{
	const struct peali_executor_device *s = &e->devices[rank];
	double ns = LEAST_TIMES * (double)e->handler->empty_ns[rank], n;

	n = peali_executor_speed(e, rank) / s->workers *
	    (ns > LEAST_NS ? ns : LEAST_NS);
	return at_most(at_least(e->job.grain, (uint64_t)n),
		       at_most(s->task_most, s->most));
}

uint64_t peali_schedule_threshold(const struct peal_executor *e,
				  uint32_t *fastest_out)
{
	double all = 0, most = 0, more, speed;
	uint32_t i, fastest = 0;

	for (i = 0; i < e->n; i++) {
		if (e->devices[i].result)
			continue;
		speed = peali_executor_speed(e, i);
		if (speed <= 0)
			return 0;
		all += speed;
		if (speed > most) {
			most = speed;
			fastest = i;
		}
	}
	more = (double)e->handler->empty_all_ns -
	       (double)e->handler->empty_ns[fastest];
	if (more <= 0 || all <= most)
		return 0;
	*fastest_out = fastest;
	more /= 1 / most - 1 / all;
	return more < 1e18 ? (uint64_t)more : (uint64_t)1e18;
}

/* ---- take elements ------------------------------------------------------- */

static uint64_t left(const struct peal_executor *e)
{
	return e->job.count - e->handed;
}

/*
 * Takes up to n adjacent elements. Elements that came back from a device go
 * first.
 */
static void take(struct peal_executor *e, uint64_t n, struct peali_chunk *out)
{
	struct peali_chunk *back = e->n_back ? &e->back[e->n_back - 1] : 0;

	if (!back) {
		out->count = at_most(n, e->job.count - e->fresh);
		out->first = out->at = e->fresh;
		out->range = 0;
		e->fresh += out->count;
		return;
	}
	*out = *back;
	out->count = at_most(n, back->count);
	back->first += out->count;
	back->at += out->count;
	back->count -= out->count;
	e->n_back -= !back->count;
}

/*
 * Takes up to n elements for a device, within its limit. Returns 1, or 0 if no
 * elements are left.
 */
static int give(struct peal_executor *e, uint32_t rank, uint64_t n,
		struct peali_chunk *out)
{
	const struct peali_executor_device *s = &e->devices[rank];

	take(e, at_most(n, at_most(s->task_most, s->most - s->out)), out);
	return out->count > 0;
}

/* ---- static -------------------------------------------------------------- */

void peali_schedule_extent(struct peal_executor *e, uint32_t rank)
{
	struct peali_executor_device *s = &e->devices[rank];
	struct peal_extent extent;

	if (e->schedule != PEAL_SCHEDULE_STATIC || s->rest.count ||
	    s->extents >= peal_partition_extents(&e->partition, rank))
		return;
	peal_partition_extent(&e->partition, rank, s->extents++, &extent);
	s->rest.first = extent.offset;
	s->rest.count = extent.count;
	if (!e->packed)
		s->rest.at = extent.offset;
}

/*
 * Takes elements of the device's part, or else elements that came back from
 * another device. Returns 1, or 0 if there are none.
 */
static int give_part(struct peal_executor *e, uint32_t rank,
		     struct peali_chunk *out)
{
	struct peali_executor_device *s = &e->devices[rank];
	uint64_t pieces = (e->only < 0 ? PIECES : 1) * (uint64_t)s->workers;
	uint64_t n =
		at_least((s->length + pieces - 1) / pieces, least(e, rank));

	peali_schedule_extent(e, rank);
	if (!s->rest.count)
		return e->n_back && give(e, rank, n, out);
	*out = s->rest;
	out->count = at_most(at_most(n, s->rest.count),
			     at_most(s->task_most, s->most - s->out));
	s->rest.first += out->count;
	s->rest.at += out->count;
	s->rest.count -= out->count;
	return 1;
}

static int next_static(struct peal_executor *e, uint32_t *rank_out,
		       struct peali_chunk *out)
{
	uint32_t i;

	for (i = 0; i < e->n; i++)
		if (has_space(e, i) && give_part(e, i, out)) {
			*rank_out = i;
			return 1;
		}
	return 0;
}

/* ---- guided -------------------------------------------------------------- */

static int next_guided(struct peal_executor *e, uint32_t *rank_out,
		       struct peali_chunk *out)
{
	uint64_t workers = 0;
	uint32_t i;

	for (i = 0; i < e->n; i++)
		if (!e->devices[i].result)
			workers += e->devices[i].workers;
	for (i = 0; i < e->n; i++) {
		/* only a free worker gets a task */
		if (!has_space(e, i) ||
		    e->devices[i].in_flight >= e->devices[i].workers)
			continue;
		*rank_out = i;
		return give(e, i,
			    at_least((left(e) + workers - 1) / workers,
				     e->job.grain),
			    out);
	}
	return 0;
}

/* ---- dynamic ------------------------------------------------------------- */

/*
 * Takes a small task for an idle device of unknown speed, to measure the speed.
 * Returns 0 if there is no such device.
 */
static int give_probe(struct peal_executor *e, uint32_t *rank_out,
		      struct peali_chunk *out)
{
	uint64_t workers = 0;
	uint32_t i;

	for (i = 0; i < e->n; i++)
		workers += e->devices[i].workers;
	for (i = 0; i < e->n; i++) {
		if (!has_space(e, i) || e->devices[i].in_flight ||
		    peali_executor_speed(e, i) > 0)
			continue;
		*rank_out = i;
		return give(e, i,
			    at_least(e->job.count / (PROBES * workers),
				     e->job.grain),
			    out);
	}
	return 0;
}

/*
 * Chooses the device that would finish one more small task first.
 *
 * 1. For each live device of known speed, `ns` is the time until it is idle.
 *    The time includes one more task of the fewest elements.
 * 2. `best` is the least time of the devices that can take a task now.
 *    `waiting` is the least time of the others.
 * 3. If `waiting` is less than `best`, the task may wait for such a device. It
 *    waits unless `best` is at most the time in which all devices together
 *    finish all elements.
 *
 * Returns 1 with the rank, or 0 if no device is to get a task now.
 */
static int earliest(const struct peal_executor *e, uint32_t *rank_out)
{
	double best = 0, waiting = 0, all = 0, speed, ns;
	uint64_t out = left(e);
	int found = 0, waits = 0;
	uint32_t i;

	for (i = 0; i < e->n; i++) {
		speed = peali_executor_speed(e, i);
		if (e->devices[i].result || speed <= 0)
			continue;
		all += speed;
		out += e->devices[i].out;
		ns = ((double)e->devices[i].out +
		      (double)at_most(least(e, i), left(e))) /
		     speed;
		if (!has_space(e, i)) {
			waiting = waits && waiting < ns ? waiting : ns;
			waits = 1;
		} else if (!found || ns < best) {
			found = 1;
			best = ns;
			*rank_out = i;
		}
	}
	return found &&
	       (!waits || best <= waiting || best <= (double)out / all);
}

static int next_dynamic(struct peal_executor *e, uint32_t *rank_out,
			struct peali_chunk *out)
{
	double all = 0, share;
	uint32_t i;

	if (give_probe(e, rank_out, out))
		return 1;
	if (!earliest(e, rank_out))
		return 0;
	for (i = 0; i < e->n; i++)
		if (!e->devices[i].result)
			all += peali_executor_speed(e, i);
	share = (double)left(e) * peali_executor_speed(e, *rank_out) / all / 2 /
		e->devices[*rank_out].workers;
	return give(e, *rank_out,
		    at_least((uint64_t)share, least(e, *rank_out)), out);
}

int peali_schedule_next(struct peal_executor *e, uint32_t *rank_out,
			struct peali_chunk *chunk_out)
{
	if (!left(e))
		return 0;
	if (e->schedule == PEAL_SCHEDULE_STATIC)
		return next_static(e, rank_out, chunk_out);
	if (e->schedule == PEAL_SCHEDULE_GUIDED)
		return next_guided(e, rank_out, chunk_out);
	return next_dynamic(e, rank_out, chunk_out);
}
