/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shows that bulks of messages of 512 bytes fit every kind of peal/queue.h.
 * Links of a runtime keep messages of this size in a slab.
 */
#include <peal/queue.h>

#include "peal_test.h"

#define BYTES 512

PEAL_TEST(bulks_of_messages_of_512_bytes_fit_every_kind)
{
	static uint8_t in[2 * BYTES], out[2 * BYTES];

	for (uint32_t kind = PEAL_QUEUE_LINK; kind <= PEAL_QUEUE_TOPIC;
	     kind++) {
		const struct peal_queue_options options = {
			.size = sizeof(options),
			.kind = kind,
			.message_bytes = BYTES,
		};
		struct peal_queue_end *p, *c;
		struct peal_queue *q;

		CHECK_OK(peal_queue_create(&options, &q));
		CHECK_OK(peal_queue_open(q, PEAL_QUEUE_PRODUCER, &p));
		CHECK_OK(peal_queue_open(q, PEAL_QUEUE_CONSUMER, &c));
		for (uint32_t i = 0; i < sizeof(in); i++)
			in[i] = (uint8_t)(i * 7 + kind);
		CHECK_OK(peal_queue_push_bulk(p, in, BYTES, 2, 0));
		CHECK_EQ(peal_queue_pop_burst(c, out, BYTES, 2, NULL, 0), 2);
		CHECK(!memcmp(in, out, sizeof(in)));
		CHECK_OK(peal_queue_close(p));
		CHECK_OK(peal_queue_close(c));
		CHECK_OK(peal_queue_destroy(q));
	}
}

PEAL_TEST_MAIN(RUN(bulks_of_messages_of_512_bytes_fit_every_kind);)
