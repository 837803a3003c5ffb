/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_DEVICE_MESSAGE_H
#define PEAL_DEVICE_MESSAGE_H

#include <peal/device/impl/loop/loop_action.h>
#include <peal/device/impl/worker/mail.h>
#include <peal/device/lanes.h>

/*
 * The message being handled, and the actor that handles it. Any lane may call
 * these functions.
 */

/** Returns the payload, aligned to 8. It is valid until the handler returns. */
static PEAL_DEV PEAL_INLINE const void *peal_data(const struct peal_worker *w)
{
	return (const uint8_t *)w->message.data +
	       peali_message_prefix(&w->message);
}

/** Returns the length of the payload in bytes. */
static PEAL_DEV PEAL_INLINE uint64_t peal_length(const struct peal_worker *w)
{
	return w->message.length - peali_message_prefix(&w->message);
}

/* Returns 1 if the payload has the length that the handler takes; 0: any. */
static PEAL_DEV PEAL_INLINE int peali_takes(const struct peal_worker *w,
					    uint32_t bytes)
{
	return !bytes || PEAL_LIKELY(peal_length(w) == bytes) ||
	       w->message.header.flags & PEAL_FLAGS_OWN;
}

/** Returns the type of the message, as the sender has given it. */
static PEAL_DEV PEAL_INLINE uint16_t peal_type(const struct peal_worker *w)
{
	return w->message.header.type;
}

/** Returns the dead letter if the message is one, else 0. The kept bytes of the
 * dead message follow the struct. See peal/dead_letter.h. */
static PEAL_DEV PEAL_INLINE const struct peal_dead_letter *
peal_dead_letter_current(const struct peal_worker *w)
{
	return w->message.header.flags & PEAL_FLAG_DEAD_LETTER &&
			       w->message.length >=
				       sizeof(struct peal_dead_letter) ?
		       (const struct peal_dead_letter *)w->message.data :
		       0;
}

/**
 * Returns the number of messages that the running actor missed just before this
 * message, because its topic has overwritten them. 0: none, or the message is
 * not of a topic.
 */
static PEAL_DEV PEAL_INLINE uint64_t peal_missed(const struct peal_worker *w)
{
	const struct peal_input *in = &w->inputs[w->message.input];

	if (w->message.input >= w->params->max_inputs ||
	    !peali_is_topic(in->link.state))
		return 0;
	return in->topic->got.missed;
}

/** Returns the running actor's state. The caller casts it. */
static PEAL_DEV PEAL_INLINE void *peal_state(const struct peal_worker *w)
{
	return (void *)(uintptr_t)w->actor->state;
}

/** Returns the running actor's number, the low half of its address. */
static PEAL_DEV PEAL_INLINE uint32_t peal_self(const struct peal_worker *w)
{
	return w->message.header.actor;
}

#if !PEAL_ON_HOST
/* A lane that is not the leader has seen an abort. */
static PEAL_DEV PEAL_INLINE void peali_tell_abort(struct peal_worker *w)
{
	peal_store_lanes_u32(&w->aborted, 1);
	peal_store_lanes_u32(&w->events, 1);
}
#endif

/** Returns 1 if the kernel is being aborted: a long handler should return. The
 * worker then handles no further message. */
static PEAL_DEV PEAL_INLINE int peal_aborting(const struct peal_worker *w)
{
	if (PEAL_LIKELY(peal_load_relaxed_sys(&w->control->stop) !=
			PEAL_STOP_ABORT))
		return 0;
	if (peal_is_leader(w))
		peali_poll_soon(w);
#if !PEAL_ON_HOST
	else
		peali_tell_abort((struct peal_worker *)(uintptr_t)w);
#endif
	return 1;
}

#endif
