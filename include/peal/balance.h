/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_BALANCE_H
#define PEAL_BALANCE_H

#include <stdint.h>

#include <peal/errors.h>

#ifdef __cplusplus
extern "C" {
#endif

struct peal_kernel;

/** One actor that was to move, and what came of it. */
struct peal_balance_move {
	uint64_t actor; /* its newest address, once it has moved */
	uint32_t from, to; /* workers */
	uint32_t load; /* looks at which its handler ran */
	uint64_t traffic; /* messages that came by links of the worker `to`, while
			   * it was watched; 0: it moves for the load alone */
	int result; /* 0; else why it stays, as of peal_actor_migrate; with
		     * `only_look` always 0 */
};

/** Zero in a field: its default. */
struct peal_balance_options {
	uint32_t size; /* sizeof(struct peal_balance_options) */
	uint32_t watch_ms; /* how long it watches: 100; at most 60000 */
	uint32_t look_us; /* from one look to the next: 100; at most 1000000 and
			   * a tenth of watch_ms */
	uint32_t moves; /* most actors that move: 32; at most 4096 */
	uint32_t tolerance; /* percent that a worker may have above the mean
			     * before anybody moves for the load: 20; at most
			     * 1000 */
	uint32_t only_look; /* 1: nobody moves */
	struct peal_balance_move *moves_out; /* room for `moves` of them; NULL */
};

/** What it has seen and done. Loads are looks at which a worker had a handler that
 * ran. */
struct peal_balance_report {
	uint64_t looks; /* at each worker */
	uint64_t load; /* of all workers together */
	uint64_t busiest, idlest; /* of one worker */
	uint64_t busiest_then, idlest_then; /* of one, if all goes on as it was
					     * seen and all moves succeed */
	uint32_t moves; /* that were tried: the entries in moves_out */
	uint32_t moved; /* of those, succeeded */
	uint32_t pinned; /* actors with a load that do not move: see below */
};

/**
 * Places the actors of a kernel anew: watches what its workers do, and then moves
 * actors (peal/migrate.h) that had more to do than others, or whose messages take
 * a way around. It is called when the load has changed, not all the time: each move
 * keeps an entry of max_actors and is one more hop for what comes by old addresses.
 *
 * Load: which actor's handler a worker runs is looked at again and again. First an
 * actor moves to the worker at which the links end that bring most of its messages,
 * and a hundredth of all or more (else each of them goes on through a mailbox), if
 * that has room for its load.
 * Then, as long as the busiest worker has more than `tolerance` percent above the
 * mean, one of its actors moves to the idlest worker, the one whose load comes
 * closest to half of the difference between the two: so each move makes the larger
 * of both loads smaller, and what is even stays as it is. What actors tell each
 * other is seen as load, but not from whom it comes.
 *
 * Only such actors move as were spawned without a worker (struct peal_actor_options)
 * and as peal_actor_migrate takes. Not those that a handler has made, members of
 * pools, with a limit, or with ports: what has an own link cannot follow it. They
 * count as load of their worker.
 *
 * @param kernel     that runs, with mailboxes.
 * @param options    NULL for all defaults.
 * @param report_out what was seen and done, also after an error; NULL.
 * @return 0, also if nobody had to move or one could not (moves_out says why);
 *         PEAL_EINVAL a field out of its range (named); PEAL_ENOTSUP the kernel has
 *         no mailboxes; PEAL_ESTOPPED it has ended, or is about to; PEAL_EHUNG a
 *         worker did not answer: the actors before have moved; PEAL_ENOMEM.
 *         Thread-safe; blocks for watch_ms, and for the moves.
 */
int peal_kernel_balance(struct peal_kernel *kernel,
			const struct peal_balance_options *options,
			struct peal_balance_report *report_out);

#ifdef __cplusplus
}
#endif
#endif
