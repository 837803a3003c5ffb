/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checks the options of a kernel's asks, and reads their counts. The workers
 * hold the asks themselves.
 */
#include <string.h>
#include <peal/abi/ask.h>

#include "queues/mailbox.h"
#include "runtime/base/refusal.h"
#include "runtime/base/text.h"
#include "runtime/kernel/kernel.h"
#include "runtime/kernel/options.h"
#include "runtime/kernel/timer.h"
#include "runtime/runtime.h"

_Static_assert(sizeof(struct peal_ask_counts) ==
		       PEAL_ASKS_COUNT * sizeof(uint64_t),
	       "counts in the order of enum peal_ask_count");

#define CALL "peal_kernel_launch"

/* Bytes of the error code in the answer to a failed ask. */
#define ERROR_BYTES sizeof(int32_t)

int peali_asks_plan(struct peal_kernel *k, const struct peal_kernel_options *o,
		    struct peali_mailbox_spec *box)
{
	if (!o->max_asks)
		return 0;
	if (!o->mailbox.slots)
		return peali_refuse_without_mailboxes("max_asks", o->max_asks);
	if (box->message_bytes < PEAL_REQUEST_BYTES + ERROR_BYTES)
		return PEALI_REFUSE(
			PEAL_EINVAL, CALL, .object = "option",
			.name = "mailbox.message_bytes",
			.problem = "is too small for the answers of "
				   "max_asks",
			.number = box->message_bytes,
			.allowed =
				PEALI_PRINT("%zu or more",
					    PEAL_REQUEST_BYTES + ERROR_BYTES),
			.remedy = PEALI_PRINT("use %zu", PEAL_REQUEST_BYTES +
								 ERROR_BYTES));
	k->params.max_asks = o->max_asks;
	return 0;
}

void peali_asks_add(const struct peal_kernel *k, uint32_t worker,
		    struct peal_ask_counts *sum)
{
	/* reads `asked` last: it is at least the sum of the outcomes */
	if (k->params.max_asks)
		peali_counts_add((uint64_t *)sum, k->asks[worker].count,
				 PEAL_ASKS_COUNT);
}

static uint64_t open_at(const struct peal_kernel *k, uint32_t worker)
{
	struct peal_ask_counts counts;

	memset(&counts, 0, sizeof(counts));
	peali_asks_add(k, worker, &counts);
	return counts.open;
}

uint64_t peali_asks_keep(const struct peal_kernel *k, uint32_t *worker_out)
{
	return peali_kernel_keeps(k, open_at, worker_out);
}
