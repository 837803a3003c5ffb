/* SPDX-License-Identifier: Apache-2.0 */
#define PEAL_USES PEAL_USE_ALL
#include <peal/device/impl/loop/termination.h>

#include "c11_model/instances.h"
#include "queues/mailbox.h"
#include "queues/work.h"

/*
 * Instances of the end of a kernel with two workers.
 *
 * 1. Thread 0 is worker 0. It handles its input, which then ends, and tells
 *    worker 1.
 * 2. Thread 1 is worker 1. Its handler tells worker 0.
 * 3. Thread 2 checks whether the kernel is quiet. If it is, both messages must
 *    be handled.
 *
 * With a pool, worker 0 puts into its shard, and worker 1 takes from that
 * shard.
 */

struct end_case {
	uint32_t policy;
	int early; /* 1: a fault: the head moves before the handler tells */
	int pool;
};

static struct end {
	struct peal_mailbox *boxes[2];
	struct peal_mailbox_lease *leases; /* of each for the other's mailbox */
	struct peal_worker_status *status;
	uint32_t *handled; /* plain: 1 when that worker's handler has run */
	struct peal_kernel_params params;
	struct peal_worker worker;
	struct peal_worker_state state;
	struct peal_pool_place *places; /* of both workers at the pool */
	struct peal_work *shards[2];
	struct peal_work_consumer *thief; /* of worker 1 at shard 0 */
} e;

/* Makes a pool of two shards of one slot, and the workers' places at it. */
static void pool_setup(uint32_t policy)
{
	struct peal_work_set *set;
	struct peali_work_spec s;
	int i;

	memset(&s, 0, sizeof(s));
	s.slots = s.n_producers = s.lease = 1;
	s.message_bytes = 4;
	s.policy = policy;
	if (peali_work_spec_complete(&s, 14, PEAL_POLICY_SEQUENCE, "model"))
		model_fail("the work queue's options are refused");
	set = (struct peal_work_set *)model_memory("set",
						   peali_work_set_bytes(&s, 2));
	peali_work_set_header(set, &s, 2);
	e.places = (struct peal_pool_place *)model_memory(
		"places", 2 * sizeof(*e.places));
	e.thief = (struct peal_work_consumer *)model_memory("thief",
							    sizeof(*e.thief));
	for (i = 0; i < 2; i++) {
		e.shards[i] = peal_work_set_shard(set, (uint32_t)i);
		peali_work_header(e.shards[i], &s);
		e.places[i].set = (uintptr_t)set;
	}
	model_name(&e.shards[0]->ticket, 8, "ticket of shard 0");
	model_name(&e.places[1].done, 8, "done of worker 1");
	peal_work_producer_init(e.shards[0], &e.places[0].producer);
	peal_work_consumer_init(e.shards[0], e.thief,
				model_memory("stage", 128));
	e.params.worker_stride = sizeof(*e.places);
	e.state.table.n_pools = 1;
	e.worker.pools = e.places;
}

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
	memset(&e.state, 0, sizeof(e.state));
	e.worker.params = &e.params;
	e.worker.mailbox = e.boxes[0];
	e.worker.state = &e.state;
	if (k->pool)
		pool_setup(k->policy);
}

/* Tells the other worker, as the handler of worker `self`. */
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

static void put_into_pool(void)
{
	struct peal_header header = { 0, 0, 0 };
	uint32_t word = 5;

	MODEL_UNTIL(!peal_work_push(e.shards[0], &e.places[0].producer, header,
				    &word, 4));
}

static void handle_pool(const struct end_case *k)
{
	struct peal_pool_place *p = &e.places[1];
	struct peal_work_received got;
	uint32_t word;

	MODEL_UNTIL(peal_work_pop(e.shards[0], e.thief, &word, 4, &got) == 1);
	e.handled[1] = 1;
	if (!k->early)
		tell(1);
	p->handled++;
	peali_pool_flush(p);
	if (k->early)
		tell(1);
}

static void end_thread(const void *config, uint32_t self)
{
	const struct end_case *k = (const struct end_case *)config;

	if (self == 0) {
		if (k->pool)
			put_into_pool();
		else
			tell(0);
		peal_store_release_sys(&e.status[0].drained,
				       PEAL_DRAINED_ENDED);
		handle_mail(k, 0);
	} else if (self == 1) {
		peal_store_release_sys(&e.status[1].drained,
				       PEAL_DRAINED_NO_INPUT);
		if (k->pool)
			handle_pool(k);
		else
			handle_mail(k, 1);
	} else if (peali_all_drained(&e.worker) && peali_quiet(&e.worker)) {
		model_expect(e.handled[0] && e.handled[1]);
	}
}

static void end_check(const void *config)
{
	(void)config;
	model_expect(e.handled[0] && e.handled[1]);
	model_expect(peali_all_drained(&e.worker) && peali_quiet(&e.worker));
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
	END("end of two workers with a pool, sequence", NULL, 0,
	    .policy = PEAL_POLICY_SEQUENCE, .pool = 1),
	END("end of two workers with a pool, atom16, ticket of GPUs",
	    gpu_ticket, 1, .policy = PEAL_POLICY_ATOM16, .pool = 1),
};

INSTANCE_LIST(end_instances, instances);

static const struct model_instance broken[] = {
	END("end, a message is done before its handler tells", NULL, 0,
	    .policy = PEAL_POLICY_SEQUENCE, .early = 1),
	END("end, a message of a pool is done before its handler tells", NULL,
	    0, .policy = PEAL_POLICY_SEQUENCE, .early = 1, .pool = 1),
};

INSTANCE_LIST(broken_end_instances, broken);
