/* SPDX-License-Identifier: Apache-2.0 */
#include <peal/device/impl/queue/admission.h>

#include "c11_model/instances.h"
#include "queues/mailbox.h"

/*
 * Instances of the admission to the mailboxes of a kernel. Each thread is a
 * worker. It takes from its own mailbox and puts into the mailboxes of others.
 * A string gives its steps, one letter per step:
 *
 * - a digit puts a message into the mailbox of that worker
 * - 't' takes a message
 * - 'r' returns all leased slots
 * - 'a' leases one more slot if there is one
 * - 'p' waits for a slot for a message of a forwarding link
 * - 'f' gives slots above `keep` for lent and owed places and to the reserve
 * - 'v' frees a place, as the sender does when its message was taken from a
 *   forwarding link
 */

#define WORKERS_MAX 3

struct admission_case {
	uint32_t policy, slots, lease, bytes;
	uint32_t granted; /* slots that worker 0 has after setup */
	/* slots that workers 1 and 2 each have after setup; `reserve` of these
	 * come from the reserve */
	uint32_t others;
	uint32_t reserve; /* how many of the slots are the reserve */
	uint32_t places; /* how many of the slots are for forwarding links */
	/* how many of the slots that worker 0 has are such places; it owes a
	 * slot for one message */
	uint32_t passed;
	const char *steps[WORKERS_MAX];
	int early; /* 1: a planted fault: a slot is reused before it was read */
};

static struct admission {
	struct peal_admission *a;
	struct peal_mailbox *m[WORKERS_MAX];
	struct peal_mailbox_lease *leases[WORKERS_MAX];
	/* per taking worker: number of the next message of each sender */
	uint32_t *next[WORKERS_MAX];
} d;

static void admission_setup(const void *config)
{
	const struct admission_case *k = (const struct admission_case *)config;
	struct peali_mailbox_spec s;
	uint32_t i;

	memset(&s, 0, sizeof(s));
	s.slots = k->slots;
	s.message_bytes = k->bytes;
	s.n_workers = 1;
	s.policy = k->policy;
	if (peali_mailbox_spec_complete(&s, 14, PEAL_POLICY_SEQUENCE, "model"))
		model_fail("the mailbox's options are refused");
	d.a = (struct peal_admission *)model_memory("admission", sizeof(*d.a));
	d.a->slots = k->slots - k->reserve - k->places;
	d.a->reserve = d.a->spare = k->reserve;
	d.a->lease = k->lease;
	d.a->passing = k->places - k->passed;
	d.a->owed = k->passed != 0;
	d.a->lent = k->passed - d.a->owed;
	d.a->leased = k->granted - k->passed;
	model_name(&d.a->leased, 8, "leased");
	model_name(&d.a->returned, 8, "returned");
	model_name(&d.a->spare, 8, "spare");
	model_name(&d.a->passing, 8, "passing");
	model_name(&d.a->lent, 8, "lent");
	model_name(&d.a->owed, 8, "owed");
	model_name(&d.a->paid, 8, "paid");
	for (i = 0; i < WORKERS_MAX; i++) {
		d.m[i] = (struct peal_mailbox *)model_memory(
			"mailbox", peali_mailbox_bytes(&s));
		peali_mailbox_header(d.m[i], &s);
		model_name(&d.m[i]->ticket, 8, "ticket");
		d.leases[i] = (struct peal_mailbox_lease *)model_memory(
			"lease", sizeof(*d.leases[i]));
		d.next[i] = (uint32_t *)model_memory(
			"next", WORKERS_MAX * sizeof(uint32_t));
	}
	d.leases[0]->granted = k->granted;
	d.leases[0]->owes = d.a->owed;
	if (k->others) {
		d.leases[1]->granted = d.leases[2]->granted = k->others;
		d.a->leased = 2ull * k->others - k->reserve;
		d.a->spare = 0;
	}
}

static void put(const struct admission_case *k, uint32_t self, uint32_t to,
		uint32_t number)
{
	struct peal_header header = { self, (uint16_t)number, 0 };
	uint8_t data[64];

	instance_fill(data, k->bytes, self, number);
	MODEL_UNTIL(peal_admission_admit(d.a, d.leases[self], 1, 1));
	d.leases[self]->granted--;
	peali_mailbox_write(d.m[to], peali_mailbox_ticket(d.m[to], 1), header,
			    data, k->bytes);
}

/* Gives the slot of a taken message to the worker that took it, as
 * peali_mail_release does. Above two leases the worker returns one. */
static void gain(const struct admission_case *k, uint32_t self)
{
	if (++d.leases[self]->granted > 2ull * k->lease)
		peal_admission_return(d.a, d.leases[self], k->lease);
}

static void check_message(const struct admission_case *k, uint32_t self,
			  const struct peal_slot_view *view)
{
	struct peal_header header;

	model_expect(view->kind == PEAL_KIND_DATA);
	model_expect(view->length == sizeof(header) + k->bytes);
	memcpy(&header, view->content, sizeof(header));
	model_expect(header.actor < WORKERS_MAX);
	model_expect(header.type == d.next[self][header.actor]++);
	model_expect(instance_filled(view->content + sizeof(header), k->bytes,
				     header.actor, header.type));
}

/* Takes a message. With `early`, worker 1 reuses its slot before it reads. */
static void take(const struct admission_case *k, uint32_t self)
{
	struct peal_slot_view view;

	MODEL_UNTIL(peal_mailbox_peek(d.m[self], &view));
	if (k->early && self == 1) {
		gain(k, self);
		put(k, self, 0, 0);
	}
	check_message(k, self, &view);
	peal_mailbox_release(d.m[self]);
	if (!k->early || self != 1)
		gain(k, self);
}

static void admission_thread(const void *config, uint32_t self)
{
	const struct admission_case *k = (const struct admission_case *)config;
	uint32_t to[WORKERS_MAX] = { 0, 0, 0 };
	const char *step;

	for (step = k->steps[self]; *step; step++) {
		if (*step == 't') {
			take(k, self);
		} else if (*step == 'a') {
			peal_admission_admit(d.a, d.leases[self],
					     d.leases[self]->granted + 1, 1);
		} else if (*step == 'r') {
			peal_admission_return(d.a, d.leases[self], 0);
		} else if (*step == 'p') {
			MODEL_UNTIL(peal_admission_transfer(d.a, d.leases[self],
							    1));
		} else if (*step == 'f') {
			peal_admission_grant(d.a, d.leases[self]);
		} else if (*step == 'v') {
			d.leases[self]->granted--;
			peali_admission_vacate(d.a, 1);
		} else {
			uint32_t other = (uint32_t)(*step - '0');

			put(k, self, other, to[other]++);
		}
	}
}

static void admission_check(const void *config)
{
	const struct admission_case *k = (const struct admission_case *)config;
	uint64_t held = 0, granted = 0; /* held: granted or asked for */
	uint64_t owes = 0;
	uint32_t i;

	for (i = 0; i < WORKERS_MAX; i++) {
		model_expect(d.m[i]->ticket == d.m[i]->taken);
		held += d.leases[i]->granted + d.leases[i]->asked;
		granted += d.leases[i]->granted;
		owes += d.leases[i]->owes;
	}
	model_expect(granted <= k->slots);
	model_expect(d.a->leased - d.a->returned + k->reserve - d.a->spare +
			     k->places - d.a->passing ==
		     held);
	model_expect(d.a->owed + d.a->paid == owes);
}

/* On GPUs atoms and the ticket are relaxed. */
static const char *const gpu_ticket[] = { "peal_atom8_store", "peal_atom8_load",
					  "peali_mailbox_ticket", NULL };

#define ADMISSION_OF(n, name, gpu, causal, ...)                                \
	{                                                                      \
		name, n, &(const struct admission_case){ __VA_ARGS__ },        \
			admission_setup, admission_thread, admission_check,    \
			gpu, causal                                            \
	}
#define BOX(policy_, slots_, lease_, bytes_)                                   \
	.policy = PEAL_POLICY_##policy_, .slots = slots_, .lease = lease_,     \
	.bytes = bytes_
#define STEPS(...) .steps = { __VA_ARGS__ }

static const struct model_instance instances[] = {
	/* one slot in all: a receiver answers by the slot of the message */
	ADMISSION_OF(2, "admission, 1 slot, answered", NULL, 0,
		     BOX(SEQUENCE, 1, 1, 8), .granted = 1,
		     STEPS("1t1", "t0t", "")),
	/* the slot that is written again was read two workers before */
	ADMISSION_OF(3, "admission, 1 slot, a circle of three", NULL, 0,
		     BOX(SEQUENCE, 1, 1, 8), .granted = 1,
		     STEPS("1t1", "t2t", "t0")),
	ADMISSION_OF(2, "admission, 2 slots, two under way", NULL, 0,
		     BOX(SEQUENCE, 2, 1, 8), .granted = 2,
		     STEPS("11t1", "t0tt", "")),
	/* a worker returns the slot of a message, another one asks for it */
	ADMISSION_OF(3, "admission, 1 slot, two ask", NULL, 0,
		     BOX(SEQUENCE, 1, 0, 8), STEPS("1", "tt", "1")),
	ADMISSION_OF(2, "admission, 1 slot, asked for again", NULL, 0,
		     BOX(SEQUENCE, 1, 0, 8), STEPS("11", "tt", "")),
	ADMISSION_OF(3, "admission, 1 slot, unused and returned", NULL, 0,
		     BOX(SEQUENCE, 1, 1, 8), .granted = 1,
		     STEPS("1tr", "t0t", "1")),
	/* as above, but returned slots go to the reserve first */
	ADMISSION_OF(3, "admission, 1 slot of the reserve, two want it", NULL,
		     0, BOX(SEQUENCE, 1, 0, 8), .reserve = 1,
		     STEPS("1", "tt", "1")),
	ADMISSION_OF(2, "admission, 1 slot of the reserve, wanted again", NULL,
		     0, BOX(SEQUENCE, 1, 0, 8), .reserve = 1,
		     STEPS("11", "tt", "")),
	ADMISSION_OF(3, "admission, 2 slots, two give back to the reserve",
		     NULL, 0, BOX(SEQUENCE, 2, 0, 8), .reserve = 1,
		     STEPS("12", "t", "t")),
	/* two workers fill the reserve: the surplus is taken out if unused */
	ADMISSION_OF(3, "admission, 2 slots, the reserve filled by two", NULL,
		     0, BOX(SEQUENCE, 2, 0, 8), .reserve = 1, .others = 1,
		     STEPS("aaa", "r", "r")),
	/* a worker that gives a slot for a place frees a place that was read */
	ADMISSION_OF(3, "admission, 1 place, owed and wanted again", NULL, 0,
		     BOX(SEQUENCE, 1, 1, 8), .granted = 1, .places = 1,
		     .passed = 1, STEPS("1", "tft", "p1")),
	ADMISSION_OF(3, "admission, 1 place, left and wanted again", NULL, 0,
		     BOX(SEQUENCE, 1, 1, 8), .granted = 1, .places = 1,
		     .passed = 1, STEPS("1", "tvt", "p1")),
	ADMISSION_OF(3, "admission, 2 places, lent and owed, wanted again",
		     NULL, 0, BOX(SEQUENCE, 2, 1, 8), .granted = 2, .places = 2,
		     .passed = 2, STEPS("11", "tftft", "p1")),
	ADMISSION_OF(3, "admission atom16, 1 place, owed and wanted again",
		     gpu_ticket, 1, BOX(ATOM16, 1, 1, 4), .granted = 1,
		     .places = 1, .passed = 1, STEPS("1", "tft", "p1")),
	ADMISSION_OF(2, "admission atom16, 1 slot, answered", gpu_ticket, 1,
		     BOX(ATOM16, 1, 1, 4), .granted = 1,
		     STEPS("1t1", "t0t", "")),
	ADMISSION_OF(3, "admission atom16, 1 slot, a circle of three",
		     gpu_ticket, 1, BOX(ATOM16, 1, 1, 4), .granted = 1,
		     STEPS("1t1", "t2t", "t0")),
	ADMISSION_OF(3, "admission atom16, 1 slot of the reserve, two want it",
		     gpu_ticket, 1, BOX(ATOM16, 1, 0, 4), .reserve = 1,
		     STEPS("1", "tt", "1")),
	ADMISSION_OF(3, "admission atom16, 1 slot, two ask", gpu_ticket, 1,
		     BOX(ATOM16, 1, 0, 4), STEPS("1", "tt", "1")),
	ADMISSION_OF(2, "admission atom8, 1 slot, answered", gpu_ticket, 1,
		     BOX(ATOM8, 1, 1, 0), .granted = 1,
		     STEPS("1t1", "t0t", "")),
};

INSTANCE_LIST(admission_instances, instances);

static const struct model_instance broken[] = {
	ADMISSION_OF(2, "admission, a slot used while its message is in hand",
		     NULL, 0, BOX(SEQUENCE, 1, 1, 8), .granted = 1,
		     STEPS("1t1", "tt", ""), .early = 1),
};

INSTANCE_LIST(broken_admission_instances, broken);
