/* SPDX-License-Identifier: Apache-2.0 */
/* A program of older headers, with a shorter struct. */
#include <peal/device/platform.h>

#if PEAL_ON_HOST && !PEAL_SINGLE_LANE
extern const uint32_t peal_program_old[4];
const uint32_t peal_program_old[4] = { sizeof(peal_program_old), 1, 0, 0 };
#endif
