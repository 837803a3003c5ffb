/* SPDX-License-Identifier: Apache-2.0 */
#include <peal/device/atomic.h>

#include "c11_model/instances.h"

/*
 * Queues of several producers with a wrong design, as in
 * ../queues/test_negative_controls.c. Thread 0 takes. The other threads put one
 * message each. The cells are atomic, only the order is wrong.
 */

#define PRODUCERS 2

static struct broken {
	uint64_t tail, committed;
	uint64_t cells[PRODUCERS];
} * q;

static void broken_setup(const void *config)
{
	(void)config;
	q = (struct broken *)model_memory("queue", sizeof(*q));
	model_name(&q->tail, 8, "tail");
	model_name(&q->committed, 8, "committed");
	model_name(&q->cells[0], 8, "cell0");
	model_name(&q->cells[1], 8, "cell1");
}

/* Takes the message of cell i as soon as `limit` exceeds i. */
static void take(const uint64_t *limit)
{
	uint64_t i, sum = 0, cell;

	for (i = 0; i < PRODUCERS; i++) {
		MODEL_UNTIL(peal_load_acquire_dev(limit) > i);
		cell = peal_load_relaxed_dev(&q->cells[i]);
		model_expect(cell);
		sum += cell;
	}
	model_expect(sum == 1 + 2);
}

/* Claims, then writes. No word tells that the cell is written. */
static void claimed(const void *config, uint32_t self)
{
	(void)config;
	if (self)
		peal_store_relaxed_dev(
			&q->cells[peal_add_acqrel_dev(&q->tail, 1)], self);
	else
		take(&q->tail);
}

/* Counts the commits, which do not come in ticket order. */
static void committed(const void *config, uint32_t self)
{
	(void)config;
	if (self) {
		peal_store_relaxed_dev(
			&q->cells[peal_add_acqrel_dev(&q->tail, 1)], self);
		peal_add_acqrel_dev(&q->committed, 1);
	} else {
		take(&q->committed);
	}
}

/* Reads the tail, writes, moves the tail. Two threads write to one cell. */
static void moved(const void *config, uint32_t self)
{
	uint64_t tail;

	(void)config;
	if (self) {
		tail = peal_load_acquire_dev(&q->tail);
		peal_store_relaxed_dev(&q->cells[tail], self);
		peal_store_release_dev(&q->tail, tail + 1);
	} else {
		take(&q->tail);
	}
}

#define BROKEN(name, thread)                                                   \
	{                                                                      \
		name, 1 + PRODUCERS, NULL, broken_setup, thread, NULL, NULL, 0 \
	}

static const struct model_instance instances[] = {
	BROKEN("claim, then write", claimed),
	BROKEN("one counter of commits", committed),
	BROKEN("head and tail only", moved),
};

INSTANCE_LIST(broken_instances, instances);
