/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a runtime costs that has nothing to do: four devices, a kernel on each,
 * a second of silence, then the processor time of two more.
 */
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "bench/bench.h"
#include "bench/options.h"
#include "bench/report.h"
#include "bench/stand.h"

#define DEVICES 4
#define SECONDS 2
#define SILENCE_NS 1000000000
#define LIMIT_PERCENT 5

static double cpu_seconds(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return (double)usage.ru_utime.tv_sec +
	       (double)usage.ru_utime.tv_usec / 1e6 +
	       (double)usage.ru_stime.tv_sec +
	       (double)usage.ru_stime.tv_usec / 1e6;
}

static void sleep_ns(double ns)
{
	struct timespec t = { (time_t)(ns / 1e9),
			      (long)(ns - (double)(time_t)(ns / 1e9) * 1e9) };

	nanosleep(&t, NULL);
}

/* Where there are GPUs there may be fewer, or more. */
static int devices_of(const struct peali_stand *stand)
{
	return stand->n_devices < DEVICES ? stand->n_devices : DEVICES;
}

/* A kernel on each device, linked in a ring: idle, but not unconnected. */
static int build(struct peali_stand *stand)
{
	uint64_t relay[DEVICES];
	int n = devices_of(stand);

	for (int i = 0; i < n; i++) {
		int kernel =
			peali_stand_launch(stand, i, &peal_program_bench, 1);

		relay[i] = peali_stand_spawn(stand, kernel, "relay", 0);
		if (!relay[i])
			return -1;
	}
	for (int i = 0; i < n; i++)
		if (peali_stand_connect(stand, relay[i], 0, relay[(i + 1) % n],
					NULL) < 0)
			return -1;
	return 0;
}

static void measure(struct peali_report *report,
		    const struct peali_stand *stand, double seconds)
{
	double cpu, share;
	uint64_t began;
	json_t *row;

	sleep_ns(SILENCE_NS);
	began = peali_bench_now_ns();
	cpu = cpu_seconds();
	sleep_ns(seconds * 1e9);
	cpu = cpu_seconds() - cpu;
	seconds = (double)(peali_bench_now_ns() - began) / 1e9;
	share = cpu / seconds * 100;
	row = peali_report_row(report, "idle runtime");
	peali_row_uint(row, "devices", (uint64_t)devices_of(stand));
	peali_row_uint(row, "kernels", (uint64_t)devices_of(stand));
	peali_row_real(row, "silence_s", SILENCE_NS / 1e9);
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

static const struct peali_column columns[] = {
	{ "subject", "subject", 0 },
	{ "devices", "devices", 0 },
	{ "measured_s", "measured [s]", 1 },
	{ "cpu_percent_of_one_core", "of one core [%]", 2 },
	{ "limit_percent", "limit [%]", 0 },
	{ "within_limit", "within", 0 },
	{ NULL, NULL, 0 },
};

static int run(int argc, char **argv, int json)
{
	struct peali_bench_options options;
	struct peali_report report;
	struct peali_stand stand;
	int status = PEALI_EXIT_OK;

	peali_bench_parse(argc, argv,
			  "Processor time of a runtime with nothing to do.",
			  SECONDS, &options);
	if (peali_stand_open(&stand, DEVICES))
		return PEALI_EXIT_FAILED;
	peali_report_init(&report, "idle", stand.emulated);
	if (build(&stand))
		status = PEALI_EXIT_FAILED;
	else
		measure(&report, &stand, options.seconds);
	if (peali_stand_close(&stand))
		status = PEALI_EXIT_FAILED;
	status = peali_report_print(&report, json,
				    "processor time after a second of silence",
				    columns, status);
	peali_report_fini(&report);
	return status;
}

const struct peali_bench peali_bench_idle = {
	.name = "idle",
	.help = "processor time of a runtime with nothing to do",
	.run = run,
};
