/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEALI_LINK_DEAD_LETTER_H
#define PEALI_LINK_DEAD_LETTER_H

#include "runtime/runtime.h"

/* Dead letters. */

/* Returns the kernel with this address for dead letters, or NULL. */
struct peal_kernel *peali_dead_letters_of(struct peal_runtime *rt,
					  uint64_t address);

#endif
