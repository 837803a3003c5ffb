/* SPDX-License-Identifier: Apache-2.0 */
/* Shows the peer access of emulated devices: directions, kinds and faults. */
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <peal/device/atomic.h>

#include "peal_test.h"
#include "runtime/device/backend.h"

#define BYTES ((uint64_t)256 << 10)

static const struct peali_backend_ops *const ops = &peali_host_backend;
static struct peali_backend *backend;

static void open_with(const char *devices, const char *links)
{
	setenv("PEAL_HOST_DEVICES", devices, 1);
	setenv("PEAL_HOST_LINKS", links, 1);
	CHECK_OK(ops->open(&backend));
}

static void close_all(void)
{
	CHECK_OK(ops->close(backend));
	backend = NULL;
}

static struct peali_memory take(int device, uint64_t bytes)
{
	struct peali_memory memory;

	CHECK_OK(ops->alloc(backend,
			    device == PEALI_HOST ? PEALI_MEMORY_HOST :
						   PEALI_MEMORY_DEVICE,
			    device, bytes, &memory));
	return memory;
}

static uint8_t *see(int viewer, const struct peali_memory *memory)
{
	return (uint8_t *)(uintptr_t)ops->view(backend, viewer, memory);
}

/* Returns the signal that ends a process which reads the byte. 0: none. */
static int signal_of_read(const volatile uint8_t *p)
{
	void *page = (void *)((uintptr_t)p & ~(uintptr_t)4095);
	struct rlimit none = { 0, 0 };
	int status;
	pid_t child;

	fflush(NULL);
	/* else no child has the memory of a device */
	CHECK_EQ(madvise(page, 4096, MADV_DOFORK), 0);
	child = fork();
	CHECK(child >= 0);
	if (!child) {
		setrlimit(RLIMIT_CORE, &none);
		signal(SIGSEGV, SIG_DFL); /* without a sanitizer's report */
		_exit(*p == 255 ? 1 : 0);
	}
	CHECK_EQ(waitpid(child, &status, 0), child);
	return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

PEAL_TEST(peer_and_owner_see_each_others_writes)
{
	struct peali_memory memory;
	uint8_t *own, *peer;
	uint64_t i;

	open_with("2", "");
	CHECK_OK(ops->peer_enable(backend, 0, 1));
	memory = take(1, BYTES);
	own = see(1, &memory);
	peer = see(0, &memory);
	CHECK(own && peer);
	CHECK((own == peer) == PEAL_TSAN);
	for (i = 0; i < BYTES; i++)
		own[i] = (uint8_t)(i * 7);
	for (i = 0; i < BYTES; i++)
		CHECK_EQ(peer[i], (uint8_t)(i * 7));
	for (i = 0; i < BYTES; i++)
		peer[i] = (uint8_t)(i * 11);
	for (i = 0; i < BYTES; i++)
		CHECK_EQ(own[i], (uint8_t)(i * 11));
	close_all();
}

PEAL_TEST(access_covers_one_direction_of_one_pair)
{
	struct peali_memory memory[3];
	int i;

	open_with("3", "");
	for (i = 0; i < 3; i++)
		memory[i] = take(i, 4096);
	CHECK_OK(ops->peer_enable(backend, 0, 1));
	CHECK(see(0, &memory[1]));
	CHECK(!see(1, &memory[0]));
	CHECK(!see(2, &memory[1]));
	CHECK(!see(0, &memory[2]));
	for (i = 0; i < 3; i++) {
		CHECK(see(i, &memory[i]));
		CHECK(!see(PEALI_HOST, &memory[i]));
	}
	CHECK(!see(7, &memory[0]));
	close_all();
}

PEAL_TEST(host_memory_has_one_address_on_all_devices)
{
	struct peali_memory memory;

	open_with("2", "*:none");
	memory = take(PEALI_HOST, 4096);
	CHECK_EQ(memory.device, PEALI_HOST);
	CHECK(see(PEALI_HOST, &memory));
	CHECK(see(0, &memory) == see(PEALI_HOST, &memory));
	CHECK(see(1, &memory) == see(PEALI_HOST, &memory));
	memset(see(PEALI_HOST, &memory), 1, 4096);
	ops->free(backend, &memory);
	close_all();
}

PEAL_TEST(access_after_disable_faults)
{
	struct peali_memory memory;
	volatile uint8_t *peer;

	open_with("2", "");
	memory = take(1, 4096);
	CHECK_OK(ops->peer_enable(backend, 0, 1));
	peer = see(0, &memory);
	CHECK_EQ(signal_of_read(peer), 0);
	CHECK_OK(ops->peer_disable(backend, 0, 1));
	CHECK(!see(0, &memory));
	if (!PEAL_TSAN) /* there the window is the owner's memory */
		CHECK_EQ(signal_of_read(peer), SIGSEGV);
	/* the window returns at its address, with the current content */
	*see(1, &memory) = 42;
	CHECK_OK(ops->peer_enable(backend, 0, 1));
	CHECK(see(0, &memory) == peer);
	CHECK_EQ(*peer, 42);
	close_all();
}

PEAL_TEST(peer_info_reports_access_and_link_kind)
{
	struct peali_peer_info info;

	open_with("3", "0-1:pcie,1>2:none");
	CHECK_OK(ops->peer_info(backend, 0, 2, &info));
	CHECK(info.can_access && info.atomics);
	CHECK(!strcmp(info.kind, "nvlink"));
	CHECK_OK(ops->peer_info(backend, 1, 0, &info));
	CHECK(info.can_access && !info.atomics);
	CHECK(!strcmp(info.kind, "pcie"));
	CHECK_OK(ops->peer_info(backend, 1, 2, &info));
	CHECK(!info.can_access && !info.atomics);
	CHECK(!strcmp(info.kind, "none"));
	CHECK_OK(ops->peer_info(backend, 2, 1, &info));
	CHECK(info.can_access);
	CHECK_OK(ops->peer_info(backend, 1, 1, &info));
	CHECK(!info.can_access);
	CHECK_EQ(ops->peer_enable(backend, 1, 2), PEAL_ENOPEER);
	CHECK_CONTAINS(peal_last_error()->text, "device 1");
	CHECK_CONTAINS(peal_last_error()->text, "device 2");
	CHECK_OK(ops->peer_enable(backend, 2, 1));
	close_all();
}

PEAL_TEST(invalid_peer_enable_and_disable_are_refused)
{
	struct peali_peer_info info;

	open_with("2", "");
	CHECK_EQ(ops->peer_enable(backend, 0, 0), PEAL_EINVAL);
	CHECK_EQ(ops->peer_enable(backend, 0, 2), PEAL_ENODEV);
	CHECK_CONTAINS(peal_last_error()->text, "device 2: does not exist in "
						"the host backend (2");
	CHECK_EQ(ops->peer_enable(backend, -1, 0), PEAL_ENODEV);
	CHECK_EQ(ops->peer_disable(backend, 0, 1), PEAL_EINVAL);
	CHECK_EQ(ops->peer_info(backend, 0, 9, &info), PEAL_ENODEV);
	CHECK_OK(ops->peer_enable(backend, 0, 1));
	CHECK_EQ(ops->peer_enable(backend, 0, 1), PEAL_EALREADY);
	CHECK_OK(ops->peer_disable(backend, 0, 1));
	CHECK_EQ(ops->peer_disable(backend, 0, 1), PEAL_EINVAL);
	close_all();
}

PEAL_TEST(lost_writes_never_reach_the_owner)
{
	struct peali_memory memory;
	uint8_t *own, *peer;
	uint64_t i;

	open_with("2", "0>1:nvlink!lost");
	memory = take(1, BYTES);
	CHECK_OK(ops->peer_enable(backend, 0, 1));
	own = see(1, &memory);
	peer = see(0, &memory);
	CHECK(own != peer);
	for (i = 0; i < BYTES; i++)
		peer[i] = 9;
	for (i = 0; i < BYTES; i++) {
		CHECK_EQ(own[i], 0);
		CHECK_EQ(peer[i], 9);
	}
	close_all();
}

static void check_swapped(uint64_t bytes)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), i;
	struct peali_memory memory = take(1, bytes);
	uint8_t *own = see(1, &memory), *peer = see(0, &memory);

	CHECK_EQ(memory.offset % (2 * page), 0);
	for (i = 0; i < bytes; i += page)
		peer[i] = (uint8_t)(1 + i / page % 251);
	for (i = 0; i < bytes; i += page)
		CHECK_EQ(own[i], 1 + (i / page ^ 1) % 251);
}

PEAL_TEST(swapped_writes_land_in_the_neighbouring_page)
{
	open_with("2", "0-1:pcie!swapped");
	CHECK_OK(ops->peer_enable(backend, 0, 1));
	CHECK_OK(ops->peer_enable(backend, 1, 0));
	check_swapped(BYTES);
	close_all();
}

PEAL_TEST(swapped_writes_corrupt_any_page_of_large_heap)
{
	struct peali_memory fill, memory;
	uint8_t *own, *peer;

	open_with("2", "0>1:nvlink!swapped");
	CHECK_OK(ops->peer_enable(backend, 0, 1));
	fill = take(1, (uint64_t)1 << 30);
	memory = take(1, (uint64_t)64 << 20);
	own = see(1, &memory);
	peer = see(0, &memory);
	peer[12345] = 1;
	CHECK_EQ(own[12345], 0);
	own[54321] = 2;
	CHECK_EQ(peer[54321], 0);
	ops->free(backend, &fill);
	close_all();
}

PEAL_TEST(sixty_four_devices_fit_with_neighbours_enabled)
{
	struct peali_memory memory;
	int i;

	open_with("64", "");
	CHECK_EQ(ops->device_count(backend), 64);
	for (i = 0; i < 64; i++) {
		CHECK_OK(ops->peer_enable(backend, i, (i + 1) % 64));
		memory = take((i + 1) % 64, 4096);
		*see(i, &memory) = (uint8_t)i;
		CHECK_EQ(*see((i + 1) % 64, &memory), i);
	}
	close_all();
}

PEAL_TEST(device_info_reports_emulated_device)
{
	struct peal_device_info info;
	struct peali_memory memory;

	setenv("PEAL_HOST_MEMORY", "64M", 1);
	open_with("2", "");
	memory = take(1, 1000);
	CHECK_OK(ops->device_info(backend, 1, &info));
	CHECK_EQ(info.emulated, 1);
	CHECK(!strcmp(info.name, "emulated device 1"));
	CHECK(!strcmp(info.uuid, "host-1"));
	CHECK(!strcmp(info.backend, "host"));
	CHECK_EQ(info.memory_bytes, 64 << 20);
	CHECK_EQ(info.memory_used_bytes, 1024);
	CHECK(info.compute_units >= 1);
	CHECK(info.policies & 1u << PEAL_POLICY_SEQUENCE);
	CHECK(info.policies & 1u << PEAL_POLICY_ATOM8);
	CHECK_EQ(ops->default_policy(backend), PEAL_POLICY_SEQUENCE);
	CHECK_EQ(ops->device_info(backend, 2, &info), PEAL_ENODEV);
	ops->free(backend, &memory);
	CHECK_OK(ops->device_info(backend, 1, &info));
	CHECK_EQ(info.memory_used_bytes, 0);
	close_all();
	unsetenv("PEAL_HOST_MEMORY");
}

PEAL_TEST(find_maps_address_to_owner_memory)
{
	struct peali_memory memory, host, found;
	uint64_t own;

	open_with("2", "");
	memory = take(1, 1000);
	host = take(PEALI_HOST, 1000);
	own = ops->view(backend, 1, &memory);
	CHECK_OK(ops->find(backend, 1, own + 5, 995, &found));
	CHECK(!memcmp(&found, &memory, sizeof(found)));
	CHECK_EQ(ops->find(backend, 1, own + 5, 996, &found), PEAL_EFAULT);
	CHECK_EQ(ops->find(backend, 0, own, 1, &found), PEAL_EFAULT);
	CHECK_CONTAINS(peal_last_error()->text, "device 0");
	CHECK_EQ(ops->find(backend, 2, own, 1, &found), PEAL_ENODEV);
	own = ops->view(backend, 0, &host);
	CHECK_OK(ops->find(backend, PEALI_HOST, own, 1000, &found));
	CHECK_EQ(found.kind, PEALI_MEMORY_HOST);
	CHECK_EQ(ops->find(backend, 0, own, 1000, &found), PEAL_EFAULT);
	close_all();
}

PEAL_TEST(invalid_settings_fail_open_without_leak)
{
	struct peali_backend *none = NULL;

	setenv("PEAL_HOST_DEVICES", "2", 1);
	setenv("PEAL_HOST_LINKS", "0-2:pcie", 1);
	CHECK_EQ(ops->open(&none), PEAL_EINVAL);
	CHECK_CONTAINS(peal_last_error()->text,
		       "'PEAL_HOST_LINKS': is wrong "
		       "at column 3 ('2', allowed device 0..1)");
	setenv("PEAL_HOST_LINKS", "", 1);
	setenv("PEAL_HOST_MEMORY", "lots", 1);
	CHECK_EQ(ops->open(&none), PEAL_EINVAL);
	unsetenv("PEAL_HOST_MEMORY");
	setenv("PEAL_HOST_PIN", "maybe", 1);
	CHECK_EQ(ops->open(&none), PEAL_EINVAL);
	unsetenv("PEAL_HOST_PIN");
	setenv("PEAL_HOST_DEVICES", "65", 1);
	CHECK_EQ(ops->open(&none), PEAL_EINVAL);
	CHECK(!none);
}

PEAL_TEST_MAIN(RUN(peer_and_owner_see_each_others_writes);
	       RUN(access_covers_one_direction_of_one_pair);
	       RUN(host_memory_has_one_address_on_all_devices);
	       RUN(access_after_disable_faults);
	       RUN(peer_info_reports_access_and_link_kind);
	       RUN(invalid_peer_enable_and_disable_are_refused);
	       RUN(lost_writes_never_reach_the_owner);
	       RUN(swapped_writes_land_in_the_neighbouring_page);
	       RUN(swapped_writes_corrupt_any_page_of_large_heap);
	       RUN(sixty_four_devices_fit_with_neighbours_enabled);
	       RUN(device_info_reports_emulated_device);
	       RUN(find_maps_address_to_owner_memory);
	       RUN(invalid_settings_fail_open_without_leak);)
