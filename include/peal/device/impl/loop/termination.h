/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_DEVICE_TERMINATION_H
#define PEAL_DEVICE_TERMINATION_H

#include <peal/device/impl/loop/control.h>
#include <peal/device/impl/worker/pool.h>

/*
 * A worker ends with its kernel when no message can come any more. For the
 * leader. The loop calls it.
 */

/* Returns the number of messages ever put into all mailboxes and pools, if all
 * are handled. Otherwise returns -1. */
static PEAL_DEV PEAL_UNUSED inline uint64_t
peali_mail_handled(const struct peal_worker *w)
{
	uint64_t n = 0, pooled;
	uint32_t i;

	for (i = 0; i < peali_pools(w); i++) {
		if (!w->pools[i].set)
			continue;
		pooled = peali_pool_handled(w, &w->pools[i]);
		if (pooled == ~0ULL)
			return ~0ULL;
		n += pooled;
	}
	for (i = 0; i < peali_boxes(w); i++) {
		const struct peal_mailbox *m = peali_mailbox(w, i);
		/* R3: a worker that sees a message as taken also sees the
		 * tickets of all messages that its handler told. */
		uint64_t head = peal_load_acquire_dev(&m->head);

		if (peal_load_relaxed_dev(&m->ticket) != head)
			return ~0ULL;
		n += head;
	}
	return n;
}

/* Whether a timer or ask of any worker is open. */
static PEAL_DEV PEAL_UNUSED inline int
peali_timers_open(const struct peal_worker *w)
{
	uint32_t i;

	for (i = 0; peali_own_timers(w) && i < w->params->n_workers; i++) {
		const struct peal_timers *t =
			(const struct peal_timers
				 *)((uintptr_t)peali_own_timers(w) +
				    (uintptr_t)((uint64_t)i *
						w->params->worker_stride) -
				    (uintptr_t)((uint64_t)w->index *
						w->params->worker_stride));

		/* A11: pairs with R11 in peali_timers_waiting. */
		if (peal_load_acquire_dev(&t->open))
			return 1;
	}
	return 0;
}

/* Whether any worker has down messages to send. */
static PEAL_DEV PEAL_UNUSED inline int
peali_downs_open(const struct peal_worker *w)
{
	/* A17: pairs with R17 in peali_down_over. */
	return peali_monitors(w) &&
	       peal_load_acquire_dev(&peali_monitors(w)->open);
}

/* Returns the flags of all workers, combined, if the inputs of all have ended.
 * Otherwise returns 0. */
static PEAL_DEV PEAL_UNUSED inline uint64_t
peali_all_drained(const struct peal_worker *w)
{
	const struct peal_worker_status *status =
		(const struct peal_worker_status *)(uintptr_t)w->params->status;
	uint64_t drained = 0;
	uint32_t i;

	for (i = 0; i < w->params->n_workers; i++) {
		/* A25: pairs with R25 in peali_fwd_links_close. */
		uint64_t level = peal_load_acquire_sys(&status[i].drained);

		if (!level)
			return 0;
		drained |= level;
	}
	/* else no worker has had an input yet */
	return drained & PEAL_DRAINED_ENDED ? drained : 0;
}

/* Whether no worker of the kernel has, or can get, anything to do. */
static PEAL_DEV PEAL_UNUSED inline int peali_quiet(const struct peal_worker *w)
{
	uint64_t handled;

	/*
	 * Tickets only grow. Let both looks find all messages handled, and the
	 * same number of messages. Then no message was in flight after the
	 * first look at the last mailbox. Otherwise the first such message
	 * would have come from one of these sources:
	 * - the handler of a message that was counted as handled,
	 * - the handler of a message of an input that has ended,
	 * - a timer,
	 * - a monitor, which is like a timer that was set,
	 * - an init, which is like a timer that was set.
	 *
	 * So no handler that could set a timer ran between the two looks. If no
	 * timer waits at the look at the timers, none waits later. If a timer's
	 * message went out before this look, the second look sees its ticket.
	 */
	handled = peali_mail_handled(w);
	return handled != ~0ULL && !peali_timers_open(w) &&
	       !peali_downs_open(w) && !peali_hooks_open(w) &&
	       peali_mail_handled(w) == handled;
}

/* The worker stops taking messages from forwarding links. */
static PEAL_DEV PEAL_UNUSED inline void
peali_fwd_links_close(struct peal_worker *w)
{
	struct peal_worker_state *s = w->state;
	uint32_t i;

	for (i = 0; i < s->table.n_inputs; i++)
		if (peali_is_fwd_link(&w->inputs[i]))
			w->inputs[i].flags = 0;
	s->published.drained &= ~(uint32_t)PEAL_DRAINED_OPEN;
	/* R25: pairs with A25 in peali_all_drained. A worker that sees this
	 * word sees all messages that the forwarding links have brought. */
	peal_store_release_sys(&w->status->drained, s->published.drained);
}

/* Publishes whether the worker's inputs have all ended and it shall end then.
 * Returns 1 if the same is true for all workers. A drain does not wait for
 * forwarding links, because their kernels may never end. When all else has
 * ended at all workers, the workers stop taking from forwarding links. So no
 * worker is told a message after it has ended. Messages that the links hold,
 * and later messages, are dead, reason "stopped". */
PEALI_SLOW(int, peali_inputs_over, struct peal_worker *w)
{
	struct peal_worker_state *s = w->state;
	uint32_t i, level, fwd_links = 0;
	uint64_t all;
	int drain;

	for (i = 0; i < s->table.n_inputs; i++) {
		uint32_t flags = w->inputs[i].flags;

		if (flags & PEAL_INPUT_USED && !(flags & PEAL_INPUT_FWD_LINK))
			return 0;
		fwd_links |= flags & PEAL_INPUT_USED;
	}
	drain = peal_load_relaxed_sys(&w->control->drain) == PEAL_DRAIN_INPUTS;
	if (!drain && (fwd_links || !w->params->drain_when_inputs_end))
		return 0;
	level = drain || s->table.n_ended ? PEAL_DRAINED_ENDED :
					    PEAL_DRAINED_NO_INPUT;
	level |= s->published.drained & PEAL_DRAINED_EXITED;
	if (fwd_links)
		level |= PEAL_DRAINED_OPEN;
	if (s->published.drained != level) {
		s->published.drained = level;
		peal_store_release_sys(&w->status->drained, level);
	}
	all = peali_all_drained(w);
	if (all && fwd_links)
		peali_fwd_links_close(w);
	return all && !(all & PEAL_DRAINED_OPEN);
}

/* Returns 1 if periodic timers end now: with the inputs, or earlier if the host
 * drains a group of kernels. */
static PEAL_DEV PEAL_UNUSED inline int peali_ticks_over(struct peal_worker *w)
{
	return peal_load_relaxed_sys(&w->control->drain) == PEAL_DRAIN_TIMERS ||
	       peali_inputs_over(w);
}

/* Ends a worker if its inputs have all ended, it shall end then, and no worker
 * has anything to do. Sends END marks first. Returns 0: not yet. */
PEALI_SLOW(int, peali_try_end, struct peal_worker *w)
{
	struct peal_worker_state *s = w->state;
	uint32_t i, waiting = 0;

	if (peali_timers_set(w) && peali_ticks_over(w))
		peali_timers_drained(w);
	if (!peali_inputs_over(w))
		return 0;
	if (!peali_quiet(w))
		return 0;
	if (PEAL_UNLIKELY(peali_uses_hooks(w)) &&
	    (!peali_exits_over(w) || !peali_quiet(w)))
		return 0;
	for (i = 0; i < s->table.n_outputs; i++) {
		struct peal_output *o = &w->outputs[i];

		if (o->used && o->switching)
			waiting = 1;
		else if (o->used && peali_is_topic(o->link.state))
			peali_publish_end(&o->link, o->topic);
		else if (o->used && !o->link.state &&
			 peal_link_push_mark(&o->link, PEAL_KIND_END))
			waiting = 1;
	}
	if (waiting)
		return 0;
	return peali_worker_exit(w, PEAL_WORKER_DRAINED, 0);
}

#endif
