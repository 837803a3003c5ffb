/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_TESTS_SEEDS_H
#define PEAL_TESTS_SEEDS_H

/*
 * Runs a scenario under many seeds of the simulator. PEAL_SIM_SEED is the first
 * seed, 1 by default. PEAL_SIM_SEEDS is their number, `least` by default.
 */

#include <sys/wait.h>
#include <peal/stall.h>

#include "tests/sim/engine/sim.h"
#include "runtime/harness.h"

struct seeds_scenario {
	const char *name;
	void (*run)(uint64_t random); /* opens a runtime, and shuts it down */
	uint64_t least; /* seeds; a fifth in builds with sanitizers */
	struct peali_sim_options options;
};

/* Prints the stalls of a run that fails; see peal/stall.h. */
static inline void seeds_say_stalls(void *context)
{
	struct peal_stall cause[8];
	int n = peal_stall_report((struct peal_runtime *)context, 0, cause, 8),
	    i;

	for (i = 0; i < n && i < 8; i++)
		fprintf(stderr, "sim: stall: %s\n", cause[i].text);
}

/* A scenario calls this when it has opened its runtime. */
static inline void seeds_report_stalls(struct peal_runtime *rt)
{
	peali_sim_on_failure(seeds_say_stalls, rt);
}

static inline uint64_t seeds_number(const char *name, uint64_t otherwise)
{
	const char *text = getenv(name);

	return text && *text ? strtoull(text, NULL, 10) : otherwise;
}

static inline uint64_t seeds_real_ms(void)
{
	struct timespec t;

	(clock_gettime)(CLOCK_MONOTONIC, &t); /* not the simulated one */
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

/* Runs the scenario under one seed. It draws its choices from its argument,
 * which depends on the seed. */
static inline struct peali_sim_report
seeds_one(const struct seeds_scenario *scene, uint64_t seed)
{
	struct peali_sim_options o = scene->options;
	unsigned long long random = seed ^ 0x5ce9e5ULL;
	struct peali_sim_report report;

	o.seed = seed;
	o.tell_from = seeds_number("PEAL_SIM_TRACE", 0);
	peali_sim_begin(&o);
	scene->run(test_random(&random));
	peali_sim_on_failure(NULL, NULL);
	peali_sim_end(&report);
	return report;
}

/*
 * Plants a fault and runs seeds in another process until one fails. Returns
 * that seed, or 0 if none fails. `text` gets the stderr of the process.
 */
static inline uint64_t seeds_fail(const struct seeds_scenario *scene, int fault,
				  uint64_t first, uint64_t n, char *text,
				  size_t bytes)
{
	size_t used = 0;
	uint64_t seed;
	int ends[2], status;
	ssize_t got;
	pid_t child;

	fflush(NULL);
	CHECK(!pipe(ends));
	child = fork();
	CHECK(child >= 0);
	if (!child) {
		harness_cache[0] = 0; /* the child makes its own */
		dup2(ends[1], 2);
		close(ends[0]);
		close(ends[1]);
		if (fault)
			seeds_one(scene, 0);
		peali_sim_planted = fault;
		for (seed = first; seed < first + n; seed++)
			seeds_one(scene, seed);
		exit(0);
	}
	close(ends[1]);
	while ((got = read(ends[0], text + used, bytes - 1 - used)) > 0)
		used += (size_t)got;
	text[used] = 0;
	while (got > 0 && read(ends[0], &status, sizeof(status)) > 0)
		;
	close(ends[0]);
	CHECK_EQ(waitpid(child, &status, 0), child);
	if (WIFEXITED(status) && !WEXITSTATUS(status))
		return 0;
	CHECK_CONTAINS(text, "PEAL_SIM_SEED=");
	return strtoull(strstr(text, "PEAL_SIM_SEED=") + 14, NULL, 10);
}

static inline void seeds_run(const struct seeds_scenario *scene)
{
	uint64_t first = seeds_number("PEAL_SIM_SEED", 1);
	uint64_t least = IDENTITY_SANITIZED ? scene->least / 5 : scene->least;
	uint64_t wanted = seeds_number("PEAL_SIM_SEEDS", 0);
	uint64_t points = 0, switches = 0, stalls = 0, n, began, ms;
	uint64_t longest_ns = 0;
	struct peali_sim_report r;

	if (!wanted)
		wanted = least;
	seeds_one(scene, 0); /* fills the cache of probe results */
	began = seeds_real_ms();
	for (n = 0; n < wanted; n++) {
		r = seeds_one(scene, first + n);
		points += r.points;
		switches += r.switches;
		stalls += r.stalls;
		if (r.ns > longest_ns)
			longest_ns = r.ns;
	}
	ms = seeds_real_ms() - began;
	printf("    %s: %llu seeds from %llu on, %llu a second; of each %llu "
	       "yield points, %llu switches, %llu stalls, at most %llu us; "
	       "%.1f million yield points a second\n",
	       scene->name, (unsigned long long)n, (unsigned long long)first,
	       (unsigned long long)(n * 1000 / (ms + 1)),
	       (unsigned long long)(points / n),
	       (unsigned long long)(switches / n),
	       (unsigned long long)(stalls / n),
	       (unsigned long long)(longest_ns / 1000),
	       (double)points / 1000 / (double)(ms + 1));
}

/* Checks that the first `least` seeds find the planted fault. */
static inline void seeds_find(const struct seeds_scenario *scene, int fault)
{
	char text[8192];
	uint64_t seed =
		seeds_fail(scene, fault, 1, scene->least, text, sizeof(text));

	CHECK(seed);
	printf("    by seed %llu: %.*s\n", (unsigned long long)seed,
	       (int)strcspn(text, "\n"), text);
}

#endif
