/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_QUEUE_H
#define PEAL_QUEUE_H

#include <stddef.h>
#include <stdint.h>

#include <peal/abi/message.h>
#include <peal/errors.h>

PEAL_BEGIN_C

/*
 * Queues among threads of the host, in plain memory.
 *
 * These queues need no device, no kernel and no runtime. Their algorithms are
 * those of links and mailboxes. The caller states the numbers of producers and
 * consumers, and peal_queue_create chooses the cheapest algorithm.
 * The installed page queues/README.md compares the costs. For messages of one
 * type, peal/typed_queue.h adds type checks by the compiler.
 *
 *	peal_queue_create(&options, &queue);
 *	peal_queue_open(queue, PEAL_QUEUE_PRODUCER, &producer);
 *	peal_queue_open(queue, PEAL_QUEUE_CONSUMER, &consumer);
 *	peal_queue_push(producer, data, bytes, -1);	(one thread)
 *	peal_queue_pop(consumer, buffer, size, &length, -1);	(another)
 *	peal_queue_close(producer);
 *	peal_queue_close(consumer);
 *	peal_queue_destroy(queue);
 *
 * A child of fork has a copy of each queue, with the messages at that moment.
 * Nothing passes from one process to the other. The child may use the copy if
 * no other thread was in a call on the queue during the fork.
 */

/**
 * A queue.
 *
 * Each thread opens an end of the queue, and one thread at a time uses an end.
 * Push and pop allocate no memory, and make no system call while messages flow.
 *
 * A producer may find the queue full below `capacity` messages:
 *
 * - A consumer returns the slots of popped messages in groups. A group has at
 *   most a quarter of the capacity. A consumer that finds no message returns
 *   all its slots.
 * - Producers of a mailbox or a work queue lease slots in advance. The leases
 *   take at most half of the capacity, but at least one slot per producer. A
 *   producer returns its lease when it finds no free slot, or is closed. After
 *   a failed push, a mailbox producer still keeps the slots that it has
 *   requested.
 *
 * No end keeps a message, a claim to a message or a half-written message between
 * two calls. While no call runs, every queued message can be popped by every
 * consumer of a mailbox or a work queue. It does not matter which consumers
 * have polled before, or never call again.
 *
 * A thread that pauses inside a push delays its message and all later ones. A
 * thread that pauses inside a pop delays the messages that this call pops, and
 * their slots.
 *
 * Queues may form a circle in which one end waits for another. An example is
 * threads that pop from a queue and push the same message to it. Then rely only
 * on three quarters of the capacity of a link or a topic. Rely only on one
 * quarter of a mailbox or a work queue with two or more slots per producer. A
 * circle with no more messages never stalls.
 */
struct peal_queue;

/** One producer's or one consumer's end of a queue. */
struct peal_queue_end;

/** The algorithm of a queue. */
enum peal_queue_kind {
	PEAL_QUEUE_ANY = 0, /* the first of LINK, MAILBOX, WORK that serves */
	PEAL_QUEUE_LINK = 1, /* one producer, one consumer */
	PEAL_QUEUE_MAILBOX = 2, /* many producers, one consumer */
	PEAL_QUEUE_WORK = 3, /* many producers, many consumers; each message
			      * goes to one consumer */
	PEAL_QUEUE_TOPIC = 4 /* one producer, many consumers; each message goes
			      * to every consumer */
};

/** The role of an end. */
enum peal_queue_role { PEAL_QUEUE_PRODUCER = 0, PEAL_QUEUE_CONSUMER = 1 };

/** Most messages that a call can push or pop. */
#define PEAL_QUEUE_BURST 32
/** Most ends of one role. */
#define PEAL_QUEUE_ENDS 64
/** Most bytes of a link's message; the other kinds take less. */
#define PEAL_QUEUE_MESSAGE_MAX (256ull << 20)

/** Options of a queue; a field that is 0 has its default. */
struct peal_queue_options {
	uint32_t size; /* sizeof(struct peal_queue_options) */
	uint32_t kind; /* enum peal_queue_kind (default PEAL_QUEUE_ANY) */
	uint32_t max_producers; /* most open producers (default 1, 1..64) */
	uint32_t max_consumers; /* most open consumers (default 1, 1..64) */
	/*
	 * Slots: a power of two (default 1024, 1..2^20), >= max_producers.
	 * A work queue of 64 slots or more needs at least 2 * max_producers.
	 */
	uint32_t capacity;
	uint32_t policy; /* enum peal_slot_policy (0: PEAL_POLICY_SEQUENCE) */
	/*
	 * Bytes of the largest message (default 48). A link takes up to 256
	 * MiB. The other kinds take up to 4080, with policy atom16 3064, with
	 * atom8 1016.
	 */
	uint64_t message_bytes;
	const char *name; /* for error texts (default "queue"); copied, at most
			   * 31 bytes: "..." replaces the middle of more */
	/*
	 * For a topic (default 0). 1: the producer never waits, and a slow
	 * consumer misses messages. 0: the producer waits for the slowest
	 * consumer. Other kinds allow 0 only.
	 */
	uint32_t overwrite;
	uint32_t reserved; /* 0 */
};

/**
 * A queue and its counters: accepted = delivered + queued.
 *
 * For a topic, `delivered` counts a message once for each consumer that popped
 * it, and `queued` is 0.
 */
struct peal_queue_info {
	uint32_t kind; /* enum peal_queue_kind, never PEAL_QUEUE_ANY */
	uint32_t capacity; /* slots */
	uint64_t message_bytes, memory_bytes; /* largest message; all memory */
	uint32_t producers, consumers; /* ends that are open now */
	uint64_t accepted, delivered, queued; /* messages */
};

/**
 * Makes a queue.
 *
 * Thread-safe. Does not block.
 *
 * @param options   NULL: all defaults.
 * @param queue_out receives the queue; the caller destroys it.
 * @return 0, or a negative error code:
 * @retval PEAL_EINVAL  queue_out is NULL, or an option is out of range, or the
 *                      kind does not serve so many ends. The error text names
 *                      the option, its value and the allowed range.
 * @retval PEAL_ENOMEM  there is too little memory.
 */
int peal_queue_create(const struct peal_queue_options *options,
		      struct peal_queue **queue_out);

/**
 * Creates a queue for messages of one fixed length. As peal_queue_create, and:
 *
 * @param options   as peal_queue_create.
 * @param bytes     length of each message, up to PEAL_QUEUE_MESSAGE_MAX. A push
 *                  of another length fails with PEAL_EMSGSIZE.
 * @param queue_out as peal_queue_create.
 * @return 0, or an error of peal_queue_create.
 * @retval PEAL_EINVAL  `bytes` is 0, or options->message_bytes is another length.
 */
int peal_queue_create_of(const struct peal_queue_options *options,
			 uint64_t bytes, struct peal_queue **queue_out);

/**
 * Frees a queue and the messages in it.
 *
 * No other call on the queue may run at the same time.
 *
 * @param queue a queue; NULL does nothing.
 * @return 0, or a negative error code:
 * @retval PEAL_EBUSY  an end is open; the queue remains.
 */
int peal_queue_destroy(struct peal_queue *queue);

/**
 * Opens an end of a queue.
 *
 * Open all producers before you close the first one. When all opened producers
 * are closed, the stream ends for the consumers.
 *
 * A new consumer continues where a closed consumer stopped. A topic's consumer
 * begins with the next message that the producer pushes.
 *
 * Thread-safe. Waits only for other threads that open or close an end.
 *
 * @param queue   a queue.
 * @param role    PEAL_QUEUE_PRODUCER or PEAL_QUEUE_CONSUMER.
 * @param end_out receives the end; the caller closes it.
 * @return 0, or a negative error code:
 * @retval PEAL_EBUSY   as many ends are open as the options allow. Or a thread
 *                      died in a call, and its end is lost (peal_queue_close).
 * @retval PEAL_EINVAL  a pointer is NULL, or there is no such role.
 */
int peal_queue_open(struct peal_queue *queue, enum peal_queue_role role,
		    struct peal_queue_end **end_out);

/**
 * Opens an end for messages of one fixed length. As peal_queue_open, and:
 *
 * @param queue   a queue of peal_queue_create_of.
 * @param bytes   the length that peal_queue_create_of was given.
 * @param role    as peal_queue_open.
 * @param end_out as peal_queue_open.
 * @return 0, or an error of peal_queue_open.
 * @retval PEAL_EMSGSIZE  the queue has another length, or no fixed length.
 */
int peal_queue_open_of(struct peal_queue *queue, uint64_t bytes,
		       enum peal_queue_role role,
		       struct peal_queue_end **end_out);

/**
 * Closes an end of a queue.
 *
 * Messages that a closed producer has pushed remain in the queue. Messages that
 * a closed consumer has not popped remain for the next consumer.
 *
 * If a thread dies inside a call, another thread closes its end. A signal or a
 * cancellation can cause such a death. No other repair is needed:
 *
 * - The queue may lose the messages that the thread was pushing or popping. A
 *   part of a bulk may arrive.
 * - Later messages arrive once each other producer has been outside of a call.
 * - A dead producer of a mailbox or a work queue loses its leased slots. Its
 *   end cannot be opened again. Both losses end when all producers are closed.
 * - A mailbox or a topic continues after the death of a consumer.
 * - A work queue accepts no more messages after the death of a consumer. The
 *   other consumers pop the remaining messages.
 * - A dead end of a link, or a topic's dead producer, is never opened again.
 *
 * Any thread may call this, but no other call on this end may run at the same
 * time. Waits only for other threads that open or close an end.
 *
 * @param end an end; invalid after this call. NULL does nothing.
 * @return 0, or a negative error code:
 * @retval PEAL_EINVAL  the end is closed already. The queue reuses ends. So a
 *                      stale pointer may close an end that was opened later.
 */
int peal_queue_close(struct peal_queue_end *end);

/**
 * Pushes a copy of one message.
 *
 * Until the first consumer is opened, the queue keeps the messages. A topic
 * drops them.
 *
 * One thread at a time per end. Wait-free with timeout 0. Otherwise blocks
 * until consumers free a slot, at most timeout_ns.
 *
 * @param end        a producer.
 * @param data       `bytes` bytes; may be NULL if bytes is 0.
 * @param bytes      0 to the queue's message_bytes.
 * @param timeout_ns ns to wait for a free slot; 0: do not wait; negative: no
 *                   limit.
 * @return 0, or a negative error code:
 * @retval PEAL_EAGAIN     the queue is full and timeout_ns is 0.
 * @retval PEAL_ETIMEDOUT  the queue was full for timeout_ns.
 * @retval PEAL_EMSGSIZE   the message is too long, or has another length than
 *                         the queue requires (peal_queue_create_of).
 * @retval PEAL_EPIPE      all opened consumers are closed (never for a topic),
 *                         or a work queue's consumer died inside a call.
 * @retval PEAL_EPROTO     the memory of the queue is damaged.
 * @retval PEAL_EINVAL     end is NULL or no producer, or data is NULL.
 * @retval PEAL_EBUSY      another thread is in a call on this end. Only builds
 *                         with assertions or a sanitizer check this.
 */
int peal_queue_push(struct peal_queue_end *end, const void *data,
		    uint64_t bytes, int64_t timeout_ns);

/**
 * Pushes n messages of equal length, all or none.
 *
 * A mailbox or a work queue takes at most capacity / (2 * producers) messages
 * at a time, but at least 1.
 *
 * A link with message_bytes above 512 takes only messages that fit one slot: 48
 * bytes with policy sequence. Push longer messages one at a time.
 *
 * Threads and waiting are as for peal_queue_push.
 *
 * @param end        a producer.
 * @param data       n * bytes bytes, one message after the other.
 * @param bytes      length of each message.
 * @param n          1 to PEAL_QUEUE_BURST, and at most the capacity.
 * @param timeout_ns as peal_queue_push.
 * @return as peal_queue_push, and:
 * @retval PEAL_EMSGSIZE  n or bytes is above the limits stated here.
 * @retval PEAL_EINVAL    n is 0 or above PEAL_QUEUE_BURST.
 */
int peal_queue_push_bulk(struct peal_queue_end *end, const void *data,
			 uint64_t bytes, uint32_t n, int64_t timeout_ns);

/**
 * Pops the next message.
 *
 * One thread at a time per end. Wait-free with timeout 0. Otherwise blocks
 * until a producer pushes a message or the stream ends, at most timeout_ns.
 *
 * @param end        a consumer.
 * @param buffer     receives the message. May be NULL if `buffer_bytes`
 *                   is 0.
 * @param buffer_bytes bytes of the buffer. A work queue and a topic require at
 *                   least message_bytes, for shorter messages too.
 * @param length_out receives the bytes of the message; may be NULL.
 * @param timeout_ns ns to wait for a message; 0: do not wait; negative: no
 *                   limit.
 * @return 0, or a negative error code:
 * @retval PEAL_EAGAIN     there is no message and timeout_ns is 0.
 * @retval PEAL_ETIMEDOUT  there was no message for timeout_ns.
 * @retval PEAL_EEND       all opened producers are closed, and no message
 *                         remains. A work queue reports this only after other
 *                         consumers have popped the messages they claimed.
 * @retval PEAL_EMSGSIZE   the buffer is too short. The message remains, and
 *                         *length_out is the required size.
 * @retval PEAL_EPROTO     the memory of the queue is damaged. No further
 *                         message comes.
 * @retval PEAL_EINVAL     end is NULL or no consumer, or buffer is NULL.
 * @retval PEAL_EBUSY      as peal_queue_push.
 */
int peal_queue_pop(struct peal_queue_end *end, void *buffer,
		   uint64_t buffer_bytes, uint64_t *length_out,
		   int64_t timeout_ns);

/**
 * Pops the messages that are available, up to n.
 *
 * The call waits only for the first message. Threads and waiting are as for
 * peal_queue_pop.
 *
 * @param end         a consumer.
 * @param buffer      n * bytes bytes; message i begins at i * bytes.
 * @param bytes       bytes of the buffer per message.
 * @param n           1 to PEAL_QUEUE_BURST.
 * @param lengths_out receives the length of each message, n entries; may be
 *                    NULL.
 * @param timeout_ns  ns to wait for the first message; as peal_queue_pop.
 * @return the number of messages, at least 1; or an error as peal_queue_pop,
 *         and:
 * @retval PEAL_EMSGSIZE  the first message does not fit `bytes`.
 * @retval PEAL_EINVAL    n is 0 or above PEAL_QUEUE_BURST.
 */
int peal_queue_pop_burst(struct peal_queue_end *end, void *buffer,
			 uint64_t bytes, uint32_t n, uint64_t *lengths_out,
			 int64_t timeout_ns);

/**
 * Reads the counters of a queue.
 *
 * While messages flow, each counter is from some moment during the call. Still
 * accepted = delivered + queued holds, except for a topic. From call to call,
 * accepted and delivered never decrease. `queued` is never above the capacity.
 *
 * Thread-safe. Waits only for other threads that open or close an end.
 *
 * @param queue    a queue.
 * @param info_out filled on success.
 * @return 0, or a negative error code:
 * @retval PEAL_EINVAL  a pointer is NULL.
 */
int peal_queue_info(struct peal_queue *queue, struct peal_queue_info *info_out);

/**
 * Counts the messages that a consumer of an overwriting topic has missed.
 *
 * The count begins when the consumer is opened. Only the thread that uses the
 * end may call this.
 *
 * @param end a consumer.
 * @return the number of messages. 0 for the other kinds, which lose no message,
 *         for a producer and for NULL.
 */
uint64_t peal_queue_missed(const struct peal_queue_end *end);

/**
 * Returns the name of a kind.
 *
 * Thread-safe, wait-free.
 *
 * @param kind enum peal_queue_kind.
 * @return a static string; "?" for PEAL_QUEUE_ANY and for unknown numbers.
 */
const char *peal_queue_kind_name(uint32_t kind);

/**
 * Returns the name of a role: "producer" or "consumer".
 *
 * Thread-safe, wait-free.
 *
 * @param role enum peal_queue_role.
 * @return a static string; "?" for an unknown number.
 */
const char *peal_queue_role_name(uint32_t role);

PEAL_END_C

#endif
