/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Credits of one link, for any capacity.
 *
 * - No message is overwritten before it was read.
 * - No message counts as delivered before it counts as accepted.
 * - A sender that waits for free slots gets them.
 *
 *	producer	peal_link_free_slots, peali_link_read_credit,
 *			peal_link_push_bulk (link_producer.h); peali_port_fits of
 *			poll_inputs.h decides how many must fit
 *	consumer	peali_link_peek, peal_link_release, peali_link_step,
 *			peal_link_flush_credit (link_consumer.h); peali_idle of
 *			loop.h, carry_burst of stager.c, settle of endpoint.c
 *	with BUSY	a worker that never goes idle: peali_poll_control of control.h
 *
 * Numbers have 8 bits here and begin near their wrap. A look at the control
 * words comes every 3 turns instead of 64. Left out: the slab, marks, hostile
 * words, bells.
 *
 * run: -DCAPACITY=8 -DMESSAGES=11
 * run: -DCAPACITY=8 -DMESSAGES=11 -DBUSY
 * run: -DCAPACITY=1 -DMESSAGES=5
 *
 * run: -DCAPACITY=2 -DMESSAGES=7 -DBUSY
 *
 * fault: FAULT_NO_IDLE_FLUSH stall 1
 * fault: FAULT_NO_LOOK_FLUSH stall 2
 * fault: FAULT_SIGNED_COMPARE stall 1
 * fault: FAULT_CREDIT_BEFORE_READ assert 1
 * fault: FAULT_ONE_SLOT_MORE assert 1
 *
 * fault: FAULT_COUNTED_LATE assert 1
 */

#define NUMBERS 256
#define START 250
#define LOOK_EVERY 3
#define QUARTER ((CAPACITY / 4) + (CAPACITY < 4))
#define WRAP(n) ((n) & (NUMBERS - 1))
#define INDEX(n) ((n) & (CAPACITY - 1))
#define LAP(n) (((n) / CAPACITY + 1) & (NUMBERS / CAPACITY - 1))

byte tag[CAPACITY]; /* the lap; writer: the producer */
byte content[CAPACITY];
byte credit_word = START; /* writer: the consumer */
byte accepted, delivered; /* the link's counts */

#ifdef FAULT_SIGNED_COMPARE
#define FREE (WRAP(credit + CAPACITY) - tail)
#else
#ifdef FAULT_ONE_SLOT_MORE
#define FREE WRAP(credit + CAPACITY + 1 - tail)
#else
#define FREE WRAP(credit + CAPACITY - tail)
#endif
#endif

proctype producer()
{
	byte tail = START, credit = START, sent, wants;

	do
	:: sent == MESSAGES -> break
	:: else ->
		/* the most messages that a handler may emit for one message */
		select(wants : 1 .. CAPACITY);
		if
		:: wants > MESSAGES - sent -> wants = MESSAGES - sent
		:: else
		fi;
		do
		:: FREE >= wants -> break
		:: else ->
			credit_word != credit; /* waits */
			credit = credit_word /* A2 */
		od;
#ifndef FAULT_COUNTED_LATE
		accepted = accepted + wants;
#endif
		do
		:: wants == 0 -> break
		:: else ->
			content[INDEX(tail)] = sent;
			tag[INDEX(tail)] = LAP(tail); /* R1 */
#ifdef FAULT_COUNTED_LATE
			accepted++;
#endif
			tail = WRAP(tail + 1);
			sent++;
			wants--
		od
	od
}

inline flush()
{
	if
	:: credit_word != head -> credit_word = head /* R2 */
	:: else
	fi;
	due = WRAP(head + QUARTER)
}

proctype consumer()
{
	byte head = START, due = WRAP(START + QUARTER), looks;

	do
	:: delivered == MESSAGES -> break
	:: else ->
#ifdef BUSY
		looks++;
		if
		:: looks == LOOK_EVERY ->
			looks = 0;
#ifndef FAULT_NO_LOOK_FLUSH
			flush()
#endif
		:: else
		fi;
#endif
		if
		:: tag[INDEX(head)] == LAP(head) -> /* A1 */
#ifdef FAULT_CREDIT_BEFORE_READ
			credit_word = WRAP(head + 1);
#endif
			assert(content[INDEX(head)] == delivered);
			assert(delivered < accepted);
			delivered++;
			head = WRAP(head + 1);
			if
			:: head == due -> flush()
			:: else
			fi
		:: else ->
#ifdef BUSY
			skip /* another input always has a message */
#else
#ifndef FAULT_NO_IDLE_FLUSH
			flush();
#endif
			tag[INDEX(head)] == LAP(head) ||
				delivered == MESSAGES
#endif
		fi
	od
}

init
{
	/* sets every slot to its state after its latest lap */
	byte k;

	d_step {
		for (k : 1 .. CAPACITY) {
			tag[INDEX(START - k)] = LAP(START - k);
			content[INDEX(START - k)] = 255
		}
	}
	atomic {
		run producer();
		run consumer()
	}
}

ltl every_message_is_delivered { <> (delivered == MESSAGES) }
