/* SPDX-License-Identifier: Apache-2.0 */
#include "plant.h"

#include <string.h>

#include <peal/device/impl/queue/barrier_signal.h>
#include <peal/device/mailbox.h>
#include <peal/device/topic_subscriber.h>
#include <peal/device/work_consumer.h>

#include "item.h"
#include "queues.h"
#include "queues/mailbox.h"
#include "queues/topic.h"
#include "queues/work.h"
#include "tests/ptx/cost/scene.h"

/* Scenes of queues: the kernels of queues.c, and the host at an end of a link. */

#define POLICY PEAL_POLICY_ATOM16
#define POLICIES (1u << POLICY)
#define SLOTS 4
#define LINK_SLOTS 8
#define MESSAGES 48
#define SHORT 44 /* bytes that fit a slot */
#define LONG 520 /* largest message of a link with a slab */

static void *device_memory(uint64_t bytes)
{
	return cost_alloc(PTX_MEMORY_GLOBAL, bytes);
}

static struct plant_grid grid_of(const char *entry,
				 const struct queue_role *role, int device)
{
	return (struct plant_grid){ .entry = entry,
				    .params = role,
				    .device = device };
}

/* ---- links --------------------------------------------------------------- */

/* A link, and the host's end of it. */
struct link_scene {
	struct plant_run *run;
	struct scene_views views;
	struct queue_role put, take;
	struct peal_link_producer producer;
	struct peal_link_consumer consumer;
	uint32_t sent, received;
	int ended;
};

static void open_link(struct link_scene *s, struct plant_run *run,
		      enum ptx_memory memory, uint32_t bytes)
{
	memset(s, 0, sizeof(*s));
	s->run = run;
	s->views = scene_link(memory, LINK_SLOTS, bytes);
	s->views.producer.stage = (uintptr_t)plant_scratch(4096);
	s->views.consumer.stage = (uintptr_t)plant_scratch(4096);
	s->put = (struct queue_role){ .n = MESSAGES, .id = 7 };
	s->take = s->put;
	s->put.end = device_memory(sizeof(s->producer));
	s->take.end = device_memory(sizeof(s->consumer));
	peal_link_producer_init(s->put.end, &s->views.producer);
	peal_link_consumer_init(s->take.end, &s->views.consumer);
}

static void link_between_devices(struct plant_run *run)
{
	struct link_scene s;
	struct plant_grid grids[2];

	open_link(&s, run, PTX_MEMORY_GLOBAL, LONG);
	grids[0] = grid_of("link_put", &s.put, 0);
	grids[1] = grid_of("link_take", &s.take, 1);
	plant_run_grids(run, grids, 2, NULL, NULL);
}

/* The host reuses the ring after both ends have left it. */
static int reuse_ring(void *context)
{
	struct link_scene *s = context;
	const struct peal_link_counts *counts =
		(const struct peal_link_counts *)(uintptr_t)
			s->views.consumer.counts;
	struct peal_credit *credit =
		(struct peal_credit *)(uintptr_t)s->views.producer.credit;

	if (!s->ended && peal_load_acquire_sys(&counts->seals) &&
	    peal_load_acquire_sys(&counts->switches)) {
		s->ended = 1;
		memset(credit, 0x77, sizeof(*credit));
	}
	return 1;
}

static void link_of_pairs(struct plant_run *run)
{
	struct link_scene s;
	struct plant_grid grids[2];
	const struct peal_credit *credit;

	open_link(&s, run, PTX_MEMORY_GLOBAL, 16);
	grids[0] = grid_of("link_put_pairs", &s.put, 0);
	grids[1] = grid_of("link_take", &s.take, 1);
	plant_run_grids(run, grids, 2, reuse_ring, &s);
	credit = (const struct peal_credit *)(uintptr_t)s.views.producer.credit;
	if (s.ended && credit->slots != 0x7777777777777777ULL)
		plant_found(
			run, "content",
			"the consumer writes credit to a ring that it left");
}

static int host_puts(void *context)
{
	struct link_scene *s = context;
	struct item item;
	uint32_t bytes = item_bytes(7, s->sent, QUEUE_LONG);

	if (s->sent == MESSAGES) {
		s->ended |= !peal_link_push_mark(&s->producer, PEAL_KIND_END);
		return 1;
	}
	item_fill(item.word, 7, s->sent, bytes);
	if (!peal_link_push(&s->producer, (struct peal_header){ 1, 2, 0 },
			    item.word, bytes))
		s->sent++;
	return 1;
}

static void link_from_host(struct plant_run *run)
{
	struct link_scene s;
	struct plant_grid grid;

	open_link(&s, run, PTX_MEMORY_HOST, LONG);
	peal_link_producer_init(&s.producer, &s.views.producer);
	grid = grid_of("link_take", &s.take, 0);
	plant_run_grids(run, &grid, 1, host_puts, &s);
}

static int host_takes(void *context)
{
	struct link_scene *s = context;
	struct peal_message m;

	if (peal_link_peek(&s->consumer, &m)) {
		peal_link_flush_credit(&s->consumer);
		return 1;
	}
	if (m.kind == PEAL_KIND_END) {
		s->ended = 1;
		peal_link_release_mark(&s->consumer, m.kind);
		return 1;
	}
	if (!item_is(m.data, m.length, 7, s->received))
		plant_found(s->run, "content",
			    "the host takes a wrong message");
	s->received++;
	peal_link_release(&s->consumer, &m);
	return !s->run->found;
}

static void link_to_host(struct plant_run *run)
{
	struct link_scene s;
	struct plant_grid grid;
	int tries;

	open_link(&s, run, PTX_MEMORY_HOST, LONG);
	peal_link_consumer_init(&s.consumer, &s.views.consumer);
	grid = grid_of("link_put", &s.put, 0);
	plant_run_grids(run, &grid, 1, host_takes, &s);
	for (tries = 0; !run->found && !s.ended && tries < 100; tries++)
		host_takes(&s);
	if (s.received != MESSAGES)
		plant_found(run, "content", "the host gets %u of %u messages",
			    s.received, MESSAGES);
}

/* ---- mailbox ------------------------------------------------------------- */

static void mailbox(struct plant_run *run)
{
	struct peali_mailbox_spec spec = { .slots = 16,
					   .message_bytes = SHORT,
					   .n_workers = 3,
					   .tells = 2,
					   .policy = POLICY };
	struct queue_role roles[4];
	struct plant_grid grids[4];
	struct peal_mailbox *box;
	uint32_t i;

	scene_need(peali_mailbox_spec_complete(&spec, POLICIES, POLICY,
					       "mailbox"),
		   "mailbox");
	box = device_memory(peali_mailbox_bytes(&spec));
	peali_mailbox_header(box, &spec);
	for (i = 0; i < 4; i++) {
		roles[i] = (struct queue_role){ .queue = box,
						.n = MESSAGES / 2,
						.id = i < 3 ? i : 3 };
		roles[i].end = device_memory(sizeof(struct peal_mailbox_lease));
		grids[i] = grid_of(i < 3 ? "mailbox_put" : "mailbox_take",
				   &roles[i], 0);
	}
	plant_run_grids(run, grids, 4, NULL, NULL);
}

/* ---- work queue ---------------------------------------------------------- */

/* Two producers, two consumers; with `death` also a producer that dies, and a
 * kernel that gives up its ticket. */
static void run_work(struct plant_run *run, int death)
{
	static const char *const entries[] = { "work_put",  "work_put",
					       "work_take", "work_take",
					       "work_die",  "work_recover" };
	struct peali_work_spec spec = { .slots = 8,
					.message_bytes = SHORT,
					.n_producers = 3,
					.policy = POLICY };
	uint64_t *words = device_memory((2 + 2 * MESSAGES) * sizeof(*words));
	struct queue_role roles[6];
	struct plant_grid grids[6];
	struct peal_work *q;
	uint32_t i;

	scene_need(peali_work_spec_complete(&spec, POLICIES, POLICY, "queue"),
		   "work queue");
	q = device_memory(peali_work_bytes(&spec));
	peali_work_header(q, &spec);
	for (i = 0; i < 6; i++) {
		roles[i] = (struct queue_role){ .queue = q,
						.n = MESSAGES / 2,
						.id = i < 2 ? i : 2,
						.words = words };
		roles[i].end = device_memory(sizeof(struct peal_work_consumer));
		if (i == 2 || i == 3)
			peal_work_consumer_init(q, roles[i].end,
						plant_scratch(4096));
		else
			peal_work_producer_init(q, roles[i].end);
		grids[i] = grid_of(entries[i], &roles[i], 0);
	}
	plant_run_grids(run, grids, death ? 6 : 4, NULL, NULL);
}

static void work_queue(struct plant_run *run)
{
	run_work(run, 0);
}

static void work_death(struct plant_run *run)
{
	run_work(run, 1);
}

/* ---- topic --------------------------------------------------------------- */

static void run_topic(struct plant_run *run, uint32_t mode)
{
	struct peali_topic_spec spec = { .slots = SLOTS,
					 .message_bytes = SHORT,
					 .n_subscribers = 2,
					 .mode = mode,
					 .policy = POLICY };
	struct queue_role roles[3];
	struct plant_grid grids[3];
	struct peal_topic *t;
	uint32_t i;

	scene_need(peali_topic_spec_complete(&spec, POLICIES, POLICY, "topic"),
		   "topic");
	t = device_memory(peali_topic_bytes(&spec));
	peali_topic_header(t, &spec);
	for (i = 0; i < 3; i++) {
		roles[i] = (struct queue_role){ .queue = t,
						.n = MESSAGES,
						.id = i };
		roles[i].end =
			device_memory(sizeof(struct peal_topic_subscriber));
		roles[i].words = plant_scratch(4096);
		grids[i] = grid_of(i < 2 ? "topic_take" : "topic_put",
				   &roles[i], 0);
	}
	plant_run_grids(run, grids, 3, NULL, NULL);
}

static void topic_wait(struct plant_run *run)
{
	run_topic(run, PEAL_TOPIC_WAIT);
}

static void topic_overwrite(struct plant_run *run)
{
	run_topic(run, PEAL_TOPIC_OVERWRITE);
}

/* ---- barrier, cluster ---------------------------------------------------- */

#define MEMBERS 3

/* Two participants are blocks of device 0, the third is one of device 1. */
static void barrier(struct plant_run *run)
{
	uint64_t *words = device_memory(2 * QUEUE_ROLES * sizeof(*words));
	uint64_t *stop = cost_alloc(PTX_MEMORY_HOST, sizeof(*stop));
	uint64_t *arrays = device_memory(MEMBERS * sizeof(*arrays));
	struct queue_role roles[MEMBERS];
	struct plant_grid grids[MEMBERS];
	uint32_t i;

	for (i = 0; i < MEMBERS; i++) {
		struct peal_barrier_view *view = device_memory(sizeof(*view));

		arrays[i] = (uintptr_t)device_memory(
			MEMBERS * sizeof(struct peal_barrier_word));
		view->arrays = (uintptr_t)arrays;
		view->abort = (uintptr_t)stop;
		view->state = (uintptr_t)device_memory(
			sizeof(struct peal_barrier_state));
		view->participants = MEMBERS;
		view->self = i;
		roles[i] = (struct queue_role){
			.end = view, .n = 24, .id = i, .words = words
		};
		grids[i] = grid_of("barrier_meet", &roles[i], i == 2);
	}
	plant_run_grids(run, grids, MEMBERS, NULL, NULL);
}

static void cluster(struct plant_run *run)
{
	struct queue_role role = { .n = 16 };
	struct plant_grid grid = grid_of("cluster_swap", &role, 0);

	grid.blocks = grid.cluster = 2;
	grid.lanes = 4;
	grid.shared_bytes = 64;
	plant_run_grids(run, &grid, 1, NULL, NULL);
}

const struct plant_scene plant_queue_scenes[] = {
	{ "link between devices", "queues", link_between_devices },
	{ "link of pairs", "queues", link_of_pairs },
	{ "link from host", "queues", link_from_host },
	{ "link to host", "queues", link_to_host },
	{ "mailbox", "queues", mailbox },
	{ "work queue", "queues", work_queue },
	{ "death in work queue", "queues", work_death },
	{ "topic that waits", "queues", topic_wait },
	{ "topic that overwrites", "queues", topic_overwrite },
	{ "barrier", "queues", barrier },
	{ "cluster", "queues", cluster },
};
const uint32_t plant_n_queue_scenes =
	sizeof(plant_queue_scenes) / sizeof(*plant_queue_scenes);
