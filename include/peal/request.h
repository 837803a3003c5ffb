/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_REQUEST_H
#define PEAL_REQUEST_H

#include <stdint.h>

#include <peal/endpoint.h>
#include <peal/requester.h>

PEAL_BEGIN_C

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
 *
 * A request ends at once if no reply will come. Its code says whether a handler
 * has seen it:
 *
 *	not sent, so it is safe to send it again
 *	PEAL_EAGAIN	max_outstanding requests are in flight, or the link is
 *			full, for the whole timeout
 *	PEAL_ESTOPPED	the kernel of the receiver has ended before
 *	others		errors of the arguments
 *
 *	sent, but no handler has seen it: safe to send again
 *	PEAL_ENOENT	the actor is retired or never existed
 *	PEAL_ESTOPPED	the actor has ended by a failure, its supervisor has
 *			given up, or its kernel was stopped before
 *	PEAL_ENOSPC	a mailbox limit has dropped the request
 *	PEAL_EMALFORMED	it is too long for a mailbox or pool on its way
 *	PEAL_EEXPIRED	its deadline has passed
 *
 *	a handler has seen it
 *	PEAL_EHANDLER	the handler has failed; the text has its error
 *	PEAL_EDUPLICATE	the actor had it before (device/dedup.h)
 *	others		the error of peal_reply_error
 *
 *	no answer: a handler may have seen it
 *	PEAL_ETIMEDOUT	no reply in time; it can still come
 *	PEAL_ENOREPLY	no reply will come. The handler has returned without a
 *			reply, no sender of replies is left, or the kernel of
 *			the receiver was stopped.
 *	PEAL_EPIPE	the reply, or the forwarded request, met a closed port
 *	PEAL_EPROTO	an end of a link broke the protocol
 *
 * A handler can refuse a request with any of the codes of the second group.
 * reply_out->from is then the address of its actor. It is 0 if Peal has ended
 * the request. In both cases reply_out->error_reply is 1.
 *
 * These requests only time out:
 *
 * - An actor has asked for their number (peal_request_current) and does not
 *   reply. This holds also if the actor restarts or is retired.
 * - Another process has them, or another kernel that was stopped kept them.
 * - A handler has forwarded them by a port to a program without
 *   PEAL_USE_REQUESTS.
 * - The runtime has more than 1024 requesters, and theirs is a later one.
 */

/**
 * Sends a request and waits for its reply.
 *
 * If the handler replies with an error, the call returns the code of
 * peal_reply_error. reply_out->error_reply is then 1. A request that gets no
 * reply ends at once. The list at the top of this file has the codes.
 *
 * reply_out->request is the number of the request, after an error, too. 0: the
 * request was not sent. A dead letter about the request has this number
 * (peal_dead_letter_payload). The other members are 0 if neither a reply nor an
 * error reply arrived. After an error the buffer is unchanged, and
 * reply_out->data is NULL.
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
 * @retval PEAL_EAGAIN    the request was not sent: max_outstanding requests
 *                        stayed in flight, or the link stayed full. The text
 *                        says which.
 * @retval PEAL_ETIMEDOUT the request was sent, and no reply arrived in time. A
 *                        later reply is dropped.
 * @retval PEAL_EMSGSIZE  the request is longer than message_bytes, or the reply
 *                        is longer than the buffer. Such a reply is dropped,
 *                        and reply_out->length says its length.
 * @retval PEAL_ENOTCONN  the requester listens to no port.
 * @retval PEAL_ESTOPPED  no handler has seen the request: its kernel or its
 *                        actor has ended.
 * @retval PEAL_ENOREPLY  the handler has returned without a reply, all senders
 *                        of replies have ended, or the receiver's kernel was
 *                        stopped.
 * @retval PEAL_ENOENT    the actor of the request is retired or never existed.
 * @retval PEAL_EEXPIRED  the deadline of the request passed before a handler
 *                        has seen it.
 * @retval PEAL_EMALFORMED the request is too long for a mailbox or pool.
 * @retval PEAL_EPIPE     the reply or the forwarded request met a closed port.
 * @retval PEAL_EDUPLICATE the actor had the request before.
 * @retval PEAL_EPROTO    an end of a link broke the protocol. Only one of
 *                        several waiting threads gets this error.
 * @retval PEAL_ENOSPC    the mailbox limit of an actor dropped the request.
 * @retval PEAL_EHANDLER  the handler has failed, or it refused the request with
 *                        a value that is no error code. Error replies with
 *                        PEAL_EAGAIN, PEAL_ETIMEDOUT, PEAL_EMSGSIZE or
 *                        PEAL_EBUSY also become PEAL_EHANDLER.
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
 * @retval PEAL_EAGAIN    max_outstanding requests are in flight or the link is
 *                        full, for timeout_ns.
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
 * cases the request ends at once.
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
 *                       code is then PEAL_EMALFORMED.
 * @retval PEAL_ENOENT   the receiver's kernel has no such address, or no actor
 *                       there.
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
 * flight, and the caller can wait again. After other results it is over.
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

PEAL_END_C
#endif
