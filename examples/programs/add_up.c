/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The handler of 21_distributed_sum.c: adds up the numbers of its device. Each
 * lane adds up every peal_lanes-th number. Then the lanes add their sums.
 */
#include <peal/device/kernel.h>

struct job {
	uint64_t numbers, n; /* address and count */
	uint64_t sum; /* address of the result */
};

static PEAL_DEV int add_up(struct peal_worker *w)
{
	const struct job *job = (const struct job *)peal_data(w);
	const uint64_t *numbers = (const uint64_t *)(uintptr_t)job->numbers;
	uint64_t sum = 0, i;

	for (i = peal_lane(w); i < job->n; i += peal_lanes(w))
		sum += numbers[i];
	sum = peal_sum(w, sum);
	if (peal_is_leader(w)) {
		*(uint64_t *)(uintptr_t)job->sum = sum;
		/* The receiver of the message sees the sum. */
		peal_fence_release_sys();
	}
	return peal_emit(w, 0, 0, &sum, sizeof(sum), 0);
}

#define HANDLERS(X) X(add_up, 0, PEAL_EMITS(1, 1))
PEAL_PROGRAM(add_up, HANDLERS);
