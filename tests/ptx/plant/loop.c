/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The resident loop with handlers that check their messages by all lanes.
 * `relay` tells the actor of the next worker, `finish` emits. `meet` uses a
 * barrier and an event. `state` checks its state. One lane of `spoil` fails. A wrong value executes `trap`.
 */
#include <peal/device/kernel.h>
#include <peal/device/event.h>

#include "tests/ptx/plant/item.h"
#include "tests/ptx/plant/loop.h"

#define NEED(condition)                                                        \
	do {                                                                   \
		if (!(condition))                                              \
			__trap();                                              \
	} while (0)

/* A word of each lane. */
struct lane_words {
	uint64_t of[64];
};

/* Checks the functions of lanes with values that depend on a number. */
static PEAL_DEV void check_lanes(struct peal_worker *w, uint32_t number)
{
	uint64_t lane = peal_lane(w), n = peal_lanes(w);
	uint32_t from = number % (uint32_t)n;

	NEED(peal_broadcast(w, number + lane) == number);
	NEED(peal_shuffle(w, number * 100 + lane, from) == number * 100 + from);
	NEED(peal_sum(w, number + lane) == n * number + n * (n - 1) / 2);
	NEED(peal_elect(w, lane >= from) == (int)from);
	NEED(peal_xor(w, lane == from ? number : 0) == number);
	NEED(peal_vote_any(w, lane == from));
	NEED(!peal_vote_all(w, lane != from));
	NEED(peal_vote_all(w, lane < n));
}

/* Calls a function of lanes between a word that each lane writes and the next
 * lane's word that it reads. */
#define ORDERED(call)                                                          \
	do {                                                                   \
		words[lane] = ++word + lane;                                   \
		(void)(call);                                                  \
		NEED(words[next] == word + next);                              \
		peal_sync(w);                                                  \
	} while (0)

/* Checks that the functions of lanes order memory. */
static PEAL_DEV void check_order(struct peal_worker *w, uint64_t word)
{
	PEAL_SHARED struct lane_words shared;
	uint64_t *words = shared.of;
	uint32_t lane = peal_lane(w), next = (lane + 1) % peal_lanes(w);

	ORDERED(peal_broadcast(w, lane));
	ORDERED(peal_shuffle(w, lane, next));
	ORDERED(peal_sum(w, lane));
	ORDERED(peal_xor(w, lane));
	ORDERED(peal_elect(w, lane == 1));
	ORDERED(peal_vote_any(w, lane == 1));
	ORDERED(peal_vote_all(w, lane == 1));
}

/* Checks the bounds of the host's clock, if it has published some. */
static PEAL_DEV void check_clock(const struct peal_worker *w)
{
	uint64_t turn = w->state->clock.turn;
	const struct peal_clock *host = &w->state->clock.host;

	if (turn)
		NEED(host->at == LOOP_CLOCK_AT(turn) &&
		     host->low == LOOP_CLOCK_LOW(turn) &&
		     host->high == LOOP_CLOCK_HIGH(turn));
}

/* Checks the message. Returns its length. Each lane has then written its words
 * of `copy`, and no barrier has followed. */
static PEAL_DEV uint32_t check_message(struct peal_worker *w, uint32_t *copy)
{
	uint32_t length = (uint32_t)peal_length(w);
	const uint32_t *word = (const uint32_t *)peal_data(w);
	uint32_t number = word[0], i;

	NEED(item_is(word, length, LOOP_SENDER, number));
	peal_copy_lanes(w, copy, word, length);
	NEED(item_is(copy, length, LOOP_SENDER, number));
	check_lanes(w, number);
	check_order(w, number);
	if (peal_is_leader(w))
		check_clock(w);
	peal_sync(w);
	for (i = peal_lane(w); i < length / 4; i += peal_lanes(w))
		copy[i] = word[i];
	return length;
}

static PEAL_DEV int relay(struct peal_worker *w)
{
	PEAL_SHARED struct item copy;
	uint32_t length = check_message(w, copy.word);

	/* the host writes the state before it resumes the worker */
	NEED(*(const uint64_t *)peal_state(w) >= peal_type(w));
	return peal_tell(w, LOOP_NEXT, peal_type(w), copy.word, length, 0);
}

/* Emits the message in place: each lane writes its words. */
static PEAL_DEV int emit_in_place(struct peal_worker *w, uint32_t length)
{
	const uint32_t *word = (const uint32_t *)peal_data(w);
	void *place = 0;
	int result = peal_reserve(w, 0, length, &place);
	uint32_t i;

	if (result)
		return result;
	for (i = peal_lane(w); i < length / 4; i += peal_lanes(w))
		((uint32_t *)place)[i] = word[i];
	peal_commit(w, 0, peal_type(w), length);
	return 0;
}

static PEAL_DEV int finish(struct peal_worker *w)
{
	PEAL_SHARED struct item copy;
	uint32_t length = check_message(w, copy.word);

	if (*(const uint32_t *)peal_data(w) % 2)
		return emit_in_place(w, length);
	return peal_emit(w, 0, peal_type(w), copy.word, length, 0);
}

/* Both members write a word, meet, and read both words. Then member 0 writes
 * other words and records the event, and member 1 waits for it. */
static PEAL_DEV int meet(struct peal_worker *w)
{
	const struct loop_meeting *m =
		(const struct loop_meeting *)peal_data(w);
	uint64_t *words = (uint64_t *)(uintptr_t)m->words;
	uint64_t number = m->number, member = m->member, event = m->event;
	uint32_t lane = peal_lane(w), last = peal_lanes(w) - 1;

	if (lane == last)
		words[member] = number * 10 + member;
	NEED(!peal_barrier_arrive_lanes(w, 0));
	NEED(!peal_barrier_wait_lanes(w, 0, -1));
	NEED(words[0] == number * 10 && words[1] == number * 10 + 1);
	if (!member) {
		if (lane == last)
			words[2] = words[3] = number;
		NEED(peal_event_record(w, event) == number + 1);
	} else {
		NEED(!peal_event_await(w, event, number + 1, -1));
		NEED(words[2] >= number && words[3] >= number);
	}
	NEED(!peal_barrier_arrive_lanes(w, 0));
	NEED(!peal_barrier_wait_lanes(w, 0, -1));
	return 0;
}

/* Checks its state by all lanes. */
static PEAL_DEV int state(struct peal_worker *w)
{
	const uint64_t *words = (const uint64_t *)peal_state(w);
	uint64_t number = *(const uint64_t *)peal_data(w), i;

	for (i = 0; i < LOOP_STATE_WORDS; i++)
		NEED(words[i] == LOOP_STATE_WORD(number, i));
	return 0;
}

/* One lane fails for each odd number. Half of the lanes tell the host of the last
 * message, and wait for the abort. */
static PEAL_DEV int spoil(struct peal_worker *w)
{
	uint64_t number = *(const uint64_t *)peal_data(w);
	uint64_t lane = peal_lane(w);

	if (number != LOOP_SPOILED)
		return number % 2 && lane == number / 2 % peal_lanes(w) ?
			       PEAL_EINVAL :
			       0;
	if (lane % 2)
		return 0;
	peal_store_relaxed_sys((uint64_t *)peal_state(w), 1);
	while (!peal_aborting(w))
		;
	return 0;
}

#define HANDLERS(X)                                                            \
	X(relay, 0, PEAL_TELLS(1))                                             \
	X(finish, 0, PEAL_EMITS(1, 1))                                         \
	X(meet, 0, PEAL_SINK)                                                  \
	X(state, 8 * LOOP_STATE_WORDS, PEAL_SINK)                              \
	X(spoil, 8, PEAL_SINK)
PEAL_PROGRAM(plant, HANDLERS);
