/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The file with the results of the probe. The first byte decides what the input
 * is: the whole file, or the value of "pairs" behind a valid header.
 */
#include "fuzz/fuzz.h"

#include "p2p/probe_cache.h"

#define FILE_PATH "/probe.json"

static const struct peali_probe_cache_key key = { "host",   "a", "b",
						  "nvlink", "",	 "0-1:nvlink" };

/* Returns the text of a valid file up to the value of "pairs". */
static const char *header(void)
{
	static char text[1024];
	struct peal_pair_info info = { .verdict = PEAL_VERDICT_OK };
	struct peali_probe_cache cache = { 0 };
	char path[128], *pairs;
	FILE *file;
	size_t n;

	if (text[0])
		return text;
	setenv("PEAL_CACHE_DIR", fuzz_folder(), 1);
	peali_probe_cache_store(&cache, &key, &info, 1);
	peali_probe_cache_close(&cache);
	snprintf(path, sizeof(path), "%s" FILE_PATH, fuzz_folder());
	file = fopen(path, "rb");
	FUZZ_CHECK(file);
	n = fread(text, 1, sizeof(text) - 1, file);
	text[n] = 0;
	fclose(file);
	pairs = strstr(text, "\"pairs\":");
	FUZZ_CHECK(pairs);
	pairs[strlen("\"pairs\":")] = 0;
	return text;
}

static void write_file(int whole, const uint8_t *bytes, size_t n)
{
	size_t before = whole ? 0 : strlen(header());
	char *text = malloc(before + n + 2);

	FUZZ_CHECK(text);
	memcpy(text, header(), before);
	if (n)
		memcpy(text + before, bytes, n);
	text[before + n] = '}';
	fuzz_write(FILE_PATH, text, before + n + !whole);
	free(text);
}

FUZZ_TARGET(probe_cache)
{
	struct fuzz_input in = { data, size };
	struct peali_probe_cache cache = { 0 };
	struct peal_pair_info info = { .verdict = PEAL_VERDICT_OK };
	int whole = fuzz_u8(&in) % 2, measured = 0;

	header();
	write_file(whole, in.at, in.left);
	if (peali_probe_cache_find(&cache, &key, &info, &measured)) {
		FUZZ_CHECK(peal_verdict_name(info.verdict)[0] != '?');
		FUZZ_CHECK(info.verdict != PEAL_VERDICT_UNKNOWN);
		FUZZ_CHECK(strlen(info.reason) < sizeof(info.reason));
	}
	/* a store merges the file with the new result, which a find returns */
	info.verdict = PEAL_VERDICT_SLOW;
	peali_probe_cache_store(&cache, &key, &info, 1);
	peali_probe_cache_close(&cache);
	info.verdict = PEAL_VERDICT_UNKNOWN;
	FUZZ_CHECK(peali_probe_cache_find(&cache, &key, &info, &measured));
	FUZZ_CHECK(info.verdict == PEAL_VERDICT_SLOW && measured);
	peali_probe_cache_close(&cache);
	return 0;
}
