/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a kernel takes from a passage by places it owes slots for (device/away.h): so
 * the other one passes on no more than both have slots for, however many places there
 * are, and has all its slots again in the end.
 */
#include <peal/proxy.h>

#include "runtime/rank_stand.h"

#define SLOTS 64
#define PLACES 512
#define NOTES 1000

/* Messages that kernels have passed on by now. */
static uint64_t passed(void)
{
	struct peal_link *all[16];
	struct peal_link_info info;
	uint64_t sum = 0;
	int i, n = peal_link_list(s.rt, all, 16);

	for (i = 0; i < n; i++) {
		CHECK_OK(peal_link_info(all[i], &info));
		if ((uint32_t)info.from == PEAL_PASSAGE_ACTOR)
			sum += info.accepted;
	}
	return sum;
}

/* The same when that has not changed for a while. */
static uint64_t passed_at_rest(void)
{
	uint64_t before, now = passed();

	do {
		before = now;
		identity_sleep_us(200000);
		now = passed();
	} while (now != before);
	return now;
}

/* Worker 1 of the other kernel stands at a gate; what is for it comes by a passage
 * to worker 0. */
PEAL_TEST(no_more_is_passed_on_than_there_are_slots_for)
{
	struct peal_kernel_options mine = { .workers = 1,
					    .mailbox_slots = SLOTS };
	struct peal_kernel_options o = { .size = sizeof(o),
					 .workers = 2,
					 .lanes = lanes,
					 .mailbox_slots = SLOTS,
					 .passage_slots = PLACES };
	uint64_t note, front, proxy[2], before, turn;
	struct peal_kernel *far = NULL;
	uint32_t gate, port;

	open_stand(mine, 0);
	CHECK_OK(peal_kernel_launch(s.rt, 1, &peal_program_ranks, &o, &far));
	front = harness_spawn(far, "note", 0);
	note = harness_spawn(far, "note", 1);
	CHECK_OK(peal_proxy_create(s.k, front, NULL, &proxy[0]));
	CHECK_OK(peal_proxy_create(s.k, note, NULL, &proxy[1]));
	link_to(note, PEAL_PRIORITY_NORMAL, &gate);
	link_to(s.note, PEAL_PRIORITY_NORMAL, &port);
	for (turn = 1; turn <= 3; turn++) {
		before = passed();
		close_gate(gate);
		send_far(port, proxy[1], say(LOW, 0), NOTES);
		EVENTUALLY(passed() - before > SLOTS); /* by places, too */
		CHECK(passed_at_rest() - before <= 2 * SLOTS);
		open_gate();
		written(turn * NOTES);
		CHECK_EQ(passed(), turn * NOTES);
	}
	CHECK_OK(peal_kernel_stop(far, PATIENCE));
	close_stand();
}

PEAL_TEST_MAIN(RUN_LANES(no_more_is_passed_on_than_there_are_slots_for);)
