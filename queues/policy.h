/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEALI_POLICY_H
#define PEALI_POLICY_H

#include <peal/abi/message.h>

/* What rings and mailboxes share: how a slot is published, and its size. */

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

#endif
