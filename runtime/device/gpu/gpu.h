/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEALI_GPU_H
#define PEALI_GPU_H

#include <pthread.h>

#include "runtime/device/backend.h"
#include "runtime/device/gpu/driver.h"
#include "runtime/device/image.h"
#include "runtime/device/range_alloc.h"

/*
 * Private state of a GPU backend, shared by its files. All vendors use one code
 * path.
 *
 * `lock` guards the bookkeeping of heaps, pairs, programs, launches and
 * windows. Each device's `copy_lock` admits one copy at a time. No thread takes
 * a copy_lock while it holds `lock`.
 *
 * Some driver calls may wait until a resident kernel ends, see driver.h. They
 * are made when the backend opens, or before the first launch on a device.
 */

/* Most resident kernels per device: see n_streams. */
#define PEALI_GPU_STREAMS 16
#define PEALI_GPU_PARTS_MAX 8
#define PEALI_GPU_STAGE_BYTES ((uint64_t)1 << 20)
/* result of stream_query for a busy stream, CUDA and HIP */
#define PEALI_GPU_NOT_READY 600

/** A program on one device. */
struct peali_gpu_program {
	struct peali_gpu_program *next;
	const struct peal_program *program;
	void *module, *function;
	/* most lanes of a worker, limited by the registers of the code */
	int max_lanes;
	/*
	 * most shared bytes of a worker in a cluster; 0: the code cannot run in
	 * clusters
	 */
	uint32_t cluster_bytes;
};

/** The resident blocks of a multiprocessor. */
struct peali_gpu_unit {
	double used; /* the part that they take, 0 to 1 */
	uint32_t blocks;
};

/* Policies of placement that capacity.c follows. */
#define PEALI_GPU_POLICIES 2

/** The multiprocessors of a device, a row for each policy. */
struct peali_gpu_grid_units {
	uint32_t n; /* in a row */
	struct peali_gpu_unit *unit;
};

/** What fits on an empty device. */
struct peali_gpu_fit {
	uint32_t per_unit; /* blocks on a multiprocessor */
	uint32_t blocks; /* on the device */
};

/** Where the blocks of a launch are. */
struct peali_gpu_placement {
	struct peali_gpu_fit fit;
	uint32_t n_blocks;
	struct peali_gpu_grid_units *grid; /* NULL: not placed */
	uint32_t *unit; /* by policy and block */
};

/** A device, or one part of a device. */
struct peali_gpu_device {
	int ordinal; /* the driver's number of the device */
	int handle; /* the driver's handle */
	/* part index and number of parts; 0 of 1: the whole device */
	int part, parts;
	void *state; /* from device_open; part 0 owns it */
	char name[64], uuid[40], architecture[64], pci[24];
	uint32_t units, max_lanes;
	int cooperative, maps_host, host_atomics;
	int manages; /* accesses managed memory while the host does */
	uint32_t max_cluster_workers; /* 0: no clusters */
	/* the heap */
	struct peali_suballoc space;
	uint64_t base, handle_of_memory;
	int mapped;
	/* kernels */
	/* context of an isolated part; NULL: the part is not isolated */
	void *green;
	int n_streams; /* streams in use; also the most kernels at a time */
	void *stream[PEALI_GPU_STREAMS];
	struct peali_launch *resident[PEALI_GPU_STREAMS]; /* by stream */
	struct peali_gpu_program *programs; /* list of part 0, for all parts */
	int tested; /* part 0: its streams do not wait for each other */
	double share; /* fraction of the device that resident kernels use */
	struct peali_gpu_grid_units grid; /* all of the whole device */
	/* recorded launches, freed but not destroyed */
	struct peali_launch *freed;
	/* the driver's error if a kernel has failed or hangs; 0: usable */
	int lost;
	const char *lost_by; /* the call that returned `lost` */
	/* copies */
	pthread_mutex_t copy_lock;
	void *copy_stream; /* of part 0; all parts use it */
	uint8_t *stage; /* pinned stage buffer, PEALI_GPU_STAGE_BYTES */
};

/** Access of one device to another; an ordered pair. */
struct peali_gpu_pair {
	uint8_t can_access, atomics, enabled;
	int limit; /* the driver's error if it refused access; else 0 */
};

struct peali_gpu {
	struct peali_backend base;
	struct peali_gpu_driver driver;
	pthread_mutex_t lock;
	int n_devices;
	struct peali_gpu_device *device;
	struct peali_gpu_pair *pair; /* [from * n_devices + to] */
	uint64_t heap_bytes; /* of each device */
	uint64_t range, range_bytes; /* all heaps; 0: plain allocations */
	/* host memory */
	struct peali_suballoc host_space;
	uint8_t *host;
	uint64_t host_bytes;
	uint64_t host_device; /* address of `host` for all devices */
	const uint8_t *zero; /* PEALI_GPU_STAGE_BYTES of zeros in `host` */
	struct peali_window *windows;
	struct peali_gpu_managed *managed; /* list, see managed.c */
	void *adopted; /* memory of another backend, registered here */
	uint64_t adopted_bytes, adopted_device;
	/* the monitor thread, see launch.c */
	pthread_t monitor;
	pthread_cond_t monitor_wake;
	int has_monitor, monitor_stop;
	int n_launches; /* launches that are not freed */
};

static inline struct peali_gpu *peali_gpu_of(struct peali_backend *backend)
{
	return (struct peali_gpu *)backend;
}

/*
 * Sets the variables of a driver before the process uses it, once. Returns the
 * hardware queues of a device. Other threads may not use the environment
 * meanwhile.
 */
int peali_gpu_variables(const struct peali_gpu_vendor *vendor);

/* Checks a device number. Returns 0, or PEAL_ENODEV with a text for `call`. */
int peali_gpu_check(const struct peali_gpu *gpu, int device, const char *call);

static inline struct peali_gpu_pair *peali_gpu_pair(struct peali_gpu *gpu,
						    int from, int to)
{
	return &gpu->pair[from * gpu->n_devices + to];
}

/* ---- errors.c ------------------------------------------------------------ */

/* Returns the PEAL_E... code for a driver's error; 0 for 0. */
int peali_gpu_code(int error);
/*
 * Records that a driver call failed. The error text has the device (-1: none)
 * and the formatted purpose. It also has the call's symbol, the driver's name
 * for the error, and a remedy. Returns the PEAL_E... code; 0 if `error` is 0.
 */
int peali_gpu_fail(struct peali_gpu *gpu, int device, int error,
		   const char *symbol, const char *call, const char *format,
		   ...) __attribute__((format(printf, 6, 7)));

/* Returns the name of a member's symbol, for peali_gpu_fail. */
#define PEALI_GPU_SYMBOL(gpu, member)                                          \
	PEALI_GPU_SYMBOL_OF(&(gpu)->driver, member)

/* ---- open.c -------------------------------------------------------------- */

int peali_gpu_probe(const struct peali_gpu_vendor *vendor, char *reason,
		    size_t reason_bytes);
int peali_gpu_open(const struct peali_gpu_vendor *vendor,
		   const struct peali_backend_ops *ops,
		   struct peali_backend **out);
int peali_gpu_close(struct peali_backend *backend);

/*
 * Makes a device current for the calling thread. Returns 0, or an error code
 * with a recorded text.
 */
int peali_gpu_enter(struct peali_gpu *gpu, int device, const char *call,
		    void **before);
void peali_gpu_leave(struct peali_gpu *gpu, void *before);
/* Reads an enum peali_gpu_attribute; 0: the driver does not report it. */
int peali_gpu_attribute(struct peali_gpu *gpu, int device, int which);

/*
 * Ends the isolation of a device's parts. From then on each part has a budget
 * of multiprocessors. No kernel may be resident on the device. The thread has
 * entered the device. Returns the driver's error.
 */
int peali_gpu_share_units(struct peali_gpu *gpu, int device);

/* ---- heap.c: memory of devices and of the host --------------------------- */

int peali_gpu_heaps_open(struct peali_gpu *gpu);
void peali_gpu_heaps_close(struct peali_gpu *gpu);
int peali_gpu_alloc(struct peali_backend *backend, enum peali_memory_kind kind,
		    int device, uint64_t bytes, struct peali_memory *out);
void peali_gpu_free(struct peali_backend *backend,
		    const struct peali_memory *memory);
int peali_gpu_usage(struct peali_backend *backend, int device,
		    struct peali_heap_usage *out);
uint64_t peali_gpu_view(struct peali_backend *backend, int viewer,
			const struct peali_memory *memory);
uint64_t peali_gpu_host_view(struct peali_backend *backend, uint64_t address);
/* Works as peali_gpu_host_view, for pinned memory only. */
uint64_t peali_gpu_pinned_view(const struct peali_gpu *gpu, uint64_t address);
int peali_gpu_adopt(struct peali_backend *backend, void *host, uint64_t bytes);
int peali_gpu_host_range(struct peali_backend *backend, void **host_out,
			 uint64_t *bytes_out);
int peali_gpu_find(struct peali_backend *backend, int device, uint64_t address,
		   uint64_t bytes, struct peali_memory *out);
/* Returns 1 if all devices have an enum peali_gpu_attribute. */
int peali_gpu_all_have(struct peali_gpu *gpu, int which);
/*
 * Describes device memory for driver->create. exportable: 1 if a descriptor
 * will be exported, else 0.
 */
struct peali_gpu_memory_kind peali_gpu_memory_kind(struct peali_gpu *gpu,
						   int device, int exportable);
/* Sets device memory to zero. No kernel may be resident there. */
int peali_gpu_clear(struct peali_gpu *gpu, int device, uint64_t address,
		    uint64_t bytes, const char *call);

/* ---- managed.c: managed memory ------------------------------------------- */

/* Returns 1 if the driver has all calls for managed memory. */
int peali_gpu_has_managed(const struct peali_gpu *gpu);
int peali_gpu_managed_alloc(struct peali_backend *backend, uint64_t bytes,
			    struct peali_memory *out);
void peali_gpu_managed_free(struct peali_gpu *gpu, uint64_t address);
/*
 * Frees the memory that was closed while a kernel was resident, unless a kernel
 * is resident. The caller holds gpu->lock.
 */
void peali_gpu_managed_sweep(struct peali_gpu *gpu);
int peali_gpu_managed_prefetch(struct peali_backend *backend, int device,
			       uint64_t address, uint64_t bytes);
int peali_gpu_managed_advise(struct peali_backend *backend, int device,
			     uint64_t address, uint64_t bytes, int advice);
/* Returns 1 if an address is in managed memory. */
int peali_gpu_is_managed(struct peali_gpu *gpu, uint64_t address);
/* Frees all managed memory. No kernel may be resident. */
void peali_gpu_managed_close(struct peali_gpu *gpu);

/* ---- window.c ------------------------------------------------------------ */

int peali_gpu_window_open(struct peali_backend *backend, int device,
			  uint64_t *bytes, struct peali_window **out,
			  int *fd_out);
int peali_gpu_window_map(struct peali_backend *backend, int fd, uint64_t bytes,
			 struct peali_window **out);
uint64_t peali_gpu_window_view(struct peali_backend *backend, int viewer,
			       const struct peali_window *window);
int peali_gpu_window_wipe(struct peali_backend *backend,
			  const struct peali_window *window, uint64_t offset,
			  uint64_t bytes);
int peali_gpu_window_read(struct peali_backend *backend,
			  const struct peali_window *window, uint64_t offset,
			  void *to, uint64_t bytes);
void peali_gpu_window_close(struct peali_backend *backend,
			    struct peali_window *window);
/* Returns 1 if a kernel is resident on any device. The caller holds gpu->lock. */
int peali_gpu_any_busy(const struct peali_gpu *gpu);
/* Frees all windows. No kernel may be resident. */
void peali_gpu_windows_close(struct peali_gpu *gpu);

/* ---- peers.c ------------------------------------------------------------- */

/* Asks the driver about all pairs. The devices are open, the heaps are not. */
int peali_gpu_peers_open(struct peali_gpu *gpu);
/* Enables peer access of all pairs. Used only with plain heaps. */
int peali_gpu_peers_enable_all(struct peali_gpu *gpu);
int peali_gpu_peer_info(struct peali_backend *backend, int from, int to,
			struct peali_peer_info *out);
int peali_gpu_peer_enable(struct peali_backend *backend, int from, int to);
int peali_gpu_peer_disable(struct peali_backend *backend, int from, int to);

/* ---- copy.c -------------------------------------------------------------- */

int peali_gpu_copy(struct peali_backend *backend, struct peali_place to,
		   struct peali_place from, uint64_t bytes);
int peali_gpu_copy_all(struct peali_backend *backend,
		       const struct peali_copy_op *moves, uint32_t n);
/* Sets device memory to zero by copies. Kernels may be resident. */
int peali_gpu_wipe(struct peali_gpu *gpu, int device, uint64_t address,
		   uint64_t bytes);
/*
 * Reads device memory, which may lie outside of the heaps. At most
 * PEALI_GPU_STAGE_BYTES.
 */
int peali_gpu_read(struct peali_gpu *gpu, int device, uint64_t address,
		   void *to, uint64_t bytes);

/* ---- attributes.c -------------------------------------------------------- */

int peali_gpu_facts(struct peali_backend *backend, int device,
		    struct peali_fact *out, int most);

/* ---- launch.c, programs.c ------------------------------------------------ */

/*
 * Returns the program on a device. Loads it first if no kernel is resident
 * there. The caller holds gpu->lock.
 */
int peali_gpu_program(struct peali_gpu *gpu, int device,
		      const struct peal_program *program, const char *call,
		      struct peali_gpu_program **out);
void peali_gpu_programs_close(struct peali_gpu *gpu, int device);
int peali_gpu_load(struct peali_backend *backend, int device,
		   const struct peal_program *program);
int peali_gpu_launch(struct peali_backend *backend,
		     const struct peali_launch_desc *desc,
		     struct peali_launch **out);
int peali_gpu_launch_again(struct peali_launch *launch);
int peali_gpu_launch_query(struct peali_launch *launch);
int peali_gpu_launch_wait(struct peali_launch *launch, int64_t timeout_ns);
int peali_gpu_launch_free(struct peali_launch *launch);
/*
 * Returns 1 if a kernel is resident on the device or on another part of it. The
 * caller holds gpu->lock.
 */
int peali_gpu_is_busy(const struct peali_gpu *gpu, int device);
/*
 * Marks all parts of a device as lost: no kernel can run there. `symbol` is the
 * call that returned `error`. The caller holds gpu->lock.
 */
void peali_gpu_lose(struct peali_gpu *gpu, int device, int error,
		    const char *symbol);
/* Destroys the recorded launches that were freed. */
void peali_gpu_records_close(struct peali_gpu *gpu, int device);
/* Stops the monitor thread. */
void peali_gpu_monitor_stop(struct peali_gpu *gpu);

/* ---- capacity.c: which workers fit beside resident kernels --------------- */

int peali_gpu_max_workers(struct peali_backend *backend, int device,
			  const struct peal_program *program,
			  const struct peali_launch_desc *shape,
			  struct peali_capacity *out);
/* Returns the shared memory of each block, beside that of its code. */
uint32_t peali_gpu_shared_bytes(const struct peali_launch_desc *shape);
/* The caller of all calls below holds gpu->lock. */
int peali_gpu_units_open(struct peali_gpu_device *d);
void peali_gpu_units_close(struct peali_gpu_device *d);
/*
 * Counts the blocks of a launch that fit on the empty device. Loads the program
 * first if no kernel is resident there.
 */
int peali_gpu_fit(struct peali_gpu *gpu, int device,
		  const struct peal_program *program,
		  const struct peali_launch_desc *shape,
		  struct peali_gpu_fit *out);
/*
 * Counts the workers that fit beside the resident kernels. The part `keep` of
 * the device stays free.
 */
void peali_gpu_capacity(struct peali_gpu *gpu, int device,
			const struct peali_gpu_fit *fit, double keep,
			struct peali_capacity *out);
/* Takes memory for a placement. Returns 0 or PEAL_ENOMEM. */
int peali_gpu_placement_open(struct peali_gpu_placement *p, uint32_t n_blocks);
void peali_gpu_placement_close(struct peali_gpu_placement *p);
/* Notes that the blocks of a launch that fits are resident. */
void peali_gpu_place(struct peali_gpu *gpu, int device,
		     struct peali_gpu_placement *p);
/* Notes that they have ended. */
void peali_gpu_displace(struct peali_gpu_placement *p);

/* ---- streams.c ----------------------------------------------------------- */

int peali_gpu_test_streams(struct peali_backend *backend, int device,
			   const struct peal_program *probe);

/* ---- clusters.c ---------------------------------------------------------- */

/* Returns the most blocks per cluster on a device; 0: it has no clusters. */
uint32_t peali_gpu_clusters_max(struct peali_gpu *gpu, int device);
/*
 * Sets p->cluster_bytes if the program of the image can run in clusters. The
 * thread has entered the device.
 */
void peali_gpu_clusters_find(struct peali_gpu *gpu, int device,
			     const struct peali_image *image,
			     struct peali_gpu_program *p);
/*
 * Checks that the program can run in clusters. PEAL_ENOTSUP: it cannot.
 * PEAL_ENOSPC: `bytes` exceeds the limit.
 */
int peali_gpu_clusters_check(struct peali_gpu *gpu, int device,
			     const struct peali_gpu_program *p, uint32_t bytes);
/*
 * Counts the blocks that fit on the empty device in clusters of `workers`. The
 * thread has entered the device. Returns the driver's error.
 */
int peali_gpu_clusters_fit(struct peali_gpu *gpu, int device,
			   const struct peali_gpu_program *p, uint32_t lanes,
			   uint32_t workers, uint32_t bytes,
			   uint32_t *blocks_out);
/* Starts a launch with clusters. Returns the driver's error. */
int peali_gpu_clusters_launch(struct peali_gpu *gpu,
			      const struct peali_launch_desc *desc,
			      const struct peali_gpu_program *p, void *stream,
			      void **arguments);

#endif
