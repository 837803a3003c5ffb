/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/kinds/kinds.h"

#include <stddef.h>

const struct peali_queue_kind *const peali_queue_pair = &peali_queue_link;
const struct peali_queue_kind *const peali_queue_gather = &peali_queue_mailbox;
const struct peali_queue_kind *const peali_queue_share = NULL;
const struct peali_queue_kind *const peali_queue_spread = NULL;
