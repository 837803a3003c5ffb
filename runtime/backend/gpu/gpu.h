/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEALI_GPU_H
#define PEALI_GPU_H

#include <pthread.h>

#include "runtime/backend/backend.h"
#include "runtime/backend/gpu/driver.h"
#include "runtime/backend/image.h"
#include "runtime/backend/space.h"

/*
 * A GPU backend's own state, shared by its files; one code path for all
 * vendors. `lock` guards the books. A device's `copy_lock` lets in one copy at
 * a time and is never taken with `lock` held.
 *
 * Everything that a driver may make wait for a resident kernel is done when the
 * backend opens, or before the first launch on a device: see driver.h.
 */

/* The most kernels that can be resident on one device: see n_streams. */
#define PEALI_GPU_STREAMS 16
#define PEALI_GPU_PARTS_MAX 8
#define PEALI_GPU_STAGE_BYTES ((uint64_t)1 << 20)
#define PEALI_GPU_NOT_READY 600 /* of stream_query: CUDA and HIP */

/** A program on one device. */
struct peali_gpu_program {
	struct peali_gpu_program *next;
	const struct peal_program *program;
	void *module, *function;
	int max_lanes; /* of a worker, by the registers of its code */
	uint32_t cluster_bytes; /* the most of a worker, where its code can run
				 * in clusters; else 0 */
};

/** A device, or one part of it. */
struct peali_gpu_device {
	int ordinal; /* the driver's number */
	int handle; /* the driver's handle */
	int part, parts; /* 0 of 1: the whole device */
	void *state; /* of device_open; of part 0, the others borrow it */
	char name[64], uuid[40], architecture[64], pci[24];
	uint32_t units, max_lanes;
	int cooperative, maps_host, host_atomics;
	uint32_t max_cluster_workers; /* 0: no clusters */
	/* the heap */
	struct peali_space space;
	uint64_t base, handle_of_memory;
	int mapped;
	/* kernels */
	void *green; /* context of the part; NULL: a part in name only */
	int n_streams; /* of the following; its kernels at a time */
	void *stream[PEALI_GPU_STREAMS];
	struct peali_launch *resident[PEALI_GPU_STREAMS]; /* by stream */
	struct peali_gpu_program *programs; /* of part 0, for all parts */
	double share; /* of the device, that resident kernels take */
	struct peali_launch *freed; /* recorded ones, not destroyed yet */
	int lost; /* the driver's error, once a kernel ended by one */
	const char *lost_by; /* the call that said so */
	/* copies */
	pthread_mutex_t copy_lock;
	void *copy_stream; /* of part 0, for all parts */
	uint8_t *stage; /* pinned, PEALI_GPU_STAGE_BYTES */
};

/** An ordered pair. */
struct peali_gpu_pair {
	uint8_t can_access, atomics, enabled;
	int limit; /* the driver's error that says that it cannot be had */
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
	struct peali_space host_space;
	uint8_t *host;
	uint64_t host_bytes;
	uint64_t host_device; /* its address for all devices */
	const uint8_t *zero; /* in it: PEALI_GPU_STAGE_BYTES of zeros */
	struct peali_window *windows;
	void *adopted; /* another backend's, registered here */
	uint64_t adopted_bytes, adopted_device;
	/* the thread that looks after launches */
	pthread_t monitor;
	pthread_cond_t monitor_wake;
	int has_monitor, monitor_stop;
	int n_launches; /* that are not freed */
};

static inline struct peali_gpu *peali_gpu_of(struct peali_backend *backend)
{
	return (struct peali_gpu *)backend;
}

/* 0, or PEAL_ENODEV with the text recorded for `call`. */
int peali_gpu_check(const struct peali_gpu *gpu, int device, const char *call);

static inline struct peali_gpu_pair *peali_gpu_pair(struct peali_gpu *gpu,
						    int from, int to)
{
	return &gpu->pair[from * gpu->n_devices + to];
}

/* ---- errors.c ---------------------------------------------------------------- */

/* The PEAL_E... that stands for a driver's error; 0 for 0. */
int peali_gpu_code(int error);
/*
 * Records that a driver's call failed: the device, what was wanted, the
 * driver's symbol and its name for the error, and what to do. Returns the code;
 * 0 if `error` is 0. device -1: none.
 */
int peali_gpu_fail(struct peali_gpu *gpu, int device, int error,
		   const char *symbol, const char *call, const char *format,
		   ...) __attribute__((format(printf, 6, 7)));

/* Name of a member's symbol, for peali_gpu_fail. */
#define PEALI_GPU_SYMBOL(gpu, member)                                          \
	PEALI_GPU_SYMBOL_OF(&(gpu)->driver, member)

/* ---- open.c ------------------------------------------------------------------ */

int peali_gpu_probe(const struct peali_gpu_vendor *vendor, char *reason,
		    size_t reason_bytes);
int peali_gpu_open(const struct peali_gpu_vendor *vendor,
		   const struct peali_backend_ops *ops,
		   struct peali_backend **out);
int peali_gpu_close(struct peali_backend *backend);

/* Makes a device the calling thread's; with its text. */
int peali_gpu_enter(struct peali_gpu *gpu, int device, const char *call,
		    void **before);
void peali_gpu_leave(struct peali_gpu *gpu, void *before);
/* enum peali_gpu_attribute; 0 too where the driver does not say. */
int peali_gpu_attribute(struct peali_gpu *gpu, int device, int which);

/*
 * Gives up that the driver keeps the parts of a device apart: each has a budget
 * of multiprocessors from then on. Nothing may be resident there, and the
 * thread is in the device. The driver's error.
 */
int peali_gpu_share_units(struct peali_gpu *gpu, int device);

/* ---- heap.c: memory of devices and of the host ----------------------------------- */

int peali_gpu_heaps_open(struct peali_gpu *gpu);
void peali_gpu_heaps_close(struct peali_gpu *gpu);
int peali_gpu_alloc(struct peali_backend *backend, enum peali_memory_kind kind,
		    int device, uint64_t bytes, struct peali_memory *out);
void peali_gpu_free(struct peali_backend *backend,
		    const struct peali_memory *memory);
int peali_gpu_room(struct peali_backend *backend, int device,
		   struct peali_room *out);
uint64_t peali_gpu_view(struct peali_backend *backend, int viewer,
			const struct peali_memory *memory);
uint64_t peali_gpu_host_view(struct peali_backend *backend, uint64_t address);
int peali_gpu_adopt(struct peali_backend *backend, void *host, uint64_t bytes);
int peali_gpu_host_range(struct peali_backend *backend, void **host_out,
			 uint64_t *bytes_out);
int peali_gpu_find(struct peali_backend *backend, int device, uint64_t address,
		   uint64_t bytes, struct peali_memory *out);
/* Whether all devices have an enum peali_gpu_attribute. */
int peali_gpu_all_have(struct peali_gpu *gpu, int which);
/* Memory of a device for driver->create; exportable: 1 as a descriptor. */
struct peali_gpu_memory_kind peali_gpu_memory_kind(struct peali_gpu *gpu,
						   int device, int exportable);
/* Zeros memory of a device where no kernel is resident. */
int peali_gpu_clear(struct peali_gpu *gpu, int device, uint64_t address,
		    uint64_t bytes, const char *call);

/* ---- window.c ------------------------------------------------------------------ */

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
/* All that are left; no kernel is resident. */
void peali_gpu_windows_close(struct peali_gpu *gpu);

/* ---- peers.c ------------------------------------------------------------------- */

/* Asks the driver about all pairs; the devices are open, no heap is. */
int peali_gpu_peers_open(struct peali_gpu *gpu);
/* Plain heaps: lets each device see the others' once and for all. */
int peali_gpu_peers_enable_all(struct peali_gpu *gpu);
int peali_gpu_peer_info(struct peali_backend *backend, int from, int to,
			struct peali_peer_info *out);
int peali_gpu_peer_enable(struct peali_backend *backend, int from, int to);
int peali_gpu_peer_disable(struct peali_backend *backend, int from, int to);

/* ---- copy.c -------------------------------------------------------------------- */

int peali_gpu_copy(struct peali_backend *backend, struct peali_place to,
		   struct peali_place from, uint64_t bytes);
int peali_gpu_copy_all(struct peali_backend *backend,
		       const struct peali_move *moves, uint32_t n);
/* Zeros device memory that was in use before, by copies alone. */
int peali_gpu_wipe(struct peali_gpu *gpu, int device, uint64_t address,
		   uint64_t bytes);
/* Reads device memory that need be in no heap: at most PEALI_GPU_STAGE_BYTES. */
int peali_gpu_read(struct peali_gpu *gpu, int device, uint64_t address,
		   void *to, uint64_t bytes);

/* ---- facts.c ------------------------------------------------------------------- */

int peali_gpu_facts(struct peali_backend *backend, int device,
		    struct peali_fact *out, int most);

/* ---- launch.c, programs.c -------------------------------------------------------- */

/* The program on a device, loaded if nothing is resident there. */
int peali_gpu_program(struct peali_gpu *gpu, int device,
		      const struct peal_program *program, const char *call,
		      struct peali_gpu_program **out);
void peali_gpu_programs_close(struct peali_gpu *gpu, int device);
int peali_gpu_load(struct peali_backend *backend, int device,
		   const struct peal_program *program);
int peali_gpu_max_workers(struct peali_backend *backend, int device,
			  const struct peal_program *program, uint32_t lanes,
			  uint32_t *out);
int peali_gpu_max_clustered(struct peali_backend *backend, int device,
			    const struct peal_program *program, uint32_t lanes,
			    uint32_t cluster_workers, uint32_t cluster_bytes,
			    uint32_t *out);
int peali_gpu_launch(struct peali_backend *backend,
		     const struct peali_launch_desc *desc,
		     struct peali_launch **out);
int peali_gpu_launch_again(struct peali_launch *launch);
int peali_gpu_launch_query(struct peali_launch *launch);
int peali_gpu_launch_wait(struct peali_launch *launch, int64_t timeout_ns);
int peali_gpu_launch_free(struct peali_launch *launch);
/* Whether a kernel is resident on the device, all its parts. Lock held. */
int peali_gpu_is_busy(const struct peali_gpu *gpu, int device);
/* Destroys the recorded launches that were freed. */
void peali_gpu_records_close(struct peali_gpu *gpu, int device);
/* Ends the thread that looks after launches. */
void peali_gpu_monitor_stop(struct peali_gpu *gpu);

/* ---- clusters.c ------------------------------------------------------------------ */

/* The most blocks of a cluster on a device; 0: it or its driver has none. */
uint32_t peali_gpu_clusters_max(struct peali_gpu *gpu, int device);
/*
 * Finds out whether a program that is loaded from that image can run in
 * clusters, and with how much memory. The thread is in the device.
 */
void peali_gpu_clusters_find(struct peali_gpu *gpu, int device,
			     const struct peali_image *image,
			     struct peali_gpu_program *p);
/* 0; PEAL_ENOTSUP it cannot; PEAL_ENOSPC not with so many bytes. */
int peali_gpu_clusters_check(struct peali_gpu *gpu, int device,
			     const struct peali_gpu_program *p, uint32_t bytes);
/*
 * Blocks that fit on the empty device in clusters of so many. The thread is in
 * the device. The driver's error.
 */
int peali_gpu_clusters_fit(struct peali_gpu *gpu, int device,
			   const struct peali_gpu_program *p, uint32_t lanes,
			   uint32_t workers, uint32_t bytes,
			   uint32_t *blocks_out);
/* Starts a launch whose desc has clusters. The driver's error. */
int peali_gpu_clusters_launch(struct peali_gpu *gpu,
			      const struct peali_launch_desc *desc,
			      const struct peali_gpu_program *p, void *stream,
			      void **arguments);

#endif
