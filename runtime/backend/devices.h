/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEALI_DEVICES_H
#define PEALI_DEVICES_H

#include "runtime/backend/backend.h"

/*
 * The devices of all backends under the runtime's numbers. Made when the
 * runtime opens, never changed after that.
 */

/** One device: its backend and its number there. */
struct peali_device {
	struct peali_backend *backend;
	int local;
};

/** All devices of a runtime. */
struct peali_devices {
	int n;
	struct peali_device *device;
};

/**
 * Checks a device index: 0, or PEAL_ENODEV with the text recorded for `call`.
 */
int peali_devices_check(const struct peali_devices *devices, int device,
			const char *call);

/**
 * The same of n indexes, each of which may stand there once, PEAL_EINVAL; `whose`
 * is what they are of, "a group".
 */
int peali_devices_check_ranks(const struct peali_devices *devices,
			      const int *device, uint32_t n, const char *whose,
			      const char *call);

/** The same with the host (PEALI_HOST) allowed. */
int peali_devices_check_place(const struct peali_devices *devices, int device,
			      const char *call);

/** Whether both are served by one backend, so that they can be peers. */
int peali_devices_same_backend(const struct peali_devices *devices, int a,
			       int b);

/**
 * Memory on a device, or host memory for PEALI_HOST, by runtime numbers; in
 * `out` the numbers are the backend's. Host memory is taken from the backend of
 * device 0.
 */
int peali_devices_alloc(const struct peali_devices *devices, int device,
			uint64_t bytes, struct peali_memory *out);

/** What a device, or the host (PEALI_HOST), has free. */
int peali_devices_room(const struct peali_devices *devices, int device,
		       struct peali_room *out);

void peali_devices_free(const struct peali_devices *devices, int device,
			const struct peali_memory *memory);

/** Address at which a device (or PEALI_HOST) sees memory; 0: it does not. */
uint64_t peali_devices_view(const struct peali_devices *devices, int viewer,
			    int owner, const struct peali_memory *memory);

/** Bit (1 << enum peal_policy) per policy that a device, or the host, can do. */
uint32_t peali_devices_policies(const struct peali_devices *devices,
				int device);

/** Whether who runs there rings the bells that it is told of. */
int peali_devices_ring(const struct peali_devices *devices, int device);

/** Copies between places by runtime numbers. */
int peali_devices_copy(const struct peali_devices *devices,
		       struct peali_place to, struct peali_place from,
		       uint64_t bytes);

#endif
