/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A worker dies between ticket and tag while others live.
 *
 * - No message of a live worker is given up, even if that worker is slow.
 * - The consumer gets all messages but those of dead workers.
 *
 * There are a consumer and three producers. One producer may die, or two with
 * DEATHS=2.
 *
 *	producer	peal_mailbox_put (mailbox.h), peali_control (control.h)
 *	consumer	peali_mail_poll (poll_inputs.h), peali_mail_reclaim (mail.h),
 *			peal_mailbox_abandon (mailbox.h)
 *	watchdog	peali_kernel_reclaim, has_done (reclaim.c)
 *
 * Left out: leases, the reuse of slots, other control messages.
 *
 * run: -DDEATHS=1
 * run: -DDEATHS=2
 *
 * fault: FAULT_NO_PASS assert 1
 * fault: FAULT_PASS_NOT_AWAITED assert 1
 * fault: FAULT_UNTIL_AT_ABANDON assert 1
 * fault: FAULT_PEEKED_BEFORE assert 1
 * fault: FAULT_NOT_RECLAIMED stall 1
 *
 * fault: FAULT_ONCE_ONLY stall 2
 */

#define PRODUCERS 3
#define EACH(me) (1 + ((me) == 2)) /* messages */
#define SLOTS (PRODUCERS + 1)
#define EMPTY 0
#define DATA 1
#define DEAD 2
#define NOTE 1
#define PASS 2
#define POISON 3
#ifdef FAULT_UNTIL_AT_ABANDON
#define NOTE_AT POISON
#else
#define NOTE_AT NOTE
#endif

byte ticket, taken;
byte tag[SLOTS];
byte owner[SLOTS]; /* only for assertions */
bool dead[PRODUCERS]; /* the status */
bool finished[PRODUCERS];
byte step; /* that the watchdog has posted to all workers; 0: none */
byte answered[PRODUCERS + 1];
byte published, delivered, n_dead, poisoned;
bool over;

inline answer(me)
{
	if
	:: answered[me] != step && step != 0 -> answered[me] = step
	:: else
	fi
}

proctype producer(byte me)
{
	byte n, number;

	do
	:: n == EACH(me) -> break
	:: n < EACH(me) ->
		answer(me); /* between two messages, never inside a put */
		d_step {
			number = ticket;
			owner[number] = me;
			ticket++
		};
		if
		:: me < DEATHS -> /* this producer may die */
			d_step { dead[me] = true; n_dead++ };
			goto end
		:: true ->
			assert(tag[number] == EMPTY); /* not given up */
			tag[number] = DATA;
			published++
		fi;
		n++
	od;
	finished[me] = true;
end:
	do /* idle: answers; dead: the watchdog waits for no answer */
	:: !dead[me] && step != 0 && answered[me] != step ->
		answered[me] = step
	:: dead[me] || over -> break
	od
}

proctype consumer()
{
	byte noted, until, nothing_at = SLOTS;

	do
	:: taken < SLOTS && tag[taken] != EMPTY ->
		if
		:: tag[taken] == DATA -> delivered++
		:: else -> poisoned++
		fi;
		taken++
#ifdef FAULT_PEEKED_BEFORE
	:: taken < SLOTS && tag[taken] == EMPTY && nothing_at != taken ->
		nothing_at = taken
	:: taken < until && nothing_at == taken ->
#else
	:: taken < until && tag[taken] == EMPTY ->
#endif
		assert(dead[owner[taken]]); /* no ticket of a live worker */
		tag[taken] = DEAD
	:: step != 0 && answered[PRODUCERS] != step ->
		if
		:: step == NOTE_AT -> noted = ticket
		:: else
		fi;
		if
		:: step == POISON -> until = noted
		:: else
		fi;
		answered[PRODUCERS] = step
	:: over -> break
	od
}

/* Whether a worker has done the step, or is dead. */
#define DONE(p) (answered[p] == step || dead[p])
#ifdef FAULT_PASS_NOT_AWAITED
#define ALL_DONE (answered[PRODUCERS] == step)
#else
#define ALL_DONE (DONE(0) && DONE(1) && DONE(2) && \
		  answered[PRODUCERS] == step)
#endif

#define MAY_BEGIN (step == 0 && !over)

proctype watchdog()
{
	byte n_reclaimed;

	do
#ifndef FAULT_NOT_RECLAIMED
#ifdef FAULT_ONCE_ONLY
	:: atomic {
		   MAY_BEGIN && n_reclaimed == 0 && n_dead != 0 ->
#else
	:: atomic {
		   MAY_BEGIN && n_dead != n_reclaimed ->
#endif
		   n_reclaimed = n_dead;
		   step = NOTE
	   };
		ALL_DONE;
#ifndef FAULT_NO_PASS
		step = PASS;
		ALL_DONE;
#endif
		step = POISON;
		ALL_DONE;
		d_step {
			step = 0;
			answered[0] = 0;
			answered[1] = 0;
			answered[2] = 0;
			answered[PRODUCERS] = 0
		}
#endif
	:: over -> break
	od
}

#define ENDED(p) (finished[p] || dead[p])

proctype observer()
{
	atomic {
		ENDED(0) && ENDED(1) && ENDED(2) && step == 0 &&
			taken == ticket;
		assert(delivered == published);
		assert(delivered + poisoned == ticket);
		over = true
	}
}

init
{
	atomic {
		run producer(0);
		run producer(1);
		run producer(2);
		run consumer();
		run watchdog();
		run observer()
	}
}

/* each ticket is taken off, as delivered or as poisoned */
ltl all_is_taken { <> over }
