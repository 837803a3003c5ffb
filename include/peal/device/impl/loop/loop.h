/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_DEVICE_LOOP_H
#define PEAL_DEVICE_LOOP_H

#include <peal/device/impl/loop/monitor_deliver.h>
#include <peal/device/emit.h>
#include <peal/device/impl/loop/termination.h>
#include <peal/device/impl/loop/actor_restart.h>
#include <peal/device/impl/loop/poll_inputs.h>
#include <peal/device/impl/loop/poll_timers.h>

/*
 * The resident loop: one for all backends. The leader decides, the lanes
 * follow:
 *
 *	while (peal_loop_next(&w))
 *		peal_loop_done(&w, handler(&w));
 *
 * A message is taken only when everything that its handler may emit fits, so
 * that no handler ever waits for space.
 */

/* Looks at the inputs alone in one idle turn. */
#define PEALI_SPINS 32

/* ---- nothing to do ------------------------------------------------------- */

/*
 * Looks at the heads of all inputs and nothing else, some times: a message that
 * comes soon is seen within a few cycles. Only where nothing waits for space.
 * 1: the cursor is at one that has something.
 */
static PEAL_DEV PEAL_INLINE int peali_spin(struct peal_worker *w)
{
	uint32_t n = w->state->n_inputs, spin, i;

	for (spin = 0; spin < PEALI_SPINS; spin++) {
		for (i = 0; i < n; i++)
			if (w->inputs[i].flags & PEAL_INPUT_USED &&
			    peal_link_ready(&w->inputs[i].link)) {
				w->state->cursor = i;
				return 1;
			}
		if (PEAL_UNLIKELY(w->state->has_priority) &&
		    peali_priority_mail_ready(w))
			return 1;
		if (w->mailbox && peal_mailbox_ready(w->mailbox)) {
			w->state->cursor = n;
			return 1;
		}
		if (peali_pools(w)) {
			i = peali_pools_poll(w);
			if (i < peali_pools(w)) {
				w->state->cursor = n + 1 + i;
				return 1;
			}
		}
		peal_poll_gap();
	}
	return 0;
}

/* One turn of waiting; no sleep is longer than to the next timer. */
static PEAL_DEV PEAL_INLINE void peali_idle_wait(struct peal_worker *w,
						 uint32_t looks)
{
#if PEAL_ON_HOST
	if (PEAL_UNLIKELY(w->state->timers) && peali_wait_announced(w)) {
		peali_timers_wait(w, looks);
		return;
	}
#endif
	peali_wait_turn(w, looks);
}

/* One idle turn; 0 or PEALI_ACT_RETRY go on, else the loop ends with that
 * value. */
static PEAL_DEV PEAL_UNUSED inline int peali_idle(struct peal_worker *w)
{
	struct peal_worker_state *s = w->state;
	int end = 0;

	s->idle_turns++;
	if (s->idle++ == 0) {
		/* what was deferred, or an input that has ended, may come in
		 * the last look before a sleep: then that is not due yet */
		peali_wait_reset(w);
		if (s->n_inputs + (w->mailbox ? 1u : 0u) + peali_pools(w) > 0)
			peali_settle(w);
		/* messages for nobody could keep it from ever being idle */
		if (s->turns_since_poll++ >= PEALI_CONTROL_POLL_INTERVAL)
			end = peali_poll_control(w);
	} else {
		peali_publish_counters(w);
		if ((s->idle & 7) == 0 || s->idle > 256 ||
		    peali_wait_announced(w)) {
			end = peali_try_end(w);
			if (!end)
				end = peali_poll_control(w);
		}
	}
	if (end)
		return end;
	if (PEAL_UNLIKELY(s->timers) && peali_timers_ready(w, PEALI_BURST))
		return PEALI_ACT_FIRE_TIMERS;
	if (PEAL_UNLIKELY(s->downs) && peali_downs_ready(w))
		return PEALI_ACT_SEND_DOWNS;
	if (PEAL_UNLIKELY(s->hooks) && s->hook_may)
		return PEALI_ACT_RUN_HOOKS;
	if (!s->blocked && peali_spin(w)) {
		if (s->idle > 1) /* else there was no wait */
			peali_wait_reset(w);
		s->idle = 0;
		if (s->has_priority || s->cursor >= s->n_inputs)
			return 0; /* who is first; the mailbox, or a pool */
		peali_burst_start(w, PEALI_BURST);
		return s->burst_left ? PEALI_ACT_RETRY : 0;
	}
	if (s->blocked != s->blocked_published) {
		/* who makes space looks at it: it is there before a sleep is
		 * announced, so that the last look comes behind it */
		if (!s->blocked_published && peali_wait_announced(w))
			peali_wait_reset(w);
		s->blocked_published = s->blocked;
		peal_store_relaxed_sys(&w->status->blocked, s->blocked);
	}
	peali_idle_wait(w, s->blocked ? 1 : PEALI_SPINS);
	s->hook_may = 1;
	return 0;
}

/*
 * Whether the host wants this worker now. A GPU would wait longer for the
 * host's memory than a message takes: it hears of it at its next look.
 */
static PEAL_DEV PEAL_INLINE int peali_wanted(const struct peal_worker *w)
{
#if PEAL_ON_HOST
	return (peal_load_relaxed_sys(&w->control->stop) |
		peal_load_relaxed_sys(&w->control->suspend)) != 0;
#else
	(void)w;
	return 0;
#endif
}

/* A turn that is not simply the next message of a burst. */
PEALI_HOST_SLOW(int, peali_turn_slow, struct peal_worker *w)
{
	struct peal_worker_state *s = w->state;
	uint32_t turns = s->burst_quota - s->burst_left + 1;
	int end;

	s->turns_since_poll += turns;
	s->burst_quota = s->burst_left = 0;
	if (PEAL_UNLIKELY(s->failure))
		return PEALI_ACT_SUPERVISE;
	if (PEAL_UNLIKELY(s->downs) && !s->suspended && peali_downs_ready(w))
		return PEALI_ACT_SEND_DOWNS;
	if (PEAL_UNLIKELY(s->timers) && !s->suspended &&
	    peali_timers_ready(w, turns))
		return PEALI_ACT_FIRE_TIMERS;
	if (PEAL_UNLIKELY(s->hooks) && !s->suspended && peali_hooks_ready(w))
		return PEALI_ACT_RUN_HOOKS;
	/* the mailbox has its burst by staying in hand */
	if (s->mails == 0 || s->mails >= PEALI_BURST) {
		s->mails = 0;
		s->cursor++;
	}
	if (s->turns_since_poll >= PEALI_CONTROL_POLL_INTERVAL ||
	    peali_wanted(w)) {
		end = peali_poll_control(w);
		if (end)
			return end;
	}
	for (;;) {
		s->blocked = s->hook_blocked;
		if (peali_poll_inputs(w)) {
			if (PEAL_UNLIKELY(s->has_priority))
				peali_source_taken(w);
			if (s->idle)
				peali_wait_reset(w);
			s->idle = 0;
			return PEALI_ACT_HANDLE;
		}
		if (s->deferred_action)
			return s->deferred_action;
		end = peali_idle(w);
		if (PEAL_UNLIKELY(end))
			return end;
	}
}

/* The leader's turn: 1 a message in w->message, else the loop ends. */
static PEAL_DEV PEAL_INLINE int peali_turn(struct peal_worker *w)
{
	struct peal_worker_state *s = w->state;
	int turn;

	do {
		if (PEAL_LIKELY(s->burst_left) &&
		    PEAL_LIKELY(!peali_wanted(w))) {
			s->burst_left--;
			if (PEAL_LIKELY(peali_input_poll(w, s->cursor)))
				return PEALI_ACT_HANDLE;
			if (s->deferred_action) /* and then the rest of the
						 * burst */
				return s->deferred_action;
		}
		turn = peali_turn_slow(w);
	} while (turn == PEALI_ACT_RETRY);
	return turn;
}

/* The same, with what pools need done between two turns. */
static PEAL_DEV PEAL_INLINE int peali_turns(struct peal_worker *w)
{
	int turn = peali_turn(w);

	while (PEAL_USES_POOLS && PEAL_UNLIKELY(turn >= PEALI_ACT_TO_POOL)) {
		if (peali_pool_deferred(w)) {
			w->state->idle = 0;
			return PEALI_ACT_HANDLE;
		}
		turn = peali_turn(w);
	}
	return turn;
}

/* ---- between two turns --------------------------------------------------- */

/* The handler of the message in hand has returned an error: it is dead, at once
 * or when those that restart for it have been marked. */
PEALI_SLOW(void, peali_failed, struct peal_worker *w, int result)
{
	if (result == PEAL_EDUPLICATE && w->state->mail != PEALI_HOOK) {
		peali_fail_message(w, result); /* which is no failure */
		return;
	}
	peal_store_relaxed_sys(&w->status->failed, ++w->state->failed);
	if (!peali_note_failure(w, result))
		peali_fail_message(w, result);
}

/* Collective: fetches what the leader wants in a mirror. */
PEALI_SLOW(void, peali_fetch, struct peal_worker *w)
{
	struct peal_worker_state *s = w->state;
	struct peal_link_consumer *c = &w->inputs[s->deferred_arg].link;
	uint32_t slots = peali_mirror_fetch(c, peal_lane(w), peal_lanes(w));

	peal_sync(w);
	if (!peal_is_leader(w))
		return;
	peali_mirror_fetched(c, slots);
	s->deferred_action = 0;
	s->idle = 0;
}

/* ---- what the entry calls ------------------------------------------------ */

/**
 * Collective: waits for the next message that can be handled.
 *
 * @param w the worker
 * @return 1 its handler shall run: w->message, w->actor; 0 the worker ends.
 *         Never longer without a look at the control words than 512 polls of
 *         an input each, or 96 messages.
 */
static PEAL_DEV PEAL_INLINE int peal_loop_next(struct peal_worker *w)
{
	int turn = 0;

	for (;;) {
		if (peal_is_leader(w)) {
			turn = peali_turns(w);
			if (turn == PEALI_ACT_HANDLE)
				peali_publish_inflight(
					w,
					PEAL_INFLIGHT(w->message.header.actor,
						      w->message.header.type,
						      w->message.input));
		}
		turn = peali_broadcast_action(w, turn);
		if (PEAL_LIKELY(turn == PEALI_ACT_HANDLE))
			return 1;
		if (turn == PEALI_ACT_FETCH)
			peali_fetch(w);
		else if (turn == PEALI_ACT_DROP)
			peali_drop_dead(w);
		else if (turn == PEALI_ACT_SPAWN)
			peali_spawn(w);
		else if (turn == PEALI_ACT_SUPERVISE)
			peali_supervise(w);
		else if (turn == PEALI_ACT_FIRE_TIMERS)
			peali_timers_turn(w);
		else if (turn == PEALI_ACT_SEND_DOWNS)
			peali_downs_turn(w);
		else if (turn == PEALI_ACT_UNCOUNT)
			peali_limits_turn(w);
		else if (turn == PEALI_ACT_FORWARD_KERNEL) {
			if (peali_actor_forward_turn(w))
				peali_drop_dead(w);
		} else if (turn == PEALI_ACT_RUN_HOOKS) {
			if (peali_hooks_turn(w))
				return 1;
		} else if (turn != PEALI_ACT_FORWARD_MAIL)
			break;
		else
			peali_mail_forward(w);
	}
	if (PEAL_ON_HOST)
		w->ended = turn == PEALI_ACT_EPOCH;
	return 0;
}

/**
 * Collective: ends the message in hand, as delivered or, with an error of its
 * handler, as dead.
 *
 * @param w      the worker
 * @param result of the handler: 0, or PEAL_E...
 */
static PEAL_DEV PEAL_INLINE void peal_loop_done(struct peal_worker *w,
						int result)
{
	struct peal_worker_state *s = w->state;

	result = peali_gather_result(w, result);
	if (!peal_is_leader(w))
		return;
	s->handled++;
	if (PEAL_UNLIKELY(result))
		peali_failed(w, result);
	else if (PEAL_UNLIKELY(s->mail))
		peali_mail_done(w, 0);
	else
		peal_link_release(&w->inputs[w->message.input].link,
				  &w->message);
}

#endif
