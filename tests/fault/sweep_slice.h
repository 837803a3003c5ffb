/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_TESTS_SWEEP_SLICE_H
#define PEAL_TESTS_SWEEP_SLICE_H

/* The points of a sweep that a run tries. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * PEAL_TEST_SLICE=K/N: this run tries every N-th point, from the K-th on. So N
 * runs share all points.
 */
static struct {
	int k, n;
	int tried; /* points, in all */
} slice = { 1, 1, 0 };

static inline void take_slice(void)
{
	const char *text = getenv("PEAL_TEST_SLICE");
	char rest = 0;

	if (!text || !*text)
		return;
	if (strspn(text, "0123456789/") != strlen(text) || strlen(text) > 16 ||
	    sscanf(text, "%d/%d%c", &slice.k, &slice.n, &rest) != 2 ||
	    slice.k < 1 || slice.k > slice.n) {
		fprintf(stderr,
			"PEAL_TEST_SLICE is '%s': it must be K/N, two numbers "
			"with 1 <= K <= N\n",
			text);
		exit(1);
	}
	printf("slice %d of %d: every %d. point\n", slice.k, slice.n, slice.n);
}

/* Returns 1 if this run tries the point with this number. */
static inline int is_in_slice(int ordinal)
{
	return ordinal % slice.n == slice.k - 1;
}

#endif
