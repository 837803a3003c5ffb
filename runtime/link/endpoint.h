/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEALI_LINK_ENDPOINT_H
#define PEALI_LINK_ENDPOINT_H

#include <peal/abi/monitor.h>
#include <peal/device/impl/queue/link.h>
#include <peal/metrics.h>

#include "runtime/runtime.h"

/* Endpoints. */

struct peali_reject_table;
struct peali_monitor;

struct peal_endpoint *peali_endpoint_of(struct peal_runtime *rt,
					uint64_t address);

/** A GATE mark of a port. */
struct peali_gate_mark {
	_Atomic uint64_t gate; /* its number; 0: none */
	_Atomic uint64_t accepted; /* messages of the link before the mark */
};

#define PEALI_GATE_MARKS 16 /* most closed gates in a link */

struct peali_endpoint_port {
	struct peal_link *_Atomic link; /* NULL: free */
	struct peal_link_producer producer;
	uint64_t reserved_bytes;
	int reserved;
	uint64_t gates_seen; /* devices.gates_made at its latest message */
	uint64_t gate; /* number of its latest GATE mark; 0: none */
	struct peali_gate_mark mark[PEALI_GATE_MARKS];
	uint32_t n_marks; /* so far; the next one is at n_marks modulo
			   * PEALI_GATE_MARKS */
	_Atomic int switches; /* 1: a hand-over waits for the SEAL, after which
			       * the port continues in the ring `next` */
	_Atomic int ended; /* 1: the END is in the link */
	struct peal_link_view next;
};

struct peali_endpoint_input {
	struct peal_link *_Atomic link; /* NULL: free */
	struct peal_link_consumer consumer;
	int done; /* 0: open; PEAL_EEND or an error: ended */
	_Atomic int has_next; /* 1: the ring `next` follows after a SEAL */
	struct peal_link_view next;
};

/** A report that a request gets no reply, laid out as a message of a link. */
struct peali_refused {
	uint64_t request; /* its number; 0: there is no report */
	int32_t error;
	int32_t detail; /* error of the handler that failed; 0: not known */
};

struct peal_endpoint {
	struct peal_runtime *rt;
	struct peali_owner owner; /* the owner of the runtime */
	struct peal_endpoint *next;
	char name[48];
	uint32_t id;
	uint16_t end_number; /* see end_number.h; 0: none */
	uint32_t max_ports, max_inputs;
	struct peali_endpoint_port *ports;
	struct peali_endpoint_input *inputs;
	_Atomic uint32_t n_inputs; /* used part of inputs */
	struct peal_bell *send_bell, *receive_bell;
	_Atomic int silent; /* 1: a link has or had an end that cannot ring */
	uint32_t cursor; /* input that it receives from */
	uint32_t burst; /* messages taken there in a row */
	/* guards its monitors; no other lock is taken under it */
	pthread_mutex_t monitors_lock;
	struct peali_monitor *monitors;
	_Atomic uint32_t n_monitors;
	struct peal_down down; /* the held message, if it is of a monitor */
	struct peali_reject_table *reject_table; /* NULL: none */
	struct peali_refused refused; /* found in the table, not received */
	struct peali_refused refusal; /* the held message, if it is a report */
	struct peal_link *_Atomic serves; /* of a requester: its link for
					   * requests; NULL: none */
	int peeked; /* 1: a message is held */
	struct peal_message message; /* the held message */
	int passes_gates; /* 1: no GATE marks, as its owner waits for gates */
	uint32_t send_kind, receive_kind; /* enum peal_wait_kind of its waits;
					   * PEAL_WAIT_KINDS: not counted */
};

/* Creates the endpoint of another object. Its waits count as `kind`;
 * PEAL_WAIT_KINDS: they do not count, because the caller counts them. */
int peali_endpoint_create_for(struct peal_runtime *rt,
			      const struct peal_endpoint_options *options,
			      enum peal_wait_kind kind,
			      struct peal_endpoint **endpoint_out);

void peali_endpoint_attach_port(struct peal_endpoint *endpoint, uint32_t port,
				struct peal_link *link);
void peali_endpoint_attach_input(struct peal_endpoint *endpoint, uint32_t input,
				 struct peal_link *link);
void peali_endpoint_wake(struct peal_endpoint *endpoint);
/* Returns a link that lost its remote end with this error; NULL: none. */
const struct peal_link *
peali_endpoint_lost(const struct peal_endpoint *endpoint, int error);
/* Writes a GATE mark if the receiver's device has a closed gate that the port has
 * not met. Returns 0, or why there is no mark: an error of the link or PEAL_EAGAIN.
 * The link then has no free slot, or too many closed gates. */
int peali_endpoint_meet_gate(struct peal_endpoint *endpoint,
			     struct peali_endpoint_port *port,
			     const struct peal_link *link);
/* Of a port in a hand-over, writes the SEAL and continues in the next ring.
 * Returns 0, an error of the link, or PEAL_EAGAIN without a free slot. Only for
 * the thread that sends. */
int peali_endpoint_seal(struct peali_endpoint_port *port);
/* Takes the SEAL at the head of an input and continues in the next ring. Returns
 * 0, or PEAL_EPROTO without a next ring. Only for the thread that receives. */
int peali_endpoint_follow(struct peali_endpoint_input *input);
/* Begin the hand-over of a port, or of an input. NULL: the sender was not told,
 * so the input has no next ring. The caller holds rt->lock. */
void peali_endpoint_switch_port(struct peal_endpoint *endpoint, uint32_t port,
				const struct peal_link_view *next);
void peali_endpoint_next_ring(struct peal_endpoint *endpoint, uint32_t input,
			      const struct peal_link_view *next);
/* Returns 1 if an endpoint of the link has yet to change its ring. */
int peali_endpoint_hands_over(const struct peal_link *link);
/* Returns 1 if the link's sender is an endpoint that has ended the link. */
int peali_endpoint_has_ended(const struct peal_link *link);

/* Writes the marks that must precede the next message of a port: SEAL and GATE.
 * The message then waits for all gates of the receiver's device. Returns as
 * peali_endpoint_meet_gate. */
static inline int peali_endpoint_put_marks(struct peal_endpoint *e,
					   struct peali_endpoint_port *p,
					   const struct peal_link *link)
{
	if (PEAL_UNLIKELY(
		    atomic_load_explicit(&p->switches, memory_order_relaxed))) {
		int result = peali_endpoint_seal(p);

		if (result)
			return result;
	}
	if (PEAL_LIKELY(p->gates_seen ==
			atomic_load_explicit(&e->rt->devices.gates_made,
					     memory_order_acquire)))
		return 0;
	return peali_endpoint_meet_gate(e, p, link);
}
/* Returns how many of a link's n accepted messages are before its first closed gate
 * with a number above `gate`. The caller holds rt->lock. */
uint64_t peali_endpoint_before_gate(const struct peal_link *link, uint64_t n,
				    uint64_t gate);
/* Returns the messages that links hold for an endpoint. The caller holds
 * rt->lock. */
uint64_t peali_endpoint_queued(const struct peal_endpoint *endpoint);
/* Makes the endpoint receive the reports of a table, and use its bell. The
 * endpoint has no links yet. */
void peali_endpoint_set_table(struct peal_endpoint *endpoint,
			      struct peali_reject_table *table);
/* peal_send_to with type and flags of `header`. */
int peali_endpoint_send_to(struct peal_endpoint *endpoint, uint32_t port,
			   uint64_t to, struct peal_header header,
			   const void *data, uint64_t bytes, int64_t timeout_ns,
			   const char *call);

/** The properties of a message to send. */
struct peali_cover {
	uint64_t to; /* 0: the receiver of the link */
	uint64_t deadline; /* ns of the host's clock; 0: none */
	uint64_t request; /* number; 0: no request */
	uint16_t type;
};

/* peal_send_to with these properties. */
int peali_endpoint_send(struct peal_endpoint *endpoint, uint32_t port,
			const struct peali_cover *cover, const void *data,
			uint64_t bytes, int64_t timeout_ns, const char *call);
/* peal_send or peal_send_to with these properties and options. */
int peali_endpoint_send_options(struct peal_endpoint *endpoint, uint32_t port,
				struct peali_cover cover, const void *data,
				uint64_t bytes, int64_t timeout_ns,
				const struct peal_send_options *options,
				const char *call);
/* peal_receive_peek for a wait over several calls. *deadline is 0 until a call
 * computes it. */
int peali_endpoint_peek(struct peal_endpoint *endpoint,
			struct peal_received *received_out, int64_t timeout_ns,
			uint64_t *deadline);
/* Drops the peeked message as dead, for a reason of enum peal_reason. */
void peali_endpoint_drop(struct peal_endpoint *endpoint, uint32_t reason);

#endif
