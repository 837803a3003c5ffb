/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_GROUP_H
#define PEAL_GROUP_H

#include <stdint.h>

#include <peal/abi/collective.h>
#include <peal/errors.h>
#include <peal/topology.h>

#ifdef __cplusplus
extern "C" {
#endif

struct peal_processes;
struct peal_runtime;

/*
 * Groups of devices and what they do together: collectives. A group has a kernel on
 * each of its devices, which stays, and links from each member to each other; what
 * is to be done goes to all of them by a message, and from there on they need the
 * host no more until it is done.
 *
 *	ring		each slice of the data goes from member to member; no
 *			link carries more than all of the data, twice (N - 1) / N
 *			for an all-reduce, however many members there are
 *	exchange	each member sends to each other at once what that needs, up
 *			to PEAL_EXCHANGE_BYTES: one hop
 *	tree		all goes up to a root and down again, the same bytes at most:
 *			2 log2 N hops, 2 (N - 1) messages where an exchange has
 *			N (N - 1). For an all-reduce, reduce, broadcast, barrier
 *
 * The ring is laid out so that as many neighbours as possible reach each other
 * directly, which depends on the topology alone, not on what was measured.
 *
 * All members end up with the same bits, and each run with the same as every other
 * one of the same group, algorithm and sizes: elements are reduced in a fixed order,
 * one after another. By the exchange that is the order of ranks, ((e0 + e1) + e2)
 * + ...; by the ring that of places in it (peal_group_info.ring), from the one
 * behind the owner of the part (peal_part) around to the owner; of a reduce to one
 * root, that is the owner of all. By the tree each member's own, then what its
 * children have made of theirs, the nearest first: that v places behind the root (of
 * an all-reduce, place 0) has those v + 1, v + 2, v + 4 ... behind it, as long as v is
 * a multiple of twice the step.
 *
 * A group of processes (peal_process_group_create) has one member in each, and each
 * calls for what is to be done, all the same and in the same order. Before anything
 * moves the members say to each other what they were called for, one hop: calls that
 * differ are found, by all of them, and nothing has been done then.
 */
struct peal_group;

/** Zero in a field: its default. */
struct peal_group_options {
	uint32_t size; /* sizeof(struct peal_group_options) */
	uint32_t channels; /* workers of each member that share a ring's slices,
			    * up to 64; 1 */
	uint32_t lanes; /* of each worker; 1 on emulated devices, on others 256
			 * or as many as they have */
	uint32_t slice_bytes; /* of the ring, a multiple of 8 up to 16 MiB; 256
			       * KiB. Each link of the ring has memory for 17
			       * of them */
};

/** A group. */
struct peal_group_info {
	uint32_t members, channels, lanes, slice_bytes;
	int device[PEAL_GROUP_MAX]; /* by rank; -1: in another process */
	uint32_t ring[PEAL_GROUP_MAX]; /* rank at each place in the ring */
	enum peal_route route[PEAL_GROUP_MAX]; /* from that place to the next */
	uint64_t done; /* collectives that have ended well */
	uint64_t memory_bytes; /* of its links */
};

/** What is to be done. */
struct peal_collective {
	uint32_t size; /* sizeof(struct peal_collective) */
	uint32_t kind; /* enum peal_collective_kind, which says what `in` and
			* `out` are */
	uint32_t element; /* enum peal_element */
	uint32_t reduction; /* enum peal_reduction, where it reduces; else 0 */
	uint64_t count; /* elements, of all parts together; 0: all meet */
	uint32_t root; /* its rank, where there is one */
	uint32_t algorithm; /* enum peal_algorithm; 0: an exchange for what fits
			     * one, else the ring. A tree was never faster
			     * where it was measured, emulated devices */
	/*
	 * For each rank (of a group of processes: for the caller's alone, others
	 * are not read) where its elements are, as its device sees it, aligned
	 * to their size: its own memory, host memory, or what peal_peer_map
	 * gave. `in` and `out` of a member may be the same place, or that of the
	 * same part; else no memory that is written may overlap any other. Of
	 * those that a kind does not use nothing is read. Both stay allocated
	 * until the collective has ended.
	 */
	const uint64_t *in, *out;
};

/**
 * Makes a group, and launches its kernels.
 *
 * @param runtime   an open runtime.
 * @param devices   n indexes, each once: the i-th has rank i.
 * @param n         1 .. PEAL_GROUP_MAX.
 * @param options   NULL for all defaults.
 * @param group_out the group; the caller destroys it.
 * @return 0; PEAL_EINVAL a device twice, or an option out of its range (named);
 *         PEAL_ENODEV; PEAL_ENOMEM (the text says where); what
 *         peal_kernel_launch and peal_connect say. Thread-safe; on GPUs as long
 *         as the launches take.
 */
int peal_group_create(struct peal_runtime *runtime, const int *devices,
		      uint32_t n, const struct peal_group_options *options,
		      struct peal_group **group_out);

/**
 * Makes a group of processes, each with a member on a device of its own; all of them
 * call it, and it returns when all have. The ring goes by ranks. A group of one
 * process does as any other.
 *
 * @param set        of the processes; it cannot be left before the group is destroyed.
 * @param name       1 to 39 bytes, for all the same, of no other group at a time. The
 *                   members offer their actors by it, with a suffix, until all have
 *                   come.
 * @param ranks      n ranks of the set, the caller's among them, for all the same: the
 *                   i-th has rank i in the group. NULL: all of the set.
 * @param n          1 .. PEAL_GROUP_MAX; with NULL it is not read.
 * @param device     the caller's member is on, of the set's runtime.
 * @param options    NULL for all defaults; channels and slice_bytes are for all the
 *                   same.
 * @param timeout_ns until all have come; 0: 30 s, -1: for ever.
 * @param group_out  the group; the caller destroys it.
 * @return 0; PEAL_EINVAL a rank twice, the caller's not among them, an option out of
 *         its range, or other options or ranks than another process that waits
 *         for it (named);
 *         PEAL_ENOENT no such rank, or a process does not make this group in time;
 *         PEAL_ETIMEDOUT one that does has not come so far (named); PEAL_EDIED,
 *         PEAL_ESTOPPED a process is gone (named); PEAL_EEXIST the caller has a
 *         group of that name, or offers such names; else as peal_group_create and peal_process_connect.
 *         Thread-safe.
 */
int peal_process_group_create(struct peal_processes *set, const char *name,
			      const uint32_t *ranks, uint32_t n, int device,
			      const struct peal_group_options *options,
			      int64_t timeout_ns,
			      struct peal_group **group_out);

/**
 * Begins a collective and returns; peal_collective_wait ends it. A group has one
 * at a time; several groups of the same devices have one each.
 *
 * @param group      of the devices.
 * @param collective what is to be done; copied.
 * @return 0; PEAL_EINVAL an element is out of its range, an address is not aligned,
 *         or memory that is written overlaps (the text names the ranks and
 *         devices); PEAL_EFAULT a range is in no allocation that the member's
 *         device sees; PEAL_EMSGSIZE too long for the exchange or tree that was
 *         asked for; PEAL_EBUSY the one before has not been waited for to its end;
 *         PEAL_EABORTED a member has ended (named); PEAL_EDIED, PEAL_ESTOPPED
 *         another process has died, or destroyed its part of the group. Then nothing
 *         has begun, unless that member ended just now: then others may have
 *         written a part, and the group can only be destroyed. One thread at a
 *         time for a group.
 */
int peal_collective_start(struct peal_group *group,
			  const struct peal_collective *collective);

/**
 * Waits for the end of what peal_collective_start has begun.
 *
 * @param group      a group.
 * @param timeout_ns 0 looks, -1 waits for ever.
 * @return 0 it is done, and what it has written can be read; 0 too if there is none;
 *         PEAL_ETIMEDOUT it goes on (the text names the members that have not
 *         ended; in a group of processes, those that have not called for it): wait
 *         again, or destroy the group; PEAL_EINVAL another process was called for
 *         something else (both are named): nothing was done, and the group is as
 *         before; PEAL_EPROTO a member got what makes no sense (named), and the
 *         group can only be destroyed; PEAL_EABORTED a member ended before (named), or another process
 *         destroyed its part of the group in the middle; PEAL_EDIED another process
 *         has died (named), at a time when this member was not done: then it never
 *         ends here, though elsewhere it may have, and the group can only be
 *         destroyed; PEAL_ESTOPPED another process has left before it was called.
 *         One thread at a time for a group.
 */
int peal_collective_wait(struct peal_group *group, int64_t timeout_ns);

/**
 * Both: begins a collective and waits for it.
 *
 * @param group      a group.
 * @param collective what is to be done.
 * @param timeout_ns 0 looks, -1 waits for ever.
 * @return as the two.
 */
int peal_collective_run(struct peal_group *group,
			const struct peal_collective *collective,
			int64_t timeout_ns);

/**
 * A group's devices, ring and counters.
 *
 * @param group    a group.
 * @param info_out filled on success.
 * @return 0; PEAL_EINVAL. Thread-safe.
 */
int peal_group_info(struct peal_group *group, struct peal_group_info *info_out);

/**
 * Ends a group, whatever it is doing: a collective that goes on leaves its memory
 * written in part. Of a group of processes it is the caller's part: if nothing goes on
 * in it, it waits for up to 2 s until the others have taken what it has sent, and they
 * go on with what they were called for; else they find that it has left in the middle.
 *
 * @param group a group; NULL does nothing.
 * @return 0; PEAL_EHUNG a kernel of it does not end (named): call again. No other
 *         call on it may run at the same time.
 */
int peal_group_destroy(struct peal_group *group);

#ifdef __cplusplus
}
#endif
#endif
