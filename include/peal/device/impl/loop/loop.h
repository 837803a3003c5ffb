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
 * The resident loop, the same code for all backends. The leader decides, and
 * the other lanes follow:
 *
 *	while (peal_loop_next(&w))
 *		peal_loop_done(&w, handler(&w));
 *
 * The loop takes a message only when everything fits that its handler may emit.
 * So no handler ever waits for space.
 */

/* Polls of the inputs alone in one idle turn. */
#define PEALI_SPINS 32

/* ---- idle turns ---------------------------------------------------------- */

/*
 * Polls the heads of all inputs and nothing else, PEALI_SPINS times. So the
 * worker sees a message that comes soon within a few cycles. Call it only if
 * nothing waits for space. Returns 1 if the source at the cursor has a message.
 */
static PEAL_DEV PEAL_INLINE int peali_spin(struct peal_worker *w)
{
	uint32_t n = w->state->table.n_inputs, lap = 0, spin, i;
	struct peal_input *inputs = w->inputs;
	struct peal_mailbox *box = peali_own_mailbox(w);
	const uint8_t *slot = box ? peali_mailbox_next(box, &lap) : 0;

	for (spin = 0; spin < PEALI_SPINS; spin++) {
		for (i = 0; i < n; i++)
			if (inputs[i].flags & PEAL_INPUT_USED &&
			    peal_link_ready(&inputs[i].link)) {
				w->state->source.cursor = i;
				return 1;
			}
		if (PEAL_UNLIKELY(peali_prioritized(w)) &&
		    peali_priority_mail_ready(w))
			return 1;
		if (slot &&
		    peal_slot_ready(peali_policy(box->policy), slot, lap)) {
			w->state->source.cursor = n;
			return 1;
		}
		if (peali_pools(w)) {
			i = peali_pools_poll(w);
			if (i < peali_pools(w)) {
				w->state->source.cursor = n + 1 + i;
				return 1;
			}
		}
		peal_poll_gap();
	}
	return 0;
}

/* Waits for one turn. A sleep lasts at most to the next timer. */
static PEAL_DEV PEAL_INLINE void peali_idle_wait(struct peal_worker *w,
						 uint32_t looks)
{
#if PEAL_ON_HOST
	if (PEAL_UNLIKELY(peali_timers_set(w)) && peali_wait_announced(w)) {
		peali_timers_wait(w, looks);
		return;
	}
#endif
	peali_wait_turn(w, looks);
}

/* Does one idle turn. Returns 0 or PEALI_ACT_RETRY to go on. With any other
 * value the loop ends, or does that action between two turns. */
static PEAL_DEV PEAL_UNUSED inline int peali_idle(struct peal_worker *w)
{
	struct peal_worker_state *s = w->state;
	int end = 0;

	s->count.idle_turns++;
	if (s->source.idle++ == 0) {
		/* A deferred action or an ended input may come in the last
		 * look before a sleep. The sleep is then not due yet. */
		peali_wait_reset(w);
		peali_publish_links(w);
		if (s->table.n_inputs + (peali_own_mailbox(w) ? 1u : 0u) +
			    peali_pools(w) >
		    0)
			peali_settle(w);
		/* messages without a receiver could keep the worker from
		 * ever being idle */
		if (s->source.turns_since_poll++ >= PEALI_CONTROL_POLL_INTERVAL)
			end = peali_poll_control(w);
	} else {
		peali_publish_counters(w);
		if ((s->source.idle & 7) == 0 || s->source.idle > 256 ||
		    peali_wait_announced(w)) {
			end = peali_try_end(w);
			if (!end)
				end = peali_poll_control(w);
		}
	}
	if (end)
		return end;
	if (PEAL_UNLIKELY(peali_timers_set(w)) &&
	    peali_timers_ready(w, PEALI_BURST))
		return PEALI_ACT_FIRE_TIMERS;
	if (PEAL_UNLIKELY(peali_has_due_downs(w)) && peali_downs_ready(w))
		return PEALI_ACT_SEND_DOWNS;
	if (PEAL_UNLIKELY(peali_has_due_hooks(w)) && s->hook.may)
		return PEALI_ACT_RUN_HOOKS;
	if (!s->published.blocked_now && peali_spin(w)) {
		if (s->source.idle > 1) /* else the worker did not wait */
			peali_wait_reset(w);
		s->source.idle = 0;
		if (peali_prioritized(w) ||
		    s->source.cursor >= s->table.n_inputs)
			return 0; /* poll by priority; or mailbox, or pool */
		peali_burst_start(w, PEALI_BURST);
		peali_inflight_source(w, s->source.cursor);
		return s->source.burst_left ? PEALI_ACT_RETRY : 0;
	}
	if (s->published.blocked_now != s->published.blocked) {
		/* A worker that frees space reads this word. It is stored
		 * before a sleep is announced: the last look comes later. */
		if (!s->published.blocked && peali_wait_announced(w))
			peali_wait_reset(w);
		s->published.blocked = s->published.blocked_now;
		peal_store_relaxed_sys(&w->status->blocked,
				       s->published.blocked_now);
	}
	peali_idle_wait(w, s->published.blocked_now ? 1 : PEALI_SPINS);
	s->hook.may = 1;
	return 0;
}

/*
 * Returns 1 if the host wants to stop or suspend this worker now. A GPU would
 * wait longer for host memory than a message takes. A GPU worker notices at its
 * next poll of the control words.
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

/* Does a turn that is not simply the next message of a burst. */
PEALI_HOST_SLOW(int, peali_turn_slow, struct peal_worker *w)
{
	struct peal_worker_state *s = w->state;
	uint32_t turns = s->source.burst_quota - s->source.burst_left + 1;
	int end;

	s->source.turns_since_poll += turns;
	s->source.burst_quota = s->source.burst_left = 0;
	if (PEALI_USES(SUPERVISION) && PEAL_UNLIKELY(s->failure))
		return PEALI_ACT_SUPERVISE;
	if (PEAL_UNLIKELY(peali_has_due_downs(w)) && !s->published.suspended &&
	    peali_downs_ready(w))
		return PEALI_ACT_SEND_DOWNS;
	if (PEAL_UNLIKELY(peali_timers_set(w)) && !s->published.suspended &&
	    peali_timers_ready(w, turns))
		return PEALI_ACT_FIRE_TIMERS;
	if (PEAL_UNLIKELY(peali_has_due_hooks(w)) && !s->published.suspended &&
	    peali_hooks_ready(w))
		return PEALI_ACT_RUN_HOOKS;
	/* the mailbox gets its burst: it stays the current source */
	if (s->source.mail_run == 0 || s->source.mail_run >= PEALI_BURST) {
		s->source.mail_run = 0;
		s->source.cursor++;
	}
	if (s->source.turns_since_poll >= PEALI_CONTROL_POLL_INTERVAL ||
	    peali_wanted(w)) {
		end = peali_poll_control(w);
		if (end)
			return end;
	}
	for (;;) {
		s->published.blocked_now =
			peali_uses_hooks(w) ? s->hook.blocked : 0;
		if (peali_poll_inputs(w)) {
			if (PEAL_UNLIKELY(peali_prioritized(w)))
				peali_source_taken(w);
			if (s->source.idle)
				peali_wait_reset(w);
			s->source.idle = 0;
			peali_inflight_source(w, w->message.input);
			return PEALI_ACT_HANDLE;
		}
		if (s->deferred.action)
			return s->deferred.action;
		end = peali_idle(w);
		if (PEAL_UNLIKELY(end))
			return end;
	}
}

/* Does the leader's turn. Returns PEALI_ACT_HANDLE for a message in w->message.
 * With any other value the loop ends, or does that action. */
static PEAL_DEV PEAL_INLINE int peali_turn(struct peal_worker *w)
{
	struct peal_worker_state *s = w->state;
	int turn;

	do {
		if (PEAL_LIKELY(s->source.burst_left) &&
		    PEAL_LIKELY(!peali_wanted(w))) {
			s->source.burst_left--;
			if (PEAL_LIKELY(peali_input_poll(w, s->source.cursor)))
				return PEALI_ACT_HANDLE;
			if (s->deferred.action) /* the rest of the burst
						 * follows */
				return s->deferred.action;
		}
		turn = peali_turn_slow(w);
	} while (turn == PEALI_ACT_RETRY);
	return turn;
}

/* As peali_turn. Also does deferred actions of pools between two turns. */
static PEAL_DEV PEAL_INLINE int peali_turns(struct peal_worker *w)
{
	int turn = peali_turn(w);

	while (PEALI_USES(POOLS) && PEAL_UNLIKELY(turn >= PEALI_ACT_TO_POOL)) {
		if (peali_pool_deferred(w)) {
			w->state->source.idle = 0;
			peali_inflight_source(w, w->message.input);
			return PEALI_ACT_HANDLE;
		}
		turn = peali_turn(w);
	}
	return turn;
}

/* ---- between two turns --------------------------------------------------- */

/* Ends the current message after its handler has returned an error. The message
 * is dead, either at once or after the actors that restart for it have been
 * marked. */
PEALI_SLOW(void, peali_failed, struct peal_worker *w, int result)
{
	if (result == PEAL_EDUPLICATE &&
	    w->state->source.current != PEALI_HOOK) {
		peali_fail_message(w, result); /* a duplicate is no failure */
		return;
	}
	peali_publish_links(w); /* the host may look for the failed message */
	peal_store_relaxed_sys(&w->status->failed, ++w->state->count.failed);
	peali_failure_note(w,
			   peal_is_init(w) ? PEAL_FAILED_INIT :
			   peal_is_exit(w) ? PEAL_FAILED_EXIT :
					     PEAL_FAILED_HANDLER,
			   w->message.header.actor, 0, result);
	if (!peali_note_failure(w, result))
		peali_fail_message(w, result);
}

/* Collective: fetches slots to a mirror for the leader. */
PEALI_SLOW(void, peali_fetch, struct peal_worker *w)
{
	struct peal_worker_state *s = w->state;
	struct peal_link_consumer *c = &w->inputs[s->deferred.arg].link;
	uint32_t slots = peali_mirror_fetch(c, peal_lane(w), peal_lanes(w));

	peal_sync(w);
	if (!peal_is_leader(w))
		return;
	peali_mirror_fetched(c, slots);
	s->deferred.action = 0;
	s->source.idle = 0;
}

/* ---- functions of the kernel's entry ------------------------------------- */

/**
 * Waits for the next message that can be handled. Collective.
 *
 * The loop looks at the control words at least after 512 polls of each input.
 * While messages come, it does so after at most 96 messages or batches.
 *
 * @param w the worker
 * @return 1: run the handler for w->message and w->actor. 0: the worker ends.
 */
static PEAL_DEV PEAL_INLINE int peal_loop_next(struct peal_worker *w)
{
	int turn = 0;

	for (;;) {
		if (peal_is_leader(w)) {
			turn = peali_turns(w);
			if (turn == PEALI_ACT_HANDLE)
				peali_publish_message(w);
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
		else if (PEALI_USES(SUPERVISION) && turn == PEALI_ACT_SUPERVISE)
			peali_supervise(w);
		else if ((PEALI_USES(TIMERS) || PEALI_USES(ASKS)) &&
			 turn == PEALI_ACT_FIRE_TIMERS)
			peali_timers_turn(w);
		else if (PEALI_USES(SUPERVISION) &&
			 turn == PEALI_ACT_SEND_DOWNS)
			peali_downs_turn(w);
		else if (PEALI_USES(LIMITS) && turn == PEALI_ACT_UNCOUNT)
			peali_limits_turn(w);
		else if (PEALI_USES(MIGRATION) &&
			 turn == PEALI_ACT_FORWARD_KERNEL) {
			if (peali_actor_forward_turn(w))
				peali_drop_dead(w);
		} else if (PEALI_USES(HOOKS) && turn == PEALI_ACT_RUN_HOOKS) {
			if (peali_hooks_turn(w))
				return 1;
		} else if (PEALI_USES(MAIL) && turn == PEALI_ACT_TO_ALL)
			peali_round_turn(w);
		else if (PEALI_USES(MAIL) && turn == PEALI_ACT_FORWARD_MAIL)
			peali_mail_forward(w);
		else
			break;
	}
	if (peal_is_leader(w))
		peali_publish_links(w);
	peali_hot_end(w);
	if (turn == PEALI_ACT_EXIT)
		peali_worker_ended(w);
	if (PEAL_ON_HOST)
		w->ended = turn == PEALI_ACT_EPOCH;
	return 0;
}

/**
 * Ends the current message, as delivered or as dead. Collective.
 *
 * @param w      the worker
 * @param result the handler's result: 0, or PEAL_E... for a dead message
 */
static PEAL_DEV PEAL_INLINE void peal_loop_done(struct peal_worker *w,
						int result)
{
	struct peal_worker_state *s = w->state;

	result = peali_gather_result(w, result);
	if (!peal_is_leader(w))
		return;
	s->count.handled++;
	if (PEALI_USES(REQUESTS) &&
	    PEAL_UNLIKELY(w->message.header.flags & PEAL_FLAG_REQUEST) &&
	    !result)
		peali_request_over(w);
	if (PEAL_UNLIKELY(result))
		peali_failed(w, result);
	else if (PEALI_HAS_OTHER_SOURCES && PEAL_UNLIKELY(s->source.current))
		peali_mail_done(w, 0);
	else
		peali_input_release(w, &w->inputs[w->message.input]);
	peali_publish_in_time(w);
}

#endif
