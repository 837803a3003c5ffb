/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_TESTS_FOLDER_H
#define PEAL_TESTS_FOLDER_H

/** A test file of a folder: its name without `test_` and `.c`, and its
 * cases. */
struct test_file {
	const char *name;
	int (*run)(int argc, char **argv);
};

/* CMake generates this table. Its last entry is all zeros. */
extern const struct test_file test_files[];

#endif
