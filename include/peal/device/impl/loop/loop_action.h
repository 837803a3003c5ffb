/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_DEVICE_LOOP_ACTION_H
#define PEAL_DEVICE_LOOP_ACTION_H

#include <peal/device/lanes.h>

/* What the leader and the other lanes tell each other of a turn: what it comes
 * to, and whether a handler has failed. The loop and poll_hooks.h call it. */

/* What a turn of the loop comes to. */
#define PEALI_ACT_EXIT (-1) /* the worker ends for good */
#define PEALI_ACT_SEND_DOWNS (-2) /* the leader sends down messages */
#define PEALI_ACT_RUN_HOOKS (-8) /* an init or an exit is to run, if it can */
#define PEALI_ACT_UNCOUNT                                                      \
	(-4) /* the leader counts a message as waiting no more */
#define PEALI_ACT_FORWARD_KERNEL                                               \
	(-10) /* it passes a message on to another kernel */
#define PEALI_ACT_EPOCH 2 /* it returns to be launched again */
#define PEALI_ACT_HANDLE 1
#define PEALI_ACT_RETRY 3 /* an input has something: try it */
#define PEALI_ACT_FETCH 4 /* the lanes fetch slots of a mirror */
#define PEALI_ACT_FORWARD_MAIL                                                 \
	5 /* the leader moves an input's messages to mailboxes */
#define PEALI_ACT_SPAWN 6 /* the lanes make actors, or the leader ends some */
#define PEALI_ACT_DROP 7 /* the leader takes a message off that nobody gets */
#define PEALI_ACT_SUPERVISE 8 /* an actor has failed that has a supervisor */
#define PEALI_ACT_FIRE_TIMERS 9 /* the leader puts what is due into mailboxes */
/* from here on for pools */
#define PEALI_ACT_TO_POOL                                                      \
	10 /* the leader moves an input's messages to a pool */
#define PEALI_ACT_FROM_POOL 11 /* it takes a pool's next message */

/* Collective: the leader's turn, its message and its actor to every lane. */
static PEAL_DEV PEAL_INLINE int peali_broadcast_action(struct peal_worker *w,
						       int turn)
{
	if (peal_lanes(w) == 1)
		return turn;
#if PEAL_ON_HOST
	if (peal_is_leader(w)) {
		w->state->turn = turn;
		w->state->message = w->message;
	}
	peal_sync(w);
	turn = w->state->turn;
	w->message = w->state->message;
	w->actor = (struct peal_actor_entry *)(uintptr_t)w->params->actors +
		   PEAL_ACTOR_INDEX(w->message.header.actor);
	peal_sync(w);
#else
	/* the lanes have left the last message at peali_gather_result */
	if (peal_is_leader(w))
		w->turn = turn;
	peal_sync(w);
	turn = w->turn;
#endif
	return turn;
}

/* Collective: whether any lane's handler has failed, to the leader: its own
 * error, or PEAL_EHANDLER if it has none; all have left. */
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
		w->failed = 1;
		if (peal_is_leader(w))
			w->error = result;
	}
	peal_sync(w);
	if (PEAL_LIKELY(!peal_is_leader(w) || !w->failed))
		return 0;
	w->failed = 0; /* no lane fails again before it has got a turn */
	result = w->error ? w->error : PEAL_EHANDLER;
	w->error = 0;
	return result;
#endif
}

#endif
