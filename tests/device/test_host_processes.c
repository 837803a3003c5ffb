/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shows kernels of emulated devices in processes of their own. A handler that
 * crashes loses its device alone, with a report. The other devices continue.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include <peal/executor.h>

#include "runtime/base/process.h"
#include "runtime/crash.h"
#include "runtime/harness.h"

PEAL_DECLARE_PROGRAM(crash);

#define WILD 0x10

/* Endpoint -> handler 'crash' on a device -> endpoint. */
struct loop {
	struct peal_endpoint *e;
	struct peal_kernel *k;
	struct peal_link *to, *from;
};

static struct peal_runtime *open_processes(int devices)
{
	setenv("PEAL_HOST_PROCESSES", "on", 1);
	if (PEAL_TSAN)
		test_leave_out("ThreadSanitizer allows no threads after fork");
	return harness_open(devices, "");
}

static struct peal_kernel *launch_crash(struct peal_runtime *rt, int device)
{
	struct peal_kernel_options o = { .size = sizeof(o), .name = "victim" };
	struct peal_kernel *k = NULL;

	CHECK_OK(peal_kernel_launch(rt, device, &peal_program_crash, &o, &k));
	return k;
}

static struct loop make_loop(struct peal_runtime *rt, int device)
{
	struct peal_link_options o = { .capacity = 16 };
	struct loop loop;
	uint64_t actor;

	loop.e = harness_endpoint(rt);
	loop.k = launch_crash(rt, device);
	actor = harness_spawn(loop.k, "crash", 0);
	loop.to = harness_from(rt, loop.e, 0, actor, o);
	loop.from = harness_to(rt, actor, loop.e, o);
	return loop;
}

static void order(struct loop *loop, uint64_t how, uint64_t address)
{
	struct crash_order m = { how, address };

	CHECK_OK(peal_send(loop->e, 0, 0, &m, sizeof(m), MAX_WAIT, NULL));
}

/* Sends an order that comes back. Returns the word in the answer. */
static uint64_t ask(struct loop *loop, uint64_t how)
{
	struct crash_order m;
	struct peal_received r;

	order(loop, how, 0);
	CHECK_OK(peal_receive(loop->e, &m, sizeof(m), &r, MAX_WAIT));
	CHECK_EQ(m.how, how);
	return m.address;
}

static void check_no_child(void)
{
	CHECK_EQ(waitpid(-1, NULL, WNOHANG), -1);
	CHECK_EQ(errno, ECHILD);
}

static int n_descriptors(void)
{
	DIR *folder = opendir("/proc/self/fd");
	int n = 0;

	CHECK(folder);
	while (readdir(folder))
		n++;
	closedir(folder);
	return n;
}

/* Device 1 of three is lost. It meets no filter. */
static void check_selection(struct peal_runtime *rt)
{
	struct peal_device_info info;
	int device[3], i;

	for (i = 0; i < 3; i++) {
		CHECK_OK(peal_device_info(rt, i, &info));
		CHECK_EQ(info.lost, i == 1);
	}
	CHECK_EQ(peal_device_select_all(rt, NULL, 3, device), 2);
	CHECK_EQ(device[0], 0);
	CHECK_EQ(device[1], 2);
}

/* Crashes the kernel of device 1 of three. The kernels of the others go on. */
static void crash_one(uint64_t how, const char *report)
{
	int before = n_descriptors();
	struct peal_runtime *rt = open_processes(3);
	struct loop lost = make_loop(rt, 1), fine = make_loop(rt, 2);
	struct peal_kernel_info info;
	struct peal_kernel *k = NULL;
	char text[64];
	struct peal_received r;

	CHECK(ask(&lost, CRASH_NONE) != (uint64_t)getpid());
	CHECK(ask(&fine, CRASH_NONE) != ask(&lost, CRASH_NONE));
	order(&lost, how, WILD);
	CHECK_FAILS(peal_kernel_wait(lost.k, MAX_WAIT), PEAL_EDRIVER, report);
	CHECK_CONTAINS(peal_last_error()->text,
		       "kernel 'victim' on device 1 failed: device 1 is lost:");
	CHECK_OK(peal_kernel_info(lost.k, &info));
	CHECK_EQ(info.state, PEAL_KERNEL_FAILED);
	CHECK_EQ(info.result, PEAL_EDRIVER);
	EVENTUALLY(harness_info(lost.to).undelivered == 1);
	CHECK_EQ(peal_receive(lost.e, text, sizeof(text), &r, MAX_WAIT),
		 PEAL_ESTOPPED);
	CHECK_FAILS(peal_kernel_launch(rt, 1, &peal_program_crash, NULL, &k),
		    PEAL_EDRIVER, "open the runtime again");
	check_selection(rt);
	ask(&fine, CRASH_NONE);
	CHECK_OK(peal_kernel_launch(rt, 0, &peal_program_crash, NULL, &k));
	harness_conserved(rt);
	CHECK_OK(peal_runtime_shutdown(rt));
	check_no_child();
	CHECK_EQ(n_descriptors(), before);
}

PEAL_TEST(wild_pointer_loses_its_device_alone)
{
	crash_one(CRASH_WRITE, PEAL_ASAN ? "has ended with status 1" :
					   "worker 0 got signal 11 "
					   "(Segmentation fault) at address "
					   "0x10; worker 0 was in handler "
					   "'crash' of actor 0, on message 2");
}

PEAL_TEST(abort_loses_its_device_alone)
{
	crash_one(CRASH_ABORT, "worker 0 got signal 6 (Aborted); worker 0 was "
			       "in handler 'crash' of actor 0");
}

PEAL_TEST(exit_loses_its_device_alone)
{
	crash_one(CRASH_EXIT, "worker 0 called exit; worker 0 was in handler");
}

PEAL_TEST(endless_recursion_loses_its_device_alone)
{
	crash_one(CRASH_STACK, PEAL_ASAN ? "has ended with status 1" :
					   "worker 0 got signal 11");
}

PEAL_TEST(executor_tells_how_its_device_has_crashed)
{
	const struct crash_order order = { CRASH_WRITE, WILD };
	const struct peal_executor_options o = { .size = sizeof(o),
						 .workers = 1 };
	const int devices[] = { 0, 1 };
	struct peal_runtime *rt = open_processes(2);
	const struct peal_job job = { .size = sizeof(job),
				      .schedule = PEAL_SCHEDULE_STATIC,
				      .handler = "crash_second",
				      .count = 100,
				      .parameters = &order,
				      .parameter_bytes = sizeof(order) };
	struct peal_executor *e = NULL;

	CHECK_OK(peal_executor_create(rt, devices, 2, &peal_program_crash, &o,
				      &e));
	CHECK_FAILS(peal_executor_run(e, &job, MAX_WAIT), PEAL_EABORTED,
		    "device 1 has ended; lost tasks: ");
	CHECK_CONTAINS(peal_last_error()->text,
		       PEAL_ASAN ? "has ended with status 1" :
				   "device 1 is lost: worker 0 got signal 11 "
				   "(Segmentation fault) at address 0x10");
	CHECK_OK(peal_runtime_shutdown(rt));
	check_no_child();
}

PEAL_TEST(crash_ends_other_kernels_of_its_device)
{
	struct peal_runtime *rt = open_processes(2);
	struct loop first = make_loop(rt, 0), second = make_loop(rt, 0);

	CHECK(ask(&first, CRASH_NONE) != ask(&second, CRASH_NONE));
	order(&first, CRASH_ABORT, 0);
	CHECK_FAILS(peal_kernel_wait(second.k, MAX_WAIT), PEAL_EDRIVER,
		    "device 0 is lost: worker 0 got signal 6");
	CHECK_FAILS(peal_kernel_wait(first.k, MAX_WAIT), PEAL_EDRIVER,
		    "device 0 is lost: worker 0 got signal 6");
	CHECK_OK(peal_runtime_shutdown(rt));
	check_no_child();
}

/* The system then keeps no status of a child. */
PEAL_TEST(crash_is_reported_to_program_that_ignores_children)
{
	struct peal_runtime *rt;
	struct loop loop;

	signal(SIGCHLD, SIG_IGN);
	rt = open_processes(1);
	loop = make_loop(rt, 0);
	order(&loop, CRASH_ABORT, 0);
	CHECK_FAILS(peal_kernel_wait(loop.k, MAX_WAIT), PEAL_EDRIVER,
		    "worker 0 got signal 6");
	CHECK_OK(peal_runtime_shutdown(rt));
	signal(SIGCHLD, SIG_DFL);
	check_no_child();
}

PEAL_TEST(killed_process_loses_its_device)
{
	struct peal_runtime *rt = open_processes(2);
	struct loop loop = make_loop(rt, 0), fine = make_loop(rt, 1);

	CHECK_EQ(kill((pid_t)ask(&loop, CRASH_NONE), SIGKILL), 0);
	CHECK_FAILS(peal_kernel_wait(loop.k, MAX_WAIT), PEAL_EDRIVER,
		    "of its workers got signal 9 (Killed)");
	ask(&fine, CRASH_NONE);
	CHECK_OK(peal_runtime_shutdown(rt));
	check_no_child();
}

/* Also shows that the window opens for processes that run already. */
PEAL_TEST(links_between_processes_deliver)
{
	struct peal_runtime *rt = open_processes(2);
	struct peal_link_options o = { .capacity = 16 };
	struct peal_endpoint *e = harness_endpoint(rt);
	struct peal_kernel *a = harness_launch(rt, 0),
			   *b = harness_launch(rt, 1);
	uint64_t first = harness_spawn(a, "echo", 0);
	uint64_t second = harness_spawn(b, "echo", 0);
	struct peal_link *between;

	harness_from(rt, e, 0, first, o);
	between = harness_link(rt, first, 0, second, o);
	harness_to(rt, second, e, o);
	CHECK_EQ(harness_info(between).route, PEAL_ROUTE_PEER);
	for (uint64_t i = 0; i < 1000; i += 10) {
		harness_send(e, 0, 1, i, 10);
		harness_receive(e, 1, i, 10);
	}
	harness_conserved(rt);
	CHECK_OK(peal_runtime_shutdown(rt));
	check_no_child();
}

PEAL_TEST(globals_are_those_of_each_process)
{
	struct peal_runtime *rt = open_processes(2);
	struct loop first = make_loop(rt, 0), second = make_loop(rt, 1);

	CHECK_EQ(ask(&first, CRASH_COUNT), 0);
	CHECK_EQ(ask(&first, CRASH_COUNT), 1);
	CHECK_EQ(ask(&second, CRASH_COUNT), 0);
	CHECK_OK(peal_runtime_shutdown(rt));
}

PEAL_TEST(processes_keep_no_descriptor_of_the_program)
{
	struct peal_runtime *rt = open_processes(1);
	struct pollfd p = { .events = POLLIN };
	struct loop loop;
	int ends[2];

	CHECK_EQ(pipe(ends), 0);
	loop = make_loop(rt, 0);
	ask(&loop, CRASH_NONE);
	close(ends[1]);
	p.fd = ends[0];
	CHECK_EQ(poll(&p, 1, (int)(MAX_WAIT / MS)), 1);
	CHECK(p.revents & POLLHUP);
	close(ends[0]);
	CHECK_OK(peal_runtime_shutdown(rt));
}

static int has_ended(pid_t pid)
{
	struct peali_process_stat stat;

	return peali_process_stat(pid, &stat) || stat.state == 'Z';
}

PEAL_TEST(processes_end_with_a_killed_program)
{
	_Atomic int *pid = mmap(NULL, sizeof(*pid), PROT_READ | PROT_WRITE,
				MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t program;

	CHECK(pid != MAP_FAILED);
	program = PEAL_TSAN ? -1 : fork();
	if (!program) {
		struct peal_runtime *rt = open_processes(1);
		struct loop loop = make_loop(rt, 0);

		atomic_store(pid, (int)ask(&loop, CRASH_NONE));
		for (;;)
			pause();
	}
	if (program < 0)
		test_leave_out("ThreadSanitizer allows no threads after fork");
	EVENTUALLY(atomic_load(pid));
	CHECK(!has_ended(atomic_load(pid)));
	CHECK_EQ(kill(program, SIGKILL), 0);
	CHECK_EQ(waitpid(program, NULL, 0), program);
	EVENTUALLY(has_ended(atomic_load(pid)));
	munmap((void *)pid, sizeof(*pid));
}

PEAL_TEST(without_the_setting_workers_share_the_process)
{
	struct peal_runtime *rt;
	struct loop loop;

	setenv("PEAL_HOST_PROCESSES", "off", 1);
	rt = harness_open(1, "");
	loop = make_loop(rt, 0);
	CHECK_EQ(ask(&loop, CRASH_NONE), getpid());
	CHECK_OK(peal_runtime_shutdown(rt));
}

PEAL_TEST(unknown_value_is_refused_with_the_allowed_ones)
{
	struct peal_runtime *rt = NULL;

	setenv("PEAL_HOST_PROCESSES", "maybe", 1);
	CHECK_FAILS(peal_runtime_open(NULL, &rt), PEAL_EINVAL,
		    "variable 'PEAL_HOST_PROCESSES': is no such choice (maybe, "
		    "allowed off|on); use off");
	CHECK(!rt);
	if (PEAL_TSAN) {
		setenv("PEAL_HOST_PROCESSES", "on", 1);
		CHECK_FAILS(peal_runtime_open(NULL, &rt), PEAL_ENOTSUP,
			    "ThreadSanitizer");
	}
	unsetenv("PEAL_HOST_PROCESSES");
}

PEAL_TEST_MAIN(RUN(wild_pointer_loses_its_device_alone);
	       RUN(abort_loses_its_device_alone);
	       RUN(exit_loses_its_device_alone);
	       RUN(endless_recursion_loses_its_device_alone);
	       RUN(executor_tells_how_its_device_has_crashed);
	       RUN(crash_ends_other_kernels_of_its_device);
	       RUN(crash_is_reported_to_program_that_ignores_children);
	       RUN(killed_process_loses_its_device);
	       RUN(links_between_processes_deliver);
	       RUN(globals_are_those_of_each_process);
	       RUN(processes_keep_no_descriptor_of_the_program);
	       RUN(processes_end_with_a_killed_program);
	       RUN(without_the_setting_workers_share_the_process);
	       RUN(unknown_value_is_refused_with_the_allowed_ones);)
