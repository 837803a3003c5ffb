/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PTX_HALF_H
#define PTX_HALF_H

/*
 * Floats of 16 bits. `fraction` is the number of their fraction bits: 10 for
 * .f16 and 7 for .bf16.
 */

#include "values.h"

#define PTX_F16 10
#define PTX_BF16 7
#define PTX_HALF_NAN 0x7fff

/* .sat clamps to 0 .. 1, and .relu to 0 and above. */
enum ptx_half_end { PTX_HALF_PLAIN, PTX_HALF_SAT, PTX_HALF_RELU };

/* Reads a number. */
double ptx_half(uint16_t a, int fraction);
/* Rounds a number by a mode of fenv.h. */
uint16_t ptx_to_half(long double a, int fraction, int mode);
/* Arithmetic, rounded to the nearest number. */
uint16_t ptx_half_add(uint16_t a, uint16_t b, int fraction,
		      enum ptx_half_end end);
uint16_t ptx_half_sub(uint16_t a, uint16_t b, int fraction,
		      enum ptx_half_end end);
uint16_t ptx_half_mul(uint16_t a, uint16_t b, int fraction,
		      enum ptx_half_end end);
uint16_t ptx_half_fma(uint16_t a, uint16_t b, uint16_t c, int fraction,
		      enum ptx_half_end end);
/* The least or the greatest number. A NaN is the result only with `nan`. */
uint16_t ptx_half_min(uint16_t a, uint16_t b, int fraction, int is_max,
		      int nan);
/* The number 1 of a format. */
uint16_t ptx_half_one(int fraction);

#endif
