/* SPDX-License-Identifier: Apache-2.0 */
/* The slow functions of the resident loop: workers of any number of lanes. */
#define PEALI_LOOP_BODIES 1
#include <peal/device/kernel.h>
#include "ringkernels/loops.h"

const char peali_loop_lanes = 1;
