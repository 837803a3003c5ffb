/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "runtime/device/backend.h"

/* The backends of this build. A simulator build has only the host backend. */

const struct peali_backend_ops *const peali_backends[] = {
#if !PEAL_SIM
	&peali_cuda_backend,
	&peali_hip_backend,
#endif
	&peali_host_backend,
	NULL,
};

int peali_backend_is_known(const char *name, size_t n)
{
	int i;

	for (i = 0; peali_backends[i]; i++)
		if (strlen(peali_backends[i]->name) == n &&
		    !strncmp(name, peali_backends[i]->name, n))
			return 1;
	return 0;
}
