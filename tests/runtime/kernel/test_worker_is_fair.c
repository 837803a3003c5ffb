/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A worker that always has messages serves all its sources in turn. It also
 * returns credit and handles control messages. Its handler waits at a gate
 * while the queues fill, so the order does not depend on time.
 */
#include <pthread.h>

#include "runtime/harness.h"
#include "runtime/kernel/kernel.h"
#include "runtime/load.h"

PEAL_DECLARE_PROGRAM(load);

#define INPUTS 4
#define EACH 256 /* messages from each source */
#define BURST 32 /* longest run from one input: ringkernels/README.md */
#define MANY 32768
#define WORK_NS 10000 /* ns per message; MANY take a third of a second */

struct load {
	struct peal_runtime *rt;
	struct peal_endpoint *e;
	struct peal_kernel *k; /* workers: `record` on 0, `tell` on 1 */
	uint64_t record, tell;
	uint64_t receiver; /* the actor that `tell` sends to */
	uint64_t *gate; /* 0: the handler waits */
	struct load_record state;
};

static struct load l; /* the state is large */

static void open_load(void)
{
	struct peal_kernel_options o = { .size = sizeof(o),
					 .workers = 2,
					 .mailbox.slots = 2048,
					 .max_actors = 8 };

	memset(&l, 0, sizeof(l));
	l.rt = harness_open(2, "0-1:nvlink");
	l.gate = harness_gate(l.rt);
	l.e = harness_endpoint(l.rt);
	CHECK_OK(peal_kernel_launch(l.rt, 0, &peal_program_load, &o, &l.k));
	l.receiver = l.record = harness_spawn(l.k, "record", 0);
	l.tell = harness_spawn(l.k, "tell", 1);
}

static void close_load(void)
{
	CHECK_OK(peal_kernel_stop(l.k, MAX_WAIT));
	harness_conserved(l.rt);
	CHECK_OK(peal_runtime_shutdown(l.rt));
}

/* Connects a port of the host to an actor, by a link of `capacity` slots. */
static struct peal_link *port(uint32_t index, uint64_t to, uint32_t capacity)
{
	struct peal_link_options o = {
		.capacity = capacity, .message_bytes = sizeof(struct load_note)
	};

	return harness_from(l.rt, l.e, index, to, o);
}

static void send(uint32_t index, uint16_t type, uint64_t n, uint64_t spin_ns)
{
	struct load_note note = { (uint32_t)l.receiver, harness_address(l.gate),
				  spin_ns };

	while (n--)
		CHECK_OK(peal_send(l.e, index, type, &note, sizeof(note),
				   MAX_WAIT, NULL));
}

static struct peal_kernel_info kernel(void)
{
	struct peal_kernel_info info;

	CHECK_OK(peal_kernel_info(l.k, &info));
	return info;
}

static void open_gate(void)
{
	peal_store_release_sys(l.gate, 1);
}

static void read_record(void)
{
	CHECK_OK(peal_kernel_suspend(l.k, MAX_WAIT));
	CHECK_OK(peal_actor_state(l.rt, l.record, &l.state, sizeof(l.state)));
	CHECK_OK(peal_kernel_resume(l.k));
}

PEAL_TEST(all_inputs_and_the_mailbox_get_their_turn)
{
	struct peal_link *link[INPUTS];
	uint64_t i, row = 0, longest = 0, seen[256] = { 0 };

	open_load();
	for (i = 0; i < INPUTS; i++)
		link[i] = port((uint32_t)i, l.record, 1024);
	port(INPUTS, l.tell, 1024);
	send(0, 1, 1, 0);
	for (i = 0; i < INPUTS; i++)
		send((uint32_t)i, 0, EACH, 0);
	send(INPUTS, 0, EACH, 0);
	EVENTUALLY(kernel().mailbox_sends == EACH);
	open_gate();
	for (i = 0; i < INPUTS; i++)
		EVENTUALLY(harness_info(link[i]).delivered == EACH + !i);
	EVENTUALLY(kernel().mailbox_done == EACH);
	read_record();
	CHECK_EQ(l.state.n, (INPUTS + 1) * EACH);
	/* While all sources have messages, no run is longer than a burst. Each
	 * source has its turn in every round. */
	for (i = 0; i < (INPUTS + 1) * EACH / 2; i++) {
		row = i && l.state.input[i] == l.state.input[i - 1] ? row + 1 :
								      1;
		longest = row > longest ? row : longest;
		seen[l.state.input[i]]++;
	}
	CHECK_EQ(longest, BURST);
	for (i = 0; i < INPUTS; i++)
		CHECK(seen[i] >= 2 * BURST);
	for (i = INPUTS; i < 256 && !seen[i]; i++)
		;
	CHECK(i < 256 && seen[i] >= 2 * BURST); /* the mailbox */
	close_load();
}

PEAL_TEST(busy_worker_returns_less_than_a_quarter)
{
	struct peal_kernel_options o = { .size = sizeof(o), .workers = 1 };
	struct peal_link_options eight = { .capacity = 8 };
	struct peal_link_options two = { .capacity = 16 };
	struct peal_link *busy, *poured;
	struct peal_kernel *k;
	uint64_t pour;

	open_load();
	CHECK_OK(peal_kernel_launch(l.rt, 1, &peal_program_load, &o, &k));
	pour = harness_spawn(k, "pour", 0);
	busy = port(0, l.record, MANY);
	/* `pour` sends one message, but needs eight free slots to run. The link
	 * has eight slots: each message needs the credit of the one before. */
	poured = harness_link(l.rt, pour, 0, l.record, eight);
	harness_link(l.rt, pour, 1, pour, two);
	port(1, pour, 4);
	send(0, 1, 1, WORK_NS);
	send(0, 0, MANY - 1, 0);
	send(1, 0, 1, 0);
	EVENTUALLY(harness_info(poured).accepted == 1);
	open_gate();
	EVENTUALLY(harness_info(poured).delivered > 8);
	CHECK(harness_info(busy).queued > 0); /* the worker was never idle */
	CHECK_OK(peal_kernel_stop(k, MAX_WAIT));
	close_load();
}

/* Returns how many control messages the host has sent to worker 0. */
static uint64_t control_sent(void)
{
	uint64_t sent;

	pthread_mutex_lock(&l.k->push_lock);
	sent = l.k->workers[0].control_sent;
	pthread_mutex_unlock(&l.k->push_lock);
	return sent;
}

static void *retire(void *unused)
{
	(void)unused;
	CHECK_OK(peal_actor_retire(l.rt, l.record));
	return NULL;
}

PEAL_TEST(busy_worker_handles_control_messages)
{
	struct peal_actor_options o = { .size = sizeof(o), .worker = 1 };
	struct peal_link *busy;
	uint64_t address;

	open_load();
	busy = port(0, l.record, MANY);
	send(0, 1, 1, WORK_NS);
	send(0, 0, MANY - 1, 0);
	open_gate();
	CHECK_OK(peal_actor_spawn(l.k, "record", &o, &address));
	CHECK(harness_info(busy).queued > 0);
	CHECK_OK(peal_kernel_suspend(l.k, MAX_WAIT));
	CHECK(harness_info(busy).queued > 0);
	CHECK_OK(peal_kernel_resume(l.k));
	CHECK_OK(peal_kernel_stop(l.k, MAX_WAIT));
	CHECK(harness_info(busy).dead[PEAL_REASON_STOPPED] > 0);
	harness_conserved(l.rt);
	CHECK_OK(peal_runtime_shutdown(l.rt));
}

/* A worker caches its latest actor. The cache must not outlive the actor. */
PEAL_TEST(mail_for_actor_retired_meanwhile_is_dead)
{
	struct peal_kernel_info info;
	pthread_t thread;
	uint64_t other, sent;

	open_load();
	other = harness_spawn(l.k, "record", 0);
	port(0, l.tell, 1024);
	send(0, 1, 1, 0);
	/* Five messages to another actor shift the turns. Else the look at
	 * control messages, every 64 turns, would always come together with a
	 * new look-up of the actor. */
	l.receiver = other;
	send(0, 0, 5, 0);
	l.receiver = l.record;
	send(0, 0, 3 * EACH, 0);
	/* all of them: a later tell may find no actor */
	EVENTUALLY(kernel().mailbox_sends == 3 * EACH + 6);
	sent = control_sent();
	CHECK(!pthread_create(&thread, NULL, retire, NULL));
	EVENTUALLY(control_sent() > sent);
	open_gate();
	pthread_join(thread, NULL);
	EVENTUALLY(kernel().mailbox_done == kernel().mailbox_sends);
	info = kernel();
	CHECK_EQ(info.failed, 0);
	CHECK(info.mailbox_dead > EACH);
	close_load();
}

PEAL_TEST_MAIN(RUN(all_inputs_and_the_mailbox_get_their_turn);
	       RUN(busy_worker_returns_less_than_a_quarter);
	       RUN(busy_worker_handles_control_messages);
	       RUN(mail_for_actor_retired_meanwhile_is_dead);)
