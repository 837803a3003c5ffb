/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_LINK_H
#define PEAL_LINK_H

#include <stddef.h>
#include <stdint.h>

#include <peal/abi/message.h>
#include <peal/errors.h>
#include <peal/topology.h>

#ifdef __cplusplus
extern "C" {
#endif

struct peal_runtime;

/** A queue from one sender to one receiver. */
struct peal_link;

/** Zero in a field: its default. */
struct peal_link_options {
	uint32_t size; /* sizeof(struct peal_link_options) */
	uint32_t capacity; /* slots, a power of two up to 2^20; 64 */
	uint64_t message_bytes; /* largest payload, up to 256 MiB; 48 */
	uint32_t slot_bytes; /* multiple of 16, 16..4096; fits the message
			      * up to 256 bytes, with atoms up to 512, else
			      * 64 and a slab */
	uint32_t policy; /* enum peal_policy; the backend's default */
	/*
	 * For payloads that are larger than a slot. 0: capacity + 1 messages
	 * of the largest size, but no more than 64 MiB or nine messages if
	 * those are more.
	 */
	uint64_t slab_bytes;
	uint32_t require; /* mask of enum peal_route: one of these or fail */
	uint32_t forbid; /* mask of enum peal_route: none of these */
	/*
	 * enum peal_priority. The receiver's worker takes what comes by links of
	 * PEAL_PRIORITY_HIGH before all that is for its actors otherwise, but
	 * for one message of that after 32 of those. An endpoint takes all in
	 * turn: for a link to one it is an error.
	 */
	uint32_t priority;
	uint32_t priority_reserved; /* 0 */
};

/** A link and its counters: accepted = delivered + dead + queued, always. */
struct peal_link_info {
	uint64_t id;
	uint64_t from, to; /* addresses */
	uint32_t from_port;
	enum peal_route route;
	char why[160]; /* why this route */
	uint32_t capacity, slot_bytes, policy;
	uint32_t in_cluster; /* 1: its slots lie in memory that the workers of
			      * a cluster share; see peal_kernel_options */
	uint64_t message_bytes, slab_bytes, memory_bytes;
	uint64_t accepted, accepted_bytes;
	uint64_t delivered, delivered_bytes;
	uint64_t dead[PEAL_REASON_COUNT]; /* by reason */
	uint64_t queued; /* neither delivered nor dead yet */
	uint64_t staged; /* messages that the router has carried */
	uint64_t full; /* times that the sender found no room */
	uint64_t lost; /* dead letters for which there was no room: dropped,
			* not among the accepted; see peal/dead_letter.h */
	uint64_t switches; /* hand-overs to another ring */
	/*
	 * Once an end has stopped: the messages that were accepted and never
	 * handled are those numbered undelivered_first and up; they are counted
	 * in dead[PEAL_REASON_STOPPED].
	 */
	uint64_t undelivered, undelivered_first;
	int ended; /* 1: the sender has said END */
	int error; /* PEAL_E...: why the receiver closed it */
	uint32_t priority; /* enum peal_priority */
};

/**
 * Connects a sender to a receiver.
 *
 * @param runtime  an open runtime.
 * @param from     address of an actor or endpoint, or of a kernel's dead
 *                 letters.
 * @param port     of the sender, from 0; an actor has as many as its handler
 *                 says, an endpoint as many as its options say, dead letters
 *                 one for each worker.
 * @param to       address of an actor, a pool or an endpoint.
 * @param options  NULL for all defaults.
 * @param link_out the link; NULL if not wanted. Stays the runtime's until
 *                 peal_link_destroy or the runtime's shutdown.
 * @return 0; PEAL_ENOENT no such actor, endpoint or port; PEAL_EEXIST the port
 *         is connected; PEAL_EINVAL an option (named), or both ends are
 *         endpoints, or the sender is a pool, or the ends declare different
 *         message sizes; PEAL_EMSGSIZE a message fits neither slot nor slab,
 *         or not the pool; PEAL_ENOPEER the required route does not exist (the
 *         text names the pair and why); PEAL_ENOSPC max_inputs; PEAL_ENOMEM;
 *         PEAL_EBUSY `to` is a pool whose end has begun; PEAL_ESTOPPED an end
 *         has ended; PEAL_EHUNG a worker did not answer. Thread-safe.
 */
int peal_connect(struct peal_runtime *runtime, uint64_t from, uint32_t port,
		 uint64_t to, const struct peal_link_options *options,
		 struct peal_link **link_out);

/**
 * Hands a live link over to another route: the sender seals the old ring and
 * goes on in a new one, the receiver finishes the old ring first. Nothing is
 * lost or reordered. It waits for both ends: a thread that has to receive for
 * the receiver's kernel to go on cannot be the one that calls it.
 *
 * @param link       a link whose ends live.
 * @param route      one route that the pair can take.
 * @param timeout_ns for both ends to follow; -1 for ever.
 * @return 0; PEAL_EALREADY it has that route; PEAL_ENOPEER the pair cannot take
 *         it (named); PEAL_ENOTSUP an end of the link is an endpoint;
 *         PEAL_EBUSY another hand-over is under way; PEAL_ETIMEDOUT the
 *         receiver has not finished the old ring, it goes on in the background;
 *         PEAL_ESTOPPED; PEAL_ENOMEM; PEAL_EINVAL. Thread-safe.
 */
int peal_link_set_route(struct peal_link *link, enum peal_route route,
			int64_t timeout_ns);

/**
 * The link and its counters, without stopping anything.
 *
 * @param link     a link.
 * @param info_out filled on success.
 * @return 0; PEAL_EINVAL. Thread-safe; takes no lock that data waits for.
 */
int peal_link_info(struct peal_link *link, struct peal_link_info *info_out);

/**
 * The runtime's links, oldest first.
 *
 * @param runtime   an open runtime.
 * @param links_out room for n.
 * @param n         0 asks only how many there are.
 * @return how many there are; PEAL_EINVAL. Thread-safe.
 */
int peal_link_list(struct peal_runtime *runtime, struct peal_link **links_out,
		   uint32_t n);

/**
 * Takes a link down. What it still holds is gone; ask peal_link_info first. A
 * live sender then finds its port closed, a live receiver its input ended.
 *
 * @param link a link; NULL does nothing.
 * @return 0; PEAL_EHUNG a worker did not answer, the link stays; PEAL_EBUSY it is
 *         a passage, by which messages go on to another kernel (peal/migrate.h).
 *         No other call on this link may run at the same time, nor may an endpoint of it.
 */
int peal_link_destroy(struct peal_link *link);

/**
 * The name of a reason: "stopped", "no-actor", ...
 *
 * @param reason enum peal_reason.
 * @return a static string. Thread-safe, wait-free.
 */
const char *peal_reason_name(uint32_t reason);

#ifdef __cplusplus
}
#endif
#endif
