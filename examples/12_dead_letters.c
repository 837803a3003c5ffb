/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shows dead letters. The host calls a retired callee, and sends a
 * call to the wrong callee. Both calls become dead letters. The host receives a
 * letter for each: the intended receiver, the reason and the call itself. The
 * host then sends the second call to the right callee. The handler is in
 * programs/addressed_actors.c.
 *
 * Prints the routes, both letters, and a line after the right callee has
 * answered.
 */
#include <inttypes.h>

#include <peal/dead_letter.h>
#include <peal/device/kernel.h>
#include <peal/typed_endpoint.h>

#include "example.h"
#include "addressed_actors.h"

PEAL_DECLARE_PROGRAM(addressed_actors);
PEAL_TYPED_ENDPOINT(call)

#define GUESTS 3

/* A dead letter as the host receives it: the description, then the payload. */
struct letter {
	struct peal_dead_letter about;
	struct call call;
};

/*
 * Spawns callees with numbers 0, 1 and 2. They answer by the ports of callee
 * 0.
 */
static void invite(struct peal_kernel *kernel, uint64_t addresses[GUESTS])
{
	struct peal_actor_options options = { .size = sizeof(options) };
	struct call state = { 0 };

	options.init = &state;
	options.init_bytes = sizeof(state);
	for (uint32_t i = 0; i < GUESTS; i++) {
		state.callee = i;
		options.share_ports_with = i ? addresses[0] : 0;
		check(peal_actor_spawn(kernel, "callee", &options,
				       &addresses[i]),
		      "spawn an actor");
	}
}

/* Sends a call for a callee to an address. */
static void call_at(struct peal_endpoint *host, uint64_t to, uint64_t callee)
{
	const struct call c = { .callee = callee };

	check(peal_send_to(host, 0, to, call_number, &c, sizeof(c), SECOND,
			   NULL),
	      "send");
}

/* Receives the next dead letter and prints it. */
static struct letter next_letter(struct peal_endpoint *letters)
{
	struct peal_received got;
	struct letter l;

	check(peal_receive(letters, &l, sizeof(l), &got, 10 * SECOND),
	      "receive a letter");
	expect(got.dead_letter && got.length == sizeof(l), "a whole letter");
	printf("callee %" PRIu64 " was not there: %s, message %" PRIu64
	       " of link %" PRIu64 "\n",
	       l.call.callee, peal_reason_name(l.about.reason),
	       l.about.sequence, l.about.link);
	return l;
}

/* Receives an answer. Checks the callee's number and its count of calls. */
static void expect_answer(struct peal_endpoint *host, uint64_t callee,
			  uint64_t calls)
{
	const struct call *answer;
	struct peal_received got;

	check(peal_receive_peek(host, &got, 10 * SECOND), "receive");
	answer = call_received(&got);
	expect(answer && answer->callee == callee && answer->calls == calls,
	       "the answer");
	check(peal_receive_release(host), "release");
}

int main(void)
{
	struct peal_runtime *runtime = open_runtime(1);
	struct peal_kernel *kernel =
		launch(runtime, 0, &peal_program_addressed_actors);
	struct peal_endpoint *host, *letters;
	uint64_t addresses[GUESTS];
	struct letter l;

	check(peal_endpoint_create(runtime, NULL, &host), "make an endpoint");
	check(peal_endpoint_create(runtime, NULL, &letters), "make another");
	invite(kernel, addresses);
	link_up(runtime, "calls", peal_endpoint_address(host), 0, addresses[0],
		0);
	link_up(runtime, "answers", addresses[0], 0,
		peal_endpoint_address(host), 0);
	/* The second endpoint receives the dead letters of the kernel. */
	check(peal_dead_letter_connect(kernel, peal_endpoint_address(letters),
				       NULL),
	      "take the dead letters");

	/* Guest 2 ends. Its messages become dead letters from now on. */
	check(peal_actor_retire(runtime, addresses[2]), "retire an actor");
	call_at(host, addresses[0], 0);
	call_at(host, addresses[2], 2); /* callee 2 has ended */
	call_at(host, addresses[0], 1); /* the wrong callee */
	expect_answer(host, 0, 1);

	expect(next_letter(letters).about.to == addresses[2],
	       "whom it was for");
	l = next_letter(letters);
	expect(l.about.reason == PEAL_REASON_HANDLER, "why it is dead");
	/* Send the message in the letter to the right callee. */
	check(peal_dead_letter_replay(host, 0, addresses[1], &l.about,
				      sizeof(l), SECOND),
	      "send it once more");
	expect_answer(host, 1, 1);
	printf("callee 1 has been found\n");

	check(peal_kernel_stop(kernel, 10 * SECOND), "stop the kernel");
	check(peal_runtime_shutdown(runtime), "shut down");
	return 0;
}
