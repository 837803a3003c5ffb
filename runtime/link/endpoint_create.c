/* SPDX-License-Identifier: Apache-2.0 */
/* Endpoints: creates them, attaches links, resolves addresses, frees them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <peal/device/link_consumer.h>
#include <peal/device/link_producer.h>
#include "runtime/base/error.h"
#include "runtime/base/refusal.h"
#include "runtime/base/text.h"
#include "runtime/base/wait.h"
#include "runtime/kernel/address.h"
#include "runtime/kernel/name_table.h"
#include "runtime/link/endpoint.h"
#include "runtime/link/link.h"
#include "runtime/link/reject_table.h"
#include "runtime/runtime.h"

struct peal_endpoint *peali_endpoint_of(struct peal_runtime *rt,
					uint64_t address)
{
	struct peal_endpoint *e;

	if (address >> 48 != PEALI_ADDRESS_HOST || (uint32_t)address)
		return NULL;
	for (e = rt->endpoints; e; e = e->next)
		if (e->id == ((uint32_t)(address >> 32) & 0xffff))
			return e;
	return NULL;
}

uint64_t peal_endpoint_address(const struct peal_endpoint *e)
{
	if (!e || peali_forked(&e->owner, "peal_endpoint_address"))
		return 0;
	return peali_address(PEALI_ADDRESS_HOST, e->id, 0);
}

static void free_endpoint(struct peal_endpoint *e)
{
	if (!e)
		return;
	free(e->ports);
	free(e->inputs);
	free(e->send_bell);
	if (!e->reject_table) /* else the bell is the table's */
		free(e->receive_bell);
	pthread_mutex_destroy(&e->monitors_lock);
	free(e);
}

static struct peal_endpoint *new_endpoint(struct peal_runtime *rt,
					  const struct peal_endpoint_options *o)
{
	struct peal_endpoint *e = calloc(1, sizeof(*e));

	if (!e)
		return NULL;
	e->rt = rt;
	e->owner = rt->owner;
	pthread_mutex_init(&e->monitors_lock, NULL);
	e->max_ports = o->max_ports ? o->max_ports : 16;
	e->max_inputs = o->max_inputs ? o->max_inputs : 16;
	peali_text_fit(e->name, sizeof(e->name),
		       o->name ? o->name : "endpoint");
	e->ports = calloc(e->max_ports, sizeof(*e->ports));
	e->inputs = calloc(e->max_inputs, sizeof(*e->inputs));
	e->send_bell = peali_bell_new();
	e->receive_bell = peali_bell_new();
	if (e->ports && e->inputs && e->send_bell && e->receive_bell)
		return e;
	free_endpoint(e);
	return NULL;
}

void peali_endpoint_set_table(struct peal_endpoint *e,
			      struct peali_reject_table *b)
{
	const struct peali_devices *devices = &e->rt->devices;
	int i;

	free(e->receive_bell);
	e->receive_bell = b->bell;
	e->reject_table = b;
	for (i = 0; i < devices->n; i++)
		if (!peali_devices_ring(devices, i))
			atomic_store(&e->silent, 1);
}

/*
 * Returns an unused endpoint number, 16 bits of the address; 0: all are used.
 * The caller holds rt->lock.
 */
static uint32_t free_id(struct peal_runtime *rt)
{
	const struct peal_endpoint *e;
	uint32_t id, tries;

	for (tries = 0; tries < 65536; tries++) {
		id = rt->next_endpoint++ & 0xffff;
		for (e = rt->endpoints; e && e->id != id; e = e->next)
			;
		if (id && !e)
			return id;
	}
	return 0;
}

int peal_endpoint_create(struct peal_runtime *rt,
			 const struct peal_endpoint_options *options,
			 struct peal_endpoint **endpoint_out)
{
	struct peal_endpoint_options o;
	struct peal_endpoint *e;
	int result;

	if (!rt || !endpoint_out)
		return peali_refuse_null("peal_endpoint_create",
					 "runtime or endpoint_out");
	if (peali_foreign(&rt->owner, "peal_endpoint_create"))
		return PEAL_EFORKED;
	result = peali_options_copy(&o, sizeof(o), options,
				    "peal_endpoint_create");
	if (result)
		return result;
	if (o.max_ports > 4096 || o.max_inputs > 4096)
		return peali_refuse_option(
			"peal_endpoint_create",
			o.max_ports > 4096 ? "max_ports" : "max_inputs",
			o.max_ports > 4096 ? o.max_ports : o.max_inputs, 1,
			4096);
	e = new_endpoint(rt, &o);
	if (!e)
		return peali_fail(PEAL_ENOMEM, "peal_endpoint_create",
				  "no memory for an endpoint");
	pthread_mutex_lock(&rt->lock);
	e->id = free_id(rt);
	if (e->id) {
		e->next = rt->endpoints;
		rt->endpoints = e;
	}
	pthread_mutex_unlock(&rt->lock);
	if (!e->id) {
		free_endpoint(e);
		return peali_fail(PEAL_ENOMEM, "peal_endpoint_create",
				  "there are 65535 endpoints already");
	}
	e->send_kind = PEAL_WAIT_SEND;
	e->receive_kind = PEAL_WAIT_RECEIVE;
	*endpoint_out = e;
	return 0;
}

int peali_endpoint_create_for(struct peal_runtime *rt,
			      const struct peal_endpoint_options *options,
			      enum peal_wait_kind kind,
			      struct peal_endpoint **endpoint_out)
{
	int result = peal_endpoint_create(rt, options, endpoint_out);

	if (!result)
		(*endpoint_out)->send_kind = (*endpoint_out)->receive_kind =
			kind;
	return result;
}

int peal_endpoint_destroy(struct peal_endpoint *e)
{
	struct peal_endpoint **p;
	struct peal_runtime *rt;
	struct peal_link *link;
	int result = 0;

	if (!e)
		return 0;
	if (peali_foreign(&e->owner, "peal_endpoint_destroy"))
		return PEAL_EFORKED;
	rt = e->rt;
	pthread_mutex_lock(&rt->lock);
	for (link = rt->links; link && !result; link = link->next)
		if (link->from.endpoint == e || link->to.endpoint == e)
			result = peali_fail(PEAL_EBUSY, "peal_endpoint_destroy",
					    "link %llu names endpoint '%s'; "
					    "destroy the link first",
					    (unsigned long long)link->id,
					    e->name);
	if (!result) {
		rt->hooks->endpoint_ends(e);
		for (p = &rt->endpoints; *p != e; p = &(*p)->next)
			;
		*p = e->next;
		peali_name_forget(rt, peal_endpoint_address(e));
	}
	pthread_mutex_unlock(&rt->lock);
	if (!result)
		free_endpoint(e);
	return result;
}

/* ---- attaching links ----------------------------------------------------- */

void peali_endpoint_attach_port(struct peal_endpoint *e, uint32_t port,
				struct peal_link *link)
{
	struct peali_endpoint_port *p = &e->ports[port];
	struct peal_link_view view;
	uint32_t i;

	if (link) {
		if (peali_link_silent(link))
			atomic_store(&e->silent, 1);
		view = peali_link_sender_view(link, &link->path);
		peal_link_producer_init(&p->producer, &view);
		p->reserved = 0;
		atomic_store(&p->switches, 0);
		atomic_store(&p->ended, 0);
		p->gates_seen = p->gate = 0;
		for (i = 0; i < PEALI_GATE_MARKS; i++)
			atomic_store(&p->mark[i].gate, 0);
	}
	atomic_store(&p->link, link);
}

void peali_endpoint_attach_input(struct peal_endpoint *e, uint32_t input,
				 struct peal_link *link)
{
	struct peali_endpoint_input *in = &e->inputs[input];
	struct peal_link_view view;

	if (link) {
		if (peali_link_silent(link))
			atomic_store(&e->silent, 1);
		view = peali_link_receiver_view(link, &link->path);
		peal_link_consumer_init(&in->consumer, &view);
		in->done = 0;
		atomic_store(&in->has_next, 0);
	} else if (e->peeked && e->message.input == input) {
		e->peeked = 0; /* the held message is in this link's ring */
	}
	atomic_store(&in->link, link);
	if (input >= atomic_load(&e->n_inputs))
		atomic_store(&e->n_inputs, input + 1);
}
