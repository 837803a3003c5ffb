/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_TESTS_ASK_HANDLERS_H
#define PEAL_TESTS_ASK_HANDLERS_H

#include <peal/device/kernel.h>

#include "asks.h"

/* Handlers of programs/asks.c and ask_pools.c: actors that ask each other. */

static PEAL_DEV struct asks_state *ask_state(struct peal_worker *w)
{
	return (struct asks_state *)peal_state(w);
}

/* ---- the asking actor ---------------------------------------------------- */

static PEAL_DEV void ask_note(struct peal_worker *w, uint64_t number,
			      uint64_t value)
{
	struct asks_state *s = ask_state(w);
	uint32_t i;

	for (i = 0; peal_is_leader(w) && i < ASKS_OPEN; i++) {
		if (s->open[i])
			continue;
		s->open[i] = number;
		s->value[i] = value;
		s->asked_ns[i] = peal_clock_ns();
		break;
	}
	peal_sync(w);
}

static PEAL_DEV int ask_ordered(struct peal_worker *w)
{
	struct asks_order o = *(const struct asks_order *)peal_data(w);
	struct asks_ordered out = { 0, 0 };
	uint64_t number = 0;
	uint32_t i;

	if (peal_is_leader(w))
		ask_state(w)->order_in = o;
	o.request.from = peal_self(w);
	for (i = 0; i < o.n; i++) {
		out.result = peal_ask(w, o.to, ASKS_REQUEST, &o.request,
				      o.bytes ? o.bytes : sizeof(o.request),
				      ASKS_ANSWER, o.timeout_ns, &number);
		if (out.result)
			break;
		out.n++;
		ask_note(w, number, o.request.value++);
	}
	return peal_emit(w, 0, ASKS_ORDER, &out, sizeof(out), 0);
}

static PEAL_DEV int ask_later(struct peal_worker *w)
{
	struct peal_send_options later = PEAL_SEND_OPTIONS;
	struct asks_ordered out = { 0, 0 };
	uint64_t value = 0;

	later.delay_ns = *(const uint64_t *)peal_data(w);
	out.result = peal_tell(w, peal_self(w), ASKS_PLAIN, &value,
			       sizeof(value), &later);
	return peal_emit(w, 0, ASKS_ORDER, &out, sizeof(out), 0);
}

/* Finds the ask of the current answer, and counts the answer by its outcome.
 * Only the leader calls it. */
static PEAL_DEV void ask_look(struct peal_worker *w, struct asks_answer *out)
{
	uint64_t number = peal_answer_current(w), now = peal_clock_ns();
	struct asks_state *s = ask_state(w);
	uint32_t i;

	out->error = peal_answer_error(w);
	if (!out->error && peal_length(w) == sizeof(uint64_t))
		out->value = *(const uint64_t *)peal_data(w);
	for (i = 0; i < ASKS_OPEN && s->open[i] != number; i++)
		;
	s->order = (s->order * 10 + 9) % 1000;
	if (i == ASKS_OPEN || !number) {
		s->unknown++;
		return;
	}
	out->known = 1;
	out->late_ns = now - s->asked_ns[i];
	s->open[i] = 0;
	if (out->error)
		s->errors++;
	else if (out->value == 2 * s->value[i] + 1)
		s->replies++;
	else
		s->wrong++;
}

static PEAL_DEV int ask_answered(struct peal_worker *w)
{
	struct asks_answer out = { 0, 0, 0, 0 };
	struct asks_order again = ask_state(w)->order_in;
	uint64_t number = 0;
	int result = 0;

	peal_sync(w);
	if (peal_is_leader(w))
		ask_look(w, &out);
	out.error = (int64_t)peal_broadcast(w, (uint64_t)out.error);
	out.value = peal_broadcast(w, out.value);
	out.known = peal_broadcast(w, out.known);
	out.late_ns = peal_broadcast(w, out.late_ns);
	if (again.again) {
		again.request.from = peal_self(w);
		result = peal_ask(w, again.to, ASKS_REQUEST, &again.request,
				  sizeof(again.request), ASKS_ANSWER,
				  again.timeout_ns, &number);
		if (peal_is_leader(w))
			ask_state(w)->order_in.again--;
		if (!result)
			ask_note(w, number, again.request.value);
	}
	if (again.quiet || result)
		return result;
	return peal_emit(w, 0, ASKS_ANSWER, &out, sizeof(out), 0);
}

/* ---- the asked actor ----------------------------------------------------- */

static PEAL_DEV int ask_reply(struct peal_worker *w, uint64_t number,
			      uint64_t value)
{
	value = 2 * value + 1;
	return peal_reply_to(w, 77, number, ASKS_REPLIED, &value,
			     sizeof(value));
}

static PEAL_DEV int ask_keep(struct peal_worker *w, uint64_t value)
{
	if (peal_is_leader(w)) {
		ask_state(w)->kept = peal_request_current(w);
		ask_state(w)->kept_value = value;
	}
	peal_sync(w);
	return 0;
}

static PEAL_DEV int ask_tell(struct peal_worker *w,
			     const struct asks_request *in)
{
	uint64_t first = 1, second = 2;
	int result =
		peal_tell(w, in->from, ASKS_PLAIN, &first, sizeof(first), 0);

	if (!result)
		result = ask_reply(w, peal_request_current(w), in->value);
	if (!result)
		result = peal_tell(w, in->from, ASKS_PLAIN, &second,
				   sizeof(second), 0);
	return result;
}

/* Notes that the ask `number` serves the current request. */
static PEAL_DEV int ask_chain(struct peal_worker *w, uint64_t number,
			      uint64_t value)
{
	struct asks_state *s = ask_state(w);
	uint32_t i;

	for (i = 0; i < ASKS_TELLS && s->chain[i]; i++)
		;
	if (i == ASKS_TELLS)
		return PEAL_ENOSPC;
	peal_sync(w);
	if (peal_is_leader(w)) {
		s->chain[i] = number;
		s->chain_request[i] = peal_request_current(w);
		s->chain_value[i] = value;
	}
	peal_sync(w);
	return 0;
}

/* Replies to the request that the answered ask serves. */
static PEAL_DEV int ask_chained(struct peal_worker *w)
{
	struct asks_state *s = ask_state(w);
	uint64_t number = peal_answer_current(w), request, value;
	uint32_t i;

	for (i = 0; i < ASKS_TELLS && s->chain[i] != number; i++)
		;
	if (i == ASKS_TELLS)
		return 0; /* the actor has restarted without its notes */
	request = s->chain_request[i];
	value = s->chain_value[i];
	peal_sync(w);
	if (peal_is_leader(w)) {
		s->chain[i] = 0;
		s->wrong += !peal_answer_error(w) &&
			    *(const uint64_t *)peal_data(w) != 2 * value + 1;
	}
	return ask_reply(w, request, value);
}

/* Serves a request by tells, a delegation or an ask. These take capacity of
 * mailboxes. */
static PEAL_DEV int ask_serve_by(struct peal_worker *w,
				 const struct asks_request *in)
{
	struct asks_request next = *in;
	uint64_t number = 0;
	int result;

	if (in->how == ASKS_TELL)
		return ask_tell(w, in);
	if (in->how == ASKS_DELEGATE && in->other != peal_self(w))
		return peal_request_forward(w, in->other, 0);
	if (in->how == ASKS_DELEGATE)
		return ask_reply(w, peal_request_current(w), in->value);
	next.how = ASKS_REPLY;
	result = peal_ask(w, in->other, ASKS_REQUEST, &next, sizeof(next),
			  ASKS_CHAINED, 1000000000, &number);
	return result ? result : ask_chain(w, number, in->value);
}

static PEAL_DEV int ask_serve(struct peal_worker *w)
{
	struct asks_request in = *(const struct asks_request *)peal_data(w);
	uint64_t number, scratch[64] = { 0 };

	if (peal_is_leader(w))
		ask_state(w)->requests++;
	if (in.how == ASKS_IGNORE)
		return peal_request_is_current(w) ? 0 : PEAL_EPROTO;
	number = peal_request_current(w);
	switch (in.how) {
	case ASKS_REPLY:
		return ask_reply(w, number, in.value);
	case ASKS_REFUSE:
		return peal_reply_error(w, 77, in.error);
	case ASKS_KEEP:
		return ask_keep(w, in.value);
	case ASKS_FAIL:
		return PEAL_EPERM;
	case ASKS_TWICE:
		return ask_reply(w, number, in.value) ||
		       ask_reply(w, number, in.value + 1);
	case ASKS_LONG:
		if (peal_reply(w, 77, 0, scratch, sizeof(scratch)) !=
		    PEAL_EMSGSIZE)
			return PEAL_EPROTO;
		return ask_reply(w, number, in.value);
	case ASKS_BOTH:
		return ask_reply(w, number, in.value) ? 0 : PEAL_EPERM;
	default:
		return ask_serve_by(w, &in);
	}
}

/* Replies to the kept request. Fails with PEAL_EINVAL if none was kept. */
static PEAL_DEV int ask_release(struct peal_worker *w)
{
	return ask_reply(w, ask_state(w)->kept, ask_state(w)->kept_value);
}

static PEAL_DEV int ask_plain(struct peal_worker *w)
{
	uint64_t value = *(const uint64_t *)peal_data(w);

	if (peal_is_leader(w)) {
		ask_state(w)->order = (ask_state(w)->order * 10 + value) % 1000;
		ask_state(w)->last = value;
	}
	return 0;
}

/* An actor that asks, replies, and asks other actors before it replies. */
static PEAL_DEV int party(struct peal_worker *w)
{
	switch (peal_type(w)) {
	case ASKS_ORDER:
		return ask_ordered(w);
	case ASKS_REQUEST:
		return ask_serve(w);
	case ASKS_ANSWER:
		return ask_answered(w);
	case ASKS_CHAINED:
		return ask_chained(w);
	case ASKS_RELEASE:
		return ask_release(w);
	case ASKS_PLAIN:
		return ask_plain(w);
	case ASKS_TIMER:
		return ask_later(w);
	default:
		return PEAL_EPERM;
	}
}

/* An actor that only replies. It declares no tells, because a reply takes no
 * capacity of mailboxes. */
static PEAL_DEV int server(struct peal_worker *w)
{
	if (peal_type(w) == ASKS_REQUEST)
		return ask_serve(w);
	if (peal_type(w) == ASKS_RELEASE)
		return ask_release(w);
	if (peal_type(w) == ASKS_PLAIN)
		return ask_plain(w);
	return PEAL_EPERM;
}

/* As `server`, but never runs: no link leaves its port. */
static PEAL_DEV int mute(struct peal_worker *w)
{
	return server(w);
}

#define ASK_HANDLERS(X)                                                        \
	X(party, sizeof(struct asks_state),                                    \
	  PEAL_LIMITS(1, 1, ASKS_TELLS, 0, 0))                                 \
	X(server, sizeof(struct asks_state), PEAL_SINK)                        \
	X(mute, sizeof(struct asks_state), PEAL_EMITS(1, 1))

#endif
