/* SPDX-License-Identifier: Apache-2.0 */
/* Handlers that ask each other. */
#include "../ask_handlers.h"

PEAL_PROGRAM(asks, ASK_HANDLERS);
