/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_DEVICE_ADMISSION_H
#define PEAL_DEVICE_ADMISSION_H

#include <peal/device/impl/queue/admission_lease.h>

/*
 * Admission to the mailboxes of a kernel. A worker leases slots before it puts
 * messages. The kernel has as many slots to lease as each single mailbox has.
 * Therefore a leased slot is free in every mailbox, and one number tells
 * whether the messages of a handler fit.
 *
 * A worker that takes a message from its mailbox gets the slot of the message,
 * when the handler has returned. A handler may tell one message for each
 * message that it gets. Such a handler needs no slots of other workers. No
 * cycle of such messages stalls, however full the mailboxes are.
 *
 * From the launch on, each worker keeps slots for all messages that a single
 * handler tells (`keep`). Hence a handler that only might tell more needs no
 * more slots either. Messages of links, timers and pools leave these slots and
 * the reserve to mail, the messages from the mailbox. Mail that really
 * multiplies uses the reserve before it can stall. Returned slots refill the
 * reserve first.
 *
 * Where the mailbox of a message is known, links and timers do not fill this
 * mailbox (`each`). A worker that takes no messages does not hold up the
 * messages of the other workers. Messages of forwarding links have slots of
 * their own, the forward slots (actor_forward.h). These messages get slots
 * before other messages do.
 *
 *	the producer				the worker that took a message
 *	A18 returned, spare: is free <----	R18 the same: content was read
 *
 * A worker may use the slot of a taken message itself, without a return. That
 * needs no edge. The order comes by the worker's message. The workers that take
 * it use the slot again, and their messages continue the order. So the next
 * writer of a slot knows that the old content was read. At most as many
 * messages as a mailbox has slots come between.
 *
 * Slots that any worker may lease are granted in the order of the requests. A
 * worker never asks for more slots than are free, except for the slots that it
 * needs. Asking and returning are wait-free.
 */

/* Returns up to n slots to the reserve, as many as it lacks. Returns the number
 * of slots that are left. */
static PEAL_DEV PEAL_UNUSED PEAL_NOINLINE uint64_t
peali_admission_put(uint64_t *spare, uint64_t reserve, uint64_t n)
{
	int64_t lacks = (int64_t)(reserve - peal_load_relaxed_dev(spare));
	int64_t over;

	if (PEAL_LIKELY(lacks <= 0))
		return n;
	if (lacks > (int64_t)n)
		lacks = (int64_t)n;
	/* R18: as in peal_admission_return. */
	over = (int64_t)(peal_add_acqrel_dev(spare, (uint64_t)lacks) +
			 (uint64_t)lacks - reserve);
	n -= (uint64_t)lacks;
	if (over > lacks)
		over = lacks;
	/* Several workers have filled the reserve at once. This one takes the
	 * excess out again, unless others have used it meanwhile. */
	if (over > 0 && peali_admission_take(spare, (uint64_t)over))
		n += (uint64_t)over;
	return n;
}

/* Reduces `lent` or `owed` by up to n. Returns the reduction. */
static PEAL_DEV PEAL_UNUSED inline uint64_t peali_admission_less(uint64_t *of,
								 uint64_t n)
{
	int64_t there = (int64_t)peal_load_relaxed_dev(of);

	if (PEAL_LIKELY(there <= 0))
		return 0;
	if (n > (uint64_t)there)
		n = (uint64_t)there;
	return peali_admission_take(of, n) ? n : 0;
}

/* Pays owed slots with up to n slots. Returns the number of slots that are
 * left. */
static PEAL_DEV PEAL_UNUSED inline uint64_t
peali_admission_pay(struct peal_admission *a, uint64_t n)
{
	uint64_t owed = peali_admission_less(&a->owed, n);

	if (owed)
		peal_add_relaxed_dev(&a->paid, owed);
	return n - owed;
}

/* Frees n forward slots. No worker reads their contents any more. */
static PEAL_DEV PEAL_UNUSED inline void
peali_admission_vacate(struct peal_admission *a, uint64_t n)
{
	/* R18: pairs with A18 in peali_admission_take. */
	peal_add_acqrel_dev(&a->passing, n);
}

/* Gives up to n slots for lent and owed forward slots, lent ones first. These
 * forward slots become free. Returns the number of slots that are left. */
static PEAL_DEV PEAL_UNUSED inline uint64_t
peali_admission_clear(struct peal_admission *a, uint64_t n)
{
	uint64_t left = n - peali_admission_less(&a->lent, n);

	left = peali_admission_pay(a, left);
	if (left < n)
		peali_admission_vacate(a, n - left);
	return left;
}

/* Whether any forward slot is lent or owed. */
static PEAL_DEV PEAL_INLINE int
peali_admission_owes(const struct peal_admission *a)
{
	return (peal_load_relaxed_dev(&a->lent) |
		peal_load_relaxed_dev(&a->owed)) != 0;
}

/* Whether no forward slot is lent or owed, and the reserve is full. */
static PEAL_DEV PEAL_INLINE int
peali_admission_is_full(const struct peal_admission *a)
{
	return ((peal_load_relaxed_dev(&a->spare) ^ a->reserve) |
		peal_load_relaxed_dev(&a->lent) |
		peal_load_relaxed_dev(&a->owed)) == 0;
}

/**
 * Returns the slots that a worker has above `most`, first to the reserve.
 *
 * The caller must have read the slots of all messages that it has taken.
 * Wait-free.
 *
 * @return 1: other workers may find free slots now. 0: it had no such slots.
 */
static PEAL_DEV PEAL_UNUSED inline int
peal_admission_return(struct peal_admission *a,
		      struct peal_mailbox_lease *lease, uint64_t most)
{
	uint64_t n = lease->granted - most;

	if (lease->granted <= most)
		return 0;
	lease->granted = most;
	n = peali_admission_put(&a->spare, a->reserve, n);
	/* R18: pairs with A18 in peali_admission_grant: the contents were
	 * read. */
	if (n)
		peal_add_acqrel_dev(&a->returned, n);
	return 1;
}

/**
 * Tells whether a worker may put n messages for a message of a forwarding link.
 *
 * They use leased slots beside the slots that the worker keeps. Otherwise they
 * use forward slots. The worker then owes the other kernel one slot, for the
 * message of the forwarding link. The worker uses the slots that it gets here
 * before it asks again. Wait-free.
 *
 * @return 1: it may. 0: not yet, ask again.
 */
static PEAL_DEV PEAL_UNUSED PEAL_NOINLINE int
peal_admission_transfer(struct peal_admission *a,
			struct peal_mailbox_lease *lease, uint64_t n)
{
	if (!n || peal_admission_admit(a, lease, n + a->keep, 0))
		return 1;
	if (!peali_admission_take(&a->passing, n))
		return 0;
	peal_add_relaxed_dev(&a->lent, n - 1);
	peal_add_relaxed_dev(&a->owed, 1);
	lease->granted += n;
	lease->owes++;
	return 1;
}

/**
 * Takes back n slots that messages had in other kernels.
 *
 * Owed slots are paid first. The worker may use the remaining slots if as many
 * forward slots are free. Otherwise *kept_out receives their number: they wait
 * until forward slots replace them. Returns the number of slots that the
 * worker has now. Wait-free.
 */
static PEAL_DEV PEAL_UNUSED inline uint64_t
peal_admission_refund(struct peal_admission *a, uint64_t n, uint64_t *kept_out)
{
	*kept_out = 0;
	n = peali_admission_pay(a, n);
	if (!n || peali_admission_take(&a->passing, n))
		return n;
	*kept_out = n;
	return 0;
}

/**
 * Refills forward slots and the reserve from a worker's slots above `keep`.
 *
 * A worker calls it before it uses these slots for messages other than mail. So
 * the slots that mail took from the reserve come back to it, whichever worker
 * has handled the message. Wait-free.
 *
 * @return 1: other workers may find free slots now. 0: nothing has changed.
 */
static PEAL_DEV PEAL_INLINE int
peal_admission_grant(struct peal_admission *a, struct peal_mailbox_lease *lease)
{
	uint64_t left;

	if (PEAL_LIKELY(peali_admission_is_full(a)) ||
	    lease->granted <= a->keep)
		return 0;
	left = peali_admission_clear(a, lease->granted - a->keep);
	left = a->keep + peali_admission_put(&a->spare, a->reserve, left);
	if (left == lease->granted)
		return 0;
	lease->granted = left;
	return 1;
}

/**
 * Tells whether a message of a link or timer may go to a mailbox.
 *
 * It may if the mailbox holds less than `each` messages, as far as its worker
 * has updated `head`. It also may if the mailbox's worker has taken the last
 * such message of the asking worker. So many other workers may fill the
 * mailbox, and yet each worker has its turn.
 *
 * @param a     the kernel's admission.
 * @param m     the mailbox.
 * @param other the other mailbox of the same worker; its messages count too.
 *              0: none.
 * @param sent  value of `ticket` after the asking worker's last such message.
 */
static PEAL_DEV PEAL_INLINE int
peal_admission_open(const struct peal_admission *a,
		    const struct peal_mailbox *m,
		    const struct peal_mailbox *other, uint64_t sent)
{
	uint64_t head = peal_load_relaxed_dev(&m->head), there = 0 - head;

	if (PEAL_UNLIKELY(other != 0)) {
		there -= peal_load_relaxed_dev(&other->head);
		there += peal_load_relaxed_dev(&other->ticket);
	}
	return there + peal_load_relaxed_dev(&m->ticket) < a->each ||
	       (int64_t)(head - sent) >= 0;
}

/**
 * Returns the slots that a pausing worker has above `keep`.
 *
 * The worker still waits for slots that it has asked for. If they are free by
 * now, they are granted after the return: it is the worker's turn to use them.
 * Wait-free.
 *
 * @return 1: other workers may find free slots now. 0: nothing was returned.
 */
static PEAL_DEV PEAL_UNUSED PEAL_NOINLINE int
peal_admission_suspend(struct peal_admission *a,
		       struct peal_mailbox_lease *lease)
{
	int given = peal_admission_return(a, lease, a->keep);

	if (lease->asked)
		peali_admission_grant(a, lease);
	return given;
}

#endif
