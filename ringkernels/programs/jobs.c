/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Handlers of `peal bench balance` and `tasks`. `crawl` takes a given time per element of
 * its device, whatever the processor does. `add` adds two arrays. `load` puts
 * tasks into a work queue, and `serve` takes a given time for each of them.
 * `step` and `hop` are the tasks of `peal bench tasks`.
 */
#define _POSIX_C_SOURCE 200809L /* nanosleep */
#include <peal/device/task.h> /* first: it selects the features */

#include <peal/device/device_queue.h>
#include <peal/device/timer.h>

#include "ringkernels/bench_program.h"
#include "ringkernels/jobs_program.h"

#if PEAL_ON_HOST
#include <time.h>

/* ns before the end of a wait that are not slept: a sleep ends late. */
#define AWAKE_NS 150000

static void rest(uint64_t ns)
{
	const struct timespec t = { (time_t)(ns / 1000000000u),
				    (long)(ns % 1000000000u) };

	nanosleep(&t, 0);
}
#else
#define AWAKE_NS (~(uint64_t)0)

static PEAL_DEV PEAL_INLINE void rest(uint64_t ns)
{
	(void)ns;
}
#endif

/* Waits until `whole` ns have passed since `began`, or the kernel aborts. */
static PEAL_DEV void crawl_until(struct peal_worker *w, uint64_t began,
				 uint64_t whole)
{
	uint64_t passed;

	for (;;) {
		passed = peal_clock_ns() - began;
		if (passed >= whole || peal_aborting(w))
			break;
		if (whole - passed > AWAKE_NS)
			rest(whole - passed - AWAKE_NS);
		else
			peal_pause();
	}
}

/*
 * Counts each element in the first argument, then waits for the rest of the
 * time.
 */
PEAL_TASK(crawl)
{
	uint64_t began = peal_clock_ns(), i;
	const struct peal_task *t = peal_task(w);
	const struct peali_crawl *c =
		(const struct peali_crawl *)peal_task_parameters(w);
	uint64_t whole = c->element_ns[t->rank] * t->count;
	uint32_t *visits = (uint32_t *)peal_task_argument(w, 0);

	for (i = peal_lane(w); i < t->count; i += peal_lanes(w))
		visits[i]++;
	crawl_until(w, began, whole);
	return 0;
}

PEAL_TASK(add)
{
	const struct peal_task *t = peal_task(w);
	const uint32_t *a = (const uint32_t *)peal_task_argument(w, 0);
	const uint32_t *b = (const uint32_t *)peal_task_argument(w, 1);
	uint32_t *sum = (uint32_t *)peal_task_argument(w, 2);
	uint64_t i;

	for (i = peal_lane(w); i < t->count; i += peal_lanes(w))
		sum[i] = a[i] + b[i];
	return 0;
}

/* ---- chains of tasks ----------------------------------------------------- */

/* Checks that this task is the next one of the chain, and takes its time. */
PEAL_TASK(step)
{
	uint64_t began = peal_clock_ns();
	const struct peali_step *s =
		(const struct peali_step *)peal_task_parameters(w);
	struct peali_chain *c = (struct peali_chain *)peal_task_argument(w, 0);

	if (peal_is_leader(w)) {
		if (!s->number)
			c->wrong = 0;
		else
			c->wrong += c->next != s->number;
		c->next = s->number + 1;
	}
	crawl_until(w, began, s->task_ns);
	return 0;
}

struct hopper {
	uint64_t next, began_ns;
	struct peali_bench_report report;
};

/*
 * Checks that this message is the next one, takes its time and sends the next
 * message. The actor that got message 0 reports at the last one.
 */
static PEAL_DEV int hop(struct peal_worker *w)
{
	struct hopper *h = (struct hopper *)peal_state(w);
	struct peali_hop hop = *(const struct peali_hop *)peal_data(w);
	uint64_t began = peal_clock_ns();

	peal_sync(w);
	if (peal_is_leader(w)) {
		if (!hop.number)
			h->began_ns = began;
		hop.wrong += hop.number > 1 && h->next != hop.number;
		h->next = hop.number + 2;
		h->report.elapsed_ns = began - h->began_ns;
		h->report.messages = hop.number;
		h->report.wrong = hop.wrong;
	}
	peal_sync(w);
	if (hop.number == hop.last)
		return peal_emit(w, 1, PEALI_BENCH_REPORT, &h->report,
				 sizeof(h->report), 0);
	crawl_until(w, began, hop.task_ns);
	hop.number++;
	return peal_emit(w, 0, PEALI_BENCH_DATA, &hop, sizeof(hop), 0);
}

/* ---- work queues --------------------------------------------------------- */

#define IDLE_NS 20000 /* between two looks at an empty queue */

struct server {
	struct peali_serve init;
	struct peal_work_consumer end;
	uint64_t n, sum, wait_ns;
	uint64_t free_at; /* ns: end of the last task; 0: it found no task since */
	int32_t result;
	uint32_t ready;
};

/* Takes a task, as the leader. Returns 1 if there was one. */
static PEAL_DEV int serve_one(struct server *s)
{
	struct peal_work_received got;
	uint64_t number = 0;

	if (!s->ready)
		s->result = peal_device_queue_work_consumer(
			s->init.queue, s->init.consumer, &s->end);
	s->ready = 1;
	if (s->result ||
	    peal_work_pop(peal_device_queue_work(s->init.queue), &s->end,
			  &number, sizeof(number), &got) != 1)
		return 0;
	s->sum += number;
	s->n++;
	return 1;
}

/*
 * Takes the time of a task. A device of that speed loses no time between two tasks
 * in sequence. So the second one begins at the end of the first one.
 */
static PEAL_DEV void serve_task(struct peal_worker *w, struct server *s,
				uint64_t began)
{
	if (s->free_at)
		began = s->free_at;
	crawl_until(w, began, s->init.task_ns);
	s->free_at = began + s->init.task_ns;
	peal_store_relaxed_sys((uint64_t *)(uintptr_t)s->init.sum, s->sum);
	peal_store_release_sys((uint64_t *)(uintptr_t)s->init.done, s->n);
}

static PEAL_DEV int serve(struct peal_worker *w)
{
	struct server *s = (struct server *)peal_state(w);
	struct peal_send_options later = PEAL_SEND_OPTIONS;
	uint64_t began = peal_clock_ns();

	peal_sync(w);
	if (peal_is_leader(w)) {
		s->wait_ns = IDLE_NS;
		if (serve_one(s)) {
			s->wait_ns = 0;
			serve_task(w, s, began);
		} else {
			s->free_at = 0;
		}
	}
	peal_sync(w);
	later.delay_ns = s->wait_ns;
	if (s->result)
		return s->result;
	return peal_tell(w, peal_self(w), 0, 0, 0, &later);
}

static PEAL_DEV int load(struct peal_worker *w)
{
	const struct peali_load *l = (const struct peali_load *)peal_data(w);
	struct peal_header header = { 0, 0, 0 };
	struct peal_work_producer end;
	uint64_t i;
	int result = 0, made;

	if (peal_is_leader(w)) {
		result = peal_device_queue_work_producer(l->queue, &end);
		made = !result;
		for (i = 1; i <= l->n && !result; i++)
			result =
				peal_work_push(peal_device_queue_work(l->queue),
					       &end, header, &i, sizeof(i));
		if (made)
			peal_work_lease_release(
				peal_device_queue_work(l->queue), &end);
	}
	return (int)(int64_t)peal_broadcast(w, (uint64_t)(int64_t)result);
}

#define HANDLERS(X)                                                            \
	X(crawl, 0, PEAL_TASKS)                                                \
	X(add, 0, PEAL_TASKS)                                                  \
	X(step, 0, PEAL_TASKS)                                                 \
	X(hop, sizeof(struct hopper),                                          \
	  PEAL_LIMITS(2, 1, 0, sizeof(struct peali_hop), 0))                   \
	X(serve, sizeof(struct server), PEAL_TELLS(1))                         \
	X(load, 0, PEAL_LIMITS(0, 0, 0, sizeof(struct peali_load), 0))
PEAL_PROGRAM(peal_jobs, HANDLERS);
