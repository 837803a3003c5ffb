/* SPDX-License-Identifier: Apache-2.0 */
/* Subscriptions to topics, and the forwarders that bring the messages of a topic to
 * the subscribers of another device. */
#include "runtime/collective/topic_forward.h"

#include <stdlib.h>

#include <peal/actor.h>
#include <peal/kernel.h>
#include <peal/link.h>
#include <peal/topic.h>

#include "runtime/base/error.h"
#include "runtime/base/refusal.h"
#include "runtime/base/wait.h"
#include "runtime/device/devices.h"
#include "runtime/kernel/kernel.h"
#include "runtime/kernel/kernel_control.h"
#include "runtime/launch/kernel_fit.h"
#include "runtime/link/topic.h"

#define SUBSCRIBE "peal_subscribe"
#define UNSUBSCRIBE "peal_unsubscribe"

/*
 * A forwarder of a topic:
 *
 *	topic -> reader -> link -> writer -> copy of the topic -> subscribers
 *	|--- topic's device ---|  |---------- other device -----------|
 *
 * It exists while the copy has a subscriber. If its kernels have ended, it stays
 * until then, and the next subscriber gets a new forwarder. The readers of a topic
 * share a kernel: they end together, and a GPU has few kernels. `rt->forward_lock`
 * guards the list and the fields.
 */
struct peali_topic_forwarder {
	struct peali_topic_forwarder *next;
	struct peal_runtime *rt;
	uint64_t topic, copy; /* addresses; copy 0: not yet made */
	int device; /* index of the other device */
	struct peal_kernel *from, *to; /* on the topic's and the other device */
	uint64_t reader, writer; /* their actors */
	struct peal_link *link;
	int reads; /* 1: the reader subscribes to the topic */
	uint64_t leaving; /* address of the last subscriber, which has gone; 0: it
			   * has not */
};

/* ---- making -------------------------------------------------------------- */

static int launch(struct peal_runtime *rt, int device, const char *name,
		  uint32_t actors, struct peal_kernel **kernel_out)
{
	struct peal_kernel_options o = { .size = sizeof(o),
					 .workers = 1,
					 .max_inputs = actors + 1,
					 .max_ports = actors + 1,
					 .max_actors = actors + 1,
					 .drain_when_inputs_end = 1,
					 .name = name };

	o.lanes = peali_kernel_lanes(rt, device, 32);
	return peal_kernel_launch(rt, device, &peal_program_peal_relay, &o,
				  kernel_out);
}

/* Returns another forwarder with a running kernel of readers, or NULL. */
static struct peali_topic_forwarder *
find_readers(const struct peali_topic_forwarder *f)
{
	struct peali_topic_forwarder *other = f->rt->forwarders;

	while (other && (other == f || other->topic != f->topic ||
			 !other->from || peali_kernel_ended(other->from)))
		other = other->next;
	return other;
}

/* Makes the reader, in the kernel of another reader if there is one. That kernel
 * may end meanwhile, with the topic. */
static int make_reader(struct peali_topic_forwarder *f,
		       const struct peal_topic_info *t)
{
	struct peali_topic_forwarder *other = find_readers(f);
	uint32_t devices = (uint32_t)f->rt->devices.n;
	int result = PEAL_ESTOPPED;

	if (other) {
		f->from = other->from;
		result = peal_actor_spawn(f->from, "relay", NULL, &f->reader);
	}
	if (result != PEAL_ESTOPPED)
		return result;
	f->from = NULL;
	result = launch(f->rt, t->device, t->name, devices, &f->from);
	return result ? result :
			peal_actor_spawn(f->from, "relay", NULL, &f->reader);
}

static int make_writer(struct peali_topic_forwarder *f,
		       const struct peal_topic_info *t)
{
	int result = launch(f->rt, f->device, t->name, 1, &f->to);

	if (!result)
		result = peal_actor_spawn(f->to, "relay", NULL, &f->writer);
	return result ? result : peal_publish(f->rt, f->writer, 0, f->copy);
}

/* Makes the copy of a topic on the forwarder's device. */
static int make_copy(struct peali_topic_forwarder *f,
		     const struct peal_topic_info *t)
{
	uint32_t known = peali_devices_policies(&f->rt->devices, f->device);
	struct peal_topic_options o = { .size = sizeof(o),
					.capacity = t->capacity,
					.message_bytes = t->message_bytes,
					.policy = known >> t->policy & 1 ?
							  t->policy :
							  0,
					.max_subscribers = t->max_subscribers,
					.overwrite = t->overwrite,
					.name = t->name };
	int result = peal_topic_create(f->rt, f->device, &o, &f->copy);

	if (result)
		return result;
	pthread_mutex_lock(&f->rt->lock);
	peali_topic_of(f->rt, f->copy, SUBSCRIBE)->copy_of = f->topic;
	pthread_mutex_unlock(&f->rt->lock);
	return 0;
}

static int make_parts(struct peali_topic_forwarder *f)
{
	struct peal_link_options o = { .size = sizeof(o) };
	struct peal_topic_info t;
	int result = peal_topic_info(f->rt, f->topic, &t);

	if (!result)
		result = make_copy(f, &t);
	if (!result)
		result = make_writer(f, &t);
	if (!result)
		result = make_reader(f, &t);
	if (result)
		return result;
	o.capacity = t.capacity;
	o.message_bytes = t.message_bytes;
	return peal_connect(f->rt, f->reader, 0, f->writer, &o, &f->link);
}

/* ---- ending -------------------------------------------------------------- */

static struct peali_topic_forwarder **place_of(struct peali_topic_forwarder *f)
{
	struct peali_topic_forwarder **at = &f->rt->forwarders;

	while (*at != f)
		at = &(*at)->next;
	return at;
}

static int end_reading(struct peali_topic_forwarder *f)
{
	struct peali_topic *t;
	int result = 0;

	if (!f->reads)
		return 0;
	pthread_mutex_lock(&f->rt->lock);
	t = peali_topic_of(f->rt, f->topic, UNSUBSCRIBE);
	if (t)
		result = peali_topic_unsubscribe(t, f->reader);
	pthread_mutex_unlock(&f->rt->lock);
	f->reads = result != 0;
	return result;
}

/* Returns 1 if another forwarder has a reader in this one's kernel. */
static int shares_readers(const struct peali_topic_forwarder *f)
{
	const struct peali_topic_forwarder *other = f->rt->forwarders;

	while (other && (other == f || other->from != f->from))
		other = other->next;
	return other != NULL;
}

/* Ends the writer's kernel, and the readers' after the last reader. */
static int end_kernels(struct peali_topic_forwarder *f)
{
	struct peal_kernel *const kernel[] = { shares_readers(f) ? NULL :
								   f->from,
					       f->to };
	uint64_t deadline = peali_deadline(f->rt->stop_ns);
	int i, result = 0;

	for (i = 0; i < 2; i++)
		if (kernel[i])
			peal_kernel_stop(kernel[i], 0);
	for (i = 0; i < 2; i++)
		if (kernel[i] && peali_kernel_end(kernel[i], deadline))
			result = PEAL_EHUNG;
	return result;
}

/* Frees the link and the copy. */
static int free_queues(struct peali_topic_forwarder *f)
{
	int result = peal_link_destroy(f->link);

	if (result)
		return result;
	f->link = NULL;
	if (!f->copy)
		return 0;
	result = peal_unpublish(f->rt, f->copy);
	if (!result || result == PEAL_ENOENT)
		result = peal_topic_destroy(f->rt, f->copy);
	if (!result)
		f->copy = 0;
	return result;
}

/* Frees the reader in a kernel that other readers share, else the kernel. */
static int free_reader(struct peali_topic_forwarder *f)
{
	int result;

	if (!shares_readers(f))
		result = peal_kernel_destroy(f->from);
	else
		result = f->reader ? peal_actor_retire(f->rt, f->reader) : 0;
	if (result && result != PEAL_ESTOPPED)
		return result;
	f->from = NULL;
	return 0;
}

/*
 * Ends a forwarder, also a half made one, and frees it. The copy has no subscriber.
 * After an error such as PEAL_EHUNG the forwarder is left, and the next call
 * continues.
 */
static int end_forwarder(struct peali_topic_forwarder *f)
{
	int result = end_reading(f);

	if (!result)
		result = end_kernels(f);
	if (!result)
		result = free_queues(f);
	if (!result && f->from)
		result = free_reader(f);
	if (!result)
		result = peal_kernel_destroy(f->to);
	if (result)
		return result;
	*place_of(f) = f->next;
	free(f);
	return 0;
}

/* Ends a forwarder after an error of its first subscriber. Keeps the text of the
 * error. If the end fails too, peal_unsubscribe of that actor continues it. */
static int undo(struct peali_topic_forwarder *f, uint64_t actor, int result)
{
	struct peal_error_info failed = *peal_last_error();

	f->leaving = actor;
	end_forwarder(f);
	return peali_fail(result, SUBSCRIBE, "%s", failed.text);
}

void peali_topic_forwarders_clear(struct peal_runtime *rt)
{
	struct peali_topic_forwarder *f;

	while ((f = rt->forwarders)) {
		rt->forwarders = f->next;
		free(f);
	}
}

/* Makes a forwarder for its first subscriber. It does not read yet. */
static int make(struct peal_runtime *rt, uint64_t topic, int device,
		uint64_t actor, struct peali_topic_forwarder **out)
{
	struct peali_topic_forwarder *f = calloc(1, sizeof(*f));
	int result;

	if (!f)
		return peali_fail(PEAL_ENOMEM, SUBSCRIBE,
				  "no memory for a forwarder");
	f->rt = rt;
	f->topic = topic;
	f->device = device;
	f->next = rt->forwarders;
	rt->forwarders = f;
	result = make_parts(f);
	if (result)
		return undo(f, actor, result);
	*out = f;
	return 0;
}

/* ---- finding ------------------------------------------------------------- */

/* Returns the forwarder of a topic to a device with running kernels, or NULL. */
static struct peali_topic_forwarder *find(struct peal_runtime *rt,
					  uint64_t topic, int device)
{
	struct peali_topic_forwarder *f = rt->forwarders;

	while (f && (f->topic != topic || f->device != device || f->leaving ||
		     peali_kernel_ended(f->from) || peali_kernel_ended(f->to)))
		f = f->next;
	return f;
}

/* Returns the copy of a forwarder, or NULL. The caller holds rt->lock. */
static struct peali_topic *copy_of(const struct peali_topic_forwarder *f)
{
	return f->copy ? peali_topic_of(f->rt, f->copy, UNSUBSCRIBE) : NULL;
}

/* Returns the forwarder of a topic to the copy with a subscriber, or NULL. */
static struct peali_topic_forwarder *find_of(struct peal_runtime *rt,
					     uint64_t topic, uint64_t actor)
{
	struct peali_topic_forwarder *f = rt->forwarders;

	pthread_mutex_lock(&rt->lock);
	for (; f; f = f->next) {
		if (f->topic != topic)
			continue;
		if (actor && f->leaving == actor)
			break;
		if (copy_of(f) && peali_topic_has(copy_of(f), actor))
			break;
	}
	pthread_mutex_unlock(&rt->lock);
	return f;
}

/* ---- subscribers on other devices ---------------------------------------- */

/* Subscribes an actor on the device of a topic or copy. */
static int subscribe_at(struct peal_runtime *rt, uint64_t topic, uint64_t actor,
			uint32_t flags)
{
	struct peali_topic *t;
	int result;

	pthread_mutex_lock(&rt->lock);
	t = peali_topic_of(rt, topic, SUBSCRIBE);
	result = t ? peali_topic_subscribe(t, actor, flags) : PEAL_ENOENT;
	pthread_mutex_unlock(&rt->lock);
	return result;
}

/* Makes a forwarder with its first subscriber. The reader comes last: so the
 * subscriber gets all messages that the reader takes. */
static int subscribe_first(struct peal_runtime *rt, uint64_t topic, int device,
			   uint64_t actor, uint32_t flags)
{
	struct peali_topic_forwarder *f = NULL;
	int result = make(rt, topic, device, actor, &f), read;

	if (result)
		return result;
	result = subscribe_at(rt, f->copy, actor, flags);
	if (result && result != PEAL_EHUNG)
		return undo(f, actor, result);
	read = subscribe_at(rt, topic, f->reader,
			    flags & PEAL_SUBSCRIBE_OLDEST);
	f->reads = !read || read == PEAL_EHUNG;
	if (f->reads)
		return read ? read : result;
	pthread_mutex_lock(&rt->lock);
	peali_topic_unsubscribe(peali_topic_of(rt, f->copy, SUBSCRIBE), actor);
	pthread_mutex_unlock(&rt->lock);
	return undo(f, actor, read);
}

/* Ends a forwarder of a topic that has lost its last subscriber, and has failed to
 * end before. */
static int end_left(struct peal_runtime *rt, uint64_t topic)
{
	struct peali_topic_forwarder *f = rt->forwarders;

	while (f && (f->topic != topic || !f->leaving))
		f = f->next;
	return f ? end_forwarder(f) : 0;
}

static int subscribe_far(struct peal_runtime *rt, uint64_t topic, int device,
			 uint64_t actor, uint32_t flags)
{
	struct peali_topic_forwarder *f;
	int result;

	pthread_mutex_lock(&rt->forward_lock);
	result = end_left(rt, topic);
	f = result ? NULL : find_of(rt, topic, actor);
	if (!result && !f)
		f = find(rt, topic, device);
	if (f) /* PEAL_EEXIST if the actor subscribes to this copy */
		result = subscribe_at(rt, f->copy, actor, flags);
	else if (!result)
		result = subscribe_first(rt, topic, device, actor, flags);
	pthread_mutex_unlock(&rt->forward_lock);
	return peali_fail_in(result, SUBSCRIBE);
}

/* Takes an actor off the copy, if it still subscribes there. */
static int leave_copy(struct peali_topic_forwarder *f, uint64_t actor,
		      uint32_t *left_out)
{
	struct peali_topic *copy;
	int result = 0;

	*left_out = 0;
	pthread_mutex_lock(&f->rt->lock);
	copy = copy_of(f);
	if (copy && peali_topic_has(copy, actor))
		result = peali_topic_unsubscribe(copy, actor);
	if (copy)
		*left_out = peali_topic_n_subscribers(copy);
	pthread_mutex_unlock(&f->rt->lock);
	return result;
}

/* Returns PEAL_ENOENT without a text if the actor has no subscription by a
 * forwarder. The last subscriber ends the forwarder. */
static int unsubscribe_far(struct peal_runtime *rt, uint64_t topic,
			   uint64_t actor)
{
	struct peali_topic_forwarder *f;
	int result = PEAL_ENOENT;
	uint32_t left = 0;

	pthread_mutex_lock(&rt->forward_lock);
	f = find_of(rt, topic, actor);
	if (f)
		result = leave_copy(f, actor, &left);
	if (f && !result && !left) {
		f->leaving = actor;
		result = end_forwarder(f);
	}
	pthread_mutex_unlock(&rt->forward_lock);
	return result;
}

/* ---- public calls -------------------------------------------------------- */

int peal_subscribe(struct peal_runtime *rt, uint64_t topic, uint64_t actor,
		   uint32_t flags)
{
	struct peali_topic *t;
	int device = -1, result, far = 0;

	if (!rt)
		return peali_refuse_null(SUBSCRIBE, "runtime");
	if (peali_foreign(&rt->owner, SUBSCRIBE))
		return PEAL_EFORKED;
	if (flags & ~(uint32_t)(PEAL_SUBSCRIBE_OLDEST | PEAL_SUBSCRIBE_HIGH))
		return peali_refuse_bits(SUBSCRIBE, "argument", "flags", flags,
					 PEAL_SUBSCRIBE_OLDEST |
						 PEAL_SUBSCRIBE_HIGH);
	pthread_mutex_lock(&rt->lock);
	t = peali_topic_of(rt, topic, SUBSCRIBE);
	result = t ? peali_topic_locate(t, actor, &device) : PEAL_ENOENT;
	far = !result && device != t->device;
	if (!result && !far)
		result = peali_topic_subscribe(t, actor, flags);
	pthread_mutex_unlock(&rt->lock);
	return far ? subscribe_far(rt, topic, device, actor, flags) : result;
}

int peal_unsubscribe(struct peal_runtime *rt, uint64_t topic, uint64_t actor)
{
	struct peali_topic *t;
	int result, near;

	if (!rt)
		return peali_refuse_null(UNSUBSCRIBE, "runtime");
	if (peali_foreign(&rt->owner, UNSUBSCRIBE))
		return PEAL_EFORKED;
	pthread_mutex_lock(&rt->lock);
	t = peali_topic_of(rt, topic, UNSUBSCRIBE);
	near = t && peali_topic_has(t, actor);
	pthread_mutex_unlock(&rt->lock);
	if (!t)
		return PEAL_ENOENT;
	result = near ? PEAL_ENOENT : unsubscribe_far(rt, topic, actor);
	if (result != PEAL_ENOENT)
		return result;
	pthread_mutex_lock(&rt->lock);
	t = peali_topic_of(rt, topic, UNSUBSCRIBE);
	result = t ? peali_topic_unsubscribe(t, actor) : PEAL_ENOENT;
	pthread_mutex_unlock(&rt->lock);
	return result;
}
