/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_DEAD_LETTER_H
#define PEAL_DEAD_LETTER_H

/*
 * Dead letters report the messages that a kernel could not deliver or handle.
 *
 * A worker counts each dead message and drops it. peal_dead_letter_connect
 * makes the worker also send a letter about the message to a receiver. The
 * receiver is an endpoint, or an actor or a pool on any device. A letter begins
 * with a struct peal_dead_letter (peal/abi/message.h). The payload of the dead
 * message follows.
 *
 *	peal_dead_letter_connect(kernel, peal_endpoint_address(host), NULL);
 *	...
 *	peal_receive(host, buffer, sizeof(buffer), &got, SECOND);
 *	if (got.dead_letter)
 *		peal_dead_letter_payload(got.data, got.length, &payload);
 *
 * The deadline and the number of a request are in front of the payload of the
 * message. peal_dead_letter_payload reads both.
 * A handler reads a letter by peal_dead_letter_current.
 */

#include <stddef.h>
#include <stdint.h>

#include <peal/abi/message.h>
#include <peal/endpoint.h>
#include <peal/link.h>

PEAL_BEGIN_C

struct peal_kernel;

/*
 * Reasons for a letter:
 *
 * - "no-actor": the actor was retired or never existed.
 * - "handler": the handler returned an error.
 * - "too-long": the mailbox or pool on its route takes no message of its
 *   length.
 * - "expired": the deadline of the message has passed (peal/deadline.h).
 * - "down": the actor has ended by a failure (peal/monitor.h), or its
 *   supervisor has given up (peal/supervisor.h).
 * - "full": the actor's mailbox limit was reached (peal/actor.h).
 * - "duplicate": the actor already has the message (peal/device/dedup.h).
 * - "late": the message is a reply to an ask that was over.
 *
 * If an ask is dead, the asking actor gets an error as its answer at once
 * (peal/device/ask.h). If a request of the host is dead, it ends at once
 * (peal/request.h). The letter about a late reply names the kernel and no
 * actor. This letter's payload and length leave out the number of the ask.
 *
 * The runtime only counts these dead messages and sends no letter:
 *
 * - messages that a kernel still held when it stopped ("stopped")
 * - messages that a broken link still held ("protocol")
 * - messages that a handler emitted to a closed port ("closed"): peal_emit
 *   drops them, and peal_reserve returns PEAL_EPIPE
 * - replies to the host that came too late ("late")
 * - messages that a worker was writing to a mailbox when it died
 *   (mailbox_abandoned of struct peal_kernel_info)
 * - messages that a topic has overwritten
 */

/**
 * Sends the dead letters of a kernel to a receiver, or stops sending them.
 *
 * The call makes one link from each worker of the kernel to the receiver. A
 * worker's letters arrive in the order in which it found the messages dead.
 *
 * Letters delay no worker. If a link has no free slot, the worker drops the
 * letter and counts it as `dead_letters_dropped` (struct peal_link_info). At
 * its end the link reports this number to the log (PEAL_LOG=1). A dead letter
 * that is itself dead makes no further letter. One slot of each link stays free
 * for the END mark.
 *
 * The links behave like all other links. The receiving kernel does not finish a
 * drain while the links exist and the sending kernel runs. This also holds for
 * a kernel that receives its own letters. peal_kernel_destroy of either kernel
 * fails while the links exist. A call with `to` = 0 destroys them and the
 * letters that they hold.
 *
 * If the call cannot make all links, it destroys those that it has made. After
 * PEAL_EHUNG some links may remain.
 *
 * Thread-safe if `to` is not 0. If `to` is 0, no other call may use these links
 * at the same time. No thread may then receive from these links. Blocks until
 * the workers have answered. Each worker has at most PEAL_CONTROL_TIMEOUT_MS.
 *
 * @param kernel a kernel that runs or is suspended. If `to` is 0, it may have
 *     ended.
 * @param to the address of an endpoint, an actor or a pool. The receiver has a
 *     free input for each worker of `kernel`. Its handler must not declare a
 *     message length. 0: destroy the links.
 * @param options the options of each link; NULL: all defaults. `capacity` is at
 *     least 2. `message_bytes` is the length of a letter with its payload; a
 *     longer payload is cut off. Its default is 48 for the struct
 *     peal_dead_letter, and the larger one of mailbox.message_bytes and 48 +
 *     PEAL_REQUEST_BYTES for the payload.
 * @return 0, or a negative error code as peal_connect, and:
 * @retval PEAL_EEXIST  a worker's letters have a receiver already.
 * @retval PEAL_EMSGSIZE  message_bytes is less than 48, or more than the pool
 *     takes.
 * @retval PEAL_EINVAL  kernel is NULL, or an option is out of range. Or the
 *     capacity is 1, or the handler declares a message length.
 * @retval PEAL_ENOTSUP  the program lacks PEAL_USE_DEAD_LETTERS.
 * @retval PEAL_EHUNG  a worker did not answer. If `to` is 0, call again.
 */
int peal_dead_letter_connect(struct peal_kernel *kernel, uint64_t to,
			     const struct peal_link_options *options);

/**
 * Gets the links of a kernel's dead letters, one for each worker.
 *
 * Read their counters by peal_link_info, for example `dead_letters_dropped`.
 *
 * Thread-safe, but no other thread may destroy these links at the same time.
 *
 * @param kernel a kernel.
 * @param links_out an array. Element i receives the link of worker i, or NULL if
 *     its letters have no receiver. NULL is allowed if n is 0.
 * @param n the size of the array. 0: the call only counts.
 * @return the number of workers, which can exceed n, or a negative error code:
 * @retval PEAL_EINVAL  kernel is NULL, or links_out is NULL and n is not 0.
 */
int peal_dead_letter_links(struct peal_kernel *kernel,
			   struct peal_link **links_out, uint32_t n);

/**
 * Returns the address that sends the dead letters of a kernel.
 *
 * The `from` of the letters' links and of struct peal_received is this address.
 * peal_connect takes the address as a sender. The sender's ports are the
 * indexes of the workers. A link by peal_connect has message_bytes = 48 by
 * default. The letters on such a link carry no payload.
 *
 * Thread-safe. Wait-free.
 *
 * @param kernel a kernel.
 * @return the address; 0 if kernel is NULL.
 */
uint64_t peal_dead_letter_address(const struct peal_kernel *kernel);

/** The parts of a dead message in its letter. */
struct peal_dead_letter_payload {
	const void *data; /* kept bytes of the payload, inside the letter */
	uint64_t length; /* bytes at `data` */
	uint64_t full_length; /* bytes of the payload that was sent */
	uint64_t deadline; /* host time, ns; 0: none, or the letter lacks it */
	/*
	 * Number of the request or ask: that of peal_request_start, of
	 * struct peal_received, or of peal_ask. 0: none, or the letter lacks it.
	 */
	uint64_t request;
	uint64_t sender; /* address of the actor that told it with the option
			  * with_sender; 0: none, or the letter lacks it */
};

/**
 * Reads the payload of a dead message, and the words in front of it.
 *
 * In a letter the payload follows the struct peal_dead_letter. In front of the
 * payload are up to three words, in this order:
 *
 * - The sender (PEAL_SENDER_BYTES) if `flags` has PEAL_FLAG_SENDER.
 * - The deadline of the message (PEAL_DEADLINE_BYTES) if `flags` has
 *   PEAL_FLAG_DEADLINE.
 * - The number of the request (PEAL_REQUEST_BYTES) if `flags` has
 *   PEAL_FLAG_REQUEST.
 *
 * `length` of the letter includes them. A letter on a link with small message_bytes is cut off at its
 * end.
 *
 * Thread-safe, wait-free.
 *
 * @param letter the letter as received.
 * @param bytes the length of the letter with its payload.
 * @param payload_out filled on success; valid as long as the letter.
 * @return 0, or a negative error code:
 * @retval PEAL_EINVAL  an argument is NULL, or the bytes are no dead letter.
 */
int peal_dead_letter_payload(const struct peal_dead_letter *letter,
			     uint64_t bytes,
			     struct peal_dead_letter_payload *payload_out);

/**
 * Sends the message of a dead letter once more.
 *
 * The message keeps its type. A request of the host keeps its number. Its
 * requester drops the reply as late if a call has returned the error of the
 * dead request before. The message keeps its deadline unless the letter's
 * reason is "expired". The message has no sender any more. A dead ask is over, so the call sends the ask as a plain
 * message of its type. The call does the same with an answer to an ask.
 *
 * One thread at a time may send from the endpoint. Blocks as peal_send, at most
 * timeout_ns.
 *
 * @param endpoint the sender.
 * @param port a port of the endpoint with a link to the kernel of `to`.
 * @param to the address of an actor or a pool; 0: the one in the letter.
 * @param letter the letter as received, with the payload behind it.
 * @param bytes the length of the letter with its payload.
 * @param timeout_ns as peal_send.
 * @return 0, or a negative error code as peal_send_to, and:
 * @retval PEAL_EMSGSIZE  the letter does not hold the whole payload.
 * @retval PEAL_EINVAL  letter is NULL or no dead letter, or it is about another
 *     letter.
 */
int peal_dead_letter_replay(struct peal_endpoint *endpoint, uint32_t port,
			    uint64_t to, const struct peal_dead_letter *letter,
			    uint64_t bytes, int64_t timeout_ns);

/**
 * Returns the name of a reason: "stopped", "no-actor" and so on.
 *
 * Thread-safe and wait-free.
 *
 * @param reason enum peal_reason.
 * @return a static string; "?" for an unknown reason.
 */
const char *peal_reason_name(uint32_t reason);

PEAL_END_C
#endif
