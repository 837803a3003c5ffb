/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEALI_RINGKERNELS_LOOPS_H
#define PEALI_RINGKERNELS_LOOPS_H

/*
 * Each variant of the loop (peal/device/slow.h) defines one of
 * these. A static link takes a variant out of libpeal.a only if something in the
 * process refers to it. A program in a file refers to it too late, so the loader
 * of such files refers to all.
 */
extern const char peali_loop_lanes;
extern const char peali_loop_single;
extern const char peali_loop_lanes_pools;
extern const char peali_loop_single_pools;

#endif
