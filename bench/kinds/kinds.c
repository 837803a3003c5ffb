/* SPDX-License-Identifier: Apache-2.0 */
/* Our kinds for the shapes of rows. */
#include "bench/kinds/kinds.h"

const struct peali_bench_queue_kind *const peali_bench_queue_pair =
	&peali_bench_queue_link;
const struct peali_bench_queue_kind *const peali_bench_queue_gather =
	&peali_bench_queue_mailbox;
const struct peali_bench_queue_kind *const peali_bench_queue_share =
	&peali_bench_queue_work;
const struct peali_bench_queue_kind *const peali_bench_queue_spread =
	&peali_bench_queue_topic;
