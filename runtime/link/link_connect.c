/* SPDX-License-Identifier: Apache-2.0 */
/* Creates and destroys links. */
#include <stdlib.h>
#include <string.h>

#include "p2p/staging_warning.h"
#include "queues/ring.h"
#include "runtime/base/error.h"
#include "runtime/base/log.h"
#include "runtime/base/refusal.h"
#include "runtime/base/text.h"
#include "runtime/base/wait.h"
#include "runtime/device/backend.h"
#include "runtime/device/devices.h"
#include "runtime/device/memory_block.h"
#include "runtime/kernel/address.h"
#include "runtime/kernel/features.h"
#include "runtime/kernel/kernel_control.h"
#include "runtime/kernel/counters.h"
#include "runtime/kernel/kernel.h"
#include "runtime/kernel/record.h"
#include "runtime/link/end_number.h"
#include "runtime/link/endpoint.h"
#include "runtime/link/endpoint_ref.h"
#include "runtime/link/link.h"
#include "runtime/link/link_counters.h"
#include "runtime/link/remote.h"
#include "runtime/link/route.h"
#include "runtime/runtime.h"

#define CALL "peal_connect"

/* ---- checks -------------------------------------------------------------- */

/*
 * Returns the handler that receives the messages; NULL: none is known. For a
 * pool it is the handler of the first member.
 */
const struct peal_handler_info *peali_link_taker(const struct peal_link *link)
{
	const struct peali_link_end *to = &link->to;
	const struct peal_kernel *k = to->kernel;
	uint32_t i;

	if (!to->pool)
		return k ? peali_link_end_handler(to) : NULL;
	for (i = 0; i < k->params.n_workers; i++)
		if (to->pool->members[i])
			return &k->program->handlers
					[k->actors
						 .entries[to->pool->members[i] -
							  1]
						 .handler];
	return NULL;
}

/* Checks that a link can hold a dead letter and keep one slot for its end. */
static int check_dead_letters(const struct peal_link *link, const char *call)
{
	if (link->spec.message_bytes < sizeof(struct peal_dead_letter))
		return PEALI_REFUSE(
			PEAL_EMSGSIZE, call, .object = "option",
			.name = "message_bytes",
			.problem = "is too small for a dead letter and "
				   "the bytes of its message",
			.number = link->spec.message_bytes,
			.least = sizeof(struct peal_dead_letter),
			.most = PEALI_RING_MESSAGE_MAX);
	if (link->spec.capacity < 2)
		return PEALI_REFUSE(
			PEAL_EINVAL, call, .object = "option",
			.name = "capacity",
			.problem = "is too small for dead letters, as one "
				   "slot stays free",
			.number = link->spec.capacity, .least = 2,
			.most = 1 << 20);
	return 0;
}

/* Refuses messages that are longer than those of the pool. */
static int refuse_for_pool(const struct peal_link *link, const char *call)
{
	uint64_t most = link->to.pool->spec.message_bytes;
	int fits = most > link->added_bytes;

	return PEALI_REFUSE(
		PEAL_EMSGSIZE, call, .object = "option",
		.name = "message_bytes",
		.problem = "is larger than the message_bytes of the pool",
		.number = link->spec.message_bytes - link->added_bytes,
		.allowed = fits ? NULL : "none", .least = 1,
		.most = fits ? most - link->added_bytes : 1,
		.remedy = fits ? NULL : "raise message_bytes of the pool");
}

/* Checks that the message sizes of both ends and of the link agree. */
int peali_link_check_types(const struct peal_link *link, const char *call)
{
	const struct peal_handler_info *taker = peali_link_taker(link);
	const struct peal_handler_info *emitter =
		link->from.kernel ? peali_link_end_handler(&link->from) : NULL;
	uint64_t out = emitter ? emitter->output_bytes : 0;
	uint64_t in = taker ? taker->input_bytes : 0;
	int result = peali_handlers_agree(emitter, taker, call);

	if (!result && link->from.dead_letters)
		result = peali_handler_takes_dead_letters(taker, call);
	if (!result && link->from.dead_letters)
		result = check_dead_letters(link, call);
	if (result)
		return result;
	if (link->to.pool &&
	    link->spec.message_bytes > link->to.pool->spec.message_bytes)
		return refuse_for_pool(link, call);
	if ((out ? out : in) + link->added_bytes > link->spec.message_bytes)
		return PEALI_REFUSE(
			PEAL_EMSGSIZE, call, .object = "option",
			.name = "message_bytes",
			.problem = "is too small for the messages of the "
				   "handlers",
			.number = link->spec.message_bytes - link->added_bytes,
			.least = out ? out : in,
			.most = PEALI_RING_MESSAGE_MAX - link->added_bytes);
	return 0;
}

/* ---- attach and detach the ends ------------------------------------------ */

int peali_link_attach_input(struct peal_link *link, const char *call)
{
	struct peali_link_end *to = &link->to;
	struct peal_link_view view =
		peali_link_receiver_view(link, &link->path);
	int result;

	if (to->endpoint) {
		peali_endpoint_attach_input(to->endpoint, to->index, link);
		return 0;
	}
	result = peali_kernel_tell(to->kernel, to->worker,
				   PEAL_CONTROL_ATTACH_INPUT, &view,
				   sizeof(view), call);
	if (!result) {
		to->kernel->workers[to->worker].input_used[to->index] = 1;
		peali_link_end_add_links(to, 1);
	}
	return result;
}

int peali_link_attach_port(struct peal_link *link, const char *call)
{
	struct peali_link_end *from = &link->from;
	struct peal_link_view view = peali_link_sender_view(link, &link->path);
	int result;

	if (from->endpoint) {
		peali_endpoint_attach_port(from->endpoint, from->index, link);
		return 0;
	}
	result = peali_kernel_tell(from->kernel, from->worker,
				   PEAL_CONTROL_ATTACH_PORT, &view,
				   sizeof(view), call);
	if (!result)
		peali_link_end_add_links(from, 1);
	return result;
}

/* Makes the receiver release the ring. Returns 0 also if it has ended. */
static int detach_input(struct peal_link *link, const char *call)
{
	struct peali_link_end *to = &link->to;
	int result;

	/* peali_remote_free tells the other process, which has its own
	 * mapping */
	if (peali_link_end_is_remote(to))
		return 0;
	if (to->endpoint) {
		peali_endpoint_attach_input(to->endpoint, to->index, NULL);
		return 0;
	}
	result = peali_link_end_tell(to, PEAL_CONTROL_DETACH_INPUT, call);
	if (result)
		return result;
	to->kernel->workers[to->worker].input_used[to->index] = 0;
	peali_link_end_add_links(to, -1);
	return 0;
}

/* Makes the sender release the ring. Returns 0 also if it has ended. */
static int detach_port(struct peal_link *link, const char *call)
{
	struct peali_link_end *from = &link->from;
	int result;

	/* peali_remote_free tells the other process, which has its own
	 * mapping */
	if (peali_link_end_is_remote(from))
		return 0;
	if (from->endpoint) {
		peali_endpoint_attach_port(from->endpoint, from->index, NULL);
		return 0;
	}
	result = peali_link_end_tell(from, PEAL_CONTROL_CLOSE_PORT, call);
	if (result)
		return result;
	peali_link_end_add_links(from, -1);
	return 0;
}

/* ---- connect ------------------------------------------------------------- */

/*
 * Returns the mask of the policies that a device or the host supports. Sets
 * *best to the default policy of a device. For the host *best is unchanged.
 */
static uint32_t policies_of(const struct peal_link *link, int device,
			    uint32_t *best)
{
	const struct peali_devices *devices = &link->rt->devices;
	struct peali_backend *b;

	if (device != PEALI_HOST) {
		b = devices->device[device].backend;
		*best = (uint32_t)b->ops->default_policy(b);
	}
	return peali_devices_policies(devices, device);
}

/*
 * Completes the specs of the sender's and the receiver's ring. Both specs are
 * equal if the ends share a policy. By default it is one that the route between
 * them carries.
 */
static int complete_specs(struct peal_link *link)
{
	uint32_t best = 0, last_best = 0;
	uint32_t mask = policies_of(link, link->from.device, &best);
	uint32_t last = policies_of(link, link->to.device, &last_best);
	uint32_t both;
	int result;

	link->last_spec = link->spec;
	if (!best || (last_best && mask & last & 1u << last_best))
		best = last_best;
	both = mask & last;
	if (both && !link->spec.policy)
		both &= peali_route_policies(link->rt, link->from.device,
					     link->to.device, link->require,
					     link->forbid);
	if (both) {
		result =
			peali_ring_spec_complete(&link->spec, both, best, CALL);
		link->last_spec = link->spec;
		return result;
	}
	result = peali_ring_spec_complete(&link->spec, mask, best, CALL);
	if (result)
		return result;
	return peali_ring_spec_complete(&link->last_spec, last, last_best,
					CALL);
}

static int plan(struct peal_link *link, uint64_t from, uint32_t port,
		uint64_t to, const struct peal_link_options *o)
{
	struct peal_runtime *rt = link->rt;
	int result = peali_link_end_resolve_sender(rt, from, &link->from, CALL);

	if (!result)
		result = peali_link_end_resolve(
			rt, to, "to",
			link->from.endpoint ? "actor or pool" :
					      "actor, pool or endpoint",
			&link->to, CALL);
	if (result)
		return result;
	if (link->to.pool)
		result = peali_pool_open(link->to.pool, CALL);
	if (result)
		return result;
	if (link->from.endpoint && link->to.endpoint)
		return PEALI_REFUSE(
			PEAL_EINVAL, CALL, .object = "argument", .name = "to",
			.problem = "is an endpoint, as `from` is",
			.value = PEALI_PRINT("%#llx", (unsigned long long)to),
			.allowed = "an actor or a pool",
			.remedy = "pass the address of an actor or a pool");
	if (link->from.pool)
		return PEALI_REFUSE(
			PEAL_EINVAL, CALL, .object = "argument", .name = "from",
			.problem = "is a pool, and a pool sends no messages",
			.value = PEALI_PRINT("%#llx", (unsigned long long)from),
			.allowed = "an actor or an endpoint",
			.remedy = "pass the address of a member");
	if (link->to.endpoint && o->priority)
		return PEALI_REFUSE(
			PEAL_EINVAL, CALL, .object = "option",
			.name = "priority",
			.problem = "is only for links to actors and pools",
			.number = o->priority);
	if (link->from.dead_letters) {
		result = PEALI_NEEDS(link->from.kernel->program, DEAD_LETTERS,
				     CALL, "a receiver of dead letters");
		if (result)
			return result;
	}
	if (link->to.kernel && o->priority) {
		result = PEALI_NEEDS(link->to.kernel->program, PRIORITIES, CALL,
				     "option 'priority' of a link to it");
		if (result)
			return result;
	}
	link->from_port = port;
	link->require = o->require;
	link->forbid = o->forbid;
	link->priority = o->priority;
	result = peali_link_end_port(rt, &link->from, port, CALL);
	if (!result)
		result = peali_link_end_input(&link->to, CALL);
	if (result)
		return result;
	link->spec.capacity = o->capacity;
	link->spec.slot_bytes = o->slot_bytes;
	link->spec.policy = o->policy;
	link->spec.message_bytes = o->message_bytes;
	link->spec.slab_bytes = o->slab_bytes;
	result = complete_specs(link);
	if (!result)
		result = peali_link_check_types(link, CALL);
	return result;
}

static int build(struct peal_link *link)
{
	struct peal_runtime *rt = link->rt;
	enum peal_route route = PEAL_ROUTE_NONE;
	const struct peal_handler_info *emitter =
		link->from.kernel ? peali_link_end_handler(&link->from) : NULL;
	uint32_t emits = emitter ? emitter->emits : 1;
	int result;

	/* a message to the sender itself keeps its slot while it is handled */
	if (link->from.address == link->to.address)
		emits++;
	result = peali_ring_spec_emits(&link->spec, emits, CALL);
	if (!result)
		result = peali_route_choose(rt, link->from.device,
					    link->to.device, link->require,
					    link->forbid, link->spec.policy,
					    &route, link->why,
					    "option 'require'", CALL);
	if (!result)
		result = peali_block_alloc(rt, PEALI_HOST,
					   sizeof(struct peal_link_counts),
					   &link->counts_block);
	if (result)
		return result;
	link->counts = (struct peal_link_counts *)(uintptr_t)peali_block_view(
		rt, PEALI_HOST, &link->counts_block);
	link->counts->id = link->id;
	result = peali_route_path_make(link, route, &link->path, CALL);
	if (!result)
		result = peali_end_number_give(link, CALL);
	if (!result)
		result = peali_link_attach_input(link, CALL);
	if (result)
		return result;
	result = peali_link_attach_port(link, CALL);
	if (result)
		detach_input(link, CALL);
	return result;
}

/* Reports the dead letters that a link had no free slot for. */
static void log_lost_letters(const struct peal_link *link)
{
	uint64_t lost = link->counts && link->from.dead_letters ?
				peal_load_relaxed_sys(&link->counts->lost) :
				0;

	if (lost)
		peali_log(1,
			  "link %llu lost %llu dead letter%s of worker %u of "
			  "its kernel, because it was full; raise option "
			  "capacity of peal_dead_letter_connect",
			  (unsigned long long)link->id,
			  (unsigned long long)lost, peali_s(lost),
			  link->from.worker);
}

void peali_link_free(struct peal_link *link)
{
	log_lost_letters(link);
	peali_route_path_free(link, &link->old);
	peali_route_path_free(link, &link->path);
	peali_remote_free(link); /* reports the counts, which are freed next */
	peali_block_free(link->rt, &link->counts_block);
	pthread_mutex_destroy(&link->path_lock);
	free(link);
}

static int check_options(const struct peal_link_options *o)
{
	uint32_t all = PEAL_ROUTE_LOCAL | PEAL_ROUTE_PEER |
		       PEAL_ROUTE_MAPPED_HOST | PEAL_ROUTE_STAGED;

	if ((o->require | o->forbid) & ~all)
		return peali_refuse_bits(
			CALL, "option",
			o->require & ~all ? "require" : "forbid",
			o->require & ~all ? o->require : o->forbid, all);
	if (o->priority_reserved)
		return peali_refuse_option(CALL, "priority_reserved",
					   o->priority_reserved, 0, 0);
	if (o->priority > PEAL_PRIORITY_HIGH)
		return peali_refuse_option(CALL, "priority", o->priority, 0,
					   PEAL_PRIORITY_HIGH);
	return 0;
}

/* Warns if the messages between two devices use host memory. */
static void warn_of_host_memory(const struct peal_link *link)
{
	int from = link->from.device, to = link->to.device;
	const char *what;

	if (link->path.route == PEAL_ROUTE_STAGED)
		what = "links are staged through the host";
	else if (link->path.route == PEAL_ROUTE_MAPPED_HOST)
		what = "links use rings in mapped host memory";
	else
		return;
	if (peali_staging_is_new(link->rt->peers, from, to))
		peali_warn_staging(from, to, what, link->why);
}

/*
 * Adds a finished link to the runtime's list, or frees a failed link. After
 * PEAL_EHUNG the function does neither: the hung worker may still use the ring.
 * The ring then stays until the runtime closes.
 */
int peali_link_enlist(struct peal_link *link, int result)
{
	struct peal_runtime *rt = link->rt;

	if (result && result != PEAL_EHUNG)
		peali_link_free(link);
	if (result)
		return result;
	rt->next_link++;
	link->next = rt->links;
	rt->links = link;
	peali_log(2, "link %llu, %#llx port %u -> %#llx: route %s: %s",
		  (unsigned long long)link->id,
		  (unsigned long long)link->from.address, link->from_port,
		  (unsigned long long)link->to.address,
		  peal_route_name(link->path.route), link->why);
	warn_of_host_memory(link);
	return 0;
}

struct peal_link *peali_link_new(struct peal_runtime *rt)
{
	struct peal_link *link = calloc(1, sizeof(*link));

	if (!link)
		return NULL;
	link->rt = rt;
	pthread_mutex_init(&link->path_lock, NULL);
	return link;
}

int peali_link_make(const struct peal_link *like, struct peal_link **link_out,
		    const char *call)
{
	struct peal_link *link = peali_link_new(like->rt);
	int result;

	if (!link)
		return peali_fail(PEAL_ENOMEM, call, "no memory for a link");
	link->id = like->rt->next_link;
	link->from = like->from;
	link->to = like->to;
	link->from_port = like->from_port;
	link->spec = like->spec;
	result = peali_link_end_input(&link->to, call);
	if (!result)
		result = complete_specs(link);
	if (!result)
		result = build(link);
	result = peali_link_enlist(link, result);
	if (!result)
		*link_out = link;
	return result;
}

int peali_connect(struct peal_runtime *rt, uint64_t from, uint32_t port,
		  uint64_t to, const struct peal_link_options *options,
		  uint32_t added, struct peal_link **link_out)
{
	struct peal_link_options o;
	struct peal_link *link;
	int result;

	if (!rt)
		return peali_refuse_null(CALL, "runtime");
	if (peali_foreign(&rt->owner, CALL))
		return PEAL_EFORKED;
	result = peali_options_copy(&o, sizeof(o), options, CALL);
	if (result)
		return result;
	result = check_options(&o);
	if (result)
		return result;
	link = peali_link_new(rt);
	if (!link)
		return peali_fail(PEAL_ENOMEM, CALL, "no memory for a link");
	pthread_mutex_lock(&rt->lock);
	link->id = rt->next_link;
	link->added_bytes = added;
	result = plan(link, from, port, to, &o);
	if (!result)
		result = build(link);
	result = peali_link_enlist(link, result);
	if (!result && link_out)
		*link_out = link;
	pthread_mutex_unlock(&rt->lock);
	return peali_fail_in(result, CALL);
}

int peal_connect(struct peal_runtime *rt, uint64_t from, uint32_t port,
		 uint64_t to, const struct peal_link_options *options,
		 struct peal_link **link_out)
{
	return peali_connect(rt, from, port, to, options, 0, link_out);
}

/* ---- destroy ------------------------------------------------------------- */

int peali_link_take_down(struct peal_link *link, const char *call)
{
	struct peal_link **p;
	int result;

	result = detach_port(link, call);
	if (!result)
		result = detach_input(link, call);
	if (result)
		return result;
	for (p = &link->rt->links; *p != link; p = &(*p)->next)
		;
	*p = link->next;
	peali_link_keep(link);
	peali_link_free(link);
	return 0;
}

int peal_link_destroy(struct peal_link *link)
{
	struct peal_runtime *rt;
	int result;

	if (!link)
		return 0;
	if (peali_foreign(&link->rt->owner, "peal_link_destroy"))
		return PEAL_EFORKED;
	rt = link->rt;
	if (link->from.fwd_link)
		return peali_fail(PEAL_EBUSY, "peal_link_destroy",
				  "link %llu forwards messages from kernel "
				  "'%s' to kernel '%s'; destroy one of these "
				  "kernels",
				  (unsigned long long)link->id,
				  link->from.kernel->name,
				  link->to.kernel->name);
	pthread_mutex_lock(&rt->lock);
	result = peali_link_take_down(link, "peal_link_destroy");
	pthread_mutex_unlock(&rt->lock);
	return result;
}
