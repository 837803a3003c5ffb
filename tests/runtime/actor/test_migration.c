/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Actors migrate between workers of a kernel while messages arrive for them.
 * Shows that each message arrives once, in order per sender, and that the state
 * is kept. All former addresses lead to the actor.
 */

#include <peal/migration.h>
#include <peal/monitor.h>
#include <peal/name.h>
#include <peal/pool.h>
#include <peal/request.h>
#include <peal/supervisor.h>
#include <peal/topic.h>
#include "runtime/both_lanes.h"
#include "runtime/guest.h"
#include "runtime/short_timeout.h"

PEAL_DECLARE_PROGRAM(guest);
PEAL_DECLARE_PROGRAM(pools);

#define CALL "peal_actor_migrate"
#define WORKERS 3
#define ACTORS 24
#define MANY 70000
#define ID 0x1d1d1d1dULL

/* Senders of notes to the guest. Also the host's ports to them. */
enum sender {
	BY_LINK, /* a link that was made for the guest */
	BY_OTHER_LINK, /* a link to an actor of another worker */
	BY_TELL, /* a herald of worker 1 */
	BY_OTHER_TELL, /* a herald of worker 2 */
	BY_TIMER, /* a herald of worker 0, the guest's first worker */
	BY_DELEGATE, /* a herald of worker 1 */
	BY_TOPIC,
	SENDERS
};

struct fixture {
	struct peal_runtime *rt;
	struct peal_endpoint *e;
	struct peal_kernel *k;
	uint64_t guest; /* its first address, on worker 0 */
	uint64_t newest;
	uint64_t herald[SENDERS];
	uint64_t topic;
	uint64_t sent[SENDERS];
	uint32_t at; /* the guest's worker */
};

static const struct peal_link_options plain = { .capacity = 0 };

static void open_fixture(struct fixture *h, struct peal_runtime *rt, uint32_t n)
{
	struct peal_kernel_options o = { .size = sizeof(o),
					 .workers = WORKERS,
					 .lanes = n,
					 .max_actors = ACTORS,
					 .max_ports = 4,
					 .mailbox.slots = 16,
					 .max_timers = 1024,
					 .max_supervisors = 1,
					 .max_asks = 4,
					 .spawn.max_actors = 2,
					 .max_monitors = 4 };

	memset(h, 0, sizeof(*h));
	h->rt = rt;
	h->e = harness_endpoint(h->rt);
	CHECK_OK(peal_kernel_launch(h->rt, 0, &peal_program_guest, &o, &h->k));
}

static uint64_t spawn(struct fixture *h, const char *handler, uint32_t worker,
		      uint64_t share_ports_with)
{
	struct guest init = { .id = ID };
	struct peal_actor_options o = { .size = sizeof(o),
					.worker = PEAL_WORKER(worker),
					.init = &init,
					.init_bytes = sizeof(init),
					.share_ports_with = share_ports_with };
	uint64_t address = 0;

	CHECK_OK(peal_actor_spawn(h->k, handler, &o, &address));
	return address;
}

static uint64_t spawn_bare(struct fixture *h, const char *handler,
			   uint32_t worker)
{
	return harness_spawn(h->k, handler, (int)worker);
}

static void spawn_herald(struct fixture *h, enum sender sender, uint32_t worker)
{
	struct herald init = { .guest = (uint32_t)h->guest, .sender = sender };
	struct peal_actor_options o = { .size = sizeof(o),
					.worker = PEAL_WORKER(worker),
					.init = &init,
					.init_bytes = sizeof(init) };

	CHECK_OK(peal_actor_spawn(h->k, "herald", &o, &h->herald[sender]));
	harness_from(h->rt, h->e, sender, h->herald[sender], plain);
}

/* Opens a house with the guest on worker 0 and all senders. */
static void open_full(struct fixture *h)
{
	struct peal_topic_options t = { .size = sizeof(t) };
	uint64_t crier;

	open_fixture(h, harness_open(1, ""), lanes);
	h->newest = h->guest = spawn(h, "guest", 0, 0);
	harness_from(h->rt, h->e, BY_LINK, h->guest, plain);
	/* this herald gets no message itself */
	spawn_herald(h, BY_OTHER_LINK, 2);
	spawn_herald(h, BY_TELL, 1);
	spawn_herald(h, BY_OTHER_TELL, 2);
	spawn_herald(h, BY_TIMER, 0);
	spawn_herald(h, BY_DELEGATE, 1);
	CHECK_OK(peal_topic_create(h->rt, 0, &t, &h->topic));
	crier = spawn_bare(h, "crier", 1);
	CHECK_OK(peal_publish(h->rt, crier, 0, h->topic));
	CHECK_OK(peal_subscribe(h->rt, h->topic, h->guest, 0));
	harness_from(h->rt, h->e, BY_TOPIC, crier, plain);
}

/* Sends the next note of a sender, or makes its herald send the note. */
static void send_note(struct fixture *h, enum sender s)
{
	static const uint16_t types[SENDERS] = { GUEST_NOTE, GUEST_NOTE,
						 GUEST_TELL, GUEST_TELL,
						 GUEST_TIME, GUEST_NOTE,
						 GUEST_NOTE };
	struct guest_note n = { .sender = s, .number = h->sent[s]++ };
	uint16_t type = s == BY_DELEGATE ? GUEST_DELEGATE : types[s];

	if (s == BY_OTHER_LINK)
		CHECK_OK(peal_send_to(h->e, s, h->guest, type, &n, sizeof(n),
				      MAX_WAIT, NULL));
	else
		CHECK_OK(peal_send(h->e, s, type, &n, sizeof(n), MAX_WAIT,
				   NULL));
}

static int move_to(struct fixture *h, uint64_t address, uint32_t worker,
		   uint64_t share_ports_with)
{
	struct peal_migration_options o = { .size = sizeof(o),
					    .worker = PEAL_WORKER(worker),
					    .share_ports_with =
						    share_ports_with };

	return peal_actor_migrate(h->rt, address, &o, &h->newest);
}

static uint64_t notes_sent(const struct fixture *h)
{
	uint64_t sum = 0;
	uint32_t i;

	for (i = 0; i < SENDERS; i++)
		sum += h->sent[i];
	return sum;
}

/* Returns the guest's state once it has handled all notes. */
static struct guest settle(struct fixture *h, uint64_t address)
{
	uint64_t until = harness_now_ns() + MAX_WAIT;
	struct guest g;

	do {
		CHECK_OK(peal_kernel_suspend(h->k, MAX_WAIT));
		CHECK_OK(peal_actor_state(h->rt, address, &g, sizeof(g)));
		CHECK_OK(peal_kernel_resume(h->k));
		CHECK(harness_now_ns() < until);
	} while (g.notes < notes_sent(h));
	return g;
}

static void close_fixture(struct fixture *h)
{
	struct peal_kernel_info k;

	harness_stop_quiet(h->k);
	harness_conserved(h->rt);
	CHECK_OK(peal_kernel_info(h->k, &k));
	CHECK_EQ(k.mailbox_sends, k.mailbox_done);
	CHECK_OK(peal_runtime_shutdown(h->rt));
}

/* ---- messages ------------------------------------------------------------ */

PEAL_TEST(migration_under_all_senders_loses_nothing)
{
	struct peal_kernel_info k;
	struct fixture h;
	struct guest g;
	uint32_t i, s;

	open_full(&h);
	for (i = 0; i < 300; i++) {
		for (s = 0; s < SENDERS; s++)
			send_note(&h, (enum sender)s);
		if (i % 37 != 20)
			continue;
		h.at = (h.at + 1 + i / 37 % 2) % WORKERS;
		CHECK_OK(move_to(&h, i & 1 ? h.guest : h.newest, h.at, 0));
		CHECK(h.newest != h.guest);
	}
	g = settle(&h, h.guest);
	CHECK_EQ(g.id, ID);
	CHECK_EQ(g.notes, notes_sent(&h));
	CHECK_EQ(g.disorder, 0);
	for (s = 0; s < SENDERS; s++)
		CHECK_EQ(g.next[s], h.sent[s]);
	CHECK_OK(peal_kernel_info(h.k, &k));
	CHECK_EQ(k.failed, 0);
	CHECK_EQ(k.mailbox_dead, 0);
	CHECK_EQ(k.actors, 7);
	CHECK_OK(peal_unsubscribe(h.rt, h.topic, h.newest));
	close_fixture(&h);
}

PEAL_TEST(migrated_actor_gets_all_messages_before_drain)
{
	struct fixture h;
	struct guest g;
	uint32_t i;

	open_fixture(&h, harness_open(1, ""), lanes);
	h.guest = spawn(&h, "guest", 0, 0);
	harness_from(h.rt, h.e, BY_LINK, h.guest, plain);
	for (i = 0; i < 300; i++) {
		send_note(&h, BY_LINK);
		if (i == 100 || i == 200)
			CHECK_OK(move_to(&h, h.guest, i / 100, 0));
	}
	CHECK_OK(peal_send_end(h.e, BY_LINK, MAX_WAIT));
	CHECK_OK(peal_kernel_drain(h.k, MAX_WAIT));
	CHECK_OK(peal_actor_state(h.rt, h.guest, &g, sizeof(g)));
	CHECK_EQ(g.notes, 300);
	CHECK_EQ(g.disorder, 0);
	CHECK_EQ(move_to(&h, h.guest, 0, 0), PEAL_ESTOPPED);
	CHECK_CONTAINS(peal_last_error()->text, "has ended");
	CHECK_OK(peal_actor_state(h.rt, h.newest, &g, sizeof(g)));
	close_fixture(&h);
}

/* ---- addresses ----------------------------------------------------------- */

static void check_named(const struct fixture *h, const char *name,
			uint64_t actor)
{
	uint64_t found = 0;

	CHECK_OK(peal_name_find(h->rt, name, &found));
	CHECK_EQ(found, actor);
}

PEAL_TEST(all_addresses_of_migrated_actor_resolve)
{
	struct peal_link_info info;
	struct peal_link *link;
	char name[PEAL_NAME_BYTES];
	uint64_t second;
	struct fixture h;
	uint32_t i;

	open_full(&h);
	CHECK_OK(peal_name_set(h.rt, h.guest, "guest"));
	CHECK_OK(move_to(&h, h.guest, 1, 0));
	second = h.newest;
	CHECK_OK(move_to(&h, h.guest, 2, 0));
	CHECK(second != h.guest && second != h.newest);
	check_named(&h, "guest", h.newest);
	for (i = 0; i < 3; i++) {
		uint64_t was = i == 0 ? h.guest : i == 1 ? second : h.newest;

		CHECK_OK(peal_name_of(h.rt, was, name));
		CHECK(!strcmp(name, "guest"));
		CHECK_EQ(peal_name_set(h.rt, was, "other"), PEAL_EEXIST);
	}
	link = harness_from(h.rt, h.e, SENDERS, second, plain);
	info = harness_info(link);
	CHECK_EQ(info.to, h.newest);
	CHECK_OK(peal_link_destroy(link));
	CHECK_OK(peal_unsubscribe(h.rt, h.topic, second));
	CHECK_OK(peal_subscribe(h.rt, h.topic, h.guest, 0));
	CHECK_EQ(peal_subscribe(h.rt, h.topic, h.newest, 0), PEAL_EEXIST);
	send_note(&h, BY_TOPIC);
	CHECK_EQ(settle(&h, second).next[BY_TOPIC], 1);
	close_fixture(&h);
}

PEAL_TEST(requests_to_old_address_are_answered)
{
	struct peal_received r;
	struct peal_requester *asker = NULL;
	uint64_t porter[2], owner[2], notes = 7, i;
	struct fixture h;

	open_fixture(&h, harness_open(1, ""), lanes);
	for (i = 0; i < 2; i++)
		owner[i] = spawn(&h, "porter", (uint32_t)i, 0);
	porter[0] = spawn(&h, "porter", 0, owner[0]);
	CHECK_OK(peal_requester_create(h.rt, porter[0], NULL, &asker));
	for (i = 0; i < 2; i++)
		CHECK_OK(peal_requester_listen(asker, owner[i], 0));
	for (i = 0; i < 4; i++) {
		CHECK_OK(peal_request(asker, GUEST_ASK, NULL, 0, &notes,
				      sizeof(notes), &r, MAX_WAIT));
		CHECK_EQ(notes, 0);
		CHECK_OK(move_to(&h, porter[0], i % 2 ? 0 : 1,
				 owner[i % 2 ? 0 : 1]));
	}
	CHECK_OK(peal_requester_destroy(asker));
	close_fixture(&h);
}

/* ---- retirement ---------------------------------------------------------- */

/* Spawns a guest and migrates it twice, to worker 2. was: its addresses. */
static void make_mover(struct fixture *h, uint64_t was[3])
{
	h->guest = was[0] = spawn(h, "guest", 0, 0);
	CHECK_OK(move_to(h, was[0], 1, 0));
	was[1] = h->newest;
	CHECK_OK(move_to(h, was[0], 2, 0));
	was[2] = h->newest;
}

PEAL_TEST(end_of_migrated_actor_frees_its_resources)
{
	uint64_t was[3], actors[ACTORS];
	struct fixture h;
	uint32_t by, i;

	open_fixture(&h, harness_open(1, ""), lanes);
	for (by = 0; by < 3; by++) {
		make_mover(&h, was);
		CHECK_OK(peal_name_set(h.rt, was[1], "mover"));
		check_named(&h, "mover", was[2]);
		CHECK_EQ(peal_actor_retire_many(h.rt, was, 2), PEAL_EINVAL);
		CHECK_CONTAINS(peal_last_error()->text, "is listed twice");
		CHECK_OK(peal_actor_retire(h.rt, was[by]));
		for (i = 0; i < 3; i++)
			CHECK_EQ(peal_actor_retire(h.rt, was[i]), PEAL_ENOENT);
		CHECK_EQ(peal_name_clear(h.rt, "mover"), PEAL_ENOENT);
		/* all max_actors actor slots are free again */
		CHECK_OK(peal_actor_spawn_many(h.k, "guest", NULL, ACTORS,
					       actors));
		CHECK_OK(peal_actor_retire_many(h.rt, actors, ACTORS));
	}
	close_fixture(&h);
}

PEAL_TEST(refused_retire_keeps_all_addresses)
{
	struct peal_link *link;
	uint64_t was[3];
	struct fixture h;
	uint32_t i;

	open_fixture(&h, harness_open(1, ""), lanes);
	make_mover(&h, was);
	link = harness_from(h.rt, h.e, BY_LINK, was[0], plain);
	spawn_herald(&h, BY_OTHER_LINK, 1);
	for (i = 0; i < 3; i++) {
		CHECK_EQ(peal_actor_retire(h.rt, was[i]), PEAL_EBUSY);
		CHECK_CONTAINS(peal_last_error()->text, "(in all 1)");
	}
	send_note(&h, BY_LINK);
	send_note(&h, BY_OTHER_LINK); /* to the first address */
	CHECK_EQ(settle(&h, was[1]).notes, 2);
	CHECK_OK(peal_link_destroy(link));
	CHECK_OK(peal_actor_retire(h.rt, was[1]));
	close_fixture(&h);
}

PEAL_TEST(messages_to_ended_migrated_actor_are_dead)
{
	struct peal_kernel_info k;
	struct peal_link *link;
	uint64_t was[3];
	struct fixture h;

	open_fixture(&h, harness_open(1, ""), lanes);
	make_mover(&h, was);
	link = harness_from(h.rt, h.e, BY_OTHER_LINK,
			    spawn_bare(&h, "guest", 1), plain);
	send_note(&h, BY_OTHER_LINK);
	CHECK_EQ(settle(&h, was[0]).notes, 1);
	CHECK_OK(peal_actor_retire(h.rt, was[0]));
	send_note(&h, BY_OTHER_LINK);
	EVENTUALLY(harness_info(link).dead[PEAL_REASON_NO_ACTOR] == 1);
	CHECK_OK(peal_kernel_info(h.k, &k));
	CHECK_EQ(k.actors, 1);
	close_fixture(&h);
}

/* ---- supervisors and monitors -------------------------------------------- */

static uint64_t spawn_supervised(struct fixture *h, struct peal_supervisor *s,
				 uint32_t worker)
{
	struct guest init = { .id = ID };
	struct peal_actor_options o = { .size = sizeof(o),
					.worker = PEAL_WORKER(worker),
					.init = &init,
					.init_bytes = sizeof(init),
					.supervisor = s };
	uint64_t address = 0;

	CHECK_OK(peal_actor_spawn(h->k, "guest", &o, &address));
	return address;
}

/* Makes a supervised actor fail, sends it a note, and returns its state after
 * the note. */
static struct guest fail_and_note(struct fixture *h, uint32_t port,
				  uint64_t supervised)
{
	struct guest_note n = { .sender = 0 };
	struct guest g;

	CHECK_OK(peal_send(h->e, port, GUEST_FAIL, &n, sizeof(n), MAX_WAIT,
			   NULL));
	CHECK_OK(peal_send(h->e, port, GUEST_NOTE, &n, sizeof(n), MAX_WAIT,
			   NULL));
	h->sent[0] = 1;
	g = settle(h, supervised);
	CHECK_EQ(g.notes, 1);
	CHECK_EQ(g.id, ID);
	return g;
}

PEAL_TEST(migrated_actor_restarts_with_its_supervision_group)
{
	struct peal_supervisor_options o = { .size = sizeof(o),
					     .strategy = PEAL_ONE_FOR_ALL,
					     .max_restarts = 2,
					     .period_ns = 3600ULL * SECOND };
	struct peal_supervisor_info info;
	struct peal_supervisor *s = NULL;
	struct peal_kernel_info k;
	uint64_t supervised[2];
	struct fixture h;

	open_fixture(&h, harness_open(1, ""), lanes);
	CHECK_OK(peal_supervisor_create(h.k, &o, &s));
	supervised[0] = spawn_supervised(&h, s, 0);
	supervised[1] = spawn_supervised(&h, s, 1);
	harness_from(h.rt, h.e, 0, supervised[0], plain);
	harness_from(h.rt, h.e, 1, supervised[1], plain);
	CHECK_OK(move_to(&h, supervised[0], 2, 0));
	fail_and_note(&h, 0, supervised[0]);
	/* actor 1 is marked for restart and keeps the mark when it migrates */
	CHECK_OK(move_to(&h, supervised[1], 2, 0));
	fail_and_note(&h, 1, supervised[1]);
	CHECK_OK(move_to(&h, supervised[0], 1, 0));
	CHECK_OK(peal_supervisor_info(s, &info));
	CHECK_EQ(info.members, 2);
	CHECK_EQ(info.failures, 2);
	CHECK_EQ(info.exhausted, 0);
	/* one failure too many: the supervisor gives up both, on any worker */
	h.sent[0] = 0;
	CHECK_OK(peal_send(h.e, 0, GUEST_FAIL, &info, 16, MAX_WAIT, NULL));
	EVENTUALLY(!peal_supervisor_info(s, &info) && info.exhausted);
	CHECK_OK(move_to(&h, supervised[1], 0, 0));
	CHECK_OK(peal_send(h.e, 1, GUEST_NOTE, &info, 16, MAX_WAIT, NULL));
	EVENTUALLY(!peal_kernel_info(h.k, &k) && k.mailbox_dead == 4);
	close_fixture(&h);
}

PEAL_TEST(monitor_reports_end_after_migration)
{
	struct peal_monitor_options o = { .size = sizeof(o), .tag = 5 };
	struct peal_received r;
	struct peal_down down;
	uint64_t was[3], monitor;
	struct fixture h;
	uint32_t i;

	open_fixture(&h, harness_open(1, ""), lanes);
	make_mover(&h, was);
	for (i = 0; i < 3; i++)
		CHECK_OK(peal_monitor(h.k, peal_endpoint_address(h.e), was[i],
				      &o, &monitor));
	CHECK_OK(peal_actor_retire(h.rt, was[1]));
	for (i = 0; i < 3; i++) {
		CHECK_OK(peal_receive(h.e, &down, sizeof(down), &r, MAX_WAIT));
		CHECK_EQ(down.reason, PEAL_DOWN_RETIRED);
		CHECK_EQ(down.tag, 5);
	}
	CHECK(peal_receive(h.e, &down, sizeof(down), &r, 0) < 0);
	close_fixture(&h);
}

/* ---- refusals ------------------------------------------------------------ */

static void expect_refused(struct fixture *h, uint64_t address, uint32_t worker,
			   uint64_t share_ports_with, int code,
			   const char *text)
{
	CHECK_EQ(move_to(h, address, worker, share_ports_with), code);
	CHECK_CONTAINS(peal_last_error()->text, text);
}

PEAL_TEST(refused_migration_leaves_actor_unchanged)
{
	uint64_t guest, owner[2], sharer, other;
	struct peal_migration_options o = { .size = sizeof(o) };
	struct peal_link *link;
	struct fixture h;

	open_fixture(&h, harness_open(1, ""), 1);
	guest = spawn(&h, "guest", 0, 0);
	owner[0] = spawn(&h, "porter", 0, 0);
	owner[1] = spawn(&h, "porter", 1, 0);
	other = spawn(&h, "porter", 2, 0);
	CHECK_EQ(peal_actor_migrate(NULL, guest, &o, NULL), PEAL_EINVAL);
	o.size = 3;
	CHECK_EQ(peal_actor_migrate(h.rt, guest, &o, NULL), PEAL_EINVAL);
	expect_refused(&h, guest + 100, 1, 0, PEAL_ENOENT,
		       "is the address of no actor (");
	expect_refused(&h, peal_endpoint_address(h.e), 1, 0, PEAL_ENOENT,
		       "is the address of no actor (");
	expect_refused(&h, guest, WORKERS, 0, PEAL_ENOENT,
		       "'worker': is of no "
		       "worker of kernel 'guest' (4, allowed 0..3)");
	expect_refused(&h, guest, 0, 0, PEAL_EINVAL,
		       "option 'worker': is the worker that actor ");
	link = harness_to(h.rt, owner[0], h.e, plain);
	expect_refused(&h, owner[0], 1, 0, PEAL_EBUSY, "comes from port 0");
	CHECK_OK(peal_link_destroy(link));
	sharer = spawn(&h, "porter", 0, owner[0]);
	expect_refused(&h, owner[0], 1, 0, PEAL_EBUSY, "shares the ports");
	expect_refused(&h, sharer, 1, 0, PEAL_EINVAL, "to an actor of its");
	expect_refused(&h, sharer, 1, guest, PEAL_EINVAL,
		       "'worker': is not "
		       "the worker of actor 0 of kernel 'guest', which "
		       "share_ports_with names (2, allowed 0 or 1)");
	expect_refused(&h, sharer, 0, sharer, PEAL_EINVAL,
		       "'share_ports_with': is of an actor of kernel 'guest' "
		       "that moves (actor 4, allowed other actors with ports)");
	expect_refused(&h, sharer, 1, guest + 100, PEAL_ENOENT,
		       "'share_ports_with': is of no actor of kernel 'guest'");
	CHECK_OK(move_to(&h, guest, 1, 0));
	expect_refused(
		&h, sharer, 1, h.newest, PEAL_EINVAL,
		"'share_ports_with': is of handler 'guest', which has too few "
		"ports or messages for handler 'porter' (ports 1, messages 1, "
		"allowed 0..0, 0..0)");
	CHECK_OK(move_to(&h, sharer, 1, owner[1]));
	CHECK_EQ(peal_actor_retire(h.rt, owner[1]), PEAL_EBUSY);
	CHECK_OK(peal_actor_retire(h.rt, sharer));
	/* no actor shares its ports now */
	CHECK_OK(move_to(&h, owner[0], 2, 0));
	/* takes the other three of worker 1's four ports */
	spawn(&h, "porter", 1, 0);
	spawn(&h, "porter", 1, 0);
	spawn(&h, "porter", 1, 0);
	expect_refused(&h, other, 1, 0, PEAL_ENOSPC,
		       "'guest': has too few of "
		       "max_ports left on worker 1 for 1 actor of 'porter' (1, "
		       "allowed 0)");
	close_fixture(&h);
}

PEAL_TEST(migration_fails_cleanly_when_table_is_full)
{
	struct peal_migration_options next = { .size = sizeof(next) };
	struct peal_link *link;
	struct fixture h;
	uint32_t i;

	open_fixture(&h, harness_open(1, ""), 1);
	h.guest = spawn(&h, "guest", 0, 0);
	link = harness_from(h.rt, h.e, BY_LINK, h.guest, plain);
	for (i = 1; i < ACTORS; i++) {
		send_note(&h, BY_LINK);
		CHECK_OK(peal_actor_migrate(h.rt, h.guest, &next, NULL));
	}
	CHECK_EQ(peal_actor_migrate(h.rt, h.guest, &next, &h.newest),
		 PEAL_ENOSPC);
	CHECK_CONTAINS(peal_last_error()->text, "all 24 of max_actors");
	CHECK(h.newest != h.guest);
	send_note(&h, BY_LINK);
	CHECK_EQ(settle(&h, h.newest).disorder, 0);
	CHECK_OK(peal_link_destroy(link));
	CHECK_OK(peal_actor_retire(h.rt, h.guest));
	close_fixture(&h);
}

PEAL_TEST(actor_migrates_to_any_entry_of_large_table)
{
	struct peal_kernel_options k = { .size = sizeof(k),
					 .workers = WORKERS,
					 .max_actors = MANY + 3,
					 .mailbox.slots = 16 };
	uint64_t *others = calloc(MANY, sizeof(*others));
	struct peal_link *link;
	struct fixture h;

	memset(&h, 0, sizeof(h));
	h.rt = harness_open(1, "");
	h.e = harness_endpoint(h.rt);
	CHECK_OK(peal_kernel_launch(h.rt, 0, &peal_program_guest, &k, &h.k));
	CHECK_OK(peal_actor_spawn_many(h.k, "lie", NULL, MANY, others));
	free(others);
	h.guest = spawn(&h, "guest", 0, 0);
	link = harness_from(h.rt, h.e, BY_LINK, h.guest, plain);
	send_note(&h, BY_LINK);
	CHECK_OK(move_to(&h, h.guest, 1, 0));
	send_note(&h, BY_LINK);
	CHECK_OK(move_to(&h, h.guest, 2, 0));
	CHECK_EQ((uint32_t)h.newest, MANY + 2);
	send_note(&h, BY_LINK);
	CHECK_EQ(settle(&h, h.newest).disorder, 0);
	CHECK_EQ(settle(&h, h.newest).notes, 3);
	CHECK_OK(peal_link_destroy(link));
	close_fixture(&h);
}

PEAL_TEST(actors_with_mailbox_limit_do_not_migrate)
{
	struct peal_kernel_options k = { .size = sizeof(k),
					 .workers = WORKERS,
					 .mailbox.slots = 16,
					 .mailbox.max_limits = 1 };
	struct peal_actor_options o = { .size = sizeof(o),
					.worker = 1,
					.mailbox_limit = 4,
					.mailbox_overflow =
						PEAL_OVERFLOW_FAIL };
	struct fixture h;

	memset(&h, 0, sizeof(h));
	h.rt = harness_open(1, "");
	h.e = harness_endpoint(h.rt);
	CHECK_OK(peal_kernel_launch(h.rt, 0, &peal_program_guest, &k, &h.k));
	CHECK_OK(peal_actor_spawn(h.k, "guest", &o, &h.guest));
	expect_refused(&h, h.guest, 1, 0, PEAL_ENOTSUP, "has a limit");
	CHECK_EQ(h.newest, h.guest);
	CHECK_OK(peal_actor_retire(h.rt, h.guest));
	CHECK_OK(move_to(&h, spawn(&h, "guest", 0, 0), 1, 0));
	close_fixture(&h);
}

PEAL_TEST(pool_members_and_mailboxless_actors_do_not_migrate)
{
	struct peal_kernel_options o = { .size = sizeof(o),
					 .workers = 2,
					 .max_pools = 1 };
	uint64_t pool, member, address;
	struct fixture h;

	memset(&h, 0, sizeof(h));
	h.rt = harness_open(1, "");
	CHECK_OK(peal_kernel_launch(h.rt, 0, &peal_program_pools, &o, &h.k));
	member = harness_spawn(h.k, "tally", 0);
	CHECK_OK(peal_pool_create(h.k, NULL, &pool));
	expect_refused(&h, member, 1, 0, PEAL_ENOTSUP, "has no mailboxes");
	CHECK_OK(peal_kernel_stop(h.k, MAX_WAIT));
	CHECK_OK(peal_kernel_destroy(h.k));
	o.mailbox.slots = 64;
	CHECK_OK(peal_kernel_launch(h.rt, 0, &peal_program_pools, &o, &h.k));
	CHECK_OK(peal_pool_create(h.k, NULL, &pool));
	member = harness_spawn(h.k, "tally", 0);
	expect_refused(&h, pool, 1, 0, PEAL_ENOENT, "no actor");
	CHECK_OK(peal_pool_join(h.rt, pool, member));
	expect_refused(&h, member, 1, 0, PEAL_EBUSY, "is a member of a pool");
	CHECK_OK(peal_pool_leave(h.rt, pool, member));
	CHECK_OK(move_to(&h, member, 1, 0));
	address = h.newest;
	/* now as a member on its new worker */
	CHECK_OK(peal_pool_join(h.rt, pool, member));
	CHECK_EQ(peal_pool_join(h.rt, pool, address), PEAL_EEXIST);
	CHECK_OK(peal_pool_leave(h.rt, pool, member));
	CHECK_OK(peal_runtime_shutdown(h.rt));
}

/* ---- workers that do not answer ------------------------------------------ */

/* Keeps a worker in a handler until the word is set. */
static void hold(struct fixture *h, uint32_t worker, const uint64_t *word)
{
	uint64_t holder = spawn_bare(h, "lie", worker);
	uint64_t at = harness_address(word);
	struct peal_worker_info info;

	harness_from(h->rt, h->e, 10 + worker, holder, plain);
	CHECK_OK(peal_send(h->e, 10 + worker, 0, &at, sizeof(at), MAX_WAIT,
			   NULL));
	EVENTUALLY(!peal_worker_info(h->k, worker, &info) &&
		   info.actor == (int64_t)(uint32_t)holder);
}

PEAL_TEST(unresponsive_worker_fails_migration_atomically)
{
	uint64_t *open;
	struct peal_link *link;
	struct fixture h;

	open_fixture(&h, harness_open(1, ""), 1);
	open = (uint64_t *)harness_pinned(h.rt, 2 * sizeof(*open));
	h.guest = spawn(&h, "guest", 0, 0);
	link = harness_from(h.rt, h.e, BY_LINK, h.guest, plain);
	hold(&h, 1, &open[1]);
	CHECK_TIMES_OUT(h.rt, move_to(&h, h.guest, 1, 0), PEAL_EHUNG,
			"worker 1 of kernel");
	CHECK_EQ(h.newest, h.guest);
	send_note(&h, BY_LINK);
	EVENTUALLY(harness_info(link).delivered == 1);
	peal_store_release_sys(&open[1], 1);
	hold(&h, 0, &open[0]);
	send_note(&h, BY_LINK); /* the note waits behind the holder */
	CHECK_TIMES_OUT(h.rt, move_to(&h, h.guest, 2, 0), PEAL_EHUNG,
			"worker 0 of kernel");
	CHECK_EQ(h.newest, h.guest);
	peal_store_release_sys(&open[0], 1);
	/* the guest is on worker 2, or this call completes its migration */
	expect_refused(&h, h.guest, 2, 0, PEAL_EINVAL,
		       "has already (3, allowed ");
	CHECK(h.newest != h.guest);
	send_note(&h, BY_LINK);
	CHECK_EQ(settle(&h, h.guest).notes, 3);
	CHECK_EQ(settle(&h, h.newest).disorder, 0);
	CHECK_OK(peal_actor_retire(h.rt, spawn_bare(&h, "guest", 0)));
	close_fixture(&h);
}

PEAL_TEST(actor_migrates_after_its_asks_are_answered)
{
	struct peal_kernel_info k;
	struct fixture h;
	uint64_t *open;

	open_fixture(&h, harness_open(1, ""), lanes);
	open = harness_gate(h.rt);
	h.guest = spawn(&h, "guest", 1, 0);
	spawn_herald(&h, BY_TELL, 0);
	hold(&h, 1, open);
	CHECK_OK(peal_send(h.e, BY_TELL, GUEST_QUERY, NULL, 0, MAX_WAIT, NULL));
	EVENTUALLY(!peal_kernel_info(h.k, &k) && k.asks.open == 1);
	CHECK_EQ(move_to(&h, h.herald[BY_TELL], 2, 0), PEAL_EAGAIN);
	CHECK_CONTAINS(peal_last_error()->text, "waits for answers");
	CHECK_EQ(h.newest, h.herald[BY_TELL]);
	peal_store_release_sys(open, 1);
	EVENTUALLY(!move_to(&h, h.herald[BY_TELL], 2, 0));
	close_fixture(&h);
}

PEAL_TEST(device_spawned_actors_and_port_owners_stay)
{
	uint64_t owner, made;
	struct fixture h;

	open_fixture(&h, harness_open(1, ""), lanes);
	spawn_herald(&h, BY_TELL, 0);
	owner = spawn(&h, "porter", 0, 0);
	/* the first actor slot for handlers of worker 0 */
	made = (owner >> 32 << 32) | ACTORS;
	CHECK_OK(peal_send(h.e, BY_TELL, GUEST_BREED, &owner, sizeof(owner),
			   MAX_WAIT, NULL));
	EVENTUALLY(move_to(&h, made, 1, 0) == PEAL_ENOTSUP);
	CHECK_CONTAINS(peal_last_error()->text, "was made by a handler");
	expect_refused(&h, owner, 1, 0, PEAL_EBUSY, "handlers have made share");
	CHECK_EQ(h.newest, owner);
	CHECK_OK(peal_actor_retire(h.rt, made));
	CHECK_OK(move_to(&h, owner, 1, 0));
	close_fixture(&h);
}

PEAL_TEST_MAIN(RUN_LANES(migration_under_all_senders_loses_nothing);
	       RUN_LANES(migrated_actor_gets_all_messages_before_drain);
	       RUN_LANES(all_addresses_of_migrated_actor_resolve);
	       RUN_LANES(requests_to_old_address_are_answered);
	       RUN_LANES(end_of_migrated_actor_frees_its_resources);
	       RUN_LANES(refused_retire_keeps_all_addresses);
	       RUN_LANES(messages_to_ended_migrated_actor_are_dead);
	       RUN_LANES(migrated_actor_restarts_with_its_supervision_group);
	       RUN_LANES(monitor_reports_end_after_migration);
	       RUN_LANES(actor_migrates_after_its_asks_are_answered);
	       RUN_LANES(device_spawned_actors_and_port_owners_stay);
	       RUN(refused_migration_leaves_actor_unchanged);
	       RUN(migration_fails_cleanly_when_table_is_full);
	       RUN(actor_migrates_to_any_entry_of_large_table);
	       RUN(actors_with_mailbox_limit_do_not_migrate);
	       RUN(pool_members_and_mailboxless_actors_do_not_migrate);
	       RUN(unresponsive_worker_fails_migration_atomically);)
