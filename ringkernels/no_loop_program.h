/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEALI_NO_LOOP_PROGRAM_H
#define PEALI_NO_LOOP_PROGRAM_H

#include <peal/abi/control.h>
#include <peal/abi/program.h>

/*
 * A program without handlers and without the resident loop. Only the library
 * and the benchmarks launch such programs, through a backend. The program's
 * source ends with PEALI_NO_LOOP_PROGRAM(name) and defines
 *
 *	static PEAL_DEV int run(const struct peal_kernel_params *params,
 *				uint32_t worker, uint32_t lane)
 *
 * `params` is the address that the launch was given. The program defines the
 * type of the data there.
 */

#define PEALI_NO_LOOP_HOST_ENTRY(entry)                                        \
	PEAL_EXTERN_C int entry(const struct peal_kernel_params *params,       \
				uint32_t worker, uint32_t lane);               \
	int entry(const struct peal_kernel_params *params, uint32_t worker,    \
		  uint32_t lane)                                               \
	{                                                                      \
		return run(params, worker, lane);                              \
	}

#if !PEAL_ON_HOST

#define PEALI_NO_LOOP_PROGRAM(program)                                         \
	PEAL_KERNEL void peal_entry_##program(                                 \
		const struct peal_kernel_params *params)                       \
	{                                                                      \
		run(params, peal_hw_worker(), peal_hw_lane());                 \
	}                                                                      \
	struct peali_end_of_##program

#elif PEAL_SINGLE_LANE

#define PEALI_NO_LOOP_PROGRAM(program)                                         \
	PEALI_NO_LOOP_HOST_ENTRY(peal_entry_##program##_single)                \
	struct peali_end_of_##program

#else

#define PEALI_NO_LOOP_PROGRAM(program)                                         \
	PEAL_EXTERN_C int peal_entry_##program##_single(                       \
		const struct peal_kernel_params *params, uint32_t worker,      \
		uint32_t lane);                                                \
	PEALI_NO_LOOP_HOST_ENTRY(peal_entry_##program)                         \
	PEAL_EXTERN_C const struct peal_program peal_program_##program;        \
	const struct peal_program peal_program_##program = {                   \
		sizeof(struct peal_program),                                   \
		0,                                                             \
		#program,                                                      \
		0,                                                             \
		peal_entry_##program,                                          \
		peal_entry_##program##_single,                                 \
		PEAL_IMAGES,                                                   \
		PEAL_SOURCES,                                                  \
		0,                                                             \
		0,                                                             \
	};                                                                     \
	struct peali_end_of_##program

#endif

#endif
