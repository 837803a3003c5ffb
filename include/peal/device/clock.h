/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_DEVICE_CLOCK_H
#define PEAL_DEVICE_CLOCK_H

#include <peal/device/lanes.h>

/*
 * uint64_t peal_clock_ns(void) returns the clock of the device in ns. Each lane
 * may call it, and lanes may read different values. Two reads of one worker
 * measure a duration. Clocks of two devices are not comparable.
 *
 * Host time is the host's clock, CLOCK_MONOTONIC in ns. A device's clock has
 * another start and a slightly different speed. Host and worker exchange their
 * clocks whenever the lease changes. So the worker knows a lower and an upper
 * bound of the host's clock. On emulated devices the bounds are some tens of
 * microseconds apart. On a GPU the distance was not measured. To measure a
 * latency, measure a round trip by one clock.
 */

/*
 * Returns the ns between two values of the device's clock, or a few more. A
 * lane that pauses between two reads makes a difference larger. The smallest of
 * some differences counts. A clock that stands still ends the search.
 */
static PEAL_DEV PEAL_UNUSED inline uint64_t peali_clock_step(void)
{
#if PEAL_ON_HOST
	return 1;
#else
	uint64_t last = peal_clock_ns(), now, step = ~0ULL;
	uint32_t looks = 0, changes = 0;

	for (; changes < 3 && looks < 1u << 20; looks++) {
		now = peal_clock_ns();
		if (now == last)
			continue;
		if (now - last < step)
			step = now - last;
		last = now;
		changes++;
	}
	return changes ? step : 0;
#endif
}

/*
 * The lease has changed: publishes the worker's clock, read after that. Then
 * takes the bounds that the host has published. For the leader, at its look at
 * the control words.
 */
PEALI_SLOW(void, peali_clock_poll, struct peal_worker *w, uint64_t lease)
{
	const struct peal_kernel_control *c = w->control;
	struct peal_clock clock;
	uint64_t turn;

	/* peal_device_sync: a worker that has seen a lease has told its counts.
	 * A wait in a handler looks at the lease, too. */
	peali_publish_links(w);
	peal_store_relaxed_sys(&w->status->clock_first, peal_clock_ns());
	/* R7: pairs with A7 in contact() of runtime/kernel/clock.c. The clock
	 * was read after the lease was seen. */
	peal_store_release_sys(&w->status->clock_seen, lease);
	/* A9: pair with R9 in publish() of runtime/kernel/clock.c. After one of
	 * the three new words, the second load of the turn sees a change. */
	turn = peal_load_acquire_sys(&c->clock_turn);
	clock.at = peal_load_acquire_sys(&c->clock_at);
	clock.low = peal_load_acquire_sys(&c->clock_low);
	clock.high = peal_load_acquire_sys(&c->clock_high);
	if ((turn & 1) || turn != peal_load_relaxed_sys(&c->clock_turn))
		return; /* retry at the next change; the old bounds hold */
	w->state->clock.turn = turn;
	w->state->clock.host = clock;
}

/* Sets the two bounds of the host's clock now. Returns 0 if it is not known. */
static PEAL_DEV PEAL_UNUSED inline int
peali_clock_bounds(const struct peal_worker *w, uint64_t *low_out,
		   uint64_t *high_out)
{
	const struct peal_clock *clock = &w->state->clock.host;
	uint64_t now, wider;

	if (PEAL_UNLIKELY(!w->state->clock.turn))
		return 0;
	now = peal_clock_ns();
	wider = PEAL_CLOCK_WIDER(now - clock->at);
	*low_out = now + clock->low - wider;
	*high_out = now + clock->high + wider;
	return 1;
}

/**
 * Returns the worker's estimate of the host's clock.
 *
 * Any lane, wait-free. Two lanes can get different values.
 *
 * @param w               the worker.
 * @param uncertainty_out receives the error bound, +/- ns. 0: not wanted.
 * @return CLOCK_MONOTONIC of the host in ns, as in peal/clock.h and deadlines.
 *         0: not known yet. The host publishes it during the launch.
 */
static PEAL_DEV PEAL_UNUSED inline uint64_t
peal_host_time_ns(const struct peal_worker *w, uint64_t *uncertainty_out)
{
	uint64_t low = 0, high = 0;

	if (!peali_clock_bounds(w, &low, &high))
		return 0;
	if (uncertainty_out)
		*uncertainty_out = (high - low + 1) / 2;
	return low + (high - low) / 2;
}

/* Returns the deadline `lifetime` ns after `now`. 0 or less: it has passed. */
static PEAL_HD PEAL_UNUSED inline uint64_t peali_deadline_at(uint64_t now,
							     int64_t lifetime)
{
	if (lifetime <= 0)
		return PEAL_DEADLINE_PAST;
	return now > PEAL_DEADLINE_NEVER - (uint64_t)lifetime ?
		       PEAL_DEADLINE_NEVER :
		       now + (uint64_t)lifetime;
}

/*
 * Returns 1 if the deadline of w->message has passed. It compares the lower
 * bound of the host's clock, so it is never too early.
 */
PEALI_SLOW(int, peali_expired, const struct peal_worker *w)
{
	uint64_t deadline = peali_message_deadline(&w->message);
	uint64_t low = 0, high = 0;

	if (deadline <= PEAL_DEADLINE_PAST)
		return deadline == PEAL_DEADLINE_PAST;
	return deadline != PEAL_DEADLINE_NEVER &&
	       peali_clock_bounds(w, &low, &high) && low >= deadline;
}

#endif
