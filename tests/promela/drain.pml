/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The end of a pipeline.
 *
 * - END marks travel through it.
 * - A kernel ends when all its inputs have ended and are empty.
 * - If a kernel is stopped in the middle, its neighbours end, too.
 *
 * Two endpoints send to kernel 0. Kernel 0 sends to kernel 1. Kernel 1 sends to
 * an endpoint.
 *
 *	source		peal_send, peal_send_end, closed (endpoint.c)
 *	kernel		peali_input_poll, peali_input_slow, peali_input_mark
 *			(poll_inputs.h), peali_port_fits, peali_try_end (termination.h),
 *			peali_worker_exit, peali_switch and CLOSE_PORT (control.h)
 *	sink		receive_round, look (endpoint.c)
 *	reaper		peali_links_reap, tell_sender, tell_receiver (link_info.c)
 *
 * Links 0 and 1 are the inputs of kernel 0. Link 2 leads to kernel 1, link 3
 * to the sink. A ring is a channel (credit.pml models its slots). Left out:
 * several workers of a kernel and their mailboxes (quiet.pml), staged links
 * (seal.pml).
 *
 * run: -DMOST=2
 * run: -DMOST=1 -DSTOP=0
 * run: -DMOST=1 -DSTOP=1
 *
 * fault: FAULT_END_NOT_FORWARDED stall 1
 * fault: FAULT_END_DROPPED_WHEN_FULL stall 1
 * fault: FAULT_FIRST_END_ENDS stall 1
 * fault: FAULT_RECEIVER_NOT_TOLD stall 2
 * fault: FAULT_SENDER_NOT_TOLD stall 2
 *
 * fault: FAULT_LAST_NOT_EMPTY assert 2
 * fault: FAULT_GONE_AFTER_LOOK assert 3
 * fault: FAULT_TAKEN_WITHOUT_ROOM assert 1
 */

#define EACH(source) (source -> 1 : MOST) /* messages */
#define ALL (MOST + 1)
#define SLOTS 1 /* the reaper counts messages left in a ring so */
#define LINKS 4

mtype = { DATA, END };
/* a message has its source and its number there */
chan ring[LINKS] = [SLOTS] of { mtype, bit, byte };

/* counts of the links */
byte accepted[LINKS], delivered[LINKS], dead[LINKS];
bool ended[LINKS]; /* END was written */
bool sender_gone[LINKS], receiver_gone[LINKS]; /* told by the host */

bool gone[2]; /* the kernels */
bool source_done[2], sink_done;

#define ALL_DONE (source_done[0] && source_done[1] && gone[0] && gone[1] && \
		  sink_done)

/* ---- source: an endpoint ------------------------------------------------- */

proctype source(bit me)
{
	byte n;

	do
	:: receiver_gone[me] -> break /* peal_send returns PEAL_EPIPE */
	:: n < EACH(me) && nfull(ring[me]) ->
		accepted[me]++;
		ring[me]!DATA,me,n;
		n++
	:: n == EACH(me) && nfull(ring[me]) ->
		ring[me]!END,me,0;
		ended[me] = true;
		break
	od;
	source_done[me] = true
}

/* ---- kernel -------------------------------------------------------------- */

#ifdef FAULT_TAKEN_WITHOUT_ROOM
#define ROOM true
#else
#define ROOM nfull(ring[out])
#endif
#ifdef FAULT_FIRST_END_ENDS
#define ALL_ENDED (n_ended > 0)
#else
#define ALL_ENDED (n_ended == n_inputs)
#endif
#ifdef FAULT_LAST_NOT_EMPTY
#define OVER(link) (sender_gone[link] && used[link - first])
#else
#define OVER(link) (sender_gone[link] && used[link - first] && \
		    empty(ring[link]))
#endif

/* Takes a message. Its handler emits one before the message is released. */
inline take(link)
{
	ring[link]?<_,from,number>;
	accepted[out]++;
	if
	:: closed -> dead[out]++ /* peal_link_drop_closed */
	:: else ->
		assert(nfull(ring[out])); /* no handler waits */
		ring[out]!DATA,from,number
	fi;
	ring[link]?_,_,_;
	delivered[link]++
}

inline end_input(link)
{
	used[link - first] = false;
	n_ended++
}

proctype kernel(bit me; byte first; byte n_inputs; byte out)
{
	bool used[2] = true, closed;
	byte n_ended, number;
	bit from;

	do
	:: !closed && receiver_gone[out] -> closed = true /* CLOSE_PORT */
	:: !ALL_ENDED && ring[first]?[DATA,_,_] && (closed || ROOM) ->
		take(first)
	:: !ALL_ENDED && n_inputs == 2 && ring[first + 1]?[DATA,_,_] &&
	   (closed || ROOM) ->
		take(first + 1)
	:: ring[first]?[END,_,_] -> ring[first]?_,_,_; end_input(first)
	:: n_inputs == 2 && ring[first + 1]?[END,_,_] ->
		ring[first + 1]?_,_,_;
		end_input(first + 1)
	:: OVER(first) ->
		assert(delivered[first] == accepted[first]);
		end_input(first)
	/* peali_try_end */
	:: ALL_ENDED && closed -> break
#ifdef FAULT_END_DROPPED_WHEN_FULL
	:: ALL_ENDED && !closed && full(ring[out]) ->
		ended[out] = true;
		break
#endif
	:: ALL_ENDED && !closed && nfull(ring[out]) ->
#ifndef FAULT_END_NOT_FORWARDED
		ring[out]!END,0,0;
#endif
		ended[out] = true;
		break
#ifdef STOP
	:: me == STOP -> break
#endif
	od;
	gone[me] = true
}

/* ---- sink: an endpoint --------------------------------------------------- */

proctype sink()
{
	byte next[2], number;
	bool sender;
	bit from;

	do
	:: true ->
		/* before the look: then the look sees its last messages */
#ifndef FAULT_GONE_AFTER_LOOK
		sender = sender_gone[3];
#endif
		if
		:: ring[3]?[DATA,from,number] ->
			ring[3]?_,from,number;
			assert(number == next[from]); /* in order, once */
			next[from]++;
			delivered[3]++
		:: ring[3]?[END,from,number] ->
			assert(delivered[3] == accepted[3]);
			break
		:: empty(ring[3]) ->
#ifdef FAULT_GONE_AFTER_LOOK
			sender = sender_gone[3];
#endif
			if
			:: sender ->
				assert(delivered[3] == accepted[3]);
				break
			:: else
			fi
		fi
	od;
	sink_done = true
}

/* ---- reaper: the watchdog's part ----------------------------------------- */

/* Tells the receiver and the senders that a kernel has ended. */
inline reap(me, from, to, out)
{
#ifndef FAULT_RECEIVER_NOT_TOLD
	if
	:: !ended[out] -> sender_gone[out] = true
	:: else
	fi;
#endif
#ifndef FAULT_SENDER_NOT_TOLD
	receiver_gone[from] = true;
	receiver_gone[to] = true;
#endif
	told[me] = true
}

proctype reaper()
{
	bool told[2];
	byte i;

	do
	:: gone[0] && !told[0] -> reap(0, 0, 1, 2)
	:: gone[1] && !told[1] -> reap(1, 2, 2, 3)
	:: told[0] && told[1] && ALL_DONE -> break
	od;
	/* accepted = delivered + dead + left in the ring */
	for (i : 0 .. LINKS - 1) {
		assert(accepted[i] == delivered[i] + dead[i] +
				      (ring[i]?[DATA,_,_] -> 1 : 0));
		assert(!ring[i]?[DATA,_,_] || receiver_gone[i])
	}
}

init
{
	atomic {
		run source(0);
		run source(1);
		run kernel(0, 0, 2, 2);
		run kernel(1, 2, 1, 3);
		run sink();
		run reaper()
	}
}

#ifdef STOP
ltl all_end { <> ALL_DONE }
#else
ltl all_arrives { <> (ALL_DONE && delivered[3] == ALL) }
#endif
