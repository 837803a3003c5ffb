/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/backend/backend.h"

const struct peali_backend_ops *const peali_backends[] = {
	&peali_cuda_backend,
	&peali_hip_backend,
	&peali_host_backend,
	NULL,
};
