/* SPDX-License-Identifier: Apache-2.0 */
#include "double.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "runtime/host_support/cluster.h"

/*
 * Clusters of a double. As on a GPU, the shared memory of a block is dirty at
 * first and ends with the block. A later access faults.
 */

struct double_clusters {
	unsigned n, size; /* clusters, blocks of each */
	size_t bytes, mapped; /* of each block: memory, with pages behind it */
	uint8_t **memory; /* by block */
	pthread_barrier_t *meet; /* by cluster */
	struct peali_host_cluster *cluster;
};

/* Returns the bytes of pages behind a block's memory. They differ from launch
 * to launch, so that the memory has another address each time. */
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
