/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_DEVICE_TYPED_MESSAGE_H
#define PEAL_DEVICE_TYPED_MESSAGE_H

#include <peal/device/ask.h>
#include <peal/device/tell.h>

/*
 * Typed messages between host and handlers.
 *
 * PEAL_TYPED_MESSAGE(name, type, number) belongs in a header of host and kernel
 * source. It gives a struct a type number for its messages, and declares the
 * functions of handlers. PEAL_TYPED_ENDPOINT(name) of peal/typed_endpoint.h
 * declares the functions of the host. kernel.h includes this header.
 *
 *	struct range { uint64_t first, end; };
 *	PEAL_TYPED_MESSAGE(range, struct range, 1)
 *	PEAL_TYPED_MESSAGE(found, struct found, 2)
 *
 *	static PEAL_DEV int count(struct peal_worker *w)
 *	{
 *		const struct range *r = range_data(w);
 *		struct found found;
 *
 *		if (!r)
 *			return PEAL_EPROTO;
 *		...
 *		return found_emit(w, 0, &found, 0);
 *	}
 *
 * A function has the name and the parameters of the call without a type. The
 * item replaces type, data and bytes:
 *
 *	<name>_data(w)			as peal_data; 0 if the message has
 *					another number or length, or is the
 *					error of an ask
 *	<name>_emit(w, port, item, options)
 *	<name>_emit_to(w, port, actor, item, options)
 *	<name>_reserve(w, port, place_out)
 *	<name>_commit(w, port)
 *	<name>_tell(w, actor, item, options)
 *	<name>_reply(w, port, item)
 *	<name>_ask(w, actor, item, answer_type, timeout_ns, ask_out)
 *	<name>_number			a constant, for a switch over peal_type
 *
 * Results, lanes and progress are as for the functions without a type. The
 * compiler rejects a pointer to another type. In C it only warns
 * (incompatible-pointer-types). The compiler also rejects:
 *
 * - a number that does not fit uint16_t
 * - an empty type, or a type with an alignment above 8 bytes
 * - in C++, a type that is not trivially copyable
 *
 * The numbers of a program must differ. The compiler checks this only in a
 * switch.
 */

#define PEALI_MESSAGE static PEAL_DEV PEAL_INLINE

/* The typedef is needed: a parameter may have the same name as the type. */
#define PEALI_MESSAGE_TYPE(name, type, number)                                 \
	typedef type name##_message;                                           \
	struct name##_aligned {                                                \
		char before;                                                   \
		type message;                                                  \
	};                                                                     \
	enum { name##_number = (number) };                                     \
	PEAL_STATIC_ASSERT((number) == (uint16_t)(number),                     \
			   "the number of a message is 0 to 65535");           \
	PEAL_STATIC_ASSERT(sizeof(type) >= 1, "the message is empty");         \
	PEAL_STATIC_ASSERT(offsetof(struct name##_aligned, message) <= 8,      \
			   "a message is aligned to 8 bytes at most");

/**
 * Declares the functions above for a type; at file scope, without a semicolon.
 *
 * @param name   prefix of the names of the functions.
 * @param type   a complete type, without pointers to memory of one side only.
 * @param number type of the messages, 0..65535.
 */
#define PEAL_TYPED_MESSAGE(name, type, number)                                 \
	PEALI_PLAIN(type)                                                      \
	PEALI_MESSAGE_TYPE(name, type, number)                                 \
	PEALI_MESSAGE const name##_message *name##_data(                       \
		const struct peal_worker *w)                                   \
	{                                                                      \
		if (peal_type(w) != name##_number ||                           \
		    peal_length(w) != sizeof(name##_message) ||                \
		    peal_dead_letter_current(w) || peal_answer_error(w))       \
			return 0;                                              \
		return (const name##_message *)peal_data(w);                   \
	}                                                                      \
	PEALI_MESSAGE int name##_emit(struct peal_worker *w, uint32_t port,    \
				      const name##_message *item,              \
				      const struct peal_send_options *options) \
	{                                                                      \
		return peal_emit(w, port, name##_number, item, sizeof(*item),  \
				 options);                                     \
	}                                                                      \
	PEALI_MESSAGE int name##_emit_to(                                      \
		struct peal_worker *w, uint32_t port, uint32_t actor,          \
		const name##_message *item,                                    \
		const struct peal_send_options *options)                       \
	{                                                                      \
		return peal_emit_to(w, port, actor, name##_number, item,       \
				    sizeof(*item), options);                   \
	}                                                                      \
	PEALI_MESSAGE int name##_reserve(struct peal_worker *w, uint32_t port, \
					 name##_message **place_out)           \
	{                                                                      \
		void *place = 0;                                               \
		int result =                                                   \
			peal_reserve(w, port, sizeof(**place_out), &place);    \
                                                                               \
		*place_out = (name##_message *)place;                          \
		return result;                                                 \
	}                                                                      \
	PEALI_MESSAGE void name##_commit(struct peal_worker *w, uint32_t port) \
	{                                                                      \
		peal_commit(w, port, name##_number, sizeof(name##_message));   \
	}                                                                      \
	PEALI_MESSAGE int name##_tell(struct peal_worker *w, uint32_t actor,   \
				      const name##_message *item,              \
				      const struct peal_send_options *options) \
	{                                                                      \
		return peal_tell(w, actor, name##_number, item, sizeof(*item), \
				 options);                                     \
	}                                                                      \
	PEALI_MESSAGE int name##_ask(struct peal_worker *w, uint32_t actor,    \
				     const name##_message *item,               \
				     uint16_t answer_type,                     \
				     uint64_t timeout_ns, uint64_t *ask_out)   \
	{                                                                      \
		return peal_ask(w, actor, name##_number, item, sizeof(*item),  \
				answer_type, timeout_ns, ask_out);             \
	}                                                                      \
	PEALI_MESSAGE int name##_reply(struct peal_worker *w, uint32_t port,   \
				       const name##_message *item)             \
	{                                                                      \
		return peal_reply(w, port, name##_number, item,                \
				  sizeof(*item));                              \
	}

#endif
