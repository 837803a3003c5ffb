/* SPDX-License-Identifier: Apache-2.0 */
/* Opens and closes runtimes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <peal/barrier.h>
#include <peal/event.h>
#include <peal/pipeline.h>

#include "p2p/peer.h"
#include "runtime/actor/monitor.h"
#include "runtime/base/env.h"
#include "runtime/base/error.h"
#include "runtime/base/log.h"
#include "runtime/base/refusal.h"
#include "runtime/base/text.h"
#include "runtime/base/wait.h"
#include "runtime/collective/barrier.h"
#include "runtime/collective/communicator.h"
#include "runtime/collective/event.h"
#include "runtime/collective/topic_forward.h"
#include "runtime/compute/buffer.h"
#include "runtime/compute/executor.h"
#include "runtime/compute/graph.h"
#include "runtime/compute/work_share.h"
#include "runtime/device/backend.h"
#include "runtime/device/program.h"
#include "runtime/ipc/process_group.h"
#include "runtime/kernel/counters.h"
#include "runtime/kernel/kernel.h"
#include "runtime/kernel/name_table.h"
#include "runtime/launch/watchdog.h"
#include "runtime/link/endpoint.h"
#include "runtime/link/endpoint_ref.h"
#include "runtime/link/inflight.h"
#include "runtime/link/input_text.h"
#include "runtime/link/link.h"
#include "runtime/link/reject_table.h"
#include "runtime/link/remote.h"
#include "runtime/link/stager.h"
#include "runtime/link/topic.h"
#include "runtime/observe/stall.h"
#include "runtime/rpc/requester.h"
#include "runtime/runtime.h"

const char *peal_version(void)
{
	return PEALI_VERSION;
}

/* ---- hooks --------------------------------------------------------------- */

static int check_receiver(struct peal_runtime *rt, uint64_t address,
			  const char *call)
{
	struct peali_link_end end;

	return peali_link_end_resolve(rt, address, "address",
				      "actor, pool or endpoint", &end, call);
}

static const struct peali_hooks hooks = {
	.kernel_ended = peali_links_reap,
	.describe_inflight = peali_inflight_describe,
	.describe_input = peali_input_describe,
	.topic_at_port = peali_topic_at_port,
	.explain_stall = peali_stall_why,
	.log_stalls = peali_stall_log,
	.next_down = peali_monitors_look,
	.endpoint_ends = peali_monitors_leave,
	.check_receiver = check_receiver,
	.check_unused = peali_group_check_unused,
	.remove_links = peali_remote_links_remove,
	.link_closed = peali_remote_end,
	.decline = peali_decline,
	.gives_credit = peali_gives_credit,
	.answer = peali_remote_answer,
};

/* ---- open ---------------------------------------------------------------- */

/* Returns 1 if a comma-separated list contains the name. */
static int names(const char *list, const char *name)
{
	size_t n = strlen(name), part;

	for (; *list; list += part + (list[part] == ',')) {
		part = strcspn(list, ",");
		if (part == n && !strncmp(list, name, n))
			return 1;
	}
	return 0;
}

/* Checks that PEAL_BACKENDS names only existing backends. */
static int check_backends(const char *list)
{
	size_t part;

	for (; *list; list += part + (list[part] == ',')) {
		part = strcspn(list, ",");
		if (!peali_backend_is_known(list, part))
			return PEALI_REFUSE(
				PEAL_EINVAL, "peal_runtime_open",
				.object = "variable", .name = "PEAL_BACKENDS",
				.problem = "has an unknown backend",
				.value = PEALI_PRINT("%.*s", (int)part, list),
				.allowed = PEALI_BACKEND_NAMES,
				.remedy = "use host");
	}
	return 0;
}

/* Returns 1 and the reason if a backend is not to be used, else 0. */
static int left_out(const struct peal_runtime *rt,
		    const struct peali_backend_ops *ops, const char *list,
		    char reason[sizeof(rt->backend_info[0].reason)])
{
	const size_t bytes = sizeof(rt->backend_info[0].reason);
	int b, n = 0;

	if (!names(list, ops->name)) {
		peali_text_format(reason, bytes, "excluded by PEAL_BACKENDS=%s",
				  list);
		return 1;
	}
	for (b = 0; b < rt->n_backends; b++)
		n += rt->backend_info[b].n_devices;
	if (ops != &peali_host_backend || !n ||
	    peali_env_given(PEALI_ENV_BACKENDS) ||
	    peali_env_given(PEALI_ENV_HOST_DEVICES))
		return 0;
	snprintf(reason, bytes,
		 "there are GPUs; PEAL_HOST_DEVICES=n adds emulated devices");
	return 1;
}

/* Opens one backend, or records why it is not available. */
static int open_backend(struct peal_runtime *rt,
			const struct peali_backend_ops *ops, const char *list)
{
	struct peal_backend_info *info = &rt->backend_info[rt->n_backends];
	struct peali_backend *backend = NULL;
	int result;

	memset(info, 0, sizeof(*info));
	snprintf(info->name, sizeof(info->name), "%s", ops->name);
	rt->backends[rt->n_backends++] = NULL;
	if (left_out(rt, ops, list, info->reason) ||
	    ops->probe(info->reason, sizeof(info->reason)))
		return 0;
	result = ops->open(&backend);
	if (result) /* the backend has devices, but its settings are wrong */
		return result;
	rt->backends[rt->n_backends - 1] = backend;
	info->available = 1;
	info->n_devices = ops->device_count(backend);
	return 0;
}

/*
 * Fails with PEAL_ENODEV, and the reason of each backend. The backends in the
 * list share the bytes of the text: their reasons name a library and a call.
 */
static int no_device(const struct peal_runtime *rt, const char *list)
{
	static const char left[] = "excluded by PEAL_BACKENDS";
	char reasons[204] = "", short_reason[204];
	size_t used = 0, listed = 0, share = sizeof(reasons);
	int b;

	for (b = 0; b < rt->n_backends; b++) {
		listed += (size_t)names(list, rt->backend_info[b].name);
		share -= strlen(rt->backend_info[b].name) + strlen("; : ");
	}
	share -= ((size_t)rt->n_backends - listed) * strlen(left);
	share /= listed ? listed : 1;
	for (b = 0; b < rt->n_backends; b++) {
		const struct peal_backend_info *info = &rt->backend_info[b];

		peali_text_fit(short_reason, share, info->reason);
		used += peali_text_format(
			reasons + used, sizeof(reasons) - used, "%s%s: %s",
			b ? "; " : "", info->name,
			names(list, info->name) ? short_reason : left);
	}
	return peali_fail(PEAL_ENODEV, "peal_runtime_open",
			  "no backend has a device: %s; `peal doctor` checks "
			  "them",
			  reasons);
}

static int number_devices(struct peal_runtime *rt, const char *list)
{
	int b, i, n = 0;

	for (b = 0; b < rt->n_backends; b++)
		n += rt->backend_info[b].n_devices;
	if (!n)
		return no_device(rt, list);
	rt->devices.device = calloc((size_t)n, sizeof(*rt->devices.device));
	if (!rt->devices.device)
		return peali_fail(PEAL_ENOMEM, "peal_runtime_open",
				  "no memory for %d devices", n);
	for (b = 0; b < rt->n_backends; b++)
		for (i = 0; i < rt->backend_info[b].n_devices; i++) {
			struct peali_device *d =
				&rt->devices.device[rt->devices.n++];

			d->backend = rt->backends[b];
			d->local = i;
		}
	return 0;
}

/* Makes the first device's backend the owner of host memory. The other backends
 * map this memory. */
static int share_host_memory(struct peal_runtime *rt)
{
	struct peali_backend *owner = rt->devices.device[0].backend;
	uint64_t bytes = 0;
	void *host = NULL;
	int b, result = owner->ops->host_range(owner, &host, &bytes);

	for (b = 0; b < rt->n_backends && !result; b++)
		if (rt->backends[b] && rt->backends[b] != owner &&
		    rt->backend_info[b].n_devices)
			result = rt->backends[b]->ops->adopt(rt->backends[b],
							     host, bytes);
	return result;
}

static int open_devices(struct peal_runtime *rt)
{
	const char *list = "";
	int i, result = peali_env_text(PEALI_ENV_BACKENDS, &list);

	if (!result)
		result = check_backends(list);
	if (result)
		return result;
	for (i = 0; peali_backends[i] && i < PEALI_BACKENDS_MAX; i++) {
		result = open_backend(rt, peali_backends[i], list);
		if (result)
			return result;
	}
	result = number_devices(rt, list);
	if (!result)
		result = share_host_memory(rt);
	if (!result)
		result = peali_peers_create(&rt->devices, &rt->peers);
	if (!result)
		result = peali_buffers_open(rt);
	return result;
}

/* Reports variables that look like settings, at level 1 of the log. */
static void log_unknown_settings(void)
{
	char name[PEALI_ENV_NAME_BYTES];
	const char *nearest;

	for (int i = 0; peali_env_unknown(i, name, &nearest); i++)
		peali_log(1, "%s is no setting of Peal; the nearest one is %s",
			  name, nearest);
}

static int read_env(struct peal_runtime *rt,
		    const struct peal_runtime_options *options)
{
	uint64_t lease_ms = 0;
	int result;

	result = peali_env_check();
	if (!result)
		log_unknown_settings();
	if (!result && !PEAL_SIM && peali_env_given(PEALI_ENV_SIM_SEED))
		result = peali_fail(PEAL_EINVAL, "peal_runtime_open",
				    "PEAL_SIM_SEED is set, but this build is "
				    "not for the simulator; unset it, or "
				    "link the program to peal_sim");
	if (!result)
		result = peali_env_number(PEALI_ENV_LEASE_MS, &lease_ms);
	if (!result)
		result = peali_env_number(PEALI_ENV_CONTROL_TIMEOUT_MS,
					  &rt->control_timeout_ms);
	/* so that on a slow machine one setting raises both bounds */
	if (rt->check_in_ns < (int64_t)rt->control_timeout_ms * 1000000)
		rt->check_in_ns = (int64_t)rt->control_timeout_ms * 1000000;
	rt->lease_ns = lease_ms * 1000000;
	if (result || !options->lease_ns)
		return result;
	rt->lease_ns = options->lease_ns;
	if (rt->lease_ns < PEALI_LEASE_NS_MIN)
		return PEALI_REFUSE(
			PEAL_EINVAL, "peal_runtime_open", .object = "option",
			.name = "lease_ns",
			.problem = "is too small, as kernels would end "
				   "before the host renews it",
			.number = rt->lease_ns, .least = PEALI_LEASE_NS_MIN,
			.most = UINT64_MAX);
	return 0;
}

/* Frees everything except the runtime's objects. Also frees a runtime that was
 * opened only in part. */
static int tear_down(struct peal_runtime *rt)
{
	int i, result = 0;

	peali_stall_unserve(rt);
	peali_event_orders_close(rt);
	if (rt->watchdog)
		peali_watchdog_stop(rt);
	if (rt->stager)
		peali_stager_stop(rt);
	if (rt->peers)
		result = peali_peers_destroy(rt->peers);
	peali_reject_tables_clear(rt);
	for (i = rt->n_backends; i-- > 0;)
		if (rt->backends[i] &&
		    rt->backends[i]->ops->close(rt->backends[i]))
			result = PEAL_EBUSY;
	if (!result) /* else a kernel may still run their code */
		peali_program_files_close(rt);
	free(rt->devices.device);
	free(rt->programs);
	free(rt->fwd_entries);
	peali_counters_close(rt);
	peali_names_clear(&rt->names);
	pthread_mutex_destroy(&rt->forward_lock);
	pthread_mutex_destroy(&rt->launch_lock);
	pthread_mutex_destroy(&rt->lock);
	free(rt);
	return result;
}

int peal_runtime_open(const struct peal_runtime_options *options,
		      struct peal_runtime **runtime_out)
{
	struct peal_leak_report ignored;
	struct peal_runtime_options o;
	struct peal_runtime *rt;
	int result;

	if (!runtime_out)
		return peali_refuse_null("peal_runtime_open", "runtime_out");
	result =
		peali_options_copy(&o, sizeof(o), options, "peal_runtime_open");
	if (!result && o.reserved)
		result = peali_refuse_option("peal_runtime_open", "reserved",
					     o.reserved, 0, 0);
	if (result)
		return result;
	peali_library_keep();
	rt = calloc(1, sizeof(*rt));
	if (!rt)
		return peali_fail(PEAL_ENOMEM, "peal_runtime_open",
				  "no memory for the runtime");
	rt->hooks = &hooks;
	rt->owner = peali_owner_self();
	pthread_mutex_init(&rt->lock, NULL);
	pthread_mutex_init(&rt->launch_lock, NULL);
	pthread_mutex_init(&rt->forward_lock, NULL);
	peali_names_init(&rt->names);
	rt->next_kernel = rt->next_endpoint = 1;
	rt->next_link = 1;
	rt->check_in_ns = PEALI_CHECK_IN_NS;
	atomic_init(&rt->silent_ns, PEALI_SILENT_NS);
	rt->stop_ns = PEALI_STOP_NS;
	rt->end_ns = PEALI_END_NS;
	result = read_env(rt, &o);
	if (!result)
		result = open_devices(rt);
	if (!result)
		result = peali_programs_init(rt);
	if (!result)
		result = peali_counters_open(rt);
	if (!result)
		result = peali_event_orders_open(rt);
	if (!result)
		result = peali_stager_start(rt);
	if (!result)
		result = peali_watchdog_start(rt);
	if (result) {
		peali_buffers_close(rt, &ignored);
		tear_down(rt);
		return peali_fail_in(result, "peal_runtime_open");
	}
	peali_stall_serve(rt);
	*runtime_out = rt;
	return 0;
}

/* Returns PEAL_EBUSY if objects are left, with their numbers in the text. */
static int children_left(struct peal_runtime *rt)
{
	struct peal_runtime_info info;
	char text[200] = "";
	size_t at = 0, i;

	peal_runtime_info(rt, &info);
	const struct {
		uint32_t n;
		const char *what;
	} left[] = {
		{ info.n_kernels, "kernel" },
		{ info.n_links, "link" },
		{ info.n_endpoints, "endpoint" },
		{ info.n_barriers, "barrier" },
		{ info.n_topics, "topic" },
		{ info.n_requesters, "requester" },
		{ info.n_communicators, "communicator" },
		{ info.n_executors, "executor" },
		{ info.n_graphs, "graph" },
		{ info.n_events, "event" },
		{ info.n_process_groups, "process group" },
		{ info.n_memories, "allocation" },
	};

	for (i = 0; i < sizeof(left) / sizeof(left[0]); i++)
		if (left[i].n && at < sizeof(text))
			at += (size_t)snprintf(text + at, sizeof(text) - at,
					       "%s%u %s%s", at ? ", " : "",
					       left[i].n, left[i].what,
					       peali_s(left[i].n));
	if (!at)
		return 0;
	return peali_fail(PEAL_EBUSY, "peal_runtime_close",
			  "runtime still has %s%s%s%s; destroy them, or call "
			  "peal_runtime_shutdown",
			  text,
			  info.n_kernels ? "; the newest kernel is '" : "",
			  info.n_kernels ? rt->kernels->name : "",
			  info.n_kernels ? "'" : "");
}

int peal_runtime_close_report(struct peal_runtime *rt,
			      struct peal_leak_report *report_out)
{
	int result;

	if (!report_out)
		return peali_refuse_null("peal_runtime_close_report",
					 "report_out");
	if (!rt) {
		memset(report_out, 0, sizeof(*report_out));
		return 0;
	}
	if (peali_foreign(&rt->owner, "peal_runtime_close"))
		return PEAL_EFORKED;
	result = children_left(rt);
	if (!result)
		result = peali_peers_check_idle(rt->peers);
	if (result)
		return result;
	peali_buffers_close(rt, report_out);
	peali_peers_clear(rt->peers); /* only memory of buffers is left */
	return tear_down(rt);
}

int peal_runtime_close(struct peal_runtime *rt)
{
	struct peal_leak_report ignored;

	return peal_runtime_close_report(rt, &ignored);
}

/*
 * Ends all kernels. Returns 0 or PEAL_EHUNG. All kernels together have end_ns
 * to stop. Then each kernel that has not ended is aborted. A kernel that was
 * aborted before gets no time to stop.
 */
static int end_kernels(struct peal_runtime *rt)
{
	uint64_t deadline = peali_deadline(rt->end_ns), now;
	struct peal_kernel *k;
	int result = 0;

	for (k = rt->kernels; k; k = k->next)
		peal_kernel_stop(k, 0);
	for (k = rt->kernels; k; k = k->next) {
		now = peali_now_ns();
		if (now < deadline &&
		    peal_load_relaxed_sys(&k->control->stop) < PEAL_STOP_ABORT)
			peal_kernel_stop(k, (int64_t)(deadline - now));
		if (peal_kernel_abort(k, rt->end_ns))
			result = PEAL_EHUNG;
	}
	return result;
}

int peal_runtime_shutdown(struct peal_runtime *rt)
{
	struct peal_leak_report ignored;
	int result;

	if (!rt)
		return 0;
	if (peali_foreign(&rt->owner, "peal_runtime_shutdown"))
		return PEAL_EFORKED;
	result = end_kernels(rt);
	if (result) /* a kernel may still use the memory, so it is leaked */
		return peali_fail_in(result, "peal_runtime_shutdown");
	while (rt->groups && !result)
		result = peal_comm_destroy(rt->groups);
	while (rt->executors && !result)
		result = peal_executor_destroy(rt->executors);
	while (rt->graphs && !result)
		result = peal_graph_destroy(rt->graphs);
	while (rt->pipelines && !result)
		result = peal_pipeline_destroy(rt->pipelines);
	if (!result)
		result = peali_work_shares_clear(rt);
	if (result)
		return peali_fail_in(result, "peal_runtime_shutdown");
	/* later steps change the lists without rt->lock */
	peali_stall_unserve(rt);
	peali_event_orders_close(rt);
	pthread_mutex_lock(&rt->lock); /* the watchdog reads the list */
	while (rt->links)
		peali_link_take_down(rt->links, "peal_runtime_shutdown");
	pthread_mutex_unlock(&rt->lock);
	peali_process_groups_clear(rt);
	peali_topic_forwarders_clear(rt);
	peali_topics_clear(rt);
	while (rt->events)
		peal_event_destroy(rt->events);
	while (rt->barriers)
		peal_barrier_destroy(rt->barriers);
	while (rt->endpoints)
		peal_endpoint_destroy(rt->endpoints);
	peali_requesters_clear(rt);
	while (rt->kernels)
		peal_kernel_destroy(rt->kernels);
	peali_buffers_close(rt, &ignored);
	peali_peers_clear(rt->peers);
	return tear_down(rt);
}

/* Counts the objects of all lists. The caller holds rt->lock. */
static void count_children(struct peal_runtime *rt,
			   struct peal_runtime_info *info)
{
	struct peal_kernel *kernel;
	struct peal_link *link;
	struct peal_endpoint *endpoint;
	struct peal_barrier *barrier;
	struct peal_comm *group;
	struct peal_event *event;
	struct peal_executor *executor;
	struct peal_graph *graph;

	for (kernel = rt->kernels; kernel; kernel = kernel->next)
		info->n_kernels++;
	for (endpoint = rt->endpoints; endpoint; endpoint = endpoint->next)
		info->n_endpoints++;
	for (barrier = rt->barriers; barrier;
	     barrier = peali_barrier_next(barrier))
		info->n_barriers++;
	for (group = rt->groups; group; group = peali_comm_next(group))
		info->n_communicators++;
	for (event = rt->events; event; event = peali_event_next(event))
		info->n_events++;
	for (executor = rt->executors; executor;
	     executor = peali_executor_next(executor))
		info->n_executors++;
	for (graph = rt->graphs; graph; graph = peali_graph_next(graph))
		info->n_graphs++;
	info->n_topics = peali_topics_count(rt);
	info->n_process_groups = peali_process_groups_count(rt);
	info->n_requesters = peali_requesters_count(rt);
	for (link = rt->links; link; link = link->next) {
		info->n_links++;
		info->link_bytes += peali_link_memory(link);
	}
}

int peal_runtime_info(struct peal_runtime *rt,
		      struct peal_runtime_info *info_out)
{
	if (!rt || !info_out)
		return peali_refuse_null("peal_runtime_info",
					 "runtime or info_out");
	if (peali_foreign(&rt->owner, "peal_runtime_info"))
		return PEAL_EFORKED;
	memset(info_out, 0, sizeof(*info_out));
	info_out->n_devices = (uint32_t)rt->devices.n;
	info_out->n_memories = peali_peers_n_memories(rt->peers);
	info_out->n_buffers = peali_buffers_count(rt);
	pthread_mutex_lock(&rt->lock);
	count_children(rt, info_out);
	pthread_mutex_unlock(&rt->lock);
	return 0;
}

int peal_backend_info(struct peal_runtime *rt, int index,
		      struct peal_backend_info *info_out)
{
	if (!rt || !info_out)
		return peali_refuse_null("peal_backend_info",
					 "runtime or info_out");
	if (peali_foreign(&rt->owner, "peal_backend_info"))
		return PEAL_EFORKED;
	if (index < 0 || index >= rt->n_backends)
		return PEALI_REFUSE(
			PEAL_ENOENT, "peal_backend_info", .object = "runtime",
			.problem = "has no such backend",
			.value = PEALI_PRINT("%d", index),
			.allowed = PEALI_PRINT("0..%d", rt->n_backends - 1),
			.remedy = "use 0");
	*info_out = rt->backend_info[index];
	return 0;
}
