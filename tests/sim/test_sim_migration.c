/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shows that a migrating guest gets each note once, and those of each sender in
 * order. Notes come by links and by mailboxes. Supervised actors fail meanwhile,
 * and one of them migrates, too. All of them restart, once per failure.
 */

#include <peal/migration.h>
#include <peal/supervisor.h>
#include "runtime/guest.h"
#include "sim/seeds.h"

PEAL_DECLARE_PROGRAM(guest);

#define WORKERS 3
#define MOVES 10 /* at most */
#define NOTES 240 /* at most */
#define N_SUPERVISED 3

/* Sender 0 is the host by its link to the guest. Sender 1 is the host by its
 * link to herald 1. The others are the heralds, one on each worker. */
#define SENDERS (2 + WORKERS)

struct fixture {
	struct peal_runtime *rt;
	struct peal_kernel *k;
	struct peal_endpoint *e;
	struct peal_supervisor *supervisor;
	unsigned long long random;
	uint64_t guest, herald[WORKERS], supervised[N_SUPERVISED];
	uint64_t sent[SENDERS];
	uint32_t notes;
	uint32_t fails, failed; /* failures left, failures ordered */
	uint32_t at; /* worker of the guest */
	uint32_t supervised_at; /* worker of the last supervised actor */
};

static uint32_t draw(struct fixture *s, uint32_t n)
{
	return (uint32_t)(test_random(&s->random) >> 32) % n;
}

static uint64_t spawn(struct fixture *s, const char *handler, uint32_t worker,
		      const void *init, uint64_t bytes,
		      struct peal_supervisor *supervisor)
{
	struct peal_actor_options o = { .size = sizeof(o),
					.worker = PEAL_WORKER(worker),
					.init = init,
					.init_bytes = bytes,
					.supervisor = supervisor };
	uint64_t address = 0;

	CHECK_OK(peal_actor_spawn(s->k, handler, &o, &address));
	return address;
}

static void make_actors(struct fixture *s)
{
	struct peal_supervisor_options o = { .size = sizeof(o),
					     .strategy = PEAL_ONE_FOR_ALL,
					     .max_restarts =
						     PEAL_RESTARTS_MAX };
	struct guest init = { .id = 1 };
	struct peal_link_options l = { .capacity = 8 };
	struct herald herald;
	uint32_t i;

	CHECK_OK(peal_supervisor_create(s->k, &o, &s->supervisor));
	s->guest = spawn(s, "guest", 0, &init, sizeof(init), NULL);
	harness_from(s->rt, s->e, 0, s->guest, l);
	for (i = 0; i < WORKERS; i++) {
		herald.guest = (uint32_t)s->guest;
		herald.sender = 2 + i;
		herald.number = 0;
		s->herald[i] =
			spawn(s, "herald", i, &herald, sizeof(herald), NULL);
		harness_from(s->rt, s->e, 2 + i, s->herald[i], l);
	}
	harness_from(s->rt, s->e, 1, s->herald[1], l);
	for (i = 0; i < N_SUPERVISED; i++) {
		s->supervised[i] = spawn(s, "guest", i % WORKERS, &init,
					 sizeof(init), s->supervisor);
		harness_from(s->rt, s->e, SENDERS + i, s->supervised[i], l);
	}
	s->supervised_at = (N_SUPERVISED - 1) % WORKERS;
}

static void begin(struct fixture *s, uint64_t random)
{
	struct peal_kernel_options o = { .size = sizeof(o),
					 .workers = WORKERS,
					 .max_supervisors = 1,
					 .max_actors = 8 + 2 * MOVES };

	memset(s, 0, sizeof(*s));
	s->random = random;
	s->notes = 1 + draw(s, NOTES);
	s->fails = draw(s, 3);
	s->rt = harness_open(1, "");
	seeds_report_stalls(s->rt);
	s->e = harness_endpoint(s->rt);
	o.lanes = draw(s, 8) ? 1 : 3;
	o.mailbox.slots = 4u << draw(s, 4);
	CHECK_OK(peal_kernel_launch(s->rt, 0, &peal_program_guest, &o, &s->k));
	make_actors(s);
}

static void send(struct fixture *s, uint32_t port, uint64_t to, uint16_t type,
		 uint32_t sender)
{
	struct guest_note n = { .sender = sender, .number = s->sent[sender]++ };

	CHECK_OK(to ? peal_send_to(s->e, port, to, type, &n, sizeof(n),
				   MAX_WAIT, NULL) :
		      peal_send(s->e, port, type, &n, sizeof(n), MAX_WAIT,
				NULL));
}

/* Orders a supervised actor to fail, now and then. */
static void fail(struct fixture *s)
{
	struct guest_note n = { .sender = 0 };

	if (!s->fails || draw(s, 8))
		return;
	s->fails--;
	s->failed++;
	CHECK_OK(peal_send(s->e, SENDERS + draw(s, N_SUPERVISED), GUEST_FAIL,
			   &n, sizeof(n), MAX_WAIT, NULL));
}

static void *send_all(void *argument)
{
	struct fixture *s = (struct fixture *)argument;
	uint32_t i, sender;

	for (i = 0; i < s->notes; i++) {
		sender = draw(s, SENDERS);
		send(s, sender, sender == 1 ? s->guest : 0,
		     sender < 2 ? GUEST_NOTE : GUEST_TELL, sender);
		fail(s);
	}
	return NULL;
}

/* Migrates an actor from worker *at to another one. */
static void move(struct fixture *s, uint64_t actor, uint32_t *at)
{
	struct peal_migration_options o = { .size = sizeof(o) };

	*at = (*at + 1 + draw(s, WORKERS - 1)) % WORKERS;
	o.worker = 1 + *at;
	CHECK_OK(peal_actor_migrate(s->rt, actor, &o, NULL));
}

static void *move_all(void *argument)
{
	struct fixture *s = (struct fixture *)argument;
	uint32_t n = draw(s, MOVES + 1);

	while (n--) {
		identity_sleep_us(draw(s, 20));
		move(s, s->guest, &s->at);
		if (draw(s, 2))
			move(s, s->supervised[N_SUPERVISED - 1],
			     &s->supervised_at);
	}
	return NULL;
}

/* Waits until an actor has had this number of notes; returns its state. */
static struct guest await(struct fixture *s, uint64_t actor, uint64_t notes)
{
	uint64_t until = harness_now_ns() + MAX_WAIT;
	struct guest g;

	do {
		CHECK(harness_now_ns() < until);
		CHECK_OK(peal_kernel_suspend(s->k, MAX_WAIT));
		CHECK_OK(peal_actor_state(s->rt, actor, &g, sizeof(g)));
		CHECK_OK(peal_kernel_resume(s->k));
	} while (g.notes < notes);
	return g;
}

/*
 * Sends each supervised actor a last note. The actor restarts before it gets
 * that note.
 */
static void check_supervised(struct fixture *s)
{
	struct guest_note n = { .sender = 0 };
	struct peal_supervisor_info info;
	struct guest g;
	uint32_t i;

	for (i = 0; i < N_SUPERVISED; i++)
		CHECK_OK(peal_send(s->e, SENDERS + i, GUEST_NOTE, &n, sizeof(n),
				   MAX_WAIT, NULL));
	for (i = 0; i < N_SUPERVISED; i++) {
		g = await(s, s->supervised[i], 1);
		CHECK_EQ(g.id, 1);
		CHECK_EQ(g.notes, 1);
	}
	CHECK_OK(peal_supervisor_info(s->supervisor, &info));
	CHECK_EQ(info.members, N_SUPERVISED);
	CHECK(info.restarted <= N_SUPERVISED * info.failures);
	CHECK(info.restarted >= N_SUPERVISED * (info.failures != 0));
}

static void end(struct fixture *s)
{
	uint64_t sum = 0;
	struct peal_kernel_info k;
	struct guest g;
	uint32_t i;

	for (i = 0; i < SENDERS; i++)
		sum += s->sent[i];
	g = await(s, s->guest, sum);
	CHECK_EQ(g.notes, sum);
	CHECK_EQ(g.disorder, 0);
	for (i = 0; i < SENDERS; i++)
		CHECK_EQ(g.next[i], s->sent[i]);
	EVENTUALLY(!peal_kernel_info(s->k, &k) && k.failed == s->failed);
	await(s, s->guest, sum); /* the supervisor knows all failures then */
	check_supervised(s);
	CHECK_OK(peal_kernel_stop(s->k, MAX_WAIT));
	harness_conserved(s->rt);
	CHECK_OK(peal_kernel_info(s->k, &k));
	CHECK_EQ(k.mailbox_sends, k.mailbox_done);
	CHECK_OK(peal_runtime_shutdown(s->rt));
}

static void guests(uint64_t random)
{
	pthread_t thread[2];
	struct fixture s;
	uint32_t i;

	begin(&s, random);
	CHECK(!pthread_create(&thread[0], NULL, send_all, &s));
	CHECK(!pthread_create(&thread[1], NULL, move_all, &s));
	for (i = 0; i < 2; i++)
		CHECK(!pthread_join(thread[i], NULL));
	end(&s);
}

static const struct seeds_scenario moves = { .name = "moves",
					     .run = guests,
					     .least = 400 };

PEAL_TEST(migrating_actor_gets_each_note_once_in_order)
{
	seeds_run(&moves);
}

PEAL_TEST(note_forwarded_twice_is_caught)
{
	seeds_find(&moves, PEALI_FAULT_REDIRECT_TWICE);
}

PEAL_TEST(note_overtaking_by_a_shortcut_is_caught)
{
	seeds_find(&moves, PEALI_FAULT_OVERTAKES);
}

PEAL_TEST_MAIN(RUN(migrating_actor_gets_each_note_once_in_order);
	       RUN(note_forwarded_twice_is_caught);
	       RUN(note_overtaking_by_a_shortcut_is_caught);)
