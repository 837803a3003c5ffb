/* SPDX-License-Identifier: Apache-2.0 */
/* A program without the resident loop. Its images for all kinds of target
 * compile in seconds. */
#include <peal/device/atomic.h>

#include "../../../ringkernels/no_loop_program.h"

static PEAL_DEV int run(const struct peal_kernel_params *params,
			uint32_t worker, uint32_t lane)
{
	uint64_t *word = (uint64_t *)(uintptr_t)params;

	if (worker == 0 && lane == 0)
		peal_store_release_sys(word, 1);
	return 0;
}

PEALI_NO_LOOP_PROGRAM(imaged);
