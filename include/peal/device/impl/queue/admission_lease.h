/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_DEVICE_ADMISSION_LEASE_H
#define PEAL_DEVICE_ADMISSION_LEASE_H

#include <peal/device/mailbox.h>

/*
 * How a worker leases slots of the mailboxes of its kernel. admission.h has the
 * protocol, and how slots return.
 */

/* Takes n from a counter such as `spare` or `passing`. Returns 1, or 0: took
 * none. */
static PEAL_DEV PEAL_UNUSED inline int peali_admission_take(uint64_t *spare,
							    uint64_t n)
{
	if ((int64_t)peal_load_relaxed_dev(spare) < (int64_t)n)
		return 0;
	/* A18: pairs with R18 in peali_admission_put and _vacate. */
	if ((int64_t)peal_add_acqrel_dev(spare, 0 - n) >= (int64_t)n)
		return 1;
	peal_add_relaxed_dev(spare, n); /* undo, nothing was taken */
	return 0;
}

/* Returns how many slots are free now; negative: more are asked for than are
 * free. */
static PEAL_DEV PEAL_INLINE int64_t
peali_admission_free(const struct peal_admission *a)
{
	return (int64_t)(peal_load_relaxed_dev(&a->returned) + a->slots -
			 peal_load_relaxed_dev(&a->leased));
}

/* Asks for n slots. Relaxed: only the number counts. */
static PEAL_DEV PEAL_INLINE void
peali_admission_request(struct peal_admission *a,
			struct peal_mailbox_lease *lease, uint64_t n)
{
	lease->asked = n;
	lease->asked_end = peal_add_relaxed_dev(&a->leased, n) + n;
}

/* Asks for the slots that a worker lacks for n messages. At most `keep` of its
 * granted slots count. Asks for up to a whole lease if more slots are free
 * now. */
static PEAL_DEV PEAL_UNUSED inline void
peali_admission_ask(struct peal_admission *a, struct peal_mailbox_lease *lease,
		    uint64_t n)
{
	int64_t there = peali_admission_free(a);

	n -= lease->granted < a->keep ? lease->granted : a->keep;
	if (there > (int64_t)a->lease)
		there = a->lease;
	peali_admission_request(a, lease,
				there > (int64_t)n ? (uint64_t)there : n);
}

/* Grants the slots that the worker has asked for: all of them or none. So a
 * waiting worker holds none of them. */
static PEAL_DEV PEAL_INLINE void
peali_admission_grant(struct peal_admission *a,
		      struct peal_mailbox_lease *lease)
{
	/* A18: pairs with R18 in peal_admission_return: the slots were read. */
	uint64_t free = peal_load_acquire_dev(&a->returned) + a->slots;

	if ((int64_t)(lease->asked_end - free) > 0)
		return;
	lease->granted += lease->asked;
	lease->asked = 0;
}

/* The slow part of peal_admission_admit: the granted slots do not suffice. */
static PEAL_DEV PEAL_UNUSED inline int
peali_admission_slow(struct peal_admission *a, struct peal_mailbox_lease *lease,
		     uint64_t n, int mail)
{
	if (lease->asked)
		peali_admission_grant(a, lease);
	if (lease->granted >= n)
		return 1;
	if (mail && peali_admission_take(&a->spare, n - lease->granted)) {
		lease->granted = n;
		return 1;
	}
	if (lease->asked)
		return 0;
	peali_admission_ask(a, lease, n);
	peali_admission_grant(a, lease);
	return lease->granted >= n;
}

/**
 * Tells whether a worker may put n messages; asks for slots if it may not.
 *
 * Wait-free.
 *
 * @param a     the kernel's admission.
 * @param lease the worker's lease.
 * @param n     messages. Without `mail`, n exceeds the slots that a worker
 *              keeps.
 * @param mail  1: the handler of a message from the mailbox puts them. They may
 *              use the reserve.
 * @return 1: it may. 0: not yet, ask again.
 */
static PEAL_DEV PEAL_INLINE int
peal_admission_admit(struct peal_admission *a, struct peal_mailbox_lease *lease,
		     uint64_t n, int mail)
{
	return PEAL_LIKELY(lease->granted >= n) ||
	       peali_admission_slow(a, lease, n, mail);
}

/**
 * Leases slots for up to n messages in all, if they are free now.
 *
 * A worker that may also put fewer messages calls it. It never waits for slots,
 * and takes none of the reserve. If another worker leases slots at the same time,
 * it leases none. Wait-free.
 *
 * @return the number of slots that the worker has.
 */
static PEAL_DEV PEAL_UNUSED inline uint64_t
peal_admission_extend(struct peal_admission *a,
		      struct peal_mailbox_lease *lease, uint64_t n)
{
	uint64_t more = n - lease->granted, leased, free;

	if (PEAL_LIKELY(lease->granted >= n) || lease->asked)
		return lease->granted;
	leased = peal_load_relaxed_dev(&a->leased);
	free = peal_load_relaxed_dev(&a->returned) + a->slots;
	if ((int64_t)(leased + more - free) > 0 ||
	    !peal_cas_relaxed_dev(&a->leased, leased, leased + more))
		return lease->granted;
	lease->asked = more;
	lease->asked_end = leased + more;
	peali_admission_grant(a, lease); /* they are free */
	return lease->granted;
}

/**
 * Leases a single slot, for a message that no handler of the worker sends.
 *
 * Examples are messages of timers and monitors. Wait-free.
 *
 * @return 1: the lease has a slot. 0: not yet, ask again.
 */
static PEAL_DEV PEAL_UNUSED inline int
peal_admission_take_one(struct peal_admission *a,
			struct peal_mailbox_lease *lease)
{
	if (lease->granted)
		return 1;
	if (!lease->asked)
		peali_admission_request(a, lease, 1);
	peali_admission_grant(a, lease);
	return lease->granted != 0;
}

#endif
