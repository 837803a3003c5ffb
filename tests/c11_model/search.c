/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "c11_model/engine.h"

/*
 * Searches the executions of an instance depth first over choices. Each
 * execution runs from the beginning.
 *
 * 1. In the model of views an execution is a graph. It has the store that each
 *    load reads, and each location's modification order. The time of a store
 *    matters only to the loads that read it.
 * 2. So a thread performs its stores and fences at once. A store chooses only
 *    its position in the modification order.
 * 3. Threads stop at loads and adds. The scheduler chooses the thread that
 *    goes on, and the store that it reads.
 * 4. The order of two loads matters only through the stores behind them. So
 *    after all reads that thread A can do now, A sleeps while B goes on.
 * 5. A wakes when there is a store that A could not read before.
 *
 * Steps 4 and 5 are sleep sets for this relation. The eager stores of step 2
 * are persistent sets of one operation. Each graph is explored to its end once.
 * test_litmus_outcomes.c compares this search with the search of all
 * interleavings.
 *
 * Source: Godefroid, "Partial-order methods for the verification of concurrent
 * systems", LNCS 1032, 1996, chapter 5.
 */

struct engine engine;
uint8_t model_arena[MEMORY_BYTES] __attribute__((aligned(128)));
uint8_t model_before[MEMORY_BYTES];
static char stacks[MODEL_THREADS][STACK_BYTES] __attribute__((aligned(64)));
static char choices_text[CHOICES * 6];

/* ---- choices ------------------------------------------------------------- */

static void choices_say(void)
{
	char *out = choices_text;
	uint32_t i;

	*out = 0;
	for (i = 0; i < engine.depth; i++)
		out += sprintf(out, "%s%u", i ? "." : "", engine.choices[i].at);
}

static void choices_read(const char *text)
{
	char *end;

	engine.n_choices = 0;
	while (*text) {
		engine.choices[engine.n_choices].n = 0;
		engine.choices[engine.n_choices++].at =
			(uint16_t)strtoul(text, &end, 10);
		text = *end ? end + 1 : end;
	}
}

static const char outlives[] = "another run of the same choices went another "
			       "way: something outside of model_memory "
			       "outlives an execution";

uint32_t choose(uint32_t n)
{
	struct choice *c = &engine.choices[engine.depth];

	if (n == 1)
		return 0;
	if (engine.depth == CHOICES)
		model_fail("more than %d choices: does it end?", CHOICES);
	if (engine.depth++ == engine.n_choices) {
		engine.n_choices++;
		c->at = c->n = 0;
	}
	if (c->n && c->n != n) /* 0: unknown, in a replay */
		model_fail("%s", outlives);
	c->n = (uint16_t)n;
	return c->at < n ? c->at : 0;
}

/* Selects the next execution; returns 0 if there is none. */
static int choices_next(void)
{
	while (engine.n_choices) {
		struct choice *c = &engine.choices[engine.n_choices - 1];

		if (++c->at < c->n)
			return 1;
		engine.n_choices--;
	}
	return 0;
}

/* ---- threads ------------------------------------------------------------- */

void leave(enum over why)
{
	engine.over = why;
	_longjmp(engine.back, 1);
}

void model_fail(const char *format, ...)
{
	struct model_result *r = engine.result;
	va_list list;

	r->failed = 1;
	va_start(list, format);
	vsnprintf(r->why, sizeof(r->why), format, list);
	va_end(list);
	choices_say();
	r->choices = choices_text;
	leave(OVER_FAILED);
}

/* The body of a fiber. Each execution jumps back to its begin. */
static void fiber(void)
{
	_setjmp(engine.running->base);
	engine.instance->thread(engine.instance->config, engine.running->self);
	engine.running->state = THREAD_DONE;
	_longjmp(engine.back, 1);
}

static void enter(struct thread *t)
{
	t->entered = 1;
	getcontext(&t->context);
	t->context.uc_stack.ss_sp = stacks[t->self];
	t->context.uc_stack.ss_size = STACK_BYTES;
	t->context.uc_link = NULL;
	makecontext(&t->context, fiber, 0);
	setcontext(&t->context);
}

/* Runs a thread up to its next load or add, or to its end. */
static void resume(struct thread *t)
{
	int begins = t->request.kind == REQUEST_NONE;

	engine.running = t;
	if (!_setjmp(engine.back)) {
		if (!t->entered)
			enter(t);
		_longjmp(begins ? t->base : t->at, 1);
	}
	engine.running = NULL;
}

/* Runs setup or check. Both may call model_fail. */
static void run_alone(void (*run)(const void *config))
{
	engine.running = NULL;
	if (run && !_setjmp(engine.back))
		run(engine.instance->config);
}

void await_turn(void)
{
	if (!_setjmp(engine.running->at))
		_longjmp(engine.back, 1);
}

/* ---- waits --------------------------------------------------------------- */

void model_try(void)
{
	struct thread *t = engine.running;

	if (!t)
		return;
	t->waiting = 1;
	t->n_reads[0] = t->n_reads[1] = 0;
	t->changed = 0;
}

/* Returns 1 if the try read exactly the stores of the try before it. */
static int repeated(const struct thread *t)
{
	return !t->changed && t->n_reads[0] == t->n_reads[1] &&
	       !memcmp(t->tries[0], t->tries[1],
		       t->n_reads[0] * sizeof(t->tries[0][0]));
}

/* Returns 1 if each store that the try read is the newest of its location. */
static int newest(const struct thread *t)
{
	uint32_t i;

	for (i = 0; i < t->n_reads[0]; i++) {
		const struct store *s = &engine.stores[t->tries[0][i]];

		if (s->position + 1u != engine.locations[s->location].n)
			return 0;
	}
	return 1;
}

void model_again(void)
{
	struct thread *t = engine.running;

	if (!t)
		model_fail("a wait outside of the threads has to succeed");
	if (repeated(t)) {
		if (!newest(t))
			leave(OVER_UNFAIR);
		t->state = THREAD_STUCK;
		await_turn();
	}
	memcpy(t->tries[1], t->tries[0], sizeof(t->tries[0]));
	t->n_reads[1] = t->n_reads[0];
	t->n_reads[0] = 0;
	t->changed = 0;
}

/* ---- one execution ------------------------------------------------------- */

struct option {
	struct thread *thread;
	uint32_t from;
};

static uint32_t add_options(struct thread *t, struct option *out, uint32_t n)
{
	const struct request *q = &t->request;
	const struct location *l = &engine.locations[q->location];
	uint32_t i;

	if (q->kind != REQUEST_LOAD && q->kind != REQUEST_ADD) {
		out[n].thread = t;
		out[n++].from = 0;
		return n;
	}
	for (i = l->n; i-- > 0;)
		if (l->order[i] >= t->newer_than && may_read(t, l->order[i])) {
			out[n].thread = t;
			out[n++].from = l->order[i];
		}
	return n;
}

/* Chooses the next operation and runs it; returns 0 if there is none. */
static int schedule(void)
{
	struct option options[MODEL_THREADS * LOCATION_STORES];
	uint32_t i, n = 0, picked;
	struct thread *t;

	for (i = 0; i < engine.instance->n_threads; i++)
		if (engine.threads[i].state == THREAD_READY)
			n = add_options(&engine.threads[i], options, n);
	if (!n)
		return 0;
	picked = choose(n);
	t = options[picked].thread;
	t->request.from = options[picked].from;
	t->newer_than = 0;
	/* all options of the threads in front were explored: they sleep */
	for (i = 0; i < t->self && !engine.search->naive; i++)
		engine.threads[i].newer_than =
			engine.n_stores + (uint32_t)engine.search->overslept;
	resume(t);
	return 1;
}

/* Sets the outcome of an execution without a next operation. */
static void settle(void)
{
	uint32_t i, stuck = 0;

	engine.over = OVER_COMPLETE;
	for (i = 0; i < engine.instance->n_threads; i++) {
		const struct thread *t = &engine.threads[i];

		if (t->state == THREAD_READY)
			engine.over = OVER_ASLEEP;
		if (t->state == THREAD_STUCK)
			stuck = i + 1;
	}
	if (engine.over == OVER_ASLEEP)
		return;
	if (!stuck) {
		run_alone(engine.instance->check);
	} else if (!_setjmp(engine.back)) {
		model_fail("thread %u waits for ever", stuck - 1);
	}
}

static void execute(void)
{
	uint32_t i;

	memcpy(model_arena, model_before, engine.memory_bytes);
	engine.run++;
	engine.depth = 0;
	engine.over = OVER_NOT;
	views_begin();
	for (i = 0; i < engine.instance->n_threads && !engine.over; i++)
		resume(&engine.threads[i]);
	while (!engine.over)
		if (!schedule()) {
			settle();
			break;
		}
	if (engine.depth < engine.n_choices && !_setjmp(engine.back))
		model_fail("%s", outlives);
}

/* ---- all executions ------------------------------------------------------ */

static void count(struct model_result *r)
{
	if (engine.over == OVER_COMPLETE)
		r->executions++;
	if (engine.over == OVER_ASLEEP)
		r->asleep++;
	if (engine.over == OVER_UNFAIR)
		r->unfair++;
	if (engine.over == OVER_COMPLETE && engine.search->seen)
		engine.search->seen(graph_hash());
}

static double seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static int begin(const struct model_instance *instance,
		 const struct model_search *search, struct model_result *out)
{
	struct model_site *s;

	memset(out, 0, sizeof(*out));
	engine.instance = instance;
	engine.search = search;
	engine.result = out;
	engine.n_choices = engine.depth = 0;
	engine.n_locations = 0;
	memset(engine.location_at, 0, sizeof(engine.location_at));
	memset(model_arena, 0, sizeof(model_arena));
	memset(engine.owned, 0, sizeof(engine.owned));
	memset(engine.touched, 0, sizeof(engine.touched));
	engine.memory_bytes = engine.n_regions = 0;
	for (s = engine.sites; s; s = s->next)
		site_weaken(s);
	engine.over = OVER_NOT;
	run_alone(instance->setup);
	memcpy(model_before, model_arena, sizeof(model_arena));
	return engine.over == OVER_NOT;
}

void model_run(const struct model_instance *instance,
	       const struct model_search *search, struct model_result *out)
{
	double from = seconds();

	if (!begin(instance, search, out))
		return;
	if (search->replay) {
		choices_read(search->replay);
		execute(); /* fills engine.touched for the trace */
		engine.tracing = 1;
		execute();
		trace_end(out->failed ? out->why : "no counterexample");
		engine.tracing = 0;
	} else {
		do {
			execute();
			count(out);
		} while (!out->failed && choices_next());
	}
	out->seconds = seconds() - from;
}
