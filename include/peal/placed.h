/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_PLACED_H
#define PEAL_PLACED_H

#include <peal/memory.h>
#include <peal/queue.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * A queue of one's own for handlers and kernels that share it: the host makes it
 * in the memory of a device, tells them its address, by a message or in the first
 * bytes of their state, and they make ends of it (peal/device/placed.h) and put
 * and take (PEAL_QUEUE_OF of peal/device/typed.h, or the functions without a
 * type). The host has no end, but for a link in host memory. Nobody is woken by
 * what is put: who takes looks again at its next message.
 */
struct peal_queue_placed {
	uint64_t address; /* as the device sees it */
	uint64_t bytes; /* of memory, from there on */
	uint32_t kind; /* enum peal_queue_kind, never PEAL_QUEUE_ANY */
	uint32_t policy; /* enum peal_policy, never PEAL_POLICY_DEFAULT */
	uint32_t capacity; /* slots */
	uint32_t producers, consumers; /* the most */
	uint32_t bulk; /* messages that may be put at a time, at most: as many
			* always come to fit */
	uint64_t message_bytes; /* the largest message */
};

/**
 * Makes a queue in memory that kernels share: of a device for workers of that
 * device; or in host memory, a link only, whose ends are then a worker of any
 * device or a thread of the host. It is empty. peal_memory_free frees it, with
 * this address, once nobody uses an end of it.
 *
 * @param runtime    an open runtime.
 * @param device     its index, or PEAL_HOST_MEMORY.
 * @param options    as for peal_queue_create, but that the policy is one that the
 *                   device can do, and its own by default; NULL for all
 *                   defaults.
 * @param placed_out what was made.
 * @return 0; PEAL_EINVAL an option is out of its range, or the kind does not
 *         serve so many ends, or cannot lie there (the text names the option,
 *         its value and what is allowed); PEAL_ENODEV; PEAL_ENOMEM (the text
 *         says how much is free). Thread-safe; also while kernels run.
 */
int peal_queue_place(struct peal_runtime *runtime, int device,
		     const struct peal_queue_options *options,
		     struct peal_queue_placed *placed_out);

#ifdef __cplusplus
}
#endif
#endif
