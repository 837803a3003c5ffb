/* SPDX-License-Identifier: Apache-2.0 */
/* Pipelines: push, pull, close, drain and stop. */
#include "runtime/base/error.h"
#include "runtime/base/refusal.h"
#include "runtime/base/text.h"
#include "runtime/base/wait.h"
#include "runtime/compute/pipeline.h"
#include "runtime/kernel/counters.h"
#include "runtime/kernel/kernel_control.h"
#include "runtime/kernel/kernel.h"
#include "runtime/kernel/link_counts.h"
#include "runtime/link/link.h"

#include <string.h>

#define PUSH "peal_pipeline_push"
#define PULL "peal_pipeline_pull"
#define LOOK_NS 20000000LL /* ns between two checks for failures */
#define LOOK_EVERY 64 /* pushed batches between two checks */

/* ---- failures ------------------------------------------------------------ */

/*
 * Returns the batches that a worker of a stage has lost. These are the batches
 * on which its handler failed. With several workers, duplicates count too: each
 * leaves a gap in the order. With skip_failed the result is 0.
 */
static uint64_t lost(const struct peal_pipeline *p, uint32_t stage,
		     uint32_t worker)
{
	const struct peal_link_counts *c =
		peali_pipeline_link(p, stage, worker)->counts;
	uint64_t n = peal_load_acquire_sys(&c->dead[PEAL_REASON_HANDLER]);

	if (p->skip_failed)
		return 0;
	if (p->workers > 1)
		n += peal_load_acquire_sys(&c->dead[PEAL_REASON_DUPLICATE]);
	return n;
}

/*
 * Finds the first batch that the handler of a stage has failed on. Returns its
 * number, from 0, and the worker. The batches go to the workers in turn. A failed
 * actor has ended, so its link delivers no batch behind the failed one.
 */
static uint64_t failed_batch(const struct peal_pipeline *p, uint32_t stage,
			     uint32_t *worker_out)
{
	uint64_t least = UINT64_MAX, number;
	uint32_t worker;

	for (worker = 0; worker < p->workers; worker++) {
		if (!lost(p, stage, worker))
			continue;
		number = peal_load_acquire_sys(
				 &peali_pipeline_link(p, stage, worker)
					  ->counts->delivered) *
				 p->workers +
			 worker;
		if (number < least) {
			least = number;
			*worker_out = worker;
		}
	}
	return least;
}

/* Reports that the handler of a stage has failed. Returns PEAL_EHANDLER. */
static int say_failed(struct peal_pipeline *p, uint32_t stage, const char *call)
{
	uint32_t worker = 0;
	uint64_t batch = failed_batch(p, stage, &worker);
	int error = -(int)peal_load_relaxed_sys(
		&p->stages[stage].kernel->status[worker].handler_error);

	atomic_store(&p->failed, stage + 1);
	return peali_fail_driver(
		PEAL_EHANDLER, error, call,
		"stage %u of '%s', '%s' on device %d: its handler has failed "
		"on batch %llu, counted from 0, with %s (%d); the stage passes "
		"no further batches on",
		stage, PEALI_CUT(40, p->name),
		PEALI_CUT(50, p->stages[stage].name), p->stages[stage].device,
		(unsigned long long)batch, peal_error_name(error), error);
}

/* Returns the last failed stage of a worker, or p->n if none has failed. */
static uint32_t failed_at(const struct peal_pipeline *p, uint32_t worker)
{
	uint32_t stage = p->n;

	while (stage-- > 0)
		if (lost(p, stage, worker))
			return stage;
	return p->n;
}

/* Returns a failed stage of any worker, or p->n if none has failed. */
static uint32_t failed_anywhere(const struct peal_pipeline *p)
{
	uint32_t worker, stage;

	for (worker = 0; worker < p->workers; worker++) {
		stage = failed_at(p, worker);
		if (stage < p->n)
			return stage;
	}
	return p->n;
}

/*
 * Returns whether the batches that a failed stage has emitted have reached the
 * last link. The stages behind it are checked in the order of the flow. So each
 * stage has handled its batches before the next stage is checked.
 */
static int has_passed(const struct peal_pipeline *p, uint32_t stage,
		      uint32_t worker)
{
	for (stage++; stage < p->n; stage++) {
		const struct peal_link_counts *c =
			peali_pipeline_link(p, stage, worker)->counts;
		uint64_t done = peali_counts_done(c);

		if (peal_load_acquire_sys(&c->accepted) != done)
			return 0;
	}
	return 1;
}

/*
 * Reports a kernel that has ended early. Returns PEAL_ESTOPPED, or 0 if no
 * kernel has.
 */
static int say_ended(struct peal_pipeline *p, const char *call)
{
	struct peal_kernel_info info;
	uint32_t i, worker;

	for (i = 0; i < p->n; i++) {
		struct peal_kernel *k = p->stages[i].kernel;
		uint64_t drained = 0;

		if (!peali_kernel_ended(k))
			continue;
		for (worker = 0; worker < p->workers; worker++)
			drained += peal_load_acquire_sys(
					   &k->status[worker].phase) ==
				   PEAL_WORKER_DRAINED;
		if (drained == p->workers)
			continue;
		if (peal_kernel_info(k, &info) || !info.result)
			info.result = PEAL_ESTOPPED;
		return peali_fail(PEAL_ESTOPPED, call,
				  "stage %u of '%s', '%s' on device %d, has "
				  "ended: %s",
				  i, p->name, p->stages[i].name,
				  p->stages[i].device,
				  peal_error_text(info.result));
	}
	return 0;
}

/*
 * Reports why a stage has failed. A handler also fails if its receiver has
 * ended. So an ended kernel is reported first.
 */
static int say_why(struct peal_pipeline *p, uint32_t stage, const char *call)
{
	if (!atomic_load(&p->failed) && say_ended(p, call))
		return PEAL_ESTOPPED;
	return say_failed(p, stage, call);
}

/* ---- pushing ------------------------------------------------------------- */

/*
 * Returns 0 if the host may push, or else the error. `look` 1: also checks all
 * stages for failures.
 */
static int may_push(struct peal_pipeline *p, int look)
{
	uint32_t failed = atomic_load(&p->failed);

	if (p->n_closed)
		return peali_fail(PEAL_EPIPE, PUSH, "'%s' was closed", p->name);
	if (failed)
		return say_failed(p, failed - 1, PUSH);
	failed = look ? failed_anywhere(p) : p->n;
	return failed < p->n ? say_why(p, failed, PUSH) : 0;
}

/* Returns the result of a failed send by `call`. A failed or ended stage
 * replaces it. */
static int pushed(struct peal_pipeline *p, int result, const char *call)
{
	if (result == PEAL_ESTOPPED && say_ended(p, PUSH))
		return PEAL_ESTOPPED;
	if (result == PEAL_EAGAIN || result == PEAL_ETIMEDOUT) {
		int failed = may_push(p, 1);

		if (failed)
			return failed;
	}
	return peali_fail_in(result, call);
}

static uint32_t push_turn(const struct peal_pipeline *p)
{
	return (uint32_t)(atomic_load(&p->pushed) % p->workers);
}

static void count_push(struct peal_pipeline *p, uint64_t bytes)
{
	atomic_fetch_add(&p->pushed_bytes, bytes);
	atomic_fetch_add(&p->pushed, 1);
}

static int look_now(const struct peal_pipeline *p)
{
	return atomic_load(&p->pushed) % LOOK_EVERY == 0;
}

/* Counts a wait since `began`; 0: there was none. */
static void count_wait(const struct peal_pipeline *p, uint64_t began)
{
	if (began)
		peali_counters_waited(p->rt, PEAL_WAIT_PIPELINE, began);
}

int peal_pipeline_push(struct peal_pipeline *p, uint16_t type, const void *data,
		       uint64_t bytes, int64_t timeout_ns)
{
	uint64_t began = 0;
	int result;

	if (!p || (!data && bytes))
		return peali_refuse_null(PUSH, "pipeline or data");
	if (peali_forked(&p->rt->owner, PUSH))
		return PEAL_EFORKED;
	result = may_push(p, look_now(p));
	if (result)
		return result;
	result = peal_send(p->source, push_turn(p), type, data, bytes, 0, NULL);
	if (result == PEAL_EAGAIN && timeout_ns) {
		began = peali_now_ns();
		result = peal_send(p->source, push_turn(p), type, data, bytes,
				   timeout_ns, NULL);
	}
	count_wait(p, began);
	if (result)
		return pushed(p, result, PUSH);
	p->reserved = 0; /* the send has replaced the reservation */
	count_push(p, bytes);
	return 0;
}

int peal_pipeline_reserve(struct peal_pipeline *p, uint64_t bytes,
			  int64_t timeout_ns, void **place_out)
{
	uint64_t began = 0;
	int result;

	if (!p || !place_out)
		return peali_refuse_null("peal_pipeline_reserve",
					 "pipeline or place_out");
	if (peali_forked(&p->rt->owner, "peal_pipeline_reserve"))
		return PEAL_EFORKED;
	result = may_push(p, look_now(p));
	if (result)
		return result;
	result =
		peal_send_reserve(p->source, push_turn(p), bytes, 0, place_out);
	if (result == PEAL_EAGAIN && timeout_ns) {
		began = peali_now_ns();
		result = peal_send_reserve(p->source, push_turn(p), bytes,
					   timeout_ns, place_out);
	}
	count_wait(p, began);
	if (result)
		return pushed(p, result, "peal_pipeline_reserve");
	p->reserved = 1;
	p->reserved_bytes = bytes;
	return 0;
}

int peal_pipeline_commit(struct peal_pipeline *p, uint16_t type)
{
	int result;

	if (p && peali_forked(&p->rt->owner, "peal_pipeline_commit"))
		return PEAL_EFORKED;
	if (!p || !p->reserved)
		return peali_fail(PEAL_EINVAL, "peal_pipeline_commit",
				  p ? "nothing is reserved" :
				      "pipeline is NULL");
	result = peal_send_commit(p->source, push_turn(p), type);
	if (result)
		return peali_fail_in(result, "peal_pipeline_commit");
	p->reserved = 0;
	count_push(p, p->reserved_bytes);
	return 0;
}

/* Sends the end to the next worker of stage 0. Counts the wait for a slot. */
static int send_end(struct peal_pipeline *p, uint64_t deadline,
		    int64_t timeout_ns)
{
	int result = peal_send_end(p->source, p->n_closed, 0);
	int64_t left = timeout_ns;
	uint64_t began;

	if (result != PEAL_EAGAIN || !timeout_ns)
		return result;
	began = peali_now_ns();
	if (timeout_ns > 0)
		left = began >= deadline ? 1 : (int64_t)(deadline - began);
	result = peal_send_end(p->source, p->n_closed, left);
	count_wait(p, began);
	return result;
}

/* Sends the end to the workers of stage 0 that have not got it yet. */
static int close_rest(struct peal_pipeline *p, uint64_t deadline,
		      int64_t timeout_ns, const char *call)
{
	int result;

	p->reserved = 0;
	while (p->n_closed < p->workers) {
		result = send_end(p, deadline, timeout_ns);
		if (result == PEAL_ESTOPPED && say_ended(p, call))
			return result;
		if (result)
			return result;
		p->n_closed++;
	}
	atomic_store(&p->closed, 1);
	return 0;
}

int peal_pipeline_close(struct peal_pipeline *p, int64_t timeout_ns)
{
	const char *call = "peal_pipeline_close";

	if (!p)
		return peali_refuse_null(call, "pipeline");
	if (peali_foreign(&p->rt->owner, call))
		return PEAL_EFORKED;
	if (atomic_load(&p->closed))
		return peali_fail(PEAL_EPIPE, call, "'%s' was closed before",
				  p->name);
	return close_rest(p, peali_deadline(timeout_ns), timeout_ns, call);
}

/* ---- draining and stopping ----------------------------------------------- */

static int64_t left_of(uint64_t deadline, int64_t timeout_ns)
{
	if (timeout_ns <= 0)
		return timeout_ns;
	return peali_late(deadline) ? 0 : (int64_t)(deadline - peali_now_ns());
}

int peal_pipeline_drain(struct peal_pipeline *p, int64_t timeout_ns)
{
	const char *call = "peal_pipeline_drain";
	uint64_t deadline = peali_deadline(timeout_ns);
	uint32_t i, failed;
	int result = 0;

	if (!p)
		return peali_refuse_null(call, "pipeline");
	if (peali_foreign(&p->rt->owner, call))
		return PEAL_EFORKED;
	if (!atomic_load(&p->closed))
		result = close_rest(p, deadline, timeout_ns, call);
	if (result == PEAL_EAGAIN || result == PEAL_ETIMEDOUT)
		result = peali_fail(PEAL_ETIMEDOUT, call,
				    "stage 0 of '%s', '%s' on device %d, has "
				    "no space for the end of the stream "
				    "after %lld ns",
				    p->name, p->stages[0].name,
				    p->stages[0].device, (long long)timeout_ns);
	for (i = 0; i < p->n && !result; i++) {
		result = peal_kernel_wait(p->stages[i].kernel,
					  left_of(deadline, timeout_ns));
		if (result == PEAL_ETIMEDOUT)
			result = peali_fail(
				result, call,
				"stage %u of '%s', '%s' on device %d, has not "
				"ended after %lld ns",
				i, p->name, p->stages[i].name,
				p->stages[i].device, (long long)timeout_ns);
	}
	failed = failed_anywhere(p);
	if (failed < p->n)
		return say_why(p, failed, call);
	if (result && result != PEAL_ETIMEDOUT)
		return say_ended(p, call) ? PEAL_ESTOPPED : result;
	return result ? result : say_ended(p, call);
}

int peal_pipeline_stop(struct peal_pipeline *p, int64_t timeout_ns)
{
	uint64_t deadline = peali_deadline(timeout_ns);
	uint32_t i;
	int result = 0;

	if (!p)
		return peali_refuse_null("peal_pipeline_stop", "pipeline");
	if (peali_foreign(&p->rt->owner, "peal_pipeline_stop"))
		return PEAL_EFORKED;
	for (i = 0; i < p->n; i++) /* stop all kernels before the first wait */
		peal_kernel_stop(p->stages[i].kernel, 0);
	if (!timeout_ns)
		return 0;
	for (i = 0; i < p->n && !result; i++) {
		int64_t left = left_of(deadline, timeout_ns);

		result = peal_kernel_stop(p->stages[i].kernel, left ? left : 1);
	}
	return peali_fail_in(result, "peal_pipeline_stop");
}

/* ---- pulling ------------------------------------------------------------- */

/*
 * Returns PEAL_EEND if all batches of a closed pipeline were pulled. Returns an
 * error if a stage has failed or a worker has emitted more than the others.
 */
static int at_end(struct peal_pipeline *p)
{
	struct peal_received more;
	uint32_t failed = failed_anywhere(p), worker;

	if (failed < p->n)
		return say_why(p, failed, PULL);
	if (say_ended(p, PULL))
		return PEAL_ESTOPPED;
	for (worker = 0; worker < p->workers; worker++) {
		if (p->workers > 1 &&
		    !peal_receive_peek(p->sinks[worker], &more, 0))
			return peali_fail(
				PEAL_EPROTO, PULL,
				"'%s': worker %u has more batches than the "
				"others; a handler does not emit one batch "
				"for each batch",
				p->name, worker);
	}
	return PEAL_EEND;
}

/*
 * Checks for failures when no batch has arrived. Returns PEAL_EAGAIN to wait
 * on, 0 with a batch, or the error if no batch will arrive.
 */
static int look(struct peal_pipeline *p, uint32_t turn,
		struct peal_received *received_out)
{
	uint32_t failed = failed_at(p, turn);
	int result;

	if (failed == p->n || !has_passed(p, failed, turn))
		return PEAL_EAGAIN;
	/* take batches from before the failure first */
	result = peal_receive_peek(p->sinks[turn], received_out, 0);
	return result == PEAL_EAGAIN || result == PEAL_EEND ?
		       say_why(p, failed, PULL) :
		       result;
}

/* Waits for the next batch of a worker, which has not arrived yet. */
static int await_late(struct peal_pipeline *p, uint32_t turn,
		      struct peal_received *received_out, int64_t timeout_ns)
{
	uint64_t deadline = peali_deadline(timeout_ns);
	int64_t left = timeout_ns;
	int result;

	for (;;) {
		result = peal_receive_peek(
			p->sinks[turn], received_out,
			left < 0 || left > LOOK_NS ? LOOK_NS : left);
		if (result != PEAL_EAGAIN && result != PEAL_ETIMEDOUT)
			return result;
		result = look(p, turn, received_out);
		if (result != PEAL_EAGAIN || !timeout_ns)
			return result;
		left = left_of(deadline, timeout_ns);
		if (!left)
			return peali_fail(PEAL_ETIMEDOUT, PULL,
					  "'%s': no batch arrived in time",
					  p->name);
	}
}

/* Waits for the next batch of a worker. */
static int await(struct peal_pipeline *p, uint32_t turn,
		 struct peal_received *received_out, int64_t timeout_ns)
{
	int result = peal_receive_peek(p->sinks[turn], received_out, 0);
	uint64_t began;

	if (result != PEAL_EAGAIN)
		return result;
	began = timeout_ns ? peali_now_ns() : 0;
	result = await_late(p, turn, received_out, timeout_ns);
	count_wait(p, began);
	return result;
}

int peal_pipeline_peek(struct peal_pipeline *p,
		       struct peal_received *received_out, int64_t timeout_ns)
{
	uint64_t pulled;
	uint32_t turn;
	int result;

	if (!p || !received_out)
		return peali_refuse_null("peal_pipeline_peek",
					 "pipeline or received_out");
	if (peali_forked(&p->rt->owner, "peal_pipeline_peek"))
		return PEAL_EFORKED;
	pulled = atomic_load(&p->pulled);
	turn = (uint32_t)(pulled % p->workers);
	result = await(p, turn, received_out, timeout_ns);
	if (result == PEAL_EEND)
		return at_end(p);
	if (result == PEAL_ESTOPPED && say_ended(p, PULL))
		return result;
	if (result)
		return result;
	received_out->sequence = pulled;
	p->peeked = 1;
	p->peeked_bytes = received_out->length;
	return 0;
}

int peal_pipeline_release(struct peal_pipeline *p)
{
	uint32_t turn;
	int result;

	if (p && peali_forked(&p->rt->owner, "peal_pipeline_release"))
		return PEAL_EFORKED;
	if (!p || !p->peeked)
		return peali_fail(PEAL_EINVAL, "peal_pipeline_release",
				  p ? "no batch is held" : "pipeline is NULL");
	turn = (uint32_t)(atomic_load(&p->pulled) % p->workers);
	result = peal_receive_release(p->sinks[turn]);
	if (result)
		return peali_fail_in(result, "peal_pipeline_release");
	p->peeked = 0;
	atomic_fetch_add(&p->pulled_bytes, p->peeked_bytes);
	atomic_fetch_add(&p->pulled, 1);
	return 0;
}

int peal_pipeline_pull(struct peal_pipeline *p, void *buffer,
		       uint64_t buffer_bytes,
		       struct peal_received *received_out, int64_t timeout_ns)
{
	int result;

	if (!p || !received_out || (!buffer && buffer_bytes))
		return peali_refuse_null(PULL,
					 "pipeline, received_out or buffer");
	if (peali_foreign(&p->rt->owner, PULL))
		return PEAL_EFORKED;
	result = peal_pipeline_peek(p, received_out, timeout_ns);
	if (result)
		return peali_fail_in(result, PULL);
	if (received_out->length > buffer_bytes)
		return peali_refuse_buffer(PULL, "pipeline", p->name,
					   buffer_bytes, received_out->length);
	if (received_out->length)
		memcpy(buffer, received_out->data, received_out->length);
	received_out->data = buffer;
	return peal_pipeline_release(p);
}
