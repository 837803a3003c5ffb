/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_BENCH_STAND_H
#define PEAL_BENCH_STAND_H

/*
 * The kernels, actors and links of one row: made, run round after round, and
 * taken down with the conservation identity checked for every link. All calls
 * that fail say why on stderr; actors are handlers of ringkernels/programs/.
 */

#include <peal/peal.h>

#include "bench/bare.h"
#include "ringkernels/bench_program.h"
#include "runtime/cli/output.h"

#define PEALI_STAND_KERNELS 16
#define PEALI_STAND_LINKS 512
#define PEALI_STAND_WAIT_NS INT64_C(10000000000)

struct peali_stand {
	struct peal_runtime *runtime;
	struct peal_endpoint *host;
	struct peal_kernel *kernels[PEALI_STAND_KERNELS];
	struct peal_link *links[PEALI_STAND_LINKS];
	struct peal_barrier *barrier; /* NULL: none */
	struct {
		int device;
		uint64_t address; /* 0: none */
	} memory;
	uint32_t n_kernels, n_links;
	uint32_t n_ports; /* of the host's endpoint that are connected */
	uint32_t lanes; /* of the next kernels; 0: one */
	uint32_t cluster_workers; /* of the next kernels; 0: no clusters */
	uint32_t max_actors; /* of the next kernels, with 16 bytes each; 0: some */
	uint32_t spawn_rooms; /* of the next kernels, of each worker; 0: none */
	uint64_t arena_bytes; /* of the next kernels; 0: those of max_actors */
	uint32_t mailbox_slots; /* of the next kernels; 0: no mailboxes */
	uint32_t asks; /* of the next kernels, of each worker; 0: none */
	uint32_t max_supervisors; /* of the next kernels; 0: none */
	uint64_t max_handler_ns; /* of the next kernels; 0: no bound */
	int emulated;
	int on_host; /* the host backend's devices alone: threads are peers */
	int n_devices;
	int has_peer; /* devices 0 and 1 map each other's memory */
	char device_link[16]; /* devices 0 and 1, of GPUs: "nvlink", "same-gpu" */
};

/** A report with its samples. */
struct peali_stand_report {
	struct peali_bench_report head;
	uint32_t samples[PEALI_BENCH_SAMPLES];
};

/**
 * Opens a runtime: with so many emulated devices, or where there are GPUs with
 * those alone. One GPU becomes two devices, its parts; there may be fewer than
 * were asked for.
 *
 * @return 0 or -1.
 */
int peali_stand_open(struct peali_stand *stand, uint32_t devices);

/** Chooses how many lanes the next kernels have, for messages of that size. */
void peali_stand_fit_lanes(struct peali_stand *stand, uint64_t bytes);

/** Whether links of that route can be made at all. */
int peali_stand_can(const struct peali_stand *stand, enum peal_route route);

/** Says in a row of GPUs what they are to each other, and of lanes. */
void peali_stand_cells(const struct peali_stand *stand, int across,
		       json_t *row);

/** Takes down what there is; returns 0, or -1 if something was not clean. */
int peali_stand_close(struct peali_stand *stand);

/** Launches the benchmarks' program; the kernel's index or -1. */
int peali_stand_launch(struct peali_stand *stand, int device,
		       const struct peal_program *program, uint32_t workers);

/** The benchmarks' own program. */
extern const struct peal_program peal_program_peal_bench;

/** Spawns an actor; its address, or 0. */
uint64_t peali_stand_spawn(struct peali_stand *stand, int kernel,
			   const char *handler, uint32_t worker);

/** Connects; a link's index or -1. */
int peali_stand_connect(struct peali_stand *stand, uint64_t from, uint32_t port,
			uint64_t to, const struct peal_link_options *options);

/** Connects the host's next port to an actor, by a link of such options or for
 * messages of so many bytes; the port or -1. */
int peali_stand_from_host_by(struct peali_stand *stand, uint64_t to,
			     const struct peal_link_options *options);
int peali_stand_from_host(struct peali_stand *stand, uint64_t to,
			  uint64_t bytes);

/** Connects an actor's port to the host, for reports; 0 or -1. */
int peali_stand_to_host(struct peali_stand *stand, uint64_t from,
			uint32_t port);

/** Takes memory on a device for the row; its address or 0. */
uint64_t peali_stand_memory(struct peali_stand *stand, int device,
			    uint64_t bytes);

/** Sends START by a port of the host; 0 or -1. */
int peali_stand_start(struct peali_stand *stand, int port,
		      const struct peali_bench_start *start);

/** Waits for a report and checks that nothing was wrong in it; 0 or -1. */
int peali_stand_wait(struct peali_stand *stand,
		     struct peali_stand_report *report_out);

/** A worker of a device. */
struct peali_seat {
	int device;
	uint32_t worker;
};

/**
 * The cores that two workers are bound to, where a peer can run; the first two
 * if they are bound to none. 0, or -1 if there is no such peer.
 */
int peali_stand_cores(const struct peali_stand *stand, struct peali_seat a,
		      struct peali_seat b, struct peali_cores *cores_out);

/** Why peali_stand_cores found none; static. */
const char *peali_stand_no_cores(const struct peali_stand *stand);

/** The route of a link, by its index. */
enum peal_route peali_stand_route(struct peali_stand *stand, int link);
/** Workers of a cluster of a kernel, by its index; 0: it has no clusters. */
uint32_t peali_stand_cluster(struct peali_stand *stand, int kernel);
/** Whether a link lies in memory that a cluster of workers shares. */
int peali_stand_in_cluster(struct peali_stand *stand, int link);

/**
 * Stops the kernels and takes everything down but the runtime. Every link has
 * delivered what it accepted, or it is said.
 *
 * @return 0 or -1.
 */
int peali_stand_clear(struct peali_stand *stand);

/** Monotonic ns of the host. */
uint64_t peali_bench_now_ns(void);

/** A fresh seed of payloads. */
uint64_t peali_bench_seed(void);

#endif
