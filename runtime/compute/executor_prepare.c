/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Executors: prepares a task handler at its first job. Each device gets a pool
 * and its actors. Tasks without elements measure the round trip.
 */
#include <stdlib.h>

#include "runtime/base/error.h"
#include "runtime/base/math.h"
#include "runtime/base/text.h"
#include "runtime/base/wait.h"
#include "runtime/compute/executor.h"
#include "runtime/compute/task.h"

#define START "peal_executor_start"
#define TURNS 9 /* measurements; their median is used */
#define PART_NS 100000000LL /* ns of one receive in a longer wait */

/*
 * Returns the capacity of a link for up to `window` tasks. It is at least twice
 * the window. The reason: slots of finished tasks may still count as used. The
 * receiver returns the credit of a quarter of all slots at a time.
 */
static uint32_t places(uint32_t window)
{
	return peali_power_of_two(2 * window);
}

static int prepare_device(struct peal_executor *e, uint32_t rank,
			  const char *handler, uint64_t *pool_out)
{
	struct peali_executor_device *s = &e->devices[rank];
	const struct peali_task_reports reports = {
		peal_endpoint_address(e->host), places(s->window), s->owner,
		e->links, &e->n_links
	};
	struct peal_link_options o = { .size = sizeof(o),
				       .capacity = places(s->window),
				       .message_bytes =
					       sizeof(struct peal_task) };
	uint64_t pool = 0;
	int result = peali_task_pool(s->kernel, handler, s->workers, o.capacity,
				     &reports, &pool);

	if (!result && !s->is_linked) {
		result = peal_connect(e->rt, reports.to, rank, pool, &o,
				      &e->links[e->n_links]);
		e->n_links += !result;
	}
	if (result)
		return result;
	s->is_linked = 1;
	*pool_out = pool;
	return 0;
}

/* ---- tasks without elements ---------------------------------------------- */

/* Waits for reports of n tasks without elements. Returns 0 or PEAL_EHUNG. */
static int take_empty(struct peal_executor *e, uint32_t n)
{
	uint64_t until = peali_now_ns() + e->rt->control_timeout_ms * 1000000u;
	struct peal_task_done done;
	struct peal_received got;
	int result;

	while (n) {
		result = peal_receive(e->host, &done, sizeof(done), &got,
				      PART_NS);
		if (!result && got.length == sizeof(done) && !done.job &&
		    done.slot == e->empty)
			n--; /* else: late report of an earlier task */
		if (n && peali_now_ns() > until)
			return peali_fail(
				PEAL_EHUNG, START,
				"%u device%s gave no answer to a task "
				"without elements",
				n, peali_s(n));
	}
	return 0;
}

static int send_empty(struct peal_executor *e,
		      const struct peali_executor_handler *h, uint32_t rank)
{
	struct peal_task none = { .slot = e->empty, .rank = (uint16_t)rank };
	int result = peal_send_to(e->host, rank, h->pool[rank], 0, &none,
				  offsetof(struct peal_task, parameter), 0,
				  NULL);

	if (result != PEAL_EAGAIN)
		return result;
	return peali_fail(PEAL_EHUNG, START,
			  "device %d has not accepted tasks without elements",
			  e->devices[rank].device);
}

/*
 * Measures the round trip of a task without elements, in ns. Rank e->n stands
 * for all live devices at the same time.
 */
static int time_empty(struct peal_executor *e,
		      const struct peali_executor_handler *h, uint32_t rank,
		      uint64_t *ns_out)
{
	uint64_t began = peali_now_ns();
	uint32_t first = rank < e->n ? rank : 0, sent = 0, i;
	uint32_t end = rank < e->n ? rank + 1 : e->n;
	int result = 0;

	e->empty++;
	for (i = first; i < end && !result; i++)
		if (!e->devices[i].result) {
			result = send_empty(e, h, i);
			sent += !result;
		}
	if (!result)
		result = take_empty(e, sent);
	*ns_out = peali_now_ns() - began;
	return result;
}

static int by_size(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static int measure(struct peal_executor *e, struct peali_executor_handler *h)
{
	uint64_t ns[TURNS];
	uint32_t rank, i;
	int result = 0;

	for (rank = 0; rank <= e->n; rank++) {
		if (rank < e->n && e->devices[rank].result)
			continue;
		for (i = 0; i < TURNS && !result; i++)
			result = time_empty(e, h, rank, &ns[i]);
		if (result)
			return result;
		qsort(ns, TURNS, sizeof(ns[0]), by_size);
		if (rank < e->n)
			h->empty_ns[rank] = ns[TURNS / 2];
		else
			h->empty_all_ns = ns[TURNS / 2];
	}
	return 0;
}

int peali_executor_prepare(struct peal_executor *e, uint32_t handler)
{
	struct peali_executor_handler *h = &e->handlers[handler];
	uint32_t i;
	int result = 0;

	for (i = 0; i < e->n && !result; i++)
		if (!h->pool[i] && !e->devices[i].result)
			result = prepare_device(
				e, i, e->program->handlers[handler].name,
				&h->pool[i]);
	if (!result)
		result = measure(e, h);
	h->ready = !result;
	return result;
}
