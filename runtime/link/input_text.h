/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEALI_INPUT_TEXT_H
#define PEALI_INPUT_TEXT_H

#include "runtime/runtime.h"

/*
 * Describes the first link or topic of a worker that has not ended, for a
 * kernel that drains. Returns 1 with a text, or 0. The caller holds rt->lock.
 */
int peali_input_describe(const struct peal_kernel *kernel, uint32_t worker,
			 char text[PEALI_INPUT_TEXT_BYTES]);

#endif
