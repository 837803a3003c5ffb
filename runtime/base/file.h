/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEALI_FILE_H
#define PEALI_FILE_H

#include <stddef.h>

/* Reads and writes whole files. Thread-safe. */

/*
 * Writes a file atomically: readers see the old or the complete new contents.
 * Makes missing folders of the path. Returns 0, or -1 with errno.
 */
int peali_file_write(const char *path, const void *bytes, size_t n);

/*
 * Waits for writes in other threads, at most 1 s, and refuses new ones for the
 * rest of the process. So no temporary file remains at a sudden exit.
 */
void peali_file_hold(void);

/*
 * Reads a regular file of at most `most` bytes. The caller frees the result. A
 * zero byte follows the contents. Returns NULL with errno; EFBIG: the file is
 * larger. EINVAL: it is not a regular file.
 */
void *peali_file_read(const char *path, size_t most, size_t *n_out);

#endif
