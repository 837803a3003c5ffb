/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEALI_CORE_CLAIM_H
#define PEALI_CORE_CLAIM_H

/*
 * Cores for bound workers. Processes of a machine share the cores. So each
 * process claims a core by a name that all processes see. A socket of the
 * abstract namespace has this name. So the system ends the claim with the
 * process. The claims of another network namespace are not visible.
 */

/*
 * Claims a core for one worker. With `alone` the core has no other worker of
 * any process. Else it is the core with the fewest processes and workers.
 * Returns -1 if there is no such core, or if the cores are unknown. Returns -1
 * also if the process has a CPU quota below its cores.
 */
int peali_core_claim(int alone);
/* Gives a claimed core back. Ignores -1. */
void peali_core_release(int core);

/* First word of the names. Tests set their own, so that other processes of the
 * machine do not change their results. */
extern const char *peali_core_claim_word;

#endif
