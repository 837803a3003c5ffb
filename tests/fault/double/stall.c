/* SPDX-License-Identifier: Apache-2.0 */
#include "stall.h"

#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

#include <peal/device/atomic.h>

/* See stall.h. */

#define TICK_US 50000
#define TICKS_PER_SECOND (1000000 / TICK_US)

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct double_watched *all;

/* Adds up the status words of a worker that change when it does something. */
static uint64_t sum_of(const struct peal_worker_status *s)
{
	return peal_load_relaxed_sys(&s->phase) +
	       3 * peal_load_relaxed_sys(&s->handled) +
	       5 * peal_load_relaxed_sys(&s->emitted) +
	       7 * peal_load_relaxed_sys(&s->mailbox_sends) +
	       11 * peal_load_relaxed_sys(&s->mailbox_done) +
	       13 * peal_load_relaxed_sys(&s->control_done) +
	       17 * peal_load_relaxed_sys(&s->inflight) +
	       19 * peal_load_relaxed_sys(&s->drained);
}

/* The caller holds `lock`, so that no kernel ends. */
static uint64_t sum_of_all(void)
{
	const struct double_watched *k;
	uint64_t sum = 0, i = 1;
	uint32_t worker;

	for (k = all; k; k = k->next)
		for (worker = 0; worker < k->params->n_workers; worker++)
			sum += i++ *
			       sum_of((const struct peal_worker_status
					       *)(uintptr_t)k->params->status +
				      worker);
	return sum;
}

static void describe_all(uint32_t seconds)
{
	struct double_watched *k;

	fprintf(stderr, "PTX machine: no worker moves for %u s\n", seconds);
	for (k = all; k; k = k->next)
		ptx_grid_describe(k->grid);
}

static void *watch(void *argument)
{
	uint32_t seconds = double_ptx_stall_s(), still = 0;
	uint64_t sum, last = 0;

	(void)argument;
	for (;;) {
		usleep(TICK_US);
		pthread_mutex_lock(&lock);
		sum = sum_of_all();
		still = all && sum == last ? still + 1 : 0;
		last = sum;
		if (still == seconds * TICKS_PER_SECOND)
			describe_all(seconds);
		pthread_mutex_unlock(&lock);
	}
	return NULL;
}

static void start(void)
{
	pthread_t thread;

	if (!pthread_create(&thread, NULL, watch, NULL))
		pthread_detach(thread);
}

void double_stall_watch(struct double_watched *watched)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	if (!double_ptx_stall_s() ||
	    watched->params->magic != PEAL_CONTROL_MAGIC)
		return;
	pthread_once(&once, start);
	pthread_mutex_lock(&lock);
	watched->next = all;
	all = watched;
	pthread_mutex_unlock(&lock);
}

void double_stall_leave(struct double_watched *watched)
{
	struct double_watched **p;

	pthread_mutex_lock(&lock);
	for (p = &all; *p && *p != watched; p = &(*p)->next)
		;
	if (*p)
		*p = watched->next;
	pthread_mutex_unlock(&lock);
}

void double_stall_print(const struct ptx_report *lane, int device)
{
	fprintf(stderr,
		"PTX machine %d: entry '%s', block %u, lane %u %s in %s at "
		"%s:%u (line %u of the PTX, %s)\n",
		device, lane->entry, lane->block, lane->lane, lane->text,
		lane->function, *lane->file ? lane->file : "an unknown file",
		lane->line, lane->ptx_line, lane->opcode);
}
