/* SPDX-License-Identifier: Apache-2.0 */
/* Servers with several clients, which reply to the sender of each query. */
#define PEAL_USES PEAL_USE_ALL
#define PEAL_CHECK_LIMITS 1 /* a GPU checks limits only with it */
#include <peal/device/kernel.h>

#include "../senders.h"

/* The query that a server keeps. */
struct kept {
	uint64_t request; /* 0: none */
	struct senders_reply reply;
};

/* Returns the options that an order asks for. */
static PEAL_DEV struct peal_send_options options_of(uint32_t how)
{
	struct peal_send_options o = PEAL_SEND_OPTIONS;

	o.with_sender = how & SENDERS_NAMED ? 1 : 0;
	o.priority = how & SENDERS_HIGH ? PEAL_PRIORITY_HIGH : 0;
	o.deadline = how & SENDERS_TIMED ? PEAL_DEADLINE_NEVER : 0;
	o.delay_ns = how & SENDERS_LATER ? 1 : 0;
	return o;
}

/* Reports to the host by port 0. */
static PEAL_DEV int report(struct peal_worker *w, struct senders_reply r,
			   int result)
{
	r.result = result;
	return peal_emit(w, 0, SENDERS_REPORT, &r, sizeof(r), 0);
}

/* Reports a reply, or an order that could not be sent. */
static PEAL_DEV int report_as_client(struct peal_worker *w, int result)
{
	struct senders_reply r = { 0, 0, 0, 0, 0, 0, 0 };

	if (result)
		r.id = ((const struct senders_query *)peal_data(w))->id;
	else
		r = *(const struct senders_reply *)peal_data(w);
	r.client = peal_self(w);
	return report(w, r, result);
}

/* Tells queries. */
static PEAL_DEV int client(struct peal_worker *w)
{
	const struct senders_query *q =
		(const struct senders_query *)peal_data(w);
	struct peal_send_options o;
	int result;

	if (peal_type(w) == SENDERS_REPLY)
		return report_as_client(w, 0);
	o = options_of(q->how);
	result = peal_tell(w, q->to, SENDERS_QUERY, q, sizeof(*q), &o);
	return result ? report_as_client(w, result) : 0;
}

/* Emits queries by port 1. */
static PEAL_DEV int caller(struct peal_worker *w)
{
	if (peal_type(w) == SENDERS_REPLY)
		return report_as_client(w, 0);
	return peal_emit(w, 1, SENDERS_QUERY, peal_data(w), peal_length(w), 0);
}

/* Keeps a query until SENDERS_RELEASE. */
static PEAL_DEV int keep(struct peal_worker *w, struct senders_reply r)
{
	struct kept *k = (struct kept *)peal_state(w);

	if (peal_is_leader(w)) {
		k->request = peal_request_current(w);
		k->reply = r;
	}
	return 0;
}

/* Replies to the query that the server keeps. */
static PEAL_DEV int release(struct peal_worker *w)
{
	const struct kept *k = (const struct kept *)peal_state(w);
	int result;

	if (k->request)
		result = peal_reply_to(w, PEAL_PORT_SENDER, k->request,
				       SENDERS_REPLY, &k->reply,
				       sizeof(k->reply));
	else
		result = peal_tell(w, k->reply.sender, SENDERS_REPLY, &k->reply,
				   sizeof(k->reply), 0);
	return result ? report(w, k->reply, result) : 0;
}

/* Replies to a query. Reports by port 0 if there is no way back. */
static PEAL_DEV int serve(struct peal_worker *w)
{
	const struct senders_query *q =
		(const struct senders_query *)peal_data(w);
	struct peal_send_options o = options_of(SENDERS_TIMED);
	struct senders_reply r = { 0, 0, 0, 0, 0, 0, 0 };
	int result;

	if (peal_type(w) == SENDERS_RELEASE)
		return release(w);
	if (peal_length(w) < sizeof(*q))
		return PEAL_EPROTO;
	if (q->next && q->next - 1 != peal_self(w))
		return peal_request_forward(w, q->next - 1, 0);
	r.id = q->id;
	r.server = peal_self(w);
	r.sender = peal_sender(w);
	r.port = peal_sender_port(w);
	r.bytes = (uint32_t)peal_length(w);
	if (q->how & SENDERS_KEEP)
		return keep(w, r);
	if (q->how & SENDERS_REFUSE)
		result = peal_reply_error(w, PEAL_PORT_SENDER, PEAL_EIO);
	else
		result = peal_reply_sender(w, SENDERS_REPLY, &r, sizeof(r),
					   q->how & SENDERS_OPTIONS ? &o : 0);
	return result ? report(w, r, result) : 0;
}

/* Servers with one, two and three ports. `mute` declares no tells. */
static PEAL_DEV int serve1(struct peal_worker *w)
{
	return serve(w);
}

static PEAL_DEV int serve2(struct peal_worker *w)
{
	return serve(w);
}

static PEAL_DEV int serve3(struct peal_worker *w)
{
	return serve(w);
}

static PEAL_DEV int mute(struct peal_worker *w)
{
	const struct senders_query *q =
		(const struct senders_query *)peal_data(w);

	return q->how & SENDERS_FAIL ? PEAL_EIO : serve(w);
}

#define HANDLERS(X)                                                            \
	X(client, 0, PEAL_LIMITS(1, 2, 1, 0, 0))                               \
	X(caller, 0, PEAL_EMITS(2, 2))                                         \
	X(serve1, sizeof(struct kept), PEAL_LIMITS(1, 2, 2, 0, 0))             \
	X(serve2, sizeof(struct kept), PEAL_LIMITS(2, 2, 2, 0, 0))             \
	X(serve3, sizeof(struct kept), PEAL_LIMITS(3, 2, 2, 0, 0))             \
	X(mute, sizeof(struct kept), PEAL_EMITS(1, 2))
PEAL_PROGRAM(senders, HANDLERS);
