/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shows that a name leads to one address until the name is cleared or its owner
 * ends.
 */

#include <peal/name.h>
#include <peal/pool.h>
#include <peal/topic.h>
#include "runtime/pools.h"
#include "runtime/tallies.h"
#include "runtime/topics.h"

PEAL_DECLARE_PROGRAM(pools);

static const struct peal_kernel_options two = { .workers = 2,
						.max_actors = 4096 };

static uint64_t spawn_named(struct peal_kernel *k, const char *name)
{
	struct peal_actor_options o = { .size = sizeof(o), .name = name };
	uint64_t address = 0;

	CHECK_OK(peal_actor_spawn(k, "tally", &o, &address));
	return address;
}

/* Checks that the name leads to the address and the address to the name. */
static void check_named(struct peal_runtime *rt, uint64_t address,
			const char *name)
{
	char text[PEAL_NAME_BYTES];
	uint64_t found = 0;

	CHECK_OK(peal_name_find(rt, name, &found));
	CHECK_EQ(found, address);
	CHECK_OK(peal_name_of(rt, address, text));
	CHECK(!strcmp(text, name));
}

static void check_free(struct peal_runtime *rt, const char *name)
{
	uint64_t found = 7;

	CHECK_FAILS(peal_name_find(rt, name, &found), PEAL_ENOENT,
		    "is of no address (");
	CHECK_CONTAINS(peal_last_error()->text, name);
	CHECK_EQ(found, 7);
}

PEAL_TEST(named_object_is_found_by_its_name)
{
	struct peal_runtime *rt = harness_open(2, "");
	struct peal_kernel *k = tallies_launch(rt, 0, two);
	struct peal_kernel *far = tallies_launch(rt, 1, two);
	struct peal_endpoint *e = harness_endpoint(rt);
	struct peal_topic_options to = { .capacity = 16 };
	uint64_t topic = topic_create(rt, 1, to);
	uint64_t one = spawn_named(k, "one"), other;
	char text[PEAL_NAME_BYTES] = "as it was";

	CHECK_OK(peal_actor_spawn(far, "tally", NULL, &other));
	CHECK_FAILS(peal_name_of(rt, other, text), PEAL_ENOENT, "has no name");
	CHECK(!strcmp(text, "as it was"));
	CHECK_OK(peal_name_set(rt, other, "other"));
	CHECK_OK(peal_name_set(rt, peal_endpoint_address(e), "host"));
	CHECK_OK(peal_name_set(rt, topic, "news"));
	check_named(rt, one, "one");
	check_named(rt, other, "other");
	check_named(rt, peal_endpoint_address(e), "host");
	check_named(rt, topic, "news");
	check_free(rt, "on");
	check_free(rt, "One");
	/* a new name, after the former name was cleared */
	CHECK_OK(peal_name_clear(rt, "one"));
	check_free(rt, "one");
	CHECK_OK(peal_name_set(rt, one, "first"));
	CHECK_EQ(peal_name_set(rt, other, "x"), PEAL_EEXIST);
	check_named(rt, one, "first");
	check_free(rt, "x");
	CHECK_OK(peal_kernel_stop(k, MAX_WAIT));
	check_named(rt, one, "first"); /* its state can still be read */
	CHECK_OK(peal_kernel_stop(far, MAX_WAIT));
	CHECK_OK(peal_runtime_shutdown(rt));
}

/*
 * Covers owners of all kinds. The next actor in the same actor slot has no
 * name.
 */
PEAL_TEST(name_is_free_after_its_owner_ends)
{
	struct peal_kernel_options o = { .size = sizeof(o) };
	struct peal_runtime *rt = harness_open(2, "");
	struct peal_endpoint *e = harness_endpoint(rt);
	struct peal_pool_options po = { .size = sizeof(po) };
	struct peal_topic_options to = { .capacity = 16 };
	uint64_t topic = topic_create(rt, 0, to), pool, last, next;
	char text[PEAL_NAME_BYTES];
	struct peal_kernel *k, *pools;

	/*
	 * Two devices may be parts of one GPU. Its programs must be loaded
	 * before its first kernel.
	 */
	CHECK_OK(peal_program_add(rt, &peal_program_pools));
	k = tallies_launch(rt, 0, two);
	CHECK_OK(peal_kernel_launch(rt, 1, &peal_program_pools, &o, &pools));
	CHECK_OK(peal_pool_create(pools, &po, &pool));
	CHECK_OK(peal_name_set(rt, pool, "pool"));
	CHECK_OK(peal_name_set(rt, topic, "topic"));
	CHECK_OK(peal_name_set(rt, peal_endpoint_address(e), "endpoint"));
	last = spawn_named(k, "actor");
	check_named(rt, pool, "pool");
	CHECK_OK(peal_actor_retire(rt, last));
	check_free(rt, "actor");
	CHECK_FAILS(peal_name_set(rt, last, "actor"), PEAL_ENOENT,
		    "no actor, pool, endpoint or topic");
	CHECK_OK(peal_actor_spawn(k, "tally", NULL, &next));
	CHECK_EQ(PEAL_ACTOR_INDEX(next), PEAL_ACTOR_INDEX(last));
	CHECK_EQ(peal_name_of(rt, next, text), PEAL_ENOENT);
	CHECK_OK(peal_name_set(rt, next, "actor"));
	check_named(rt, next, "actor");
	CHECK_OK(peal_pool_destroy(rt, pool));
	check_free(rt, "pool");
	CHECK_OK(peal_topic_destroy(rt, topic));
	check_free(rt, "topic");
	CHECK_OK(peal_endpoint_destroy(e));
	check_free(rt, "endpoint");
	/* the end of a kernel frees the names of its own actors only */
	last = spawn_named(k, "second");
	CHECK_OK(peal_pool_create(pools, &po, &pool));
	CHECK_OK(peal_name_set(rt, pool, "stays"));
	CHECK_OK(peal_kernel_stop(k, MAX_WAIT));
	CHECK_OK(peal_kernel_destroy(k));
	check_free(rt, "actor");
	check_free(rt, "second");
	check_named(rt, pool, "stays");
	CHECK_OK(peal_kernel_stop(pools, MAX_WAIT));
	CHECK_OK(peal_runtime_shutdown(rt));
}

PEAL_TEST(invalid_and_taken_names_are_refused)
{
	struct peal_runtime *rt = harness_open(1, "");
	struct peal_kernel *k = tallies_launch(rt, 0, two);
	uint64_t one = spawn_named(k, "one"), other, both[2] = { 0 };
	char longest[PEAL_NAME_BYTES + 1], text[PEAL_NAME_BYTES];
	struct peal_actor_options o = { .size = sizeof(o), .name = "one" };

	memset(longest, 'n', sizeof(longest));
	longest[PEAL_NAME_BYTES] = 0;
	CHECK_OK(peal_actor_spawn(k, "tally", NULL, &other));
	CHECK_FAILS(peal_name_set(rt, other, longest), PEAL_EINVAL,
		    "'nnnnnnnnnnnnnnnnnnnnnnn...nnnnnnnnnnnnnnnnnnnnnn': is "
		    "too long (64 bytes, allowed 1..63)");
	CHECK_FAILS(peal_name_set(rt, other, ""), PEAL_EINVAL,
		    "'': is empty "
		    "(0 bytes, allowed 1..63)");
	CHECK_EQ(peal_name_find(rt, longest, &other), PEAL_ENOENT);
	CHECK_FAILS(peal_name_set(rt, other, "one"), PEAL_EEXIST,
		    "has the name 'one'");
	CHECK_FAILS(peal_name_set(rt, one, "two"), PEAL_EEXIST,
		    "has the name 'one'; call peal_name_clear first");
	CHECK_FAILS(peal_name_set(rt, 0, "two"), PEAL_ENOENT, "0");
	CHECK_FAILS(peal_name_set(rt, peal_dead_letter_address(k), "two"),
		    PEAL_ENOENT, "no actor");
	longest[PEAL_NAME_BYTES - 1] = 0;
	CHECK_OK(peal_name_set(rt, other, longest));
	check_named(rt, other, longest);
	/* no actor is spawned if its name is refused */
	CHECK_FAILS(peal_actor_spawn(k, "tally", &o, &both[0]), PEAL_EEXIST,
		    "has the name 'one'");
	o.name = "";
	CHECK_EQ(peal_actor_spawn(k, "tally", &o, &both[0]), PEAL_EINVAL);
	o.name = "both";
	CHECK_FAILS(peal_actor_spawn_many(k, "tally", &o, 2, both), PEAL_EINVAL,
		    "'name': is for one actor (2 actors, allowed 1)");
	CHECK_EQ(both[0], 0);
	EVENTUALLY(tallies_info(k).actors == 2);
	check_named(rt, one, "one");
	CHECK_EQ(peal_name_set(NULL, one, "x"), PEAL_EINVAL);
	CHECK_EQ(peal_name_set(rt, one, NULL), PEAL_EINVAL);
	CHECK_EQ(peal_name_find(rt, "one", NULL), PEAL_EINVAL);
	CHECK_EQ(peal_name_find(rt, NULL, &other), PEAL_EINVAL);
	CHECK_EQ(peal_name_of(rt, one, NULL), PEAL_EINVAL);
	CHECK_EQ(peal_name_of(NULL, one, text), PEAL_EINVAL);
	CHECK_EQ(peal_name_clear(rt, NULL), PEAL_EINVAL);
	CHECK_FAILS(peal_name_clear(rt, "nobody"), PEAL_ENOENT,
		    "name 'nobody': is of no address (nobody, allowed names in "
		    "use); pass a name in use");
	CHECK_OK(peal_kernel_stop(k, MAX_WAIT));
	CHECK_OK(peal_runtime_shutdown(rt));
}

/* Two threads set and clear names while a third thread looks them up. */

#define ACTORS 512
#define ROUNDS 6

struct crowd {
	struct peal_runtime *rt;
	uint64_t address[ACTORS];
	uint32_t first;
	atomic_int stop;
};

static void name_for(char text[PEAL_NAME_BYTES], uint32_t i)
{
	snprintf(text, PEAL_NAME_BYTES, "actor number %u", i * 2654435761u);
}

static void *give_and_take(void *argument)
{
	const struct crowd *c = argument;
	char text[PEAL_NAME_BYTES];
	uint32_t round, i;

	for (round = 0; round < ROUNDS; round++) {
		for (i = c->first; i < ACTORS; i += 2) {
			name_for(text, i);
			CHECK_OK(peal_name_set(c->rt, c->address[i], text));
		}
		for (i = c->first; i < ACTORS; i += 2) {
			name_for(text, i);
			check_named(c->rt, c->address[i], text);
			if (round + 1 < ROUNDS)
				CHECK_OK(peal_name_clear(c->rt, text));
		}
	}
	return NULL;
}

static void *look(void *argument)
{
	struct crowd *c = argument;
	char text[PEAL_NAME_BYTES];
	uint64_t found;
	uint32_t i;

	for (i = 0; !atomic_load(&c->stop); i = (i + 1) % ACTORS) {
		name_for(text, i);
		if (!peal_name_find(c->rt, text, &found))
			CHECK_EQ(found, c->address[i]);
	}
	return NULL;
}

PEAL_TEST(concurrent_name_changes_are_consistent)
{
	static struct crowd odd, even;
	char text[PEAL_NAME_BYTES];
	pthread_t threads[2];
	struct peal_kernel *k;
	uint64_t found;
	uint32_t i;

	even.rt = harness_open(1, "");
	k = tallies_launch(even.rt, 0, two);
	tallies_spawn(k, "tally", -1, 0, ACTORS, even.address);
	memcpy(odd.address, even.address, sizeof(odd.address));
	odd.rt = even.rt;
	odd.first = 1;
	CHECK(!pthread_create(&threads[0], NULL, give_and_take, &odd));
	CHECK(!pthread_create(&threads[1], NULL, look, &even));
	give_and_take(&even);
	pthread_join(threads[0], NULL);
	atomic_store(&even.stop, 1);
	pthread_join(threads[1], NULL);
	for (i = 0; i < ACTORS; i++) {
		name_for(text, i);
		check_named(even.rt, even.address[i], text);
	}
	CHECK_OK(peal_actor_retire_many(even.rt, even.address, ACTORS));
	for (i = 0; i < ACTORS; i++) {
		name_for(text, i);
		CHECK_EQ(peal_name_find(even.rt, text, &found), PEAL_ENOENT);
	}
	CHECK_OK(peal_kernel_stop(k, MAX_WAIT));
	CHECK_OK(peal_runtime_shutdown(even.rt));
}

PEAL_TEST_MAIN(RUN(named_object_is_found_by_its_name);
	       RUN(name_is_free_after_its_owner_ends);
	       RUN(invalid_and_taken_names_are_refused);
	       RUN(concurrent_name_changes_are_consistent);)
