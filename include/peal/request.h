/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_REQUEST_H
#define PEAL_REQUEST_H

#include <stddef.h>
#include <stdint.h>

#include <peal/endpoint.h>

PEAL_BEGIN_C

struct peal_link;
struct peal_runtime;

/*
 * Requests from the host to actors and pools, and their replies.
 * A request carries a number. Its reply carries the same number.
 * Handlers reply with the calls of peal/device/request.h.
 * Typical sequence: peal_requester_create, then peal_requester_listen once for
 * each port that sends replies. Then peal_request as often as needed, and
 * peal_requester_destroy.
 *
 *	peal_requester_create(runtime, actor, NULL, &requester);
 *	peal_requester_listen(requester, actor, 0);
 *	peal_request(requester, 0, &n, sizeof(n), &twice, sizeof(twice), NULL,
 *		     SECOND);
 *	peal_requester_destroy(requester);
 */

/**
 * A requester: a host endpoint with one link for requests and one for each
 * port that sends replies.
 *
 * No other messages use these links, so no other traffic delays a reply.
 *
 * Any number of threads may have requests in flight at the same time. Of the
 * threads that wait, one receives the replies of all. Replies are received only
 * while a thread is in a call that sends or waits. Until then the replies stay
 * in their links.
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
	 * Requests without a time limit have no deadline. Neither have those
	 * of peal_request_start and peal_request_start_to.
	 * 0: no request has a deadline.
	 */
	uint32_t deadlines;
	const char *name; /* for error texts (default "requester"); copied, at
			   * most 47 bytes */
};

/** Counts since peal_requester_create: asked = replied + error_replies +
 * cancelled + in_flight. */
struct peal_requester_info {
	uint64_t asked; /* requests that the link has accepted */
	uint64_t replied; /* requests with a reply that a caller received */
	uint64_t error_replies; /* requests that ended with an error reply */
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
 * With option deadlines they are PEAL_DEADLINE_BYTES longer again. A pool must
 * take messages of that length.
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
 * Sends a request and waits for its reply.
 *
 * If the handler replies with an error, the call returns the code of
 * peal_reply_error. reply_out->error_reply is then 1. A handler that fails
 * sends no reply, so the call times out.
 *
 * reply_out->request is the number of the request. 0: the request was not sent.
 * The number is written after an error, too, except for PEAL_EINVAL and for
 * requests that are too long. A dead letter about the request has this number
 * (peal_dead_letter_payload). The other members are 0 if no reply arrived. After
 * an error the buffer is unchanged, and reply_out->data is NULL.
 *
 * Thread-safe. Blocks for timeout_ns at most.
 *
 * @param requester  a requester that listens to the port of the reply.
 * @param type       the message type, defined by the program.
 * @param data       `bytes` bytes; NULL if `bytes` is 0.
 * @param bytes      payload bytes, 0 .. message_bytes.
 * @param buffer     memory for the reply; NULL if `buffer_bytes` is 0.
 * @param buffer_bytes size of the buffer in bytes.
 * @param reply_out  the reply, with its data in the buffer. NULL: not wanted.
 * @param timeout_ns ns, for sending and for the reply; 0: returns at once,
 *                   -1: no limit.
 * @return 0, or a negative error code:
 * @retval PEAL_ETIMEDOUT no reply arrived in time, max_outstanding requests
 *                        stayed in flight, or the link stayed full. The text
 *                        says which. A later reply is dropped.
 * @retval PEAL_EMSGSIZE  the request is longer than message_bytes, or the reply
 *                        is longer than the buffer. Such a reply is dropped,
 *                        and reply_out->length says its length.
 * @retval PEAL_ENOTCONN  the requester listens to no port.
 * @retval PEAL_ESTOPPED  the receiver's kernel has ended, or all senders of
 *                        replies have ended.
 * @retval PEAL_EPROTO    an end of a link broke the protocol. Only one of
 *                        several waiting threads gets this error.
 * @retval PEAL_ENOSPC    the mailbox limit of an actor dropped the request.
 *                        reply_out->error_reply is then 1.
 * @retval PEAL_EHANDLER  the handler refused the request with a value that is
 *                        no error code. Error replies with PEAL_EAGAIN,
 *                        PEAL_ETIMEDOUT, PEAL_EMSGSIZE or PEAL_EBUSY also
 *                        become PEAL_EHANDLER.
 * @retval PEAL_ENOMEM    the host has no memory for the reply.
 * @retval PEAL_EINVAL    requester, data or buffer is NULL.
 */
int peal_request(struct peal_requester *requester, uint16_t type,
		 const void *data, uint64_t bytes, void *buffer,
		 uint64_t buffer_bytes, struct peal_received *reply_out,
		 int64_t timeout_ns);

/**
 * Sends a request without waiting for its reply.
 *
 * peal_request_wait gets the reply. peal_request_cancel gives the request up.
 * The request counts for max_outstanding until one of them ends it.
 *
 * Thread-safe. Blocks for timeout_ns at most, while max_outstanding requests
 * are in flight or the link is full. With timeout -1 the call may block for
 * ever. While max_outstanding requests are in flight it does not notice that
 * the receiver ends.
 *
 * @param requester   a requester that listens to the port of the reply.
 * @param type        the message type, defined by the program.
 * @param data        `bytes` bytes; NULL if `bytes` is 0.
 * @param bytes       payload bytes, 0 .. message_bytes.
 * @param timeout_ns  ns, for sending; 0: does not wait, -1: no limit.
 * @param request_out the request's number; never 0.
 * @return 0, or a negative error code:
 * @retval PEAL_EAGAIN    timeout_ns is 0, and max_outstanding requests are in
 *                        flight or the link is full.
 * @retval PEAL_ETIMEDOUT the cause of PEAL_EAGAIN lasted for timeout_ns.
 * @retval PEAL_EMSGSIZE  the request is longer than message_bytes.
 * @retval PEAL_ENOTCONN  the requester listens to no port.
 * @retval PEAL_ESTOPPED  the receiver's kernel has ended.
 * @retval PEAL_EPROTO    an end of the link broke the protocol.
 * @retval PEAL_EINVAL    requester, data or request_out is NULL.
 */
int peal_request_start(struct peal_requester *requester, uint16_t type,
		       const void *data, uint64_t bytes, int64_t timeout_ns,
		       uint64_t *request_out);

/**
 * Sends a request to any actor of the receiver's kernel, and waits for its
 * reply.
 *
 * The request leaves by the requester's link, as in peal_send_to. For an actor
 * of another worker it continues by a mailbox. There it is PEAL_REQUEST_BYTES
 * longer than its payload. The requester must listen to the port of the reply.
 *
 * If the actor is retired or never existed, the message is dead, reason
 * "no-actor". If its supervisor has given it up, the reason is "down". In both
 * cases no reply arrives, and the call times out.
 *
 * Thread-safe. Blocks for timeout_ns at most.
 *
 * @param requester  a requester that listens to the port of the reply.
 * @param to         address of an actor or a pool of that kernel.
 * @param type       the message type, defined by the program.
 * @param data       `bytes` bytes; NULL if `bytes` is 0.
 * @param bytes      payload bytes, 0 .. message_bytes.
 * @param buffer     memory for the reply; NULL if `buffer_bytes` is 0.
 * @param buffer_bytes size of the buffer in bytes.
 * @param reply_out  the reply, with its data in the buffer. NULL: not wanted.
 * @param timeout_ns ns, for sending and for the reply; 0: returns at once,
 *                   -1: no limit.
 * @return as peal_request, and:
 * @retval PEAL_EMSGSIZE the request is too long for the mailbox. Calls that
 *                       connect or spawn at the same time can hide this. The
 *                       message is then dead and no reply arrives.
 * @retval PEAL_ENOENT   the receiver's kernel has no such address.
 */
int peal_request_to(struct peal_requester *requester, uint64_t to,
		    uint16_t type, const void *data, uint64_t bytes,
		    void *buffer, uint64_t buffer_bytes,
		    struct peal_received *reply_out, int64_t timeout_ns);

/**
 * Sends a request to any actor of the receiver's kernel, without waiting for
 * its reply.
 *
 * The request is delivered as in peal_request_to. Otherwise the call is like
 * peal_request_start.
 *
 * Thread-safe. Blocks as peal_request_start.
 *
 * @param requester   a requester that listens to the port of the reply.
 * @param to          address of an actor or a pool of that kernel.
 * @param type        the message type, defined by the program.
 * @param data        `bytes` bytes; NULL if `bytes` is 0.
 * @param bytes       payload bytes, 0 .. message_bytes.
 * @param timeout_ns  ns, for sending; 0: does not wait, -1: no limit.
 * @param request_out the request's number; never 0.
 * @return as peal_request_start, and:
 * @retval PEAL_EMSGSIZE as peal_request_to.
 * @retval PEAL_ENOENT   the receiver's kernel has no such address.
 */
int peal_request_start_to(struct peal_requester *requester, uint64_t to,
			  uint16_t type, const void *data, uint64_t bytes,
			  int64_t timeout_ns, uint64_t *request_out);

/**
 * Waits for the reply of a request that was begun.
 *
 * After PEAL_EAGAIN, PEAL_ETIMEDOUT and PEAL_EMSGSIZE the request stays in
 * flight, and the caller can wait again. After 0, PEAL_ESTOPPED, PEAL_EPROTO,
 * PEAL_ENOMEM and an error reply the request is over.
 *
 * Thread-safe. Blocks for timeout_ns at most.
 *
 * @param requester  the requester that sent the request.
 * @param request    the request's number.
 * @param buffer     memory for the reply; NULL if `buffer_bytes` is 0.
 * @param buffer_bytes size of the buffer in bytes.
 * @param reply_out  the reply, with its data in the buffer. NULL: not wanted.
 * @param timeout_ns ns; 0: returns at once, -1: no limit.
 * @return as peal_request, and:
 * @retval PEAL_EAGAIN    timeout_ns is 0, and there is no reply yet.
 * @retval PEAL_ETIMEDOUT no reply arrived in time.
 * @retval PEAL_EMSGSIZE  the reply is longer than the buffer. The reply is
 *                        kept, and reply_out->length says its length.
 * @retval PEAL_ENOENT    no such request is in flight.
 * @retval PEAL_EBUSY     another thread waits for the request.
 * @retval PEAL_EINVAL    requester or buffer is NULL.
 */
int peal_request_wait(struct peal_requester *requester, uint64_t request,
		      void *buffer, uint64_t buffer_bytes,
		      struct peal_received *reply_out, int64_t timeout_ns);

/**
 * Gives up a request.
 *
 * The requester drops the reply, also if it has arrived already.
 *
 * Thread-safe. Does not block.
 *
 * @param requester the requester that sent the request.
 * @param request   the number of a request that no thread waits for.
 * @return 0, or a negative error code:
 * @retval PEAL_ENOENT no such request is in flight.
 * @retval PEAL_EBUSY  a thread waits for the request.
 * @retval PEAL_EINVAL requester is NULL.
 */
int peal_request_cancel(struct peal_requester *requester, uint64_t request);

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
