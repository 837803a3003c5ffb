/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The resident loop with batch handlers that return their messages. `batch16` and
 * `batch64` get and emit by links. `mail16` and `mail64` get by the mailbox and
 * tell an actor of the next worker. The program has a source of its own: the
 * compiler treats the functions of two programs in one source worse.
 */
#define PEAL_USES (PEAL_USE_MAIL | PEAL_USE_REQUESTS)
#include <peal/device/kernel.h>

#include "tests/ptx/cost/loop.h"

struct words16 {
	uint64_t word[2];
};

struct words64 {
	uint64_t word[8];
};

static PEAL_DEV int batch16(struct peal_worker *w, struct peal_batch *b)
{
	struct words16 m = { { 0, 0 } };
	int has = peal_batch_load(b, &m, sizeof(m));

	return peal_batch_emit(w, b, has, 0, 7, &m, sizeof(m));
}

static PEAL_DEV int batch64(struct peal_worker *w, struct peal_batch *b)
{
	struct words64 m = { { 0, 0, 0, 0, 0, 0, 0, 0 } };
	int has = peal_batch_load(b, &m, sizeof(m));

	return peal_batch_emit(w, b, has, 0, 7, &m, sizeof(m));
}

static PEAL_DEV int mail16(struct peal_worker *w, struct peal_batch *b)
{
	struct words16 m = { { 0, 0 } };
	int has = peal_batch_load(b, &m, sizeof(m));

	return peal_batch_tell(w, b, has, COST_NEXT, 7, &m, sizeof(m));
}

static PEAL_DEV int mail64(struct peal_worker *w, struct peal_batch *b)
{
	struct words64 m = { { 0, 0, 0, 0, 0, 0, 0, 0 } };
	int has = peal_batch_load(b, &m, sizeof(m));

	return peal_batch_tell(w, b, has, COST_NEXT, 7, &m, sizeof(m));
}

#define BATCH_HANDLERS(X)                                                      \
	X(batch16, 0, PEAL_BATCH_SHARED(PEAL_EMITS(1, 1)))                     \
	X(batch64, 0, PEAL_BATCH_SHARED(PEAL_EMITS(1, 1)))                     \
	X(mail16, 0, PEAL_BATCH_SHARED(PEAL_TELLS(1)))                         \
	X(mail64, 0, PEAL_BATCH_SHARED(PEAL_TELLS(1)))
PEAL_PROGRAM(cost_batch, BATCH_HANDLERS);
