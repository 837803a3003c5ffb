/* SPDX-License-Identifier: Apache-2.0 */
#include "corruption_fixture.h"

/*
 * Shows that queues survive nonsense in their memory. Each call returns, gives
 * out no message that is too long, and stays within the queue, stages and
 * buffers. The header's first line is trusted and stays unchanged.
 */

/* Takes from a first slot with `low` bytes, or with `low` more atoms. */
static void take_odd(struct stage *s, uint32_t kind, uint32_t low)
{
	uint8_t *slot = s->queue.at + s->slots_offset;
	static const uint8_t content[12];

	stage_reset(s);
	if (s->policy == PEAL_POLICY_SEQUENCE)
		peal_slot_publish(slot, 1, kind, low);
	else
		peali_atom_write(s->policy, slot, 0, peali_tag32(1, kind, low),
				 content, 12);
	s->kind->take_odd(s);
}

static void take_all_odd(const struct kind *kind, uint32_t policy)
{
	static const uint32_t lengths[] = {
		0, 1, 7, 8 + BYTES + 1, 64, 255, 1 << 16, 1u << 31, ~0u - 7, ~0u
	};
	struct stage *s = stage_open(kind, policy);
	uint32_t each = peali_atom_payload(policy), i;

	for (i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++)
		if (policy == PEAL_POLICY_SEQUENCE)
			take_odd(s, PEAL_KIND_DATA, lengths[i]);
	for (i = 0; i < 256 && policy != PEAL_POLICY_SEQUENCE; i++) {
		/* one atom: too short for a header, or too long */
		if (i < 8 || i > each)
			take_odd(s, PEAL_KIND_DATA, i);
		if (i >= peali_slot_atoms(policy, s->slot_bytes))
			take_odd(s, PEAL_KIND_DATA | PEAL_TAG_MANY, i);
	}
	stage_close(s);
}

PEAL_TEST(out_of_range_lengths_are_rejected)
{
	size_t i;

	for (i = 0; i < KINDS; i++)
		EACH_POLICY(policy)
	take_all_odd(&kinds[i], policy);
}

PEAL_TEST(corruption_between_calls_stays_in_bounds)
{
	size_t i;

	for (i = 0; i < KINDS; i++)
		EACH_POLICY(policy)
	suffer_by_turns(&kinds[i], policy);
}

PEAL_TEST(corruption_during_calls_stays_in_bounds)
{
	size_t i;

	if (!AT_ONCE)
		test_leave_out("what is written at once is a race");
	for (i = 0; i < KINDS; i++)
		EACH_POLICY(policy)
	suffer_at_once(&kinds[i], policy);
}

/* ---- negative controls --------------------------------------------------- */

/* Copies as many bytes as the tag says. */
static int unbounded_copy(struct stage *s, uint8_t *slot, uint32_t lap)
{
	struct peal_slot_view view = { 0, 0, 0 };

	if (!(s->policy == PEAL_POLICY_SEQUENCE ?
		      peal_slot_peek(slot, lap, &view) :
		      peal_slot_unpack(s->policy, slot, lap, s->atoms.at,
				       PEAL_SLOT_ATOMS_MAX, &view)))
		return 0;
	peal_copy(s->payloads.at, view.content + 8, view.length - 8);
	return 1;
}

static int mailbox_unbounded(struct stage *s, uint32_t n)
{
	struct peal_mailbox *m = QUEUE(s, peal_mailbox);

	(void)n;
	if (!unbounded_copy(s, peali_mailbox_slot(m, m->taken),
			    peali_mailbox_lap(m, m->taken)))
		return 0;
	peal_mailbox_release(m);
	return 1;
}

static int work_unbounded(struct stage *s, uint32_t n)
{
	struct peal_work *q = QUEUE(s, peal_work);

	(void)n;
	if (!unbounded_copy(s, peali_work_slot(q, q->turn),
			    peali_work_lap(q, q->turn)))
		return 0;
	q->turn++;
	return 1;
}

static int topic_unbounded(struct stage *s, uint32_t n)
{
	struct peal_topic *t = QUEUE(s, peal_topic);
	uint64_t number = s->subscriber.number;

	(void)n;
	if (!unbounded_copy(s, peali_topic_slot(t, number),
			    peali_topic_lap(t, number)))
		return 0;
	s->subscriber.number++;
	return 1;
}

PEAL_TEST(unbounded_takes_are_caught)
{
	static int (*const takes[])(struct stage *, uint32_t) = {
		mailbox_unbounded, work_unbounded, topic_unbounded,
		topic_unbounded
	};
	size_t i;

	for (i = 0; i < KINDS; i++)
		EACH_POLICY(policy)
		{
			struct kind broken = kinds[i];

			broken.take = takes[i];
			CHECK(ends_badly(broken, policy));
			CHECK(!ends_badly(kinds[i], policy));
		}
}

/* Writes to the position that a word of the queue holds, without a limit. */
static void put_unbounded(struct stage *s, uint32_t n)
{
	uint64_t number = *word_at(s, s->kind->numbers[1]);

	(void)n;
	memcpy(s->queue.at + s->slots_offset + number * s->slot_bytes,
	       s->data.at, BYTES);
	++*word_at(s, s->kind->numbers[1]);
}

PEAL_TEST(unbounded_puts_are_caught)
{
	size_t i;

	for (i = 0; i < KINDS; i++) {
		struct kind broken = kinds[i];

		broken.put = put_unbounded;
		CHECK(ends_badly(broken, PEAL_POLICY_SEQUENCE));
	}
}

PEAL_TEST_MAIN(RUN(out_of_range_lengths_are_rejected);
	       RUN(corruption_between_calls_stays_in_bounds);
	       RUN(corruption_during_calls_stays_in_bounds);
	       RUN(unbounded_takes_are_caught); RUN(unbounded_puts_are_caught);)
