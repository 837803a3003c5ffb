/* SPDX-License-Identifier: Apache-2.0 */
/* labels: double */
/*
 * Jobs on host arrays with a copy that the driver refuses. The job ends with the
 * error. One range has it, and all ranges that are done have their results.
 */
#include <dlfcn.h>

#include "runtime/array_fixture.h"

static int is_hip(void)
{
	return !strcmp(getenv("PEAL_BACKENDS"), "hip");
}

/* Makes copy `n` from now on fail. */
static void fail_copy(int n)
{
	const char *symbol = is_hip() ? "hipMemcpyAsync" : "cuMemcpyAsync";
	void *library =
		dlopen(is_hip() ? "libamdhip64.so" : "libcuda.so.1", RTLD_NOW);
	void *found = library ? dlsym(library, "peal_driver_double_calls") :
				NULL;
	int (*calls)(const char *symbol);
	char fault[64];

	CHECK(found);
	memcpy(&calls, &found, sizeof(found));
	snprintf(fault, sizeof(fault), "%s:700:%d", symbol, calls(symbol) + n);
	setenv("PEAL_DOUBLE_FAIL", fault, 1);
	dlclose(library);
}

/* Returns the number of ranges that failed with the error of a copy. */
static int count_failed(void)
{
	struct peal_executor_range r;
	uint64_t at = 0, i;
	int n = 0;

	for (i = 0; at < s.job.count; i++) {
		CHECK_OK(peal_executor_arrays_range(s.e, i, &r));
		CHECK_EQ(r.first, at);
		at += r.count;
		if (!r.result || r.result == PEAL_ECANCELED)
			check_elements(&r);
		else
			n++;
	}
	return n;
}

PEAL_TEST(failed_copy_ends_the_job_and_is_listed)
{
	int n, to = 0, from = 0;

	if (!test_on_gpu())
		SKIP("PEAL_BACKENDS names no driver double: run it by ctest");
	setenv("PEAL_GPU_MEMORY", "32M", 1);
	setenv("PEAL_PINNED_MEMORY", "32M", 1);
	open_arrays(2, 1);
	limit_all(4096);
	s.job.count = 2000;
	s.job.schedule = PEAL_SCHEDULE_GUIDED;
	run_all();
	for (n = 5; n < 25; n++) { /* the first ones are copies of zeros */
		clear();
		fail_copy(n);
		CHECK(run(MAX_WAIT) < 0);
		to += strstr(peal_last_error()->text, " to device ") != NULL;
		from += strstr(peal_last_error()->text, " from device ") !=
			NULL;
		CHECK_CONTAINS(peal_last_error()->text,
			       "the copy of elements ");
		CHECK_EQ(count_failed(), 1);
		unsetenv("PEAL_DOUBLE_FAIL");
		run_all();
	}
	CHECK(to > 0 && from > 0);
	close_arrays();
}

PEAL_TEST_MAIN(RUN(failed_copy_ends_the_job_and_is_listed);)
