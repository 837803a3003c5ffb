/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When the workers of a kernel may end: no message is in a mailbox or in a
 * handler that may still tell, and once that is so they do end. Each of the
 * workers has an input and a mailbox; a message makes its handler tell another
 * worker as long as it has hops left.
 *
 *	worker		peali_take, peali_mail_take (take.h), peal_loop_done
 *			(loop.h), peali_tell (emit.h), peal_mailbox_put and
 *			peal_mailbox_release, _flush (mailbox.h), peali_idle
 *	may_end		peali_try_end, peali_quiet, peali_mail_handled (end.h)
 *
 * A mailbox is its ticket, what was taken, `head`, and a tag for each slot.
 * Left out: leases (each mailbox has room for all), links and marks (drain.pml).
 *
 * run: -DWORKERS=2 -DTARGETS=2 -DHOPS=3
 * run: -DWORKERS=3 -DTARGETS=2 -DHOPS=4
 *
 * fault: FAULT_ONE_LOOK assert 1
 * fault: FAULT_OTHERS_NOT_ASKED assert 1
 * fault: FAULT_HEAD_BEFORE_HANDLER assert 1
 * fault: FAULT_NO_IDLE_FLUSH stall 1
 * fault: FAULT_SUMS_NOT_COMPARED assert 2
 */

#define SLOTS 4 /* more than are ever told to one */
#define NOT_YET 255
#define LEVEL_ENDED 2

byte ticket[WORKERS], taken[WORKERS], head[WORKERS];
/* hops left of a message, + 1: the tag is there */
#define SLOT(worker, number) slot[(worker) * SLOTS + (number)]
byte slot[WORKERS * SLOTS];
bool drained[WORKERS]; /* of the status: all inputs have ended */
byte told, done; /* by all: ghosts */
byte n_ended;

/* Handles one message with so many hops left: tells the next worker. */
inline handle(hops)
{
	if
	:: hops > 0 ->
		select(to : 0 .. TARGETS - 1); /* itself too */
		assert(n_ended == 0); /* nobody is there to take it */
		told++;
		d_step { number = ticket[to]; ticket[to]++ };
		SLOT(to, number) = hops /* its own hops: hops - 1 */
	:: else
	fi;
	to = 0;
	number = 0
}

/* peali_mail_handled: their number, or NOT_YET */
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
	bool input = (me == 0); /* one message comes from outside */

	do
	:: input -> /* its END comes right behind it */
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
	:: !input && (taken[me] == SLOTS || SLOT(me, taken[me]) == 0) ->
#ifndef FAULT_NO_IDLE_FLUSH
		flush();
#endif
		drained[me] = true;
		/* peali_quiet */
#ifndef FAULT_OTHERS_NOT_ASKED
		if
		:: drained[0] && drained[1] && drained[WORKERS - 1]
		:: else -> goto not_yet
		fi;
#endif
		mail_handled(first);
#ifdef FAULT_ONE_LOOK
		second = first;
#else
		mail_handled(second);
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
