/* SPDX-License-Identifier: Apache-2.0 */
/* labels: double */
/*
 * Shows that the loss of a device in use gives an error text. So do programs
 * and kernels that do not fit a device. Other devices and kernels go on.
 */
#include <dlfcn.h>

#include <peal/memory.h>
#include <peal/peer.h>
#include "runtime/harness.h"
#include "runtime/runtime.h"

#define LAUNCH_FAILED 719
#define PARKED 5 /* messages that the lost device has not handled */

static int is_hip(void)
{
	return !strcmp(getenv("PEAL_BACKENDS"), "hip");
}

static struct peal_runtime *open_double(void)
{
	setenv("PEAL_GPU_MEMORY", "32M", 1);
	setenv("PEAL_PINNED_MEMORY", "32M", 1);
	return harness_open(2, "");
}

/* Returns an exported function of the double, which stays loaded. */
static void *of_double(const char *name)
{
	void *library =
		dlopen(is_hip() ? "libamdhip64.so" : "libcuda.so.1", RTLD_NOW);
	void *found = library ? dlsym(library, name) : NULL;

	CHECK(found);
	dlclose(library);
	return found;
}

/* Makes the double lose the device. error 0: the device is there again. */
static void lose(int device, int error)
{
	void *found = of_double("peal_driver_double_lose");
	void (*call)(int device, int error);

	memcpy(&call, &found, sizeof(found));
	call(device, error);
}

/* Makes the second heap allocation from now on fail. */
static void fill_memory(void)
{
	const char *symbol = is_hip() ? "hipExtMallocWithFlags" : "cuMemCreate";
	void *found = of_double("peal_driver_double_calls");
	int (*calls)(const char *symbol);
	char fault[64];

	memcpy(&calls, &found, sizeof(found));
	snprintf(fault, sizeof(fault), "%s:2:%d", symbol, calls(symbol) + 2);
	setenv("PEAL_DOUBLE_FAIL", fault, 1);
}

/* Endpoint -> echo on a device -> endpoint. */
struct loop {
	struct peal_endpoint *e;
	struct peal_kernel *k;
	struct peal_link *to, *from;
};

static struct loop make_loop(struct peal_runtime *rt, int device)
{
	struct peal_link_options o = { .capacity = 16 };
	struct peal_kernel_options plain = { .workers = 1 };
	struct loop loop;
	uint64_t actor;

	loop.e = harness_endpoint(rt);
	loop.k = harness_launch_with(rt, device, plain);
	actor = harness_spawn(loop.k, "echo", 0);
	loop.to = harness_from(rt, loop.e, 0, actor, o);
	loop.from = harness_to(rt, actor, loop.e, o);
	return loop;
}

static void go_round(struct loop *loop, uint64_t first, uint64_t n)
{
	harness_send(loop->e, 0, 1, first, n);
	harness_receive(loop->e, 1, first, n);
}

static enum peal_kernel_state state_of(struct peal_kernel *k)
{
	struct peal_kernel_info info;

	CHECK_OK(peal_kernel_info(k, &info));
	CHECK(info.state != PEAL_KERNEL_FAILED || info.result == PEAL_EDRIVER);
	return info.state;
}

/* Checks the errors, and that unhandled messages are listed with a reason. */
static void check_lost(struct loop *loop)
{
	struct peal_received r;
	struct peal_link_info info;
	char text[64];

	EVENTUALLY(state_of(loop->k) == PEAL_KERNEL_FAILED);
	CHECK_FAILS(peal_kernel_wait(loop->k, MAX_WAIT), PEAL_EDRIVER,
		    is_hip() ? "hipStreamQuery" : "cuStreamQuery");
	EVENTUALLY(harness_info(loop->to).undelivered == PARKED);
	info = harness_info(loop->to);
	CHECK(harness_holds(&info));
	CHECK_EQ(info.undelivered_first, 50);
	CHECK_EQ(info.dead[PEAL_REASON_STOPPED], PARKED);
	CHECK_FAILS(peal_send(loop->e, 0, 0, "x", 1, MAX_WAIT, NULL),
		    PEAL_ESTOPPED, "port 0");
	CHECK_EQ(peal_receive(loop->e, text, sizeof(text), &r, MAX_WAIT),
		 PEAL_ESTOPPED);
}

PEAL_TEST(lost_device_closes_its_links_only)
{
	struct peal_runtime *rt = open_double();
	struct loop lost = make_loop(rt, 1), fine = make_loop(rt, 0);
	struct peal_kernel *k = NULL;
	struct peal_device_info info;
	uint64_t address = 0;

	CHECK_OK(peal_memory_alloc(rt, 1, 64, &address));
	CHECK_OK(peal_device_info(rt, 1, &info));
	CHECK_EQ(info.lost, 0);
	go_round(&lost, 0, 10);
	go_round(&fine, 0, 10);
	harness_send(lost.e, 0, 1, 10, 10);
	harness_receive(lost.e, 1, 10, 10);
	go_round(&lost, 20, 10);
	go_round(&lost, 30, 10);
	go_round(&lost, 40, 10);
	CHECK_OK(peal_kernel_suspend(lost.k, MAX_WAIT));
	harness_send(lost.e, 0, 1, 50, PARKED);
	lose(1, LAUNCH_FAILED);
	check_lost(&lost);
	go_round(&fine, 10, 10);
	CHECK_FAILS(peal_kernel_launch(rt, 1, &peal_program_relay, NULL, &k),
		    PEAL_EDRIVER, "device 1: lost");
	CHECK_OK(peal_device_info(rt, 1, &info));
	CHECK_EQ(info.lost, 1);
	CHECK_FAILS(peal_peer_copy(rt, 1, address, PEAL_HOST_MEMORY,
				   (uintptr_t)&address, sizeof(address)),
		    PEAL_EDRIVER, "device 1: a copy");
	CHECK_OK(peal_memory_free(rt, 1, address));
	go_round(&fine, 20, 10);
	harness_conserved(rt);
	CHECK_OK(peal_link_destroy(lost.to));
	CHECK_OK(peal_link_destroy(lost.from));
	CHECK_OK(peal_kernel_destroy(lost.k));
	CHECK_OK(peal_runtime_shutdown(rt));
	lose(1, 0);
}

PEAL_TEST(kernel_runs_after_peer_device_is_lost)
{
	struct peal_link_options o = { .capacity = 16 };
	struct peal_kernel_options plain = { .workers = 1 };
	struct peal_runtime *rt = open_double();
	struct peal_endpoint *e = harness_endpoint(rt);
	struct peal_kernel *near = harness_launch_with(rt, 0, plain);
	struct peal_kernel *far = harness_launch_with(rt, 1, plain);
	uint64_t first = harness_spawn(near, "echo", 0);
	uint64_t second = harness_spawn(far, "sink", 0);
	struct peal_link *to = harness_from(rt, e, 0, first, o);
	struct peal_link *between = harness_link(rt, first, 0, second, o);
	struct peal_link_info info;

	harness_send(e, 0, 1, 0, 10);
	EVENTUALLY(harness_info(between).delivered == 10);
	lose(1, LAUNCH_FAILED);
	EVENTUALLY(state_of(far) == PEAL_KERNEL_FAILED);
	harness_send(e, 0, 1, 10, 30); /* more than the links hold */
	EVENTUALLY(harness_info(to).queued == 0);
	CHECK_EQ(state_of(near), PEAL_KERNEL_RUNNING);
	info = harness_info(between);
	CHECK(harness_holds(&info));
	CHECK_EQ(info.delivered, 10);
	CHECK_OK(peal_kernel_stop(near, MAX_WAIT));
	harness_conserved(rt);
	CHECK_OK(peal_runtime_shutdown(rt));
	lose(1, 0);
}

PEAL_TEST(lanes_beyond_register_limit_are_refused)
{
	struct peal_kernel_options o = { .size = sizeof(o), .lanes = 512 };
	struct peal_kernel *k = NULL;
	struct peal_runtime *rt;

	setenv("PEAL_DOUBLE_LANES", "384", 1);
	rt = harness_open(1, "");
	CHECK_FAILS(peal_kernel_launch(rt, 0, &peal_program_relay, &o, &k),
		    PEAL_ENOSPC, "allowed 1..384); use 384");
	o.lanes = 384;
	CHECK_OK(peal_kernel_launch(rt, 0, &peal_program_relay, &o, &k));
	CHECK_OK(peal_runtime_shutdown(rt));
	unsetenv("PEAL_DOUBLE_LANES");
}

PEAL_TEST(too_large_kernel_error_names_fitting_workers)
{
	struct peal_kernel_options large = { .size = sizeof(large),
					     .workers = 60 };
	struct peal_kernel *k = NULL;
	struct peal_runtime *rt;

	setenv("PEAL_DOUBLE_UNITS", "4", 1);
	rt = open_double();
	CHECK_FAILS(peal_kernel_launch(rt, 0, &peal_program_relay, &large, &k),
		    PEAL_ENOSPC, "(60, allowed 1..24); use 24");
	CHECK_OK(peal_runtime_close(rt));
	unsetenv("PEAL_DOUBLE_UNITS");
}

PEAL_TEST(destroyed_kernel_frees_its_worker_capacity)
{
	struct peal_kernel_options twenty = { .size = sizeof(twenty),
					      .workers = 20 };
	struct peal_kernel_options ten = { .size = sizeof(ten), .workers = 10 };
	struct peal_kernel *k = NULL, *other = NULL;
	struct peal_runtime *rt;
	int i;

	setenv("PEAL_DOUBLE_UNITS", "4", 1); /* 24 workers */
	rt = open_double();
	for (i = 0; i < 2; i++) {
		CHECK_OK(peal_kernel_launch(rt, 0, &peal_program_relay, &twenty,
					    &k));
		CHECK_FAILS(peal_kernel_launch(rt, 0, &peal_program_relay, &ten,
					       &other),
			    PEAL_ENOSPC, "(10, allowed 1");
		CHECK_OK(peal_kernel_stop(k, MAX_WAIT));
		CHECK_OK(peal_kernel_destroy(k));
	}
	CHECK_OK(peal_kernel_launch(rt, 0, &peal_program_relay, &ten, &k));
	CHECK_OK(peal_kernel_launch(rt, 0, &peal_program_relay, &ten, &other));
	CHECK_OK(peal_runtime_shutdown(rt));
	unsetenv("PEAL_DOUBLE_UNITS");
}

PEAL_TEST(second_runtime_on_same_gpus_is_refused)
{
	struct peal_runtime *rt = open_double(), *second = NULL;
	struct loop loop = make_loop(rt, 0);

	CHECK_FAILS(peal_runtime_open(NULL, &second), PEAL_EBUSY,
		    "another runtime of this process uses the");
	CHECK_CONTAINS(peal_last_error()->text, is_hip() ? "hip" : "cuda");
	CHECK(!second);
	go_round(&loop, 0, 10);
	CHECK_OK(peal_runtime_shutdown(rt));
	rt = open_double();
	CHECK_OK(peal_runtime_close(rt));
}

PEAL_TEST(more_kernels_than_streams_are_refused_with_their_number)
{
	struct peal_runtime *rt = open_double();
	struct peal_kernel *k = NULL;
	char text[48];
	int i, r = 0;

	for (i = 0; i < 20 && !r; i++)
		r = peal_kernel_launch(rt, 0, &peal_program_relay, NULL, &k);
	CHECK_EQ(r, PEAL_ENOSPC);
	/* the number depends on the vendor: HIP has fewer queues */
	snprintf(text, sizeof(text), "%d kernels at a time", i - 1);
	CHECK(i > 2);
	CHECK_CONTAINS(peal_last_error()->text, text);
	CHECK_OK(peal_kernel_stop(k, MAX_WAIT)); /* frees a stream */
	CHECK_OK(peal_kernel_destroy(k));
	CHECK_OK(peal_kernel_launch(rt, 0, &peal_program_relay, NULL, &k));
	CHECK_OK(peal_runtime_shutdown(rt));
}

/* The relay's code under another name. */
static struct peal_program renamed(const char *name)
{
	struct peal_program copy = peal_program_relay;

	copy.name = name;
	return copy;
}

PEAL_TEST(program_added_after_launch_is_refused)
{
	static struct peal_program late;
	struct peal_runtime *rt = open_double();
	struct peal_kernel *k = NULL, *other = NULL;

	late = renamed("late");
	CHECK_OK(peal_kernel_launch(rt, 0, &peal_program_relay, NULL, &k));
	CHECK_FAILS(peal_kernel_launch(rt, 0, &late, NULL, &other), PEAL_EBUSY,
		    "add it before the first launch");
	CHECK_OK(peal_runtime_shutdown(rt));
}

PEAL_TEST(known_programs_launch_beside_resident_kernel)
{
	struct peal_runtime *rt = open_double();
	const struct peal_program *stages =
		peal_program_find(rt, "peal_stages");
	struct peal_kernel *k = NULL, *other = NULL;

	CHECK(stages);
	CHECK_OK(peal_kernel_launch(rt, 0, &peal_program_relay, NULL, &k));
	CHECK_OK(peal_kernel_launch(rt, 0, stages, NULL, &other));
	CHECK_OK(peal_runtime_shutdown(rt));
}

PEAL_TEST(runtime_open_enomem_names_the_full_device)
{
	struct peal_runtime *rt = NULL;
	uint64_t address = 0;

	fill_memory();
	setenv("PEAL_HOST_DEVICES", "2", 1);
	setenv("PEAL_GPU_MEMORY", "32M", 1);
	CHECK_EQ(peal_runtime_open(NULL, &rt), PEAL_ENOMEM);
	CHECK_CONTAINS(peal_last_error()->text, "device 1: a heap of 32 MiB");
	CHECK_CONTAINS(peal_last_error()->text, "device 0 has 71680");
	setenv("PEAL_DOUBLE_FAIL", "", 1);
	rt = open_double();
	CHECK_EQ(peal_memory_alloc(rt, 1, 24 << 20, &address), 0);
	CHECK_EQ(peal_memory_alloc(rt, 1, 24 << 20, &address), PEAL_ENOMEM);
	CHECK_CONTAINS(peal_last_error()->text, "device 0 has");
	CHECK_OK(peal_runtime_shutdown(rt));
}

/* Skips the case if the build has no images for the vendor's devices. Programs
 * are then compiled when they are loaded. */
static void need_images(void)
{
	const struct peal_image *image = peal_program_relay.images;

	for (; image && image->target; image++)
		if ((strncmp(image->target, "gfx", 3) == 0) == is_hip())
			return;
	test_leave_out("this build has no images for these devices");
}

PEAL_TEST(image_of_other_architecture_is_refused)
{
	struct peal_kernel *k = NULL;
	struct peal_runtime *rt;

	need_images();
	setenv("PEAL_DOUBLE_ARCH", is_hip() ? "gfx1030" : "sm_70", 1);
	rt = open_double();
	CHECK_FAILS(peal_kernel_launch(rt, 0, &peal_program_relay, NULL, &k),
		    PEAL_EPROGRAM, is_hip() ? "gfx1030" : "sm_70");
	CHECK_CONTAINS(peal_last_error()->text, "relay");
	CHECK_OK(peal_runtime_close(rt));
	unsetenv("PEAL_DOUBLE_ARCH");
}

/* Copies the program's images, and makes each copy end too early. */
static void cut_images(struct peal_image images[8])
{
	const struct peal_image *image = peal_program_relay.images;
	int i;

	for (i = 0; image[i].target; i++) {
		CHECK(i < 7);
		images[i] = image[i];
		images[i].end = image[i].begin + 100;
	}
}

PEAL_TEST(damaged_image_is_refused_before_driver_load)
{
	static struct peal_image images[8];
	static struct peal_program cut;
	struct peal_kernel *k = NULL;
	struct peal_runtime *rt;

	need_images();
	rt = open_double();
	cut_images(images);
	cut = renamed("cut");
	cut.images = images;
	CHECK_EQ(peal_kernel_launch(rt, 0, &cut, NULL, &k), PEAL_EPROGRAM);
	CHECK_CONTAINS(peal_last_error()->text, "cut");
	printf("    %s\n", peal_last_error()->text);
	CHECK_OK(peal_runtime_close(rt));
}

extern const struct peal_program peal_program_peal_baseline;

/* Recorded launches may run and be freed while a kernel is resident. */
PEAL_TEST(launches_are_recorded_without_resident_kernels)
{
	struct peal_runtime *rt = open_double();
	const struct peali_device *d = &rt->devices.device[0];
	const struct peali_backend_ops *ops = d->backend->ops;
	struct peali_launch_desc desc = { .program =
						  &peal_program_peal_baseline,
					  .n_workers = 1,
					  .lanes = 1,
					  .recorded = 1 };
	struct peali_launch *recorded = NULL, *other = NULL;
	struct loop loop;
	int i;

	/* a kernel with parameters of zeros ends at once */
	CHECK_OK(peal_memory_alloc(rt, PEAL_HOST_MEMORY, 4096, &desc.params));
	CHECK_OK(ops->load(d->backend, d->local, desc.program));
	CHECK_OK(ops->launch(d->backend, &desc, &recorded));
	CHECK_EQ(ops->launch_query(recorded), 0);
	loop = make_loop(rt, 0);
	CHECK_FAILS(ops->launch(d->backend, &desc, &other), PEAL_EBUSY,
		    "while no kernel is resident");
	for (i = 0; i < 3; i++) {
		CHECK_OK(ops->launch_again(recorded));
		CHECK_OK(ops->launch_wait(recorded, MAX_WAIT));
	}
	CHECK_OK(ops->launch_free(recorded));
	go_round(&loop, 0, 10);
	desc.recorded = 0;
	CHECK_OK(ops->launch(d->backend, &desc, &other));
	CHECK_FAILS(ops->launch_again(other), PEAL_EINVAL, "not recorded");
	CHECK_OK(ops->launch_wait(other, MAX_WAIT));
	CHECK_OK(ops->launch_free(other));
	CHECK_OK(peal_runtime_shutdown(rt));
}

PEAL_TEST_MAIN(RUN(lost_device_closes_its_links_only);
	       RUN(kernel_runs_after_peer_device_is_lost);
	       RUN(lanes_beyond_register_limit_are_refused);
	       RUN(too_large_kernel_error_names_fitting_workers);
	       RUN(destroyed_kernel_frees_its_worker_capacity);
	       RUN(second_runtime_on_same_gpus_is_refused);
	       RUN(known_programs_launch_beside_resident_kernel);
	       RUN(more_kernels_than_streams_are_refused_with_their_number);
	       RUN(program_added_after_launch_is_refused);
	       RUN(runtime_open_enomem_names_the_full_device);
	       RUN(image_of_other_architecture_is_refused);
	       RUN(damaged_image_is_refused_before_driver_load);
	       RUN(launches_are_recorded_without_resident_kernels);)
