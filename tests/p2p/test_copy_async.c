/* SPDX-License-Identifier: Apache-2.0 */
/* Shows copies in the background: results, waits, cancellation and shutdown. */
#include <pthread.h>

#include <peal/device/impl/base/host_support.h>
#include "machine.h"

#define BYTES ((uint64_t)3 << 20)
#define BIG ((uint64_t)256 << 20)

static struct peal_runtime *rt;

PEAL_TEST(background_copy_is_correct)
{
	uint64_t a, b;
	struct peal_copy *copy;

	rt = machine_open("2", "0-1:none");
	a = machine_alloc(rt, 0, BYTES);
	b = machine_alloc(rt, 1, BYTES);
	machine_fill(rt, 0, a, BYTES, 9);
	CHECK_OK(peal_peer_copy_async(rt, 1, b, 0, a, BYTES, &copy));
	CHECK_OK(peal_copy_wait(copy, -1));
	CHECK_OK(peal_copy_wait(copy, -1));
	CHECK_OK(peal_copy_wait(copy, 0));
	CHECK(machine_holds(rt, 1, b, BYTES, 9));
	/* the copy has ended: its memory may be freed before it is destroyed */
	CHECK_OK(peal_memory_free(rt, 1, b));
	CHECK_OK(peal_copy_cancel(copy));
	peal_copy_destroy(copy);
	CHECK_OK(peal_memory_free(rt, 0, a));
	CHECK_OK(peal_runtime_close(rt));
}

PEAL_TEST(finished_copy_releases_memory_without_wait)
{
	uint64_t a, b;
	struct peal_copy *copy;
	int r, i;

	rt = machine_open("2", "");
	a = machine_alloc(rt, 0, BYTES);
	b = machine_alloc(rt, 1, BYTES);
	CHECK_OK(peal_peer_copy_async(rt, 1, b, 0, a, BYTES, &copy));
	for (i = 0, r = PEAL_EBUSY; r == PEAL_EBUSY && i < 10000; i++) {
		r = peal_memory_free(rt, 0, a);
		usleep(1000);
	}
	CHECK_OK(r);
	peal_copy_destroy(copy);
	CHECK_OK(peal_memory_free(rt, 1, b));
	CHECK_OK(peal_runtime_close(rt));
}

PEAL_TEST(wait_times_out_and_cancel_ends_running_copy)
{
	uint64_t a, b, c, began, spent;
	struct peal_copy *copy, *behind;
	int r;

	rt = machine_open("2", "");
	a = machine_alloc(rt, 0, BIG);
	b = machine_alloc(rt, 1, BIG);
	c = machine_alloc(rt, 0, BIG);
	CHECK_OK(peal_peer_copy_async(rt, 1, b, 0, a, BIG, &copy));
	/* this copy starts after the first one has ended */
	CHECK_OK(peal_peer_copy_async(rt, 0, c, 1, b, BIG, &behind));
	CHECK_EQ(peal_copy_wait(behind, 0), PEAL_ETIMEDOUT);
	check_error("peal_copy_wait", "device 1 -> device 0");
	CHECK_EQ(peal_memory_free(rt, 0, c), PEAL_EBUSY); /* a copy writes it */
	CHECK_EQ(peal_memory_free(rt, 1, b), PEAL_EBUSY); /* a copy reads it */
	check_error("peal_memory_free", "copies");
	CHECK_EQ(peal_runtime_close(rt), PEAL_EBUSY);
	began = peal_clock_ns();
	r = peal_copy_wait(behind, 2000000);
	spent = peal_clock_ns() - began;
	CHECK(r == PEAL_ETIMEDOUT || r == 0);
	CHECK(r == 0 || spent >= 2000000);
	CHECK_OK(peal_copy_cancel(behind));
	CHECK_OK(peal_copy_cancel(copy));
	CHECK_OK(peal_copy_cancel(copy));
	r = peal_copy_wait(copy, -1);
	CHECK(r == PEAL_ECANCELED || r == 0);
	if (r)
		check_error("peal_copy_wait", "device 0 -> device 1");
	r = peal_copy_wait(behind, INT64_MAX);
	CHECK(r == PEAL_ECANCELED || r == 0);
	/* cancelled or not, no copy uses the memory now */
	CHECK_OK(peal_memory_free(rt, 1, b));
	CHECK_OK(peal_memory_free(rt, 0, a));
	CHECK_OK(peal_memory_free(rt, 0, c));
	peal_copy_destroy(copy);
	peal_copy_destroy(behind);
	CHECK_OK(peal_runtime_close(rt));
}

/* Fails if the copy always ends within the time of two calls. */
PEAL_TEST(early_cancelled_copy_returns_ecanceled)
{
	uint64_t a, b;
	struct peal_copy *copy;
	int i, r = 0;

	rt = machine_open("2", "");
	a = machine_alloc(rt, 0, BIG);
	b = machine_alloc(rt, 1, BIG);
	for (i = 0; i < 20 && r != PEAL_ECANCELED; i++) {
		CHECK_OK(peal_peer_copy_async(rt, 1, b, 0, a, BIG, &copy));
		CHECK_OK(peal_copy_cancel(copy));
		r = peal_copy_wait(copy, -1);
		CHECK(r == PEAL_ECANCELED || r == 0);
		peal_copy_destroy(copy);
	}
	CHECK_EQ(r, PEAL_ECANCELED);
	CHECK_OK(peal_memory_free(rt, 1, b));
	CHECK_OK(peal_memory_free(rt, 0, a));
	CHECK_OK(peal_runtime_close(rt));
}

PEAL_TEST(destroy_waits_for_the_copy)
{
	uint64_t a, b;
	struct peal_copy *copy;

	rt = machine_open("2", "");
	a = machine_alloc(rt, 0, BYTES);
	b = machine_alloc(rt, 1, BYTES);
	machine_fill(rt, 0, a, BYTES, 11);
	CHECK_OK(peal_peer_copy_async(rt, 1, b, 0, a, BYTES, &copy));
	peal_copy_destroy(copy);
	CHECK(machine_holds(rt, 1, b, BYTES, 11));
	CHECK_OK(peal_memory_free(rt, 1, b));
	CHECK_OK(peal_memory_free(rt, 0, a));
	CHECK_OK(peal_runtime_close(rt));
}

PEAL_TEST(shutdown_ends_running_copies)
{
	uint64_t a, b;
	struct peal_copy *copy;
	int i;

	rt = machine_open("2", "");
	a = machine_alloc(rt, 0, BIG);
	b = machine_alloc(rt, 1, BIG);
	for (i = 0; i < 4; i++)
		CHECK_OK(peal_peer_copy_async(rt, 1, b, 0, a, BIG, &copy));
	CHECK_OK(peal_runtime_shutdown(rt));
}

static void *wait_too(void *copy)
{
	CHECK_OK(peal_copy_wait(copy, -1));
	return NULL;
}

PEAL_TEST(several_threads_wait_for_one_copy)
{
	uint64_t a, b;
	struct peal_copy *copy;
	pthread_t thread[3];
	int i;

	rt = machine_open("2", "");
	a = machine_alloc(rt, 0, 8 * BYTES);
	b = machine_alloc(rt, 1, 8 * BYTES);
	CHECK_OK(peal_peer_copy_async(rt, 1, b, 0, a, 8 * BYTES, &copy));
	for (i = 0; i < 3; i++)
		CHECK(!pthread_create(&thread[i], NULL, wait_too, copy));
	CHECK_OK(peal_copy_wait(copy, -1));
	for (i = 0; i < 3; i++)
		pthread_join(thread[i], NULL);
	peal_copy_destroy(copy);
	CHECK_OK(peal_memory_free(rt, 1, b));
	CHECK_OK(peal_memory_free(rt, 0, a));
	CHECK_OK(peal_runtime_close(rt));
}

PEAL_TEST_MAIN(machine_begin(); RUN(background_copy_is_correct);
	       RUN(finished_copy_releases_memory_without_wait);
	       RUN(wait_times_out_and_cancel_ends_running_copy);
	       RUN(early_cancelled_copy_returns_ecanceled);
	       RUN(destroy_waits_for_the_copy);
	       RUN(shutdown_ends_running_copies);
	       RUN(several_threads_wait_for_one_copy);)
