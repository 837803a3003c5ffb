/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_SUPERVISOR_H
#define PEAL_SUPERVISOR_H

/*
 * Supervisors restart actors that fail.
 *
 * An actor is spawned with a supervisor. If its handler returns an error, the
 * actor restarts with the state that it was spawned with. The supervisor's
 * strategy selects other actors that restart with it. If restarts happen too
 * often, the supervisor gives up. Messages to its actors then become dead
 * letters with reason "down".
 *
 *	options.strategy = PEAL_ONE_FOR_ALL;
 *	peal_supervisor_create(kernel, &options, &supervisor);
 *	actor.supervisor = supervisor;
 *	peal_actor_spawn(kernel, "account", &actor, &address);
 */

#include <stdint.h>

#include <peal/abi/supervisor.h>
#include <peal/errors.h>

PEAL_BEGIN_C

struct peal_kernel;

/*
 * Failures. The message on which a handler failed becomes a dead letter with
 * reason "handler". The restarted actor handles the messages queued behind that
 * message. An actor without a supervisor keeps its current state and continues
 * after a failure. With the kernel option on_failure = PEAL_FAILURE_END such an
 * actor ends instead. Such an actor also ends if its init hook fails. A member
 * of a pool cannot have a supervisor.
 *
 * Restarts. The workers restart actors on the device, without the host. An
 * actor's own worker restarts the actor just before its next message. Neither
 * the host nor other actors wait for the restart. Until then peal_actor_state
 * reads the state at the failure. Links, names, addresses and queued messages
 * of the actor do not change.
 *
 * A worker learns of a failure of its own actors at once. A worker learns of a
 * failure on another worker at its next look at the control words. Each worker
 * takes a look about every 64 turns (struct peal_worker_info.heartbeat).
 *
 * Timers. The timers that an actor has set continue after its restart. The
 * actor's state no longer has their handles. With `timers`
 * PEAL_RESTART_ENDS_TIMERS these timers end. From the failure on, they send no
 * message, and at their due time they count as cancelled. A message that such a
 * timer sent before the failure stays queued. A timer also continues if its
 * actor has migrated to another kernel.
 *
 * Giving up. The limit of restarts within a period follows the supervisors of
 * Erlang/OTP. With PEAL_RESTARTS_UNLIMITED there is no limit. An actor that is
 * spawned with a supervisor that has given up gets no messages.
 *
 * Cost. To restart several actors, a worker scans the kernel's actor slots. The
 * scan covers all slots from the first to the last that the supervisor ever
 * had. The worker handles no messages during the scan. The restart of a single
 * actor costs only the copy of its state.
 */

/** A supervisor of actors of one kernel. */
struct peal_supervisor;

/** As `max_restarts`: exhausted at the first failure. */
#define PEAL_RESTARTS_NONE UINT32_MAX

/** Options of a supervisor. A field of 0 takes its default. */
struct peal_supervisor_options {
	uint32_t size; /* sizeof(struct peal_supervisor_options) */
	uint32_t strategy; /* enum peal_strategy (default PEAL_ONE_FOR_ONE) */
	/*
	 * The largest number of failures within period_ns that lead to restarts
	 * (default 3, 1..30, PEAL_RESTARTS_NONE or PEAL_RESTARTS_UNLIMITED). At
	 * one more failure the supervisor gives up, with all actors below it.
	 */
	uint32_t max_restarts;
	/*
	 * PEAL_RESTART_KEEPS_TIMERS (0, default) or PEAL_RESTART_ENDS_TIMERS:
	 * the timers that a member's handler has set.
	 */
	uint32_t timers;
	uint64_t period_ns; /* ns of the device's clock (default 5 s) */
	/*
	 * A supervisor of the same kernel that supervises this one; NULL: none.
	 * If this supervisor gives up, its parent counts a failure of a member.
	 * The parent then restarts members by its own strategy. A restart of a
	 * supervisor restarts all actors below it.
	 */
	struct peal_supervisor *parent;
};

/** The state and the counters of a supervisor. */
struct peal_supervisor_info {
	uint32_t members; /* actors and supervisors directly below it */
	uint32_t exhausted; /* 1: out of restarts; 0: it is not */
	/*
	 * Counted failures: of its own actors, and of supervisors directly
	 * below it that gave up. The failure of an actor that is due for a
	 * restart anyway does not count.
	 */
	uint64_t failures;
	uint64_t restarted; /* restarts of actors directly below it */
	/*
	 * Address of the actor with the last counted failure; 0: none. The
	 * actor may be below another supervisor that gave up.
	 */
	uint64_t last_actor;
	int last_error; /* error of last_actor's handler, as in a dead letter */
};

/**
 * Creates a supervisor in a kernel.
 *
 * Actors become members when they are spawned with the supervisor: `supervisor`
 * of struct peal_actor_options. The members are ordered by their creation.
 * Members may belong to any worker of the kernel.
 *
 * Memory on the device: the launch reserves 512 bytes for each of
 * max_supervisors. With max_supervisors above 0, the launch reserves 32 bytes
 * more for each of max_actors. The runtime also keeps a copy of each member's
 * init bytes, rounded up to a multiple of 16. Actors of one
 * peal_actor_spawn_many with init_stride 0 share a copy.
 *
 * Thread-safe. Blocks until all workers have answered. Each worker has at most
 * PEAL_CONTROL_TIMEOUT_MS.
 *
 * @param kernel a kernel that runs or is suspended, launched with
 *     max_supervisors.
 * @param options NULL: all defaults.
 * @param supervisor_out receives the supervisor. The supervisor lasts until
 *     peal_supervisor_destroy or peal_kernel_destroy.
 * @return 0, or a negative error code:
 * @retval PEAL_ENOSPC  all max_supervisors of the kernel are in use.
 * @retval PEAL_EINVAL  an argument is NULL, or an option is out of range (the
 *     error text names it). Or the parent belongs to another kernel. Or there
 *     would be a chain of more than PEAL_SUPERVISOR_DEPTH supervisors.
 * @retval PEAL_ESTOPPED  the kernel has ended.
 * @retval PEAL_EHUNG  a worker did not answer.
 */
int peal_supervisor_create(struct peal_kernel *kernel,
			   const struct peal_supervisor_options *options,
			   struct peal_supervisor **supervisor_out);

/**
 * Destroys a supervisor that has no members.
 *
 * peal_kernel_destroy also destroys the supervisors of its kernel.
 *
 * Thread-safe, but no other call on this supervisor may run at the same time.
 *
 * @param supervisor a supervisor; NULL: the call does nothing.
 * @return 0, or a negative error code:
 * @retval PEAL_EBUSY  the supervisor has members. The error text says how many.
 */
int peal_supervisor_destroy(struct peal_supervisor *supervisor);

/**
 * Restarts all actors below a supervisor, whether they have failed or not.
 *
 * Each actor restarts before its next message. The call also revives the
 * supervisor and all supervisors below it if they had given up. Their limits
 * then count failures from zero. If a supervisor above has given up, restart
 * that supervisor instead.
 *
 * Thread-safe. Waits at most PEAL_CONTROL_TIMEOUT_MS for a worker.
 *
 * @param supervisor a supervisor.
 * @return 0, or a negative error code:
 * @retval PEAL_EINVAL  supervisor is NULL or destroyed.
 * @retval PEAL_ESTOPPED  the kernel has ended.
 * @retval PEAL_EHUNG  the worker did not answer. The worker may still restart
 *     the actors.
 */
int peal_supervisor_restart(struct peal_supervisor *supervisor);

/**
 * Reads the state and the counters of a supervisor.
 *
 * The call also works after the kernel has ended.
 *
 * Thread-safe. Waits at most PEAL_CONTROL_TIMEOUT_MS for a worker.
 *
 * @param supervisor a supervisor.
 * @param info_out filled on success.
 * @return 0, or a negative error code:
 * @retval PEAL_EINVAL  an argument is NULL, or the supervisor is destroyed.
 * @retval PEAL_EHUNG  the worker did not answer.
 */
int peal_supervisor_info(struct peal_supervisor *supervisor,
			 struct peal_supervisor_info *info_out);

PEAL_END_C
#endif
