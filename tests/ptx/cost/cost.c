/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cost TARGET QUEUES RINGS LOOP BATCH: prints the cost per message of each path
 * as a JSON array. The other arguments are files with the PTX of queues.c,
 * rings.cu, loop.c and batch.c.
 */
#include "cost.h"

#include <stdio.h>

/* Measures the paths of a file with PTX. */
static void measure(const char *path, const char *target,
		    void (*run)(struct ptx_module *module, const char *target))
{
	struct ptx_module *module = cost_load(path);

	run(module, target);
	ptx_unload(module);
}

int main(int argc, char **argv)
{
	if (argc != 6) {
		fprintf(stderr, "usage: cost TARGET QUEUES RINGS LOOP BATCH\n");
		return 2;
	}
	printf("[");
	measure(argv[4], argv[1], cost_loops);
	measure(argv[5], argv[1], cost_batches);
	measure(argv[2], argv[1], cost_queues);
	measure(argv[3], argv[1], cost_rings);
	printf("]\n");
	return 0;
}
