/* SPDX-License-Identifier: Apache-2.0 */
/* No program. A function and an undefined symbol are named like programs. */
#include <peal/device/platform.h>

#if PEAL_ON_HOST && !PEAL_SINGLE_LANE
extern const char peal_program_elsewhere[];
const char *peal_program_none(void);

const char *peal_program_none(void)
{
	return peal_program_elsewhere;
}
#endif
