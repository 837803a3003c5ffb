/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEALI_RUNTIME_WORK_SHARE_H
#define PEALI_RUNTIME_WORK_SHARE_H

#include <peal/work_share.h>

/* Frees the shares of a runtime. All kernels have ended. */
int peali_work_shares_clear(struct peal_runtime *rt);

#endif
