/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_DEVICE_WORK_CONSUMER_H
#define PEAL_DEVICE_WORK_CONSUMER_H

#include <peal/device/impl/queue/work_claim.h>

/* Taking from a work queue; see work.h for the protocol. */

/*
 * Reads the message of a claimed number. Returns 1 for a message, 0 if it is
 * not there yet. Returns -1 if its producer is gone or the slot is corrupt.
 */
static PEAL_DEV PEAL_INLINE int peali_work_read(struct peal_work *q,
						uint8_t *stage, uint64_t number,
						uint8_t *to, uint32_t most,
						struct peal_work_received *got)
{
	const uint32_t header = (uint32_t)sizeof(struct peal_header);
	uint32_t policy = peali_policy(q->policy);
	uint32_t lap = peali_work_lap(q, number);
	uint8_t *slot = peali_work_slot(q, number);
	struct peal_slot_view view = { 0, 0, 0 };

	if (!(policy == PEAL_POLICY_SEQUENCE ?
		      peal_slot_peek(slot, lap, &view) :
		      peal_slot_unpack(policy, slot, lap, stage,
				       peali_slot_atoms(policy, q->slot_bytes),
				       &view)))
		return 0;
	view.length -= header;
	if (PEAL_UNLIKELY(view.kind != PEAL_KIND_DATA || view.length > most))
		return -1;
	got->header = *(const struct peal_header *)(const void *)view.content;
	got->length = view.length;
	got->number = number;
	peal_copy(to, view.content + header, view.length);
	return 1;
}

/* Output of a call. */
struct peali_work_into {
	uint8_t *to; /* payloads, `bytes` bytes each */
	uint64_t bytes;
	struct peal_work_received *got;
	uint32_t n; /* messages taken */
	uint32_t most; /* largest payload of a message, at most `bytes` */
};

/* Reads of a claimed slot before it counts as damaged. A GPU may show a message
 * later than the turn of the consumer that has seen it. */
#define PEALI_WORK_READS (PEAL_ON_HOST ? 1u : 0x10000u)

/* Takes a claimed message. It is there, unless memory is damaged. */
static PEAL_DEV PEAL_INLINE void peali_work_take(struct peal_work *q,
						 struct peal_work_consumer *c,
						 uint64_t number,
						 struct peali_work_into *into)
{
	uint32_t reads = PEALI_WORK_READS;
	int found;

	do
		found = peali_work_read(q, c->stage, number,
					into->to + into->n * into->bytes,
					into->most, &into->got[into->n]);
	while (PEAL_UNLIKELY(!found) && --reads);
	peali_work_done(q, c, number, 1);
	if (PEAL_LIKELY(found > 0)) {
		c->taken++;
		into->n++;
	} else {
		c->dead++;
	}
}

/* Counts the n messages from `first` on as taken, block by block. */
static PEAL_DEV PEAL_INLINE void
peali_work_done_run(struct peal_work *q, struct peal_work_consumer *c,
		    uint64_t first, uint64_t n)
{
	uint64_t block = 1ULL << q->block_log2, i, k;

	for (i = 0; i < n; i += k) {
		k = block - ((first + i) & (block - 1));
		k = k < n - i ? k : n - i;
		peali_work_done(q, c, first + i, k);
	}
}

/* Takes up to k messages from `first` on; stops at a slot without a message.
 * Returns their number. Sequence policy. */
static PEAL_DEV PEAL_INLINE uint64_t
peali_work_take_run(struct peal_work *q, struct peal_work_consumer *c,
		    uint64_t first, uint64_t k, struct peali_work_into *into)
{
	const uint32_t header = (uint32_t)sizeof(struct peal_header);
	/* local copies: the compiler must assume that outputs alias *q */
	uint64_t slot_bytes = q->slot_bytes, left = peali_work_left(q, first);
	uint64_t bytes = into->bytes, i;
	struct peal_work_received *got = into->got + into->n;
	uint8_t *to = into->to + into->n * bytes;
	uint8_t *slot = peali_work_slot(q, first);
	uint32_t most = into->most, length;
	uint32_t expect =
		peal_tag_high(peali_work_lap(q, first), PEAL_KIND_DATA);

	if (k > left)
		k = left; /* the ring's end; the caller takes the rest */
	for (i = 0; i < k; i++, slot += slot_bytes) {
		/* A1: pairs with R1 in peal_slot_publish. */
		uint64_t tag = peal_load_acquire_sys(
			(const uint64_t *)(const void *)slot);

		length = (uint32_t)tag - header;
		if ((uint32_t)(tag >> 40) != expect || length > most)
			break;
		got[i].header =
			*(const struct peal_header *)(const void *)(slot + 8);
		got[i].length = length;
		got[i].number = first + i;
		peal_copy(to + i * bytes, slot + 8 + header, length);
	}
	c->taken += i;
	into->n += (uint32_t)i;
	peali_work_done_run(q, c, first, i);
	return i;
}

/* Takes all k messages of a claim from `first` on. */
static PEAL_DEV PEAL_INLINE void
peali_work_take_claim(struct peal_work *q, struct peal_work_consumer *c,
		      uint64_t first, uint64_t k, struct peali_work_into *into)
{
	uint64_t i = 0;

	if (peali_policy(q->policy) == PEAL_POLICY_SEQUENCE)
		i = peali_work_take_run(q, c, first, k, into);
	for (; i < k; i++)
		peali_work_take(q, c, first + i, into);
}

/**
 * Takes up to n messages.
 *
 * One lane, wait-free.
 *
 * @param q       the queue.
 * @param c       the consumer's private state.
 * @param to      buffer of n * bytes bytes; payload i is at i * bytes.
 * @param bytes   bytes per payload, at least the queue's message_bytes.
 * @param n       1 or more. A call takes at most PEAL_WORK_BURST messages.
 * @param got_out n elements, filled for each message: header, length, ticket.
 * @return the number of messages, at least 1. Or a negative error code:
 * @retval PEAL_EAGAIN   there is no message to take now, see work.h.
 * @retval PEAL_EMSGSIZE `bytes` is too small.
 */
static PEAL_DEV PEAL_UNUSED inline int
peal_work_pop_burst(struct peal_work *q, struct peal_work_consumer *c, void *to,
		    uint64_t bytes, uint32_t n,
		    struct peal_work_received *got_out)
{
	struct peali_work_into into = { (uint8_t *)to, bytes, got_out, 0,
					q->message_bytes };
	uint32_t most = peali_min_u32(n, PEAL_WORK_BURST), tries;
	uint64_t first = 0, k;

	if (PEAL_UNLIKELY(bytes < into.most))
		return PEAL_EMSGSIZE;
	/* again only if all claimed slots were dead */
	for (tries = PEAL_WORK_BURST; !into.n && tries; tries--) {
		k = peali_work_claim(q, c, most, &first);
		if (PEAL_UNLIKELY(!k))
			break;
		peali_work_take_claim(q, c, first, k, &into);
	}
	if (PEAL_LIKELY(into.n))
		return (int)into.n;
	peal_work_flush(q, c);
	return PEAL_EAGAIN;
}

/** Takes one message, as peal_work_pop_burst. Returns 1 for a message. */
static PEAL_DEV PEAL_UNUSED inline int
peal_work_pop(struct peal_work *q, struct peal_work_consumer *c, void *to,
	      uint64_t bytes, struct peal_work_received *got_out)
{
	return peal_work_pop_burst(q, c, to, bytes, 1, got_out);
}

#endif
