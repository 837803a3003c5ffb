/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shows the smallest program: one kernel, one actor, one message to the actor
 * and its answer. The handler is in programs/hello.c.
 *
 * Prints the number of devices, the route of both links, the text sent and the
 * text received.
 */
#include <string.h>

#include <peal/device/kernel.h>

#include "example.h"

PEAL_DECLARE_PROGRAM(hello);

int main(void)
{
	static const char text[] = "hello, ring kernel";
	/*
	 * Open the runtime. Launch a kernel with one worker on device 0. Spawn
	 * an actor in the kernel.
	 */
	struct peal_runtime *runtime = open_runtime(1);
	struct peal_kernel *kernel = launch(runtime, 0, &peal_program_hello);
	uint64_t actor = spawn(kernel, "shout");
	struct peal_endpoint *host;
	struct peal_received received;
	char answer[64];

	/*
	 * The host sends and receives by an endpoint. A link carries messages
	 * in one direction, so both directions need two links.
	 */
	check(peal_endpoint_create(runtime, NULL, &host), "make an endpoint");
	link_up(runtime, "host to actor", peal_endpoint_address(host), 0, actor,
		sizeof(text));
	link_up(runtime, "actor to host", actor, 0, peal_endpoint_address(host),
		sizeof(text));

	/* Send by port 0 with message type 0. Then wait for the answer. */
	check(peal_send(host, 0, 0, text, sizeof(text), SECOND, NULL), "send");
	check(peal_receive(host, answer, sizeof(answer), &received, SECOND),
	      "receive");
	printf("sent     %s\nreceived %s\n", text, answer);
	expect(!strcmp(answer, "HELLO, RING KERNEL"), "the answer");

	check(peal_runtime_shutdown(runtime), "shut down");
	return 0;
}
