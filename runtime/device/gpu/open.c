/* SPDX-License-Identifier: Apache-2.0 */

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/env.h"
#include "runtime/base/error.h"
#include "runtime/base/owner.h"
#include "runtime/base/refusal.h"
#include "runtime/base/text.h"
#include "runtime/base/wait.h"
#include "runtime/device/gpu/gpu.h"

/* Opens and closes a GPU backend: the driver, its devices and their streams. */

#define CALL "open"
#define NON_BLOCKING 1 /* flag of stream_create for CUDA and HIP */

int peali_gpu_check(const struct peali_gpu *gpu, int device, const char *call)
{
	if (device >= 0 && device < gpu->n_devices)
		return 0;
	return PEALI_REFUSE(
		PEAL_ENODEV, call,
		.object = PEALI_PRINT("%s device %d", gpu->driver.vendor->name,
				      device),
		.problem = "does not exist", .value = PEALI_PRINT("%d", device),
		.allowed = PEALI_PRINT("0..%d", gpu->n_devices - 1),
		.remedy = "use device 0");
}

int peali_gpu_enter(struct peali_gpu *gpu, int device, const char *call,
		    void **before)
{
	const struct peali_gpu_device *d = &gpu->device[device];
	const char *symbol = NULL;
	int error = gpu->driver.enter(&gpu->driver, d->handle, d->state, before,
				      &symbol);

	return peali_gpu_fail(gpu, device, error, symbol, call,
			      "the device cannot be used");
}

void peali_gpu_leave(struct peali_gpu *gpu, void *before)
{
	gpu->driver.leave(&gpu->driver, before);
}

/* ---- the driver ---------------------------------------------------------- */

/* Returns 1 for a driver double of the tests that runs host code. */
static int is_emulation(void *library)
{
	int (*emulates)(void);

	*(void **)(void *)&emulates =
		dlsym(library, "peal_driver_double_emulates");
	return emulates && emulates();
}

/*
 * Loads the driver. It stays loaded until the process ends, as drivers do not
 * support unloading.
 */
static int load_driver(const struct peali_gpu_vendor *vendor,
		       struct peali_gpu_driver *driver, char *reason,
		       size_t reason_bytes)
{
	const char *why;

	memset(driver, 0, sizeof(*driver));
	driver->vendor = vendor;
	driver->queues = peali_gpu_variables(vendor);
	driver->library = dlopen(vendor->library, RTLD_NOW | RTLD_LOCAL);
	if (!driver->library) {
		why = dlerror();
		peali_text_format(reason, reason_bytes, "no driver: %s",
				  why ? why : vendor->library);
		return PEAL_ENOTSUP;
	}
	driver->emulates = is_emulation(driver->library);
	return vendor->load(driver, reason, reason_bytes);
}

static int init_driver(struct peali_gpu_driver *driver, int *count_out,
		       char *reason, size_t reason_bytes)
{
	const char *symbol = PEALI_GPU_SYMBOL_OF(driver, init);
	int error = driver->init(0);

	if (!error) {
		symbol = PEALI_GPU_SYMBOL_OF(driver, device_count);
		error = driver->device_count(count_out);
	}
	if (error) {
		peali_text_format(reason, reason_bytes,
				  "%s: %s returns %s (%d)%s",
				  driver->vendor->library, symbol,
				  peali_gpu_error_name(driver, error), error,
				  error == 34 ?
					  ": the toolkit's stub, not a driver" :
					  "");
		return peali_gpu_code(error);
	}
	if (*count_out < 1) {
		snprintf(reason, reason_bytes, "%s finds no device",
			 driver->vendor->library);
		return PEAL_ENODEV;
	}
	return 0;
}

/*
 * A process has at most one backend per vendor. Two backends would share the
 * hardware queues of each device. So opening or closing one backend could wait
 * for ever for a kernel of the other.
 */
static pthread_mutex_t claim_lock = PTHREAD_MUTEX_INITIALIZER;
static const struct peali_gpu_vendor *claimed[2];
static struct peali_owner claimant; /* the process with the claims */

static int is_claimed(const struct peali_gpu_vendor *vendor)
{
	int found;

	peali_static_lock(&claim_lock);
	found = claimed[0] == vendor || claimed[1] == vendor;
	pthread_mutex_unlock(&claim_lock);
	return found;
}

static int claim(const struct peali_gpu_vendor *vendor)
{
	int i, r = 0, place = -1;

	peali_static_lock(&claim_lock);
	for (i = 0; i < 2; i++) {
		if (claimed[i] == vendor)
			r = PEAL_EBUSY;
		else if (!claimed[i])
			place = i;
	}
	if (!r && place >= 0) {
		claimed[place] = vendor;
		claimant = peali_owner_self();
	} else if (peali_foreign(&claimant, CALL)) {
		r = PEAL_EFORKED; /* no driver works after a fork */
	}
	pthread_mutex_unlock(&claim_lock);
	if (r == PEAL_EFORKED)
		return peali_fail(r, CALL,
				  "process %d uses the %s devices, and its "
				  "child cannot; exclude them "
				  "(PEAL_BACKENDS=host), or run another "
				  "program by exec",
				  (int)claimant.pid, vendor->name);
	if (r < 0)
		return peali_fail(r, CALL,
				  "another runtime of this process uses the "
				  "%s devices; use or close that runtime, or "
				  "exclude the devices (PEAL_BACKENDS)",
				  vendor->name);
	return 0;
}

static void give_up_claim(const struct peali_gpu_vendor *vendor)
{
	int i;

	peali_static_lock(&claim_lock);
	for (i = 0; i < 2; i++)
		if (claimed[i] == vendor)
			claimed[i] = NULL;
	pthread_mutex_unlock(&claim_lock);
}

int peali_gpu_probe(const struct peali_gpu_vendor *vendor, char *reason,
		    size_t reason_bytes)
{
	struct peali_gpu_driver driver;
	int count = 0, r;

	/* the open backend uses the driver; claim() refuses a second open */
	if (is_claimed(vendor))
		return 0;
	r = load_driver(vendor, &driver, reason, reason_bytes);
	return r < 0 ? r : init_driver(&driver, &count, reason, reason_bytes);
}

/* ---- one device ---------------------------------------------------------- */

int peali_gpu_attribute(struct peali_gpu *gpu, int device, int which)
{
	int number = gpu->driver.vendor->attribute[which], value = 0;

	if (number < 0 || gpu->driver.device_attribute(
				  &value, number, gpu->device[device].handle))
		return 0;
	return value;
}

/* Reads an attribute that the backend requires to be known and positive. */
static int must_know(struct peali_gpu *gpu, int device, int which,
		     const char *what, uint32_t *out)
{
	int id = gpu->driver.vendor->attribute[which], value = 0;
	int error = gpu->driver.device_attribute(&value, id,
						 gpu->device[device].handle);

	*out = (uint32_t)value;
	if (!error && value < 1)
		return peali_fail(PEAL_EDRIVER, CALL,
				  "%s device %d: %s: %s returns %d",
				  gpu->driver.vendor->name, device, what,
				  PEALI_GPU_SYMBOL(gpu, device_attribute),
				  value);
	return peali_gpu_fail(gpu, device, error,
			      PEALI_GPU_SYMBOL(gpu, device_attribute), CALL,
			      "%s", what);
}

/*
 * Sets d->uuid to "GPU-0123...", or to the PCI address if the driver has no
 * UUID. Without both it stays empty, and no probe result is cached for the
 * device.
 */
static void name_uuid(struct peali_gpu *gpu, struct peali_gpu_device *d)
{
	uint8_t id[16];
	size_t used;
	int i;

	if (gpu->driver.device_pci &&
	    gpu->driver.device_pci(d->pci, sizeof(d->pci), d->handle))
		d->pci[0] = 0;
	memset(id, 0, sizeof(id));
	if (!gpu->driver.device_uuid ||
	    gpu->driver.device_uuid(id, d->handle)) {
		snprintf(d->uuid, sizeof(d->uuid), "%s%s",
			 d->pci[0] ? "PCI-" : "", d->pci);
	} else {
		used = (size_t)snprintf(d->uuid, sizeof(d->uuid), "GPU-");
		for (i = 0; i < 16; i++)
			used += (size_t)snprintf(d->uuid + used,
						 sizeof(d->uuid) - used, "%02x",
						 id[i]);
	}
	if (d->parts > 1 && d->uuid[0]) /* each part is probed separately */
		snprintf(d->uuid + strlen(d->uuid),
			 sizeof(d->uuid) - strlen(d->uuid), "p%d", d->part);
}

static int describe(struct peali_gpu *gpu, int device)
{
	struct peali_gpu_device *d = &gpu->device[device];
	const char *symbol = PEALI_GPU_SYMBOL(gpu, device_get);
	char name[48] = "";
	int r, error = gpu->driver.device_get(&d->handle, d->ordinal);

	if (!error) {
		symbol = PEALI_GPU_SYMBOL(gpu, device_name);
		error = gpu->driver.device_name(name, sizeof(name), d->handle);
	}
	if (!error) {
		error = gpu->driver.architecture(&gpu->driver, d->handle,
						 d->architecture,
						 sizeof(d->architecture),
						 &symbol);
	}
	if (error)
		return peali_gpu_fail(gpu, device, error, symbol, CALL,
				      "device properties");
	if (d->parts > 1)
		snprintf(d->name, sizeof(d->name), "%s (part %d of %d)",
			 PEALI_CUT(31, name), d->part, d->parts);
	else
		peali_text_fit(d->name, sizeof(d->name), name);
	name_uuid(gpu, d);
	d->cooperative =
		peali_gpu_attribute(gpu, device, PEALI_GPU_COOPERATIVE);
	d->maps_host = peali_gpu_attribute(gpu, device, PEALI_GPU_MAPS_HOST);
	d->manages =
		peali_gpu_has_managed(gpu) &&
		peali_gpu_attribute(gpu, device, PEALI_GPU_CONCURRENT_MANAGED);
	d->host_atomics =
		peali_gpu_attribute(gpu, device, PEALI_GPU_HOST_ATOMICS);
	d->max_cluster_workers = peali_gpu_clusters_max(gpu, device);
	r = must_know(gpu, device, PEALI_GPU_MULTIPROCESSORS,
		      "its multiprocessors", &d->units);
	if (!r)
		r = must_know(gpu, device, PEALI_GPU_MAX_THREADS,
			      "threads of a block", &d->max_lanes);
	return r;
}

/* Opens a device. All parts of a device share the state of part 0. */
static int take(struct peali_gpu *gpu, int device)
{
	struct peali_gpu_device *d = &gpu->device[device];
	const char *symbol = NULL;
	int error;

	if (d->part) {
		d->state = gpu->device[device - d->part].state;
		return 0;
	}
	error = gpu->driver.device_open(&gpu->driver, d->handle, &d->state,
					&symbol);
	return peali_gpu_fail(gpu, device, error, symbol, CALL,
			      "the device cannot be opened; exclude it with "
			      "CUDA_VISIBLE_DEVICES or HIP_VISIBLE_DEVICES");
}

/* ---- streams ------------------------------------------------------------- */

/*
 * Gives each part its own multiprocessors. Returns the driver's error; 801: the
 * driver cannot partition the device.
 */
static int open_parts(struct peali_gpu *gpu, int device)
{
	struct peali_gpu_device *d = &gpu->device[device];
	void *stream[PEALI_GPU_PARTS_MAX * PEALI_GPU_STREAMS] = { NULL };
	void *green[PEALI_GPU_PARTS_MAX] = { NULL };
	uint32_t units[PEALI_GPU_PARTS_MAX] = { 0 };
	int i, s, error;

	if (!gpu->driver.partition)
		return 801;
	error = gpu->driver.partition(&gpu->driver, d->handle, d->parts,
				      d->n_streams, stream, green, units);
	for (i = 0; i < d->parts; i++) {
		d[i].green = green[i];
		d[i].units = units[i];
		for (s = 0; s < d->n_streams; s++)
			d[i].stream[s] = stream[i * d->n_streams + s];
	}
	return error;
}

static void close_streams(struct peali_gpu *gpu, int device)
{
	struct peali_gpu_device *d = &gpu->device[device];
	int s;

	for (s = 0; s < d->n_streams; s++) {
		if (d->stream[s])
			gpu->driver.stream_destroy(d->stream[s]);
		d->stream[s] = NULL;
	}
	if (d->green)
		gpu->driver.part_destroy(d->green);
	d->green = NULL;
}

static int create_streams(struct peali_gpu *gpu, struct peali_gpu_device *d)
{
	int s, error = 0;

	for (s = 0; !error && s < d->n_streams; s++)
		if (!d->stream[s])
			error = gpu->driver.stream_create(&d->stream[s],
							  NON_BLOCKING);
	return error;
}

/*
 * Divides the multiprocessors into budgets: the parts share them without
 * isolation.
 */
static void make_budgets(struct peali_gpu *gpu, int device, uint32_t units)
{
	struct peali_gpu_device *d = &gpu->device[device];
	int i;

	for (i = 0; i < d->parts; i++) {
		close_streams(gpu, device + i);
		d[i].units = units / (uint32_t)d->parts;
	}
}

int peali_gpu_share_units(struct peali_gpu *gpu, int device)
{
	int first = device - gpu->device[device].part, i, error = 0;
	struct peali_gpu_device *d = &gpu->device[first];
	uint32_t units = 0;

	for (i = 0; i < d->parts; i++)
		units += d[i].units;
	make_budgets(gpu, first, units);
	for (i = 0; !error && i < d->parts; i++)
		error = create_streams(gpu, &d[i]);
	return error;
}

static int open_streams(struct peali_gpu *gpu, int device)
{
	struct peali_gpu_device *d = &gpu->device[device];
	void *before = NULL;
	uint32_t units = d->units;
	int error, r = peali_gpu_enter(gpu, device, CALL, &before);

	if (r < 0)
		return r;
	if (d->parts > 1 && d->part == 0 && open_parts(gpu, device))
		make_budgets(gpu, device, units);
	error = create_streams(gpu, d);
	if (d->part)
		d->copy_stream = gpu->device[device - d->part].copy_stream;
	else if (!error)
		error = gpu->driver.stream_create(&d->copy_stream,
						  NON_BLOCKING);
	peali_gpu_leave(gpu, before);
	return peali_gpu_fail(gpu, device, error,
			      PEALI_GPU_SYMBOL(gpu, stream_create), CALL,
			      "device streams");
}

/* ---- open and close ------------------------------------------------------ */

static void close_device(struct peali_gpu *gpu, int device)
{
	struct peali_gpu_device *d = &gpu->device[device];
	void *before = NULL;

	pthread_mutex_destroy(&d->copy_lock);
	peali_gpu_units_close(d);
	if (!d->max_lanes || peali_gpu_enter(gpu, device, "close", &before))
		return;
	close_streams(gpu, device);
	if (d->copy_stream && !d->part)
		gpu->driver.stream_destroy(d->copy_stream);
	peali_gpu_leave(gpu, before);
}

/* Undoes a complete or partial open. */
static void take_down(struct peali_gpu *gpu)
{
	int i;

	for (i = 0; gpu->device && i < gpu->n_devices; i++)
		peali_gpu_records_close(gpu, i);
	for (i = 0; gpu->device && i < gpu->n_devices; i++)
		peali_gpu_programs_close(gpu, i);
	if (gpu->device)
		peali_gpu_heaps_close(gpu);
	for (i = 0; gpu->device && i < gpu->n_devices; i++)
		close_device(gpu, i);
	for (i = 0; gpu->device && i < gpu->n_devices; i++)
		if (!gpu->device[i].part && gpu->device[i].max_lanes)
			gpu->driver.device_close(&gpu->driver,
						 gpu->device[i].handle,
						 gpu->device[i].state);
	pthread_cond_destroy(&gpu->monitor_wake);
	pthread_mutex_destroy(&gpu->lock);
	free(gpu->pair);
	free(gpu->device);
	free(gpu);
}

static int open_device(struct peali_gpu *gpu, int device)
{
	int r = describe(gpu, device);

	if (!r)
		r = peali_gpu_units_open(&gpu->device[device]);
	if (!r)
		r = take(gpu, device);
	if (r < 0) /* close_device then skips it */
		gpu->device[device].max_lanes = 0;
	return r;
}

/*
 * Returns the number of kernel streams per part. Each stream needs a hardware
 * queue. One more queue is for copies, and on CUDA one for the default stream,
 * which always exists. PEAL_EINVAL: there are more parts than queues.
 */
static int streams_of(const struct peali_gpu_driver *driver, int parts)
{
	const struct peali_gpu_vendor *vendor = driver->vendor;
	int queues = driver->queues;
	int others = vendor->queues > 4 ? 2 : 1;
	int streams = (queues - others) / parts;

	if (streams < 1)
		return PEALI_REFUSE(
			PEAL_EINVAL, CALL, .object = "variable",
			.name = "PEAL_GPU_SPLIT",
			.problem = PEALI_PRINT(
				"needs more hardware queues than the "
				"%d of a %s device",
				queues, vendor->name),
			.value = PEALI_PRINT("%d", parts),
			.allowed = PEALI_PRINT("1..%d", queues - others),
			.remedy = PEALI_PRINT("set it lower, or %s higher",
					      vendor->queues_variable));
	return streams < PEALI_GPU_STREAMS ? streams : PEALI_GPU_STREAMS;
}

static int open_devices(struct peali_gpu *gpu, int count, int parts)
{
	size_t n = (size_t)count * (size_t)parts;
	int streams = streams_of(&gpu->driver, parts);
	int i, r = 0;

	if (streams < 0)
		return streams;
	gpu->device = calloc(n, sizeof(*gpu->device));
	gpu->pair = calloc(n * n, sizeof(*gpu->pair));
	if (!gpu->device || !gpu->pair)
		return peali_fail(PEAL_ENOMEM, CALL,
				  "no memory for %zu devices", n);
	gpu->n_devices = (int)n;
	for (i = 0; i < gpu->n_devices; i++) {
		gpu->device[i].ordinal = i / parts;
		gpu->device[i].part = i % parts;
		gpu->device[i].parts = parts;
		gpu->device[i].n_streams = streams;
		pthread_mutex_init(&gpu->device[i].copy_lock, NULL);
	}
	for (i = 0; !r && i < gpu->n_devices; i++)
		r = open_device(gpu, i);
	if (!r)
		r = peali_gpu_peers_open(gpu);
	for (i = 0; !r && i < gpu->n_devices; i++)
		r = open_streams(gpu, i);
	if (!r)
		r = peali_gpu_heaps_open(gpu);
	return r;
}

static int set_up(struct peali_gpu *gpu, const struct peali_gpu_vendor *vendor)
{
	char reason[200] = "";
	uint64_t parts;
	int count = 0;
	int r = peali_env_number(PEALI_ENV_GPU_SPLIT, &parts);

	if (r < 0)
		return r;
	r = load_driver(vendor, &gpu->driver, reason, sizeof(reason));
	if (!r)
		r = init_driver(&gpu->driver, &count, reason, sizeof(reason));
	if (r < 0)
		return peali_fail(r, CALL, "%s: %s", vendor->name, reason);
	return open_devices(gpu, count, (int)parts);
}

int peali_gpu_open(const struct peali_gpu_vendor *vendor,
		   const struct peali_backend_ops *ops,
		   struct peali_backend **out)
{
	struct peali_gpu *gpu;
	int r = claim(vendor);

	if (r < 0)
		return r;
	gpu = calloc(1, sizeof(*gpu));
	if (!gpu) {
		give_up_claim(vendor);
		return peali_fail(PEAL_ENOMEM, CALL,
				  "no memory for the backend");
	}
	gpu->base.ops = ops;
	pthread_mutex_init(&gpu->lock, NULL);
	peali_cond_init(&gpu->monitor_wake);
	r = set_up(gpu, vendor);
	if (r < 0) {
		take_down(gpu);
		give_up_claim(vendor);
		return r;
	}
	*out = &gpu->base;
	return 0;
}

int peali_gpu_close(struct peali_backend *backend)
{
	struct peali_gpu *gpu = peali_gpu_of(backend);
	const struct peali_gpu_vendor *vendor = gpu->driver.vendor;
	int n;

	pthread_mutex_lock(&gpu->lock);
	n = gpu->n_launches;
	pthread_mutex_unlock(&gpu->lock);
	if (n)
		return peali_fail(PEAL_EBUSY, "close",
				  "%s: %d launches are not freed",
				  gpu->driver.vendor->name, n);
	peali_gpu_monitor_stop(gpu);
	take_down(gpu);
	give_up_claim(vendor);
	return 0;
}
