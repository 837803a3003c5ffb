/* SPDX-License-Identifier: Apache-2.0 */
#include "double.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/device/gpu/driver.h"

/* Calls, faults, counts and devices of a double. */

static atomic_int n_things[DOUBLE_THINGS];

void double_count(enum double_thing thing, int change)
{
	atomic_fetch_add(&n_things[thing], change);
}

/*
 * Returns the number of resources that the caller has not released, and lists
 * them in `text`. For tests.
 */
__attribute__((visibility("default"))) int peal_driver_double(char *text,
							      size_t bytes);
int peal_driver_double(char *text, size_t bytes)
{
	static const char *const names[] = {
		"contexts", "address ranges", "memory",
		"mappings", "host memory",    "registered memory",
		"streams",  "modules",	      "parts of devices",
		"graphs",
	};
	size_t used = 0;
	int i, n, sum = 0;

	if (bytes)
		text[0] = 0;
	for (i = 0; i < DOUBLE_THINGS; i++) {
		n = atomic_load(&n_things[i]);
		sum += n;
		if (n && used < bytes)
			used += (size_t)snprintf(text + used, bytes - used,
						 "%s%d %s", used ? ", " : "", n,
						 names[i]);
	}
	return sum;
}

void double_broken(const char *format, ...)
{
	va_list arguments;

	fprintf(stderr, "driver double: contract broken: ");
	va_start(arguments, format);
	vfprintf(stderr, format, arguments);
	va_end(arguments);
	fputc('\n', stderr);
	abort();
}

void double_refuse(const char *variable, const char *format, ...)
{
	va_list arguments;

	fprintf(stderr, "driver double: variable '%s': ", variable);
	va_start(arguments, format);
	vfprintf(stderr, format, arguments);
	va_end(arguments);
	fputc('\n', stderr);
	exit(2);
}

/* ---- the environment ----------------------------------------------------- */

static const char *environment(const char *name, const char *other,
			       const char *value)
{
	const char *text = getenv(name);

	if ((!text || !*text) && other)
		text = getenv(other);
	return text && *text ? text : value;
}

static size_t copy_kernel_kib[2]; /* [1]: between devices */
static int n_queues; /* 0: not read yet */

void double_read_queues(void)
{
	const char *said = getenv(double_vendor.is_cuda ?
					  "CUDA_DEVICE_MAX_CONNECTIONS" :
					  "GPU_MAX_HW_QUEUES");

	if (!n_queues && said)
		n_queues = atoi(said);
	if (n_queues < 1)
		n_queues = double_vendor.is_cuda ? 8 : 4;
}

int double_queues(void)
{
	return n_queues;
}

__attribute__((constructor)) static void read_flags(void)
{
	if (!double_vendor.is_cuda)
		double_read_queues();
	copy_kernel_kib[0] = (size_t)atoi(
		environment("GPU_FORCE_BLIT_COPY_SIZE", NULL, "16"));
	copy_kernel_kib[1] =
		(size_t)atoi(environment("ROC_P2P_SDMA_SIZE", NULL, "1024"));
}

size_t double_copy_kernel_bytes(int between_devices)
{
	size_t kib = copy_kernel_kib[0];

	if (between_devices && copy_kernel_kib[1] > kib)
		kib = copy_kernel_kib[1];
	return kib << 10;
}

int double_n_devices(void)
{
	int n = atoi(
		environment("PEAL_DOUBLE_DEVICES", "PEAL_HOST_DEVICES", "2"));

	return n > 64 ? 64 : n;
}

uint32_t double_units(void)
{
	return (uint32_t)atoi(environment("PEAL_DOUBLE_UNITS", NULL, "32"));
}

int double_version(void)
{
	return atoi(environment("PEAL_DOUBLE_VERSION", NULL, "13000"));
}

uint32_t double_max_lanes(void)
{
	return (uint32_t)atoi(environment("PEAL_DOUBLE_LANES", NULL, "1024"));
}

uint32_t double_watchdog_ms(void)
{
	return (uint32_t)atoi(environment("PEAL_DOUBLE_WATCHDOG", NULL, "0"));
}

int double_clock_khz(void)
{
	return atoi(environment("PEAL_DOUBLE_CLOCK_KHZ", NULL, "25000"));
}

uint32_t double_lane_registers(void)
{
	return (uint32_t)atoi(environment("PEAL_DOUBLE_REGISTERS", NULL, "32"));
}

const char *double_arch(void)
{
	return environment("PEAL_DOUBLE_ARCH", NULL, double_vendor.arch);
}

struct peali_clock_skew double_clock(int device)
{
	const char *text =
		environment("PEAL_DOUBLE_CLOCKS", "PEAL_HOST_CLOCKS", NULL);
	struct peali_clock_skew clock = { (device + 1) * 7200000000000LL,
					  device & 1 ? -100 : 100 };
	int (*parse)(const char *, int, int, struct peali_clock_skew *);
	void *symbol = dlsym(RTLD_DEFAULT, "peali_clock_skew_parse");

	if (!symbol)
		double_broken("the executable does not export "
			      "peali_clock_skew_parse: link it with -rdynamic");
	memcpy(&parse, &symbol, sizeof(parse));
	if (text && parse(text, 64, device, &clock))
		double_broken("PEAL_DOUBLE_CLOCKS: %s", text);
	return clock;
}

const char *double_links(void)
{
	return environment("PEAL_DOUBLE_LINKS", "PEAL_HOST_LINKS", "");
}

struct peali_link_pair double_link(int from, int to)
{
	int (*parse)(const char *, int, struct peali_link_pair *);
	void *symbol = dlsym(RTLD_DEFAULT, "peali_links_parse");
	struct peali_link_pair *pairs, pair = { .kind = PEALI_LINK_NONE };
	int n = double_n_devices();

	if (!symbol)
		double_broken("the executable does not export "
			      "peali_links_parse: link it with -rdynamic");
	memcpy(&parse, &symbol, sizeof(parse));
	pairs = calloc((size_t)n * (size_t)n, sizeof(*pairs));
	if (pairs && !parse(double_links(), n, pairs))
		pair = pairs[from * n + to];
	free(pairs);
	return pair;
}

int double_access(int from, int to)
{
	if (from == to)
		return 2;
	switch (double_link(from, to).kind) {
	case PEALI_LINK_NVLINK:
		return 2;
	case PEALI_LINK_PCIE:
		return 1;
	default:
		return 0;
	}
}

int double_attribute(int attribute, int *value)
{
	const char *list = environment("PEAL_DOUBLE_ATTRIBUTES", NULL, "");
	int number, found, used;

	for (; sscanf(list, "%d:%d%n", &number, &found, &used) == 2;
	     list += used + (list[used] == ','))
		if (number == attribute) {
			*value = found;
			return 1;
		}
	return 0;
}

int double_lacks(const char *symbol)
{
	const char *list = environment("PEAL_DOUBLE_LACK", NULL, "");
	size_t n = strlen(symbol), part;

	for (; *list; list += part + (list[part] == ',')) {
		part = strcspn(list, ",");
		if (part == n && !strncmp(list, symbol, n))
			return 1;
	}
	return 0;
}

/* ---- calls --------------------------------------------------------------- */

struct rule {
	const char *cuda, *hip;
	int when;
};

#define RULE(member, arguments, cuda, version, hip, need, when)                \
	{ cuda, hip, PEALI_GPU_##when },
static const struct rule rules[] = { PEALI_GPU_CALLS(RULE) };
#undef RULE

#define N_RULES (sizeof(rules) / sizeof(rules[0]))

static atomic_int n_calls[N_RULES];

/* Returns the symbol's row in the table; N_RULES: none. */
static size_t row_of(const char *symbol)
{
	size_t i;

	for (i = 0; i < N_RULES; i++)
		if (!strcmp(double_vendor.is_cuda ? rules[i].cuda :
						    rules[i].hip,
			    symbol))
			break;
	return i;
}

/* For tests: returns how often a symbol was called; -1: unknown symbol. */
__attribute__((visibility("default"))) int
peal_driver_double_calls(const char *symbol);
int peal_driver_double_calls(const char *symbol)
{
	size_t row = row_of(symbol);

	return row < N_RULES ? atomic_load(&n_calls[row]) : -1;
}

/* Returns the planted error of call number `nth` of the symbol, or 0. The
 * variable has the form SYMBOL:ERROR:N[,SYMBOL:ERROR:N...]. */
static int fault_of(const char *symbol, int nth)
{
	const char *text = environment("PEAL_DOUBLE_FAIL", NULL, "");
	size_t n = strlen(symbol), part;
	int error = 0, from;

	for (; *text; text += part + (text[part] == ',')) {
		part = strcspn(text, ",");
		if (strncmp(text, symbol, n) != 0 ||
		    sscanf(text + n, ":%d:%d", &error, &from) != 2)
			continue;
		if (from > 0 ? nth == from : nth >= -from)
			return error;
	}
	return 0;
}

/* Never returns if PEAL_DOUBLE_HANG names the symbol, as a driver may do. */
static void hang(const char *symbol)
{
	while (!strcmp(environment("PEAL_DOUBLE_HANG", NULL, ""), symbol))
		pause();
}

int double_call(const char *symbol)
{
	int device = double_current();
	size_t row = row_of(symbol);

	if (row == N_RULES)
		double_broken("%s is in no table of calls", symbol);
	if (rules[row].when != PEALI_GPU_RESIDENT && double_resident(device) &&
	    !double_lost(device))
		double_broken("%s while a kernel is resident on device %d",
			      symbol, device);
	hang(symbol);
	return fault_of(symbol, atomic_fetch_add(&n_calls[row], 1) + 1);
}
