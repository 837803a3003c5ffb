/* SPDX-License-Identifier: Apache-2.0 */
/* Shows peer access: counts, refusals, and the capability of each pair. */
#include <pthread.h>

#include "machine.h"
#include "p2p/peer.h"
#include "runtime/runtime.h"

static struct peal_runtime *rt;

PEAL_TEST(access_matches_the_topology)
{
	rt = machine_open("4", "0-1:nvlink,0-2:pcie,1>2:none,2-3:none");
	CHECK_EQ(peal_peer_can_access(rt, 0, 1), 1);
	CHECK_EQ(peal_peer_can_access(rt, 0, 2), 1);
	CHECK_EQ(peal_peer_can_access(rt, 1, 2), 0);
	CHECK_EQ(peal_peer_can_access(rt, 2, 1), 1);
	CHECK_EQ(peal_peer_can_access(rt, 2, 3), 0);
	CHECK_EQ(peal_peer_can_access(rt, 3, 3), 0);
	CHECK_OK(peal_runtime_close(rt));
}

PEAL_TEST(invalid_device_error_names_device_count)
{
	int bad[] = { -1, 2, 1 << 30, -(1 << 30) };
	struct peal_peer_capability c;
	size_t i;

	rt = machine_open("2", "");
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		CHECK_EQ(peal_peer_can_access(rt, bad[i], 0), PEAL_ENODEV);
		CHECK_EQ(peal_peer_can_access(rt, 0, bad[i]), PEAL_ENODEV);
		check_error("peal_peer_can_access", "does not exist (");
		CHECK_EQ(peal_peer_enable(rt, bad[i], 0, -1), PEAL_ENODEV);
		CHECK_EQ(peal_peer_enable(rt, 0, bad[i], -1), PEAL_ENODEV);
		check_error("peal_peer_enable", "does not exist (");
		CHECK_EQ(peal_peer_disable(rt, bad[i], 0, -1), PEAL_ENODEV);
		CHECK_EQ(peal_peer_disable(rt, 0, bad[i], -1), PEAL_ENODEV);
		check_error("peal_peer_disable", "does not exist (");
		CHECK_EQ(peal_peer_capability(rt, bad[i], 0, &c), PEAL_ENODEV);
		CHECK_EQ(peal_peer_capability(rt, 0, bad[i], &c), PEAL_ENODEV);
		check_error("peal_peer_capability", "does not exist (");
	}
	CHECK_OK(peal_runtime_close(rt));
}

PEAL_TEST(null_arguments_return_einval)
{
	rt = machine_open("2", "");
	CHECK_EQ(peal_peer_can_access(NULL, 0, 1), PEAL_EINVAL);
	CHECK_EQ(peal_peer_enable(NULL, 0, 1, -1), PEAL_EINVAL);
	check_error("peal_peer_enable", "NULL");
	CHECK_EQ(peal_peer_disable(NULL, 0, 1, -1), PEAL_EINVAL);
	CHECK_EQ(peal_peer_capability(NULL, 0, 1, NULL), PEAL_EINVAL);
	CHECK_EQ(peal_peer_capability(rt, 0, 1, NULL), PEAL_EINVAL);
	check_error("peal_peer_capability", "capability_out");
	CHECK_OK(peal_runtime_close(rt));
}

PEAL_TEST(enables_are_counted)
{
	rt = machine_open("2", "");
	CHECK_OK(peal_peer_enable(rt, 0, 1, -1));
	CHECK_OK(peal_peer_enable(rt, 0, 1, -1));
	CHECK_OK(peal_peer_disable(rt, 0, 1, -1));
	CHECK_OK(peal_peer_disable(rt, 0, 1, -1));
	CHECK_EQ(peal_peer_disable(rt, 0, 1, -1), PEAL_EINVAL);
	check_error("peal_peer_disable", "device 0 -> device 1");
	CHECK_OK(peal_peer_enable(rt, 0, 1, -1));
	CHECK_OK(peal_peer_disable(rt, 0, 1, -1));
	CHECK_OK(peal_runtime_close(rt));
}

PEAL_TEST(disable_without_enable_returns_einval)
{
	rt = machine_open("2", "");
	CHECK_EQ(peal_peer_disable(rt, 0, 1, -1), PEAL_EINVAL);
	CHECK_EQ(peal_peer_disable(rt, 1, 1, -1), PEAL_EINVAL);
	CHECK_OK(peal_peer_enable(rt, 0, 1, -1));
	CHECK_EQ(peal_peer_disable(rt, 1, 0, -1), PEAL_EINVAL);
	CHECK_OK(peal_peer_disable(rt, 0, 1, -1));
	CHECK_OK(peal_runtime_close(rt));
}

PEAL_TEST(enable_to_same_device_returns_einval)
{
	rt = machine_open("2", "");
	CHECK_EQ(peal_peer_enable(rt, 1, 1, -1), PEAL_EINVAL);
	check_error("peal_peer_enable", "device 1 -> device 1");
	CHECK_OK(peal_runtime_close(rt));
}

PEAL_TEST(no_access_is_enopeer_and_names_the_pair)
{
	rt = machine_open("3", "0-2:none");
	CHECK_EQ(peal_peer_enable(rt, 0, 2, -1), PEAL_ENOPEER);
	check_error("peal_peer_enable", "device 0 -> device 2");
	CHECK_EQ(peal_peer_disable(rt, 0, 2, -1), PEAL_EINVAL);
	CHECK_OK(peal_runtime_close(rt));
}

PEAL_TEST(the_last_disable_is_ebusy_while_a_mapping_uses_the_pair)
{
	uint64_t address, mapped;

	rt = machine_open("2", "");
	address = machine_alloc(rt, 1, 4096);
	CHECK_OK(peal_peer_enable(rt, 0, 1, -1));
	CHECK_OK(peal_peer_enable(rt, 0, 1, -1));
	CHECK_OK(peal_peer_map(rt, 1, address, 0, 4096, -1, &mapped));
	CHECK_OK(peal_peer_disable(rt, 0, 1, -1));
	CHECK_EQ(peal_peer_disable(rt, 0, 1, -1), PEAL_EBUSY);
	check_error("peal_peer_disable", "1 mapping");
	CHECK_OK(peal_peer_unmap(rt, 0, mapped, -1));
	CHECK_OK(peal_peer_disable(rt, 0, 1, -1));
	CHECK_OK(peal_memory_free(rt, 1, address));
	CHECK_OK(peal_runtime_close(rt));
}

PEAL_TEST(the_last_disable_is_ebusy_while_a_link_holds_the_pair)
{
	struct peali_peers *peers;
	struct peal_peer_capability c;

	rt = machine_open("2", "");
	peers = rt->peers;
	CHECK_OK(peali_peer_hold(peers, 0, 1));
	CHECK_OK(peal_peer_enable(rt, 0, 1, -1));
	CHECK_EQ(peal_peer_disable(rt, 0, 1, -1), PEAL_EBUSY);
	check_error("peal_peer_disable", "1 link ");
	peali_peer_release(peers, 0, 1);
	CHECK_OK(peal_peer_capability(rt, 0, 1, &c));
	CHECK_EQ(c.enabled, 1);
	CHECK_OK(peal_peer_disable(rt, 0, 1, -1));
	CHECK_OK(peal_peer_capability(rt, 0, 1, &c));
	CHECK_EQ(c.enabled, 0);
	CHECK_OK(peali_peer_hold(peers, 0, 1));
	CHECK_OK(peal_peer_capability(rt, 0, 1, &c));
	CHECK_EQ(c.enabled, 1);
	CHECK_EQ(peal_runtime_close(rt), PEAL_EBUSY);
	check_error("peal_runtime_close", "device 0 -> device 1");
	peali_peer_release(peers, 0, 1);
	CHECK_OK(peal_runtime_close(rt));
}

PEAL_TEST(peer_hold_returns_same_errors_as_enable)
{
	struct peali_peers *peers;

	rt = machine_open("2", "0>1:none");
	peers = rt->peers;
	CHECK_EQ(peali_peer_hold(peers, 0, 1), PEAL_ENOPEER);
	CHECK_EQ(peali_peer_hold(peers, 0, 0), PEAL_EINVAL);
	CHECK_EQ(peali_peer_hold(peers, 0, 2), PEAL_ENODEV);
	peali_peer_release(peers, 0, 1);
	CHECK_OK(peal_runtime_close(rt));
}

PEAL_TEST(close_with_enabled_access_returns_ebusy)
{
	uint64_t address, mapped;

	rt = machine_open("2", "");
	CHECK_OK(peal_peer_enable(rt, 1, 0, -1));
	CHECK_EQ(peal_runtime_close(rt), PEAL_EBUSY);
	check_error("peal_runtime_close", "device 1 -> device 0");
	address = machine_alloc(rt, 1, 4096);
	CHECK_OK(peal_peer_map(rt, 1, address, 0, 4096, -1, &mapped));
	CHECK_OK(peal_peer_map(rt, 1, address, 0, 4096, -1, &mapped));
	CHECK_EQ(peal_runtime_close(rt), PEAL_EBUSY);
	CHECK_OK(peal_runtime_shutdown(rt));
}

PEAL_TEST(capability_is_reported_for_all_pair_kinds)
{
	struct peal_peer_capability c;

	rt = machine_open("3", "0-1:nvlink,0-2:pcie,1-2:none");
	CHECK_OK(peal_peer_capability(rt, 0, 1, &c));
	CHECK(c.supported && c.atomics && !c.enabled);
	CHECK(machine_is_link(c.kind));
	CHECK_EQ(c.verdict, PEAL_VERDICT_OK);
	CHECK(c.latency_ns > 0 && c.bandwidth_bytes_per_s > 0);
	CHECK_OK(peal_peer_capability(rt, 0, 2, &c));
	CHECK(c.supported && !c.atomics && !strcmp(c.kind, "pcie"));
	CHECK_OK(peal_peer_capability(rt, 1, 2, &c));
	CHECK(!c.supported && !c.atomics && !strcmp(c.kind, "none"));
	CHECK_EQ(c.verdict, PEAL_VERDICT_NO_ACCESS);
	CHECK_EQ(c.latency_ns, 0);
	CHECK_EQ(c.bandwidth_bytes_per_s, 0);
	CHECK_OK(peal_peer_capability(rt, 2, 2, &c));
	CHECK(!c.supported && !strcmp(c.kind, "self"));
	CHECK_EQ(c.verdict, PEAL_VERDICT_OK);
	CHECK_OK(peal_runtime_close(rt));
}

static void *toggle(void *argument)
{
	unsigned long long seed = (uintptr_t)argument;
	uint64_t address, mapped;
	int i, from, to;

	for (i = 0; i < 300; i++) {
		from = (int)(test_random(&seed) % 3);
		to = (from + 1 + (int)(test_random(&seed) % 2)) % 3;
		CHECK_OK(peal_peer_enable(rt, from, to, -1));
		address = machine_alloc(rt, to, 256);
		CHECK_OK(
			peal_peer_map(rt, to, address, from, 256, -1, &mapped));
		CHECK_OK(peal_peer_unmap(rt, from, mapped, -1));
		CHECK_OK(peal_memory_free(rt, to, address));
		CHECK_OK(peal_peer_disable(rt, from, to, -1));
	}
	return NULL;
}

PEAL_TEST(concurrent_enable_and_map_leak_nothing)
{
	pthread_t thread[4];
	uintptr_t i;

	rt = machine_open("3", "");
	for (i = 0; i < 4; i++)
		CHECK(!pthread_create(&thread[i], NULL, toggle, (void *)i));
	for (i = 0; i < 4; i++)
		pthread_join(thread[i], NULL);
	CHECK_OK(peal_runtime_close(rt));
}

PEAL_TEST_MAIN(machine_begin(); RUN(access_matches_the_topology);
	       RUN(invalid_device_error_names_device_count);
	       RUN(null_arguments_return_einval); RUN(enables_are_counted);
	       RUN(disable_without_enable_returns_einval);
	       RUN(enable_to_same_device_returns_einval);
	       RUN(no_access_is_enopeer_and_names_the_pair);
	       RUN(the_last_disable_is_ebusy_while_a_mapping_uses_the_pair);
	       RUN(the_last_disable_is_ebusy_while_a_link_holds_the_pair);
	       RUN(peer_hold_returns_same_errors_as_enable);
	       RUN(close_with_enabled_access_returns_ebusy);
	       RUN(capability_is_reported_for_all_pair_kinds);
	       RUN(concurrent_enable_and_map_leak_nothing);)
