/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEALI_LINK_STAGER_H
#define PEALI_LINK_STAGER_H

#include "runtime/runtime.h"

/* The stager: copies messages of staged links. */

struct peali_path;
struct peali_stager;

int peali_router_start(struct peal_runtime *rt);
void peali_router_stop(struct peal_runtime *rt);
/* Makes the stager copy messages from a path's first ring to its second. */
int peali_router_add(struct peal_link *link, struct peali_path *path,
		     const char *call);
/* Removes a path. Returns once the stager does not access it any more. */
void peali_router_remove(struct peal_link *link, struct peali_path *path);
/* Returns the messages that were copied so far. */
uint64_t peali_router_carried(const struct peali_stager *stager);
/* Returns 1 once all messages of a sender that is gone are copied. */
int peali_router_empty(struct peal_runtime *rt, struct peali_stager *stager);
/* Returns the stager's bell, for the ends of staged links. */
uint64_t peali_router_bell(const struct peal_runtime *rt);

#endif
