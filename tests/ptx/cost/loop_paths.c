/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "loop.h"
#include "scene.h"

/*
 * The resident loop of one worker. All messages lie in its input or mailbox
 * before the launch, so it never waits between them. The worker stops at its
 * first look at the control words after the last message. The cost of FEW
 * messages is subtracted from the cost of MANY.
 */

#define FEW 512 /* a multiple of the loop's periods: 32, 64, a quarter */
#define MANY 1024
#define SLOTS 2048
#define WORKERS 2 /* only worker 0 runs; worker 1 has a mailbox */
#define MOST_BYTES 64

/* A kernel, and the host's ends of its links. */
struct path_run {
	const struct cost_row *row;
	struct scene kernel;
	struct peal_link_producer input;
	struct peal_link_consumer output;
	uint64_t messages; /* that the worker gets */
	uint64_t looks; /* at the control words, until it stops; 0: no limit */
};

/* A path through the loop. */
struct path {
	const char *name, *by;
	enum cost_handler handler; /* of the program `cost` */
	enum ptx_memory memory; /* of the rings */
	uint16_t flags; /* of the messages */
	uint32_t batch; /* 1; or more: the program is `cost_batch` */
};

/* Returns the number of the path's handler in its program. */
static uint32_t handler_of(const struct path *path, uint32_t bytes)
{
	if (path->batch == 1)
		return path->handler;
	if (path->handler == COST_PASS)
		return bytes == 16 ? COST_MAIL_16 : COST_MAIL_64;
	return bytes == 16 ? COST_BATCH_16 : COST_BATCH_64;
}

/* Actor 0 of worker 0 has the handler. Actor COST_NEXT lives at worker 1. */
static void make_actors(struct peal_actor_entry *actors,
			const struct path *path, uint32_t bytes)
{
	const int passes = path->handler == COST_PASS;

	actors[0].location = PEAL_ENTRY(0, 0, handler_of(path, bytes));
	actors[0].ports = !passes;
	actors[0].emits = !passes;
	actors[0].tells = passes;
	actors[0].port_base = PEAL_PORTS_FIRST;
	actors[COST_NEXT].location = PEAL_ENTRY(0, 1, COST_ECHO);
}

/* Makes the kernel, and an input and a port with rings in `memory`. */
static void open_scene(struct path_run *s, const struct path *path)
{
	s->kernel.workers = WORKERS;
	s->kernel.lanes = s->row->lanes;
	s->kernel.slots = SLOTS;
	s->kernel.actors = 2;
	s->kernel.putters = 1;
	scene_make(&s->kernel);
	make_actors(s->kernel.actor, path, s->row->bytes);
	s->input = scene_input(&s->kernel, 0, path->memory);
	s->output = scene_output(&s->kernel, 0, path->memory);
}

/* ---- messages ------------------------------------------------------------ */

struct payload {
	uint64_t request; /* its number; not sent without a request */
	uint64_t word[MOST_BYTES / 8];
};

static struct payload payload_of(uint64_t number)
{
	struct payload p = { .request = 1ULL << 32 | number };
	uint64_t i;

	for (i = 0; i < MOST_BYTES / 8; i++)
		p.word[i] = (number << 8 | i) * 0x9e3779b97f4a7c15ULL;
	return p;
}

static void send_by_link(struct path_run *s, uint16_t flags)
{
	const struct peal_header header = { 0, 7, flags };
	uint64_t i;

	for (i = 0; i < s->messages; i++) {
		struct payload p = payload_of(i);

		scene_need(flags ? peal_link_push(&s->input, header, &p,
						  s->row->bytes + 8) :
				   peal_link_push(&s->input, header, p.word,
						  s->row->bytes),
			   "message");
	}
}

/* Returns 1 if a message of the output has these bytes. */
static int is_payload(const struct peal_message *m, uint64_t number,
		      uint32_t bytes)
{
	const struct payload p = payload_of(number);

	if (m->header.flags & PEAL_FLAG_REQUEST)
		return m->length == bytes + 8 &&
		       !memcmp(m->data, &p, bytes + 8);
	return m->length == bytes && !memcmp(m->data, p.word, bytes);
}

static void check_link(struct path_run *s)
{
	struct peal_message m;
	uint64_t i;

	for (i = 0; i < s->messages; i++) {
		if (peal_link_peek(&s->output, &m) ||
		    !is_payload(&m, i, s->row->bytes))
			cost_die("%s: wrong message %llu", s->row->path,
				 (unsigned long long)i);
		peal_link_release(&s->output, &m);
	}
}

/* The sender leases a slot for each message from the kernel's admission. */
static void send_by_mailbox(struct path_run *s)
{
	struct peal_admission *a =
		(struct peal_admission *)(uintptr_t)s->kernel.params->admission;
	struct peal_mailbox_lease lease = { .granted = s->messages };
	const struct peal_header header = { 0, 7, 0 };
	uint64_t i;

	a->leased += s->messages;
	for (i = 0; i < s->messages; i++) {
		struct payload p = payload_of(i);

		scene_need(peal_mailbox_put(scene_mailbox(&s->kernel, 0),
					    &lease, header, p.word,
					    s->row->bytes),
			   "message");
	}
}

static void check_mailbox(struct path_run *s)
{
	struct peal_slot_view view;
	struct peal_message m = { .header = { 0, 0, 0 } };
	uint64_t i;

	for (i = 0; i < s->messages; i++) {
		if (!peal_mailbox_peek(scene_mailbox(&s->kernel, 1), &view))
			cost_die("%s: no message %llu", s->row->path,
				 (unsigned long long)i);
		m.data = view.content + sizeof(struct peal_header);
		m.length = view.length - sizeof(struct peal_header);
		if (!is_payload(&m, i, s->row->bytes))
			cost_die("%s: wrong message %llu", s->row->path,
				 (unsigned long long)i);
		peal_mailbox_release(scene_mailbox(&s->kernel, 1));
	}
}

/* ---- runs ---------------------------------------------------------------- */

/* The worker reads its clock at each look at the control words. */
static void tick(void *context)
{
	struct path_run *s = context;

	if (s->looks ? !--s->looks : s->kernel.status->handled == s->messages)
		s->kernel.control->stop = PEAL_STOP_STOP;
}

static struct ptx_counts run_worker(struct path_run *s, struct ptx_module *loop)
{
	uint64_t params = (uintptr_t)s->kernel.params;
	struct ptx_counts counts = cost_run(
		loop,
		s->row->batch == 1 ? "peal_entry_cost" :
				     "peal_entry_cost_batch",
		s->row->lanes, s->kernel.params->hot_bytes, &params, tick, s);

	if (s->kernel.status->phase != PEAL_WORKER_STOPPED ||
	    s->kernel.status->failed)
		cost_die(
			"%s: the worker is in phase %llu, %llu handlers failed",
			s->row->path,
			(unsigned long long)s->kernel.status->phase,
			(unsigned long long)s->kernel.status->failed);
	return counts;
}

static const struct path paths[] = {
	{ "echo", "link", COST_ECHO, PTX_MEMORY_GLOBAL, 0, 1 },
	{ "echo", "link in host memory", COST_ECHO, PTX_MEMORY_HOST, 0, 1 },
	{ "echo", "mailbox", COST_PASS, PTX_MEMORY_GLOBAL, 0, 1 },
	{ "request and reply", "link", COST_RESPOND, PTX_MEMORY_GLOBAL,
	  PEAL_FLAG_REQUEST, 1 },
};

static const struct path batch_paths[] = {
	{ "echo by a batch handler", "link", COST_ECHO, PTX_MEMORY_GLOBAL, 0,
	  32 },
	{ "echo by a batch handler", "mailbox", COST_PASS, PTX_MEMORY_GLOBAL, 0,
	  32 },
};

static struct ptx_counts run_path(struct ptx_module *loop,
				  const struct path *path,
				  const struct cost_row *row, uint64_t messages)
{
	struct path_run s = { .row = row, .messages = messages };
	struct ptx_counts counts;

	s.kernel.message_bytes =
		row->bytes +
		(path->flags & PEAL_FLAG_REQUEST ? PEAL_REQUEST_BYTES : 0);
	open_scene(&s, path);
	if (path->handler == COST_PASS)
		send_by_mailbox(&s);
	else
		send_by_link(&s, path->flags);
	counts = run_worker(&s, loop);
	if (path->handler == COST_PASS)
		check_mailbox(&s);
	else
		check_link(&s);
	cost_free();
	return counts;
}

static void measure(struct ptx_module *loop, const char *target,
		    const struct path *path, struct cost_row *row)
{
	struct ptx_counts few;

	row->path = path->name;
	row->by = path->by;
	row->batch = path->batch;
	few = run_path(loop, path, row, FEW);
	row->counts = run_path(loop, path, row, MANY);
	row->messages = MANY - FEW;
	ptx_counts_add(&row->counts, &few, -1);
	cost_print(row, target);
}

/* ---- idle turns ---------------------------------------------------------- */

/* Returns the number of idle turns before look number `looks`. */
static uint64_t run_idle(struct ptx_module *loop, const struct cost_row *row,
			 uint64_t looks, struct ptx_counts *counts_out)
{
	struct path_run s = { .row = row,
			      .kernel = { .message_bytes = 16 },
			      .looks = looks };
	uint64_t turns;

	open_scene(&s, &paths[0]);
	*counts_out = run_worker(&s, loop);
	turns = scene_state(&s.kernel, 0)->count.idle_turns;
	cost_free();
	return turns;
}

static void measure_idle(struct ptx_module *loop, const char *target,
			 struct cost_row *row)
{
	struct ptx_counts few;
	uint64_t turns;

	row->path = "idle turn";
	row->by = "link";
	row->bytes = 0;
	row->batch = 1;
	turns = run_idle(loop, row, 16, &few);
	row->messages = run_idle(loop, row, 32, &row->counts) - turns;
	ptx_counts_add(&row->counts, &few, -1);
	cost_print(row, target);
}

void cost_loops(struct ptx_module *loop, const char *target)
{
	struct cost_row row = { .batch = 1 };
	uint32_t i;

	for (row.lanes = 1; row.lanes <= 32; row.lanes *= 32) {
		for (i = 0; i < sizeof(paths) / sizeof(*paths); i++)
			for (row.bytes = 16; row.bytes <= 64; row.bytes *= 4)
				measure(loop, target, &paths[i], &row);
		measure_idle(loop, target, &row);
	}
}

void cost_batches(struct ptx_module *batch, const char *target)
{
	struct cost_row row = { .lanes = 32 };
	uint32_t i;

	for (i = 0; i < sizeof(batch_paths) / sizeof(*batch_paths); i++)
		for (row.bytes = 16; row.bytes <= 64; row.bytes *= 4)
			measure(batch, target, &batch_paths[i], &row);
}
