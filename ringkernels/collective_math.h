/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_RINGKERNELS_COLLECTIVE_MATH_H
#define PEAL_RINGKERNELS_COLLECTIVE_MATH_H

/* Elements of a collective: reducing and copying them, all lanes together. */

#include <peal/device/kernel.h>

#include <peal/abi/collective.h>
#include <peal/abi/float16.h>

/*
 * `to` may be equal to `earlier` or `later`, but must not partly overlap them.
 * An expression reads the elements a and b, and may read `members`. Memory has
 * elements of `type`, which `read` and `write` convert.
 */
#define FOLD_VIA(name, type, value, read, write, expression)                   \
	static PEAL_DEV PEAL_UNUSED void name(                                 \
		const struct peal_worker *w,                                   \
		const struct peal_collective_plan *p, void *to,                \
		const void *earlier, const void *later, uint64_t n)            \
	{                                                                      \
		const type *x = (const type *)earlier;                         \
		const type *y = (const type *)later;                           \
		type *z = (type *)to;                                          \
		PEAL_UNUSED uint32_t members = p->members;                     \
		uint64_t i;                                                    \
                                                                               \
		for (i = peal_lane(w); i < n; i += peal_lanes(w)) {            \
			value a = read(x[i]), b = read(y[i]);                  \
                                                                               \
			z[i] = write(expression);                              \
		}                                                              \
	}
#define FOLD(name, type, expression) FOLD_VIA(name, type, type, , , expression)
/* Of f16 and of bf16; computes in f32. */
#define FOLD_16(name, expression)                                              \
	FOLD_VIA(name##_f16, uint16_t, float, peal_f16_to_f32,                 \
		 peal_f16_from_f32, expression)                                \
	FOLD_VIA(name##_bf16, uint16_t, float, peal_bf16_to_f32,               \
		 peal_bf16_from_f32, expression)

FOLD(sum_u32, uint32_t, a + b)
FOLD(sum_u64, uint64_t, a + b)
FOLD(sum_f32, float, a + b)
FOLD(sum_f64, double, a + b)
FOLD(prod_u32, uint32_t, a *b)
FOLD(prod_u64, uint64_t, a *b)
FOLD(prod_f32, float, a *b)
FOLD(prod_f64, double, a *b)
FOLD(min_i32, int32_t, b < a ? b : a)
FOLD(min_i64, int64_t, b < a ? b : a)
FOLD(min_f32, float, b < a ? b : a)
FOLD(min_f64, double, b < a ? b : a)
FOLD(max_i32, int32_t, b > a ? b : a)
FOLD(max_i64, int64_t, b > a ? b : a)
FOLD(max_f32, float, b > a ? b : a)
FOLD(max_f64, double, b > a ? b : a)
FOLD(average_i32, uint32_t, (uint32_t)((int32_t)(a + b) / (int32_t)members))
FOLD(average_i64, uint64_t, (uint64_t)((int64_t)(a + b) / (int64_t)members))
FOLD(average_f32, float, (a + b) / (float)members)
FOLD(average_f64, double, (a + b) / (double)members)
FOLD_16(sum, a + b)
FOLD_16(prod, a *b)
FOLD_16(min, b < a ? b : a)
FOLD_16(max, b > a ? b : a)
FOLD_16(average, (a + b) / (float)members)

/* Chooses the function by the element type. */
#define FOLD_AS(f, i32, i64)                                                   \
	switch (p->element) {                                                  \
	case PEAL_I32:                                                         \
		f##_##i32(w, p, to, earlier, later, n);                        \
		break;                                                         \
	case PEAL_I64:                                                         \
		f##_##i64(w, p, to, earlier, later, n);                        \
		break;                                                         \
	case PEAL_F32:                                                         \
		f##_f32(w, p, to, earlier, later, n);                          \
		break;                                                         \
	case PEAL_F16:                                                         \
		f##_f16(w, p, to, earlier, later, n);                          \
		break;                                                         \
	case PEAL_BF16:                                                        \
		f##_bf16(w, p, to, earlier, later, n);                         \
		break;                                                         \
	default:                                                               \
		f##_f64(w, p, to, earlier, later, n);                          \
	}

/* Reduces two ranges by a step before the last one. */
static PEAL_DEV PEAL_NOINLINE void fold(const struct peal_worker *w,
					const struct peal_collective_plan *p,
					void *to, const void *earlier,
					const void *later, uint64_t n)
{
	switch (p->reduction) {
	case PEAL_SUM:
	case PEAL_AVERAGE:
		FOLD_AS(sum, u32, u64)
		break;
	case PEAL_PROD:
		FOLD_AS(prod, u32, u64)
		break;
	case PEAL_MIN:
		FOLD_AS(min, i32, i64)
		break;
	default:
		FOLD_AS(max, i32, i64)
	}
}

/* Reduces two ranges by the last step, which divides the sum of an average. */
static PEAL_DEV PEAL_NOINLINE void
fold_last(const struct peal_worker *w, const struct peal_collective_plan *p,
	  void *to, const void *earlier, const void *later, uint64_t n)
{
	if (p->reduction != PEAL_AVERAGE) {
		fold(w, p, to, earlier, later, n);
		return;
	}
	FOLD_AS(average, i32, i64)
}

/* Copies elements; the addresses are aligned to the element size. */
static PEAL_DEV PEAL_NOINLINE void copy(const struct peal_worker *w,
					const struct peal_collective_plan *p,
					void *to, const void *from, uint64_t n)
{
	uint32_t bytes = peal_element_bytes(p->element);
	uint64_t i;

	if (to == from)
		return;
	if (bytes == 8)
		for (i = peal_lane(w); i < n; i += peal_lanes(w))
			((uint64_t *)to)[i] = ((const uint64_t *)from)[i];
	else if (bytes == 4)
		for (i = peal_lane(w); i < n; i += peal_lanes(w))
			((uint32_t *)to)[i] = ((const uint32_t *)from)[i];
	else
		for (i = peal_lane(w); i < n; i += peal_lanes(w))
			((uint16_t *)to)[i] = ((const uint16_t *)from)[i];
}

#endif
