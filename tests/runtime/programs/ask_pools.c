/* SPDX-License-Identifier: Apache-2.0 */
/* The handlers of asks.c in a program with pools. */
#define PEAL_USES PEAL_USE_ALL
#include "../ask_handlers.h"

PEAL_PROGRAM(ask_pools, ASK_HANDLERS);
