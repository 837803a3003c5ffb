/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TEST_STEP_HOOK_H
#define TEST_STEP_HOOK_H

#include <peal/device/atomic.h>

/*
 * Counts the steps of a call, and stops a call between two steps. A step is an
 * access to a shared word. Macros replace these accesses. Include this file
 * before all other headers of queues.
 */

#define STEPS_MAX 1000

static _Thread_local unsigned long steps, steps_armed, steps_most;
static _Thread_local unsigned long steps_adds; /* read-modify-writes */
/* step_between runs just before step number step_due. */
static _Thread_local unsigned long step_due;
static void (*step_between)(void);
static void step_count(void);

#define STEP(call) (step_count(), call)
#define STEP_ADD(call) (steps_adds++, STEP(call))
#define peal_load_relaxed_dev(p) STEP(peal_load_relaxed_dev(p))
#define peal_load_acquire_dev(p) STEP(peal_load_acquire_dev(p))
#define peal_load_relaxed_sys(p) STEP(peal_load_relaxed_sys(p))
#define peal_load_acquire_sys(p) STEP(peal_load_acquire_sys(p))
#define peal_load_relaxed_dev_u32(p) STEP(peal_load_relaxed_dev_u32(p))
#define peal_load_acquire_dev_u32(p) STEP(peal_load_acquire_dev_u32(p))
#define peal_store_relaxed_dev(p, v) STEP(peal_store_relaxed_dev(p, v))
#define peal_store_release_dev(p, v) STEP(peal_store_release_dev(p, v))
#define peal_store_relaxed_sys(p, v) STEP(peal_store_relaxed_sys(p, v))
#define peal_store_release_sys(p, v) STEP(peal_store_release_sys(p, v))
#define peal_add_relaxed_dev(p, v) STEP_ADD(peal_add_relaxed_dev(p, v))
#define peal_add_acqrel_dev(p, v) STEP_ADD(peal_add_acqrel_dev(p, v))
#define peal_add_acqrel_dev_u32(p, v) STEP_ADD(peal_add_acqrel_dev_u32(p, v))
#define peal_cas_relaxed_dev(p, old, v)                                        \
	STEP_ADD(peal_cas_relaxed_dev(p, old, v))
#define peal_atom8_load(p) STEP(peal_atom8_load(p))
#define peal_atom8_store(p, v) STEP(peal_atom8_store(p, v))
#define peal_atom16_load(p) STEP(peal_atom16_load(p))
#define peal_atom16_store(p, v) STEP(peal_atom16_store(p, v))
#define peal_pause() STEP(peal_pause())

/* Counts the steps of a call. */
#define VICTIM_CALL(call)                                                      \
	do {                                                                   \
		steps = 0;                                                     \
		steps_armed = 1;                                               \
		call;                                                          \
		steps_armed = 0;                                               \
		steps_most = steps > steps_most ? steps : steps_most;          \
	} while (0)

#include "peal_test.h"

static void step_count(void)
{
	if (!steps_armed)
		return;
	CHECK(++steps < STEPS_MAX);
	if (steps != step_due)
		return;
	steps_armed = 0; /* do not count its steps */
	step_between();
	steps_armed = 1;
}

#endif
