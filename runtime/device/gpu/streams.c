/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/base/error.h"
#include "runtime/base/log.h"
#include "runtime/base/wait.h"
#include "runtime/device/gpu/gpu.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include <peal/abi/probe.h>
#include <peal/device/atomic.h>
#include <peal/device/impl/base/host_support.h>

/*
 * The test of a device's streams, before its first kernel. Two streams may share
 * a hardware queue, whatever the driver's variables say. The kernel of the
 * second stream would then wait for the end of the first kernel for ever.
 *
 * The test starts a kernel on each stream, until all of them run together. While
 * they run, a copy has to end. If a kernel does not start, its stream is
 * destroyed.
 *
 * The kernels are readers of the probe (peal/abi/probe.h). Each finds a first
 * ping. Its answer reports the start. Then it waits for another ping of the host.
 * It ends by itself at its time limit.
 */

#define CALL "launch"
#define STREAMS (PEALI_GPU_PARTS_MAX * PEALI_GPU_STREAMS)
/* Time for all kernels and the copy, and for a kernel after its queue is free */
#define START_NS 1000000000
#define NEXT_NS 100000000
#define LIMIT_NS 10000000000u /* after which a kernel ends by itself */
#define SLACK_NS 5000000000
#define POLL_NS 50000
#define TRIES 2 /* a busy machine may delay a kernel once */
#define COPY_BYTES 64
#define FIRST_PING 1

/** Memory of a test kernel, pinned. */
struct cell {
	struct peal_probe_params job;
	struct peal_probe_words words;
	struct peal_bell bell;
	uint64_t ping, pong, scratch[2];
	uint8_t end_reserved[PEAL_SHARED_LINE - 32];
};

/** A stream of the device or of one of its parts. */
struct member {
	int device, index;
	struct cell *cell;
	uint64_t view; /* of the cell, for the device */
	int launched, released, aliased;
	int partner; /* the stream that it waits for; -1: not known */
};

struct trial {
	struct peali_gpu *gpu;
	int first, n; /* part 0 of the device; streams */
	struct member member[STREAMS];
	struct peali_memory cells, target;
	struct peali_gpu_program *program;
	int copying; /* 1: a copy has not ended */
};

/* ---- kernels and a copy -------------------------------------------------- */

/* Fills the job of a kernel: it answers the first ping, and waits for another. */
static void fill(struct member *member)
{
	struct cell *cell = member->cell;
	struct peal_probe_params *p = &cell->job;

	memset(cell, 0, sizeof(*cell));
	p->magic = PEAL_PROBE_MAGIC;
	p->job = PEAL_PROBE_LATENCY;
	p->role = PEAL_PROBE_READER;
	p->words = member->view + offsetof(struct cell, words);
	p->area = member->view + offsetof(struct cell, ping) -
		  PEAL_PROBE_PING_OFFSET;
	p->pong = member->view + offsetof(struct cell, pong);
	p->scratch = member->view + offsetof(struct cell, scratch);
	p->bell = p->partner_bell = member->view + offsetof(struct cell, bell);
	p->batch = p->lanes = 1;
	p->limit_ns = LIMIT_NS;
	cell->ping = FIRST_PING;
	member->launched = member->released = 0;
}

static void *stream_of(const struct trial *t, const struct member *member)
{
	return t->gpu->device[member->device].stream[member->index];
}

static int start(struct trial *t, struct member *member)
{
	uint64_t params = member->view;
	void *argument[] = { &params };
	int error;

	fill(member);
	error = t->gpu->driver.launch(t->program->function, 1, 1, 1, 1, 1, 1, 0,
				      stream_of(t, member), argument, NULL);
	member->launched = !error;
	return peali_gpu_fail(t->gpu, member->device, error,
			      PEALI_GPU_SYMBOL(t->gpu, launch), CALL,
			      "the test of stream %d", member->index);
}

static int has_started(const struct member *member)
{
	return peal_load_acquire_sys(&member->cell->pong) == FIRST_PING;
}

/* Lets a kernel end. */
static void release(struct member *member)
{
	member->released = 1;
	peal_store_release_sys(&member->cell->ping, PEAL_PROBE_GAVE_UP);
	peal_bell_ring((uintptr_t)&member->cell->bell);
}

static int start_copy(struct trial *t)
{
	struct peali_gpu *gpu = t->gpu;
	uint64_t zero = gpu->host_device + (uint64_t)(gpu->zero - gpu->host);
	int error = gpu->driver.transfer(
		&gpu->driver, gpu->device[t->first].base + t->target.offset,
		zero, COPY_BYTES, gpu->device[t->first].copy_stream);

	t->copying = !error;
	return peali_gpu_fail(gpu, t->first, error, "a copy", CALL,
			      "the test of the stream for copies");
}

/* Returns 1 if the work of a stream has ended, 0 if not, or an error code. */
static int has_ended(struct trial *t, void *stream)
{
	int error = t->gpu->driver.stream_query(stream);

	if (error == PEALI_GPU_NOT_READY)
		return 0;
	error = peali_gpu_fail(t->gpu, t->first, error,
			       PEALI_GPU_SYMBOL(t->gpu, stream_query), CALL,
			       "the test of the streams");
	return error < 0 ? error : 1;
}

/* ---- waits --------------------------------------------------------------- */

/* Pauses between two polls: the driver is asked seldom. */
static void pause_poll(void)
{
	const struct timespec nap = { 0, POLL_NS };

	nanosleep(&nap, NULL);
}

static int n_waiting(struct trial *t)
{
	int i, n = 0;

	for (i = 0; i < t->n; i++)
		n += t->member[i].launched && !has_started(&t->member[i]);
	return n;
}

/* Waits until fewer than `n` kernels wait, and for the copy if `copy` is 1. */
static int await(struct trial *t, int n, int copy, int64_t most_ns)
{
	void *stream = t->gpu->device[t->first].copy_stream;
	uint64_t deadline = peali_deadline(most_ns);
	int r = 0;

	for (;;) {
		if (t->copying && (copy || n_waiting(t) < n))
			r = has_ended(t, stream);
		if (r < 0)
			return r;
		t->copying &= !r;
		if (n_waiting(t) < n && !(copy && t->copying))
			return 0;
		if (peali_late(deadline))
			return 0;
		pause_poll();
	}
}

/* Ends all kernels, and waits for them. */
static int finish(struct trial *t)
{
	uint64_t deadline = peali_deadline(LIMIT_NS + SLACK_NS);
	int i, r = 0, ended = 0;

	for (i = 0; i < t->n; i++)
		if (t->member[i].launched)
			release(&t->member[i]);
	for (i = 0; i < t->n; i++) {
		for (ended = !t->member[i].launched; !ended;) {
			ended = has_ended(t, stream_of(t, &t->member[i]));
			if (!ended && peali_late(deadline))
				return peali_fail(PEAL_EHUNG, CALL,
						  "a kernel of the test of the "
						  "streams does not end");
			if (!ended)
				pause_poll();
		}
		t->member[i].launched = 0;
		r = ended < 0 ? ended : r;
	}
	return t->copying && !r ? await(t, STREAMS, 1, SLACK_NS) : r;
}

/* ---- the test ------------------------------------------------------------ */

/*
 * Finds the stream that each waiting stream shares a queue with: ends the
 * running kernels one after the other. A stream with the queue of the copies is
 * aliased itself.
 */
static int find_partners(struct trial *t)
{
	int i, j, r = 0, waiting, copying;

	for (i = 0; i < t->n; i++)
		t->member[i].aliased = !has_started(&t->member[i]);
	for (i = 0; !r && i < t->n && (n_waiting(t) || t->copying); i++) {
		if (t->member[i].aliased)
			continue;
		waiting = n_waiting(t);
		copying = t->copying;
		release(&t->member[i]);
		r = await(t, waiting ? waiting : 1, !waiting, NEXT_NS);
		t->member[i].aliased = copying && !t->copying;
		for (j = 0; j < t->n; j++)
			if (t->member[j].aliased && t->member[j].partner < 0 &&
			    j != i && has_started(&t->member[j]))
				t->member[j].partner = i;
	}
	return r;
}

/* Runs all kernels and a copy. Returns 1 if some of them wait. */
static int run_once(struct trial *t)
{
	int i, r = 0, f, waits;

	for (i = 0; i < t->n; i++) {
		t->member[i].aliased = 0;
		t->member[i].partner = -1;
		if (!r)
			r = start(t, &t->member[i]);
	}
	if (!r)
		r = start_copy(t);
	if (!r)
		r = await(t, 1, 1, START_NS);
	waits = !r && (n_waiting(t) || t->copying);
	if (waits)
		r = find_partners(t);
	f = finish(t);
	return r < 0 ? r : f < 0 ? f : waits;
}

/* ---- the result ---------------------------------------------------------- */

/* Logs why a stream is not used. */
static void log_alias(const struct trial *t, const struct member *member)
{
	const struct peali_gpu_vendor *vendor = t->gpu->driver.vendor;
	char other[48] = "another stream";

	if (member->partner >= 0)
		snprintf(other, sizeof(other), "stream %d",
			 t->member[member->partner].index);
	else if (has_started(member))
		snprintf(other, sizeof(other), "the stream for copies");
	peali_log(1,
		  "%s device %d: stream %d shares a hardware queue with %s, so "
		  "no kernel uses it; set %s higher",
		  vendor->name, member->device, member->index, other,
		  vendor->queues_variable);
}

/* Destroys the aliased streams of a device, from the last one on. */
static void drop(struct trial *t)
{
	struct peali_gpu_device *d;
	struct member *member;
	int i, s;

	for (i = t->n - 1; i >= 0; i--) {
		member = &t->member[i];
		if (!member->aliased)
			continue;
		log_alias(t, member);
		d = &t->gpu->device[member->device];
		t->gpu->driver.stream_destroy(d->stream[member->index]);
		for (s = member->index; s + 1 < d->n_streams; s++)
			d->stream[s] = d->stream[s + 1];
		d->stream[--d->n_streams] = NULL;
	}
}

/* Refuses a device without a stream for kernels. */
static int check_left(struct peali_gpu *gpu, int device)
{
	const struct peali_gpu_vendor *vendor = gpu->driver.vendor;

	if (gpu->device[device].n_streams)
		return 0;
	return peali_fail(PEAL_ENOSPC, CALL,
			  "%s device %d: all streams for kernels share a "
			  "hardware queue with others or with copies; set %s "
			  "higher before the process starts",
			  vendor->name, device, vendor->queues_variable);
}

/* ---- set-up -------------------------------------------------------------- */

/* Lists the streams of a device and its parts, at most as many as fit. */
static void list_streams(struct trial *t, uint32_t most)
{
	struct peali_gpu *gpu = t->gpu;
	int i, s, parts = gpu->device[t->first].parts;
	uint64_t host = t->cells.offset;
	struct member *member;

	for (i = t->first; i < t->first + parts; i++)
		for (s = 0; s < gpu->device[i].n_streams; s++) {
			if (t->n == STREAMS || (uint32_t)t->n == most)
				return;
			member = &t->member[t->n];
			memset(member, 0, sizeof(*member));
			member->device = i;
			member->index = s;
			member->cell =
				(struct cell *)(void *)(gpu->host + host) +
				t->n;
			member->view = gpu->host_device + host +
				       (uint64_t)t->n * sizeof(struct cell);
			t->n++;
		}
}

/* The caller holds gpu->lock, and the thread has entered the device. */
static int run(struct trial *t)
{
	int i, r = 1;

	for (i = 0; i < TRIES && r > 0; i++)
		r = run_once(t);
	if (r > 0)
		drop(t);
	return r < 0 ? r : 0;
}

/* Tests the device of a trial. The caller holds gpu->lock. */
static int test(struct trial *t, const struct peal_program *probe)
{
	const struct peali_launch_desc one = { .lanes = 1 };
	struct peali_gpu *gpu = t->gpu;
	struct peali_gpu_fit fit = { 0, 0 };
	void *before = NULL;
	int r = peali_gpu_program(gpu, t->first, probe, CALL, &t->program);

	if (!r)
		r = peali_gpu_fit(gpu, t->first, probe, &one, &fit);
	if (r < 0) { /* the probe's program cannot run there */
		peali_log(2, "%s", peal_last_error()->text);
		return 0;
	}
	list_streams(t, fit.blocks);
	r = peali_gpu_enter(gpu, t->first, CALL, &before);
	if (r < 0)
		return r;
	r = run(t);
	peali_gpu_leave(gpu, before);
	return r;
}

/* Takes the memory of a trial. */
static int take(struct trial *t)
{
	struct peali_backend *backend = &t->gpu->base;
	int r = peali_gpu_alloc(backend, PEALI_MEMORY_HOST, PEALI_HOST,
				STREAMS * sizeof(struct cell), &t->cells);

	if (r < 0)
		return r;
	r = peali_gpu_alloc(backend, PEALI_MEMORY_DEVICE, t->first, COPY_BYTES,
			    &t->target);
	if (r < 0)
		peali_gpu_free(backend, &t->cells);
	return r;
}

/*
 * Returns 1 if a launch has a stream of the device or of a part of it. A launch
 * that has ended keeps its stream until it is freed, so that no stream may be
 * dropped. The caller holds gpu->lock.
 */
static int has_launches(const struct peali_gpu *gpu, int first)
{
	int i, s;

	for (i = first; i < first + gpu->device[first].parts; i++)
		for (s = 0; s < gpu->device[i].n_streams; s++)
			if (gpu->device[i].resident[s])
				return 1;
	return 0;
}

static int is_tested(struct peali_gpu *gpu, int first)
{
	int tested;

	pthread_mutex_lock(&gpu->lock);
	tested = gpu->device[first].tested || has_launches(gpu, first);
	pthread_mutex_unlock(&gpu->lock);
	return tested;
}

int peali_gpu_test_streams(struct peali_backend *backend, int device,
			   const struct peal_program *probe)
{
	struct peali_gpu *gpu = peali_gpu_of(backend);
	struct trial t = { .gpu = gpu };
	int r = peali_gpu_check(gpu, device, CALL);

	if (r < 0)
		return r;
	t.first = device - gpu->device[device].part;
	if (gpu->device[device].lost || is_tested(gpu, t.first))
		return check_left(gpu, device);
	r = take(&t);
	if (r < 0)
		return r;
	pthread_mutex_lock(&gpu->lock);
	if (!has_launches(gpu, t.first)) {
		r = test(&t, probe);
		gpu->device[t.first].tested = !r;
	}
	if (r == PEAL_EHUNG) /* a kernel behind the hung one would not start */
		peali_gpu_lose(gpu, t.first, PEALI_GPU_NOT_READY,
			       PEALI_GPU_SYMBOL(gpu, stream_query));
	pthread_mutex_unlock(&gpu->lock);
	if (r != PEAL_EHUNG) {
		peali_gpu_free(backend, &t.target);
		peali_gpu_free(backend, &t.cells);
	}
	return r < 0 ? r : check_left(gpu, device);
}
