/* SPDX-License-Identifier: Apache-2.0 */
/* labels: fast alone */
#include <peal/abi/probe.h>
#include <peal/device/impl/base/host_support.h>
#include <stdatomic.h>
#include "machine.h"
#include "p2p/probe.h"

/*
 * Shows the verdicts for faults that the host backend does not emulate. The
 * test changes the launches: the probe's reader on device 1 is slow, or a
 * launch fails.
 */

extern const struct peal_program peal_program_peal_probe;

static struct peali_backend *backend;
static struct peali_backend_ops changed;
static struct peali_device device[2];
static struct peali_devices devices = { .n = 2, .device = device };
static struct peali_peers *peers;

static int is_reader(const struct peal_probe_params *p)
{
	return p->job == PEAL_PROBE_BANDWIDTH && p->role == PEAL_PROBE_READER;
}

/*
 * Returns 1 for the reader of a device's memory. The area of a reader in host
 * memory follows the words.
 */
static int is_across(const struct peal_probe_params *p)
{
	return is_reader(p) && p->area != p->words + 4096;
}

/*
 * us of a round across devices: FIRST_US, later TIMES a round through host
 * memory.
 */
#define FIRST_US 30000
#define TIMES 6
static atomic_uint round_us = FIRST_US;

/* Runs the probe's own reader. Sets round_us by the time of its rounds. */
static int fast_entry(const struct peal_kernel_params *params, uint32_t worker,
		      uint32_t lane)
{
	uint64_t began = peal_clock_ns(), us;
	int r = peal_program_peal_probe.host_entry_single(params, worker, lane);

	if (!is_reader((const void *)params))
		return r;
	us = (peal_clock_ns() - began) / 1000 / PEAL_PROBE_ROUNDS * TIMES;
	atomic_store(&round_us, us < 1000	  ? 1000 :
				us < 2 * FIRST_US ? (unsigned)us :
						    2 * FIRST_US);
	return r;
}

static int slow_entry(const struct peal_kernel_params *params, uint32_t worker,
		      uint32_t lane)
{
	const struct peal_probe_params *p = (const void *)params;
	uint64_t *ping, *pong, i, began = peal_clock_ns();

	if (!is_across(p))
		return fast_entry(params, worker, lane);
	ping = (uint64_t *)(uintptr_t)(p->area + PEAL_PROBE_PING_OFFSET);
	pong = (uint64_t *)(uintptr_t)p->pong;
	for (i = 1; i <= PEAL_PROBE_ROUNDS; i++) {
		while (peal_load_acquire_sys(ping) < i) {
			if (peal_clock_ns() - began > p->limit_ns)
				return 0;
			usleep(100);
		}
		usleep(atomic_load(&round_us));
		peal_store_release_sys(pong, i);
		peal_bell_ring(p->partner_bell);
	}
	return 0;
}

static const struct peal_program slow_program = {
	sizeof(struct peal_program),
	0,
	"probe",
	NULL,
	slow_entry,
	slow_entry,
	NULL,
	NULL,
	0,
	0,
};

static int launch_slow(struct peali_backend *b,
		       const struct peali_launch_desc *desc,
		       struct peali_launch **out)
{
	struct peali_launch_desc d = *desc;

	if (d.device == 1)
		d.program = &slow_program;
	return peali_host_backend.launch(b, &d, out);
}

static int launch_fails(struct peali_backend *b,
			const struct peali_launch_desc *desc,
			struct peali_launch **out)
{
	if (desc->device == 1)
		return peali_host_backend.launch(b, desc, out);
	return peali_fail_driver(PEAL_EDRIVER, 77, "test: launch",
				 "the driver is out of sorts");
}

static int enable_fails(struct peali_backend *b, int from, int to)
{
	(void)b;
	return peali_fail_driver(PEAL_EDRIVER, 78, "test: peer_enable",
				 "no access of %d to %d today", from, to);
}

static void begin(void)
{
	int i;

	machine_forget();
	setenv("PEAL_HOST_DEVICES", "2", 1);
	CHECK_OK(peali_host_backend.open(&backend));
	changed = peali_host_backend;
	backend->ops = &changed;
	for (i = 0; i < 2; i++) {
		device[i].backend = backend;
		device[i].local = i;
	}
	CHECK_OK(peali_peers_create(&devices, &peers));
}

static void end(void)
{
	CHECK_OK(peali_peers_destroy(peers));
	CHECK_OK(peali_host_backend.close(backend));
}

PEAL_TEST(pair_slower_than_host_memory_is_slow)
{
	struct peal_pair_info info;

	if (PEAL_TSAN) /* with ThreadSanitizer host memory is as slow */
		return;
	begin();
	changed.launch = launch_slow;
	CHECK_OK(peali_probe_pair(peers, 0, 1, &info));
	CHECK_EQ(info.verdict, PEAL_VERDICT_SLOW);
	CHECK_CONTAINS(info.reason, "through host memory");
	CHECK(info.bandwidth_bytes_per_s > 0);
	CHECK(info.route != PEAL_ROUTE_PEER);
	/* 0 -> 1 is slow but correct, so it can carry the credits */
	CHECK_OK(peali_probe_pair(peers, 1, 0, &info));
	CHECK_EQ(info.verdict, PEAL_VERDICT_OK);
	CHECK_EQ(info.route, PEAL_ROUTE_PEER);
	end();
}

PEAL_TEST(failed_launch_is_faulted_and_not_cached)
{
	struct peal_pair_info info;

	begin();
	changed.launch = launch_fails;
	CHECK_OK(peali_probe_pair(peers, 0, 1, &info));
	CHECK_EQ(info.verdict, PEAL_VERDICT_FAULTED);
	CHECK_CONTAINS(info.reason, "out of sorts");
	CHECK(info.route != PEAL_ROUTE_PEER);
	end();
	/* as a next process: begin() would empty the cache */
	CHECK_OK(peali_host_backend.open(&backend));
	device[0].backend = device[1].backend = backend;
	CHECK_OK(peali_peers_create(&devices, &peers));
	CHECK_OK(peali_probe_pair(peers, 0, 1, &info));
	CHECK_EQ(info.verdict, PEAL_VERDICT_OK);
	CHECK_EQ(info.cached, 0);
	end();
}

PEAL_TEST(failed_enable_is_faulted)
{
	struct peal_pair_info info;

	begin();
	changed.peer_enable = enable_fails;
	CHECK_OK(peali_probe_pair(peers, 1, 0, &info));
	CHECK_EQ(info.verdict, PEAL_VERDICT_FAULTED);
	CHECK_CONTAINS(info.reason, "today");
	CHECK_EQ(peali_peer_enable(peers, 1, 0), PEAL_EDRIVER);
	CHECK_EQ(peali_peer_disable(peers, 1, 0), PEAL_EINVAL);
	end();
}

PEAL_TEST_MAIN(machine_begin(); RUN(pair_slower_than_host_memory_is_slow);
	       RUN(failed_launch_is_faulted_and_not_cached);
	       RUN(failed_enable_is_faulted);)
