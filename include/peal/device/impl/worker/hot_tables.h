/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_DEVICE_HOT_TABLES_H
#define PEAL_DEVICE_HOT_TABLES_H

#include <peal/device/lanes.h>

/*
 * The hot tables: the state, the inputs and the ports of a worker. The loop
 * accesses them for each message. A block on CUDA keeps them in shared memory
 * while its kernel runs. Otherwise an acquire drops them from the L1 cache, and
 * the next access goes to the L2 cache. A stage for short messages follows. A
 * worker looks at one message at a time, so all its inputs share this stage.
 *
 * The host chooses the number of bytes, or 0 if the tables of all workers take
 * too much shared memory. The tables then stay in device memory. Behind the
 * memory of the cluster, the block has memory for them. No other worker and no
 * host reads them, apart from the word of peali_hooks_word.
 */

/* 1: a block can have hot tables in shared memory. */
#define PEALI_HAS_HOT_TABLES PEAL_ON_CUDA

#if PEALI_HAS_HOT_TABLES

static PEAL_DEV PEAL_INLINE uint64_t *
peali_hot_memory(const struct peal_worker *w)
{
	return (uint64_t *)(void *)(peal_hw_block_memory() +
				    w->params->cluster_bytes);
}

/* Copies the tables. All lanes call it. */
static PEAL_DEV PEAL_INLINE void
peali_hot_copy(const struct peal_worker *w, uint64_t *to, const uint64_t *from)
{
	uint64_t n = peal_worker_tables(w->params).hot_stage / 8, i;

	for (i = peal_lane(w); i < n; i += peal_lanes(w))
		to[i] = from[i];
	peal_sync(w);
}

/* Lets the worker use the tables at an address. For the leader. */
static PEAL_DEV PEAL_INLINE void peali_hot_use(struct peal_worker *w,
					       void *tables)
{
	struct peal_worker_layout at = peal_worker_tables(w->params);
	uint8_t *base = (uint8_t *)tables;

	w->state = (struct peal_worker_state *)tables;
	w->inputs = (struct peal_input *)(void *)(base + at.inputs);
	w->outputs = (struct peal_output *)(void *)(base + at.outputs);
}

/* Sets the position of an input's stage. A mirror needs more than one slot. For
 * the leader. */
static PEAL_DEV PEAL_INLINE void peali_hot_stage(const struct peal_worker *w,
						 struct peal_input *in)
{
	if (w->params->hot_bytes && !in->link.source &&
	    in->link.content_max <= PEALI_HOT_STAGE_CONTENT)
		in->link.stage = (uint8_t *)peali_hot_memory(w) +
				 peal_worker_tables(w->params).hot_stage;
}

/* Lets the worker use the tables in shared memory. For the leader. */
static PEAL_DEV PEAL_INLINE void peali_hot_enter(struct peal_worker *w)
{
	uint32_t i;

	peali_hot_use(w, peali_hot_memory(w));
	for (i = 0; i < w->state->table.n_inputs; i++)
		if (w->inputs[i].flags & PEAL_INPUT_USED &&
		    !peali_is_topic(w->inputs[i].link.state))
			peali_hot_stage(w, &w->inputs[i]);
}

/* Copies the tables to shared memory, at the begin of a launch or an epoch.
 * Collective. */
PEALI_SLOW(void, peali_hot_load, struct peal_worker *w)
{
	peali_hot_copy(w, peali_hot_memory(w),
		       (const uint64_t *)(const void *)w->state);
	if (peal_is_leader(w))
		peali_hot_enter(w);
}

/* Copies the tables back, at the end of a launch or an epoch. The worker then
 * uses them in device memory. Collective. */
PEALI_SLOW(void, peali_hot_store, struct peal_worker *w)
{
	struct peal_worker_state *home = peali_worker_home(w, w->index);

	if (peal_is_leader(w)) /* only the word in device memory is current */
		w->state->hook.due = home->hook.due;
	peal_sync(w);
	peali_hot_copy(w, (uint64_t *)(void *)home, peali_hot_memory(w));
	if (peal_is_leader(w))
		peali_hot_use(w, home);
	peal_sync(w);
}

#else

static PEAL_DEV PEAL_INLINE void peali_hot_stage(const struct peal_worker *w,
						 struct peal_input *in)
{
	(void)w;
	(void)in;
}

#endif

/* Begins the use of hot tables in shared memory. Collective. The lanes must
 * synchronize before they access them. */
static PEAL_DEV PEAL_INLINE void peali_hot_begin(struct peal_worker *w)
{
#if PEALI_HAS_HOT_TABLES
	if (w->params->hot_bytes)
		peali_hot_load(w);
#else
	(void)w;
#endif
}

/* Ends the use of hot tables in shared memory. Collective. */
static PEAL_DEV PEAL_INLINE void peali_hot_end(struct peal_worker *w)
{
#if PEALI_HAS_HOT_TABLES
	if (w->params->hot_bytes)
		peali_hot_store(w);
#else
	(void)w;
#endif
}

#endif
