/* SPDX-License-Identifier: Apache-2.0 */
/* The handlers of ranks.c in a program with pools. */
#define PEAL_USES PEAL_USE_ALL
#include "../rank_handlers.h"

PEAL_PROGRAM(rank_pools, RANK_HANDLERS);
