/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shows a graph of tasks and a message that devices execute without the host.
 * Each vector is the sum of the two vectors before it. All devices compute the
 * vectors in turn. So the k-th vector is a Fibonacci number times the first
 * one. The host starts a run, and the message tells it the end. The handler is
 * in programs/vectors.c.
 *
 * Prints a line for each run after the last vector was compared.
 */
#include <peal/device/kernel.h>
#include <peal/graph.h>
#include <peal/memory.h>

#include "example.h"

PEAL_DECLARE_PROGRAM(vectors);

#define DEVICES 8 /* maximum */
#define ELEMENTS 1000
#define VECTORS 30
#define RUNS 3

static const uint32_t last = VECTORS - 1;

/*
 * Returns vector i. The vectors lie in host memory, which all devices can
 * access.
 */
static float *vector(uint64_t memory, uint32_t i)
{
	return (float *)(uintptr_t)memory + (uint64_t)i * ELEMENTS;
}

/*
 * Adds a task that computes vector i from the two vectors before it. Its node
 * has the number i - 2. It waits for the nodes that compute these two vectors.
 */
static void add_sum(struct peal_graph *graph, uint64_t memory, uint32_t i,
		    uint32_t rank)
{
	const struct peal_graph_argument arguments[] = {
		{ (uintptr_t)vector(memory, i - 2), sizeof(float), 0 },
		{ (uintptr_t)vector(memory, i - 1), sizeof(float), 0 },
		{ (uintptr_t)vector(memory, i), sizeof(float), 0 },
	};
	const struct peal_graph_task task = { .size = sizeof(task),
					      .rank = rank,
					      .handler = "add",
					      .count = ELEMENTS,
					      .n_arguments = 3,
					      .arguments = arguments };
	uint32_t node;

	check(peal_graph_add_task(graph, &task, &node), "add a task");
	for (uint32_t before = i > 3 ? i - 4 : 0; before < node; before++)
		check(peal_graph_add_edge(graph, before, node), "add an edge");
}

/* Adds a message to the host that follows the node `after`. */
static void add_word(struct peal_graph *graph, struct peal_endpoint *host,
		     uint32_t after)
{
	static const char word[] = "added";
	const struct peal_graph_message message = { .size = sizeof(message),
						    .to = peal_endpoint_address(
							    host),
						    .type = 1,
						    .bytes = sizeof(word),
						    .data = word };
	uint32_t node;

	check(peal_graph_add_message(graph, &message, &node), "add a message");
	check(peal_graph_add_edge(graph, after, node), "add an edge");
}

int main(void)
{
	static const int devices[DEVICES] = { 0, 1, 2, 3, 4, 5, 6, 7 };
	struct peal_runtime *runtime = open_runtime(DEVICES);
	uint32_t n = (uint32_t)devices_in_use(runtime, DEVICES);
	struct peal_endpoint *host;
	struct peal_received received;
	struct peal_graph *graph;
	uint64_t memory;
	char word[16];

	check(peal_memory_alloc(runtime, PEAL_HOST_MEMORY,
				VECTORS * ELEMENTS * sizeof(float), &memory),
	      "take memory");
	check(peal_endpoint_create(runtime, NULL, &host), "make an endpoint");
	check(peal_graph_create(runtime, devices, n, &peal_program_vectors,
				NULL, &graph),
	      "make a graph");
	/* Build the graph: vector i on device i modulo n. */
	for (uint32_t i = 2; i < VECTORS; i++)
		add_sum(graph, memory, i, i % n);
	add_word(graph, host, last - 2);
	/* Run the graph several times, each time with another start vector. */
	for (int run = 1; run <= RUNS; run++) {
		for (uint32_t k = 0; k < ELEMENTS; k++) {
			vector(memory, 0)[k] = 0;
			vector(memory, 1)[k] = (float)(run * (int)(k % 3));
		}
		check(peal_graph_start(graph), "begin");
		check(peal_receive(host, word, sizeof(word), &received,
				   10 * SECOND),
		      "hear of it");
		check(peal_graph_wait(graph, 10 * SECOND), "wait");
		for (uint32_t k = 0; k < ELEMENTS; k++)
			expect(vector(memory, last)[k] ==
				       514229.0f * (float)(run * (int)(k % 3)),
			       "the last vector");
		printf("run %d: %s, the last one is 514229 times the first\n",
		       run, word);
	}
	check(peal_graph_destroy(graph), "end the graph");
	check(peal_runtime_shutdown(runtime), "shut down");
	return 0;
}
