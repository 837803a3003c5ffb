/* SPDX-License-Identifier: Apache-2.0 */
/* Creates links between two processes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "queues/publication.h"
#include "queues/ring.h"
#include "runtime/base/error.h"
#include "runtime/base/refusal.h"
#include "runtime/base/text.h"
#include "runtime/base/wait.h"
#include "runtime/device/backend.h"
#include "runtime/device/devices.h"
#include "runtime/device/memory_block.h"
#include "runtime/ipc/process_group.h"
#include "runtime/kernel/address.h"
#include "runtime/link/endpoint_ref.h"
#include "runtime/link/link.h"
#include "runtime/link/remote.h"

#define CALL "peal_process_connect"
#define LINKS_MAX 4096 /* links with one peer */
#define AGAIN_US 2000 /* us between two requests for a name */

/* ---- common steps -------------------------------------------------------- */

/* Returns 1 if a device does not see this process's memory as the host does. */
static int is_staged(const struct peal_link *link, int device)
{
	return !peali_devices_ring(&link->rt->devices, device);
}

/* Returns the publication policies of the end of the shared ring here. */
static uint32_t policies(const struct peal_link *link, int device)
{
	return peali_devices_policies(&link->rt->devices,
				      is_staged(link, device) ? PEALI_HOST :
								device);
}

/*
 * Computes the spec of the local ring of a staged end. It has the capacity and
 * the message size of the shared ring.
 */
static int local_spec(const struct peal_link *link, int device,
		      struct peali_ring_spec *out)
{
	const struct peali_devices *devices = &link->rt->devices;
	struct peali_backend *b;

	*out = link->remote->spec;
	if (device == PEALI_HOST || !link->remote->staged)
		return 0;
	b = devices->device[device].backend;
	out->policy = 0;
	out->slot_bytes = 0;
	out->slab_bytes = 0;
	return peali_ring_spec_complete(out,
					peali_devices_policies(devices, device),
					(uint32_t)b->ops->default_policy(b),
					CALL);
}

static void describe(struct peal_link *link, const char *why_staged)
{
	const struct peali_remote_link *remote = link->remote;
	const char *how = "", *why = remote->staged ? why_staged : "";

	if (remote->windows)
		how = "; its device and this one see each other's windows";
	else if (remote->staged)
		how = "; the stager copies: ";
	peali_text_format(link->why, sizeof(link->why),
			  "the other end is in the process of rank %u%s%s",
			  remote->peer->rank, how, why);
}

/* Fills in the end in the other process. */
static void set_remote_end(struct peali_link_end *end,
			   const struct peali_peer *p, uint64_t address)
{
	memset(end, 0, sizeof(*end));
	end->address = (address & ((1ULL << 56) - 1)) |
		       (uint64_t)(p->rank + 1) << PEALI_ADDRESS_RANK_SHIFT;
	end->device = PEALI_HOST;
}

/*
 * Completes the local specs, maps the shared memory and creates the path.
 * remote->spec is complete already.
 */
static int build(struct peal_link *link, int device, int fd,
		 const char *why_staged)
{
	struct peali_remote_link *remote = link->remote;
	int result;

	link->from_port = remote->sends ? link->from_port : 0;
	result = remote->sends ? local_spec(link, device, &link->spec) :
				 local_spec(link, device, &link->last_spec);
	if (remote->sends)
		link->last_spec = remote->spec;
	else
		link->spec = remote->spec;
	if (!result)
		result = peali_remote_map(remote, fd, link->id, CALL);
	if (!result && remote->windows)
		result = peali_remote_make_header(link->remote, link->rt,
						  link->id, device);
	if (result)
		return result;
	link->counts = remote->counts;
	if (remote->staged || remote->windows) {
		result = peali_block_alloc(link->rt, PEALI_HOST,
					   sizeof(struct peal_link_counts),
					   &link->counts_block);
		if (result)
			return result;
		link->counts =
			(struct peal_link_counts *)(uintptr_t)peali_block_view(
				link->rt, PEALI_HOST, &link->counts_block);
	}
	peal_store_relaxed_sys(&link->counts->id, link->id);
	describe(link, why_staged);
	return peali_route_path_make(link, PEAL_ROUTE_PROCESS, &link->path,
				     CALL);
}

static struct peal_link *new_remote(struct peali_peer *p, uint64_t number,
				    int sends)
{
	struct peal_link *link = peali_link_new(p->set->rt);
	struct peali_remote_link *remote = calloc(1, sizeof(*remote));

	if (!link || !remote) {
		free(remote);
		if (link)
			peali_link_free(link);
		peali_fail(PEAL_ENOMEM, CALL, "no memory for a link");
		return NULL;
	}
	remote->peer = p;
	remote->link = link;
	remote->number = number;
	remote->sends = sends;
	link->remote = remote;
	link->id = p->set->rt->next_link;
	return link;
}

/*
 * Adds the link to the peer's list. Fails if the peer is gone, this process
 * leaves, or the number is in use.
 */
static int list(struct peali_remote_link *remote)
{
	struct peali_peer *p = remote->peer;
	const struct peali_remote_link *other;
	uint32_t n = 0;
	int result = 0;

	pthread_mutex_lock(&p->set->lock);
	for (other = p->links; other && !result; other = other->next, n++)
		if (other->number == remote->number &&
		    other->sends == remote->sends)
			result = peali_fail(PEAL_EPROTO, CALL,
					    "rank %u repeats a request number",
					    p->rank);
	if (!result && p->state != PEAL_PROCESS_ALIVE)
		result = peali_peer_gone(p, CALL);
	if (!result && p->set->leaving)
		result = peali_fail(PEAL_ESTOPPED, CALL,
				    "this process leaves the set");
	if (!result && n >= LINKS_MAX)
		result = peali_fail(PEAL_ENOSPC, CALL,
				    "there are %d links with rank %u",
				    LINKS_MAX, p->rank);
	if (!result) {
		remote->next = p->links;
		p->links = remote;
		remote->listed = 1;
	}
	pthread_mutex_unlock(&p->set->lock);
	return result;
}

/* ---- the receiver's end -------------------------------------------------- */

static int find_export(struct peal_process_group *set, const char *name,
		       uint64_t *address_out)
{
	const struct peali_export *offer;
	int result = 0;

	pthread_mutex_lock(&set->lock);
	for (offer = set->offers; offer && strcmp(offer->name, name);
	     offer = offer->next)
		;
	if (offer)
		*address_out = offer->address;
	else
		result = peali_fail(PEAL_ENOENT, CALL, "'%s' is not exported",
				    name);
	pthread_mutex_unlock(&set->lock);
	return result;
}

static void set_spec(struct peali_remote_link *remote,
		     const struct peali_record *r)
{
	remote->spec.capacity = r->capacity;
	remote->spec.slot_bytes = r->slot_bytes;
	remote->spec.policy = r->policy;
	remote->spec.message_bytes = r->message_bytes;
	remote->spec.slab_bytes = r->slab_bytes;
}

/*
 * Completes remote->spec with sizes for both processes. `mask` has the possible
 * policies, `policy` is the default.
 */
static int plan_spec(struct peali_remote_link *remote,
		     const struct peali_record *r, uint32_t mask,
		     uint32_t policy)
{
	int result;

	set_spec(remote, r);
	if (!mask)
		return peali_fail(PEAL_ENOTSUP, CALL,
				  "the processes have no policy in common");
	result = peali_ring_spec_complete(&remote->spec, mask, policy, CALL);
	return result ? result :
			peali_ring_spec_emits(&remote->spec, r->emits, CALL);
}

/*
 * Plans a link by windows. This requires that both devices see each other's
 * window. Returns 0, or an error with the reason.
 */
static int plan_windows(struct peal_link *link, const struct peali_record *r)
{
	const struct peali_devices *devices = &link->rt->devices;
	struct peali_remote_link *remote = link->remote;
	int device = link->to.device, result;
	struct peali_backend *b;

	if (!peali_has_window(remote->peer->set, device))
		return peali_fail(PEAL_ENOTSUP, CALL,
				  "the receiver's device has no window (%s)",
				  remote->peer->set->why_no_window);
	remote->credit_at = peali_window_remote(remote->peer, r->window_device,
						device, r->window_offset,
						sizeof(struct peal_credit));
	if (!remote->credit_at || !(r->window_seen >> device & 1))
		return peali_fail(PEAL_ENOPEER, CALL, "%s",
				  r->window_device ?
					  "the devices do not see each other's "
					  "windows, or are not probed" :
					  "the sender's device has no window");
	b = devices->device[device].backend;
	result = plan_spec(remote, r,
			   peali_devices_policies(devices, device) &
				   r->window_policies,
			   (uint32_t)b->ops->default_policy(b));
	if (!result)
		result = peali_part_take(remote->peer->set, device,
					 peali_remote_slot_bytes(&remote->spec),
					 &remote->part);
	if (result == PEAL_ENOMEM && !peali_failed_in_system())
		return peali_fail(
			result, CALL,
			"the window of rank %u for device %d is full; raise "
			"PEAL_PROCESS_MEMORY",
			remote->peer->set->plan.rank, device);
	if (!result)
		remote->ring_at =
			peali_part_address(remote->peer->set, &remote->part);
	return result;
}

/*
 * Plans the receiver's end and sizes for both processes. The caller holds the
 * runtime's lock.
 */
static int plan_receiver(struct peal_link *link, uint64_t address,
			 const struct peali_record *r, char why_staged[96])
{
	struct peali_remote_link *remote = link->remote;
	struct peal_handler_info sender = { .name = "of the sender" };
	int result;

	result = peali_link_end_resolve(link->rt, address, "to",
					"actor, pool or endpoint", &link->to,
					CALL);
	if (!result && link->to.pool)
		result = peali_pool_open(link->to.pool, CALL);
	if (!result)
		result = peali_link_end_input(&link->to, CALL);
	if (result)
		return result;
	set_remote_end(&link->from, remote->peer, r->address);
	remote->staged = is_staged(link, link->to.device);
	remote->windows = !plan_windows(link, r);
	if (remote->windows) {
		remote->staged = 0;
	} else {
		peali_text_fit(why_staged, 96, peal_last_error()->text);
		result = plan_spec(
			remote, r,
			policies(link, link->to.device) & r->policies,
			(uint32_t)peali_host_backend.default_policy(NULL));
	}
	link->spec = remote->spec;
	sender.output_bytes = r->handler_bytes;
	if (!result)
		result = peali_handlers_agree(&sender, peali_link_taker(link),
					      CALL);
	return result ? result : peali_link_check_types(link, CALL);
}

/*
 * Creates the receiver's end. Returns the descriptor of the shared memory, or
 * an error.
 */
static int accept_link(struct peali_peer *p, const struct peali_record *r,
		       uint64_t address, struct peali_record *answer)
{
	struct peal_runtime *rt = p->set->rt;
	struct peal_link *link;
	char why[96] = "";
	int fd = -1, result;

	pthread_mutex_lock(&rt->lock);
	link = new_remote(p, r->number, 0);
	result = link ? plan_receiver(link, address, r, why) : PEAL_ENOMEM;
	if (!result) {
		fd = peali_remote_make_memory(link->remote);
		result = fd < 0 ? fd : build(link, link->to.device, fd, why);
	}
	if (!result)
		result = list(link->remote);
	if (!result)
		result = peali_link_attach_input(link, CALL);
	if (!result) {
		const struct peali_ring_spec *spec = &link->remote->spec;

		answer->address = link->to.address;
		answer->capacity = spec->capacity;
		answer->slot_bytes = spec->slot_bytes;
		answer->policy = spec->policy;
		answer->message_bytes = spec->message_bytes;
		answer->slab_bytes = spec->slab_bytes;
		answer->memory_bytes =
			peali_remote_shared_bytes(spec, link->remote->windows);
		peali_text_fit(answer->text, sizeof(answer->text), why);
		if (link->remote->windows) {
			answer->window_device = 1 + (uint32_t)link->to.device;
			answer->window_offset = link->remote->part.offset;
			answer->window_bytes = link->remote->part.bytes;
			link->remote->promised = 1;
		}
	}
	if (link)
		result = peali_link_enlist(link, result);
	pthread_mutex_unlock(&rt->lock);
	pthread_mutex_lock(&p->set->lock);
	p->hung |= result == PEAL_EHUNG;
	pthread_mutex_unlock(&p->set->lock);
	if (!result)
		return fd;
	if (fd >= 0)
		close(fd);
	return result;
}

void peali_remote_answer(struct peali_peer *p, const struct peali_record *r)
{
	struct peali_record answer = peali_record(PEALI_RECORD_ACCEPT);
	uint64_t address = 0;
	int fd, result = find_export(p->set, r->name, &address);

	answer.number = r->number;
	fd = result ? result : accept_link(p, r, address, &answer);
	if (fd < 0) {
		answer = peali_record(PEALI_RECORD_REFUSE);
		answer.number = r->number;
		answer.error = fd;
		peali_text_fit(answer.text, sizeof(answer.text),
			       peal_last_error()->text);
	}
	peali_peer_answer(p, &answer, fd);
	if (fd >= 0)
		close(fd);
}

/* ---- the sender's end ---------------------------------------------------- */

/* A request for a link. */
struct wish {
	struct peali_peer *peer;
	const char *name;
	uint64_t from;
	uint32_t port;
	const struct peal_link_options *options;
	uint64_t deadline; /* end of the wait for the export */
	struct peali_part *credit; /* in an own window; 0 bytes: none */
};

/* Resolves the sender's end. The caller holds the runtime's lock. */
static int plan_sender(const struct wish *w, struct peali_link_end *from)
{
	struct peal_runtime *rt = w->peer->set->rt;
	int result = peali_link_end_resolve_sender(rt, w->from, from, CALL);

	if (result)
		return result;
	if (from->dead_letters)
		return peali_fail(PEAL_ENOTSUP, CALL,
				  "dead letters stay in their process; "
				  "connect them to an endpoint");
	if (from->pool)
		return peali_fail(PEAL_EINVAL, CALL,
				  "`from` is a pool, and a pool sends no "
				  "messages; connect its members");
	return peali_link_end_port(rt, from, w->port, CALL);
}

static int check_wish(const struct peal_process_group *set, uint32_t rank,
		      const char *name, const struct peal_link_options *o)
{
	size_t n = name ? strnlen(name, PEAL_PROCESS_NAME_BYTES) : 0;

	if (rank >= set->plan.ranks || rank == set->plan.rank)
		return rank == set->plan.rank ?
			       peali_fail(PEAL_ENOENT, CALL,
					  "rank %u is this process; connect "
					  "within it by peal_connect",
					  rank) :
			       peali_refuse_index(CALL, "process group", NULL,
						  "rank", rank, set->plan.ranks,
						  NULL);
	if (!n || n >= PEAL_PROCESS_NAME_BYTES)
		return peali_refuse_name(CALL, name,
					 PEAL_PROCESS_NAME_BYTES - 1);
	if ((o->require && !(o->require & PEAL_ROUTE_PROCESS)) ||
	    o->forbid & PEAL_ROUTE_PROCESS)
		return peali_fail(PEAL_ENOPEER, CALL,
				  "links between processes have the route "
				  "process, which `require` or `forbid` rule "
				  "out");
	if (o->priority)
		return peali_refuse_option(CALL, "priority", o->priority, 0, 0);
	return 0;
}

static struct peali_record
ask_for(const struct wish *w, const struct peal_link *like, uint64_t number)
{
	const struct peal_link_options *o = w->options;
	const struct peal_handler_info *emitter =
		like->from.kernel ? peali_link_end_handler(&like->from) : NULL;
	struct peali_record r = peali_record(PEALI_RECORD_CONNECT);

	r.number = number;
	r.address = like->from.address;
	r.message_bytes = o->message_bytes;
	r.slab_bytes = o->slab_bytes;
	r.capacity = o->capacity;
	r.slot_bytes = o->slot_bytes;
	r.policy = o->policy;
	r.policies = policies(like, like->from.device);
	if (w->credit->bytes) {
		r.window_device = 1 + (uint32_t)w->credit->device;
		r.window_offset = w->credit->offset;
		r.window_seen = peali_windows_seen(w->peer, like->from.device);
		r.window_policies = peali_devices_policies(&like->rt->devices,
							   like->from.device);
	}
	r.emits = emitter ? emitter->emits : 1;
	r.handler_bytes = emitter ? emitter->output_bytes : 0;
	snprintf(r.name, sizeof(r.name), "%s", w->name);
	return r;
}

/* Waits for the answer to a CONNECT. The caller holds set->lock. */
static int await_answer(struct peali_question *q)
{
	struct peal_process_group *set = q->peer->set;
	uint64_t deadline =
		peali_deadline((int64_t)set->rt->control_timeout_ms * 2000000);
	struct timespec t = { (time_t)(deadline / 1000000000),
			      (long)(deadline % 1000000000) };

	while (!q->answered && !peali_late(deadline))
		pthread_cond_timedwait(&set->changed, &set->lock, &t);
	if (!q->answered)
		return peali_fail(PEAL_ETIMEDOUT, CALL,
				  "rank %u (pid %d) does not answer; it may "
				  "be stopped",
				  q->peer->rank, q->peer->member.pid);
	return q->error ? peali_peer_gone(q->peer, CALL) : 0;
}

/*
 * Keeps the part of the credit from reuse if the peer may still write to it.
 * The caller holds set->lock.
 */
static void abandon(const struct wish *w, const struct peali_question *q)
{
	if (!q->answered || q->error || peali_gives_credit(&q->answer))
		peali_part_abandon(w->peer, q->number, 1, w->credit);
}

/* Sends a CONNECT and waits for the answer. */
static int ask(const struct wish *w, const struct peal_link *like,
	       struct peali_question *q)
{
	struct peal_process_group *set = w->peer->set;
	struct peali_question **p;
	struct peali_record r;
	int asked, result = 0;

	memset(q, 0, sizeof(*q));
	q->peer = w->peer;
	q->fd = -1;
	pthread_mutex_lock(&set->lock);
	q->number = ++set->next_number;
	if (w->peer->state != PEAL_PROCESS_ALIVE)
		result = peali_peer_gone(w->peer, CALL);
	q->next = set->questions;
	set->questions = q;
	pthread_mutex_unlock(&set->lock);
	r = ask_for(w, like, q->number);
	if (!result)
		result = peali_peer_send(w->peer, &r, -1);
	if (result == PEAL_EPIPE) /* the reader thread completes the question */
		result = 0;
	asked = !result;
	pthread_mutex_lock(&set->lock);
	if (!result)
		result = await_answer(q);
	if (asked && result)
		abandon(w, q);
	for (p = &set->questions; *p != q; p = &(*p)->next)
		;
	*p = q->next;
	pthread_mutex_unlock(&set->lock);
	if (result && q->fd >= 0)
		close(q->fd);
	return result;
}

/* Sets the error text of a refusal. Returns its error. */
static int refused(const struct wish *w, const struct peali_record *r)
{
	int error = peali_error_received(r->error);
	char text[sizeof(r->text)];

	peali_record_text(r, text, sizeof(text));
	return peali_fail(error, CALL, "rank %u (pid %d): %s", w->peer->rank,
			  w->peer->member.pid, text);
}

/* Checks that an ACCEPT is valid and fits the request. */
static int check_answer(const struct wish *w, const struct peal_link *link,
			const struct peali_record *r,
			struct peali_ring_spec *out)
{
	const struct peal_link_options *o = w->options;
	struct peali_ring_spec spec = { r->capacity, r->slot_bytes, r->policy,
					r->message_bytes, r->slab_bytes };
	struct peali_ring_spec again = spec;
	uint32_t mask;
	int wrong;

	mask = link->remote->windows ?
		       peali_devices_policies(&link->rt->devices,
					      link->from.device) :
		       policies(link, link->from.device);
	wrong = (o->capacity && o->capacity != r->capacity) ||
		(o->message_bytes && o->message_bytes != r->message_bytes) ||
		(o->slot_bytes && o->slot_bytes != r->slot_bytes) ||
		(o->policy && o->policy != r->policy);
	/* completing a complete spec must not change it */
	if (wrong || !r->capacity || !r->slot_bytes || !r->policy ||
	    peali_ring_spec_complete(&again, mask, 0, CALL) ||
	    again.slab_bytes != spec.slab_bytes ||
	    again.message_bytes != spec.message_bytes ||
	    (uint32_t)r->address == PEAL_FWD_LINK_ACTOR ||
	    r->memory_bytes !=
		    peali_remote_shared_bytes(&spec, link->remote->windows) ||
	    (link->remote->windows &&
	     r->window_bytes != peali_remote_slot_bytes(&spec)))
		return peali_fail(PEAL_EPROTO, CALL,
				  "rank %u (pid %d) accepts a link with "
				  "other sizes than requested",
				  w->peer->rank, w->peer->member.pid);
	*out = spec;
	return 0;
}

/*
 * Uses windows if the ACCEPT does. Resolves the addresses of ring and credit.
 */
static int join_windows(const struct wish *w, struct peali_remote_link *remote,
			int device, const struct peali_record *r)
{
	if (!r->window_device)
		return 0;
	remote->ring_at = peali_window_remote(w->peer, r->window_device, device,
					      r->window_offset,
					      r->window_bytes);
	if (w->credit->bytes && w->credit->device != device)
		return peali_fail(
			PEAL_EAGAIN, CALL,
			"the sender has moved to device %d during the call; "
			"connect it again",
			device);
	if (!w->credit->bytes || !remote->ring_at)
		return peali_fail(PEAL_EPROTO, CALL,
				  "rank %u (pid %d) accepts a link by an "
				  "unknown window",
				  w->peer->rank, w->peer->member.pid);
	remote->windows = 1;
	remote->staged = 0;
	remote->part = *w->credit;
	remote->credit_at = peali_part_address(w->peer->set, &remote->part);
	w->credit->bytes = 0; /* the link owns the part now */
	return 0;
}

/* Creates the sender's end of an accepted link. */
static int join_link(const struct wish *w, struct peali_question *q,
		     struct peal_link **link_out)
{
	const struct peali_record *r = &q->answer;
	struct peal_runtime *rt = w->peer->set->rt;
	struct peal_link *link;
	char why[96];
	int result;

	peali_record_text(r, why, sizeof(why));
	pthread_mutex_lock(&rt->lock);
	link = new_remote(w->peer, q->number, 1);
	result = link ? plan_sender(w, &link->from) : PEAL_ENOMEM;
	if (!result) {
		link->from_port = w->port;
		set_remote_end(&link->to, w->peer, r->address);
		link->remote->staged = is_staged(link, link->from.device);
		result = join_windows(w, link->remote, link->from.device, r);
	}
	if (!result)
		result = check_answer(w, link, r, &link->remote->spec);
	if (!result)
		result = peali_remote_check_memory(link->remote, w->peer->rank,
						   q->fd);
	if (!result)
		result = build(link, link->from.device, q->fd, why);
	if (!result)
		result = peali_link_check_types(link, CALL);
	if (!result)
		result = list(link->remote);
	if (!result)
		result = peali_link_attach_port(link, CALL);
	if (link)
		result = peali_link_enlist(link, result);
	if (!result)
		*link_out = link;
	pthread_mutex_unlock(&rt->lock);
	return result;
}

int peali_gives_credit(const struct peali_record *r)
{
	return r->type == PEALI_RECORD_ACCEPT ? r->window_device != 0 :
						r->error == PEAL_EHUNG;
}

void peali_decline(struct peali_peer *p, uint64_t number, int freed)
{
	struct peali_record r = peali_record(PEALI_RECORD_CLOSE);

	r.number = number;
	r.sender = 1;
	r.error = PEAL_ESTOPPED;
	peali_peer_post(p, &r);
	r.type = PEALI_RECORD_FREED;
	if (freed)
		peali_peer_post(p, &r);
	else
		p->hung = 1;
}

/*
 * Allocates the credit in the window of the sender's device. The sender may
 * have moved to another device since the last try. A device without a window
 * gets no credit.
 */
static void take_credit(const struct wish *w, int device)
{
	struct peal_process_group *set = w->peer->set;

	if (w->credit->bytes && w->credit->device == device)
		return;
	pthread_mutex_lock(&set->lock);
	peali_part_give(set, w->credit);
	pthread_mutex_unlock(&set->lock);
	peali_part_take(set, device, sizeof(struct peal_credit), w->credit);
}

/*
 * Tries to connect once. Sets *again to 1 if the peer does not export the name.
 */
static int try(const struct wish *w, struct peal_link **link_out, int *again)
{
	struct peal_link like = { .rt = w->peer->set->rt };
	struct peali_question q;
	int result;

	pthread_mutex_lock(&like.rt->lock);
	result = plan_sender(w, &like.from);
	pthread_mutex_unlock(&like.rt->lock);
	if (!result)
		take_credit(w, like.from.device);
	if (!result)
		result = ask(w, &like, &q);
	if (result)
		return result;
	if (q.answer.type == PEALI_RECORD_REFUSE) {
		if (q.fd >= 0)
			close(q.fd);
		pthread_mutex_lock(&w->peer->set->lock);
		abandon(w, &q);
		pthread_mutex_unlock(&w->peer->set->lock);
		*again = q.answer.error == PEAL_ENOENT;
		return refused(w, &q.answer);
	}
	result = q.fd < 0 ? peali_fail(PEAL_EPROTO, CALL,
				       "rank %u accepts a link without memory",
				       w->peer->rank) :
			    join_link(w, &q, link_out);
	if (q.fd >= 0)
		close(q.fd);
	if (!result)
		return 0;
	pthread_mutex_lock(&w->peer->set->lock);
	abandon(w, &q);
	peali_decline(w->peer, q.number, result != PEAL_EHUNG);
	pthread_mutex_unlock(&w->peer->set->lock);
	return result;
}

int peal_process_connect(struct peal_process_group *set, uint32_t rank,
			 const char *name, uint64_t from, uint32_t port,
			 const struct peal_link_options *options,
			 int64_t timeout_ns, struct peal_link **link_out)
{
	struct peal_link_options o;
	struct peali_part credit = { 0 };
	struct peal_link *link = NULL;
	struct wish w;
	int result;

	if (!set)
		return peali_refuse_null(CALL, "group");
	if (peali_foreign(&set->rt->owner, CALL))
		return PEAL_EFORKED;
	result = peali_options_copy(&o, sizeof(o), options, CALL);
	if (!result)
		result = check_wish(set, rank, name, &o);
	if (result)
		return result;
	w.peer = &set->peers[rank];
	w.name = name;
	w.from = from;
	w.port = port;
	w.options = &o;
	w.deadline = peali_deadline(timeout_ns);
	w.credit = &credit;
	for (;;) {
		int again = 0;

		result = try(&w, &link, &again);
		if (!again || !timeout_ns || peali_late(w.deadline))
			break;
		usleep(AGAIN_US);
	}
	pthread_mutex_lock(&set->lock);
	peali_part_give(set, &credit);
	pthread_mutex_unlock(&set->lock);
	if (!result && link_out)
		*link_out = link;
	return result;
}
