/* SPDX-License-Identifier: Apache-2.0 */
/* The row `queues` of the benchmark `balance`. Work queues of devices share their
 * tasks. The devices have the speeds 4, 2 and 1. No thread of the host moves a task. */
#include <math.h>
#include <string.h>
#include <time.h>

#include <peal/actor.h>
#include <peal/device/atomic.h>
#include <peal/device_queue.h>
#include <peal/endpoint.h>
#include <peal/kernel.h>
#include <peal/link.h>
#include <peal/memory.h>
#include <peal/work_share.h>

#include "bench/balance.h"
#include "bench/bench.h"
#include "bench/runner.h"
#include "ringkernels/jobs_program.h"

#define DEVICES PEALI_CRAWL_DEVICES
#define TASKS 700
#define ELEMENTS 20 /* in a task */

extern const struct peal_program peal_program_peal_jobs;

struct queues {
	const struct peali_balance_queues *what;
	uint32_t n; /* devices */
	int devices[DEVICES];
	struct peal_device_queue queue[DEVICES];
	struct peal_kernel *kernel[DEVICES];
	struct peal_link *link[DEVICES + 1];
	uint32_t n_links;
	struct peal_work_share *share;
	struct peal_endpoint *host;
	uint64_t memory; /* of the host: done and sum of each device */
	uint64_t due; /* tasks of all rounds */
};

/* Returns a word of a device in host memory: 0 for done, 1 for sum. */
static uint64_t *word(const struct queues *q, uint32_t device, int which)
{
	return (uint64_t *)(uintptr_t)q->memory + 2 * device + which;
}

static uint64_t total(const struct queues *q, int which)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < q->n; i++)
		sum += peal_load_acquire_sys(word(q, i, which));
	return sum;
}

/* ---- build --------------------------------------------------------------- */

static int make_queue(struct queues *q, uint32_t i)
{
	const struct peal_queue_options o = { .size = sizeof(o),
					      .kind = PEAL_QUEUE_WORK,
					      .max_producers = 2,
					      .max_consumers = 2,
					      .capacity = 1024,
					      .message_bytes =
						      sizeof(uint64_t) };

	q->devices[i] = (int)i;
	if (peal_device_queue_create(q->what->fixture->runtime, (int)i, &o,
				     &q->queue[i]) < 0)
		return -peali_say_error("create a queue");
	return 0;
}

static int connect(struct queues *q, uint64_t actor)
{
	struct peal_runtime *rt = q->what->fixture->runtime;

	if (peal_connect(rt, peal_endpoint_address(q->host), q->n_links, actor,
			 NULL, &q->link[q->n_links]) < 0)
		return -peali_say_error("connect an actor");
	q->n_links++;
	return 0;
}

static int spawn(struct queues *q, uint32_t i, const char *handler)
{
	struct peali_serve init = {
		.queue = q->queue[i].address,
		.done = (uintptr_t)word(q, i, 0),
		.sum = (uintptr_t)word(q, i, 1),
		.task_ns = ELEMENTS * peali_balance_speeds.element_ns[i]
	};
	const struct peal_actor_options o = {
		.size = sizeof(o),
		.init = &init,
		.init_bytes = strcmp(handler, "serve") ? 0 : sizeof(init)
	};
	uint64_t actor;

	if (peal_actor_spawn(q->kernel[i], handler, &o, &actor) < 0)
		return -peali_say_error("spawn an actor");
	return connect(q, actor);
}

static int launch(struct queues *q, uint32_t i)
{
	struct peal_kernel_options o = { .size = sizeof(o),
					 .workers = 1,
					 .lanes = q->what->fixture->lanes,
					 .max_timers = 2,
					 .mailbox.slots = 16,
					 .name = "queues" };

	if (peal_kernel_launch(q->what->fixture->runtime, (int)i,
			       &peal_program_peal_jobs, &o, &q->kernel[i]) < 0)
		return -peali_say_error("launch a kernel");
	return 0;
}

/* Begins the servers. Port 0 leads to `load`, the next ones to the servers. */
static int begin(struct queues *q)
{
	for (uint32_t i = 0; i < q->n; i++)
		if (peal_send(q->host, 1 + i, 0, NULL, 0, PEALI_FIXTURE_WAIT_NS,
			      NULL) < 0)
			return -peali_say_error("begin a server");
	return 0;
}

static int build(void *context)
{
	struct queues *q = context;
	struct peali_fixture *f = q->what->fixture;
	const struct peal_work_share_options o = { .size = sizeof(o),
						   .low = 1 };
	int failed = 0;

	q->n = f->n_devices < DEVICES ? (uint32_t)f->n_devices : DEVICES;
	if (peal_endpoint_create(f->runtime, NULL, &q->host) < 0)
		return -peali_say_error("create an endpoint");
	if (peal_memory_alloc(f->runtime, PEAL_HOST_MEMORY,
			      2 * DEVICES * sizeof(uint64_t), &q->memory) < 0)
		return -peali_say_error("allocate host memory");
	for (uint32_t i = 0; i < q->n && !failed; i++)
		failed = make_queue(q, i) || launch(q, i);
	if (failed || spawn(q, 0, "load"))
		return -1;
	for (uint32_t i = 0; i < q->n && !failed; i++)
		failed = spawn(q, i, "serve");
	if (failed)
		return -1;
	if (peal_work_share_create(f->runtime, q->devices, q->queue, q->n, &o,
				   &q->share) < 0)
		return -peali_say_error("share the queues");
	return begin(q);
}

/* ---- rounds -------------------------------------------------------------- */

/* Waits until all tasks of all rounds are done. The thread sleeps: it looks every
 * 200 us, and moves no task. Returns 0, or -1 after a time limit. */
static int wait_for_tasks(const struct queues *q)
{
	const struct timespec nap = { .tv_nsec = 200000 };
	uint64_t began = peali_bench_now_ns();

	while (total(q, 0) < q->due) {
		if ((int64_t)(peali_bench_now_ns() - began) >
		    PEALI_FIXTURE_WAIT_NS) {
			peali_say("%llu of %llu tasks are done",
				  (unsigned long long)total(q, 0),
				  (unsigned long long)q->due);
			return -1;
		}
		nanosleep(&nap, NULL);
	}
	return 0;
}

static int run_round(void *context, struct peali_samples *ours,
		     struct peali_samples *peer)
{
	struct queues *q = context;
	struct peali_load load = { q->queue[0].address, TASKS };
	uint64_t sum = total(q, 1), began = peali_bench_now_ns();
	double ideal = peali_balance_ideal_ns(TASKS * ELEMENTS, q->n), ns;

	q->due += TASKS;
	if (peal_send(q->host, 0, 0, &load, sizeof(load), PEALI_FIXTURE_WAIT_NS,
		      NULL) < 0)
		return -peali_say_error("send tasks");
	if (wait_for_tasks(q))
		return -1;
	ns = (double)(peali_bench_now_ns() - began);
	sum = total(q, 1) - sum;
	if (total(q, 0) != q->due || sum != TASKS * (TASKS + 1ull) / 2) {
		peali_say("the tasks have the sum %llu",
			  (unsigned long long)sum);
		return -1;
	}
	peali_samples_add(ours, ns);
	peali_samples_add(peer, ideal);
	peali_samples_close(peer, 0, ideal / ns);
	peali_samples_close(ours, 0, NAN);
	return 0;
}

/* Returns the number of devices that have done tasks. */
static uint32_t active(const struct queues *q)
{
	uint32_t i, n = 0;

	for (i = 0; i < q->n; i++)
		n += peal_load_relaxed_sys(word(q, i, 0)) != 0;
	return n;
}

/* Returns the largest part of a device's tasks that its speed does not explain. */
static double imbalance(const struct queues *q)
{
	double all = 0, most = 0, part;

	for (uint32_t i = 0; i < q->n; i++)
		all += 1 / (double)peali_balance_speeds.element_ns[i];
	for (uint32_t i = 0; i < q->n; i++) {
		part = (double)peal_load_relaxed_sys(word(q, i, 0)) *
		       (double)peali_balance_speeds.element_ns[i] * all /
		       (double)q->due;
		most = part > most ? part : most;
	}
	return most;
}

static void fill(void *context, const struct peali_samples *ours,
		 const struct peali_samples *peer)
{
	struct queues *q = context;
	json_t *cells = peali_report_row(q->what->report, "queues");

	peali_row_uint(cells, "devices", q->n);
	peali_row_uint(cells, "elements", TASKS * ELEMENTS);
	peali_row_text(cells, "timed_by", "host");
	peali_fixture_cells(q->what->fixture, 1, cells);
	peali_samples_row_durations(ours, cells, "finish_ns");
	peali_row_uint(cells, "n_active", active(q));
	peali_row_uint(cells, "tasks", TASKS);
	peali_row_real(cells, "imbalance", imbalance(q));
	peali_row_uint(cells, "threshold", 0);
	peali_row_real(cells, "versus_ns_p50",
		       peali_samples_spread(peer).median);
	peali_samples_row_versus(peer, cells, "all through at once", NULL);
}

/* ---- end ----------------------------------------------------------------- */

static int take_down(void *context)
{
	struct queues *q = context;
	struct peal_runtime *rt = q->what->fixture->runtime;
	int failed = 0;

	if (peal_work_share_destroy(q->share) < 0)
		failed = peali_say_error("end the share");
	for (uint32_t i = 0; i < q->n; i++)
		if (q->kernel[i] &&
		    peal_kernel_stop(q->kernel[i], PEALI_FIXTURE_WAIT_NS) < 0)
			failed = peali_say_error("stop a kernel");
	while (q->n_links)
		if (peal_link_destroy(q->link[--q->n_links]) < 0)
			failed = peali_say_error("destroy a link");
	for (uint32_t i = 0; i < q->n; i++) {
		if (peal_kernel_destroy(q->kernel[i]) < 0)
			failed = peali_say_error("destroy a kernel");
		if (q->queue[i].address &&
		    peal_memory_free(rt, (int)i, q->queue[i].address) < 0)
			failed = peali_say_error("free a queue");
	}
	peal_endpoint_destroy(q->host);
	if (q->memory && peal_memory_free(rt, PEAL_HOST_MEMORY, q->memory) < 0)
		failed = peali_say_error("free memory");
	return failed ? -1 : 0;
}

int peali_balance_queues(const struct peali_balance_queues *what)
{
	struct queues q = { .what = what };
	const struct peali_runner_row runner = {
		.benchmark = "balance",
		.label = "queues",
		.options = what->options,
		.fixture = what->fixture,
		.for_ns = what->for_ns,
		.bytes = 4,
		.alone = what->alone,
		.build = build,
		.round = run_round,
		.fill = fill,
		.close = take_down,
		.context = &q,
	};

	return peali_runner_row(&runner);
}
