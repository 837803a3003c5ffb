/* SPDX-License-Identifier: Apache-2.0 */
#include "ptx.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "tests/ptx/machine.h"

/*
 * Loads PTX for the machine. A test opens a runtime for each of its cases, and
 * each one loads the same programs. So unloaded modules are kept: a load of
 * their text takes one and resets its variables.
 */

#define N_KEPT 16

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct ptx_module *kept[N_KEPT];
static uint32_t next; /* place of the next module to keep */

static struct ptx_module *take_kept(const char *text, size_t bytes)
{
	struct ptx_module *found = NULL;
	uint32_t i;

	pthread_mutex_lock(&lock);
	for (i = 0; i < N_KEPT && !found; i++) {
		if (!kept[i] || !ptx_is_of(kept[i], text, bytes))
			continue;
		found = kept[i];
		kept[i] = NULL;
	}
	pthread_mutex_unlock(&lock);
	if (found)
		ptx_reset(found);
	return found;
}

void double_ptx_unload(struct ptx_module *module)
{
	struct ptx_module *oldest;

	pthread_mutex_lock(&lock);
	oldest = kept[next];
	kept[next] = module;
	next = (next + 1) % N_KEPT;
	pthread_mutex_unlock(&lock);
	ptx_unload(oldest);
}

int double_ptx_load(struct ptx_module **out, const void *image, size_t bytes)
{
	struct ptx_error error = { 0, "" };

	if (!memcmp(image, "\177ELF", 4)) {
		fprintf(stderr, "PTX machine: the image is machine code, which "
				"the machine does not execute; build the "
				"program for a target compute_NN\n");
		return DOUBLE_NO_BINARY;
	}
	*out = take_kept(image, bytes);
	if (*out)
		return 0;
	*out = ptx_load(image, bytes, "image", &error);
	if (*out)
		return 0;
	fprintf(stderr, "PTX machine: line %u of the PTX: %s\n", error.line,
		error.text);
	return DOUBLE_BAD_PTX;
}
