/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEALI_COLLECTIVE_BARRIER_H
#define PEALI_COLLECTIVE_BARRIER_H

#include "runtime/runtime.h"

/* Barriers. */

struct peal_barrier *peali_barrier_next(struct peal_barrier *barrier);

#endif
