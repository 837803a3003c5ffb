/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The benchmark `setup`: time and memory to link every device with every other
 * device. One message over each link shows that all links work. Further rows
 * are in setup_objects.c.
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bench/bench.h"
#include "bench/options.h"
#include "bench/report.h"
#include "bench/fixture.h"
#include "bench/setup.h"

#define DEVICES_MOST 16
#define SECONDS 15
#define LIMIT_MS 1000

static const struct {
	uint32_t devices;
	const char *handler; /* a handler with a port for each other device */
} steps[] = { { 4, "hub3" }, { 8, "hub7" }, { 16, "hub15" } };

struct setup {
	struct peali_report report;
	struct peali_fixture fixture;
	uint64_t hubs[DEVICES_MOST];
	double open_ms, kernels_ms, links_ms, total_ms;
};

static double ms_since(uint64_t *then)
{
	uint64_t now = peali_bench_now_ns();
	double ms = (double)(now - *then) / 1e6;

	*then = now;
	return ms;
}

/* Links all devices. Port p of device i leads to device (i + 1 + p) mod n. */
static int link_all(struct setup *s, uint32_t n)
{
	const struct peal_link_options options = { .size = sizeof(options) };

	for (uint32_t i = 0; i < n; i++)
		for (uint32_t port = 0; port < n - 1; port++)
			if (peali_fixture_connect(&s->fixture, s->hubs[i], port,
						  s->hubs[(i + 1 + port) % n],
						  &options) < 0)
				return -1;
	return 0;
}

static int build(struct setup *s, uint32_t n, const char *handler)
{
	uint64_t then = peali_bench_now_ns();
	uint64_t began = then;

	if (peali_fixture_open(&s->fixture, n))
		return -1;
	if (s->fixture.n_devices < (int)n) {
		peali_say("setup needs %u devices, there are %d", n,
			  s->fixture.n_devices);
		return -1;
	}
	s->open_ms = ms_since(&then);
	for (uint32_t i = 0; i < n; i++) {
		int kernel = peali_fixture_launch(&s->fixture, (int)i,
						  &peal_program_peal_bench, 1);

		s->hubs[i] =
			peali_fixture_spawn(&s->fixture, kernel, handler, 0);
		if (!s->hubs[i])
			return -1;
	}
	s->kernels_ms = ms_since(&then);
	if (link_all(s, n))
		return -1;
	s->links_ms = ms_since(&then);
	s->total_ms = ms_since(&began);
	return 0;
}

/* Returns the messages that the first n links have delivered. */
static uint64_t delivered(struct setup *s, uint32_t n)
{
	struct peal_link_info info;
	uint64_t sum = 0;

	for (uint32_t i = 0; i < n; i++)
		if (peal_link_info(s->fixture.links[i], &info) == 0)
			sum += info.delivered;
	return sum;
}

/*
 * Sends one message over each link. Returns 0 if all messages arrived, else -1.
 */
static int verify(struct setup *s, uint32_t n, uint32_t n_links)
{
	const struct peali_bench_start start = { .bytes = 8 };
	const struct timespec tick = { 0, 1000000 };
	uint64_t until = peali_bench_now_ns() + PEALI_FIXTURE_WAIT_NS;

	for (uint32_t i = 0; i < n; i++) {
		int port = peali_fixture_from_host(&s->fixture, s->hubs[i],
						   sizeof(start));

		if (port < 0 || peali_fixture_start(&s->fixture, port, &start))
			return -1;
	}
	while (delivered(s, n_links) < n_links && peali_bench_now_ns() < until)
		nanosleep(&tick, NULL);
	for (uint32_t i = 0; i < n_links; i++) {
		struct peal_link_info info;

		if (peal_link_info(s->fixture.links[i], &info) == 0 &&
		    info.delivered == 1)
			continue;
		peali_say("a link of %u devices did not deliver its message",
			  n);
		return -1;
	}
	return 0;
}

static int measure(struct setup *s, uint32_t n, const char *handler)
{
	struct peal_runtime_info info;
	uint32_t n_links = n * (n - 1);
	json_t *row;

	if (build(s, n, handler))
		return -1;
	s->report.emulated = s->fixture.no_gpus;
	peali_row_flag(s->report.object, "emulated", s->fixture.no_gpus);
	if (peal_runtime_info(s->fixture.runtime, &info) < 0)
		return peali_say_error("read the counters of the runtime");
	if (verify(s, n, n_links))
		return -1;
	row = peali_report_row(&s->report, "full mesh");
	peali_row_uint(row, "devices", n);
	peali_row_uint(row, "links", n_links);
	peali_row_text(row, "route", "%s",
		       peal_route_name(peali_fixture_route(&s->fixture, 0)));
	peali_row_real(row, "open_ms", s->open_ms);
	peali_row_real(row, "kernels_ms", s->kernels_ms);
	peali_row_text(row, "proofs", "%s", getenv("PEAL_PROBE"));
	peali_row_real(row, "links_ms", s->links_ms);
	peali_row_real(row, "setup_ms", s->total_ms);
	peali_row_real(row, "microseconds_per_link",
		       s->links_ms * 1000 / n_links);
	peali_row_uint(row, "link_bytes", info.link_bytes);
	peali_row_real(row, "bytes_per_link",
		       (double)info.link_bytes / n_links);
	peali_row_real(row, "limit_ms", LIMIT_MS);
	peali_row_flag(row, "within_limit", s->total_ms < LIMIT_MS);
	peali_row_uint(row, "n_samples", 1);
	peali_row_null(row, "versus", "a bound, not a peer");
	peali_row_null(row, "ratio", "a bound, not a peer");
	peali_row_null(row, "ratio_min", "a bound, not a peer");
	peali_row_null(row, "ratio_max", "a bound, not a peer");
	return 0;
}

static const struct peali_column columns[] = {
	{ "subject", "subject", 0 },
	{ "devices", "devices", 0 },
	{ "links", "links", 0 },
	{ "route", "route", 0 },
	{ "setup_ms", "set-up", PEALI_AS_MS },
	{ "limit_ms", "limit", PEALI_AS_MS },
	{ "within_limit", "within", 0 },
	PEALI_COLUMN_BREAK,
	{ "open_ms", "open", PEALI_AS_MS },
	{ "kernels_ms", "kernels", PEALI_AS_MS },
	{ "links_ms", "links", PEALI_AS_MS },
	{ "proofs", "proofs", 0 },
	{ "microseconds_per_link", "a link", PEALI_AS_US },
	{ "bytes_per_link", "its memory", PEALI_AS_SIZE },
	PEALI_COLUMN_BREAK,
	{ "versus", "versus", 0 },
	{ "ratio", "ratio", 2 },
	{ "ratio_min", "min", 2 },
	{ "ratio_max", "max", 2 },
	{ NULL, NULL, 0 },
};

static int run(int argc, char **argv, int json)
{
	struct peali_bench_options options;
	struct setup s = { 0 };
	int status = PEALI_EXIT_OK, own_probe, own_log;

	peali_bench_parse(argc, argv,
			  "Time and memory to link every device to every "
			  "other, and to make objects of many devices.",
			  SECONDS, &options);
	/*
	 * Probe every pair of devices again, unless the environment says
	 * otherwise. Results that an earlier run has cached would make this run
	 * faster.
	 */
	own_probe = getenv("PEAL_PROBE") != NULL;
	own_log = getenv("PEAL_LOG") != NULL;
	setenv("PEAL_PROBE", "fresh", 0);
	peali_report_init(&s.report, "setup", 1);
	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		if (measure(&s, steps[i].devices, steps[i].handler))
			status = PEALI_EXIT_FAILED;
		if (s.fixture.runtime && peali_fixture_close(&s.fixture))
			status = PEALI_EXIT_FAILED;
	}
	/* a communicator of 64 devices has 2,016 pairs */
	if (!own_probe)
		setenv("PEAL_PROBE", "off", 1);
	if (s.fixture.no_gpus &&
	    peali_setup_objects(&s.report, options.seconds))
		status = PEALI_EXIT_FAILED;
	status = peali_report_print(&s.report, json,
				    "time and memory to link devices", columns,
				    status);
	peali_report_fini(&s.report);
	/* further benchmarks run in this process */
	if (!own_probe)
		unsetenv("PEAL_PROBE");
	if (!own_log)
		unsetenv("PEAL_LOG");
	return status;
}

const struct peali_bench peali_bench_setup = {
	.name = "setup",
	.help = "time and memory to link devices",
	.run = run,
};
