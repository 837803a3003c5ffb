/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shows that each message of a stream over two devices arrives once and in
 * order. The link between the devices is handed over from route to route
 * meanwhile.
 */
#include "sim/seeds.h"

PEAL_DECLARE_PROGRAM(sim_senders);

#define MESSAGES 60
#define HAND_OVERS 4

/* A stream from the host by two actors to the host. */
struct stream {
	struct peal_runtime *rt;
	struct peal_endpoint *e;
	struct peal_kernel *k[2];
	struct peal_link *link; /* between the actors */
	struct harness_sampler sampler;
	unsigned long long random;
	uint64_t messages;
};

static uint32_t draw(struct stream *s, uint32_t n)
{
	return (uint32_t)(test_random(&s->random) >> 32) % n;
}

static void begin(struct stream *s, uint64_t random)
{
	struct peal_link_options o = { .capacity = 0 };
	struct peal_kernel_options k = { .drain_when_inputs_end = 1 };
	uint64_t a, b;

	memset(s, 0, sizeof(*s));
	s->random = random;
	s->messages = 1 + draw(s, MESSAGES);
	s->rt = harness_open(2, "0-1:nvlink");
	seeds_report_stalls(s->rt);
	s->e = harness_endpoint(s->rt);
	k.lanes = draw(s, 4) ? 1 : 3;
	s->k[0] = harness_launch_with(s->rt, 0, k);
	s->k[1] = harness_launch_with(s->rt, 1, k);
	a = harness_spawn(s->k[0], "echo", 0);
	b = harness_spawn(s->k[1], "echo", 0);
	o.capacity = 1u << draw(s, 5);
	harness_watch_add(&s->sampler, harness_from(s->rt, s->e, 0, a, o), 1);
	s->link = harness_link(s->rt, a, 0, b, o);
	/* rings of the old and the new route: a staged one has two */
	harness_watch_add(&s->sampler, s->link, 3);
	harness_watch_add(&s->sampler, harness_to(s->rt, b, s->e, o), 1);
	harness_watch(&s->sampler);
}

static void *send_all(void *argument)
{
	struct stream *s = (struct stream *)argument;

	harness_send(s->e, 0, 1, 0, s->messages);
	return NULL;
}

/* Moves the link to another route than it has. */
static void hand_over(struct stream *s)
{
	static const enum peal_route routes[] = { PEAL_ROUTE_PEER,
						  PEAL_ROUTE_MAPPED_HOST,
						  PEAL_ROUTE_STAGED };
	enum peal_route to = routes[draw(s, 3)];

	while (to == (enum peal_route)harness_info(s->link).route)
		to = routes[draw(s, 3)];
	identity_sleep_us(draw(s, 60));
	CHECK_OK(peal_link_set_route(s->link, to, MAX_WAIT));
	CHECK_EQ(harness_info(s->link).route, to);
}

static void *hand_over_all(void *argument)
{
	struct stream *s = (struct stream *)argument;
	int i;

	for (i = 0; i < HAND_OVERS; i++)
		hand_over(s);
	return NULL;
}

static void end(struct stream *s)
{
	char nothing[64];
	struct peal_received r;

	CHECK_OK(peal_send_end(s->e, 0, MAX_WAIT));
	CHECK_OK(peal_kernel_wait(s->k[0], MAX_WAIT));
	CHECK_OK(peal_kernel_wait(s->k[1], MAX_WAIT));
	CHECK_EQ(peal_receive(s->e, nothing, sizeof(nothing), &r, MAX_WAIT),
		 PEAL_EEND);
	harness_watch_end(&s->sampler);
	harness_delivered(s->link, s->messages);
	CHECK_EQ(harness_info(s->link).handovers, HAND_OVERS);
	harness_conserved(s->rt);
	CHECK_OK(peal_runtime_shutdown(s->rt));
}

static void stream(uint64_t random)
{
	pthread_t sender, mover;
	struct stream s;

	begin(&s, random);
	CHECK(!pthread_create(&sender, NULL, send_all, &s));
	CHECK(!pthread_create(&mover, NULL, hand_over_all, &s));
	harness_receive(s.e, 1, 0, s.messages);
	CHECK(!pthread_join(sender, NULL));
	CHECK(!pthread_join(mover, NULL));
	end(&s);
}

/* Two links with equal messages lead to one actor. Its worker is idle for a short
 * time between some of them. */
static void named(uint64_t random)
{
	struct peal_link_options o = { .capacity = 4 };
	struct peal_kernel_info info;
	struct stream s = { .random = random };
	struct peal_kernel *k;
	struct peal_kernel_options options = { .size = sizeof(options),
					       .drain_when_inputs_end = 1 };
	uint64_t actor, i;

	s.rt = harness_open(1, "");
	s.e = harness_endpoint(s.rt);
	CHECK_OK(peal_kernel_launch(s.rt, 0, &peal_program_sim_senders,
				    &options, &k));
	CHECK_OK(peal_actor_spawn(k, "sim_named", NULL, &actor));
	harness_from(s.rt, s.e, 0, actor, o);
	harness_from(s.rt, s.e, 1, actor, o);
	for (i = 0; i < MESSAGES; i++) {
		CHECK_OK(peal_send(s.e, draw(&s, 2), 1, &i, sizeof(i), MAX_WAIT,
				   NULL));
		identity_sleep_us(draw(&s, 3));
	}
	CHECK_OK(peal_send_end(s.e, 0, MAX_WAIT));
	CHECK_OK(peal_send_end(s.e, 1, MAX_WAIT));
	CHECK_OK(peal_kernel_wait(k, MAX_WAIT));
	CHECK_OK(peal_kernel_info(k, &info));
	CHECK_EQ(info.handled, MESSAGES);
	CHECK_EQ(info.failed, 0);
	CHECK_OK(peal_runtime_shutdown(s.rt));
}

static const struct seeds_scenario names = { .name = "names",
					     .run = named,
					     .least = 200 };

static const struct seeds_scenario streams = { .name = "streams",
					       .run = stream,
					       .least = 1000 };

PEAL_TEST(route_changes_keep_messages_once_in_order)
{
	seeds_run(&streams);
}

PEAL_TEST(status_of_a_worker_names_the_message_of_its_handler)
{
	seeds_run(&names);
}

PEAL_TEST(slot_freed_before_read_is_caught)
{
	seeds_find(&streams, PEALI_FAULT_EARLY_CREDIT);
}

PEAL_TEST(receiver_ahead_of_the_seal_is_caught)
{
	seeds_find(&streams, PEALI_FAULT_EARLY_FOLLOW);
}

PEAL_TEST_MAIN(RUN(route_changes_keep_messages_once_in_order);
	       RUN(status_of_a_worker_names_the_message_of_its_handler);
	       RUN(slot_freed_before_read_is_caught);
	       RUN(receiver_ahead_of_the_seal_is_caught);)
