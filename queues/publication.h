/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEALI_PUBLICATION_H
#define PEALI_PUBLICATION_H

#include <peal/abi/message.h>

/*
 * Code of all queues: publication policies, slot sizes, numbers of slots. The
 * policy is the way to publish a slot.
 */

#define PEALI_SLOTS_MAX (1u << 20)
#define PEALI_MESSAGE_DEFAULT 48

/*
 * Chooses the policy of a queue. Returns 0; or PEAL_EINVAL with text, and
 * *policy is unchanged.
 *
 * - policy: in: enum peal_slot_policy, 0 for the default; out: never 0.
 * - policies: mask of 1 << enum peal_slot_policy that all users support.
 * - default_policy: of the backend. If the mask lacks it, the default is the
 *   first of ATOM16, ATOM8, SEQUENCE in the mask.
 * - option: name of the option, for the error.
 * - `user`: name of the user that may lack a policy, for the error.
 * - call: name of the public function, for the error.
 */
int peali_publication_choose(uint32_t *policy, uint32_t policies,
			     uint32_t default_policy, const char *option,
			     const char *user, const char *call);

/* Returns the name of a valid policy, for example "atom16". */
const char *peali_publication_name(uint32_t policy);

/* Returns the bytes of the smallest slot for `content` bytes. */
uint32_t peali_publication_slot(uint32_t policy, uint32_t content);

/* Returns the bytes of the largest slot. The tag limits the number of atoms. */
uint32_t peali_publication_slot_max(uint32_t policy);

/* Returns the bytes of the largest payload, in the largest slot. */
uint32_t peali_publication_message_max(uint32_t policy);

/*
 * Returns the bytes of the stage that a slot's content is unpacked to. Returns
 * 0 if the policy does not unpack.
 */
uint32_t peali_publication_stage(uint32_t policy, uint32_t slot_bytes);

/* Returns the logarithm of a power of two. */
uint32_t peali_log2(uint32_t power);

/*
 * Checks that n, the value of an option, is a valid number of slots. Returns 0,
 * or PEAL_EINVAL with text. The text proposes a number that is not below
 * `least`.
 */
int peali_slots_check(const char *option, uint32_t n, uint32_t least,
		      const char *call);

/* Returns the least legal number of slots that holds n; 0: there is none. */
uint32_t peali_slots_for(uint64_t n);

/*
 * Refuses an option that is a number of slots. Returns PEAL_EINVAL.
 *
 * @param slots the least legal number; 0: there is none, use fewer of `fewer`.
 */
int peali_slots_refuse(const char *option, uint32_t n, uint32_t slots,
		       const char *problem, const char *fewer,
		       const char *call);

/* The slots of a queue that stores each message in one slot. */
struct peali_slots {
	uint32_t n;
	uint32_t message_bytes; /* largest payload; 0: the default */
	uint32_t policy; /* enum peal_slot_policy; 0: the default */
	uint32_t bytes; /* out: bytes of a slot */
};

/*
 * Fills fields that are 0 with their defaults and checks all fields. Errors
 * name the options <prefix>slots, <prefix>message_bytes and <prefix>policy.
 * With prefix "" the names are capacity, message_bytes and policy. The other
 * arguments are as for peali_publication_choose. Returns 0, or PEAL_EINVAL with
 * text.
 */
int peali_slots_complete(struct peali_slots *slots, const char *prefix,
			 uint32_t policies, uint32_t default_policy,
			 const char *call);

#endif
