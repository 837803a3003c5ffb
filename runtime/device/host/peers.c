/* SPDX-License-Identifier: Apache-2.0 */

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <peal/abi/probe.h>
#include <peal/program.h>
#include "runtime/base/error.h"
#include "runtime/base/owner.h"
#include "runtime/device/host/host.h"
#include "runtime/device/host/process.h"
#include "runtime/host_support/sanitize.h"

/*
 * Peer access as memory mapping. `from` sees the heap of `to` through a window.
 * The window is address space of the heap's size, reserved at the first enable.
 * While access is enabled, the heap's memfd is mapped into the window.
 * Otherwise every access faults, as on a GPU.
 *
 * ThreadSanitizer finds races only between accesses to one address. So in its
 * builds a sound window is the owner's own view. An access without permission
 * is not caught there. Faulty pairs keep a real window, which the faults need.
 */

/*
 * The swapped fault exchanges pages near the heap's start, as most allocations
 * are there. Behind that it exchanges larger pieces. Each piece is one mapping,
 * and a process may have 65,530 mappings.
 */
#define SWAP_PAGES_BYTES ((uint64_t)32 << 20)
#define SWAP_PIECES 4096

static struct peali_host_window *window_of(struct peali_host *host, int from,
					   int to)
{
	return &host->window[from * host->n_devices + to];
}

static const struct peali_link_pair *pair_of(const struct peali_host *host,
					     int from, int to)
{
	return &host->pair[from * host->n_devices + to];
}

static int check_pair(const struct peali_host *host, int from, int to,
		      const char *call)
{
	int r = peali_host_check(host, from, call);

	if (!r)
		r = peali_host_check(host, to, call);
	return r;
}

int peali_host_peer_info(struct peali_backend *backend, int from, int to,
			 struct peali_peer_info *out)
{
	struct peali_host *host = peali_host_of(backend);
	int r = check_pair(host, from, to, "host: peer_info");
	int kind;

	if (r < 0)
		return r;
	memset(out, 0, sizeof(*out));
	out->kind = "self";
	if (from == to)
		return 0;
	kind = pair_of(host, from, to)->kind;
	out->kind = peali_link_kind_name(kind);
	out->can_access = kind != PEALI_LINK_NONE;
	/*
	 * Atomics work on all memory of this machine. For pcie the result is
	 * still no, as on the emulated machines.
	 */
	out->atomics = kind == PEALI_LINK_NVLINK &&
		       !(host->disabled[from] & PEAL_CAN_ATOMICS);
	return 0;
}

/* Returns 1 if the window is the owner's own view. */
static int is_owners_view(const struct peali_host *host, int from, int to)
{
	return PEAL_TSAN && pair_of(host, from, to)->fault == PEALI_LINK_SOUND;
}

static int map_piece(const struct peali_heap *heap, uint8_t *base,
		     uint64_t offset, uint64_t at, uint64_t bytes, int flags)
{
	void *p = mmap(base + offset, bytes, PROT_READ | PROT_WRITE,
		       flags | MAP_FIXED | MAP_NORESERVE, heap->fd, (off_t)at);

	if (p == MAP_FAILED)
		return -1;
	peali_keep_from_children(p, bytes);
	return 0;
}

/* Maps [start, end) with neighbouring pieces exchanged. */
static int map_swapped(const struct peali_heap *heap, uint8_t *base,
		       uint64_t start, uint64_t end, uint64_t piece)
{
	for (; start + 2 * piece <= end; start += 2 * piece) {
		if (map_piece(heap, base, start, start + piece, piece,
			      MAP_SHARED) < 0 ||
		    map_piece(heap, base, start + piece, start, piece,
			      MAP_SHARED) < 0)
			return -1;
	}
	return start < end ? map_piece(heap, base, start, start, end - start,
				       MAP_SHARED) :
			     0;
}

static int map_window(const struct peali_heap *heap, uint8_t *base, int fault)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	uint64_t near = heap->bytes, piece;

	if (fault == PEALI_LINK_SOUND || fault == PEALI_LINK_TORN)
		return map_piece(heap, base, 0, 0, heap->bytes, MAP_SHARED);
	/* Copy on write: only the writer sees its writes. */
	if (fault == PEALI_LINK_LOST)
		return map_piece(heap, base, 0, 0, heap->bytes, MAP_PRIVATE);
	if (near > SWAP_PAGES_BYTES)
		near = SWAP_PAGES_BYTES;
	if (map_swapped(heap, base, 0, near, page) < 0)
		return -1;
	piece = (heap->bytes - near) / SWAP_PIECES / page * page;
	return map_swapped(heap, base, near, heap->bytes,
			   piece < page ? page : piece);
}

/* Reserves address space where every access faults. */
static int reserve(void *at, uint64_t bytes, void **out)
{
	void *p = mmap(at, bytes, PROT_NONE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE |
			       (at ? MAP_FIXED : 0),
		       -1, 0);

	if (p == MAP_FAILED)
		return -1;
	/* Core dumps contain the owner's view already. */
	madvise(p, bytes, MADV_DONTDUMP);
	*out = p;
	return 0;
}

static int no_space(const struct peali_host *host, int from, int to)
{
	return peali_fail_system(
		errno, "host: peer_enable",
		"no address space for device %d to see the %llu bytes of "
		"device %d, set PEAL_HOST_MEMORY lower",
		from, (unsigned long long)host->heap[to].bytes, to);
}

int peali_host_windows_reserve(struct peali_host *host)
{
	int from, to;

	for (from = 0; from < host->n_devices; from++)
		for (to = 0; to < host->n_devices; to++)
			if (pair_of(host, from, to)->kind != PEALI_LINK_NONE &&
			    from != to &&
			    reserve(NULL, host->heap[to].bytes,
				    &window_of(host, from, to)->base))
				return no_space(host, from, to);
	return 0;
}

int peali_host_window_set(const struct peali_host *host, int from, int to,
			  int enabled)
{
	const struct peali_heap *heap = &host->heap[to];
	void *base = host->window[from * host->n_devices + to].base;

	return enabled ?
		       map_window(heap, base, pair_of(host, from, to)->fault) :
		       reserve(base, heap->bytes, &base);
}

static int open_window(struct peali_host *host, int from, int to)
{
	struct peali_host_window *w = window_of(host, from, to);
	const struct peali_heap *heap = &host->heap[to];
	int error;

	if (is_owners_view(host, from, to))
		return 0;
	if (!w->base && reserve(NULL, heap->bytes, &w->base) < 0)
		return no_space(host, from, to);
	if (!map_window(heap, w->base, pair_of(host, from, to)->fault))
		return 0;
	error = errno;
	reserve(w->base, heap->bytes, &w->base);
	return peali_fail_system(error, "host: peer_enable",
				 "cannot map the memory of device %d into "
				 "device %d",
				 to, from);
}

/* Opens a mapped window for the workers. If a process of them does not answer,
 * removes the mapping. */
static int show(struct peali_host *host, int from, int to)
{
	struct peali_host_window *w = window_of(host, from, to);
	int r = peali_process_tell_window(host, from, to, 1);

	if (!r)
		w->enabled = 1;
	else if (w->base)
		reserve(w->base, host->heap[to].bytes, &w->base);
	return r;
}

int peali_host_peer_enable(struct peali_backend *backend, int from, int to)
{
	struct peali_host *host = peali_host_of(backend);
	const char *call = "host: peer_enable";
	int r = check_pair(host, from, to, call);

	if (r < 0)
		return r;
	if (from == to)
		return peali_fail(PEAL_EINVAL, call,
				  "device %d needs no access to its own "
				  "memory",
				  from);
	if (pair_of(host, from, to)->kind == PEALI_LINK_NONE)
		return peali_fail(PEAL_ENOPEER, call,
				  "device %d has no access to device %d: "
				  "PEAL_HOST_LINKS has none for the pair",
				  from, to);
	pthread_mutex_lock(&host->lock);
	if (window_of(host, from, to)->enabled)
		r = peali_fail(PEAL_EALREADY, call,
			       "device %d has access to device %d already",
			       from, to);
	else
		r = open_window(host, from, to);
	if (!r)
		r = show(host, from, to);
	pthread_mutex_unlock(&host->lock);
	return r;
}

int peali_host_peer_disable(struct peali_backend *backend, int from, int to)
{
	struct peali_host *host = peali_host_of(backend);
	const char *call = "host: peer_disable";
	struct peali_host_window *w;
	int r = check_pair(host, from, to, call);

	if (r < 0)
		return r;
	pthread_mutex_lock(&host->lock);
	w = window_of(host, from, to);
	if (!w->enabled)
		r = peali_fail(PEAL_EINVAL, call,
			       "access of device %d to device %d is not "
			       "enabled",
			       from, to);
	else if (w->base && reserve(w->base, host->heap[to].bytes, &w->base))
		r = peali_fail_driver(PEAL_EDRIVER, errno, call,
				      "cannot unmap device %d from device "
				      "%d: %s",
				      to, from, strerror(errno));
	else
		w->enabled = 0;
	if (!r)
		r = peali_process_tell_window(host, from, to, 0);
	pthread_mutex_unlock(&host->lock);
	return r;
}

uint64_t peali_host_peer_view(struct peali_host *host, int from, int to,
			      uint64_t offset)
{
	const struct peali_host_window *w = window_of(host, from, to);

	if (!w->enabled)
		return 0;
	if (is_owners_view(host, from, to))
		return (uintptr_t)host->heap[to].base + offset;
	return (uintptr_t)w->base + offset;
}

/* Returns 1 if `from` sees the address in a window with the fault. */
static int is_in_window(const struct peali_host *host, int from,
			uint64_t address, int fault)
{
	const struct peali_host_window *w;
	int to;

	for (to = 0; to < host->n_devices; to++) {
		w = &host->window[from * host->n_devices + to];
		if (pair_of(host, from, to)->fault == fault && w->enabled &&
		    address - (uintptr_t)w->base < host->heap[to].bytes)
			return 1;
	}
	return 0;
}

void peali_host_tear(struct peali_host *host,
		     const struct peali_launch_desc *desc)
{
	const char *name = desc->program->name; /* tests have none */
	struct peal_probe_params *p = NULL;

	if (name && !strcmp(name, "peal_probe"))
		p = (struct peal_probe_params *)(uintptr_t)desc->params;
	pthread_mutex_lock(&host->lock);
	for (; p && p->magic == PEAL_PROBE_MAGIC;
	     p = (struct peal_probe_params *)(uintptr_t)p->next)
		p->tears = p->role == PEAL_PROBE_WRITER &&
			   is_in_window(host, desc->device, p->area,
					PEALI_LINK_TORN);
	pthread_mutex_unlock(&host->lock);
}

void peali_host_peers_close(struct peali_host *host)
{
	struct peali_host_window *w;
	int from, to;

	for (from = 0; from < host->n_devices; from++) {
		for (to = 0; to < host->n_devices; to++) {
			w = window_of(host, from, to);
			if (w->base)
				munmap(w->base, host->heap[to].bytes);
		}
	}
}
