/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEALI_DEVICE_PROGRAM_H
#define PEALI_DEVICE_PROGRAM_H

#include <peal/abi/program.h>
#include "runtime/runtime.h"

/* Programs: the list of a runtime, and program files. */

int peali_programs_init(struct peal_runtime *rt);
uint32_t peali_programs_count(struct peal_runtime *rt);
const struct peal_program *peali_programs_at(struct peal_runtime *rt,
					     uint32_t index);
/*
 * Keeps the shared object of a program loaded until the runtime closes, also
 * after dlclose. Returns 0 or PEAL_ENOMEM.
 */
int peali_program_keep(struct peal_runtime *rt,
		       const struct peal_program *program, const char *call);
/* Keeps the shared object of the library loaded for ever: its threads run the
 * code, and fork runs its handler. */
void peali_library_keep(void);
/* Gives up all kept objects. No kernel runs their code any more. */
void peali_program_files_close(struct peal_runtime *rt);
/* Returns 0 if a program can be launched, PEAL_EPROGRAM or PEAL_EINVAL. */
int peali_program_check(const struct peal_program *program, const char *call);
/* As peal_program_handler, for an error of the public function `call`. */
int peali_program_handler(const struct peal_program *program,
			  const char *handler, const char *call);

/* Returns the most messages that a handler tells for one message, in a kernel
 * with so many workers. */
static inline uint32_t peali_handler_tells(const struct peal_handler_info *h,
					   uint32_t workers)
{
	return h->tells & PEAL_TO_ALL ?
		       (h->tells & ~(uint32_t)PEAL_TO_ALL) + workers :
		       h->tells;
}

#endif
