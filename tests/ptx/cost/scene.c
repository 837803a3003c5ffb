/* SPDX-License-Identifier: Apache-2.0 */
#include "scene.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <peal/abi/limit.h>

#include "queues/mailbox.h"
#include "queues/ring.h"

#define POLICY PEAL_POLICY_ATOM16
#define POLICIES (1u << POLICY)
#define CONTROL_SLOTS 64

static void *device_memory(uint64_t bytes)
{
	return cost_alloc(PTX_MEMORY_GLOBAL, bytes);
}

static void *host_memory(uint64_t bytes)
{
	return cost_alloc(PTX_MEMORY_HOST, bytes);
}

void scene_need(int result, const char *what)
{
	if (result)
		cost_die("%s: error %d", what, result);
}

/* ---- modules ------------------------------------------------------------- */

struct ptx_module *cost_load(const char *path)
{
	struct ptx_error error = { 0, "" };
	struct ptx_module *m = NULL;
	char *text = NULL;
	size_t n = 0;
	FILE *file = fopen(path, "r");

	if (!file || getdelim(&text, &n, 0, file) < 0)
		cost_die("file '%s': cannot be read", path);
	fclose(file);
	m = ptx_load(text, strlen(text), path, &error);
	free(text);
	if (!m)
		cost_die("%s", error.text);
	return m;
}

/* ---- links --------------------------------------------------------------- */

struct scene_views scene_link(enum ptx_memory memory, uint32_t slots,
			      uint32_t bytes)
{
	struct peali_ring_spec spec = { .capacity = slots,
					.message_bytes = bytes,
					.policy = POLICY };
	struct peal_link_view view = { .message_bytes = bytes };
	struct scene_views views;

	scene_need(peali_ring_spec_complete(&spec, POLICIES, POLICY, "link"),
		   "link");
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

void scene_mirror(struct peal_link_view *input, uint32_t lanes)
{
	const struct peal_ring *ring =
		(const struct peal_ring *)(uintptr_t)input->ring;
	const struct peali_ring_spec spec = { .capacity =
						      1u << ring->capacity_log2,
					      .slot_bytes = ring->slot_bytes,
					      .policy = POLICY };
	uint64_t bytes = peali_ring_mirror_bytes(&spec, lanes);

	if (!bytes)
		return;
	input->stage = (uintptr_t)device_memory(bytes);
	input->mirror = 1;
}

void scene_control(struct scene *s, uint32_t worker, uint16_t type,
		   const void *data, uint64_t bytes)
{
	const struct peal_header header = { 0, type, 0 };

	scene_need(peal_link_push(&s->control_links[worker], header, data,
				  bytes),
		   "control message");
}

struct peal_link_producer scene_input(struct scene *s, uint32_t worker,
				      enum ptx_memory memory)
{
	struct scene_views in = scene_link(memory, s->slots, s->message_bytes);
	struct peal_link_producer host;

	if (memory == PTX_MEMORY_HOST)
		scene_mirror(&in.consumer, s->lanes);
	peal_link_producer_init(&host, &in.producer);
	scene_control(s, worker, PEAL_CONTROL_ATTACH_INPUT, &in.consumer,
		      sizeof(in.consumer));
	return host;
}

struct peal_link_consumer scene_output(struct scene *s, uint32_t worker,
				       enum ptx_memory memory)
{
	struct scene_views out = scene_link(memory, s->slots, s->message_bytes);
	struct peal_link_consumer host;

	peal_link_consumer_init(&host, &out.consumer);
	out.producer.index = PEAL_PORTS_FIRST;
	scene_control(s, worker, PEAL_CONTROL_ATTACH_PORT, &out.producer,
		      sizeof(out.producer));
	return host;
}

/* ---- the kernel ---------------------------------------------------------- */

struct peal_mailbox *scene_mailbox(const struct scene *s, uint32_t worker)
{
	return (struct peal_mailbox
			*)(uintptr_t)(s->params->mailboxes +
				      worker * s->params->mailbox_stride);
}

struct peal_worker_state *scene_state(const struct scene *s, uint32_t worker)
{
	return (struct peal_worker_state
			*)(uintptr_t)(s->params->workers +
				      worker * s->params->worker_stride);
}

static void make_mailboxes(struct scene *s)
{
	struct peal_kernel_params *p = s->params;
	struct peali_mailbox_spec box = { .slots = s->slots,
					  .message_bytes = s->message_bytes,
					  .n_workers = s->putters,
					  .tells = 1,
					  .policy = POLICY };
	struct peali_admission_spec admission = { .slots = s->slots,
						  .n_workers = s->workers,
						  .tells = 1,
						  .boxes = 1 };
	uint32_t i;

	scene_need(peali_mailbox_spec_complete(&box, POLICIES, POLICY,
					       "mailbox"),
		   "mailbox");
	scene_need(peali_admission_spec_complete(&admission, "mailbox"),
		   "admission");
	p->mailbox_stride = peali_mailbox_bytes(&box);
	p->mailboxes = (uintptr_t)device_memory(s->workers * p->mailbox_stride);
	p->admission = (uintptr_t)device_memory(sizeof(struct peal_admission));
	peali_admission_header((struct peal_admission *)(uintptr_t)p->admission,
			       &admission);
	for (i = 0; i < s->workers; i++)
		peali_mailbox_header(scene_mailbox(s, i), &box);
}

static void make_control_links(struct scene *s)
{
	struct scene_views control;
	uint32_t i;

	s->control_links = host_memory(s->workers * sizeof(*s->control_links));
	for (i = 0; i < s->workers; i++) {
		control = scene_link(PTX_MEMORY_HOST, CONTROL_SLOTS,
				     PEAL_CONTROL_BYTES);
		scene_state(s, i)->control.view = control.consumer;
		peal_link_producer_init(&s->control_links[i],
					&control.producer);
	}
}

void scene_make(struct scene *s)
{
	struct peal_kernel_params *p = device_memory(sizeof(*p));

	s->params = p;
	s->control = host_memory(sizeof(*s->control));
	s->control->magic = PEAL_CONTROL_MAGIC;
	s->status = host_memory(s->workers * sizeof(*s->status));
	p->magic = PEAL_CONTROL_MAGIC;
	p->control = (uintptr_t)s->control;
	p->status = (uintptr_t)s->status;
	p->n_workers = s->workers;
	p->lanes = s->lanes;
	p->max_actors = s->actors;
	p->max_inputs = p->max_ports = 1;
	p->max_barriers = s->barriers;
	p->address = SCENE_KERNEL_ADDRESS;
	p->failures = (uintptr_t)host_memory(4096);
	p->reject_tables = (uintptr_t)host_memory(PEAL_REJECT_TABLES_MAX *
						  sizeof(uint64_t));
	p->worker_stride = peal_worker_tables(p).total;
	p->hot_bytes = (uint32_t)peal_worker_tables(p).hot_bytes;
	p->workers = (uintptr_t)device_memory(s->workers * p->worker_stride);
	make_mailboxes(s);
	s->actor = device_memory(s->actors * sizeof(*s->actor));
	p->actors = (uintptr_t)s->actor;
	make_control_links(s);
}
