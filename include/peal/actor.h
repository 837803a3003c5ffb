/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_ACTOR_H
#define PEAL_ACTOR_H

#include <stddef.h>
#include <stdint.h>

#include <peal/errors.h>

#ifdef __cplusplus
extern "C" {
#endif

struct peal_kernel;
struct peal_runtime;

/** Zero in a field: its default. */
struct peal_actor_options {
	uint32_t size; /* sizeof(struct peal_actor_options) */
	uint32_t worker; /* 1 + worker; 0: they take turns */
	const void *init; /* first bytes of the actor's state; the rest is 0 */
	uint64_t init_bytes; /* at most the handler's state */
};

/**
 * Makes an actor in a running kernel.
 *
 * @param kernel      a kernel that runs or is suspended.
 * @param handler     name of its handler.
 * @param options     NULL for all defaults.
 * @param address_out its address: the name by which it is connected.
 * @return 0; PEAL_ENOENT no such handler (the text lists them) or worker;
 *         PEAL_ENOSPC max_actors, max_ports or the arena is used up (the text
 *         says which); PEAL_EINVAL more init bytes than state; PEAL_ESTOPPED;
 *         PEAL_EHUNG the worker did not answer. Thread-safe.
 */
int peal_actor_spawn(struct peal_kernel *kernel, const char *handler,
		     const struct peal_actor_options *options,
		     uint64_t *address_out);

/**
 * Ends an actor. Messages for it that come later are dead, reason "no actor".
 *
 * @param runtime an open runtime.
 * @param address of an actor.
 * @return 0; PEAL_ENOENT no such actor; PEAL_EBUSY links come from or lead to
 *         it; PEAL_ESTOPPED; PEAL_EHUNG. Thread-safe.
 */
int peal_actor_retire(struct peal_runtime *runtime, uint64_t address);

/**
 * Copies an actor's state out. The kernel has ended or is suspended.
 *
 * @param runtime   an open runtime.
 * @param address   of an actor.
 * @param state_out `bytes` bytes.
 * @param bytes     at most the handler's state.
 * @return 0; PEAL_ENOENT; PEAL_EBUSY the kernel runs; PEAL_EINVAL more than
 *         the state. Thread-safe.
 */
int peal_actor_state(struct peal_runtime *runtime, uint64_t address,
		     void *state_out, size_t bytes);

#ifdef __cplusplus
}
#endif
#endif
