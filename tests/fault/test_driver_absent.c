/* SPDX-License-Identifier: Apache-2.0 */
/* labels: double */
/*
 * Shows that a backend without a usable driver is absent and gives the reason.
 * The driver's file is missing, no library, a stub or too old, or lacks a call.
 * Without an optional call the backend works.
 *
 * The dynamic linker reads its path once. So the program executes itself again
 * to try a driver in another folder.
 */
#include "fault/sweep.h"

#include <errno.h>

static char folder[64];
static pid_t folder_owner; /* only this process removes it */

static const char *library(void)
{
	return sweep_is_hip ? "libamdhip64.so" : "libcuda.so.1";
}

static void clean_folder(void)
{
	char command[96];

	snprintf(command, sizeof(command), "rm -rf '%s'", folder);
	if (getpid() == folder_owner && system(command))
		fprintf(stderr, "cannot remove %s\n", folder);
}

/* Writes the file under the name of the driver. */
static void put_library(const void *bytes, size_t n)
{
	char path[128];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", folder, library());
	file = fopen(path, "w");
	CHECK(file && fwrite(bytes, 1, n, file) == n);
	CHECK(!fclose(file));
}

/* Reads the double's file into allocated memory. */
static char *read_double(size_t *bytes)
{
	char path[512];
	FILE *file;
	char *all;
	long n;

	snprintf(path, sizeof(path), "%s/doubles/%s/%s",
		 getenv("PEAL_BUILD_DIR"), sweep_is_hip ? "hip" : "cuda",
		 library());
	file = fopen(path, "r");
	CHECK(file && !fseek(file, 0, SEEK_END));
	n = ftell(file);
	CHECK(n > 0 && !fseek(file, 0, SEEK_SET));
	all = malloc((size_t)n);
	CHECK(all && fread(all, 1, (size_t)n, file) == (size_t)n);
	CHECK(!fclose(file));
	*bytes = (size_t)n;
	return all;
}

/* Writes a copy of the double in which the symbol has another name. */
static void put_double_without(const char *symbol)
{
	size_t n, length = strlen(symbol) + 1;
	char *all = read_double(&n), *name = all;
	char whole[80];

	whole[0] = 0;
	memcpy(whole + 1, symbol, length);
	name = memmem(all, n, whole, length + 1); /* the names come first */
	CHECK(name);
	name[length - 1] = '?';
	put_library(all, n);
	free(all);
}

/* Runs this program with the folder's driver, and fills *sweep. */
static void run_again(void)
{
	const char *compilers = getenv("PEAL_TEST_COMPILERS");
	char path[4096];
	char out[128];
	FILE *file;
	int status;
	pid_t child;

	snprintf(out, sizeof(out), "%s/result", folder);
	fflush(stdout);
	child = fork();
	CHECK(child >= 0);
	if (!child) {
		/* with the doubles of the compilers */
		snprintf(path, sizeof(path), "%s%s", folder,
			 compilers ? compilers : "");
		setenv("LD_LIBRARY_PATH", path, 1);
		execl("/proc/self/exe", "test_driver_absent", "--in", out,
		      NULL);
		_exit(errno);
	}
	CHECK_EQ(waitpid(child, &status, 0), child);
	CHECK_EQ(status, 0);
	file = fopen(out, "r");
	CHECK(file && fread(sweep, sizeof(*sweep), 1, file) == 1);
	CHECK(!fclose(file));
}

static int run_in(const char *out)
{
	FILE *file = fopen(out, "w");

	CHECK(file);
	sweep_start(0);
	CHECK(sweep_survived(0));
	CHECK(fwrite(sweep, sizeof(*sweep), 1, file) == 1);
	CHECK(!fclose(file));
	return 0;
}

/* Adds an emulated device. It is the only device if the backend is absent. */
static void with_host(void)
{
	char both[32];

	snprintf(both, sizeof(both), "%s,host", sweep_is_hip ? "hip" : "cuda");
	setenv("PEAL_BACKENDS", both, 1);
	setenv("PEAL_HOST_DEVICES", "1", 1);
}

static void check_absent(const char *part, const char *other)
{
	printf("    %s\n", sweep->reason);
	CHECK_CONTAINS(sweep->reason, part);
	CHECK_CONTAINS(sweep->reason, other);
	CHECK_EQ(sweep->open, 1); /* the emulated one */
	CHECK_EQ(sweep->failed, 0);
}

/* ---- no driver ----------------------------------------------------------- */

PEAL_TEST(missing_driver_library_is_named)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/%s", folder, library());
	unlink(path);
	run_again();
	if (sweep->open > 1 || !strstr(sweep->reason, "no driver"))
		printf("    left out here: this machine has a driver\n");
	else
		check_absent("no driver", library());
}

PEAL_TEST(invalid_driver_library_is_named)
{
	char text[4096] = "not a library\n";

	put_library(text, sizeof(text));
	run_again();
	check_absent("no driver", library());
}

PEAL_TEST(toolkit_stub_is_not_used_as_driver)
{
	setenv("PEAL_DOUBLE_FAIL",
	       sweep_is_hip ? "hipInit:34:0" : "cuInit:34:0", 1);
	sweep_start(0);
	CHECK(sweep_survived(0));
	check_absent("stub", sweep_is_hip ? "hipInit" : "cuInit");
}

PEAL_TEST(driver_without_devices_is_reported)
{
	setenv("PEAL_DOUBLE_DEVICES", "0", 1);
	sweep_start(0);
	CHECK(sweep_survived(0));
	check_absent("100", sweep_is_hip ? "hipInit" : "cuInit");
	setenv("PEAL_DOUBLE_DEVICES", "2", 1);
	setenv("PEAL_DOUBLE_FAIL",
	       sweep_is_hip ? "hipGetDeviceCount:100:0" :
			      "cuDeviceGetCount:100:0",
	       1);
	sweep_start(0);
	CHECK(sweep_survived(0));
	check_absent("100", "Count");
}

PEAL_TEST(failed_call_is_named_if_no_backend_has_a_device)
{
	setenv("PEAL_BACKENDS", sweep_is_hip ? "hip" : "cuda", 1);
	unsetenv("PEAL_HOST_DEVICES");
	setenv("PEAL_DOUBLE_FAIL",
	       sweep_is_hip ? "hipGetDeviceCount:999:0" :
			      "cuDeviceGetCount:999:0",
	       1);
	sweep_start(0);
	CHECK(sweep_survived(0));
	CHECK_EQ(sweep->failed, 1);
	CHECK_CONTAINS(sweep->text,
		       sweep_is_hip ? "hipGetDeviceCount" : "cuDeviceGetCount");
	CHECK_CONTAINS(sweep->text, "host: excluded by PEAL_BACKENDS");
	with_host();
}

PEAL_TEST(too_old_driver_error_names_version)
{
	if (sweep_is_hip)
		return; /* HIP checks no version */
	setenv("PEAL_DOUBLE_VERSION", "11020", 1);
	sweep_start(0);
	CHECK(sweep_survived(0));
	check_absent("for CUDA 11.2", "11.3");
	unsetenv("PEAL_DOUBLE_VERSION");
	put_double_without("cuGetProcAddress_v2");
	run_again();
	check_absent("older than CUDA 11.3", "cuGetProcAddress");
}

/* ---- missing calls ------------------------------------------------------- */

static void run_without(const char *symbol)
{
	if (sweep_is_hip) {
		put_double_without(symbol);
		run_again();
		return;
	}
	setenv("PEAL_DOUBLE_LACK", symbol, 1);
	sweep_start(0);
	CHECK(sweep_survived(0));
	unsetenv("PEAL_DOUBLE_LACK");
}

/* Optional calls without which the backend cannot describe a device. */
static int needs_gpu(const char *symbol)
{
	return !strcmp(symbol, "hipGetDevicePropertiesR0600");
}

PEAL_TEST(missing_driver_call_is_named_or_optional)
{
	int needed = 0, optional = 0;
	const char *symbol;
	size_t i;

	for (i = 0; i < SWEEP_CALLS; i++) {
		symbol = sweep_call(i)->symbol;
		if (!*symbol)
			continue;
		if (sweep_call(i)->need == PEALI_GPU_NEEDED) {
			with_host();
			run_without(symbol);
			check_absent("a newer driver is needed", symbol);
			needed++;
			continue;
		}
		setenv("PEAL_BACKENDS", sweep_is_hip ? "hip" : "cuda", 1);
		unsetenv("PEAL_HOST_DEVICES");
		run_without(symbol);
		if (sweep->failed)
			printf("    %s: %s: %s\n", symbol, sweep->step,
			       sweep->text);
		if (needs_gpu(symbol)) { /* only /sys could replace it */
			CHECK_EQ(sweep->failed, 1);
			CHECK_CONTAINS(sweep->text, symbol);
		} else {
			CHECK_EQ(sweep->failed, 0);
			CHECK_EQ(sweep->open, 2);
		}
		CHECK(!sweep->wrong && !sweep->left);
		optional++;
	}
	printf("    %d are needed, %d are not\n", needed, optional);
}

int main(int argc, char **argv)
{
	const char *vendor = getenv("PEAL_BACKENDS");
	int peal_cases_ = 0;

	if (!vendor || !*vendor || !getenv("PEAL_BUILD_DIR"))
		SKIP("PEAL_BACKENDS names no driver double");
	sweep_begin(strstr(vendor, "hip") ? "hip" : "cuda");
	if (argc == 3 && !strcmp(argv[1], "--in"))
		return run_in(argv[2]);
	strcpy(folder, "/tmp/peal-test-XXXXXX");
	CHECK(mkdtemp(folder));
	folder_owner = getpid();
	atexit(clean_folder);
	setenv("PEAL_DOUBLE_DEVICES", "2", 1);
	with_host();
	RUN(missing_driver_library_is_named);
	RUN(invalid_driver_library_is_named);
	RUN(toolkit_stub_is_not_used_as_driver);
	unsetenv("PEAL_DOUBLE_FAIL");
	RUN(driver_without_devices_is_reported);
	RUN(failed_call_is_named_if_no_backend_has_a_device);
	unsetenv("PEAL_DOUBLE_FAIL");
	RUN(too_old_driver_error_names_version);
	RUN(missing_driver_call_is_named_or_optional);
	printf("%d cases passed\n", peal_cases_);
	return peal_cases_ ? 0 : 1;
}
