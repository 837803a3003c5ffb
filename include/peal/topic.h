/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_TOPIC_H
#define PEAL_TOPIC_H

/*
 * Topics: one actor publishes, and every subscriber gets each message.
 *
 * peal_topic_create makes a topic in the memory of one device. peal_publish
 * connects an actor's port to the topic, and peal_subscribe adds a subscriber.
 * The publisher runs on that device. Subscribers run on any device, in any
 * kernels. peal_topic_info and peal_topic_subscribers read the counters. Call
 * peal_unsubscribe and peal_unpublish before peal_topic_destroy.
 *
 * The first subscriber of another device starts a forwarder. Each message then
 * crosses to that device once, for all its subscribers:
 *
 * - The forwarder is two kernels of one worker each, and a link between them. One
 *   kernel subscribes to the topic. The other publishes to a copy of the topic on
 *   the subscribers' device. All forwarders of a topic share the first kernel. The
 *   host takes no part in the messages.
 * - The copy has the options of the topic. Without `overwrite`, a slow subscriber
 *   makes the publisher wait on any device. The link and the copy hold up to
 *   `capacity` messages each in addition.
 * - With `overwrite`, the forwarder may miss messages, too. It has counters of
 *   its own in peal_topic_subscribers. A subscriber's `missed` and peal_missed
 *   count only messages that the forwarder has brought.
 * - The end of the publisher's stream crosses, and so does a deadline.
 * - The forwarder ends with the last subscriber of its device.
 */

#include <stdint.h>

#include <peal/abi/message.h>
#include <peal/errors.h>

PEAL_BEGIN_C

struct peal_runtime;

/** Options of a topic. A field of 0 takes its default. */
struct peal_topic_options {
	uint32_t size; /* sizeof(struct peal_topic_options) */
	uint32_t capacity; /* messages (default 64, power of two 1..2^20) */
	/*
	 * Largest payload in bytes (default 48). The publication policy sets
	 * the maximum: 4080 for PEAL_POLICY_SEQUENCE, 3064 for
	 * PEAL_POLICY_ATOM16, 1016 for PEAL_POLICY_ATOM8.
	 */
	uint32_t message_bytes;
	uint32_t policy; /* enum peal_slot_policy (0: the device's default) */
	uint32_t max_subscribers; /* most at a time (default 8, 1..256) */
	/*
	 * 0: the publisher waits for the slowest subscriber. 1: the publisher
	 * never waits, and overwrites the oldest messages. A slow subscriber
	 * then misses messages. Its handler reads their number by peal_missed.
	 */
	uint32_t overwrite;
	const char *name; /* for texts (default "topic"); copied, at most 47
			   * bytes: "..." replaces the middle of more */
};

/** State and counters of a topic. */
struct peal_topic_info {
	char name[48]; /* as in the options */
	int device; /* index of the device that has the memory */
	uint32_t capacity, message_bytes, policy, overwrite; /* as created */
	uint32_t subscribers, max_subscribers; /* now, and at most */
	uint64_t memory_bytes; /* of the device and the host together */
	uint64_t publisher; /* the actor's address (0: no publisher) */
	uint32_t publisher_port; /* of that actor */
	uint64_t published, published_bytes; /* since the topic was created */
	int ended; /* 1: the publisher has sent the end of its stream */
	/*
	 * Address of the live subscriber with most queued messages; 0: no
	 * message is queued. Without `overwrite`, the publisher waits for this
	 * subscriber once it has `capacity` queued messages.
	 */
	uint64_t slowest;
	uint32_t far_subscribers; /* now, on other devices. Each such device has
				   * a forwarder among `subscribers` */
	uint32_t reserved; /* 0 */
};

/**
 * A subscriber's counters: published = delivered + missed + dead + queued.
 *
 * The equation holds at any moment. The subscribers of another device count the
 * messages that the forwarder has brought there.
 */
struct peal_subscriber_info {
	uint64_t address; /* the actor's */
	uint64_t first; /* number of the subscriber's first message */
	uint64_t published; /* messages, from number `first` on */
	uint64_t delivered, delivered_bytes; /* handled by the actor */
	uint64_t missed; /* overwritten before the subscriber took them */
	uint64_t dead[PEAL_REASON_COUNT]; /* dead letters by enum peal_reason */
	uint64_t queued; /* not yet delivered, missed or dead */
	int ended; /* 1: the subscriber has reached the end of the stream */
	int gone; /* 1: the subscriber's kernel ended before that */
	uint32_t priority; /* enum peal_priority */
	int device; /* index of the subscriber's device */
	int forwarder; /* 1: it passes the messages to another device. 0: it is
			* an actor of the program */
};

/** Flags of peal_subscribe. */
enum peal_subscribe_flag {
	PEAL_SUBSCRIBE_OLDEST = 1, /* start with the oldest message held */
	PEAL_SUBSCRIBE_HIGH = 2 /* PEAL_PRIORITY_HIGH, as for a link */
};

/**
 * Creates a topic.
 *
 * The runtime owns the topic. peal_topic_destroy or peal_runtime_shutdown
 * frees it.
 *
 * Thread-safe. Needs no answer from a worker.
 *
 * @param runtime     an open runtime.
 * @param device      index of the publisher's device.
 * @param options     NULL for all defaults.
 * @param address_out the topic's address, written on success.
 * @return 0, or a negative error code:
 * @retval PEAL_ENODEV  there is no such device.
 * @retval PEAL_EINVAL  an option is out of range (the text names it), or a
 *                      pointer is NULL.
 * @retval PEAL_ENOMEM  the device or the host has too little memory.
 */
int peal_topic_create(struct peal_runtime *runtime, int device,
		      const struct peal_topic_options *options,
		      uint64_t *address_out);

/**
 * Frees a topic without publisher and subscribers.
 *
 * A publisher or subscriber counts until peal_unpublish or peal_unsubscribe,
 * even after its kernel has ended.
 *
 * Thread-safe. Needs no answer from a worker.
 *
 * @param runtime an open runtime.
 * @param topic   the topic's address.
 * @return 0, or a negative error code:
 * @retval PEAL_ENOENT  there is no such topic.
 * @retval PEAL_EBUSY   a publisher or a subscriber is left (the text names
 *                      it).
 * @retval PEAL_EINVAL  `runtime` is NULL.
 */
int peal_topic_destroy(struct peal_runtime *runtime, uint64_t topic);

/**
 * Makes an actor the publisher of a topic.
 *
 * Every subscriber gets the messages that the actor's handler emits at the
 * port. Without `overwrite`, the worker runs the handler only when the topic
 * has enough free slots. The handler declares how many messages it may emit at
 * once (PEAL_EMITS or PEAL_LIMITS).
 *
 * When the publisher's kernel ends, each subscriber's input ends after the
 * last message. It does not matter how the kernel ends. After that, the
 * subscriber gets no messages of a later publisher. Call peal_unsubscribe and
 * peal_subscribe to get them.
 *
 * A kernel that subscribes to its own messages never drains, as with links.
 * Stop such a kernel by peal_kernel_stop.
 *
 * Thread-safe. Blocks until the actor's worker has answered.
 *
 * @param runtime an open runtime.
 * @param from    address of an actor on the topic's device.
 * @param port    number of a free port of the actor, from 0.
 * @param topic   address of a topic without publisher.
 * @return 0, or a negative error code:
 * @retval PEAL_ENOENT   there is no such actor, port or topic.
 * @retval PEAL_EEXIST   the port is connected, or the topic has a publisher
 *                       (the text names it).
 * @retval PEAL_ENOTSUP  the actor's program lacks PEAL_USE_TOPICS.
 * @retval PEAL_ENOPEER  the actor is on another device.
 * @retval PEAL_EINVAL   `from` is an endpoint or a pool, or shares the ports
 *                       of another actor.
 * @retval PEAL_EINVAL   without `overwrite`, the handler may emit more
 *                       messages at once than `capacity`.
 * @retval PEAL_EINVAL   a subscriber's handler takes messages of another size,
 *                       or `runtime` is NULL.
 * @retval PEAL_EMSGSIZE the handler declares messages longer than
 *                       message_bytes.
 * @retval PEAL_EBUSY    a subscriber (the text names it) has not reached the
 *                       end of an earlier publisher's messages.
 * @retval PEAL_ESTOPPED the actor's kernel has ended.
 * @retval PEAL_EHUNG    a worker did not answer within PEAL_CONTROL_TIMEOUT_MS.
 *                       The actor may still become the publisher. Undo it by
 *                       peal_unpublish.
 */
int peal_publish(struct peal_runtime *runtime, uint64_t from, uint32_t port,
		 uint64_t topic);

/**
 * Removes the publisher of a topic.
 *
 * The subscribers stay. While the publisher's kernel runs, they get no end of
 * stream. The port is free afterwards. The worker drops the messages that the
 * handler emits there, until the port is connected again.
 *
 * Thread-safe. Blocks until the publisher's worker has answered. The call may
 * also wait for the subscribers' workers.
 *
 * @param runtime an open runtime.
 * @param topic   the topic's address.
 * @return 0, or a negative error code:
 * @retval PEAL_ENOENT  there is no such topic, or it has no publisher.
 * @retval PEAL_EBUSY   the publisher's kernel has ended, and a subscriber's
 *                      worker has no free slot for the notice. Call again.
 * @retval PEAL_EHUNG   a worker did not answer within PEAL_CONTROL_TIMEOUT_MS.
 *                      The publisher stays. Call again.
 * @retval PEAL_EINVAL  `runtime` is NULL.
 */
int peal_unpublish(struct peal_runtime *runtime, uint64_t topic);

/**
 * Subscribes an actor to a topic, from the next message on.
 *
 * The subscription uses one input of the actor's worker until
 * peal_unsubscribe.
 *
 * The first subscriber of another device than the topic's starts a forwarder. It
 * takes one of the topic's `max_subscribers`, and one kernel of both devices.
 *
 * Thread-safe. Blocks until the actor's worker has answered, and until the
 * workers of a new forwarder run.
 *
 * @param runtime an open runtime.
 * @param topic   the topic's address.
 * @param actor   address of an actor on any device of this process.
 * @param flags   bits of enum peal_subscribe_flag, or 0. On another device,
 *                PEAL_SUBSCRIBE_OLDEST starts with the oldest message there. A
 *                new forwarder starts with the topic's oldest message.
 * @return 0, or a negative error code:
 * @retval PEAL_ENOENT   there is no such topic or actor.
 * @retval PEAL_EEXIST   the actor subscribes to the topic already.
 * @retval PEAL_ENOTSUP  the actor's program lacks PEAL_USE_TOPICS. Or it lacks
 *                       PEAL_USE_PRIORITIES, and `flags` has
 *                       PEAL_SUBSCRIBE_HIGH.
 * @retval PEAL_ENOMEM   a device has too little memory for a forwarder.
 * @retval PEAL_ENOPEER  no route leads to the actor's device.
 * @retval PEAL_ENOSPC   the topic has all its `max_subscribers`, or the worker
 *                       has all its max_inputs. Or a device has too many
 *                       kernels for a forwarder.
 * @retval PEAL_EPROGRAM a device has no image of the forwarder.
 * @retval PEAL_EINVAL   `actor` is an endpoint or a pool.
 * @retval PEAL_EINVAL   the actor's handler takes messages of another size
 *                       than the publisher's handler emits.
 * @retval PEAL_EINVAL   `flags` has unknown bits, or `runtime` is NULL.
 * @retval PEAL_ESTOPPED the actor's kernel has ended.
 * @retval PEAL_EHUNG    no answer within PEAL_CONTROL_TIMEOUT_MS. The
 *                       actor still counts as a subscriber, and the worker may
 *                       join later. Undo it by peal_unsubscribe.
 */
int peal_subscribe(struct peal_runtime *runtime, uint64_t topic, uint64_t actor,
		   uint32_t flags);

/**
 * Ends a subscription.
 *
 * The subscriber's queued messages and its counters are lost. Read the
 * counters by peal_topic_subscribers before.
 *
 * The last subscriber of another device ends the forwarder, too.
 *
 * Thread-safe. Blocks until the workers of the subscriber and the publisher
 * have answered. Also blocks until the kernels of an ended forwarder have ended.
 *
 * @param runtime an open runtime.
 * @param topic   the topic's address.
 * @param actor   the subscriber's address.
 * @return 0, or a negative error code:
 * @retval PEAL_ENOENT  there is no such topic, or the actor does not
 *                      subscribe.
 * @retval PEAL_EHUNG   a worker did not answer within PEAL_CONTROL_TIMEOUT_MS.
 *                      The subscription stays. Call again.
 * @retval PEAL_EINVAL  `runtime` is NULL.
 */
int peal_unsubscribe(struct peal_runtime *runtime, uint64_t topic,
		     uint64_t actor);

/**
 * Reads the state and the counters of a topic.
 *
 * Thread-safe. The workers go on meanwhile.
 *
 * @param runtime  an open runtime.
 * @param topic    the topic's address.
 * @param info_out written on success.
 * @return 0, or a negative error code:
 * @retval PEAL_ENOENT  there is no such topic.
 * @retval PEAL_EINVAL  a pointer is NULL.
 */
int peal_topic_info(struct peal_runtime *runtime, uint64_t topic,
		    struct peal_topic_info *info_out);

/**
 * Reads the counters of a topic's subscribers.
 *
 * Thread-safe. The workers go on meanwhile.
 *
 * @param runtime  an open runtime.
 * @param topic    the topic's address.
 * @param info_out array of n elements; the first n subscribers are written.
 * @param n        elements of info_out (0: only count; info_out may be NULL).
 * @return the number of subscribers, which may exceed n, or a negative error
 *         code:
 * @retval PEAL_ENOENT  there is no such topic.
 * @retval PEAL_EINVAL  a pointer is NULL.
 */
int peal_topic_subscribers(struct peal_runtime *runtime, uint64_t topic,
			   struct peal_subscriber_info *info_out, uint32_t n);

PEAL_END_C
#endif
