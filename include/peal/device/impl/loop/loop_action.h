/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_DEVICE_LOOP_ACTION_H
#define PEAL_DEVICE_LOOP_ACTION_H

#include <peal/device/atomic.h>
#include <peal/device/lanes.h>

/* Exchange between the leader and the other lanes in a turn. The leader tells
 * them the action of the turn. They tell it whether a handler has failed. The
 * loop and poll_hooks.h call these functions. */

/* The actions of a turn of the loop. */
#define PEALI_ACT_EXIT (-1) /* the worker ends, without a new launch */
#define PEALI_ACT_SEND_DOWNS (-2) /* the leader sends down messages */
#define PEALI_ACT_RUN_HOOKS (-8) /* an init or an exit runs, if it can */
#define PEALI_ACT_UNCOUNT                                                      \
	(-4) /* the leader counts a message as no longer waiting */
#define PEALI_ACT_FORWARD_KERNEL                                               \
	(-10) /* the leader forwards a message to another kernel */
#define PEALI_ACT_EPOCH 2 /* the worker returns, for a new launch */
#define PEALI_ACT_HANDLE 1
#define PEALI_ACT_RETRY 3 /* an input is ready: try it */
#define PEALI_ACT_FETCH 4 /* the lanes fetch slots of a mirror */
#define PEALI_ACT_FORWARD_MAIL                                                 \
	5 /* the leader moves an input's messages to mailboxes */
#define PEALI_ACT_SPAWN                                                        \
	6 /* the lanes make actors, or the leader ends or tells some */
#define PEALI_ACT_DROP 7 /* the leader drops a message as dead */
/* an actor has failed, with a supervisor or monitors, or the host restarts a
 * supervisor's members */
#define PEALI_ACT_SUPERVISE 8
#define PEALI_ACT_FIRE_TIMERS 9 /* the leader sends due messages of timers */
#define PEALI_ACT_TO_ALL (-12) /* searches an actor for a message to all */
/* from here on: actions for pools */
#define PEALI_ACT_TO_POOL                                                      \
	10 /* the leader moves an input's messages to a pool */
#define PEALI_ACT_FROM_POOL 11 /* the leader takes a pool's next message */

/* Collective: broadcasts the leader's action, its message and its actor.
 * Returns the action. */
static PEAL_DEV PEAL_INLINE int peali_broadcast_action(struct peal_worker *w,
						       int turn)
{
	if (peal_lanes(w) == 1)
		return turn;
#if PEAL_ON_HOST
	if (peal_is_leader(w)) {
		w->state->lane.turn = turn;
		w->state->lane.message = w->message;
	}
	peal_sync(w);
	turn = w->state->lane.turn;
	w->message = w->state->lane.message;
	w->actor = (struct peal_actor_entry *)(uintptr_t)w->params->actors +
		   PEAL_ACTOR_INDEX(w->message.header.actor);
	peal_sync(w);
#else
	/* all lanes left the last message in peali_gather_result */
	if (peal_is_leader(w))
		w->turn = turn;
	peal_sync(w);
	turn = w->turn;
#endif
	return turn;
}

/* The worker polls the control words before its next message. For the leader. */
static PEAL_DEV PEAL_INLINE void peali_poll_soon(const struct peal_worker *w)
{
	w->state->source.burst_left = 0;
	w->state->source.turns_since_poll = PEALI_CONTROL_POLL_INTERVAL;
}

#if !PEAL_ON_HOST
/* Does what the events of the lanes ask for. Returns as peali_gather_result. */
static PEAL_DEV PEAL_INLINE int peali_gather_events(struct peal_worker *w)
{
	int result = w->error ? w->error : PEAL_EHANDLER;

	if (peal_load_lanes_u32(&w->aborted))
		peali_poll_soon(w);
	if (!peal_load_lanes_u32(&w->failed))
		result = 0;
	w->events = w->failed = w->aborted = 0; /* no lane is in a handler */
	w->error = 0;
	return result;
}
#endif

/* Collective: tells the leader if the handler of any lane has failed. The
 * leader gets its own error, or PEAL_EHANDLER if only other lanes have failed.
 * All lanes have left the handler when the leader returns. */
static PEAL_DEV PEAL_INLINE int peali_gather_result(struct peal_worker *w,
						    int result)
{
	if (peal_lanes(w) == 1)
		return result;
#if PEAL_ON_HOST
	if (!peal_vote_any(w, result != 0))
		return 0;
	return result ? result : PEAL_EHANDLER;
#else
	if (PEAL_UNLIKELY(result)) {
		peal_store_lanes_u32(&w->failed, 1);
		peal_store_lanes_u32(&w->events, 1);
		if (peal_is_leader(w))
			w->error = result;
	}
	peal_sync(w);
	if (PEAL_LIKELY(!peal_is_leader(w) || !peal_load_lanes_u32(&w->events)))
		return 0;
	return peali_gather_events(w);
#endif
}

#endif
