/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The formats of `peal run`: the first line is --format. An empty line makes
 * the reader find the format.
 */
#include "fuzz/copy_input.h"

FUZZ_TARGET(items)
{
	struct fuzz_input in = { data, size };
	char *format = fuzz_line(&in);

	copy_input(*format ? format : NULL, in.at, in.left);
	free(format);
	return 0;
}
