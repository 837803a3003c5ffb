/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEALI_RINGKERNELS_LOOPS_H
#define PEALI_RINGKERNELS_LOOPS_H

/*
 * Symbols of the loop's variants (peal/device/impl/base/slow.h), one per
 * variant. A static link takes a variant from libpeal.a only if the process
 * refers to the symbol. The reference from a program file comes too late. So
 * the loader of such files refers to all symbols.
 */
extern const char peali_loop_lanes;
extern const char peali_loop_single;
extern const char peali_loop_lanes_pools;
extern const char peali_loop_single_pools;

#endif
