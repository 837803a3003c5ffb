/* SPDX-License-Identifier: Apache-2.0 */
#include <peal/device/mailbox.h>

#include "c11_model/instances.h"
#include "queues/call_guard.h"
#include "queues/mailbox.h"

/* Instances of the mailbox. Thread 0 takes, the other threads put. */

/* Planted faults that the checker must find. */
enum mailbox_fault {
	FAULT_NONE,
	FAULT_UNSEEN, /* producers do not write their call words */
	FAULT_AT_ONCE /* the consumer does not wait for producers in a call */
};

struct mailbox_case {
	uint32_t policy, slots, lease, bytes;
	uint32_t n[4]; /* messages of producers 1, 2, 3 */
	uint64_t number; /* messages that the mailbox has passed before */
	int returns; /* producer that returns its lease at the end; 3: both */
	int admits; /* 1: producer 1 is admitted once more, and puts nothing */
	int ready; /* 1: the consumer waits for `ready` before it peeks */
	int death; /* 1: one more producer died with a ticket before */
	enum mailbox_fault fault;
};

static struct mailbox {
	struct peal_mailbox *m;
	struct peal_mailbox_lease *leases[4];
	uint32_t *next; /* per producer: next message; of the consumer alone */
	uint64_t *calls[4]; /* call words of producers: queues/call_guard.h */
	uint32_t *dead; /* number of poisoned slots; of the consumer alone */
} b;

static void age_slots(const struct mailbox_case *k)
{
	uint8_t content[128] = { 0 };
	uint32_t length = peal_slot_content_max(k->policy, b.m->slot_bytes), i;

	for (i = 1; i <= k->slots; i++) {
		uint64_t number = k->number - i;
		uint8_t *slot = peali_mailbox_slot(b.m, number);
		uint32_t lap = peali_mailbox_lap(b.m, number);

		if (k->policy == PEAL_POLICY_SEQUENCE)
			peal_slot_publish(slot, lap, PEAL_KIND_DATA, length);
		else
			peal_slot_pack(k->policy, slot, lap, PEAL_KIND_DATA,
				       content, length, 0, 1);
	}
	b.m->leased = b.m->ticket = b.m->head = b.m->taken = k->number;
}

static void mailbox_setup(const void *config)
{
	const struct mailbox_case *k = (const struct mailbox_case *)config;
	struct peali_mailbox_spec s;
	uint32_t i;

	memset(&s, 0, sizeof(s));
	s.slots = k->slots;
	s.message_bytes = k->bytes;
	s.n_workers = 1; /* more would need more slots */
	s.lease = k->lease;
	s.policy = k->policy;
	if (peali_mailbox_spec_complete(&s, 14, PEAL_POLICY_SEQUENCE, "model"))
		model_fail("the mailbox's options are refused");
	b.m = (struct peal_mailbox *)model_memory("mailbox",
						  peali_mailbox_bytes(&s));
	peali_mailbox_header(b.m, &s);
	model_name(&b.m->leased, 8, "leased");
	model_name(&b.m->returned, 8, "returned");
	model_name(&b.m->ticket, 8, "ticket");
	model_name(&b.m->head, 8, "head");
	for (i = 0; i < k->slots; i++)
		model_name(peali_mailbox_slot(b.m, i), s.slot_bytes,
			   i ? "slot1" : "slot0");
	for (i = 0; i < 4; i++)
		b.leases[i] = (struct peal_mailbox_lease *)model_memory(
			"lease", sizeof(*b.leases[i]));
	b.next = (uint32_t *)model_memory("next", 4 * sizeof(uint32_t));
	b.dead = (uint32_t *)model_memory("dead", sizeof(*b.dead));
	for (i = 1; i < 4; i++)
		b.calls[i] = (uint64_t *)model_memory("calls", 8);
	if (k->death) { /* the dead producer has leased and taken a ticket */
		b.m->leased = k->lease;
		b.m->ticket = 1;
	}
	if (k->number)
		age_slots(k);
}

static void put(const struct mailbox_case *k, uint32_t self)
{
	uint32_t i;

	for (i = 0; i < k->n[self]; i++) {
		struct peal_header header = { self, (uint16_t)i, 0 };
		uint8_t data[64];

		instance_fill(data, k->bytes, self - 1, i);
		if (k->death && k->fault != FAULT_UNSEEN)
			peali_call_enter(b.calls[self]);
		MODEL_UNTIL(!peal_mailbox_put(b.m, b.leases[self], header, data,
					      k->bytes));
		if (k->death && k->fault != FAULT_UNSEEN)
			peali_call_leave(b.calls[self]);
	}
	if (k->admits && self == 1)
		MODEL_UNTIL(peal_mailbox_admit(b.m, b.leases[1], 1));
	if (k->returns == 3 || k->returns == (int)self)
		peal_mailbox_lease_release(b.m, b.leases[self]);
}

/* Reclaims the ticket of the dead producer as peali_queue_recover does. */
static void repair(const struct mailbox_case *k)
{
	uint64_t until = peal_load_acquire_dev(&b.m->ticket), noted[4];
	struct peal_slot_view view;
	uint32_t i;

	for (i = 1; i < 4; i++)
		noted[i] = peali_call_note(b.calls[i]);
	for (i = 1; i < 4 && k->fault != FAULT_AT_ONCE; i++)
		MODEL_UNTIL(peali_call_passed(b.calls[i], noted[i]));
	for (;;) { /* poisons open slots up to a message or up to `until` */
		if (!peal_mailbox_peek(b.m, &view) &&
		    !peal_mailbox_abandon(b.m, until))
			return;
		model_expect(peal_mailbox_peek(b.m, &view));
		if (view.kind != PEAL_KIND_DEAD)
			return;
		peal_mailbox_release(b.m);
		++*b.dead;
	}
}

static void take_one(const struct mailbox_case *k)
{
	struct peal_slot_view view;
	struct peal_header header;

	if (k->ready)
		MODEL_UNTIL(peal_mailbox_ready(b.m));
	MODEL_UNTIL(peal_mailbox_peek(b.m, &view));
	model_expect(view.kind == PEAL_KIND_DATA);
	model_expect(view.length == sizeof(header) + k->bytes);
	memcpy(&header, view.content, sizeof(header));
	model_expect(header.actor >= 1 && header.actor <= 3);
	model_expect(header.type == b.next[header.actor]++);
	model_expect(instance_filled(view.content + sizeof(header), k->bytes,
				     header.actor - 1, header.type));
	peal_mailbox_release(b.m);
}

static void mailbox_thread(const void *config, uint32_t self)
{
	const struct mailbox_case *k = (const struct mailbox_case *)config;
	uint32_t i;

	if (self) {
		put(k, self);
		return;
	}
	if (k->death)
		repair(k);
	for (i = 0; i < k->n[1] + k->n[2] + k->n[3]; i++)
		take_one(k);
	peal_mailbox_flush(b.m);
}

static void mailbox_check(const void *config)
{
	const struct mailbox_case *k = (const struct mailbox_case *)config;
	uint64_t end =
		k->number + k->n[1] + k->n[2] + k->n[3] + (k->death ? 1 : 0);
	uint64_t granted = 0; /* granted or asked for */
	uint32_t i;

	model_expect(b.next[1] == k->n[1] && b.next[2] == k->n[2] &&
		     b.next[3] == k->n[3]);
	model_expect(*b.dead == (k->death ? 1u : 0u));
	model_expect(b.m->ticket == end && b.m->taken == end);
	model_expect(b.m->head == end);
	for (i = 0; i < 4; i++)
		granted += b.leases[i]->granted + b.leases[i]->asked;
	model_expect(b.m->leased - b.m->returned == end + granted);
}

/* On GPUs atoms are relaxed. */
static const char *const gpu_atoms[] = { "peal_atom8_store", "peal_atom8_load",
					 NULL };
/* On GPUs the ticket is relaxed, too. */
static const char *const gpu_ticket[] = { "peal_atom8_store", "peal_atom8_load",
					  "peali_mailbox_ticket", NULL };

#define MAILBOX_OF(producers, name, gpu, causal, ...)                          \
	{                                                                      \
		name, 1 + producers,                                           \
			&(const struct mailbox_case){ __VA_ARGS__ },           \
			mailbox_setup, mailbox_thread, mailbox_check, gpu,     \
			causal                                                 \
	}
#define MAILBOX(...) MAILBOX_OF(2, __VA_ARGS__)
#define BOX(policy_, slots_, lease_, bytes_)                                   \
	.policy = PEAL_POLICY_##policy_, .slots = slots_, .lease = lease_,     \
	.bytes = bytes_
/* Messages of producers 1 and 2. */
#define PUTS(first, second) .n = { 0, first, second }
/* The 16 bits of the lap wrap during the instance. */
#define ROUND(slots_) .number = 65536ull * (slots_)-1

static const struct model_instance instances[] = {
	MAILBOX("mailbox sequence, 1 slot, 1 + 2", NULL, 0,
		BOX(SEQUENCE, 1, 1, 8), PUTS(1, 2)),
	MAILBOX("mailbox sequence, 2 slots, 2 + 2", NULL, 0,
		BOX(SEQUENCE, 2, 1, 8), PUTS(2, 2)),
	MAILBOX("mailbox sequence, 2 slots, 2 + 2, leases of 2", NULL, 0,
		BOX(SEQUENCE, 2, 2, 8), PUTS(2, 2)),
	MAILBOX("mailbox sequence, 2 slots, 1 + 1, returned", NULL, 0,
		BOX(SEQUENCE, 2, 2, 8), PUTS(1, 1), .returns = 3),
	MAILBOX("mailbox sequence, 2 slots, 2 + 1, returned", NULL, 0,
		BOX(SEQUENCE, 2, 1, 8), PUTS(2, 1), .admits = 1, .returns = 1),
	MAILBOX("mailbox sequence, 2 slots, lap goes round", NULL, 0,
		BOX(SEQUENCE, 2, 1, 8), PUTS(1, 2), ROUND(2), .ready = 1),
	MAILBOX_OF(3, "mailbox sequence, 2 slots, 1 + 1 + 1", NULL, 0,
		   BOX(SEQUENCE, 2, 1, 8), .n = { 0, 1, 1, 1 }),
	MAILBOX_OF(1, "mailbox sequence, 4 slots, one dead", NULL, 0,
		   BOX(SEQUENCE, 4, 1, 8), PUTS(1, 0), .death = 1),
	MAILBOX("mailbox sequence, 4 slots, one dead of three", NULL, 0,
		BOX(SEQUENCE, 4, 1, 8), PUTS(1, 1), .death = 1),
	MAILBOX("mailbox atom16, 1 slot, 1 + 1", gpu_atoms, 0,
		BOX(ATOM16, 1, 1, 8), PUTS(1, 1)),
	MAILBOX("mailbox atom16, 2 slots, 1 + 2", gpu_atoms, 0,
		BOX(ATOM16, 2, 1, 4), PUTS(1, 2)),
	MAILBOX("mailbox atom16, 2 slots, lap goes round", gpu_atoms, 0,
		BOX(ATOM16, 2, 1, 8), PUTS(1, 1), ROUND(2), .ready = 1),
	MAILBOX("mailbox atom16, 1 slot, 1 + 2, ticket of GPUs", gpu_ticket, 1,
		BOX(ATOM16, 1, 1, 4), PUTS(1, 2)),
	MAILBOX("mailbox atom16, 2 slots, 1 + 2, ticket of GPUs", gpu_ticket, 1,
		BOX(ATOM16, 2, 1, 4), PUTS(1, 2)),
	MAILBOX("mailbox atom16, returned, ticket of GPUs", gpu_ticket, 1,
		BOX(ATOM16, 2, 1, 4), PUTS(2, 1), .admits = 1, .returns = 1),
	MAILBOX("mailbox atom8, 1 slot, 1 + 1", gpu_atoms, 0,
		BOX(ATOM8, 1, 1, 0), PUTS(1, 1)),
	MAILBOX("mailbox atom8, 2 slots, lap goes round", gpu_atoms, 0,
		BOX(ATOM8, 2, 1, 4), PUTS(1, 1), ROUND(2)),
	MAILBOX("mailbox atom8, 1 slot, 1 + 1, ticket of GPUs", gpu_ticket, 1,
		BOX(ATOM8, 1, 1, 0), PUTS(1, 1)),
};

INSTANCE_LIST(mailbox_instances, instances);

static const struct model_instance broken[] = {
	/* With `causal` this is correct. */
	MAILBOX("mailbox atom16, ticket of GPUs by C11 alone", gpu_ticket, 0,
		BOX(ATOM16, 2, 1, 4), PUTS(1, 2)),
	MAILBOX("mailbox sequence, ticket of GPUs", gpu_ticket, 1,
		BOX(SEQUENCE, 2, 1, 8), PUTS(1, 2)),
	/* Too few slots for leases of two: the bound is in queues/mailbox.h. */
	MAILBOX("mailbox sequence, a lease that is kept", NULL, 0,
		BOX(SEQUENCE, 2, 2, 8), PUTS(0, 1), .admits = 1),
	MAILBOX_OF(1, "mailbox, who is inside does not say so", NULL, 0,
		   BOX(SEQUENCE, 4, 1, 8), PUTS(1, 0), .death = 1,
		   .fault = FAULT_UNSEEN),
	MAILBOX_OF(1, "mailbox, nobody inside is waited for", NULL, 0,
		   BOX(SEQUENCE, 4, 1, 8), PUTS(1, 0), .death = 1,
		   .fault = FAULT_AT_ONCE),
};

INSTANCE_LIST(broken_mailbox_instances, broken);
