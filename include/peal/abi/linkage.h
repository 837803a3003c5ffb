/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_ABI_LINKAGE_H
#define PEAL_ABI_LINKAGE_H

/* C linkage of declarations, in C and in C++. */

/*
 * Some calls have the name of a struct, as stat() has. In C++ the call hides
 * the constructor of that struct, and g++ -Wshadow reports it.
 */
#if defined(__cplusplus) && defined(__GNUC__) && !defined(__clang__) &&        \
	!defined(__CUDACC__)
#define PEALI_NAMESAKES_BEGIN                                                  \
	_Pragma("GCC diagnostic push")                                         \
		_Pragma("GCC diagnostic ignored \"-Wshadow\"")
#define PEALI_NAMESAKES_END _Pragma("GCC diagnostic pop")
#else
#define PEALI_NAMESAKES_BEGIN
#define PEALI_NAMESAKES_END
#endif

#ifdef __cplusplus
#define PEAL_EXTERN_C extern "C"
#define PEAL_BEGIN_C                                                           \
	PEALI_NAMESAKES_BEGIN extern "C"                                       \
	{
#define PEAL_END_C                                                             \
	}                                                                      \
	PEALI_NAMESAKES_END
#else
#define PEAL_EXTERN_C extern
#define PEAL_BEGIN_C
#define PEAL_END_C
#endif

#endif
