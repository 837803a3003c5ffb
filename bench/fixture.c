/* SPDX-License-Identifier: Apache-2.0 */
/* The fixture of a benchmark's row: see bench/fixture.h. */
#include <dirent.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include <peal/barrier.h>
#include <peal/device/impl/base/host_support.h>
#include <peal/memory.h>
#include "bench/fixture.h"

#include "bench/baseline/gpu.h"
#include "runtime/base/core_set.h"
#include "runtime/cli/command.h"
#include "runtime/device/backend.h"

#define HOST_PORTS 64
/* Largest messages in bytes: one lane or 32 lanes fill and read them. */
#define ONE_LANE 64
#define ONE_WARP 4096

uint64_t peali_bench_now_ns(void)
{
	return peal_clock_ns();
}

uint64_t peali_bench_seed(void)
{
	static uint64_t seed;

	if (!seed && getrandom(&seed, sizeof(seed), 0) != sizeof(seed))
		seed = peal_clock_ns();
	return seed = peali_bench_word(seed, 0);
}

/* ---- the runtime --------------------------------------------------------- */

/* Returns 1 if a backend other than the host's has devices. */
static int has_gpus(void)
{
	char reason[160];

	for (int i = 0; peali_backends[i]; i++)
		if (peali_backends[i] != &peali_host_backend &&
		    !peali_backends[i]->probe(reason, sizeof(reason)))
			return 1;
	return 0;
}

static int open_runtime(struct peali_fixture *fixture)
{
	struct peal_device_info info;

	if (peal_runtime_open(NULL, &fixture->runtime) < 0) {
		peali_say_error("open the runtime");
		return -1;
	}
	fixture->n_devices = peal_device_count(fixture->runtime);
	fixture->emulated = fixture->on_host = fixture->no_gpus = 1;
	for (int i = 0; peal_device_info(fixture->runtime, i, &info) == 0;
	     i++) {
		fixture->emulated &= info.emulated;
		fixture->no_gpus &= !peali_is_gpu(&info);
		fixture->on_host &= strcmp(info.backend, "host") == 0;
	}
	return 0;
}

/*
 * Loads the programs on GPUs, which must happen before the first launch. Stores
 * how devices 0 and 1 are connected.
 */
static int prepare_gpus(struct peali_fixture *fixture)
{
	struct peal_pair_info pair;

	if (peal_program_add(fixture->runtime, &peal_program_peal_bench) < 0)
		return peali_say_error("add the benchmarks' program");
	if (peali_baseline_load(fixture->runtime))
		return -1;
	if (fixture->n_devices < 2)
		return 0;
	if (peal_topology_pair(fixture->runtime, 0, 1, &pair) < 0)
		return peali_say_error("read the data of a pair of devices");
	snprintf(fixture->device_link, sizeof(fixture->device_link), "%s",
		 pair.kind);
	fixture->has_peer = pair.route == PEAL_ROUTE_PEER;
	if (!fixture->has_peer)
		peali_say("rows of the route peer are skipped: %s",
			  pair.reason);
	return 0;
}

int peali_fixture_open(struct peali_fixture *fixture, uint32_t devices)
{
	static int has_split; /* 1: an earlier call has split the GPU */
	char text[16];

	memset(fixture, 0, sizeof(*fixture));
	if (devices == 1 && has_split)
		unsetenv("PEAL_GPU_SPLIT");
	snprintf(text, sizeof(text), "%u", devices);
	setenv("PEAL_HOST_DEVICES", text, 1);
	if (has_gpus()) /* otherwise emulated devices would be added */
		setenv("PEAL_BACKENDS", "cuda,hip", 0);
	if (open_runtime(fixture))
		return -1;
	if (fixture->n_devices == 1 && devices > 1) {
		peal_runtime_close(fixture->runtime);
		has_split = !getenv("PEAL_GPU_SPLIT");
		setenv("PEAL_GPU_SPLIT", "2", 0);
		if (open_runtime(fixture))
			return -1;
	}
	if (fixture->n_devices >= (int)devices ||
	    (!fixture->on_host && fixture->n_devices > 1)) {
		if (fixture->on_host || !prepare_gpus(fixture))
			return 0;
	} else {
		peali_say("the benchmark needs %u devices, there are %d",
			  devices, fixture->n_devices);
	}
	peali_fixture_close(fixture);
	return -1;
}

void peali_fixture_fit_lanes(struct peali_fixture *fixture, uint64_t bytes)
{
	/* Emulated lanes are fibers, which take turns. */
	fixture->lanes = fixture->emulated ? 1 :
			 bytes <= ONE_LANE ? 1 :
			 bytes <= ONE_WARP ? 32 :
					     256;
}

int peali_fixture_can(const struct peali_fixture *fixture,
		      enum peal_route route)
{
	return fixture->on_host || fixture->has_peer ||
	       route != PEAL_ROUTE_PEER;
}

void peali_fixture_cells(const struct peali_fixture *fixture, int across,
			 json_t *row)
{
	if (fixture->on_host)
		return;
	if (across)
		peali_row_text(row, "device_link", "%s", fixture->device_link);
	else
		peali_row_null(row, "device_link", "one device");
	peali_row_uint(row, "lanes", fixture->lanes ? fixture->lanes : 1);
}

int peali_fixture_close(struct peali_fixture *fixture)
{
	int result = peali_fixture_clear(fixture);

	if (peal_runtime_close(fixture->runtime) < 0) {
		peali_say_error("close the runtime");
		peal_runtime_shutdown(fixture->runtime);
		result = -1;
	}
	fixture->runtime = NULL;
	return result;
}

/* ---- building ------------------------------------------------------------ */

static int need_host(struct peali_fixture *fixture)
{
	const struct peal_endpoint_options options = {
		.size = sizeof(options),
		.max_ports = HOST_PORTS,
		.max_inputs = HOST_PORTS,
		.name = "bench",
	};

	if (fixture->host || peal_endpoint_create(fixture->runtime, &options,
						  &fixture->host) == 0)
		return 0;
	peali_say_error("create the host's endpoint");
	return -1;
}

int peali_fixture_launch(struct peali_fixture *fixture, int device,
			 const struct peal_program *program, uint32_t workers)
{
	const struct peal_kernel_options options = {
		.size = sizeof(options),
		.workers = workers,
		.lanes = fixture->lanes,
		.cluster.workers = fixture->cluster_workers,
		.max_actors = fixture->max_actors,
		.mailbox.slots = fixture->mailbox_slots,
		.mailbox.message_bytes = fixture->mailbox_bytes,
		.spawn.max_actors = fixture->max_spawned_actors,
		.spawn.state_bytes = fixture->max_spawned_actors ? 16 : 0,
		.max_supervisors = fixture->max_supervisors,
		.budget.max_ns = fixture->max_handler_ns,
		.arena_bytes = fixture->arena_bytes ?
				       fixture->arena_bytes :
				       16ULL * fixture->max_actors,
		.max_asks = fixture->asks,
		.max_inputs = 32,
		.max_ports = 32,
	};

	if (fixture->n_kernels < PEALI_FIXTURE_KERNELS &&
	    peal_kernel_launch(fixture->runtime, device, program, &options,
			       fixture->kernels + fixture->n_kernels) == 0)
		return (int)fixture->n_kernels++;
	peali_say_error("launch a kernel");
	return -1;
}

uint64_t peali_fixture_spawn(struct peali_fixture *fixture, int kernel,
			     const char *handler, uint32_t worker)
{
	const struct peal_actor_options options = {
		.size = sizeof(options),
		.worker = PEAL_WORKER(worker),
	};
	uint64_t address;

	if (kernel < 0)
		return 0;
	if (peal_actor_spawn(fixture->kernels[kernel], handler, &options,
			     &address) == 0)
		return address;
	peali_say_error("spawn an actor");
	return 0;
}

int peali_fixture_connect(struct peali_fixture *fixture, uint64_t from,
			  uint32_t port, uint64_t to,
			  const struct peal_link_options *options)
{
	if (!from || !to)
		return -1;
	if (fixture->n_links < PEALI_FIXTURE_LINKS &&
	    peal_connect(fixture->runtime, from, port, to, options,
			 fixture->links + fixture->n_links) == 0)
		return (int)fixture->n_links++;
	peali_say_error("connect");
	return -1;
}

int peali_fixture_from_host_by(struct peali_fixture *fixture, uint64_t to,
			       const struct peal_link_options *options)
{
	if (need_host(fixture) ||
	    peali_fixture_connect(fixture, peal_endpoint_address(fixture->host),
				  fixture->n_ports, to, options) < 0)
		return -1;
	return (int)fixture->n_ports++;
}

int peali_fixture_from_host(struct peali_fixture *fixture, uint64_t to,
			    uint64_t bytes)
{
	const struct peal_link_options options = {
		.size = sizeof(options),
		.message_bytes = bytes,
	};

	return peali_fixture_from_host_by(fixture, to, &options);
}

int peali_fixture_to_host(struct peali_fixture *fixture, uint64_t from,
			  uint32_t port)
{
	struct peal_link_options options = {
		.size = sizeof(options),
		.capacity = 4,
		.message_bytes = sizeof(struct peali_fixture_report),
	};
	struct peal_device_info info;

	if (need_host(fixture))
		return -1;
	/*
	 * If a slot can be large enough, it holds a whole report. Then the link
	 * needs no slab.
	 */
	if (!peal_device_info(fixture->runtime, (int)(from >> 48), &info) &&
	    info.policies != 1u << PEAL_POLICY_ATOM8)
		options.slot_bytes = 4096;
	return peali_fixture_connect(fixture, from, port,
				     peal_endpoint_address(fixture->host),
				     &options) < 0 ?
		       -1 :
		       0;
}

uint64_t peali_fixture_memory(struct peali_fixture *fixture, int device,
			      uint64_t bytes)
{
	uint64_t address;

	if (peal_memory_alloc(fixture->runtime, device, bytes, &address) < 0) {
		peali_say_error("allocate memory");
		return 0;
	}
	fixture->memory.device = device;
	return fixture->memory.address = address;
}

/* ---- running ------------------------------------------------------------- */

int peali_fixture_start(struct peali_fixture *fixture, int port,
			const struct peali_bench_start *start)
{
	if (peal_send(fixture->host, (uint32_t)port, PEALI_BENCH_START, start,
		      sizeof(*start), PEALI_FIXTURE_WAIT_NS, NULL) == 0)
		return 0;
	peali_say_error("begin a round");
	return -1;
}

int peali_fixture_wait(struct peali_fixture *fixture,
		       struct peali_fixture_report *report_out)
{
	struct peal_received received;

	if (peal_receive(fixture->host, report_out, sizeof(*report_out),
			 &received, PEALI_FIXTURE_WAIT_NS) < 0) {
		peali_say_error("get a round's report");
		return -1;
	}
	if (received.type != PEALI_BENCH_REPORT ||
	    received.length < sizeof(report_out->head)) {
		peali_say("a round's report has a wrong length");
		return -1;
	}
	if (!report_out->head.wrong)
		return 0;
	peali_say("%llu of %llu messages were wrong",
		  (unsigned long long)report_out->head.wrong,
		  (unsigned long long)report_out->head.messages);
	return -1;
}

/* Returns the core that a thread of this process is bound to, or -1. */
static int core_of_thread(const char *tid)
{
	struct peali_core_set set;
	int core = -1;

	if (!peali_core_set_read(atoi(tid), &set) && set.n == 1)
		core = peali_core_set_next(&set, -1);
	peali_core_set_free(&set);
	return core;
}

/*
 * Returns the core of an emulated worker, or -1. Finds the worker's thread by
 * its name, which the host backend has set: peal-d0-w1.
 */
static int core_of_worker(struct peali_fixture_worker worker)
{
	char name[32], path[300], comm[32];
	DIR *tasks = opendir("/proc/self/task");
	const struct dirent *task;
	int core = -1;

	snprintf(name, sizeof(name), "peal-d%d-w%u", worker.device,
		 worker.worker);
	while (tasks && core < 0 && (task = readdir(tasks))) {
		FILE *file;

		snprintf(path, sizeof(path), "/proc/self/task/%s/comm",
			 task->d_name);
		file = fopen(path, "r");
		if (!file)
			continue;
		if (fgets(comm, sizeof(comm), file)) {
			comm[strcspn(comm, "\n")] = 0;
			if (strcmp(comm, name) == 0)
				core = core_of_thread(task->d_name);
		}
		fclose(file);
	}
	if (tasks)
		closedir(tasks);
	return core;
}

int peali_fixture_cores(const struct peali_fixture *fixture,
			struct peali_fixture_worker a,
			struct peali_fixture_worker b,
			struct peali_cores *cores_out)
{
	if (!fixture->on_host)
		return -1;
	cores_out->a = core_of_worker(a);
	cores_out->b = core_of_worker(b);
	if (cores_out->a < 0 || cores_out->b < 0 ||
	    cores_out->a == cores_out->b)
		return peali_cores_pick(cores_out);
	return 0;
}

const char *peali_fixture_no_cores(const struct peali_fixture *fixture)
{
	return fixture->on_host ?
		       "there is one core only" :
		       "workers of these devices have no cores of the "
		       "host";
}

enum peal_route peali_fixture_route(struct peali_fixture *fixture, int link)
{
	struct peal_link_info info;

	if (link < 0 || peal_link_info(fixture->links[link], &info) < 0)
		return PEAL_ROUTE_NONE;
	return info.route;
}

uint32_t peali_fixture_cluster(struct peali_fixture *fixture, int kernel)
{
	struct peal_kernel_info info;

	return peal_kernel_info(fixture->kernels[kernel], &info) < 0 ?
		       0 :
		       info.cluster_workers;
}

int peali_fixture_in_cluster(struct peali_fixture *fixture, int link)
{
	struct peal_link_info info;

	return link >= 0 && peal_link_info(fixture->links[link], &info) == 0 &&
	       info.in_cluster;
}

/* ---- clearing ------------------------------------------------------------ */

/* Checks that a link has delivered all accepted messages. */
static int check_link(struct peal_link *link)
{
	struct peal_link_info info;
	uint64_t dead = 0;

	if (peal_link_info(link, &info) < 0) {
		peali_say_error("read a link's counters");
		return -1;
	}
	for (int i = 0; i < PEAL_REASON_COUNT; i++)
		dead += info.dead[i];
	if (info.accepted == info.delivered && !dead && !info.queued)
		return 0;
	peali_say("link %llu (%s): %llu accepted, %llu delivered, %llu dead, "
		  "%llu queued",
		  (unsigned long long)info.id, peal_route_name(info.route),
		  (unsigned long long)info.accepted,
		  (unsigned long long)info.delivered, (unsigned long long)dead,
		  (unsigned long long)info.queued);
	return -1;
}

/*
 * Destroys everything but the links. The kernels have ended. Returns 0, or
 * nonzero after an error.
 */
static int clear_rest(struct peali_fixture *fixture)
{
	int failed = 0;

	if (peal_barrier_destroy(fixture->barrier) < 0)
		failed = peali_say_error("free a barrier");
	for (uint32_t i = 0; i < fixture->n_kernels; i++)
		if (peal_kernel_destroy(fixture->kernels[i]) < 0)
			failed = peali_say_error("free a kernel");
	if (peal_endpoint_destroy(fixture->host) < 0)
		failed = peali_say_error("free the host's endpoint");
	if (fixture->memory.address &&
	    peal_memory_free(fixture->runtime, fixture->memory.device,
			     fixture->memory.address) < 0)
		failed = peali_say_error("free memory");
	return failed;
}

int peali_fixture_clear(struct peali_fixture *fixture)
{
	int failed = 0;

	for (uint32_t i = 0; i < fixture->n_kernels; i++)
		if (peal_kernel_stop(fixture->kernels[i],
				     PEALI_FIXTURE_WAIT_NS) < 0)
			failed = peali_say_error("stop a kernel");
	for (uint32_t i = 0; i < fixture->n_links; i++)
		failed |= check_link(fixture->links[i]);
	for (uint32_t i = 0; i < fixture->n_links; i++)
		if (peal_link_destroy(fixture->links[i]) < 0)
			failed = peali_say_error("destroy a link");
	failed |= clear_rest(fixture);
	fixture->barrier = NULL;
	fixture->host = NULL;
	fixture->memory.address = 0;
	fixture->n_kernels = fixture->n_links = fixture->n_ports = 0;
	return failed ? -1 : 0;
}
