/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Three and more workers tell each other while links keep all mailboxes full.
 * Shows that the workers do not stall. A handled message frees its slot for the
 * messages that its handler tells, to any worker.
 */
#include "runtime/harness.h"
#include "runtime/full_mailbox.h"

PEAL_DECLARE_PROGRAM(cross_traffic);

#define WORKERS_MAX 8
#define MESSAGES (IDENTITY_SANITIZED || test_on_gpu() ? 4000u : 20000u)

/*
 * Sends messages by one link per worker, and checks that all are handled.
 *
 * Each worker passes messages for other workers on, so all mailboxes are full.
 * A message may have `hops` hops. Its handler tells a random worker, with one
 * hop less. So workers with full mailboxes wait for each other.
 *
 * told_each: messages told for each message with hops, without the extra
 * messages of `shed`.
 */
static void cross_traffic(const char *handler, uint32_t workers, uint32_t lanes,
			  uint32_t slots, uint16_t hops, uint64_t told_each)
{
	struct peal_link_options none = { .capacity = 0 };
	struct peal_runtime *rt = harness_open(1, "");
	struct peal_endpoint *e = harness_endpoint(rt);
	struct row_actor init = { workers, 0, 0, 0 };
	struct peal_kernel_options o = { .size = sizeof(o),
					 .workers = workers,
					 .lanes = lanes,
					 .mailbox.slots = slots };
	int sheds = !strcmp(handler, "shed");
	uint64_t actor[WORKERS_MAX], n = MESSAGES / (sheds ? 2u : 1u + hops),
				     sent = 0, at;
	uint64_t seen = 0, told = 0, passed = 0, step;
	struct peal_kernel_info info;
	struct peal_kernel *k;
	uint32_t i;

	CHECK_OK(
		peal_kernel_launch(rt, 0, &peal_program_cross_traffic, &o, &k));
	for (i = 0; i < workers; i++) {
		struct peal_actor_options a = { .size = sizeof(a),
						.worker = PEAL_WORKER(i),
						.init = &init,
						.init_bytes = sizeof(init) };

		CHECK_OK(peal_actor_spawn(k, handler, &a, &actor[i]));
		harness_from(rt, e, i, actor[i], none);
	}
	for (at = 0; at < n; at++) {
		uint64_t word = at * 0x9e3779b97f4a7c15ULL;
		uint32_t to = (uint32_t)(word >> 40) % workers;
		uint16_t type = word >> 60 < 11 ? hops : 0; /* 11 of 16 */

		CHECK_OK(peal_send_to(e, at % workers, actor[to], type, &word,
				      sizeof(word), MAX_WAIT, NULL));
		sent++;
		told += type ? told_each : 0;
		/* the additional messages of handler `shed` */
		for (step = word; type && sheds; type--) {
			told += ROW_SHED * (step >> 60 == 5);
			step = step * 6364136223846793005ULL +
			       1442695040888963407ULL;
		}
		passed += to != at % workers;
	}
	for (i = 0; i < workers; i++)
		CHECK_OK(peal_send_end(e, i, MAX_WAIT));
	CHECK_OK(peal_kernel_drain(k, MAX_WAIT));
	CHECK_OK(peal_kernel_info(k, &info));
	CHECK_EQ(info.mailbox_sends, told + passed);
	CHECK_EQ(info.mailbox_done, told + passed);
	CHECK_EQ(info.mailbox_dead, 0);
	CHECK_EQ(info.failed, 0);
	for (i = 0; i < workers; i++) {
		CHECK_OK(peal_actor_state(rt, actor[i], &init, sizeof(init)));
		seen += init.seen;
	}
	CHECK_EQ(seen, sent + told);
	harness_conserved(rt);
	CHECK_OK(peal_runtime_shutdown(rt));
}

PEAL_TEST(third_worker_starves_no_sender_of_slots)
{
	cross_traffic("random_hop", 3, 1, 32, 1, 1);
	cross_traffic("random_hop", 3, 1, 64, 1, 1);
	cross_traffic("random_hop", 3, 32, 64, 1, 1);
	cross_traffic("random_hop", 5, 1, 1024, 1, 1);
}

PEAL_TEST(long_hop_chains_between_full_mailboxes_complete)
{
	cross_traffic("random_hop", 2, 1, 16, 20, 20);
	cross_traffic("random_hop", 3, 1, 32, 20, 20);
	cross_traffic("random_hop", 5, 1, 64, 200, 200);
}

PEAL_TEST(unsent_declared_tells_block_no_other_worker)
{
	cross_traffic("wander", 3, 1, 32, 1, 1);
	cross_traffic("wander", 5, 1, 64, 20, 20);
	cross_traffic("wander", 3, 32, 64, 20, 20);
}

PEAL_TEST(multiplying_mail_finds_slots_beside_links)
{
	cross_traffic("split", 3, 1, 64, 1, 2);
	cross_traffic("split", 3, 1, 1024, 1, 2);
	cross_traffic("split", 5, 32, 256, 1, 2);
}

PEAL_TEST(link_messages_leave_slots_for_mail)
{
	cross_traffic("shed", 2, 1, 256, 6, 6);
	cross_traffic("shed", 2, 32, 512, 6, 6);
	cross_traffic("shed", 8, 1, 1024, 6, 6);
}

PEAL_TEST_MAIN(RUN(third_worker_starves_no_sender_of_slots);
	       RUN(long_hop_chains_between_full_mailboxes_complete);
	       RUN(unsent_declared_tells_block_no_other_worker);
	       RUN(multiplying_mail_finds_slots_beside_links);
	       RUN(link_messages_leave_slots_for_mail);)
