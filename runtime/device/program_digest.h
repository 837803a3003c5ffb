/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEALI_PROGRAM_DIGEST_H
#define PEALI_PROGRAM_DIGEST_H

#include <stddef.h>

/*
 * The digest of a program file detects damage before the file is loaded. The
 * loader of the system crashes on a damaged file.
 *
 * The digest is the last line. It has the word "peal-sha256:" and the SHA-256
 * of all bytes before the line. The build appends it (PealDigest.cmake). A
 * digest is no signature: anyone with write access to the file can make one.
 */

#define PEALI_DIGEST_WORD "peal-sha256:"

/* Checks the digest of the n bytes of a file. Returns 1 if it matches and 0
 * if there is none. Returns -1 if the bytes before the digest have changed. */
int peali_digest_check(const unsigned char *bytes, size_t n);

#endif
