/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/cli/format.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/base/refusal.h"
#include "runtime/base/system_call.h"
#include "runtime/base/text.h"

/*
 * Reads and writes items, see format.h: files, buffers and the choice of
 * format.
 */

/* Fits the second-level cache, and is a few times the size of a pipe. */
#define BUFFER_BYTES (256u << 10)
/* Transfers of this size or more bypass the buffer. */
#define DIRECT_BYTES (64u << 10)
/*
 * A pipe accepts this many bytes without blocking when poll reports it
 * writable. So a writer with a stop_fd never blocks where it cannot be stopped.
 */
#define PIPE_BYTES 4096u

static const struct peali_format *const formats[] = {
	&peali_format_y4m,
	&peali_format_lines,
	&peali_format_records,
	NULL,
};

const struct peali_format *const *peali_formats(void)
{
	return formats;
}

static void __attribute__((format(printf, 2, 0)))
say(char *message, const char *format, va_list arguments)
{
	peali_text_vformat(message, PEALI_MESSAGE_BYTES, format, arguments);
}

int peali_reader_fail(struct peali_reader *reader, int result,
		      const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	say(reader->message, format, arguments);
	va_end(arguments);
	reader->result = result;
	return result;
}

int peali_reader_refuse(struct peali_reader *reader, int result,
			const struct peali_refusal *refusal)
{
	char text[PEALI_REFUSAL_BYTES];

	return peali_reader_fail(reader, result, "%s",
				 peali_refusal_text(refusal, text));
}

int peali_writer_fail(struct peali_writer *writer, int result,
		      const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	say(writer->message, format, arguments);
	va_end(arguments);
	writer->result = result;
	return result;
}

/*
 * Waits until fd is ready for `events`. Returns 0, or -EINTR if stop_fd is
 * readable. stop_fd has precedence: a stop must not wait until a busy input
 * ends.
 */
static int wait_ready(int fd, short events, int stop_fd)
{
	struct pollfd fds[2] = { { stop_fd, POLLIN, 0 }, { fd, events, 0 } };

	if (stop_fd <= 0)
		fds[0].fd = -1;
	if (peali_poll(fds, 2, UINT64_MAX) < 0)
		return -errno;
	return fds[0].revents ? -EINTR : 0;
}

/* Reads once and returns the number of bytes; 0: end of input; or negative. */
static ssize_t read_some(struct peali_reader *reader, void *to, size_t n)
{
	ssize_t got;
	int result;

	for (;;) {
		if (reader->pollable && reader->stop_fd > 0) {
			result =
				wait_ready(reader->fd, POLLIN, reader->stop_fd);
			if (result == -EINTR)
				return peali_reader_fail(reader, result,
							 "input '%s': stopped",
							 reader->name);
		}
		got = peali_read(reader->fd, to, n);
		if (got >= 0)
			break;
		if (errno == EAGAIN)
			wait_ready(reader->fd, POLLIN, reader->stop_fd);
		else
			return peali_reader_fail(reader, -errno,
						 "cannot read input '%s': %s",
						 reader->name, strerror(errno));
	}
	reader->n_bytes += (uint64_t)got;
	return got;
}

/* Refills the empty buffer. Returns the bytes in it; 0: end of input. */
static ssize_t fill(struct peali_reader *reader)
{
	ssize_t got = read_some(reader, reader->buffer, BUFFER_BYTES);

	reader->begin = 0;
	reader->end = got > 0 ? (size_t)got : 0;
	return got;
}

ssize_t peali_reader_bytes(struct peali_reader *reader, void *to, size_t n)
{
	unsigned char *p = to;
	size_t done = 0;

	while (done < n) {
		size_t part = reader->end - reader->begin;
		ssize_t got;

		if (part) {
			part = part < n - done ? part : n - done;
			memcpy(p + done, reader->buffer + reader->begin, part);
			reader->begin += part;
			done += part;
			continue;
		}
		if (n - done >= DIRECT_BYTES) {
			got = read_some(reader, p + done, n - done);
			done += got > 0 ? (size_t)got : 0;
		} else {
			got = fill(reader);
		}
		if (got < 0)
			return got;
		if (got == 0)
			break;
	}
	return (ssize_t)done;
}

ssize_t peali_reader_line(struct peali_reader *reader, void *to,
			  size_t capacity, int *ended_out)
{
	unsigned char *p = to;
	size_t done = 0;

	*ended_out = 0;
	for (;;) {
		unsigned char *from = reader->buffer + reader->begin;
		size_t there = reader->end - reader->begin;
		unsigned char *newline = there ? memchr(from, '\n', there) :
						 NULL;
		size_t part = newline ? (size_t)(newline - from) : there;
		ssize_t got;

		if (part > capacity - done)
			return -EMSGSIZE;
		if (part)
			memcpy(p + done, from, part);
		done += part;
		reader->begin += part + (newline != NULL);
		if (newline)
			return (ssize_t)done;
		got = fill(reader);
		if (got < 0)
			return got;
		if (got == 0) {
			*ended_out = 1;
			return (ssize_t)done;
		}
	}
}

/* Starts the format that `text` names, as in "name" or "name:argument". */
static int start_named(struct peali_reader *reader, const char *text)
{
	for (int i = 0; formats[i]; i++) {
		size_t n = strlen(formats[i]->name);

		if (strncmp(text, formats[i]->name, n) ||
		    (text[n] && text[n] != ':'))
			continue;
		reader->stream.format = formats[i];
		return formats[i]->start(reader, text[n] ? text + n + 1 : NULL);
	}
	return peali_reader_refuse(
		reader, -EINVAL,
		PEALI_REFUSAL(.object = "format", .name = text,
			      .problem = "is unknown", .value = text,
			      .allowed = "y4m, lines or records:BYTES",
			      .remedy = "use y4m"));
}

static int start_guessed(struct peali_reader *reader)
{
	static const char magic[] = "YUV4MPEG2";
	const size_t n = sizeof(magic) - 1;

	/* A pipe may deliver the first bytes one by one. */
	while (reader->end < n) {
		ssize_t got = read_some(reader, reader->buffer + reader->end,
					BUFFER_BYTES - reader->end);

		if (got < 0)
			return (int)got;
		if (got == 0)
			break;
		reader->end += (size_t)got;
		if (memcmp(reader->buffer, magic,
			   reader->end < n ? reader->end : n))
			break;
	}
	if (reader->end >= n && memcmp(reader->buffer, magic, n) == 0)
		return start_named(reader, "y4m");
	return start_named(reader, "lines");
}

static int open_input(struct peali_reader *reader, const char *path)
{
	struct stat status;

	if (!path || strcmp(path, "-") == 0) {
		peali_text_fit(reader->name, sizeof(reader->name), "-");
		reader->fd = STDIN_FILENO;
	} else {
		peali_text_fit(reader->name, sizeof(reader->name), path);
		reader->fd = peali_open(path, O_RDONLY | O_CLOEXEC, 0);
	}
	if (reader->fd < 0 || fstat(reader->fd, &status))
		return peali_reader_fail(reader, -errno,
					 "cannot open input '%s': %s",
					 reader->name, strerror(errno));
	if (S_ISDIR(status.st_mode))
		return peali_reader_fail(reader, -EISDIR,
					 "input '%s' is a directory",
					 reader->name);
	reader->pollable = !S_ISREG(status.st_mode);
	reader->stream.regular = S_ISREG(status.st_mode);
	reader->stream.device = status.st_dev;
	reader->stream.inode = status.st_ino;
	if (reader->stream.regular)
		posix_fadvise(reader->fd, 0, 0, POSIX_FADV_SEQUENTIAL);
	return 0;
}

int peali_reader_open(struct peali_reader *reader, const char *path,
		      const struct peali_reader_options *options)
{
	static const struct peali_reader_options defaults;
	int result;

	if (!options)
		options = &defaults;
	memset(reader, 0, sizeof(*reader));
	reader->fd = -1;
	reader->stop_fd = options->stop_fd;
	reader->line_bytes_max = options->line_bytes_max ?
					 options->line_bytes_max :
					 PEALI_LINE_BYTES_DEFAULT;
	if (reader->line_bytes_max > PEALI_ITEM_BYTES_MAX)
		reader->line_bytes_max = PEALI_ITEM_BYTES_MAX;
	result = open_input(reader, path);
	if (result)
		goto close;
	reader->buffer = malloc(BUFFER_BYTES);
	if (!reader->buffer) {
		result = peali_reader_fail(reader, -ENOMEM,
					   "out of memory for input '%s'",
					   reader->name);
		goto close;
	}
	result = options->format ? start_named(reader, options->format) :
				   start_guessed(reader);
close:
	if (result)
		peali_reader_close(reader);
	return result;
}

int peali_reader_next(struct peali_reader *reader, struct peal_item *head,
		      void *body, size_t capacity)
{
	int result;

	if (reader->result)
		return reader->result;
	head->sequence = reader->n_items;
	head->ingress_ns = 0;
	head->flags = 0;
	result = reader->stream.format->next(reader, head, body, capacity);
	if (result == 0)
		reader->n_items++;
	else
		reader->result = result;
	return result;
}

int peali_reader_ready(struct peali_reader *reader)
{
	struct pollfd fd = { reader->fd, POLLIN, 0 };

	if (reader->result || !reader->pollable || reader->begin < reader->end)
		return 1;
	return poll(&fd, 1, 0) != 0;
}

void peali_reader_close(struct peali_reader *reader)
{
	free(reader->buffer);
	reader->buffer = NULL;
	reader->begin = 0;
	reader->end = 0;
	if (reader->fd > STDERR_FILENO)
		close(reader->fd);
	reader->fd = -1;
	if (!reader->result)
		reader->result = 1;
}

static int write_failed(struct peali_writer *writer, int error)
{
	return peali_writer_fail(
		writer, -error,
		"cannot write output '%s' after %llu item%s: %s", writer->name,
		(unsigned long long)writer->n_items, peali_s(writer->n_items),
		strerror(error));
}

/* Writes all n bytes with as many system calls as necessary. */
static int write_all(struct peali_writer *writer, const void *from, size_t n)
{
	const unsigned char *p = from;
	int stoppable = writer->pollable && writer->stop_fd > 0;

	while (n) {
		size_t part = stoppable && n > PIPE_BYTES ? PIPE_BYTES : n;
		ssize_t done;

		if (stoppable &&
		    wait_ready(writer->fd, POLLOUT, writer->stop_fd) == -EINTR)
			return peali_writer_fail(writer, -EINTR,
						 "output '%s': stopped",
						 writer->name);
		done = write(writer->fd, p, part);
		if (done < 0 && errno == EAGAIN) {
			wait_ready(writer->fd, POLLOUT, writer->stop_fd);
		} else if (done < 0 && errno != EINTR) {
			return write_failed(writer, errno);
		} else if (done > 0) {
			p += done;
			n -= (size_t)done;
		}
	}
	return 0;
}

int peali_writer_flush(struct peali_writer *writer)
{
	if (writer->result)
		return writer->result;
	if (writer->used) {
		size_t n = writer->used;

		writer->used = 0;
		return write_all(writer, writer->buffer, n);
	}
	return 0;
}

int peali_writer_bytes(struct peali_writer *writer, const void *from, size_t n)
{
	int result = 0;

	if (n > BUFFER_BYTES - writer->used || n >= DIRECT_BYTES)
		result = peali_writer_flush(writer);
	if (result)
		return result;
	writer->n_bytes += n;
	if (n >= DIRECT_BYTES)
		return write_all(writer, from, n);
	if (n)
		memcpy(writer->buffer + writer->used, from, n);
	writer->used += n;
	return 0;
}

/* Opens the output. Truncates it only if it is not the input's file. */
static int open_output(struct peali_writer *writer, const char *path)
{
	const struct peali_stream *stream = writer->stream;
	struct stat status;

	if (!path || strcmp(path, "-") == 0) {
		peali_text_fit(writer->name, sizeof(writer->name), "-");
		writer->fd = STDOUT_FILENO;
	} else {
		peali_text_fit(writer->name, sizeof(writer->name), path);
		writer->fd =
			peali_open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
	}
	if (writer->fd < 0 || fstat(writer->fd, &status))
		return peali_writer_fail(writer, -errno,
					 "cannot open output '%s': %s",
					 writer->name, strerror(errno));
	writer->pollable = !S_ISREG(status.st_mode);
	if (!S_ISREG(status.st_mode))
		return 0;
	if (stream->regular && stream->device == status.st_dev &&
	    stream->inode == status.st_ino)
		return peali_writer_fail(writer, -EINVAL,
					 "output '%s' is the input: name "
					 "another file",
					 writer->name);
	if (writer->fd != STDOUT_FILENO && peali_ftruncate(writer->fd, 0))
		return write_failed(writer, errno);
	return 0;
}

int peali_writer_open(struct peali_writer *writer, const char *path,
		      const struct peali_stream *stream, int stop_fd)
{
	int result;

	memset(writer, 0, sizeof(*writer));
	writer->stream = stream;
	writer->stop_fd = stop_fd;
	result = open_output(writer, path);
	if (result)
		goto close;
	writer->buffer = malloc(BUFFER_BYTES);
	if (!writer->buffer) {
		result = peali_writer_fail(writer, -ENOMEM,
					   "out of memory for output '%s'",
					   writer->name);
		goto close;
	}
	result = stream->format->begin(writer);
close:
	if (result)
		peali_writer_close(writer);
	return result;
}

int peali_writer_put(struct peali_writer *writer, const struct peal_item *head,
		     const void *body)
{
	int result = writer->result;

	if (!result)
		result = writer->stream->format->put(writer, head, body);
	if (!result)
		writer->n_items++;
	return result;
}

int peali_writer_close(struct peali_writer *writer)
{
	if (writer->fd < 0)
		return writer->result;
	if (writer->buffer)
		peali_writer_flush(writer);
	free(writer->buffer);
	writer->buffer = NULL;
	/* A network file system may report a full disk only at close. */
	if (writer->fd > STDERR_FILENO && close(writer->fd) && !writer->result)
		write_failed(writer, errno);
	writer->fd = -1;
	return writer->result;
}
