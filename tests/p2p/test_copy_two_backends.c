/* SPDX-License-Identifier: Apache-2.0 */
#include "machine.h"
#include "p2p/copy_stats.h"
#include "p2p/probe.h"

/*
 * Shows copies between two backends of two devices each, numbered 0 1 | 2 3.
 * The code of p2p/ runs here without a runtime.
 */

#define BYTES (((uint64_t)5 << 20) + 13)

static struct peali_backend *backend[2];
static struct peali_device device[4];
static struct peali_devices devices = { .n = 4, .device = device };
static struct peali_peers *peers;

static void open_both(void)
{
	int i;

	setenv("PEAL_HOST_DEVICES", "2", 1);
	for (i = 0; i < 2; i++)
		CHECK_OK(peali_host_backend.open(&backend[i]));
	for (i = 0; i < 4; i++) {
		device[i].backend = backend[i / 2];
		device[i].local = i % 2;
	}
	CHECK_OK(peali_peers_create(&devices, &peers));
}

static void close_both(void)
{
	int i;

	CHECK_OK(peali_peers_destroy(peers));
	for (i = 0; i < 2; i++)
		CHECK_OK(peali_host_backend.close(backend[i]));
}

static uint64_t alloc(int at, uint64_t bytes)
{
	uint64_t address;

	CHECK_OK(peali_memory_alloc(peers, at, bytes, &address));
	return address;
}

static struct peali_place place(int at, uint64_t address)
{
	struct peali_place p = { at, address };

	return p;
}

PEAL_TEST(devices_of_two_backends_are_not_peers)
{
	struct peal_pair_info info;
	uint64_t memory, mapped;

	open_both();
	CHECK_EQ(peali_peer_can_access(peers, 1, 2), 0);
	CHECK_EQ(peali_peer_can_access(peers, 2, 3), 1);
	CHECK_EQ(peali_peer_enable(peers, 1, 2), PEAL_ENOPEER);
	check_error("peal_peer_enable", "device 1 -> device 2");
	CHECK_EQ(peali_peer_hold(peers, 1, 2), PEAL_ENOPEER);
	memory = alloc(2, 64);
	CHECK_EQ(peali_peer_map(peers, 2, memory, 1, 64, &mapped),
		 PEAL_ENOPEER);
	CHECK_OK(peali_memory_free(peers, 2, memory));
	CHECK_OK(peali_probe_pair(peers, 1, 2, &info));
	CHECK_EQ(info.verdict, PEAL_VERDICT_NO_ACCESS);
	CHECK_EQ(info.route, PEAL_ROUTE_STAGED);
	CHECK_CONTAINS(info.reason, "two backends");
	CHECK_OK(peali_probe_pair(peers, 3, 2, &info));
	CHECK_EQ(info.verdict, PEAL_VERDICT_OK);
	CHECK_EQ(info.route, PEAL_ROUTE_PEER);
	close_both();
}

PEAL_TEST(a_copy_between_two_backends_goes_through_the_host)
{
	uint8_t *in = malloc(BYTES), *out = malloc(BYTES);
	struct peal_copy *copy;
	uint64_t a, b;

	CHECK(in && out);
	open_both();
	a = alloc(1, BYTES);
	b = alloc(2, BYTES);
	fill_bytes(in, BYTES, 21);
	CHECK_OK(peali_copy_sync_one(peers, place(1, a),
				     place(HOST, (uintptr_t)in), BYTES));
	CHECK_OK(peali_copy_sync_one(peers, place(2, b), place(1, a), BYTES));
	CHECK_OK(peali_copy_sync_one(peers, place(HOST, (uintptr_t)out),
				     place(2, b), BYTES));
	CHECK(!memcmp(in, out, BYTES));
	/* in the background, in the other direction */
	fill_bytes(in, BYTES, 22);
	CHECK_OK(peali_copy_sync_one(peers, place(2, b),
				     place(HOST, (uintptr_t)in), BYTES));
	CHECK_OK(peali_copy_submit_one(peers, place(1, a), place(2, b), BYTES,
				       &copy));
	CHECK_OK(peal_copy_wait(copy, -1));
	peal_copy_destroy(copy);
	CHECK_OK(peali_copy_sync_one(peers, place(HOST, (uintptr_t)out),
				     place(1, a), BYTES));
	CHECK(!memcmp(in, out, BYTES));
	CHECK_OK(peali_memory_free(peers, 1, a));
	CHECK_OK(peali_memory_free(peers, 2, b));
	close_both();
	free(in);
	free(out);
}

PEAL_TEST(copy_between_backends_counts_as_staged)
{
	struct peal_copy_counts copies[PEAL_COPY_KINDS];
	struct peali_copy_stats_place at[5];
	struct peal_wait_counts waits;
	struct peal_copy *copy;
	uint64_t a, b;

	open_both();
	a = alloc(1, BYTES);
	b = alloc(2, BYTES);
	CHECK_OK(peali_copy_sync_one(peers, place(2, b), place(1, a), BYTES));
	CHECK_OK(peali_copy_submit_one(peers, place(1, a), place(2, b), 999,
				       &copy));
	CHECK_OK(peal_copy_wait(copy, -1));
	peal_copy_destroy(copy);
	peali_copy_stats_read(peali_peers_copy_stats(peers), at, copies,
			      &waits);
	CHECK_EQ(copies[PEAL_COPY_STAGED].copies, 2);
	CHECK_EQ(copies[PEAL_COPY_STAGED].bytes, BYTES + 999);
	CHECK(copies[PEAL_COPY_STAGED].ns > 0);
	CHECK_EQ(copies[PEAL_COPY_DEVICES].copies, 0);
	CHECK_EQ(at[1].read[PEAL_COPY_STAGED].bytes, BYTES);
	CHECK_EQ(at[1].written[PEAL_COPY_STAGED].bytes, 999);
	CHECK_EQ(at[2].written[PEAL_COPY_STAGED].bytes, BYTES);
	CHECK_EQ(at[4].written[PEAL_COPY_STAGED].copies, 0);
	CHECK_OK(peali_memory_free(peers, 1, a));
	CHECK_OK(peali_memory_free(peers, 2, b));
	close_both();
}

PEAL_TEST(a_staged_copy_can_be_cancelled_and_cleared)
{
	const uint64_t big = (uint64_t)128 << 20;
	struct peal_copy *copy;
	uint64_t a, b;
	int r;

	open_both();
	a = alloc(0, big);
	b = alloc(3, big);
	CHECK_OK(peali_copy_submit_one(peers, place(3, b), place(0, a), big,
				       &copy));
	CHECK_EQ(peali_memory_free(peers, 0, a), PEAL_EBUSY);
	CHECK_EQ(peali_peers_destroy(peers), PEAL_EBUSY);
	check_error("peal_runtime_close", "copies: 1");
	CHECK_OK(peal_copy_cancel(copy));
	r = peal_copy_wait(copy, -1);
	CHECK(r == PEAL_ECANCELED || r == 0);
	peal_copy_destroy(copy);
	CHECK_OK(peali_copy_submit_one(peers, place(3, b), place(0, a), big,
				       &copy));
	peali_peers_clear(peers);
	close_both();
}

PEAL_TEST_MAIN(machine_begin(); RUN(devices_of_two_backends_are_not_peers);
	       RUN(a_copy_between_two_backends_goes_through_the_host);
	       RUN(copy_between_backends_counts_as_staged);
	       RUN(a_staged_copy_can_be_cancelled_and_cleared);)
