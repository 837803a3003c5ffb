/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_DEVICE_CLOCK_H
#define PEAL_DEVICE_CLOCK_H

#include <peal/device/lanes.h>

/*
 * The time that all have in common: the host's clock, CLOCK_MONOTONIC in ns. A
 * device's clock is another one, with another beginning and not quite as fast.
 * The host and a worker tell each other what theirs say whenever the lease
 * moves (runtime/clock.c), so that the worker knows two bounds of the host's:
 * never is it before the lower or behind the upper one. On a GPU, whose workers
 * look all the time, they should be some microseconds apart.
 */

/*
 * The lease has moved: says what the worker's clock is behind that, and takes
 * over what the host knows of it. The leader, where it looks at control words.
 */
PEALI_SLOW(void, peali_clock_look, struct peal_worker *w, uint64_t lease)
{
	const struct peal_kernel_control *c = w->control;
	struct peal_clock clock;
	uint64_t turn;

	peal_store_relaxed_sys(&w->status->clock_first, peal_clock_ns());
	/* R7: pairs with A7 in peali_clock_tick: a clock that was read after
	 * the lease was seen. */
	peal_store_release_sys(&w->status->clock_seen, lease);
	/* A9: pair with R9 in publish() of runtime/clock.c: who sees one of
	 * three new words sees then that the turn is another. */
	turn = peal_load_acquire_sys(&c->clock_turn);
	clock.at = peal_load_acquire_sys(&c->clock_at);
	clock.low = peal_load_acquire_sys(&c->clock_low);
	clock.high = peal_load_acquire_sys(&c->clock_high);
	if ((turn & 1) || turn != peal_load_relaxed_sys(&c->clock_turn))
		return; /* the next time: what it has is true as well */
	w->state->clock_turn = turn;
	w->state->clock = clock;
}

/* The two bounds of the host's clock now: 1; 0 it is not known. */
static PEAL_DEV PEAL_UNUSED inline int
peali_clock_bounds(const struct peal_worker *w, uint64_t *low_out,
		   uint64_t *high_out)
{
	const struct peal_clock *clock = &w->state->clock;
	uint64_t now, wider;

	if (PEAL_UNLIKELY(!w->state->clock_turn))
		return 0;
	now = peal_clock_ns();
	wider = PEAL_CLOCK_WIDER(now - clock->at);
	*low_out = now + clock->low - wider;
	*high_out = now + clock->high + wider;
	return 1;
}

/**
 * The host's clock, as far as the worker knows it. Any lane; lanes that call it
 * do not get the same.
 *
 * @param w               the worker
 * @param uncertainty_out the host's clock is within so many ns of it, to either
 *                        side; 0: not wanted
 * @return CLOCK_MONOTONIC of the host in ns, for peal/clock.h and deadlines; 0
 *         the host has not told it yet, which it does while it launches the
 *         kernel. Wait-free.
 */
static PEAL_DEV PEAL_UNUSED inline uint64_t
peal_common_ns(const struct peal_worker *w, uint64_t *uncertainty_out)
{
	uint64_t low = 0, high = 0;

	if (!peali_clock_bounds(w, &low, &high))
		return 0;
	if (uncertainty_out)
		*uncertainty_out = (high - low + 1) / 2;
	return low + (high - low) / 2;
}

/* When so long has passed from then on; 0 or less: it has. */
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
 * Whether the deadline of the message in w->message has passed for sure: not
 * before the lower bound of the host's clock is there.
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
