/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sending and taking messages of 48 bytes, by one lane, in a loop: by our queues,
 * from and to memory, and by the rings that `peal bench` compares them with, which
 * make and check what is in them; one kernel each. check_opcodes counts their
 * instructions.
 */
#include <peal/device/kernel.h>
#include <peal/device/take_work.h>
#include <peal/device/typed.h>

#include "ringkernels/rivals_rings.h"

struct m48 {
	uint64_t word[6];
};
PEAL_QUEUE_OF(m48, struct m48, 48)

PEAL_KERNEL void ours_link_send(struct peal_link_producer *p,
				const struct m48 *items, uint64_t n)
{
	const struct peal_header header = { 1, 2, 0 };

	for (uint64_t i = 0; i < n; i++)
		while (m48_link_push(p, header, items + i) == PEAL_EAGAIN)
			peal_poll_gap();
}

PEAL_KERNEL void ours_link_take(struct peal_link_consumer *c, struct m48 *items,
				struct peal_message *message, uint64_t n)
{
	for (uint64_t i = 0; i < n; i++)
		while (m48_link_pop(c, items + i, message) == PEAL_EAGAIN)
			peal_poll_gap();
}

PEAL_KERNEL void ours_mailbox_send(struct peal_mailbox *b,
				   struct peal_mailbox_lease *lease,
				   const struct m48 *items, uint64_t n)
{
	const struct peal_header header = { 1, 2, 0 };

	for (uint64_t i = 0; i < n; i++)
		while (m48_mailbox_put(b, lease, header, items + i) ==
		       PEAL_EAGAIN)
			peal_poll_gap();
}

PEAL_KERNEL void ours_mailbox_take(struct peal_mailbox *b, struct m48 *items,
				   struct peal_header *header, uint64_t n)
{
	for (uint64_t i = 0; i < n; i++)
		while (m48_mailbox_take(b, items + i, header) == PEAL_EAGAIN)
			peal_poll_gap();
}

PEAL_KERNEL void ours_work_send(struct peal_work *q,
				struct peal_work_producer *p,
				const struct m48 *items, uint64_t n)
{
	const struct peal_header header = { 1, 2, 0 };

	for (uint64_t i = 0; i < n; i++)
		while (m48_work_push(q, p, header, items + i) == PEAL_EAGAIN)
			peal_poll_gap();
}

PEAL_KERNEL void ours_work_take(struct peal_work *q,
				struct peal_work_consumer *c, struct m48 *items,
				struct peal_work_got *got, uint64_t n)
{
	for (uint64_t i = 0; i < n; i++)
		while (m48_work_pop(q, c, items + i, got) == PEAL_EAGAIN)
			peal_poll_gap();
}

/* A side of a rival between two devices whose messages have 48 bytes. */
#define RIVAL(name)                                                            \
	PEAL_KERNEL void rival_##name(const struct peali_rival_side *given,    \
				      uint64_t launched_ns)                    \
	{                                                                      \
		struct peali_rival_side own = *given, *side = &own;            \
		struct rival r = { side };                                     \
                                                                               \
		r.in = (uint8_t *)(uintptr_t)side->in;                         \
		r.out = (uint8_t *)(uintptr_t)side->out;                       \
		r.own = (uint64_t *)(uintptr_t)side->work;                     \
		r.base = r.own + PEALI_RIVAL_BASE_AT / 8;                      \
		r.report = (struct peali_rival_report                          \
				    *)(uintptr_t)(side->work +                 \
						  PEALI_RIVAL_REPORT_AT);      \
		own.bytes = 48;                                                \
		own.across = 1;                                                \
		r.share.words = 6;                                             \
		r.share.lanes = 1;                                             \
		r.launched_ns = launched_ns;                                   \
		name(&r);                                                      \
	}

RIVAL(ticket_send)
RIVAL(ticket_take)
RIVAL(acqrel_send)
RIVAL(acqrel_take)
RIVAL(cas_send)
RIVAL(cas_take)
RIVAL(ll_send)
RIVAL(ll_take)
RIVAL(semaphore_send)
RIVAL(semaphore_take)
