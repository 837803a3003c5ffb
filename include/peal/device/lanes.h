/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_DEVICE_LANES_H
#define PEAL_DEVICE_LANES_H

#include <peal/device/mail.h>

/*
 * A worker: the lanes that take a message and run a handler together. Handlers
 * are written in lane-stride style and know no lane count:
 *
 *	for (i = peal_lane(w); i < n; i += peal_lanes(w)) ...
 *
 * What is collective says so: every lane of the worker calls it, with the same
 * arguments, and every lane gets the same result.
 */

/* ---- lanes --------------------------------------------------------------- */

/** The calling lane, 0 .. peal_lanes - 1. */
static PEAL_DEV PEAL_INLINE uint32_t peal_lane(const struct peal_worker *w)
{
#if PEAL_ON_HOST
	return PEAL_SINGLE_LANE ? 0 : w->lane;
#else
	(void)w;
	return peal_hw_lane();
#endif
}

/** How many lanes the worker has. */
static PEAL_DEV PEAL_INLINE uint32_t peal_lanes(const struct peal_worker *w)
{
#if PEAL_ON_HOST
	return PEAL_SINGLE_LANE ? 1 : w->lanes;
#else
	(void)w;
	return peal_hw_lanes();
#endif
}

/** Whether the calling lane is the one that speaks for the worker. */
static PEAL_DEV PEAL_INLINE int peal_is_leader(const struct peal_worker *w)
{
	return peal_lane(w) == 0;
}

/** Collective: all lanes meet; each sees what the others wrote before. */
static PEAL_DEV PEAL_INLINE void peal_sync(const struct peal_worker *w)
{
	if (peal_lanes(w) == 1)
		return;
#if PEAL_ON_HOST
	peal_host_sync_lanes();
#else
	peal_hw_sync();
#endif
}

/** Collective: the value of lane `from` (below peal_lanes) to every lane. */
static PEAL_DEV PEAL_INLINE uint64_t peal_shuffle(const struct peal_worker *w,
						  uint64_t value, uint32_t from)
{
	if (peal_lanes(w) == 1)
		return value;
	w->scratch[peal_lane(w)] = value;
	peal_sync(w);
	value = w->scratch[from];
	peal_sync(w);
	return value;
}

/** Collective: the leader's value to every lane. */
static PEAL_DEV PEAL_INLINE uint64_t peal_broadcast(const struct peal_worker *w,
						    uint64_t value)
{
#if PEAL_ON_HOST
	return peal_shuffle(w, value, 0);
#else
	if (peal_lanes(w) == 1)
		return value;
	if (peal_is_leader(w))
		*w->said = value;
	peal_sync(w);
	value = *w->said;
	peal_sync(w);
	return value;
#endif
}

/** Collective: the sum of all lanes' values, modulo 2^64. */
static PEAL_DEV PEAL_INLINE uint64_t peal_sum(const struct peal_worker *w,
					      uint64_t value)
{
	uint64_t sum = 0;
	uint32_t i;

	if (peal_lanes(w) == 1)
		return value;
	w->scratch[peal_lane(w)] = value;
	peal_sync(w);
	for (i = 0; i < peal_lanes(w); i++)
		sum += w->scratch[i];
	peal_sync(w);
	return sum;
}

/** Collective: the exclusive or of all lanes' values. */
static PEAL_DEV PEAL_UNUSED inline uint64_t
peal_xor(const struct peal_worker *w, uint64_t value)
{
	uint64_t mixed = 0;
	uint32_t i;

	if (peal_lanes(w) == 1)
		return value;
	w->scratch[peal_lane(w)] = value;
	peal_sync(w);
	for (i = 0; i < peal_lanes(w); i++)
		mixed ^= w->scratch[i];
	peal_sync(w);
	return mixed;
}

/** Collective: 1 if any lane's condition holds. */
static PEAL_DEV PEAL_INLINE int peal_vote_any(const struct peal_worker *w,
					      int condition)
{
	return peal_sum(w, condition ? 1 : 0) != 0;
}

/** Collective: 1 if every lane's condition holds. */
static PEAL_DEV PEAL_INLINE int peal_vote_all(const struct peal_worker *w,
					      int condition)
{
	return peal_sum(w, condition ? 1 : 0) == peal_lanes(w);
}

/** Collective: the lowest lane whose condition holds, or -1. */
static PEAL_DEV PEAL_INLINE int peal_elect(const struct peal_worker *w,
					   int condition)
{
	int found = -1;
	uint32_t i;

	if (peal_lanes(w) == 1)
		return condition ? 0 : -1;
	w->scratch[peal_lane(w)] = condition ? 1 : 0;
	peal_sync(w);
	for (i = 0; i < peal_lanes(w) && found < 0; i++)
		if (w->scratch[i])
			found = (int)i;
	peal_sync(w);
	return found;
}

/** Collective: copies n bytes, all lanes together; ends with all bytes there. */
static PEAL_DEV PEAL_UNUSED inline void
peal_copy_lanes(const struct peal_worker *w, void *to, const void *from,
		uint64_t n)
{
	uint8_t *out = (uint8_t *)to;
	const uint8_t *in = (const uint8_t *)from;
	uint64_t words = 0, i;

	if (peal_lanes(w) == 1) {
		peal_copy(to, from, n);
		return;
	}
	if (!(((uintptr_t)to | (uintptr_t)from) & 7))
		words = n / 8;
	for (i = peal_lane(w); i < words; i += peal_lanes(w))
		((uint64_t *)to)[i] = ((const uint64_t *)from)[i];
	for (i = words * 8 + peal_lane(w); i < n; i += peal_lanes(w))
		out[i] = in[i];
	peal_sync(w);
}

/* ---- the message in hand ------------------------------------------------- */

/** The payload of the message in hand; valid until the handler returns. */
static PEAL_DEV PEAL_INLINE const void *peal_data(const struct peal_worker *w)
{
	return (const uint8_t *)w->message.data +
	       peali_message_prefix(&w->message);
}

/** Its length in bytes. */
static PEAL_DEV PEAL_INLINE uint64_t peal_length(const struct peal_worker *w)
{
	return w->message.length - peali_message_prefix(&w->message);
}

/** Its type: the sender's number. */
static PEAL_DEV PEAL_INLINE uint16_t peal_type(const struct peal_worker *w)
{
	return w->message.header.type;
}

/** The dead letter in hand, behind which lies what it has kept; 0: the message
 * is none. See peal/dead_letter.h. */
static PEAL_DEV PEAL_INLINE const struct peal_dead_letter *
peal_dead_letter_in_hand(const struct peal_worker *w)
{
	return w->message.header.flags & PEAL_FLAG_DEAD_LETTER &&
			       w->message.length >=
				       sizeof(struct peal_dead_letter) ?
		       (const struct peal_dead_letter *)w->message.data :
		       0;
}

/**
 * How many messages of its topic were lost to the running actor just before
 * this one: the topic overwrites, and it was too slow. 0 for any other message.
 */
static PEAL_DEV PEAL_INLINE uint64_t peal_missed(const struct peal_worker *w)
{
	const struct peal_input *in = &w->inputs[w->message.input];

	if (w->message.input >= w->params->max_inputs ||
	    in->link.state != PEALI_STATE_TOPIC)
		return 0;
	return in->topic->got.missed;
}

/** The running actor's state; the caller casts it. */
static PEAL_DEV PEAL_INLINE void *peal_state(const struct peal_worker *w)
{
	return (void *)(uintptr_t)w->actor->state;
}

/** The running actor's number in its kernel: the low half of its address. */
static PEAL_DEV PEAL_INLINE uint32_t peal_self(const struct peal_worker *w)
{
	return w->message.header.actor;
}

/** Whether a long handler shall give up: the kernel is being aborted. */
static PEAL_DEV PEAL_INLINE int peal_aborting(const struct peal_worker *w)
{
	return peal_load_relaxed_sys(&w->control->stop) == PEAL_STOP_ABORT;
}

#endif
