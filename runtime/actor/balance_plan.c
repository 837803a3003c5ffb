/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plans moves of actors between workers, from load and traffic:
 *
 * 1. Moves actors to their home worker, the actor with the most traffic first.
 * 2. Moves actors from the busiest to the idlest worker, until the busiest
 *    worker is within the tolerance.
 *
 * Each actor moves at most once.
 */
#include "runtime/actor/balance.h"

/* Returns the largest load within the tolerance above the mean, rounded up. */
static uint64_t most_of(const uint64_t *load, uint32_t workers,
			uint32_t tolerance)
{
	uint64_t sum = 0;
	uint32_t i;

	for (i = 0; i < workers; i++)
		sum += load[i];
	return (sum * (100 + tolerance) + (uint64_t)workers * 100 - 1) /
	       ((uint64_t)workers * 100);
}

static void move(struct peali_balance_actor *a, uint64_t *load, uint32_t to)
{
	load[a->worker] -= a->load;
	load[to] += a->load;
	a->to = to;
}

/* Returns the actor with most traffic that may move to its home; n: none. */
static uint32_t next_home(const struct peali_balance_actor *actors, uint32_t n,
			  const uint64_t *load, uint64_t most)
{
	uint32_t i, best = n;

	for (i = 0; i < n; i++) {
		const struct peali_balance_actor *a = &actors[i];

		if (!a->traffic || a->home == a->worker || a->to != a->worker)
			continue;
		/*
		 * Above `most`, the new load of the home may not exceed the
		 * old load of the actor's worker. Two busy workers may thus
		 * still exchange actors.
		 */
		if (load[a->home] + a->load > most &&
		    load[a->home] + a->load > load[a->worker])
			continue;
		if (best == n || a->traffic > actors[best].traffic)
			best = i;
	}
	return best;
}

/* Returns twice the distance between a load and half of a gap. */
static uint64_t miss(uint64_t load, uint64_t gap)
{
	return 2 * load > gap ? 2 * load - gap : gap - 2 * load;
}

/*
 * Returns the actor of a worker that best narrows the gap to another worker; n:
 * none does. The best load is half of the gap. The cost of an actor at its home
 * is gap / 4 higher.
 */
static uint32_t best_fit(const struct peali_balance_actor *actors, uint32_t n,
			 uint32_t worker, uint64_t gap)
{
	/* a load of 0, or of the whole gap, has cost `gap` and no effect */
	uint64_t cost, least = gap;
	uint32_t i, best = n;

	for (i = 0; i < n; i++) {
		const struct peali_balance_actor *a = &actors[i];

		if (a->worker != worker || a->to != worker || !a->load)
			continue;
		cost = miss(a->load, gap);
		if (a->traffic && a->home == worker)
			cost += gap / 4;
		if (cost < least) {
			least = cost;
			best = i;
		}
	}
	return best;
}

uint32_t peali_balance_plan(struct peali_balance_actor *actors, uint32_t n,
			    uint64_t *load, uint32_t workers,
			    uint32_t tolerance, uint32_t moves)
{
	uint64_t most = most_of(load, workers, tolerance), traffic = 0;
	uint32_t made = 0, i, busiest, idlest;

	for (i = 0; i < n; i++)
		traffic += actors[i].traffic;
	for (i = 0; i < n; i++) {
		actors[i].to = actors[i].worker;
		if (actors[i].traffic < traffic / 100)
			actors[i].traffic = 0;
	}
	for (; made < moves; made++) {
		i = next_home(actors, n, load, most);
		if (i == n)
			break;
		move(&actors[i], load, actors[i].home);
	}
	for (; made < moves; made++) {
		for (i = busiest = idlest = 0; i < workers; i++) {
			if (load[i] > load[busiest])
				busiest = i;
			if (load[i] < load[idlest])
				idlest = i;
		}
		if (load[busiest] <= most)
			break;
		i = best_fit(actors, n, busiest, load[busiest] - load[idlest]);
		if (i == n)
			break;
		move(&actors[i], load, idlest);
	}
	return made;
}
