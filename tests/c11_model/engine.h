/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TEST_MODEL_ENGINE_H
#define TEST_MODEL_ENGINE_H

#include <setjmp.h>
#include <ucontext.h>

#include "c11_model/model.h"

/* State that the parts of the model checker share. README.md lists them. */

#define LOCATIONS 160 /* words that are accessed atomically */
#define STORES 1024 /* of one execution, to all locations */
#define LOCATION_STORES 128
#define MEMORY_BYTES 16384
#define CHOICES 2048
#define TRY_LOADS 64
#define STACK_BYTES 65536

/* The part of an execution that a thread or a store knows. */
struct view {
	/* per thread: accesses up to this clock happened before */
	uint32_t clock[MODEL_THREADS];
	/* per location: older stores cannot be read; 0: the initial value */
	uint16_t store[LOCATIONS];
};

struct store {
	struct model_value value;
	struct view view; /* an acquire load of this store learns it */
	/* only with `causal`: stores that the thread had heard of */
	struct view heard;
	uint16_t location;
	uint16_t position; /* in the location's modification order */
	uint16_t add; /* the add that read it; 0: none */
	uint16_t added_to; /* of an add: the store that it read; 0: no add */
	uint32_t step; /* in the trace; 0: initial value */
	uint64_t writer; /* writing thread and its operation, for hashes */
};

/* The store with the number of a location is the location's initial value. */
struct location {
	uint32_t at, bytes; /* offset and size in the memory */
	uint32_t n; /* entries of `order` */
	uint16_t order[LOCATION_STORES]; /* the modification order */
};

enum request_kind {
	REQUEST_NONE, /* the thread has not begun */
	REQUEST_LOAD,
	REQUEST_STORE,
	REQUEST_ADD,
	REQUEST_FENCE
};

/* An operation that a thread is about to perform. */
struct request {
	enum request_kind kind;
	struct model_site *site;
	uint32_t order; /* MODEL_* orders that were not removed */
	uint32_t location;
	struct model_value value;
	uint32_t from; /* the store to read, chosen by the scheduler */
};

enum thread_state { THREAD_READY, THREAD_STUCK, THREAD_DONE };

struct thread {
	uint32_t self;
	enum thread_state state;
	struct request request;
	uint32_t newer_than; /* sleeps: reads only stores from this number on */
	struct view now; /* current knowledge */
	struct view pending; /* knowledge after an acquire fence */
	struct view released; /* knowledge at the last release fence */
	/* stores read or written, and those that their threads had heard of */
	struct view heard;
	uint64_t n_operations;
	/* [0]: stores that this try of a wait has read; [1]: the try before */
	uint16_t tries[2][TRY_LOADS];
	uint32_t n_reads[2];
	int waiting; /* 1: has begun a MODEL_UNTIL */
	int changed; /* 1: this try has done an add */
	/* the fiber: whether it exists, its entry, its pending request */
	int entered;
	jmp_buf base, at;
	ucontext_t context;
};

enum over { OVER_NOT, OVER_COMPLETE, OVER_ASLEEP, OVER_UNFAIR, OVER_FAILED };

struct region {
	uint32_t at, bytes;
	const char *name;
};

/* Alternative `at` of n; n is 0 if unknown, in a replay. */
struct choice {
	uint16_t at, n;
};

#define TOUCHED_WRITTEN 0x80u

/* The state of the process's only checker. */
struct engine {
	const struct model_instance *instance;
	const struct model_search *search;
	struct model_result *result;
	struct thread threads[MODEL_THREADS];
	struct thread *running; /* NULL: in setup or check */
	jmp_buf back; /* to the scheduler */
	enum over over;
	int tracing;
	/* this execution has made the first `depth` choices */
	struct choice choices[CHOICES];
	uint32_t depth, n_choices;
	/* memory model */
	struct location locations[LOCATIONS];
	uint32_t n_locations; /* numbered from 1 */
	uint16_t location_at[MEMORY_BYTES / 4]; /* 0: no location yet */
	struct store stores[STORES];
	uint32_t n_stores; /* number of the next store */
	uint32_t run; /* number of the execution */
	uint64_t graph; /* sum of the hashes of all reads */
	uint32_t step;
	/* memory */
	uint32_t memory_bytes; /* allocated */
	uint8_t owned[MEMORY_BYTES]; /* 1: allocated; 0: in a gap */
	/* in a replay: bit per thread that accessed it, TOUCHED_WRITTEN */
	uint8_t touched[MEMORY_BYTES];
	struct region regions[64];
	uint32_t n_regions;
	struct model_site *sites;
};

extern struct engine engine;
extern uint8_t model_arena[MEMORY_BYTES], model_before[MEMORY_BYTES];

/* ---- search.c ------------------------------------------------------------ */

/* Returns a number below n: 0 at first. Later executions return the others. */
uint32_t choose(uint32_t n);
/* Ends the execution. Does not return. */
void leave(enum over why);
/* Waits until the scheduler selects the request, and the store to read. */
void await_turn(void);

/* ---- views.c ------------------------------------------------------------- */

/* Resets locations and threads to their state before the first operation. */
void views_begin(void);
/* Returns the number of the word's location; makes a location if needed. */
uint32_t location_of(const void *p, uint32_t bytes);
/* Performs the running thread's request; returns the value that it read. */
struct model_value perform(void);
/* Returns 1 if the thread may read that store now. */
int may_read(const struct thread *t, uint32_t store);
/* Returns a hash of the execution that depends on the graph only. */
uint64_t graph_hash(void);

/* ---- sites.c ------------------------------------------------------------- */

/* Removes the orders that the search and the instance name. */
void site_weaken(struct model_site *site);

/* ---- races.c ------------------------------------------------------------- */

enum access { PLAIN_READ, PLAIN_WRITE, ATOMIC_LOAD, ATOMIC_STORE };
/* Checks an access of the running thread; a data race ends the execution. */
void access_check(enum access kind, uint32_t at, uint32_t bytes, void *pc);
/* Returns the offset in the memory; -1: p is outside. */
int64_t memory_at(const void *p);

/* ---- trace.c ------------------------------------------------------------- */

void trace_operation(const struct store *read, const struct store *wrote);
void trace_plain(enum access kind, uint32_t at, uint32_t bytes, void *pc);
void trace_end(const char *text);
/* Writes a name such as "ring+128" to out; returns out. */
const char *memory_name(uint32_t at, char *out, size_t bytes);

#endif
