/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEALI_ACTOR_POOL_H
#define PEALI_ACTOR_POOL_H

#include "runtime/runtime.h"

/* Pools. */

/* Frees the memory of all pools of a kernel that has ended. */
void peali_pools_free(struct peal_kernel *kernel);

#endif
