/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEALI_HOST_H
#define PEALI_HOST_H

#include <pthread.h>

#include "runtime/backend/backend.h"
#include "runtime/backend/host/clocks.h"
#include "runtime/backend/host/heap.h"
#include "runtime/backend/host/lacks.h"
#include "runtime/backend/host/links.h"

/*
 * The host backend's own state, shared by its files. One mutex guards all of
 * the books; whoever sends and receives messages never takes it.
 */

#define PEALI_HOST_WORKERS_MAX 256

/** One device's view of another one's heap. */
struct peali_host_window {
	void *base; /* reserved address space; NULL: none yet */
	int enabled;
};

struct peali_host {
	struct peali_backend base;
	pthread_mutex_t lock;
	int n_devices;
	int pin; /* enum peali_pin */
	struct peali_heap *heap; /* of each device; then host memory */
	struct peali_link_pair *pair; /* [from * n_devices + to] */
	struct peali_host_window *window; /* likewise */
	struct peali_host_clock *clock; /* of each device */
	uint32_t *lacks; /* likewise: enum peal_device_capability, by bits */
	int n_launches; /* that are not freed */
};

static inline struct peali_host *peali_host_of(struct peali_backend *backend)
{
	return (struct peali_host *)backend;
}

/* 0, or PEAL_ENODEV with the text recorded for `call`. */
int peali_host_check(const struct peali_host *host, int device,
		     const char *call);
/* The heap of a device, or host memory for PEALI_HOST. */
struct peali_heap *peali_host_heap(struct peali_host *host, int device);

/* ---- peers.c: windows of one device into another's heap ------------------- */

int peali_host_peer_info(struct peali_backend *backend, int from, int to,
			 struct peali_peer_info *out);
int peali_host_peer_enable(struct peali_backend *backend, int from, int to);
int peali_host_peer_disable(struct peali_backend *backend, int from, int to);
/* Where `from` sees byte `offset` of `to`; 0 without access. Lock held. */
uint64_t peali_host_peer_view(struct peali_host *host, int from, int to,
			      uint64_t offset);
/* Gives all address space of windows back. */
void peali_host_peers_close(struct peali_host *host);

/* ---- copy.c ---------------------------------------------------------------- */

int peali_host_copy(struct peali_backend *backend, struct peali_place to,
		    struct peali_place from, uint64_t bytes);
int peali_host_copy_all(struct peali_backend *backend,
			const struct peali_move *moves, uint32_t n);

/* ---- workers.c ------------------------------------------------------------- */

int peali_host_max_workers(struct peali_backend *backend, int device,
			   const struct peal_program *program, uint32_t lanes,
			   uint32_t *out);
int peali_host_launch(struct peali_backend *backend,
		      const struct peali_launch_desc *desc,
		      struct peali_launch **out);
int peali_host_launch_query(struct peali_launch *launch);
int peali_host_launch_wait(struct peali_launch *launch, int64_t timeout_ns);
int peali_host_launch_free(struct peali_launch *launch);

#endif
