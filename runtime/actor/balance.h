/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEALI_BALANCE_H
#define PEALI_BALANCE_H

#include <stdint.h>

/*
 * Plans the worker of each actor from observed load and traffic. The comment of
 * peal_kernel_balance in peal/balance.h describes the policy.
 */

/* An actor that may move, with load or traffic. */
struct peali_balance_actor {
	uint32_t index; /* of its entry in kernel->actors */
	uint32_t worker, to; /* current worker; planned worker */
	uint32_t load; /* samples in its handler */
	uint32_t home; /* worker at which most of its messages arrive */
	uint64_t traffic; /* messages that arrived there; 0: none, no home */
};

/*
 * Sets `to` of each actor. At most `moves` actors get a `to` that differs from
 * `worker`. Sets `traffic` below 1 % of all traffic to 0. `load` has one entry
 * per worker, and counts all actors of the worker. On return it is the load
 * after the moves. Returns the number of moves.
 */
uint32_t peali_balance_plan(struct peali_balance_actor *actors, uint32_t n,
			    uint64_t *load, uint32_t workers,
			    uint32_t tolerance, uint32_t moves);

#endif
