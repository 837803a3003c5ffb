/* SPDX-License-Identifier: Apache-2.0 */
/* Program files: checks and loads shared objects with one program each. */
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ringkernels/loops.h"
#include "runtime/base/error.h"
#include "runtime/base/file.h"
#include "runtime/base/refusal.h"
#include "runtime/base/text.h"
#include "runtime/device/elf.h"
#include "runtime/device/program.h"
#include "runtime/device/program_digest.h"
#include "runtime/runtime.h"

#define CALL "peal_program_load_file"
#define PREFIX "peal_program_"
#define MOST_BYTES (1u << 30)

#if defined(__x86_64__)
#define MACHINE EM_X86_64
#elif defined(__aarch64__)
#define MACHINE EM_AARCH64
#elif defined(__riscv)
#define MACHINE EM_RISCV
#else
#error "which machine do this processor's ELF files name?"
#endif

/** A shared object with a program of the runtime. */
struct peali_program_file {
	struct peali_program_file *next;
	void *handle;
};

/* Not static, so that the linker keeps the objects of these symbols. */
extern const char *const peali_program_file_loops[];
const char *const peali_program_file_loops[] = {
	&peali_loop_lanes,
	&peali_loop_single,
	&peali_loop_lanes_pools,
	&peali_loop_single_pools,
};

/* ---- checks -------------------------------------------------------------- */

static int is_program(const struct peali_elf_symbol *symbol)
{
	return ELF64_ST_TYPE(symbol->symbol.st_info) == STT_OBJECT &&
	       symbol->symbol.st_shndx != SHN_UNDEF &&
	       !strncmp(symbol->name, PREFIX, strlen(PREFIX));
}

/* Finds the only program that the file exports. */
static int find_program(const struct peali_elf *elf, const char *path,
			struct peali_elf_symbol *out)
{
	struct peali_elf_cursor at = { 0, 0 };
	struct peali_elf_symbol symbol;
	char names[96] = "";
	size_t used = 0;
	int n = 0;

	memset(out, 0, sizeof(*out));
	while (peali_elf_next(elf, SHT_DYNSYM, &at, &symbol)) {
		if (!is_program(&symbol))
			continue;
		if (used < sizeof(names))
			used += (size_t)snprintf(names + used,
						 sizeof(names) - used, "%s%s",
						 n ? ", " : "",
						 symbol.name + strlen(PREFIX));
		*out = symbol;
		n++;
	}
	if (!n)
		return peali_fail(PEAL_EPROGRAM, CALL,
				  "%s: it exports no " PREFIX "...: build it "
				  "by peal_add_program(... MODULE ...)",
				  path);
	if (n > 1)
		return PEALI_REFUSE(
			PEAL_EPROGRAM, CALL, .object = "program file",
			.name = path,
			.problem = PEALI_PRINT("exports %d programs", n),
			.value = names, .allowed = "1 program",
			.remedy = "build a file for each program");
	if (out->symbol.st_size != sizeof(struct peal_program) ||
	    out->bytes < sizeof(struct peal_program))
		return peali_fail(PEAL_EPROGRAM, CALL,
				  "%s: its program was compiled with other "
				  "headers (its struct has %llu bytes, not "
				  "%zu); compile it again",
				  path, (unsigned long long)out->symbol.st_size,
				  sizeof(struct peal_program));
	return 0;
}

static int check_digest(const unsigned char *bytes, size_t n, const char *path)
{
	int digest = peali_digest_check(bytes, n);

	if (digest > 0)
		return 0;
	return peali_fail(
		PEAL_EPROGRAM, CALL,
		digest ? "%s: the file is damaged, or changed since its "
			 "build; build it again" :
			 "%s: the file has no digest at its end; "
			 "it is truncated, stripped, or not built "
			 "by peal_add_program(... MODULE ...)",
		path);
}

/*
 * Checks a file without running any of its code. The caller frees *symbol_out,
 * the symbol of its program.
 */
static int check_file(const char *path, char **symbol_out)
{
	struct peali_elf_symbol symbol;
	struct peali_elf elf;
	int result, error;
	size_t n = 0;
	unsigned char *bytes =
		(unsigned char *)peali_file_read(path, MOST_BYTES, &n);

	if (!bytes) {
		error = errno;
		return peali_fail_driver(error == ENOENT ? PEAL_ENOENT :
					 error == ENOMEM ? PEAL_ENOMEM :
							   PEAL_EIO,
					 error, CALL, "%s cannot be read: %s",
					 path,
					 error == EINVAL ?
						 "it is no regular file" :
						 strerror(error));
	}
	result = peali_elf_open(&elf, bytes, n, MACHINE, path, CALL);
	if (!result && elf.head.e_type != ET_DYN)
		result = peali_fail(PEAL_EPROGRAM, CALL,
				    "%s: the file is no shared object (ELF "
				    "type %u)",
				    path, elf.head.e_type);
	if (!result)
		result = find_program(&elf, path, &symbol);
	if (!result)
		result = check_digest(bytes, n, path);
	if (!result) {
		*symbol_out = strdup(symbol.name);
		if (!*symbol_out)
			result = peali_fail(PEAL_ENOMEM, CALL, "no memory");
	}
	free(bytes);
	return result;
}

/* ---- loading ------------------------------------------------------------- */

static int open_file(const char *path, const char *symbol, void **handle_out,
		     const struct peal_program **program_out)
{
	const struct peal_program *program;
	void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	int result;

	if (!handle)
		return peali_fail(PEAL_EPROGRAM, CALL,
				  "program file cannot be loaded (a program "
				  "that links libpeal.a needs "
				  "ENABLE_EXPORTS): %s",
				  dlerror());
	program = (const struct peal_program *)dlsym(handle, symbol);
	result = program ? peali_program_check(program, CALL) :
			   peali_fail(PEAL_EPROGRAM, CALL,
				      "program file %s: dlsym finds no symbol "
				      "%s",
				      path, symbol);
	if (!result && strcmp(program->name, symbol + strlen(PREFIX)) != 0)
		result = peali_fail(PEAL_EPROGRAM, CALL,
				    "%s: the program of symbol %s has the "
				    "name '%s'",
				    path, symbol, program->name);
	if (result) {
		dlclose(handle);
		return result;
	}
	*handle_out = handle;
	*program_out = program;
	return 0;
}

/*
 * Returns a handle of the loaded shared object that contains the address, or
 * NULL. It is NULL for the executable, which is never unloaded.
 */
static void *handle_of(const void *address, int flags)
{
	struct link_map *map = NULL;
	Dl_info info;

	if (!dladdr1(address, &info, (void **)&map, RTLD_DL_LINKMAP) || !map ||
	    !map->l_name[0])
		return NULL;
	return dlopen(map->l_name, RTLD_LAZY | RTLD_NOLOAD | flags);
}

void peali_library_keep(void)
{
	void *handle = handle_of(peali_program_file_loops, RTLD_NODELETE);

	if (handle)
		dlclose(handle);
}

int peali_program_keep(struct peal_runtime *rt,
		       const struct peal_program *program, const char *call)
{
	void *handle = handle_of(program, 0);
	struct peali_program_file *file;

	if (!handle)
		return 0;
	pthread_mutex_lock(&rt->lock);
	for (file = rt->program_files; file; file = file->next)
		if (file->handle == handle)
			break;
	if (!file) {
		file = (struct peali_program_file *)malloc(sizeof(*file));
		if (file) {
			file->handle = handle;
			file->next = rt->program_files;
			rt->program_files = file;
			handle = NULL;
		}
	}
	pthread_mutex_unlock(&rt->lock);
	if (handle)
		dlclose(handle);
	return file ? 0 :
		      peali_fail(PEAL_ENOMEM, call, "no memory for '%s'",
				 program->name);
}

int peal_program_load_file(struct peal_runtime *rt, const char *path,
			   const struct peal_program **program_out)
{
	const struct peal_program *program = NULL;
	char *full, *symbol = NULL;
	void *handle = NULL;
	int result;

	if (!rt || !path || !program_out)
		return peali_refuse_null(CALL, "runtime, path or program_out");
	if (peali_foreign(&rt->owner, CALL))
		return PEAL_EFORKED;
	/* The loader searches other directories for a name without a slash. */
	full = realpath(path, NULL);
	if (!full)
		return peali_fail_driver(
			errno == ENOENT ? PEAL_ENOENT : PEAL_EIO, errno, CALL,
			"%s cannot be read: %s", path, strerror(errno));
	result = check_file(full, &symbol);
	if (!result)
		result = open_file(full, symbol, &handle, &program);
	if (!result) {
		result = peal_program_add(rt, program); /* keeps the file */
		dlclose(handle);
		if (!result)
			*program_out = program;
	}
	free(symbol);
	free(full);
	return result;
}

void peali_program_files_close(struct peal_runtime *rt)
{
	struct peali_program_file *file;

	while ((file = rt->program_files)) {
		rt->program_files = file->next;
		dlclose(file->handle);
		free(file);
	}
}
