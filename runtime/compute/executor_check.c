/* SPDX-License-Identifier: Apache-2.0 */
/* Executors: checks the fields of a job, and finds its handler. */
#include "runtime/base/error.h"
#include "runtime/base/refusal.h"
#include "runtime/base/text.h"
#include "runtime/compute/executor.h"
#include "runtime/device/program.h"

#define START "peal_executor_start"

static int check_arguments(const struct peal_job *j)
{
	uint64_t bytes = 0;
	uint32_t i;

	if (j->n_arguments > PEAL_TASK_ARGUMENTS)
		return peali_refuse_option(START, "n_arguments", j->n_arguments,
					   0, PEAL_TASK_ARGUMENTS);
	if (j->n_arguments && !j->arguments)
		return peali_refuse_null(START, "arguments");
	for (i = 0; i < j->n_arguments; i++) {
		const struct peal_job_argument *a = &j->arguments[i];

		if (!a->address)
			return PEALI_REFUSE(
				PEAL_EINVAL, START,
				.object = PEALI_PRINT("argument %u", i),
				.problem = "has no addresses", .value = "NULL",
				.allowed = "an address for each device",
				.remedy = "set address");
		if (!a->element_bytes == !a->bytes)
			return PEALI_REFUSE(
				PEAL_EINVAL, START,
				.object = PEALI_PRINT("argument %u", i),
				.problem = "needs element_bytes or bytes",
				.value = a->bytes ? "both" : "none",
				.allowed = "one of them",
				.remedy = "set one of them");
		if (a->element_bytes > UINT32_MAX)
			return peali_refuse_option(START, "element_bytes",
						   a->element_bytes, 0,
						   UINT32_MAX);
		bytes += a->element_bytes;
	}
	if (bytes && j->count > UINT64_MAX / bytes)
		return peali_refuse_option(START, "count", j->count, 0,
					   UINT64_MAX / bytes);
	return 0;
}

int peali_executor_check(const struct peal_executor *e,
			 const struct peal_job *j)
{
	if (j->schedule >= PEAL_SCHEDULE_COUNT)
		return peali_refuse_option(START, "schedule", j->schedule, 0,
					   PEAL_SCHEDULE_COUNT - 1);
	if (j->parameter_bytes > PEAL_TASK_PARAMETERS)
		return peali_refuse_option(START, "parameter_bytes",
					   j->parameter_bytes, 0,
					   PEAL_TASK_PARAMETERS);
	if (j->parameter_bytes && !j->parameters)
		return peali_refuse_null(START, "parameters");
	if (j->repeatable > 1)
		return peali_refuse_option(START, "repeatable", j->repeatable,
					   0, 1);
	if ((j->partition || j->weights) && j->schedule > PEAL_SCHEDULE_STATIC)
		return PEALI_REFUSE(
			PEAL_EINVAL, START, .object = "option",
			.name = j->partition ? "partition" : "weights",
			.problem = "is for static schedules",
			.value = PEALI_PRINT("schedule %u", j->schedule),
			.allowed = PEALI_PRINT("schedule 0..%u",
					       (unsigned)PEAL_SCHEDULE_STATIC),
			.remedy = "use schedule 0");
	if (j->partition && j->weights)
		return peali_fail(PEAL_EINVAL, START,
				  "option 'weights': excludes option "
				  "partition; set one to NULL");
	if (j->partition &&
	    (j->partition->parts != e->n || j->partition->count != j->count))
		return PEALI_REFUSE(
			PEAL_EINVAL, START, .object = "option",
			.name = "partition",
			.problem = "does not fit the executor and the job",
			.value = PEALI_PRINT(
				"%u part%s, %llu element%s",
				j->partition->parts,
				peali_s(j->partition->parts),
				(unsigned long long)j->partition->count,
				peali_s(j->partition->count)),
			.allowed = PEALI_PRINT("%u part%s, %llu element%s",
					       e->n, peali_s(e->n),
					       (unsigned long long)j->count,
					       peali_s(j->count)),
			.remedy = "create another partition");
	return check_arguments(j);
}

int peali_executor_find_handler(const struct peal_executor *e,
				const struct peal_job *j)
{
	int handler;

	if (!j->handler)
		return peali_refuse_null(START, "handler");
	handler = peali_program_handler(e->program, j->handler, START);
	if (handler < 0 || e->handlers[handler].is_task)
		return handler;
	return peali_fail(PEAL_ENOTSUP, START,
			  "'%s' does no tasks; peal/device/task.h describes "
			  "handlers that do",
			  j->handler);
}
