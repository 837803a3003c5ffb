/* SPDX-License-Identifier: Apache-2.0 */
#include "function.h"

#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Modules of a double and their functions. */

/* ---- symbols of the process ---------------------------------------------- */

/** A search for a symbol in all files of the process. */
struct search {
	const char *name;
	void *found;
};

static int look_into(struct dl_phdr_info *info, size_t bytes, void *argument)
{
	struct search *search = argument;
	void *file = dlopen(info->dlpi_name, RTLD_LAZY | RTLD_NOLOAD);

	(void)bytes;
	if (!file)
		return 0;
	search->found = dlsym(file, search->name);
	dlclose(file);
	return search->found != NULL;
}

void *double_anywhere(const char *name)
{
	struct search search = { name, dlsym(RTLD_DEFAULT, name) };

	if (!search.found)
		dl_iterate_phdr(look_into, &search);
	return search.found;
}

void *double_exported(const char *name)
{
	void *found = double_anywhere(name);

	if (!found)
		double_broken("the executable does not export %s: link it "
			      "with -rdynamic",
			      name);
	return found;
}

/* ---- modules ------------------------------------------------------------- */

struct module {
	const char *image;
	size_t bytes;
	int device;
	struct ptx_module *ptx; /* NULL: host code runs instead */
	struct double_function *functions;
	uint64_t *scale; /* as in struct double_function */
};

/* Returns the bytes of an ELF file, by its section table; 0: wrong machine. */
static size_t elf_bytes(const unsigned char *image)
{
	uint64_t at;
	uint16_t machine, n, size;

	memcpy(&machine, image + 18, 2);
	memcpy(&at, image + 40, 8);
	memcpy(&size, image + 58, 2);
	memcpy(&n, image + 60, 2);
	return machine == double_vendor.machine ? at + (size_t)n * size : 0;
}

/* Returns 1 if PTX text is for this architecture or an older one. */
static int is_for(const char *text, const char *arch)
{
	const char *target = strstr(text, ".target sm_");

	return strstr(text, ".version") && target &&
	       atoi(target + 11) <= atoi(arch + 3);
}

int double_module_load(void **out, const void *image)
{
	const char *text = image;
	struct ptx_module *ptx = NULL;
	struct module *m;
	size_t bytes;
	int error = 0;

	if (double_lost(double_current()))
		return double_lost(double_current());
	if (!memcmp(image, "\177ELF", 4)) {
		bytes = elf_bytes(image);
		if (!bytes)
			return DOUBLE_NO_BINARY;
	} else if (double_vendor.is_cuda && is_for(text, double_arch())) {
		bytes = strlen(text);
	} else {
		return double_vendor.is_cuda ? DOUBLE_BAD_PTX :
					       DOUBLE_BAD_IMAGE;
	}
	if (double_ptx_chosen())
		error = double_ptx_load(&ptx, image, bytes);
	if (error)
		return error;
	m = calloc(1, sizeof(*m));
	if (!m)
		return DOUBLE_NO_MEMORY;
	m->image = image;
	m->bytes = bytes;
	m->ptx = ptx;
	m->device = double_current();
	if (!double_vendor.is_cuda) {
		m->scale = double_scratch(2 * sizeof(uint64_t));
		m->scale[0] = 40; /* as in images for gfx90a */
	}
	*out = m;
	double_count(DOUBLE_MODULE, 1);
	return 0;
}

int double_module_unload(void *module)
{
	struct module *m = module;

	while (m->functions) {
		struct double_function *f = m->functions;

		m->functions = f->next;
		free(f);
	}
	if (m->ptx)
		double_ptx_unload(m->ptx);
	double_scratch_free(m->scale);
	free(m);
	double_count(DOUBLE_MODULE, -1);
	return 0;
}

uint64_t double_module_scale(void *module)
{
	return (uintptr_t)((struct module *)module)->scale;
}

/* Finds the host code that runs in place of the function. */
static void find_host_code(struct double_function *f, const char *name)
{
	void *found = double_exported(name);
	char single[160];

	memcpy(&f->entry, &found, sizeof(found));
	snprintf(single, sizeof(single), "%s_single", name);
	found = double_anywhere(single);
	memcpy(&f->single, &found, sizeof(found));
}

/* Returns the local memory of a lane of an entry, by PEAL_DOUBLE_LOCAL. */
static int local_of(const char *entry)
{
	const char *list = getenv("PEAL_DOUBLE_LOCAL");
	char name[64];
	int bytes, used;

	for (; list && sscanf(list, "%63[^:]:%d%n", name, &bytes, &used) == 2;
	     list += used + (list[used] == ','))
		if (!strncmp(entry, "peal_entry_", 11) &&
		    !strcmp(entry + 11, name))
			return bytes;
	if (list && *list)
		double_refuse("PEAL_DOUBLE_LOCAL",
			      "is no list of programs and bytes (%s); use "
			      "relay:4096",
			      list);
	return 0;
}

int double_module_function(struct double_function **out, void *module,
			   const char *name)
{
	struct module *m = module;
	struct ptx_function *ptx = m->ptx ? ptx_find(m->ptx, name) : NULL;
	struct double_function *f;

	if (m->ptx ? !ptx : !memmem(m->image, m->bytes, name, strlen(name)))
		return DOUBLE_NOT_FOUND;
	f = calloc(1, sizeof(*f));
	if (!f)
		return DOUBLE_NO_MEMORY;
	f->ptx = ptx;
	if (!ptx)
		find_host_code(f, name);
	f->is_probe = !strcmp(name, "peal_entry_peal_probe");
	f->shared_most = DOUBLE_SHARED_PLAIN;
	f->scale = m->scale;
	f->carveout = -1;
	f->local_bytes = ptx ? 0 : local_of(name);
	f->next = m->functions;
	m->functions = f;
	*out = f;
	return 0;
}

int double_function_shared(struct double_function *function, int most)
{
	if (most < 0 ||
	    most + double_function_static(function) > DOUBLE_SHARED_MOST)
		return DOUBLE_INVALID;
	function->shared_most = (unsigned)most;
	return 0;
}

/* ---- what functions need -------------------------------------------------- */

/* Returns the registers of a lane. */
static uint32_t registers_of(const struct double_function *function)
{
	struct ptx_function_info info;

	if (!function->ptx)
		return double_lane_registers();
	ptx_function_info(function->ptx, &info);
	return info.registers;
}

/*
 * Returns the division of shared memory that a driver chooses, in KiB. It has
 * space for all blocks of a multiprocessor, and for the wish.
 */
static uint32_t carveout_of(const struct double_function *function,
			    const struct double_need *need)
{
	static const uint32_t sizes[] = { 8, 16, 32, 64, 100, 132, 164, 196 };
	const uint32_t most = DOUBLE_SHARED_UNIT >> 10;
	uint32_t kib = need->shared_bytes * double_unit_blocks(need) >> 10;
	size_t i;

	if (function->carveout >= 0 &&
	    kib < most * (uint32_t)function->carveout / 100)
		kib = most * (uint32_t)function->carveout / 100;
	for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
		if (kib <= sizes[i])
			return sizes[i];
	return most;
}

struct double_need double_need_of(const struct double_function *function,
				  uint32_t threads, size_t shared_bytes)
{
	struct double_need need = { threads, 0, 0, 0 };

	need.registers = double_registers(registers_of(function), threads);
	need.shared_bytes = (uint32_t)double_function_static(function);
	need.shared_bytes += (uint32_t)shared_bytes + DOUBLE_SHARED_DRIVER;
	if (double_vendor.is_cuda)
		need.carveout = carveout_of(function, &need);
	return need;
}

int double_occupancy(int *blocks, const struct double_function *function,
		     int threads, size_t shared_bytes)
{
	struct double_need need;

	if (threads < 1 || threads > 1024)
		return DOUBLE_INVALID;
	need = double_need_of(function, (uint32_t)threads, shared_bytes);
	*blocks = (int)double_unit_blocks(&need);
	return 0;
}

int double_function_lanes(const struct double_function *function)
{
	struct ptx_function_info info;
	uint32_t lanes = double_max_lanes();

	if (function->ptx) {
		ptx_function_info(function->ptx, &info);
		lanes = info.max_threads < lanes ? info.max_threads : lanes;
	}
	while (lanes > 32 && double_registers(registers_of(function), lanes) >
				     DOUBLE_REGISTERS)
		lanes -= 32;
	return (int)lanes;
}

int double_function_local(const struct double_function *function)
{
	return function->local_bytes;
}

int double_function_carveout(struct double_function *function, int percent)
{
	if (percent < -1 || percent > 100)
		return DOUBLE_INVALID;
	function->carveout = percent;
	return 0;
}

int double_function_static(const struct double_function *function)
{
	struct ptx_function_info info;

	if (!function->ptx)
		return DOUBLE_SHARED_OWN;
	ptx_function_info(function->ptx, &info);
	return (int)info.static_shared_bytes;
}
