/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_DEVICE_TOPIC_SUBSCRIBER_H
#define PEAL_DEVICE_TOPIC_SUBSCRIBER_H

#include <peal/device/topic.h>

/* The subscriber's side of a topic; see topic.h for the protocol. */

/** Looks at an empty next slot before a look at the publisher's tail. */
#define PEAL_TOPIC_LOOKS 16

/**
 * Publishes the subscriber's position to the publisher.
 *
 * The taking functions also do this: after each quarter of the capacity, and
 * when there is no message. One lane, wait-free.
 *
 * @param s the subscriber's private state.
 */
static PEAL_DEV PEAL_UNUSED PEAL_NOINLINE void
peal_topic_flush(struct peal_topic_subscriber *s)
{
	/* R7: pairs with A7 in peali_topic_look: the content was read. */
	if (s->told != s->number)
		peal_store_release_dev(&s->cursor->number, s->number);
	s->told = s->number;
}

/**
 * Joins a topic.
 *
 * In mode WAIT, the publisher waits for the subscriber from now on. One lane,
 * wait-free.
 *
 * @param t      the topic.
 * @param s      the subscriber's private state, filled on success.
 * @param index  index of a cursor without another user, below n_cursors.
 * @param oldest 1: begin with the oldest message that is there; 0: begin with
 *               the next message.
 * @param stage  atom policies: a private buffer for a slot's content; else 0.
 * @return 0, or a negative error code:
 * @retval PEAL_EINVAL  there is no such cursor.
 */
static PEAL_DEV PEAL_UNUSED inline int
peal_topic_join(struct peal_topic *t, struct peal_topic_subscriber *s,
		uint32_t index, int oldest, void *stage)
{
	uint64_t capacity = peal_topic_capacity(t), tail, there, promised;

	if (index >= t->n_cursors)
		return PEAL_EINVAL;
	tail = peali_topic_tail(t);
	there = tail - t->first;
	if (there > capacity)
		there = capacity;
	s->cursor = peali_topic_cursor(t, index);
	s->number = s->told = oldest ? tail - there : tail;
	s->missed = s->taken = s->lost = 0;
	s->stage = (uint8_t *)stage;
	s->looks = 0;
	peal_store_relaxed_dev(&s->cursor->number, s->number);
	peal_store_release_dev(&s->cursor->active, 1);
	/* R9, A9: pairs with itself in peali_topic_look. */
	peal_add_acqrel_dev(&t->gate, 1);
	if (t->mode != PEAL_TOPIC_WAIT)
		return 0;
	/* the publisher may publish this far before it sees the cursor */
	promised = peal_load_relaxed_dev(&t->promised);
	if ((int64_t)(promised - capacity - s->number) > 0)
		s->number = promised - capacity;
	peal_topic_flush(s);
	return 0;
}

/**
 * Leaves a topic: the publisher does not wait for the subscriber any more.
 *
 * If the subscriber has died, another may call this for it. One lane,
 * wait-free.
 *
 * @param s the subscriber's private state.
 */
static PEAL_DEV PEAL_UNUSED inline void
peal_topic_leave(struct peal_topic_subscriber *s)
{
	/* R7: pairs with A7 in peali_topic_look: the content was read. */
	peal_store_release_dev(&s->cursor->active, 0);
}

/* ---- reading ------------------------------------------------------------- */

/*
 * Copies a content that the publisher may be overwriting. Returns 1 if the copy
 * is of one message. It loads the header again last. A tag of 65,536 laps later
 * equals the first one, but its header has a later era.
 */
static PEAL_DEV PEAL_UNUSED inline int
peali_topic_read_words(const uint8_t *slot, uint64_t tag, uint64_t *header_out,
		       uint8_t *to, uint32_t length)
{
	const uint64_t *header = (const uint64_t *)(const void *)(slot + 8);
	const uint64_t *word = header + 1;
	uint32_t at, i;

	/* A8: pairs with R8 in peali_topic_overwrite, each of the words. */
	*header_out = peal_load_acquire_sys(header);
	for (at = 0; at < length; at += 8) {
		uint64_t w = peal_load_acquire_sys(word++);

		if (at + 8 <= length) {
			__builtin_memcpy(to + at, &w, 8);
			continue;
		}
		for (i = 0; at + i < length; i++)
			to[at + i] = (uint8_t)(w >> 8 * i);
	}
	/* A1: pairs with R1 in peal_slot_publish, for a later equal tag. */
	return peal_load_acquire_sys((const uint64_t *)(const void *)slot) ==
		       tag &&
	       peal_load_relaxed_sys(header) == *header_out;
}

/* Returns 1 if the publisher has overwritten the message. */
static PEAL_DEV PEAL_INLINE int peali_topic_is_past(const struct peal_topic *t,
						    uint64_t number)
{
	return t->mode == PEAL_TOPIC_OVERWRITE &&
	       (int64_t)(peal_load_relaxed_dev(&t->tail) - number -
			 peal_topic_capacity(t)) > 0;
}

/*
 * The slot has no message with that number. Returns -1 if a later one has
 * overwritten the message, by the lap in the slot's tag. Else returns 0. A lap
 * that is neither the message's nor the one before may be half wrapped.
 */
static PEAL_DEV PEAL_INLINE int
peali_topic_later(const struct peal_topic *t, uint64_t number, uint32_t tag_lap)
{
	uint32_t ahead = (tag_lap - peali_topic_lap(t, number)) & 0xffff;

	if (!ahead || ahead == 0xffff)
		return 0;
	return ahead < 0x8000 || peali_topic_is_past(t, number) ? -1 : 0;
}

/* As peali_topic_read, with the sequence policy. */
static PEAL_DEV PEAL_INLINE int
peali_topic_read_sequence(struct peal_topic *t, uint64_t number, uint8_t *to,
			  uint64_t *header_out, uint32_t *length_out)
{
	const uint8_t *slot = peali_topic_slot(t, number);
	uint32_t lap = peali_topic_lap(t, number);
	/* A1: pairs with R1 in peal_slot_publish. */
	uint64_t tag =
		peal_load_acquire_sys((const uint64_t *)(const void *)slot);

	if ((uint32_t)(tag >> 40) != peal_tag_high(lap, PEAL_KIND_DATA))
		return peali_topic_later(t, number, (uint32_t)(tag >> 48));
	*length_out = (uint32_t)tag - (uint32_t)sizeof(*header_out);
	if (PEAL_UNLIKELY(*length_out > t->message_bytes))
		return -1; /* not written by a publisher */
	if (t->mode == PEAL_TOPIC_OVERWRITE)
		return peali_topic_read_words(slot, tag, header_out, to,
					      *length_out) ?
			       1 :
			       -1;
	*header_out = *(const uint64_t *)(const void *)(slot + 8);
	peal_copy(to, slot + 8 + sizeof(*header_out), *length_out);
	return 1;
}

/*
 * Looks at the first atom after all others were read. Its first word has the
 * era. `complete` 1: all atoms had the message's lap. Returns 1 if they are the
 * message. Else returns as peali_topic_later.
 */
static PEAL_DEV PEAL_INLINE int peali_topic_again(const struct peal_topic *t,
						  const uint8_t *slot,
						  uint64_t number, int complete)
{
	uint32_t word[3] = { 0, 0, 0 }, lap;

	lap = peali_atom_read(peali_policy(t->policy), slot, 0, word) >> 16;
	if (lap != (peali_topic_lap(t, number) & 0xffff))
		return peali_topic_later(t, number, lap);
	return word[0] == peali_topic_era(t, number) ? complete : -1;
}

/* As peali_topic_read, with atoms. One atom alone is one message. */
static PEAL_DEV PEAL_UNUSED inline int
peali_topic_read_atoms(struct peal_topic *t, uint8_t *stage, uint64_t number,
		       uint8_t *to, uint64_t *header_out, uint32_t *length_out)
{
	uint32_t policy = peali_policy(t->policy);
	uint8_t *slot = peali_topic_slot(t, number);
	struct peal_slot_view view = { 0, 0, 0 };
	int found;

	found = peal_slot_unpack(policy, slot, peali_topic_lap(t, number),
				 stage, peali_slot_atoms(policy, t->slot_bytes),
				 &view);
	if (!found || (t->mode == PEAL_TOPIC_OVERWRITE &&
		       view.length > peali_atom_payload(policy)))
		found = peali_topic_again(t, slot, number, found);
	if (found != 1)
		return found;
	*header_out = *(const uint64_t *)(const void *)view.content;
	*length_out = view.length - (uint32_t)sizeof(*header_out);
	if (PEAL_UNLIKELY(*length_out > t->message_bytes))
		return -1; /* not written by a publisher */
	peal_copy(to, view.content + sizeof(*header_out), *length_out);
	return 1;
}

/* Reads the next message. Returns 1, 0 if it is not there yet, or -1 if it was
 * overwritten or is no message. */
static PEAL_DEV PEAL_INLINE int
peali_topic_read(struct peal_topic *t, struct peal_topic_subscriber *s,
		 uint8_t *to, struct peal_topic_received *got)
{
	uint64_t header = 0;
	uint32_t length = 0;
	int found;

	if (peali_policy(t->policy) == PEAL_POLICY_SEQUENCE)
		found = peali_topic_read_sequence(t, s->number, to, &header,
						  &length);
	else
		found = peali_topic_read_atoms(t, s->stage, s->number, to,
					       &header, &length);
	if (found != 1)
		return found;
	if (PEAL_UNLIKELY((uint32_t)header != peali_topic_era(t, s->number)))
		return -1; /* same 16 bits of the lap, but a later lap */
	got->number = s->number;
	got->length = length;
	got->type = (uint16_t)(header >> 32);
	got->flags = (uint16_t)(header >> 48);
	return 1;
}

/*
 * The next message was overwritten: continues after the oldest quarter of the
 * ring. So the publisher does not overtake the subscriber again at once.
 */
static PEAL_DEV PEAL_UNUSED PEAL_NOINLINE void
peali_topic_skip(struct peal_topic *t, struct peal_topic_subscriber *s)
{
	uint64_t capacity = peal_topic_capacity(t);
	uint64_t to = peali_topic_tail(t) - capacity + capacity / 4;

	if ((int64_t)(to - s->number) <= 0)
		to = s->number + 1; /* the published tail is older */
	s->missed += to - s->number;
	s->lost += to - s->number;
	s->number = to;
}

/* There is no message. Looks at the tail from time to time: the lap in the tag
 * may have wrapped, or half wrapped. */
static PEAL_DEV PEAL_UNUSED PEAL_NOINLINE void
peali_topic_idle(struct peal_topic *t, struct peal_topic_subscriber *s)
{
	peal_topic_flush(s);
	if (++s->looks % PEAL_TOPIC_LOOKS == 0 &&
	    peali_topic_is_past(t, s->number))
		peali_topic_skip(t, s);
}

/**
 * Takes up to n messages.
 *
 * One lane, wait-free.
 *
 * @param t       the topic.
 * @param s       the subscriber's private state.
 * @param to      buffer of n * bytes bytes; payload i is at i * bytes.
 * @param bytes   bytes per payload, at least the topic's message_bytes.
 * @param n       1 or more.
 * @param got_out n elements, filled for each message: number, length, type,
 *                flags, and the messages missed before it.
 * @return the number of messages, at least 1. Or a negative error code:
 * @retval PEAL_EAGAIN   there is no message now. The buffer is undefined.
 * @retval PEAL_EMSGSIZE `bytes` is too small.
 */
static PEAL_DEV PEAL_UNUSED inline int
peal_topic_take_burst(struct peal_topic *t, struct peal_topic_subscriber *s,
		      void *to, uint64_t bytes, uint32_t n,
		      struct peal_topic_received *got_out)
{
	uint8_t *out = (uint8_t *)to;
	uint32_t i = 0, skips = 0;
	int found;

	if (PEAL_UNLIKELY(bytes < t->message_bytes))
		return PEAL_EMSGSIZE;
	while (i < n) {
		found = peali_topic_read(t, s, out + i * bytes, &got_out[i]);
		if (PEAL_UNLIKELY(found < 0)) {
			peali_topic_skip(t, s);
			if (skips++ < 2)
				continue;
		}
		if (found <= 0)
			break;
		got_out[i++].missed = s->missed;
		s->missed = 0;
		s->taken++;
		s->number++;
		if (PEAL_UNLIKELY(4 * (s->number - s->told) >=
				  peal_topic_capacity(t)))
			peal_topic_flush(s);
	}
	if (i)
		return (int)i;
	peali_topic_idle(t, s);
	return PEAL_EAGAIN;
}

/** Takes one message, as peal_topic_take_burst. Returns 1 for a message. */
static PEAL_DEV PEAL_UNUSED inline int
peal_topic_take(struct peal_topic *t, struct peal_topic_subscriber *s, void *to,
		uint64_t bytes, struct peal_topic_received *got_out)
{
	return peal_topic_take_burst(t, s, to, bytes, 1, got_out);
}

#endif
