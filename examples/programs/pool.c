/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernel of 08_pool. `count` counts the primes of a range, which takes the
 * longer the higher it lies, and says how many to its only port.
 */
#define PEAL_USES_POOLS 1
#include <peal/device/kernel.h>

static PEAL_DEV int is_prime(uint64_t n)
{
	uint64_t i;

	for (i = 2; i * i <= n; i++)
		if (n % i == 0)
			return 0;
	return n > 1;
}

static PEAL_DEV int count(struct peal_worker *w)
{
	const uint64_t *range = (const uint64_t *)peal_data(w);
	uint64_t n, found = 0;

	for (n = range[0] + peal_lane(w); n < range[1]; n += peal_lanes(w))
		found += (uint64_t)is_prime(n);
	found = peal_sum(w, found);
	return peal_emit(w, 0, 0, &found, sizeof(found));
}

#define HANDLERS(X) X(count, 0, PEAL_EMITS(1, 1))
PEAL_PROGRAM(pool, HANDLERS);
