/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Format "y4m": YUV4MPEG2 video with 8 bits per sample. mjpegtools defines it.
 * ffmpeg reads and writes it (-f yuv4mpegpipe). The header is kept unchanged.
 *
 * An item is one frame. The parameters of its FRAME line, which few files have,
 * follow the planes in the item. No stage modifies them.
 */
#include "runtime/cli/format.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define SIDE_MAX 65535u

static const char y4m_magic[] = "YUV4MPEG2";

/* Chroma planes of a colour space: their number and their reduction factors. */
struct sampling {
	const char *tag;
	unsigned int n_chroma;
	unsigned int across;
	unsigned int down;
	unsigned int n_alpha;
};

static const struct sampling samplings[] = {
	{ "420", 2, 2, 2, 0 },	    { "420jpeg", 2, 2, 2, 0 },
	{ "420mpeg2", 2, 2, 2, 0 }, { "420paldv", 2, 2, 2, 0 },
	{ "411", 2, 4, 1, 0 },	    { "422", 2, 2, 1, 0 },
	{ "444", 2, 1, 1, 0 },	    { "444alpha", 2, 1, 1, 1 },
	{ "mono", 0, 1, 1, 0 },
};

static int malformed(struct peali_reader *reader, const char *what,
		     const char *token)
{
	return peali_reader_fail(reader, -EBADMSG,
				 "input '%s': YUV4MPEG2 header: %s '%.40s'",
				 reader->name, what, token);
}

/* Returns 1 for more than 8 bits per sample, as in 420p10, 444p12, mono16. */
static int is_deep(const char *tag)
{
	const char *digits = strrchr(tag, 'p');

	if (strncmp(tag, "mono", 4) == 0)
		digits = tag + 3;
	if (!digits || digits[1] < '0' || digits[1] > '9')
		return 0;
	return atoi(digits + 1) > 8;
}

static int find_sampling(struct peali_reader *reader, const char *tag,
			 const struct sampling **out)
{
	const size_t n = sizeof(samplings) / sizeof(samplings[0]);

	for (size_t i = 0; i < n; i++)
		if (strcmp(samplings[i].tag, tag) == 0) {
			*out = samplings + i;
			return 0;
		}
	if (is_deep(tag))
		return peali_reader_fail(
			reader, -ENOTSUP,
			"input '%s': colour space 'C%.24s' has more than 8 bits "
			"a sample; convert it: ffmpeg -i INPUT -pix_fmt yuv420p "
			"-f yuv4mpegpipe -",
			reader->name, tag);
	return peali_reader_fail(
		reader, -ENOTSUP,
		"input '%s': unknown colour space 'C%.24s'; known are 420, "
		"420jpeg, 420mpeg2, 420paldv, 411, 422, 444, 444alpha, mono; "
		"convert it: ffmpeg -i INPUT -pix_fmt yuv420p -f yuv4mpegpipe -",
		reader->name, tag);
}

static int parse_side(struct peali_reader *reader, const char *token,
		      uint32_t *side)
{
	uint32_t value = 0;
	const char *p;

	for (p = token + 1; *p >= '0' && *p <= '9' && value <= SIDE_MAX; p++)
		value = value * 10 + (uint32_t)(*p - '0');
	if (*side)
		return malformed(reader, "a size is given twice:", token);
	if (*p || value < 1 || value > SIDE_MAX)
		return malformed(reader,
				 "a size is not from 1 to 65535:", token);
	*side = value;
	return 0;
}

/*
 * Parses size and colour space. All other tokens of the header, such as rate or
 * aspect, stay unchanged in stream->header.
 */
static int parse_header(struct peali_reader *reader, char *text,
			const struct sampling **sampling)
{
	struct peali_stream *stream = &reader->stream;
	char *save = NULL;
	char *token = strtok_r(text, " ", &save);
	int result = 0;

	while ((token = strtok_r(NULL, " ", &save)) && !result) {
		if (token[0] == 'W')
			result = parse_side(reader, token, &stream->width);
		else if (token[0] == 'H')
			result = parse_side(reader, token, &stream->height);
		else if (token[0] == 'C')
			result = find_sampling(reader, token + 1, sampling);
	}
	if (!result && !stream->width)
		result = malformed(reader, "there is no", "W");
	if (!result && !stream->height)
		result = malformed(reader, "there is no", "H");
	return result;
}

static int set_sizes(struct peali_reader *reader,
		     const struct sampling *sampling)
{
	struct peali_stream *stream = &reader->stream;
	uint64_t luma = (uint64_t)stream->width * stream->height;
	uint64_t across =
		(stream->width + sampling->across - 1) / sampling->across;
	uint64_t down = (stream->height + sampling->down - 1) / sampling->down;
	uint64_t bytes = luma * (1 + sampling->n_alpha) +
			 across * down * sampling->n_chroma;

	if (bytes + PEALI_Y4M_PARAMETER_BYTES > PEALI_ITEM_BYTES_MAX)
		return peali_reader_fail(
			reader, -EMSGSIZE,
			"input '%s': a frame of %ux%u has %llu "
			"bytes, more than %u",
			reader->name, stream->width, stream->height,
			(unsigned long long)bytes, PEALI_ITEM_BYTES_MAX);
	stream->frame_bytes = (uint32_t)bytes;
	stream->item_bytes_max = (uint32_t)bytes + PEALI_Y4M_PARAMETER_BYTES;
	return 0;
}

static int y4m_start(struct peali_reader *reader, const char *argument)
{
	struct peali_stream *stream = &reader->stream;
	const struct sampling *sampling = samplings;
	char text[PEALI_Y4M_HEADER_BYTES];
	const size_t n_magic = sizeof(y4m_magic) - 1;
	ssize_t n;
	int ended;
	int result;

	if (argument)
		return peali_reader_fail(reader, -EINVAL,
					 "format 'y4m:%.64s': y4m takes no "
					 "argument",
					 argument);
	n = peali_reader_line(reader, text, sizeof(text) - 1, &ended);
	if (n < 0 && n != -EMSGSIZE)
		return (int)n;
	if (n < (ssize_t)n_magic || memcmp(text, y4m_magic, n_magic) ||
	    (n > (ssize_t)n_magic && text[n_magic] != ' ') ||
	    memchr(text, 0, (size_t)n))
		return peali_reader_fail(
			reader, -EBADMSG,
			"input '%s' is no YUV4MPEG2 video; make one: ffmpeg -i "
			"INPUT -pix_fmt yuv420p -f yuv4mpegpipe -",
			reader->name);
	if (ended)
		return peali_reader_fail(reader, -EBADMSG,
					 "input '%s' ends inside the YUV4MPEG2 "
					 "header",
					 reader->name);
	memcpy(stream->header, text, (size_t)n);
	stream->header_bytes = (size_t)n;
	text[n] = 0;
	result = parse_header(reader, text, &sampling);
	return result ? result : set_sizes(reader, sampling);
}

static int y4m_ends(struct peali_reader *reader, const char *where, ssize_t n)
{
	unsigned long long number = reader->n_items + 1;

	return peali_reader_fail(reader, -EBADMSG,
				 "input '%s' ends inside frame %llu: %zd of "
				 "%u bytes of its %s are there; the %llu "
				 "frames before are whole",
				 reader->name, number, n,
				 reader->stream.frame_bytes, where, number - 1);
}

/*
 * Reads a FRAME line with its parameters into `line`. Returns its length, 0 at
 * the end of the input, or negative.
 */
static ssize_t frame_line(struct peali_reader *reader, char *line, size_t size)
{
	unsigned long long number = reader->n_items + 1;
	ssize_t n;
	int ended;

	n = peali_reader_line(reader, line, size, &ended);
	if (n < 0 && n != -EMSGSIZE)
		return n;
	if (ended && n == 0)
		return 0;
	if (n >= 5 && memcmp(line, "FRAME", 5) == 0 &&
	    (n == 5 || line[5] == ' ') && !ended)
		return n;
	if (ended && n > 0 && memcmp(line, "FRAME", n < 5 ? n : 5) == 0)
		return peali_reader_fail(
			reader, -EBADMSG,
			"input '%s' ends inside the FRAME line of frame "
			"%llu; the %llu frames before are whole",
			reader->name, number, number - 1);
	return peali_reader_fail(reader, -EBADMSG,
				 "input '%s': frame %llu does not begin with "
				 "FRAME (or its parameters are longer than %u "
				 "bytes); is the size in the header right?",
				 reader->name, number,
				 PEALI_Y4M_PARAMETER_BYTES);
}

static int y4m_next(struct peali_reader *reader, struct peal_item *head,
		    void *body, size_t capacity)
{
	const struct peali_stream *stream = &reader->stream;
	char line[5 + PEALI_Y4M_PARAMETER_BYTES];
	size_t n_parameters;
	ssize_t n = frame_line(reader, line, sizeof(line));

	if (n <= 0)
		return n < 0 ? (int)n : 1;
	n_parameters = (size_t)n - 5;
	if (capacity < stream->frame_bytes + n_parameters)
		return peali_reader_fail(
			reader, -EMSGSIZE,
			"input '%s': a frame of %zu bytes does "
			"not fit a message of %zu",
			reader->name, stream->frame_bytes + n_parameters,
			capacity);
	n = peali_reader_bytes(reader, body, stream->frame_bytes);
	if (n < 0)
		return (int)n;
	if ((size_t)n < stream->frame_bytes)
		return y4m_ends(reader, "planes", n);
	if (n_parameters)
		memcpy((char *)body + n, line + 5, n_parameters);
	head->width = stream->width;
	head->height = stream->height;
	head->body_bytes = stream->frame_bytes + (uint32_t)n_parameters;
	return 0;
}

static int y4m_begin(struct peali_writer *writer)
{
	int result = peali_writer_bytes(writer, writer->stream->header,
					writer->stream->header_bytes);

	return result ? result : peali_writer_bytes(writer, "\n", 1);
}

static int y4m_put(struct peali_writer *writer, const struct peal_item *head,
		   const void *body)
{
	uint32_t frame_bytes = writer->stream->frame_bytes;
	const char *parameters = (const char *)body + frame_bytes;
	int result;

	if (head->body_bytes < frame_bytes ||
	    head->body_bytes - frame_bytes > PEALI_Y4M_PARAMETER_BYTES)
		return peali_writer_fail(writer, -EBADMSG,
					 "output '%s': frame %llu has %u bytes "
					 "instead of %u",
					 writer->name,
					 (unsigned long long)head->sequence + 1,
					 head->body_bytes, frame_bytes);
	result = peali_writer_bytes(writer, "FRAME", 5);
	if (!result)
		result = peali_writer_bytes(writer, parameters,
					    head->body_bytes - frame_bytes);
	if (!result)
		result = peali_writer_bytes(writer, "\n", 1);
	return result ? result : peali_writer_bytes(writer, body, frame_bytes);
}

const struct peali_format peali_format_y4m = {
	.name = "y4m",
	.help = "y4m: YUV4MPEG2 video of 8 bits, one item a frame",
	.image = 1,
	.start = y4m_start,
	.next = y4m_next,
	.begin = y4m_begin,
	.put = y4m_put,
};
