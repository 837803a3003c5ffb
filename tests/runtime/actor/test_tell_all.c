/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages to all actors of a kernel, by the host and by handlers. Each actor
 * gets each message once and in order. The cases spawn, retire and migrate
 * actors meanwhile. They fill mailboxes, let handlers fail, and drain kernels.
 */
#include <stdatomic.h>

#include <peal/migration.h>
#include "runtime/both_lanes.h"
#include "runtime/crowd.h"

PEAL_DECLARE_PROGRAM(crowd);

#define CALL "peal_kernel_tell_all"
#define WORKERS 3
#define MANY (IDENTITY_SANITIZED || test_on_gpu() ? 1000u : 5000u)
#define ACTORS_MAX 5000
#define BY_HOST 3 /* the sender of the host's notes */
#define NOTES 40

struct fixture {
	struct peal_runtime *rt;
	struct peal_endpoint *e;
	struct peal_kernel *k;
	uint64_t actor[ACTORS_MAX];
	uint32_t n;
	uint64_t told; /* notes of the host, successful or accepted */
	uint64_t *gate; /* 1 opens the gate of worker 1 */
};

static const struct peal_link_options plain = { .capacity = 0 };

static struct fixture *open_with(struct peal_kernel_options o)
{
	struct fixture *s = calloc(1, sizeof(*s));

	CHECK(s);
	o.size = sizeof(o);
	o.lanes = lanes;
	s->rt = harness_open(1, "");
	s->e = harness_endpoint(s->rt);
	CHECK_OK(peal_kernel_launch(s->rt, 0, &peal_program_crowd, &o, &s->k));
	return s;
}

static struct fixture *open_fixture(uint32_t workers, uint32_t slots)
{
	struct peal_kernel_options o = { .workers = workers,
					 .mailbox.slots = slots };

	return open_with(o);
}

static uint64_t spawn(struct fixture *s, const char *handler, uint32_t worker,
		      struct crowd_member init)
{
	struct peal_actor_options o = { .size = sizeof(o),
					.worker = PEAL_WORKER(worker),
					.init = &init,
					.init_bytes = sizeof(init) };

	CHECK_OK(peal_actor_spawn(s->k, handler, &o, &s->actor[s->n]));
	return s->actor[s->n++];
}

/* Spawns n actors in turn at all workers. */
static void spawn_each(struct fixture *s, const char *handler, uint32_t n,
		       uint32_t workers)
{
	struct crowd_member init = { 0 };
	uint32_t i;

	for (i = 0; i < n; i++) {
		init.id = i;
		spawn(s, handler, i % workers, init);
	}
}

/* Tells all actors the host's next note. Returns the result. */
static int tell(struct fixture *s, uint64_t fails, int64_t timeout_ns,
		uint64_t *told)
{
	struct crowd_note n = { BY_HOST, s->told, fails, 0 };
	int result = peal_kernel_tell_all(s->k, CROWD_NOTE, &n, sizeof(n),
					  timeout_ns, told);

	s->told += !result;
	return result;
}

/* Reads a state. The kernel is suspended, or has ended. */
static struct crowd_member read_state(struct fixture *s, uint64_t actor)
{
	struct crowd_member m;

	CHECK_OK(peal_actor_state(s->rt, actor, &m, sizeof(m)));
	return m;
}

static struct crowd_member state_of(struct fixture *s, uint64_t actor)
{
	struct crowd_member m;

	CHECK_OK(peal_kernel_suspend(s->k, MAX_WAIT));
	m = read_state(s, actor);
	CHECK_OK(peal_kernel_resume(s->k));
	return m;
}

static void check_seen(struct fixture *s, uint64_t seen)
{
	struct crowd_member m;
	uint32_t i;

	for (i = 0; i < s->n; i++) {
		m = read_state(s, s->actor[i]);
		CHECK_EQ(m.seen, seen);
		CHECK_EQ(m.disorder, 0);
	}
}

/* Suspends the kernel after all told messages are done. */
static void check_quiet(struct fixture *s)
{
	struct peal_kernel_info info;

	EVENTUALLY(!peal_kernel_info(s->k, &info) &&
		   info.mailbox_sends == info.mailbox_done);
	CHECK_OK(peal_kernel_suspend(s->k, MAX_WAIT));
}

/* Checks, after check_quiet, that each actor has seen so many notes in order.
 */
static void check_all(struct fixture *s, uint64_t seen)
{
	check_quiet(s);
	check_seen(s, seen);
	CHECK_OK(peal_kernel_resume(s->k));
}

static void close_fixture(struct fixture *s)
{
	harness_conserved(s->rt);
	CHECK_OK(peal_runtime_shutdown(s->rt));
	free(s);
}

/* Makes a caller tell a note. `at`: port of the endpoint, and sender. */
static void call(struct fixture *s, uint32_t at, uint16_t type, uint64_t number,
		 uint64_t to)
{
	struct crowd_note n = { at, number, 0, to };

	CHECK_OK(peal_send(s->e, at, type, &n, sizeof(n), MAX_WAIT, NULL));
}

static uint64_t spawn_caller(struct fixture *s, uint32_t at, uint32_t worker)
{
	struct crowd_member init = { .id = 1000 + at };
	uint64_t actor = spawn(s, "caller", worker, init);

	harness_from(s->rt, s->e, at, actor, plain);
	return actor;
}

/* Keeps worker 1 in a handler until *s->gate is set. */
static void close_gate(struct fixture *s)
{
	struct crowd_member init = { .id = 2000 };
	uint64_t holder = spawn(s, "hold", 1, init);
	struct peal_worker_info info;
	uint64_t word;

	s->gate = harness_gate(s->rt);
	word = harness_address(s->gate);
	harness_from(s->rt, s->e, 9, holder, plain);
	CHECK_OK(peal_send(s->e, 9, 0, &word, sizeof(word), MAX_WAIT, NULL));
	EVENTUALLY(!peal_worker_info(s->k, 1, &info) &&
		   info.actor == (int64_t)(uint32_t)holder);
}

static void open_gate(struct fixture *s)
{
	peal_store_release_sys(s->gate, 1);
}

/* ---- each actor once ------------------------------------------------------- */

PEAL_TEST(each_of_many_actors_gets_each_message_once)
{
	struct peal_kernel_options o = { .workers = WORKERS,
					 .max_actors = ACTORS_MAX,
					 .mailbox.slots = 16,
					 .arena_bytes = 1 << 20 };
	struct peal_actor_options many = { .size = sizeof(many) };
	struct fixture *s = open_with(o);
	uint64_t told = 0;
	int i;

	CHECK_EQ(tell(s, 0, MAX_WAIT, &told), 0);
	CHECK_EQ(told, 0);
	s->n = MANY;
	CHECK_OK(peal_actor_spawn_many(s->k, "member", &many, s->n, s->actor));
	for (i = 0; i < 3; i++) {
		CHECK_OK(tell(s, 0, MAX_WAIT, &told));
		CHECK_EQ(told, MANY);
	}
	check_all(s, 3);
	close_fixture(s);
}

PEAL_TEST(handlers_of_several_workers_tell_all)
{
	struct fixture *s = open_fixture(WORKERS, 64);
	uint64_t i;

	spawn_each(s, "member", 20, WORKERS);
	spawn_caller(s, 0, 0);
	spawn_caller(s, 1, 2);
	for (i = 0; i < NOTES; i++) {
		call(s, 0, CROWD_CALL, i, 0);
		call(s, 1, CROWD_CALL, i, 0);
		CHECK_OK(tell(s, 0, MAX_WAIT, NULL));
	}
	harness_conserved(s->rt);
	check_all(s, 3 * NOTES);
	close_fixture(s);
}

PEAL_TEST(message_to_one_actor_stays_behind_the_message_to_all)
{
	struct fixture *s = open_fixture(WORKERS, 64);
	struct crowd_member m;
	uint64_t to, i;

	spawn_each(s, "member", 10, WORKERS);
	to = s->actor[--s->n];
	spawn_caller(s, 0, 1);
	for (i = 0; i < NOTES; i++)
		call(s, 0, CROWD_CALL_TWICE, 2 * i, (uint32_t)to);
	harness_conserved(s->rt);
	check_all(s, NOTES);
	m = state_of(s, to);
	CHECK_EQ(m.seen, 2 * NOTES);
	CHECK_EQ(m.disorder, 0);
	close_fixture(s);
}

PEAL_TEST(message_of_high_priority_reaches_all)
{
	struct peal_kernel_options o = { .workers = WORKERS,
					 .mailbox.slots = 64,
					 .mailbox.priority = 1 };
	struct fixture *s = open_with(o);
	uint64_t i;

	spawn_each(s, "member", 10, WORKERS);
	spawn_caller(s, 0, 0);
	spawn_caller(s, 1, 0);
	for (i = 0; i < NOTES; i++) {
		call(s, 0, CROWD_CALL_HIGH, i, 0);
		call(s, 1, CROWD_CALL, i, 0);
	}
	harness_conserved(s->rt);
	check_all(s, 2 * NOTES);
	close_fixture(s);
}

PEAL_TEST(init_hook_precedes_the_message_to_all)
{
	struct fixture *s = open_fixture(WORKERS, 16);
	uint64_t told;

	spawn_each(s, "hooked", 30, WORKERS);
	CHECK_OK(tell(s, 0, MAX_WAIT, &told));
	CHECK_EQ(told, 30);
	check_all(s, 1);
	close_fixture(s);
}

/* ---- actors that come and go ----------------------------------------------- */

/* A thread in which the host tells all actors notes until `stop` is set. */
struct loud {
	struct fixture *s;
	atomic_int stop;
	pthread_t thread;
};

static void *loud_run(void *argument)
{
	struct loud *l = (struct loud *)argument;
	uint64_t told;

	do {
		CHECK_OK(tell(l->s, 0, MAX_WAIT, &told));
		CHECK(told >= l->s->n);
	} while (!atomic_load(&l->stop));
	return NULL;
}

static void loud_begin(struct loud *l, struct fixture *s)
{
	l->s = s;
	atomic_store(&l->stop, 0);
	CHECK(!pthread_create(&l->thread, NULL, loud_run, l));
}

static void loud_end(struct loud *l)
{
	atomic_store(&l->stop, 1);
	CHECK(!pthread_join(l->thread, NULL));
}

PEAL_TEST(actors_are_spawned_and_retired_meanwhile)
{
	struct fixture *s = open_fixture(WORKERS, 32);
	struct crowd_member init = { 0 };
	uint64_t guest[4];
	struct loud l;
	uint32_t i;

	spawn_each(s, "member", 20, WORKERS);
	loud_begin(&l, s);
	for (i = 0; i < 60; i++) {
		struct peal_actor_options o = { .size = sizeof(o),
						.worker = PEAL_WORKER(i %
								      WORKERS),
						.init = &init,
						.init_bytes = sizeof(init) };

		if (i >= 4)
			CHECK_OK(peal_actor_retire(s->rt, guest[i % 4]));
		CHECK_OK(peal_actor_spawn(s->k, "member", &o, &guest[i % 4]));
	}
	loud_end(&l);
	check_all(s, s->told);
	for (i = 0; i < 4; i++) {
		CHECK(state_of(s, guest[i]).seen <= s->told);
		CHECK_EQ(state_of(s, guest[i]).disorder, 0);
	}
	close_fixture(s);
}

/* Moves an actor to another worker. Its moves may have to wait. */
static void migrate(struct fixture *s, uint32_t i, uint32_t worker)
{
	struct peal_migration_options o = { .size = sizeof(o),
					    .worker = PEAL_WORKER(worker) };

	CHECK_OK(peal_actor_migrate(s->rt, s->actor[i], &o, &s->actor[i]));
}

static uint64_t sum_below(uint64_t n)
{
	return n * (n - 1) / 2;
}

/* Each actor moves again and again, while the host and handlers tell all. A
 * moving actor may get the notes in another order. */
PEAL_TEST(migrating_actors_get_each_message_once)
{
	struct peal_kernel_options o = { .workers = WORKERS,
					 .max_actors = 512,
					 .mailbox.slots = 64 };
	struct fixture *s = open_with(o);
	const uint32_t movers = 12;
	struct crowd_member m;
	uint64_t number = 0;
	struct loud l;
	uint32_t i;

	spawn_each(s, "member", movers, WORKERS);
	spawn_caller(s, 0, 0);
	loud_begin(&l, s);
	for (i = 0; i < (IDENTITY_SANITIZED ? 48 : 240); i++) {
		call(s, 0, CROWD_CALL, number++, 0);
		migrate(s, i % movers, (i % movers + i / movers + 1) % WORKERS);
	}
	loud_end(&l);
	harness_conserved(s->rt);
	check_quiet(s);
	for (i = 0; i < s->n; i++) {
		m = read_state(s, s->actor[i]);
		CHECK_EQ(m.seen, s->told + number);
		CHECK_EQ(m.sum, sum_below(s->told) + sum_below(number));
	}
	close_fixture(s);
}

/* ---- full queues ----------------------------------------------------------- */

/* Worker 1 is in a handler. Its mailbox gets messages until no slot is free. */
PEAL_TEST(full_mailbox_refuses_the_message_for_all)
{
	struct fixture *s = open_fixture(WORKERS, 32);
	uint64_t told;

	spawn_each(s, "member", 9, WORKERS);
	close_gate(s);
	EVENTUALLY(tell(s, 0, 0, NULL) == PEAL_EAGAIN);
	CHECK_CONTAINS(peal_last_error()->text, "no actor gets the message");
	CHECK(s->told > 0 && s->told < 32);
	open_gate(s);
	CHECK_OK(tell(s, 0, MAX_WAIT, &told));
	CHECK_EQ(told, 10);
	check_all(s, s->told);
	close_fixture(s);
}

/* All members tell one actor each message, with few slots for all. The actor's
 * worker has to take these messages before its own round is over. A member may
 * get the notes in another order then. */
PEAL_TEST(handlers_of_the_message_tell_through_full_mailboxes)
{
	struct fixture *s = open_fixture(WORKERS, 16);
	struct crowd_member init = { 0 }, m;
	const uint32_t members = 60;
	uint64_t heap = spawn(s, "heap", 1, init), told;
	uint32_t i;

	s->n = 0;
	init.to = (uint32_t)heap;
	for (i = 0; i < members; i++)
		spawn(s, "chatter", i % WORKERS, init);
	for (i = 0; i < NOTES; i++)
		CHECK_OK(tell(s, 0, MAX_WAIT, i % 4 ? NULL : &told));
	CHECK_EQ(told, members + 1);
	check_quiet(s);
	CHECK_EQ(read_state(s, heap).seen, (members + 1) * NOTES);
	for (i = 0; i < members; i++) {
		m = read_state(s, s->actor[i]);
		CHECK_EQ(m.seen, NOTES);
		CHECK_EQ(m.sum, sum_below(NOTES));
	}
	close_fixture(s);
}

/* An actor without a link at its port gets no message. The call reports that
 * it waits, and the other workers go on. */
PEAL_TEST(message_waits_for_the_port_of_an_actor)
{
	struct fixture *s = open_fixture(WORKERS, 32);
	struct peal_link_options o = { .capacity = 64 };
	struct crowd_note n;
	struct peal_received r;
	uint64_t told = 7;
	int i;

	spawn_each(s, "member", 9, WORKERS);
	spawn_each(s, "echo", 1, WORKERS);
	CHECK_FAILS(tell(s, 0, 50 * MS, &told), PEAL_ETIMEDOUT,
		    "not all actors of worker 0 have handled the message");
	CHECK_EQ(told, 7);
	s->told++;
	CHECK_OK(tell(s, 0, MAX_WAIT, NULL));
	harness_to(s->rt, s->actor[9], s->e, o);
	CHECK_OK(tell(s, 0, MAX_WAIT, &told));
	CHECK_EQ(told, 10);
	for (i = 0; i < 3; i++)
		CHECK_OK(peal_receive(s->e, &n, sizeof(n), &r, MAX_WAIT));
	check_all(s, 3);
	close_fixture(s);
}

/* ---- failures -------------------------------------------------------------- */

/* A member that fails restarts, and the others get the message. */
PEAL_TEST(failing_member_restarts_and_the_others_go_on)
{
	struct peal_kernel_options o = { .workers = WORKERS,
					 .mailbox.slots = 32,
					 .max_supervisors = 1 };
	struct peal_supervisor_options of = { .size = sizeof(of),
					      .max_restarts = 5 };
	struct fixture *s = open_with(o);
	struct peal_actor_options a = { .size = sizeof(a),
					.worker = PEAL_WORKER(1) };
	struct crowd_member init = { .id = 500 };
	struct peal_kernel_info info;
	uint64_t fragile, told;

	spawn_each(s, "member", 9, WORKERS);
	CHECK_OK(peal_supervisor_create(s->k, &of, &a.supervisor));
	a.init = &init;
	a.init_bytes = sizeof(init);
	CHECK_OK(peal_actor_spawn(s->k, "member", &a, &fragile));
	CHECK_OK(tell(s, 0, MAX_WAIT, &told));
	CHECK_OK(tell(s, 501, MAX_WAIT, &told));
	CHECK_EQ(told, 10);
	CHECK_OK(tell(s, 0, MAX_WAIT, &told));
	CHECK_EQ(told, 10);
	check_all(s, 3);
	CHECK_EQ(state_of(s, fragile).seen, 1); /* since its restart */
	CHECK_OK(peal_kernel_info(s->k, &info));
	CHECK_EQ(info.failed, 1);
	CHECK_EQ(info.mailbox_dead, 1);
	close_fixture(s);
}

/* The dead letter of a failure names the actor that failed. */
PEAL_TEST(dead_letter_names_the_failing_member)
{
	struct fixture *s = open_fixture(1, 32);
	struct peal_link_options o = { .capacity = 16, .message_bytes = 128 };
	uint8_t data[128];
	const struct peal_dead_letter *letter =
		(const struct peal_dead_letter *)(const void *)data;
	struct peal_received r;
	uint64_t told;

	spawn_each(s, "member", 5, 1);
	o.size = sizeof(o);
	CHECK_OK(peal_dead_letter_connect(s->k, peal_endpoint_address(s->e),
					  &o));
	CHECK_OK(tell(s, 1 + 3, MAX_WAIT, &told));
	CHECK_EQ(told, 5);
	CHECK_OK(peal_receive(s->e, data, sizeof(data), &r, MAX_WAIT));
	CHECK_EQ(letter->to, s->actor[3]);
	CHECK_EQ(letter->reason, PEAL_REASON_HANDLER);
	CHECK_EQ(letter->length, sizeof(struct crowd_note));
	check_all(s, 1);
	close_fixture(s);
}

/* An actor that has ended by a failure is not told any more. */
PEAL_TEST(ended_actor_is_not_told)
{
	struct peal_kernel_options o = { .workers = WORKERS,
					 .mailbox.slots = 32,
					 .on_failure = PEAL_FAILURE_END };
	struct fixture *s = open_with(o);
	uint64_t told;

	spawn_each(s, "member", 9, WORKERS);
	CHECK_OK(tell(s, 1 + 8, MAX_WAIT, &told));
	CHECK_EQ(told, 9);
	CHECK_OK(tell(s, 0, MAX_WAIT, &told));
	CHECK_EQ(told, 8);
	s->n--;
	check_all(s, 2);
	close_fixture(s);
}

/* ---- the end of the kernel ------------------------------------------------- */

/* A drain waits until all actors have the messages that were accepted. */
PEAL_TEST(drain_completes_messages_to_all)
{
	struct fixture *s = open_fixture(WORKERS, 64);
	uint64_t i;

	spawn_each(s, "member", 9, WORKERS);
	spawn_caller(s, 0, 0);
	close_gate(s);
	for (i = 0; i < 3; i++) {
		CHECK_OK(tell(s, 0, MAX_WAIT, NULL));
		call(s, 0, CROWD_CALL, i, 0);
	}
	CHECK_OK(peal_send_end(s->e, 0, MAX_WAIT));
	CHECK_OK(peal_send_end(s->e, 9, MAX_WAIT));
	CHECK_OK(peal_kernel_drain(s->k, 0));
	CHECK_FAILS(tell(s, 0, MAX_WAIT, NULL), PEAL_ESTOPPED, "ends");
	open_gate(s);
	CHECK_OK(peal_kernel_wait(s->k, MAX_WAIT));
	check_seen(s, 6);
	CHECK_FAILS(tell(s, 0, MAX_WAIT, NULL), PEAL_ESTOPPED, "ends");
	close_fixture(s);
}

/* A stop ends a call that waits for the actors. */
PEAL_TEST(stop_ends_a_waiting_call)
{
	struct fixture *s = open_fixture(WORKERS, 64);
	struct peal_kernel_info info;
	uint64_t told;

	spawn_each(s, "echo", 3, WORKERS);
	CHECK_FAILS(tell(s, 0, 50 * MS, &told), PEAL_ETIMEDOUT,
		    "the others get it later");
	CHECK_OK(peal_kernel_stop(s->k, MAX_WAIT));
	CHECK_FAILS(tell(s, 0, MAX_WAIT, &told), PEAL_ESTOPPED, "ends");
	CHECK_OK(peal_kernel_info(s->k, &info));
	CHECK_EQ(info.mailbox_sends - info.mailbox_done, WORKERS);
	close_fixture(s);
}

/* ---- refused calls --------------------------------------------------------- */

PEAL_TEST(bad_arguments_of_the_host_are_refused)
{
	struct peal_kernel_options o = { .workers = WORKERS,
					 .mailbox.slots = 64 };
	struct peal_runtime *rt = harness_open(1, "");
	struct peal_kernel *k = harness_launch_with(rt, 0, o), *bare, *small;
	uint8_t data[64] = { 0 };

	o.mailbox.slots = 0;
	bare = harness_launch_with(rt, 0, o);
	o.mailbox.slots = 16;
	o.workers = 8;
	small = harness_launch_with(rt, 0, o);
	CHECK_FAILS(peal_kernel_tell_all(NULL, 0, NULL, 0, 0, NULL),
		    PEAL_EINVAL, "'kernel': is NULL");
	CHECK_FAILS(peal_kernel_tell_all(k, 0, NULL, 1, 0, NULL), PEAL_EINVAL,
		    "'data': is NULL");
	CHECK_FAILS(peal_kernel_tell_all(k, 0, data, 41, 0, NULL),
		    PEAL_EMSGSIZE,
		    "'relay': takes no payload of this length by its mailboxes "
		    "(41, allowed 0..40)");
	CHECK_FAILS(peal_kernel_tell_all(bare, 0, data, 1, 0, NULL),
		    PEAL_ENOTSUP, "set mailbox.slots");
	CHECK_FAILS(peal_kernel_tell_all(small, 0, data, 1, 0, NULL),
		    PEAL_ENOSPC,
		    "'relay': has too few free mailbox slots for "
		    "its workers (6, allowed 8..16)");
	CHECK_OK(peal_kernel_tell_all(k, 0, data, 40, MAX_WAIT, NULL));
	CHECK_OK(peal_kernel_tell_all(k, 0, NULL, 0, MAX_WAIT, NULL));
	CHECK_OK(peal_runtime_shutdown(rt));
}

static int64_t result_of(struct fixture *s, uint64_t actor, uint32_t at,
			 uint16_t type)
{
	call(s, at, type, 0, 0);
	harness_conserved(s->rt);
	return state_of(s, actor).result;
}

PEAL_TEST(bad_arguments_of_handlers_are_refused)
{
	struct fixture *s = open_fixture(WORKERS, 64);
	struct crowd_member init = { 0 };
	uint64_t caller = spawn_caller(s, 0, 0);
	uint64_t poser = spawn(s, "poser", 1, init);

	harness_from(s->rt, s->e, 1, poser, plain);
	CHECK_EQ(result_of(s, caller, 0, CROWD_TOO_LONG), PEAL_EMSGSIZE);
	CHECK_EQ(result_of(s, caller, 0, CROWD_BAD_OPTION), PEAL_EINVAL);
	if (!test_on_gpu())
		CHECK_EQ(result_of(s, poser, 1, CROWD_CALL), PEAL_EAGAIN);
	check_all(s, 0);
	if (!test_on_gpu()) {
		CHECK_EQ(result_of(s, caller, 0, CROWD_TOO_OFTEN), PEAL_EAGAIN);
		check_all(s, 1);
	}
	close_fixture(s);
}

PEAL_TEST(kernel_without_slots_for_its_callers_is_refused)
{
	struct peal_kernel_options o = { .size = sizeof(o),
					 .workers = 8,
					 .mailbox.slots = 16 };
	struct peal_runtime *rt = harness_open(1, "");
	struct peal_kernel *k;

	CHECK_FAILS(peal_kernel_launch(rt, 0, &peal_program_crowd, &o, &k),
		    PEAL_EINVAL,
		    "'mailbox.slots': is too small for 8 workers "
		    "with 9 messages at a time, and 0 for timers and "
		    "monitors (16, allowed 32..1048576)");
	CHECK_OK(peal_runtime_shutdown(rt));
}

PEAL_TEST_MAIN(RUN_LANES(each_of_many_actors_gets_each_message_once);
	       RUN_LANES(handlers_of_several_workers_tell_all);
	       RUN_LANES(message_to_one_actor_stays_behind_the_message_to_all);
	       RUN(message_of_high_priority_reaches_all);
	       RUN_LANES(init_hook_precedes_the_message_to_all);
	       RUN_LANES(actors_are_spawned_and_retired_meanwhile);
	       RUN_LANES(migrating_actors_get_each_message_once);
	       RUN_LANES(full_mailbox_refuses_the_message_for_all);
	       RUN_LANES(handlers_of_the_message_tell_through_full_mailboxes);
	       RUN(message_waits_for_the_port_of_an_actor);
	       RUN_LANES(failing_member_restarts_and_the_others_go_on);
	       RUN(dead_letter_names_the_failing_member);
	       RUN(ended_actor_is_not_told);
	       RUN_LANES(drain_completes_messages_to_all);
	       RUN(stop_ends_a_waiting_call);
	       RUN(bad_arguments_of_the_host_are_refused);
	       RUN(bad_arguments_of_handlers_are_refused);
	       RUN(kernel_without_slots_for_its_callers_is_refused);)
