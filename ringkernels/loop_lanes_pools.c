/* SPDX-License-Identifier: Apache-2.0 */
/* The slow functions of the resident loop: any number of lanes, with pools. */
#define PEALI_LOOP_BODIES 1
#define PEAL_USES PEAL_USE_ALL
#include <peal/device/kernel.h>
#include "ringkernels/loops.h"

const char peali_loop_lanes_pools = 1;
