/* SPDX-License-Identifier: Apache-2.0 */
/* Handlers that put into and take from a work queue by all lanes. */
#include <peal/device/kernel.h>

#include "../work_lanes.h"

struct wl_state {
	struct peal_work_producer producer;
	struct peal_work_consumer consumer;
	uint64_t put; /* messages put so far */
	uint64_t turns;
};

/* ---- putting --------------------------------------------------------------- */

/* Which lanes have messages changes from call to call. */
static PEAL_DEV int has_one(uint32_t lane, uint64_t call)
{
	return lane < PEAL_WORK_BURST &&
	       (call % 3 == 0 || lane % 3 != call % 3);
}

/* Returns how many lanes below `end` have a message in a call. */
static PEAL_DEV uint32_t count_below(uint32_t end, uint64_t call)
{
	uint32_t n = 0, lane;

	for (lane = 0; lane < end; lane++)
		n += has_one(lane, call) != 0;
	return n;
}

/* Puts a message of some lanes. Returns their number, or an error. */
static PEAL_DEV int put_call(struct peal_worker *w, struct wl_state *s,
			     const struct wl_turn *t, uint64_t call)
{
	uint64_t number = s->put + count_below(peal_lane(w), call);
	int has = has_one(peal_lane(w), call) && number < t->each, result;
	struct peal_header header = { (uint32_t)number, (uint16_t)call, 5 };
	struct wl_item item;
	uint32_t i;

	for (i = 0; i < WL_WORDS; i++)
		item.word[i] = wl_word(t->self * t->each + number, i);
	/* a constant length keeps the item in registers */
	if (t->bytes == 16)
		result = peal_work_push_lanes(w,
					      peal_device_queue_work(t->queue),
					      &s->producer, has, header, &item,
					      16);
	else
		result = peal_work_push_lanes(w,
					      peal_device_queue_work(t->queue),
					      &s->producer, has, header, &item,
					      t->bytes);
	if (peal_vote_any(w, result))
		return (int)(int64_t)peal_xor(
			w, peal_elect(w, result != 0) == (int)peal_lane(w) ?
				   (uint64_t)(int64_t)result :
				   0);
	return (int)peal_sum(w, (uint64_t)has);
}

static PEAL_DEV int put_enter(struct peal_worker *w, const struct wl_turn *t)
{
	struct wl_state *s = (struct wl_state *)peal_state(w);

	return peal_is_leader(w) ?
		       peal_device_queue_work_producer(t->queue, &s->producer) :
		       0;
}

static PEAL_DEV void put_turn(struct peal_worker *w, const struct wl_turn *t,
			      struct wl_report *r)
{
	struct wl_state *s = (struct wl_state *)peal_state(w);
	uint32_t i;
	int n;

	for (i = 0; i < WL_ROUNDS; i++) {
		n = put_call(w, s, t, s->turns * WL_ROUNDS + i);
		if (n < 0) {
			r->result = n == PEAL_EAGAIN ? 0 : n;
			break;
		}
		r->moved += (uint64_t)n;
		peal_sync(w);
		if (peal_is_leader(w))
			s->put += (uint64_t)n;
		peal_sync(w);
	}
	peal_sync(w);
	if (peal_is_leader(w)) {
		s->turns++;
		peal_work_lease_release(peal_device_queue_work(t->queue),
					&s->producer);
	}
}

/* ---- taking ---------------------------------------------------------------- */

/* Returns 1 if a message is as its producer made it. */
static PEAL_DEV int is_right(const struct wl_item *item,
			     const struct peal_work_received *got,
			     const struct wl_turn *t)
{
	uint64_t number = item->word[0];
	const uint8_t *bytes = (const uint8_t *)item;
	uint32_t i;

	for (i = 0; i < t->bytes; i++)
		if (bytes[i] != (uint8_t)(wl_word(number, i / 8) >> i % 8 * 8))
			return 0;
	return got->length == t->bytes && got->header.flags == 5 &&
	       got->header.actor == number % t->each;
}

/* Takes a message of each lane. Returns their number, or an error. */
static PEAL_DEV int take_call(struct peal_worker *w, struct wl_state *s,
			      const struct wl_turn *t, struct wl_report *r)
{
	struct wl_item item;
	struct peal_work_received got;
	int result =
		t->bytes == 16 ?
			peal_work_pop_lanes(w, peal_device_queue_work(t->queue),
					    &s->consumer, &item, 16, &got) :
			peal_work_pop_lanes(w, peal_device_queue_work(t->queue),
					    &s->consumer, &item, sizeof(item),
					    &got);
	int wrong = result == 1 && !is_right(&item, &got, t);

	if (result == 1 && !wrong)
		peal_add_relaxed_dev(
			(uint64_t *)(uintptr_t)t->seen + item.word[0], 1);
	r->wrong += peal_sum(w, (uint64_t)wrong);
	if (peal_vote_any(w, result < 0 && result != PEAL_EAGAIN))
		r->result = PEAL_EMSGSIZE;
	return (int)peal_sum(w, result == 1);
}

static PEAL_DEV int take_enter(struct peal_worker *w, const struct wl_turn *t)
{
	struct wl_state *s = (struct wl_state *)peal_state(w);

	return peal_is_leader(w) ?
		       peal_device_queue_work_consumer(t->queue, t->self,
						       &s->consumer) :
		       0;
}

static PEAL_DEV void take_turn(struct peal_worker *w, const struct wl_turn *t,
			       struct wl_report *r)
{
	struct wl_state *s = (struct wl_state *)peal_state(w);
	uint32_t i;

	for (i = 0; i < WL_ROUNDS; i++)
		r->moved += (uint64_t)take_call(w, s, t, r);
	if (peal_is_leader(w))
		peal_work_unclaim(peal_device_queue_work(t->queue),
				  &s->consumer);
}

/* ---- wrong calls ----------------------------------------------------------- */

/* Each lane pushes too many bytes, then lanes from 32 on have a message. Returns
 * how many lanes got the expected result. */
static PEAL_DEV uint64_t push_wrong(struct peal_worker *w,
				    const struct wl_turn *t)
{
	struct wl_state *s = (struct wl_state *)peal_state(w);
	struct peal_work *q = peal_device_queue_work(t->queue);
	struct peal_header none = { 0, 0, 0 };
	uint64_t words[64] = { 0 };
	int extra = peal_lane(w) >= PEAL_WORK_BURST, good;

	good = peal_work_push_lanes(w, q, &s->producer, 1, none, words,
				    sizeof(words)) ==
	       (extra ? PEAL_EINVAL : PEAL_EMSGSIZE);
	good &= peal_work_push_lanes(w, q, &s->producer, extra, none, words,
				     8) == (extra ? PEAL_EINVAL : 0);
	return peal_sum(w, (uint64_t)good);
}

static PEAL_DEV uint64_t pop_wrong(struct peal_worker *w,
				   const struct wl_turn *t)
{
	struct wl_state *s = (struct wl_state *)peal_state(w);
	struct peal_work_received got;
	uint64_t word;

	return peal_sum(w,
			peal_work_pop_lanes(w, peal_device_queue_work(t->queue),
					    &s->consumer, &word, 1,
					    &got) == PEAL_EMSGSIZE);
}

/* ---- handlers -------------------------------------------------------------- */

static PEAL_DEV int report(struct peal_worker *w, const struct wl_report *r)
{
	return peal_emit(w, 0, peal_type(w), r, sizeof(*r), 0);
}

static PEAL_DEV int put(struct peal_worker *w)
{
	const struct wl_turn *t = (const struct wl_turn *)peal_data(w);
	struct wl_report r = { 0, 0, 0 };

	if (peal_type(w) == WL_ENTER)
		r.result = (int)(int64_t)peal_broadcast(
			w, (uint64_t)(int64_t)put_enter(w, t));
	else if (peal_type(w) == WL_WRONG)
		r.moved = push_wrong(w, t);
	else
		put_turn(w, t, &r);
	return report(w, &r);
}

static PEAL_DEV int take(struct peal_worker *w)
{
	const struct wl_turn *t = (const struct wl_turn *)peal_data(w);
	struct wl_report r = { 0, 0, 0 };

	if (peal_type(w) == WL_ENTER)
		r.result = (int)(int64_t)peal_broadcast(
			w, (uint64_t)(int64_t)take_enter(w, t));
	else if (peal_type(w) == WL_WRONG)
		r.moved = pop_wrong(w, t);
	else
		take_turn(w, t, &r);
	return report(w, &r);
}

#define WORK_LANES(X)                                                          \
	X(put, sizeof(struct wl_state), PEAL_EMITS(1, 1))                      \
	X(take, sizeof(struct wl_state), PEAL_EMITS(1, 1))
PEAL_PROGRAM(work_lanes, WORK_LANES);
