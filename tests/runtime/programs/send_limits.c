/* SPDX-License-Identifier: Apache-2.0 */
/* An actor that makes a call of a handler as often as an order says. */
#define PEAL_USES PEAL_USE_ALL
#define PEAL_CHECK_LIMITS 1 /* a GPU checks limits only with it */
#include <peal/device/kernel.h>

#include "../send_limits.h"

#define HANDLERS(X)                                                            \
	X(maker, sizeof(struct send_state),                                    \
	  PEAL_LIMITS(2, SEND_EMITS, SEND_TELLS, 0, 0))                        \
	X(counter, sizeof(struct send_state), PEAL_SINK)
PEAL_HANDLERS(HANDLERS);

static PEAL_DEV int counter(struct peal_worker *w)
{
	if (peal_is_leader(w))
		((struct send_state *)peal_state(w))->counted++;
	return 0;
}

static PEAL_DEV int reserve(struct peal_worker *w, uint32_t port, int commit)
{
	void *place = 0;
	int result = peal_reserve(w, port, sizeof(uint64_t), &place);

	if (result || !commit)
		return result;
	if (peal_is_leader(w))
		*(uint64_t *)place = 7;
	peal_commit(w, port, CALL_COUNT, sizeof(uint64_t));
	return 0;
}

/* Calls that send by a port. */
static PEAL_DEV int emit_once(struct peal_worker *w, const struct send_order *o)
{
	struct peal_send_options late = PEAL_SEND_OPTIONS;
	struct peal_send_options by_port = PEAL_SEND_OPTIONS;
	uint64_t n = 7;

	late.deadline = ~0ULL >> 1;
	by_port.by_port = 1;
	switch (peal_type(w)) {
	case CALL_EMIT:
		return peal_emit(w, o->port, CALL_COUNT, &n, sizeof(n), 0);
	case CALL_EMIT_TO:
		return peal_emit_to(w, o->port, o->to, CALL_COUNT, &n,
				    sizeof(n), 0);
	case CALL_EMIT_DEADLINE:
		return peal_emit(w, o->port, CALL_COUNT, &n, sizeof(n), &late);
	case CALL_REPLY:
		return peal_reply_to(w, o->port, 5, CALL_COUNT, &n, sizeof(n));
	case CALL_FORWARD_BY_PORT:
		return peal_request_forward(w, o->port, &by_port);
	default:
		return reserve(w, o->port, peal_type(w) == CALL_RESERVE);
	}
}

/* Calls that send to an actor of the kernel. */
static PEAL_DEV int tell_once(struct peal_worker *w, const struct send_order *o)
{
	struct peal_send_options late = PEAL_SEND_OPTIONS;
	struct peal_send_options high = PEAL_SEND_OPTIONS;
	uint64_t n = 7;

	late.deadline = ~0ULL >> 1;
	high.priority = PEAL_PRIORITY_HIGH;
	switch (peal_type(w)) {
	case CALL_TELL:
		return peal_tell(w, o->to, CALL_COUNT, &n, sizeof(n), 0);
	case CALL_TELL_PRIORITY:
		return peal_tell(w, o->to, CALL_COUNT, &n, sizeof(n), &high);
	case CALL_TELL_DEADLINE:
		return peal_tell(w, o->to, CALL_COUNT, &n, sizeof(n), &late);
	case CALL_ASK:
		return peal_ask(w, o->to, CALL_COUNT, &n, sizeof(n), CALL_COUNT,
				1000000000, 0);
	default:
		return peal_request_forward(w, o->to, 0);
	}
}

static PEAL_DEV int once(struct peal_worker *w, const struct send_order *o)
{
	struct peal_send_options later = PEAL_SEND_OPTIONS;
	uint64_t n = 7;

	switch (peal_type(w)) {
	case CALL_TIMER:
		later.delay_ns = ~0ULL >> 2;
		return peal_tell(w, peal_self(w), CALL_COUNT, &n, sizeof(n),
				 &later);
	case CALL_SPAWN:
		return peal_spawn(w, PEAL_HANDLER(counter), 0, 0, 0, 0);
	case CALL_MONITOR:
		return peal_monitor_set(w, o->to, 0, CALL_COUNT, 0, 0);
	default:
		return peal_type(w) < CALL_TELL ? emit_once(w, o) :
						  tell_once(w, o);
	}
}

static PEAL_DEV int maker(struct peal_worker *w)
{
	struct send_state *s = (struct send_state *)peal_state(w);
	struct send_order o;
	uint64_t i, succeeded = 0;
	int result = 0, each;

	if (peal_type(w) == CALL_COUNT) /* the answer of an ask */
		return 0;
	o = *(const struct send_order *)peal_data(w);
	for (i = 0; i < o.times; i++) {
		if (o.both_ports)
			o.port = (uint32_t)i % 2;
		each = once(w, &o);
		succeeded += each == 0;
		if (each && !result)
			result = each;
	}
	peal_sync(w);
	if (peal_is_leader(w)) {
		s->runs++;
		s->succeeded = succeeded;
		s->result = result;
	}
	return 0;
}
PEAL_PROGRAM(send_limits, HANDLERS);
