/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEALI_OBSERVE_STALL_H
#define PEALI_OBSERVE_STALL_H

#include <peal/stall.h>
#include "runtime/runtime.h"

/* Stall reports. */

/* Finds the cause that stalls a worker, as peal_stall_report. Returns 1 with
 * the text, or 0. The caller does not hold rt->lock. */
int peali_stall_why(struct peal_kernel *kernel, uint32_t worker,
		    char text[256]);

/* Logs the causes of peal_stall_report, after a wait that timed out. */
void peali_stall_log(struct peal_runtime *rt);

/*
 * As peal_stall_report. Ends early if another thread sets `ending` to 1, which
 * may be NULL. It then returns PEAL_ESTOPPED with a text.
 */
int peali_stall_report(struct peal_runtime *rt, uint64_t watch_ns,
		       const uint32_t *ending, struct peal_stall *causes_out,
		       uint32_t n);

/* Starts a thread that answers peal_stall_report_pid. Only logs a failure. */
void peali_stall_serve(struct peal_runtime *rt);
/* Ends that thread. An answer in progress ends early. May be called again. */
void peali_stall_unserve(struct peal_runtime *rt);

/** A socket's name in the abstract namespace, without the leading zero byte. */
struct peali_stall_name {
	char text[96];
};

/*
 * Answers one question of another process at a connected socket. An invalid
 * question gets no answer. `ending`: as for peali_stall_report.
 */
void peali_stall_answer(struct peal_runtime *rt, int fd,
			const uint32_t *ending);
/*
 * Asks one runtime of a process at a connected socket. `causes` receives its
 * causes, at most PEAL_STALL_CAUSES_MAX. Returns their number, or an error with
 * its text.
 */
int peali_stall_ask(int fd, int pid, uint64_t watch_ns,
		    struct peal_stall *causes);
/*
 * Takes the name of a line of /proc/net/unix. Returns 1 if a process listens
 * there and the name begins with the prefix, else 0.
 */
int peali_stall_name_parse(const char *line, const char *prefix,
			   struct peali_stall_name *out);

#endif
