/* SPDX-License-Identifier: Apache-2.0 */
/* Deadlines of messages, and the options of the host's sends. */
#include <peal/deadline.h>

#include <peal/device/clock.h>
#include "runtime/base/refusal.h"
#include "runtime/base/wait.h"
#include "runtime/link/endpoint.h"
#include "runtime/runtime.h"

uint64_t peal_deadline_from_now(int64_t lifetime_ns)
{
	return peali_deadline_at(peali_now_ns(), lifetime_ns);
}

/* Returns 0, or PEAL_EINVAL for an option that a send of the host does not
 * support. */
static int check_options(const struct peal_send_options *o, const char *call)
{
	const struct {
		const char *name;
		uint64_t value;
		const char *remedy;
	} option[] = {
		{ "priority", o->priority, "set the priority of the link" },
		{ "delay_ns", o->delay_ns, "let a handler set a timer" },
		{ "period_ns", o->period_ns, "let a handler set a timer" },
		{ "timer_out", o->timer_out != NULL,
		  "let a handler set a timer" },
		{ "by_port", o->by_port, "name the port in the call" },
		{ "with_sender", o->with_sender,
		  "connect a port of the receiver to the endpoint" },
	};
	size_t i;

	for (i = 0; i < sizeof(option) / sizeof(option[0]); i++)
		if (option[i].value)
			return PEALI_REFUSE(
				PEAL_EINVAL, call, .object = "option",
				.name = option[i].name,
				.problem = "is not supported by this call",
				.number = option[i].value,
				.remedy = option[i].remedy);
	return 0;
}

int peali_endpoint_send_options(struct peal_endpoint *e, uint32_t port,
				struct peali_cover cover, const void *data,
				uint64_t bytes, int64_t timeout_ns,
				const struct peal_send_options *options,
				const char *call)
{
	struct peal_send_options o;
	int result = peali_options_copy(&o, sizeof(o), options, call);

	if (!result)
		result = check_options(&o, call);
	if (result)
		return result;
	if (!data && bytes)
		return peali_refuse_null(call, "data");
	cover.deadline = o.deadline;
	return peali_endpoint_send(e, port, &cover, data, bytes, timeout_ns,
				   call);
}
