/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads and lanes as fibers of one thread. Thread-local words lie in a
 * section of their own (intercept.h). A task switch saves and restores this
 * section.
 */
#include "tests/sim/engine/schedule.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <peal/device/impl/base/host_support.h>
#include "runtime/base/error.h"
#include "runtime/host_support/fibers.h"

/* Keeps the section non-empty. The linker defines its bounds. */
static char here __attribute__((section("peali_task_words"), used));
extern char __start_peali_task_words[], __stop_peali_task_words[];

static struct peali_task first;
static struct peali_task *spare; /* ended tasks for reuse */

static size_t words_bytes(void)
{
	return (size_t)(__stop_peali_task_words - __start_peali_task_words);
}

static void add(struct peali_task *t)
{
	struct peali_sim *s = &peali_sim;

	if (s->n == PEALI_SIM_TASKS_MAX)
		peali_sim_fail("more than %d threads and lanes at a time",
			       PEALI_SIM_TASKS_MAX);
	t->id = s->next_id++;
	t->at = s->n;
	t->priority = peali_sim_priority();
	s->task[s->n++] = t;
	if (s->n > s->most)
		s->most = s->n;
}

static void take_out(struct peali_task *t)
{
	struct peali_task *last = peali_sim.task[--peali_sim.n];

	peali_sim.task[t->at] = last;
	last->at = t->at;
}

void peali_tasks_begin(void)
{
	peali_fiber_of_thread(&first.fiber);
	first.state = PEALI_TASK_READY;
	first.stalled_ns = 0;
	first.site = first.doing = NULL;
	if (!first.words)
		first.words = calloc(1, words_bytes());
	if (!first.words)
		peali_sim_fail("no memory for a task");
	snprintf(first.name, sizeof(first.name), "main");
	add(&first);
	peali_sim.now = &first;
}

void peali_tasks_end(void)
{
	peali_sim.n = 0;
	peali_sim.now = NULL;
}

/* ---- changing over ------------------------------------------------------- */

/* The task that the running task was entered from, for AddressSanitizer. */
static struct peali_task *came_from;

static void arrive(struct peali_task *t)
{
	memcpy(__start_peali_task_words, t->words, words_bytes());
	errno = t->error;
}

void peali_task_switch(struct peali_task *to)
{
	struct peali_task *self = peali_sim.now;

	self->error = errno;
	memcpy(self->words, __start_peali_task_words, words_bytes());
	came_from = self;
	peali_sim.now = to;
	peali_sim.trace ^= to->id + 1;
	peali_fiber_switch(&self->fiber, &to->fiber);
	arrive(self);
}

/* The first and last function on a task's stack. */
static void task_main(void)
{
	struct peali_task *self = peali_sim.now;

	peali_fiber_entered(came_from == &first ? &first.fiber : NULL);
	arrive(self);
	self->result = self->run(self->argument);
	self->state = PEALI_TASK_DONE;
	peali_sim_wake(self, 1);
	take_out(self);
	self->fiber.done = 1;
	peali_sim_decide(0, NULL);
	abort();
}

static struct peali_task *fresh(void)
{
	struct peali_task *t = calloc(1, sizeof(*t));
	uint8_t *memory;

	if (t)
		t->words = malloc(words_bytes());
	if (!t || !t->words ||
	    !peali_fiber_stacks(&t->fiber, sizeof(*t), 1, &memory))
		peali_sim_fail("no memory for a task");
	return t;
}

struct peali_task *peali_task_make(void *(*run)(void *), void *argument)
{
	struct peali_task *t = spare;

	if (t)
		spare = t->next_free;
	else
		t = fresh();
	peali_fiber_prepare(&t->fiber, task_main);
	memcpy(t->words, __start_peali_task_words, words_bytes());
	t->state = PEALI_TASK_READY;
	t->stalled_ns = 0;
	t->site = t->key = NULL;
	t->doing = NULL;
	t->error = 0;
	t->run = run;
	t->argument = argument;
	t->result = NULL;
	add(t);
	snprintf(t->name, sizeof(t->name), "thread");
	return t;
}

void *peali_task_join(struct peali_task *t, const void *site)
{
	while (t->state != PEALI_TASK_DONE)
		peali_sim_block(t, PEALI_SIM_FOREVER, "join", site);
	t->next_free = spare;
	spare = t;
	return t->result;
}

/* ---- lanes --------------------------------------------------------------- */

/*
 * Replaces fibers.c: each lane is a task. So lanes switch between any two
 * steps, as on a GPU. With fibers.c they run one after another.
 */
struct peali_fibers {
	/* all lanes; lanes not done; lanes that wait at a sync */
	uint32_t n, left, arrived;
	uint64_t round; /* syncs so far */
	peali_lane_fn fn;
	void *context;
	struct lane {
		struct peali_fibers *fibers;
		struct peali_task *task;
		uint32_t index;
		int result;
	} * lane;
};

static struct peali_fibers *current
	__attribute__((section("peali_task_words")));

static void pass(struct peali_fibers *f)
{
	f->arrived = 0;
	f->round++;
	peali_sim_wake(f, 1 << 30);
}

void peal_host_sync_lanes(void)
{
	struct peali_fibers *f = current;
	uint64_t round;

	if (!f)
		return;
	round = f->round;
	if (++f->arrived == f->left)
		pass(f);
	while (f->round == round)
		peali_sim_block(f, PEALI_SIM_FOREVER, "lanes", PEALI_SIM_SITE);
}

static void *lane_main(void *argument)
{
	struct lane *lane = argument;
	struct peali_fibers *f = lane->fibers;

	current = f;
	lane->result = f->fn(f->context, lane->index);
	f->left--;
	if (f->left && f->arrived == f->left)
		pass(f);
	return NULL;
}

int peali_fibers_run(struct peali_fibers *f, peali_lane_fn fn, void *context)
{
	uint32_t i;
	int again = 1;

	f->fn = fn;
	f->context = context;
	f->left = f->n;
	f->arrived = 0;
	for (i = 0; i < f->n; i++) {
		f->lane[i].task = peali_task_make(lane_main, &f->lane[i]);
		snprintf(f->lane[i].task->name, sizeof(first.name), "%.12s.%u",
			 peali_sim.now->name, (unsigned)i % 10000);
	}
	for (i = 0; i < f->n; i++) {
		peali_task_join(f->lane[i].task, PEALI_SIM_SITE);
		again = again && f->lane[i].result == 1;
	}
	return again;
}

struct peali_fibers *peali_fibers_create(uint32_t lanes)
{
	struct peali_fibers *f = calloc(1, sizeof(*f));
	uint32_t i;

	if (f)
		f->lane = calloc(lanes, sizeof(*f->lane));
	if (!f || !f->lane) {
		peali_fibers_destroy(f);
		errno = ENOMEM;
		return NULL;
	}
	f->n = lanes;
	for (i = 0; i < lanes; i++) {
		f->lane[i].fibers = f;
		f->lane[i].index = i;
	}
	return f;
}

void peali_fibers_destroy(struct peali_fibers *f)
{
	if (!f)
		return;
	free(f->lane);
	free(f);
}
