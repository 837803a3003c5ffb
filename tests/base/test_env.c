/* SPDX-License-Identifier: Apache-2.0 */
/* Shows the settings: defaults, environment, units, types and refusals. */
#include <peal/errors.h>

#include "peal_test.h"
#include "runtime/base/env.h"
#include "runtime/base/log.h"

static void clear(void)
{
	struct peali_env_view view;
	int i;

	for (i = 0; i < PEALI_ENV_COUNT; i++) {
		peali_env_show((enum peali_env)i, &view);
		unsetenv(view.name);
	}
}

PEAL_TEST(defaults_are_valid_and_have_origin_default)
{
	struct peali_env_view view;
	uint64_t n;
	int i;

	clear();
	CHECK_OK(peali_env_check());
	for (i = 0; i < PEALI_ENV_COUNT; i++) {
		CHECK_OK(peali_env_show((enum peali_env)i, &view));
		CHECK(!strcmp(view.origin, "default"));
		CHECK(!strncmp(view.name, "PEAL_", 5));
		CHECK(view.help[0] && view.allowed[0]);
	}
	CHECK_OK(peali_env_number(PEALI_ENV_HOST_DEVICES, &n));
	CHECK_EQ(n, 2);
	CHECK_OK(peali_env_number(PEALI_ENV_HOST_MEMORY, &n));
	CHECK_EQ(n, 4ULL << 30);
	CHECK_OK(peali_env_number(PEALI_ENV_LEASE_MS, &n));
	CHECK_EQ(n, 5000);
	CHECK_OK(peali_env_choice(PEALI_ENV_HOST_PIN, &i));
	CHECK_EQ(i, PEALI_PIN_AUTO);
	CHECK_OK(peali_env_choice(PEALI_ENV_PROBE, &i));
	CHECK_EQ(i, PEALI_PROBE_CACHE);
}

PEAL_TEST(environment_is_read_at_each_call)
{
	struct peali_env_view view;
	uint64_t n;

	setenv("PEAL_HOST_DEVICES", "64", 1);
	CHECK_OK(peali_env_number(PEALI_ENV_HOST_DEVICES, &n));
	CHECK_EQ(n, 64);
	setenv("PEAL_HOST_DEVICES", "1", 1);
	CHECK_OK(peali_env_number(PEALI_ENV_HOST_DEVICES, &n));
	CHECK_EQ(n, 1);
	CHECK_OK(peali_env_show(PEALI_ENV_HOST_DEVICES, &view));
	CHECK(!strcmp(view.value, "1"));
	CHECK(!strcmp(view.origin, "environment"));
	CHECK(!strcmp(view.default_text, "2"));
}

PEAL_TEST(empty_variable_counts_as_not_set)
{
	struct peali_env_view view;

	setenv("PEAL_HOST_DEVICES", "", 1);
	CHECK_OK(peali_env_show(PEALI_ENV_HOST_DEVICES, &view));
	CHECK(!strcmp(view.value, "2"));
	CHECK(!strcmp(view.origin, "default"));
	clear();
}

PEAL_TEST(sizes_accept_unit_suffixes)
{
	static const struct {
		const char *text;
		uint64_t bytes;
	} cases[] = {
		{ "8388608", 8 << 20 }, { "8192K", 8 << 20 }, { "8M", 8 << 20 },
		{ "3g", 3ULL << 30 },	{ "1T", 1ULL << 40 },
	};
	uint64_t n;
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		setenv("PEAL_HOST_MEMORY", cases[i].text, 1);
		CHECK_OK(peali_env_number(PEALI_ENV_HOST_MEMORY, &n));
		CHECK_EQ(n, cases[i].bytes);
	}
	clear();
}

PEAL_TEST(largest_number_is_accepted)
{
	uint64_t n;

	setenv("PEAL_SIM_SEED", "18446744073709551615", 1);
	CHECK_OK(peali_env_number(PEALI_ENV_SIM_SEED, &n));
	CHECK_EQ(n, UINT64_MAX);
	setenv("PEAL_SIM_SEED", "18446744073709551616", 1);
	CHECK_EQ(peali_env_number(PEALI_ENV_SIM_SEED, &n), PEAL_EINVAL);
	unsetenv("PEAL_SIM_SEED");
}

PEAL_TEST(invalid_value_error_names_setting_value_and_range)
{
	static const struct {
		const char *name, *value, *allowed;
	} cases[] = {
		{ "PEAL_HOST_DEVICES", "0", "allowed 1..64); use 2" },
		{ "PEAL_HOST_DEVICES", "65", "allowed 1..64); use 2" },
		{ "PEAL_HOST_DEVICES", "two", "allowed 1..64); use 2" },
		{ "PEAL_HOST_DEVICES", "-1", "allowed 1..64); use 2" },
		{ "PEAL_HOST_DEVICES", "+2", "allowed 1..64); use 2" },
		{ "PEAL_HOST_DEVICES", " 2", "allowed 1..64); use 2" },
		{ "PEAL_HOST_DEVICES", "2 ", "allowed 1..64); use 2" },
		{ "PEAL_HOST_DEVICES", "2K", "allowed 1..64); use 2" },
		{ "PEAL_HOST_DEVICES", "18446744073709551618",
		  "allowed 1..64); use 2" },
		{ "PEAL_HOST_MEMORY", "4095K",
		  "allowed 4M..1T bytes, with suffix K, M, G or T" },
		{ "PEAL_HOST_MEMORY", "2T",
		  "allowed 4M..1T bytes, with suffix K, M, G or T" },
		{ "PEAL_HOST_MEMORY", "4GiB", "K, M, G or T" },
		{ "PEAL_HOST_MEMORY", "G", "K, M, G or T" },
		{ "PEAL_HOST_MEMORY", "18014398509481985K",
		  "allowed 4M..1T bytes, with suffix K, M, G or T" },
		{ "PEAL_HOST_PIN", "aut", "auto|on|off" },
		{ "PEAL_HOST_PIN", "autos", "auto|on|off" },
		{ "PEAL_HOST_PIN", "on|off", "auto|on|off" },
		{ "PEAL_LOG", "4", "allowed 0|warnings|1|2|3); use warnings" },
		{ "PEAL_LEASE_MS", "99",
		  "_MS': is no number of the range (99, "
		  "allowed 100..3600000)" },
		{ "PEAL_CONTROL_TIMEOUT_MS", "99",
		  "_MS': is no number of the "
		  "range (99, allowed 100..3600000)" },
		{ "PEAL_PROBE", "On", "cache|fresh|off" },
		{ "PEAL_CACHE_DIR", "here", "absolute path" },
	};
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		setenv(cases[i].name, cases[i].value, 1);
		CHECK_EQ(peali_env_check(), PEAL_EINVAL);
		CHECK_CONTAINS(peal_last_error()->text, cases[i].name);
		CHECK_CONTAINS(peal_last_error()->text, cases[i].value);
		CHECK_CONTAINS(peal_last_error()->text, cases[i].allowed);
		unsetenv(cases[i].name);
		CHECK_OK(peali_env_check());
	}
}

PEAL_TEST(default_log_level_enables_warnings_only)
{
	static const struct {
		const char *value;
		int warnings, level;
	} cases[] = {
		{ "0", 0, 0 },	  { "", 1, 0 },	 { "warnings", 1, 0 },
		{ "1", 1, 1 },	  { "2", 1, 2 }, { "3", 1, 3 },
		{ "loud", 0, 0 },
	};
	struct peali_env_view view;
	size_t i;
	int level;

	clear();
	CHECK_OK(peali_env_show(PEALI_ENV_LOG, &view));
	CHECK(!strcmp(view.value, "warnings"));
	CHECK(!strcmp(view.default_text, "warnings"));
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		setenv("PEAL_LOG", cases[i].value, 1);
		CHECK_EQ(peali_warnings_wanted(), cases[i].warnings);
		for (level = 1; level <= 3; level++)
			CHECK_EQ(peali_log_wanted(level),
				 level <= cases[i].level);
	}
	clear();
}

PEAL_TEST(invalid_value_is_shown_with_its_origin)
{
	struct peali_env_view view;

	setenv("PEAL_LOG", "loud", 1);
	CHECK_EQ(peali_env_show(PEALI_ENV_LOG, &view), PEAL_EINVAL);
	CHECK(!strcmp(view.value, "loud"));
	CHECK(!strcmp(view.origin, "environment"));
	clear();
}

PEAL_TEST(long_value_is_truncated_with_dots)
{
	struct peali_env_view view;
	const char *all;
	char text[1000];

	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = 0;
	setenv("PEAL_HOST_LINKS", text, 1);
	CHECK_OK(peali_env_show(PEALI_ENV_HOST_LINKS, &view));
	CHECK_EQ(strlen(view.value), sizeof(view.value) - 1);
	CHECK(!strcmp(view.value + sizeof(view.value) - 4, "..."));
	CHECK_OK(peali_env_text(PEALI_ENV_HOST_LINKS, &all));
	CHECK(!strcmp(all, text));
	clear();
}

PEAL_TEST(choice_settings_return_the_list_index)
{
	int i;

	setenv("PEAL_HOST_PIN", "on", 1);
	CHECK_OK(peali_env_choice(PEALI_ENV_HOST_PIN, &i));
	CHECK_EQ(i, PEALI_PIN_ON);
	setenv("PEAL_HOST_PIN", "off", 1);
	CHECK_OK(peali_env_choice(PEALI_ENV_HOST_PIN, &i));
	CHECK_EQ(i, PEALI_PIN_OFF);
	setenv("PEAL_PROBE", "fresh", 1);
	CHECK_OK(peali_env_choice(PEALI_ENV_PROBE, &i));
	CHECK_EQ(i, PEALI_PROBE_FRESH);
	setenv("PEAL_PROBE", "off", 1);
	CHECK_OK(peali_env_choice(PEALI_ENV_PROBE, &i));
	CHECK_EQ(i, PEALI_PROBE_OFF);
	clear();
}

PEAL_TEST(cache_folder_uses_the_first_set_variable)
{
	char path[64];

	setenv("HOME", "/h", 1);
	setenv("XDG_CACHE_HOME", "/x", 1);
	setenv("PEAL_CACHE_DIR", "/c", 1);
	CHECK_OK(peali_env_path(PEALI_ENV_CACHE_DIR, path, 64));
	CHECK(!strcmp(path, "/c"));
	unsetenv("PEAL_CACHE_DIR");
	CHECK_OK(peali_env_path(PEALI_ENV_CACHE_DIR, path, 64));
	CHECK(!strcmp(path, "/x/peal"));
	setenv("XDG_CACHE_HOME", "relative", 1);
	CHECK_OK(peali_env_path(PEALI_ENV_CACHE_DIR, path, 64));
	CHECK(!strcmp(path, "/h/.cache/peal"));
	CHECK_EQ(peali_env_path(PEALI_ENV_CACHE_DIR, path, 14), PEAL_EINVAL);
	CHECK_OK(peali_env_path(PEALI_ENV_CACHE_DIR, path, 15));
	unsetenv("XDG_CACHE_HOME");
	unsetenv("HOME");
	CHECK_EQ(peali_env_path(PEALI_ENV_CACHE_DIR, path, 64), PEAL_EINVAL);
	CHECK_CONTAINS(peal_last_error()->text, "HOME");
	/* everything else works without a home folder */
	CHECK_OK(peali_env_check());
}

PEAL_TEST(getter_of_wrong_type_is_refused)
{
	const char *text;
	uint64_t n;
	char path[8];
	int i;

	CHECK_EQ(peali_env_number(PEALI_ENV_PROBE, &n), PEAL_EINVAL);
	CHECK_EQ(peali_env_choice(PEALI_ENV_RANK, &i), PEAL_EINVAL);
	CHECK_EQ(peali_env_text(PEALI_ENV_LOG, &text), PEAL_EINVAL);
	CHECK_EQ(peali_env_path(PEALI_ENV_LOG, path, 8), PEAL_EINVAL);
	CHECK_EQ(peali_env_number(PEALI_ENV_COUNT, &n), PEAL_EINVAL);
}

PEAL_TEST(misspelt_setting_is_found_with_the_nearest_name)
{
	static const struct {
		const char *name, *nearest;
	} cases[] = {
		{ "PEAL_LOGG", "PEAL_LOG" },
		{ "PEAL_HOST_DEVICE", "PEAL_HOST_DEVICES" },
		{ "PEAL_log", NULL },
		{ "PEAL_LEASE_MSEC", "PEAL_LEASE_MS" },
		{ "PEAL_RENDEZVOUZ", "PEAL_RENDEZVOUS" },
	};
	char name[PEALI_ENV_NAME_BYTES];
	const char *nearest;
	size_t i;

	clear();
	setenv("PEAL_LOG", "0", 1);
	setenv("PEAL_TEST_SLICE", "1/2", 1);
	CHECK(!peali_env_unknown(0, name, &nearest));
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		setenv(cases[i].name, "1", 1);
		CHECK_EQ(peali_env_unknown(0, name, &nearest), 1);
		CHECK(!strcmp(name, cases[i].name));
		CHECK(!strcmp(nearest, cases[i].nearest ? cases[i].nearest :
							  "PEAL_LOG"));
		CHECK(!peali_env_unknown(1, name, &nearest));
		unsetenv(cases[i].name);
	}
	setenv("PEAL_A\033", "1", 1);
	setenv("PEAL_B", "1", 1);
	CHECK(peali_env_unknown(0, name, &nearest) &&
	      peali_env_unknown(1, name, &nearest));
	CHECK(!peali_env_unknown(2, name, &nearest));
	unsetenv("PEAL_B");
	CHECK(peali_env_unknown(0, name, &nearest));
	CHECK(!strcmp(name, "PEAL_A\\x1b"));
	unsetenv("PEAL_A\033");
}

PEAL_TEST_MAIN(RUN(defaults_are_valid_and_have_origin_default);
	       RUN(environment_is_read_at_each_call);
	       RUN(empty_variable_counts_as_not_set);
	       RUN(sizes_accept_unit_suffixes); RUN(largest_number_is_accepted);
	       RUN(invalid_value_error_names_setting_value_and_range);
	       RUN(default_log_level_enables_warnings_only);
	       RUN(invalid_value_is_shown_with_its_origin);
	       RUN(long_value_is_truncated_with_dots);
	       RUN(choice_settings_return_the_list_index);
	       RUN(cache_folder_uses_the_first_set_variable);
	       RUN(getter_of_wrong_type_is_refused);
	       RUN(misspelt_setting_is_found_with_the_nearest_name);)
