/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shows that messages of high priority come first, but never starve other
 * messages. Worker 0 waits at a gate while its queues fill, then its handlers
 * record the order. Cases about starvation use an endless loop of high-priority
 * messages instead.
 */

#include <peal/pool.h>
#include <peal/topic.h>
#include "runtime/topics.h"

#include "runtime/rank_fixture.h"

#define LOOP 48 /* messages in the endless loop */

/* Starts an endless loop of LOOP high-priority messages at worker 0. */
static void begin_loop(void)
{
	struct peal_link_options o = { .capacity = 64,
				       .priority = PEAL_PRIORITY_HIGH };
	uint64_t relate = harness_spawn(s.k, "relate", 0);
	struct peal_link *loop = harness_link(s.rt, relate, 0, relate, o);
	uint32_t port;

	link_to(relate, PEAL_PRIORITY_NORMAL, &port);
	send_note(port, 0, say(NO_SENDER, 0), LOOP);
	EVENTUALLY(harness_info(loop).delivered > 1000);
}

/* ---- order --------------------------------------------------------------- */

/*
 * Checks the record from `first` on, as long as the `highs` messages last. ROW
 * messages of high priority come before each other message. The `others` normal
 * sources take turns.
 */
static void check_rows(uint64_t first, uint64_t highs, uint32_t others)
{
	uint64_t i = first, row, had[16] = { 0 };
	uint32_t n = 0, sender;

	while (highs >= ROW) {
		for (row = 0; row < ROW; row++)
			CHECK(is_high(i++));
		highs -= ROW;
		CHECK(!is_high(i));
		sender = s.list->from[i++];
		had[sender]++;
		/* a source gets its next turn after all other sources */
		CHECK_EQ(had[sender], 1 + n++ / others);
	}
}

PEAL_TEST(high_priority_message_overtakes_a_long_queue)
{
	uint32_t low, high, i;

	open_plain();
	link_to(s.note, PEAL_PRIORITY_NORMAL, &low);
	link_to(s.note, PEAL_PRIORITY_HIGH, &high);
	close_gate(low);
	send_note(low, 0, say(LOW, 0), 500);
	send_note(high, 0, say(HIGH, 0), 5);
	open_gate();
	written(505);
	for (i = 0; i < 505; i++)
		CHECK_EQ(s.list->from[i], i < 5 ? HIGH : LOW);
	close_rank_fixture();
}

/* Two links and a mailbox of normal priority, and a link of high priority. */
PEAL_TEST(all_inputs_get_a_turn_between_high_bursts)
{
	uint32_t low, low_too, high, mail;
	uint64_t teller;

	open_mail(2, 0);
	teller = harness_spawn(s.k, "pass_on", 1);
	link_to(s.note, PEAL_PRIORITY_NORMAL, &low);
	link_to(s.note, PEAL_PRIORITY_NORMAL, &low_too);
	link_to(s.note, PEAL_PRIORITY_HIGH, &high);
	link_to(teller, PEAL_PRIORITY_NORMAL, &mail);
	close_gate(low);
	send_note(mail, 0, say(MAIL, s.note), MIDDLE);
	EVENTUALLY(kernel_info().mailbox_sends == MIDDLE);
	in_queue(s.k, "note", 1);
	send_note(low, 0, say(LOW, 0), MIDDLE);
	send_note(low_too, 0, say(LOW_TOO, 0), MIDDLE);
	send_note(high, 0, say(HIGH, 0), 2000);
	open_gate();
	written(2000 + 3 * MIDDLE);
	check_rows(0, 2000, 3);
	close_rank_fixture();
}

/*
 * Two links and a mailbox of high priority take turns in rows of ROW messages.
 * `others` is the number of messages of normal priority, or 0.
 */
static void high_ones_take_turns(uint64_t others)
{
	uint32_t low, port[2], mail;
	uint64_t teller, i, n, each = 10 * ROW, row = 0;
	uint8_t last = NO_SENDER;

	open_mail(2, 0);
	teller = harness_spawn(s.k, "pass_on", 1);
	link_to(s.note, PEAL_PRIORITY_NORMAL, &low);
	link_to(s.note, PEAL_PRIORITY_HIGH, &port[0]);
	link_to(s.note, PEAL_PRIORITY_HIGH, &port[1]);
	link_to(teller, PEAL_PRIORITY_NORMAL, &mail);
	close_gate(low);
	send_note(port[0], 0, say(HIGH, 0), each);
	send_note(port[1], 0, say(HIGH_TOO, 0), each);
	send_note(mail, RANK_HIGH, say(HIGH_MAIL, s.note), each);
	send_note(low, 0, say(LOW, 0), others);
	EVENTUALLY(kernel_info().mailbox_sends == each);
	in_queue(s.k, "note", 1);
	open_gate();
	n = 3 * each + others;
	written(n);
	for (i = 0; i < 3 * each; i++) {
		if (!is_high(i))
			continue;
		row = s.list->from[i] == last ? row + 1 : 1;
		if (row == 1 && i > 0)
			CHECK_EQ(i % (ROW + (others ? 1 : 0)), 0);
		last = s.list->from[i];
		CHECK(row <= ROW);
	}
	close_rank_fixture();
}

PEAL_TEST(several_high_inputs_take_turns)
{
	high_ones_take_turns(1000);
	high_ones_take_turns(0);
}

/*
 * Without a high-priority link, normal links again get rows of several
 * messages.
 */
PEAL_TEST(removed_high_link_restores_normal_bursts)
{
	uint32_t low, low_too, high, i, row = 0, longest = 0;
	struct peal_link *link;

	open_plain();
	link_to(s.note, PEAL_PRIORITY_NORMAL, &low);
	link_to(s.note, PEAL_PRIORITY_NORMAL, &low_too);
	link = link_to(s.note, PEAL_PRIORITY_HIGH, &high);
	send_note(high, 0, say(HIGH, 0), 10);
	written(10);
	CHECK_OK(peal_link_destroy(link));
	close_gate(low);
	send_note(low, 0, say(LOW, 0), 10 * ROW);
	send_note(low_too, 0, say(LOW_TOO, 0), 10 * ROW);
	open_gate();
	written(10 + 20 * ROW);
	/* one row, or two if the slots of the other link had to be fetched */
	for (i = 10; i < 10 + 10 * ROW; i++) {
		row = s.list->from[i] == s.list->from[i - 1] ? row + 1 : 1;
		longest = row > longest ? row : longest;
	}
	CHECK(longest > 1 && longest <= 2 * ROW);
	close_rank_fixture();
}

/* ---- forwarding ---------------------------------------------------------- */

PEAL_TEST(messages_passed_on_by_high_link_count_each)
{
	uint32_t low, high;
	uint64_t far;

	open_mail(2, 0);
	far = harness_spawn(s.k, "note", 1);
	link_to(s.note, PEAL_PRIORITY_NORMAL, &low);
	link_to(s.note, PEAL_PRIORITY_HIGH, &high);
	close_gate(low);
	send_note(low, 0, say(LOW, 0), MIDDLE);
	send_far(high, far, say(NO_SENDER, 0), 1600);
	open_gate();
	written(MIDDLE);
	EVENTUALLY(kernel_info().mailbox_done == 1600);
	check_moved(1600);
	close_rank_fixture();
}

PEAL_TEST(high_link_messages_to_limited_actor_count_each)
{
	struct peal_kernel_options o = { .workers = 2,
					 .mailbox.slots = PLENTY,
					 .mailbox.max_limits = 1 };
	struct peal_actor_options limited = { .size = sizeof(limited),
					      .worker = 2,
					      .mailbox_limit = 1600,
					      .mailbox_overflow =
						      PEAL_OVERFLOW_FAIL };
	uint32_t low, high;
	uint64_t far;

	open_rank_fixture(o, 0);
	CHECK_OK(peal_actor_spawn(s.k, "note", &limited, &far));
	link_to(s.note, PEAL_PRIORITY_NORMAL, &low);
	link_to(s.note, PEAL_PRIORITY_HIGH, &high);
	close_gate(low);
	send_note(low, 0, say(LOW, 0), MIDDLE);
	send_far(high, far, say(NO_SENDER, 0), 1600);
	open_gate();
	written(MIDDLE);
	EVENTUALLY(kernel_info().mailbox_done == 1600);
	check_moved(1600);
	close_rank_fixture();
}

PEAL_TEST(high_link_messages_to_pool_count_each)
{
	struct peal_pool_options o = { .size = sizeof(o), .capacity = PLENTY };
	uint64_t pool, member;
	uint32_t low, high;

	open_mail(2, 1);
	member = harness_spawn(s.k, "note", 1);
	CHECK_OK(peal_pool_create(s.k, &o, &pool));
	CHECK_OK(peal_pool_join(s.rt, pool, member));
	link_to(s.note, PEAL_PRIORITY_NORMAL, &low);
	/* leads to worker 0, while a link to the pool may lead to any worker */
	link_to(s.note, PEAL_PRIORITY_HIGH, &high);
	close_gate(low);
	send_note(low, 0, say(LOW, 0), MIDDLE);
	send_far(high, pool, say(NO_SENDER, 0), 1600);
	open_gate();
	written(MIDDLE);
	EVENTUALLY(kernel_info().mailbox_done == 1600);
	check_moved(1600);
	close_rank_fixture();
}

/*
 * Worker 1 waits at the gate. Links to worker 0 bring the messages for worker
 * 1.
 */
static void forwards(uint32_t priority_mailboxes)
{
	struct peal_kernel_options o = { .workers = 2,
					 .mailbox.slots = PLENTY,
					 .mailbox.priority =
						 priority_mailboxes };
	uint32_t low, high, gate, i;
	uint64_t far;

	open_rank_fixture(o, 0);
	far = harness_spawn(s.k, "note", 1);
	link_to(s.note, PEAL_PRIORITY_NORMAL, &low);
	link_to(s.note, PEAL_PRIORITY_HIGH, &high);
	link_to(far, PEAL_PRIORITY_NORMAL, &gate);
	close_gate(gate);
	send_far(low, far, say(LOW, 0), 200);
	EVENTUALLY(kernel_info().mailbox_sends == 200);
	in_queue(s.k, "note", 0);
	send_far(high, far, say(HIGH, 0), 20);
	EVENTUALLY(kernel_info().mailbox_sends == 220);
	in_queue(s.k, "note", 0);
	open_gate();
	written(220);
	for (i = 0; i < 220; i++)
		CHECK_EQ(is_high(i), priority_mailboxes ? i < 20 : i >= 200);
	close_rank_fixture();
}

PEAL_TEST(passed_on_messages_keep_their_priority)
{
	forwards(1);
}

PEAL_TEST(without_high_mailbox_passed_on_mail_is_normal)
{
	forwards(0);
}

/* A message of this type, which `pass_on` passes with high priority. */
static void overtakes(uint16_t type)
{
	uint32_t port, gate, i;
	uint64_t teller;

	open_mail(2, 0);
	teller = harness_spawn(s.k, "pass_on", 1);
	link_to(s.note, PEAL_PRIORITY_NORMAL, &gate);
	link_to(teller, PEAL_PRIORITY_NORMAL, &port);
	close_gate(gate);
	send_note(port, 0, say(MAIL, s.note), 300);
	send_note(port, type, say(HIGH_MAIL, s.note), 20);
	EVENTUALLY(kernel_info().mailbox_sends == 320);
	in_queue(s.k, "note", 1);
	open_gate();
	written(320);
	for (i = 0; i < 320; i++)
		CHECK_EQ(s.list->from[i], i < 20 ? HIGH_MAIL : MAIL);
	EVENTUALLY(kernel_info().mailbox_done == 320);
	close_rank_fixture();
}

PEAL_TEST(high_priority_tell_overtakes)
{
	overtakes(RANK_HIGH);
}

PEAL_TEST(high_priority_tell_with_deadline_overtakes)
{
	overtakes(RANK_HIGH | RANK_TIMED);
}

PEAL_TEST(high_priority_forward_overtakes)
{
	overtakes(RANK_HIGH | RANK_FORWARD);
}

/* ---- turns of normal messages -------------------------------------------- */

/*
 * Makes a topic with a publisher on worker 1. The endpoint's port *port_out
 * makes it publish.
 */
static uint64_t publisher(uint32_t overwrite, uint32_t *port_out)
{
	struct peal_topic_options o = { .capacity = 8, .overwrite = overwrite };
	uint64_t topic = topic_create(s.rt, 0, o);
	uint64_t echo = harness_spawn(s.k, "echo", 1);

	CHECK_OK(peal_publish(s.rt, echo, 0, topic));
	link_to(echo, PEAL_PRIORITY_NORMAL, port_out);
	return topic;
}

static struct peal_subscriber_info subscriber(uint64_t topic)
{
	return topic_subscriber(s.rt, topic, s.note);
}

static void topic_has_its_turn(uint32_t overwrite)
{
	uint64_t topic;
	uint32_t port;

	open_mail(2, 0);
	topic = publisher(overwrite, &port);
	CHECK_OK(peal_subscribe(s.rt, topic, s.note, 0));
	begin_loop();
	send_note(port, 0, say(NO_SENDER, 0), 1000);
	EVENTUALLY(subscriber(topic).published == 1000 &&
		   subscriber(topic).queued == 0);
	CHECK(overwrite || subscriber(topic).missed == 0);
	CHECK_EQ(subscriber(topic).priority, PEAL_PRIORITY_NORMAL);
	close_rank_fixture();
}

PEAL_TEST(topics_get_their_turn)
{
	topic_has_its_turn(0);
	topic_has_its_turn(1);
}

/*
 * The worker takes a message of a topic while the actor's port is full, and
 * holds it from then on.
 */
PEAL_TEST(held_topic_message_gets_its_turn)
{
	struct peal_link_options two = { .capacity = 2 };
	struct peal_received r;
	struct rank_note got;
	uint64_t topic, held;
	uint32_t port, i;

	open_mail(2, 0);
	topic = publisher(0, &port);
	held = harness_spawn(s.k, "relate", 0);
	harness_to(s.rt, held, s.e, two);
	CHECK_OK(peal_subscribe(s.rt, topic, held, 0));
	begin_loop();
	send_note(port, 0, say(NO_SENDER, 0), 6);
	EVENTUALLY(topic_subscriber(s.rt, topic, held).delivered == 2);
	for (i = 0; i < 6; i++)
		CHECK_OK(peal_receive(s.e, &got, sizeof(got), &r, MAX_WAIT));
	close_rank_fixture();
}

PEAL_TEST(a_topic_can_have_high_priority)
{
	uint32_t port, low, i;
	uint64_t topic;

	open_mail(2, 0);
	topic = publisher(0, &port);
	link_to(s.note, PEAL_PRIORITY_NORMAL, &low);
	CHECK_OK(peal_subscribe(s.rt, topic, s.note, PEAL_SUBSCRIBE_HIGH));
	CHECK_EQ(subscriber(topic).priority, PEAL_PRIORITY_HIGH);
	close_gate(low);
	send_note(low, 0, say(LOW, 0), 100);
	send_note(port, 0, say(HIGH, 0), 5);
	EVENTUALLY(topic_info(s.rt, topic).published == 5);
	open_gate();
	written(105);
	for (i = 0; i < 105; i++)
		CHECK_EQ(is_high(i), i < 5);
	close_rank_fixture();
}

PEAL_TEST(abandoned_mailbox_slot_gets_its_turn)
{
	uint16_t high = 0;
	uint64_t teller, dead;
	uint32_t port, end;

	/* handler `perish` needs one lane */
	if (lanes > 1)
		return;
	for (high = 0; high <= RANK_HIGH; high += RANK_HIGH) {
		open_mail(3, 0);
		teller = harness_spawn(s.k, "pass_on", 1);
		dead = harness_spawn(s.k, "perish", 2);
		link_to(teller, PEAL_PRIORITY_NORMAL, &port);
		link_to(dead, PEAL_PRIORITY_NORMAL, &end);
		begin_loop();
		send_note(end, high, say(NO_SENDER, s.note), 1);
		EVENTUALLY(kernel_info().mailbox_sends == 1);
		send_note(port, high, say(LOW, s.note), 20);
		written(20);
		EVENTUALLY(kernel_info().mailbox_done == 21);
		EVENTUALLY(kernel_info().mailbox_abandoned == 1);
		close_rank_fixture();
	}
}

/* A worker may fetch many slots at a time from a ring in host memory. */
PEAL_TEST(fetched_slots_get_their_turn)
{
	uint32_t port;

	open_plain();
	link_to(s.note, PEAL_PRIORITY_NORMAL, &port);
	begin_loop();
	send_note(port, 0, say(LOW, 0), 1000);
	written(1000);
	close_rank_fixture();
}

PEAL_TEST(pool_gets_its_turn)
{
	struct peal_pool_options o = { .size = sizeof(o) };
	uint32_t port, direct;
	uint64_t pool, teller;

	open_mail(2, 1);
	teller = harness_spawn(s.k, "pass_on", 1);
	CHECK_OK(peal_pool_create(s.k, &o, &pool));
	CHECK_OK(peal_pool_join(s.rt, pool, s.note));
	link_to(teller, PEAL_PRIORITY_NORMAL, &port);
	link_to(pool, PEAL_PRIORITY_NORMAL, &direct);
	begin_loop();
	send_note(port, 0, say(LOW, pool), 200);
	send_note(direct, 0, say(LOW, 0), 200);
	written(400);
	close_rank_fixture();
}

PEAL_TEST(dead_messages_get_their_turn)
{
	struct peal_link *link;
	uint32_t port;
	uint64_t gone;

	open_plain();
	gone = harness_spawn(s.k, "note", 0);
	link = link_to(s.note, PEAL_PRIORITY_NORMAL, &port);
	begin_loop();
	CHECK_OK(peal_actor_retire(s.rt, gone));
	send_far(port, gone, say(LOW, 0), 100);
	send_note(port, 0, say(LOW, 0), 100);
	written(100);
	EVENTUALLY(harness_info(link).dead[PEAL_REASON_NO_ACTOR] == 100);
	close_rank_fixture();
}

/*
 * A message for a retired actor uses up a turn: the next message is of high
 * priority.
 */
PEAL_TEST(dead_message_uses_up_a_turn)
{
	uint32_t low, low_too, high, i, highs, seconds;
	uint64_t gone;

	open_plain();
	gone = harness_spawn(s.k, "note", 0);
	CHECK_OK(peal_actor_retire(s.rt, gone));
	link_to(s.note, PEAL_PRIORITY_NORMAL, &low);
	link_to(s.note, PEAL_PRIORITY_NORMAL, &low_too);
	link_to(s.note, PEAL_PRIORITY_HIGH, &high);
	close_gate(low);
	send_far(low, gone, say(LOW, 0), 20);
	send_note(low_too, 0, say(LOW_TOO, 0), 20);
	send_note(high, 0, say(HIGH, 0), 20 * ROW);
	open_gate();
	written(20 + 20 * ROW);
	for (i = highs = seconds = 0; seconds < 2; i++) {
		highs += is_high(i);
		seconds += !is_high(i);
	}
	CHECK(highs >= 3 * ROW);
	close_rank_fixture();
}

/* ---- blocked links of high priority -------------------------------------- */

PEAL_TEST(blocked_high_link_blocks_no_other_input)
{
	struct peal_link_options four = { .capacity = 4 };
	struct peal_link *link;
	uint32_t low, high, i;
	struct peal_received r;
	struct rank_note got;
	uint64_t relate;

	open_plain();
	relate = harness_spawn(s.k, "relate", 0);
	harness_to(s.rt, relate, s.e, four);
	link_to(s.note, PEAL_PRIORITY_NORMAL, &low);
	link = link_to(relate, PEAL_PRIORITY_HIGH, &high);
	close_gate(low);
	send_note(low, 0, say(LOW, 0), 500);
	send_note(high, 0, say(HIGH, 0), 10);
	open_gate();
	/* four high ones leave, then all others have their turn */
	written(504);
	for (i = 0; i < 504; i++)
		CHECK_EQ(is_high(i), i < 4);
	EVENTUALLY(harness_info(link).queued == 6);
	/* it continues as soon as it can, before later messages */
	close_gate(low);
	send_note(low, 0, say(LOW, 0), 100);
	for (i = 0; i < 3; i++)
		CHECK_OK(peal_receive(s.e, &got, sizeof(got), &r, MAX_WAIT));
	open_gate();
	EVENTUALLY(peal_load_acquire_sys(&s.list->n) >= 604 + 1);
	CHECK(is_high(504));
	for (i = 3; i < 10; i++)
		CHECK_OK(peal_receive(s.e, &got, sizeof(got), &r, MAX_WAIT));
	written(610);
	close_rank_fixture();
}

/* ---- mailboxes ----------------------------------------------------------- */

/*
 * A worker that takes no messages leaves slots for others: neither of its
 * mailboxes may use up all slots.
 */
PEAL_TEST(blocked_worker_leaves_slots_for_other_workers)
{
	struct peal_kernel_options o = { .workers = 3,
					 .mailbox.slots = 64,
					 .mailbox.priority = 1 };
	uint32_t to_stalled, to_stalled_high, to_other, gate;
	struct peal_link *link;
	uint64_t stuck, other;

	open_rank_fixture(o, 0);
	stuck = harness_spawn(s.k, "note", 1);
	other = harness_spawn(s.k, "note", 2);
	link_to(stuck, PEAL_PRIORITY_NORMAL, &gate);
	link_to(s.note, PEAL_PRIORITY_NORMAL, &to_stalled);
	link_to(s.note, PEAL_PRIORITY_HIGH, &to_stalled_high);
	link = link_to(s.note, PEAL_PRIORITY_NORMAL, &to_other);
	close_gate(gate);
	send_far(to_stalled, stuck, say(NO_SENDER, 0), 500);
	send_far(to_stalled_high, stuck, say(NO_SENDER, 0), 500);
	send_far(to_other, other, say(NO_SENDER, 0), 500);
	EVENTUALLY(harness_info(link).delivered == 500);
	CHECK(kernel_info().mailbox_done >= 400);
	open_gate();
	EVENTUALLY(kernel_info().mailbox_done == 1500);
	close_rank_fixture();
}

/*
 * Worker 0 has no input and no messages left, but must not end. Worker 1
 * handles a message of its high-priority mailbox, and will tell worker 0.
 */
PEAL_TEST(kernel_ends_after_high_mailboxes_are_empty)
{
	struct peal_kernel_options o = { .workers = 2,
					 .mailbox.slots = 64,
					 .mailbox.priority = 1,
					 .drain_when_inputs_end = 1 };
	struct rank_note note;
	struct peal_worker_info info;
	uint64_t teller, far;
	uint32_t port;

	open_rank_fixture(o, 0);
	teller = harness_spawn(s.k, "pass_on", 0);
	far = harness_spawn(s.k, "pass_on", 1);
	link_to(teller, PEAL_PRIORITY_NORMAL, &port);
	note = say(MAIL, far);
	note.then = (uint32_t)s.note;
	send_note(port, RANK_HIGH | RANK_GATE, note, 1);
	EVENTUALLY(peal_load_acquire_sys(&s.list->waits));
	CHECK_OK(peal_send_end(s.e, port, MAX_WAIT));
	/* time to end wrongly */
	identity_sleep_us(20000);
	CHECK_OK(peal_worker_info(s.k, 0, &info));
	CHECK_EQ(info.phase, PEAL_WORKER_RUNNING);
	open_gate();
	CHECK_OK(peal_kernel_wait(s.k, MAX_WAIT));
	CHECK_EQ(s.list->n, 1);
	EVENTUALLY(kernel_info().mailbox_done == 2);
	close_rank_fixture();
}

/* ---- routes and options -------------------------------------------------- */

/* A link from a kernel of the other device. It uses two routes in turn. */
PEAL_TEST(link_handover_keeps_the_priority)
{
	static const enum peal_route routes[] = { PEAL_ROUTE_MAPPED_HOST,
						  PEAL_ROUTE_PEER };
	struct peal_kernel_options one = { .lanes = lanes };
	struct peal_link_options o = { .capacity = 64,
				       .priority = PEAL_PRIORITY_HIGH };
	struct peal_kernel *from;
	struct peal_link *link;
	uint32_t low, port, i, turn;
	uint64_t echo;

	open_plain();
	from = harness_launch_with(s.rt, 1, one);
	echo = harness_spawn(from, "echo", 0);
	link = harness_link(s.rt, echo, 0, s.note, o);
	link_to(s.note, PEAL_PRIORITY_NORMAL, &low);
	link_to(echo, PEAL_PRIORITY_NORMAL, &port);
	for (turn = 0; turn < 2; turn++) {
		s.list->n = 0;
		CHECK_OK(peal_link_set_route(link, routes[turn], MAX_WAIT));
		CHECK_EQ(harness_info(link).route, routes[turn]);
		CHECK_EQ(harness_info(link).priority, PEAL_PRIORITY_HIGH);
		close_gate(low);
		send_note(low, 0, say(LOW, 0), 100);
		send_note(port, 0, say(HIGH, 0), 5);
		EVENTUALLY(harness_info(link).accepted == 5 * turn + 5);
		in_queue(from, "echo", 0);
		open_gate();
		written(105);
		for (i = 0; i < 105; i++)
			CHECK_EQ(is_high(i), i < 5);
	}
	CHECK_OK(peal_kernel_stop(from, MAX_WAIT));
	close_rank_fixture();
}

PEAL_TEST(invalid_priority_options_are_refused)
{
	struct peal_kernel_options k = { .size = sizeof(k),
					 .mailbox.priority = 1 };
	struct peal_link_options o = { .size = sizeof(o), .priority = 2 };
	struct peal_kernel *none;
	uint32_t port;

	open_plain();
	CHECK_EQ(peal_kernel_launch(s.rt, 0, &peal_program_ranks, &k, &none),
		 PEAL_EINVAL);
	CHECK(strstr(peal_last_error()->text, "mailbox.slots is 0"));
	k.mailbox.slots = 64;
	k.mailbox.priority = 2;
	CHECK_EQ(peal_kernel_launch(s.rt, 0, &peal_program_ranks, &k, &none),
		 PEAL_EINVAL);
	CHECK(strstr(peal_last_error()->text,
		     "'mailbox.priority': is out of range (2, allowed 0..1)"));
	CHECK_EQ(peal_connect(s.rt, peal_endpoint_address(s.e), 0, s.note, &o,
			      NULL),
		 PEAL_EINVAL);
	CHECK(strstr(peal_last_error()->text,
		     "'priority': is out of range (2, allowed 0..1)"));
	o.priority = PEAL_PRIORITY_HIGH;
	CHECK_EQ(peal_connect(s.rt, harness_spawn(s.k, "relate", 0), 0,
			      peal_endpoint_address(s.e), &o, NULL),
		 PEAL_EINVAL);
	CHECK(strstr(peal_last_error()->text,
		     "is only for links to actors and pools"));
	CHECK_EQ(harness_info(link_to(s.note, 0, &port)).priority,
		 PEAL_PRIORITY_NORMAL);
	CHECK_EQ(harness_info(link_to(s.note, 1, &port)).priority,
		 PEAL_PRIORITY_HIGH);
	close_rank_fixture();
}

PEAL_TEST_MAIN(RUN_LANES(high_priority_message_overtakes_a_long_queue);
	       RUN_LANES(all_inputs_get_a_turn_between_high_bursts);
	       RUN_LANES(several_high_inputs_take_turns);
	       RUN_LANES(removed_high_link_restores_normal_bursts);
	       RUN_LANES(messages_passed_on_by_high_link_count_each);
	       RUN_LANES(high_link_messages_to_limited_actor_count_each);
	       RUN_LANES(high_link_messages_to_pool_count_each);
	       RUN_LANES(passed_on_messages_keep_their_priority);
	       RUN_LANES(without_high_mailbox_passed_on_mail_is_normal);
	       RUN_LANES(high_priority_tell_overtakes);
	       RUN_LANES(high_priority_tell_with_deadline_overtakes);
	       RUN_LANES(high_priority_forward_overtakes);
	       RUN_LANES(topics_get_their_turn);
	       RUN_LANES(held_topic_message_gets_its_turn);
	       RUN_LANES(a_topic_can_have_high_priority);
	       RUN_LANES(abandoned_mailbox_slot_gets_its_turn);
	       RUN_LANES(fetched_slots_get_their_turn);
	       RUN_LANES(pool_gets_its_turn);
	       RUN_LANES(dead_messages_get_their_turn);
	       RUN_LANES(dead_message_uses_up_a_turn);
	       RUN_LANES(blocked_high_link_blocks_no_other_input);
	       RUN_LANES(blocked_worker_leaves_slots_for_other_workers);
	       RUN_LANES(kernel_ends_after_high_mailboxes_are_empty);
	       RUN_LANES(link_handover_keeps_the_priority);
	       RUN_LANES(invalid_priority_options_are_refused);)
