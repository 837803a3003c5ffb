/* SPDX-License-Identifier: Apache-2.0 */
/* The handlers of timers.c in a program with pools. */
#define PEAL_USES_POOLS 1
#include "../timer_handlers.h"

PEAL_PROGRAM(timer_pools, TIMER_HANDLERS);
