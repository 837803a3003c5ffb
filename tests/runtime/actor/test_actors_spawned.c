/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One call spawns or retires many actors, or none of them. Slots, states and
 * ports of retired actors are free again. Actors can share ports.
 */

#include <peal/pool.h>
#include "runtime/short_timeout.h"
#include "runtime/tallies.h"

PEAL_DECLARE_PROGRAM(pools);

#define N 3000 /* exceeds the actors of one control message */
#define WORKERS 3

static uint64_t address[N], other[N];

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static void check_distinct(const uint64_t *addresses, uint32_t n)
{
	static uint64_t sorted[N];
	uint32_t i;

	memcpy(sorted, addresses, n * sizeof(*sorted));
	qsort(sorted, n, sizeof(*sorted), compare);
	for (i = 1; i < n; i++)
		CHECK(sorted[i - 1] < sorted[i]);
}

/* Sends two messages to each actor by one link. All are handled. */
static void use_all(struct peal_runtime *rt, struct peal_kernel *k,
		    const uint64_t *addresses, uint64_t first, uint32_t n)
{
	struct peal_endpoint *e = harness_endpoint(rt);
	struct peal_link_options o = { .capacity = 64 };
	struct peal_link *link = harness_from(rt, e, 0, addresses[0], o);
	uint64_t handled = tallies_info(k).handled;
	uint32_t i;

	for (i = 0; i < 2 * n; i++)
		tallies_send(e, 0, addresses[i % n], first + i % n, i / n);
	EVENTUALLY(tallies_info(k).handled - handled == 2 * n);
	CHECK_EQ(tallies_info(k).failed, 0);
	CHECK_OK(peal_link_destroy(link));
	CHECK_OK(peal_endpoint_destroy(e));
}

PEAL_TEST(spawned_actors_have_own_state_and_free_slots)
{
	struct peal_kernel_options o = { .workers = WORKERS,
					 .max_actors = N + 1,
					 .mailbox.slots = 1024,
					 .arena_bytes = (N + 1) * 32 };
	struct peal_runtime *rt = harness_open(1, "");
	struct peal_kernel *k = tallies_launch(rt, 0, o);
	int round;

	for (round = 0; round < 3; round++) {
		tallies_spawn(k, "tally", -1, 1000 * (uint64_t)round, N,
			      address);
		check_distinct(address, N);
		EVENTUALLY(tallies_info(k).actors == N);
		use_all(rt, k, address, 1000 * (uint64_t)round, N);
		CHECK_OK(peal_actor_retire_many(rt, address, N));
		CHECK_EQ(tallies_info(k).actors, 0);
		CHECK_FAILS(peal_actor_retire(rt, address[7]), PEAL_ENOENT,
			    "no actor");
	}
	/* the capacity is free again, also for another handler */
	CHECK_OK(peal_actor_spawn_many(k, "post", NULL, 15, address));
	CHECK_OK(peal_kernel_stop(k, MAX_WAIT));
	CHECK_OK(peal_runtime_shutdown(rt));
}

PEAL_TEST(spawns_are_distributed_round_robin)
{
	struct peal_kernel_options o = { .workers = WORKERS };
	struct peal_runtime *rt = harness_open(1, "");
	struct peal_kernel *k = tallies_launch(rt, 0, o);
	struct peal_worker_info before, after;
	struct peal_endpoint *e = harness_endpoint(rt);
	struct peal_link_options lo = { .capacity = 16 };
	static const uint32_t share[] = { 0, 0, 0, 0, 1, 1, 1, 2, 2, 2 };
	uint32_t i;

	CHECK_OK(peal_actor_spawn(k, "post", NULL, &other[0]));
	CHECK_OK(peal_actor_spawn(k, "post", NULL, &other[1]));
	CHECK_OK(peal_actor_spawn(k, "post", NULL, &other[2]));
	tallies_spawn(k, "tally", -1, 0, 10, address);
	for (i = 0; i < 10; i++) {
		harness_from(rt, e, i, address[i], lo);
		CHECK_OK(peal_worker_info(k, share[i], &before));
		tallies_send(e, i, address[i], i, 0);
		EVENTUALLY(!peal_worker_info(k, share[i], &after) &&
			   after.handled == before.handled + 1);
	}
	CHECK_OK(peal_kernel_stop(k, MAX_WAIT));
	CHECK_OK(peal_runtime_shutdown(rt));
}

static void swap(uint64_t *a, uint64_t *b)
{
	uint64_t c = *a;

	*a = *b;
	*b = c;
}

PEAL_TEST(actors_work_after_random_spawn_and_retire)
{
	struct peal_kernel_options o = { .workers = 2,
					 .max_actors = 400,
					 .mailbox.slots = 256,
					 .arena_bytes = 400 * 32 };
	struct peal_runtime *rt = harness_open(1, "");
	struct peal_kernel *k = tallies_launch(rt, 0, o);
	unsigned long long state = 1;
	uint64_t id = 0, ids[400];
	uint32_t n = 0, round, many, i, at;

	for (round = 0; round < 200; round++) {
		many = 1 + (uint32_t)(test_random(&state) % 50);
		if (test_random(&state) % 2 && n >= many) {
			for (i = 0; i < many; i++) { /* random actors */
				at = (uint32_t)(test_random(&state) % (n - i));
				swap(&address[at], &address[n - 1 - i]);
				swap(&ids[at], &ids[n - 1 - i]);
			}
			n -= many;
			CHECK_OK(peal_actor_retire_many(rt, address + n, many));
		} else if (n + many <= 400) {
			tallies_spawn(k, "tally", -1, id, many, address + n);
			use_all(rt, k, address + n, id, many);
			for (i = 0; i < many; i++)
				ids[n++] = id++;
		}
		check_distinct(address, n);
		EVENTUALLY(tallies_info(k).actors == n);
	}
	CHECK_OK(peal_kernel_suspend(k, MAX_WAIT));
	for (i = 0; i < n; i++) { /* no state was overwritten */
		CHECK_EQ(tallies_state(rt, address[i]).id, ids[i]);
		CHECK_EQ(tallies_state(rt, address[i]).next, 2);
	}
	CHECK_OK(peal_kernel_stop(k, MAX_WAIT));
	CHECK_OK(peal_runtime_shutdown(rt));
}

static void check_state(struct peal_runtime *rt, uint64_t at, uint64_t id)
{
	struct tally t = tallies_state(rt, at);

	CHECK_EQ(t.id, id);
	CHECK_EQ(t.next, 0);
	CHECK_EQ(t.zero, 0);
}

PEAL_TEST(initial_state_equals_init_bytes)
{
	struct peal_kernel_options o = { .workers = 2,
					 .max_actors = 100,
					 .arena_bytes = 4 << 20 };
	struct tally dirt = { 7, 7, 7 };
	const uint64_t nine = 9;
	struct peal_actor_options a = { .size = sizeof(a),
					.init = &dirt,
					.init_bytes = sizeof(dirt) };
	struct peal_runtime *rt = harness_open(1, "");
	struct peal_kernel *k = tallies_launch(rt, 0, o);
	uint32_t i;

	/* all actors have one init: small states are filled by the worker */
	CHECK_OK(peal_actor_spawn_many(k, "tally", &a, 40, address));
	CHECK_OK(peal_actor_spawn_many(k, "large", &a, 10, other));
	CHECK_OK(peal_kernel_suspend(k, MAX_WAIT));
	for (i = 0; i < 40; i++)
		CHECK_EQ(tallies_state(rt, address[i]).next, 7);
	for (i = 0; i < 10; i++)
		CHECK_EQ(tallies_state(rt, other[i]).next, 7);
	CHECK_OK(peal_kernel_resume(k));
	CHECK_OK(peal_actor_retire_many(rt, other, 10));
	CHECK_OK(peal_actor_retire_many(rt, address, 40));
	/* reused states, filled by the worker: zeros follow the init */
	a.init = &nine;
	a.init_bytes = sizeof(nine);
	CHECK_OK(peal_actor_spawn_many(k, "tally", &a, 40, address));
	CHECK_OK(peal_kernel_suspend(k, MAX_WAIT));
	for (i = 0; i < 40; i++)
		check_state(rt, address[i], nine);
	CHECK_OK(peal_kernel_resume(k));
	CHECK_OK(peal_actor_retire_many(rt, address, 40));
	/* each actor has its own init: the host fills the states */
	tallies_spawn(k, "tally", -1, 100, 40, address);
	tallies_spawn(k, "large", -1, 200, 10, other);
	CHECK_OK(peal_kernel_suspend(k, MAX_WAIT));
	for (i = 0; i < 40; i++)
		check_state(rt, address[i], 100 + i);
	for (i = 0; i < 10; i++)
		check_state(rt, other[i], 200 + i);
	CHECK_OK(peal_kernel_stop(k, MAX_WAIT));
	CHECK_OK(peal_runtime_shutdown(rt));
}

/* All actors have one init. It is too long for a control message. */
PEAL_TEST(long_inits_are_followed_by_zeros)
{
	static uint8_t full[TALLY_LARGE_BYTES], got[TALLY_LARGE_BYTES];
	struct peal_kernel_options o = { .workers = 2,
					 .max_actors = 4,
					 .arena_bytes = 4 * TALLY_LARGE_BYTES };
	struct peal_actor_options a = { .size = sizeof(a),
					.init = full,
					.init_bytes = sizeof(full) };
	struct peal_runtime *rt = harness_open(1, "");
	struct peal_kernel *k = tallies_launch(rt, 0, o);
	uint32_t i, at;

	memset(full, 0x55, sizeof(full));
	CHECK_OK(peal_actor_spawn_many(k, "large", &a, 4, address));
	CHECK_OK(peal_actor_retire_many(rt, address, 4));
	a.init_bytes = 100;
	CHECK_OK(peal_actor_spawn_many(k, "large", &a, 4, address));
	CHECK_OK(peal_kernel_suspend(k, MAX_WAIT));
	for (i = 0; i < 4; i++) {
		CHECK_OK(peal_actor_state(rt, address[i], got, sizeof(got)));
		for (at = 0; at < sizeof(got); at++)
			CHECK_EQ(got[at], at < 100 ? 0x55 : 0);
	}
	CHECK_OK(peal_kernel_stop(k, MAX_WAIT));
	CHECK_OK(peal_runtime_shutdown(rt));
}

PEAL_TEST(failed_spawn_many_creates_no_actor)
{
	struct peal_kernel_options o = { .workers = 2,
					 .max_actors = 10,
					 .max_ports = 3,
					 .arena_bytes = 5 * 32,
					 .name = "small" };
	struct peal_actor_options a = { .size = sizeof(a), .worker = 1 };
	struct peal_runtime *rt = harness_open(1, "");
	struct peal_kernel *k = tallies_launch(rt, 0, o);
	uint64_t init[2] = { 1, 2 };

#define MANY(handler, n) peal_actor_spawn_many(k, handler, &a, n, address)
	CHECK_FAILS(MANY("post", 0), PEAL_EINVAL,
		    "'n': is out of range (0, "
		    "allowed 1..4294967295)");
	CHECK_EQ(peal_actor_spawn_many(k, "post", &a, 1, NULL), PEAL_EINVAL);
	CHECK_FAILS(MANY("post", 11), PEAL_ENOSPC,
		    "'small': has too few of max_actors left for actors on "
		    "worker 0 (11, allowed 0..10)");
	CHECK_FAILS(MANY("tally", 6), PEAL_ENOSPC,
		    "'small': has too few of arena_bytes left for 6 states of "
		    "'tally' on worker 0 (192, allowed 0..160)");
	CHECK_FAILS(MANY("post", 4), PEAL_ENOSPC,
		    "'small': has too few of max_ports left on worker 0 for 4 "
		    "actors of 'post' (4, allowed 0..3)");
	a.worker = 0;
	/* the arena has memory for the share of worker 0 alone */
	CHECK_FAILS(MANY("tally", 7), PEAL_ENOSPC, "arena_bytes");
	a.init = init;
	a.init_bytes = 16;
	a.init_stride = 8;
	CHECK_FAILS(
		MANY("tally", 2), PEAL_EINVAL,
		"'init_stride': is too "
		"small, as the initial states would overlap (8, allowed 0 or "
		"at least 16)");
	a.init_bytes = a.init_stride = 0;
	CHECK_EQ(tallies_info(k).actors, 0);
	/* the failed calls have taken no capacity */
	CHECK_OK(MANY("tally", 5));
	CHECK_OK(peal_actor_spawn_many(k, "post", &a, 5, other));
	CHECK_FAILS(MANY("post", 1), PEAL_ENOSPC, "all 10 of max_actors");
#undef MANY
	CHECK_OK(peal_kernel_stop(k, MAX_WAIT));
	CHECK_FAILS(peal_actor_spawn_many(k, "post", &a, 1, other), PEAL_ENOSPC,
		    "max_actors");
	CHECK_EQ(peal_actor_retire_many(rt, address, 5), PEAL_ESTOPPED);
	CHECK_OK(peal_runtime_shutdown(rt));
}

PEAL_TEST(failed_retire_many_retires_no_actor)
{
	struct peal_runtime *rt = harness_open(2, "");
	struct peal_kernel_options o = { .workers = 2, .name = "here" };
	struct peal_kernel *k = tallies_launch(rt, 0, o);
	struct peal_kernel *far = tallies_launch(rt, 1, o);
	struct peal_link_options lo = { .capacity = 16 };
	struct peal_endpoint *e = harness_endpoint(rt);
	struct peal_link *link;

	tallies_spawn(k, "tally", -1, 0, 8, address);
	tallies_spawn(far, "tally", -1, 0, 1, other);
	link = harness_from(rt, e, 0, address[6], lo);
	CHECK_FAILS(peal_actor_retire_many(rt, address, 8), PEAL_EBUSY,
		    "actors that share its ports (in all 1)");
	CHECK_OK(peal_link_destroy(link));
	address[8] = address[3];
	CHECK_FAILS(peal_actor_retire_many(rt, address, 9), PEAL_EINVAL,
		    "is listed twice");
	address[8] = other[0];
	CHECK_FAILS(peal_actor_retire_many(rt, address, 9), PEAL_EINVAL,
		    "kernel 'here': has no such actor, which is of another "
		    "kernel (");
	address[8] = address[3] + 40;
	CHECK_FAILS(peal_actor_retire_many(rt, address, 9), PEAL_ENOENT,
		    "kernel 'here': has no such actor (");
	CHECK_EQ(peal_actor_retire_many(rt, address, 0), PEAL_EINVAL);
	CHECK_EQ(peal_actor_retire_many(rt, NULL, 1), PEAL_EINVAL);
	CHECK_EQ(peal_actor_retire_many(NULL, address, 1), PEAL_EINVAL);
	EVENTUALLY(tallies_info(k).actors == 8);
	use_all(rt, k, address, 0, 1);
	CHECK_OK(peal_actor_retire_many(rt, address, 8));
	CHECK_OK(peal_kernel_stop(k, MAX_WAIT));
	CHECK_OK(peal_kernel_stop(far, MAX_WAIT));
	CHECK_OK(peal_runtime_shutdown(rt));
}

/* ---- shared ports -------------------------------------------------------- */

PEAL_TEST(many_actors_share_ports_of_one_actor)
{
	struct peal_kernel_options o = { .workers = 2,
					 .max_actors = N,
					 .max_ports = 2,
					 .arena_bytes = N * 32 };
	struct peal_actor_options a = { .size = sizeof(a), .worker = 2 };
	struct peal_link_options lo = { .capacity = 64 };
	struct peal_runtime *rt = harness_open(1, "");
	struct peal_kernel *k = tallies_launch(rt, 0, o);
	struct peal_endpoint *e = harness_endpoint(rt);
	struct tally_message m = { 0, 0, 0 };
	struct peal_received r;
	struct peal_link *from;
	uint64_t first;
	uint32_t i;

	CHECK_OK(peal_actor_spawn(k, "post", &a, &other[0]));
	CHECK_OK(peal_actor_spawn(k, "answer", &a, &first));
	a.share_ports_with = first;
	a.worker = 0; /* defaults to the worker of `first` */
	CHECK_OK(peal_actor_spawn_many(k, "answer", &a, N - 3, address));
	harness_from(rt, e, 0, first, lo);
	from = harness_to(rt, first, e, lo);
	for (i = 0; i < N - 3; i++) { /* no init: each id is 0 */
		m.actor = i;
		CHECK_OK(peal_send_to(e, 0, address[i], 5, &m, sizeof(m),
				      MAX_WAIT, NULL));
		if (i >= 32) /* at most 32 answers are in flight */
			CHECK_OK(peal_receive(e, &m, sizeof(m), &r, MAX_WAIT));
		CHECK(i < 32 || m.actor == i - 32);
	}
	for (i = N - 3 - 32; i < N - 3; i++) {
		CHECK_OK(peal_receive(e, &m, sizeof(m), &r, MAX_WAIT));
		CHECK_EQ(m.actor, i);
	}
	harness_delivered(from, N - 3);
	CHECK_FAILS(peal_actor_retire(rt, first), PEAL_EBUSY,
		    "share its ports");
	CHECK_FAILS(peal_connect(rt, address[4], 0, peal_endpoint_address(e),
				 NULL, NULL),
		    PEAL_EINVAL, "shares the ports of actor");
	CHECK_OK(peal_actor_retire_many(rt, address, N - 3));
	CHECK_OK(peal_link_destroy(from));
	CHECK_FAILS(peal_actor_retire(rt, first), PEAL_EBUSY, "(in all 1)");
	CHECK_OK(peal_kernel_stop(k, MAX_WAIT));
	CHECK_OK(peal_runtime_shutdown(rt));
}

PEAL_TEST(ports_are_shared_only_with_matching_actors)
{
	struct peal_runtime *rt = harness_open(1, "");
	struct peal_kernel_options o = { .workers = 2, .name = "here" };
	struct peal_kernel *k = tallies_launch(rt, 0, o);
	struct peal_kernel *second = tallies_launch(rt, 0, o);
	struct peal_actor_options a = { .size = sizeof(a), .worker = 1 };
	uint64_t owner, portless, shares;

	CHECK_OK(peal_actor_spawn(k, "answer", &a, &owner));
	CHECK_OK(peal_actor_spawn(k, "tally", &a, &portless));
	a.share_ports_with = owner;
	CHECK_OK(peal_actor_spawn(k, "post", &a, &shares)); /* as many ports */
	CHECK_OK(peal_actor_spawn(k, "tally", &a, &other[0])); /* fewer ports */
	CHECK_FAILS(peal_actor_spawn(second, "post", &a, &other[1]),
		    PEAL_ENOENT,
		    "'share_ports_with': is of no actor of kernel "
		    "'here'");
	a.worker = 2;
	CHECK_FAILS(peal_actor_spawn(k, "post", &a, &other[1]), PEAL_EINVAL,
		    "'worker': is not the worker of actor 0 of kernel 'here', "
		    "which share_ports_with names (2, allowed 0 or 1)");
	a.worker = 0;
	a.share_ports_with = shares;
	CHECK_FAILS(peal_actor_spawn(k, "post", &a, &other[1]), PEAL_EINVAL,
		    "has no ports of its own");
	a.share_ports_with = portless;
	CHECK_FAILS(
		peal_actor_spawn(k, "post", &a, &other[1]), PEAL_EINVAL,
		"'share_ports_with': is of handler 'tally', which has too "
		"few ports or messages for handler 'post' (ports 1, messages "
		"1, allowed 0..0, 0..0)");
	a.share_ports_with = portless + 30;
	CHECK_FAILS(peal_actor_spawn(k, "post", &a, &other[1]), PEAL_ENOENT,
		    "share_ports_with");
	EVENTUALLY(tallies_info(k).actors == 4);
	CHECK_OK(peal_kernel_stop(k, MAX_WAIT));
	CHECK_OK(peal_kernel_stop(second, MAX_WAIT));
	CHECK_OK(peal_runtime_shutdown(rt));
}

/* Spawns an actor with a random handler on a random worker. */
static void spawn_any(struct peal_kernel *k, unsigned long long *state,
		      uint64_t id, uint64_t *address_out)
{
	static const char *const kinds[] = { "tally", "asked", "post",
					     "large" };
	uint32_t kind = (uint32_t)(test_random(state) % (4));
	struct peal_actor_options o = {
		.size = sizeof(o),
		.worker = (uint32_t)(test_random(state) % (WORKERS + 1)),
		.init = &id,
		.init_bytes = kind == 2 ? 0 : 8
	};

	CHECK_OK(peal_actor_spawn(k, kinds[kind], &o, address_out));
}

/* Retired actors leave capacity for as many new actors. The order, the handlers
 * and the workers do not matter. */
PEAL_TEST(freed_slots_fit_actors_of_any_kind)
{
	enum { MOST = 24, LARGE = 100000 }; /* LARGE: a multiple of 16 */
	struct peal_kernel_options o = { .workers = WORKERS,
					 .max_actors = MOST,
					 .max_ports = MOST,
					 .mailbox.slots = 64,
					 .arena_bytes = 2 * MOST * LARGE };
	struct peal_runtime *rt = harness_open(1, "");
	struct peal_kernel *k = tallies_launch(rt, 0, o);
	unsigned long long state = 7;
	uint64_t live[MOST] = { 0 }, born[MOST], first, i, at;
	uint64_t rounds = test_part(IDENTITY_SANITIZED ? 300 : 1500);

	for (i = 0; i < rounds; i++) {
		at = test_random(&state) % MOST;
		if (live[at])
			CHECK_OK(peal_actor_retire(rt, live[at]));
		live[at] = 0;
		if (test_random(&state) % 4)
			spawn_any(k, &state, i, &live[at]);
		born[at] = i;
	}
	for (i = 0; i < MOST; i++) { /* fills max_actors */
		if (!live[i]) {
			spawn_any(k, &state, i, &live[i]);
			born[i] = i;
		}
	}
	check_distinct(live, MOST);
	/* no state was overwritten */
	CHECK_OK(peal_kernel_suspend(k, MAX_WAIT));
	for (i = 0; i < MOST; i++)
		if (!peal_actor_state(rt, live[i], &first, sizeof(first)))
			CHECK_EQ(first, born[i]);
	CHECK_OK(peal_kernel_resume(k));
	for (i = 0; i < MOST; i++)
		CHECK_OK(peal_actor_retire(rt, live[i]));
	CHECK_EQ(tallies_info(k).actors, 0);
	/* one worker can use all max_ports */
	tallies_spawn(k, "answer", 2, 0, MOST, live);
	CHECK_OK(peal_actor_retire_many(rt, live, MOST));
	tallies_spawn(k, "tally", -1, 90, MOST, live);
	use_all(rt, k, live, 90, MOST);
	CHECK_OK(peal_kernel_stop(k, MAX_WAIT));
	CHECK_OK(peal_runtime_shutdown(rt));
}

/* Checks that the link of each actor's own port carries its own answers. */
static void check_ports(struct peal_runtime *rt, const uint64_t *addresses,
			const uint64_t *ids, uint32_t n)
{
	struct peal_endpoint *e = harness_endpoint(rt);
	struct peal_link_options o = { .capacity = 4 };
	struct peal_link *link[33] = { 0 };
	struct tally_message m;
	struct peal_received r;
	uint32_t i;

	CHECK(n <= 32);
	link[n] = harness_from(rt, e, 0, addresses[0], o);
	for (i = 0; i < n; i++)
		link[i] = harness_to(rt, addresses[i], e, o);
	for (i = 0; i < n; i++) {
		tallies_send(e, 0, addresses[i], ids[i], 0);
		CHECK_OK(peal_receive(e, &m, sizeof(m), &r, MAX_WAIT));
		CHECK_EQ(r.from, addresses[i]);
		CHECK_EQ(m.id, ids[i]);
	}
	for (i = 0; i <= n; i++)
		CHECK_OK(peal_link_destroy(link[i]));
	CHECK_OK(peal_endpoint_destroy(e));
}

PEAL_TEST(reused_port_belongs_to_the_new_actor)
{
	enum { MOST = 30 };
	struct peal_kernel_options o = { .workers = WORKERS,
					 .max_actors = MOST,
					 .max_ports = MOST,
					 .mailbox.slots = 64 };
	struct peal_runtime *rt = harness_open(1, "");
	struct peal_kernel *k = tallies_launch(rt, 0, o);
	unsigned long long state = 11;
	uint64_t actor[MOST], id[MOST], n, i, at;
	uint64_t round;

	for (round = 0; round < 1 + test_part(5); round++) {
		for (n = 0; n < MOST; n++) {
			id[n] = n;
			tallies_spawn(
				k, test_random(&state) % 3 ? "answer" : "asked",
				(int)(test_random(&state) % WORKERS), n, 1,
				actor + n);
		}
		for (i = 0; i < MOST / 2; i++) {
			at = test_random(&state) % n;
			CHECK_OK(peal_actor_retire(rt, actor[at]));
			actor[at] = actor[--n];
		}
		for (i = 0; i < n; i++)
			CHECK_OK(peal_actor_retire(rt, actor[i]));
		for (n = 0; n < MOST; n++)
			tallies_spawn(k, "answer",
				      (int)(test_random(&state) % WORKERS),
				      id[n] = 100 + n, 1, actor + n);
		for (i = 0; i < MOST; i += 2) { /* after a portless actor */
			CHECK_OK(peal_actor_retire(rt, actor[i]));
			tallies_spawn(k, "tally", 0, 0, 1, actor + i);
			CHECK_OK(peal_actor_retire(rt, actor[i]));
			tallies_spawn(k, "answer",
				      (int)(test_random(&state) % WORKERS),
				      id[i] = 200 + i, 1, actor + i);
		}
		check_ports(rt, actor, id, MOST);
		CHECK_OK(peal_actor_retire_many(rt, actor, MOST));
	}
	CHECK_OK(peal_kernel_stop(k, MAX_WAIT));
	CHECK_OK(peal_runtime_shutdown(rt));
}

/* An actor reuses the ports of a retired actor. It emits nothing before its
 * port is connected. */
PEAL_TEST(reused_port_starts_unconnected)
{
	struct peal_kernel_options o = { .workers = 1,
					 .max_actors = 2,
					 .max_ports = 2 };
	struct peal_runtime *rt = harness_open(1, "");
	struct peal_kernel *k = tallies_launch(rt, 0, o);
	struct peal_endpoint *e = harness_endpoint(rt);
	struct peal_link_options four = { .capacity = 4 };
	uint64_t actor, was, id = 7;
	struct peal_received r;
	struct tally_message m;
	struct peal_link *link;

	tallies_spawn(k, "answer", 0, id, 1, &was);
	check_ports(rt, &was, &id, 1);
	CHECK_OK(peal_actor_retire(rt, was));
	tallies_spawn(k, "answer", 0, 8, 1, &actor);
	CHECK_EQ(PEAL_ACTOR_INDEX(actor), PEAL_ACTOR_INDEX(was));
	link = harness_from(rt, e, 0, actor, four);
	tallies_send(e, 0, actor, 8, 0);
	usleep(20000);
	CHECK_EQ(harness_info(link).delivered, 0);
	harness_to(rt, actor, e, four);
	CHECK_OK(peal_receive(e, &m, sizeof(m), &r, MAX_WAIT));
	CHECK_EQ(m.id, 8);
	EVENTUALLY(harness_info(link).delivered == 1);
	CHECK_OK(peal_kernel_stop(k, MAX_WAIT));
	CHECK_OK(peal_runtime_shutdown(rt));
}

/* The retirement of an actor does not free the ports that it shared. */
PEAL_TEST(retire_does_not_free_shared_ports)
{
	struct peal_kernel_options o = { .max_actors = 3, .mailbox.slots = 64 };
	struct peal_runtime *rt = harness_open(1, "");
	struct peal_kernel *k = tallies_launch(rt, 0, o);
	struct peal_actor_options shared = { .size = sizeof(shared) };
	uint64_t actor[2], sharer, last, id[2] = { 5, 6 };

	tallies_spawn(k, "answer", 0, 5, 1, &actor[0]);
	shared.share_ports_with = actor[0];
	CHECK_OK(peal_actor_spawn(k, "answer", &shared, &sharer));
	tallies_spawn(k, "tally", 0, 0, 1, &last);
	CHECK_OK(peal_actor_retire(rt, sharer));
	tallies_spawn(k, "answer", 0, 6, 1, &actor[1]);
	CHECK_EQ(PEAL_ACTOR_INDEX(actor[1]),
		 PEAL_ACTOR_INDEX(sharer)); /* its entry, not its ports */
	check_ports(rt, actor, id, 2);
	CHECK_OK(peal_kernel_stop(k, MAX_WAIT));
	CHECK_OK(peal_runtime_shutdown(rt));
}

/* States of small actors, retired in any order, merge to large free ranges. */
PEAL_TEST(freed_small_states_merge_for_large_states)
{
	enum { SMALL = 60, LARGE = 10 };
	struct peal_kernel_options o = { .workers = WORKERS,
					 .max_actors = SMALL,
					 .max_ports = SMALL,
					 .arena_bytes = LARGE * 100000 };
	struct peal_runtime *rt = harness_open(1, "");
	struct peal_kernel *k = tallies_launch(rt, 0, o);
	unsigned long long state = 3;
	uint64_t i;
	int round;

	for (round = 0; round < 3; round++) {
		for (i = 0; i < SMALL; i++)
			tallies_spawn(k, i % 3 ? "tally" : "asked",
				      (int)(i % WORKERS), i, 1, address + i);
		for (i = SMALL; i > 0; i--) {
			uint64_t at = test_random(&state) % i;

			CHECK_OK(peal_actor_retire(rt, address[at]));
			address[at] = address[i - 1];
		}
		tallies_spawn(k, "large", round, 0, LARGE, address);
		CHECK_OK(peal_actor_retire_many(rt, address, LARGE));
	}
	CHECK_OK(peal_kernel_stop(k, MAX_WAIT));
	CHECK_OK(peal_runtime_shutdown(rt));
}

/* A reused slot has a fresh state. Its neighbours keep their states. */
PEAL_TEST(reused_slot_has_a_fresh_state)
{
	struct peal_kernel_options o = { .workers = WORKERS,
					 .max_actors = 64,
					 .mailbox.slots = 256,
					 .arena_bytes = 64 * 32 };
	struct peal_runtime *rt = harness_open(1, "");
	struct peal_kernel *k = tallies_launch(rt, 0, o);
	uint64_t odd[32], i, round;

	tallies_spawn(k, "tally", 0, 0, 64, address);
	use_all(rt, k, address, 0, 64);
	for (i = 0; i < 32; i++)
		odd[i] = address[2 * i + 1];
	for (round = 1; round < 5; round++) {
		CHECK_OK(peal_actor_retire_many(rt, odd, 32));
		/* on another worker; only the 32 freed slots are left */
		tallies_spawn(k, "tally", (int)(round % WORKERS), 1000, 32,
			      odd);
		use_all(rt, k, odd, 1000, 32);
		CHECK_OK(peal_kernel_suspend(k, MAX_WAIT));
		for (i = 0; i < 32; i++) {
			CHECK_EQ(tallies_state(rt, odd[i]).next, 2);
			CHECK_EQ(tallies_state(rt, address[2 * i]).id, 2 * i);
			CHECK_EQ(tallies_state(rt, address[2 * i]).next, 2);
			address[2 * i + 1] = odd[i];
		}
		CHECK_OK(peal_kernel_resume(k));
		check_distinct(address, 64);
	}
	CHECK_OK(peal_kernel_stop(k, MAX_WAIT));
	CHECK_OK(peal_runtime_shutdown(rt));
}

/* Spawns without a worker can use free slots in the lists of worker 0. */
PEAL_TEST(spawn_skips_full_workers)
{
	struct peal_kernel_options o = { .workers = 2,
					 .max_actors = 4,
					 .mailbox.slots = 64 };
	struct peal_runtime *rt = harness_open(1, "");
	struct peal_kernel *k = tallies_launch(rt, 0, o);
	uint64_t extra;
	int i;

	tallies_spawn(k, "tally", 0, 0, 4, address);
	for (i = 0; i < 4; i++)
		CHECK_OK(peal_actor_retire(rt, address[i]));
	for (i = 0; i < 4; i++)
		tallies_spawn(k, "tally", -1, 50 + (uint64_t)i, 1, address + i);
	check_distinct(address, 4);
	use_all(rt, k, address, 50, 4);
	CHECK_FAILS(peal_actor_spawn(k, "tally", NULL, &extra), PEAL_ENOSPC,
		    "all 4 of max_actors are used in kernel 'tally'");
	CHECK_OK(peal_kernel_stop(k, MAX_WAIT));
	CHECK_OK(peal_runtime_shutdown(rt));
}

/* A failed call does not advance the generation of its actor slot. */
PEAL_TEST(failed_calls_use_no_address_generation)
{
	struct peal_kernel_options o = { .size = sizeof(o), .max_actors = 4 };
	struct peal_pool_options large = { .size = sizeof(large),
					   .message_bytes = 1 << 20 };
	struct peal_runtime *rt = harness_open(1, "");
	struct peal_kernel *k = NULL;
	uint64_t first, second, pool;
	uint32_t i;

	CHECK_OK(peal_kernel_launch(rt, 0, &peal_program_pools, &o, &k));
	first = harness_spawn(k, "refuse", 0);
	CHECK_OK(peal_actor_retire(rt, first));
	for (i = 1; i < PEAL_ACTOR_GENERATIONS; i++)
		CHECK_FAILS(peal_pool_create(k, &large, &pool), PEAL_EINVAL,
			    "message_bytes");
	second = harness_spawn(k, "refuse", 0);
	CHECK_EQ(PEAL_ACTOR_INDEX(second), PEAL_ACTOR_INDEX(first));
	CHECK(second != first);
	CHECK_OK(peal_kernel_stop(k, MAX_WAIT));
	CHECK_OK(peal_runtime_shutdown(rt));
}

/* The worker executes the control messages after the calls have timed out.
 * Until then their actor slots stay taken. */
PEAL_TEST(timed_out_control_messages_still_take_effect)
{
	struct peal_kernel_options o = { .workers = 2, .max_actors = 4 };
	struct peal_actor_options first = { .size = sizeof(first),
					    .worker = 1 };
	struct peal_link_options four = { .capacity = 4 };
	struct peal_runtime *rt = harness_open(1, "");
	struct peal_kernel *k = harness_launch_with(rt, 0, o);
	struct peal_endpoint *e = harness_endpoint(rt);
	uint64_t gate = harness_spawn(k, "gate", 0), third, none = 0;
	uint64_t spare = harness_spawn(k, "echo", 0), *word = harness_gate(rt);
	struct relay_gate at = { harness_address(word) };
	struct peal_worker_info info;

	harness_from(rt, e, 0, gate, four);
	CHECK_OK(peal_send(e, 0, 0, &at, sizeof(at), MAX_WAIT, NULL));
	EVENTUALLY(!peal_worker_info(k, 0, &info) && info.actor >= 0);
	CHECK_TIMES_OUT(rt, peal_actor_spawn(k, "echo", &first, &none),
			PEAL_EHUNG, "worker 0 of kernel");
	CHECK_EQ(none, 0);
	CHECK_TIMES_OUT(rt, peal_actor_retire(rt, spare), PEAL_EHUNG,
			"worker 0");
	EVENTUALLY(tallies_info(k).actors == 2);
	third = harness_spawn(k, "echo", 1);
	CHECK_FAILS(peal_actor_spawn(k, "echo", NULL, &none), PEAL_ENOSPC,
		    "max_actors");
	peal_store_release_sys(word, 1);
	CHECK_OK(peal_actor_retire(rt, spare)); /* the worker does it twice */
	spare = harness_spawn(k, "echo", 0);
	harness_from(rt, e, 1, spare, four);
	harness_to(rt, spare, e, four);
	harness_send(e, 1, 1, 0, 4);
	harness_receive(e, 1, 0, 4);
	CHECK_OK(peal_actor_retire(rt, third));
	EVENTUALLY(tallies_info(k).actors == 2);
	CHECK_OK(peal_kernel_stop(k, MAX_WAIT));
	CHECK_OK(peal_runtime_shutdown(rt));
}

static int run_all(int argc, char **argv, uint32_t lanes)
{
	int peal_cases_ = 0;

	tallies_lanes = lanes;
	printf("%u lanes\n", lanes);
	RUN(spawned_actors_have_own_state_and_free_slots);
	RUN(spawns_are_distributed_round_robin);
	RUN(actors_work_after_random_spawn_and_retire);
	RUN(initial_state_equals_init_bytes);
	RUN(failed_spawn_many_creates_no_actor);
	RUN(failed_retire_many_retires_no_actor);
	RUN(many_actors_share_ports_of_one_actor);
	RUN(ports_are_shared_only_with_matching_actors);
	RUN(spawn_skips_full_workers);
	RUN(freed_slots_fit_actors_of_any_kind);
	RUN(reused_port_belongs_to_the_new_actor);
	RUN(reused_port_starts_unconnected);
	RUN(retire_does_not_free_shared_ports);
	RUN(freed_small_states_merge_for_large_states);
	RUN(reused_slot_has_a_fresh_state);
	RUN(long_inits_are_followed_by_zeros);
	return peal_cases_;
}

PEAL_TEST_MAIN(RUN(failed_calls_use_no_address_generation);
	       RUN(timed_out_control_messages_still_take_effect);
	       peal_cases_ += run_all(argc, argv, 1);
	       peal_cases_ += run_all(argc, argv, 32);)
