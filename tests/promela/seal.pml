/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hand-over of a live link to another route, and back.
 *
 * - No message is lost, doubled or overtaken.
 * - No ring is touched after it was freed.
 * - The hand-over ends.
 *
 *	host		peal_link_set_route, begin, tell_ends, finish_old
 *			(link_handover.c), peali_route_path_make, peali_route_path_free (route_alloc.c)
 *	sender		peali_control_port, peali_switch (control.h),
 *			peali_port_fits (poll_inputs.h), peal_link_push_mark
 *	receiver	peali_control_input, peali_input_poll,
 *			peali_input_slow, peali_input_mark (poll_inputs.h),
 *			peal_link_release_mark (link_consumer.h)
 *	router		carry, carry_mark, carry_burst, obey (stager.c)
 *	reaper		peali_links_reap, tell_sender, tell_receiver (link_info.c)
 *
 * The direct path is ring 0. The staged path is ring 1, the stager, ring 2. A
 * ring is a channel (credit.pml models slots and credits).
 * Left out: counts without influence, hand-overs without memory, timeouts of
 * the host's waits (both paths stay then).
 *
 * run:
 * run: -DSENDER_STOPS
 * run: -DRECEIVER_STOPS
 *
 * fault: FAULT_SEAL_BEFORE_LAST assert 1
 * fault: FAULT_FREED_UNSWITCHED assert 1
 * fault: FAULT_SWITCH_COUNTED_FIRST assert 1
 * fault: FAULT_SENDER_TOLD_FIRST assert 1
 * fault: FAULT_STAGER_NOT_ASKED assert 1
 *
 * fault: FAULT_NOT_CARRIED assert 2
 * fault: FAULT_LAST_NOT_EMPTY assert 2
 * fault: FAULT_FREED_UNSEALED assert 3
 * fault: FAULT_SEAL_NOT_RETRIED stall 1
 */

#define MESSAGES 3
#define SLOTS 1
#define HAND_OVERS 2
#define NONE 9
#define LAST 8 /* PEAL_CONTROL_END_INPUT */
#define CLOSE 7 /* PEAL_CONTROL_CLOSE_PORT */

mtype = { DATA, SEAL, END };
chan ring[3] = [SLOTS] of { mtype, byte };
bool alive[3] = false;

/* control messages, with 1 if the host waits for an answer; and answers */
chan to_sender = [2] of { byte, bool };
chan to_receiver = [2] of { byte, bool };
chan sender_answer = [1] of { bool };
chan receiver_answer = [1] of { bool };

byte accepted, delivered; /* the link's counts */
byte seals; /* writer: the sender */
byte switches; /* writer: the receiver */
bool ended; /* END was written */
bool sender_gone, receiver_gone; /* no worker of the kernel runs */
bool lock; /* the runtime's */

/* state of the stager */
bool attached, done, removing, closing, empty_said;

bool host_done;

#define FIRST(staged) (staged -> 1 : 0)
#define FINAL(staged) (staged -> 2 : 0)

/* ---- sender -------------------------------------------------------------- */

proctype sender()
{
	byte out = 0, next = NONE, control;
	bool answer, closed;

	do
	:: to_sender?control,answer ->
		if
		:: control == CLOSE -> closed = true; next = NONE
		:: else ->
			next = control;
#ifdef FAULT_SEAL_NOT_RETRIED
			assert(alive[out]);
			if
			:: nfull(ring[out]) ->
				ring[out]!SEAL,0;
				seals++;
				out = next;
				next = NONE
			:: full(ring[out])
			fi
#endif
		fi;
		if
		:: answer -> sender_answer!true
		:: else
		fi
#ifndef FAULT_SEAL_NOT_RETRIED
	:: next != NONE && nfull(ring[out]) -> /* peali_switch */
		assert(alive[out]);
		ring[out]!SEAL,0;
#ifdef FAULT_SEAL_BEFORE_LAST
		if
		:: accepted < MESSAGES && nfull(ring[out]) ->
			accepted++;
			ring[out]!DATA,accepted
		:: else
		fi;
#endif
		seals++;
		out = next;
		next = NONE
#endif
	:: next == NONE && !closed && accepted < MESSAGES &&
	   nfull(ring[out]) ->
		assert(alive[out]);
		accepted++;
		ring[out]!DATA,accepted
	:: next == NONE && !closed && accepted == MESSAGES &&
	   nfull(ring[out]) -> /* peali_try_end */
		assert(alive[out]);
		ring[out]!END,0;
		ended = true;
		break
	:: closed -> break
#ifdef SENDER_STOPS
	:: true -> break
#endif
	od;
	sender_gone = true
}

/* ---- receiver ------------------------------------------------------------ */

proctype receiver()
{
	byte in = 0, next = NONE, control, number;
	bool answer, last;

	do
	:: to_receiver?control,answer ->
		if
		:: control == LAST -> last = true
		:: else -> next = control
		fi;
		if
		:: answer -> receiver_answer!true
		:: else
		fi
	:: ring[in]?[DATA,number] ->
		assert(alive[in]);
		ring[in]?DATA,number;
		assert(number == delivered + 1); /* once, and in order */
		assert(delivered < accepted);
		delivered++
	:: ring[in]?[SEAL,number] ->
		assert(next != NONE); /* else the link fails */
#ifdef FAULT_SWITCH_COUNTED_FIRST
		switches++;
#endif
		assert(alive[in]);
		ring[in]?SEAL,number;
		assert(alive[in]); /* writes the ring's last credit */
#ifndef FAULT_SWITCH_COUNTED_FIRST
		switches++;
#endif
		in = next;
		next = NONE
	:: ring[in]?[END,number] ->
		ring[in]?END,number;
		assert(delivered == MESSAGES);
		break
#ifdef FAULT_LAST_NOT_EMPTY
	:: last ->
#else
	:: last && empty(ring[in]) ->
#endif
		assert(delivered == accepted);
		break
#ifdef RECEIVER_STOPS
	:: true -> break
#endif
	od;
	receiver_gone = true
}

/* ---- stager -------------------------------------------------------------- */

proctype stager()
{
	mtype kind;
	byte number;

	do
	:: removing -> attached = false; removing = false
	:: attached && !done && nempty(ring[1]) && nfull(ring[2]) ->
		assert(alive[1] && alive[2]);
		ring[1]?<kind,number>;
		ring[2]!kind,number;
		if
		:: kind != DATA -> done = true
		:: else
		fi;
		assert(alive[1]); /* releases the message after the copy */
		ring[1]?kind,number
	:: attached && closing && !empty_said && empty(ring[1]) ->
		empty_said = true
	:: host_done && sender_gone && receiver_gone && !removing -> break
	od
}

/* ---- host ---------------------------------------------------------------- */

inline take_lock()
{
	atomic { !lock -> lock = true }
}

/* peali_route_path_make: makes empty rings; the stager copies between two */
inline make_path(by_stager)
{
	d_step {
		assert(empty(ring[FIRST(by_stager)]));
		assert(empty(ring[FINAL(by_stager)]));
		alive[FIRST(by_stager)] = true;
		alive[FINAL(by_stager)] = true;
		if
		:: by_stager ->
			attached = true;
			done = false;
			empty_said = false
		:: else
		fi
	}
}

/* peali_route_path_free: detaches the stager first */
inline free_path(by_stager)
{
#ifndef FAULT_STAGER_NOT_ASKED
	if
	:: by_stager -> removing = true; !removing
	:: else
	fi;
#endif
	d_step {
		alive[FIRST(by_stager)] = false;
		alive[FINAL(by_stager)] = false
	}
}

/* peali_kernel_tell; sets told if the worker has answered */
inline tell(to, answers, gone, ring_number)
{
	to!ring_number,true;
	if
	:: answers?told
	:: gone && empty(answers) -> told = false
	fi
}

/* Whether the old ring may be freed: finish_old. */
#ifdef FAULT_FREED_UNSWITCHED
#define LEFT true
#else
#ifdef FAULT_FREED_UNSEALED
#define LEFT (switches >= n || receiver_gone)
#else
#define LEFT (switches >= n || \
	      receiver_gone && (sender_gone || seals >= n))
#endif
#endif
/* Whether an end will never switch; both paths stay. */
#define STRANDED (sender_gone && seals < n || receiver_gone)

proctype host()
{
	bool staged = false, told;
	byte n = 0;

	do
	:: n == HAND_OVERS -> break
	:: n < HAND_OVERS ->
		take_lock();
		if
		:: sender_gone || receiver_gone -> lock = false; break
		:: else
		fi;
		make_path(!staged);
#ifdef FAULT_SENDER_TOLD_FIRST
		tell(to_sender, sender_answer, sender_gone, FIRST(!staged));
		tell(to_receiver, receiver_answer, receiver_gone,
		     FINAL(!staged));
#else
		tell(to_receiver, receiver_answer, receiver_gone,
		     FINAL(!staged));
		if
		:: told ->
			tell(to_sender, sender_answer, sender_gone,
			     FIRST(!staged))
		:: else
		fi;
#endif
		if
		:: !told -> free_path(!staged); lock = false; break
		:: told
		fi;
		n++;
		lock = false;
		if
		:: LEFT ->
			take_lock();
			free_path(staged);
			lock = false
		:: STRANDED && !(LEFT) -> break
		fi;
		staged = !staged
	od;
	host_done = true
}

/* The watchdog's part: tells the neighbours of a kernel that has ended. */
proctype reaper()
{
	bool sender_told, receiver_told;

	do
	:: sender_gone && !ended && !receiver_told ->
		take_lock();
		if
		:: receiver_gone -> receiver_told = true
		:: else ->
#ifndef FAULT_NOT_CARRIED
			closing = true;
			if
			:: attached && !done && !empty_said -> goto later
			:: else
			fi;
#endif
			to_receiver!LAST,false;
			receiver_told = true
		fi;
later:
		lock = false
	:: receiver_gone && !sender_told ->
		take_lock();
		if
		:: sender_gone
		:: else -> to_sender!CLOSE,false
		fi;
		sender_told = true;
		lock = false
	:: sender_gone && receiver_gone && host_done -> break
	od
}

init
{
	atomic {
		alive[0] = true;
		run sender();
		run receiver();
		run stager();
		run host();
		run reaper()
	}
}

#ifdef RECEIVER_STOPS
ltl it_ends { <> (sender_gone && receiver_gone && host_done) }
#else /* and no message is left, also if the sender stops */
ltl all_arrives {
	<> (sender_gone && receiver_gone && host_done && delivered == accepted)
}
#endif
