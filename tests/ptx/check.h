/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PTX_CHECK_H
#define PTX_CHECK_H

/*
 * Checks of single instructions: traces, undefined values, races, weak memory.
 * Each is an option of a launch. The engine calls ptx_check() before each
 * instruction if a launch has one of these options.
 */

#include "operands.h"
#include "state.h"

enum ptx_step {
	PTX_STEP_EXECUTE, /* the engine executes the instruction */
	PTX_STEP_DONE, /* the check has executed it */
	PTX_STEP_AGAIN, /* the lane waits in front of it */
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

/* ---- trace.c ------------------------------------------------------------- */
/* Notes an instruction that a lane begins. */
void ptx_trace_begin(struct ptx_lane *lane, const struct ptx_instruction *in);
/* Prints the instruction that a lane has begun, and its results. */
void ptx_trace_end(struct ptx_lane *lane);

/* ---- definedness.c ------------------------------------------------------- */
/* Returns the undefined bits of the result of an opcode of PTX_VALUES. */
uint64_t ptx_undefined_result(uint16_t opcode, const uint64_t sources[4],
			      const uint64_t undefined[4]);

/* ---- shadow.c ------------------------------------------------------------ */
/* Each copies the undefined bits of 1 .. 16 bytes of device memory. An aligned
 * access does not cross a page. */
void ptx_shadow_put(uint64_t address, uint32_t n, const uint8_t *undefined);
void ptx_shadow_get(uint64_t address, uint32_t n, uint8_t *undefined);

/* ---- undefined.c --------------------------------------------------------- */
/* Memory for the undefined bits of the registers and the local memory of all
 * lanes. Returns 0 if memory is exhausted. */
int ptx_undefined_create(struct ptx_block *block);
void ptx_undefined_destroy(struct ptx_block *block);
/* Gives a lane its part of the block's memory. */
void ptx_undefined_lane(struct ptx_lane *lane);
/* The registers and the memory of the lane's new frame are undefined. */
void ptx_undefined_enter(struct ptx_lane *lane);
/* Copies bits with a parameter, between frames of the lane. from: NULL if the
 * parameter is defined. */
void ptx_undefined_copy(struct ptx_lane *lane, const uint8_t *to,
			const uint8_t *from, uint32_t bytes);
/* Reads and writes the bits of a register. Nothing is undefined if the launch
 * lacks the option. */
uint64_t ptx_undefined_get(const struct ptx_lane *lane, uint32_t slot);
void ptx_undefined_set(struct ptx_lane *lane, uint32_t slot, uint64_t bits);
/* Writes the bits of 1 .. 16 bytes, or copies those of whole 16 bytes. */
void ptx_undefined_put(const struct ptx_lane *lane, const void *to, uint32_t n,
		       const uint8_t *bits);
void ptx_undefined_move(const struct ptx_lane *lane, const uint8_t *to,
			const uint8_t *from, uint32_t n);
/* Finds uses of undefined values. Computes the bits of the results, apart from
 * those of loads and atomics. Returns 0 after a fault. */
int ptx_undefined_check(struct ptx_lane *lane,
			const struct ptx_instruction *in);
/* Bits of an access to an address of the host. The caller calls these functions
 * before a store, after a load and before an atomic. */
void ptx_undefined_store(struct ptx_lane *lane,
			 const struct ptx_instruction *in, const void *at);
void ptx_undefined_load(struct ptx_lane *lane, const struct ptx_instruction *in,
			const void *at);
void ptx_undefined_atom(struct ptx_lane *lane, const struct ptx_instruction *in,
			const void *at);

/* ---- race.c -------------------------------------------------------------- */
/* Memory for the races of a block. Returns 0 if memory is exhausted. */
int ptx_race_create(struct ptx_block *block);
void ptx_race_destroy(struct ptx_block *block);

/* ---- order.c ------------------------------------------------------------- */
/* Orders the lanes of a block, if its launch finds races. A lane arrives at a
 * barrier, or has ended before the others arrived. */
void ptx_order_arrive(struct ptx_lane *lane, uint32_t barrier);
/* An operation on an mbarrier has been executed. */
void ptx_order_mbarrier(struct ptx_lane *lane, const struct ptx_instruction *in,
			const void *at);
/* A lane leaves a barrier. Its past has all lanes that arrived. */
void ptx_order_leave(struct ptx_lane *lane, uint32_t barrier);
/* All lanes have left a barrier. */
void ptx_order_reset(struct ptx_block *block, uint32_t barrier);
/* The lanes of a group leave bar.warp.sync. `first`: lane 0 of the warp. */
void ptx_order_warp(struct ptx_block *block, uint32_t first, uint32_t group);
/* The number of the barrier of a cluster, for the functions above. */
static inline uint32_t ptx_cluster_barrier(uint64_t phase)
{
	return PTX_N_BARRIERS + (uint32_t)(phase & 1);
}

/* ---- weak.c -------------------------------------------------------------- */
/* Weak memory of a block. Returns 0 if memory is exhausted. destroy delivers its
 * late stores. */
int ptx_weak_create(struct ptx_block *block);
void ptx_weak_destroy(struct ptx_block *block);
/* A fence, a barrier or the end of a lane orders accesses. */
void ptx_weak_order(struct ptx_lane *lane, const struct ptx_instruction *in);
/* Returns 1 if an instruction waits for late stores: a fence, or an atomic with a
 * release. Only a block that runs together with others waits. */
int ptx_weak_waits(struct ptx_lane *lane, const struct ptx_instruction *in);
/* A block has ended: shows some of its late stores. Returns 1 if some are
 * left. */
int ptx_weak_drain(struct ptx_block *block);
/* A lane has passed the barrier of its cluster. */
void ptx_weak_acquire(struct ptx_lane *lane);
/* A lane is about to execute an instruction that may use late loads. */
void ptx_loads_before(struct ptx_lane *lane, const struct ptx_instruction *in);
/* A copy has written memory: the block reads it again. */
void ptx_weak_written(struct ptx_block *block, uint64_t at, uint32_t bytes);
/* Each executes an access to an address of the host. */
void ptx_weak_load(struct ptx_lane *lane, const struct ptx_instruction *in,
		   const void *at);
void ptx_weak_store(struct ptx_lane *lane, const struct ptx_instruction *in,
		    void *at);
void ptx_weak_atom(struct ptx_lane *lane, const struct ptx_instruction *in,
		   void *at);
/* Late stores do not stay late for ever. */
void ptx_weak_turn_end(struct ptx_lane *lane);
void ptx_weak_idle(struct ptx_block *block);
/* Returns 1 for an address in shared memory of the grid. */
int ptx_is_shared(const struct ptx_lane *lane, uint64_t at);

#endif
