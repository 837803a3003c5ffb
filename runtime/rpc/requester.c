/* SPDX-License-Identifier: Apache-2.0 */
/* Creates, connects and closes requesters. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <peal/request.h>

#include "runtime/base/error.h"
#include "runtime/base/math.h"
#include "runtime/base/refusal.h"
#include "runtime/base/text.h"
#include "runtime/base/wait.h"
#include "runtime/kernel/address.h"
#include "runtime/kernel/features.h"
#include "runtime/kernel/kernel.h"
#include "runtime/link/endpoint.h"
#include "runtime/link/link.h"
#include "runtime/link/reject_table.h"
#include "runtime/rpc/requester.h"

#define OPEN "peal_requester_create"
#define LISTEN "peal_requester_listen"
#define CLOSE "peal_requester_destroy"

#define OUTSTANDING_MAX 65535u
/* bytes: the largest payload of a link, less both prefixes */
#define PAYLOAD_MAX ((256ULL << 20) - PEAL_REQUEST_BYTES - PEAL_DEADLINE_BYTES)

static void free_requester(struct peal_requester *r)
{
	uint32_t i;

	for (i = 0; r->requests && i < r->n_requests; i++)
		free(r->requests[i].kept);
	free(r->requests);
	free(r->free);
	free(r->links);
	pthread_mutex_destroy(&r->lock);
	pthread_cond_destroy(&r->change);
	free(r);
}

static struct peal_requester *
new_requester(struct peal_runtime *rt, const struct peal_requester_options *o)
{
	struct peal_requester *r = calloc(1, sizeof(*r));
	uint32_t i;

	if (!r)
		return NULL;
	r->rt = rt;
	pthread_mutex_init(&r->lock, NULL);
	peali_cond_init(&r->change);
	peali_text_fit(r->name, sizeof(r->name), o->name);
	r->message_bytes = o->message_bytes;
	r->reply_bytes = o->reply_bytes;
	r->deadlines = o->deadlines;
	r->max_links = 1 + o->max_sources;
	r->n_requests = r->n_free = o->max_outstanding;
	r->links = calloc(r->max_links, sizeof(struct peal_link *));
	r->requests = calloc(r->n_requests, sizeof(*r->requests));
	r->free = calloc(r->n_requests, sizeof(*r->free));
	if (!r->links || !r->requests || !r->free) {
		free_requester(r);
		return NULL;
	}
	for (i = 0; i < r->n_free; i++)
		r->free[i] = r->n_free - 1 - i;
	return r;
}

static int check_options(struct peal_requester_options *o)
{
	if (!o->max_outstanding)
		o->max_outstanding = 64;
	if (!o->message_bytes)
		o->message_bytes = 48;
	if (!o->reply_bytes)
		o->reply_bytes = 48;
	if (!o->max_sources)
		o->max_sources = 16;
	if (!o->name)
		o->name = "requester";
	if (o->max_outstanding > OUTSTANDING_MAX)
		return peali_refuse_option(OPEN, "max_outstanding",
					   o->max_outstanding, 1,
					   OUTSTANDING_MAX);
	if (o->message_bytes > PAYLOAD_MAX || o->reply_bytes > PAYLOAD_MAX)
		return peali_refuse_option(
			OPEN,
			o->message_bytes > PAYLOAD_MAX ? "message_bytes" :
							 "reply_bytes",
			o->message_bytes > PAYLOAD_MAX ? o->message_bytes :
							 o->reply_bytes,
			1, PAYLOAD_MAX);
	if (o->max_sources > 4096)
		return peali_refuse_option(OPEN, "max_sources", o->max_sources,
					   1, 4096);
	if (o->deadlines > 1)
		return peali_refuse_option(OPEN, "deadlines", o->deadlines, 0,
					   1);
	return 0;
}

/* Connects two addresses by the next link of the requester. `added` is the
 * number of bytes that Peal adds to each payload. */
static int link_up(struct peal_requester *r, uint64_t from, uint32_t port,
		   uint64_t to, uint64_t payload, uint32_t added)
{
	struct peal_link_options o = {
		.size = sizeof(o),
		.capacity = peali_power_of_two(r->n_requests),
		.message_bytes = payload + added,
	};
	int result = peali_connect(r->rt, from, port, to, &o, added,
				   &r->links[r->n_links]);

	if (!result)
		r->n_links++;
	return result;
}

static int take_table(struct peal_requester *r)
{
	int result;

	pthread_mutex_lock(&r->rt->lock);
	result =
		peali_reject_table_take(r->rt, r->n_requests, &r->reject_table);
	pthread_mutex_unlock(&r->rt->lock);
	if (!r->reject_table)
		return result;
	r->n_ids = r->reject_table->n_ids;
	peali_endpoint_set_table(r->endpoint, r->reject_table);
	return result;
}

static void give_table(struct peal_requester *r)
{
	pthread_mutex_lock(&r->rt->lock);
	if (r->reject_table)
		r->reject_table->n_ids = r->n_ids;
	peali_reject_table_give(r->reject_table);
	pthread_mutex_unlock(&r->rt->lock);
}

/* Checks the program of the requested actor or pool, if it is of this process. */
static int check_program(struct peal_runtime *rt, uint64_t to)
{
	struct peal_kernel *k;
	int result = 0;

	pthread_mutex_lock(&rt->lock);
	k = peali_kernel_of(rt, to);
	if (!k)
		peali_pool_at(rt, to, &k);
	if (k)
		result = PEALI_NEEDS(k->program, REQUESTS, OPEN, "a request");
	pthread_mutex_unlock(&rt->lock);
	return result;
}

int peal_requester_create(struct peal_runtime *rt, uint64_t to,
			  const struct peal_requester_options *options,
			  struct peal_requester **requester_out)
{
	struct peal_requester_options o;
	struct peal_endpoint_options at = { .size = sizeof(at),
					    .max_ports = 1 };
	struct peal_requester *r;
	int result;

	if (!rt || !requester_out)
		return peali_refuse_null(OPEN, "runtime or requester_out");
	if (peali_foreign(&rt->owner, OPEN))
		return PEAL_EFORKED;
	result = peali_options_copy(&o, sizeof(o), options, OPEN);
	if (!result)
		result = check_options(&o);
	if (!result)
		result = check_program(rt, to);
	if (result)
		return result;
	r = new_requester(rt, &o);
	if (!r)
		return peali_fail(PEAL_ENOMEM, OPEN,
				  "no memory for %u requests",
				  o.max_outstanding);
	at.max_inputs = o.max_sources;
	at.name = r->name;
	result = peali_endpoint_create_for(rt, &at, PEAL_WAIT_REQUEST,
					   &r->endpoint);
	if (!result) {
		r->endpoint->send_kind =
			PEAL_WAIT_KINDS; /* send_later counts */
		result = take_table(r);
	}
	if (!result)
		result = link_up(r, peal_endpoint_address(r->endpoint), 0, to,
				 r->message_bytes,
				 PEAL_REQUEST_BYTES +
					 (r->deadlines ? PEAL_DEADLINE_BYTES :
							 0));
	if (result) {
		give_table(r);
		peal_endpoint_destroy(r->endpoint);
		free_requester(r);
		return peali_fail_in(result, "peal_requester_create");
	}
	atomic_store(&r->endpoint->serves, r->links[0]);
	pthread_mutex_lock(&rt->lock);
	r->next = rt->requesters;
	rt->requesters = r;
	pthread_mutex_unlock(&rt->lock);
	*requester_out = r;
	return 0;
}

int peal_requester_listen(struct peal_requester *r, uint64_t from,
			  uint32_t port)
{
	if (!r)
		return peali_refuse_null(LISTEN, "requester");
	if (peali_foreign(&r->rt->owner, LISTEN))
		return PEAL_EFORKED;
	if (r->n_links == r->max_links)
		return PEALI_REFUSE(
			PEAL_ENOSPC, LISTEN, .object = "requester",
			.name = r->name,
			.problem = "has too many sources of replies",
			.number = r->max_links, .most = r->max_links - 1,
			.remedy = "raise max_sources");
	return peali_fail_in(link_up(r, from, port,
				     peal_endpoint_address(r->endpoint),
				     r->reply_bytes, PEAL_REQUEST_BYTES),
			     LISTEN);
}

int peal_requester_links(struct peal_requester *r, struct peal_link **links_out,
			 uint32_t n)
{
	uint32_t i;

	if (!r || (n && !links_out))
		return peali_refuse_null("peal_requester_links",
					 "requester or links_out");
	if (peali_foreign(&r->rt->owner, "peal_requester_links"))
		return PEAL_EFORKED;
	for (i = 0; i < n && i < r->n_links; i++)
		links_out[i] = r->links[i];
	return (int)r->n_links;
}

static void forget(struct peal_requester *r)
{
	struct peal_requester **p;

	pthread_mutex_lock(&r->rt->lock);
	for (p = &r->rt->requesters; *p != r; p = &(*p)->next)
		;
	*p = r->next;
	pthread_mutex_unlock(&r->rt->lock);
}

int peal_requester_destroy(struct peal_requester *r)
{
	uint32_t inside;
	int result;

	if (!r)
		return 0;
	if (peali_foreign(&r->rt->owner, "peal_requester_destroy"))
		return PEAL_EFORKED;
	pthread_mutex_lock(&r->lock);
	inside = r->inside;
	pthread_mutex_unlock(&r->lock);
	if (inside)
		return peali_fail(PEAL_EBUSY, CLOSE,
				  "'%s': threads that wait for replies: %u; "
				  "destroy it after these calls",
				  r->name, inside);
	atomic_store(&r->endpoint->serves, NULL);
	while (r->n_links) {
		result = peal_link_destroy(r->links[r->n_links - 1]);
		if (result)
			return peali_fail_in(result, CLOSE);
		r->n_links--;
	}
	result = peal_endpoint_destroy(r->endpoint);
	if (result)
		return peali_fail_in(result, CLOSE);
	forget(r);
	give_table(r);
	free_requester(r);
	return 0;
}

uint32_t peali_requesters_count(const struct peal_runtime *rt)
{
	const struct peal_requester *r;
	uint32_t n = 0;

	for (r = rt->requesters; r; r = r->next)
		n++;
	return n;
}

void peali_requesters_clear(struct peal_runtime *rt)
{
	struct peal_requester *r;

	while ((r = rt->requesters)) {
		rt->requesters = r->next;
		free_requester(r);
	}
}

int peal_requester_info(struct peal_requester *r,
			struct peal_requester_info *info_out)
{
	if (!r || !info_out)
		return peali_refuse_null("peal_requester_info",
					 "requester or info_out");
	if (peali_foreign(&r->rt->owner, "peal_requester_info"))
		return PEAL_EFORKED;
	pthread_mutex_lock(&r->lock);
	*info_out = r->info;
	pthread_mutex_unlock(&r->lock);
	info_out->in_flight = info_out->asked - info_out->replied -
			      info_out->error_replies - info_out->cancelled;
	return 0;
}
