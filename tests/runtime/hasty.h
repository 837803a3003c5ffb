/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_TESTS_HASTY_H
#define PEAL_TESTS_HASTY_H

/*
 * Calls to workers that do not answer. Such a call waits for a short time, and all
 * others for the usual one: a worker that lives is never taken for one that hangs.
 */

#include "runtime/harness.h"
#include "runtime/runtime.h"

#define HASTY_MS 50
#define HASTY_MOST_MS 20000

/*
 * The call fails with the code, and its text has that part. Workers that live may be
 * late as well: then the call is made again with twice the time.
 */
#define CHECK_HASTY(rt, call, error, part)                                     \
	do {                                                                   \
		uint64_t peal_kept_ = (rt)->answer_ms;                         \
		int peal_code_;                                                \
		for ((rt)->answer_ms = HASTY_MS;; (rt)->answer_ms *= 2) {      \
			peal_code_ = (call);                                   \
			if (peal_code_ == (error) &&                           \
			    strstr(peal_last_error()->text, (part)))           \
				break;                                         \
			if (peal_code_ == PEAL_EHUNG &&                        \
			    (rt)->answer_ms < HASTY_MOST_MS)                   \
				continue;                                      \
			CHECK_EQ(peal_code_, error);                           \
			CHECK_CONTAINS(peal_last_error()->text, part);         \
		}                                                              \
		(rt)->answer_ms = peal_kept_;                                  \
	} while (0)

#endif
