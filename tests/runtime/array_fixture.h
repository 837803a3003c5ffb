/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_TESTS_ARRAY_FIXTURE_H
#define PEAL_TESTS_ARRAY_FIXTURE_H

/* Jobs on host arrays. Each range that is done changes its elements, and no other
 * element changes. */

#include <peal/executor_arrays.h>

#include "runtime/task_fixture.h"

#define MOST FIXTURE_MOST
#define UNTOUCHED 0x5a5a5a5a5a5a5a5aULL

static struct fixture s;
/* host arrays: the handler adds 1 to `seen`, and writes its elements' numbers */
static uint32_t seen[MOST];
static uint64_t number[MOST];
static struct peal_executor_array arrays[2];
static uint64_t *began; /* by rank: 1 once a task has begun */

static inline void clear(void)
{
	uint64_t i;

	for (i = 0; i < MOST; i++) {
		seen[i] = (uint32_t)(7 * i);
		number[i] = UNTOUCHED;
	}
}

static inline void open_arrays(uint32_t n, uint32_t workers)
{
	lanes = lanes ? lanes : 1; /* a case without RUN_LANES */
	fixture_open(&s, n, workers);
	began = harness_pinned(s.rt, PEAL_PARTS_MAX * sizeof(*began));
	s.job.n_arguments = 0;
	s.job.arguments = NULL;
	arrays[0] = (struct peal_executor_array){ .input = seen,
						  .output = seen,
						  .element_bytes = 4 };
	arrays[1] = (struct peal_executor_array){ .output = number,
						  .element_bytes = 8 };
}

/* Returns the schedule with which a loop begins that opens a runtime for each. To
 * open GPUs takes long. */
static inline uint32_t first_schedule(void)
{
	return test_on_gpu() ? PEAL_SCHEDULE_GUIDED : PEAL_SCHEDULE_STATIC;
}

static inline void close_arrays(void)
{
	CHECK_OK(peal_memory_free(s.rt, PEAL_HOST_MEMORY,
				  harness_address(began)));
	fixture_close(&s);
}

/* Limits the buffers of each rank: `bytes` times rank + 1. 0: no limit. */
static inline void limit_all(uint64_t bytes)
{
	uint32_t i;

	for (i = 0; i < s.n; i++)
		CHECK_OK(
			peal_memory_limit(s.rt, s.devices[i], bytes * (i + 1)));
}

static inline int run(int64_t timeout_ns)
{
	return peal_executor_arrays_run(s.e, &s.job, arrays, 2, timeout_ns);
}

static inline uint32_t rank_of(int device)
{
	uint32_t i;

	for (i = 0; i < s.n && s.devices[i] != device; i++)
		;
	CHECK(i < s.n);
	return i;
}

/* Checks the arrays behind a range: done, or unchanged. */
static inline void check_elements(const struct peal_executor_range *r)
{
	uint64_t i;

	for (i = r->first; i < r->first + r->count; i++) {
		CHECK_EQ(seen[i], 7 * i + !r->result);
		CHECK_EQ(number[i], r->result ? UNTOUCHED : i);
	}
}

/* What the ranges of a job say. */
struct listed {
	uint64_t ranges, done; /* done: elements */
	uint64_t elements[PEAL_PARTS_MAX]; /* by rank: those that are done */
	uint64_t most[PEAL_PARTS_MAX]; /* by rank: of the longest range */
	uint64_t nowhere; /* elements that no device got */
};

/* Checks that the ranges list each element once. Each array has the results of the
 * ranges that are done, and no others. */
static inline struct listed check_ranges(void)
{
	struct listed l = { 0 };
	struct peal_executor_range r;
	uint64_t at = 0, i;

	for (i = 0; at < s.job.count; i++) {
		CHECK_OK(peal_executor_arrays_range(s.e, i, &r));
		CHECK_EQ(r.first, at);
		CHECK(r.count > 0);
		at += r.count;
		check_elements(&r);
		if (r.device == PEAL_HOST_MEMORY) {
			CHECK_EQ(r.result, PEAL_ECANCELED);
			CHECK_EQ(r.end_ns, 0);
			l.nowhere += r.count;
			continue;
		}
		CHECK(r.begin_ns <= r.end_ns);
		if (r.result)
			continue;
		CHECK(r.scatter_ns + r.gather_ns <= r.end_ns - r.begin_ns);
		l.done += r.count;
		l.elements[rank_of(r.device)] += r.count;
		if (r.count > l.most[rank_of(r.device)])
			l.most[rank_of(r.device)] = r.count;
	}
	CHECK_EQ(at, s.job.count);
	CHECK_EQ(peal_executor_arrays_range(s.e, i, &r), PEAL_ENOENT);
	l.ranges = i;
	for (i = s.job.count; i < MOST; i++)
		CHECK_EQ(number[i], UNTOUCHED);
	return l;
}

/* The report of the job agrees with its ranges. No memory is in use. */
static inline struct listed check_report(void)
{
	struct listed l = check_ranges();
	struct peal_memory_info m;
	uint32_t i;

	fixture_report(&s);
	CHECK_EQ(s.report.elements, l.done);
	for (i = 0; i < s.n; i++) {
		CHECK_EQ(s.report.part[i].elements, l.elements[i]);
		CHECK_OK(peal_memory_info(s.rt, s.devices[i], &m));
		CHECK_EQ(m.n_buffers, 0);
	}
	return l;
}

static inline struct listed run_all(void)
{
	struct listed l;

	clear();
	CHECK_OK(run(MAX_WAIT));
	l = check_report();
	CHECK_EQ(l.done, s.job.count);
	CHECK_EQ(s.report.tasks, l.ranges);
	return l;
}

#endif
