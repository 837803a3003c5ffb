/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The handlers of 09_own_queue.c. `put` pushes the numbers of a range into the
 * queue that the host has placed. `take` pops the numbers that it finds and
 * sends their sum by its only port.
 *
 * Neither handler waits for the queue. If the queue is full or empty, the actor
 * sends itself a message and continues then. Its worker handles other messages
 * in between.
 */
#include <peal/device/kernel.h>

#include "../numbers.h"

#define BURST 16

struct number {
	uint64_t value;
};

/* Declares the typed push and pop functions of the queue. */
PEAL_TYPED_DEVICE_QUEUE(number, struct number, 48)

struct putter {
	struct place place;
	struct range left;
	struct peal_work_producer end;
};

struct taker {
	struct place place;
	struct peal_work_consumer end;
	struct number number[BURST];
	struct peal_work_received got[BURST];
};

/*
 * Pushes numbers until the queue is full, at most BURST. Returns 0, 1 if
 * numbers are left, or an error. Called by the leader only.
 */
static PEAL_DEV int put_some(struct putter *p)
{
	struct peal_work *queue = peal_device_queue_work(p->place.queue);
	struct peal_header none = { 0, 0, 0 };
	struct number number;
	uint32_t i;
	int result;

	for (i = 0; i < BURST && p->left.first < p->left.end; i++) {
		number.value = p->left.first;
		result = number_work_push(queue, &p->end, none, &number);
		if (result == PEAL_EAGAIN)
			break; /* the queue is full: continue later */
		if (result)
			return result;
		p->left.first++;
	}
	if (p->left.first < p->left.end)
		return 1;
	/* returns the slots that the end has leased but not used */
	peal_work_lease_release(queue, &p->end);
	return 0;
}

/* Starts with a range, and continues at each message to itself. */
static PEAL_DEV int put(struct peal_worker *w)
{
	struct putter *p = (struct putter *)peal_state(w);
	const struct range *range = range_data(w);
	struct step step = { 0 };
	int result = 0;

	if (peal_is_leader(w)) {
		if (range) {
			p->left = *range;
			result = peal_device_queue_work_producer(p->place.queue,
								 &p->end);
		}
		if (!result)
			result = put_some(p);
	}
	result = (int)(int64_t)peal_broadcast(w, (uint64_t)(int64_t)result);
	return result == 1 ? step_tell(w, peal_self(w), &step, 0) : result;
}

/*
 * Pops the numbers in the queue, at most BURST. Returns how many, or an error.
 * Called by the leader only.
 */
static PEAL_DEV int take_some(struct taker *t, struct taken *sum)
{
	int result = 0, i;

	if (!t->place.entered) /* the queue has a consumer end for each index */
		result = peal_device_queue_work_consumer(
			t->place.queue, t->place.index, &t->end);
	if (result)
		return result;
	t->place.entered = 1;
	result = number_work_pop_burst(peal_device_queue_work(t->place.queue),
				       &t->end, t->number, BURST, t->got);
	for (i = 0; i < result; i++)
		sum->sum += t->number[i].value;
	return result == PEAL_EAGAIN ? 0 : result;
}

/* Sends the sum of the numbers popped, then a message to itself. */
static PEAL_DEV int take(struct peal_worker *w)
{
	struct taker *t = (struct taker *)peal_state(w);
	struct taken sum = { 0, 0 };
	struct step step = { 0 };
	int result = 0;

	if (peal_is_leader(w))
		result = take_some(t, &sum);
	result = (int)(int64_t)peal_broadcast(w, (uint64_t)(int64_t)result);
	if (result > 0) {
		sum.n = (uint64_t)result;
		result = taken_emit(w, 0, &sum, 0);
	}
	return result ? result : step_tell(w, peal_self(w), &step, 0);
}

#define HANDLERS(X)                                                            \
	X(put, sizeof(struct putter), PEAL_TELLS(1))                           \
	X(take, sizeof(struct taker), PEAL_LIMITS(1, 1, 1, 0, 0))
PEAL_PROGRAM(own_queue, HANDLERS);
