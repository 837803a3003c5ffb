/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEALI_TOPIC_H
#define PEALI_TOPIC_H

#include <peal/abi/topic.h>

/* The host's side of topics: options, sizes, header. */

#define PEALI_TOPIC_SUBSCRIBERS_MAX 256

struct peali_topic_spec {
	uint32_t slots; /* a power of two up to 2^20 */
	/*
	 * Bytes of the largest payload (default 48, 1..4080). atom16 allows up
	 * to 3064, atom8 up to 1016.
	 */
	uint32_t message_bytes;
	uint32_t n_subscribers; /* most subscribers at a time (1..256) */
	uint32_t mode; /* enum peal_topic_mode */
	uint32_t slot_bytes; /* out */
	uint32_t policy; /* enum peal_slot_policy; 0: the default; out */
};

/*
 * Fills fields that are 0 with their defaults and checks all fields. The
 * policies are those of the device, see peali_publication_choose. `call` is the
 * name of the public function. Returns 0, or PEAL_EINVAL with text that names
 * the option, its value and the allowed range. On failure the spec is
 * unchanged.
 */
int peali_topic_spec_complete(struct peali_topic_spec *spec, uint32_t policies,
			      uint32_t default_policy, const char *call);

/*
 * Returns the bytes of a completed spec's topic: a multiple of
 * PEAL_SHARED_LINE.
 */
uint64_t peali_topic_bytes(const struct peali_topic_spec *spec);

/* Fills the header of an empty topic. The memory behind it is zero. */
void peali_topic_header(struct peal_topic *out,
			const struct peali_topic_spec *spec);

#endif
