/* SPDX-License-Identifier: Apache-2.0 */
/* labels: fast quick */
/* Code as users write it gives the results of the host: __int128, tables of
 * branches, half precision, mathematical functions. */
#include "run.h"

#include <dlfcn.h>
#include <math.h>
#include <stdarg.h>
#include <unistd.h>

#define LANES 64
#define WORDS 64 /* of a lane */
#define EXACT 28 /* words before the results that may differ a little */
#define CLOSE 16

typedef void host_fn(uint64_t *v);

static char folder[] = "/tmp/peal_ptx_XXXXXX";
static uint64_t device[LANES][WORDS], host[LANES][WORDS];

__attribute__((format(printf, 1, 2))) static int run_command(const char *format,
							     ...)
{
	char command[4096];
	va_list values;

	va_start(values, format);
	vsnprintf(command, sizeof(command), format, values);
	va_end(values);
	return system(command);
}

static host_fn *host_code(void **library)
{
	char path[256];
	union {
		void *object;
		host_fn *function;
	} found;

	if (run_command("cc -x c -O1 -w -fwrapv -ffp-contract=off -shared "
			"-fPIC -o %s/t.so %s/tests/ptx/user_code.cu -lm",
			folder, getenv("PEAL_SOURCE_DIR")))
		SKIP("needs a C compiler with _Float16");
	snprintf(path, sizeof(path), "%s/t.so", folder);
	*library = dlopen(path, RTLD_NOW);
	CHECK(*library != NULL);
	found.object = dlsym(*library, "t");
	CHECK(found.object != NULL);
	return found.function;
}

static struct ptx_module *device_code(const char *options)
{
	char path[256], *text = NULL;
	struct ptx_module *m;
	size_t n = 0;
	FILE *f;

	CHECK_EQ(run_command(
			 "'%s' -O3 -w -ptx -include cuda_fp16.h %s -o %s/t.ptx "
			 "%s/tests/ptx/user_code.cu",
			 getenv("PTX_NVCC"), options, folder,
			 getenv("PEAL_SOURCE_DIR")),
		 0);
	snprintf(path, sizeof(path), "%s/t.ptx", folder);
	f = fopen(path, "r");
	CHECK(f != NULL);
	CHECK(getdelim(&text, &n, 0, f) > 0);
	fclose(f);
	m = run_load(text);
	free(text);
	return m;
}

static void fill(void)
{
	unsigned long long random = 5;
	int i, k;

	memset(device, 0, sizeof(device));
	for (i = 0; i < LANES; i++)
		for (k = 0; k < 4; k++)
			device[i][k] = test_random(&random) >>
				       (i % 8 == k ? 56 : 0);
	memcpy(host, device, sizeof(host));
}

static void compare(const char *options, int lane, double tolerance)
{
	const double *a = (const double *)(const void *)&device[lane][EXACT];
	const double *b = (const double *)(const void *)&host[lane][EXACT];
	int k;

	for (k = 0; k < EXACT; k++)
		if (device[lane][k] != host[lane][k])
			fprintf(stderr, "%s: lane %d: word %d\n", options, lane,
				k);
	CHECK(!memcmp(device[lane], host[lane], EXACT * sizeof(uint64_t)));
	for (k = 0; k < CLOSE; k++) {
		double most = k < CLOSE / 2 ? 1e-12 : tolerance;

		if (fabs(a[k] - b[k]) > most * (1 + fabs(b[k])))
			fprintf(stderr, "%s: lane %d: result %d: %g, not %g\n",
				options, lane, k, a[k], b[k]);
		CHECK(fabs(a[k] - b[k]) <= most * (1 + fabs(b[k])));
	}
}

static void check(const char *options, double tolerance)
{
	struct run run = { .memory = device, .bytes = sizeof(device) };
	const char *nvcc = getenv("PTX_NVCC"),
		   *root = getenv("PEAL_SOURCE_DIR");
	struct ptx_module *m;
	void *library;
	host_fn *f;
	int i;

	if (!nvcc || access(nvcc, X_OK) || !root)
		SKIP("needs nvcc and the source tree");
	snprintf(folder + sizeof(folder) - 7, 7, "XXXXXX");
	CHECK(mkdtemp(folder) != NULL);
	f = host_code(&library);
	m = device_code(options);
	fill();
	run_grid(&run, m, 1, LANES, 0);
	if (run.fault)
		fprintf(stderr, "%s\n", run.text);
	CHECK_EQ(run.fault, PTX_FAULT_NONE);
	for (i = 0; i < LANES; i++) {
		f(host[i]);
		compare(options, i, tolerance);
	}
	ptx_unload(m);
	dlclose(library);
	CHECK_EQ(run_command("rm -r %s", folder), 0);
}

PEAL_TEST(code_for_compute_75_computes_as_the_host)
{
	check("-arch=compute_75 -fmad=false", 1e-6);
}

PEAL_TEST(fast_code_for_compute_90_is_close_to_the_host)
{
	check("-arch=compute_90 -use_fast_math", 1e-4);
}

PEAL_TEST_MAIN(RUN(code_for_compute_75_computes_as_the_host);
	       RUN(fast_code_for_compute_90_is_close_to_the_host);)
