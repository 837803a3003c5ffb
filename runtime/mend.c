/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Mailboxes of a kernel one of whose workers has died while the others live. It
 * may have taken a ticket and not written the slot, and all that lies behind
 * that slot would wait for ever. Nobody knows which tickets it had; but a live
 * worker that answers a control message is in the middle of no put. So the live
 * ones first note how many tickets there are, then all of them pass, and what
 * has no tag then among the tickets that were noted is the dead one's.
 *
 * Who is dead is said by its status, never by a clock: a worker that is slow, or
 * in a long handler, is waited for.
 */
#include "runtime/runtime.h"

static uint64_t phase_of(const struct peal_kernel *k, uint32_t worker)
{
	return peal_load_acquire_sys(&k->status[worker].phase);
}

/* Workers that have gone before their time; all of those that have drained
 * knew that no message was under way. */
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

/* Whether the worker has done the step, or is gone; sends it if need be. */
static int has_done(struct peal_kernel *k, uint32_t worker)
{
	struct peali_worker *w = &k->workers[worker];
	struct peal_control_mend mend = { k->mend_step, 0 };

	if (phase_of(k, worker) >= PEAL_WORKER_STOPPED)
		return 1;
	if (!w->mend_number &&
	    peali_kernel_post_number(k, worker, PEAL_CONTROL_MEND, &mend,
				     sizeof(mend), &w->mend_number))
		return 0; /* no room now */
	/* A5: pairs with R5 in peali_control: it has published all it put. */
	return peal_load_acquire_sys(&k->status[worker].control_done) >=
	       w->mend_number;
}

void peali_kernel_mend(struct peal_kernel *k)
{
	uint32_t i, done = 0, dead;

	if (!k->params.mailboxes || k->stopping || peali_kernel_ended(k))
		return;
	if (!k->mend_step) {
		dead = count_dead(k);
		if (dead == k->n_mended)
			return;
		k->n_mended = dead;
		k->mend_step = PEAL_MEND_NOTE;
	}
	for (i = 0; i < k->params.n_workers; i++)
		done += (uint32_t)has_done(k, i);
	if (done < k->params.n_workers)
		return;
	for (i = 0; i < k->params.n_workers; i++)
		k->workers[i].mend_number = 0;
	k->mend_step = k->mend_step == PEAL_MEND_POISON ? 0 : k->mend_step + 1;
}
