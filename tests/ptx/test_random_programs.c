/* SPDX-License-Identifier: Apache-2.0 */
/* labels: fast quick */
/* Random C functions give equal results on the PTX machine and on the host. The
 * machine executes nvcc's PTX, the host executes the C compiler's code. */
#include "run.h"

#include <dlfcn.h>
#include <stdarg.h>
#include <sys/stat.h>
#include <unistd.h>

#define N_FUNCTIONS 24 /* of one source */
#define N_VALUES 16 /* of a function: 8 in, 8 out */
#define N_INPUTS 32

/* ---- a generator of C ---------------------------------------------------- */

struct source {
	FILE *file;
	unsigned long long random;
	int depth;
};

static uint32_t below(struct source *s, uint32_t n)
{
	return (uint32_t)(test_random(&s->random) >> 32) % n;
}

__attribute__((format(printf, 2, 3))) static void put(struct source *s,
						      const char *format, ...)
{
	va_list values;

	va_start(values, format);
	vfprintf(s->file, format, values);
	va_end(values);
}

static void expression(struct source *s);

static void leaf(struct source *s)
{
	static const char *const constants[] = { "0",
						 "1",
						 "255",
						 "0x80000000u",
						 "0xffffffffu",
						 "0x7fffffffffffffffull",
						 "0x123456789abcdefull",
						 "3" };

	if (below(s, 4) == 0)
		put(s, "%s", constants[below(s, 8)]);
	else
		put(s, "v[%u]", below(s, N_VALUES / 2));
}

/* A cast to a narrow type: so PTX has all widths. */
static void cast(struct source *s)
{
	static const char *const types[] = { "u8",  "s8",  "u16", "s16",
					     "u32", "s32", "u64" };

	put(s, "(u64)(%s)(", types[below(s, 7)]);
	expression(s);
	put(s, ")");
}

static void binary(struct source *s)
{
	static const char *const operators[] = { "+", "-", "*", "&", "|", "^" };
	static const char *const types[] = { "u16", "u32", "u64" };
	uint32_t i = below(s, 3);
	const char *wide = types[i ? i : 1]; /* u16 * u16 may overflow int */

	put(s, "(u64)(%s)((%s)(", types[i], wide);
	expression(s);
	put(s, ") %s (%s)(", operators[below(s, 6)], wide);
	expression(s);
	put(s, "))");
}

/* Calls with defined results for all arguments. */
static void call(struct source *s)
{
	static const char *const names[] = {
		"div32",    "rem32",   "div64", "rem64",  "sdiv32", "srem32",
		"sdiv64",   "srem64",  "shl32", "shr32",  "sar32",  "shl64",
		"shr64",    "sar64",   "rot32", "rot64",  "less",   "sless",
		"smallest", "largest", "high",	"floats", "doubles"
	};

	put(s, "%s(", names[below(s, sizeof(names) / sizeof(*names))]);
	expression(s);
	put(s, ", ");
	expression(s);
	put(s, ")");
}

static void expression(struct source *s)
{
	uint32_t kind = below(s, 8);

	if (s->depth > 4 || kind == 0) {
		leaf(s);
		return;
	}
	s->depth++;
	if (kind < 4) {
		binary(s);
	} else if (kind == 4) {
		cast(s);
	} else if (kind == 5) {
		put(s, "(");
		expression(s);
		put(s, " & 1 ? ");
		expression(s);
		put(s, " : ");
		expression(s);
		put(s, ")");
	} else {
		call(s);
	}
	s->depth--;
}

/* Assignments, branches and loops over v[]. */
static void statements(struct source *s, int depth)
{
	uint32_t n = 2 + below(s, 3);

	while (n--) {
		uint32_t kind = below(s, 6);

		if (depth < 2 && kind == 0) {
			put(s, "if (sless(v[%u], v[%u])) {\n", below(s, 8),
			    below(s, 8));
			statements(s, depth + 1);
			put(s, "} else {\n");
			statements(s, depth + 1);
			put(s, "}\n");
		} else if (depth < 2 && kind == 1) {
			put(s,
			    "for (int i%d = 0; i%d < (int)(v[%u] & 7); "
			    "i%d++) {\nv[%u] += (u64)i%d;\n",
			    depth, depth, below(s, 8), depth, below(s, 8),
			    depth);
			statements(s, depth + 1);
			put(s, "}\n");
		} else if (kind == 2) {
			put(s, "v[(v[%u] & 7)] ^= ", below(s, 8));
			expression(s);
			put(s, ";\n");
		} else {
			put(s, "v[%u] = ", below(s, 8));
			expression(s);
			put(s, ";\n");
		}
	}
}

/* The source is C and CUDA. Floats are kept away from NaN: its bits differ. */
static const char head[] =
	"typedef unsigned char u8; typedef signed char s8;\n"
	"typedef unsigned short u16; typedef short s16;\n"
	"typedef unsigned int u32; typedef int s32;\n"
	"typedef unsigned long long u64; typedef long long s64;\n"
	"#ifdef __CUDACC__\n"
	"#define HERE static __device__\n"
	"#define OUTLINED static __device__ __noinline__\n"
	"#else\n"
	"#define HERE static\n"
	"#define OUTLINED static __attribute__((noinline))\n"
	"#endif\n"
	"HERE u64 div32(u64 a, u64 b) { return (u32)a / ((u32)b | 1); }\n"
	"HERE u64 rem32(u64 a, u64 b) { return (u32)a % ((u32)b | 1); }\n"
	"HERE u64 div64(u64 a, u64 b) { return a / (b | 1); }\n"
	"HERE u64 rem64(u64 a, u64 b) { return a % (b | 1); }\n"
	"HERE u64 sdiv32(u64 a, u64 b)\n"
	"{ return (u64)((s32)a / ((s32)(b & 0x7ffffffe) + 1)); }\n"
	"HERE u64 srem32(u64 a, u64 b)\n"
	"{ return (u64)((s32)a % ((s32)(b & 0x7ffffffe) + 1)); }\n"
	"HERE u64 sdiv64(u64 a, u64 b)\n"
	"{ return (u64)((s64)a / ((s64)(b >> 2) + 1)); }\n"
	"HERE u64 srem64(u64 a, u64 b)\n"
	"{ return (u64)((s64)a % ((s64)(b >> 2) + 1)); }\n"
	"HERE u64 shl32(u64 a, u64 b) { return (u32)a << (b & 31); }\n"
	"HERE u64 shr32(u64 a, u64 b) { return (u32)a >> (b & 31); }\n"
	"HERE u64 sar32(u64 a, u64 b) { return (u64)((s32)a >> (b & 31)); }\n"
	"HERE u64 shl64(u64 a, u64 b) { return a << (b & 63); }\n"
	"HERE u64 shr64(u64 a, u64 b) { return a >> (b & 63); }\n"
	"HERE u64 sar64(u64 a, u64 b) { return (u64)((s64)a >> (b & 63)); }\n"
	"HERE u64 rot32(u64 a, u64 b)\n"
	"{ return (u32)((u32)a << (b & 31) | (u32)a >> (-b & 31)); }\n"
	"HERE u64 rot64(u64 a, u64 b) { return a << (b & 63) | a >> (-b & "
	"63); }\n"
	"HERE u64 less(u64 a, u64 b) { return (u32)a < (u32)b; }\n"
	"HERE u64 sless(u64 a, u64 b) { return (s64)a < (s64)b; }\n"
	"HERE u64 smallest(u64 a, u64 b)\n"
	"{ return (u64)((s32)a < (s32)b ? (s32)a : (s32)b); }\n"
	"HERE u64 largest(u64 a, u64 b) { return a > b ? a : b; }\n"
	"OUTLINED u64 high(u64 a, u64 b)\n"
	"{ return (u64)(((unsigned __int128)a * b) >> 64); }\n"
	"OUTLINED u64 floats(u64 a, u64 b)\n"
	"{ float x = (float)(s32)a, y = (float)(u16)b + 1;\n"
	"  float z = x / y - x * 0.5f; return (u64)(s64)z; }\n"
	"OUTLINED u64 doubles(u64 a, u64 b)\n"
	"{ double x = (double)(s64)(a >> 1), y = (double)(s32)b + 0.5;\n"
	"  double z = x / y + y; return (u64)(s64)(z * 0.25); }\n";

static char folder[] = "/tmp/peal_ptx_XXXXXX";

static void write_source(unsigned long long seed)
{
	struct source s = { NULL, seed, 0 };
	char path[256];
	int i;

	snprintf(path, sizeof(path), "%s/t.c", folder);
	s.file = fopen(path, "w");
	CHECK(s.file != NULL);
	put(&s, "%s", head);
	for (i = 0; i < N_FUNCTIONS; i++) {
		put(&s, "HERE void f%d(u64 *v)\n{\n", i);
		statements(&s, 0);
		put(&s, "}\n");
	}
	put(&s, "HERE void select(int i, u64 *v)\n{\nswitch (i) {\n");
	for (i = 0; i < N_FUNCTIONS; i++)
		put(&s, "case %d: f%d(v); break;\n", i, i);
	put(&s,
	    "}\n}\n#ifdef __CUDACC__\n"
	    "extern \"C\" __global__ void t(u64 *v)\n"
	    "{ select((int)blockIdx.x, v + (blockIdx.x * %d + threadIdx.x) "
	    "* 8); }\n#else\n"
	    "void t(int i, u64 *v);\nvoid t(int i, u64 *v) { select(i, v); "
	    "}\n#endif\n",
	    N_INPUTS);
	CHECK_EQ(fclose(s.file), 0);
}

/* ---- both sides ---------------------------------------------------------- */

typedef void host_fn(int i, uint64_t *v);

__attribute__((format(printf, 1, 2))) static void
run_command(const char *format, ...)
{
	char command[4096];
	va_list values;

	va_start(values, format);
	vsnprintf(command, sizeof(command), format, values);
	va_end(values);
	CHECK_EQ(system(command), 0);
}

static struct ptx_module *device_code(void)
{
	char path[256];
	FILE *f;
	char *text;
	size_t n = 0;
	struct ptx_module *m;

	run_command("'%s' -x cu -O3 -fmad=false -ptx -arch=compute_75 "
		    "-diag-suppress 39,61,177 -o %s/t.ptx %s/t.c",
		    getenv("PTX_NVCC"), folder, folder);
	snprintf(path, sizeof(path), "%s/t.ptx", folder);
	f = fopen(path, "r");
	CHECK(f != NULL);
	text = NULL;
	CHECK(getdelim(&text, &n, 0, f) > 0);
	fclose(f);
	m = run_load(text);
	free(text);
	return m;
}

static host_fn *host_code(void **library)
{
	char path[256];
	union {
		void *object;
		host_fn *function;
	} found;

	run_command("cc -O1 -w -fwrapv -ffp-contract=off -shared -fPIC "
		    "-o %s/t.so %s/t.c",
		    folder, folder);
	snprintf(path, sizeof(path), "%s/t.so", folder);
	*library = dlopen(path, RTLD_NOW);
	CHECK(*library != NULL);
	found.object = dlsym(*library, "t");
	CHECK(found.object != NULL);
	return found.function;
}

/* Compares the results of function i for input k. */
static void compare(unsigned long long seed, int i, int k,
		    const uint64_t device[8], const uint64_t host[8])
{
	int j;

	for (j = 0; j < 8; j++) {
		if (host[j] == device[j])
			continue;
		fprintf(stderr,
			"seed %llu: v[%d] of f%d with input %d: %#llx, and "
			"%#llx on the host; see %s\n",
			seed, j, i, k, (unsigned long long)device[j],
			(unsigned long long)host[j], folder);
		exit(1);
	}
}

static void check_seed(unsigned long long seed)
{
	static uint64_t device[N_FUNCTIONS][N_INPUTS][8];
	static uint64_t host[N_FUNCTIONS][N_INPUTS][8];
	static const uint64_t edges[] = { 0,	      1,	 ~0ULL,
					  1ULL << 63, INT64_MAX, 0x80000000,
					  0x7fffffff, 0xffffffff };
	struct run run = { .memory = device, .bytes = sizeof(device) };
	unsigned long long random = seed;
	struct ptx_module *m;
	void *library;
	host_fn *f;
	int i, k, n = N_FUNCTIONS * N_INPUTS * 8;

	for (i = 0; i < n; i++) {
		unsigned long long r = test_random(&random);

		(&device[0][0][0])[i] = r % 3 ? test_random(&random) :
						edges[r >> 32 & 7];
	}
	memcpy(host, device, sizeof(host));
	snprintf(folder + sizeof(folder) - 7, 7, "XXXXXX");
	CHECK(mkdtemp(folder) != NULL);
	write_source(seed);
	m = device_code();
	f = host_code(&library);
	run_grid(&run, m, N_FUNCTIONS, N_INPUTS, 0);
	if (run.fault)
		fprintf(stderr, "%s\n", run.text);
	CHECK_EQ(run.fault, PTX_FAULT_NONE);
	for (i = 0; i < N_FUNCTIONS; i++)
		for (k = 0; k < N_INPUTS; k++) {
			f(i, host[i][k]);
			compare(seed, i, k, device[i][k], host[i][k]);
		}
	ptx_unload(m);
	dlclose(library);
	run_command("rm -r %s", folder);
}

PEAL_TEST(random_functions_compute_the_same_as_on_the_host)
{
	const char *nvcc = getenv("PTX_NVCC");
	unsigned long long seed, n = test_part(8);

	if (!nvcc || access(nvcc, X_OK) || system("cc --version > /dev/null"))
		SKIP("needs nvcc and a C compiler");
	for (seed = 1; seed <= n; seed++)
		check_seed(seed);
}

PEAL_TEST_MAIN(RUN(random_functions_compute_the_same_as_on_the_host);)
