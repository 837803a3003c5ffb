/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_TYPED_ENDPOINT_H
#define PEAL_TYPED_ENDPOINT_H

/*
 * Typed messages for the host: send and receive functions for one message
 * type. The type is one that PEAL_MESSAGE_OF(name, type, number) has declared.
 * Include its declaration first (peal/device/typed_message.h). The program then
 * writes PEAL_ENDPOINT_OF(name) at file scope:
 *
 *	PEAL_ENDPOINT_OF(range)
 *	PEAL_ENDPOINT_OF(found)
 *
 *	range_send(endpoint, port, &range, SECOND);
 *	peal_receive_peek(endpoint, &received, SECOND);
 *	found = found_received(&received);
 */

#include <peal/device/platform.h>
#include <peal/endpoint.h>

PEAL_BEGIN_C

/*
 * The functions of PEAL_ENDPOINT_OF(name):
 *
 *	<name>_send(endpoint, port, item, timeout_ns)
 *					as peal_send
 *	<name>_send_reserve(endpoint, port, timeout_ns, place_out)
 *					as peal_send_reserve
 *	<name>_send_commit(endpoint, port)
 *					as peal_send_commit
 *	<name>_received(received)	returns received->data as the type; NULL
 *					if the number or the length differs, or
 *					`received` is a dead letter
 *
 * Results, thread safety and progress are the same as in peal/endpoint.h. With
 * peal_receive, the message is in the caller's buffer. The caller must align
 * that buffer for the type.
 */

#define PEALI_ENDPOINT static PEAL_UNUSED inline

/**
 * Defines the functions above. Write the macro at file scope, without a
 * semicolon.
 *
 * name  the name of an earlier PEAL_MESSAGE_OF
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

PEAL_END_C
#endif
