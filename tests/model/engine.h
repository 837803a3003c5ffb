/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TEST_MODEL_ENGINE_H
#define TEST_MODEL_ENGINE_H

#include <setjmp.h>
#include <ucontext.h>

#include "model/model.h"

/* What the parts of the model checker share; README.md says what they do. */

#define LOCATIONS 160 /* words that are accessed atomically */
#define STORES 1024 /* of one execution, to all of them */
#define LOCATION_STORES 128
#define MEMORY_BYTES 16384
#define CHOICES 2048
#define TRY_LOADS 64
#define STACK_BYTES 65536

/* How much of an execution somebody knows. */
struct view {
	uint32_t clock[MODEL_THREADS]; /* what happened before */
	uint16_t store[LOCATIONS]; /* per location, nothing older is read */
};

struct store {
	struct model_value value;
	struct view view; /* what an acquire of it learns */
	struct view heard; /* what its thread had read, at any order */
	uint16_t location;
	uint16_t position; /* in the location's modification order */
	uint16_t add; /* the add that read it, 0: none */
	uint16_t added_to; /* what the add read that wrote it */
	uint32_t step; /* of the trace */
	uint64_t who; /* thread and its operation, for hashes */
};

/* Stores have the number of their location first: its initial value. */
struct location {
	uint32_t at, bytes; /* in the memory */
	uint32_t n;
	uint16_t order[LOCATION_STORES]; /* the modification order */
};

enum request_kind {
	REQUEST_NONE, /* the thread begins */
	REQUEST_LOAD,
	REQUEST_STORE,
	REQUEST_ADD,
	REQUEST_FENCE
};

/* An operation that a thread is about to do. */
struct request {
	enum request_kind kind;
	struct model_site *site;
	uint32_t order; /* what is left of it */
	uint32_t location;
	struct model_value value;
	uint32_t from; /* the store to read, chosen by the scheduler */
};

enum thread_state { THREAD_READY, THREAD_STUCK, THREAD_DONE };

struct thread {
	uint32_t self;
	enum thread_state state;
	struct request request;
	uint32_t newer_than; /* asleep: reads only stores from this number on */
	struct view now;
	struct view pending; /* what an acquire fence would learn */
	struct view released; /* what was known at the last release fence */
	struct view heard; /* what it has read, and what those had */
	uint64_t n_operations;
	/* the stores that this try and the one before it read */
	uint16_t tries[2][TRY_LOADS];
	uint32_t n_reads[2];
	int waiting; /* inside of a MODEL_UNTIL */
	int changed; /* this try did more than read and store */
	/* the fiber */
	int entered;
	jmp_buf base, at;
	ucontext_t context;
};

enum over { OVER_NOT, OVER_COMPLETE, OVER_ASLEEP, OVER_UNFAIR, OVER_FAILED };

struct region {
	uint32_t at, bytes;
	const char *name;
};

struct choice {
	uint16_t at, n;
};

#define TOUCHED_WRITTEN 0x80u

/* The one checker of the process. */
struct engine {
	const struct model_instance *instance;
	const struct model_search *search;
	struct model_result *result;
	struct thread threads[MODEL_THREADS];
	struct thread *running; /* NULL: setup, check */
	jmp_buf back; /* in the scheduler */
	enum over over;
	int tracing;
	/* choices; the first `depth` are made */
	struct choice choices[CHOICES];
	uint32_t depth, n_choices;
	/* memory model */
	struct location locations[LOCATIONS];
	uint32_t n_locations; /* from 1 */
	uint16_t location_at[MEMORY_BYTES / 4];
	struct store stores[STORES];
	uint32_t n_stores; /* the next to be made */
	uint32_t run; /* number of the execution */
	uint64_t graph;
	uint32_t step;
	/* memory */
	uint32_t memory_bytes; /* handed out */
	uint8_t owned[MEMORY_BYTES]; /* 1: in no gap */
	uint8_t touched[MEMORY_BYTES]; /* a bit per thread, TOUCHED_WRITTEN */
	struct region regions[64];
	uint32_t n_regions;
	struct model_site *sites;
};

extern struct engine engine;
extern uint8_t model_arena[MEMORY_BYTES], model_before[MEMORY_BYTES];

/* ---- search.c ------------------------------------------------------------ */

/* One of n, the first at first; explores the others later. */
uint32_t choose(uint32_t n);
/* Leaves the execution; does not return in a thread. */
void leave(enum over why);
/* Lets the scheduler decide when the request is done, and what it reads. */
void await_turn(void);

/* ---- views.c ------------------------------------------------------------- */

/* Everything as before the first operation. */
void views_begin(void);
/* The word's location; makes it if need be. */
uint32_t location_of(const void *p, uint32_t bytes);
/* Does the running thread's request; returns what it read. */
struct model_value perform(void);
/* Whether the thread may read that store now. */
int may_read(const struct thread *t, uint32_t store);
/* A hash of the execution, whatever order it was found in. */
uint64_t graph_hash(void);

/* ---- sites.c ------------------------------------------------------------- */

/* Takes away what the search and the instance say. */
void site_weaken(struct model_site *site);

/* ---- races.c ------------------------------------------------------------- */

enum access { PLAIN_READ, PLAIN_WRITE, ATOMIC_LOAD, ATOMIC_STORE };
/* The running thread's access; a data race ends the execution. */
void access_check(enum access kind, uint32_t at, uint32_t bytes, void *pc);
/* Where in the memory; -1: elsewhere. */
int64_t memory_at(const void *p);

/* ---- trace.c ------------------------------------------------------------- */

void trace_operation(const struct store *read, const struct store *wrote);
void trace_plain(enum access kind, uint32_t at, uint32_t bytes, void *pc);
void trace_end(const char *text);
/* "ring+128" or its name. */
const char *memory_name(uint32_t at, char *out, size_t bytes);

#endif
