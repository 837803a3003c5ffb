/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Words in the memory of mailboxes, work queues and topics. The first byte
 * selects queue and policy. Then each step is one byte: a word to write, or a
 * call of each side.
 */
#include "fuzz/fuzz.h"

#include "queues/corruption_fixture.h"

static const uint32_t policies[] = { PEAL_POLICY_SEQUENCE,
#if PEAL_HAVE_ATOM16
				     PEAL_POLICY_ATOM16,
#endif
				     PEAL_POLICY_ATOM8 };
#define N_POLICIES (sizeof(policies) / sizeof(policies[0]))
#define STEPS 64

/* One stage for each queue and policy, made at its first use. */
static struct stage *stages[KINDS][N_POLICIES];

static void write_word(struct stage *s, struct fuzz_input *in)
{
	uint64_t place = fuzz_u64(in), value = fuzz_u64(in);
	uint64_t *word = word_at(s, LINE + place % ((s->bytes - LINE) / 8) * 8);

	peal_store_relaxed_sys(word, value);
}

/* Changes one of the position counters by at most 127. */
static void turn_counter(struct stage *s, struct fuzz_input *in)
{
	uint64_t *word = word_at(s, s->kind->numbers[fuzz_u8(in) % 3]);
	int8_t by = (int8_t)fuzz_u8(in);

	peal_store_relaxed_sys(word, peal_load_relaxed_sys(word) +
					     (uint64_t)(int64_t)by);
}

/* Writes the tag that a reader expects, with any kind and length. */
static void write_tag(struct stage *s, struct fuzz_input *in)
{
	unsigned long long random = fuzz_u64(in);

	plant(s, &random);
}

FUZZ_TARGET(queues)
{
	struct fuzz_input in = { data, size };
	uint32_t first = fuzz_u8(&in), kind = first % KINDS;
	uint32_t policy = first / KINDS % N_POLICIES, step, n;
	struct stage *s = stages[kind][policy];

	if (!s)
		s = stage_open(&kinds[kind], policies[policy]);
	stages[kind][policy] = s;
	s->random = SEED;
	stage_reset(s);
	for (step = 0; in.left && step < STEPS; step++) {
		n = fuzz_u8(&in);
		s->random = n / 8;
		switch (n % 8) {
		case 0:
			write_word(s, &in);
			break;
		case 1:
			turn_counter(s, &in);
			break;
		case 2:
			write_tag(s, &in);
			break;
		case 3:
			s->kind->producer(s);
			break;
		case 4:
			s->kind->consumer(s);
			break;
		case 5:
			s->kind->put(s, 1 + n / 8 % BURST);
			break;
		default:
			s->kind->take(s, 1 + n / 8 % BURST);
		}
	}
	FUZZ_CHECK(!memcmp(s->first_line, s->queue.at, LINE));
	return 0;
}
