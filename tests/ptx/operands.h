/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PTX_OPERANDS_H
#define PTX_OPERANDS_H

/* Kinds of instructions, and the registers that they read and write. */

#include "module.h"

#define PTX_MAX_READ 8

/* Returns 1 for ld, apart from parameters. */
int ptx_is_load(const struct ptx_instruction *in);
/* Returns 1 for st with one element or a vector, apart from parameters. */
int ptx_is_store(const struct ptx_instruction *in);
/* Returns 1 for ld, st, atom and red, apart from accesses to parameters. */
int ptx_is_access(const struct ptx_instruction *in);
/* Returns 1 for an opcode of a warp that has a result. */
int ptx_is_warp(const struct ptx_instruction *in);
/* Returns 1 for test_wait and try_wait of an mbarrier. */
int ptx_is_phase_test(const struct ptx_instruction *in);
/* Each fills in slots of registers and returns their number. Written slots hold
 * results. Stored slots hold the elements of a store. */
uint32_t ptx_written(const struct ptx_instruction *in,
		     uint32_t slots[PTX_MAX_VECTOR]);
uint32_t ptx_stored(const struct ptx_instruction *in,
		    uint32_t slots[PTX_MAX_VECTOR]);
uint32_t ptx_read(const struct ptx_instruction *in,
		  uint32_t slots[PTX_MAX_READ]);

#endif
