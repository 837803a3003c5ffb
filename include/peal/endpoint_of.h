/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_ENDPOINT_OF_H
#define PEAL_ENDPOINT_OF_H

#include <peal/device/platform.h>
#include <peal/endpoint.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * What the host does with the messages of PEAL_MESSAGE_OF(name, type, number),
 * peal/device/message_of.h, which is before it:
 *
 *	PEAL_ENDPOINT_OF(range)
 *
 *	range_send(endpoint, port, &range, SECOND);
 *	peal_receive_peek(endpoint, &received, SECOND);
 *	found = found_received(&received);
 *
 *	<name>_send(endpoint, port, item, timeout_ns)	as peal_send
 *	<name>_send_reserve(endpoint, port, timeout_ns, place_out)
 *	<name>_send_commit(endpoint, port)
 *	<name>_received(received)	the message, where `received` says that
 *					it lies; NULL if it has another number
 *					or another length
 *
 * Results, threads and progress are those of the functions of peal/endpoint.h.
 * What peal_receive took lies in the caller's buffer, which has to be aligned for
 * the type.
 */

#define PEALI_ENDPOINT static PEAL_UNUSED inline

/**
 * Declares the functions above; at file scope, without a semicolon.
 *
 * name  that of a PEAL_MESSAGE_OF
 */
#define PEAL_ENDPOINT_OF(name)                                                 \
	PEALI_ENDPOINT int name##_send(struct peal_endpoint *endpoint,         \
				       uint32_t port,                          \
				       const name##_message *item,             \
				       int64_t timeout_ns)                     \
	{                                                                      \
		return peal_send(endpoint, port, name##_number, item,          \
				 sizeof(*item), timeout_ns);                   \
	}                                                                      \
	PEALI_ENDPOINT int name##_send_reserve(struct peal_endpoint *endpoint, \
					       uint32_t port,                  \
					       int64_t timeout_ns,             \
					       name##_message **place_out)     \
	{                                                                      \
		void *place = NULL;                                            \
		int result = peal_send_reserve(endpoint, port,                 \
					       sizeof(**place_out),            \
					       timeout_ns, &place);            \
                                                                               \
		*place_out = (name##_message *)place;                          \
		return result;                                                 \
	}                                                                      \
	PEALI_ENDPOINT int name##_send_commit(struct peal_endpoint *endpoint,  \
					      uint32_t port)                   \
	{                                                                      \
		return peal_send_commit(endpoint, port, name##_number);        \
	}                                                                      \
	PEALI_ENDPOINT const name##_message *name##_received(                  \
		const struct peal_received *received)                          \
	{                                                                      \
		if (received->type != name##_number ||                         \
		    received->length != sizeof(name##_message) ||              \
		    received->dead_letter)                                     \
			return NULL;                                           \
		return (const name##_message *)received->data;                 \
	}

#ifdef __cplusplus
}
#endif
#endif
