/* SPDX-License-Identifier: Apache-2.0 */
/* Who is to live where: a plan, from loads and traffic. */
#include "runtime/balance.h"

/* What a worker may have at most, before somebody moves away. */
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

/* The one with the most traffic that may go to where it arrives; n: none. */
static uint32_t next_home(const struct peali_balance_actor *actors, uint32_t n,
			  const uint64_t *load, uint64_t most)
{
	uint32_t i, best = n;

	for (i = 0; i < n; i++) {
		const struct peali_balance_actor *a = &actors[i];

		if (!a->traffic || a->home == a->worker || a->to != a->worker)
			continue;
		/* a worker that is busier than that already is to have less,
		 * but two that change places may be no worse for it */
		if (load[a->home] + a->load > most &&
		    load[a->home] + a->load > load[a->worker])
			continue;
		if (best == n || a->traffic > actors[best].traffic)
			best = i;
	}
	return best;
}

/* How far a load is from half of a gap, twice. */
static uint64_t miss(uint64_t load, uint64_t gap)
{
	return 2 * load > gap ? 2 * load - gap : gap - 2 * load;
}

/* The actor of a worker that fills the gap to another best; n: none does. Rather
 * one whose messages do not arrive there. */
static uint32_t best_fit(const struct peali_balance_actor *actors, uint32_t n,
			 uint32_t worker, uint64_t gap)
{
	uint64_t cost, least = gap; /* 0 and the gap itself change nothing */
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
