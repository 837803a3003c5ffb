/* SPDX-License-Identifier: Apache-2.0 */
/* Handlers of members of pools. */
#define PEAL_USES PEAL_USE_ALL
#include <peal/device/kernel.h>

#include "../gate.h"
#include "../pools.h"

/* Waits for the message's gate, counts it and passes it on. */
static PEAL_DEV int toil(struct peal_worker *w)
{
	const struct pool_task *task = (const struct pool_task *)peal_data(w);
	struct pool_toil *s = (struct pool_toil *)peal_state(w);
	const uint64_t *gate = (const uint64_t *)(uintptr_t)task->gate;

	while (gate && !peal_load_acquire_sys(gate) && !peal_aborting(w))
		gate_pause();
	if (peal_is_leader(w))
		s->done++;
	return peal_emit(w, 0, peal_type(w), peal_data(w), peal_length(w), 0);
}

/* Splits a piece in two and tells its pool both, down to single leaves. */
static PEAL_DEV int split(struct peal_worker *w)
{
	const struct pool_piece *in = (const struct pool_piece *)peal_data(w);
	struct pool_leaves *s = (struct pool_leaves *)peal_state(w);
	struct pool_piece half = *in;
	int result;

	if (peal_is_leader(w)) {
		s->pieces++;
		s->seen += in->leaves == 1;
	}
	if (in->leaves <= 1)
		return 0;
	half.leaves = in->leaves / 2;
	result = peal_tell(w, (uint32_t)in->pool, 0, &half, sizeof(half), 0);
	half.leaves = in->leaves - half.leaves;
	if (!result)
		result = peal_tell(w, (uint32_t)in->pool, 0, &half,
				   sizeof(half), 0);
	return result;
}

/* Waits for the message's gate and tells actor 0 the message. */
static PEAL_DEV int report(struct peal_worker *w)
{
	const struct pool_task *task = (const struct pool_task *)peal_data(w);
	const uint64_t *gate = (const uint64_t *)(uintptr_t)task->gate;

	while (gate && !peal_load_acquire_sys(gate) && !peal_aborting(w))
		gate_pause();
	return peal_tell(w, 0, 0, peal_data(w), peal_length(w), 0);
}

/* Counts its messages. */
static PEAL_DEV int tally(struct peal_worker *w)
{
	struct pool_toil *s = (struct pool_toil *)peal_state(w);

	if (peal_is_leader(w))
		s->done++;
	return 0;
}

/* Fails for every message. */
static PEAL_DEV int refuse(struct peal_worker *w)
{
	(void)w;
	return PEAL_EHANDLER;
}

/* Declares the length of its messages. */
static PEAL_DEV int picky(struct peal_worker *w)
{
	(void)w;
	return 0;
}

#define HANDLERS(X)                                                            \
	X(toil, sizeof(struct pool_toil), PEAL_EMITS(1, 1))                    \
	X(split, sizeof(struct pool_leaves), PEAL_TELLS(2))                    \
	X(report, 0, PEAL_TELLS(1))                                            \
	X(tally, sizeof(struct pool_toil), PEAL_SINK)                          \
	X(refuse, 0, PEAL_SINK)                                                \
	X(picky, 0, PEAL_LIMITS(0, 0, 0, 32, 0))                               \
	X(picky_too, 0, PEAL_LIMITS(0, 0, 0, 40, 0))

/* As `picky`, with another length. */
static PEAL_DEV int picky_too(struct peal_worker *w)
{
	return picky(w);
}

PEAL_PROGRAM(pools, HANDLERS);
