/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEALI_BALANCE_H
#define PEALI_BALANCE_H

#include <stdint.h>

/* Who is to live where, from what was seen of them: peal/balance.h says how. */

/* An actor that may move and has something to do. */
struct peali_balance_actor {
	uint32_t index; /* its entry */
	uint32_t worker, to; /* where it lives, and is to live */
	uint32_t load; /* looks */
	uint32_t home; /* worker at which most of its messages arrive */
	uint64_t traffic; /* of those, so many */
};

/* Fills `to` in, of at most so many actors with another one than `worker`: so many.
 * Less than a hundredth of all traffic is as none, and is 0 then.
 * load: of each worker, all of it, before; what it is to be, then. */
uint32_t peali_balance_plan(struct peali_balance_actor *actors, uint32_t n,
			    uint64_t *load, uint32_t workers,
			    uint32_t tolerance, uint32_t moves);

#endif
