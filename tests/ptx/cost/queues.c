/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernels of one lane that put or take n messages in Peal's queues. The message
 * sizes are 16 and 64 bytes. A kernel with _x32 in its name moves 32 messages by
 * one call. Each kernel adds its number of messages to *done.
 *
 * The kernels lanes_put and lanes_take are of one warp. A call moves a message of
 * each lane. Each lane has n messages.
 */
#include <peal/device/kernel.h>
#include <peal/device/typed_queue.h>
#include <peal/device/work_lanes.h>

struct m16 {
	uint64_t word[2];
};
struct m64 {
	uint64_t word[8];
};
PEAL_TYPED_DEVICE_QUEUE(m16, struct m16, 64)
PEAL_TYPED_DEVICE_QUEUE(m64, struct m64, 64)

#define PLACE ((struct peal_header){ 1, 2, 0 })

/* The call returns `ok` for `step` messages at items + i. */
#define KERNEL(name, type, step, ok, call)                                     \
	PEAL_KERNEL void name(void *queue, void *end, type *items, uint64_t n, \
			      uint64_t *done)                                  \
	{                                                                      \
		uint64_t i = 0;                                                \
                                                                               \
		while (i < n && (call) == (ok))                                \
			i += (step);                                           \
		*done += i;                                                    \
	}

/* As KERNEL, for a call of all lanes that moves the item of each lane. */
#define LANES_KERNEL(name, type, ok, call)                                     \
	PEAL_KERNEL void name(void *queue, void *end, type *items, uint64_t n, \
			      uint64_t *done)                                  \
	{                                                                      \
		const struct peal_worker *w = 0; /* a warp needs no scratch */ \
		type *item = items + peal_hw_lane();                           \
		uint64_t i = 0;                                                \
                                                                               \
		while (i < n && (call) == (ok))                                \
			i++, item += peal_hw_lanes();                          \
		if (peal_hw_lane() == 0)                                       \
			*done += i;                                            \
	}

#define PRODUCER ((struct peal_link_producer *)end)
#define CONSUMER ((struct peal_link_consumer *)end)
#define MAILBOX ((struct peal_mailbox *)queue)
#define LEASE ((struct peal_mailbox_lease *)end)
#define WORK ((struct peal_work *)queue)
#define PUSHER ((struct peal_work_producer *)end)
#define POPPER ((struct peal_work_consumer *)end)
#define TOPIC ((struct peal_topic *)queue)
#define PUBLISHER ((struct peal_topic_publisher *)end)
#define SUBSCRIBER ((struct peal_topic_subscriber *)end)

/* The kernels of one message size. */
#define KERNELS(m, bytes)                                                      \
	static PEAL_DEV PEAL_INLINE int m##_link_take(                         \
		struct peal_link_consumer *c, struct m *to)                    \
	{                                                                      \
		struct peal_message message;                                   \
                                                                               \
		return m##_link_pop(c, to, &message);                          \
	}                                                                      \
	static PEAL_DEV PEAL_INLINE int m##_box_take(struct peal_mailbox *box, \
						     struct m *to)             \
	{                                                                      \
		struct peal_header header;                                     \
                                                                               \
		return m##_mailbox_take(box, to, &header);                     \
	}                                                                      \
	static PEAL_DEV PEAL_INLINE int m##_box_take_x32(                      \
		struct peal_mailbox *box, struct m *to)                        \
	{                                                                      \
		int i = 0;                                                     \
                                                                               \
		while (i < 32 && !m##_box_take(box, to + i))                   \
			i++;                                                   \
		return i;                                                      \
	}                                                                      \
	static PEAL_DEV PEAL_INLINE int m##_queue_take(                        \
		struct peal_work *q, struct peal_work_consumer *c,             \
		struct m *to, uint32_t n)                                      \
	{                                                                      \
		struct peal_work_received got[32];                             \
                                                                               \
		return m##_work_pop_burst(q, c, to, n, got);                   \
	}                                                                      \
	static PEAL_DEV PEAL_INLINE int m##_subscriber_take(                   \
		struct peal_topic *t, struct peal_topic_subscriber *s,         \
		struct m *to, uint32_t n)                                      \
	{                                                                      \
		struct peal_topic_received got[32];                            \
                                                                               \
		return m##_topic_take_burst(t, s, to, n, got);                 \
	}                                                                      \
	static PEAL_DEV PEAL_INLINE int m##_lanes_take(                        \
		const struct peal_worker *w, struct peal_work *q,              \
		struct peal_work_consumer *c, struct m *to)                    \
	{                                                                      \
		struct peal_work_received got;                                 \
		struct m item;                                                 \
		int result = peal_work_pop_lanes(w, q, c, &item, bytes, &got); \
                                                                               \
		if (result == 1)                                               \
			*to = item;                                            \
		return result;                                                 \
	}                                                                      \
	LANES_KERNEL(lanes_put_##bytes, struct m, 0,                           \
		     peal_work_push_lanes(w, WORK, PUSHER, 1, PLACE, item,     \
					  bytes))                              \
	LANES_KERNEL(lanes_take_##bytes, struct m, 1,                          \
		     m##_lanes_take(w, WORK, POPPER, item))                    \
	KERNEL(link_put_##bytes, struct m, 1, 0,                               \
	       m##_link_push(PRODUCER, PLACE, items + i))                      \
	KERNEL(link_take_##bytes, struct m, 1, 0,                              \
	       m##_link_take(CONSUMER, items + i))                             \
	KERNEL(link_put_##bytes##_x32, struct m, 32, 0,                        \
	       m##_link_push_bulk(PRODUCER, PLACE, items + i, 32))             \
	KERNEL(link_take_##bytes##_x32, struct m, 32, 32,                      \
	       m##_link_pop_burst(CONSUMER, items + i, 32))                    \
	KERNEL(mailbox_put_##bytes, struct m, 1, 0,                            \
	       m##_mailbox_put(MAILBOX, LEASE, PLACE, items + i))              \
	KERNEL(mailbox_take_##bytes, struct m, 1, 0,                           \
	       m##_box_take(MAILBOX, items + i))                               \
	KERNEL(mailbox_put_##bytes##_x32, struct m, 32, 0,                     \
	       peal_mailbox_put_bulk(MAILBOX, LEASE, PLACE, items + i, bytes,  \
				     32))                                      \
	KERNEL(mailbox_take_##bytes##_x32, struct m, 32, 32,                   \
	       m##_box_take_x32(MAILBOX, items + i))                           \
	KERNEL(work_put_##bytes, struct m, 1, 0,                               \
	       m##_work_push(WORK, PUSHER, PLACE, items + i))                  \
	KERNEL(work_take_##bytes, struct m, 1, 1,                              \
	       m##_queue_take(WORK, POPPER, items + i, 1))                     \
	KERNEL(work_put_##bytes##_x32, struct m, 32, 0,                        \
	       m##_work_push_bulk(WORK, PUSHER, PLACE, items + i, 32))         \
	KERNEL(work_take_##bytes##_x32, struct m, 32, 32,                      \
	       m##_queue_take(WORK, POPPER, items + i, 32))                    \
	KERNEL(topic_put_##bytes, struct m, 1, 0,                              \
	       m##_topic_publish(TOPIC, PUBLISHER, PLACE, items + i))          \
	KERNEL(topic_take_##bytes, struct m, 1, 1,                             \
	       m##_subscriber_take(TOPIC, SUBSCRIBER, items + i, 1))           \
	KERNEL(topic_put_##bytes##_x32, struct m, 32, 0,                       \
	       m##_topic_publish_bulk(TOPIC, PUBLISHER, PLACE, items + i, 32)) \
	KERNEL(topic_take_##bytes##_x32, struct m, 32, 32,                     \
	       m##_subscriber_take(TOPIC, SUBSCRIBER, items + i, 32))

KERNELS(m16, 16)
KERNELS(m64, 64)
