/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The handler of 22_least_squares.c.
 *
 * 1. In each round but the first, the device changes its weights by a step
 *    along the sum of all gradients.
 * 2. It computes the gradient of its own rows.
 *
 * All devices compute the step from the same numbers, so their weights stay
 * equal.
 */
#include <peal/device/kernel.h>

#include "../fit.h"

/* Returns the model's error for a row. */
static PEAL_DEV double miss(const double *weights, const struct row *row)
{
	double sum = -row->y;
	uint32_t j;

	for (j = 0; j < WEIGHTS; j++)
		sum += weights[j] * row->x[j];
	return sum;
}

/* Returns component j of the gradient. Adds the rows up in order. */
static PEAL_DEV double slope(const struct fit *f, uint32_t j)
{
	const struct row *rows = (const struct row *)(uintptr_t)f->rows;
	const double *weights = (const double *)(uintptr_t)f->weights;
	double sum = 0;
	uint64_t i;

	for (i = 0; i < f->n; i++)
		sum += miss(weights, &rows[i]) * rows[i].x[j];
	return sum;
}

static PEAL_DEV int descend(struct peal_worker *w)
{
	const struct fit *f = (const struct fit *)peal_state(w);
	const struct lap *in = lap_data(w);
	double *weights = (double *)(uintptr_t)f->weights;
	double *gradient = (double *)(uintptr_t)f->gradient;
	const double *sum = (const double *)(uintptr_t)f->sum;
	uint32_t j;

	if (!in)
		return PEAL_EPROTO;
	peal_fence_acquire_sys(); /* the sum was written by other devices */
	for (j = peal_lane(w); in->number && j < WEIGHTS; j += peal_lanes(w))
		weights[j] -= f->rate * sum[j];
	peal_sync(w);
	for (j = peal_lane(w); j < WEIGHTS; j += peal_lanes(w))
		gradient[j] = slope(f, j);
	peal_fence_release_sys(); /* other devices read the gradient */
	peal_sync(w);
	return lap_emit(w, 0, in, 0);
}

#define HANDLERS(X) X(descend, sizeof(struct fit), PEAL_EMITS(1, 1))
PEAL_PROGRAM(least_squares, HANDLERS);
