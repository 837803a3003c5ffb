/* SPDX-License-Identifier: Apache-2.0 */
/* Handlers that reply to requests in all possible ways. */
#define PEAL_USES PEAL_USE_ALL
#include <peal/device/kernel.h>

#include "../requests.h"

struct served {
	uint64_t later; /* a request without a reply; 0: none */
	struct ask its;
	uint8_t bytes[4096];
};

static PEAL_DEV struct told to_it(const struct peal_worker *w,
				  const struct ask *ask)
{
	struct told t;

	t.number = ask->number;
	t.twice = 2 * ask->number;
	t.self = peal_self(w);
	t.seen = peal_length(w);
	return t;
}

/* Replies with n bytes of a known pattern. */
static PEAL_DEV int reply_bytes(struct peal_worker *w, struct served *s,
				uint64_t n)
{
	uint64_t i;

	for (i = peal_lane(w); i < n; i += peal_lanes(w))
		s->bytes[i] = (uint8_t)(i * 7 + n);
	peal_sync(w);
	return peal_reply(w, 0, told_number, s->bytes, n);
}

/* Sends the delayed reply. */
static PEAL_DEV int reply_late(struct peal_worker *w, struct served *s)
{
	struct told t = to_it(w, &s->its);
	uint64_t request = s->later;

	peal_sync(w);
	if (peal_is_leader(w))
		s->later = 0;
	return peal_reply_to(w, 0, request, told_number, &t, sizeof(t));
}

static PEAL_DEV int serve(struct peal_worker *w)
{
	struct served *s = (struct served *)peal_state(w);
	const struct ask *ask = ask_data(w);
	struct told t;

	if (!ask)
		return peal_reply_error(w, 0, PEAL_EPROTO);
	if (s->later && reply_late(w, s))
		return PEAL_EPROTO;
	t = to_it(w, ask);
	peal_sync(w); /* all lanes have read s->later */
	switch (ask->what) {
	case ASK_TWICE:
		return told_reply(w, 0, &t);
	case ASK_BOTH:
		return told_reply(w, 0, &t) || told_reply(w, 0, &t) ?
			       PEAL_EPROTO :
			       0;
	case ASK_REFUSAL:
		return peal_reply_error(w, 0, (int)ask->number);
	case ASK_FAILURE:
		return PEAL_EIO;
	case ASK_KEPT:
		return peal_request_current(w) ? 0 : PEAL_EPROTO;
	case ASK_CHECKED:
		return peal_request_is_current(w) ? 0 : PEAL_EPROTO;
	case ASK_REPLY_FAILURE:
		return told_reply(w, 0, &t) ? PEAL_EPROTO : PEAL_EIO;
	case ASK_LATER:
		if (peal_is_leader(w)) {
			s->later = peal_request_current(w);
			s->its = *ask;
		}
		return 0;
	case ASK_PLAIN:
		return told_emit(w, 0, &t, 0);
	case ASK_BYTES:
		return reply_bytes(w, s, ask->number);
	case ASK_TOLD:
		return peal_request_forward(w, ask->actor, 0);
	default:
		return 0;
	}
}

/* Replies in one way to each request. */
static PEAL_DEV int member(struct peal_worker *w)
{
	const struct ask *ask = ask_data(w);
	struct told t;

	if (!ask)
		return PEAL_EPROTO;
	t = to_it(w, ask);
	return told_reply(w, 0, &t);
}

/* Passes requests on by a link. Fails on a message that is not a request. */
static PEAL_DEV int pass(struct peal_worker *w)
{
	return peal_reply_to(w, 0, peal_request_current(w), peal_type(w),
			     peal_data(w), peal_length(w));
}

#define HANDLERS(X)                                                            \
	X(serve, sizeof(struct served), PEAL_LIMITS(1, 2, 1, 0, 0))            \
	X(member, 0, PEAL_EMITS(1, 1))                                         \
	X(pass, 0, PEAL_EMITS(1, 1))
PEAL_PROGRAM(requests, HANDLERS);
