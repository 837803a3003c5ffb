/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PTX_STATE_H
#define PTX_STATE_H

/* A launch at run time: grid, clusters, blocks, lanes. */

#include "module.h"

#include <pthread.h>
#include <stdatomic.h>

#define PTX_MAX_THREADS 1024
#define PTX_N_BARRIERS 16
#define PTX_MAX_DEPTH 64 /* calls */
#define PTX_LOCAL_BYTES (256u << 10) /* local memory of a lane */
#define PTX_N_SLOTS (64u << 10) /* registers of a lane, all calls together */
#define PTX_N_RANGES 4
#define PTX_BULK_MAX ((1u << 20) - 16) /* bytes of a bulk copy */
#define PTX_RANK_SHIFT 24 /* of an address of shared::cluster */

enum ptx_lane_state {
	PTX_RUNS,
	PTX_SLEEPS,
	PTX_AT_BARRIER,
	PTX_AT_WARP, /* waits for the lanes of its mask */
	PTX_AT_ACTIVEMASK, /* continues with others that are there, too */
	PTX_AT_CLUSTER,
	PTX_ENDED
};

/* Memory that the device may access, as range() has answered. */
struct ptx_range {
	uint64_t from, bytes;
	int is_const;
};

struct ptx_frame {
	const struct ptx_function *function;
	const struct ptx_instruction *in; /* the call */
	uint64_t *registers;
	uint8_t *memory;
};

/* An instruction that the trace lacks yet. */
struct ptx_traced {
	const struct ptx_function *function;
	const struct ptx_instruction *in; /* NULL: none */
	uint64_t *registers;
	uint64_t address; /* the register of an address before the instruction */
};

struct ptx_lane {
	struct ptx_block *block;
	uint32_t number;
	enum ptx_lane_state state;
	const struct ptx_function *function;
	const struct ptx_instruction *in; /* next, or the one that waits */
	uint64_t *registers; /* of the frame */
	uint8_t *memory; /* of the frame */
	uint64_t *slots, *slots_top;
	uint8_t *local, *local_top;
	uint32_t depth;
	uint32_t barrier; /* while PTX_AT_BARRIER */
	uint32_t mask; /* while PTX_AT_WARP */
	int has_arrived; /* at the cluster's barrier */
	uint64_t bulk_group; /* the group of the lane's next bulk copy */
	uint64_t cluster_phase;
	uint64_t instructions;
	struct ptx_counts *counts; /* NULL: the lane is not counted */
	uint64_t generation;
	uint32_t next_range;
	struct ptx_range ranges[PTX_N_RANGES];
	struct ptx_traced traced;
	/* Undefined bits of `slots` and of `local`. NULL: not tracked. */
	uint64_t *slots_undefined;
	uint8_t *local_undefined;
	struct ptx_frame frames[PTX_MAX_DEPTH];
};

struct ptx_barrier {
	uint32_t arrived; /* lanes */
	uint32_t needed; /* 0: all lanes that have not ended */
};

struct ptx_cluster {
	pthread_mutex_t lock;
	uint32_t live, arrived; /* lanes */
	uint64_t phase;
};

struct ptx_block {
	struct ptx_grid *grid;
	struct ptx_cluster *cluster;
	uint32_t number;
	uint32_t live; /* lanes that have not ended */
	uint8_t *shared;
	struct ptx_lane *lanes;
	uint8_t *lane_memory;
	uint8_t *undefined_memory; /* NULL: not tracked */
	struct ptx_races *races; /* NULL: not tracked */
	struct ptx_weak *weak; /* NULL: memory is not weak */
	uint64_t random;
	struct ptx_barrier barriers[PTX_N_BARRIERS];
	struct ptx_async *asyncs; /* copies that are not complete */
	_Atomic int ended;
	uint32_t described; /* of the grid's `describe`: answered */
	int together; /* other blocks run on this thread */
	int turn_over, drained; /* of blocks that run together */
};

struct ptx_grid {
	struct ptx_launch launch;
	const struct ptx_function *function;
	uint8_t *params;
	uint32_t cluster_blocks; /* 1 or more */
	uint32_t shared_bytes; /* static and dynamic, of a block */
	uint32_t shared_stride;
	uint8_t *shared; /* of all blocks */
	uint8_t *shared_undefined; /* undefined bits of `shared`, or NULL */
	struct ptx_block *blocks;
	struct ptx_cluster *clusters;
	_Atomic int faulted, stopped;
	_Atomic uint32_t describe; /* calls of ptx_grid_describe() */
	_Atomic uint64_t instructions;
	int is_checked; /* some option needs ptx_check() */
	_Atomic uint64_t trace_lines;
	struct ptx_counts *counts; /* by block and lane; or NULL */
};

/* ---- counts.c ------------------------------------------------------------ */
/* Counts an instruction that the lane is about to execute. */
void ptx_count(struct ptx_lane *lane, const struct ptx_instruction *in);

/* ---- report.c ------------------------------------------------------------ */
/* Ends a lane. Reports its fault if it is the first of the grid. */
__attribute__((format(printf, 5, 6))) void
ptx_fault(struct ptx_lane *lane, const struct ptx_instruction *in,
	  enum ptx_fault fault, uint64_t address, const char *format, ...);

/* Tells the host where a lane is. */
void ptx_describe(struct ptx_lane *lane);

/* ---- engine.c ------------------------------------------------------------ */
/* Runs a lane until it waits or ends, or has spent its budget of memory
 * accesses and branches. */
void ptx_lane_run(struct ptx_lane *lane, int64_t budget);

/* ---- frame.c ------------------------------------------------------------- */
/* Enters a function. Returns 0 after a fault. */
int ptx_enter(struct ptx_lane *lane, const struct ptx_function *function);
int ptx_call(struct ptx_lane *lane, const struct ptx_instruction *in);
void ptx_return(struct ptx_lane *lane);

/* ---- memory.c ------------------------------------------------------------ */
/* Checks an access and returns its address on the host, or NULL after a
 * fault. `bytes` is a power of two. */
void *ptx_memory_slow(struct ptx_lane *lane, const struct ptx_instruction *in,
		      uint64_t address, uint32_t bytes, int is_store);
/* Checks an access of any length, aligned to 8 or 16 bytes, to a space.
 * Returns its address on the host, or NULL after a fault. */
void *ptx_memory_span(struct ptx_lane *lane, const struct ptx_instruction *in,
		      enum ptx_space space, uint64_t address, uint32_t bytes,
		      uint32_t alignment, int is_store);
/* Executes atom and red. Returns 0 after a fault. */
int ptx_atom(struct ptx_lane *lane, const struct ptx_instruction *in);
/* Executes ld and st with a vector. Each returns 0 after a fault. */
int ptx_load_vector(struct ptx_lane *lane, const struct ptx_instruction *in);
int ptx_store_vector(struct ptx_lane *lane, const struct ptx_instruction *in);
void ptx_load_param(struct ptx_lane *lane, const struct ptx_instruction *in);
void ptx_store_param(struct ptx_lane *lane, const struct ptx_instruction *in);
/* Executes cvta.to, isspacep and mapa. Each returns 0 after a fault. */
int ptx_cvta_to(struct ptx_lane *lane, const struct ptx_instruction *in);
void ptx_isspacep(struct ptx_lane *lane, const struct ptx_instruction *in);
int ptx_mapa(struct ptx_lane *lane, const struct ptx_instruction *in);
/* Returns 1 for an address in a variable of the lane's module. */
int ptx_is_variable(const struct ptx_lane *lane, uint64_t address);
/* Forgets known ranges if answers of range() may have changed. */
void ptx_refresh_ranges(struct ptx_lane *lane);

/* ---- special.c ----------------------------------------------------------- */
uint64_t ptx_special(const struct ptx_lane *lane,
		     const struct ptx_instruction *in);

/* ---- barrier.c ----------------------------------------------------------- */
/* A lane arrives at a barrier. Returns 1 if it continues at once. */
int ptx_barrier_arrive(struct ptx_lane *lane, const struct ptx_instruction *in);
/* Releases barriers that a lane's end has completed. */
void ptx_barrier_lane_ended(struct ptx_block *block);
int ptx_cluster_arrive(struct ptx_lane *lane, const struct ptx_instruction *in);
/* Returns 1 if the phase at which the lane has arrived is complete. */
int ptx_cluster_passed(struct ptx_lane *lane);
void ptx_cluster_lane_ended(struct ptx_lane *lane);

/* ---- mbarrier.c ---------------------------------------------------------- */
/* Executes an operation on an mbarrier. Returns 0 after a fault. */
int ptx_mbarrier(struct ptx_lane *lane, const struct ptx_instruction *in);
/* Finds the mbarrier at an address of a lane. Returns NULL after a fault. */
uint64_t *ptx_mbarrier_at(struct ptx_lane *lane,
			  const struct ptx_instruction *in, uint64_t address,
			  enum ptx_space space);
/* Counts bytes that have arrived. Returns NULL, or a text: a wrong use. */
const char *ptx_mbarrier_complete(uint64_t *mbarrier, uint32_t bytes);

/* ---- async.c ------------------------------------------------------------- */
/* Begins st.async and cp.async.bulk. Each returns 0 after a fault. A lane that
 * must wait sleeps in front of the instruction. */
int ptx_store_async(struct ptx_lane *lane, const struct ptx_instruction *in);
int ptx_bulk(struct ptx_lane *lane, const struct ptx_instruction *in);
/* Completes one copy of a block, in any order. Returns 0 if there is none. */
int ptx_async_step(struct ptx_block *block);
/* Completes or drops all copies of a block. */
void ptx_async_end(struct ptx_block *block, int drop);

/* ---- warp.c -------------------------------------------------------------- */
/* A lane waits at an opcode of a warp. Executes the opcode for all lanes of the
 * mask if they are there. */
void ptx_warp_arrive(struct ptx_lane *lane, const struct ptx_instruction *in);
/* Executes what a lane's end has completed. */
void ptx_warp_lane_ended(struct ptx_lane *lane);
/* Gives one mask to all lanes of a warp at this activemask. */
void ptx_warp_activemask(struct ptx_lane *lane);

/* ---- memory.c, atom.c ---------------------------------------------------- */
/* One access of 1 .. 16 bytes: no other thread sees a part of it. */
void ptx_copy_in(uint8_t *to, const void *from, uint32_t bytes);
void ptx_copy_out(void *to, const uint8_t *from, uint32_t bytes);
/* Returns 1 if a store of so many bytes arrives in two parts: by chance, where the
 * host says so. */
int ptx_tears(const struct ptx_lane *lane, uint64_t at, uint32_t bytes);
/* Access of an instruction with one element or a vector, to an address on the
 * host. */
void ptx_load_at(struct ptx_lane *lane, const struct ptx_instruction *in,
		 const void *at);
void ptx_store_at(struct ptx_lane *lane, const struct ptx_instruction *in,
		  void *at);
void ptx_atom_at(struct ptx_lane *lane, const struct ptx_instruction *in,
		 void *at);

/* ---- block.c ------------------------------------------------------------- */
uint64_t ptx_random(struct ptx_block *block);

#endif
