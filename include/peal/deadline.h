/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_DEADLINE_H
#define PEAL_DEADLINE_H

/*
 * Deadlines of messages: a worker drops an expired message instead of handling
 * it. peal_deadline_from_now computes a deadline. The option `deadline` of
 * peal_send and peal_send_to sends a message with it:
 *
 *	struct peal_send_options options = PEAL_SEND_OPTIONS;
 *
 *	options.deadline = peal_deadline_from_now(5 * MS);
 *	peal_send(host, 0, 0, &order, sizeof(order), SECOND, &options);
 *
 * The call sends the message even if the deadline passes during its wait for a
 * free slot. Handlers use peal/device/deadline.h.
 */

#include <stdint.h>

#include <peal/abi/message.h>
#include <peal/clock.h>
#include <peal/endpoint.h>

PEAL_BEGIN_C

/*
 * Time. A deadline is a time of the host's clock, CLOCK_MONOTONIC in ns, on
 * all devices (peal/clock.h). The deadline travels with the message through
 * links, mailboxes, pools and topics. A link keeps deadlines when it changes
 * its route. A handler that forwards a message can pass the deadline on.
 *
 * Expiry. A worker checks the deadline directly before it runs the handler. A
 * deadline has no effect on a handler that runs. An expired message keeps its
 * slot until its turn comes, and messages behind it wait. Expiry does not
 * change the order of other messages. The worker drops the expired message
 * with reason "expired". A dead letter goes to the receiver that
 * peal_dead_letter_connect has set. An endpoint drops expired messages too, but
 * sends no dead letter.
 *
 * Counts. Links and topic subscribers count expired messages in `dead`, at
 * PEAL_REASON_EXPIRED. Mailboxes and pools count them in `mailbox_expired` of
 * struct peal_kernel_info.
 *
 * Accuracy. A worker knows a lower and an upper bound of the host's clock. A
 * message expires when the lower bound reaches the deadline, so never too
 * early. A handler can begin after the deadline, by at most the distance of
 * the two bounds. The distance is twice the uncertainty that
 * peal_clock_to_host reports. A lifetime that a handler sets counts from the
 * upper bound. So no message expires before the end of its lifetime.
 */

/**
 * Returns the deadline that lies a given time after now.
 *
 * Thread-safe, wait-free.
 *
 * @param lifetime_ns ns from now. 0 or less: the message is dead on arrival.
 *                    INT64_MAX: the message never expires.
 * @return a deadline for struct peal_send_options, never 0.
 */
uint64_t peal_deadline_from_now(int64_t lifetime_ns);

PEAL_END_C
#endif
