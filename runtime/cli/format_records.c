/* SPDX-License-Identifier: Apache-2.0 */
/* Format "records": records of a fixed number of bytes without separators. */
#include "runtime/cli/format.h"

#include <errno.h>

#include "runtime/base/number.h"
#include "runtime/base/refusal.h"
#include "runtime/base/text.h"

static int records_start(struct peali_reader *reader, const char *argument)
{
	uint64_t bytes = 0;

	if (!argument ||
	    !peali_number_parse(argument, 1, PEALI_ITEM_BYTES_MAX, &bytes))
		return peali_reader_refuse(
			reader, -EINVAL,
			PEALI_REFUSAL(.object = "format", .name = "records",
				      .problem = "needs the bytes of a record",
				      .value = argument ? argument : "none",
				      .allowed = PEALI_PRINT(
					      "1..%u", PEALI_ITEM_BYTES_MAX),
				      .remedy = "use records:4096"));
	reader->stream.frame_bytes = (uint32_t)bytes;
	reader->stream.item_bytes_max = (uint32_t)bytes;
	return 0;
}

static int records_next(struct peali_reader *reader, struct peal_item *head,
			void *body, size_t capacity)
{
	uint32_t bytes = reader->stream.frame_bytes;
	unsigned long long number = reader->n_items + 1;
	ssize_t n;

	if (capacity < bytes)
		return peali_reader_refuse(
			reader, -EMSGSIZE,
			PEALI_REFUSAL(.object = "input", .name = reader->name,
				      .problem =
					      "has records that are too long for a "
					      "message",
				      .number = bytes, .least = 1,
				      .most = capacity,
				      .remedy = "use shorter records"));
	n = peali_reader_bytes(reader, body, bytes);
	if (n < 0)
		return (int)n;
	if (n == 0)
		return 1;
	if ((size_t)n < bytes)
		return peali_reader_fail(
			reader, -EBADMSG,
			"input '%s' ends inside record %llu: %zd "
			"of %u bytes are there; is the record "
			"size right?",
			reader->name, number, n, bytes);
	head->width = bytes;
	head->height = 1;
	head->body_bytes = bytes;
	return 0;
}

static int records_begin(struct peali_writer *writer)
{
	(void)writer;
	return 0;
}

static int records_put(struct peali_writer *writer,
		       const struct peal_item *head, const void *body)
{
	if (head->body_bytes != writer->stream->frame_bytes)
		return peali_writer_fail(
			writer, -EBADMSG,
			"output '%s': record %llu has %u bytes "
			"instead of %u",
			writer->name, (unsigned long long)head->sequence + 1,
			head->body_bytes, writer->stream->frame_bytes);
	return peali_writer_bytes(writer, body, head->body_bytes);
}

const struct peali_format peali_format_records = {
	.name = "records",
	.help = "records:BYTES: binary, one item every BYTES bytes",
	.start = records_start,
	.next = records_next,
	.begin = records_begin,
	.put = records_put,
};
