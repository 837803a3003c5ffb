/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEALI_SIM_SCHEDULE_H
#define PEALI_SIM_SCHEDULE_H

#include <stddef.h>
#include <stdint.h>

#include "runtime/host_support/fiber.h"
#include "tests/sim/engine/sim.h"

/* Private declarations of the simulator's files. */

#define PEALI_SIM_TASKS_MAX 4096
#define PEALI_SIM_FOREVER UINT64_MAX
/* Simulated duration of a yield point. */
#define PEALI_SIM_POINT_NS 10
/* Simulated duration of a pause while all other tasks wait. */
#define PEALI_SIM_PAUSE_NS 500
#define PEALI_SIM_TRAIL 16

enum peali_task_state { PEALI_TASK_READY, PEALI_TASK_BLOCKED, PEALI_TASK_DONE };

/** A thread of the program, or a lane of a worker. */
struct peali_task {
	struct peali_fiber fiber;
	struct peali_task *next_free;
	uint32_t id; /* number in the order of creation */
	uint32_t at; /* index in peali_sim.task */
	enum peali_task_state state;
	int timed_out; /* 1: a timeout ended its last wait */
	const void *key; /* object that a BLOCKED task waits for */
	const char *doing; /* description of the wait; NULL: none */
	uint64_t until_ns; /* time when its wait ends */
	uint64_t stalled_ns; /* the task does not run before this time */
	uint64_t priority;
	const void *site; /* yield point where it was switched away */
	int error; /* its errno while it does not run */
	void *words; /* its thread-local words while it does not run */
	void *(*run)(void *);
	void *argument, *result;
	char name[20];
};

/** State of a simulation run. */
struct peali_sim {
	/* first and adjacent: each yield point accesses these */
	uint64_t left; /* yield points until the next decision */
	uint64_t points;
	uint64_t trace;
	uint64_t tell_from;
	struct peali_task *now;
	/* simulated time that passed while all tasks waited */
	uint64_t jumped_ns;
	uint64_t soonest_ns; /* no wait times out before this time */
	uint64_t random[4];
	int active;
	int calm; /* above 0: no task switches */
	/* 1: schedule by priority; 0: uniformly at random */
	int by_priority;
	/* log2 of the most yield points between two decisions */
	uint32_t longest_shift;
	/* log2 of the mean number of decisions between two stalls; 0: none */
	uint32_t stall_shift;
	uint64_t lowest; /* lowest priority so far */
	uint64_t switches, stalls;
	uint32_t next_id, n, most;
	struct peali_sim_options options;
	struct peali_task *task[PEALI_SIM_TASKS_MAX];
	struct {
		uint32_t id;
		uint64_t point;
	} trail[PEALI_SIM_TRAIL];
};

extern struct peali_sim peali_sim;

/* Executes a yield point at a code address. */
void peali_sim_point(const void *site);
/*
 * Blocks the current task until a wake for `key` or until the time. Returns 1
 * if the time ended the wait.
 */
int peali_sim_block(const void *key, uint64_t until_ns, const char *doing,
		    const void *site);
/* Wakes up to n tasks that wait for `key`. Returns their number. */
int peali_sim_wake(const void *key, int n);
uint64_t peali_sim_now_ns(void);
uint64_t peali_sim_random(void);
/* Returns a random priority above those of all paused tasks. */
uint64_t peali_sim_priority(void);
/* Schedules the next task. `idle`: prefer other tasks to the current one. */
void peali_sim_decide(int idle, const void *site);
/* Ends the process if no simulation runs. */
void peali_sim_stop_unless_active(const char *call);

/* ---- tasks.c ------------------------------------------------------------- */

void peali_tasks_begin(void);
/* Forgets all tasks. Only the first one is left. */
void peali_tasks_end(void);
struct peali_task *peali_task_make(void *(*run)(void *), void *argument);
void *peali_task_join(struct peali_task *task, const void *site);
void peali_task_switch(struct peali_task *to);

/* ---- trace.c ------------------------------------------------------------- */

void peali_sim_trace_begin(void);
/* Prints that the current task is at a yield point. */
void peali_sim_trace_point(const void *site);

#define PEALI_SIM_SITE __builtin_return_address(0)

#endif
