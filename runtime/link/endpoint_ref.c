/* SPDX-License-Identifier: Apache-2.0 */
/* Resolves addresses to ends of links and topics. */
#include "runtime/link/endpoint_ref.h"

#include <stdio.h>
#include <string.h>

#include "runtime/base/error.h"
#include "runtime/base/refusal.h"
#include "runtime/base/text.h"
#include "runtime/device/backend.h"
#include "runtime/kernel/address.h"
#include "runtime/kernel/kernel_control.h"
#include "runtime/kernel/kernel.h"
#include "runtime/kernel/record.h"
#include "runtime/link/dead_letter.h"
#include "runtime/link/endpoint.h"
#include "runtime/link/link.h"
#include "runtime/link/topic.h"
#include "runtime/runtime.h"

/*
 * Returns the worker that receives the messages of a new link to a pool. The
 * workers take turns. Workers without a member come first: they run no handler
 * of the pool, so they distribute its messages at once.
 */
static uint32_t worker_of_pool(struct peal_kernel *k,
			       const struct peali_pool *pool)
{
	uint32_t n = k->params.n_workers, i, worker = 0;

	for (i = 0; i < n; i++) {
		worker = k->next_worker++ % n;
		if (pool->n_members == n || !pool->members[worker])
			break;
	}
	return worker;
}

int peali_link_end_resolve(struct peal_runtime *rt, uint64_t address,
			   const char *what, const char *kinds,
			   struct peali_link_end *out, const char *call)
{
	address = peali_address_resolve(rt, address);
	memset(out, 0, sizeof(*out));
	out->address = address;
	out->device = PEALI_HOST;
	out->endpoint = peali_endpoint_of(rt, address);
	if (out->endpoint)
		return 0;
	out->kernel = peali_kernel_of(rt, address);
	if (address & PEALI_ADDRESS_TOPIC)
		return PEALI_REFUSE(
			PEAL_ENOENT, call, .object = "argument", .name = what,
			.problem = "is a topic",
			.value = PEALI_PRINT("%#llx",
					     (unsigned long long)address),
			.allowed = PEALI_PRINT("an %s", kinds),
			.remedy = "use peal_publish and peal_subscribe");
	if (!out->kernel)
		out->pool = peali_pool_at(rt, address, &out->kernel);
	if (!out->kernel)
		return PEALI_REFUSE(
			PEAL_ENOENT, call, .object = "argument", .name = what,
			.problem =
				PEALI_PRINT("is the address of no %s", kinds),
			.value = PEALI_PRINT("%#llx",
					     (unsigned long long)address),
			.allowed = "an address of this runtime",
			.remedy = PEALI_PRINT("pass the address of an %s",
					      kinds));
	if (peali_kernel_ended(out->kernel))
		return peali_fail(PEAL_ESTOPPED, call,
				  "`%s`: kernel '%s' has ended", what,
				  out->kernel->name);
	out->device = out->kernel->device;
	out->actor = PEAL_ACTOR_INDEX(address);
	out->worker = out->pool ?
			      worker_of_pool(out->kernel, out->pool) :
			      out->kernel->actors.entries[out->actor].worker;
	return 0;
}

int peali_link_end_resolve_sender(struct peal_runtime *rt, uint64_t address,
				  struct peali_link_end *out, const char *call)
{
	struct peal_kernel *k = peali_dead_letters_of(rt, address);

	if (!k)
		return peali_link_end_resolve(rt, address, "from",
					      "actor or endpoint", out, call);
	memset(out, 0, sizeof(*out));
	out->address = address;
	out->kernel = k;
	out->device = k->device;
	out->dead_letters = 1;
	if (peali_kernel_ended(k))
		return peali_fail(PEAL_ESTOPPED, call,
				  "`from`: kernel '%s' has ended", k->name);
	return 0;
}

const struct peal_handler_info *
peali_link_end_handler(const struct peali_link_end *end)
{
	const struct peal_kernel *k = end->kernel;

	if (end->dead_letters || end->fwd_link)
		return NULL;
	return &k->program->handlers[k->actors.entries[end->actor].handler];
}

#define SENDER_BYTES 96

/* Names a sender in an error text. */
static const char *sender_text(const struct peali_link_end *from,
			       char text[SENDER_BYTES])
{
	if (from->endpoint)
		snprintf(text, SENDER_BYTES, "endpoint '%s'",
			 from->endpoint->name);
	else if (from->dead_letters)
		snprintf(text, SENDER_BYTES, "the dead letters of kernel '%s'",
			 from->kernel->name);
	else
		snprintf(text, SENDER_BYTES, "actor %u of kernel '%s'",
			 from->actor, from->kernel->name);
	return text;
}

int peali_link_end_port(struct peal_runtime *rt, struct peali_link_end *from,
			uint32_t port, const char *call)
{
	char sender[SENDER_BYTES];
	uint32_t n = from->endpoint	? from->endpoint->max_ports :
		     from->dead_letters ? from->kernel->params.n_workers :
					  peali_link_end_handler(from)->ports;
	const struct peal_link *link;
	const char *topic;

	if (port >= n)
		return peali_refuse_index(call, sender_text(from, sender), NULL,
					  "port", port, n,
					  "use a handler with ports");
	from->index = port;
	if (from->dead_letters) {
		from->worker = port;
		from->index = PEAL_PORT_DEAD_LETTERS;
	} else if (from->kernel &&
		   from->kernel->actors.entries[from->actor].share_ports_with) {
		return peali_fail(
			PEAL_EINVAL, call,
			"actor %u of kernel '%s' shares the ports of actor "
			"%u; connect those",
			from->actor, from->kernel->name,
			from->kernel->actors.entries[from->actor]
					.share_ports_with -
				1);
	} else if (from->kernel) {
		from->index +=
			from->kernel->actors.entries[from->actor].port_base;
	}
	for (link = rt->links; link; link = link->next)
		if (link->from.address == from->address &&
		    link->from_port == port)
			return peali_fail(PEAL_EEXIST, call,
					  "port %u of %s is connected already, "
					  "by link %llu; destroy it first",
					  port, sender_text(from, sender),
					  (unsigned long long)link->id);
	topic = peali_topic_at_port(rt, from->address, port);
	if (topic)
		return peali_fail(PEAL_EEXIST, call,
				  "port %u of %s is connected already; it "
				  "publishes to topic '%s'",
				  port, sender_text(from, sender), topic);
	return 0;
}

int peali_link_end_input(struct peali_link_end *to, const char *call)
{
	uint32_t n = to->kernel ? to->kernel->params.max_inputs :
				  to->endpoint->max_inputs;
	uint32_t i;

	for (i = 0; i < n; i++) {
		int used =
			to->kernel ?
				to->kernel->workers[to->worker].input_used[i] :
				to->endpoint->inputs[i].link != NULL;

		if (!used) {
			to->index = i;
			return 0;
		}
	}
	return peali_fail(PEAL_ENOSPC, call,
			  "all %u of the receiver's max_inputs are used", n);
}

int peali_handlers_agree(const struct peal_handler_info *emitter,
			 const struct peal_handler_info *taker,
			 const char *call)
{
	if (!emitter || !taker || !emitter->output_bytes ||
	    !taker->input_bytes || emitter->output_bytes == taker->input_bytes)
		return 0;
	return PEALI_REFUSE(
		PEAL_EINVAL, call, .object = "handler", .name = emitter->name,
		.problem = PEALI_PRINT(
			"emits messages of another length than handler "
			"'%s' takes",
			taker->name),
		.number = emitter->output_bytes, .least = taker->input_bytes,
		.most = taker->input_bytes,
		.remedy = "connect handlers of one message type");
}

int peali_handler_takes_dead_letters(const struct peal_handler_info *taker,
				     const char *call)
{
	if (!taker || !taker->input_bytes)
		return 0;
	return PEALI_REFUSE(
		PEAL_EINVAL, call, .object = "handler", .name = taker->name,
		.problem = "takes messages of one length, and dead "
			   "letters have any length",
		.value = PEALI_PRINT("%u bytes", taker->input_bytes),
		.allowed = "0, any length",
		.remedy = "connect another handler");
}

void peali_link_end_add_links(const struct peali_link_end *end, int n)
{
	if (end->kernel && !end->dead_letters && !end->fwd_link)
		end->kernel->actors.entries[end->actor].n_links += (uint32_t)n;
}

int peali_link_end_is_live(const struct peali_link_end *end)
{
	return end->kernel && !peali_kernel_ended(end->kernel);
}

int peali_link_end_tell(const struct peali_link_end *end, uint16_t type,
			const char *call)
{
	struct peal_link_view view;
	int result;

	if (!peali_link_end_is_live(end))
		return 0;
	memset(&view, 0, sizeof(view));
	view.index = end->index;
	result = peali_kernel_tell(end->kernel, end->worker, type, &view,
				   sizeof(view), call);
	return result == PEAL_ESTOPPED ? 0 : result;
}

int peali_link_end_post(const struct peali_link_end *end, uint16_t type,
			uint64_t counts)
{
	struct peal_link_view view;

	if (!peali_link_end_is_live(end))
		return 0;
	memset(&view, 0, sizeof(view));
	view.index = end->index;
	view.counts = counts;
	return peali_kernel_post(end->kernel, end->worker, type, &view,
				 sizeof(view));
}
