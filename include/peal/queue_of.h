/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_QUEUE_OF_H
#define PEAL_QUEUE_OF_H

#include <peal/queue.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Queues among threads, of one type of message: PEAL_THREAD_QUEUE_OF(name, type)
 * declares types for such a queue and its ends, and what puts and takes that
 * type, and nothing else. It is to peal/queue.h what PEAL_QUEUE_OF of
 * peal/device/typed.h is to the queues of devices; a type may have both.
 *
 *	struct task { uint64_t first, n; };
 *	PEAL_THREAD_QUEUE_OF(task, struct task)
 *
 *	struct task_queue queue;
 *	struct task_producer producer;
 *
 *	task_queue_create(NULL, &queue);
 *	task_queue_open_producer(queue, &producer);
 *	task_queue_push(producer, &task, -1);
 *	peal_queue_close(producer.end);
 *	peal_queue_destroy(queue.queue);
 *
 *	struct <name>_queue { struct peal_queue *queue; };
 *	struct <name>_producer, <name>_consumer { struct peal_queue_end *end; };
 *
 *	<name>_queue_create(options, queue_out)
 *	<name>_queue_open_producer(queue, producer_out)
 *	<name>_queue_open_consumer(queue, consumer_out)
 *	<name>_queue_push(producer, item, timeout_ns)
 *	<name>_queue_push_bulk(producer, items, n, timeout_ns)
 *	<name>_queue_pop(consumer, item_out, timeout_ns)
 *	<name>_queue_pop_burst(consumer, items_out, n, timeout_ns)
 *
 * Results, progress and threads are those of the functions of peal/queue.h; the
 * first three call the two below. The end of a queue of another type, or of
 * the other role, does not compile; nor does a pointer to another type, which in C
 * is a warning that can be made an error (incompatible-pointer-types). All
 * else is done with queue.queue and with an end's `end`: closing, counts.
 *
 * What is taken is always one whole item, and taking never says PEAL_EMSGSIZE:
 * such a queue refuses messages of another length, whoever puts them, and an end
 * is not opened on a queue that would take them. So a struct <name>_queue may be
 * filled with a queue of peal_queue_create_of, but an end by the opening alone.
 */

/**
 * Makes a queue whose messages have all the same length. To put one of another
 * length is PEAL_EMSGSIZE.
 *
 * @param options   as peal_queue_create; message_bytes is 0, or `bytes` too.
 * @param bytes     of each message, at least 1.
 * @param queue_out the queue; the caller destroys it.
 * @return as peal_queue_create; PEAL_EINVAL if bytes is 0, or message_bytes
 *         says something else. Thread-safe.
 */
int peal_queue_create_of(const struct peal_queue_options *options,
			 uint64_t bytes, struct peal_queue **queue_out);

/**
 * Opens an end of a queue whose messages have all the same length.
 *
 * @param queue   a queue.
 * @param bytes   that length.
 * @param role    producer or consumer.
 * @param end_out the end; the caller closes it.
 * @return as peal_queue_open; PEAL_EMSGSIZE the queue was made for messages of
 *         another length, or of any. Thread-safe.
 */
int peal_queue_open_of(struct peal_queue *queue, uint64_t bytes,
		       enum peal_queue_role role,
		       struct peal_queue_end **end_out);

#ifdef __cplusplus
}
#endif

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
 * Declares the types and functions above for a type; at file scope, without a
 * semicolon.
 *
 * name  begins the names of the types and functions
 * type  a complete type, not empty and of at most PEAL_QUEUE_MESSAGE_MAX bytes,
 *       where all threads can use the pointers in it; in C++ trivially copyable
 */
#define PEAL_THREAD_QUEUE_OF(name, type)                                       \
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
