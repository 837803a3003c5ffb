/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_PROCESS_GROUP_H
#define PEAL_PROCESS_GROUP_H

#include <stdint.h>

#include <peal/errors.h>
#include <peal/link.h>

PEAL_BEGIN_C

struct peal_runtime;

/*
 * Process groups: processes of one user on one machine, and links between them.
 * Each process opens a runtime and joins the group with its rank.
 * Typical sequence: peal_process_group_join before the first launch.
 * Then peal_process_export in the process of the receiver, and
 * peal_process_connect in the process of the sender.
 * At the end peal_process_group_leave.
 */

/**
 * A process group, as one of its processes sees it.
 *
 * Meeting. The processes find each other by a rendezvous file. Rank 0 creates
 * the file and removes it once all processes have joined. After that each pair
 * of processes has a connection. The connection serves to create links and to
 * notice the end of the other process.
 *
 * Links. A link between processes has the same order, back-pressure and
 * counters as any link. Its route is PEAL_ROUTE_PROCESS. Its ring lies in
 * shared memory of the host. The receiver's process creates that memory, seals
 * its size and sends it as a descriptor. Endpoints and actors on emulated
 * devices access it directly. The other process does not wake a waiting end. A
 * waiting end polls instead, at first without a pause, later once per
 * millisecond.
 *
 * Windows. GPUs do not see shared memory of the host. With CUDA each device
 * therefore has a window of PEAL_PROCESS_MEMORY bytes. All processes map the
 * window when they join. A link between two devices uses windows if each device
 * sees the window of the other device. Its slots then lie in the receiver's
 * window, and its credit lies in the sender's window. The devices write there
 * themselves and the host copies nothing. Each process learns the other
 * process's counts of such a link some hundredths of a second later.
 *
 * A device sees a window of its own GPU. It sees the window of another device
 * if a probe has confirmed peer access between both, in both directions. For
 * the probe each process must have both devices. The variable PEAL_PROBE
 * controls probes.
 *
 * Staging. All other links of GPUs are staged. The stager thread of the
 * process then copies messages between the shared memory and a ring that the
 * device sees. In peal_link_info, `staged` counts these messages and
 * `route_reason` says the reason. If a kernel is resident on a GPU when the
 * process joins, the process has no windows. So join before the first launch.
 *
 * Trust. The runtime does not trust the other processes. The kernel of the
 * system confirms their identity, and the runtime checks records and sizes. A
 * process that sends invalid records loses its connection. A process can write
 * invalid data into messages of its own links. By a window it can write into
 * all links in that window, but nowhere else in the device's memory.
 *
 * Forks. A child of fork is no member: calls on the group fail there with
 * PEAL_EFORKED. It has no memory of the group's links. Fork the processes of a
 * group before they open their runtimes, or start them by `peal spawn`.
 */
struct peal_process_group;

#define PEAL_PROCESS_GROUP_MAX 64 /* processes of a group */
#define PEAL_PROCESS_NAME_BYTES 48 /* with the final 0 */

/** Options of a join. A field with value 0 takes its default. */
struct peal_process_group_options {
	uint32_t size; /* sizeof(struct peal_process_group_options) */
	/*
	 * Processes of the group (1..PEAL_PROCESS_GROUP_MAX; 0: the environment
	 * says ranks and rank). The first of these pairs with a value counts:
	 * - PEAL_RANKS and PEAL_RANK, which `peal spawn` sets,
	 * - OMPI_COMM_WORLD_SIZE and OMPI_COMM_WORLD_RANK,
	 * - PMIX_SIZE and PMIX_RANK,
	 * - PMI_SIZE and PMI_RANK,
	 * - SLURM_NTASKS and SLURM_PROCID.
	 * MPI launchers set the last four pairs.
	 */
	uint32_t ranks;
	uint32_t rank; /* of this process (0..ranks - 1); ignored if ranks is
			* 0 */
	uint32_t reserved; /* 0 */
	/*
	 * Path of the rendezvous file, at most 4095 bytes, equal in all
	 * processes. NULL: the variable PEAL_RENDEZVOUS gives the path. Without
	 * that variable, `ranks` must be 0 and an MPI launcher must name its
	 * job. The file then lies in $XDG_RUNTIME_DIR or /tmp and has the name
	 * of the job. A group of one process needs no file.
	 */
	const char *rendezvous;
	int64_t timeout_ns; /* ns until all have joined (default 30 s, -1: no
			     * limit; 0: default) */
};

/** The state of a process of the group. */
enum peal_process_state {
	PEAL_PROCESS_SELF = 0, /* the calling process */
	PEAL_PROCESS_ALIVE = 1, /* it is in the group */
	PEAL_PROCESS_LEFT = 2, /* it has left the group */
	PEAL_PROCESS_DEAD = 3, /* it has ended without leaving */
	/*
	 * It lives, but its connection is closed. It has closed the connection,
	 * broken the protocol, or stopped reading.
	 */
	PEAL_PROCESS_LOST = 4
};

/** A process of the group. */
struct peal_process_info {
	uint32_t rank;
	int pid;
	enum peal_process_state state;
	/*
	 * 1: the kernel of the system reports its end (pidfd). 0: only its
	 * connection reports its end. Forked children that live on keep that
	 * connection open.
	 */
	int watched;
	uint32_t n_links; /* links between it and the caller */
	uint32_t reserved;
	uint64_t gone_ns; /* CLOCK_MONOTONIC in ns when the caller noticed that
			   * it was gone; 0: it is in the group */
	char reason[160]; /* why it is gone; empty: it is in the group */
};

/** A process group. */
struct peal_process_group_info {
	uint32_t rank, ranks; /* of the caller; of the group */
	uint32_t n_alive, n_left, n_dead, n_lost; /* other processes by state */
	uint32_t n_links; /* links between the caller and all others */
	uint32_t n_exports; /* exports of the caller */
	char id[40]; /* random name of the group, equal in all processes */
	char rank_source[32]; /* source of the rank: "options", "PEAL_RANK",
			  * "OMPI_COMM_WORLD_RANK", ... */
};

/**
 * Joins the process group and returns once all its processes have joined.
 *
 * All processes of the group must call it. The process serves connections by
 * two threads of the runtime from then on.
 *
 * Thread-safe. Blocks until all processes have joined. timeout_ns limits the
 * wait for them.
 *
 * @param runtime an open runtime, the runtime of this process's ends of links.
 * @param options NULL for all defaults.
 * @param group_out the process group. The caller frees it with
 *                peal_process_group_leave.
 * @return 0, or a negative error code:
 * @retval PEAL_EINVAL    an option or variable is out of range (the text names
 *                        it). Or neither options nor environment say rank,
 *                        ranks and file.
 * @retval PEAL_ETIMEDOUT not all processes have joined in time (the text names
 *                        the missing ranks).
 * @retval PEAL_EEXIST    the rendezvous file belongs to processes that have
 *                        ended, or to another run that goes on.
 * @retval PEAL_EPERM     the file belongs to another user, or other users may
 *                        write it. Or the processes that made it are in another
 *                        PID, time or network namespace.
 * @retval PEAL_EPROTO    the file has another version, is damaged, or is for
 *                        another number of ranks.
 * @retval PEAL_EDIED     a process has ended before all had joined.
 * @retval PEAL_ENOENT    the file was removed before all had joined. Rank 0
 *                        removes it when it gives up.
 * @retval PEAL_EDRIVER   a call of the system failed, or /proc does not show
 *                        the calling process.
 * @retval PEAL_ENOMEM    the host is out of memory.
 */
int peal_process_group_join(struct peal_runtime *runtime,
			    const struct peal_process_group_options *options,
			    struct peal_process_group **group_out);

/**
 * Leaves the process group and frees it.
 *
 * The runtime destroys all links of the group, whichever process has made them.
 * Pointers to these links become invalid. Messages that are not delivered yet
 * can be lost. So wait first until peal_link_info shows no queued messages. The
 * other processes find the links closed.
 *
 * No other call on the group or its links may run at the same time. No endpoint
 * of these links may be in use. Blocks until the workers of the links have
 * answered, at most PEAL_CONTROL_TIMEOUT_MS for each link. Then it blocks for
 * timeout_ns at most.
 *
 * @param group      a process group. NULL does nothing.
 * @param timeout_ns ns to wait until the other processes know of it. 0: does
 *                   not wait. -1: until each process knows or is gone. After a
 *                   timeout, others can take this process for dead.
 * @return 0, or a negative error code:
 * @retval PEAL_EBUSY a communicator (peal/communicator.h) has links of the
 *                    group. The call has done nothing.
 * @retval PEAL_EHUNG a worker does not release a link. The process stays in the
 *                    group, but other links may be destroyed already.
 */
int peal_process_group_leave(struct peal_process_group *group,
			     int64_t timeout_ns);

/**
 * Gets the state of the process group.
 *
 * Thread-safe. Does not block.
 *
 * @param group    a process group.
 * @param info_out filled on success.
 * @return 0, or a negative error code:
 * @retval PEAL_EINVAL an argument is NULL.
 */
int peal_process_group_info(struct peal_process_group *group,
			    struct peal_process_group_info *info_out);

/**
 * Gets the state of one process of the group.
 *
 * Thread-safe. Does not block.
 *
 * @param group    a process group.
 * @param rank     rank of the process; the caller's rank is allowed.
 * @param info_out filled on success.
 * @return 0, or a negative error code:
 * @retval PEAL_ENOENT there is no such rank.
 * @retval PEAL_EINVAL an argument is NULL.
 */
int peal_process_info(struct peal_process_group *group, uint32_t rank,
		      struct peal_process_info *info_out);

/**
 * Exports an address to the other processes under a name.
 *
 * The other processes can then connect links to the address. Each link takes
 * one of its inputs.
 *
 * Thread-safe. May wait for other calls on the runtime.
 *
 * @param group   a process group.
 * @param name    1 to PEAL_PROCESS_NAME_BYTES - 1 bytes; copied.
 * @param address address of an actor, a pool or an endpoint of the group's
 *                runtime.
 * @return 0, or a negative error code:
 * @retval PEAL_EEXIST   this process exports the name already.
 * @retval PEAL_ENOENT   no actor, pool or endpoint has the address.
 * @retval PEAL_ESTOPPED the kernel of the address has ended.
 * @retval PEAL_ENOSPC   this process has 1024 exports.
 * @retval PEAL_ENOMEM   the host is out of memory.
 * @retval PEAL_EINVAL   set is NULL, or the name has a wrong length.
 */
int peal_process_export(struct peal_process_group *group, const char *name,
			uint64_t address);

/**
 * Removes an export.
 *
 * Links that were made by the export stay.
 *
 * Thread-safe. Does not block.
 *
 * @param group a process group.
 * @param name the name of the export.
 * @return 0, or a negative error code:
 * @retval PEAL_ENOENT this process does not export the name.
 * @retval PEAL_EINVAL set is NULL, or the name has a wrong length.
 */
int peal_process_unexport(struct peal_process_group *group, const char *name);

/**
 * Connects a sender of this process to an export of another process.
 *
 * The application of the other process calls nothing for it. The link appears
 * in the list of both processes (peal_link_list).
 *
 * If the other process dies, sends return PEAL_EDIED. Receives return the
 * messages that have arrived completely, and then PEAL_EDIED. If the other
 * process leaves or destroys the link, the code is PEAL_ESTOPPED instead.
 * Actors see both cases as an end of the other end's kernel.
 *
 * Thread-safe. Waits up to timeout_ns until the other process exports the
 * name. Then it waits for the answer, at most twice PEAL_CONTROL_TIMEOUT_MS.
 * After that it waits for the sender's worker, at most PEAL_CONTROL_TIMEOUT_MS.
 *
 * @param group      a process group.
 * @param rank       rank of the other process.
 * @param name       the name of its export.
 * @param from       address of an actor or endpoint of the group's runtime.
 * @param port       a port of the sender, as in peal_connect.
 * @param options    NULL for all defaults. `require` and `forbid` must allow
 *                   PEAL_ROUTE_PROCESS. `priority` must be 0.
 * @param timeout_ns ns to wait for the export; 0: does not wait, -1: no limit.
 * @param link_out   the link; NULL: not wanted. peal_link_destroy destroys this
 *                   end, and the other process finds the link closed. There
 *                   the link stays in the list until that process destroys it
 *                   or leaves.
 * @return 0, or a negative error code. If the other process has refused the
 *         link, the text has its rank and its reason.
 * @retval PEAL_ENOENT    there is no such rank, export, sender or port, or rank
 *                        is the caller's.
 * @retval PEAL_EEXIST    the port is connected.
 * @retval PEAL_EINVAL    an argument or option is out of range, the sender is a
 *                        pool, or the ends declare different message sizes.
 * @retval PEAL_EMSGSIZE  message_bytes fits neither slot nor slab, or is too
 *                        large for the pool. Or the ends declare messages that
 *                        are longer.
 * @retval PEAL_ENOSPC    the receiver has no free input, or there are 4096
 *                        links between the two processes.
 * @retval PEAL_EDIED     the other process has died or closed its connection.
 * @retval PEAL_ESTOPPED  the other process has left, or the kernel of an end
 *                        has ended.
 * @retval PEAL_EPROTO    the other process broke the protocol.
 * @retval PEAL_ENOPEER   `require` or `forbid` rule out PEAL_ROUTE_PROCESS.
 * @retval PEAL_ETIMEDOUT the other process does not answer.
 * @retval PEAL_ENOTSUP   `from` is the dead letters of a kernel, or the ends
 *                        share no publication policy.
 * @retval PEAL_EBUSY     the export is a pool that is being destroyed.
 * @retval PEAL_EHUNG     a worker did not answer.
 * @retval PEAL_EAGAIN    the sender has migrated to another device during the
 *                        call. Call again.
 * @retval PEAL_ENOMEM    a process is out of memory.
 * @retval PEAL_EDRIVER   a driver or a call of the system failed.
 */
int peal_process_connect(struct peal_process_group *group, uint32_t rank,
			 const char *name, uint64_t from, uint32_t port,
			 const struct peal_link_options *options,
			 int64_t timeout_ns, struct peal_link **link_out);

/**
 * Gets the rank of the process that an address belongs to.
 *
 * Addresses in struct peal_link_info and struct peal_received carry it.
 *
 * Thread-safe. Wait-free.
 *
 * @param address any address.
 * @return the rank; -1: the address belongs to the caller's own runtime.
 */
int peal_process_rank_of(uint64_t address);

/**
 * Gets the name of a state: "self", "alive", "left", "dead", "lost".
 *
 * Thread-safe. Wait-free.
 *
 * @param state a state.
 * @return a static string; "?" for any other value.
 */
const char *peal_process_state_name(enum peal_process_state state);

PEAL_END_C
#endif
