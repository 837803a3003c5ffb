/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_DEVICE_LINK_WRITE_H
#define PEAL_DEVICE_LINK_WRITE_H

#include <peal/device/impl/queue/link.h>
#include <peal/device/impl/queue/slot_write_direct.h>

/* How the sending end of a link writes its next slot. For the leader, or for all
 * lanes if a function has the parameter `lanes`. */

/* Returns the address of the content: in the slot, or in the stage. */
static PEAL_DEV PEAL_INLINE uint8_t *
peali_producer_content(const struct peal_link_producer *p)
{
	return PEAL_LIKELY(peali_policy(p->policy) == PEAL_POLICY_SEQUENCE) ?
		       p->slot + 8 :
		       p->stage;
}

/* Returns the address of a payload that fits into the slot. */
static PEAL_DEV PEAL_INLINE void *
peali_link_payload(const struct peal_link_producer *p)
{
	return peali_producer_content(p) + sizeof(struct peal_header);
}

/* Writes the content in the stage to the slot's atoms. */
static PEAL_DEV PEAL_UNUSED PEAL_HOST_NOINLINE void
peali_link_pack(const struct peal_link_producer *p, uint32_t kind,
		uint32_t length, uint32_t lane, uint32_t lanes)
{
	if (PEAL_UNLIKELY(p->lap % PEAL_SLOT_REFRESH_LAPS == 0))
		peal_slot_refresh(peali_policy(p->policy), p->slot,
				  p->slot_bytes, p->lap, length, lane, lanes);
	peal_slot_pack(peali_policy(p->policy), p->slot, p->lap, kind, p->stage,
		       length, lane, lanes);
}

/* Writes a content into the atoms of the next slot. All lanes. */
static PEAL_DEV PEAL_INLINE void
peali_link_write(const struct peal_link_producer *p, uint32_t kind,
		 struct peali_content c, uint32_t lane, uint32_t lanes)
{
	peali_slot_write_direct(peali_policy(p->policy), p->slot, p->slot_bytes,
				p->lap, kind, c, lane, lanes);
}

/* Makes the content in the stage or in the slot visible. */
static PEAL_DEV PEAL_INLINE void
peali_link_publish(const struct peal_link_producer *p, uint32_t kind,
		   uint32_t length, uint32_t lane, uint32_t lanes)
{
	if (PEAL_UNLIKELY(peali_policy(p->policy) != PEAL_POLICY_SEQUENCE))
		peali_link_pack(p, kind, length, lane, lanes);
	else if (lane == 0)
		peal_slot_publish(p->slot, p->lap, kind, length);
}

/* Advances to the next slot. */
static PEAL_DEV PEAL_INLINE void
peali_producer_step(struct peal_link_producer *p)
{
	p->slot += p->slot_bytes;
	if (PEAL_UNLIKELY(++p->tail == p->wrap))
		peali_producer_place(p);
}

/* Publishes the counts of accepted messages. */
static PEAL_DEV PEAL_INLINE void
peali_link_tell_sent(const struct peal_link_producer *p)
{
	peal_store_relaxed_sys(&p->counts->accepted_bytes, p->accepted_bytes);
	peal_store_relaxed_sys(&p->counts->accepted, peali_link_accepted(p));
}

/* Counts n messages as accepted, before they are published. So a thread that
 * sees a message as delivered also sees it as accepted. */
static PEAL_DEV PEAL_INLINE void peali_link_count(struct peal_link_producer *p,
						  uint64_t n, uint64_t bytes)
{
	p->accepted_bytes += bytes;
	peal_store_relaxed_sys(&p->counts->accepted_bytes, p->accepted_bytes);
	peal_store_relaxed_sys(&p->counts->accepted,
			       peali_link_accepted(p) + n);
}

/* Writes the descriptor of the reserved slab bytes behind the header. */
static PEAL_DEV PEAL_UNUSED PEAL_NOINLINE void
peali_link_describe(const struct peal_link_producer *p, uint64_t bytes)
{
	struct peal_slab_descriptor *d =
		(struct peal_slab_descriptor *)(void *)(peali_producer_content(
								p) +
							8);

	d->offset = p->reserved_at;
	d->length = (uint32_t)bytes;
	d->reserved = 0;
	if (peali_policy(p->policy) != PEAL_POLICY_SEQUENCE)
		peal_fence_release_sys(); /* the slab bytes, once */
}

#endif
