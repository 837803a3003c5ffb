/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_DEVICE_CONTROL_H
#define PEAL_DEVICE_CONTROL_H

#include <peal/device/impl/loop/actor_forward.h>
#include <peal/device/clock.h>
#include <peal/device/impl/worker/cluster.h>
#include <peal/device/impl/loop/control_actor.h>
#include <peal/device/impl/loop/control_topic.h>
#include <peal/device/impl/loop/idle.h>
#include <peal/device/impl/loop/stopped.h>
#include <peal/device/impl/worker/migrate.h>
#include <peal/device/impl/worker/pool.h>
#include <peal/device/timer.h>
#include <peal/device/impl/loop/loop_action.h>

/*
 * Requests of the host to a worker: control words, control messages, lease and
 * epoch. For the leader. The loop calls it.
 */

/* ---- control messages ---------------------------------------------------- */

/* Sets the number of the end that sends to an input. */
static PEAL_DEV PEAL_INLINE void
peali_input_far_end(struct peal_input *in, const struct peal_link_view *view)
{
	in->flags = (in->flags & 0xffffu) | (uint32_t)view->far_end << 16;
}

static PEAL_DEV PEAL_UNUSED inline int
peali_control_input(struct peal_worker *w, uint32_t type,
		    const struct peal_link_view *view)
{
	struct peal_input *in = &w->inputs[view->index];

	if (view->index >= w->params->max_inputs)
		return PEAL_EINVAL;
	if (type == PEAL_CONTROL_ATTACH_INPUT ||
	    type == PEAL_CONTROL_NEXT_RING) {
		if (peali_cluster_check(w, view))
			return PEAL_ENOTSUP;
		peali_cluster_clear(view);
	}
	if (type == PEAL_CONTROL_ATTACH_INPUT) {
		peali_input_begins(w, view->index);
		peali_input_set_priority(w, view->index, view->priority);
		if (view->actor == PEAL_FWD_LINK_ACTOR)
			in->flags |= PEAL_INPUT_FWD_LINK;
		peali_input_far_end(in, view);
		peali_input_ring(w, in, view);
		peali_wait_heed(w, view->bell);
	} else if (type == PEAL_CONTROL_NEXT_RING) {
		in->next = *view;
		in->flags |= PEAL_INPUT_NEXT;
		if (PEALI_SIM_FAULT(EARLY_FOLLOW) &&
		    !peal_link_ready(&in->link)) {
			in->link.counts->switches++;
			peali_input_ring(w, in, &in->next);
			in->flags &= ~(uint32_t)PEAL_INPUT_NEXT;
		}
	} else if (type == PEAL_CONTROL_FAR_END) {
		peali_input_far_end(in, view);
	} else if (type == PEAL_CONTROL_END_INPUT) {
		if (in->flags & PEAL_INPUT_USED)
			in->flags |= PEAL_INPUT_LAST;
	} else {
		if (in->flags & PEAL_INPUT_USED)
			w->state->table.n_ended++;
		in->flags = 0;
	}
	return 0;
}

/* Writes the SEAL that a link hand-over waits for. The port then has its new
 * ring. */
static PEAL_DEV PEAL_UNUSED inline void peali_switch(struct peal_output *o)
{
	if (o->link.state) { /* closed meanwhile: no SEAL is needed */
		o->switching = 0;
	} else if (!peal_link_push_mark(&o->link, PEAL_KIND_SEAL)) {
		peali_output_ring(o, &o->next);
		o->switching = 0;
	}
}

static PEAL_DEV PEAL_UNUSED inline int
peali_control_port(struct peal_worker *w, uint32_t type,
		   const struct peal_link_view *view)
{
	struct peal_output *o = &w->outputs[view->index];

	if (view->index >= PEAL_PORTS_FIRST + w->params->max_ports)
		return PEAL_EINVAL;
	if (type != PEAL_CONTROL_CLOSE_PORT && peali_cluster_check(w, view))
		return PEAL_ENOTSUP;
	if (type == PEAL_CONTROL_ATTACH_PORT) {
		peali_port_begins(w, view->index);
		if (view->actor == PEAL_FWD_LINK_ACTOR)
			o->used = PEAL_OUTPUT_FWD_LINK;
		o->far_end = view->far_end;
		peali_output_ring(o, view);
		peali_wait_heed(w, view->bell);
	} else if (type == PEAL_CONTROL_SWITCH_PORT) {
		if (!o->used || o->switching)
			return PEAL_EBUSY;
		o->next = *view;
		o->switching = 1;
		peali_switch(o);
	} else { /* the ring may be gone: do not access it again */
		peali_producer_close(&o->link, PEAL_ESTOPPED);
		/* 0: the whole link is gone; emits are not counted */
		o->link.counts =
			(struct peal_link_counts *)(uintptr_t)view->counts;
		if (!view->counts)
			o->far_end = 0;
		o->switching = 0;
	}
	return 0;
}

/* Handles the messages about supervisors, monitors and limits. */
static PEAL_DEV PEAL_UNUSED inline int
peali_control_watch(struct peal_worker *w, const struct peal_message *m)
{
	if (!PEALI_USES(SUPERVISION) && !PEALI_USES(LIMITS))
		return PEAL_EPROTO;
	switch (m->header.type) {
	case PEAL_CONTROL_SUPERVISE:
		return peali_control_supervise(
			w, (const struct peal_control_supervise *)m->data);
	case PEAL_CONTROL_SUPERVISOR:
		return peali_control_supervisor(
			w, (const struct peal_control_supervisor *)m->data);
	case PEAL_CONTROL_LIMIT:
		return peali_control_limit(
			w, (const struct peal_control_limit *)m->data);
	case PEAL_CONTROL_MONITOR:
		return peali_control_monitor(
			w, (const struct peal_control_monitor *)m->data);
	default:
		return PEAL_EPROTO;
	}
}

/* Handles the messages about migration. */
static PEAL_DEV PEAL_UNUSED inline int
peali_control_migration(struct peal_worker *w, const struct peal_message *m)
{
	switch (m->header.type) {
	case PEAL_CONTROL_MOVE:
		return peali_control_move(
			w, (const struct peal_control_move *)m->data);
	case PEAL_CONTROL_LEAVE:
		return peali_control_leave(
			w, (const struct peal_control_leave *)m->data);
	case PEAL_CONTROL_REDIRECT:
		return peali_control_redirect(
			w, (const struct peal_control_leave *)m->data);
	case PEAL_CONTROL_ARRIVE:
		return peali_control_arrive(
			w, (const struct peal_control_move *)m->data);
	default:
		return peali_control_watch(w, m);
	}
}

static PEAL_DEV PEAL_UNUSED inline int
peali_control_handle(struct peal_worker *w, const struct peal_message *m)
{
	uint32_t type = m->header.type;

	switch (type) {
	case PEAL_CONTROL_ATTACH_INPUT:
	case PEAL_CONTROL_NEXT_RING:
	case PEAL_CONTROL_DETACH_INPUT:
	case PEAL_CONTROL_END_INPUT:
	case PEAL_CONTROL_FAR_END:
		return peali_control_input(
			w, type, (const struct peal_link_view *)m->data);
	case PEAL_CONTROL_ATTACH_PORT:
	case PEAL_CONTROL_SWITCH_PORT:
	case PEAL_CONTROL_CLOSE_PORT:
		return peali_control_port(
			w, type, (const struct peal_link_view *)m->data);
	case PEAL_CONTROL_SUBSCRIBE:
	case PEAL_CONTROL_PUBLISH:
	case PEAL_CONTROL_REMOVE_SUBSCRIBER:
		return peali_control_topic(
			w, type, (const struct peal_topic_view *)m->data);
	case PEAL_CONTROL_BARRIER: {
		const struct peal_barrier_view *view =
			(const struct peal_barrier_view *)m->data;

		if (view->index >= w->params->max_barriers)
			return PEAL_EINVAL;
		w->barriers[view->index] = *view;
		return 0;
	}
	case PEAL_CONTROL_RECLAIM:
		return peali_mail_reclaim(
			w, (const struct peal_control_reclaim *)m->data);
	case PEAL_CONTROL_POOL:
	case PEAL_CONTROL_POOL_MEMBER:
	case PEAL_CONTROL_POOL_GONE:
		return peali_control_pool(
			w, type, (const struct peal_pool_view *)m->data);
	default:
		return PEALI_USES(MIGRATION) ? peali_control_migration(w, m) :
					       peali_control_watch(w, m);
	}
}

/* Returns 1 if a control message restarts actors. Stores the index of their
 * supervisor. */
static PEAL_DEV PEAL_UNUSED inline int
peali_control_restarts(struct peal_worker *w, const struct peal_message *m)
{
	const struct peal_control_supervisor *c =
		(const struct peal_control_supervisor *)m->data;

	if (!PEALI_USES(SUPERVISION) ||
	    m->header.type != PEAL_CONTROL_SUPERVISOR ||
	    c->action != PEAL_SUPERVISOR_RESTART ||
	    c->index >= w->params->max_supervisors)
		return 0;
	w->state->deferred.arg = c->index;
	w->state->failure = 0;
	return 1;
}

/* Returns 1 if peali_spawn handles a control message: it makes, ends or tells
 * actors, or shortens the way to them. */
static PEAL_DEV PEAL_INLINE int
peali_control_crowd(const struct peal_message *m)
{
	return m->header.type == PEAL_CONTROL_SPAWN ||
	       m->header.type == PEAL_CONTROL_SHORTCUT ||
	       m->header.type == PEAL_CONTROL_RETIRE ||
	       m->header.type == PEAL_CONTROL_TELL_ALL;
}

/* Handles the control messages that have arrived, up to the first that needs
 * all lanes. Returns the loop action for that message, or 0. */
static PEAL_DEV PEAL_UNUSED inline int peali_control(struct peal_worker *w)
{
	struct peal_message m;

	while (!peali_link_peek_slowly(&w->state->control.link, &m)) {
		/* For the data that the host wrote before the message, for
		 * example a new actor's state. A GPU's first-level cache may
		 * hold older data. */
		peal_fence_acquire_sys();
		if (peali_control_crowd(&m) || peali_control_restarts(w, &m)) {
			w->message = m;
			w->state->source.turns_since_poll =
				PEALI_CONTROL_POLL_INTERVAL; /* poll again */
			return peali_control_crowd(&m) ? PEALI_ACT_SPAWN :
							 PEALI_ACT_SUPERVISE;
		}
		peali_control_done(w, &m, peali_control_handle(w, &m));
	}
	return 0;
}

/* ---- lifetime ------------------------------------------------------------ */

/* Notes the phase and the result of a worker that ends. */
static PEAL_DEV PEAL_UNUSED inline int
peali_worker_exit(struct peal_worker *w, uint64_t phase, int result)
{
	if (peali_timers_set(w))
		peali_timers_stopped(w);
	if (peali_own_asks(w))
		peali_asks_stopped(w);
	w->state->epoch.exit_phase = phase;
	w->state->epoch.exit_result = result;
	return PEALI_ACT_EXIT;
}

/*
 * Ends the worker. Publishes its counters, its result and then its phase. The
 * loop calls this, and peali_worker_exit does not: a deeper call would need more
 * registers. Any lane.
 */
PEALI_SLOW(void, peali_worker_ended, struct peal_worker *w)
{
	if (!peal_is_leader(w))
		return;
	if (PEALI_USES(REQUESTS))
		peali_requests_stopped(w);
	peali_publish_counters(w);
	peal_store_relaxed_sys(&w->status->result,
			       (uint64_t)-w->state->epoch.exit_result);
	peal_store_release_sys(&w->status->phase, w->state->epoch.exit_phase);
}

/*
 * Returns 1 if the host has been silent for longer than the lease. The last
 * quarter of the lease has to pass between two looks of this worker. The whole
 * process may have been stopped for a while. The host can then renew the lease
 * first.
 */
static PEAL_DEV PEAL_INLINE int peali_lease_over(struct peal_worker *w,
						 uint64_t now)
{
	struct peal_worker_state *s = w->state;
	uint64_t lease = peal_load_relaxed_sys(&w->control->lease);
	uint64_t bound = w->params->lease_ns;

	if (lease != s->lease.word) {
		s->lease.word = lease;
		s->lease.seen_ns = now;
		s->lease.doubt_ns = 0;
		peali_clock_poll(w, lease);
	} else if (bound && !s->lease.doubt_ns &&
		   now - s->lease.seen_ns > bound - bound / 4) {
		s->lease.doubt_ns = now;
	} else if (s->lease.doubt_ns && now - s->lease.doubt_ns > bound / 4) {
		return 1;
	}
	return 0;
}

/*
 * Returns 1 if it is time to return and be launched again. It returns 0 at the
 * first look of an epoch. So each epoch does some work, however short it is.
 */
static PEAL_DEV PEAL_INLINE int peali_epoch_over(struct peal_worker *w,
						 uint64_t now)
{
	struct peal_worker_state *s = w->state;

	if (!w->params->epoch_ns || s->epoch.polls++ == 0 ||
	    now - s->epoch.began_ns <= w->params->epoch_ns)
		return 0;
	if (!s->published.suspended) /* else it stays SUSPENDED over the epoch */
		peal_store_release_sys(&w->status->phase, PEAL_WORKER_EPOCH);
	return 1;
}

/* Polls the control words and control messages, and publishes the heartbeat.
 * Waits while the worker is suspended. Returns 0 to go on, else an action. */
PEALI_SLOW(int, peali_poll_control, struct peal_worker *w)
{
	struct peal_worker_state *s = w->state;
	uint32_t i;
	int suspend;

	s->source.turns_since_poll = 0;
	w->fits_left = 0; /* ports and actors may change */
	peali_publish_counters(w);
	/* A worker gives credit back at once only by quarters of a link. A
	 * sender may need more space, and a busy worker has no pause. */
	peali_settle(w);
	for (;;) {
		uint64_t now;

		if (peal_load_relaxed_sys(&w->control->stop))
			return peali_worker_exit(w, PEAL_WORKER_STOPPED, 0);
		i = (uint32_t)peali_control(w);
		if (i)
			return (int)i;
		for (i = 0; i < s->table.n_outputs; i++)
			if (w->outputs[i].switching)
				peali_switch(&w->outputs[i]);
		peal_store_relaxed_sys(&w->status->heartbeat,
				       ++s->count.heartbeat);
		now = peal_clock_ns();
		peal_store_relaxed_sys(&w->status->clock_latest, now);
		if (peali_lease_over(w, now))
			return peali_worker_exit(w, PEAL_WORKER_FAILED,
						 PEAL_ELEASE);
		suspend = peal_load_acquire_sys(&w->control->suspend) != 0;
		if (suspend && !s->published.suspended) {
			s->published.suspended = 1;
			peal_store_release_sys(&w->status->phase,
					       PEAL_WORKER_SUSPENDED);
		}
		if (peali_epoch_over(w, now))
			return PEALI_ACT_EPOCH;
		if (!suspend)
			break;
		s->source.idle = 257;
		peali_wait_turn(w, 1);
	}
	if (s->published.suspended) {
		s->published.suspended = 0;
		s->source.idle = 1;
		peali_wait_reset(w);
		peal_store_release_sys(&w->status->phase, PEAL_WORKER_RUNNING);
	}
	peal_store_relaxed_sys(&w->status->idle_turns, s->count.idle_turns);
	return 0;
}

#endif
