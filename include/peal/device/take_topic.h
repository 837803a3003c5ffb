/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_DEVICE_TAKE_TOPIC_H
#define PEAL_DEVICE_TAKE_TOPIC_H

#include <peal/device/topic.h>

/* Subscribing to a topic; see topic.h for the protocol. */

/** Fruitless looks at the next slot before one at the publisher's tail. */
#define PEAL_TOPIC_LOOKS 16

/**
 * Tells the publisher what was taken. Done by itself every capacity/4 messages
 * and when there is nothing to take. Wait-free.
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
 * Joins: the publisher heeds the subscriber from now on. Wait-free.
 *
 * @param t      the topic
 * @param s      the subscriber's own
 * @param index  of a cursor that nobody else uses, below n_cursors
 * @param oldest 1: begins with the oldest message that is there; 0: with the
 *               next one
 * @param stage  for atom policies room for a slot's content; else NULL
 * @return 0; PEAL_EINVAL there is no such cursor.
 */
static PEAL_DEV PEAL_UNUSED inline int
peal_topic_join(struct peal_topic *t, struct peal_topic_subscriber *s,
		uint32_t index, int oldest, void *stage)
{
	uint64_t capacity = peal_topic_capacity(t), tail, there, promised;

	if (index >= t->n_cursors)
		return PEAL_EINVAL;
	tail = peal_load_relaxed_dev(&t->tail);
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
	/* so far the publisher may go before it sees this cursor */
	promised = peal_load_relaxed_dev(&t->promised);
	if ((int64_t)(promised - capacity - s->number) > 0)
		s->number = promised - capacity;
	peal_topic_flush(s);
	return 0;
}

/**
 * Leaves: nobody waits for the subscriber any more. For one that is gone its
 * supervisor may call it. Wait-free.
 */
static PEAL_DEV PEAL_UNUSED inline void
peal_topic_leave(struct peal_topic_subscriber *s)
{
	/* R7: pairs with A7 in peali_topic_look: the content was read. */
	peal_store_release_dev(&s->cursor->active, 0);
}

/* ---- reading ------------------------------------------------------------- */

/* A content whose publisher may be writing: 1 it is whole. */
static PEAL_DEV PEAL_UNUSED inline int
peali_topic_read_words(const uint8_t *slot, uint64_t tag, uint64_t *header_out,
		       uint8_t *to, uint32_t length)
{
	const uint64_t *word = (const uint64_t *)(const void *)(slot + 8);
	uint32_t at, i;

	/* A8: pairs with R8 in peali_topic_overwrite, each of the words. */
	*header_out = peal_load_acquire_sys(word++);
	for (at = 0; at < length; at += 8) {
		uint64_t w = peal_load_acquire_sys(word++);

		if (at + 8 <= length) {
			__builtin_memcpy(to + at, &w, 8);
			continue;
		}
		for (i = 0; at + i < length; i++)
			to[at + i] = (uint8_t)(w >> 8 * i);
	}
	return peal_load_relaxed_sys((const uint64_t *)(const void *)slot) ==
	       tag;
}

/* Its lap is a later one: the message was overwritten. */
static PEAL_DEV PEAL_INLINE int peali_topic_later(uint32_t tag_lap,
						  uint32_t lap)
{
	return (int16_t)(tag_lap - lap) > 0 ? -1 : 0;
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
		return peali_topic_later((uint32_t)(tag >> 48), lap);
	*length_out = (uint32_t)tag - (uint32_t)sizeof(*header_out);
	if (PEAL_UNLIKELY(*length_out > t->message_bytes))
		return -1; /* no publisher writes that */
	if (t->mode == PEAL_TOPIC_OVERWRITE)
		return peali_topic_read_words(slot, tag, header_out, to,
					      *length_out) ?
			       1 :
			       -1;
	*header_out = *(const uint64_t *)(const void *)(slot + 8);
	peal_copy(to, slot + 8 + sizeof(*header_out), *length_out);
	return 1;
}

/* As peali_topic_read, with atoms. */
static PEAL_DEV PEAL_UNUSED inline int
peali_topic_read_atoms(struct peal_topic *t, uint8_t *stage, uint64_t number,
		       uint8_t *to, uint64_t *header_out, uint32_t *length_out)
{
	uint32_t policy = peali_policy(t->policy), word[3];
	uint8_t *slot = peali_topic_slot(t, number);
	uint32_t lap = peali_topic_lap(t, number);
	struct peal_slot_view view = { 0, 0, 0 };

	if (!peal_slot_unpack(policy, slot, lap, stage,
			      peali_slot_atoms(policy, t->slot_bytes), &view))
		return peali_topic_later(
			peali_atom_read(policy, slot, 0, word) >> 16, lap);
	*header_out = *(const uint64_t *)(const void *)view.content;
	*length_out = view.length - (uint32_t)sizeof(*header_out);
	if (PEAL_UNLIKELY(*length_out > t->message_bytes))
		return -1; /* no publisher writes that */
	peal_copy(to, view.content + sizeof(*header_out), *length_out);
	return 1;
}

/* Reads a message: 1 it is there; 0 not yet; -1 it was overwritten, or never
 * was one. */
static PEAL_DEV PEAL_INLINE int
peali_topic_read(struct peal_topic *t, struct peal_topic_subscriber *s,
		 uint8_t *to, struct peal_topic_got *got)
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
		return -1; /* the same lap, 65,536 laps later */
	got->number = s->number;
	got->length = length;
	got->type = (uint16_t)(header >> 32);
	got->flags = (uint16_t)(header >> 48);
	return 1;
}

/*
 * The next message was overwritten: goes on with the oldest that is there, less
 * a quarter of the ring, so that it is not overtaken again at once.
 */
static PEAL_DEV PEAL_UNUSED PEAL_NOINLINE void
peali_topic_skip(struct peal_topic *t, struct peal_topic_subscriber *s)
{
	uint64_t capacity = peal_topic_capacity(t);
	uint64_t to = peal_load_relaxed_dev(&t->tail) - capacity + capacity / 4;

	if ((int64_t)(to - s->number) <= 0)
		to = s->number + 1; /* the publisher has not told its tail */
	s->missed += to - s->number;
	s->lost += to - s->number;
	s->number = to;
}

/* Nothing there: is it that the slot's tag has gone round, or half round? */
static PEAL_DEV PEAL_UNUSED PEAL_NOINLINE void
peali_topic_idle(struct peal_topic *t, struct peal_topic_subscriber *s)
{
	peal_topic_flush(s);
	if (t->mode == PEAL_TOPIC_OVERWRITE &&
	    ++s->looks % PEAL_TOPIC_LOOKS == 0 &&
	    (int64_t)(peal_load_relaxed_dev(&t->tail) - s->number -
		      peal_topic_capacity(t)) > 0)
		peali_topic_skip(t, s);
}

/**
 * Takes as many messages as there are, up to n.
 *
 * @param t       the topic
 * @param s       the subscriber's own
 * @param to      n * bytes: the payloads, each at a multiple of bytes
 * @param bytes   room for each; at least the topic's message_bytes
 * @param n       at least 1
 * @param got_out n of them: number and length of each, and how many messages
 *                before it were lost to this subscriber
 * @return how many, at least 1; PEAL_EAGAIN nothing to take now: then what is
 *         at `to` means nothing; PEAL_EMSGSIZE the room is short. Wait-free.
 */
static PEAL_DEV PEAL_UNUSED inline int
peal_topic_take_burst(struct peal_topic *t, struct peal_topic_subscriber *s,
		      void *to, uint64_t bytes, uint32_t n,
		      struct peal_topic_got *got_out)
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

/** Takes one message: peal_topic_take_burst of one. Its result is 1 then. */
static PEAL_DEV PEAL_UNUSED inline int
peal_topic_take(struct peal_topic *t, struct peal_topic_subscriber *s, void *to,
		uint64_t bytes, struct peal_topic_got *got_out)
{
	return peal_topic_take_burst(t, s, to, bytes, 1, got_out);
}

#endif
