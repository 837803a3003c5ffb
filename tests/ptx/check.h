/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PTX_CHECK_H
#define PTX_CHECK_H

/*
 * Checks of single instructions: traces, undefined values, races, weak memory.
 * Each is an option of a launch. The engine calls ptx_check() before each
 * instruction if a launch has one of these options.
 */

#include "state.h"

enum ptx_step {
	PTX_STEP_EXECUTE, /* the engine executes the instruction */
	PTX_STEP_DONE, /* the check has executed it */
	PTX_STEP_FAULTED
};

/* ---- check.c ------------------------------------------------------------- */
/* Returns 1 if an option needs ptx_check(). */
int ptx_check_needed(const struct ptx_options *options);
/* Checks the next instruction of a lane. */
enum ptx_step ptx_check(struct ptx_lane *lane,
			const struct ptx_instruction *in);
/* A lane stops to run: its turn is over, or it waits, or it has ended. */
void ptx_check_turn_end(struct ptx_lane *lane);

/* ---- operands.c ---------------------------------------------------------- */
/* Returns 1 for st with one element or a vector. */
int ptx_is_store(const struct ptx_instruction *in);
/* Each fills the slots of the registers that an instruction writes, or that a
 * store reads for its elements. Returns their number. */
uint32_t ptx_written(const struct ptx_instruction *in,
		     uint32_t slots[PTX_MAX_VECTOR]);
uint32_t ptx_stored(const struct ptx_instruction *in,
		    uint32_t slots[PTX_MAX_VECTOR]);

/* ---- trace.c ------------------------------------------------------------- */
/* Notes an instruction that a lane begins. */
void ptx_trace_begin(struct ptx_lane *lane, const struct ptx_instruction *in);
/* Prints the instruction that a lane has begun, and its results. */
void ptx_trace_end(struct ptx_lane *lane);

#endif
