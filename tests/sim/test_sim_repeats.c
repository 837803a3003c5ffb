/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shows that the same seed gives the same run, here and in another process.
 * Another seed gives another run. A run that cannot go on reports it.
 */
#include "sim/seeds.h"

#define MESSAGES 60
/* Less than the 50 ms that a sleeper sleeps if it is not woken. */
#define ALL_NS (45 * MS)
#define SEEDS 100

/* Links the host by two actors, on two devices, to the host. */
static void chain(struct peal_runtime *rt, struct peal_endpoint *e,
		  struct peal_kernel *k[2])
{
	struct peal_link_options few = { .capacity = 4 };
	struct peal_link_options many = { .capacity = 256 };
	uint64_t a, b;

	k[0] = harness_launch(rt, 0);
	k[1] = harness_launch(rt, 1);
	a = harness_spawn(k[0], "echo", 0);
	b = harness_spawn(k[1], "echo", 0);
	harness_from(rt, e, 0, a, few);
	harness_link(rt, a, 0, b, few);
	harness_to(rt, b, e, many);
}

static void echo(uint64_t random)
{
	uint64_t n = 1 + random % MESSAGES;
	struct peal_endpoint *e;
	struct peal_kernel *k[2];
	struct peal_runtime *rt;
	uint64_t began;

	rt = harness_open(2, "0-1:nvlink");
	e = harness_endpoint(rt);
	chain(rt, e, k);
	began = harness_now_ns();
	harness_send(e, 0, 0, 0, n);
	harness_receive(e, 0, 0, n);
	CHECK_OK(peal_send_end(e, 0, MAX_WAIT));
	CHECK_OK(peal_kernel_wait(k[0], MAX_WAIT));
	CHECK_OK(peal_kernel_wait(k[1], MAX_WAIT));
	CHECK(harness_now_ns() - began < ALL_NS);
	harness_conserved(rt);
	CHECK_OK(peal_runtime_shutdown(rt));
}

static const struct seeds_scenario echoes = { .name = "echo",
					      .run = echo,
					      .least = 1000 };

PEAL_TEST(the_same_seed_gives_the_same_run)
{
	struct peali_sim_report a, b, last = { 0 };
	uint64_t seed;

	seeds_one(&echoes, 0);
	for (seed = 1; seed <= SEEDS; seed++) {
		a = seeds_one(&echoes, seed);
		b = seeds_one(&echoes, seed);
		CHECK(a.trace == b.trace);
		CHECK_EQ(a.points, b.points);
		CHECK_EQ(a.switches, b.switches);
		CHECK_EQ(a.ns, b.ns);
		CHECK(a.trace != last.trace);
		CHECK(a.switches > 20);
		last = a;
	}
}

/* Returns a hash of the traces of all seeds. */
static unsigned long long all_traces(void)
{
	unsigned long long sum = 0;
	uint64_t seed;

	seeds_one(&echoes, 0);
	for (seed = 1; seed <= SEEDS; seed++)
		sum = sum * 31 + seeds_one(&echoes, seed).trace;
	return sum;
}

PEAL_TEST(same_seed_gives_same_run_in_other_process)
{
	unsigned long long other = 0;
	char command[300] = "", self[256];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	FILE *from;

	CHECK(n > 0);
	self[n] = 0;
	snprintf(command, sizeof(command), "A=1 '%s' traces -", self);
	from = popen(command, "r");
	CHECK(from && fscanf(from, "%llx", &other) == 1);
	CHECK(!pclose(from));
	CHECK(other == all_traces());
}

PEAL_TEST(many_seeds_pass)
{
	seeds_run(&echoes);
}

/* ---- runs that cannot go on ---------------------------------------------- */

/* Waits for a message that is never sent. */
static void wait_for_ever(uint64_t random)
{
	struct peal_received r;
	struct peal_endpoint *e;
	struct peal_kernel *k[2];
	struct peal_runtime *rt;
	char byte;

	(void)random;
	rt = harness_open(2, "0-1:nvlink");
	e = harness_endpoint(rt);
	chain(rt, e, k);
	seeds_report_stalls(rt);
	CHECK_OK(peal_receive(e, &byte, 1, &r, -1));
}

/* Locks a mutex that the thread holds. */
static void lock_twice(uint64_t random)
{
	pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

	(void)random;
	pthread_mutex_lock(&lock);
	pthread_mutex_lock(&lock);
}

static void spin_for_ever(uint64_t random)
{
	uint64_t word = 0;

	while (!peal_load_relaxed_sys(&word) && random)
		;
}

/* Checks that the run fails by itself, and prints `part` and its seed. */
static void fails(void (*run)(uint64_t random), const char *part)
{
	struct seeds_scenario scene = { .name = "fails", .run = run };
	char text[8192];

	scene.options.most_points = 3000000;
	scene.options.most_ns = 60 * SECOND;
	CHECK_EQ(seeds_fail(&scene, 0, 42, 1, text, sizeof(text)), 42);
	CHECK_CONTAINS(text, part);
	CHECK_CONTAINS(text, "PEAL_SIM_SEED=42 ");
}

PEAL_TEST(deadlocked_run_is_reported_and_ends)
{
	fails(wait_for_ever, "of its time have passed");
	fails(wait_for_ever, "stall: ");
	fails(lock_twice, "all wait for ever");
	fails(lock_twice, "main: lock");
	fails(spin_for_ever, "yield points and goes on");
}

PEAL_TEST(waiter_without_recheck_is_caught)
{
	seeds_find(&echoes, PEALI_FAULT_DEAF_SLEEP);
}

PEAL_TEST_MAIN(if (argc > 2) {
	printf("%llx\n", all_traces());
	return 0;
} RUN(the_same_seed_gives_the_same_run);
	       RUN(same_seed_gives_same_run_in_other_process);
	       RUN(many_seeds_pass); RUN(waiter_without_recheck_is_caught);
	       RUN(deadlocked_run_is_reported_and_ends);)
