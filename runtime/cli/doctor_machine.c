/* SPDX-License-Identifier: Apache-2.0 */
/* The checks of `peal doctor` that need no runtime. */
#include "runtime/base/system_call.h"
#include "runtime/cli/doctor.h"

#include <errno.h>
#include <linux/membarrier.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <liburing.h>

#include "runtime/base/core_set.h"

#define PASS PEALI_HEALTH_PASS
#define WARN PEALI_HEALTH_WARN
#define FAIL PEALI_HEALTH_FAIL
#define WAIVED PEALI_HEALTH_WAIVED

const char *peali_doctor_line(const char *root, const char *path, char *text,
			      size_t size)
{
	char name[4096];
	FILE *file;

	snprintf(name, sizeof(name), "%s%s", root, path);
	file = fopen(name, "re");
	text[0] = 0;
	if (file) {
		if (!fgets(text, (int)size, file))
			text[0] = 0;
		fclose(file);
	}
	text[strcspn(text, "\n")] = 0;
	return text;
}

static void check_memlock(struct peali_doctor *doctor)
{
	const uint64_t wanted = 64u << 20;
	struct rlimit limit = { 0, 0 };
	char text[32];

	getrlimit(RLIMIT_MEMLOCK, &limit);
	if (limit.rlim_cur == RLIM_INFINITY)
		peali_doctor_add(doctor, "memlock", PASS, NULL, "unlimited");
	else if (limit.rlim_cur >= wanted)
		peali_doctor_add(doctor, "memlock", PASS, NULL, "%s",
				 peali_bytes_text(limit.rlim_cur, text,
						  sizeof(text)));
	else
		peali_doctor_add(
			doctor, "memlock", WARN,
			"ulimit -l unlimited, or a 'memlock' line in "
			"/etc/security/limits.conf",
			"%s may be locked: enough for the host backend, too "
			"little to pin memory for GPUs",
			peali_bytes_text(limit.rlim_cur, text, sizeof(text)));
}

static void check_memfd(struct peali_doctor *doctor)
{
	const size_t bytes = 1u << 16;
	void *at = MAP_FAILED;
	int error = 0;
	int fd = memfd_create("peal-doctor", MFD_CLOEXEC);

	if (fd >= 0 && peali_ftruncate(fd, (off_t)bytes) == 0)
		at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
			  0);
	if (at == MAP_FAILED)
		error = errno;
	else
		munmap(at, bytes);
	if (fd >= 0)
		close(fd);
	if (error)
		peali_doctor_add(
			doctor, "memfd_create", FAIL,
			"allow memfd_create in the container's seccomp "
			"profile",
			"%s: the memory of emulated devices is made by "
			"it",
			strerror(error));
	else
		peali_doctor_add(doctor, "memfd_create", PASS, NULL,
				 "can be made and mapped");
}

static void check_membarrier(struct peali_doctor *doctor)
{
	long commands = syscall(SYS_membarrier, MEMBARRIER_CMD_QUERY, 0, 0);

	if (commands >= 0 && (commands & MEMBARRIER_CMD_PRIVATE_EXPEDITED) != 0)
		peali_doctor_add(doctor, "membarrier", PASS, NULL,
				 "private expedited barriers are there");
	else
		peali_doctor_add(doctor, "membarrier", WARN,
				 "allow membarrier in the container's seccomp "
				 "profile; Linux 4.14 or newer",
				 "%s: threads that sleep are woken by a slower "
				 "way",
				 commands < 0 ? strerror(errno) :
						"no expedited barriers");
}

static void check_io_uring(struct peali_doctor *doctor)
{
	struct io_uring ring;
	char disabled[16];
	int result = io_uring_queue_init(8, &ring, 0);

	peali_doctor_line("", "/proc/sys/kernel/io_uring_disabled", disabled,
			  sizeof(disabled));
	if (result == 0) {
		io_uring_queue_exit(&ring);
		peali_doctor_add(doctor, "io_uring", PASS, NULL,
				 "a ring can be made");
		return;
	}
	peali_doctor_add(
		doctor, "io_uring", WARN,
		disabled[0] > '0' ? "sysctl kernel.io_uring_disabled=0" :
		result == -ENOMEM ? "raise memlock: ulimit -l unlimited" :
				    "allow io_uring in the container's seccomp "
				    "profile (docker: --security-opt "
				    "seccomp=unconfined)",
		"%s%s%s: the stager waits by ppoll instead, with more system "
		"calls",
		strerror(-result),
		disabled[0] ? ", kernel.io_uring_disabled is " : "", disabled);
}

static void check_huge_pages(struct peali_doctor *doctor)
{
	char mode[96];
	char text[96];

	peali_doctor_line("",
			  "/sys/kernel/mm/transparent_hugepage/shmem_enabled",
			  text, sizeof(text));
	peali_doctor_line("", "/sys/kernel/mm/transparent_hugepage/enabled",
			  mode, sizeof(mode));
	if (!mode[0])
		peali_doctor_add(doctor, "huge pages", WAIVED, NULL,
				 "this kernel has no transparent huge pages");
	else if (strstr(mode, "[never]"))
		peali_doctor_add(doctor, "huge pages", WARN,
				 "echo madvise > /sys/kernel/mm/"
				 "transparent_hugepage/enabled",
				 "transparent huge pages are off: large queues "
				 "miss the TLB more often");
	else
		peali_doctor_add(doctor, "huge pages", PASS, NULL,
				 "transparent: %s; for shared memory: %s", mode,
				 text[0] ? text : "not known");
}

static double clock_cost_ns(void)
{
	enum { ROUNDS = 10000 };
	struct timespec first, last;

	clock_gettime(CLOCK_MONOTONIC, &first);
	for (int i = 0; i < ROUNDS; i++)
		clock_gettime(CLOCK_MONOTONIC, &last);
	return ((double)(last.tv_sec - first.tv_sec) * 1e9 +
		(double)(last.tv_nsec - first.tv_nsec)) /
	       ROUNDS;
}

static void check_clock(struct peali_doctor *doctor)
{
	double cost = clock_cost_ns();
	char source[64];

	peali_doctor_line("",
			  "/sys/devices/system/clocksource/clocksource0/"
			  "current_clocksource",
			  source, sizeof(source));
	if (cost < 200)
		peali_doctor_add(doctor, "clock", PASS, NULL,
				 "source %s, %.0f ns to read",
				 source[0] ? source : "not known", cost);
	else
		peali_doctor_add(
			doctor, "clock", WARN,
			"boot with clocksource=tsc, if the processor's "
			"counter is steady",
			"source %s, %.0f ns to read: that is in every "
			"latency that the host measures",
			source[0] ? source : "not known", cost);
}

void peali_doctor_machine(struct peali_doctor *doctor)
{
	peali_doctor_cores(doctor, "");
	check_memlock(doctor);
	check_memfd(doctor);
	check_membarrier(doctor);
	check_io_uring(doctor);
	check_huge_pages(doctor);
	check_clock(doctor);
}
