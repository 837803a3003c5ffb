/* SPDX-License-Identifier: Apache-2.0 */
#include "double.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "runtime/backend/host/cluster.h"

/*
 * Clusters of a double. As on a GPU a block's shared memory is dirty at first
 * and gone with the block: who reaches for it then gets a fault.
 */

struct double_clusters {
	unsigned n, size; /* clusters, blocks of each */
	size_t bytes, mapped; /* of each block; with what follows it */
	uint8_t **memory; /* by block */
	pthread_barrier_t *meet; /* by cluster */
	struct peali_host_cluster *cluster;
};

/* Pages behind a block's memory: as many as never the last time, so that it is
 * elsewhere than in the launch before. */
static size_t behind(void)
{
	static _Atomic unsigned turn;

	return (size_t)(1 + turn++ % 16) * 4096;
}

struct double_clusters *double_clusters_create(const struct double_shape *shape)
{
	struct double_clusters *c = calloc(1, sizeof(*c));
	unsigned i;

	if (!c)
		return NULL;
	c->n = shape->blocks / shape->cluster;
	c->size = shape->cluster;
	c->bytes = shape->shared_bytes ? shape->shared_bytes : 1;
	c->mapped = c->bytes + behind();
	c->memory = calloc(shape->blocks, sizeof(*c->memory));
	c->meet = calloc(c->n, sizeof(*c->meet));
	c->cluster = calloc(c->n, sizeof(*c->cluster));
	if (!c->memory || !c->meet || !c->cluster)
		double_broken("no memory for %u clusters", c->n);
	for (i = 0; i < shape->blocks; i++) {
		c->memory[i] = mmap(NULL, c->mapped, PROT_READ | PROT_WRITE,
				    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (c->memory[i] == MAP_FAILED)
			double_broken("no memory for block %u", i);
		memset(c->memory[i], 0xa5, c->bytes);
	}
	for (i = 0; i < c->n; i++) {
		pthread_barrier_init(&c->meet[i], NULL, c->size);
		c->cluster[i].memory = c->memory + (size_t)i * c->size;
		c->cluster[i].meet = &c->meet[i];
	}
	return c;
}

void double_clusters_free(struct double_clusters *c)
{
	unsigned i;

	if (!c)
		return;
	for (i = 0; i < c->n * c->size; i++)
		munmap(c->memory[i], c->mapped);
	for (i = 0; i < c->n; i++)
		pthread_barrier_destroy(&c->meet[i]);
	free(c->memory);
	free(c->meet);
	free(c->cluster);
	free(c);
}

const struct peali_host_cluster *
double_clusters_of(const struct double_clusters *c, unsigned block)
{
	return &c->cluster[block / c->size];
}

void double_clusters_left(struct double_clusters *c, unsigned block)
{
	if (mprotect(c->memory[block], c->bytes, PROT_NONE))
		double_broken("block %u cannot give its memory back", block);
}
