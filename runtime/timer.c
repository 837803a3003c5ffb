/* SPDX-License-Identifier: Apache-2.0 */
/* What is known of a kernel's timers; they live in its workers. */
#include <string.h>

#include "runtime/runtime.h"

_Static_assert(sizeof(struct peal_timer_counts) ==
		       PEAL_TIMERS_COUNT * sizeof(uint64_t),
	       "counts in the order of enum peal_timer_count");

int peali_timers_plan(struct peal_kernel *k,
		      const struct peal_kernel_options *o)
{
	if (o->timers && !o->mailbox_slots)
		return peali_fail(PEAL_EINVAL, "peal_kernel_launch",
				  "option timers is %u and mailbox_slots is 0: "
				  "timers put their messages into mailboxes",
				  o->timers);
	k->params.max_timers = o->timers;
	if (k->params.max_asks) /* one for each */
		k->params.max_timers += k->params.max_asks + 1;
	k->params.timer_bytes = (k->mailbox_message_bytes + 15) / 16 * 16;
	return 0;
}

void peali_timers_add(const struct peal_kernel *k, uint32_t worker,
		      struct peal_timer_counts *sum)
{
	uint64_t *out = (uint64_t *)sum;
	int i;

	if (!k->params.max_timers)
		return;
	/* set last: it is never less than what became of them */
	for (i = PEAL_TIMERS_COUNT - 1; i >= 0; i--)
		out[i] += peal_load_relaxed_sys(&k->timers[worker].count[i]);
}

uint64_t peali_timers_keep(const struct peal_kernel *k, uint32_t *worker_out)
{
	struct peal_timer_counts counts;
	uint64_t found = 0;
	uint32_t i;

	for (i = 0; i < k->params.n_workers; i++) {
		if (!peal_load_acquire_sys(&k->status[i].drained))
			return 0;
		memset(&counts, 0, sizeof(counts));
		peali_timers_add(k, i, &counts);
		if (!counts.waiting || found)
			continue;
		found = counts.waiting;
		*worker_out = i;
	}
	return found;
}
