/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/cli/run_verify.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <peal/errors.h>

#include "ringkernels/reference.h"
#include "runtime/base/math.h"

/* The ring of originals of `peal run --verify`, see run_verify.h. */

/* Holds a few frames in flight, but not much more than a cache. */
#define RING_BYTES_LEAST (1u << 20)
#define RING_BYTES_MOST (32u << 20)
/* Two records have to fit, even with a gap at the end of the ring. */
#define RECORDS_LEAST 4
#define WAIT_NS 100000000L

/* Header of each item in the ring. */
struct record {
	/* bytes to the next record; 0: continue at the ring's start */
	uint64_t bytes;
	uint64_t reserved;
};

static size_t aligned(size_t n)
{
	return peali_round_up(n, 16);
}

int peali_verify_init(struct peali_verify *verify,
		      const struct peali_pipeline *pipeline,
		      uint32_t item_bytes_max, uint64_t n_in_flight)
{
	size_t body = aligned(item_bytes_max);
	int computes = 0;

	verify->pipeline = pipeline;
	verify->stride =
		sizeof(struct record) + sizeof(struct peal_item) + body;
	verify->size = RING_BYTES_MOST;
	if (n_in_flight < RING_BYTES_MOST / verify->stride)
		verify->size = aligned(n_in_flight * verify->stride);
	if (verify->size < RING_BYTES_LEAST)
		verify->size = RING_BYTES_LEAST;
	if (verify->size < RECORDS_LEAST * verify->stride)
		verify->size = RECORDS_LEAST * verify->stride;
	for (uint32_t i = 0; i < pipeline->n_stages; i++) {
		enum peali_stage_domain domain =
			pipeline->stages[i].kind->domain;

		verify->floats |= domain == PEALI_ON_FLOATS;
		computes |= domain != PEALI_ON_BODY;
	}
	pthread_mutex_init(&verify->mutex, NULL);
	pthread_cond_init(&verify->space, NULL);
	verify->bytes = aligned_alloc(16, verify->size);
	for (int i = 0; computes && i < 2; i++)
		verify->scratch[i] = aligned_alloc(16, body ? body : 16);
	if (verify->bytes &&
	    (!computes || (verify->scratch[0] && verify->scratch[1])))
		return 0;
	peali_verify_fini(verify);
	return -1;
}

void peali_verify_fini(struct peali_verify *verify)
{
	if (!verify->pipeline)
		return;
	free(verify->bytes);
	free(verify->scratch[0]);
	free(verify->scratch[1]);
	verify->bytes = NULL;
	verify->scratch[0] = verify->scratch[1] = NULL;
	pthread_cond_destroy(&verify->space);
	pthread_mutex_destroy(&verify->mutex);
	verify->pipeline = NULL;
}

/* Returns the record at a position; positions never wrap. */
static struct record *record_at(struct peali_verify *verify, uint64_t at)
{
	return (struct record *)(void *)(verify->bytes + at % verify->size);
}

static int has_space(struct peali_verify *verify, uint64_t needed)
{
	uint64_t tail =
		atomic_load_explicit(&verify->tail, memory_order_relaxed);
	/* Pairs with the store of head: the receiver has read the record. */
	uint64_t used = tail - atomic_load(&verify->head);

	return verify->size - used >= needed;
}

/* Sleeps until the receiver has removed a record, at most WAIT_NS. */
static void wait_for_space(struct peali_verify *verify, uint64_t needed)
{
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_nsec += WAIT_NS;
	until.tv_sec += until.tv_nsec / 1000000000;
	until.tv_nsec %= 1000000000;
	pthread_mutex_lock(&verify->mutex);
	atomic_store(&verify->waiting, 1);
	if (!has_space(verify, needed))
		pthread_cond_timedwait(&verify->space, &verify->mutex, &until);
	atomic_store(&verify->waiting, 0);
	pthread_mutex_unlock(&verify->mutex);
}

struct peal_item *peali_verify_reserve(struct peali_verify *verify,
				       const atomic_int *halt)
{
	uint64_t tail =
		atomic_load_explicit(&verify->tail, memory_order_relaxed);
	uint64_t left = verify->size - tail % verify->size;
	uint64_t gap = left < verify->stride ? left : 0;

	while (!has_space(verify, gap + verify->stride)) {
		if (atomic_load_explicit(halt, memory_order_relaxed))
			return NULL;
		wait_for_space(verify, gap + verify->stride);
	}
	if (gap)
		record_at(verify, tail)->bytes = 0;
	verify->reserved = tail + gap;
	return (struct peal_item *)(void *)(record_at(verify,
						      verify->reserved) +
					    1);
}

void peali_verify_commit(struct peali_verify *verify)
{
	struct record *record = record_at(verify, verify->reserved);
	const struct peal_item *item =
		(const struct peal_item *)(const void *)(record + 1);

	record->bytes =
		aligned(sizeof(*record) + sizeof(*item) + item->body_bytes);
	/* Pairs with the load in next_original: the record is complete. */
	atomic_store_explicit(&verify->tail, verify->reserved + record->bytes,
			      memory_order_release);
}

/* Returns the oldest original, valid until forget; NULL: there is none. */
static const struct peal_item *next_original(struct peali_verify *verify)
{
	uint64_t head =
		atomic_load_explicit(&verify->head, memory_order_relaxed);
	uint64_t tail =
		atomic_load_explicit(&verify->tail, memory_order_acquire);
	struct record *record;

	if (head == tail)
		return NULL;
	record = record_at(verify, head);
	if (record->bytes == 0) {
		head += verify->size - head % verify->size;
		atomic_store(&verify->head, head);
		record = record_at(verify, head);
	}
	return (const struct peal_item *)(const void *)(record + 1);
}

static void forget(struct peali_verify *verify)
{
	uint64_t head =
		atomic_load_explicit(&verify->head, memory_order_relaxed);

	/*
	 * Sequentially consistent with the sender's store of waiting and load
	 * of head. So no wake is lost.
	 */
	atomic_store(&verify->head, head + record_at(verify, head)->bytes);
	if (!atomic_load(&verify->waiting))
		return;
	pthread_mutex_lock(&verify->mutex);
	pthread_cond_signal(&verify->space);
	pthread_mutex_unlock(&verify->mutex);
}

/* Computes all stages of an item. *out is the original or a scratch buffer. */
static int compute(struct peali_verify *verify, const struct peal_item *item,
		   const void **out)
{
	const struct peali_pipeline *pipeline = verify->pipeline;
	const void *in = item + 1;
	int turn = 0;

	for (uint32_t i = 0; i < pipeline->n_stages; i++) {
		const struct peali_stage *stage = pipeline->stages + i;
		int result;

		if (stage->config.kind == PEAL_STAGE_CRC32C)
			verify->crc_sum[i] +=
				peali_crc32c_reference(in, item->body_bytes);
		if (stage->kind->domain == PEALI_ON_BODY)
			continue;
		result = peali_stage_reference(&stage->config, item, in,
					       verify->scratch[turn]);
		if (result)
			return result;
		in = verify->scratch[turn];
		turn ^= 1;
	}
	*out = in;
	return 0;
}

static double float_difference(const void *a, const void *b, size_t n)
{
	double most = 0;

	for (size_t i = 0; i < n / 4; i++) {
		float x, y;
		double d;

		memcpy(&x, (const char *)a + 4 * i, 4);
		memcpy(&y, (const char *)b + 4 * i, 4);
		d = fabs((double)x - (double)y);
		if (memcmp(&x, &y, 4) && !(d <= most))
			most = d;
	}
	return most;
}

static double byte_difference(const uint8_t *a, const uint8_t *b, size_t n)
{
	int most = 0;

	for (size_t i = 0; i < n; i++) {
		int d = abs(a[i] - b[i]);

		most = d > most ? d : most;
	}
	return most;
}

static int compare(struct peali_verify *verify, const struct peal_item *item,
		   const void *body, const struct peal_item *original)
{
	const void *expected = NULL;
	double difference;
	int result = compute(verify, original, &expected);

	if (result)
		return result;
	if (item->body_bytes != original->body_bytes ||
	    item->width != original->width ||
	    item->height != original->height || item->flags != original->flags)
		return 1;
	if (memcmp(body, expected, item->body_bytes) == 0)
		return 0;
	difference =
		verify->floats ?
			float_difference(body, expected, item->body_bytes) :
			byte_difference(body, expected, item->body_bytes);
	if (!(difference <= verify->difference))
		verify->difference = difference;
	return 1;
}

int peali_verify_check(struct peali_verify *verify,
		       const struct peal_item *item, const void *body)
{
	const struct peal_item *original = next_original(verify);
	int result;

	/* Skip originals of lost items. The receiver reports the loss. */
	while (original && original->sequence < item->sequence) {
		forget(verify);
		original = next_original(verify);
	}
	if (!original || original->sequence != item->sequence)
		return PEAL_ENOENT;
	result = compare(verify, item, body, original);
	forget(verify);
	verify->n_checked++;
	verify->n_mismatches += result != 0;
	return result;
}
