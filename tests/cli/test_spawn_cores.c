/* SPDX-License-Identifier: Apache-2.0 */
/* labels: fast */
/* Shows the cores of NUMA nodes for `peal spawn`. The machine is a folder. */
#include "cli/machine_folder.h"
#include "runtime/cli/spawn_state.h"

static void put_node(int node, const char *cores)
{
	char path[256];

	snprintf(path, sizeof(path), "/sys/devices/system/node/node%d/cpulist",
		 node);
	put(path, cores);
}

/* The cores that `peal spawn` may use: 0 to `last`. */
static struct peali_core_set first_cores(int last)
{
	struct peali_core_set all = { .bytes = CPU_ALLOC_SIZE(CPU_SETSIZE) };
	int core;

	all.bits = calloc(1, all.bytes);
	CHECK(all.bits != NULL);
	for (core = 0; core <= last; core++)
		CPU_SET_S((size_t)core, all.bytes, all.bits);
	all.n = last + 1;
	return all;
}

/* Checks that a node has exactly these cores of the set. -1 ends the list. */
static void has_cores(int node, const struct peali_core_set *among,
		      const int *expected)
{
	struct peali_core_set cores;
	int core = -1, n = 0;

	CHECK_EQ(peali_node_cores(root, node, among, &cores), 0);
	for (; expected[n] >= 0; n++) {
		core = peali_core_set_next(&cores, core);
		CHECK_EQ(core, expected[n]);
	}
	CHECK_EQ(cores.n, n);
	peali_core_set_free(&cores);
}

PEAL_TEST(nodes_have_the_cores_that_the_process_may_use)
{
	struct peali_core_set all = first_cores(9);
	int nodes[4];

	CHECK(mkdtemp(root) != NULL);
	atexit(clean);
	CHECK_EQ(peali_numa_nodes(root, &all, nodes, 4), 0);
	put_node(0, "0-2,8-11\n");
	put_node(1, "\n"); /* memory without cores */
	put_node(2, "3,5\n");
	put_node(7, "6-7\n");
	put_node(9, "12-99999999\n"); /* none that may be used */
	has_cores(0, &all, (const int[]){ 0, 1, 2, 8, 9, -1 });
	has_cores(1, &all, (const int[]){ -1 });
	has_cores(2, &all, (const int[]){ 3, 5, -1 });
	has_cores(3, &all, (const int[]){ -1 });
	has_cores(9, &all, (const int[]){ -1 });
	CHECK_EQ(peali_numa_nodes(root, &all, nodes, 4), 3);
	CHECK_EQ(nodes[0], 0);
	CHECK_EQ(nodes[1], 2);
	CHECK_EQ(nodes[2], 7);
	CHECK_EQ(peali_numa_nodes(root, &all, nodes, 2), 2);
	peali_core_set_free(&all);
}

PEAL_TEST(an_unknown_set_has_no_node)
{
	struct peali_core_set unknown = { 0 };
	int nodes[4];

	CHECK_EQ(peali_numa_nodes(root, &unknown, nodes, 4), 0);
}

PEAL_TEST(values_of_bind_are_read)
{
	enum peali_bind bind = PEALI_BIND_NONE;

	CHECK_EQ(peali_bind_parse("device", &bind), 0);
	CHECK_EQ(bind, PEALI_BIND_DEVICE);
	CHECK_EQ(peali_bind_parse("numa", &bind), 0);
	CHECK_EQ(bind, PEALI_BIND_NUMA);
	CHECK_EQ(peali_bind_parse("none", &bind), 0);
	CHECK_EQ(bind, PEALI_BIND_NONE);
	CHECK_EQ(peali_bind_parse("", &bind), -1);
	CHECK_EQ(peali_bind_parse("node", &bind), -1);
}

PEAL_TEST(process_is_bound_to_its_cores)
{
	static struct spawn s;
	struct peali_core_set all, now, *cores = &s.process[1].cores;
	int last, next;

	CHECK_EQ(peali_core_set_read(0, &all), 0);
	last = next = peali_core_set_next(&all, -1);
	while ((next = peali_core_set_next(&all, last)) >= 0)
		last = next;
	CHECK_EQ(peali_spawn_place(&s, 0), 0); /* not bound */
	CHECK_EQ(peali_core_set_read(0, &now), 0);
	CHECK_EQ(now.n, all.n);
	peali_core_set_free(&now);
	CHECK_EQ(peali_core_set_read(0, cores), 0);
	memset(cores->bits, 0, cores->bytes);
	CPU_SET_S((size_t)last, cores->bytes, cores->bits);
	cores->n = 1;
	CHECK_EQ(peali_spawn_place(&s, 1), 0);
	CHECK_EQ(peali_core_set_read(0, &now), 0);
	CHECK_EQ(now.n, 1);
	CHECK_EQ(peali_core_set_next(&now, -1), last);
	peali_core_set_free(&now);
	peali_core_set_free(cores);
	peali_core_set_free(&all);
}

PEAL_TEST_MAIN(RUN(nodes_have_the_cores_that_the_process_may_use);
	       RUN(an_unknown_set_has_no_node); RUN(values_of_bind_are_read);
	       RUN(process_is_bound_to_its_cores);)
