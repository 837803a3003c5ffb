/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_ABI_SEND_OPTIONS_H
#define PEAL_ABI_SEND_OPTIONS_H

#include <peal/abi/message.h>

struct peal_timer;

/**
 * Options of a call that sends a message, for the host and for handlers.
 *
 * A call takes NULL for no options. A field of 0 has no effect. A call that
 * does not support a set field returns PEAL_EINVAL and sends nothing. The
 * fields that each call supports:
 *
 *	peal_send, peal_send_to		deadline
 *	peal_emit, peal_emit_to		deadline
 *	peal_tell			priority, and deadline or with_sender;
 *					or delay_ns, period_ns and timer_out
 *	peal_tell_all			priority
 *	peal_request_forward		priority; or by_port
 *
 * In a handler all lanes pass equal fields, except timer_out.
 *
 *	struct peal_send_options options = PEAL_SEND_OPTIONS;
 *
 *	options.deadline = peal_deadline_current(w);
 *	peal_emit(w, 0, 1, &out, sizeof(out), &options);
 */
struct peal_send_options {
	uint32_t size; /* sizeof(struct peal_send_options) */
	uint32_t priority; /* enum peal_priority (default 0: normal) */
	/*
	 * Time of the host's clock, ns, from which on the message is dead. The
	 * calls are peal_deadline_from_now, peal_deadline_after and
	 * peal_deadline_current. See peal/deadline.h.
	 */
	uint64_t deadline;
	/* A timer sends the message later if one of these three is set. */
	uint64_t delay_ns; /* ns until the first message is due */
	uint64_t period_ns; /* ns from one message to the next; 0: only one */
	struct peal_timer *timer_out; /* set for peal_timer_cancel; each lane
				       * passes a place of its own */
	uint32_t by_port; /* 1: `to` of peal_request_forward is a port */
	uint32_t with_sender; /* 1: the message names the telling actor, see
			       * peal_sender in peal/device/sender.h */
};

PEAL_STATIC_ASSERT(sizeof(struct peal_send_options) ==
			   40 + sizeof(struct peal_timer *),
		   "send options size");

/** Initializer of struct peal_send_options: the size, and no field set. */
#define PEAL_SEND_OPTIONS                                                      \
	{                                                                      \
		sizeof(struct peal_send_options), 0, 0, 0, 0, 0, 0, 0          \
	}

#endif
