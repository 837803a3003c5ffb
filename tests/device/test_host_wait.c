/* SPDX-License-Identifier: Apache-2.0 */
/* labels: fast alone quick */
/* Shows that idle host threads lose no wake. Shows their spins and sleeps. */
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <peal/device/impl/base/host_support.h>
#include <peal/errors.h>

#include "peal_test.h"
#include "runtime/base/core_set.h"
#include "runtime/host_support/idle.h"
#include "yield.h"

#define ROUNDS test_part(100000)

/* One of two threads: its bell, and a word that the other thread writes. */
struct side {
	struct peal_bell bell;
	uint64_t ball; /* the latest round that arrived */
	uint8_t apart[PEAL_SHARED_LINE - 8];
};

static struct side side[2];
static uint64_t rounds;
/* 1: threads are late at times, so that the other one sleeps */
static int naps;

static void play(int self)
{
	struct side *own = &side[self], *other = &side[!self];
	unsigned long long seed = (unsigned long long)self + 1;
	struct timespec nap = { 0, 200000 };
	uint64_t i;

	for (i = 1; i <= rounds; i++) {
		if (self == 0)
			peal_store_release_sys(&other->ball, i);
		if (self == 0)
			peal_bell_ring((uintptr_t)&other->bell);
		while (peal_load_acquire_sys(&own->ball) != i)
			peal_host_idle(&own->bell, 1);
		peal_bell_reset(&own->bell);
		if (naps && test_random(&seed) % 100 == 0)
			nanosleep(&nap, NULL);
		if (self == 1) {
			peal_store_release_sys(&other->ball, i);
			peal_bell_ring((uintptr_t)&other->bell);
		}
	}
}

static void *second(void *unused)
{
	(void)unused;
	play(1);
	return NULL;
}

static struct peali_wait_counts ping_pong(uint64_t n, int with_naps,
					  uint32_t max_sleep_ms)
{
	struct peali_wait_counts before, after;
	pthread_t thread;

	memset(side, 0, sizeof(side));
	side[0].bell.max_sleep_us = side[1].bell.max_sleep_us =
		1000 * max_sleep_ms;
	rounds = n;
	naps = with_naps;
	peali_wait_counts(&before);
	CHECK_EQ(pthread_create(&thread, NULL, second, NULL), 0);
	play(0);
	CHECK_EQ(pthread_join(thread, NULL), 0);
	peali_wait_counts(&after);
	after.sleeps -= before.sleeps;
	after.timeouts -= before.timeouts;
	after.wakes -= before.wakes;
	return after;
}

/*
 * A lost wake costs a whole sleep of a minute. So one lost wake is counted, and
 * several exceed the time of the test.
 */
PEAL_TEST(no_wake_is_lost_in_a_fast_ping_pong)
{
	CHECK_EQ(ping_pong(ROUNDS, 0, 60000).timeouts, 0);
}

PEAL_TEST(no_wake_is_lost_when_each_side_sleeps_often)
{
	struct peali_wait_counts counts = ping_pong(ROUNDS / 10, 1, 60000);

	CHECK_EQ(counts.timeouts, 0);
	CHECK(counts.sleeps > 0);
	CHECK(counts.wakes > 0);
}

/* bell.steps, one turn before the bell announces a sleep */
static uint32_t steps_to_announce;

static void learn_steps(void)
{
	struct peal_bell bell;

	memset(&bell, 0, sizeof(bell));
	while (!bell.asleep) {
		steps_to_announce = bell.steps;
		peal_host_idle(&bell, 1);
	}
}

/* number of the round that begins */
static PEAL_ALIGNED(PEAL_SHARED_LINE) uint64_t go;

/* Waits without the bell. Yields, because both threads may share a core. */
static void await(const uint64_t *word, uint64_t value)
{
	int looks;

	for (looks = 0; peal_load_acquire_sys(word) != value; looks++)
		if (looks > 2000)
			test_yield();
}

/* Binds the thread to the n-th core. The race needs two cores that run. */
static void bind_to(int n)
{
	const struct peali_core_set *all = peali_process_cores();
	int core = peali_core_set_next(all, -1);

	while (core >= 0 && n--)
		core = peali_core_set_next(all, core);
	if (core >= 0)
		CHECK_EQ(peali_thread_bind(core), 0);
}

/* Waits some 100 ns, so that the two sides meet at varying times. */
static void dawdle(unsigned long long *seed, int most)
{
	int turns = (int)(test_random(seed) % (unsigned)most);

	while (turns--)
		peal_compiler_barrier();
}

/*
 * Announces a sleep at each look. Without the barrier between announcement and
 * last look each side can miss the store of the other one.
 */
static void *sleepy(void *unused)
{
	struct side *own = &side[1];
	unsigned long long seed = 4;
	uint64_t i;

	(void)unused;
	bind_to(0);
	for (i = 1; i <= rounds; i++) {
		await(&go, i);
		dawdle(&seed, 512);
		own->bell.steps = steps_to_announce;
		while (peal_load_acquire_sys(&own->ball) != i)
			peal_host_idle(&own->bell, 1);
		peal_bell_reset(&own->bell);
		peal_store_release_sys(&side[0].ball, i);
	}
	return NULL;
}

PEAL_TEST(wake_between_announcement_and_sleep_is_not_lost)
{
	struct peali_wait_counts before, after;
	unsigned long long seed = 3;
	pthread_t thread;
	uint64_t i;

	learn_steps();
	memset(side, 0, sizeof(side));
	go = 0;
	side[1].bell.max_sleep_us = 10000000;
	rounds = ROUNDS / 5;
	peali_wait_counts(&before);
	CHECK_EQ(pthread_create(&thread, NULL, sleepy, NULL), 0);
	bind_to(1);
	for (i = 1; i <= rounds; i++) {
		peal_store_release_sys(&go, i);
		dawdle(&seed, 1024);
		peal_store_release_sys(&side[1].ball, i);
		peal_bell_ring((uintptr_t)&side[1].bell);
		await(&side[0].ball, i);
	}
	CHECK_EQ(pthread_join(thread, NULL), 0);
	peali_wait_counts(&after);
	CHECK_EQ(peali_thread_bind(-1), 0);
	CHECK_EQ(after.timeouts - before.timeouts, 0);
}

/*
 * Negative control: without the ring the sleeper only wakes by its timeout. The
 * counter that the other cases check shows this timeout.
 */
PEAL_TEST(missing_bell_ring_causes_a_timeout)
{
	struct peali_wait_counts before, after;
	struct peal_bell bell;
	uint64_t began = peal_clock_ns(), took;

	memset(&bell, 0, sizeof(bell));
	bell.max_sleep_us = 20000;
	peali_wait_counts(&before);
	do {
		peal_host_idle(&bell, 1);
		peali_wait_counts(&after);
	} while (after.timeouts == before.timeouts);
	took = peal_clock_ns() - began;
	CHECK(took >= 20 * 1000000ULL);
	CHECK_EQ(after.sleeps - before.sleeps, 1);
	CHECK_EQ(bell.asleep, 0);
}

PEAL_TEST(default_sleep_is_fifty_ms)
{
	struct peali_wait_counts before, after;
	struct peal_bell bell;
	uint64_t began = peal_clock_ns(), took;

	memset(&bell, 0, sizeof(bell));
	peali_wait_counts(&before);
	do {
		peal_host_idle(&bell, 1);
		peali_wait_counts(&after);
	} while (after.timeouts == before.timeouts);
	took = peal_clock_ns() - began;
	CHECK(took >= 50 * 1000000ULL && took < 5000 * 1000000ULL);
}

PEAL_TEST(idle_announces_sleep_and_returns_for_recheck)
{
	struct peali_wait_counts before, after;
	struct peal_bell bell;
	int turns = 0;

	memset(&bell, 0, sizeof(bell));
	peali_wait_counts(&before);
	while (!bell.asleep) {
		peal_host_idle(&bell, 1);
		CHECK(++turns < 10000);
	}
	peali_wait_counts(&after);
	CHECK_EQ(after.sleeps, before.sleeps); /* announced, not asleep */
	CHECK(turns > 64);
	peal_bell_reset(&bell);
	CHECK_EQ(bell.asleep, 0);
	CHECK_EQ(bell.steps, 0);
	peal_bell_ring(0);
	peal_bell_ring((uintptr_t)&bell);
	peali_wait_counts(&after);
	/* no thread slept: no system call */
	CHECK_EQ(after.wakes, before.wakes);
}

PEAL_TEST(many_waiting_threads_spin_less)
{
	struct peal_bell bell;
	int alone = 0, crowd = 0, i;

	memset(&bell, 0, sizeof(bell));
	for (; !bell.asleep; alone++)
		peal_host_idle(&bell, 1);
	for (i = 0; i < 5000; i++)
		peali_wait_enter(64);
	memset(&bell, 0, sizeof(bell));
	for (; !bell.asleep; crowd++)
		peal_host_idle(&bell, 1);
	for (i = 0; i < 5000; i++)
		peali_wait_leave();
	CHECK(crowd < alone / 2);
}

PEAL_TEST(clock_is_monotonic_and_in_ns)
{
	uint64_t a = peal_clock_ns(), b;
	struct timespec t = { 0, 10 * 1000000 };

	nanosleep(&t, NULL);
	b = peal_clock_ns();
	CHECK(b - a >= 10 * 1000000ULL);
	CHECK(b - a < 10000 * 1000000ULL);
}

/* Forbids membarrier in this process from now on. */
static void forbid_membarrier(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_membarrier, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { 4, code };

	CHECK_EQ(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
		_exit(77);
}

PEAL_TEST(without_membarrier_sleeps_are_short)
{
	struct peali_wait_counts counts;
	struct peal_bell bell;
	uint64_t began;
	int status;
	pid_t child;

	fflush(NULL);
	child = fork();
	CHECK(child >= 0);
	if (!child) {
		forbid_membarrier();
		memset(&bell, 0, sizeof(bell));
		bell.max_sleep_us = 60000000;
		began = peal_clock_ns();
		peali_wait_counts(&counts);
		status = (int)counts.timeouts;
		while ((int)counts.timeouts < status + 10) {
			peal_host_idle(&bell, 1);
			peali_wait_counts(&counts);
		}
		CHECK(peal_clock_ns() - began < 20000 * 1000000ULL);
		_exit(0);
	}
	CHECK_EQ(waitpid(child, &status, 0), child);
	CHECK(WIFEXITED(status));
	if (WEXITSTATUS(status) == 77)
		printf("    no seccomp here: not run\n");
	else
		CHECK_EQ(WEXITSTATUS(status), 0);
}

PEAL_TEST_MAIN(RUN(no_wake_is_lost_in_a_fast_ping_pong);
	       RUN(no_wake_is_lost_when_each_side_sleeps_often);
	       RUN(wake_between_announcement_and_sleep_is_not_lost);
	       RUN(missing_bell_ring_causes_a_timeout);
	       RUN(default_sleep_is_fifty_ms);
	       RUN(idle_announces_sleep_and_returns_for_recheck);
	       RUN(many_waiting_threads_spin_less);
	       RUN(clock_is_monotonic_and_in_ns);
	       RUN(without_membarrier_sleeps_are_short);)
