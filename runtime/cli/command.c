/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/cli/command.h"

#include <peal/device.h>
#include <peal/runtime.h>

#include "runtime/cli/output.h"

const struct argp_option peali_json_options[] = {
	{ "json", 'j', NULL, 0, "print an object as JSON instead of tables",
	  0 },
	{ 0 },
};

error_t peali_json_parse(int key, char *argument, struct argp_state *state)
{
	(void)argument;
	if (key != 'j')
		return ARGP_ERR_UNKNOWN;
	*(int *)state->input = 1;
	peali_json_due(stdout);
	return 0;
}

int peali_parse_json_only(int argc, char **argv, const char *help)
{
	struct argp argp = {
		.options = peali_json_options,
		.parser = peali_json_parse,
		.doc = help,
	};
	int json = 0;

	argp_parse(&argp, argc, argv, 0, NULL, &json);
	return json;
}

int peali_open_runtime(struct peal_runtime **runtime_out)
{
	if (peal_runtime_open(NULL, runtime_out) < 0)
		return peali_say_error(NULL);
	return 0;
}

int peali_all_emulated(struct peal_runtime *runtime)
{
	int n = peal_device_count(runtime);

	for (int i = 0; i < n; i++) {
		struct peal_device_info device;

		if (peal_device_info(runtime, i, &device) < 0 ||
		    !device.emulated)
			return 0;
	}
	return 1;
}
