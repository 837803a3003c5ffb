/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_COMMUNICATOR_H
#define PEAL_COMMUNICATOR_H

/*
 * Communicators: collectives between devices, such as all-reduce and
 * broadcast.
 *
 * peal_comm_create makes a communicator of devices in one process.
 * peal_comm_create_group makes one with a member in each of several
 * processes. The calls of peal/collective.h run collectives. peal_comm_destroy
 * ends the communicator.
 */

#include <stdint.h>

#include <peal/abi/collective.h>
#include <peal/collective.h>
#include <peal/errors.h>
#include <peal/topology.h>

PEAL_BEGIN_C

struct peal_process_group;
struct peal_runtime;

/**
 * A communicator of N devices, its members.
 *
 * Each member has a resident kernel on its device, and a link to each other
 * member. The host starts a collective by messages to the members. They then
 * need no call of the host until the collective has ended.
 *
 * There are three algorithms. B means PEAL_EXCHANGE_BYTES.
 *
 *	ring		Slices of the data go from member to member. For any N,
 *			a link carries the data at most once. In an all-reduce,
 *			a link carries 2 (N - 1) / N times the data. In an
 *			all-to-all it carries (N - 1) / 2 times the data.
 *	exchange	Each member sends to each other member at once. That
 *			takes one hop and N (N - 1) messages of at most B.
 *	tree		Data go up to a root, and down again. That takes
 *			2 log2 N hops and 2 (N - 1) messages of at most B. For
 *			all-reduce, reduce, broadcast and barrier only.
 *
 * The ring connects as many neighbours as possible by direct peer access. With
 * more than 16 members the search is not complete: no single move improves the
 * ring. Its order depends on the topology alone, not on measurements.
 * peal_comm_info returns the order.
 *
 * Results are reproducible. All members end up with the same bits. Runs with
 * the same communicator, algorithm and sizes also give the same bits. Elements
 * are reduced one after another, in a fixed order:
 *
 *	exchange	In order of ranks: ((e0 + e1) + e2) + ...
 *	ring		In order of places in the ring. The first place is the
 *			one after the owner of the part (peal_part). The last
 *			place is the owner. The root of a reduce owns all parts.
 *	tree		First the member's own element. Then the results of its
 *			children, the nearest child first.
 *
 * The tree is binomial. Let v be the number of places from the root to a
 * member. The children of v are v + s for s = 1, 2, 4, ... The list ends when
 * 2 s does not divide v, or v + s reaches N. The root of an all-reduce is the
 * member at place 0.
 *
 * The average (PEAL_AVERAGE) sums in this order. The last step divides by N.
 * Sums of integers wrap modulo 2^32 or 2^64. The quotient is rounded toward 0.
 * ncclAvg of NCCL does both for integers, too (FuncSumPostDiv). A float sum is
 * divided, too, and so may overflow. NCCL multiplies each float by 1 / N
 * before the sum instead. That rounds each element.
 *
 * A step on f16 or bf16 computes in f32, and rounds its result to nearest, ties
 * to even. So a sum or product is correctly rounded (S. Figueroa, "When is
 * Double Rounding Innocuous?", 1995). The last step of an average adds and
 * divides before it rounds. Later steps and messages have the rounded result.
 * Subnormal numbers, infinities and NaN have their meaning in IEEE 754.
 *
 * In a communicator of processes, each process calls the same collectives in
 * the same order. Before any data move, the members compare their calls, which
 * takes one hop. If the calls differ, every process gets an error and nothing
 * is done.
 */
struct peal_comm;

/** Options of a communicator. A field of 0 takes its default. */
struct peal_comm_options {
	uint32_t size; /* sizeof(struct peal_comm_options) */
	/*
	 * Workers of each member (default 1, 1..64; 63 with 64 members). They
	 * share the slices of the ring.
	 */
	uint32_t channels;
	/*
	 * Lanes of each worker. Default: 1 on emulated devices, elsewhere 256
	 * or the device's max_lanes if that is less.
	 */
	uint32_t lanes;
	/*
	 * Bytes of a slice of the ring (default 256 KiB, up to 16 MiB, a
	 * multiple of 8). Each link of the ring has memory for 17 slices.
	 */
	uint32_t slice_bytes;
};

/** State of a communicator. */
struct peal_comm_info {
	uint32_t members, channels, lanes, slice_bytes; /* lanes 0: n is 1 */
	int device[PEAL_COMM_MAX]; /* by rank; -1: in another process */
	uint32_t ring[PEAL_COMM_MAX]; /* rank at each place in the ring */
	enum peal_route route[PEAL_COMM_MAX]; /* from a place to the next */
	uint64_t done; /* collectives that have ended with success */
	uint64_t memory_bytes; /* of the links */
};

/**
 * Creates a communicator of devices in this process.
 *
 * The call launches a kernel on each device, except for n = 1.
 *
 * Thread-safe. Blocks while it probes the pairs of devices and launches the
 * kernels.
 *
 * @param runtime   an open runtime.
 * @param devices   n indexes of devices, all different: the i-th has rank i.
 * @param n         1 .. PEAL_COMM_MAX.
 * @param options   NULL for all defaults.
 * @param comm_out the communicator; the caller frees it by
 *                  peal_comm_destroy.
 * @return as peal_kernel_launch and peal_connect, and:
 * @retval PEAL_EINVAL  a device is there twice, or `n` or an option is out of
 *                      range (the text names it).
 * @retval PEAL_EINVAL  a pointer is NULL.
 * @retval PEAL_ENODEV  there is no such device.
 * @retval PEAL_ENOMEM  a device or the host has too little memory (the text
 *                      names it).
 */
int peal_comm_create(struct peal_runtime *runtime, const int *devices,
		     uint32_t n, const struct peal_comm_options *options,
		     struct peal_comm **comm_out);

/**
 * Creates a communicator with a member in each of several processes.
 *
 * All these processes call it, and each call returns when all have called. The
 * ring is in order of ranks. While the call runs, the process exports actors by
 * names that begin with `name` and "/" (peal_process_export).
 *
 * peal_process_group_leave fails with PEAL_EBUSY until the communicator is
 * destroyed.
 *
 * Thread-safe. Blocks until all processes have called.
 *
 * @param group      the process group.
 * @param name       1 to 39 bytes, the same in all processes. No other
 *                   communicator of the process group has that name at that
 *                   time.
 * @param ranks      n ranks of the process group, the same in all processes,
 *                   one of them the caller's. The i-th has rank i in the
 *                   communicator. NULL: all ranks of the process group.
 * @param n          1 .. PEAL_COMM_MAX; not read if `ranks` is NULL.
 * @param device     index of the caller's device, in the runtime of the
 *                   process group.
 * @param options    NULL for all defaults; channels and slice_bytes are the
 *                   same in all processes.
 * @param timeout_ns ns to wait for the other processes; 0: 30 s, -1: no limit.
 * @param comm_out  the communicator; the caller frees it by
 *                   peal_comm_destroy.
 * @return as peal_comm_create and peal_process_connect, and:
 * @retval PEAL_EINVAL    a rank is there twice, the caller's rank is missing,
 *                        or an option is out of range.
 * @retval PEAL_EINVAL    another process calls with other options or ranks
 *                        (the text names it).
 * @retval PEAL_ENOENT    there is no such rank, or a process did not call in
 *                        time.
 * @retval PEAL_ETIMEDOUT a process has called, but did not finish in time (the
 *                        text names it).
 * @retval PEAL_EDIED     a process has died (the text names it).
 * @retval PEAL_ESTOPPED  a process has left the process group (the text names
 *                        it).
 * @retval PEAL_EEXIST    the caller has a communicator of that name, or exports
 *                        such a name.
 */
int peal_comm_create_group(struct peal_process_group *group, const char *name,
			   const uint32_t *ranks, uint32_t n, int device,
			   const struct peal_comm_options *options,
			   int64_t timeout_ns, struct peal_comm **comm_out);

/**
 * Reads the devices, the ring and the counters of a communicator.
 *
 * Thread-safe. The members go on meanwhile.
 *
 * @param comm     a communicator.
 * @param info_out written on success.
 * @return 0, or a negative error code:
 * @retval PEAL_EINVAL  a pointer is NULL.
 */
int peal_comm_info(struct peal_comm *comm, struct peal_comm_info *info_out);

/**
 * Ends a communicator at any time and frees it.
 *
 * A collective that goes on leaves its memory partly written.
 *
 * In a communicator of processes, the call ends the caller's member. Without a
 * collective, it waits until the other processes have taken all its messages,
 * at most 2 s. The other processes finish the collectives that they have
 * called. Their later collectives fail. During a collective, the call skips
 * this wait, and the other processes get PEAL_EABORTED.
 *
 * No other call on this communicator may run at the same time. Blocks until
 * the kernels have ended. Kernels that still run after 2 s are aborted.
 *
 * @param comm a communicator; NULL does nothing.
 * @return 0, or a negative error code:
 * @retval PEAL_EHUNG  a kernel does not end (the text names it): call again.
 */
int peal_comm_destroy(struct peal_comm *comm);

PEAL_END_C
#endif
