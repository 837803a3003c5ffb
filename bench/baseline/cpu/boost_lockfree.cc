/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Boost's lock-free queues as baselines. The class spsc_queue gives each
 * message to the consumer in place. For a burst it moves an array. The class
 * queue has no bulk form, so a burst is a call for each message.
 */
#include "bench/baseline/cpu/baselines.h"

#include <new>

#include <boost/lockfree/queue.hpp>
#include <boost/lockfree/spsc_queue.hpp>

#include "bench/baseline/cpu/sized.h"

template <uint32_t bytes>
using spsc = boost::lockfree::spsc_queue<peali_message<bytes>>;
/* A fixed size: the queue takes its nodes from its own list. */
template <uint32_t bytes>
using many = boost::lockfree::queue<peali_message<bytes>,
				    boost::lockfree::fixed_sized<true>>;

/* A queue and the message size of its type. */
struct holder {
	uint32_t bytes;
	void *queue;
};

template <uint32_t bytes> static void *spsc_make(uint32_t slots)
{
	return new (std::nothrow) spsc<bytes>(slots);
}

template <uint32_t bytes> static void *many_make(uint32_t slots)
{
	return new (std::nothrow) many<bytes>(slots);
}

template <uint32_t bytes> static void spsc_drop(void *queue)
{
	delete static_cast<spsc<bytes> *>(queue);
}

template <uint32_t bytes> static void many_drop(void *queue)
{
	delete static_cast<many<bytes> *>(queue);
}

static void *make(const struct peali_bench_queue_shape *shape,
		  void *(*make_sized)(const struct peali_bench_queue_shape *))
{
	struct holder *h = new (std::nothrow) holder;

	if (!h)
		return nullptr;
	h->bytes = shape->bytes;
	h->queue = make_sized(shape);
	if (h->queue)
		return h;
	delete h;
	return nullptr;
}

static void *spsc_of(const struct peali_bench_queue_shape *shape)
{
	PEALI_SIZED(spsc_make, shape->bytes, shape->slots)
}

static void *many_of(const struct peali_bench_queue_shape *shape)
{
	PEALI_SIZED(many_make, shape->bytes, shape->slots)
}

static void *spsc_open(const struct peali_bench_queue_shape *shape)
{
	return make(shape, spsc_of);
}

static void *many_open(const struct peali_bench_queue_shape *shape)
{
	return make(shape, many_of);
}

static void spsc_drop_of(const struct holder *h)
{
	PEALI_SIZED(spsc_drop, h->bytes, h->queue)
}

static void many_drop_of(const struct holder *h)
{
	PEALI_SIZED(many_drop, h->bytes, h->queue)
}

static void spsc_close(void *queue)
{
	spsc_drop_of(static_cast<holder *>(queue));
	delete static_cast<holder *>(queue);
}

static void many_close(void *queue)
{
	many_drop_of(static_cast<holder *>(queue));
	delete static_cast<holder *>(queue);
}

/* ---- one to one ---------------------------------------------------------- */

template <uint32_t bytes>
static PEAL_INLINE uint32_t spsc_put_sized(struct holder *h,
					   struct peali_bench_queue_end *end,
					   uint32_t burst)
{
	spsc<bytes> *queue = static_cast<spsc<bytes> *>(h->queue);
	uint64_t *words;
	uint32_t n = peali_bench_queue_stage(end, bytes, burst, &words);
	const peali_message<bytes> *from =
		reinterpret_cast<const peali_message<bytes> *>(words);

	if (burst == 1)
		return peali_bench_queue_unstage(end, n && queue->push(*from));
	return peali_bench_queue_unstage(end, (uint32_t)queue->push(from, n));
}

template <uint32_t bytes>
static PEAL_INLINE uint32_t spsc_get_sized(struct holder *h,
					   struct peali_bench_queue_end *end,
					   uint32_t burst)
{
	spsc<bytes> *queue = static_cast<spsc<bytes> *>(h->queue);
	peali_message<bytes> *to =
		reinterpret_cast<peali_message<bytes> *>(end->stage);
	uint32_t n;

	if (burst == 1)
		return queue->consume_one(
			[end](const peali_message<bytes> &message) {
				peali_bench_queue_check(end, message.words,
							bytes);
			});
	n = (uint32_t)queue->pop(to, burst);
	for (uint32_t i = 0; i < n; i++)
		peali_bench_queue_check(end, to[i].words, bytes);
	return n;
}

static PEAL_INLINE uint32_t spsc_put(void *queue,
				     struct peali_bench_queue_end *end,
				     uint32_t bytes, uint32_t burst)
{
	struct holder *h = static_cast<holder *>(queue);

	PEALI_SIZED(spsc_put_sized, bytes, h, end, burst)
}

static PEAL_INLINE uint32_t spsc_get(void *queue,
				     struct peali_bench_queue_end *end,
				     uint32_t bytes, uint32_t burst)
{
	struct holder *h = static_cast<holder *>(queue);

	PEALI_SIZED(spsc_get_sized, bytes, h, end, burst)
}

/* ---- many to many -------------------------------------------------------- */

template <uint32_t bytes>
static PEAL_INLINE uint32_t many_put_sized(struct holder *h,
					   struct peali_bench_queue_end *end,
					   uint32_t burst)
{
	many<bytes> *queue = static_cast<many<bytes> *>(h->queue);
	uint64_t *words;
	uint32_t n = peali_bench_queue_stage(end, bytes, burst, &words), i;
	const peali_message<bytes> *from =
		reinterpret_cast<const peali_message<bytes> *>(words);

	for (i = 0; i < n; i++)
		if (!queue->bounded_push(from[i]))
			break;
	return peali_bench_queue_unstage(end, i);
}

template <uint32_t bytes>
static PEAL_INLINE uint32_t many_get_sized(struct holder *h,
					   struct peali_bench_queue_end *end,
					   uint32_t burst)
{
	many<bytes> *queue = static_cast<many<bytes> *>(h->queue);
	peali_message<bytes> *to =
		reinterpret_cast<peali_message<bytes> *>(end->stage);
	uint32_t i;

	for (i = 0; i < burst; i++) {
		if (!queue->pop(*to))
			break;
		peali_bench_queue_check(end, to->words, bytes);
	}
	return i;
}

static PEAL_INLINE uint32_t many_put(void *queue,
				     struct peali_bench_queue_end *end,
				     uint32_t bytes, uint32_t burst)
{
	struct holder *h = static_cast<holder *>(queue);

	PEALI_SIZED(many_put_sized, bytes, h, end, burst)
}

static PEAL_INLINE uint32_t many_get(void *queue,
				     struct peali_bench_queue_end *end,
				     uint32_t bytes, uint32_t burst)
{
	struct holder *h = static_cast<holder *>(queue);

	PEALI_SIZED(many_get_sized, bytes, h, end, burst)
}

PEALI_BENCH_QUEUE_LOOPS(spsc, spsc_put, spsc_get)
PEALI_BENCH_QUEUE_LOOPS(many, many_put, many_get)

const struct peali_bench_queue_kind peali_baseline_boost_spsc = {
	"boost spsc_queue", nullptr,   spsc_open, spsc_close,
	spsc_send,	    spsc_take, spsc_trips
};

const struct peali_bench_queue_kind peali_baseline_boost_queue = {
	"boost queue", nullptr,	  many_open, many_close,
	many_send,     many_take, many_trips
};
