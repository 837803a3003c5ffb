/* SPDX-License-Identifier: Apache-2.0 */
/* Shows that actors of one kernel tell each other, also across workers. */
#include "runtime/harness.h"

#define ACTORS_MAX 40

/*
 * A ring of hop actors on a kernel with mailboxes, and the endpoint that starts
 * it.
 */
struct ring {
	struct peal_runtime *rt;
	struct peal_endpoint *e;
	struct peal_kernel *k;
	struct peal_link *link;
	uint64_t actor[ACTORS_MAX];
	uint32_t n_actors;
};

static void open_ring_of(struct ring *r, uint32_t policy, uint32_t workers,
			 uint32_t n_actors, uint32_t slots)
{
	struct peal_kernel_options o = { .workers = workers,
					 .mailbox.slots = slots,
					 .mailbox.policy = policy,
					 .drain_when_inputs_end = 1 };
	struct peal_link_options none = { .capacity = 0 };
	uint32_t i;

	r->rt = harness_open(1, "");
	r->e = harness_endpoint(r->rt);
	r->k = harness_launch_with(r->rt, 0, o);
	r->n_actors = n_actors;
	for (i = 0; i < n_actors; i++) {
		r->actor[i] = harness_spawn(r->k, "hop", -1);
		CHECK_EQ((uint32_t)r->actor[i], i);
	}
	r->link = harness_from(r->rt, r->e, 0, r->actor[0], none);
}

static void open_ring(struct ring *r, uint32_t workers, uint32_t n_actors,
		      uint32_t slots)
{
	open_ring_of(r, PEAL_POLICY_DEFAULT, workers, n_actors, slots);
}

static void start(struct ring *r, uint32_t left)
{
	struct relay_hop hop = { left, r->n_actors };

	CHECK_OK(peal_send(r->e, 0, 0, &hop, sizeof(hop), MAX_WAIT, NULL));
}

/*
 * Drains the kernel. Checks that all told messages were handled and that each
 * actor saw its share.
 */
static void close_ring(struct ring *r, uint64_t started, uint64_t hops)
{
	struct peal_kernel_info info;
	struct relay_hops state;
	uint64_t seen = 0;
	uint32_t i;

	CHECK_OK(peal_send_end(r->e, 0, MAX_WAIT));
	CHECK_OK(peal_kernel_drain(r->k, MAX_WAIT));
	CHECK_OK(peal_kernel_info(r->k, &info));
	CHECK_EQ(info.mailbox_sends, started * hops);
	CHECK_EQ(info.mailbox_done, info.mailbox_sends);
	CHECK_EQ(info.mailbox_dead, 0);
	CHECK_EQ(info.failed, 0);
	CHECK_EQ(info.handled, started * (hops + 1));
	for (i = 0; i < r->n_actors; i++) {
		CHECK_OK(peal_actor_state(r->rt, r->actor[i], &state,
					  sizeof(state)));
		CHECK_EQ(state.result, 0);
		CHECK_EQ(state.seen, started * (hops / r->n_actors +
						(i <= hops % r->n_actors)));
		seen += state.seen;
	}
	CHECK_EQ(seen, info.handled);
	harness_delivered(r->link, started);
	CHECK_OK(peal_runtime_shutdown(r->rt));
}

static void await_told(struct ring *r, uint64_t n)
{
	struct peal_kernel_info info;

	EVENTUALLY(!peal_kernel_info(r->k, &info) && info.mailbox_done == n);
	CHECK_EQ(info.mailbox_sends, n);
}

static void hop_by(uint32_t policy, uint32_t workers, uint32_t n_actors,
		   uint32_t slots, uint32_t started, uint32_t hops)
{
	struct ring r;
	uint32_t i;

	open_ring_of(&r, policy, workers, n_actors, slots);
	/* at most 4 messages are in flight, so that no mailbox gets full */
	for (i = 0; i < started; i++) {
		start(&r, hops);
		if (i % 4 == 3)
			await_told(&r, (i + 1ULL) * hops);
	}
	close_ring(&r, started, hops);
}

static void hop_over(uint32_t workers, uint32_t n_actors, uint32_t slots,
		     uint32_t started, uint32_t hops)
{
	struct peal_runtime *rt = harness_open(1, "");
	struct peal_device_info device;
	uint32_t policy;

	CHECK_OK(peal_device_info(rt, 0, &device));
	CHECK_OK(peal_runtime_close(rt));
	for (policy = PEAL_POLICY_SEQUENCE; policy <= PEAL_POLICY_ATOM8;
	     policy++)
		if (device.policies & 1u << policy)
			hop_by(policy, workers, n_actors, slots, started, hops);
}

PEAL_TEST(every_tell_is_handled_before_the_kernel_ends)
{
	hop_over(1, 1, 64, 100, 10);
	hop_over(1, 5, 64, 100, 23);
	hop_over(2, 7, 64, 200, 50);
	hop_over(4, 40, 64, 100, 120);
}

PEAL_TEST(token_circulates_through_small_mailboxes)
{
	hop_over(1, 3, 2, 1, 1000);
	hop_over(2, 2, 4, 1, 1000);
	hop_over(3, 7, 4, 1, 1000);
}

PEAL_TEST(mailbox_below_minimum_slots_is_refused)
{
	struct peal_runtime *rt = harness_open(1, "");
	struct peal_kernel_options o = { .size = sizeof(o), .workers = 1 };
	struct peal_kernel *k;

	/* the message being handled keeps the only slot */
	o.mailbox.slots = 1;
	CHECK_FAILS(peal_kernel_launch(rt, 0, &peal_program_relay, &o, &k),
		    PEAL_EINVAL,
		    "'mailbox.slots': is too small for 1 worker "
		    "with 1 message at a time, and 0 for timers and monitors "
		    "(1, allowed 2..1048576)");
	o.workers = 8;
	o.mailbox.slots = 4;
	CHECK_FAILS(peal_kernel_launch(rt, 0, &peal_program_relay, &o, &k),
		    PEAL_EINVAL,
		    "'mailbox.slots': is too small for 8 workers "
		    "with 1 message at a time, and 0 for timers and monitors "
		    "(4, allowed 16..1048576)");
	CHECK_CONTAINS(peal_last_error()->text, "8 workers");
	o.mailbox.slots = 3;
	CHECK_FAILS(peal_kernel_launch(rt, 0, &peal_program_relay, &o, &k),
		    PEAL_EINVAL, "power of two");
	o.mailbox.slots = 64;
	o.mailbox.message_bytes = 5000;
	CHECK_FAILS(peal_kernel_launch(rt, 0, &peal_program_relay, &o, &k),
		    PEAL_EINVAL,
		    "'mailbox.message_bytes': is too large for policy");
	o.mailbox.message_bytes = 0;
	o.mailbox.policy = 9;
	CHECK_FAILS(peal_kernel_launch(rt, 0, &peal_program_relay, &o, &k),
		    PEAL_EINVAL,
		    "'mailbox.policy': is no policy (9, allowed 0 "
		    "(default), 1 (sequence), 2 (atom16) or 3 (atom8))");
	/* the refused launches have left nothing behind */
	CHECK_OK(peal_runtime_close(rt));
}

PEAL_TEST(telling_without_mailboxes_fails_the_handler)
{
	struct peal_link_info info;
	struct relay_hops state;
	struct ring r;

	open_ring(&r, 1, 2, 0);
	start(&r, 0);
	start(&r, 1);
	CHECK_OK(peal_send_end(r.e, 0, MAX_WAIT));
	CHECK_OK(peal_kernel_wait(r.k, MAX_WAIT));
	CHECK_OK(peal_actor_state(r.rt, r.actor[0], &state, sizeof(state)));
	CHECK_EQ(state.result, PEAL_ENOTSUP);
	info = harness_info(r.link);
	CHECK(harness_holds(&info));
	CHECK_EQ(info.delivered, 1);
	CHECK_EQ(info.dead[PEAL_REASON_HANDLER], 1);
	CHECK_OK(peal_runtime_shutdown(r.rt));
}

/* Messages in the mailbox at a suspend. A worker of a GPU looks at the control
 * words after 96 messages. */
#define TOLD 256

/*
 * Puts TOLD messages for actor 1 into the mailbox of worker 1, which is in a
 * handler. Suspends the kernel before worker 1 has taken all of them. Returns
 * the number of messages that remain.
 */
static uint64_t tell_and_suspend(struct ring *r)
{
	uint64_t *word = harness_gate(r->rt);
	struct relay_gate gate = { harness_address(word) };
	struct peal_link_options none = { .capacity = 0 };
	struct peal_worker_info info;
	struct peal_kernel_info kernel;
	uint64_t gate_actor = harness_spawn(r->k, "gate", 1), i;

	harness_from(r->rt, r->e, 1, gate_actor, none);
	CHECK_OK(peal_send(r->e, 1, 0, &gate, sizeof(gate), MAX_WAIT, NULL));
	EVENTUALLY(!peal_worker_info(r->k, 1, &info) && info.actor == 2);
	for (i = 0; i < TOLD; i++)
		start(r, 1);
	EVENTUALLY(!peal_worker_info(r->k, 0, &info) &&
		   info.mailbox_sends == TOLD);
	CHECK_OK(peal_kernel_suspend(r->k, 0));
	peal_store_release_sys(word, 1);
	CHECK_OK(peal_kernel_suspend(r->k, MAX_WAIT));
	CHECK_OK(peal_kernel_info(r->k, &kernel));
	CHECK(kernel.mailbox_done < TOLD);
	return TOLD - kernel.mailbox_done;
}

/* with_successor: 1: a new actor has the actor slot of the retired one. */
static void tell_the_retired(int with_successor)
{
	struct peal_kernel_info info;
	struct peal_link_info link;
	struct relay_hops state;
	uint64_t next = 0, remained;
	struct ring r;

	open_ring(&r, 2, 2, 4 * TOLD);
	remained = tell_and_suspend(&r);
	CHECK_OK(peal_actor_retire(r.rt, r.actor[1]));
	CHECK_FAILS(peal_actor_retire(r.rt, r.actor[1]), PEAL_ENOENT,
		    "no actor");
	if (with_successor) {
		next = harness_spawn(r.k, "hop", 1);
		CHECK_EQ(PEAL_ACTOR_INDEX(next), PEAL_ACTOR_INDEX(r.actor[1]));
		CHECK_FAILS(peal_actor_retire(r.rt, r.actor[1]), PEAL_ENOENT,
			    "no actor");
		CHECK_FAILS(peal_actor_state(r.rt, r.actor[1], &state, 8),
			    PEAL_ENOENT, "no actor");
	}
	CHECK_FAILS(peal_actor_retire(r.rt, r.actor[0]), PEAL_EBUSY,
		    "(in all 1)");
	CHECK_OK(peal_kernel_resume(r.k));
	EVENTUALLY(!peal_kernel_info(r.k, &info) && info.mailbox_done == TOLD);
	CHECK_EQ(info.mailbox_dead, remained);
	CHECK_EQ(info.actors, 2 + with_successor);
	start(&r, 1); /* now the tell itself fails */
	CHECK_OK(peal_send_end(r.e, 0, MAX_WAIT));
	CHECK_OK(peal_send_end(r.e, 1, MAX_WAIT));
	CHECK_OK(peal_kernel_drain(r.k, MAX_WAIT));
	CHECK_OK(peal_actor_state(r.rt, r.actor[0], &state, sizeof(state)));
	CHECK_EQ(state.result, PEAL_ENOENT);
	CHECK_EQ(state.seen, TOLD + 1);
	if (with_successor) {
		CHECK_OK(peal_actor_state(r.rt, next, &state, sizeof(state)));
		CHECK_EQ(state.seen, 0);
	}
	link = harness_info(r.link);
	CHECK_EQ(link.dead[PEAL_REASON_HANDLER], 1);
	CHECK_EQ(link.delivered, TOLD);
	harness_conserved(r.rt);
	CHECK_OK(peal_runtime_shutdown(r.rt));
}

PEAL_TEST(message_to_a_retired_actor_is_dead)
{
	tell_the_retired(0);
	tell_the_retired(1);
}

PEAL_TEST(slot_of_retired_actor_is_reused)
{
	uint64_t had[PEAL_ACTOR_GENERATIONS] = { 0 };
	struct peal_runtime *rt = harness_open(1, "");
	struct peal_kernel_options o = { .max_actors = 2, .max_ports = 1 };
	struct peal_kernel *k = harness_launch_with(rt, 0, o);
	uint64_t first = harness_spawn(k, "echo", 0), second;
	uint64_t other = harness_spawn(k, "sink", 0);
	uint32_t i, j;

	for (i = 0; i < 2 * PEAL_ACTOR_GENERATIONS + 9; i++) {
		CHECK_OK(peal_actor_retire(rt, first));
		second = harness_spawn(k, "echo", 0);
		CHECK_EQ(PEAL_ACTOR_INDEX(second), PEAL_ACTOR_INDEX(first));
		CHECK_EQ(second >> 32, first >> 32);
		first = second;
		/* after all generations the same addresses return */
		if (i >= PEAL_ACTOR_GENERATIONS)
			CHECK_EQ(had[i % PEAL_ACTOR_GENERATIONS], second);
		else
			for (j = 0; j < i; j++)
				CHECK(had[j] != second);
		had[i % PEAL_ACTOR_GENERATIONS] = second;
	}
	CHECK(other != first);
	CHECK_OK(peal_runtime_shutdown(rt));
}

PEAL_TEST_MAIN(RUN(every_tell_is_handled_before_the_kernel_ends);
	       RUN(token_circulates_through_small_mailboxes);
	       RUN(mailbox_below_minimum_slots_is_refused);
	       RUN(telling_without_mailboxes_fails_the_handler);
	       RUN(message_to_a_retired_actor_is_dead);
	       RUN(slot_of_retired_actor_is_reused);)
