/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bounds the difference between the host's clock and a device's clock:
 *
 * 1. The host writes its clock H into the lease word.
 * 2. A worker that sees H reports its clock D. The host's clock at D was at
 *    least H. So H - D is a lower bound of the difference, host minus device.
 * 3. The worker reports its clock D' each time it polls the control words.
 * 4. The host reads D', then its own clock H'. The host's clock at D' was at
 *    most H'. So H' - D' is an upper bound.
 * 5. A device's clock advances in steps. Both bounds widen by a step.
 * 6. The host keeps the best bounds of all contacts. Both bounds widen with
 *    time.
 *
 * The host and the workers do this beside other work. Only a launch waits for
 * an answer (peali_clock_begin).
 */
#include "runtime/kernel/clock.h"

#include <string.h>

#include "runtime/base/error.h"
#include "runtime/base/wait.h"
#include "runtime/kernel/kernel.h"
#include "runtime/runtime.h"

/*
 * Least step of a device clock, in ns. A clock that advances in steps lags by
 * up to one step. The workers measure it: see peali_clock_step().
 */
#define STEP_NS 2000

/* A launch makes up to ROUNDS rounds, until the bounds are close enough. */
#define ROUNDS 8
#define CLOSE_NS 20000 /* largest distance of close bounds */
#define FIRST_NS 1000000000LL /* limit of a round before the first answer */
#define ROUND_NS 1000000LL /* limit of a round after the first answer */

/* ---- bounds -------------------------------------------------------------- */

/* Moves the bounds to device time `to`, before or after c->at: widens them. */
static void move(struct peal_clock *c, uint64_t to)
{
	uint64_t passed = to - c->at;

	if ((int64_t)passed < 0)
		passed = 0 - passed;
	c->low -= PEAL_CLOCK_WIDER(passed);
	c->high += PEAL_CLOCK_WIDER(passed);
	c->at = to;
}

static uint64_t later(uint64_t a, uint64_t b)
{
	return (int64_t)(a - b) > 0 ? a : b;
}

static uint64_t earlier(uint64_t a, uint64_t b)
{
	return (int64_t)(a - b) > 0 ? b : a;
}

void peali_clock_learn(struct peali_clock *clock,
		       const struct peali_clock_contact *in)
{
	struct peal_clock *c = &clock->bounds, fresh, raw;
	uint64_t step = in->step > STEP_NS ? in->step : STEP_NS;

	/* the clock may lag at the contact, or at a later use of the bounds */
	fresh.low = in->seen - in->first - step -
		    PEAL_CLOCK_WIDER(in->latest - in->first);
	fresh.high = in->now - in->latest + step;
	fresh.at = in->latest;
	if (!clock->known) {
		*c = fresh;
		clock->known = 1;
		return;
	}
	raw = fresh;
	if ((int64_t)(fresh.at - c->at) > 0)
		move(c, fresh.at);
	else
		move(&fresh, c->at);
	if ((int64_t)(fresh.high - c->low) >= 0 &&
	    (int64_t)(c->high - fresh.low) >= 0) {
		c->low = later(c->low, fresh.low);
		c->high = earlier(c->high, fresh.high);
		return;
	}
	/*
	 * The intervals do not overlap: the clock was set, or is faulty. The
	 * new bounds span both intervals until the next contact.
	 */
	c->at = raw.at;
	c->low = earlier(c->low, raw.low);
	c->high = later(c->high, raw.high);
}

uint64_t peal_clock_host_ns(void)
{
	return peali_now_ns();
}

static uint64_t convert(const struct peal_clock *clock, uint64_t device_ns,
			uint64_t *low_out, uint64_t *uncertainty_out)
{
	struct peal_clock c = *clock;

	move(&c, device_ns);
	*low_out = c.low;
	if (uncertainty_out)
		*uncertainty_out = (c.high - c.low + 1) / 2;
	return (c.high - c.low) / 2;
}

uint64_t peal_clock_to_host(const struct peal_clock *clock, uint64_t device_ns,
			    uint64_t *uncertainty_out)
{
	uint64_t low, half = convert(clock, device_ns, &low, uncertainty_out);

	return device_ns + low + half;
}

uint64_t peal_clock_to_device(const struct peal_clock *clock, uint64_t host_ns,
			      uint64_t *uncertainty_out)
{
	uint64_t half = (clock->high - clock->low) / 2, low;

	half = convert(clock, host_ns - clock->low - half, &low,
		       uncertainty_out);
	return host_ns - low - half;
}

/* ---- contacts ------------------------------------------------------------ */

void peali_clock_init(struct peali_clock *clock)
{
	memset(clock, 0, sizeof(*clock));
	pthread_mutex_init(&clock->lock, NULL);
}

void peali_clock_fini(struct peali_clock *clock)
{
	pthread_mutex_destroy(&clock->lock);
}

/* Reads a worker's clock words. Returns 0 before the worker saw a lease. */
static int contact(const struct peal_worker_status *s,
		   struct peali_clock_contact *out)
{
	/* A7: pairs with R7 in peali_clock_poll. */
	out->seen = peal_load_acquire_sys(&s->clock_seen);
	out->first = peal_load_relaxed_sys(&s->clock_first);
	/* acquire: the host reads its own clock afterwards */
	out->latest = peal_load_acquire_sys(&s->clock_latest);
	if ((int64_t)(out->latest - out->first) < 0)
		/* stale: a poll writes `latest` before `first` */
		out->latest = out->first;
	out->now = peali_now_ns();
	out->step = peal_load_relaxed_sys(&s->clock_step);
	return out->seen != 0;
}

/* Publishes the bounds to the workers. The caller holds the clock's lock. */
static void publish(struct peal_kernel_control *to, const struct peal_clock *c)
{
	uint64_t turn = peal_load_relaxed_sys(&to->clock_turn);

	peal_store_relaxed_sys(&to->clock_turn, turn + 1);
	/*
	 * R9: pair with A9 in peali_clock_poll. A worker that reads a new word
	 * also sees that the turn has changed.
	 */
	peal_store_release_sys(&to->clock_at, c->at);
	peal_store_release_sys(&to->clock_low, c->low);
	peal_store_release_sys(&to->clock_high, c->high);
	peal_store_release_sys(&to->clock_turn, turn + 2);
}

void peali_clock_tick(struct peal_kernel *k)
{
	struct peali_clock_contact with;
	uint32_t i;

	pthread_mutex_lock(&k->clock.lock);
	for (i = 0; i < k->params.n_workers; i++)
		if (contact(&k->status[i], &with))
			peali_clock_learn(&k->clock, &with);
	if (k->clock.known)
		publish(k->control, &k->clock.bounds);
	/* last: a worker reads the bounds when it sees a new lease */
	peal_store_release_sys(&k->control->lease, peali_now_ns());
	pthread_mutex_unlock(&k->clock.lock);
}

/* Returns 1 if a worker has seen a lease that is newer than `since`. */
static int answered(struct peal_kernel *k, uint64_t since)
{
	uint32_t i;

	for (i = 0; i < k->params.n_workers; i++)
		if (peal_load_relaxed_sys(&k->status[i].clock_seen) > since)
			return 1;
	return 0;
}

static int is_close(struct peal_kernel *k)
{
	int close;

	pthread_mutex_lock(&k->clock.lock);
	close = k->clock.known &&
		k->clock.bounds.high - k->clock.bounds.low <= CLOSE_NS;
	pthread_mutex_unlock(&k->clock.lock);
	return close;
}

static int is_known(struct peal_kernel *k)
{
	int known;

	pthread_mutex_lock(&k->clock.lock);
	known = k->clock.known;
	pthread_mutex_unlock(&k->clock.lock);
	return known;
}

void peali_clock_begin(struct peal_kernel *k)
{
	uint64_t deadline, since;
	uint32_t turns, i;

	for (i = 0; i < ROUNDS && !is_close(k); i++) {
		since = peali_now_ns();
		peali_clock_tick(k);
		deadline = peali_deadline(is_known(k) ? ROUND_NS : FIRST_NS);
		turns = 0;
		while (!answered(k, since) && !peali_late(deadline))
			peali_poll_pause(&turns);
	}
	peali_clock_tick(k); /* publishes the bounds of the last round */
}
