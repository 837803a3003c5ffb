/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_TESTS_FUZZ_COPY_INPUT_H
#define PEAL_TESTS_FUZZ_COPY_INPUT_H

#include <fcntl.h>
#include <unistd.h>

#include "fuzz/fuzz.h"
#include "runtime/cli/format.h"

/* Larger items are read as too large for a message. */
#define FUZZ_ITEM_BYTES (1u << 16)
#define FUZZ_INPUT "/input"
#define FUZZ_OUTPUT "/output"

/* Checks that the output has exactly the bytes of the input. */
static inline void fuzz_check_output(const char *path, const uint8_t *data,
				     size_t size)
{
	uint8_t *bytes = malloc(size + 1);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n;

	FUZZ_CHECK(fd >= 0 && bytes);
	n = read(fd, bytes, size + 1);
	FUZZ_CHECK(n == (ssize_t)size && !memcmp(bytes, data, size));
	close(fd);
	free(bytes);
}

/* Reads all items and writes them. Returns the result of the last read. */
static inline int fuzz_copy_items(struct peali_reader *reader,
				  struct peali_writer *writer)
{
	size_t capacity = reader->stream.item_bytes_max < FUZZ_ITEM_BYTES ?
				  reader->stream.item_bytes_max :
				  FUZZ_ITEM_BYTES;
	uint8_t *body = malloc(capacity ? capacity : 1);
	struct peal_item head;
	int result;

	FUZZ_CHECK(body);
	for (;;) {
		memset(&head, 0, sizeof(head));
		result = peali_reader_next(reader, &head, body, capacity);
		if (result)
			break;
		FUZZ_CHECK(head.body_bytes <= capacity);
		FUZZ_CHECK(!peali_writer_put(writer, &head, body));
	}
	free(body);
	return result;
}

/* Copies an input in a format to an output. A valid input has an equal copy. */
static inline void copy_input(const char *format, const uint8_t *data,
			      size_t size)
{
	struct peali_reader_options options = { .format = format,
						.line_bytes_max = 300 };
	struct peali_reader *reader = malloc(sizeof(*reader));
	struct peali_writer *writer = malloc(sizeof(*writer));
	char input[128], output[128];
	int result;

	FUZZ_CHECK(reader && writer);
	fuzz_write(FUZZ_INPUT, data, size);
	snprintf(input, sizeof(input), "%s" FUZZ_INPUT, fuzz_folder());
	snprintf(output, sizeof(output), "%s" FUZZ_OUTPUT, fuzz_folder());
	result = peali_reader_open(reader, input, &options);
	if (!result) {
		FUZZ_CHECK(
			!peali_writer_open(writer, output, &reader->stream, 0));
		result = fuzz_copy_items(reader, writer);
		FUZZ_CHECK(!peali_writer_close(writer));
		if (result == 1)
			fuzz_check_output(output, data, size);
	}
	FUZZ_CHECK(result == 1 || (result < 0 && reader->message[0]));
	peali_reader_close(reader);
	free(reader);
	free(writer);
}

#endif
