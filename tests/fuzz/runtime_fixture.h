/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_TESTS_FUZZ_RUNTIME_FIXTURE_H
#define PEAL_TESTS_FUZZ_RUNTIME_FIXTURE_H

#include <peal/peal.h>

#include "fuzz/fuzz.h"

/* Returns the runtime of the process, with one emulated device. */
static inline struct peal_runtime *fuzz_runtime(void)
{
	static struct peal_runtime *rt;

	if (rt)
		return rt;
	setenv("PEAL_BACKENDS", "host", 1);
	setenv("PEAL_HOST_DEVICES", "1", 1);
	setenv("PEAL_CACHE_DIR", fuzz_folder(), 1);
	FUZZ_CHECK(!peal_runtime_open(NULL, &rt));
	return rt;
}

#endif
