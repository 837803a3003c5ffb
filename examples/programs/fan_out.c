/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The handlers of 04_fan_out.c. `split` sends one of four parts of an array by
 * each of its ports. `add_up` adds up a part and sends the sum to the host.
 */
#include <peal/device/kernel.h>

#define PARTS 4

static PEAL_DEV int split(struct peal_worker *w)
{
	const uint64_t *values = (const uint64_t *)peal_data(w);
	uint64_t n = peal_length(w) / sizeof(*values);
	uint64_t each = n / PARTS;
	uint32_t part;
	int result = 0;

	/* The last part also gets the remainder. */
	for (part = 0; part < PARTS && !result; part++)
		result =
			peal_emit(w, part, (uint16_t)part, values + part * each,
				  (part == PARTS - 1 ? n - part * each : each) *
					  sizeof(*values),
				  0);
	return result;
}

static PEAL_DEV int add_up(struct peal_worker *w)
{
	const uint64_t *values = (const uint64_t *)peal_data(w);
	uint64_t n = peal_length(w) / sizeof(*values);
	uint64_t sum = 0, i;

	for (i = peal_lane(w); i < n; i += peal_lanes(w))
		sum += values[i];
	sum = peal_sum(w, sum);
	return peal_emit(w, 0, peal_type(w), &sum, sizeof(sum), 0);
}

#define HANDLERS(X)                                                            \
	X(split, 0, PEAL_EMITS(PARTS, 1))                                      \
	X(add_up, 0, PEAL_EMITS(1, 1))
PEAL_PROGRAM(fan_out, HANDLERS);
