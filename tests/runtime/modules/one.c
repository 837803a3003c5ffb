/* SPDX-License-Identifier: Apache-2.0 */
/* One program, as peal_program_load_file() requires. */
#include <peal/device/kernel.h>

static PEAL_DEV int add_one(struct peal_worker *w)
{
	const uint32_t *in = (const uint32_t *)peal_data(w);
	uint64_t n = peal_length(w) / sizeof(*in), i;
	void *out = 0;

	if (peal_reserve(w, 0, peal_length(w), &out))
		return 0;
	for (i = peal_lane(w); i < n; i += peal_lanes(w))
		((uint32_t *)out)[i] = in[i] + 1;
	peal_commit(w, 0, peal_type(w), peal_length(w));
	return 0;
}

#define HANDLERS(X) X(add_one, 0, PEAL_EMITS(1, 1))
PEAL_PROGRAM(one, HANDLERS);
