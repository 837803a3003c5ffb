/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the counters of a link. */
#include "runtime/kernel/link_counts.h"

#include <peal/device/atomic.h>
#include "runtime/runtime.h"

uint64_t peali_counts_done(const struct peal_link_counts *c)
{
	uint64_t done = peal_load_acquire_sys(&c->delivered), i;

	for (i = 0; i < PEAL_REASON_COUNT; i++)
		done += peal_load_acquire_sys(&c->dead[i]);
	return done;
}

uint64_t peali_counts_queued(const struct peal_link_counts *sent,
			     const struct peal_link_counts *received)
{
	uint64_t done = peali_counts_done(received), accepted;

	done += peal_load_acquire_sys(&sent->closed);
	accepted = peal_load_acquire_sys(&sent->accepted);
	return accepted > done ? accepted - done : 0;
}
