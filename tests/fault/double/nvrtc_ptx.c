/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libnvrtc.so.13 for the PTX machine. It passes each call on to NVRTC. It makes
 * PTX with source lines, and no cubins. It keeps each PTX in a file, as NVRTC
 * takes 5 to 80 s for a program.
 *
 * Environment:
 *	PEAL_DOUBLE_NVRTC	path of NVRTC, found by CMake
 *	PEAL_DOUBLE_CACHE	folder of the files, in the build folder
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define FUNCTIONS(X)                                                           \
	X(Version, (int *, int *))                                             \
	X(CreateProgram, (void **, const char *, const char *, int,            \
			  const char *const *, const char *const *))           \
	X(CompileProgram, (void *, int, const char *const *))                  \
	X(DestroyProgram, (void **))                                           \
	X(GetProgramLogSize, (void *, size_t *))                               \
	X(GetProgramLog, (void *, char *))                                     \
	X(GetPTXSize, (void *, size_t *))                                      \
	X(GetPTX, (void *, char *))

#define DECLARE(name, arguments) int nvrtc##name arguments;
FUNCTIONS(DECLARE)
#undef DECLARE

static struct {
#define MEMBER(name, arguments) int(*name) arguments;
	FUNCTIONS(MEMBER)
#undef MEMBER
} nvrtc;

/** A program of NVRTC, and its PTX after the compilation. */
struct program {
	void *inner;
	uint64_t key;
	char *ptx;
	size_t n; /* bytes of the PTX, with its final zero */
};

static const char *setting(const char *variable, const char *otherwise)
{
	const char *text = getenv(variable);

	return text && *text ? text : otherwise;
}

static void load(void)
{
	const char *path = setting("PEAL_DOUBLE_NVRTC", NVRTC_PATH);
	void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);

	if (!handle) {
		fprintf(stderr,
			"PTX machine: NVRTC '%s': cannot be loaded (%s); set "
			"PEAL_DOUBLE_NVRTC to its path\n",
			path, dlerror());
		exit(2);
	}
#define BIND(name, arguments)                                                  \
	*(void **)(void *)&nvrtc.name = dlsym(handle, "nvrtc" #name);
	FUNCTIONS(BIND)
#undef BIND
}

/* ---- files --------------------------------------------------------------- */

/* FNV-1a of a text with its final zero. */
static uint64_t hash(uint64_t sum, const char *text)
{
	do
		sum = (sum ^ (unsigned char)*text) * 0x100000001b3u;
	while (*text++);
	return sum;
}

static void path_of(const struct program *p, const char *suffix, char *path,
		    size_t bytes)
{
	const char *folder = setting("PEAL_DOUBLE_CACHE", CACHE_PATH);

	mkdir(folder, 0777);
	snprintf(path, bytes, "%s/%016" PRIx64 "%s", folder, p->key, suffix);
}

/* Reads the PTX of an earlier compilation. Returns 1 if there is one. */
static int read_file(struct program *p)
{
	char path[4096];
	FILE *file;

	path_of(p, ".ptx", path, sizeof(path));
	file = fopen(path, "r");
	if (!file)
		return 0;
	p->n = 0;
	if (getdelim(&p->ptx, &p->n, 0, file) > 0)
		p->n = strlen(p->ptx) + 1;
	fclose(file);
	return p->ptx && p->n > 1;
}

/* Another process may read the file at any time. */
static void write_file(const struct program *p)
{
	char path[4096], new_path[4096];
	FILE *file;

	path_of(p, ".ptx", path, sizeof(path));
	path_of(p, ".new", new_path, sizeof(new_path));
	file = fopen(new_path, "w");
	if (!file)
		return;
	fwrite(p->ptx, 1, p->n - 1, file);
	if (fclose(file) || rename(new_path, path))
		fprintf(stderr, "PTX machine: file '%s': cannot be written\n",
			path);
}

/* Two processes do not compile one program at the same time. */
static int lock_file(const struct program *p)
{
	char path[4096];
	int fd;

	path_of(p, ".lock", path, sizeof(path));
	fd = open(path, O_CREAT | O_RDWR | O_CLOEXEC, 0666);
	if (fd >= 0)
		flock(fd, LOCK_EX);
	return fd;
}

/* ---- compiling ----------------------------------------------------------- */

static int compile(struct program *p, int n, const char *const *options)
{
	int error = nvrtc.CompileProgram(p->inner, n, options);

	if (!error)
		error = nvrtc.GetPTXSize(p->inner, &p->n);
	if (error)
		return error;
	p->ptx = malloc(p->n);
	if (!p->ptx)
		return 1; /* NVRTC_ERROR_OUT_OF_MEMORY */
	error = nvrtc.GetPTX(p->inner, p->ptx);
	if (!error)
		write_file(p);
	return error;
}

int nvrtcCompileProgram(void *program, int n, const char *const *options)
{
	struct program *p = program;
	const char *all[16];
	int i, fd, error = 0;

	for (i = 0; i < n && i < 15; i++) {
		all[i] = options[i];
		p->key = hash(p->key, options[i]);
	}
	all[i++] = "-lineinfo";
	fd = lock_file(p);
	if (!read_file(p))
		error = compile(p, i, all);
	close(fd);
	return error;
}

/* ---- the other symbols --------------------------------------------------- */

int nvrtcVersion(int *major, int *minor)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, load);
	return nvrtc.Version(major, minor);
}

int nvrtcCreateProgram(void **out, const char *text, const char *name,
		       int n_headers, const char *const *texts,
		       const char *const *names)
{
	struct program *p = calloc(1, sizeof(*p));
	int i, error;

	if (!p)
		return 1; /* NVRTC_ERROR_OUT_OF_MEMORY */
	p->key = hash(hash(0xcbf29ce484222325u, name), text);
	for (i = 0; i < n_headers; i++)
		p->key = hash(hash(p->key, names[i]), texts[i]);
	error = nvrtc.CreateProgram(&p->inner, text, name, n_headers, texts,
				    names);
	if (error)
		free(p);
	else
		*out = p;
	return error;
}

int nvrtcDestroyProgram(void **program)
{
	struct program *p = *program;
	int error = nvrtc.DestroyProgram(&p->inner);

	free(p->ptx);
	free(p);
	*program = NULL;
	return error;
}

int nvrtcGetProgramLogSize(void *program, size_t *n)
{
	return nvrtc.GetProgramLogSize(((struct program *)program)->inner, n);
}

int nvrtcGetProgramLog(void *program, char *log)
{
	return nvrtc.GetProgramLog(((struct program *)program)->inner, log);
}

int nvrtcGetPTXSize(void *program, size_t *n)
{
	*n = ((struct program *)program)->n;
	return 0;
}

int nvrtcGetPTX(void *program, char *ptx)
{
	memcpy(ptx, ((struct program *)program)->ptx,
	       ((struct program *)program)->n);
	return 0;
}
