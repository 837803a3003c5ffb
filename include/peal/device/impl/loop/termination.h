/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_DEVICE_TERMINATION_H
#define PEAL_DEVICE_TERMINATION_H

#include <peal/device/impl/loop/control.h>
#include <peal/device/impl/worker/pool.h>

/*
 * How a worker ends with its kernel, once nothing can come any more. For the
 * leader; the loop calls it.
 */

/* The messages that were put into all mailboxes and pools, if all are handled;
 * or -1. */
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
		/* R3: who sees a message taken off sees all tickets of those
		 * that its handler told. */
		uint64_t head = peal_load_acquire_dev(&m->head);

		if (peal_load_relaxed_dev(&m->ticket) != head)
			return ~0ULL;
		n += head;
	}
	return n;
}

/* Whether no timer of any worker waits. */
static PEAL_DEV PEAL_UNUSED inline int
peali_timers_open(const struct peal_worker *w)
{
	uint32_t i;

	for (i = 0; w->timers && i < w->params->n_workers; i++) {
		const struct peal_timers *t =
			(const struct peal_timers
				 *)((uintptr_t)w->timers +
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

/* Whether a worker has down messages to send. */
static PEAL_DEV PEAL_UNUSED inline int
peali_downs_open(const struct peal_worker *w)
{
	/* A17: pairs with R17 in peali_down_over. */
	return peali_monitors(w) &&
	       peal_load_acquire_dev(&peali_monitors(w)->open);
}

/* What all workers say, if the inputs of all have ended; or 0. */
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
	/* else no input has come yet */
	return drained & PEAL_DRAINED_ENDED ? drained : 0;
}

/* Whether no worker of the kernel has, or can get, anything to do. */
static PEAL_DEV PEAL_UNUSED inline int peali_quiet(const struct peal_worker *w)
{
	uint64_t handled;

	/*
	 * Tickets only grow. If twice all were handled and they were as many,
	 * then after the first look at the last mailbox no message was under
	 * way: the first that was would have been told by a handler of one that
	 * was counted as handled, or of an input that has ended; or by a timer;
	 * or for a monitor, which is as a timer that was set; or by an init,
	 * which is, too. So between the two looks no handler ran that could set
	 * one: where none waits there is none any more, and if one went out
	 * before that was looked at, the second look sees its ticket.
	 */
	handled = peali_mail_handled(w);
	return handled != ~0ULL && !peali_timers_open(w) &&
	       !peali_downs_open(w) && !peali_hooks_open(w) &&
	       peali_mail_handled(w) == handled;
}

/* The worker takes nothing from forwarding links any more. */
static PEAL_DEV PEAL_UNUSED inline void
peali_fwd_links_close(struct peal_worker *w)
{
	struct peal_worker_state *s = w->state;
	uint32_t i;

	for (i = 0; i < s->n_inputs; i++)
		if (peali_is_fwd_link(&w->inputs[i]))
			w->inputs[i].flags = 0;
	s->drained &= ~(uint32_t)PEAL_DRAINED_OPEN;
	/* R25: pairs with A25 in peali_all_drained: who sees it sees all that
	 * they have brought. */
	peal_store_release_sys(&w->status->drained, s->drained);
}

/* Says whether the worker's inputs have all ended and it is to end then: 1 if
 * the same is so of all workers. A drain does not wait for forwarding links:
 * their kernels may never end. When all else has ended at all workers these
 * take nothing from forwarding links any more, so that none of them is told
 * something when it has ended itself; and what is there or comes later is dead,
 * reason "stopped". */
PEALI_SLOW(int, peali_inputs_over, struct peal_worker *w)
{
	struct peal_worker_state *s = w->state;
	uint32_t i, level, passages = 0;
	uint64_t all;
	int drain;

	for (i = 0; i < s->n_inputs; i++) {
		uint32_t flags = w->inputs[i].flags;

		if (flags & PEAL_INPUT_USED && !(flags & PEAL_INPUT_FWD_LINK))
			return 0;
		passages |= flags & PEAL_INPUT_USED;
	}
	drain = peal_load_relaxed_sys(&w->control->drain) != 0;
	if (!drain && (passages || !w->params->drain_when_inputs_end))
		return 0;
	level = drain || s->ended ? PEAL_DRAINED_ENDED : PEAL_DRAINED_NO_INPUT;
	level |= s->drained & PEAL_DRAINED_EXITED;
	if (passages)
		level |= PEAL_DRAINED_OPEN;
	if (s->drained != level) {
		s->drained = level;
		peal_store_release_sys(&w->status->drained, level);
	}
	all = peali_all_drained(w);
	if (all && passages)
		peali_fwd_links_close(w);
	return all && !(all & PEAL_DRAINED_OPEN);
}

/* Ends a worker whose inputs have all ended, if that is wanted; 0 not yet. */
PEALI_SLOW(int, peali_try_end, struct peal_worker *w)
{
	struct peal_worker_state *s = w->state;
	uint32_t i, waiting = 0;

	if (!peali_inputs_over(w))
		return 0;
	if (s->timers)
		peali_timers_drained(w);
	if (!peali_quiet(w))
		return 0;
	if (PEAL_UNLIKELY(w->params->hooks) &&
	    (!peali_exits_over(w) || !peali_quiet(w)))
		return 0;
	for (i = 0; i < s->n_outputs; i++) {
		struct peal_output *o = &w->outputs[i];

		if (o->used && o->switching)
			waiting = 1;
		else if (o->used && o->link.state == PEALI_STATE_TOPIC)
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
