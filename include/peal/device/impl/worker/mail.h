/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_DEVICE_MAIL_H
#define PEAL_DEVICE_MAIL_H

#include <peal/device/impl/worker/priority.h>

/* A worker's mailbox among those of its neighbours, and what it owes to others:
 * to be told what it took, and the space that it does not use. Behind the
 * mailboxes of all workers, a box for each, lie those of high priority, if
 * there are such: priority_boxes further on. */

/* ---- mailboxes ----------------------------------------------------------- */

/* A box of a kernel that has some: that of the worker of this number, and of
 * priority_boxes more that of high priority. */
static PEAL_DEV PEAL_INLINE struct peal_mailbox *
peali_mailbox(const struct peal_worker *w, uint32_t box)
{
	return (struct peal_mailbox
			*)(uintptr_t)(w->params->mailboxes +
				      box * w->params->mailbox_stride);
}

/* How many boxes there are. */
static PEAL_DEV PEAL_INLINE uint32_t peali_boxes(const struct peal_worker *w)
{
	return w->mailbox ? w->params->n_workers + w->params->priority_boxes :
			    0;
}

/* Its own one of high priority, or 0. */
static PEAL_DEV PEAL_INLINE struct peal_mailbox *
peali_priority_mailbox(const struct peal_worker *w)
{
	if (!w->params->priority_boxes)
		return 0;
	return peali_mailbox(w, w->params->priority_boxes + w->index);
}

/* The other one of the same worker, or 0. */
static PEAL_DEV PEAL_INLINE const struct peal_mailbox *
peali_other_box(const struct peal_worker *w, uint32_t box)
{
	uint32_t highs = w->params->priority_boxes;

	if (!highs)
		return 0;
	return peali_mailbox(w, box < highs ? box + highs : box - highs);
}

/* The admission to all of them. */
static PEAL_DEV PEAL_INLINE struct peal_admission *
peali_admission(const struct peal_worker *w)
{
	return (struct peal_admission *)(uintptr_t)w->params->admission;
}

/* Whether a box takes what comes by links and timers. */
static PEAL_DEV PEAL_INLINE int peali_mail_open(const struct peal_worker *w,
						uint32_t box)
{
	return peal_admission_open(peali_admission(w), peali_mailbox(w, box),
				   peali_other_box(w, box), w->sent[box]);
}

/* Such a message was put there. */
static PEAL_DEV PEAL_INLINE void peali_mail_sent(struct peal_worker *w,
						 uint32_t box)
{
	w->sent[box] = peal_load_relaxed_dev(&peali_mailbox(w, box)->ticket);
}

#if PEAL_ON_HOST
/* The bell of a worker of the kernel. */
static PEAL_INLINE struct peal_bell *peali_bell_of(const struct peal_worker *w,
						   uint32_t worker)
{
	return (struct peal_bell *)(uintptr_t)w->params->bells + worker;
}
#endif

/* After space was made: wakes a worker that sleeps and has a message that waits
 * for space. It says what for, but may wait for something else as well; or it
 * has to tell another kernel that a slot is paid. */
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
	     (w->mailbox && peal_load_relaxed_dev(&peali_admission(w)->paid))))
		peal_host_wake(bell);
#else
	(void)w;
	(void)worker;
#endif
}

/* The same for all of them. */
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

/* Tells what was taken from a mailbox of its own, if it was not told. */
static PEAL_DEV PEAL_INLINE void peali_mail_flush(struct peal_worker *w,
						  struct peal_mailbox *m)
{
	if (m->head == m->taken)
		return;
	peal_mailbox_flush(m);
	if (PEAL_ON_HOST)
		peali_wake_all_waiting(w);
}

/* So much was taken that others are told, or more is leased than is used. */
PEALI_SLOW(void, peali_mail_give, struct peal_worker *w)
{
	struct peal_admission *a = peali_admission(w);

	peali_mail_flush(w, w->box);
	if (w->state->mail_lease.granted > w->state->lease_high_water &&
	    !peali_admission_owes(a) && /* that is paid at the next look */
	    peal_admission_return(a, &w->state->mail_lease,
				  w->state->lease_high_water - a->lease) &&
	    PEAL_ON_HOST)
		peali_wake_all_waiting(w);
}

/* Takes the message off the mailbox: its slot is the worker's. */
static PEAL_DEV PEAL_INLINE void peali_mail_release(struct peal_worker *w)
{
	struct peal_worker_state *s = w->state;

	s->mail_lease.granted++;
	w->box->taken++;
	if (PEAL_UNLIKELY(
		    (w->box->taken - w->box->head >= s->mail_flush_every) |
		    (s->mail_lease.granted > s->lease_high_water)))
		peali_mail_give(w);
}

/* Whether the next message of the box that is looked at, which was counted for
 * its actor's limit, is so no more. Of either box that is remembered: it may be
 * another one's turn before it is handled. */
static PEAL_DEV PEAL_INLINE int
peali_mail_is_cleared(const struct peal_worker *w)
{
	return w->state->mail_cleared[w->box != w->mailbox] ==
	       1 + w->box->taken;
}

/*
 * A reclaim step. That this worker answers at all says that it is in the
 * middle of no put: what it had a ticket for before has its tag.
 */
static PEAL_DEV PEAL_UNUSED inline int
peali_mail_reclaim(struct peal_worker *w,
		   const struct peal_control_reclaim *mend)
{
	struct peal_mailbox *box[2] = { w->mailbox, peali_priority_mailbox(w) };
	struct peal_worker_state *s = w->state;
	uint32_t i;

	for (i = 0; i < 2; i++)
		if (box[i] && mend->step == PEAL_RECLAIM_SNAPSHOT)
			s->mail_snapshot[i] =
				peal_load_relaxed_dev(&box[i]->ticket);
		else if (mend->step == PEAL_RECLAIM_ABANDON)
			s->mail_abandon_until[i] = s->mail_snapshot[i];
	return 0;
}

/* Whether there is space for n messages that are not told by the handler of
 * mail: beside what the worker keeps, and when nothing is owed and the reserve
 * has all of its own; for what comes by a forwarding link there are places, too
 * (impl/loop/actor_forward.h). */
static PEAL_DEV PEAL_UNUSED inline int peali_links_fit(struct peal_worker *w,
						       uint32_t n, int passage)
{
	struct peal_admission *a = peali_admission(w);

	if (peal_admission_grant(a, &w->state->mail_lease) && PEAL_ON_HOST)
		peali_wake_all_waiting(w);
	if (passage)
		return peal_admission_transfer(a, &w->state->mail_lease, n);
	return peal_admission_admit(a, &w->state->mail_lease, n + a->keep, 0);
}

/* ---- what it owes others ------------------------------------------------- */

/* Pools that the worker knows. */
static PEAL_DEV PEAL_INLINE uint32_t peali_pools(const struct peal_worker *w)
{
	return PEAL_USES_POOLS ? w->state->n_pools : 0;
}

/* Says how many messages of a pool are done. */
static PEAL_DEV PEAL_INLINE void peali_pool_flush(struct peal_pool_place *p)
{
	/* R3: pairs with A3 in peali_pool_handled: it sees the tickets of all
	 * that their handlers told. */
	if (p->done != p->handled)
		peal_store_release_dev(&p->done, p->handled);
}

/* How many slots the worker still owes to other kernels. */
static PEAL_DEV PEAL_UNUSED inline uint64_t peali_owes(struct peal_worker *w)
{
	struct peal_mailbox_lease *lease = &w->state->mail_lease;

	if (PEAL_UNLIKELY(lease->owes))
		lease->owes -= peali_admission_less(&peali_admission(w)->paid,
						    lease->owes);
	return lease->owes;
}

/* Says how many messages from a forwarding link have left their slots to the
 * other kernel: all but so many for which slots are owed, of which this returns
 * the rest. Where they lie that one knows by the link's own credit; this is the
 * slab's, of which a forwarding link has none. */
static PEAL_DEV PEAL_UNUSED inline uint64_t
peali_fwd_link_flush(struct peal_input *in, uint64_t owes)
{
	uint64_t behind = in->link.head - in->link.slab_head;
	uint64_t kept = behind < owes ? behind : owes;

	in->link.slab_head += behind - kept;
	in->link.slab_next = in->link.slab_head;
	return owes - kept;
}

/* Tells what space the worker has made, in links, topics and its mailbox; and
 * what it has done of pools. */
PEALI_SLOW(void, peali_flush_credits, struct peal_worker *w)
{
	uint64_t owes = peali_owes(w);
	uint32_t i;

	for (i = 0; i < w->state->n_inputs; i++) {
		struct peal_input *in = &w->inputs[i];

		if (!(in->flags & PEAL_INPUT_USED))
			continue;
		if (in->link.state == PEALI_STATE_TOPIC) {
			peali_subscribe_flush(in->topic);
			continue;
		}
		if (PEAL_UNLIKELY(peali_is_fwd_link(in)))
			owes = peali_fwd_link_flush(in, owes);
		peal_link_flush_credit(&in->link);
	}
	for (i = 0; i < peali_pools(w); i++)
		peali_pool_flush(&w->pools[i]);
	if (w->mailbox)
		peali_mail_flush(w, w->mailbox);
	if (w->params->priority_boxes)
		peali_mail_flush(w, peali_priority_mailbox(w));
}

/* Takes the slots and places of messages in its forwarding links back: places
 * when the other kernel has taken them, slots when it does not owe them, or
 * never will give them back. Of a ring that is left none is any more. */
PEALI_SLOW(void, peali_fwd_links_settle, struct peal_worker *w)
{
	struct peal_admission *a = peali_admission(w);
	uint64_t held = 0, lying = 0, kept;
	uint32_t i;

	for (i = 0; i < w->state->n_outputs; i++) {
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
	if (lying != w->state->fwd_untaken)
		peali_admission_vacate(a, w->state->fwd_untaken - lying);
	w->state->fwd_untaken = lying;
	if (held == w->state->fwd_slots_held)
		return;
	w->state->mail_lease.granted += peal_admission_refund(
		a, w->state->fwd_slots_held - held, &kept);
	w->state->fwd_slots_held = held + kept;
	if (PEAL_ON_HOST)
		peali_wake_all_waiting(w);
}

/* What is owed to others: space and leases. At every pause and every look, but
 * not inside a handler, which needs its lease. */
PEALI_SLOW(void, peali_settle, struct peal_worker *w)
{
	if (PEAL_UNLIKELY(w->state->fwd_slots_held | w->state->fwd_untaken))
		peali_fwd_links_settle(w); /* by which more is paid */
	if (w->mailbox &&
	    peal_admission_grant(peali_admission(w), &w->state->mail_lease) &&
	    PEAL_ON_HOST)
		peali_wake_all_waiting(w);
	peali_flush_credits(w);
	if (w->mailbox &&
	    peal_admission_suspend(peali_admission(w), &w->state->mail_lease) &&
	    PEAL_ON_HOST)
		peali_wake_all_waiting(w);
}

#endif
