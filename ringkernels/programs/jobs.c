/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Handlers of `peal bench balance`. `crawl` takes a given time per element of
 * its device, whatever the processor does. `add` adds two arrays.
 */
#define _POSIX_C_SOURCE 200809L /* nanosleep */
#include <peal/device/task.h>

#include "ringkernels/jobs_program.h"

#if PEAL_ON_HOST
#include <time.h>

/* ns before the end of a wait that are not slept: a sleep ends late. */
#define AWAKE_NS 150000

static void rest(uint64_t ns)
{
	const struct timespec t = { (time_t)(ns / 1000000000u),
				    (long)(ns % 1000000000u) };

	nanosleep(&t, 0);
}
#else
#define AWAKE_NS (~(uint64_t)0)

static PEAL_DEV PEAL_INLINE void rest(uint64_t ns)
{
	(void)ns;
}
#endif

/*
 * Counts each element in the first argument, then waits for the rest of the
 * time.
 */
PEAL_TASK(crawl)
{
	uint64_t began = peal_clock_ns(), passed, i;
	const struct peal_task *t = peal_task(w);
	const struct peali_crawl *c =
		(const struct peali_crawl *)peal_task_parameters(w);
	uint64_t whole = c->element_ns[t->rank] * t->count;
	uint32_t *visits = (uint32_t *)peal_task_argument(w, 0);

	for (i = peal_lane(w); i < t->count; i += peal_lanes(w))
		visits[i]++;
	for (;;) {
		passed = peal_clock_ns() - began;
		if (passed >= whole || peal_aborting(w))
			break;
		if (whole - passed > AWAKE_NS)
			rest(whole - passed - AWAKE_NS);
		else
			peal_pause();
	}
	return 0;
}

PEAL_TASK(add)
{
	const struct peal_task *t = peal_task(w);
	const uint32_t *a = (const uint32_t *)peal_task_argument(w, 0);
	const uint32_t *b = (const uint32_t *)peal_task_argument(w, 1);
	uint32_t *sum = (uint32_t *)peal_task_argument(w, 2);
	uint64_t i;

	for (i = peal_lane(w); i < t->count; i += peal_lanes(w))
		sum[i] = a[i] + b[i];
	return 0;
}

#define HANDLERS(X) X(crawl, 0, PEAL_TASKS) X(add, 0, PEAL_TASKS)
PEAL_PROGRAM(peal_jobs, HANDLERS);
