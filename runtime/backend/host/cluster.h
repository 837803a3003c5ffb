/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEALI_HOST_CLUSTER_H
#define PEALI_HOST_CLUSTER_H

#include <pthread.h>
#include <stdint.h>

/*
 * What stands for a cluster of blocks where threads stand for those: memory of
 * each, and where they meet. Emulated devices have none; a driver double whose
 * devices shall have some gives it to its threads.
 */

/** A cluster; who makes it keeps it until its threads have left. */
struct peali_host_cluster {
	uint8_t **memory; /* by rank */
	pthread_barrier_t *meet;
};

/* The calling thread runs a worker of that cluster from here on; NULL: of none. */
void peali_cluster_join(const struct peali_host_cluster *cluster);

#endif
