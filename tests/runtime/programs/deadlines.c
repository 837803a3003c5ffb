/* SPDX-License-Identifier: Apache-2.0 */
#include "../deadline_handlers.h"

PEAL_PROGRAM(deadlines, DEADLINE_HANDLERS);
