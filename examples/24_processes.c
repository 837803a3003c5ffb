/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shows several processes that work together, usually one per device. Each
 * process has a part of the numbers, a kernel on a device, and a link to the
 * next process. A text passes through the actors of all processes. An
 * all-reduce then adds up the sums of the processes. The handler is in
 * programs/hello.c.
 *
 * Rank 0 prints the text after its way through all processes, and the sum.
 * Without a launcher one process runs alone and says so.
 *
 *	peal spawn -n 2 -- 24_processes
 */
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include <peal/abi/collective.h>
#include <peal/communicator.h>
#include <peal/device/kernel.h>
#include <peal/memory.h>
#include <peal/peer.h>
#include <peal/process_group.h>

#include "example.h"

PEAL_DECLARE_PROGRAM(hello);

#define NUMBERS UINT64_C(1000000)
#define MAX_WAIT (30 * SECOND)

static struct peal_process_group *set;
static uint32_t rank, ranks;

/*
 * Joins the process group that `peal spawn` or an MPI launcher has started.
 * Without a launcher, makes a group of one process.
 */
static void join(struct peal_runtime *runtime)
{
	struct peal_process_group_options alone = { .size = sizeof(alone),
						    .ranks = 1 };
	struct peal_process_group_info info;

	if (peal_process_group_join(runtime, NULL, &set)) {
		printf("alone: %s\n", peal_last_error()->text);
		check(peal_process_group_join(runtime, &alone, &set), "join");
	}
	check(peal_process_group_info(set, &info), "ask about the set");
	rank = info.rank;
	ranks = info.ranks;
}

/*
 * Connects port `port` of `from` to the address that process `other` exports
 * under `name`.
 */
static void link_to(uint32_t other, const char *name, uint64_t from,
		    uint32_t port)
{
	check(peal_process_connect(set, other, name, from, port, NULL, MAX_WAIT,
				   NULL),
	      name);
}

/* Returns the sum of this process's part of the numbers. */
static uint64_t part(void)
{
	uint64_t first = NUMBERS * rank / ranks;
	uint64_t end = NUMBERS * (rank + 1) / ranks, sum = 0;

	for (; first < end; first++)
		sum += first;
	return sum;
}

/*
 * Sends the text to the first actor and receives it from the last one. Until
 * the last process has connected its link, peal_receive returns PEAL_ENOTCONN:
 * then the host tries again.
 */
static void send_around(struct peal_endpoint *text)
{
	char words[] = "hello, processes";
	struct peal_received got;
	int tries, result = PEAL_ENOTCONN;

	check(peal_send(text, 0, 1, words, sizeof(words), MAX_WAIT, NULL),
	      "send");
	for (tries = 0; tries < 30000 && result == PEAL_ENOTCONN; tries++) {
		if (tries)
			usleep(1000);
		result = peal_receive(text, words, sizeof(words), &got,
				      MAX_WAIT);
	}
	check(result, "receive");
	printf("around %u process%s: %s\n", ranks, ranks == 1 ? "" : "es",
	       words);
	expect(!strcmp(words, "HELLO, PROCESSES"), "the text");
}

/* Adds up the sums of all processes. Each of them receives the total. */
static void sum_up(struct peal_runtime *runtime, int device)
{
	struct peal_comm *group;
	uint64_t number, sum = part(), at[PEAL_COMM_MAX] = { 0 };
	struct peal_collective all = { .size = sizeof(all),
				       .kind = PEAL_ALL_REDUCE,
				       .element = PEAL_I64,
				       .reduction = PEAL_SUM,
				       .count = 1,
				       .in = at,
				       .out = at };

	check(peal_comm_create_group(set, "sum", NULL, 0, device, NULL,
				     MAX_WAIT, &group),
	      "make a group");
	check(peal_memory_alloc(runtime, device, sizeof(sum), &number),
	      "take memory");
	/* Each process fills in only its own entry. */
	at[rank] = number;
	check(peal_peer_copy(runtime, device, number, PEAL_HOST_MEMORY,
			     (uintptr_t)&sum, sizeof(sum)),
	      "copy to the device");
	check(peal_collective_run(group, &all, MAX_WAIT), "sum up");
	check(peal_peer_copy(runtime, PEAL_HOST_MEMORY, (uintptr_t)&sum, device,
			     number, sizeof(sum)),
	      "copy from the device");
	if (rank == 0)
		printf("sum: %" PRIu64 "\n", sum);
	expect(sum == NUMBERS * (NUMBERS - 1) / 2, "the sum");
	check(peal_comm_destroy(group), "destroy the group");
	check(peal_memory_free(runtime, device, number), "free memory");
}

int main(void)
{
	struct peal_endpoint *text;
	struct peal_runtime *runtime;
	struct peal_kernel *kernel;
	uint64_t actor;
	int device;

	check(peal_runtime_open(NULL, &runtime), "open the runtime");
	join(runtime);
	device = (int)rank % peal_device_count(runtime);
	kernel = launch(runtime, device, &peal_program_hello);
	actor = spawn(kernel, "shout");
	check(peal_endpoint_create(runtime, NULL, &text), "make an endpoint");
	/* Offer both addresses to the other processes by name. */
	check(peal_process_export(set, "actor", actor), "export");
	check(peal_process_export(set, "text", peal_endpoint_address(text)),
	      "export");
	/*
	 * The text starts at rank 0. Each actor sends it to the actor of the
	 * next rank. The last actor sends it to the endpoint of rank 0.
	 */
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
		send_around(text);
	/*
	 * The all-reduce needs rank 0, which has the text by then. So no
	 * process leaves the group before the text has arrived.
	 */
	sum_up(runtime, device);
	check(peal_process_group_leave(set, MAX_WAIT), "leave");
	check(peal_runtime_shutdown(runtime), "shut down");
	return 0;
}
