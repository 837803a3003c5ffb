/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_SUPERVISOR_H
#define PEAL_SUPERVISOR_H

#include <stdint.h>

#include <peal/abi/supervisor.h>
#include <peal/errors.h>

#ifdef __cplusplus
extern "C" {
#endif

struct peal_kernel;

/*
 * Supervisors. An actor whose handler returns an error goes on as if nothing had
 * been, with whatever its state is by then (in kernels without monitors: see
 * peal/monitor.h; but whose init fails is over), unless it has a supervisor. Then it
 * begins anew, with the state that it was made with, and with it whoever the
 * supervisor's strategy names. The message that it failed on is dead, reason
 * "handler", as ever; those behind it are handled, by the new state. Who fails
 * too often is given up: messages for it are dead, reason "down".
 *
 *	options.strategy = PEAL_ONE_FOR_ALL;
 *	peal_supervisor_create(kernel, &options, &supervisor);
 *	actor.supervisor = supervisor;
 *	peal_actor_spawn(kernel, "account", &actor, &address);
 *
 * All of that happens on the device. An actor begins anew right before its next
 * message, on its own worker, so that neither the others nor the host wait; until
 * then peal_actor_state says how it failed. A worker hears of the failure of its
 * own actors at once, and of another worker's at the latest at its next look at
 * the control words, some 64 turns later (`beat` of struct peal_worker_info).
 * Links, names, addresses and what is queued stay as they are. Who is spawned with
 * a supervisor that has given up is down from the start. A member of a pool cannot
 * have a supervisor.
 *
 * To find all that begin anew a worker looks at its kernel's entries, from the
 * first to the last that the supervisor has ever had, and does nothing else
 * meanwhile. An actor that begins anew alone costs no more than its state.
 */

/** Who restarts actors of a kernel, and how often. It belongs to the kernel. */
struct peal_supervisor;

/** As `restarts`: none; who fails is given up. */
#define PEAL_RESTARTS_NONE UINT32_MAX

/** Zero in a field: its default. */
struct peal_supervisor_options {
	uint32_t size; /* sizeof(struct peal_supervisor_options) */
	uint32_t strategy; /* enum peal_strategy; PEAL_ONE_FOR_ONE */
	uint32_t restarts; /* most within a period, up to PEAL_RESTARTS_MAX; 3.
			    * One more, and all it has is given up. */
	uint32_t reserved; /* 0 */
	uint64_t period_ns; /* by the device's clock; 5 s */
	/*
	 * Whose member it is itself, a supervisor of the same kernel: it comes
	 * to that one's notice, as if it were an actor that failed, instead of
	 * being given up for good. With it all below it begin anew. NULL: none
	 */
	struct peal_supervisor *parent;
};

/** What a supervisor has seen so far. */
struct peal_supervisor_info {
	uint32_t members; /* actors and supervisors right below it */
	uint32_t given_up; /* 1: it has */
	uint64_t failures; /* that were counted here: of its actors, but for one
			    * that was to begin anew anyway, and of supervisors
			    * below it that have given up */
	uint64_t restarted; /* its own actors that have begun anew */
	uint64_t last_actor; /* address of the actor that failed last, also
			      * below another supervisor; 0: none */
	int last_error; /* what its handler has returned, as in a dead letter */
};

/**
 * Makes a supervisor. Who it is to have is spawned with it, `supervisor` of
 * struct peal_actor_options; its members are in the order in which they were
 * made. It can have actors of all workers of its kernel.
 *
 * It takes one of the kernel's max_supervisors, 512 bytes each; a kernel that
 * has some takes 32 bytes more for each of max_actors. What its actors begin
 * with is kept beside their states, a multiple of 16 bytes each, or once where
 * all of a call begin alike.
 *
 * @param kernel         a kernel that runs or is suspended, launched with
 *                       max_supervisors.
 * @param options        NULL for all defaults.
 * @param supervisor_out the supervisor.
 * @return 0; PEAL_ENOSPC all of max_supervisors are used; PEAL_EINVAL an option
 *         (named), a parent of another kernel, or more than
 *         PEAL_SUPERVISOR_DEPTH above one another; PEAL_ESTOPPED; PEAL_EHUNG a
 *         worker did not answer. Thread-safe.
 */
int peal_supervisor_create(struct peal_kernel *kernel,
			   const struct peal_supervisor_options *options,
			   struct peal_supervisor **supervisor_out);

/**
 * Ends a supervisor that has no members. Those of a kernel that is destroyed end
 * with it.
 *
 * @param supervisor a supervisor; NULL does nothing.
 * @return 0; PEAL_EBUSY it has members (the text says how many). Thread-safe; no
 *         other call on it may run at the same time.
 */
int peal_supervisor_destroy(struct peal_supervisor *supervisor);

/**
 * All actors below a supervisor begin anew before their next message, whether
 * they have failed or not. It and those below it that have given up have given up
 * nothing any more. If one above it has, restart that one.
 *
 * @param supervisor a supervisor.
 * @return 0; PEAL_EINVAL it is NULL; PEAL_ESTOPPED; PEAL_EHUNG the worker did not
 *         answer, and may do it yet. Thread-safe.
 */
int peal_supervisor_restart(struct peal_supervisor *supervisor);

/**
 * What it has counted. A worker says it, or the memory of a kernel that has ended.
 *
 * @param supervisor a supervisor.
 * @param info_out   filled on success.
 * @return 0; PEAL_EINVAL; PEAL_EHUNG the worker did not answer. Thread-safe.
 */
int peal_supervisor_info(struct peal_supervisor *supervisor,
			 struct peal_supervisor_info *info_out);

#ifdef __cplusplus
}
#endif
#endif
