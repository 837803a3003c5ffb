/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Handlers spawn and retire actors with hooks for each message. Other messages
 * wait in a mailbox for the inits of these actors. They do not block the inits.
 */
#include "runtime/both_lanes.h"

PEAL_DECLARE_PROGRAM(spawn_chain);

#define MESSAGES 3000

static void breed(uint32_t workers, uint32_t slots, uint32_t worker)
{
	struct peal_kernel_options o = { .size = sizeof(o),
					 .workers = workers,
					 .lanes = lanes,
					 .max_actors = 64,
					 .mailbox.slots = slots,
					 .spawn.max_actors = 16 };
	struct peal_runtime *rt = harness_open(1, "");
	struct peal_endpoint *e = harness_endpoint(rt);
	struct peal_kernel_info info;
	struct peal_kernel *k = NULL;
	uint64_t spawner, door, i;

	CHECK_OK(peal_kernel_launch(rt, 0, &peal_program_spawn_chain, &o, &k));
	door = harness_spawn(k, "door", 0);
	spawner = harness_spawn(k, "spawner", (int)worker);
	harness_from(rt, e, 0, door,
		     (struct peal_link_options){ .capacity = 0 });
	for (i = 0; i < MESSAGES; i++)
		CHECK_OK(peal_send_to(e, 0, spawner, 1, NULL, 0, MAX_WAIT,
				      NULL));
	CHECK_OK(peal_send_end(e, 0, MAX_WAIT));
	CHECK_OK(peal_kernel_drain(k, MAX_WAIT));
	CHECK_OK(peal_kernel_info(k, &info));
	CHECK_EQ(info.spawned, MESSAGES);
	CHECK_EQ(info.retired, MESSAGES - 1);
	CHECK_EQ(info.inits, info.exits);
	CHECK_EQ(info.failed, 0);
	/* messages for a child that ended before its init are dead */
	CHECK_EQ(info.mailbox_sends, info.mailbox_done);
	CHECK(info.mailbox_dead <= MESSAGES);
	harness_conserved(rt);
	CHECK_OK(peal_runtime_shutdown(rt));
}

PEAL_TEST(messages_waiting_for_init_do_not_block_inits)
{
	breed(1, 16, 0);
	breed(2, 8, 1);
	breed(2, 16, 1);
	breed(3, 16, 2);
}

PEAL_TEST_MAIN(RUN_LANES(messages_waiting_for_init_do_not_block_inits);)
