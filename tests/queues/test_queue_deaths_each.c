/* SPDX-License-Identifier: Apache-2.0 */
#include <signal.h>

#include "front.h"

/*
 * Shows that a thread may die before any instruction of a push or a pop. The
 * other threads lose nothing, keep their order and reach the end. The test
 * executes one call step by step:
 *
 * 1. After each instruction the handler of the trap saves the queue.
 * 2. The other ends run without the dead thread.
 * 3. The handler restores the queue, and the call continues.
 */

#define TRAP_FLAG 0x100
#define STEPS_MOST 10000
#define TRIES 100

struct death {
	uint32_t kind, n; /* messages of the call */
	int in_pop;
};

/* A queue and its ends. NULL: the queue has no such end. */
struct fixture {
	struct death d;
	struct peal_queue *q;
	struct peal_queue_end *p, *other, *c[2];
};

static void live_on(const struct fixture *s, int through);

/* ---- save and restore a queue -------------------------------------------- */

struct part {
	void *at;
	size_t bytes;
};

#define PARTS 8

/* Lists all memory that a queue's ends write. Returns the number of parts. */
static int parts_of(struct peal_queue *q, struct part part[PARTS])
{
	struct peali_queue_side *s;
	int i, n = 0;

	part[n++] = (struct part){ q, sizeof(*q) };
	part[n++] = (struct part){ q->memory, q->bytes };
	for (i = 0; i < 2; i++) {
		s = &q->side[i];
		part[n++] = (struct part){ s->end, s->most * sizeof(*s->end) };
		part[n++] =
			(struct part){ s->bells, s->most * sizeof(*s->bells) };
		part[n++] = (struct part){ s->counts,
					   s->most * sizeof(*s->counts) };
	}
	return n;
}

static uint8_t *aside; /* saved parts */

static void *aside_open(struct peal_queue *q)
{
	struct part part[PARTS];
	size_t bytes = 0;
	int i;

	for (i = parts_of(q, part); i-- > 0;)
		bytes += part[i].bytes;
	aside = (uint8_t *)malloc(bytes);
	CHECK(aside);
	return aside;
}

static void put_aside(struct peal_queue *q, int back)
{
	struct part part[PARTS];
	int i, n = parts_of(q, part);
	uint8_t *at = aside;

	for (i = 0; i < n; i++) {
		memcpy(back ? part[i].at : at, back ? at : part[i].at,
		       part[i].bytes);
		at += part[i].bytes;
	}
}

/* ---- steps --------------------------------------------------------------- */

static uint64_t steps; /* instructions of the call so far */

#if defined(__x86_64__) && !PEAL_ASAN && !PEAL_TSAN
#define CAN_STEP 1

static const struct fixture *scene; /* NULL: only count */

/*
 * Handles the trap after an instruction. The kernel clears the trap flag for
 * the handler, and sets it again afterwards.
 */
static void step(int number)
{
	(void)number;
	steps++;
	if (!scene)
		return;
	CHECK(steps < STEPS_MOST);
	put_aside(scene->q, 0);
	live_on(scene, 0);
	put_aside(scene->q, 1);
}

/* step_on starts the traps at the next instruction. step_off ends them. */
static inline void step_on(void)
{
	__builtin_ia32_writeeflags_u64(__builtin_ia32_readeflags_u64() |
				       TRAP_FLAG);
}

static inline void step_off(void)
{
	__builtin_ia32_writeeflags_u64(__builtin_ia32_readeflags_u64() &
				       ~(uint64_t)TRAP_FLAG);
}

/* Returns 1 if this machine has traps. Some sandboxes have none. */
static int can_step(void)
{
	struct sigaction action = { .sa_handler = step };

	CHECK(!sigaction(SIGTRAP, &action, NULL));
	step_on();
	step_off();
	return steps != 0;
}
#else
#define CAN_STEP 0
static inline int can_step(void)
{
	return 0;
}
#endif

/* ---- one call ------------------------------------------------------------ */

#define OTHERS 100 /* first message of the live producer */

/* Runs the call, with a death after each instruction. */
static void call(const struct fixture *s)
{
#if CAN_STEP
	uint64_t words[8] = { 0, 1, 2, 3, 4, 5, 6, 7 };

	steps = 0;
	scene = s;
	step_on();
	if (s->d.in_pop)
		peal_queue_pop_burst(s->c[0], words, 8, s->d.n, NULL, 0);
	else if (s->d.n > 1)
		peal_queue_push_bulk(s->p, words, 8, s->d.n, 0);
	else
		peal_queue_push(s->p, words, 8, 0);
	step_off();
	scene = NULL;
#else
	(void)s;
#endif
}

/*
 * Takes all remaining messages by both consumers in turn, until both reach the
 * end. Returns their number.
 */
static uint64_t take_all(struct peal_queue_end *const c[2], uint64_t *others)
{
	uint64_t word, got = 0, last[2] = { 0, 0 };
	int i, ended = 0, result;

	for (i = 0; ended < TRIES && (c[0] || c[1]); i++) {
		if (!c[i % 2])
			continue;
		CHECK(i < 100 * TRIES);
		result = peal_queue_pop(c[i % 2], &word, 8, NULL, 0);
		ended = result == PEAL_EEND ? ended + 1 : 0;
		if (result) {
			CHECK(result == PEAL_EAGAIN || result == PEAL_EEND);
			continue;
		}
		got++;
		CHECK(word < 8 || (word >= OTHERS && word < OTHERS + 8));
		*others += word >= OTHERS;
		if (word >= OTHERS) {
			CHECK(word > last[i % 2]);
			last[i % 2] = word;
		}
	}
	return got;
}

static void push_others(struct peal_queue_end *p, uint64_t from, uint64_t to)
{
	for (uint64_t word = OTHERS + from; word < OTHERS + to; word++)
		CHECK_OK(peal_queue_push(p, &word, 8, 0));
}

static struct fixture begin(const struct death *d)
{
	int many = d->kind == PEAL_QUEUE_MAILBOX || d->kind == PEAL_QUEUE_WORK;
	int two = d->kind >= PEAL_QUEUE_WORK;
	struct peal_queue_options o = of_kind(d->kind);
	struct fixture s = { .d = *d };

	o.max_producers = many ? 2 : 1;
	o.max_consumers = two ? 2 : 1;
	s.q = make(o);
	s.p = producer(s.q);
	s.other = many ? producer(s.q) : NULL;
	s.c[0] = consumer(s.q);
	s.c[1] = two ? consumer(s.q) : NULL;
	if (d->in_pop || s.other)
		push_others(s.other ? s.other : s.p, 0, 4);
	return s;
}

/*
 * Runs the other ends after the thread of the call died. `through`: it died
 * after the call.
 */
static void live_on(const struct fixture *s, int through)
{
	struct peal_queue_end *c[2] = { s->c[0], s->c[1] };
	const struct death *d = &s->d;
	uint64_t others = 0, got;

	CHECK_OK(peal_queue_close(d->in_pop ? c[0] : s->p));
	if (d->in_pop) {
		c[0] = NULL;
		peal_queue_open(s->q, PEAL_QUEUE_CONSUMER, &c[0]);
		CHECK_OK(peal_queue_close(s->other ? s->other : s->p));
		if (s->other)
			CHECK_OK(peal_queue_close(s->p));
	} else if (s->other) {
		push_others(s->other, 4, 8);
		CHECK_OK(peal_queue_close(s->other));
	}
	got = take_all(c, &others);
	if (!d->in_pop && s->other)
		CHECK_EQ(others, 8);
	if (!d->in_pop)
		CHECK(got - others <=
		      d->n * (d->kind == PEAL_QUEUE_TOPIC ? 2 : 1));
	if (d->in_pop && d->kind != PEAL_QUEUE_TOPIC && c[0] && !through)
		/* lost: the messages of the dead call */
		CHECK(others + d->n >= 4);
	close_ends(s->q);
}

static void die_everywhere(int in_pop)
{
	struct death d = { .in_pop = in_pop };

	for (d.kind = PEAL_QUEUE_LINK; d.kind <= PEAL_QUEUE_TOPIC; d.kind++)
		for (d.n = 1; d.n <= 4; d.n += 3) {
			struct fixture s = begin(&d);
			void *memory = aside_open(s.q);

			call(&s);
			live_on(&s, 1);
			CHECK_OK(peal_queue_destroy(s.q));
			free(memory);
			printf("    %s, %s of %u: died at each of %llu steps\n",
			       peal_queue_kind_name(d.kind),
			       in_pop ? "pop" : "push", d.n,
			       (unsigned long long)steps);
			CHECK(steps > 50);
		}
}

PEAL_TEST(death_at_any_push_step_loses_no_other_message)
{
	die_everywhere(0);
}

PEAL_TEST(death_at_any_pop_step_stops_no_other_end)
{
	die_everywhere(1);
}

PEAL_TEST_MAIN(if (!can_step()) {
	printf("skipped: only on x86-64 that can be stepped through, and "
	       "without sanitizers\n");
	return 77;
} RUN(death_at_any_push_step_loses_no_other_message);
	       RUN(death_at_any_pop_step_stops_no_other_end);)
