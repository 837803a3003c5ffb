/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Words in the slots, the slab and the credit of a link. The first byte selects
 * the policy. Then each step is one byte: bytes of the peer, or a call.
 */
#include "fuzz/fuzz.h"

#include "queues/link_pair.h"

#define STEPS 64
#define MESSAGE_BYTES 500
#define SLOTS 4
#define SLOT_BYTES 64

static const struct peal_header none = { 0, 0, 0 };

static int is_inside(const void *data, uint64_t length, const void *area,
		     uint64_t bytes)
{
	uintptr_t d = (uintptr_t)data, a = (uintptr_t)area;

	return d >= a && d - a <= bytes && length <= bytes - (d - a);
}

/* Returns the slot that a reader or a writer uses next. */
static uint8_t *next_slot(const struct link_pair *l, uint64_t number)
{
	return l->c.slots + (number & (SLOTS - 1)) * SLOT_BYTES;
}

static uint32_t lap_of(const struct link_pair *l, uint64_t number)
{
	return (uint32_t)(number >> l->c.capacity_log2) + 1;
}

/* Writes any bytes at any place of the slots and the slab. */
static void write_bytes(struct link_pair *l, struct fuzz_input *in)
{
	uint64_t bytes = peali_ring_bytes(&l->spec) - sizeof(struct peal_ring);
	uint64_t place = fuzz_u64(in) % bytes, n = fuzz_u8(in) % 32;

	if (n > bytes - place)
		n = bytes - place;
	fuzz_take(in, l->c.slots + place, n);
}

/* Writes a message with a correct tag, and any content and length. */
static void write_slot(struct link_pair *l, struct fuzz_input *in)
{
	uint8_t *slot = next_slot(l, l->c.head), content[SLOT_BYTES];
	uint32_t lap = lap_of(l, l->c.head), kind = fuzz_u8(in), low = 0;
	uint32_t most = peal_slot_content_max(l->spec.policy, SLOT_BYTES);

	fuzz_take(in, &low, sizeof(low));
	fuzz_take(in, content, 32);
	memset(content + 32, 0, sizeof(content) - 32);
	if (l->spec.policy == PEAL_POLICY_SEQUENCE) {
		memcpy(slot + 8, content, low < most ? low : most);
		peal_slot_publish(slot, lap, kind, low);
	} else {
		peal_slot_pack(l->spec.policy, slot, lap, kind, content,
			       low < most ? low : most, 0, 1);
	}
}

static void write_credit(struct link_pair *l, struct fuzz_input *in)
{
	l->credit->slots = fuzz_u64(in);
	l->credit->slab = fuzz_u64(in);
}

static void push(struct link_pair *l, uint32_t n)
{
	static const uint8_t payload[3 * MESSAGE_BYTES];
	int result;

	if (n % 4 == 0)
		result = peal_link_push_mark(&l->p, n & 4 ? PEAL_KIND_SEAL :
							    PEAL_KIND_END);
	else if (n % 4 == 1)
		result = peal_link_push_bulk(&l->p, none, payload,
					     n * 4 % MESSAGE_BYTES, 3);
	else
		result = peal_link_push(&l->p, none, payload,
					n * 4 % MESSAGE_BYTES);
	FUZZ_CHECK(result >= 0 || result == PEAL_EAGAIN ||
		   result == PEAL_EPROTO || result == PEAL_EPIPE ||
		   result == PEAL_EMSGSIZE);
}

/* Reads the next message. Its bytes are in the slots, the slab or the stage. */
static void take(struct link_pair *l, uint32_t n)
{
	struct peal_message m;
	volatile uint8_t last;
	int result = peal_link_peek(&l->c, &m);
	uint32_t kind;

	if (result) {
		FUZZ_CHECK(result == PEAL_EAGAIN || result == PEAL_EPROTO ||
			   result == PEAL_EEND);
		return;
	}
	kind = m.kind & ~(uint32_t)PEAL_KIND_TIMED;
	if (kind == PEAL_KIND_END || kind == PEAL_KIND_SEAL ||
	    kind == PEAL_KIND_GATE) {
		peal_link_release_mark(&l->c, m.kind);
		return;
	}
	FUZZ_CHECK(kind == PEAL_KIND_DATA || kind == PEAL_KIND_SLAB);
	FUZZ_CHECK(m.length <= l->spec.message_bytes);
	if (kind == PEAL_KIND_SLAB)
		FUZZ_CHECK(is_inside(m.data, m.length, l->c.slab,
				     l->c.slab_bytes));
	else if (l->spec.policy == PEAL_POLICY_SEQUENCE)
		FUZZ_CHECK(is_inside(m.data, m.length, l->c.slots,
				     SLOTS * SLOT_BYTES));
	else
		FUZZ_CHECK(is_inside(m.data, m.length, l->c.stage,
				     peali_ring_stage_bytes(&l->spec)));
	if (m.length)
		last = ((const uint8_t *)m.data)[m.length - 1];
	(void)last;
	if (n % 2)
		peal_link_release(&l->c, &m);
	else
		peal_link_release_dead(&l->c, PEAL_REASON_HANDLER);
}

static void pop(struct link_pair *l, uint32_t n)
{
	uint8_t *to = malloc(3 * 64);
	struct peal_message m;
	uint64_t lengths[3];
	int result;

	FUZZ_CHECK(to);
	if (n % 2) {
		result = peal_link_pop(&l->c, to, 64, &m);
	} else {
		result = peal_link_pop_burst(&l->c, to, 64, 3, lengths);
		FUZZ_CHECK(result <= 3);
	}
	FUZZ_CHECK(result >= 0 || result == PEAL_EAGAIN ||
		   result == PEAL_EPROTO || result == PEAL_EMSGSIZE ||
		   result == PEAL_EEND);
	free(to);
}

FUZZ_TARGET(link)
{
	struct fuzz_input in = { data, size };
	struct peali_ring_spec spec = {
		SLOTS, SLOT_BYTES, link_policies[fuzz_u8(&in) % LINK_POLICIES],
		MESSAGE_BYTES, 4 * 512
	};
	struct link_pair l;
	uint32_t step, n;

	link_pair_open(&l, spec);
	for (step = 0; in.left && step < STEPS; step++) {
		n = fuzz_u8(&in);
		switch (n % 8) {
		case 0:
			write_bytes(&l, &in);
			break;
		case 1:
		case 2:
			write_slot(&l, &in);
			break;
		case 3:
			write_credit(&l, &in);
			break;
		case 4:
			push(&l, n / 8);
			break;
		case 5:
			pop(&l, n / 8);
			break;
		default:
			take(&l, n / 8);
		}
	}
	link_pair_close(&l);
	return 0;
}
