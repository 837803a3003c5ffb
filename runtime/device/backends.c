/* SPDX-License-Identifier: Apache-2.0 */
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
