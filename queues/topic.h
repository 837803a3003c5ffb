/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEALI_TOPIC_H
#define PEALI_TOPIC_H

#include <peal/abi/topic.h>

/* The host's side of topics: what their options come to in memory. */

#define PEALI_TOPIC_SUBSCRIBERS_MAX 256

struct peali_topic_spec {
	uint32_t slots; /* a power of two up to 2^20 */
	uint32_t message_bytes; /* largest payload, up to what a slot of the
				 * policy holds: 4080, 3064 or 1016; 0: 48 */
	uint32_t n_subscribers; /* the most at a time, up to 256 */
	uint32_t mode; /* enum peal_topic_mode */
	uint32_t slot_bytes; /* out */
	uint32_t policy; /* enum peal_policy; 0: the default; out */
};

/*
 * Fills in what is zero and checks all. Returns 0, or PEAL_EINVAL with text
 * that names the option, its value and what is allowed; the spec is then
 * unchanged. The policies are those of the device, as for peali_policy_choose;
 * `call` is the name of the public function.
 */
int peali_topic_spec_complete(struct peali_topic_spec *spec, uint32_t policies,
			      uint32_t default_policy, const char *call);

/* Memory of a topic of a completed spec: a multiple of PEAL_SHARED_LINE. */
uint64_t peali_topic_bytes(const struct peali_topic_spec *spec);

/* The header of an empty topic; all behind it is zero. */
void peali_topic_header(struct peal_topic *out,
			const struct peali_topic_spec *spec);

#endif
