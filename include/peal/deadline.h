/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_DEADLINE_H
#define PEAL_DEADLINE_H

#include <stdint.h>

#include <peal/abi/message.h>
#include <peal/clock.h>
#include <peal/endpoint.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Deadlines. A message that nobody has begun to handle by its deadline is not
 * handled: when its turn comes it is dead, reason "expired", counted at its link
 * (mail_expired of struct peal_kernel_info where it was in a mailbox or a pool),
 * and a dead letter goes to who takes those (peal/dead_letter.h).
 *
 *	peal_send_before(host, 0, 0, peal_deadline_from_now(5 * MS), 0, &order,
 *			 sizeof(order), SECOND);
 *
 * A deadline is a time of the host's clock, CLOCK_MONOTONIC in ns, on all devices
 * (peal/clock.h), and goes with the message by every route: links, mailboxes,
 * pools, topics, hand-overs, and as far as handlers hand it on
 * (peal/device/deadline.h). A worker knows that clock between two bounds: it takes
 * a message for expired when the lower one is there, so never too early, and
 * handles none past the upper one, which is later by twice what peal_kernel_clock
 * says is uncertain; the bound itself is found out just before the handler
 * begins. Where a handler says how long a message lives, that is counted from the
 * upper bound, so that it never is shorter.
 *
 * It has no effect on a handler that has begun, none on the order of the others,
 * and frees no room before its turn has come: what is behind a message that
 * waits waits. An endpoint does not receive an expired message either; it is dead
 * at its link, without a letter.
 */

/**
 * When so long has passed.
 *
 * @param lifetime_ns from now; 0 or less: it has, the message is dead where it
 *                    arrives; INT64_MAX: for ever.
 * @return a deadline for peal_send_before. Thread-safe, wait-free.
 */
uint64_t peal_deadline_from_now(int64_t lifetime_ns);

/**
 * peal_send, or peal_send_to, of a message with a deadline.
 *
 * @param endpoint   the sender.
 * @param port       of a link that leaves it.
 * @param to         address of an actor or a pool of the kernel that it leads
 *                   to, as peal_send_to; 0: who the link was made for.
 * @param deadline   of peal_deadline_from_now; 0: none. It may pass while the
 *                   call waits for room: the message is sent all the same.
 * @param type       the program's own number.
 * @param data       `bytes` bytes; NULL if bytes is 0.
 * @param bytes      at most the link's message_bytes less PEAL_DEADLINE_BYTES.
 *                   For an actor of another worker, or a pool, that has to be
 *                   so of the mailboxes' and the pool's too.
 * @param timeout_ns how long to wait for room; 0: not, -1: for ever.
 * @return as peal_send and peal_send_to. One thread at a time.
 */
int peal_send_before(struct peal_endpoint *endpoint, uint32_t port, uint64_t to,
		     uint64_t deadline, uint16_t type, const void *data,
		     uint64_t bytes, int64_t timeout_ns);

#ifdef __cplusplus
}
#endif
#endif
