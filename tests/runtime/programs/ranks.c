/* SPDX-License-Identifier: Apache-2.0 */
#include "../rank_handlers.h"

PEAL_PROGRAM(ranks, RANK_HANDLERS);
