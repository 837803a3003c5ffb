/* SPDX-License-Identifier: Apache-2.0 */
/* The sender and the receiver of `peal run`: input to messages to output. */
#include <errno.h>
#include <string.h>

#include <peal/pipeline.h>
#include "runtime/cli/run.h"
#include "runtime/base/text.h"

/* The output is flushed after this time without a new item. */
#define DRY_NS INT64_C(5000000)

static int halted(const struct peali_run *run)
{
	return atomic_load_explicit(&run->halt, memory_order_relaxed);
}

static void count(atomic_ullong *counter, uint64_t n)
{
	/* Each counter has one writer. */
	atomic_store_explicit(
		counter,
		atomic_load_explicit(counter, memory_order_relaxed) + n,
		memory_order_relaxed);
}

/* ---- the sender ---------------------------------------------------------- */

/*
 * Reads an item. Returns 0, or 1 at the end of the input or after a recorded
 * failure.
 */
static int read_item(struct peali_run *run, struct peal_item *item)
{
	struct peali_reader *reader = &run->reader;
	int waits = !peali_reader_ready(reader);
	int result;

	if (waits)
		atomic_store(&run->input_waits, 1);
	result = peali_reader_next(reader, item, item + 1,
				   reader->stream.item_bytes_max);
	if (waits)
		atomic_store(&run->input_waits, 0);
	atomic_store_explicit(&run->bytes_read, reader->n_bytes,
			      memory_order_relaxed);
	if (result < 0 && result != -EINTR)
		peali_run_fail(run, "%s", reader->message);
	if (result)
		return 1;
	item->ingress_ns = peali_run_now_ns();
	return 0;
}

static void count_sent(struct peali_run *run, const struct peal_item *item)
{
	count(&run->items_in, 1);
	count(&run->bytes_in, item->body_bytes);
}

/* Records a failure, unless the run is halted. Returns -1. */
static int send_failed(struct peali_run *run, const char *doing)
{
	if (!halted(run)) {
		peali_run_fail_call(run, doing);
		peali_run_halt(run);
	}
	return -1;
}

/* Sends an item from the caller's memory. */
static int send_item(struct peali_run *run, const struct peal_item *item)
{
	uint64_t bytes = sizeof(*item) + (uint64_t)item->body_bytes;
	int result;

	do
		result = peal_pipeline_push(run->flow, 0, item, bytes,
					    PEALI_RUN_WAIT_NS);
	while (result == PEAL_ETIMEDOUT && !halted(run));
	if (result < 0)
		return send_failed(run, "send an item");
	return 0;
}

/* Reads an item into the ring of --verify and sends it from there. */
static int forward_verified(struct peali_run *run)
{
	struct peal_item *item = peali_verify_reserve(&run->verify, &run->halt);

	if (!item || read_item(run, item))
		return 1;
	peali_verify_commit(&run->verify);
	count_sent(run, item);
	return send_item(run, item);
}

/* Reads a record directly into the link, as its size is known. */
static int forward_in_place(struct peali_run *run)
{
	struct peal_item head;
	void *place;
	int result;

	do
		result = peal_pipeline_reserve(run->flow, run->message_bytes,
					       PEALI_RUN_WAIT_NS, &place);
	while (result == PEAL_ETIMEDOUT && !halted(run));
	if (result < 0)
		return send_failed(run, "reserve space for an item");
	if (read_item(run, place))
		return 1;
	head = *(struct peal_item *)place;
	if (peal_pipeline_commit(run->flow, 0) < 0)
		return send_failed(run, "send an item");
	count_sent(run, &head);
	return 0;
}

static int forward_copied(struct peali_run *run)
{
	struct peal_item *item = (struct peal_item *)(void *)run->buffer;

	if (read_item(run, item))
		return 1;
	count_sent(run, item);
	return send_item(run, item);
}

static void send_all(struct peali_run *run)
{
	int (*forward)(struct peali_run *) = forward_copied;
	int result;

	if (run->options.verify)
		forward = forward_verified;
	else if (run->reader.stream.format == &peali_format_records)
		forward = forward_in_place;
	/*
	 * A regular file is always readable, so the reader does not check
	 * stop_fd.
	 */
	while (!halted(run) &&
	       !atomic_load_explicit(&run->interrupted, memory_order_relaxed))
		if (forward(run))
			break;
	do
		result = halted(run) ? 0 :
				       peal_pipeline_close(run->flow,
							   PEALI_RUN_WAIT_NS);
	while (result == PEAL_ETIMEDOUT);
	if (result < 0)
		send_failed(run, "end the stream");
}

/* ---- the receiver -------------------------------------------------------- */

static void wrong(struct peali_run *run, uint64_t sequence, const char *what)
{
	run->n_wrong++;
	peali_run_fail(run, "item %llu %s", (unsigned long long)sequence, what);
}

/* Returns 1 if a message is the next item and complete. */
static int is_whole(struct peali_run *run, const struct peal_received *received)
{
	const struct peal_item *item = received->data;
	uint64_t expected = run->next_sequence;

	if (received->length < sizeof(*item) ||
	    received->length - sizeof(*item) != item->body_bytes) {
		wrong(run, expected, "arrived with a wrong length");
		return 0;
	}
	run->next_sequence = item->sequence + 1;
	if (item->sequence == expected)
		return 1;
	wrong(run, expected,
	      item->sequence > expected ? "did not arrive" :
					  "arrived out of order or twice");
	/* An item after a gap is still a valid item. */
	return item->sequence > expected;
}

static void verify(struct peali_run *run, const struct peal_item *item)
{
	int result = peali_verify_check(&run->verify, item, item + 1);

	if (result == PEAL_ENOENT)
		wrong(run, item->sequence, "was never sent");
	else if (result < 0)
		wrong(run, item->sequence,
		      "could not be verified: no memory for the reference");
	else if (result)
		wrong(run, item->sequence, "differs from the reference");
}

/* Handles an item. Returns -1 if the output cannot be written. */
static int take(struct peali_run *run, const struct peal_received *received)
{
	const struct peal_item *item = received->data;
	uint64_t now = peali_run_now_ns();

	if (!is_whole(run, received))
		return 0;
	peali_histogram_add(run->latency, now > item->ingress_ns ?
						  now - item->ingress_ns :
						  0);
	if (run->options.verify)
		verify(run, item);
	if (run->options.output &&
	    peali_writer_put(&run->writer, item, item + 1) < 0)
		return -1;
	count(&run->items_out, 1);
	count(&run->bytes_out, item->body_bytes);
	return 0;
}

/* No item is available: flushes the output, then waits. */
static int wait_for_item(struct peali_run *run, struct peal_received *received)
{
	int result;

	if (run->options.output) {
		if (atomic_load(&run->input_waits))
			peali_writer_flush(&run->writer);
		result = peal_pipeline_peek(run->flow, received, DRY_NS);
		if (result != PEAL_ETIMEDOUT)
			return result;
		peali_writer_flush(&run->writer);
		if (run->writer.result)
			return PEAL_EIO;
	}
	return peal_pipeline_peek(run->flow, received, PEALI_RUN_WAIT_NS);
}

static void write_failed(struct peali_run *run)
{
	if (!halted(run))
		peali_run_fail(run, "%s", run->writer.message);
	peali_run_halt(run);
}

static void *receive_all(void *argument)
{
	struct peali_run *run = argument;

	while (!halted(run)) {
		struct peal_received received;
		int result = peal_pipeline_peek(run->flow, &received, 0);

		if (result == PEAL_EAGAIN)
			result = wait_for_item(run, &received);
		if (result == PEAL_ETIMEDOUT)
			continue;
		if (result == PEAL_EEND) {
			run->finished = 1;
			if (run->options.output &&
			    peali_writer_flush(&run->writer) < 0)
				write_failed(run);
			break;
		}
		if (run->writer.result < 0) {
			write_failed(run);
			break;
		}
		if (result < 0) {
			peali_run_fail_call(run, "receive an item");
			peali_run_halt(run);
			break;
		}
		result = take(run, &received);
		peal_pipeline_release(run->flow);
		if (result < 0) {
			write_failed(run);
			break;
		}
	}
	return NULL;
}

void peali_run_flow(struct peali_run *run)
{
	pthread_t receiver;
	int error;

	run->start_ns = peali_run_now_ns();
	error = pthread_create(&receiver, NULL, receive_all, run);
	if (error) {
		run->end_ns = run->start_ns;
		peali_run_fail(run, "cannot start a thread: %s",
			       strerror(error));
		return;
	}
	send_all(run);
	pthread_join(receiver, NULL);
	run->end_ns = peali_run_now_ns();
	if (run->finished && run->next_sequence != run->reader.n_items)
		peali_run_fail(run, "%llu item%s entered and %llu item%s left",
			       (unsigned long long)run->reader.n_items,
			       peali_s(run->reader.n_items),
			       (unsigned long long)run->items_out,
			       peali_s(run->items_out));
}
