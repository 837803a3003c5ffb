/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernel of 22_least_squares. In a round each device goes a step along the sum of
 * all gradients, which it has by then, and computes the gradient of its own rows.
 * What it computes with is the same on all devices, and so are its weights.
 */
#include <peal/device/kernel.h>

#include "../fit.h"

/* How far the model is from a row. */
static PEAL_DEV double miss(const double *weights, const struct row *row)
{
	double sum = -row->y;
	uint32_t j;

	for (j = 0; j < WEIGHTS; j++)
		sum += weights[j] * row->x[j];
	return sum;
}

/* The j-th part of the gradient, in the order of the rows. */
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
	const struct lap *in = lap_in(w);
	double *weights = (double *)(uintptr_t)f->weights;
	double *gradient = (double *)(uintptr_t)f->gradient;
	const double *sum = (const double *)(uintptr_t)f->sum;
	uint32_t j;

	if (!in)
		return PEAL_EPROTO;
	peal_fence_acquire_sys(); /* others have written the sum */
	for (j = peal_lane(w); in->number && j < WEIGHTS; j += peal_lanes(w))
		weights[j] -= f->rate * sum[j];
	peal_sync(w);
	for (j = peal_lane(w); j < WEIGHTS; j += peal_lanes(w))
		gradient[j] = slope(f, j);
	peal_fence_release_sys(); /* and others read the gradient */
	peal_sync(w);
	return lap_emit(w, 0, in);
}

#define HANDLERS(X) X(descend, sizeof(struct fit), PEAL_EMITS(1, 1))
PEAL_PROGRAM(least_squares, HANDLERS);
