/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_TESTS_RANK_FIXTURE_H
#define PEAL_TESTS_RANK_FIXTURE_H

/*
 * Fixture of the tests of priorities:
 * 1. A handler holds its worker at a gate.
 * 2. The test fills the queues of the worker.
 * 3. The test opens the gate.
 * 4. Handlers note the order in which the worker takes the messages.
 */

#include "runtime/both_lanes.h"
#include "runtime/ranks.h"

PEAL_DECLARE_PROGRAM(ranks);
PEAL_DECLARE_PROGRAM(rank_pools);

#define ROW 32 /* high-priority messages per normal message */
#define PLENTY 4096 /* mailbox slots and messages: no sender waits for a slot */
#define MIDDLE 300

/* Senders, as noted in the list. Odd numbers have high priority. */
enum { NO_SENDER, HIGH, LOW, HIGH_TOO, LOW_TOO, HIGH_MAIL, MAIL };

static struct fixture {
	struct peal_runtime *rt;
	struct peal_endpoint *e;
	struct peal_kernel *k;
	uint64_t note; /* the actor `note` of worker 0 */
	uint32_t ports;
	struct rank_list *list; /* pinned */
} s;

/* ---- a kernel and its links ---------------------------------------------- */

static inline void open_rank_fixture(struct peal_kernel_options o, int pools)
{
	memset(&s, 0, sizeof(s));
	s.rt = harness_open(2, "0-1:nvlink");
	s.list = (struct rank_list *)harness_pinned(s.rt, sizeof(*s.list));
	s.e = harness_endpoint(s.rt);
	/* Both devices may be parts of one GPU. Next to a resident kernel it
	 * loads no program. */
	CHECK_OK(peal_program_add(s.rt, &peal_program_relay));
	o.size = sizeof(o);
	o.lanes = lanes;
	if (!o.workers)
		o.workers = 1;
	CHECK_OK(peal_kernel_launch(
		s.rt, 0, pools ? &peal_program_rank_pools : &peal_program_ranks,
		&o, &s.k));
	s.note = harness_spawn(s.k, "note", 0);
}

/* Opens the fixture with large mailboxes of both priorities. */
static inline void open_mail(uint32_t workers, int pools)
{
	struct peal_kernel_options o = { .workers = workers,
					 .mailbox.slots = PLENTY,
					 .mailbox.priority = 1 };

	open_rank_fixture(o, pools);
}

static inline void open_plain(void)
{
	struct peal_kernel_options o = { .workers = 1 };

	open_rank_fixture(o, 0);
}

static inline void close_rank_fixture(void)
{
	peal_store_release_sys(&s.list->word, 1);
	CHECK_OK(peal_kernel_stop(s.k, MAX_WAIT));
	harness_conserved(s.rt);
	CHECK_OK(peal_runtime_shutdown(s.rt));
}

/* Links the endpoint's next port to an actor. */
static inline struct peal_link *link_to(uint64_t to, uint32_t priority,
					uint32_t *port_out)
{
	struct peal_link_options o = { .capacity = PLENTY,
				       .priority = priority };

	*port_out = s.ports++;
	return harness_from(s.rt, s.e, *port_out, to, o);
}

static inline struct rank_note say(uint32_t from, uint64_t to)
{
	struct rank_note note = { harness_address(s.list), from, (uint32_t)to,
				  0, 0 };

	return note;
}

static inline void send_note(uint32_t port, uint16_t type,
			     struct rank_note note, uint64_t n)
{
	while (n--)
		CHECK_OK(peal_send(s.e, port, type, &note, sizeof(note),
				   MAX_WAIT, NULL));
}

/* As send_note(), but to another actor than the link's receiver. */
static inline void send_far(uint32_t port, uint64_t to, struct rank_note note,
			    uint64_t n)
{
	while (n--)
		CHECK_OK(peal_send_to(s.e, port, to, 0, &note, sizeof(note),
				      MAX_WAIT, NULL));
}

/* Sends a gate message by the port. Waits until its handler is at the gate. */
static inline void close_gate(uint32_t port)
{
	peal_store_release_sys(&s.list->word, 0);
	send_note(port, RANK_GATE, say(NO_SENDER, 0), 1);
	EVENTUALLY(peal_load_acquire_sys(&s.list->waits));
}

static inline void open_gate(void)
{
	peal_store_release_sys(&s.list->word, 1);
}

/* Waits until exactly n messages are noted. */
static inline void written(uint64_t n)
{
	EVENTUALLY(peal_load_acquire_sys(&s.list->n) >= n);
	CHECK_EQ(peal_load_acquire_sys(&s.list->n), n);
}

static inline struct peal_kernel_info kernel_info(void)
{
	struct peal_kernel_info info;

	CHECK_OK(peal_kernel_info(s.k, &info));
	return info;
}

/*
 * Waits until all messages that a worker has counted as told or accepted are in
 * their queues. A worker counts a message before it is in its queue. The worker
 * answers a spawn in a later turn. By then it has also published its counters
 * of taken messages.
 */
static inline void in_queue(struct peal_kernel *k, const char *handler,
			    int worker)
{
	harness_spawn(k, handler, worker);
}

static inline int is_high(uint64_t i)
{
	return s.list->from[i] & 1;
}

/* Between two noted messages the worker moved at most ROW messages. It moved
 * exactly ROW while such messages waited. */
static inline void check_moved(uint64_t moved)
{
	uint64_t i;

	for (i = 1; i < s.list->n; i++)
		CHECK(s.list->told[i] - s.list->told[i - 1] <= ROW);
	CHECK(s.list->told[0] <= ROW);
	CHECK_EQ(s.list->told[moved / ROW - 1], moved / ROW * ROW);
}

#endif
