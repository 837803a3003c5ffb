/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Output of a process under `peal spawn --label`. The first byte is the size of
 * the parts in which the output arrives.
 */
#include "fuzz/fuzz.h"

#include <fcntl.h>
#include <unistd.h>

#include "runtime/cli/spawn.h"

#define OUTPUT_BYTES 6000 /* most bytes of an output */
#define LABEL "[3] "

/* Removes the label of each line. Returns the rest, which the caller frees. */
static char *without_labels(const char *text, size_t n, size_t *n_out)
{
	const size_t label = strlen(LABEL);
	char *out = malloc(n + 1);
	size_t at = 0, used = 0;
	const char *end;

	FUZZ_CHECK(out);
	while (at < n) {
		FUZZ_CHECK(n - at > label && !memcmp(text + at, LABEL, label));
		at += label;
		end = memchr(text + at, '\n', n - at);
		FUZZ_CHECK(end);
		memcpy(out + used, text + at, (size_t)(end - text) - at + 1);
		used += (size_t)(end - text) - at + 1;
		at = (size_t)(end - text) + 1;
	}
	*n_out = used;
	return out;
}

/* Compares bytes. The output may have more newlines, where lines are split. */
static void compare(const uint8_t *data, size_t size, const char *out, size_t n)
{
	size_t i = 0, k;

	for (k = 0; k < n; k++) {
		if (i < size && (uint8_t)out[k] == data[i])
			i++;
		else
			FUZZ_CHECK(out[k] == '\n');
	}
	FUZZ_CHECK(i == size);
}

/* Passes the bytes on in parts. Returns the bytes of the output. */
static size_t pass(const uint8_t *data, size_t size, size_t part, char *out,
		   size_t most)
{
	struct peali_labelled stream = { .rank = 3 };
	int from[2], to[2];
	size_t at, n;
	ssize_t got;

	FUZZ_CHECK(!pipe2(from, O_CLOEXEC | O_NONBLOCK));
	FUZZ_CHECK(!pipe2(to, O_CLOEXEC | O_NONBLOCK));
	stream.from = from[0];
	stream.to = to[1];
	for (at = 0; at < size; at += n) {
		n = part < size - at ? part : size - at;
		FUZZ_CHECK(write(from[1], data + at, n) == (ssize_t)n);
		FUZZ_CHECK(peali_labelled_pass(&stream) == 1);
	}
	close(from[1]);
	peali_labelled_end(&stream);
	FUZZ_CHECK(stream.from == -1 && !stream.used);
	close(to[1]);
	for (n = 0; (got = read(to[0], out + n, most - n)) > 0;
	     n += (size_t)got)
		;
	close(to[0]);
	return n;
}

FUZZ_TARGET(spawn_output)
{
	struct fuzz_input in = { data, size };
	size_t part = 1 + (size_t)fuzz_u8(&in) * 16, n, most = 1 << 16;
	char *out = malloc(most), *lines;

	FUZZ_CHECK(out);
	if (in.left > OUTPUT_BYTES)
		in.left = OUTPUT_BYTES;
	n = pass(in.at, in.left, part, out, most);
	lines = without_labels(out, n, &n);
	compare(in.at, in.left, lines, n);
	free(lines);
	free(out);
	return 0;
}
