/* SPDX-License-Identifier: Apache-2.0 */
/* labels: quick */
#include <peal/device/impl/queue/slot_write_direct.h>

#include <stdlib.h>
#include <string.h>

#include "link_pair.h"

/*
 * Shows that a content written directly into atoms is read back whole. The slot
 * has the bytes that peal_slot_pack writes. The test covers lengths, heads,
 * alignments of the data, policies, numbers of lanes, and laps with a refresh.
 * The data ends with its memory, so a read behind it shows under ASan.
 */

#define SLOT_BYTES 1024
#define MOST_BYTES 340
#define FIRST 0x1122334455667788ULL

static const struct peal_header header = { 0x01020304, 0x0506, 0x0708 };

struct scene {
	PEAL_ALIGNED(16) uint8_t slot[SLOT_BYTES];
	PEAL_ALIGNED(16) uint8_t packed[SLOT_BYTES];
	PEAL_ALIGNED(16) uint8_t stage[SLOT_BYTES];
	PEAL_ALIGNED(16) uint8_t expected[SLOT_BYTES];
	uint8_t *data;
	uint32_t policy, lap;
};

/* Allocates data that begins at `shift` and has `bytes` bytes. */
static void fill_data(struct scene *s, uint32_t shift, uint32_t bytes)
{
	uint32_t i;

	s->data = (uint8_t *)malloc(shift + bytes ? shift + bytes : 1);
	CHECK(s->data);
	for (i = 0; i < shift + bytes; i++)
		s->data[i] = (uint8_t)(i * 37 + 11);
}

/* The content at data + shift, with a head of one or two words. */
static struct peali_content content_of(struct scene *s, int two, uint32_t shift,
				       uint32_t bytes)
{
	return two ? peali_content_word(header, FIRST, s->data + shift, bytes) :
		     peali_content_of(header, s->data + shift, bytes);
}

/* Stores the bytes that the reader must find. Returns their number. */
static uint32_t expect(struct scene *s, int two, uint32_t shift, uint32_t bytes)
{
	uint64_t word = peali_header_word(header), first = FIRST;
	uint32_t n = sizeof(word);

	memcpy(s->expected, &word, sizeof(word));
	if (two) {
		memcpy(s->expected + n, &first, sizeof(first));
		n += sizeof(first);
	}
	memcpy(s->expected + n, s->data + shift, bytes);
	return n + bytes;
}

/* Each lane writes its share. The last lane is the first one here. */
static void write_lanes(struct scene *s, struct peali_content c, uint32_t lanes)
{
	uint32_t lane = lanes;

	while (lane-- > 0)
		peali_slot_write_direct(s->policy, s->slot, SLOT_BYTES, s->lap,
					PEAL_KIND_DATA, c, lane, lanes);
}

/* Returns 1 if the slot holds the content. */
static int holds(struct scene *s, uint32_t length)
{
	struct peal_slot_view view = { 0, 0, 0 };

	return peal_slot_unpack(s->policy, s->slot, s->lap, s->stage,
				peali_slot_atoms(s->policy, SLOT_BYTES),
				&view) &&
	       view.kind == PEAL_KIND_DATA && view.length == length &&
	       !memcmp(view.content, s->expected, length);
}

/* Returns 1 if peal_slot_pack writes the same bytes over an equal slot. */
static int is_as_packed(struct scene *s, uint32_t length)
{
	memset(s->packed, 0xa5, sizeof(s->packed));
	if (s->lap % PEAL_SLOT_REFRESH_LAPS == 0)
		peal_slot_refresh(s->policy, s->packed, SLOT_BYTES, s->lap,
				  length, 0, 1);
	peal_slot_pack(s->policy, s->packed, s->lap, PEAL_KIND_DATA,
		       s->expected, length, 0, 1);
	return !memcmp(s->packed, s->slot, sizeof(s->slot));
}

static void check_content(struct scene *s, int two, uint32_t shift,
			  uint32_t bytes, uint32_t lanes)
{
	uint32_t length = expect(s, two, shift, bytes);

	memset(s->slot, 0xa5, sizeof(s->slot));
	write_lanes(s, content_of(s, two, shift, bytes), lanes);
	if (!holds(s, length) || !is_as_packed(s, length)) {
		printf("policy %u, lap %u, head %d, shift %u, %u bytes, "
		       "%u lanes\n",
		       s->policy, s->lap, two, shift, bytes, lanes);
		CHECK(0);
	}
}

static void contents(uint32_t policy, uint32_t lap)
{
	static const uint32_t lanes[] = { 1, 3, 32, 64 };
	struct scene s = { .policy = policy, .lap = lap };
	uint32_t shift, bytes, i;

	for (shift = 0; shift < 8; shift += 1 + shift % 2)
		for (bytes = 0; bytes <= MOST_BYTES; bytes += 1 + bytes / 64) {
			fill_data(&s, shift, bytes);
			for (i = 0; i < sizeof(lanes) / sizeof(*lanes); i++) {
				check_content(&s, 0, shift, bytes, lanes[i]);
				check_content(&s, 1, shift, bytes, lanes[i]);
			}
			free(s.data);
		}
}

static void laps(uint32_t policy)
{
	contents(policy, 7);
	contents(policy, PEAL_SLOT_REFRESH_LAPS);
	contents(policy, 0x10000); /* its tag has the lap 0 */
}

PEAL_TEST(atoms_of_16_bytes_hold_each_content)
{
#if PEAL_HAVE_ATOM16
	laps(PEAL_POLICY_ATOM16);
#endif
}

PEAL_TEST(atoms_of_8_bytes_hold_each_content)
{
	laps(PEAL_POLICY_ATOM8);
}

/* A slot is not complete before each lane has written its share. */
PEAL_TEST(a_missing_lane_shows)
{
	struct scene s = { .policy = PEAL_POLICY_ATOM8, .lap = 7 };
	uint32_t missing, lane;

	fill_data(&s, 0, 40);
	for (missing = 0; missing < 3; missing++) {
		struct peali_content c = content_of(&s, 0, 0, 40);

		expect(&s, 0, 0, 40);
		memset(s.slot, 0, sizeof(s.slot));
		for (lane = 0; lane < 3; lane++)
			if (lane != missing)
				peali_slot_write_direct(s.policy, s.slot,
							SLOT_BYTES, s.lap,
							PEAL_KIND_DATA, c, lane,
							3);
		CHECK(!holds(&s, 48));
		peali_slot_write_direct(s.policy, s.slot, SLOT_BYTES, s.lap,
					PEAL_KIND_DATA, c, missing, 3);
		CHECK(holds(&s, 48));
	}
	free(s.data);
}

PEAL_TEST_MAIN(RUN(atoms_of_16_bytes_hold_each_content);
	       RUN(atoms_of_8_bytes_hold_each_content);
	       RUN(a_missing_lane_shows);)
