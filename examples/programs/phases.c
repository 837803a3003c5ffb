/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The handler of 05_barrier.c. In each phase every worker does these steps:
 *
 * 1. It writes its square to its own line.
 * 2. It waits at the barrier. After that all squares of the phase are written.
 * 3. It reads the squares of all workers.
 * 4. It waits again, so that no worker overwrites a square that another worker
 *    still has to read.
 */
#include <peal/device/kernel.h>

struct job {
	uint64_t board; /* address of one line of 128 bytes per worker */
	uint32_t workers, self, phases, reserved;
};

struct result {
	uint32_t self, reserved;
	uint64_t sum; /* over all phases and workers */
};

/* Returns the line of a worker. */
static PEAL_DEV uint64_t *line(const struct job *job, uint32_t worker)
{
	return (uint64_t *)(uintptr_t)(job->board +
				       (uint64_t)worker * PEAL_SHARED_LINE);
}

/* Waits until all workers have arrived at the first barrier of this worker. */
static PEAL_DEV int meet(struct peal_worker *w)
{
	int result = peal_barrier_arrive_lanes(w, 0);

	return result ? result : peal_barrier_wait_lanes(w, 0, -1);
}

static PEAL_DEV int work(struct peal_worker *w)
{
	const struct job *job = (const struct job *)peal_data(w);
	struct result out = { job->self, 0, 0 };
	uint32_t phase, i;
	int result = 0;

	for (phase = 1; phase <= job->phases && !result; phase++) {
		uint64_t mine = (uint64_t)phase * (job->self + 1);

		if (peal_is_leader(w))
			peal_store_relaxed_sys(line(job, job->self),
					       mine * mine);
		result = meet(w);
		for (i = 0; i < job->workers; i++)
			out.sum += peal_load_relaxed_sys(line(job, i));
		if (!result)
			result = meet(w);
	}
	return result ? result : peal_emit(w, 0, 0, &out, sizeof(out), 0);
}

#define HANDLERS(X) X(work, 0, PEAL_EMITS(1, 1))
PEAL_PROGRAM(phases, HANDLERS);
