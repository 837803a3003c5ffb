/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/device/rtc_library.h"

#include <ctype.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <peal/abi/program.h>
#include "runtime/base/error.h"
#include "runtime/base/log.h"

/*
 * The functions that NVRTC and hipRTC share under different names. In both,
 * error codes start at 0, which is success. Both return texts with a final
 * zero.
 */
#define FUNCTIONS(X)                                                           \
	X(version, "Version", (int *, int *))                                  \
	X(create, "CreateProgram",                                             \
	  (void **, const char *, const char *, int, const char *const *,      \
	   const char *const *))                                               \
	X(compile, "CompileProgram", (void *, int, const char *const *))       \
	X(destroy, "DestroyProgram", (void **))                                \
	X(log_size, "GetProgramLogSize", (void *, size_t *))                   \
	X(log, "GetProgramLog", (void *, char *))

struct peali_rtc_library {
	const char *kind, *prefix;
	/* functions that return PTX or a code object */
	const char *code_size_suffix, *code_suffix;
	const char *files[8]; /* in the order of the search; NULL ends */
	const char *hint;
	void *handle; /* NULL: not loaded */
	char name[32];
#define MEMBER(name, suffix, arguments) int(*name) arguments;
	FUNCTIONS(MEMBER)
#undef MEMBER
	int (*code_size)(void *, size_t *);
	int (*code)(void *, char *);
	/* NULL: the library makes no cubins */
	int (*cubin_size)(void *, size_t *);
	int (*cubin)(void *, char *);
};

static struct peali_rtc_library nvrtc = {
	.kind = "NVRTC",
	.prefix = "nvrtc",
	.code_size_suffix = "GetPTXSize",
	.code_suffix = "GetPTX",
	.files = { "libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2",
		   "libnvrtc.so", "/usr/local/cuda/lib64/libnvrtc.so" },
	.hint = "install CUDA's NVRTC",
};

static struct peali_rtc_library hiprtc = {
	.kind = "hipRTC",
	.prefix = "hiprtc",
	.code_size_suffix = "GetCodeSize",
	.code_suffix = "GetCode",
	.files = { "libhiprtc.so", "libhiprtc.so.7", "libhiprtc.so.6",
		   "libhiprtc.so.5", "/opt/rocm/lib/libhiprtc.so" },
	.hint = "install ROCm's hipRTC",
};

/* ---- loading ------------------------------------------------------------- */

/* Returns a function of the library, or NULL if it is missing. */
static void *function(const struct peali_rtc_library *library, void *handle,
		      const char *suffix)
{
	char name[64];

	snprintf(name, sizeof(name), "%s%s", library->prefix, suffix);
	return dlsym(handle, name);
}

/* Loads all functions. Returns NULL, or the suffix of a missing function. */
static const char *bind(struct peali_rtc_library *library, void *handle)
{
	/* POSIX guarantees that a function's address fits a void *. */
#define BIND(member, suffix)                                                   \
	(*(void **)(void *)&library->member = function(library, handle, suffix))
#define BIND_ONE(name, suffix, arguments)                                      \
	if (!BIND(name, suffix))                                               \
		return suffix;
	FUNCTIONS(BIND_ONE)
#undef BIND_ONE
	if (!BIND(code_size, library->code_size_suffix))
		return library->code_size_suffix;
	if (!BIND(code, library->code_suffix))
		return library->code_suffix;
	/* These two exist since CUDA 11.2. */
	if (!BIND(cubin_size, "GetCUBINSize") || !BIND(cubin, "GetCUBIN"))
		library->cubin_size = NULL;
#undef BIND
	return NULL;
}

static int load(struct peali_rtc_library *library, const char *target,
		const char *what, const char *call)
{
	char looked[120] = "";
	int major = 0, minor = 0, i;
	const char *missing;
	void *handle = NULL;
	size_t used = 0;

	for (i = 0; library->files[i] && !handle; i++) {
		handle = dlopen(library->files[i], RTLD_NOW | RTLD_LOCAL);
		if (used < sizeof(looked))
			used += (size_t)snprintf(looked + used,
						 sizeof(looked) - used, "%s%s",
						 i ? ", " : "",
						 library->files[i]);
	}
	if (!handle)
		return peali_fail(PEAL_EPROGRAM, call,
				  "%s cannot be compiled for %s: %s, or "
				  "build the program for this target; not "
				  "found: %s",
				  what, target, library->hint, looked);
	missing = bind(library, handle);
	if (missing) {
		dlclose(handle);
		return peali_fail(PEAL_EPROGRAM, call,
				  "%s cannot be compiled for %s: %s "
				  "has no function %s%s",
				  what, target, library->files[i - 1],
				  library->prefix, missing);
	}
	library->version(&major, &minor);
	snprintf(library->name, sizeof(library->name), "%s %d.%d",
		 library->kind, major, minor);
	library->handle = handle;
	peali_log(2, "%s is %s", library->files[i - 1], library->name);
	return 0;
}

int peali_rtc_library_open(const char *target,
			   const struct peali_rtc_library **out,
			   const char *what, const char *call)
{
	struct peali_rtc_library *library = strncmp(target, "gfx", 3) ? &nvrtc :
									&hiprtc;
	int result = library->handle ? 0 : load(library, target, what, call);

	if (!result)
		*out = library;
	return result;
}

const char *peali_rtc_library_name(const struct peali_rtc_library *library)
{
	return library->name;
}

/* ---- compiling ----------------------------------------------------------- */

/* Copies the log from its first error line on, as one line. */
static void quote(const char *log, char *out, size_t bytes)
{
	const char *at = strstr(log, "error");
	size_t n = 0;

	while (at && at > log && at[-1] != '\n')
		at--;
	for (at = at ? at : log; *at && n + 1 < bytes; at++) {
		if (!isspace((unsigned char)*at))
			out[n++] = *at;
		else if (n && out[n - 1] != ' ')
			out[n++] = ' ';
	}
	out[n] = '\0';
}

/* Returns the compiler's log, which the caller frees; NULL: it is empty. */
static char *read_log(const struct peali_rtc_library *library, void *program)
{
	char *log = NULL;
	size_t n = 0;

	if (library->log_size(program, &n) || n < 2)
		return NULL;
	log = (char *)calloc(1, n + 1);
	if (log && library->log(program, log)) {
		free(log);
		return NULL;
	}
	return log;
}

static int fail_compile(const struct peali_rtc_library *library, void *program,
			int error, const char *target, const char *what,
			const char *call)
{
	char *log = read_log(library, program), text[160];

	if (log)
		peali_log(1, "%s for %s, %s:\n%s", what, target, library->name,
			  log);
	quote(log ? log : "the compiler gives no reason", text, sizeof(text));
	free(log);
	return peali_fail_driver(PEAL_EPROGRAM, error, call,
				 "%s does not compile for %s by %s: %s", what,
				 target, library->name, text);
}

/* Copies the result of a compilation. Returns 0, or the library's error. */
static int take(int (*size)(void *, size_t *), int (*code)(void *, char *),
		void *program, struct peali_rtc_output *out)
{
	int error = size(program, &out->n);

	if (error || !out->n)
		return error ? error : -1;
	out->bytes = (unsigned char *)malloc(out->n);
	if (!out->bytes)
		return -1;
	error = code(program, (char *)out->bytes);
	if (error) {
		free(out->bytes);
		out->bytes = NULL;
	}
	return error;
}

/*
 * Runs the compiler once for exactly this target. Returns 1 if the compiler
 * makes no cubins.
 */
static int compile(const struct peali_rtc_library *library, const char *target,
		   const struct peali_rtc_source *source,
		   struct peali_rtc_output *out, const char *what,
		   const char *call)
{
	int is_amd = library == &hiprtc, is_cubin = !strncmp(target, "sm_", 3);
	const char *options[3] = { NULL, "-std=c++17", "-O3" };
	void *program = NULL;
	char arch[48];
	int error;

	snprintf(arch, sizeof(arch), "--%s=%s",
		 is_amd ? "offload-arch" : "gpu-architecture", target);
	options[0] = arch;
	error = library->create(&program, source->text, source->name,
				source->n_headers, source->header_texts,
				source->header_names);
	if (error)
		return peali_fail_driver(PEAL_EPROGRAM, error, call,
					 "%s does not compile for %s: %s "
					 "cannot start (error %d)",
					 what, target, library->name, error);
	/*
	 * Only hipRTC gets -O3: NVRTC rejects the option and always optimises.
	 */
	error = library->compile(program, is_amd ? 3 : 2, options);
	if (error)
		error = fail_compile(library, program, error, target, what,
				     call);
	else if (is_cubin)
		error = take(library->cubin_size, library->cubin, program,
			     out) != 0;
	else if (take(library->code_size, library->code, program, out))
		error = peali_fail(PEAL_EPROGRAM, call,
				   "%s compiles for %s by %s, but the output "
				   "is empty",
				   what, target, library->name);
	library->destroy(&program);
	out->kind = is_amd   ? PEAL_IMAGE_HSACO :
		    is_cubin ? PEAL_IMAGE_CUBIN :
			       PEAL_IMAGE_PTX;
	snprintf(out->target, sizeof(out->target), "%s", target);
	return error;
}

int peali_rtc_library_compile(const struct peali_rtc_library *library,
			      const char *target,
			      const struct peali_rtc_source *source,
			      struct peali_rtc_output *out, const char *what,
			      const char *call)
{
	char ptx_target[24];
	int result = 1;

	memset(out, 0, sizeof(*out));
	if (strncmp(target, "sm_", 3) != 0 || library->cubin_size)
		result = compile(library, target, source, out, what, call);
	if (result <= 0)
		return result;
	peali_log(2, "%s makes no cubin for %s", library->name, target);
	snprintf(ptx_target, sizeof(ptx_target), "compute_%s",
		 target + strlen("sm_"));
	return compile(library, ptx_target, source, out, what, call);
}
