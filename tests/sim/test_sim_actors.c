/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shows that each message arrives once while actors tell each other, fail and
 * restart. No actor goes on with the state before its failure.
 */

#include <peal/supervisor.h>
#include "sim/sim_senders.h"
#include "sim/seeds.h"

PEAL_DECLARE_PROGRAM(sim_senders);

#define WORKERS 3
#define ACTORS 6
#define LETTERS 40 /* at most */
#define POISONS 8 /* at most */
#define HOPS 12

struct post {
	struct peal_runtime *rt;
	struct peal_endpoint *e;
	struct peal_kernel *k;
	struct peal_supervisor *supervisor;
	struct peal_link *in[ACTORS];
	uint64_t actor[ACTORS];
	unsigned long long random;
	uint32_t letters, poisons, strategy;
};

static uint32_t draw(struct post *p, uint32_t n)
{
	return (uint32_t)(test_random(&p->random) >> 32) % n;
}

static void launch(struct post *p)
{
	struct peal_kernel_options o = { .size = sizeof(o),
					 .workers = WORKERS,
					 .mailbox.slots = 64,
					 .max_supervisors = 1,
					 .drain_when_inputs_end = 1 };
	struct peal_supervisor_options s = {
		.size = sizeof(s), .max_restarts = PEAL_RESTARTS_MAX
	};

	p->rt = harness_open(1, "");
	seeds_report_stalls(p->rt);
	p->e = harness_endpoint(p->rt);
	o.lanes = draw(p, 4) ? 1 : 3;
	CHECK_OK(peal_kernel_launch(p->rt, 0, &peal_program_sim_senders, &o,
				    &p->k));
	s.strategy = p->strategy = draw(p, 3) ? PEAL_ONE_FOR_ONE :
						PEAL_ONE_FOR_ALL;
	CHECK_OK(peal_supervisor_create(p->k, &s, &p->supervisor));
}

static void begin(struct post *p, uint64_t random)
{
	struct peal_actor_options o = { .size = sizeof(o) };
	struct peal_link_options wide = { .capacity = 64 };
	struct peal_link_options l = { .capacity = 0 };
	uint32_t i;

	memset(p, 0, sizeof(*p));
	p->random = random;
	p->letters = 1 + draw(p, LETTERS);
	p->poisons = draw(p, POISONS + 1);
	launch(p);
	o.supervisor = p->supervisor;
	l.capacity = 1u << draw(p, 5);
	for (i = 0; i < ACTORS; i++) {
		o.worker = PEAL_WORKER(i % WORKERS);
		CHECK_OK(
			peal_actor_spawn(p->k, "sim_sender", &o, &p->actor[i]));
		p->in[i] = harness_from(p->rt, p->e, i, p->actor[i], l);
		harness_to(p->rt, p->actor[i], p->e, wide);
	}
}

/* Sends letters and poison, in random order, to random actors. */
static void *send_all(void *argument)
{
	struct post *p = (struct post *)argument;
	uint32_t letters = p->letters, poisons = p->poisons, type;
	struct sim_sender_message m;
	uint64_t id = 0;

	memset(&m, 0, sizeof(m));
	m.actors = ACTORS;
	while (letters || poisons) {
		type = draw(p, letters + poisons) < letters ?
			       SIM_SENDER_LETTER :
			       SIM_SENDER_POISON;
		if (type == SIM_SENDER_LETTER) {
			letters--;
			m.id = id++;
		} else {
			poisons--;
		}
		m.hops = draw(p, HOPS);
		m.random = draw(p, UINT32_MAX);
		CHECK_OK(peal_send(p->e, draw(p, ACTORS), (uint16_t)type, &m,
				   sizeof(m), MAX_WAIT, NULL));
	}
	return NULL;
}

static void receive_all(struct post *p)
{
	uint8_t seen[LETTERS] = { 0 };
	struct sim_sender_message m;
	struct peal_received r;
	uint32_t i;

	for (i = 0; i < p->letters; i++) {
		CHECK_OK(peal_receive(p->e, &m, sizeof(m), &r, MAX_WAIT));
		CHECK_EQ(r.type, SIM_SENDER_LETTER);
		CHECK(m.id < p->letters && !seen[m.id]);
		CHECK_EQ(m.hops, 0);
		CHECK_EQ(m.spoilt, 0);
		seen[m.id] = 1;
	}
}

/* Checks that each poison is a dead message and a failure. */
static void check_failures(struct post *p)
{
	struct peal_supervisor_info s;
	struct peal_kernel_info k;
	uint64_t dead = 0;
	uint32_t i;

	for (i = 0; i < ACTORS; i++)
		dead += harness_info(p->in[i]).dead[PEAL_REASON_HANDLER];
	CHECK_OK(peal_kernel_info(p->k, &k));
	CHECK_EQ(dead + k.mailbox_dead, p->poisons);
	CHECK_EQ(k.failed, p->poisons);
	CHECK_EQ(k.mailbox_sends, k.mailbox_done);
	CHECK_OK(peal_supervisor_info(p->supervisor, &s));
	CHECK(!s.exhausted);
	CHECK(s.failures <= p->poisons);
	if (p->strategy == PEAL_ONE_FOR_ONE)
		CHECK_EQ(s.failures, p->poisons);
}

static void post(uint64_t random)
{
	struct peal_received r;
	pthread_t sender;
	struct post p;
	uint32_t i;
	char byte;

	begin(&p, random);
	CHECK(!pthread_create(&sender, NULL, send_all, &p));
	receive_all(&p);
	CHECK(!pthread_join(sender, NULL));
	for (i = 0; i < ACTORS; i++)
		CHECK_OK(peal_send_end(p.e, i, MAX_WAIT));
	CHECK_OK(peal_kernel_wait(p.k, MAX_WAIT));
	CHECK_EQ(peal_receive(p.e, &byte, 1, &r, MAX_WAIT), PEAL_EEND);
	check_failures(&p);
	harness_conserved(p.rt);
	CHECK_OK(peal_runtime_shutdown(p.rt));
}

static const struct seeds_scenario posts = { .name = "posts",
					     .run = post,
					     .least = 1000 };

PEAL_TEST(messages_arrive_once_while_actors_restart)
{
	seeds_run(&posts);
}

PEAL_TEST(torn_mailbox_ticket_is_caught)
{
	seeds_find(&posts, PEALI_FAULT_TORN_TICKET);
}

PEAL_TEST_MAIN(RUN(messages_arrive_once_while_actors_restart);
	       RUN(torn_mailbox_ticket_is_caught);)
