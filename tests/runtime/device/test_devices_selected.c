/* SPDX-License-Identifier: Apache-2.0 */
/* Devices are selected by capabilities, peers, memory and compute units. A
 * device does nothing that it lacks. */

#include <peal/buffer.h>
#include <peal/memory.h>
#include "runtime/harness.h"

#define MIB ((uint64_t)1 << 20)

static struct peal_runtime *rt;

static void open_machine(int devices, const char *links, const char *disabled)
{
	setenv("PEAL_HOST_DISABLE", disabled, 1);
	setenv("PEAL_HOST_MEMORY", "64M", 1);
	setenv("PEAL_GPU_MEMORY", "64M", 1);
	rt = harness_open(devices, links);
	unsetenv("PEAL_HOST_DISABLE");
}

/* Returns the selected devices, as in "0 2", or the name of the error. */
static const char *selected(struct peal_device_filter wish)
{
	static char text[64];
	int devices[8], n, i;
	size_t used = 0;

	wish.size = sizeof(wish);
	n = peal_device_select_all(rt, &wish, 8, devices);
	if (n < 0) {
		CHECK_EQ(peal_device_select(rt, &wish), n);
		return peal_error_name(n);
	}
	CHECK(n >= 1 && n <= 8);
	CHECK_EQ(peal_device_select(rt, &wish), devices[0]);
	for (i = 0; i < n; i++)
		used += (size_t)snprintf(text + used, sizeof(text) - used,
					 "%s%d", i ? " " : "", devices[i]);
	return text;
}

#define CHECK_SELECTED(wanted, ...)                                            \
	CHECK(!strcmp(selected((struct peal_device_filter){ __VA_ARGS__ }),    \
		      wanted))

PEAL_TEST(peers_are_selected_by_their_links)
{
	/* 2 accesses 3, no device accesses 2, and 4 has no peers */
	open_machine(5, "0-1:pcie,2>3:nvlink,*:none", "");
	CHECK_SELECTED("0 1 2 3 4", .capabilities = 0);
	CHECK_SELECTED("0 1 2", .capabilities = PEAL_CAN_PEER);
	CHECK_SELECTED("2", .peer_of = 1 + 3);
	CHECK_SELECTED("PEAL_ENODEV", .peer_of = 1 + 2);
	CHECK_SELECTED("0", .peer_of = 1 + 1, .capabilities = PEAL_CAN_UNIFIED);
	CHECK_OK(peal_runtime_close(rt));
}

PEAL_TEST(devices_are_selected_by_capabilities)
{
	HOST_CASE("a driver says the same of all its devices");
	open_machine(4, "", "0:unified+atomics,1:cooperative,2:atomics");
	CHECK_SELECTED("1 2 3", .capabilities = PEAL_CAN_UNIFIED);
	CHECK_SELECTED("1 3", .capabilities = PEAL_CAN_ATOMICS);
	CHECK_SELECTED("0 2 3", .capabilities = PEAL_CAN_COOPERATIVE);
	CHECK_SELECTED("2 3",
		       .capabilities = PEAL_CAN_COOPERATIVE | PEAL_CAN_UNIFIED);
	CHECK_SELECTED("3", .capabilities = PEAL_CAN_COOPERATIVE |
					    PEAL_CAN_UNIFIED |
					    PEAL_CAN_ATOMICS | PEAL_CAN_PEER);
	CHECK_SELECTED("2",
		       .capabilities = PEAL_CAN_COOPERATIVE | PEAL_CAN_UNIFIED,
		       .peer_of = 1 + 3, .min_compute_units = 1,
		       .backend = "host", .min_memory_bytes = 64 * MIB);
	CHECK_OK(peal_runtime_close(rt));
}

PEAL_TEST(devices_are_selected_by_free_memory_and_units)
{
	struct peal_device_info info;
	uint64_t memory;

	open_machine(2, "", "");
	CHECK_SELECTED("0 1", .min_memory_bytes = 64 * MIB);
	CHECK_OK(peal_memory_alloc(rt, 0, MIB, &memory));
	CHECK_SELECTED("1", .min_memory_bytes = 64 * MIB);
	CHECK_SELECTED("0 1", .min_memory_bytes = 63 * MIB);
	CHECK_OK(peal_memory_free(rt, 0, memory));
	CHECK_OK(peal_device_info(rt, 0, &info));
	CHECK_SELECTED("0 1", .min_compute_units = info.compute_units);
	CHECK_SELECTED("PEAL_ENODEV",
		       .min_compute_units = info.compute_units + 1);
	CHECK_SELECTED("0 1", .backend = info.backend);
	CHECK_SELECTED("PEAL_ENODEV",
		       .backend = strcmp(info.backend, "hip") ? "hip" : "cuda");
	CHECK_SELECTED("PEAL_EINVAL", .backend = "none");
	CHECK_OK(peal_runtime_close(rt));
}

PEAL_TEST(failed_selection_error_names_each_device)
{
	struct peal_device_filter wish = { .size = sizeof(wish) };
	int devices[2] = { 7, 7 };

	open_machine(2, "*:none", "");
	wish.capabilities = PEAL_CAN_PEER;
	CHECK_FAILS(peal_device_select(rt, &wish), PEAL_ENODEV,
		    "0: needs peer, 1: needs peer");
	CHECK_FAILS(peal_device_select_all(rt, &wish, 2, devices), PEAL_ENODEV,
		    "0: needs peer, 1: needs peer");
	CHECK_CONTAINS(peal_last_error()->call, "peal_device_select_all");
	CHECK_EQ(devices[0], 7);
	wish.capabilities = 32;
	CHECK_FAILS(peal_device_select(rt, &wish), PEAL_EINVAL,
		    "'capabilities': has unknown bits");
	wish.capabilities = 0;
	wish.backend = "metal";
	CHECK_FAILS(peal_device_select(rt, &wish), PEAL_EINVAL,
		    "option 'backend': is an unknown backend (metal, allowed "
		    "cuda, hip and host)");
	wish.backend = "hos";
	CHECK_EQ(peal_device_select_all(rt, &wish, 2, devices), PEAL_EINVAL);
	wish.backend = "";
	CHECK_EQ(peal_device_select(rt, &wish), PEAL_EINVAL);
	wish.backend = NULL;
	wish.peer_of = 3;
	CHECK_FAILS(peal_device_select(rt, &wish), PEAL_ENODEV,
		    "device 2: "
		    "does not exist (2");
	wish.peer_of = -1;
	CHECK_EQ(peal_device_select(rt, &wish), PEAL_ENODEV);
	wish.peer_of = 0;
	wish.size = 2;
	CHECK_EQ(peal_device_select(rt, &wish), PEAL_EINVAL);
	CHECK_EQ(peal_device_select(NULL, NULL), PEAL_EINVAL);
	CHECK_EQ(peal_device_select_all(NULL, NULL, 2, devices), PEAL_EINVAL);
	CHECK_FAILS(peal_device_select_all(rt, NULL, 0, devices), PEAL_EINVAL,
		    "'most': is too small for an index (0, allowed "
		    "1..2147483647)");
	CHECK_EQ(peal_device_select_all(rt, NULL, 1, NULL), PEAL_EINVAL);
	/* Two devices match, and the array holds one. */
	CHECK_EQ(peal_device_select_all(rt, NULL, 1, devices), 2);
	CHECK_EQ(devices[0], 0);
	CHECK_EQ(devices[1], 7);
	CHECK_OK(peal_runtime_close(rt));
}

PEAL_TEST(disabled_capability_is_refused)
{
	struct peal_kernel_options k = { .size = sizeof(k), .workers = 2 };
	struct peal_buffer_options b = { .size = sizeof(b),
					 .kind = PEAL_BUFFER_UNIFIED,
					 .bytes = 4096 };
	struct peal_pair_info pair;
	struct peal_buffer *buffer;
	struct peal_kernel *kernel;

	HOST_CASE("only emulated devices are told what they lack");
	open_machine(2, "", "0:cooperative+atomics,1:unified");
	CHECK(peal_kernel_launch(rt, 0, &peal_program_relay, &k, &kernel) < 0);
	k.workers = 1;
	CHECK_OK(peal_kernel_launch(rt, 0, &peal_program_relay, &k, &kernel));
	CHECK_OK(peal_kernel_stop(kernel, MAX_WAIT));
	CHECK_OK(peal_kernel_destroy(kernel));
	k.workers = 2;
	CHECK_OK(peal_kernel_launch(rt, 1, &peal_program_relay, &k, &kernel));
	CHECK_OK(peal_kernel_stop(kernel, MAX_WAIT));
	CHECK_OK(peal_kernel_destroy(kernel));
	CHECK_OK(peal_topology_pair(rt, 0, 1, &pair));
	CHECK(!pair.atomics);
	CHECK_OK(peal_topology_pair(rt, 1, 0, &pair));
	CHECK(pair.atomics);
	CHECK_FAILS(peal_buffer_create(rt, &b, &buffer), PEAL_ENOTSUP,
		    "view 1 is for device 1");
	b.views = 1;
	CHECK_OK(peal_buffer_create(rt, &b, &buffer));
	CHECK_OK(peal_buffer_destroy(buffer));
	CHECK_OK(peal_runtime_close(rt));
}

PEAL_TEST(disabled_capability_setting_is_checked)
{
	static const struct {
		const char *text, *part;
	} bad[] = {
		{ "0", "'PEAL_HOST_DISABLE': is wrong at column 1 ('0', "
		       "allowed device 0..1 and a colon)" },
		{ "2:unified",
		  "'PEAL_HOST_DISABLE': is wrong at column 1 "
		  "('2:unified', allowed device 0..1 and a colon)" },
		{ ":unified", "column 1" },
		{ "-1:unified", "column 1" },
		{ "0:", "'PEAL_HOST_DISABLE': is wrong at column 3 ('', "
			"allowed unified, atomics or cooperative)" },
		{ "0:peer",
		  "'PEAL_HOST_DISABLE': is wrong at column 3 "
		  "('peer', allowed unified, atomics or cooperative)" },
		{ "0:unified+",
		  "'PEAL_HOST_DISABLE': is wrong at column 11 "
		  "('', allowed unified, atomics or cooperative)" },
		{ "0:unified;1:atomics", "column 3" },
		{ "0:unified,", "column 10" },
		{ "0:unified,1:unifie",
		  "'PEAL_HOST_DISABLE': is wrong at "
		  "column 13 ('unifie', allowed unified, atomics or "
		  "cooperative)" },
		{ "99999999999999:unified", "column 1" },
	};
	size_t i;

	HOST_CASE("a setting of emulated devices");
	setenv("PEAL_HOST_DEVICES", "2", 1);
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		setenv("PEAL_HOST_DISABLE", bad[i].text, 1);
		CHECK_FAILS(peal_runtime_open(NULL, &rt), PEAL_EINVAL,
			    "PEAL_HOST_DISABLE");
		CHECK_CONTAINS(peal_last_error()->text, bad[i].part);
	}
	unsetenv("PEAL_HOST_DISABLE");
}

PEAL_TEST(architecture_and_capabilities_have_names)
{
	static const char *const names[] = { "peer", "unified", "atomics",
					     "cooperative", "managed" };
	struct peal_device_info info;
	int i;

	open_machine(2, "", "");
	CHECK_OK(peal_device_info(rt, 1, &info));
	if (test_on_gpu())
		CHECK(strstr(info.architecture, "sm_") == info.architecture ||
		      strstr(info.architecture, "gfx") == info.architecture);
	else
		CHECK(!strcmp(info.architecture, "host"));
	CHECK_OK(peal_runtime_close(rt));
	for (i = 0; i < 5; i++)
		CHECK(!strcmp(peal_device_capability_name(1 << i), names[i]));
	CHECK(!strcmp(peal_device_capability_name(0), "?"));
	CHECK(!strcmp(peal_device_capability_name(3), "?"));
}

/* A device lacks each capability that its driver denies. */
PEAL_TEST(capabilities_match_the_driver)
{
	const char *backends = getenv("PEAL_BACKENDS");
	const char *gpu = getenv("PEAL_TEST_GPU");
	const char *no = NULL;
	struct peal_device_info info;

	if (!test_on_gpu() || (gpu && *gpu))
		test_leave_out("there is no driver that can be told so");
	no = strstr(backends, "cuda") ? "19:0,95:0,89:0" : "3:0,10:0,9:0";
	open_machine(2, "0-1:nvlink", "");
	CHECK_OK(peal_device_info(rt, 0, &info));
	CHECK_EQ(info.capabilities,
		 PEAL_CAN_PEER | PEAL_CAN_UNIFIED | PEAL_CAN_ATOMICS |
			 PEAL_CAN_COOPERATIVE | PEAL_CAN_MANAGED);
	CHECK_OK(peal_runtime_close(rt));
	open_machine(2, "0-1:pcie", "");
	CHECK_OK(peal_device_info(rt, 0, &info));
	CHECK_EQ(info.capabilities, PEAL_CAN_PEER | PEAL_CAN_UNIFIED |
					    PEAL_CAN_COOPERATIVE |
					    PEAL_CAN_MANAGED);
	CHECK_OK(peal_runtime_close(rt));
	setenv("PEAL_DOUBLE_ATTRIBUTES", no, 1);
	open_machine(2, "0-1:pcie", "");
	CHECK_OK(peal_device_info(rt, 0, &info));
	CHECK_EQ(info.capabilities, PEAL_CAN_PEER);
	CHECK_OK(peal_runtime_close(rt));
	setenv("PEAL_DOUBLE_ATTRIBUTES",
	       strstr(backends, "cuda") ? "86:1" : "15:1", 1);
	open_machine(2, "0-1:none", "");
	CHECK_OK(peal_device_info(rt, 0, &info));
	CHECK_EQ(info.capabilities, PEAL_CAN_UNIFIED | PEAL_CAN_ATOMICS |
					    PEAL_CAN_COOPERATIVE |
					    PEAL_CAN_MANAGED);
	CHECK_OK(peal_runtime_close(rt));
	unsetenv("PEAL_DOUBLE_ATTRIBUTES");
}

PEAL_TEST_MAIN(RUN(peers_are_selected_by_their_links);
	       RUN(devices_are_selected_by_capabilities);
	       RUN(devices_are_selected_by_free_memory_and_units);
	       RUN(failed_selection_error_names_each_device);
	       RUN(disabled_capability_is_refused);
	       RUN(disabled_capability_setting_is_checked);
	       RUN(architecture_and_capabilities_have_names);
	       RUN(capabilities_match_the_driver);)
