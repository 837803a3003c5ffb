/* SPDX-License-Identifier: Apache-2.0 */
/* A load on the memory of a device: see bench/load.h. */
#include <sched.h>
#include <string.h>

#include <peal/device/atomic.h>
#include <peal/memory.h>

#include "bench/load.h"

#define LANES 512
#define MEMBER_BYTES (2u << 20) /* of each of two buffers */
#define EMULATED_BYTES (1u << 20)

/* Returns a worker for each multiprocessor, but for the spare ones. */
static uint32_t members_of(const struct peali_fixture *fixture)
{
	struct peal_device_info info;

	if (fixture->emulated ||
	    peal_device_info(fixture->runtime, 0, &info) < 0 ||
	    info.compute_units <= PEALI_LOAD_SPARE)
		return 1;
	info.compute_units -= PEALI_LOAD_SPARE;
	return info.compute_units < PEALI_CROWD_MOST ? info.compute_units :
						       PEALI_CROWD_MOST;
}

int peali_load_build(struct peali_load *load, struct peali_fixture *fixture)
{
	uint32_t members = members_of(fixture);
	uint32_t lanes = fixture->lanes;
	int result;

	memset(load, 0, sizeof(*load));
	load->crowd.fixture = fixture;
	load->bytes = fixture->emulated ? EMULATED_BYTES : MEMBER_BYTES;
	if (peal_memory_alloc(fixture->runtime, 0, members * load->bytes,
			      &load->from) < 0 ||
	    peal_memory_alloc(fixture->runtime, 0, members * load->bytes,
			      &load->to) < 0)
		return -peali_say_error("allocate memory for copies");
	result = peali_crowd_build(&load->crowd, fixture, "copier", members,
				   fixture->emulated ? 1 : LANES);
	fixture->lanes = lanes;
	return result;
}

int peali_load_begin(struct peali_load *load)
{
	uint64_t until = peali_bench_now_ns() + PEALI_FIXTURE_WAIT_NS;
	const struct peali_crowd *crowd = &load->crowd;

	memset(&load->start, 0, sizeof(load->start));
	load->start.mask = load->from;
	load->start.messages = load->to;
	load->start.budget_ns = load->bytes;
	if (peali_crowd_begin(crowd, &load->start))
		return -1;
	for (uint32_t i = 0; i < crowd->n; i++)
		while (peal_load_acquire_sys(&crowd->lines[i].done) !=
		       load->start.seed) {
			if (peali_bench_now_ns() > until) {
				peali_say("%u workers did not begin to copy",
					  crowd->n);
				return -1;
			}
			sched_yield();
		}
	return 0;
}

double peali_load_end(struct peali_load *load)
{
	const struct peali_crowd *crowd = &load->crowd;
	struct peali_crowd_total t;

	peal_store_release_sys(&crowd->lines[crowd->n].stop, load->start.seed);
	if (peali_crowd_wait(crowd, &load->start))
		return -1;
	t = peali_crowd_add(crowd->lines, crowd->n);
	if (!t.wrong)
		return 2 * (double)t.messages / (double)(t.elapsed_ns + 1);
	peali_say("%llu copied words are wrong", (unsigned long long)t.wrong);
	return -1;
}

int peali_load_free(struct peali_load *load)
{
	struct peali_fixture *fixture = load->crowd.fixture;
	int failed = 0;

	if (load->from && peal_memory_free(fixture->runtime, 0, load->from) < 0)
		failed = peali_say_error("free memory of copies");
	if (load->to && peal_memory_free(fixture->runtime, 0, load->to) < 0)
		failed = peali_say_error("free memory of copies");
	return failed ? -1 : 0;
}
