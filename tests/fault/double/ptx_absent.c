/* SPDX-License-Identifier: Apache-2.0 */
/* Takes the place of the PTX machine where it does not exist. Every choice of
 * the engine `ptx` is refused, so that no other function is called. */
#include <stdio.h>

#include "tests/ptx/machine.h"

int ptx_options_check(const struct ptx_options *options,
		      struct ptx_error *error_out)
{
	(void)options;
	snprintf(error_out->text, sizeof(error_out->text),
		 "the PTX machine needs an x86 processor; unset "
		 "PEAL_DOUBLE_ENGINE");
	return -1;
}

struct ptx_module *ptx_load(const char *text, size_t bytes, const char *name,
			    struct ptx_error *error_out)
{
	(void)text;
	(void)bytes;
	(void)name;
	(void)error_out;
	return NULL;
}

void ptx_memory_track(uint64_t address, uint64_t bytes)
{
	(void)address;
	(void)bytes;
}

void ptx_memory_untrack(uint64_t address, uint64_t bytes)
{
	(void)address;
	(void)bytes;
}

void ptx_memory_copied(uint64_t to, uint64_t from, uint64_t bytes)
{
	(void)to;
	(void)from;
	(void)bytes;
}

void ptx_memory_written(uint64_t address, uint64_t bytes)
{
	(void)address;
	(void)bytes;
}

int ptx_is_of(const struct ptx_module *module, const char *text, size_t bytes)
{
	(void)module;
	(void)text;
	(void)bytes;
	return 0;
}

void ptx_reset(struct ptx_module *module)
{
	(void)module;
}

void ptx_unload(struct ptx_module *module)
{
	(void)module;
}

struct ptx_function *ptx_find(struct ptx_module *module, const char *entry)
{
	(void)module;
	(void)entry;
	return NULL;
}

void ptx_function_info(const struct ptx_function *function,
		       struct ptx_function_info *info_out)
{
	(void)function;
	(void)info_out;
}

const char *ptx_fault_name(enum ptx_fault fault)
{
	(void)fault;
	return "";
}

struct ptx_grid *ptx_grid_create(const struct ptx_launch *launch)
{
	(void)launch;
	return NULL;
}

void ptx_grid_run_block(struct ptx_grid *grid, uint32_t block)
{
	(void)grid;
	(void)block;
}

void ptx_grid_stop(struct ptx_grid *grid)
{
	(void)grid;
}

void ptx_grid_print(const struct ptx_grid *grid, FILE *file)
{
	(void)grid;
	(void)file;
}

void ptx_grid_destroy(struct ptx_grid *grid)
{
	(void)grid;
}
