/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The benchmark `idle`: the cost of a runtime without work.
 *
 * - Processor time of four devices with a kernel each, after a silence. It takes
 *   half of the time.
 * - Time to wake a sleeping thread or worker: see wake_rows.c.
 * - On GPUs, where workers do not sleep: copies beside idle kernels.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include <peal/memory.h>
#include <peal/peer.h>

#include "bench/bench.h"
#include "bench/options.h"
#include "bench/report.h"
#include "bench/samples.h"
#include "bench/fixture.h"
#include "bench/wake.h"

#define DEVICES 4
#define SECONDS 4
#define SILENCE_MAX_S 1.0
#define LIMIT_PERCENT 5
#define COPY_BYTES (64u << 20)
#define COPIES 8 /* copies in a sample */
#define ROUNDS 5

static double cpu_seconds(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return (double)usage.ru_utime.tv_sec +
	       (double)usage.ru_utime.tv_usec / 1e6 +
	       (double)usage.ru_stime.tv_sec +
	       (double)usage.ru_stime.tv_usec / 1e6;
}

static void sleep_s(double s)
{
	struct timespec t = { (time_t)s,
			      (long)((s - (double)(time_t)s) * 1e9) };

	nanosleep(&t, NULL);
}

/* Returns the number of devices to use. Machines with GPUs may have fewer. */
static int devices_of(const struct peali_fixture *fixture)
{
	return fixture->n_devices < DEVICES ? fixture->n_devices : DEVICES;
}

/* Launches a kernel on each device and links the kernels to a ring. */
static int build(struct peali_fixture *fixture, uint32_t workers)
{
	uint64_t relay[DEVICES];
	int n = devices_of(fixture);

	for (int i = 0; i < n; i++) {
		int kernel = peali_fixture_launch(
			fixture, i, &peal_program_peal_bench, workers);

		relay[i] = peali_fixture_spawn(fixture, kernel, "relay", 0);
		if (!relay[i])
			return -1;
	}
	for (int i = 0; i < n; i++)
		if (peali_fixture_connect(fixture, relay[i], 0,
					  relay[(i + 1) % n], NULL) < 0)
			return -1;
	return 0;
}

/* Measures the processor time of the process and fills in a row. Short runs
 * have less silence before. */
static void measure(struct peali_report *report,
		    const struct peali_fixture *fixture, double seconds)
{
	double cpu, share, silence = fmin(seconds, SILENCE_MAX_S);
	uint64_t began;
	json_t *row;

	sleep_s(silence);
	began = peali_bench_now_ns();
	cpu = cpu_seconds();
	sleep_s(seconds);
	cpu = cpu_seconds() - cpu;
	seconds = (double)(peali_bench_now_ns() - began) / 1e9;
	share = cpu / seconds * 100;
	row = peali_report_row(report, "idle runtime");
	peali_row_uint(row, "devices", (uint64_t)devices_of(fixture));
	peali_row_uint(row, "kernels", (uint64_t)devices_of(fixture));
	peali_row_real(row, "silence_s", silence);
	peali_row_real(row, "measured_s", seconds);
	peali_row_real(row, "cpu_percent_of_one_core", share);
	peali_row_real(row, "limit_percent", LIMIT_PERCENT);
	peali_row_flag(row, "within_limit", share < LIMIT_PERCENT);
	peali_row_uint(row, "n_samples", 1);
	peali_row_null(row, "versus", "a bound, not a peer");
	peali_row_null(row, "ratio", "a bound, not a peer");
	peali_row_null(row, "ratio_min", "a bound, not a peer");
	peali_row_null(row, "ratio_max", "a bound, not a peer");
}

/* ---- copies beside idle kernels ------------------------------------------ */

/* 64 MiB twice on device 0 (source and target), and once on the host. */
struct copies {
	struct peali_fixture *fixture;
	uint64_t device[2], host;
	uint64_t seed;
};

static int copy(const struct copies *c, int to, uint64_t to_address, int from,
		uint64_t from_address)
{
	if (peal_peer_copy(c->fixture->runtime, to, to_address, from,
			   from_address, COPY_BYTES) == 0)
		return 0;
	return -peali_say_error("copy");
}

static int take_copies(struct copies *c)
{
	struct peal_runtime *runtime = c->fixture->runtime;
	uint64_t *words;

	if (peal_memory_alloc(runtime, 0, COPY_BYTES, &c->device[0]) < 0 ||
	    peal_memory_alloc(runtime, 0, COPY_BYTES, &c->device[1]) < 0 ||
	    peal_memory_alloc(runtime, PEAL_HOST_MEMORY, COPY_BYTES, &c->host) <
		    0)
		return -peali_say_error("allocate memory for copies");
	words = (uint64_t *)(uintptr_t)c->host;
	c->seed = peali_bench_seed();
	for (uint64_t i = 0; i < COPY_BYTES / 8; i++)
		words[i] = peali_bench_word(c->seed, i);
	return copy(c, 0, c->device[0], PEAL_HOST_MEMORY, c->host);
}

static void give_copies(const struct copies *c)
{
	struct peal_runtime *runtime = c->fixture->runtime;

	for (int i = 0; i < 2; i++)
		if (c->device[i])
			peal_memory_free(runtime, 0, c->device[i]);
	if (c->host)
		peal_memory_free(runtime, PEAL_HOST_MEMORY, c->host);
}

/*
 * Checks the last copy. Reads it back into the host's copy, which it
 * overwrites.
 */
static int check_copies(const struct copies *c)
{
	const uint64_t *words = (const uint64_t *)(uintptr_t)c->host;
	uint64_t wrong = 0;

	memset((void *)(uintptr_t)c->host, 0, COPY_BYTES);
	if (copy(c, PEAL_HOST_MEMORY, c->host, 0, c->device[1]))
		return -1;
	for (uint64_t i = 0; i < COPY_BYTES / 8; i++)
		wrong += words[i] != peali_bench_word(c->seed, i);
	if (wrong)
		peali_say("%llu words of a copy are wrong",
			  (unsigned long long)wrong);
	return wrong ? -1 : 0;
}

/*
 * Runs some copies to the device and verifies the last one. Returns GB/s, or a
 * negative value after an error.
 */
static double run_copies(const struct copies *c, int from_host)
{
	uint64_t began = peali_bench_now_ns();
	uint64_t ns;

	for (int i = 0; i < COPIES; i++)
		if (copy(c, 0, c->device[1], from_host ? PEAL_HOST_MEMORY : 0,
			 from_host ? c->host : c->device[0]))
			return -1;
	ns = peali_bench_now_ns() - began + 1;
	return check_copies(c) ? -1 : (double)COPIES * COPY_BYTES / (double)ns;
}

/* Returns half of the multiprocessors: one idle worker for each of them. */
static uint32_t idle_workers(struct peali_fixture *fixture)
{
	struct peal_device_info info;

	if (fixture->emulated ||
	    peal_device_info(fixture->runtime, 0, &info) < 0 ||
	    info.compute_units < 4)
		return 1;
	return info.compute_units / 2;
}

static void fill_copies(struct peali_report *report,
			struct peali_fixture *fixture, int from_host,
			const struct peali_samples samples[2])
{
	json_t *row = peali_report_row(report, from_host ? "copy to device" :
							   "copy on device");

	peali_row_uint(row, "devices", (uint64_t)devices_of(fixture));
	peali_row_uint(row, "workers", idle_workers(fixture));
	peali_row_uint(row, "copy_bytes", COPY_BYTES);
	peali_row_text(row, "timed_by", "host");
	peali_fixture_cells(fixture, 0, row);
	peali_samples_row_rates(samples + 1, row, "gigabytes_per_s");
	peali_row_real(row, "versus_gigabytes_per_s",
		       peali_samples_spread(samples).median);
	peali_samples_row_versus(samples + 1, row, "the same copy alone", NULL);
}

/*
 * Runs copies in both directions alone, then beside idle kernels. Adds samples
 * [direction][0] and [direction][1]. Returns 0 or -1.
 */
static int round_of_copies(struct copies *c, struct peali_samples samples[2][2])
{
	double rate[2][2];
	int result = 0;

	for (int beside = 0; beside < 2 && !result; beside++) {
		if (beside)
			result = build(c->fixture, idle_workers(c->fixture));
		for (int from_host = 0; from_host < 2 && !result; from_host++) {
			rate[from_host][beside] = run_copies(c, from_host);
			result = rate[from_host][beside] < 0 ? -1 : 0;
		}
	}
	if (peali_fixture_clear(c->fixture) || result)
		return -1;
	for (int from_host = 0; from_host < 2; from_host++)
		for (int beside = 0; beside < 2; beside++) {
			const double *pair = rate[from_host];

			peali_samples_add(samples[from_host] + beside,
					  pair[beside]);
			peali_samples_close(samples[from_host] + beside, 0,
					    beside ? pair[1] / pair[0] : NAN);
		}
	return 0;
}

static int measure_copies(struct peali_report *report,
			  struct peali_fixture *fixture)
{
	struct peali_samples samples[2][2] = { 0 };
	struct copies c = { .fixture = fixture };
	int result;

	peali_fixture_fit_lanes(fixture, PEALI_BENCH_BYTES);
	result = take_copies(&c);
	for (int i = 0; i < ROUNDS && !result; i++)
		result = round_of_copies(&c, samples);
	for (int i = 0; i < 2; i++) {
		if (!result)
			fill_copies(report, fixture, i, samples[i]);
		peali_samples_fini(&samples[i][0]);
		peali_samples_fini(&samples[i][1]);
	}
	give_copies(&c);
	return result;
}

static const struct peali_column columns[] = {
	{ "subject", "subject", 0 },
	{ "devices", "devices", 0 },
	{ "measured_s", "measured", PEALI_AS_SECONDS },
	{ "cpu_percent_of_one_core", "of one core [%]", 2 },
	{ "limit_percent", "limit [%]", 0 },
	{ "within_limit", "within", 0 },
	{ "gigabytes_per_s", "payload", PEALI_AS_GB_PER_S },
	PEALI_COLUMN_BREAK,
	{ "what", "what", 0 },
	{ "gap_ns", "for", PEALI_AS_NS },
	{ "core_distance", "cores", 0 },
	{ "wake_ns_p50", "p50", PEALI_AS_NS },
	{ "wake_ns_p90", "p90", PEALI_AS_NS },
	{ "wake_ns_p99", "p99", PEALI_AS_NS },
	{ "n_samples", "samples", 0 },
	PEALI_COLUMN_BREAK,
	{ "versus", "versus", 0 },
	{ "versus_ns_p50", "its p50", PEALI_AS_NS },
	{ "versus_gigabytes_per_s", "its rate", PEALI_AS_GB_PER_S },
	{ "ratio", "ratio", 3 },
	{ "ratio_min", "min", 3 },
	{ "ratio_max", "max", 3 },
	{ "n_rounds", "rounds", 0 },
	{ "n_rounds_dropped", "dropped", 0 },
	{ NULL, NULL, 0 },
};

static int run(int argc, char **argv, int json)
{
	struct peali_bench_options options;
	struct peali_report report;
	struct peali_fixture fixture;
	int status = PEALI_EXIT_OK;

	peali_bench_parse(
		argc, argv,
		"Processor time of idle devices, and the time to wake "
		"a thread or a worker.",
		SECONDS, &options);
	if (peali_fixture_open(&fixture, DEVICES))
		return PEALI_EXIT_FAILED;
	peali_report_init(&report, "idle", fixture.no_gpus);
	if (build(&fixture, 1))
		status = PEALI_EXIT_FAILED;
	else
		measure(&report, &fixture, options.seconds / 2);
	if (peali_fixture_clear(&fixture) ||
	    (fixture.on_host ? peali_wake_rows(&report, &fixture, &options) :
			       measure_copies(&report, &fixture)))
		status = PEALI_EXIT_FAILED;
	if (peali_fixture_close(&fixture))
		status = PEALI_EXIT_FAILED;
	status = peali_report_print(&report, json,
				    "processor time after a silence; waking, "
				    "ratio above 1: faster than the peer",
				    columns, status);
	peali_report_fini(&report);
	return status;
}

const struct peali_bench peali_bench_idle = {
	.name = "idle",
	.help = "processor time of idle devices; waking a thread or worker",
	.run = run,
};
