/* SPDX-License-Identifier: Apache-2.0 */
/* Loads the module of CAF: see bench/baseline/caf.h. */
#include "bench/baseline/caf.h"

#include <dlfcn.h>
#include <stddef.h>
#include <stdio.h>

const struct peali_caf *peali_caf_open(const char **why)
{
#ifdef PEALI_CAF_MODULE
	static const struct peali_caf *caf;
	static char text[256];
	void *module;

	if (caf)
		return caf;
	module = dlopen(PEALI_CAF_MODULE, RTLD_NOW | RTLD_LOCAL);
	if (module)
		caf = dlsym(module, "peali_caf_module");
	if (!caf) {
		snprintf(text, sizeof(text), "%s", dlerror());
		*why = text;
	}
	return caf;
#else
	*why = PEALI_NO_CAF;
	return NULL;
#endif
}
