/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEALI_CORE_SET_H
#define PEALI_CORE_SET_H

#include <sched.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * Cores that threads may use. A set has as many bits as the system needs, so
 * it serves machines with more than CPU_SETSIZE cores. A set may be unknown,
 * because a sandbox can refuse the query. No function takes an unknown set for
 * core 0.
 */

struct peali_core_set {
	cpu_set_t *bits; /* NULL: unknown */
	size_t bytes; /* of `bits` */
	int n; /* cores in the set; 0: unknown */
};

/*
 * Reads the cores that a thread may use; 0: the calling thread. Returns 0, or
 * -1 with errno; the set is then unknown. The caller frees the set.
 */
int peali_core_set_read(pid_t thread, struct peali_core_set *out);
void peali_core_set_free(struct peali_core_set *set);

/* Returns the first core of the set above `after`; -1: there is none. */
int peali_core_set_next(const struct peali_core_set *set, int after);

/* Returns the cores that the process could use at the first call. */
const struct peali_core_set *peali_process_cores(void);

/*
 * Binds the calling thread to `core`; -1: to all cores of the process. Returns
 * 0, or an errno. With an unknown set, -1 changes nothing.
 */
int peali_thread_bind(int core);

/*
 * Returns the CPU quota of the process's cgroup in thousandths of a core; 0:
 * none. The least quota of the group and of its parents counts. `root` is put
 * in front of /proc and /sys; the system itself has "".
 */
uint32_t peali_core_quota(const char *root);

/*
 * Returns the number of threads that can run at a time, at least 1. It is the
 * number of cores of the process, or its quota if the quota is less. If the
 * cores are unknown, all cores of the machine count. The first call finds the
 * number, and later calls return it again.
 */
int peali_usable_cores(void);

/* Returns 1 if a quota gives the process less time than its cores have. */
int peali_cores_have_quota(void);

/* The root for the quota of this process. Tests set it before the first call
 * of another function of this header. */
extern const char *peali_core_quota_root;

#endif
