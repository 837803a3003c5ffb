/* SPDX-License-Identifier: Apache-2.0 */
#include "p2p/cache.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/backend/error.h"
#include "runtime/backend/settings.h"

#define PATH_BYTES 4096
#define FORMAT 1
/* 64 devices have 4,032 pairs. */
#define PAIRS_MAX 8192

/* ---- the machine ----------------------------------------------------------- */

static void read_boot_id(char *out, size_t bytes)
{
	int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? 0 : read(fd, out, bytes - 1);

	if (fd >= 0)
		close(fd);
	out[n < 0 ? 0 : n] = '\0';
	out[strcspn(out, "\n")] = '\0';
}

/* What all proofs of a file have in common. */
static json_t *make_header(void)
{
	char boot[64];

	read_boot_id(boot, sizeof(boot));
	return json_pack("{s:i, s:s, s:s, s:I}", "format", FORMAT, "version",
			 PEALI_VERSION, "boot", boot, "cores",
			 (json_int_t)sysconf(_SC_NPROCESSORS_ONLN));
}

/* ---- reading --------------------------------------------------------------- */

static int cache_path(char *out, size_t bytes, char *folder)
{
	int n;

	if (peali_setting_path(PEALI_SETTING_CACHE_DIR, folder, PATH_BYTES) < 0)
		return -1;
	n = snprintf(out, bytes, "%s/probe.json", folder);
	return n > 0 && (size_t)n < bytes ? 0 : -1;
}

/* Whether a file's header is that of here and now. */
static int is_current(json_t *file)
{
	json_t *header = make_header(), *value;
	const char *key;
	int same = header && json_is_array(json_object_get(file, "pairs"));

	json_object_foreach(header, key, value)
	{
		if (!json_equal(json_object_get(file, key), value))
			same = 0;
	}
	json_decref(header);
	return same;
}

/* The file in force, or NULL. */
static json_t *load(const char *path)
{
	json_error_t error;
	json_t *file = json_load_file(path, JSON_REJECT_DUPLICATES, &error);

	if (!file) {
		if (access(path, F_OK) == 0)
			peali_log(2, "%s is ignored: line %d: %s", path,
				  error.line, error.text);
		return NULL;
	}
	if (!is_current(file)) {
		peali_log(2, "%s is ignored: of another boot or version", path);
		json_decref(file);
		return NULL;
	}
	return file;
}

static json_t *make_key(const struct peali_cache_key *key)
{
	return json_pack("{s:s, s:s, s:s, s:s, s:s}", "backend", key->backend,
			 "from", key->from, "to", key->to, "kind", key->kind,
			 "topology", key->topology);
}

/* The index of a proof, or -1. */
static int index_of(json_t *pairs, json_t *key)
{
	json_t *pair;
	size_t i;

	json_array_foreach(pairs, i, pair)
	{
		if (key && json_equal(json_object_get(pair, "key"), key))
			return (int)i;
	}
	return -1;
}

/* 1 if everything of a proof is there and makes sense. */
static int read_pair(json_t *pair, struct peal_pair_info *info)
{
	json_int_t verdict, latency, bandwidth;
	const char *why;

	if (json_unpack(pair, "{s:I, s:I, s:I, s:s}", "verdict", &verdict,
			"latency_ns", &latency, "bandwidth", &bandwidth, "why",
			&why))
		return 0;
	if (verdict <= PEAL_VERDICT_UNKNOWN || verdict > PEAL_VERDICT_SLOW ||
	    latency < 0 || bandwidth < 0)
		return 0;
	info->verdict = (enum peal_verdict)verdict;
	info->latency_ns = (uint64_t)latency;
	info->bandwidth_bytes_per_s = (uint64_t)bandwidth;
	snprintf(info->why, sizeof(info->why), "%s", why);
	return 1;
}

int peali_cache_find(const struct peali_cache_key *key,
		     struct peal_pair_info *info)
{
	char path[PATH_BYTES + 16], folder[PATH_BYTES];
	json_t *file, *pairs, *wanted;
	int i, found = 0;

	if (cache_path(path, sizeof(path), folder) < 0)
		return 0;
	file = load(path);
	if (!file)
		return 0;
	pairs = json_object_get(file, "pairs");
	wanted = make_key(key);
	i = index_of(pairs, wanted);
	if (i >= 0)
		found = read_pair(json_array_get(pairs, (size_t)i), info);
	json_decref(wanted);
	json_decref(file);
	return found;
}

/* ---- writing --------------------------------------------------------------- */

/* As mkdir -p; what fails shows when the file is made. */
static void make_folders(char *path)
{
	char *at = path;

	while ((at = strchr(at + 1, '/'))) {
		*at = '\0';
		mkdir(path, 0700);
		*at = '/';
	}
	mkdir(path, 0700);
}

/* Beside its place, and then into it. */
static int write_whole(json_t *file, const char *path)
{
	char temporary[PATH_BYTES + 32];
	int fd, fine;

	snprintf(temporary, sizeof(temporary), "%s.XXXXXX", path);
	fd = mkostemp(temporary, O_CLOEXEC);
	if (fd < 0)
		return -1;
	fine = !json_dumpfd(file, fd, JSON_INDENT(1));
	fine = !close(fd) && fine;
	if (fine && !rename(temporary, path))
		return 0;
	unlink(temporary);
	return -1;
}

static json_t *make_pair(json_t *key, const struct peal_pair_info *info)
{
	return json_pack("{s:O, s:I, s:I, s:I, s:s}", "key", key, "verdict",
			 (json_int_t)info->verdict, "latency_ns",
			 (json_int_t)info->latency_ns, "bandwidth",
			 (json_int_t)info->bandwidth_bytes_per_s, "why",
			 info->why);
}

/* The file in force with one proof more; NULL without memory. */
static json_t *add(const char *path, const struct peali_cache_key *key,
		   const struct peal_pair_info *info)
{
	json_t *wanted = make_key(key), *file = load(path), *pairs;
	int i, error;

	if (!file) {
		file = make_header();
		json_object_set_new(file, "pairs", json_array());
	}
	pairs = json_object_get(file, "pairs");
	i = index_of(pairs, wanted);
	if (i >= 0)
		json_array_remove(pairs, (size_t)i);
	else if (json_array_size(pairs) >= PAIRS_MAX)
		json_array_remove(pairs, 0);
	error = json_array_append_new(pairs, make_pair(wanted, info));
	json_decref(wanted);
	if (!error)
		return file;
	json_decref(file);
	return NULL;
}

void peali_cache_store(const struct peali_cache_key *key,
		       const struct peal_pair_info *info)
{
	char path[PATH_BYTES + 16], folder[PATH_BYTES];
	json_t *file;

	if (cache_path(path, sizeof(path), folder) < 0)
		return;
	make_folders(folder);
	file = add(path, key, info);
	if (!file || write_whole(file, path) < 0)
		peali_log(1, "what the probe found is not kept in %s: %s", path,
			  file ? strerror(errno) : "no memory");
	json_decref(file);
}
