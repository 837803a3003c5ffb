/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_DEVICE_CLUSTER_H
#define PEAL_DEVICE_CLUSTER_H

#include <peal/device/impl/worker/hot_tables.h>

#define PEALI_CLUSTERS (PEAL_HAVE_CLUSTERS && PEALI_USES(CLUSTERS))

/*
 * Workers of a cluster. One part of a GPU runs their blocks. They access each
 * other's shared memory: thread-block clusters and distributed shared memory,
 * compute capability 9.0.
 *
 * The slots of a link between such workers are in the receiver's part of the
 * shared memory. It is nearer than the L2 cache. Header, slab, credit and
 * counts of the ring stay in their memory. The host selects these rings by the
 * ring's `cluster_place`.
 *
 * The shared memory exists only while the kernel runs. It is not zero at first.
 * No worker may access the part of a block that has ended. So:
 *
 * - The receiver empties the slots before the sender knows the ring.
 * - No worker of a cluster ends before all its workers have come to their end.
 * - At the end of an epoch, each worker copies its part to device memory. The
 *   next epoch copies the part back before any worker continues.
 */

/* ---- one ring ------------------------------------------------------------ */

/* Returns the slots at a position in the calling worker's cluster. */
static PEAL_DEV PEAL_INLINE uint8_t *peali_cluster_slots(uint32_t place)
{
#if PEALI_CLUSTERS && PEAL_ON_HOST
	return peal_host_cluster_memory(PEAL_CLUSTER_RANK(place)) +
	       PEAL_CLUSTER_OFFSET(place);
#elif PEALI_CLUSTERS
	return peal_hw_cluster_memory(PEAL_CLUSTER_RANK(place)) +
	       PEAL_CLUSTER_OFFSET(place);
#else
	(void)place;
	return 0;
#endif
}

/* Checks whether this worker can use a ring. Returns 0, or PEAL_ENOTSUP if this
 * code cannot access the ring's slots. */
static PEAL_DEV PEAL_UNUSED inline int
peali_cluster_check(const struct peal_worker *w,
		    const struct peal_link_view *view)
{
	const struct peal_ring *ring =
		(const struct peal_ring *)(uintptr_t)view->ring;

	if (!ring->cluster_place)
		return 0;
	if (!PEALI_CLUSTERS || !w->params->cluster_workers ||
	    PEAL_CLUSTER_RANK(ring->cluster_place) >=
		    w->params->cluster_workers)
		return PEAL_ENOTSUP;
	return 0;
}

/* Empties the slots of a ring, before its sender knows the ring. The receiver
 * calls it. */
static PEAL_DEV PEAL_UNUSED PEAL_NOINLINE void
peali_cluster_clear(const struct peal_link_view *view)
{
	const struct peal_ring *ring =
		(const struct peal_ring *)(uintptr_t)view->ring;
	uint32_t policy = peali_policy(ring->policy), n, i;
	uint8_t *slots;

	if (!PEALI_CLUSTERS || !ring->cluster_place)
		return;
	slots = peali_cluster_slots(ring->cluster_place);
	n = (ring->slot_bytes << ring->capacity_log2) /
	    (policy == PEAL_POLICY_ATOM8 ? 8 : 16);
	for (i = 0; i < n; i++)
		peali_atom_write(policy, slots, i, 0, slots, 0);
}

/* Starts the receiving end of a ring, and sets the positions of its slots and of
 * its stage. */
static PEAL_DEV PEAL_UNUSED PEAL_NOINLINE void
peali_input_ring(const struct peal_worker *w, struct peal_input *in,
		 const struct peal_link_view *view)
{
	const struct peal_ring *ring =
		(const struct peal_ring *)(uintptr_t)view->ring;

	peal_link_consumer_init(&in->link, view);
	peali_hot_stage(w, in);
	in->cluster_place = ring->cluster_place;
	if (!in->cluster_place)
		return;
	in->link.slots = peali_cluster_slots(in->cluster_place);
	peali_consumer_place(&in->link);
}

/* As peali_input_ring, for the sending end. */
static PEAL_DEV PEAL_UNUSED PEAL_NOINLINE void
peali_output_ring(struct peal_output *o, const struct peal_link_view *view)
{
	const struct peal_ring *ring =
		(const struct peal_ring *)(uintptr_t)view->ring;

	peal_link_producer_init(&o->link, view);
	o->cluster_place = ring->cluster_place;
	if (!o->cluster_place)
		return;
	o->link.slots = peali_cluster_slots(o->cluster_place);
	peali_producer_place(&o->link);
}

/* ---- epochs -------------------------------------------------------------- */

#if PEALI_CLUSTERS

/* Waits for all lanes of all workers of the cluster. Collective. */
static PEAL_DEV PEAL_UNUSED inline void
peali_cluster_meet(const struct peal_worker *w)
{
#if PEAL_ON_HOST
	peal_sync(w);
	if (peal_is_leader(w))
		peal_host_cluster_meet();
	peal_sync(w);
#else
	(void)w;
	peal_hw_cluster_sync();
#endif
}

/* Returns this worker's part of the shared memory, as 8-byte words. */
static PEAL_DEV PEAL_INLINE uint64_t *
peali_cluster_own(const struct peal_worker *w)
{
	uint32_t rank = w->index % w->params->cluster_workers;

	return (uint64_t *)(void *)peali_cluster_slots(
		PEAL_CLUSTER_PLACE(rank, 0));
}

/* Returns the copy of this part in device memory, kept between two epochs. */
static PEAL_DEV PEAL_INLINE uint64_t *
peali_cluster_home(const struct peal_worker *w)
{
	return (uint64_t *)(uintptr_t)(w->params->cluster_home +
				       (uint64_t)w->index *
					       w->params->cluster_bytes);
}

/* Copies this worker's part. All lanes call it. */
static PEAL_DEV PEAL_UNUSED inline void
peali_cluster_copy(const struct peal_worker *w, uint64_t *to,
		   const uint64_t *from)
{
	uint32_t i;

	for (i = peal_lane(w); i < w->params->cluster_bytes / 8;
	     i += peal_lanes(w))
		to[i] = from[i];
}

/* Sets the position of the slots in this epoch, for all inputs and outputs. The
 * leader calls it. */
static PEAL_DEV PEAL_UNUSED inline void
peali_cluster_find(struct peal_worker *w)
{
	uint32_t i;

	for (i = 0; i < w->state->table.n_inputs; i++) {
		struct peal_input *in = &w->inputs[i];

		if (!in->cluster_place)
			continue;
		in->link.slots = peali_cluster_slots(in->cluster_place);
		peali_consumer_place(&in->link);
	}
	for (i = 0; i < w->state->table.n_outputs; i++) {
		struct peal_output *o = &w->outputs[i];

		if (o->used == PEAL_OUTPUT_FWD_LINK || !o->cluster_place)
			continue;
		o->link.slots = peali_cluster_slots(o->cluster_place);
		peali_producer_place(&o->link);
	}
}

/* Restores the worker's part at the begin of an epoch, then waits for the
 * cluster. Also runs at the begin of a launch. Collective. */
PEALI_SLOW(void, peali_cluster_enter, struct peal_worker *w)
{
	if (w->state->epoch.cluster_kept) {
		peali_cluster_copy(w, peali_cluster_own(w),
				   peali_cluster_home(w));
		if (peal_is_leader(w))
			peali_cluster_find(w);
	}
	peali_cluster_meet(w);
}

/*
 * Waits for the cluster at the end of a launch or an epoch, then saves the
 * worker's part. All workers have come to their end, so no worker writes to the
 * part of another one any more. Collective.
 */
PEALI_SLOW(void, peali_cluster_leave, struct peal_worker *w)
{
	peali_cluster_meet(w);
	if (!w->params->cluster_home)
		return;
	peali_cluster_copy(w, peali_cluster_home(w), peali_cluster_own(w));
	if (peal_is_leader(w))
		w->state->epoch.cluster_kept = 1;
}

#endif

/* Begins a launch or an epoch of a cluster. Collective. */
static PEAL_DEV PEAL_INLINE void peali_cluster_begin(struct peal_worker *w)
{
#if PEALI_CLUSTERS
	if (PEAL_UNLIKELY(w->params->cluster_workers))
		peali_cluster_enter(w);
#else
	(void)w;
#endif
}

/* Ends a launch or an epoch of a cluster. Collective. */
static PEAL_DEV PEAL_INLINE void peali_cluster_end(struct peal_worker *w)
{
#if PEALI_CLUSTERS
	if (PEAL_UNLIKELY(w->params->cluster_workers))
		peali_cluster_leave(w);
#else
	(void)w;
#endif
}

#endif
