/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shows that no participant passes a barrier early, and that an abort ends a
 * wait. Negative control: participants that do not wait are early.
 */
#include <pthread.h>

#include <peal/device/impl/queue/barrier_signal.h>

#include "identity.h"
#include "link_pair.h"

#define MOST 8

/* Participants with an array each, as on devices of their own. */
struct group {
	uint32_t n;
	uint64_t phases;
	uint64_t addresses[MOST];
	uint64_t *abort;
	struct peal_barrier_state states[MOST];
	struct peal_barrier_view views[MOST];
	/* phase that each participant has reached */
	uint64_t reached[MOST][16];
	/* 1: participants do not wait (negative control) */
	int careless;
	/* times that a participant passed before another one arrived */
	atomic_ullong early;
};

static void group_open(struct group *g, uint32_t n)
{
	uint32_t i;

	memset(g, 0, sizeof(*g));
	g->n = n;
	g->abort = (uint64_t *)link_memory(sizeof(uint64_t));
	for (i = 0; i < n; i++) {
		g->addresses[i] = (uintptr_t)link_memory(
			n * sizeof(struct peal_barrier_word));
		g->views[i].arrays = (uintptr_t)g->addresses;
		g->views[i].abort = (uintptr_t)g->abort;
		g->views[i].state = (uintptr_t)&g->states[i];
		g->views[i].participants = n;
		g->views[i].self = i;
	}
}

static void group_close(struct group *g)
{
	uint32_t i;

	for (i = 0; i < g->n; i++)
		free((void *)(uintptr_t)g->addresses[i]);
	free(g->abort);
}

PEAL_TEST(test_without_arrive_is_einval)
{
	struct group g;

	group_open(&g, 1);
	CHECK_EQ(peal_barrier_test(&g.views[0]), PEAL_EINVAL);
	peal_barrier_signal(&g.views[0]);
	CHECK_EQ(peal_barrier_test(&g.views[0]), 0);
	CHECK_EQ(peal_barrier_test(&g.views[0]), PEAL_EINVAL);
	group_close(&g);
}

PEAL_TEST(no_participant_passes_before_last_arrival)
{
	struct group g;
	uint32_t n, i, phase;

	for (n = 1; n <= MOST; n++) {
		group_open(&g, n);
		for (phase = 0; phase < 3; phase++) {
			for (i = 0; i < n; i++) {
				if (i)
					CHECK_EQ(peal_barrier_test(&g.views[0]),
						 PEAL_EAGAIN);
				peal_barrier_signal(&g.views[i]);
			}
			for (i = 0; i < n; i++)
				CHECK_EQ(peal_barrier_test(&g.views[i]), 0);
		}
		group_close(&g);
	}
}

/* A participant may arrive for the next phase before others test this one. */
PEAL_TEST(fast_participant_may_be_one_phase_ahead)
{
	struct group g;

	group_open(&g, 2);
	peal_barrier_signal(&g.views[0]);
	peal_barrier_signal(&g.views[1]);
	CHECK_EQ(peal_barrier_test(&g.views[0]), 0);
	peal_barrier_signal(&g.views[0]);
	CHECK_EQ(peal_barrier_test(&g.views[0]), PEAL_EAGAIN);
	CHECK_EQ(peal_barrier_test(&g.views[1]), 0);
	CHECK_EQ(peal_barrier_test(&g.views[0]), PEAL_EAGAIN);
	peal_barrier_signal(&g.views[1]);
	CHECK_EQ(peal_barrier_test(&g.views[0]), 0);
	CHECK_EQ(peal_barrier_test(&g.views[1]), 0);
	group_close(&g);
}

PEAL_TEST(abort_ends_the_wait_of_an_incomplete_phase_only)
{
	struct group g;

	group_open(&g, 2);
	peal_barrier_signal(&g.views[0]);
	CHECK_EQ(peal_barrier_test(&g.views[0]), PEAL_EAGAIN);
	*g.abort = 1;
	CHECK_EQ(peal_barrier_test(&g.views[0]), PEAL_EABORTED);
	CHECK_EQ(peal_barrier_test(&g.views[0]), PEAL_EABORTED);
	CHECK_EQ(peal_barrier_test(&g.views[1]), PEAL_EINVAL);
	peal_barrier_signal(&g.views[1]);
	CHECK_EQ(peal_barrier_test(&g.views[0]), 0);
	group_close(&g);
}

/* ---- threads ------------------------------------------------------------- */

struct participant {
	struct group *g;
	uint32_t self;
};

/*
 * Waits for the end of a phase. Sleeps after 100 tests: on a busy machine a
 * thread that yields can wait for whole time slices.
 */
static int wait_for(const struct peal_barrier_view *view)
{
	int result, looks = 0;

	while ((result = peal_barrier_test(view)) == PEAL_EAGAIN)
		if (looks++ < 100)
			peal_pause();
		else
			identity_sleep_us(20);
	return result;
}

/*
 * Uses two barriers per phase. So no participant writes its phase while others
 * still read it.
 */
static void *participate(void *argument)
{
	struct participant *p = (struct participant *)argument;
	struct group *g = p->g;
	const struct peal_barrier_view *view = &g->views[p->self];
	unsigned long long random = 9001 + p->self;
	uint64_t phase;
	uint32_t i;

	for (phase = 1; phase <= g->phases; phase++) {
		identity_disturb(&random);
		g->reached[p->self][0] = phase;
		peal_barrier_signal(view);
		CHECK_EQ(wait_for(view), 0);
		for (i = 0; i < g->n; i++)
			if (g->reached[i][0] != phase)
				atomic_fetch_add(&g->early, 1);
		peal_barrier_signal(view);
		CHECK_EQ(wait_for(view), 0);
	}
	return NULL;
}

/* Uses one barrier per phase, with atomic accesses to `reached`. */
static void *rush(void *argument)
{
	struct participant *p = (struct participant *)argument;
	struct group *g = p->g;
	uint64_t phase;
	uint32_t i;

	for (phase = 1; phase <= g->phases; phase++) {
		if (p->self == 0)
			identity_sleep_us(1000);
		peal_store_relaxed_sys(&g->reached[p->self][0], phase);
		peal_barrier_signal(&g->views[p->self]);
		if (!g->careless)
			CHECK_EQ(wait_for(&g->views[p->self]), 0);
		for (i = 0; i < g->n; i++)
			if (peal_load_relaxed_sys(&g->reached[i][0]) < phase)
				atomic_fetch_add(&g->early, 1);
	}
	return NULL;
}

static uint64_t threads(uint32_t n, uint64_t phases, void *(*run)(void *),
			int careless)
{
	struct participant participants[MOST];
	pthread_t ids[MOST];
	uint64_t early;
	struct group g;
	uint32_t i;

	group_open(&g, n);
	g.phases = phases;
	g.careless = careless;
	for (i = 0; i < n; i++) {
		participants[i] = (struct participant){ &g, i };
		CHECK(!pthread_create(&ids[i], NULL, run, &participants[i]));
	}
	for (i = 0; i < n; i++)
		CHECK(!pthread_join(ids[i], NULL));
	early = atomic_load(&g.early);
	group_close(&g);
	return early;
}

PEAL_TEST(barrier_makes_all_writes_visible)
{
	CHECK_EQ(threads(2, 5000, participate, 0), 0);
	CHECK_EQ(threads(4, 1500, participate, 0), 0);
	CHECK_EQ(threads(8, 500, participate, 0), 0);
}

/* Negative control: participants that do not wait are early. */
PEAL_TEST(participant_without_wait_is_caught)
{
	CHECK_EQ(threads(3, 20, rush, 0), 0);
	CHECK(threads(3, 20, rush, 1) > 0);
}

static void *waiter(void *argument)
{
	struct participant *p = (struct participant *)argument;
	const struct peal_barrier_view *view = &p->g->views[p->self];

	peal_barrier_signal(view);
	CHECK_EQ(wait_for(view), PEAL_EABORTED);
	return NULL;
}

PEAL_TEST(abort_frees_waiting_threads)
{
	struct participant participants[2];
	pthread_t ids[2];
	struct group g;
	uint32_t i;

	group_open(&g, 3); /* the third participant never arrives */
	for (i = 0; i < 2; i++) {
		participants[i] = (struct participant){ &g, i };
		CHECK(!pthread_create(&ids[i], NULL, waiter, &participants[i]));
	}
	identity_sleep_us(2000);
	peal_store_relaxed_sys(g.abort, 1);
	for (i = 0; i < 2; i++)
		CHECK(!pthread_join(ids[i], NULL));
	group_close(&g);
}

PEAL_TEST_MAIN(RUN(test_without_arrive_is_einval);
	       RUN(no_participant_passes_before_last_arrival);
	       RUN(fast_participant_may_be_one_phase_ahead);
	       RUN(abort_ends_the_wait_of_an_incomplete_phase_only);
	       RUN(barrier_makes_all_writes_visible);
	       RUN(participant_without_wait_is_caught);
	       RUN(abort_frees_waiting_threads);)
