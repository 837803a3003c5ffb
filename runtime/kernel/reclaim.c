/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reclaims mailbox slots after the death of a worker, while other workers of
 * its kernel live.
 *
 * A dead worker may have taken a ticket and not written its slot. All messages
 * behind that slot would wait forever. The host does not know the tickets of
 * the dead worker. But a live worker that answers a control message is not in
 * the middle of a put. So the host sends three steps to all live workers. A
 * step begins when all live workers have answered the step before.
 *
 * 1. PEAL_RECLAIM_SNAPSHOT: each worker notes the number of tickets of its
 *    mailboxes.
 * 2. PEAL_RECLAIM_FENCE: the answers show that live workers have written the
 *    slots of all noted tickets.
 * 3. PEAL_RECLAIM_ABANDON: each worker gives up noted tickets without a tag.
 *    These tickets belong to the dead worker.
 *
 * The status of a worker tells that it is dead, never a timeout. The host waits
 * for a worker that is slow or in a long handler.
 */
#include "runtime/kernel/kernel_control.h"
#include "runtime/kernel/kernel.h"
#include "runtime/runtime.h"

static uint64_t phase_of(const struct peal_kernel *k, uint32_t worker)
{
	return peal_load_acquire_sys(&k->status[worker].phase);
}

/*
 * Counts the workers that have ended early. Drained workers do not count: they
 * knew that no message was in flight.
 */
static uint32_t count_dead(const struct peal_kernel *k)
{
	uint32_t i, n = 0;

	for (i = 0; i < k->params.n_workers; i++) {
		uint64_t phase = phase_of(k, i);

		n += phase == PEAL_WORKER_STOPPED ||
		     phase == PEAL_WORKER_FAILED;
	}
	return n;
}

/*
 * Returns whether the worker has done the current step or has ended. Posts the
 * step if that has not happened yet.
 */
static int has_done(struct peal_kernel *k, uint32_t worker)
{
	struct peali_worker *w = &k->workers[worker];
	struct peal_control_reclaim message = { k->reclaim.step, 0 };

	if (phase_of(k, worker) >= PEAL_WORKER_STOPPED)
		return 1;
	if (!w->reclaim_number &&
	    peali_kernel_post_number(k, worker, PEAL_CONTROL_RECLAIM, &message,
				     sizeof(message), &w->reclaim_number))
		return 0; /* the control link is full */
	/* A5: pairs with R5 in peali_control_done: all its puts are published. */
	return peal_load_acquire_sys(&k->status[worker].control_done) >=
	       w->reclaim_number;
}

void peali_kernel_reclaim(struct peal_kernel *k)
{
	uint32_t i, done = 0, dead;

	if (!k->params.mailboxes || k->stopping || peali_kernel_ended(k))
		return;
	if (!k->reclaim.step) {
		dead = count_dead(k);
		if (dead == k->reclaim.n)
			return;
		k->reclaim.n = dead;
		k->reclaim.step = PEAL_RECLAIM_SNAPSHOT;
	}
	for (i = 0; i < k->params.n_workers; i++)
		done += (uint32_t)has_done(k, i);
	if (done < k->params.n_workers)
		return;
	for (i = 0; i < k->params.n_workers; i++)
		k->workers[i].reclaim_number = 0;
	k->reclaim.step = k->reclaim.step == PEAL_RECLAIM_ABANDON ?
				  0 :
				  k->reclaim.step + 1;
}
