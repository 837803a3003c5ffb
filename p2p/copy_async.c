/* SPDX-License-Identifier: Apache-2.0 */
#include <peal/peer.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <peal/device/impl/base/host_support.h>
#include "p2p/copy_exec.h"
#include "p2p/copy_request.h"
#include "p2p/copy_stats.h"
#include "p2p/peer.h"
#include "p2p/peer_internal.h"
#include "runtime/base/error.h"
#include "runtime/base/math.h"
#include "runtime/base/refusal.h"
#include "runtime/base/text.h"
#include "runtime/base/thread.h"
#include "runtime/base/wait.h"

/*
 * Background copies. All copies to one device wait in one line. A thread per
 * line executes them one after another; the first copy starts the thread.
 *
 * A copy waits for earlier copies that touch the same memory. Earlier copies have
 * smaller numbers, so copies never wait in a circle. A copy also waits for the
 * gates of its devices that were closed at its start. The thread of its line
 * executes later copies meanwhile.
 *
 * A change of peer access (peer_async.c) is an entry, too. It waits in the line
 * of the device that gets or loses access. It keeps the order with all copies
 * and changes of that device.
 */

/** The smallest range that contains all bytes that a copy writes, or reads. */
struct hull {
	int device;
	uint64_t start, end;
};

struct peal_copy {
	struct peali_peers *peers;
	/* list of all copies, peers->copies */
	struct peal_copy *next, *previous;
	struct peal_copy *behind; /* next copy in the line */
	struct peali_line *line; /* NULL: nothing to copy */
	struct peali_copy_request request;
	struct peali_peer_change change; /* its kind is not 0: no copy */
	/* by device: the gate for which the copy waits; 0: none. NULL: no gate
	 * of its devices was closed at its start. */
	uint64_t *gates;
	int to, from; /* devices of the first move, for error texts */
	uint64_t number; /* order of start, from 1 */
	uint64_t submission; /* number among all work of the runtime */
	struct hull writes, reads;
	/* 1: several devices on a side; conflicts with every copy */
	int is_wide;
	/* 1: the copy has ended and released its memory; peers->lock */
	int settled;
	/* only the line's thread uses it until the copy ends */
	struct peali_copy_job job;
	char why[256]; /* error text; as for `job` */
	atomic_int state; /* PEAL_EAGAIN until the end; then 0 or the error */
	atomic_int cancel;
	_Atomic uint64_t done; /* bytes copied so far */
	/* held by the waiter that sleeps on the bell */
	pthread_mutex_t waiting;
	struct peal_bell bell;
};

/* ---- conflicts ----------------------------------------------------------- */

static void stretch(struct hull *hull, struct peali_place place, uint64_t bytes)
{
	if (place.address < hull->start)
		hull->start = place.address;
	if (place.address + bytes > hull->end)
		hull->end = place.address + bytes;
}

/* Computes the ranges of all moves, before the copy enters the line. */
static void find_hulls(struct peal_copy *c)
{
	const struct peali_copy_op *moves = c->request.moves;
	uint32_t i;

	c->writes.device = moves->to.device;
	c->reads.device = moves->from.device;
	c->writes.start = c->reads.start = UINT64_MAX;
	for (i = 0; i < c->request.n_moves; i++) {
		if (moves[i].to.device != moves->to.device ||
		    moves[i].from.device != moves->from.device)
			c->is_wide = 1;
		stretch(&c->writes, moves[i].to, moves[i].bytes);
		stretch(&c->reads, moves[i].from, moves[i].bytes);
	}
}

static int meet(const struct hull *a, const struct hull *b)
{
	return a->device == b->device && a->start < b->end && b->start < a->end;
}

/* Returns 1 if a copy reads or writes memory of a device, or if a change is of
 * the device. */
static int touches(const struct peal_copy *c, int device)
{
	if (c->change.kind)
		return c->change.from == device;
	return c->is_wide || c->writes.device == device ||
	       c->reads.device == device;
}

/* Returns 1 if the order of two copies or changes matters. */
static int conflict(const struct peal_copy *a, const struct peal_copy *b)
{
	if (a->change.kind)
		return touches(b, a->change.from);
	if (b->change.kind)
		return touches(a, b->change.from);
	return a->is_wide || b->is_wide || meet(&a->writes, &b->writes) ||
	       meet(&a->writes, &b->reads) || meet(&a->reads, &b->writes);
}

/* Returns 1 if a copy has bytes to copy, or changes access. */
static int has_work(const struct peal_copy *c)
{
	return c->request.n_moves || c->change.kind;
}

/* Returns 1 if an earlier copy must end first. The caller holds peers->lock. */
static int is_behind(const struct peal_copy *c)
{
	const struct peal_copy *other;

	if (peali_copy_job_cancelled(&c->job))
		return 0;
	for (other = c->peers->copies; other; other = other->next)
		if (other->number < c->number && has_work(other) &&
		    atomic_load_explicit(&other->state, memory_order_acquire) ==
			    PEAL_EAGAIN &&
		    conflict(other, c))
			return 1;
	return 0;
}

/* ---- gates --------------------------------------------------------------- */

/* Notes a closed gate of a device. Returns 0 or PEAL_ENOMEM. */
static int note_gate(struct peal_copy *c, int device)
{
	const struct peali_devices *devices = c->peers->devices;
	uint64_t gate = peali_gate_of(devices, device);

	if (!gate)
		return 0;
	if (!c->gates)
		c->gates = calloc((size_t)devices->n, sizeof(*c->gates));
	if (!c->gates)
		return peali_fail(PEAL_ENOMEM, c->job.call,
				  "no host memory for a copy");
	c->gates[device] = gate;
	return 0;
}

/* Notes the closed gates of all devices that the caller of a copy names. The
 * memory of a device may lie in the host. */
static int note_gates(struct peal_copy *c, const struct peali_copy_op *moves,
		      uint32_t n)
{
	uint32_t i;
	int r = 0;

	for (i = 0; i < n && !r; i++) {
		r = note_gate(c, moves[i].to.device);
		if (!r)
			r = note_gate(c, moves[i].from.device);
	}
	return r;
}

/* Returns 1 if a gate of a copy is closed. */
static int is_gated(const struct peal_copy *c)
{
	const struct peali_devices *devices = c->peers->devices;
	int i;

	if (!c->gates || peali_copy_job_cancelled(&c->job))
		return 0;
	for (i = 0; i < devices->n; i++)
		if (peali_gate_is_closed(devices, i, c->gates[i]))
			return 1;
	return 0;
}

/* Wakes waiting threads after a copy has ended or was cancelled, or a gate was
 * opened. */
static void tell_others(struct peali_peers *peers)
{
	pthread_mutex_lock(&peers->lock);
	pthread_cond_broadcast(&peers->copy_ended);
	pthread_mutex_unlock(&peers->lock);
}

/* ---- lines --------------------------------------------------------------- */

/* Removes a copy from a line. The caller holds line->lock. */
static void take_out(struct peali_line *line, struct peal_copy *c)
{
	struct peal_copy **at = &line->first;

	while (*at != c)
		at = &(*at)->behind;
	*at = c->behind;
	if (line->last == &c->behind)
		line->last = at;
}

/* Returns the first copy of a line that waits for no gate and no other copy, or
 * NULL. The caller holds peers->lock and line->lock. */
static struct peal_copy *find_free(const struct peali_line *line)
{
	struct peal_copy *c = line->first;

	while (c && (is_gated(c) || is_behind(c)))
		c = c->behind;
	return c;
}

/*
 * Takes the first copy of a line that can begin. A copy that waits for an event,
 * or for such a copy, delays no copy that the event may need. The caller holds
 * line->lock, which the function releases meanwhile. Returns the copy, or waits
 * and returns NULL to look at the line again.
 */
static struct peal_copy *take_free(struct peali_line *line,
				   struct peali_peers *peers)
{
	struct peal_copy *c;

	pthread_mutex_unlock(&line->lock);
	pthread_mutex_lock(&peers->lock);
	pthread_mutex_lock(&line->lock);
	c = find_free(line);
	if (c)
		take_out(line, c);
	if (!c && !line->stop) {
		pthread_mutex_unlock(&line->lock);
		pthread_cond_wait(&peers->copy_ended, &peers->lock);
		pthread_mutex_lock(&line->lock);
	}
	pthread_mutex_unlock(&peers->lock);
	return c;
}

/* Takes the next copy of a line, or returns NULL to look again. The caller holds
 * line->lock. */
static struct peal_copy *take_next(struct peali_line *line)
{
	if (line->first)
		return take_free(line, line->first->peers);
	pthread_cond_wait(&line->work, &line->lock);
	return NULL;
}

/* Does the work of a copy that was taken from its line. Returns 0 or the error
 * of the copy. */
static int execute(struct peal_copy *c)
{
	if (!c->change.kind)
		return peali_copy_execute(c->peers, c->request.moves,
					  c->request.n_moves, &c->job);
	return peali_copy_job_cancelled(&c->job) ?
		       PEAL_ECANCELED :
		       peali_peer_change_do(c->peers, &c->change);
}

static void *line_main(void *argument)
{
	struct peali_line *line = argument;
	struct peali_peers *peers;
	struct peal_copy *c;
	int r;

	pthread_setname_np(pthread_self(), "peal-copy");
	pthread_mutex_lock(&line->lock);
	while (!line->stop) {
		c = take_next(line);
		if (!c)
			continue;
		pthread_mutex_unlock(&line->lock);
		peers = c->peers;
		r = execute(c);
		if (r && r != PEAL_ECANCELED)
			snprintf(c->why, sizeof(c->why), "%s",
				 peal_last_error()->text);
		pthread_mutex_lock(&line->lock);
		atomic_store_explicit(&c->state, r, memory_order_release);
		/* Under the lock: peal_copy_destroy locks before the free. */
		peal_bell_ring((uintptr_t)&c->bell);
		pthread_mutex_unlock(&line->lock);
		tell_others(peers);
		pthread_mutex_lock(&line->lock);
	}
	pthread_mutex_unlock(&line->lock);
	return NULL;
}

/* Starts the line's thread if needed. The caller holds line->lock. */
static int need_thread(struct peali_line *line, const char *call)
{
	int error;

	if (line->has_thread)
		return 0;
	line->last = &line->first;
	error = peali_thread_start(&line->thread, line_main, line);
	if (error)
		return peali_fail_system(error, call, "no thread for copies");
	line->has_thread = 1;
	return 0;
}

static int put_in_line(struct peal_copy *c)
{
	struct peali_line *line = &c->peers->line[c->to + 1];
	int r;

	pthread_mutex_lock(&line->lock);
	r = need_thread(line, c->job.call);
	if (!r) {
		c->line = line;
		*line->last = c;
		line->last = &c->behind;
		pthread_cond_signal(&line->work);
	}
	pthread_mutex_unlock(&line->lock);
	pthread_cond_broadcast(&c->peers->copy_ended); /* see take_free */
	return r;
}

int peali_lines_open(struct peali_peers *peers)
{
	int i, n = peers->devices->n + 1;

	peali_cond_init(&peers->copy_ended);
	peers->line = calloc((size_t)n, sizeof(*peers->line));
	if (!peers->line)
		return PEAL_ENOMEM;
	for (i = 0; i < n; i++) {
		pthread_mutex_init(&peers->line[i].lock, NULL);
		pthread_cond_init(&peers->line[i].work, NULL);
	}
	return 0;
}

void peali_lines_close(struct peali_peers *peers)
{
	int i, n = peers->devices->n + 1;

	for (i = 0; i < n; i++) {
		struct peali_line *line = &peers->line[i];

		pthread_mutex_lock(&line->lock);
		line->stop = 1;
		pthread_cond_signal(&line->work);
		pthread_mutex_unlock(&line->lock);
		if (line->has_thread)
			pthread_join(line->thread, NULL);
		pthread_cond_destroy(&line->work);
		pthread_mutex_destroy(&line->lock);
	}
	pthread_cond_destroy(&peers->copy_ended);
	free(peers->line);
}

/* ---- starting ------------------------------------------------------------ */

static void no_moves(struct peal_copy *c)
{
	memset(&c->request, 0, sizeof(c->request));
	c->request.kept = c->request.one_kept;
	c->request.moves = &c->request.one_op;
}

static struct peal_copy *new_copy(struct peali_peers *peers,
				  const struct peali_copy_params *order)
{
	size_t size = peali_whole_lines(sizeof(struct peal_copy));
	struct peal_copy *c = aligned_alloc(PEAL_SHARED_LINE, size);

	if (!c) {
		peali_fail(PEAL_ENOMEM, order->call,
			   "no host memory for a copy");
		return NULL;
	}
	memset(c, 0, size);
	c->peers = peers;
	c->job.call = order->call;
	c->job.routes = order->routes;
	c->job.chunk_bytes = order->chunk_bytes;
	c->job.cancel = &c->cancel;
	c->job.done = &c->done;
	no_moves(c);
	atomic_init(&c->state, 0);
	atomic_init(&c->cancel, 0);
	atomic_init(&c->done, 0);
	pthread_mutex_init(&c->waiting, NULL);
	return c;
}

/* The caller holds peers->lock. */
static void list_in(struct peal_copy *c)
{
	c->next = c->peers->copies;
	if (c->next)
		c->next->previous = c;
	c->peers->copies = c;
	c->peers->n_copies++;
}

/* The caller holds peers->lock. */
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

/* Returns 1 if a copy has not ended and moves bytes of a device. The caller holds
 * peers->lock. */
static int uses(const struct peal_copy *c, int device)
{
	uint32_t i;

	if (c->settled || atomic_load(&c->state) != PEAL_EAGAIN)
		return 0;
	if (c->change.kind)
		return device == PEAL_ALL_DEVICES || c->change.from == device;
	for (i = 0; i < c->request.n_moves; i++)
		if (device == PEAL_ALL_DEVICES ||
		    c->request.moves[i].to.device == device ||
		    c->request.moves[i].from.device == device)
			return 1;
	return 0;
}

void peali_copies_look(struct peali_peers *peers)
{
	tell_others(peers);
}

const char *peali_copies_use(struct peali_peers *peers, int device,
			     uint64_t before)
{
	const struct peal_copy *c;
	const char *found = NULL;

	pthread_mutex_lock(&peers->lock);
	for (c = peers->copies; c && !found; c = c->next)
		if (c->submission < before && uses(c, device))
			found = c->change.kind ? "a change of peer access" :
						 "a copy in the background";
	pthread_mutex_unlock(&peers->lock);
	return found;
}

static void drop(struct peal_copy *c)
{
	peali_copy_request_free(&c->request);
	free(c->gates);
	pthread_mutex_destroy(&c->waiting);
	free(c);
}

/* Numbers a copy and puts it into its line. The caller holds peers->lock. */
static int enter(struct peal_copy *c)
{
	int r;

	c->number = ++c->peers->n_started;
	c->submission = atomic_fetch_add(&c->peers->devices->submissions, 1);
	atomic_store_explicit(&c->state, PEAL_EAGAIN, memory_order_relaxed);
	r = put_in_line(c);
	if (r < 0)
		peali_copy_request_release(&c->request);
	return r;
}

/* The caller holds peers->lock. */
static int start(struct peal_copy *c, const struct peali_copy_op *moves,
		 uint32_t n)
{
	int r = peali_copy_request_hold(c->peers, moves, n, c->job.call,
					&c->request);

	if (r < 0) {
		no_moves(c);
		return r;
	}
	c->to = moves[0].to.device;
	c->from = moves[0].from.device;
	if (!c->request.n_moves)
		return 0;
	r = note_gates(c, moves, n);
	if (r < 0) {
		peali_copy_request_release(&c->request);
		return r;
	}
	find_hulls(c);
	return enter(c);
}

/* The caller holds peers->lock. */
static int start_change(struct peal_copy *c,
			const struct peali_peer_change *change)
{
	int r;

	c->change = *change;
	c->to = c->from = change->from;
	r = note_gate(c, change->from);
	return r < 0 ? r : enter(c);
}

/* Ends the start of a copy with the result `r`. The caller has released
 * peers->lock. Returns `r`. */
static int started(struct peal_copy *c, int r, struct peal_copy **out)
{
	if (r < 0)
		drop(c);
	else
		*out = c;
	return r;
}

int peali_change_submit(struct peali_peers *peers,
			const struct peali_peer_change *change,
			const char *call, struct peal_copy **out)
{
	const struct peali_copy_params order = { .call = call };
	struct peal_copy *c = new_copy(peers, &order);
	int r;

	if (!c)
		return PEAL_ENOMEM;
	pthread_mutex_lock(&peers->lock);
	r = start_change(c, change);
	if (!r)
		list_in(c);
	pthread_mutex_unlock(&peers->lock);
	return started(c, r, out);
}

int peali_copy_submit(struct peali_peers *peers,
		      const struct peali_copy_op *moves, uint32_t n,
		      const struct peali_copy_params *order,
		      struct peal_copy **out)
{
	struct peal_copy *c = new_copy(peers, order);
	int r;

	if (!c)
		return PEAL_ENOMEM;
	pthread_mutex_lock(&peers->lock);
	r = start(c, moves, n);
	if (!r)
		list_in(c);
	pthread_mutex_unlock(&peers->lock);
	return started(c, r, out);
}

int peali_copy_submit_one(struct peali_peers *peers, struct peali_place to,
			  struct peali_place from, uint64_t bytes,
			  struct peal_copy **out)
{
	const struct peali_copy_params order = {
		.call = "peal_peer_copy_async"
	};
	const struct peali_copy_op move = { to, from, bytes };

	return peali_copy_submit(peers, &move, 1, &order, out);
}

/* Returns PEAL_EAGAIN until the copy ends, then 0 or the error. */
static int query(const struct peal_copy *c)
{
	return atomic_load_explicit(&c->state, memory_order_acquire);
}

/* The caller holds peers->lock. */
static void settle(struct peal_copy *c)
{
	if (c->settled || query(c) == PEAL_EAGAIN)
		return;
	c->settled = 1;
	peali_copy_request_release(&c->request);
}

void peali_copies_settle(struct peali_peers *peers)
{
	struct peal_copy *c;

	for (c = peers->copies; c; c = c->next)
		settle(c);
}

/* ---- changes of access --------------------------------------------------- */

uint32_t peali_changes_before(struct peali_peers *peers, int from,
			      uint64_t last)
{
	const struct peal_copy *c;
	uint32_t n = 0;

	for (c = peers->copies; c; c = c->next)
		n += c->change.kind && c->change.from == from &&
		     c->number <= last && query(c) == PEAL_EAGAIN;
	return n;
}

int peali_change_result(const struct peal_copy *c, const char *call,
			const struct peali_peer_change **change_out)
{
	*change_out = &c->change;
	return peali_forked(&c->peers->owner, call) ? PEAL_EFORKED : query(c);
}

/* ---- waiting ------------------------------------------------------------- */

/* Sleeps until the copy ends, at most most_ns, in steps of at most 50 ms. */
static void sleep_by_bell(struct peal_copy *c, uint64_t most_ns)
{
	uint64_t ms = most_ns / 1000000;

	c->bell.max_sleep_us = 1000 * (ms < 1  ? 1 :
				       ms > 50 ? 50 :
						 (uint32_t)ms);
	peal_host_idle(&c->bell, 1);
}

/* Sleeps without the bell, which another waiter uses. */
static void sleep_by_time(uint64_t most_ns)
{
	struct timespec t = { 0, most_ns < 200000 ? (long)most_ns : 200000 };

	nanosleep(&t, NULL);
}

static int wait_for_end(struct peal_copy *c, int64_t timeout_ns)
{
	uint64_t began = peal_clock_ns(), spent = 0, left = UINT64_MAX;
	int owner, r = query(c);

	if (!timeout_ns || r != PEAL_EAGAIN)
		return r;
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
	peali_copy_stats_add_wait(&c->peers->stats, peal_clock_ns() - began);
	return r;
}

/* Names a copy or a change for error texts, after its devices. */
static const char *title(const struct peal_copy *c, char out[80])
{
	if (c->change.kind)
		snprintf(out, 80, "device %d: %s", c->change.from, c->job.call);
	else
		snprintf(out, 80,
			 "device %d -> device %d (-1: host): the copy of %llu "
			 "bytes",
			 c->from, c->to, (unsigned long long)c->request.bytes);
	return out;
}

int peal_copy_wait(struct peal_copy *copy, int64_t timeout_ns)
{
	const char *call = "peal_copy_wait";
	char text[80];
	int r;

	if (!copy)
		return peali_refuse_null(call, "copy");
	if (peali_forked(&copy->peers->owner, call))
		return PEAL_EFORKED;
	r = wait_for_end(copy, timeout_ns);
	if (r == PEAL_EAGAIN)
		return peali_fail(PEAL_ETIMEDOUT, call,
				  "%s is incomplete after %lld ns",
				  title(copy, text), (long long)timeout_ns);
	pthread_mutex_lock(&copy->peers->lock);
	settle(copy);
	pthread_mutex_unlock(&copy->peers->lock);
	if (r < 0)
		return peali_fail(
			r, call, "%s ended early: %s", title(copy, text),
			PEALI_CUT(160, copy->why[0] ? copy->why :
						      peal_error_text(r)));
	return 0;
}

int peal_copy_cancel(struct peal_copy *copy)
{
	if (!copy)
		return peali_refuse_null("peal_copy_cancel", "copy");
	if (peali_foreign(&copy->peers->owner, "peal_copy_cancel"))
		return PEAL_EFORKED;
	atomic_store_explicit(&copy->cancel, 1, memory_order_relaxed);
	tell_others(copy->peers);
	return 0;
}

int peal_copy_progress(const struct peal_copy *copy,
		       struct peal_copy_progress *progress_out)
{
	if (!copy || !progress_out)
		return peali_refuse_null("peal_copy_progress",
					 "copy or progress_out");
	if (peali_forked(&copy->peers->owner, "peal_copy_progress"))
		return PEAL_EFORKED;
	progress_out->bytes = copy->request.bytes;
	progress_out->done_bytes =
		atomic_load_explicit(&copy->done, memory_order_relaxed);
	return 0;
}

int peal_copy_result(const struct peal_copy *copy,
		     struct peal_copy_result *result_out)
{
	if (!copy || !result_out)
		return peali_refuse_null("peal_copy_result",
					 "copy or result_out");
	if (peali_forked(&copy->peers->owner, "peal_copy_result"))
		return PEAL_EFORKED;
	if (query(copy) == PEAL_EAGAIN)
		return peali_fail(PEAL_EAGAIN, "peal_copy_result",
				  "copy is in progress; call peal_copy_wait "
				  "first");
	*result_out = copy->job.result;
	return 0;
}

void peal_copy_destroy(struct peal_copy *copy)
{
	struct peali_peers *peers;

	if (!copy || peali_foreign(&copy->peers->owner, "peal_copy_destroy"))
		return;
	peers = copy->peers;
	wait_for_end(copy, -1);
	if (copy->line) { /* wait until the thread has rung the bell */
		pthread_mutex_lock(&copy->line->lock);
		pthread_mutex_unlock(&copy->line->lock);
	}
	pthread_mutex_lock(&peers->lock);
	settle(copy);
	list_out(copy);
	pthread_mutex_unlock(&peers->lock);
	drop(copy);
}

void peali_copies_clear(struct peali_peers *peers)
{
	struct peal_copy *c;

	pthread_mutex_lock(&peers->lock);
	/* cancel all before the first wait */
	for (c = peers->copies; c; c = c->next)
		atomic_store_explicit(&c->cancel, 1, memory_order_relaxed);
	pthread_cond_broadcast(&peers->copy_ended);
	pthread_mutex_unlock(&peers->lock);
	while (peers->copies)
		peal_copy_destroy(peers->copies);
}
