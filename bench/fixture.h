/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_BENCH_FIXTURE_H
#define PEAL_BENCH_FIXTURE_H

/*
 * The fixture of a benchmark's row: kernels, actors and links. A benchmark
 * builds it, runs rounds and clears it. Clearing checks the conservation
 * identity of every link. Calls that fail print the reason to stderr. Handlers
 * of the actors are in ringkernels/programs/.
 */

#include <peal/peal.h>

#include "bench/cacheline_bounce.h"
#include "ringkernels/bench_program.h"
#include "runtime/cli/output.h"

#define PEALI_FIXTURE_KERNELS 16
#define PEALI_FIXTURE_LINKS 512
#define PEALI_FIXTURE_WAIT_NS INT64_C(10000000000)

struct peali_fixture {
	struct peal_runtime *runtime;
	struct peal_endpoint *host;
	struct peal_kernel *kernels[PEALI_FIXTURE_KERNELS];
	struct peal_link *links[PEALI_FIXTURE_LINKS];
	struct peal_barrier *barrier; /* NULL: none */
	struct {
		int device;
		uint64_t address; /* 0: none */
	} memory;
	uint32_t n_kernels, n_links;
	uint32_t n_ports; /* connected ports of the host's endpoint */
	uint32_t lanes; /* lanes of the next kernels; 0: 1 */
	/* cluster size of the next kernels; 0: no clusters */
	uint32_t cluster_workers;
	/* of the next kernels, with 16 bytes each; 0: default */
	uint32_t max_actors;
	uint32_t max_spawned_actors; /* per worker of the next kernels */
	uint64_t arena_bytes; /* of the next kernels; 0: 16 bytes per actor */
	uint32_t mailbox_slots; /* of the next kernels; 0: no mailboxes */
	uint32_t mailbox_bytes; /* of their messages; 0: default */
	uint32_t asks; /* per worker of the next kernels */
	uint32_t max_supervisors; /* of the next kernels; 0: none */
	uint64_t max_handler_ns; /* of the next kernels; 0: no limit */
	int emulated;
	int no_gpus; /* 1: no device is a GPU, for the labels of rows */
	/* 1: only devices of the host backend; threads can be baselines */
	int on_host;
	int n_devices;
	int has_peer; /* 1: devices 0 and 1 map each other's memory */
	/* between devices 0 and 1 of GPUs: "nvlink", "same-gpu" */
	char device_link[16];
};

/** A report with its samples. */
struct peali_fixture_report {
	struct peali_bench_report head;
	uint32_t samples[PEALI_BENCH_SAMPLES];
};

/**
 * Opens a runtime. On a machine with GPUs it has the GPUs only, else `devices`
 * emulated devices. A single GPU is opened as two devices if `devices` is above
 * 1. There may be fewer GPUs than `devices`.
 *
 * @return 0 or -1.
 */
int peali_fixture_open(struct peali_fixture *fixture, uint32_t devices);

/** Chooses the lanes of the next kernels for messages of this size. */
void peali_fixture_fit_lanes(struct peali_fixture *fixture, uint64_t bytes);

/** Returns 1 if the devices can have links of this route. */
int peali_fixture_can(const struct peali_fixture *fixture,
		      enum peal_route route);

/**
 * Fills in the cells of GPUs: lanes, and how the devices are connected.
 *
 * @param across 1: the row uses two devices.
 */
void peali_fixture_cells(const struct peali_fixture *fixture, int across,
			 json_t *row);

/**
 * Clears the fixture and closes the runtime. Returns 0, or -1 after an error.
 */
int peali_fixture_close(struct peali_fixture *fixture);

/** Launches a kernel. Returns its index, or -1. */
int peali_fixture_launch(struct peali_fixture *fixture, int device,
			 const struct peal_program *program, uint32_t workers);

/** The program of the benchmarks. */
extern const struct peal_program peal_program_peal_bench;

/** Spawns an actor. Returns its address, or 0. */
uint64_t peali_fixture_spawn(struct peali_fixture *fixture, int kernel,
			     const char *handler, uint32_t worker);

/** Connects two ends. Returns the link's index, or -1. */
int peali_fixture_connect(struct peali_fixture *fixture, uint64_t from,
			  uint32_t port, uint64_t to,
			  const struct peal_link_options *options);

/**
 * Connects the next port of the host to an actor. The link has these options,
 * or is for messages of `bytes` bytes. Returns the port, or -1.
 */
int peali_fixture_from_host_by(struct peali_fixture *fixture, uint64_t to,
			       const struct peal_link_options *options);
int peali_fixture_from_host(struct peali_fixture *fixture, uint64_t to,
			    uint64_t bytes);

/** Connects a port of an actor to the host, for reports. Returns 0 or -1. */
int peali_fixture_to_host(struct peali_fixture *fixture, uint64_t from,
			  uint32_t port);

/** Allocates memory on a device for the row. Returns its address, or 0. */
uint64_t peali_fixture_memory(struct peali_fixture *fixture, int device,
			      uint64_t bytes);

/** Sends START by a port of the host. Returns 0 or -1. */
int peali_fixture_start(struct peali_fixture *fixture, int port,
			const struct peali_bench_start *start);

/**
 * Waits for a report and checks that it counts no wrong messages. Returns 0 or
 * -1.
 */
int peali_fixture_wait(struct peali_fixture *fixture,
		       struct peali_fixture_report *report_out);

/** A worker of a device. */
struct peali_fixture_worker {
	int device;
	uint32_t worker;
};

/**
 * Stores the cores that two workers are bound to. If they are not bound to two
 * cores, stores the first two cores of the process. Returns 0, or -1 if threads
 * cannot be a baseline.
 */
int peali_fixture_cores(const struct peali_fixture *fixture,
			struct peali_fixture_worker a,
			struct peali_fixture_worker b,
			struct peali_cores *cores_out);

/** Returns the reason why peali_fixture_cores failed. The text is static. */
const char *peali_fixture_no_cores(const struct peali_fixture *fixture);

/** Returns the route of a link. */
enum peal_route peali_fixture_route(struct peali_fixture *fixture, int link);
/** Returns the cluster size of a kernel; 0: no clusters. */
uint32_t peali_fixture_cluster(struct peali_fixture *fixture, int kernel);
/** Returns 1 if a link lies in the memory of a cluster of workers. */
int peali_fixture_in_cluster(struct peali_fixture *fixture, int link);

/**
 * Stops the kernels and destroys everything but the runtime. Prints an error if
 * a link has not delivered all accepted messages.
 *
 * @return 0 or -1.
 */
int peali_fixture_clear(struct peali_fixture *fixture);

/** Returns monotonic ns of the host. */
uint64_t peali_bench_now_ns(void);

/** Returns a new seed for payloads. */
uint64_t peali_bench_seed(void);

#endif
