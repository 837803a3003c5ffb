/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_RUNTIME_CLI_FORMAT_H
#define PEAL_RUNTIME_CLI_FORMAT_H

/*
 * Reads items from a file or a pipe and writes them again, byte for byte. An
 * item is one contiguous body:
 *
 * - a frame of YUV4MPEG2 video: luma, chroma, the parameters of its FRAME line
 * - a text line without its newline
 * - a record of fixed size
 *
 *	reader_open -> reader_next ... -> reader_close
 *	               writer_open(&reader.stream) -> writer_put ... -> _close
 *
 * Functions return 0, or a negative errno value with a sentence in `message`.
 * It names the file, the position and the remedy. One thread at a time uses a
 * reader or a writer. Reader and writer may be in different threads, as
 * reader_open is the last change of the stream. No call allocates memory per
 * item. The process ignores SIGPIPE. Otherwise a closed output pipe would end
 * it without a message.
 */

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <peal/abi/stage.h>

#define PEALI_MESSAGE_BYTES 512
#define PEALI_PATH_SHOWN 201
#define PEALI_LINE_BYTES_DEFAULT (1u << 20)
/* A message has at most 256 MiB. The head takes 32 bytes of it. */
#define PEALI_ITEM_BYTES_MAX ((1u << 28) - 32)
/* Longest header and longest FRAME parameters of a video, without newline. */
#define PEALI_Y4M_HEADER_BYTES 65536
#define PEALI_Y4M_PARAMETER_BYTES 256

struct peali_refusal;
struct peali_refusal;
struct peali_reader;
struct peali_writer;

/* Operations of a format. Only format.c calls them. */
struct peali_format {
	const char *name; /* as in --format */
	const char *help;
	/* 1: bodies are pictures; the stages affine and sqrt reject them */
	int image;
	/* Reads all input before the first item and fills reader->stream. */
	int (*start)(struct peali_reader *reader, const char *argument);
	/*
	 * Reads an item and fills `head` except ingress_ns. Returns 0, 1 at the
	 * end, or negative.
	 */
	int (*next)(struct peali_reader *reader, struct peal_item *head,
		    void *body, size_t capacity);
	/* Writes all output before the first item. */
	int (*begin)(struct peali_writer *writer);
	int (*put)(struct peali_writer *writer, const struct peal_item *head,
		   const void *body);
};

extern const struct peali_format peali_format_y4m;
extern const struct peali_format peali_format_lines;
extern const struct peali_format peali_format_records;

/* Properties of the input that a writer needs. */
struct peali_stream {
	const struct peali_format *format;
	/* upper limit of a body's bytes: sets the message size */
	uint32_t item_bytes_max;
	uint32_t width; /* y4m: of the luma plane */
	uint32_t height;
	uint32_t frame_bytes; /* y4m: all planes; records: BYTES */
	size_t header_bytes;
	/* y4m: without its newline, with a 0 */
	char header[PEALI_Y4M_HEADER_BYTES + 1];
	/* 1: the input is a regular file, identified by device and inode */
	int regular;
	dev_t device;
	ino_t inode;
};

/* A field that is 0 or NULL has its default. */
struct peali_reader_options {
	const char *format; /* "y4m", "lines", "records:BYTES"; NULL: detect */
	uint32_t line_bytes_max; /* 0: PEALI_LINE_BYTES_DEFAULT */
	/*
	 * A descriptor that becomes readable to end reading, such as an eventfd
	 * that a signal handler writes. 0: none.
	 */
	int stop_fd;
};

struct peali_reader {
	struct peali_stream stream;
	/* items delivered; also the sequence of the next item */
	uint64_t n_items;
	uint64_t n_bytes; /* bytes read from the input */
	char message[PEALI_MESSAGE_BYTES];
	/* private */
	char name[PEALI_PATH_SHOWN]; /* for messages; a long path is cut */
	int fd;
	int stop_fd;
	int pollable;
	/* 0, or the result of the first failed call and of all later calls */
	int result;
	uint32_t line_bytes_max;
	unsigned char *buffer;
	size_t begin;
	size_t end;
};

struct peali_writer {
	const struct peali_stream *stream;
	uint64_t n_items;
	uint64_t n_bytes; /* bytes put, flushed or not */
	char message[PEALI_MESSAGE_BYTES];
	/* private */
	char name[PEALI_PATH_SHOWN]; /* for messages; a long path is cut */
	int fd;
	int stop_fd;
	int pollable;
	int result;
	unsigned char *buffer;
	size_t used;
};

/**
 * Opens an input and reads its header. Blocks until the header has arrived.
 *
 * @param path a file, or "-" or NULL for the standard input. The caller owns it
 *         and keeps it until close.
 * @param options NULL for the defaults. Without a format, input that begins
 *         with "YUV4MPEG2" is y4m, and all other input is lines.
 * @return 0, or a negative errno value. After a failure nothing stays open.
 * @retval -EINVAL the format text is invalid.
 * @retval -EBADMSG the header is malformed.
 * @retval -EINTR stop_fd is readable.
 */
int peali_reader_open(struct peali_reader *reader, const char *path,
		      const struct peali_reader_options *options);

/**
 * Reads the next item.
 *
 * @param head filled; ingress_ns is set to 0.
 * @param body receives head->body_bytes bytes.
 * @param capacity bytes at `body`; stream.item_bytes_max always suffices.
 * @return 0, 1 at the end of the input, or a negative errno value. Every call
 *         after a result other than 0 returns this result. Items that were
 *         delivered before are complete.
 * @retval -EBADMSG the input is malformed or ends inside an item.
 * @retval -EMSGSIZE a line or frame exceeds `capacity`.
 * @retval -EINTR stop_fd is readable.
 */
int peali_reader_next(struct peali_reader *reader, struct peal_item *head,
		      void *body, size_t capacity);

/** Returns 1 if peali_reader_next will not wait, else 0. */
int peali_reader_ready(struct peali_reader *reader);

/** Closes a reader. Ignores a reader that is not open. */
void peali_reader_close(struct peali_reader *reader);

/**
 * Opens an output and writes the stream's header.
 *
 * @param path a file, created or truncated; "-" or NULL: standard output.
 * @param stream the reader's stream; it has to stay valid until close.
 * @param stop_fd as in peali_reader_options; ends a wait for a full pipe. 0:
 *         none.
 * @return 0, or a negative errno value.
 * @retval -EINVAL the output is the input's own file, which stays unchanged.
 */
int peali_writer_open(struct peali_writer *writer, const char *path,
		      const struct peali_stream *stream, int stop_fd);

/**
 * Writes an item. It may stay in the buffer, see peali_writer_flush.
 *
 * @return 0, or a negative errno value, such as -ENOSPC or -EPIPE. Every call
 *         after a failure returns the value of the failure.
 * @retval -EBADMSG the body does not belong to the stream.
 */
int peali_writer_put(struct peali_writer *writer, const struct peal_item *head,
		     const void *body);

/** Writes the buffered items to the system. Returns as peali_writer_put. */
int peali_writer_flush(struct peali_writer *writer);

/**
 * Flushes and closes a writer. A writer that is not open is not changed.
 *
 * @return 0, or the first failure of this writer, even if it was returned
 *         before.
 */
int peali_writer_close(struct peali_writer *writer);

/** Returns all formats for help texts; NULL ends. */
const struct peali_format *const *peali_formats(void);

/* ---- for the formats ---------------------------------------------------- */

/* Stores `result` and the message in the reader or writer. Returns `result`. */
int peali_reader_fail(struct peali_reader *reader, int result,
		      const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* Stores the text of a refused value. Returns `result`. */
int peali_reader_refuse(struct peali_reader *reader, int result,
			const struct peali_refusal *refusal);
int peali_writer_fail(struct peali_writer *writer, int result,
		      const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/*
 * Reads n bytes, or fewer at the end of the input. Returns the number of bytes,
 * or negative.
 */
ssize_t peali_reader_bytes(struct peali_reader *reader, void *to, size_t n);

/*
 * Reads a line. The newline is consumed and not stored. *ended_out is 0 after a
 * newline, 1 if the input ended first. Returns the number of bytes, or a
 * negative errno value.
 *
 * -EMSGSIZE: the line exceeds `capacity`. This error has no message.
 */
ssize_t peali_reader_line(struct peali_reader *reader, void *to,
			  size_t capacity, int *ended_out);

int peali_writer_bytes(struct peali_writer *writer, const void *from, size_t n);

#endif
