/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shows a million actors, an equal part on each device. Each answers when it is
 * called. One call spawns many actors, each with a state of its own. All actors
 * of a device send by the ports of its first actor. One link leads to all of
 * them. The handler is in programs/addressed_actors.c.
 *
 * Prints the routes, then the times for spawning all actors and for calling
 * each of them twice.
 *
 *	11_million_actors [ACTORS=1000000]
 */
#include <inttypes.h>
#include <time.h>

#include <peal/device/kernel.h>
#include <peal/typed_endpoint.h>

#include "example.h"
#include "addressed_actors.h"

PEAL_DECLARE_PROGRAM(addressed_actors);
PEAL_TYPED_ENDPOINT(call)

#define DEVICES 8 /* maximum */
#define ACTORS 1000000 /* of all devices together; an argument overrides it */
#define AT_A_TIME 64 /* calls in flight */

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/*
 * Launches a kernel on a device and spawns n actors in it. Their numbers start
 * at `first`. Stores the addresses in address[0 .. n - 1]. Links the host with
 * the first actor in both directions.
 */
static void invite(struct peal_runtime *runtime, int device, uint64_t first,
		   uint32_t n, uint64_t *address, struct peal_endpoint *host)
{
	struct peal_kernel_options large = { .size = sizeof(large),
					     .max_actors = n,
					     .arena_bytes = n * 16ULL };
	struct peal_actor_options o = { .size = sizeof(o) };
	struct peal_kernel *kernel;
	uint64_t *number = calloc(n, sizeof(*number));

	expect(number != NULL, "memory for their numbers");
	for (uint32_t i = 0; i < n; i++)
		number[i] = first + i;
	/* The kernel needs capacity for n actors and their states. */
	check(peal_kernel_launch(runtime, device,
				 &peal_program_addressed_actors, &large,
				 &kernel),
	      "launch");
	/*
	 * Each actor's state starts with its own number: init_stride is the
	 * distance between the numbers of two actors. The first actor has
	 * ports, the other actors share them.
	 */
	o.init = number;
	o.init_bytes = o.init_stride = sizeof(*number);
	check(peal_actor_spawn(kernel, "callee", &o, &address[0]), "the first");
	o.init = number + 1;
	o.share_ports_with = address[0];
	if (n > 1)
		check(peal_actor_spawn_many(kernel, "callee", &o, n - 1,
					    address + 1),
		      "the others");
	link_up(runtime, "host to a device", peal_endpoint_address(host),
		(uint32_t)device, address[0], sizeof(struct call));
	link_up(runtime, "and back", address[0], 0, peal_endpoint_address(host),
		sizeof(struct call));
	free(number);
}

/* Receives one answer and checks that its actor was called `round` times. */
static void take(struct peal_endpoint *host, uint64_t round, uint64_t n)
{
	struct peal_received got;
	struct call c;

	check(peal_receive(host, &c, sizeof(c), &got, 10 * SECOND), "receive");
	expect(call_received(&got) != NULL, "the answer's type");
	expect(c.callee < n && c.calls == round,
	       "the answer or the number of calls");
}

/*
 * Calls each actor once, with at most AT_A_TIME calls in flight. The step
 * between two actors spreads the calls over all of them. The port of a device
 * has the device's index. Each device has n / devices actors, the last one also
 * has the remainder.
 */
static void call_all(struct peal_endpoint *host, const uint64_t *address,
		     uint64_t n, uint32_t devices, uint64_t round)
{
	uint64_t at = 0;
	uint32_t port;

	for (uint64_t i = 0; i < n + AT_A_TIME; i++) {
		const struct call c = { at, 0 };

		if (i >= AT_A_TIME)
			take(host, round, n);
		if (i >= n)
			continue;
		port = (uint32_t)(at / (n / devices));
		check(peal_send_to(host, port < devices ? port : devices - 1,
				   address[at], call_number, &c, sizeof(c),
				   10 * SECOND, NULL),
		      "call a callee");
		at = (at + 7919) % n;
	}
}

int main(int argc, char **argv)
{
	uint64_t n = argc > 1 ? strtoull(argv[1], NULL, 10) : ACTORS;
	struct peal_runtime *runtime = open_runtime(DEVICES);
	uint32_t devices = (uint32_t)devices_in_use(runtime, DEVICES);
	struct peal_endpoint *host;
	uint64_t each = n / devices, *address;
	double began = now(), made;

	expect(each && n % 7919,
	       "how many: at least one on each device, no multiple of 7919");
	address = calloc(n, sizeof(*address));
	expect(address != NULL, "memory for their addresses");
	check(peal_endpoint_create(runtime, NULL, &host), "an endpoint");
	for (uint32_t i = 0; i < devices; i++)
		invite(runtime, (int)i, i * each,
		       (uint32_t)(each + (i + 1 == devices ? n % devices : 0)),
		       address + i * each, host);
	made = now();
	for (uint64_t round = 1; round <= 2; round++)
		call_all(host, address, n, devices, round);
	printf("%" PRIu64 " actors made in %.2f s, each called twice in "
	       "%.2f s\n",
	       n, made - began, now() - made);
	check(peal_runtime_shutdown(runtime), "shut down");
	free(address);
	return 0;
}
