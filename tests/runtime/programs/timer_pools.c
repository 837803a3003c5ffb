/* SPDX-License-Identifier: Apache-2.0 */
/* The handlers of timers.c in a program with pools. */
#define PEAL_USES PEAL_USE_ALL
#include "../timer_handlers.h"

PEAL_PROGRAM(timer_pools, TIMER_HANDLERS);
