/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_STALL_H
#define PEAL_STALL_H

/*
 * Stall diagnosis: finds the causes if messages stop moving.
 *
 * A worker with a full output link waits for that link's receiver. The receiver
 * may wait for another worker. Such a chain of waits ends at a cause, or it
 * forms a cycle. peal_stall_report lists the causes in this process.
 * peal_stall_report_pid lists the causes in another process.
 *
 *	n = peal_stall_report(runtime, 0, causes, 8);
 *	for (i = 0; i < n && i < 8; i++)
 *		puts(causes[i].text);
 */

#include <stddef.h>
#include <stdint.h>

#include <peal/errors.h>

PEAL_BEGIN_C

struct peal_runtime;

/** The kinds of cause. A cause stalls messages and waits for nothing itself. */
enum peal_stall_cause {
	PEAL_STALL_HANDLER = 0, /* a handler has not returned */
	PEAL_STALL_RECEIVE = 1, /* the host does not receive at an endpoint */
	PEAL_STALL_PORT = 2, /* an actor's port has no link */
	PEAL_STALL_CYCLE = 3, /* workers in a cycle wait for free slots, each
			       * for slots of the next worker */
	PEAL_STALL_SUSPENDED = 4, /* a kernel is suspended */
	PEAL_STALL_INPUT = 5, /* a kernel drains, but the sender has not ended
			       * a link to that kernel */
	PEAL_STALL_MAILBOX = 6, /* a kernel has full mailboxes or pools, and
			      * none of its workers has another cause */
	PEAL_STALL_WORKER = 7, /* a worker does not take the messages that wait
				* for it. The text says if its loop polls or
				* for how long it has not run */
	PEAL_STALL_EVENT = 8, /* messages of the host wait for an event */
	PEAL_STALL_COUNT = 9 /* the number of kinds */
};

/** The largest number of causes that a runtime reports to another process. */
#define PEAL_STALL_CAUSES_MAX 64

/** One cause of a stall. */
struct peal_stall {
	enum peal_stall_cause cause;
	int device; /* index of the cause's device; INPUT: of the sender's
		     * device; -1: the host */
	/*
	 * HANDLER, PORT, CYCLE, MAILBOX and WORKER: the worker's index in
	 * its kernel. CYCLE names one worker of the cycle. Other kinds: 0.
	 */
	uint32_t worker;
	/*
	 * HANDLER and PORT: the actor's address. RECEIVE: the endpoint's
	 * address. INPUT: the sender's address. Other kinds: 0.
	 */
	uint64_t address;
	/*
	 * Messages in links that wait for this cause. Messages that wait in a
	 * chain behind those messages count, too.
	 */
	uint64_t held;
	uint32_t n_links; /* the number of links with these messages */
	uint32_t inflight_type; /* HANDLER: its message type; else 0 */
	/* The id of one of these links. INPUT: the link that was not ended.
	 * 0: none. */
	uint64_t link;
	uint64_t message; /* number of the oldest unhandled message in `link` */
	/* HANDLER: the id of the link that brought the handled message. 0: the
	 * message came from a mailbox, a pool or a topic. */
	uint64_t inflight_link;
	/* Its number in `inflight_link`. On a GPU it may be too low,
	 * by up to 96 messages or batches. */
	uint64_t inflight_message;
	/*
	 * The time without progress in ns, at least watch_ns. HANDLER: the time
	 * that the handler has spent on this message. INPUT: the time since the
	 * drain has begun. Other kinds: the longest wait of the first message
	 * of a link, or of the worker for free slots. The real time may be 25
	 * ms longer, or more on a busy machine.
	 */
	uint64_t without_progress_ns;
	char text[256]; /* the cause in words */
};

/**
 * Lists the causes that stall the messages of a runtime.
 *
 * The call compares two snapshots of all links and workers. The call follows
 * the chain of waits from each message that has not moved between the
 * snapshots. Causes with the largest `held` come first.
 *
 * The call stops no work and makes no driver call. Messages that move between
 * the snapshots do not count as stalled. If a stall has only just begun, a
 * chain may appear to end too early.
 *
 * Thread-safe. Blocks for watch_ns. The call also waits while other threads
 * connect links, spawn actors or end objects.
 *
 * @param runtime an open runtime.
 * @param watch_ns the time between the snapshots in ns, up to 10^10; 0: 100 ms.
 *     A handler that runs for longer than watch_ns on one message counts as a
 *     cause.
 * @param causes_out receives the first n causes; NULL if n is 0.
 * @param n the capacity of causes_out; 0: the call only counts the causes.
 * @return the number of causes, which may exceed n; 0: there is no stall. Or a
 *     negative error code:
 * @retval PEAL_EINVAL  runtime is NULL, causes_out is NULL and n is not 0, or
 *     watch_ns is too large.
 * @retval PEAL_ENOMEM  there is not enough memory.
 */
int peal_stall_report(struct peal_runtime *runtime, uint64_t watch_ns,
		      struct peal_stall *causes_out, uint32_t n);

/**
 * Lists the causes in another process of this machine, for all its runtimes.
 *
 * The call asks the runtimes of the process one after another, at most 64. Each
 * runtime answers on its own socket with the result of peal_stall_report. A
 * runtime answers only processes of its own user and of root. causes_out
 * receives the causes of the first runtime, then those of the next.
 *
 * peal_runtime_close in that process ends an answer in progress.
 *
 * Thread-safe. Blocks for watch_ns per runtime. A runtime has watch_ns + 10 s
 * to answer.
 *
 * @param pid the process's id.
 * @param watch_ns as peal_stall_report.
 * @param causes_out receives the first n causes, at most PEAL_STALL_CAUSES_MAX
 *     of each runtime; NULL if n is 0.
 * @param n the capacity of causes_out; 0: the call only counts the causes.
 * @return the number of causes, which may exceed n; 0: there is no stall. Of
 *     each runtime at most PEAL_STALL_CAUSES_MAX causes count. Or a negative
 *     error code:
 * @retval PEAL_ENOENT  no runtime answers for the process. The process has no
 *     open runtime, has ended or belongs to another user. Or the process is in
 *     another network namespace (a container).
 * @retval PEAL_ETIMEDOUT  the process does not answer. A signal may have
 *     stopped the process.
 * @retval PEAL_ESTOPPED  the runtime was closed before it had the answer.
 * @retval PEAL_EPROTO  the process uses another version of Peal.
 * @retval PEAL_EINVAL  pid is not positive, causes_out is NULL and n is not 0,
 *     or watch_ns is too large.
 * @retval PEAL_ENOMEM  there is not enough memory in one of the two processes.
 *     Or this process has no free descriptor.
 * @retval PEAL_EDRIVER  another system call of this process has failed.
 */
int peal_stall_report_pid(int pid, uint64_t watch_ns,
			  struct peal_stall *causes_out, uint32_t n);

/**
 * Returns the name of a kind of cause: "handler", "receive", ...
 *
 * Thread-safe. Wait-free.
 *
 * @param cause enum peal_stall_cause.
 * @return a static string; "?" if there is no such kind.
 */
const char *peal_stall_cause_name(uint32_t cause);

/**
 * Returns the remedy against a kind of cause, in words.
 *
 * Thread-safe. Wait-free.
 *
 * @param cause enum peal_stall_cause.
 * @return a static string; "?" if there is no such kind.
 */
const char *peal_stall_remedy(uint32_t cause);

PEAL_END_C
#endif
