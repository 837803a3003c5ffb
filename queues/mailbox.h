/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEALI_MAILBOX_H
#define PEALI_MAILBOX_H

#include <peal/abi/mailbox.h>

/*
 * The host's side of mailboxes: what a kernel's options come to in memory.
 *
 * A producer leases slots in blocks and may keep them as long as it is busy, so
 * the sizes have to be such that hoarded leases never starve another producer.
 * With leases of L, handlers that put up to T messages at a time (T <= L) and n
 * producers, a producer holds at most T - 1 slots when it asks for L more. So
 * when the consumer has taken all messages, at most n * (L + T - 1) slots are
 * leased and not used, and a mailbox of
 *
 *	slots >= n_workers * (lease + tells - 1)
 *
 * grants every lease that was asked for. Workers of a kernel keep what a handler
 * tells, `keep` slots, and give all else back at every pause and at least every
 * 64 turns: there
 *
 *	slots >= n_workers * keep + lease
 *
 * grants them all, one after the other; with keep = tells it follows from the
 * above. The lease is
 *
 *	lease = max(tells, 1, min(32, slots / (2 * n_workers)))
 *
 * which always satisfies that when slots / (2 * n_workers) >= tells, and leaves
 * half of the mailbox to those who are busy.
 */

#define PEALI_MAILBOX_LEASE_MAX 32

/* The sizes of a kernel's mailboxes; one per worker, all alike. */
struct peali_mailbox_spec {
	uint32_t slots; /* a power of two up to 2^20 */
	uint32_t message_bytes; /* largest payload, up to what a slot of the
				 * policy holds: 4080, 3064 or 1016; 0: 48 */
	uint32_t n_workers; /* each of them may put into each mailbox */
	uint32_t tells; /* the largest of any handler; 0: none puts any */
	uint32_t slot_bytes; /* out */
	uint32_t lease; /* 0: by the formula above; out */
	uint32_t policy; /* enum peal_policy; 0: the default; out */
	uint32_t keep; /* slots that each worker has from the start and keeps;
			* 0: none, else `tells` */
};

/*
 * Fills in what is zero and checks all. Returns 0, or PEAL_EINVAL with text
 * that names the option, its value and what is allowed; the spec is then
 * unchanged. The policies are those of the device, as for peali_policy_choose;
 * `call` is the name of the public function.
 */
int peali_mailbox_spec_complete(struct peali_mailbox_spec *spec,
				uint32_t policies, uint32_t default_policy,
				const char *call);

/* Memory of one mailbox of a completed spec, and the distance from one to the
 * next: a multiple of PEAL_SHARED_LINE. */
uint64_t peali_mailbox_bytes(const struct peali_mailbox_spec *spec);

/* The header of an empty mailbox; all behind it is zero. */
void peali_mailbox_header(struct peal_mailbox *out,
			  const struct peali_mailbox_spec *spec);

#endif
