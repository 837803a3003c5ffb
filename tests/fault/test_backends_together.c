/* SPDX-License-Identifier: Apache-2.0 */
/* labels: fast double */
/* Shows that devices of several backends work together in one runtime. So do
 * parts of one GPU. */
#include <peal/executor.h>
#include <peal/memory.h>
#include <peal/peer.h>
#include <peal/topology.h>
#include "runtime/harness.h"
#include "runtime/tasks.h"

PEAL_DECLARE_PROGRAM(tasks);

#define COUNT 2000

static struct peal_runtime *open_with(const char *backends, int gpus,
				      const char *split)
{
	char number[16];

	snprintf(number, sizeof(number), "%d", gpus);
	setenv("PEAL_BACKENDS", backends, 1);
	setenv("PEAL_DOUBLE_DEVICES", number, 1);
	setenv("PEAL_GPU_SPLIT", split, 1);
	return harness_open(1, "");
}

static const char *backend_of(struct peal_runtime *rt, int device)
{
	static struct peal_device_info info;

	CHECK_OK(peal_device_info(rt, device, &info));
	CHECK_EQ(info.emulated, 1);
	return info.backend;
}

/* Sends through host -> actor on a -> actor on b -> host. The link between the
 * actors must have this route. */
static void chain(struct peal_runtime *rt, int a, int b, uint32_t route)
{
	struct peal_link_options o = { .capacity = 64, .message_bytes = 64 };
	struct peal_endpoint *e = harness_endpoint(rt);
	struct peal_kernel *ka = harness_launch(rt, a);
	struct peal_kernel *kb = harness_launch(rt, b);
	uint64_t from = harness_spawn(ka, "echo", 0);
	uint64_t to = harness_spawn(kb, "echo", 0);
	struct peal_link *link[3];
	uint64_t done;
	int i;

	link[0] = harness_from(rt, e, 0, from, o);
	link[1] = harness_link(rt, from, 0, to, o);
	link[2] = harness_to(rt, to, e, o);
	CHECK_EQ(harness_info(link[1]).route, route);
	for (done = 0; done < COUNT; done += 50) {
		harness_send(e, 0, 3, done, 50);
		harness_receive(e, 3, done, 50);
	}
	CHECK_OK(peal_send_end(e, 0, MAX_WAIT));
	CHECK_OK(peal_kernel_wait(ka, MAX_WAIT));
	CHECK_OK(peal_kernel_wait(kb, MAX_WAIT));
	for (i = 0; i < 3; i++)
		harness_delivered(link[i], COUNT);
	harness_conserved(rt);
	for (i = 0; i < 3; i++)
		CHECK_OK(peal_link_destroy(link[i]));
	CHECK_OK(peal_kernel_destroy(ka));
	CHECK_OK(peal_kernel_destroy(kb));
	CHECK_OK(peal_endpoint_destroy(e));
}

PEAL_TEST(a_gpu_and_an_emulated_device_are_linked_both_ways)
{
	static const char *const sets[] = { "cuda,host", "hip,host" };
	struct peal_pair_info pair;
	struct peal_runtime *rt;
	size_t i;

	for (i = PEAL_TSAN; i < 2; i++) {
		rt = open_with(sets[i], 1, "1");
		CHECK_EQ(peal_device_count(rt), 2);
		CHECK_CONTAINS(sets[i], backend_of(rt, 0));
		CHECK(!strcmp(backend_of(rt, 1), "host"));
		CHECK_OK(peal_topology_pair(rt, 0, 1, &pair));
		CHECK_EQ(pair.verdict, PEAL_VERDICT_NO_ACCESS);
		CHECK_CONTAINS(pair.reason, "two backends");
		chain(rt, 0, 1, PEAL_ROUTE_STAGED);
		chain(rt, 1, 0, PEAL_ROUTE_STAGED);
		chain(rt, 1, 1, PEAL_ROUTE_LOCAL);
		CHECK_OK(peal_runtime_close(rt));
	}
}

PEAL_TEST(memory_is_copied_between_two_backends)
{
	uint8_t in[10000], out[10000];
	struct peal_runtime *rt;
	uint64_t gpu, host, pinned;

	rt = open_with("hip,host", 1, "1");
	harness_fill(in, sizeof(in), 5, 6);
	CHECK_OK(peal_memory_alloc(rt, 0, sizeof(in), &gpu));
	CHECK_OK(peal_memory_alloc(rt, 1, sizeof(in), &host));
	CHECK_OK(peal_memory_alloc(rt, PEAL_HOST_MEMORY, sizeof(in), &pinned));
	CHECK_OK(peal_peer_copy(rt, 0, gpu, PEAL_HOST_MEMORY, (uintptr_t)in,
				sizeof(in)));
	CHECK_OK(peal_peer_copy(rt, 1, host, 0, gpu, sizeof(in)));
	CHECK_OK(peal_peer_copy(rt, PEAL_HOST_MEMORY, pinned, 1, host,
				sizeof(in)));
	CHECK_OK(peal_peer_copy(rt, PEAL_HOST_MEMORY, (uintptr_t)out,
				PEAL_HOST_MEMORY, pinned, sizeof(in)));
	CHECK(!memcmp(in, out, sizeof(in)));
	CHECK_OK(peal_memory_free(rt, PEAL_HOST_MEMORY, pinned));
	CHECK_OK(peal_memory_free(rt, 1, host));
	CHECK_OK(peal_memory_free(rt, 0, gpu));
	CHECK_OK(peal_runtime_close(rt));
}

PEAL_TEST(two_vendors_are_linked_through_host_memory)
{
	struct peal_runtime *rt;

	if (PEAL_TSAN)
		return; /* CUDA devices publish by 16 bytes */
	rt = open_with("cuda,hip", 1, "1");
	CHECK_EQ(peal_device_count(rt), 2);
	CHECK(!strcmp(backend_of(rt, 0), "cuda"));
	CHECK(!strcmp(backend_of(rt, 1), "hip"));
	chain(rt, 0, 0, PEAL_ROUTE_LOCAL);
	chain(rt, 1, 1, PEAL_ROUTE_LOCAL);
	chain(rt, 0, 1, PEAL_ROUTE_STAGED);
	chain(rt, 1, 0, PEAL_ROUTE_STAGED);
	CHECK_OK(peal_runtime_close(rt));
}

/* Each device visits its own elements of a static job in host memory. */
static void visit_all(struct peal_runtime *rt, uint32_t n)
{
	enum { EACH = 3 };
	struct visit v = { .gate_at = UINT64_MAX, .fails_at = UINT64_MAX };
	uint64_t visits[PEAL_PARTS_MAX], numbers[PEAL_PARTS_MAX], i;
	uint64_t *number = harness_pinned(rt, sizeof(*number) * EACH * n);
	uint32_t *visit = harness_pinned(rt, sizeof(*visit) * EACH * n);
	const struct peal_job_argument arguments[] = { { visits, 4, 0 },
						       { numbers, 8, 0 } };
	const struct peal_executor_options o = { .size = sizeof(o),
						 .workers = 1 };
	const struct peal_job job = { .size = sizeof(job),
				      .schedule = PEAL_SCHEDULE_STATIC,
				      .handler = "visit",
				      .count = (uint64_t)EACH * n,
				      .n_arguments = 2,
				      .parameter_bytes = sizeof(v),
				      .arguments = arguments,
				      .parameters = &v };
	struct peal_executor_report report;
	struct peal_executor *e = NULL;
	int devices[PEAL_PARTS_MAX];

	for (i = 0; i < n; i++) {
		devices[i] = (int)i;
		visits[i] = harness_address(visit);
		numbers[i] = harness_address(number);
	}
	CHECK_OK(peal_executor_create(rt, devices, n, &peal_program_tasks, &o,
				      &e));
	CHECK_OK(peal_executor_run(e, &job, MAX_WAIT));
	CHECK_OK(peal_executor_report(e, &report));
	CHECK_EQ(report.n_active, n);
	for (i = 0; i < EACH * n; i++) {
		CHECK_EQ(number[i], i);
		CHECK_EQ(visit[i], 1);
	}
	for (i = 0; i < n; i++)
		CHECK_EQ(report.part[i].elements, EACH);
	CHECK_OK(peal_executor_destroy(e));
}

/* No backend has more than 64 devices, but a runtime has those of all. */
PEAL_TEST(executor_has_more_devices_than_any_backend)
{
	struct peal_runtime *rt;

	if (PEAL_TSAN)
		return; /* CUDA devices publish by 16 bytes */
	setenv("PEAL_BACKENDS", "cuda,host", 1);
	setenv("PEAL_DOUBLE_DEVICES", "33", 1);
	setenv("PEAL_GPU_SPLIT", "1", 1);
	rt = harness_open(32, "");
	CHECK_EQ(peal_device_count(rt), 65);
	visit_all(rt, 65);
	CHECK_OK(peal_runtime_shutdown(rt));
}

PEAL_TEST(gpu_parts_are_devices_marked_as_parts)
{
	static const char *const vendors[] = { "cuda", "hip" };
	struct peal_device_info info[3];
	struct peal_pair_info pair;
	struct peal_runtime *rt;
	size_t v;
	int i;

	for (v = PEAL_TSAN; v < 2; v++) {
		rt = open_with(vendors[v], 1, "3");
		CHECK_EQ(peal_device_count(rt), 3);
		for (i = 0; i < 3; i++) {
			CHECK_OK(peal_device_info(rt, i, &info[i]));
			CHECK_CONTAINS(info[i].name, "of 3)");
			CHECK(info[i].compute_units > 0 &&
			      info[i].compute_units <= 12);
		}
		CHECK(strcmp(info[0].uuid, info[1].uuid) != 0);
		CHECK_OK(peal_topology_pair(rt, 0, 1, &pair));
		CHECK_EQ(pair.verdict, PEAL_VERDICT_OK);
		CHECK(!strcmp(pair.kind, "same-gpu"));
		chain(rt, 0, 2, PEAL_ROUTE_PEER);
		chain(rt, 2, 1, PEAL_ROUTE_PEER);
		CHECK_OK(peal_runtime_close(rt));
	}
}

PEAL_TEST(parts_without_driver_support_share_the_gpu)
{
	struct peal_device_info info;
	struct peal_runtime *rt;

	if (PEAL_TSAN)
		return; /* CUDA devices publish by 16 bytes */
	setenv("PEAL_DOUBLE_FAIL", "cuLaunchCooperativeKernel:201:1", 1);
	rt = open_with("cuda", 1, "2");
	chain(rt, 0, 1, PEAL_ROUTE_PEER);
	CHECK_OK(peal_device_info(rt, 1, &info));
	CHECK_EQ(info.compute_units, 16);
	CHECK_OK(peal_runtime_close(rt));
	unsetenv("PEAL_DOUBLE_FAIL");
	setenv("PEAL_DOUBLE_LACK", "cuGreenCtxCreate", 1);
	rt = open_with("cuda", 1, "2");
	chain(rt, 0, 1, PEAL_ROUTE_PEER);
	CHECK_OK(peal_runtime_close(rt));
	unsetenv("PEAL_DOUBLE_LACK");
}

/* Processes of launches do not see the memory of a GPU's driver. */
PEAL_TEST(processes_of_launches_are_refused_beside_gpus)
{
	struct peal_runtime *rt = NULL;

	if (PEAL_TSAN)
		return; /* refused there by itself */
	setenv("PEAL_BACKENDS", "host,cuda", 1);
	setenv("PEAL_HOST_PROCESSES", "on", 1);
	CHECK_FAILS(peal_runtime_open(NULL, &rt), PEAL_ENOTSUP,
		    "variable 'PEAL_HOST_PROCESSES': does not work beside GPUs "
		    "(on, allowed off)");
	unsetenv("PEAL_HOST_PROCESSES");
}

PEAL_TEST(backends_are_chosen_by_name)
{
	struct peal_runtime *rt = NULL;
	struct peal_backend_info info;

	setenv("PEAL_BACKENDS", "cuda,abacus", 1);
	CHECK_FAILS(peal_runtime_open(NULL, &rt), PEAL_EINVAL, "abacus");
	rt = open_with("host", 1, "1");
	CHECK_EQ(peal_device_count(rt), 1);
	CHECK_OK(peal_backend_info(rt, 0, &info));
	CHECK(!info.available);
	CHECK_CONTAINS(info.reason, "PEAL_BACKENDS");
	CHECK_OK(peal_runtime_close(rt));
}

PEAL_TEST_MAIN(RUN(a_gpu_and_an_emulated_device_are_linked_both_ways);
	       RUN(memory_is_copied_between_two_backends);
	       RUN(two_vendors_are_linked_through_host_memory);
	       RUN(executor_has_more_devices_than_any_backend);
	       RUN(gpu_parts_are_devices_marked_as_parts);
	       RUN(parts_without_driver_support_share_the_gpu);
	       RUN(processes_of_launches_are_refused_beside_gpus);
	       RUN(backends_are_chosen_by_name);)
