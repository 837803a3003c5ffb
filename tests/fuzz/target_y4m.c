/* SPDX-License-Identifier: Apache-2.0 */
/* YUV4MPEG2 headers and frames. Items that are read and written are equal. */
#include "fuzz/copy_input.h"

FUZZ_TARGET(y4m)
{
	copy_input("y4m", data, size);
	return 0;
}
