/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEALI_BACKEND_H
#define PEALI_BACKEND_H

#include <stddef.h>
#include <stdint.h>

#include <peal/abi/control.h>
#include <peal/device.h>
#include <peal/program.h>
#include "runtime/base/error.h"
#include "runtime/device/range_alloc.h"

/*
 * The interface between the runtime and the hardware: a table of operations
 * that each backend implements.
 *
 * A backend serves a set of devices with numbers from 0. The runtime numbers
 * the devices of all its backends consecutively.
 *
 * Errors: every operation returns 0 or PEAL_E... and records the error text by
 * peali_fail. Operations marked (resident) may be called while a kernel is
 * resident. All other operations may block until a resident kernel ends, so
 * call them before the launch. Every operation is thread-safe.
 */

struct peali_backend;
struct peali_launch;
struct peali_window;

/** The host itself, as the viewer of memory or as the device of a place. */
#define PEALI_HOST (-1)

enum peali_memory_kind {
	PEALI_MEMORY_DEVICE, /* on a device; zeroed */
	/* pinned host memory, mapped by every device; zeroed */
	PEALI_MEMORY_HOST,
	/* of managed_alloc: moves between the host and the devices; zeroed */
	PEALI_MEMORY_MANAGED
};

/** An allocation. */
struct peali_memory {
	enum peali_memory_kind kind;
	int device; /* owner; PEALI_HOST for memory of no device */
	/* in the owner's heap; its address for PEALI_MEMORY_MANAGED */
	uint64_t offset;
	uint64_t bytes;
};

/** A source or destination address of a copy. */
struct peali_place {
	int device; /* PEALI_HOST: `address` is a host pointer */
	uint64_t address; /* in the device's own view */
};

/** One copy: destination, source and size. */
struct peali_copy_op {
	struct peali_place to, from;
	uint64_t bytes;
};

/** Parameters of a launch. */
struct peali_launch_desc {
	int device;
	const struct peal_program *program;
	uint64_t params; /* the device's view of struct peal_kernel_params */
	uint32_t n_workers;
	uint32_t lanes;
	int pin; /* 1: the backend may bind workers to cores */
	/*
	 * Status of each worker, in the host's view. NULL: the program reports
	 * no phases. A kernel may end without a final phase of some worker. The
	 * backend then sets the phase of that worker to PEAL_WORKER_FAILED.
	 */
	struct peal_worker_status *status;
	uint32_t cluster_workers; /* of each cluster; 0: no clusters */
	uint32_t cluster_bytes;
	uint32_t hot_bytes; /* shared memory for each worker's hot tables */
	/* 1: the backend launches workers again that return for a new epoch */
	int epochs;
	/*
	 * n > 0: record only. Each launch_again runs the kernel n times, one
	 * run after another.
	 */
	int recorded;
};

/** Workers of a program that can be resident together. */
struct peali_capacity {
	uint32_t workers; /* beside the resident kernels */
	/*
	 * In percent of a multiprocessor: what a worker takes, and the most
	 * that is free on one. 0 and 0: the backend has no multiprocessors.
	 */
	uint32_t percent_worker, percent_free;
};

struct peali_peer_info {
	int can_access; /* `from` can map the memory of `to` */
	int atomics; /* native read-modify-write works across the two devices */
	const char *kind; /* "nvlink", "pcie", "none", ...; static */
};

/** A property of a device, for output to the user. */
struct peali_fact {
	const char *name; /* one word, as in "watchdog"; static */
	char value[48]; /* text, or a number in digits */
};

struct peali_backend_ops {
	const char *name; /* "host", "cuda", "hip" */
	/*
	 * 1: workers ring the bells of waiting threads (see peal_bell). 0:
	 * waiting host threads have to poll.
	 */
	int rings;
	/* Most bytes of hot tables that a worker can have in the shared memory
	 * of its block, see <peal/device/impl/worker/hot_tables.h>. */
	uint32_t hot_bytes_max;
	/* 1: pairs are probed at their first use, also beside resident kernels.
	 * 0: all pairs are probed before the first kernel. */
	int late_probes;

	/* Returns 0 if it can serve devices here, else fills `reason`. */
	int (*probe)(char *reason, size_t reason_bytes);
	int (*open)(struct peali_backend **out);
	/* Returns PEAL_EBUSY while a launch is not freed. */
	int (*close)(struct peali_backend *backend);
	int (*device_count)(struct peali_backend *backend);
	/*
	 * Fills the members that it knows; the runtime sets `index` and
	 * `backend`.
	 */
	int (*device_info)(struct peali_backend *backend, int device,
			   struct peal_device_info *out);
	/*
	 * Lists properties that device_info has no member for. Writes at most
	 * `most` facts and returns their number. Unknown properties are left
	 * out. (resident)
	 */
	int (*facts)(struct peali_backend *backend, int device,
		     struct peali_fact *out, int most);
	/*
	 * Bit (1 << enum peal_slot_policy) for each supported policy, and the
	 * default policy. (resident)
	 */
	uint32_t (*policies)(struct peali_backend *backend);
	enum peal_slot_policy (*default_policy)(struct peali_backend *backend);

	/* Allocates from a heap that open has made. (resident) */
	int (*alloc)(struct peali_backend *backend, enum peali_memory_kind kind,
		     int device, uint64_t bytes, struct peali_memory *out);
	void (*free)(struct peali_backend *backend,
		     const struct peali_memory *memory); /* (resident) */
	/*
	 * Returns the free space of a device's heap or of host memory.
	 * (resident)
	 */
	int (*usage)(struct peali_backend *backend, int device,
		     struct peali_heap_usage *out);
	/*
	 * Returns the address at which `viewer` sees the memory, or 0 if it
	 * does not. The host sees host memory only. A device sees its own
	 * memory, host memory, and the memory of peers enabled for it.
	 * (resident)
	 */
	uint64_t (*view)(struct peali_backend *backend, int viewer,
			 const struct peali_memory *memory);
	/*
	 * The backend of the runtime's first device provides the host memory
	 * for all backends. host_range returns its address range. 0 bytes: the
	 * backend accepts any memory of the process. Every other backend adopts
	 * this range once.
	 *
	 * After that, host_view returns the address at which the devices of the
	 * backend see a byte of the range. It returns 0 if they do not see the
	 * byte. (host_view: resident)
	 */
	int (*host_range)(struct peali_backend *backend, void **host_out,
			  uint64_t *bytes_out);
	int (*adopt)(struct peali_backend *backend, void *host, uint64_t bytes);
	uint64_t (*host_view)(struct peali_backend *backend, uint64_t address);
	/*
	 * Finds the allocation that holds [address, +bytes), or returns
	 * PEAL_EFAULT.
	 */
	int (*find)(struct peali_backend *backend, int device, uint64_t address,
		    uint64_t bytes, struct peali_memory *out);

	/*
	 * Managed memory: the host and all devices of the backend see it at one
	 * address. The driver moves its pages. NULL: the backend has none.
	 *
	 * managed_alloc returns PEAL_ENOTSUP if a device cannot access such
	 * memory while the host does. It returns PEAL_EBUSY while a kernel is
	 * resident on a device of the backend. `free` (resident) frees the memory now,
	 * or later, when no kernel is resident.
	 */
	int (*managed_alloc)(struct peali_backend *backend, uint64_t bytes,
			     struct peali_memory *out);
	/*
	 * Moves the pages of a range to a device or the host (PEALI_HOST), and
	 * waits for them. (resident)
	 */
	int (*managed_prefetch)(struct peali_backend *backend, int device,
				uint64_t address, uint64_t bytes);
	/*
	 * Gives the driver an enum peal_buffer_advice about a range. PEAL_EBUSY: a
	 * kernel is resident on a device of the backend.
	 */
	int (*managed_advise)(struct peali_backend *backend, int device,
			      uint64_t address, uint64_t bytes, int advice);

	/*
	 * Windows: device memory that other processes map. If all operations
	 * are NULL, the backend has no windows. PEAL_ENOTSUP: these devices
	 * have no windows. PEAL_EBUSY: a kernel is resident on a device of the
	 * backend.
	 *
	 * window_open allocates a zeroed window and rounds *bytes up. The
	 * caller closes *fd_out.
	 */
	int (*window_open)(struct peali_backend *backend, int device,
			   uint64_t *bytes, struct peali_window **out,
			   int *fd_out);
	/*
	 * Maps a window of another process by its descriptor. The caller keeps
	 * the descriptor.
	 */
	int (*window_map)(struct peali_backend *backend, int fd, uint64_t bytes,
			  struct peali_window **out);
	/*
	 * Returns the address at which a device sees the window; 0: it does not
	 * see it. (resident)
	 */
	uint64_t (*window_view)(struct peali_backend *backend, int viewer,
				const struct peali_window *window);
	/*
	 * Sets a part of a window to zero. This process opened the window.
	 * (resident)
	 */
	int (*window_wipe)(struct peali_backend *backend,
			   const struct peali_window *window, uint64_t offset,
			   uint64_t bytes);
	/*
	 * Reads at most one page of a window. This process opened the window.
	 * (resident)
	 */
	int (*window_read)(struct peali_backend *backend,
			   const struct peali_window *window, uint64_t offset,
			   void *to, uint64_t bytes);
	/*
	 * Ends the use of a window. Its memory is freed now, or later, when no
	 * kernel is resident. (resident)
	 */
	void (*window_close)(struct peali_backend *backend,
			     struct peali_window *window);

	int (*peer_info)(struct peali_backend *backend, int from, int to,
			 struct peali_peer_info *out); /* (resident) */
	/*
	 * Lets `from` access all memory of `to`. PEAL_EALREADY: it is enabled.
	 */
	int (*peer_enable)(struct peali_backend *backend, int from, int to);
	int (*peer_disable)(struct peali_backend *backend, int from, int to);

	/*
	 * Copies and returns when the copy is complete. Each device range lies
	 * inside of one allocation.
	 */
	int (*copy)(struct peali_backend *backend, struct peali_place to,
		    struct peali_place from, uint64_t bytes); /* (resident) */
	/* Copies several moves in any order, with one wait for all of them. */
	int (*copy_all)(struct peali_backend *backend,
			const struct peali_copy_op *moves,
			uint32_t n); /* (resident) */

	/*
	 * Loads a program's code onto a device. PEAL_EPROGRAM: no image fits
	 * the device. PEAL_EBUSY: too late, a kernel is resident there.
	 */
	int (*load)(struct peali_backend *backend, int device,
		    const struct peal_program *program);
	/*
	 * Counts the workers of a launch that can be resident together, beside
	 * the resident kernels. Reads the fields lanes, cluster_workers,
	 * cluster_bytes and hot_bytes of the shape.
	 *
	 * With clusters, each worker has cluster_bytes of the memory that its
	 * cluster shares. PEAL_ENOTSUP: the backend, the device or the
	 * program's image has no clusters. PEAL_ENOSPC: the bytes exceed the
	 * limit.
	 */
	int (*max_workers)(struct peali_backend *backend, int device,
			   const struct peal_program *program,
			   const struct peali_launch_desc *shape,
			   struct peali_capacity *out);
	/*
	 * Tests whether the device's kernels and copies wait for each other.
	 * Kernels that would wait are not started later. `probe` is the program
	 * of the probe, and it is loaded. Call it before each launch: it does
	 * nothing after its first success. PEAL_ENOSPC: no kernel can run
	 * beside copies. NULL: nothing waits.
	 */
	int (*test_streams)(struct peali_backend *backend, int device,
			    const struct peal_program *probe);
	int (*launch)(struct peali_backend *backend,
		      const struct peali_launch_desc *desc,
		      struct peali_launch **out);
	/*
	 * Starts a recorded launch. None of its workers runs. Between two runs
	 * it occupies no part of the device. (resident)
	 *
	 * A launch is recorded by `launch` with desc->recorded. `launch`
	 * returns PEAL_EBUSY while any kernel is resident on the device. It
	 * returns PEAL_ENOTSUP if launches cannot be recorded. NULL: the
	 * backend records no launches.
	 */
	int (*launch_again)(struct peali_launch *launch);
	/* Returns the number of workers that have not ended. (resident) */
	int (*launch_query)(struct peali_launch *launch);
	/* Waits until all workers have ended; PEAL_ETIMEDOUT. (resident) */
	int (*launch_wait)(struct peali_launch *launch, int64_t timeout_ns);
	/*
	 * Returns the worker that has ended the launch by a crash; -1: none, or
	 * unknown. NULL: the backend does not know it. (resident)
	 */
	int (*launch_culprit)(struct peali_launch *launch);
	/* Frees a launch. PEAL_EBUSY: workers run. */
	int (*launch_free)(struct peali_launch *launch);
};

/** First member of every backend's private struct. */
struct peali_backend {
	const struct peali_backend_ops *ops;
};

extern const struct peali_backend_ops peali_host_backend, peali_cuda_backend,
	peali_hip_backend;

/** All backends of this build in the order of their devices; NULL ends. */
extern const struct peali_backend_ops *const peali_backends[];

/** Their names, for an error text. */
#define PEALI_BACKEND_NAMES                                                    \
	(PEAL_SIM ? "host, in a simulator" : "cuda, hip and host")

/** Returns 1 if a backend is the host backend, also with its own operations. */
int peali_backend_is_host(const struct peali_backend *backend);

/** Returns 1 if this build has a backend with the first n bytes of a name. */
int peali_backend_is_known(const char *name, size_t n);

#endif
