/* SPDX-License-Identifier: Apache-2.0 */
/* The same handlers as in timers.c, where there are pools. */
#define PEAL_USES_POOLS 1
#include "../timer_handlers.h"

PEAL_PROGRAM(timer_pools, TIMER_HANDLERS);
