/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The handler of 08_pool.c. `count` counts the primes in a range of numbers and
 * sends the count by its only port. Larger numbers take longer.
 */
#define PEAL_USES PEAL_USE_ALL
#include <peal/device/kernel.h>

#include "../pieces.h"

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
	const struct piece *piece = piece_data(w);
	struct primes found = { 0 };
	uint64_t n;

	if (!piece)
		return PEAL_EPROTO;
	for (n = piece->first + peal_lane(w); n < piece->end;
	     n += peal_lanes(w))
		found.n += (uint64_t)is_prime(n);
	found.n = peal_sum(w, found.n);
	return primes_emit(w, 0, &found, 0);
}

#define HANDLERS(X) X(count, 0, PEAL_EMITS(1, 1))
PEAL_PROGRAM(pool, HANDLERS);
