/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_COLLECTIVE_H
#define PEAL_COLLECTIVE_H

/*
 * Collectives of a communicator (peal/communicator.h).
 *
 * peal_collective_start starts a collective, and peal_collective_wait waits
 * for its end. peal_collective_run does both.
 */

#include <stdint.h>

#include <peal/abi/collective.h>
#include <peal/errors.h>

PEAL_BEGIN_C

struct peal_comm;

/** A collective. For a barrier, only `kind` and `algorithm` are read. */
struct peal_collective {
	uint32_t size; /* sizeof(struct peal_collective) */
	uint32_t kind; /* enum peal_collective_kind; it defines `in`, `out` */
	uint32_t element; /* enum peal_element */
	uint32_t reduction; /* enum peal_reduction; 0 if `kind` reduces none */
	/*
	 * Elements of all parts together. 0: no element moves. Members of
	 * several processes still compare their calls.
	 */
	uint64_t count;
	uint32_t root; /* rank of the root; 0 for kinds without a root */
	/*
	 * enum peal_algorithm. 0: an exchange if the messages fit
	 * PEAL_EXCHANGE_BYTES, else the ring. The default never takes the tree,
	 * which was not faster in any measurement on emulated devices.
	 */
	uint32_t algorithm;
	/*
	 * Arrays with an address for each rank: the start of the rank's
	 * elements, as its device sees it. A communicator of processes reads
	 * only the caller's entry. Entries that `kind` does not use are not
	 * read. Both arrays are copied. They may be NULL if `count` is 0.
	 *
	 * Each address is aligned to the size of an element. The memory is the
	 * device's own, host memory, or memory that peal_peer_map returned. It
	 * stays allocated until the collective has ended.
	 *
	 * Written memory may overlap no other memory of the collective, with
	 * one exception. `in` and `out` of one member may be at one address. If
	 * one of them is a part, it may be at its place (peal_part) in the
	 * other. The exception does not hold for PEAL_ALL_TO_ALL.
	 */
	const uint64_t *in, *out;
};

/**
 * Starts a collective and returns without waiting for its end.
 *
 * A communicator runs one collective at a time. peal_collective_wait ends it.
 * Several communicators of the same devices run their collectives
 * independently.
 *
 * After an error nothing has started, with one exception. If a member ends
 * during this call, other members may have written a part of their memory.
 * Then the communicator can only be destroyed.
 *
 * One thread at a time may run collectives of a communicator. The call blocks
 * only to copy a member's own part from `in` to `out`.
 *
 * @param comm       a communicator.
 * @param collective the collective; copied.
 * @return 0, or a negative error code:
 * @retval PEAL_EINVAL   a field is out of range, the tree cannot do `kind`, or
 *                       an address is not aligned.
 * @retval PEAL_EINVAL   written memory overlaps other memory (the text names
 *                       the ranks and devices), or a pointer is NULL.
 * @retval PEAL_EFAULT   a range is in no allocation that the member's device
 *                       sees.
 * @retval PEAL_EMSGSIZE the data are too long for the exchange or tree that
 *                       `algorithm` names.
 * @retval PEAL_EBUSY    the collective before has not ended: call
 *                       peal_collective_wait.
 * @retval PEAL_EBUSY    a member's device waits for an event
 *                       (peal_event_await_before), and the call has to copy
 *                       its own part.
 * @retval PEAL_EABORTED a member has ended (the text names it), or another
 *                       process destroyed its member during a collective.
 * @retval PEAL_EDIED    another process has died.
 * @retval PEAL_ESTOPPED another process has destroyed its member.
 * @retval PEAL_EDRIVER  the copy of a member's own part failed.
 */
int peal_collective_start(struct peal_comm *comm,
			  const struct peal_collective *collective);

/**
 * Waits for the end of the collective that peal_collective_start started.
 *
 * After PEAL_EPROTO, PEAL_EABORTED, PEAL_EDIED and PEAL_ESTOPPED, the
 * communicator can only be destroyed.
 *
 * One thread at a time may run collectives of a communicator. Blocks until the
 * collective has ended, at most timeout_ns. In a communicator of processes,
 * every process has to start the collective for that.
 *
 * @param comm       a communicator.
 * @param timeout_ns ns to wait; 0: not at all, -1: no limit.
 * @return 0 if the results can be read, or if there is no collective. Else a
 *         negative error code:
 * @retval PEAL_ETIMEDOUT the collective goes on: wait again, or destroy the
 *                        communicator. The text names the members that have
 *                        not ended. In a communicator of processes, it names
 *                        those that have not called.
 * @retval PEAL_EINVAL    another process called another collective (the text
 *                        names both). Nothing was done, and the communicator
 *                        can be used again.
 * @retval PEAL_EINVAL    `group` is NULL.
 * @retval PEAL_EPROTO    a member got an invalid message (the text names the
 *                        member).
 * @retval PEAL_EABORTED  a member has ended (the text names it), or another
 *                        process destroyed its member during the collective.
 * @retval PEAL_EDIED     another process died (the text names it) before this
 *                        member was done. In other processes the collective
 *                        may have ended.
 * @retval PEAL_ESTOPPED  another process destroyed its member before it
 *                        called.
 * @retval PEAL_EDRIVER   the copy of the member's own part failed.
 */
int peal_collective_wait(struct peal_comm *comm, int64_t timeout_ns);

/**
 * Starts a collective and waits for its end.
 *
 * One thread at a time may run collectives of a communicator. Blocks as
 * peal_collective_wait.
 *
 * @param comm       a communicator.
 * @param collective the collective.
 * @param timeout_ns ns to wait; 0: not at all, -1: no limit.
 * @return as peal_collective_start and peal_collective_wait.
 */
int peal_collective_run(struct peal_comm *comm,
			const struct peal_collective *collective,
			int64_t timeout_ns);

PEAL_END_C
#endif
