/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shows that the table of timers works like a plain list. Shows the next time
 * of a periodic timer, too.
 */
#include <peal/device/kernel.h>
#include "peal_test.h"

#define MAX 64
#define WAYS 3
#define STEPS 200000

/* A worker with a table of timers only. */
struct table {
	struct peal_worker w;
	struct peal_worker_state state;
	struct peal_kernel_params params;
	struct peal_timer_status status;
	uint8_t *memory;
};

static void open_table(struct table *x)
{
	memset(x, 0, sizeof(*x));
	x->params.n_workers = 1;
	x->params.max_pools = WAYS - 1;
	x->params.max_timers = MAX;
	x->params.timer_bytes = 16;
	x->params.timer_status = (uint64_t)(uintptr_t)&x->status;
	x->memory = calloc(1, peal_timer_table(&x->params).total);
	CHECK(x->memory);
	x->w.params = &x->params;
	x->w.state = &x->state;
	x->w.timers = (struct peal_timers *)(void *)x->memory;
	peali_timers_init(x->w.timers, &x->params);
}

/* A timer of the model. Numbers follow the order of setting. */
struct plain {
	uint64_t number, due_ns;
	uint32_t place, way; /* 0: not held; else 1 + its receiver */
};

struct model {
	struct plain timer[MAX];
	uint32_t n;
	uint64_t held; /* timers that ever waited */
	uint64_t order[MAX]; /* order of timer[i] among the waiting timers */
};

/* Returns the index of the timer that is due next. m->n: none. */
static uint32_t first_due(const struct model *m)
{
	uint32_t best = m->n, i;

	for (i = 0; i < m->n; i++) {
		const struct plain *a = &m->timer[i], *b = &m->timer[best];

		if (!a->way &&
		    (best == m->n || a->due_ns < b->due_ns ||
		     (a->due_ns == b->due_ns && a->number < b->number)))
			best = i;
	}
	return best;
}

/* Returns the first timer that waits for receiver `way`. m->n: none. */
static uint32_t first_held(const struct model *m, uint32_t way)
{
	uint32_t best = m->n, i;

	for (i = 0; i < m->n; i++)
		if (m->timer[i].way == way + 1 &&
		    (best == m->n || m->order[i] < m->order[best]))
			best = i;
	return best;
}

static void forget(struct model *m, uint32_t i)
{
	m->timer[i] = m->timer[--m->n];
	m->order[i] = m->order[m->n];
}

static void set_one(struct peal_timers *t, struct model *m, uint64_t due_ns)
{
	uint32_t place = peali_timer_take(t), i;

	if (m->n == MAX) {
		CHECK_EQ(place, MAX);
		return;
	}
	CHECK(place < MAX);
	for (i = 0; i < m->n; i++)
		CHECK(m->timer[i].place != place);
	peali_timer_entry(t, place)->number = ++t->numbers;
	peali_timer_entry(t, place)->due_ns = due_ns;
	peali_timer_add(t, place);
	m->timer[m->n++] = (struct plain){ t->numbers, due_ns, place, 0 };
}

static void hold_next(struct peal_timers *t, struct model *m, uint32_t way)
{
	uint32_t i = first_due(m);

	CHECK_EQ(t->n_heap > 0, i < m->n);
	if (i == m->n)
		return;
	CHECK_EQ(peali_timer_heap(t)->place, m->timer[i].place);
	CHECK_EQ(peali_timer_heap(t)->due_ns, m->timer[i].due_ns);
	peali_timer_remove(t, 0);
	peali_timer_hold(t, m->timer[i].place, way);
	m->timer[i].way = way + 1;
	m->order[i] = ++m->held;
}

static void send_first(struct peal_timers *t, struct model *m, uint32_t way)
{
	uint32_t i = first_held(m, way), place = peali_timer_way(t, way)->first;

	CHECK_EQ(place != 0, i < m->n);
	if (!place)
		return;
	CHECK_EQ(place - 1, m->timer[i].place);
	peali_timer_unhold(t, place - 1);
	peali_timer_give(t, place - 1);
	forget(m, i);
}

/* Random steps. There are few due times, so many timers have an equal one. */
PEAL_TEST(timer_table_matches_reference_list)
{
	unsigned long long random = 4711;
	struct model m = { .n = 0 };
	struct peal_timers *t;
	struct table x;
	uint32_t step, i;

	open_table(&x);
	t = x.w.timers;
	for (step = 0; step < STEPS; step++) {
		uint64_t r = test_random(&random), n = r >> 32;
		/* by turns the table grows and shrinks */
		uint32_t grows = step >> 10 & 1 ? 6 : 3;

		if (r % 10 < grows) {
			set_one(t, &m, n % 200);
		} else if (r % 10 < 7) {
			hold_next(t, &m, (uint32_t)(n % WAYS));
		} else if (r % 10 < 9) {
			send_first(t, &m, (uint32_t)(n % WAYS));
		} else if (m.n) {
			i = (uint32_t)(n % m.n);
			peali_timer_leave(t, m.timer[i].place);
			peali_timer_give(t, m.timer[i].place);
			forget(&m, i);
		}
		CHECK_EQ(t->n_heap + t->n_held, m.n);
	}
	free(x.memory);
}

/*
 * Returns the next due time of a timer that is sent at `now`. Its period is 10.
 * *missed_out: the ticks that it missed.
 */
static uint64_t again(struct table *x, uint64_t due_ns, uint64_t now,
		      uint64_t *missed_out)
{
	struct peal_timers *t = x->w.timers;
	uint64_t before = t->count[PEAL_TIMERS_MISSED];

	peali_timer_entry(t, 0)->number = 1;
	peali_timer_entry(t, 0)->due_ns = due_ns;
	peali_timer_entry(t, 0)->period_ns = 10;
	peali_timer_again(&x->w, 0, now);
	CHECK_EQ(t->n_heap, 1);
	peali_timer_remove(t, 0);
	*missed_out = t->count[PEAL_TIMERS_MISSED] - before;
	return peali_timer_entry(t, 0)->due_ns;
}

/* A late tick does not move later ticks: their times stay multiples of 10. */
PEAL_TEST(late_tick_does_not_shift_following_ticks)
{
	struct table x;
	uint64_t missed, late;

	open_table(&x);
	for (late = 0; late < 100; late++) {
		CHECK_EQ(again(&x, 1000, 1000 + late, &missed),
			 1010 + late / 10 * 10);
		CHECK_EQ(missed, late / 10);
	}
	CHECK_EQ(x.status.count[PEAL_TIMERS_TICKS], 100);
	CHECK_EQ(again(&x, UINT64_MAX - 5, UINT64_MAX - 5, &missed),
		 UINT64_MAX); /* beyond the end of time: never */
	free(x.memory);
}

PEAL_TEST_MAIN(RUN(timer_table_matches_reference_list);
	       RUN(late_tick_does_not_shift_following_ticks);)
