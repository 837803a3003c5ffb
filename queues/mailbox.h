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
 * grants every lease that was asked for. The lease is
 *
 *	lease = max(tells, 1, min(32, slots / (2 * n_workers)))
 *
 * which always satisfies that when slots / (2 * n_workers) >= tells, and leaves
 * half of the mailbox to those who are busy.
 *
 * The mailboxes of a kernel have one admission. There each worker keeps what a
 * handler tells, and who waits for more holds nothing else; so
 *
 *	slots >= (n_workers + 1) * tells + n_workers * others
 *
 * grants all that was asked for, one after the other, once all messages are
 * taken. Of the rest a quarter is for the handlers of mail alone, but for as many as
 * a handler tells, which are for what other kernels pass on. What links and
 * timers put into the mailboxes of one worker leaves of the others a slot for each
 * worker and mailbox of one, and what a handler tells, if there are so many: so one
 * worker that takes nothing does not hold up what goes to others.
 */

#define PEALI_MAILBOX_LEASE_MAX 32

/* The sizes of a mailbox. */
#define PEALI_MAILBOX_SLOTS_MAX (1u << 20)

struct peali_mailbox_spec {
	uint32_t slots; /* a power of two up to 2^20 */
	uint32_t message_bytes; /* largest payload, up to what a slot of the
				 * policy holds: 4080, 3064 or 1016; 0: 48 */
	uint32_t n_workers; /* that may put into it */
	uint32_t tells; /* the largest of any handler; 0: none puts any */
	uint32_t slot_bytes; /* out */
	uint32_t lease; /* 0: by the formula above; out */
	uint32_t policy; /* enum peal_policy; 0: the default; out */
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

/* What the admission to a kernel's mailboxes comes to. */
struct peali_admission_spec {
	uint32_t slots; /* of each mailbox, and for all of them together */
	uint32_t n_workers;
	uint32_t tells; /* the largest of any handler: what a worker keeps */
	uint32_t others; /* slots that each worker may lease beside, for what its
			  * handlers do not tell: timers, monitors */
	uint32_t boxes; /* mailboxes of each worker: 2 with high priority */
	uint32_t passages; /* places beside those for what passages bring */
	uint32_t links; /* out: of the slots, that anyone may lease */
	uint32_t each, tell, lease; /* out: see struct peal_admission */
};

/* Checks all, and fills in what is out: 0, or PEAL_EINVAL with text. */
int peali_admission_spec_complete(struct peali_admission_spec *spec,
				  const char *call);

/* The admission before anything was put. */
void peali_admission_header(struct peal_admission *out,
			    const struct peali_admission_spec *spec);

#endif
