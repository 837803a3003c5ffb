/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEALI_LAUNCH_KERNEL_LAUNCH_H
#define PEALI_LAUNCH_KERNEL_LAUNCH_H

#include "runtime/runtime.h"

/* Frees the memory of a kernel that no worker and no other thread uses. */
void peali_kernel_free(struct peal_kernel *kernel);

#endif
