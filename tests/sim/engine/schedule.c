/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The scheduler of the simulator: it selects the next task, its duration and
 * the time. A seed selects one of two kinds of schedule.
 *
 * 1. Uniform: each ready task may be next.
 * 2. By priority. Priorities change at random points. See Burckhardt, Kothari,
 *    Musuvathi, Nagarakatti, "A Randomized Scheduler with Probabilistic
 *    Guarantees of Finding Bugs", ASPLOS 2010.
 *
 * With both kinds, a task may stall for long.
 */
#include "tests/sim/engine/schedule.h"

#include <string.h>

#include <peal/device/atomic.h>

#define START_NS 1000000000000ULL /* simulated time at the start of a run */

struct peali_sim peali_sim = { .left = UINT64_MAX, .tell_from = UINT64_MAX };
int peali_sim_planted;

/* ---- chance -------------------------------------------------------------- */

/* splitmix64 (Steele, Lea, Flood, OOPSLA 2014); seeds the other generator. */
static uint64_t split(uint64_t *state)
{
	uint64_t z = (*state += 0x9e3779b97f4a7c15ULL);

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
	return z ^ (z >> 31);
}

static uint64_t rotated(uint64_t x, int k)
{
	return (x << k) | (x >> (64 - k));
}

/* xoshiro256** (Blackman, Vigna, ACM TOMS 47/4, 2021). */
uint64_t peali_sim_random(void)
{
	uint64_t *s = peali_sim.random;
	uint64_t result = rotated(s[1] * 5, 7) * 9, t = s[1] << 17;

	s[2] ^= s[0];
	s[3] ^= s[1];
	s[1] ^= s[2];
	s[0] ^= s[3];
	s[2] ^= t;
	s[3] = rotated(s[3], 45);
	return result;
}

/* Returns a random number 0 .. n - 1. */
static uint32_t below(uint32_t n)
{
	return (uint32_t)((peali_sim_random() >> 32) * n >> 32);
}

/* Returns 1 .. 2^k for a random k of 0 .. shift. */
static uint64_t spread(uint32_t shift)
{
	uint32_t k = below(shift + 1);

	return 1 + (peali_sim_random() & (((uint64_t)1 << k) - 1));
}

/* ---- time ---------------------------------------------------------------- */

uint64_t peali_sim_now_ns(void)
{
	return START_NS + peali_sim.jumped_ns +
	       peali_sim.points * PEALI_SIM_POINT_NS;
}

/* Makes tasks ready after their wait timed out. Updates the next timeout. */
static void wake_due(uint64_t now)
{
	uint64_t soonest = PEALI_SIM_FOREVER;
	uint32_t i;

	for (i = 0; i < peali_sim.n; i++) {
		struct peali_task *t = peali_sim.task[i];

		if (t->state != PEALI_TASK_BLOCKED)
			continue;
		if (t->until_ns <= now) {
			t->state = PEALI_TASK_READY;
			t->timed_out = 1;
		} else if (t->until_ns < soonest) {
			soonest = t->until_ns;
		}
	}
	peali_sim.soonest_ns = soonest;
}

/* Advances time to the point where some task can run. No task can run now. */
static void jump(uint64_t now)
{
	uint64_t soonest = PEALI_SIM_FOREVER, to;
	uint32_t i;

	for (i = 0; i < peali_sim.n; i++) {
		const struct peali_task *t = peali_sim.task[i];

		if (t->state == PEALI_TASK_DONE)
			continue;
		to = t->state == PEALI_TASK_READY ? t->stalled_ns : t->until_ns;
		if (to < soonest)
			soonest = to;
	}
	if (soonest == PEALI_SIM_FOREVER)
		peali_sim_fail("all wait for ever");
	if (soonest > now)
		peali_sim.jumped_ns += soonest - now;
	peali_sim.soonest_ns = 0;
}

/* ---- choice of the next task --------------------------------------------- */

static void check_limits(uint64_t now)
{
	if (peali_sim.points > peali_sim.options.most_points)
		peali_sim_fail("it has come to %llu yield points and goes on",
			       (unsigned long long)peali_sim.points);
	if (now - START_NS > peali_sim.options.most_ns)
		peali_sim_fail(
			"%llu ms of its time have passed and it goes on",
			(unsigned long long)((now - START_NS) / 1000000));
}

/*
 * Returns a task that can run; NULL: none. Returns `but` only if it is the only
 * one.
 */
static struct peali_task *pick(uint64_t now, const struct peali_task *but)
{
	static struct peali_task *can[PEALI_SIM_TASKS_MAX];
	struct peali_task *best = NULL;
	uint32_t n = 0, i;

	for (i = 0; i < peali_sim.n; i++) {
		struct peali_task *t = peali_sim.task[i];

		if (t->state != PEALI_TASK_READY || t->stalled_ns > now)
			continue;
		if (t == but) {
			best = t;
			continue;
		}
		can[n++] = t;
	}
	if (!n)
		return best;
	if (!peali_sim.by_priority)
		return can[below(n)];
	best = can[0];
	for (i = 1; i < n; i++)
		if (can[i]->priority > best->priority)
			best = can[i];
	return best;
}

/* Stalls the task at random. */
static void perhaps_stall(struct peali_task *t, uint64_t now)
{
	uint32_t shift = 0;

	if (!peali_sim.stall_shift ||
	    peali_sim_random() >> (64 - peali_sim.stall_shift))
		return;
	while (shift < 40 && (2ULL << shift) <= peali_sim.options.stall_ns)
		shift++;
	t->stalled_ns = now + spread(shift);
	peali_sim.stalls++;
}

static void remember(const struct peali_task *t)
{
	uint64_t i = peali_sim.switches++ % PEALI_SIM_TRAIL;

	peali_sim.trail[i].id = t->id;
	peali_sim.trail[i].point = peali_sim.points;
}

uint64_t peali_sim_priority(void)
{
	return peali_sim_random() >> 2 | (uint64_t)1 << 62;
}

void peali_sim_decide(int idle, const void *site)
{
	struct peali_task *self = peali_sim.now, *next;
	uint64_t now = peali_sim_now_ns();

	int change = !peali_sim.left; /* else the task waits */

	peali_sim.left = spread(peali_sim.longest_shift);
	if (peali_sim.calm)
		return;
	check_limits(now);
	perhaps_stall(self, now);
	/*
	 * A task that only polls gets the lowest priority: all others run
	 * first.
	 */
	if (idle || (change && below(2)))
		self->priority = --peali_sim.lowest;
	else if (change)
		self->priority = peali_sim_priority();
	for (;;) {
		if (now >= peali_sim.soonest_ns)
			wake_due(now);
		next = pick(now, idle ? self : NULL);
		if (next)
			break;
		jump(now);
		now = peali_sim_now_ns();
		check_limits(now);
	}
	if (next == self) {
		if (idle) /* no other task can run: let more time pass */
			peali_sim.jumped_ns += PEALI_SIM_PAUSE_NS;
		return;
	}
	remember(next);
	self->site = site;
	peali_task_switch(next);
}

/* ---- yield points -------------------------------------------------------- */

static PEAL_INLINE void note(const void *site)
{
	uint64_t place =
		(uint64_t)((uintptr_t)site - (uintptr_t)&peali_sim_decide);

	peali_sim.points++;
	peali_sim.trace = (peali_sim.trace ^ place) * 0x9e3779b97f4a7c15ULL;
	peali_sim.trace ^= peali_sim.trace >> 32;
	if (PEAL_UNLIKELY(peali_sim.points >= peali_sim.tell_from))
		peali_sim_trace_point(site);
}

void peali_sim_point(const void *site)
{
	note(site);
	if (PEAL_UNLIKELY(!--peali_sim.left))
		peali_sim_decide(0, site);
}

void peal_sim_step(void)
{
	peali_sim_point(PEALI_SIM_SITE);
}

void peal_sim_pause(void)
{
	note(PEALI_SIM_SITE);
	if (peali_sim.active)
		peali_sim_decide(1, PEALI_SIM_SITE);
}

/* ---- waiting ------------------------------------------------------------- */

int peali_sim_block(const void *key, uint64_t until_ns, const char *doing,
		    const void *site)
{
	struct peali_task *self = peali_sim.now;

	note(site);
	peali_sim_stop_unless_active("a wait");
	if (peali_sim.calm) {
		if (until_ns == PEALI_SIM_FOREVER)
			peali_sim_fail("it would wait for ever here: %s",
				       doing);
		if (until_ns > peali_sim_now_ns())
			peali_sim.jumped_ns += until_ns - peali_sim_now_ns();
		return 1;
	}
	self->state = PEALI_TASK_BLOCKED;
	self->timed_out = 0;
	self->key = key;
	self->until_ns = until_ns;
	self->doing = doing;
	if (until_ns < peali_sim.soonest_ns)
		peali_sim.soonest_ns = until_ns;
	peali_sim_decide(0, site);
	self->key = NULL;
	self->doing = NULL;
	return self->timed_out;
}

int peali_sim_wake(const void *key, int n)
{
	uint32_t first = peali_sim.n ? below(peali_sim.n) : 0, i;
	int woken = 0;

	for (i = 0; i < peali_sim.n && woken < n; i++) {
		struct peali_task *t =
			peali_sim.task[(first + i) % peali_sim.n];

		if (t->state != PEALI_TASK_BLOCKED || t->key != key || !key)
			continue;
		t->state = PEALI_TASK_READY;
		woken++;
	}
	return woken;
}

/* ---- runs ---------------------------------------------------------------- */

static uint64_t or_default(uint64_t value, uint64_t otherwise)
{
	return value ? value : otherwise;
}

void peali_sim_begin(const struct peali_sim_options *options)
{
	struct peali_sim *s = &peali_sim;
	uint64_t seed = options->seed;
	int i;

	if (s->active)
		peali_sim_fail("a run begins while another is under way");
	memset(s, 0, sizeof(*s));
	s->options = *options;
	s->options.most_points = or_default(options->most_points, 100000000);
	s->options.most_ns = or_default(options->most_ns, 600000000000ULL);
	s->options.stall_ns = or_default(options->stall_ns, 1000000);
	for (i = 0; i < 4; i++)
		s->random[i] = split(&seed);
	s->tell_from = or_default(options->tell_from, UINT64_MAX);
	s->soonest_ns = PEALI_SIM_FOREVER;
	s->lowest = (uint64_t)1 << 62;
	s->by_priority = below(3) == 0;
	s->longest_shift = s->by_priority ? 6 + below(7) : 1 + below(9);
	s->stall_shift = below(2) ? 4 + below(8) : 0;
	s->left = spread(s->longest_shift);
	s->active = 1;
	peali_sim_trace_begin();
	peali_tasks_begin();
}

void peali_sim_end(struct peali_sim_report *out)
{
	struct peali_sim *s = &peali_sim;

	peali_sim_stop_unless_active("peali_sim_end");
	if (s->n > 1)
		peali_sim_fail("the run ends and has %u tasks left: join them",
			       s->n - 1);
	if (out) {
		out->seed = s->options.seed;
		out->trace = s->trace;
		out->points = s->points;
		out->switches = s->switches;
		out->stalls = s->stalls;
		out->ns = peali_sim_now_ns() - START_NS;
		out->tasks = s->most;
	}
	peali_tasks_end();
	s->active = 0;
	s->left = UINT64_MAX;
}
