/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/base/env.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/base/error.h"
#include "runtime/base/refusal.h"
#include "runtime/base/text.h"

/* Typed access to the environment variables of env.h. */

#define CALL "peal_runtime_open"

struct setting {
	const char *name;
	enum peali_env_type type;
	uint64_t lowest, highest;
	const char *choices; /* separated by | */
	const char *value; /* the default */
	const char *help;
};

#define PEALI_ENV_ROW(name, type, low, high, choices, value, help)               \
	{                                                                        \
		"PEAL_" #name, PEALI_ENV_TYPE_##type, low, high, choices, value, \
		help                                                             \
	},
static const struct setting table[PEALI_ENV_COUNT] = { PEALI_ENV_TABLE(
	PEALI_ENV_ROW) };
#undef PEALI_ENV_ROW

/* Returns the variable's value, or NULL if it is not set or empty. */
static const char *environment(const struct setting *s)
{
	const char *text = getenv(s->name);

	return text && *text ? text : NULL;
}

static const char *in_force(const struct setting *s)
{
	const char *text = environment(s);

	return text ? text : s->value;
}

/* Writes a size with the largest unit that divides it. */
static void write_bytes(uint64_t bytes, char *out, size_t out_bytes)
{
	static const char units[] = " KMGT";
	int unit = 0;

	while (unit < 4 && bytes && bytes % 1024 == 0) {
		bytes /= 1024;
		unit++;
	}
	snprintf(out, out_bytes, unit ? "%llu%c" : "%llu",
		 (unsigned long long)bytes, units[unit]);
}

static void write_allowed(const struct setting *s, char *out, size_t out_bytes)
{
	char low[24], high[24];

	switch (s->type) {
	case PEALI_ENV_TYPE_NUMBER:
		snprintf(out, out_bytes, "%llu..%llu",
			 (unsigned long long)s->lowest,
			 (unsigned long long)s->highest);
		return;
	case PEALI_ENV_TYPE_BYTES:
		write_bytes(s->lowest, low, sizeof(low));
		write_bytes(s->highest, high, sizeof(high));
		snprintf(out, out_bytes,
			 "%s..%s bytes, with suffix K, M, G or T", low, high);
		return;
	case PEALI_ENV_TYPE_CHOICE:
		snprintf(out, out_bytes, "%s", s->choices);
		return;
	case PEALI_ENV_TYPE_PATH:
		snprintf(out, out_bytes, "an absolute path");
		return;
	case PEALI_ENV_TYPE_TEXT:
		break;
	}
	snprintf(out, out_bytes, "text");
}

static int refuse(const struct setting *s, const char *text)
{
	static const char *const problems[] = {
		[PEALI_ENV_TYPE_NUMBER] = "is no number of the range",
		[PEALI_ENV_TYPE_BYTES] = "is no size of the range",
		[PEALI_ENV_TYPE_CHOICE] = "is no such choice",
		[PEALI_ENV_TYPE_TEXT] = "is no such text",
		[PEALI_ENV_TYPE_PATH] = "is no absolute path",
	};
	char allowed[96];

	write_allowed(s, allowed, sizeof(allowed));
	return PEALI_REFUSE(PEAL_EINVAL, CALL, .object = "variable",
			    .name = s->name, .problem = problems[s->type],
			    .value = text, .allowed = allowed,
			    .remedy = *s->value ?
					      PEALI_PRINT("use %s", s->value) :
					      "unset it");
}

static int wrong_type(const struct setting *s)
{
	return peali_fail(PEAL_EINVAL, CALL,
			  "setting %s has another type than requested",
			  s->name);
}

static const struct setting *lookup(enum peali_env setting)
{
	if ((unsigned)setting < PEALI_ENV_COUNT)
		return &table[setting];
	peali_fail(PEAL_EINVAL, CALL, "there is no setting %d", (int)setting);
	return NULL;
}

/* Returns the shift that a unit letter means; -1: no such unit. */
static int unit_shift(const char *unit)
{
	static const char letters[] = "KkMmGgTt";
	const char *found;

	if (!*unit)
		return 0;
	found = strchr(letters, *unit);
	if (!found || unit[1])
		return -1;
	return (int)((found - letters) / 2 + 1) * 10;
}

/* Accepts digits only, as strtoull also accepts signs and blanks. */
static int read_number(const struct setting *s, const char *text, uint64_t *out)
{
	uint64_t value = 0;
	const char *at = text;
	int shift;

	for (; *at >= '0' && *at <= '9'; at++) {
		uint64_t digit = (uint64_t)(*at - '0');

		if (value > (UINT64_MAX - digit) / 10)
			return refuse(s, text);
		value = value * 10 + digit;
	}
	if (at == text)
		return refuse(s, text);
	shift = unit_shift(at);
	if (shift < 0 || (shift && s->type != PEALI_ENV_TYPE_BYTES))
		return refuse(s, text);
	if (value > UINT64_MAX >> shift)
		return refuse(s, text);
	value <<= shift;
	if (value < s->lowest || value > s->highest)
		return refuse(s, text);
	*out = value;
	return 0;
}

static int read_choice(const struct setting *s, const char *text, int *out)
{
	const char *choice = s->choices;
	size_t length = strlen(text);
	int index;

	for (index = 0; *choice; index++) {
		size_t n = strcspn(choice, "|");

		if (n == length && !memcmp(choice, text, n)) {
			*out = index;
			return 0;
		}
		choice += n + (choice[n] == '|');
	}
	return refuse(s, text);
}

static int write_path(const char *name, char *out, size_t bytes,
		      const char *folder, const char *rest)
{
	int n = snprintf(out, bytes, "%s%s", folder, rest);

	if (n < 0 || (size_t)n >= bytes)
		return PEALI_REFUSE(
			PEAL_EINVAL, CALL, .object = "variable", .name = name,
			.problem = "is a path that is too long",
			.value = PEALI_PRINT("%zu bytes",
					     strlen(folder) + strlen(rest)),
			.allowed = PEALI_PRINT("1..%zu", bytes - 1),
			.remedy = "set it to a shorter path");
	return 0;
}

/*
 * Writes the path of a setting. A relative path in our own variable is an
 * error. A relative path in XDG_CACHE_HOME is ignored, as the XDG base
 * directory specification demands.
 */
static int read_path(const struct setting *s, char *out, size_t bytes)
{
	const char *text = environment(s);
	const char *folder;

	if (text && *text != '/')
		return refuse(s, text);
	if (text)
		return write_path(s->name, out, bytes, text, "");
	if (s != &table[PEALI_ENV_CACHE_DIR])
		return write_path(s->name, out, bytes, "", "");
	folder = getenv("XDG_CACHE_HOME");
	if (folder && *folder == '/')
		return write_path(s->name, out, bytes, folder, "/peal");
	folder = getenv("HOME");
	if (folder && *folder == '/')
		return write_path(s->name, out, bytes, folder, "/.cache/peal");
	return peali_fail(PEAL_EINVAL, CALL,
			  "%s, XDG_CACHE_HOME and HOME are all not set; set "
			  "one of them to an absolute path",
			  s->name);
}

int peali_env_given(enum peali_env setting)
{
	const struct setting *s = lookup(setting);

	return s && environment(s);
}

int peali_env_number(enum peali_env setting, uint64_t *value_out)
{
	const struct setting *s = lookup(setting);

	if (!s)
		return PEAL_EINVAL;
	if (s->type != PEALI_ENV_TYPE_NUMBER && s->type != PEALI_ENV_TYPE_BYTES)
		return wrong_type(s);
	return read_number(s, in_force(s), value_out);
}

int peali_env_choice(enum peali_env setting, int *index_out)
{
	const struct setting *s = lookup(setting);

	if (!s)
		return PEAL_EINVAL;
	if (s->type != PEALI_ENV_TYPE_CHOICE)
		return wrong_type(s);
	return read_choice(s, in_force(s), index_out);
}

int peali_env_text(enum peali_env setting, const char **text_out)
{
	const struct setting *s = lookup(setting);

	if (!s)
		return PEAL_EINVAL;
	if (s->type != PEALI_ENV_TYPE_TEXT)
		return wrong_type(s);
	*text_out = in_force(s);
	return 0;
}

int peali_env_path(enum peali_env setting, char *path_out, size_t path_bytes)
{
	const struct setting *s = lookup(setting);

	if (!s)
		return PEAL_EINVAL;
	if (s->type != PEALI_ENV_TYPE_PATH)
		return wrong_type(s);
	return read_path(s, path_out, path_bytes);
}

/* Returns 0 if the value in force is allowed, else PEAL_EINVAL. */
static int check(const struct setting *s)
{
	char path[4096];
	uint64_t number;
	int index;

	switch (s->type) {
	case PEALI_ENV_TYPE_NUMBER:
	case PEALI_ENV_TYPE_BYTES:
		return read_number(s, in_force(s), &number);
	case PEALI_ENV_TYPE_CHOICE:
		return read_choice(s, in_force(s), &index);
	case PEALI_ENV_TYPE_PATH:
		/* A missing home folder only disables the cache: no error. */
		return environment(s) ? read_path(s, path, sizeof(path)) : 0;
	case PEALI_ENV_TYPE_TEXT:
		break;
	}
	return 0;
}

int peali_env_check(void)
{
	int i, r;

	for (i = 0; i < PEALI_ENV_COUNT; i++) {
		r = check(&table[i]);
		if (r < 0)
			return r;
	}
	return 0;
}

int peali_env_show(enum peali_env setting, struct peali_env_view *out)
{
	const struct setting *s = lookup(setting);
	char path[4096];
	const char *text;

	if (!s)
		return PEAL_EINVAL;
	text = in_force(s);
	if (s->type == PEALI_ENV_TYPE_PATH && !environment(s))
		text = read_path(s, path, sizeof(path)) < 0 ? "" : path;
	out->name = s->name;
	out->help = s->help;
	out->origin = environment(s) ? "environment" : "default";
	out->default_text = s->value;
	write_allowed(s, out->allowed, sizeof(out->allowed));
	if (strlen(text) < sizeof(out->value))
		memcpy(out->value, text, strlen(text) + 1);
	else
		snprintf(out->value, sizeof(out->value), "%.*s...",
			 (int)sizeof(out->value) - 4, text);
	return check(s);
}

/* ---- variables that are no settings --------------------------------------- */

/* Returns 1 for a variable of the tests, of the build or of `peal-cc`. */
static int is_of_others(const char *name)
{
	static const char *const begins[] = {
		"PEAL_TEST_",  "PEAL_DOUBLE_",	  "PEAL_SWEEP",
		"PEAL_CHECK_", "PEAL_STRESS_",	  "PEAL_BENCH_",
		"PEAL_BUILD_", "PEAL_SOURCE_",	  "PEAL_IMAGE_",
		"PEAL_CC_",    "PEAL_TSAN_",	  "PEAL_TARGETS=",
		"PEAL_NVCC=",  "PEAL_HIP_CLANG=", "PEAL_SIM_SEEDS=",
	};

	for (size_t i = 0; i < sizeof(begins) / sizeof(begins[0]); i++)
		if (!strncmp(name, begins[i], strlen(begins[i])))
			return 1;
	return 0;
}

static int is_named(const struct setting *s, const char *name, size_t n)
{
	return strlen(s->name) == n && !memcmp(s->name, name, n);
}

/* Returns the setting that is most similar to a name of n bytes. */
static const struct setting *nearest_to(const char *name, size_t n)
{
	const struct setting *nearest = table;
	unsigned least = UINT_MAX;

	for (int i = 0; i < PEALI_ENV_COUNT; i++) {
		unsigned edits = peali_text_edits(name, n, table[i].name);

		if (is_named(&table[i], name, n))
			return &table[i];
		if (edits < least) {
			least = edits;
			nearest = &table[i];
		}
	}
	return nearest;
}

int peali_env_unknown(int number, char name_out[PEALI_ENV_NAME_BYTES],
		      const char **nearest_out)
{
	const struct setting *nearest;
	char **at, *end;

	for (at = environ; at && *at; at++) {
		end = strchr(*at, '=');
		if (!end || strncmp(*at, "PEAL_", 5) != 0 || is_of_others(*at))
			continue;
		nearest = nearest_to(*at, (size_t)(end - *at));
		if (is_named(nearest, *at, (size_t)(end - *at)) || number-- > 0)
			continue;
		peali_text_format(name_out, PEALI_ENV_NAME_BYTES, "%.*s",
				  (int)(end - *at), *at);
		*nearest_out = nearest->name;
		return 1;
	}
	return 0;
}
