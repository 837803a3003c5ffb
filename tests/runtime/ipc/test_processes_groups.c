/* SPDX-License-Identifier: Apache-2.0 */
/* labels: fast alone quick */
/*
 * Shows that collectives of processes give right results, for all kinds and
 * many sizes. All ranks name a rank that calls differently, is late, leaves or
 * dies.
 */
#include <peal/communicator.h>
#include <peal/process_group.h>

#include "runtime/process_fixture.h"
#include "runtime/communicator_fixture.h"

#define ROUNDS (IDENTITY_SANITIZED || test_on_gpu() ? 12 : test_part(40))
#define DEAD 40 /* word of shared memory: 1 + rank of the killed process */
#define DONE 41 /* word of shared memory: ranks that have noticed the death */

static int rank;
static struct fixture s;
static struct peal_process_group *set;

static void make_comm(const char *name, uint32_t channels, uint32_t slice)
{
	const struct peal_comm_options o = { .size = sizeof(o),
					     .channels = channels,
					     .lanes = lanes,
					     .slice_bytes = slice };

	CHECK_OK(peal_comm_create_group(set, name, NULL, 0, 0, &o, MAX_WAIT,
					&s.g));
}

static void enter(int rank_, uint32_t channels, uint32_t slice, uint64_t bytes)
{
	rank = rank_;
	memset(&s, 0, sizeof(s));
	s.rt = harness_open(1, "");
	set = procs_enter(s.rt);
	s.n = (uint32_t)procs_ranks;
	s.processes = 1;
	s.own = (uint32_t)rank;
	make_comm("all", channels, slice);
	fixture_furnish(&s, bytes);
}

static void leave(void)
{
	fixture_close(&s);
	CHECK_OK(peal_process_group_leave(set, MAX_WAIT));
	CHECK_OK(peal_runtime_shutdown(s.rt));
}

/* ---- results ------------------------------------------------------------- */

/* Runs all kinds with all their algorithms, from 0 to 4999 elements. */
static void each_kind(void)
{
	static const uint64_t lengths[] = { 0, 1, 2, 3, 4, 5, 101, 1009, 4999 };
	struct act a = { .element = PEAL_I32 };
	uint64_t turn = 0, i;

	for (a.kind = 1; a.kind < PEAL_COLLECTIVE_KINDS; a.kind++)
		for (a.algorithm = 0; a.algorithm < PEAL_ALGORITHMS;
		     a.algorithm++)
			for (i = 0; i < sizeof(lengths) / sizeof(*lengths);
			     i++) {
				a.count = lengths[i];
				a.element = 1 + turn % (PEAL_ELEMENTS - 1);
				a.reduction =
					act_reduces(&a) ? 1 + turn / 3 % 5 : 0;
				a.root =
					a.kind == PEAL_ALL_REDUCE ||
							a.kind ==
								PEAL_REDUCE_SCATTER ||
							a.kind ==
								PEAL_ALL_GATHER ||
							a.kind >=
								PEAL_COMM_BARRIER ?
						0 :
						(uint32_t)(turn % s.n);
				a.in_place = turn % 2 &&
					     a.kind != PEAL_ALL_TO_ALL;
				turn++;
				if (a.algorithm == PEAL_ALGORITHM_TREE &&
				    !peali_kind_has_tree(a.kind))
					continue;
				if (a.algorithm > PEAL_ALGORITHM_RING &&
				    a.count * act_bytes(&a) >
					    PEAL_EXCHANGE_BYTES)
					continue;
				if (a.kind != PEAL_COMM_BARRIER)
					fixture_check(&s, a);
			}
}

static void one_channel(int rank_)
{
	enter(rank_, 1, 64, 8 * 5000);
	each_kind();
	leave();
}

static void three_channels(int rank_)
{
	enter(rank_, 3, 512, 8 * 5000);
	each_kind();
	leave();
}

PEAL_TEST(all_collective_kinds_are_correct)
{
	PROCS(2, one_channel);
	if (!PEAL_TSAN)
		PROCS(4, one_channel);
	PROCS(3, three_channels);
}

static void alone(int rank_)
{
	enter(rank_, 1, 0, 8 * 5000);
	each_kind();
	leave();
}

PEAL_TEST(one_process_forms_a_communicator)
{
	PROCS(1, alone);
}

static void many(int rank_)
{
	struct act a = { .kind = PEAL_ALL_REDUCE,
			 .element = PEAL_F32,
			 .reduction = PEAL_SUM,
			 .count = 1000003 };

	enter(rank_, 2, 0, 4 * a.count);
	fixture_check(&s, a);
	a.kind = PEAL_BROADCAST;
	a.reduction = 0;
	a.root = 1;
	fixture_check(&s, a);
	leave();
}

PEAL_TEST(million_elements_are_correct_for_four_ranks)
{
	PROCS(4, many);
}

/*
 * A root that only sends waits for no other rank. It must not run ahead of the
 * other ranks.
 */
static void hurried(int rank_)
{
	struct act a = { .kind = PEAL_BROADCAST,
			 .element = PEAL_I32,
			 .count = 7 };
	int i;

	enter(rank_, 1, 64, 4096);
	for (i = 0; i < 500; i++) {
		a.kind = i % 3 ? PEAL_BROADCAST : PEAL_REDUCE;
		a.reduction = i % 3 ? 0 : PEAL_SUM;
		a.root = (uint32_t)(i / 7) % s.n;
		a.algorithm = (uint32_t)(i % 4);
		fixture_check(&s, a);
	}
	leave();
}

PEAL_TEST(consecutive_collectives_do_not_interfere)
{
	PROCS(3, hurried);
}

/* A group of two ranks, in reverse order, beside the group of all three. */
static void parts(int rank_)
{
	static const uint32_t two[] = { 2, 0 };
	struct peal_comm_options o = { .size = sizeof(o), .lanes = lanes };
	struct act a = { .kind = PEAL_ALL_GATHER,
			 .element = PEAL_I64,
			 .count = 5 };
	struct fixture whole;

	enter(rank_, 1, 64, 4096);
	whole = s;
	if (rank != 1) {
		memset(&s, 0, sizeof(s));
		s.rt = whole.rt;
		s.processes = 1;
		s.n = 2;
		s.own = rank == 0;
		CHECK_OK(peal_comm_create_group(set, "two", two, 2, 0, &o,
						MAX_WAIT, &s.g));
		fixture_furnish(&s, 4096);
		fixture_check(&s, a);
		fixture_close(&s);
		s = whole;
	}
	fixture_check(&s, a);
	leave();
}

PEAL_TEST(subset_of_processes_forms_a_communicator)
{
	PROCS(3, parts);
}

/* ---- errors -------------------------------------------------------------- */

static const struct act sum = { .kind = PEAL_ALL_REDUCE,
				.element = PEAL_I64,
				.reduction = PEAL_SUM,
				.count = 100 };

static struct peal_collective ask(const struct act *a)
{
	return act_asks(a, s.in, s.out);
}

/* Checks that no byte of the range was written. */
static void is_blank(uint64_t address, uint64_t bytes)
{
	uint64_t i;

	fixture_copy(&s, s.own, 1, address, s.got, bytes);
	for (i = 0; i < bytes; i++)
		CHECK_EQ(s.got[i], BLANK);
}

/*
 * A call with a differing count leaves all of `out` unchanged. This also holds
 * for kinds that begin with a local copy.
 */
static void touch_nothing(int rank_)
{
	static const uint32_t kinds[] = { PEAL_BROADCAST, PEAL_ALL_GATHER,
					  PEAL_GATHER, PEAL_SCATTER,
					  PEAL_ALL_TO_ALL };
	struct act a = { .element = PEAL_I32 };
	struct peal_collective c;
	uint32_t i;

	enter(rank_, 1, 64, 4096);
	for (i = 0; i < 10; i++) {
		a.kind = kinds[i / 2];
		a.algorithm = 1 + i % 2;
		a.count = 20 + (uint64_t)rank;
		memset(s.got, BLANK, s.bytes);
		fixture_copy(&s, s.own, 0, s.out[rank], s.got, 4096);
		c = ask(&a);
		CHECK_EQ(peal_collective_run(s.g, &c, MAX_WAIT), PEAL_EINVAL);
		is_blank(s.out[rank], 4096);
		a.count = 20;
		fixture_check(&s, a);
	}
	leave();
}

PEAL_TEST(mismatched_calls_write_nothing)
{
	PROCS(2, touch_nothing);
}

/*
 * One rank calls a different collective. All ranks get an error, and the group
 * still works.
 */
static void differ(int rank_)
{
	struct act a;
	struct peal_collective c;
	int i;

	enter(rank_, 1, 64, 4096);
	for (i = 0; i < 6; i++) {
		a = sum;
		if (rank == i % 3) {
			a.count += i == 0;
			a.element = i == 1 ? PEAL_F64 : a.element;
			a.reduction = i == 2 ? PEAL_MAX : a.reduction;
			a.algorithm = i == 3 ? PEAL_ALGORITHM_RING : 0;
			a.count = i == 4 ? 0 : a.count;
			if (i == 5) {
				a.kind = PEAL_BROADCAST;
				a.reduction = 0;
			}
		}
		c = ask(&a);
		CHECK_FAILS(peal_collective_run(s.g, &c, MAX_WAIT), PEAL_EINVAL,
			    rank == i % 3 ? "of group 'all' differs: "
					    "all-reduce, sum 100 i64" :
					    "of group 'all' differs: ");
		if (i == 5)
			CHECK_CONTAINS(peal_last_error()->text, "broadcast");
		fixture_check(&s, sum);
	}
	leave();
}

PEAL_TEST(all_ranks_name_mismatched_calls)
{
	PROCS(3, differ);
}

static void differ_from_the_first(int rank_)
{
	const struct peal_comm_options o = { .size = sizeof(o),
					     .slice_bytes = rank_ ? 64 : 128 };
	static const uint32_t there[] = { 0, 1 }, back[] = { 1, 0 };
	struct peal_comm *g;

	rank = rank_;
	s.rt = harness_open(1, "");
	set = procs_enter(s.rt);
	CHECK_FAILS(peal_comm_create_group(set, "a", NULL, 0, 0, &o, MAX_WAIT,
					   &g),
		    PEAL_EINVAL,
		    rank ? "slices of 128 bytes; this one, rank 1, calls" :
			   "slices of 64 bytes; this one, rank 0, calls");
	procs_meet(2);
	/* each rank takes itself for the first member */
	CHECK(peal_comm_create_group(set, "b", rank ? back : there, 2, 0, NULL,
				     SECOND, &g));
	procs_meet(3);
	CHECK_OK(peal_process_group_leave(set, MAX_WAIT));
	CHECK_OK(peal_runtime_shutdown(s.rt));
}

PEAL_TEST(mismatched_communicators_are_not_created)
{
	PROCS(2, differ_from_the_first);
}

/*
 * Makes groups of one name, one after another. A different rank is slow each
 * time.
 */
static void again(int rank_)
{
	int i;

	enter(rank_, 1, 64, 4096);
	for (i = 0; i < 12; i++) {
		fixture_check(&s, sum);
		if (i % 3 == rank)
			identity_sleep_us(2000);
		fixture_close(&s);
		make_comm("all", 1 + (uint32_t)i % 2, 64);
		fixture_furnish(&s, 4096);
	}
	leave();
}

PEAL_TEST(communicator_name_can_be_reused)
{
	PROCS(3, again);
}

static void refuse(uint32_t n, const uint32_t *ranks, const char *name,
		   int device, int error, const char *text)
{
	struct peal_comm *g;

	CHECK_FAILS(peal_comm_create_group(set, name, ranks, n, device, NULL,
					   SECOND / 10, &g),
		    error, text);
}

static void bad(int rank_)
{
	static const uint32_t twice[] = { 0, 1, 0 }, others[] = { 1 },
			      none[] = { 0, 2 }, us[] = { 0, 1 };
	struct peal_process_group_info info;

	rank = rank_;
	s.rt = harness_open(1, "");
	set = procs_enter(s.rt);
	if (rank == 0) {
		refuse(3, twice, "a", 0, PEAL_EINVAL,
		       "rank 0: is listed twice "
		       "(2 times, allowed 1)");
		refuse(1, others, "a", 0, PEAL_EINVAL,
		       "'ranks': lacks the rank of the caller (not listed, "
		       "allowed lists with rank 0)");
		refuse(2, none, "a", 0, PEAL_ENOENT,
		       "process group: has no "
		       "such rank (2, allowed 0..1)");
		refuse(0, none, "a", 0, PEAL_EINVAL,
		       "'n': is out of range (0, "
		       "allowed 1..64)");
		refuse(2, us, "", 0, PEAL_EINVAL, "bytes, allowed 1..39)");
		refuse(2, us, NULL, 0, PEAL_EINVAL, "bytes, allowed 1..39)");
		refuse(2, us,
		       "a name that is too long for what it is put before", 0,
		       PEAL_EINVAL, "bytes, allowed 1..39)");
		refuse(2, us, "a", 7, PEAL_ENODEV, "7");
		/* rank 1 does not make the group */
		refuse(2, us, "a", 0, PEAL_ENOENT, "rank 1");
		CHECK_EQ(peal_comm_create_group(NULL, "a", us, 2, 0, NULL, 0,
						&s.g),
			 PEAL_EINVAL);
		CHECK_OK(peal_process_group_info(set, &info));
		CHECK_EQ(info.n_exports, 0);
		CHECK_EQ(info.n_links, 0);
	}
	procs_meet(2);
	CHECK_OK(peal_process_group_leave(set, MAX_WAIT));
	CHECK_OK(peal_runtime_shutdown(s.rt));
}

PEAL_TEST(invalid_arguments_return_einval)
{
	PROCS(2, bad);
}

/* ---- late, leaving and dead ranks ---------------------------------------- */

static void late(int rank_)
{
	struct peal_collective c;

	enter(rank_, 1, 64, 4096);
	c = ask(&sum);
	if (rank == 0) {
		CHECK_OK(peal_collective_start(s.g, &c));
		CHECK_FAILS(peal_collective_wait(s.g, 20 * MS), PEAL_ETIMEDOUT,
			    "not called by ranks 1 (process 1)");
		CHECK_FAILS(peal_process_group_leave(set, 0), PEAL_EBUSY,
			    "group 'all' has links of this set");
		procs_meet(2);
		CHECK_OK(peal_collective_wait(s.g, MAX_WAIT));
	} else {
		procs_meet(2);
		CHECK_OK(peal_collective_run(s.g, &c, MAX_WAIT));
	}
	leave();
}

PEAL_TEST(missing_rank_is_named)
{
	PROCS(2, late);
}

/*
 * Rank 2 leaves after a collective, which stays complete for the other ranks.
 * Before their next collective they get an error. Rank 1 then leaves during a
 * collective.
 */
static void go(int rank_)
{
	struct act big = sum;
	struct peal_collective c;
	int result;

	big.count = 300000;
	enter(rank_, 1, 4096, 8 * big.count);
	c = ask(&big);
	CHECK_OK(peal_collective_run(s.g, &c, MAX_WAIT));
	if (rank == 2) {
		fixture_close(&s);
	} else {
		while (!(result = peal_collective_run(s.g, &c, MAX_WAIT)))
			;
		/*
		 * PEAL_EABORTED: the other remaining rank was told first, and
		 * left
		 */
		CHECK(result == PEAL_ESTOPPED || result == PEAL_EABORTED);
		CHECK_CONTAINS(peal_last_error()->text, "rank 2 (pid ");
		fixture_close(&s);
	}
	procs_meet(2);
	memset(&s.in, 0, sizeof(s.in));
	make_comm("other", 1, 64);
	fixture_furnish(&s, 8 * big.count);
	c = ask(&big);
	/* if rank 1 left earlier, rank 0 or rank 2 might not create the group */
	procs_meet(3);
	if (rank == 1)
		CHECK_OK(peal_collective_start(s.g, &c));
	else /* rank 1 tells this rank, or the other remaining rank does */
		CHECK_FAILS(peal_collective_run(s.g, &c, MAX_WAIT),
			    PEAL_EABORTED, ") has aborted");
	if (rank != 1)
		CHECK_CONTAINS(peal_last_error()->text, "rank 1 (pid ");
	leave();
}

PEAL_TEST(leaving_rank_is_named)
{
	PROCS(3, go);
}

/* Rank 1 waits for rank 0, which has given up because rank 2 has died. */
static void die_before(int rank_)
{
	struct peal_comm *g;

	rank = rank_;
	s.rt = harness_open(1, "");
	set = procs_enter(s.rt);
	procs_meet(0);
	if (rank == 2)
		for (;;)
			pause();
	if (rank == 0)
		EVENTUALLY(procs_info(set, 2).state == PEAL_PROCESS_DEAD);
	CHECK_FAILS(peal_comm_create_group(set, "all", NULL, 0, 0, NULL, -1,
					   &g),
		    PEAL_EDIED, "rank 2 (pid ");
	/* a rank that leaves earlier would look like another dead rank */
	atomic_fetch_add(&procs_board->word[DONE], 1);
	EVENTUALLY(atomic_load(&procs_board->word[DONE]) == 2);
	CHECK_OK(peal_process_group_leave(set, MAX_WAIT));
	CHECK_OK(peal_runtime_shutdown(s.rt));
}

PEAL_TEST(rank_dead_during_creation_is_named)
{
	struct procs c;

	procs_start(&c, 3, die_before);
	EVENTUALLY(atomic_load(&c.board->word[0]) == 3);
	identity_sleep_us(100000); /* by now rank 1 most likely waits */
	kill(c.pid[2], SIGKILL);
	CHECK(WIFSIGNALED(procs_await(&c, 2)));
	CHECK_EQ(procs_await(&c, 0), 0);
	CHECK_EQ(procs_await(&c, 1), 0);
	procs_tidy(&c);
}

/* Runs collectives until one rank is killed. Each survivor names that rank. */
static void survive(int rank_)
{
	struct act a = sum;
	struct peal_collective c;
	struct peal_process_info info;
	char name[48];
	int result, dead;
	uint64_t i;

	enter(rank_, 1, 1024, 8 * 4096);
	procs_meet(0);
	for (i = 0;; i++) {
		a.count = i % 5 ? 1 + i % 200 : 4096;
		c = ask(&a);
		result = peal_collective_run(s.g, &c, MAX_WAIT);
		if (result)
			break;
	}
	EVENTUALLY(atomic_load(&procs_board->word[DEAD]));
	dead = (int)atomic_load(&procs_board->word[DEAD]) - 1;
	info = procs_info(set, dead);
	CHECK_EQ(result, PEAL_EDIED);
	snprintf(name, sizeof(name), "rank %d (pid %d) has died", dead,
		 info.pid);
	CHECK_CONTAINS(peal_last_error()->text, name);
	CHECK_EQ(info.state, PEAL_PROCESS_DEAD);
	CHECK(peal_collective_run(s.g, &c, MAX_WAIT));
	/* a rank that leaves earlier would be named as the one that has left */
	atomic_fetch_add(&procs_board->word[DONE], 1);
	EVENTUALLY(atomic_load(&procs_board->word[DONE]) ==
		   (uint64_t)procs_ranks - 1);
	leave();
}

static unsigned long long seed = 1;

static void one_round(int n)
{
	int dead = (int)(test_random(&seed) % (unsigned)n), i;
	struct procs c;

	procs_start(&c, n, survive);
	EVENTUALLY(atomic_load(&c.board->word[0]) == (uint64_t)n);
	identity_sleep_us((unsigned)(test_random(&seed) % 4000));
	kill(c.pid[dead], SIGKILL);
	atomic_store(&c.board->word[DEAD], (uint64_t)dead + 1);
	CHECK(WIFSIGNALED(procs_await(&c, dead)));
	for (i = 0; i < n; i++)
		if (i != dead && procs_await(&c, i)) {
			fprintf(stderr, "rank %d of %d: status %#x\n", i, n,
				(unsigned)c.status[i]);
			exit(1);
		}
	procs_tidy(&c);
}

PEAL_TEST(survivors_of_collective_name_the_killed_rank)
{
	int i, rounds = ROUNDS;

	for (i = 0; i < rounds; i++)
		one_round(i % 4 == 3 ? 4 : 2);
}

PEAL_TEST_MAIN(RUN_LANES(all_collective_kinds_are_correct);
	       RUN(one_process_forms_a_communicator);
	       RUN(million_elements_are_correct_for_four_ranks);
	       RUN_LANES(consecutive_collectives_do_not_interfere);
	       RUN(subset_of_processes_forms_a_communicator);
	       RUN_LANES(all_ranks_name_mismatched_calls);
	       RUN(mismatched_calls_write_nothing);
	       RUN(mismatched_communicators_are_not_created);
	       RUN(rank_dead_during_creation_is_named);
	       RUN(communicator_name_can_be_reused);
	       RUN(invalid_arguments_return_einval); RUN(missing_rank_is_named);
	       RUN(leaving_rank_is_named);
	       RUN(survivors_of_collective_name_the_killed_rank);)
