/* SPDX-License-Identifier: Apache-2.0 */
#include "work_pool.h"

/*
 * Shows the results of a claim: a missing ticket, a message of a wrong kind, or
 * a poisoned ticket.
 */

/*
 * For a moment another consumer has claimed more messages than there are
 * tickets. A new consumer comes in this moment. Then the other one takes its
 * excess back.
 */
PEAL_TEST(consumer_claims_nothing_during_overclaim)
{
	struct identity_message m;
	struct work_pool w;
	uint64_t over;

	EACH_POLICY(policy)
	for (over = 1; over <= 4; over++) {
		work_pool_open(&w, policy, 64, 1, 1);
		CHECK_EQ(work_put(&w, 0, 0), 0);
		CHECK_EQ(work_take(&w, 0, &m), 1);
		w.q->claimed += over;
		peal_work_consumer_init(w.q, &w.at[1].c, w.at[1].stage);
		w.q->claimed -= over;
		CHECK_EQ(work_take(&w, 1, &m), PEAL_EAGAIN);
		CHECK_EQ(w.q->claimed, 1);
		CHECK_EQ(w.q->turn, 1);
		/* any consumer gets the next message */
		CHECK_EQ(work_put(&w, 0, 1), 0);
		CHECK_EQ(work_take(&w, 0, &m), 1);
		CHECK_EQ(m.sequence, 1);
		work_pool_conserved(&w, 0);
		work_pool_close(&w);
	}
}

/* Puts a whole message of any kind, as a damaged producer could. */
static void put_kind(struct work_pool *w, uint64_t number, uint32_t kind)
{
	struct {
		struct peal_header header;
		struct identity_message m;
	} content = { { 0, 0, 3 }, identity_make(0, number) };
	uint8_t *slot = peali_work_slot(w->q, number);
	uint32_t lap = peali_work_lap(w->q, number);

	if (w->q->policy == PEAL_POLICY_SEQUENCE) {
		memcpy(slot + 8, &content, sizeof(content));
		peal_slot_publish(slot, lap, kind, sizeof(content));
		return;
	}
	peal_slot_pack(w->q->policy, slot, lap, kind, (const uint8_t *)&content,
		       sizeof(content), 0, 1);
}

PEAL_TEST(only_slots_of_kind_data_are_delivered)
{
	struct identity_message m;
	struct work_pool w;
	uint32_t kind;

	EACH_POLICY(policy)
	for (kind = PEAL_KIND_DATA; kind <= PEAL_KIND_DEAD; kind++) {
		work_pool_open(&w, policy, 16, 1, 1);
		put_kind(&w, work_vanish(&w, 0), kind);
		CHECK_EQ(work_put(&w, 0, 1), 0);
		CHECK_EQ(work_take(&w, 0, &m), 1);
		CHECK_EQ(m.sequence, kind == PEAL_KIND_DATA ? 0 : 1);
		CHECK_EQ(w.at[0].c.dead, kind != PEAL_KIND_DATA);
		if (kind == PEAL_KIND_DATA)
			CHECK_EQ(work_take(&w, 0, &m), 1);
		work_pool_conserved(&w, 0);
		work_pool_close(&w);
	}
}

/*
 * Only tickets of the last lap can be open. The slot of an older ticket holds a
 * later message, which must not be lost.
 */
PEAL_TEST(only_tickets_of_last_lap_are_abandoned)
{
	static const uint64_t laps[] = { 1, 2, 3, 100 };
	struct identity_message m;
	struct work_pool w;
	uint64_t i, k;

	EACH_POLICY(policy)
	for (k = 0; k < sizeof(laps) / sizeof(laps[0]); k++) {
		const uint64_t start = laps[k] * 4;

		work_pool_open(&w, policy, 4, 1, 1);
		work_pool_start_at(&w, start);
		for (i = 0; i < 4; i++)
			CHECK_EQ(work_put(&w, 0, i), 0);
		for (i = 0; i < start; i++)
			CHECK_EQ(peal_work_abandon_ticket(w.q, i), PEAL_EINVAL);
		for (i = 0; i < 9; i++) /* put, and not taken */
			CHECK_EQ(peal_work_abandon_ticket(w.q, start + i),
				 PEAL_EINVAL);
		for (i = 0; i < 4; i++) {
			CHECK_EQ(work_take(&w, 0, &m), 1);
			CHECK_EQ(m.sequence, i);
		}
		CHECK_EQ(w.at[0].c.dead, 0);
		work_pool_conserved(&w, start);
		work_pool_close(&w);
	}
}

PEAL_TEST_MAIN(RUN(consumer_claims_nothing_during_overclaim);
	       RUN(only_slots_of_kind_data_are_delivered);
	       RUN(only_tickets_of_last_lap_are_abandoned);)
