/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernels that send or take messages of 48 bytes in a loop, by one lane. Some
 * use our queues, from and to memory. The others use the rings that are
 * baselines of `peal bench`. These rings also make and check the payloads.
 * check_opcodes counts the instructions of all kernels.
 */
#include <peal/device/kernel.h>
#include <peal/device/work_consumer.h>
#include <peal/device/typed_queue.h>

#include "ringkernels/baseline_rings.h"

struct m48 {
	uint64_t word[6];
};
PEAL_TYPED_DEVICE_QUEUE(m48, struct m48, 48)

/* Handles n messages, and repeats each call that returns PEAL_EAGAIN. */
#define OURS(name, call, ...)                                                  \
	PEAL_KERNEL void ours_##name(struct m48 *items, uint64_t n,            \
				     __VA_ARGS__)                              \
	{                                                                      \
		for (uint64_t i = 0; i < n; i++)                               \
			while ((call) == PEAL_EAGAIN)                          \
				peal_poll_gap();                               \
	}
#define PLACE ((struct peal_header){ 1, 2, 0 })

OURS(link_send, m48_link_push(p, PLACE, items + i),
     struct peal_link_producer *p)
OURS(link_take, m48_link_pop(c, items + i, message),
     struct peal_link_consumer *c, struct peal_message *message)
OURS(mailbox_send, m48_mailbox_put(b, lease, PLACE, items + i),
     struct peal_mailbox *b, struct peal_mailbox_lease *lease)
OURS(mailbox_take, m48_mailbox_take(b, items + i, header),
     struct peal_mailbox *b, struct peal_header *header)
OURS(work_send, m48_work_push(q, p, PLACE, items + i), struct peal_work *q,
     struct peal_work_producer *p)
OURS(work_take, m48_work_pop(q, c, items + i, got), struct peal_work *q,
     struct peal_work_consumer *c, struct peal_work_received *got)

/* A side of a baseline ring between two devices, for messages of 48 bytes. */
#define BASELINE_KERNEL(name)                                                  \
	PEAL_KERNEL void baseline_##name(                                      \
		const struct peali_baseline_side *given, uint64_t launched_ns) \
	{                                                                      \
		struct peali_baseline_side own = *given, *side = &own;         \
		struct baseline_worker r = { side };                           \
                                                                               \
		r.in = (uint8_t *)(uintptr_t)side->in;                         \
		r.out = (uint8_t *)(uintptr_t)side->out;                       \
		r.own = (uint64_t *)(uintptr_t)side->work;                     \
		r.base = r.own + PEALI_BASELINE_BASE_AT / 8;                   \
		r.report = (struct peali_baseline_report                       \
				    *)(uintptr_t)(side->work +                 \
						  PEALI_BASELINE_REPORT_AT);   \
		own.bytes = 48;                                                \
		own.across = 1;                                                \
		r.share.words = 6;                                             \
		r.share.lanes = 1;                                             \
		r.launched_ns = launched_ns;                                   \
		name(&r);                                                      \
	}

BASELINE_KERNEL(ticket_send)
BASELINE_KERNEL(ticket_take)
BASELINE_KERNEL(acqrel_send)
BASELINE_KERNEL(acqrel_take)
BASELINE_KERNEL(cas_send)
BASELINE_KERNEL(cas_take)
BASELINE_KERNEL(lanes_send)
BASELINE_KERNEL(lanes_take)
BASELINE_KERNEL(ll_send)
BASELINE_KERNEL(ll_take)
BASELINE_KERNEL(semaphore_send)
BASELINE_KERNEL(semaphore_take)
