/* SPDX-License-Identifier: Apache-2.0 */
/* Requests of the host: sends them, and waits for their replies. */
#include <stdlib.h>
#include <string.h>

#include "runtime/base/error.h"
#include "runtime/base/refusal.h"
#include "runtime/base/text.h"
#include "runtime/base/wait.h"
#include "runtime/kernel/counters.h"
#include "runtime/link/endpoint.h"
#include "runtime/link/reject_table.h"
#include "runtime/rpc/requester.h"

#define REQUEST "peal_request"
#define REQUEST_TO "peal_request_to"
#define BEGIN "peal_request_start"
#define BEGIN_TO "peal_request_start_to"
#define WAIT "peal_request_wait"
#define CANCEL "peal_request_cancel"

/* ns of one wait for a full link: between two waits, replies are received */
#define SEND_SLICE_NS 1000000

/* ---- waiting; the caller holds r->lock ----------------------------------- */

/* The time limit of a call. Reading the clock costs as much as a message. So
 * the deadline is computed only when a call has to wait. */
struct limit {
	int64_t timeout_ns; /* 0: the call does not wait; -1: no limit */
	uint64_t deadline; /* 0: not computed yet */
};

static uint64_t deadline_of(struct limit *limit)
{
	if (!limit->deadline)
		limit->deadline = peali_deadline(limit->timeout_ns);
	return limit->deadline;
}

static int is_late(struct limit *limit)
{
	return !limit->timeout_ns || peali_late(deadline_of(limit));
}

/* Returns the ns of the next wait for free slots, at most SEND_SLICE_NS. */
static int64_t slice_of(struct limit *limit)
{
	uint64_t deadline = deadline_of(limit), now = peali_now_ns();

	if (deadline <= now)
		return 0;
	return deadline - now < SEND_SLICE_NS ? (int64_t)(deadline - now) :
						SEND_SLICE_NS;
}

/* Waits for a change of the requester, at most until the deadline. */
static void wait_change(struct peal_requester *r, struct limit *limit)
{
	uint64_t deadline = deadline_of(limit);
	struct timespec until = {
		.tv_sec = (time_t)(deadline / 1000000000u),
		.tv_nsec = (long)(deadline % 1000000000u),
	};
	uint64_t began = peali_now_ns();

	if (deadline == UINT64_MAX)
		pthread_cond_wait(&r->change, &r->lock);
	else
		pthread_cond_timedwait(&r->change, &r->lock, &until);
	peali_counters_waited(r->endpoint->rt, PEAL_WAIT_REQUEST, began);
}

/* ---- the requests -------------------------------------------------------- */

/* Returns the request in flight with this number, or NULL. */
static struct request *find(struct peal_requester *r, uint64_t id)
{
	uint64_t index = (id & 0xffff) - 1; /* 0: out of range */

	if (index >= r->n_requests || r->requests[index].id != id ||
	    r->requests[index].state == FREE)
		return NULL;
	return &r->requests[index];
}

/* Ends a request and frees its place. */
static void end_request(struct peal_requester *r, struct request *q)
{
	q->state = FREE;
	r->free[r->n_free++] = (uint32_t)(q - r->requests);
	pthread_cond_broadcast(&r->change);
}

/* Takes a free place for a new request, and waits for one if necessary. Returns
 * 0 or PEAL_EAGAIN. */
static int begin_request(struct peal_requester *r, struct limit *limit,
			 const char *call, struct request **out)
{
	struct request *q;

	while (!r->n_free) {
		if (!limit->timeout_ns)
			return PEAL_EAGAIN;
		if (is_late(limit))
			return peali_fail(PEAL_EAGAIN, call,
					  "'%s': not sent: %u request%s in "
					  "flight (max_outstanding %u)",
					  r->name, r->n_requests,
					  peali_s(r->n_requests),
					  r->n_requests);
		wait_change(r, limit);
	}
	q = &r->requests[r->free[--r->n_free]];
	q->state = ASKED;
	q->error = 0;
	q->detail = 0;
	q->waited = 0;
	q->id = PEAL_REQUEST_NUMBER(
		++r->n_ids, r->reject_table ? r->reject_table->number : 0,
		q - r->requests + 1);
	*out = q;
	return 0;
}

/* ---- receiving ----------------------------------------------------------- */

/* Takes a worker's report that the request gets no reply (reject_table.h). A
 * request that is too long for a mailbox gets a code of its own. PEAL_EMSGSIZE
 * means that the reply is too long for its buffer. */
static void report(struct request *q, const struct peal_received *got)
{
	int32_t word[2] = { PEAL_EPROTO, 0 };

	if (got->length == sizeof(word))
		memcpy(word, got->data, sizeof(word));
	q->error = word[0] == PEAL_EMSGSIZE ? PEAL_EMALFORMED : word[0];
	q->detail = word[1];
	q->reply.length = 0; /* no reply: the report is not for the caller */
	q->reply.input = 0;
}

/* Returns the code of an error reply. Unknown codes become PEAL_EHANDLER, also
 * codes that mean that a request is in flight. `detail_out` gets the code in
 * the reply; 0: none. */
static int refusal(const struct peal_received *reply, int *detail_out)
{
	int32_t error = 0;

	if (reply->length == sizeof(error))
		memcpy(&error, reply->data, sizeof(error));
	*detail_out = error;
	if (error >= 0 || !strcmp(peal_error_name(error), "PEAL_E?") ||
	    error == PEAL_EAGAIN || error == PEAL_ETIMEDOUT ||
	    error == PEAL_EMSGSIZE || error == PEAL_EBUSY)
		return PEAL_EHANDLER;
	return error;
}

/* Returns the memory for a reply of `bytes` bytes. NULL: no memory. */
static void *place_of(struct request *q, uint64_t bytes)
{
	void *more;

	if (q->waited && bytes <= q->buffer_bytes)
		return q->buffer;
	if (bytes > q->kept_capacity) {
		more = realloc(q->kept, bytes);
		if (!more)
			return NULL;
		q->kept = more;
		q->kept_capacity = bytes;
	}
	return q->kept;
}

/* Stores a received reply in its request. Drops a message if no request in
 * flight waits for it. */
static void deposit(struct peal_requester *r, const struct peal_received *got)
{
	struct request *q = find(r, got->request);
	void *place;

	if (!q || q->state != ASKED) {
		r->info.late += got->from != 0; /* else it is a report */
		peali_endpoint_drop(r->endpoint, PEAL_REASON_LATE);
		return;
	}
	q->reply = *got;
	q->state = ANSWERED;
	if (got->error_reply && !got->from) {
		report(q, got);
	} else if (got->error_reply) {
		q->error = refusal(got, &q->detail);
	} else if (got->length) {
		place = place_of(q, got->length);
		q->reply.data = place;
		if (place)
			memcpy(place, got->data, got->length);
		else
			q->error = PEAL_ENOMEM;
	}
	peal_receive_release(r->endpoint);
}

/*
 * Receives one message for any of the threads, without waiting. Returns
 * PEAL_EAGAIN if there is none. The caller holds r->lock, and r->receiving is
 * 0.
 */
static int receive_now(struct peal_requester *r)
{
	struct peal_received got;
	uint64_t none = 0;
	int result = peali_endpoint_peek(r->endpoint, &got, 0, &none);

	/* No broadcast: threads sleep for replies only while one receives. */
	if (!result)
		deposit(r, &got);
	return result == PEAL_EEND ? PEAL_ESTOPPED : result;
}

/* Receives the messages that have arrived. The number of requests limits the
 * loop, because no more messages can be replies. */
static void receive_some(struct peal_requester *r)
{
	uint32_t i;

	for (i = 0; !r->receiving && i <= r->n_requests; i++)
		if (receive_now(r))
			break;
}

/* Waits for one message. Releases r->lock during the wait. */
static int receive(struct peal_requester *r, struct limit *limit)
{
	struct peal_received got;
	int result;

	r->receiving = 1;
	pthread_mutex_unlock(&r->lock);
	result = peali_endpoint_peek(r->endpoint, &got, limit->timeout_ns,
				     &limit->deadline);
	pthread_mutex_lock(&r->lock);
	if (!result)
		deposit(r, &got);
	r->receiving = 0;
	pthread_cond_broadcast(&r->change);
	return result == PEAL_EEND ? PEAL_ESTOPPED : result;
}

/*
 * Waits until the request has a reply. Returns 0 or the error of the wait.
 * First takes the messages that have arrived. The call does so even after the
 * deadline, and even if replies to other requests come first.
 */
static int await(struct peal_requester *r, const struct request *q,
		 struct limit *limit)
{
	uint32_t taken = 0;
	int result;

	while (q->state == ASKED) {
		result = PEAL_EAGAIN;
		if (!r->receiving && taken++ <= r->n_requests)
			result = receive_now(r);
		if (result == PEAL_EAGAIN && is_late(limit))
			return PEAL_ETIMEDOUT;
		if (result == PEAL_EAGAIN && !r->receiving)
			result = receive(r, limit);
		else if (result == PEAL_EAGAIN)
			wait_change(r, limit);
		if (result && result != PEAL_EAGAIN && q->state == ASKED)
			return result;
	}
	return 0;
}

/* ---- sending ------------------------------------------------------------- */

/* The content of a request, and its receiver. */
struct question {
	uint64_t to; /* 0: the receiver of the requester's link */
	const void *data;
	uint64_t bytes; /* at `data` */
	uint16_t type;
	uint64_t deadline; /* sent with the request; 0: none */
	const char *call; /* the public function */
};

static int check_request(const struct peal_requester *r,
			 const struct question *what, const char *call)
{
	if (!r || (!what->data && what->bytes))
		return peali_refuse_null(call, r ? "data" : "requester");
	if (peali_forked(&r->rt->owner, call))
		return PEAL_EFORKED;
	if (what->bytes > r->message_bytes)
		return PEALI_REFUSE(
			PEAL_EMSGSIZE, call, .object = "requester",
			.name = r->name,
			.problem = "takes no message of this length",
			.value = PEALI_PRINT("%llu bytes",
					     (unsigned long long)what->bytes),
			.allowed = PEALI_PRINT(
				"0..%llu",
				(unsigned long long)r->message_bytes),
			.remedy = "raise message_bytes");
	if (r->n_links < 2)
		return peali_fail(PEAL_ENOTCONN, call,
				  "'%s' has no source of replies; call "
				  "peal_requester_listen",
				  r->name);
	return 0;
}

/* Sends a request. No other thread may send at the same time: the caller holds
 * r->lock, or has set r->sending. */
static int put(struct peal_requester *r, const struct request *q,
	       const struct question *what, int64_t timeout_ns)
{
	const struct peali_cover cover = { what->to, what->deadline, q->id,
					   what->type };

	return peali_endpoint_send(r->endpoint, 0, &cover, what->data,
				   what->bytes, timeout_ns, what->call);
}

/* Waits for a free slot without r->lock, and receives replies meanwhile.
 * Returns 0, PEAL_EAGAIN or the error of the link. */
static int send_later(struct peal_requester *r, const struct request *q,
		      const struct question *what, struct limit *limit)
{
	uint64_t began;
	int64_t slice;
	int result;

	while (r->sending && !is_late(limit))
		wait_change(r, limit);
	if (r->sending)
		return PEAL_EAGAIN;
	r->sending = 1;
	began = peali_now_ns();
	do {
		receive_some(r);
		slice = slice_of(limit);
		pthread_mutex_unlock(&r->lock);
		result = put(r, q, what, slice);
		pthread_mutex_lock(&r->lock);
	} while ((result == PEAL_ETIMEDOUT || result == PEAL_EAGAIN) &&
		 !is_late(limit));
	peali_counters_waited(r->endpoint->rt, PEAL_WAIT_REQUEST, began);
	r->sending = 0;
	pthread_cond_broadcast(&r->change);
	return result == PEAL_ETIMEDOUT ? PEAL_EAGAIN : result;
}

/* Sends a request without waiting. Returns PEAL_EAGAIN if the link is full or
 * another thread sends. The caller holds r->lock. */
static int send_now(struct peal_requester *r, const struct request *q,
		    const struct question *what)
{
	return r->sending ? PEAL_EAGAIN : put(r, q, what, 0);
}

/* Begins a request and sends it. On success *out is in flight. The caller holds
 * r->lock. */
static int ask(struct peal_requester *r, const struct question *what,
	       struct limit *limit, const char *call, struct request **out)
{
	int result = begin_request(r, limit, call, out);

	if (result)
		return result;
	result = send_now(r, *out, what);
	if (result == PEAL_EAGAIN) { /* replies may block the receiver */
		receive_some(r);
		result = send_now(r, *out, what);
	}
	if (result == PEAL_EAGAIN && limit->timeout_ns)
		result = send_later(r, *out, what, limit);
	if (!result) {
		r->info.asked++;
		return 0;
	}
	end_request(r, *out);
	if ((result == PEAL_EAGAIN && !limit->timeout_ns) ||
	    result == PEAL_ENOENT ||
	    result == PEAL_EMSGSIZE) /* these need no further error text */
		return result;
	return peali_fail(result, call, "'%s': not sent: %s", r->name,
			  result == PEAL_EAGAIN ?
				  "the link to the receiver is full" :
			  result == PEAL_ESTOPPED ? "the receiver has ended" :
						    peal_error_text(result));
}

/* ---- public calls -------------------------------------------------------- */

/* Returns why a request ended without a reply, for the code of a report. */
static const char *why_ended(int error)
{
	switch (error) {
	case PEAL_ENOENT:
		return "no actor handles the request";
	case PEAL_ESTOPPED:
		return "its actor or its kernel has ended before it handled "
		       "the request, or its supervisor has given up";
	case PEAL_EHANDLER:
		return "the handler has failed";
	case PEAL_ENOREPLY:
		return "the handler has returned without a reply";
	case PEAL_EPIPE:
		return "the reply or the forwarded request met a closed port";
	case PEAL_EMALFORMED:
		return "the request is too long for a mailbox or pool on its "
		       "way";
	default:
		return "no actor handles the request";
	}
}

/* Writes the error text of a request that ended with an error. Returns the
 * error. */
static int fail_ended(const struct peal_requester *r, const struct request *q,
		      const char *call)
{
	const char *why =
		!q->reply.error_reply ? "the reply cannot be stored" :
		q->reply.from	      ? "the handler has refused the request" :
					why_ended(q->error);
	char own[PEALI_ERROR_LABEL];
	const char *label = peali_error_label(q->detail, own);
	int error = q->error;

	if (error == PEAL_EHANDLER && q->detail && label == own)
		return peali_fail(error, call, "'%s': %s: %s", r->name, why,
				  own);
	if (error == PEAL_EHANDLER && q->detail)
		return peali_fail(error, call, "'%s': %s: %s (%s)", r->name,
				  why, peal_error_text(q->detail), label);
	/* the text of a code would be of another fault than the handler's */
	return peali_fail(error, call, "'%s': %s (%s)", r->name, why,
			  peal_error_name(error));
}

/* Gives the reply to the caller and ends the request. After PEAL_EMSGSIZE the
 * request stays in flight. */
static int take(struct peal_requester *r, struct request *q, const char *call,
		struct peal_received *reply_out)
{
	if (reply_out) {
		*reply_out = q->reply;
		reply_out->data = NULL;
	}
	if (q->error) {
		if (q->reply.error_reply)
			r->info.error_replies++;
		else
			r->info.cancelled++;
		end_request(r, q);
		return fail_ended(r, q, call);
	}
	if (q->reply.length > q->buffer_bytes)
		return peali_refuse_buffer(call, "requester", r->name,
					   q->buffer_bytes, q->reply.length);
	if (q->reply.length && q->reply.data != q->buffer)
		memcpy(q->buffer, q->reply.data, q->reply.length);
	if (reply_out)
		reply_out->data = q->buffer;
	r->info.replied++;
	end_request(r, q);
	return 0;
}

/* Waits for the reply and takes it. The request stays in flight after
 * PEAL_EAGAIN, PEAL_ETIMEDOUT and PEAL_EMSGSIZE. Otherwise it is over. */
static int finish(struct peal_requester *r, struct request *q, const char *call,
		  struct peal_received *reply_out, struct limit *limit)
{
	int result;

	q->waited = 1;
	result = await(r, q, limit);
	q->waited = 0;
	if (!result)
		return take(r, q, call, reply_out);
	if (result == PEAL_ETIMEDOUT && !limit->timeout_ns)
		return PEAL_EAGAIN;
	if (result == PEAL_ETIMEDOUT)
		return peali_fail(result, call,
				  "'%s': no reply in time (%llu ms); a handler "
				  "may have seen the request",
				  r->name,
				  (unsigned long long)limit->timeout_ns /
					  1000000);
	r->info.cancelled++;
	end_request(r, q);
	if (result == PEAL_ESTOPPED)
		return peali_fail(PEAL_ENOREPLY, call,
				  "'%s': no sender of replies is left, or the "
				  "kernel of the receiver was stopped",
				  r->name);
	return peali_fail(result, call, "'%s': %s", r->name,
			  peal_error_text(result));
}

static void clear_reply(struct peal_received *reply_out)
{
	if (reply_out)
		memset(reply_out, 0, sizeof(*reply_out));
}

/* Sends a request and waits for its reply. */
static int request(struct peal_requester *r, struct question *what,
		   void *buffer, uint64_t buffer_bytes,
		   struct peal_received *reply_out, int64_t timeout_ns,
		   const char *call)
{
	struct limit limit = { timeout_ns, 0 };
	struct request *q = NULL;
	int result, sent;

	clear_reply(reply_out);
	result = check_request(r, what, call);
	if (result)
		return result;
	if (!buffer && buffer_bytes)
		return peali_refuse_null(call, "buffer");
	if (r->deadlines && timeout_ns >= 0)
		what->deadline = deadline_of(&limit);
	pthread_mutex_lock(&r->lock);
	r->inside++;
	result = ask(r, what, &limit, call, &q);
	sent = !result;
	if (sent) {
		if (reply_out)
			reply_out->request = q->id;
		q->buffer = buffer;
		q->buffer_bytes = buffer_bytes;
		result = finish(r, q, call, reply_out, &limit);
		if (q->state != FREE) { /* the caller cannot wait again */
			r->info.cancelled++;
			end_request(r, q);
		}
	}
	if (result == PEAL_EAGAIN && !timeout_ns)
		result = peali_fail(
			sent ? PEAL_ETIMEDOUT : PEAL_EAGAIN, call,
			"'%s': %s, and the call does not wait", r->name,
			sent ? "no reply has arrived yet" :
			       "not sent: no free request, or the link is "
			       "full");
	r->inside--; /* the requester may be closed from here on */
	pthread_mutex_unlock(&r->lock);
	return result;
}

/* Sends a request without waiting for its reply. */
static int begin(struct peal_requester *r, const struct question *what,
		 int64_t timeout_ns, uint64_t *request_out, const char *call)
{
	struct limit limit = { timeout_ns, 0 };
	struct request *q = NULL;
	int result = check_request(r, what, call);

	if (result)
		return result;
	if (!request_out)
		return peali_refuse_null(call, "request_out");
	pthread_mutex_lock(&r->lock);
	r->inside++;
	result = ask(r, what, &limit, call, &q);
	if (!result)
		*request_out = q->id;
	r->inside--;
	pthread_mutex_unlock(&r->lock);
	return result;
}

/* Rejects address 0, because struct question uses it for the requester's own
 * receiver. */
static int check_to(uint64_t to, const char *call)
{
	return to ? 0 :
		    PEALI_REFUSE(PEAL_ENOENT, call, .object = "argument",
				 .name = "to",
				 .problem = "is no address of an actor",
				 .value = "0",
				 .allowed = "an address of an actor",
				 .remedy = "use peal_request without an actor");
}

int peal_request(struct peal_requester *r, uint16_t type, const void *data,
		 uint64_t bytes, void *buffer, uint64_t buffer_bytes,
		 struct peal_received *reply_out, int64_t timeout_ns)
{
	struct question what = { 0, data, bytes, type, 0, REQUEST };

	return request(r, &what, buffer, buffer_bytes, reply_out, timeout_ns,
		       REQUEST);
}

int peal_request_to(struct peal_requester *r, uint64_t to, uint16_t type,
		    const void *data, uint64_t bytes, void *buffer,
		    uint64_t buffer_bytes, struct peal_received *reply_out,
		    int64_t timeout_ns)
{
	struct question what = { to, data, bytes, type, 0, REQUEST_TO };
	int result = check_to(to, REQUEST_TO);

	clear_reply(reply_out);
	return result ? result :
			request(r, &what, buffer, buffer_bytes, reply_out,
				timeout_ns, REQUEST_TO);
}

int peal_request_start(struct peal_requester *r, uint16_t type,
		       const void *data, uint64_t bytes, int64_t timeout_ns,
		       uint64_t *request_out)
{
	struct question what = { 0, data, bytes, type, 0, BEGIN };

	return begin(r, &what, timeout_ns, request_out, BEGIN);
}

int peal_request_start_to(struct peal_requester *r, uint64_t to, uint16_t type,
			  const void *data, uint64_t bytes, int64_t timeout_ns,
			  uint64_t *request_out)
{
	struct question what = { to, data, bytes, type, 0, BEGIN_TO };
	int result = check_to(to, BEGIN_TO);

	return result ? result :
			begin(r, &what, timeout_ns, request_out, BEGIN_TO);
}

/* Finds a request in flight that no thread waits for. Returns 0, PEAL_ENOENT or
 * PEAL_EBUSY. The caller holds r->lock. */
static int check_out(struct peal_requester *r, uint64_t id, const char *call,
		     struct request **out)
{
	*out = find(r, id);
	if (!*out)
		return peali_fail(PEAL_ENOENT, call,
				  "'%s': no request %#llx is in flight",
				  r->name, (unsigned long long)id);
	if ((*out)->waited)
		return peali_fail(PEAL_EBUSY, call,
				  "'%s': another thread waits for request "
				  "%#llx",
				  r->name, (unsigned long long)id);
	return 0;
}

int peal_request_wait(struct peal_requester *r, uint64_t request, void *buffer,
		      uint64_t buffer_bytes, struct peal_received *reply_out,
		      int64_t timeout_ns)
{
	struct limit limit = { timeout_ns, 0 };
	struct request *q = NULL;
	int result;

	if (!r || (!buffer && buffer_bytes))
		return peali_refuse_null(WAIT, r ? "buffer" : "requester");
	if (peali_forked(&r->rt->owner, WAIT))
		return PEAL_EFORKED;
	pthread_mutex_lock(&r->lock);
	result = check_out(r, request, WAIT, &q);
	if (!result) {
		r->inside++;
		q->buffer = buffer;
		q->buffer_bytes = buffer_bytes;
		result = finish(r, q, WAIT, reply_out, &limit);
		r->inside--;
	}
	pthread_mutex_unlock(&r->lock);
	return result;
}

int peal_request_cancel(struct peal_requester *r, uint64_t request)
{
	struct request *q = NULL;
	int result;

	if (!r)
		return peali_refuse_null(CANCEL, "requester");
	if (peali_foreign(&r->rt->owner, CANCEL))
		return PEAL_EFORKED;
	pthread_mutex_lock(&r->lock);
	result = check_out(r, request, CANCEL, &q);
	if (!result) {
		r->info.cancelled++;
		end_request(r, q);
	}
	pthread_mutex_unlock(&r->lock);
	return result;
}
