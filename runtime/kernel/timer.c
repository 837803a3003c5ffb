/* SPDX-License-Identifier: Apache-2.0 */
/* The host's side of timers: launch options and counts. The timers themselves
 * are in the workers. */
#include <string.h>
#include <peal/abi/timer.h>

#include "runtime/base/refusal.h"
#include "runtime/kernel/kernel.h"
#include "runtime/kernel/options.h"
#include "runtime/kernel/timer.h"
#include "runtime/runtime.h"

_Static_assert(sizeof(struct peal_timer_counts) ==
		       PEAL_TIMERS_COUNT * sizeof(uint64_t),
	       "counts in the order of enum peal_timer_count");

int peali_timers_plan(struct peal_kernel *k,
		      const struct peal_kernel_options *o)
{
	if (o->max_timers && !o->mailbox.slots)
		return peali_refuse_without_mailboxes("max_timers",
						      o->max_timers);
	k->params.max_timers = o->max_timers;
	if (k->params.max_asks) /* each ask has a timer */
		k->params.max_timers += k->params.max_asks + 1;
	k->params.timer_bytes = (k->mailbox.message_bytes + 15) / 16 * 16;
	return 0;
}

void peali_timers_add(const struct peal_kernel *k, uint32_t worker,
		      struct peal_timer_counts *sum)
{
	/* `set` is read last, so it is never less than the counts of its
	 * outcomes */
	if (k->params.max_timers)
		peali_counts_add((uint64_t *)sum, k->timers[worker].count,
				 PEAL_TIMERS_COUNT);
}

static uint64_t waiting_at(const struct peal_kernel *k, uint32_t worker)
{
	struct peal_timer_counts counts;

	memset(&counts, 0, sizeof(counts));
	peali_timers_add(k, worker, &counts);
	return counts.waiting;
}

uint64_t peali_timers_keep(const struct peal_kernel *k, uint32_t *worker_out)
{
	return peali_kernel_keeps(k, waiting_at, worker_out);
}
