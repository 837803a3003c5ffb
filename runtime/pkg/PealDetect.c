/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prints the compute capability of each GPU that NVIDIA's driver sees, as
 * sm_NN, one per line. PealTargets.cmake runs it. Valid C and C++.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#define MAJOR 75 /* CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR */
#define MINOR 76

typedef int (*init_fn)(unsigned int);
typedef int (*count_fn)(int *);
typedef int (*get_fn)(int *, int);
typedef int (*attribute_fn)(int *, int, int);

/* Stores a symbol in a function pointer. C has no cast for this. */
static int find(void *library, const char *name, void *function)
{
	void *symbol = dlsym(library, name);

	memcpy(function, &symbol, sizeof(symbol));
	return symbol != NULL;
}

int main(void)
{
	void *library = dlopen("libcuda.so.1", RTLD_NOW);
	int n = 0, i, device, major, minor;
	attribute_fn attribute;
	count_fn count;
	init_fn init;
	get_fn get;

	if (!library || !find(library, "cuInit", &init) ||
	    !find(library, "cuDeviceGetCount", &count) ||
	    !find(library, "cuDeviceGet", &get) ||
	    !find(library, "cuDeviceGetAttribute", &attribute))
		return 0;
	if (init(0) || count(&n))
		return 0;
	for (i = 0; i < n; i++)
		if (!get(&device, i) && !attribute(&major, MAJOR, device) &&
		    !attribute(&minor, MINOR, device))
			printf("sm_%d%d\n", major, minor);
	return 0;
}
