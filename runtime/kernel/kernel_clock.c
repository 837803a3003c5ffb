/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the bounds of a kernel's clock. */
#include <peal/kernel.h>

#include "runtime/base/refusal.h"
#include "runtime/kernel/clock.h"
#include "runtime/kernel/kernel.h"

int peal_kernel_clock(struct peal_kernel *k, struct peal_clock *clock_out)
{
	int known;

	if (!k || !clock_out)
		return peali_refuse_null("peal_kernel_clock",
					 "kernel or clock_out");
	if (peali_foreign(&k->rt->owner, "peal_kernel_clock"))
		return PEAL_EFORKED;
	pthread_mutex_lock(&k->clock.lock);
	known = k->clock.known;
	if (known)
		*clock_out = k->clock.bounds;
	pthread_mutex_unlock(&k->clock.lock);
	return known ? 0 : PEAL_EAGAIN;
}
