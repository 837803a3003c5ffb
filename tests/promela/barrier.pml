/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A barrier across devices.
 *
 * - No participant passes before all have arrived.
 * - No participant is two phases ahead of another one.
 * - All participants pass, even after a timeout and a second wait.
 * - If one participant is dead, an abort ends the wait of the others.
 *
 *	participant	peal_barrier_signal, peal_barrier_test (barrier_signal.h),
 *			peal_barrier_arrive_lanes, peal_barrier_wait_lanes (barrier.h)
 *	host		peal_barrier_abort (barrier.c)
 *
 * Left out: the observer's array, bells, participants that join later. Stop and
 * lease are left out, too: they end a wait as an abort does.
 *
 * run: -DPARTICIPANTS=3 -DPHASES=2
 * run: -DPARTICIPANTS=2 -DPHASES=4 -DTIMEOUTS
 * run: -DPARTICIPANTS=3 -DPHASES=2 -DDEATH
 *
 * fault: FAULT_EQUAL_GENERATION stall 1
 * fault: FAULT_SHARED_WORD stall 1
 * fault: FAULT_SIGNAL_BEFORE_WRITE assert 1
 * fault: FAULT_ARRIVES_AGAIN assert 2
 * fault: FAULT_ONE_WORD_UNREAD assert 1
 *
 * fault: FAULT_ABORT_UNREAD stall 3
 */

/* The owner's array has a generation per participant, which alone writes it. */
#define WORD(owner, from) word[(owner) * PARTICIPANTS + (from)]
byte word[PARTICIPANTS * PARTICIPANTS];
byte written[PARTICIPANTS]; /* data of each before it arrives: its phase */
bool aborted, dead;
byte n_done;

#ifdef FAULT_EQUAL_GENERATION
#define HERE(i) (WORD(me, i) == arrived)
#else
#ifdef FAULT_SHARED_WORD
#define HERE(i) (WORD(me, i) != 0)
#else
#define HERE(i) (WORD(me, i) >= arrived)
#endif
#endif
#ifdef FAULT_ONE_WORD_UNREAD
#define FROM 1
#else
#define FROM 0
#endif

inline signal()
{
	arrived++;
	for (i : 0 .. PARTICIPANTS - 1) {
#ifdef FAULT_SHARED_WORD
		WORD(i, me) = 1 /* for any phase */
#else
		WORD(i, me) = arrived /* R6 */
#endif
	}
	i = 0
}

proctype participant(byte me)
{
	byte phase, arrived, i;

	do
	:: phase == PHASES -> break
	:: else ->
#ifdef DEATH
		if
		:: !dead && me == 0 -> dead = true; break
		:: true
		fi;
#endif
		phase++;
#ifdef FAULT_SIGNAL_BEFORE_WRITE
		signal();
		written[me] = phase;
#else
		written[me] = phase;
		signal();
#endif
wait:
		i = FROM;
		do
		:: i == PARTICIPANTS -> break
		:: i < PARTICIPANTS && HERE(i) -> i++ /* A6 */
#if defined(DEATH) && !defined(FAULT_ABORT_UNREAD)
		:: i < PARTICIPANTS && aborted && !(HERE(i)) -> goto over
#endif
#ifdef TIMEOUTS
		:: i < PARTICIPANTS && !(HERE(i)) -> /* PEAL_ETIMEDOUT */
#ifdef FAULT_ARRIVES_AGAIN
			if
			:: arrived < 2 * PHASES -> signal()
			:: else
			fi;
#endif
			goto wait
#endif
		od;
#ifdef FAULT_SHARED_WORD
		for (i : 0 .. PARTICIPANTS - 1) {
			WORD(me, i) = 0
		}
#endif
		/* all have arrived, and their data can be read */
		for (i : 0 .. PARTICIPANTS - 1) {
			assert(written[i] >= phase);
			assert(written[i] <= phase + 1)
		}
		i = 0
	od;
over:
	n_done++
}

#ifdef DEATH
active proctype host()
{
	aborted = true /* at any moment */
}
#endif

init
{
	byte p;

	atomic {
		for (p : 0 .. PARTICIPANTS - 1) {
			run participant(p)
		}
	}
}

#ifdef DEATH
ltl all_end { <> (n_done == PARTICIPANTS) }
#else
ltl all_pass { <> (n_done == PARTICIPANTS) }
#endif
