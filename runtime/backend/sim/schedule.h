/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEALI_SIM_SCHEDULE_H
#define PEALI_SIM_SCHEDULE_H

#include <stddef.h>
#include <stdint.h>

#include "runtime/backend/host/fiber.h"
#include "runtime/backend/sim/sim.h"

/* What the simulator's files share. No other file includes this. */

#define PEALI_SIM_TASKS_MAX 4096
#define PEALI_SIM_FOREVER UINT64_MAX
/* What a yield point takes. */
#define PEALI_SIM_POINT_NS 10
/* What a pause takes during which all others wait. */
#define PEALI_SIM_PAUSE_NS 500
#define PEALI_SIM_TRAIL 16

enum peali_task_state { PEALI_TASK_READY, PEALI_TASK_BLOCKED, PEALI_TASK_DONE };

/** A thread of the program, or a lane of a worker. */
struct peali_task {
	struct peali_fiber fiber;
	struct peali_task *next_free;
	uint32_t id; /* in the order in which they were made */
	uint32_t at; /* its place among those that live */
	enum peali_task_state state;
	int timed_out; /* its last wait ended by time */
	const void *key; /* what it waits for; of its state BLOCKED */
	const char *doing; /* in words */
	uint64_t until_ns; /* when its wait ends by time */
	uint64_t stalled_ns; /* it does not run before */
	uint64_t priority;
	const void *site; /* where it was when another went on */
	int error; /* its errno */
	void *words; /* its thread-local ones, while another runs */
	void *(*run)(void *);
	void *argument, *result;
	char name[20];
};

/** The run. */
struct peali_sim {
	/* first, and together: what each yield point touches */
	uint64_t left; /* points until the next decision */
	uint64_t points;
	uint64_t trace;
	uint64_t tell_from;
	struct peali_task *now;
	uint64_t jumped_ns; /* time that passed while all waited */
	uint64_t soonest_ns; /* no wait ends by time before */
	uint64_t random[4];
	int active;
	int calm; /* no task may change over: above 0 */
	int by_priority;
	uint32_t longest_shift; /* of points between two decisions */
	uint32_t stall_shift; /* decisions between two stalls; 0: none */
	uint64_t lowest; /* priority given so far */
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

/* A yield point at that place of the code. */
void peali_sim_point(const void *site);
/* The current task waits until it is woken or the time has come: 1 by time. */
int peali_sim_block(const void *key, uint64_t until_ns, const char *doing,
		    const void *site);
/* Wakes up to n that wait for the key; how many. */
int peali_sim_wake(const void *key, int n);
uint64_t peali_sim_now_ns(void);
uint64_t peali_sim_random(void);
/* Of a task that is made, or begins to count as new; above all that paused. */
uint64_t peali_sim_priority(void);
/* Another task goes on, for as long as the schedule says. */
void peali_sim_decide(int idle, const void *site);
/* The rest of the process is not simulated: fails. */
void peali_sim_stop_unless_active(const char *call);

/* ---- tasks.c --------------------------------------------------------------- */

void peali_tasks_begin(void);
/* How many there are besides the first. */
void peali_tasks_end(void);
struct peali_task *peali_task_make(void *(*run)(void *), void *argument);
void *peali_task_join(struct peali_task *task, const void *site);
void peali_task_switch(struct peali_task *to);

/* ---- say.c ------------------------------------------------------------------ */

void peali_say_begin(void);
/* The current task is at that yield point. */
void peali_say_point(const void *site);

#define PEALI_SIM_SITE __builtin_return_address(0)

#endif
