/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEALI_COMMUNICATOR_H
#define PEALI_COMMUNICATOR_H

#include <peal/communicator.h>
#include <peal/process_group.h>
#include "p2p/peer.h"
#include "runtime/device/memory_block.h"
#include "runtime/runtime.h"

/*
 * Internals of groups, the communicators of peal/communicator.h:
 *
 *	communicator.c		makes and destroys groups
 *	communicator_group.c	makes groups with members in several processes
 *	collective.c	runs collectives
 *
 * One thread at a time uses a group, except for peal_comm_info.
 */

/** A member, by its place in the ring. */
struct peali_comm_member {
	int device; /* -1: in another process */
	uint32_t rank; /* in the group */
	uint32_t process; /* group of processes: its rank in the set */
	struct peal_kernel *kernel; /* NULL: in another process, or n is 1 */
	struct peal_link *next; /* channel 0's link to the next place; NULL in
				 * a group of processes */
	struct peal_link *exchange; /* link to its exchange actor if that is in
				     * another process, else NULL */
	uint64_t done; /* bit per channel that has ended the collective; bit 0
			* if the collective does not use the ring */
	/* memory of the collective, not to be freed */
	struct peali_range in, out;
};

struct peal_comm {
	struct peal_runtime *rt;
	struct peal_comm *next; /* runtime's list, under rt->lock */
	struct peal_process_group *set; /* NULL: one process */
	/* of a group of processes: */
	char name[PEAL_PROCESS_NAME_BYTES];
	uint32_t own; /* place of this process's member */
	uint32_t n_exported; /* actors exported, in creation only */
	uint64_t ranks; /* hash of the members' ranks in the set */
	/* of every group: */
	uint32_t n, channels, lanes; /* n: members; lanes 0: default */
	uint64_t slice_bytes;
	struct peali_comm_member *members; /* n of them, by place */
	uint32_t place_of[PEAL_COMM_MAX]; /* by rank */
	struct peal_endpoint *host;
	struct peali_block plan_block;
	struct peal_collective_plan *plan; /* host view; NULL if n is 1 */
	struct peal_link **links;
	uint32_t n_links, max_links;
	uint64_t link_bytes; /* memory of all links */
	_Atomic uint64_t submission; /* number of the collective */
	/* reports still to come; 0: no collective runs */
	_Atomic uint32_t waits_for;
	uint32_t algorithm; /* enum peal_algorithm of the current collective */
	char why[200]; /* text: which process is gone, and why */
	int differs; /* 1: another process has called another collective */
	_Atomic uint64_t ended; /* collectives that have succeeded */
};

/* Returns 1 if a member is in this process. */
static inline int peali_comm_is_here(const struct peal_comm *g, uint32_t place)
{
	return !g->set || place == g->own;
}

/*
 * Returns the host endpoint's port to a member's actor for a channel. Channel
 * g->channels stands for the member's exchange actor.
 */
static inline uint32_t peali_comm_port(const struct peal_comm *g,
				       uint32_t place, uint32_t channel)
{
	return place * (g->channels + 1) + channel;
}

#define PEALI_CHANNELS_MAX 64

/* ---- creation ------------------------------------------------------------ */

/*
 * Allocates a group without kernels. peali_comm_made adds it to the runtime's
 * list. Returns NULL after an error, which peal_last_error has.
 */
struct peal_comm *peali_comm_new(struct peal_runtime *rt, uint32_t n,
				 const struct peal_comm_options *options,
				 const char *call);
/*
 * Makes the plan, the host endpoint and the table of links. Then launches the
 * kernels of the members in this process.
 */
int peali_comm_launch(struct peal_comm *group, const char *call);
/*
 * Spawns a local member's ring actor for a channel, or its exchange actor for
 * channel g->channels. In a group of processes it also tells the actor `next`
 * to begin a ring. `next` 0: it tells no actor.
 */
int peali_comm_spawn(struct peal_comm *group, uint32_t place, uint32_t channel,
		     uint64_t next, uint64_t *address_out);
/*
 * Connects an actor to the host endpoint. Also connects the endpoint to it,
 * except to a ring actor in a group of processes.
 */
int peali_comm_connect_host(struct peal_comm *group, uint32_t place,
			    uint32_t channel, uint64_t actor);
/* Returns options of a link for `capacity` messages of `bytes` bytes. */
struct peal_link_options peali_comm_link(uint32_t capacity, uint64_t bytes);
/* Adds a link to the group, which then destroys it. */
void peali_comm_own(struct peal_comm *group, struct peal_link *link);
/*
 * Ends the creation of a group. If `result` is 0, adds it to the runtime's list
 * and returns 0. Else takes the group down and returns the error.
 */
int peali_comm_made(struct peal_comm *group, int result, const char *call,
		    struct peal_comm **comm_out);

/* Returns the bytes of a message of the ring. */
static inline uint64_t peali_ring_message_bytes(const struct peal_comm *g)
{
	return sizeof(struct peal_member_head) + g->slice_bytes;
}

#define PEALI_EXCHANGE_MESSAGE_BYTES                                           \
	(sizeof(struct peal_member_head) + PEAL_EXCHANGE_BYTES)
#define PEALI_RING_SLOTS (4 * PEAL_RING_WINDOW)

/* ---- groups of processes ------------------------------------------------- */

/* Returns PEAL_EBUSY if a group uses the set, else 0. The caller holds
 * rt->lock. */
int peali_group_check_unused(struct peal_process_group *set, const char *call);
/*
 * Checks that all members in other processes can take part in the current
 * collective. Returns 0, or an error that names a process that is gone.
 */
int peali_comm_check_processes(struct peal_comm *group, const char *call);
/*
 * Returns PEAL_EINVAL. The text names a process that has called another
 * collective, and both calls.
 */
int peali_comm_differs(const struct peal_comm *group, const char *call);
/*
 * Prepares a group of processes for the end of its links. Waits until the peers
 * have taken all messages, at most until the deadline. During a collective it
 * does not wait. Then tells the peers that this member leaves.
 */
void peali_comm_leave(struct peal_comm *group, uint64_t deadline);
/* Takes down the remote links of the local member that are left. */
int peali_comm_close_links(struct peal_comm *group);

/* ---- collectives --------------------------------------------------------- */

/* Returns 1 if a member is known to have called the current collective. */
int peali_comm_was_called(const struct peal_comm *group, uint32_t place);
/* Allows the memory of a collective that is over to be freed. */
void peali_collective_let_go(struct peal_comm *group);

struct peal_comm *peali_comm_next(struct peal_comm *group);
/* Returns 1 if a collective has not ended that uses a device, or PEAL_ALL_DEVICES.
 * It has a submission number below `before`. The caller holds rt->lock. */
int peali_comm_is_busy(const struct peal_comm *group, int device,
		       uint64_t before);

#endif
