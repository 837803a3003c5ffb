/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages of the host to all actors of a kernel. One worker puts a copy into
 * each mailbox (include/peal/device/impl/worker/tell_all.h). It puts none if
 * there are too few free slots. Then the host repeats the request.
 *
 * Host and kernel share the memory of the payload. So the host writes a new
 * payload only after the answer to the former request. A former call may have
 * given up waiting for this answer.
 */
#include <string.h>

#include <peal/device/atomic.h>
#include "runtime/base/error.h"
#include "runtime/base/refusal.h"
#include "runtime/base/text.h"
#include "runtime/base/wait.h"
#include "runtime/kernel/kernel.h"
#include "runtime/kernel/kernel_control.h"

#define CALL "peal_kernel_tell_all"

/* A call, with its deadline. */
struct call {
	struct peal_kernel *kernel;
	uint16_t type;
	const void *data;
	uint32_t bytes;
	uint64_t deadline;
	uint32_t turns; /* pauses so far */
};

/* ---- errors -------------------------------------------------------------- */

static int check(struct peal_kernel *k, const void *data, uint64_t bytes)
{
	if (!k || (!data && bytes))
		return peali_refuse_null(CALL, k ? "data" : "kernel");
	if (peali_foreign(&k->rt->owner, CALL))
		return PEAL_EFORKED;
	if (!k->mailbox.slots)
		return peali_fail(PEAL_ENOTSUP, CALL,
				  "kernel '%s' was launched without "
				  "mailboxes; set mailbox.slots in struct "
				  "peal_kernel_options",
				  k->name);
	if (PEAL_TO_ALL_BYTES + bytes > k->mailbox.message_bytes)
		return PEALI_REFUSE(
			PEAL_EMSGSIZE, CALL, .object = "kernel",
			.name = k->name,
			.problem = "takes no payload of this length by "
				   "its mailboxes",
			.number = bytes,
			.most = k->mailbox.message_bytes - PEAL_TO_ALL_BYTES,
			.remedy = "raise mailbox.message_bytes");
	if (k->mailbox.free_slots < k->params.n_workers)
		return PEALI_REFUSE(
			PEAL_ENOSPC, CALL, .object = "kernel", .name = k->name,
			.problem = "has too few free mailbox slots for "
				   "its workers",
			.number = k->mailbox.free_slots,
			.least = k->params.n_workers, .most = k->mailbox.slots,
			.remedy = PEALI_PRINT("raise mailbox.slots above %u",
					      k->mailbox.slots));
	return 0;
}

static int ended(const struct peal_kernel *k)
{
	return peali_fail(PEAL_ESTOPPED, CALL, "kernel '%s' ends or has ended",
			  k->name);
}

static int no_answer(const struct peal_kernel *k)
{
	return peali_fail(PEAL_EHUNG, CALL,
			  "kernel '%s': worker %u did not answer in %llu ms; "
			  "all actors may still get the message",
			  k->name, k->to_all.worker,
			  (unsigned long long)k->rt->control_timeout_ms);
}

static int not_accepted(const struct peal_kernel *k)
{
	return peali_fail(PEAL_EAGAIN, CALL,
			  "kernel '%s': too few free mailbox slots for its %u "
			  "workers, or worker %u has not answered an earlier "
			  "call; no actor gets the message",
			  k->name, k->params.n_workers, k->to_all.worker);
}

/* ---- requests ------------------------------------------------------------ */

/* Pauses. Returns 0, or a code without a text: PEAL_ESTOPPED if the kernel has
 * ended, `late` after the deadline. */
static int pause_until(struct call *c, uint64_t deadline, int late)
{
	if (peali_kernel_ended(c->kernel))
		return PEAL_ESTOPPED;
	if (peali_late(deadline))
		return late;
	peali_poll_pause(&c->turns);
	return 0;
}

/* Waits until no other call is in progress. */
static int enter(struct call *c)
{
	int result = 0;

	while (!result && pthread_mutex_trylock(&c->kernel->to_all.lock))
		result = pause_until(c, c->deadline, PEAL_EAGAIN);
	return result;
}

/*
 * Waits for the answer to the latest request. Returns 0 with the answer's
 * result in *answer_out, or a code without a text: PEAL_ESTOPPED, or `late`
 * after the deadline.
 */
static int await_answer(struct call *c, uint64_t deadline, int late,
			int *answer_out)
{
	struct peal_kernel *k = c->kernel;
	uint64_t answer;
	int result;

	for (;;) {
		/* A31: pairs with R31 in peali_control_tell_all. */
		answer = peal_load_acquire_sys(
			&k->status[k->to_all.worker].to_all_answer);
		if (PEAL_TO_ALL_REQUEST(answer) == k->to_all.requests)
			break;
		result = pause_until(c, deadline, late);
		if (result)
			return result;
	}
	k->to_all.open = 0;
	*answer_out = PEAL_TO_ALL_RESULT(answer);
	k->to_all.accepted += !*answer_out;
	return 0;
}

/* Returns a worker that answers soon. Prefers workers with open inputs, then
 * workers that run no handler. */
static uint32_t choose_worker(struct peal_kernel *k)
{
	uint32_t n = k->params.n_workers, i;

	for (i = 0; i < n; i++)
		if (!peal_load_relaxed_sys(&k->status[i].drained) &&
		    !peal_load_relaxed_sys(&k->status[i].inflight))
			return i;
	for (i = 0; i < n; i++)
		if (!peal_load_relaxed_sys(&k->status[i].drained))
			return i;
	return peali_kernel_answerer(k, 0);
}

/* Sends one request and waits for its answer: returns 0, the answer, or
 * another code without a text. PEAL_EAGAIN: repeat it. */
static int ask_once(struct call *c)
{
	struct peal_kernel *k = c->kernel;
	struct peal_control_tell_all request = { k->to_all.requests + 1,
						 k->to_all.view, c->bytes,
						 c->type };
	int answer = 0, result;

	if (k->draining || k->stopping)
		return PEAL_ESTOPPED;
	k->to_all.worker = choose_worker(k);
	result = peali_kernel_post(k, k->to_all.worker, PEAL_CONTROL_TELL_ALL,
				   &request, sizeof(request));
	if (result)
		return result;
	k->to_all.requests++;
	k->to_all.open = 1;
	result = await_answer(
		c, peali_deadline((int64_t)k->rt->control_timeout_ms * 1000000),
		PEAL_EHUNG, &answer);
	return result ? result : answer;
}

/* Repeats the request until a worker has put the copies. The caller holds the
 * lock. Returns 0 or an error with a text. */
static int ask(struct call *c)
{
	struct peal_kernel *k = c->kernel;
	int answer, result = 0;

	if (k->to_all.open) /* of a call that gave up waiting */
		result = await_answer(c, c->deadline, PEAL_EAGAIN, &answer);
	if (!result && c->bytes)
		memcpy(k->to_all.data, c->data, c->bytes);
	while (!result) {
		result = ask_once(c);
		if (result != PEAL_EAGAIN)
			break;
		result = pause_until(c, c->deadline, PEAL_EAGAIN);
	}
	if (!result)
		return 0;
	if (result == PEAL_EAGAIN)
		return not_accepted(k);
	return result == PEAL_EHUNG ? no_answer(k) : ended(k);
}

/* ---- the report ---------------------------------------------------------- */

/* Waits until the actors of all workers have handled the latest message. Adds
 * up their number. The caller holds the lock. */
static int await_actors(struct call *c, uint64_t *told_out)
{
	struct peal_kernel *k = c->kernel;
	uint64_t told = 0;
	uint32_t i;
	int result = 0;

	for (i = 0; i < k->params.n_workers && !result; i++) {
		/* A30: pairs with R30 in peali_round_over. */
		while (!result &&
		       peal_load_acquire_sys(&k->status[i].to_all_done) <
			       k->to_all.accepted)
			result = pause_until(c, c->deadline, PEAL_ETIMEDOUT);
		told += peal_load_relaxed_sys(&k->status[i].to_all_told);
	}
	if (result == PEAL_ESTOPPED)
		return ended(k);
	if (result)
		return peali_fail(result, CALL,
				  "kernel '%s': not all actors of worker %u "
				  "have handled the message; the others get it "
				  "later",
				  k->name, i - 1);
	*told_out = told;
	return 0;
}

int peal_kernel_tell_all(struct peal_kernel *k, uint16_t type, const void *data,
			 uint64_t bytes, int64_t timeout_ns, uint64_t *told_out)
{
	struct call c = { k, type, data, (uint32_t)bytes, 0, 0 };
	int result = check(k, data, bytes);

	if (result)
		return result;
	c.deadline = peali_deadline(timeout_ns);
	result = enter(&c);
	if (result == PEAL_ESTOPPED)
		return ended(k);
	if (result)
		return peali_fail(result, CALL,
				  "kernel '%s': another call is in progress; "
				  "no actor gets the message",
				  k->name);
	result = ask(&c);
	if (!result && told_out)
		result = await_actors(&c, told_out);
	pthread_mutex_unlock(&k->to_all.lock);
	return result;
}
