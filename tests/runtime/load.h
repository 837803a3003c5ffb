/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_TESTS_LOAD_H
#define PEAL_TESTS_LOAD_H

#include <peal/device/platform.h>

/* What the handlers of programs/load.c and the tests agree on. */

#define LOAD_RECORDS 65536

/** State of `record`: where each message came from, in turn. */
struct load_record {
	uint64_t n; /* messages but for those of type 1 */
	uint64_t spin_ns; /* work for each */
	uint8_t input[LOAD_RECORDS];
};

/** A message; of type 1: wait until the word is not 0. */
struct load_note {
	uint64_t actor; /* whom `tell` tells it */
	uint64_t word;
	uint64_t spin_ns; /* work for each message from then on */
};

#endif
