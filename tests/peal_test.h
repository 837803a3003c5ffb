/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_TEST_H
#define PEAL_TEST_H

/*
 * The test harness. A case is a function that is named as a sentence. A failed
 * CHECK prints its place and its condition, then exits with 1.
 *
 *	PEAL_TEST(push_to_full_link_returns_eagain) { CHECK_EQ(a, b); }
 *	PEAL_TEST_MAIN(RUN(push_to_full_link_returns_eagain);)
 *
 * An argument on the command line selects the cases with it in their names.
 */

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PEAL_TEST(name) static void name(void)

#define CHECK(condition)                                                       \
	do {                                                                   \
		if (!(condition)) {                                            \
			fprintf(stderr, "%s:%d: failed: %s\n", __FILE__,       \
				__LINE__, #condition);                         \
			exit(1);                                               \
		}                                                              \
	} while (0)

#define CHECK_EQ(a, b)                                                         \
	do {                                                                   \
		long long peal_a_ = (long long)(a);                            \
		long long peal_b_ = (long long)(b);                            \
		if (peal_a_ != peal_b_) {                                      \
			fprintf(stderr,                                        \
				"%s:%d: failed: %s == %s: %lld, %lld\n",       \
				__FILE__, __LINE__, #a, #b, peal_a_, peal_b_); \
			exit(1);                                               \
		}                                                              \
	} while (0)

/* Fails if a call of Peal fails, with its error. Needs <peal/errors.h>. */
#define CHECK_OK(call)                                                         \
	do {                                                                   \
		int peal_r_ = (int)(call);                                     \
		if (peal_r_ < 0) {                                             \
			fprintf(stderr, "%s:%d: %s: %s: %s\n", __FILE__,       \
				__LINE__, #call, peal_error_name(peal_r_),     \
				peal_last_error()->text);                      \
			exit(1);                                               \
		}                                                              \
	} while (0)

#define CHECK_CONTAINS(text, part)                                             \
	do {                                                                   \
		const char *peal_t_ = (text);                                  \
		if (!strstr(peal_t_, (part))) {                                \
			fprintf(stderr,                                        \
				"%s:%d: failed: '%s' is not in '%s'\n",        \
				__FILE__, __LINE__, (part), peal_t_);          \
			exit(1);                                               \
		}                                                              \
	} while (0)

/* The call fails with this code, and the recorded text contains this part. */
#define CHECK_FAILS(call, error, part)                                         \
	do {                                                                   \
		CHECK_EQ(call, error);                                         \
		CHECK_EQ(peal_last_error()->code, error);                      \
		CHECK_CONTAINS(peal_last_error()->text, part);                 \
	} while (0)

#define SKIP(reason)                                                           \
	do {                                                                   \
		printf("skipped: %s\n", (reason));                             \
		exit(77);                                                      \
	} while (0)

/* Returns 1 if PEAL_BACKENDS is set without the host backend. CTest sets it for
 * the labels `double` and `gpu`. */
static inline int test_on_gpu(void)
{
	const char *backends = getenv("PEAL_BACKENDS");

	return backends && *backends && !strstr(backends, "host");
}

/* Returns n. With PEAL_TEST_QUICK returns an eighth of n, rounded up. CTest
 * sets it for a test with the label `quick`, but not for <test>_all. */
static inline unsigned long long test_part(unsigned long long n)
{
	return getenv("PEAL_TEST_QUICK") ? (n + 7) / 8 : n;
}

/* Ends the running case from any depth of calls. The case does not fail. */
static jmp_buf peal_case_;
static inline void test_leave_out(const char *reason)
{
	printf("    left out here: %s\n", reason);
	longjmp(peal_case_, 1);
}

/* Leaves a case out, except on emulated devices of the host backend. */
#define HOST_CASE(reason)                                                      \
	do {                                                                   \
		if (test_on_gpu())                                             \
			test_leave_out(reason);                                \
	} while (0)

/*
 * Sets the devices and the topology of the next runtime. With PEAL_TEST_GPU the
 * devices are parts of one GPU. Each part accesses every other part. Cases that
 * need another topology are left out.
 */
static inline void test_set_machine(const char *devices, const char *links)
{
	const char *gpu = getenv("PEAL_TEST_GPU");

	setenv("PEAL_HOST_DEVICES", devices, 1);
	setenv("PEAL_HOST_LINKS", links, 1);
	if (!gpu || !*gpu)
		return;
	if (strstr(links, "none") || strstr(links, "pcie") ||
	    strchr(links, '!'))
		test_leave_out("a GPU's parts have no such topology");
	if (atoi(devices) > 8)
		test_leave_out("a GPU has at most 8 parts");
	setenv("PEAL_GPU_SPLIT", devices, 1);
}

/* Runs a case until it returns or calls test_leave_out(). */
static inline void test_case(void (*run)(void))
{
	if (!setjmp(peal_case_))
		run();
}

#define RUN(name)                                                              \
	do {                                                                   \
		if (argc > 1 && !strstr(#name, argv[1]))                       \
			break;                                                 \
		printf("  %s\n", #name);                                       \
		fflush(stdout);                                                \
		test_case(name);                                               \
		peal_cases_++;                                                 \
	} while (0)

/* In a folder's program CMake defines a function name for each test file. */
#ifndef PEAL_TEST_FUNCTION
#define PEAL_TEST_FUNCTION main
#endif

#define PEAL_TEST_MAIN(cases)                                                  \
	int PEAL_TEST_FUNCTION(int argc, char **argv);                         \
	int PEAL_TEST_FUNCTION(int argc, char **argv)                          \
	{                                                                      \
		int peal_cases_ = 0;                                           \
		cases printf("%d cases passed\n", peal_cases_);                \
		if (!peal_cases_ && argc > 1)                                  \
			fprintf(stderr, "case '%s': is in no case's name\n",   \
				argv[1]);                                      \
		return peal_cases_ ? 0 : 1;                                    \
	}

/* Returns the next number of splitmix64. Equal seeds repeat a run. */
static inline unsigned long long test_random(unsigned long long *state)
{
	unsigned long long z = (*state += 0x9e3779b97f4a7c15ULL);

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
	return z ^ (z >> 31);
}

#endif
