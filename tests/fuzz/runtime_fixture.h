/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_TESTS_FUZZ_RUNTIME_FIXTURE_H
#define PEAL_TESTS_FUZZ_RUNTIME_FIXTURE_H

#include <peal/peal.h>

#include "fuzz/fuzz.h"

static struct peal_runtime *fuzz_runtime_open;

static inline void fuzz_runtime_close(void)
{
	peal_runtime_shutdown(fuzz_runtime_open);
}

/*
 * Returns the runtime of the process, with one emulated device. It is closed
 * when the process ends.
 */
static inline struct peal_runtime *fuzz_runtime(void)
{
	struct peal_runtime *rt = NULL;

	if (fuzz_runtime_open)
		return fuzz_runtime_open;
	setenv("PEAL_BACKENDS", "host", 1);
	setenv("PEAL_HOST_DEVICES", "1", 1);
	setenv("PEAL_CACHE_DIR", fuzz_folder(), 1);
	FUZZ_CHECK(!peal_runtime_open(NULL, &rt));
	fuzz_runtime_open = rt;
	atexit(fuzz_runtime_close);
	return rt;
}

#endif
