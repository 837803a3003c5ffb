/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEALI_RUNTIME_TOPIC_H
#define PEALI_RUNTIME_TOPIC_H

#include <peal/abi/topic.h>
#include <peal/topic.h>
#include "queues/topic.h"
#include "runtime/device/memory_block.h"
#include "runtime/kernel/record.h"
#include "runtime/link/endpoint_ref.h"
#include "runtime/runtime.h"

/* The host's record of a topic. rt->lock guards it. */

/* The actors of forwarders. */
extern const struct peal_program peal_program_peal_relay;

/** A subscriber. Its index is its cursor. */
struct peali_subscriber {
	struct peali_link_end end; /* its kernel is NULL: the cursor is free */
	int gone; /* 1: its kernel has ended */
	int forgotten; /* 1: and the publisher ignores the cursor */
	int told; /* 1: it knows that the publisher's kernel has ended */
	struct peali_progress progress; /* of its messages, as in a link */
	uint32_t priority; /* enum peal_priority */
	/* 1: either kernel has ended, and `published` is final */
	int closed;
	uint64_t published; /* messages published to the topic by then */
};

struct peali_topic {
	struct peal_runtime *rt;
	struct peali_topic *next;
	uint64_t address;
	/* Address of the topic with the messages that a forwarder brings
	 * (collective/topic_forward.c); 0: this topic is no copy. */
	uint64_t copy_of;
	char name[48];
	int device;
	struct peali_topic_spec spec;
	struct peali_block own; /* device memory: the topic, then its ends'
				* private memory */
	struct peali_block shared; /* host memory: the counts, then the bells */
	struct peal_topic_published *published; /* the host's view */
	struct peal_topic_counts *counts; /* the host's view, one for each
					   * cursor */
	uint64_t *bells; /* addresses: the publisher's bell, then one for each
			  * cursor */
	struct peali_link_end publisher; /* its kernel is NULL: there is none */
	uint32_t port; /* the publisher's, as in peal_publish */
	int ended; /* 1: the latest publisher's kernel has ended, all ends are
		    * told */
	struct peali_subscriber *subscribers; /* spec.n_subscribers cursors */
};

/* Returns the topic of an address, or NULL with an error text. */
struct peali_topic *peali_topic_of(struct peal_runtime *rt, uint64_t address,
				   const char *call);
/* Returns the view for an end. Cursor -1 is the publisher. */
struct peal_topic_view peali_topic_view(const struct peali_topic *t,
					int cursor);
/* Reads the counters of a subscriber. */
void peali_subscriber_read(const struct peali_topic *t, uint32_t cursor,
			   struct peal_subscriber_info *out);

/* Returns the first copy of a topic in a list of topics, or NULL. */
const struct peali_topic *peali_topic_copy(const struct peali_topic *list,
					   uint64_t topic);
/* Returns the number of subscribers. */
uint32_t peali_topic_n_subscribers(const struct peali_topic *t);
/* Returns 1 if the actor subscribes to the topic itself. */
int peali_topic_has(const struct peali_topic *t, uint64_t actor);
/*
 * Finds the device of an actor that is to subscribe. Refuses other objects, and a
 * handler that takes messages of another size than the publisher's handler emits.
 */
int peali_topic_locate(const struct peali_topic *t, uint64_t actor,
		       int *device_out);
/* As peal_subscribe and peal_unsubscribe, for an actor on the topic's device. The
 * caller holds rt->lock. */
int peali_topic_subscribe(struct peali_topic *t, uint64_t actor,
			  uint32_t flags);
int peali_topic_unsubscribe(struct peali_topic *t, uint64_t actor);

/* Returns 1 if an actor of the kernel publishes or subscribes. */
int peali_topic_names(const struct peal_runtime *rt,
		      const struct peal_kernel *kernel);
/* Returns the name of the topic at an actor's port, or NULL. */
const char *peali_topic_at_port(const struct peal_runtime *rt, uint64_t address,
				uint32_t port);
/* Tells neighbours that a kernel has ended. Returns 0 once all are told. */
int peali_topics_reap(struct peal_kernel *kernel);
uint32_t peali_topics_count(const struct peal_runtime *rt);
/* Frees all topics. Every kernel has ended. */
void peali_topics_clear(struct peal_runtime *rt);

#endif
