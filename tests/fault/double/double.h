/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DOUBLE_H
#define DOUBLE_H

#include <stddef.h>
#include <stdint.h>

#include "runtime/device/host/clock_skew.h"
#include "runtime/device/host/links.h"
#include "units.h"

/*
 * Shared by the driver doubles of this folder. A double has up to 64 devices.
 * Their memory is memory of the process. A launch runs the program's host entry
 * on threads, by the engine of the host backend. The double finds entry and
 * engine in the executable, which must export its symbols. The backend shows
 * the devices as emulated. ptx.h describes the other engine, the PTX machine.
 *
 * A double checks that its caller keeps the driver's contract. If the caller
 * breaks the contract, the process ends with a line that names the reason. The
 * header runtime/device/gpu/driver.h lists the calls that are forbidden while
 * a kernel is resident.
 *
 * Environment:
 *	PEAL_DOUBLE_DEVICES	else PEAL_HOST_DEVICES, else 2
 *	PEAL_DOUBLE_LINKS	else PEAL_HOST_LINKS, in its grammar
 *	PEAL_DOUBLE_CLOCKS	else PEAL_HOST_CLOCKS, in its grammar
 *	PEAL_DOUBLE_ARCH	architecture of the devices, "sm_90" or
 *				"gfx90a:sramecc+:xnack-"
 *	PEAL_DOUBLE_UNITS	multiprocessors of a device, 32
 *	PEAL_DOUBLE_LANES	most lanes of a function, 1024
 *	PEAL_DOUBLE_REGISTERS	registers of a lane that runs host code, 32
 *	PEAL_DOUBLE_WATCHDOG	ms after which a kernel ends with an error, as on
 *				a GPU with a display; 0: never
 *	PEAL_DOUBLE_LOCAL	NAME:BYTES, commas between: local memory of a
 *				lane of a program that runs host code; CUDA only
 *	PEAL_DOUBLE_CLOCK_KHZ	rate of the clock of a device, 25000; HIP only
 *	PEAL_DOUBLE_ALIAS	N:M, commas between: pairs of streams of a device
 *				that share a hardware queue, numbered from 0 as
 *				they are created
 *	PEAL_DOUBLE_FAIL	SYMBOL:ERROR:N, commas between: call N fails,
 *				from 1; 0: all calls; -N: call N and all later
 *				ones
 *	PEAL_DOUBLE_VERSION	of the driver, as CUDA numbers them, 13000
 *	PEAL_DOUBLE_LACK	missing symbols, commas between; CUDA only
 *	PEAL_DOUBLE_ATTRIBUTES	NUMBER:VALUE, commas between: values of device
 *				attributes, instead of the double's own
 */

#define DOUBLE_BLOCKS_PER_UNIT 8
#define DOUBLE_UNITS_OF_GROUP 14 /* multiprocessors that can share a cluster */
/* Shared memory, in bytes. */
#define DOUBLE_SHARED_UNIT 233472 /* of a multiprocessor */
#define DOUBLE_SHARED_MOST 232448 /* most of a block */
#define DOUBLE_SHARED_PLAIN 49152 /* most of a block by default */
#define DOUBLE_SHARED_OWN 256 /* static memory of a program's function */
#define DOUBLE_SHARED_DRIVER 1024 /* that the driver takes per block */

/* The kernel that copies for HIP, see double_copy_kernel_bytes(). */
#define DOUBLE_COPY_LANES 256
#define DOUBLE_COPY_REGISTERS 32

/* Errors with equal numbers in CUDA and HIP. */
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
	DOUBLE_TIMEOUT = 702,
	DOUBLE_PEER_TWICE = 704,
	DOUBLE_LAUNCH_FAILED = 719,
	DOUBLE_TOO_LARGE = 720,
	DOUBLE_NOT_SUPPORTED = 801
};

/** Resources of the driver that a double counts. */
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
	DOUBLE_GRAPH, /* including executable graphs */
	DOUBLE_THINGS
};

struct double_stream;
struct double_function;
struct double_graph;

/* Properties of a vendor, defined by its front. */
struct double_vendor {
	const char *arch; /* default architecture */
	int machine; /* ELF machine of its images */
	int is_cuda;
};
extern const struct double_vendor double_vendor;

/*
 * Begins a call of the symbol: counts it and checks the contract for the
 * current device. Returns the error that the call must return, or 0.
 */
int double_call(const char *symbol);
/* Begins a call of the driver, and returns its planted error. */
#define CALL(symbol)                                                           \
	do {                                                                   \
		int error_ = double_call(symbol);                              \
                                                                               \
		if (error_)                                                    \
			return error_;                                         \
	} while (0)
/* Returns the current device of the calling thread; -1: none. */
int double_current(void);
_Noreturn void double_broken(const char *what, ...)
	__attribute__((format(printf, 1, 2)));
/* Ends the process for a wrong value of an environment variable. */
_Noreturn void double_refuse(const char *variable, const char *what, ...)
	__attribute__((format(printf, 2, 3)));
void double_count(enum double_thing thing, int change);
/*
 * Returns the bytes up to which HIP copies by a kernel. HIP reads the limits in
 * KiB from GPU_FORCE_BLIT_COPY_SIZE and, between devices, ROC_P2P_SDMA_SIZE,
 * when it is loaded (ROCclr, utils/flags.hpp). Without the first one, versions
 * of HIP differ, and the double takes 16.
 */
size_t double_copy_kernel_bytes(int between_devices);
/*
 * Reads the hardware queues of a device from the variable of the driver, once.
 * HIP reads its flags when it is loaded, and CUDA when it is initialised.
 */
void double_read_queues(void);
int double_queues(void);
/* Returns 1 if PEAL_DOUBLE_LACK names the symbol. */
int double_lacks(const char *symbol);

int double_n_devices(void);
uint32_t double_units(void);
uint32_t double_max_lanes(void);
/* Returns the time limit of a kernel in ms; 0: none. */
uint32_t double_watchdog_ms(void);
/* Returns the rate of the clock that code of HIP reads, in kHz. */
int double_clock_khz(void);
/* Returns the registers of a lane that runs host code. */
uint32_t double_lane_registers(void);
int double_version(void);
const char *double_arch(void);
/* Returns 1 and the value if PEAL_DOUBLE_ATTRIBUTES names the attribute. */
int double_attribute(int attribute, int *value);
/* Returns the text of the links of the devices; "": the default. */
const char *double_links(void);
/* Returns the link of an ordered pair of devices. */
struct peali_link_pair double_link(int from, int to);
/* Returns the access of an ordered pair: 0 none, 1 access, 2 with atomics. */
int double_access(int from, int to);
/* Returns a device's clock. By default it differs from the host's clock. */
struct peali_clock_skew double_clock(int device);
/* Returns the time of the clock of the calling thread's device. */
uint64_t double_clock_ns(void);

/* ---- memory -------------------------------------------------------------- */

int double_alloc(uint64_t *address, size_t bytes);
int double_free(uint64_t address);
int double_managed_alloc(uint64_t *address, size_t bytes, unsigned flags);
#define DOUBLE_PREFETCH 0 /* in place of an advice, which counts from 1 */
/*
 * Returns the error of a prefetch or an advice, or records it and returns 0. The
 * range must be in one managed allocation. Device -1 is the host. concurrent: 1
 * if devices access managed memory while the host does.
 */
int double_managed_request(uint64_t address, size_t bytes, int device,
			   int advice, int concurrent);
int double_host_alloc(void **address, size_t bytes);
int double_host_free(void *address);
int double_host_register(void *address, size_t bytes);
int double_host_unregister(void *address);
/* Returns 1 if all of the memory is host memory of the driver. */
int double_is_host(uint64_t address, size_t bytes);
int double_reserve(uint64_t *address, size_t bytes);
int double_unreserve(uint64_t address, size_t bytes);
int double_create(uint64_t *handle, size_t bytes, int device, int exportable);
/* Returns a file descriptor of the memory. Any process can import it. */
int double_export(int *fd_out, uint64_t handle);
int double_import(uint64_t *handle, int fd);
int double_release(uint64_t handle);
int double_map(uint64_t address, size_t bytes, uint64_t handle);
int double_unmap(uint64_t address, size_t bytes);
int double_set_access(uint64_t address, size_t bytes, int device);
/* Returns the device of the memory; -1: none. */
int double_owner(uint64_t address);
/* Finds the memory around an address that kernels of the device can access.
 * Returns 1 and sets its first address and its size, or returns 0. */
int double_sees(int device, uint64_t address, uint64_t *from, uint64_t *bytes);
/* Returns a number that changes when answers of double_sees() change. */
uint64_t double_generation(void);
/* Sets the peers of a device, a bit for each: it accesses their memory. */
void double_peers_set(int device, uint64_t enabled);
/* Returns zeroed memory that all kernels can access. */
void *double_scratch(size_t bytes);
void double_scratch_free(void *scratch);
int double_copy(uint64_t to, uint64_t from, size_t bytes,
		struct double_stream *stream);
int double_fill(uint64_t to, uint8_t value, size_t bytes,
		struct double_stream *stream);

/* ---- kernels ------------------------------------------------------------- */

/* The stream's kernels run on these multiprocessors. */
int double_stream_create(struct double_stream **out, struct double_range units);
int double_stream_destroy(struct double_stream *stream);
int double_stream_query(struct double_stream *stream);
int double_stream_wait(struct double_stream *stream);
/* Notes a copy on the stream. It ends behind all earlier work of its queue. */
void double_stream_copied(struct double_stream *stream);
int double_module_load(void **module, const void *image);
int double_module_unload(void *module);
/* Returns the address of the module's ns per tick; 0: none, as on CUDA. */
uint64_t double_module_scale(void *module);
int double_module_function(struct double_function **out, void *module,
			   const char *name);
int double_occupancy(int *blocks, const struct double_function *function,
		     int threads, size_t shared_bytes);
/* Returns the most lanes of a block of the function, by its registers. */
int double_function_lanes(const struct double_function *function);
/* Returns the bytes of static shared memory of a block of the function. */
int double_function_static(const struct double_function *function);
/* Returns the local memory of a lane of the function, in bytes. */
int double_function_local(const struct double_function *function);
/* Sets the local memory of each lane on a device, in bytes. */
int double_limit_local(int device, size_t bytes);
/* Returns the local memory of each lane on a device, in bytes. */
size_t double_local(int device);
/* Sets the wish for the division of shared memory, in percent. */
int double_function_carveout(struct double_function *function, int percent);
/* Sets the most shared memory of a block of the function. */
int double_function_shared(struct double_function *function, int most);
/** A grid. `cluster`: blocks of a cluster. `shared_bytes`: of a block. */
struct double_shape {
	unsigned blocks, threads, cluster, shared_bytes;
};
int double_launch(struct double_function *function,
		  const struct double_shape *shape,
		  struct double_stream *stream, void **arguments);
/* Until double_capture_end, the graph records launches on the stream. They do
 * not run. */
int double_capture_begin(struct double_stream *stream);
int double_capture_end(struct double_stream *stream, struct double_graph **out);
int double_graph_instantiate(struct double_graph **out,
			     const struct double_graph *graph);
int double_graph_destroy(struct double_graph *graph);
int double_graph_launch(struct double_graph *executable,
			struct double_stream *stream);
/* ---- clusters.c: shared memory of a cluster ------------------------------ */

struct double_clusters;
struct peali_host_cluster;

/* Makes dirty memory for each block. An access after the block's end faults. */
struct double_clusters *
double_clusters_create(const struct double_shape *shape);
void double_clusters_free(struct double_clusters *clusters);
/* Returns the cluster of a block, for the engine. */
const struct peali_host_cluster *
double_clusters_of(const struct double_clusters *clusters, unsigned block);
/* Makes the memory of a block that has ended inaccessible. */
void double_clusters_left(struct double_clusters *clusters, unsigned block);

/* Kills the stream's kernel. All calls on the stream then return the error. */
void double_kill(struct double_stream *stream, int error);
/* A kernel has caused a fault: the device is lost, and its kernels end. */
void double_fault(int device, int error);
/* Returns the error of a lost device; 0: not lost. */
int double_lost(int device);
/* Returns the number of kernels on a device; device -1: on all devices. */
int double_resident(int device);

#endif
