/* SPDX-License-Identifier: Apache-2.0 */
/* Executors: starts jobs, assigns their tasks, takes the reports. */
#include <stdio.h>
#include <string.h>

#include "p2p/peer.h"
#include "runtime/base/error.h"
#include "runtime/base/refusal.h"
#include "runtime/base/text.h"
#include "runtime/base/wait.h"
#include "runtime/compute/executor.h"
#include "runtime/kernel/counters.h"
#include "runtime/kernel/kernel.h"
#include "runtime/kernel/kernel_control.h"

#define START "peal_executor_start"
#define GATE_LOOK_NS 200000 /* ns until a job looks at its gates again */

/* ---- limits and parts ---------------------------------------------------- */

static void look_at_ends(struct peal_executor *e);
static void let_return(struct peal_executor *e);

/*
 * Sets the most elements that each device may have, by the limits of the job.
 * Returns PEAL_ENOSPC if a limit is too small for a task.
 */
static int set_limits(struct peal_executor *e, const struct peal_job *j)
{
	uint64_t one = j->grain < j->count ? j->grain : j->count;
	uint32_t i;

	for (i = 0; i < e->n; i++) {
		struct peali_executor_device *s = &e->devices[i];

		s->most = s->task_most = UINT64_MAX;
		s->slots = s->window;
		if (!j->limits || !e->element_bytes || e->arrays.array)
			continue;
		s->most = j->limits[i] / e->element_bytes;
		if (s->most < one && !s->result)
			return PEALI_REFUSE(
				PEAL_ENOSPC, START, .object = "option",
				.name = "limits",
				.problem = PEALI_PRINT(
					"is too small for a task of "
					"%llu element%s on device %d",
					(unsigned long long)one, peali_s(one),
					s->device),
				.number = j->limits[i],
				.least = one * e->element_bytes,
				.most = UINT64_MAX);
	}
	return 0;
}

/*
 * Divides the elements among the live devices by their weights. If only one
 * device does the job, it gets all elements.
 */
static int set_weights(struct peal_executor *e, const struct peal_job *j)
{
	uint64_t weight[PEAL_PARTS_MAX], most[PEAL_PARTS_MAX];
	uint32_t i;
	int result;

	for (i = 0; i < e->n; i++) {
		weight[i] = j->weights ? j->weights[i] : 1;
		most[i] = e->devices[i].most;
		if (e->devices[i].result || (e->only >= 0 && (int)i != e->only))
			weight[i] = 0;
	}
	if (j->schedule == PEAL_SCHEDULE_MEMORY) {
		result = peali_arrays_weigh(e, j, weight);
		if (result)
			return result;
	}
	return peal_partition_weighted(j->count, weight, most, e->n,
				       &e->partition);
}

static int check_part(const struct peal_executor *e, uint32_t rank,
		      uint64_t length)
{
	const struct peali_executor_device *s = &e->devices[rank];

	if (length && s->result)
		return peali_fail(PEAL_EABORTED, START,
				  "device %d has ended: %s; it has a part of "
				  "%llu element%s",
				  s->device, peal_error_text(s->result),
				  (unsigned long long)length, peali_s(length));
	if (length > s->most)
		return PEALI_REFUSE(
			PEAL_ENOSPC, START,
			.object = PEALI_PRINT("device %d", s->device),
			.problem = "has a part beyond its limit",
			.value = PEALI_PRINT("%llu element%s",
					     (unsigned long long)length,
					     peali_s(length)),
			.allowed = PEALI_PRINT("0..%llu",
					       (unsigned long long)s->most),
			.remedy = "raise limits of the job, or use other "
				  "weights");
	return 0;
}

static int set_parts(struct peal_executor *e, const struct peal_job *j)
{
	uint32_t i;
	int result = 0;

	e->packed = j->partition != NULL;
	if (e->schedule == PEAL_SCHEDULE_STATIC && j->partition)
		e->partition = *j->partition;
	else if (e->schedule == PEAL_SCHEDULE_STATIC)
		result = set_weights(e, j);
	for (i = 0; i < e->n && !result; i++) {
		struct peali_executor_device *s = &e->devices[i];

		s->extents = 0;
		memset(&s->rest, 0, sizeof(s->rest));
		s->length = 0;
		if (e->schedule != PEAL_SCHEDULE_STATIC)
			continue;
		s->length = peal_partition_length(&e->partition, i);
		result = check_part(e, i, s->length);
	}
	return result;
}

/*
 * Sets the schedule of the job. By default, a small job goes to the
 * fastest device. Returns PEAL_EABORTED if the kernels of all devices have
 * ended.
 */
static int set_schedule(struct peal_executor *e, const struct peal_job *j)
{
	uint32_t live = 0, fastest = 0, i;

	for (i = 0; i < e->n; i++)
		live += !e->devices[i].result;
	if (!live)
		return peali_fail(PEAL_EABORTED, START,
				  "all devices of the executor have ended: it "
				  "can only be destroyed");
	e->only = -1;
	e->schedule = j->schedule == PEAL_SCHEDULE_MEMORY ?
			      PEAL_SCHEDULE_STATIC :
			      j->schedule;
	e->threshold = peali_schedule_threshold(e, &fastest);
	if (e->schedule)
		return 0;
	e->schedule = PEAL_SCHEDULE_DYNAMIC;
	if (j->partition || j->weights)
		e->schedule = PEAL_SCHEDULE_STATIC;
	else if (j->count < e->threshold &&
		 j->count <= e->devices[fastest].most) {
		e->schedule = PEAL_SCHEDULE_STATIC;
		e->only = (int)fastest;
	}
	return 0;
}

/* ---- memory of arguments ------------------------------------------------- */

void peali_executor_let_go(struct peal_executor *e)
{
	uint32_t i, k;

	for (i = 0; i < e->n; i++)
		for (k = 0; k < PEAL_TASK_ARGUMENTS; k++)
			peali_range_let_go(e->rt->peers,
					   &e->devices[i].kept[k]);
	peali_arrays_free(e);
}

static int keep_argument(struct peal_executor *e, uint32_t rank, uint32_t k,
			 uint64_t elements)
{
	const struct peal_job_argument *a = &e->argument[k];
	struct peali_executor_device *s = &e->devices[rank];
	struct peali_place place = { s->device, a->address[rank] };
	struct peal_error_info failed;
	int result = peali_range_keep(e->rt->peers, place,
				      a->bytes + a->element_bytes * elements,
				      START, &s->kept[k]);

	e->address[k][rank] = a->address[rank];
	if (!result)
		return 0;
	failed = *peal_last_error();
	return peali_fail(result, START, "argument %u on device %d: %s", k,
			  s->device, failed.text);
}

/*
 * Looks up the arguments of all devices that can get a task. They cannot be
 * freed until peali_executor_let_go(). After an error none is kept.
 */
static int keep_all(struct peal_executor *e)
{
	uint32_t i, k;
	int result = 0;

	if (e->arrays.array)
		return peali_arrays_prepare(e, &e->job);
	for (i = 0; e->job.count && i < e->n && !result; i++) {
		const struct peali_executor_device *s = &e->devices[i];

		/* all devices, even if one does the job: it may end */
		if (s->result || (e->packed && !s->length))
			continue;
		for (k = 0; k < e->job.n_arguments && !result; k++)
			result = keep_argument(
				e, i, k, e->packed ? s->length : e->job.count);
	}
	if (result)
		peali_executor_let_go(e);
	return result;
}

/* ---- start --------------------------------------------------------------- */

static void write_task(struct peal_executor *e, const struct peal_job *j,
		       const struct peal_task_grid *grid)
{
	struct peal_task *t = &e->task;

	memset(t, 0, sizeof(*t));
	e->number = e->number == UINT32_MAX ? 1 : e->number + 1;
	t->job = e->number;
	t->n_arguments = j->n_arguments;
	t->parameter_bytes = j->parameter_bytes;
	t->grid = *grid;
	if (j->parameter_bytes)
		memcpy(t->parameter, j->parameters, j->parameter_bytes);
}

static void begin(struct peal_executor *e, const struct peal_job *j,
		  const struct peal_task_grid *grid)
{
	uint32_t i;

	write_task(e, j, grid);
	e->fresh = e->handed = 0;
	e->n_back = 0;
	e->result = 0;
	e->why[0] = 0;
	atomic_store(&e->cancelled, 0);
	/* behind the store: a cancel at this moment is not lost */
	if (e->from && e->from->number <= atomic_load(&e->cancelled_to))
		atomic_store(&e->cancelled, 1);
	for (i = 0; i < e->n; i++) {
		struct peali_executor_device *s = &e->devices[i];

		memset(&s->share, 0, sizeof(s->share));
		s->gate = e->from ? e->from->gate[i] :
				    peali_gate_of(&e->rt->devices, s->device);
		s->in_flight = 0;
		s->out = 0;
		memset(s->chunks, 0, s->window * sizeof(*s->chunks));
		e->handler->elements[i] /= 2;
		e->handler->busy_ns[i] /= 2;
	}
	e->began_ns = e->ended_ns = peal_clock_ns();
	if (e->arrays.array)
		e->arrays.n_ranges = 0;
	e->goes_on = 1;
	if (!e->from)
		atomic_fetch_add(&e->started, 1);
	atomic_store(&e->submission,
		     e->from ?
			     e->from->submission :
			     atomic_fetch_add(&e->rt->devices.submissions, 1));
	atomic_store(&e->unfinished, 1);
}

static void hand_out(struct peal_executor *e);

static uint32_t jobs_in_flight(const struct peal_executor *e)
{
	return e->n_outcomes + e->n_queued + (e->goes_on != 0);
}

static int refuse_busy(const struct peal_executor *e, int alone)
{
	return PEALI_REFUSE(PEAL_EBUSY, START, .object = "executor",
			    .name = e->devices[0].kernel->name,
			    .problem = "has jobs in flight that no wait has "
				       "reported",
			    .number = jobs_in_flight(e), .least = 0,
			    .most = alone ? e->max_jobs - 1 : 0,
			    .remedy = alone && e->max_jobs < PEALI_JOBS_MAX ?
					      "call peal_executor_wait_next "
					      "first, or raise max_jobs" :
					      "call peal_executor_wait first");
}

int peali_executor_begin(struct peal_executor *e, const struct peal_job *job,
			 int alone)
{
	struct peal_task_grid grid;
	struct peal_job j;
	uint32_t i;
	int handler, result = peali_options_copy(&j, sizeof(j), job, START);

	if (!result)
		result = peali_executor_grid(&j, &grid, START);
	if (!result)
		result = peali_executor_check(e, &j);
	if (result)
		return result;
	handler = peali_executor_find_handler(e, &j);
	if (handler < 0)
		return handler;
	if (!e->from && jobs_in_flight(e) >= (alone ? e->max_jobs : 1))
		return refuse_busy(e, alone);
	if (e->goes_on)
		return peali_executor_queue(e, &j, (uint32_t)handler);
	let_return(e);
	look_at_ends(e);
	e->handler = &e->handlers[handler];
	if (!e->handler->ready)
		result = peali_executor_prepare(e, (uint32_t)handler);
	if (result)
		return result;
	j.grain = j.grain ? j.grain : 1;
	e->job = j;
	e->element_bytes = 0;
	for (i = 0; i < j.n_arguments; i++) {
		e->argument[i] = j.arguments[i];
		e->element_bytes += j.arguments[i].element_bytes;
	}
	result = set_limits(e, &j);
	if (!result)
		result = set_schedule(e, &j);
	if (!result)
		result = set_parts(e, &j);
	if (!result)
		result = keep_all(e);
	if (!result && alone) {
		result = peali_executor_need_thread(e, START);
		if (result)
			peali_executor_let_go(e);
	}
	if (result)
		return result;
	begin(e, &j, &grid);
	hand_out(e);
	return 0;
}

/* ---- assign tasks -------------------------------------------------------- */

static uint32_t free_slot(const struct peali_executor_device *s)
{
	uint32_t i = 0;

	while (s->chunks[i].count)
		i++;
	return i;
}

/* Returns the bytes of a task's message. */
static uint64_t task_bytes(const struct peal_task *t)
{
	return t->grid.dimensions ? sizeof(*t) :
				    offsetof(struct peal_task, parameter) +
					    t->parameter_bytes;
}

/* Sends a task to a device. Returns 0, or the error of the send. */
static int send(struct peal_executor *e, uint32_t rank,
		const struct peali_chunk *chunk)
{
	struct peali_executor_device *s = &e->devices[rank];
	struct peal_task *t = &e->task;
	uint32_t slot = free_slot(s), k;
	int result;

	t->first = chunk->first;
	t->count = chunk->count;
	t->slot = (uint16_t)slot;
	t->rank = (uint16_t)rank;
	for (k = 0; k < t->n_arguments; k++)
		t->argument[k] =
			e->arrays.array ?
				peali_arrays_address(e, rank, slot, k) :
				e->address[k][rank] +
					chunk->at *
						e->argument[k].element_bytes;
	result = peal_send_to(e->host, rank, e->handler->pool[rank], 0, t,
			      task_bytes(t), 0, NULL);
	if (result)
		return result;
	s->chunks[slot] = *chunk;
	s->in_flight++;
	s->out += chunk->count;
	e->handed += chunk->count;
	if (!s->share.tasks && !s->share.first_ns)
		s->share.first_ns = peal_clock_ns() - e->began_ns;
	return 0;
}

/* Ends the job early: no task is assigned any more. Keeps the first error. */
static void end_early(struct peal_executor *e, int result, const char *why)
{
	if (e->result)
		return;
	e->result = result;
	peali_text_fit(e->why, sizeof(e->why), why);
}

/*
 * Queues elements for another device. The job is not packed, so each device has
 * all elements of the arguments.
 */
static void give_back(struct peal_executor *e, struct peali_chunk *chunk)
{
	peali_arrays_drop(e, chunk);
	if (chunk->count)
		e->back[e->n_back++] = *chunk;
}

/*
 * Assigns no more tasks to a device. Other devices get the rest of its extent,
 * unless the job is packed: then no other device has these elements.
 */
static void leave_out(struct peal_executor *e, struct peali_executor_device *s,
		      int result)
{
	s->result = result;
	if (e->packed)
		return;
	give_back(e, &s->rest);
	s->rest.count = 0;
}

int peali_executor_is_gated(const struct peal_executor *e)
{
	uint32_t i;

	for (i = 0; i < e->n; i++)
		if (peali_gate_is_closed(&e->rt->devices, e->devices[i].device,
					 e->devices[i].gate))
			return 1;
	return 0;
}

/* Ends the job early if a call has cancelled it. */
static void look_at_cancel(struct peal_executor *e)
{
	char why[160];

	if (!e->result && atomic_load(&e->cancelled) &&
	    e->handed < e->job.count) {
		snprintf(why, sizeof(why),
			 "cancelled: %llu of %llu element%s were assigned",
			 (unsigned long long)e->handed,
			 (unsigned long long)e->job.count,
			 peali_s(e->job.count));
		end_early(e, PEAL_ECANCELED, why);
	}
}

/* Copies the inputs of a chunk to a free slot of the device. If that fails, it
 * ends the job early. Returns 1, or 0 after a failure. */
static int scatter(struct peal_executor *e, uint32_t rank,
		   struct peali_chunk *chunk)
{
	int result;

	if (!e->arrays.array)
		return 1;
	result = peali_arrays_scatter(e, rank, free_slot(&e->devices[rank]),
				      chunk);
	if (result)
		end_early(e, result, peal_last_error()->text);
	return !result;
}

static void hand_out(struct peal_executor *e)
{
	struct peali_chunk chunk;
	uint32_t rank;
	char why[160];
	int result;

	look_at_cancel(e);
	if (e->handed < e->job.count && peali_executor_is_gated(e))
		return;
	for (; !e->result && peali_schedule_next(e, &rank, &chunk);
	     look_at_cancel(e)) {
		if (!scatter(e, rank, &chunk))
			return;
		result = send(e, rank, &chunk);
		if (!result)
			continue;
		/* its tasks in flight are handled when its kernel has ended */
		leave_out(e, &e->devices[rank], result);
		if (e->packed) {
			snprintf(why, sizeof(why),
				 "device %d has ended: %s; its part is not "
				 "done",
				 e->devices[rank].device,
				 peal_error_text(result));
			end_early(e, PEAL_EABORTED, why);
		} else {
			give_back(e, &chunk);
		}
	}
}

/* ---- reports and ended kernels ------------------------------------------- */

/* Returns what to do about the error of a task, or "". */
static const char *hint(const struct peal_executor *e, int result)
{
	/* the result of peal_grid_begin in a job without a grid */
	return result == PEAL_EINVAL && !e->job.dimensions ?
		       "; if the handler uses a grid, set dimensions of the "
		       "job" :
		       "";
}

static void say_failed(struct peal_executor *e,
		       const struct peali_executor_device *s,
		       const struct peali_chunk *chunk, int result)
{
	char why[160];

	snprintf(why, sizeof(why),
		 "the task of elements %llu to %llu on device %d: %s%s",
		 (unsigned long long)chunk->first,
		 (unsigned long long)(chunk->first + chunk->count - 1),
		 s->device,
		 result > 0 ? "its handler returned a positive value" :
			      peal_error_text(result),
		 hint(e, result));
	if (result >= 0 || result == PEAL_ETIMEDOUT)
		result = PEAL_EHANDLER;
	peali_arrays_end(e, chunk, result);
	end_early(e, result, why);
}

/* Copies the outputs of a chunk from its slot, after success. If that fails, it
 * ends the job early. Returns 1 if the elements are done, else 0. */
static int gather(struct peal_executor *e, const struct peal_task_done *done,
		  const struct peali_chunk *chunk)
{
	struct peal_executor_range *range = peali_arrays_of(e, chunk);
	int result;

	if (range)
		range->busy_ns = done->busy_ns;
	if (!range || done->result)
		return !done->result;
	result = peali_arrays_gather(e, done->rank, done->slot, chunk);
	if (result)
		end_early(e, result, peal_last_error()->text);
	return !result;
}

static void task_done(struct peal_executor *e,
		      const struct peal_task_done *done)
{
	struct peali_executor_device *s = &e->devices[done->rank];
	struct peali_chunk chunk = s->chunks[done->slot];
	int is_done = gather(e, done, &chunk);

	s->chunks[done->slot].count = 0;
	s->in_flight--;
	s->out -= chunk.count;
	s->share.busy_ns += done->busy_ns;
	s->share.last_ns = peal_clock_ns() - e->began_ns;
	e->ended_ns = peal_clock_ns();
	if (!is_done)
		e->handed -= chunk.count;
	if (done->result == PEAL_EABORTED && e->job.repeatable &&
	    !e->packed) { /* its kernel may be about to end */
		s->is_left_out = 1;
		leave_out(e, s, PEAL_EABORTED);
		give_back(e, &chunk);
	} else if (done->result) {
		say_failed(e, s, &chunk, done->result);
	}
	if (!is_done)
		return;
	s->share.tasks++;
	s->share.elements += chunk.count;
	e->handler->elements[done->rank] += (double)chunk.count;
	e->handler->busy_ns[done->rank] += (double)done->busy_ns + 1;
}

/* Waits up to timeout_ns for the report of a task and handles it. */
static int take(struct peal_executor *e, int64_t timeout_ns)
{
	struct peal_task_done done;
	struct peal_received got;
	int result =
		peal_receive(e->host, &done, sizeof(done), &got, timeout_ns);

	if (result)
		return result;
	if (got.length != sizeof(done) || done.job != e->number ||
	    done.rank >= e->n || done.slot >= e->devices[done.rank].window ||
	    !e->devices[done.rank].chunks[done.slot].count)
		return 0; /* the report of an earlier job */
	task_done(e, &done);
	return 0;
}

/* Writes how the kernel of a device has ended, also by a crash. */
static void describe_end(const struct peali_executor_device *s, char *out,
			 size_t bytes)
{
	int driver_code;

	peal_kernel_wait(s->kernel, 0); /* for the end of its launch */
	if (!peali_kernel_failure(s->kernel, &driver_code, out, bytes))
		peali_text_fit(out, bytes, peal_error_text(s->result));
}

/* Ends the job: the device had its elements from `first` on alone. */
static void say_lost(struct peal_executor *e,
		     const struct peali_executor_device *s, uint32_t lost,
		     uint64_t first)
{
	char why[256], how[192];

	describe_end(s, how, sizeof(how));
	peali_text_format(why, sizeof(why),
			  "device %d has ended; lost tasks: %u, from element "
			  "%llu on; %s",
			  s->device, lost, (unsigned long long)first, how);
	end_early(e, PEAL_EABORTED, why);
}

/*
 * Handles the unfinished elements of a device with an ended kernel. Other
 * devices repeat its tasks if the job allows that. Else the tasks are lost, and
 * the job ends early.
 */
static void lose_all(struct peal_executor *e, struct peali_executor_device *s)
{
	int repeats = e->job.repeatable && !e->packed;
	struct peali_chunk first = { 0 };
	uint32_t i, lost = 0;

	for (i = 0; i < s->window; i++) {
		struct peali_chunk *f = &s->chunks[i];

		if (!f->count)
			continue;
		e->handed -= f->count;
		if (repeats)
			give_back(e, f);
		else if (!lost++ || f->first < first.first)
			first = *f;
		peali_arrays_end(e, f, PEAL_EABORTED);
		f->count = 0;
	}
	s->in_flight = 0;
	s->out = 0;
	if (lost || (e->packed && s->share.elements < s->length))
		say_lost(e, s, lost, lost ? first.first : s->rest.first);
	leave_out(e, s, s->result);
}

/*
 * Ends the job early if no device can take the rest of its elements. A live device
 * without a task slot has too little memory for an element.
 */
static void look_at_rest(struct peal_executor *e)
{
	uint32_t i, live = 0, able = 0, left_out = 0;

	for (i = 0; i < e->n; i++) {
		live += !e->devices[i].result;
		able += !e->devices[i].result && e->devices[i].slots;
		left_out += e->devices[i].is_left_out;
	}
	if (able || !e->goes_on || e->handed == e->job.count)
		return;
	end_early(e, PEAL_EABORTED,
		  live ? "all devices with memory for one element have ended; "
			 "raise limits or peal_memory_limit" :
		  left_out ? "no device is left: a task on each has returned "
			     "PEAL_EABORTED, or its kernel has ended" :
			     "all devices of the executor have ended");
}

/*
 * Finds devices with ended kernels and handles their unfinished elements. Ends
 * the job early if no device is left for the rest.
 */
static void look_at_ends(struct peal_executor *e)
{
	struct peal_kernel_info info;
	uint32_t i;

	for (i = 0; i < e->n; i++) {
		struct peali_executor_device *s = &e->devices[i];

		if (!peali_kernel_ended(s->kernel))
			continue;
		if (!s->result)
			s->result = peal_kernel_info(s->kernel, &info) ||
						    !info.result ?
					    PEAL_ESTOPPED :
					    info.result;
		if (!e->goes_on)
			continue;
		while (!take(e, 0))
			; /* reports from before its end */
		/* a job behind an event has not begun any part */
		peali_schedule_extent(e, i);
		if (s->in_flight || s->rest.count ||
		    (e->packed && s->share.elements < s->length))
			lose_all(e, s);
	}
	look_at_rest(e);
}

/*
 * Gives a device tasks again that only the previous job has left out. A kernel
 * that is being stopped gets none.
 */
static void let_return(struct peal_executor *e)
{
	struct peal_kernel_info info;
	uint32_t i;

	for (i = 0; i < e->n; i++) {
		struct peali_executor_device *s = &e->devices[i];

		if (!s->is_left_out || peal_kernel_info(s->kernel, &info) < 0 ||
		    info.state >= PEAL_KERNEL_DRAINING)
			continue;
		s->is_left_out = 0;
		s->result = 0;
	}
}

/* ---- steps --------------------------------------------------------------- */

/* Whether the job is over: no task is in flight, and none will be assigned. */
static int is_over(const struct peal_executor *e)
{
	uint32_t i;

	for (i = 0; i < e->n; i++)
		if (e->devices[i].in_flight)
			return 0;
	return e->result || e->handed == e->job.count;
}

int peali_executor_step(struct peal_executor *e, int64_t timeout_ns)
{
	int late;

	hand_out(e);
	if (is_over(e))
		return 1;
	if (timeout_ns > GATE_LOOK_NS && peali_executor_is_gated(e))
		timeout_ns = GATE_LOOK_NS; /* an open gate sends no report */
	late = take(e, timeout_ns) != 0;
	if (late)
		look_at_ends(e);
	while (!late && !take(e, 0))
		;
	hand_out(e);
	return is_over(e) ? 1 : late ? PEAL_EAGAIN : 0;
}
