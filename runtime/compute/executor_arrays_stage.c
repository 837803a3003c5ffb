/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Executors: the memory of devices for ranges of a job on arrays, and the copies.
 *
 * Each device has one buffer. It begins with the arrays that all ranges get. Behind
 * them each task slot has a piece of every other array:
 *
 *	whole arrays | slot 0: array 0, array 1, ... | slot 1: ... | ...
 */
#include "runtime/base/error.h"
#include "runtime/base/refusal.h"
#include "runtime/base/text.h"
#include "runtime/compute/executor.h"
#include "runtime/kernel/kernel.h"

#define RUN "peal_executor_arrays_run"
#define ALIGN 128u /* bytes; each piece begins at a multiple of it */
/* The buffer leaves 1 / SPARE of the free memory to others. */
#define SPARE 8
/* Dynamic and guided schedules: at least so many ranges for each worker. */
#define RANGES 2

static uint64_t at_most(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static uint64_t at_least(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* Rounds up. Sizes that no memory has become the largest multiple. */
static uint64_t aligned(uint64_t bytes)
{
	return at_most(bytes, UINT64_MAX - ALIGN) / ALIGN * ALIGN +
	       (bytes % ALIGN ? ALIGN : 0);
}

static uint64_t add(uint64_t a, uint64_t b)
{
	return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

static uint64_t multiply(uint64_t a, uint64_t b)
{
	return a && b > UINT64_MAX / a ? UINT64_MAX : a * b;
}

/* ---- sizes --------------------------------------------------------------- */

static uint64_t whole_bytes(const struct peal_job *j)
{
	uint64_t bytes = 0;
	uint32_t k;

	for (k = 0; k < j->n_arguments; k++)
		bytes = add(bytes, aligned(j->arguments[k].bytes));
	return bytes;
}

/* Returns the bytes of a task slot for n elements. */
static uint64_t slot_bytes(const struct peal_job *j, uint64_t n)
{
	uint64_t bytes = 0;
	uint32_t k;

	for (k = 0; k < j->n_arguments; k++)
		bytes = add(bytes, aligned(multiply(
					   n, j->arguments[k].element_bytes)));
	return bytes;
}

/* Returns the most elements of a task slot, of at most `most`, in `bytes`. */
static uint64_t elements_in(const struct peal_job *j, uint64_t bytes,
			    uint64_t most)
{
	uint64_t least = 0, middle;

	while (least < most) {
		middle = most - (most - least) / 2;
		if (slot_bytes(j, middle) <= bytes)
			least = middle;
		else
			most = middle - 1;
	}
	return least;
}

/* Returns the bytes that the job may use on a device. */
static uint64_t budget(const struct peal_executor *e, uint32_t rank,
		       const struct peal_job *j)
{
	struct peal_memory_info m;
	uint64_t bytes;

	if (peal_memory_info(e->rt, e->devices[rank].device, &m))
		return 0;
	bytes = at_most(m.largest_buffer_bytes,
			m.free_bytes - m.free_bytes / SPARE);
	return j->limits ? at_most(bytes, j->limits[rank]) : bytes;
}

int peali_arrays_weigh(const struct peal_executor *e, const struct peal_job *j,
		       uint64_t *weight)
{
	uint64_t needed =
		e->arrays.array ? add(whole_bytes(j), slot_bytes(j, 1)) : 1;
	uint64_t most = 0, bytes;
	uint32_t i;
	int found = 0;

	for (i = 0; i < e->n; i++) {
		bytes = weight[i] ? budget(e, i, j) : 0;
		most = at_least(most, bytes);
		weight[i] = bytes < needed ? 0 : bytes;
		found |= weight[i] > 0;
	}
	if (found || !j->count)
		return 0;
	return PEALI_REFUSE(
		PEAL_ENOSPC, RUN, .object = "executor",
		.name = e->devices[0].kernel->name,
		.problem = "has no device with memory for one element",
		.value = PEALI_PRINT("%llu bytes", (unsigned long long)most),
		.allowed = PEALI_PRINT("%llu bytes or more",
				       (unsigned long long)needed),
		.remedy = "raise limits or peal_memory_limit");
}

/* ---- plan ---------------------------------------------------------------- */

/* Returns the most elements that the schedule puts into one range. */
static uint64_t most_elements(const struct peal_executor *e, uint32_t rank,
			      const struct peal_job *j)
{
	uint64_t all = e->devices[rank].length, parts = 0;
	uint32_t i;

	for (i = 0; i < e->n; i++)
		if (!e->devices[i].result)
			parts += RANGES * (uint64_t)e->devices[i].workers;
	if (e->schedule == PEAL_SCHEDULE_STATIC)
		parts = e->devices[rank].slots;
	else
		all = j->count;
	/* without a part it may get ranges of an ended device */
	for (i = 0; i < e->n && !all; i++)
		all = e->devices[i].length / e->n;
	return at_least(at_least(all / parts + (all % parts != 0), 1),
			at_most(j->grain, j->count));
}

static int refuse_memory(const struct peali_executor_device *s,
			 uint32_t schedule, uint64_t bytes, uint64_t needed)
{
	return PEALI_REFUSE(
		PEAL_ENOSPC, RUN, .object = PEALI_PRINT("device %d", s->device),
		.problem = "has too little memory for one element",
		.value = PEALI_PRINT("%llu bytes", (unsigned long long)bytes),
		.allowed = PEALI_PRINT("%llu bytes or more",
				       (unsigned long long)needed),
		.remedy = schedule == PEAL_SCHEDULE_MEMORY ?
				  "raise limits or peal_memory_limit" :
				  "raise limits or peal_memory_limit, or use "
				  "PEAL_SCHEDULE_MEMORY");
}

/* Sets the number of ranges that a device has at a time, and their size. */
static int plan(struct peal_executor *e, uint32_t rank,
		const struct peal_job *j)
{
	struct peali_executor_device *s = &e->devices[rank];
	uint64_t bytes = budget(e, rank, j), whole = whole_bytes(j);
	uint64_t one = slot_bytes(j, 1);

	s->slots = 0;
	s->task_most = 0;
	if (s->result)
		return 0;
	if (bytes < add(whole, one)) {
		/* it has a part if its memory was larger when the parts were set */
		if (j->schedule == PEAL_SCHEDULE_MEMORY && !s->length)
			return 0;
		return refuse_memory(s, j->schedule, bytes, add(whole, one));
	}
	bytes -= whole;
	s->slots = s->window;
	if (one && bytes / one < s->window)
		s->slots = (uint32_t)(bytes / one);
	s->task_most =
		elements_in(j, bytes / s->slots, most_elements(e, rank, j));
	return 0;
}

/* Computes where the arrays are in a buffer for ranges of n elements. Returns the
 * bytes of the buffer. */
static uint64_t lay_out(struct peali_executor_device *s,
			const struct peal_job *j)
{
	struct peali_executor_stage *g = &s->stage;
	uint64_t whole = 0, slot = 0;
	uint32_t k;

	for (k = 0; k < j->n_arguments; k++) {
		const struct peal_job_argument *a = &j->arguments[k];

		g->at[k] = a->element_bytes ? slot : whole;
		slot += aligned(a->element_bytes * s->task_most);
		whole += aligned(a->bytes);
	}
	g->whole_bytes = whole;
	g->slot_bytes = slot;
	return whole + slot * s->slots;
}

/* Creates the buffer of a device. Takes smaller ranges if other threads have used
 * the memory meanwhile. */
static int create(struct peal_executor *e, struct peali_executor_device *s,
		  const struct peal_job *j)
{
	struct peal_buffer_options o = { .size = sizeof(o),
					 .device = s->device,
					 .name = "arrays of an executor" };
	int result;

	do {
		o.bytes = lay_out(s, j);
		result = peal_buffer_create(e->rt, &o, &s->stage.buffer);
		if (result != PEAL_ENOSPC && result != PEAL_ENOMEM)
			break;
		s->task_most /= 2;
	} while (s->task_most);
	if (!result)
		result = peal_buffer_address(
			peal_buffer_full_range(s->stage.buffer), s->device,
			&s->stage.address);
	return result;
}

/* Copies bytes of an array to the buffer of a device if `to` is 1, else back. */
static int copy(const struct peali_executor_device *s, uint64_t offset,
		const void *memory, uint64_t bytes, int to)
{
	const struct peal_range range = { s->stage.buffer, offset, bytes };

	return to ? peal_buffer_write(range, memory) :
		    peal_buffer_read(range, (void *)(uintptr_t)memory);
}

static int copy_whole(struct peal_executor *e, struct peali_executor_device *s)
{
	uint32_t k;
	int result = 0;

	for (k = 0; k < e->arrays.n && !result; k++)
		if (e->arrays.array[k].bytes)
			result = copy(s, s->stage.at[k],
				      e->arrays.array[k].input,
				      e->arrays.array[k].bytes, 1);
	return result;
}

int peali_arrays_prepare(struct peal_executor *e, const struct peal_job *j)
{
	struct peal_error_info failed;
	uint32_t i;
	int result = 0;

	for (i = 0; j->count && i < e->n && !result; i++) {
		struct peali_executor_device *s = &e->devices[i];

		result = plan(e, i, j);
		if (result || !s->slots)
			continue;
		result = create(e, s, j);
		if (!result)
			result = copy_whole(e, s);
	}
	if (result) {
		failed = *peal_last_error();
		peali_arrays_free(e);
		return peali_fail(result, RUN, "%s", failed.text);
	}
	return 0;
}

void peali_arrays_free(struct peal_executor *e)
{
	uint32_t i;

	for (i = 0; i < e->n; i++) {
		peal_buffer_destroy(e->devices[i].stage.buffer);
		e->devices[i].stage.buffer = NULL;
	}
}

/* ---- copies -------------------------------------------------------------- */

/* Returns the offset of an array in the buffer of a device. */
static uint64_t offset_of(const struct peal_executor *e, uint32_t rank,
			  uint32_t slot, uint32_t array)
{
	const struct peali_executor_stage *g = &e->devices[rank].stage;

	if (e->argument[array].bytes)
		return g->at[array];
	return g->whole_bytes + slot * g->slot_bytes + g->at[array];
}

uint64_t peali_arrays_address(const struct peal_executor *e, uint32_t rank,
			      uint32_t slot, uint32_t array)
{
	return e->devices[rank].stage.address + offset_of(e, rank, slot, array);
}

static int fail_copy(int result, const struct peali_executor_device *s,
		     const struct peali_chunk *chunk, uint32_t k, int to)
{
	const struct peal_error_info failed = *peal_last_error();

	return peali_fail(
		result, RUN,
		"the copy of elements %llu to %llu of array %u %s device %d: "
		"%s",
		(unsigned long long)chunk->first,
		(unsigned long long)(chunk->first + chunk->count - 1), k,
		to ? "to" : "from", s->device, failed.text);
}

/* Copies the elements of all inputs to a slot if `to` is 1, else those of all
 * outputs back. Adds the time to *ns. */
static int copy_range(struct peal_executor *e, uint32_t rank, uint32_t slot,
		      const struct peali_chunk *chunk, int to, uint64_t *ns)
{
	const struct peali_executor_device *s = &e->devices[rank];
	uint64_t began = peal_clock_ns();
	uint32_t k;
	int result = 0;

	for (k = 0; k < e->arrays.n && !result; k++) {
		const struct peal_executor_array *a = &e->arrays.array[k];
		const uint8_t *memory = to ? a->input : a->output;

		if (!memory || !a->element_bytes)
			continue;
		result = copy(s, offset_of(e, rank, slot, k),
			      memory + chunk->first * a->element_bytes,
			      chunk->count * a->element_bytes, to);
		if (result)
			result = fail_copy(result, s, chunk, k, to);
	}
	*ns += peal_clock_ns() - began;
	return result;
}

int peali_arrays_scatter(struct peal_executor *e, uint32_t rank, uint32_t slot,
			 struct peali_chunk *chunk)
{
	int result = peali_arrays_add(e, e->devices[rank].device, chunk);

	if (result)
		return result;
	result = copy_range(e, rank, slot, chunk, 1,
			    &peali_arrays_of(e, chunk)->scatter_ns);
	if (result)
		peali_arrays_end(e, chunk, result);
	return result;
}

int peali_arrays_gather(struct peal_executor *e, uint32_t rank, uint32_t slot,
			const struct peali_chunk *chunk)
{
	int result = copy_range(e, rank, slot, chunk, 0,
				&peali_arrays_of(e, chunk)->gather_ns);

	peali_arrays_end(e, chunk, result);
	return result;
}
