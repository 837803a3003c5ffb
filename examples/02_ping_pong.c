/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shows two kernels that send a counter to each other. Each has a device of its
 * own, if there are two. The host sends the number of round trips and receives
 * the result. It takes no part in between. The handlers are in
 * programs/ping_pong.c.
 *
 * Prints the routes, then the number of round trips and the time that they
 * took.
 *
 *	02_ping_pong [ROUND_TRIPS=100000]
 */
#include <stdlib.h>
#include <time.h>

#include <peal/device/kernel.h>

#include "example.h"

PEAL_DECLARE_PROGRAM(ping_pong);

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

int main(int argc, char **argv)
{
	uint64_t trips = argc > 1 ? strtoull(argv[1], NULL, 10) : 100000;
	struct peal_runtime *runtime = open_runtime(2);
	/* Two kernels with one actor each, on two devices if possible. */
	int device[2] = { 0, device_of_part(runtime, 1) };
	struct peal_kernel *left =
		launch(runtime, device[0], &peal_program_ping_pong);
	struct peal_kernel *right =
		launch(runtime, device[1], &peal_program_ping_pong);
	uint64_t server = spawn(left, "server");
	uint64_t returner = spawn(right, "returner");
	struct peal_endpoint *host;
	struct peal_received received;
	uint64_t value = 0;
	double began;

	expect(trips > 0, "the number of round trips");
	check(peal_endpoint_create(runtime, NULL, &host), "make an endpoint");
	/*
	 * The server's port 0 leads to the other kernel, its port 1 to the
	 * host.
	 */
	printf("server on device %d, returner on device %d\n", device[0],
	       device[1]);
	link_up(runtime, "server to returner", server, 0, returner,
		sizeof(value));
	link_up(runtime, "returner to server", returner, 0, server,
		sizeof(value));
	link_up(runtime, "server to host", server, 1,
		peal_endpoint_address(host), sizeof(value));
	link_up(runtime, "host to server", peal_endpoint_address(host), 0,
		server, sizeof(value));

	/* Type 1 starts the game. The server sends the result at its end. */
	began = now();
	check(peal_send(host, 0, 1, &trips, sizeof(trips), SECOND, NULL),
	      "send");
	check(peal_receive(host, &value, sizeof(value), &received, 60 * SECOND),
	      "receive");
	printf("%llu round trips in %.3f s, by the host's clock\n",
	       (unsigned long long)value, now() - began);
	expect(value == trips, "the counter");

	check(peal_runtime_shutdown(runtime), "shut down");
	return 0;
}
