/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_PROCESS_H
#define PEAL_PROCESS_H

#include <stdint.h>

#include <peal/errors.h>
#include <peal/link.h>

#ifdef __cplusplus
extern "C" {
#endif

struct peal_runtime;

/*
 * Sets of processes of one user on one machine, and links between them.
 *
 * Each process opens a runtime of its own and joins the set by its rank. They find
 * each other by a rendezvous file, which rank 0 makes and removes again once all
 * are there; after that each pair of them has a connection, by which links are
 * made and by which each notices the other's end.
 *
 * A link between processes is a link as any other: the same ring, in memory that
 * the receiver's process makes and hands over as a descriptor (sealed, so that
 * nobody can cut it off), the same order, back-pressure and counters; its route is
 * PEAL_ROUTE_PROCESS. Endpoints and actors on emulated devices write and read that
 * memory themselves. Who waits at a link between processes is not woken by the other
 * process: it looks again and again, at first without a pause, at last every
 * millisecond.
 *
 * Devices that do not see the host's shared memory (GPUs) have windows instead, where
 * their driver shares memory by descriptors (CUDA): PEAL_PROCESS_MEMORY bytes of each
 * device, which all processes of the set map when they join it. A link between actors
 * on two devices that see each other's windows (by proof, as of peers within a process,
 * for which each process has both devices; see PEAL_PROBE) has its slots in the
 * receiver's and its credit in the sender's; the devices write there, and no host
 * carries anything. What each process counts of such a link the other one knows some
 * hundredths of a second later. Else, and where a kernel was resident when its process joined, the router
 * thread of the process carries the messages between the shared memory and a ring that
 * the device sees: `staged` of peal_link_info counts them, its `why` says for what
 * reason. So join before the first launch.
 *
 * What another process says is not trusted: who it is says the kernel, its records
 * and sizes are checked, and one that writes nonsense loses its connection. It can
 * write nonsense into messages of its links, as any sender can; by a window into
 * those of all links that lie in it, but nowhere else in the device's memory.
 */

/** A set of processes, as one of them sees it. */
struct peal_processes;

#define PEAL_PROCESSES_MAX 64 /* of a set */
#define PEAL_PROCESS_NAME 48 /* bytes of an offer's name, with its end */

/** Zero in a field: its default. */
struct peal_processes_options {
	uint32_t size; /* sizeof(struct peal_processes_options) */
	/*
	 * How many processes the set has, and which of them this is, from 0. 0:
	 * the environment says both and `rank` is not looked at: PEAL_RANKS and
	 * PEAL_RANK (peal spawn sets them), else OMPI_COMM_WORLD_SIZE and _RANK,
	 * PMIX_SIZE and PMIX_RANK, PMI_SIZE and PMI_RANK, SLURM_NTASKS and
	 * SLURM_PROCID, which launchers of MPI set.
	 */
	uint32_t ranks;
	uint32_t rank;
	uint32_t reserved;
	/*
	 * The rendezvous file, the same for all. NULL: PEAL_RENDEZVOUS; without
	 * it, and if a launcher of MPI names its job, one in $XDG_RUNTIME_DIR or
	 * /tmp whose name has the job's.
	 */
	const char *rendezvous;
	int64_t timeout_ns; /* until all are there; 0: 30 s, -1: for ever */
};

/** What is known of a process of the set. */
enum peal_process_state {
	PEAL_PROCESS_SELF = 0, /* the calling one */
	PEAL_PROCESS_HERE = 1,
	PEAL_PROCESS_LEFT = 2, /* it has left the set */
	PEAL_PROCESS_DEAD = 3, /* it has ended without leaving */
	PEAL_PROCESS_LOST = 4 /* it lives, and its connection is gone: it closed
			       * it, or broke the protocol */
};

/** A process of the set. */
struct peal_process_info {
	uint32_t rank;
	int pid;
	enum peal_process_state state;
	int watched; /* 1: its end is told by the kernel (pidfd); 0: by its
		      * connection alone, which children that it has forked
		      * and that live on keep open */
	uint32_t n_links; /* between it and the caller */
	uint32_t reserved;
	uint64_t gone_ns; /* peal_host time (CLOCK_MONOTONIC) at which it was
			   * noticed that it is not here any more; 0: it is */
	char why[160]; /* what was noticed then; empty: it is here */
};

/** The set. */
struct peal_processes_info {
	uint32_t rank, ranks;
	uint32_t here, left, dead, lost; /* other processes by state */
	uint32_t n_links; /* to all of them */
	uint32_t n_offers; /* of the caller */
	char id[40]; /* of the set, random, the same for all */
	char source[32]; /* where ranks came from: "options", "PEAL_RANK",
			  * "OMPI_COMM_WORLD_RANK", ... */
};

/**
 * Joins the set, and returns once all its processes have.
 *
 * @param runtime an open runtime, whose ends links are to have.
 * @param options NULL for all defaults.
 * @param set_out the set; the caller leaves it.
 * @return 0; PEAL_EINVAL an option or variable (named), or nothing says rank and
 *         number of ranks; PEAL_ETIMEDOUT not all have come (the text says who is
 *         missing); PEAL_EEXIST there is a rendezvous file of processes that are
 *         gone, or of another run that goes on; PEAL_EPERM it is another user's,
 *         or others may write it; PEAL_EPROTO it is of another version or
 *         damaged, or is for another number of ranks; PEAL_EDIED a process
 *         ended while the others waited for it; PEAL_ENOENT the file was removed
 *         before all had come, as rank 0 does that gives up; PEAL_EDRIVER; PEAL_ENOMEM.
 *         Thread-safe; blocks for `timeout_ns` at most.
 */
int peal_processes_join(struct peal_runtime *runtime,
			const struct peal_processes_options *options,
			struct peal_processes **set_out);

/**
 * Leaves the set: takes all of its links down, whoever made them, so that their
 * pointers are gone, and tells the others, which find them closed. What a link still
 * holds of this process's messages is gone, so wait before until peal_link_info says
 * that nothing is queued; of what comes, as of any link that is destroyed.
 *
 * @param set        a set; NULL does nothing.
 * @param timeout_ns how long to wait for the others to have heard it; 0: not at
 *                   all, then some may believe that this process has died. -1:
 *                   until they have, or are gone themselves.
 * @return 0; PEAL_EBUSY a group has links of the set (peal/group.h), and nothing was
 *         done; PEAL_EHUNG a worker does not let go of a link: nothing else was done
 *         but that other links may be gone. No other call on this set or its
 *         links may run at the same time, nor may endpoints of theirs.
 */
int peal_processes_leave(struct peal_processes *set, int64_t timeout_ns);

/**
 * What the set is, and how many are in which state.
 *
 * @param set      a set.
 * @param info_out filled on success.
 * @return 0; PEAL_EINVAL. Thread-safe.
 */
int peal_processes_info(struct peal_processes *set,
			struct peal_processes_info *info_out);

/**
 * What is known of a process of the set.
 *
 * @param set      a set.
 * @param rank     which; the caller's own, too.
 * @param info_out filled on success.
 * @return 0; PEAL_ENOENT no such rank; PEAL_EINVAL. Thread-safe.
 */
int peal_process_info(struct peal_processes *set, uint32_t rank,
		      struct peal_process_info *info_out);

/**
 * Offers an address to the other processes: they may connect links to it by its
 * name, each of which takes an input of it.
 *
 * @param set     a set.
 * @param name    at most PEAL_PROCESS_NAME - 1 bytes.
 * @param address of an actor, a pool or an endpoint of the set's runtime.
 * @return 0; PEAL_EEXIST the name is offered already; PEAL_ENOENT nobody has that
 *         address; PEAL_ENOSPC there are 1024 offers; PEAL_ENOMEM; PEAL_EINVAL.
 *         Thread-safe.
 */
int peal_process_offer(struct peal_processes *set, const char *name,
		       uint64_t address);

/**
 * Withdraws an offer; links that were made by it stay.
 *
 * @param set  a set.
 * @param name as it was offered.
 * @return 0; PEAL_ENOENT it is not offered; PEAL_EINVAL. Thread-safe.
 */
int peal_process_withdraw(struct peal_processes *set, const char *name);

/**
 * Connects a sender of this process to what another one offers. The other process
 * needs no call for it: the link is in its list (peal_link_list) as well.
 *
 * Both ends find the link dead when the other's process is: sending to it is
 * PEAL_EDIED, receiving from it gives what has arrived whole and then PEAL_EDIED;
 * PEAL_ESTOPPED where the other has left, or has taken the link down. To actors it
 * is as if the other end's kernel had ended.
 *
 * @param set        a set.
 * @param rank       of the other process.
 * @param name       as it offers it.
 * @param from       address of an actor or endpoint of the set's runtime.
 * @param port       of the sender, as for peal_connect.
 * @param options    NULL for all defaults; require, forbid: no other route than
 *                   PEAL_ROUTE_PROCESS; priority 0.
 * @param timeout_ns how long to wait for it to offer the name; 0: not, -1: for
 *                   ever. Its answer is waited for in any case, at most twice
 *                   PEAL_ANSWER_MS.
 * @param link_out   the link; NULL if not wanted. peal_link_destroy takes this
 *                   end down: the other process finds the link closed, and has it
 *                   in its list until it destroys it as well, or leaves.
 * @return 0; PEAL_ENOENT no such rank, or it does not offer the name, or no such
 *         sender or port; PEAL_EEXIST the port is connected; PEAL_EINVAL,
 *         PEAL_EMSGSIZE an option, or the ends declare different messages;
 *         PEAL_ENOSPC the receiver's max_inputs; PEAL_EDIED, PEAL_ESTOPPED,
 *         PEAL_EPROTO that process is not there any more, or broke the protocol;
 *         PEAL_ENOPEER the options leave no route; PEAL_ETIMEDOUT it does not
 *         answer; PEAL_ENOTSUP `from` is a kernel's dead letters; PEAL_ENOMEM;
 *         PEAL_EHUNG a worker did not answer; PEAL_EAGAIN the sender moved to
 *         another device meanwhile; PEAL_EDRIVER. What the other
 *         process has refused has its rank and its reason in the text.
 *         Thread-safe.
 */
int peal_process_connect(struct peal_processes *set, uint32_t rank,
			 const char *name, uint64_t from, uint32_t port,
			 const struct peal_link_options *options,
			 int64_t timeout_ns, struct peal_link **link_out);

/**
 * The rank of the process that has an address: those of other processes in
 * struct peal_link_info and struct peal_received say it.
 *
 * @param address any.
 * @return the rank; -1: it is an address of the caller's own runtime. Thread-safe,
 *         wait-free.
 */
int peal_process_rank_of(uint64_t address);

/**
 * The name of a state: "self", "here", "left", "dead", "lost".
 *
 * @param state any.
 * @return a static string. Thread-safe, wait-free.
 */
const char *peal_process_state_name(enum peal_process_state state);

#ifdef __cplusplus
}
#endif
#endif
