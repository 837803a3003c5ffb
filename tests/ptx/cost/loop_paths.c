/* SPDX-License-Identifier: Apache-2.0 */
#include "cost.h"

#include <string.h>

#include <peal/abi/limit.h>
#include <peal/device/impl/worker/worker.h>
#include <peal/device/link_consumer.h>
#include <peal/device/link_producer.h>

#include "loop.h"
#include "queues/mailbox.h"
#include "queues/ring.h"

/*
 * The resident loop of one worker. All messages lie in its input or mailbox
 * before the launch, so it never waits between them. The worker stops at its
 * first look at the control words after the last message. The cost of FEW
 * messages is subtracted from the cost of MANY.
 */

#define POLICY PEAL_POLICY_ATOM16
#define POLICIES (1u << POLICY)
#define FEW 512 /* a multiple of the loop's periods: 32, 64, a quarter */
#define MANY 1024
#define SLOTS 2048
#define WORKERS 2 /* only worker 0 runs; worker 1 has a mailbox */
#define CONTROL_SLOTS 64
#define MOST_BYTES 64
#define KERNEL_ADDRESS (1ULL << 32)

/* A kernel of WORKERS workers, as peal_kernel_launch() makes it. */
struct scene {
	const struct cost_row *row;
	struct peal_kernel_params *params;
	struct peal_kernel_control *control;
	struct peal_worker_status *status;
	struct peal_link_producer control_link, input;
	struct peal_link_consumer output;
	uint32_t message_bytes; /* largest payload, with a request's number */
	uint64_t messages; /* that the worker gets */
	uint64_t looks; /* at the control words, until it stops; 0: no limit */
};

static void *device_memory(uint64_t bytes)
{
	return cost_alloc(PTX_MEMORY_GLOBAL, bytes);
}

static void *host_memory(uint64_t bytes)
{
	return cost_alloc(PTX_MEMORY_HOST, bytes);
}

static void need(int result, const char *what)
{
	if (result)
		cost_die("%s: error %d", what, result);
}

/* ---- links --------------------------------------------------------------- */

/* The views of both ends of a link. */
struct views {
	struct peal_link_view producer, consumer;
};

/* Makes a link with its ring in a memory. */
static struct views make_link(enum ptx_memory memory, uint32_t slots,
			      uint32_t bytes)
{
	struct peali_ring_spec spec = { .capacity = slots,
					.message_bytes = bytes,
					.policy = POLICY };
	struct peal_link_view view = { .message_bytes = bytes };
	struct views views;

	need(peali_ring_spec_complete(&spec, POLICIES, POLICY, "link"), "link");
	view.ring = (uintptr_t)cost_alloc(memory, peali_ring_bytes(&spec));
	view.credit = (uintptr_t)cost_alloc(memory, sizeof(struct peal_credit));
	view.counts = (uintptr_t)host_memory(sizeof(struct peal_link_counts));
	peali_ring_header((struct peal_ring *)(uintptr_t)view.ring, &spec, 1);
	views.producer = views.consumer = view;
	views.producer.stage =
		(uintptr_t)device_memory(peali_ring_stage_bytes(&spec));
	views.consumer.stage =
		(uintptr_t)device_memory(peali_ring_stage_bytes(&spec));
	return views;
}

/* Gives an input a mirror: a GPU copies a ring of the host to its own memory. */
static void add_mirror(struct peal_link_view *input, uint32_t lanes)
{
	const struct peal_ring *ring =
		(const struct peal_ring *)(uintptr_t)input->ring;
	const struct peali_ring_spec spec = { .capacity = SLOTS,
					      .slot_bytes = ring->slot_bytes,
					      .policy = POLICY };
	uint64_t bytes = peali_ring_mirror_bytes(&spec, lanes);

	if (!bytes)
		return;
	input->stage = (uintptr_t)device_memory(bytes);
	input->mirror = 1;
}

static void send_control(struct scene *s, uint16_t type, const void *data,
			 uint64_t bytes)
{
	const struct peal_header header = { 0, type, 0 };

	need(peal_link_push(&s->control_link, header, data, bytes),
	     "control message");
}

/* ---- the kernel ---------------------------------------------------------- */

static void make_mailboxes(struct peal_kernel_params *p, uint32_t bytes)
{
	struct peali_mailbox_spec box = { .slots = SLOTS,
					  .message_bytes = bytes,
					  .n_workers = 1,
					  .tells = 1,
					  .policy = POLICY };
	struct peali_admission_spec admission = {
		.slots = SLOTS, .n_workers = WORKERS, .tells = 1, .boxes = 1
	};
	uint32_t i;

	need(peali_mailbox_spec_complete(&box, POLICIES, POLICY, "mailbox"),
	     "mailbox");
	need(peali_admission_spec_complete(&admission, "mailbox"), "admission");
	p->mailbox_stride = peali_mailbox_bytes(&box);
	p->mailboxes = (uintptr_t)device_memory(WORKERS * p->mailbox_stride);
	p->admission = (uintptr_t)device_memory(sizeof(struct peal_admission));
	peali_admission_header((struct peal_admission *)(uintptr_t)p->admission,
			       &admission);
	for (i = 0; i < WORKERS; i++)
		peali_mailbox_header(
			(struct peal_mailbox
				 *)(uintptr_t)(p->mailboxes +
					       i * p->mailbox_stride),
			&box);
}

/* Actor 0 of worker 0 has the handler. Actor COST_NEXT lives at worker 1. */
static void make_actors(struct peal_kernel_params *p, enum cost_handler handler)
{
	struct peal_actor_entry *actors =
		device_memory(p->max_actors * sizeof(*actors));

	p->actors = (uintptr_t)actors;
	actors[0].location = PEAL_ENTRY(0, 0, handler);
	actors[0].ports = handler != COST_PASS;
	actors[0].emits = handler != COST_PASS;
	actors[0].tells = handler == COST_PASS;
	actors[0].port_base = PEAL_PORTS_FIRST;
	actors[COST_NEXT].location = PEAL_ENTRY(0, 1, COST_ECHO);
}

static void make_params(struct scene *s, enum cost_handler handler)
{
	struct peal_kernel_params *p = device_memory(sizeof(*p));

	s->params = p;
	s->control = host_memory(sizeof(*s->control));
	s->control->magic = PEAL_CONTROL_MAGIC;
	s->status = host_memory(WORKERS * sizeof(*s->status));
	p->magic = PEAL_CONTROL_MAGIC;
	p->control = (uintptr_t)s->control;
	p->status = (uintptr_t)s->status;
	p->n_workers = WORKERS;
	p->lanes = s->row->lanes;
	p->max_actors = 2;
	p->max_inputs = p->max_ports = 1;
	p->address = KERNEL_ADDRESS;
	p->failures = (uintptr_t)host_memory(4096);
	p->reject_tables = (uintptr_t)host_memory(PEAL_REJECT_TABLES_MAX *
						  sizeof(uint64_t));
	p->worker_stride = peal_worker_tables(p).total;
	p->workers = (uintptr_t)device_memory(WORKERS * p->worker_stride);
	make_mailboxes(p, s->message_bytes);
	make_actors(p, handler);
}

/* Makes the kernel, and an input and a port with rings in `memory`. */
static void open_scene(struct scene *s, enum cost_handler handler,
		       enum ptx_memory memory)
{
	struct peal_worker_state *state;
	struct views control, in, out;

	make_params(s, handler);
	state = (struct peal_worker_state *)(uintptr_t)s->params->workers;
	control = make_link(PTX_MEMORY_HOST, CONTROL_SLOTS, PEAL_CONTROL_BYTES);
	state->control.view = control.consumer;
	peal_link_producer_init(&s->control_link, &control.producer);
	in = make_link(memory, SLOTS, s->message_bytes);
	if (memory == PTX_MEMORY_HOST)
		add_mirror(&in.consumer, s->row->lanes);
	out = make_link(memory, SLOTS, s->message_bytes);
	peal_link_producer_init(&s->input, &in.producer);
	peal_link_consumer_init(&s->output, &out.consumer);
	out.producer.index = PEAL_PORTS_FIRST;
	send_control(s, PEAL_CONTROL_ATTACH_INPUT, &in.consumer,
		     sizeof(in.consumer));
	send_control(s, PEAL_CONTROL_ATTACH_PORT, &out.producer,
		     sizeof(out.producer));
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

static void send_by_link(struct scene *s, uint16_t flags)
{
	const struct peal_header header = { 0, 7, flags };
	uint64_t i;

	for (i = 0; i < s->messages; i++) {
		struct payload p = payload_of(i);

		need(flags ? peal_link_push(&s->input, header, &p,
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

static void check_link(struct scene *s)
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

static struct peal_mailbox *mailbox(struct scene *s, uint32_t worker)
{
	return (struct peal_mailbox
			*)(uintptr_t)(s->params->mailboxes +
				      worker * s->params->mailbox_stride);
}

/* The sender leases a slot for each message from the kernel's admission. */
static void send_by_mailbox(struct scene *s)
{
	struct peal_admission *a =
		(struct peal_admission *)(uintptr_t)s->params->admission;
	struct peal_mailbox_lease lease = { .granted = s->messages };
	const struct peal_header header = { 0, 7, 0 };
	uint64_t i;

	a->leased += s->messages;
	for (i = 0; i < s->messages; i++) {
		struct payload p = payload_of(i);

		need(peal_mailbox_put(mailbox(s, 0), &lease, header, p.word,
				      s->row->bytes),
		     "message");
	}
}

static void check_mailbox(struct scene *s)
{
	struct peal_slot_view view;
	struct peal_message m = { .header = { 0, 0, 0 } };
	uint64_t i;

	for (i = 0; i < s->messages; i++) {
		if (!peal_mailbox_peek(mailbox(s, 1), &view))
			cost_die("%s: no message %llu", s->row->path,
				 (unsigned long long)i);
		m.data = view.content + sizeof(struct peal_header);
		m.length = view.length - sizeof(struct peal_header);
		if (!is_payload(&m, i, s->row->bytes))
			cost_die("%s: wrong message %llu", s->row->path,
				 (unsigned long long)i);
		peal_mailbox_release(mailbox(s, 1));
	}
}

/* ---- runs ---------------------------------------------------------------- */

/* The worker reads its clock at each look at the control words. */
static void tick(void *context)
{
	struct scene *s = context;

	if (s->looks ? !--s->looks : s->status->handled == s->messages)
		s->control->stop = PEAL_STOP_STOP;
}

static struct ptx_counts run_worker(struct scene *s, struct ptx_module *loop)
{
	uint64_t params = (uintptr_t)s->params;
	struct ptx_counts counts = cost_run(loop, "peal_entry_cost",
					    s->row->lanes, &params, tick, s);

	if (s->status->phase != PEAL_WORKER_STOPPED || s->status->failed)
		cost_die(
			"%s: the worker is in phase %llu, %llu handlers failed",
			s->row->path, (unsigned long long)s->status->phase,
			(unsigned long long)s->status->failed);
	return counts;
}

/* A path through the loop. */
struct path {
	const char *name, *by;
	enum cost_handler handler;
	enum ptx_memory memory; /* of the rings */
	uint16_t flags; /* of the messages */
};

static const struct path paths[] = {
	{ "echo", "link", COST_ECHO, PTX_MEMORY_GLOBAL, 0 },
	{ "echo", "link in host memory", COST_ECHO, PTX_MEMORY_HOST, 0 },
	{ "echo", "mailbox", COST_PASS, PTX_MEMORY_GLOBAL, 0 },
	{ "request and reply", "link", COST_RESPOND, PTX_MEMORY_GLOBAL,
	  PEAL_FLAG_REQUEST },
};

static struct ptx_counts run_path(struct ptx_module *loop,
				  const struct path *path,
				  const struct cost_row *row, uint64_t messages)
{
	struct scene s = { .row = row, .messages = messages };
	struct ptx_counts counts;

	s.message_bytes =
		row->bytes +
		(path->flags & PEAL_FLAG_REQUEST ? PEAL_REQUEST_BYTES : 0);
	open_scene(&s, path->handler, path->memory);
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
	struct scene s = { .row = row, .message_bytes = 16, .looks = looks };
	uint64_t turns;

	open_scene(&s, COST_ECHO, PTX_MEMORY_GLOBAL);
	*counts_out = run_worker(&s, loop);
	turns = ((struct peal_worker_state *)(uintptr_t)s.params->workers)
			->count.idle_turns;
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
