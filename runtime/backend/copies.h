/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEALI_COPIES_H
#define PEALI_COPIES_H

#include "runtime/backend/backend.h"

/*
 * Copies in the background, for every backend: they wait in line for one
 * thread, which is made by the first of them and carries each out piece by
 * piece, by the backend's own `copy`.
 */

struct peali_copies;

/* PEAL_ENOMEM. */
int peali_copies_open(struct peali_backend *backend, struct peali_copies **out);
/* PEAL_EBUSY while there are copies that nobody has freed. NULL: nothing. */
int peali_copies_close(struct peali_copies *copies);

/* As peali_backend_ops.copy_start; the caller has checked both places. */
int peali_copies_start(struct peali_copies *copies, struct peali_place to,
		       struct peali_place from, uint64_t bytes,
		       uint64_t done_bell, struct peali_copy **out);

/* What a backend's table names for the operations on a copy. */
int peali_copies_query(struct peali_copy *copy);
void peali_copies_cancel(struct peali_copy *copy);
void peali_copies_free(struct peali_copy *copy);

#endif
