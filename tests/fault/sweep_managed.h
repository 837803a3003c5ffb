/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_TESTS_SWEEP_MANAGED_H
#define PEAL_TESTS_SWEEP_MANAGED_H

/* The managed memory of a scenario. */

#include <peal/buffer.h>

#include "fault/sweep_step.h"

/* Makes a managed buffer, moves its pages and reads its bytes. */
static inline int sweep_managed(struct peal_runtime *rt)
{
	const struct peal_buffer_options o = { .size = sizeof(o),
					       .kind = PEAL_BUFFER_MANAGED,
					       .bytes = 4096 };
	uint8_t in[4096], out[4096] = { 0 };
	struct peal_buffer_info info;
	struct peal_buffer *b = NULL;
	struct peal_range all;
	int good = STEP(peal_buffer_create(rt, &o, &b)) &&
		   STEP(peal_buffer_info(b, &info));

	all = peal_buffer_full_range(b);
	harness_fill(in, sizeof(in), 3, 8);
	good = good && STEP(peal_buffer_write(all, in));
	if (good && info.managed)
		good = STEP(peal_buffer_advise(all, PEAL_ADVICE_PREFERRED,
					       1)) &&
		       STEP(peal_buffer_prefetch(all, 1)) &&
		       STEP(peal_buffer_prefetch(all, PEAL_HOST_MEMORY));
	good = good && STEP(peal_buffer_read(all, out));
	sweep->wrong += good && memcmp(in, out, sizeof(in)) != 0;
	if (b)
		STEP(peal_buffer_destroy(b));
	return good;
}

#endif
