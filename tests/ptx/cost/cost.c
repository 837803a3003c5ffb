/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cost TARGET QUEUES RINGS LOOP: prints the cost per message of each path as a
 * JSON array. The other arguments are files with the PTX of queues.c, rings.cu
 * and loop.c.
 */
#include "cost.h"

#include <stdio.h>

int main(int argc, char **argv)
{
	if (argc != 5) {
		fprintf(stderr, "usage: cost TARGET QUEUES RINGS LOOP\n");
		return 2;
	}
	printf("[");
	cost_loops(cost_load(argv[4]), argv[1]);
	cost_queues(cost_load(argv[2]), argv[1]);
	cost_rings(cost_load(argv[3]), argv[1]);
	printf("]\n");
	return 0;
}
