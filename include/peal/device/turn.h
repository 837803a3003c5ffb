/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_DEVICE_TURN_H
#define PEAL_DEVICE_TURN_H

#include <peal/device/lanes.h>

/* What the leader and the other lanes tell each other of a turn: what it comes to,
 * and whether a handler has failed. The loop and take_hook.h call it. */

/* Collective: the leader's turn, its message and its actor to every lane. */
static PEAL_DEV PEAL_INLINE int peali_share_turn(struct peal_worker *w,
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
	/* the lanes have left the last message at peali_share_result */
	if (peal_is_leader(w))
		w->turn = turn;
	peal_sync(w);
	turn = w->turn;
#endif
	return turn;
}

/* Collective: whether any lane's handler has failed, to the leader: its own
 * error, or PEAL_EHANDLER if it has none; all have left. */
static PEAL_DEV PEAL_INLINE int peali_share_result(struct peal_worker *w,
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
