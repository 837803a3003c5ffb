/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/backend/copies.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include <peal/device/host.h>

#define CHUNK ((uint64_t)1 << 20)

struct peali_copy {
	struct peali_copies *pool;
	struct peali_copy *next;
	struct peali_place to, from;
	uint64_t bytes, done_bell;
	atomic_int state; /* as peali_copies_query returns it */
	atomic_int cancel;
};

struct peali_copies {
	struct peali_backend *backend;
	pthread_mutex_t lock;
	pthread_cond_t work; /* something in line, or time to end */
	pthread_cond_t done; /* some copy has ended */
	struct peali_copy *first, **last;
	int n_copies; /* that are not freed */
	int has_thread, stop;
	pthread_t thread;
};

/* Chunk by chunk, from the end where it would else overwrite its source. */
static int run_copy(struct peali_copy *c)
{
	struct peali_backend *backend = c->pool->backend;
	int backwards = c->to.address - c->from.address < c->bytes;
	struct peali_place to = c->to, from = c->from;
	uint64_t done = 0, n, at;
	int r;

	while (done < c->bytes) {
		if (atomic_load_explicit(&c->cancel, memory_order_relaxed))
			return PEAL_ECANCELED;
		n = c->bytes - done < CHUNK ? c->bytes - done : CHUNK;
		at = backwards ? c->bytes - done - n : done;
		to.address = c->to.address + at;
		from.address = c->from.address + at;
		r = backend->ops->copy(backend, to, from, n);
		if (r < 0)
			return r;
		done += n;
	}
	return 0;
}

static void *copy_main(void *argument)
{
	struct peali_copies *pool = argument;
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
static int need_thread(struct peali_copies *pool)
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
		return peali_fail_driver(PEAL_EDRIVER, error, "copy_start",
					 "no thread for copies: %s",
					 strerror(error));
	pool->has_thread = 1;
	return 0;
}

int peali_copies_start(struct peali_copies *pool, struct peali_place to,
		       struct peali_place from, uint64_t bytes,
		       uint64_t done_bell, struct peali_copy **out)
{
	struct peali_copy *c = calloc(1, sizeof(*c));
	int r;

	if (!c)
		return peali_fail(PEAL_ENOMEM, "copy_start",
				  "no memory for a copy");
	c->pool = pool;
	c->to = to;
	c->from = from;
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

int peali_copies_query(struct peali_copy *copy)
{
	return atomic_load_explicit(&copy->state, memory_order_acquire);
}

void peali_copies_cancel(struct peali_copy *copy)
{
	atomic_store_explicit(&copy->cancel, 1, memory_order_relaxed);
}

void peali_copies_free(struct peali_copy *copy)
{
	struct peali_copies *pool;

	if (!copy)
		return;
	pool = copy->pool;
	pthread_mutex_lock(&pool->lock);
	while (peali_copies_query(copy) == PEAL_EAGAIN)
		pthread_cond_wait(&pool->done, &pool->lock);
	pool->n_copies--;
	pthread_mutex_unlock(&pool->lock);
	free(copy);
}

int peali_copies_open(struct peali_backend *backend, struct peali_copies **out)
{
	struct peali_copies *pool = calloc(1, sizeof(*pool));

	if (!pool)
		return peali_fail(PEAL_ENOMEM, "open",
				  "no memory for the backend");
	pool->backend = backend;
	pthread_mutex_init(&pool->lock, NULL);
	pthread_cond_init(&pool->work, NULL);
	pthread_cond_init(&pool->done, NULL);
	pool->last = &pool->first;
	*out = pool;
	return 0;
}

int peali_copies_close(struct peali_copies *pool)
{
	int n;

	if (!pool)
		return 0;
	pthread_mutex_lock(&pool->lock);
	n = pool->n_copies;
	pool->stop = !n;
	pthread_cond_signal(&pool->work);
	pthread_mutex_unlock(&pool->lock);
	if (n)
		return peali_fail(PEAL_EBUSY, "close",
				  "%d copies are not freed", n);
	if (pool->has_thread)
		pthread_join(pool->thread, NULL);
	pthread_cond_destroy(&pool->done);
	pthread_cond_destroy(&pool->work);
	pthread_mutex_destroy(&pool->lock);
	free(pool);
	return 0;
}
