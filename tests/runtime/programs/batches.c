/* SPDX-License-Identifier: Apache-2.0 */
/* Batch handlers. */
#include "../batch_handlers.h"

PEAL_PROGRAM(batches, BATCH_HANDLERS);
