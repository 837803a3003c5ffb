/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Settings. The first byte selects a setting, the rest is its value. The value
 * also becomes the name of a variable PEAL_..., which may be a typing error.
 */
#include "fuzz/fuzz.h"

#include <peal/errors.h>

#include "runtime/base/env.h"

/* Returns the result of the getter of a setting's type. */
static int get(enum peali_env setting)
{
	const char *text = NULL;
	char path[256] = "";
	uint64_t number = 0;
	int result, choice = -1;

	result = peali_env_number(setting, &number);
	if (!result || !strstr(peal_last_error()->text, "another type"))
		return result;
	result = peali_env_choice(setting, &choice);
	if (!result)
		FUZZ_CHECK(choice >= 0);
	if (!result || !strstr(peal_last_error()->text, "another type"))
		return result;
	result = peali_env_text(setting, &text);
	if (!result)
		FUZZ_CHECK(text);
	if (!result || !strstr(peal_last_error()->text, "another type"))
		return result;
	result = peali_env_path(setting, path, sizeof(path));
	FUZZ_CHECK(result || !*path || *path == '/');
	return result;
}

static void check_unknown(const char *text)
{
	char variable[80], name[PEALI_ENV_NAME_BYTES];
	const char *nearest = NULL;
	int i;

	snprintf(variable, sizeof(variable), "PEAL_%.70s", text);
	variable[strcspn(variable, "=")] = 0;
	setenv(variable, "1", 1);
	for (i = 0; peali_env_unknown(i, name, &nearest); i++)
		FUZZ_CHECK(nearest && !strncmp(nearest, "PEAL_", 5));
	FUZZ_CHECK(i <= 1);
	unsetenv(variable);
}

FUZZ_TARGET(settings)
{
	struct fuzz_input in = { data, size };
	enum peali_env setting =
		(enum peali_env)(fuzz_u8(&in) % PEALI_ENV_COUNT);
	char *text = fuzz_text(in.at, in.left);
	struct peali_env_view view;
	int shown, result;

	peali_env_show(setting, &view);
	setenv(view.name, text, 1);
	shown = peali_env_show(setting, &view);
	FUZZ_CHECK(!shown || shown == PEAL_EINVAL);
	FUZZ_CHECK(strlen(view.value) < sizeof(view.value));
	FUZZ_CHECK(peali_env_check() == shown);
	if (shown)
		FUZZ_CHECK(strstr(peal_last_error()->text, view.name));
	result = get(setting);
	FUZZ_CHECK(!result || result == PEAL_EINVAL);
	if (peali_env_given(setting) && strlen(text) < 200)
		FUZZ_CHECK(result == shown);
	unsetenv(view.name);
	check_unknown(text);
	free(text);
	return 0;
}
