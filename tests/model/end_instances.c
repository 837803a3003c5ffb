/* SPDX-License-Identifier: Apache-2.0 */
#include <peal/device/end.h>

#include "model/instances.h"
#include "queues/mailbox.h"

/*
 * The end of a kernel of two workers: thread 0 handles an input, which has then
 * ended, and tells worker 1, which tells worker 0. Thread 2 looks whether all is
 * quiet: if it finds so, both have been handled.
 */

struct end_case {
	uint32_t policy;
	int early; /* a fault: head is told before the handler tells */
};

static struct end {
	struct peal_mailbox *boxes[2];
	struct peal_mailbox_lease *leases; /* of either for the other */
	struct peal_worker_status *status;
	uint32_t *handled; /* plain, by each worker: what it took */
	struct peal_kernel_params params;
	struct peal_worker worker;
} e;

static void end_setup(const void *config)
{
	const struct end_case *k = (const struct end_case *)config;
	struct peali_mailbox_spec s;
	uint64_t stride;
	uint8_t *at;
	int i;

	memset(&s, 0, sizeof(s));
	s.slots = s.n_workers = s.lease = 1;
	s.message_bytes = 4;
	s.policy = k->policy;
	if (peali_mailbox_spec_complete(&s, 14, PEAL_POLICY_SEQUENCE, "model"))
		model_fail("the mailbox's options are refused");
	stride = peali_mailbox_bytes(&s);
	at = (uint8_t *)model_memory("mailboxes", 2 * stride);
	for (i = 0; i < 2; i++) {
		e.boxes[i] = (struct peal_mailbox *)(void *)(at + i * stride);
		peali_mailbox_header(e.boxes[i], &s);
		model_name(&e.boxes[i]->head, 8, i ? "head1" : "head0");
		model_name(&e.boxes[i]->ticket, 8, i ? "ticket1" : "ticket0");
	}
	e.leases = (struct peal_mailbox_lease *)model_memory(
		"leases", 2 * sizeof(*e.leases));
	e.status = (struct peal_worker_status *)model_memory(
		"status", 2 * sizeof(*e.status));
	e.handled = (uint32_t *)model_memory("handled", 8);
	memset(&e.params, 0, sizeof(e.params));
	memset(&e.worker, 0, sizeof(e.worker));
	e.params.status = (uintptr_t)e.status;
	e.params.mailboxes = (uintptr_t)at;
	e.params.mailbox_stride = stride;
	e.params.n_workers = 2;
	e.worker.params = &e.params;
	e.worker.mailbox = e.boxes[0];
}

/* What a handler of worker `self` tells the other. */
static void tell(uint32_t self)
{
	struct peal_header header = { 0, 0, 0 };
	uint32_t word = 5;

	MODEL_UNTIL(!peal_mailbox_put(e.boxes[1 - self], &e.leases[self],
				      header, &word, 4));
}

static void handle_mail(const struct end_case *k, uint32_t self)
{
	struct peal_slot_view view;

	MODEL_UNTIL(peal_mailbox_peek(e.boxes[self], &view));
	e.handled[self] = 1;
	if (!k->early && self)
		tell(self);
	peal_mailbox_release(e.boxes[self]);
	peal_mailbox_flush(e.boxes[self]);
	if (k->early && self)
		tell(self);
}

static void end_thread(const void *config, uint32_t self)
{
	const struct end_case *k = (const struct end_case *)config;

	if (self == 0) {
		tell(0);
		peal_store_release_sys(&e.status[0].drained,
				       PEAL_DRAINED_ENDED);
		handle_mail(k, 0);
	} else if (self == 1) {
		peal_store_release_sys(&e.status[1].drained,
				       PEAL_DRAINED_NO_INPUT);
		handle_mail(k, 1);
	} else if (peali_quiet(&e.worker)) {
		model_expect(e.handled[0] && e.handled[1]);
	}
}

static void end_check(const void *config)
{
	(void)config;
	model_expect(e.handled[0] && e.handled[1]);
	model_expect(peali_quiet(&e.worker));
}

static const char *const gpu_ticket[] = { "peali_mailbox_ticket", NULL };

#define END(name, gpu, causal, ...)                                            \
	{                                                                      \
		name, 3, &(const struct end_case){ __VA_ARGS__ }, end_setup,   \
			end_thread, end_check, gpu, causal                     \
	}

static const struct model_instance instances[] = {
	END("end of two workers, sequence", NULL, 0,
	    .policy = PEAL_POLICY_SEQUENCE),
	END("end of two workers, atom16, ticket of GPUs", gpu_ticket, 1,
	    .policy = PEAL_POLICY_ATOM16),
};

INSTANCE_LIST(end_instances, instances);

static const struct model_instance broken[] = {
	END("end, a message is done before its handler tells", NULL, 0,
	    .policy = PEAL_POLICY_SEQUENCE, .early = 1),
};

INSTANCE_LIST(broken_end_instances, broken);
