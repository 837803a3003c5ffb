/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The end of a kernel's workers.
 *
 * - Workers end only if no mailbox has a message, no handler may still tell,
 *   and no timer waits.
 * - When this is true, they do end.
 *
 * Each worker has a mailbox, the first one also has an input. The handler of a
 * message with hops left tells another worker, at once or by a timer. The first
 * worker also has a periodic timer until all inputs have ended.
 *
 *	worker		peali_poll_inputs, peali_mail_poll (poll_inputs.h), peal_loop_done
 *			(loop.h), peali_tell (tell.h), peal_mailbox_put and
 *			peal_mailbox_release, _flush (mailbox.h), peali_idle
 *	may_end		peali_try_end, peali_quiet, peali_mail_handled,
 *			peali_timers_open (termination.h)
 *	fire		peali_timers_fire (poll_timers.h), peali_timers_waiting
 *
 * A mailbox is `ticket`, `taken`, `head` and a tag per slot. Left out: leases
 * (each mailbox has slots for all messages), links and marks (drain.pml).
 *
 * run: -DWORKERS=2 -DTARGETS=2 -DHOPS=3
 * run: -DWORKERS=3 -DTARGETS=2 -DHOPS=4
 *
 * run: -DWORKERS=2 -DTARGETS=2 -DHOPS=3 -DTICKS=1
 * run: -DWORKERS=3 -DTARGETS=2 -DHOPS=1 -DTICKS=1
 *
 * fault: FAULT_ONE_LOOK assert 1
 * fault: FAULT_OTHERS_NOT_ASKED assert 1
 * fault: FAULT_HEAD_BEFORE_HANDLER assert 1
 * fault: FAULT_NO_IDLE_FLUSH stall 1
 * fault: FAULT_SUMS_NOT_COMPARED assert 2
 *
 * fault: FAULT_TIMERS_NOT_ASKED assert 3
 * fault: FAULT_TIMERS_ASKED_FIRST assert 3
 * fault: FAULT_TIMERS_ASKED_LAST assert 3
 * fault: FAULT_OVER_BEFORE_TICKET assert 3
 * fault: FAULT_SET_AFTER_HEAD assert 3
 *
 * fault: FAULT_TICKS_NOT_TOLD assert 3
 * fault: FAULT_TICKS_GO_ON stall 3
 */

#ifndef TICKS
#define TICKS 0 /* no timers */
#endif
#define SLOTS (4 + TICKS) /* enough for all messages to one worker */
#define NOT_YET 255
#define LEVEL_ENDED 2

byte ticket[WORKERS], taken[WORKERS], head[WORKERS];
/* remaining hops of a message + 1; 0: no tag */
#define SLOT(worker, number) slot[(worker) * SLOTS + (number)]
byte slot[WORKERS * SLOTS];
bool drained[WORKERS]; /* in the status: all inputs have ended */
bool pending[WORKERS]; /* a timer waits */
byte told, done; /* by all workers; only for assertions */
byte n_ended;

/* Puts a message with this number of hops into a mailbox. */
inline put(hops)
{
	select(to : 0 .. TARGETS - 1); /* also its own */
	assert(n_ended == 0); /* all workers still take messages */
	told++;
	d_step { number = ticket[to]; ticket[to]++ };
	SLOT(to, number) = hops + 1;
	to = 0;
	number = 0
}

/* Publishes whether a timer waits. */
inline say_pending()
{
#if TICKS
	pending[me] = timer != 0 || periodic
#else
	skip
#endif
}

/* Handles a message with this number of hops: tells the next worker, or sets a
 * timer that does. */
inline handle(hops)
{
	if
	:: hops > 0 -> put(hops - 1)
	:: hops > 0 && TICKS && timer == 0 ->
		timer = hops; /* the timer sends hops - 1 */
#ifndef FAULT_SET_AFTER_HEAD
		say_pending()
#endif
	:: else
	fi
}

/* Sends the message of a timer. A timer may be due at any moment. */
inline fire()
{
#ifdef FAULT_OVER_BEFORE_TICKET
	pending[me] = periodic;
#endif
	put(timer - 1);
	timer = 0;
	waits = false;
	say_pending()
}

/* peali_mail_handled: the number of messages handled, or NOT_YET */
inline mail_handled(sum)
{
	sum = 0;
	i = 0;
	do
	:: i == WORKERS -> break
	:: else ->
		seen = head[i]; /* R3 */
		if
		:: ticket[i] != seen -> sum = NOT_YET; break
		:: else -> sum = sum + seen; i++
		fi
	od;
	i = 0;
	seen = 0
}

/* peali_timers_open */
inline timers_open()
{
	i = 0;
	do
	:: i == WORKERS || pending[i] -> break
	:: else -> i++
	od;
	if
	:: i < WORKERS -> i = 0; goto not_yet
	:: else -> i = 0
	fi
}

inline flush()
{
	if
	:: head[me] != taken[me] -> head[me] = taken[me]
	:: else
	fi
}

proctype worker(byte me)
{
	byte to, number, i, seen, first, second, hops;
	byte timer, ticks = (me == 0 -> TICKS : 0);
	bool waits;
	bool periodic = (me == 0 && TICKS > 0);
	bool input = (me == 0); /* one message comes from outside */

#ifndef FAULT_TICKS_NOT_TOLD
	say_pending();
#endif
	do
	:: timer != 0 -> fire()
	:: periodic && ticks > 0 -> ticks--; put(0)
	:: input -> /* the input's END comes directly behind it */
		hops = HOPS;
		handle(hops);
		hops = 0;
		input = false
	:: taken[me] < SLOTS && SLOT(me, taken[me]) != 0 ->
		hops = SLOT(me, taken[me]) - 1;
#ifdef FAULT_HEAD_BEFORE_HANDLER
		head[me] = taken[me] + 1;
#endif
		handle(hops);
		hops = 0;
		done++;
		taken[me] = taken[me] + 1;
		if /* after a quarter of the slots, or later */
		:: head[me] = taken[me]
		:: skip
		fi
	/* a worker with a waiting timer stays until the timer is due */
	:: !waits && !input && (taken[me] == SLOTS || SLOT(me, taken[me]) == 0) ->
#ifndef FAULT_NO_IDLE_FLUSH
		flush();
#endif
#ifdef FAULT_SET_AFTER_HEAD
		say_pending();
#endif
		d_step {
			waits = timer != 0;
			drained[me] = true
		};
		/* peali_quiet */
#ifndef FAULT_OTHERS_NOT_ASKED
		if
		:: drained[0] && drained[1] && drained[WORKERS - 1]
		:: else -> goto not_yet
		fi;
#endif
#ifndef FAULT_TICKS_GO_ON
		periodic = false;
#endif
#ifndef FAULT_TICKS_NOT_TOLD
		say_pending();
#endif
#ifdef FAULT_TIMERS_ASKED_FIRST
		timers_open();
#endif
		mail_handled(first);
#if !defined(FAULT_TIMERS_NOT_ASKED) && !defined(FAULT_TIMERS_ASKED_FIRST) && !defined(FAULT_TIMERS_ASKED_LAST)
		timers_open();
#endif
#ifdef FAULT_ONE_LOOK
		second = first;
#else
		mail_handled(second);
#endif
#ifdef FAULT_TIMERS_ASKED_LAST
		timers_open();
#endif
#ifdef FAULT_SUMS_NOT_COMPARED
		if
		:: first != NOT_YET && second != NOT_YET ->
#else
		if
		:: first != NOT_YET && first == second ->
#endif
			assert(told == done);
			n_ended++;
			break
		:: else
		fi;
not_yet:
		first = 0;
		second = 0
	od
}

init
{
	byte w;

	atomic {
		for (w : 0 .. WORKERS - 1) {
			run worker(w)
		}
	}
}

ltl all_end { <> (n_ended == WORKERS) }
