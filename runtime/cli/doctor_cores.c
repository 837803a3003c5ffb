/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The check of `peal doctor` for cores. It reads the affinity mask of the
 * process and the CPU quotas of its control groups, version 1 and 2.
 */
#include "runtime/cli/doctor.h"

#include <errno.h>
#include <limits.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/base/text.h"

#define CORES_MAX (1 << 20) /* of an affinity mask */
#define LINE_BYTES 4096

/** The smallest quota so far. */
struct quota {
	double cores; /* 0: no quota */
	char file[PATH_MAX]; /* without the root */
};

/* ---- files of control groups --------------------------------------------- */

static FILE *open_below(const char *root, const char *path)
{
	char name[PATH_MAX];

	snprintf(name, sizeof(name), "%s%s", root, path);
	return fopen(name, "re");
}

/* Returns 1 if a list with commas has a word. */
static int has_word(const char *list, const char *word)
{
	size_t n = strlen(word);

	for (; *list; list += strcspn(list, ","), list += *list == ',')
		if (strcspn(list, ",\n ") == n && memcmp(list, word, n) == 0)
			return 1;
	return 0;
}

/*
 * Finds the group of this process: of version 2, or of the controller `cpu` of
 * version 1. Returns 1 with its path.
 */
static int find_group(const char *root, int version, char path[PATH_MAX])
{
	FILE *file = open_below(root, "/proc/self/cgroup");
	char line[LINE_BYTES], *controllers, *at;
	int found = 0;

	while (file && !found && fgets(line, sizeof(line), file)) {
		line[strcspn(line, "\n")] = 0;
		controllers = strchr(line, ':');
		at = controllers ? strchr(controllers + 1, ':') : NULL;
		if (!at)
			continue;
		*at++ = 0;
		found = version == 2 ? strncmp(line, "0:", 2) == 0 :
				       has_word(controllers + 1, "cpu");
		if (found)
			snprintf(path, PATH_MAX, "%s", at);
	}
	if (file)
		fclose(file);
	return found;
}

/*
 * Finds the mount of the groups of a version. Returns 1 with its folder, and
 * the group that is mounted there.
 */
static int find_mount(const char *root, int version, char folder[PATH_MAX],
		      char group[PATH_MAX])
{
	FILE *file = open_below(root, "/proc/self/mountinfo");
	char line[LINE_BYTES], type[64], options[LINE_BYTES];
	const char *rest;
	int found = 0;

	while (file && !found && fgets(line, sizeof(line), file)) {
		rest = strstr(line, " - ");
		if (!rest ||
		    sscanf(rest, " - %63s %*s %4095s", type, options) != 2 ||
		    sscanf(line, "%*s %*s %*s %4095s %4095s", group, folder) !=
			    2)
			continue;
		found = version == 2 ? strcmp(type, "cgroup2") == 0 :
				       strcmp(type, "cgroup") == 0 &&
					       has_word(options, "cpu");
	}
	if (file)
		fclose(file);
	return found;
}

/* ---- quotas -------------------------------------------------------------- */

/* Reads the quota of a folder, in cores; 0: none. */
static double read_quota(const char *root, int version, const char *folder,
			 char file[PATH_MAX])
{
	char period_file[PATH_MAX], text[64], period_text[64];
	double quota = 0, period = 0;

	snprintf(file, PATH_MAX, "%.4000s/%s", folder,
		 version == 2 ? "cpu.max" : "cpu.cfs_quota_us");
	peali_doctor_line(root, file, text, sizeof(text));
	if (version == 2)
		return sscanf(text, "%lf %lf", &quota, &period) == 2 &&
				       quota > 0 && period > 0 ?
			       quota / period :
			       0;
	snprintf(period_file, sizeof(period_file), "%.4000s/cpu.cfs_period_us",
		 folder);
	peali_doctor_line(root, period_file, period_text, sizeof(period_text));
	quota = atof(text);
	period = atof(period_text);
	return quota > 0 && period > 0 ? quota / period : 0;
}

/* Takes the smallest quota of a group and of all groups above it. */
static void look_up(const char *root, int version, struct quota *least)
{
	char path[PATH_MAX], folder[PATH_MAX], group[PATH_MAX];
	char at[2 * PATH_MAX], file[PATH_MAX], *slash;
	size_t mount, n;
	double cores;

	if (!find_group(root, version, path) ||
	    !find_mount(root, version, folder, group))
		return;
	/* a container may see the path of its group outside of the container */
	n = strcmp(group, "/") == 0 ? 0 : strlen(group);
	if (strncmp(path, group, n) != 0 || (path[n] && path[n] != '/') ||
	    strstr(path, "/.."))
		path[n = 0] = 0;
	mount = strlen(folder);
	snprintf(at, sizeof(at), "%s%s", folder, path + n);
	for (;;) {
		cores = read_quota(root, version, at, file);
		if (cores > 0 && (least->cores <= 0 || cores < least->cores)) {
			least->cores = cores;
			memcpy(least->file, file, sizeof(file));
		}
		slash = strrchr(at, '/');
		if (!slash || slash < at + mount)
			return;
		*slash = 0;
	}
}

/* ---- the check ----------------------------------------------------------- */

/* Returns the cores of the affinity mask, of any size; 0: not known. */
static int usable_cores(void)
{
	for (int n = CPU_SETSIZE; n <= CORES_MAX; n *= 2) {
		cpu_set_t *set = CPU_ALLOC(n);
		size_t bytes = CPU_ALLOC_SIZE(n);
		int failed = !set || sched_getaffinity(0, bytes, set);
		int count = failed ? 0 : CPU_COUNT_S(bytes, set);

		if (set)
			CPU_FREE(set);
		if (!failed || errno != EINVAL)
			return count;
	}
	return 0;
}

static void add_few(struct peali_doctor *doctor, int usable, long online)
{
	peali_doctor_add(
		doctor, "cores", PEALI_HEALTH_WARN,
		online > 1 ? "let the process use more: taskset, cpuset or the "
			     "container's CPU limit" :
			     "use a machine with two cores or more",
		"%d of %ld cores may be used: emulated devices take turns on "
		"it and latencies are those of the scheduler",
		usable, online);
}

void peali_doctor_cores(struct peali_doctor *doctor, const char *root)
{
	long online = sysconf(_SC_NPROCESSORS_ONLN);
	struct quota quota = { 0, "" };
	int usable = usable_cores();

	look_up(root, 2, &quota);
	look_up(root, 1, &quota);
	if (!usable)
		peali_doctor_add(doctor, "cores", PEALI_HEALTH_WARN,
				 "allow sched_getaffinity in the container's "
				 "seccomp profile",
				 "the usable ones of %ld cores are not known",
				 online);
	else if (quota.cores > 0 && quota.cores < usable)
		peali_doctor_add(
			doctor, "cores", PEALI_HEALTH_WARN,
			"raise the quota (docker --cpus), or give the "
			"container whole cores by a cpuset (docker "
			"--cpuset-cpus)",
			"%d of %ld cores may be used, but only for the time of "
			"%.2f cores, by the CPU quota in %s; above it all "
			"threads pause",
			usable, online, quota.cores,
			PEALI_CUT(120, quota.file));
	else if (usable < 2)
		add_few(doctor, usable, online);
	else
		peali_doctor_add(doctor, "cores", PEALI_HEALTH_PASS, NULL,
				 "%d of %ld cores may be used", usable, online);
}
