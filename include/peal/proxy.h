/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_PROXY_H
#define PEAL_PROXY_H

#include <stdint.h>

#include <peal/errors.h>

#ifdef __cplusplus
extern "C" {
#endif

struct peal_runtime;
struct peal_kernel;

/*
 * Proxies: how handlers tell actors of other kernels, also on other devices. A
 * proxy is an address in one kernel that leads to an actor in another; its low
 * half is a number for peal_tell, as that of any actor there.
 *
 *	kernel on device 0			kernel on device 1
 *	handler: peal_tell(w, proxy, ...)
 *	-> mailbox of the proxy's worker
 *	   -> passage, one for all proxies ---> worker -> actor
 *	      of that worker
 *
 * Its worker is a forwarder: it takes what is told to the proxy from its mailbox,
 * in turn with all else that it does, and puts it into a passage, a link to the
 * other kernel, as for actors that have moved (peal/migrate.h, which says what
 * holds for passages: who waits for whom, and what becomes of messages when a
 * kernel ends). What one sender tells one proxy stays in order, whether the actor
 * moves or not.
 *
 * Where a handler sends much to few actors, a link from its port is cheaper
 * (peal/link.h): there is no mailbox between, and no worker that forwards.
 */

/** Zero in a field: its default. */
struct peal_proxy_options {
	uint32_t size; /* sizeof(struct peal_proxy_options) */
	uint32_t worker; /* 1 + the worker of `kernel` that passes messages on;
			  * 0: one that has a passage to that kernel, or else
			  * the first */
};

/**
 * Makes a proxy: an address in a kernel for an actor, or a pool, of another kernel
 * of the runtime, which may run another program.
 *
 * It takes an entry of max_actors. For calls of the host it is one more address of
 * the actor, as those that it had before it moved: it leads to where the actor
 * lives, and peal_actor_retire of either ends both. If a handler ends the actor,
 * or its kernel is destroyed, what comes by the proxy is dead, reason "no-actor",
 * and the proxy is there until peal_proxy_destroy or the end of its own kernel.
 * An actor may have any number of them, in one kernel, too.
 *
 * The first one on a worker for a kernel makes the passage, which takes one of
 * max_ports of that worker and memory for as many messages as `kernel` has
 * mailbox_slots and passage_slots.
 *
 * High priority ends at a proxy. An ask of one is answered with PEAL_ENOENT: asks
 * stay within a kernel. A request of the host that a handler hands on to one
 * (peal_delegate) is replied to by the ports there, for which peal_requester_listen
 * is needed. A limit of the actor's holds: what is above it is dead, reason "full",
 * or waits, as with what comes by a link.
 *
 * @param kernel      where handlers are to tell it.
 * @param address     of an actor, any that it has or had, or of a pool.
 * @param options     NULL for all defaults.
 * @param address_out the proxy's address.
 * @return 0; PEAL_EINVAL an argument is NULL, or the actor lives in `kernel`
 *         itself, whose handlers tell it by its own address; PEAL_ENOENT no such
 *         actor, pool or worker in the kernel's runtime (another one's addresses
 *         mean something else here); PEAL_ENOSPC max_actors or
 *         max_ports are used up (the text says which); PEAL_ENOTSUP one of the
 *         kernels has no mailboxes, or the other too few passage_slots for its
 *         handlers; PEAL_ESTOPPED one of them has ended, or is about to;
 *         PEAL_EHUNG a worker did not answer: the entry is lost until the kernel's
 *         end; PEAL_ENOMEM. Thread-safe.
 */
int peal_proxy_create(struct peal_kernel *kernel, uint64_t address,
		      const struct peal_proxy_options *options,
		      uint64_t *address_out);

/**
 * Ends a proxy, and not the actor. What was told to it and has not left its worker
 * yet is dead, reason "no-actor"; who tells it later has PEAL_ENOENT.
 *
 * @param runtime an open runtime.
 * @param address of a proxy.
 * @return 0; PEAL_ENOENT no proxy has that address; PEAL_EHUNG its worker did not
 *         answer: call again. Thread-safe. One of a kernel that is destroyed goes
 *         with that.
 */
int peal_proxy_destroy(struct peal_runtime *runtime, uint64_t address);

#ifdef __cplusplus
}
#endif
#endif
