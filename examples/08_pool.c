/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shows pools, which balance work that takes different times. Each device has a
 * pool with one actor on each worker. A free worker takes the next piece. The
 * host sends a piece to each pool that has a free slot. The handler is in
 * programs/pool.c.
 *
 * Prints the routes, then the number of pieces and of the primes found in them.
 */
#include <inttypes.h>

#include <peal/device/kernel.h>
#include <peal/pool.h>
#include <peal/typed_endpoint.h>

#include "example.h"
#include "pieces.h"

PEAL_DECLARE_PROGRAM(pool);
PEAL_TYPED_ENDPOINT(piece)
PEAL_TYPED_ENDPOINT(primes)

#define DEVICES 8 /* maximum */
#define WORKERS 2
#define PIECES 400
#define NUMBERS 500 /* numbers in a piece */
#define PRIMES 17984 /* primes below PIECES * NUMBERS = 200000 */

/*
 * Launches a kernel and creates its pool, with one actor on each worker.
 * Returns the pool's address.
 */
static uint64_t make_pool(struct peal_runtime *runtime, int device,
			  struct peal_endpoint *host)
{
	struct peal_kernel_options options = { .size = sizeof(options),
					       .workers = WORKERS };
	struct peal_kernel *kernel;
	uint64_t pool, actor;

	check(peal_kernel_launch(runtime, device, &peal_program_pool, &options,
				 &kernel),
	      "launch");
	check(peal_pool_create(kernel, NULL, &pool), "make a pool");
	for (int i = 0; i < WORKERS; i++) {
		actor = spawn(kernel, "count"); /* the next worker in turn */
		check(peal_connect(runtime, actor, 0,
				   peal_endpoint_address(host), NULL, NULL),
		      "connect");
		check(peal_pool_join(runtime, pool, actor), "join");
	}
	return pool;
}

int main(void)
{
	struct peal_runtime *runtime = open_runtime(DEVICES);
	int n = devices_in_use(runtime, DEVICES);
	struct peal_endpoint *host;
	struct peal_received received;
	const struct primes *found;
	struct piece piece;
	uint64_t sum = 0;
	int sent = 0, got = 0;

	check(peal_endpoint_create(runtime, NULL, &host), "make an endpoint");
	for (int i = 0; i < n; i++)
		link_up(runtime, "host to the pool of a device",
			peal_endpoint_address(host), (uint32_t)i,
			make_pool(runtime, i, host), sizeof(piece));
	while (got < PIECES) {
		/* A timeout of 0 does not wait: a full pool gets no piece. */
		for (uint32_t i = 0; i < (uint32_t)n && sent < PIECES; i++) {
			piece.first = (uint64_t)sent * NUMBERS;
			piece.end = piece.first + NUMBERS;
			if (!piece_send(host, i, &piece, 0, NULL))
				sent++;
		}
		/* Wait for a result only after the last piece was sent. */
		if (peal_receive_peek(host, &received,
				      sent < PIECES ? 0 : 10 * SECOND))
			continue;
		found = primes_received(&received);
		expect(found != NULL, "what came");
		sum += found->n;
		check(peal_receive_release(host), "release");
		got++;
	}
	printf("%d pieces, %" PRIu64 " primes\n", got, sum);
	expect(sum == PRIMES, "how many primes there are");
	check(peal_runtime_shutdown(runtime), "shut down");
	return 0;
}
