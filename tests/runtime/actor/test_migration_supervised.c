/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shows that supervised actors migrate to other kernels, where other
 * supervisors restart them.
 */

#include <peal/migration.h>
#include <peal/supervisor.h>
#include "runtime/both_lanes.h"
#include "runtime/guest.h"
#include "runtime/short_timeout.h"

PEAL_DECLARE_PROGRAM(guest);

#define KERNELS 2
#define ACTORS 8
#define STATE ((sizeof(struct guest) + 15) / 16 * 16)
#define ID 0x1d1d1d1dULL

/* Guests. Also the host's ports to them. */
enum member { FIRST, OTHER, NATIVE, GUESTS };

struct fixture {
	struct peal_runtime *rt;
	struct peal_endpoint *e;
	struct peal_kernel *k[KERNELS];
	struct peal_supervisor *s[KERNELS];
	uint64_t guest[GUESTS];
	uint64_t sent[GUESTS];
};

static uint64_t spawn(struct fixture *w, enum member member, int kernel)
{
	struct guest init = { .id = ID + member };
	struct peal_actor_options o = { .size = sizeof(o),
					.worker = PEAL_WORKER(member % 2),
					.init = &init,
					.init_bytes = sizeof(init),
					.supervisor = w->s[kernel] };

	CHECK_OK(
		peal_actor_spawn(w->k[kernel], "guest", &o, &w->guest[member]));
	harness_from(w->rt, w->e, member, w->guest[member],
		     (struct peal_link_options){ .capacity = 0 });
	return w->guest[member];
}

/* Two guests in kernel 0, one in kernel 1, each kernel with a supervisor. */
static void open_fixture(struct fixture *w, uint32_t strategy,
			 uint32_t restarts)
{
	struct peal_kernel_options o = { .size = sizeof(o),
					 .workers = 2,
					 .lanes = lanes,
					 .max_actors = ACTORS,
					 .arena_bytes = ACTORS * STATE,
					 .mailbox.slots = 16,
					 .max_supervisors = 2 };
	struct peal_supervisor_options so = { .size = sizeof(so),
					      .strategy = strategy,
					      .max_restarts = restarts };
	int i;

	memset(w, 0, sizeof(*w));
	w->rt = harness_open(2, "");
	w->e = harness_endpoint(w->rt);
	for (i = 0; i < KERNELS; i++) {
		CHECK_OK(peal_kernel_launch(w->rt, i, &peal_program_guest, &o,
					    &w->k[i]));
		CHECK_OK(peal_supervisor_create(w->k[i], &so, &w->s[i]));
	}
	spawn(w, FIRST, 0);
	spawn(w, OTHER, 0);
	spawn(w, NATIVE, 1);
}

static void close_fixture(struct fixture *w)
{
	int i;

	for (i = 0; i < KERNELS; i++)
		CHECK_OK(peal_kernel_stop(w->k[i], MAX_WAIT));
	harness_conserved(w->rt);
	CHECK_OK(peal_runtime_shutdown(w->rt));
}

static void send_type(struct fixture *w, enum member member, uint16_t type)
{
	struct guest_note n = { .sender = 0, .number = w->sent[member]++ };

	CHECK_OK(peal_send(w->e, member, type, &n, sizeof(n), MAX_WAIT, NULL));
}

static struct guest look_at(struct fixture *w, enum member member)
{
	struct guest g;
	int i;

	for (i = 0; i < KERNELS; i++)
		CHECK_OK(peal_kernel_suspend(w->k[i], MAX_WAIT));
	CHECK_OK(peal_actor_state(w->rt, w->guest[member], &g, sizeof(g)));
	for (i = 0; i < KERNELS; i++)
		CHECK_OK(peal_kernel_resume(w->k[i]));
	return g;
}

static int move_to(struct fixture *w, enum member member, int kernel,
		   struct peal_supervisor *supervisor)
{
	struct peal_migration_options o = { .size = sizeof(o),
					    .worker = PEAL_WORKER(member % 2),
					    .kernel = w->k[kernel],
					    .supervisor = supervisor };

	return peal_actor_migrate(w->rt, w->guest[member], &o, NULL);
}

static struct peal_supervisor_info of(struct peal_supervisor *s)
{
	struct peal_supervisor_info info;

	CHECK_OK(peal_supervisor_info(s, &info));
	return info;
}

/*
 * The new supervisor counts a failure of a migrated actor. The actor restarts
 * with the state it was spawned with, also after several migrations.
 */
PEAL_TEST(migrated_actor_restarts_with_its_spawn_state)
{
	struct fixture w;
	int i;

	open_fixture(&w, PEAL_ONE_FOR_ONE, 0);
	for (i = 1; i <= 3; i++) {
		send_type(&w, OTHER, GUEST_NOTE);
		EVENTUALLY(look_at(&w, OTHER).id == ID + OTHER &&
			   look_at(&w, OTHER).notes == 1);
		CHECK_OK(move_to(&w, OTHER, i % 2, w.s[i % 2]));
		CHECK_EQ(look_at(&w, OTHER).notes, 1);
		CHECK_EQ(of(w.s[0]).members, i % 2 ? 1 : 2);
		CHECK_EQ(of(w.s[1]).members, i % 2 ? 2 : 1);
		send_type(&w, OTHER, GUEST_FAIL);
		EVENTUALLY(look_at(&w, OTHER).id == ID + OTHER + 1);
		CHECK_EQ(of(w.s[i % 2]).failures, i / 2 + i % 2);
	}
	send_type(&w, OTHER, GUEST_NOTE);
	EVENTUALLY(look_at(&w, OTHER).id == ID + OTHER &&
		   look_at(&w, OTHER).notes == 1);
	CHECK_EQ(of(w.s[0]).restarted, 1);
	CHECK_EQ(of(w.s[1]).restarted, 2);
	CHECK_EQ(look_at(&w, FIRST).id, ID + FIRST);
	close_fixture(&w);
}

/*
 * A migrated actor restarts with the group of its new supervisor, also after a
 * migration within that kernel. It does not restart with its former group.
 */
PEAL_TEST(migrated_actor_restarts_with_its_new_group)
{
	struct peal_migration_options o = { .size = sizeof(o) };
	struct fixture w;
	int i;

	open_fixture(&w, PEAL_ONE_FOR_ALL, 10);
	CHECK_OK(move_to(&w, OTHER, 1, w.s[1]));
	for (i = 0; i < 3; i++) {
		send_type(&w, OTHER, GUEST_NOTE);
		EVENTUALLY(look_at(&w, OTHER).notes == 1);
		send_type(&w, FIRST, GUEST_FAIL);
		EVENTUALLY(of(w.s[0]).failures == (uint64_t)i + 1);
		send_type(&w, OTHER, GUEST_NOTE);
		EVENTUALLY(look_at(&w, OTHER).notes == 2);
		send_type(&w, NATIVE, GUEST_FAIL);
		EVENTUALLY(of(w.s[1]).failures == (uint64_t)i + 1);
		CHECK_OK(peal_actor_migrate(w.rt, w.guest[OTHER], &o, NULL));
	}
	send_type(&w, OTHER, GUEST_NOTE);
	EVENTUALLY(look_at(&w, OTHER).notes == 1);
	close_fixture(&w);
}

/* An actor that leaves with a mark for restart restarts in its new kernel. */
PEAL_TEST(pending_restart_happens_after_migration)
{
	struct fixture w;

	open_fixture(&w, PEAL_ONE_FOR_ALL, 0);
	send_type(&w, OTHER, GUEST_NOTE);
	EVENTUALLY(look_at(&w, OTHER).notes == 1);
	send_type(&w, FIRST, GUEST_FAIL);
	EVENTUALLY(of(w.s[0]).failures == 1);
	CHECK_OK(move_to(&w, OTHER, 1, w.s[1]));
	send_type(&w, OTHER, GUEST_NOTE);
	EVENTUALLY(of(w.s[1]).restarted == 1);
	EVENTUALLY(look_at(&w, OTHER).notes == 1);
	CHECK_EQ(of(w.s[1]).failures, 0);
	close_fixture(&w);
}

/*
 * An actor gets no messages after its new supervisor has given up. An actor
 * that its supervisor has given up cannot migrate.
 */
PEAL_TEST(messages_to_exhausted_supervisor_are_dead)
{
	struct peal_link_info info;
	struct peal_link *all[8];
	struct fixture w;
	int i;

	open_fixture(&w, PEAL_ONE_FOR_ONE, PEAL_RESTARTS_NONE);
	send_type(&w, NATIVE, GUEST_FAIL);
	EVENTUALLY(of(w.s[1]).exhausted);
	CHECK_OK(move_to(&w, OTHER, 1, w.s[1]));
	send_type(&w, OTHER, GUEST_NOTE);
	i = peal_link_list(w.rt, all, 8);
	while (i-- > 0) {
		CHECK_OK(peal_link_info(all[i], &info));
		if ((uint32_t)info.from == PEAL_FWD_LINK_ACTOR)
			break;
	}
	CHECK(i >= 0);
	EVENTUALLY(!peal_link_info(all[i], &info) &&
		   info.dead[PEAL_REASON_DOWN] == 1);
	CHECK_EQ(look_at(&w, OTHER).notes, 0);
	send_type(&w, FIRST, GUEST_FAIL);
	EVENTUALLY(of(w.s[0]).exhausted);
	CHECK_EQ(move_to(&w, FIRST, 1, w.s[1]), PEAL_ESTOPPED);
	CHECK_CONTAINS(peal_last_error()->text, "has failed and ended");
	CHECK_EQ(of(w.s[0]).members, 1);
	CHECK_EQ(of(w.s[1]).members, 2);
	close_fixture(&w);
}

PEAL_TEST(supervisor_of_other_kernel_is_refused)
{
	struct peal_migration_options o = { .size = sizeof(o) };
	struct peal_actor_options a = { .size = sizeof(a) };
	struct fixture w;
	uint64_t alone;

	open_fixture(&w, PEAL_ONE_FOR_ONE, 0);
	CHECK_EQ(move_to(&w, FIRST, 1, NULL), PEAL_EINVAL);
	CHECK_CONTAINS(peal_last_error()->text,
		       "option 'supervisor': is NULL, but actor ");
	CHECK_EQ(move_to(&w, FIRST, 1, w.s[0]), PEAL_EINVAL);
	CHECK_CONTAINS(peal_last_error()->text,
		       "supervisor: is not of kernel "
		       "'guest', which has the actor (guest, allowed 'guest')");
	o.supervisor = w.s[0];
	CHECK_EQ(peal_actor_migrate(w.rt, w.guest[FIRST], &o, NULL),
		 PEAL_EINVAL);
	CHECK_CONTAINS(peal_last_error()->text,
		       "stays there (an address, allowed NULL); use NULL");
	CHECK_OK(peal_actor_spawn(w.k[0], "guest", &a, &alone));
	o.supervisor = w.s[1];
	o.kernel = w.k[1];
	CHECK_EQ(peal_actor_migrate(w.rt, alone, &o, NULL), PEAL_EINVAL);
	CHECK_CONTAINS(peal_last_error()->text,
		       "has none (an address, allowed NULL); use NULL");
	/* the refused calls have left nothing behind */
	CHECK_EQ(of(w.s[1]).members, 1);
	CHECK_OK(peal_actor_retire(w.rt, alone));
	CHECK_OK(move_to(&w, FIRST, 1, w.s[1]));
	CHECK_EQ(of(w.s[1]).members, 2);
	close_fixture(&w);
}

/*
 * A worker learns late that an actor slot was meant for a supervised actor. It
 * must not treat the next actor in that slot as supervised.
 */
PEAL_TEST(stale_membership_does_not_supervise_reused_slot)
{
	struct peal_actor_options a = { .size = sizeof(a), .worker = 2 };
	uint64_t *open, at, holder;
	struct peal_worker_info info;
	struct fixture w;
	int i;

	open_fixture(&w, PEAL_ONE_FOR_ONE, 0);
	open = harness_gate(w.rt);
	at = harness_address(open);
	holder = harness_spawn(w.k[1], "lie", 1);
	harness_from(w.rt, w.e, GUESTS, holder,
		     (struct peal_link_options){ .capacity = 0 });
	CHECK_OK(peal_send(w.e, GUESTS, 0, &at, sizeof(at), MAX_WAIT, NULL));
	EVENTUALLY(!peal_worker_info(w.k[1], 1, &info) &&
		   info.actor == (int64_t)(uint32_t)holder);
	CHECK_TIMES_OUT(w.rt, move_to(&w, OTHER, 1, w.s[1]), PEAL_EHUNG,
			"worker 1 of kernel");
	CHECK_EQ(of(w.s[0]).members, 2);
	peal_store_release_sys(open, 1);
	EVENTUALLY(!peal_worker_info(w.k[1], 1, &info) && info.actor < 0);
	CHECK_EQ(of(w.s[1]).members, 1);
	/* an actor without a supervisor does not restart */
	for (i = 0; i < 3; i++) {
		CHECK_OK(peal_actor_spawn(w.k[1], "guest", &a,
					  &w.guest[NATIVE]));
		harness_from(w.rt, w.e, GUESTS + 1 + (uint32_t)i,
			     w.guest[NATIVE],
			     (struct peal_link_options){ .capacity = 0 });
		CHECK_OK(peal_send(w.e, GUESTS + 1 + (uint32_t)i, GUEST_FAIL,
				   NULL, 0, MAX_WAIT, NULL));
		CHECK_OK(peal_send(w.e, GUESTS + 1 + (uint32_t)i, GUEST_FAIL,
				   NULL, 0, MAX_WAIT, NULL));
		EVENTUALLY(look_at(&w, NATIVE).id == 2);
	}
	CHECK_EQ(of(w.s[1]).failures, 0);
	CHECK_OK(move_to(&w, OTHER, 1, w.s[1]));
	CHECK_EQ(of(w.s[1]).members, 2);
	close_fixture(&w);
}

/*
 * Each round must free all resources of the actor in both kernels. Otherwise 20
 * rounds would exhaust them.
 */
PEAL_TEST(end_of_migrated_actor_frees_its_initial_state)
{
	struct fixture w;
	struct peal_link *all[8];
	int i, n, turn;

	open_fixture(&w, PEAL_ONE_FOR_ONE, 0);
	for (turn = 0; turn < 20; turn++) {
		CHECK_OK(move_to(&w, OTHER, 1, w.s[1]));
		n = peal_link_list(w.rt, all, 8);
		for (i = 0; i < n; i++)
			if (harness_info(all[i]).from_port == OTHER &&
			    (uint32_t)harness_info(all[i]).from !=
				    PEAL_FWD_LINK_ACTOR)
				CHECK_OK(peal_link_destroy(all[i]));
		CHECK_OK(peal_actor_retire(w.rt, w.guest[OTHER]));
		CHECK_EQ(of(w.s[0]).members, 1);
		CHECK_EQ(of(w.s[1]).members, 1);
		spawn(&w, OTHER, 0);
	}
	CHECK_OK(move_to(&w, FIRST, 1, w.s[1]));
	CHECK_OK(move_to(&w, OTHER, 1, w.s[1]));
	CHECK_OK(peal_supervisor_destroy(w.s[0]));
	close_fixture(&w);
}

PEAL_TEST_MAIN(RUN_LANES(migrated_actor_restarts_with_its_spawn_state);
	       RUN_LANES(migrated_actor_restarts_with_its_new_group);
	       RUN_LANES(pending_restart_happens_after_migration);
	       RUN_LANES(messages_to_exhausted_supervisor_are_dead);
	       RUN(supervisor_of_other_kernel_is_refused);
	       RUN(stale_membership_does_not_supervise_reused_slot);
	       RUN(end_of_migrated_actor_frees_its_initial_state);)
