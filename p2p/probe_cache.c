/* SPDX-License-Identifier: Apache-2.0 */
/* Results of the probe on disk, as JSON: see probe_cache.h. */
#include "p2p/probe_cache.h"
#include "runtime/base/log.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <peal/device/impl/base/host_support.h>
#include "runtime/base/env.h"
#include "runtime/base/error.h"
#include "runtime/base/file.h"
#include "runtime/base/system_call.h"

#define PATH_BYTES 4096
#define FORMAT 2 /* 1 has no policies */
#define FILE_NAME "probe.json"
/* The longest key text; a topology comes from an environment variable. */
#define KEY_BYTES 8192
/* 64 devices have 4,032 pairs. */
#define PAIRS_MAX 8192
#define WRITE_EVERY_NS 1000000000u

/* ---- header -------------------------------------------------------------- */

static void read_boot_id(char *out, size_t bytes)
{
	int fd = peali_open("/proc/sys/kernel/random/boot_id",
			    O_RDONLY | O_CLOEXEC, 0);
	ssize_t n = fd < 0 ? 0 : peali_read(fd, out, bytes - 1);

	if (fd >= 0)
		close(fd);
	out[n < 0 ? 0 : n] = '\0';
	out[strcspn(out, "\n")] = '\0';
}

/* Makes the fields that all results of a file share. */
static json_t *make_header(void)
{
	char boot[64];

	read_boot_id(boot, sizeof(boot));
	return json_pack("{s:i, s:s, s:s, s:I}", "format", FORMAT, "version",
			 PEALI_VERSION, "boot", boot, "cores",
			 (json_int_t)sysconf(_SC_NPROCESSORS_ONLN));
}

/* ---- reading ------------------------------------------------------------- */

/* Returns 1 if a file's header matches this boot, machine and version. */
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

/* Loads the file. Returns NULL if it is missing, damaged or outdated. */
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
		peali_log(2, "%s is ignored: it is of another boot or version",
			  path);
		json_decref(file);
		return NULL;
	}
	return file;
}

/*
 * Makes one text of a key. Newlines separate the parts; no part has newlines.
 */
static int key_text(json_t *key, char *out, size_t bytes)
{
	const char *backend, *from, *to, *kind, *driver, *topology;
	int n;

	if (json_unpack(key, "{s:s, s:s, s:s, s:s, s:s, s:s}", "backend",
			&backend, "from", &from, "to", &to, "kind", &kind,
			"driver", &driver, "topology", &topology))
		return -1;
	n = snprintf(out, bytes, "%s\n%s\n%s\n%s\n%s\n%s", backend, from, to,
		     kind, driver, topology);
	return n > 0 && (size_t)n < bytes ? 0 : -1;
}

static json_t *make_key(const struct peali_probe_cache_key *key)
{
	return json_pack("{s:s, s:s, s:s, s:s, s:s, s:s}", "backend",
			 key->backend, "from", key->from, "to", key->to, "kind",
			 key->kind, "driver", key->driver, "topology",
			 key->topology);
}

/* Makes an index of a file's results by key text. NULL only without memory. */
static json_t *make_index(json_t *file)
{
	json_t *index = json_object(), *pair;
	char text[KEY_BYTES];
	size_t i;

	json_array_foreach(json_object_get(file, "pairs"), i, pair)
	{
		if (!key_text(json_object_get(pair, "key"), text, sizeof(text)))
			json_object_set(index, text, pair);
	}
	return index;
}

/* Loads the file and returns the index of its results. */
static json_t *load_index(const char *path)
{
	json_t *file = load(path), *index = make_index(file);

	json_decref(file);
	return index;
}

/*
 * Determines the path of the file, once. Returns 0, or -1 if there is no
 * folder.
 */
static int open_cache(struct peali_probe_cache *cache)
{
	char path[PATH_BYTES + 16], folder[PATH_BYTES];

	if (cache->opened)
		return cache->path ? 0 : -1;
	cache->opened = 1;
	if (peali_env_path(PEALI_ENV_CACHE_DIR, folder, sizeof(folder)) < 0)
		return -1;
	snprintf(path, sizeof(path), "%s/" FILE_NAME, folder);
	cache->path = strdup(path);
	return cache->path ? 0 : -1;
}

/* Reads a result. Returns 1 if all fields are present and valid. */
static int read_pair(json_t *pair, struct peal_pair_info *info, int *measured)
{
	json_int_t verdict, latency, bandwidth, policies;
	const char *why;
	int is_measured;

	if (json_unpack(pair, "{s:I, s:b, s:I, s:I, s:I, s:s}", "verdict",
			&verdict, "measured", &is_measured, "latency_ns",
			&latency, "bandwidth", &bandwidth, "policies",
			&policies, "why", &why))
		return 0;
	if (verdict <= PEAL_VERDICT_UNKNOWN || verdict > PEAL_VERDICT_SLOW ||
	    latency < 0 || bandwidth < 0 || policies < 0 ||
	    policies >> (PEAL_POLICY_ATOM8 + 1))
		return 0;
	info->verdict = (enum peal_verdict)verdict;
	info->latency_ns = (uint64_t)latency;
	info->bandwidth_bytes_per_s = (uint64_t)bandwidth;
	info->policies = (uint32_t)policies;
	snprintf(info->reason, sizeof(info->reason), "%s", why);
	*measured = is_measured;
	return 1;
}

int peali_probe_cache_find(struct peali_probe_cache *cache,
			   const struct peali_probe_cache_key *key,
			   struct peal_pair_info *info, int *measured_out)
{
	char text[KEY_BYTES];
	json_t *wanted;
	int found = 0;

	if (open_cache(cache) < 0)
		return 0;
	if (!cache->index)
		cache->index = load_index(cache->path);
	wanted = make_key(key);
	if (!key_text(wanted, text, sizeof(text)))
		found = read_pair(json_object_get(cache->index, text), info,
				  measured_out);
	json_decref(wanted);
	return found;
}

/* ---- writing ------------------------------------------------------------- */

static int write_whole(json_t *file, const char *path)
{
	/* One write: json_dumpfd makes a system call for every word. */
	char *text = json_dumps(file, JSON_INDENT(1));
	int result = text ? peali_file_write(path, text, strlen(text)) : -1;

	free(text);
	return result;
}

static json_t *make_pair(json_t *key, const struct peal_pair_info *info,
			 int measured)
{
	return json_pack("{s:O, s:I, s:b, s:I, s:I, s:I, s:s}", "key", key,
			 "verdict", (json_int_t)info->verdict, "measured",
			 measured, "latency_ns", (json_int_t)info->latency_ns,
			 "bandwidth", (json_int_t)info->bandwidth_bytes_per_s,
			 "policies", (json_int_t)info->policies, "why",
			 info->reason);
}

/*
 * Returns 1 if only the result on disk is measured, and both verdicts and
 * policies are equal.
 */
static int says_more(json_t *disk, json_t *mine)
{
	return json_is_true(json_object_get(disk, "measured")) &&
	       !json_is_true(json_object_get(mine, "measured")) &&
	       json_equal(json_object_get(disk, "verdict"),
			  json_object_get(mine, "verdict")) &&
	       json_equal(json_object_get(disk, "policies"),
			  json_object_get(mine, "policies"));
}

/* Merges the results on disk with the new results. NULL without memory. */
static json_t *merge(json_t *disk, json_t *mine)
{
	json_t *file = make_header(), *pairs = json_array(), *pair, *other;
	size_t n = json_object_size(disk) + json_object_size(mine);
	const char *text;
	int error = 0;

	json_object_foreach(disk, text, pair)
	{
		other = json_object_get(mine, text);
		/* Above PAIRS_MAX, drop the oldest. */
		if (n-- <= PAIRS_MAX && (!other || says_more(pair, other)))
			error |= json_array_append(pairs, pair);
	}
	json_object_foreach(mine, text, pair)
	{
		other = json_object_get(disk, text);
		if (!other || !says_more(other, pair))
			error |= json_array_append(pairs, pair);
	}
	error |= json_object_set_new(file, "pairs", pairs);
	if (!error)
		return file;
	json_decref(file);
	return NULL;
}

/*
 * Writes the new results, merged with the results of other processes on disk.
 */
static void flush(struct peali_probe_cache *cache)
{
	json_t *disk, *file;

	cache->written_ns = peal_clock_ns();
	disk = load_index(cache->path);
	file = merge(disk, cache->mine);
	if (!file || write_whole(file, cache->path) < 0)
		peali_log(1, "verdicts of the probe are not stored in %s: %s",
			  cache->path, file ? strerror(errno) : "no memory");
	json_decref(file);
	json_decref(disk);
	json_decref(cache->mine);
	cache->mine = NULL;
}

void peali_probe_cache_store(struct peali_probe_cache *cache,
			     const struct peali_probe_cache_key *key,
			     const struct peal_pair_info *info, int measured)
{
	char text[KEY_BYTES];
	json_t *wanted;

	if (open_cache(cache) < 0)
		return;
	wanted = make_key(key);
	if (!cache->mine)
		cache->mine = json_object();
	if (!key_text(wanted, text, sizeof(text)))
		json_object_set_new(cache->mine, text,
				    make_pair(wanted, info, measured));
	json_decref(wanted);
	if (!cache->written_ns ||
	    peal_clock_ns() - cache->written_ns >= WRITE_EVERY_NS)
		flush(cache);
}

void peali_probe_cache_close(struct peali_probe_cache *cache)
{
	if (cache->mine)
		flush(cache);
	json_decref(cache->index);
	free(cache->path);
	memset(cache, 0, sizeof(*cache));
}
