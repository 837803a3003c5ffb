/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEALI_HOST_H
#define PEALI_HOST_H

#include <pthread.h>

#include "runtime/device/backend.h"
#include "runtime/device/host/clock_skew.h"
#include "runtime/device/host/disabled.h"
#include "runtime/device/host/heap.h"
#include "runtime/device/host/links.h"

/*
 * Private state of the host backend, shared by its files. `lock` guards all of
 * it. Threads that send or receive messages never take the lock.
 */

#define PEALI_HOST_WORKERS_MAX 256
#define PEALI_HOST_WHY 160 /* bytes of the text of a lost device */

struct peali_process;

/** One device's view of another device's heap. */
struct peali_host_window {
	void *base; /* reserved address space; NULL: not reserved yet */
	int enabled;
};

struct peali_host {
	struct peali_backend base;
	pthread_mutex_t lock;
	int n_devices;
	int pin; /* enum peali_pin */
	/* one per device; then the heap of host memory */
	struct peali_heap *heap;
	struct peali_link_pair *pair; /* [from * n_devices + to] */
	struct peali_host_window *window; /* [from * n_devices + to] */
	struct peali_clock_skew *clock; /* one per device */
	/*
	 * one per device: missing capabilities, bits of enum
	 * peal_device_capability
	 */
	uint32_t *disabled;
	int n_launches; /* launches that are not freed */
	/*
	 * 1: each launch has a process of its own, with these operations. `lost`
	 * has one text per device. "": the device is not lost.
	 */
	int processes;
	struct peali_backend_ops ops;
	struct peali_process *process; /* processes that run */
	char (*lost)[PEALI_HOST_WHY];
};

static inline struct peali_host *peali_host_of(struct peali_backend *backend)
{
	return (struct peali_host *)backend;
}

/* Checks a device number. Returns 0, or PEAL_ENODEV with a text for `call`. */
int peali_host_check(const struct peali_host *host, int device,
		     const char *call);
/*
 * Refuses a part of the text of a setting. Returns PEAL_EINVAL.
 *
 * @param part begins at the wrong part, and has n bytes.
 * @param example a legal text.
 */
int peali_host_refuse(const char *setting, const char *text, const char *part,
		      size_t n, const char *allowed, const char *example);
/* Returns the heap of a device, or of host memory for PEALI_HOST. */
struct peali_heap *peali_host_heap(struct peali_host *host, int device);

/* ---- peers.c: windows of one device into another's heap ------------------ */

int peali_host_peer_info(struct peali_backend *backend, int from, int to,
			 struct peali_peer_info *out);
int peali_host_peer_enable(struct peali_backend *backend, int from, int to);
int peali_host_peer_disable(struct peali_backend *backend, int from, int to);
/*
 * Returns the address at which `from` sees byte `offset` of `to`; 0: no access.
 * The caller holds host->lock.
 */
uint64_t peali_host_peer_view(struct peali_host *host, int from, int to,
			      uint64_t offset);
/*
 * Applies the fault torn: writers of the probe then store 16 bytes in two parts.
 * Stores of other programs stay whole. `desc` is checked.
 */
void peali_host_tear(struct peali_host *host,
		     const struct peali_launch_desc *desc);
/* Reserves the address space of all windows, so that no process uses it. */
int peali_host_windows_reserve(struct peali_host *host);
/* Maps a window or removes the mapping, in the calling process. Returns 0 or -1
 * with errno. */
int peali_host_window_set(const struct peali_host *host, int from, int to,
			  int enabled);
/* Unmaps all windows. */
void peali_host_peers_close(struct peali_host *host);

/* ---- copy.c -------------------------------------------------------------- */

int peali_host_copy(struct peali_backend *backend, struct peali_place to,
		    struct peali_place from, uint64_t bytes);
int peali_host_copy_all(struct peali_backend *backend,
			const struct peali_copy_op *moves, uint32_t n);

/* ---- workers.c ----------------------------------------------------------- */

int peali_host_max_workers(struct peali_backend *backend, int device,
			   const struct peal_program *program,
			   const struct peali_launch_desc *shape,
			   struct peali_capacity *out);
int peali_host_launch(struct peali_backend *backend,
		      const struct peali_launch_desc *desc,
		      struct peali_launch **out);
int peali_host_launch_query(struct peali_launch *launch);
int peali_host_launch_wait(struct peali_launch *launch, int64_t timeout_ns);
int peali_host_launch_free(struct peali_launch *launch);

#endif
