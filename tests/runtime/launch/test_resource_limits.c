/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shows each resource limit of the process. A child process sets the limit and
 * opens, launches, connects, sends and joins. Each call works, or it returns
 * PEAL_ENOMEM with the limit in its text. Nothing crashes, hangs or leaks.
 */
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <peal/process_group.h>
#include <peal/queue.h>
#include "runtime/base/file.h"
#include "runtime/base/limits.h"
#include "runtime/harness.h"

#define NO_LIMIT_TEXT 3
#define LEAK 4
#define WRONG_CODE 5
#define SHORT_OF 10 /* refused with the right text */

static struct peal_runtime *rt;

static int entries_of(const char *path)
{
	DIR *folder = opendir(path);
	int n = 0;

	while (folder && readdir(folder))
		n++;
	if (folder)
		closedir(folder);
	return n;
}

static int send_and_receive(void)
{
	struct peal_kernel_options o = { .size = sizeof(o), .workers = 2 };
	struct peal_endpoint *e = NULL;
	struct peal_kernel *k = NULL;
	struct peal_received got;
	uint64_t actor, self, n = 7;
	int r = peal_endpoint_create(rt, NULL, &e);

	if (!r)
		r = peal_kernel_launch(rt, 0, &peal_program_relay, &o, &k);
	if (!r)
		r = peal_actor_spawn(k, "echo", NULL, &actor);
	if (r)
		return r;
	self = peal_endpoint_address(e);
	r = peal_connect(rt, self, 0, actor, NULL, NULL);
	if (!r)
		r = peal_connect(rt, actor, 0, self, NULL, NULL);
	if (!r)
		r = peal_send(e, 0, 0, &n, sizeof(n), MAX_WAIT, NULL);
	if (!r)
		r = peal_receive(e, &n, sizeof(n), &got, MAX_WAIT);
	return r;
}

static int make_queue(void)
{
	struct peal_queue *q;
	int r = peal_queue_create(NULL, &q);

	return r ? r : peal_queue_destroy(q);
}

static int join_alone(void)
{
	struct peal_process_group *group;
	char path[128];
	int r;

	snprintf(path, sizeof(path), "%s/rendezvous", harness_cache);
	unlink(path);
	setenv("PEAL_RANK", "0", 1);
	setenv("PEAL_RANKS", "1", 1);
	setenv("PEAL_RENDEZVOUS", path, 1);
	r = peal_process_group_join(rt, NULL, &group);

	return r ? r : peal_process_group_leave(group, MAX_WAIT);
}

/* A cache that cannot be written is no error of the library. */
static void write_cache(void)
{
	static const char text[8192];
	char path[128];

	snprintf(path, sizeof(path), "%s/file", harness_cache);
	if (peali_file_write(path, text, sizeof(text)))
		CHECK(errno == EFBIG || errno == EMFILE || errno == ENOMEM);
	unlink(path);
}

static int use_all(void)
{
	int r = send_and_receive();

	if (!r)
		r = make_queue();
	return r ? r : join_alone();
}

/* A thread that was joined leaves /proc a little later. */
static int has_more_threads(int than)
{
	int i;

	for (i = 0; i < 1000; i++) {
		if (entries_of("/proc/self/task") <= than)
			return 0;
		usleep(10000);
	}
	return 1;
}

/* Runs in the child. Returns its exit status. */
static int under_limit(const char *name)
{
	int files = entries_of("/proc/self/fd"), r;
	int threads = entries_of("/proc/self/task");
	struct peal_error_info why;

	write_cache();
	r = peal_runtime_open(NULL, &rt);
	if (!r) {
		r = use_all();
		why = *peal_last_error();
		CHECK_OK(peal_runtime_shutdown(rt));
	} else {
		why = *peal_last_error();
	}
	if (files > 2 && entries_of("/proc/self/fd") != files)
		return LEAK;
	if (has_more_threads(threads))
		return LEAK;
	if (!r)
		return 0;
	signal(SIGXFSZ, SIG_IGN); /* standard error may be a file */
	fprintf(stderr, "%s: %s\n", peal_error_name(r), why.text);
	if (r != PEAL_ENOMEM)
		return WRONG_CODE;
	return strstr(why.text, name) ? SHORT_OF : NO_LIMIT_TEXT;
}

static uint64_t used_pages(void)
{
	unsigned long long pages = 0;
	FILE *file = fopen("/proc/self/statm", "r");

	CHECK(file && fscanf(file, "%llu", &pages) == 1);
	fclose(file);
	return pages;
}

static void *end_at_once(void *unused)
{
	return unused;
}

/* TSan starts a thread of its own together with the first thread. */
static void start_and_join_a_thread(void)
{
	pthread_t thread;

	CHECK(!pthread_create(&thread, NULL, end_at_once, NULL));
	pthread_join(thread, NULL);
}

/* Returns 1 if the limit was too small, 0 if everything worked. */
static int with(int resource, const char *name, uint64_t value)
{
	struct rlimit limit = { value, value };
	int status;
	pid_t child;

	fflush(stdout);
	child = fork();
	CHECK(child >= 0);
	if (!child) {
		alarm(120);
		start_and_join_a_thread();
		if (resource == RLIMIT_AS) {
			limit.rlim_cur += used_pages() * 4096;
			limit.rlim_max = limit.rlim_cur;
		}
		if (resource == RLIMIT_NPROC && !getuid() &&
		    setresuid(65534, 65534, 65534))
			_exit(0);
		CHECK_EQ(setrlimit((__rlimit_resource_t)resource, &limit), 0);
		_exit(under_limit(name));
	}
	CHECK_EQ(waitpid(child, &status, 0), child);
	if (WIFEXITED(status) && WEXITSTATUS(status) == SHORT_OF)
		return 1;
	if (status)
		fprintf(stderr, "%s = %llu: wait status 0x%x\n", name,
			(unsigned long long)value, (unsigned)status);
	CHECK_EQ(status, 0);
	return 0;
}

static void prepare(void)
{
	HOST_CASE("the memory of emulated devices has these limits");
	harness_make_cache();
	test_set_machine("2", "");
	setenv("PEAL_HOST_MEMORY", "64M", 1);
	setenv("PEAL_PROBE", "cache", 1);
}

PEAL_TEST(file_size_limit_is_an_error_and_no_signal)
{
	prepare();
	CHECK(with(RLIMIT_FSIZE, "RLIMIT_FSIZE", 0));
	CHECK(with(RLIMIT_FSIZE, "RLIMIT_FSIZE", 1 << 20));
	CHECK(!with(RLIMIT_FSIZE, "RLIMIT_FSIZE", 128 << 20));
}

PEAL_TEST(blocked_and_pending_file_size_signal_stays)
{
	struct peali_write_guard guard;
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGXFSZ);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	raise(SIGXFSZ);
	peali_write_guard_begin(&guard);
	peali_write_guard_end(&guard);
	sigpending(&set);
	CHECK(sigismember(&set, SIGXFSZ));
	signal(SIGXFSZ, SIG_IGN); /* ends it */
	signal(SIGXFSZ, SIG_DFL);
	sigemptyset(&set);
	sigaddset(&set, SIGXFSZ);
	pthread_sigmask(SIG_UNBLOCK, &set, NULL);
}

PEAL_TEST(each_number_of_files_works_or_names_the_limit)
{
	int n, refused = 0;

	prepare();
	for (n = 3; n < 16; n++)
		refused += with(RLIMIT_NOFILE, "RLIMIT_NOFILE", (uint64_t)n);
	CHECK(refused > 3);
	CHECK(!with(RLIMIT_NOFILE, "RLIMIT_NOFILE", 64));
}

PEAL_TEST(each_number_of_threads_works_or_names_the_limit)
{
	int n, refused = 0;

	prepare();
	CHECK(!chmod(harness_cache, 0777));
	for (n = 1; n < 12; n++)
		refused += with(RLIMIT_NPROC, "RLIMIT_NPROC", (uint64_t)n);
	CHECK(refused || getuid());
}

PEAL_TEST(address_space_works_or_names_the_limit)
{
	uint64_t mb;
	int refused = 0;

	prepare();
	if (PEAL_TSAN || PEAL_ASAN)
		test_leave_out("a sanitizer needs the address space");
	for (mb = 0; mb < 320; mb += 7)
		refused += with(RLIMIT_AS, "RLIMIT_AS", mb << 20);
	CHECK(refused > 3);
	CHECK(!with(RLIMIT_AS, "RLIMIT_AS", 4ULL << 30));
	for (mb = 0; mb < 40; mb += 3)
		with(RLIMIT_DATA, "RLIMIT_DATA", mb << 20);
}

PEAL_TEST(emulated_devices_need_no_locked_memory)
{
	prepare();
	CHECK(!with(RLIMIT_MEMLOCK, "RLIMIT_MEMLOCK", 0));
}

PEAL_TEST_MAIN(RUN(file_size_limit_is_an_error_and_no_signal);
	       RUN(blocked_and_pending_file_size_signal_stays);
	       RUN(each_number_of_files_works_or_names_the_limit);
	       RUN(each_number_of_threads_works_or_names_the_limit);
	       RUN(address_space_works_or_names_the_limit);
	       RUN(emulated_devices_need_no_locked_memory);)
