/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Barriers across devices: allocates their memory, joins workers, and arrives
 * and waits for host participants. peal/abi/barrier.h explains the algorithm.
 */
#include <stdlib.h>
#include <string.h>

#include <peal/barrier.h>
#include <peal/device/impl/queue/barrier_signal.h>
#include "runtime/collective/barrier.h"
#include "p2p/peer.h"
#include "p2p/probe.h"
#include "runtime/base/error.h"
#include "runtime/base/refusal.h"
#include "runtime/base/text.h"
#include "runtime/base/wait.h"
#include "runtime/device/backend.h"
#include "runtime/device/devices.h"
#include "runtime/device/memory_block.h"
#include "runtime/kernel/kernel_control.h"
#include "runtime/kernel/counters.h"
#include "runtime/kernel/kernel.h"
#include "runtime/runtime.h"

#define CALL "peal_barrier_create"

/** One participant. */
struct participant {
	int device; /* PEALI_HOST: the host */
	struct peal_kernel *kernel; /* NULL: no worker yet, or the host */
	uint32_t worker;
	struct peali_block array; /* words that this participant polls */
	struct peali_block own; /* addresses of all arrays, then the state */
	struct peal_barrier_view view; /* of a host participant */
	struct peal_bell *bell; /* of a host participant */
};

struct peal_barrier {
	struct peal_runtime *rt;
	struct peal_barrier *next;
	uint32_t n;
	struct participant *participants;
	struct peali_block shared; /* abort word, observer's array, bells */
	uint64_t *abort; /* host view */
	uint64_t *bells; /* host view: one address per participant */
	int peers; /* 1: arrays in device memory, peer access is held */
	int *devices;
	uint32_t n_devices;
};

struct peal_barrier *peali_barrier_next(struct peal_barrier *b)
{
	return b->next;
}

static uint64_t array_bytes(const struct peal_barrier *b)
{
	return b->n * sizeof(struct peal_barrier_word);
}

/* ---- memory -------------------------------------------------------------- */

/* Returns 1 if every device can write to the memory of every other device. */
static int all_peers(struct peal_barrier *b)
{
	struct peal_pair_info pair;
	uint32_t i, j;

	for (i = 0; i < b->n_devices; i++)
		for (j = 0; j < b->n_devices; j++)
			if (i != j &&
			    (peali_probe_verify(b->rt->peers, b->devices[i],
						b->devices[j], &pair) ||
			     pair.route != PEAL_ROUTE_PEER))
				return 0;
	return 1;
}

/*
 * Holds or releases peer access for the first n ordered pairs of devices.
 * Returns 0, or an error without any pair held.
 */
static int hold_pairs(struct peal_barrier *b, uint32_t n, int hold)
{
	uint32_t i, j, count = 0;

	for (i = 0; i < b->n_devices; i++)
		for (j = 0; j < b->n_devices; j++) {
			int result = 0;

			if (i == j || count == n)
				continue;
			if (hold)
				result = peali_peer_hold(b->rt->peers,
							 b->devices[i],
							 b->devices[j]);
			else
				peali_peer_release(b->rt->peers, b->devices[i],
						   b->devices[j]);
			if (result) {
				hold_pairs(b, count, 0);
				return result;
			}
			count++;
		}
	return 0;
}

static uint32_t n_pairs(const struct peal_barrier *b)
{
	return b->n_devices * (b->n_devices - 1);
}

/* Allocates the shared memory: abort word, observer's array, bells. */
static int make_shared(struct peal_barrier *b)
{
	uint64_t bytes =
		PEAL_SHARED_LINE + array_bytes(b) + b->n * sizeof(uint64_t);
	uint8_t *at;
	int result = peali_block_alloc(b->rt, PEALI_HOST, bytes, &b->shared);

	if (result)
		return result;
	at = (uint8_t *)(uintptr_t)peali_block_view(b->rt, PEALI_HOST,
						    &b->shared);
	b->abort = (uint64_t *)(void *)at;
	b->bells = (uint64_t *)(void *)(at + PEAL_SHARED_LINE + array_bytes(b));
	return 0;
}

/* Allocates each participant's array, and its table of all arrays. */
static int make_arrays(struct peal_barrier *b)
{
	uint64_t own =
		b->n * sizeof(uint64_t) + sizeof(struct peal_barrier_state);
	uint32_t i;
	int result = 0;

	for (i = 0; i < b->n && !result; i++) {
		struct participant *p = &b->participants[i];

		result = peali_block_alloc(b->rt,
					   b->peers ? p->device : PEALI_HOST,
					   array_bytes(b), &p->array);
		if (!result)
			result = peali_block_alloc(b->rt, p->device, own,
						   &p->own);
	}
	return result;
}

/* Writes participant i's table and fills its view. */
static int make_view(struct peal_barrier *b, uint32_t i,
		     struct peal_barrier_view *view)
{
	struct participant *p = &b->participants[i];
	uint64_t table[PEAL_BARRIER_PARTICIPANTS_MAX];
	uint64_t shared = peali_block_view(b->rt, p->device, &b->shared);
	uint32_t j;

	for (j = 0; j < b->n; j++)
		table[j] = peali_block_view(b->rt, p->device,
					    &b->participants[j].array);
	memset(view, 0, sizeof(*view));
	view->arrays = peali_block_view(b->rt, p->device, &p->own);
	view->state = view->arrays + b->n * sizeof(uint64_t);
	view->abort = shared;
	view->observer = shared + PEAL_SHARED_LINE;
	if (peali_devices_ring(&b->rt->devices, p->device))
		view->bells = shared + PEAL_SHARED_LINE + array_bytes(b);
	view->participants = b->n;
	view->self = i;
	return peali_block_write(b->rt, &p->own, 0, table,
				 b->n * sizeof(uint64_t));
}

/* ---- create, destroy ----------------------------------------------------- */

static void free_barrier(struct peal_barrier *b)
{
	uint32_t i;

	for (i = 0; b->participants && i < b->n; i++) {
		peali_block_free(b->rt, &b->participants[i].array);
		peali_block_free(b->rt, &b->participants[i].own);
		free(b->participants[i].bell);
	}
	peali_block_free(b->rt, &b->shared);
	if (b->peers)
		hold_pairs(b, n_pairs(b), 0);
	free(b->participants);
	free(b->devices);
	free(b);
}

/* Makes the views and bells of the host participants. */
static int make_host_participants(struct peal_barrier *b)
{
	uint32_t i;
	int result = 0;

	for (i = 0; i < b->n && !result; i++) {
		struct participant *p = &b->participants[i];

		if (p->device != PEALI_HOST)
			continue;
		if (posix_memalign((void **)&p->bell, PEAL_SHARED_LINE,
				   sizeof(*p->bell))) {
			p->bell = NULL;
			return peali_fail(PEAL_ENOMEM, CALL,
					  "no memory for a bell");
		}
		memset(p->bell, 0, sizeof(*p->bell));
		b->bells[i] = (uint64_t)(uintptr_t)p->bell;
		result = make_view(b, i, &p->view);
	}
	return result;
}

/* Checks that the barrier has at most PEAL_BARRIER_PARTICIPANTS_MAX
 * participants, and at least one of each device. */
static int check_numbers(uint32_t n_devices, uint32_t per_device, uint32_t host)
{
	const uint32_t most = PEAL_BARRIER_PARTICIPANTS_MAX;
	uint32_t of_devices = n_devices * per_device;

	if (!n_devices || n_devices > most)
		return peali_refuse_range(CALL, "argument", "n_devices",
					  n_devices, 1, most);
	if (!per_device || per_device > most / n_devices)
		return peali_refuse_range(CALL, "argument",
					  "participants_per_device", per_device,
					  1, most / n_devices);
	if (host > most - of_devices)
		return peali_refuse_option(CALL, "host_participants", host, 0,
					   most - of_devices);
	return 0;
}

static int check_arguments(struct peal_runtime *rt, const int *devices,
			   uint32_t n_devices, uint32_t per_device,
			   uint32_t host)
{
	uint32_t i, j;
	int result = check_numbers(n_devices, per_device, host);

	if (result)
		return result;
	for (i = 0; i < n_devices; i++) {
		result = peali_devices_check(&rt->devices, devices[i], CALL);
		if (result)
			return result;
		for (j = 0; j < i; j++)
			if (devices[i] == devices[j])
				return PEALI_REFUSE(
					PEAL_EINVAL, CALL,
					.object = PEALI_PRINT("device %d",
							      devices[i]),
					.problem = "is listed twice",
					.value = "2 times", .allowed = "1",
					.remedy = "list it once");
	}
	return 0;
}

static struct peal_barrier *new_barrier(struct peal_runtime *rt,
					const int *devices, uint32_t n_devices,
					uint32_t per_device, uint32_t host)
{
	struct peal_barrier *b = calloc(1, sizeof(*b));
	uint32_t i;

	if (!b)
		return NULL;
	b->rt = rt;
	b->n_devices = n_devices;
	b->n = n_devices * per_device + host;
	b->devices = calloc(n_devices, sizeof(*b->devices));
	b->participants = calloc(b->n, sizeof(*b->participants));
	if (!b->devices || !b->participants) {
		free_barrier(b);
		return NULL;
	}
	memcpy(b->devices, devices, n_devices * sizeof(*devices));
	for (i = 0; i < b->n; i++)
		b->participants[i].device = i < n_devices * per_device ?
						    devices[i / per_device] :
						    PEALI_HOST;
	return b;
}

/* Chooses the memory of the arrays, and allocates all memory. */
static int build(struct peal_barrier *b, uint32_t host)
{
	int result = 0;

	/*
	 * The host cannot access device memory. With host participants all
	 * arrays lie in host memory.
	 */
	if (!host && all_peers(b)) {
		result = hold_pairs(b, n_pairs(b), 1);
		b->peers = !result;
	}
	if (!result)
		result = make_shared(b);
	if (!result)
		result = make_arrays(b);
	if (!result)
		result = make_host_participants(b);
	return result;
}

int peal_barrier_create(struct peal_runtime *rt, const int *devices,
			uint32_t n_devices, uint32_t participants_per_device,
			const struct peal_barrier_options *options,
			struct peal_barrier **barrier_out)
{
	struct peal_barrier_options o;
	struct peal_barrier *b;
	int result;

	if (!rt || !devices || !barrier_out)
		return peali_refuse_null(CALL,
					 "runtime, devices or barrier_out");
	if (peali_foreign(&rt->owner, CALL))
		return PEAL_EFORKED;
	result = peali_options_copy(&o, sizeof(o), options, CALL);
	if (!result)
		result = check_arguments(rt, devices, n_devices,
					 participants_per_device,
					 o.host_participants);
	if (result)
		return result;
	b = new_barrier(rt, devices, n_devices, participants_per_device,
			o.host_participants);
	if (!b)
		return peali_fail(PEAL_ENOMEM, CALL, "no memory for a barrier");
	pthread_mutex_lock(&rt->lock);
	result = build(b, o.host_participants);
	if (!result) {
		b->next = rt->barriers;
		rt->barriers = b;
	}
	pthread_mutex_unlock(&rt->lock);
	if (result)
		free_barrier(b);
	else
		*barrier_out = b;
	return peali_fail_in(result, "peal_barrier_create");
}

int peal_barrier_destroy(struct peal_barrier *b)
{
	struct peal_barrier **p;
	struct peal_runtime *rt;
	int result = 0;
	uint32_t i;

	if (!b)
		return 0;
	if (peali_foreign(&b->rt->owner, "peal_barrier_destroy"))
		return PEAL_EFORKED;
	rt = b->rt;
	pthread_mutex_lock(&rt->lock);
	for (i = 0; i < b->n && !result; i++)
		if (b->participants[i].kernel &&
		    !peali_kernel_ended(b->participants[i].kernel))
			result = peali_fail(PEAL_EBUSY, "peal_barrier_destroy",
					    "kernel '%s' has joined and "
					    "still runs",
					    b->participants[i].kernel->name);
	if (!result) {
		for (p = &rt->barriers; *p != b; p = &(*p)->next)
			;
		*p = b->next;
		for (i = 0; i < b->n; i++)
			if (b->participants[i].kernel)
				b->participants[i].kernel->n_barrier_joins--;
	}
	pthread_mutex_unlock(&rt->lock);
	if (!result)
		free_barrier(b);
	return result;
}

/* ---- join ---------------------------------------------------------------- */

/*
 * Returns the index of a free place on the kernel's device, or an error. The
 * caller holds rt->lock.
 */
static int find_place(const struct peal_barrier *b, const struct peal_kernel *k,
		      uint32_t worker)
{
	int place = -1, seen = 0;
	uint32_t i;

	if (worker >= k->params.n_workers)
		return peali_refuse_index("peal_barrier_join", "kernel",
					  k->name, "worker", worker,
					  k->params.n_workers, NULL);
	for (i = 0; i < b->n; i++) {
		const struct participant *p = &b->participants[i];

		if (p->kernel == k && p->worker == worker)
			return peali_fail(PEAL_EALREADY, "peal_barrier_join",
					  "worker %u of kernel '%s' has joined",
					  worker, k->name);
		if (p->device != k->device)
			continue;
		seen = 1;
		if (!p->kernel && place < 0)
			place = (int)i;
	}
	if (place >= 0)
		return place;
	if (seen)
		return peali_fail(PEAL_ENOSPC, "peal_barrier_join",
				  "all participants of device %d have joined",
				  k->device);
	return peali_fail(PEAL_ENOENT, "peal_barrier_join",
			  "the barrier is not for device %d", k->device);
}

static int join(struct peal_barrier *b, struct peal_kernel *k, uint32_t worker)
{
	int place = find_place(b, k, worker);
	struct peal_barrier_view view;
	struct participant *p;
	int result;

	if (place < 0)
		return place;
	if (k->workers[worker].n_barriers >= k->params.max_barriers)
		return PEALI_REFUSE(PEAL_ENOSPC, "peal_barrier_join",
				    .object = PEALI_PRINT("worker %u of kernel",
							  worker),
				    .name = k->name,
				    .problem = "has joined too many barriers",
				    .number = k->workers[worker].n_barriers + 1,
				    .most = k->params.max_barriers,
				    .remedy = "raise max_barriers");
	result = make_view(b, (uint32_t)place, &view);
	if (result)
		return result;
	view.index = k->workers[worker].n_barriers;
	peal_store_relaxed_sys(&b->bells[place], peali_kernel_bell(k, worker));
	result = peali_kernel_tell(k, worker, PEAL_CONTROL_BARRIER, &view,
				   sizeof(view), "peal_barrier_join");
	if (result)
		return result;
	p = &b->participants[place];
	p->kernel = k;
	p->worker = worker;
	k->workers[worker].n_barriers++;
	k->n_barrier_joins++;
	return (int)view.index;
}

int peal_barrier_join(struct peal_barrier *b, struct peal_kernel *k,
		      uint32_t worker)
{
	int result;

	if (!b || !k || b->rt != k->rt)
		return peali_fail(PEAL_EINVAL, "peal_barrier_join",
				  "an argument is NULL, or the kernel is of "
				  "another runtime");
	if (peali_foreign(&b->rt->owner, "peal_barrier_join"))
		return PEAL_EFORKED;
	pthread_mutex_lock(&b->rt->lock);
	result = join(b, k, worker);
	pthread_mutex_unlock(&b->rt->lock);
	return result;
}

/* ---- host participants --------------------------------------------------- */

static int host_participant(struct peal_barrier *b, uint32_t number,
			    const char *call, struct participant **out)
{
	uint32_t i, seen = 0;

	if (!b)
		return peali_refuse_null(call, "barrier");
	if (peali_forked(&b->rt->owner, call))
		return PEAL_EFORKED;
	for (i = 0; i < b->n; i++)
		if (b->participants[i].device == PEALI_HOST &&
		    seen++ == number) {
			*out = &b->participants[i];
			return 0;
		}
	return peali_refuse_index(call, "barrier", NULL, "host participant",
				  number, seen,
				  "create the barrier with host_participants");
}

int peal_barrier_arrive(struct peal_barrier *b, uint32_t participant)
{
	struct participant *p = NULL;
	int result =
		host_participant(b, participant, "peal_barrier_arrive", &p);

	if (result)
		return result;
	if (peal_load_relaxed_sys(b->abort))
		return peali_fail(PEAL_EABORTED, "peal_barrier_arrive",
				  "the barrier was aborted");
	peal_barrier_signal(&p->view);
	return 0;
}

int peal_barrier_wait(struct peal_barrier *b, uint32_t participant,
		      int64_t timeout_ns)
{
	uint64_t deadline = peali_deadline(timeout_ns), began = 0;
	struct participant *p = NULL;
	int result = host_participant(b, participant, "peal_barrier_wait", &p);

	if (result)
		return result;
	for (;;) {
		result = peal_barrier_test(&p->view);
		if (result != PEAL_EAGAIN)
			break;
		if (!began && timeout_ns)
			began = peali_now_ns();
		if (peali_late(deadline)) {
			result = PEAL_ETIMEDOUT;
			break;
		}
		p->bell->max_sleep_us = PEALI_SILENT_US;
		peal_host_idle(p->bell, 1);
	}
	peal_bell_reset(p->bell);
	if (began)
		peali_counters_waited(b->rt, PEAL_WAIT_BARRIER, began);
	if (result == PEAL_ETIMEDOUT)
		return peali_fail(result, "peal_barrier_wait",
				  "not all %u participants arrived in time",
				  b->n);
	if (result == PEAL_EABORTED)
		return peali_fail(result, "peal_barrier_wait",
				  "the barrier was aborted");
	if (result)
		return peali_fail(result, "peal_barrier_wait",
				  "host participant %u has not arrived",
				  participant);
	return 0;
}

int peal_barrier_abort(struct peal_barrier *b)
{
	uint32_t i;

	if (!b)
		return peali_refuse_null("peal_barrier_abort", "barrier");
	if (peali_forked(&b->rt->owner, "peal_barrier_abort"))
		return PEAL_EFORKED;
	peal_store_release_sys(b->abort, 1);
	for (i = 0; i < b->n; i++)
		peal_bell_ring(peal_load_relaxed_sys(&b->bells[i]));
	return 0;
}

int peal_barrier_info(struct peal_barrier *b,
		      struct peal_barrier_info *info_out)
{
	uint64_t observer, least = UINT64_MAX;
	uint32_t i, ahead = 0;

	if (!b || !info_out)
		return peali_refuse_null("peal_barrier_info",
					 "barrier or info_out");
	if (peali_foreign(&b->rt->owner, "peal_barrier_info"))
		return PEAL_EFORKED;
	memset(info_out, 0, sizeof(*info_out));
	observer = (uint64_t)(uintptr_t)b->abort + PEAL_SHARED_LINE;
	for (i = 0; i < b->n; i++) {
		uint64_t at =
			peal_load_relaxed_sys(peali_barrier_word(observer, i));

		if (at < least) {
			least = at;
			ahead = i; /* the i before it are ahead of it */
		} else if (at > least) {
			ahead++;
		}
		info_out->joined += b->participants[i].kernel != NULL;
	}
	info_out->participants = b->n;
	info_out->generation = least;
	info_out->arrived = ahead;
	info_out->aborted = peal_load_relaxed_sys(b->abort) != 0;
	return 0;
}
