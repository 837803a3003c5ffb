/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_ENDPOINT_H
#define PEAL_ENDPOINT_H

/*
 * Endpoints: the host sends messages to actors and receives messages from
 * them.
 *
 * peal_endpoint_create makes an endpoint. peal_connect (peal/link.h) connects
 * it by the address that peal_endpoint_address returns. Then call peal_send
 * and peal_receive. peal_send_reserve with peal_send_commit sends without a
 * copy. peal_receive_peek with peal_receive_release receives without a copy.
 * peal_send_end ends a stream. Destroy the links before peal_endpoint_destroy.
 */

#include <stddef.h>
#include <stdint.h>

#include <peal/abi/send_options.h>
#include <peal/errors.h>

PEAL_BEGIN_C

struct peal_runtime;

/**
 * A sender and receiver of the host.
 *
 * Links leave an endpoint by numbered ports, one link for each port. Links
 * arrive at its inputs, one link for each input.
 *
 * One thread at a time may send, and one thread at a time may receive. These
 * may be two threads. Sending and receiving make no system call while there is
 * traffic. They never allocate memory.
 */
struct peal_endpoint;

/** Options of an endpoint. A field of 0 takes its default. */
struct peal_endpoint_options {
	uint32_t size; /* sizeof(struct peal_endpoint_options) */
	uint32_t max_ports; /* links that leave (default 16, 1..4096) */
	uint32_t max_inputs; /* links that arrive (default 16, 1..4096) */
	const char *name; /* for texts (default "endpoint"); copied, at most
			   * 47 bytes: "..." replaces the middle of more */
};

/** A received message. */
struct peal_received {
	const void *data; /* payload; of peal_receive: the buffer */
	uint64_t length; /* bytes of payload */
	uint64_t sequence; /* number of the message in its link, from 0 */
	/*
	 * Address of the sending actor or endpoint. Several actors may share
	 * the ports of one actor: then the address of that actor.
	 */
	uint64_t from;
	uint32_t input; /* from 0; peal_connect takes the lowest free one */
	uint16_t type; /* the program's own number */
	uint16_t error_reply; /* 1: error reply (peal_reply_error) */
	/*
	 * Number of the request that the message replies to; 0: no reply. A
	 * requester receives replies for the caller, see peal/request.h.
	 */
	uint64_t request;
	/*
	 * 1: `data` holds a struct peal_dead_letter, then the kept payload. See
	 * peal/dead_letter.h.
	 */
	uint32_t dead_letter;
	/*
	 * 1: `data` holds a struct peal_down, and `from` is the actor that the
	 * endpoint monitors. `input` and `sequence` have no meaning then. See
	 * peal/monitor.h.
	 */
	uint32_t down;
};

/**
 * Creates an endpoint.
 *
 * Thread-safe. Does not block.
 *
 * @param runtime      an open runtime.
 * @param options      NULL for all defaults.
 * @param endpoint_out the endpoint; the caller frees it by
 *                     peal_endpoint_destroy.
 * @return 0, or a negative error code:
 * @retval PEAL_ENOMEM  there is too little memory, or there are 65535
 *                      endpoints already.
 * @retval PEAL_EINVAL  an option is out of range, or a pointer is NULL.
 */
int peal_endpoint_create(struct peal_runtime *runtime,
			 const struct peal_endpoint_options *options,
			 struct peal_endpoint **endpoint_out);

/**
 * Returns the endpoint's address, for peal_connect.
 *
 * Thread-safe, wait-free.
 *
 * @param endpoint an endpoint, or NULL.
 * @return the address; 0 for NULL.
 */
uint64_t peal_endpoint_address(const struct peal_endpoint *endpoint);

/**
 * Frees an endpoint without links.
 *
 * Its monitors and its name end with it. No other call on this endpoint may
 * run at the same time.
 *
 * @param endpoint an endpoint; NULL does nothing.
 * @return 0, or a negative error code:
 * @retval PEAL_EBUSY  a link leaves or reaches the endpoint. Destroy the link
 *                     by peal_link_destroy first.
 */
int peal_endpoint_destroy(struct peal_endpoint *endpoint);

/**
 * Sends a message.
 *
 * The link keeps a copy, so the caller may reuse `data` at once. A reservation
 * of peal_send_reserve on the port is dropped.
 *
 * One thread at a time may send by the endpoint. Blocks while the link is
 * full, at most timeout_ns. The receiver must take messages meanwhile.
 *
 * @param endpoint   the sender.
 * @param port       port of a link that leaves the endpoint.
 * @param type       the program's own number.
 * @param data       `bytes` bytes; may be NULL if `bytes` is 0.
 * @param bytes      at most the link's message_bytes.
 * @param timeout_ns ns to wait for a free slot; 0: not at all, -1: no limit.
 * @param options    the deadline of the message, see peal/deadline.h. With a
 *                   deadline the message takes PEAL_DEADLINE_BYTES more.
 *                   NULL: none.
 * @return 0 once the link has accepted the message, or a negative error code
 *         with nothing sent:
 * @retval PEAL_EAGAIN    the link is full, and timeout_ns is 0.
 * @retval PEAL_ETIMEDOUT the link was full until the timeout.
 * @retval PEAL_EMSGSIZE  the message is longer than message_bytes.
 * @retval PEAL_ENOTCONN  the port has no link.
 * @retval PEAL_EPIPE     peal_send_end has ended the link.
 * @retval PEAL_ESTOPPED  the receiver has ended.
 * @retval PEAL_EDIED     the receiver's process has died.
 * @retval PEAL_EPROTO    the receiver broke the protocol.
 * @retval PEAL_EINVAL    a pointer is NULL, except `data` with `bytes` 0. Or
 *                        an option other than the deadline is set.
 */
int peal_send(struct peal_endpoint *endpoint, uint32_t port, uint16_t type,
	      const void *data, uint64_t bytes, int64_t timeout_ns,
	      const struct peal_send_options *options);

/**
 * Sends a message to any actor of the kernel that a port leads to.
 *
 * The port's link leads to one worker of the kernel. An actor of that worker
 * gets the message from the link. For an actor of another worker, the message
 * goes through that worker's mailbox. That needs mailbox.slots in struct
 * peal_kernel_options. The link then counts the message as delivered, and the
 * kernel counts it in mailbox_sends.
 *
 * In three cases the message becomes a dead letter of the link:
 *
 * - reason "no-actor": the actor has ended or never existed.
 * - reason "no-actor": the actor belongs to another worker, and the kernel has
 *   no mailboxes.
 * - reason "too-long": the actor belongs to another worker, and the message is
 *   longer than mailbox.message_bytes.
 *
 * peal_connect compares message sizes with the link's own receiver only. If
 * another actor's handler declares another length, the message fails with
 * PEAL_EMALFORMED.
 *
 * For each actor, the messages of one port stay in order. While a mailbox is
 * full, later messages of the link wait.
 *
 * One thread at a time may send by the endpoint. Blocks as peal_send.
 *
 * @param endpoint   the sender.
 * @param port       port of a link that leaves the endpoint.
 * @param to         address of an actor or a pool of the kernel.
 * @param type       the program's own number.
 * @param data       `bytes` bytes; may be NULL if `bytes` is 0.
 * @param bytes      at most the link's message_bytes.
 * @param timeout_ns as for peal_send.
 * @param options    as for peal_send. A message with a deadline takes
 *                   PEAL_DEADLINE_BYTES more in a mailbox or pool, too.
 * @return as peal_send, and:
 * @retval PEAL_ENOENT  `to` is no address of the kernel.
 * @retval PEAL_ENOTSUP the port leads to another process.
 */
int peal_send_to(struct peal_endpoint *endpoint, uint32_t port, uint64_t to,
		 uint16_t type, const void *data, uint64_t bytes,
		 int64_t timeout_ns, const struct peal_send_options *options);

/**
 * Reserves memory in a link for one message.
 *
 * Write the payload to *place_out, then call peal_send_commit. The link owns
 * the memory. The caller may write to it until the commit. Another reserve,
 * send or end on the port drops the reservation.
 *
 * One thread at a time may send by the endpoint. Blocks as peal_send.
 *
 * @param endpoint   the sender.
 * @param port       port of a link that leaves the endpoint.
 * @param bytes      exact length of the message.
 * @param timeout_ns as for peal_send.
 * @param place_out  `bytes` bytes, aligned to 8.
 * @return as peal_send, and:
 * @retval PEAL_EINVAL  `place_out` is NULL.
 */
int peal_send_reserve(struct peal_endpoint *endpoint, uint32_t port,
		      uint64_t bytes, int64_t timeout_ns, void **place_out);

/**
 * Sends the message in the reserved memory.
 *
 * One thread at a time may send by the endpoint. Wait-free.
 *
 * @param endpoint the sender.
 * @param port     the port of peal_send_reserve.
 * @param type     the program's own number.
 * @return 0, or a negative error code:
 * @retval PEAL_EINVAL   nothing is reserved on the port, or `endpoint` is
 *                       NULL.
 * @retval PEAL_ENOTCONN the port has no link.
 */
int peal_send_commit(struct peal_endpoint *endpoint, uint32_t port,
		     uint16_t type);

/**
 * Ends the stream of messages on a port.
 *
 * The receiver gets an END mark after the last message. A reservation on the
 * port is dropped.
 *
 * One thread at a time may send by the endpoint. Blocks as peal_send.
 *
 * @param endpoint   the sender.
 * @param port       port of a link that leaves the endpoint.
 * @param timeout_ns as for peal_send.
 * @return as peal_send, and:
 * @retval PEAL_EPIPE  the stream was ended before.
 */
int peal_send_end(struct peal_endpoint *endpoint, uint32_t port,
		  int64_t timeout_ns);

/**
 * Receives a message into a buffer.
 *
 * The endpoint serves its links in turn. It drops a message after its
 * deadline, and the link counts a dead letter with reason "expired". If
 * peal_receive_peek holds a message, the call receives that message. An
 * endpoint with monitors (peal/monitor.h) waits for their messages even
 * without an open link.
 *
 * One thread at a time may receive at the endpoint. Blocks until a message
 * arrives, at most timeout_ns.
 *
 * @param endpoint     the receiver.
 * @param buffer       `buffer_bytes` bytes; the payload is copied there.
 * @param buffer_bytes size of the buffer in bytes.
 * @param received_out filled on success, and with PEAL_EMSGSIZE.
 * @param timeout_ns   ns to wait for a message; 0: not at all, -1: no limit.
 * @return 0, or a negative error code:
 * @retval PEAL_EAGAIN    no message is there, and timeout_ns is 0.
 * @retval PEAL_ETIMEDOUT no message arrived before the timeout.
 * @retval PEAL_EEND      every link has ended.
 * @retval PEAL_EMSGSIZE  the buffer is too short. The message stays, and
 *                        received_out->length has its length.
 * @retval PEAL_ENOTCONN  no link arrives at the endpoint.
 * @retval PEAL_ESTOPPED  no open link is left, and a sender stopped before it
 *                        ended its link.
 * @retval PEAL_EDIED     a sender's process has died. The complete messages of
 *                        its link came before. Other links may go on.
 * @retval PEAL_EPROTO    a sender broke the protocol, and its link is closed.
 *                        Other links may go on.
 * @retval PEAL_EINVAL    a pointer is NULL, except `buffer` for 0 bytes.
 */
int peal_receive(struct peal_endpoint *endpoint, void *buffer,
		 uint64_t buffer_bytes, struct peal_received *received_out,
		 int64_t timeout_ns);

/**
 * Receives a message in place, without a copy.
 *
 * The link owns the payload. The caller may read it until
 * peal_receive_release. Another peek before the release returns the same
 * message again.
 *
 * One thread at a time may receive at the endpoint. Blocks as peal_receive.
 *
 * @param endpoint     the receiver.
 * @param received_out filled on success.
 * @param timeout_ns   as for peal_receive.
 * @return as peal_receive, without PEAL_EMSGSIZE.
 */
int peal_receive_peek(struct peal_endpoint *endpoint,
		      struct peal_received *received_out, int64_t timeout_ns);

/**
 * Removes the message that peal_receive_peek returned.
 *
 * One thread at a time may receive at the endpoint. Wait-free.
 *
 * @param endpoint the receiver.
 * @return 0, or a negative error code:
 * @retval PEAL_EINVAL  there is no such message, or `endpoint` is NULL.
 */
int peal_receive_release(struct peal_endpoint *endpoint);

PEAL_END_C
#endif
