/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shows changes of peer access in the background: order, results, timeouts,
 * cancellation and shutdown. An event that the host has not recorded holds the
 * changes of a device.
 */
#include <pthread.h>

#include <peal/copy.h>
#include <peal/device.h>
#include <peal/event.h>
#include <peal/metrics.h>
#include "machine.h"

static struct peal_runtime *rt;
static struct peal_event *event;

/* Makes later work of a device wait for the event. */
static void hold(int device)
{
	struct peal_event_options o = { .size = sizeof(o), .by_host = 1 };

	CHECK_OK(peal_event_create(rt, device, NULL, 0, &o, &event));
	CHECK_OK(peal_event_await_before(event, 1, device));
}

/* Lets that work begin. */
static void release(void)
{
	CHECK_OK(peal_event_cancel(event));
	CHECK_OK(peal_event_destroy(event));
}

/* Waits for a change, frees it and returns its result. */
static int finish(struct peal_copy *change)
{
	int r = peal_copy_wait(change, -1);

	peal_copy_destroy(change);
	return r;
}

static int is_enabled(int from, int to)
{
	struct peal_peer_capability c;

	CHECK_OK(peal_peer_capability(rt, from, to, &c));
	return c.enabled;
}

PEAL_TEST(each_change_completes_in_the_background)
{
	struct peal_copy *change;
	uint64_t address, mapped;

	rt = machine_open("2", "");
	address = machine_alloc(rt, 1, 4096);
	CHECK_OK(peal_peer_enable_async(rt, 0, 1, &change));
	CHECK_OK(peal_copy_wait(change, -1));
	CHECK_OK(peal_copy_wait(change, 0));
	peal_copy_destroy(change);
	CHECK(is_enabled(0, 1));
	CHECK_OK(peal_peer_map_async(rt, 1, address, 0, 4096, &change));
	CHECK_OK(peal_copy_wait(change, -1));
	CHECK_OK(peal_peer_mapped(change, &mapped));
	peal_copy_destroy(change);
	machine_fill(rt, 0, mapped, 4096, 5);
	CHECK(machine_holds(rt, 1, address, 4096, 5));
	CHECK_OK(peal_peer_disable_async(rt, 0, 1, &change));
	CHECK_EQ(finish(change), PEAL_EBUSY); /* the mapping uses the pair */
	check_error("peal_copy_wait", "1 mapping");
	CHECK_OK(peal_peer_unmap_async(rt, 0, mapped, &change));
	CHECK_OK(finish(change));
	CHECK_OK(peal_peer_disable_async(rt, 0, 1, &change));
	CHECK_OK(finish(change));
	CHECK(!is_enabled(0, 1));
	CHECK_OK(peal_memory_free(rt, 1, address));
	CHECK_OK(peal_runtime_close(rt));
}

PEAL_TEST(failed_changes_have_the_error_of_the_blocking_call)
{
	struct peal_copy *change;
	uint64_t mapped = 7;

	rt = machine_open("2", "1>0:none");
	CHECK_OK(peal_peer_enable_async(rt, 1, 0, &change));
	CHECK_EQ(finish(change), PEAL_ENOPEER);
	check_error("peal_copy_wait", "device 1 -> device 0");
	CHECK_OK(peal_peer_disable_async(rt, 0, 1, &change));
	CHECK_EQ(finish(change), PEAL_EINVAL);
	check_error("peal_copy_wait", "not enabled");
	CHECK_OK(peal_peer_unmap_async(rt, 0, 4096, &change));
	CHECK_EQ(finish(change), PEAL_EFAULT);
	CHECK_OK(peal_peer_map_async(rt, 1, 16, 0, 64, &change));
	CHECK_EQ(peal_copy_wait(change, -1), PEAL_EFAULT);
	CHECK_EQ(peal_peer_mapped(change, &mapped), PEAL_EFAULT);
	check_error("peal_peer_mapped", "was not made");
	CHECK_EQ(mapped, 7);
	peal_copy_destroy(change);
	CHECK_OK(peal_runtime_close(rt));
}

PEAL_TEST(invalid_arguments_are_refused_at_once)
{
	struct peal_copy *change = NULL;
	uint64_t address, mapped;

	rt = machine_open("2", "");
	address = machine_alloc(rt, 1, 4096);
	CHECK_EQ(peal_peer_enable_async(NULL, 0, 1, &change), PEAL_EINVAL);
	CHECK_EQ(peal_peer_enable_async(rt, 0, 1, NULL), PEAL_EINVAL);
	check_error("peal_peer_enable_async", "change_out");
	CHECK_EQ(peal_peer_enable_async(rt, 1, 1, &change), PEAL_EINVAL);
	check_error("peal_peer_enable_async", "device 1 -> device 1");
	CHECK_EQ(peal_peer_enable_async(rt, 0, 2, &change), PEAL_ENODEV);
	CHECK_EQ(peal_peer_disable_async(rt, 2, 0, &change), PEAL_ENODEV);
	check_error("peal_peer_disable_async", "does not exist");
	CHECK_EQ(peal_peer_disable_async(rt, 0, 1, NULL), PEAL_EINVAL);
	CHECK_EQ(peal_peer_map_async(rt, 1, address, 0, 0, &change),
		 PEAL_EINVAL);
	check_error("peal_peer_map_async", "bytes");
	CHECK_EQ(peal_peer_map_async(rt, 1, address + 8, 0, 8, &change),
		 PEAL_EINVAL);
	CHECK_EQ(peal_peer_map_async(rt, 1, address, 1, 8, &change),
		 PEAL_EINVAL);
	CHECK_EQ(peal_peer_map_async(rt, 1, address, 0, 8, NULL), PEAL_EINVAL);
	CHECK_EQ(peal_peer_unmap_async(rt, -1, address, &change), PEAL_ENODEV);
	CHECK_EQ(peal_peer_unmap_async(rt, 0, address, NULL), PEAL_EINVAL);
	CHECK(!change);
	CHECK_EQ(peal_peer_mapped(NULL, &mapped), PEAL_EINVAL);
	CHECK_OK(peal_peer_enable_async(rt, 0, 1, &change));
	CHECK_OK(peal_copy_wait(change, -1));
	CHECK_EQ(peal_peer_mapped(change, NULL), PEAL_EINVAL);
	CHECK_EQ(peal_peer_mapped(change, &mapped), PEAL_EINVAL);
	check_error("peal_peer_mapped", "peal_peer_map_async");
	CHECK_OK(finish(change));
	CHECK_OK(peal_peer_disable(rt, 0, 1, 0));
	CHECK_OK(peal_memory_free(rt, 1, address));
	CHECK_OK(peal_runtime_close(rt));
}

/* Returns the waits for copies and changes that the metrics count. */
static uint64_t n_waits(void)
{
	static struct peal_metrics m;

	m.size = sizeof(m);
	CHECK_OK(peal_metrics_snapshot(rt, &m));
	return m.waits[PEAL_WAIT_COPY].waits;
}

PEAL_TEST(waits_for_a_pending_change_time_out_with_nothing_changed)
{
	struct peal_copy *change;
	uint64_t address, mapped, waits;

	rt = machine_open("3", "");
	address = machine_alloc(rt, 1, 4096);
	hold(0);
	CHECK_OK(peal_peer_map_async(rt, 1, address, 0, 4096, &change));
	CHECK_EQ(peal_copy_wait(change, 0), PEAL_ETIMEDOUT);
	CHECK_EQ(peal_copy_wait(change, 1000000), PEAL_ETIMEDOUT);
	check_error("peal_copy_wait", "peal_peer_map_async is incomplete");
	CHECK_EQ(peal_peer_mapped(change, &mapped), PEAL_EAGAIN);
	/* blocking calls of the device wait behind the change */
	waits = n_waits();
	CHECK_EQ(peal_peer_enable(rt, 0, 2, 0), PEAL_ETIMEDOUT);
	check_error("peal_peer_enable", "1 change of its access");
	CHECK_EQ(n_waits(), waits);
	CHECK_EQ(peal_peer_enable(rt, 0, 2, 1000000), PEAL_ETIMEDOUT);
	CHECK_EQ(n_waits(), waits + 1);
	CHECK_EQ(peal_peer_disable(rt, 0, 1, 0), PEAL_ETIMEDOUT);
	CHECK_EQ(peal_peer_map(rt, 1, address, 0, 64, 0, &mapped),
		 PEAL_ETIMEDOUT);
	CHECK_EQ(peal_peer_unmap(rt, 0, 4096, 0), PEAL_ETIMEDOUT);
	CHECK(!is_enabled(0, 1));
	CHECK(!is_enabled(0, 2));
	/* other devices do not wait */
	CHECK_OK(peal_peer_enable(rt, 1, 0, 0));
	CHECK_OK(peal_peer_disable(rt, 1, 0, 0));
	CHECK_EQ(peal_runtime_close(rt), PEAL_EBUSY);
	release();
	CHECK_OK(peal_copy_wait(change, -1));
	CHECK_OK(peal_peer_mapped(change, &mapped));
	peal_copy_destroy(change);
	CHECK_OK(peal_peer_unmap(rt, 0, mapped, 0));
	CHECK_OK(peal_memory_free(rt, 1, address));
	CHECK_OK(peal_runtime_close(rt));
}

PEAL_TEST(cancelled_change_takes_no_effect_and_later_ones_go_on)
{
	struct peal_copy *first, *second;

	rt = machine_open("2", "");
	hold(0);
	CHECK_OK(peal_peer_enable_async(rt, 0, 1, &first));
	CHECK_OK(peal_peer_enable_async(rt, 0, 1, &second));
	CHECK_OK(peal_copy_cancel(first));
	CHECK_EQ(finish(first), PEAL_ECANCELED);
	check_error("peal_copy_wait", "peal_peer_enable_async");
	CHECK(!is_enabled(0, 1));
	release();
	CHECK_OK(finish(second));
	CHECK(is_enabled(0, 1));
	CHECK_OK(peal_peer_disable(rt, 0, 1, -1));
	CHECK_EQ(peal_peer_disable(rt, 0, 1, -1), PEAL_EINVAL);
	CHECK_OK(peal_runtime_close(rt));
}

PEAL_TEST(cancellation_after_the_end_changes_nothing)
{
	struct peal_copy *change;

	rt = machine_open("2", "");
	CHECK_OK(peal_peer_enable_async(rt, 0, 1, &change));
	CHECK_OK(peal_copy_wait(change, -1));
	CHECK_OK(peal_copy_cancel(change));
	CHECK_OK(finish(change));
	CHECK(is_enabled(0, 1));
	CHECK_OK(peal_peer_disable(rt, 0, 1, 0));
	CHECK_OK(peal_runtime_close(rt));
}

PEAL_TEST(changes_of_a_device_take_effect_in_order)
{
	struct peal_copy *change[4];
	uint64_t address, mapped;

	rt = machine_open("2", "");
	address = machine_alloc(rt, 1, 4096);
	/* the address of the mapping, for the unmap behind a pending map */
	CHECK_OK(peal_peer_map(rt, 1, address, 0, 4096, 0, &mapped));
	CHECK_OK(peal_peer_unmap(rt, 0, mapped, 0));
	hold(0);
	CHECK_OK(peal_peer_map_async(rt, 1, address, 0, 4096, &change[0]));
	CHECK_OK(peal_peer_unmap_async(rt, 0, mapped, &change[1]));
	CHECK_OK(peal_peer_unmap_async(rt, 0, mapped, &change[2]));
	CHECK_OK(peal_peer_map_async(rt, 1, address, 0, 4096, &change[3]));
	release();
	CHECK_OK(finish(change[3]));
	CHECK_OK(finish(change[0]));
	CHECK_OK(finish(change[1]));
	CHECK_EQ(finish(change[2]), PEAL_EFAULT);
	CHECK_EQ(peal_memory_free(rt, 1, address), PEAL_EBUSY);
	CHECK_OK(peal_peer_unmap(rt, 0, mapped, 0));
	CHECK_OK(peal_memory_free(rt, 1, address));
	CHECK_OK(peal_runtime_close(rt));
}

PEAL_TEST(enables_in_the_background_are_counted)
{
	struct peal_copy *first, *second;

	rt = machine_open("2", "");
	CHECK_OK(peal_peer_enable_async(rt, 0, 1, &first));
	CHECK_OK(peal_peer_enable_async(rt, 0, 1, &second));
	CHECK_OK(finish(second));
	CHECK_OK(finish(first));
	CHECK_OK(peal_peer_disable(rt, 0, 1, 0));
	CHECK(is_enabled(0, 1));
	CHECK_OK(peal_peer_disable(rt, 0, 1, 0));
	CHECK(!is_enabled(0, 1));
	CHECK_OK(peal_runtime_close(rt));
}

PEAL_TEST(freed_memory_is_not_mapped_later)
{
	struct peal_copy *change;
	uint64_t address;

	rt = machine_open("2", "");
	address = machine_alloc(rt, 1, 4096);
	hold(0);
	CHECK_OK(peal_peer_map_async(rt, 1, address, 0, 4096, &change));
	CHECK_OK(peal_memory_free(rt, 1, address));
	release();
	CHECK_EQ(finish(change), PEAL_EFAULT);
	CHECK(!is_enabled(0, 1));
	CHECK_OK(peal_runtime_close(rt));
}

PEAL_TEST(copies_of_the_device_keep_the_order_with_changes)
{
	struct peal_copy *copy, *change, *behind;
	uint64_t a, b;

	rt = machine_open("2", "");
	a = machine_alloc(rt, 0, 4096);
	b = machine_alloc(rt, 1, 4096);
	machine_fill(rt, 1, b, 4096, 3);
	hold(1);
	CHECK_OK(peal_peer_copy_async(rt, 0, a, 1, b, 4096, &copy));
	CHECK_OK(peal_peer_enable_async(rt, 0, 1, &change));
	CHECK_OK(peal_peer_copy_async(rt, 0, a, 0, a, 4096, &behind));
	/* device 0 has no gate: the change waits for the copy */
	CHECK_EQ(peal_copy_wait(change, 20000000), PEAL_ETIMEDOUT);
	CHECK_EQ(peal_copy_wait(behind, 0), PEAL_ETIMEDOUT);
	CHECK_EQ(peal_device_sync(rt, 0, 1000000), PEAL_ETIMEDOUT);
	check_error("peal_device_sync", "pending: a copy in the background");
	CHECK_OK(peal_copy_cancel(copy));
	CHECK_EQ(finish(copy), PEAL_ECANCELED);
	CHECK_OK(finish(behind));
	CHECK_OK(peal_copy_wait(change, 0));
	CHECK_OK(finish(change));
	release();
	CHECK_OK(peal_peer_disable(rt, 0, 1, 0));
	CHECK_OK(peal_memory_free(rt, 0, a));
	CHECK_OK(peal_memory_free(rt, 1, b));
	CHECK_OK(peal_runtime_close(rt));
}

PEAL_TEST(sync_of_the_device_waits_for_a_change)
{
	struct peal_copy *change;

	rt = machine_open("2", "");
	hold(0);
	CHECK_OK(peal_peer_enable_async(rt, 0, 1, &change));
	CHECK_EQ(peal_device_sync(rt, 0, 1000000), PEAL_ETIMEDOUT);
	check_error("peal_device_sync", "pending: a change of peer access");
	CHECK_OK(peal_device_sync(rt, 1, -1));
	release();
	CHECK_OK(peal_device_sync(rt, 0, -1));
	CHECK_OK(peal_copy_wait(change, 0));
	peal_copy_destroy(change);
	CHECK_OK(peal_peer_disable(rt, 0, 1, 0));
	CHECK_OK(peal_runtime_close(rt));
}

PEAL_TEST(shutdown_cancels_pending_changes)
{
	struct peal_copy *change;
	uint64_t address;

	rt = machine_open("2", "");
	address = machine_alloc(rt, 1, 4096);
	hold(0);
	CHECK_OK(peal_peer_enable_async(rt, 0, 1, &change));
	CHECK_OK(peal_peer_map_async(rt, 1, address, 0, 4096, &change));
	CHECK_OK(peal_peer_unmap_async(rt, 0, 4096, &change));
	CHECK_OK(peal_runtime_shutdown(rt));
}

#define PAIRS 4
#define TURNS 50

static void *change_often(void *argument)
{
	int to = 1 + (int)(intptr_t)argument % (PAIRS - 1), i, r;
	struct peal_copy *on, *off;

	for (i = 0; i < TURNS; i++) {
		CHECK_OK(peal_peer_enable_async(rt, 0, to, &on));
		CHECK_OK(peal_peer_disable_async(rt, 0, to, &off));
		if (i % 3 == 0)
			CHECK_OK(peal_copy_cancel(off));
		CHECK_OK(peal_peer_enable(rt, 0, to, -1));
		CHECK_OK(finish(on));
		r = finish(off);
		CHECK(!r || r == PEAL_ECANCELED);
		if (r)
			CHECK_OK(peal_peer_disable(rt, 0, to, -1));
		CHECK_OK(peal_peer_disable(rt, 0, to, -1));
	}
	return NULL;
}

PEAL_TEST(threads_change_access_at_the_same_time)
{
	pthread_t thread[PAIRS];
	int i;

	rt = machine_open("4", "");
	for (i = 0; i < PAIRS; i++)
		CHECK(!pthread_create(&thread[i], NULL, change_often,
				      (void *)(intptr_t)i));
	for (i = 0; i < PAIRS; i++)
		CHECK(!pthread_join(thread[i], NULL));
	for (i = 1; i < PAIRS; i++)
		CHECK(!is_enabled(0, i));
	CHECK_OK(peal_runtime_close(rt));
}

PEAL_TEST_MAIN(machine_begin(); RUN(each_change_completes_in_the_background);
	       RUN(failed_changes_have_the_error_of_the_blocking_call);
	       RUN(invalid_arguments_are_refused_at_once);
	       RUN(waits_for_a_pending_change_time_out_with_nothing_changed);
	       RUN(cancelled_change_takes_no_effect_and_later_ones_go_on);
	       RUN(cancellation_after_the_end_changes_nothing);
	       RUN(changes_of_a_device_take_effect_in_order);
	       RUN(enables_in_the_background_are_counted);
	       RUN(freed_memory_is_not_mapped_later);
	       RUN(copies_of_the_device_keep_the_order_with_changes);
	       RUN(sync_of_the_device_waits_for_a_change);
	       RUN(shutdown_cancels_pending_changes);
	       RUN(threads_change_access_at_the_same_time);)
