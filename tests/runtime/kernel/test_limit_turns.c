/* SPDX-License-Identifier: Apache-2.0 */
#include "queues/step_hook.h"

/*
 * A sender stops in front of any step. Meanwhile so many actors use the limit's
 * record that its turn repeats. Shows that the sender counts no message for
 * another actor.
 */

#include <peal/device/impl/worker/limit.h>

#define FORMER 7u
#define PLACE PEAL_ENTRY(0, 0, 1u << PEAL_LIMIT_SHIFT) /* record 0 */

static struct peal_limit_record record;
static struct peal_kernel_params params;
static struct peal_worker worker;
static uint32_t actors; /* that use the record during the stop */
static uint32_t policy;
static uint64_t waiting; /* messages of each actor */

static void begin(uint32_t actor)
{
	peali_limit_begin(&worker, PLACE, actor, 4, policy);
	peal_store_relaxed_dev(&record.word, record.word + waiting);
}

static void reuse_record(void)
{
	uint32_t i;

	for (i = 0; i < actors; i++) {
		peali_limit_end(&worker, PLACE);
		begin(FORMER + 1 + i);
	}
	step_due = 0;
}

/* Returns 0 if the call has fewer steps. */
static int stop_before(unsigned long due)
{
	int result, stopped;

	memset(&record, 0, sizeof(record));
	begin(FORMER);
	step_between = reuse_record;
	step_due = due;
	VICTIM_CALL(result = peali_limit_enter(&worker, PLACE, FORMER));
	stopped = !step_due;
	step_due = 0;
	if (record.actor == FORMER) {
		CHECK_EQ(result, 0);
		return stopped;
	}
	/* 0: the message was counted before the record was reused */
	CHECK(result == PEAL_ENOENT || !result);
	CHECK_EQ(PEAL_LIMIT_WAITING(record.word), waiting);
	CHECK_EQ(PEAL_LIMIT_DROPPED(record.word), 0);
	return stopped;
}

static void stop_anywhere(uint32_t overflow, uint64_t full)
{
	static const uint32_t most[] = { 1, 32767, 32768, 65536 };
	unsigned long due;
	size_t i;

	policy = overflow;
	waiting = full;
	for (i = 0; i < 4; i++) {
		actors = most[i];
		for (due = 1; stop_before(due); due++)
			;
		CHECK(due > 4);
	}
}

PEAL_TEST(sender_that_stops_counts_nothing_for_a_later_actor)
{
	params.limits = (uint64_t)(uintptr_t)&record;
	worker.params = &params;
	stop_anywhere(PEAL_OVERFLOW_FAIL, 0);
	stop_anywhere(PEAL_OVERFLOW_DROP_OLDEST, 0);
	stop_anywhere(PEAL_OVERFLOW_DROP_OLDEST, 4);
}

PEAL_TEST_MAIN(RUN(sender_that_stops_counts_nothing_for_a_later_actor);)
