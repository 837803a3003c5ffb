/* SPDX-License-Identifier: Apache-2.0 */
/* Endpoints: sending and receiving at the host. */
#include "runtime/link/endpoint.h"

#include <string.h>

#include <peal/device/clock.h>
#include <peal/device/link_consumer.h>
#include <peal/device/link_producer.h>
#include "runtime/base/error.h"
#include "runtime/base/refusal.h"
#include "runtime/base/text.h"
#include "runtime/base/wait.h"
#include "runtime/kernel/address.h"
#include "runtime/kernel/counters.h"
#include "runtime/kernel/kernel.h"
#include "runtime/kernel/kernel_control.h"
#include "runtime/kernel/record.h"
#include "runtime/link/link.h"
#include "runtime/link/reject_table.h"
#include "runtime/link/remote.h"
#include "runtime/runtime.h"

void peali_endpoint_wake(struct peal_endpoint *e)
{
	peal_bell_ring((uint64_t)(uintptr_t)e->send_bell);
	peal_bell_ring((uint64_t)(uintptr_t)e->receive_bell);
}

/* Begins a wait of a sender or a receiver at its bell. */
static void wait_begin(struct peali_bell_wait *wait,
		       const struct peal_endpoint *e, struct peal_bell *bell,
		       int64_t timeout_ns)
{
	peali_bell_wait_begin(wait, bell,
			      atomic_load_explicit(&e->silent,
						   memory_order_relaxed),
			      timeout_ns);
}

/* ---- sending ------------------------------------------------------------- */

static struct peali_endpoint_port *port_of(struct peal_endpoint *e,
					   uint32_t port)
{
	if (port >= e->max_ports || !atomic_load(&e->ports[port].link))
		return NULL;
	return &e->ports[port];
}

/*
 * Writes the error text of a failed send of `bytes` bytes by `call`. `added` is
 * the number of further bytes that Peal adds to the message. Returns `result`.
 */
static int send_failed(const struct peal_endpoint *e,
		       const struct peali_endpoint_port *p, uint32_t port,
		       uint64_t bytes, uint64_t added, int result,
		       const char *call)
{
	const struct peal_link *link = atomic_load(&p->link);
	uint64_t most = p->producer.message_bytes;
	char why[200];

	if (result == PEAL_EDIED ||
	    (result != PEAL_EAGAIN && result == peali_remote_error(link)))
		return peali_fail(result, call, "port %u of '%s': %s", port,
				  e->name, peali_remote_why(link, why));
	switch (result) {
	case PEAL_EAGAIN:
		return result;
	case PEAL_ETIMEDOUT:
		return peali_fail(result, call,
				  "port %u of '%s': the link is full; the "
				  "receiver must take messages "
				  "(peal_stall_report finds the cause)",
				  port, e->name);
	case PEAL_EMSGSIZE:
		return PEALI_REFUSE(
			result, call,
			.object = PEALI_PRINT("port %u of endpoint", port),
			.name = e->name,
			.problem = "has a link for shorter messages",
			.value = PEALI_PRINT("%llu bytes",
					     (unsigned long long)bytes),
			.allowed = most < added ? "none" : NULL,
			.most = most < added ? 0 : most - added,
			.remedy = "raise message_bytes of the link");
	case PEAL_EPIPE:
		return peali_fail(result, call, "port %u of '%s' was ended",
				  port, e->name);
	case PEAL_ESTOPPED:
		return peali_fail(result, call,
				  "port %u of '%s': the receiver has ended",
				  port, e->name);
	default:
		return peali_fail(result, call,
				  "port %u of '%s': an end violated the "
				  "protocol, the link is closed",
				  port, e->name);
	}
}

/* Returns why the receiver takes no more messages; 0: it takes messages. */
static int closed(const struct peal_link *link)
{
	int gone = atomic_load_explicit(&link->receiver_gone,
					memory_order_relaxed);

	if (PEAL_LIKELY(!gone && !link->remote))
		return 0;
	if (peal_load_relaxed_sys(&link->counts->error))
		return PEAL_EPROTO;
	if (!gone)
		return 0;
	gone = peali_remote_error(link);
	return gone ? gone : PEAL_ESTOPPED;
}

/* Waits for a free slot and reserves it for one message. */
static int reserve(struct peal_endpoint *e, struct peali_endpoint_port *p,
		   uint64_t bytes, int64_t timeout_ns, void **place_out)
{
	const struct peal_link *link = atomic_load(&p->link);
	struct peali_bell_wait wait;
	int result;

	wait_begin(&wait, e, e->send_bell, timeout_ns);
	for (;;) {
		result = closed(link);
		if (PEAL_LIKELY(!result))
			result = peali_endpoint_put_marks(e, p, link);
		if (PEAL_LIKELY(!result))
			result = peal_link_reserve(&p->producer, bytes,
						   place_out);
		if (result != PEAL_EAGAIN)
			break;
		result = peali_bell_wait_turn(&wait);
		if (result)
			break;
	}
	peali_counters_wait_end(e->rt, e->send_kind, &wait);
	return result;
}

static int check_port(struct peal_endpoint *e, uint32_t port, const char *call,
		      struct peali_endpoint_port **out)
{
	if (!e)
		return peali_refuse_null(call, "endpoint");
	if (peali_forked(&e->owner, call))
		return PEAL_EFORKED;
	*out = port_of(e, port);
	if (*out)
		return 0;
	if (port >= e->max_ports)
		return PEALI_REFUSE(PEAL_ENOTCONN, call, .object = "endpoint",
				    .name = e->name,
				    .problem = "has no such port",
				    .number = port, .most = e->max_ports - 1);
	return peali_fail(PEAL_ENOTCONN, call, "no link at port %u of '%s'",
			  port, e->name);
}

int peal_send_reserve(struct peal_endpoint *e, uint32_t port, uint64_t bytes,
		      int64_t timeout_ns, void **place_out)
{
	struct peali_endpoint_port *p = NULL;
	int result = check_port(e, port, "peal_send_reserve", &p);

	if (result)
		return result;
	if (!place_out)
		return peali_refuse_null("peal_send_reserve", "place_out");
	p->reserved = 0;
	result = reserve(e, p, bytes, timeout_ns, place_out);
	if (PEAL_UNLIKELY(result))
		return send_failed(e, p, port, bytes, 0, result,
				   "peal_send_reserve");
	p->reserved = 1;
	p->reserved_bytes = bytes;
	return 0;
}

/* Returns the header of a message to the receiver of the port's link. */
static struct peal_header header_of(const struct peali_endpoint_port *p,
				    uint16_t type, uint16_t flags)
{
	struct peal_header header = { p->producer.actor, type, flags };

	return header;
}

int peal_send_commit(struct peal_endpoint *e, uint32_t port, uint16_t type)
{
	struct peali_endpoint_port *p = NULL;
	int result = check_port(e, port, "peal_send_commit", &p);

	if (result)
		return result;
	if (!p->reserved)
		return peali_fail(PEAL_EINVAL, "peal_send_commit",
				  "nothing is reserved on port %u of '%s'",
				  port, e->name);
	p->reserved = 0;
	peal_link_commit(&p->producer, header_of(p, type, 0),
			 p->reserved_bytes);
	return 0;
}

/* Sends through a port that check_port has accepted. */
static int send(struct peal_endpoint *e, uint32_t port,
		struct peal_header header, const void *data, uint64_t bytes,
		int64_t timeout_ns, const char *call)
{
	struct peali_endpoint_port *p = &e->ports[port];
	void *place = NULL;
	int result;

	if (PEAL_UNLIKELY(!data && bytes))
		return peali_refuse_null(call, "data");
	p->reserved = 0;
	result = reserve(e, p, bytes, timeout_ns, &place);
	if (PEAL_UNLIKELY(result))
		return send_failed(e, p, port, bytes, 0, result, call);
	if (bytes)
		memcpy(place, data, bytes);
	peal_link_commit(&p->producer, header, bytes);
	return 0;
}

int peal_send(struct peal_endpoint *e, uint32_t port, uint16_t type,
	      const void *data, uint64_t bytes, int64_t timeout_ns,
	      const struct peal_send_options *options)
{
	const struct peali_cover cover = { 0, 0, 0, type };
	struct peali_endpoint_port *p = NULL;
	int result;

	if (PEAL_UNLIKELY(options))
		return peali_endpoint_send_options(e, port, cover, data, bytes,
						   timeout_ns, options,
						   "peal_send");
	result = check_port(e, port, "peal_send", &p);
	if (PEAL_UNLIKELY(result))
		return result;
	return send(e, port, header_of(p, type, 0), data, bytes, timeout_ns,
		    "peal_send");
}

/*
 * Sets the actor in the header to `to` instead of the receiver of the port's
 * link. The actor must be in the kernel to which the link leads. Returns 0,
 * PEAL_ENOTSUP if the link leads to another process, or PEAL_ENOENT.
 */
static int address(const struct peal_endpoint *e, uint32_t port, uint64_t to,
		   struct peal_header *header, const char *call)
{
	const struct peal_link *link = atomic_load(&e->ports[port].link);

	if (PEAL_UNLIKELY(!link->to.kernel))
		return peali_fail(PEAL_ENOTSUP, call,
				  "port %u of '%s' leads to another process, "
				  "which selects the receiver",
				  port, e->name);
	if (PEAL_UNLIKELY((to ^ link->to.address) >> 32) ||
	    PEAL_UNLIKELY(PEAL_ACTOR_INDEX(to) >=
			  link->to.kernel->params.max_actors))
		return PEALI_REFUSE(
			PEAL_ENOENT, call,
			.object = PEALI_PRINT("port %u of endpoint", port),
			.name = e->name,
			.problem = PEALI_PRINT(
				"leads to kernel '%s', which has no "
				"such actor",
				link->to.kernel->name),
			.value = PEALI_PRINT("%#llx", (unsigned long long)to),
			.allowed = "its actors",
			.remedy = "pass the address of one");
	header->actor = (uint32_t)to;
	return 0;
}

int peali_endpoint_send_to(struct peal_endpoint *e, uint32_t port, uint64_t to,
			   struct peal_header header, const void *data,
			   uint64_t bytes, int64_t timeout_ns, const char *call)
{
	struct peali_endpoint_port *p = NULL;
	int result = check_port(e, port, call, &p);

	if (PEAL_LIKELY(!result))
		result = address(e, port, to, &header, call);
	if (PEAL_UNLIKELY(result))
		return result;
	return send(e, port, header, data, bytes, timeout_ns, call);
}

int peal_send_to(struct peal_endpoint *e, uint32_t port, uint64_t to,
		 uint16_t type, const void *data, uint64_t bytes,
		 int64_t timeout_ns, const struct peal_send_options *options)
{
	const struct peali_cover cover = { to, 0, 0, type };
	struct peal_header header = { 0, type, 0 };

	/* `to` 0 is no address, and of a cover the receiver of the link */
	if (PEAL_UNLIKELY(options) && to)
		return peali_endpoint_send_options(e, port, cover, data, bytes,
						   timeout_ns, options,
						   "peal_send_to");
	return peali_endpoint_send_to(e, port, to, header, data, bytes,
				      timeout_ns, "peal_send_to");
}

/*
 * Returns PEAL_EMSGSIZE if a request goes through a mailbox and is too long for
 * it. A request to an actor of another worker goes through a mailbox.
 */
static int check_mailbox(const struct peal_endpoint *e, uint32_t port,
			 uint32_t actor, uint64_t bytes)
{
	const struct peal_link *link = atomic_load(&e->ports[port].link);
	struct peal_kernel *k = link->to.kernel;
	uint32_t most = k->mailbox.message_bytes, worker;

	if (PEAL_LIKELY(bytes <= most) || !k->params.mailboxes)
		return 0;
	/*
	 * Spawning and connecting hold the lock for long, so do not wait. The
	 * receiving worker checks the length as well.
	 */
	if (pthread_mutex_trylock(&k->rt->lock))
		return 0;
	worker = peali_actor_look(k, actor).handler >= PEALI_POOL_HANDLER ?
			 link->to.worker :
			 peali_actor_look(k, actor).worker;
	pthread_mutex_unlock(&k->rt->lock);
	if (worker == link->to.worker)
		return 0;
	return PEALI_REFUSE(
		PEAL_EMSGSIZE, "peal_request_to", .object = "kernel",
		.name = k->name,
		.problem = PEALI_PRINT(
			"takes no such message for actor %u of worker "
			"%u by a link to worker %u",
			actor, worker, link->to.worker),
		.value = PEALI_PRINT("%llu bytes and %u",
				     (unsigned long long)bytes,
				     PEAL_REQUEST_BYTES),
		.allowed = PEALI_PRINT("0..%u", most),
		.remedy = "raise mailbox.message_bytes");
}

/*
 * Writes the deadline and the request number before the payload. Returns their
 * bytes.
 */
static uint64_t write_cover(const struct peali_cover *cover, uint64_t *to)
{
	uint64_t n = 0;

	if (cover->deadline)
		to[n++] = cover->deadline;
	if (cover->request)
		to[n++] = cover->request;
	return n * sizeof(*to);
}

int peali_endpoint_send(struct peal_endpoint *e, uint32_t port,
			const struct peali_cover *cover, const void *data,
			uint64_t bytes, int64_t timeout_ns, const char *call)
{
	uint16_t flags = (uint16_t)((cover->deadline ? PEAL_FLAG_DEADLINE : 0) |
				    (cover->request ? PEAL_FLAG_REQUEST : 0));
	uint64_t all = bytes + (cover->deadline ? PEAL_DEADLINE_BYTES : 0) +
		       (cover->request ? PEAL_REQUEST_BYTES : 0);
	struct peali_endpoint_port *p = NULL;
	struct peal_header header;
	void *place = NULL;
	int result = check_port(e, port, call, &p);

	if (result)
		return result;
	header = header_of(p, cover->type, flags);
	if (cover->to)
		result = address(e, port, cover->to, &header, call);
	if (!result && cover->to && cover->request)
		result = check_mailbox(e, port, PEAL_ACTOR_INDEX(cover->to),
				       all);
	if (PEAL_UNLIKELY(result))
		return result;
	p->reserved = 0;
	result = reserve(e, p, all, timeout_ns, &place);
	if (PEAL_UNLIKELY(result))
		return send_failed(e, p, port, bytes, all - bytes, result,
				   call);
	if (bytes)
		memcpy((uint8_t *)place + write_cover(cover, place), data,
		       bytes);
	else
		write_cover(cover, place);
	peal_link_commit(&p->producer, header, all);
	return 0;
}

int peal_send_end(struct peal_endpoint *e, uint32_t port, int64_t timeout_ns)
{
	struct peali_endpoint_port *p = NULL;
	struct peali_bell_wait wait;
	int result = check_port(e, port, "peal_send_end", &p);

	if (result)
		return result;
	p->reserved = 0;
	wait_begin(&wait, e, e->send_bell, timeout_ns);
	for (;;) {
		const struct peal_link *link = atomic_load(&p->link);

		result = closed(link);
		if (!result)
			result = peali_endpoint_put_marks(e, p, link);
		if (!result)
			result = peal_link_push_mark(&p->producer,
						     PEAL_KIND_END);
		if (result != PEAL_EAGAIN)
			break;
		result = peali_bell_wait_turn(&wait);
		if (result)
			break;
	}
	peali_counters_wait_end(e->rt, e->send_kind, &wait);
	if (result)
		return send_failed(e, p, port, 0, 0, result, "peal_send_end");
	atomic_store_explicit(&p->ended, 1, memory_order_release);
	return 0;
}

/* ---- receiving ----------------------------------------------------------- */

/* Whether the deadline of a message has passed. */
static int is_expired(const struct peal_message *m)
{
	uint64_t deadline = peali_message_deadline(m);

	return deadline && deadline <= peali_now_ns();
}

/* Works as peal_link_peek, but drops expired messages first. */
static int peek(struct peal_link_consumer *c, struct peal_message *m)
{
	int result = peal_link_peek(c, m);

	while (PEAL_UNLIKELY(!result && m->kind & PEAL_KIND_TIMED) &&
	       is_expired(m)) {
		peal_link_release_dead(c, PEAL_REASON_EXPIRED);
		result = peal_link_peek(c, m);
	}
	return result;
}

/*
 * Checks one input. Returns 0 with a message, PEAL_EAGAIN without one, or the
 * reason why the input has ended.
 */
static int look(struct peali_endpoint_input *in, struct peal_link *link,
		struct peal_message *m)
{
	/* read before the peek: then all messages of a gone sender are seen */
	int gone =
		atomic_load_explicit(&link->sender_gone, memory_order_acquire);
	int result = peek(&in->consumer, m);

	if (result == PEAL_EAGAIN && gone) {
		result = peali_remote_error(link);
		return result ? result : PEAL_ESTOPPED;
	}
	if (!result && m->kind == PEAL_KIND_END) {
		peal_link_release_mark(&in->consumer, m->kind);
		return PEAL_EEND;
	}
	if (PEAL_UNLIKELY(!result && m->kind == PEAL_KIND_SEAL)) {
		result = peali_endpoint_follow(in);
		return result ? result : look(in, link, m);
	}
	if (!result && m->kind == PEAL_KIND_GATE) /* only workers have gates */
		return peali_link_fail(&in->consumer);
	return result;
}

/* message.input of messages that come by no link */
#define DOWN_INPUT UINT32_MAX /* down message of a monitor */
#define REJECT_INPUT (UINT32_MAX - 1) /* report in a reject table */

/* Puts a down message into e->message. Returns PEAL_EAGAIN if there is none. */
static int look_for_downs(struct peal_endpoint *e)
{
	memset(&e->message, 0, sizeof(e->message));
	if (!e->rt->hooks->next_down(e, &e->down, &e->message.header.type))
		return PEAL_EAGAIN;
	e->message.header.flags = PEAL_FLAG_DOWN;
	e->message.data = &e->down;
	e->message.length = sizeof(e->down);
	e->message.kind = PEAL_KIND_DATA;
	e->message.input = DOWN_INPUT;
	return 0;
}

/*
 * Returns 1 if a requester can get no more replies. The kernel that gets its
 * requests has ended, and its replies were received. A kernel that has drained
 * has handled all its messages. So replies of other kernels can still come.
 */
static int server_lost(const struct peal_endpoint *e)
{
	const struct peal_link *serves =
		atomic_load_explicit(&e->serves, memory_order_relaxed);
	uint32_t n = atomic_load(&e->n_inputs), i;
	const struct peal_link *link;

	if (PEAL_LIKELY(!serves || !atomic_load(&serves->receiver_gone)) ||
	    !serves->to.kernel || peali_kernel_drained(serves->to.kernel))
		return 0;
	for (i = 0; i < n; i++) {
		link = atomic_load(&e->inputs[i].link);
		if (link && !e->inputs[i].done &&
		    link->from.kernel == serves->to.kernel)
			return 0;
	}
	return 1;
}

/*
 * Checks monitors and all inputs once. Returns 0 with e->message set,
 * PEAL_EAGAIN if no message has come, or an error. The low 16 bits of `links`
 * count links, the high bits count open ones.
 */
static int receive_inputs(struct peal_endpoint *e)
{
	uint32_t n = atomic_load_explicit(&e->n_inputs, memory_order_acquire);
	uint32_t i, links = 0, ended = 0;
	int result, died = 0;

	if (PEAL_UNLIKELY(atomic_load_explicit(&e->n_monitors,
					       memory_order_relaxed))) {
		if (!look_for_downs(e))
			return 0;
		links = 1u << 16; /* monitors count as an open link */
	}
	for (i = 0; i < n; i++) {
		uint32_t at = (e->cursor + i) % n;
		struct peali_endpoint_input *in = &e->inputs[at];
		struct peal_link *link =
			atomic_load_explicit(&in->link, memory_order_acquire);

		if (!link)
			continue;
		links++;
		if (in->done) {
			ended += in->done == PEAL_EEND;
			died |= in->done == PEAL_EDIED;
			continue;
		}
		result = look(in, link, &e->message);
		if (!result) {
			e->message.input = at;
			return 0;
		}
		if (result == PEAL_EAGAIN) {
			links += 1u << 16; /* one is open */
			continue;
		}
		in->done = result;
		if (result == PEAL_EPROTO || result == PEAL_EDIED)
			return result;
		ended += result == PEAL_EEND;
	}
	if (links >> 16)
		return server_lost(e) ? PEAL_ESTOPPED : PEAL_EAGAIN;
	if (!links)
		return PEAL_ENOTCONN;
	if (died)
		return PEAL_EDIED;
	return ended == links ? PEAL_EEND : PEAL_ESTOPPED;
}

/*
 * Checks everything once, as receive_inputs. A worker sends its replies before
 * it reports a request. So after a look at the reject table, replies in the
 * inputs come first. Before the last error, the table is read once more.
 */
static int receive_round(struct peal_endpoint *e)
{
	int reported = PEAL_UNLIKELY(e->reject_table != NULL) &&
		       peali_reject_table_look(e);
	int result = receive_inputs(e);

	if (PEAL_LIKELY(!e->reject_table) || !result || result == PEAL_EPROTO)
		return result;
	if (!reported && result != PEAL_EAGAIN)
		reported = peali_reject_table_look(e);
	if (!reported)
		return result;
	peali_reject_table_receive(e, REJECT_INPUT);
	return 0;
}

/*
 * Returns the credit of all inputs. Else a sender could wait for credit while
 * this endpoint waits for its message.
 */
static void settle(struct peal_endpoint *e)
{
	uint32_t n = atomic_load(&e->n_inputs), i;

	for (i = 0; i < n; i++)
		if (atomic_load(&e->inputs[i].link))
			peal_link_flush_credit(&e->inputs[i].consumer);
}

static int receive_failed(const struct peal_endpoint *e, int result)
{
	const struct peal_link *link;
	char why[200];

	link = result == PEAL_EAGAIN || result == PEAL_EEND ?
		       NULL :
		       peali_endpoint_lost(e, result);
	if (link)
		return peali_fail(result, "peal_receive", "'%s': %s", e->name,
				  peali_remote_why(link, why));
	switch (result) {
	case PEAL_EAGAIN:
	case PEAL_EEND:
		return result;
	case PEAL_ETIMEDOUT:
		return peali_fail(result, "peal_receive",
				  "'%s': no message arrived before the timeout",
				  e->name);
	case PEAL_ENOTCONN:
		return peali_fail(result, "peal_receive",
				  "'%s': no link arrives here; call "
				  "peal_connect",
				  e->name);
	case PEAL_ESTOPPED:
		return peali_fail(result, "peal_receive",
				  "'%s': a sender was stopped before it had "
				  "ended its link",
				  e->name);
	default:
		return peali_fail(result, "peal_receive",
				  "'%s': a sender violated the protocol; its "
				  "link is closed",
				  e->name);
	}
}

/*
 * Waits for a message and holds it in e->message. Several calls can share one
 * timeout: *deadline is 0 at first, and a wait may set it.
 */
static int hold(struct peal_endpoint *e, int64_t timeout_ns, uint64_t *deadline)
{
	struct peali_bell_wait wait;
	int result;

	if (e->peeked)
		return 0;
	wait_begin(&wait, e, e->receive_bell, timeout_ns);
	wait.deadline = *deadline;
	for (;;) {
		result = receive_round(e);
		if (result != PEAL_EAGAIN)
			break;
		if (wait.turns == 0)
			settle(e);
		result = peali_bell_wait_turn(&wait);
		if (result)
			break;
	}
	peali_counters_wait_end(e->rt, e->receive_kind, &wait);
	*deadline = wait.deadline;
	if (PEAL_UNLIKELY(result))
		return receive_failed(e, result);
	e->peeked = 1;
	return 0;
}

static void describe(const struct peal_endpoint *e, struct peal_received *out)
{
	uint32_t prefix = peali_message_prefix(&e->message);

	out->data = (const uint8_t *)e->message.data + prefix;
	out->length = e->message.length - prefix;
	out->request = peali_message_request(&e->message);
	out->sequence = e->message.sequence;
	out->down = e->message.input == DOWN_INPUT;
	out->from = out->down ? e->down.actor :
		    e->message.input == REJECT_INPUT ?
				0 :
				e->inputs[e->message.input].link->from.address;
	out->input = e->message.input;
	out->type = e->message.header.type;
	out->error_reply = prefix &&
			   e->message.header.flags & PEAL_FLAG_ERROR_REPLY;
	out->dead_letter = e->message.header.flags & PEAL_FLAG_DEAD_LETTER &&
			   out->length >= sizeof(struct peal_dead_letter);
}

int peali_endpoint_peek(struct peal_endpoint *e,
			struct peal_received *received_out, int64_t timeout_ns,
			uint64_t *deadline)
{
	int result = hold(e, timeout_ns, deadline);

	if (!result)
		describe(e, received_out);
	return result;
}

int peal_receive_peek(struct peal_endpoint *e,
		      struct peal_received *received_out, int64_t timeout_ns)
{
	uint64_t deadline = 0;

	if (!e || !received_out)
		return peali_refuse_null("peal_receive_peek",
					 "endpoint or received_out");
	if (peali_forked(&e->owner, "peal_receive_peek"))
		return PEAL_EFORKED;
	return peali_endpoint_peek(e, received_out, timeout_ns, &deadline);
}

/*
 * Marks the held message as released and chooses the input to check first. That
 * is the same input, or the next one after 32 messages.
 */
static void released(struct peal_endpoint *e)
{
	e->peeked = 0;
	if (PEAL_UNLIKELY(e->message.input >= REJECT_INPUT))
		return;
	if (e->cursor != e->message.input)
		e->burst = 0;
	e->cursor = e->message.input;
	if (++e->burst >= 32) {
		e->burst = 0;
		e->cursor++;
	}
}

int peal_receive_release(struct peal_endpoint *e)
{
	if (e && peali_forked(&e->owner, "peal_receive_release"))
		return PEAL_EFORKED;
	if (!e || !e->peeked)
		return peali_fail(PEAL_EINVAL, "peal_receive_release",
				  "%s%s%s: no message is held; call "
				  "peal_receive_peek first",
				  e ? "'" : "",
				  e ? e->name : "endpoint is NULL",
				  e ? "'" : "");
	if (PEAL_LIKELY(e->message.input < REJECT_INPUT))
		peal_link_release(&e->inputs[e->message.input].consumer,
				  &e->message);
	released(e);
	return 0;
}

void peali_endpoint_drop(struct peal_endpoint *e, uint32_t reason)
{
	if (!e->peeked)
		return;
	if (e->message.input < REJECT_INPUT)
		peal_link_release_dead(&e->inputs[e->message.input].consumer,
				       reason);
	released(e);
}

int peal_receive(struct peal_endpoint *e, void *buffer, uint64_t buffer_bytes,
		 struct peal_received *received_out, int64_t timeout_ns)
{
	uint64_t deadline = 0;
	int result;

	if (!e || !received_out || (!buffer && buffer_bytes))
		return peali_refuse_null("peal_receive",
					 "endpoint, received_out or buffer");
	if (peali_forked(&e->owner, "peal_receive"))
		return PEAL_EFORKED;
	result = hold(e, timeout_ns, &deadline);
	if (result)
		return result;
	describe(e, received_out);
	if (received_out->length > buffer_bytes)
		return peali_refuse_buffer("peal_receive", "endpoint", e->name,
					   buffer_bytes, received_out->length);
	if (received_out->length)
		memcpy(buffer, received_out->data, received_out->length);
	received_out->data = buffer;
	return peal_receive_release(e);
}
