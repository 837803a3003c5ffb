/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TEST_PROPOSED_H
#define TEST_PROPOSED_H

#include <stdint.h>

#include <peal/errors.h>

#include "peal_test.h"

/* Returns the number that the last error text proposes: "...; use 128". */
static inline uint32_t test_proposed(void)
{
	const char *at = strstr(peal_last_error()->text, "; use ");

	CHECK(at != NULL);
	return at ? (uint32_t)strtoul(at + 6, NULL, 10) : 0;
}

#endif
