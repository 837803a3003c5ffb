/* SPDX-License-Identifier: Apache-2.0 */
/* Plain threads on cores: see bench/cacheline_bounce.h. */
#include "bench/cacheline_bounce.h"

#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <sys/resource.h>

#include <peal/device/impl/base/host_support.h>

#include "ringkernels/bench_program.h"
#include "runtime/base/core_set.h"

#define LINE 64
#define LINES_MAX 2080 /* 32 messages of 4 KiB with their headers */
#define RING_BYTES 65536
/*
 * Limits of the classes of distance: ns for one line in one direction. The
 * machine in bench/RESULTS.md takes 29, 62, or 200 to 250.
 */
#define NEAR_NS 43
#define MIDDLE_NS 124
#define PROBE_BATCH 8
#define PROBE_SAMPLES 60

/* ---- cores --------------------------------------------------------------- */

int peali_core_at(uint32_t index)
{
	const struct peali_core_set *all = peali_process_cores();
	int core = peali_core_set_next(all, -1);

	while (core >= 0 && index--)
		core = peali_core_set_next(all, core);
	return core;
}

int peali_cores_pick(struct peali_cores *cores_out)
{
	cores_out->a = peali_core_at(0);
	cores_out->b = peali_core_at(1);
	return cores_out->b < 0 ? -1 : 0;
}

int peali_core_bind(int core)
{
	return peali_thread_bind(core) ? -1 : 0;
}

static uint64_t cores_lost;

uint64_t peali_cores_lost(void)
{
	return peal_load_relaxed_dev(&cores_lost);
}

uint64_t peali_core_watch(void)
{
	struct rusage usage;

	return getrusage(RUSAGE_THREAD, &usage) ? 0 : (uint64_t)usage.ru_nivcsw;
}

void peali_core_watched(uint64_t since)
{
	peal_add_relaxed_dev(&cores_lost, peali_core_watch() - since);
}

/* ---- bounce -------------------------------------------------------------- */

struct line {
	_Alignas(LINE) uint64_t word;
	uint64_t reserved[LINE / 8 - 1];
};

struct bounce {
	struct line lines[LINES_MAX]; /* line 0 has the flag */
	struct line go; /* 1: the second thread is ready */
	uint32_t n_lines;
	int pause; /* 1: pause between two loads of the flag */
	uint64_t trips;
	int core;
};

/*
 * Waits until the other thread has written `number`. Then reads all lines and
 * returns their sum.
 */
static inline uint64_t bounce_read(struct bounce *b, uint64_t number)
{
	uint64_t sum = 0;

	while (peal_load_acquire_sys(&b->lines[0].word) != number)
		if (b->pause)
			peal_pause();
	for (uint32_t i = 1; i < b->n_lines; i++)
		sum += peal_load_relaxed_sys(&b->lines[i].word);
	return sum;
}

static inline void bounce_write(struct bounce *b, uint64_t number)
{
	for (uint32_t i = 1; i < b->n_lines; i++)
		peal_store_relaxed_sys(&b->lines[i].word, number);
	peal_store_release_sys(&b->lines[0].word, number);
}

static void *bounce_back(void *argument)
{
	struct bounce *b = argument;
	uint64_t sum = 0, watch;

	peali_core_bind(b->core);
	watch = peali_core_watch();
	peal_store_release_sys(&b->go.word, 1);
	for (uint64_t i = 0; i < b->trips; i++) {
		sum += bounce_read(b, 2 * i + 1);
		bounce_write(b, 2 * i + 2);
	}
	peali_core_watched(watch);
	b->go.reserved[0] = sum;
	return NULL;
}

static int bounce_run(struct bounce *b, uint32_t batch, uint32_t n_samples,
		      struct peali_samples *samples)
{
	uint64_t began = peal_clock_ns();
	uint64_t wrong = 0, i = 0;

	for (uint32_t k = 0; k < n_samples; k++) {
		uint64_t now;

		for (uint32_t j = 0; j < batch; j++, i++) {
			bounce_write(b, 2 * i + 1);
			wrong |= bounce_read(b, 2 * i + 2) ^
				 (b->n_lines - 1) * (2 * i + 2);
		}
		now = peal_clock_ns();
		if (k >= n_samples / 10)
			peali_samples_add(samples,
					  (double)(now - began) / batch);
		began = now;
	}
	return wrong ? -1 : 0;
}

/* Runs a bounce that is set up in b, on both cores. Returns 0 or -1. */
static int bounce_pair(struct bounce *b, const struct peali_cores *cores,
		       uint32_t batch, uint32_t n_samples,
		       struct peali_samples *samples)
{
	pthread_t thread;
	uint64_t watch;
	int result;

	b->trips = (uint64_t)batch * n_samples;
	b->core = cores->b;
	if (pthread_create(&thread, NULL, bounce_back, b)) {
		peali_say("cannot start a thread for the bare bounce");
		return -1;
	}
	peali_core_bind(cores->a);
	while (!peal_load_acquire_sys(&b->go.word))
		sched_yield();
	watch = peali_core_watch();
	result = bounce_run(b, batch, n_samples, samples);
	peali_core_watched(watch);
	peali_core_bind(-1);
	pthread_join(thread, NULL);
	if (result)
		peali_say("the bare bounce read wrong data");
	return result;
}

/* Static, so that every bounce uses the same lines. */
static struct bounce bounce;

int peali_cacheline_bounce(const struct peali_cores *cores, uint32_t lines,
			   uint32_t batch, uint32_t n_samples,
			   struct peali_samples *samples)
{
	memset(&bounce, 0, sizeof(bounce));
	bounce.n_lines = lines < LINES_MAX ? lines : LINES_MAX;
	return bounce_pair(&bounce, cores, batch, n_samples, samples);
}

/*
 * The threads pause between two loads of the flag. So the line changes its
 * owner less often, and the result is steadier than with a plain spin.
 */
int peali_cores_distance(const struct peali_cores *cores)
{
	struct peali_samples samples = { 0 };
	double way;
	int result;

	memset(&bounce, 0, sizeof(bounce));
	bounce.n_lines = 1;
	bounce.pause = 1;
	result = bounce_pair(&bounce, cores, PROBE_BATCH, PROBE_SAMPLES,
			     &samples);
	way = peali_samples_open_median(&samples) / 2;
	peali_samples_fini(&samples);
	if (result || !isfinite(way))
		return PEALI_TAG_MIXED;
	return way < NEAR_NS ? 0 : way < MIDDLE_NS ? 1 : 2;
}

const char *peali_distance_name(int distance)
{
	static const char *const names[PEALI_DISTANCES] = { "near", "middle",
							    "far" };

	return distance >= 0 && distance < PEALI_DISTANCES ? names[distance] :
							     "mixed";
}

/* ---- ring ---------------------------------------------------------------- */

struct ring {
	uint64_t base[PEALI_BENCH_WORDS];
	struct line tail; /* messages published */
	struct line head; /* messages consumed, as last published */
	struct line go;
	uint32_t words; /* words of a payload */
	/* words from one message to the next, a multiple of a line */
	uint32_t stride;
	uint32_t capacity; /* messages */
	uint32_t batch;
	uint64_t messages;
	int core;
	_Alignas(LINE) uint64_t slots[RING_BYTES / 8];
};

static void *ring_send(void *argument)
{
	struct ring *ring = argument;
	const struct peali_bench_share share = { ring->words, 0, 1 };
	uint64_t head = 0;

	peali_core_bind(ring->core);
	peal_store_release_sys(&ring->go.word, 1);
	for (uint64_t i = 0; i < ring->messages;) {
		uint64_t end = i + ring->batch;

		end = end < ring->messages ? end : ring->messages;
		while (end - head > ring->capacity)
			head = peal_load_acquire_sys(&ring->head.word);
		for (; i < end; i++)
			peali_bench_fill(ring->slots + i % ring->capacity *
							       ring->stride,
					 ring->base, i, share);
		peal_store_release_sys(&ring->tail.word, end);
	}
	return NULL;
}

/*
 * Receives all messages. Returns ns from the first message to the last.
 * *wrong_out is the number of wrong messages.
 */
static uint64_t ring_take(struct ring *ring, uint64_t *wrong_out)
{
	const struct peali_bench_share share = { ring->words, 0, 1 };
	uint64_t began = 0, tail = 0, told = 0, wrong = 0;

	for (uint64_t i = 0; i < ring->messages;) {
		while (tail == i)
			tail = peal_load_acquire_sys(&ring->tail.word);
		for (; i < tail; i++) {
			wrong += peali_bench_check(
					 ring->slots + i % ring->capacity *
							       ring->stride,
					 ring->base, i, 0, share) != 0;
			if (i + 1 - told >= ring->capacity / 4) {
				told = i + 1;
				peal_store_release_sys(&ring->head.word, told);
			}
			if (!began)
				began = peal_clock_ns();
		}
	}
	*wrong_out = wrong;
	return peal_clock_ns() - began;
}

double peali_cacheline_ring(const struct peali_cores *cores, uint32_t bytes,
			    uint32_t batch, uint64_t messages)
{
	static struct ring ring;
	pthread_t thread;
	uint64_t wrong = 0, ns;

	memset(&ring, 0, sizeof(ring));
	for (uint32_t i = 0; i < PEALI_BENCH_WORDS; i++)
		ring.base[i] = peali_bench_word(messages, i);
	ring.words = bytes / 8;
	ring.stride = (bytes + LINE - 1) / LINE * (LINE / 8);
	ring.capacity = RING_BYTES / 8 / ring.stride;
	ring.batch = batch < ring.capacity / 4 ? batch : ring.capacity / 4;
	ring.messages = messages;
	ring.core = cores->a;
	if (pthread_create(&thread, NULL, ring_send, &ring)) {
		peali_say("cannot start a thread for the bare ring");
		return -1;
	}
	peali_core_bind(cores->b);
	while (!peal_load_acquire_sys(&ring.go.word))
		sched_yield();
	ns = ring_take(&ring, &wrong);
	peali_core_bind(-1);
	pthread_join(thread, NULL);
	if (!wrong && ns)
		return (double)messages * 1e9 / (double)ns;
	peali_say("the bare ring read wrong data");
	return -1;
}
