/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_PROXY_H
#define PEAL_PROXY_H

/*
 * Proxies let handlers send to actors of other kernels, also on other devices.
 *
 * A proxy is an address in one kernel that leads to an actor in another kernel.
 * The host creates the proxy. A handler passes the low half of the proxy's
 * address to peal_tell, as for an actor of its own kernel.
 *
 *	kernel on device 0			kernel on device 1
 *	handler: peal_tell(w, proxy, ..., 0)
 *	-> mailbox of the proxy's worker
 *	   -> forwarding link --------------->	worker -> actor
 *
 * The proxy's worker takes each message from its mailbox and forwards it.
 * Messages from one sender to one proxy stay in order, even if the actor
 * migrates. All proxies of a worker that lead to one kernel share a forwarding
 * link (peal/migration.h). If a handler sends many messages to few actors, a
 * link from its port costs less (peal/link.h).
 */

#include <stdint.h>

#include <peal/errors.h>
#include <peal/worker.h>

PEAL_BEGIN_C

struct peal_runtime;
struct peal_kernel;

/** Options of a proxy. A field of 0 takes its default. */
struct peal_proxy_options {
	uint32_t size; /* sizeof(struct peal_proxy_options) */
	/*
	 * PEAL_WORKER(index) of the worker of `kernel` that forwards the
	 * messages. PEAL_WORKER_ANY (0, the default): the first worker with a
	 * forwarding link to the other kernel. If no worker has such a link,
	 * worker 0 forwards.
	 */
	uint32_t worker;
};

/**
 * Creates a proxy in a kernel for an actor or a pool of another kernel.
 *
 * Both kernels belong to one runtime. The kernels may run different programs.
 * The proxy takes one of max_actors of `kernel`. An actor may have any number
 * of proxies, also several in one kernel.
 *
 * The host may use a proxy's address like any address of the actor. The address
 * resolves to the kernel where the actor lives now. peal_actor_retire ends the
 * actor and all of its proxies, for any address of the actor.
 *
 * A proxy outlasts its target in three cases. A handler ends the actor, the
 * host destroys the pool, or the host destroys the target's kernel. Messages to
 * the proxy then become dead letters with reason "no-actor". Such a proxy
 * remains until the host destroys the proxy or `kernel`.
 *
 * A worker's first proxy for a kernel creates the forwarding link. The link
 * takes one of max_ports of the worker. The link also takes one of max_inputs
 * of a worker of the other kernel. The link's capacity in messages is at least
 * mailbox.slots + mailbox.forward_slots of `kernel`.
 *
 * A message of high priority continues with normal priority behind a proxy. An
 * ask to a proxy fails with PEAL_ENOENT, because asks stay within a kernel. A
 * handler may pass a request of the host to a proxy by peal_request_forward.
 * The actor behind the proxy then replies through its own ports. The requester
 * listens to these ports (peal_requester_listen). The actor's mailbox_limit
 * holds for forwarded messages, too. The actor's mailbox_overflow selects the
 * message that is dropped with reason "full".
 *
 * Thread-safe. Blocks until the workers of both kernels have answered. Each
 * worker has at most PEAL_CONTROL_TIMEOUT_MS.
 *
 * @param kernel the kernel with the handlers that send to the proxy.
 * @param address an address of an actor: its current one, a former one, or a
 *     proxy. Or the address of a pool.
 * @param options NULL: all defaults.
 * @param address_out receives the proxy's address.
 * @return 0, or a negative error code:
 * @retval PEAL_EINVAL  an argument is NULL. Or the actor lives in `kernel`: its
 *     handlers use the actor's own address.
 * @retval PEAL_ENOENT  the runtime of `kernel` has no such actor or pool, or
 *     `kernel` has no such worker. Addresses of another runtime mean other
 *     actors.
 * @retval PEAL_ENOSPC  max_actors, max_ports or max_inputs is exhausted. The
 *     error text says which.
 * @retval PEAL_ENOTSUP  one of the programs lacks PEAL_USE_MIGRATION. Or that of
 *     `kernel` has PEAL_USE_REQUESTS, and the other program lacks it.
 * @retval PEAL_ENOTSUP  one of the kernels has no mailboxes. Or
 *     mailbox.forward_slots of the other kernel is less than one of its
 *     handlers may tell.
 * @retval PEAL_ESTOPPED  one of the kernels has ended, or its drain or stop has
 *     begun.
 * @retval PEAL_EHUNG  a worker did not answer. An actor slot of `kernel` may be
 *     lost until that kernel ends.
 * @retval PEAL_ENOMEM  there is not enough memory.
 */
int peal_proxy_create(struct peal_kernel *kernel, uint64_t address,
		      const struct peal_proxy_options *options,
		      uint64_t *address_out);

/**
 * Destroys a proxy but not its actor.
 *
 * Messages that still wait at the proxy's worker become dead letters with
 * reason "no-actor". A later peal_tell with the proxy's number returns
 * PEAL_ENOENT. The forwarding link remains until one of its two kernels is
 * destroyed. peal_kernel_destroy also destroys the proxies of its kernel.
 *
 * Thread-safe. Blocks until the proxy's worker has answered, at most
 * PEAL_CONTROL_TIMEOUT_MS.
 *
 * @param runtime an open runtime.
 * @param address the address of a proxy.
 * @return 0, or a negative error code:
 * @retval PEAL_EINVAL  runtime is NULL.
 * @retval PEAL_ENOENT  no proxy has this address.
 * @retval PEAL_EHUNG  the worker did not answer. Call again.
 * @retval PEAL_ENOMEM  there is not enough memory.
 */
int peal_proxy_destroy(struct peal_runtime *runtime, uint64_t address);

PEAL_END_C
#endif
