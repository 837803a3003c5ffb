/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEALI_ERROR_H
#define PEALI_ERROR_H

#include <peal/errors.h>

/*
 * Records an error of the calling thread and returns `code`. A call site reads
 * `return peali_fail(PEAL_EINVAL, "peal_connect", "...", ...)`. The function
 * that detects an error records it. Its callers only pass the code on.
 */
int peali_fail(int code, const char *call, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* Works as peali_fail, and records errno or a driver's error code as well. */
int peali_fail_driver(int code, int driver_code, const char *call,
		      const char *format, ...)
	__attribute__((format(printf, 4, 5)));

/*
 * Records a failed system call by its errno. The code is PEAL_ENOMEM if memory
 * or a limit of the process is used up, else PEAL_EDRIVER. The text gets the
 * error's own text and the limit (limits.h).
 */
int peali_fail_system(int error, const char *call, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* Returns 1 if the latest error of the calling thread is one of
 * peali_fail_system. */
int peali_failed_in_system(void);

/*
 * Returns an error code that another process has sent. PEAL_EPROTO: it is no
 * code of PEAL_ERRORS.
 */
int peali_error_received(int code);

/** Bytes of the buffer of peali_error_label. */
#define PEALI_ERROR_LABEL 24

/* Returns the name of an error, or "error N" if a program has made it up. */
const char *peali_error_label(int error, char text[PEALI_ERROR_LABEL]);

/*
 * Names the public call of an error. Another call has recorded the error: one of
 * a lower layer, or another public call. Returns `result`. Does nothing if
 * `result` is no error, or no recorded one.
 */
int peali_fail_in(int result, const char *call);

#endif
