/* SPDX-License-Identifier: Apache-2.0 */
/* Workers of a kernel: reads their state and counters. */
#include <peal/worker.h>

#include <string.h>

#include "runtime/base/refusal.h"
#include "runtime/base/wait.h"
#include "runtime/kernel/counters.h"
#include "runtime/kernel/kernel.h"
#include "runtime/kernel/timer.h"

int peal_worker_info(struct peal_kernel *k, uint32_t worker,
		     struct peal_worker_info *info_out)
{
	const struct peal_worker_status *s;
	uint64_t moved, blocked, inflight;

	if (!k || !info_out)
		return peali_refuse_null("peal_worker_info",
					 "kernel or info_out");
	if (peali_foreign(&k->rt->owner, "peal_worker_info"))
		return PEAL_EFORKED;
	if (worker >= k->params.n_workers)
		return peali_refuse_index("peal_worker_info", "kernel", k->name,
					  "worker", worker, k->params.n_workers,
					  NULL);
	s = &k->status[worker];
	memset(info_out, 0, sizeof(*info_out));
	info_out->phase = peal_load_acquire_sys(&s->phase);
	info_out->heartbeat = peal_load_relaxed_sys(&s->heartbeat);
	info_out->handled = peal_load_relaxed_sys(&s->handled);
	info_out->emitted = peal_load_relaxed_sys(&s->emitted);
	info_out->mailbox_sends = peal_load_relaxed_sys(&s->mailbox_sends);
	info_out->mailbox_done = peal_load_relaxed_sys(&s->mailbox_done);
	info_out->mailbox_dead = peal_load_relaxed_sys(&s->mailbox_dead);
	info_out->failed = peal_load_relaxed_sys(&s->failed);
	info_out->idle_turns = peal_load_relaxed_sys(&s->idle_turns);
	inflight = peal_load_relaxed_sys(&s->inflight);
	info_out->actor = inflight ? (int64_t)PEAL_INFLIGHT_ACTOR(inflight) :
				     -1;
	blocked = peal_load_relaxed_sys(&s->blocked);
	info_out->blocked_port = (int64_t)(blocked & 0xffff) - 1;
	info_out->blocked_actor = blocked ? (int64_t)(blocked >> 32) : -1;
	info_out->result = -(int)peal_load_relaxed_sys(&s->result);
	peali_timers_add(k, worker, &info_out->timers);
	peali_asks_add(k, worker, &info_out->asks);
	moved = atomic_load(&k->workers[worker].beat_moved_ns);
	if (moved && info_out->phase < PEAL_WORKER_STOPPED)
		info_out->since_heartbeat_ns = peali_now_ns() - moved;
	return 0;
}
