/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_QUEUE_H
#define PEAL_QUEUE_H

#include <stddef.h>
#include <stdint.h>

#include <peal/abi/message.h>
#include <peal/errors.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * A queue among threads of the host, in plain memory: the queues that links and
 * mailboxes are made of, without devices, kernels and a runtime. Say how many
 * put and how many take, and get the queue that costs least for that; see
 * queues/README.md for what each of them costs. Where all messages are of one
 * type, peal/queue_of.h lets the compiler see to that.
 *
 * Who uses a queue opens an end of it, for one thread at a time. Ends make no
 * system call while messages flow and allocate nothing. A consumer tells of the
 * room that it makes by quarters of the capacity, and when it finds nothing: so
 * a producer may find a queue full of which up to a quarter was taken. The
 * producers of a mailbox and of a work queue lease room, up to half of it in
 * all but at least a message each, and keep that until they wait or are closed;
 * a mailbox's that was refused keeps what it has asked for, too. Where queues
 * form a circle in which one end waits for another, count on what is left: three
 * quarters of the capacity; one quarter of a mailbox's and a work queue's that
 * have at least twice as many slots as producers.
 */
struct peal_queue;

/** One producer's or one consumer's end of a queue. */
struct peal_queue_end;

/** Which algorithm. */
enum peal_queue_kind {
	PEAL_QUEUE_ANY = 0, /* the first of those below that serves */
	PEAL_QUEUE_LINK = 1, /* one producer, one consumer */
	PEAL_QUEUE_MAILBOX = 2, /* many producers, one consumer */
	PEAL_QUEUE_WORK = 3, /* many, many; each message to one of them */
	PEAL_QUEUE_TOPIC = 4 /* one, many; each message to all of them: only
			      * where kind says so */
};

/** What an end is for. */
enum peal_queue_role { PEAL_QUEUE_PRODUCER = 0, PEAL_QUEUE_CONSUMER = 1 };

/** Messages that are put or taken at a time, at most. */
#define PEAL_QUEUE_BURST 32
/** Ends of one role, at most. */
#define PEAL_QUEUE_ENDS 64
/** Bytes of a link's message, at most; other kinds take less. */
#define PEAL_QUEUE_MESSAGE_MAX (256ull << 20)

/** Zero in a field: its default. */
struct peal_queue_options {
	uint32_t size; /* sizeof(struct peal_queue_options) */
	uint32_t kind; /* enum peal_queue_kind; by the two that follow */
	uint32_t producers; /* ends that may be open at a time, to 64; 1 */
	uint32_t consumers; /* the same; 1 */
	uint32_t capacity; /* slots, a power of two up to 2^20, and at least
			    * as many as producers (a work queue of 64 and
			    * more: twice as many); 1024 */
	uint32_t policy; /* enum peal_policy; sequence */
	uint64_t message_bytes; /* the largest message; 48. With a link up to
				 * 256 MiB, else what a slot of 4 KiB holds */
	const char *name; /* for texts; "queue". Copied. */
	uint32_t overwrite; /* a topic's: 1: it never waits for a consumer,
			     * who may miss messages then; 0 */
	uint32_t reserved; /* 0 */
};

/**
 * What a queue is and holds: accepted = delivered + queued. A topic counts what
 * each consumer got as delivered, and nothing as queued.
 */
struct peal_queue_info {
	uint32_t kind; /* never PEAL_QUEUE_ANY */
	uint32_t capacity;
	uint64_t message_bytes, memory_bytes;
	uint32_t producers, consumers; /* ends that are open now */
	uint64_t accepted, delivered, queued; /* messages */
};

/**
 * Makes a queue.
 *
 * @param options   NULL for all defaults.
 * @param queue_out the queue; the caller destroys it.
 * @return 0; PEAL_EINVAL an option is out of its range, or the kind does not
 *         serve so many ends (the text names the option, its value and what is
 *         allowed); PEAL_ENOMEM. Thread-safe.
 */
int peal_queue_create(const struct peal_queue_options *options,
		      struct peal_queue **queue_out);

/**
 * Frees a queue and what is queued in it.
 *
 * @param queue a queue; NULL does nothing.
 * @return 0; PEAL_EBUSY an end is open, nothing was done. No other call on the
 *         queue may run at the same time.
 */
int peal_queue_destroy(struct peal_queue *queue);

/**
 * Opens an end. The queue ends for its consumers when all producers that were
 * opened are closed: so open all of them before the first is closed.
 *
 * @param queue   a queue.
 * @param role    producer or consumer.
 * @param end_out the end; the caller closes it.
 * @return 0; PEAL_EBUSY as many are open as the options allow; PEAL_EINVAL.
 *         Thread-safe. A consumer that is opened after another one was closed
 *         goes on where that one was; with a topic it begins with the next
 *         message. PEAL_EBUSY also where a thread died inside of a call: see
 *         peal_queue_close.
 */
int peal_queue_open(struct peal_queue *queue, enum peal_queue_role role,
		    struct peal_queue_end **end_out);

/**
 * Closes an end. What a producer has put stays; what a consumer has not taken
 * is there for the next.
 *
 * Where a thread died inside of a call, of a signal or as it was cancelled,
 * another closes its end, and nothing else is needed. Of what a producer was
 * putting, some may come; all that came later is delivered as soon as each
 * other producer has been outside of a call. The room that it had leased in a
 * mailbox or a work queue is lost, and its end not opened again, until all
 * producers are closed. What a consumer was taking is lost: a mailbox and a
 * topic go on without it; a work queue, of which nobody knows what was claimed,
 * takes no more, and gives what is left. Neither end of a link, nor a topic's
 * producer, is opened again.
 *
 * @param end an end; NULL does nothing. It is gone after this.
 * @return 0; PEAL_EINVAL it is closed, as far as that is known: its place is the
 *         next end's. Thread-safe; no other call on this end may run at the same
 *         time.
 */
int peal_queue_close(struct peal_queue_end *end);

/**
 * Puts one message.
 *
 * @param end        a producer's.
 * @param data       `bytes` bytes; NULL if bytes is 0.
 * @param bytes      at most the queue's message_bytes.
 * @param timeout_ns how long to wait for room; 0: not, -1 or less: for ever.
 * @return 0; PEAL_EAGAIN (timeout 0) or PEAL_ETIMEDOUT it is full, nothing was
 *         put; PEAL_EMSGSIZE too long, or not the one length that the queue is
 *         for (peal_queue_create_of); PEAL_EPIPE every consumer that was opened
 *         is closed (not with a topic), or one of a work queue died inside of a
 *         call; PEAL_EPROTO the memory of the queue was damaged; PEAL_EINVAL
 *         not a producer's end, or data is NULL. One thread at a time: builds
 *         with assertions or a sanitizer answer another one with PEAL_EBUSY.
 *         Wait-free with timeout 0.
 */
int peal_queue_push(struct peal_queue_end *end, const void *data,
		    uint64_t bytes, int64_t timeout_ns);

/**
 * Puts n messages of `bytes` each, all or none of them, in one pass. With a
 * mailbox and a work queue at most capacity / (2 * producers) at a time.
 *
 * @param end        a producer's.
 * @param data       n * bytes, one message after the other.
 * @param bytes      of each; at most message_bytes, and what one slot holds.
 * @param n          1 to PEAL_QUEUE_BURST, and at most the capacity.
 * @param timeout_ns as peal_queue_push.
 * @return as peal_queue_push.
 */
int peal_queue_push_bulk(struct peal_queue_end *end, const void *data,
			 uint64_t bytes, uint32_t n, int64_t timeout_ns);

/**
 * Takes the next message.
 *
 * @param end        a consumer's.
 * @param buffer     `room` bytes.
 * @param room       size of the buffer.
 * @param length_out bytes of the message; may be NULL.
 * @param timeout_ns how long to wait for one; 0: not, -1 or less: for ever.
 * @return 0; PEAL_EAGAIN (timeout 0) or PEAL_ETIMEDOUT nothing there; PEAL_EEND
 *         every producer that was opened is closed, and nothing more comes: of
 *         a work queue not while another consumer has claimed a message that it
 *         did not get yet, as it may leave that when it is closed;
 *         PEAL_EMSGSIZE the buffer is short: the message stays, *length_out
 *         says how much it needs (a work queue and a topic want message_bytes,
 *         however long the message is); PEAL_EPROTO the memory of the queue was
 *         damaged, it gives nothing any more; PEAL_EINVAL not a consumer's end.
 *         One thread at a time, as peal_queue_push. Wait-free with timeout 0.
 */
int peal_queue_pop(struct peal_queue_end *end, void *buffer, uint64_t room,
		   uint64_t *length_out, int64_t timeout_ns);

/**
 * Takes as many messages as there are, up to n.
 *
 * @param end         a consumer's.
 * @param buffer      n * bytes: message i begins at i * bytes.
 * @param bytes       of the buffer for each.
 * @param n           1 to PEAL_QUEUE_BURST.
 * @param lengths_out n lengths; may be NULL.
 * @param timeout_ns  until the first of them.
 * @return how many were taken, at least 1; else as peal_queue_pop, with
 *         PEAL_EMSGSIZE if the first is longer than `bytes`.
 */
int peal_queue_pop_burst(struct peal_queue_end *end, void *buffer,
			 uint64_t bytes, uint32_t n, uint64_t *lengths_out,
			 int64_t timeout_ns);

/**
 * What a queue is and holds. While messages flow the numbers are about those of
 * one moment during the call; the identity holds always, no number but queued
 * ever falls, and that is never more than the capacity.
 *
 * @param queue    a queue.
 * @param info_out filled.
 * @return 0; PEAL_EINVAL. Thread-safe.
 */
int peal_queue_info(struct peal_queue *queue, struct peal_queue_info *info_out);

/**
 * Messages of a topic that overwrites which were published since a consumer was
 * opened, and lost to it.
 *
 * @param end a consumer's.
 * @return how many; 0 with other kinds, which lose nothing, and for NULL. For
 *         the thread that has the end.
 */
uint64_t peal_queue_missed(const struct peal_queue_end *end);

/**
 * The name of a kind.
 *
 * @param kind enum peal_queue_kind.
 * @return a static string; "?" for what is none. Thread-safe, wait-free.
 */
const char *peal_queue_kind_name(uint32_t kind);

#ifdef __cplusplus
}
#endif

#endif
