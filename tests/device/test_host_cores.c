/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shows the cores of emulated workers on planted machines. They have
 * many cores, a refused query, CPU quotas, or several processes. The
 * doubles of two system calls below answer for the machine.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <peal/errors.h>

#include "peal_test.h"
#include "runtime/base/core_set.h"
#include "runtime/device/backend.h"
#include "runtime/device/host/core_claim.h"

#define SECOND ((int64_t)1000000000)
#define RANKS 8

/* ---- a planted machine --------------------------------------------------- */

static struct {
	int on; /* 0: the calls reach the system */
	int error; /* errno of the query; 0: it succeeds */
	size_t possible; /* cores that the system's own sets have */
	int cores[4], n; /* cores of the process */
	atomic_int bound[4]; /* bound workers per entry of cores[] */
	atomic_int free_threads; /* workers that may use all cores */
} machine;

int sched_getaffinity(pid_t thread, size_t bytes, cpu_set_t *set)
{
	int i;

	if (!machine.on)
		return syscall(SYS_sched_getaffinity, thread, bytes, set) < 0 ?
			       -1 :
			       0;
	errno = machine.error		     ? machine.error :
		bytes * 8 < machine.possible ? EINVAL :
					       0;
	if (errno)
		return -1;
	for (i = 0; i < machine.n; i++)
		CPU_SET_S((size_t)machine.cores[i], bytes, set);
	return 0;
}

int pthread_setaffinity_np(pthread_t thread, size_t bytes, const cpu_set_t *set)
{
	int i;

	(void)thread;
	if (!machine.on)
		return syscall(SYS_sched_setaffinity, 0, bytes, set) < 0 ?
			       errno :
			       0;
	if (CPU_COUNT_S(bytes, set) == machine.n && machine.n > 1) {
		atomic_fetch_add(&machine.free_threads, 1);
		return 0;
	}
	CHECK_EQ(CPU_COUNT_S(bytes, set), 1);
	for (i = 0; i < machine.n; i++)
		if (CPU_ISSET_S((size_t)machine.cores[i], bytes, set))
			atomic_fetch_add(&machine.bound[i], 1);
	return 0;
}

static void plant(size_t possible, int first, int second)
{
	machine.on = 1;
	machine.possible = possible;
	machine.cores[0] = first;
	machine.cores[1] = second;
	machine.n = 2;
}

/* ---- workers of one process ---------------------------------------------- */

static const struct peali_backend_ops *const ops = &peali_host_backend;
static struct peali_backend *backend;
static struct peali_launch *launch;
static atomic_uint running, stop;

static int until_stopped(const struct peal_kernel_params *params,
			 uint32_t worker, uint32_t lane)
{
	(void)params;
	(void)worker;
	(void)lane;
	atomic_fetch_add(&running, 1);
	while (!atomic_load(&stop))
		usleep(1000);
	return 0;
}

static void start(const char *pin, uint32_t workers)
{
	static struct peal_program program = { .size = sizeof(program),
					       .name = "test" };
	struct peali_launch_desc desc = {
		.program = &program, .n_workers = workers, .lanes = 1, .pin = 1
	};

	program.host_entry = until_stopped;
	setenv("PEAL_HOST_PIN", pin, 1);
	CHECK_OK(ops->open(&backend));
	CHECK_OK(ops->launch(backend, &desc, &launch));
	while (atomic_load(&running) < workers)
		usleep(1000);
}

static void finish(void)
{
	atomic_store(&stop, 1);
	CHECK_OK(ops->launch_wait(launch, 60 * SECOND));
	CHECK_OK(ops->launch_free(launch));
	CHECK_OK(ops->close(backend));
}

/*
 * The cores of a process are those of its first call. So each case runs in a
 * child process.
 */
static void in_child(void (*run)(void))
{
	int status;
	pid_t child = fork();

	CHECK(child >= 0);
	if (!child) {
		run();
		fflush(stdout);
		_exit(0);
	}
	CHECK_EQ(waitpid(child, &status, 0), child);
	CHECK_EQ(status, 0);
}

static void use_own_claims(void)
{
	static char word[32];

	snprintf(word, sizeof(word), "peal test %d", (int)getpid());
	peali_core_claim_word = word;
}

/* ---- many cores, refused queries ----------------------------------------- */

static void many_cores(void)
{
	plant(8192, 3000, 5000);
	start("auto", 3);
	CHECK_EQ(peali_process_cores()->n, 2);
	CHECK_EQ(peali_usable_cores(), 2);
	CHECK_EQ(peali_core_set_next(peali_process_cores(), -1), 3000);
	CHECK_EQ(peali_core_set_next(peali_process_cores(), 3000), 5000);
	CHECK_EQ(peali_core_set_next(peali_process_cores(), 5000), -1);
	CHECK_EQ(machine.bound[0], 1);
	CHECK_EQ(machine.bound[1], 1);
	CHECK_EQ(machine.free_threads, 1);
	finish();
}

PEAL_TEST(workers_use_cores_beyond_1024)
{
	use_own_claims();
	in_child(many_cores);
}

/* Core 0 of the planted machine would show a guess. */
static void no_answer(const char *pin)
{
	struct peal_device_info info;

	plant(64, 0, 1);
	machine.error = EPERM;
	start(pin, 2);
	CHECK_EQ(peali_process_cores()->n, 0);
	CHECK_EQ(peali_usable_cores(), sysconf(_SC_NPROCESSORS_ONLN));
	CHECK_EQ(machine.bound[0] + machine.bound[1], 0);
	CHECK_OK(ops->device_info(backend, 0, &info));
	CHECK_EQ(info.compute_units, sysconf(_SC_NPROCESSORS_ONLN));
	finish();
}

static void no_answer_auto(void)
{
	no_answer("auto");
}

static void no_answer_on(void)
{
	no_answer("on");
}

PEAL_TEST(refused_query_binds_no_worker_to_core_0)
{
	use_own_claims();
	in_child(no_answer_auto);
	in_child(no_answer_on);
}

static void endless(void)
{
	struct peali_core_set set;

	plant((size_t)1 << 40, 0, 1);
	CHECK_EQ(peali_core_set_read(0, &set), -1);
	CHECK_EQ(errno, EINVAL);
	CHECK(!set.bits && !set.n);
	CHECK_EQ(peali_core_set_next(&set, -1), -1);
	peali_core_set_free(&set);
}

PEAL_TEST(query_without_end_is_given_up)
{
	in_child(endless);
}

/* ---- quotas -------------------------------------------------------------- */

static char root[64];

static void put(const char *path, const char *text)
{
	char name[256];
	FILE *file;
	char *at;

	snprintf(name, sizeof(name), "%s%s", root, path);
	for (at = name + strlen(root) + 1; (at = strchr(at, '/')); at++) {
		*at = '\0';
		mkdir(name, 0700);
		*at = '/';
	}
	file = fopen(name, "w");
	CHECK(file);
	fputs(text, file);
	fclose(file);
}

static void new_root(void)
{
	snprintf(root, sizeof(root), "/tmp/peal-cores-XXXXXX");
	CHECK(mkdtemp(root));
}

static void remove_root(void)
{
	char command[96];

	snprintf(command, sizeof(command), "rm -rf %s", root);
	CHECK_EQ(system(command), 0);
}

PEAL_TEST(quota_is_the_least_of_the_group_and_its_parents)
{
	new_root();
	CHECK_EQ(peali_core_quota(root), 0);
	put("/proc/self/cgroup", "0::/a/b\n");
	CHECK_EQ(peali_core_quota(root), 0);
	put("/sys/fs/cgroup/a/b/cpu.max", "max 100000\n");
	CHECK_EQ(peali_core_quota(root), 0);
	put("/sys/fs/cgroup/a/b/cpu.max", "250000 100000\n");
	CHECK_EQ(peali_core_quota(root), 2500);
	put("/sys/fs/cgroup/a/cpu.max", "75000 50000\n");
	CHECK_EQ(peali_core_quota(root), 1500);
	put("/sys/fs/cgroup/cpu.max", "1000 1000000\n");
	CHECK_EQ(peali_core_quota(root), 1);
	remove_root();
}

PEAL_TEST(quota_of_cgroup_version_1_is_read)
{
	new_root();
	put("/proc/self/cgroup", "5:cpuset:/other\n3:cpuacct,cpu:/a\n0::/\n");
	put("/sys/fs/cgroup/cpu/other/cpu.cfs_quota_us", "1000\n");
	put("/sys/fs/cgroup/cpu/other/cpu.cfs_period_us", "100000\n");
	put("/sys/fs/cgroup/cpu/a/cpu.cfs_period_us", "100000\n");
	put("/sys/fs/cgroup/cpu/a/cpu.cfs_quota_us", "-1\n");
	CHECK_EQ(peali_core_quota(root), 0);
	put("/sys/fs/cgroup/cpu/a/cpu.cfs_quota_us", "320000\n");
	CHECK_EQ(peali_core_quota(root), 3200);
	/* a container sees its own group at the root */
	put("/proc/self/cgroup", "3:cpu:/docker/0123\n");
	CHECK_EQ(peali_core_quota(root), 0);
	put("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "50000\n");
	put("/sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
	CHECK_EQ(peali_core_quota(root), 500);
	remove_root();
}

static void with_quota(void)
{
	plant(64, 2, 3);
	put("/proc/self/cgroup", "0::/\n");
	put("/sys/fs/cgroup/cpu.max", "150000 100000\n");
	peali_core_quota_root = root;
	start("auto", 2);
	CHECK_EQ(peali_usable_cores(), 1);
	CHECK_EQ(machine.bound[0] + machine.bound[1], 0);
	CHECK_EQ(machine.free_threads, 2);
	finish();
}

PEAL_TEST(quota_below_the_cores_leaves_workers_unbound)
{
	new_root();
	use_own_claims();
	in_child(with_quota);
	remove_root();
}

/* ---- several processes --------------------------------------------------- */

/* Words that the processes of a group share. */
struct group {
	atomic_int core[RANKS]; /* -1: not bound, -2: no answer yet */
	atomic_int leave;
};

static struct group *group;

/* One process with one worker. It holds its core until it may leave. */
static void be_rank(int rank, const char *pin)
{
	plant(64, 6, 7);
	start(pin, 1);
	atomic_store(&group->core[rank], machine.bound[0] ? 6 :
					 machine.bound[1] ? 7 :
							    -1);
	while (!atomic_load(&group->leave))
		usleep(1000);
	finish();
	_exit(0);
}

static pid_t start_rank(int rank, const char *pin)
{
	pid_t child;

	atomic_store(&group->core[rank], -2);
	child = fork();
	CHECK(child >= 0);
	if (!child) {
		prctl(PR_SET_PDEATHSIG, SIGKILL); /* if a check fails */
		be_rank(rank, pin);
	}
	return child;
}

/* Starts n processes at once. Counts those at core 6, at core 7, at none. */
static void place(const char *pin, int n, pid_t *child, int *count)
{
	int i;

	atomic_store(&group->leave, 0);
	memset(count, 0, 3 * sizeof(*count));
	for (i = 0; i < n; i++)
		child[i] = start_rank(i, pin);
	for (i = 0; i < n; i++) {
		while (atomic_load(&group->core[i]) == -2)
			usleep(1000);
		count[group->core[i] < 0 ? 2 : group->core[i] - 6]++;
	}
}

static void leave(int n, const pid_t *child)
{
	int i, status;

	atomic_store(&group->leave, 1);
	for (i = 0; i < n; i++) {
		CHECK_EQ(waitpid(child[i], &status, 0), child[i]);
		CHECK_EQ(status, 0);
	}
}

static void share_words(void)
{
	use_own_claims();
	group = mmap(NULL, sizeof(*group), PROT_READ | PROT_WRITE,
		     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(group != MAP_FAILED);
}

PEAL_TEST(processes_of_a_machine_bind_to_different_cores)
{
	pid_t child[RANKS];
	int count[3], i;

	share_words();
	for (i = 0; i < 2; i++) { /* twice, as the cores are free again */
		place("auto", 4, child, count);
		CHECK_EQ(count[0], 1);
		CHECK_EQ(count[1], 1);
		CHECK_EQ(count[2], 2);
		leave(4, child);
	}
}

PEAL_TEST(pin_on_spreads_processes_over_the_cores)
{
	pid_t child[RANKS];
	int count[3];

	share_words();
	place("on", RANKS, child, count);
	CHECK_EQ(count[0], RANKS / 2);
	CHECK_EQ(count[1], RANKS / 2);
	leave(RANKS, child);
}

PEAL_TEST(killed_process_frees_its_core)
{
	pid_t child[RANKS];
	int count[3], status;

	share_words();
	place("auto", 2, child, count);
	CHECK_EQ(count[2], 0);
	kill(child[0], SIGKILL);
	CHECK_EQ(waitpid(child[0], &status, 0), child[0]);
	status = atomic_load(&group->core[0]);
	child[0] = start_rank(0, "auto");
	while (atomic_load(&group->core[0]) == -2)
		usleep(1000);
	CHECK_EQ(group->core[0], status);
	leave(2, child);
}

PEAL_TEST_MAIN(RUN(workers_use_cores_beyond_1024);
	       RUN(refused_query_binds_no_worker_to_core_0);
	       RUN(query_without_end_is_given_up);
	       RUN(quota_is_the_least_of_the_group_and_its_parents);
	       RUN(quota_of_cgroup_version_1_is_read);
	       RUN(quota_below_the_cores_leaves_workers_unbound);
	       RUN(processes_of_a_machine_bind_to_different_cores);
	       RUN(pin_on_spreads_processes_over_the_cores);
	       RUN(killed_process_frees_its_core);)
