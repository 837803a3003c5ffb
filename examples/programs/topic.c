/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The handlers of 07_topic.c. `pass` sends each message on, to a topic or to
 * the other kernel. `total` and `highest` handle all readings. A message of
 * type 1 makes them report to the host.
 */
#include <peal/device/kernel.h>

static PEAL_DEV int pass(struct peal_worker *w)
{
	return peal_emit(w, 0, peal_type(w), peal_data(w), peal_length(w), 0);
}

static PEAL_DEV int total(struct peal_worker *w)
{
	uint64_t *sum = (uint64_t *)peal_state(w);

	if (peal_type(w) == 1)
		return peal_emit(w, 0, 0, sum, sizeof(*sum), 0);
	if (peal_is_leader(w))
		*sum += *(const uint64_t *)peal_data(w);
	return 0;
}

static PEAL_DEV int highest(struct peal_worker *w)
{
	uint64_t *most = (uint64_t *)peal_state(w);
	uint64_t reading = *(const uint64_t *)peal_data(w);

	if (peal_type(w) == 1)
		return peal_emit(w, 0, 1, most, sizeof(*most), 0);
	if (peal_is_leader(w) && reading > *most)
		*most = reading;
	return 0;
}

#define HANDLERS(X)                                                            \
	X(pass, 0, PEAL_EMITS(1, 1))                                           \
	X(total, sizeof(uint64_t), PEAL_EMITS(1, 1))                           \
	X(highest, sizeof(uint64_t), PEAL_EMITS(1, 1))
PEAL_PROGRAM(topic, HANDLERS);
