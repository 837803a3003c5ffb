/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TEST_MODEL_H
#define TEST_MODEL_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/*
 * A stateless model checker for the device dialect. It runs a small program
 * of a few threads again and again. Each run takes another outcome that the
 * memory model allows, until every outcome was explored. README.md explains
 * the model, the search and how to write an instance.
 *
 * Nothing here is thread-safe. The checker explores one program at a time.
 */

#define MODEL_THREADS 4
#define MODEL_INSTANCES 128 /* bits of model_site.instances */

/* ---- instances ----------------------------------------------------------- */

/** A program; model_run explores its executions. */
struct model_instance {
	const char *name;
	uint32_t n_threads;
	const void *config; /* argument of the functions below */
	/* makes the memory with model_memory; runs alone, before the threads */
	void (*setup)(const void *config);
	void (*thread)(const void *config, uint32_t self);
	/* runs after all threads have ended, sees all stores; may be NULL */
	void (*check)(const void *config);
	/* functions that run without their memory orders, as on GPUs; ends with
	 * NULL; may be NULL */
	const char *const *relaxed;
	/*
	 * 1: stronger than C11. In a modification order a store never precedes
	 * a store that its thread has heard of. Loads and adds of any order
	 * count. This holds if all threads share one memory, and a store waits
	 * for the add that gives its address.
	 */
	int causal;
};

/**
 * Allocates zeroed memory that the threads share. Only setup may call it. All
 * data that a thread changes and that outlives the thread's call must lie in
 * such memory. The checker restores the memory before each execution.
 *
 * @param name  for traces
 * @param bytes size
 * @return aligned to 128 bytes
 */
void *model_memory(const char *name, uint64_t bytes);

/** Names a part of such memory for traces. Only setup may call it. */
void model_name(const void *at, uint64_t bytes, const char *name);

/** Ends the execution as a counterexample unless the condition holds. */
#define model_expect(condition)                                                \
	do {                                                                   \
		if (!(condition))                                              \
			model_fail("%s:%d: not so: %s", __FILE__, __LINE__,    \
				   #condition);                                \
	} while (0)

/** Ends the execution as a counterexample. */
void model_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));

/** Begins a wait. The loads before it are not part of its first try. */
void model_try(void);

/**
 * Ends a failed try of a wait and begins the next one. A try that reads the
 * same stores as the try before it is not repeated:
 *
 * 1. If one of these stores is not the newest of its location, the execution
 *    is left. A fair machine reads the newest store at some time.
 * 2. If all are the newest, the thread stops. A newer store to one of the
 *    locations leaves the execution.
 * 3. If no thread makes such a store, the thread waits for ever. This is a
 *    counterexample.
 */
void model_again(void);

/** Waits for the condition. A failed try must have no lasting effect. */
#define MODEL_UNTIL(condition)                                                 \
	for (model_try(); !(condition); model_again())                         \
		;

/* ---- sites in the source ------------------------------------------------- */

enum { MODEL_ACQUIRE = 1, MODEL_RELEASE = 2, MODEL_ACQREL = 3 };

/** An atomic access or a fence in the source. The macros of the model's
 * atomic_host.h fill it. */
struct model_site {
	const char *file, *what;
	uint32_t line, order;
	const char *function;
	struct model_site *same; /* entry of model_sites; NULL: has not run */
	struct model_site *next;
	uint32_t weak; /* MODEL_* orders that are removed now */
	/* bit per model_search.number: that instance has run this site */
	uint64_t instances[MODEL_INSTANCES / 64];
};

/** Returns the list of all sites that ran so far, by file and line. */
struct model_site *model_sites(void);

/** Returns the name of the site's file, without folders. */
const char *model_site_file(const struct model_site *site);

/* ---- exploring ----------------------------------------------------------- */

/** A site without some of its orders. */
struct model_weak {
	const struct model_site *site; /* file, line and operation count */
	uint32_t order; /* MODEL_ACQUIRE, MODEL_RELEASE or both */
};

struct model_search {
	uint32_t number; /* of the instance: its bit in model_site.instances */
	const struct model_weak *weak; /* n_weak entries */
	uint32_t n_weak;
	/* 1: explores every interleaving of all operations, to test the
	 * reduction; for the smallest programs */
	int naive;
	/* 1: a planted fault: a sleeping thread misses one store */
	int overslept;
	/* gets a hash of each complete execution; may be NULL */
	void (*seen)(uint64_t graph);
	/* choices of the only execution to run, with its trace on stdout;
	 * NULL: all executions */
	const char *replay;
};

struct model_result {
	uint64_t executions; /* complete ones, each different */
	uint64_t asleep; /* left early: the graph is explored elsewhere */
	uint64_t unfair; /* left early: a try repeats the reads before it */
	double seconds;
	int failed; /* 1: there is a counterexample */
	char why[512];
	char *choices; /* that lead to the counterexample; static storage */
};

/** Explores all executions, up to the first counterexample. */
void model_run(const struct model_instance *instance,
	       const struct model_search *search, struct model_result *out);

/* ---- called by the dialect's atomics ------------------------------------- */

struct model_value {
	uint64_t word[2];
};

struct model_value model_load(struct model_site *site, const void *p,
			      uint32_t bytes);
void model_store(struct model_site *site, void *p, uint32_t bytes,
		 struct model_value v);
uint64_t model_add(struct model_site *site, void *p, uint32_t bytes,
		   uint64_t v);
void model_fence(struct model_site *site);

void *model_memcpy(void *to, const void *from, size_t bytes);
void *model_memset(void *to, int value, size_t bytes);

#define MODEL_AT(what, order)                                                  \
	(__extension__({                                                       \
		static struct model_site at_ = { __FILE__, what, __LINE__,     \
						 order,	   0,	 0,            \
						 0,	   0,	 { 0 } };      \
		at_.function = __func__;                                       \
		&at_;                                                          \
	}))

#endif
