/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Executors: jobs on arrays of the host, and the list of their ranges. A range is
 * a task of the job. executor_run.c assigns it as any task, and
 * executor_arrays_stage.c copies its elements. The caller of peali_ functions holds
 * the executor's lock.
 */
#include <stdlib.h>
#include <string.h>

#include "runtime/base/error.h"
#include "runtime/base/refusal.h"
#include "runtime/base/text.h"
#include "runtime/base/wait.h"
#include "runtime/compute/executor.h"
#include "runtime/kernel/kernel.h"

#define RUN "peal_executor_arrays_run"
#define RANGE "peal_executor_arrays_range"
/* No process has addresses from here on: five levels of page tables on x86-64. */
#define ADDRESS_END ((uint64_t)1 << 56)

/* ---- ranges -------------------------------------------------------------- */

/* Makes memory for one more range. Also for ranges without a device: one in front
 * of each range, and one behind the last. */
static int reserve(struct peali_executor_arrays *a)
{
	uint64_t n = 4 * (a->n_ranges + 1);
	struct peal_executor_range *more;

	if (2 * (a->n_ranges + 1) + 1 <= a->max_ranges)
		return 0;
	more = realloc(a->range, n * sizeof(*more));
	if (!more)
		return peali_fail(PEAL_ENOMEM, RUN,
				  "no memory for the list of ranges");
	a->range = more;
	a->max_ranges = n;
	return 0;
}

static struct peal_executor_range *append(struct peali_executor_arrays *a,
					  uint64_t first, uint64_t count,
					  int device, int result)
{
	struct peal_executor_range *r = &a->range[a->n_ranges++];

	memset(r, 0, sizeof(*r));
	r->first = first;
	r->count = count;
	r->device = device;
	r->result = result;
	return r;
}

int peali_arrays_add(struct peal_executor *e, int device,
		     struct peali_chunk *chunk)
{
	struct peali_executor_arrays *a = &e->arrays;
	struct peal_executor_range *r;
	int result = reserve(a);

	if (result)
		return result;
	r = append(a, chunk->first, chunk->count, device, PEAL_ETIMEDOUT);
	r->begin_ns = r->end_ns = peal_clock_ns() - e->began_ns;
	chunk->range = a->n_ranges;
	return 0;
}

struct peal_executor_range *peali_arrays_of(struct peal_executor *e,
					    const struct peali_chunk *chunk)
{
	return e->arrays.array && chunk->range ?
		       &e->arrays.range[chunk->range - 1] :
		       NULL;
}

void peali_arrays_drop(struct peal_executor *e, struct peali_chunk *chunk)
{
	struct peal_executor_range *r = peali_arrays_of(e, chunk);

	if (r)
		r->count = 0;
	chunk->range = 0;
}

void peali_arrays_end(struct peal_executor *e, const struct peali_chunk *chunk,
		      int result)
{
	struct peal_executor_range *r = peali_arrays_of(e, chunk);

	if (!r)
		return;
	r->result = result;
	r->end_ns = peal_clock_ns() - e->began_ns;
}

static int by_first(const void *a, const void *b)
{
	const struct peal_executor_range *x = a, *y = b;

	return (x->first > y->first) - (x->first < y->first);
}

static void sort(struct peali_executor_arrays *a)
{
	if (a->n_ranges)
		qsort(a->range, a->n_ranges, sizeof(*a->range), by_first);
}

static void remove_dropped(struct peali_executor_arrays *a)
{
	uint64_t i, n = 0;

	for (i = 0; i < a->n_ranges; i++)
		if (a->range[i].count)
			a->range[n++] = a->range[i];
	a->n_ranges = n;
}

/* The job is over, or its call ends before. Lists all elements in their order,
 * also those that no device got. */
static void complete(struct peal_executor *e)
{
	struct peali_executor_arrays *a = &e->arrays;
	uint64_t at = 0, i, n;

	remove_dropped(a);
	sort(a);
	n = a->n_ranges;
	for (i = 0; i < n; i++) {
		const struct peal_executor_range r = a->range[i];

		if (r.first > at)
			append(a, at, r.first - at, PEAL_HOST_MEMORY,
			       PEAL_ECANCELED);
		at = r.first + r.count;
	}
	if (at < e->job.count)
		append(a, at, e->job.count - at, PEAL_HOST_MEMORY,
		       PEAL_ECANCELED);
	sort(a);
}

/* ---- run ----------------------------------------------------------------- */

static int refuse_array(uint32_t i, const char *problem, const char *value,
			const char *allowed, const char *remedy)
{
	return PEALI_REFUSE(PEAL_EINVAL, RUN,
			    .object = PEALI_PRINT("array %u", i),
			    .problem = problem, .value = value,
			    .allowed = allowed, .remedy = remedy);
}

static int check_array(const struct peal_executor_array *a, uint32_t i)
{
	if (!a->input && !a->output)
		return refuse_array(i, "has no memory", "input and output NULL",
				    "one of them, or both", "set one of them");
	if (a->bytes && a->output)
		return refuse_array(i, "is whole, and has an output",
				    "bytes and output", "bytes and input",
				    "use element_bytes, or set output to NULL");
	return 0;
}

/* Refuses more elements than a process has addresses. */
static int check_end(const struct peal_executor_array *a, uint64_t count)
{
	uintptr_t at = (uintptr_t)(a->output > a->input ? a->output : a->input);
	uint64_t space = at < ADDRESS_END ? ADDRESS_END - at : 0;
	uint64_t most = a->element_bytes ? space / a->element_bytes : count;

	return count <= most ?
		       0 :
		       peali_refuse_option(RUN, "count", count, 0, most);
}

/* Returns the bytes of an array; UINT64_MAX if 64 bits do not hold them. */
static uint64_t bytes_of(const struct peal_executor_array *a, uint64_t count)
{
	uint64_t bytes;

	if (!a->element_bytes)
		return a->bytes;
	return __builtin_mul_overflow(a->element_bytes, count, &bytes) ?
		       UINT64_MAX :
		       bytes;
}

/* Returns 1 if `bytes` bytes can be at an address. The executor refuses others. */
static int is_range(const void *at, uint64_t bytes)
{
	return at && bytes && bytes <= UINTPTR_MAX - (uintptr_t)at;
}

static int overlap(const void *a, uint64_t a_bytes, const void *b,
		   uint64_t b_bytes)
{
	uintptr_t x = (uintptr_t)a, y = (uintptr_t)b;

	return is_range(a, a_bytes) && is_range(b, b_bytes) &&
	       (x <= y ? y - x < a_bytes : x - y < b_bytes);
}

/* Returns 1 if the output of `a` overlaps the input or output of `b`. It may be
 * the input of an array with equal elements. */
static int spoils(const struct peal_executor_array *a,
		  const struct peal_executor_array *b, uint64_t count)
{
	uint64_t out = bytes_of(a, count), other = bytes_of(b, count);

	if (a != b && overlap(a->output, out, b->output, other))
		return 1;
	if (a->output == b->input && a->element_bytes == b->element_bytes)
		return 0;
	return overlap(a->output, out, b->input, other);
}

static int check_overlaps(const struct peal_executor_array *arrays, uint32_t n,
			  uint64_t count)
{
	uint32_t i, j;

	for (i = 0; i < n; i++)
		for (j = 0; j < n; j++)
			if (spoils(&arrays[i], &arrays[j], count))
				return refuse_array(
					i,
					PEALI_PRINT("has an output that "
						    "overlaps memory of "
						    "array %u",
						    j),
					"overlapping ranges",
					"ranges apart, or an equal input",
					"pass another output");
	return 0;
}

/* Checks fields that a job on arrays does not have. */
static int check(const struct peal_job *job,
		 const struct peal_executor_array *arrays, uint32_t n)
{
	uint32_t i;
	int result = 0;

	if (!n || n > PEAL_TASK_ARGUMENTS)
		return peali_refuse_range(RUN, "argument", "n_arrays", n, 1,
					  PEAL_TASK_ARGUMENTS);
	if (job->n_arguments)
		return peali_refuse_option(RUN, "n_arguments", job->n_arguments,
					   0, 0);
	if (job->partition)
		return PEALI_REFUSE(PEAL_EINVAL, RUN, .object = "option",
				    .name = "partition",
				    .problem = "is for arguments in memory of "
					       "devices",
				    .value = "a partition", .allowed = "NULL",
				    .remedy = "use weights");
	for (i = 0; i < n && !result; i++) {
		result = check_array(&arrays[i], i);
		if (!result)
			result = check_end(&arrays[i], job->count);
	}
	return result ? result : check_overlaps(arrays, n, job->count);
}

/* Runs a job that has the arrays as arguments. The stage has their addresses. */
static int run(struct peal_executor *e, struct peal_job *job,
	       const struct peal_executor_array *arrays, uint32_t n,
	       int64_t timeout_ns)
{
	static const uint64_t staged[PEAL_PARTS_MAX];
	struct peal_job_argument argument[PEAL_TASK_ARGUMENTS];
	uint64_t started = atomic_load(&e->started);
	uint32_t i;
	int result = reserve(&e->arrays);

	if (result)
		return result;
	for (i = 0; i < n; i++) {
		argument[i].address = staged;
		argument[i].element_bytes = arrays[i].element_bytes;
		argument[i].bytes = arrays[i].bytes;
	}
	job->n_arguments = n;
	job->arguments = argument;
	e->arrays.array = arrays;
	e->arrays.n = n;
	result = peali_executor_run_locked(e, job, timeout_ns);
	if (atomic_load(&e->started) != started)
		complete(e);
	e->arrays.array = NULL;
	return result;
}

int peal_executor_arrays_run(struct peal_executor *e,
			     const struct peal_job *job,
			     const struct peal_executor_array *arrays,
			     uint32_t n_arrays, int64_t timeout_ns)
{
	struct peal_job j;
	int result;

	if (!e || !job || !arrays)
		return peali_refuse_null(RUN, "executor, job or arrays");
	if (peali_forked(&e->rt->owner, RUN))
		return PEAL_EFORKED;
	result = peali_options_copy(&j, sizeof(j), job, RUN);
	if (!result)
		result = check(&j, arrays, n_arrays);
	if (result)
		return result;
	peali_executor_lock(e);
	result = run(e, &j, arrays, n_arrays, timeout_ns);
	peali_executor_unlock(e);
	return peali_fail_in(result, RUN);
}

int peal_executor_arrays_range(struct peal_executor *e, uint64_t i,
			       struct peal_executor_range *range_out)
{
	int result = 0;

	if (!e || !range_out)
		return peali_refuse_null(RANGE, "executor or range_out");
	if (peali_foreign(&e->rt->owner, RANGE))
		return PEAL_EFORKED;
	peali_executor_lock(e);
	if (i < e->arrays.n_ranges)
		*range_out = e->arrays.range[i];
	else
		result = peali_refuse_index(
			RANGE, "executor", e->devices[0].kernel->name, "range",
			i, e->arrays.n_ranges,
			"call peal_executor_arrays_run first");
	peali_executor_unlock(e);
	return result;
}
