/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_DEVICE_MAIL_H
#define PEAL_DEVICE_MAIL_H

#include <peal/device/impl/worker/priority.h>
#include <peal/device/impl/worker/publish_counts.h>

/*
 * A worker's mailboxes, and its debts to other workers and kernels. It
 * publishes the number of messages that it took. It also returns free slots
 * that it does not use.
 *
 * Each worker of the kernel has one mailbox. A kernel can also have a mailbox
 * of high priority per worker. Its index is the worker's index plus
 * priority_boxes.
 */

/* ---- mailboxes ----------------------------------------------------------- */

/* Returns a mailbox of a kernel that has mailboxes. `box`: a worker's index for
 * the usual mailbox. Add priority_boxes for the one of high priority. */
static PEAL_DEV PEAL_INLINE struct peal_mailbox *
peali_mailbox(const struct peal_worker *w, uint32_t box)
{
	return (struct peal_mailbox
			*)(uintptr_t)(w->params->mailboxes +
				      box * w->params->mailbox_stride);
}

/* Returns the number of mailboxes of the kernel. */
static PEAL_DEV PEAL_INLINE uint32_t peali_boxes(const struct peal_worker *w)
{
	return peali_own_mailbox(w) ?
		       w->params->n_workers + peali_high_boxes(w) :
		       0;
}

/* Returns the worker's own mailbox of high priority; 0: none. */
static PEAL_DEV PEAL_INLINE struct peal_mailbox *
peali_priority_mailbox(const struct peal_worker *w)
{
	if (!peali_high_boxes(w))
		return 0;
	return peali_mailbox(w, peali_high_boxes(w) + w->index);
}

/* Returns the other mailbox of the worker that has `box`; 0: none. */
static PEAL_DEV PEAL_INLINE const struct peal_mailbox *
peali_other_box(const struct peal_worker *w, uint32_t box)
{
	uint32_t highs = peali_high_boxes(w);

	if (!highs)
		return 0;
	return peali_mailbox(w, box < highs ? box + highs : box - highs);
}

/* Returns the admission to all mailboxes. */
static PEAL_DEV PEAL_INLINE struct peal_admission *
peali_admission(const struct peal_worker *w)
{
	return (struct peal_admission *)(uintptr_t)w->params->admission;
}

/* Returns 1 if a mailbox takes messages of links and timers now. */
static PEAL_DEV PEAL_INLINE int peali_mail_open(const struct peal_worker *w,
						uint32_t box)
{
	return peal_admission_open(peali_admission(w), peali_mailbox(w, box),
				   peali_other_box(w, box), w->sent[box]);
}

/* Notes that the worker has put a message of a link or timer into `box`. */
static PEAL_DEV PEAL_INLINE void peali_mail_sent(struct peal_worker *w,
						 uint32_t box)
{
	w->sent[box] = peal_load_relaxed_dev(&peali_mailbox(w, box)->ticket);
}

#if PEAL_ON_HOST
/* Returns the bell of a worker of the kernel. */
static PEAL_INLINE struct peal_bell *peali_bell_of(const struct peal_worker *w,
						   uint32_t worker)
{
	return (struct peal_bell *)(uintptr_t)w->params->bells + worker;
}
#endif

/*
 * Wakes a sleeping worker after slots became free. It does so if the worker has
 * a message that waits for free slots. The worker's status names one cause,
 * but the worker may wait for others, too. So any cause counts.
 *
 * It also wakes the worker if a slot is paid and not yet told to another
 * kernel.
 */
static PEAL_DEV PEAL_INLINE void peali_wake_waiting(const struct peal_worker *w,
						    uint32_t worker)
{
#if PEAL_ON_HOST
	const struct peal_worker_status *status =
		(const struct peal_worker_status *)(uintptr_t)w->params->status +
		worker;
	struct peal_bell *bell = peali_bell_of(w, worker);

	peal_compiler_barrier();
	if (PEAL_UNLIKELY(peal_load_relaxed_sys_u32(&bell->asleep)) &&
	    (peal_load_relaxed_sys(&status->blocked) ||
	     (peali_own_mailbox(w) &&
	      peal_load_relaxed_dev(&peali_admission(w)->paid))))
		peal_host_wake(bell);
#else
	(void)w;
	(void)worker;
#endif
}

/* Calls peali_wake_waiting for all workers. */
PEALI_SLOW(void, peali_wake_all_waiting, const struct peal_worker *w)
{
#if PEAL_ON_HOST
	uint32_t i;

	for (i = 0; i < w->params->n_workers; i++)
		peali_wake_waiting(w, i);
#else
	(void)w;
#endif
}

/* Publishes how many messages the worker took from its mailbox `m`. */
static PEAL_DEV PEAL_INLINE void peali_mail_flush(struct peal_worker *w,
						  struct peal_mailbox *m)
{
	if (m->head == m->taken)
		return;
	peal_mailbox_flush(m);
	if (PEAL_ON_HOST)
		peali_wake_all_waiting(w);
}

/* Publishes the messages taken from w->box. If the worker has leased more slots
 * than lease_high_water, it returns some. */
PEALI_SLOW(void, peali_mail_give, struct peal_worker *w)
{
	struct peal_admission *a = peali_admission(w);

	peali_mail_flush(w, w->box);
	if (w->state->mail.lease.granted > w->state->mail.lease_high_water &&
	    !peali_admission_owes(a) && /* peali_settle pays debts */
	    peal_admission_return(a, &w->state->mail.lease,
				  w->state->mail.lease_high_water - a->lease) &&
	    PEAL_ON_HOST)
		peali_wake_all_waiting(w);
}

/* Reads the next message of w->box into w->message, all but its place. Returns 0
 * if there is none. */
static PEAL_DEV PEAL_INLINE int peali_mail_read(struct peal_worker *w)
{
	struct peal_slot_view view = { 0, 0, 0 };

	if (!peal_mailbox_peek(w->box, &view))
		return 0;
	w->message.header =
		*(const struct peal_header *)(const void *)view.content;
	w->message.data = view.content + sizeof(struct peal_header);
	w->message.length = view.length - sizeof(struct peal_header);
	w->message.kind = view.kind;
	return 1;
}

/* Takes the next n messages off the mailbox. Their slots now are in the worker's
 * lease. */
static PEAL_DEV PEAL_INLINE void peali_mail_release(struct peal_worker *w,
						    uint32_t n)
{
	struct peal_worker_state *s = w->state;

	s->mail.lease.granted += n;
	w->box->taken += n;
	if (PEAL_UNLIKELY(
		    (w->box->taken - w->box->head >= s->mail.flush_every) |
		    (s->mail.lease.granted > s->mail.lease_high_water)))
		peali_mail_give(w);
}

/*
 * Returns 1 if the next message of w->box no longer counts as waiting for its
 * actor's limit. The worker keeps this per mailbox: the other mailbox may have
 * a turn before the worker handles the message.
 */
static PEAL_DEV PEAL_INLINE int
peali_mail_is_cleared(const struct peal_worker *w)
{
	return w->state->mail.cleared[peali_box_is_high(w)] ==
	       1 + w->box->taken;
}

/*
 * Runs a step of a reclaim (PEAL_CONTROL_RECLAIM). A worker never answers in
 * the middle of a put. So its answer shows that its earlier tickets all have
 * their tags.
 */
static PEAL_DEV PEAL_UNUSED inline int
peali_mail_reclaim(struct peal_worker *w,
		   const struct peal_control_reclaim *reclaim)
{
	struct peal_mailbox *box[2] = { peali_own_mailbox(w),
					peali_priority_mailbox(w) };
	struct peal_worker_state *s = w->state;
	uint32_t i;

	for (i = 0; i < 2; i++)
		if (box[i] && reclaim->step == PEAL_RECLAIM_SNAPSHOT)
			s->mail.snapshot[i] =
				peal_load_relaxed_dev(&box[i]->ticket);
		else if (reclaim->step == PEAL_RECLAIM_ABANDON)
			s->mail.abandon_until[i] = s->mail.snapshot[i];
	return 0;
}

/*
 * Returns 1 if there are slots for n messages that no handler of mail tells.
 * The slots come on top of those that the worker keeps. First the worker pays
 * owed slots and refills the reserve, from its slots above those.
 *
 * `fwd_link` 1: the messages come by a forwarding link. They may also use the
 * places of forwarding links (impl/loop/actor_forward.h).
 */
static PEAL_DEV PEAL_UNUSED inline int peali_links_fit(struct peal_worker *w,
						       uint32_t n, int fwd_link)
{
	struct peal_admission *a = peali_admission(w);

	if (peal_admission_grant(a, &w->state->mail.lease) && PEAL_ON_HOST)
		peali_wake_all_waiting(w);
	if (fwd_link)
		return peal_admission_transfer(a, &w->state->mail.lease, n);
	return peal_admission_admit(a, &w->state->mail.lease, n + a->keep, 0);
}

/* ---- debts to others ----------------------------------------------------- */

/* Returns the number of pools that the worker knows. */
static PEAL_DEV PEAL_INLINE uint32_t peali_pools(const struct peal_worker *w)
{
	return PEALI_USES(POOLS) ? w->state->table.n_pools : 0;
}

/* Publishes how many messages of a pool the worker has handled. */
static PEAL_DEV PEAL_INLINE void peali_pool_flush(struct peal_pool_place *p)
{
	/* R3: pairs with A3 in peali_pool_handled. That worker then sees the
	 * tickets of all messages that the handlers of these messages told. */
	if (p->done != p->handled)
		peal_store_release_dev(&p->done, p->handled);
}

/* Returns how many slots the worker still owes to other kernels. */
static PEAL_DEV PEAL_UNUSED inline uint64_t peali_owes(struct peal_worker *w)
{
	struct peal_mailbox_lease *lease = &w->state->mail.lease;

	if (PEAL_UNLIKELY(lease->owes))
		lease->owes -= peali_admission_less(&peali_admission(w)->paid,
						    lease->owes);
	return lease->owes;
}

/*
 * Sets how many messages of a forwarding link have returned their slots to the
 * other kernel. It holds back up to `owes` messages, since their slots are
 * still owed. Returns the rest of `owes`.
 *
 * The link's usual credit tells the other kernel which ring slots are free. The
 * credit of the slab carries the count of returned slots. A forwarding link has
 * no slab.
 */
static PEAL_DEV PEAL_UNUSED inline uint64_t
peali_fwd_link_flush(struct peal_input *in, uint64_t owes)
{
	uint64_t behind = in->link.head - in->link.slab_head;
	uint64_t kept = behind < owes ? behind : owes;

	in->link.slab_head += behind - kept;
	in->link.slab_next = in->link.slab_head;
	return owes - kept;
}

/* Publishes the slots that the worker has freed in links, topics and its
 * mailboxes. Also publishes its handled messages of pools. */
PEALI_SLOW(void, peali_flush_credits, struct peal_worker *w)
{
	uint64_t owes = peali_owes(w);
	uint32_t i;

	for (i = 0; i < w->state->table.n_inputs; i++) {
		struct peal_input *in = &w->inputs[i];

		if (!(in->flags & PEAL_INPUT_USED))
			continue;
		if (peali_is_topic(in->link.state)) {
			peali_subscribe_flush(in->topic);
			continue;
		}
		if (PEAL_UNLIKELY(peali_is_fwd_link(in)))
			owes = peali_fwd_link_flush(in, owes);
		peal_link_flush_credit(&in->link);
	}
	for (i = 0; i < peali_pools(w); i++)
		peali_pool_flush(&w->pools[i]);
	if (peali_own_mailbox(w))
		peali_mail_flush(w, peali_own_mailbox(w));
	if (peali_high_boxes(w))
		peali_mail_flush(w, peali_priority_mailbox(w));
}

/*
 * Takes back slots and places of messages in the worker's forwarding links:
 *
 * - A place comes back when the other kernel has taken the message.
 * - A slot comes back when the other kernel also does not owe it.
 * - A slot also comes back if the other kernel will never return it.
 *
 * A closed forwarding link holds neither slots nor places any more.
 */
PEALI_SLOW(void, peali_fwd_links_settle, struct peal_worker *w)
{
	struct peal_admission *a = peali_admission(w);
	uint64_t held = 0, lying = 0, kept;
	uint32_t i;

	for (i = 0; i < w->state->table.n_outputs; i++) {
		struct peal_output *o = &w->outputs[i];

		if (o->used != PEAL_OUTPUT_FWD_LINK)
			continue;
		o->fwd_slots_held = 0;
		if (o->link.state)
			continue;
		o->link.slab_tail = o->link.tail;
		peali_link_read_credit(&o->link);
		if (o->link.state)
			continue;
		o->fwd_slots_held =
			(uint32_t)(o->link.tail - o->link.slab_credit);
		held += o->link.tail - o->link.slab_credit;
		lying += o->link.tail - o->link.credit;
	}
	if (lying != w->state->forward.untaken)
		peali_admission_vacate(a, w->state->forward.untaken - lying);
	w->state->forward.untaken = lying;
	if (held == w->state->forward.slots_held)
		return;
	w->state->mail.lease.granted += peal_admission_refund(
		a, w->state->forward.slots_held - held, &kept);
	w->state->forward.slots_held = held + kept;
	if (PEAL_ON_HOST)
		peali_wake_all_waiting(w);
}

/* Pays the worker's debts to others: freed slots and leases. Runs when the
 * worker becomes idle, and at each look at the control words. Does not run
 * inside a handler, which needs its lease. */
PEALI_SLOW(void, peali_settle, struct peal_worker *w)
{
	if (PEALI_USES(MIGRATION) &&
	    PEAL_UNLIKELY(w->state->forward.slots_held |
			  w->state->forward.untaken))
		peali_fwd_links_settle(w); /* frees slots to pay with */
	if (peali_own_mailbox(w) &&
	    peal_admission_grant(peali_admission(w), &w->state->mail.lease) &&
	    PEAL_ON_HOST)
		peali_wake_all_waiting(w);
	peali_flush_credits(w);
	if (peali_own_mailbox(w) &&
	    peal_admission_suspend(peali_admission(w), &w->state->mail.lease) &&
	    PEAL_ON_HOST)
		peali_wake_all_waiting(w);
}

#endif
