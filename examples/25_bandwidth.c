/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Measures how fast each pair of devices copies: from the device of the row to
 * the device of the column. Prints MB/s, and below them the route of a link
 * between the two devices. Compares the bytes that arrive.
 *
 *	build/examples/25_bandwidth [MiB of a copy, 4]
 */
#include <inttypes.h>
#include <string.h>
#include <time.h>

#include <peal/memory.h>
#include <peal/peer.h>

#include "example.h"

#define DEVICES 16 /* maximum */
#define TURNS 8

static uint8_t *sent, *got;
static uint64_t bytes = 4 << 20;

static double now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* Allocates memory for one copy on a device. Returns its address. */
static uint64_t take(struct peal_runtime *runtime, int device)
{
	uint64_t address;

	check(peal_memory_alloc(runtime, device, bytes, &address),
	      "take memory of a device");
	return address;
}

/* Returns the MB/s of the fastest of TURNS copies. Compares the last one. */
static double measure(struct peal_runtime *runtime, int from, int to)
{
	uint64_t source = take(runtime, from), target = take(runtime, to), i;
	double best = 0, began, rate;
	int turn;

	for (i = 0; i < bytes; i++)
		sent[i] = (uint8_t)(i * 2654435761u >> 13) + (uint8_t)from;
	memset(got, 0, bytes);
	check(peal_peer_copy(runtime, from, source, PEAL_HOST_MEMORY,
			     (uintptr_t)sent, bytes),
	      "write to a device");
	for (turn = 0; turn < TURNS; turn++) {
		began = now_ns();
		check(peal_peer_copy(runtime, to, target, from, source, bytes),
		      "copy");
		rate = (double)bytes / (now_ns() - began) * 1e3;
		best = rate > best ? rate : best;
	}
	check(peal_peer_copy(runtime, PEAL_HOST_MEMORY, (uintptr_t)got, to,
			     target, bytes),
	      "read from a device");
	expect(!memcmp(sent, got, bytes), "what arrived");
	check(peal_memory_free(runtime, from, source), "give memory back");
	check(peal_memory_free(runtime, to, target), "give memory back");
	return best;
}

/* Prints the rates from one device to all devices, then the routes. */
static void print_row(struct peal_runtime *runtime, int from, int n)
{
	struct peal_pair_info pair;
	int to;

	printf("%6d", from);
	for (to = 0; to < n; to++)
		printf(" %12.0f", measure(runtime, from, to));
	printf("\n      ");
	for (to = 0; to < n; to++) {
		check(peal_topology_pair(runtime, from, to, &pair),
		      "ask about a pair");
		printf(" %12s", peal_route_name(pair.route));
	}
	printf("\n");
}

int main(int argc, char **argv)
{
	struct peal_runtime *runtime;
	int n, i;

	if (argc > 1)
		bytes = strtoull(argv[1], NULL, 10) << 20;
	expect(bytes >= 1 << 20 && bytes <= 1 << 30, "1 to 1024 MiB");
	sent = malloc(bytes);
	got = malloc(bytes);
	expect(sent && got, "memory");
	runtime = open_runtime(DEVICES);
	n = devices_in_use(runtime, DEVICES);
	printf("copies of %" PRIu64 " MiB, MB/s, the best of %d\n  from to",
	       bytes >> 20, TURNS);
	for (i = 0; i < n; i++)
		printf(" %*d", i ? 12 : 10, i);
	printf("\n");
	for (i = 0; i < n; i++)
		print_row(runtime, i, n);
	free(sent);
	free(got);
	check(peal_runtime_close(runtime), "close the runtime");
	return 0;
}
