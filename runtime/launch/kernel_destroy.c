/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels: destroys a kernel that has ended and has no neighbours. */
#include "runtime/actor/forwarding.h"
#include "runtime/base/error.h"
#include "runtime/base/log.h"
#include "runtime/base/wait.h"
#include "runtime/kernel/kernel_control.h"
#include "runtime/kernel/counters.h"
#include "runtime/kernel/kernel.h"
#include "runtime/kernel/name_table.h"
#include "runtime/launch/failure_log.h"
#include "runtime/launch/kernel_launch.h"
#include "runtime/launch/watchdog.h"
#include "runtime/link/link.h"
#include "runtime/link/topic.h"

/*
 * Returns PEAL_EBUSY if the kernel runs, or if a link, topic or barrier names
 * it. The caller holds rt->lock.
 */
static int in_use(struct peal_kernel *k)
{
	struct peal_link *link;

	if (!peali_kernel_ended(k))
		return peali_fail(PEAL_EBUSY, "peal_kernel_destroy",
				  "kernel '%s' still runs; stop or drain it",
				  k->name);
	for (link = k->rt->links; link; link = link->next)
		if (!link->from.fwd_link &&
		    (link->from.kernel == k || link->to.kernel == k))
			return peali_fail(
				PEAL_EBUSY, "peal_kernel_destroy",
				"link %llu names kernel '%s'; destroy the "
				"link first",
				(unsigned long long)link->id, k->name);
	if (peali_topic_names(k->rt, k))
		return peali_fail(PEAL_EBUSY, "peal_kernel_destroy",
				  "an actor of kernel '%s' publishes or "
				  "subscribes to a topic; call "
				  "peal_unpublish or peal_unsubscribe first",
				  k->name);
	if (k->n_barrier_joins)
		return peali_fail(PEAL_EBUSY, "peal_kernel_destroy",
				  "a barrier names kernel '%s'; destroy the "
				  "barrier first",
				  k->name);
	return 0;
}

int peal_kernel_destroy(struct peal_kernel *k)
{
	struct peal_kernel **p;
	struct peal_runtime *rt;
	const struct peali_backend_ops *ops;
	int result;

	if (!k)
		return 0;
	if (peali_foreign(&k->rt->owner, "peal_kernel_destroy"))
		return PEAL_EFORKED;
	rt = k->rt;
	ops = rt->devices.device[k->device].backend->ops;
	pthread_mutex_lock(&rt->lock);
	result = in_use(k);
	if (!result)
		result = peali_fwd_links_end(k);
	/* other errors are of failed kernels, which have ended as well */
	if (!result &&
	    ops->launch_wait(k->launch, 1000000000) == PEAL_ETIMEDOUT)
		result = PEAL_EBUSY;
	if (!result) {
		for (p = &rt->kernels; *p != k; p = &(*p)->next)
			;
		*p = k->next;
		peali_failures_log(k, peali_now_ns(), 1);
		peali_log(3, "kernel '%s' is destroyed", k->name);
		peali_counters_keep_kernel(k);
		peali_name_forget_kernel(rt, k->params.address);
	}
	pthread_mutex_unlock(&rt->lock);
	if (result)
		return result;
	peali_watchdog_forget(k);
	ops->launch_free(k->launch);
	peali_kernel_free(k);
	return 0;
}
