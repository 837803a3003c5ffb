/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_DEVICE_CLUSTER_H
#define PEAL_DEVICE_CLUSTER_H

#include <peal/device/lanes.h>

/*
 * Workers of a cluster: blocks that one part of a GPU runs, and that reach each
 * other's shared memory (thread-block clusters and distributed shared memory,
 * compute capability 9.0). The slots of a link among them lie in the receiver's
 * part of it, nearer than the L2 cache; header, slab, credit and counts stay
 * where they are. The host says which: the ring's
 * `cluster_place`.
 *
 * That memory is there only while the kernel runs, is not zero at first, and
 * must not be touched once its block has ended. So
 *
 *	the receiver empties the slots before the sender hears of the ring,
 *	no worker of a cluster ends before all of them have come to their end,
 *	and at the end of an epoch each keeps its part in device memory, from
 *	where the next epoch has it back before anybody goes on.
 */

/* ---- one ring ------------------------------------------------------------ */

/* The slots that lie at a place of the calling worker's cluster. */
static PEAL_DEV PEAL_INLINE uint8_t *peali_cluster_slots(uint32_t place)
{
#if PEAL_HAVE_CLUSTERS && PEAL_ON_HOST
	return peal_host_cluster_memory(PEAL_CLUSTER_RANK(place)) +
	       PEAL_CLUSTER_OFFSET(place);
#elif PEAL_HAVE_CLUSTERS
	return peal_hw_cluster_memory(PEAL_CLUSTER_RANK(place)) +
	       PEAL_CLUSTER_OFFSET(place);
#else
	(void)place;
	return 0;
#endif
}

/* Whether an end can have that ring: 0, or PEAL_ENOTSUP if its slots lie where
 * this code cannot reach. */
static PEAL_DEV PEAL_UNUSED inline int
peali_cluster_check(const struct peal_worker *w,
		    const struct peal_link_view *view)
{
	const struct peal_ring *ring =
		(const struct peal_ring *)(uintptr_t)view->ring;

	if (!ring->cluster_place)
		return 0;
	if (!PEAL_HAVE_CLUSTERS || !w->params->cluster_workers ||
	    PEAL_CLUSTER_RANK(ring->cluster_place) >=
		    w->params->cluster_workers)
		return PEAL_ENOTSUP;
	return 0;
}

/* The receiver's: empties the slots of a ring, before its sender knows it. */
static PEAL_DEV PEAL_UNUSED PEAL_NOINLINE void
peali_cluster_clear(const struct peal_link_view *view)
{
	const struct peal_ring *ring =
		(const struct peal_ring *)(uintptr_t)view->ring;
	uint32_t policy = peali_policy(ring->policy), n, i;
	uint8_t *slots;

	if (!ring->cluster_place)
		return;
	slots = peali_cluster_slots(ring->cluster_place);
	n = (ring->slot_bytes << ring->capacity_log2) /
	    (policy == PEAL_POLICY_ATOM8 ? 8 : 16);
	for (i = 0; i < n; i++)
		peali_atom_write(policy, slots, i, 0, slots, 0);
}

/* The receiving end begins with a ring; where its slots are. */
static PEAL_DEV PEAL_UNUSED PEAL_NOINLINE void
peali_input_ring(struct peal_input *in, const struct peal_link_view *view)
{
	const struct peal_ring *ring =
		(const struct peal_ring *)(uintptr_t)view->ring;

	peal_link_consumer_init(&in->link, view);
	in->cluster_place = ring->cluster_place;
	if (!in->cluster_place)
		return;
	in->link.slots = peali_cluster_slots(in->cluster_place);
	peali_consumer_place(&in->link);
}

/* The same for the sending end. */
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

#if PEAL_HAVE_CLUSTERS

/* Collective: all lanes of all workers of the cluster meet. */
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

/* This worker's part of the memory, as 8-byte words. */
static PEAL_DEV PEAL_INLINE uint64_t *
peali_cluster_own(const struct peal_worker *w)
{
	uint32_t rank = w->index % w->params->cluster_workers;

	return (uint64_t *)(void *)peali_cluster_slots(
		PEAL_CLUSTER_PLACE(rank, 0));
}

/* Where that is kept from one epoch to the next. */
static PEAL_DEV PEAL_INLINE uint64_t *
peali_cluster_home(const struct peal_worker *w)
{
	return (uint64_t *)(uintptr_t)(w->params->cluster_home +
				       (uint64_t)w->index *
					       w->params->cluster_bytes);
}

/* Copies this worker's part; all lanes. */
static PEAL_DEV PEAL_UNUSED inline void
peali_cluster_copy(const struct peal_worker *w, uint64_t *to,
		   const uint64_t *from)
{
	uint32_t i;

	for (i = peal_lane(w); i < w->params->cluster_bytes / 8;
	     i += peal_lanes(w))
		to[i] = from[i];
}

/* Where the slots are in this epoch, for all ends; the leader. */
static PEAL_DEV PEAL_UNUSED inline void
peali_cluster_find(struct peal_worker *w)
{
	uint32_t i;

	for (i = 0; i < w->state->n_inputs; i++) {
		struct peal_input *in = &w->inputs[i];

		if (!in->cluster_place)
			continue;
		in->link.slots = peali_cluster_slots(in->cluster_place);
		peali_consumer_place(&in->link);
	}
	for (i = 0; i < w->state->n_outputs; i++) {
		struct peal_output *o = &w->outputs[i];

		if (o->used == PEAL_OUTPUT_FWD_LINK || !o->cluster_place)
			continue;
		o->link.slots = peali_cluster_slots(o->cluster_place);
		peali_producer_place(&o->link);
	}
}

/* Collective: the cluster's part in the begin of a launch or an epoch. */
PEALI_SLOW(void, peali_cluster_enter, struct peal_worker *w)
{
	if (w->state->cluster_kept) {
		peali_cluster_copy(w, peali_cluster_own(w),
				   peali_cluster_home(w));
		if (peal_is_leader(w))
			peali_cluster_find(w);
	}
	peali_cluster_meet(w);
}

/* Collective: its part in their end. All have come to it, so nobody writes to
 * another's part any more. */
PEALI_SLOW(void, peali_cluster_leave, struct peal_worker *w)
{
	peali_cluster_meet(w);
	if (!w->params->cluster_home)
		return;
	peali_cluster_copy(w, peali_cluster_home(w), peali_cluster_own(w));
	if (peal_is_leader(w))
		w->state->cluster_kept = 1;
}

#endif

/* Collective, at the begin of a launch or an epoch. */
static PEAL_DEV PEAL_INLINE void peali_cluster_begin(struct peal_worker *w)
{
#if PEAL_HAVE_CLUSTERS
	if (PEAL_UNLIKELY(w->params->cluster_workers))
		peali_cluster_enter(w);
#else
	(void)w;
#endif
}

/* Collective, at their end. */
static PEAL_DEV PEAL_INLINE void peali_cluster_end(struct peal_worker *w)
{
#if PEAL_HAVE_CLUSTERS
	if (PEAL_UNLIKELY(w->params->cluster_workers))
		peali_cluster_leave(w);
#else
	(void)w;
#endif
}

#endif
