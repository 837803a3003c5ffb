/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_TESTS_SHORT_TIMEOUT_H
#define PEAL_TESTS_SHORT_TIMEOUT_H

/*
 * Calls to workers that do not answer. Such a call gets a short time limit. All
 * other calls keep the usual limit, so that no live worker counts as hung.
 */

#include "runtime/harness.h"
#include "runtime/runtime.h"

#define SHORT_TIMEOUT_MS 50
#define SHORT_TIMEOUT_MAX_MS 20000

/*
 * The call fails with this code, and its text contains this part. A live worker
 * may be late as well. Then the macro repeats the call with twice the time.
 */
#define CHECK_TIMES_OUT(rt, call, error, part)                                 \
	do {                                                                   \
		uint64_t peal_kept_ = (rt)->control_timeout_ms;                \
		int peal_code_;                                                \
		for ((rt)->control_timeout_ms = SHORT_TIMEOUT_MS;;             \
		     (rt)->control_timeout_ms *= 2) {                          \
			peal_code_ = (call);                                   \
			if (peal_code_ == (error) &&                           \
			    strstr(peal_last_error()->text, (part)))           \
				break;                                         \
			if (peal_code_ == PEAL_EHUNG &&                        \
			    (rt)->control_timeout_ms < SHORT_TIMEOUT_MAX_MS)   \
				continue;                                      \
			CHECK_EQ(peal_code_, error);                           \
			CHECK_CONTAINS(peal_last_error()->text, part);         \
		}                                                              \
		(rt)->control_timeout_ms = peal_kept_;                         \
	} while (0)

#endif
