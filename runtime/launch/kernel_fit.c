/* SPDX-License-Identifier: Apache-2.0 */
/* What a device needs before a kernel, and whether the kernel fits. */
#include "runtime/launch/kernel_fit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <peal/device/impl/worker/worker.h>

#include "p2p/probe.h"
#include "runtime/base/error.h"
#include "runtime/base/log.h"
#include "runtime/base/refusal.h"
#include "runtime/base/text.h"
#include "runtime/device/backend.h"
#include "runtime/device/device.h"
#include "runtime/device/devices.h"
#include "runtime/device/program.h"
#include "runtime/runtime.h"

#define CALL "peal_kernel_launch"
/* Default on devices where the driver ends long kernels. */
#define EPOCH_NS 100000000

uint32_t peali_kernel_lanes(struct peal_runtime *rt, int device, uint32_t most)
{
	struct peal_device_info info;

	if (peal_device_info(rt, device, &info) < 0 || info.emulated)
		return 1;
	return info.max_lanes < most ? info.max_lanes : most;
}

/*
 * Probes all pairs of GPUs of a backend, once, before the first kernel. A later
 * probe would have to fit beside resident kernels. A failed probe is a verdict,
 * not an error. The caller holds rt->launch_lock.
 */
static void probe_pairs(struct peal_runtime *rt, int device)
{
	struct peali_backend *backend = rt->devices.device[device].backend;
	int b, probed = 0;

	if (backend->ops->late_probes)
		return;
	pthread_mutex_lock(&rt->lock);
	for (b = 0; b < rt->n_backends; b++)
		if (rt->backends[b] == backend) {
			probed = rt->probed[b];
			rt->probed[b] = 1;
		}
	pthread_mutex_unlock(&rt->lock);
	if (!probed)
		peali_probe_backend(rt->peers, backend);
}

/* Loads a program while no probe runs: a resident probe prevents loading. */
static int load_one(struct peal_runtime *rt, int device,
		    const struct peal_program *program)
{
	struct peali_device *d = &rt->devices.device[device];
	int result;

	peali_probes_hold(rt->peers);
	result = d->backend->ops->load(d->backend, d->local, program);
	peali_probes_release(rt->peers);
	return result;
}

/*
 * Loads all known programs onto a device. After its first kernel that may be
 * impossible. Only a failure to load `program` is an error.
 */
static int load_programs(struct peal_runtime *rt, int device,
			 const struct peal_program *program)
{
	int result = load_one(rt, device, program);
	uint32_t i;

	if (result)
		return result;
	load_one(rt, device, peali_probe_program());
	for (i = 0; i < peali_programs_count(rt); i++)
		if (load_one(rt, device, peali_programs_at(rt, i)))
			peali_log(2, "%s", peal_last_error()->text);
	return 0;
}

/* Tests the streams of a device while no probe runs. */
static int test_streams(struct peal_runtime *rt, int device)
{
	struct peali_device *d = &rt->devices.device[device];
	int result = 0;

	if (!d->backend->ops->test_streams)
		return 0;
	peali_probes_hold(rt->peers);
	result = d->backend->ops->test_streams(d->backend, d->local,
					       peali_probe_program());
	peali_probes_release(rt->peers);
	return result;
}

/* Counts the workers of a kernel that fit, with hot tables of `hot_bytes`. */
static int count_workers(struct peali_device *d,
			 const struct peal_program *program,
			 const struct peal_kernel_options *o,
			 uint32_t hot_bytes, struct peali_capacity *out)
{
	const struct peali_launch_desc shape = {
		.lanes = o->lanes,
		.cluster_workers = o->cluster.workers,
		.cluster_bytes = o->cluster.bytes,
		.hot_bytes = hot_bytes,
	};

	return d->backend->ops->max_workers(d->backend, d->local, program,
					    &shape, out);
}

/* Counts the workers of a kernel that fit. If there are no clusters, clears the
 * cluster options and counts without them. */
static int fit_workers(struct peali_device *d,
		       const struct peal_program *program,
		       struct peal_kernel_options *o,
		       struct peali_capacity *out)
{
	int result = count_workers(d, program, o, 0, out);

	if (result != PEAL_ENOTSUP || !o->cluster.workers)
		return result;
	o->cluster.workers = o->cluster.bytes = 0;
	return count_workers(d, program, o, 0, out);
}

/*
 * Returns the bytes of hot tables that each worker gets in shared memory, or 0.
 * With them the kernel takes at most an eighth of the workers that fit. So its
 * tables take little from later kernels.
 */
static uint32_t choose_hot_bytes(struct peali_device *d,
				 const struct peal_program *program,
				 const struct peal_kernel_options *o)
{
	const struct peal_kernel_params p = { .max_inputs = o->max_inputs,
					      .max_ports = o->max_ports };
	uint64_t bytes = peal_worker_tables(&p).hot_bytes;
	struct peali_capacity fit = { 0, 0, 0 };

	if (bytes > d->backend->ops->hot_bytes_max ||
	    count_workers(d, program, o, (uint32_t)bytes, &fit) ||
	    o->workers > fit.workers / 8)
		return 0;
	return (uint32_t)bytes;
}

/* Refuses workers that do not fit, with the space of a multiprocessor. */
static int refuse_workers(int device, const struct peal_kernel_options *o,
			  const struct peali_capacity *fit)
{
	char space[96] = "", clusters[64] = "";

	if (fit->percent_worker)
		snprintf(space, sizeof(space),
			 ": a worker takes %u %% of a multiprocessor, at most "
			 "%u %% of one are free",
			 fit->percent_worker, fit->percent_free);
	if (o->cluster.workers)
		snprintf(clusters, sizeof(clusters),
			 ", cluster.workers %u, cluster.bytes %u",
			 o->cluster.workers, o->cluster.bytes);
	return PEALI_REFUSE(
		PEAL_ENOSPC, CALL, .object = "option", .name = "workers",
		.problem = PEALI_PRINT(
			"is too large for device %d with lanes %u%s%s", device,
			o->lanes, clusters, space),
		.number = o->workers, .allowed = fit->workers ? NULL : "none",
		.least = 1, .most = fit->workers,
		.multiple = o->cluster.workers,
		.remedy = fit->workers ? NULL :
			  fit->percent_free < 100 && fit->percent_worker ?
					 "use fewer lanes, or stop a kernel" :
					 "use fewer lanes");
}

/* Returns 1 if the driver of a device ends kernels at a time limit. */
static int has_time_limit(struct peali_device *d)
{
	struct peali_fact facts[PEALI_FACTS_MAX];
	int i, n = d->backend->ops->facts(d->backend, d->local, facts,
					  PEALI_FACTS_MAX);

	for (i = 0; i < n; i++)
		if (!strcmp(facts[i].name, "watchdog"))
			return atoi(facts[i].value) > 0;
	return 0;
}

int peali_kernel_fit(struct peal_runtime *rt, int device,
		     const struct peal_program *program,
		     struct peal_kernel_options *o, uint32_t *hot_bytes_out)
{
	struct peali_device *d = &rt->devices.device[device];
	struct peali_capacity fit = { 0, 0, 0 };
	int result;

	if (!o->epoch_ns && has_time_limit(d))
		o->epoch_ns = EPOCH_NS;
	pthread_mutex_lock(&rt->launch_lock);
	probe_pairs(rt, device);
	result = load_programs(rt, device, program);
	if (!result)
		result = test_streams(rt, device);
	pthread_mutex_unlock(&rt->launch_lock);
	if (!result)
		result = fit_workers(d, program, o, &fit);
	if (result)
		return result;
	if (o->workers > fit.workers)
		return refuse_workers(device, o, &fit);
	*hot_bytes_out = choose_hot_bytes(d, program, o);
	return 0;
}
