/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/host_support/cluster.h"

#include <stddef.h>

#include <peal/device/impl/base/host_support.h>

static _Thread_local const struct peali_host_cluster *joined;

void peali_cluster_join(const struct peali_host_cluster *cluster)
{
	joined = cluster;
}

uint8_t *peal_host_cluster_memory(uint32_t rank)
{
	return joined ? joined->memory[rank] : NULL;
}

void peal_host_cluster_meet(void)
{
	if (joined)
		pthread_barrier_wait(joined->meet);
}
