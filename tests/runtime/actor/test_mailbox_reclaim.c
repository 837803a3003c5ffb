/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A worker dies after it has taken a ticket and before it has tagged its slot.
 * Shows that the messages behind this slot are delivered.
 */

#include <peal/dead_letter.h>
#include <peal/supervisor.h>
#include "runtime/harness.h"
#include "runtime/kernel/kernel.h"

/* The worker of each actor. */
enum { FORWARD, LINGER, DIE, ANSWER, WORKERS };

struct machine {
	struct peal_runtime *rt;
	struct peal_kernel *k;
	struct peal_endpoint *in[ANSWER], *out, *letters;
};

static void build(struct machine *m, uint32_t policy)
{
	static const char *const handlers[] = { "forward", "linger", "die" };
	struct peal_kernel_options o = { .workers = WORKERS,
					 .mailbox.slots = 64 };
	struct peal_link_options none = { .capacity = 0 };
	uint64_t actor;
	int i;

	m->rt = harness_open(1, "");
	o.mailbox.policy = harness_policy(m->rt, policy);
	m->k = harness_launch_with(m->rt, 0, o);
	m->out = harness_endpoint(m->rt);
	m->letters = harness_endpoint(m->rt);
	CHECK_OK(peal_dead_letter_connect(
		m->k, peal_endpoint_address(m->letters), NULL));
	actor = harness_spawn(m->k, "echo", ANSWER);
	/* the other handlers tell actor 0 */
	CHECK_EQ((uint32_t)actor, 0);
	harness_to(m->rt, actor, m->out, none);
	for (i = 0; i < ANSWER; i++) {
		m->in[i] = harness_endpoint(m->rt);
		actor = harness_spawn(m->k, handlers[i], i);
		harness_from(m->rt, m->in[i], 0, actor, none);
	}
}

static struct peal_kernel_info info_of(struct machine *m)
{
	struct peal_kernel_info info;

	CHECK_OK(peal_kernel_info(m->k, &info));
	return info;
}

/*
 * Makes worker DIE take a ticket and end. stopped: 1: as if it were stopped; 0:
 * as failed.
 */
static void kill_one(struct machine *m, int stopped)
{
	struct peal_worker_info info;

	CHECK_OK(peal_send(m->in[DIE], 0, (uint16_t)stopped, "", 1, MAX_WAIT,
			   NULL));
	EVENTUALLY(!peal_worker_info(m->k, DIE, &info) &&
		   info.phase >= PEAL_WORKER_STOPPED);
	CHECK_EQ(info.phase,
		 stopped ? PEAL_WORKER_STOPPED : PEAL_WORKER_FAILED);
	CHECK_EQ(info.result, stopped ? 0 : PEAL_ELEASE);
	CHECK_EQ(info.mailbox_sends, 1);
}

/* Checks that all told messages were delivered, except one dead message. */
static void check_conserved(struct machine *m, uint64_t delivered)
{
	EVENTUALLY(info_of(m).mailbox_done == delivered + 1);
	CHECK_EQ(info_of(m).mailbox_sends, delivered + 1);
	CHECK_EQ(info_of(m).mailbox_dead, 1);
	CHECK_EQ(info_of(m).mailbox_abandoned, 1);
	CHECK_EQ(info_of(m).failed, 0);
	/* its content is unknown, so there is no dead letter */
	CHECK_EQ(harness_info(harness_letters(m->rt, m->k, ANSWER)).accepted,
		 0);
	harness_conserved(m->rt);
}

static void die_once(uint32_t policy, int stopped)
{
	struct machine m;
	uint64_t i;

	build(&m, policy);
	harness_send(m.in[FORWARD], 0, 1, 0, 10);
	kill_one(&m, stopped);
	harness_send(m.in[FORWARD], 0, 1, 10, 20);
	harness_receive(m.out, 1, 0, 30);
	check_conserved(&m, 30);
	/* the reclaimed slot is used again, lap after lap */
	for (i = 30; i < 530; i += 20) {
		harness_send(m.in[FORWARD], 0, 1, i, 20);
		harness_receive(m.out, 1, i, 20);
	}
	check_conserved(&m, 530);
	CHECK_OK(peal_kernel_stop(m.k, MAX_WAIT));
	CHECK_OK(peal_runtime_shutdown(m.rt));
}

PEAL_TEST(messages_behind_failed_worker_arrive)
{
	uint32_t policy;

	for (policy = PEAL_POLICY_SEQUENCE; policy <= PEAL_POLICY_ATOM8;
	     policy++)
		die_once(policy, 0);
}

PEAL_TEST(messages_behind_ended_worker_arrive)
{
	die_once(PEAL_POLICY_DEFAULT, 1);
}

/*
 * The runtime must not give up each slot without a tag. It must check which
 * workers live. Otherwise it would lose the message of the slow worker.
 */
PEAL_TEST(reclaim_waits_for_slow_worker)
{
	struct relay_linger linger = { { 0 }, { 1, 0, relay_check(1, 0) } };
	struct peal_received r;
	struct relay_message got;
	struct machine m;
	uint64_t *word;

	build(&m, PEAL_POLICY_DEFAULT);
	word = harness_gate(m.rt);
	linger.gate.word = harness_address(word);
	CHECK_OK(peal_send(m.in[LINGER], 0, 0, &linger, sizeof(linger),
			   MAX_WAIT, NULL));
	EVENTUALLY(info_of(&m).mailbox_sends == 1);
	kill_one(&m, 0);
	harness_send(m.in[FORWARD], 0, 1, 1, 10);
	EVENTUALLY(info_of(&m).mailbox_sends == 12);
	/* within several ticks of the watchdog no message may arrive */
	CHECK_EQ(peal_receive(m.out, &got, sizeof(got), &r, 200 * MS),
		 PEAL_ETIMEDOUT);
	CHECK_EQ(info_of(&m).mailbox_done, 0);
	CHECK_EQ(info_of(&m).mailbox_abandoned, 0);
	peal_store_release_sys(word, 1);
	harness_receive(m.out, 1, 0, 11);
	check_conserved(&m, 11);
	CHECK_OK(peal_kernel_stop(m.k, MAX_WAIT));
	CHECK_OK(peal_runtime_shutdown(m.rt));
}

/* Worker 0 is in a handler and worker 1 has ended: worker 2 answers. */
PEAL_TEST(idle_worker_reports_for_busy_and_ended_workers)
{
	struct peal_kernel_options o = { .workers = 3,
					 .mailbox.slots = 64,
					 .mailbox.max_limits = 1,
					 .max_supervisors = 1 };
	struct peal_actor_options limited = { .size = sizeof(limited),
					      .worker = 1,
					      .mailbox_limit = 4,
					      .mailbox_overflow =
						      PEAL_OVERFLOW_FAIL };
	struct peal_runtime *rt = harness_open(1, "");
	struct peal_kernel *k = harness_launch_with(rt, 0, o);
	struct peal_endpoint *e = harness_endpoint(rt);
	struct peal_link_options none = { .capacity = 0 };
	struct peal_supervisor *supervisor = NULL;
	struct peal_supervisor_info report;
	struct peal_actor_mailbox_info info;
	struct peal_worker_info worker;
	uint64_t *word = harness_gate(rt), gate, before;
	struct relay_gate at = { harness_address(word) };

	CHECK_OK(peal_supervisor_create(k, NULL, &supervisor));
	harness_spawn(k, "sink", 2); /* `die` takes a ticket to actor 0 */
	CHECK_OK(peal_actor_spawn(k, "gate", &limited, &gate));
	harness_from(rt, e, 0, gate, none);
	harness_from(rt, e, 1, harness_spawn(k, "die", 1), none);
	CHECK_OK(peal_send(e, 0, 0, &at, sizeof(at), MAX_WAIT, NULL));
	EVENTUALLY(!peal_worker_info(k, 0, &worker) && worker.actor >= 0);
	CHECK_OK(peal_send(e, 1, 1, "", 1, MAX_WAIT, NULL));
	EVENTUALLY(!peal_worker_info(k, 1, &worker) &&
		   worker.phase >= PEAL_WORKER_STOPPED);
	before = k->workers[1].control_sent;
	CHECK_OK(peal_actor_mailbox(rt, gate, &info));
	CHECK_EQ(info.limit, 4);
	CHECK_OK(peal_supervisor_info(supervisor, &report));
	CHECK_EQ(report.failures, 0);
	CHECK_EQ(k->workers[1].control_sent, before);
	peal_store_release_sys(word, 1);
	CHECK_OK(peal_kernel_stop(k, MAX_WAIT));
	CHECK_OK(peal_runtime_shutdown(rt));
}

PEAL_TEST_MAIN(RUN(idle_worker_reports_for_busy_and_ended_workers);
	       RUN(messages_behind_failed_worker_arrive);
	       RUN(messages_behind_ended_worker_arrive);
	       RUN(reclaim_waits_for_slow_worker);)
