/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PTX_MACHINE_H
#define PTX_MACHINE_H

/*
 * The PTX machine: loads PTX text and executes its entries on the host. An
 * address of the device is an address of the host.
 *
 * A module is immutable after ptx_load() and may be used by several threads. A
 * grid is one launch. Each of its blocks runs on the thread that calls
 * ptx_grid_run_block(). The blocks of a cluster need a thread each, as they
 * wait for each other.
 */

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct ptx_module;
struct ptx_function;
struct ptx_grid;

/** An error of a call. */
struct ptx_error {
	uint32_t line; /**< line of the PTX text, 0 if unknown */
	char text[240]; /**< one sentence, with the module's name and the line */
};

/** What an entry needs. */
struct ptx_function_info {
	uint32_t registers; /**< estimate: 32-bit registers a lane, 1 .. 255 */
	uint32_t static_shared_bytes;
	uint32_t max_threads; /**< product of .maxntid, or 1024 */
	uint32_t params_bytes; /**< size of the block of parameters */
	uint32_t local_bytes; /**< local memory of the entry itself */
};

enum ptx_fault {
	PTX_FAULT_NONE,
	PTX_FAULT_BOUNDS, /**< address outside the memory of its space */
	PTX_FAULT_ALIGNMENT,
	PTX_FAULT_UNDEFINED, /**< use of a value that no instruction wrote */
	PTX_FAULT_JUMP, /**< wrong target of a branch or a call */
	PTX_FAULT_STACK, /**< calls too deep for the lane's memory */
	PTX_FAULT_MASK, /**< lanes disagree on a mask, or a lane cannot come */
	PTX_FAULT_BARRIER, /**< wrong use of a barrier */
	PTX_FAULT_DEADLOCK, /**< no lane of a block can ever continue */
	PTX_FAULT_STEPS, /**< a lane executed more than step_limit instructions */
	PTX_FAULT_TRAP, /**< the program executed trap */
	PTX_FAULT_RACE
};

/** Describes a fault. Pointers are valid during the call of fault(). */
struct ptx_report {
	enum ptx_fault fault;
	const char *module; /**< name given to ptx_load() */
	const char *entry;
	const char *function; /**< the function of the instruction */
	const char *file; /**< source file by .file, "" if unknown */
	uint32_t line; /**< source line by .loc, 0 if unknown */
	uint32_t ptx_line; /**< line of the PTX text */
	uint32_t block;
	uint32_t lane; /**< number of the lane in its block */
	const char *opcode; /**< as in the PTX text */
	uint64_t address; /**< of a memory access, else 0 */
	const char *text; /**< one sentence */
};

/** Classes of instructions, for counts. */
enum ptx_class {
	PTX_CLASS_VALUE, /**< computes a value */
	PTX_CLASS_MOVE, /**< copies a register, converts an address */
	PTX_CLASS_LOAD,
	PTX_CLASS_STORE,
	PTX_CLASS_ATOM,
	PTX_CLASS_PARAM, /**< parameters of entries and calls */
	PTX_CLASS_BRANCH,
	PTX_CLASS_CALL, /**< call, ret, exit */
	PTX_CLASS_FENCE,
	PTX_CLASS_BARRIER, /**< of a block or a cluster */
	PTX_CLASS_WARP, /**< shuffle, vote, barrier of a warp */
	PTX_CLASS_OTHER,
	PTX_N_CLASSES
};

/** Memories of accesses, for counts. */
enum ptx_memory {
	PTX_MEMORY_GLOBAL, /**< of the device itself */
	PTX_MEMORY_PEER, /**< global memory of another device */
	PTX_MEMORY_HOST,
	PTX_MEMORY_SHARED, /**< also of other blocks of the cluster */
	PTX_MEMORY_LOCAL,
	PTX_MEMORY_CONST,
	PTX_N_MEMORIES
};

enum ptx_access {
	PTX_ACCESS_LOAD,
	PTX_ACCESS_STORE,
	PTX_ACCESS_ATOM, /**< atom and red */
	PTX_N_ACCESSES
};

/** Scopes of orders, for counts. */
enum ptx_count_scope {
	PTX_COUNT_CTA,
	PTX_COUNT_CLUSTER,
	PTX_COUNT_GPU,
	PTX_COUNT_SYS,
	PTX_N_COUNT_SCOPES
};

/** Executed instructions. An instruction that its predicate skips counts in its
 *  class, and not as an access or an order. */
struct ptx_counts {
	uint64_t instructions;
	uint64_t by_class[PTX_N_CLASSES];
	uint64_t accesses[PTX_N_ACCESSES][PTX_N_MEMORIES];
	/** Accesses with acquire, release or acq_rel. */
	uint64_t orders[PTX_N_COUNT_SCOPES];
	uint64_t fences[PTX_N_COUNT_SCOPES];
};

/** For ptx_grid_counts(): the sum of all lanes. */
#define PTX_ALL_LANES UINT32_MAX

/** What the machine asks its host. Any thread of a block may call these. */
struct ptx_host {
	/** Finds the memory around an address that a device may access. Returns
	 *  1 and sets the first address and the size, or returns 0. */
	int (*range)(void *context, int device, uint64_t address,
		     uint64_t *from, uint64_t *bytes);
	/** Returns a number that changes when answers of range() change.
	 *  NULL: they never change. */
	uint64_t (*generation)(void *context);
	/** Returns the time of %globaltimer in ns. NULL: CLOCK_REALTIME. */
	uint64_t (*clock)(void *context);
	/** Hears of the first fault of a grid. All lanes then end. May be NULL. */
	void (*fault)(void *context, const struct ptx_report *report);
	void *context;
	/** Hears of a lane that ptx_grid_describe() asks for. The text says
	 *  what the lane does. May be NULL. */
	void (*lane)(void *context, const struct ptx_report *report);
	/** Returns PTX_MEMORY_GLOBAL, _PEER or _HOST for an address that the
	 *  device accesses. For counts. NULL: all is PTX_MEMORY_GLOBAL. */
	enum ptx_memory (*memory)(void *context, int device, uint64_t address);
	/** Returns 1 if some stores of 16 bytes arrive in two parts, the last 8
	 *  bytes first. NULL: none does. */
	int (*tears)(void *context, int device, uint64_t address);
};

/** Options of a grid. Zero is the default of each. */
struct ptx_options {
	uint64_t seed; /**< of all random choices */
	/** Instructions that a lane executes before another continues: random,
	 *  1 .. quantum. Only memory accesses and branches count. 0: 60. */
	uint32_t quantum;
	uint32_t timer_step_ns; /**< step of %globaltimer; 0: 1 ns */
	uint64_t step_limit; /**< instructions of a lane; 0: no limit */
	int weak; /**< weak memory */
	int race; /**< reports races on shared memory */
	int undefined; /**< reports uses of undefined values */
	int trace; /**< prints a line for each instruction */
	/** Lanes of each block that are traced: from .. to. to 0: no end. */
	uint32_t trace_from, trace_to;
	uint64_t trace_lines; /**< most lines of a grid; 0: 100000 */
	FILE *trace_file; /**< NULL: stderr */
	int count; /**< counts instructions: see ptx_grid_counts() */
};

/** A launch. */
struct ptx_launch {
	struct ptx_function *function; /**< an entry */
	uint32_t blocks; /**< 1 or more */
	uint32_t threads; /**< of a block, 1 .. 1024 */
	uint32_t cluster; /**< blocks of a cluster, 0 or 1: none */
	uint32_t dynamic_shared_bytes;
	int device; /**< passed to range() */
	/** Parameters in the layout of the entry: params_bytes of its info.
	 *  Copied. */
	const void *params;
	struct ptx_host host;
	struct ptx_options options;
};

/** Returns the name of a fault, e.g. "bounds". */
const char *ptx_fault_name(enum ptx_fault fault);

/**
 * Loads a module from PTX text. The text need not end with 0. Returns NULL
 * after an error, and describes it in *error_out. `name` is for messages.
 */
struct ptx_module *ptx_load(const char *text, size_t bytes, const char *name,
			    struct ptx_error *error_out);
/** Frees a module. Its grids must be destroyed. NULL: does nothing. */
void ptx_unload(struct ptx_module *module);
/** Returns 1 if the module was loaded from this text. */
int ptx_is_of(const struct ptx_module *module, const char *text, size_t bytes);
/**
 * Gives the variables of a module their initial values, as a new load does. No
 * grid of the module may run.
 */
void ptx_reset(struct ptx_module *module);

/** Finds an entry by its name. Returns NULL if there is none. */
struct ptx_function *ptx_find(struct ptx_module *module, const char *entry);
void ptx_function_info(const struct ptx_function *function,
		       struct ptx_function_info *info_out);
/** Returns the offset of parameter `index` in the block of parameters, and sets
 *  its size. Returns -1 if the entry has fewer parameters. */
int ptx_function_param(const struct ptx_function *function, uint32_t index,
		       uint32_t *bytes_out);
/** Finds a variable in global or constant memory. Returns its address, or
 *  NULL if there is none. */
void *ptx_variable(struct ptx_module *module, const char *name,
		   uint64_t *bytes_out);

/**
 * Device memory of the process, for launches with the option `undefined`. The
 * host names its undefined memory. Whole pages count. Other memory is defined.
 * Callable from any thread.
 *
 * track: nothing has written the memory. untrack: the memory is freed.
 */
void ptx_memory_track(uint64_t address, uint64_t bytes);
void ptx_memory_untrack(uint64_t address, uint64_t bytes);
/** The host has written memory, or has copied it from other memory. */
void ptx_memory_written(uint64_t address, uint64_t bytes);
void ptx_memory_copied(uint64_t to, uint64_t from, uint64_t bytes);

/** Checks options. Returns 0, or -1 with a text. */
int ptx_options_check(const struct ptx_options *options,
		      struct ptx_error *error_out);

/** Creates a grid. Returns NULL if the launch is invalid or memory is
 *  exhausted. The module must outlive the grid. */
struct ptx_grid *ptx_grid_create(const struct ptx_launch *launch);
/** Runs one block on the calling thread, to its end. Each block runs once. */
void ptx_grid_run_block(struct ptx_grid *grid, uint32_t block);
/**
 * Runs all blocks of n grids on the calling thread, to their ends. The blocks
 * take turns, in an order that the seeds decide. So the seeds repeat a run.
 * Returns after the first fault, too.
 *
 * step: called between turns, acts as the host. It returns 0 to end the run.
 * NULL: none.
 */
void ptx_grids_run(struct ptx_grid *const *grids, uint32_t n,
		   int (*step)(void *context), void *context);
/** Returns 1 if a lane of the grid had a fault. */
int ptx_grid_faulted(const struct ptx_grid *grid);
/** Ends all lanes of a grid soon. Callable from any thread. */
void ptx_grid_stop(struct ptx_grid *grid);
/** Asks for the places of all lanes. Each running block soon calls host.lane()
 *  for its lanes that have not ended. Callable from any thread. */
void ptx_grid_describe(struct ptx_grid *grid);
/** Returns the number of instructions that ended blocks have executed. */
uint64_t ptx_grid_instructions(const struct ptx_grid *grid);
/** Returns what ended blocks have executed: all lanes, or the lane with this
 *  number in each block. All counts are 0 without the option `count`. */
struct ptx_counts ptx_grid_counts(const struct ptx_grid *grid, uint32_t lane);
/** Adds counts `n` times. n may be -1: subtracts. */
void ptx_counts_add(struct ptx_counts *to, const struct ptx_counts *from,
		    int64_t n);
/** Prints counts per message as members of a JSON object. */
void ptx_counts_print(const struct ptx_counts *counts, uint64_t messages,
		      FILE *file);
/** Prints the counts of all lanes as a JSON object on a line. */
void ptx_grid_print(const struct ptx_grid *grid, FILE *file);
/** Frees a grid. No block may be running. NULL: does nothing. */
void ptx_grid_destroy(struct ptx_grid *grid);

#endif
