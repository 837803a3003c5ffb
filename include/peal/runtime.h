/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_RUNTIME_H
#define PEAL_RUNTIME_H

/*
 * The runtime is the root object of Peal: all other objects belong to it. A
 * process opens the runtime first and closes the runtime last.
 *
 *	peal_runtime_open(NULL, &runtime);
 *	peal_kernel_launch(runtime, ...);
 *	...
 *	peal_runtime_close(runtime);		or peal_runtime_shutdown
 *
 * peal_runtime_close expects that the caller has destroyed all other objects.
 * peal_runtime_shutdown stops and frees all objects itself.
 *
 * Forks. The objects of a runtime belong to the process that opened it. In a
 * child of fork, each call on such an object fails with PEAL_EFORKED. A call
 * without an error code returns 0 or NULL. The child has no memory of emulated
 * devices: an access by a pointer faults. Its exit changes nothing in the
 * parent. The child can open a runtime of its own. It cannot use GPUs that the
 * parent uses.
 *
 * A child of vfork may call exec and _exit only, as POSIX says. Calls that move
 * messages or data do not detect such a child. Programs that posix_spawn or
 * exec start inherit no descriptor of the library.
 *
 * Signals. The library's threads block all signals except those of their own
 * faults. A signal handler may interrupt any call. The call then continues, and
 * its timeout does not begin again. A handler must not call the library.
 *
 * Unloading. The shared object of the library stays loaded after dlclose, once
 * a runtime was opened. The shared object of a launched or added program stays
 * loaded until the runtime closes.
 */

#include <stddef.h>
#include <stdint.h>

#include <peal/errors.h>

PEAL_BEGIN_C

/**
 * A runtime: its devices, all objects on them, and its host threads. The
 * watchdog thread renews the leases of kernels. The stager thread copies the
 * messages of staged links.
 */
struct peal_runtime;

/** Options of a runtime. A field of 0 takes its default. */
struct peal_runtime_options {
	uint32_t size; /* sizeof(struct peal_runtime_options) */
	uint32_t reserved; /* 0 */
	/*
	 * The lease of kernels in ns, at least 100 ms (0: PEAL_LEASE_MS, by
	 * default 5 s). The watchdog thread renews the leases. A kernel ends
	 * itself when its lease runs out. struct peal_kernel_options can set
	 * another lease.
	 */
	uint64_t lease_ns;
};

/** A backend of the library, and the result of opening it. */
struct peal_backend_info {
	char name[16]; /* "host", "cuda" or "hip" */
	int available; /* 1: the runtime uses it; 0: it does not */
	int n_devices; /* devices of this backend; 0 if it is not available */
	char reason[160]; /* the reason if it is not available */
};

/**
 * The number of objects in a runtime. Requesters, communicators, executors and
 * graphs contain kernels, links or endpoints. n_kernels, n_links and
 * n_endpoints include these.
 */
struct peal_runtime_info {
	uint32_t n_devices, n_kernels, n_links, n_endpoints, n_barriers;
	uint32_t n_memories; /* allocations of peal_memory_alloc */
	uint64_t link_bytes; /* bytes of all links, on all devices */
	uint32_t n_topics;
	uint32_t n_requesters; /* each has links and an endpoint */
	uint32_t n_communicators; /* each has kernels, links and an endpoint */
	uint32_t n_events;
	uint32_t n_buffers; /* not in n_memories */
	uint32_t n_executors; /* each has kernels, links and an endpoint */
	uint32_t n_process_groups; /* struct peal_process_group */
	/* Each graph has kernels, links and an endpoint after its first run. */
	uint32_t n_graphs;
};

/**
 * Opens a runtime: its backends, their devices and its host threads.
 *
 * The runtime reads its settings from the environment; `peal info` lists them.
 * The first call of a process may set variables that GPU drivers read, by
 * setenv. No other thread may use the environment meanwhile.
 * Addresses are valid in one runtime only. Another runtime of the process can
 * have equal addresses for other objects.
 *
 * Thread-safe. Blocks while the drivers initialise the devices.
 *
 * @param options NULL: all defaults.
 * @param runtime_out receives the runtime. The caller closes it by
 *     peal_runtime_close or peal_runtime_shutdown.
 * @return 0, or a negative error code:
 * @retval PEAL_EINVAL  runtime_out is NULL, or an option or setting is wrong.
 *     The error text names the option or setting.
 * @retval PEAL_ENODEV  no backend has a device. The error text says why.
 * @retval PEAL_EBUSY  another runtime of this process uses the vendor's GPUs.
 *     PEAL_BACKENDS can exclude them.
 * @retval PEAL_EFORKED  the parent of this process uses the vendor's GPUs.
 *     PEAL_BACKENDS can exclude them.
 * @retval PEAL_ENOMEM  there is not enough memory.
 * @retval PEAL_EDRIVER  a driver or system call failed.
 */
int peal_runtime_open(const struct peal_runtime_options *options,
		      struct peal_runtime **runtime_out);

/**
 * Closes a runtime after the caller has destroyed its objects.
 *
 * Buffers may remain. The call frees each remaining buffer and names it in the
 * log (PEAL_LOG=1).
 *
 * Not thread-safe: no other call on this runtime may run at the same time.
 *
 * @param runtime an open runtime; NULL: the call does nothing.
 * @return 0, or a negative error code:
 * @retval PEAL_EBUSY  other objects remain, for example kernels, links, memory,
 *     copies, mappings or enabled peer access. The error text names the
 *     objects. The runtime stays open.
 */
int peal_runtime_close(struct peal_runtime *runtime);

/** A buffer that the caller did not destroy. */
struct peal_leak {
	char name[32]; /* the name of its struct peal_buffer_options */
	int device; /* the device with its memory, or PEAL_HOST_MEMORY */
	uint64_t bytes;
};

#define PEAL_LEAKS_LISTED 8

/** Buffers that remained when a runtime closed. The runtime has freed them. */
struct peal_leak_report {
	uint32_t n_buffers; /* all remaining buffers */
	uint32_t n_listed; /* entries of listed[], 0..PEAL_LEAKS_LISTED */
	uint64_t bytes; /* bytes of all remaining buffers */
	struct peal_leak listed[PEAL_LEAKS_LISTED]; /* the oldest buffers */
};

/**
 * Closes a runtime as peal_runtime_close does and reports remaining buffers.
 *
 * Not thread-safe: no other call on this runtime may run at the same time.
 *
 * @param runtime an open runtime; NULL: the call writes an empty report.
 * @param report_out filled if the call returns 0.
 * @return as peal_runtime_close, and:
 * @retval PEAL_EINVAL  report_out is NULL.
 */
int peal_runtime_close_report(struct peal_runtime *runtime,
			      struct peal_leak_report *report_out);

/**
 * Stops all kernels, frees all objects of a runtime, and closes it.
 *
 * All pointers to objects of the runtime are invalid after the call.
 *
 * Not thread-safe: no other call on this runtime may run at the same time.
 * Blocks until all workers have ended. Kernels have 1 s to stop. The runtime
 * then aborts the remaining kernels and waits at most 1 s for each.
 *
 * @param runtime an open runtime; NULL: the call does nothing.
 * @return 0, or a negative error code:
 * @retval PEAL_EHUNG  a worker did not end in time. The runtime stays open, and
 *     the worker's memory stays mapped.
 */
int peal_runtime_shutdown(struct peal_runtime *runtime);

/**
 * Counts the objects of a runtime.
 *
 * Thread-safe.
 *
 * @param runtime an open runtime.
 * @param info_out filled on success.
 * @return 0, or a negative error code:
 * @retval PEAL_EINVAL  an argument is NULL.
 */
int peal_runtime_info(struct peal_runtime *runtime,
		      struct peal_runtime_info *info_out);

/**
 * Reads the state of one backend of the library.
 *
 * Thread-safe.
 *
 * @param runtime an open runtime.
 * @param index the number of the backend, from 0. To visit all backends,
 *     increase the index until the call returns PEAL_ENOENT.
 * @param info_out filled on success.
 * @return 0, or a negative error code:
 * @retval PEAL_ENOENT  there is no backend with this index.
 * @retval PEAL_EINVAL  an argument is NULL.
 */
int peal_backend_info(struct peal_runtime *runtime, int index,
		      struct peal_backend_info *info_out);

/**
 * Returns the library's version.
 *
 * Thread-safe and wait-free.
 *
 * @return a static string "MAJOR.MINOR.PATCH".
 */
const char *peal_version(void);

PEAL_END_C
#endif
