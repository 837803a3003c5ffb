/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One program, started once per device: each process has a part of the numbers, a
 * kernel on a device of its own, and links to the others. A text goes around by
 * the actors of all of them, from process to process; the parts of a sum go to
 * rank 0. The handler is in programs/hello.c.
 *
 *	peal spawn -n 2 -- 24_processes
 */
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include <peal/device/kernel.h>

#include "example.h"

PEAL_DECLARE_PROGRAM(hello);

#define NUMBERS UINT64_C(1000000)
#define PATIENCE (30 * SECOND)

static struct peal_processes *set;
static uint32_t rank, ranks;

/* The set that peal spawn, or a launcher of MPI, has started; else one of one. */
static void join(struct peal_runtime *runtime)
{
	struct peal_processes_options alone = { .size = sizeof(alone),
						.ranks = 1 };
	struct peal_processes_info info;

	if (peal_processes_join(runtime, NULL, &set)) {
		printf("alone: %s\n", peal_last_error()->text);
		check(peal_processes_join(runtime, &alone, &set), "join");
	}
	check(peal_processes_info(set, &info), "ask about the set");
	rank = info.rank;
	ranks = info.ranks;
}

static void link_to(uint32_t other, const char *name, uint64_t from,
		    uint32_t port)
{
	check(peal_process_connect(set, other, name, from, port, NULL, PATIENCE,
				   NULL),
	      name);
}

/* The sum of this process's part of the numbers: the remainder is spread. */
static uint64_t part(void)
{
	uint64_t first = NUMBERS * rank / ranks;
	uint64_t end = NUMBERS * (rank + 1) / ranks, sum = 0;

	for (; first < end; first++)
		sum += first;
	return sum;
}

/* The next message; the one who sends it may have yet to connect. */
static int receive(struct peal_endpoint *at, void *to, uint64_t room)
{
	struct peal_received got;
	int tries, result = PEAL_ENOTCONN;

	for (tries = 0; tries < 30000 && result == PEAL_ENOTCONN; tries++) {
		if (tries)
			usleep(1000);
		result = peal_receive(at, to, room, &got, PATIENCE);
	}
	return result;
}

/* A text around all processes, and the sum of what they have. */
static void lead(struct peal_endpoint *text, struct peal_endpoint *sums)
{
	char words[] = "hello, processes";
	uint64_t sum = part(), other;
	uint32_t i;

	check(peal_send(text, 0, 1, words, sizeof(words), PATIENCE), "send");
	check(receive(text, words, sizeof(words)), "receive");
	printf("around %u processes: %s\n", ranks, words);
	expect(!strcmp(words, "HELLO, PROCESSES"), "the text");
	for (i = 1; i < ranks; i++) {
		check(receive(sums, &other, sizeof(other)), "receive a part");
		sum += other;
	}
	printf("sum: %" PRIu64 "\n", sum);
	expect(sum == NUMBERS * (NUMBERS - 1) / 2, "the sum");
	for (i = 1; i < ranks; i++) { /* they may go */
		link_to(i, "end", peal_endpoint_address(sums), i);
		check(peal_send_end(sums, i, PATIENCE), "say the end");
	}
}

/* The part to rank 0; then it waits until that one is done. */
static void follow(struct peal_endpoint *sums)
{
	uint64_t sum = part();

	link_to(0, "sum", peal_endpoint_address(sums), 0);
	check(peal_send(sums, 0, 1, &sum, sizeof(sum), PATIENCE), "send");
	expect(receive(sums, NULL, 0) != PEAL_EDIED, "the end of rank 0");
}

int main(void)
{
	struct peal_endpoint_options many = { .size = sizeof(many),
					      .max_ports = PEAL_PROCESSES_MAX,
					      .max_inputs =
						      PEAL_PROCESSES_MAX };
	struct peal_endpoint *text, *sums;
	struct peal_runtime *runtime;
	struct peal_kernel *kernel;
	uint64_t actor;
	int device;

	check(peal_runtime_open(NULL, &runtime), "open the runtime");
	join(runtime);
	device = (int)rank % peal_device_count(runtime);
	kernel = launch(runtime, device, &peal_program_hello);
	actor = spawn(kernel, "shout");
	check(peal_endpoint_create(runtime, &many, &text), "make an endpoint");
	check(peal_endpoint_create(runtime, &many, &sums), "make an endpoint");
	check(peal_process_offer(set, "actor", actor), "offer");
	check(peal_process_offer(set, "text", peal_endpoint_address(text)),
	      "offer");
	check(peal_process_offer(set, "sum", peal_endpoint_address(sums)),
	      "offer");
	check(peal_process_offer(set, "end", peal_endpoint_address(sums)),
	      "offer");
	if (rank == 0)
		link_up(runtime, "host to actor", peal_endpoint_address(text),
			0, actor, 48);
	if (ranks == 1)
		link_up(runtime, "actor to host", actor, 0,
			peal_endpoint_address(text), 48);
	else
		link_to((rank + 1) % ranks, rank + 1 < ranks ? "actor" : "text",
			actor, 0);
	if (rank == 0)
		lead(text, sums);
	else
		follow(sums);
	check(peal_processes_leave(set, PATIENCE), "leave");
	check(peal_runtime_shutdown(runtime), "shut down");
	return 0;
}
