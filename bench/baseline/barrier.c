/* SPDX-License-Identifier: Apache-2.0 */
/* Barriers of plain threads: see bench/baseline/barrier.h. */
#include "bench/baseline/barrier.h"

#include <pthread.h>
#include <string.h>

#include <ck_barrier.h>

#include <peal/device/impl/base/host_support.h>

#include "bench/cacheline_bounce.h"

#define LOOK_EVERY 64 /* as in the benchmark's handlers */

struct gang;

struct member {
	_Alignas(PEAL_SHARED_LINE) uint64_t phase;
	struct gang *gang;
	uint32_t self;
	int core;
	uint64_t elapsed_ns, wrong;
	pthread_t thread;
};

struct gang {
	struct member members[PEALI_BARRIER_THREADS];
	enum peali_barrier_baseline peer;
	uint32_t n;
	uint64_t phases, warm;
	pthread_barrier_t pthread;
	_Alignas(PEAL_SHARED_LINE) ck_barrier_centralized_t ck;
};

static inline void meet(struct gang *g, ck_barrier_centralized_state_t *state)
{
	if (g->peer == PEALI_BARRIER_CK)
		ck_barrier_centralized(&g->ck, state, g->n);
	else
		pthread_barrier_wait(&g->pthread);
}

/* Returns the number of participants that are not in this phase. */
static uint64_t look(struct gang *g, uint64_t phase)
{
	uint64_t wrong = 0;

	for (uint32_t i = 0; i < g->n; i++)
		wrong += peal_load_relaxed_sys(&g->members[i].phase) != phase;
	return wrong;
}

static void *member_run(void *argument)
{
	struct member *m = argument;
	struct gang *g = m->gang;
	ck_barrier_centralized_state_t state =
		CK_BARRIER_CENTRALIZED_STATE_INITIALIZER;
	uint64_t began = 0;

	peali_core_bind(m->core);
	for (uint64_t i = 1; i <= g->warm + g->phases; i++) {
		if (i % LOOK_EVERY == 0)
			peal_store_relaxed_sys(&m->phase, i);
		meet(g, &state);
		if (i % LOOK_EVERY == 0)
			m->wrong += look(g, i);
		if (i == g->warm)
			began = peal_clock_ns();
	}
	m->elapsed_ns = peal_clock_ns() - began;
	return NULL;
}

const char *peali_barrier_baseline_name(enum peali_barrier_baseline peer)
{
	return peer == PEALI_BARRIER_CK ? "ck_barrier_centralized" :
					  "pthread_barrier";
}

static double collect(struct gang *g)
{
	uint64_t slowest = 0, wrong = 0;

	for (uint32_t i = 0; i < g->n; i++) {
		pthread_join(g->members[i].thread, NULL);
		if (g->members[i].elapsed_ns > slowest)
			slowest = g->members[i].elapsed_ns;
		wrong += g->members[i].wrong;
	}
	if (!wrong)
		return (double)slowest / (double)g->phases;
	peali_say("%s released %llu participants too early",
		  peali_barrier_baseline_name(g->peer),
		  (unsigned long long)wrong);
	return -1;
}

double peali_barrier_baseline_run(enum peali_barrier_baseline peer,
				  uint32_t participants, uint64_t phases,
				  uint64_t warm)
{
	static struct gang g;
	const ck_barrier_centralized_t empty =
		CK_BARRIER_CENTRALIZED_INITIALIZER;
	struct peali_cores cores = { -1, -1 };
	double ns;

	memset(&g, 0, sizeof(g));
	g.ck = empty;
	g.peer = peer;
	g.n = participants;
	g.phases = phases;
	g.warm = warm;
	peali_cores_pick(&cores);
	if (participants > PEALI_BARRIER_THREADS ||
	    pthread_barrier_init(&g.pthread, NULL, participants)) {
		peali_say("cannot create a barrier of %u threads",
			  participants);
		return -1;
	}
	for (uint32_t i = 0; i < participants; i++) {
		struct member *m = g.members + i;

		m->gang = &g;
		m->self = i;
		/* Two threads have a core each. More threads go to any core. */
		m->core = participants > 2 ? -1 : i ? cores.b : cores.a;
		if (pthread_create(&m->thread, NULL, member_run, m)) {
			/*
			 * The other threads would wait at the barrier without
			 * end.
			 */
			peali_say("cannot start a thread of a barrier");
			_Exit(PEALI_EXIT_FAILED);
		}
	}
	ns = collect(&g);
	pthread_barrier_destroy(&g.pthread);
	return ns;
}
