/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shows the priorities of messages to actors with a mailbox limit, and to
 * migrated actors. The comment in test_priorities.c explains how handlers
 * record the order.
 */
#include <peal/migration.h>

#include "runtime/rank_fixture.h"

/* ---- actors with a limit ------------------------------------------------- */

static struct peal_actor_mailbox_info mailbox(uint64_t actor)
{
	struct peal_actor_mailbox_info info;

	CHECK_OK(peal_actor_mailbox(s.rt, actor, &info));
	return info;
}

/*
 * Spawns an actor with a limit on worker 0. The mailboxes have slots for all
 * messages of a case.
 */
static uint64_t open_limited(uint32_t limit, uint32_t full)
{
	struct peal_kernel_options o = { .workers = 3,
					 .mailbox.slots = PLENTY,
					 .mailbox.priority = 1,
					 .mailbox.max_limits = 1 };
	struct peal_actor_options a = { .size = sizeof(a),
					.worker = 1,
					.mailbox_limit = limit,
					.mailbox_overflow = full };
	uint64_t address = 0;

	open_rank_fixture(o, 0);
	CHECK_OK(peal_actor_spawn(s.k, "note", &a, &address));
	return address;
}

/*
 * Sends n messages to an actor with a limit. Handler `pass_on` tells them, or a
 * link to another worker brings them.
 */
static void send_limited(int by_link, uint32_t port, uint64_t to, uint32_t from,
			 uint64_t n)
{
	if (by_link)
		send_far(port, to, say(from, 0), n);
	else
		send_note(port, from & 1 ? RANK_HIGH : 0, say(from, to), n);
}

/*
 * The limit is five. Three messages wait, then four of high priority arrive,
 * and all count. Two of the high-priority messages are dropped: the newest or
 * the oldest.
 */
static void one_limit_for_both(int by_link, uint32_t full)
{
	int oldest = full == PEAL_OVERFLOW_DROP_OLDEST;
	uint64_t limited = open_limited(5, full), teller;
	uint32_t gate, port, high, i;

	teller = harness_spawn(s.k, "pass_on", 1);
	link_to(s.note, PEAL_PRIORITY_NORMAL, &gate);
	link_to(teller, PEAL_PRIORITY_NORMAL, &port);
	high = port;
	if (by_link)
		link_to(teller, PEAL_PRIORITY_HIGH, &high);
	close_gate(gate);
	send_limited(by_link, port, limited, MAIL, 3);
	EVENTUALLY(mailbox(limited).waiting == 3);
	send_limited(by_link, high, limited, HIGH, 2);
	send_limited(by_link, high, limited, HIGH_TOO, 2);
	EVENTUALLY(mailbox(limited).dropped == 2);
	CHECK_EQ(mailbox(limited).waiting, 5);
	in_queue(s.k, "note", 1);
	open_gate();
	written(5);
	for (i = 0; i < 5; i++)
		CHECK_EQ(s.list->from[i], i > 1	 ? MAIL :
					  oldest ? HIGH_TOO :
						   HIGH);
	EVENTUALLY(kernel_info().mailbox_done == kernel_info().mailbox_sends);
	CHECK_EQ(mailbox(limited).waiting, 0);
	CHECK_EQ(mailbox(limited).max_waiting, 5);
	EVENTUALLY(kernel_info().mailbox_dropped ==
		   (oldest || !by_link ? 2 : 0));
	close_rank_fixture();
}

PEAL_TEST(limit_counts_messages_of_both_priorities)
{
	int by_link;

	for (by_link = 0; by_link < 2; by_link++) {
		one_limit_for_both(by_link, PEAL_OVERFLOW_DROP_NEWEST);
		one_limit_for_both(by_link, PEAL_OVERFLOW_DROP_OLDEST);
	}
}

/*
 * High-priority messages arrive while the worker is about to handle another
 * message. Each message counts once.
 */
PEAL_TEST(each_waiting_message_counts_once)
{
	uint64_t limited = open_limited(PLENTY, PEAL_OVERFLOW_DROP_OLDEST), i;
	uint32_t port[2];

	for (i = 0; i < 2; i++)
		link_to(harness_spawn(s.k, "pass_on", 1 + (int)i),
			PEAL_PRIORITY_NORMAL, &port[i]);
	for (i = 0; i < 1500; i++) {
		send_note(port[0], 0, say(MAIL, limited), 1);
		send_note(port[1], RANK_HIGH, say(HIGH_MAIL, limited), 1);
	}
	written(3000);
	EVENTUALLY(kernel_info().mailbox_done == 3000);
	CHECK_EQ(mailbox(limited).waiting, 0);
	CHECK_EQ(mailbox(limited).dropped, 0);
	close_rank_fixture();
}

/* ---- migrated actors ----------------------------------------------------- */

/*
 * Spawns an actor and migrates it from worker 0 to worker 1. Returns its first
 * address.
 */
static uint64_t moved_note(void)
{
	struct peal_migration_options o = { .size = sizeof(o), .worker = 2 };
	uint64_t note = harness_spawn(s.k, "note", 0);

	CHECK_OK(peal_actor_migrate(s.rt, note, &o, NULL));
	return note;
}

/* First both mailboxes of the former worker fill, then both of the new one. */
PEAL_TEST(messages_to_migrated_actor_keep_priority)
{
	struct rank_list *door; /* the former worker's gate */
	struct rank_note stop = say(NO_SENDER, 0);
	uint32_t port, gate, front, i;
	uint64_t moved, teller;

	open_mail(3, 0);
	moved = moved_note();
	teller = harness_spawn(s.k, "pass_on", 2);
	link_to(s.note, PEAL_PRIORITY_NORMAL, &front);
	link_to(harness_spawn(s.k, "note", 1), PEAL_PRIORITY_NORMAL, &gate);
	link_to(teller, PEAL_PRIORITY_NORMAL, &port);
	close_gate(gate);
	door = (struct rank_list *)harness_pinned(s.rt, sizeof(*door));
	stop.list = harness_address(door);
	peal_store_release_sys(&door->word, 0);
	send_note(front, RANK_GATE, stop, 1);
	EVENTUALLY(peal_load_acquire_sys(&door->waits));
	send_note(port, 0, say(MAIL, moved), 200);
	send_note(port, RANK_HIGH, say(HIGH, moved), 10);
	send_note(port, RANK_HIGH, say(HIGH_TOO, moved), 10);
	EVENTUALLY(kernel_info().mailbox_sends == 220);
	in_queue(s.k, "note", 2);
	peal_store_release_sys(&door->word, 1);
	EVENTUALLY(kernel_info().mailbox_sends == 440);
	in_queue(s.k, "note", 0);
	CHECK_EQ(s.list->n, 0);
	open_gate();
	written(220);
	for (i = 0; i < 220; i++)
		CHECK_EQ(s.list->from[i], i < 10 ? HIGH :
					  i < 20 ? HIGH_TOO :
						   MAIL);
	EVENTUALLY(kernel_info().mailbox_done == 440);
	close_rank_fixture();
}

PEAL_TEST(messages_to_migrated_actor_count_each)
{
	uint64_t moved, teller;
	uint32_t low, port;

	open_mail(3, 0);
	moved = moved_note();
	teller = harness_spawn(s.k, "pass_on", 2);
	link_to(s.note, PEAL_PRIORITY_NORMAL, &low);
	link_to(teller, PEAL_PRIORITY_NORMAL, &port);
	close_gate(low);
	send_note(low, 0, say(LOW, 0), MIDDLE);
	send_note(port, RANK_HIGH, say(NO_SENDER, moved), 1600);
	EVENTUALLY(kernel_info().mailbox_sends == 1600);
	in_queue(s.k, "note", 2);
	open_gate();
	written(MIDDLE);
	EVENTUALLY(kernel_info().mailbox_done == 3200);
	check_moved(1600);
	close_rank_fixture();
}

PEAL_TEST_MAIN(RUN_LANES(limit_counts_messages_of_both_priorities);
	       RUN_LANES(each_waiting_message_counts_once);
	       RUN_LANES(messages_to_migrated_actor_keep_priority);
	       RUN_LANES(messages_to_migrated_actor_count_each);)
