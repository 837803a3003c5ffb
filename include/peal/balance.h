/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_BALANCE_H
#define PEAL_BALANCE_H

/*
 * Load balancing: peal_kernel_balance moves actors between the workers of one
 * kernel. The call first observes the workers for `sample_ms`. It then plans
 * moves and migrates the planned actors (peal/migration.h). Call the function
 * after a change of the load, not continuously. Each move permanently uses one
 * entry of max_actors. Each move also adds one hop for messages to the actor's
 * older addresses.
 */

#include <stdint.h>

#include <peal/errors.h>

PEAL_BEGIN_C

struct peal_kernel;

/** One planned move of an actor, and the result. */
struct peal_balance_move {
	uint64_t actor; /* newest address of the actor, after the move */
	uint32_t from, to; /* workers, from 0 */
	uint32_t load; /* samples in which the actor's handler ran */
	/*
	 * Messages for the actor that links delivered to worker `to` during
	 * the observation. 0: the reason of the move is the load alone.
	 */
	uint64_t traffic;
	/*
	 * 0: the actor has moved, or `dry_run` is 1. Else the error code of
	 * peal_actor_migrate.
	 */
	int result;
};

/** 0 in a field means its default. */
struct peal_balance_options {
	uint32_t size; /* sizeof(struct peal_balance_options) */
	uint32_t sample_ms; /* ms to observe (default 100, 1..60000) */
	/*
	 * Microseconds between two samples (default 100, 1..1000000). At most
	 * a tenth of sample_ms.
	 */
	uint32_t sample_interval_us;
	uint32_t max_moves; /* actors that move, at most (default 32,
			     * 1..4096) */
	/*
	 * Percent (default 20, 1..1000). Load above the mean that a worker may
	 * have before an actor moves for the load.
	 */
	uint32_t tolerance;
	uint32_t dry_run; /* 1: plan only, move no actor; 0: move */
	/*
	 * The caller's array for the planned moves, with at least `max_moves`
	 * entries, or 32 if `max_moves` is 0. NULL: not wanted.
	 */
	struct peal_balance_move *moves_out;
};

/**
 * The results of peal_kernel_balance.
 *
 * The load of a worker is the number of samples in which the worker ran a
 * handler.
 */
struct peal_balance_report {
	uint64_t samples; /* samples of each worker */
	uint64_t load; /* sum of the loads of all workers */
	uint64_t max_load, min_load; /* largest and smallest load of a worker */
	/*
	 * Largest and smallest load after all planned moves, for an unchanged
	 * program. The values assume that all moves succeed.
	 */
	uint64_t predicted_max_load, predicted_min_load;
	uint32_t moves; /* moves that were tried: entries in moves_out */
	uint32_t moved; /* moves that succeeded */
	/*
	 * Actors with a load that peal_kernel_balance never moves. Actors that
	 * handlers have spawned are not in this count.
	 */
	uint32_t pinned;
};

/**
 * Moves actors between the workers of a kernel, to even out the load.
 *
 * The call samples every `sample_interval_us` which actor's handler each worker
 * runs. Two kinds of moves follow. Each actor moves at most once.
 *
 * First the call moves actors to their links. The target is the worker at
 * which links deliver most of the actor's messages. On any other worker, these
 * messages take one more hop through a mailbox. The actor moves if these
 * messages are at least 1 % of all observed traffic. The target's new load
 * must stay within `tolerance`, or must not exceed the load of the actor's
 * present worker. Actors with the most traffic go first.
 *
 * Then the call evens out the load. The call stops when the busiest worker is
 * at most `tolerance` percent above the mean. Each move takes an actor from
 * the busiest to the idlest worker. The load of that actor is closest to half
 * the difference of both workers. So each move lowers the larger of both
 * loads. Messages between actors count as load, but their sender is not known.
 *
 * Some actors never move, but still count as load of their worker:
 *
 * - actors that were spawned with a `worker` in struct peal_actor_options
 * - actors that a handler has spawned
 * - members of a pool
 * - actors with a mailbox_limit
 * - actors with share_ports_with, or with a link at a port of their own
 *
 * Thread-safe. Blocks for `sample_ms`, and then until the workers have made the
 * moves.
 *
 * @param kernel     a running kernel with mailboxes.
 * @param options    NULL: all defaults.
 * @param report_out filled, also after an error. NULL: not wanted.
 * @return 0, or a negative error code. 0 also if no actor moved, or if
 *         peal_actor_migrate refused a move (`result` in moves_out):
 * @retval PEAL_EINVAL   `kernel` is NULL, or an option is out of range. The
 *                       error text names the option.
 * @retval PEAL_ENOTSUP  the kernel has no mailboxes, or its program lacks
 *                       PEAL_USE_MIGRATION.
 * @retval PEAL_ESTOPPED the kernel has ended, drains or stops.
 * @retval PEAL_EHUNG    a worker did not answer. Earlier moves remain.
 * @retval PEAL_ENOMEM   no memory. Earlier moves remain.
 */
int peal_kernel_balance(struct peal_kernel *kernel,
			const struct peal_balance_options *options,
			struct peal_balance_report *report_out);

PEAL_END_C
#endif
