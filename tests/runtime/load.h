/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_TESTS_LOAD_H
#define PEAL_TESTS_LOAD_H

#include <peal/device/platform.h>

/* Messages and states of programs/load.c and its tests. */

#define LOAD_RECORDS 65536

/** State of `record`: the input of each message, in order. */
struct load_record {
	uint64_t n; /* messages, without type 1 */
	uint64_t spin_ns; /* ns of work for each message */
	uint8_t input[LOAD_RECORDS];
};

/** A message. For type 1 `record` waits until the word is not 0. */
struct load_note {
	uint64_t actor; /* receiver, for `tell` */
	uint64_t word;
	uint64_t spin_ns; /* for type 1: ns of work for each later message */
};

#endif
