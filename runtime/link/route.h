/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEALI_LINK_ROUTE_H
#define PEALI_LINK_ROUTE_H

#include "runtime/runtime.h"

/* Routes between two places. */

/* Chooses a route between two places. Returns 0, with route and reason, or
 * PEAL_ENOPEER. `require` and `forbid` are masks of enum peal_route. The peer
 * route must carry `policy`, of enum peal_slot_policy. `what` names `require` in
 * an error text, such as "option 'require'". */
int peali_route_choose(struct peal_runtime *rt, int from, int to,
		       uint32_t require, uint32_t forbid, uint32_t policy,
		       enum peal_route *route_out, char why[160],
		       const char *what, const char *call);

/* Returns the mask of the policies that the best route may have. It is all ones
 * if the peer route is not wanted, or not usable. Probes an unknown pair. */
uint32_t peali_route_policies(struct peal_runtime *rt, int from, int to,
			      uint32_t require, uint32_t forbid);

#endif
