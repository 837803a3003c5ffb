/* SPDX-License-Identifier: Apache-2.0 */
/* Errors of runtime, devices, memory, programs, kernels and actors. */

#include <peal/buffer.h>
#include <peal/executor.h>
#include <peal/memory.h>
#include <peal/partition.h>
#include <peal/queue.h>
#include "runtime/harness.h"

static struct peal_runtime *rt;

static int launch(struct peal_kernel_options o)
{
	struct peal_kernel *k = NULL;
	int result;

	o.size = sizeof(o);
	result = peal_kernel_launch(rt, 0, &peal_program_relay, &o, &k);
	if (!result) {
		CHECK_OK(peal_kernel_stop(k, MAX_WAIT));
		CHECK_OK(peal_kernel_destroy(k));
	} else {
		CHECK(!k);
	}
	return result;
}

PEAL_TEST(opening_names_the_setting_or_option)
{
	struct peal_runtime_options o = { .size = 0 };
	struct peal_runtime *none = NULL;

	CHECK_EQ(peal_runtime_open(NULL, NULL), PEAL_EINVAL);
	CHECK_FAILS(peal_runtime_open(&o, &none), PEAL_EINVAL, "size");
	o.size = 4096;
	CHECK_FAILS(peal_runtime_open(&o, &none), PEAL_EINVAL, "4096");
	o.lease_ns = 1;
	o.size = sizeof(o);
	CHECK_FAILS(peal_runtime_open(&o, &none), PEAL_EINVAL, "lease_ns");
	o.reserved = 1;
	CHECK_FAILS(peal_runtime_open(&o, &none), PEAL_EINVAL,
		    "option 'reserved': is out of range (1, allowed 0); use 0");
	o.reserved = 0;
	o.size = offsetof(struct peal_runtime_options, lease_ns);
	CHECK_OK(peal_runtime_open(&o, &none)); /* lease_ns is not read */
	CHECK_OK(peal_runtime_close(none));
	none = NULL;
	setenv("PEAL_LEASE_MS", "soon", 1);
	CHECK_FAILS(peal_runtime_open(NULL, &none), PEAL_EINVAL,
		    "PEAL_LEASE_MS");
	CHECK_CONTAINS(peal_last_error()->text, "soon");
	unsetenv("PEAL_LEASE_MS");
	setenv("PEAL_SIM_SEED", "7", 1);
	CHECK_FAILS(peal_runtime_open(NULL, &none), PEAL_EINVAL,
		    "PEAL_SIM_SEED");
	unsetenv("PEAL_SIM_SEED");
	setenv("PEAL_HOST_DEVICES", "65", 1);
	CHECK_FAILS(peal_runtime_open(NULL, &none), PEAL_EINVAL,
		    "PEAL_HOST_DEVICES");
	setenv("PEAL_HOST_DEVICES", "2", 1);
	if (test_on_gpu()) /* the settings are for the host backend */
		return;
	setenv("PEAL_HOST_LINKS", "0-1:wood", 1);
	CHECK_FAILS(peal_runtime_open(NULL, &none), PEAL_EINVAL, "wood");
	setenv("PEAL_HOST_LINKS", "0-7:none", 1);
	CHECK_FAILS(peal_runtime_open(NULL, &none), PEAL_EINVAL, "7");
	CHECK(!none);
	CHECK_OK(peal_runtime_close(NULL));
	CHECK_OK(peal_runtime_shutdown(NULL));
}

PEAL_TEST(runtime_and_backend_info_check_arguments)
{
	struct peal_runtime_info info;
	struct peal_backend_info backend;
	int n;

	CHECK_EQ(peal_runtime_info(NULL, &info), PEAL_EINVAL);
	CHECK_EQ(peal_runtime_info(rt, NULL), PEAL_EINVAL);
	CHECK_EQ(peal_backend_info(NULL, 0, &backend), PEAL_EINVAL);
	CHECK_EQ(peal_backend_info(rt, 0, NULL), PEAL_EINVAL);
	for (n = 0; !peal_backend_info(rt, n, &backend); n++)
		CHECK(backend.name[0] && (backend.available || backend.reason));
	CHECK(n >= 1);
	CHECK_EQ(peal_last_error()->code, PEAL_ENOENT);
	CHECK_FAILS(peal_backend_info(rt, -1, &backend), PEAL_ENOENT, "-1");
	CHECK(peal_version()[0]);
}

PEAL_TEST(devices_out_of_range_are_named_with_their_number)
{
	struct peal_device_info info;
	struct peal_pair_info pair;
	struct peal_kernel *k;
	uint64_t address;
	static const int bad[] = { -1, 2, INT32_MAX, INT32_MIN };
	size_t i;

	CHECK_EQ(peal_device_count(rt), 2);
	CHECK_EQ(peal_device_count(NULL), PEAL_EINVAL);
	CHECK_EQ(peal_device_info(rt, 0, NULL), PEAL_EINVAL);
	CHECK_EQ(peal_device_info(NULL, 0, &info), PEAL_EINVAL);
	for (i = 0; i < 4; i++) {
		char number[16];

		snprintf(number, sizeof(number), "%d", bad[i]);
		CHECK_FAILS(peal_device_info(rt, bad[i], &info), PEAL_ENODEV,
			    number);
		CHECK_CONTAINS(peal_last_error()->text, "does not exist (");
		CHECK_CONTAINS(peal_last_error()->text, "); use device 0");
		CHECK_FAILS(peal_kernel_launch(rt, bad[i], &peal_program_relay,
					       NULL, &k),
			    PEAL_ENODEV, number);
		CHECK_FAILS(peal_topology_pair(rt, 0, bad[i], &pair),
			    PEAL_ENODEV, number);
		CHECK_FAILS(peal_topology_pair(rt, bad[i], 0, &pair),
			    PEAL_ENODEV, number);
		if (bad[i] != PEAL_HOST_MEMORY)
			CHECK_FAILS(peal_memory_alloc(rt, bad[i], 1, &address),
				    PEAL_ENODEV, number);
	}
	CHECK_EQ(peal_topology_pair(NULL, 0, 1, &pair), PEAL_EINVAL);
	CHECK_EQ(peal_topology_pair(rt, 0, 1, NULL), PEAL_EINVAL);
}

PEAL_TEST(invalid_device_filters_are_named)
{
	struct peal_device_filter wish = { .size = 0 };

	CHECK_EQ(peal_device_select(NULL, NULL), PEAL_EINVAL);
	CHECK_EQ(peal_device_select(rt, NULL), 0);
	CHECK_FAILS(peal_device_select(rt, &wish), PEAL_EINVAL, "size");
	wish.size = sizeof(wish);
	wish.peer_of = 1;
	CHECK_EQ(peal_device_select(rt, &wish), 1);
	wish.peer_of = 0;
	wish.backend = "abacus";
	CHECK_FAILS(peal_device_select(rt, &wish), PEAL_EINVAL,
		    "unknown backend (abacus");
	wish.backend = NULL;
	wish.min_memory_bytes = UINT64_MAX;
	CHECK_FAILS(peal_device_select(rt, &wish), PEAL_ENODEV,
		    "0: min_memory_bytes");
	wish.min_memory_bytes = 0;
	wish.min_compute_units = UINT32_MAX;
	CHECK_FAILS(peal_device_select(rt, &wish), PEAL_ENODEV,
		    "min_compute_units");
}

PEAL_TEST(route_and_verdict_names_round_trip)
{
	uint32_t route;

	for (route = PEAL_ROUTE_LOCAL; route <= PEAL_ROUTE_STAGED; route <<= 1)
		CHECK_EQ(peal_route_parse(
				 peal_route_name((enum peal_route)route)),
			 route);
	CHECK_FAILS(peal_route_parse("carrier-pigeon"), PEAL_EINVAL,
		    "mapped-host");
	CHECK_EQ(peal_route_parse(NULL), PEAL_EINVAL);
	CHECK(peal_route_name((enum peal_route)77)[0]);
	CHECK(peal_verdict_name((enum peal_verdict)77)[0]);
	CHECK(!strcmp(peal_verdict_name(PEAL_VERDICT_WRONG_DATA),
		      "wrong-data"));
	CHECK(peal_reason_name(99)[0]);
	CHECK(!strcmp(peal_reason_name(PEAL_REASON_NO_ACTOR), "no-actor"));
}

PEAL_TEST(invalid_memory_size_and_owner_are_refused)
{
	uint64_t a = 0, b = 0;

	CHECK_EQ(peal_memory_alloc(NULL, 0, 1, &a), PEAL_EINVAL);
	CHECK_EQ(peal_memory_alloc(rt, 0, 1, NULL), PEAL_EINVAL);
	CHECK_EQ(peal_memory_alloc(rt, 0, 0, &a), PEAL_EINVAL);
	CHECK_FAILS(peal_memory_alloc(rt, 0, 1ULL << 50, &a), PEAL_ENOMEM,
		    "free");
	CHECK_EQ(peal_memory_alloc(rt, 0, UINT64_MAX, &a), PEAL_ENOMEM);
	CHECK_EQ(a, 0);
	CHECK_OK(peal_memory_alloc(rt, 0, 1, &a));
	CHECK_OK(peal_memory_alloc(rt, PEAL_HOST_MEMORY, 100, &b));
	CHECK_EQ(a % 128, 0);
	CHECK_EQ(b % 128, 0);
	CHECK_EQ(peal_memory_free(rt, 0, a + 8), PEAL_EFAULT);
	CHECK_EQ(peal_memory_free(rt, 1, a), PEAL_EFAULT);
	CHECK_EQ(peal_memory_free(rt, 0, b), PEAL_EFAULT);
	CHECK_FAILS(peal_runtime_close(rt), PEAL_EBUSY, "2 allocations");
	CHECK_OK(peal_memory_free(rt, 0, a));
	CHECK_EQ(peal_memory_free(rt, 0, a), PEAL_EFAULT);
	CHECK_OK(peal_memory_free(rt, PEAL_HOST_MEMORY, b));
	CHECK_EQ(peal_memory_free(NULL, 0, a), PEAL_EINVAL);
}

static int no_entry(const struct peal_kernel_params *params, uint32_t worker,
		    uint32_t lane)
{
	(void)params;
	(void)worker;
	(void)lane;
	return 0;
}

PEAL_TEST(program_names_are_unique)
{
	static const struct peal_handler_info handlers[] = { { .name = "h" } };
	static struct peal_program other = {
		sizeof(other), 1,    "relay", handlers, no_entry,
		no_entry,      NULL, NULL,    0,	0
	};
	static struct peal_program broken;
	struct peal_kernel *k = NULL;

	CHECK_OK(peal_program_add(rt, &peal_program_relay));
	CHECK_FAILS(peal_program_add(rt, &peal_program_relay), PEAL_EALREADY,
		    "relay");
	CHECK_FAILS(peal_program_add(rt, &other), PEAL_EEXIST, "relay");
	CHECK_EQ(peal_program_add(NULL, &other), PEAL_EINVAL);
	CHECK_EQ(peal_program_add(rt, NULL), PEAL_EINVAL);
	CHECK_FAILS(peal_program_add(rt, &broken), PEAL_EPROGRAM, "headers");
	broken = other;
	broken.n_handlers = 0;
	CHECK_FAILS(peal_program_add(rt, &broken), PEAL_EPROGRAM, "no handler");
	broken = other;
	broken.host_entry = NULL;
	CHECK_FAILS(peal_kernel_launch(rt, 0, &broken, NULL, &k), PEAL_EPROGRAM,
		    "host image");
	CHECK(!k);
	CHECK(peal_program_find(rt, "relay") == &peal_program_relay);
	CHECK(!peal_program_find(rt, "nothing"));
	CHECK_EQ(peal_last_error()->code, PEAL_ENOENT);
	CHECK_CONTAINS(peal_last_error()->text, "stages");
	CHECK_CONTAINS(peal_last_error()->text, "relay");
	CHECK(!peal_program_find(rt, NULL));
	CHECK_EQ(peal_program_handler(&peal_program_relay, "echo"), 0);
	CHECK_FAILS(peal_program_handler(&peal_program_relay, "shout"),
		    PEAL_ENOENT, "echo, sink, nearby, burst");
	CHECK_EQ(peal_program_handler(NULL, "echo"), PEAL_EINVAL);
	CHECK_EQ(peal_program_handler(&peal_program_relay, NULL), PEAL_EINVAL);
}

PEAL_TEST(launch_names_the_option_out_of_range)
{
	struct peal_kernel_options bad_size = { .size = 8000 };
	struct peal_kernel_options good = { .workers = 2 };
	struct peal_kernel *k = NULL;

#define REFUSED(field, value, error, part)                                     \
	do {                                                                   \
		struct peal_kernel_options o = { .field = (value) };           \
		CHECK_FAILS(launch(o), error, part);                           \
	} while (0)
	REFUSED(workers, 1 << 20, PEAL_EINVAL,
		"'workers': is out of range "
		"(1048576, allowed 1..65535)");
	REFUSED(workers, 60000, PEAL_ENOSPC,
		"'workers': is too large for "
		"device");
	CHECK_CONTAINS(peal_last_error()->text, "'workers': is too large for "
						"device");
	REFUSED(lanes, 1025, PEAL_EINVAL,
		"'lanes': is out of range (1025, "
		"allowed 1..1024)");
	REFUSED(max_actors, UINT32_MAX, PEAL_EINVAL, "max_actors");
	REFUSED(max_inputs, 4097, PEAL_EINVAL, "max_inputs");
	REFUSED(max_ports, 4097, PEAL_EINVAL, "max_ports");
	REFUSED(max_barriers, 257, PEAL_EINVAL, "max_barriers");
	REFUSED(arena_bytes, UINT64_MAX, PEAL_EINVAL, "arena_bytes");
	REFUSED(arena_bytes, 1ULL << 39, PEAL_ENOMEM, "");
	REFUSED(mailbox.slots, 100, PEAL_EINVAL,
		"'mailbox.slots': must be a "
		"power of two (100, allowed 1..1048576)");
	REFUSED(mailbox.slots, UINT32_MAX, PEAL_EINVAL, "mailbox.slots");
	CHECK_FAILS(peal_kernel_launch(rt, 0, &peal_program_relay, &bad_size,
				       &k),
		    PEAL_EINVAL, "8000");
	CHECK_EQ(peal_kernel_launch(rt, 0, NULL, NULL, &k), PEAL_EINVAL);
	CHECK_EQ(peal_kernel_launch(NULL, 0, &peal_program_relay, NULL, &k),
		 PEAL_EINVAL);
	CHECK_EQ(peal_kernel_launch(rt, 0, &peal_program_relay, NULL, NULL),
		 PEAL_EINVAL);
	CHECK(!k);
	CHECK_OK(launch(good)); /* the refused calls left nothing */
}

PEAL_TEST(kernel_calls_refuse_null_and_missing_workers)
{
	struct peal_kernel *k = harness_launch(rt, 0);
	struct peal_kernel_info info;
	struct peal_worker_info worker;

	CHECK_EQ(peal_kernel_suspend(NULL, 0), PEAL_EINVAL);
	CHECK_EQ(peal_kernel_resume(NULL), PEAL_EINVAL);
	CHECK_EQ(peal_kernel_drain(NULL, 0), PEAL_EINVAL);
	CHECK_EQ(peal_kernel_stop(NULL, 0), PEAL_EINVAL);
	CHECK_EQ(peal_kernel_abort(NULL, 0), PEAL_EINVAL);
	CHECK_EQ(peal_kernel_wait(NULL, 0), PEAL_EINVAL);
	CHECK_OK(peal_kernel_destroy(NULL));
	CHECK_EQ(peal_kernel_info(NULL, &info), PEAL_EINVAL);
	CHECK_EQ(peal_kernel_info(k, NULL), PEAL_EINVAL);
	CHECK_FAILS(peal_worker_info(k, 1, &worker), PEAL_ENOENT,
		    "'relay': has no such worker (1, allowed 0)");
	CHECK_EQ(peal_worker_info(NULL, 0, &worker), PEAL_EINVAL);
	CHECK_EQ(peal_worker_info(k, 0, NULL), PEAL_EINVAL);
	CHECK_FAILS(peal_kernel_destroy(k), PEAL_EBUSY, "'relay' still runs");
	CHECK_FAILS(peal_kernel_wait(k, 1), PEAL_ETIMEDOUT, "worker 0");
	CHECK_OK(peal_kernel_stop(k, INT64_MAX));
	CHECK_OK(peal_kernel_wait(k, -1));
	CHECK_OK(peal_kernel_destroy(k));
}

PEAL_TEST(spawn_refuses_bad_name_full_slots_and_state)
{
	struct peal_kernel_options o = { .max_actors = 3,
					 .max_ports = 1,
					 .arena_bytes = 64,
					 .name = "small" };
	struct peal_kernel *k = harness_launch_with(rt, 0, o);
	struct peal_actor_options a = { .size = 4096 };
	uint8_t init[256] = { 0 };
	uint64_t address, sink;

#define SPAWN(handler) peal_actor_spawn(k, handler, &a, &address)
	CHECK_EQ(SPAWN("echo"), PEAL_EINVAL);
	a.size = sizeof(a);
	CHECK_FAILS(SPAWN("shout"), PEAL_ENOENT, "echo, sink, nearby, burst");
	a.worker = 2;
	CHECK_FAILS(SPAWN("echo"), PEAL_ENOENT,
		    "'worker': is of no worker of kernel 'small' (2, allowed "
		    "0..1)");
	a.worker = 0;
	a.init = init;
	a.init_bytes = 256;
	CHECK_FAILS(SPAWN("sink"), PEAL_EINVAL,
		    "'init_bytes': is too large "
		    "for the state of handler 'sink' (256, allowed 0..56)");
	a.init_bytes = 0;
	CHECK_OK(SPAWN("sink"));
	sink = address;
	CHECK_FAILS(SPAWN("sink"), PEAL_ENOSPC, "arena_bytes");
	CHECK_OK(SPAWN("echo"));
	CHECK_FAILS(SPAWN("echo"), PEAL_ENOSPC, "max_ports");
	CHECK_OK(SPAWN("moody"));
	CHECK_FAILS(SPAWN("moody"), PEAL_ENOSPC, "all 3 of max_actors");
	CHECK_EQ(peal_actor_spawn(NULL, "echo", NULL, &address), PEAL_EINVAL);
	CHECK_EQ(peal_actor_spawn(k, NULL, NULL, &address), PEAL_EINVAL);
	CHECK_EQ(peal_actor_spawn(k, "echo", NULL, NULL), PEAL_EINVAL);
	CHECK_EQ(peal_actor_retire(NULL, sink), PEAL_EINVAL);
	CHECK_FAILS(peal_actor_retire(rt, 0x123456789), PEAL_ENOENT,
		    "0x123456789");
	CHECK_EQ(peal_actor_state(rt, sink + 50, init, 8), PEAL_ENOENT);
	CHECK_EQ(peal_actor_state(NULL, sink, init, 8), PEAL_EINVAL);
	CHECK_EQ(peal_actor_state(rt, sink, NULL, 8), PEAL_EINVAL);
	CHECK_FAILS(peal_actor_state(rt, sink, init, 8), PEAL_EBUSY, "'small'");
	CHECK_OK(peal_kernel_stop(k, MAX_WAIT));
	CHECK_OK(peal_actor_state(rt, sink, init, 8));
	CHECK_EQ(peal_actor_state(rt, sink, init, 256), PEAL_EINVAL);
	CHECK_FAILS(SPAWN("echo"), PEAL_ENOSPC, "max_actors");
	CHECK_FAILS(peal_actor_retire(rt, sink), PEAL_ESTOPPED, "small");
	CHECK_OK(peal_kernel_destroy(k));
	CHECK_EQ(peal_actor_state(rt, sink, init, 8), PEAL_ENOENT);
}

static void open_close(void)
{
	CHECK_OK(peal_runtime_close(rt));
}

PEAL_TEST(values_of_enums_have_names)
{
	CHECK(!strcmp(peal_kernel_state_name(PEAL_KERNEL_FAILED), "failed"));
	CHECK(!strcmp(peal_kernel_state_name(PEAL_KERNEL_FAILED + 1), "?"));
	CHECK(!strcmp(peal_failure_action_name(PEAL_FAILURE_END), "end"));
	CHECK(!strcmp(peal_failure_action_name(PEAL_FAILURE_END + 1), "?"));
	CHECK(!strcmp(peal_buffer_kind_name(PEAL_BUFFER_UNIFIED), "unified"));
	CHECK(!strcmp(peal_buffer_kind_name(PEAL_BUFFER_MANAGED + 1), "?"));
	CHECK(!strcmp(peal_schedule_name(PEAL_SCHEDULE_GUIDED), "guided"));
	CHECK(!strcmp(peal_schedule_name(PEAL_SCHEDULE_MEMORY), "memory"));
	CHECK(!strcmp(peal_schedule_name(PEAL_SCHEDULE_COUNT), "?"));
	CHECK(!strcmp(peal_partition_kind_name(PEAL_PARTITION_WEIGHTED),
		      "weighted"));
	CHECK(!strcmp(peal_partition_kind_name(0), "?"));
	CHECK(!strcmp(peal_partition_kind_name(4), "?"));
	CHECK(!strcmp(peal_queue_role_name(PEAL_QUEUE_CONSUMER), "consumer"));
	CHECK(!strcmp(peal_queue_role_name(2), "?"));
}

PEAL_TEST_MAIN(rt = harness_open(2, "");
	       RUN(runtime_and_backend_info_check_arguments);
	       RUN(devices_out_of_range_are_named_with_their_number);
	       RUN(invalid_device_filters_are_named);
	       RUN(route_and_verdict_names_round_trip);
	       RUN(invalid_memory_size_and_owner_are_refused);
	       RUN(program_names_are_unique);
	       RUN(launch_names_the_option_out_of_range);
	       RUN(kernel_calls_refuse_null_and_missing_workers);
	       RUN(spawn_refuses_bad_name_full_slots_and_state); open_close();
	       RUN(opening_names_the_setting_or_option);
	       RUN(values_of_enums_have_names);)
