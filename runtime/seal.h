/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEALI_SEAL_H
#define PEALI_SEAL_H

#include <stddef.h>

/*
 * The seal of a program file: its last line, "peal-sha256:" and the SHA-256 of
 * all bytes before that line, appended by the build (PealSeal.cmake). The
 * system's loader trusts a file, and crashes on one that is damaged; a sealed
 * one is as it was built. It is no signature: who can write the file can seal it.
 */

#define PEALI_SEAL_WORD "peal-sha256:"

/*
 * 1: the seal is there and right; 0: there is none; -1: the bytes before it are
 * not those that were sealed.
 */
int peali_seal_check(const unsigned char *bytes, size_t n);

#endif
