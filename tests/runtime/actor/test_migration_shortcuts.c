/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Actors migrate many times. The counters show that each former address takes
 * one hop. Messages stay in order while the way becomes shorter. The way does
 * not lead over kernels that have ended.
 */

#define ACTORS 400

#include <peal/proxy.h>
#include "runtime/migration_fixture.h"

#define MOVES (PEAL_ASAN || PEAL_TSAN ? 24 : 300)
#define NOTES (PEAL_ASAN || PEAL_TSAN ? 300 : 1500) /* of each sender */
#define RETRIES 60 /* further moves; a busy worker can keep an entry's hop */
#define STAYS (MOVES + RETRIES)

static uint64_t stay[STAYS + 1]; /* the guest's addresses */
static uint32_t stays;
static uint64_t lie[KERNELS * WORKERS]; /* an actor of each worker */

/* Returns the index of the kernel of an address. */
static int kernel_at(uint64_t address)
{
	int i;

	for (i = 0; i < KERNELS - 1; i++)
		if (lie[i * WORKERS] >> 32 == address >> 32)
			break;
	return i;
}

static void stay_at(struct fixture *s, int kernel, uint32_t worker)
{
	CHECK_OK(move_to(s, s->guest, kernel, worker, 0));
	CHECK(stays < STAYS);
	stay[++stays] = s->newest;
}

/* ---- hops ---------------------------------------------------------------- */

/* Hops of all messages, as their counters say. */
struct hops {
	uint64_t mails; /* through mailboxes */
	uint64_t links; /* over forwarding links */
};

static struct hops hops_now(const struct fixture *s)
{
	struct peal_kernel_info k;
	struct peal_link *all[64];
	struct hops h = { 0, 0 };
	int i, n;

	for (i = 0; i < KERNELS; i++) {
		CHECK_OK(peal_kernel_info(s->k[i], &k));
		h.mails += k.mailbox_sends;
	}
	n = peal_link_list(s->rt, all, 64);
	CHECK(n <= 64);
	for (i = 0; i < n; i++)
		if ((uint32_t)harness_info(all[i]).from == PEAL_FWD_LINK_ACTOR)
			h.links += harness_info(all[i]).accepted;
	return h;
}

/* Gives each worker of the kernels a link from the host. The port is SENDERS +
 * the number of the worker in all kernels. */
static void link_workers(struct fixture *s)
{
	uint32_t i;

	for (i = 0; i < KERNELS * WORKERS; i++) {
		lie[i] = harness_spawn(s->k[i / WORKERS], "lie",
				       (int)(i % WORKERS));
		harness_from(s->rt, s->e, SENDERS + i, lie[i], plain);
	}
}

/* Sends a note to an address, at the worker that has the address. */
static void note_at(struct fixture *s, uint64_t address, int kernel,
		    uint32_t worker)
{
	struct guest_note n = { .sender = BY_LINK,
				.number = s->sent[BY_LINK]++ };

	CHECK_OK(peal_send_to(
		s->e, SENDERS + (uint32_t)kernel * WORKERS + worker, address,
		GUEST_NOTE, &n, sizeof(n), MAX_WAIT, NULL));
}

/* Sends a note to each address. Returns the hops of these notes. */
static struct hops visit(struct fixture *s, const uint32_t *worker)
{
	struct hops before = hops_now(s), after;
	uint32_t i;

	for (i = 0; i <= stays; i++)
		note_at(s, stay[i], kernel_at(stay[i]), worker[i]);
	settle(s, s->guest, kernel_at(s->newest));
	after = hops_now(s);
	after.mails -= before.mails;
	after.links -= before.links;
	return after;
}

/* The host gives up a shortcut after a part of the limit for answers. Here it
 * waits until slow workers have answered. */
static void begin(struct fixture *s)
{
	setenv("PEAL_CONTROL_TIMEOUT_MS", "600000", 1);
	open_full(s);
	link_workers(s);
	stays = 0;
	stay[0] = s->guest;
}

PEAL_TEST(all_former_addresses_take_one_hop)
{
	static uint32_t worker[STAYS + 1];
	struct fixture s;
	struct hops h;
	uint64_t first, moves = test_part(MOVES);

	begin(&s);
	while (stays < moves) {
		worker[stays + 1] = 1 - worker[stays];
		stay_at(&s, 0, worker[stays + 1]);
	}
	first = s.sent[BY_LINK];
	h = visit(&s, worker);
	while (h.mails > stays) { /* a worker was too busy to change a way */
		worker[stays + 1] = 1 - worker[stays];
		stay_at(&s, 0, worker[stays + 1]);
		h = visit(&s, worker);
	}
	CHECK(s.sent[BY_LINK] - first >= moves + 1);
	CHECK_EQ(h.mails, stays);
	CHECK_EQ(h.links, 0);
	close_fixture(&s);
}

PEAL_TEST(all_former_addresses_take_one_link)
{
	static const int at[6][2] = { { 1, 0 }, { 1, 1 }, { 2, 0 },
				      { 0, 1 }, { 2, 1 }, { 0, 0 } };
	static uint32_t worker[STAYS + 1];
	uint64_t far, own;
	struct fixture s;
	struct hops h;
	uint32_t i;

	begin(&s);
	do { /* a busy worker can keep an entry's hop */
		do {
			worker[stays + 1] = (uint32_t)at[stays % 6][1];
			stay_at(&s, at[stays % 6][0], worker[stays + 1]);
		} while (stays < 24);
		for (i = 0, far = 0; i < stays; i++)
			far += stay[i] >> 32 != s.newest >> 32;
		own = stays - far;
		h = visit(&s, worker);
	} while (h.links > far && stays < STAYS);
	CHECK_EQ(h.links, far);
	/* a link may end at another worker than the guest's */
	CHECK(h.mails >= own && h.mails <= own + far);
	close_fixture(&s);
}

PEAL_TEST(proxy_takes_one_link)
{
	struct fixture s;
	struct hops h, before;
	uint64_t proxy;
	uint32_t i;

	begin(&s);
	CHECK_OK(peal_proxy_create(
		s.k[1], s.guest,
		&(struct peal_proxy_options){
			.size = sizeof(struct peal_proxy_options),
			.worker = PEAL_WORKER(1) },
		&proxy));
	do {
		for (i = 0; i < 4; i++)
			stay_at(&s, 2 - (int)(i & 2), i & 1);
		before = hops_now(&s);
		note_at(&s, proxy, 1, 1);
		settle(&s, s.guest, 0);
		h = hops_now(&s);
	} while (h.links - before.links > 1 && stays < STAYS - 4);
	CHECK_EQ(h.links - before.links, 1);
	CHECK(h.mails - before.mails <= 1);
	CHECK_OK(peal_proxy_destroy(s.rt, proxy));
	close_fixture(&s);
}

/* ---- order --------------------------------------------------------------- */

static void *send_notes(void *fixture)
{
	struct fixture *s = fixture;
	uint32_t i, by;

	for (i = 0; i < test_part(NOTES); i++)
		for (by = 0; by < SENDERS; by++)
			send_note(s, (enum sender)by);
	return NULL;
}

/* Migrates the guest while a thread sends. Kernels 0 to `kernels` - 1. */
static void move_under_load(uint32_t kernels, uint32_t moves)
{
	struct peal_kernel_info k;
	struct fixture s;
	struct guest g;
	pthread_t sender;
	uint32_t i, by, to = 1;

	begin(&s);
	CHECK(!pthread_create(&sender, NULL, send_notes, &s));
	for (i = 0; i < test_part(moves); i++) {
		to = kernels > 1 ? 5 * i + i / 7 : i + 1;
		to %= WORKERS * kernels;
		if (move_to(&s, i & 1 ? s.newest : s.guest, (int)(to / WORKERS),
			    to % WORKERS, 0))
			CHECK_CONTAINS(peal_last_error()->text, "already");
	}
	CHECK(!pthread_join(sender, NULL));
	g = settle(&s, s.guest, kernel_at(s.newest));
	CHECK_EQ(g.notes, notes_sent(&s));
	CHECK_EQ(g.disorder, 0);
	for (by = 0; by < SENDERS; by++)
		CHECK_EQ(g.next[by], s.sent[by]);
	for (i = 0; i < KERNELS; i++) {
		CHECK_OK(peal_kernel_info(s.k[i], &k));
		CHECK_EQ(k.mailbox_dead, 0);
	}
	close_fixture(&s);
}

PEAL_TEST(messages_stay_in_order_within_a_kernel)
{
	move_under_load(1, 120);
}

PEAL_TEST(messages_stay_in_order_across_kernels)
{
	move_under_load(KERNELS, 120);
}

/* ---- ends ---------------------------------------------------------------- */

/* Migrates the guest until a message of the host takes no hop in kernel 1. */
static void pass_kernel(struct fixture *s)
{
	struct hops before, h;

	do {
		stay_at(s, 1, stays & 1);
		stay_at(s, 2, stays & 1);
		before = hops_now(s);
		send_note(s, BY_LINK);
		settle(s, s->guest, 2);
		h = hops_now(s);
	} while (h.links - before.links > 1 && stays < STAYS - 2);
	CHECK_EQ(h.links - before.links, 1);
}

PEAL_TEST(former_kernel_that_ends_is_not_on_the_way)
{
	struct fixture s;
	struct guest g;
	uint64_t first;

	open_full(&s);
	stays = 0;
	first = s.guest;
	pass_kernel(&s);
	harness_stop_quiet(s.k[1]);
	send_note(&s, BY_LINK);
	send_note(&s, BY_TELL);
	send_note(&s, BY_TIMER);
	CHECK_EQ(settle(&s, first, 2).notes, notes_sent(&s));
	CHECK_OK(peal_kernel_destroy(s.k[1]));
	send_note(&s, BY_OTHER_LINK);
	CHECK_EQ(settle(&s, first, 2).notes, notes_sent(&s));
	CHECK_OK(move_to(&s, first, 0, 1, 0));
	CHECK_OK(move_to(&s, first, 0, 0, 0));
	send_note(&s, BY_LINK);
	send_note(&s, BY_TOPIC);
	g = settle(&s, first, 0);
	CHECK_EQ(g.notes, notes_sent(&s));
	CHECK_EQ(g.disorder, 0);
	s.k[1] = s.k[2]; /* close_fixture stops it twice */
	close_fixture(&s);
}

PEAL_TEST(retired_actor_frees_all_its_slots)
{
	struct peal_kernel_info k;
	struct fixture s;
	uint32_t i;
	int kernel;

	open_fixture(&s);
	stays = 0;
	s.guest = spawn(s.k[0], "guest", 0);
	for (i = 1; i <= 80; i++)
		stay_at(&s, (int)(i % 3), i / 3 & 1);
	CHECK_OK(peal_actor_retire(s.rt, s.guest));
	for (kernel = 0; kernel < (int)test_part(KERNELS); kernel++) {
		for (i = 0; i < ACTORS; i++)
			spawn(s.k[kernel], "guest", i & 1);
		CHECK_OK(peal_kernel_info(s.k[kernel], &k));
		CHECK_EQ(k.actors, ACTORS);
	}
	close_fixture(&s);
}

PEAL_TEST_MAIN(RUN_LANES(all_former_addresses_take_one_hop);
	       RUN_LANES(all_former_addresses_take_one_link);
	       RUN_LANES(proxy_takes_one_link);
	       RUN_LANES(messages_stay_in_order_within_a_kernel);
	       RUN_LANES(messages_stay_in_order_across_kernels);
	       RUN_LANES(former_kernel_that_ends_is_not_on_the_way);
	       RUN_LANES(retired_actor_frees_all_its_slots);)
