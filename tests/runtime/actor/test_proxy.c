/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Handlers tell actors of other kernels by a proxy. Shows that each message
 * arrives once, in order per sender, wherever the actor migrates.
 */

#include <peal/name.h>
#include <peal/pool.h>
#include <peal/proxy.h>
#include <peal/request.h>
#include "runtime/pools.h"
#include "runtime/migration_fixture.h"

static uint64_t proxy_at(struct fixture *s, int kernel, uint32_t worker,
			 uint64_t address)
{
	struct peal_proxy_options o = { .size = sizeof(o),
					.worker = PEAL_WORKER(worker) };
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
static struct peal_link *open_far(struct fixture *s)
{
	struct peal_link *link;

	open_fixture(s);
	s->newest = spawn(s->k[1], "guest", 1);
	s->guest = proxy_at(s, 0, 0, s->newest);
	link = harness_from(s->rt, s->e, BY_LINK, s->newest, plain);
	spawn_herald(s, BY_OTHER_LINK, 1);
	spawn_herald(s, BY_TELL, 0);
	spawn_herald(s, BY_OTHER_TELL, 1);
	spawn_herald(s, BY_TIMER, 0);
	return link;
}

static uint64_t mailbox_dead(struct peal_kernel *k)
{
	struct peal_kernel_info info;

	CHECK_OK(peal_kernel_info(k, &info));
	return info.mailbox_dead;
}

/*
 * Returns the messages of all forwarding links that were dead for lack of an
 * actor.
 */
static uint64_t fwd_link_dead(const struct fixture *s)
{
	struct peal_link_info info;
	struct peal_link *all[16];
	uint64_t dead = 0;
	int i, n = peal_link_list(s->rt, all, 16);

	for (i = 0; i < n; i++) {
		CHECK_OK(peal_link_info(all[i], &info));
		if ((uint32_t)info.from == PEAL_FWD_LINK_ACTOR)
			dead += info.dead[PEAL_REASON_NO_ACTOR];
	}
	return dead;
}

/* Makes a herald tell the destroyed proxy. Checks that the tell fails. */
static void expect_unknown(struct fixture *s)
{
	struct peal_kernel_info info;

	send_note(s, BY_OTHER_TELL);
	EVENTUALLY(!peal_kernel_info(s->k[0], &info) && info.failed == 1);
}

/* ---- messages ------------------------------------------------------------ */

static void expect_all(struct fixture *s, uint64_t address, int kernel)
{
	struct guest g = settle(s, address, kernel);
	uint32_t by;

	CHECK_EQ(g.id, ID);
	CHECK_EQ(g.notes, notes_sent(s));
	CHECK_EQ(g.disorder, 0);
	for (by = 0; by < SENDERS; by++)
		CHECK_EQ(g.next[by], s->sent[by]);
	for (kernel = 0; kernel < KERNELS; kernel++)
		CHECK_EQ(mailbox_dead(s->k[kernel]), 0);
}

PEAL_TEST(handlers_tell_an_actor_of_other_device)
{
	struct fixture s;
	uint32_t i, by;

	open_far(&s);
	for (i = 0; i < 400; i++)
		for (by = 0; by < BY_TOPIC; by++)
			send_note(&s, (enum sender)by);
	expect_all(&s, s.guest, 1);
	close_fixture(&s);
}

PEAL_TEST(proxy_follows_its_migrating_actor)
{
	/* kernel and worker, also those of the proxy */
	static const int stay[8][2] = { { 0, 1 }, { 1, 0 }, { 1, 1 }, { 0, 0 },
					{ 1, 1 }, { 0, 1 }, { 1, 0 }, { 2, 0 } };
	struct fixture s;
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
	close_fixture(&s);
}

/*
 * Two guests in two kernels. A herald of each kernel tells the other kernel's
 * guest, through mailboxes of 16 slots.
 */
PEAL_TEST(endless_mutual_tells_do_not_deadlock)
{
	struct herald init = { .sender = 0 };
	struct peal_actor_options o = { .size = sizeof(o),
					.init = &init,
					.init_bytes = sizeof(init) };
	uint64_t guest[2], herald;
	struct fixture s;
	struct guest g;
	uint32_t i, k;

	open_fixture(&s);
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
					   MAX_WAIT, NULL));
	s.sent[0] = 2000; /* each guest gets the notes of one herald */
	for (k = 0; k < 2; k++) {
		g = settle(&s, guest[k], (int)k);
		CHECK_EQ(g.notes, 2000);
		CHECK_EQ(g.disorder, 0);
	}
	close_fixture(&s);
}

PEAL_TEST(pool_has_proxies_in_kernel_of_other_program)
{
	struct peal_kernel_options o = { .size = sizeof(o),
					 .workers = WORKERS,
					 .lanes = lanes,
					 .mailbox.slots = 16 };
	struct peal_kernel *other = NULL;
	struct peal_kernel_info info;
	struct fixture s;
	uint64_t pool, member[WORKERS];
	uint32_t i;

	open_fixture(&s);
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
	EVENTUALLY(fwd_link_dead(&s) == 1);
	CHECK_OK(peal_proxy_destroy(s.rt, s.guest));
	CHECK_OK(peal_kernel_stop(other, MAX_WAIT));
	close_fixture(&s);
}

/*
 * A herald forwards a request of the host to a proxy. A porter in another
 * kernel replies.
 */
PEAL_TEST(request_is_delegated_to_a_proxy)
{
	struct peal_requester *asker = NULL;
	struct peal_received r;
	uint64_t porter, notes = 7;
	struct fixture s;

	open_fixture(&s);
	porter = spawn(s.k[1], "porter", 1);
	s.guest = proxy_at(&s, 0, 1, porter);
	spawn_herald(&s, BY_TELL, 0);
	CHECK_OK(peal_requester_create(s.rt, s.herald[BY_TELL], NULL, &asker));
	CHECK_OK(peal_requester_listen(asker, porter, 0));
	CHECK_OK(peal_request(asker, GUEST_DELEGATE, NULL, 0, &notes,
			      sizeof(notes), &r, MAX_WAIT));
	CHECK_EQ(notes, 0);
	CHECK_OK(peal_requester_destroy(asker));
	close_fixture(&s);
}

/* ---- addresses ----------------------------------------------------------- */

PEAL_TEST(host_treats_proxy_as_actor_address)
{
	struct peal_link *link;
	uint64_t found, second;
	struct fixture s;

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
	close_fixture(&s);
}

/*
 * Each round must free the actor slots of its proxies: the spawns need all
 * slots.
 */
PEAL_TEST(actor_end_frees_its_proxies)
{
	uint64_t guest, proxy[4], actors[ACTORS];
	struct fixture s;
	uint32_t by, i;

	open_fixture(&s);
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
	close_fixture(&s);
}

PEAL_TEST(messages_by_dangling_proxy_are_dead)
{
	struct fixture s;

	CHECK_OK(peal_link_destroy(open_far(&s)));
	send_note(&s, BY_TELL);
	CHECK_EQ(settle(&s, s.guest, 1).notes, 1);
	CHECK_OK(peal_kernel_stop(s.k[1], MAX_WAIT));
	CHECK_OK(peal_kernel_destroy(s.k[1]));
	s.k[1] = s.k[0];
	send_note(&s, BY_TELL);
	EVENTUALLY(mailbox_dead(s.k[0]) == 1);
	CHECK_EQ(peal_actor_retire(s.rt, s.guest), PEAL_ENOENT);
	CHECK_OK(peal_proxy_destroy(s.rt, s.guest));
	expect_unknown(&s);
	close_fixture(&s);
}

/*
 * Destroys the kernel in which the guest was spawned, after the guest has
 * migrated to kernel `home`. The proxy must lead past that kernel.
 */
static void lose_kernel_between(int home)
{
	uint64_t actors[ACTORS];
	struct fixture s;
	uint32_t i, by;

	/* an open link would keep the kernel from draining */
	CHECK_OK(peal_link_destroy(open_far(&s)));
	CHECK_OK(move_to(&s, s.guest, home, 1, 0));
	for (i = 0; i < 20; i++)
		for (by = BY_OTHER_LINK; by < BY_TOPIC; by++)
			send_note(&s, (enum sender)by);
	CHECK_EQ(settle(&s, s.newest, home).notes, notes_sent(&s));
	CHECK_OK(peal_kernel_drain(s.k[1], MAX_WAIT));
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
	close_fixture(&s);
}

PEAL_TEST(proxy_bypasses_ended_kernel)
{
	lose_kernel_between(2);
}

PEAL_TEST(proxy_resolves_to_actor_of_same_kernel)
{
	lose_kernel_between(0);
}

/* ---- refusals ------------------------------------------------------------ */

static void expect_refused(struct fixture *s, int kernel, uint64_t address,
			   uint32_t worker, int code, const char *text)
{
	struct peal_proxy_options o = { .size = sizeof(o), .worker = worker };
	uint64_t proxy = 7;

	CHECK_EQ(peal_proxy_create(s->k[kernel], address, &o, &proxy), code);
	CHECK_CONTAINS(peal_last_error()->text, text);
	CHECK_EQ(proxy, 7);
}

PEAL_TEST(invalid_proxies_are_refused)
{
	struct peal_kernel_options o = { .size = sizeof(o), .lanes = lanes };
	struct peal_kernel *mine, *bare = NULL, *tight = NULL;
	uint64_t guest, lone, actors[ACTORS], proxy;
	struct fixture s;
	uint32_t i;

	open_fixture(&s);
	mine = s.k[0];
	guest = spawn(s.k[1], "guest", 0);
	CHECK_EQ(peal_proxy_create(NULL, guest, NULL, &proxy), PEAL_EINVAL);
	CHECK_EQ(peal_proxy_create(mine, guest, NULL, NULL), PEAL_EINVAL);
	CHECK_EQ(peal_proxy_destroy(NULL, guest), PEAL_EINVAL);
	expect_refused(&s, 1, guest, 0, PEAL_EINVAL,
		       "'guest': has the actor "
		       "itself and needs no proxy");
	expect_refused(&s, 0, 0x123456789ULL, 0, PEAL_ENOENT, "no actor or");
	expect_refused(&s, 0, peal_endpoint_address(s.e), 0, PEAL_ENOENT,
		       "no actor or");
	expect_refused(&s, 0, guest, 1 + WORKERS, PEAL_ENOENT,
		       "'worker': is "
		       "of no worker of kernel 'guest' (3, allowed 0..2)");
	CHECK_OK(peal_kernel_launch(s.rt, 1, &peal_program_guest, &o, &bare));
	lone = spawn(bare, "guest", 0);
	expect_refused(&s, 0, lone, 0, PEAL_ENOTSUP, "has no mailboxes");
	s.k[0] = bare;
	expect_refused(&s, 0, guest, 0, PEAL_ENOTSUP, "has no mailboxes");
	CHECK_OK(peal_kernel_stop(bare, MAX_WAIT));
	expect_refused(&s, 0, guest, 0, PEAL_ESTOPPED, "has ended");
	s.k[0] = mine;
	expect_refused(&s, 0, lone, 0, PEAL_ESTOPPED, "has ended");
	/* leaves 0 mailbox.forward_slots, as the sum is at most 2^20 */
	o.mailbox.slots = 1 << 20;
	CHECK_OK(peal_kernel_launch(s.rt, 1, &peal_program_guest, &o, &tight));
	lone = spawn(tight, "guest", 0);
	expect_refused(
		&s, 0, lone, 0, PEAL_ENOTSUP,
		"'guest': has too few "
		"mailbox.forward_slots for its handlers (0, allowed 1..1048576)");
	CHECK_OK(peal_kernel_stop(tight, MAX_WAIT));
	CHECK_OK(peal_actor_spawn_many(s.k[0], "guest", NULL, ACTORS, actors));
	expect_refused(&s, 0, guest, 0, PEAL_ENOSPC, "a proxy needs one");
	CHECK_OK(peal_actor_retire(s.rt, actors[5]));
	for (i = 0; i < 3; i++) {
		CHECK_OK(peal_proxy_create(s.k[0], guest, NULL, &proxy));
		CHECK_OK(peal_proxy_destroy(s.rt, proxy));
	}
	close_fixture(&s);
}

PEAL_TEST(worker_without_free_port_is_named)
{
	uint64_t guest[1], proxy;
	struct fixture s;
	uint32_t i;

	open_fixture(&s);
	guest[0] = spawn(s.k[1], "guest", 0);
	for (i = 0; i < 4; i++) /* takes all ports of worker 0 */
		spawn(s.k[0], "porter", 0);
	expect_refused(
		&s, 0, guest[0], 0, PEAL_ENOSPC,
		"'guest': has no free "
		"port for messages to kernel 'guest' (max_ports 4, allowed up "
		"to 4096)");
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
	close_fixture(&s);
}

PEAL_TEST_MAIN(RUN_LANES(handlers_tell_an_actor_of_other_device);
	       RUN_LANES(proxy_follows_its_migrating_actor);
	       RUN_LANES(endless_mutual_tells_do_not_deadlock);
	       RUN_LANES(pool_has_proxies_in_kernel_of_other_program);
	       RUN_LANES(request_is_delegated_to_a_proxy);
	       RUN_LANES(host_treats_proxy_as_actor_address);
	       RUN_LANES(actor_end_frees_its_proxies);
	       RUN_LANES(messages_by_dangling_proxy_are_dead);
	       RUN_LANES(proxy_bypasses_ended_kernel);
	       RUN_LANES(proxy_resolves_to_actor_of_same_kernel);
	       RUN_LANES(invalid_proxies_are_refused);
	       RUN_LANES(worker_without_free_port_is_named);)
