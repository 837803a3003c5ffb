/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEALI_INFLIGHT_H
#define PEALI_INFLIGHT_H

#include "runtime/runtime.h"

/*
 * The message that a worker is handling, for error texts and peal_stall_report.
 * The caller of these functions holds rt->lock.
 */

struct peali_inflight {
	uint64_t word; /* PEAL_INFLIGHT; 0: the worker handles no message */
	uint64_t address; /* of the actor */
	const char *handler; /* name of the handler */
	uint64_t link; /* id of the message's link; 0: it came by none */
	const char *topic; /* name of the message's topic; NULL: none */
	int pool; /* 1: from a pool. Without link, topic and pool: mailbox */
	uint64_t message; /* number of the message in the link, or among the
			   * topic's messages for the actor. Of mailboxes and
			   * pools only the low 14 bits */
	int lags; /* 1: a worker of a GPU counts late, `message` may be too low */
	uint64_t since_ns; /* it is being handled for this time or longer */
};

/* Reads the message that a worker handles. Returns 1, or 0 if it has none. */
int peali_inflight_read(struct peal_kernel *kernel, uint32_t worker,
			struct peali_inflight *out);
/*
 * Writes a text such as:
 *
 *	is in handler 'x' of actor 3, on message 7 of link 2, of type 1, for 20
 *	ms so far
 */
void peali_inflight_text(const struct peali_inflight *inflight,
			 struct peal_kernel *kernel, char text[256]);
/*
 * Notes the message that a worker of a kernel handled when it crashed, for error
 * texts, and logs it. Does nothing if the backend knows no such worker, or if
 * it was noted before.
 */
void peali_inflight_note_crash(struct peal_kernel *kernel);
/* Both of these calls. Returns 1 with a text, or 0. */
int peali_inflight_describe(struct peal_kernel *kernel, uint32_t worker,
			    char text[256]);
/*
 * Returns for how many ns the first message of a link has waited, or its
 * handler has run. 0: it has just moved, or the link is empty.
 */
uint64_t peali_link_still_ns(const struct peal_link *link);
/* Returns for how many ns a worker has handled no message and has waited for
 * the same cause. */
uint64_t peali_worker_still_ns(const struct peal_kernel *kernel,
			       uint32_t worker);
/* Returns for how many ns a kernel has been draining. */
uint64_t peali_drain_still_ns(const struct peal_kernel *kernel);
/*
 * Notes the messages that all workers handle, and the progress of links and
 * topics. The watchdog calls it at its ticks. The time between ticks limits the
 * accuracy of since_ns and of the times above.
 */
void peali_inflight_watch(struct peal_runtime *rt, uint64_t now);

#endif
