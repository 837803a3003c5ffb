/* SPDX-License-Identifier: Apache-2.0 */

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "p2p/copy_exec.h"
#include "p2p/peer_internal.h"
#include "runtime/base/error.h"
#include "runtime/base/math.h"
#include "runtime/base/thread.h"
#include "runtime/base/wait.h"
#include "runtime/device/backend.h"
#include "runtime/device/devices.h"
#include "runtime/device/range_alloc.h"

/*
 * Staged copies. A stage has two buffers of pinned host memory. The caller uses
 * one buffer, and a thread of the stage uses the other:
 *
 * 1. Each side takes the next chunk of the moves.
 * 2. The side copies the chunk into its buffer and out to the target.
 * 3. The side repeats both steps until no chunk is left.
 *
 * So one buffer fills while the other empties. The caller waits for the thread
 * only at the end. If the thread gets no core, the caller copies all chunks
 * itself. A chunk can hold many small moves, or a part of a large move. A copy
 * uses one stage alone. There are at most STAGES stages.
 *
 * Chunk sizes: CPU threads are fastest if a chunk stays in a core's cache. Copy
 * engines lose time with each start. The sizes were measured by `peal bench
 * transfers --route staged` on an AMD EPYC with two cores, 2026-11-26.
 */

#define STAGES 4
#define CHUNK_THREADS ((uint64_t)128 << 10) /* of emulated devices */
#define CHUNK_ENGINES ((uint64_t)1 << 20) /* of all others */
#define PIECES 64 /* most pieces of a chunk */
#define ALONE 2 /* up to so many chunks the caller copies alone */
/* Wait for a stage between two checks for a cancellation, in ns. */
#define LOOK_NS 10000000

/** The position in the moves. */
struct cursor {
	uint32_t i;
	uint64_t at; /* taken bytes of move i */
};

/** The pieces of moves that pass a buffer together. */
struct chunk {
	struct peali_copy_op piece[PIECES];
	uint32_t n;
	uint64_t bytes;
};

struct peali_staging {
	struct peali_peers *peers;
	struct peali_staging *next; /* next stage of the pool */
	int taken; /* 1: a copy uses the stage; the pool's lock */
	struct peali_memory memory;
	uint64_t bytes; /* bytes of each buffer; 0: no buffers yet */
	uint64_t buffer[2]; /* host pointers: the caller's, the thread's */
	pthread_t thread;
	int has_thread;
	pthread_mutex_t lock; /* protects all fields below */
	pthread_cond_t changed;
	int job, quit; /* 1: the thread must start the job; must end */
	int busy; /* 1: the thread works at the job */
	const struct peali_copy_op *moves;
	uint32_t n;
	uint64_t chunk_bytes;
	struct cursor cursor;
	struct peali_copy_job *copy;
	int result; /* result of the job; negative: no more chunks are taken */
	struct peal_error_info failed; /* the first error */
};

struct peali_staging_pool {
	pthread_mutex_t lock;
	pthread_cond_t freed;
	struct peali_staging *first;
	uint32_t n;
};

/* ---- chunks -------------------------------------------------------------- */

/* Takes the next pieces, at most `max_bytes` bytes. 0 bytes: no moves are left. */
static void pack(const struct peali_copy_op *moves, uint32_t n,
		 uint64_t max_bytes, struct cursor *cursor, struct chunk *out)
{
	struct peali_copy_op *piece;
	uint64_t bytes;

	out->n = 0;
	out->bytes = 0;
	while (cursor->i < n && out->n < PIECES && out->bytes < max_bytes) {
		bytes = moves[cursor->i].bytes - cursor->at;
		if (bytes > max_bytes - out->bytes)
			bytes = max_bytes - out->bytes;
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

/*
 * Copies a chunk into the buffer (`in`) or out of it. The backend of the device
 * executes the copy, or the first backend between host places.
 */
static int hop(const struct peali_staging *stage, const struct chunk *chunk,
	       uint64_t buffer, int in)
{
	const struct peali_devices *devices = stage->peers->devices;
	const struct peali_device *d;
	struct peali_copy_op moves[PIECES];
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

/* ---- caller and thread --------------------------------------------------- */

/* Takes the next chunk; 0 bytes: no chunk is left. */
static void take_chunk(struct peali_staging *s, struct chunk *chunk)
{
	pthread_mutex_lock(&s->lock);
	if (!s->result && s->cursor.i < s->n &&
	    peali_copy_job_cancelled(s->copy))
		s->result = PEAL_ECANCELED;
	chunk->bytes = 0;
	if (!s->result)
		pack(s->moves, s->n, s->chunk_bytes, &s->cursor, chunk);
	pthread_mutex_unlock(&s->lock);
}

static void end_chunk(struct peali_staging *s, const struct chunk *chunk, int r)
{
	pthread_mutex_lock(&s->lock);
	if (!r) {
		peali_copy_job_add(s->copy, chunk->bytes);
		s->copy->result.staged_bytes += chunk->bytes;
		s->copy->result.chunks++;
	} else if (!s->failed.code) {
		s->result = r;
		s->failed = *peal_last_error();
	}
	pthread_mutex_unlock(&s->lock);
}

static void stage_chunks(struct peali_staging *s, uint64_t buffer)
{
	struct chunk chunk;
	int r;

	for (;;) {
		take_chunk(s, &chunk);
		if (!chunk.bytes)
			return;
		r = hop(s, &chunk, buffer, 1);
		if (!r)
			r = hop(s, &chunk, buffer, 0);
		end_chunk(s, &chunk, r);
	}
}

static void *stage_main(void *argument)
{
	struct peali_staging *s = argument;

	pthread_setname_np(pthread_self(), "peal-stage");
	pthread_mutex_lock(&s->lock);
	while (!s->quit) {
		if (!s->job) {
			pthread_cond_wait(&s->changed, &s->lock);
			continue;
		}
		s->job = 0;
		s->busy = 1;
		pthread_mutex_unlock(&s->lock);
		stage_chunks(s, s->buffer[1]);
		pthread_mutex_lock(&s->lock);
		s->busy = 0;
		pthread_cond_broadcast(&s->changed);
	}
	pthread_mutex_unlock(&s->lock);
	return NULL;
}

static int need_thread(struct peali_staging *s, const char *call)
{
	int error;

	if (s->has_thread)
		return 0;
	error = peali_thread_start(&s->thread, stage_main, s);
	if (error)
		return peali_fail_system(error, call,
					 "no thread for a staged copy");
	s->has_thread = 1;
	return 0;
}

static int stage_job(struct peali_staging *s, const struct peali_copy_op *moves,
		     uint32_t n, uint64_t chunk_bytes,
		     struct peali_copy_job *copy, int with_thread)
{
	pthread_mutex_lock(&s->lock);
	s->moves = moves;
	s->n = n;
	s->chunk_bytes = chunk_bytes;
	s->copy = copy;
	s->result = 0;
	memset(&s->cursor, 0, sizeof(s->cursor));
	memset(&s->failed, 0, sizeof(s->failed));
	s->job = with_thread;
	pthread_cond_broadcast(&s->changed);
	pthread_mutex_unlock(&s->lock);
	stage_chunks(s, s->buffer[0]);
	pthread_mutex_lock(&s->lock);
	s->job = 0; /* the thread need not start any more */
	while (s->busy)
		pthread_cond_wait(&s->changed, &s->lock);
	pthread_mutex_unlock(&s->lock);
	if (s->failed.code)
		return peali_fail_driver(s->result, s->failed.driver_code,
					 copy->call, "%s", s->failed.text);
	return s->result;
}

/* ---- the pool ------------------------------------------------------------ */

/* Returns the pool of a runtime. The first staged copy makes the pool. */
static struct peali_staging_pool *pool_of(struct peali_peers *peers)
{
	struct peali_staging_pool *pool;

	pthread_mutex_lock(&peers->lock);
	if (!peers->stages) {
		peers->stages = calloc(1, sizeof(*peers->stages));
		if (peers->stages) {
			pthread_mutex_init(&peers->stages->lock, NULL);
			peali_cond_init(&peers->stages->freed);
		}
	}
	pool = peers->stages;
	pthread_mutex_unlock(&peers->lock);
	return pool;
}

/* Adds a stage, at most STAGES. The caller holds pool->lock. */
static struct peali_staging *add_stage(struct peali_peers *peers,
				       struct peali_staging_pool *pool)
{
	struct peali_staging *s;

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

/*
 * Returns a free stage. If all STAGES are in use, waits until one is free or
 * the job is cancelled. NULL: the job is cancelled, or there is no memory.
 */
static struct peali_staging *take(struct peali_peers *peers,
				  struct peali_staging_pool *pool,
				  const struct peali_copy_job *copy)
{
	struct peali_staging *s;
	struct timespec until;

	pthread_mutex_lock(&pool->lock);
	for (;;) {
		for (s = pool->first; s && s->taken; s = s->next)
			;
		if (!s)
			s = add_stage(peers, pool);
		if (s || !pool->first || peali_copy_job_cancelled(copy))
			break;
		clock_gettime(CLOCK_MONOTONIC, &until);
		until.tv_nsec += LOOK_NS;
		until.tv_sec += until.tv_nsec / 1000000000;
		until.tv_nsec %= 1000000000;
		pthread_cond_timedwait(&pool->freed, &pool->lock, &until);
	}
	if (s)
		s->taken = 1;
	pthread_mutex_unlock(&pool->lock);
	return s;
}

static void give(struct peali_staging_pool *pool, struct peali_staging *s)
{
	pthread_mutex_lock(&pool->lock);
	s->taken = 0;
	pthread_cond_signal(&pool->freed);
	pthread_mutex_unlock(&pool->lock);
}

static void free_buffers(struct peali_staging *s)
{
	if (s->bytes)
		peali_devices_free(s->peers->devices, PEALI_HOST, &s->memory);
	s->bytes = 0;
}

/* Ensures two buffers of at least `bytes` bytes each. */
static int need_buffers(struct peali_staging *s, uint64_t bytes,
			const char *call)
{
	struct peal_error_info failed;
	const struct peali_devices *devices = s->peers->devices;
	int r;

	bytes = peali_round_up(bytes, PEALI_SUBALLOC_PAGE);
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

/* Returns the default bytes of a chunk. */
static uint64_t chunk_of(const struct peali_devices *devices,
			 const struct peali_copy_op *move)
{
	const int device[2] = { move->to.device, move->from.device };
	int i;

	for (i = 0; i < 2; i++)
		if (device[i] != PEALI_HOST &&
		    !peali_backend_is_host(devices->device[device[i]].backend))
			return CHUNK_ENGINES;
	return CHUNK_THREADS;
}

int peali_copy_staged(struct peali_peers *peers,
		      const struct peali_copy_op *moves, uint32_t n,
		      struct peali_copy_job *copy)
{
	struct peali_staging_pool *pool = pool_of(peers);
	struct peali_staging *s = pool ? take(peers, pool, copy) : NULL;
	uint64_t bytes = 0, chunk = copy->chunk_bytes;
	int alone, r;
	uint32_t i;

	if (!s && peali_copy_job_cancelled(copy))
		return PEAL_ECANCELED;
	if (!s)
		return peali_fail(PEAL_ENOMEM, copy->call,
				  "no host memory to stage a copy");
	if (!chunk)
		chunk = chunk_of(peers->devices, moves);
	for (i = 0; i < n; i++)
		bytes += moves[i].bytes;
	alone = bytes <= ALONE * chunk;
	r = need_buffers(s, chunk, copy->call);
	if (!r && !alone)
		r = need_thread(s, copy->call);
	if (!r)
		r = stage_job(s, moves, n, chunk, copy, !alone);
	give(pool, s);
	return r;
}

void peali_staging_close(struct peali_peers *peers)
{
	struct peali_staging_pool *pool = peers->stages;
	struct peali_staging *s;

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
