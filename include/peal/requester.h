/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_REQUESTER_H
#define PEAL_REQUESTER_H

#include <stdint.h>

#include <peal/endpoint.h>

PEAL_BEGIN_C

struct peal_link;
struct peal_runtime;

/*
 * Requesters. A requester sends requests from the host to actors and pools, and
 * receives their replies. The calls for requests are in peal/request.h.
 */

/**
 * A requester: a host endpoint with one link for requests and one for each
 * port that sends replies.
 *
 * No other messages use these links, so no other traffic delays a reply.
 *
 * Any number of threads may have requests in flight at the same time. One of
 * the waiting threads receives the replies for all threads. Replies are received
 * only while a thread is in a call that sends or waits. Until then the replies
 * stay in their links.
 *
 * A reply to a request that is over is dropped. It counts as dead at its link,
 * reason "late".
 */
struct peal_requester;

/** Options of a requester. A field with value 0 takes its default. */
struct peal_requester_options {
	uint32_t size; /* sizeof(struct peal_requester_options) */
	uint32_t max_outstanding; /* requests in flight (default 64, 1..65535;
				   * 0: default) */
	uint64_t message_bytes; /* largest payload of a request, bytes (default
				 * 48, up to 256 MiB less 16; 0: default) */
	uint64_t reply_bytes; /* largest payload of a reply, bytes (default 48,
			       * up to 256 MiB less 16; 0: default) */
	uint32_t max_sources; /* calls of peal_requester_listen (default 16,
			       * 1..4096; 0: default) */
	/*
	 * 1: peal_request and peal_request_to send their timeout as a deadline
	 * (peal/deadline.h). An actor does not handle a request after its
	 * deadline. Each of these requests needs PEAL_DEADLINE_BYTES more in
	 * mailboxes and pools.
	 * A request without a time limit has no deadline. A request of
	 * peal_request_start or peal_request_start_to has no deadline.
	 * 0: no request has a deadline.
	 */
	uint32_t deadlines;
	const char *name; /* for error texts (default "requester"); copied, at
			   * most 47 bytes: "..." replaces the middle of
			   * more */
};

/** Counts since peal_requester_create: asked = replied + error_replies +
 * cancelled + in_flight. */
struct peal_requester_info {
	uint64_t asked; /* requests that the link has accepted */
	uint64_t replied; /* requests with a reply that a caller received */
	uint64_t error_replies; /* requests that ended with an error reply, or
				 * that Peal has ended at once */
	/*
	 * Requests that the caller cancelled or stopped waiting for. Also those
	 * with a reply that cannot arrive, or that the host cannot store.
	 */
	uint64_t cancelled;
	uint64_t in_flight; /* all other requests, answered or not */
	uint64_t late; /* received messages without a request that waits for
			* them; dropped */
};

/**
 * Creates a requester and connects it to an actor or a pool.
 *
 * Messages of the new link are PEAL_REQUEST_BYTES longer than message_bytes.
 * Option deadlines adds PEAL_DEADLINE_BYTES to this length. A pool must accept
 * messages of the total length.
 *
 * Thread-safe. Blocks until the receiver's worker has answered, at most
 * PEAL_CONTROL_TIMEOUT_MS.
 *
 * @param runtime       an open runtime.
 * @param to            address of an actor or a pool.
 * @param options       NULL for all defaults.
 * @param requester_out the requester. The caller frees it with
 *                      peal_requester_destroy.
 * @return as peal_connect, and:
 * @retval PEAL_EINVAL an option is out of range (the text names it), or an
 *                     argument is NULL.
 * @retval PEAL_ENOTSUP the program of `to` lacks PEAL_USE_REQUESTS.
 * @retval PEAL_ENOMEM the host is out of memory.
 */
int peal_requester_create(struct peal_runtime *runtime, uint64_t to,
			  const struct peal_requester_options *options,
			  struct peal_requester **requester_out);

/**
 * Connects a port of an actor to the requester, for replies.
 *
 * Call it for each actor that replies: the receiver or each member of the pool.
 * Call it also for each actor that a handler forwards requests to.
 * Actors that share ports reply by the port of their owner (share_ports_with in
 * struct peal_actor_options).
 *
 * No other call on the requester may run at the same time. Blocks until the
 * actor's worker has answered, at most PEAL_CONTROL_TIMEOUT_MS.
 *
 * @param requester a requester.
 * @param from      address of the actor that replies.
 * @param port      a port of that actor, from 0, without a link.
 * @return as peal_connect, and:
 * @retval PEAL_EINVAL requester is NULL.
 * @retval PEAL_ENOSPC the requester already listens to max_sources ports.
 */
int peal_requester_listen(struct peal_requester *requester, uint64_t from,
			  uint32_t port);

/**
 * Gets the counts of a requester.
 *
 * Thread-safe. Does not block.
 *
 * @param requester a requester.
 * @param info_out  filled on success.
 * @return 0, or a negative error code:
 * @retval PEAL_EINVAL an argument is NULL.
 */
int peal_requester_info(struct peal_requester *requester,
			struct peal_requester_info *info_out);

/**
 * Lists the links of a requester.
 *
 * The first link carries the requests. The others carry the replies, in the
 * order of the calls of peal_requester_listen. Read their counters by
 * peal_link_info. The requester destroys the links, so do not pass them to
 * peal_link_destroy.
 *
 * No call of peal_requester_listen or peal_requester_destroy may run at the same
 * time. Does not block.
 *
 * @param requester a requester.
 * @param links_out an array that receives the first n links. NULL is allowed if
 *                  n is 0.
 * @param n         the size of the array. 0: the call only counts.
 * @return the number of links, at least 1, which can exceed n, or a negative
 *         error code:
 * @retval PEAL_EINVAL requester is NULL, or links_out is NULL and n is not 0.
 */
int peal_requester_links(struct peal_requester *requester,
			 struct peal_link **links_out, uint32_t n);

/**
 * Destroys a requester and frees it, with the requests in flight.
 *
 * The runtime destroys the requester's links. Messages that actors then emit at
 * the ports of these links are dropped, until the ports have a link again.
 *
 * No other call on the requester may begin at the same time. Blocks until the
 * workers of its links have answered: at most PEAL_CONTROL_TIMEOUT_MS per link.
 *
 * @param requester a requester. NULL does nothing.
 * @return 0, or a negative error code:
 * @retval PEAL_EBUSY a thread is in a call that sends or waits.
 * @retval PEAL_EHUNG a worker did not answer. The requester stays, and the
 *                    caller can destroy it again.
 */
int peal_requester_destroy(struct peal_requester *requester);

PEAL_END_C
#endif
