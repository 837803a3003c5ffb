/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Format "y4m": YUV4MPEG2 video with 8 bits per sample. mjpegtools defines it.
 * ffmpeg reads and writes it (-f yuv4mpegpipe). The header is kept unchanged.
 *
 * Tag C names the colour space. Without it, XYSCSS does, which ffmpeg and old
 * programs of mjpegtools write. Without both it is 420jpeg. XCOLORRANGE and all
 * other tags change no size. Planes of odd sides are rounded up, as by ffmpeg.
 *
 * An item is one frame. The parameters of its FRAME line, which few files have,
 * follow the planes in the item. No stage modifies them.
 */
#include "runtime/cli/format.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/refusal.h"
#include "runtime/base/text.h"

#define SIDE_MAX 65535u
#define TOKEN_BYTES 64 /* of a tag that is parsed */
#define Y4M_MAGIC "YUV4MPEG2"
#define MAGIC_BYTES (sizeof(Y4M_MAGIC) - 1)
#define FRAME "FRAME"
#define FRAME_BYTES (sizeof(FRAME) - 1)

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
	{ "mono", 0, 1, 1, 0 },	    { "400", 0, 1, 1, 0 },
};

static int malformed(struct peali_reader *reader, const char *what,
		     const char *token)
{
	return peali_reader_fail(reader, -EBADMSG,
				 "input '%s': YUV4MPEG2 header: %s '%s'",
				 reader->name, what, PEALI_CUT(40, token));
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

/* Finds the colour space of a tag, as in "C420jpeg" or "XYSCSS=420JPEG". */
static int find_sampling(struct peali_reader *reader, const char *tag,
			 const struct sampling **out)
{
	const size_t n = sizeof(samplings) / sizeof(samplings[0]);
	const char *value = strchr(tag, '=');
	char name[TOKEN_BYTES];
	size_t i;

	value = *tag == 'X' && value ? value + 1 : tag + 1;
	snprintf(name, sizeof(name), "%s", value);
	for (i = 0; *tag == 'X' && name[i]; i++)
		name[i] = (char)tolower((unsigned char)name[i]);
	for (i = 0; i < n; i++)
		if (strcmp(samplings[i].tag, name) == 0) {
			*out = samplings + i;
			return 0;
		}
	if (is_deep(name))
		return peali_reader_refuse(
			reader, -ENOTSUP,
			PEALI_REFUSAL(.object = "input", .name = reader->name,
				      .problem = "has too deep a colour space",
				      .value = tag,
				      .allowed = "8 bits a sample",
				      .remedy =
					      "convert it: ffmpeg -i INPUT -pix_fmt "
					      "yuv420p -f yuv4mpegpipe -"));
	return peali_reader_refuse(
		reader, -ENOTSUP,
		PEALI_REFUSAL(.object = "input", .name = reader->name,
			      .problem = "has an unknown colour space",
			      .value = tag,
			      .allowed =
				      "420, 420jpeg, 420mpeg2, 420paldv, 411, 422, "
				      "444, 444alpha or mono",
			      .remedy =
				      "convert it: ffmpeg -i INPUT -pix_fmt yuv420p "
				      "-f yuv4mpegpipe -"));
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
		return peali_reader_refuse(
			reader, -EBADMSG,
			PEALI_REFUSAL(.object = "input", .name = reader->name,
				      .problem = *token == 'W' ?
							 "has a wrong width" :
							 "has a wrong height",
				      .value = token + 1,
				      .allowed = PEALI_PRINT("1..%d", SIDE_MAX),
				      .remedy = "write the header again"));
	*side = value;
	return 0;
}

/* The tags of a header that name its colour space; "" or the tag. */
struct colour {
	char c[TOKEN_BYTES], xyscss[TOKEN_BYTES];
};

/* Copies a tag. A longer tag keeps its begin, which is no known one then. */
static void keep(char out[TOKEN_BYTES], const char *token, size_t n)
{
	n = n < TOKEN_BYTES ? n : TOKEN_BYTES - 1;
	memcpy(out, token, n);
	out[n] = 0;
}

/* Parses a tag of n bytes. */
static int parse_token(struct peali_reader *reader, const char *token, size_t n,
		       struct colour *colour)
{
	static const char xyscss[] = "XYSCSS=";
	char text[TOKEN_BYTES];

	keep(text, token, n);
	if (*token == 'W')
		return parse_side(reader, text, &reader->stream.width);
	if (*token == 'H')
		return parse_side(reader, text, &reader->stream.height);
	if (*token == 'C')
		keep(colour->c, token, n);
	else if (n >= sizeof(xyscss) - 1 &&
		 memcmp(token, xyscss, sizeof(xyscss) - 1) == 0)
		keep(colour->xyscss, token, n);
	return 0;
}

/* Refuses bytes that no writer of YUV4MPEG2 makes, as a text conversion does. */
static int check_bytes(struct peali_reader *reader, const char *text, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (iscntrl((unsigned char)text[i]))
			return peali_reader_fail(
				reader, -EBADMSG,
				"input '%s': YUV4MPEG2 header: byte %zu is the "
				"control character 0x%02x; read the file as "
				"binary, without a conversion of line ends",
				reader->name, i + 1, (unsigned char)text[i]);
	return 0;
}

/*
 * Parses size and colour space. All other tags of the header, such as rate or
 * aspect, stay unchanged in stream->header.
 */
static int parse_header(struct peali_reader *reader,
			const struct sampling **sampling)
{
	struct peali_stream *stream = &reader->stream;
	const char *at = stream->header + MAGIC_BYTES;
	struct colour colour = { "", "" };
	int result = check_bytes(reader, stream->header, stream->header_bytes);
	size_t n;

	for (; *at && !result; at += n) {
		at += strspn(at, " ");
		n = strcspn(at, " ");
		if (n)
			result = parse_token(reader, at, n, &colour);
	}
	if (!result && (colour.c[0] || colour.xyscss[0]))
		result = find_sampling(reader,
				       colour.c[0] ? colour.c : colour.xyscss,
				       sampling);
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
		return peali_reader_refuse(
			reader, -EMSGSIZE,
			PEALI_REFUSAL(.object = "input", .name = reader->name,
				      .problem = PEALI_PRINT(
					      "has too large frames of %ux%u",
					      stream->width, stream->height),
				      .number = bytes, .least = 1,
				      .most = PEALI_ITEM_BYTES_MAX,
				      .remedy = "use a smaller picture"));
	stream->frame_bytes = (uint32_t)bytes;
	stream->item_bytes_max = (uint32_t)bytes + PEALI_Y4M_PARAMETER_BYTES;
	return 0;
}

static int no_y4m(struct peali_reader *reader)
{
	return peali_reader_fail(
		reader, -EBADMSG,
		"input '%s' is no YUV4MPEG2 video; make one: ffmpeg -i "
		"INPUT -pix_fmt yuv420p -f yuv4mpegpipe -",
		reader->name);
}

/* Reads the header's line into stream->header. */
static int read_header(struct peali_reader *reader)
{
	struct peali_stream *stream = &reader->stream;
	char *rest = stream->header + MAGIC_BYTES;
	ssize_t n;
	int ended;

	n = peali_reader_bytes(reader, stream->header, MAGIC_BYTES);
	if (n < 0)
		return (int)n;
	if (n < (ssize_t)MAGIC_BYTES ||
	    memcmp(stream->header, Y4M_MAGIC, MAGIC_BYTES) != 0)
		return no_y4m(reader);
	n = peali_reader_line(reader, rest,
			      PEALI_Y4M_HEADER_BYTES - MAGIC_BYTES, &ended);
	if (n == -EMSGSIZE)
		return peali_reader_refuse(
			reader, -EMSGSIZE,
			PEALI_REFUSAL(.object = "input", .name = reader->name,
				      .problem =
					      "has too long a YUV4MPEG2 header",
				      .value = "longer",
				      .allowed = PEALI_PRINT(
					      "0..%u bytes",
					      PEALI_Y4M_HEADER_BYTES),
				      .remedy = "write the video again"));
	if (n < 0)
		return (int)n;
	if (n && *rest != ' ')
		return no_y4m(reader);
	if (ended)
		return peali_reader_fail(reader, -EBADMSG,
					 "input '%s' ends inside the YUV4MPEG2 "
					 "header",
					 reader->name);
	rest[n] = 0;
	stream->header_bytes = MAGIC_BYTES + (size_t)n;
	return 0;
}

static int y4m_start(struct peali_reader *reader, const char *argument)
{
	const struct sampling *sampling = samplings;
	int result;

	if (argument)
		return peali_reader_refuse(
			reader, -EINVAL,
			PEALI_REFUSAL(.object = "format", .name = "y4m",
				      .problem = "takes no argument",
				      .value = argument, .allowed = "none",
				      .remedy = "use y4m"));
	result = read_header(reader);
	if (!result)
		result = parse_header(reader, &sampling);
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

static int ends_in_frame_line(struct peali_reader *reader)
{
	unsigned long long number = reader->n_items + 1;

	return peali_reader_fail(
		reader, -EBADMSG,
		"input '%s' ends inside the FRAME line of frame %llu; the %llu "
		"frames before are whole",
		reader->name, number, number - 1);
}

static int no_frame(struct peali_reader *reader)
{
	return peali_reader_fail(reader, -EBADMSG,
				 "input '%s': frame %llu does not begin with "
				 "FRAME; are size and colour space in the "
				 "header right?",
				 reader->name,
				 (unsigned long long)reader->n_items + 1);
}

/*
 * Reads a FRAME line. Its parameters, with the space before them, go to
 * `parameters`. Returns their length, -ENODATA without a message at the end of
 * the input, or negative.
 */
static ssize_t frame_line(struct peali_reader *reader,
			  char parameters[PEALI_Y4M_PARAMETER_BYTES])
{
	char word[FRAME_BYTES];
	ssize_t n = peali_reader_bytes(reader, word, FRAME_BYTES);
	int ended;

	if (n <= 0)
		return n < 0 ? n : -ENODATA;
	if (memcmp(word, FRAME, (size_t)n) != 0)
		return no_frame(reader);
	if (n < (ssize_t)FRAME_BYTES)
		return ends_in_frame_line(reader);
	n = peali_reader_line(reader, parameters, PEALI_Y4M_PARAMETER_BYTES,
			      &ended);
	if (n == -EMSGSIZE)
		return peali_reader_fail(
			reader, -EMSGSIZE,
			"input '%s': the parameters of frame %llu are longer "
			"than %u bytes",
			reader->name, (unsigned long long)reader->n_items + 1,
			PEALI_Y4M_PARAMETER_BYTES);
	if (n > 0 && *parameters != ' ')
		return no_frame(reader);
	return n >= 0 && ended ? ends_in_frame_line(reader) : n;
}

static int y4m_next(struct peali_reader *reader, struct peal_item *head,
		    void *body, size_t capacity)
{
	const struct peali_stream *stream = &reader->stream;
	char parameters[PEALI_Y4M_PARAMETER_BYTES];
	size_t n_parameters;
	ssize_t n = frame_line(reader, parameters);

	if (n < 0)
		return n == -ENODATA ? 1 : (int)n;
	n_parameters = (size_t)n;
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
		memcpy((char *)body + n, parameters, n_parameters);
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
	result = peali_writer_bytes(writer, FRAME, FRAME_BYTES);
	if (!result)
		result = peali_writer_bytes(writer, parameters,
					    head->body_bytes - frame_bytes);
	if (!result)
		result = peali_writer_bytes(writer, "\n", 1);
	return result ? result : peali_writer_bytes(writer, body, frame_bytes);
}

const struct peali_format peali_format_y4m = {
	.name = "y4m",
	.help = "y4m: YUV4MPEG2 video of 8 bits, one item per frame",
	.image = 1,
	.start = y4m_start,
	.next = y4m_next,
	.begin = y4m_begin,
	.put = y4m_put,
};
