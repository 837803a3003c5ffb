/* SPDX-License-Identifier: Apache-2.0 */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <peal/device/atomic.h>
#include "runtime/base/core_set.h"
#include "runtime/base/env.h"
#include "runtime/base/error.h"
#include "runtime/base/limits.h"
#include "runtime/base/log.h"
#include "runtime/base/refusal.h"
#include "runtime/base/text.h"
#include "runtime/device/backend.h"
#include "runtime/device/host/host.h"
#include "runtime/device/host/process.h"
#include "runtime/device/range_alloc.h"
#include "runtime/host_support/fibers.h"

/*
 * The host backend: CPU threads as devices. Operations table and short
 * operations.
 */

int peali_host_refuse(const char *setting, const char *text, const char *part,
		      size_t n, const char *allowed, const char *example)
{
	return PEALI_REFUSE(
		PEAL_EINVAL, "settings", .object = "variable", .name = setting,
		.problem = PEALI_PRINT("is wrong at column %d",
				       (int)(part - text) + 1),
		.value = PEALI_PRINT("'%.*s'", n > 30 ? 30 : (int)n, part),
		.allowed = allowed,
		.remedy = PEALI_PRINT("write it as in %s", example));
}

int peali_host_check(const struct peali_host *host, int device,
		     const char *call)
{
	if (device >= 0 && device < host->n_devices)
		return 0;
	return PEALI_REFUSE(
		PEAL_ENODEV, call, .object = PEALI_PRINT("device %d", device),
		.problem = "does not exist in the host backend",
		.value = PEALI_PRINT("%d", device),
		.allowed = PEALI_PRINT("0..%d", host->n_devices - 1),
		.remedy = "raise PEAL_HOST_DEVICES");
}

struct peali_heap *peali_host_heap(struct peali_host *host, int device)
{
	return &host->heap[device == PEALI_HOST ? host->n_devices : device];
}

/* ---- launches in processes of their own ----------------------------------- */

/* Refuses host memory of another backend: processes of launches do not see it. */
static int refuse_adoption(struct peali_backend *backend, void *memory,
			   uint64_t bytes)
{
	(void)backend;
	(void)memory;
	(void)bytes;
	return PEALI_REFUSE(PEAL_ENOTSUP, "settings", .object = "variable",
			    .name = "PEAL_HOST_PROCESSES",
			    .problem = "does not work beside GPUs",
			    .value = "on", .allowed = "off",
			    .remedy = "unset it, or set PEAL_BACKENDS=host");
}

static uint64_t host_heap_view(struct peali_backend *backend, uint64_t address)
{
	return peali_heap_holds(peali_host_heap(peali_host_of(backend),
						PEALI_HOST),
				address) ?
		       address :
		       0;
}

/* ---- open and close ------------------------------------------------------ */

static int host_probe(char *reason, size_t reason_bytes)
{
	int fd = memfd_create("peal probe", MFD_CLOEXEC);

	/* a limit of the process does not mean that there are no devices */
	if (fd < 0 && peali_limits_exhausted(errno))
		return 0;
	if (fd < 0) {
		snprintf(reason, reason_bytes, "memfd_create fails: %s",
			 strerror(errno));
		return PEAL_ENOTSUP;
	}
	close(fd);
	return 0;
}

/* Undoes a complete or partial open. */
static void take_down(struct peali_host *host)
{
	int i;

	if (host->window)
		peali_host_peers_close(host);
	for (i = 0; host->heap && i <= host->n_devices; i++)
		peali_heap_close(&host->heap[i]);
	pthread_mutex_destroy(&host->lock);
	free(host->lost);
	free(host->disabled);
	free(host->clock);
	free(host->window);
	free(host->pair);
	free(host->heap);
	free(host);
}

static int open_heaps(struct peali_host *host, uint64_t bytes)
{
	char name[24];
	int i, r = 0;

	for (i = 0; !r && i < host->n_devices; i++) {
		snprintf(name, sizeof(name), "device %d", i);
		r = peali_heap_open(&host->heap[i], name, bytes);
	}
	if (!r)
		r = peali_heap_open(&host->heap[i], "host memory", bytes);
	return r;
}

/*
 * Prepares a backend with processes of its own for launches. To the runtime it
 * is like a GPU. Its workers see only memory of the backend, and ring no bell of
 * a thread.
 */
static int prepare_processes(struct peali_host *host)
{
	int i;

	if (PEAL_TSAN || PEAL_SIM)
		return PEALI_REFUSE(
			PEAL_ENOTSUP, "settings", .object = "variable",
			.name = "PEAL_HOST_PROCESSES",
			.problem = "does not work in a build with "
				   "ThreadSanitizer or the simulator",
			.value = "on", .allowed = "off", .remedy = "unset it");
	host->lost = calloc((size_t)host->n_devices, sizeof(*host->lost));
	if (!host->lost)
		return peali_fail(PEAL_ENOMEM, "host: open",
				  "no memory for %d devices", host->n_devices);
	for (i = 0; i <= host->n_devices; i++)
		host->heap[i].unmarked = 1;
	host->ops = peali_host_backend;
	host->ops.rings = 0;
	host->ops.adopt = refuse_adoption;
	host->ops.host_view = host_heap_view;
	host->base.ops = &host->ops;
	return peali_host_windows_reserve(host);
}

static int set_up(struct peali_host *host, uint64_t n_devices)
{
	const char *links, *clocks = "", *disabled = "";
	uint64_t bytes;
	int i, r = peali_env_text(PEALI_ENV_HOST_LINKS, &links);

	if (!r)
		r = peali_env_text(PEALI_ENV_HOST_CLOCKS, &clocks);
	if (!r)
		r = peali_env_text(PEALI_ENV_HOST_DISABLE, &disabled);
	if (!r)
		r = peali_env_number(PEALI_ENV_HOST_MEMORY, &bytes);
	if (!r)
		r = peali_env_choice(PEALI_ENV_HOST_PIN, &host->pin);
	if (!r)
		r = peali_env_choice(PEALI_ENV_HOST_PROCESSES,
				     &host->processes);
	if (r < 0)
		return r;
	host->n_devices = (int)n_devices;
	host->heap = calloc(n_devices + 1, sizeof(*host->heap));
	host->pair = calloc(n_devices * n_devices, sizeof(*host->pair));
	host->window = calloc(n_devices * n_devices, sizeof(*host->window));
	host->clock = calloc(n_devices, sizeof(*host->clock));
	host->disabled = calloc(n_devices, sizeof(*host->disabled));
	if (!host->heap || !host->pair || !host->window || !host->clock ||
	    !host->disabled)
		return peali_fail(PEAL_ENOMEM, "host: open",
				  "no memory for %d devices", host->n_devices);
	r = peali_links_parse(links, host->n_devices, host->pair);
	for (i = 0; i < host->n_devices && !r; i++) {
		r = peali_clock_skew_parse(clocks, host->n_devices, i,
					   &host->clock[i]);
		if (!r)
			r = peali_disabled_parse(disabled, host->n_devices, i,
						 &host->disabled[i]);
	}
	if (!r)
		r = open_heaps(host, bytes);
	return !r && host->processes ? prepare_processes(host) : r;
}

static int host_open(struct peali_backend **out)
{
	struct peali_host *host;
	uint64_t n_devices;
	int r = peali_env_number(PEALI_ENV_HOST_DEVICES, &n_devices);

	if (r < 0)
		return r;
	host = calloc(1, sizeof(*host));
	if (!host)
		return peali_fail(PEAL_ENOMEM, "host: open",
				  "no memory for the backend");
	host->base.ops = &peali_host_backend;
	/* before the calling thread changes its own affinity */
	peali_process_cores();
	pthread_mutex_init(&host->lock, NULL);
	r = set_up(host, n_devices);
	if (r < 0) {
		take_down(host);
		return r;
	}
	*out = &host->base;
	return 0;
}

static int host_close(struct peali_backend *backend)
{
	struct peali_host *host = peali_host_of(backend);
	int n;

	pthread_mutex_lock(&host->lock);
	n = host->n_launches;
	pthread_mutex_unlock(&host->lock);
	if (n)
		return peali_fail(PEAL_EBUSY, "host: close",
				  "%d launches are not freed", n);
	take_down(host);
	return 0;
}

/* ---- devices ------------------------------------------------------------- */

static int host_device_count(struct peali_backend *backend)
{
	return peali_host_of(backend)->n_devices;
}

static uint32_t host_policies(struct peali_backend *backend)
{
	uint32_t set = 1u << PEAL_POLICY_SEQUENCE | 1u << PEAL_POLICY_ATOM8;

	(void)backend;
#if PEAL_HAVE_ATOM16
	/*
	 * Vendors guarantee 16-byte atomics with AVX: see
	 * peal/device/impl/base/atomic_host.h.
	 */
	if (__builtin_cpu_supports("avx"))
		set |= 1u << PEAL_POLICY_ATOM16;
#endif
	return set;
}

static enum peal_slot_policy host_default_policy(struct peali_backend *backend)
{
	(void)backend;
	return PEAL_POLICY_SEQUENCE;
}

/* Returns 0 facts: emulated devices have no driver. */
static int host_facts(struct peali_backend *backend, int device,
		      struct peali_fact *out, int most)
{
	(void)out;
	(void)most;
	return peali_host_check(peali_host_of(backend), device, "host: facts");
}

static int host_device_info(struct peali_backend *backend, int device,
			    struct peal_device_info *out)
{
	struct peali_host *host = peali_host_of(backend);
	int r = peali_host_check(host, device, "host: device_info");

	if (r < 0)
		return r;
	memset(out, 0, sizeof(*out));
	out->index = device;
	snprintf(out->backend, sizeof(out->backend), "host");
	out->emulated = 1;
	snprintf(out->name, sizeof(out->name), "emulated device %d", device);
	snprintf(out->uuid, sizeof(out->uuid), "host-%d", device);
	pthread_mutex_lock(&host->lock);
	out->memory_bytes = host->heap[device].bytes;
	out->memory_used_bytes = host->heap[device].space.used;
	out->lost = host->lost && host->lost[device][0];
	pthread_mutex_unlock(&host->lock);
	out->compute_units = (uint32_t)peali_usable_cores();
	out->max_lanes = PEALI_LANES_MAX;
	/* The system places workers and pages. */
	out->numa_node = -1;
	out->policies = host_policies(backend);
	out->capabilities =
		(PEAL_CAN_UNIFIED | PEAL_CAN_ATOMICS | PEAL_CAN_COOPERATIVE) &
		~host->disabled[device];
	snprintf(out->architecture, sizeof(out->architecture), "host");
	return 0;
}

/* ---- memory -------------------------------------------------------------- */

static int host_alloc(struct peali_backend *backend,
		      enum peali_memory_kind kind, int device, uint64_t bytes,
		      struct peali_memory *out)
{
	struct peali_host *host = peali_host_of(backend);
	int owner = kind == PEALI_MEMORY_HOST ? PEALI_HOST : device;
	uint64_t offset;
	int r = 0;

	if (kind == PEALI_MEMORY_DEVICE)
		r = peali_host_check(host, device, "host: alloc");
	if (r < 0)
		return r;
	pthread_mutex_lock(&host->lock);
	r = peali_heap_alloc(peali_host_heap(host, owner), bytes, &offset);
	pthread_mutex_unlock(&host->lock);
	if (r < 0)
		return r;
	out->kind = kind;
	out->device = owner;
	out->offset = offset;
	out->bytes = bytes;
	return 0;
}

static void host_free(struct peali_backend *backend,
		      const struct peali_memory *memory)
{
	struct peali_host *host = peali_host_of(backend);
	int r;

	pthread_mutex_lock(&host->lock);
	r = peali_heap_free(peali_host_heap(host, memory->device),
			    memory->offset);
	pthread_mutex_unlock(&host->lock);
	if (r < 0)
		peali_log(1, "%s", peal_last_error()->text);
}

static uint64_t host_view(struct peali_backend *backend, int viewer,
			  const struct peali_memory *memory)
{
	struct peali_host *host = peali_host_of(backend);
	uint64_t address = 0;

	if (memory->device == PEALI_HOST || viewer == memory->device)
		return (uintptr_t)peali_host_heap(host, memory->device)->base +
		       memory->offset;
	if (viewer < 0 || viewer >= host->n_devices)
		return 0;
	pthread_mutex_lock(&host->lock);
	address = peali_host_peer_view(host, viewer, memory->device,
				       memory->offset);
	pthread_mutex_unlock(&host->lock);
	return address;
}

static int host_usage(struct peali_backend *backend, int device,
		      struct peali_heap_usage *out)
{
	struct peali_host *host = peali_host_of(backend);
	int r = 0;

	if (device != PEALI_HOST)
		r = peali_host_check(host, device, "host: free space");
	if (r < 0)
		return r;
	pthread_mutex_lock(&host->lock);
	peali_suballoc_usage(&peali_host_heap(host, device)->space, out);
	pthread_mutex_unlock(&host->lock);
	return 0;
}

/* Threads see all memory of the process, so there is no range to adopt. */
static int host_range(struct peali_backend *backend, void **host_out,
		      uint64_t *bytes_out)
{
	(void)backend;
	*host_out = NULL;
	*bytes_out = 0;
	return 0;
}

static int host_adopt(struct peali_backend *backend, void *host, uint64_t bytes)
{
	(void)backend;
	(void)host;
	(void)bytes;
	return 0;
}

static uint64_t host_host_view(struct peali_backend *backend, uint64_t address)
{
	(void)backend;
	return address;
}

/* Loads nothing: the program's host code is part of the process. */
static int host_load(struct peali_backend *backend, int device,
		     const struct peal_program *program)
{
	(void)program;
	return peali_host_check(peali_host_of(backend), device, "host: load");
}

static int host_find(struct peali_backend *backend, int device,
		     uint64_t address, uint64_t bytes, struct peali_memory *out)
{
	struct peali_host *host = peali_host_of(backend);
	const struct peali_heap *heap;
	struct peali_piece piece;
	int r = 0;

	if (device != PEALI_HOST)
		r = peali_host_check(host, device, "host: find");
	if (r < 0)
		return r;
	heap = peali_host_heap(host, device);
	pthread_mutex_lock(&host->lock);
	r = peali_heap_find(heap, address - (uintptr_t)heap->base, bytes,
			    &piece);
	pthread_mutex_unlock(&host->lock);
	if (r < 0)
		return r;
	out->kind = device == PEALI_HOST ? PEALI_MEMORY_HOST :
					   PEALI_MEMORY_DEVICE;
	out->device = device;
	out->offset = piece.offset;
	out->bytes = piece.bytes;
	return 0;
}

const struct peali_backend_ops peali_host_backend = {
	.name = "host",
	.rings = 1,
	.late_probes = 1,
	.probe = host_probe,
	.open = host_open,
	.close = host_close,
	.device_count = host_device_count,
	.device_info = host_device_info,
	.facts = host_facts,
	.policies = host_policies,
	.default_policy = host_default_policy,
	.alloc = host_alloc,
	.free = host_free,
	.usage = host_usage,
	.view = host_view,
	.host_range = host_range,
	.adopt = host_adopt,
	.host_view = host_host_view,
	.find = host_find,
	.peer_info = peali_host_peer_info,
	.peer_enable = peali_host_peer_enable,
	.peer_disable = peali_host_peer_disable,
	.copy = peali_host_copy,
	.copy_all = peali_host_copy_all,
	.load = host_load,
	.max_workers = peali_host_max_workers,
	.launch = peali_host_launch,
	.launch_query = peali_host_launch_query,
	.launch_wait = peali_host_launch_wait,
	.launch_culprit = peali_host_launch_culprit,
	.launch_free = peali_host_launch_free,
};

/* With PEAL_HOST_PROCESSES=on the table is a copy. */
int peali_backend_is_host(const struct peali_backend *backend)
{
	return backend->ops->open == host_open;
}
