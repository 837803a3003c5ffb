/* SPDX-License-Identifier: Apache-2.0 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/log.h"
#include "runtime/base/owner.h"
#include "runtime/device/gpu/gpu.h"

/*
 * The environment variables that a driver reads once. They are set before the
 * driver is loaded, unless the user has set them. A driver in use has read them
 * already.
 */

#define NOT_INITIALISED 3 /* error of CUDA before its initialisation */
#define VENDORS 2

/** A vendor with its variables settled, until the process ends. */
struct settled {
	const struct peali_gpu_vendor *vendor;
	int queues;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct settled settled[VENDORS];

/* Returns 1 if the process has made the driver read its variables. */
static int is_late(const struct peali_gpu_vendor *vendor)
{
	void *library =
		dlopen(vendor->library, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
	int (*count)(int *) = NULL;
	int n = 0, late = library != NULL;

	if (library && vendor->count_symbol)
		*(void **)(void *)&count = dlsym(library, vendor->count_symbol);
	if (count)
		late = count(&n) != NOT_INITIALISED;
	if (library)
		dlclose(library);
	return late;
}

static void set_all(const struct peali_gpu_vendor *vendor)
{
	int i;

	for (i = 0; vendor->settings[i][0]; i++)
		setenv(vendor->settings[i][0], vendor->settings[i][1], 0);
}

/* Logs the variables that come too late. */
static void log_late(const struct peali_gpu_vendor *vendor)
{
	char list[160] = "";
	size_t used = 0;
	int i;

	for (i = 0; vendor->settings[i][0]; i++)
		if (!getenv(vendor->settings[i][0]) && used < sizeof(list))
			used += (size_t)snprintf(list + used,
						 sizeof(list) - used, " %s=%s",
						 vendor->settings[i][0],
						 vendor->settings[i][1]);
	if (used)
		peali_log(1,
			  "%s: the process used %s before the runtime opened, "
			  "so these variables are not set:%s; set them before "
			  "the process starts, or open the runtime first",
			  vendor->name, vendor->library, list);
}

/* Returns the number of hardware queues that a driver offers. */
static int count_queues(const struct peali_gpu_vendor *vendor)
{
	const char *said = getenv(vendor->queues_variable);
	int queues = said ? atoi(said) : 0;

	return queues > 0 ? queues : vendor->queues;
}

int peali_gpu_variables(const struct peali_gpu_vendor *vendor)
{
	struct settled *s = settled;
	int queues;

	peali_static_lock(&lock);
	while (s->vendor && s->vendor != vendor)
		s++;
	if (!s->vendor) {
		if (is_late(vendor))
			log_late(vendor);
		else
			set_all(vendor);
		s->queues = count_queues(vendor);
		s->vendor = vendor;
	}
	queues = s->queues;
	pthread_mutex_unlock(&lock);
	return queues;
}
