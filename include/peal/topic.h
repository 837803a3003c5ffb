/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_TOPIC_H
#define PEAL_TOPIC_H

#include <stdint.h>

#include <peal/abi/message.h>
#include <peal/errors.h>

#ifdef __cplusplus
extern "C" {
#endif

struct peal_runtime;

/*
 * Topics: one actor publishes, every subscriber gets each message. A topic lies
 * in the memory of one device, on which its publisher and its subscribers are,
 * of any kernels. It is known by its address. To reach subscribers on another
 * device, an actor there that emits what it gets publishes to a topic of that
 * device, and a link leads to it: a message then crosses once, however many
 * subscribers there are.
 */

/** Zero in a field: its default. */
struct peal_topic_options {
	uint32_t size; /* sizeof(struct peal_topic_options) */
	uint32_t capacity; /* messages that it holds, a power of two up to
			    * 2^20; 64 */
	uint32_t message_bytes; /* largest payload, up to what a slot of the
				 * policy holds: 4080, 3064 or 1016; 48 */
	uint32_t policy; /* enum peal_policy; the device's default */
	uint32_t subscribers; /* the most at a time, up to 256; 8 */
	/*
	 * 0: the publisher waits for the slowest subscriber. 1: it never waits;
	 * who is too slow misses messages, and is told how many: peal_missed.
	 */
	uint32_t overwrite;
	const char *name; /* for texts; "topic" */
};

/** A topic. */
struct peal_topic_info {
	char name[48];
	int device;
	uint32_t capacity, message_bytes, policy, overwrite;
	uint32_t subscribers, max_subscribers;
	uint64_t memory_bytes;
	uint64_t publisher; /* the actor's address; 0: none */
	uint32_t publisher_port;
	uint64_t published, published_bytes; /* since the topic was made */
	int ended; /* 1: the publisher has said the end */
	/*
	 * The address of the live subscriber that has most messages before it:
	 * without `overwrite` it is who the publisher waits for, once they are
	 * `capacity`. 0: none has any.
	 */
	uint64_t slowest;
};

/**
 * A subscriber: published = delivered + missed + dead + queued, always.
 */
struct peal_subscriber_info {
	uint64_t address;
	uint64_t first; /* number of the first message that was for it */
	uint64_t published; /* from that one on */
	uint64_t delivered, delivered_bytes;
	uint64_t missed; /* overwritten before it took them */
	uint64_t dead[PEAL_REASON_COUNT]; /* by reason */
	uint64_t queued; /* none of these yet */
	int ended; /* 1: it has come to the end of the stream */
	int gone; /* 1: its kernel has ended before that */
	uint32_t priority; /* enum peal_priority */
};

/** Flags of peal_subscribe. */
enum peal_subscribe_flag {
	PEAL_SUBSCRIBE_OLDEST = 1, /* begins with the oldest that is there */
	PEAL_SUBSCRIBE_HIGH = 2 /* has PEAL_PRIORITY_HIGH, as a link can have */
};

/**
 * Makes a topic.
 *
 * @param runtime     an open runtime.
 * @param device      whose actors publish and subscribe.
 * @param options     NULL for all defaults.
 * @param address_out its address; peal_topic_destroy ends it.
 * @return 0; PEAL_ENODEV; PEAL_EINVAL an option (named); PEAL_ENOMEM.
 *         Thread-safe.
 */
int peal_topic_create(struct peal_runtime *runtime, int device,
		      const struct peal_topic_options *options,
		      uint64_t *address_out);

/**
 * Frees a topic that nobody publishes or subscribes to.
 *
 * @param runtime an open runtime.
 * @param topic   its address.
 * @return 0; PEAL_ENOENT no such topic; PEAL_EBUSY a publisher or subscribers
 *         are left (named); PEAL_EINVAL. Thread-safe.
 */
int peal_topic_destroy(struct peal_runtime *runtime, uint64_t topic);

/**
 * Makes a port of an actor publish: what its handler emits there goes to every
 * subscriber. Without `overwrite` the handler runs only when the slowest has
 * left room for all that it may emit. When the publisher's kernel drains, the
 * subscribers' inputs end behind its last message; they do so too when it ends
 * in any other way. As with links, a kernel that waits for its own messages
 * does not drain: not one that publishes to an actor of its own.
 *
 * @param runtime an open runtime.
 * @param from    an actor on the topic's device.
 * @param port    of that actor, from 0; free.
 * @param topic   its address; it has no publisher.
 * @return 0; PEAL_ENOENT no such actor, port or topic; PEAL_EEXIST the port is
 *         connected, or the topic has a publisher (named); PEAL_ENOPEER the
 *         actor is on another device; PEAL_EINVAL `from` is an endpoint, or its
 *         handler may emit more than the topic holds; PEAL_EMSGSIZE the handler
 *         declares longer messages; PEAL_EBUSY a subscriber (named) has not
 *         come to the end of an earlier publisher's messages; PEAL_ESTOPPED;
 *         PEAL_EHUNG the worker did not answer, and may do it yet:
 *         peal_unpublish. Thread-safe.
 */
int peal_publish(struct peal_runtime *runtime, uint64_t from, uint32_t port,
		 uint64_t topic);

/**
 * Takes the topic's publisher away, without an end: the subscribers stay. Its
 * port is free; what is emitted there before it is connected again is dropped.
 *
 * @param runtime an open runtime.
 * @param topic   its address.
 * @return 0; PEAL_ENOENT no such topic, or it has no publisher; PEAL_EBUSY the
 *         publisher's kernel has ended, and a subscriber's worker has no room
 *         to be told so; PEAL_EHUNG; PEAL_EINVAL. Thread-safe.
 */
int peal_unpublish(struct peal_runtime *runtime, uint64_t topic);

/**
 * Makes an actor get the messages of a topic, from the next one on. It takes an
 * input of its worker until peal_unsubscribe.
 *
 * @param runtime an open runtime.
 * @param topic   its address.
 * @param actor   on the topic's device.
 * @param flags   of enum peal_subscribe_flag, or 0.
 * @return 0; PEAL_ENOENT no such topic or actor; PEAL_EEXIST it subscribes
 *         already; PEAL_ENOPEER it is on another device; PEAL_ENOSPC the
 *         topic's `subscribers`, or max_inputs; PEAL_EINVAL it is an endpoint,
 *         or its handler takes messages of another size than the publisher's
 *         emits, or the flags; PEAL_ESTOPPED; PEAL_EHUNG the worker did not
 *         answer, and may do it yet: peal_unsubscribe. Thread-safe.
 */
int peal_subscribe(struct peal_runtime *runtime, uint64_t topic, uint64_t actor,
		   uint32_t flags);

/**
 * Ends a subscription. What it had not taken is gone, and its counters with it:
 * ask peal_topic_subscribers first.
 *
 * @param runtime an open runtime.
 * @param topic   its address.
 * @param actor   that subscribes.
 * @return 0; PEAL_ENOENT no such topic, or the actor does not subscribe;
 *         PEAL_EHUNG a worker did not answer; PEAL_EINVAL. Thread-safe.
 */
int peal_unsubscribe(struct peal_runtime *runtime, uint64_t topic,
		     uint64_t actor);

/**
 * A topic and its counters, without stopping anything.
 *
 * @param runtime  an open runtime.
 * @param topic    its address.
 * @param info_out filled on success.
 * @return 0; PEAL_ENOENT; PEAL_EINVAL. Thread-safe.
 */
int peal_topic_info(struct peal_runtime *runtime, uint64_t topic,
		    struct peal_topic_info *info_out);

/**
 * The subscribers of a topic and their counters, without stopping anything.
 *
 * @param runtime  an open runtime.
 * @param topic    its address.
 * @param info_out room for n.
 * @param n        0 asks only how many there are.
 * @return how many there are; PEAL_ENOENT; PEAL_EINVAL. Thread-safe.
 */
int peal_topic_subscribers(struct peal_runtime *runtime, uint64_t topic,
			   struct peal_subscriber_info *info_out, uint32_t n);

#ifdef __cplusplus
}
#endif
#endif
