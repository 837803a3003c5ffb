/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/base/error.h"
#include "runtime/base/log.h"
#include "runtime/base/refusal.h"
#include "runtime/base/text.h"
#include "runtime/base/thread.h"
#include "runtime/base/wait.h"
#include "runtime/device/devices.h"
#include "runtime/device/gpu/gpu.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <peal/device/atomic.h>

/*
 * Launches of GPU backends. A launch is a grid with one block per worker, on
 * its own stream. All its blocks are resident together.
 *
 * One monitor thread polls all launches. It starts the next epoch if workers
 * ask for one. If a kernel ended without a final phase of a worker, it sets the
 * phase of this worker.
 */

#define TICK_NS 5000000L /* between two polls of all launches */
#define EPOCH_TICK_NS 200000L /* while some launch has epochs */
/* After this many failed polls in a row the device counts as lost. */
#define BLIND_LOOKS 200

struct peali_launch {
	struct peali_launch *next; /* in the list of freed recorded launches */
	struct peali_gpu *gpu;
	struct peali_launch_desc desc;
	struct peali_gpu_program *program;
	int stream; /* index into the device's streams */
	struct peali_gpu_placement place; /* of its blocks, while it runs */
	double share;
	void *recorded; /* the driver's handle; NULL: not recorded */
	int done; /* 1: the kernel has ended or was not started */
	/* the driver's error when the kernel ended or failed to start */
	int error;
	const char *error_by; /* the call that returned `error` */
	int blind; /* failed polls in a row */
};

static int check_desc(struct peali_gpu *gpu,
		      const struct peali_launch_desc *desc)
{
	int r = peali_gpu_check(gpu, desc->device, "launch");

	if (r < 0)
		return r;
	if (!desc->n_workers || !desc->lanes ||
	    desc->lanes > gpu->device[desc->device].max_lanes)
		return peali_refuse_option(
			"launch", desc->n_workers ? "lanes" : "workers",
			desc->n_workers ? desc->lanes : 0, 1,
			desc->n_workers ? gpu->device[desc->device].max_lanes :
					  UINT16_MAX);
	return 0;
}

int peali_gpu_is_busy(const struct peali_gpu *gpu, int device)
{
	int i, s;

	for (i = 0; i < gpu->n_devices; i++) {
		if (gpu->device[i].ordinal != gpu->device[device].ordinal)
			continue;
		for (s = 0; s < gpu->device[i].n_streams; s++)
			if (gpu->device[i].resident[s] &&
			    !gpu->device[i].resident[s]->done)
				return 1;
	}
	return 0;
}

/* ---- starting ------------------------------------------------------------ */

/*
 * Starts the grid on its stream. Returns the driver's error; *symbol names the
 * failed call.
 */
static int launch_grid(struct peali_launch *launch, const char **symbol)
{
	struct peali_gpu *gpu = launch->gpu;
	const struct peali_launch_desc *desc = &launch->desc;
	struct peali_gpu_device *d = &gpu->device[desc->device];
	uint64_t params = desc->params;
	void *argument[1];

	if (launch->recorded) {
		*symbol = PEALI_GPU_SYMBOL(gpu, graph_launch);
		return gpu->driver.graph_launch(launch->recorded,
						d->stream[launch->stream]);
	}
	argument[0] = &params;
	if (desc->cluster_workers) {
		*symbol = PEALI_GPU_SYMBOL(gpu, launch_grid);
		return peali_gpu_clusters_launch(gpu, desc, launch->program,
						 d->stream[launch->stream],
						 argument);
	}
	if (gpu->driver.launch_cooperative && d->cooperative) {
		*symbol = PEALI_GPU_SYMBOL(gpu, launch_cooperative);
		return gpu->driver.launch_cooperative(
			launch->program->function, desc->n_workers, 1, 1,
			desc->lanes, 1, 1, peali_gpu_shared_bytes(desc),
			d->stream[launch->stream], argument);
	}
	*symbol = PEALI_GPU_SYMBOL(gpu, launch);
	return gpu->driver.launch(launch->program->function, desc->n_workers, 1,
				  1, desc->lanes, 1, 1,
				  peali_gpu_shared_bytes(desc),
				  d->stream[launch->stream], argument, NULL);
}

/*
 * Makes a driver call for a launch. The thread has entered the device and holds
 * gpu->lock. A driver that isolates parts may reject a function that was loaded
 * for the whole device. Then the parts share the multiprocessors, and the call
 * is repeated.
 */
static int for_part(struct peali_launch *launch,
		    int (*call)(struct peali_launch *launch,
				const char **symbol),
		    const char **symbol)
{
	struct peali_gpu *gpu = launch->gpu;
	int device = launch->desc.device, error = call(launch, symbol);

	if (!error || !gpu->device[device].green ||
	    peali_gpu_is_busy(gpu, device))
		return error;
	peali_log(1,
		  "%s device %d: %s reports %s for a reserved part; its "
		  "parts now share the multiprocessors",
		  gpu->driver.vendor->name, device, *symbol,
		  peali_gpu_error_name(&gpu->driver, error));
	return peali_gpu_share_units(gpu, device) ? error :
						    call(launch, symbol);
}

/* Starts the kernel. The caller holds gpu->lock. */
static int start_kernel(struct peali_launch *launch)
{
	struct peali_gpu *gpu = launch->gpu;
	const struct peali_launch_desc *desc = &launch->desc;
	const char *symbol = "";
	void *before = NULL;
	int error, r = peali_gpu_enter(gpu, desc->device, "launch", &before);

	if (r < 0)
		return r;
	error = for_part(launch, launch_grid, &symbol);
	peali_gpu_leave(gpu, before);
	launch->error = error;
	launch->error_by = symbol;
	return peali_gpu_fail(gpu, desc->device, error, symbol, "launch",
			      "%u workers of %u lanes of program '%s'",
			      desc->n_workers, desc->lanes,
			      desc->program->name);
}

static int free_stream(const struct peali_gpu_device *d)
{
	int s;

	for (s = 0; s < d->n_streams; s++)
		if (!d->resident[s])
			return s;
	return -1;
}

/* Loads the program, computes its share. The caller holds gpu->lock. */
static int prepare(struct peali_launch *launch)
{
	struct peali_gpu *gpu = launch->gpu;
	const struct peali_launch_desc *desc = &launch->desc;
	struct peali_gpu_fit *fit = &launch->place.fit;
	int r;

	r = peali_gpu_fit(gpu, desc->device, desc->program, desc, fit);
	if (!r)
		r = peali_gpu_program(gpu, desc->device, desc->program,
				      "launch", &launch->program);
	if (!r)
		r = peali_gpu_placement_open(&launch->place, desc->n_workers);
	launch->share = fit->blocks ? (double)desc->n_workers / fit->blocks : 2;
	return r;
}

/* Refuses a launch that has no stream, or a block that would wait. */
static int check_space(struct peali_launch *launch)
{
	struct peali_gpu *gpu = launch->gpu;
	const struct peali_launch_desc *desc = &launch->desc;
	const char *vendor = gpu->driver.vendor->name;
	int n = gpu->device[desc->device].n_streams;
	struct peali_capacity free;

	if (launch->stream < 0)
		return peali_fail(PEAL_ENOSPC, "launch",
				  "%s device %d: %d kernels at a time fit its "
				  "hardware queues, and all are resident; stop "
				  "one, or raise %s",
				  vendor, desc->device, n,
				  gpu->driver.vendor->queues_variable);
	/* Kernels of the probe may use the part that stays free. */
	peali_gpu_capacity(gpu, desc->device, &launch->place.fit, 0, &free);
	if (desc->n_workers <= free.workers)
		return 0;
	return PEALI_REFUSE(
		PEAL_ENOSPC, "launch", .object = "option", .name = "workers",
		.problem = PEALI_PRINT(
			"is too large for %s device %d with lanes %u: a worker "
			"takes %u %% of a multiprocessor, at most %u %% of one "
			"are free",
			vendor, desc->device, desc->lanes, free.percent_worker,
			free.percent_free),
		.number = desc->n_workers,
		.allowed = free.workers ? NULL : "none", .least = 1,
		.most = free.workers,
		.remedy = free.workers ? NULL :
					 "use fewer lanes, or stop a kernel");
}

/* Starts the launch, and takes its share. The caller holds gpu->lock. */
static int start(struct peali_launch *launch)
{
	struct peali_gpu *gpu = launch->gpu;
	struct peali_gpu_device *d = &gpu->device[launch->desc.device];
	int r;

	launch->stream = free_stream(d);
	r = check_space(launch);
	if (!r)
		r = start_kernel(launch);
	if (r < 0)
		return r;
	peali_gpu_place(gpu, launch->desc.device, &launch->place);
	d->share += launch->share;
	d->resident[launch->stream] = launch;
	return 0;
}

/* Frees the stream for another launch. The caller holds gpu->lock. */
static void give_stream(struct peali_launch *launch)
{
	launch->gpu->device[launch->desc.device].resident[launch->stream] =
		NULL;
}

/* ---- recording ----------------------------------------------------------- */

#define CAPTURE_OF_THREAD 1 /* calls of other threads are not captured */

/* Records the launch, so many times, as a graph without a run. Returns the
 * driver's error. */
static int capture(struct peali_launch *launch, const char **symbol)
{
	struct peali_gpu *gpu = launch->gpu;
	struct peali_gpu_driver *driver = &gpu->driver;
	void *stream = gpu->device[launch->desc.device].stream[launch->stream];
	void *graph = NULL;
	int error, end, i;

	*symbol = PEALI_GPU_SYMBOL(gpu, capture_begin);
	error = driver->capture_begin(stream, CAPTURE_OF_THREAD);
	if (error)
		return error;
	for (i = 0; i < launch->desc.recorded && !error; i++)
		error = launch_grid(launch, symbol);
	end = driver->capture_end(stream, &graph);
	if (!error && end)
		*symbol = PEALI_GPU_SYMBOL(gpu, capture_end);
	error = error ? error : end;
	if (!error) {
		*symbol = PEALI_GPU_SYMBOL(gpu, graph_instantiate);
		error = driver->graph_instantiate(&launch->recorded, graph, 0);
	}
	if (graph)
		driver->graph_destroy(graph);
	return error;
}

/* Uploads the graph in advance. If this fails, the first run is only slower. */
static void upload(struct peali_launch *launch)
{
	struct peali_gpu_driver *driver = &launch->gpu->driver;
	void *stream =
		launch->gpu->device[launch->desc.device].stream[launch->stream];

	if (driver->graph_upload &&
	    !driver->graph_upload(launch->recorded, stream))
		driver->stream_wait(stream);
}

static void discard(struct peali_launch *launch)
{
	peali_gpu_placement_close(&launch->place);
	free(launch);
}

/*
 * Destroys recorded launches that were freed while kernels were resident. The
 * thread has entered the device.
 */
static void destroy_freed(struct peali_gpu *gpu, int device)
{
	struct peali_gpu_device *d = &gpu->device[device];

	while (d->freed) {
		struct peali_launch *launch = d->freed;

		d->freed = launch->next;
		gpu->driver.executable_destroy(launch->recorded);
		discard(launch);
	}
}

void peali_gpu_records_close(struct peali_gpu *gpu, int device)
{
	struct peali_gpu_device *d = &gpu->device[device];
	struct peali_launch *launch;
	void *before = NULL;

	if (!d->freed)
		return;
	if (!peali_gpu_enter(gpu, device, "close", &before)) {
		destroy_freed(gpu, device);
		peali_gpu_leave(gpu, before);
	}
	/* the driver keeps the executables */
	while ((launch = d->freed) != NULL) {
		d->freed = launch->next;
		discard(launch);
	}
}

/* The caller holds gpu->lock. */
static int record(struct peali_launch *launch)
{
	struct peali_gpu *gpu = launch->gpu;
	int device = launch->desc.device, error, r;
	const char *vendor = gpu->driver.vendor->name, *symbol = "";
	void *before = NULL;

	if (!gpu->driver.graph_launch)
		return peali_fail(PEAL_ENOTSUP, "launch",
				  "%s device %d: the driver has no graphs, "
				  "which recorded launches need",
				  vendor, device);
	launch->stream = free_stream(&gpu->device[device]);
	if (peali_gpu_is_busy(gpu, device) || launch->stream < 0)
		return peali_fail(PEAL_EBUSY, "launch",
				  "%s device %d: launches are recorded while "
				  "no kernel is resident there",
				  vendor, device);
	r = peali_gpu_enter(gpu, device, "launch", &before);
	if (r < 0)
		return r;
	destroy_freed(gpu, device);
	error = for_part(launch, capture, &symbol);
	if (!error)
		upload(launch);
	peali_gpu_leave(gpu, before);
	launch->done = 1;
	return peali_gpu_fail(gpu, device, error, symbol, "launch",
			      "record %u workers of %u lanes of program '%s'",
			      launch->desc.n_workers, launch->desc.lanes,
			      launch->desc.program->name);
}

/* ---- how it ends --------------------------------------------------------- */

/* Returns 1 if some worker has asked for another epoch. */
static int wants_epoch(const struct peali_launch_desc *desc)
{
	uint32_t i;

	if (!desc->epochs)
		return 0;
	for (i = 0; i < desc->n_workers; i++)
		if (peal_load_acquire_sys(&desc->status[i].phase) <
		    PEAL_WORKER_STOPPED)
			return 1;
	return 0;
}

void peali_gpu_lose(struct peali_gpu *gpu, int device, int error,
		    const char *symbol)
{
	int i;

	for (i = 0; i < gpu->n_devices; i++) {
		if (gpu->device[i].ordinal != gpu->device[device].ordinal)
			continue;
		gpu->device[i].lost = error;
		gpu->device[i].lost_by = symbol;
	}
	peali_log(1, "%s device %d is lost: %s reports %s",
		  gpu->driver.vendor->name, device, symbol,
		  peali_gpu_error_name(&gpu->driver, error));
}

/* Asks the driver for the kernel's state; PEALI_GPU_NOT_READY: it runs. */
static int ask(struct peali_launch *launch, const char **symbol_out)
{
	struct peali_gpu *gpu = launch->gpu;
	struct peali_gpu_device *d = &gpu->device[launch->desc.device];
	void *before = NULL;
	int error = gpu->driver.enter(&gpu->driver, d->handle, d->state,
				      &before, symbol_out);

	/* A failed call at first says nothing about the kernel. */
	if (error)
		return ++launch->blind < BLIND_LOOKS ? PEALI_GPU_NOT_READY :
						       error;
	launch->blind = 0;
	*symbol_out = PEALI_GPU_SYMBOL(gpu, stream_query);
	error = gpu->driver.stream_query(d->stream[launch->stream]);
	peali_gpu_leave(gpu, before);
	return error;
}

/* Polls a launch for its next epoch or its end. The caller holds gpu->lock. */
static void look(struct peali_launch *launch)
{
	struct peali_gpu *gpu = launch->gpu;
	const char *symbol = NULL;
	int error;

	if (launch->done)
		return;
	error = ask(launch, &symbol);
	if (error == PEALI_GPU_NOT_READY)
		return;
	peali_gpu_displace(&launch->place);
	if (!error && wants_epoch(&launch->desc)) {
		if (!start_kernel(launch)) {
			peali_gpu_place(gpu, launch->desc.device,
					&launch->place);
			return;
		}
		peali_log(1, "%s", peal_last_error()->text);
	}
	launch->done = 1;
	gpu->device[launch->desc.device].share -= launch->share;
	if (launch->recorded)
		give_stream(launch);
	if (error) {
		launch->error = error;
		launch->error_by = symbol;
		peali_gpu_lose(gpu, launch->desc.device, error, symbol);
	}
	peali_launch_fail_workers(&launch->desc);
}

/* ---- the thread that looks after launches -------------------------------- */

/* Polls all launches; 1: one has epochs. The caller holds gpu->lock. */
static int look_at_all(struct peali_gpu *gpu)
{
	struct peali_launch *launch;
	int i, s, epochs = 0;

	for (i = 0; i < gpu->n_devices; i++) {
		for (s = 0; s < gpu->device[i].n_streams; s++) {
			launch = gpu->device[i].resident[s];
			if (!launch || launch->done)
				continue;
			look(launch);
			epochs |= launch->desc.epochs;
		}
	}
	return epochs;
}

static struct timespec after(long ns)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	t.tv_nsec += ns;
	if (t.tv_nsec >= 1000000000L) {
		t.tv_nsec -= 1000000000L;
		t.tv_sec++;
	}
	return t;
}

static void *monitor_main(void *argument)
{
	struct peali_gpu *gpu = argument;
	struct timespec until;

	pthread_setname_np(pthread_self(), "peal-monitor");
	pthread_mutex_lock(&gpu->lock);
	while (!gpu->monitor_stop) {
		if (!gpu->n_launches) {
			pthread_cond_wait(&gpu->monitor_wake, &gpu->lock);
			continue;
		}
		until = after(look_at_all(gpu) ? EPOCH_TICK_NS : TICK_NS);
		pthread_cond_timedwait(&gpu->monitor_wake, &gpu->lock, &until);
	}
	pthread_mutex_unlock(&gpu->lock);
	return NULL;
}

/* Starts the monitor thread if needed. The caller holds gpu->lock. */
static int need_monitor(struct peali_gpu *gpu)
{
	int error;

	if (gpu->has_monitor)
		return 0;
	error = peali_thread_start(&gpu->monitor, monitor_main, gpu);
	if (error)
		return peali_fail_system(error, "launch",
					 "no thread to monitor kernels");
	gpu->has_monitor = 1;
	return 0;
}

void peali_gpu_monitor_stop(struct peali_gpu *gpu)
{
	if (!gpu->has_monitor)
		return;
	pthread_mutex_lock(&gpu->lock);
	gpu->monitor_stop = 1;
	pthread_cond_signal(&gpu->monitor_wake);
	pthread_mutex_unlock(&gpu->lock);
	pthread_join(gpu->monitor, NULL);
	gpu->has_monitor = 0;
}

/* ---- the operations ------------------------------------------------------ */

int peali_gpu_launch(struct peali_backend *backend,
		     const struct peali_launch_desc *desc,
		     struct peali_launch **out)
{
	struct peali_gpu *gpu = peali_gpu_of(backend);
	struct peali_launch *launch;
	int r = check_desc(gpu, desc);

	if (r < 0)
		return r;
	launch = calloc(1, sizeof(*launch));
	if (!launch)
		return peali_fail(PEAL_ENOMEM, "launch",
				  "no memory for a launch");
	launch->gpu = gpu;
	launch->desc = *desc;
	pthread_mutex_lock(&gpu->lock);
	r = need_monitor(gpu);
	if (!r)
		r = prepare(launch);
	if (!r)
		r = desc->recorded ? record(launch) : start(launch);
	if (!r) {
		gpu->n_launches++;
		pthread_cond_signal(&gpu->monitor_wake);
	}
	pthread_mutex_unlock(&gpu->lock);
	if (r < 0)
		discard(launch);
	else
		*out = launch;
	return r;
}

int peali_gpu_launch_again(struct peali_launch *launch)
{
	struct peali_gpu *gpu = launch->gpu;
	struct peali_gpu_device *d = &gpu->device[launch->desc.device];
	int r = 0;

	pthread_mutex_lock(&gpu->lock);
	look(launch);
	if (!launch->recorded)
		r = peali_fail(PEAL_EINVAL, "launch_again",
			       "the launch was not recorded");
	else if (!launch->done)
		r = peali_fail(PEAL_EBUSY, "launch_again",
			       "its last run on %s device %d has not ended",
			       gpu->driver.vendor->name, launch->desc.device);
	else if (d->lost)
		r = peali_gpu_fail(gpu, launch->desc.device, d->lost,
				   d->lost_by, "launch_again",
				   "lost by an earlier kernel");
	if (!r)
		r = start(launch);
	if (!r) {
		launch->done = 0;
		pthread_cond_signal(&gpu->monitor_wake);
	}
	pthread_mutex_unlock(&gpu->lock);
	return r;
}

/*
 * Returns the number of running workers: all or none, as the driver only knows
 * the state of the whole kernel.
 */
static int running(struct peali_launch *launch)
{
	int n;

	pthread_mutex_lock(&launch->gpu->lock);
	look(launch);
	n = launch->done ? 0 : (int)launch->desc.n_workers;
	pthread_mutex_unlock(&launch->gpu->lock);
	return n;
}

int peali_gpu_launch_query(struct peali_launch *launch)
{
	return running(launch);
}

static int how_it_ended(struct peali_launch *launch)
{
	return peali_gpu_fail(launch->gpu, launch->desc.device, launch->error,
			      launch->error_by, "launch_wait",
			      "the kernel of program '%s'",
			      launch->desc.program->name);
}

static int still_run(const struct peali_launch *launch, int code,
		     const char *call)
{
	uint32_t n = launch->desc.n_workers;

	return peali_fail(code, call,
			  "%u of %u worker%s of %s device %d still run", n, n,
			  peali_s(n), launch->gpu->driver.vendor->name,
			  launch->desc.device);
}

int peali_gpu_launch_wait(struct peali_launch *launch, int64_t timeout_ns)
{
	struct timespec nap = { 0, 20000 };
	int64_t began = (int64_t)peali_now_ns();

	while (running(launch)) {
		if (timeout_ns >= 0 &&
		    (int64_t)peali_now_ns() - began >= timeout_ns)
			return still_run(launch, PEAL_ETIMEDOUT, "launch_wait");
		nanosleep(&nap, NULL);
		if (nap.tv_nsec < 1000000)
			nap.tv_nsec *= 2;
	}
	return how_it_ended(launch);
}

int peali_gpu_launch_free(struct peali_launch *launch)
{
	struct peali_gpu *gpu;
	struct peali_gpu_device *d;
	int kept;

	if (!launch)
		return 0;
	gpu = launch->gpu;
	if (running(launch))
		return still_run(launch, PEAL_EBUSY, "launch_free");
	pthread_mutex_lock(&gpu->lock);
	gpu->n_launches--;
	kept = launch->recorded != NULL; /* until no kernel is resident */
	if (kept) {
		d = &gpu->device[launch->desc.device];
		launch->next = d->freed;
		d->freed = launch;
	} else {
		give_stream(launch);
	}
	peali_gpu_managed_sweep(gpu);
	pthread_mutex_unlock(&gpu->lock);
	if (!kept)
		discard(launch);
	return 0;
}
