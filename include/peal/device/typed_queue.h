/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_DEVICE_TYPED_QUEUE_H
#define PEAL_DEVICE_TYPED_QUEUE_H

#include <peal/device/link_consumer.h>
#include <peal/device/mailbox.h>
#include <peal/device/link_producer.h>
#include <peal/device/work_set.h>
#include <peal/device/topic_subscriber.h>

/*
 * Queues with messages of one type. PEAL_TYPED_DEVICE_QUEUE(name, type,
 * payload_max) declares functions that put and take this type, for every kind
 * of queue. For queues of threads use PEAL_TYPED_QUEUE(name, type), see
 * peal/typed_queue.h.
 *
 *	struct task { uint64_t first, n; };
 *	PEAL_TYPED_DEVICE_QUEUE(task, struct task, 48)
 *
 *	task_work_push(q, p, header, &task);
 *	task_work_pop_burst(q, c, tasks, 32, got);
 *
 * The compiler rejects a pointer to another type. In C it only warns
 * (incompatible-pointer-types). The compiler also rejects a type longer than
 * payload_max, the largest payload of the queue's slots (default 48 bytes). In
 * C++ the type must be trivially copyable.
 *
 *	<name>_link_push(p, header, item)
 *	<name>_link_push_bulk(p, header, items, n)
 *	<name>_link_pop(c, item, message)
 *	<name>_link_pop_burst(c, items, n)
 *	<name>_mailbox_put(m, lease, header, item)
 *	<name>_mailbox_take(m, item, header)
 *	<name>_work_push(q, p, header, item)
 *	<name>_work_push_bulk(q, p, header, items, n)
 *	<name>_work_pop(q, c, item, got)
 *	<name>_work_pop_burst(q, c, items, n, got)
 *	<name>_work_set_pop_burst(member, items, n, got)
 *	<name>_topic_publish(t, p, header, item)
 *	<name>_topic_publish_bulk(t, p, header, items, n)
 *	<name>_topic_take(t, s, item, got)
 *	<name>_topic_take_burst(t, s, items, n, got)
 *
 * A function has the name and the parameters of the call without a type. The
 * item replaces data and bytes. Results and progress are as for that call. For a
 * message of another length, a link or mailbox returns PEAL_EMSGSIZE and keeps
 * the message. A work queue or topic must have message_bytes of sizeof(type),
 * else all calls return PEAL_EMSGSIZE. A mailbox skips slots that were given up
 * (peal_mailbox_abandon).
 */

/* Returns 1 if a peeked message has that length, or is a mark. */
static PEAL_DEV PEAL_INLINE int peali_typed_fits(const struct peal_message *m,
						 uint64_t bytes)
{
	return m->kind > PEAL_KIND_SLAB || m->length == bytes;
}

/* As peal_link_pop, only for messages of `bytes` bytes. */
static PEAL_DEV PEAL_UNUSED inline int
peali_typed_link_pop(struct peal_link_consumer *c, void *to, uint64_t bytes,
		     struct peal_message *m)
{
	int result = peal_link_peek(c, m);

	if (result)
		return result;
	return peali_typed_fits(m, bytes) ?
		       peali_link_pop_peeked(c, to, bytes, m) :
		       PEAL_EMSGSIZE;
}

/* As peal_link_pop_burst, only for messages of `bytes` bytes. */
static PEAL_DEV PEAL_UNUSED inline int
peali_typed_link_pop_burst(struct peal_link_consumer *c, void *to,
			   uint64_t bytes, uint32_t n)
{
	struct peal_message m;
	uint32_t i;
	int result = 0;

	for (i = 0; i < n; i++) {
		result = peal_link_peek(c, &m);
		if (!result && !peali_typed_fits(&m, bytes))
			result = PEAL_EMSGSIZE;
		if (result || m.kind > PEAL_KIND_SLAB)
			break;
		peal_copy((uint8_t *)to + i * bytes, m.data, bytes);
		peal_link_release(c, &m);
	}
	return i ? (int)i : result;
}

/*
 * Takes a message of `bytes` bytes from a mailbox. Skips slots that were given
 * up; the consumer gave them up itself. Returns 0, PEAL_EAGAIN (empty) or
 * PEAL_EMSGSIZE.
 */
static PEAL_DEV PEAL_UNUSED inline int
peali_typed_mailbox_take(struct peal_mailbox *m, void *to, uint64_t bytes,
			 struct peal_header *header_out)
{
	struct peal_slot_view view = { 0, 0, 0 };

	for (;;) {
		if (!peal_mailbox_peek(m, &view))
			return PEAL_EAGAIN;
		if (PEAL_LIKELY(view.kind != PEAL_KIND_DEAD))
			break;
		peal_mailbox_release(m);
	}
	if (view.length != sizeof(*header_out) + bytes)
		return PEAL_EMSGSIZE;
	*header_out = *(const struct peal_header *)(const void *)view.content;
	peal_copy(to, view.content + sizeof(*header_out), bytes);
	peal_mailbox_release(m);
	return 0;
}

/* Sizes are of pointers' targets: a parameter may have the name of the type. */
#define PEALI_TYPED static PEAL_DEV PEAL_UNUSED inline int

#define PEALI_TYPED_LINK(name, type)                                           \
	PEALI_TYPED name##_link_push(struct peal_link_producer *p,             \
				     struct peal_header header,                \
				     const type *item)                         \
	{                                                                      \
		return peal_link_push(p, header, item, sizeof(*item));         \
	}                                                                      \
	PEALI_TYPED name##_link_push_bulk(struct peal_link_producer *p,        \
					  struct peal_header header,           \
					  const type *items, uint64_t n)       \
	{                                                                      \
		return peal_link_push_bulk(p, header, items, sizeof(*items),   \
					   n);                                 \
	}                                                                      \
	PEALI_TYPED name##_link_pop(struct peal_link_consumer *c,              \
				    type *item_out, struct peal_message *m)    \
	{                                                                      \
		return peali_typed_link_pop(c, item_out, sizeof(*item_out),    \
					    m);                                \
	}                                                                      \
	PEALI_TYPED name##_link_pop_burst(struct peal_link_consumer *c,        \
					  type *items_out, uint32_t n)         \
	{                                                                      \
		return peali_typed_link_pop_burst(c, items_out,                \
						  sizeof(*items_out), n);      \
	}

#define PEALI_TYPED_MAILBOX(name, type)                                        \
	PEALI_TYPED name##_mailbox_put(struct peal_mailbox *m,                 \
				       struct peal_mailbox_lease *lease,       \
				       struct peal_header header,              \
				       const type *item)                       \
	{                                                                      \
		return peal_mailbox_put(m, lease, header, item,                \
					sizeof(*item));                        \
	}                                                                      \
	PEALI_TYPED name##_mailbox_take(struct peal_mailbox *m,                \
					type *item_out,                        \
					struct peal_header *header_out)        \
	{                                                                      \
		return peali_typed_mailbox_take(                               \
			m, item_out, sizeof(*item_out), header_out);           \
	}

#define PEALI_TYPED_WORK(name, type)                                           \
	PEALI_TYPED name##_work_push_bulk(struct peal_work *q,                 \
					  struct peal_work_producer *p,        \
					  struct peal_header header,           \
					  const type *items, uint64_t n)       \
	{                                                                      \
		return q->message_bytes != sizeof(*items) ?                    \
			       PEAL_EMSGSIZE :                                 \
			       peal_work_push_bulk(q, p, header, items,        \
						   sizeof(*items), n);         \
	}                                                                      \
	PEALI_TYPED name##_work_push(struct peal_work *q,                      \
				     struct peal_work_producer *p,             \
				     struct peal_header header,                \
				     const type *item)                         \
	{                                                                      \
		return name##_work_push_bulk(q, p, header, item, 1);           \
	}                                                                      \
	PEALI_TYPED name##_work_pop_burst(struct peal_work *q,                 \
					  struct peal_work_consumer *c,        \
					  type *items_out, uint32_t n,         \
					  struct peal_work_received *got_out)  \
	{                                                                      \
		return q->message_bytes != sizeof(*items_out) ?                \
			       PEAL_EMSGSIZE :                                 \
			       peal_work_pop_burst(q, c, items_out,            \
						   sizeof(*items_out), n,      \
						   got_out);                   \
	}                                                                      \
	PEALI_TYPED name##_work_pop(struct peal_work *q,                       \
				    struct peal_work_consumer *c,              \
				    type *item_out,                            \
				    struct peal_work_received *got_out)        \
	{                                                                      \
		return name##_work_pop_burst(q, c, item_out, 1, got_out);      \
	}                                                                      \
	PEALI_TYPED name##_work_set_pop_burst(                                 \
		struct peal_work_member *m, type *items_out, uint32_t n,       \
		struct peal_work_received *got_out)                            \
	{                                                                      \
		return peal_work_set_shard(m->set, m->own)->message_bytes !=   \
				       sizeof(*items_out) ?                    \
			       PEAL_EMSGSIZE :                                 \
			       peal_work_set_pop_burst(m, items_out,           \
						       sizeof(*items_out), n,  \
						       got_out);               \
	}

#define PEALI_TYPED_TOPIC(name, type)                                          \
	PEALI_TYPED name##_topic_publish_bulk(struct peal_topic *t,            \
					      struct peal_topic_publisher *p,  \
					      struct peal_header header,       \
					      const type *items, uint64_t n)   \
	{                                                                      \
		return t->message_bytes != sizeof(*items) ?                    \
			       PEAL_EMSGSIZE :                                 \
			       peal_topic_publish_bulk(t, p, header, items,    \
						       sizeof(*items), n);     \
	}                                                                      \
	PEALI_TYPED name##_topic_publish(struct peal_topic *t,                 \
					 struct peal_topic_publisher *p,       \
					 struct peal_header header,            \
					 const type *item)                     \
	{                                                                      \
		return name##_topic_publish_bulk(t, p, header, item, 1);       \
	}                                                                      \
	PEALI_TYPED name##_topic_take_burst(                                   \
		struct peal_topic *t, struct peal_topic_subscriber *s,         \
		type *items_out, uint32_t n,                                   \
		struct peal_topic_received *got_out)                           \
	{                                                                      \
		return t->message_bytes != sizeof(*items_out) ?                \
			       PEAL_EMSGSIZE :                                 \
			       peal_topic_take_burst(t, s, items_out,          \
						     sizeof(*items_out), n,    \
						     got_out);                 \
	}                                                                      \
	PEALI_TYPED name##_topic_take(struct peal_topic *t,                    \
				      struct peal_topic_subscriber *s,         \
				      type *item_out,                          \
				      struct peal_topic_received *got_out)     \
	{                                                                      \
		return name##_topic_take_burst(t, s, item_out, 1, got_out);    \
	}

/**
 * Declares the functions above for a type; at file scope, without a semicolon.
 *
 * @param name        prefix of the names of the functions.
 * @param type        a complete type, without pointers to memory of one side.
 * @param payload_max bytes of the slots' largest payload, >= sizeof(type).
 */
#define PEAL_TYPED_DEVICE_QUEUE(name, type, payload_max)                       \
	PEAL_STATIC_ASSERT(sizeof(type) <= (payload_max),                      \
			   "the type is longer than a payload");               \
	PEALI_PLAIN(type)                                                      \
	PEALI_TYPED_LINK(name, type)                                           \
	PEALI_TYPED_MAILBOX(name, type)                                        \
	PEALI_TYPED_WORK(name, type)                                           \
	PEALI_TYPED_TOPIC(name, type)

#endif
