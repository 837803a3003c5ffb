/* SPDX-License-Identifier: Apache-2.0 */
/* `peal doctor`: checks the machine and suggests fixes. */
#include "runtime/cli/doctor.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <peal/peal.h>

#include "runtime/base/env.h"
#include "runtime/base/number.h"
#include "runtime/base/refusal.h"
#include "runtime/base/text.h"
#include "runtime/cli/command.h"

static const char *const health_names[] = { "PASS", "WARN", "FAIL", "WAIVED" };

void peali_doctor_add(struct peali_doctor *doctor, const char *check,
		      enum peali_health health, const char *fix,
		      const char *format, ...)
{
	json_t *row = peali_row_append(doctor->rows);
	va_list arguments;
	char text[512];

	va_start(arguments, format);
	peali_text_vformat(text, sizeof(text), format, arguments);
	va_end(arguments);
	doctor->n[health]++;
	peali_row_text(row, "status", "%s", health_names[health]);
	peali_row_text(row, "check", "%s", check);
	peali_row_text(row, "finding", "%s", text);
	if (fix)
		peali_row_text(row, "fix", "%s", fix);
	else
		peali_row_null(row, "fix", "nothing to do");
}

static void check_env(struct peali_doctor *doctor)
{
	if (peali_env_check() < 0)
		peali_doctor_add(doctor, "settings", PEALI_HEALTH_FAIL,
				 "set it to an allowed value, or unset it",
				 "%s", peal_last_error()->text);
	else
		peali_doctor_add(doctor, "settings", PEALI_HEALTH_PASS, NULL,
				 "all %d are valid; peal info lists them",
				 PEALI_ENV_COUNT);
}

/* Adds one row for each variable that looks like a setting, but is none. */
static void check_unknown(struct peali_doctor *doctor)
{
	char name[PEALI_ENV_NAME_BYTES], fix[2 * PEALI_ENV_NAME_BYTES + 64];
	const char *nearest;

	for (int i = 0; peali_env_unknown(i, name, &nearest); i++) {
		peali_text_format(fix, sizeof(fix),
				  "set %s in its place, or unset it; peal info "
				  "lists all settings",
				  nearest);
		peali_doctor_add(doctor, "unknown setting", PEALI_HEALTH_WARN,
				 fix,
				 "%s is set, but it is no setting of Peal; the "
				 "nearest one is %s",
				 name, nearest);
	}
}

/* Returns 1 if the folder, or its nearest existing parent, is writable. */
static int writable(char *path)
{
	for (;;) {
		char *slash = strrchr(path, '/');

		if (access(path, F_OK) == 0)
			return access(path, W_OK | X_OK) == 0;
		if (errno != ENOENT || !slash)
			return 0;
		slash[slash == path] = 0;
	}
}

static void check_cache(struct peali_doctor *doctor)
{
	static const char fix[] = "set PEAL_CACHE_DIR to a writable folder";
	char path[4096];
	char shown[4096];

	if (peali_env_path(PEALI_ENV_CACHE_DIR, path, sizeof(path)) < 0) {
		peali_doctor_add(doctor, "cache folder", PEALI_HEALTH_WARN, fix,
				 "%s", peal_last_error()->text);
		return;
	}
	strcpy(shown, path);
	if (writable(path))
		peali_doctor_add(doctor, "cache folder", PEALI_HEALTH_PASS,
				 NULL, "%s", PEALI_CUT(300, shown));
	else
		peali_doctor_add(doctor, "cache folder", PEALI_HEALTH_WARN, fix,
				 "%s cannot be written: every run probes each "
				 "pair again",
				 PEALI_CUT(300, shown));
}

/* Returns the severity of a verdict for users of the pair. */
static enum peali_health verdict_health(enum peal_verdict verdict)
{
	switch (verdict) {
	case PEAL_VERDICT_OK:
		return PEALI_HEALTH_PASS;
	case PEAL_VERDICT_UNKNOWN:
		return PEALI_HEALTH_WAIVED;
	case PEAL_VERDICT_NO_ACCESS:
	case PEAL_VERDICT_SLOW:
		return PEALI_HEALTH_WARN;
	default:
		return PEALI_HEALTH_FAIL;
	}
}

static const char *verdict_fix(enum peal_verdict verdict)
{
	switch (verdict) {
	case PEAL_VERDICT_OK:
		return NULL;
	case PEAL_VERDICT_UNKNOWN:
		return "PEAL_PROBE=fresh probes it";
	case PEAL_VERDICT_NO_ACCESS:
		return "use a pair with NVLink or under one PCIe switch "
		       "(emulated devices: PEAL_HOST_LINKS)";
	case PEAL_VERDICT_SLOW:
		return "none, if the route in use is fast enough";
	case PEAL_VERDICT_FAULTED:
		return "fix what the text names; if it names an access, "
		       "switch off PCIe ACS and the IOMMU, or forbid the pair";
	default:
		return "switch off PCIe ACS and the IOMMU (emulated devices: "
		       "the fault is in PEAL_HOST_LINKS), or forbid the pair; "
		       "then PEAL_PROBE=fresh";
	}
}

/* Returns 1 if a pair lacks the 16-byte atoms of its devices. */
static int is_torn(struct peal_runtime *runtime,
		   const struct peal_pair_info *info)
{
	struct peal_device_info device;

	return info->verdict == PEAL_VERDICT_OK &&
	       peal_device_info(runtime, info->from, &device) == 0 &&
	       (device.policies & ~info->policies & 1u << PEAL_POLICY_ATOM16);
}

/* Adds a row for a pair on which 16-byte stores arrive in two parts. */
static void warn_torn(struct peali_doctor *doctor,
		      const struct peal_pair_info *info)
{
	peali_doctor_add(
		doctor, "torn stores", PEALI_HEALTH_WARN,
		info->policies ?
			"leave the policy of links at its default, or choose "
			"atom8; else use a pair without this fault" :
			"use a pair without this fault, if messages by host "
			"memory are too slow",
		"%d to %d: 16-byte stores arrive in two parts; links get %s, "
		"and messages go %s",
		info->from, info->to,
		info->policies ? "narrower atoms" : "another route",
		peal_route_name(info->route));
}

/* Adds one row for all sound pairs, and one row for each other pair. */
static void check_pairs(struct peali_doctor *doctor,
			struct peal_runtime *runtime)
{
	int n = peal_device_count(runtime);
	int n_ok = 0;

	if (doctor->launches_block) {
		peali_doctor_add(doctor, "pairs", PEALI_HEALTH_WAIVED, NULL,
				 "not checked: the probe would wait for its "
				 "own kernels, see above");
		return;
	}
	for (int i = 0; i < n * n; i++) {
		struct peal_pair_info info;

		if (i / n == i % n)
			continue;
		if (peal_topology_pair(runtime, i / n, i % n, &info) < 0) {
			peali_doctor_add(
				doctor, "pair", PEALI_HEALTH_FAIL,
				"remove the cause that the text names, "
				"then PEAL_PROBE=fresh; or leave one of "
				"both devices out",
				"%d to %d: %s", i / n, i % n,
				peal_last_error()->text);
			continue;
		}
		if (info.verdict == PEAL_VERDICT_OK) {
			n_ok++;
			if (is_torn(runtime, &info))
				warn_torn(doctor, &info);
			continue;
		}
		peali_doctor_add(doctor, "pair", verdict_health(info.verdict),
				 verdict_fix(info.verdict),
				 "%d to %d: %s; messages go %s: %s", i / n,
				 i % n, peal_verdict_name(info.verdict),
				 peal_route_name(info.route), info.reason);
	}
	if (n_ok || n < 2)
		peali_doctor_add(doctor, "pairs", PEALI_HEALTH_PASS, NULL,
				 "%d of %d ordered pair%s verified: data "
				 "arrives unchanged",
				 n_ok, n * (n - 1),
				 peali_s((uint64_t)(n * (n - 1))));
}

static void check_runtime(struct peali_doctor *doctor)
{
	struct peal_runtime *runtime;

	if (peal_runtime_open(NULL, &runtime) < 0) {
		peali_doctor_add(doctor, "runtime", PEALI_HEALTH_FAIL,
				 "fix what the text names", "%s",
				 peal_last_error()->text);
		peali_doctor_gpu(doctor, NULL);
		return;
	}
	peali_doctor_add(
		doctor, "runtime", PEALI_HEALTH_PASS, NULL,
		"opens with %d device%s%s", peal_device_count(runtime),
		peali_s((uint64_t)peal_device_count(runtime)),
		peali_all_emulated(runtime) ? ", emulated by CPU threads" : "");
	peali_doctor_gpu(doctor, runtime);
	check_pairs(doctor, runtime);
	if (peal_runtime_close(runtime) < 0)
		peali_doctor_add(doctor, "runtime", PEALI_HEALTH_FAIL,
				 "report it, with this text",
				 "does not close: %s", peal_last_error()->text);
}

/* Prints the remedy of each WARN and FAIL, equal ones once. */
static void print_fixes(const struct peali_doctor *doctor)
{
	const char *before = "";
	const json_t *row;
	size_t i;

	if (doctor->n[PEALI_HEALTH_WARN] + doctor->n[PEALI_HEALTH_FAIL])
		printf("\nWhat to do\n");
	json_array_foreach(doctor->rows, i, row)
	{
		const char *status =
			json_string_value(json_object_get(row, "status"));
		const char *fix =
			json_string_value(json_object_get(row, "fix"));

		if (!fix || strcmp(fix, before) == 0 ||
		    (strcmp(status, "WARN") != 0 &&
		     strcmp(status, "FAIL") != 0))
			continue;
		peali_verdict_print(stdout, status);
		peali_paragraph_print(
			stdout, 4, 8, "    %s: %s",
			json_string_value(json_object_get(row, "check")), fix);
		before = fix;
	}
}

static void print_table(const struct peali_doctor *doctor)
{
	static const struct peali_column columns[] = {
		{ "status", "status", PEALI_AS_VERDICT },
		{ "check", "check", 0 },
		{ "finding", "finding", 0 },
		{ NULL, NULL, 0 },
	};
	int warnings = doctor->n[PEALI_HEALTH_WARN];

	peali_table_print(stdout, NULL, columns, doctor->rows);
	print_fixes(doctor);
	printf("\n%d passed, %d warning%s, %d failed, %d waived\n",
	       doctor->n[PEALI_HEALTH_PASS], warnings,
	       peali_s((uint64_t)warnings), doctor->n[PEALI_HEALTH_FAIL],
	       doctor->n[PEALI_HEALTH_WAIVED]);
}

struct arguments {
	int json;
	int pid; /* 0: check the machine */
};

static error_t parse(int key, char *argument, struct argp_state *state)
{
	struct arguments *arguments = state->input;
	uint64_t pid = 0;

	if (key == ARGP_KEY_INIT) {
		state->child_inputs[0] = &arguments->json;
		return 0;
	}
	if (key != 's')
		return ARGP_ERR_UNKNOWN;
	if (!peali_number_parse(argument, 1, INT_MAX, &pid))
		peali_refuse_value(
			state,
			PEALI_REFUSAL(.object = "option", .name = "--stall",
				      .problem = "is no process id",
				      .value = argument,
				      .allowed = PEALI_PRINT("1..%d", INT_MAX),
				      .remedy = "find it by pidof"));
	arguments->pid = (int)pid;
	return 0;
}

static void parse_arguments(int argc, char **argv, struct arguments *arguments)
{
	static const struct argp_option options[] = {
		{ "stall", 's', "PID", 0,
		  "list the causes of a stall in that process", 0 },
		{ 0 },
	};
	static const struct argp common = { .options = peali_json_options,
					    .parser = peali_json_parse };
	const struct argp_child children[] = { { &common, 0, NULL, 0 }, { 0 } };
	const struct argp argp = {
		.options = options,
		.parser = parse,
		.children = children,
		.doc = "Checks the needs of Peal on this machine. Each result "
		       "is PASS, WARN, FAIL or WAIVED, with the cause and the "
		       "remedy. The exit status is 1 if a check fails or a "
		       "worker stalls.",
	};

	peali_parse(&argp, argc, argv, 0, arguments);
}

static int doctor_run(int argc, char **argv)
{
	struct arguments arguments = { 0, 0 };
	struct peali_doctor doctor = { 0 };
	json_t *object;

	parse_arguments(argc, argv, &arguments);
	if (arguments.pid)
		return peali_doctor_stall(arguments.pid, arguments.json);
	doctor.rows = json_array();
	peali_doctor_machine(&doctor);
	check_env(&doctor);
	check_unknown(&doctor);
	check_cache(&doctor);
	check_runtime(&doctor);
	if (arguments.json) {
		object = json_object();
		peali_row_flag(object, "ok", doctor.n[PEALI_HEALTH_FAIL] == 0);
		peali_row_uint(object, "passed", (uint64_t)doctor.n[0]);
		peali_row_uint(object, "warnings", (uint64_t)doctor.n[1]);
		peali_row_uint(object, "failed", (uint64_t)doctor.n[2]);
		peali_row_uint(object, "waived", (uint64_t)doctor.n[3]);
		json_object_set(object, "checks", doctor.rows);
		peali_json_print(stdout, object);
		json_decref(object);
	} else {
		print_table(&doctor);
	}
	json_decref(doctor.rows);
	return doctor.n[PEALI_HEALTH_FAIL] ? PEALI_EXIT_FAILED : PEALI_EXIT_OK;
}

const struct peali_command peali_command_doctor = {
	.name = "doctor",
	.help = "checks the machine: cause and remedy of each problem",
	.run = doctor_run,
};
