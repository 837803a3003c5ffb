/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_ENDPOINT_H
#define PEAL_ENDPOINT_H

#include <stddef.h>
#include <stdint.h>

#include <peal/errors.h>

#ifdef __cplusplus
extern "C" {
#endif

struct peal_runtime;

/**
 * Where the host sends from and receives at. Links leave it by numbered ports
 * and arrive at it in any number.
 *
 * One thread at a time sends, one thread at a time receives; these may be two
 * threads. Sending and receiving make no system call while there is traffic and
 * allocate nothing.
 */
struct peal_endpoint;

/** Zero in a field: its default. */
struct peal_endpoint_options {
	uint32_t size; /* sizeof(struct peal_endpoint_options) */
	uint32_t max_ports; /* links that leave it; 16 */
	uint32_t max_inputs; /* links that arrive; 16 */
	const char *name; /* for texts; "endpoint". Copied. */
};

/** A received message. */
struct peal_received {
	const void *data; /* peal_receive: the caller's buffer */
	uint64_t length; /* bytes */
	uint64_t sequence; /* number in its link, from 0 */
	uint64_t from; /* address of the actor or endpoint whose port it left
			* by; of those that share ports, their owner */
	uint32_t input; /* which of the endpoint's inputs, in connect order */
	uint16_t type; /* the program's own number */
	uint16_t refused; /* 1: a reply that is an error, by peal_refuse */
	uint64_t request; /* number of the request that it is the reply to; 0:
			   * of none. Replies are taken by a requester, see
			   * peal/request.h */
	uint32_t dead_letter; /* 1: data are a struct peal_dead_letter and what
			       * it kept, see peal/dead_letter.h */
	uint32_t down; /* 1: data are a struct peal_down, `from` is the actor,
			* of no input and no number: see peal/monitor.h */
};

/**
 * Makes an endpoint.
 *
 * @param runtime      an open runtime.
 * @param options      NULL for all defaults.
 * @param endpoint_out the endpoint; the caller destroys it.
 * @return 0; PEAL_ENOMEM; PEAL_EINVAL. Thread-safe.
 */
int peal_endpoint_create(struct peal_runtime *runtime,
			 const struct peal_endpoint_options *options,
			 struct peal_endpoint **endpoint_out);

/**
 * The endpoint's address, for peal_connect.
 *
 * @param endpoint an endpoint.
 * @return the address; 0 for NULL. Thread-safe, wait-free.
 */
uint64_t peal_endpoint_address(const struct peal_endpoint *endpoint);

/**
 * Frees an endpoint that has no links left.
 *
 * @param endpoint an endpoint; NULL does nothing.
 * @return 0; PEAL_EBUSY links name it (peal_link_destroy takes them down). No
 *         other call on it may run at the same time.
 */
int peal_endpoint_destroy(struct peal_endpoint *endpoint);

/**
 * Sends a message.
 *
 * @param endpoint   the sender.
 * @param port       of a link that leaves it.
 * @param type       the program's own number.
 * @param data       `bytes` bytes; NULL if bytes is 0.
 * @param bytes      at most the link's message_bytes.
 * @param timeout_ns how long to wait for room; 0: not, -1: for ever.
 * @return 0 the link has accepted it; PEAL_EAGAIN (timeout 0) or
 *         PEAL_ETIMEDOUT the link is full, nothing was sent; PEAL_EMSGSIZE too
 *         long; PEAL_ENOTCONN no link at the port; PEAL_EPIPE the link was
 *         ended; PEAL_ESTOPPED the receiver has ended; PEAL_EPROTO the receiver
 *         broke the protocol; PEAL_EINVAL. One thread at a time.
 */
int peal_send(struct peal_endpoint *endpoint, uint32_t port, uint16_t type,
	      const void *data, uint64_t bytes, int64_t timeout_ns);

/**
 * Sends a message to any actor of the kernel that a port leads to, which may be
 * another one than the port's link was made for.
 *
 * The link leads to one worker. An actor of that worker gets the message from
 * the link itself, one of another worker by its mailbox (mailbox_slots in struct
 * peal_kernel_options; without mailboxes it is dead at the link, reason
 * "no-actor"), where it counts as told by the kernel and at the link as
 * delivered; what is longer than mailbox_message_bytes is dead at the link then,
 * reason "too-long". No length is checked against what the actor's handler
 * declares, as it is for the actor that the link was made for. For each actor what
 * leaves by one port stays in order. While a mailbox is full, what is behind in
 * the link waits.
 *
 * @param endpoint   the sender.
 * @param port       of a link that leaves it.
 * @param to         address of the actor, or of a pool. One that is retired, or
 *                   never was, in that kernel: the message is dead, reason
 *                   "no-actor".
 * @param type       the program's own number.
 * @param data       `bytes` bytes; NULL if bytes is 0.
 * @param bytes      at most the link's message_bytes.
 * @param timeout_ns as peal_send.
 * @return as peal_send; PEAL_ENOENT the address is none of that kernel. One
 *         thread at a time.
 */
int peal_send_to(struct peal_endpoint *endpoint, uint32_t port, uint64_t to,
		 uint16_t type, const void *data, uint64_t bytes,
		 int64_t timeout_ns);

/**
 * Makes room for a message and gives the place to write it, with no copy.
 *
 * @param endpoint   the sender.
 * @param port       of a link that leaves it.
 * @param bytes      exact length of the message.
 * @param timeout_ns as peal_send.
 * @param place_out  `bytes` bytes, aligned to 8; the caller's until
 *                   peal_send_commit. A second reserve replaces the first.
 * @return as peal_send. One thread at a time.
 */
int peal_send_reserve(struct peal_endpoint *endpoint, uint32_t port,
		      uint64_t bytes, int64_t timeout_ns, void **place_out);

/**
 * Sends what was written to the reserved place.
 *
 * @param endpoint the sender.
 * @param port     as at the reserve.
 * @param type     the program's own number.
 * @return 0; PEAL_EINVAL nothing is reserved. One thread at a time; wait-free.
 */
int peal_send_commit(struct peal_endpoint *endpoint, uint32_t port,
		     uint16_t type);

/**
 * Says that no more messages follow on a port: the receiver gets an END mark.
 * What is reserved on the port and not committed is dropped.
 *
 * @param endpoint   the sender.
 * @param port       of a link that leaves it.
 * @param timeout_ns as peal_send.
 * @return as peal_send; PEAL_EPIPE it was ended before. One thread at a time.
 */
int peal_send_end(struct peal_endpoint *endpoint, uint32_t port,
		  int64_t timeout_ns);

/**
 * Receives a message into a buffer; the links take turns.
 *
 * @param endpoint     the receiver.
 * @param buffer       `room` bytes.
 * @param room         size of the buffer.
 * @param received_out filled on success.
 * @param timeout_ns   0: looks, -1: for ever.
 * @return 0; PEAL_EAGAIN (timeout 0) or PEAL_ETIMEDOUT nothing there;
 *         PEAL_EEND every link has ended; PEAL_EMSGSIZE the buffer is short,
 *         the message stays and received_out->length says what it needs;
 *         PEAL_ENOTCONN no link arrives here; PEAL_ESTOPPED every sender that
 *         has not ended its link is gone; PEAL_EPROTO a sender broke the
 *         protocol (its link is closed); PEAL_EINVAL. One thread at a time.
 */
int peal_receive(struct peal_endpoint *endpoint, void *buffer, uint64_t room,
		 struct peal_received *received_out, int64_t timeout_ns);

/**
 * Gives the next message in place, with no copy; peal_receive_release ends it.
 *
 * @param endpoint     the receiver.
 * @param received_out filled on success; its data stay valid until release.
 * @param timeout_ns   as peal_receive.
 * @return as peal_receive. One thread at a time.
 */
int peal_receive_peek(struct peal_endpoint *endpoint,
		      struct peal_received *received_out, int64_t timeout_ns);

/**
 * Takes the peeked message off.
 *
 * @param endpoint the receiver.
 * @return 0; PEAL_EINVAL nothing was peeked. One thread at a time; wait-free.
 */
int peal_receive_release(struct peal_endpoint *endpoint);

#ifdef __cplusplus
}
#endif
#endif
