/* SPDX-License-Identifier: Apache-2.0 */
/* The handlers of batches.c. They also check their limits on a GPU, and the
 * kernel can have pools. */
#define PEAL_CHECK_LIMITS 1
#define PEAL_USES PEAL_USE_ALL
#include "../batch_handlers.h"

PEAL_PROGRAM(batches_checked, BATCH_HANDLERS);
