/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/backend/host/host.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include <peal/device/host.h>

/*
 * Copies go through the owners' own views, so that they need no peer access,
 * like those of a copy engine. Background copies wait in line for one thread,
 * which is made by the first of them.
 */

#define CHUNK ((uint64_t)1 << 20)

struct peali_copy {
	struct peali_host_copies *pool;
	struct peali_copy *next;
	uint8_t *to;
	const uint8_t *from;
	uint64_t bytes, done_bell;
	atomic_int state; /* as peali_host_copy_query returns it */
	atomic_int cancel;
};

struct peali_host_copies {
	pthread_mutex_t lock;
	pthread_cond_t work; /* something in line, or time to end */
	pthread_cond_t done; /* some copy has ended */
	struct peali_copy *first, **last;
	int n_copies; /* that are not freed */
	int has_thread, stop;
	pthread_t thread;
};

/* A place's host pointer, once its bounds are known to be right. */
static int resolve(struct peali_host *host, struct peali_place place,
		   uint64_t bytes, const char *call, uint8_t **out)
{
	const struct peali_heap *heap;
	struct peali_piece piece;
	int r = 0;

	if (place.device != PEALI_HOST)
		r = peali_host_check(host, place.device, call);
	if (r < 0)
		return r;
	if (place.device != PEALI_HOST && bytes) {
		heap = peali_host_heap(host, place.device);
		/* A device sees host memory too, at the same address. */
		if (!peali_heap_holds(heap, place.address) &&
		    peali_heap_holds(peali_host_heap(host, PEALI_HOST),
				     place.address))
			heap = peali_host_heap(host, PEALI_HOST);
		pthread_mutex_lock(&host->lock);
		r = peali_heap_find(heap, place.address - (uintptr_t)heap->base,
				    bytes, &piece);
		pthread_mutex_unlock(&host->lock);
	} else if (!place.address && bytes) {
		r = peali_fail(PEAL_EFAULT, call,
			       "a copy of %llu bytes has a NULL host pointer",
			       (unsigned long long)bytes);
	}
	if (!r)
		*out = (uint8_t *)(uintptr_t)place.address;
	return r;
}

int peali_host_copy(struct peali_backend *backend, struct peali_place to,
		    struct peali_place from, uint64_t bytes)
{
	struct peali_host *host = peali_host_of(backend);
	uint8_t *target, *source;
	int r = resolve(host, to, bytes, "host: copy", &target);

	if (!r)
		r = resolve(host, from, bytes, "host: copy", &source);
	if (!r && bytes)
		memmove(target, source, bytes);
	return r;
}

/* Chunk by chunk, from the end where it would else overwrite its source. */
static int run_copy(struct peali_copy *c)
{
	int backwards = (uintptr_t)c->to - (uintptr_t)c->from < c->bytes;
	uint64_t done = 0, n, at;

	while (done < c->bytes) {
		if (atomic_load_explicit(&c->cancel, memory_order_relaxed))
			return PEAL_ECANCELED;
		n = c->bytes - done < CHUNK ? c->bytes - done : CHUNK;
		at = backwards ? c->bytes - done - n : done;
		memmove(c->to + at, c->from + at, n);
		done += n;
	}
	return 0;
}

static void *copy_main(void *argument)
{
	struct peali_host_copies *pool = argument;
	struct peali_copy *c;
	int r;

	pthread_setname_np(pthread_self(), "peal-copy");
	pthread_mutex_lock(&pool->lock);
	while (!pool->stop) {
		c = pool->first;
		if (!c) {
			pthread_cond_wait(&pool->work, &pool->lock);
			continue;
		}
		pool->first = c->next;
		if (!pool->first)
			pool->last = &pool->first;
		pthread_mutex_unlock(&pool->lock);
		r = run_copy(c);
		pthread_mutex_lock(&pool->lock);
		atomic_store_explicit(&c->state, r, memory_order_release);
		/* Under the lock: whoever frees the copy may free the bell. */
		peal_bell_ring(c->done_bell);
		pthread_cond_broadcast(&pool->done);
	}
	pthread_mutex_unlock(&pool->lock);
	return NULL;
}

/* Lock held. */
static int need_thread(struct peali_host_copies *pool)
{
	sigset_t all, before;
	int error;

	if (pool->has_thread)
		return 0;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	error = pthread_create(&pool->thread, NULL, copy_main, pool);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (error)
		return peali_fail_driver(PEAL_EDRIVER, error,
					 "host: copy_start",
					 "no thread for copies: %s",
					 strerror(error));
	pool->has_thread = 1;
	return 0;
}

int peali_host_copy_start(struct peali_backend *backend, struct peali_place to,
			  struct peali_place from, uint64_t bytes,
			  uint64_t done_bell, struct peali_copy **out)
{
	struct peali_host *host = peali_host_of(backend);
	struct peali_host_copies *pool = host->copies;
	const char *call = "host: copy_start";
	uint8_t *target = NULL, *source = NULL;
	struct peali_copy *c;
	int r = resolve(host, to, bytes, call, &target);

	if (!r)
		r = resolve(host, from, bytes, call, &source);
	if (r)
		return r;
	c = calloc(1, sizeof(*c));
	if (!c)
		return peali_fail(PEAL_ENOMEM, call, "no memory for a copy");
	c->pool = pool;
	c->to = target;
	c->from = source;
	c->bytes = bytes;
	c->done_bell = done_bell;
	atomic_init(&c->state, PEAL_EAGAIN);
	atomic_init(&c->cancel, 0);
	pthread_mutex_lock(&pool->lock);
	r = need_thread(pool);
	if (!r) {
		*pool->last = c;
		pool->last = &c->next;
		pool->n_copies++;
		pthread_cond_signal(&pool->work);
	}
	pthread_mutex_unlock(&pool->lock);
	if (r < 0)
		free(c);
	else
		*out = c;
	return r;
}

int peali_host_copy_query(struct peali_copy *copy)
{
	return atomic_load_explicit(&copy->state, memory_order_acquire);
}

void peali_host_copy_cancel(struct peali_copy *copy)
{
	atomic_store_explicit(&copy->cancel, 1, memory_order_relaxed);
}

void peali_host_copy_free(struct peali_copy *copy)
{
	struct peali_host_copies *pool;

	if (!copy)
		return;
	pool = copy->pool;
	pthread_mutex_lock(&pool->lock);
	while (peali_host_copy_query(copy) == PEAL_EAGAIN)
		pthread_cond_wait(&pool->done, &pool->lock);
	pool->n_copies--;
	pthread_mutex_unlock(&pool->lock);
	free(copy);
}

int peali_host_copies_open(struct peali_host *host)
{
	struct peali_host_copies *pool = calloc(1, sizeof(*pool));

	if (!pool)
		return peali_fail(PEAL_ENOMEM, "host: open",
				  "no memory for the backend");
	pthread_mutex_init(&pool->lock, NULL);
	pthread_cond_init(&pool->work, NULL);
	pthread_cond_init(&pool->done, NULL);
	pool->last = &pool->first;
	host->copies = pool;
	return 0;
}

int peali_host_copies_close(struct peali_host *host)
{
	struct peali_host_copies *pool = host->copies;
	int n;

	if (!pool)
		return 0;
	pthread_mutex_lock(&pool->lock);
	n = pool->n_copies;
	pool->stop = !n;
	pthread_cond_signal(&pool->work);
	pthread_mutex_unlock(&pool->lock);
	if (n)
		return peali_fail(PEAL_EBUSY, "host: close",
				  "%d copies are not freed", n);
	if (pool->has_thread)
		pthread_join(pool->thread, NULL);
	pthread_cond_destroy(&pool->done);
	pthread_cond_destroy(&pool->work);
	pthread_mutex_destroy(&pool->lock);
	free(pool);
	host->copies = NULL;
	return 0;
}
