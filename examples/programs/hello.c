/* SPDX-License-Identifier: Apache-2.0 */
/* The handler of 01_hello.c: answers every message in capitals. */
#define PEAL_USES 0 /* links alone */
#include <peal/device/kernel.h>

static PEAL_DEV int shout(struct peal_worker *w)
{
	const char *in = (const char *)peal_data(w);
	uint64_t n = peal_length(w), i;
	void *place = 0;
	/* Write the answer directly into the memory of the link. */
	int result = peal_reserve(w, 0, n, &place);
	char *out = (char *)place;

	if (result)
		return result == PEAL_EPIPE ? 0 : result;
	for (i = peal_lane(w); i < n; i += peal_lanes(w))
		out[i] = (char)(in[i] >= 'a' && in[i] <= 'z' ? in[i] - 32 :
							       in[i]);
	peal_commit(w, 0, peal_type(w), n);
	return 0;
}

#define HANDLERS(X) X(shout, 0, PEAL_EMITS(1, 1))
PEAL_PROGRAM(hello, HANDLERS);
