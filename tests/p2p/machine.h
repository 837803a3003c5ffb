/* SPDX-License-Identifier: Apache-2.0 */
#ifndef P2P_MACHINE_H
#define P2P_MACHINE_H

#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <peal/memory.h>
#include <peal/peer.h>
#include <peal/runtime.h>

#include "peal_test.h"

/*
 * Helpers of this folder's tests: an emulated machine, a private cache folder,
 * and memory that is filled and compared.
 */

#define HOST PEAL_HOST_MEMORY

static char cache_folder[] = "/tmp/peal-test-XXXXXX";

static inline void machine_forget(void)
{
	char path[512];
	struct dirent *entry;
	DIR *folder = opendir(cache_folder);

	while (folder && (entry = readdir(folder))) {
		snprintf(path, sizeof(path), "%s/%s", cache_folder,
			 entry->d_name);
		unlink(path);
	}
	if (folder)
		closedir(folder);
}

static inline void machine_end(void)
{
	machine_forget();
	rmdir(cache_folder);
}

/* Sets up the environment. Call it once, first. */
static inline void machine_begin(void)
{
	if (!mkdtemp(cache_folder))
		abort();
	atexit(machine_end);
	setenv("PEAL_CACHE_DIR", cache_folder, 1);
	setenv("PEAL_HOST_MEMORY", "1G", 1);
	unsetenv("PEAL_PROBE");
	unsetenv("PEAL_HOST_LINKS");
	unsetenv("PEAL_HOST_DEVICES");
}

static inline struct peal_runtime *machine_open(const char *devices,
						const char *links)
{
	struct peal_runtime *runtime;

	test_set_machine(devices, links);
	CHECK_OK(peal_runtime_open(NULL, &runtime));
	return runtime;
}

/* Returns 1 for a link with atomics, by the name of either vendor. */
static inline int machine_is_link(const char *kind)
{
	return !strcmp(kind, "nvlink") || !strcmp(kind, "xgmi");
}

static inline uint64_t machine_alloc(struct peal_runtime *runtime, int device,
				     uint64_t bytes)
{
	uint64_t address;

	CHECK_OK(peal_memory_alloc(runtime, device, bytes, &address));
	return address;
}

/* Checks the call and a part of the text of the latest error. */
static inline void check_error(const char *call, const char *part)
{
	CHECK_CONTAINS(peal_last_error()->call, call);
	CHECK_CONTAINS(peal_last_error()->text, part);
}

static inline void fill_bytes(uint8_t *p, uint64_t n, unsigned long long seed)
{
	uint64_t i;

	for (i = 0; i < n; i++)
		p[i] = (uint8_t)(test_random(&seed) >> 32);
}

/* Writes the bytes of a seed to a device's memory, through the host. */
static inline void machine_fill(struct peal_runtime *runtime, int device,
				uint64_t address, uint64_t n,
				unsigned long long seed)
{
	uint8_t *p = malloc(n);

	CHECK(p);
	fill_bytes(p, n, seed);
	CHECK_OK(peal_peer_copy(runtime, device, address, HOST, (uintptr_t)p,
				n));
	free(p);
}

/* Returns 1 if the memory holds the bytes of a seed. */
static inline int machine_holds(struct peal_runtime *runtime, int device,
				uint64_t address, uint64_t n,
				unsigned long long seed)
{
	uint8_t *p = malloc(n), *wanted = malloc(n);
	int same;

	CHECK(p && wanted);
	fill_bytes(wanted, n, seed);
	CHECK_OK(peal_peer_copy(runtime, HOST, (uintptr_t)p, device, address,
				n));
	same = !memcmp(p, wanted, n);
	free(wanted);
	free(p);
	return same;
}

#endif
