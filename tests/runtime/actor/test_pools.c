/* SPDX-License-Identifier: Apache-2.0 */
/* A free member handles each message of a pool, exactly once. */

#include "runtime/kernel/kernel.h"
#include "runtime/pools.h"
#include "runtime/short_timeout.h"

PEAL_DECLARE_PROGRAM(pools);

static const struct peal_link_options none;

#define WORKERS_MAX 4
#define MESSAGES 3000

/* A kernel with a pool. `in` sends to the pool, `out` receives from members. */
struct fixture {
	struct peal_runtime *rt;
	struct peal_kernel *k;
	struct peal_endpoint *in, *out;
	struct peal_link *link;
	uint64_t pool, member[WORKERS_MAX];
	uint32_t workers;
};

static struct peal_kernel *launch(struct peal_runtime *rt, int device,
				  struct peal_kernel_options o)
{
	struct peal_kernel *k = NULL;

	o.size = sizeof(o);
	CHECK_OK(peal_kernel_launch(rt, device, &peal_program_pools, &o, &k));
	return k;
}

static uint64_t make_pool(struct peal_kernel *k, struct peal_pool_options o)
{
	uint64_t pool = 0;

	o.size = sizeof(o);
	CHECK_OK(peal_pool_create(k, &o, &pool));
	return pool;
}

/* Spawns an actor on a worker and makes it a member. */
static uint64_t join(struct peal_runtime *rt, struct peal_kernel *k,
		     uint64_t pool, const char *handler, uint32_t worker)
{
	uint64_t actor = harness_spawn(k, handler, (int)worker);

	CHECK_OK(peal_pool_join(rt, pool, actor));
	return actor;
}

/* Opens a pool with a member on each worker from number `first` on. */
static void open_fixture(struct fixture *s, struct peal_kernel_options o,
			 struct peal_pool_options p, uint32_t first)
{
	uint32_t i;

	memset(s, 0, sizeof(*s));
	s->rt = harness_open(1, "");
	s->workers = o.workers;
	s->k = launch(s->rt, 0, o);
	s->in = harness_endpoint(s->rt);
	s->out = harness_endpoint(s->rt);
	p.policy = harness_policy(s->rt, p.policy);
	s->pool = make_pool(s->k, p);
	for (i = first; i < o.workers; i++) {
		s->member[i] = join(s->rt, s->k, s->pool, "toil", i);
		harness_to(s->rt, s->member[i], s->out, none);
	}
	s->link = harness_from(s->rt, s->in, 0, s->pool, none);
}

static void send_task(struct peal_endpoint *e, uint64_t sequence,
		      const uint64_t *gate)
{
	struct pool_task task = { .gate = harness_address(gate) };

	harness_fill(&task.id, sizeof(task.id), 7, sequence);
	CHECK_OK(peal_send(e, 0, (uint16_t)sequence, &task, sizeof(task),
			   MAX_WAIT, NULL));
}

/* Receives one of n new messages. Returns 0 if none arrives in time. */
static int received(struct peal_endpoint *e, uint8_t *seen, uint64_t n,
		    int64_t timeout_ns)
{
	struct pool_task task;
	struct peal_received got;

	if (peal_receive(e, &task, sizeof(task), &got, timeout_ns))
		return 0;
	CHECK_EQ(got.length, sizeof(task));
	CHECK(task.id.sequence < n);
	CHECK(harness_intact(&task.id, sizeof(task.id), 7, task.id.sequence));
	CHECK_EQ(seen[task.id.sequence], 0);
	seen[task.id.sequence] = 1;
	return 1;
}

static void receive_one(struct peal_endpoint *e, uint8_t *seen, uint64_t n)
{
	CHECK(received(e, seen, n, MAX_WAIT));
}

/* Sends and receives n messages, with at most `window` in flight. */
static void stream(struct fixture *s, uint64_t n, uint64_t window)
{
	uint8_t *seen = calloc(n, 1);
	uint64_t sent, got = 0;

	CHECK(seen);
	for (sent = 0; sent < n; sent++) {
		send_task(s->in, sent, NULL);
		while (sent - got >= window)
			receive_one(s->out, seen, n), got++;
	}
	while (got < n)
		receive_one(s->out, seen, n), got++;
	free(seen);
}

/* Drains the kernel. Checks that the members have handled n messages. */
static void close_fixture(struct fixture *s, uint64_t n)
{
	struct peal_kernel_info info;
	struct pool_toil state;
	uint64_t done = 0;
	uint32_t i;

	CHECK_OK(peal_send_end(s->in, 0, MAX_WAIT));
	CHECK_OK(peal_kernel_drain(s->k, MAX_WAIT));
	CHECK_OK(peal_kernel_info(s->k, &info));
	CHECK_EQ(info.handled, n);
	CHECK_EQ(info.failed, 0);
	CHECK(info.mailbox_sends <= n); /* workers handle the others directly */
	CHECK_EQ(info.mailbox_done, info.mailbox_sends);
	CHECK_EQ(info.mailbox_dead, 0);
	for (i = 0; i < s->workers; i++) {
		if (!s->member[i])
			continue;
		CHECK_OK(peal_actor_state(s->rt, s->member[i], &state,
					  sizeof(state)));
		done += state.done;
	}
	CHECK_EQ(done, n);
	harness_delivered(s->link, n);
	harness_conserved(s->rt);
	CHECK_OK(peal_runtime_shutdown(s->rt));
}

static void stream_by(uint32_t policy, uint32_t workers, uint32_t lanes,
		      uint32_t slots)
{
	struct peal_kernel_options o = { .workers = workers, .lanes = lanes };
	struct peal_pool_options p = { .capacity = slots, .policy = policy };
	struct fixture s;

	open_fixture(&s, o, p, 0);
	stream(&s, MESSAGES, 100);
	close_fixture(&s, MESSAGES);
}

PEAL_TEST(every_message_is_handled_once)
{
	uint32_t policy;

	for (policy = PEAL_POLICY_SEQUENCE; policy <= PEAL_POLICY_ATOM8;
	     policy++) {
		stream_by(policy, 1, 1, 64);
		stream_by(policy, 2, 1, 64);
		stream_by(policy, 3, 1, 64);
		stream_by(policy, 2, 32, 64);
	}
}

PEAL_TEST(pool_of_two_slots_delivers_all_messages)
{
	stream_by(PEAL_POLICY_DEFAULT, 1, 1, 2);
	stream_by(PEAL_POLICY_DEFAULT, 3, 1, 2);
}

PEAL_TEST(epochs_do_not_change_pool_delivery)
{
	struct peal_kernel_options o = { .workers = 2, .epoch_ns = 100000 };
	struct peal_pool_options p = { .capacity = 0 };
	struct fixture s;

	open_fixture(&s, o, p, 0);
	stream(&s, MESSAGES, 100);
	close_fixture(&s, MESSAGES);
}

/* One member is in a long handler. The other member handles the rest. */
PEAL_TEST(free_member_takes_messages_of_busy_member)
{
	struct peal_kernel_options o = { .workers = 3 };
	struct peal_pool_options p = { .capacity = 0 };
	uint64_t *open_gate, i;
	uint8_t seen[100] = { 0 };
	struct peal_worker_info info[2];
	struct fixture s;

	open_fixture(&s, o, p, 1);
	open_gate = harness_gate(s.rt);
	send_task(s.in, 0, open_gate);
	EVENTUALLY(!peal_worker_info(s.k, 1, &info[0]) &&
		   !peal_worker_info(s.k, 2, &info[1]) &&
		   (info[0].actor >= 0 || info[1].actor >= 0));
	for (i = 1; i < 100; i++)
		send_task(s.in, i, NULL);
	for (i = 1; i < 100; i++)
		receive_one(s.out, seen, 100);
	CHECK_EQ(seen[0], 0);
	peal_store_release_sys(open_gate, 1);
	receive_one(s.out, seen, 100);
	close_fixture(&s, 100);
}

/* ---- handlers that tell their pool --------------------------------------- */

/* The only input ends at once, but the kernel ends after the last leaf. */
static void grow(uint32_t workers, uint64_t leaves, uint32_t slots)
{
	struct peal_kernel_options o = { .workers = workers,
					 .drain_when_inputs_end = 1 };
	struct peal_pool_options p = { .capacity = slots };
	struct pool_piece piece = { leaves, 0 };
	struct peal_runtime *rt = harness_open(1, "");
	struct peal_kernel *k = launch(rt, 0, o);
	struct peal_endpoint *e = harness_endpoint(rt);
	uint64_t pool = make_pool(k, p), member[WORKERS_MAX], seen = 0;
	struct peal_kernel_info info;
	struct pool_leaves state;
	uint32_t i;

	for (i = 0; i < workers; i++)
		member[i] = join(rt, k, pool, "split", i);
	harness_from(rt, e, 0, pool, none);
	piece.pool = (uint32_t)pool;
	CHECK_OK(peal_send(e, 0, 0, &piece, sizeof(piece), MAX_WAIT, NULL));
	CHECK_OK(peal_send_end(e, 0, MAX_WAIT));
	CHECK_OK(peal_kernel_wait(k, MAX_WAIT));
	CHECK_OK(peal_kernel_info(k, &info));
	CHECK_EQ(info.handled, 2 * leaves - 1);
	CHECK_EQ(info.mailbox_sends, 2 * leaves - 1);
	CHECK_EQ(info.mailbox_done, info.mailbox_sends);
	for (i = 0; i < workers; i++) {
		CHECK_OK(
			peal_actor_state(rt, member[i], &state, sizeof(state)));
		seen += state.seen;
	}
	CHECK_EQ(seen, leaves);
	CHECK_OK(peal_runtime_shutdown(rt));
}

PEAL_TEST(kernel_ends_when_its_pool_is_empty)
{
	int round;

	for (round = 0; round < 10; round++) {
		grow(1, 1, 64);
		grow(1, 100, 128);
		grow(2, 500, 1024);
		grow(3, 500, 1024);
	}
}

/* The handler tells two leaves. It waits until the pool of 8 slots has both. */
PEAL_TEST(tell_to_full_pool_waits_for_slots)
{
	struct peal_kernel_options o = { .workers = 2,
					 .drain_when_inputs_end = 1 };
	struct peal_pool_options p = { .capacity = 8 };
	struct peal_runtime *rt = harness_open(1, "");
	struct peal_kernel *k = launch(rt, 0, o);
	struct peal_endpoint *e = harness_endpoint(rt);
	uint64_t teller = harness_spawn(k, "split", 0);
	uint64_t pool = make_pool(k, p), i;
	struct pool_piece two = { 2, (uint32_t)pool };
	struct peal_worker_info info;
	struct peal_kernel_info sum;

	harness_from(rt, e, 0, teller, none);
	for (i = 0; i < 10; i++)
		CHECK_OK(peal_send(e, 0, 0, &two, sizeof(two), MAX_WAIT, NULL));
	EVENTUALLY(!peal_worker_info(k, 0, &info) &&
		   info.blocked_actor == (int64_t)(uint32_t)teller);
	CHECK_OK(peal_kernel_info(k, &sum));
	CHECK_EQ(sum.mailbox_sends, 8);
	join(rt, k, pool, "split", 1);
	CHECK_OK(peal_send_end(e, 0, MAX_WAIT));
	CHECK_OK(peal_kernel_wait(k, MAX_WAIT));
	CHECK_OK(peal_kernel_info(k, &sum));
	CHECK_EQ(sum.handled, 10 + 20);
	CHECK_EQ(sum.failed, 0);
	CHECK_EQ(sum.mailbox_sends, 20);
	CHECK_OK(peal_runtime_shutdown(rt));
}

/*
 * A member is in its handler and will tell an actor of worker 0. Worker 0 has
 * no work, but must not end before that.
 */
PEAL_TEST(worker_does_not_end_before_members_tell)
{
	struct peal_kernel_options o = { .workers = 2,
					 .mailbox.slots = 16,
					 .drain_when_inputs_end = 1 };
	struct peal_pool_options p = { .capacity = 0 };
	struct peal_runtime *rt = harness_open(1, "");
	struct peal_kernel *k = launch(rt, 0, o);
	struct peal_endpoint *in = harness_endpoint(rt);
	uint64_t listener = harness_spawn(k, "tally", 0);
	uint64_t pool = make_pool(k, p), *open_gate = harness_gate(rt);
	struct peal_worker_info info[2];
	struct peal_link *link;
	struct pool_toil state;

	CHECK_EQ((uint32_t)listener, 0); /* `report` tells actor 0 */
	join(rt, k, pool, "report", 1);
	link = harness_from(rt, in, 0, pool, none); /* leads to worker 0 */
	send_task(in, 0, open_gate);
	CHECK_OK(peal_send_end(in, 0, MAX_WAIT));
	EVENTUALLY(harness_info(link).ended &&
		   !peal_worker_info(k, 1, &info[1]) && info[1].actor >= 0);
	CHECK_EQ(peal_kernel_wait(k, 100 * MS), PEAL_ETIMEDOUT);
	CHECK_OK(peal_worker_info(k, 0, &info[0]));
	CHECK_EQ(info[0].phase, PEAL_WORKER_RUNNING);
	peal_store_release_sys(open_gate, 1);
	CHECK_OK(peal_kernel_wait(k, MAX_WAIT));
	CHECK_OK(peal_actor_state(rt, listener, &state, sizeof(state)));
	CHECK_EQ(state.done, 1);
	CHECK_OK(peal_runtime_shutdown(rt));
}

/* ---- changes of members -------------------------------------------------- */

PEAL_TEST(messages_wait_for_members)
{
	struct peal_kernel_options o = { .workers = 2 };
	struct peal_pool_options p = { .capacity = 8 };
	struct peal_link_options few = { .capacity = 4 };
	struct peal_runtime *rt = harness_open(1, "");
	struct peal_kernel *k = launch(rt, 0, o);
	struct peal_endpoint *in = harness_endpoint(rt);
	struct peal_endpoint *out = harness_endpoint(rt);
	uint64_t pool = make_pool(k, p), actor;
	struct peal_link *link = harness_from(rt, in, 0, pool, few);
	struct peal_worker_info info[2];
	uint8_t seen[12] = { 0 };
	struct pool_task task;
	uint64_t i;

	/* 12 messages fill the queue (8) and the link (4) */
	for (i = 0; i < 12; i++)
		send_task(in, i, NULL);
	EVENTUALLY(!peal_worker_info(k, 0, &info[0]) &&
		   !peal_worker_info(k, 1, &info[1]) &&
		   (info[0].blocked_actor == (int64_t)(uint32_t)pool ||
		    info[1].blocked_actor == (int64_t)(uint32_t)pool));
	CHECK_EQ(peal_send(in, 0, 0, &task, sizeof(task), 20 * MS, NULL),
		 PEAL_ETIMEDOUT);
	EVENTUALLY(harness_info(link).delivered == 8);
	actor = harness_spawn(k, "toil", 1);
	harness_to(rt, actor, out, none);
	CHECK_OK(peal_pool_join(rt, pool, actor));
	for (i = 0; i < 12; i++)
		receive_one(out, seen, 12);
	CHECK_OK(peal_runtime_shutdown(rt));
}

PEAL_TEST(members_join_and_leave_without_loss)
{
	struct peal_kernel_options o = { .workers = 3 };
	struct peal_pool_options p = { .capacity = 16 };
	struct fixture s;
	uint8_t *seen = calloc(MESSAGES, 1);
	uint64_t sent, got = 0;
	uint32_t i;

	CHECK(seen);
	open_fixture(&s, o, p, 0);
	for (sent = 0; sent < MESSAGES; sent++) {
		send_task(s.in, sent, NULL);
		if (sent % 50 == 49) { /* one member is missing */
			i = sent / 50 % 3;
			CHECK_OK(peal_pool_leave(s.rt, s.pool, s.member[i]));
			i = (i + 2) % 3;
			if (sent > 50)
				CHECK_OK(peal_pool_join(s.rt, s.pool,
							s.member[i]));
		}
		while (sent - got >= 40)
			receive_one(s.out, seen, MESSAGES), got++;
	}
	while (got < MESSAGES)
		receive_one(s.out, seen, MESSAGES), got++;
	close_fixture(&s, MESSAGES);
	free(seen);
}

/* The first member's link is full. The second member handles the rest. */
PEAL_TEST(blocked_member_takes_no_message)
{
	struct peal_kernel_options o = { .workers = 2 };
	struct peal_pool_options p = { .capacity = 0 };
	struct peal_link_options one = { .capacity = 1 };
	struct peal_runtime *rt = harness_open(1, "");
	struct peal_kernel *k = launch(rt, 0, o);
	struct peal_endpoint *in = harness_endpoint(rt);
	struct peal_endpoint *out[2] = { harness_endpoint(rt),
					 harness_endpoint(rt) };
	uint64_t pool = make_pool(k, p);
	uint64_t stuck = harness_spawn(k, "toil", 0);
	uint64_t other = harness_spawn(k, "toil", 1);
	struct peal_worker_info info;
	struct peal_kernel_info sum;
	uint8_t seen[20] = { 0 };
	uint64_t i;

	harness_to(rt, stuck, out[0], one);
	harness_to(rt, other, out[1], none);
	CHECK_OK(peal_pool_join(rt, pool, stuck));
	harness_from(rt, in, 0, pool, none);
	for (i = 0; i < 20; i++)
		send_task(in, i, NULL);
	EVENTUALLY(!peal_worker_info(k, 0, &info) &&
		   info.blocked_actor == (int64_t)(uint32_t)stuck);
	CHECK_OK(peal_pool_join(rt, pool, other));
	for (i = 0; i < 19; i++)
		receive_one(out[1], seen, 20);
	receive_one(out[0], seen, 20);
	CHECK_OK(peal_pool_leave(rt, pool, stuck));
	CHECK_OK(peal_send_end(in, 0, MAX_WAIT));
	CHECK_OK(peal_kernel_drain(k, MAX_WAIT));
	CHECK_OK(peal_kernel_info(k, &sum));
	CHECK_EQ(sum.mailbox_sends, 20);
	CHECK_EQ(sum.mailbox_done, 20);
	CHECK_OK(peal_runtime_shutdown(rt));
}

/* Sends 50 messages to a pool of one worker and two slots. Returns the number of
 * messages that went through the queue of the pool. */
static uint64_t queued_of_50(void)
{
	struct peal_kernel_options o = { .workers = 1,
					 .drain_when_inputs_end = 1 };
	struct peal_pool_options p = { .capacity = 2 };
	struct peal_runtime *rt = harness_open(1, "");
	struct peal_kernel *k = launch(rt, 0, o);
	struct peal_endpoint *in = harness_endpoint(rt);
	uint64_t pool = make_pool(k, p), i;
	uint64_t member = harness_spawn(k, "refuse", 0);
	struct peal_kernel_info info;

	CHECK_OK(peal_kernel_suspend(k, MAX_WAIT));
	harness_from(rt, in, 0, pool, none);
	for (i = 0; i < 50; i++)
		send_task(in, i, NULL);
	CHECK_OK(peal_pool_join(rt, pool, member));
	CHECK_OK(peal_send_end(in, 0, MAX_WAIT));
	CHECK_OK(peal_kernel_resume(k));
	CHECK_OK(peal_kernel_wait(k, MAX_WAIT));
	CHECK_OK(peal_kernel_info(k, &info));
	CHECK_EQ(info.handled, 50);
	CHECK_EQ(info.mailbox_done, info.mailbox_sends);
	CHECK_OK(peal_runtime_shutdown(rt));
	return info.mailbox_sends;
}

/* While its queue is full, the only worker handles messages directly. A worker
 * that is interrupted often can find a free slot each time. */
PEAL_TEST(worker_handles_messages_of_its_full_pool)
{
	int tries = 5;

	while (queued_of_50() == 50)
		CHECK(--tries);
}

/* ---- unresponsive and ended workers -------------------------------------- */

/* A kernel with one worker in a handler until the gate opens. */
struct busy {
	struct peal_runtime *rt;
	struct peal_kernel *k;
	struct peal_endpoint *in, *out;
	uint64_t *gate;
};

static void be_busy(struct busy *b, uint32_t worker, uint64_t *pool_out)
{
	struct peal_kernel_options o = { .workers = 2 };
	struct peal_pool_options p = { .capacity = 0 };
	struct peal_worker_info info;
	uint64_t actor;

	b->rt = harness_open(1, "");
	b->gate = harness_gate(b->rt);
	b->k = launch(b->rt, 0, o);
	b->in = harness_endpoint(b->rt);
	b->out = harness_endpoint(b->rt);
	if (pool_out)
		*pool_out = make_pool(b->k, p);
	actor = harness_spawn(b->k, "toil", (int)worker);
	harness_to(b->rt, actor, b->out, none);
	harness_from(b->rt, b->in, 0, actor, none);
	send_task(b->in, 0, b->gate);
	EVENTUALLY(!peal_worker_info(b->k, worker, &info) && info.actor >= 0);
}

static void free_again(struct busy *b)
{
	uint8_t seen[1] = { 0 };

	peal_store_release_sys(b->gate, 1);
	receive_one(b->out, seen, 1);
}

PEAL_TEST(timed_out_pool_calls_can_be_repeated)
{
	struct busy b;
	uint64_t pool = 0;

	be_busy(&b, 0, &pool);
	CHECK_TIMES_OUT(b.rt, peal_pool_destroy(b.rt, pool), PEAL_EHUNG,
			"worker 0 of kernel 'pools' did not answer in ");
	/* worker 1 has dropped the pool: new senders and members are refused */
	CHECK_FAILS(peal_connect(b.rt, peal_endpoint_address(b.in), 1, pool,
				 NULL, NULL),
		    PEAL_EBUSY, "peal_pool_destroy");
	CHECK_FAILS(peal_pool_join(b.rt, pool, harness_spawn(b.k, "refuse", 1)),
		    PEAL_EBUSY, "peal_pool_destroy");
	free_again(&b);
	CHECK_OK(peal_pool_destroy(b.rt, pool));
	CHECK_OK(peal_runtime_shutdown(b.rt));

	be_busy(&b, 1, NULL);
	pool = 0;
	CHECK_TIMES_OUT(b.rt, peal_pool_create(b.k, NULL, &pool), PEAL_EHUNG,
			"worker 1");
	CHECK_EQ(pool, 0);
	free_again(&b);
	CHECK_FAILS(peal_pool_create(b.k, NULL, &pool), PEAL_ENOSPC,
		    "max_pools");
	CHECK_OK(peal_runtime_shutdown(b.rt));
}

/* A join that has timed out still makes the actor a member. */
PEAL_TEST(member_of_timed_out_join_can_leave)
{
	struct peal_kernel_options o = { .workers = 2 };
	struct peal_pool_options p = { .capacity = 0 };
	struct peal_runtime *rt = harness_open(1, "");
	struct peal_kernel *k = launch(rt, 0, o);
	struct peal_endpoint *in = harness_endpoint(rt);
	struct peal_endpoint *out = harness_endpoint(rt);
	uint64_t pool = make_pool(k, p), *gate = harness_gate(rt);
	uint64_t toil = harness_spawn(k, "toil", 1);
	uint64_t late = harness_spawn(k, "refuse", 1);
	struct peal_worker_info info;
	struct peal_pool_info now;
	uint8_t seen[1] = { 0 };

	harness_to(rt, toil, out, none);
	harness_from(rt, in, 0, toil, none);
	send_task(in, 0, gate);
	EVENTUALLY(!peal_worker_info(k, 1, &info) && info.actor >= 0);
	CHECK_TIMES_OUT(
		rt, peal_pool_join(rt, pool, late), PEAL_EHUNG,
		"worker 1 of kernel 'pools' did not answer in 50 ms: it is "
		"in the handler of actor");
	CHECK_FAILS(peal_actor_retire(rt, late), PEAL_EBUSY, "pool");
	CHECK_OK(peal_pool_info(rt, pool, &now));
	CHECK_EQ(now.members, 1);
	peal_store_release_sys(gate, 1);
	receive_one(out, seen, 1);
	CHECK_OK(peal_pool_leave(rt, pool, late));
	CHECK_OK(peal_actor_retire(rt, late));
	CHECK_OK(peal_runtime_shutdown(rt));
}

/* One worker has ended. The other one still checks its pools. */
PEAL_TEST(pool_ends_after_one_worker_has_ended)
{
	struct peal_kernel_options o = { .workers = 2,
					 .drain_when_inputs_end = 1 };
	struct peal_pool_options p = { .capacity = 0 };
	struct peal_link_options one = { .capacity = 1 };
	struct peal_runtime *rt = harness_open(1, "");
	struct peal_kernel *k = launch(rt, 0, o);
	struct peal_endpoint *in = harness_endpoint(rt);
	struct peal_endpoint *out = harness_endpoint(rt);
	uint64_t pool = make_pool(k, p), actor = harness_spawn(k, "toil", 0);
	struct peal_worker_info info;
	uint8_t seen[1] = { 0 };
	int i;

	harness_to(rt, actor, out, one); /* no slot for an END mark */
	harness_from(rt, in, 0, actor, none);
	send_task(in, 0, NULL);
	CHECK_OK(peal_send_end(in, 0, MAX_WAIT));
	EVENTUALLY(!peal_worker_info(k, 1, &info) &&
		   info.phase == PEAL_WORKER_DRAINED);
	CHECK_OK(peal_worker_info(k, 0, &info));
	CHECK_EQ(info.phase, PEAL_WORKER_RUNNING);
	CHECK_OK(peal_pool_destroy(rt, pool));
	for (i = 0; i < 3; i++) /* a refused call changes nothing */
		CHECK_FAILS(peal_pool_create(k, NULL, &pool), PEAL_ESTOPPED,
			    "ended");
	identity_sleep_us(20000); /* worker 0 checks its pools */
	receive_one(out, seen, 1);
	CHECK_OK(peal_kernel_wait(k, MAX_WAIT));
	CHECK_OK(peal_runtime_shutdown(rt));
}

PEAL_TEST(queued_messages_of_destroyed_pool_are_dead)
{
	struct peal_kernel_options o = { .workers = 3 };
	struct peal_pool_options p = { .capacity = 64 };
	struct peal_runtime *rt = harness_open(1, "");
	struct peal_kernel *k = launch(rt, 0, o);
	struct peal_endpoint *in = harness_endpoint(rt);
	uint64_t pool = make_pool(k, p), next, i;
	struct peal_link *link = harness_from(rt, in, 0, pool, none);
	struct peal_kernel_info info;

	for (i = 0; i < 10; i++)
		send_task(in, i, NULL);
	EVENTUALLY(harness_info(link).delivered == 10);
	CHECK_OK(peal_link_destroy(link));
	CHECK_OK(peal_pool_destroy(rt, pool));
	EVENTUALLY(!peal_kernel_info(k, &info) && info.mailbox_dead == 10);
	CHECK_EQ(info.mailbox_sends, 10);
	CHECK_EQ(info.mailbox_done, 10);
	CHECK_EQ(peal_pool_destroy(rt, pool), PEAL_ENOENT);
	next = make_pool(k, p); /* reuses the entry of the first pool */
	CHECK(next != pool);
	link = harness_from(rt, in, 0, next, none);
	CHECK_OK(peal_send_to(in, 0, pool, 0, "", 0, MAX_WAIT, NULL));
	EVENTUALLY(harness_info(link).dead[PEAL_REASON_NO_ACTOR] == 1);
	CHECK_OK(peal_link_destroy(link));
	CHECK_OK(peal_pool_destroy(rt, next));
	CHECK_OK(peal_runtime_shutdown(rt));
}

/* A message counts as done and dead if its handler fails. */
PEAL_TEST(failed_pool_messages_count_as_done_and_dead)
{
	struct peal_kernel_options o = { .workers = 2,
					 .drain_when_inputs_end = 1 };
	struct peal_pool_options p = { .capacity = 0 };
	struct peal_runtime *rt = harness_open(1, "");
	struct peal_kernel *k = launch(rt, 0, o);
	struct peal_endpoint *in = harness_endpoint(rt);
	uint64_t pool = make_pool(k, p), i;
	struct peal_link *link;
	struct peal_link_info l;
	struct peal_kernel_info info;

	join(rt, k, pool, "refuse", 0);
	join(rt, k, pool, "refuse", 1);
	link = harness_from(rt, in, 0, pool, none);
	for (i = 0; i < 100; i++)
		send_task(in, i, NULL);
	CHECK_OK(peal_send_end(in, 0, MAX_WAIT));
	CHECK_OK(peal_kernel_wait(k, MAX_WAIT));
	CHECK_OK(peal_kernel_info(k, &info));
	l = harness_info(link);
	CHECK_EQ(info.failed, 100);
	CHECK_EQ(info.mailbox_dead + l.dead[PEAL_REASON_HANDLER], 100);
	CHECK_EQ(info.mailbox_dead, info.mailbox_sends);
	CHECK_OK(peal_runtime_shutdown(rt));
}

/* ---- pools of two devices ------------------------------------------------ */

/*
 * Member 1 passes messages on to a pool of another device. Member 0 can pass on
 * one message, and then holds one more.
 */
PEAL_TEST(member_forwards_to_pool_of_other_device)
{
	struct peal_kernel_options o = { .workers = 2 };
	struct peal_pool_options p = { .capacity = 4 };
	struct peal_link_options one = { .capacity = 1 };
	struct peal_link_options few = { .capacity = 4 };
	struct peal_runtime *rt = harness_open(2, "");
	struct peal_kernel *near = launch(rt, 0, o), *far = launch(rt, 1, o);
	struct peal_endpoint *in = harness_endpoint(rt);
	struct peal_endpoint *out = harness_endpoint(rt);
	struct peal_endpoint *slow = harness_endpoint(rt);
	uint64_t here = make_pool(near, p), there = make_pool(far, p), i;
	struct peal_link *across;
	uint8_t seen[100] = { 0 };

	harness_to(rt, join(rt, near, here, "toil", 0), slow, one);
	across = harness_link(rt, join(rt, near, here, "toil", 1), 0, there,
			      few);
	for (i = 0; i < 2; i++)
		harness_to(rt, join(rt, far, there, "toil", (uint32_t)i), out,
			   none);
	harness_from(rt, in, 0, here, none);
	for (i = 0; i < 100; i++)
		send_task(in, i, NULL);
	for (i = 0; i < 98; i++)
		receive_one(out, seen, 100);
	for (; i < 100; i++) /* either endpoint gets the last two */
		EVENTUALLY(received(slow, seen, 100, 0) ||
			   received(out, seen, 100, 0));
	CHECK(harness_info(across).delivered >= 98);
	harness_conserved(rt);
	CHECK_OK(peal_runtime_shutdown(rt));
}

/* ---- refusals ------------------------------------------------------------ */

PEAL_TEST(pool_errors_name_the_invalid_argument)
{
	struct peal_kernel_options o = { .workers = 2, .max_actors = 4 };
	struct peal_pool_options p = { .size = sizeof(p) };
	struct peal_link_options l = { .size = sizeof(l), .message_bytes = 64 };
	struct peal_runtime *rt = harness_open(1, "");
	struct peal_kernel *k, *other, *plain;
	struct peal_endpoint *e = harness_endpoint(rt);
	uint64_t host = peal_endpoint_address(e), pool = 0, second, a, b;
	struct peal_pool_info info;

	CHECK_OK(peal_program_add(rt, &peal_program_relay));
	k = launch(rt, 0, o);
	other = launch(rt, 0, o);
	plain = harness_launch(rt, 0);
	CHECK_FAILS(peal_pool_create(plain, NULL, &pool), PEAL_ENOTSUP,
		    "PEAL_USE_POOLS");
	p.capacity = 3;
	CHECK_FAILS(peal_pool_create(k, &p, &pool), PEAL_EINVAL, "3");
	p.capacity = 0;
	p.message_bytes = 5000;
	CHECK_FAILS(peal_pool_create(k, &p, &pool), PEAL_EINVAL, "5000");
	p.message_bytes = 0;
	p.policy = 9;
	CHECK_FAILS(peal_pool_create(k, &p, &pool), PEAL_EINVAL, "policy");
	CHECK_EQ(peal_pool_create(NULL, NULL, &pool), PEAL_EINVAL);
	CHECK_OK(peal_pool_create(k, NULL, &pool));
	CHECK_FAILS(peal_pool_create(k, NULL, &second), PEAL_ENOSPC,
		    "larger max_pools in struct peal_kernel_options");
	CHECK_OK(peal_pool_info(rt, pool, &info));
	CHECK_EQ(info.capacity, 64);
	CHECK_EQ(info.message_bytes, 48);
	CHECK_EQ(info.members, 0);
	CHECK(info.memory_bytes > 2 * 64 * 64);

	a = harness_spawn(k, "picky", 0);
	b = harness_spawn(k, "picky_too", 1);
	CHECK_FAILS(peal_pool_join(rt, a, b), PEAL_ENOENT, "no pool");
	CHECK_FAILS(peal_pool_join(rt, pool, pool), PEAL_ENOENT, "no actor");
	CHECK_FAILS(peal_pool_join(rt, pool, harness_spawn(other, "refuse", 0)),
		    PEAL_EINVAL, "kernel");
	CHECK_OK(peal_pool_join(rt, pool, a));
	CHECK_FAILS(peal_pool_join(rt, pool, a), PEAL_EEXIST, "already");
	CHECK_FAILS(peal_pool_join(rt, pool, b), PEAL_EINVAL, "picky_too");
	CHECK_FAILS(peal_pool_join(rt, pool, harness_spawn(k, "refuse", 0)),
		    PEAL_EEXIST, "worker 0");
	CHECK_FAILS(peal_pool_leave(rt, pool, b), PEAL_ENOENT, "member");
	CHECK_FAILS(peal_actor_retire(rt, a), PEAL_EBUSY, "pool");
	CHECK_FAILS(peal_actor_retire(rt, pool), PEAL_ENOENT, "no actor");
	CHECK_FAILS(peal_pool_destroy(rt, pool), PEAL_EBUSY, "members (1)");

	CHECK_FAILS(peal_connect(rt, host, 0, pool, &l, NULL), PEAL_EMSGSIZE,
		    "48");
	CHECK_FAILS(peal_connect(rt, pool, 0, host, NULL, NULL), PEAL_EINVAL,
		    "a pool");
	CHECK_OK(peal_connect(rt, host, 0, pool, NULL, NULL));
	CHECK_OK(peal_pool_leave(rt, pool, a));
	CHECK_FAILS(peal_pool_destroy(rt, pool), PEAL_EBUSY, "links to it (1)");
	CHECK_OK(peal_kernel_stop(k, MAX_WAIT));
	CHECK_FAILS(peal_pool_create(k, NULL, &second), PEAL_ESTOPPED, "ended");
	CHECK_OK(peal_runtime_shutdown(rt));
}

PEAL_TEST_MAIN(RUN(every_message_is_handled_once);
	       RUN(pool_of_two_slots_delivers_all_messages);
	       RUN(epochs_do_not_change_pool_delivery);
	       RUN(free_member_takes_messages_of_busy_member);
	       RUN(kernel_ends_when_its_pool_is_empty);
	       RUN(tell_to_full_pool_waits_for_slots);
	       RUN(worker_does_not_end_before_members_tell);
	       RUN(messages_wait_for_members);
	       RUN(members_join_and_leave_without_loss);
	       RUN(blocked_member_takes_no_message);
	       RUN(worker_handles_messages_of_its_full_pool);
	       RUN(timed_out_pool_calls_can_be_repeated);
	       RUN(member_of_timed_out_join_can_leave);
	       RUN(pool_ends_after_one_worker_has_ended);
	       RUN(queued_messages_of_destroyed_pool_are_dead);
	       RUN(failed_pool_messages_count_as_done_and_dead);
	       RUN(member_forwards_to_pool_of_other_device);
	       RUN(pool_errors_name_the_invalid_argument);)
