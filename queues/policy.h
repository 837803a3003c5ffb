/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEALI_POLICY_H
#define PEALI_POLICY_H

#include <peal/abi/message.h>

/* What all queues share: how a slot is published, its size, how many. */

#define PEALI_SLOTS_MAX (1u << 20)
#define PEALI_MESSAGE_DEFAULT 48

/*
 * Chooses the policy of a queue.
 *
 * policy         in: enum peal_policy, 0 for the default; out: never 0
 * policies       mask of 1 << enum peal_policy that all who use it can do
 * default_policy of the backend; if the mask lacks it, the first of ATOM16,
 *                ATOM8, SEQUENCE that it has
 * option, whose  for the error: the option's name, and who may lack a policy
 * call           name of the public function, for the error
 *
 * Returns 0; or PEAL_EINVAL with text, and *policy is unchanged.
 */
int peali_policy_choose(uint32_t *policy, uint32_t policies,
			uint32_t default_policy, const char *option,
			const char *whose, const char *call);

/* "atom16"; of a policy that is one. */
const char *peali_policy_name(uint32_t policy);

/* The smallest slot that holds a content of so many bytes. */
uint32_t peali_policy_slot(uint32_t policy, uint32_t content);

/* Bytes of the largest slot: a tag counts no more atoms than that. */
uint32_t peali_policy_slot_max(uint32_t policy);

/* Bytes of the largest payload, in such a slot. */
uint32_t peali_policy_message_max(uint32_t policy);

/* Bytes of the memory that a slot's content is unpacked to; 0: it is none. */
uint32_t peali_policy_stage(uint32_t policy, uint32_t slot_bytes);

/* Of a power of two. */
uint32_t peali_log2(uint32_t power);

/* Whether n, the value of an option, is a number of slots: 0; or PEAL_EINVAL
 * with text. */
int peali_slots_check(const char *option, uint32_t n, const char *call);

/* The slots of a queue that keeps each message in one. */
struct peali_slots {
	uint32_t n;
	uint32_t message_bytes; /* largest payload; 0: the default */
	uint32_t policy; /* enum peal_policy; 0: the default */
	uint32_t bytes; /* out: of a slot */
};

/*
 * Fills in what is zero and checks all. `prefix` begins the names of the options
 * <prefix>slots, <prefix>message_bytes and <prefix>policy; with "" they are
 * capacity, message_bytes and policy. The rest as for peali_policy_choose. Returns 0, or PEAL_EINVAL with text.
 */
int peali_slots_complete(struct peali_slots *slots, const char *prefix,
			 uint32_t policies, uint32_t default_policy,
			 const char *call);

#endif
