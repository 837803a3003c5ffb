/* SPDX-License-Identifier: Apache-2.0 */
/* labels: stress */
/*
 * A million actors on two devices. The host sends ten messages to each actor,
 * in random order over all actors. An actor fails if a message is not the next
 * one that it expects. Slow builds have fewer actors.
 */
#include "runtime/tallies.h"

#define DEVICES 2
#define WORKERS 2

/* Returns element `at` of a permutation of 0 .. 2^bits - 1. */
static uint64_t shuffled(uint64_t at, uint32_t bits)
{
	uint64_t mask = (1ULL << bits) - 1;
	int round;

	for (round = 0; round < 3; round++) {
		at = (at * 0x9e3779b97f4a7c15ULL + 0x1234567) & mask;
		at ^= at >> (bits / 2 + 1);
	}
	return at;
}

static uint32_t bits_of(uint64_t n)
{
	uint32_t bits = 1;

	while (1ULL << bits < n)
		bits++;
	return bits;
}

/* Sends `each` messages to each of n actors, in order for each actor. */
static void send_all(struct peal_endpoint *e, const uint64_t *address,
		     uint64_t n, uint64_t each)
{
	uint8_t *sent = calloc(n, 1);
	uint64_t bits = bits_of(n * each), i, at;

	CHECK(sent);
	for (i = 0; i < 1ULL << bits; i++) {
		at = shuffled(i, (uint32_t)bits);
		if (at >= n * each)
			continue;
		at %= n;
		/* one port and link for each device */
		tallies_send(e, at >= n / DEVICES, address[at], at, sent[at]++);
	}
	for (i = 0; i < n; i++)
		CHECK_EQ(sent[i], each);
	free(sent);
}

static void check_all(struct peal_runtime *rt, const uint64_t *address,
		      uint64_t n, uint64_t each)
{
	uint64_t i, step = n / 5000 + 1; /* about 5000 actors */

	for (i = 0; i < n; i += step) {
		struct tally t = tallies_state(rt, address[i]);

		CHECK_EQ(t.id, i);
		CHECK_EQ(t.next, each);
	}
}

PEAL_TEST(million_actors_get_messages_once_in_order)
{
	uint64_t n = PEAL_ASAN || PEAL_TSAN || test_on_gpu() ? 20000 : 1000000;
	uint64_t each = 10;
	struct peal_kernel_options o = { .workers = WORKERS,
					 .max_actors = (uint32_t)n / DEVICES,
					 .arena_bytes = n / DEVICES * 32,
					 .mailbox.slots = 4096 };
	struct peal_link_options lo = { .capacity = 1024 };
	struct peal_runtime *rt = harness_open(DEVICES, "");
	struct peal_endpoint *e = harness_endpoint(rt);
	uint64_t *address = calloc(n, sizeof(*address)), share = n / DEVICES;
	struct peal_kernel *k[DEVICES];
	struct peal_link *link[DEVICES];
	int d;

	CHECK(address);
	for (d = 0; d < DEVICES; d++) {
		k[d] = tallies_launch(rt, d, o);
		tallies_spawn(k[d], "tally", -1, (uint64_t)d * share,
			      (uint32_t)share, address + (uint64_t)d * share);
		link[d] = harness_from(rt, e, (uint32_t)d,
				       address[(uint64_t)d * share], lo);
	}
	send_all(e, address, n, each);
	for (d = 0; d < DEVICES; d++) {
		/* an actor fails at a message out of order, and none did */
		EVENTUALLY(tallies_info(k[d]).handled == share * each);
		CHECK_EQ(tallies_info(k[d]).failed, 0);
		harness_delivered(link[d], share * each);
		CHECK_OK(peal_kernel_suspend(k[d], MAX_WAIT));
	}
	check_all(rt, address, n, each);
	for (d = 0; d < DEVICES; d++) {
		CHECK_OK(peal_kernel_stop(k[d], MAX_WAIT));
		CHECK_OK(peal_link_destroy(link[d]));
		CHECK_OK(peal_actor_retire(rt, address[0]) == PEAL_ESTOPPED ?
				 0 :
				 -1);
	}
	CHECK_OK(peal_runtime_shutdown(rt));
	free(address);
}

PEAL_TEST_MAIN(RUN(million_actors_get_messages_once_in_order);)
