/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_RUNTIME_CLI_FORMAT_H
#define PEAL_RUNTIME_CLI_FORMAT_H

/*
 * Reading items from a file or a pipe and writing them again, byte for byte. An
 * item is one contiguous body: a frame of YUV4MPEG2 video (luma, chroma, then
 * the parameters of its FRAME line), a text line without its newline, or a
 * record of fixed size.
 *
 *	reader_open -> reader_next ... -> reader_close
 *	               writer_open(&reader.stream) -> writer_put ... -> _close
 *
 * Functions return 0, or a negative errno value with a sentence in `message`
 * that names the file, the place and what to do. A reader or writer belongs to
 * one thread at a time; the two may be in different threads, as the stream does
 * not change after reader_open. Nothing is allocated per item. The process has
 * to ignore SIGPIPE, or a closed output pipe ends it without a message.
 */

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <peal/abi/stage.h>

#define PEALI_MESSAGE_BYTES 512
#define PEALI_LINE_BYTES_DEFAULT (1u << 20)
/* A message has 256 MiB, of which the head takes 32 bytes. */
#define PEALI_ITEM_BYTES_MAX ((1u << 28) - 32)
/* The longest header and FRAME line of a video, without the newline. */
#define PEALI_Y4M_HEADER_BYTES 1024
#define PEALI_Y4M_PARAMETER_BYTES 256

struct peali_reader;
struct peali_writer;

/* What a format does; all functions are called by format.c only. */
struct peali_format {
	const char *name; /* as in --format */
	const char *help;
	int image; /* 1: bodies are pictures, which affine and sqrt refuse */
	/* Reads what comes before the first item, fills reader->stream. */
	int (*start)(struct peali_reader *reader, const char *argument);
	/* 0, 1 at the end, or negative; fills all of head but ingress_ns. */
	int (*next)(struct peali_reader *reader, struct peal_item *head,
		    void *body, size_t capacity);
	/* Writes what comes before the first item. */
	int (*begin)(struct peali_writer *writer);
	int (*put)(struct peali_writer *writer, const struct peal_item *head,
		   const void *body);
};

extern const struct peali_format peali_format_y4m;
extern const struct peali_format peali_format_lines;
extern const struct peali_format peali_format_records;

/* What a writer has to know of the reader's input. */
struct peali_stream {
	const struct peali_format *format;
	uint32_t item_bytes_max; /* no body is larger: size messages by it */
	uint32_t width; /* y4m: of the luma plane */
	uint32_t height;
	uint32_t frame_bytes; /* y4m: all planes; records: BYTES */
	size_t header_bytes;
	char header[PEALI_Y4M_HEADER_BYTES]; /* y4m: without its newline */
	int regular; /* the input is a file: device and inode name it */
	dev_t device;
	ino_t inode;
};

/* Zero in every field means the default. */
struct peali_reader_options {
	const char *format; /* "y4m", "lines", "records:BYTES"; NULL: look */
	uint32_t line_bytes_max; /* 0: PEALI_LINE_BYTES_DEFAULT */
	/*
	 * A descriptor that becomes readable when reading shall end (an eventfd
	 * or pipe that a signal handler writes to); 0: none.
	 */
	int stop_fd;
};

struct peali_reader {
	struct peali_stream stream;
	uint64_t n_items; /* delivered so far; the next item's sequence */
	uint64_t n_bytes; /* taken from the input so far */
	char message[PEALI_MESSAGE_BYTES];
	/* private */
	const char *name;
	int fd;
	int stop_fd;
	int pollable;
	int result; /* what the first failed call returned, and all later do */
	uint32_t line_bytes_max;
	unsigned char *buffer;
	size_t begin;
	size_t end;
};

struct peali_writer {
	const struct peali_stream *stream;
	uint64_t n_items;
	uint64_t n_bytes; /* put so far, flushed or not */
	char message[PEALI_MESSAGE_BYTES];
	/* private */
	const char *name;
	int fd;
	int stop_fd;
	int pollable;
	int result;
	unsigned char *buffer;
	size_t used;
};

/**
 * Opens an input and reads its header.
 *
 * @param path a file, or "-" or NULL for the standard input; stays the
 *        caller's and has to live until close.
 * @param options NULL for the defaults. Without a format, input that begins
 *        with "YUV4MPEG2" is y4m and all other is lines.
 * @return 0, or negative: -EINVAL for a format text that is none, -EBADMSG for
 *         a malformed header, -EINTR after stop_fd, or the system's own.
 *         Nothing is left open then. Blocks until the header is there.
 */
int peali_reader_open(struct peali_reader *reader, const char *path,
		      const struct peali_reader_options *options);

/**
 * Reads the next item.
 *
 * @param head all but ingress_ns is set; ingress_ns is set to 0.
 * @param body receives head->body_bytes bytes.
 * @param capacity the room at body: stream.item_bytes_max is always enough.
 * @return 0; 1 at the end of the input; -EBADMSG for input that is malformed or
 *         ends inside an item; -EMSGSIZE for a line or frame that does not fit;
 *         -EINTR after stop_fd; or the system's own. After anything but 0 every
 *         later call returns the same. What came before is whole.
 */
int peali_reader_next(struct peali_reader *reader, struct peal_item *head,
		      void *body, size_t capacity);

/** 1 if the next item can be had, or its end be told, without waiting. */
int peali_reader_ready(struct peali_reader *reader);

/** Closes; a reader that did not open, or is closed, is left as it is. */
void peali_reader_close(struct peali_reader *reader);

/**
 * Opens an output and writes the stream's header to it.
 *
 * @param path a file, created or truncated, or "-" or NULL for the standard
 *        output.
 * @param stream the reader's; has to live until close.
 * @param stop_fd as in peali_reader_options: ends a wait for a pipe that nobody
 *        reads; 0: none.
 * @return 0, or negative: -EINVAL where the output is the input's own file
 *         (which is left as it is), or the system's own.
 */
int peali_writer_open(struct peali_writer *writer, const char *path,
		      const struct peali_stream *stream, int stop_fd);

/**
 * Writes an item; in memory until the buffer is full, see peali_writer_flush.
 *
 * @return 0; -EBADMSG for a body that is none of the stream's; -ENOSPC, -EPIPE
 *         and the like. After a failure every later call returns the same.
 */
int peali_writer_put(struct peali_writer *writer, const struct peal_item *head,
		     const void *body);

/** Hands everything put so far to the system. Returns as peali_writer_put. */
int peali_writer_flush(struct peali_writer *writer);

/**
 * Flushes and closes; a writer that did not open, or is closed, gives 0.
 *
 * @return 0, or the first failure of this writer, also one told before.
 */
int peali_writer_close(struct peali_writer *writer);

/** All formats, NULL behind the last: for help texts. */
const struct peali_format *const *peali_formats(void);

/* ---- for the formats ---------------------------------------------------- */

/* Keeps `result` and the sentence in reader or writer; returns result. */
int peali_reader_fail(struct peali_reader *reader, int result,
		      const char *format, ...)
	__attribute__((format(printf, 3, 4)));
int peali_writer_fail(struct peali_writer *writer, int result,
		      const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/*
 * Reads n bytes; fewer only at the end of the input. The number read, or
 * negative.
 */
ssize_t peali_reader_bytes(struct peali_reader *reader, void *to, size_t n);

/*
 * Reads up to a newline, which is taken and not stored. The number of bytes, or
 * negative: -EMSGSIZE, without a message, if there are more than capacity.
 * *ended_out: 0 a newline was there, 1 the input ended first.
 */
ssize_t peali_reader_line(struct peali_reader *reader, void *to,
			  size_t capacity, int *ended_out);

int peali_writer_bytes(struct peali_writer *writer, const void *from, size_t n);

#endif
