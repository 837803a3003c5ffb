/* SPDX-License-Identifier: Apache-2.0 */
/*
 * count TURNS: the program that count.py runs under a tool that counts
 * instructions. It moves messages through all queues of `peal bench queues`,
 * ours first. It prints its compiler, then a line for each queue, size and
 * burst. Tabs separate the fields.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "bench/kinds/kinds.h"
#include "bench/baseline/cpu/baselines.h"
#include "bench/queue_run.h"

#define SLOTS 1024
#ifdef __clang__
#define COMPILER __VERSION__
#else
#define COMPILER "gcc " __VERSION__
#endif

struct shape {
	const char *what; /* name of its rows */
	const struct peali_bench_queue_kind *const *ours;
	const struct peali_bench_queue_kind *const *peers;
	uint32_t producers, consumers, every;
};

static const struct shape shapes[] = {
	{ "1 → 1", &peali_bench_queue_pair, peali_baselines_pair, 1, 1, 0 },
	{ "n → 1", &peali_bench_queue_gather, peali_baselines_gather, 2, 1, 0 },
	{ "n → m", &peali_bench_queue_share, peali_baselines_share, 2, 2, 0 },
	{ "1 → every", &peali_bench_queue_spread, peali_baselines_spread, 1, 2,
	  1 },
};

static int count_one(const struct shape *shape,
		     const struct peali_bench_queue_kind *kind, uint32_t bytes,
		     uint32_t burst, uint32_t turns)
{
	const struct peali_bench_queue_job job = {
		.kind = kind,
		.shape = { .bytes = bytes,
			   .burst = burst,
			   .producers = shape->producers,
			   .consumers = shape->consumers,
			   .slots = SLOTS,
			   .every = shape->every,
			   .both = 1 },
		.placement = PEALI_PLACE_BOTH,
	};
	uint64_t put, taken;

	if (peali_bench_queue_count(&job, turns, &put, &taken))
		return -1;
	printf("%s\t%s\t%u\t%u\t%u\t%u\t%u\t%llu\t%llu\n", shape->what,
	       kind->name, bytes, burst, turns, shape->producers,
	       shape->consumers, (unsigned long long)put,
	       (unsigned long long)taken);
	return 0;
}

static int count_kind(const struct shape *shape,
		      const struct peali_bench_queue_kind *kind, uint32_t turns)
{
	static const uint32_t sizes[] = { 8, 64, 256 };
	int result = 0;

	if (kind->missing) {
		printf("%s\t%s\t%s\n", shape->what, kind->name, kind->missing);
		return 0;
	}
	for (int i = 0; i < 3 && !result; i++) {
		result = count_one(shape, kind, sizes[i], 1, turns);
		if (!result)
			result = count_one(shape, kind, sizes[i],
					   PEALI_BENCH_QUEUE_BURST, turns);
	}
	return result;
}

static void *nothing(void *argument)
{
	return argument;
}

int main(int argc, char **argv)
{
	int turns = argc == 2 ? atoi(argv[1]) : 0;
	pthread_t thread;

	if (turns < 1) {
		fprintf(stderr, "usage: count TURNS\n");
		return 2;
	}
	printf("%s\n", COMPILER);
	/*
	 * In a process that never had a second thread, a mutex is not locked.
	 * So start a thread.
	 */
	if (pthread_create(&thread, NULL, nothing, NULL))
		return 1;
	pthread_join(thread, NULL);
	for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
		const struct shape *shape = shapes + i;

		if (count_kind(shape, *shape->ours, (uint32_t)turns) ||
		    count_kind(shape, peali_bench_queue_front(*shape->ours),
			       (uint32_t)turns))
			return 1;
		for (int k = 0; shape->peers[k]; k++)
			if (count_kind(shape, shape->peers[k], (uint32_t)turns))
				return 1;
	}
	return 0;
}
