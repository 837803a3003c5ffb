/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Queues of host threads (peal/queue.h): code that all kinds share. Makes and
 * destroys queues, opens and closes ends, waits, and counts messages.
 */
#include "queues/queue.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "queues/call_guard.h"
#include "queues/queue_select.h"
#include "runtime/base/error.h"
#include "runtime/base/refusal.h"
#include "runtime/base/text.h"
#include "runtime/base/wait.h"

static const char *const role_names[] = { "producer", "consumer" };

const char *peal_queue_role_name(uint32_t role)
{
	return role < 2 ? role_names[role] : "?";
}

/* Most times that peal_queue_info reads the counters until they agree. */
#define COUNT_LOOKS 1000

/* ---- making -------------------------------------------------------------- */

static void *zeroed(uint64_t bytes)
{
	void *p = NULL;

	if (posix_memalign(&p, PEAL_SHARED_LINE, bytes))
		return NULL;
	return memset(p, 0, bytes);
}

static int make_side(struct peal_queue *q, enum peal_queue_role role,
		     uint32_t most)
{
	struct peali_queue_side *s = &q->side[role];
	uint32_t i;

	s->most = most;
	s->end = zeroed(most * sizeof(*s->end));
	s->bells = zeroed(most * sizeof(*s->bells));
	s->counts = zeroed(most * sizeof(*s->counts));
	if (!s->end || !s->bells || !s->counts)
		return PEAL_ENOMEM;
	for (i = 0; i < most; i++) {
		s->end[i].queue = q;
		s->end[i].role = role;
		s->end[i].bell = &s->bells[i];
		s->end[i].count = &s->counts[i];
	}
	return 0;
}

static void take_down(struct peal_queue *q)
{
	int i;

	for (i = 0; i < 2; i++) {
		free(q->side[i].end);
		free(q->side[i].bells);
		free(q->side[i].counts);
	}
	free(q->memory);
	pthread_mutex_destroy(&q->lock);
	free(q);
}

/* Fills a queue from a plan, without its ends. */
static void begin(struct peal_queue *q, const struct peali_queue_plan *plan,
		  uint64_t each)
{
	pthread_mutexattr_t robust;

	pthread_mutexattr_init(&robust);
	pthread_mutexattr_setrobust(&robust, PTHREAD_MUTEX_ROBUST);
	pthread_mutex_init(&q->lock, &robust);
	pthread_mutexattr_destroy(&robust);
	q->kind = plan->kind;
	q->least = each;
	q->options = plan->options;
	q->bulk = plan->bulk;
	q->bytes = plan->bytes;
	q->stage = plan->stage;
	peali_text_fit(q->name, sizeof(q->name),
		       plan->options.name ? plan->options.name : "queue");
	q->options.name = q->name;
}

static int create(const struct peal_queue_options *options, uint64_t each,
		  struct peal_queue **queue_out, const char *call)
{
	struct peali_queue_plan plan = {
		.policies = peali_queue_policies(),
		.default_policy = PEAL_POLICY_SEQUENCE,
		.user = "this machine",
	};
	struct peal_queue *q;
	int result;

	if (!queue_out)
		return peali_refuse_null(call, "queue_out");
	result = peali_queue_select(&plan, options, each, call);
	if (result)
		return result;
	q = calloc(1, sizeof(*q));
	if (!q)
		return peali_fail(PEAL_ENOMEM, call, "no memory");
	begin(q, &plan, each);
	result = make_side(q, PEAL_QUEUE_PRODUCER, q->options.max_producers);
	if (!result)
		result = make_side(q, PEAL_QUEUE_CONSUMER,
				   q->options.max_consumers);
	q->memory = zeroed(q->bytes);
	if (result || !q->memory) {
		result = peali_fail(PEAL_ENOMEM, call,
				    "'%s': no memory for %llu bytes", q->name,
				    (unsigned long long)q->bytes);
		take_down(q);
		return result;
	}
	q->stages = q->memory + plan.stages;
	peali_queue_header(&plan, q->memory);
	q->kind->make(q);
	*queue_out = q;
	return 0;
}

int peal_queue_create(const struct peal_queue_options *options,
		      struct peal_queue **queue_out)
{
	return create(options, 0, queue_out, "peal_queue_create");
}

int peal_queue_create_of(const struct peal_queue_options *options,
			 uint64_t bytes, struct peal_queue **queue_out)
{
	const char *call = "peal_queue_create_of";

	if (!bytes)
		return PEALI_REFUSE(PEAL_EINVAL, call, .object = "argument",
				    .name = "bytes",
				    .problem = "is too small for a message",
				    .value = "0", .allowed = "1 or more",
				    .remedy = "use at least 1");
	return create(options, bytes, queue_out, call);
}

/* Returns the open ends of a role. */
static uint32_t open_ends(struct peal_queue *q, enum peal_queue_role role)
{
	struct peali_queue_side *s = &q->side[role];
	uint32_t n;

	peali_queue_lock(q);
	n = s->opened - s->closed;
	pthread_mutex_unlock(&q->lock);
	return n;
}

int peal_queue_destroy(struct peal_queue *q)
{
	uint32_t producers, consumers;

	if (!q)
		return 0;
	producers = open_ends(q, PEAL_QUEUE_PRODUCER);
	consumers = open_ends(q, PEAL_QUEUE_CONSUMER);
	if (producers + consumers)
		return peali_fail(PEAL_EBUSY, "peal_queue_destroy",
				  "'%s': %u producer%s and %u consumer%s are "
				  "open: close them first",
				  q->name, producers, peali_s(producers),
				  consumers, peali_s(consumers));
	take_down(q);
	return 0;
}

/* ---- ends ---------------------------------------------------------------- */

int peal_queue_open(struct peal_queue *q, enum peal_queue_role role,
		    struct peal_queue_end **end_out)
{
	struct peal_queue_end *end = NULL;
	struct peali_queue_side *s;
	uint32_t i, lost = 0;

	if (!q || !end_out)
		return peali_refuse_null("peal_queue_open", "queue or end_out");
	if ((uint32_t)role > PEAL_QUEUE_CONSUMER)
		return peali_refuse_range("peal_queue_open", "argument", "role",
					  (uint32_t)role, 0,
					  PEAL_QUEUE_CONSUMER);
	s = &q->side[role];
	peali_queue_lock(q);
	for (i = 0; i < s->most && !end; i++)
		if (s->end[i].lost)
			lost++;
		else if (!s->end[i].open)
			end = &s->end[i];
	if (end) {
		end->open = 1;
		s->opened++;
		if (q->kind->enter)
			q->kind->enter(end);
		atomic_store(&s->gone, s->broken);
	}
	pthread_mutex_unlock(&q->lock);
	if (!end && lost)
		return peali_fail(
			PEAL_EBUSY, "peal_queue_open",
			"'%s' is a %s with %u %s%s, and the threads of %u of "
			"them died inside of a call: %s",
			q->name, q->kind->name, s->most, role_names[role],
			peali_s(s->most), lost,
			role == PEAL_QUEUE_PRODUCER && q->kind->reclaim ?
				"close all producers, then open their ends "
				"again" :
				"its state is unknown, create another queue");
	if (!end)
		return peali_fail(PEAL_EBUSY, "peal_queue_open",
				  "'%s' is a %s with %u %s%s, and all are "
				  "open; close one, or raise the limit in "
				  "the options",
				  q->name, q->kind->name, s->most,
				  role_names[role], peali_s(s->most));
	*end_out = end;
	return 0;
}

int peal_queue_open_of(struct peal_queue *q, uint64_t bytes,
		       enum peal_queue_role role,
		       struct peal_queue_end **end_out)
{
	if (q && (!bytes || q->least != bytes))
		return PEALI_REFUSE(
			PEAL_EMSGSIZE, "peal_queue_open_of", .object = "queue",
			.name = q->name,
			.problem = PEALI_PRINT(
				"has messages of %s%llu bytes",
				q->least ? "" : "up to ",
				(unsigned long long)q->options.message_bytes),
			.number = bytes, .least = q->options.message_bytes,
			.most = q->options.message_bytes,
			.remedy = "open it with peal_queue_open");
	return peali_fail_in(peal_queue_open(q, role, end_out),
			     "peal_queue_open_of");
}

/* Leaves the queue. If the thread dies here, the call word shows that, and
 * another thread can close the end. */
static void depart(struct peal_queue_end *end)
{
	peali_call_enter(&end->count->calls);
	end->queue->kind->settle(end);
	if (end->queue->kind->leave)
		end->queue->kind->leave(end);
	peali_call_leave(&end->count->calls);
}

int peal_queue_close(struct peal_queue_end *end)
{
	struct peali_queue_side *s;
	struct peal_queue *q;
	int other, died;

	if (!end)
		return 0;
	q = end->queue;
	if (!end->open)
		return peali_fail(PEAL_EINVAL, "peal_queue_close",
				  "an end of '%s' is closed already", q->name);
	s = &q->side[end->role];
	other = !end->role;
	died = peali_call_inside(peali_call_note(&end->count->calls));
	if (!died)
		depart(end);
	peali_queue_lock(q);
	if (died)
		peali_queue_owner_died(end);
	/* a dead thread may have left both words set */
	atomic_store(&end->busy, 0);
	peal_store_relaxed_sys_u32(&end->bell->asleep, 0);
	end->open = 0;
	s->closed++;
	if (end->role == PEAL_QUEUE_PRODUCER && s->closed == s->opened)
		peali_queue_reclaim_lock(q);
	/* release: a thread that reads 1 sees all messages of the end */
	atomic_store(&s->gone, s->broken || s->closed == s->opened);
	pthread_mutex_unlock(&q->lock);
	peali_queue_ring(q, (enum peal_queue_role)other, PEAL_QUEUE_ENDS);
	if (atomic_load(&q->owed)) /* return_owed() */
		peali_queue_ring(q, PEAL_QUEUE_PRODUCER, PEAL_QUEUE_ENDS);
	return 0;
}

void peali_queue_ring(struct peal_queue *q, enum peal_queue_role role,
		      uint32_t n)
{
	struct peali_queue_side *s = &q->side[role];
	uint32_t i;

	peal_compiler_barrier();
	for (i = 0; i < s->most && n; i++)
		if (peal_load_relaxed_sys_u32(&s->bells[i].asleep)) {
			peal_host_wake(&s->bells[i]);
			n--;
		}
}

/* Returns 1 if all opened ends of a role are closed, or the role is broken. */
static int all_closed(const struct peal_queue *q, enum peal_queue_role role)
{
	return atomic_load_explicit(&q->side[role].gone, memory_order_acquire);
}

/* ---- putting and taking -------------------------------------------------- */

static PEAL_INLINE int check_end(const struct peal_queue_end *end,
				 uint32_t role, const void *data,
				 uint64_t bytes, uint32_t n, const char *call)
{
	if (!end || (!data && bytes))
		return peali_refuse_null(call, "end or data");
	if (end->role != role)
		return peali_fail(PEAL_EINVAL, call,
				  "'%s': this end is for a %s (producers "
				  "push, consumers pop)",
				  end->queue->name, role_names[end->role]);
	if (PEAL_UNLIKELY(!end->open))
		return peali_fail(PEAL_EINVAL, call,
				  "'%s': this end is closed; open another",
				  end->queue->name);
	if (n < 1 || n > PEAL_QUEUE_BURST)
		return PEALI_REFUSE(PEAL_EINVAL, call, .object = "argument",
				    .name = "n", .number = n, .least = 1,
				    .most = PEAL_QUEUE_BURST);
	return 0;
}

/* Claims the end for the calling thread until leave(). 0 or PEAL_EBUSY. */
static int enter(struct peal_queue_end *end, const char *call)
{
	if (PEALI_QUEUE_CHECKED && atomic_exchange(&end->busy, 1))
		return peali_fail(PEAL_EBUSY, call,
				  "'%s': another thread is in a call on this "
				  "end; open one end for each thread",
				  end->queue->name);
	return 0;
}

static void leave(struct peal_queue_end *end)
{
	if (PEALI_QUEUE_CHECKED)
		atomic_store(&end->busy, 0);
}

static void count(struct peal_queue_end *end, uint64_t n)
{
	uint64_t *messages = &end->count->messages;

	peal_store_release_sys(messages, peal_load_relaxed_sys(messages) + n);
}

uint64_t peali_queue_count(const struct peal_queue *q,
			   enum peal_queue_role role)
{
	const struct peali_queue_side *s = &q->side[role];
	uint64_t n = 0;
	uint32_t i;

	for (i = 0; i < s->most; i++)
		n += peal_load_acquire_sys(&s->counts[i].messages);
	return n;
}

static int push_failed(const struct peal_queue_end *end, uint64_t bytes,
		       uint32_t n, int result, const char *call)
{
	const struct peal_queue *q = end->queue;

	switch (result) {
	case PEAL_EAGAIN:
		return result;
	case PEAL_ETIMEDOUT:
		return peali_fail(result, call,
				  "'%s' is full; pop from it, wait longer, "
				  "or raise capacity in the options",
				  q->name);
	case PEAL_EPIPE:
		return peali_fail(result, call,
				  q->side[PEAL_QUEUE_CONSUMER].broken ?
					  "a consumer of '%s' died inside of "
					  "a call, with messages that it had "
					  "claimed; create another queue" :
					  "every consumer of '%s' is closed",
				  q->name);
	case PEAL_EMSGSIZE:
		if (n > q->bulk)
			return PEALI_REFUSE(
				result, call, .object = "queue",
				.name = q->name,
				.problem = PEALI_PRINT(
					"is a %s of %u slot%s, too few "
					"for the messages at a time",
					q->kind->name, q->options.capacity,
					peali_s(q->options.capacity)),
				.number = n, .least = 1, .most = q->bulk,
				.remedy = "push fewer, or raise capacity "
					  "in the options");
		if (bytes <= q->options.message_bytes && !q->least)
			return PEALI_REFUSE(
				result, call, .object = "queue",
				.name = q->name,
				.problem = "has messages that are longer "
					   "than a slot",
				.value = PEALI_PRINT("%llu bytes",
						     (unsigned long long)bytes),
				.allowed = "single messages of this length",
				.remedy = "push one at a time");
		return PEALI_REFUSE(
			result, call, .object = "queue", .name = q->name,
			.problem = PEALI_PRINT(
				"is a %s, and the message is %s", q->kind->name,
				q->least ? "of another length" : "too long"),
			.value = PEALI_PRINT("%llu bytes",
					     (unsigned long long)bytes),
			.allowed = PEALI_PRINT(
				"%s%llu", q->least ? "" : "0..",
				(unsigned long long)q->options.message_bytes),
			.remedy = "set message_bytes in the options");
	default:
		return peali_fail(result, call, "'%s' is damaged", q->name);
	}
}

/* Passes held-back slots to the other ends. Called before a wait. */
static void settle(struct peal_queue_end *end)
{
	peali_call_enter(&end->count->calls);
	end->queue->kind->settle(end);
	peali_call_leave(&end->count->calls);
}

/* Tries to push n messages once, and counts them. */
static PEAL_INLINE int try_push(struct peal_queue_end *end, const void *data,
				uint64_t bytes, uint32_t n)
{
	uint64_t *calls = &end->count->calls;
	struct peal_queue *q = end->queue;
	int result;

	if (PEAL_UNLIKELY(all_closed(q, PEAL_QUEUE_CONSUMER)) &&
	    !q->kind->to_each)
		return PEAL_EPIPE;
	peali_call_enter(calls);
	result = q->kind->push(end, data, bytes, n);
	if (PEAL_LIKELY(!result))
		count(end, n);
	peali_call_leave(calls);
	return result;
}

/* Waits for free slots, at most timeout_ns, and pushes. */
static PEAL_NOINLINE int push_later(struct peal_queue_end *end,
				    const void *data, uint64_t bytes,
				    uint32_t n, int64_t timeout_ns)
{
	struct peali_bell_wait wait;
	int result;

	peali_bell_wait_begin(&wait, end->bell, 0, timeout_ns);
	do {
		settle(end);
		result = peali_bell_wait_turn(&wait);
		if (result)
			break;
		result = try_push(end, data, bytes, n);
	} while (result == PEAL_EAGAIN);
	peali_bell_wait_end(&wait);
	return result;
}

static PEAL_INLINE int push(struct peal_queue_end *end, const void *data,
			    uint64_t bytes, uint32_t n, int64_t timeout_ns,
			    const char *call)
{
	char none = 0;
	int result;

	/* the kind refuses longer messages */
	if (PEAL_UNLIKELY(bytes < end->queue->least))
		return push_failed(end, bytes, n, PEAL_EMSGSIZE, call);
	if (!data)
		data = &none; /* bytes is 0 */
	result = try_push(end, data, bytes, n);
	if (PEAL_LIKELY(!result))
		return 0;
	if (result == PEAL_EAGAIN)
		result = push_later(end, data, bytes, n, timeout_ns);
	return result ? push_failed(end, bytes, n, result, call) : 0;
}

int peal_queue_push_bulk(struct peal_queue_end *end, const void *data,
			 uint64_t bytes, uint32_t n, int64_t timeout_ns)
{
	const char *call = "peal_queue_push_bulk";
	int result = check_end(end, PEAL_QUEUE_PRODUCER, data, bytes, n, call);

	if (!result && n > end->queue->bulk)
		return push_failed(end, bytes, n, PEAL_EMSGSIZE, call);
	if (!result)
		result = enter(end, call);
	if (result)
		return result;
	result = push(end, data, bytes, n, timeout_ns, call);
	leave(end);
	return result;
}

int peal_queue_push(struct peal_queue_end *end, const void *data,
		    uint64_t bytes, int64_t timeout_ns)
{
	const char *call = "peal_queue_push";
	int result = check_end(end, PEAL_QUEUE_PRODUCER, data, bytes, 1, call);

	if (!result)
		result = enter(end, call);
	if (result)
		return result;
	result = push(end, data, bytes, 1, timeout_ns, call);
	leave(end);
	return result;
}

static int pop_failed(const struct peal_queue_end *end, uint64_t each,
		      const uint64_t *needed, int result, const char *call)
{
	const char *name = end->queue->name;

	switch (result) {
	case PEAL_EAGAIN:
	case PEAL_EEND:
		return result;
	case PEAL_ETIMEDOUT:
		return peali_fail(result, call,
				  "'%s' is empty; push to it, or wait longer",
				  name);
	case PEAL_EMSGSIZE:
		return peali_refuse_buffer(call, "queue", name, each, *needed);
	default:
		return peali_fail(result, call, "'%s' is damaged", name);
	}
}

/*
 * Returns 1 if all producers are closed and no message remains for the
 * consumer.
 */
static int ended(const struct peal_queue_end *end)
{
	const struct peali_queue_kind *kind = end->queue->kind;

	return all_closed(end->queue, PEAL_QUEUE_PRODUCER) &&
	       (!kind->drained || kind->drained(end));
}

/* Pops the available messages and counts them. Returns as the kind's `pop`. */
static PEAL_INLINE int take(struct peal_queue_end *end, void *buffer,
			    uint64_t each, uint32_t n, uint64_t *lengths)
{
	uint64_t *calls = &end->count->calls;
	int result;

	peali_call_enter(calls);
	result = end->queue->kind->pop(end, buffer, each, n, lengths);
	if (PEAL_LIKELY(result > 0))
		count(end, (uint64_t)result);
	peali_call_leave(calls);
	return result;
}

/*
 * Pops the available messages. First gives up tickets of dead producers, which
 * hide later messages. Returns PEAL_EEND at the end of the stream.
 */
static int take_last(struct peal_queue_end *end, void *buffer, uint64_t each,
		     uint32_t n, uint64_t *lengths)
{
	/* Read `gone` first: if it is 1, take() sees all messages. */
	int gone = all_closed(end->queue, PEAL_QUEUE_PRODUCER), result;

	do
		result = take(end, buffer, each, n, lengths);
	while (result == PEAL_EAGAIN && peali_queue_recover(end));
	if (result == PEAL_EAGAIN && gone && !atomic_load(&end->queue->died) &&
	    ended(end))
		return PEAL_EEND;
	return result;
}

/* Tries to pop once. */
static PEAL_INLINE int try_pop(struct peal_queue_end *end, void *buffer,
			       uint64_t each, uint32_t n, uint64_t *lengths)
{
	struct peal_queue *q = end->queue;
	int result = take(end, buffer, each, n, lengths);

	if (PEAL_UNLIKELY(result == PEAL_EAGAIN) &&
	    (all_closed(q, PEAL_QUEUE_PRODUCER) || atomic_load(&q->died)))
		result = take_last(end, buffer, each, n, lengths);
	return result;
}

/* Waits for a message, at most timeout_ns, and pops. */
static PEAL_NOINLINE int pop_later(struct peal_queue_end *end, void *buffer,
				   uint64_t each, uint32_t n, uint64_t *lengths,
				   int64_t timeout_ns)
{
	struct peali_bell_wait wait;
	int result;

	peali_bell_wait_begin(&wait, end->bell, 0, timeout_ns);
	do {
		settle(end);
		result = peali_bell_wait_turn(&wait);
		if (result)
			break;
		result = try_pop(end, buffer, each, n, lengths);
	} while (result == PEAL_EAGAIN);
	peali_bell_wait_end(&wait);
	return result;
}

static PEAL_INLINE int pop(struct peal_queue_end *end, void *buffer,
			   uint64_t each, uint32_t n, uint64_t *lengths,
			   int64_t timeout_ns, const char *call)
{
	char none = 0;
	int result;

	if (!buffer)
		buffer = &none; /* each is 0 */
	result = try_pop(end, buffer, each, n, lengths);
	if (PEAL_UNLIKELY(result == PEAL_EAGAIN))
		result = pop_later(end, buffer, each, n, lengths, timeout_ns);
	if (PEAL_UNLIKELY(result <= 0))
		return pop_failed(end, each, lengths, result, call);
	/* wake the consumers that waited for the last messages */
	if (PEAL_UNLIKELY(ended(end)))
		peali_queue_ring(end->queue, PEAL_QUEUE_CONSUMER,
				 PEAL_QUEUE_ENDS);
	return result;
}

int peal_queue_pop_burst(struct peal_queue_end *end, void *buffer,
			 uint64_t bytes, uint32_t n, uint64_t *lengths_out,
			 int64_t timeout_ns)
{
	const char *call = "peal_queue_pop_burst";
	uint64_t lengths[PEAL_QUEUE_BURST];
	int result =
		check_end(end, PEAL_QUEUE_CONSUMER, buffer, bytes, n, call);

	if (!result)
		result = enter(end, call);
	if (result)
		return result;
	result = pop(end, buffer, bytes, n, lengths_out ? lengths_out : lengths,
		     timeout_ns, call);
	leave(end);
	return result;
}

int peal_queue_pop(struct peal_queue_end *end, void *buffer,
		   uint64_t buffer_bytes, uint64_t *length_out,
		   int64_t timeout_ns)
{
	const char *call = "peal_queue_pop";
	uint64_t length = 0;
	int result = check_end(end, PEAL_QUEUE_CONSUMER, buffer, buffer_bytes,
			       1, call);

	if (!result)
		result = enter(end, call);
	if (result)
		return result;
	result = pop(end, buffer, buffer_bytes, 1, &length, timeout_ns, call);
	leave(end);
	if (length_out && (result > 0 || result == PEAL_EMSGSIZE))
		*length_out = length;
	return result > 0 ? 0 : result;
}

/* ---- counters ------------------------------------------------------------ */

/*
 * Reads the counters.
 *
 * The producers' counters come first. Otherwise messages that arrive between
 * the two reads would appear as queued.
 *
 * An end counts a message shortly after it has put or taken the message. So a
 * message may be counted as delivered before it is counted as accepted. Or it
 * may be counted as queued after another message has reused its slot. The loop
 * and the limits below correct both errors.
 */
static void count_messages(const struct peal_queue *q,
			   struct peal_queue_info *info)
{
	uint64_t in, out;
	uint32_t looks = 0;

	do {
		in = peali_queue_count(q, PEAL_QUEUE_PRODUCER);
		out = peali_queue_count(q, PEAL_QUEUE_CONSUMER);
	} while (!q->kind->to_each && in < out && ++looks < COUNT_LOOKS);
	if (!q->kind->to_each) {
		if (in < out)
			in = out;
		if (in - out > q->options.capacity)
			out = in - q->options.capacity;
		info->queued = in - out;
	}
	info->accepted = in;
	info->delivered = out;
}

int peal_queue_info(struct peal_queue *q, struct peal_queue_info *info_out)
{
	if (!q || !info_out)
		return peali_refuse_null("peal_queue_info",
					 "queue or info_out");
	memset(info_out, 0, sizeof(*info_out));
	info_out->kind = q->kind->kind;
	info_out->capacity = q->options.capacity;
	info_out->message_bytes = q->options.message_bytes;
	info_out->memory_bytes = q->bytes;
	info_out->producers = open_ends(q, PEAL_QUEUE_PRODUCER);
	info_out->consumers = open_ends(q, PEAL_QUEUE_CONSUMER);
	count_messages(q, info_out);
	return 0;
}

uint64_t peal_queue_missed(const struct peal_queue_end *end)
{
	if (!end || end->role != PEAL_QUEUE_CONSUMER ||
	    !end->queue->kind->missed)
		return 0;
	return end->queue->kind->missed(end);
}
