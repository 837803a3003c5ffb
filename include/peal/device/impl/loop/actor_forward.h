/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_DEVICE_ACTOR_FORWARD_H
#define PEAL_DEVICE_ACTOR_FORWARD_H

#include <peal/device/impl/worker/dead_letter.h>
#include <peal/device/impl/worker/mailbox_forward.h>
#include <peal/device/impl/worker/migrate.h>
#include <peal/device/impl/worker/sender_word.h>
#include <peal/device/monitor.h>
#include <peal/device/impl/loop/loop_action.h>

/*
 * Migration of an actor to another kernel, on any device. As within a kernel
 * (impl/worker/migrate.h), SPAWN has made an awaited entry there. The former
 * worker releases the actor between two messages. From then on its own entry
 * says that the actor is away, and the host copies the state:
 *
 *	former worker		host			new worker
 *	entry is away --------> copies the state -----> A22' awaited no more
 *	forwards messages, by a forwarding link ------> finds it new, and waits
 *
 * A forwarding link leads from the worker to a worker of the other kernel. It
 * serves all actors that have moved between these two. The worker forwards
 * messages in their order of arrival. So messages from one sender to one number
 * stay in order. The other kernel treats them as messages of any link.
 *
 * Forwarding links lead both ways, and in cycles. Kernels must not wait for
 * each other's space. So each kernel has places (forward slots) beside its
 * mailbox slots. Only messages of forwarding links use places (admission.h):
 *
 * - The sender of a message has a slot for it. The receiver gives that slot
 *   back if it then has a slot of its own.
 * - Otherwise the receiver takes a place. It owes the slot until it has one. A
 *   message that its handler tells for this one has both.
 *
 * In all kernels there are never more messages than slots. There are always as
 * many more places than messages as at first. A set of kernels stalls only if
 * messages with slots of other kernels take all places of the set. None stalls
 * if each set has more places than the other kernels have slots. Two kernels
 * always proceed, and three with as many places as slots each. K kernels need
 * more places each than half of the slots of K - 2 (mailbox.forward_slots).
 *
 * A forwarded message leaves its place when the other kernel has taken it. It
 * does so even if that kernel owes the slot. A forwarding link has capacity for
 * all slots and places of its kernel. So no mail ever waits for a link.
 *
 * A place is a bubble, as in the flow control of Carrion et al. There are as
 * many bubbles as cycles of any shape need. Source: "A Flow Control Mechanism
 * to Avoid Message Deadlock in k-ary n-cube Networks" (HiPC 1997).
 *
 * In an entry that is away, `state` is the number in the other kernel.
 * `port_base` is the forwarding link's port. `emits` is 1 if the actor was to
 * restart. `tells` is for holds (actor_shortcut.h). All functions are for the leader unless they say "collective".
 */

/* ---- release ------------------------------------------------------------- */

/* Returns 1 if an actor has a monitor. */
static PEAL_DEV PEAL_UNUSED inline int
peali_is_monitored(const struct peal_worker *w, uint32_t actor)
{
	uint32_t place, target;
	uint64_t state;

	if (!peali_monitors(w))
		return 0;
	for (place = 0; peali_monitor_next(w, &place, &state); place++) {
		target = (uint32_t)peal_load_relaxed_dev(
			&peali_monitor(w, place)->parties);
		peali_actor_locate(w, &target);
		if (target == actor)
			return 1;
	}
	return 0;
}

/* Returns 1 if an actor that gets no messages is to restart. It does so in the
 * other kernel, unless its supervisor has given up. */
static PEAL_DEV PEAL_UNUSED inline int
peali_leaves_to_restart(const struct peal_worker *w, uint32_t index)
{
	uint64_t member;

	if (!peali_has_supervision(w))
		return 0;
	member = peal_load_relaxed_dev(&peali_supervision(w, index)->member);
	return member && !peali_is_given_up(w, member);
}

/* Checks that an actor of this worker can leave. Returns 0 or PEAL_E... */
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
	    !peali_leaves_to_restart(w, PEAL_ACTOR_INDEX(c->actor)))
		return PEAL_ESTOPPED; /* it has failed for good */
	return peali_is_monitored(w, c->actor) ? PEAL_EEXIST : 0;
}

/* PEAL_CONTROL_LEAVE. Returns 0, or PEAL_EHANDLER if the actor has left and is
 * to restart in the other kernel. The host may repeat a request for which it
 * has not got the answer. */
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
	w->fits_left = 0; /* the last message may be for this actor */
	entry->state = c->to;
	entry->port_base = (uint16_t)c->port;
	entry->emits = peali_entry_forward(entry, PEAL_ENTRY_OTHER_KERNEL) != 0;
	return entry->emits ? PEAL_EHANDLER : 0;
}

/* PEAL_CONTROL_REDIRECT. The former target kernel has ended. The host has
 * ensured that no message can still come back from it. May be repeated. */
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

/* PEAL_CONTROL_ARRIVE: the host has written the actor's state. A22': pairs with
 * the release of that control message. Its acquire is in peali_control. */
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

/* ---- forwarding ---------------------------------------------------------- */

/* Returns the entry of the actor of w->message if the actor has left to another
 * kernel, else 0. Also 0 during a hold (actor_shortcut.h). */
static PEAL_DEV PEAL_UNUSED inline struct peal_actor_entry *
peali_actor_forward_entry(const struct peal_worker *w)
{
	struct peal_actor_entry *entry =
		peali_forward_entry(w, w->message.header.actor);

	return entry && !entry->tells &&
			       PEAL_ENTRY_IS_OTHER_KERNEL(peal_load_relaxed_dev(
				       &entry->location)) ?
		       entry :
		       0;
}

/* Returns the cause for which the next message of the current source cannot be
 * forwarded now, or 0. It needs space in the forwarding link, and a mailbox
 * slot, which mail has. Messages of other links leave slots to others, however
 * slow the other kernel is. */
static PEAL_DEV PEAL_UNUSED inline uint32_t
peali_actor_forward_blocks(struct peal_worker *w, struct peal_output *o)
{
	const struct peal_input *in = &w->inputs[w->state->source.cursor];
	int fwd_link;

	if (!o->used || o->link.state)
		return 0; /* it will become a dead letter */
	if (o->link.limit == o->link.tail) { /* only after a link hand-over */
		if (!peal_link_free_slots(&o->link, 1) && !o->link.state)
			peali_link_count_full(&o->link);
		return PEAL_BLOCKED_FORWARD;
	}
	if (w->state->source.cursor >= w->state->table.n_inputs)
		return 0;
	fwd_link = peali_is_fwd_link(in);
	if (!fwd_link && o->fwd_slots_held >= peali_admission(w)->each)
		return PEAL_BLOCKED_FORWARD;
	return peali_links_fit(w, 1, fwd_link) ? 0 : PEAL_BLOCKED_MAIL;
}

/* Checks whether w->message, of the current source, can be forwarded to another
 * kernel. Returns 1: now, as the worker's next turn. 0: there is no space. -1:
 * its actor is not away. */
PEALI_SLOW(int, peali_actor_forward_fits, struct peal_worker *w)
{
	const struct peal_actor_entry *entry;
	uint32_t waits = PEAL_BLOCKED_FORWARD;

	if (!PEALI_USES(MIGRATION))
		return -1;
	if (peali_forward_waits(w)) {
		w->state->published.blocked_now =
			PEAL_BLOCKED(w->message.header.actor, 0, waits);
		return 0;
	}
	entry = peali_actor_forward_entry(w);
	if (!entry)
		return -1;
	waits = peali_actor_forward_blocks(w, &w->outputs[entry->port_base]);
	if (waits) {
		w->state->published.blocked_now =
			PEAL_BLOCKED(w->message.header.actor, 0, waits);
		return 0;
	}
	w->state->deferred.action = PEALI_ACT_FORWARD_KERNEL;
	return 1;
}

/* Returns the forwarding link for the actor of w->message, which is away. */
static PEAL_DEV PEAL_INLINE struct peal_output *
peali_actor_forward_output(const struct peal_worker *w)
{
	return &w->outputs[peali_entry(
				   w, PEAL_ACTOR_INDEX(w->message.header.actor))
				   ->port_base];
}

/* Returns PEALI_FORWARDED if w->message can be forwarded, or the reason for
 * which it is dead. */
static PEAL_DEV PEAL_UNUSED inline int
peali_actor_forward_check(const struct peal_worker *w)
{
	const struct peal_output *o = peali_actor_forward_output(w);

	if (!o->used || !o->link.counts)
		return PEAL_REASON_NO_ACTOR; /* the other kernel is gone */
	/* an actor there cannot answer an ask of this kernel */
	if (w->message.header.flags & PEAL_FLAG_ANSWER ||
	    peali_message_request(&w->message) & PEAL_ASK_BIT)
		return PEAL_REASON_NO_ACTOR;
	return w->message.length > o->link.fits_slot ? PEAL_REASON_TOO_LONG :
						       PEALI_FORWARDED;
}

/* Puts w->message into the forwarding link, which has a free slot. All messages
 * that it takes fit one slot. From now on the message has a mailbox slot. Mail
 * brings its own slot, which peali_actor_forward_done counts later. */
PEALI_SLOW(void, peali_actor_forward_put, struct peal_worker *w)
{
	struct peal_output *o = peali_actor_forward_output(w);
	struct peal_link_producer *p = &o->link;
	const struct peal_message *m = &w->message;
	struct peal_header header = m->header;
	uint64_t bytes;

	if (p->state) { /* the other kernel has ended or fails */
		if (header.flags & PEAL_FLAG_REQUEST)
			peali_request_fail(w, PEAL_ESTOPPED, 0);
		peal_link_drop_closed(p, m->length);
		return;
	}
	bytes = peali_sender_copy(w, p, &header);
	header.actor =
		(uint32_t)peali_entry(w, PEAL_ACTOR_INDEX(header.actor))->state;
	header.flags &= (uint16_t)~PEAL_FLAG_COUNTED;
	w->state->mail.lease.granted--;
	w->state->forward.slots_held++;
	w->state->forward.untaken++;
	o->fwd_slots_held++;
	peal_link_commit(p, header, bytes);
}

/* Takes w->message off its source after it was forwarded. */
PEALI_SLOW(void, peali_actor_forward_done, struct peal_worker *w)
{
	if (w->message.input < w->params->max_inputs) {
		peal_link_release(&w->inputs[w->message.input].link,
				  &w->message);
		return;
	}
	w->state->count.mailbox_done++;
	peali_mail_over(w);
}

/* Returns 1 if the next message of the current source can go by a forwarding
 * link without peali_actor_forward_blocks. A slot is then free without a
 * request. */
static PEAL_DEV PEAL_UNUSED inline int
peali_actor_forward_fast(const struct peal_worker *w,
			 const struct peal_output *o)
{
	const struct peal_admission *a = peali_admission(w);

	if (!o->used || o->link.state || o->link.limit == o->link.tail)
		return 0;
	return w->state->source.cursor >= w->state->table.n_inputs ||
	       (o->fwd_slots_held < a->each &&
		w->state->mail.lease.granted > a->keep &&
		peali_admission_is_full(a));
}

/* Fetches the next message of the current source to w->message. Returns 1 if it
 * can be forwarded at once, too. */
PEALI_SLOW(int, peali_actor_forward_next, struct peal_worker *w)
{
	struct peal_message *m = &w->message;

	if (m->input >= w->params->max_inputs) {
		if (!peali_mail_next(w))
			return 0;
	} else if (peali_link_peek_slowly(&w->inputs[m->input].link, m) ||
		   m->kind > PEAL_KIND_SLAB) {
		return 0;
	}
	return peali_actor_forward_entry(w) &&
	       peali_actor_forward_fast(w, peali_actor_forward_output(w)) &&
	       peali_actor_forward_check(w) == PEALI_FORWARDED;
}

/* The leader's part of peali_actor_forward_turn. Forwards up to a burst of the
 * current source. Returns 1 if the first message is dead. */
PEALI_SLOW(int, peali_actor_forward_burst, struct peal_worker *w)
{
	int became = peali_actor_forward_check(w), high = peali_is_priority(w);
	uint32_t n = 0, most = peali_moves(w, high);

	w->state->deferred.action = 0;
	w->state->source.idle = 0;
	w->state->deferred.arg = (uint32_t)became;
	if (became != PEALI_FORWARDED)
		return 1;
	do {
		peali_actor_forward_put(w);
		peali_actor_forward_done(w);
	} while (++n < most && peali_actor_forward_next(w));
	peali_passed(w, high, n);
	return 0;
}

/* Collective: forwards messages to the kernels of their actors. The first is in
 * w->message. Returns 0, or 1: the caller must drop w->message as dead. The
 * loop calls it between two turns, where it costs no registers. For that reason
 * the caller does the drop. */
PEALI_SLOW(int, peali_actor_forward_turn, struct peal_worker *w)
{
	uint64_t dead = 0; /* known to the leader only */

	if (peal_is_leader(w))
		dead = (uint64_t)peali_actor_forward_burst(w);
	return peal_broadcast(w, dead) != 0;
}

#endif
