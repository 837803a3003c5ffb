/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_DEVICE_ACTOR_FORWARD_H
#define PEAL_DEVICE_ACTOR_FORWARD_H

#include <peal/device/impl/worker/dead_letter.h>
#include <peal/device/impl/worker/mailbox_forward.h>
#include <peal/device/impl/worker/migrate.h>
#include <peal/device/monitor.h>
#include <peal/device/impl/loop/loop_action.h>

/*
 * An actor that moves to another kernel, on its device or another one; as
 * within a kernel (impl/worker/migrate.h) it has an entry there, made before
 * and marked as awaited, and its worker lets go of it between two messages.
 * From there on its own entry says that it is away, and the host copies the
 * state:
 *
 *	former worker		host			new worker
 *	entry is away --------> copies the state -----> A22' awaited no more
 *	passes messages on, by a passage -------------> finds it new, and waits
 *
 * A forwarding link is a link from the worker to one of the other kernel, for
 * all actors that have moved between these two. Messages are passed on in the
 * order in which they come, so that what one sender sends to one number stays
 * in order. In the other kernel they go on as what any link brings.
 *
 * Forwarding links lead both ways, and in circles, and no kernels may wait for
 * each other's space. So each kernel has, beside its slots of mailboxes, places
 * that nothing uses but what forwarding links bring (admission.h). Who sends a
 * message has a slot for it, and who takes it from a forwarding link gives that
 * back, if it has a slot of its own for it then; else it takes a place, and
 * owes the slot until it has one again: a message that it tells for this one
 * has both. So in all kernels there are never more messages than slots, and
 * always as many more places than messages as there were at first: some kernels
 * stand still only if all places of theirs are taken, by messages that have
 * slots of others. Nobody is held up where each kernel has more places than
 * others have slots: two always go on, three with as many places as slots each,
 * K with more than half of the slots of K - 2 (mailbox.forward_slots).
 *
 * A message that is passed on leaves its place when the other kernel has taken
 * it, whether that owes the slot or not. A forwarding link has space for as
 * many as its kernel has slots and places, so that no mail ever waits for one.
 *
 * It is the bubble of Carrion et al., "A Flow Control Mechanism to Avoid
 * Message Deadlock in k-ary n-cube Networks" (HiPC 1997), and as many of them
 * as it takes for circles of any shape.
 *
 * Of an entry that is away `state` is the number there, `port_base` the
 * forwarding link's port, and `emits` whether it was to restart. For the
 * leader.
 */

/* ---- letting go ---------------------------------------------------------- */

/* Whether somebody monitors an actor: 1. */
static PEAL_DEV PEAL_UNUSED inline int
peali_is_monitored(const struct peal_worker *w, uint32_t actor)
{
	uint32_t place, who;
	uint64_t state;

	if (!peali_monitors(w))
		return 0;
	for (place = 0; peali_monitor_next(w, &place, &state); place++) {
		who = (uint32_t)peal_load_relaxed_dev(
			&peali_monitor(w, place)->who);
		peali_actor_locate(w, &who);
		if (who == actor)
			return 1;
	}
	return 0;
}

/* Whether an actor that gets no messages is to restart, which it does there:
 * its supervisor has not given up. */
static PEAL_DEV PEAL_UNUSED inline int
peali_leaves_anew(const struct peal_worker *w, uint32_t index)
{
	uint64_t member;

	if (!w->params->supervision)
		return 0;
	member = peal_load_relaxed_dev(&peali_supervision(w, index)->member);
	return member && !peali_is_given_up(w, member);
}

/* Whether an actor, here, can leave: 0 or PEAL_E... */
static PEAL_DEV PEAL_UNUSED inline int
peali_leave_check(struct peal_worker *w, const struct peal_control_leave *c)
{
	struct peal_actor_entry *entry =
		peali_entry(w, PEAL_ACTOR_INDEX(c->actor));
	uint64_t place = peal_load_relaxed_dev(&entry->location);

	if (!PEAL_ENTRY_IS_OF(place, c->actor) ||
	    PEAL_ENTRY_WORKER(place) != w->index ||
	    PEAL_ENTRY_IS_FORWARDED(place) || PEAL_ENTRY_LIMIT(place) ||
	    c->port >= PEAL_PORTS_FIRST + w->params->max_ports)
		return PEAL_EINVAL;
	if (entry->shares && !(entry->shares & PEAL_SHARES_PORTS))
		return PEAL_EBUSY;
	if (PEAL_ENTRY_IS_HOOK(place) || peali_move_asks(w, c->actor))
		return PEAL_EAGAIN;
	if (PEAL_ENTRY_IS_ARRIVING(place) && !peali_arrive(w, entry))
		return PEAL_EINVAL;
	if (PEAL_ENTRY_IS_CLOSED(peal_load_relaxed_dev(&entry->location)) &&
	    !peali_leaves_anew(w, PEAL_ACTOR_INDEX(c->actor)))
		return PEAL_ESTOPPED; /* it has failed, and is over */
	return peali_is_monitored(w, c->actor) ? PEAL_EEXIST : 0;
}

/* PEAL_CONTROL_LEAVE: 0, or PEAL_EHANDLER if it has left and is to restart
 * there. One that was done already, whose answer nobody has waited for, may
 * come again. */
PEALI_SLOW(int, peali_control_leave, struct peal_worker *w,
	   const struct peal_control_leave *c)
{
	struct peal_actor_entry *entry;
	uint64_t place;
	int result;

	if (PEAL_ACTOR_INDEX(c->actor) >= w->params->max_actors)
		return PEAL_EINVAL;
	entry = peali_entry(w, PEAL_ACTOR_INDEX(c->actor));
	place = peal_load_relaxed_dev(&entry->location);
	if (PEAL_ENTRY_IS_OF(place, c->actor) &&
	    PEAL_ENTRY_IS_OTHER_KERNEL(place) && entry->state == c->to)
		return entry->emits ? PEAL_EHANDLER : 0;
	result = peali_leave_check(w, c);
	if (result)
		return result;
	w->fits_left = 0; /* it may have had the last message */
	entry->state = c->to;
	entry->port_base = (uint16_t)c->port;
	entry->emits = peali_entry_forward(entry, PEAL_ENTRY_OTHER_KERNEL) != 0;
	return entry->emits ? PEAL_EHANDLER : 0;
}

/* PEAL_CONTROL_REDIRECT. Nothing that has gone to the kernel that is no more
 * can still come from there: the host has seen to that. May come again. */
PEALI_SLOW(int, peali_control_redirect, struct peal_worker *w,
	   const struct peal_control_leave *c)
{
	uint32_t next = PEAL_ACTOR_INDEX(c->to);
	struct peal_actor_entry *entry;
	uint64_t place;

	if (PEAL_ACTOR_INDEX(c->actor) >= w->params->max_actors ||
	    (c->port == PEAL_REDIRECT_LOCAL && next >= w->params->max_actors))
		return PEAL_EINVAL;
	entry = peali_entry(w, PEAL_ACTOR_INDEX(c->actor));
	place = peal_load_relaxed_dev(&entry->location);
	if (!PEAL_ENTRY_IS_OF(place, c->actor) ||
	    !PEAL_ENTRY_IS_FORWARDED(place) ||
	    PEAL_ENTRY_WORKER(place) != w->index)
		return PEAL_EINVAL;
	if (c->port == PEAL_REDIRECT_LOCAL) {
		peal_store_relaxed_dev(&entry->location,
				       PEAL_ENTRY_FORWARD_TO(place, next));
	} else {
		entry->state = c->to;
		entry->port_base = (uint16_t)c->port;
	}
	return 0;
}

/* PEAL_CONTROL_ARRIVE: the host has written its state. A22': pairs with the
 * release of that control message, whose acquire is peali_control's. */
PEALI_SLOW(int, peali_control_arrive, struct peal_worker *w,
	   const struct peal_control_move *c)
{
	struct peal_actor_entry *entry;
	uint64_t place;

	if (PEAL_ACTOR_INDEX(c->actor) >= w->params->max_actors)
		return PEAL_EINVAL;
	entry = peali_entry(w, PEAL_ACTOR_INDEX(c->actor));
	place = peal_load_relaxed_dev(&entry->location);
	if (!PEAL_ENTRY_IS_OF(place, c->actor) ||
	    PEAL_ENTRY_WORKER(place) != w->index)
		return PEAL_EINVAL;
	if (!PEAL_ENTRY_IS_ARRIVING(place) ||
	    !((uint32_t)place & PEAL_ENTRY_STATE_PENDING))
		return 0;
	if (c->next) /* it was to restart when it left */
		peali_mark_restart(w, c->actor);
	peal_add_acqrel_dev(&entry->location,
			    0 - (uint64_t)PEAL_ENTRY_STATE_PENDING);
	return 0;
}

/* ---- passing on ---------------------------------------------------------- */

/* The entry of the actor of the message in w->message, if it is away from here;
 * 0. */
static PEAL_DEV PEAL_UNUSED inline struct peal_actor_entry *
peali_actor_forward_entry(const struct peal_worker *w)
{
	uint32_t actor = w->message.header.actor;
	struct peal_actor_entry *entry;
	uint64_t place;

	if (PEAL_ACTOR_INDEX(actor) >= w->params->max_actors)
		return 0;
	entry = peali_entry(w, PEAL_ACTOR_INDEX(actor));
	place = peal_load_relaxed_dev(&entry->location);
	return PEAL_ENTRY_IS_OF(place, actor) &&
			       PEAL_ENTRY_IS_OTHER_KERNEL(place) &&
			       PEAL_ENTRY_WORKER(place) == w->index ?
		       entry :
		       0;
}

/* What a message of the source in hand waits for before it can go by a
 * forwarding link: a slot, which mail has, or space there; 0. What comes by
 * links leaves slots to others, however slow the other kernel is. */
static PEAL_DEV PEAL_UNUSED inline uint32_t
peali_actor_forward_blocks(struct peal_worker *w, struct peal_output *o)
{
	const struct peal_input *in = &w->inputs[w->state->cursor];
	int passage;

	if (!o->used || o->link.state)
		return 0; /* it will be dead */
	if (o->link.limit == o->link.tail) { /* behind a hand-over alone */
		peali_link_read_credit(&o->link);
		return PEAL_BLOCKED_FORWARD;
	}
	if (w->state->cursor >= w->state->n_inputs)
		return 0;
	passage = peali_is_fwd_link(in);
	if (!passage && o->fwd_slots_held >= peali_admission(w)->each)
		return PEAL_BLOCKED_FORWARD;
	return peali_links_fit(w, 1, passage) ? 0 : PEAL_BLOCKED_MAIL;
}

/* Whether the message in w->message, of the source in hand, can be passed on to
 * another kernel now: 1, and that is the worker's next turn; 0 there is no
 * space; -1 its actor is not away. */
PEALI_SLOW(int, peali_actor_forward_fits, struct peal_worker *w)
{
	const struct peal_actor_entry *entry = peali_actor_forward_entry(w);
	uint32_t waits;

	if (!entry)
		return -1;
	waits = peali_actor_forward_blocks(w, &w->outputs[entry->port_base]);
	if (waits) {
		w->state->blocked =
			PEAL_BLOCKED(w->message.header.actor, 0, waits);
		return 0;
	}
	w->state->deferred_action = PEALI_ACT_FORWARD_KERNEL;
	return 1;
}

/* The forwarding link of the actor of the message in w->message, which is
 * away. */
static PEAL_DEV PEAL_INLINE struct peal_output *
peali_actor_forward_output(const struct peal_worker *w)
{
	return &w->outputs[peali_entry(
				   w, PEAL_ACTOR_INDEX(w->message.header.actor))
				   ->port_base];
}

/* What becomes of the message in w->message: it is passed on, PEALI_FORWARDED,
 * or why it is dead. */
static PEAL_DEV PEAL_UNUSED inline int
peali_actor_forward_check(const struct peal_worker *w)
{
	const struct peal_output *o = peali_actor_forward_output(w);

	if (!o->used || !o->link.counts)
		return PEAL_REASON_NO_ACTOR; /* that kernel is gone */
	/* who is asked there cannot answer here */
	if (w->message.header.flags & PEAL_FLAG_ANSWER ||
	    peali_message_request(&w->message) & PEAL_ASK_BIT)
		return PEAL_REASON_NO_ACTOR;
	return w->message.length > o->link.fits_slot ? PEAL_REASON_TOO_LONG :
						       PEALI_FORWARDED;
}

/* Puts the message in w->message into the forwarding link, in which there is a
 * slot: all that it takes fits one. It has a slot of the mailboxes' from now
 * on; that mail brings its own is counted behind this. */
PEALI_SLOW(void, peali_actor_forward_put, struct peal_worker *w)
{
	struct peal_output *o = peali_actor_forward_output(w);
	struct peal_link_producer *p = &o->link;
	const struct peal_message *m = &w->message;
	struct peal_header header = m->header;

	if (p->state) { /* that kernel has ended, or fails */
		peal_link_drop_closed(p, m->length);
		return;
	}
	peal_copy(peali_link_payload(p), m->data, m->length);
	header.actor =
		(uint32_t)peali_entry(w, PEAL_ACTOR_INDEX(header.actor))->state;
	header.flags &= (uint16_t)~PEAL_FLAG_COUNTED;
	w->state->mail_lease.granted--;
	w->state->fwd_slots_held++;
	w->state->fwd_untaken++;
	o->fwd_slots_held++;
	peal_link_commit(p, header, m->length);
}

/* The message in w->message is done with: it was passed on. */
PEALI_SLOW(void, peali_actor_forward_done, struct peal_worker *w)
{
	if (w->message.input < w->params->max_inputs) {
		peal_link_release(&w->inputs[w->message.input].link,
				  &w->message);
		return;
	}
	w->state->mailbox_done++;
	peali_mail_over(w);
}

/* Whether the next message of the source in hand may go by a forwarding link as
 * well, without a look at what it waits for: there is a slot that nobody has to
 * be asked for. */
static PEAL_DEV PEAL_UNUSED inline int
peali_actor_forward_fast(const struct peal_worker *w,
			 const struct peal_output *o)
{
	const struct peal_admission *a = peali_admission(w);

	if (!o->used || o->link.state || o->link.limit == o->link.tail)
		return 0;
	return w->state->cursor >= w->state->n_inputs ||
	       (o->fwd_slots_held < a->each &&
		w->state->mail_lease.granted > a->keep &&
		peali_admission_is_full(a));
}

/* The next message of the source in hand into w->message: 1 if it simply goes
 * on, too. */
PEALI_SLOW(int, peali_actor_forward_next, struct peal_worker *w)
{
	struct peal_message *m = &w->message;

	if (m->input >= w->params->max_inputs) {
		if (!peali_mail_next(w))
			return 0;
	} else if (peal_link_peek(&w->inputs[m->input].link, m) ||
		   m->kind > PEAL_KIND_SLAB) {
		return 0;
	}
	return peali_actor_forward_entry(w) &&
	       peali_actor_forward_fast(w, peali_actor_forward_output(w)) &&
	       peali_actor_forward_check(w) == PEALI_FORWARDED;
}

/* The leader's part of peali_actor_forward_turn: up to a burst of the source in
 * hand. */
PEALI_SLOW(int, peali_actor_forward_burst, struct peal_worker *w)
{
	int became = peali_actor_forward_check(w), high = peali_is_priority(w);
	uint32_t n = 0, most = peali_moves(w, high);

	w->state->deferred_action = 0;
	w->state->idle = 0;
	w->state->deferred_arg = (uint32_t)became;
	if (became != PEALI_FORWARDED)
		return 1;
	do {
		peali_actor_forward_put(w);
		peali_actor_forward_done(w);
	} while (++n < most && peali_actor_forward_next(w));
	peali_passed(w, high, n);
	return 0;
}

/* Collective: passes messages on to the kernels where their actors live, the
 * first of which is in w->message: 0; 1 that one is dropped as dead. Between
 * two turns, where it costs the loop no registers; and so who calls drops
 * it. */
PEALI_SLOW(int, peali_actor_forward_turn, struct peal_worker *w)
{
	uint64_t dead = 0; /* the leader's alone */

	if (peal_is_leader(w))
		dead = (uint64_t)peali_actor_forward_burst(w);
	return peal_broadcast(w, dead) != 0;
}

#endif
