/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_DEAD_LETTER_H
#define PEAL_DEAD_LETTER_H

#include <stddef.h>
#include <stdint.h>

#include <peal/abi/message.h>
#include <peal/endpoint.h>
#include <peal/link.h>

#ifdef __cplusplus
extern "C" {
#endif

struct peal_kernel;

/*
 * Dead letters. A message is dead if nobody can have it any more: it was for an
 * actor that is retired or never was, its handler has returned an error, it is
 * too long for the mailbox or the pool that it has to go on by, or its deadline
 * has passed (peal/deadline.h). It is counted, and forgotten, unless somebody takes the kernel's dead letters: an endpoint, or
 * an actor or a pool on any device, in messages of their own that begin with a
 * struct peal_dead_letter (peal/abi/message.h).
 *
 *	peal_dead_letters(kernel, peal_endpoint_address(host), NULL);
 *	...
 *	peal_receive(host, buffer, sizeof(buffer), &got, SECOND);
 *	letter = got.dead_letter ? got.data : NULL;
 *	payload = letter + 1;
 *
 * A handler asks peal_dead_letter_in_hand.
 *
 * Who has asked by a message (peal/device/ask.h) that is dead hears that at once.
 * A reply to an ask that was over makes a letter, reason "late", of the kernel's
 * address and no actor: without the ask's number, its length that of its payload.
 *
 * No letter comes of what is only counted: what a kernel that has stopped, or a
 * link that broke, still holds (reasons "stopped", "protocol"), what was emitted
 * to a closed port ("closed": peal_emit drops it before it is written, and
 * peal_reserve says PEAL_EPIPE), replies to the host that come too late ("late"),
 * what a worker that died was about to tell (mail_poisoned), what a topic overwrites.
 */

/**
 * Sends the dead letters of a kernel to a receiver: makes a link from each of
 * its workers, in whose order the letters come.
 *
 * Letters hold nobody up: one for which its link has no room is counted there
 * as lost (struct peal_link_info), and a message that is dead makes no other
 * difference to the worker that finds it. A letter that is dead itself makes no
 * letter. The last slot of each link is kept for its end. They are links as all
 * others: until the kernel has ended they keep a kernel that receives them from
 * draining, the kernel itself too; a kernel cannot be destroyed before them.
 *
 * @param kernel  a kernel that runs or is suspended; with `to` 0 also one that
 *                has ended.
 * @param to      address of an endpoint, an actor or a pool, with an input for
 *                each worker; its handler declares no length of messages. 0:
 *                nobody takes them any more, their links are taken down, with
 *                what they hold.
 * @param options of each link, capacity at least 2; message_bytes: of a letter
 *                and what it keeps of the payload, by default
 *                sizeof(struct peal_dead_letter) and what a requester sends by
 *                default, 48 + PEAL_REQUEST_BYTES, or the kernel's
 *                mailbox_message_bytes if they are more. NULL for all defaults.
 * @return 0; PEAL_EEXIST a worker's are taken already; PEAL_EMSGSIZE
 *         message_bytes is less than a letter, or more than the pool takes;
 *         PEAL_EINVAL an option, a capacity of 1, or the handler declares how
 *         long its messages are; else as peal_connect. After an error no link
 *         was made. With `to` 0: 0; PEAL_EHUNG a worker did not answer, call
 *         again; PEAL_EINVAL. Thread-safe; with `to` 0 no other call on these
 *         links may run at the same time, nor one that receives from them.
 */
int peal_dead_letters(struct peal_kernel *kernel, uint64_t to,
		      const struct peal_link_options *options);

/**
 * Where dead letters of a kernel come from: the `from` of their links and of
 * struct peal_received. The workers are its ports, for peal_connect, where
 * message_bytes is 48 by default: a letter, and nothing of the payload.
 *
 * @param kernel a kernel.
 * @return the address; 0 for NULL. Thread-safe, wait-free.
 */
uint64_t peal_dead_letters_address(const struct peal_kernel *kernel);

/**
 * Sends what a dead letter has kept once more: with its type, as the request that
 * it was, if it was one, and with its deadline, unless it had expired. An actor's
 * ask, which is over, and the answer to one are sent as messages of their type.
 *
 * @param endpoint   the sender.
 * @param port       of a link that leads to the kernel of who shall have it.
 * @param to         address of who shall have it; 0: for whom it was.
 * @param letter     as it was received, what it has kept behind it.
 * @param bytes      of both.
 * @param timeout_ns as peal_send.
 * @return as peal_send_to; PEAL_EMSGSIZE also if the letter has not kept all of
 *         the payload; PEAL_EINVAL it is no letter, or one about a letter. One
 *         thread at a time.
 */
int peal_dead_letter_replay(struct peal_endpoint *endpoint, uint32_t port,
			    uint64_t to, const struct peal_dead_letter *letter,
			    uint64_t bytes, int64_t timeout_ns);

#ifdef __cplusplus
}
#endif
#endif
