/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DOUBLE_H
#define DOUBLE_H

#include <stddef.h>
#include <stdint.h>

#include "runtime/backend/host/clocks.h"

/*
 * What the pretend drivers of this folder share. A double has up to 64 devices,
 * whose memory is the process's own; a launch runs the program's host entry on
 * threads, by the engine of the host backend, which it finds in the executable
 * (that has to export its symbols). Nothing of it is a GPU, and the backend
 * shows its devices as emulated.
 *
 * A double holds who calls it to the driver's contract: what breaks it ends the
 * process with a line that says what. The calls that must not be made while a
 * kernel is resident are those of runtime/backend/gpu/driver.h.
 *
 * Environment:
 *	PEAL_DOUBLE_DEVICES	else PEAL_HOST_DEVICES, else 2
 *	PEAL_DOUBLE_LINKS	else PEAL_HOST_LINKS: the same grammar
 *	PEAL_DOUBLE_ARCH	"sm_90" or "gfx90a", what its devices are
 *	PEAL_DOUBLE_UNITS	multiprocessors, 32
 *	PEAL_DOUBLE_LANES	the most that a function can have, 1024
 *	PEAL_DOUBLE_FAIL	SYMBOL:ERROR:N, the Nth call fails (from 1; 0: all;
 *				-N: the Nth and all later ones); several with
 *				commas between
 *	PEAL_DOUBLE_VERSION	of the driver, as CUDA numbers them, 13000
 *	PEAL_DOUBLE_LACK	symbols, commas between; CUDA only
 *	PEAL_DOUBLE_ATTRIBUTES	NUMBER:VALUE, commas between: what devices
 *				answer to the driver's questions, before all else
 */

#define DOUBLE_BLOCKS_PER_UNIT 8
#define DOUBLE_UNITS_OF_GROUP 14 /* multiprocessors that a cluster can be of */
/* Shared memory: of a multiprocessor; the most of a block; what a block has
 * without asking; what code of ours has itself; what the driver takes of each. */
#define DOUBLE_SHARED_UNIT 233472
#define DOUBLE_SHARED_MOST 232448
#define DOUBLE_SHARED_PLAIN 49152
#define DOUBLE_SHARED_OWN 256
#define DOUBLE_SHARED_DRIVER 1024

/* Errors that both vendors number alike. */
enum {
	DOUBLE_INVALID = 1,
	DOUBLE_NO_MEMORY = 2,
	DOUBLE_NO_DEVICE = 100,
	DOUBLE_BAD_DEVICE = 101,
	DOUBLE_BAD_IMAGE = 200,
	DOUBLE_NO_CONTEXT = 201,
	DOUBLE_NO_BINARY = 209,
	DOUBLE_BAD_PTX = 218,
	DOUBLE_NOT_FOUND = 500,
	DOUBLE_NOT_READY = 600,
	DOUBLE_PEER_TWICE = 704,
	DOUBLE_LAUNCH_FAILED = 719,
	DOUBLE_TOO_LARGE = 720,
	DOUBLE_NOT_SUPPORTED = 801
};

/** Things that a driver hands out, and counts. */
enum double_thing {
	DOUBLE_CONTEXT,
	DOUBLE_RANGE,
	DOUBLE_MEMORY,
	DOUBLE_MAPPING,
	DOUBLE_HOST,
	DOUBLE_REGISTERED,
	DOUBLE_STREAM,
	DOUBLE_MODULE,
	DOUBLE_PART,
	DOUBLE_GRAPH, /* executable ones too */
	DOUBLE_THINGS
};

struct double_stream;
struct double_function;
struct double_graph;

/* What the front of a vendor says of itself. */
struct double_vendor {
	const char *arch; /* the default */
	int machine; /* of its ELF images */
	int is_cuda;
};
extern const struct double_vendor double_vendor;

/*
 * Begins a call of that symbol: the error that it shall return, 0 go on. The
 * current device is told by double_current.
 */
int double_call(const char *symbol);
/* Begins every call of the driver. */
#define CALL(symbol)                                                           \
	do {                                                                   \
		int error_ = double_call(symbol);                              \
                                                                               \
		if (error_)                                                    \
			return error_;                                         \
	} while (0)
/* The calling thread's device, -1: none. */
int double_current(void);
_Noreturn void double_broken(const char *what, ...)
	__attribute__((format(printf, 1, 2)));
void double_count(enum double_thing thing, int change);
/* 1 if the environment says that there is no such symbol. */
int double_lacks(const char *symbol);

int double_n_devices(void);
uint32_t double_units(void);
uint32_t double_max_lanes(void);
int double_version(void);
const char *double_arch(void);
/* 1 if the environment says what an attribute of all devices is. */
int double_attribute(int attribute, int *value);
/* Of an ordered pair: 1 access, 2 with atomics, 0 none. */
int double_access(int from, int to);
/* What a device's clock is, which is never the host's. */
struct peali_host_clock double_clock(int device);

/* ---- memory ------------------------------------------------------------------ */

int double_alloc(uint64_t *address, size_t bytes);
int double_free(uint64_t address);
int double_host_alloc(void **address, size_t bytes);
int double_host_free(void *address);
int double_host_register(void *address, size_t bytes);
int double_host_unregister(void *address);
/* 1 if the driver knows all of that memory as host memory. */
int double_is_host(uint64_t address, size_t bytes);
int double_reserve(uint64_t *address, size_t bytes);
int double_unreserve(uint64_t address, size_t bytes);
int double_create(uint64_t *handle, size_t bytes, int device, int exportable);
/* A descriptor for it; memory of this device or, by that, of another process. */
int double_export(int *fd_out, uint64_t handle);
int double_import(uint64_t *handle, int fd);
int double_release(uint64_t handle);
int double_map(uint64_t address, size_t bytes, uint64_t handle);
int double_unmap(uint64_t address, size_t bytes);
int double_set_access(uint64_t address, size_t bytes, int device);
/* The device that has the memory; -1: none. */
int double_owner(uint64_t address);
int double_copy(uint64_t to, uint64_t from, size_t bytes,
		struct double_stream *stream);
int double_fill(uint64_t to, uint8_t value, size_t bytes,
		struct double_stream *stream);

/* ---- kernels ------------------------------------------------------------------- */

/* units: to which it is kept; 0: all of the device. */
int double_stream_create(struct double_stream **out, uint32_t units);
int double_stream_destroy(struct double_stream *stream);
int double_stream_query(struct double_stream *stream);
int double_stream_wait(struct double_stream *stream);
int double_module_load(void **module, const void *image);
int double_module_unload(void *module);
int double_module_function(struct double_function **out, void *module,
			   const char *name);
int double_occupancy(int *blocks, int threads, size_t shared_bytes);
/* How much shared memory launches of it may have. */
int double_function_shared(struct double_function *function, int most);
/** A grid; its blocks in clusters of 1 or more, with shared memory each. */
struct double_shape {
	unsigned blocks, threads, cluster, shared_bytes;
};
int double_launch(struct double_function *function,
		  const struct double_shape *shape,
		  struct double_stream *stream, void **arguments);
/* Until the end a launch on the stream goes into the graph and does not run. */
int double_capture_begin(struct double_stream *stream);
int double_capture_end(struct double_stream *stream, struct double_graph **out);
int double_graph_instantiate(struct double_graph **out,
			     const struct double_graph *graph);
int double_graph_destroy(struct double_graph *graph);
int double_graph_launch(struct double_graph *executable,
			struct double_stream *stream);
/* ---- clusters.c: what blocks of a cluster share ---------------------------------- */

struct double_clusters;
struct peali_host_cluster;

/* Dirty memory for each block, which faults once the block has ended. */
struct double_clusters *
double_clusters_create(const struct double_shape *shape);
void double_clusters_free(struct double_clusters *clusters);
/* For the engine: the cluster of a block. */
const struct peali_host_cluster *
double_clusters_of(const struct double_clusters *clusters, unsigned block);
/* A block has ended. */
void double_clusters_left(struct double_clusters *clusters, unsigned block);

/* The stream's kernel dies, and all calls on it say that error. */
void double_kill(struct double_stream *stream, int error);
/* The error that a lost device says to all that uses it; 0: it is there. */
int double_lost(int device);
/* Kernels that run on a device; -1: on any. */
int double_resident(int device);

#endif
