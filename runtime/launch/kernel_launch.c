/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels: computes their memory layout, and launches them. */
#include "runtime/launch/kernel_launch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <peal/abi/monitor.h>
#include <peal/abi/supervisor.h>
#include <peal/device/impl/worker/worker.h>
#include <peal/device/link_producer.h>
#include "queues/mailbox.h"
#include "queues/ring.h"
#include "runtime/actor/forwarding.h"
#include "runtime/actor/actor_mailbox.h"
#include "runtime/actor/monitor.h"
#include "runtime/actor/pool.h"
#include "runtime/actor/slots.h"
#include "runtime/actor/supervisor.h"
#include "runtime/base/error.h"
#include "runtime/base/log.h"
#include "runtime/base/math.h"
#include "runtime/base/refusal.h"
#include "runtime/base/text.h"
#include "runtime/base/wait.h"
#include "runtime/device/backend.h"
#include "runtime/device/devices.h"
#include "runtime/device/memory_block.h"
#include "runtime/device/program.h"
#include "runtime/device/range_alloc.h"
#include "runtime/kernel/address.h"
#include "runtime/kernel/clock.h"
#include "runtime/kernel/kernel_control.h"
#include "runtime/kernel/counters.h"
#include "runtime/kernel/device_spawned.h"
#include "runtime/kernel/kernel.h"
#include "runtime/kernel/name_table.h"
#include "runtime/kernel/features.h"
#include "runtime/kernel/options.h"
#include "runtime/kernel/record.h"
#include "runtime/kernel/timer.h"
#include "runtime/launch/failure_log.h"
#include "runtime/launch/kernel_fit.h"
#include "runtime/launch/watchdog.h"
#include "runtime/link/link.h"
#include "runtime/link/reject_table.h"
#include "runtime/link/topic.h"
#include "runtime/runtime.h"

#define CALL "peal_kernel_launch"
#define CONTROL_SLOTS 16

/* The sizes of a kernel's mailboxes. */
struct mail_plan {
	struct peali_mailbox_spec box; /* of each mailbox */
	struct peali_admission_spec admission; /* one for all mailboxes */
};

/* Offsets in the two memory blocks of a kernel, in bytes. */
struct kernel_layout {
	/* k->shared: host memory */
	uint64_t control, status, bells, rings, ring_stride, credits, counts;
	uint64_t timers, asks; /* counters of timers and asks */
	uint64_t downs; /* down messages for endpoints */
	uint64_t spawn_slots; /* PEAL_ACTOR_SLOT words: actor slots for
			       * handlers */
	uint64_t reject_tables; /* addresses of the reject tables */
	uint64_t failures; /* failure logs of the workers */
	uint64_t to_all; /* payload of a message to all actors */
	uint64_t stages; /* of the host's ends of the control rings */
	uint64_t shared_bytes;
	/* k->own: device memory, except for `report` in k->shared */
	uint64_t params, workers, worker_stride, actors, admission, mailboxes;
	uint64_t mailbox_stride, worker_stages, cluster_home, arena, own_bytes;
	uint64_t supervisors, supervision, report, monitors, handlers,
		slot_states, limits, arrivals;
	/* the control rings */
	struct peali_ring_spec spec;
	uint64_t stage_bytes;
};

/* ---- memory -------------------------------------------------------------- */

/* Plans the control rings, with a policy that device and host support. */
static int plan_control(const struct peal_kernel *k, struct kernel_layout *at)
{
	const struct peali_devices *devices = &k->rt->devices;
	struct peali_backend *b = devices->device[k->device].backend;
	int result;

	memset(&at->spec, 0, sizeof(at->spec));
	at->spec.capacity = CONTROL_SLOTS;
	at->spec.message_bytes = PEAL_CONTROL_BYTES;
	result = peali_ring_spec_complete(
		&at->spec,
		peali_devices_policies(devices, k->device) &
			peali_devices_policies(devices, PEALI_HOST),
		(uint32_t)b->ops->default_policy(b), CALL);
	at->stage_bytes = peali_whole_lines(peali_ring_stage_bytes(&at->spec));
	return result;
}

/* Lays out the memory that the host and the kernel share. */
static void lay_out_shared(struct kernel_layout *at,
			   const struct peal_kernel_params *p,
			   uint32_t mailbox_message_bytes)
{
	uint64_t n = p->n_workers;

	at->control = 0;
	at->status = at->control +
		     peali_whole_lines(sizeof(struct peal_kernel_control));
	at->bells = at->status +
		    peali_whole_lines(n * sizeof(struct peal_worker_status));
	at->rings = at->bells + peali_whole_lines(n * sizeof(struct peal_bell));
	at->ring_stride = peali_whole_lines(peali_ring_bytes(&at->spec));
	at->credits = at->rings + n * at->ring_stride;
	at->counts = at->credits + n * sizeof(struct peal_credit);
	at->stages = at->counts + n * sizeof(struct peal_link_counts);
	at->report = peali_whole_lines(at->stages + n * at->stage_bytes);
	at->timers = at->report +
		     peali_whole_lines(sizeof(struct peal_supervisor_report));
	at->shared_bytes = at->timers;
	if (p->max_timers)
		at->shared_bytes += n * sizeof(struct peal_timer_status);
	at->asks = at->shared_bytes;
	if (p->max_asks)
		at->shared_bytes += n * sizeof(struct peal_ask_status);
	at->downs = at->shared_bytes;
	at->shared_bytes += p->max_monitors * sizeof(struct peal_down_slot);
	at->spawn_slots = at->shared_bytes;
	at->shared_bytes += peali_spawned_words(p);
	at->reject_tables = at->shared_bytes;
	at->shared_bytes += PEAL_REJECT_TABLES_MAX * sizeof(uint64_t);
	at->failures = at->shared_bytes;
	at->shared_bytes += n * sizeof(struct peal_failure_log);
	at->to_all = at->shared_bytes;
	at->shared_bytes += peali_whole_lines(mailbox_message_bytes);
}

/* Returns 1 if actors can migrate between the workers of the kernel. */
static int has_arrivals(const struct peal_kernel_params *p)
{
	return p->mailbox_stride && p->n_workers > 1;
}

/* Lays out the memory of the kernel. */
static void lay_out_own(struct kernel_layout *at,
			const struct peal_kernel_params *p,
			uint64_t arena_bytes)
{
	uint64_t n = p->n_workers;

	at->params = 0;
	at->workers = peali_whole_lines(sizeof(struct peal_kernel_params));
	at->worker_stride = peal_worker_tables(p).total;
	at->actors = at->workers + n * at->worker_stride;
	at->admission =
		at->actors + peali_whole_lines(p->max_actors *
					       sizeof(struct peal_actor_entry));
	at->mailboxes = at->admission;
	if (p->mailbox_stride)
		at->mailboxes += sizeof(struct peal_admission);
	at->mailbox_stride = p->mailbox_stride;
	at->worker_stages =
		at->mailboxes + (n + p->priority_boxes) * at->mailbox_stride;
	at->supervisors =
		peali_whole_lines(at->worker_stages + n * at->stage_bytes);
	at->supervision =
		at->supervisors +
		p->max_supervisors * sizeof(struct peal_supervisor_record);
	at->monitors = at->supervision;
	if (p->max_supervisors)
		at->monitors += peali_whole_lines(
			p->max_actors * sizeof(struct peal_supervision));
	at->handlers = at->monitors;
	if (p->max_monitors)
		at->handlers += peali_whole_lines(
			sizeof(struct peal_monitors) +
			p->max_monitors * sizeof(struct peal_monitor_record));
	at->limits = at->handlers +
		     peali_whole_lines(p->n_handlers *
				       sizeof(struct peal_handler_entry));
	at->arrivals = at->limits +
		       peali_whole_lines(p->max_mailbox_limits *
					 sizeof(struct peal_limit_record));
	at->cluster_home = at->arrivals;
	if (has_arrivals(p))
		at->cluster_home +=
			peali_whole_lines(p->max_actors * sizeof(uint64_t));
	at->arena = at->cluster_home;
	if (p->epoch_ns)
		at->arena += n * p->cluster_bytes;
	at->slot_states = at->arena + peali_whole_lines(arena_bytes);
	at->own_bytes =
		at->slot_states + peali_whole_lines(peali_spawned_states(p));
}

/* Makes a control ring: the worker's view of it, and the host's producer. */
static void make_control(struct peal_kernel *k, const struct kernel_layout *at,
			 uint32_t worker, struct peal_link_view *worker_view)
{
	uint64_t host = peali_block_view(k->rt, PEALI_HOST, &k->shared);
	uint64_t device = peali_block_view(k->rt, k->device, &k->shared);
	uint64_t ring = at->rings + worker * at->ring_stride;
	struct peal_link_view view;

	peali_ring_header((struct peal_ring *)(uintptr_t)(host + ring),
			  &at->spec, 0);
	memset(&view, 0, sizeof(view));
	view.message_bytes = PEAL_CONTROL_BYTES;
	view.ring = device + ring;
	view.credit =
		device + at->credits + worker * sizeof(struct peal_credit);
	view.counts =
		device + at->counts + worker * sizeof(struct peal_link_counts);
	if (at->stage_bytes)
		view.stage = peali_block_view(k->rt, k->device, &k->own) +
			     at->worker_stages + worker * at->stage_bytes;
	*worker_view = view;
	if (at->stage_bytes)
		view.stage = host + at->stages + worker * at->stage_bytes;
	view.ring += host - device;
	view.credit += host - device;
	view.counts += host - device;
	view.bell = peali_kernel_bell(k, worker);
	peal_link_producer_init(&k->workers[worker].control, &view);
}

static void make_mailboxes(struct peal_kernel *k,
			   const struct kernel_layout *at, uint8_t *image,
			   const struct mail_plan *mail)
{
	uint32_t i;

	peali_admission_header(
		(struct peal_admission *)(void *)(image + at->admission),
		&mail->admission);
	for (i = 0; i < k->params.n_workers + k->params.priority_boxes; i++)
		peali_mailbox_header(
			(struct peal_mailbox *)(void *)(image + at->mailboxes +
							i * at->mailbox_stride),
			&mail->box);
}

/* Builds the image of everything before the arena and writes it. */
static int write_image(struct peal_kernel *k, const struct kernel_layout *at,
		       const struct mail_plan *mail)
{
	uint8_t *image = calloc(1, at->arena);
	struct peal_actor_entry *actors;
	uint32_t i;
	int result;

	if (!image)
		return peali_fail(PEAL_ENOMEM, CALL, "no memory for an image");
	memcpy(image, &k->params, sizeof(k->params));
	for (i = 0; i < k->params.n_workers; i++) {
		struct peal_worker_state *state =
			(struct peal_worker_state
				 *)(void *)(image + at->workers +
					    i * at->worker_stride);

		make_control(k, at, i, &state->control.view);
	}
	if (mail)
		make_mailboxes(k, at, image, mail);
	actors = (struct peal_actor_entry *)(void *)(image + at->actors);
	if (k->params.max_monitors)
		((struct peal_monitors *)(void *)(image + at->monitors))->slots =
			peali_block_view(k->rt, k->device, &k->shared) +
			at->downs;
	peali_spawned_handlers(
		k, (struct peal_handler_entry *)(void *)(image + at->handlers));
	for (i = 0; i < k->params.max_actors; i++)
		actors[i].location = PEAL_ENTRY(0, 0, PEAL_NO_HANDLER);
	result = peali_block_write(k->rt, &k->own, 0, image, at->arena);
	free(image);
	return result;
}

static void set_addresses(struct peal_kernel *k, const struct kernel_layout *at)
{
	uint64_t shared = peali_block_view(k->rt, k->device, &k->shared);
	uint64_t own = peali_block_view(k->rt, k->device, &k->own);
	uint8_t *host = (uint8_t *)(uintptr_t)peali_block_view(
		k->rt, PEALI_HOST, &k->shared);
	struct peal_kernel_params *p = &k->params;

	k->control = (struct peal_kernel_control *)(void *)(host + at->control);
	k->status = (struct peal_worker_status *)(void *)(host + at->status);
	k->bells = (struct peal_bell *)(void *)(host + at->bells);
	p->magic = PEAL_CONTROL_MAGIC;
	p->control = shared + at->control;
	p->status = shared + at->status;
	p->bells = shared + at->bells;
	p->workers = own + at->workers;
	p->worker_stride = at->worker_stride;
	p->actors = own + at->actors;
	p->mailboxes = p->mailbox_stride ? own + at->mailboxes : 0;
	p->admission = p->mailbox_stride ? own + at->admission : 0;
	p->timer_status = p->max_timers ? shared + at->timers : 0;
	k->timers = (struct peal_timer_status *)(void *)(host + at->timers);
	p->ask_status = p->max_asks ? shared + at->asks : 0;
	k->asks = (struct peal_ask_status *)(void *)(host + at->asks);
	p->cluster_home =
		p->cluster_bytes && p->epoch_ns ? own + at->cluster_home : 0;
	if (p->max_supervisors) {
		p->supervisors = own + at->supervisors;
		p->supervision = own + at->supervision;
	}
	p->monitors = p->max_monitors ? own + at->monitors : 0;
	k->monitors.slots = (struct peal_down_slot *)(void *)(host + at->downs);
	p->handlers = own + at->handlers;
	p->actor_slots = shared + at->spawn_slots;
	p->slot_states = own + at->slot_states;
	peali_spawned_open(k, (uint64_t *)(void *)(host + at->spawn_slots));
	k->spawn.states_offset = at->slot_states;
	p->limits = p->max_mailbox_limits ? own + at->limits : 0;
	p->arrivals = has_arrivals(p) ? own + at->arrivals : 0;
	k->to_all.data = host + at->to_all;
	k->to_all.view = shared + at->to_all;
	p->reject_tables = shared + at->reject_tables;
	k->reject_tables = (uint64_t *)(void *)(host + at->reject_tables);
	p->failures = shared + at->failures;
	k->failures = (struct peal_failure_log *)(void *)(host + at->failures);
	k->supervision.report_offset = at->report;
	k->arena.offset = at->arena;
	k->control->magic = PEAL_CONTROL_MAGIC;
}

/*
 * Doubles the slots of a mailbox until it holds all messages that can be in it
 * at a time. Admission and forwarding links have their limits. Each open ask
 * needs a slot for its answer. The answer being handled needs one more slot.
 */
static int grow_box(struct peali_mailbox_spec *box,
		    const struct peal_kernel_options *o)
{
	uint64_t most = (uint64_t)o->mailbox.slots + o->mailbox.forward_slots +
			(o->max_asks ? o->max_asks + 1ULL : 0);
	uint64_t slots = box->slots;

	while (slots < most)
		slots *= 2;
	if (slots > PEALI_MAILBOX_SLOTS_MAX)
		return PEALI_REFUSE(
			PEAL_EINVAL, CALL, .object = "option",
			.name = "mailbox.slots",
			.problem = PEALI_PRINT(
				"is too large with "
				"mailbox.forward_slots %u and max_asks "
				"%u",
				o->mailbox.forward_slots, o->max_asks),
			.number = o->mailbox.slots,
			.allowed = PEALI_PRINT("%u slots in all",
					       PEALI_MAILBOX_SLOTS_MAX),
			.remedy = "use less of these");
	box->slots = (uint32_t)slots;
	return 0;
}

/* Raises the numbers of messages that handlers tell for one more handler. */
static void plan_tells(struct peali_admission_spec *admission,
		       const struct peal_handler_info *h, uint32_t workers)
{
	uint32_t all = peali_handler_tells(h, workers);
	uint32_t tells = h->tells & ~(uint32_t)PEAL_TO_ALL;

	if (tells > admission->tells)
		admission->tells = tells;
	if (h->tells & PEAL_TO_ALL && all > admission->to_all)
		admission->to_all = all;
}

/* Computes the sizes of mailboxes and admission from the options. */
static int plan_mail(struct peal_kernel *k, struct mail_plan *mail,
		     const struct peal_kernel_options *o)
{
	struct peali_backend *b = k->rt->devices.device[k->device].backend;
	struct peali_mailbox_spec *box = &mail->box;
	struct peali_admission_spec *admission = &mail->admission;
	uint32_t i;
	int result;

	memset(mail, 0, sizeof(*mail));
	for (i = 0; i < k->program->n_handlers; i++)
		plan_tells(admission, &k->program->handlers[i], o->workers);
	admission->slots = box->slots = o->mailbox.slots;
	admission->passages = o->mailbox.forward_slots;
	admission->n_workers = o->workers;
	admission->others = (o->max_timers != 0) + (o->max_monitors != 0);
	admission->boxes = 1 + (o->mailbox.priority != 0);
	box->message_bytes = o->mailbox.message_bytes;
	box->n_workers = 1; /* leases come from the common admission */
	box->policy = o->mailbox.policy;
	result = peali_mailbox_spec_complete(
		box, b->ops->policies(b), (uint32_t)b->ops->default_policy(b),
		CALL);
	if (!result)
		result = peali_admission_spec_complete(admission, CALL);
	if (!result)
		result = peali_asks_plan(k, o, box);
	if (!result)
		result = grow_box(box, o);
	if (result)
		return result;
	k->mailbox.message_bytes = box->message_bytes;
	k->mailbox.slots = admission->slots;
	k->mailbox.forward_slots = admission->passages;
	k->mailbox.free_slots =
		admission->links -
		o->workers * (admission->tells + admission->others);
	k->params.mailbox_stride = peali_whole_lines(peali_mailbox_bytes(box));
	k->params.priority_boxes = o->mailbox.priority ? o->workers : 0;
	return 0;
}

static int make_memory(struct peal_kernel *k, struct kernel_layout *at,
		       const struct peal_kernel_options *o)
{
	struct mail_plan mail;
	int result = 0;

	if (o->mailbox.slots)
		result = plan_mail(k, &mail, o);
	else
		result = peali_asks_plan(k, o, NULL);
	if (!result)
		result = peali_timers_plan(k, o);
	if (!result)
		result = peali_monitors_plan(k, o);
	if (!result)
		result = peali_limits_plan(o);
	if (result)
		return result;
	result = plan_control(k, at);
	if (result)
		return result;
	lay_out_shared(at, &k->params, k->mailbox.message_bytes);
	lay_out_own(at, &k->params, o->arena_bytes);
	k->arena.bytes = o->arena_bytes;
	result = peali_block_alloc(k->rt, PEALI_HOST, at->shared_bytes,
				   &k->shared);
	if (!result)
		result = peali_block_alloc(k->rt, k->device, at->own_bytes,
					   &k->own);
	if (result)
		return result;
	set_addresses(k, at);
	return write_image(k, at, o->mailbox.slots ? &mail : NULL);
}

/* ---- the object ---------------------------------------------------------- */

void peali_kernel_free(struct peal_kernel *k)
{
	uint32_t i;

	if (!k)
		return;
	peali_pools_free(k);
	peali_supervisors_close(k);
	peali_monitors_close(k);
	peali_block_free(k->rt, &k->own);
	peali_block_free(k->rt, &k->shared);
	for (i = 0; k->workers && i < k->params.n_workers; i++) {
		free(k->workers[i].input_used);
		peali_suballoc_close(&k->workers[i].cluster);
	}
	free(k->workers);
	free(k->logged);
	free(k->mailbox.free_limits);
	peali_actor_slots_close(k);
	pthread_mutex_destroy(&k->call_lock);
	pthread_mutex_destroy(&k->to_all.lock);
	pthread_mutex_destroy(&k->push_lock);
	peali_clock_fini(&k->clock);
	free(k);
}

/* Gives the kernel its number, which is in all its addresses. */
static void give_number(struct peal_kernel *k)
{
	struct peal_runtime *rt = k->rt;
	const struct peal_kernel *other;

	pthread_mutex_lock(&rt->lock);
	do { /* 16 bits of an address: skips used numbers */
		k->id = rt->next_kernel++ & 0xffff;
		for (other = rt->kernels; other; other = other->next)
			if (other->id == k->id)
				break;
	} while (!k->id || other);
	pthread_mutex_unlock(&rt->lock);
	k->params.address = peali_address((uint32_t)k->device, k->id, 0);
}

static struct peal_kernel *new_kernel(struct peal_runtime *rt, int device,
				      const struct peal_program *program,
				      const struct peal_kernel_options *o)
{
	struct peal_kernel *k = calloc(1, sizeof(*k));
	uint32_t i, missing = 0;

	if (!k)
		return NULL;
	k->rt = rt;
	k->device = device;
	give_number(k);
	k->program = program;
	k->params.n_workers = o->workers;
	k->params.lanes = o->lanes;
	k->params.max_inputs = o->max_inputs;
	k->params.max_ports = o->max_ports;
	k->params.max_barriers = o->max_barriers;
	k->params.max_pools = o->max_pools;
	k->params.max_supervisors = o->max_supervisors;
	k->params.max_monitors = o->max_monitors;
	k->params.on_failure = o->on_failure;
	k->params.max_steps = o->budget.max_steps;
	k->params.max_handler_ns = o->budget.max_ns;
	peali_spawned_plan(k, o);
	k->params.max_mailbox_limits = o->mailbox.max_limits;
	k->params.lease_ns = o->lease_ns;
	k->params.epoch_ns = o->epoch_ns;
	k->params.drain_when_inputs_end = o->drain_when_inputs_end;
	k->params.cluster_workers = o->cluster.workers;
	k->params.cluster_bytes = o->cluster.bytes;
	peali_text_fit(k->name, sizeof(k->name), o->name);
	pthread_mutex_init(&k->call_lock, NULL);
	pthread_mutex_init(&k->to_all.lock, NULL);
	pthread_mutex_init(&k->push_lock, NULL);
	peali_clock_init(&k->clock);
	k->workers = calloc(o->workers, sizeof(*k->workers));
	k->pools = calloc(o->max_pools, sizeof(*k->pools));
	for (i = 0; k->workers && i < o->workers; i++) {
		k->workers[i].input_used = calloc(o->max_inputs, 1);
		missing += !k->workers[i].input_used;
		if (o->cluster.workers &&
		    peali_suballoc_open(&k->workers[i].cluster, "cluster", 0,
					o->cluster.bytes))
			missing++;
	}
	if (!k->workers || !k->pools || missing || peali_actor_slots_open(k) ||
	    peali_supervisors_open(k) || peali_monitors_open(k) ||
	    peali_limits_open(k) || peali_failures_open(k)) {
		peali_kernel_free(k);
		return NULL;
	}
	return k;
}

/* ---- launch -------------------------------------------------------------- */

/* Waits until every worker has checked in. */
static int await_check_in(struct peal_kernel *k)
{
	uint64_t deadline = peali_deadline(k->rt->check_in_ns);
	uint32_t turns = 0, here, i;

	for (;;) {
		for (here = 0, i = 0; i < k->params.n_workers; i++)
			here += peal_load_acquire_sys(&k->status[i].phase) !=
				PEAL_WORKER_ABSENT;
		if (here == k->params.n_workers)
			return 0;
		if (peali_late(deadline))
			return peali_fail(
				PEAL_EHUNG, CALL,
				"%u of %u worker%s resident on device %d "
				"after %g s; launch fewer workers, or fewer "
				"kernels%s",
				here, k->params.n_workers,
				peali_s(k->params.n_workers), k->device,
				(double)k->rt->check_in_ns / 1e9,
				k->params.cluster_workers ? ", or no clusters" :
							    "");
		peali_poll_pause(&turns);
	}
}

/* Launches the grid. If another kernel has taken the shared memory meanwhile, the
 * tables of the workers stay in device memory. */
static int launch_grid(struct peal_kernel *k, struct peali_launch_desc *desc)
{
	struct peali_backend *backend =
		k->rt->devices.device[k->device].backend;
	int result = backend->ops->launch(backend, desc, &k->launch);

	if (result != PEAL_ENOSPC || !desc->hot_bytes)
		return result;
	k->params.hot_bytes = desc->hot_bytes = 0;
	result = peali_block_write(k->rt, &k->own, 0, &k->params,
				   sizeof(k->params));
	return result ? result :
			backend->ops->launch(backend, desc, &k->launch);
}

static int start(struct peal_kernel *k)
{
	struct peali_device *d = &k->rt->devices.device[k->device];
	struct peali_launch_desc desc;
	uint32_t i;
	int result;

	memset(&desc, 0, sizeof(desc));
	desc.device = d->local;
	desc.program = k->program;
	desc.params = peali_block_view(k->rt, k->device, &k->own);
	desc.n_workers = k->params.n_workers;
	desc.lanes = k->params.lanes;
	desc.cluster_workers = k->params.cluster_workers;
	desc.cluster_bytes = k->params.cluster_bytes;
	desc.hot_bytes = k->params.hot_bytes;
	desc.pin = 1;
	desc.status = k->status;
	desc.epochs = k->params.epoch_ns != 0;
	result = launch_grid(k, &desc);
	if (result)
		return result;
	result = await_check_in(k);
	for (i = 0; !result && i < k->params.n_workers; i++)
		result = peali_features_check_image(k, i, CALL);
	if (!result) {
		peali_clock_begin(k);
		return 0;
	}
	peal_store_release_sys(&k->control->stop, PEAL_STOP_ABORT);
	if (d->backend->ops->launch_wait(k->launch, PEALI_CHECK_IN_NS) ==
	    PEAL_ETIMEDOUT)
		return peali_fail(result, CALL,
				  "not all of %u workers are resident on "
				  "device %d, and the resident ones do not "
				  "end; the memory of the kernel is not freed",
				  k->params.n_workers, k->device);
	d->backend->ops->launch_free(k->launch);
	k->launch = NULL;
	return result;
}

static void enlist(struct peal_kernel *k)
{
	struct peal_runtime *rt = k->rt;

	pthread_mutex_lock(&rt->lock);
	k->next = rt->kernels;
	rt->kernels = k;
	peali_kernel_open_gates(
		k, atomic_load(&rt->devices.device[k->device].gates.open));
	peali_reject_tables_show(k);
	peali_log(2,
		  "kernel '%s' of program '%s' runs on device %d, workers: "
		  "%u",
		  k->name, k->program->name, k->device, k->params.n_workers);
	pthread_mutex_unlock(&rt->lock);
}

int peal_kernel_launch(struct peal_runtime *rt, int device,
		       const struct peal_program *program,
		       const struct peal_kernel_options *options,
		       struct peal_kernel **kernel_out)
{
	struct peal_kernel_options o;
	struct kernel_layout at;
	struct peal_kernel *k;
	uint32_t hot_bytes = 0;
	int result;

	if (!rt || !kernel_out)
		return peali_refuse_null(CALL, "runtime or kernel_out");
	if (peali_foreign(&rt->owner, CALL))
		return PEAL_EFORKED;
	result = peali_devices_check(&rt->devices, device, CALL);
	if (!result)
		result = peali_program_check(program, CALL);
	if (!result)
		result = peali_program_keep(rt, program, CALL);
	if (!result)
		result = peali_options_copy(&o, sizeof(o), options, CALL);
	if (result)
		return result;
	result = peali_kernel_options_complete(&o, rt, program);
	if (!result)
		result = peali_kernel_fit(rt, device, program, &o, &hot_bytes);
	if (result)
		return peali_fail_in(result, "peal_kernel_launch");
	k = new_kernel(rt, device, program, &o);
	if (!k)
		return peali_fail(PEAL_ENOMEM, CALL, "no memory for a kernel");
	k->params.hot_bytes = hot_bytes;
	result = make_memory(k, &at, &o);
	if (!result) /* before the start: workers need a lease */
		result = peali_watchdog_watch(k);
	if (!result)
		result = start(k);
	if (result) {
		peali_watchdog_forget(k);
		if (!k->launch)
			peali_kernel_free(k);
		return peali_fail_in(result, "peal_kernel_launch");
	}
	enlist(k);
	*kernel_out = k;
	return 0;
}
