/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For each forwarded message in its mailbox.forward_slots, a kernel owes the
 * sending kernel a mailbox slot (actor_forward.h). Shows that the sending
 * kernel forwards no more messages than both kernels have slots for. It gets
 * all its slots back, with any number of mailbox.forward_slots.
 */
#include <peal/proxy.h>

#include "runtime/rank_fixture.h"

#define SLOTS 64
#define PLACES 512
#define NOTES 1000

/* Returns the number of messages that all forwarding links have accepted. */
static uint64_t passed(void)
{
	struct peal_link *all[16];
	struct peal_link_info info;
	uint64_t sum = 0;
	int i, n = peal_link_list(s.rt, all, 16);

	for (i = 0; i < n; i++) {
		CHECK_OK(peal_link_info(all[i], &info));
		if ((uint32_t)info.from == PEAL_FWD_LINK_ACTOR)
			sum += info.accepted;
	}
	return sum;
}

static uint64_t told(struct peal_kernel *k)
{
	struct peal_kernel_info info;

	CHECK_OK(peal_kernel_info(k, &info));
	return info.mailbox_sends;
}

/* Returns whether all told messages are handled and counted. */
static int is_idle(struct peal_kernel *k)
{
	struct peal_kernel_info info;

	CHECK_OK(peal_kernel_info(k, &info));
	return info.mailbox_done == info.mailbox_sends;
}

/* Waits until no message moves in either kernel. */
static void rest(struct peal_kernel *far)
{
	uint64_t before, now = passed() + told(far);

	do {
		before = now;
		identity_sleep_us(30000);
		now = passed() + told(far);
	} while (now != before);
}

/*
 * Workers 1 and 2 of kernel `far` wait at gates. First, messages of a link for
 * worker 1 take mailbox slots. Then forwarded messages for worker 2 find more
 * mailbox.forward_slots than the sending kernel has slots.
 */
PEAL_TEST(forwarding_never_exceeds_sender_slots)
{
	struct rank_list *door; /* the gate of worker 1 */
	struct peal_kernel_options mine = { .workers = 1,
					    .mailbox.slots = SLOTS };
	struct peal_kernel_options o = { .size = sizeof(o),
					 .workers = 3,
					 .lanes = lanes,
					 .mailbox.slots = SLOTS,
					 .mailbox.forward_slots = PLACES };
	uint64_t actor[3], proxy[2], before, turn;
	struct peal_kernel *far = NULL;
	uint32_t front, gate[2], port;
	struct rank_note stop;
	int i;

	open_rank_fixture(mine, 0);
	stop = say(NO_SENDER, 0);
	door = (struct rank_list *)harness_pinned(s.rt, sizeof(*door));
	stop.list = harness_address(door);
	CHECK_OK(peal_kernel_launch(s.rt, 1, &peal_program_ranks, &o, &far));
	for (i = 0; i < 3; i++)
		actor[i] = harness_spawn(far, "note", i);
	/* the forwarding link leads to worker 0 */
	CHECK_OK(peal_proxy_create(s.k, actor[0], NULL, &proxy[0]));
	CHECK_OK(peal_proxy_create(s.k, actor[2], NULL, &proxy[1]));
	link_to(actor[0], PEAL_PRIORITY_NORMAL, &front);
	link_to(actor[1], PEAL_PRIORITY_NORMAL, &gate[0]);
	link_to(actor[2], PEAL_PRIORITY_NORMAL, &gate[1]);
	link_to(s.note, PEAL_PRIORITY_NORMAL, &port);
	for (turn = 0; turn < 3; turn++) {
		EVENTUALLY(is_idle(far));
		in_queue(far, "note", 1);
		in_queue(far, "note", 2);
		before = told(far);
		peal_store_release_sys(&door->word, 0);
		send_note(gate[0], RANK_GATE, stop, 1);
		EVENTUALLY(peal_load_acquire_sys(&door->waits));
		close_gate(gate[1]);
		send_far(front, actor[1], say(NO_SENDER, 0), NOTES);
		EVENTUALLY(told(far) - before > SLOTS / 2);
		send_far(port, proxy[1], say(LOW, 0), NOTES);
		/* beyond SLOTS, messages are in mailbox.forward_slots */
		EVENTUALLY(told(far) - before > SLOTS);
		rest(far);
		CHECK(passed() - turn * NOTES <= SLOTS);
		peal_store_release_sys(&door->word, 1);
		open_gate();
		written((turn + 1) * NOTES);
		EVENTUALLY(told(far) - before == 2 * NOTES);
		CHECK_EQ(passed(), (turn + 1) * NOTES);
	}
	CHECK_OK(peal_kernel_stop(far, MAX_WAIT));
	close_rank_fixture();
}

PEAL_TEST_MAIN(RUN_LANES(forwarding_never_exceeds_sender_slots);)
