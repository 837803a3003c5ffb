/* SPDX-License-Identifier: Apache-2.0 */
#include <peal/device/atomic.h>
#if PEAL_ON_HOST
#include <threads.h>
#endif

/*
 * A program that stores 16 bytes in two parts, on emulated devices. The words
 * behind the first atom of a slot are late: the tag comes first.
 */

#if PEAL_ON_HOST && PEAL_HAVE_ATOM16
static PEAL_DEV PEAL_INLINE void store_in_parts(struct peal_atom16 *at,
						struct peal_atom16 v)
{
	const struct timespec gap = { 0, 20000 };
	uint64_t *half = (uint64_t *)(void *)at;

	if (!((uintptr_t)at & 63)) { /* the header stays whole */
		peal_atom16_store(at, v);
		return;
	}
	peal_atom8_store(half + 1, (uint64_t)v.word[3] << 32 | v.word[2]);
	thrd_sleep(&gap, NULL); /* the reader may have this core */
	peal_atom8_store(half, (uint64_t)v.word[1] << 32 | v.word[0]);
}

/* The functions of links then call it. */
#define peal_atom16_store store_in_parts
#endif

#include <peal/device/kernel.h>

static PEAL_DEV int echo(struct peal_worker *w)
{
	return peal_emit(w, 0, peal_type(w), peal_data(w), peal_length(w), 0);
}

#define HANDLERS(X) X(echo, 0, PEAL_EMITS(1, 1))
PEAL_PROGRAM(torn_stores, HANDLERS);
