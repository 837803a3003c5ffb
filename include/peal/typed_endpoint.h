/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_TYPED_ENDPOINT_H
#define PEAL_TYPED_ENDPOINT_H

/*
 * Typed messages for the host: send and receive functions for one message type.
 * PEAL_TYPED_MESSAGE(name, type, number) declares the type. Include its
 * declaration first (peal/device/typed_message.h). The program then writes
 * PEAL_TYPED_ENDPOINT(name) at file scope:
 *
 *	PEAL_TYPED_ENDPOINT(range)
 *	PEAL_TYPED_ENDPOINT(found)
 *
 *	range_send(endpoint, port, &range, SECOND, NULL);
 *	peal_receive_peek(endpoint, &received, SECOND);
 *	found = found_received(&received);
 */

#include <peal/device/platform.h>
#include <peal/endpoint.h>

PEAL_BEGIN_C

/*
 * The functions of PEAL_TYPED_ENDPOINT(name). A function has the name and the
 * parameters of the call without a type. The item replaces type, data and
 * bytes:
 *
 *	<name>_send(endpoint, port, item, timeout_ns, options)
 *	<name>_send_to(endpoint, port, to, item, timeout_ns, options)
 *	<name>_send_reserve(endpoint, port, timeout_ns, place_out)
 *	<name>_send_commit(endpoint, port)
 *	<name>_received(received)	returns received->data as the type; NULL
 *					if the number or the length differs, or
 *					`received` is a dead letter
 *
 * Results, thread safety and progress are as in peal/endpoint.h. With
 * peal_receive, the message is in the caller's buffer. The caller must align
 * that buffer for the type.
 */

#define PEALI_ENDPOINT static PEAL_UNUSED inline

/**
 * Defines the functions above. Write the macro at file scope, without a
 * semicolon.
 *
 * name  the name of an earlier PEAL_TYPED_MESSAGE
 */
#define PEAL_TYPED_ENDPOINT(name)                                              \
	PEALI_ENDPOINT int name##_send(                                        \
		struct peal_endpoint *endpoint, uint32_t port,                 \
		const name##_message *item, int64_t timeout_ns,                \
		const struct peal_send_options *options)                       \
	{                                                                      \
		return peal_send(endpoint, port, name##_number, item,          \
				 sizeof(*item), timeout_ns, options);          \
	}                                                                      \
	PEALI_ENDPOINT int name##_send_to(                                     \
		struct peal_endpoint *endpoint, uint32_t port, uint64_t to,    \
		const name##_message *item, int64_t timeout_ns,                \
		const struct peal_send_options *options)                       \
	{                                                                      \
		return peal_send_to(endpoint, port, to, name##_number, item,   \
				    sizeof(*item), timeout_ns, options);       \
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
