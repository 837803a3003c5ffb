/* SPDX-License-Identifier: Apache-2.0 */
/* Actors that take tasks from a work queue of their device. They wait for the time of
 * each task. */
#include <peal/device/device_queue.h>
#include <peal/device/kernel.h>
#include <peal/device/tell.h>
#include <peal/device/timer.h>

#include "../work_shares.h"

static PEAL_DEV int enter(struct ws_taker *t)
{
	t->ready = 1;
	return peal_device_queue_work_consumer(t->init.queue, t->init.consumer,
					       &t->end);
}

/* Takes a task, as the leader. Counts it, and returns the time that it takes. */
static PEAL_DEV uint64_t take(struct ws_taker *t)
{
	struct peal_work_received got;
	struct ws_task task;

	t->more = peal_work_pop(peal_device_queue_work(t->init.queue), &t->end,
				&task, sizeof(task), &got) == 1;
	if (!t->more)
		return WS_IDLE_NS;
	t->damaged += task.check != ws_check(task.number) ||
		      got.header.type != WS_TYPE ||
		      task.number >= t->init.n_tasks;
	if (task.number < t->init.n_tasks)
		peal_store_relaxed_sys(
			(uint64_t *)(uintptr_t)t->init.seen + task.number, 1);
	peal_store_relaxed_sys((uint64_t *)(uintptr_t)t->init.done, ++t->done);
	return t->init.task_ns;
}

static PEAL_DEV int work(struct peal_worker *w)
{
	struct ws_taker *t = (struct ws_taker *)peal_state(w);
	struct peal_send_options later = PEAL_SEND_OPTIONS;
	int result = 0;

	peal_sync(w);
	if (peal_is_leader(w)) {
		if (!t->ready)
			result = enter(t);
		t->wait_ns = result ? 0 : take(t);
	}
	result = (int)(int64_t)peal_broadcast(w, (uint64_t)(int64_t)result);
	later.delay_ns = t->wait_ns;
	return result ? result : peal_tell(w, peal_self(w), 0, 0, 0, &later);
}

/* Puts tasks into the queue of its device, up to the number `end`. It stops earlier if
 * the queue is full. */
static PEAL_DEV void put_tasks(struct ws_filler *f, uint64_t end)
{
	struct peal_header header = { 0, WS_TYPE, 0 };
	struct ws_task task;

	while (f->next < end) {
		task.number = f->next;
		task.check = ws_check(f->next);
		if (peal_work_push(peal_device_queue_work(f->queue), &f->end,
				   header, &task, sizeof(task)))
			break;
		f->next++;
	}
	peal_store_relaxed_sys((uint64_t *)(uintptr_t)f->put, f->next);
}

static PEAL_DEV int fill(struct peal_worker *w)
{
	struct ws_filler *f = (struct ws_filler *)peal_state(w);
	int result = 0;

	if (peal_is_leader(w)) {
		if (!f->ready)
			result = peal_device_queue_work_producer(f->queue,
								 &f->end);
		f->ready = 1;
		if (!result)
			put_tasks(f, *(const uint64_t *)peal_data(w));
	}
	return (int)(int64_t)peal_broadcast(w, (uint64_t)(int64_t)result);
}

#define HANDLERS(X)                                                            \
	X(work, sizeof(struct ws_taker), PEAL_TELLS(1))                        \
	X(fill, sizeof(struct ws_filler), PEAL_SINK)
PEAL_PROGRAM(work_shares, HANDLERS);
