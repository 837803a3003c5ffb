/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Managed buffers: the driver's memory where all devices access it while the
 * host does, else pinned host memory. Prefetches and advice reach the driver
 * and keep the bytes.
 */
#include <dlfcn.h>

#include <peal/buffer.h>
#include <peal/copy.h>
#include <peal/memory.h>
#include <peal/peer.h>
#include "runtime/harness.h"

#define BYTES ((uint64_t)300 << 10)

static struct peal_runtime *rt;

static void open_machine(int devices)
{
	setenv("PEAL_HOST_MEMORY", "64M", 1);
	setenv("PEAL_GPU_MEMORY", "64M", 1);
	setenv("PEAL_PINNED_MEMORY", "64M", 1);
	rt = harness_open(devices, "");
}

/* Returns 1 if all devices have managed memory. */
static int all_manage(void)
{
	struct peal_device_info info;
	int i, all = 1;

	for (i = 0; i < peal_device_count(rt); i++) {
		CHECK_OK(peal_device_info(rt, i, &info));
		all = all && info.capabilities & PEAL_CAN_MANAGED;
	}
	return all;
}

static int create(uint32_t kind, struct peal_buffer **out)
{
	const struct peal_buffer_options o = {
		.size = sizeof(o),
		.kind = kind,
		.bytes = BYTES,
		.name = "tested",
	};

	return peal_buffer_create(rt, &o, out);
}

static struct peal_buffer *make(uint32_t kind)
{
	struct peal_buffer *b = NULL;

	CHECK_OK(create(kind, &b));
	return b;
}

static int is_managed(const struct peal_buffer *b)
{
	struct peal_buffer_info info;

	CHECK_OK(peal_buffer_info(b, &info));
	CHECK_EQ(info.bytes, BYTES);
	CHECK_EQ(info.device, PEAL_HOST_MEMORY);
	return (int)info.managed;
}

static uint8_t *host_view(struct peal_buffer *b)
{
	uint64_t address;

	CHECK_OK(peal_buffer_address(peal_buffer_full_range(b),
				     PEAL_HOST_MEMORY, &address));
	return (uint8_t *)(uintptr_t)address;
}

static int holds(const uint8_t *p, unsigned seed)
{
	static uint8_t wanted[BYTES];

	harness_fill(wanted, BYTES, seed, 0);
	return !memcmp(p, wanted, BYTES);
}

PEAL_TEST(managed_buffer_says_which_memory_it_has)
{
	struct peal_buffer *b, *pinned;
	const uint8_t *p;
	uint64_t i;

	open_machine(2);
	b = make(PEAL_BUFFER_MANAGED);
	CHECK_EQ(is_managed(b), all_manage());
	if (!test_on_gpu())
		CHECK_EQ(is_managed(b), 0);
	p = host_view(b);
	for (i = 0; i < BYTES; i++)
		CHECK_EQ(p[i], 0);
	pinned = make(PEAL_BUFFER_PINNED);
	CHECK_EQ(is_managed(pinned), 0);
	CHECK(!strcmp(peal_buffer_kind_name(PEAL_BUFFER_MANAGED), "managed"));
	CHECK(!strcmp(peal_buffer_advice_name(PEAL_ADVICE_ACCESSED_BY),
		      "accessed by"));
	CHECK(!strcmp(peal_buffer_advice_name(7), "?"));
	CHECK_OK(peal_buffer_destroy(pinned));
	CHECK_OK(peal_buffer_destroy(b));
	CHECK_OK(peal_runtime_close(rt));
}

PEAL_TEST(managed_bytes_reach_devices_and_the_host)
{
	static uint8_t out[BYTES];
	struct peal_buffer *b;
	uint64_t own, seen;
	uint8_t *p;

	open_machine(2);
	b = make(PEAL_BUFFER_MANAGED);
	p = host_view(b);
	harness_fill(p, BYTES, 4, 0);
	CHECK_OK(peal_memory_alloc(rt, 1, BYTES, &own));
	CHECK_OK(peal_buffer_address(peal_buffer_full_range(b), 1, &seen));
	CHECK_OK(peal_peer_copy(rt, 1, own, 1, seen, BYTES));
	harness_fill(p, BYTES, 5, 0);
	CHECK_OK(peal_buffer_read(peal_buffer_full_range(b), out));
	CHECK(holds(out, 5));
	CHECK_OK(peal_peer_copy(rt, 1, seen, 1, own, BYTES));
	CHECK(holds(p, 4));
	CHECK_OK(peal_memory_free(rt, 1, own));
	CHECK_OK(peal_buffer_destroy(b));
	CHECK_OK(peal_runtime_close(rt));
}

/* ---- requests to the driver ---------------------------------------------- */

#define PREFETCH 0 /* in place of an advice */

typedef int (*requests_fn)(uint64_t address, uint64_t bytes, int device,
			   int advice);

/* Returns the function of the driver double, or NULL with another driver. */
static requests_fn requests_of_double(void)
{
	int is_hip = strstr(getenv("PEAL_BACKENDS"), "hip") != NULL;
	const char *gpu = getenv("PEAL_TEST_GPU");
	void *library =
		dlopen(is_hip ? "libamdhip64.so" : "libcuda.so.1", RTLD_NOW);
	void *found = library ? dlsym(library, "peal_driver_double_managed") :
				NULL;
	requests_fn requests = NULL;

	CHECK(found || (gpu && *gpu)); /* a GPU has no double */
	memcpy(&requests, &found, sizeof(found));
	dlclose(library);
	return requests;
}

/* Returns the driver's number of a device. Parts of a GPU have one number. */
static int driver_number(int device)
{
	const char *gpu = getenv("PEAL_TEST_GPU");

	if (device == PEAL_HOST_MEMORY)
		return -1;
	return gpu && *gpu ? 0 : device;
}

/* Returns the number of requests for a range that the driver has got. With
 * another driver than the double, returns `otherwise`. */
static int requests_of(struct peal_range range, int device, int advice,
		       int otherwise)
{
	requests_fn requests = requests_of_double();
	uint64_t address;

	CHECK_OK(peal_buffer_address(range, PEAL_HOST_MEMORY, &address));
	return requests ? requests(address, range.bytes, driver_number(device),
				   advice) :
			  otherwise;
}

static int request(struct peal_range range, int device, int advice)
{
	return advice == PREFETCH ?
		       peal_buffer_prefetch(range, device) :
		       peal_buffer_advise(
			       range, (enum peal_buffer_advice)advice, device);
}

/* Checks that a request reaches the driver once, or is refused. */
static void check_request(struct peal_range range, int device, int advice)
{
	int before;

	if (!is_managed(range.buffer)) {
		CHECK_EQ(request(range, device, advice), PEAL_ENOTSUP);
		return;
	}
	before = requests_of(range, device, advice, 0);
	CHECK_EQ(request(range, device, advice), 0);
	CHECK_EQ(requests_of(range, device, advice, 1), before + 1);
}

PEAL_TEST(prefetch_and_advice_reach_the_driver)
{
	struct peal_buffer *b;
	struct peal_range all, part;
	int managed, device, advice;

	open_machine(2);
	b = make(PEAL_BUFFER_MANAGED);
	managed = is_managed(b);
	all = peal_buffer_full_range(b);
	CHECK_OK(peal_buffer_range(b, 4097, 1, &part));
	harness_fill(host_view(b), BYTES, 6, 0);
	for (device = PEAL_HOST_MEMORY; device < 2; device++) {
		check_request(all, device, PREFETCH);
		check_request(part, device, PREFETCH);
		check_request(all, device, PEAL_ADVICE_PREFERRED);
		check_request(all, device, PEAL_ADVICE_ACCESSED_BY);
		check_request(all, device, PEAL_ADVICE_NOT_ACCESSED_BY);
	}
	for (advice = PEAL_ADVICE_READ_MOSTLY;
	     advice <= PEAL_ADVICE_NOT_ACCESSED_BY; advice++)
		check_request(part, 0, advice);
	if (!managed)
		CHECK_CONTAINS(peal_last_error()->text, "PEAL_CAN_MANAGED");
	CHECK(holds(host_view(b), 6));
	CHECK_OK(peal_buffer_destroy(b));
	CHECK_OK(peal_runtime_close(rt));
}

PEAL_TEST(prefetch_and_advice_of_other_buffers_are_refused)
{
	struct peal_buffer *b;
	int i;

	open_machine(2);
	for (i = PEAL_BUFFER_DEVICE; i <= PEAL_BUFFER_UNIFIED; i++) {
		b = make((uint32_t)i);
		CHECK_FAILS(peal_buffer_prefetch(peal_buffer_full_range(b), 0),
			    PEAL_ENOTSUP, "buffer 'tested'");
		CHECK_FAILS(peal_buffer_advise(peal_buffer_full_range(b),
					       PEAL_ADVICE_READ_MOSTLY, 0),
			    PEAL_ENOTSUP, "is not managed");
		CHECK_OK(peal_buffer_destroy(b));
	}
	CHECK_OK(peal_runtime_close(rt));
}

PEAL_TEST(invalid_prefetch_and_advice_are_refused)
{
	struct peal_range range = { NULL, 0, 1 };
	struct peal_buffer *b;

	open_machine(2);
	CHECK_FAILS(peal_buffer_prefetch(range, 0), PEAL_EINVAL, "no buffer");
	CHECK_FAILS(peal_buffer_advise(range, PEAL_ADVICE_READ_MOSTLY, 0),
		    PEAL_EINVAL, "no buffer");
	b = make(PEAL_BUFFER_MANAGED);
	range = peal_buffer_full_range(b);
	range.bytes++;
	CHECK_FAILS(peal_buffer_prefetch(range, 0), PEAL_EFAULT, "beyond");
	range.bytes = 0;
	CHECK_FAILS(peal_buffer_prefetch(range, 0), PEAL_EINVAL, "no bytes");
	range = peal_buffer_full_range(b);
	if (is_managed(b)) {
		CHECK_FAILS(peal_buffer_prefetch(range, 2), PEAL_ENODEV, "2");
		CHECK_FAILS(peal_buffer_prefetch(range, -2), PEAL_ENODEV, "-2");
		CHECK_FAILS(peal_buffer_advise(range, PEAL_ADVICE_PREFERRED, 2),
			    PEAL_ENODEV, "2");
		CHECK_FAILS(peal_buffer_advise(range,
					       (enum peal_buffer_advice)0, 0),
			    PEAL_EINVAL, "advice");
		CHECK_FAILS(peal_buffer_advise(range,
					       (enum peal_buffer_advice)7, 0),
			    PEAL_EINVAL, "allowed 1..6");
		CHECK_FAILS(peal_buffer_advise(range, PEAL_ADVICE_READ_MOSTLY,
					       1),
			    PEAL_EINVAL, "the advice 'read mostly'");
	}
	CHECK_OK(peal_buffer_destroy(b));
	CHECK_OK(peal_runtime_close(rt));
}

PEAL_TEST(managed_buffers_obey_the_limit_of_the_host)
{
	struct peal_memory_info info;
	struct peal_buffer *b, *none = NULL;

	open_machine(2);
	CHECK_OK(peal_memory_limit(rt, PEAL_HOST_MEMORY, BYTES + 1));
	b = make(PEAL_BUFFER_MANAGED);
	CHECK_OK(peal_memory_info(rt, PEAL_HOST_MEMORY, &info));
	CHECK_EQ(info.n_buffers, 1);
	CHECK_EQ(info.buffer_bytes, BYTES);
	CHECK_FAILS(create(PEAL_BUFFER_MANAGED, &none), PEAL_ENOSPC, "limit");
	CHECK(!none);
	CHECK_OK(peal_buffer_destroy(b));
	CHECK_OK(peal_memory_info(rt, PEAL_HOST_MEMORY, &info));
	CHECK_EQ(info.n_buffers, 0);
	CHECK_EQ(info.buffer_bytes, 0);
	CHECK_OK(peal_buffer_destroy(make(PEAL_BUFFER_MANAGED)));
	CHECK_OK(peal_runtime_close(rt));
}

PEAL_TEST(resident_kernel_admits_prefetches_only)
{
	struct peal_kernel_options o = { .workers = 1 };
	struct peal_buffer *b, *other = NULL;
	struct peal_kernel *k;
	int managed;

	open_machine(2);
	b = make(PEAL_BUFFER_MANAGED);
	managed = is_managed(b);
	harness_fill(host_view(b), BYTES, 9, 0);
	k = harness_launch_with(rt, 0, o);
	CHECK_EQ(create(PEAL_BUFFER_MANAGED, &other), managed ? PEAL_EBUSY : 0);
	if (managed) {
		CHECK_CONTAINS(peal_last_error()->text, "before the launch");
		CHECK_OK(peal_buffer_prefetch(peal_buffer_full_range(b), 0));
		CHECK_FAILS(peal_buffer_advise(peal_buffer_full_range(b),
					       PEAL_ADVICE_READ_MOSTLY, 0),
			    PEAL_EBUSY, "no kernel");
	}
	CHECK(holds(host_view(b), 9));
	/* its memory is freed once no kernel is resident */
	CHECK_OK(peal_buffer_destroy(b));
	CHECK_OK(peal_buffer_destroy(other));
	CHECK_OK(peal_kernel_stop(k, MAX_WAIT));
	CHECK_OK(peal_kernel_destroy(k));
	b = make(PEAL_BUFFER_MANAGED);
	CHECK_EQ(is_managed(b), managed);
	CHECK_OK(peal_buffer_destroy(b));
	CHECK_OK(peal_runtime_close(rt));
}

/* Denies concurrent access, and expects pinned memory. */
static void check_denied(const char *variable, const char *value)
{
	struct peal_buffer *b;

	setenv(variable, value, 1);
	open_machine(2);
	CHECK(!all_manage());
	b = make(PEAL_BUFFER_MANAGED);
	CHECK_EQ(is_managed(b), 0);
	harness_fill(host_view(b), BYTES, 2, 0);
	CHECK_EQ(peal_buffer_prefetch(peal_buffer_full_range(b), 0),
		 PEAL_ENOTSUP);
	CHECK_EQ(peal_buffer_advise(peal_buffer_full_range(b),
				    PEAL_ADVICE_READ_MOSTLY, 0),
		 PEAL_ENOTSUP);
	CHECK(holds(host_view(b), 2));
	CHECK_OK(peal_buffer_destroy(b));
	CHECK_OK(peal_runtime_close(rt));
	unsetenv(variable);
}

PEAL_TEST(without_concurrent_access_the_memory_is_pinned)
{
	const char *backends = getenv("PEAL_BACKENDS");
	const char *gpu = getenv("PEAL_TEST_GPU");

	if (!test_on_gpu() || (gpu && *gpu))
		test_leave_out("there is no driver that can be told so");
	if (strstr(backends, "cuda")) {
		check_denied("PEAL_DOUBLE_ATTRIBUTES", "89:0");
		check_denied("PEAL_DOUBLE_LACK", "cuMemPrefetchAsync");
	} else {
		check_denied("PEAL_DOUBLE_ATTRIBUTES", "9:0");
	}
}

PEAL_TEST(managed_buffer_left_open_is_reported)
{
	struct peal_leak_report report;

	open_machine(1);
	make(PEAL_BUFFER_MANAGED);
	CHECK_OK(peal_runtime_close_report(rt, &report));
	CHECK_EQ(report.n_buffers, 1);
	CHECK_EQ(report.listed[0].device, PEAL_HOST_MEMORY);
	CHECK_EQ(report.bytes, BYTES);
}

PEAL_TEST_MAIN(RUN(managed_buffer_says_which_memory_it_has);
	       RUN(managed_bytes_reach_devices_and_the_host);
	       RUN(prefetch_and_advice_reach_the_driver);
	       RUN(prefetch_and_advice_of_other_buffers_are_refused);
	       RUN(invalid_prefetch_and_advice_are_refused);
	       RUN(managed_buffers_obey_the_limit_of_the_host);
	       RUN(resident_kernel_admits_prefetches_only);
	       RUN(without_concurrent_access_the_memory_is_pinned);
	       RUN(managed_buffer_left_open_is_reported);)
