/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEALI_FILE_H
#define PEALI_FILE_H

#include <stddef.h>

/* Files that are read and written in one piece. Thread-safe. */

/*
 * Writes a file that others see whole or not at all, and makes the folders that
 * it is in. 0, or -1 with errno.
 */
int peali_file_write(const char *path, const void *bytes, size_t n);

/*
 * The contents of a regular file of at most so many bytes, for the caller to
 * free; a zero byte follows. NULL with errno: EFBIG, EINVAL no regular file.
 */
void *peali_file_read(const char *path, size_t most, size_t *n_out);

#endif
