/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEALI_MAILBOX_H
#define PEALI_MAILBOX_H

#include <peal/abi/mailbox.h>

/*
 * The host's side of mailboxes: options, sizes, headers.
 *
 * A producer leases slots in blocks and may keep them while it is busy. The
 * sizes must ensure that kept leases never starve another producer. Let L be
 * the lease and n the workers. Let T be the most messages that a handler tells
 * at a time (T <= L).
 *
 * 1. A producer holds at most T - 1 slots when it requests L more.
 * 2. So at most n * (L + T - 1) slots are leased and unused, once the consumer
 *    has taken all messages.
 * 3. So every requested lease is granted if
 *
 *	slots >= n_workers * (lease + tells - 1)
 *
 * The lease is
 *
 *	lease = max(tells, 1, min(32, slots / (2 * n_workers)))
 *
 * This lease always satisfies the bound if slots / (2 * n_workers) >= tells.
 * Half of the mailbox then remains for the busy producers.
 *
 * The mailboxes of a kernel share one admission. Each worker permanently keeps
 * `tells` slots for the messages of a handler. A worker that waits for more
 * slots holds no others. So, once all messages are taken, all requests are
 * granted one after the other if
 *
 *	slots >= (n_workers + 1) * tells + n_workers * others
 *
 * If handlers tell all actors, `to_all` replaces the last `tells`, and the
 * reserve has at least `to_all` more slots.
 *
 * The admission divides the remaining slots:
 *
 * - A quarter is the reserve, for handlers of mail only. But at least `tells`
 *   slots stay out of the reserve, for handlers of messages that other kernels
 *   forward.
 * - Links and timers may fill one worker's mailboxes up to `each` slots. Each
 *   sending worker may exceed that limit by one message per mailbox. The limit
 *   leaves `tells` slots to the other workers, if there are enough. So a worker
 *   that takes no messages does not block the messages to other workers.
 */

#define PEALI_MAILBOX_LEASE_MAX 32

/* The sizes of a mailbox. */
#define PEALI_MAILBOX_SLOTS_MAX (1u << 20)

struct peali_mailbox_spec {
	uint32_t slots; /* a power of two up to 2^20 */
	/*
	 * Bytes of the largest payload (default 48, 1..4080). atom16 allows up
	 * to 3064, atom8 up to 1016.
	 */
	uint32_t message_bytes;
	uint32_t n_workers; /* producers of the mailbox */
	/* most messages that a handler tells; 0: no handler does */
	uint32_t tells;
	uint32_t slot_bytes; /* out */
	uint32_t lease; /* slots per lease; 0: the formula above; out */
	uint32_t policy; /* enum peal_slot_policy; 0: the default; out */
};

/*
 * Fills fields that are 0 with their defaults and checks all fields. The
 * policies are those of the device, see peali_publication_choose. `call` is the
 * name of the public function. Returns 0, or PEAL_EINVAL with text that names
 * the option, its value and the allowed range. On failure the spec is
 * unchanged.
 */
int peali_mailbox_spec_complete(struct peali_mailbox_spec *spec,
				uint32_t policies, uint32_t default_policy,
				const char *call);

/*
 * Returns the bytes of one mailbox of a completed spec. The result is a
 * multiple of PEAL_SHARED_LINE, and the distance of two mailboxes.
 */
uint64_t peali_mailbox_bytes(const struct peali_mailbox_spec *spec);

/* Fills the header of an empty mailbox. The memory behind it is zero. */
void peali_mailbox_header(struct peal_mailbox *out,
			  const struct peali_mailbox_spec *spec);

/* The numbers of the admission to a kernel's mailboxes. out: computed. */
struct peali_admission_spec {
	uint32_t slots; /* of each mailbox, and of all mailboxes together */
	uint32_t n_workers;
	/* most messages that a handler tells; slots that each worker keeps */
	uint32_t tells;
	/*
	 * Most messages of a handler that also tells all actors, with one
	 * message per worker; 0: no handler does. Workers do not keep slots for
	 * them.
	 */
	uint32_t to_all;
	/*
	 * Slots that each worker may lease in addition, for messages that no
	 * handler tells: timers and monitors.
	 */
	uint32_t others;
	uint32_t boxes; /* mailboxes per worker; 2 with a high priority */
	/* additional slots for messages from forwarding links */
	uint32_t passages;
	uint32_t links; /* out: slots outside of the reserve */
	uint32_t each, tell, lease; /* out: see struct peal_admission */
};

/*
 * Checks all fields and fills the out fields. Returns 0, or PEAL_EINVAL with
 * text.
 */
int peali_admission_spec_complete(struct peali_admission_spec *spec,
				  const char *call);

/* Fills the admission of empty mailboxes. */
void peali_admission_header(struct peal_admission *out,
			    const struct peali_admission_spec *spec);

#endif
