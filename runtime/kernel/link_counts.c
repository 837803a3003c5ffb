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
