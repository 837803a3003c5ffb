/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_BENCH_SIZED_H
#define PEAL_BENCH_SIZED_H

/*
 * For baselines that are C++ templates of the message's type. PEALI_SIZED calls
 * the function template for a message size.
 */

#include <cstdint>
#include <cstring>

/* A message of whole lines is aligned to a line. */
template <uint32_t bytes> struct peali_message {
	alignas(bytes % 64 ? 8 : 64) uint64_t words[bytes / 8];
};

#define PEALI_SIZED(call, bytes, ...)                                          \
	switch (bytes) {                                                       \
	case 8:                                                                \
		return call<8>(__VA_ARGS__);                                   \
	case 48:                                                               \
		return call<48>(__VA_ARGS__);                                  \
	case 64:                                                               \
		return call<64>(__VA_ARGS__);                                  \
	case 256:                                                              \
		return call<256>(__VA_ARGS__);                                 \
	default:                                                               \
		return call<4096>(__VA_ARGS__);                                \
	}

#endif
