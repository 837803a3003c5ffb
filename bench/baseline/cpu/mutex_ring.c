/* SPDX-License-Identifier: Apache-2.0 */
/* A ring under a mutex as a baseline. Threads wait by condition variables. */
#include "bench/baseline/cpu/baselines.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* time after which a waiting thread checks the clock */
#define LOOK_NS 10000000

struct mutex_ring {
	pthread_mutex_t mutex;
	pthread_cond_t not_empty, not_full;
	uint64_t head, tail;
	uint32_t slots, bytes;
	uint8_t *memory;
};

static void *ring_open(const struct peali_bench_queue_shape *shape)
{
	struct mutex_ring *r = peali_bench_queue_memory(sizeof(*r));

	if (!r)
		return NULL;
	r->slots = shape->slots;
	r->bytes = shape->bytes;
	r->memory = peali_bench_queue_memory((uint64_t)r->slots * r->bytes);
	if (!r->memory) {
		free(r);
		return NULL;
	}
	pthread_mutex_init(&r->mutex, NULL);
	pthread_cond_init(&r->not_empty, NULL);
	pthread_cond_init(&r->not_full, NULL);
	return r;
}

static void ring_close(void *queue)
{
	struct mutex_ring *r = queue;

	pthread_cond_destroy(&r->not_empty);
	pthread_cond_destroy(&r->not_full);
	pthread_mutex_destroy(&r->mutex);
	free(r->memory);
	free(r);
}

/*
 * Sleeps until the other side signals, unless the thread has both ends. The
 * caller polls again. After a timeout it also reads the clock. The caller holds
 * r->mutex.
 */
static void ring_wait(struct mutex_ring *r, pthread_cond_t *condition,
		      struct peali_bench_queue_end *end)
{
	struct timespec until;

	if (end->shape.both)
		return;
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_nsec += LOOK_NS;
	until.tv_sec += until.tv_nsec / 1000000000;
	until.tv_nsec %= 1000000000;
	if (pthread_cond_timedwait(condition, &r->mutex, &until))
		end->polls |= PEALI_BENCH_QUEUE_POLLS - 1;
}

static uint8_t *ring_slot(const struct mutex_ring *r, uint64_t number)
{
	return r->memory + number % r->slots * r->bytes;
}

static PEAL_INLINE uint32_t ring_put(void *queue,
				     struct peali_bench_queue_end *end,
				     uint32_t bytes, uint32_t burst)
{
	struct mutex_ring *r = queue;
	uint64_t *from;
	uint32_t n = peali_bench_queue_stage(end, bytes, burst, &from), i;

	pthread_mutex_lock(&r->mutex);
	if (r->tail - r->head == r->slots)
		ring_wait(r, &r->not_full, end);
	for (i = 0; i < n && r->tail - r->head < r->slots; i++)
		memcpy(ring_slot(r, r->tail++), from + i * (bytes / 8), bytes);
	pthread_mutex_unlock(&r->mutex);
	if (i)
		pthread_cond_signal(&r->not_empty);
	return peali_bench_queue_unstage(end, i);
}

static PEAL_INLINE uint32_t ring_get(void *queue,
				     struct peali_bench_queue_end *end,
				     uint32_t bytes, uint32_t burst)
{
	struct mutex_ring *r = queue;
	uint32_t n;

	pthread_mutex_lock(&r->mutex);
	if (r->tail == r->head)
		ring_wait(r, &r->not_empty, end);
	for (n = 0; n < burst && r->tail != r->head; n++)
		memcpy(end->stage + n * (bytes / 8), ring_slot(r, r->head++),
		       bytes);
	pthread_mutex_unlock(&r->mutex);
	if (n)
		pthread_cond_signal(&r->not_full);
	for (uint32_t i = 0; i < n; i++)
		peali_bench_queue_check(end, end->stage + i * (bytes / 8),
					bytes);
	return n;
}

PEALI_BENCH_QUEUE_LOOPS(ring, ring_put, ring_get)

const struct peali_bench_queue_kind peali_baseline_mutex = {
	.name = "mutex and condvar",
	.open = ring_open,
	.close = ring_close,
	.send = ring_send,
	.take = ring_take,
	.trips = ring_trips,
};
