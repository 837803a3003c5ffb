/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_TYPED_QUEUE_H
#define PEAL_TYPED_QUEUE_H

#include <peal/queue.h>

/*
 * Typed queues between host threads: each queue takes one message type.
 *
 * PEAL_TYPED_QUEUE(name, type) declares a queue type, two end types and
 * their functions. The compiler then finds a message of a wrong type. Create
 * the queue, open a producer and a consumer, push and pop, then close the ends
 * and destroy the queue. For queues in device memory see
 * PEAL_TYPED_DEVICE_QUEUE in peal/device/typed_queue.h. One type may have both.
 *
 *	struct task { uint64_t first, n; };
 *	PEAL_TYPED_QUEUE(task, struct task)
 *
 *	struct task_queue queue;
 *	struct task_producer producer;
 *
 *	task_queue_create(NULL, &queue);
 *	task_queue_open_producer(queue, &producer);
 *	task_queue_push(producer, &task, -1);
 *	peal_queue_close(producer.end);
 *	peal_queue_destroy(queue.queue);
 */

/*
 * Names that PEAL_TYPED_QUEUE(name, type) declares:
 *
 *	struct <name>_queue { struct peal_queue *queue; };
 *	struct <name>_producer { struct peal_queue_end *end; };
 *	struct <name>_consumer { struct peal_queue_end *end; };
 *
 *	<name>_queue_create(options, queue_out)
 *	<name>_queue_open_producer(queue, producer_out)
 *	<name>_queue_open_consumer(queue, consumer_out)
 *	<name>_queue_push(producer, item, timeout_ns)
 *	<name>_queue_push_bulk(producer, items, n, timeout_ns)
 *	<name>_queue_pop(consumer, item_out, timeout_ns)
 *	<name>_queue_pop_burst(consumer, items_out, n, timeout_ns)
 *
 * The create function calls peal_queue_create_of. Both open functions call
 * peal_queue_open_of. The other functions call peal_queue_push,
 * peal_queue_push_bulk, peal_queue_pop and peal_queue_pop_burst. Each function
 * has the return values, progress and thread safety of the called function.
 * For closing, counts and destruction pass the member `end` or `queue` to the
 * functions of peal/queue.h.
 *
 * An end of another queue type or of the wrong role does not compile. A
 * pointer to another type does not compile in C++. In C it is a warning,
 * -Wincompatible-pointer-types, which -Werror turns into an error.
 *
 * Each popped message is one whole item, so a pop never returns PEAL_EMSGSIZE.
 * The queue refuses messages of another length from every producer.
 *
 * A caller may set the member `queue` to a queue of peal_queue_create_of.
 * Only the open functions may set the member `end`: they check the length.
 */

#define PEALI_THREAD_QUEUE static PEAL_UNUSED inline int

#define PEALI_THREAD_QUEUE_TYPES(name)                                         \
	struct name##_queue {                                                  \
		struct peal_queue *queue;                                      \
	};                                                                     \
	struct name##_producer {                                               \
		struct peal_queue_end *end;                                    \
	};                                                                     \
	struct name##_consumer {                                               \
		struct peal_queue_end *end;                                    \
	};

#define PEALI_THREAD_QUEUE_OPEN(name, role_, ROLE)                             \
	PEALI_THREAD_QUEUE name##_queue_open_##role_(                          \
		struct name##_queue queue, struct name##_##role_ *end_out)     \
	{                                                                      \
		return peal_queue_open_of(queue.queue, name##_queue_bytes,     \
					  PEAL_QUEUE_##ROLE,                   \
					  end_out ? &end_out->end : NULL);     \
	}

#define PEALI_THREAD_QUEUE_MAKE(name)                                          \
	PEALI_THREAD_QUEUE name##_queue_create(                                \
		const struct peal_queue_options *options,                      \
		struct name##_queue *queue_out)                                \
	{                                                                      \
		return peal_queue_create_of(options, name##_queue_bytes,       \
					    queue_out ? &queue_out->queue :    \
							NULL);                 \
	}                                                                      \
	PEALI_THREAD_QUEUE_OPEN(name, producer, PRODUCER)                      \
	PEALI_THREAD_QUEUE_OPEN(name, consumer, CONSUMER)

#define PEALI_THREAD_QUEUE_PUSH(name, type)                                    \
	PEALI_THREAD_QUEUE name##_queue_push(struct name##_producer producer,  \
					     const type *item,                 \
					     int64_t timeout_ns)               \
	{                                                                      \
		return peal_queue_push(producer.end, item, name##_queue_bytes, \
				       timeout_ns);                            \
	}                                                                      \
	PEALI_THREAD_QUEUE name##_queue_push_bulk(                             \
		struct name##_producer producer, const type *items,            \
		uint32_t n, int64_t timeout_ns)                                \
	{                                                                      \
		return peal_queue_push_bulk(producer.end, items,               \
					    name##_queue_bytes, n,             \
					    timeout_ns);                       \
	}

#define PEALI_THREAD_QUEUE_POP(name, type)                                     \
	PEALI_THREAD_QUEUE name##_queue_pop(struct name##_consumer consumer,   \
					    type *item_out,                    \
					    int64_t timeout_ns)                \
	{                                                                      \
		return peal_queue_pop(consumer.end, item_out,                  \
				      name##_queue_bytes, NULL, timeout_ns);   \
	}                                                                      \
	PEALI_THREAD_QUEUE name##_queue_pop_burst(                             \
		struct name##_consumer consumer, type *items_out, uint32_t n,  \
		int64_t timeout_ns)                                            \
	{                                                                      \
		return peal_queue_pop_burst(consumer.end, items_out,           \
					    name##_queue_bytes, n, NULL,       \
					    timeout_ns);                       \
	}

/**
 * Declares the types and functions of a typed queue.
 *
 * Use the macro at file scope, without a semicolon. It is a compile error if
 * the type is empty or too long. In C++ the type must be trivially copyable.
 * A push copies the bytes of the item: pointers in it are copied as they are.
 *
 * @param name  prefix of all declared names.
 * @param type  a complete type of 1 .. PEAL_QUEUE_MESSAGE_MAX bytes.
 */
#define PEAL_TYPED_QUEUE(name, type)                                           \
	PEAL_STATIC_ASSERT(sizeof(type) >= 1, "the type is empty");            \
	PEAL_STATIC_ASSERT(sizeof(type) <= PEAL_QUEUE_MESSAGE_MAX,             \
			   "the type is longer than a message");               \
	PEALI_PLAIN(type)                                                      \
	enum { name##_queue_bytes = sizeof(type) };                            \
	PEALI_THREAD_QUEUE_TYPES(name)                                         \
	PEALI_THREAD_QUEUE_MAKE(name)                                          \
	PEALI_THREAD_QUEUE_PUSH(name, type)                                    \
	PEALI_THREAD_QUEUE_POP(name, type)

#endif
