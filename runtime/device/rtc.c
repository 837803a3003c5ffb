/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/device/rtc.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/env.h"
#include "runtime/base/error.h"
#include "runtime/base/file.h"
#include "runtime/base/log.h"
#include "runtime/base/owner.h"
#include "runtime/base/refusal.h"
#include "runtime/device/image.h"
#include "runtime/device/rtc_library.h"

/*
 * Compilation of programs at run time, with a cache in the process and on disk.
 */

#define MOST_BYTES (256u << 20)
#define PATH_BYTES 4096

/** An image that was compiled or read, kept until the process ends. */
struct made {
	struct made *next;
	uint64_t key;
	char target[20]; /* of the image */
	struct peali_image image;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct made *all; /* guarded by `lock`, as the compiler libraries are */

/** One compilation. */
struct job {
	const struct peal_program *program;
	const char *target, *call;
	const struct peali_rtc_library *library;
	char what[160];
	uint64_t key;
};

/* ---- key ----------------------------------------------------------------- */

/*
 * FNV-1a. It separates different texts, but not texts that were built to
 * collide.
 */
static uint64_t hash(uint64_t sum, const void *bytes, size_t n)
{
	const unsigned char *at = (const unsigned char *)bytes;
	size_t i;

	for (i = 0; i < n; i++)
		sum = (sum ^ at[i]) * 0x100000001b3u;
	return sum;
}

#define HASH_BEGIN 0xcbf29ce484222325u

/* Includes the final zero, so that "ab","c" and "a","bc" differ. */
static uint64_t hash_text(uint64_t sum, const char *text)
{
	return hash(sum, text, strlen(text) + 1);
}

static uint64_t hash_files(uint64_t sum, const struct peal_source_file *file)
{
	for (; file->name; file++)
		sum = hash_text(hash_text(sum, file->name), file->begin);
	return sum;
}

static uint64_t key_of(const struct job *job)
{
	uint64_t sum = hash_text(HASH_BEGIN, PEALI_VERSION);

	sum = hash_text(sum, job->program->name);
	sum = hash_text(sum, job->target);
	sum = hash_text(sum, peali_rtc_library_name(job->library));
	sum = hash_files(sum, job->program->sources);
	return hash_files(sum, peali_dialect);
}

/* ---- on disk ------------------------------------------------------------- */

static const char magic[8] = "PEALIMG";

/** Header of a cache file; the image follows. */
struct head {
	char magic[8];
	uint64_t key, bytes, sum; /* of the image's bytes */
	uint32_t kind, reserved;
	char target[24];
};

static int path_of(const struct job *job, char path[PATH_BYTES + 256])
{
	char folder[PATH_BYTES];

	if (peali_env_path(PEALI_ENV_CACHE_DIR, folder, sizeof(folder)) < 0)
		return -1;
	snprintf(path, PATH_BYTES + 256, "%s/images/%.120s-%s-%016" PRIx64,
		 folder, job->program->name, job->target, job->key);
	return 0;
}

static struct made *make(const struct job *job, const struct peali_image *image)
{
	struct made *made = (struct made *)calloc(1, sizeof(*made));

	if (!made)
		return NULL;
	made->key = job->key;
	made->image = *image;
	snprintf(made->target, sizeof(made->target), "%s", image->target);
	made->image.target = made->target;
	made->next = all;
	all = made;
	return made;
}

/*
 * Checks the bytes of a cache file and keeps them as an image. Returns NULL if
 * the bytes are no image for the job. Then the caller frees the bytes.
 */
static struct made *parse(const struct job *job, const unsigned char *bytes,
			  size_t n)
{
	struct peali_image image;
	struct head head;

	if (n < sizeof(head))
		return NULL;
	memcpy(&head, bytes, sizeof(head));
	bytes += sizeof(head);
	n -= sizeof(head);
	if (memcmp(head.magic, magic, sizeof(magic)) != 0 ||
	    head.key != job->key || head.bytes != n ||
	    head.sum != hash(HASH_BEGIN, bytes, n) ||
	    !memchr(head.target, 0, sizeof(((struct made *)0)->target)))
		return NULL;
	image.target = head.target;
	image.kind = head.kind;
	image.begin = bytes;
	image.bytes = n;
	if (peali_image_check_program(job->program, &image, job->call))
		return NULL;
	return make(job, &image);
}

static struct made *read_file(const struct job *job)
{
	char path[PATH_BYTES + 256];
	struct made *made;
	void *bytes;
	size_t n;

	if (path_of(job, path) < 0)
		return NULL;
	bytes = peali_file_read(path, MOST_BYTES, &n);
	if (!bytes)
		return NULL;
	made = parse(job, (const unsigned char *)bytes, n);
	if (!made)
		free(bytes);
	peali_log(2,
		  made ? "%s is used" :
			 "%s is damaged and will be compiled again",
		  path);
	return made;
}

static void write_file(const struct job *job, const struct peali_image *image)
{
	size_t n = sizeof(struct head) + image->bytes;
	unsigned char *bytes = (unsigned char *)malloc(n);
	char path[PATH_BYTES + 256];
	struct head head;

	memset(&head, 0, sizeof(head));
	memcpy(head.magic, magic, sizeof(magic));
	head.key = job->key;
	head.bytes = image->bytes;
	head.sum = hash(HASH_BEGIN, image->begin, image->bytes);
	head.kind = image->kind;
	snprintf(head.target, sizeof(head.target), "%s", image->target);
	if (bytes && !path_of(job, path)) {
		memcpy(bytes, &head, sizeof(head));
		memcpy(bytes + sizeof(head), image->begin, image->bytes);
		if (peali_file_write(path, bytes, n))
			peali_log(1, "%s cannot be stored: %s", path,
				  strerror(errno));
	}
	free(bytes);
}

/* ---- compiling ----------------------------------------------------------- */

static int count(const struct peal_source_file *file)
{
	int n = 0;

	while (file[n].name)
		n++;
	return n;
}

/* Compiles the first file of the program. All other files are headers. */
static int compile(const struct job *job, struct peali_rtc_output *output)
{
	const struct peal_source_file *own = job->program->sources, *file;
	int n = count(own) - 1 + count(peali_dialect), i = 0;
	const char **texts =
		(const char **)malloc(2 * (size_t)n * sizeof(*texts) + 1);
	struct peali_rtc_source source = { own->name, own->begin, n, texts + n,
					   texts };
	int result;

	if (!texts)
		return peali_fail(PEAL_ENOMEM, job->call, "no memory for %s",
				  job->what);
	for (file = own + 1; file->name; file++, i++) {
		texts[i] = file->begin;
		texts[n + i] = file->name;
	}
	for (file = peali_dialect; file->name; file++, i++) {
		texts[i] = file->begin;
		texts[n + i] = file->name;
	}
	result = peali_rtc_library_compile(job->library, job->target, &source,
					   output, job->what, job->call);
	free(texts);
	return result;
}

static int compile_and_keep(const struct job *job, struct made **out)
{
	struct peali_rtc_output output;
	struct peali_image image;
	int result = compile(job, &output);

	if (result)
		return result;
	image.target = output.target;
	image.kind = output.kind;
	image.begin = output.bytes;
	image.bytes = output.n;
	result = peali_image_check_program(job->program, &image, job->call);
	if (!result) {
		*out = make(job, &image);
		if (!*out)
			result = peali_fail(PEAL_ENOMEM, job->call,
					    "no memory for %s", job->what);
	}
	if (result) {
		free(output.bytes);
		return result;
	}
	peali_log(2, "%s is compiled for %s by %s", job->what, output.target,
		  peali_rtc_library_name(job->library));
	write_file(job, &image);
	return 0;
}

/* The caller holds `lock`. */
static int find_or_compile(struct job *job, struct made **out)
{
	int result = peali_rtc_library_open(job->target, &job->library,
					    job->what, job->call);
	struct made *made;

	if (result)
		return result;
	job->key = key_of(job);
	for (made = all; made && made->key != job->key; made = made->next)
		;
	if (!made)
		made = read_file(job);
	if (!made)
		return compile_and_keep(job, out);
	*out = made;
	return 0;
}

int peali_rtc_compile(const struct peal_program *program, const char *target,
		      struct peali_image *out, const char *call)
{
	struct made *made = NULL;
	struct job job = { .program = program, .target = target, .call = call };
	int result;

	snprintf(job.what, sizeof(job.what), "program '%s'", program->name);
	if (!peali_image_is_target(target))
		return PEALI_REFUSE(PEAL_EPROGRAM, call, .object = "target",
				    .name = target,
				    .problem = "is no target of a program",
				    .value = target,
				    .allowed = "sm_NN, compute_NN or gfxNNN",
				    .remedy = "use sm_90");
	if (!program->sources || !program->sources->name ||
	    !peali_dialect->name)
		return peali_fail(
			PEAL_EPROGRAM, call,
			"%s cannot be compiled for %s: the text of %s is "
			"missing; build with PEAL_EMBED_SOURCES=ON",
			job.what, target,
			program->sources ? "the dialect" : "its source");
	peali_static_lock(&lock);
	result = find_or_compile(&job, &made);
	pthread_mutex_unlock(&lock);
	if (!result)
		*out = made->image;
	return result;
}
