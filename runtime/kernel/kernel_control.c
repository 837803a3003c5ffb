/* SPDX-License-Identifier: Apache-2.0 */
/* Control of a kernel that runs: its state, suspend, drain, stop, abort. */
#include "runtime/kernel/kernel_control.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <peal/device/link_producer.h>
#include "runtime/base/error.h"
#include "runtime/base/log.h"
#include "runtime/base/refusal.h"
#include "runtime/base/text.h"
#include "runtime/base/wait.h"
#include "runtime/device/backend.h"
#include "runtime/device/memory_block.h"
#include "runtime/kernel/counters.h"
#include "runtime/kernel/device_spawned.h"
#include "runtime/kernel/kernel.h"
#include "runtime/kernel/timer.h"

/* After this wait in ns, an error text also says the cause. */
#define WHY_NS 20000000
#define BLOCKS_BYTES 96 /* of a text about a blocked message */

/* ---- control messages ---------------------------------------------------- */

uint64_t peali_kernel_bell(const struct peal_kernel *k, uint32_t worker)
{
	return (uint64_t)(uintptr_t)&k->bells[worker];
}

static void wake_all(struct peal_kernel *k)
{
	uint32_t i;

	for (i = 0; i < k->params.n_workers; i++)
		peal_bell_ring(peali_kernel_bell(k, i));
}

void peali_kernel_open_gates(struct peal_kernel *k, uint64_t number)
{
	/* R32: pairs with A32 in peali_input_gated. */
	peal_store_release_sys(&k->control->gates, number);
	wake_all(k);
}

static uint64_t phase_of(const struct peal_kernel *k, uint32_t worker)
{
	return peal_load_acquire_sys(&k->status[worker].phase);
}

int peali_kernel_post_number(struct peal_kernel *k, uint32_t worker,
			     uint16_t type, const void *data, uint32_t bytes,
			     uint64_t *number_out)
{
	struct peali_worker *w = &k->workers[worker];
	struct peal_header header = { 0, type, 0 };
	int result;

	pthread_mutex_lock(&k->push_lock);
	result = peal_link_push(&w->control, header, data, bytes);
	if (!result)
		*number_out = ++w->control_sent;
	pthread_mutex_unlock(&k->push_lock);
	return result;
}

int peali_kernel_post(struct peal_kernel *k, uint32_t worker, uint16_t type,
		      const void *data, uint32_t bytes)
{
	uint64_t number;

	return peali_kernel_post_number(k, worker, type, data, bytes, &number);
}

/*
 * Posts a control message. Waits until the control link has a free slot.
 * Returns PEAL_ESTOPPED if the worker has ended, PEAL_EHUNG after `deadline`.
 */
static int post_number(struct peal_kernel *k, uint32_t worker, uint16_t type,
		       const void *data, uint32_t bytes, uint64_t deadline,
		       uint64_t *number_out)
{
	uint32_t turns = 0;
	int result;

	for (;;) {
		result = peali_kernel_post_number(k, worker, type, data, bytes,
						  number_out);
		if (result != PEAL_EAGAIN)
			return result;
		if (phase_of(k, worker) >= PEAL_WORKER_STOPPED)
			return PEAL_ESTOPPED;
		if (peali_late(deadline))
			return PEAL_EHUNG;
		peali_poll_pause(&turns);
	}
}

/* Waits until a worker has answered control message `number`. */
static int await_answer(struct peal_kernel *k, uint32_t worker, uint64_t number,
			uint64_t deadline)
{
	const struct peal_worker_status *status = &k->status[worker];
	uint32_t turns = 0;

	for (;;) {
		/* A5: pairs with R5 in peali_control_done. */
		uint64_t done = peal_load_acquire_sys(&status->control_done);
		uint64_t failed;

		if (done >= number) {
			failed = peal_load_relaxed_sys(&status->control_result);
			return failed >> 16 == number ?
				       -(int)(failed & 0xffff) :
				       0;
		}
		if (phase_of(k, worker) >= PEAL_WORKER_STOPPED)
			return PEAL_ESTOPPED;
		if (peali_late(deadline))
			return PEAL_EHUNG;
		peali_poll_pause(&turns);
	}
}

/* Sets the error text of a failed control message. Returns `result`. */
static int tell_failed(struct peal_kernel *k, uint32_t worker, uint16_t type,
		       int result, const char *call)
{
	uint64_t actor;

	if (result == PEAL_ESTOPPED)
		return peali_fail(result, call, "kernel '%s' has ended",
				  k->name);
	if (result == PEAL_EHUNG) {
		actor = peal_load_relaxed_sys(&k->status[worker].inflight);
		return peali_fail(
			result, call,
			"worker %u of kernel '%s' did not answer in "
			"%llu ms: %s %lld",
			worker, k->name,
			(unsigned long long)k->rt->control_timeout_ms,
			actor ? "it is in the handler of actor" :
				"it runs no handler, heartbeat",
			(long long)(actor ? PEAL_ACTOR_INDEX(actor - 1) :
					    k->status[worker].heartbeat));
	}
	return peali_fail(result, call,
			  "worker %u of kernel '%s' refused control message %u",
			  worker, k->name, type);
}

static uint64_t answer_deadline(const struct peal_kernel *k)
{
	return peali_deadline((int64_t)k->rt->control_timeout_ms * 1000000);
}

int peali_kernel_tell_workers(struct peal_kernel *k, const uint32_t *worker,
			      uint16_t type, const void *data, uint32_t bytes,
			      uint32_t n, const char *call)
{
	uint64_t one, *number = n > 1 ? calloc(n, sizeof(*number)) : &one;
	uint32_t sent, i = 0;
	int result = 0;

	if (!number)
		return peali_fail(PEAL_ENOMEM, call,
				  "no memory for %u control messages", n);
	pthread_mutex_lock(&k->call_lock);
	for (sent = 0; sent < n && !result; sent++)
		result = post_number(k, worker[sent], type,
				     (const uint8_t *)data +
					     (size_t)sent * bytes,
				     bytes, answer_deadline(k), &number[sent]);
	for (i = 0; i < n && !result; i++)
		result = await_answer(k, worker[i], number[i],
				      answer_deadline(k));
	pthread_mutex_unlock(&k->call_lock);
	if (n > 1)
		free(number);
	if (!result)
		return 0;
	return tell_failed(k, worker[i ? i - 1 : sent - 1], type, result, call);
}

int peali_kernel_try(struct peal_kernel *k, uint32_t worker, uint16_t type,
		     const void *data, uint32_t bytes, uint64_t deadline)
{
	uint64_t number;
	int result;

	pthread_mutex_lock(&k->call_lock);
	result = post_number(k, worker, type, data, bytes, deadline, &number);
	if (!result)
		result = await_answer(k, worker, number, deadline);
	pthread_mutex_unlock(&k->call_lock);
	return result;
}

uint64_t peali_report_view(const struct peal_kernel *k)
{
	return peali_block_view(k->rt, k->device, &k->shared) +
	       k->supervision.report_offset;
}

void peali_report_read(const struct peal_kernel *k, void *out, size_t bytes)
{
	const uint8_t *host = (const uint8_t *)(uintptr_t)peali_block_view(
		k->rt, PEALI_HOST, &k->shared);

	memcpy(out, host + k->supervision.report_offset, bytes);
}

int peali_kernel_tell(struct peal_kernel *k, uint32_t worker, uint16_t type,
		      const void *data, uint32_t bytes, const char *call)
{
	return peali_kernel_tell_workers(k, &worker, type, data, bytes, 1,
					 call);
}

uint32_t peali_kernel_answerer(const struct peal_kernel *k, uint32_t worker)
{
	uint32_t n = k->params.n_workers, live = worker, idle = n, i = n;

	while (i-- > 0) {
		uint32_t at = (worker + i) % n;

		if (phase_of(k, at) >= PEAL_WORKER_STOPPED)
			continue;
		live = at;
		if (!peal_load_relaxed_sys(&k->status[at].inflight))
			idle = at;
	}
	return idle < n ? idle : live;
}

/* ---- state --------------------------------------------------------------- */

const char *peali_phase_name(uint64_t phase)
{
	static const char *const names[] = {
		"absent",  "running", "suspended", "between epochs",
		"stopped", "drained", "failed",
	};

	return phase < sizeof(names) / sizeof(names[0]) ? names[phase] : "?";
}

const char *peal_kernel_state_name(uint32_t state)
{
	static const char *const names[] = { "running", "suspended", "draining",
					     "stopped", "failed" };

	return state < 5 ? names[state] : "?";
}

const char *peal_failure_action_name(uint32_t action)
{
	static const char *const names[] = { "continue", "end" };

	return action < 2 ? names[action] : "?";
}

int peali_kernel_ended(struct peal_kernel *k)
{
	uint32_t i;

	for (i = 0; i < k->params.n_workers; i++)
		if (phase_of(k, i) < PEAL_WORKER_STOPPED)
			return 0;
	return 1;
}

int peali_kernel_drained(struct peal_kernel *k)
{
	uint32_t i;

	for (i = 0; i < k->params.n_workers; i++)
		if (phase_of(k, i) != PEAL_WORKER_DRAINED)
			return 0;
	return 1;
}

enum peal_kernel_state peali_kernel_state(struct peal_kernel *k,
					  int *result_out)
{
	uint32_t ended = 0, suspended = 0, i;
	int result = 0;

	for (i = 0; i < k->params.n_workers; i++) {
		uint64_t phase = phase_of(k, i);

		ended += phase >= PEAL_WORKER_STOPPED;
		suspended += phase == PEAL_WORKER_SUSPENDED;
		if (phase == PEAL_WORKER_FAILED && !result)
			result = -(int)peal_load_relaxed_sys(
				&k->status[i].result);
	}
	*result_out = result;
	if (ended == k->params.n_workers)
		return result ? PEAL_KERNEL_FAILED : PEAL_KERNEL_STOPPED;
	if (k->draining || k->stopping)
		return PEAL_KERNEL_DRAINING;
	if (suspended + ended == k->params.n_workers)
		return PEAL_KERNEL_SUSPENDED;
	return PEAL_KERNEL_RUNNING;
}

/* ---- waiting ------------------------------------------------------------- */

/*
 * Waits for the end of the launch. All memory that the workers wrote is
 * complete then. After that, tells the kernel's neighbours of the end.
 */
static void take_end(struct peal_kernel *k)
{
	const struct peali_backend_ops *ops =
		k->rt->devices.device[k->device].backend->ops;

	ops->launch_wait(k->launch, -1);
	pthread_mutex_lock(&k->rt->lock);
	k->rt->hooks->kernel_ended(k);
	pthread_mutex_unlock(&k->rt->lock);
}

/* Waits for the kernel's end. Returns 0, or PEAL_ETIMEDOUT without a text. */
static int await_end(struct peal_kernel *k, int64_t timeout_ns)
{
	uint64_t deadline = peali_deadline(timeout_ns), began = 0;
	uint32_t turns = 0;
	int late = 0;

	while (!late && !peali_kernel_ended(k)) {
		if (!began && timeout_ns)
			began = peali_now_ns();
		late = peali_late(deadline);
		if (!late)
			peali_poll_pause(&turns);
	}
	if (began)
		peali_counters_waited(k->rt, PEAL_WAIT_KERNEL, began);
	if (late)
		return PEAL_ETIMEDOUT;
	take_end(k);
	return 0;
}

int peali_kernel_failure(struct peal_kernel *k, int *driver_code_out, char *out,
			 size_t bytes)
{
	const struct peali_backend_ops *ops =
		k->rt->devices.device[k->device].backend->ops;
	int result = 0;

	*driver_code_out = 0;
	if (peali_kernel_state(k, &result) != PEAL_KERNEL_FAILED)
		return 0;
	if (ops->launch_wait(k->launch, 0) < 0) { /* prefer its text */
		*driver_code_out = peal_last_error()->driver_code;
		peali_text_format(out, bytes, "%s%s%s", peal_last_error()->text,
				  k->crash[0] ? "; " : "", k->crash);
	} else {
		peali_text_fit(out, bytes, peal_error_text(result));
	}
	return result;
}

/* Returns 0, or the error with its text if the kernel has failed. */
static int how_it_ended(struct peal_kernel *k, const char *call)
{
	char why[256];
	int driver_code, result;

	result = peali_kernel_failure(k, &driver_code, why, sizeof(why));
	return result ? peali_fail_driver(result, driver_code, call,
					  "kernel '%s' on device %d failed: %s",
					  k->name, k->device, why) :
			0;
}

/* Returns the meaning of a PEAL_BLOCKED value for an error text. */
static const char *what_blocks(struct peal_kernel *k, uint64_t blocked,
			       char text[BLOCKS_BYTES])
{
	uint32_t actor = (uint32_t)(blocked >> 32);
	const char *topic;
	uint32_t port = PEAL_BLOCKED_PORT(blocked);

	if (port == PEAL_BLOCKED_MAIL)
		return "mailboxes or pools are full";
	if (port == PEAL_BLOCKED_FORWARD)
		return "path to another kernel, to which it has moved, is "
		       "full";
	if (port == PEAL_BLOCKED_TIMER || port == PEAL_BLOCKED_DOWN)
		return "own mailbox or pool is full";
	if (port == PEAL_BLOCKED_GATE)
		return "input waits for an event; record it, or call "
		       "peal_event_cancel";
	pthread_mutex_lock(&k->rt->lock);
	topic = k->rt->hooks->topic_at_port(k->rt, k->params.address | actor,
					    port);
	peali_text_format(text, BLOCKS_BYTES, "port %u %s%s%s%s", port,
			  blocked >> 16 & 1 ? "is not connected; call "
					      "peal_connect" :
					      "is full",
			  topic ? " (topic '" : "", topic ? topic : "",
			  topic ? "')" : "");
	pthread_mutex_unlock(&k->rt->lock);
	return text;
}

void peali_counts_add(uint64_t *sum, const uint64_t *count, uint32_t n)
{
	while (n-- > 0)
		sum[n] += peal_load_relaxed_sys(&count[n]);
}

uint64_t peali_kernel_keeps(const struct peal_kernel *k,
			    uint64_t (*waiting_at)(const struct peal_kernel *,
						   uint32_t worker),
			    uint32_t *worker_out)
{
	uint64_t found = 0, n;
	uint32_t i;

	for (i = 0; i < k->params.n_workers; i++) {
		if (!peal_load_acquire_sys(&k->status[i].drained))
			return 0;
		n = waiting_at(k, i);
		if (!n || found)
			continue;
		found = n;
		*worker_out = i;
	}
	return found;
}

/*
 * Reports timers of a worker as the reason why the kernel does not end. Returns
 * `code` with a text, or 0 if no timer is the reason.
 */
static int name_timers(struct peal_kernel *k, int code, const char *call)
{
	uint32_t worker = 0;
	uint64_t n = peali_timers_keep(k, &worker);

	if (!n)
		return 0;
	return peali_fail(
		code, call,
		"worker %u of kernel '%s': timers that have not "
		"fired: %llu; peal_kernel_stop does not wait for them",
		worker, k->name, (unsigned long long)n);
}

/*
 * Reports the handler that worker `i` runs. Returns 1 with a text, or 0 if the
 * worker runs no handler.
 */
static int name_inflight(struct peal_kernel *k, uint32_t i, int code,
			 const char *call)
{
	char text[256];
	int has;

	pthread_mutex_lock(&k->rt->lock);
	has = k->rt->hooks->describe_inflight(k, i, text);
	pthread_mutex_unlock(&k->rt->lock);
	if (has)
		peali_fail(code, call,
			   "worker %u of kernel '%s' %s; bound its loop by "
			   "peal_budget_check",
			   i, k->name, text);
	return has;
}

/*
 * Reports open asks of a worker as the reason why the kernel does not end.
 * Returns `code` with a text, or 0 if no ask is the reason.
 */
static int name_asks(struct peal_kernel *k, int code, const char *call)
{
	uint32_t worker = 0;
	uint64_t n = peali_asks_keep(k, &worker);

	if (!n)
		return 0;
	return peali_fail(
		code, call,
		"worker %u of kernel '%s': open asks: %llu; they end at their "
		"timeout, and peal_kernel_stop does not wait for them",
		worker, k->name, (unsigned long long)n);
}

static void describe_input(struct peal_kernel *k, uint32_t worker,
			   char text[PEALI_INPUT_TEXT_BYTES])
{
	pthread_mutex_lock(&k->rt->lock);
	k->rt->hooks->describe_input(k, worker, text);
	pthread_mutex_unlock(&k->rt->lock);
}

/*
 * Names the worker that keeps the kernel from its end. After a wait of WHY_NS
 * the text also has the cause. The search for the cause takes time itself.
 * Returns `code`.
 */
static int name_the_late(struct peal_kernel *k, int code, int64_t waited_ns,
			 const char *call)
{
	char port[BLOCKS_BYTES], why[256] = "";
	char input[PEALI_INPUT_TEXT_BYTES] = "";
	uint32_t i;

	for (i = 0; i < k->params.n_workers; i++) {
		uint64_t blocked = peal_load_relaxed_sys(&k->status[i].blocked);

		if (phase_of(k, i) >= PEAL_WORKER_STOPPED)
			continue;
		if (name_inflight(k, i, code, call))
			return code;
		/* a port without a link has no further cause */
		if (waited_ns >= WHY_NS && !(blocked >> 16 & 1))
			k->rt->hooks->explain_stall(k, i, why);
		if (blocked)
			return peali_fail(code, call,
					  "worker %u of kernel '%s' holds a "
					  "message for actor %u: its %s%s%s",
					  i, k->name,
					  PEAL_ACTOR_INDEX(blocked >> 32),
					  what_blocks(k, blocked, port),
					  why[0] ? ": " : "", why);
		if (name_asks(k, code, call) || name_timers(k, code, call))
			return code;
		if (!why[0])
			describe_input(k, i, input);
		return peali_fail(code, call,
				  "worker %u of kernel '%s' is %s: an input "
				  "has not ended%s%s%s; call peal_send_end or "
				  "drain the sender",
				  i, k->name, peali_phase_name(phase_of(k, i)),
				  why[0] || input[0] ? ": " : "", why, input);
	}
	return code;
}

/*
 * Names the worker that keeps the kernel from its end, for a caller that has
 * told the kernel to end. After a wait of WHY_NS it also logs everything that
 * stalls. Returns `code`.
 */
static int waited_in_vain(struct peal_kernel *k, int code, int64_t waited_ns,
			  const char *call)
{
	if (waited_ns >= WHY_NS)
		k->rt->hooks->log_stalls(k->rt);
	return name_the_late(k, code, waited_ns, call);
}

int peal_kernel_wait(struct peal_kernel *k, int64_t timeout_ns)
{
	if (!k)
		return peali_refuse_null("peal_kernel_wait", "kernel");
	if (peali_foreign(&k->rt->owner, "peal_kernel_wait"))
		return PEAL_EFORKED;
	if (await_end(k, timeout_ns))
		return name_the_late(k, PEAL_ETIMEDOUT, timeout_ns,
				     "peal_kernel_wait");
	return how_it_ended(k, "peal_kernel_wait");
}

/* ---- suspend, resume ----------------------------------------------------- */

static int check_alive(struct peal_kernel *k, const char *call)
{
	if (!k)
		return peali_refuse_null(call, "kernel");
	if (peali_foreign(&k->rt->owner, call))
		return PEAL_EFORKED;
	if (peali_kernel_ended(k))
		return peali_fail(PEAL_ESTOPPED, call, "kernel '%s' has ended",
				  k->name);
	return 0;
}

/*
 * Counts the live workers that report to be suspended (`are` 1), or that do not
 * (`are` 0).
 */
static uint32_t count_suspended(struct peal_kernel *k, int are)
{
	uint32_t n = 0, i;

	for (i = 0; i < k->params.n_workers; i++) {
		uint64_t phase = phase_of(k, i);

		n += phase < PEAL_WORKER_STOPPED &&
		     (phase == PEAL_WORKER_SUSPENDED) == are;
	}
	return n;
}

/* Suspends a kernel that is alive. Sets *began to the time of the first pause. */
static int suspend(struct peal_kernel *k, int64_t timeout_ns, uint64_t *began)
{
	uint64_t deadline = peali_deadline(timeout_ns);
	uint32_t turns = 0, left;
	int stale;

	/*
	 * After a resume, a worker may still report its last suspension. That
	 * report must not count for this suspension.
	 */
	stale = peal_load_relaxed_sys(&k->control->suspend) == 0;
	while (timeout_ns && stale && !peali_late(deadline)) {
		stale = count_suspended(k, 1) != 0;
		if (stale)
			peali_poll_pause_since(&turns, began);
	}
	peal_store_release_sys(&k->control->suspend, 1);
	wake_all(k);
	for (turns = 0;;) {
		left = count_suspended(k, 0);
		if (!left && !stale)
			return check_alive(k, "peal_kernel_suspend");
		if (timeout_ns == 0)
			return 0;
		if (peali_late(deadline))
			return peali_fail(
				PEAL_ETIMEDOUT, "peal_kernel_suspend",
				"kernel '%s': a handler still runs in %u of "
				"%u worker%s; a worker pauses after it",
				k->name, left, k->params.n_workers,
				peali_s(k->params.n_workers));
		peali_poll_pause_since(&turns, began);
	}
}

int peal_kernel_suspend(struct peal_kernel *k, int64_t timeout_ns)
{
	uint64_t began = 0;
	int result = check_alive(k, "peal_kernel_suspend");

	if (result)
		return result;
	result = suspend(k, timeout_ns, &began);
	if (began)
		peali_counters_waited(k->rt, PEAL_WAIT_KERNEL, began);
	return result;
}

int peal_kernel_resume(struct peal_kernel *k)
{
	int result = check_alive(k, "peal_kernel_resume");

	if (result)
		return result;
	peal_store_release_sys(&k->control->suspend, 0);
	wake_all(k);
	peali_log(3, "kernel '%s' resumes", k->name);
	return 0;
}

/* ---- drain, stop, abort -------------------------------------------------- */

int peal_kernel_drain(struct peal_kernel *k, int64_t timeout_ns)
{
	uint32_t i, drained = 0;

	if (!k)
		return peali_refuse_null("peal_kernel_drain", "kernel");
	if (peali_foreign(&k->rt->owner, "peal_kernel_drain"))
		return PEAL_EFORKED;
	if (!peali_kernel_ended(k)) {
		k->draining = 1;
		peal_store_release_sys(&k->control->suspend, 0);
		peal_store_release_sys(&k->control->drain, PEAL_DRAIN_INPUTS);
		wake_all(k);
		peali_log(3, "kernel '%s' drains", k->name);
	}
	if (await_end(k, timeout_ns)) {
		if (timeout_ns == 0)
			return 0;
		return waited_in_vain(k, PEAL_ETIMEDOUT, timeout_ns,
				      "peal_kernel_drain");
	}
	for (i = 0; i < k->params.n_workers; i++)
		drained += phase_of(k, i) == PEAL_WORKER_DRAINED;
	if (drained == k->params.n_workers)
		return 0;
	if (how_it_ended(k, "peal_kernel_drain"))
		return peal_last_error()->code;
	return peali_fail(PEAL_ESTOPPED, "peal_kernel_drain",
			  "kernel '%s' was stopped before it had drained",
			  k->name);
}

static int end_kernel(struct peal_kernel *k, uint64_t how, int64_t timeout_ns,
		      int late_code, const char *call)
{
	if (!k)
		return peali_refuse_null(call, "kernel");
	if (peali_foreign(&k->rt->owner, call))
		return PEAL_EFORKED;
	if (!peali_kernel_ended(k)) {
		k->stopping = 1;
		pthread_mutex_lock(&k->push_lock);
		/* a stop must not replace an abort */
		if (peal_load_relaxed_sys(&k->control->stop) < how)
			peal_store_release_sys(&k->control->stop, how);
		pthread_mutex_unlock(&k->push_lock);
		wake_all(k);
		peali_log(3, "kernel '%s' %s", k->name,
			  how == PEAL_STOP_ABORT ? "aborts" : "stops");
	}
	if (!await_end(k, timeout_ns))
		return 0;
	return timeout_ns == 0 ? 0 :
				 waited_in_vain(k, late_code, timeout_ns, call);
}

int peal_kernel_stop(struct peal_kernel *k, int64_t timeout_ns)
{
	return end_kernel(k, PEAL_STOP_STOP, timeout_ns, PEAL_ETIMEDOUT,
			  "peal_kernel_stop");
}

int peal_kernel_abort(struct peal_kernel *k, int64_t timeout_ns)
{
	return end_kernel(k, PEAL_STOP_ABORT, timeout_ns, PEAL_EHUNG,
			  "peal_kernel_abort");
}

int peali_kernel_end(struct peal_kernel *k, uint64_t deadline)
{
	uint64_t now = peali_now_ns();

	peal_kernel_stop(k, now < deadline ? (int64_t)(deadline - now) : 0);
	if (peali_kernel_ended(k))
		return 0;
	return peal_kernel_abort(k,
				 (int64_t)k->rt->control_timeout_ms * 1000000);
}

/* ---- info ---------------------------------------------------------------- */

int peal_kernel_info(struct peal_kernel *k, struct peal_kernel_info *info_out)
{
	uint32_t i;

	if (!k || !info_out)
		return peali_refuse_null("peal_kernel_info",
					 "kernel or info_out");
	if (peali_foreign(&k->rt->owner, "peal_kernel_info"))
		return PEAL_EFORKED;
	memset(info_out, 0, sizeof(*info_out));
	memcpy(info_out->name, k->name, sizeof(info_out->name));
	peali_text_fit(info_out->program, sizeof(info_out->program),
		       k->program->name);
	info_out->device = k->device;
	info_out->workers = k->params.n_workers;
	info_out->lanes = k->params.lanes;
	info_out->cluster_workers = k->params.cluster_workers;
	info_out->cluster_bytes = k->params.cluster_bytes;
	info_out->actors =
		k->actors.n +
		peali_spawned_live(k, &info_out->spawned, &info_out->retired);
	info_out->state = peali_kernel_state(k, &info_out->result);
	info_out->memory_bytes = k->own.bytes + k->shared.bytes;
	for (i = 0; i < k->params.n_workers; i++) {
		const struct peal_worker_status *s = &k->status[i];

		/* read before mailbox_sends: mailbox_done never exceeds it */
		info_out->mailbox_done +=
			peal_load_acquire_sys(&s->mailbox_done);
		info_out->mailbox_dead +=
			peal_load_relaxed_sys(&s->mailbox_dead);
		info_out->mailbox_abandoned +=
			peal_load_relaxed_sys(&s->mailbox_abandoned);
		info_out->mailbox_expired +=
			peal_load_relaxed_sys(&s->mailbox_expired);
		info_out->mailbox_dropped +=
			peal_load_relaxed_sys(&s->mailbox_dropped);
		info_out->mailbox_duplicates +=
			peal_load_relaxed_sys(&s->mailbox_duplicates);
		info_out->handled += peal_load_relaxed_sys(&s->handled);
		info_out->failed += peal_load_relaxed_sys(&s->failed);
		info_out->inits += peal_load_relaxed_sys(&s->inits);
		info_out->exits += peal_load_relaxed_sys(&s->exits);
		info_out->emitted += peal_load_relaxed_sys(&s->emitted);
		peali_timers_add(k, i, &info_out->timers);
		peali_asks_add(k, i, &info_out->asks);
	}
	for (i = 0; i < k->params.n_workers; i++)
		info_out->mailbox_sends +=
			peal_load_relaxed_sys(&k->status[i].mailbox_sends);
	return 0;
}
