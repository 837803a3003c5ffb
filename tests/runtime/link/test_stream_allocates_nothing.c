/* SPDX-License-Identifier: Apache-2.0 */
/* While messages flow, no thread of the process allocates or frees. The
 * watchdog never does, as a thread that forks may run beside it. */
#include "runtime/harness.h"

#include <sys/prctl.h>

#if !IDENTITY_SANITIZED

static atomic_int counting; /* 1: every thread; or WATCHDOG */
static atomic_ullong calls;

extern void *__libc_malloc(size_t bytes);
extern void *__libc_calloc(size_t n, size_t bytes);
extern void *__libc_realloc(void *p, size_t bytes);
extern void __libc_free(void *p);

#define WATCHDOG 2 /* only the thread of the watchdog */

static int is_watchdog(void)
{
	char name[16] = "";

	return !prctl(PR_GET_NAME, name) && !strcmp(name, "peal-watchdog");
}

static void note(void)
{
	int of = atomic_load_explicit(&counting, memory_order_relaxed);

	if (of == 1 || (of == WATCHDOG && is_watchdog()))
		atomic_fetch_add(&calls, 1);
}

void *malloc(size_t bytes)
{
	note();
	return __libc_malloc(bytes);
}

void *calloc(size_t n, size_t bytes)
{
	note();
	return __libc_calloc(n, bytes);
}

void *realloc(void *p, size_t bytes)
{
	note();
	return __libc_realloc(p, bytes);
}

void free(void *p)
{
	if (p)
		note();
	__libc_free(p);
}

#define COUNT 20000

struct ends {
	struct peal_endpoint *e;
	uint64_t bytes;
};

static void *send_all(void *argument)
{
	struct ends *a = argument;
	uint64_t i;
	void *place;

	for (i = 0; i < COUNT; i++) {
		CHECK_OK(
			peal_send_reserve(a->e, 0, a->bytes, MAX_WAIT, &place));
		harness_fill(place, a->bytes, 1, i);
		CHECK_OK(peal_send_commit(a->e, 0, (uint16_t)i));
	}
	return NULL;
}

/* Returns the allocator calls of all threads while messages go over a route. */
static uint64_t calls_of(uint32_t route, uint64_t bytes)
{
	struct peal_runtime *rt = harness_open(2, "");
	struct peal_link_options o = { .message_bytes = bytes };
	struct ends a = { harness_endpoint(rt), bytes };
	uint64_t first, second, i;
	struct peal_received r;
	pthread_t sender;

	first = harness_spawn(harness_launch(rt, 0), "echo", 0);
	second = harness_spawn(harness_launch(rt, 1), "echo", 0);
	harness_from(rt, a.e, 0, first, o);
	harness_to(rt, second, a.e, o);
	o.require = route;
	harness_link(rt, first, 0, second, o);
	CHECK(!pthread_create(&sender, NULL, send_all, &a));
	for (i = 0; i < COUNT; i++) {
		CHECK_OK(peal_receive_peek(a.e, &r, MAX_WAIT));
		CHECK(harness_intact(r.data, r.length, 1, i));
		CHECK_OK(peal_receive_release(a.e));
		if (i == COUNT / 2) /* all threads have begun by now */
			atomic_store(&counting, 1);
		if (i == COUNT - 100)
			atomic_store(&counting, 0);
	}
	CHECK(!pthread_join(sender, NULL));
	harness_conserved(rt);
	CHECK_OK(peal_runtime_shutdown(rt));
	return atomic_exchange(&calls, 0);
}

PEAL_TEST(allocation_counter_counts_calls)
{
	void *volatile p;

	atomic_store(&counting, 1);
	p = malloc(10);
	free(p);
	atomic_store(&counting, 0);
	CHECK_EQ(atomic_exchange(&calls, 0), 2);
}

PEAL_TEST(messages_allocate_nothing_on_any_route)
{
	CHECK_EQ(calls_of(PEAL_ROUTE_PEER, 48), 0);
	CHECK_EQ(calls_of(PEAL_ROUTE_MAPPED_HOST, 48), 0);
	CHECK_EQ(calls_of(PEAL_ROUTE_STAGED, 48), 0);
}

PEAL_TEST(messages_in_the_slab_allocate_nothing)
{
	CHECK_EQ(calls_of(PEAL_ROUTE_PEER, 1000), 0);
	CHECK_EQ(calls_of(PEAL_ROUTE_STAGED, 1000), 0);
}

PEAL_TEST(watchdog_of_a_new_kernel_allocates_nothing)
{
	struct peal_runtime *rt = harness_open(1, "");

	atomic_store(&counting, WATCHDOG);
	harness_launch(rt, 0);
	identity_sleep_us(100000); /* several loop iterations */
	atomic_store(&counting, 0);
	CHECK_EQ(atomic_exchange(&calls, 0), 0);
	CHECK_OK(peal_runtime_shutdown(rt));
}

PEAL_TEST_MAIN(RUN(allocation_counter_counts_calls);
	       RUN(messages_allocate_nothing_on_any_route);
	       RUN(messages_in_the_slab_allocate_nothing);
	       RUN(watchdog_of_a_new_kernel_allocates_nothing);)

#else
int main(void)
{
	SKIP("sanitizers bring their own allocator");
}
#endif
