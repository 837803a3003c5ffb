/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Workers with full mailboxes. Shows that they do not stall: a worker waits
 * only for workers that have messages from it. Without the slots that each
 * worker reserves in advance, the cases would stall for good.
 */
#include "runtime/harness.h"
#include "runtime/full_mailbox.h"

PEAL_DECLARE_PROGRAM(full_mailbox);

#define WORKERS_MAX 3
#define MESSAGES (IDENTITY_SANITIZED || test_on_gpu() ? 2000u : 20000u)

/* A kernel with one actor per worker, and a link to the first actor. */
struct row {
	struct peal_runtime *rt;
	struct peal_endpoint *e;
	struct peal_kernel *k;
	struct peal_link *link;
	uint64_t actor[WORKERS_MAX];
	uint32_t workers;
	uint64_t *gate; /* 1 opens the gate of worker 1; NULL: no gate */
};

static void open_row(struct row *r, uint32_t workers, uint32_t lanes,
		     uint32_t slots)
{
	struct peal_kernel_options o = { .size = sizeof(o),
					 .workers = workers,
					 .lanes = lanes,
					 .mailbox.slots = slots };

	memset(r, 0, sizeof(*r));
	r->rt = harness_open(1, "");
	r->e = harness_endpoint(r->rt);
	r->workers = workers;
	CHECK_OK(peal_kernel_launch(r->rt, 0, &peal_program_full_mailbox, &o,
				    &r->k));
}

/*
 * Spawns one actor per worker. Actor i tells actor next[i] (ROW_END: none).
 * Actor 0 has the link.
 */
static void spawn_row(struct row *r, const char *const *handler,
		      const uint32_t *next)
{
	struct peal_link_options none = { .capacity = 0 };
	uint32_t i;

	for (i = 0; i < r->workers; i++) {
		struct row_actor init = { next[i], 0, 0, 0 };
		struct peal_actor_options o = { .size = sizeof(o),
						.worker = PEAL_WORKER(i),
						.init = &init,
						.init_bytes = sizeof(init) };

		CHECK_OK(peal_actor_spawn(r->k, handler[i], &o, &r->actor[i]));
		CHECK_EQ((uint32_t)r->actor[i], i);
	}
	r->link = harness_from(r->rt, r->e, 0, r->actor[0], none);
}

/* Keeps worker 1 in a handler until *r->gate is set. */
static void close_gate(struct row *r)
{
	struct peal_actor_options o = { .size = sizeof(o), .worker = 2 };
	struct peal_link_options none = { .capacity = 0 };
	struct peal_worker_info info;
	uint64_t holder, word;

	r->gate = harness_gate(r->rt);
	word = harness_address(r->gate);
	CHECK_OK(peal_actor_spawn(r->k, "hold", &o, &holder));
	harness_from(r->rt, r->e, 1, holder, none);
	CHECK_OK(peal_send(r->e, 1, 0, &word, sizeof(word), MAX_WAIT, NULL));
	EVENTUALLY(!peal_worker_info(r->k, 1, &info) &&
		   info.actor == (int64_t)(uint32_t)holder);
}

static void send(struct row *r, uint16_t type, uint64_t first, uint64_t n)
{
	uint64_t i;

	for (i = first; i < first + n; i++)
		CHECK_OK(peal_send(r->e, 0, type, &i, sizeof(i), MAX_WAIT,
				   NULL));
}

/*
 * Drains the kernel. Checks that all told messages were handled. Actor i must
 * have seen seen[i] messages. n: messages of the link.
 */
static void close_row(struct row *r, uint64_t n, uint64_t told,
		      const uint64_t *seen)
{
	struct peal_kernel_info info;
	struct row_actor state;
	uint32_t i;

	CHECK_OK(peal_send_end(r->e, 0, MAX_WAIT));
	if (r->gate)
		CHECK_OK(peal_send_end(r->e, 1, MAX_WAIT));
	CHECK_OK(peal_kernel_drain(r->k, MAX_WAIT));
	CHECK_OK(peal_kernel_info(r->k, &info));
	CHECK_EQ(info.mailbox_sends, told);
	CHECK_EQ(info.mailbox_done, told);
	CHECK_EQ(info.mailbox_dead, 0);
	CHECK_EQ(info.failed, 0);
	for (i = 0; i < r->workers; i++) {
		CHECK_OK(peal_actor_state(r->rt, r->actor[i], &state,
					  sizeof(state)));
		CHECK_EQ(state.seen, seen[i]);
		CHECK_EQ(state.misordered, 0);
	}
	harness_delivered(r->link, n);
	harness_conserved(r->rt);
	CHECK_OK(peal_runtime_shutdown(r->rt));
}

/* ---- cases --------------------------------------------------------------- */

/*
 * Actor 0 tells actor 1 until the mailbox of worker 1 is full. Actor 1 tells
 * actor 2 each of these messages. There is no cycle.
 */
static void chain(uint32_t lanes, uint32_t slots)
{
	static const char *const handlers[] = { "pass", "pass", "pass" };
	static const uint32_t next[] = { 1, 2, ROW_END };
	const uint64_t seen[] = { 200, 200, 200 };
	struct peal_worker_info info;
	struct row r;
	uint64_t told;

	open_row(&r, 3, lanes, slots);
	spawn_row(&r, handlers, next);
	close_gate(&r);
	send(&r, 0, 0, 60);
	/* worker 0 waits for a free slot there */
	EVENTUALLY(!peal_worker_info(r.k, 0, &info) &&
		   info.blocked_port == PEAL_BLOCKED_MAIL);
	told = info.mailbox_sends;
	CHECK(told > 0 && told <= slots);
	peal_store_release_sys(r.gate, 1);
	send(&r, 0, 60, 140);
	close_row(&r, 200, 400, seen);
}

PEAL_TEST(chain_resumes_with_its_delayed_actor)
{
	chain(1, 16);
	chain(32, 16);
	chain(1, 4);
}

/*
 * The mailbox of the asking actor fills with answers while its input continues.
 * The worker must handle answers to free slots for the answering actor.
 */
static void dialogue(uint32_t workers, uint32_t lanes, uint32_t slots)
{
	static const char *const handlers[] = { "ask", "answer" };
	const uint32_t next[] = { workers - 1, 0 };
	struct peal_link_options none = { .capacity = 0 };
	const uint64_t seen[] = { MESSAGES, MESSAGES };
	struct row r;

	open_row(&r, workers, lanes, slots);
	if (workers == 2) {
		spawn_row(&r, handlers, next);
	} else { /* both actors on one worker */
		struct row_actor to[2] = { { 1, 0, 0, 0 }, { 0, 0, 0, 0 } };
		struct peal_actor_options o = { .size = sizeof(o),
						.init = &to[0],
						.init_bytes = sizeof(to[0]) };

		CHECK_OK(peal_actor_spawn(r.k, "ask", &o, &r.actor[0]));
		o.init = &to[1];
		CHECK_OK(peal_actor_spawn(r.k, "answer", &o, &r.actor[1]));
		r.link = harness_from(r.rt, r.e, 0, r.actor[0], none);
	}
	send(&r, 0, 0, MESSAGES);
	close_row(&r, MESSAGES, 2 * MESSAGES, seen);
}

PEAL_TEST(questions_leave_slots_for_answers)
{
	dialogue(2, 1, 4);
	dialogue(2, 1, 16);
	dialogue(2, 32, 16);
	dialogue(1, 1, 2);
	dialogue(1, 1, 16);
}

/*
 * An actor tells itself while another worker fills its mailbox. The actor gets
 * the slots that its own handled messages free, before the other worker.
 */
static void crowd(uint32_t lanes, uint32_t slots)
{
	static const char *const handlers[] = { "pass", "again" };
	static const uint32_t next[] = { 1, ROW_END };
	const uint64_t seen[] = { MESSAGES / 4, MESSAGES / 4 * 8 };
	struct row r;

	open_row(&r, 2, lanes, slots);
	spawn_row(&r, handlers, next);
	send(&r, 7, 0, MESSAGES / 4);
	close_row(&r, MESSAGES / 4, MESSAGES / 4 * 8, seen);
}

PEAL_TEST(self_tells_proceed_in_a_full_mailbox)
{
	crowd(1, 4);
	crowd(1, 16);
	crowd(32, 16);
}

/*
 * Messages that worker 0 passes on to worker 1 leave free slots for handlers
 * there. Actor 0 handles the answers. Its handler tells no message, but its
 * worker must reserve a slot for one.
 */
static void forward_at_once(uint32_t slots)
{
	static const char *const handlers[] = { "pass", "pass" };
	static const uint32_t next[] = { ROW_END, 0 };
	const uint64_t seen[] = { MESSAGES, MESSAGES };
	struct row r;
	uint64_t i;

	open_row(&r, 2, 1, slots);
	spawn_row(&r, handlers, next);
	for (i = 0; i < MESSAGES; i++)
		CHECK_OK(peal_send_to(r.e, 0, r.actor[1], 0, &i, sizeof(i),
				      MAX_WAIT, NULL));
	close_row(&r, MESSAGES, 2 * MESSAGES, seen);
}

PEAL_TEST(passed_on_messages_leave_slots_for_handlers)
{
	forward_at_once(4);
	forward_at_once(16);
}

/*
 * Worker 1 takes no messages, and one link to worker 0 is full of messages for
 * worker 1. The messages of another link to worker 0 still arrive.
 */
static void neighbour(uint32_t slots)
{
	static const char *const handlers[] = { "pass", "pass", "pass" };
	static const uint32_t next[] = { ROW_END, ROW_END, ROW_END };
	const uint64_t filled = slots / 4 * 3, seen[] = { 0, filled, MESSAGES };
	struct peal_link_options none = { .capacity = 0 };
	struct peal_link *other;
	struct row r;
	uint64_t i;

	open_row(&r, 3, 1, slots);
	spawn_row(&r, handlers, next);
	other = harness_from(r.rt, r.e, 2, r.actor[0], none);
	close_gate(&r);
	/* more than the mailbox admits from a link */
	for (i = 0; i < filled; i++)
		CHECK_OK(peal_send_to(r.e, 0, r.actor[1], 0, &i, sizeof(i),
				      MAX_WAIT, NULL));
	for (i = 0; i < MESSAGES; i++)
		CHECK_OK(peal_send_to(r.e, 2, r.actor[2], 0, &i, sizeof(i),
				      MAX_WAIT, NULL));
	EVENTUALLY(harness_info(other).queued == 0);
	peal_store_release_sys(r.gate, 1);
	CHECK_OK(peal_send_end(r.e, 2, MAX_WAIT));
	close_row(&r, filled, filled + MESSAGES, seen);
}

PEAL_TEST(blocked_actor_does_not_block_neighbours)
{
	neighbour(16);
	neighbour(64);
	neighbour(256);
}

/*
 * Each hop makes one more message, to the next actor. With one worker, an actor
 * tells itself. The input brings more messages than the mailboxes hold.
 */
static void monologue(uint32_t workers, uint32_t slots)
{
	struct peal_kernel_options o = { .workers = workers,
					 .mailbox.slots = slots };
	struct peal_runtime *rt = harness_open(1, "");
	struct peal_endpoint *e = harness_endpoint(rt);
	struct peal_kernel *k = harness_launch_with(rt, 0, o);
	struct peal_link_options none = { .capacity = 0 };
	struct relay_hop hop = { 5, workers };
	struct peal_kernel_info info;
	struct peal_link *link;
	uint64_t actor[WORKERS_MAX];
	uint32_t i;

	for (i = 0; i < workers; i++)
		actor[i] = harness_spawn(k, "hop", (int)i);
	link = harness_from(rt, e, 0, actor[0], none);
	for (i = 0; i < MESSAGES; i++)
		CHECK_OK(peal_send(e, 0, 0, &hop, sizeof(hop), MAX_WAIT, NULL));
	CHECK_OK(peal_send_end(e, 0, MAX_WAIT));
	CHECK_OK(peal_kernel_drain(k, MAX_WAIT));
	CHECK_OK(peal_kernel_info(k, &info));
	CHECK_EQ(info.mailbox_sends, 5 * MESSAGES);
	CHECK_EQ(info.mailbox_done, info.mailbox_sends);
	CHECK_EQ(info.failed, 0);
	harness_delivered(link, MESSAGES);
	harness_conserved(rt);
	CHECK_OK(peal_runtime_shutdown(rt));
}

PEAL_TEST(self_telling_actor_takes_only_fitting_messages)
{
	monologue(1, 2);
	monologue(1, 16);
}

PEAL_TEST(link_messages_do_not_deadlock_a_cycle)
{
	monologue(2, 4);
	monologue(2, 64);
	monologue(3, 64);
}

PEAL_TEST_MAIN(RUN(chain_resumes_with_its_delayed_actor);
	       RUN(questions_leave_slots_for_answers);
	       RUN(self_tells_proceed_in_a_full_mailbox);
	       RUN(passed_on_messages_leave_slots_for_handlers);
	       RUN(blocked_actor_does_not_block_neighbours);
	       RUN(self_telling_actor_takes_only_fitting_messages);
	       RUN(link_messages_do_not_deadlock_a_cycle);)
