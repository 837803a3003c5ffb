/* SPDX-License-Identifier: Apache-2.0 */
/* A round of the measurement of waking: see bench/wake.h. */
#include "bench/wake.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <peal/device/impl/base/host_support.h>

#include "runtime/host_support/idle.h"

#define LIMIT_NS UINT64_C(10000000000)
#define SETTLE_NS 100000 /* time that the waiter sleeps before it is woken */
#define LOOKS 1024 /* polls for an answer per reading of the clock */

uint64_t peali_wake_limit_ns(const struct peali_wake *w)
{
	return w->limit_ns ? w->limit_ns : LIMIT_NS;
}

/* ---- the waiter ---------------------------------------------------------- */

/* Reads a line of /proc about a thread of this process. Returns 0 or -1. */
static int read_line(uint32_t thread_id, const char *file, char *line,
		     size_t size)
{
	char path[64];
	FILE *from;
	int result;

	snprintf(path, sizeof(path), "/proc/self/task/%u/%s", thread_id, file);
	from = fopen(path, "r");
	if (!from)
		return -1;
	result = fgets(line, (int)size, from) ? 0 : -1;
	fclose(from);
	return result;
}

/* Returns 1 if the thread sleeps. The line is "12 (name) S ...". */
static int is_asleep(uint32_t thread_id)
{
	char line[256];
	const char *state;

	if (read_line(thread_id, "stat", line, sizeof(line)))
		return 0;
	state = strrchr(line, ')');
	return state && state[1] == ' ' && state[2] == 'S';
}

/* Returns the id of the thread with this name, or 0. */
static uint32_t find_thread(const char *name)
{
	DIR *tasks = opendir("/proc/self/task");
	struct dirent *task;
	char line[64];
	uint32_t found = 0;

	while (tasks && !found && (task = readdir(tasks))) {
		uint32_t id = (uint32_t)atoi(task->d_name);

		if (!id || read_line(id, "comm", line, sizeof(line)))
			continue;
		line[strcspn(line, "\n")] = 0;
		found = strcmp(line, name) ? 0 : id;
	}
	if (tasks)
		closedir(tasks);
	return found;
}

/* Runs in the waiter: waits for each number and answers with it. */
static void *waiter(void *argument)
{
	struct peali_wake *w = argument;
	uint64_t number;

	peali_core_bind(w->cores.a);
	peal_store_release_sys_u32(&w->thread_id,
				   (uint32_t)syscall(SYS_gettid));
	for (uint64_t i = 0; i < w->n; i++) {
		if (w->method->take(w, &number) ||
		    peal_load_acquire_sys(&w->over))
			break;
		peal_store_release_sys(&w->answer, number);
	}
	return NULL;
}

/* ---- the sender ---------------------------------------------------------- */

static int answered(struct peali_wake *w, uint64_t *number_out)
{
	if (w->method->answered)
		return w->method->answered(w, number_out);
	*number_out = peal_load_acquire_sys(&w->answer);
	if (!*number_out)
		return 0;
	peal_store_relaxed_sys(&w->answer, 0);
	return 1;
}

static void spin_ns(uint64_t ns)
{
	uint64_t until = peal_clock_ns() + ns;

	while (peal_clock_ns() < until)
		peal_pause();
}

/*
 * Returns 0 when the waiter has slept for SETTLE_NS, or -1 if it never sleeps.
 */
static int until_asleep(const struct peali_wake *w)
{
	uint64_t until = peal_clock_ns() + peali_wake_limit_ns(w);

	while (peal_clock_ns() < until) {
		if (!is_asleep(w->thread_id))
			continue;
		spin_ns(SETTLE_NS);
		if (is_asleep(w->thread_id))
			return 0;
	}
	peali_say("the waiter by '%s' never sleeps", w->method->name);
	return -1;
}

/*
 * Returns 1 if our bells have woken a thread since the last call. Returns 1 for
 * ways without bells.
 */
static int was_woken(struct peali_wake *w)
{
	struct peali_wait_counts counts;
	uint64_t before = w->wakes_before;

	peali_wait_counts(&counts);
	w->wakes_before = counts.wakes;
	return !w->method->rings || counts.wakes > before;
}

/* Sends one number and waits for the answer. Adds the time as a sample. */
static int trip(struct peali_wake *w, uint64_t number,
		struct peali_samples *samples)
{
	uint64_t began, got = 0, ns, looks = 0;

	if (w->gap_ns)
		spin_ns(w->gap_ns);
	else if (until_asleep(w))
		return -1;
	was_woken(w);
	began = peal_clock_ns();
	if (w->method->put(w, number))
		return -1;
	while (!answered(w, &got))
		if (++looks % LOOKS == 0 &&
		    peal_clock_ns() > began + peali_wake_limit_ns(w)) {
			peali_say("a message by '%s' did not arrive",
				  w->method->name);
			return -1;
		}
	ns = peal_clock_ns() - began;
	if (got != number) {
		peali_say("a message by '%s' is wrong", w->method->name);
		return -1;
	}
	if (w->gap_ns || was_woken(w))
		peali_samples_add(samples, (double)ns);
	return 0;
}

static int start(struct peali_wake *w, pthread_t *thread)
{
	uint64_t until = peal_clock_ns() + peali_wake_limit_ns(w);

	if (w->method->take) {
		if (!pthread_create(thread, NULL, waiter, w))
			return 0;
		peali_say("cannot start a waiting thread");
		return -1;
	}
	while (!(w->thread_id = find_thread(w->method->thread)))
		if (peal_clock_ns() > until) {
			peali_say("there is no thread '%s'", w->method->thread);
			return -1;
		}
	return 0;
}

int peali_wake_round(struct peali_wake *w, uint64_t n,
		     struct peali_samples *samples)
{
	uint64_t base = peali_bench_seed() >> 1 | 1;
	pthread_t thread;
	int result;

	w->thread_id = 0;
	w->n = n;
	w->number = w->answer = w->over = 0;
	w->full = 0;
	memset(&w->at, 0, sizeof(w->at));
	result = w->method->open(w);
	if (result || start(w, &thread)) {
		w->method->close(w);
		return -1;
	}
	peali_core_bind(w->cores.b);
	while (!peal_load_acquire_sys_u32(&w->thread_id))
		sched_yield();
	for (uint64_t i = 0; i < n && !result; i++)
		result = trip(w, base + i, samples);
	peali_core_bind(-1);
	peal_store_release_sys(&w->over, 1);
	if (result && w->method->take)
		w->method->put(w, base); /* wakes a waiter that sleeps */
	if (w->method->take)
		pthread_join(thread, NULL);
	return w->method->close(w) ? -1 : result;
}
