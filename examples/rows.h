/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ROWS_H
#define ROWS_H

#include "fit.h"

/* The data of 22_least_squares.c, and the exact weights by plain loops. */

#define ROWS 2003

static struct row rows[ROWS];

/* Returns a pseudo-random number from -1 to 1. */
static inline double next(void)
{
	static uint64_t state = 1;

	state = state * 6364136223846793005u + 1442695040888963407u;
	return (double)(state >> 11) / 4503599627370496.0 - 1;
}

static inline void make_rows(void)
{
	static const double truth[WEIGHTS] = { 2, -1, 0.5, 3 };

	for (struct row *r = rows; r < rows + ROWS; r++) {
		r->y = next() / 10; /* noise */
		for (int j = 0; j < WEIGHTS; j++) {
			r->x[j] = j < WEIGHTS - 1 ? next() : 1;
			r->y += truth[j] * r->x[j];
		}
	}
}

/*
 * Computes the weights in one step. Solves A w = b with A = X'X and b = X'y by
 * elimination.
 */
static inline void solve(double w[WEIGHTS])
{
	double a[WEIGHTS][WEIGHTS + 1] = { 0 };

	for (const struct row *r = rows; r < rows + ROWS; r++)
		for (int i = 0; i < WEIGHTS; i++)
			for (int j = 0; j <= WEIGHTS; j++)
				a[i][j] += r->x[i] *
					   (j < WEIGHTS ? r->x[j] : r->y);
	for (int k = 0; k < WEIGHTS; k++)
		for (int i = k + 1; i < WEIGHTS; i++)
			for (int j = WEIGHTS; j >= k; j--)
				a[i][j] -= a[k][j] * a[i][k] / a[k][k];
	for (int i = WEIGHTS - 1; i >= 0; i--) {
		w[i] = a[i][WEIGHTS];
		for (int j = i + 1; j < WEIGHTS; j++)
			w[i] -= a[i][j] * w[j];
		w[i] /= a[i][i];
	}
}

#endif
