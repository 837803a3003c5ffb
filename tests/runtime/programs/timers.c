/* SPDX-License-Identifier: Apache-2.0 */
/* Handlers that set timers, and that get what they send. */
#include "../timer_handlers.h"

PEAL_PROGRAM(timers, TIMER_HANDLERS);
