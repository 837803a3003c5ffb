/* SPDX-License-Identifier: Apache-2.0 */
#include "front_cuda.h"

/* Managed memory of the double of libcuda.so.1. */

#define CONCURRENT_MANAGED_ACCESS 89
#define ADVICES 6 /* numbers of advice, from 1 */

/* Returns 1 unless PEAL_DOUBLE_ATTRIBUTES denies concurrent access. */
static int is_concurrent(void)
{
	int value = 1;

	double_attribute(CONCURRENT_MANAGED_ACCESS, &value);
	return value;
}

int double_cuda_managed_alloc(uint64_t *address, size_t bytes, unsigned flags)
{
	CALL("cuMemAllocManaged");
	NEED_CONTEXT();
	return double_managed_alloc(address, bytes, flags);
}

int double_cuda_prefetch(uint64_t address, size_t bytes, int device,
			 struct double_stream *stream)
{
	CALL("cuMemPrefetchAsync");
	NEED_CONTEXT();
	if (double_lost(double_current()))
		return double_lost(double_current());
	if (double_stream_query(stream))
		double_broken("a prefetch on a stream that a kernel runs on");
	return double_managed_request(address, bytes, device, DOUBLE_PREFETCH,
				      is_concurrent());
}

int double_cuda_advise(uint64_t address, size_t bytes, int advice, int device)
{
	CALL("cuMemAdvise");
	NEED_CONTEXT();
	if (advice < 1 || advice > ADVICES)
		return DOUBLE_INVALID;
	return double_managed_request(address, bytes, device, advice,
				      is_concurrent());
}
