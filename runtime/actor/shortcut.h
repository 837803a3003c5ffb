/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEALI_ACTOR_SHORTCUT_H
#define PEALI_ACTOR_SHORTCUT_H

#include "runtime/runtime.h"

/* Makes the former addresses and proxies of an actor lead to its newest address.
 * An entry keeps its hop if a worker is too busy. The caller holds rt->lock. */
void peali_shortcuts_make(struct peal_runtime *rt, uint64_t newest);

#endif
