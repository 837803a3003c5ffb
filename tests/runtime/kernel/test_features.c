/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shows that a program without features handles the messages of its links. Each
 * call that needs a feature names the feature.
 */

#include <peal/balance.h>
#include <peal/migration.h>
#include <peal/pipeline.h>
#include <peal/pool.h>
#include <peal/proxy.h>
#include <peal/request.h>
#include <peal/topic.h>
#include "runtime/harness.h"

PEAL_DECLARE_PROGRAM(plain);
PEAL_DECLARE_PROGRAM(plain_mail);
PEAL_DECLARE_PROGRAM(plain_pools);

#define N 200

static const struct peal_link_options none = { .capacity = 0 };

static struct peal_kernel *launch(struct peal_runtime *rt,
				  const struct peal_program *program,
				  struct peal_kernel_options o)
{
	struct peal_kernel *k = NULL;

	o.size = sizeof(o);
	CHECK_OK(peal_kernel_launch(rt, 0, program, &o, &k));
	return k;
}

/* Sends N messages through an actor and receives them, in two halves. */
static void stream(struct peal_runtime *rt, struct peal_endpoint *e,
		   struct peal_kernel *k)
{
	harness_send(e, 0, 7, 0, N / 2);
	harness_receive(e, 7, 0, N / 2);
	CHECK_OK(peal_kernel_suspend(k, MAX_WAIT));
	harness_send(e, 0, 7, N / 2, 20);
	CHECK_OK(peal_kernel_resume(k));
	harness_send(e, 0, 7, N / 2 + 20, N / 2 - 20);
	harness_receive(e, 7, N / 2, N / 2);
	harness_conserved(rt);
}

PEAL_TEST(program_without_features_handles_its_messages)
{
	struct peal_kernel_options o = { .drain_when_inputs_end = 1 };
	struct peal_runtime *rt = harness_open(1, "");
	struct peal_endpoint *e = harness_endpoint(rt);
	struct peal_kernel *k = launch(rt, &peal_program_plain, o);
	uint64_t actor = harness_spawn(k, "pass", 0);
	struct peal_link *link = harness_from(rt, e, 0, actor, none);

	harness_to(rt, actor, e, none);
	stream(rt, e, k);
	CHECK_OK(peal_send_end(e, 0, MAX_WAIT));
	CHECK_OK(peal_kernel_wait(k, MAX_WAIT));
	CHECK_EQ(harness_info(link).delivered, N);
	CHECK_OK(peal_runtime_shutdown(rt));
}

/* Also calls of an absent feature return an error to the handler. */
PEAL_TEST(failed_and_lost_messages_are_dead_without_features)
{
	struct peal_kernel_options o = { .workers = 1 };
	struct peal_runtime *rt = harness_open(1, "");
	struct peal_endpoint *e = harness_endpoint(rt);
	struct peal_kernel *k = launch(rt, &peal_program_plain, o);
	uint64_t actor = harness_spawn(k, "pass", 0);
	struct peal_link *link = harness_from(rt, e, 0, actor, none);
	struct peal_link *out = harness_to(rt, actor, e, none);
	struct peal_received r;
	uint32_t word = 0;

	CHECK_OK(peal_send(e, 0, 1001, &word, sizeof(word), MAX_WAIT, NULL));
	CHECK_OK(peal_send(e, 0, 1002, &word, sizeof(word), MAX_WAIT, NULL));
	CHECK_OK(peal_receive(e, &word, sizeof(word), &r, MAX_WAIT));
	CHECK_EQ(r.type, 1002);
	EVENTUALLY(harness_info(link).dead[PEAL_REASON_HANDLER] == 1);
	CHECK_OK(peal_send_to(e, 0, actor + 1, 3, &word, sizeof(word), MAX_WAIT,
			      NULL));
	EVENTUALLY(harness_info(link).dead[PEAL_REASON_NO_ACTOR] == 1);
	CHECK_OK(peal_link_destroy(link));
	CHECK_OK(peal_link_destroy(out));
	CHECK_OK(peal_actor_retire(rt, actor));
	CHECK_FAILS(peal_connect(rt, peal_endpoint_address(e), 0, actor, NULL,
				 NULL),
		    PEAL_ENOENT, "actor");
	CHECK_OK(peal_kernel_stop(k, MAX_WAIT));
	CHECK_OK(peal_runtime_shutdown(rt));
}

PEAL_TEST(program_with_mailboxes_only_tells_its_actors)
{
	struct peal_kernel_options o = { .workers = 2, .mailbox.slots = 64 };
	struct peal_runtime *rt = harness_open(1, "");
	struct peal_endpoint *e = harness_endpoint(rt);
	struct peal_kernel *k = launch(rt, &peal_program_plain_mail, o);
	uint64_t first = harness_spawn(k, "relay_mail", 0);
	uint64_t second = harness_spawn(k, "relay_mail", 1);

	CHECK_EQ(second, first + 1);
	harness_from(rt, e, 0, first, none);
	harness_to(rt, first, e, none);
	harness_to(rt, second, e, none);
	stream(rt, e, k);
	CHECK_OK(peal_kernel_stop(k, MAX_WAIT));
	CHECK_OK(peal_runtime_shutdown(rt));
}

/* ---- refusals ------------------------------------------------------------ */

static void refused(struct peal_runtime *rt, struct peal_kernel_options o,
		    const char *option, const char *feature)
{
	struct peal_kernel *k = NULL;

	o.size = sizeof(o);
	CHECK_FAILS(peal_kernel_launch(rt, 0, &peal_program_plain, &o, &k),
		    PEAL_ENOTSUP, feature);
	CHECK_CONTAINS(peal_last_error()->text, option);
	CHECK_CONTAINS(peal_last_error()->text, "program 'plain'");
	CHECK(!k);
}

#define REFUSED(rt, option, feature, ...)                                      \
	refused(rt, (struct peal_kernel_options){ __VA_ARGS__ },               \
		"'" option "'", "add PEAL_USE_" feature " to")

PEAL_TEST(launch_names_the_feature_that_an_option_needs)
{
	struct peal_runtime *rt = harness_open(1, "");

	REFUSED(rt, "mailbox.slots", "MAIL", .mailbox.slots = 64);
	REFUSED(rt, "max_supervisors", "SUPERVISION", .max_supervisors = 1);
	REFUSED(rt, "max_monitors", "SUPERVISION", .max_monitors = 1);
	REFUSED(rt, "on_failure", "SUPERVISION",
		.on_failure = PEAL_FAILURE_END);
	REFUSED(rt, "cluster.workers", "CLUSTERS", .workers = 2,
		.cluster.workers = 2);
	REFUSED(rt, "spawn.max_actors", "SPAWNING", .spawn.max_actors = 1);
	CHECK_OK(peal_runtime_shutdown(rt));
}

PEAL_TEST(launch_names_features_that_need_mailboxes)
{
	const struct peal_mailbox_options box = { .slots = 64 };
	struct peal_runtime *rt = harness_open(1, "");
	struct peal_kernel_options o = { .size = sizeof(o), .mailbox = box };
	struct peal_kernel *k = NULL;

	o.max_timers = 1;
	CHECK_FAILS(peal_kernel_launch(rt, 0, &peal_program_plain_mail, &o, &k),
		    PEAL_ENOTSUP, "PEAL_USE_TIMERS");
	o.max_timers = 0;
	o.max_asks = 1;
	CHECK_FAILS(peal_kernel_launch(rt, 0, &peal_program_plain_mail, &o, &k),
		    PEAL_ENOTSUP, "PEAL_USE_ASKS");
	o.max_asks = 0;
	o.mailbox.max_limits = 1;
	CHECK_FAILS(peal_kernel_launch(rt, 0, &peal_program_plain_mail, &o, &k),
		    PEAL_ENOTSUP, "PEAL_USE_LIMITS");
	o.mailbox.max_limits = 0;
	o.mailbox.priority = 1;
	CHECK_FAILS(peal_kernel_launch(rt, 0, &peal_program_plain_mail, &o, &k),
		    PEAL_ENOTSUP, "PEAL_USE_PRIORITIES");
	CHECK_OK(peal_runtime_shutdown(rt));
}

PEAL_TEST(calls_name_the_feature_that_they_need)
{
	struct peal_kernel_options o = { .workers = 2 };
	struct peal_link_options high = { .size = sizeof(high),
					  .priority = PEAL_PRIORITY_HIGH };
	struct peal_pipeline_stage stage = { .size = sizeof(stage),
					     .program = &peal_program_plain,
					     .handler = "pass" };
	struct peal_pipeline *pipeline = NULL;
	struct peal_requester *r = NULL;
	struct peal_runtime *rt = harness_open(1, "");
	struct peal_endpoint *e = harness_endpoint(rt);
	struct peal_kernel *k, *mail;
	uint64_t host = peal_endpoint_address(e), topic = 0, proxy = 0;
	uint64_t actor, told;

	CHECK_OK(peal_program_add(rt, &peal_program_plain_mail));
	k = launch(rt, &peal_program_plain, o);
	actor = harness_spawn(k, "pass", 0);
	o.mailbox.slots = 64;
	mail = launch(rt, &peal_program_plain_mail, o);
	told = harness_spawn(mail, "relay_mail", 0);
	CHECK_OK(peal_topic_create(rt, 0, NULL, &topic));
	CHECK_FAILS(peal_publish(rt, actor, 0, topic), PEAL_ENOTSUP,
		    "PEAL_USE_TOPICS");
	CHECK_FAILS(peal_subscribe(rt, topic, actor, PEAL_SUBSCRIBE_HIGH),
		    PEAL_ENOTSUP, "PEAL_USE_TOPICS");
	CHECK_FAILS(peal_connect(rt, host, 0, actor, &high, NULL), PEAL_ENOTSUP,
		    "PEAL_USE_PRIORITIES");
	CHECK_FAILS(peal_dead_letter_connect(k, host, NULL), PEAL_ENOTSUP,
		    "PEAL_USE_DEAD_LETTERS");
	CHECK_FAILS(peal_connect(rt, peal_dead_letter_address(k), 0, host, NULL,
				 NULL),
		    PEAL_ENOTSUP, "PEAL_USE_DEAD_LETTERS");
	CHECK_FAILS(peal_requester_create(rt, actor, NULL, &r), PEAL_ENOTSUP,
		    "PEAL_USE_REQUESTS");
	CHECK_FAILS(peal_kernel_balance(mail, NULL, NULL), PEAL_ENOTSUP,
		    "PEAL_USE_MIGRATION");
	CHECK_FAILS(peal_proxy_create(mail, actor, NULL, &proxy), PEAL_ENOTSUP,
		    "PEAL_USE_MIGRATION");
	CHECK_FAILS(peal_pipeline_create(rt, &stage, 1, NULL, &pipeline),
		    PEAL_ENOTSUP, "PEAL_USE_SUPERVISION");
	CHECK_FAILS(peal_pool_create(k, NULL, &proxy), PEAL_ENOTSUP,
		    "PEAL_USE_POOLS");
	CHECK_FAILS(peal_actor_migrate(rt, told, NULL, NULL), PEAL_ENOTSUP,
		    "PEAL_USE_MIGRATION");
	/* nothing is half done: the link and the topic remain usable */
	harness_from(rt, e, 0, actor, none);
	harness_to(rt, actor, e, none);
	harness_send(e, 0, 7, 0, 10);
	harness_receive(e, 7, 0, 10);
	CHECK_OK(peal_topic_destroy(rt, topic));
	CHECK_OK(peal_kernel_stop(k, MAX_WAIT));
	CHECK_OK(peal_kernel_stop(mail, MAX_WAIT));
	CHECK_OK(peal_runtime_shutdown(rt));
}

/* A request to a program without requests would only time out. */
PEAL_TEST(requests_do_not_reach_programs_without_them)
{
	struct peal_kernel_options o = { .mailbox.slots = 64 };
	struct peal_runtime *rt = harness_open(1, "");
	struct peal_requester *r = NULL;
	struct peal_kernel *full, *pools;
	uint64_t pool = 0, proxy = 0;

	CHECK_OK(peal_program_add(rt, &peal_program_plain_pools));
	full = launch(rt, &peal_program_relay, o);
	pools = launch(rt, &peal_program_plain_pools, o);
	CHECK_OK(peal_pool_create(pools, NULL, &pool));
	CHECK_FAILS(peal_requester_create(rt, pool, NULL, &r), PEAL_ENOTSUP,
		    "PEAL_USE_REQUESTS");
	CHECK_FAILS(peal_proxy_create(full, harness_spawn(pools, "drop", 0),
				      NULL, &proxy),
		    PEAL_ENOTSUP, "PEAL_USE_REQUESTS");
	/* in the other direction nothing is lost */
	CHECK_OK(peal_proxy_create(pools, harness_spawn(full, "sink", 0), NULL,
				   &proxy));
	CHECK_OK(peal_runtime_shutdown(rt));
}

/* As if a build defined PEAL_USES for the host code alone. */
PEAL_TEST(device_image_with_other_features_is_refused)
{
	struct peal_kernel_options o = { .size = sizeof(o) };
	struct peal_program other = peal_program_plain;
	struct peal_runtime *rt = harness_open(1, "");
	struct peal_kernel *k = NULL;
	struct peal_device_info info;

	other.uses = PEAL_USE_ALL;
	CHECK_OK(peal_device_info(rt, 0, &info));
	if (info.emulated)
		CHECK_OK(peal_kernel_launch(rt, 0, &other, &o, &k));
	else
		CHECK_FAILS(peal_kernel_launch(rt, 0, &other, &o, &k),
			    PEAL_EPROGRAM, "define PEAL_USES in the source");
	CHECK_OK(peal_runtime_shutdown(rt));
}

PEAL_TEST_MAIN(RUN(program_without_features_handles_its_messages);
	       RUN(failed_and_lost_messages_are_dead_without_features);
	       RUN(program_with_mailboxes_only_tells_its_actors);
	       RUN(launch_names_the_feature_that_an_option_needs);
	       RUN(launch_names_features_that_need_mailboxes);
	       RUN(calls_name_the_feature_that_they_need);
	       RUN(requests_do_not_reach_programs_without_them);
	       RUN(device_image_with_other_features_is_refused);)
