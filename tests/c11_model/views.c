/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "c11_model/engine.h"

/*
 * The memory model as a machine of views.
 *
 * 1. Each location has a modification order.
 * 2. A store takes any position behind the stores that its thread knows.
 * 3. A load reads any store that is not older than those that its thread
 *    knows.
 * 4. Knowledge passes from a release to the acquires that read it.
 *
 * These are the views of [1], without promises. So a load never reads a store
 * that depends on it: po and rf together have no cycle. RC11 [2] adds this rule
 * to C11. The model has no sequentially consistent accesses, like the dialect.
 * Release sequences are those of C++20.
 *
 * [1] Kang, Hur, Lahav, Vafeiadis, Dreyer: "A promising semantics for
 *     relaxed-memory concurrency", POPL 2017.
 * [2] Lahav, Vafeiadis, Kang, Hur, Dreyer: "Repairing sequential consistency in
 *     C/C++11", PLDI 2017.
 */

static void learn(struct view *to, const struct view *from)
{
	uint32_t i;

	for (i = 0; i < MODEL_THREADS; i++)
		if (from->clock[i] > to->clock[i])
			to->clock[i] = from->clock[i];
	for (i = 1; i <= engine.n_locations; i++) {
		uint16_t a = to->store[i], b = from->store[i];

		if (engine.stores[b].position > engine.stores[a].position)
			to->store[i] = b;
	}
}

static void know(struct view *v, const struct store *s)
{
	uint16_t *at = &v->store[s->location];

	if (!*at || s->position > engine.stores[*at].position)
		*at = (uint16_t)(s - engine.stores);
}

/* Returns the view's store of a location: the initial value at least. */
static uint32_t known(const struct view *v, uint32_t location)
{
	return v->store[location] ? v->store[location] : location;
}

static void location_begin(uint32_t location)
{
	struct location *l = &engine.locations[location];
	struct store *s = &engine.stores[location];

	memset(s, 0, offsetof(struct store, view));
	memset(&s->view, 0, sizeof(s->view));
	memset(&s->heard, 0, sizeof(s->heard));
	s->location = (uint16_t)location;
	s->position = 0;
	s->add = s->added_to = 0;
	s->step = 0;
	s->writer = l->at + 1;
	memcpy(&s->value, model_before + l->at, l->bytes);
	l->order[0] = (uint16_t)location;
	l->n = 1;
}

static void thread_begin(struct thread *t, uint32_t self)
{
	t->self = self;
	t->state = THREAD_READY;
	t->request.kind = REQUEST_NONE;
	t->newer_than = 0;
	memset(&t->now, 0, sizeof(t->now));
	memset(&t->pending, 0, sizeof(t->pending));
	memset(&t->released, 0, sizeof(t->released));
	memset(&t->heard, 0, sizeof(t->heard));
	t->now.clock[self] = t->pending.clock[self] = 1;
	t->n_operations = 0;
	t->n_reads[0] = t->n_reads[1] = 0;
	t->waiting = t->changed = 0;
}

void views_begin(void)
{
	uint32_t i;

	for (i = 1; i <= engine.n_locations; i++)
		location_begin(i);
	for (i = 0; i < engine.instance->n_threads; i++)
		thread_begin(&engine.threads[i], i);
	engine.n_stores = LOCATIONS;
	engine.graph = 0;
	engine.step = 0;
}

uint32_t location_of(const void *p, uint32_t bytes)
{
	int64_t at = memory_at(p);
	uint32_t *n = &engine.n_locations, i;

	if (at < 0 || at % bytes) {
		model_fail("an atomic access outside of the shared memory, or "
			   "not aligned");
		return 0;
	}
	if (!engine.location_at[at / 4]) {
		if (*n + 1 >= LOCATIONS)
			model_fail("more than %d locations", LOCATIONS);
		++*n;
		engine.locations[*n].at = (uint32_t)at;
		engine.locations[*n].bytes = bytes;
		for (i = 0; i < bytes; i += 4)
			engine.location_at[(at + i) / 4] = (uint16_t)*n;
		location_begin(*n);
	}
	i = engine.location_at[at / 4];
	if (engine.locations[i].at != at || engine.locations[i].bytes != bytes)
		model_fail("atomic accesses of different sizes to one word");
	return i;
}

int may_read(const struct thread *t, uint32_t store)
{
	const struct store *s = &engine.stores[store];
	uint32_t least = known(&t->now, s->location);

	if (s->position < engine.stores[least].position)
		return 0;
	return t->request.kind != REQUEST_ADD || !s->add;
}

/* Inserts a store at a position of its location's modification order. */
static void insert(struct location *l, uint32_t store, uint32_t position)
{
	uint32_t i;

	if (l->n == LOCATION_STORES)
		model_fail("more than %d stores to a word", LOCATION_STORES);
	for (i = l->n++; i > position; i--) {
		l->order[i] = l->order[i - 1];
		engine.stores[l->order[i]].position = (uint16_t)i;
	}
	l->order[position] = (uint16_t)store;
	engine.stores[store].position = (uint16_t)position;
}

/* Returns 0 for the position between an add and the store that it read. */
static int may_insert(const struct location *l, uint32_t position)
{
	return position == l->n || engine.stores[l->order[position]].added_to !=
					   l->order[position - 1];
}

/* Chooses the position of a store: at first the last possible one. */
static uint32_t choose_position(const struct thread *t, uint32_t location)
{
	const struct location *l = &engine.locations[location];
	uint32_t n = 0, at, picked, first;

	first = engine.stores[known(&t->now, location)].position + 1u;
	at = engine.stores[known(&t->heard, location)].position + 1u;
	if (engine.instance->causal && at > first)
		first = at;
	for (at = first; at <= l->n; at++)
		n += (uint32_t)may_insert(l, at);
	picked = choose(n);
	for (at = l->n;; at--)
		if (may_insert(l, at) && !picked--)
			return at;
}

static struct store *new_store(struct thread *t, struct model_value v)
{
	struct store *s = &engine.stores[engine.n_stores];

	if (engine.n_stores + 1 == STORES)
		model_fail("more than %d stores: does it end?",
			   STORES - LOCATIONS);
	engine.n_stores++;
	s->value = v;
	s->location = (uint16_t)t->request.location;
	s->add = s->added_to = 0;
	s->step = engine.step;
	s->writer = (uint64_t)(t->self + 1) << 32 | t->n_operations;
	return s;
}

/* Leaves the execution if a stopped thread waits for this location: its try can
 * read a newer store now. Executions with a later try explore that case. */
static void wake_stalled(uint32_t location)
{
	uint32_t i, k;

	for (i = 0; i < engine.instance->n_threads; i++) {
		struct thread *t = &engine.threads[i];

		if (t->state != THREAD_STUCK)
			continue;
		for (k = 0; k < t->n_reads[0]; k++)
			if (engine.stores[t->tries[0][k]].location == location)
				leave(OVER_UNFAIR);
	}
}

static void publish(struct thread *t, struct store *s, uint32_t position,
		    const struct store *read)
{
	struct location *l = &engine.locations[s->location];
	uint16_t number = (uint16_t)(s - engine.stores);
	const struct store *last;

	insert(l, number, position);
	know(&t->now, s);
	know(&t->pending, s);
	s->view = t->request.order & MODEL_RELEASE ? t->now : t->released;
	s->view.store[s->location] = number;
	if (read) /* an add continues the release sequence of that store */
		learn(&s->view, &read->view);
	if (engine.instance->causal) {
		know(&t->heard, s);
		s->heard = t->heard;
	}
	if (t->request.order & MODEL_RELEASE)
		t->pending.clock[t->self] = ++t->now.clock[t->self];
	last = &engine.stores[l->order[l->n - 1]];
	memcpy(model_arena + l->at, &last->value, l->bytes);
	if (last == s)
		wake_stalled(s->location);
}

static void read_store(struct thread *t, const struct store *s)
{
	uint16_t number = (uint16_t)(s - engine.stores);

	know(&t->now, s);
	know(&t->pending, s);
	learn(&t->pending, &s->view);
	if (engine.instance->causal) {
		know(&t->heard, s);
		learn(&t->heard, &s->heard);
	}
	if (t->request.order & MODEL_ACQUIRE)
		learn(&t->now, &s->view);
	if (t->waiting && t->n_reads[0] < TRY_LOADS)
		t->tries[0][t->n_reads[0]++] = number;
	else if (t->waiting)
		model_fail("a try reads more than %d times", TRY_LOADS);
}

static void do_fence(struct thread *t)
{
	if (t->request.order & MODEL_ACQUIRE)
		learn(&t->now, &t->pending);
	if (t->request.order & MODEL_RELEASE) {
		t->released = t->now;
		t->pending.clock[t->self] = ++t->now.clock[t->self];
	}
}

static uint64_t mix(uint64_t a, uint64_t b)
{
	uint64_t z = a * 0x9e3779b97f4a7c15ULL ^
		     (b + 0x7f4a7c15) * 0xbf58476dULL;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
	return z ^ (z >> 31);
}

static uint64_t sum(uint64_t a, uint64_t b, uint32_t bytes)
{
	return bytes == 4 ? (uint32_t)(a + b) : a + b;
}

struct model_value perform(void)
{
	struct thread *t = engine.running;
	struct request *q = &t->request;
	struct location *l = &engine.locations[q->location];
	struct store *read = NULL, *wrote = NULL;
	struct model_value v = { { 0, 0 } };

	engine.step++;
	t->n_operations++;
	if (q->kind == REQUEST_LOAD || q->kind == REQUEST_ADD) {
		read = &engine.stores[q->from];
		v = read->value;
		engine.graph +=
			mix((uint64_t)(t->self + 1) << 32 | t->n_operations,
			    read->writer);
		access_check(ATOMIC_LOAD, l->at, l->bytes, NULL);
		read_store(t, read);
	}
	if (q->kind == REQUEST_STORE) {
		access_check(ATOMIC_STORE, l->at, l->bytes, NULL);
		wrote = new_store(t, q->value);
		publish(t, wrote, choose_position(t, q->location), NULL);
		trace_operation(read, wrote);
	} else if (q->kind == REQUEST_ADD) {
		t->changed = 1;
		access_check(ATOMIC_STORE, l->at, l->bytes, NULL);
		q->value.word[0] = sum(v.word[0], q->value.word[0], l->bytes);
		wrote = new_store(t, q->value);
		wrote->added_to = (uint16_t)q->from;
		read->add = (uint16_t)(wrote - engine.stores);
		publish(t, wrote, read->position + 1u, read);
		trace_operation(read, wrote);
	} else {
		trace_operation(read, NULL);
	}
	if (q->kind == REQUEST_FENCE)
		do_fence(t);
	return v;
}

uint64_t graph_hash(void)
{
	uint64_t hash = engine.graph;
	uint32_t i, k;

	for (i = 1; i <= engine.n_locations; i++) {
		const struct location *l = &engine.locations[i];

		for (k = 1; k < l->n; k++)
			hash += mix(mix(l->at, k),
				    engine.stores[l->order[k]].writer);
	}
	return hash;
}
