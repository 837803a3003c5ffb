/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Actors migrate between kernels and devices while messages arrive for them.
 * Shows that each message arrives once, in order per sender, and that the state
 * is kept. All former addresses lead to the actor.
 */

#include <peal/monitor.h>
#include <peal/name.h>
#include <peal/request.h>
#include <peal/supervisor.h>
#include "runtime/short_timeout.h"
#include "runtime/migration_fixture.h"

/* ---- messages ------------------------------------------------------------ */

PEAL_TEST(migration_between_devices_loses_nothing)
{
	/*
	 * kernel and worker: to another device and back, within a kernel, and
	 * to another kernel of the same device
	 */
	static const int stay[9][2] = { { 0, 1 }, { 1, 0 }, { 1, 1 },
					{ 0, 0 }, { 2, 1 }, { 1, 0 },
					{ 0, 1 }, { 0, 0 }, { 2, 0 } };
	struct peal_kernel_info k;
	struct fixture s;
	struct guest g;
	uint32_t i, by;

	open_full(&s);
	for (i = 0; i < 450; i++) {
		for (by = 0; by < SENDERS; by++)
			send_note(&s, (enum sender)by);
		if (i % 50 != 20)
			continue;
		CHECK_OK(move_to(&s, i & 4 ? s.guest : s.newest,
				 stay[i / 50][0], (uint32_t)stay[i / 50][1],
				 0));
		CHECK(s.newest != s.guest);
	}
	g = settle(&s, s.guest, 2);
	CHECK_EQ(g.id, ID);
	CHECK_EQ(g.notes, notes_sent(&s));
	CHECK_EQ(g.disorder, 0);
	for (by = 0; by < SENDERS; by++)
		CHECK_EQ(g.next[by], s.sent[by]);
	for (i = 0; i < KERNELS; i++) {
		CHECK_OK(peal_kernel_info(s.k[i], &k));
		CHECK_EQ(k.failed, 0);
		CHECK_EQ(k.mailbox_dead, 0);
		CHECK_EQ(k.actors, i == 0 ? 5 : i == 2);
	}
	close_fixture(&s);
}

/* A forwarding link comes from the kernel, not from its first actor. */
PEAL_TEST(forwarding_links_do_not_pin_the_first_actor)
{
	struct fixture s;
	uint64_t first;

	open_fixture(&s);
	first = harness_spawn(s.k[0], "crier", 0);
	s.guest = spawn(s.k[0], "guest", 0);
	CHECK_OK(move_to(&s, s.guest, 1, 0, 0));
	CHECK_OK(move_to(&s, first, 0, 1, 0));
	close_fixture(&s);
}

PEAL_TEST(forwarded_messages_wait_for_free_slots)
{
	uint64_t *open, lie, word;
	struct fixture s;
	struct guest g;
	uint32_t i;

	open_full(&s);
	open = harness_gate(s.rt);
	word = harness_address(open);
	lie = harness_spawn(s.k[1], "lie", 0);
	harness_from(s.rt, s.e, SENDERS, lie, plain);
	CHECK_OK(move_to(&s, s.guest, 1, 0, 0));
	CHECK_OK(peal_send(s.e, SENDERS, 1, &word, sizeof(word), MAX_WAIT,
			   NULL));
	for (i = 0; i < 64; i++) { /* more than the forwarding link takes */
		send_note(&s, BY_LINK);
		send_note(&s, BY_TELL);
	}
	peal_store_release_sys(open, 1);
	for (i = 0; i < 64; i++)
		send_note(&s, BY_LINK);
	g = settle(&s, s.guest, 1);
	CHECK_EQ(g.notes, 192);
	CHECK_EQ(g.disorder, 0);
	close_fixture(&s);
}

PEAL_TEST(kernels_drain_one_after_another)
{
	struct fixture s;
	struct guest g;
	uint32_t i;

	open_fixture(&s);
	s.guest = spawn(s.k[0], "guest", 0);
	harness_from(s.rt, s.e, BY_LINK, s.guest, plain);
	CHECK_OK(move_to(&s, s.guest, 1, 1, 0));
	for (i = 0; i < 100; i++)
		send_note(&s, BY_LINK);
	CHECK_OK(peal_send_end(s.e, BY_LINK, MAX_WAIT));
	CHECK_OK(peal_kernel_drain(s.k[0], MAX_WAIT));
	CHECK_OK(peal_kernel_drain(s.k[1], MAX_WAIT));
	CHECK_OK(peal_actor_state(s.rt, s.guest, &g, sizeof(g)));
	CHECK_EQ(g.notes, 100);
	CHECK_EQ(g.disorder, 0);
	CHECK_EQ(move_to(&s, s.newest, 2, 0, 0), PEAL_ESTOPPED);
	close_fixture(&s);
}

/*
 * Kernel 1 drains although kernel 0, which forwards messages to it, still runs.
 * Otherwise the drain would wait for a forwarding link that never ends.
 */
PEAL_TEST(kernel_drains_while_forwarding_kernel_runs)
{
	struct fixture s;

	open_fixture(&s);
	s.guest = spawn(s.k[0], "guest", 0);
	harness_from(s.rt, s.e, BY_LINK, s.guest, plain);
	CHECK_OK(move_to(&s, s.guest, 1, 1, 0));
	send_note(&s, BY_LINK);
	CHECK_EQ(settle(&s, s.guest, 1).notes, 1);
	CHECK_OK(peal_kernel_drain(s.k[1], MAX_WAIT));
	close_fixture(&s);
}

/* ---- addresses ----------------------------------------------------------- */

PEAL_TEST(all_addresses_resolve_to_the_new_kernel)
{
	struct peal_link *link;
	uint64_t second, found;
	struct fixture s;

	open_full(&s);
	CHECK_OK(peal_name_set(s.rt, s.guest, "guest"));
	CHECK_OK(move_to(&s, s.guest, 1, 1, 0));
	second = s.newest;
	CHECK(second >> 32 != s.guest >> 32);
	CHECK_OK(peal_name_find(s.rt, "guest", &found));
	CHECK_EQ(found, second);
	CHECK_OK(move_to(&s, s.guest, 2, 1, 0));
	CHECK_OK(peal_name_find(s.rt, "guest", &found));
	CHECK_EQ(found, s.newest);
	link = harness_from(s.rt, s.e, SENDERS, second, plain);
	CHECK_EQ(harness_info(link).to, s.newest);
	CHECK_OK(peal_link_destroy(link));
	send_note(&s, BY_TELL);
	CHECK_EQ(settle(&s, second, 2).next[BY_TELL], 1);
	close_fixture(&s);
}

PEAL_TEST(requests_follow_actor_to_another_kernel)
{
	struct peal_received r;
	struct peal_requester *asker = NULL;
	uint64_t porter, owner[KERNELS], notes = 7, i;
	struct fixture s;

	open_fixture(&s);
	for (i = 0; i < KERNELS; i++)
		owner[i] = spawn(s.k[i], "porter", 0);
	porter = spawn_with(s.k[0], "porter", 0, owner[0], NULL);
	CHECK_OK(peal_requester_create(s.rt, porter, NULL, &asker));
	for (i = 0; i < KERNELS; i++)
		CHECK_OK(peal_requester_listen(asker, owner[i], 0));
	for (i = 0; i < KERNELS; i++) {
		CHECK_OK(peal_request(asker, GUEST_ASK, NULL, 0, &notes,
				      sizeof(notes), &r, MAX_WAIT));
		CHECK_EQ(notes, 0);
		if (i + 1 < KERNELS)
			CHECK_OK(move_to(&s, porter, (int)i + 1, 0,
					 owner[i + 1]));
	}
	CHECK_OK(peal_requester_destroy(asker));
	close_fixture(&s);
}

/* An ask is not forwarded to another kernel: it fails at once. */
PEAL_TEST(asks_are_not_forwarded_to_another_kernel)
{
	struct peal_kernel_info k;
	struct fixture s;

	open_full(&s);
	CHECK_OK(move_to(&s, s.guest, 1, 0, 0));
	CHECK_OK(peal_send(s.e, BY_TELL, GUEST_QUERY, NULL, 0, MAX_WAIT, NULL));
	EVENTUALLY(!peal_kernel_info(s.k[0], &k) && k.asks.asked == 1 &&
		   !k.asks.open && k.mailbox_dead == 1);
	close_fixture(&s);
}

/* ---- retirement ---------------------------------------------------------- */

PEAL_TEST(end_of_migrated_actor_frees_slots_in_all_kernels)
{
	uint64_t was[5], actors[ACTORS];
	struct fixture s;
	uint32_t by, i;

	open_fixture(&s);
	for (by = 0; by < 5; by++) {
		was[0] = spawn(s.k[0], "guest", 0);
		CHECK_OK(move_to(&s, was[0], 0, 1, 0));
		was[1] = s.newest;
		CHECK_OK(move_to(&s, was[0], 1, 0, 0));
		was[2] = s.newest;
		CHECK_OK(move_to(&s, was[1], 1, 1, 0));
		was[3] = s.newest;
		CHECK_OK(move_to(&s, was[2], 2, 0, 0));
		was[4] = s.newest;
		CHECK_EQ(peal_actor_retire_many(s.rt, was, 2), PEAL_EINVAL);
		CHECK_CONTAINS(peal_last_error()->text, "is listed twice");
		CHECK_OK(peal_actor_retire(s.rt, was[by]));
		for (i = 0; i < 5; i++)
			CHECK_EQ(peal_actor_retire(s.rt, was[i]), PEAL_ENOENT);
		for (i = 0; i < KERNELS; i++) {
			CHECK_OK(peal_actor_spawn_many(s.k[i], "guest", NULL,
						       ACTORS, actors));
			CHECK_OK(peal_actor_retire_many(s.rt, actors, ACTORS));
		}
	}
	close_fixture(&s);
}

PEAL_TEST(link_to_former_address_blocks_retire)
{
	struct peal_link *link;
	struct fixture s;

	open_fixture(&s);
	s.guest = spawn(s.k[0], "guest", 0);
	link = harness_from(s.rt, s.e, BY_LINK, s.guest, plain);
	CHECK_OK(move_to(&s, s.guest, 1, 0, 0));
	CHECK_EQ(peal_actor_retire(s.rt, s.newest), PEAL_EBUSY);
	send_note(&s, BY_LINK);
	CHECK_EQ(settle(&s, s.guest, 1).notes, 1);
	CHECK_OK(peal_link_destroy(link));
	CHECK_OK(peal_actor_retire(s.rt, s.guest));
	close_fixture(&s);
}

PEAL_TEST(messages_to_actor_of_ended_kernel_are_counted)
{
	struct peal_link *link[1] = { NULL };
	struct peal_link_info info;
	struct peal_link *all[8];
	struct peal_kernel_info k;
	struct fixture s;
	int n, i, fwd_links = 0;

	open_full(&s);
	CHECK_OK(move_to(&s, s.guest, 1, 0, 0));
	send_note(&s, BY_TELL);
	CHECK_EQ(settle(&s, s.guest, 1).notes, 1);
	CHECK_OK(peal_kernel_stop(s.k[1], MAX_WAIT));
	n = peal_link_list(s.rt, all, 8);
	for (i = 0; i < n; i++) {
		CHECK_OK(peal_link_info(all[i], &info));
		if ((uint32_t)info.from != PEAL_FWD_LINK_ACTOR)
			continue;
		fwd_links++;
		link[0] = all[i];
	}
	CHECK_EQ(fwd_links, 1);
	send_note(&s, BY_TELL);
	EVENTUALLY(!peal_link_info(link[0], &info) && info.accepted == 2 &&
		   info.dead[PEAL_REASON_CLOSED] +
				   info.dead[PEAL_REASON_STOPPED] ==
			   1);
	/* also after the destruction of the kernel */
	CHECK_EQ(peal_kernel_destroy(s.k[1]), 0);
	send_note(&s, BY_TELL);
	EVENTUALLY(!peal_kernel_info(s.k[0], &k) && k.mailbox_dead == 1);
	CHECK_EQ(peal_actor_retire(s.rt, s.guest), PEAL_ENOENT);
	s.k[1] = s.k[0];
	close_fixture(&s);
}

/* ---- refusals ------------------------------------------------------------ */

static void expect_refused(struct fixture *s, uint64_t address, uint32_t worker,
			   uint64_t share_ports_with, int code,
			   const char *text)
{
	CHECK_EQ(move_to(s, address, 1, worker, share_ports_with), code);
	CHECK_CONTAINS(peal_last_error()->text, text);
}

PEAL_TEST(refused_kernel_migration_changes_nothing)
{
	struct peal_kernel_options o = { .size = sizeof(o),
					 .mailbox.slots = 16,
					 .lanes = lanes };
	struct peal_monitor_options m = { .size = sizeof(m) };
	struct peal_supervisor_options v = { .size = sizeof(v) };
	struct peal_supervisor *supervisor = NULL;
	struct peal_kernel *mine, *other = NULL, *bare = NULL;
	uint64_t owner, sharer, monitor;
	struct fixture s;

	open_full(&s);
	expect_refused(&s, s.guest, WORKERS, 0, PEAL_ENOENT,
		       "'worker': is of "
		       "no worker of kernel 'guest' (3, allowed 0..2)");
	owner = spawn(s.k[0], "porter", 0);
	sharer = spawn_with(s.k[0], "porter", 0, owner, NULL);
	expect_refused(&s, sharer, 0, 0, PEAL_EINVAL, "to an actor of its");
	expect_refused(&s, sharer, 0, owner, PEAL_ENOENT,
		       "'share_ports_with': "
		       "is of no actor of kernel 'guest'");
	expect_refused(&s, owner, 0, 0, PEAL_EBUSY, "shares the ports");
	CHECK_OK(peal_supervisor_create(s.k[0], &v, &supervisor));
	expect_refused(&s, spawn_with(s.k[0], "guest", 0, 0, supervisor), 0, 0,
		       PEAL_EINVAL, "is NULL, but actor");
	CHECK_OK(peal_monitor(s.k[0], peal_endpoint_address(s.e), s.guest, &m,
			      &monitor));
	expect_refused(&s, s.guest, 0, 0, PEAL_EEXIST, "is monitored");
	CHECK_EQ(s.newest, s.guest);
	CHECK_OK(peal_unmonitor(s.k[0], monitor));
	mine = s.k[1];
	CHECK_OK(peal_kernel_launch(s.rt, 1, &peal_program_pools, &o, &other));
	s.k[1] = other;
	expect_refused(&s, s.guest, 0, 0, PEAL_EINVAL,
		       "'pools': runs another "
		       "program than kernel 'guest' (pools, allowed 'guest')");
	o.mailbox.slots = 0;
	CHECK_OK(peal_kernel_launch(s.rt, 1, &peal_program_guest, &o, &bare));
	s.k[1] = bare;
	expect_refused(&s, s.guest, 0, 0, PEAL_ENOTSUP, "has no mailboxes");
	CHECK_OK(peal_kernel_stop(other, MAX_WAIT));
	CHECK_OK(peal_kernel_stop(bare, MAX_WAIT));
	expect_refused(&s, s.guest, 0, 0, PEAL_ESTOPPED, "has ended");
	s.k[1] = mine;
	send_note(&s, BY_TELL);
	CHECK_EQ(settle(&s, s.guest, 0).notes, 1);
	CHECK_OK(move_to(&s, s.guest, 1, 0, 0));
	send_note(&s, BY_TELL);
	CHECK_EQ(settle(&s, s.guest, 1).notes, 2);
	close_fixture(&s);
}

PEAL_TEST(full_target_kernel_is_named)
{
	uint64_t actors[ACTORS];
	struct fixture s;

	open_full(&s);
	CHECK_OK(peal_actor_spawn_many(s.k[1], "guest", NULL, ACTORS, actors));
	expect_refused(&s, s.guest, 0, 0, PEAL_ENOSPC, "max_actors are used");
	CHECK_OK(peal_actor_retire(s.rt, actors[3]));
	send_note(&s, BY_LINK);
	CHECK_OK(move_to(&s, s.guest, 1, 0, 0));
	CHECK_EQ(settle(&s, s.guest, 1).notes, 1);
	close_fixture(&s);
}

/* Opens the fixture. A handler holds worker 0 of kernel 0 until *s->gate is
 * set. */
static void open_hung(struct fixture *s)
{
	uint64_t holder, at;
	struct peal_worker_info info;

	open_fixture(s);
	s->gate = harness_gate(s->rt);
	at = harness_address(s->gate);
	/* makes the forwarding link while the worker still answers */
	CHECK_OK(move_to(s, spawn(s->k[0], "guest", 0), 1, 0, 0));
	s->guest = spawn(s->k[0], "guest", 0);
	harness_from(s->rt, s->e, BY_LINK, s->guest, plain);
	holder = harness_spawn(s->k[0], "lie", 0);
	harness_from(s->rt, s->e, SENDERS, holder, plain);
	CHECK_OK(peal_send(s->e, SENDERS, 0, &at, sizeof(at), MAX_WAIT, NULL));
	EVENTUALLY(!peal_worker_info(s->k[0], 0, &info) &&
		   info.actor == (int64_t)(uint32_t)holder);
	send_note(s, BY_LINK); /* the note waits behind the holder */
}

/*
 * Migrates the guest, which fails after `ms` ms. Returns 1 if worker 0 of
 * kernel 0 did not answer. On a busy machine the new worker may be late
 * instead.
 */
static int leaves_late(struct fixture *s, uint64_t ms)
{
	uint64_t kept = s->rt->control_timeout_ms;

	s->rt->control_timeout_ms = ms;
	expect_refused(s, s->guest, 1, 0, PEAL_EHUNG, "worker ");
	s->rt->control_timeout_ms = kept;
	return strstr(peal_last_error()->text, "worker 0 of kernel") != NULL;
}

/*
 * Starts a migration that worker 0 of kernel 0 does not answer in time. Then
 * lets this worker continue.
 */
static void leave_hung(struct fixture *s)
{
	uint64_t ms = SHORT_TIMEOUT_MS;

	for (open_hung(s); !leaves_late(s, ms); open_hung(s)) {
		ms *= 2;
		CHECK(ms < SHORT_TIMEOUT_MAX_MS);
		peal_store_release_sys(s->gate, 1);
		CHECK_OK(peal_runtime_shutdown(s->rt));
	}
	CHECK_EQ(s->newest, s->guest);
	CHECK_TIMES_OUT(s->rt, peal_actor_retire(s->rt, s->guest), PEAL_EHUNG,
			"worker 0 of kernel");
	peal_store_release_sys(s->gate, 1);
}

PEAL_TEST(timed_out_migration_leaves_actor_usable)
{
	struct fixture s;

	leave_hung(&s);
	/* the guest has arrived, or this call completes its migration */
	expect_refused(&s, s.guest, 1, 0, PEAL_EINVAL,
		       "has already (2, allowed ");
	CHECK(s.newest != s.guest);
	send_note(&s, BY_LINK);
	CHECK_EQ(settle(&s, s.guest, 1).notes, 2);
	CHECK_EQ(settle(&s, s.newest, 1).disorder, 0);
	close_fixture(&s);
}

PEAL_TEST(actor_of_timed_out_migration_can_be_retired)
{
	struct peal_link *all[8];
	uint64_t actors[ACTORS];
	struct fixture s;
	int i;

	leave_hung(&s);
	CHECK(peal_link_list(s.rt, all, 8) == 3);
	for (i = 0; i < 3; i++)
		if (harness_info(all[i]).to == s.guest)
			CHECK_OK(peal_link_destroy(all[i]));
	CHECK_OK(peal_actor_retire(s.rt, s.guest));
	CHECK_EQ(peal_actor_retire(s.rt, s.guest), PEAL_ENOENT);
	/*
	 * Kernel 1 has one more actor. Kernel 0 has its former actor slot and
	 * the holder.
	 */
	CHECK_OK(peal_actor_spawn_many(s.k[1], "guest", NULL, ACTORS - 1,
				       actors));
	CHECK_OK(peal_actor_spawn_many(s.k[0], "guest", NULL, ACTORS - 2,
				       actors));
	close_fixture(&s);
}

PEAL_TEST(target_kernel_may_end_after_migration_timeout)
{
	struct peal_kernel_info k;
	struct fixture s;

	leave_hung(&s);
	CHECK_OK(peal_kernel_stop(s.k[1], MAX_WAIT));
	CHECK_OK(peal_kernel_destroy(s.k[1]));
	send_note(&s, BY_LINK);
	CHECK_EQ(peal_actor_retire(s.rt, s.guest), PEAL_ENOENT);
	CHECK_OK(peal_kernel_info(s.k[0], &k));
	CHECK_EQ(k.actors, 1);
	s.k[1] = s.k[0];
	close_fixture(&s);
}

PEAL_TEST_MAIN(RUN_LANES(migration_between_devices_loses_nothing);
	       RUN(forwarding_links_do_not_pin_the_first_actor);
	       RUN_LANES(forwarded_messages_wait_for_free_slots);
	       RUN_LANES(kernels_drain_one_after_another);
	       RUN_LANES(kernel_drains_while_forwarding_kernel_runs);
	       RUN_LANES(all_addresses_resolve_to_the_new_kernel);
	       RUN_LANES(requests_follow_actor_to_another_kernel);
	       RUN_LANES(asks_are_not_forwarded_to_another_kernel);
	       RUN_LANES(end_of_migrated_actor_frees_slots_in_all_kernels);
	       RUN_LANES(link_to_former_address_blocks_retire);
	       RUN_LANES(messages_to_actor_of_ended_kernel_are_counted);
	       RUN_LANES(refused_kernel_migration_changes_nothing);
	       RUN_LANES(full_target_kernel_is_named);
	       RUN(timed_out_migration_leaves_actor_usable);
	       RUN(actor_of_timed_out_migration_can_be_retired);
	       RUN(target_kernel_may_end_after_migration_timeout);)
