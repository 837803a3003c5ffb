/* SPDX-License-Identifier: Apache-2.0 */
/* Our mailbox as a queue of the benchmark `queues`. */
#include "bench/kinds/kinds.h"

#include <stdlib.h>

#include <peal/device/mailbox.h>

#include "queues/mailbox.h"

#define LINE 64

/* The data of one producer, on lines of its own. */
struct teller {
	PEAL_ALIGNED(PEAL_SHARED_LINE) struct peal_mailbox_lease lease;
};

struct box {
	struct peal_mailbox *mailbox;
	struct teller tellers[PEALI_BENCH_QUEUE_ENDS];
};

static void *box_open(const struct peali_bench_queue_shape *shape)
{
	/* Slots of whole lines, so that no two producers write to one line. */
	const uint32_t lines = (shape->bytes + 16 + LINE - 1) / LINE;
	struct peali_mailbox_spec spec = {
		.slots = shape->slots,
		.message_bytes = lines * LINE - 16,
		.n_workers = shape->producers,
		.tells = shape->burst,
		.policy = PEAL_POLICY_SEQUENCE,
	};
	struct box *b = peali_bench_queue_memory(sizeof(*b));

	if (b && peali_mailbox_spec_complete(&spec, 1u << PEAL_POLICY_SEQUENCE,
					     PEAL_POLICY_SEQUENCE, "queues")) {
		free(b);
		return NULL;
	}
	if (!b)
		return NULL;
	b->mailbox = peali_bench_queue_memory(peali_mailbox_bytes(&spec));
	if (!b->mailbox) {
		free(b);
		return NULL;
	}
	peali_mailbox_header(b->mailbox, &spec);
	return b;
}

static void box_close(void *queue)
{
	struct box *b = queue;

	free(b->mailbox);
	free(b);
}

static PEAL_INLINE uint32_t box_put(void *queue,
				    struct peali_bench_queue_end *end,
				    uint32_t bytes, uint32_t burst)
{
	const struct peal_header header = { 0, PEALI_BENCH_DATA, 0 };
	struct box *b = queue;
	struct peal_mailbox_lease *lease = &b->tellers[end->index].lease;
	uint64_t *from;
	uint32_t n = peali_bench_queue_stage(end, bytes, burst, &from);

	if (burst > 1 ? peal_mailbox_put_bulk(b->mailbox, lease, header, from,
					      bytes, n) :
			!n || peal_mailbox_put(b->mailbox, lease, header, from,
					       bytes))
		return 0;
	return peali_bench_queue_unstage(end, n);
}

static PEAL_INLINE uint32_t box_get(void *queue,
				    struct peali_bench_queue_end *end,
				    uint32_t bytes, uint32_t burst)
{
	struct peal_mailbox *m = ((struct box *)queue)->mailbox;
	uint32_t i;

	for (i = 0; i < burst; i++) {
		struct peal_slot_view view;

		if (!peal_mailbox_peek(m, &view))
			break;
		if (PEAL_UNLIKELY(view.length !=
				  bytes + sizeof(struct peal_header)))
			peali_bench_queue_note_wrong(end);
		else
			peali_bench_queue_check(
				end, view.content + sizeof(struct peal_header),
				bytes);
		peal_mailbox_release(m);
	}
	return i;
}

PEALI_BENCH_QUEUE_LOOPS(box, box_put, box_get)

const struct peali_bench_queue_kind peali_bench_queue_mailbox = {
	.name = "mailbox",
	.open = box_open,
	.close = box_close,
	.send = box_send,
	.take = box_take,
	.trips = box_trips,
};
