/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Orders: calls of the host on events that take effect later. A thread of the
 * runtime looks at all orders, one after the other, until each is due. It looks
 * without the lock, because a look takes the runtime's lock. The order that it
 * looks at stays in the queue meanwhile.
 *
 * An await makes a gate of a device. Work that is submitted later waits until the
 * gate is open:
 * - The next message of a port puts a GATE mark before itself (link/endpoint.c).
 *   The worker leaves the mark and all behind it in the link (poll_inputs.h).
 * - A job assigns no task (compute/executor_run.c).
 * - A copy stays in its line (p2p/copy_async.c).
 *
 * The gates of a device open in the order of their numbers.
 */
#include <stdlib.h>
#include <time.h>

#include <peal/device/event.h>
#include "p2p/peer.h"
#include "runtime/base/error.h"
#include "runtime/base/refusal.h"
#include "runtime/base/thread.h"
#include "runtime/base/wait.h"
#include "runtime/collective/device_sync.h"
#include "runtime/collective/event.h"
#include "runtime/kernel/kernel.h"
#include "runtime/kernel/kernel_control.h"

#define RECORD "peal_event_record_behind"
#define AWAIT "peal_event_await_before"
#define CANCEL "peal_event_cancel"

/** A record or an await of the host that has not taken effect. */
struct order {
	struct order *next;
	struct peal_event *event;
	int cancelled;
	uint64_t gate; /* of an await: its number; 0: a record */
	/* of an await: */
	int device; /* with the gate */
	uint64_t count; /* of the event */
	struct peali_idle_look look; /* of a record: at the event's device */
};

struct peali_event_orders {
	pthread_mutex_t lock; /* guards all below */
	pthread_cond_t changed; /* there is an order, or a look is over */
	struct order *first, **last;
	struct order *looked_at; /* by the thread, without the lock; or NULL */
	pthread_t thread;
	int has_thread;
	int ends; /* 1: the thread ends */
};

/* ---- the queue, under its lock ------------------------------------------- */

static void put(struct peali_event_orders *q, struct order *o)
{
	*q->last = o;
	q->last = &o->next;
	pthread_cond_broadcast(&q->changed);
}

/* Removes an order and frees it. */
static void drop(struct peali_event_orders *q, struct order *o)
{
	struct order **at = &q->first;

	while (*at != o)
		at = &(*at)->next;
	*at = o->next;
	if (q->last == &o->next)
		q->last = at;
	free(o);
}

/* Returns the first order of an event, or NULL. */
static struct order *find(const struct peali_event_orders *q,
			  const struct peal_event *e)
{
	struct order *o = q->first;

	while (o && o->event != e)
		o = o->next;
	return o;
}

uint32_t peali_event_orders_left(const struct peal_event *e)
{
	struct peali_event_orders *q = e->rt->event_orders;
	const struct order *o;
	uint32_t n = 0;

	if (!q) /* the runtime shuts down */
		return 0;
	pthread_mutex_lock(&q->lock);
	for (o = q->first; o; o = o->next)
		n += o->event == e;
	pthread_mutex_unlock(&q->lock);
	return n;
}

/* ---- gates, under the lock of the queue ---------------------------------- */

/* Opens all gates of a device before its first order that is left. */
static void open_gates(const struct peali_event_orders *q,
		       struct peal_runtime *rt, int device)
{
	struct peali_gates *gates = &rt->devices.device[device].gates;
	uint64_t open = atomic_load(&gates->made);
	const struct order *o = q->first;
	struct peal_kernel *k;

	while (o && (!o->gate || o->device != device))
		o = o->next;
	if (o)
		open = o->gate - 1;
	if (open == atomic_load(&gates->open))
		return;
	atomic_store(&gates->open, open);
	pthread_mutex_lock(&rt->lock);
	for (k = rt->kernels; k; k = k->next)
		if (k->device == device)
			peali_kernel_open_gates(k, open);
	pthread_mutex_unlock(&rt->lock);
	peali_copies_look(rt->peers);
}

/* Removes an order that has taken effect or was cancelled. */
static void settle(struct peali_event_orders *q, struct order *o)
{
	struct peal_runtime *rt = o->event->rt;
	int device = o->gate ? o->device : -1;

	drop(q, o);
	if (device >= 0)
		open_gates(q, rt, device);
}

/* ---- the thread ---------------------------------------------------------- */

/* Records an event, as peali_event_write does on a device. The thread is the
 * only writer of its cell. */
static void record(const struct peal_event *e)
{
	struct peal_event_cell *c = e->cell;
	uint64_t count = peal_load_relaxed_sys(&c->count) + 1;
	uint64_t now = peali_now_ns();

	peal_store_relaxed_sys(&c->begun, count);
	/* R27 and R26, as in peali_event_write */
	peal_store_release_sys(&c->device_ns, now);
	peal_store_release_sys(&c->host_ns, now);
	peal_store_release_sys(&c->uncertainty_ns, 0);
	peal_store_release_sys(&c->count, count);
}

/* Returns 1 if an order is to take effect. */
static int is_due(struct order *o)
{
	if (!o->gate)
		return peali_idle_look(&o->look);
	return peal_event_count((uintptr_t)o->event->cell) >= o->count;
}

/* Looks at an order. Executes it if it is due. Returns the next one. */
static struct order *look(struct peali_event_orders *q, struct order *o,
			  int *progress)
{
	struct order *next;
	int due;

	q->looked_at = o;
	pthread_mutex_unlock(&q->lock);
	due = is_due(o);
	pthread_mutex_lock(&q->lock);
	q->looked_at = NULL;
	next = o->next;
	if (due && !o->cancelled && !o->gate)
		record(o->event);
	if (due || o->cancelled) {
		settle(q, o);
		*progress = 1;
	}
	pthread_cond_broadcast(&q->changed);
	return next;
}

/* Waits for a change of the queue, at most *us, and doubles *us. */
static void pause_thread(struct peali_event_orders *q, uint64_t *us)
{
	uint64_t until = peali_now_ns() + *us * 1000;
	struct timespec t = { (time_t)(until / 1000000000),
			      (long)(until % 1000000000) };

	pthread_cond_timedwait(&q->changed, &q->lock, &t);
	if (*us < PEALI_SILENT_US)
		*us *= 2;
}

static void *thread_main(void *argument)
{
	struct peali_event_orders *q = argument;
	uint64_t us = PEALI_SILENT_US_FIRST;
	struct order *o;

	pthread_setname_np(pthread_self(), "peal-events");
	pthread_mutex_lock(&q->lock);
	while (!q->ends) {
		int progress = 0;

		for (o = q->first; o && !q->ends;)
			o = look(q, o, &progress);
		if (progress || !q->first)
			us = PEALI_SILENT_US_FIRST;
		if (!q->first && !q->ends)
			pthread_cond_wait(&q->changed, &q->lock);
		else if (!progress && !q->ends)
			pause_thread(q, &us);
	}
	pthread_mutex_unlock(&q->lock);
	return NULL;
}

/* Starts the thread, if there is none. The caller holds the lock. */
static int need_thread(struct peali_event_orders *q, const char *call)
{
	int error;

	if (q->has_thread)
		return 0;
	error = peali_thread_start(&q->thread, thread_main, q);
	if (error)
		return peali_fail_system(error, call,
					 "no thread for events of the host");
	q->has_thread = 1;
	return 0;
}

int peali_event_orders_open(struct peal_runtime *rt)
{
	struct peali_event_orders *q = calloc(1, sizeof(*q));

	if (!q)
		return peali_fail(PEAL_ENOMEM, "peal_runtime_open",
				  "no memory for the events of the host");
	pthread_mutex_init(&q->lock, NULL);
	peali_cond_init(&q->changed);
	q->last = &q->first;
	rt->event_orders = q;
	return 0;
}

void peali_event_orders_close(struct peal_runtime *rt)
{
	struct peali_event_orders *q = rt->event_orders;

	if (!q)
		return;
	pthread_mutex_lock(&q->lock);
	q->ends = 1;
	pthread_cond_broadcast(&q->changed);
	pthread_mutex_unlock(&q->lock);
	if (q->has_thread)
		pthread_join(q->thread, NULL);
	while (q->first)
		drop(q, q->first);
	pthread_cond_destroy(&q->changed);
	pthread_mutex_destroy(&q->lock);
	free(q);
	rt->event_orders = NULL;
}

/* ---- public calls -------------------------------------------------------- */

/* Makes the next gate of a device. The caller holds the lock of the queue. */
static uint64_t make_gate(struct peal_runtime *rt, int device)
{
	uint64_t number =
		1 + atomic_fetch_add(&rt->devices.device[device].gates.made, 1);

	atomic_fetch_add(&rt->devices.gates_made, 1);
	return number;
}

/* Queues an order of an event. An await, with a count, gets its gate. */
static int add(struct peal_event *e, struct order *o, const char *call)
{
	struct peali_event_orders *q = e->rt->event_orders;
	int result;

	o->event = e;
	pthread_mutex_lock(&q->lock);
	result = need_thread(q, call);
	if (!result) {
		o->gate = o->count ? make_gate(e->rt, o->device) : 0;
		put(q, o);
	}
	pthread_mutex_unlock(&q->lock);
	return result;
}

int peal_event_record_behind(struct peal_event *e)
{
	struct order *o;
	int result;

	if (!e)
		return peali_refuse_null(RECORD, "event");
	if (peali_foreign(&e->rt->owner, RECORD))
		return PEAL_EFORKED;
	if (!e->by_host)
		return PEALI_REFUSE(PEAL_ENOTSUP, RECORD, .object = "event",
				    .name = e->name,
				    .problem = "is recorded by handlers",
				    .value = "by_host 0",
				    .allowed = "by_host 1",
				    .remedy = "set by_host of its options");
	o = calloc(1, sizeof(*o));
	if (!o)
		return peali_fail(PEAL_ENOMEM, RECORD,
				  "no memory for a record of event '%s'",
				  e->name);
	peali_idle_begin_behind(&o->look, e->rt, e->device);
	result = add(e, o, RECORD);
	if (result)
		free(o);
	return result;
}

int peal_event_await_before(struct peal_event *e, uint64_t count, int device)
{
	struct order *o;
	int result;

	if (!e)
		return peali_refuse_null(AWAIT, "event");
	if (peali_foreign(&e->rt->owner, AWAIT))
		return PEAL_EFORKED;
	result = peali_devices_check(&e->rt->devices, device, AWAIT);
	if (result || peal_event_count((uintptr_t)e->cell) >= count)
		return result;
	o = calloc(1, sizeof(*o));
	if (!o)
		return peali_fail(PEAL_ENOMEM, AWAIT,
				  "no memory for an await of event '%s'",
				  e->name);
	o->device = device;
	o->count = count;
	result = add(e, o, AWAIT);
	if (result)
		free(o);
	return result;
}

int peal_event_cancel(struct peal_event *e)
{
	struct peali_event_orders *q;
	struct order *o;

	if (!e)
		return peali_refuse_null(CANCEL, "event");
	if (peali_foreign(&e->rt->owner, CANCEL))
		return PEAL_EFORKED;
	q = e->rt->event_orders;
	pthread_mutex_lock(&q->lock);
	while ((o = find(q, e)) != NULL) {
		if (o != q->looked_at) {
			settle(q, o);
			continue;
		}
		o->cancelled = 1; /* the thread drops it after its look */
		pthread_cond_wait(&q->changed, &q->lock);
	}
	pthread_mutex_unlock(&q->lock);
	return 0;
}
