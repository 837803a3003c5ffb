/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEALI_RUNTIME_ENDPOINT_REF_H
#define PEALI_RUNTIME_ENDPOINT_REF_H

#include <stdint.h>

#include <peal/program.h>

/*
 * Ends of links and topics. An end is a resolved address with a port or an
 * input. The address is of an actor, a pool, an endpoint, the dead letters of
 * a kernel, or a forwarding link.
 */

struct peal_runtime;
struct peal_kernel;
struct peal_endpoint;
struct peali_pool;

/** One end of a link, or of a topic. */
struct peali_link_end {
	uint64_t address;
	struct peal_kernel *kernel; /* NULL: an endpoint, or a remote end */
	struct peal_endpoint *endpoint; /* NULL: none */
	struct peali_pool *pool; /* pool of the kernel; NULL: no pool */
	int dead_letters; /* 1: the dead letters of the kernel */
	int fwd_link; /* 1: a forwarding link to another kernel, see
		       * forwarding.c */
	uint32_t actor, worker; /* indexes in the kernel */
	uint32_t index; /* port or input, in the worker's or endpoint's table */
	int device; /* PEALI_HOST: the host */
};

/* Returns 1 if the end is in another process (remote.h). */
static inline int peali_link_end_is_remote(const struct peali_link_end *end)
{
	return !end->kernel && !end->endpoint;
}

/*
 * Resolves the address of a live actor, a pool or an endpoint. Sets all fields
 * of *out except `index`. An old address of a migrated actor resolves to its
 * newest. `what` names the address in error texts. `kinds` names the objects
 * that the caller allows, such as "actor or pool". The caller holds rt->lock.
 * Returns 0, PEAL_ENOENT, or PEAL_ESTOPPED if the kernel has ended.
 */
int peali_link_end_resolve(struct peal_runtime *rt, uint64_t address,
			   const char *what, const char *kinds,
			   struct peali_link_end *out, const char *call);
/*
 * Resolves the address of a sender: as peali_link_end_resolve, or the dead
 * letters of a kernel. The caller holds rt->lock.
 */
int peali_link_end_resolve_sender(struct peal_runtime *rt, uint64_t address,
				  struct peali_link_end *out, const char *call);
/*
 * Sets from->index to a free port of the sender. For dead letters, `port` is
 * the worker. The caller holds rt->lock. Returns 0 or:
 *
 *	PEAL_ENOENT	the sender has no such port
 *	PEAL_EEXIST	the port is connected already
 *	PEAL_EINVAL	the actor shares the ports of another actor
 */
int peali_link_end_port(struct peal_runtime *rt, struct peali_link_end *from,
			uint32_t port, const char *call);
/*
 * Sets to->index to a free input of the receiver. The caller holds rt->lock.
 * Returns 0, or PEAL_ENOSPC if all inputs are used.
 */
int peali_link_end_input(struct peali_link_end *to, const char *call);
/* Returns an actor's handler; NULL for dead letters and forwarding links. */
const struct peal_handler_info *
peali_link_end_handler(const struct peali_link_end *end);
/*
 * Returns PEAL_EINVAL if two handlers declare messages of different lengths.
 * The text names both. NULL is an end that declares no length.
 */
int peali_handlers_agree(const struct peal_handler_info *emitter,
			 const struct peal_handler_info *taker,
			 const char *call);
/*
 * Returns PEAL_EINVAL if a handler declares the length of its messages: dead
 * letters have any length. NULL declares none.
 */
int peali_handler_takes_dead_letters(const struct peal_handler_info *taker,
				     const char *call);
/*
 * Adds n, which may be negative, to the link count of the end's actor or pool.
 * Does nothing for endpoints, dead letters and forwarding links.
 */
void peali_link_end_add_links(const struct peali_link_end *end, int n);
/* Returns 1 if the end is at a kernel that has not ended. */
int peali_link_end_is_live(const struct peali_link_end *end);
/*
 * Sends the end's worker a control message about its port or input. Waits for
 * the answer. Returns 0 also if the kernel has ended.
 */
int peali_link_end_tell(const struct peali_link_end *end, uint16_t type,
			const char *call);
/*
 * Sends a control message as peali_link_end_tell, without waiting. `counts` is
 * the address of the counters of a closed link, as the worker sees it; 0: none.
 */
int peali_link_end_post(const struct peali_link_end *end, uint16_t type,
			uint64_t counts);

#endif
