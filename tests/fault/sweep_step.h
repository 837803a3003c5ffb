/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_TESTS_SWEEP_STEP_H
#define PEAL_TESTS_SWEEP_STEP_H

/* The results of a sweep's child: driver calls and the first failed step. */

#include <dlfcn.h>

#include "runtime/harness.h"
#include "runtime/device/gpu/driver.h"
#include "runtime/runtime.h"

#define SWEEP_WAIT (20 * SECOND) /* of one step */

/* One row per call of the vendor's driver. */
struct sweep_call {
	const char *symbol;
	enum peali_gpu_need need;
};

#define SWEEP_CALL(member, arguments, cuda, version, hip, need, when)          \
	{ { cuda, PEALI_GPU_##need }, { hip, PEALI_GPU_##need } },
static const struct sweep_call sweep_calls[][2] = { PEALI_GPU_CALLS(
	SWEEP_CALL) };
#undef SWEEP_CALL
#define SWEEP_CALLS (sizeof(sweep_calls) / sizeof(sweep_calls[0]))

/* The results of a child, in memory shared with its parent. */
struct sweep_result {
	pid_t child;
	char fault[256]; /* that it ran under */
	int calls[SWEEP_CALLS]; /* of each symbol, in all */
	int calls_before_close[SWEEP_CALLS];
	int failed; /* number of failed steps */
	int untold; /* failed steps without an error text */
	int code; /* error of the first failed step */
	char step[128], text[256]; /* its call and its error text */
	int wrong; /* number of reads that differ from the writes */
	int left; /* driver resources that were not released */
	char left_text[160];
	int done; /* 1: the child came to its end */
	int open; /* devices of the runtime */
	int lost; /* peers that this process has given up */
	char reason[160]; /* why the backend is not available */
};

/* in the child: its own; in the parent: the latest */
static struct sweep_result *sweep;
static struct sweep_result *sweep_results;
static int sweep_is_hip;

static inline const struct sweep_call *sweep_call(size_t i)
{
	return &sweep_calls[i][sweep_is_hip];
}

/* Gets the number of calls of each symbol and the unreleased resources. */
static inline void sweep_ask_double(int calls[SWEEP_CALLS], int *left,
				    char *text, size_t bytes)
{
	void *library = dlopen(sweep_is_hip ? "libamdhip64.so" : "libcuda.so.1",
			       RTLD_NOW | RTLD_NOLOAD);
	int (*n_calls)(const char *symbol) = NULL;
	int (*n_left)(char *text, size_t bytes) = NULL;
	void *found;
	size_t i;

	if (!library) /* the backend has not loaded it */
		return;
	found = dlsym(library, "peal_driver_double_calls");
	memcpy(&n_calls, &found, sizeof(found));
	found = dlsym(library, "peal_driver_double");
	memcpy(&n_left, &found, sizeof(found));
	CHECK(n_calls && n_left);
	for (i = 0; i < SWEEP_CALLS; i++)
		if (*sweep_call(i)->symbol)
			calls[i] = n_calls(sweep_call(i)->symbol);
	if (text)
		*left = n_left(text, bytes);
	dlclose(library);
}

/* Records the first failed step. Returns 1 if this step did not fail. */
static inline int sweep_ok(int result, const char *step)
{
	if (result >= 0)
		return 1;
	sweep->untold += peal_last_error()->code != result;
	if (sweep->failed++)
		return 0;
	sweep->code = result;
	snprintf(sweep->step, sizeof(sweep->step), "%s", step);
	memcpy(sweep->text, peal_last_error()->text, sizeof(sweep->text));
	return 0;
}
#define STEP(call) sweep_ok((int)(call), #call)

#endif
