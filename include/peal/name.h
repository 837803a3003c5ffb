/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_NAME_H
#define PEAL_NAME_H

#include <stdint.h>

#include <peal/errors.h>

#ifdef __cplusplus
extern "C" {
#endif

struct peal_runtime;

/** Bytes that a name takes at most, its 0 among them. */
#define PEAL_NAME_BYTES 64

/*
 * Names of addresses, by which other parts of a program find an actor, a pool, an
 * endpoint or a topic. An address has one name at most, and a name one address. It
 * is free again when the actor is retired, the pool, the endpoint or the topic is
 * destroyed, or the kernel: who comes later, and be it to the same room, has not
 * inherited it. Where a handler has ended the actor the host is not told: then
 * the name is free for who is given it next, and until then found. An actor that
 * moves (peal/migrate.h) keeps its name: it is of all addresses that it has had, and
 * leads to the newest. Names are the host's: messages are sent to addresses. peal_stuck says them. They are not the
 * `name` that options have for texts, which nobody is found by.
 */

/**
 * Gives an address a name.
 *
 * @param runtime an open runtime.
 * @param address of an actor, a pool, an endpoint or a topic.
 * @param name    1 to PEAL_NAME_BYTES - 1 bytes and a 0. Copied.
 * @return 0; PEAL_ENOENT nobody has the address; PEAL_EEXIST the name is taken,
 *         or the address has one (the text says by whom, or which); PEAL_EINVAL;
 *         PEAL_ENOMEM. Thread-safe.
 */
int peal_name_set(struct peal_runtime *runtime, uint64_t address,
		  const char *name);

/**
 * Who has a name. Waits for no worker, and for no call that does.
 *
 * @param runtime     an open runtime.
 * @param name        a name.
 * @param address_out its address, the newest one.
 * @return 0; PEAL_ENOENT nobody has it; PEAL_EINVAL. Thread-safe.
 */
int peal_name_find(struct peal_runtime *runtime, const char *name,
		   uint64_t *address_out);

/**
 * The name of an address. Waits for no worker, and for no call that does.
 *
 * @param runtime  an open runtime.
 * @param address  any.
 * @param name_out PEAL_NAME_BYTES bytes: the name and a 0.
 * @return 0; PEAL_ENOENT it has none; PEAL_EINVAL. Thread-safe.
 */
int peal_name_of(struct peal_runtime *runtime, uint64_t address,
		 char name_out[PEAL_NAME_BYTES]);

/**
 * Takes a name away; the address can have another then.
 *
 * @param runtime an open runtime.
 * @param name    a name.
 * @return 0; PEAL_ENOENT nobody has it; PEAL_EINVAL. Thread-safe.
 */
int peal_name_clear(struct peal_runtime *runtime, const char *name);

#ifdef __cplusplus
}
#endif
#endif
