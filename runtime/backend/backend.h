/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEALI_BACKEND_H
#define PEALI_BACKEND_H

#include <stddef.h>
#include <stdint.h>

#include <peal/abi/control.h>
#include <peal/device.h>
#include <peal/program.h>
#include "runtime/backend/error.h"
#include "runtime/backend/space.h"

/*
 * The only seam to the hardware: a table of operations that a backend fills.
 * A backend serves a set of devices, numbered from 0; the runtime numbers the
 * devices of all its backends one after another.
 *
 * Errors: every operation returns 0 or PEAL_E... and has recorded its text with
 * peali_fail. Operations marked (resident) may be called while a kernel is
 * resident; the others may block behind one and belong before the launch.
 * Every operation is thread-safe.
 */

struct peali_backend;
struct peali_launch;
struct peali_window;

/** As a viewer or a place: the host itself. */
#define PEALI_HOST (-1)

enum peali_memory_kind {
	PEALI_MEMORY_DEVICE, /* on a device; zeroed */
	PEALI_MEMORY_HOST /* pinned, the host and every device map it; zeroed */
};

/** An allocation. */
struct peali_memory {
	enum peali_memory_kind kind;
	int device; /* owner; PEALI_HOST for PEALI_MEMORY_HOST */
	uint64_t offset; /* in the owner's heap */
	uint64_t bytes;
};

/** A place that a copy reads or writes. */
struct peali_place {
	int device; /* PEALI_HOST: `address` is a host pointer */
	uint64_t address; /* in the device's own view */
};

/** What is copied from where to where. */
struct peali_move {
	struct peali_place to, from;
	uint64_t bytes;
};

/** A resident launch. */
struct peali_launch_desc {
	int device;
	const struct peal_program *program;
	uint64_t params; /* device's view of struct peal_kernel_params */
	uint32_t n_workers;
	uint32_t lanes;
	int pin; /* may bind workers to cores */
	/* Host's view, of each worker; NULL: the program says no phases. Where
	 * the backend finds that a kernel has ended and some worker has not
	 * said so, it says PEAL_WORKER_FAILED for it. */
	struct peal_worker_status *status;
	uint32_t cluster_workers; /* as in max_clustered; 0: no clusters */
	uint32_t cluster_bytes;
	int epochs; /* workers may return to be launched again */
	int recorded; /* not started now, but by each launch_again */
};

struct peali_peer_info {
	int can_access; /* `from` can map `to`'s memory */
	int atomics; /* native read-modify-write works across */
	const char *kind; /* "nvlink", "pcie", "none", ...; static */
};

/** Something that a backend knows of a device, for people to read. */
struct peali_fact {
	const char *name; /* one word, as in "watchdog"; static */
	char value[48]; /* text, or a number in digits */
};

struct peali_backend_ops {
	const char *name; /* "host", "cuda", "hip" */
	int rings; /* its workers ring the bells of who waits for them; else
		    * waiting threads of the host have to look now and then */

	/* 0 if it can serve devices here; else why not, in reason. */
	int (*probe)(char *reason, size_t reason_bytes);
	int (*open)(struct peali_backend **out);
	/* PEAL_EBUSY while a launch is resident. */
	int (*close)(struct peali_backend *backend);
	int (*device_count)(struct peali_backend *backend);
	/* Fills what it knows; `index` and `backend` are the runtime's. */
	int (*device_info)(struct peali_backend *backend, int device,
			   struct peal_device_info *out);
	/*
	 * What device_info has no member for: at most `most` facts, how many;
	 * what is not known is not among them. (resident)
	 */
	int (*facts)(struct peali_backend *backend, int device,
		     struct peali_fact *out, int most);
	/* bit (1 << enum peal_policy) per policy; the default one. (resident) */
	uint32_t (*policies)(struct peali_backend *backend);
	enum peal_policy (*default_policy)(struct peali_backend *backend);

	/* Suballocates a heap that was made at open. (resident) */
	int (*alloc)(struct peali_backend *backend, enum peali_memory_kind kind,
		     int device, uint64_t bytes, struct peali_memory *out);
	void (*free)(struct peali_backend *backend,
		     const struct peali_memory *memory); /* (resident) */
	/* What a device's heap, or host memory, has free. (resident) */
	int (*room)(struct peali_backend *backend, int device,
		    struct peali_room *out);
	/*
	 * The address at which `viewer` sees the memory, 0 if it does not: the
	 * host sees host memory only, a device its own, host memory, and that
	 * of peers enabled for it. (resident)
	 */
	uint64_t (*view)(struct peali_backend *backend, int viewer,
			 const struct peali_memory *memory);
	/*
	 * One backend serves host memory for all: that of the runtime's first
	 * device. host_range says where all of it lies; 0 bytes: any memory of
	 * the process will do. The others adopt that range, once, before they
	 * are asked host_view: the address at which their devices see a byte
	 * of it, 0 if they do not. (host_view: resident)
	 */
	int (*host_range)(struct peali_backend *backend, void **host_out,
			  uint64_t *bytes_out);
	int (*adopt)(struct peali_backend *backend, void *host, uint64_t bytes);
	uint64_t (*host_view)(struct peali_backend *backend, uint64_t address);
	/* Which allocation of `device` holds [address, +bytes); PEAL_EFAULT. */
	int (*find)(struct peali_backend *backend, int device, uint64_t address,
		    uint64_t bytes, struct peali_memory *out);

	/*
	 * Windows: memory of a device that other processes map. All NULL: the
	 * backend has none; PEAL_ENOTSUP: its devices here have none;
	 * PEAL_EBUSY: a kernel is resident on one of them.
	 *
	 * window_open	*bytes, which are rounded up, all zero; the caller closes
	 *		the descriptor
	 * window_map	that of another process, by its descriptor, which stays the
	 *		caller's
	 * window_view	the address at which a device sees it; 0: it does not
	 *		(resident)
	 * window_wipe	zeros a part of one that was opened here (resident)
	 * window_read	reads up to a page of such a part (resident)
	 * window_close	it is not looked at any more: its memory goes, or does so
	 *		once no kernel is resident (resident)
	 */
	int (*window_open)(struct peali_backend *backend, int device,
			   uint64_t *bytes, struct peali_window **out,
			   int *fd_out);
	int (*window_map)(struct peali_backend *backend, int fd, uint64_t bytes,
			  struct peali_window **out);
	uint64_t (*window_view)(struct peali_backend *backend, int viewer,
				const struct peali_window *window);
	int (*window_wipe)(struct peali_backend *backend,
			   const struct peali_window *window, uint64_t offset,
			   uint64_t bytes);
	int (*window_read)(struct peali_backend *backend,
			   const struct peali_window *window, uint64_t offset,
			   void *to, uint64_t bytes);
	void (*window_close)(struct peali_backend *backend,
			     struct peali_window *window);

	int (*peer_info)(struct peali_backend *backend, int from, int to,
			 struct peali_peer_info *out); /* (resident) */
	/* Maps all memory of `to` into `from`; once per pair. */
	int (*peer_enable)(struct peali_backend *backend, int from, int to);
	int (*peer_disable)(struct peali_backend *backend, int from, int to);

	/* Returns when done. Both places are whole allocations' inside. */
	int (*copy)(struct peali_backend *backend, struct peali_place to,
		    struct peali_place from, uint64_t bytes); /* (resident) */
	/* Several, in any order, with one wait for all of them. */
	int (*copy_all)(struct peali_backend *backend,
			const struct peali_move *moves,
			uint32_t n); /* (resident) */

	/*
	 * Brings a program's code onto a device. PEAL_EPROGRAM no image for it;
	 * PEAL_EBUSY too late: a kernel is resident there.
	 */
	int (*load)(struct peali_backend *backend, int device,
		    const struct peal_program *program);
	/* Most workers of that many lanes that can be resident together. */
	int (*max_workers)(struct peali_backend *backend, int device,
			   const struct peal_program *program, uint32_t lanes,
			   uint32_t *out);
	/*
	 * The same in clusters of so many workers, each with so many bytes of
	 * the memory that a cluster shares. PEAL_ENOTSUP: the device, or the
	 * program's image there, has no clusters; NULL: no device has.
	 */
	int (*max_clustered)(struct peali_backend *backend, int device,
			     const struct peal_program *program, uint32_t lanes,
			     uint32_t cluster_workers, uint32_t cluster_bytes,
			     uint32_t *out);
	int (*launch)(struct peali_backend *backend,
		      const struct peali_launch_desc *desc,
		      struct peali_launch **out);
	/*
	 * Starts a recorded launch, of which no worker runs; between its runs
	 * it takes no room. To record one is PEAL_EBUSY while any kernel is
	 * resident on the device, and PEAL_ENOTSUP where launches cannot be
	 * recorded; NULL: nowhere. (resident)
	 */
	int (*launch_again)(struct peali_launch *launch);
	/* Workers that have not returned for good. (resident) */
	int (*launch_query)(struct peali_launch *launch);
	/* Waits for all workers to return; PEAL_ETIMEDOUT. (resident) */
	int (*launch_wait)(struct peali_launch *launch, int64_t timeout_ns);
	/* PEAL_EBUSY while workers run. */
	int (*launch_free)(struct peali_launch *launch);
};

/** What every backend's private struct begins with. */
struct peali_backend {
	const struct peali_backend_ops *ops;
};

extern const struct peali_backend_ops peali_host_backend, peali_cuda_backend,
	peali_hip_backend;

/** All backends that are built in, in the order of their devices; NULL ends. */
extern const struct peali_backend_ops *const peali_backends[];

#endif
