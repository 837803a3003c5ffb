/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_BUFFER_H
#define PEAL_BUFFER_H

#include <stdint.h>

#include <peal/errors.h>
#include <peal/memory.h>

#ifdef __cplusplus
extern "C" {
#endif

struct peal_runtime;

/**
 * Memory that knows where it is: on one device, or on the host where every
 * device maps it. Calls take ranges of buffers, so that nobody says again whose
 * memory an address is, and no range leaves its buffer unnoticed. What is left
 * when the runtime closes is freed, and reported: peal_runtime_close_report.
 */
struct peal_buffer;

/** Where a buffer's memory is. */
enum peal_buffer_kind {
	PEAL_BUFFER_DEVICE = 0, /* of one device */
	PEAL_BUFFER_PINNED = 1, /* of the host, pinned; each device maps it */
	PEAL_BUFFER_UNIFIED = 2 /* the same, in views: one for each device */
};

#define PEAL_BUFFER_VIEWS_MAX 64
#define PEAL_BUFFER_NAME_BYTES 32

/** Zero in a field: its default. */
struct peal_buffer_options {
	uint32_t size; /* sizeof(struct peal_buffer_options) */
	uint32_t kind; /* enum peal_buffer_kind */
	int device; /* whose memory; of PEAL_BUFFER_DEVICE, else 0 */
	uint32_t views; /* of PEAL_BUFFER_UNIFIED: equal parts of the outer
			 * dimension, view i for device i; one for each device
			 * of the runtime by default. Else 0 */
	uint64_t bytes; /* of all of it, 1 or more; of PEAL_BUFFER_UNIFIED a
			 * multiple of views */
	const char *name; /* for texts and reports, up to
			   * PEAL_BUFFER_NAME_BYTES - 1 bytes; "" */
};

/** What is known of a buffer. */
struct peal_buffer_info {
	enum peal_buffer_kind kind;
	int device; /* its owner, or PEAL_HOST_MEMORY */
	uint32_t views; /* 1 but for PEAL_BUFFER_UNIFIED */
	uint64_t bytes;
	uint64_t view_bytes; /* of each view */
	uint32_t n_peers; /* devices that see it by peal_buffer_address, beside
			   * its own */
	char name[PEAL_BUFFER_NAME_BYTES];
};

/** A part of a buffer; a value, which owns nothing. */
struct peal_range {
	struct peal_buffer *buffer;
	uint64_t offset; /* bytes from the buffer's first */
	uint64_t bytes; /* 1 or more */
};

/**
 * Makes a buffer, zeroed, its first byte aligned to 128.
 *
 * @param runtime    an open runtime.
 * @param options    what it is; copied.
 * @param buffer_out the buffer; the caller destroys it.
 * @return 0; PEAL_EINVAL bytes is 0, no multiple of views, or another option is
 *         out of its range (named); PEAL_ENODEV no such device; PEAL_ENOTSUP a
 *         view is for a device without PEAL_CAN_UNIFIED (named); PEAL_ENOSPC
 *         more than the limit of peal_memory_limit leaves; PEAL_ENOMEM there
 *         is no such piece. The texts of the latter two name the device, what
 *         is free there and which devices have room. Thread-safe; also while
 *         kernels run.
 */
int peal_buffer_create(struct peal_runtime *runtime,
		       const struct peal_buffer_options *options,
		       struct peal_buffer **buffer_out);

/**
 * Frees a buffer. The addresses of it that peal_buffer_address gave are gone:
 * no kernel may use them any more.
 *
 * @param buffer of peal_buffer_create; NULL does nothing.
 * @return 0; PEAL_EBUSY a copy or a mapping of peal_peer_map uses it, and
 *         nothing was done. No other call on this buffer may run at the same
 *         time.
 */
int peal_buffer_destroy(struct peal_buffer *buffer);

/**
 * What is known of a buffer.
 *
 * @param buffer   of peal_buffer_create.
 * @param info_out filled on success.
 * @return 0; PEAL_EINVAL a NULL pointer. Thread-safe.
 */
int peal_buffer_info(const struct peal_buffer *buffer,
		     struct peal_buffer_info *info_out);

/**
 * Where a device, or the host, sees the first byte of a range. Another device's
 * memory becomes visible by that, if the pair has peer access, until the buffer
 * is destroyed.
 *
 * @param range       of a buffer.
 * @param viewer      a device, or PEAL_HOST_MEMORY for a host pointer.
 * @param address_out for handlers there, or the host pointer.
 * @return 0; PEAL_ENOPEER the viewer cannot see that device's memory (the text
 *         names both): use a buffer of its own or one of the host; PEAL_EFAULT
 *         the host has no pointer to memory of a device, or the range is not in
 *         its buffer; PEAL_ENODEV; PEAL_EINVAL. Thread-safe; may block behind a
 *         resident kernel on GPUs the first time that a peer is asked for.
 */
int peal_buffer_address(struct peal_range range, int viewer,
			uint64_t *address_out);

/**
 * The whole of a buffer.
 *
 * @param buffer of peal_buffer_create.
 * @return its range; of a NULL buffer one of 0 bytes, which every call refuses.
 *         Thread-safe, wait-free.
 */
struct peal_range peal_buffer_whole(struct peal_buffer *buffer);

/**
 * A part of a buffer, by bytes.
 *
 * @param buffer    of peal_buffer_create.
 * @param offset    of its first byte.
 * @param bytes     1 or more.
 * @param range_out the range.
 * @return 0; PEAL_EFAULT it is not inside the buffer (the text says how large
 *         that is); PEAL_EINVAL 0 bytes or a NULL pointer. Thread-safe.
 */
int peal_buffer_range(struct peal_buffer *buffer, uint64_t offset,
		      uint64_t bytes, struct peal_range *range_out);

/**
 * One of the views of a buffer: view i is meant for device i, though all see
 * all of it.
 *
 * @param buffer    of peal_buffer_create.
 * @param view      0 .. views - 1; of another kind than PEAL_BUFFER_UNIFIED
 *                  there is view 0, the whole.
 * @param range_out the range.
 * @return 0; PEAL_EINVAL no such view (the text says how many there are), or a
 *         NULL pointer. Thread-safe.
 */
int peal_buffer_view(struct peal_buffer *buffer, uint32_t view,
		     struct peal_range *range_out);

/**
 * A part of a range.
 *
 * @param range    of a buffer.
 * @param offset   from the range's first byte.
 * @param bytes    1 or more.
 * @param part_out the part.
 * @return 0; PEAL_EFAULT it is not inside the range, or the range not inside its
 *         buffer; PEAL_EINVAL 0 bytes, or no buffer. Thread-safe.
 */
int peal_range_part(struct peal_range range, uint64_t offset, uint64_t bytes,
		    struct peal_range *part_out);

/**
 * Writes a range from memory of the caller, and waits.
 *
 * @param to   of a buffer.
 * @param from to.bytes bytes, any memory of the process.
 * @return 0, and whoever is told of it from now on sees what was written;
 *         PEAL_EFAULT the range is not in its buffer; PEAL_EINVAL 0 bytes, a
 *         NULL pointer; PEAL_EDRIVER. Thread-safe; blocking.
 */
int peal_buffer_write(struct peal_range to, const void *from);

/**
 * Reads a range into memory of the caller, and waits.
 *
 * @param from of a buffer.
 * @param to   from.bytes bytes, any memory of the process.
 * @return as peal_buffer_write.
 */
int peal_buffer_read(struct peal_range from, void *to);

/**
 * Fills a range with copies of a pattern, and waits.
 *
 * @param to            of a buffer; its bytes are a multiple of pattern_bytes.
 * @param pattern       what is written over and over; NULL: zeros.
 * @param pattern_bytes 1 .. 4096.
 * @return as peal_buffer_write; PEAL_EINVAL too if the sizes do not fit.
 */
int peal_buffer_fill(struct peal_range to, const void *pattern,
		     uint32_t pattern_bytes);

#ifdef __cplusplus
}
#endif
#endif
