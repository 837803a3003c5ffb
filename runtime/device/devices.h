/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEALI_DEVICES_H
#define PEALI_DEVICES_H

#include <stdatomic.h>

#include "runtime/device/backend.h"

/*
 * The devices of all backends with the runtime's numbers. The list is made when
 * the runtime opens and never changes later.
 */

/**
 * The gates of a device, with numbers from 1. Work that is submitted after gate
 * n was made waits until it is open. `open` never exceeds `made`.
 */
struct peali_gates {
	_Atomic uint64_t made;
	_Atomic uint64_t open; /* all gates up to this number are open */
};

/** One device: its backend and its number within the backend. */
struct peali_device {
	struct peali_backend *backend;
	int local;
	struct peali_gates gates;
};

/** All devices of a runtime. */
struct peali_devices {
	int n;
	struct peali_device *device;
	_Atomic uint64_t gates_made; /* of all devices */
	/* jobs, copies, runs, collectives and records of events so far: each
	 * gets the next number */
	_Atomic uint64_t submissions;
};

/* Returns the number of the latest gate of a device; 0: all its gates are open.
 * The host has no gates. Thread-safe, wait-free. */
uint64_t peali_gate_of(const struct peali_devices *devices, int device);
/* Returns 1 if a gate of a device is closed. 0: no gate. */
int peali_gate_is_closed(const struct peali_devices *devices, int device,
			 uint64_t number);

/**
 * Checks a device index. Returns 0, or PEAL_ENODEV with an error text for
 * `call`.
 */
int peali_devices_check(const struct peali_devices *devices, int device,
			const char *call);

/**
 * Checks n device indexes by peali_devices_check. PEAL_EINVAL: a device occurs
 * twice. The error text names the list by `list`, as in "a group".
 */
int peali_devices_check_ranks(const struct peali_devices *devices,
			      const int *device, uint32_t n, const char *list,
			      const char *call);

/** Works as peali_devices_check, but also accepts PEALI_HOST. */
int peali_devices_check_place(const struct peali_devices *devices, int device,
			      const char *call);

/** Returns 1 if one backend serves both devices, so that they can be peers. */
int peali_devices_same_backend(const struct peali_devices *devices, int a,
			       int b);

/**
 * Allocates memory of a device, or host memory for PEALI_HOST. `device` is a
 * number of the runtime; the numbers in *out are those of the backend. Host
 * memory comes from the backend of device 0.
 */
int peali_devices_alloc(const struct peali_devices *devices, int device,
			uint64_t bytes, struct peali_memory *out);

/**
 * Allocates managed memory if one backend serves all devices and has it. Else
 * allocates pinned host memory. out->kind tells which.
 */
int peali_devices_alloc_managed(const struct peali_devices *devices,
				uint64_t bytes, struct peali_memory *out);

/** Returns the free space of a device, or of host memory (PEALI_HOST). */
int peali_devices_usage(const struct peali_devices *devices, int device,
			struct peali_heap_usage *out);

void peali_devices_free(const struct peali_devices *devices, int device,
			const struct peali_memory *memory);

/**
 * Returns the address at which a device (or PEALI_HOST) sees memory; 0: it does
 * not see it.
 */
uint64_t peali_devices_view(const struct peali_devices *devices, int viewer,
			    int owner, const struct peali_memory *memory);

/**
 * Returns 1 << enum peal_slot_policy for each policy that a device or the host
 * supports.
 */
uint32_t peali_devices_policies(const struct peali_devices *devices,
				int device);

/**
 * Returns 1 if the threads of a device or the host ring the bells of waiting
 * threads.
 */
int peali_devices_ring(const struct peali_devices *devices, int device);

/**
 * Sets the phase PEAL_WORKER_FAILED, with PEAL_EDRIVER, for each worker of a
 * launch that has ended without a final phase.
 */
void peali_launch_fail_workers(const struct peali_launch_desc *desc);

/** Copies between places with the runtime's device numbers. */
int peali_devices_copy(const struct peali_devices *devices,
		       struct peali_place to, struct peali_place from,
		       uint64_t bytes);

#endif
