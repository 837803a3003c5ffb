/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/base/number.h"

int peali_number_parse(const char *text, uint64_t least, uint64_t most,
		       uint64_t *out)
{
	uint64_t value = 0;
	const char *at;

	for (at = text; *at >= '0' && *at <= '9'; at++) {
		uint64_t digit = (uint64_t)(*at - '0');

		if (value > (UINT64_MAX - digit) / 10)
			return 0;
		value = value * 10 + digit;
	}
	if (at == text || *at || value < least || value > most)
		return 0;
	*out = value;
	return 1;
}
