/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Output of a failing run: the reason, the state of all tasks, how to repeat
 * it.
 */
#include "tests/sim/engine/schedule.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void (*told_by)(void *context);
static void *told_context;
static int said;

void peali_sim_on_failure(void (*tell)(void *context), void *context)
{
	told_by = tell;
	told_context = context;
}

static const char *state_of(const struct peali_task *t)
{
	if (t == peali_sim.now && t->state == PEALI_TASK_READY)
		return "runs";
	if (t->state == PEALI_TASK_BLOCKED)
		return t->doing ? t->doing : "waits";
	return t->stalled_ns > peali_sim_now_ns() ? "stalled" : "ready";
}

/* Returns a code address as an offset in the program, as addr2line takes it. */
static unsigned long long offset(const void *site)
{
	extern const char __executable_start[];

	return (unsigned long long)((const char *)site - __executable_start);
}

void peali_sim_trace_point(const void *site)
{
	const struct peali_task *t = peali_sim.now;

	fprintf(stderr, "sim: point %llu, %s at 0x%llx\n",
		(unsigned long long)peali_sim.points, t ? t->name : "-",
		offset(site));
}

static void say_tasks(void)
{
	uint64_t now = peali_sim_now_ns();
	uint32_t i;

	for (i = 0; i < peali_sim.n; i++) {
		const struct peali_task *t = peali_sim.task[i];

		fprintf(stderr, "sim:   %u %s: %s", t->id, t->name,
			state_of(t));
		if (t->state == PEALI_TASK_BLOCKED &&
		    t->until_ns != PEALI_SIM_FOREVER)
			fprintf(stderr, " for %lld us",
				(long long)(t->until_ns - now) / 1000);
		if (t->site)
			fprintf(stderr, " at 0x%llx", offset(t->site));
		fprintf(stderr, "\n");
	}
}

static void say_trail(void)
{
	uint64_t n = peali_sim.switches, i;

	i = n < PEALI_SIM_TRAIL ? 0 : n - PEALI_SIM_TRAIL;
	fprintf(stderr, "sim: who ran last, and since which point:");
	for (; i < n; i++)
		fprintf(stderr, " %u@%llu",
			peali_sim.trail[i % PEALI_SIM_TRAIL].id,
			(unsigned long long)peali_sim.trail[i % PEALI_SIM_TRAIL]
				.point);
	fprintf(stderr, "\n");
}

static void say_seed(void)
{
	fprintf(stderr,
		"sim: seed %llu, yield point %llu, %llu us; the same again: "
		"PEAL_SIM_SEED=%llu PEAL_SIM_SEEDS=1 %s\n",
		(unsigned long long)peali_sim.options.seed,
		(unsigned long long)peali_sim.points,
		(unsigned long long)(peali_sim_now_ns() / 1000 - 1000000000),
		(unsigned long long)peali_sim.options.seed,
		program_invocation_name);
}

static void say_all(const char *why)
{
	if (said++ || !peali_sim.active)
		return;
	peali_sim.calm++;
	fflush(stdout);
	fprintf(stderr, "sim: %s\n", why);
	say_tasks();
	say_trail();
	say_seed();
	if (told_by)
		told_by(told_context);
}

void peali_sim_fail(const char *format, ...)
{
	char why[256];
	va_list list;

	va_start(list, format);
	vsnprintf(why, sizeof(why), format, list);
	va_end(list);
	if (said || !peali_sim.active)
		fprintf(stderr, "sim: %s\n", why);
	say_all(why);
	exit(1);
}

void peali_sim_stop_unless_active(const char *call)
{
	if (!peali_sim.active)
		peali_sim_fail("%s: no run is under way", call);
}

/* Reports a failed run if the program exits with an error during the run. */
static void at_exit(int status, void *context)
{
	(void)context;
	if (peali_sim.active && status && status != 77)
		say_all("the program ends with a failure");
}

static void at_signal(int number)
{
	say_all("a signal ends the program");
	signal(number, SIG_DFL);
	raise(number);
}

#if PEAL_ASAN
static void at_death(void)
{
	say_all("AddressSanitizer ends the program");
}
#endif

/* Signal handlers get their own stack, as a fiber's stack may be full. */
static void catch_signals(void)
{
#if !PEAL_ASAN
	static const int fatal[] = { SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT };
	static char memory[65536];
	stack_t stack = { .ss_sp = memory, .ss_size = sizeof(memory) };
	struct sigaction action;
	size_t i;

	sigaltstack(&stack, NULL);
	memset(&action, 0, sizeof(action));
	action.sa_handler = at_signal;
	action.sa_flags = SA_ONSTACK;
	for (i = 0; i < sizeof(fatal) / sizeof(fatal[0]); i++)
		sigaction(fatal[i], &action, NULL);
#elif PEAL_ASAN
	(void)at_signal;
	__sanitizer_set_death_callback(at_death);
#endif
}

void peali_sim_trace_begin(void)
{
	static int done;

	if (done++)
		return;
	catch_signals();
	on_exit(at_exit, NULL);
}
