/* SPDX-License-Identifier: Apache-2.0 */
/* Topics: creation, memory and counters. Their ends: topic_subscribe.c. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <peal/device/impl/worker/worker.h>
#include <peal/topic.h>
#include "queues/topic.h"
#include "runtime/base/error.h"
#include "runtime/base/math.h"
#include "runtime/base/refusal.h"
#include "runtime/base/text.h"
#include "runtime/base/wait.h"
#include "runtime/device/backend.h"
#include "runtime/device/devices.h"
#include "runtime/device/memory_block.h"
#include "runtime/kernel/address.h"
#include "runtime/kernel/kernel.h"
#include "runtime/kernel/name_table.h"
#include "runtime/link/endpoint_ref.h"
#include "runtime/link/topic.h"

#define CALL "peal_topic_create"
#define CAPACITY 64
#define SUBSCRIBERS 8

/* ---- memory -------------------------------------------------------------- */

/* Returns the bytes of an end's private memory: a struct and two stages. */
static uint64_t own_bytes(const struct peali_topic *t)
{
	return peali_whole_lines(sizeof(struct peal_subscription) +
				 2 * PEAL_TOPIC_STAGE(t->spec.slot_bytes));
}

static uint64_t counts_bytes(const struct peali_topic *t)
{
	return sizeof(struct peal_topic_published) +
	       (uint64_t)t->spec.n_subscribers *
		       sizeof(struct peal_topic_counts);
}

static int make_memory(struct peali_topic *t)
{
	uint64_t ends = 1 + (uint64_t)t->spec.n_subscribers;
	struct peal_topic header;
	uint8_t *host;
	int result;

	result = peali_block_alloc(
		t->rt, t->device,
		peali_topic_bytes(&t->spec) + ends * own_bytes(t), &t->own);
	if (!result)
		result = peali_block_alloc(
			t->rt, PEALI_HOST,
			peali_whole_lines(counts_bytes(t) +
					  ends * sizeof(uint64_t)),
			&t->shared);
	if (result)
		return result;
	host = (uint8_t *)(uintptr_t)peali_block_view(t->rt, PEALI_HOST,
						      &t->shared);
	t->published = (struct peal_topic_published *)(void *)host;
	t->counts = (struct peal_topic_counts *)(void *)(t->published + 1);
	t->bells = (uint64_t *)(void *)(host + counts_bytes(t));
	peali_topic_header(&header, &t->spec);
	return peali_block_write(t->rt, &t->own, 0, &header, sizeof(header));
}

struct peal_topic_view peali_topic_view(const struct peali_topic *t, int cursor)
{
	uint64_t own = peali_block_view(t->rt, t->device, &t->own);
	uint64_t shared = peali_block_view(t->rt, t->device, &t->shared);
	struct peal_topic_view view;

	memset(&view, 0, sizeof(view));
	view.topic = own;
	view.own = own + peali_topic_bytes(&t->spec) +
		   (uint64_t)(1 + cursor) * own_bytes(t);
	view.counts = shared;
	if (cursor >= 0) {
		view.counts +=
			sizeof(struct peal_topic_published) +
			(uint64_t)cursor * sizeof(struct peal_topic_counts);
		view.cursor = (uint32_t)cursor;
	}
	if (peali_devices_ring(&t->rt->devices, t->device))
		view.bells = shared + counts_bytes(t);
	return view;
}

/* ---- create, destroy ----------------------------------------------------- */

struct peali_topic *peali_topic_of(struct peal_runtime *rt, uint64_t address,
				   const char *call)
{
	struct peali_topic *t;

	for (t = rt->topics; t; t = t->next)
		if (t->address == address)
			return t;
	peali_refuse_address(call, "topic", address, "topic");
	return NULL;
}

static void free_topic(struct peali_topic *t)
{
	peali_block_free(t->rt, &t->own);
	peali_block_free(t->rt, &t->shared);
	free(t->subscribers);
	free(t);
}

static int complete(struct peali_topic *t, const struct peal_topic_options *o)
{
	struct peali_backend *b = t->rt->devices.device[t->device].backend;

	t->spec.slots = o->capacity ? o->capacity : CAPACITY;
	t->spec.message_bytes = o->message_bytes;
	t->spec.n_subscribers = o->max_subscribers ? o->max_subscribers :
						     SUBSCRIBERS;
	t->spec.policy = o->policy;
	t->spec.mode = o->overwrite;
	peali_text_fit(t->name, sizeof(t->name), o->name ? o->name : "topic");
	return peali_topic_spec_complete(
		&t->spec, peali_devices_policies(&t->rt->devices, t->device),
		(uint32_t)b->ops->default_policy(b), CALL);
}

int peal_topic_create(struct peal_runtime *rt, int device,
		      const struct peal_topic_options *options,
		      uint64_t *address_out)
{
	struct peal_topic_options o;
	struct peali_topic *t;
	int result;

	if (!rt || !address_out)
		return peali_refuse_null(CALL, "runtime or address_out");
	if (peali_foreign(&rt->owner, CALL))
		return PEAL_EFORKED;
	result = peali_devices_check(&rt->devices, device, CALL);
	if (!result)
		result = peali_options_copy(&o, sizeof(o), options, CALL);
	if (result)
		return result;
	t = calloc(1, sizeof(*t));
	if (!t)
		return peali_fail(PEAL_ENOMEM, CALL, "no memory for a topic");
	t->rt = rt;
	t->device = device;
	result = complete(t, &o);
	if (!result) {
		t->subscribers =
			calloc(t->spec.n_subscribers, sizeof(*t->subscribers));
		if (!t->subscribers)
			result = peali_fail(PEAL_ENOMEM, CALL,
					    "no memory for a topic");
	}
	pthread_mutex_lock(&rt->lock);
	if (!result)
		result = make_memory(t);
	if (!result) {
		t->address =
			PEALI_ADDRESS_TOPIC |
			peali_address((uint32_t)device, 0, ++rt->next_topic);
		t->next = rt->topics;
		rt->topics = t;
		*address_out = t->address;
	}
	pthread_mutex_unlock(&rt->lock);
	if (result)
		free_topic(t);
	return peali_fail_in(result, "peal_topic_create");
}

/* Returns PEAL_EBUSY if the topic has a subscriber, and names it in the text. */
static int has_subscriber(const struct peali_topic *t)
{
	uint32_t i;

	for (i = 0; i < t->spec.n_subscribers; i++) {
		const struct peali_link_end *end = &t->subscribers[i].end;

		if (end->kernel)
			return peali_fail(PEAL_EBUSY, "peal_topic_destroy",
					  "actor %u of kernel '%s' "
					  "subscribes to topic '%s'; call "
					  "peal_unsubscribe first",
					  end->actor, end->kernel->name,
					  t->name);
	}
	return 0;
}

/* Returns PEAL_EBUSY if an end is left, and names it in the text. */
static int in_use(const struct peali_topic *t)
{
	const struct peali_topic *copy =
		peali_topic_copy(t->rt->topics, t->address);
	int result = 0;

	if (t->publisher.kernel)
		return peali_fail(PEAL_EBUSY, "peal_topic_destroy",
				  "actor %u of kernel '%s' publishes to "
				  "topic '%s'; call peal_unpublish first",
				  t->publisher.actor, t->publisher.kernel->name,
				  t->name);
	/* subscribers on other devices first: the program knows them */
	for (; copy && !result; copy = peali_topic_copy(copy->next, t->address))
		result = has_subscriber(copy);
	return result ? result : has_subscriber(t);
}

int peal_topic_destroy(struct peal_runtime *rt, uint64_t address)
{
	struct peali_topic *t, **p;
	int result;

	if (!rt)
		return peali_refuse_null("peal_topic_destroy", "runtime");
	if (peali_foreign(&rt->owner, "peal_topic_destroy"))
		return PEAL_EFORKED;
	pthread_mutex_lock(&rt->lock);
	t = peali_topic_of(rt, address, "peal_topic_destroy");
	result = t ? in_use(t) : PEAL_ENOENT;
	if (!result) {
		for (p = &rt->topics; *p != t; p = &(*p)->next)
			;
		*p = t->next;
		peali_name_forget(rt, address);
		free_topic(t);
	}
	pthread_mutex_unlock(&rt->lock);
	return result;
}

uint32_t peali_topics_count(const struct peal_runtime *rt)
{
	const struct peali_topic *t;
	uint32_t n = 0;

	for (t = rt->topics; t; t = t->next)
		n += !t->copy_of; /* a program does not know the copies */
	return n;
}

void peali_topics_clear(struct peal_runtime *rt)
{
	struct peali_topic *t;

	pthread_mutex_lock(&rt->lock); /* the watchdog reads the list */
	while (rt->topics) {
		t = rt->topics;
		rt->topics = t->next;
		free_topic(t);
	}
	pthread_mutex_unlock(&rt->lock);
}

/* ---- counters ------------------------------------------------------------ */

/*
 * Returns the number of messages published for a subscriber. The subscriber has
 * seen `seen` of them. A device may show a message before the publisher's count
 * of it. Then the count is at least `seen`.
 */
static uint64_t published_for(const struct peali_topic *t, uint32_t cursor,
			      uint64_t ended, uint64_t first, uint64_t seen)
{
	const struct peali_subscriber *s = &t->subscribers[cursor];
	uint64_t n;

	if (s->closed)
		n = s->published - first;
	else if (ended)
		n = ended - 1 - first;
	else
		n = peal_load_acquire_sys(&t->published->messages) - first;
	return (int64_t)(n - seen) < 0 ? seen : n;
}

/* Reads the subscriber's counts first, then the publisher's. The publisher
 * stores its count before the message, but a device may reorder both stores. */
void peali_subscriber_read(const struct peali_topic *t, uint32_t cursor,
			   struct peal_subscriber_info *out)
{
	const struct peali_subscriber *s = &t->subscribers[cursor];
	const struct peal_topic_counts *c = &t->counts[cursor];
	uint64_t seen, ended, i;

	memset(out, 0, sizeof(*out));
	out->address = s->end.address;
	ended = peal_load_acquire_sys(&c->ended);
	out->delivered = peal_load_acquire_sys(&c->link.delivered);
	out->delivered_bytes = peal_load_relaxed_sys(&c->link.delivered_bytes);
	out->missed = peal_load_acquire_sys(&c->missed);
	seen = out->delivered + out->missed;
	for (i = 0; i < PEAL_REASON_COUNT; i++) {
		out->dead[i] = peal_load_acquire_sys(&c->link.dead[i]);
		seen += out->dead[i];
	}
	out->first = peal_load_relaxed_sys(&c->first);
	out->published = published_for(t, cursor, ended, out->first, seen);
	out->queued = out->published - seen;
	out->ended = ended != 0;
	out->gone = s->gone && !out->ended;
	out->priority = s->priority;
	out->device = t->device;
	out->forwarder = s->end.kernel &&
			 s->end.kernel->program == &peal_program_peal_relay;
	if (out->gone || out->ended) { /* the queued messages are dead */
		out->dead[PEAL_REASON_STOPPED] += out->queued;
		out->queued = 0;
	}
}

/* Counts the subscribers and finds the slowest. The publisher's count may lag
 * behind theirs. */
static void read_subscribers(const struct peali_topic *t,
			     struct peal_topic_info *out)
{
	struct peal_subscriber_info info;
	uint64_t most = 0;
	uint32_t i;

	for (i = 0; i < t->spec.n_subscribers; i++) {
		if (!t->subscribers[i].end.kernel)
			continue;
		out->subscribers++;
		peali_subscriber_read(t, i, &info);
		if (out->published < info.first + info.published)
			out->published = info.first + info.published;
		if (info.queued <= most)
			continue;
		most = info.queued;
		out->slowest = info.address;
	}
}

/* Returns the number of subscribers on other devices. */
static uint32_t count_far(const struct peali_topic *t)
{
	const struct peali_topic *copy =
		peali_topic_copy(t->rt->topics, t->address);
	uint32_t n = 0;

	for (; copy; copy = peali_topic_copy(copy->next, t->address))
		n += peali_topic_n_subscribers(copy);
	return n;
}

/* Writes the counters of a topic's subscribers from element `there` on, as far as
 * there are n elements. Returns the number of the next element. */
static uint32_t list_subscribers(const struct peali_topic *t,
				 struct peal_subscriber_info *info_out,
				 uint32_t there, uint32_t n)
{
	uint32_t i;

	for (i = 0; i < t->spec.n_subscribers; i++) {
		if (!t->subscribers[i].end.kernel)
			continue;
		if (there < n)
			peali_subscriber_read(t, i, &info_out[there]);
		there++;
	}
	return there;
}

int peal_topic_info(struct peal_runtime *rt, uint64_t address,
		    struct peal_topic_info *info_out)
{
	const struct peali_topic *t;

	if (!rt || !info_out)
		return peali_refuse_null("peal_topic_info",
					 "runtime or info_out");
	if (peali_foreign(&rt->owner, "peal_topic_info"))
		return PEAL_EFORKED;
	pthread_mutex_lock(&rt->lock);
	t = peali_topic_of(rt, address, "peal_topic_info");
	if (t) {
		memset(info_out, 0, sizeof(*info_out));
		memcpy(info_out->name, t->name, sizeof(info_out->name));
		info_out->device = t->device;
		info_out->capacity = t->spec.slots;
		info_out->message_bytes = t->spec.message_bytes;
		info_out->policy = t->spec.policy;
		info_out->overwrite = t->spec.mode;
		info_out->max_subscribers = t->spec.n_subscribers;
		info_out->memory_bytes = t->own.bytes + t->shared.bytes;
		info_out->publisher = t->publisher.address;
		info_out->publisher_port = t->port;
		info_out->published_bytes =
			peal_load_relaxed_sys(&t->published->bytes);
		info_out->published =
			peal_load_acquire_sys(&t->published->messages);
		read_subscribers(t, info_out);
		info_out->far_subscribers = count_far(t);
		info_out->ended = peal_load_relaxed_sys(&t->published->ended) !=
				  0;
	}
	pthread_mutex_unlock(&rt->lock);
	return t ? 0 : PEAL_ENOENT;
}

int peal_topic_subscribers(struct peal_runtime *rt, uint64_t address,
			   struct peal_subscriber_info *info_out, uint32_t n)
{
	const struct peali_topic *t, *copy;
	uint32_t there = 0;

	if (!rt || (n && !info_out))
		return peali_refuse_null("peal_topic_subscribers",
					 "runtime or info_out");
	if (peali_foreign(&rt->owner, "peal_topic_subscribers"))
		return PEAL_EFORKED;
	pthread_mutex_lock(&rt->lock);
	t = peali_topic_of(rt, address, "peal_topic_subscribers");
	if (t)
		there = list_subscribers(t, info_out, 0, n);
	copy = t ? peali_topic_copy(rt->topics, address) : NULL;
	for (; copy; copy = peali_topic_copy(copy->next, address))
		there = list_subscribers(copy, info_out, there, n);
	pthread_mutex_unlock(&rt->lock);
	return t ? (int)there : PEAL_ENOENT;
}
