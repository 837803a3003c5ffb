/* SPDX-License-Identifier: Apache-2.0 */
#define PEAL_USES_POOLS 1
#include "../deadline_handlers.h"

PEAL_PROGRAM(deadline_pools, DEADLINE_HANDLERS);
