/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <signal.h>
#include <ucontext.h>

#include "front.h"

/* A thread dies before each instruction of a push, or of a pop, one after the
 * other: the others lose nothing, keep their order, and come to the end. */

#define TRAP_FLAG 0x100
#define STEPS_MOST 10000
#define TRIES 100

#if defined(__x86_64__) && !PEAL_ASAN && !PEAL_TSAN
#define CAN_STEP 1

static sigjmp_buf life;
static volatile uint64_t left; /* instructions to live */

static void step(int number, siginfo_t *info, void *context)
{
	(void)number;
	(void)info;
	if (--left)
		return;
	((ucontext_t *)context)->uc_mcontext.gregs[REG_EFL] &= ~TRAP_FLAG;
	siglongjmp(life, 1);
}

/* From the next instruction on, or no more. */
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

/* Whether this machine traps after each instruction: some sandboxes do not. */
static int can_step(void)
{
	struct sigaction action = { .sa_sigaction = step,
				    .sa_flags = SA_SIGINFO };

	CHECK(!sigaction(SIGTRAP, &action, NULL));
	left = STEPS_MOST;
	step_on();
	step_off();
	return left != STEPS_MOST;
}
#else
#define CAN_STEP 0
static inline int can_step(void)
{
	return 0;
}
#endif

/* ---- one death ------------------------------------------------------------- */

struct death {
	uint32_t kind, n; /* messages of the call */
	int in_pop;
};

#define OTHERS 100 /* from here on those of the producer that lives */

/* 1: the call ended before its thread did. */
static int die_at(struct peal_queue_end *end, const struct death *d,
		  uint64_t steps)
{
#if CAN_STEP
	uint64_t words[8] = { 0, 1, 2, 3, 4, 5, 6, 7 };

	left = steps;
	if (sigsetjmp(life, 1))
		return 0;
	step_on();
	if (d->in_pop)
		peal_queue_pop_burst(end, words, 8, d->n, NULL, 0);
	else if (d->n > 1)
		peal_queue_push_bulk(end, words, 8, d->n, 0);
	else
		peal_queue_push(end, words, 8, 0);
	step_off();
	return 1;
#else
	(void)end;
	(void)d;
	(void)steps;
	return 1;
#endif
}

/* Takes all that is left, by two in turn: until both come to the end. */
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

/* 1: the call ended before its thread did. */
static int die_once(const struct death *d, uint64_t steps)
{
	int many = d->kind == PEAL_QUEUE_MAILBOX || d->kind == PEAL_QUEUE_WORK;
	int two = d->kind >= PEAL_QUEUE_WORK, through;
	struct peal_queue_options o = of_kind(d->kind);
	struct peal_queue_end *p, *c[2], *other = NULL;
	struct peal_queue *q;
	uint64_t others = 0, got;

	o.producers = many ? 2 : 1;
	o.consumers = two ? 2 : 1;
	q = make(o);
	p = producer(q);
	other = many ? producer(q) : NULL;
	c[0] = consumer(q);
	c[1] = two ? consumer(q) : NULL;
	if (d->in_pop || other)
		push_others(other ? other : p, 0, 4);
	through = die_at(d->in_pop ? c[0] : p, d, steps);
	CHECK_OK(peal_queue_close(d->in_pop ? c[0] : p));
	if (d->in_pop) {
		c[0] = NULL;
		peal_queue_open(q, PEAL_QUEUE_CONSUMER, &c[0]);
		CHECK_OK(peal_queue_close(other ? other : p));
		if (other)
			CHECK_OK(peal_queue_close(p));
	} else if (other) {
		push_others(other, 4, 8);
		CHECK_OK(peal_queue_close(other));
	}
	got = take_all(c, &others);
	if (!d->in_pop && other)
		CHECK_EQ(others, 8);
	if (!d->in_pop)
		CHECK(got - others <=
		      d->n * (d->kind == PEAL_QUEUE_TOPIC ? 2 : 1));
	if (d->in_pop && d->kind != PEAL_QUEUE_TOPIC && c[0] && !through)
		CHECK(others + d->n >= 4); /* what it had in hand is lost */
	close_all(q);
	return through;
}

static void die_everywhere(int in_pop)
{
	struct death d = { .in_pop = in_pop };
	uint64_t steps;

	for (d.kind = PEAL_QUEUE_LINK; d.kind <= PEAL_QUEUE_TOPIC; d.kind++)
		for (d.n = 1; d.n <= 4; d.n += 3) {
			for (steps = 1; !die_once(&d, steps); steps++)
				CHECK(steps < STEPS_MOST);
			printf("    %s, %s of %u: died at each of %llu steps\n",
			       peal_queue_kind_name(d.kind),
			       in_pop ? "pop" : "push", d.n,
			       (unsigned long long)steps - 1);
			CHECK(steps > 50);
		}
}

PEAL_TEST(who_dies_anywhere_in_a_push_takes_nothing_along)
{
	die_everywhere(0);
}

PEAL_TEST(who_dies_anywhere_in_a_pop_stops_nobody)
{
	die_everywhere(1);
}

PEAL_TEST_MAIN(if (!can_step()) {
	printf("skipped: only on x86-64 that can be stepped through, and "
	       "without sanitizers\n");
	return 77;
} RUN(who_dies_anywhere_in_a_push_takes_nothing_along);
	       RUN(who_dies_anywhere_in_a_pop_stops_nobody);)
