/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEALI_LINK_STAGER_H
#define PEALI_LINK_STAGER_H

#include "runtime/runtime.h"

/* The stager: copies messages of staged links. */

struct peali_route_path;
struct peali_staged_path;

int peali_stager_start(struct peal_runtime *rt);
void peali_stager_stop(struct peal_runtime *rt);
/* Makes the stager copy messages from a path's first ring to its second. */
int peali_stager_add(struct peal_link *link, struct peali_route_path *path,
		     const char *call);
/* Removes a path. Returns once the stager does not access it any more. */
void peali_stager_remove(struct peal_link *link, struct peali_route_path *path);
/* Returns the messages that were copied so far. */
uint64_t peali_stager_carried(const struct peali_staged_path *stager);
/* Returns 1 once all messages of a sender that is gone are copied. */
int peali_stager_empty(struct peal_runtime *rt,
		       struct peali_staged_path *stager);
/* Returns the stager's bell, for the ends of staged links. */
uint64_t peali_stager_bell(const struct peal_runtime *rt);

#endif
