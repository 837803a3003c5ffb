/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The main() of a folder's test program. It runs the test file that the first
 * argument names and passes the other arguments on. Without a known name it
 * lists the test files and returns 2.
 */
#include "folder.h"

#include <stdio.h>
#include <string.h>

int main(int argc, char **argv)
{
	const struct test_file *file;

	for (file = test_files; argc > 1 && file->name; file++)
		if (!strcmp(file->name, argv[1]))
			return file->run(argc - 1, argv + 1);
	if (argc > 1)
		fprintf(stderr, "test file '%s': is not in this program\n",
			argv[1]);
	fprintf(stderr, "usage: %s FILE [CASE]\ntest files:\n", argv[0]);
	for (file = test_files; file->name; file++)
		fprintf(stderr, "  %s\n", file->name);
	return 2;
}
