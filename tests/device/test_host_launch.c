/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shows the launches of the host backend: lanes, epochs, waits, refusals, and
 * the cores and stacks of workers.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <peal/device/impl/base/host_support.h>

#include "peal_test.h"
#include "runtime/base/core_set.h"
#include "runtime/device/backend.h"
#include "runtime/device/host/core_claim.h"
#include "runtime/host_support/fibers.h"
#include "runtime/host_support/sanitize.h"

#define LANES_MAX 32
#define SYNCS 50
#define SECOND ((int64_t)1000000000)

static const struct peali_backend_ops *const ops = &peali_host_backend;
static struct peali_backend *backend;

/* The data of the programs below. `params` points to it. */
struct work {
	uint32_t lanes, workers;
	atomic_uint single_calls, calls, stop;
	uint64_t cell[8][LANES_MAX]; /* by worker and lane */
	uint32_t order[LANES_MAX * SYNCS], n_order;
	uint32_t epochs[8][LANES_MAX];
	char name[16];
	cpu_set_t cores[8];
	sigset_t signals;
};

static struct work *work;

static void open_two(const char *pin)
{
	setenv("PEAL_HOST_DEVICES", "2", 1);
	setenv("PEAL_HOST_PIN", pin, 1);
	CHECK_OK(ops->open(&backend));
	work = calloc(1, sizeof(*work));
	CHECK(work);
}

static void close_all(void)
{
	CHECK_OK(ops->close(backend));
	free(work);
}

static struct peali_launch *launch_on(int device, peal_host_entry_fn entry,
				      uint32_t workers, uint32_t lanes)
{
	static struct peal_program program = { .size = sizeof(program),
					       .name = "test" };
	struct peali_launch_desc desc = { .device = device,
					  .program = &program,
					  .params = (uintptr_t)work,
					  .n_workers = workers,
					  .lanes = lanes,
					  .pin = 1 };
	struct peali_launch *launch;

	program.host_entry = entry;
	work->lanes = lanes;
	work->workers = workers;
	CHECK_OK(ops->launch(backend, &desc, &launch));
	return launch;
}

static void finish(struct peali_launch *launch)
{
	CHECK_OK(ops->launch_wait(launch, 60 * SECOND));
	CHECK_EQ(ops->launch_query(launch), 0);
	CHECK_OK(ops->launch_free(launch));
}

static struct work *work_of(const struct peal_kernel_params *params)
{
	return (struct work *)(uintptr_t)params;
}

/*
 * Reads the right neighbour's cell between two syncs. The result is right only
 * if every lane has passed the sync before.
 */
static int shift_sums(const struct peal_kernel_params *params, uint32_t worker,
		      uint32_t lane)
{
	struct work *w = work_of(params);
	uint64_t *cell = w->cell[worker], value;
	uint32_t i;

	cell[lane] = lane + 1;
	for (i = 0; i < SYNCS; i++) {
		peal_host_sync_lanes();
		value = cell[(lane + 1) % w->lanes];
		peal_host_sync_lanes();
		cell[lane] = value;
	}
	return 0;
}

PEAL_TEST(every_sync_waits_for_every_lane)
{
	static const uint32_t counts[] = { 1, 2, 4, 32 };
	struct peali_launch *launch;
	uint32_t i, worker, lane, lanes;

	open_two("auto");
	for (i = 0; i < 4; i++) {
		lanes = counts[i];
		launch = launch_on(0, shift_sums, 3, lanes);
		finish(launch);
		for (worker = 0; worker < 3; worker++)
			for (lane = 0; lane < lanes; lane++)
				CHECK_EQ(work->cell[worker][lane],
					 (lane + SYNCS) % lanes + 1);
	}
	close_all();
}

/* ThreadSanitizer takes lanes for threads, and would report a race here. */
__attribute__((no_sanitize("thread"))) static int
write_order(const struct peal_kernel_params *params, uint32_t worker,
	    uint32_t lane)
{
	struct work *w = work_of(params);
	uint32_t i;

	(void)worker;
	for (i = 0; i < SYNCS; i++) {
		w->order[w->n_order++] = lane;
		if (lane == 2 && i == 10)
			return 0; /* the other lanes continue */
		peal_host_sync_lanes();
	}
	return 0;
}

PEAL_TEST(lanes_run_in_turn_and_finished_lanes_are_skipped)
{
	uint32_t i, turn, lane, at = 0;

	open_two("auto");
	finish(launch_on(0, write_order, 1, 4));
	for (turn = 0; turn < SYNCS; turn++)
		for (lane = 0; lane < 4; lane++)
			if (lane != 2 || turn <= 10)
				CHECK_EQ(work->order[at++], lane);
	CHECK_EQ(work->n_order, at);
	for (i = 0; i < at; i++)
		CHECK(work->order[i] < 4);
	close_all();
}

static int three_epochs(const struct peal_kernel_params *params,
			uint32_t worker, uint32_t lane)
{
	struct work *w = work_of(params);

	peal_host_sync_lanes();
	return ++w->epochs[worker][lane] < 3;
}

PEAL_TEST(entry_returning_one_runs_another_epoch)
{
	static const uint32_t counts[] = { 1, 4 };
	uint32_t i, worker, lane;

	open_two("auto");
	for (i = 0; i < 2; i++) {
		memset(work->epochs, 0, sizeof(work->epochs));
		finish(launch_on(1, three_epochs, 2, counts[i]));
		for (worker = 0; worker < 2; worker++)
			for (lane = 0; lane < counts[i]; lane++)
				CHECK_EQ(work->epochs[worker][lane], 3);
	}
	close_all();
}

static int count_single(const struct peal_kernel_params *params,
			uint32_t worker, uint32_t lane)
{
	(void)worker;
	work_of(params)->single_calls += 1 + lane;
	return 0;
}

static int count_any(const struct peal_kernel_params *params, uint32_t worker,
		     uint32_t lane)
{
	(void)worker;
	(void)lane;
	work_of(params)->calls++;
	return 0;
}

PEAL_TEST(one_lane_launch_uses_single_lane_entry)
{
	struct peal_program program = { .host_entry = count_any,
					.host_entry_single = count_single };
	struct peali_launch_desc desc = { .program = &program,
					  .n_workers = 5,
					  .lanes = 1 };
	struct peali_launch *launch;

	open_two("auto");
	desc.params = (uintptr_t)work;
	CHECK_OK(ops->launch(backend, &desc, &launch));
	finish(launch);
	CHECK_EQ(work->single_calls, 5);
	CHECK_EQ(work->calls, 0);
	desc.lanes = 3;
	CHECK_OK(ops->launch(backend, &desc, &launch));
	finish(launch);
	CHECK_EQ(work->single_calls, 5);
	CHECK_EQ(work->calls, 15);
	program.host_entry_single = NULL;
	desc.lanes = 1;
	CHECK_OK(ops->launch(backend, &desc, &launch));
	finish(launch);
	CHECK_EQ(work->calls, 20);
	close_all();
}

static int until_stopped(const struct peal_kernel_params *params,
			 uint32_t worker, uint32_t lane)
{
	struct work *w = work_of(params);

	(void)lane;
	w->calls++;
	while (w->stop <= worker)
		usleep(1000);
	return 0;
}

PEAL_TEST(running_launch_times_out_and_is_not_freed)
{
	struct peali_launch *launch;
	uint64_t began, took;

	open_two("auto");
	launch = launch_on(1, until_stopped, 4, 1);
	CHECK_EQ(ops->launch_query(launch), 4);
	CHECK_EQ(ops->launch_wait(launch, 0), PEAL_ETIMEDOUT);
	began = peal_clock_ns();
	CHECK_EQ(ops->launch_wait(launch, SECOND / 20), PEAL_ETIMEDOUT);
	took = peal_clock_ns() - began;
	CHECK(took >= (uint64_t)SECOND / 20);
	CHECK(took < (uint64_t)SECOND * 10);
	CHECK_CONTAINS(peal_last_error()->text, "4 of 4 workers of device 1");
	CHECK_EQ(ops->launch_free(launch), PEAL_EBUSY);
	CHECK_EQ(ops->close(backend), PEAL_EBUSY);
	work->stop = 3; /* workers 0, 1 and 2 */
	while (ops->launch_query(launch) != 1)
		usleep(1000);
	CHECK_EQ(ops->launch_wait(launch, 0), PEAL_ETIMEDOUT);
	work->stop = 4;
	CHECK_OK(ops->launch_wait(launch, -1));
	CHECK_OK(ops->launch_wait(launch, 0));
	CHECK_OK(ops->launch_wait(launch, INT64_MAX));
	CHECK_EQ(ops->close(backend), PEAL_EBUSY); /* not freed */
	CHECK_OK(ops->launch_free(launch));
	close_all();
}

static void refuse(struct peali_launch_desc desc, int code, const char *part)
{
	struct peali_launch *launch;

	CHECK_EQ(ops->launch(backend, &desc, &launch), code);
	CHECK_CONTAINS(peal_last_error()->text, part);
}

PEAL_TEST(invalid_launch_error_reports_values)
{
	struct peal_program program = { .name = "thing",
					.host_entry = count_any };
	const struct peali_launch_desc good = { .program = &program,
						.n_workers = 1,
						.lanes = 1 };
	struct peali_launch_desc bad = good;
	struct peali_capacity most;

	open_two("auto");
	bad.device = 2;
	refuse(bad, PEAL_ENODEV,
	       "device 2: does not exist in the host backend "
	       "(2");
	bad = good;
	bad.recorded = 1;
	refuse(bad, PEAL_ENOTSUP, "cannot be recorded");
	bad = good;
	bad.n_workers = 0;
	refuse(bad, PEAL_EINVAL,
	       "'workers': is out of range (0, allowed "
	       "1..256)");
	bad = good;
	bad.lanes = 0;
	refuse(bad, PEAL_EINVAL,
	       "'lanes': is out of range for device 0 (0, "
	       "allowed 1..1024)");
	bad.lanes = 1025;
	refuse(bad, PEAL_EINVAL,
	       "'lanes': is out of range for device 0 (1025, "
	       "allowed 1..1024)");
	bad = good;
	CHECK_OK(ops->max_workers(backend, 0, &program, &bad, &most));
	CHECK_EQ(most.workers, 256);
	bad.n_workers = most.workers + 1;
	refuse(bad, PEAL_ENOSPC, "'workers': is too large for device");
	bad.lanes = 1024;
	CHECK_OK(ops->max_workers(backend, 0, &program, &bad, &most));
	CHECK(most.workers >= 2 && most.workers < 256);
	bad = good;
	bad.program = NULL;
	refuse(bad, PEAL_EPROGRAM, "no host image");
	program.host_entry = NULL;
	refuse(good, PEAL_EPROGRAM, "thing");
	program.host_entry_single = count_any;
	bad = good;
	bad.lanes = 2;
	refuse(bad, PEAL_EPROGRAM, "2 lanes");
	close_all();
}

static uint64_t address_space(void)
{
	unsigned long long pages = 0;
	FILE *file = fopen("/proc/self/statm", "r");

	CHECK(file);
	CHECK_EQ(fscanf(file, "%llu", &pages), 1);
	fclose(file);
	return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

/*
 * A launch without memory for all its stacks leaves nothing behind. Its workers
 * that have started do not run the program.
 */
PEAL_TEST(partially_failed_launch_runs_no_worker)
{
	struct peal_program program = { .host_entry = count_any };
	struct peali_launch_desc desc = { .program = &program,
					  .n_workers = 200,
					  .lanes = 1 };
	struct rlimit some;
	struct peali_launch *launch;
	int status;
	pid_t child;

	if (PEAL_TSAN || PEAL_ASAN)
		return; /* a sanitizer needs more memory than the limit below */
	fflush(NULL);
	child = fork();
	CHECK(child >= 0);
	if (!child) {
		open_two("auto");
		desc.params = (uintptr_t)work;
		/* Address space for the stacks of some threads, not of all. */
		some.rlim_cur = some.rlim_max = address_space() + (64 << 20);
		CHECK_EQ(setrlimit(RLIMIT_AS, &some), 0);
		CHECK_EQ(ops->launch(backend, &desc, &launch), PEAL_ENOMEM);
		CHECK_CONTAINS(peal_last_error()->text, "of 200 could not");
		CHECK_EQ(work->calls, 0);
		close_all();
		_exit(0);
	}
	CHECK_EQ(waitpid(child, &status, 0), child);
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static int look_around(const struct peal_kernel_params *params, uint32_t worker,
		       uint32_t lane)
{
	struct work *w = work_of(params);

	(void)lane;
	pthread_getaffinity_np(pthread_self(), sizeof(w->cores[0]),
			       &w->cores[worker]);
	if (worker == 1) {
		pthread_getname_np(pthread_self(), w->name, sizeof(w->name));
		pthread_sigmask(SIG_SETMASK, NULL, &w->signals);
	}
	return until_stopped(params, worker, lane);
}

static int n_bound(const cpu_set_t *all, uint32_t workers)
{
	uint32_t i, j;
	int n = 0;

	for (i = 0; i < workers; i++) {
		if (CPU_EQUAL(&work->cores[i], all) && CPU_COUNT(all) > 1)
			continue;
		if (CPU_COUNT(&work->cores[i]) != 1)
			continue;
		n++;
		for (j = 0; j < i; j++)
			if (CPU_EQUAL(&work->cores[i], &work->cores[j]))
				n--; /* two workers on one core */
	}
	return n;
}

static int bound_with(const char *pin, uint32_t workers, const cpu_set_t *all)
{
	struct peali_launch *launch;
	int n;

	open_two(pin);
	launch = launch_on(1, look_around, workers, 1);
	while (work->calls < workers)
		usleep(1000);
	n = n_bound(all, workers);
	CHECK(!strcmp(work->name, "peal-d1-w1"));
	CHECK(sigismember(&work->signals, SIGINT) == 1);
	CHECK(sigismember(&work->signals, SIGALRM) == 1);
	CHECK(sigismember(&work->signals, SIGSEGV) == 0);
	work->stop = workers;
	finish(launch);
	close_all();
	return n;
}

PEAL_TEST(workers_get_own_cores_while_available)
{
	uint32_t workers = 8;
	static char word[32];
	cpu_set_t all;
	int cores, i;

	CPU_ZERO(&all);
	CHECK_EQ(sched_getaffinity(0, sizeof(all), &all), 0);
	cores = peali_cores_have_quota() ? 0 : CPU_COUNT(&all);
	/* other processes of the machine bind workers, too */
	peali_core_claim_word = word;
	snprintf(word, sizeof(word), "peal test %d", (int)getpid());
	/* twice, to find cores that are not returned */
	for (i = 0; i < 2; i++)
		CHECK_EQ(bound_with("auto", workers, &all),
			 cores < 8 ? cores : 8);
	if (cores > 1)
		CHECK_EQ(bound_with("off", workers, &all), 0);
}

PEAL_TEST(hundreds_of_lanes_run_on_separate_stacks)
{
	struct peali_launch *launch;

	open_two("auto");
	launch = launch_on(0, count_any, 2, 100);
	finish(launch);
	CHECK_EQ(work->calls, 200);
	launch = launch_on(0, count_any, 2, 1024);
	finish(launch);
	CHECK_EQ(work->calls, 200 + 2048);
	close_all();
}

static int overflow(void *context, uint32_t lane)
{
	volatile char *below = (volatile char *)__builtin_frame_address(0);

	(void)context;
	/* one page at a time, like a stack that grows too far */
	for (size_t i = 0; lane == 1 && i < 100; i++)
		below[-(long)(i * 4096)] = 0;
	return 0;
}

PEAL_TEST(stack_overflow_of_a_lane_faults_at_its_guard_page)
{
	struct rlimit none = { 0, 0 };
	struct peali_fibers *fibers;
	int status;
	pid_t child;

	fflush(NULL);
	child = fork();
	CHECK(child >= 0);
	if (!child) {
		setrlimit(RLIMIT_CORE, &none);
		signal(SIGSEGV, SIG_DFL);
		fibers = peali_fibers_create(4);
		CHECK(fibers);
		peali_fibers_run(fibers, overflow, NULL);
		_exit(0);
	}
	CHECK_EQ(waitpid(child, &status, 0), child);
	CHECK(!WIFEXITED(status) || WEXITSTATUS(status) != 0);
}

static int always(void *context, uint32_t lane)
{
	(void)context;
	(void)lane;
	return 1;
}

static int use_cell(void *context, uint32_t lane)
{
	uint64_t *cell = context;

	if (lane == 1)
		peal_host_sync_lanes();
	cell[0] += lane;
	if (lane == 0)
		peal_host_sync_lanes();
	return 0;
}

static int use_cell_unordered(void *context, uint32_t lane)
{
	uint64_t *cell = context;

	peal_host_sync_lanes();
	cell[0] += lane;
	return 0;
}

/* Under ThreadSanitizer, the lanes reuse the states of lanes that have ended. */
static int status_of_lanes(peali_lane_fn fn)
{
	struct peali_fibers *fibers;
	uint64_t cell = 0;
	int status;
	pid_t child;

	fflush(NULL);
	child = fork();
	CHECK(child >= 0);
	if (!child) {
		CHECK(freopen("/dev/null", "w", stderr));
		fibers = peali_fibers_create(2);
		CHECK(fibers);
		peali_fibers_run(fibers, always, NULL);
		peali_fibers_run(fibers, fn, &cell);
		peali_fibers_destroy(fibers);
		exit(cell == 1 ? 0 : 1);
	}
	CHECK_EQ(waitpid(child, &status, 0), child);
	CHECK(WIFEXITED(status));
	return WEXITSTATUS(status);
}

PEAL_TEST(thread_sanitizer_detects_race_between_lanes)
{
	CHECK_EQ(status_of_lanes(use_cell), 0);
	CHECK_EQ(status_of_lanes(use_cell_unordered) != 0, PEAL_TSAN);
}

static int mixed(void *context, uint32_t lane)
{
	(void)context;
	return lane != 1;
}

PEAL_TEST(epoch_continues_only_if_all_lanes_agree)
{
	struct peali_fibers *fibers = peali_fibers_create(3);

	CHECK(fibers);
	CHECK_EQ(peali_fibers_run(fibers, mixed, NULL), 0);
	CHECK_EQ(peali_fibers_run(fibers, always, NULL), 1);
	peali_fibers_destroy(fibers);
	peali_fibers_destroy(NULL);
	peal_host_sync_lanes(); /* outside of lanes: no effect */
}

PEAL_TEST_MAIN(RUN(every_sync_waits_for_every_lane);
	       RUN(lanes_run_in_turn_and_finished_lanes_are_skipped);
	       RUN(entry_returning_one_runs_another_epoch);
	       RUN(one_lane_launch_uses_single_lane_entry);
	       RUN(running_launch_times_out_and_is_not_freed);
	       RUN(invalid_launch_error_reports_values);
	       RUN(partially_failed_launch_runs_no_worker);
	       RUN(workers_get_own_cores_while_available);
	       RUN(hundreds_of_lanes_run_on_separate_stacks);
	       RUN(stack_overflow_of_a_lane_faults_at_its_guard_page);
	       RUN(thread_sanitizer_detects_race_between_lanes);
	       RUN(epoch_continues_only_if_all_lanes_agree);)
