/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The handlers of 03_pipeline.c and 23_pipeline_api.c. Each of the three
 * handlers changes every float of a message and sends the result on. All lanes
 * of the worker share the floats.
 */
#include <peal/device/kernel.h>

#if PEAL_ON_HOST
#include <math.h>
#endif

static PEAL_DEV float twice(float v)
{
	return v * 2;
}

static PEAL_DEV float root(float v)
{
#if PEAL_ON_HOST
	return sqrtf(v);
#elif PEAL_ON_CUDA
	return __fsqrt_rn(v);
#else
	return __builtin_sqrtf(v);
#endif
}

static PEAL_DEV float plus_one(float v)
{
	return v + 1;
}

/* Writes the results directly into the memory of the outgoing link. */
#define STAGE(name, function)                                                  \
	static PEAL_DEV int name(struct peal_worker *w)                        \
	{                                                                      \
		const float *in = (const float *)peal_data(w);                 \
		uint64_t n = peal_length(w) / sizeof(float), i;                \
		void *place = 0;                                               \
		int result = peal_reserve(w, 0, peal_length(w), &place);       \
                                                                               \
		if (result)                                                    \
			return result == PEAL_EPIPE ? 0 : result;              \
		for (i = peal_lane(w); i < n; i += peal_lanes(w))              \
			((float *)place)[i] = function(in[i]);                 \
		peal_commit(w, 0, peal_type(w), peal_length(w));               \
		return 0;                                                      \
	}

STAGE(double_it, twice)
STAGE(take_root, root)
STAGE(add_one, plus_one)

#define HANDLERS(X)                                                            \
	X(double_it, 0, PEAL_EMITS(1, 1))                                      \
	X(take_root, 0, PEAL_EMITS(1, 1))                                      \
	X(add_one, 0, PEAL_EMITS(1, 1))
PEAL_PROGRAM(pipeline, HANDLERS);
