/* SPDX-License-Identifier: Apache-2.0 */
/* Handlers that record events and wait for events of other devices. */
#include <peal/device/kernel.h>

#include <peal/device/event.h>

#include "../events.h"

static PEAL_DEV int say(struct peal_worker *w, uint64_t rounds, uint64_t wrong,
			uint64_t count, int result)
{
	struct events_report report;

	report.rounds = rounds;
	report.wrong = peal_broadcast(w, wrong);
	report.count = count;
	report.result = result;
	return peal_emit(w, 0, 0, &report, sizeof(report), 0);
}

/* Takes turns with another device. The first device writes words and records
 * its event. The second device waits, reads the words and records its event. */
static PEAL_DEV int duet(struct peal_worker *w)
{
	const struct events_duet *d = (const struct events_duet *)peal_data(w);
	uint64_t *words = (uint64_t *)(uintptr_t)d->words;
	uint64_t round, i, wrong = 0, count = 0;
	int result = 0;

	for (round = 1; round <= d->rounds && !result; round++) {
		if (d->begins) {
			for (i = peal_lane(w); i < EVENTS_WORDS;
			     i += peal_lanes(w))
				words[i] = round * EVENTS_WORDS + i;
			count = peal_event_record(w, d->mine);
		}
		result = peal_event_await(w, d->theirs, round, -1);
		if (result || d->begins)
			continue;
		for (i = 0; peal_is_leader(w) && i < EVENTS_WORDS; i++)
			wrong += words[i] != round * EVENTS_WORDS + i;
		count = peal_event_record(w, d->mine);
	}
	return say(w, round - 1, wrong, count, result);
}

/* Records an event, then waits for another event. The state is the result. */
static PEAL_DEV int await(struct peal_worker *w)
{
	const struct events_await *a =
		(const struct events_await *)peal_data(w);
	int result;

	peal_event_record(w, a->mine);
	result = peal_event_await(w, a->event, a->count, a->timeout_ns);
	peal_sync(w);
	if (peal_is_leader(w))
		*(int64_t *)peal_state(w) = result;
	return say(w, 0, 0, peal_broadcast(w, peal_event_count(a->event)),
		   result);
}

/* Records the event that its message names. */
static PEAL_DEV int mark(struct peal_worker *w)
{
	peal_event_record(w, *(const uint64_t *)peal_data(w));
	return 0;
}

/* Tells itself the number less 1, until that is 0. */
static PEAL_DEV int countdown(struct peal_worker *w)
{
	uint64_t n = *(const uint64_t *)peal_data(w) - 1;

	peal_sync(w);
	if (peal_is_leader(w))
		++*(uint64_t *)peal_state(w);
	return n ? peal_tell(w, peal_self(w), 0, &n, sizeof(n), 0) : 0;
}

/* Emits each message by port 0, which may lead to a topic. */
static PEAL_DEV int herald(struct peal_worker *w)
{
	return peal_emit(w, 0, peal_type(w), peal_data(w), peal_length(w), 0);
}

/* Emits a message and records an event. Then it is busy: it awaits another. */
static PEAL_DEV int linger(struct peal_worker *w)
{
	const struct events_await *a =
		(const struct events_await *)peal_data(w);
	uint64_t n = 1;
	int result = peal_emit(w, 0, 0, &n, sizeof(n), 0);

	peal_event_record(w, a->mine);
	peal_event_await(w, a->event, a->count, a->timeout_ns);
	return result;
}

#define HANDLERS(X)                                                            \
	X(duet, 0, PEAL_LIMITS(1, 1, 0, sizeof(struct events_duet), 0))        \
	X(await, sizeof(int64_t),                                              \
	  PEAL_LIMITS(1, 1, 0, sizeof(struct events_await), 0))                \
	X(mark, 0, PEAL_LIMITS(0, 0, 0, sizeof(uint64_t), 0))                  \
	X(countdown, sizeof(uint64_t),                                         \
	  PEAL_LIMITS(0, 0, 1, sizeof(uint64_t), 0))                           \
	X(herald, 0, PEAL_EMITS(1, 1))                                         \
	X(linger, 0, PEAL_LIMITS(1, 1, 0, sizeof(struct events_await), 0))
PEAL_PROGRAM(events, HANDLERS);
