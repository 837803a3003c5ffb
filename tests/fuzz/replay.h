/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_TESTS_FUZZ_REPLAY_H
#define PEAL_TESTS_FUZZ_REPLAY_H

#include <stddef.h>
#include <stdint.h>

/** A fuzz target: the <name> of target_<name>.c, and its function. */
struct fuzz_target {
	const char *name;
	int (*run)(const uint8_t *data, size_t size);
};

/* CMake generates this table. Its last entry is all zeros. */
extern const struct fuzz_target fuzz_targets[];

#endif
