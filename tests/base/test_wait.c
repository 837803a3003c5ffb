/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shows the waits of the host's calls: timeouts, sleeps and deadlines. Shows
 * how options of other versions are copied.
 */
#include <stdlib.h>
#include <string.h>

#include "peal_test.h"
#include "runtime/base/wait.h"

static struct peal_bell *new_bell(void)
{
	struct peal_bell *bell = (struct peal_bell *)aligned_alloc(
		PEAL_SHARED_LINE, sizeof(*bell));

	CHECK(bell);
	memset(bell, 0, sizeof(*bell));
	return bell;
}

PEAL_TEST(zero_timeout_does_not_wait)
{
	struct peal_bell *bell = new_bell();
	struct peali_bell_wait p;

	peali_bell_wait_begin(&p, bell, 0, 0);
	CHECK_EQ(peali_bell_wait_turn(&p), PEAL_EAGAIN);
	CHECK_EQ(bell->steps, 0);
	free(bell);
}

PEAL_TEST(wait_ends_at_its_timeout_not_earlier)
{
	static const int silent[] = { 0, 1 };
	struct peal_bell *bell = new_bell();
	struct peali_bell_wait p;
	uint64_t began;
	int i, result;

	for (i = 0; i < 2; i++) {
		began = peali_now_ns();
		peali_bell_wait_begin(&p, bell, silent[i], 20000000);
		while (!(result = peali_bell_wait_turn(&p)))
			;
		peali_bell_wait_end(&p);
		CHECK_EQ(result, PEAL_ETIMEDOUT);
		CHECK(peali_now_ns() - began >= 20000000);
	}
	free(bell);
}

/* Returns the longest sleep in us that these turns allow the bell. */
static uint32_t longest_us(int64_t timeout_ns, int turns)
{
	struct peal_bell *bell = new_bell();
	struct peali_bell_wait p;
	uint32_t longest = 0;

	peali_bell_wait_begin(&p, bell, 0, timeout_ns);
	while (turns-- && !peali_bell_wait_turn(&p))
		if (bell->max_sleep_us > longest)
			longest = bell->max_sleep_us;
	peali_bell_wait_end(&p);
	free(bell);
	return longest;
}

/* The thread that should ring may die before. So no sleep is long. */
PEAL_TEST(sleep_is_bounded_by_deadline_and_50_ms)
{
	CHECK_EQ(longest_us(-1, 20), 50000);
	CHECK_EQ(longest_us(INT64_MAX, 20), 50000);
	CHECK_EQ(longest_us(3600000000000, 20), 50000);
	CHECK(longest_us(20000000, 20) <= 20001);
	CHECK(longest_us(1000000, 20) <= 1001);
	CHECK(longest_us(1, 20) <= 1);
}

/* Otherwise the next wait would sleep at once, instead of spinning first. */
PEAL_TEST(next_wait_spins_again_after_any_timeout)
{
	static const int64_t timeouts[] = { -1, 1000000000, INT64_MAX };
	struct peal_bell *bell = new_bell();
	struct peali_bell_wait p;
	int i, turn;

	for (i = 0; i < 3; i++) {
		peali_bell_wait_begin(&p, bell, 0, timeouts[i]);
		for (turn = 0; turn < 400; turn++)
			if (bell->steps < 300) /* before it sleeps */
				CHECK_EQ(peali_bell_wait_turn(&p), 0);
		CHECK(bell->steps >= 300);
		peali_bell_wait_end(&p);
		CHECK_EQ(bell->steps, 0);
		CHECK_EQ(bell->asleep, 0);
	}
	free(bell);
}

PEAL_TEST(deadlines_do_not_overflow)
{
	CHECK_EQ(peali_deadline(-1), UINT64_MAX);
	CHECK(!peali_late(peali_deadline(-1)));
	CHECK(!peali_late(peali_deadline(INT64_MAX)));
	CHECK(peali_late(peali_deadline(0)));
}

struct narrow_options {
	uint32_t size, a, b;
};

struct wide_options {
	uint32_t size, a;
	uint64_t b;
	const char *c;
	uint32_t d, e;
};

/* Returns 1 if every 8-byte field was copied as a whole, or not at all. */
static int is_whole(const struct wide_options *o)
{
	return (o->b == 0 || o->b == UINT64_MAX) &&
	       (!o->c || (uintptr_t)o->c == UINTPTR_MAX);
}

PEAL_TEST(older_option_sizes_are_accepted_at_whole_fields)
{
	struct wide_options wide, from, untouched;
	struct narrow_options narrow, few = { 0, 7, 9 };
	uint32_t size, taken = 0;

	memset(&untouched, 0x5a, sizeof(untouched));
	for (size = 0; size <= sizeof(from) + 8; size++) {
		memset(&from, 0xff, sizeof(from));
		from.size = size;
		wide = untouched;
		if (size && size % 8 == 0 && size <= sizeof(from)) {
			CHECK_OK(peali_options_copy(&wide, sizeof(wide), &from,
						    "test"));
			CHECK(is_whole(&wide));
			CHECK_EQ(wide.b, size > 8 ? UINT64_MAX : 0);
			CHECK_EQ(wide.e, size > 24 ? UINT32_MAX : 0);
			taken++;
			continue;
		}
		CHECK_FAILS(peali_options_copy(&wide, sizeof(wide), &from,
					       "test"),
			    PEAL_EINVAL, "'size': is");
		CHECK(!memcmp(&wide, &untouched, sizeof(wide)));
	}
	CHECK_EQ(taken, 4);
	for (size = 1; size <= sizeof(few); size++) {
		few.size = size;
		if (size % 4) {
			CHECK_FAILS(peali_options_copy(&narrow, sizeof(narrow),
						       &few, "test"),
				    PEAL_EINVAL, "no version of the struct");
			continue;
		}
		CHECK_OK(peali_options_copy(&narrow, sizeof(narrow), &few,
					    "test"));
		CHECK_EQ(narrow.a, size > 4 ? 7 : 0);
		CHECK_EQ(narrow.b, size > 8 ? 9 : 0);
	}
}

PEAL_TEST_MAIN(RUN(zero_timeout_does_not_wait);
	       RUN(wait_ends_at_its_timeout_not_earlier);
	       RUN(sleep_is_bounded_by_deadline_and_50_ms);
	       RUN(next_wait_spins_again_after_any_timeout);
	       RUN(deadlines_do_not_overflow);
	       RUN(older_option_sizes_are_accepted_at_whole_fields);)
