/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEALI_PROGRAM_DIGEST_H
#define PEALI_PROGRAM_DIGEST_H

#include <stddef.h>

/*
 * The seal of a program file detects damage before the file is loaded. The
 * loader of the system crashes on a damaged file.
 *
 * The seal is the last line of the file. It has the word "peal-sha256:" and the
 * SHA-256 of all bytes before the line. The build appends it (PealSeal.cmake).
 * A seal is no signature: anyone with write access to the file can make one.
 */

#define PEALI_SEAL_WORD "peal-sha256:"

/* Checks the seal of the n bytes of a file. Returns 1 if the seal matches and 0
 * if there is none. Returns -1 if the bytes before the seal have changed. */
int peali_seal_check(const unsigned char *bytes, size_t n);

#endif
