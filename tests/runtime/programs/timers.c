/* SPDX-License-Identifier: Apache-2.0 */
/* Handlers that set timers, and handlers that get the messages of timers. */
#include "../timer_handlers.h"

PEAL_PROGRAM(timers, TIMER_HANDLERS);
