/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_DEVICE_PEEKED_MESSAGE_H
#define PEAL_DEVICE_PEEKED_MESSAGE_H

#include <peal/abi/message.h>
#include <peal/device/platform.h>

/* A message that a consumer has peeked, and the words before its payload. */

/** A message, as the consumer sees it. The data is valid until the release. */
struct peal_message {
	struct peal_header header;
	const void *data;
	uint64_t length; /* bytes of data */
	uint64_t sequence; /* number in its link, from 0 */
	uint32_t input; /* index of its input; max_inputs and above: from the
			 * mailbox or a pool, see PEAL_INFLIGHT */
	uint32_t kind; /* enum peal_kind */
};

/* Returns the bytes of a message's data before its payload. They are a sender,
 * a deadline and a request's number, in this order, each if its flag is set. */
static PEAL_DEV PEAL_INLINE uint32_t
peali_message_prefix(const struct peal_message *m)
{
	uint32_t flags =
		m->header.flags &
		(PEAL_FLAG_REQUEST | PEAL_FLAG_DEADLINE | PEAL_FLAG_SENDER);
	uint32_t bytes = 0;

	if (PEAL_LIKELY(!flags))
		return 0;
	if (flags & PEAL_FLAG_REQUEST)
		bytes = PEAL_REQUEST_BYTES;
	if (flags & PEAL_FLAG_DEADLINE)
		bytes += PEAL_DEADLINE_BYTES;
	if (flags & PEAL_FLAG_SENDER)
		bytes += PEAL_SENDER_BYTES;
	return PEAL_LIKELY(m->length >= bytes) ? bytes : 0;
}

/* Returns the number of a request or reply; 0: the message is neither. */
static PEAL_DEV PEAL_INLINE uint64_t
peali_message_request(const struct peal_message *m)
{
	uint32_t prefix = peali_message_prefix(m);

	if (!prefix ||
	    (m->header.flags & (PEAL_FLAG_REQUEST | PEAL_FLAG_ANSWER)) !=
		    PEAL_FLAG_REQUEST)
		return 0;
	return *(const uint64_t *)(const void *)((const uint8_t *)m->data +
						 prefix - PEAL_REQUEST_BYTES);
}

/* Returns the deadline of a message; 0: it has none. */
static PEAL_DEV PEAL_INLINE uint64_t
peali_message_deadline(const struct peal_message *m)
{
	if (!(m->header.flags & PEAL_FLAG_DEADLINE) || !peali_message_prefix(m))
		return 0;
	return ((const uint64_t *)
			m->data)[(m->header.flags & PEAL_FLAG_SENDER) != 0];
}

/* Returns the word that names the sender of a message; 0: it has none. */
static PEAL_DEV PEAL_INLINE uint64_t
peali_message_sender(const struct peal_message *m)
{
	if (!(m->header.flags & PEAL_FLAG_SENDER) || !peali_message_prefix(m))
		return 0;
	return *(const uint64_t *)m->data;
}

/* Returns the kind of a slot for a message with this header. */
static PEAL_DEV PEAL_INLINE uint32_t peali_kind(uint32_t kind,
						struct peal_header header)
{
	if (PEAL_UNLIKELY(header.flags & PEAL_FLAG_DEADLINE))
		kind |= PEAL_KIND_TIMED;
	return kind;
}

/* Returns 1 if a peeked slot holds a mark (END, SEAL or GATE), and no message. */
static PEAL_DEV PEAL_INLINE int peali_kind_is_mark(uint32_t kind)
{
	return PEAL_UNLIKELY(kind > PEAL_KIND_SLAB) &&
	       !(kind & PEAL_KIND_TIMED);
}

#endif
