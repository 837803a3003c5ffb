/* SPDX-License-Identifier: Apache-2.0 */
/* Shows which items `peal run --verify` accepts, and which faults it finds. */
#include <pthread.h>

#include <peal/errors.h>

#include "peal_test.h"
#include "ringkernels/reference.h"
#include "runtime/cli/run_verify.h"

#define BODY_MOST 5000

static struct peali_pipeline parsed(const char *text)
{
	struct peali_pipeline pipeline;
	struct peali_pipeline_error error;

	if (peali_pipeline_parse(text, 0, &pipeline, &error)) {
		fprintf(stderr, "%s\n", error.text);
		exit(1);
	}
	return pipeline;
}

/*
 * Makes the item of a sequence number, which determines its size and bytes. If
 * this code is inlined, the compiler reports the bytes behind an item.
 */
__attribute__((noinline)) static void fill(struct peal_item *item,
					   uint64_t sequence)
{
	unsigned long long seed = sequence;
	uint8_t *body = (uint8_t *)(item + 1);

	memset(item, 0, sizeof(*item));
	item->sequence = sequence;
	item->width = (uint32_t)(test_random(&seed) % BODY_MOST) + 1;
	item->height = 1;
	item->body_bytes = item->width;
	for (uint32_t i = 0; i < item->width; i++)
		body[i] = (uint8_t)test_random(&seed);
}

struct arrived {
	struct peal_item item;
	uint8_t body[BODY_MOST + 8];
};

/* Makes the result of the pipeline "invert" for an item. */
static void arrive(struct arrived *arrived, uint64_t sequence)
{
	fill(&arrived->item, sequence);
	for (uint32_t i = 0; i < arrived->item.width; i++)
		arrived->body[i] = (uint8_t)(255 - arrived->body[i]);
}

static const atomic_int never;

static void put(struct peali_verify *verify, uint64_t sequence)
{
	struct peal_item *item = peali_verify_reserve(verify, &never);

	CHECK(item != NULL);
	fill(item, sequence);
	peali_verify_commit(verify);
}

PEAL_TEST(correct_items_pass_and_changed_items_fail)
{
	struct peali_pipeline pipeline = parsed("invert");
	struct peali_verify verify = { 0 };
	struct arrived arrived;

	CHECK_EQ(peali_verify_init(&verify, &pipeline, BODY_MOST, 8), 0);
	for (uint64_t i = 0; i < 6; i++)
		put(&verify, i);
	arrive(&arrived, 0);
	CHECK_EQ(peali_verify_check(&verify, &arrived.item, arrived.body), 0);
	arrive(&arrived, 1);
	arrived.body[arrived.item.width - 1] ^= 16;
	CHECK_EQ(peali_verify_check(&verify, &arrived.item, arrived.body), 1);
	CHECK_EQ((int)verify.difference, 16);
	arrive(&arrived, 2);
	arrived.item.height = 2;
	CHECK_EQ(peali_verify_check(&verify, &arrived.item, arrived.body), 1);
	arrive(&arrived, 3);
	arrived.item.flags = PEAL_ITEM_UNTERMINATED;
	CHECK_EQ(peali_verify_check(&verify, &arrived.item, arrived.body), 1);
	/* Item 4 is lost, item 5 comes twice. */
	arrive(&arrived, 5);
	CHECK_EQ(peali_verify_check(&verify, &arrived.item, arrived.body), 0);
	CHECK_EQ(peali_verify_check(&verify, &arrived.item, arrived.body),
		 PEAL_ENOENT);
	CHECK_EQ(verify.n_checked, 5);
	CHECK_EQ(verify.n_mismatches, 3);
	peali_verify_fini(&verify);
}

PEAL_TEST(checksum_uses_data_at_its_stage)
{
	struct peali_pipeline pipeline = parsed("crc32c ! invert ! crc32c");
	struct peali_verify verify = { 0 };
	struct arrived arrived;
	uint64_t before = 0;
	uint64_t after = 0;

	CHECK_EQ(peali_verify_init(&verify, &pipeline, BODY_MOST, 8), 0);
	for (uint64_t i = 0; i < 4; i++) {
		put(&verify, i);
		fill(&arrived.item, i);
		before += peali_crc32c_reference(arrived.body,
						 arrived.item.body_bytes);
		arrive(&arrived, i);
		after += peali_crc32c_reference(arrived.body,
						arrived.item.body_bytes);
		CHECK_EQ(peali_verify_check(&verify, &arrived.item,
					    arrived.body),
			 0);
	}
	CHECK_EQ(verify.crc_sum[0], before);
	CHECK_EQ(verify.crc_sum[1], 0);
	CHECK_EQ(verify.crc_sum[2], after);
	peali_verify_fini(&verify);
}

PEAL_TEST(floats_are_compared_bit_for_bit)
{
	struct peali_pipeline pipeline = parsed("sqrt");
	struct peali_verify verify = { 0 };
	struct peal_item *item;
	struct {
		struct peal_item item;
		float body[2];
	} arrived = { .body = { 3.0f, 1.0f } };

	CHECK_EQ(peali_verify_init(&verify, &pipeline, BODY_MOST, 8), 0);
	for (int i = 0; i < 2; i++) {
		item = peali_verify_reserve(&verify, &never);
		memset(item, 0, sizeof(*item));
		item->sequence = (uint64_t)i;
		item->body_bytes = 8;
		memcpy(item + 1, (const float[]){ 9.0f, 1.0f }, 8);
		arrived.item = *item;
		peali_verify_commit(&verify);
		arrived.body[0] = i ? 3.0000002f : 3.0f;
		CHECK_EQ(peali_verify_check(&verify, &arrived.item,
					    arrived.body),
			 i);
	}
	CHECK(verify.difference > 1e-7 && verify.difference < 1e-6);
	peali_verify_fini(&verify);
}

#define STREAM_ITEMS 20000

static void *send_stream(void *argument)
{
	for (uint64_t i = 0; i < STREAM_ITEMS; i++)
		put(argument, i);
	return NULL;
}

PEAL_TEST(full_ring_blocks_sender_without_loss)
{
	struct peali_pipeline pipeline = parsed("invert");
	struct peali_verify verify = { 0 };
	struct arrived arrived;
	pthread_t sender;

	CHECK_EQ(peali_verify_init(&verify, &pipeline, BODY_MOST, 1), 0);
	CHECK(verify.size < STREAM_ITEMS * 100);
	pthread_create(&sender, NULL, send_stream, &verify);
	for (uint64_t i = 0; i < STREAM_ITEMS; i++) {
		arrive(&arrived, i);
		/* until the item is sent */
		while (atomic_load(&verify.tail) == atomic_load(&verify.head))
			;
		CHECK_EQ(peali_verify_check(&verify, &arrived.item,
					    arrived.body),
			 0);
	}
	pthread_join(sender, NULL);
	CHECK_EQ(verify.n_checked, STREAM_ITEMS);
	CHECK_EQ(verify.n_mismatches, 0);
	peali_verify_fini(&verify);
}

PEAL_TEST(halt_ends_wait_for_ring_space)
{
	struct peali_pipeline pipeline = parsed("invert");
	struct peali_verify verify = { 0 };
	const atomic_int halt = 1;
	int n = 0;

	CHECK_EQ(peali_verify_init(&verify, &pipeline, BODY_MOST, 1), 0);
	for (; peali_verify_reserve(&verify, &halt); n++) {
		struct peal_item *item = peali_verify_reserve(&verify, &halt);

		fill(item, (uint64_t)n);
		peali_verify_commit(&verify);
	}
	CHECK(n >= 3);
	peali_verify_fini(&verify);
}

PEAL_TEST_MAIN(RUN(correct_items_pass_and_changed_items_fail);
	       RUN(checksum_uses_data_at_its_stage);
	       RUN(floats_are_compared_bit_for_bit);
	       RUN(full_ring_blocks_sender_without_loss);
	       RUN(halt_ends_wait_for_ring_space);)
