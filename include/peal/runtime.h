/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_RUNTIME_H
#define PEAL_RUNTIME_H

#include <stddef.h>
#include <stdint.h>

#include <peal/errors.h>

#ifdef __cplusplus
extern "C" {
#endif

/** The runtime of a process: devices, kernels, links, and two host threads. */
struct peal_runtime;

/** Zero in a field: its default. */
struct peal_runtime_options {
	uint32_t size; /* sizeof(struct peal_runtime_options) */
	uint32_t reserved;
	/*
	 * A kernel ends itself when the host has given no sign of life for so
	 * long. 0: PEAL_LEASE_MS, which is 5 s by default.
	 */
	uint64_t lease_ns;
};

/** What became of a backend at open. */
struct peal_backend_info {
	char name[16]; /* "host", "cuda", "hip" */
	int available;
	int n_devices;
	char reason[160]; /* why it is not available */
};

/** What the runtime holds now. */
struct peal_runtime_info {
	uint32_t n_devices, n_kernels, n_links, n_endpoints, n_barriers;
	uint32_t n_memories; /* of peal_memory_alloc */
	uint64_t link_bytes; /* memory of all links, on all devices */
	uint32_t n_topics;
	uint32_t n_requesters; /* each has links and an endpoint, too */
	uint32_t n_groups; /* each has kernels, links and an endpoint, too */
	uint32_t n_events;
	uint32_t n_buffers; /* not among n_memories */
	uint32_t n_executors; /* likewise */
	uint32_t n_process_sets;
	uint32_t n_graphs; /* each has kernels, links and an endpoint, once it has
			    * run */
};

/**
 * Opens the runtime: its backends, their devices, the router and the watchdog.
 *
 * Settings come from the environment (`peal info` lists them).
 *
 * @param options NULL for all defaults.
 * @param runtime_out the runtime; the caller closes it.
 * @return 0; PEAL_EINVAL a bad option or setting (the text names it);
 *         PEAL_ENODEV no backend has a device; PEAL_EBUSY another runtime of
 *         this process has the GPUs of a vendor; PEAL_ENOMEM; PEAL_EDRIVER.
 *         Thread-safe; blocks for the time that the drivers take. Addresses
 *         are a runtime's own: another one of the process may have the same.
 */
int peal_runtime_open(const struct peal_runtime_options *options,
		      struct peal_runtime **runtime_out);

/**
 * Closes a runtime that has no children left but buffers: those are freed, and
 * each is named in the log (PEAL_LOG=1).
 *
 * @param runtime an open runtime; NULL does nothing.
 * @return 0; PEAL_EBUSY kernels, links, endpoints, barriers, topics, memory or
 *         copies are left (the text names them) and nothing was done. No other call
 *         on this runtime may run at the same time.
 */
int peal_runtime_close(struct peal_runtime *runtime);

/** A buffer that nobody destroyed. */
struct peal_leak {
	char name[32]; /* as its options had it */
	int device; /* whose memory; PEAL_HOST_MEMORY */
	uint64_t bytes;
};

#define PEAL_LEAKS_LISTED 8

/** Buffers that were left when a runtime closed, and were freed by that. */
struct peal_leak_report {
	uint32_t n_buffers;
	uint32_t n_listed; /* of them, below: the oldest */
	uint64_t bytes; /* of all */
	struct peal_leak listed[PEAL_LEAKS_LISTED];
};

/**
 * The same, and says which buffers were left.
 *
 * @param runtime    an open runtime; NULL: an empty report.
 * @param report_out filled when it returns 0.
 * @return as peal_runtime_close; PEAL_EINVAL report_out is NULL.
 */
int peal_runtime_close_report(struct peal_runtime *runtime,
			      struct peal_leak_report *report_out);

/**
 * Stops every kernel, takes all links, endpoints, barriers, topics and memory
 * down, and closes. Their pointers are gone after this.
 *
 * @param runtime an open runtime; NULL does nothing.
 * @return 0; PEAL_EHUNG a worker did not end within its bound, its memory is
 *         left mapped. No other call on this runtime may run at the same time.
 */
int peal_runtime_shutdown(struct peal_runtime *runtime);

/**
 * What the runtime holds.
 *
 * @param runtime  an open runtime.
 * @param info_out filled on success.
 * @return 0; PEAL_EINVAL. Thread-safe.
 */
int peal_runtime_info(struct peal_runtime *runtime,
		      struct peal_runtime_info *info_out);

/**
 * What became of one of the backends that are built in.
 *
 * @param runtime  an open runtime.
 * @param index    0, 1, ... until PEAL_ENOENT.
 * @param info_out filled on success.
 * @return 0; PEAL_ENOENT no more of them; PEAL_EINVAL. Thread-safe.
 */
int peal_backend_info(struct peal_runtime *runtime, int index,
		      struct peal_backend_info *info_out);

/** The library's version, "MAJOR.MINOR.PATCH". Thread-safe, wait-free. */
const char *peal_version(void);

#ifdef __cplusplus
}
#endif
#endif
