/* SPDX-License-Identifier: Apache-2.0 */
#include "p2p/carry.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include <peal/device/atomic.h>
#include "p2p/books.h"
#include "runtime/backend/round.h"

/*
 * A stage: two buffers of pinned host memory and a thread, which fills one from
 * the source while whoever copies empties the other into the target. Both go
 * through the same moves in the same order, so they pack a buffer alike: many
 * small ones together, a large one in pieces. A copy has one stage to itself;
 * there are as many as copies go on at once, up to STAGES.
 */

#define STAGES 4
#define CHUNK ((uint64_t)512 << 10)
#define CHUNK_LEAST ((uint64_t)64 << 10) /* of a copy of few chunks */
#define PIECES 64 /* of a chunk, at most */
#define SPINS 2000 /* before a wait sleeps */

/** What is left of the moves. */
struct cursor {
	uint32_t i;
	uint64_t at; /* bytes of move i that are done */
};

/** The pieces of the moves that go through a buffer together. */
struct chunk {
	struct peali_move piece[PIECES];
	uint32_t n;
	uint64_t bytes;
};

struct peali_stage {
	struct peali_peers *peers;
	struct peali_stage *next; /* of the pool */
	int taken; /* the pool's lock */
	struct peali_memory memory;
	uint64_t bytes; /* of each buffer; 0: none yet */
	uint64_t buffer[2]; /* host pointers */
	pthread_t thread;
	int has_thread;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	/* the job: told under the lock */
	const struct peali_move *moves;
	uint32_t n;
	uint64_t chunk_bytes;
	int job, quit;
	/* under the lock, looked at without it before */
	atomic_uint filled, emptied; /* buffers so far */
	atomic_int ended; /* the thread does nothing for the job any more */
	atomic_int stop;
	struct peal_error_info failed; /* of the thread; once it has ended */
};

struct peali_stages {
	pthread_mutex_t lock;
	pthread_cond_t freed;
	struct peali_stage *first;
	uint32_t n;
};

/* ---- chunks ---------------------------------------------------------------- */

/* The next pieces, as many as a buffer holds; 0 bytes: there are no more. */
static void pack(const struct peali_move *moves, uint32_t n, uint64_t room,
		 struct cursor *cursor, struct chunk *out)
{
	struct peali_move *piece;
	uint64_t bytes;

	out->n = 0;
	out->bytes = 0;
	while (cursor->i < n && out->n < PIECES && out->bytes < room) {
		bytes = moves[cursor->i].bytes - cursor->at;
		if (bytes > room - out->bytes)
			bytes = room - out->bytes;
		piece = &out->piece[out->n++];
		*piece = moves[cursor->i];
		piece->to.address += cursor->at;
		piece->from.address += cursor->at;
		piece->bytes = bytes;
		out->bytes += bytes;
		cursor->at += bytes;
		if (cursor->at == moves[cursor->i].bytes) {
			cursor->i++;
			cursor->at = 0;
		}
	}
}

/* One of a chunk's two hops, by the backend of the place that is not the
 * buffer. */
static int hop(const struct peali_stage *stage, const struct chunk *chunk,
	       uint64_t buffer, int in)
{
	const struct peali_devices *devices = stage->peers->devices;
	const struct peali_device *d;
	struct peali_move moves[PIECES];
	int device, local;
	uint32_t i;

	device = in ? chunk->piece[0].from.device : chunk->piece[0].to.device;
	d = &devices->device[device == PEALI_HOST ? 0 : device];
	local = device == PEALI_HOST ? PEALI_HOST : d->local;
	for (i = 0; i < chunk->n; i++) {
		struct peali_place *other;

		moves[i] = chunk->piece[i];
		other = in ? &moves[i].to : &moves[i].from;
		other->device = PEALI_HOST;
		other->address = buffer;
		buffer += moves[i].bytes;
		(in ? &moves[i].from : &moves[i].to)->device = local;
	}
	if (chunk->n == 1)
		return d->backend->ops->copy(d->backend, moves[0].to,
					     moves[0].from, moves[0].bytes);
	return d->backend->ops->copy_all(d->backend, moves, chunk->n);
}

/* ---- the two sides --------------------------------------------------------- */

/* What each side waits for. */
static int is_filled(struct peali_stage *s, uint32_t k)
{
	return atomic_load(&s->filled) > k || atomic_load(&s->ended);
}

static int is_free(struct peali_stage *s, uint32_t k)
{
	return atomic_load(&s->emptied) + 2 > k || atomic_load(&s->stop);
}

static int has_ended(struct peali_stage *s, uint32_t k)
{
	(void)k;
	return atomic_load(&s->ended);
}

static void await(struct peali_stage *s,
		  int (*holds)(struct peali_stage *, uint32_t), uint32_t k)
{
	int i;

	for (i = 0; i < SPINS; i++) {
		if (holds(s, k))
			return;
		peal_pause();
	}
	pthread_mutex_lock(&s->lock);
	while (!holds(s, k))
		pthread_cond_wait(&s->changed, &s->lock);
	pthread_mutex_unlock(&s->lock);
}

static void tell_count(struct peali_stage *s, atomic_uint *count, uint32_t k)
{
	pthread_mutex_lock(&s->lock);
	atomic_store(count, k);
	pthread_cond_broadcast(&s->changed);
	pthread_mutex_unlock(&s->lock);
}

static void tell_flag(struct peali_stage *s, atomic_int *flag)
{
	pthread_mutex_lock(&s->lock);
	atomic_store(flag, 1);
	pthread_cond_broadcast(&s->changed);
	pthread_mutex_unlock(&s->lock);
}

/* The thread's side of a job. */
static void fill(struct peali_stage *s)
{
	struct cursor cursor = { 0, 0 };
	struct chunk chunk;
	uint32_t k;

	for (k = 0;; k++) {
		pack(s->moves, s->n, s->chunk_bytes, &cursor, &chunk);
		if (!chunk.bytes)
			break;
		await(s, is_free, k);
		if (atomic_load(&s->stop))
			break;
		if (hop(s, &chunk, s->buffer[k % 2], 1) < 0) {
			s->failed = *peal_last_error();
			break;
		}
		tell_count(s, &s->filled, k + 1);
	}
	tell_flag(s, &s->ended);
}

static void *stage_main(void *argument)
{
	struct peali_stage *s = argument;

	pthread_setname_np(pthread_self(), "peal-stage");
	pthread_mutex_lock(&s->lock);
	for (;;) {
		while (!s->job && !s->quit)
			pthread_cond_wait(&s->changed, &s->lock);
		if (s->quit)
			break;
		s->job = 0;
		pthread_mutex_unlock(&s->lock);
		fill(s);
		pthread_mutex_lock(&s->lock);
	}
	pthread_mutex_unlock(&s->lock);
	return NULL;
}

static int need_thread(struct peali_stage *s, const char *call)
{
	sigset_t all, before;
	int error;

	if (s->has_thread)
		return 0;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	error = pthread_create(&s->thread, NULL, stage_main, s);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (error)
		return peali_fail_driver(PEAL_EDRIVER, error, call,
					 "no thread for a staged copy: %s",
					 strerror(error));
	s->has_thread = 1;
	return 0;
}

static void begin_job(struct peali_stage *s, const struct peali_move *moves,
		      uint32_t n, uint64_t chunk_bytes)
{
	memset(&s->failed, 0, sizeof(s->failed));
	pthread_mutex_lock(&s->lock);
	s->moves = moves;
	s->n = n;
	s->chunk_bytes = chunk_bytes;
	atomic_store(&s->filled, 0);
	atomic_store(&s->emptied, 0);
	atomic_store(&s->ended, 0);
	atomic_store(&s->stop, 0);
	s->job = 1;
	pthread_cond_broadcast(&s->changed);
	pthread_mutex_unlock(&s->lock);
}

static void count_chunk(const struct chunk *chunk, struct peali_run *run)
{
	peali_run_add(run, chunk->bytes);
	run->result.staged_bytes += chunk->bytes;
	run->result.chunks++;
}

/* The caller's side. */
static int empty(struct peali_stage *s, struct peali_run *run)
{
	struct cursor cursor = { 0, 0 };
	struct chunk chunk;
	uint32_t k;
	int r = 0;

	for (k = 0; !r; k++) {
		await(s, is_filled, k);
		if (atomic_load(&s->filled) <= k)
			break;
		if (peali_run_cancelled(run)) {
			r = PEAL_ECANCELED;
			break;
		}
		pack(s->moves, s->n, s->chunk_bytes, &cursor, &chunk);
		r = hop(s, &chunk, s->buffer[k % 2], 0);
		if (!r)
			count_chunk(&chunk, run);
		tell_count(s, &s->emptied, k + 1);
	}
	tell_flag(s, &s->stop);
	await(s, has_ended, 0);
	if (!r && s->failed.code)
		r = peali_fail_driver(s->failed.code, s->failed.driver_code,
				      run->call, "%s", s->failed.text);
	return r;
}

/* All of it fits a buffer: there is nothing to overlap. */
static int in_one(struct peali_stage *s, const struct peali_move *moves,
		  uint32_t n, uint64_t chunk_bytes, struct peali_run *run)
{
	struct cursor cursor = { 0, 0 };
	struct chunk chunk;
	int r;

	pack(moves, n, chunk_bytes, &cursor, &chunk);
	r = hop(s, &chunk, s->buffer[0], 1);
	if (!r)
		r = hop(s, &chunk, s->buffer[0], 0);
	if (!r)
		count_chunk(&chunk, run);
	return r;
}

/* ---- the pool -------------------------------------------------------------- */

/* The pool of a runtime, made by the first copy that needs it. */
static struct peali_stages *pool_of(struct peali_peers *peers)
{
	struct peali_stages *pool;

	pthread_mutex_lock(&peers->lock);
	if (!peers->stages) {
		peers->stages = calloc(1, sizeof(*peers->stages));
		if (peers->stages) {
			pthread_mutex_init(&peers->stages->lock, NULL);
			pthread_cond_init(&peers->stages->freed, NULL);
		}
	}
	pool = peers->stages;
	pthread_mutex_unlock(&peers->lock);
	return pool;
}

/* One more, if there may be. The pool's lock is held. */
static struct peali_stage *add_stage(struct peali_peers *peers,
				     struct peali_stages *pool)
{
	struct peali_stage *s;

	if (pool->n == STAGES)
		return NULL;
	s = calloc(1, sizeof(*s));
	if (!s)
		return NULL;
	s->peers = peers;
	pthread_mutex_init(&s->lock, NULL);
	pthread_cond_init(&s->changed, NULL);
	s->next = pool->first;
	pool->first = s;
	pool->n++;
	return s;
}

/* A stage that nobody has; waits for one if there are as many as may be. */
static struct peali_stage *take(struct peali_peers *peers,
				struct peali_stages *pool)
{
	struct peali_stage *s;

	pthread_mutex_lock(&pool->lock);
	for (;;) {
		for (s = pool->first; s && s->taken; s = s->next)
			;
		if (!s)
			s = add_stage(peers, pool);
		if (s || !pool->first)
			break;
		pthread_cond_wait(&pool->freed, &pool->lock);
	}
	if (s)
		s->taken = 1;
	pthread_mutex_unlock(&pool->lock);
	return s;
}

static void give(struct peali_stages *pool, struct peali_stage *s)
{
	pthread_mutex_lock(&pool->lock);
	s->taken = 0;
	pthread_cond_signal(&pool->freed);
	pthread_mutex_unlock(&pool->lock);
}

static void free_buffers(struct peali_stage *s)
{
	if (s->bytes)
		peali_devices_free(s->peers->devices, PEALI_HOST, &s->memory);
	s->bytes = 0;
}

/* Buffers of at least so many bytes each. */
static int need_buffers(struct peali_stage *s, uint64_t bytes, const char *call)
{
	struct peal_error_info failed;
	const struct peali_devices *devices = s->peers->devices;
	int r;

	if (bytes < CHUNK)
		bytes = CHUNK;
	bytes = peali_round_up(bytes, PEALI_SPACE_PAGE);
	if (s->bytes >= bytes)
		return 0;
	free_buffers(s);
	r = peali_devices_alloc(devices, PEALI_HOST, 2 * bytes, &s->memory);
	if (r < 0) {
		failed = *peal_last_error();
		return peali_fail(r, call,
				  "no pinned host memory to stage a copy: %s",
				  failed.text);
	}
	s->bytes = bytes;
	s->buffer[0] =
		peali_devices_view(devices, PEALI_HOST, PEALI_HOST, &s->memory);
	s->buffer[1] = s->buffer[0] + bytes;
	return 0;
}

/* Bytes of a chunk, where the caller does not say. */
static uint64_t chunk_of(uint64_t bytes)
{
	uint64_t chunk = bytes / 8 / PEALI_SPACE_PAGE * PEALI_SPACE_PAGE;

	return chunk > CHUNK	   ? CHUNK :
	       chunk < CHUNK_LEAST ? CHUNK_LEAST :
				     chunk;
}

int peali_stage_run(struct peali_peers *peers, const struct peali_move *moves,
		    uint32_t n, struct peali_run *run)
{
	struct peali_stages *pool = pool_of(peers);
	struct peali_stage *s = pool ? take(peers, pool) : NULL;
	uint64_t bytes = 0, chunk = run->chunk_bytes;
	uint32_t i;
	int r;

	if (!s)
		return peali_fail(PEAL_ENOMEM, run->call,
				  "no host memory to stage a copy");
	for (i = 0; i < n; i++)
		bytes += moves[i].bytes;
	if (!chunk)
		chunk = chunk_of(bytes);
	r = need_buffers(s, chunk, run->call);
	if (!r && n <= PIECES && bytes <= chunk) {
		r = in_one(s, moves, n, chunk, run);
	} else if (!r) {
		r = need_thread(s, run->call);
		if (!r) {
			begin_job(s, moves, n, chunk);
			r = empty(s, run);
		}
	}
	give(pool, s);
	return r;
}

void peali_stages_close(struct peali_peers *peers)
{
	struct peali_stages *pool = peers->stages;
	struct peali_stage *s;

	if (!pool)
		return;
	while ((s = pool->first)) {
		pool->first = s->next;
		pthread_mutex_lock(&s->lock);
		s->quit = 1;
		pthread_cond_broadcast(&s->changed);
		pthread_mutex_unlock(&s->lock);
		if (s->has_thread)
			pthread_join(s->thread, NULL);
		free_buffers(s);
		pthread_cond_destroy(&s->changed);
		pthread_mutex_destroy(&s->lock);
		free(s);
	}
	pthread_cond_destroy(&pool->freed);
	pthread_mutex_destroy(&pool->lock);
	free(pool);
	peers->stages = NULL;
}
