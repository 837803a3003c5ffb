/* SPDX-License-Identifier: Apache-2.0 */
#include <peal/peer.h>

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <peal/device/host.h>
#include "p2p/books.h"
#include "runtime/backend/round.h"

/*
 * A copy within one backend is that backend's; between two it goes through a
 * buffer of the host, chunk by chunk, in the background by a thread of its own.
 */

#define CHUNK ((uint64_t)1 << 20)

struct peal_copy {
	struct peali_peers *peers;
	struct peal_copy *next, *previous;
	struct peali_range to, from;
	uint64_t bytes;
	int settled; /* it has ended and lets go of memory; peers->lock */
	/* by a backend */
	const struct peali_backend_ops *ops;
	struct peali_copy *inner;
	/* through the host */
	pthread_t thread;
	int has_thread;
	atomic_int state; /* as peali_backend_ops.copy_query says it */
	atomic_int cancel;
	pthread_mutex_t waiting; /* whose turn it is to sleep on the bell */
	struct peal_bell bell;
};

/* ---- places ---------------------------------------------------------------- */

static int refuse(struct peali_place place, uint64_t bytes, const char *call)
{
	if (place.device == PEALI_HOST)
		return peali_fail(
			PEAL_EFAULT, call,
			"%llu bytes at the host pointer 0x%llx: NULL, "
			"beyond its allocation, or past the end of "
			"the address space",
			(unsigned long long)bytes,
			(unsigned long long)place.address);
	return peali_fail(PEAL_EFAULT, call,
			  "%llu bytes at 0x%llx are in no allocation that "
			  "device %d sees: give memory of peal_memory_alloc, "
			  "or what peal_peer_map gave for that device",
			  (unsigned long long)bytes,
			  (unsigned long long)place.address, place.device);
}

static int in_record(struct peali_record *record, struct peali_place place,
		     uint64_t bytes, struct peali_range *out)
{
	if (!record || !peali_range_inside(place.address, bytes,
					   record->address, record->bytes))
		return 0;
	out->place.device = record->device;
	out->place.address = place.address;
	out->record = record;
	return 1;
}

/* Memory that the device sees by a mapping: the owner's own. */
static int in_mapping(struct peali_peers *peers, struct peali_place place,
		      uint64_t bytes, struct peali_range *out)
{
	const struct peali_mapping *m =
		peali_mapping_find(peers, place.device, place.address, bytes);

	if (!m)
		return 0;
	out->place.device = m->owner;
	out->place.address = m->owner_address + (place.address - m->address);
	out->record = m->record;
	return 1;
}

/* Where a range really is. Lock held. */
static int resolve(struct peali_peers *peers, struct peali_place place,
		   uint64_t bytes, const char *call, struct peali_range *out)
{
	struct peali_record *own =
		peali_record_find(peers, place.device, place.address);
	struct peali_record *host =
		peali_record_find(peers, PEALI_HOST, place.address);
	const struct peali_device *d;
	struct peali_memory memory;

	out->place = place;
	out->bytes = bytes;
	out->record = NULL;
	if (!bytes)
		return 0;
	if (place.address + bytes - 1 < place.address)
		return refuse(place, bytes, call);
	if (own || host) {
		if (in_record(own ? own : host, place, bytes, out))
			return 0;
		return refuse(place, bytes, call);
	}
	if (place.device == PEALI_HOST)
		return place.address ? 0 : refuse(place, bytes, call);
	if (in_mapping(peers, place, bytes, out))
		return 0;
	d = &peers->devices->device[place.device];
	if (d->backend->ops->find(d->backend, d->local, place.address, bytes,
				  &memory) < 0)
		return refuse(place, bytes, call);
	return 0;
}

/* Looks a place up and keeps what it is in. Lock held. */
static int keep_one(struct peali_peers *peers, struct peali_range *range,
		    uint64_t bytes, const char *call)
{
	int r = resolve(peers, range->place, bytes, call, range);

	if (!r && range->record)
		range->record->n_copies++;
	return r;
}

/* Lock held. */
static void let_go_of(struct peali_range *range)
{
	if (range->record)
		range->record->n_copies--;
	range->record = NULL;
	range->bytes = 0;
}

/* The same of both. Lock held. */
static void let_go(struct peali_range *to, struct peali_range *from)
{
	let_go_of(to);
	let_go_of(from);
}

/* Looks both places up and keeps what they are in. Lock held. */
static int keep(struct peali_peers *peers, struct peali_range *to,
		struct peali_range *from, uint64_t bytes, const char *call)
{
	int r = keep_one(peers, to, bytes, call);

	if (r < 0)
		return r;
	r = keep_one(peers, from, bytes, call);
	if (r < 0)
		let_go_of(to);
	return r;
}

int peali_range_keep(struct peali_peers *peers, struct peali_place place,
		     uint64_t bytes, const char *call, struct peali_range *out)
{
	int r;

	memset(out, 0, sizeof(*out));
	out->place = place;
	pthread_mutex_lock(&peers->lock);
	r = keep_one(peers, out, bytes, call);
	pthread_mutex_unlock(&peers->lock);
	return r;
}

void peali_range_let_go(struct peali_peers *peers, struct peali_range *range)
{
	pthread_mutex_lock(&peers->lock);
	let_go_of(range);
	pthread_mutex_unlock(&peers->lock);
}

static int check_devices(struct peali_peers *peers, struct peali_place to,
			 struct peali_place from, const char *call)
{
	int r = peali_devices_check_place(peers->devices, to.device, call);

	return r < 0 ? r :
		       peali_devices_check_place(peers->devices, from.device,
						 call);
}

/* Whether one backend reaches both places; host memory all do. */
static int in_one_backend(struct peali_peers *peers, int to, int from)
{
	return to == PEALI_HOST || from == PEALI_HOST ||
	       peali_devices_same_backend(peers->devices, to, from);
}

/* ---- the copy itself ------------------------------------------------------- */

/* Between backends: `cancel` is looked at before each chunk; NULL: never. */
static int through_host(struct peali_peers *peers, struct peali_place to,
			struct peali_place from, uint64_t bytes,
			atomic_int *cancel)
{
	struct peali_place stage = { PEALI_HOST, 0 };
	uint8_t *buffer = malloc(bytes < CHUNK ? bytes : CHUNK);
	uint64_t done = 0, n;
	int r = 0;

	if (!buffer)
		return peali_fail(PEAL_ENOMEM, "peal_peer_copy",
				  "no host memory to stage a copy");
	stage.address = (uintptr_t)buffer;
	while (!r && done < bytes) {
		if (cancel &&
		    atomic_load_explicit(cancel, memory_order_relaxed)) {
			r = PEAL_ECANCELED;
			break;
		}
		n = bytes - done < CHUNK ? bytes - done : CHUNK;
		r = peali_devices_copy(peers->devices, stage, from, n);
		if (!r)
			r = peali_devices_copy(peers->devices, to, stage, n);
		to.address += n;
		from.address += n;
		done += n;
	}
	free(buffer);
	return r;
}

int peali_copy_now(struct peali_peers *peers, struct peali_place to,
		   struct peali_place from, uint64_t bytes)
{
	struct peali_range target = { to, 0, NULL }, source = { from, 0, NULL };
	const char *call = "peal_peer_copy";
	int r = check_devices(peers, to, from, call);

	if (r < 0 || !bytes)
		return r;
	pthread_mutex_lock(&peers->lock);
	r = keep(peers, &target, &source, bytes, call);
	if (!r)
		peers->n_running++;
	pthread_mutex_unlock(&peers->lock);
	if (r < 0)
		return r;
	to = target.place;
	from = source.place;
	if (in_one_backend(peers, to.device, from.device))
		r = peali_devices_copy(peers->devices, to, from, bytes);
	else
		r = through_host(peers, to, from, bytes, NULL);
	pthread_mutex_lock(&peers->lock);
	let_go(&target, &source);
	peers->n_running--;
	pthread_mutex_unlock(&peers->lock);
	return r;
}

/* ---- in the background ----------------------------------------------------- */

static void *stage_main(void *argument)
{
	struct peal_copy *c = argument;
	int r;

	pthread_setname_np(pthread_self(), "peal-stage");
	r = through_host(c->peers, c->to.place, c->from.place, c->bytes,
			 &c->cancel);
	atomic_store_explicit(&c->state, r, memory_order_release);
	/* The copy outlives its thread: destroy joins it. */
	peal_bell_ring((uintptr_t)&c->bell);
	return NULL;
}

static int start_thread(struct peal_copy *c)
{
	sigset_t all, before;
	int error;

	atomic_store_explicit(&c->state, PEAL_EAGAIN, memory_order_relaxed);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	error = pthread_create(&c->thread, NULL, stage_main, c);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (error)
		return peali_fail_driver(PEAL_EDRIVER, error,
					 "peal_peer_copy_async",
					 "no thread for a copy between two "
					 "backends: %s",
					 strerror(error));
	c->has_thread = 1;
	return 0;
}

static int local_of(struct peali_peers *peers, int device)
{
	return device == PEALI_HOST ? PEALI_HOST :
				      peers->devices->device[device].local;
}

static int start(struct peal_copy *c)
{
	struct peali_peers *peers = c->peers;
	struct peali_place to = c->to.place, from = c->from.place;
	int device = to.device == PEALI_HOST ? from.device : to.device;
	struct peali_backend *backend;

	if (!in_one_backend(peers, to.device, from.device))
		return start_thread(c);
	backend = peers->devices->device[device == PEALI_HOST ? 0 : device]
			  .backend;
	to.device = local_of(peers, to.device);
	from.device = local_of(peers, from.device);
	c->ops = backend->ops;
	return backend->ops->copy_start(backend, to, from, c->bytes,
					(uintptr_t)&c->bell, &c->inner);
}

static struct peal_copy *new_copy(struct peali_peers *peers,
				  struct peali_place to,
				  struct peali_place from, uint64_t bytes)
{
	size_t size = peali_whole_lines(sizeof(struct peal_copy));
	struct peal_copy *c = aligned_alloc(PEAL_SHARED_LINE, size);

	if (!c) {
		peali_fail(PEAL_ENOMEM, "peal_peer_copy_async",
			   "no host memory for a copy");
		return NULL;
	}
	memset(c, 0, size);
	c->peers = peers;
	c->to.place = to;
	c->from.place = from;
	c->bytes = bytes;
	atomic_init(&c->state, 0);
	atomic_init(&c->cancel, 0);
	pthread_mutex_init(&c->waiting, NULL);
	return c;
}

/* Lock held. */
static void list_in(struct peal_copy *c)
{
	c->next = c->peers->copies;
	if (c->next)
		c->next->previous = c;
	c->peers->copies = c;
	c->peers->n_copies++;
}

/* Lock held. */
static void list_out(struct peal_copy *c)
{
	if (c->previous)
		c->previous->next = c->next;
	else
		c->peers->copies = c->next;
	if (c->next)
		c->next->previous = c->previous;
	c->peers->n_copies--;
}

static void drop(struct peal_copy *c)
{
	pthread_mutex_destroy(&c->waiting);
	free(c);
}

int peali_copy_begin(struct peali_peers *peers, struct peali_place to,
		     struct peali_place from, uint64_t bytes,
		     struct peal_copy **out)
{
	const char *call = "peal_peer_copy_async";
	struct peal_copy *c;
	int r = check_devices(peers, to, from, call);

	if (r < 0)
		return r;
	c = new_copy(peers, to, from, bytes);
	if (!c)
		return PEAL_ENOMEM;
	pthread_mutex_lock(&peers->lock);
	r = keep(peers, &c->to, &c->from, bytes, call);
	if (!r && bytes) {
		r = start(c);
		if (r < 0)
			let_go(&c->to, &c->from);
	}
	if (!r)
		list_in(c);
	pthread_mutex_unlock(&peers->lock);
	if (r < 0)
		drop(c);
	else
		*out = c;
	return r;
}

/* PEAL_EAGAIN while it goes on, then how it ended. */
static int query(const struct peal_copy *c)
{
	if (c->inner)
		return c->ops->copy_query(c->inner);
	return atomic_load_explicit(&c->state, memory_order_acquire);
}

/* Lock held. */
static void settle(struct peal_copy *c)
{
	if (c->settled || query(c) == PEAL_EAGAIN)
		return;
	c->settled = 1;
	let_go(&c->to, &c->from);
}

void peali_copies_settle(struct peali_peers *peers)
{
	struct peal_copy *c;

	for (c = peers->copies; c; c = c->next)
		settle(c);
}

/* ---- waiting --------------------------------------------------------------- */

/* Sleeps at most that long, and no longer than until the copy's end. */
static void sleep_by_bell(struct peal_copy *c, uint64_t most_ns)
{
	uint64_t ms = most_ns / 1000000;

	c->bell.max_sleep_us = 1000 * (ms < 1  ? 1 :
				       ms > 50 ? 50 :
						 (uint32_t)ms);
	peal_host_idle(&c->bell, 1);
}

/* The bell is another waiter's. */
static void sleep_by_time(uint64_t most_ns)
{
	struct timespec t = { 0, most_ns < 200000 ? (long)most_ns : 200000 };

	nanosleep(&t, NULL);
}

static int wait_for_end(struct peal_copy *c, int64_t timeout_ns)
{
	uint64_t began = peal_clock_ns(), spent = 0, left = UINT64_MAX;
	int owner, r;

	if (!timeout_ns)
		return query(c);
	owner = !pthread_mutex_trylock(&c->waiting);
	for (;;) {
		r = query(c);
		if (r != PEAL_EAGAIN)
			break;
		if (timeout_ns > 0) {
			spent = peal_clock_ns() - began;
			if (spent >= (uint64_t)timeout_ns)
				break;
			left = (uint64_t)timeout_ns - spent;
		}
		if (owner && left >= 1000000)
			sleep_by_bell(c, left);
		else
			sleep_by_time(left);
	}
	if (owner) {
		peal_bell_reset(&c->bell);
		pthread_mutex_unlock(&c->waiting);
	}
	return r;
}

int peal_copy_wait(struct peal_copy *copy, int64_t timeout_ns)
{
	const char *call = "peal_copy_wait";
	int to, from, r;

	if (!copy)
		return peali_fail(PEAL_EINVAL, call, "the copy is NULL");
	to = copy->to.place.device;
	from = copy->from.place.device;
	r = wait_for_end(copy, timeout_ns);
	if (r == PEAL_EAGAIN)
		return peali_fail(PEAL_ETIMEDOUT, call,
				  "device %d -> device %d (-1: host): the copy "
				  "of %llu bytes goes on after %lld ns",
				  from, to, (unsigned long long)copy->bytes,
				  (long long)timeout_ns);
	pthread_mutex_lock(&copy->peers->lock);
	settle(copy);
	pthread_mutex_unlock(&copy->peers->lock);
	if (r < 0)
		return peali_fail(r, call,
				  "device %d -> device %d (-1: host): the copy "
				  "of %llu bytes ended early: %s",
				  from, to, (unsigned long long)copy->bytes,
				  peal_error_text(r));
	return 0;
}

int peal_copy_cancel(struct peal_copy *copy)
{
	if (!copy)
		return peali_fail(PEAL_EINVAL, "peal_copy_cancel",
				  "the copy is NULL");
	if (copy->inner)
		copy->ops->copy_cancel(copy->inner);
	else
		atomic_store_explicit(&copy->cancel, 1, memory_order_relaxed);
	return 0;
}

void peal_copy_destroy(struct peal_copy *copy)
{
	struct peali_peers *peers;

	if (!copy)
		return;
	peers = copy->peers;
	if (copy->has_thread)
		pthread_join(copy->thread, NULL);
	if (copy->inner)
		wait_for_end(copy, -1);
	pthread_mutex_lock(&peers->lock);
	settle(copy);
	list_out(copy);
	pthread_mutex_unlock(&peers->lock);
	if (copy->inner)
		copy->ops->copy_free(copy->inner);
	drop(copy);
}

void peali_copies_clear(struct peali_peers *peers)
{
	struct peal_copy *c;

	for (;;) {
		pthread_mutex_lock(&peers->lock);
		c = peers->copies;
		pthread_mutex_unlock(&peers->lock);
		if (!c)
			break;
		peal_copy_cancel(c);
		peal_copy_destroy(c);
	}
}

/* ---- public ---------------------------------------------------------------- */

int peal_peer_copy(struct peal_runtime *runtime, int to, uint64_t to_address,
		   int from, uint64_t from_address, uint64_t bytes)
{
	struct peali_peers *peers = peali_peers_of(runtime, "peal_peer_copy");
	struct peali_place target = { to, to_address };
	struct peali_place source = { from, from_address };

	return peers ? peali_copy_now(peers, target, source, bytes) :
		       PEAL_EINVAL;
}

int peal_peer_copy_async(struct peal_runtime *runtime, int to,
			 uint64_t to_address, int from, uint64_t from_address,
			 uint64_t bytes, struct peal_copy **copy_out)
{
	const char *call = "peal_peer_copy_async";
	struct peali_peers *peers = peali_peers_of(runtime, call);
	struct peali_place target = { to, to_address };
	struct peali_place source = { from, from_address };

	if (!peers)
		return PEAL_EINVAL;
	if (!copy_out)
		return peali_fail(PEAL_EINVAL, call, "copy_out is NULL");
	return peali_copy_begin(peers, target, source, bytes, copy_out);
}
