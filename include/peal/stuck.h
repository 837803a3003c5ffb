/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_STUCK_H
#define PEAL_STUCK_H

#include <stddef.h>
#include <stdint.h>

#include <peal/errors.h>

#ifdef __cplusplus
extern "C" {
#endif

struct peal_runtime;

/** What holds others up, and is not held up itself. */
enum peal_stuck_cause {
	PEAL_STUCK_HANDLER = 0, /* a handler has not returned */
	PEAL_STUCK_RECEIVE = 1, /* the host does not receive at an endpoint */
	PEAL_STUCK_PORT = 2, /* a port of an actor has no link */
	PEAL_STUCK_CYCLE = 3, /* workers wait for room, each at the next one */
	PEAL_STUCK_SUSPENDED = 4, /* a kernel is suspended */
	PEAL_STUCK_INPUT = 5, /* a kernel drains: a link to it was not ended */
	PEAL_STUCK_MAIL = 6, /* mailboxes or pools of a kernel have no room,
			      * and none of its workers is held up otherwise */
	PEAL_STUCK_WORKER = 7, /* a worker turns and does not take what is
				* there */
	PEAL_STUCK_COUNT = 8
};

/** Most causes that a runtime tells another process. */
#define PEAL_STUCK_TOLD 64

/** One cause. */
struct peal_stuck {
	enum peal_stuck_cause cause;
	int device; /* -1: the host */
	uint32_t worker; /* of the kernel that `address` names; else 0 */
	uint64_t address; /* of an actor (HANDLER, PORT), an endpoint (RECEIVE),
			   * who sends (INPUT); 0 */
	uint64_t held; /* messages in links that wait for it, or wait behind
			* those that do */
	uint32_t n_links; /* so many links hold these */
	uint32_t hand_type; /* of the message that a HANDLER runs for */
	uint64_t link; /* id of one of them, with INPUT of the one that was not
			* ended; 0: none */
	uint64_t message; /* number of the oldest message there that was not
			   * handled */
	uint64_t hand_link; /* id of the link that brought it; 0: it was in a
			     * mailbox, a pool or a topic */
	uint64_t hand_message; /* its number there */
	uint64_t still_ns; /* nothing has moved there for so long, or longer; a
			    * HANDLER has run for this one message */
	char text[256]; /* the same in words */
};

/**
 * Says why work does not go on: looks twice at what every link holds and every
 * worker does, follows what has not moved from where it waits to what it waits
 * for, and gives the ends of these ways, those first that hold up most. Stops
 * nothing and calls no driver; what moves between the two looks is not stuck, and
 * where things have only just come to a stop a way may seem to end too early.
 *
 * @param runtime    an open runtime.
 * @param watch_ns   time between the two looks, 1 to 10^10; 0: 100 ms. A handler
 *                   that takes longer than this counts as one that has not
 *                   returned.
 * @param causes_out room for n; NULL if n is 0.
 * @param n          how many are wanted.
 * @return how many causes there are, 0: nothing is stuck; PEAL_EINVAL;
 *         PEAL_ENOMEM. Thread-safe; waits for calls that connect, spawn or end
 *         things in other threads.
 */
int peal_stuck(struct peal_runtime *runtime, uint64_t watch_ns,
	       struct peal_stuck *causes_out, uint32_t n);

/**
 * peal_stuck of another process of this machine, for all its runtimes: each of
 * them answers on a socket of its own, to processes of its user and of root.
 *
 * @param pid        the process.
 * @param watch_ns   as peal_stuck.
 * @param causes_out room for n; NULL if n is 0. Of a runtime at most
 *                   PEAL_STUCK_TOLD.
 * @param n          how many are wanted.
 * @return how many causes there are; PEAL_ENOENT nobody answers for the process:
 *         it has no open runtime, has ended, is another user's, or lives in
 *         another network namespace (a container); PEAL_ETIMEDOUT it does not
 *         answer: it is stopped; PEAL_EPROTO its Peal is another version;
 *         PEAL_EINVAL; PEAL_ENOMEM it, or this process. Thread-safe. To close
 *         there waits for an answer under way, for up to watch_ns.
 */
int peal_stuck_of(int pid, uint64_t watch_ns, struct peal_stuck *causes_out,
		  uint32_t n);

/**
 * The name of a cause: "handler", "receive", ...
 *
 * @param cause enum peal_stuck_cause.
 * @return a static string. Thread-safe, wait-free.
 */
const char *peal_stuck_name(uint32_t cause);

#ifdef __cplusplus
}
#endif
#endif
