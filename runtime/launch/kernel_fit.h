/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEALI_LAUNCH_KERNEL_FIT_H
#define PEALI_LAUNCH_KERNEL_FIT_H

#include "runtime/runtime.h"

/*
 * Prepares a device for a kernel: probes the pairs of its backend, and loads
 * all programs. Then checks that the workers fit beside the resident kernels.
 * Without clusters on the device, clears the cluster options. Sets epochs if the
 * driver ends long kernels. Chooses the bytes of hot tables in shared memory.
 * PEAL_ENOSPC: the workers do not fit. PEAL_EPROGRAM, PEAL_EBUSY: the program is
 * not loaded.
 */
int peali_kernel_fit(struct peal_runtime *rt, int device,
		     const struct peal_program *program,
		     struct peal_kernel_options *options,
		     uint32_t *hot_bytes_out);
/*
 * Returns the lanes per worker for a kernel that the runtime launches. Lanes of
 * emulated devices share one core, so these devices get 1. A GPU gets `most`, or
 * all its lanes if it has fewer.
 */
uint32_t peali_kernel_lanes(struct peal_runtime *rt, int device, uint32_t most);

#endif
