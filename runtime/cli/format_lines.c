/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Format "lines": text lines of any bytes except newline, also NUL. An item is
 * a line without its newline. A flag of the item marks a last line without
 * newline. So the output equals the input byte for byte.
 */
#include "runtime/cli/format.h"

#include <errno.h>

#include "runtime/base/refusal.h"
#include "runtime/base/text.h"

static int lines_start(struct peali_reader *reader, const char *argument)
{
	if (argument)
		return peali_reader_refuse(
			reader, -EINVAL,
			PEALI_REFUSAL(.object = "format", .name = "lines",
				      .problem = "takes no argument",
				      .value = argument, .allowed = "none",
				      .remedy = "use lines"));
	reader->stream.item_bytes_max = reader->line_bytes_max;
	return 0;
}

static int lines_next(struct peali_reader *reader, struct peal_item *head,
		      void *body, size_t capacity)
{
	uint32_t most = reader->stream.item_bytes_max;
	ssize_t n;
	int ended;

	if (capacity > most)
		capacity = most;
	n = peali_reader_line(reader, body, capacity, &ended);
	if (n == -EMSGSIZE)
		return peali_reader_refuse(
			reader, -EMSGSIZE,
			PEALI_REFUSAL(.object = "input", .name = reader->name,
				      .problem = PEALI_PRINT(
					      "has too long a line, %llu",
					      (unsigned long long)
							      reader->n_items +
						      1),
				      .value = "longer",
				      .allowed = PEALI_PRINT("0..%zu bytes",
							     capacity),
				      .remedy = most < PEALI_ITEM_BYTES_MAX ?
							"raise --line-bytes" :
							"use shorter lines"));
	if (n < 0)
		return (int)n;
	if (ended && n == 0)
		return 1;
	head->width = (uint32_t)n;
	head->height = 1;
	head->body_bytes = (uint32_t)n;
	head->flags = ended ? PEAL_ITEM_UNTERMINATED : 0;
	return 0;
}

static int lines_begin(struct peali_writer *writer)
{
	(void)writer;
	return 0;
}

static int lines_put(struct peali_writer *writer, const struct peal_item *head,
		     const void *body)
{
	int result = peali_writer_bytes(writer, body, head->body_bytes);

	if (!result && !(head->flags & PEAL_ITEM_UNTERMINATED))
		result = peali_writer_bytes(writer, "\n", 1);
	return result;
}

const struct peali_format peali_format_lines = {
	.name = "lines",
	.help = "lines: text, one item per line",
	.start = lines_start,
	.next = lines_next,
	.begin = lines_begin,
	.put = lines_put,
};
