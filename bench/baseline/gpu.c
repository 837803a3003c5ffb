/* SPDX-License-Identifier: Apache-2.0 */
/* Baseline kernels on GPUs: see bench/baseline/gpu.h. */
#include <stdlib.h>
#include <string.h>

#include <peal/device/impl/base/host_support.h>
#include <peal/memory.h>
#include <peal/peer.h>
#include "bench/baseline/gpu.h"

#include "runtime/runtime.h"

/* time after which a round's kernels end by themselves */
#define LIMIT_NS 5000000000u
#define SLACK_NS 5000000000u

extern const struct peal_program peal_program_peal_baseline;

int peali_baseline_load(struct peal_runtime *runtime)
{
	const struct peali_devices *devices = &runtime->devices;

	for (int i = 0; i < devices->n; i++) {
		struct peali_backend *backend = devices->device[i].backend;

		if (backend->ops->load(backend, devices->device[i].local,
				       &peal_program_peal_baseline) < 0)
			return -peali_say_error("load the baseline program");
	}
	return 0;
}

/* Returns the calls of a side's backend. */
static const struct peali_backend_ops *
ops_of(const struct peali_baseline *baseline, uint32_t side)
{
	return baseline->runtime->devices.device[baseline->worker[side].device]
		.backend->ops;
}

/* ---- memory -------------------------------------------------------------- */

static int take(struct peali_baseline *baseline, int device, uint64_t bytes,
		uint64_t *address_out)
{
	if (peal_memory_alloc(baseline->runtime, device, bytes, address_out) ==
	    0)
		return 0;
	return -peali_say_error("allocate memory for a baseline");
}

static void give(const struct peali_baseline *baseline, int device,
		 uint64_t address)
{
	if (address && peal_memory_free(baseline->runtime, device, address) < 0)
		peali_say_error("free the memory of a baseline");
}

/* Returns the device of a side's area, or PEAL_HOST_MEMORY. */
static int memory_of(const struct peali_baseline *baseline, uint32_t side)
{
	return baseline->memory == PEAL_HOST_MEMORY ?
		       PEAL_HOST_MEMORY :
		       baseline->worker[side].device;
}

/* Returns the first side on the device of a side. */
static uint32_t first_of(const struct peali_baseline *baseline, uint32_t side)
{
	uint32_t i = 0;

	while (baseline->worker[i].device != baseline->worker[side].device)
		i++;
	return i;
}

/*
 * Makes the area of side `owner` the target of a side. Maps it if the sides are
 * on different devices.
 */
static int see(struct peali_baseline *baseline, uint32_t side, uint32_t owner)
{
	struct peali_baseline_worker *p = baseline->worker + side;
	const struct peali_baseline_worker *o = baseline->worker + owner;

	p->out = o->in;
	if (p->device == o->device || baseline->memory == PEAL_HOST_MEMORY)
		return 0;
	baseline->across = 1;
	if (peal_peer_map(baseline->runtime, o->device, o->in, p->device,
			  baseline->area_bytes, -1, &p->mapped) < 0)
		return -peali_say_error("map the memory of a baseline");
	p->out = p->mapped;
	return 0;
}

/* Allocates the memory of a side. Returns 0 or -1. */
static int take_side(struct peali_baseline *baseline, uint32_t i,
		     struct peali_fixture_worker side)
{
	struct peali_baseline_worker *p = baseline->worker + i;

	p->device = side.device;
	p->worker = side.worker;
	if (take(baseline, p->device, baseline->work_bytes, &p->work) ||
	    take(baseline, memory_of(baseline, i), baseline->area_bytes,
		 &p->in))
		return -1;
	if (first_of(baseline, i) != i)
		return 0;
	return take(baseline, p->device,
		    sizeof(struct peali_baseline_params) +
			    PEALI_BASELINE_SIDES *
				    sizeof(struct peali_baseline_side),
		    baseline->params + i);
}

static void begin_open(struct peali_baseline *baseline,
		       const struct peali_fixture *fixture, uint32_t n_sides)
{
	baseline->runtime = fixture->runtime;
	baseline->n_sides = n_sides;
	baseline->lanes = fixture->lanes ? fixture->lanes : 1;
}

int peali_baseline_open(struct peali_baseline *baseline,
			const struct peali_fixture *fixture,
			const struct peali_fixture_worker *sides,
			uint32_t n_sides, int in_host, int shared)
{
	int failed = 0;

	begin_open(baseline, fixture, n_sides);
	baseline->area_bytes = PEALI_BASELINE_AREA_BYTES;
	baseline->work_bytes = PEALI_BASELINE_WORK_BYTES;
	baseline->memory = in_host ? PEAL_HOST_MEMORY : 0;
	baseline->across = in_host;
	failed = take(baseline, PEAL_HOST_MEMORY,
		      n_sides * sizeof(struct peal_bell), &baseline->bells);
	for (uint32_t i = 0; i < n_sides && !failed; i++)
		failed = take_side(baseline, i, sides[i]);
	for (uint32_t i = 0; i < n_sides && !failed; i++)
		failed = see(baseline, i, shared || n_sides == 1 ? 0 : !i);
	return failed ? -1 : 0;
}

int peali_baseline_open_crowd(struct peali_baseline *baseline,
			      const struct peali_fixture *fixture,
			      uint32_t workers, uint32_t slots)
{
	const struct peali_fixture_worker side = { 0, 0 };

	begin_open(baseline, fixture, 1);
	baseline->crowd = workers;
	baseline->area_bytes =
		PEALI_BASELINE_QUEUE_AT +
		(uint64_t)slots * sizeof(struct peali_baseline_slot);
	baseline->work_bytes = workers * sizeof(struct peali_baseline_member);
	if (take(baseline, PEAL_HOST_MEMORY, workers * sizeof(struct peal_bell),
		 &baseline->bells) ||
	    take_side(baseline, 0, side))
		return -1;
	return see(baseline, 0, 0);
}

void peali_baseline_close(struct peali_baseline *baseline)
{
	if (baseline->recorded &&
	    ops_of(baseline, 0)->launch_free(baseline->recorded) < 0)
		peali_say_error("free the recorded launch of a baseline");
	for (uint32_t i = 0; i < baseline->n_sides; i++) {
		const struct peali_baseline_worker *p = baseline->worker + i;

		if (p->mapped && peal_peer_unmap(baseline->runtime, p->device,
						 p->mapped, -1) < 0)
			peali_say_error("unmap the memory of a baseline");
	}
	for (uint32_t i = 0; i < baseline->n_sides; i++) {
		const struct peali_baseline_worker *p = baseline->worker + i;

		give(baseline, p->device, p->work);
		give(baseline, memory_of(baseline, i), p->in);
		give(baseline, p->device, baseline->params[i]);
	}
	if (baseline->n_sides)
		give(baseline, PEAL_HOST_MEMORY, baseline->bells);
	memset(baseline, 0, sizeof(*baseline));
}

static int copy_to(const struct peali_baseline *baseline, int device,
		   uint64_t address, const void *from, uint64_t bytes)
{
	if (peal_peer_copy(baseline->runtime, device, address, PEAL_HOST_MEMORY,
			   (uint64_t)(uintptr_t)from, bytes) == 0)
		return 0;
	return -peali_say_error("write the memory of a baseline");
}

static int clear(const struct peali_baseline *baseline, int device,
		 uint64_t address, uint64_t bytes)
{
	static const uint8_t zero[PEALI_BASELINE_AREA_BYTES];
	uint64_t at, n;

	for (at = 0; at < bytes; at += n) {
		n = bytes - at < sizeof(zero) ? bytes - at : sizeof(zero);
		if (copy_to(baseline, device, address + at, zero, n))
			return -1;
	}
	return 0;
}

/* Clears the memory of the last round. */
static int wipe(const struct peali_baseline *baseline)
{
	int failed = 0;

	for (uint32_t i = 0; i < baseline->n_sides && !failed; i++) {
		const struct peali_baseline_worker *p = baseline->worker + i;

		failed = clear(baseline, p->device, p->work,
			       baseline->work_bytes) ||
			 clear(baseline, memory_of(baseline, i), p->in,
			       baseline->area_bytes);
	}
	return failed;
}

/* ---- launching ----------------------------------------------------------- */

static uint32_t lanes_of(const struct peali_baseline *baseline,
			 const struct peali_baseline_order *order)
{
	return order->lanes ? order->lanes : baseline->lanes;
}

static void fill_side(const struct peali_baseline *baseline, uint32_t i,
		      const struct peali_baseline_order *order, uint64_t seed,
		      struct peali_baseline_side *side)
{
	const struct peali_baseline_worker *p = baseline->worker + i;
	struct peal_bell *bell = (struct peal_bell *)(uintptr_t)baseline->bells;

	for (uint32_t k = i; k <= i || k < baseline->crowd; k++) {
		memset(bell + k, 0, sizeof(*bell));
		bell[k].max_sleep_us = 1000;
	}
	memset(side, 0, sizeof(*side));
	side->seed = seed;
	side->messages = order->messages;
	side->budget_ns = order->budget_ns;
	side->limit_ns = LIMIT_NS;
	side->in = p->in;
	side->out = p->out;
	side->work = p->work;
	side->bell = (uint64_t)(uintptr_t)(bell + i);
	side->job = order->job;
	side->role = i;
	side->bytes = order->bytes;
	side->batch = order->batch;
	side->warm = order->warm;
	side->samples = order->samples;
	side->slots = order->slots;
	side->participants = baseline->crowd ? baseline->crowd :
					       baseline->n_sides;
	side->lanes = lanes_of(baseline, order);
	side->across = (uint32_t)baseline->across;
}

/*
 * Writes the parameters of all sides on the device of side `first`. Returns the
 * number of these sides, or -1.
 */
static int send_params(const struct peali_baseline *baseline, uint32_t first,
		       const struct peali_baseline_order *order, uint64_t seed)
{
	struct {
		struct peali_baseline_params head;
		struct peali_baseline_side side[PEALI_BASELINE_SIDES];
	} image = { .head.magic = PEALI_BASELINE_MAGIC,
		    .head.is_crowd = baseline->crowd != 0 };
	int n = 0;

	for (uint32_t i = first; i < baseline->n_sides; i++) {
		if (baseline->worker[i].device !=
		    baseline->worker[first].device)
			continue;
		fill_side(baseline, i, order, seed,
			  image.side + baseline->worker[i].worker);
		n++;
	}
	if (copy_to(baseline, baseline->worker[first].device,
		    baseline->params[first], &image, sizeof(image)))
		return -1;
	return baseline->crowd ? (int)baseline->crowd : n;
}

static int launch(const struct peali_baseline *baseline, uint32_t first,
		  uint32_t n_workers, uint32_t lanes, int recorded,
		  struct peali_launch **out)
{
	const struct peali_device *d = baseline->runtime->devices.device +
				       baseline->worker[first].device;
	const struct peali_launch_desc desc = {
		.device = d->local,
		.program = &peal_program_peal_baseline,
		.params = baseline->params[first],
		.n_workers = n_workers,
		.lanes = lanes,
		.recorded = recorded,
	};
	int result = d->backend->ops->launch(d->backend, &desc, out);

	if (!result || (recorded && result == PEAL_ENOTSUP))
		return 0;
	return -peali_say_error("launch a baseline");
}

/*
 * Polls until a kernel has ended, because launch_wait would notice it later.
 * Returns 0 or -1.
 */
static int await_end(const struct peali_baseline *baseline, uint32_t first,
		     struct peali_launch *kernel)
{
	const struct peali_backend_ops *ops = ops_of(baseline, first);
	uint64_t until = peali_bench_now_ns() + LIMIT_NS + SLACK_NS;

	while (ops->launch_query(kernel) > 0 && peali_bench_now_ns() < until)
		peal_pause();
	if (ops->launch_wait(kernel, 0) == 0)
		return 0;
	return -peali_say_error("wait for a baseline");
}

static int finish(const struct peali_baseline *baseline, uint32_t first,
		  struct peali_launch *kernel)
{
	if (await_end(baseline, first, kernel))
		return -1;
	if (ops_of(baseline, first)->launch_free(kernel) == 0)
		return 0;
	return -peali_say_error("free the launch of a baseline");
}

static int run_kernels(const struct peali_baseline *baseline,
		       const struct peali_baseline_order *order)
{
	struct peali_launch *kernels[PEALI_BASELINE_SIDES] = { NULL };
	uint64_t seed = peali_bench_seed();
	int failed = 0;

	/*
	 * Launch the answering sides first: they are resident when side 0
	 * starts.
	 */
	for (uint32_t i = baseline->n_sides; i-- > 0 && !failed;) {
		int n;

		if (first_of(baseline, i) != i)
			continue;
		n = send_params(baseline, i, order, seed);
		failed = n < 0 ||
			 launch(baseline, i, (uint32_t)n,
				lanes_of(baseline, order), 0, kernels + i);
	}
	for (uint32_t i = 0; i < baseline->n_sides; i++)
		if (kernels[i] && finish(baseline, i, kernels[i]))
			failed = 1;
	return failed;
}

int peali_baseline_run(struct peali_baseline *baseline,
		       const struct peali_baseline_order *order,
		       struct peali_baseline_reports *reports_out)
{
	if (wipe(baseline) || run_kernels(baseline, order))
		return -1;
	for (uint32_t i = 0; i < baseline->n_sides; i++) {
		const struct peali_baseline_worker *p = baseline->worker + i;
		struct peali_baseline_report *report = reports_out->side + i;

		if (peal_peer_copy(baseline->runtime, PEAL_HOST_MEMORY,
				   (uint64_t)(uintptr_t)report, p->device,
				   p->work + PEALI_BASELINE_REPORT_AT,
				   sizeof(*report)) < 0) {
			peali_say_error("read the report of a baseline");
			return -1;
		}
		if (!report->head.wrong)
			continue;
		peali_say("side %u of a baseline (job %d): %llu of %llu "
			  "messages were wrong or missing",
			  i, (int)order->job,
			  (unsigned long long)report->head.wrong,
			  (unsigned long long)report->head.messages);
		return -1;
	}
	return 0;
}

int peali_baseline_run_crowd(struct peali_baseline *baseline,
			     const struct peali_baseline_order *order,
			     struct peali_crowd_line *lines_out)
{
	static struct peali_baseline_member members[PEALI_CROWD_MOST];
	const struct peali_baseline_worker *p = baseline->worker;

	if (wipe(baseline) || run_kernels(baseline, order))
		return -1;
	if (peal_peer_copy(baseline->runtime, PEAL_HOST_MEMORY,
			   (uint64_t)(uintptr_t)members, p->device, p->work,
			   baseline->work_bytes) < 0)
		return -peali_say_error("read the lines of a baseline");
	for (uint32_t i = 0; i < baseline->crowd; i++)
		lines_out[i] = members[i].line;
	return 0;
}

/* ---- a launch per message ------------------------------------------------ */

/*
 * Sends a message. A launch handles it, or a replay of the recorded launch.
 * Returns ns by the host's clock, or a negative value after an error.
 */
static double send_by(struct peali_baseline *baseline, uint32_t bytes,
		      struct peali_launch *recorded)
{
	const struct peali_baseline_order order = {
		.job = PEALI_BASELINE_SUM,
		.bytes = bytes,
	};
	uint64_t *words = (uint64_t *)(uintptr_t)(baseline->worker[0].in +
						  PEALI_BASELINE_SLOTS_AT);
	uint64_t seed = peali_bench_seed();
	struct peali_launch *kernel = recorded;
	uint64_t began;
	int failed;

	/*
	 * The parameters are equal for all messages, so their copy is not
	 * timed.
	 */
	if (send_params(baseline, 0, &order, seed) < 0)
		return -1;
	began = peali_bench_now_ns();
	for (uint32_t i = 0; i < bytes / 8; i++) {
		words[i] = seed + i;
		baseline->expected += words[i] * (2 * (uint64_t)i + 1);
	}
	if (recorded)
		failed = ops_of(baseline, 0)->launch_again(recorded) < 0 ?
				 -peali_say_error("replay a baseline") :
				 await_end(baseline, 0, recorded);
	else
		failed = launch(baseline, 0, 1, baseline->lanes, 0, &kernel) ||
			 finish(baseline, 0, kernel);
	return failed ? -1 : (double)(peali_bench_now_ns() - began);
}

double peali_baseline_launch(struct peali_baseline *baseline, uint32_t bytes)
{
	return send_by(baseline, bytes, NULL);
}

int peali_baseline_record(struct peali_baseline *baseline)
{
	return launch(baseline, 0, 1, baseline->lanes, 1, &baseline->recorded);
}

double peali_baseline_replay(struct peali_baseline *baseline, uint32_t bytes)
{
	return send_by(baseline, bytes, baseline->recorded);
}

int peali_baseline_check(struct peali_baseline *baseline)
{
	const struct peali_baseline_worker *p = baseline->worker;
	struct peali_bench_report head = { 0 };
	const struct peali_bench_report none = { 0 };
	uint64_t at = p->work + PEALI_BASELINE_REPORT_AT;
	int fine;

	if (peal_peer_copy(baseline->runtime, PEAL_HOST_MEMORY,
			   (uint64_t)(uintptr_t)&head, p->device, at,
			   sizeof(head)) < 0)
		return -peali_say_error("read the sum of a baseline");
	fine = head.elapsed_ns == baseline->expected;
	baseline->expected = 0;
	if (!fine)
		peali_say("launches computed a wrong sum of the payloads");
	return !fine || copy_to(baseline, p->device, at, &none, sizeof(none)) ?
		       -1 :
		       0;
}

/* ---- a launch per task --------------------------------------------------- */

int peali_baseline_open_tasks(struct peali_baseline *baseline, uint64_t task_ns,
			      uint32_t n)
{
	const struct peali_baseline_order order = {
		.job = PEALI_BASELINE_STEP,
		.budget_ns = task_ns,
	};

	if (wipe(baseline) || send_params(baseline, 0, &order, 0) < 0)
		return -1;
	baseline->chain = n;
	if (!ops_of(baseline, 0)->launch_again)
		return 0;
	return launch(baseline, 0, 1, baseline->lanes, (int)n,
		      &baseline->recorded);
}

/* Checks that n more tasks have counted themselves. Returns 0 or -1. */
static int check_tasks(struct peali_baseline *baseline, uint32_t n)
{
	const struct peali_baseline_worker *p = baseline->worker;
	uint64_t count = 0;

	baseline->expected += n;
	if (peal_peer_copy(baseline->runtime, PEAL_HOST_MEMORY,
			   (uint64_t)(uintptr_t)&count, memory_of(baseline, 0),
			   p->in + PEALI_BASELINE_FLAG_AT, sizeof(count)) < 0)
		return -peali_say_error("read the count of a baseline's tasks");
	if (count == baseline->expected)
		return 0;
	peali_say("%llu tasks of a baseline ran, not %llu",
		  (unsigned long long)count,
		  (unsigned long long)baseline->expected);
	return -1;
}

double peali_baseline_launch_tasks(struct peali_baseline *baseline, uint32_t n)
{
	uint64_t began = peali_bench_now_ns();
	struct peali_launch *kernel = NULL;
	double ns;

	for (uint32_t i = 0; i < n; i++)
		if (launch(baseline, 0, 1, baseline->lanes, 0, &kernel) ||
		    finish(baseline, 0, kernel))
			return -1;
	ns = (double)(peali_bench_now_ns() - began);
	return check_tasks(baseline, n) ? -1 : ns / n;
}

double peali_baseline_replay_tasks(struct peali_baseline *baseline)
{
	uint64_t began = peali_bench_now_ns();
	double ns;

	if (ops_of(baseline, 0)->launch_again(baseline->recorded) < 0)
		return -peali_say_error("replay the tasks of a baseline");
	if (await_end(baseline, 0, baseline->recorded))
		return -1;
	ns = (double)(peali_bench_now_ns() - began);
	return check_tasks(baseline, baseline->chain) ? -1 :
							ns / baseline->chain;
}
