/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_REQUEST_H
#define PEAL_REQUEST_H

#include <stddef.h>
#include <stdint.h>

#include <peal/endpoint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct peal_runtime;

/**
 * Sends requests from the host to one actor or pool, or to any actor of a kernel
 * (peal_request_to), and takes the replies: each reply finds the request that it belongs to by a number that both carry. What
 * handlers do is in peal/device/request.h.
 *
 *	peal_requester_open(runtime, actor, NULL, &requester);
 *	peal_requester_listen(requester, actor, 0);
 *	peal_request(requester, 0, &n, sizeof(n), &twice, sizeof(twice), NULL,
 *		     SECOND);
 *
 * Replies have links of their own, so that no other traffic holds them up. Any
 * number of threads may have requests out at the same time; of those that wait,
 * one receives for all. A reply that comes when nobody waits for it any more is
 * dropped, and counted as dead at its link, reason "late".
 */
struct peal_requester;

/** Zero in a field: its default. */
struct peal_requester_options {
	uint32_t size; /* sizeof(struct peal_requester_options) */
	uint32_t max_outstanding; /* requests without their reply, 1..65535; 64 */
	uint64_t message_bytes; /* largest payload of a request; 48 */
	uint64_t reply_bytes; /* largest payload of a reply; 48 */
	uint32_t max_sources; /* ports that replies may come from; 16 */
	/*
	 * 1: what peal_request and peal_request_to wait at most goes with the
	 * request, as its deadline (peal/deadline.h): an actor does not handle
	 * one whose requester has given up. A request then has
	 * PEAL_DEADLINE_BYTES more, also in mailboxes and pools. Those of
	 * peal_request_begin have none.
	 */
	uint32_t deadlines;
	const char *name; /* for texts; "requester". Copied. */
};

/** Counts since the opening: asked = replied + refused + given_up + out. */
struct peal_requester_info {
	uint64_t asked; /* requests that the link has accepted */
	uint64_t replied; /* whose reply was handed to its caller */
	uint64_t refused; /* whose reply was an error */
	uint64_t given_up; /* timed out, cancelled, or the reply cannot come, or
			    * not be kept */
	uint64_t out; /* all others, answered or not */
	uint64_t late; /* messages for which no request waited: dropped */
};

/**
 * Makes a requester: an endpoint of its own, and a link from it to `to`, whose
 * messages have PEAL_REQUEST_BYTES more than message_bytes.
 *
 * @param runtime       an open runtime.
 * @param to            address of an actor or a pool.
 * @param options       NULL for all defaults.
 * @param requester_out the requester; the caller closes it.
 * @return 0; PEAL_EINVAL an option (named); PEAL_ENOMEM; else as peal_connect.
 *         Thread-safe.
 */
int peal_requester_open(struct peal_runtime *runtime, uint64_t to,
			const struct peal_requester_options *options,
			struct peal_requester **requester_out);

/**
 * Takes replies from a port of an actor: of the one that is asked, of a pool's
 * members, of those that requests are handed on to.
 *
 * @param requester a requester.
 * @param from      address of an actor.
 * @param port      of that actor, from 0; nothing is connected to it.
 * @return 0; PEAL_EINVAL; else as peal_connect, PEAL_ENOSPC max_sources. No
 *         other call on the requester may run at the same time.
 */
int peal_requester_listen(struct peal_requester *requester, uint64_t from,
			  uint32_t port);

/**
 * Sends a request and waits for its reply.
 *
 * @param requester  that listens to who replies.
 * @param type       the program's own number.
 * @param data       `bytes` bytes; NULL if bytes is 0.
 * @param bytes      at most message_bytes.
 * @param buffer     `room` bytes for the reply's payload.
 * @param room       size of the buffer.
 * @param reply_out  what came, its data in the buffer; NULL if not wanted.
 * @param timeout_ns for all of it; -1: for ever.
 * @return 0 the reply is there; PEAL_ETIMEDOUT it is not, or there was no room
 *         to ask (the text says which), a reply that comes later is dropped;
 *         PEAL_EMSGSIZE the request is too long, or the reply for the buffer:
 *         it is dropped, reply_out->length says what it needed; PEAL_ENOTCONN
 *         it listens to nobody; PEAL_ESTOPPED who is asked had ended, or all
 *         who reply have; PEAL_EPROTO an end broke the protocol (of those that
 *         wait, one hears it); what the handler has refused it with, then
 *         reply_out->refused is 1; PEAL_ENOMEM; PEAL_EINVAL. After an error the
 *         buffer is as it was, and reply_out->data NULL if it was written at
 *         all. Thread-safe.
 */
int peal_request(struct peal_requester *requester, uint16_t type,
		 const void *data, uint64_t bytes, void *buffer, uint64_t room,
		 struct peal_received *reply_out, int64_t timeout_ns);

/**
 * Sends a request and does not wait for its reply.
 *
 * @param requester   that listens to who replies.
 * @param type        the program's own number.
 * @param data        `bytes` bytes; NULL if bytes is 0.
 * @param bytes       at most message_bytes.
 * @param timeout_ns  for room; 0: not, -1: for ever, also if who is asked ends
 *                    while max_outstanding requests are out.
 * @param request_out its number, for peal_request_wait or _cancel; never 0.
 * @return 0; PEAL_EAGAIN (timeout 0) or PEAL_ETIMEDOUT max_outstanding requests
 *         are out, or the link is full; else as peal_request. Thread-safe.
 */
int peal_request_begin(struct peal_requester *requester, uint16_t type,
		       const void *data, uint64_t bytes, int64_t timeout_ns,
		       uint64_t *request_out);

/**
 * peal_request to any actor of the kernel that is asked, as peal_send_to: by the
 * requester's link, and by a mailbox to an actor of another worker (the message
 * has PEAL_REQUEST_BYTES more there). Who replies is listened to; actors that
 * share ports (ports_of in struct peal_actor_options) reply by one link.
 *
 * @param requester  that listens to who replies.
 * @param to         address of the actor. One that is retired, or never was, in
 *                   that kernel, or that its supervisor has given up: the
 *                   message is dead, reason "no-actor" or "down", and no reply
 *                   comes, as when its handler fails.
 * @param type       the program's own number.
 * @param data       `bytes` bytes; NULL if bytes is 0.
 * @param bytes      at most message_bytes.
 * @param buffer     `room` bytes for the reply's payload.
 * @param room       size of the buffer.
 * @param reply_out  what came, its data in the buffer; NULL if not wanted.
 * @param timeout_ns for all of it; -1: for ever.
 * @return as peal_request; PEAL_EMSGSIZE also if the request would go by a mailbox
 *         and is too long for it (while things are connected or made in other
 *         threads that may go unseen: then no reply comes); PEAL_ENOENT the
 *         address is none of that kernel. Thread-safe.
 */
int peal_request_to(struct peal_requester *requester, uint64_t to,
		    uint16_t type, const void *data, uint64_t bytes,
		    void *buffer, uint64_t room,
		    struct peal_received *reply_out, int64_t timeout_ns);

/**
 * peal_request_begin to any actor of the kernel that is asked.
 *
 * @param requester   that listens to who replies.
 * @param to          as peal_request_to.
 * @param type        the program's own number.
 * @param data        `bytes` bytes; NULL if bytes is 0.
 * @param bytes       at most message_bytes.
 * @param timeout_ns  as peal_request_begin.
 * @param request_out its number, for peal_request_wait or _cancel; never 0.
 * @return as peal_request_begin and peal_request_to. Thread-safe.
 */
int peal_request_begin_to(struct peal_requester *requester, uint64_t to,
			  uint16_t type, const void *data, uint64_t bytes,
			  int64_t timeout_ns, uint64_t *request_out);

/**
 * Waits for the reply of a request that was begun.
 *
 * @param requester  as at the begin.
 * @param request    its number.
 * @param buffer     `room` bytes for the reply's payload.
 * @param room       size of the buffer.
 * @param reply_out  what came, its data in the buffer; NULL if not wanted.
 * @param timeout_ns 0: looks, -1: for ever.
 * @return 0 the request is over; PEAL_EAGAIN (timeout 0) or PEAL_ETIMEDOUT not
 *         yet, and PEAL_EMSGSIZE the buffer is short: it stays, for another
 *         wait; PEAL_ENOENT no such request is out; PEAL_EBUSY
 *         another thread waits for it; any other as peal_request,
 *         and the request is over. Thread-safe.
 */
int peal_request_wait(struct peal_requester *requester, uint64_t request,
		      void *buffer, uint64_t room,
		      struct peal_received *reply_out, int64_t timeout_ns);

/**
 * Gives a request up: its reply is dropped when it comes, if it has not yet.
 *
 * @param requester as at the begin.
 * @param request   its number; nobody waits for it.
 * @return 0; PEAL_ENOENT no such request is out; PEAL_EBUSY a thread waits for
 *         it; PEAL_EINVAL. Thread-safe.
 */
int peal_request_cancel(struct peal_requester *requester, uint64_t request);

/**
 * The requester's counts.
 *
 * @param requester a requester.
 * @param info_out  filled on success.
 * @return 0; PEAL_EINVAL. Thread-safe.
 */
int peal_requester_info(struct peal_requester *requester,
			struct peal_requester_info *info_out);

/**
 * Takes its links down and frees it, with the requests that are out. What
 * an actor that it listened to then emits there is dropped, until the port has
 * a link again.
 *
 * @param requester a requester; NULL does nothing.
 * @return 0; PEAL_EBUSY a thread waits for a reply; PEAL_EHUNG a worker did not
 *         answer: it stays, and may be closed again. No other call on it may
 *         begin at the same time.
 */
int peal_requester_close(struct peal_requester *requester);

#ifdef __cplusplus
}
#endif
#endif
