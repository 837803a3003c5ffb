/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_LINK_H
#define PEAL_LINK_H

/*
 * Links carry messages from a port of one sender to one receiver.
 *
 * Senders are actors, endpoints and the dead letters of a kernel. Receivers are
 * actors, pools and endpoints. peal_connect makes a link and chooses the best
 * route between the two places. peal_link_info reads its counters at any time.
 * peal_link_set_route changes the route of a live link.
 *
 *	peal_connect(runtime, from, 0, to, NULL, &link);
 *	...
 *	peal_link_info(link, &info);
 *	peal_link_destroy(link);
 */

#include <stddef.h>
#include <stdint.h>

#include <peal/abi/message.h>
#include <peal/errors.h>
#include <peal/topology.h>

PEAL_BEGIN_C

struct peal_runtime;

/** A link: a queue from one sender to one receiver. */
struct peal_link;

/** Options of a link. A field of 0 takes its default. */
struct peal_link_options {
	uint32_t size; /* sizeof(struct peal_link_options) */
	/*
	 * Slots (default 64; a power of two, 1..2^20). At least `emits` of the
	 * sender's handler (struct peal_handler_info), plus one for a link from
	 * an actor to itself. At least 2 for dead letters.
	 */
	uint32_t capacity;
	uint64_t message_bytes; /* largest payload (default 48; to 256 MiB) */
	/*
	 * Bytes of a slot: a multiple of 16, 16..4096, with policy atom8
	 * 16..2048. 0: the slot holds the largest message up to 256 bytes, with
	 * atom policies up to 512 bytes. For larger messages the default is 64
	 * and the payloads lie in a slab.
	 */
	uint32_t slot_bytes;
	uint32_t policy; /* enum peal_slot_policy (0: the backend's default) */
	/*
	 * Bytes of the slab, for payloads that exceed a slot (up to 1 TiB). The
	 * slab must hold `emits` + 1 messages of the largest size, at least
	 * two. 0: capacity + 1 messages, but at most 64 MiB or nine messages,
	 * whichever is more.
	 */
	uint64_t slab_bytes;
	/* Values of enum peal_route, combined by |, without PEAL_ROUTE_PROCESS. */
	uint32_t require; /* the link takes one of these routes (0: any) */
	uint32_t forbid; /* the link takes none of these routes */
	/*
	 * enum peal_priority. The receiver's worker takes messages of
	 * PEAL_PRIORITY_HIGH links before all other messages for its actors.
	 * After 32 messages from such links the worker takes one other message.
	 * A link to an endpoint must have PEAL_PRIORITY_NORMAL.
	 */
	uint32_t priority;
	uint32_t priority_reserved; /* 0 */
};

/**
 * The properties and counters of a link. At any time accepted = delivered +
 * the sum of dead[] + queued.
 */
struct peal_link_info {
	uint64_t id;
	uint64_t from, to; /* addresses of sender and receiver */
	uint32_t from_port;
	enum peal_route route;
	char route_reason[160]; /* the reason for this route */
	uint32_t capacity, slot_bytes, policy;
	/*
	 * 1: the slots lie in shared memory of a cluster of workers, see
	 * cluster.workers of struct peal_kernel_options. 0: they do not.
	 */
	uint32_t in_cluster;
	/* memory_bytes: all memory of the link, on devices and on the host. */
	uint64_t message_bytes, slab_bytes, memory_bytes;
	/*
	 * A device may show the bytes later than their messages. A worker of a
	 * GPU shows its counts when it is idle. A busy worker does so every 96
	 * messages or batches, or 100 us.
	 */
	uint64_t accepted, accepted_bytes; /* messages from the sender */
	uint64_t delivered, delivered_bytes; /* messages to the receiver */
	uint64_t dead[PEAL_REASON_COUNT]; /* by enum peal_reason */
	uint64_t queued; /* neither delivered nor dead yet */
	uint64_t staged; /* messages that the stager has copied */
	/*
	 * Times that the sender found no free slot or slab. Repeated attempts
	 * count once: the count grows by at most 1 between two accepted
	 * messages. An actor finds the link full while the messages that its
	 * handler declares do not fit.
	 */
	uint64_t full_count;
	/*
	 * Dead letters that the sender dropped because the link was full.
	 * `accepted` does not include these. See peal/dead_letter.h.
	 */
	uint64_t dead_letters_dropped;
	uint64_t handovers; /* completed link hand-overs */
	/*
	 * Messages that no handler will handle, because the receiver has
	 * stopped or the link is corrupt. Their sequence numbers begin at
	 * undelivered_first. dead[] counts these messages too: as
	 * PEAL_REASON_STOPPED, or for a corrupt link as PEAL_REASON_PROTOCOL.
	 * After the loss of a GPU, the receiver may have handled some of them:
	 * up to 96 messages or batches. A hung handler has the same effect.
	 */
	uint64_t undelivered, undelivered_first;
	int ended; /* 1: the sender has sent END */
	int error; /* PEAL_E...: why the link is broken; 0: it is not */
	uint32_t priority; /* enum peal_priority */
};

/**
 * Connects a port of a sender to a receiver by a new link.
 *
 * The runtime owns the link until peal_link_destroy or the runtime's end.
 *
 * Thread-safe. Blocks until the workers at both ends have answered; each has at
 * most PEAL_CONTROL_TIMEOUT_MS. The call also blocks while the runtime probes a
 * pair of devices for the first time, as peal_topology_pair does.
 *
 * @param runtime an open runtime.
 * @param from the address of an actor, of an endpoint, or of the dead letters
 *     of a kernel.
 * @param port the sender's port, from 0. An actor has as many ports as its
 *     handler declares. An endpoint has as many as its options say. Dead
 *     letters have one port for each worker.
 * @param to the address of an actor, a pool or an endpoint.
 * @param options NULL: all defaults.
 * @param link_out receives the link; NULL: not wanted.
 * @return 0, or a negative error code:
 * @retval PEAL_ENOENT  there is no such actor, pool, endpoint or port.
 * @retval PEAL_EEXIST  the port is connected to a link or a topic already.
 * @retval PEAL_EINVAL  the runtime is NULL. Or an option is out of range; the
 *     error text names it. Or both ends are endpoints, or the sender is a pool.
 *     Or the ends declare different message sizes. Or the sender shares the
 *     ports of another actor. Or `require` and `forbid` leave no route.
 * @retval PEAL_EMSGSIZE  a message fits neither slot nor slab, or is too long for
 *     the pool. Or message_bytes is less than an end declares. Or message_bytes
 *     is less than the size of a dead letter.
 * @retval PEAL_ENOPEER  the pair has none of the permitted routes. The error
 *     text names the pair and the reason.
 * @retval PEAL_ENOSPC  the receiver already has max_inputs inputs.
 * @retval PEAL_ENOMEM  there is not enough memory.
 * @retval PEAL_EBUSY  `to` is a pool, and peal_pool_destroy has begun on it.
 * @retval PEAL_ESTOPPED  the kernel of the sender or receiver has ended.
 * @retval PEAL_ENOTSUP  the receiver's program lacks PEAL_USE_PRIORITIES, and
 *     the link has high priority. Or `from` is an address of dead letters, and
 *     its program lacks PEAL_USE_DEAD_LETTERS.
 * @retval PEAL_EHUNG  a worker did not answer. The call made no link.
 */
int peal_connect(struct peal_runtime *runtime, uint64_t from, uint32_t port,
		 uint64_t to, const struct peal_link_options *options,
		 struct peal_link **link_out);

/**
 * Moves a live link to another route: a link hand-over.
 *
 * The sender seals the old ring and continues in a new ring. The receiver first
 * empties the old ring. No message is lost or reordered.
 *
 * An endpoint changes its ring in its next call that sends at this port, or that
 * receives. A link with an endpoint can be mapped-host or staged. A thread that
 * serves the endpoint itself calls with timeout_ns 0, and ignores
 * PEAL_ETIMEDOUT.
 *
 * Thread-safe. Other threads may send and receive at endpoints of the link.
 * Blocks until its workers have answered; each has at most
 * PEAL_CONTROL_TIMEOUT_MS. Then blocks until the receiver has emptied the old
 * ring. The receiver's kernel must make progress meanwhile. So another thread
 * must serve the endpoints on which this kernel depends.
 *
 * @param link a link between running kernels, or between a running kernel and
 *     an endpoint.
 * @param route one route that the pair can take.
 * @param timeout_ns the limit in ns for emptying the old ring; -1: no limit.
 * @return 0, or a negative error code:
 * @retval PEAL_EALREADY  the link has this route.
 * @retval PEAL_ENOPEER  the pair cannot take this route. The error text names
 *     the pair.
 * @retval PEAL_ENOTSUP  an end of the link is in another process.
 * @retval PEAL_EBUSY  another hand-over of this link has not finished.
 * @retval PEAL_ETIMEDOUT  the receiver has not emptied the old ring, or an
 *     endpoint has not sent since. The hand-over continues in the background.
 * @retval PEAL_ESTOPPED  the sender or the receiver has ended.
 * @retval PEAL_EHUNG  a worker did not answer. The hand-over may still happen.
 * @retval PEAL_ENOMEM  there is not enough memory.
 * @retval PEAL_EINVAL  link is NULL, or route is not exactly one route.
 */
int peal_link_set_route(struct peal_link *link, enum peal_route route,
			int64_t timeout_ns);

/**
 * Reads the properties and counters of a link.
 *
 * Thread-safe. The call stops no worker and takes no lock of the message path.
 *
 * @param link a link.
 * @param info_out filled on success.
 * @return 0, or a negative error code:
 * @retval PEAL_EINVAL  an argument is NULL.
 */
int peal_link_info(struct peal_link *link, struct peal_link_info *info_out);

/**
 * Lists the links of a runtime, the oldest first.
 *
 * Thread-safe.
 *
 * @param runtime an open runtime.
 * @param links_out an array that receives the n oldest links. NULL is allowed
 *     if n is 0.
 * @param n the size of the array. 0: the call only counts.
 * @return the number of links, which can exceed n, or a negative error code:
 * @retval PEAL_EINVAL  runtime is NULL, or links_out is NULL and n is not 0.
 */
int peal_link_list(struct peal_runtime *runtime, struct peal_link **links_out,
		   uint32_t n);

/**
 * Removes and frees a link.
 *
 * The call drops messages that are still in the link. To know their number,
 * call peal_link_info before. A live sender then finds its port closed. A live
 * receiver finds its input ended.
 *
 * Not thread-safe: no other call on this link may run at the same time. Nor may
 * a thread send or receive at an endpoint of the link. Blocks until the workers
 * at both ends have answered; each has at most PEAL_CONTROL_TIMEOUT_MS.
 *
 * @param link a link; NULL: the call does nothing.
 * @return 0, or a negative error code:
 * @retval PEAL_EHUNG  a worker did not answer. The link still exists.
 * @retval PEAL_EBUSY  the link is a forwarding link between two kernels
 *     (peal/migration.h). The runtime removes the link with one of these
 *     kernels.
 */
int peal_link_destroy(struct peal_link *link);

PEAL_END_C
#endif
