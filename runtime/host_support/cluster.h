/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEALI_HOST_CLUSTER_H
#define PEALI_HOST_CLUSTER_H

#include <pthread.h>
#include <stdint.h>

/*
 * Clusters for threads that emulate the blocks of a GPU. Each block has memory,
 * and the blocks of a cluster meet at a barrier. Emulated devices of the host
 * backend have no clusters. Driver doubles use them for their threads.
 */

/**
 * A cluster. Its creator keeps it until all threads of the cluster have left.
 */
struct peali_host_cluster {
	uint8_t **memory; /* by rank */
	pthread_barrier_t *meet;
};

/*
 * Makes the calling thread a worker of the cluster. NULL: it leaves its
 * cluster.
 */
void peali_cluster_join(const struct peali_host_cluster *cluster);

#endif
