/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TEST_MODEL_H
#define TEST_MODEL_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/*
 * A stateless model checker for the device dialect: it runs a small program of
 * a few threads over and over, each time with another outcome of what the
 * memory model leaves open, until no outcome is left. README.md says which
 * model, which search and how an instance is written.
 *
 * Nothing here is thread-safe; one program at a time.
 */

#define MODEL_THREADS 4
#define MODEL_INSTANCES 128 /* with a number */

/* ---- instances ----------------------------------------------------------- */

/** A program whose executions are explored. */
struct model_instance {
	const char *name;
	uint32_t n_threads;
	const void *config; /* handed to the functions below */
	/* makes the memory, by model_memory; sequential, before all threads */
	void (*setup)(const void *config);
	void (*thread)(const void *config, uint32_t self);
	/* after all threads have ended; sees everything */
	void (*check)(const void *config);
	/* functions whose orders are taken away from the start, as GPUs do
	 * without them; ends with NULL; may be NULL */
	const char *const *relaxed;
	/* more than C11 says: in a modification order a store is not in front
	 * of one that its thread heard of, by whatever order of loads and adds.
	 * So it is where memory is one for all and addresses are waited for. */
	int causal;
};

/**
 * Zeroed memory that the threads share; only in setup. All that a thread
 * changes and that outlives its call has to lie in such memory, which is put
 * back before each execution.
 *
 * @param name  for traces
 * @param bytes as many
 * @return aligned to 128 bytes
 */
void *model_memory(const char *name, uint64_t bytes);

/** Names a part of such memory for traces; only in setup. */
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

/** A wait begins: what was read so far is not part of its first try. */
void model_try(void);

/**
 * The try failed, another begins. A try that reads exactly what the one before
 * read says nothing new: the thread then stops for good, and if what it read
 * is the newest there will ever be, that is a counterexample (it waits for
 * ever); if not, the execution is left, as no fair machine ends there.
 */
void model_again(void);

/** Waits; the condition is a try without lasting effect when it fails. */
#define MODEL_UNTIL(condition)                                                 \
	for (model_try(); !(condition); model_again())                         \
		;

/* ---- places in the source ------------------------------------------------ */

enum { MODEL_ACQUIRE = 1, MODEL_RELEASE = 2, MODEL_ACQREL = 3 };

/** An atomic access or a fence as the source spells it; filled by the macros
 * of the model's atomic_host.h. */
struct model_site {
	const char *file, *what;
	uint32_t line, order;
	const char *function;
	struct model_site *same; /* the one of all that stand for this place */
	struct model_site *next;
	uint32_t weak; /* orders that are taken away now */
	/* a bit per number in model_search.number */
	uint64_t instances[MODEL_INSTANCES / 64];
};

/** All places that ran so far, in the order of file and line. */
struct model_site *model_sites(void);

/** The place's file without its folders. */
const char *model_site_file(const struct model_site *site);

/* ---- exploring ----------------------------------------------------------- */

/** Where an order is taken away: file:line and what stands there. */
struct model_weak {
	const struct model_site *site;
	uint32_t order; /* MODEL_ACQUIRE, MODEL_RELEASE or both */
};

struct model_search {
	uint32_t number; /* of the instance, for model_site.instances */
	const struct model_weak *weak; /* n_weak of them */
	uint32_t n_weak;
	/* explores each interleaving of each operation, as a test of the
	 * reduction; for the smallest programs */
	int naive;
	/* a fault in the reduction, for that test to find */
	int overslept;
	void (*seen)(uint64_t graph); /* a hash of each complete execution */
	const char *replay; /* only this one, with its trace on stdout */
};

struct model_result {
	uint64_t executions; /* complete ones, each different */
	uint64_t asleep; /* left: the same as one explored elsewhere */
	uint64_t unfair; /* left: a try that was repeated in vain */
	double seconds;
	int failed; /* there is a counterexample */
	char why[512];
	char *choices; /* what leads to it; static storage */
};

/** Explores all executions, or up to the first counterexample. */
void model_run(const struct model_instance *instance,
	       const struct model_search *search, struct model_result *out);

/* ---- what the atomics of the dialect call -------------------------------- */

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
