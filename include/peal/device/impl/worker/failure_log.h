/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_DEVICE_FAILURE_LOG_H
#define PEAL_DEVICE_FAILURE_LOG_H

#include <peal/abi/failure_log.h>
#include <peal/device/impl/worker/worker.h>

/*
 * Reports a failure to the host, which logs it (runtime/launch/failure_log.c).
 * The worker counts failures of one kind and actor in one entry of its ring. A
 * new actor or kind replaces the oldest entry. `member`: the actor that made the
 * supervisor `actor` give up; else 0. For the leader.
 */
PEALI_SLOW(void, peali_failure_note, const struct peal_worker *w, uint32_t kind,
	   uint32_t actor, uint32_t member, int error)
{
	struct peal_failure_log *log =
		(struct peal_failure_log *)(uintptr_t)w->params->failures +
		w->index;
	uint64_t failure = PEAL_FAILURE(actor, kind, error), next, i;
	struct peal_failure *f;

	PEAL_NO_UNROLL
	for (i = 0; i < PEAL_FAILURES; i++) {
		f = &log->entry[i];
		if ((peal_load_relaxed_sys(&f->failure) ^ failure) >> 16)
			continue;
		next = PEAL_FAILURE_TIMES(peal_load_relaxed_sys(&f->count));
		peal_store_relaxed_sys(&f->count,
				       PEAL_FAILURE_COUNT(next + 1, member));
		return;
	}
	next = peal_load_relaxed_sys(&log->next);
	f = &log->entry[next % PEAL_FAILURES];
	i = PEAL_FAILURE_TIMES(peal_load_relaxed_sys(&f->count));
	peal_store_relaxed_sys(&log->replaced,
			       peal_load_relaxed_sys(&log->replaced) + i);
	peal_store_relaxed_sys(&f->count, PEAL_FAILURE_COUNT(1, member));
	/* R33: pairs with A33 in runtime/launch/failure_log.c. */
	peal_store_release_sys(&f->failure, failure);
	peal_store_relaxed_sys(&log->next, next + 1);
}

#endif
