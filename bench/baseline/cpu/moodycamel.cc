/* SPDX-License-Identifier: Apache-2.0 */
/*
 * moodycamel's ConcurrentQueue as a baseline, with a token for each producer
 * and consumer. It allocates its memory once.
 *
 * A producer never returns its blocks. So one producer could take all blocks
 * and starve another producer. Therefore each producer may have 1,024 messages
 * in the queue, and there are blocks for more than that. Beyond this limit
 * try_enqueue reports a full queue.
 */
#include "bench/baseline/cpu/baselines.h"

#include <memory>
#include <new>

#include <concurrentqueue/concurrentqueue.h>

#include "bench/baseline/cpu/sized.h"

struct traits : moodycamel::ConcurrentQueueDefaultTraits {
	static const size_t MAX_SUBQUEUE_SIZE = 1024;
};

template <uint32_t bytes> struct camel {
	typedef moodycamel::ConcurrentQueue<peali_message<bytes>, traits> type;

	explicit camel(const struct peali_bench_queue_shape *shape)
		: queue(shape->slots, shape->producers, 0)
	{
		for (uint32_t i = 0; i < shape->producers; i++)
			producers[i].reset(
				new moodycamel::ProducerToken(queue));
		for (uint32_t i = 0; i < shape->consumers; i++)
			consumers[i].reset(
				new moodycamel::ConsumerToken(queue));
	}

	type queue;
	std::unique_ptr<moodycamel::ProducerToken>
		producers[PEALI_BENCH_QUEUE_ENDS];
	std::unique_ptr<moodycamel::ConsumerToken>
		consumers[PEALI_BENCH_QUEUE_ENDS];
};

struct holder {
	uint32_t bytes;
	void *camel;
};

template <uint32_t bytes>
static void *camel_make(const struct peali_bench_queue_shape *shape)
{
	return new (std::nothrow) camel<bytes>(shape);
}

template <uint32_t bytes> static void camel_drop(void *queue)
{
	delete static_cast<camel<bytes> *>(queue);
}

static void *make_of(const struct peali_bench_queue_shape *shape)
{
	PEALI_SIZED(camel_make, shape->bytes, shape)
}

static void drop_of(const struct holder *h)
{
	PEALI_SIZED(camel_drop, h->bytes, h->camel)
}

static void *camel_open(const struct peali_bench_queue_shape *shape)
{
	struct holder *h = new (std::nothrow) holder;

	if (!h)
		return nullptr;
	h->bytes = shape->bytes;
	h->camel = make_of(shape);
	if (h->camel)
		return h;
	delete h;
	return nullptr;
}

static void camel_close(void *queue)
{
	drop_of(static_cast<holder *>(queue));
	delete static_cast<holder *>(queue);
}

/* A bulk call sends all messages of the stage, or none. */
template <uint32_t bytes>
static PEAL_INLINE uint32_t put_sized(struct holder *h,
				      struct peali_bench_queue_end *end,
				      uint32_t burst)
{
	camel<bytes> *c = static_cast<camel<bytes> *>(h->camel);
	moodycamel::ProducerToken &token = *c->producers[end->index];
	uint64_t *words;
	uint32_t n = peali_bench_queue_stage(end, bytes, burst, &words);
	const peali_message<bytes> *from =
		reinterpret_cast<const peali_message<bytes> *>(words);

	if (burst == 1)
		return peali_bench_queue_unstage(
			end, n && c->queue.try_enqueue(token, *from));
	return peali_bench_queue_unstage(
		end, c->queue.try_enqueue_bulk(token, from, n) ? n : 0);
}

template <uint32_t bytes>
static PEAL_INLINE uint32_t get_sized(struct holder *h,
				      struct peali_bench_queue_end *end,
				      uint32_t burst)
{
	camel<bytes> *c = static_cast<camel<bytes> *>(h->camel);
	moodycamel::ConsumerToken &token = *c->consumers[end->index];
	peali_message<bytes> *to =
		reinterpret_cast<peali_message<bytes> *>(end->stage);
	uint32_t n;

	if (burst == 1)
		n = c->queue.try_dequeue(token, *to);
	else
		n = (uint32_t)c->queue.try_dequeue_bulk(token, to, burst);
	for (uint32_t i = 0; i < n; i++)
		peali_bench_queue_check(end, to[i].words, bytes);
	return n;
}

static PEAL_INLINE uint32_t camel_put(void *queue,
				      struct peali_bench_queue_end *end,
				      uint32_t bytes, uint32_t burst)
{
	struct holder *h = static_cast<holder *>(queue);

	PEALI_SIZED(put_sized, bytes, h, end, burst)
}

static PEAL_INLINE uint32_t camel_get(void *queue,
				      struct peali_bench_queue_end *end,
				      uint32_t bytes, uint32_t burst)
{
	struct holder *h = static_cast<holder *>(queue);

	PEALI_SIZED(get_sized, bytes, h, end, burst)
}

PEALI_BENCH_QUEUE_LOOPS(camel, camel_put, camel_get)

const struct peali_bench_queue_kind peali_baseline_moodycamel = {
	"moodycamel", nullptr,	  camel_open, camel_close,
	camel_send,   camel_take, camel_trips
};
