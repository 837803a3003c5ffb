/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shows the cache file of the probe. Later processes use its results. A wrong
 * or damaged file is ignored.
 */
#include <sys/stat.h>

#include <peal/topology.h>
#include "machine.h"

static const char *links = "";

/* Opens a runtime. Returns its result for the pair 0 -> 1. */
static struct peal_pair_info ask(void)
{
	struct peal_runtime *rt = machine_open("2", links);
	struct peal_pair_info info;

	CHECK_OK(peal_topology_pair(rt, 0, 1, &info));
	CHECK_OK(peal_runtime_close(rt));
	return info;
}

static char path[64];

static size_t read_file(char *out, size_t bytes)
{
	FILE *file = fopen(path, "rb");
	size_t n;

	if (!file)
		return 0;
	n = fread(out, 1, bytes - 1, file);
	out[n] = '\0';
	fclose(file);
	return n;
}

static void write_file(const char *text, size_t bytes)
{
	FILE *file = fopen(path, "wb");

	CHECK(file && fwrite(text, 1, bytes, file) == bytes);
	fclose(file);
}

PEAL_TEST(second_process_uses_the_cached_result)
{
	struct peal_pair_info first, second;

	machine_forget();
	first = ask();
	CHECK_EQ(first.cached, 0);
	second = ask();
	CHECK_EQ(second.cached, 1);
	CHECK_EQ(second.verdict, PEAL_VERDICT_OK);
	CHECK_EQ(second.route, PEAL_ROUTE_PEER);
	CHECK_EQ(first.latency_ns, second.latency_ns);
	CHECK_EQ(first.bandwidth_bytes_per_s, second.bandwidth_bytes_per_s);
}

PEAL_TEST(changed_links_invalidate_the_cached_result)
{
	machine_forget();
	CHECK_EQ(ask().verdict, PEAL_VERDICT_OK);
	links = "0>1:nvlink!lost";
	CHECK_EQ(ask().verdict, PEAL_VERDICT_NEVER_VISIBLE);
	CHECK_EQ(ask().cached, 1);
	CHECK_EQ(ask().verdict, PEAL_VERDICT_NEVER_VISIBLE);
	links = "";
	CHECK_EQ(ask().verdict, PEAL_VERDICT_OK);
	CHECK_EQ(ask().cached, 1);
}

PEAL_TEST(probe_fresh_ignores_cache_and_off_skips_probe)
{
	machine_forget();
	ask();
	setenv("PEAL_PROBE", "fresh", 1);
	CHECK_EQ(ask().cached, 0);
	CHECK_EQ(ask().verdict, PEAL_VERDICT_OK);
	setenv("PEAL_PROBE", "off", 1);
	CHECK_EQ(ask().verdict, PEAL_VERDICT_UNKNOWN);
	unsetenv("PEAL_PROBE");
	CHECK_EQ(ask().cached, 1);
}

/* Checks that the probe survives this file, and writes a valid one. */
static void survives(const char *text, size_t bytes)
{
	write_file(text, bytes);
	CHECK_EQ(ask().verdict, PEAL_VERDICT_OK);
	CHECK_EQ(ask().verdict, PEAL_VERDICT_OK);
	CHECK_EQ(ask().cached, 1);
}

PEAL_TEST(damaged_cache_file_is_ignored_and_rewritten)
{
	static char whole[65536], damaged[65536];
	unsigned long long seed = 4;
	size_t n, i;

	machine_forget();
	ask();
	n = read_file(whole, sizeof(whole));
	CHECK(n > 100);
	survives("", 0);
	survives("{", 1);
	survives("[]", 2);
	survives("{\"pairs\": 3}", 12);
	survives("\0\0\0\0", 4);
	for (i = 0; i < 6; i++)
		survives(whole, n * i / 6);
	for (i = 0; i < 8; i++) {
		memcpy(damaged, whole, n);
		damaged[test_random(&seed) % n] ^= (char)0x55;
		survives(damaged, n);
	}
}

/*
 * Changes the character behind a text in the file. The probe must then ignore
 * the saved result.
 */
static void poke(const char *behind, char with)
{
	static char text[65536];
	size_t n = read_file(text, sizeof(text));
	char *at = strstr(text, behind);

	CHECK(at);
	CHECK(at[strlen(behind)] != with);
	at[strlen(behind)] = with;
	write_file(text, n);
	CHECK_EQ(ask().cached, 0);
	CHECK_EQ(ask().cached, 1);
}

PEAL_TEST(foreign_or_invalid_cache_file_is_ignored)
{
	machine_forget();
	/* only one result in the file, that of 0 -> 1 */
	links = "1>0:none";
	ask();
	poke("\"format\": ", '7');
	poke("\"version\": \"", 'x');
	poke("\"boot\": \"", '-');
	poke("\"cores\": ", '9');
	poke("\"verdict\": ", '9');
	poke("\"verdict\": ", '0');
	poke("\"bandwidth\":", '-');
	poke("\"wh", 'o');
	/* a result with another driver stays in the file: only once */
	if (test_on_gpu())
		poke("\"driver\": \"", '9');
	machine_forget();
	ask();
	poke("\"from\": \"", '?');
	links = "";
}

PEAL_TEST(unwritable_cache_folder_is_no_error)
{
	char folder[64];

	setenv("PEAL_CACHE_DIR", "/proc/no/such/place", 1);
	CHECK_EQ(ask().verdict, PEAL_VERDICT_OK);
	CHECK_EQ(ask().cached, 0);
	/* a missing folder is made */
	snprintf(folder, sizeof(folder), "%s/a/b", cache_folder);
	setenv("PEAL_CACHE_DIR", folder, 1);
	CHECK_EQ(ask().cached, 0);
	CHECK_EQ(ask().cached, 1);
	snprintf(folder, sizeof(folder), "%s/a/b/probe.json", cache_folder);
	CHECK(!unlink(folder));
	snprintf(folder, sizeof(folder), "%s/a/b", cache_folder);
	CHECK(!rmdir(folder));
	snprintf(folder, sizeof(folder), "%s/a", cache_folder);
	CHECK(!rmdir(folder));
	setenv("PEAL_CACHE_DIR", cache_folder, 1);
}

PEAL_TEST(missing_home_disables_cache_without_error)
{
	char *home = getenv("HOME");

	home = home ? strdup(home) : NULL;
	unsetenv("PEAL_CACHE_DIR");
	unsetenv("XDG_CACHE_HOME");
	unsetenv("HOME");
	CHECK_EQ(peal_route_parse("bus"), PEAL_EINVAL);
	CHECK_EQ(ask().verdict, PEAL_VERDICT_OK);
	CHECK_EQ(ask().cached, 0);
	/* a success leaves the latest error unchanged */
	check_error("peal_route_parse", "bus");
	if (home)
		setenv("HOME", home, 1);
	free(home);
	setenv("PEAL_CACHE_DIR", cache_folder, 1);
}

PEAL_TEST(probe_leaves_only_its_cache_file)
{
	struct stat status;
	struct dirent *entry;
	DIR *folder;
	int n = 0;

	machine_forget();
	ask();
	folder = opendir(cache_folder);
	CHECK(folder);
	while ((entry = readdir(folder)))
		n += entry->d_name[0] != '.' && /* see runtime/device/rtc.h */
		     strcmp(entry->d_name, "images") != 0;
	closedir(folder);
	CHECK_EQ(n, 1);
	CHECK(!stat(path, &status));
	CHECK_EQ(status.st_mode & 077, 0);
}

PEAL_TEST_MAIN(machine_begin();
	       snprintf(path, sizeof(path), "%s/probe.json", cache_folder);
	       RUN(second_process_uses_the_cached_result);
	       RUN(changed_links_invalidate_the_cached_result);
	       RUN(probe_fresh_ignores_cache_and_off_skips_probe);
	       RUN(damaged_cache_file_is_ignored_and_rewritten);
	       RUN(foreign_or_invalid_cache_file_is_ignored);
	       RUN(unwritable_cache_folder_is_no_error);
	       RUN(missing_home_disables_cache_without_error);
	       RUN(probe_leaves_only_its_cache_file);)
