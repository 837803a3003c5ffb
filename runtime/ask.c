/* SPDX-License-Identifier: Apache-2.0 */
/* What is known of a kernel's asks; they live in its workers. */
#include <string.h>

#include "queues/mailbox.h"
#include "runtime/runtime.h"

_Static_assert(sizeof(struct peal_ask_counts) ==
		       PEAL_ASKS_COUNT * sizeof(uint64_t),
	       "counts in the order of enum peal_ask_count");

#define CALL "peal_kernel_launch"

/* What says that nobody has answered. */
#define ERROR_BYTES sizeof(int32_t)

int peali_asks_plan(struct peal_kernel *k, const struct peal_kernel_options *o,
		    struct peali_mailbox_spec *box)
{
	uint64_t slots = o->mailbox_slots;

	if (!o->asks)
		return 0;
	if (!o->mailbox_slots)
		return peali_fail(PEAL_EINVAL, CALL,
				  "option asks is %u and mailbox_slots is 0: "
				  "asks and their answers go by mailboxes",
				  o->asks);
	if (box->message_bytes < PEAL_REQUEST_BYTES + ERROR_BYTES)
		return peali_fail(PEAL_EINVAL, CALL,
				  "option asks is %u and mailbox_message_bytes "
				  "is %u: an answer needs at least %u",
				  o->asks, box->message_bytes,
				  (unsigned)(PEAL_REQUEST_BYTES + ERROR_BYTES));
	/* those of admission, and one for each answer that may come */
	while (slots < (uint64_t)o->mailbox_slots + o->asks + 1)
		slots *= 2;
	if (slots > 1 << 20)
		return peali_fail(
			PEAL_EINVAL, CALL,
			"option asks is %u and mailbox_slots is %u: a "
			"mailbox has a slot for each of both, and one "
			"has at most 2^20",
			o->asks, o->mailbox_slots);
	box->slots = (uint32_t)slots;
	k->params.max_asks = o->asks;
	return 0;
}

void peali_asks_add(const struct peal_kernel *k, uint32_t worker,
		    struct peal_ask_counts *sum)
{
	uint64_t *out = (uint64_t *)sum;
	int i;

	if (!k->params.max_asks)
		return;
	/* asked last: it is never less than what became of them */
	for (i = PEAL_ASKS_COUNT - 1; i >= 0; i--)
		out[i] += peal_load_relaxed_sys(&k->asks[worker].count[i]);
}

uint64_t peali_asks_keep(const struct peal_kernel *k, uint32_t *worker_out)
{
	struct peal_ask_counts counts;
	uint64_t found = 0;
	uint32_t i;

	for (i = 0; i < k->params.n_workers; i++) {
		if (!peal_load_acquire_sys(&k->status[i].drained))
			return 0;
		memset(&counts, 0, sizeof(counts));
		peali_asks_add(k, i, &counts);
		if (!counts.open || found)
			continue;
		found = counts.open;
		*worker_out = i;
	}
	return found;
}
