/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEALI_RUNTIME_END_H
#define PEALI_RUNTIME_END_H

#include <stdint.h>

#include <peal/program.h>

/*
 * The ends of links and topics: who an address is, and which port or input of
 * it is meant.
 */

struct peal_runtime;
struct peal_kernel;
struct peal_endpoint;
struct peali_pool;

/** One end of a link, or of a topic. */
struct peali_end {
	uint64_t address;
	struct peal_kernel *kernel; /* NULL: an endpoint */
	struct peal_endpoint *endpoint;
	struct peali_pool *pool; /* of the kernel, else NULL: an actor */
	int dead_letters; /* 1: those of the kernel, not an actor */
	int passage; /* 1: of actors that move to another kernel: cross.c */
	uint32_t actor, worker;
	uint32_t index; /* port in the worker's table, or input */
	int device; /* PEALI_HOST: the host */
};

/* Whether it is in another process: see far.h. */
static inline int peali_end_is_far(const struct peali_end *end)
{
	return !end->kernel && !end->endpoint;
}

/* Finds an actor that lives, or an endpoint: all but the index. `what` is its
 * name in texts. The lock is held. */
int peali_end_resolve(struct peal_runtime *rt, uint64_t address,
		      const char *what, struct peali_end *out,
		      const char *call);
/* The same for who only sends: the dead letters of a kernel, too. */
int peali_end_resolve_sender(struct peal_runtime *rt, uint64_t address,
			     struct peali_end *out, const char *call);
/* The index of a sender's port, which is there and free; the same lock. */
int peali_end_port(struct peal_runtime *rt, struct peali_end *from,
		   uint32_t port, const char *call);
/* The index of a free input of a receiver; the same lock. */
int peali_end_input(struct peali_end *to, const char *call);
/* The handler of an actor's end; NULL for dead letters. */
const struct peal_handler_info *peali_end_handler(const struct peali_end *end);
/* PEAL_EINVAL, which names both, if two handlers declare messages of different
 * lengths; NULL is an end that declares none. */
int peali_handlers_agree(const struct peal_handler_info *emitter,
			 const struct peal_handler_info *taker,
			 const char *call);
/* PEAL_EINVAL if a handler, or NULL, declares how long its messages are, for
 * dead letters have any length. */
int peali_handler_takes_dead_letters(const struct peal_handler_info *taker,
				     const char *call);
/* So many links more, or less, come from or lead to an end of a kernel. */
void peali_end_add_links(const struct peali_end *end, int n);
/* Whether it is at a kernel that has not ended. */
int peali_end_lives(const struct peali_end *end);
/* Tells the end's worker something of its port or input, and waits for the
 * answer; 0 also where the worker has ended. */
int peali_end_tell(const struct peali_end *end, uint16_t type,
		   const char *call);
/* The same without an answer; `counts` is where what is closed counts, or 0. */
int peali_end_post(const struct peali_end *end, uint16_t type, uint64_t counts);

#endif
