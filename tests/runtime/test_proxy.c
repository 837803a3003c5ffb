/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Handlers tell actors of other kernels by a proxy. Shows that each message
 * arrives once, in order per sender, wherever the actor migrates.
 */
#include "runtime/pools.h"
#include "runtime/street.h"

static uint64_t proxy_at(struct street *s, int kernel, uint32_t worker,
			 uint64_t address)
{
	struct peal_proxy_options o = { .size = sizeof(o),
					.worker = 1 + worker };
	uint64_t proxy = 0;

	CHECK_OK(peal_proxy_create(s->k[kernel], address, &o, &proxy));
	CHECK(proxy != address);
	return proxy;
}

/*
 * Opens a street with a guest on worker 1 of kernel 1. Its proxy is s->guest,
 * on worker 0 of kernel 0. All senders use the proxy, except BY_LINK. Returns
 * the link of BY_LINK.
 */
static struct peal_link *open_far(struct street *s)
{
	struct peal_link *link;

	open_street(s);
	s->newest = spawn(s->k[1], "guest", 1);
	s->guest = proxy_at(s, 0, 0, s->newest);
	link = harness_from(s->rt, s->e, BY_LINK, s->newest, plain);
	spawn_herald(s, BY_OTHER_LINK, 1);
	spawn_herald(s, BY_TELL, 0);
	spawn_herald(s, BY_OTHER_TELL, 1);
	spawn_herald(s, BY_TIMER, 0);
	return link;
}

static uint64_t mail_dead(struct peal_kernel *k)
{
	struct peal_kernel_info info;

	CHECK_OK(peal_kernel_info(k, &info));
	return info.mail_dead;
}

/*
 * Returns the messages of all forwarding links that were dead for lack of an
 * actor.
 */
static uint64_t passage_dead(const struct street *s)
{
	struct peal_link_info info;
	struct peal_link *all[16];
	uint64_t dead = 0;
	int i, n = peal_link_list(s->rt, all, 16);

	for (i = 0; i < n; i++) {
		CHECK_OK(peal_link_info(all[i], &info));
		if ((uint32_t)info.from == PEAL_PASSAGE_ACTOR)
			dead += info.dead[PEAL_REASON_NO_ACTOR];
	}
	return dead;
}

/* Makes a herald tell the destroyed proxy. Checks that the tell fails. */
static void expect_unknown(struct street *s)
{
	struct peal_kernel_info info;

	send_note(s, BY_OTHER_TELL);
	EVENTUALLY(!peal_kernel_info(s->k[0], &info) && info.failed == 1);
}

/* ---- messages ------------------------------------------------------------ */

static void expect_all(struct street *s, uint64_t address, int kernel)
{
	struct guest g = settle(s, address, kernel);
	uint32_t by;

	CHECK_EQ(g.id, ID);
	CHECK_EQ(g.notes, notes_sent(s));
	CHECK_EQ(g.disorder, 0);
	for (by = 0; by < SENDERS; by++)
		CHECK_EQ(g.next[by], s->sent[by]);
	for (kernel = 0; kernel < KERNELS; kernel++)
		CHECK_EQ(mail_dead(s->k[kernel]), 0);
}

PEAL_TEST(handlers_tell_an_actor_on_another_device)
{
	struct street s;
	uint32_t i, by;

	open_far(&s);
	for (i = 0; i < 400; i++)
		for (by = 0; by < BY_TOPIC; by++)
			send_note(&s, (enum sender)by);
	expect_all(&s, s.guest, 1);
	close_street(&s);
}

PEAL_TEST(a_proxy_leads_to_its_actor_wherever_that_moves)
{
	/* kernel and worker, also those of the proxy */
	static const int stay[8][2] = { { 0, 1 }, { 1, 0 }, { 1, 1 }, { 0, 0 },
					{ 1, 1 }, { 0, 1 }, { 1, 0 }, { 2, 0 } };
	struct street s;
	uint32_t i, by;

	open_far(&s);
	for (i = 0; i < 400; i++) {
		for (by = 0; by < BY_TOPIC; by++)
			send_note(&s, (enum sender)by);
		if (i % 50 == 20)
			CHECK_OK(move_to(&s, i & 4 ? s.guest : s.newest,
					 stay[i / 50][0],
					 (uint32_t)stay[i / 50][1], 0));
	}
	expect_all(&s, s.guest, 2);
	close_street(&s);
}

/*
 * Two guests in two kernels. A herald of each kernel tells the other kernel's
 * guest, through mailboxes of 16 slots.
 */
PEAL_TEST(two_kernels_tell_each_other_without_end)
{
	struct herald init = { .sender = 0 };
	struct peal_actor_options o = { .size = sizeof(o),
					.init = &init,
					.init_bytes = sizeof(init) };
	uint64_t guest[2], herald;
	struct street s;
	struct guest g;
	uint32_t i, k;

	open_street(&s);
	for (k = 0; k < 2; k++)
		guest[k] = spawn(s.k[k], "guest", k);
	for (k = 0; k < 2; k++) {
		init.guest = (uint32_t)proxy_at(&s, (int)k, k, guest[1 - k]);
		CHECK_OK(peal_actor_spawn(s.k[k], "herald", &o, &herald));
		harness_from(s.rt, s.e, k, herald, plain);
	}
	for (i = 0; i < 2000; i++)
		for (k = 0; k < 2; k++)
			CHECK_OK(peal_send(s.e, k, GUEST_TELL, NULL, 0,
					   PATIENCE));
	s.sent[0] = 2000; /* each guest gets the notes of one herald */
	for (k = 0; k < 2; k++) {
		g = settle(&s, guest[k], (int)k);
		CHECK_EQ(g.notes, 2000);
		CHECK_EQ(g.disorder, 0);
	}
	close_street(&s);
}

PEAL_TEST(a_pool_has_proxies_and_another_program)
{
	struct peal_kernel_options o = { .size = sizeof(o),
					 .workers = WORKERS,
					 .lanes = lanes,
					 .mailbox_slots = 16 };
	struct peal_kernel *other = NULL;
	struct peal_kernel_info info;
	struct street s;
	uint64_t pool, member[WORKERS];
	uint32_t i;

	open_street(&s);
	CHECK_OK(peal_kernel_launch(s.rt, 1, &peal_program_pools, &o, &other));
	CHECK_OK(peal_pool_create(other, NULL, &pool));
	for (i = 0; i < WORKERS; i++) {
		member[i] = harness_spawn(other, "tally", i);
		CHECK_OK(peal_pool_join(s.rt, pool, member[i]));
	}
	s.guest = proxy_at(&s, 0, 1, pool);
	spawn_herald(&s, BY_TELL, 0);
	for (i = 0; i < 200; i++)
		send_note(&s, BY_TELL);
	EVENTUALLY(!peal_kernel_info(other, &info) && info.handled == 200);
	for (i = 0; i < WORKERS; i++)
		CHECK_OK(peal_pool_leave(s.rt, pool, member[i]));
	CHECK_OK(peal_pool_destroy(s.rt, pool));
	send_note(&s, BY_TELL);
	EVENTUALLY(passage_dead(&s) == 1);
	CHECK_OK(peal_proxy_destroy(s.rt, s.guest));
	CHECK_OK(peal_kernel_stop(other, PATIENCE));
	close_street(&s);
}

/*
 * A herald delegates a request of the host to a proxy. A porter in another
 * kernel replies.
 */
PEAL_TEST(a_request_is_handed_on_to_a_proxy)
{
	struct peal_requester *asker = NULL;
	struct peal_received r;
	uint64_t porter, notes = 7;
	struct street s;

	open_street(&s);
	porter = spawn(s.k[1], "porter", 1);
	s.guest = proxy_at(&s, 0, 1, porter);
	spawn_herald(&s, BY_TELL, 0);
	CHECK_OK(peal_requester_open(s.rt, s.herald[BY_TELL], NULL, &asker));
	CHECK_OK(peal_requester_listen(asker, porter, 0));
	CHECK_OK(peal_request(asker, GUEST_DELEGATE, NULL, 0, &notes,
			      sizeof(notes), &r, PATIENCE));
	CHECK_EQ(notes, 0);
	CHECK_OK(peal_requester_close(asker));
	close_street(&s);
}

/* ---- addresses ----------------------------------------------------------- */

PEAL_TEST(for_the_host_a_proxy_is_an_address_of_its_actor)
{
	struct peal_link *link;
	uint64_t found, second;
	struct street s;

	open_far(&s);
	link = harness_from(s.rt, s.e, SENDERS, s.guest, plain);
	CHECK_EQ(harness_info(link).to, s.newest);
	CHECK_OK(peal_link_destroy(link));
	CHECK_OK(peal_name_set(s.rt, s.guest, "guest"));
	CHECK_OK(peal_name_find(s.rt, "guest", &found));
	CHECK_EQ(found, s.newest);
	/* a proxy of a proxy leads directly to the actor */
	second = proxy_at(&s, 2, 1, s.guest);
	CHECK_OK(peal_proxy_destroy(s.rt, s.guest));
	CHECK_EQ(peal_proxy_destroy(s.rt, s.guest), PEAL_ENOENT);
	CHECK_EQ(peal_proxy_destroy(s.rt, s.newest), PEAL_ENOENT);
	send_note(&s, BY_LINK);
	CHECK_EQ(settle(&s, second, 1).notes, 1);
	CHECK_EQ(peal_actor_state(s.rt, s.guest, &found, sizeof(found)),
		 PEAL_ENOENT);
	close_street(&s);
}

/*
 * Each round must free the actor slots of its proxies: the spawns need all
 * slots.
 */
PEAL_TEST(the_end_of_an_actor_is_that_of_its_proxies)
{
	uint64_t guest, proxy[4], actors[ACTORS];
	struct street s;
	uint32_t by, i;

	open_street(&s);
	for (by = 0; by < 6; by++) {
		guest = spawn(s.k[1], "guest", 0);
		proxy[0] = proxy_at(&s, 0, 0, guest);
		proxy[1] = proxy_at(&s, 0, 1, guest);
		proxy[2] = proxy_at(&s, 2, 0, guest);
		if (by & 1) {
			CHECK_OK(move_to(&s, proxy[0], 0, 1, 0));
			CHECK_OK(move_to(&s, proxy[1], 2, 1, 0));
		}
		proxy[3] = proxy_at(&s, by & 1 ? 1 : 2, 1, proxy[2]);
		CHECK_OK(peal_actor_retire(s.rt,
					   by & 2 ? proxy[by % 4] : guest));
		for (i = 0; i < 4; i++) {
			CHECK_EQ(peal_proxy_destroy(s.rt, proxy[i]),
				 PEAL_ENOENT);
			CHECK_EQ(peal_actor_retire(s.rt, proxy[i]),
				 PEAL_ENOENT);
		}
		for (i = 0; i < KERNELS; i++) {
			CHECK_OK(peal_actor_spawn_many(s.k[i], "guest", NULL,
						       ACTORS, actors));
			CHECK_OK(peal_actor_retire_many(s.rt, actors, ACTORS));
		}
	}
	close_street(&s);
}

PEAL_TEST(what_comes_by_a_proxy_that_leads_nowhere_is_dead)
{
	struct street s;

	CHECK_OK(peal_link_destroy(open_far(&s)));
	send_note(&s, BY_TELL);
	CHECK_EQ(settle(&s, s.guest, 1).notes, 1);
	CHECK_OK(peal_kernel_stop(s.k[1], PATIENCE));
	CHECK_OK(peal_kernel_destroy(s.k[1]));
	s.k[1] = s.k[0];
	send_note(&s, BY_TELL);
	EVENTUALLY(mail_dead(s.k[0]) == 1);
	CHECK_EQ(peal_actor_retire(s.rt, s.guest), PEAL_ENOENT);
	CHECK_OK(peal_proxy_destroy(s.rt, s.guest));
	expect_unknown(&s);
	close_street(&s);
}

/*
 * Destroys the kernel in which the guest was spawned, after the guest has
 * migrated to kernel `home`. The proxy must lead past that kernel.
 */
static void lose_kernel_between(int home)
{
	uint64_t actors[ACTORS];
	struct street s;
	uint32_t i, by;

	/* an open link would keep the kernel from draining */
	CHECK_OK(peal_link_destroy(open_far(&s)));
	CHECK_OK(move_to(&s, s.guest, home, 1, 0));
	for (i = 0; i < 20; i++)
		for (by = BY_OTHER_LINK; by < BY_TOPIC; by++)
			send_note(&s, (enum sender)by);
	CHECK_EQ(settle(&s, s.newest, home).notes, notes_sent(&s));
	CHECK_OK(peal_kernel_drain(s.k[1], PATIENCE));
	CHECK_OK(peal_kernel_destroy(s.k[1]));
	s.k[1] = s.k[0];
	for (by = BY_OTHER_LINK; by < BY_TOPIC; by++)
		send_note(&s, (enum sender)by);
	expect_all(&s, s.guest, home);
	CHECK_OK(peal_proxy_destroy(s.rt, s.guest));
	expect_unknown(&s);
	/* the actor's retirement frees its other actor slots */
	CHECK_OK(peal_actor_retire(s.rt, s.newest));
	CHECK_OK(peal_actor_spawn_many(s.k[0], "guest", NULL, ACTORS - 4,
				       actors));
	close_street(&s);
}

PEAL_TEST(a_proxy_leads_past_a_kernel_that_is_gone)
{
	lose_kernel_between(2);
}

PEAL_TEST(a_proxy_leads_to_an_actor_of_its_own_kernel)
{
	lose_kernel_between(0);
}

/* ---- refusals ------------------------------------------------------------ */

static void expect_refused(struct street *s, int kernel, uint64_t address,
			   uint32_t worker, int code, const char *text)
{
	struct peal_proxy_options o = { .size = sizeof(o), .worker = worker };
	uint64_t proxy = 7;

	CHECK_EQ(peal_proxy_create(s->k[kernel], address, &o, &proxy), code);
	CHECK_CONTAINS(peal_last_error()->text, text);
	CHECK_EQ(proxy, 7);
}

PEAL_TEST(what_cannot_have_a_proxy_is_refused)
{
	struct peal_kernel_options o = { .size = sizeof(o), .lanes = lanes };
	struct peal_kernel *mine, *bare = NULL, *tight = NULL;
	uint64_t guest, lone, actors[ACTORS], proxy;
	struct street s;
	uint32_t i;

	open_street(&s);
	mine = s.k[0];
	guest = spawn(s.k[1], "guest", 0);
	CHECK_EQ(peal_proxy_create(NULL, guest, NULL, &proxy), PEAL_EINVAL);
	CHECK_EQ(peal_proxy_create(mine, guest, NULL, NULL), PEAL_EINVAL);
	CHECK_EQ(peal_proxy_destroy(NULL, guest), PEAL_EINVAL);
	expect_refused(&s, 1, guest, 0, PEAL_EINVAL, "by its own number");
	expect_refused(&s, 0, 0x123456789ULL, 0, PEAL_ENOENT, "no actor or");
	expect_refused(&s, 0, peal_endpoint_address(s.e), 0, PEAL_ENOENT,
		       "no actor or");
	expect_refused(&s, 0, guest, 1 + WORKERS, PEAL_ENOENT, "no worker 2");
	CHECK_OK(peal_kernel_launch(s.rt, 1, &peal_program_guest, &o, &bare));
	lone = spawn(bare, "guest", 0);
	expect_refused(&s, 0, lone, 0, PEAL_ENOTSUP, "has no mailboxes");
	s.k[0] = bare;
	expect_refused(&s, 0, guest, 0, PEAL_ENOTSUP, "has no mailboxes");
	CHECK_OK(peal_kernel_stop(bare, PATIENCE));
	expect_refused(&s, 0, guest, 0, PEAL_ESTOPPED, "has ended");
	s.k[0] = mine;
	expect_refused(&s, 0, lone, 0, PEAL_ESTOPPED, "has ended");
	/* leaves 0 passage_slots, as the sum is at most 2^20 */
	o.mailbox_slots = 1 << 20;
	CHECK_OK(peal_kernel_launch(s.rt, 1, &peal_program_guest, &o, &tight));
	lone = spawn(tight, "guest", 0);
	expect_refused(&s, 0, lone, 0, PEAL_ENOTSUP, "too few for");
	CHECK_OK(peal_kernel_stop(tight, PATIENCE));
	CHECK_OK(peal_actor_spawn_many(s.k[0], "guest", NULL, ACTORS, actors));
	expect_refused(&s, 0, guest, 0, PEAL_ENOSPC, "a proxy takes one");
	CHECK_OK(peal_actor_retire(s.rt, actors[5]));
	for (i = 0; i < 3; i++) {
		CHECK_OK(peal_proxy_create(s.k[0], guest, NULL, &proxy));
		CHECK_OK(peal_proxy_destroy(s.rt, proxy));
	}
	close_street(&s);
}

PEAL_TEST(a_worker_without_a_port_is_named)
{
	uint64_t guest[1], proxy;
	struct street s;
	uint32_t i;

	open_street(&s);
	guest[0] = spawn(s.k[1], "guest", 0);
	for (i = 0; i < 4; i++) /* takes all ports of worker 0 */
		spawn(s.k[0], "porter", 0);
	expect_refused(&s, 0, guest[0], 0, PEAL_ENOSPC, "max_ports are used");
	CHECK_OK(peal_proxy_create(
		s.k[0], guest[0],
		&(struct peal_proxy_options){ sizeof(struct peal_proxy_options),
					      2 },
		&proxy));
	/* worker 1 has a forwarding link now, and worker 0 uses it */
	CHECK_OK(peal_proxy_create(s.k[0], guest[0], NULL, &proxy));
	s.guest = proxy;
	spawn_herald(&s, BY_TELL, 0);
	send_note(&s, BY_TELL);
	CHECK_EQ(settle(&s, proxy, 1).notes, 1);
	close_street(&s);
}

PEAL_TEST_MAIN(RUN_LANES(handlers_tell_an_actor_on_another_device);
	       RUN_LANES(a_proxy_leads_to_its_actor_wherever_that_moves);
	       RUN_LANES(two_kernels_tell_each_other_without_end);
	       RUN_LANES(a_pool_has_proxies_and_another_program);
	       RUN_LANES(a_request_is_handed_on_to_a_proxy);
	       RUN_LANES(for_the_host_a_proxy_is_an_address_of_its_actor);
	       RUN_LANES(the_end_of_an_actor_is_that_of_its_proxies);
	       RUN_LANES(what_comes_by_a_proxy_that_leads_nowhere_is_dead);
	       RUN_LANES(a_proxy_leads_past_a_kernel_that_is_gone);
	       RUN_LANES(a_proxy_leads_to_an_actor_of_its_own_kernel);
	       RUN_LANES(what_cannot_have_a_proxy_is_refused);
	       RUN_LANES(a_worker_without_a_port_is_named);)
