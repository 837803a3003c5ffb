/* SPDX-License-Identifier: Apache-2.0 */
/* Code as users write it, for test_user_code.c: a program for a GPU, and a C file
 * for the host. */
typedef unsigned long long word;
typedef unsigned __int128 wide;

#ifdef __CUDACC__
#define HERE static __device__
typedef __half half_number;
#else
#include <math.h>
#include <string.h>
#define HERE static
typedef _Float16 half_number;
#endif

/* ---- exact results ------------------------------------------------------- */

/* Carries of 128 bits. */
HERE void wide_numbers(const word *in, word *out)
{
	wide a = (wide)in[0] << 64 | in[1], b = (wide)in[2] << 64 | in[3];
	wide all[8];
	int i;

	all[0] = a + b;
	all[1] = a - b;
	all[2] = a * b;
	all[3] = a / (b | 1);
	all[4] = a % (b | 1);
	all[5] = (wide)((__int128)a >> (in[0] & 127));
	all[6] = a << (in[1] & 127);
	all[7] = (wide)((__int128)a / (__int128)(b >> 1 | 1));
	for (i = 0; i < 8; i++) {
		out[2 * i] = (word)all[i];
		out[2 * i + 1] = (word)(all[i] >> 64);
	}
}

/* A table of branches, and an array in local memory. */
HERE word steps(const word *in)
{
	unsigned a[16], i, x = (unsigned)in[0];

	for (i = 0; i < 16; i++)
		a[i] = (unsigned)(in[i % 4] >> (4 * i % 61));
	for (i = 0; i < 40; i++) {
		unsigned *at = &a[x % 16];

		switch (x % 9) {
		case 0:
			*at += 3;
			break;
		case 1:
			*at *= 7;
			break;
		case 2:
			*at ^= x >> 3;
			break;
		case 3:
			*at -= i;
			break;
		case 4:
			*at <<= 2;
			break;
		case 5:
			*at /= 3;
			break;
		case 6:
			*at = 0u - *at;
			break;
		case 7:
			*at |= 64;
			break;
		default:
			*at &= 0xffff;
			break;
		}
		x = x * 1664525 + *at + 1013904223;
	}
	return x;
}

#ifdef __CUDACC__
HERE unsigned short bits_of(half_number a)
{
	return __half_as_ushort(a);
}

HERE half_number half_of(word bits)
{
	return __ushort_as_half((unsigned short)(bits & 0x7bff));
}
#else
HERE unsigned short bits_of(half_number a)
{
	unsigned short bits;

	memcpy(&bits, &a, sizeof(bits));
	return bits;
}

HERE half_number half_of(word bits)
{
	unsigned short finite = (unsigned short)(bits & 0x7bff);
	half_number a;

	memcpy(&a, &finite, sizeof(a));
	return a;
}
#endif

/* The sources are finite and not negative, so that no result is NaN. */
HERE word half_numbers(const word *in)
{
	half_number a = half_of(in[0]), b = half_of(in[1]);
	half_number sum = a + b, product = a * b;
	word r = bits_of(sum) | (word)bits_of(product) << 16;

	r |= (word)bits_of(a - b) << 32;
	r |= (word)(a < b) << 48 | (word)(a == b) << 49 | (word)(a >= b) << 50;
	return r ^ (word)(int)(float)a << 51;
}

/* ---- close results ------------------------------------------------------- */

HERE void doubles(const word *in, double *out)
{
	double x = (double)(in[0] >> 40) / 4096 + 0.25;
	double y = (double)(in[1] >> 44) / 65536 + 0.5;

	out[0] = sin(x);
	out[1] = exp(-y);
	out[2] = log(x);
	out[3] = pow(y, 1.75);
	out[4] = sqrt(x) / y;
	out[5] = 1 / cbrt(x) + atan2(x, y);
	out[6] = fmod(x, y) + hypot(x, y);
	out[7] = tanh(y) + erf(y);
}

HERE void floats(const word *in, double *out)
{
	float x = (float)(in[2] >> 58) / 16 + 0.25f;
	float y = (float)(in[3] >> 58) / 32 + 0.5f;

	out[0] = sinf(x);
	out[1] = expf(-y);
	out[2] = logf(x + 1);
	out[3] = powf(y, 1.75f);
	out[4] = sqrtf(x) / y;
	out[5] = fminf(x, y) + fmaxf(x, 2) + fabsf(x - y);
	out[6] = floorf(x * 3) + truncf(y * 5) + ceilf(x);
	out[7] = atanf(x) + log2f(y + 2);
}

/* 4 sources; then 24 exact results, and 16 results that may differ a little. */
HERE void compute(word *v)
{
	double *close = (double *)(v + 28);

	wide_numbers(v, v + 4);
	v[20] = steps(v);
	v[21] = half_numbers(v);
	v[22] = v[0] / (v[1] | 1);
	v[23] = (word)((long long)v[0] % (long long)(v[1] >> 1 | 1));
	doubles(v, close);
	floats(v, close + 8);
}

#ifdef __CUDACC__
extern "C" __global__ void t(word *v)
{
	compute(v + threadIdx.x * 64);
}
#else
void t(word *v);
void t(word *v)
{
	compute(v);
}
#endif
