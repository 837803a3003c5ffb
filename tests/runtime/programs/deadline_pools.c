/* SPDX-License-Identifier: Apache-2.0 */
#define PEAL_USES PEAL_USE_ALL
#include "../deadline_handlers.h"

PEAL_PROGRAM(deadline_pools, DEADLINE_HANDLERS);
