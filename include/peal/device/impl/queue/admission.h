/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_DEVICE_ADMISSION_H
#define PEAL_DEVICE_ADMISSION_H

#include <peal/device/mailbox.h>

/*
 * Admission to the mailboxes of a kernel. There are as many slots to lease as
 * each mailbox has: so no mailbox is ever too full for who has leased one,
 * wherever it goes, and whether a handler's messages have space is one number.
 *
 * Who takes a message from its mailbox has its slot, when the handler has
 * returned. So a handler that tells one message for each that it is told needs
 * no space of others, and no circle of such messages stands still, however full
 * it is. Each worker keeps what one handler tells from the launch on: one that
 * only might tell more needs no more either. What comes by links, timers and
 * pools leaves that to mail, and the reserve as well: mail that in truth
 * becomes more has that before it can come to a stop, and what is given back
 * goes there first. And where it is known to which mailbox it goes it does not
 * fill that (`each`): one worker that takes nothing does not hold up what is
 * for others. What comes by forwarding links has places of its own
 * (actor_forward.h), which have their slots before others do.
 *
 *	who puts				who has taken
 *	A18 returned, spare: is free <----	R18 the same: content was read
 *
 * What a worker does not return but uses itself needs no edge: by its message,
 * and by the messages of those who take that and use the slot again, who writes
 * to a slot knows that what was there was read. As many messages may come
 * between as a mailbox has slots, not more.
 *
 * Slots that anyone may lease are granted in the order in which they were asked
 * for; nobody asks for more than there are, but for what it needs. Asking and
 * returning are wait-free.
 */

/* Takes n of `spare`, `passing` and the like: 1, or 0 and none. */
static PEAL_DEV PEAL_UNUSED inline int peali_admission_take(uint64_t *spare,
							    uint64_t n)
{
	if ((int64_t)peal_load_relaxed_dev(spare) < (int64_t)n)
		return 0;
	/* A18: pairs with R18 in peali_admission_put and _vacate. */
	if ((int64_t)peal_add_acqrel_dev(spare, 0 - n) >= (int64_t)n)
		return 1;
	peal_add_relaxed_dev(spare, n); /* it never was away */
	return 0;
}

/* Gives n slots back to the reserve as far as it lacks some; how many are
 * left. */
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
	/* Two have filled it: what is too much is taken out again, but not
	 * where it has been used meanwhile. */
	if (over > 0 && peali_admission_take(spare, (uint64_t)over))
		n += (uint64_t)over;
	return n;
}

/* Up to n of `lent` or `owed` are so no more: how many. */
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

/* Pays what is owed, of n slots: how many are left. */
static PEAL_DEV PEAL_UNUSED inline uint64_t
peali_admission_pay(struct peal_admission *a, uint64_t n)
{
	uint64_t owed = peali_admission_less(&a->owed, n);

	if (owed)
		peal_add_relaxed_dev(&a->paid, owed);
	return n - owed;
}

/* Leaves n places, which nobody reads any more. */
static PEAL_DEV PEAL_UNUSED inline void
peali_admission_vacate(struct peal_admission *a, uint64_t n)
{
	/* R18: pairs with A18 in peali_admission_take. */
	peal_add_acqrel_dev(&a->passing, n);
}

/* Gives n slots for what is lent and owed, whose places are free by that; how
 * many are left. */
static PEAL_DEV PEAL_UNUSED inline uint64_t
peali_admission_clear(struct peal_admission *a, uint64_t n)
{
	uint64_t left = n - peali_admission_less(&a->lent, n);

	left = peali_admission_pay(a, left);
	if (left < n)
		peali_admission_vacate(a, n - left);
	return left;
}

/* Whether anything is lent or owed. */
static PEAL_DEV PEAL_INLINE int
peali_admission_owes(const struct peal_admission *a)
{
	return (peal_load_relaxed_dev(&a->lent) |
		peal_load_relaxed_dev(&a->owed)) != 0;
}

/* Whether nothing is lent nor owed and the reserve lacks none. */
static PEAL_DEV PEAL_INLINE int
peali_admission_is_full(const struct peal_admission *a)
{
	return ((peal_load_relaxed_dev(&a->spare) ^ a->reserve) |
		peal_load_relaxed_dev(&a->lent) |
		peal_load_relaxed_dev(&a->owed)) == 0;
}

/**
 * Gives back what a worker has above `most`; only by who reads no slot of a
 * message that it has taken any more. Wait-free.
 *
 * @return 1: others may find space now
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
	 *   read. */
	if (n)
		peal_add_acqrel_dev(&a->returned, n);
	return 1;
}

/* Asks for what a worker lacks beside what it keeps, or a lease, if there is
 * one now. */
static PEAL_DEV PEAL_UNUSED inline void
peali_admission_ask(struct peal_admission *a, struct peal_mailbox_lease *lease,
		    uint64_t n)
{
	int64_t there;

	lease->asked =
		n - (lease->granted < a->keep ? lease->granted : a->keep);
	there = (int64_t)(peal_load_relaxed_dev(&a->returned) + a->slots -
			  peal_load_relaxed_dev(&a->leased));
	if (there > (int64_t)a->lease)
		there = a->lease;
	if (there > (int64_t)lease->asked)
		lease->asked = (uint64_t)there;
	/* only the number counts */
	lease->asked_end =
		peal_add_relaxed_dev(&a->leased, lease->asked) + lease->asked;
}

/* Grants what was asked for, all of it or nothing: who waits holds none. */
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

/* An admission that is not simply granted already. */
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
 * Whether a worker may put n messages; asks for slots if it may not.
 *
 * @param a     the kernel's
 * @param lease the worker's
 * @param n     more than it keeps, unless for mail
 * @param mail  1: the handler of a message from the mailbox puts them
 * @return 1 it may; 0 not yet, ask again. Wait-free.
 */
static PEAL_DEV PEAL_INLINE int
peal_admission_admit(struct peal_admission *a, struct peal_mailbox_lease *lease,
		     uint64_t n, int mail)
{
	return PEAL_LIKELY(lease->granted >= n) ||
	       peali_admission_slow(a, lease, n, mail);
}

/**
 * Whether a worker may put n messages for one that a forwarding link has
 * brought, beside what it keeps, or else by places of the forwarding links:
 * then it owes a slot for the message. What it is granted by that it uses
 * before it asks again. Wait-free.
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
 * What comes of n slots that messages had in other kernels: how many of them
 * the worker has now; the others were owed, or, in *kept_out, wait until there
 * are places in their stead. Wait-free.
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
 * What the reserves lack, from what a worker has above what it keeps: before it
 * uses that for what is no mail. So what mail has taken of the reserve comes
 * back to it, whoever has handled the message. Wait-free.
 *
 * @return 1: others may find space now
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

/** A lease of a single slot, for what a worker sends beside its handlers: 1 it
 * has that; 0 not yet, ask again. Wait-free. */
static PEAL_DEV PEAL_UNUSED inline int
peal_admission_take_one(struct peal_admission *a,
			struct peal_mailbox_lease *lease)
{
	if (lease->granted)
		return 1;
	if (!lease->asked) {
		lease->asked = 1;
		lease->asked_end = peal_add_relaxed_dev(&a->leased, 1) + 1;
	}
	peali_admission_grant(a, lease);
	return lease->granted != 0;
}

/**
 * Whether what comes by links and timers may go to a mailbox, as far as its
 * worker has told what it took: not if it is filled, but for one message. So
 * many others may fill it, and yet each has its turn.
 *
 * @param a     the kernel's
 * @param m     the mailbox
 * @param other another one of the same worker, which fills up with it; or 0
 * @param sent  its `ticket` after the last such message of the worker that asks
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
 * The same by a worker that pauses, but for what it keeps. What it has asked
 * for it still waits for; if that has come by now it has its turn to use it.
 *
 * @return 1: others may find space now. Wait-free.
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
