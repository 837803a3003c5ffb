/* SPDX-License-Identifier: Apache-2.0 */
/* Shares of work queues: the forwarders that move messages between devices. */
#include "runtime/compute/work_share.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <peal/abi/device_queue.h>
#include <peal/abi/work.h>
#include <peal/abi/work_share.h>
#include <peal/actor.h>
#include <peal/device/atomic.h>
#include <peal/endpoint.h>
#include <peal/kernel.h>
#include <peal/link.h>
#include <peal/memory.h>

#include "p2p/peer.h"
#include "runtime/base/error.h"
#include "runtime/base/log.h"
#include "runtime/base/refusal.h"
#include "runtime/base/text.h"
#include "runtime/base/wait.h"
#include "runtime/device/devices.h"
#include "runtime/device/memory_block.h"
#include "runtime/kernel/kernel_control.h"
#include "runtime/launch/kernel_fit.h"
#include "runtime/runtime.h"

#define CREATE "peal_work_share_create"
#define DESTROY "peal_work_share_destroy"
#define LOW_DEFAULT 2
#define LEAST_NS 20000
#define MOST_NS 5000000
/* Slots of a link between forwarders: two answers and a question. */
#define SLOTS 32

extern const struct peal_program peal_program_peal_work_share;

/** The forwarder of a queue. */
struct member {
	int device;
	struct peal_device_queue queue;
	struct peali_range
		memory; /* of the queue: the share keeps it allocated */
	struct peal_kernel *kernel;
	uint64_t actor;
	uint64_t items; /* memory of the device; 0: none */
	int done; /* 1: it holds and asks nothing, and asks no more */
};

struct peal_work_share {
	struct peal_runtime *rt;
	struct peal_work_share *next;
	struct peal_work_share_options o;
	char name[48];
	uint32_t n;
	struct member *members;
	struct peal_endpoint *host;
	struct peal_link **links;
	uint32_t n_links;
	struct peali_block block; /* of the host: the counts of all members */
	struct peal_work_share_counts *counts;
	int quits; /* 1: the forwarders have been told to ask no more */
};

/* ---- checks -------------------------------------------------------------- */

static int complete(struct peal_work_share *s,
		    const struct peal_work_share_options *options)
{
	struct peal_work_share_options *o = &s->o;
	int result = peali_options_copy(o, sizeof(*o), options, CREATE);

	if (result)
		return result;
	o->batch = o->batch ? o->batch : PEAL_WORK_SHARE_BATCH;
	o->low = o->low ? o->low : LOW_DEFAULT;
	o->least_ns = o->least_ns ? o->least_ns : LEAST_NS;
	o->most_ns = o->most_ns		   ? o->most_ns :
		     o->least_ns > MOST_NS ? o->least_ns :
					     MOST_NS;
	peali_text_fit(s->name, sizeof(s->name), o->name ? o->name : "share");
	if (o->batch > PEAL_WORK_SHARE_BATCH)
		return peali_refuse_option(CREATE, "batch", o->batch, 1,
					   PEAL_WORK_SHARE_BATCH);
	if (o->low > 1 << 20)
		return peali_refuse_option(CREATE, "low", o->low, 1, 1 << 20);
	if (o->least_ns < 1000 || o->least_ns > 1000000000)
		return peali_refuse_option(CREATE, "least_ns", o->least_ns,
					   1000, 1000000000);
	if (o->most_ns < o->least_ns || o->most_ns > 1000000000)
		return peali_refuse_option(CREATE, "most_ns", o->most_ns,
					   o->least_ns, 1000000000);
	if (o->reserved)
		return peali_refuse_option(CREATE, "reserved", o->reserved, 0,
					   0);
	return 0;
}

static int refuse_queue(uint32_t i, const char *problem, uint64_t value,
			const char *allowed)
{
	return PEALI_REFUSE(PEAL_EINVAL, CREATE, .object = "queue",
			    .name = PEALI_PRINT("%u", i), .problem = problem,
			    .value = PEALI_PRINT("%llu",
						 (unsigned long long)value),
			    .allowed = allowed,
			    .remedy = "pass queues of "
				      "peal_device_queue_create with equal "
				      "options");
}

static int check_queue(const struct peal_work_share *s, uint32_t i)
{
	const struct peal_device_queue *q = &s->members[i].queue;
	const struct peal_device_queue *first = &s->members[0].queue;
	uint32_t k;

	if (q->kind != PEAL_QUEUE_WORK)
		return refuse_queue(i, "is no work queue", q->kind,
				    "kind PEAL_QUEUE_WORK");
	if (q->message_bytes != first->message_bytes)
		return refuse_queue(
			i, "has other message_bytes than queue 0",
			q->message_bytes,
			PEALI_PRINT("%llu",
				    (unsigned long long)first->message_bytes));
	if (q->max_producers < 2 || q->max_consumers < 2)
		return refuse_queue(i,
				    q->max_producers < 2 ?
					    "has too few max_producers" :
					    "has too few max_consumers",
				    1, "2 or more: one is the forwarder's");
	for (k = 0; k < i; k++)
		if (s->members[k].device == s->members[i].device &&
		    s->members[k].queue.address == q->address)
			return refuse_queue(i, "is given twice", k,
					    "different queues");
	return 0;
}

/* Refuses a queue that another share has. Both would use the same ends of it. */
static int check_shares(const struct peal_work_share *s, uint32_t i)
{
	const struct member *m = &s->members[i];
	const struct peal_work_share *other;
	int found = 0;
	uint32_t k;

	pthread_mutex_lock(&s->rt->lock);
	for (other = s->rt->work_shares; other; other = other->next)
		for (k = 0; k < other->n; k++)
			found |= other->members[k].device == m->device &&
				 other->members[k].queue.address ==
					 m->queue.address;
	pthread_mutex_unlock(&s->rt->lock);
	return found ? refuse_queue(i, "is in another share", m->queue.address,
				    "queues without a share") :
		       0;
}

/* Compares the queue in the memory of a device with its description. Keeps the
 * memory: peal_memory_free fails with PEAL_EBUSY until the share ends. */
static int keep_queue(struct peal_work_share *s, uint32_t i)
{
	struct member *m = &s->members[i];
	struct peali_place place = { m->device, m->queue.address };
	struct {
		struct peal_device_queue_header header;
		uint64_t magic; /* the first word of the queue */
	} there;
	struct peali_place to = { PEALI_HOST, (uintptr_t)&there };
	int result;

	if (m->queue.bytes < sizeof(there))
		return refuse_queue(i, "has too few bytes", m->queue.bytes,
				    "those of its description");
	result = peali_range_keep(s->rt->peers, place, m->queue.bytes, CREATE,
				  &m->memory);
	if (!result)
		result = peali_copy_sync_one(s->rt->peers, to, place,
					     sizeof(there));
	if (result)
		return result;
	if (there.header.magic != PEAL_DEVICE_QUEUE_MAGIC ||
	    there.magic != PEAL_WORK_MAGIC ||
	    there.header.consumers != m->queue.max_consumers ||
	    there.header.message_bytes != m->queue.message_bytes)
		return refuse_queue(i, "is not what its description says",
				    m->queue.address,
				    "addresses of work queues");
	return 0;
}

static int check_members(struct peal_work_share *s)
{
	uint32_t i;
	int result = 0;

	for (i = 0; i < s->n && !result; i++) {
		result = peali_devices_check(&s->rt->devices,
					     s->members[i].device, CREATE);
		if (!result)
			result = check_queue(s, i);
		if (!result)
			result = check_shares(s, i);
		if (!result)
			result = keep_queue(s, i);
	}
	return result;
}

/* ---- forwarders ---------------------------------------------------------- */

/* Returns the bytes of an item: two words, and a payload. */
static uint32_t item_bytes(const struct peal_work_share *s)
{
	return (uint32_t)(16 +
			  ((s->members[0].queue.message_bytes + 15) & ~15ull));
}

static int launch(struct peal_work_share *s, struct member *m)
{
	struct peal_kernel_options o = { .size = sizeof(o),
					 .max_inputs = s->n + 1,
					 .max_ports = s->n + 1,
					 .max_actors = 2,
					 .max_timers = 2,
					 .mailbox.slots = 16,
					 .name = s->name };

	o.lanes = peali_kernel_lanes(s->rt, m->device, 32);
	return peal_kernel_launch(s->rt, m->device,
				  &peal_program_peal_work_share, &o,
				  &m->kernel);
}

static int spawn(struct peal_work_share *s, uint32_t rank)
{
	struct member *m = &s->members[rank];
	struct peal_work_share_init init = {
		.queue = m->queue.address,
		.items = m->items,
		.counts = peali_block_view(s->rt, m->device, &s->block) +
			  rank * sizeof(struct peal_work_share_counts),
		.least_ns = s->o.least_ns,
		.most_ns = s->o.most_ns,
		.item_bytes = item_bytes(s),
		.message_bytes = (uint32_t)m->queue.message_bytes,
		.consumer = m->queue.max_consumers - 1,
		.rank = rank,
		.n = s->n,
		.batch = s->o.batch,
		.low = s->o.low
	};
	struct peal_actor_options o = { .size = sizeof(o),
					.init = &init,
					.init_bytes = sizeof(init) };
	char handler[24];

	snprintf(handler, sizeof(handler), "share_%u", s->n);
	return peal_actor_spawn(m->kernel, handler, &o, &m->actor);
}

static int make_member(struct peal_work_share *s, uint32_t rank)
{
	struct member *m = &s->members[rank];
	int result = peal_memory_alloc(s->rt, m->device,
				       2 * s->o.batch * (uint64_t)item_bytes(s),
				       &m->items);

	if (!result)
		result = launch(s, m);
	return result ? result : spawn(s, rank);
}

static int connect_two(struct peal_work_share *s, uint64_t from, uint32_t port,
		       uint64_t to, uint64_t bytes)
{
	struct peal_link_options o = { .size = sizeof(o),
				       .capacity = SLOTS,
				       .message_bytes = bytes };
	int result =
		peal_connect(s->rt, from, port, to, &o, &s->links[s->n_links]);

	s->n_links += !result;
	return result;
}

/* Connects a forwarder with the host and with all others. */
static int connect_member(struct peal_work_share *s, uint32_t rank)
{
	uint64_t host = peal_endpoint_address(s->host);
	const struct member *m = &s->members[rank];
	uint64_t bytes = m->queue.message_bytes + sizeof(struct peal_header);
	uint32_t i;
	int result = connect_two(s, host, rank, m->actor,
				 sizeof(struct peal_work_share_word));

	if (!result)
		result = connect_two(s, m->actor, 0, host,
				     sizeof(struct peal_work_share_word));
	for (i = 0; i < s->n && !result; i++)
		if (i != rank)
			result = connect_two(s, m->actor, i < rank ? 1 + i : i,
					     s->members[i].actor, bytes);
	return result;
}

/* Sends a word of the host to all forwarders. */
static int tell_all(struct peal_work_share *s, uint16_t type)
{
	const struct peal_work_share_word word = { 0, 0 };
	int64_t limit = (int64_t)s->rt->control_timeout_ms * 1000000;
	uint32_t i;
	int result = 0;

	for (i = 0; i < s->n && !result; i++)
		result = peal_send(s->host, i, type, &word, sizeof(word), limit,
				   NULL);
	return result;
}

static int make_parts(struct peal_work_share *s)
{
	struct peal_endpoint_options o = { .size = sizeof(o),
					   .max_ports = s->n,
					   .max_inputs = s->n,
					   .name = s->name };
	uint32_t i;
	int result = peali_block_alloc(s->rt, PEALI_HOST,
				       s->n * sizeof(*s->counts), &s->block);

	if (result)
		return result;
	s->counts =
		(struct peal_work_share_counts *)(uintptr_t)peali_block_view(
			s->rt, PEALI_HOST, &s->block);
	memset(s->counts, 0, s->n * sizeof(*s->counts));
	result = peal_endpoint_create(s->rt, &o, &s->host);
	for (i = 0; i < s->n && !result; i++)
		result = make_member(s, i);
	for (i = 0; i < s->n && !result; i++)
		result = connect_member(s, i);
	return result ? result : tell_all(s, 0);
}

/* ---- end ----------------------------------------------------------------- */

static void enlist(struct peal_work_share *s)
{
	pthread_mutex_lock(&s->rt->lock);
	s->next = s->rt->work_shares;
	s->rt->work_shares = s;
	pthread_mutex_unlock(&s->rt->lock);
}

static void unlist(struct peal_work_share *s)
{
	struct peal_work_share **at = &s->rt->work_shares;

	pthread_mutex_lock(&s->rt->lock);
	while (*at != s)
		at = &(*at)->next;
	*at = s->next;
	pthread_mutex_unlock(&s->rt->lock);
}

static int end_kernels(struct peal_work_share *s)
{
	uint64_t deadline = peali_deadline(s->rt->stop_ns);
	uint32_t i;
	int result = 0;

	for (i = 0; i < s->n; i++)
		if (s->members[i].kernel)
			peal_kernel_stop(s->members[i].kernel, 0);
	for (i = 0; i < s->n; i++)
		if (s->members[i].kernel &&
		    peali_kernel_end(s->members[i].kernel, deadline))
			result = PEAL_EHUNG;
	return result;
}

static int free_kernels(struct peal_work_share *s)
{
	uint32_t i;
	int result = 0;

	while (s->n_links && !result) {
		result = peal_link_destroy(s->links[s->n_links - 1]);
		s->n_links -= !result;
	}
	for (i = 0; i < s->n && !result; i++) {
		result = peal_kernel_destroy(s->members[i].kernel);
		if (!result)
			s->members[i].kernel = NULL;
	}
	return result;
}

/* Logs the messages that were between two queues. The kernels have ended. */
static void log_lost(const struct peal_work_share *s)
{
	uint64_t lost = 0;
	uint32_t i;

	for (i = 0; s->counts && i < s->n; i++)
		lost += peal_load_relaxed_sys(&s->counts[i].given) -
			peal_load_relaxed_sys(&s->counts[i].taken) +
			peal_load_relaxed_sys(&s->counts[i].held);
	if (lost)
		peali_log(
			1,
			"share '%s': messages between its queues are lost, as "
			"a forwarder has ended early: %llu",
			s->name, (unsigned long long)lost);
}

/* Ends the kernels of a share, also of a half made one, and frees it. After an
 * error the share still exists. */
static int take_down(struct peal_work_share *s)
{
	int result = end_kernels(s);
	uint32_t i;

	if (!result)
		result = free_kernels(s);
	if (result)
		return result;
	log_lost(s);
	for (i = 0; i < s->n; i++) {
		if (s->members[i].items)
			peal_memory_free(s->rt, s->members[i].device,
					 s->members[i].items);
		peali_range_let_go(s->rt->peers, &s->members[i].memory);
	}
	peal_endpoint_destroy(s->host);
	peali_block_free(s->rt, &s->block);
	free(s->links);
	free(s->members);
	free(s);
	return 0;
}

/* Says which forwarder still holds messages, or does not answer. */
static int still_holds(const struct peal_work_share *s)
{
	uint64_t held;
	uint32_t i;

	for (i = 0; i < s->n && s->members[i].done; i++)
		;
	held = peal_load_relaxed_sys(&s->counts[i].held);
	if (!held)
		return peali_fail(PEAL_EHUNG, DESTROY,
				  "share '%s': the forwarder of device %d did "
				  "not answer",
				  s->name, s->members[i].device);
	return peali_fail(
		PEAL_ETIMEDOUT, DESTROY,
		"share '%s': the queue of device %d is full, and its forwarder "
		"holds %llu messages; take messages there and call again",
		s->name, s->members[i].device, (unsigned long long)held);
}

/* Returns 1 if the kernel of a forwarder has ended. Then it never answers. */
static int has_ended(const struct peal_work_share *s)
{
	uint32_t i;

	for (i = 0; i < s->n; i++)
		if (!s->members[i].kernel ||
		    peali_kernel_ended(s->members[i].kernel))
			return 1;
	return 0;
}

/* Returns the ns until a deadline, at least 0. */
static int64_t left_ns(uint64_t end)
{
	int64_t left = (int64_t)(end - peali_now_ns());

	return left > 0 ? left : 0;
}

/* Waits until no forwarder holds or asks for messages. */
static int quit(struct peal_work_share *s)
{
	uint64_t end =
		peali_deadline((int64_t)s->rt->control_timeout_ms * 1000000);
	struct peal_work_share_word word;
	struct peal_received r;
	uint32_t left = 0, i;
	int result = 0;

	if (has_ended(s)) /* it holds no message that can be saved */
		return 0;
	if (!s->quits)
		result = tell_all(s, PEAL_WORK_SHARE_QUIT);
	if (result)
		return has_ended(s) ? 0 : result;
	s->quits = 1;
	for (i = 0; i < s->n; i++)
		left += !s->members[i].done;
	while (left && !has_ended(s)) {
		result = peal_receive(s->host, &word, sizeof(word), &r,
				      left_ns(end));
		if (result == PEAL_ETIMEDOUT || result == PEAL_EAGAIN)
			return still_holds(s);
		if (result)
			return result;
		s->members[r.input].done = 1;
		left--;
	}
	return 0;
}

int peali_work_shares_clear(struct peal_runtime *rt)
{
	struct peal_work_share *s;
	int result = 0;

	while (rt->work_shares && !result) {
		s = rt->work_shares;
		unlist(s);
		result = take_down(s);
		if (result)
			enlist(s);
	}
	return result;
}

int peal_work_share_destroy(struct peal_work_share *s)
{
	int result;

	if (!s)
		return 0;
	if (peali_foreign(&s->rt->owner, DESTROY))
		return PEAL_EFORKED;
	result = quit(s);
	if (result)
		return result;
	unlist(s);
	result = take_down(s);
	if (result)
		enlist(s);
	return result;
}

/* ---- create, info -------------------------------------------------------- */

/* Makes the record of a share. */
static struct peal_work_share *make_record(struct peal_runtime *rt,
					   const int *devices,
					   const struct peal_device_queue *q,
					   uint32_t n)
{
	struct peal_work_share *s = calloc(1, sizeof(*s));
	uint32_t i;

	if (!s)
		return NULL;
	s->rt = rt;
	s->n = n;
	s->members = calloc(n, sizeof(*s->members));
	s->links = calloc((size_t)n * (n + 1), sizeof(*s->links));
	if (!s->members || !s->links) {
		free(s->members);
		free(s->links);
		free(s);
		return NULL;
	}
	for (i = 0; i < n; i++) {
		s->members[i].device = devices[i];
		s->members[i].queue = q[i];
	}
	return s;
}

int peal_work_share_create(struct peal_runtime *rt, const int *devices,
			   const struct peal_device_queue *queues, uint32_t n,
			   const struct peal_work_share_options *options,
			   struct peal_work_share **share_out)
{
	struct peal_error_info failed;
	struct peal_work_share *s;
	int result;

	if (!rt || !devices || !queues || !share_out)
		return peali_refuse_null(
			CREATE, "runtime, devices, queues or share_out");
	if (peali_foreign(&rt->owner, CREATE))
		return PEAL_EFORKED;
	if (n < 2 || n > PEAL_WORK_SHARE_MAX)
		return peali_refuse_range(CREATE, "argument", "n", n, 2,
					  PEAL_WORK_SHARE_MAX);
	s = make_record(rt, devices, queues, n);
	if (!s)
		return peali_fail(PEAL_ENOMEM, CREATE, "no memory for a share");
	result = complete(s, options);
	if (!result)
		result = check_members(s);
	if (!result)
		result = make_parts(s);
	if (!result) {
		enlist(s);
		*share_out = s;
		return 0;
	}
	failed = *peal_last_error();
	if (take_down(s))
		enlist(s); /* peal_runtime_close reports its kernels */
	return peali_fail(result, CREATE, "%s", failed.text);
}

int peal_work_share_info(struct peal_work_share *s, uint32_t index,
			 struct peal_work_share_info *info_out)
{
	const struct peal_work_share_counts *c;

	if (!s || !info_out)
		return peali_refuse_null("peal_work_share_info",
					 "share or info_out");
	if (peali_foreign(&s->rt->owner, "peal_work_share_info"))
		return PEAL_EFORKED;
	if (index >= s->n)
		return PEALI_REFUSE(PEAL_ENOENT, "peal_work_share_info",
				    .object = "argument", .name = "index",
				    .problem = "is the number of no queue",
				    .number = index, .most = s->n - 1);
	c = &s->counts[index];
	info_out->device = s->members[index].device;
	info_out->asked = peal_load_relaxed_sys(&c->asked);
	info_out->refused = peal_load_relaxed_sys(&c->refused);
	info_out->given = peal_load_relaxed_sys(&c->given);
	info_out->taken = peal_load_relaxed_sys(&c->taken);
	info_out->held = peal_load_relaxed_sys(&c->held);
	info_out->looks = peal_load_relaxed_sys(&c->looks);
	return 0;
}
