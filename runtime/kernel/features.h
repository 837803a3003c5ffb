/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEALI_KERNEL_FEATURES_H
#define PEALI_KERNEL_FEATURES_H

#include <peal/device/features.h>

#include "runtime/runtime.h"

/* The features of programs (peal/device/features.h). */

/*
 * Checks that a program has a feature: PEALI_NEEDS(program, TIMERS, call, what).
 *
 * Returns 0. Or returns PEAL_ENOTSUP and records a text: `what` needs the
 * feature. `what` is a noun phrase, such as "option 'max_timers'".
 */
#define PEALI_NEEDS(program, feature, call, what)                              \
	peali_program_needs(program, PEAL_USE_##feature, "PEAL_USE_" #feature, \
			    call, what)

int peali_program_needs(const struct peal_program *program, uint32_t feature,
			const char *name, const char *call, const char *what);

/* Checks that the device image of a kernel has the features of its program. A
 * build can define PEAL_USES for only one of them. `worker` has checked in. `call`
 * is the public call. Returns 0 or PEAL_EPROGRAM. */
int peali_features_check_image(const struct peal_kernel *kernel,
			       uint32_t worker, const char *call);

/* Checks the features that options of a launch need. Returns 0 or
 * PEAL_ENOTSUP. */
int peali_features_check(const struct peal_kernel_options *options,
			 const struct peal_program *program);

#endif
