/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Limits of mailboxes: reserves limits for actors and reads their counters. The
 * workers enforce the limits (include/peal/device/impl/worker/limit.h).
 */
#include "runtime/actor/actor_mailbox.h"

#include <stdlib.h>
#include <string.h>
#include <peal/device/atomic.h>

#include "runtime/base/error.h"
#include "runtime/base/refusal.h"
#include "runtime/base/text.h"
#include "runtime/device/memory_block.h"
#include "runtime/kernel/address.h"
#include "runtime/kernel/kernel_control.h"
#include "runtime/kernel/kernel.h"
#include "runtime/kernel/options.h"
#include "runtime/kernel/record.h"
#include "runtime/runtime.h"

#define SPAWN "peal_actor_spawn"
#define CALL "peal_actor_mailbox"

int peali_limits_plan(const struct peal_kernel_options *o)
{
	if (!o->mailbox.max_limits || o->mailbox.slots)
		return 0;
	return peali_refuse_without_mailboxes("mailbox.max_limits",
					      o->mailbox.max_limits);
}

int peali_limits_open(struct peal_kernel *k)
{
	uint32_t i;

	if (!k->params.max_mailbox_limits)
		return 0;
	k->mailbox.free_limits =
		calloc(k->params.max_mailbox_limits, sizeof(uint32_t));
	if (!k->mailbox.free_limits)
		return PEAL_ENOMEM;
	k->mailbox.n_free_limits = k->params.max_mailbox_limits;
	for (i = 0; i < k->mailbox.n_free_limits;
	     i++) /* lowest numbers first */
		k->mailbox.free_limits[i] = k->mailbox.n_free_limits - i;
	return 0;
}

/* ---- spawning ------------------------------------------------------------ */

static int check_values(const struct peal_actor_options *o)
{
	if (o->mailbox_overflow > PEAL_OVERFLOW_DROP_OLDEST)
		return peali_refuse_option(SPAWN, "mailbox_overflow",
					   o->mailbox_overflow, 0,
					   PEAL_OVERFLOW_DROP_OLDEST);
	if (!o->mailbox_limit != !o->mailbox_overflow)
		return PEALI_REFUSE(
			PEAL_EINVAL, SPAWN, .object = "option",
			.name = "mailbox_overflow",
			.problem = o->mailbox_limit ?
					   "is 0, and mailbox_limit is set" :
					   "needs a mailbox_limit, which "
					   "is 0",
			.number = o->mailbox_overflow,
			.allowed = o->mailbox_limit ? "1..3" : "0",
			.remedy = o->mailbox_limit ?
					  "select the action for excess "
					  "messages" :
					  "set mailbox_limit");
	if (o->mailbox_limit > PEAL_LIMIT_MAX)
		return peali_refuse_option(SPAWN, "mailbox_limit",
					   o->mailbox_limit, 0, PEAL_LIMIT_MAX);
	return 0;
}

int peali_limits_check(const struct peal_kernel *k,
		       const struct peal_actor_options *o, uint32_t n)
{
	int result = check_values(o);

	if (result || !o->mailbox_limit)
		return result;
	if (!k->params.max_mailbox_limits)
		return PEALI_REFUSE(
			PEAL_ENOTSUP, SPAWN, .object = "option",
			.name = "mailbox_limit",
			.problem = PEALI_PRINT(
				"needs limits, and kernel '%s' has none",
				k->name),
			.number = o->mailbox_limit,
			.remedy = "set mailbox.max_limits in struct "
				  "peal_kernel_options");
	if (n > k->mailbox.n_free_limits)
		return PEALI_REFUSE(
			PEAL_ENOSPC, SPAWN, .object = "kernel", .name = k->name,
			.problem = PEALI_PRINT(
				"has too few of its %u limits left for "
				"the actors",
				k->params.max_mailbox_limits),
			.number = n, .most = k->mailbox.n_free_limits,
			.remedy = "raise mailbox.max_limits in struct "
				  "peal_kernel_options");
	return 0;
}

void peali_limits_take(struct peal_kernel *k, const uint32_t *index, uint32_t n)
{
	uint32_t i;

	for (i = 0; i < n; i++)
		k->actors.entries[index[i]].limit =
			k->mailbox.free_limits[--k->mailbox.n_free_limits];
}

void peali_limit_give(struct peal_kernel *k, uint32_t index)
{
	struct peali_actor *a = &k->actors.entries[index];

	if (a->limit)
		k->mailbox.free_limits[k->mailbox.n_free_limits++] = a->limit;
	a->limit = a->mailbox_limit = 0;
}

/* ---- reading counters ---------------------------------------------------- */

/*
 * Reads the counters of a limited actor. A worker reports them. If the kernel
 * has ended, the host reads the record itself.
 */
static int read_report(struct peal_kernel *k, const struct peali_actor *a,
		       struct peal_limit_report *out)
{
	uint64_t own = peali_block_view(k->rt, k->device, &k->own);
	struct peal_control_limit c = { a->limit - 1, 0, 0 };
	struct peal_limit_record r;
	int result;

	c.report = peali_report_view(k);
	while (!peali_kernel_ended(k)) {
		result = peali_kernel_tell(k,
					   peali_kernel_answerer(k, a->worker),
					   PEAL_CONTROL_LIMIT, &c, sizeof(c),
					   CALL);
		peali_report_read(k, out, sizeof(*out));
		if (result != PEAL_ESTOPPED)
			return result;
	}
	result = peali_block_read(k->rt, &k->own,
				  k->params.limits - own +
					  (a->limit - 1) * sizeof(r),
				  &r, sizeof(r));
	out->waiting = PEAL_LIMIT_WAITING(r.word);
	out->most = r.most;
	out->dropped = r.dropped;
	out->refused = r.refused;
	return result;
}

/*
 * Returns the limited actor of an address. On error it returns NULL with a text
 * and sets *result.
 */
static const struct peali_actor *find(struct peal_runtime *rt, uint64_t address,
				      int *result)
{
	struct peal_kernel *at = peali_kernel_at(rt, address);
	const struct peali_actor *a;

	*result = PEAL_ENOENT;
	if (at && at->actors.entries[PEAL_ACTOR_INDEX(address)].handler ==
			  PEALI_POOL_HANDLER) {
		PEALI_REFUSE(PEAL_ENOENT, CALL, .object = "kernel",
			     .name = at->name,
			     .problem = "has a pool at the address",
			     .value = PEALI_PRINT("%#llx",
						  (unsigned long long)address),
			     .allowed = "actors with limits",
			     .remedy = "pass the address of an actor");
		return NULL;
	}
	if (!at || !peali_kernel_of(rt, address)) {
		peali_refuse_address(CALL, "address", address, "actor");
		return NULL;
	}
	a = &at->actors.entries[PEAL_ACTOR_INDEX(address)];
	if (a->limit)
		return a;
	*result = PEAL_ENOTSUP;
	peali_fail(PEAL_ENOTSUP, CALL,
		   "actor %u of kernel '%s' has no limit, so its messages "
		   "are not counted; set mailbox_limit in struct "
		   "peal_actor_options",
		   PEAL_ACTOR_INDEX(address), at->name);
	return NULL;
}

int peal_actor_mailbox(struct peal_runtime *rt, uint64_t address,
		       struct peal_actor_mailbox_info *info_out)
{
	struct peal_limit_report report;
	const struct peali_actor *a;
	int result = 0;

	if (!rt || !info_out)
		return peali_refuse_null(CALL, "runtime or info_out");
	if (peali_foreign(&rt->owner, CALL))
		return PEAL_EFORKED;
	memset(&report, 0, sizeof(report));
	pthread_mutex_lock(&rt->lock);
	a = find(rt, address, &result);
	if (a)
		result = read_report(peali_kernel_of(rt, address), a, &report);
	if (!result) {
		memset(info_out, 0, sizeof(*info_out));
		info_out->limit = a->mailbox_limit;
		info_out->overflow =
			(enum peal_mailbox_overflow)a->mailbox_overflow;
		info_out->waiting = report.waiting;
		info_out->max_waiting = report.most;
		info_out->dropped = report.dropped;
		info_out->refused = report.refused;
	}
	pthread_mutex_unlock(&rt->lock);
	return result;
}
