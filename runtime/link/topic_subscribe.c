/* SPDX-License-Identifier: Apache-2.0 */
/* Publishers and subscribers of topics: joins, leaves and ended kernels. */
#include <string.h>

#include <peal/topic.h>

#include "runtime/base/error.h"
#include "runtime/base/refusal.h"
#include "runtime/base/text.h"
#include "runtime/device/devices.h"
#include "runtime/device/memory_block.h"
#include "runtime/kernel/address.h"
#include "runtime/kernel/features.h"
#include "runtime/kernel/kernel_control.h"
#include "runtime/kernel/kernel.h"
#include "runtime/link/endpoint.h"
#include "runtime/link/endpoint_ref.h"
#include "runtime/link/topic.h"

/* ---- ends ---------------------------------------------------------------- */

/* Refuses an end that is no actor. */
static int refuse_kind(const char *what, const char *problem, uint64_t address,
		       const char *call)
{
	return PEALI_REFUSE(PEAL_EINVAL, call, .object = "argument",
			    .name = what, .problem = problem,
			    .value = PEALI_PRINT("%#llx",
						 (unsigned long long)address),
			    .allowed = "addresses of actors",
			    .remedy = "connect it to an actor that passes "
				      "messages on");
}

/* Resolves the address of an actor. The caller holds rt->lock. */
static int resolve_actor(const struct peali_topic *t, uint64_t address,
			 const char *what, struct peali_link_end *out,
			 const char *call)
{
	int result = peali_link_end_resolve(t->rt, address, what, "actor", out,
					    call);

	if (!result && out->endpoint)
		result = refuse_kind(
			what,
			PEALI_PRINT("is endpoint '%s', and topics have actors",
				    out->endpoint->name),
			address, call);
	else if (!result && out->pool)
		result = refuse_kind(what, "is a pool, and topics have actors",
				     address, call);
	return result;
}

/* Resolves the address of an actor on the topic's device. The caller holds
 * rt->lock. */
static int resolve(const struct peali_topic *t, uint64_t address,
		   const char *what, struct peali_link_end *out,
		   const char *call)
{
	int result = resolve_actor(t, address, what, out, call);

	if (result || out->device == t->device)
		return result;
	return PEALI_REFUSE(
		PEAL_ENOPEER, call, .object = "argument", .name = what,
		.problem = PEALI_PRINT("is on another device than topic '%s'",
				       t->name),
		.value = PEALI_PRINT("device %d", out->device),
		.allowed = PEALI_PRINT("device %d", t->device),
		.remedy = "connect it to an actor there that passes messages "
			  "on");
}

/* Checks that both handlers declare equal message sizes. Either end may still
 * be missing. */
static int check_sizes(const struct peali_link_end *from,
		       const struct peali_link_end *to, const char *call)
{
	if (!from->kernel || !to->kernel)
		return 0;
	return peali_handlers_agree(peali_link_end_handler(from),
				    peali_link_end_handler(to), call);
}

int peali_topic_names(const struct peal_runtime *rt,
		      const struct peal_kernel *k)
{
	const struct peali_topic *t;
	uint32_t i;

	for (t = rt->topics; t; t = t->next) {
		if (t->publisher.kernel == k)
			return 1;
		for (i = 0; i < t->spec.n_subscribers; i++)
			if (t->subscribers[i].end.kernel == k)
				return 1;
	}
	return 0;
}

const char *peali_topic_at_port(const struct peal_runtime *rt, uint64_t address,
				uint32_t port)
{
	const struct peali_topic *t;

	for (t = rt->topics; t; t = t->next)
		if (t->publisher.kernel && t->publisher.address == address &&
		    t->port == port)
			return t->name;
	return NULL;
}

/* ---- ended kernels ------------------------------------------------------- */

/* Fixes the number of messages published for a subscriber. */
static void close_counts(struct peali_topic *t, uint32_t cursor)
{
	struct peali_subscriber *s = &t->subscribers[cursor];
	struct peal_subscriber_info info;

	if (s->closed)
		return;
	peali_subscriber_read(t, cursor, &info);
	s->published = info.first + info.published;
	s->closed = 1;
}

/* Tells a subscriber that the publisher's kernel has ended. The subscriber
 * handles the messages that are left, then its input ends. */
static int tell_subscriber(struct peali_topic *t, uint32_t cursor)
{
	struct peali_subscriber *s = &t->subscribers[cursor];
	int result;

	if (!s->end.kernel || s->told)
		return 0;
	result = peali_link_end_post(&s->end, PEAL_CONTROL_END_INPUT, 0);
	if (result)
		return result;
	close_counts(t, cursor);
	s->told = 1;
	return 0;
}

/* Clears a cursor, so that no publisher waits for it any more. */
static int clear_cursor(struct peali_topic *t, uint32_t cursor)
{
	const uint64_t none = 0;

	return peali_block_write(
		t->rt, &t->own,
		sizeof(struct peal_topic) +
			cursor * sizeof(struct peal_topic_cursor) +
			offsetof(struct peal_topic_cursor, active),
		&none, sizeof(none));
}

/*
 * Makes the publisher ignore the cursor of a subscriber that is gone. The
 * publisher clears the cursor itself, because it may be reading it. With
 * `wait`, the call returns after the publisher has done so. If the publisher
 * has ended, the host clears the cursor.
 */
static int forget(struct peali_topic *t, uint32_t cursor, int wait,
		  const char *call)
{
	struct peali_subscriber *s = &t->subscribers[cursor];
	struct peal_topic_view view;
	int result;

	if (s->forgotten && !wait)
		return 0;
	memset(&view, 0, sizeof(view));
	view.index = t->publisher.index;
	view.cursor = cursor;
	if (!peali_link_end_is_live(&t->publisher))
		result = PEAL_ESTOPPED;
	else if (wait)
		result = peali_kernel_tell(t->publisher.kernel,
					   t->publisher.worker,
					   PEAL_CONTROL_REMOVE_SUBSCRIBER,
					   &view, sizeof(view), call);
	else
		result = peali_kernel_post(t->publisher.kernel,
					   t->publisher.worker,
					   PEAL_CONTROL_REMOVE_SUBSCRIBER,
					   &view, sizeof(view));
	if (result == PEAL_ESTOPPED)
		result = clear_cursor(t, cursor);
	if (!result)
		s->forgotten = 1;
	return result;
}

/* Handles the end of kernel k for a topic. Returns 0 once all ends are told. */
static int reap(struct peali_topic *t, const struct peal_kernel *k)
{
	int left = 0, told = 0;
	uint32_t i;

	for (i = 0; i < t->spec.n_subscribers; i++) {
		struct peali_subscriber *s = &t->subscribers[i];

		if (t->publisher.kernel == k && !t->ended)
			told |= tell_subscriber(t, i);
		if (s->end.kernel != k)
			continue;
		close_counts(t, i);
		s->gone = 1;
		left |= forget(t, i, 0, "peal_unsubscribe");
	}
	if (t->publisher.kernel == k && !told)
		t->ended = 1;
	return left | told;
}

int peali_topics_reap(struct peal_kernel *k)
{
	struct peali_topic *t;
	int left = 0;

	for (t = k->rt->topics; t; t = t->next)
		left |= reap(t, k);
	return left;
}

/* ---- publishing ---------------------------------------------------------- */

/*
 * Returns PEAL_EBUSY if a subscriber has not reached the end of an earlier
 * publisher's stream. It would take messages of the next publisher for messages
 * of that stream.
 */
static int all_have_ended(const struct peali_topic *t)
{
	struct peal_subscriber_info info;
	uint32_t i;

	for (i = 0; i < t->spec.n_subscribers; i++) {
		const struct peali_subscriber *s = &t->subscribers[i];

		if (!s->end.kernel || (t->ended && !s->told))
			continue;
		peali_subscriber_read(t, i, &info);
		if (!info.ended && !info.gone)
			return peali_fail(
				PEAL_EBUSY, "peal_publish",
				"actor %u of kernel '%s' has not read all "
				"earlier messages of topic '%s'",
				s->end.actor, s->end.kernel->name, t->name);
	}
	return 0;
}

/*
 * Removes the publisher's bell, which is freed with its kernel. Then each
 * subscriber answers a control message. After its answer a subscriber cannot be
 * about to ring the bell.
 */
static int silence(struct peali_topic *t, const char *call)
{
	const struct peal_control_reclaim pass = { PEAL_RECLAIM_FENCE, 0 };
	uint32_t i;
	int result;

	peal_store_relaxed_sys(&t->bells[0], 0);
	if (!peali_devices_ring(&t->rt->devices, t->device))
		return 0;
	for (i = 0; i < t->spec.n_subscribers; i++) {
		const struct peali_link_end *end = &t->subscribers[i].end;

		if (!peali_link_end_is_live(end))
			continue;
		result = peali_kernel_tell(end->kernel, end->worker,
					   PEAL_CONTROL_RECLAIM, &pass,
					   sizeof(pass), call);
		if (result && result != PEAL_ESTOPPED)
			return result;
	}
	return 0;
}

/* Removes the publisher. The caller holds rt->lock. */
static int let_publisher_go(struct peali_topic *t, const char *call)
{
	struct peali_link_end *p = &t->publisher;
	int result = silence(t, call);

	if (result)
		return result;
	peali_link_end_add_links(p, -1);
	memset(p, 0, sizeof(*p));
	return 0;
}

/* Checks that the topic has no publisher. Removes one that has ended. */
static int check_vacant(struct peali_topic *t)
{
	int result = 0;

	if (peali_link_end_is_live(&t->publisher))
		return peali_fail(PEAL_EEXIST, "peal_publish",
				  "topic '%s' has a publisher: actor %u of "
				  "kernel '%s'",
				  t->name, t->publisher.actor,
				  t->publisher.kernel->name);
	if (t->publisher.kernel)
		reap(t, t->publisher.kernel);
	if (t->publisher.kernel || t->ended)
		result = all_have_ended(t);
	if (!result && t->publisher.kernel)
		result = let_publisher_go(t, "peal_publish");
	return result;
}

/* Checks the message sizes of a publisher and of all subscribers. */
static int check_all_sizes(const struct peali_topic *t,
			   const struct peali_link_end *from)
{
	const struct peali_topic *copy =
		peali_topic_copy(t->rt->topics, t->address);
	uint32_t i;
	int result = 0;

	for (i = 0; i < t->spec.n_subscribers && !result; i++)
		result = check_sizes(from, &t->subscribers[i].end,
				     "peal_publish");
	for (; copy && !result; copy = peali_topic_copy(copy->next, t->address))
		result = check_all_sizes(copy, from);
	return result;
}

static int check_publisher(const struct peali_topic *t,
			   const struct peali_link_end *from)
{
	const struct peal_handler_info *h = peali_link_end_handler(from);

	if (h->output_bytes > t->spec.message_bytes)
		return PEALI_REFUSE(
			PEAL_EMSGSIZE, "peal_publish", .object = "topic",
			.name = t->name,
			.problem =
				PEALI_PRINT("has too small message_bytes for "
					    "handler '%s'",
					    h->name),
			.number = t->spec.message_bytes,
			.allowed = PEALI_PRINT("%u or more", h->output_bytes),
			.remedy = PEALI_PRINT("use %u", h->output_bytes));
	if (t->spec.mode == PEAL_TOPIC_WAIT && h->emits > t->spec.slots)
		return PEALI_REFUSE(
			PEAL_EINVAL, "peal_publish", .object = "topic",
			.name = t->name,
			.problem = PEALI_PRINT(
				"has too small a capacity for the "
				"messages that handler '%s' emits at "
				"once",
				h->name),
			.number = t->spec.slots, .least = h->emits,
			.most = 1 << 20, .power_of_two = 1);
	return check_all_sizes(t, from);
}

/* Clears the cursors of subscribers that are gone. An earlier publisher may
 * have ended before it did so. */
static int clear_cursors(struct peali_topic *t)
{
	uint32_t i;
	int result = 0;

	for (i = 0; i < t->spec.n_subscribers && !result; i++)
		if (t->subscribers[i].gone)
			result = clear_cursor(t, i);
	return result;
}

static int publish(struct peali_topic *t, uint64_t from, uint32_t port)
{
	const char *call = "peal_publish";
	struct peal_topic_view view = peali_topic_view(t, -1);
	struct peal_error_info failed;
	struct peali_link_end end;
	int result = resolve(t, from, "from", &end, call);

	if (!result)
		result = PEALI_NEEDS(end.kernel->program, TOPICS, call,
				     "a port that publishes");
	if (!result)
		result = peali_link_end_port(t->rt, &end, port, call);
	if (!result)
		result = check_vacant(t);
	if (!result)
		result = check_publisher(t, &end);
	if (!result)
		result = clear_cursors(t);
	if (result)
		return result;
	view.index = end.index;
	peal_store_relaxed_sys(&t->bells[0],
			       peali_kernel_bell(end.kernel, end.worker));
	result = peali_kernel_tell(end.kernel, end.worker, PEAL_CONTROL_PUBLISH,
				   &view, sizeof(view), call);
	/* after PEAL_EHUNG the worker may still do it */
	if (result && result != PEAL_EHUNG) {
		failed = *peal_last_error();
		silence(t, call);
		return peali_fail(result, call, "%s", failed.text);
	}
	peali_link_end_add_links(&end, 1);
	t->publisher = end;
	t->port = port;
	t->ended = 0;
	return result;
}

int peal_publish(struct peal_runtime *rt, uint64_t from, uint32_t port,
		 uint64_t topic)
{
	struct peali_topic *t;
	int result;

	if (!rt)
		return peali_refuse_null("peal_publish", "runtime");
	if (peali_foreign(&rt->owner, "peal_publish"))
		return PEAL_EFORKED;
	pthread_mutex_lock(&rt->lock);
	t = peali_topic_of(rt, topic, "peal_publish");
	result = t ? publish(t, from, port) : PEAL_ENOENT;
	pthread_mutex_unlock(&rt->lock);
	return result;
}

static int unpublish(struct peali_topic *t)
{
	struct peali_link_end *p = &t->publisher;
	int result;

	if (!p->kernel)
		return peali_fail(PEAL_ENOENT, "peal_unpublish",
				  "topic '%s' has no publisher", t->name);
	result = peali_link_end_tell(p, PEAL_CONTROL_CLOSE_PORT,
				     "peal_unpublish");
	if (result)
		return result;
	if (!peali_link_end_is_live(p) && reap(t, p->kernel) && !t->ended)
		return peali_fail(PEAL_EBUSY, "peal_unpublish",
				  "a subscriber of topic '%s' does not take "
				  "the end of its publisher",
				  t->name);
	return let_publisher_go(t, "peal_unpublish");
}

int peal_unpublish(struct peal_runtime *rt, uint64_t topic)
{
	struct peali_topic *t;
	int result;

	if (!rt)
		return peali_refuse_null("peal_unpublish", "runtime");
	if (peali_foreign(&rt->owner, "peal_unpublish"))
		return PEAL_EFORKED;
	pthread_mutex_lock(&rt->lock);
	t = peali_topic_of(rt, topic, "peal_unpublish");
	result = t ? unpublish(t) : PEAL_ENOENT;
	pthread_mutex_unlock(&rt->lock);
	return result;
}

/* ---- subscribing --------------------------------------------------------- */

/* Returns the cursor of an actor, by any address that it has had. Address 0
 * finds a free cursor. -1: there is none. */
static int cursor_of(const struct peali_topic *t, uint64_t address)
{
	uint32_t i;

	address = peali_address_resolve(t->rt, address);
	for (i = 0; i < t->spec.n_subscribers; i++)
		if (peali_address_resolve(
			    t->rt, t->subscribers[i].end.address) == address)
			return (int)i;
	return -1;
}

static int check_subscriber(const struct peali_topic *t,
			    struct peali_link_end *to, int cursor)
{
	const char *call = "peal_subscribe";

	if (cursor_of(t, to->address) >= 0)
		return peali_fail(PEAL_EEXIST, call,
				  "actor %u of kernel '%s' subscribes to topic "
				  "'%s' already",
				  to->actor, to->kernel->name, t->name);
	if (cursor < 0)
		return PEALI_REFUSE(PEAL_ENOSPC, call, .object = "topic",
				    .name = t->name,
				    .problem = "has too many subscribers",
				    .number = t->spec.n_subscribers + 1ULL,
				    .most = t->spec.n_subscribers,
				    .remedy = "raise max_subscribers");
	return check_sizes(&t->publisher, to, call);
}

/*
 * Frees a cursor. Its bell goes first, because the bell is freed with the
 * subscriber's kernel. A publisher that answers after that is not about to ring
 * the bell.
 */
static int let_cursor_go(struct peali_topic *t, uint32_t cursor,
			 const char *call)
{
	int result;

	peal_store_relaxed_sys(&t->bells[1 + cursor], 0);
	result = forget(t, cursor, 1, call);
	if (!result)
		memset(&t->subscribers[cursor], 0,
		       sizeof(t->subscribers[cursor]));
	return result;
}

int peali_topic_subscribe(struct peali_topic *t, uint64_t actor, uint32_t flags)
{
	const char *call = "peal_subscribe";
	int cursor = cursor_of(t, 0), result;
	struct peal_error_info failed;
	struct peal_topic_view view;
	struct peali_link_end end;

	/* tell the subscribers of an ended publisher before one more joins */
	if (t->publisher.kernel && !peali_link_end_is_live(&t->publisher))
		reap(t, t->publisher.kernel);
	result = resolve(t, actor, "actor", &end, call);
	if (!result)
		result = PEALI_NEEDS(end.kernel->program, TOPICS, call,
				     "a subscriber");
	if (!result && flags & PEAL_SUBSCRIBE_HIGH)
		result = PEALI_NEEDS(end.kernel->program, PRIORITIES, call,
				     "flag PEAL_SUBSCRIBE_HIGH");
	if (!result)
		result = check_subscriber(t, &end, cursor);
	if (!result)
		result = peali_link_end_input(&end, call);
	if (result)
		return result;
	view = peali_topic_view(t, cursor);
	view.actor = (uint32_t)end.address;
	view.index = end.index;
	view.oldest = flags & PEAL_SUBSCRIBE_OLDEST;
	view.priority = flags & PEAL_SUBSCRIBE_HIGH ? PEAL_PRIORITY_HIGH :
						      PEAL_PRIORITY_NORMAL;
	memset(&t->counts[cursor], 0, sizeof(t->counts[cursor]));
	peal_store_relaxed_sys(&t->bells[1 + cursor],
			       peali_kernel_bell(end.kernel, end.worker));
	result = peali_kernel_tell(end.kernel, end.worker,
				   PEAL_CONTROL_SUBSCRIBE, &view, sizeof(view),
				   call);
	/* after PEAL_EHUNG the worker may still do it */
	if (result && result != PEAL_EHUNG) {
		failed = *peal_last_error();
		let_cursor_go(t, (uint32_t)cursor, call);
		return peali_fail(result, call, "%s", failed.text);
	}
	end.kernel->workers[end.worker].input_used[end.index] = 1;
	peali_link_end_add_links(&end, 1);
	t->subscribers[cursor].end = end;
	t->subscribers[cursor].priority = view.priority;
	return result;
}

int peali_topic_unsubscribe(struct peali_topic *t, uint64_t actor)
{
	int cursor = actor ? cursor_of(t, actor) : -1, result;
	const char *call = "peal_unsubscribe";
	struct peali_link_end end;

	if (cursor < 0)
		return PEALI_REFUSE(PEAL_ENOENT, call, .object = "topic",
				    .name = t->name,
				    .problem = "has no such subscriber",
				    .value = PEALI_PRINT(
					    "%#llx", (unsigned long long)actor),
				    .allowed = "addresses of its subscribers",
				    .remedy = "call peal_subscribe first");
	end = t->subscribers[cursor].end;
	result = peali_link_end_tell(&end, PEAL_CONTROL_DETACH_INPUT, call);
	if (!result)
		result = let_cursor_go(t, (uint32_t)cursor, call);
	if (result)
		return result;
	end.kernel->workers[end.worker].input_used[end.index] = 0;
	peali_link_end_add_links(&end, -1);
	return 0;
}

/* ---- subscribers on other devices ---------------------------------------- */

const struct peali_topic *peali_topic_copy(const struct peali_topic *list,
					   uint64_t topic)
{
	while (list && list->copy_of != topic)
		list = list->next;
	return list;
}

uint32_t peali_topic_n_subscribers(const struct peali_topic *t)
{
	uint32_t n = 0, i;

	for (i = 0; i < t->spec.n_subscribers; i++)
		n += t->subscribers[i].end.kernel != NULL;
	return n;
}

int peali_topic_has(const struct peali_topic *t, uint64_t actor)
{
	return actor && cursor_of(t, actor) >= 0;
}

int peali_topic_locate(const struct peali_topic *t, uint64_t actor,
		       int *device_out)
{
	const char *call = "peal_subscribe";
	struct peali_link_end end;
	int result = resolve_actor(t, actor, "actor", &end, call);

	if (!result)
		result = check_sizes(&t->publisher, &end, call);
	if (!result)
		*device_out = end.device;
	return result;
}
