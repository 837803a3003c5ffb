/* SPDX-License-Identifier: Apache-2.0 */
/* Connects many devices: shows the memory and the setup time of the links.
 * Destroying the objects must free all memory. */

#include <peal/barrier.h>
#include <peal/memory.h>
#include "runtime/harness.h"

#define DEVICES 16

/* The runtime's counters and the setup time of connect_all(). */
struct net {
	struct peal_runtime_info info;
	double ms;
};

/* Links each of the first n devices to each other device. Then destroys all. */
static struct net connect_all(int n)
{
	struct peal_kernel_options o = { .max_actors = 32,
					 .max_ports = 16,
					 .max_inputs = 16 };
	struct peal_link_options mapped = { .require = PEAL_ROUTE_MAPPED_HOST };
	struct peal_runtime *rt = harness_open(DEVICES, "");
	uint64_t began = harness_now_ns(), sink[DEVICES], before[DEVICES];
	struct peal_kernel *k[DEVICES];
	struct peal_device_info device;
	struct net net;
	int i, j;

	for (i = 0; i < n; i++) {
		CHECK_OK(peal_device_info(rt, i, &device));
		before[i] = device.memory_used_bytes;
		k[i] = harness_launch_with(rt, i, o);
		sink[i] = harness_spawn(k[i], "sink", 0);
	}
	for (i = 0; i < n; i++)
		for (j = 0; j < n; j++)
			if (i != j)
				harness_link(rt, harness_spawn(k[i], "echo", 0),
					     0, sink[j], mapped);
	net.ms = (double)(harness_now_ns() - began) / 1e6;
	CHECK_OK(peal_runtime_info(rt, &net.info));
	for (i = 0; i < n; i++)
		CHECK_OK(peal_kernel_stop(k[i], MAX_WAIT));
	harness_conserved(rt);
	while (peal_link_list(rt, NULL, 0)) {
		struct peal_link *link;

		peal_link_list(rt, &link, 1);
		CHECK_OK(peal_link_destroy(link));
	}
	for (i = 0; i < n; i++) {
		CHECK_OK(peal_kernel_destroy(k[i]));
		CHECK_OK(peal_device_info(rt, i, &device));
		CHECK_EQ(device.memory_used_bytes, before[i]);
	}
	CHECK_OK(peal_runtime_close(rt));
	return net;
}

PEAL_TEST(memory_of_links_is_linear_in_their_number)
{
	struct net few = connect_all(4), many = connect_all(DEVICES);

	CHECK_EQ(few.info.n_links, 4 * 3);
	CHECK_EQ(many.info.n_links, DEVICES * (DEVICES - 1));
	CHECK_EQ(many.info.n_kernels, DEVICES);
	CHECK_EQ(many.info.n_devices, DEVICES);
	CHECK_EQ(few.info.link_bytes % 12, 0);
	CHECK_EQ(many.info.link_bytes / many.info.n_links,
		 few.info.link_bytes / few.info.n_links);
	printf("    %u links: %.1f ms, %llu bytes each\n", many.info.n_links,
	       many.ms,
	       (unsigned long long)(many.info.link_bytes / many.info.n_links));
}

PEAL_TEST(shutdown_destroys_all_objects)
{
	static const int device[] = { 0, 1 };
	struct peal_runtime *rt = harness_open(2, "");
	struct peal_link_options none = { .capacity = 0 };
	struct peal_endpoint *e = harness_endpoint(rt);
	struct peal_kernel *k = harness_launch(rt, 1);
	struct peal_barrier *barrier;
	struct peal_runtime_info info;
	uint64_t memory;

	harness_from(rt, e, 0, harness_spawn(k, "sink", 0), none);
	CHECK_OK(peal_barrier_create(rt, device, 2, 1, NULL, &barrier));
	CHECK_OK(peal_barrier_join(barrier, k, 0));
	CHECK_OK(peal_memory_alloc(rt, 0, 4096, &memory));
	CHECK_OK(peal_runtime_info(rt, &info));
	CHECK_EQ(info.n_kernels, 1);
	CHECK_EQ(info.n_links, 1);
	CHECK_EQ(info.n_endpoints, 1);
	CHECK_EQ(info.n_barriers, 1);
	CHECK_EQ(info.n_memories, 1);
	CHECK_FAILS(peal_runtime_close(rt), PEAL_EBUSY, "1 kernel");
	CHECK_CONTAINS(peal_last_error()->text, "1 link");
	CHECK_CONTAINS(peal_last_error()->text, "1 endpoint");
	CHECK_CONTAINS(peal_last_error()->text, "1 barrier");
	CHECK_CONTAINS(peal_last_error()->text, "1 allocation");
	CHECK_CONTAINS(peal_last_error()->text, "relay");
	CHECK_OK(peal_runtime_shutdown(rt));
}

PEAL_TEST(endpoint_and_kernel_numbers_are_reused)
{
	struct peal_runtime *rt = harness_open(1, "");
	struct peal_link_options none = { .capacity = 0 };
	struct peal_endpoint *first = harness_endpoint(rt), *e;
	struct peal_kernel_options stays = { .workers = 1 };
	struct peal_kernel *k = harness_launch_with(rt, 0, stays);
	uint64_t actor = harness_spawn(k, "echo", 0);
	struct peal_link *in, *out;
	int i;

	for (i = 0; i < 66000; i++) {
		e = NULL;
		CHECK_OK(peal_endpoint_create(rt, NULL, &e));
		CHECK(peal_endpoint_address(e) != peal_endpoint_address(first));
		if (i % 20000 < 2 || i > 65990 || i == 65535) {
			in = harness_from(rt, e, 0, actor, none);
			out = harness_to(rt, actor, e, none);
			harness_send(e, 0, 1, 0, 3);
			harness_receive(e, 1, 0, 3);
			harness_delivered(in, 3);
			CHECK_OK(peal_link_destroy(in));
			CHECK_OK(peal_link_destroy(out));
		}
		CHECK_OK(peal_endpoint_destroy(e));
	}
	CHECK_OK(peal_runtime_shutdown(rt));
}

PEAL_TEST_MAIN(RUN(memory_of_links_is_linear_in_their_number);
	       RUN(shutdown_destroys_all_objects);
	       RUN(endpoint_and_kernel_numbers_are_reused);)
