/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_DEVICE_ACTOR_SHORTCUT_H
#define PEAL_DEVICE_ACTOR_SHORTCUT_H

#include <peal/device/impl/loop/actor_forward.h>

/*
 * Shortcuts: the worker's part of the host's runtime/actor/shortcut.c. After
 * several migrations, an old entry E leads to an entry H, and H leads to an
 * entry N. The host makes E lead to N:
 *
 *	worker of E		worker of H		host
 *	HOLD: messages for E <---------------------------- asks
 *	wait
 *				TAKEN: the messages <----- asks until they are
 *				that E has forwarded
 *				are past H
 *	SWITCH: E leads to N <---------------------------- asks
 *
 * No message passes E between HOLD and SWITCH. At SWITCH, all messages that
 * passed E before are past H. They have a ticket of the mailbox of N's worker,
 * or are handled. Later messages of E get later tickets there. So no message
 * overtakes. No message is copied or dropped, so none is lost or doubled.
 *
 * A hold ends by itself after PEALI_HOLD_LOOKS looks at a message that waits.
 * So a host that stops does not block the worker. SWITCH then fails.
 */

#define PEALI_HOLD_LOOKS 0xffffu

/* Makes one entry lead to `c->to`. */
static PEAL_DEV PEAL_UNUSED inline void
peali_shortcut_switch(struct peal_actor_entry *entry,
		      const struct peal_control_shortcut *c)
{
	uint32_t next = c->port == PEAL_REDIRECT_LOCAL ?
				PEAL_ACTOR_INDEX(c->to) :
				PEAL_ENTRY_OTHER_KERNEL;
	uint64_t place = peal_load_relaxed_dev(&entry->location);

	if (c->port != PEAL_REDIRECT_LOCAL) {
		entry->state = c->to;
		entry->port_base = (uint16_t)c->port;
	}
	entry->tells = 0;
	/* R11: pairs with A11 in peali_actor_locate: the next entry exists. */
	peal_store_release_dev(&entry->location,
			       PEAL_ENTRY_FORWARD_TO(place, next));
}

/* Holds, releases or switches all entries of a message, or none of them. */
static PEAL_DEV PEAL_UNUSED inline int
peali_shortcut_entries(struct peal_worker *w,
		       const struct peal_control_shortcut *c)
{
	struct peal_actor_entry *entry;
	uint32_t i;

	if (c->n > PEAL_SHORTCUT_ACTORS)
		return PEAL_EINVAL;
	for (i = 0; i < c->n; i++) {
		entry = peali_forward_entry(w, c->actors[i]);
		if (!entry)
			return PEAL_EINVAL;
		if (c->step == PEAL_SHORTCUT_SWITCH && !entry->tells)
			return PEAL_EAGAIN; /* the hold has ended by itself */
	}
	for (i = 0; i < c->n; i++) {
		entry = peali_forward_entry(w, c->actors[i]);
		if (c->step == PEAL_SHORTCUT_SWITCH)
			peali_shortcut_switch(entry, c);
		else
			entry->tells = c->step == PEAL_SHORTCUT_HOLD ?
					       PEALI_HOLD_LOOKS :
					       0;
	}
	return 0;
}

/* Notes the tickets of the worker's mailboxes. */
static PEAL_DEV PEAL_UNUSED inline int
peali_shortcut_snapshot(struct peal_worker *w)
{
	const struct peal_mailbox *box[2] = { peali_own_mailbox(w),
					      peali_priority_mailbox(w) };
	uint32_t i;

	for (i = 0; i < 2; i++)
		if (box[i])
			w->state->mail.due[i] =
				peal_load_acquire_dev(&box[i]->ticket);
	return 0;
}

/* Returns 0 if the worker has taken all messages with tickets of the snapshot
 * from its mailboxes, else PEAL_EAGAIN. */
static PEAL_DEV PEAL_UNUSED inline int
peali_shortcut_taken(const struct peal_worker *w)
{
	const struct peal_mailbox *box[2] = { peali_own_mailbox(w),
					      peali_priority_mailbox(w) };
	uint32_t i;

	for (i = 0; i < 2; i++)
		if (box[i] &&
		    (int64_t)(box[i]->taken - w->state->mail.due[i]) < 0)
			return PEAL_EAGAIN;
	return 0;
}

/* Returns 0 if the other kernel has taken all messages of a forwarding link,
 * else PEAL_EAGAIN. 0 also if the link is closed: nothing leaves it. */
static PEAL_DEV PEAL_UNUSED inline int
peali_shortcut_link(const struct peal_worker *w, uint32_t port)
{
	const struct peal_output *o;

	if (port >= PEAL_PORTS_FIRST + w->params->max_ports)
		return PEAL_EINVAL;
	o = &w->outputs[port];
	if (!o->used || o->link.state)
		return 0;
	/* peali_poll_control has read the credit just before */
	return o->switching || o->link.credit != o->link.tail ? PEAL_EAGAIN : 0;
}

/* PEAL_CONTROL_SHORTCUT. */
PEALI_SLOW(int, peali_control_shortcut, struct peal_worker *w,
	   const struct peal_control_shortcut *c)
{
	switch (c->step) {
	case PEAL_SHORTCUT_HOLD:
	case PEAL_SHORTCUT_RELEASE:
	case PEAL_SHORTCUT_SWITCH:
		return peali_shortcut_entries(w, c);
	case PEAL_SHORTCUT_SNAPSHOT:
		return peali_shortcut_snapshot(w);
	case PEAL_SHORTCUT_TAKEN:
		return peali_shortcut_taken(w);
	case PEAL_SHORTCUT_LINK:
		return peali_shortcut_link(w, c->port);
	default:
		return PEAL_EPROTO;
	}
}

#endif
