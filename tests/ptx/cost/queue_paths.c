/* SPDX-License-Identifier: Apache-2.0 */
#include "cost.h"

#include <stdio.h>
#include <string.h>

#include <peal/device/link_consumer.h>
#include <peal/device/link_producer.h>
#include <peal/device/mailbox.h>
#include <peal/device/topic_subscriber.h>
#include <peal/device/work_consumer.h>

#include "queues/mailbox.h"
#include "queues/ring.h"
#include "queues/topic.h"
#include "queues/work.h"
#include "rings.h"

/*
 * Messages through queues, without a loop. A round puts ROUND messages, then
 * takes all of them. No kernel waits. ROUNDS rounds fill the queue several
 * times. The cost of the same launches without messages is subtracted.
 */

#define ROUND 512
#define ROUNDS 8
#define POLICY PEAL_POLICY_ATOM16
#define POLICIES (1u << POLICY)
#define MOST_BYTES 64
#define WARP 32

/* Addresses for the parameters of kernels. */
struct ends {
	void *queue, *putter, *taker;
};

/* A kind of queue. */
struct kind {
	const char *name; /* of the rows, and of the kernels */
	const char *prefix;
	/* Makes a queue for bursts of `batch` messages. */
	void (*open)(struct ends *q, uint32_t bytes, uint32_t batch);
};

static void *device_memory(uint64_t bytes)
{
	return cost_alloc(PTX_MEMORY_GLOBAL, bytes);
}

static void need(int result, const char *what)
{
	if (result)
		cost_die("%s: a wrong size (%d)", what, result);
}

/* ---- Peal's queues ------------------------------------------------------- */

static void link_open(struct ends *q, uint32_t bytes, uint32_t batch)
{
	struct peali_ring_spec spec = { .capacity = RING_SLOTS,
					.message_bytes = bytes,
					.policy = POLICY };
	struct peal_link_view view = { .message_bytes = bytes };

	(void)batch;
	need(peali_ring_spec_complete(&spec, POLICIES, POLICY, "link"), "link");
	q->queue = device_memory(peali_ring_bytes(&spec));
	q->putter = device_memory(sizeof(struct peal_link_producer));
	q->taker = device_memory(sizeof(struct peal_link_consumer));
	peali_ring_header(q->queue, &spec, 1);
	view.ring = (uintptr_t)q->queue;
	view.credit = (uintptr_t)device_memory(sizeof(struct peal_credit));
	view.counts = (uintptr_t)cost_alloc(PTX_MEMORY_HOST,
					    sizeof(struct peal_link_counts));
	view.stage = (uintptr_t)device_memory(peali_ring_stage_bytes(&spec));
	peal_link_producer_init(q->putter, &view);
	view.stage = (uintptr_t)device_memory(peali_ring_stage_bytes(&spec));
	peal_link_consumer_init(q->taker, &view);
}

static void mailbox_open(struct ends *q, uint32_t bytes, uint32_t batch)
{
	struct peali_mailbox_spec spec = { .slots = RING_SLOTS,
					   .message_bytes = bytes,
					   .n_workers = 1,
					   .tells = batch,
					   .policy = POLICY };

	need(peali_mailbox_spec_complete(&spec, POLICIES, POLICY, "mailbox"),
	     "mailbox");
	q->queue = device_memory(peali_mailbox_bytes(&spec));
	q->putter = device_memory(sizeof(struct peal_mailbox_lease));
	peali_mailbox_header(q->queue, &spec);
}

static void work_open(struct ends *q, uint32_t bytes, uint32_t batch)
{
	struct peali_work_spec spec = { .slots = RING_SLOTS,
					.message_bytes = bytes,
					.n_producers = 1,
					.bulk = batch,
					.policy = POLICY };

	need(peali_work_spec_complete(&spec, POLICIES, POLICY, "work queue"),
	     "work queue");
	q->queue = device_memory(peali_work_bytes(&spec));
	q->putter = device_memory(sizeof(struct peal_work_producer));
	q->taker = device_memory(sizeof(struct peal_work_consumer));
	peali_work_header(q->queue, &spec);
	peal_work_producer_init(q->queue, q->putter);
	peal_work_consumer_init(q->queue, q->taker,
				device_memory(spec.slot_bytes));
}

static void topic_open(struct ends *q, uint32_t bytes, uint32_t batch)
{
	struct peali_topic_spec spec = { .slots = RING_SLOTS,
					 .message_bytes = bytes,
					 .n_subscribers = 1,
					 .mode = PEAL_TOPIC_WAIT,
					 .policy = POLICY };

	(void)batch;
	need(peali_topic_spec_complete(&spec, POLICIES, POLICY, "topic"),
	     "topic");
	q->queue = device_memory(peali_topic_bytes(&spec));
	q->putter = device_memory(sizeof(struct peal_topic_publisher));
	q->taker = device_memory(sizeof(struct peal_topic_subscriber));
	peali_topic_header(q->queue, &spec);
	peal_topic_publisher_init(q->queue, q->putter);
	need(peal_topic_join(q->queue, q->taker, 0, 0,
			     device_memory(spec.slot_bytes)),
	     "subscriber");
}

static const struct kind kinds[] = {
	{ "link", "link", link_open },
	{ "mailbox", "mailbox", mailbox_open },
	{ "work queue", "work", work_open },
	{ "topic", "topic", topic_open },
};

/* ---- rings of others ----------------------------------------------------- */

static void ring_open(struct ends *q, uint32_t bytes, uint32_t batch)
{
	(void)bytes;
	(void)batch;
	q->queue = device_memory(sizeof(struct ring));
}

static const struct kind rings[] = {
	{ "ticket ring", "ticket", ring_open },
	{ "CAS ring", "cas", ring_open },
	{ "flag and fence ring", "flag", ring_open },
	{ "broker queue", "broker", ring_open },
};

/* The work queue by all lanes of a warp. */
static const struct kind lanes_kind = { "work queue", "lanes", work_open };

/* ---- rounds -------------------------------------------------------------- */

/* A side of a queue: its kernel, its row, its messages. */
struct side {
	struct ptx_module *module;
	char entry[64];
	struct cost_params params;
	struct cost_row row;
};

static void open_side(struct side *s, const struct kind *kind, const char *path)
{
	snprintf(s->entry, sizeof(s->entry), "%s_%s_%u%s", kind->prefix, path,
		 s->row.bytes, s->row.batch > 1 ? "_x32" : "");
	s->row.path = path;
	s->row.by = kind->name;
	s->params.items = device_memory(ROUND * MOST_BYTES);
	s->params.done = device_memory(sizeof(uint64_t));
}

/* Runs a side for a round, and counts its messages. */
static void run_side(struct side *s)
{
	struct cost_params none = s->params;
	struct ptx_counts counts, launch;

	none.n = 0;
	launch = cost_run(s->module, s->entry, s->row.lanes, 0, &none, NULL,
			  NULL);
	*s->params.done = 0;
	s->params.n = ROUND / s->row.lanes;
	counts = cost_run(s->module, s->entry, s->row.lanes, 0, &s->params,
			  NULL, NULL);
	if (*s->params.done != s->params.n)
		cost_die("%s: moved %llu of %llu messages", s->entry,
			 (unsigned long long)*s->params.done,
			 (unsigned long long)s->params.n);
	ptx_counts_add(&counts, &launch, -1);
	ptx_counts_add(&s->row.counts, &counts, 1);
	s->row.messages += ROUND;
}

static void run_round(struct side *put, struct side *take, uint64_t round)
{
	uint64_t bytes = ROUND * (uint64_t)put->row.bytes, i;
	uint64_t *items = put->params.items;

	for (i = 0; i < bytes / 8; i++)
		items[i] = (round << 32 | i) * 0x9e3779b97f4a7c15ULL;
	memset(take->params.items, 0, bytes);
	run_side(put);
	run_side(take);
	if (memcmp(items, take->params.items, bytes) != 0)
		cost_die("%s: wrong messages", take->entry);
}

/* Prints the rows of both sides. */
static void measure(struct ptx_module *module, const char *target,
		    const struct kind *kind, const struct cost_row *row)
{
	struct side put = { .module = module, .row = *row };
	struct side take = put;
	struct ends q = { NULL, NULL, NULL };
	uint64_t round;

	kind->open(&q, row->bytes, row->batch);
	put.params.queue = take.params.queue = q.queue;
	put.params.end = q.putter;
	take.params.end = q.taker;
	open_side(&put, kind, "put");
	open_side(&take, kind, "take");
	for (round = 0; round < ROUNDS; round++)
		run_round(&put, &take, round);
	cost_print(&put.row, target);
	cost_print(&take.row, target);
	cost_free();
}

void cost_queues(struct ptx_module *queues, const char *target)
{
	struct cost_row row = { .lanes = 1 };
	uint32_t i;

	for (i = 0; i < 4; i++)
		for (row.bytes = 16; row.bytes <= MOST_BYTES; row.bytes *= 4)
			for (row.batch = 1; row.batch <= 32; row.batch *= 32)
				measure(queues, target, &kinds[i], &row);
	row.lanes = WARP;
	row.batch = 1;
	for (row.bytes = 16; row.bytes <= MOST_BYTES; row.bytes *= 4)
		measure(queues, target, &lanes_kind, &row);
}

void cost_rings(struct ptx_module *module, const char *target)
{
	struct cost_row row = { .lanes = 1, .batch = 1 };
	uint32_t i;

	for (i = 0; i < 4; i++)
		for (row.bytes = 16; row.bytes <= MOST_BYTES; row.bytes *= 4)
			measure(module, target, &rings[i], &row);
	row.lanes = WARP; /* of a warp, a lane adds for all */
	for (row.bytes = 16; row.bytes <= MOST_BYTES; row.bytes *= 4)
		measure(module, target, &rings[3], &row);
}
