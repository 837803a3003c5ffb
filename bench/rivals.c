/* SPDX-License-Identifier: Apache-2.0 */
/* Baseline kernels on GPUs: see bench/rivals.h. */
#include "bench/rivals.h"

#include <stdlib.h>
#include <string.h>

#include <peal/device/host.h>

#include "runtime/runtime.h"

/* time after which a round's kernels end by themselves */
#define LIMIT_NS 5000000000u
#define SLACK_NS 5000000000u

extern const struct peal_program peal_program_peal_rivals;

int peali_rivals_load(struct peal_runtime *runtime)
{
	const struct peali_devices *devices = &runtime->devices;

	for (int i = 0; i < devices->n; i++) {
		struct peali_backend *backend = devices->device[i].backend;

		if (backend->ops->load(backend, devices->device[i].local,
				       &peal_program_peal_rivals) < 0)
			return -peali_say_error("load the rivals' program");
	}
	return 0;
}

/* Returns the calls of a side's backend. */
static const struct peali_backend_ops *ops_of(const struct peali_rivals *rivals,
					      uint32_t side)
{
	return rivals->runtime->devices.device[rivals->place[side].device]
		.backend->ops;
}

/* ---- memory -------------------------------------------------------------- */

static int take(struct peali_rivals *rivals, int device, uint64_t bytes,
		uint64_t *address_out)
{
	if (peal_memory_alloc(rivals->runtime, device, bytes, address_out) == 0)
		return 0;
	return -peali_say_error("take memory for a rival");
}

static void give(const struct peali_rivals *rivals, int device,
		 uint64_t address)
{
	if (address && peal_memory_free(rivals->runtime, device, address) < 0)
		peali_say_error("free the memory of a rival");
}

/* Returns the device of a side's area, or PEAL_HOST_MEMORY. */
static int memory_of(const struct peali_rivals *rivals, uint32_t side)
{
	return rivals->memory == PEAL_HOST_MEMORY ? PEAL_HOST_MEMORY :
						    rivals->place[side].device;
}

/* Returns the first side on the device of a side. */
static uint32_t first_of(const struct peali_rivals *rivals, uint32_t side)
{
	uint32_t i = 0;

	while (rivals->place[i].device != rivals->place[side].device)
		i++;
	return i;
}

/*
 * Makes the area of side `owner` the target of a side. Maps it if the sides are
 * on different devices.
 */
static int see(struct peali_rivals *rivals, uint32_t side, uint32_t owner)
{
	struct peali_rival_place *p = rivals->place + side;
	const struct peali_rival_place *o = rivals->place + owner;

	p->out = o->in;
	if (p->device == o->device || rivals->memory == PEAL_HOST_MEMORY)
		return 0;
	rivals->across = 1;
	if (peal_peer_map(rivals->runtime, o->device, o->in, p->device,
			  PEALI_RIVAL_AREA_BYTES, &p->mapped) < 0)
		return -peali_say_error("map the memory of a rival");
	p->out = p->mapped;
	return 0;
}

int peali_rivals_open(struct peali_rivals *rivals,
		      const struct peali_stand *stand,
		      const struct peali_seat *seats, uint32_t n_sides,
		      int in_host, int shared)
{
	int failed = 0;

	rivals->runtime = stand->runtime;
	rivals->n_sides = n_sides;
	rivals->lanes = stand->lanes ? stand->lanes : 1;
	rivals->memory = in_host ? PEAL_HOST_MEMORY : 0;
	rivals->across = in_host;
	failed = take(rivals, PEAL_HOST_MEMORY,
		      n_sides * sizeof(struct peal_bell), &rivals->bells);
	for (uint32_t i = 0; i < n_sides && !failed; i++) {
		struct peali_rival_place *p = rivals->place + i;

		p->device = seats[i].device;
		p->worker = seats[i].worker;
		failed = take(rivals, p->device, PEALI_RIVAL_WORK_BYTES,
			      &p->work) ||
			 take(rivals, memory_of(rivals, i),
			      PEALI_RIVAL_AREA_BYTES, &p->in);
		if (!failed && first_of(rivals, i) == i)
			failed = take(
				rivals, p->device,
				sizeof(struct peali_rival_params) +
					PEALI_RIVALS_SIDES *
						sizeof(struct peali_rival_side),
				rivals->params + i);
	}
	for (uint32_t i = 0; i < n_sides && !failed; i++)
		failed = see(rivals, i, shared || n_sides == 1 ? 0 : !i);
	return failed ? -1 : 0;
}

void peali_rivals_close(struct peali_rivals *rivals)
{
	if (rivals->recorded &&
	    ops_of(rivals, 0)->launch_free(rivals->recorded) < 0)
		peali_say_error("free the recorded launch of a rival");
	for (uint32_t i = 0; i < rivals->n_sides; i++) {
		const struct peali_rival_place *p = rivals->place + i;

		if (p->mapped &&
		    peal_peer_unmap(rivals->runtime, p->device, p->mapped) < 0)
			peali_say_error("unmap the memory of a rival");
	}
	for (uint32_t i = 0; i < rivals->n_sides; i++) {
		const struct peali_rival_place *p = rivals->place + i;

		give(rivals, p->device, p->work);
		give(rivals, memory_of(rivals, i), p->in);
		give(rivals, p->device, rivals->params[i]);
	}
	if (rivals->n_sides)
		give(rivals, PEAL_HOST_MEMORY, rivals->bells);
	memset(rivals, 0, sizeof(*rivals));
}

static int copy_to(const struct peali_rivals *rivals, int device,
		   uint64_t address, const void *from, uint64_t bytes)
{
	if (peal_peer_copy(rivals->runtime, device, address, PEAL_HOST_MEMORY,
			   (uint64_t)(uintptr_t)from, bytes) == 0)
		return 0;
	return -peali_say_error("write the memory of a rival");
}

/* Clears the memory of the last round. */
static int wipe(const struct peali_rivals *rivals)
{
	static const uint8_t zero[PEALI_RIVAL_AREA_BYTES];
	int failed = 0;

	for (uint32_t i = 0; i < rivals->n_sides && !failed; i++) {
		const struct peali_rival_place *p = rivals->place + i;

		failed = copy_to(rivals, p->device, p->work, zero,
				 PEALI_RIVAL_WORK_BYTES) ||
			 copy_to(rivals, memory_of(rivals, i), p->in, zero,
				 PEALI_RIVAL_AREA_BYTES);
	}
	return failed;
}

/* ---- launching ----------------------------------------------------------- */

static uint32_t lanes_of(const struct peali_rivals *rivals,
			 const struct peali_rival_order *order)
{
	return order->lanes ? order->lanes : rivals->lanes;
}

static void fill_side(const struct peali_rivals *rivals, uint32_t i,
		      const struct peali_rival_order *order, uint64_t seed,
		      struct peali_rival_side *side)
{
	const struct peali_rival_place *p = rivals->place + i;
	struct peal_bell *bell = (struct peal_bell *)(uintptr_t)rivals->bells;

	memset(bell + i, 0, sizeof(*bell));
	bell[i].max_sleep_us = 1000;
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
	side->participants = rivals->n_sides;
	side->lanes = lanes_of(rivals, order);
	side->across = (uint32_t)rivals->across;
}

/*
 * Writes the parameters of all sides on the device of side `first`. Returns the
 * number of these sides, or -1.
 */
static int send_params(const struct peali_rivals *rivals, uint32_t first,
		       const struct peali_rival_order *order, uint64_t seed)
{
	struct {
		struct peali_rival_params head;
		struct peali_rival_side side[PEALI_RIVALS_SIDES];
	} image = { .head.magic = PEALI_RIVALS_MAGIC };
	int n = 0;

	for (uint32_t i = first; i < rivals->n_sides; i++) {
		if (rivals->place[i].device != rivals->place[first].device)
			continue;
		fill_side(rivals, i, order, seed,
			  image.side + rivals->place[i].worker);
		n++;
	}
	return copy_to(rivals, rivals->place[first].device,
		       rivals->params[first], &image, sizeof(image)) ?
		       -1 :
		       n;
}

static int launch(const struct peali_rivals *rivals, uint32_t first,
		  uint32_t n_workers, uint32_t lanes, int recorded,
		  struct peali_launch **out)
{
	const struct peali_device *d =
		rivals->runtime->devices.device + rivals->place[first].device;
	const struct peali_launch_desc desc = {
		.device = d->local,
		.program = &peal_program_peal_rivals,
		.params = rivals->params[first],
		.n_workers = n_workers,
		.lanes = lanes,
		.recorded = recorded,
	};
	int result = d->backend->ops->launch(d->backend, &desc, out);

	if (!result || (recorded && result == PEAL_ENOTSUP))
		return 0;
	return -peali_say_error("launch a rival");
}

/*
 * Polls until a kernel has ended, because launch_wait would notice it later.
 * Returns 0 or -1.
 */
static int await_end(const struct peali_rivals *rivals, uint32_t first,
		     struct peali_launch *kernel)
{
	const struct peali_backend_ops *ops = ops_of(rivals, first);
	uint64_t until = peali_bench_now_ns() + LIMIT_NS + SLACK_NS;

	while (ops->launch_query(kernel) > 0 && peali_bench_now_ns() < until)
		peal_pause();
	if (ops->launch_wait(kernel, 0) == 0)
		return 0;
	return -peali_say_error("wait for a rival");
}

static int finish(const struct peali_rivals *rivals, uint32_t first,
		  struct peali_launch *kernel)
{
	if (await_end(rivals, first, kernel))
		return -1;
	if (ops_of(rivals, first)->launch_free(kernel) == 0)
		return 0;
	return -peali_say_error("free the launch of a rival");
}

static int run_kernels(const struct peali_rivals *rivals,
		       const struct peali_rival_order *order)
{
	struct peali_launch *kernels[PEALI_RIVALS_SIDES] = { NULL };
	uint64_t seed = peali_bench_seed();
	int failed = 0;

	/*
	 * Launch the answering sides first: they are resident when side 0
	 * starts.
	 */
	for (uint32_t i = rivals->n_sides; i-- > 0 && !failed;) {
		int n;

		if (first_of(rivals, i) != i)
			continue;
		n = send_params(rivals, i, order, seed);
		failed = n < 0 ||
			 launch(rivals, i, (uint32_t)n, lanes_of(rivals, order),
				0, kernels + i);
	}
	for (uint32_t i = 0; i < rivals->n_sides; i++)
		if (kernels[i] && finish(rivals, i, kernels[i]))
			failed = 1;
	return failed;
}

int peali_rivals_run(struct peali_rivals *rivals,
		     const struct peali_rival_order *order,
		     struct peali_rival_reports *reports_out)
{
	if (wipe(rivals) || run_kernels(rivals, order))
		return -1;
	for (uint32_t i = 0; i < rivals->n_sides; i++) {
		const struct peali_rival_place *p = rivals->place + i;
		struct peali_rival_report *report = reports_out->side + i;

		if (peal_peer_copy(rivals->runtime, PEAL_HOST_MEMORY,
				   (uint64_t)(uintptr_t)report, p->device,
				   p->work + PEALI_RIVAL_REPORT_AT,
				   sizeof(*report)) < 0) {
			peali_say_error("read the report of a rival");
			return -1;
		}
		if (!report->head.wrong)
			continue;
		peali_say("side %u of a rival (job %d): %llu of %llu messages "
			  "were wrong or did not come",
			  i, (int)order->job,
			  (unsigned long long)report->head.wrong,
			  (unsigned long long)report->head.messages);
		return -1;
	}
	return 0;
}

/* ---- a launch per message ------------------------------------------------ */

/*
 * Sends a message. A launch handles it, or a replay of the recorded launch.
 * Returns ns by the host's clock, or a negative value after an error.
 */
static double send_by(struct peali_rivals *rivals, uint32_t bytes,
		      struct peali_launch *recorded)
{
	const struct peali_rival_order order = {
		.job = PEALI_RIVAL_SUM,
		.bytes = bytes,
	};
	uint64_t *words = (uint64_t *)(uintptr_t)(rivals->place[0].in +
						  PEALI_RIVAL_SLOTS_AT);
	uint64_t seed = peali_bench_seed();
	struct peali_launch *kernel = recorded;
	uint64_t began;
	int failed;

	/*
	 * The parameters are equal for all messages, so their copy is not
	 * timed.
	 */
	if (send_params(rivals, 0, &order, seed) < 0)
		return -1;
	began = peali_bench_now_ns();
	for (uint32_t i = 0; i < bytes / 8; i++) {
		words[i] = seed + i;
		rivals->expected += words[i] * (2 * (uint64_t)i + 1);
	}
	if (recorded)
		failed = ops_of(rivals, 0)->launch_again(recorded) < 0 ?
				 -peali_say_error("replay a rival") :
				 await_end(rivals, 0, recorded);
	else
		failed = launch(rivals, 0, 1, rivals->lanes, 0, &kernel) ||
			 finish(rivals, 0, kernel);
	return failed ? -1 : (double)(peali_bench_now_ns() - began);
}

double peali_rivals_launch(struct peali_rivals *rivals, uint32_t bytes)
{
	return send_by(rivals, bytes, NULL);
}

int peali_rivals_record(struct peali_rivals *rivals)
{
	return launch(rivals, 0, 1, rivals->lanes, 1, &rivals->recorded);
}

double peali_rivals_replay(struct peali_rivals *rivals, uint32_t bytes)
{
	return send_by(rivals, bytes, rivals->recorded);
}

int peali_rivals_check(struct peali_rivals *rivals)
{
	const struct peali_rival_place *p = rivals->place;
	struct peali_bench_report head = { 0 };
	const struct peali_bench_report none = { 0 };
	uint64_t at = p->work + PEALI_RIVAL_REPORT_AT;
	int fine;

	if (peal_peer_copy(rivals->runtime, PEAL_HOST_MEMORY,
			   (uint64_t)(uintptr_t)&head, p->device, at,
			   sizeof(head)) < 0)
		return -peali_say_error("read the sum of a rival");
	fine = head.elapsed_ns == rivals->expected;
	rivals->expected = 0;
	if (!fine)
		peali_say("launches added payloads up wrongly");
	return !fine || copy_to(rivals, p->device, at, &none, sizeof(none)) ?
		       -1 :
		       0;
}
