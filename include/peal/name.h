/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_NAME_H
#define PEAL_NAME_H

/*
 * Names of addresses. A name lets another part of the program find an actor, a
 * pool, an endpoint or a topic. peal_name_set gives an address a name.
 * peal_actor_spawn does so with `name` of struct peal_actor_options.
 * peal_name_find returns the address of a name. The program then sends to that
 * address. peal_name_clear frees the name.
 */

#include <stdint.h>

#include <peal/errors.h>

PEAL_BEGIN_C

struct peal_runtime;

/** Bytes of the longest name, including the terminating 0. */
#define PEAL_NAME_BYTES 64

/*
 * An address has at most one name. A name belongs to at most one actor, pool,
 * endpoint or topic of the runtime. Only the host knows names: handlers and
 * messages use addresses. peal_stall_report reports names. The options
 * of kernels, endpoints and topics have another `name`, for error texts only.
 *
 * A name becomes free when its actor is retired. A name also becomes free when
 * its pool, endpoint, topic or kernel is destroyed. A later actor in the same
 * actor slot does not inherit the name.
 *
 * A migrated actor keeps its name (peal/migration.h). All former addresses of
 * the actor have the name, and the name leads to the newest address. The actor
 * loses its name when the runtime destroys a kernel in which the actor once
 * lived.
 *
 * A handler can end an actor that a handler has spawned. The host does not
 * notice that end. peal_name_find still finds the name, until the program gives
 * the name to another address.
 */

/**
 * Gives an address a name.
 *
 * Thread-safe. Can block while another call on the runtime waits for a worker.
 *
 * @param runtime an open runtime.
 * @param address address of an actor, a pool, an endpoint or a topic. Each
 *                address that a migrated actor has had is valid.
 * @param name    1 to PEAL_NAME_BYTES - 1 bytes, and a terminating 0. Copied.
 * @return 0, or a negative error code:
 * @retval PEAL_ENOENT  there is no actor, pool, endpoint or topic with that
 *                      address.
 * @retval PEAL_EEXIST  the name is in use, or the address already has a name.
 *                      The error text gives that address or that name.
 * @retval PEAL_EINVAL  an argument is NULL, or the name is empty or too long.
 * @retval PEAL_ENOMEM  no host memory.
 */
int peal_name_set(struct peal_runtime *runtime, uint64_t address,
		  const char *name);

/**
 * Finds the address of a name.
 *
 * Thread-safe. Waits neither for a worker nor for a call that waits for one.
 *
 * @param runtime     an open runtime.
 * @param name        a name.
 * @param address_out filled on success. A migrated actor: its newest address.
 * @return 0, or a negative error code:
 * @retval PEAL_ENOENT  no address has the name.
 * @retval PEAL_EINVAL  an argument is NULL.
 */
int peal_name_find(struct peal_runtime *runtime, const char *name,
		   uint64_t *address_out);

/**
 * Finds the name of an address.
 *
 * Thread-safe. Waits neither for a worker nor for a call that waits for one.
 *
 * @param runtime  an open runtime.
 * @param address  any address.
 * @param name_out PEAL_NAME_BYTES bytes. Filled on success: the name and a
 *                 terminating 0.
 * @return 0, or a negative error code:
 * @retval PEAL_ENOENT  the address has no name.
 * @retval PEAL_EINVAL  an argument is NULL.
 */
int peal_name_of(struct peal_runtime *runtime, uint64_t address,
		 char name_out[PEAL_NAME_BYTES]);

/**
 * Frees a name.
 *
 * The address can get another name afterwards.
 *
 * Thread-safe. Can block while another call on the runtime waits for a worker.
 *
 * @param runtime an open runtime.
 * @param name    a name.
 * @return 0, or a negative error code:
 * @retval PEAL_ENOENT  no address has the name.
 * @retval PEAL_EINVAL  an argument is NULL.
 */
int peal_name_clear(struct peal_runtime *runtime, const char *name);

PEAL_END_C
#endif
