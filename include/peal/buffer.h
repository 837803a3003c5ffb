/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_BUFFER_H
#define PEAL_BUFFER_H

/*
 * Buffers: memory of a device or of the host, with its owner recorded.
 *
 * peal_buffer_create makes a buffer. peal_buffer_full_range, peal_buffer_range
 * and peal_buffer_view return ranges of it. Other calls take ranges, so no
 * caller has to name the owner of an address. Each call checks that the range
 * lies inside its buffer. peal_buffer_write, peal_buffer_read and
 * peal_buffer_fill access the bytes. peal_buffer_address returns an address for
 * handlers. peal_buffer_destroy frees the buffer.
 */

#include <stdint.h>

#include <peal/errors.h>
#include <peal/memory.h>

PEAL_BEGIN_C

struct peal_runtime;

/**
 * Memory on one device, or on the host where every device maps it.
 *
 * When the runtime closes, it frees the buffers that are left.
 * peal_runtime_close_report names them.
 */
struct peal_buffer;

/** Where a buffer's memory is. */
enum peal_buffer_kind {
	PEAL_BUFFER_DEVICE = 0, /* on one device */
	PEAL_BUFFER_PINNED = 1, /* pinned on the host; each device maps it */
	PEAL_BUFFER_UNIFIED = 2, /* as PINNED, with one view for each device */
	/*
	 * Managed by the driver: its pages move between the host and the
	 * devices. Without such memory it is as PINNED: see
	 * struct peal_buffer_info.
	 */
	PEAL_BUFFER_MANAGED = 3
};

/** Advice about the use of a managed buffer. */
enum peal_buffer_advice {
	PEAL_ADVICE_READ_MOSTLY = 1, /* each reader may have a copy */
	PEAL_ADVICE_NOT_READ_MOSTLY = 2, /* ends READ_MOSTLY */
	PEAL_ADVICE_PREFERRED = 3, /* pages stay on a device or the host */
	PEAL_ADVICE_NOT_PREFERRED = 4, /* ends PREFERRED */
	PEAL_ADVICE_ACCESSED_BY = 5, /* a device keeps the pages mapped */
	PEAL_ADVICE_NOT_ACCESSED_BY = 6 /* ends ACCESSED_BY */
};

#define PEAL_BUFFER_VIEWS_MAX 64
#define PEAL_BUFFER_NAME_BYTES 32

/** Options of a buffer. A field of 0 takes its default. */
struct peal_buffer_options {
	uint32_t size; /* sizeof(struct peal_buffer_options) */
	uint32_t kind; /* enum peal_buffer_kind (default PEAL_BUFFER_DEVICE) */
	int device; /* index of the device; 0 for kinds on the host */
	/*
	 * Views of a PEAL_BUFFER_UNIFIED, 1..PEAL_BUFFER_VIEWS_MAX (default:
	 * one for each device of the runtime). Views are equal parts of the
	 * outer dimension. View i is meant for device i. 0 for
	 * other kinds.
	 */
	uint32_t views;
	/*
	 * Size of the buffer, 1 or more, no default. For PEAL_BUFFER_UNIFIED a
	 * multiple of the number of views.
	 */
	uint64_t bytes;
	/*
	 * For texts and reports (default ""), copied. At most
	 * PEAL_BUFFER_NAME_BYTES - 1 bytes: "..." replaces the middle of more.
	 */
	const char *name;
};

/** Properties of a buffer. */
struct peal_buffer_info {
	enum peal_buffer_kind kind;
	int device; /* index of the owner, or PEAL_HOST_MEMORY */
	uint32_t views; /* 1 for kinds without views */
	uint64_t bytes; /* of the whole buffer */
	uint64_t view_bytes; /* of each view */
	uint32_t n_peers; /* other devices that see a device's buffer, see
			   * peal_buffer_address; 0 for kinds on the host */
	char name[PEAL_BUFFER_NAME_BYTES];
	/*
	 * 1: managed memory. 0: memory of a device, or pinned host memory. A
	 * PEAL_BUFFER_MANAGED is managed if all devices of the runtime are of
	 * one backend and have PEAL_CAN_MANAGED.
	 */
	uint32_t managed;
};

/** A part of a buffer. It is a value and owns nothing. */
struct peal_range {
	struct peal_buffer *buffer;
	uint64_t offset; /* bytes from the start of the buffer */
	uint64_t bytes; /* 1 or more */
};

/**
 * Creates a buffer.
 *
 * The buffer is zeroed, and its first byte is aligned to 128.
 *
 * Thread-safe, also while kernels run, except for managed memory.
 *
 * @param runtime    an open runtime.
 * @param options    kind, place and size; copied. `bytes` must be set.
 * @param buffer_out the buffer; the caller frees it by peal_buffer_destroy.
 * @return 0, or a negative error code:
 * @retval PEAL_EINVAL  `bytes` is 0 or no multiple of the views, or another
 *                      option is out of range (the text names it).
 * @retval PEAL_EINVAL  a pointer is NULL.
 * @retval PEAL_ENODEV  there is no such device.
 * @retval PEAL_ENOTSUP a view is for a device without PEAL_CAN_UNIFIED (the
 *                      text names the device).
 * @retval PEAL_ENOSPC  the size exceeds what peal_memory_limit leaves. The
 *                      text names the device, its free memory, and devices
 *                      with enough memory.
 * @retval PEAL_ENOMEM  there is no free piece of that size. The text is as for
 *                      PEAL_ENOSPC. Or the process has no memory: the text has
 *                      the system's error. Or the driver has too little managed
 *                      memory.
 * @retval PEAL_EBUSY   a PEAL_BUFFER_MANAGED would be managed, and a kernel is
 *                      resident on a device. Create it before the launch.
 * @retval PEAL_EDRIVER the driver failed to allocate managed memory.
 */
int peal_buffer_create(struct peal_runtime *runtime,
		       const struct peal_buffer_options *options,
		       struct peal_buffer **buffer_out);

/**
 * Frees a buffer.
 *
 * Addresses from peal_buffer_address become invalid, and no kernel may use
 * them any more.
 *
 * No other call on this buffer may run at the same time.
 *
 * @param buffer the buffer; NULL does nothing.
 * @return 0, or a negative error code with nothing done:
 * @retval PEAL_EBUSY  a copy, a job, a collective, a graph's task or a mapping
 *                     of peal_peer_map uses the buffer.
 */
int peal_buffer_destroy(struct peal_buffer *buffer);

/**
 * Reads the properties of a buffer.
 *
 * Thread-safe. Does not block.
 *
 * @param buffer   a buffer.
 * @param info_out written on success.
 * @return 0, or a negative error code:
 * @retval PEAL_EINVAL  a pointer is NULL.
 */
int peal_buffer_info(const struct peal_buffer *buffer,
		     struct peal_buffer_info *info_out);

/**
 * Returns the address at which a device or the host sees a range.
 *
 * If the range is on another device, the call gives the viewer peer access to
 * it. The access and the address stay valid until the buffer is destroyed.
 *
 * Thread-safe. On GPUs, the first call for a pair of devices may block until a
 * resident kernel ends.
 *
 * @param range       a range of a buffer.
 * @param viewer      index of a device, or PEAL_HOST_MEMORY.
 * @param address_out address of the first byte, for handlers on the viewer.
 *                    For PEAL_HOST_MEMORY it is a host pointer.
 * @return 0, or a negative error code:
 * @retval PEAL_ENOPEER the viewer has no peer access to the device (the text
 *                      names both). Use a buffer on the viewer or on the host.
 * @retval PEAL_EFAULT  the range is not inside its buffer.
 * @retval PEAL_EFAULT  the viewer is the host, and the range is on a device.
 * @retval PEAL_ENODEV  there is no such device.
 * @retval PEAL_EINVAL  the range has 0 bytes or no buffer, or `address_out` is
 *                      NULL.
 * @retval PEAL_EDRIVER the driver could not give access.
 */
int peal_buffer_address(struct peal_range range, int viewer,
			uint64_t *address_out);

/**
 * Returns the range of a whole buffer.
 *
 * Thread-safe, wait-free.
 *
 * @param buffer a buffer, or NULL.
 * @return the range; for NULL a range that every call rejects with
 *         PEAL_EINVAL.
 */
struct peal_range peal_buffer_full_range(struct peal_buffer *buffer);

/**
 * Returns a range of a buffer by offset and size.
 *
 * Thread-safe. Does not block.
 *
 * @param buffer    a buffer.
 * @param offset    bytes from the start of the buffer.
 * @param bytes     size of the range, 1 or more.
 * @param range_out the range, written on success.
 * @return 0, or a negative error code:
 * @retval PEAL_EFAULT  the range is not inside the buffer (the text says the
 *                      buffer's size).
 * @retval PEAL_EINVAL  `bytes` is 0, or a pointer is NULL.
 */
int peal_buffer_range(struct peal_buffer *buffer, uint64_t offset,
		      uint64_t bytes, struct peal_range *range_out);

/**
 * Returns the range of one view of a buffer.
 *
 * View i is meant for device i, but every device can access every view.
 *
 * Thread-safe. Does not block.
 *
 * @param buffer    a buffer.
 * @param view      0 .. views - 1. Kinds without views have view 0, the whole
 *                  buffer.
 * @param range_out the range, written on success.
 * @return 0, or a negative error code:
 * @retval PEAL_EINVAL  there is no such view (the text says how many there
 *                      are), or a pointer is NULL.
 */
int peal_buffer_view(struct peal_buffer *buffer, uint32_t view,
		     struct peal_range *range_out);

/**
 * Returns a slice of a range.
 *
 * Thread-safe. Does not block.
 *
 * @param range    a range of a buffer.
 * @param offset   bytes from the start of the range.
 * @param bytes    size of the slice, 1 or more.
 * @param slice_out the slice, written on success.
 * @return 0, or a negative error code:
 * @retval PEAL_EFAULT  the part is not inside the range, or the range is not
 *                      inside its buffer.
 * @retval PEAL_EINVAL  a size is 0, the range has no buffer, or `slice_out` is
 *                      NULL.
 */
int peal_range_slice(struct peal_range range, uint64_t offset, uint64_t bytes,
		     struct peal_range *slice_out);

/**
 * Copies bytes from memory of the caller to a range.
 *
 * A handler or host thread that hears of the write by a later message sees the
 * bytes.
 *
 * Thread-safe. Blocks until the copy is done.
 *
 * @param to   a range of a buffer.
 * @param from to.bytes bytes of any memory of the process.
 * @return 0, or a negative error code:
 * @retval PEAL_EFAULT  the range is not inside its buffer.
 * @retval PEAL_EINVAL  the range has 0 bytes or no buffer, or `from` is NULL.
 * @retval PEAL_EDRIVER the driver failed to copy.
 */
int peal_buffer_write(struct peal_range to, const void *from);

/**
 * Copies bytes from a range to memory of the caller.
 *
 * Thread-safe. Blocks until the copy is done.
 *
 * @param from a range of a buffer.
 * @param to   from.bytes bytes of any memory of the process.
 * @return as peal_buffer_write.
 */
int peal_buffer_read(struct peal_range from, void *to);

/**
 * Fills a range with copies of a pattern.
 *
 * Thread-safe. Blocks until the range is filled.
 *
 * @param to            a range of a buffer; its size is a multiple of
 *                      pattern_bytes.
 * @param pattern       pattern_bytes bytes; NULL: zeros.
 * @param pattern_bytes 1 .. 4096.
 * @return as peal_buffer_write, and:
 * @retval PEAL_EINVAL  pattern_bytes is out of range, or the range's size is
 *                      no multiple of it.
 * @retval PEAL_ENOMEM  the host has no memory for up to 64 KiB of copies.
 */
int peal_buffer_fill(struct peal_range to, const void *pattern,
		     uint32_t pattern_bytes);

/**
 * Moves the pages of a range of managed memory, and waits for them.
 *
 * Later accesses at the new place cause no page faults. The memory keeps its
 * bytes and its address. Kernels may be resident, and may use the range.
 *
 * Thread-safe. Blocks until the pages have moved, and meanwhile delays copies of
 * the device.
 *
 * @param range  a range of a buffer with `managed` 1 (struct peal_buffer_info).
 * @param device index of the device, or PEAL_HOST_MEMORY.
 * @return 0, or a negative error code:
 * @retval PEAL_ENOTSUP the buffer is not managed.
 * @retval PEAL_EFAULT  the range is not inside its buffer.
 * @retval PEAL_ENODEV  there is no such device.
 * @retval PEAL_EINVAL  the range has 0 bytes or no buffer.
 * @retval PEAL_EDRIVER a driver call failed.
 */
int peal_buffer_prefetch(struct peal_range range, int device);

/**
 * Advises the driver about the use of a range of managed memory.
 *
 * Advice changes the speed of accesses, not their results. The driver applies
 * the advice to whole pages.
 *
 * Thread-safe. Call it while no kernel is resident.
 *
 * @param range  a range of a buffer with `managed` 1 (struct peal_buffer_info).
 * @param advice enum peal_buffer_advice.
 * @param device index of a device or PEAL_HOST_MEMORY, for
 *               PEAL_ADVICE_PREFERRED and both ACCESSED_BY. Else 0.
 * @return 0, or a negative error code:
 * @retval PEAL_ENOTSUP the buffer is not managed.
 * @retval PEAL_EFAULT  the range is not inside its buffer.
 * @retval PEAL_ENODEV  there is no such device.
 * @retval PEAL_EINVAL  the range has 0 bytes or no buffer. Or the advice is
 *                      unknown. Or it has no device, and `device` is not 0.
 * @retval PEAL_EBUSY   a kernel is resident on a device.
 * @retval PEAL_EDRIVER a driver call failed.
 */
int peal_buffer_advise(struct peal_range range, enum peal_buffer_advice advice,
		       int device);

/**
 * Returns the name of an advice: "read mostly", "preferred", "accessed by", ...
 *
 * Thread-safe, wait-free.
 *
 * @param advice enum peal_buffer_advice.
 * @return a static string; "?" for an unknown number.
 */
const char *peal_buffer_advice_name(uint32_t advice);

/**
 * Returns the name of a kind: "device", "pinned", "unified" or "managed".
 *
 * Thread-safe, wait-free.
 *
 * @param kind enum peal_buffer_kind.
 * @return a static string; "?" for an unknown number.
 */
const char *peal_buffer_kind_name(uint32_t kind);

PEAL_END_C
#endif
