/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_TESTS_HARNESS_H
#define PEAL_TESTS_HARNESS_H

/*
 * Helpers of the runtime's tests. One call opens a runtime, launches a kernel
 * or makes a link. Every byte of a test message is known. A thread watches the
 * counters of links. At the end all links must conserve their messages.
 */

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <time.h>
#include <unistd.h>

#include <peal/dead_letter.h>
#include <peal/device/kernel.h>
#include <peal/memory.h>
#include <peal/peal.h>
#include <peal/pool.h>
#include <peal/supervisor.h>
#include "peal_test.h"
#include "queues/identity.h"
#include "runtime/relay.h"

PEAL_DECLARE_PROGRAM(relay);

#define SECOND 1000000000LL
#define MS 1000000LL
/* ns; no step takes this long, even on a busy machine under sanitizers */
#define MAX_WAIT (60 * SECOND)

/* ---- time ---------------------------------------------------------------- */

static inline uint64_t harness_now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Waits until a condition holds. Fails after MAX_WAIT. */
#define EVENTUALLY(condition)                                                  \
	do {                                                                   \
		uint64_t peal_until_ = harness_now_ns() + MAX_WAIT;            \
		while (!(condition)) {                                         \
			if (harness_now_ns() > peal_until_) {                  \
				fprintf(stderr, "%s:%d: never: %s\n",          \
					__FILE__, __LINE__, #condition);       \
				exit(1);                                       \
			}                                                      \
			identity_sleep_us(200);                                \
		}                                                              \
	} while (0)

/* ---- opening ------------------------------------------------------------- */

static char harness_cache[64];

static inline void harness_clean(void)
{
	char command[96];

	snprintf(command, sizeof(command), "rm -rf '%s'", harness_cache);
	if (harness_cache[0] && system(command))
		fprintf(stderr, "cannot remove %s\n", harness_cache);
}

/* Makes a private cache folder, in which probes save their results. */
static inline void harness_make_cache(void)
{
	if (!harness_cache[0]) {
		strcpy(harness_cache, "/tmp/peal-test-XXXXXX");
		CHECK(mkdtemp(harness_cache));
		atexit(harness_clean);
	}
	setenv("PEAL_CACHE_DIR", harness_cache, 1);
}

/* Opens a runtime with devices and a topology; "": the default. */
static inline struct peal_runtime *harness_open(int devices, const char *links)
{
	struct peal_runtime *rt = NULL;
	char number[16];

	harness_make_cache();
	snprintf(number, sizeof(number), "%d", devices);
	test_set_machine(number, links);
	CHECK_OK(peal_runtime_open(NULL, &rt));
	return rt;
}

/* Returns the policy if device 0 supports it, else PEAL_POLICY_DEFAULT. */
static inline uint32_t harness_policy(struct peal_runtime *rt, uint32_t policy)
{
	struct peal_device_info info;

	CHECK_OK(peal_device_info(rt, 0, &info));
	return info.policies & 1u << policy ? policy : PEAL_POLICY_DEFAULT;
}

/*
 * Returns zeroed memory that the test and the handlers of all devices access.
 * Most GPUs cannot access the stack and the globals of a test.
 * peal_runtime_shutdown frees the memory.
 */
static inline void *harness_pinned(struct peal_runtime *rt, uint64_t bytes)
{
	uint64_t address = 0;

	CHECK_OK(peal_memory_alloc(rt, PEAL_HOST_MEMORY, bytes, &address));
	return (void *)(uintptr_t)address;
}

/* Returns a closed gate. A handler waits until the word is not 0. */
static inline uint64_t *harness_gate(struct peal_runtime *rt)
{
	return (uint64_t *)harness_pinned(rt, sizeof(uint64_t));
}

/* Returns the address of pinned memory for a message. */
static inline uint64_t harness_address(const void *pinned)
{
	return (uint64_t)(uintptr_t)pinned;
}

static inline struct peal_kernel *
harness_launch_with(struct peal_runtime *rt, int device,
		    struct peal_kernel_options o)
{
	struct peal_kernel *k = NULL;

	o.size = sizeof(o);
	CHECK_OK(peal_kernel_launch(rt, device, &peal_program_relay, &o, &k));
	return k;
}

/* Launches a kernel of one worker, which ends when its inputs end. */
static inline struct peal_kernel *harness_launch(struct peal_runtime *rt,
						 int device)
{
	struct peal_kernel_options o = { .drain_when_inputs_end = 1 };

	return harness_launch_with(rt, device, o);
}

/* worker: its number, or -1 for any. */
static inline uint64_t harness_spawn(struct peal_kernel *k, const char *handler,
				     int worker)
{
	struct peal_actor_options o = { .size = sizeof(o),
					.worker = PEAL_WORKER(worker) };
	uint64_t address = 0;

	CHECK_OK(peal_actor_spawn(k, handler, &o, &address));
	return address;
}

static inline struct peal_endpoint *harness_endpoint(struct peal_runtime *rt)
{
	struct peal_endpoint_options o = { .size = sizeof(o),
					   .max_ports = 64,
					   .max_inputs = 64 };
	struct peal_endpoint *e = NULL;

	CHECK_OK(peal_endpoint_create(rt, &o, &e));
	return e;
}

static inline struct peal_link *harness_link(struct peal_runtime *rt,
					     uint64_t from, uint32_t port,
					     uint64_t to,
					     struct peal_link_options o)
{
	struct peal_link *link = NULL;

	o.size = sizeof(o);
	CHECK_OK(peal_connect(rt, from, port, to, &o, &link));
	return link;
}

/* harness_from() links from an endpoint's port, harness_to() to an endpoint. */
static inline struct peal_link *harness_from(struct peal_runtime *rt,
					     struct peal_endpoint *e,
					     uint32_t port, uint64_t to,
					     struct peal_link_options o)
{
	return harness_link(rt, peal_endpoint_address(e), port, to, o);
}

static inline struct peal_link *harness_to(struct peal_runtime *rt,
					   uint64_t from,
					   struct peal_endpoint *e,
					   struct peal_link_options o)
{
	return harness_link(rt, from, 0, peal_endpoint_address(e), o);
}

/* ---- messages ------------------------------------------------------------ */

/* Returns byte i of a message: its identity, then a pattern made of it. */
static inline uint8_t harness_byte(const struct relay_message *m, uint64_t n,
				   uint64_t i)
{
	if (n >= sizeof(*m) && i < sizeof(*m))
		return ((const uint8_t *)m)[i];
	return (uint8_t)((m->check + i * 0x9e3779b97f4a7c15ULL) >> 40);
}

static inline void harness_fill(void *to, uint64_t n, uint64_t producer,
				uint64_t sequence)
{
	struct relay_message m = { producer, sequence,
				   relay_check(producer, sequence) };
	uint8_t *out = (uint8_t *)to;
	uint64_t i;

	for (i = 0; i < n; i++)
		out[i] = harness_byte(&m, n, i);
}

/* Returns 1 if every byte is as harness_fill() wrote it. */
static inline int harness_intact(const void *data, uint64_t n,
				 uint64_t producer, uint64_t sequence)
{
	struct relay_message m = { producer, sequence,
				   relay_check(producer, sequence) };
	const uint8_t *in = (const uint8_t *)data;
	uint64_t i;

	for (i = 0; i < n; i++)
		if (in[i] != harness_byte(&m, n, i))
			return 0;
	return 1;
}

/* Sends the messages first .. first + n - 1 of a producer. */
static inline void harness_send(struct peal_endpoint *e, uint32_t port,
				uint64_t producer, uint64_t first, uint64_t n)
{
	struct relay_message m;
	uint64_t i;

	for (i = first; i < first + n; i++) {
		harness_fill(&m, sizeof(m), producer, i);
		CHECK_OK(peal_send(e, port, (uint16_t)i, &m, sizeof(m),
				   MAX_WAIT, NULL));
	}
}

/* Receives exactly these messages in order. */
static inline void harness_receive(struct peal_endpoint *e, uint64_t producer,
				   uint64_t first, uint64_t n)
{
	struct relay_message m;
	struct peal_received r;
	uint64_t i;

	for (i = first; i < first + n; i++) {
		CHECK_OK(peal_receive(e, &m, sizeof(m), &r, MAX_WAIT));
		CHECK_EQ(r.length, sizeof(m));
		CHECK_EQ(r.type, (uint16_t)i);
		CHECK_EQ(m.sequence, i);
		CHECK(harness_intact(&m, sizeof(m), producer, i));
	}
}

/* ---- counters ------------------------------------------------------------ */

static inline struct peal_link_info harness_info(struct peal_link *link)
{
	struct peal_link_info info;

	CHECK_OK(peal_link_info(link, &info));
	return info;
}

static inline uint64_t harness_dead(const struct peal_link_info *info)
{
	uint64_t sum = 0;
	int i;

	for (i = 0; i < PEAL_REASON_COUNT; i++)
		sum += info->dead[i];
	return sum;
}

/* Returns 1 if a link conserves its messages, else prints its counters. */
static inline int harness_holds(const struct peal_link_info *i)
{
	if (i->accepted == i->delivered + harness_dead(i) + i->queued)
		return 1;
	fprintf(stderr,
		"link %llu: accepted %llu, delivered %llu, dead %llu, queued "
		"%llu\n",
		(unsigned long long)i->id, (unsigned long long)i->accepted,
		(unsigned long long)i->delivered,
		(unsigned long long)harness_dead(i),
		(unsigned long long)i->queued);
	return 0;
}

/*
 * Waits until no link has a queued message, then checks that all links
 * conserve. A message is delivered when its handler has returned. That may be
 * later than its answer.
 */
static inline void harness_conserved(struct peal_runtime *rt)
{
	struct peal_link *links[512];
	struct peal_link_info info;
	int n = peal_link_list(rt, links, 512), i;

	CHECK(n >= 0 && n <= 512);
	for (i = 0; i < n; i++) {
		EVENTUALLY(harness_info(links[i]).queued == 0);
		info = harness_info(links[i]);
		CHECK(harness_holds(&info));
	}
}

/* Waits until all told messages are done, then stops the kernel. */
static inline void harness_stop_quiet(struct peal_kernel *k)
{
	struct peal_kernel_info info;

	EVENTUALLY(!peal_kernel_info(k, &info) &&
		   info.mailbox_sends == info.mailbox_done);
	CHECK_OK(peal_kernel_stop(k, MAX_WAIT));
}

/* Returns the link of a worker's dead letters, or NULL. */
static inline struct peal_link *harness_letters(struct peal_runtime *rt,
						const struct peal_kernel *k,
						uint32_t worker)
{
	struct peal_link *links[512];
	int n = peal_link_list(rt, links, 512), i;

	for (i = 0; i < n; i++)
		if (harness_info(links[i]).from ==
			    peal_dead_letter_address(k) &&
		    harness_info(links[i]).from_port == worker)
			return links[i];
	return NULL;
}

/* Waits until the link has delivered n messages: all that it accepted. */
static inline void harness_delivered(struct peal_link *link, uint64_t n)
{
	struct peal_link_info info;

	EVENTUALLY(harness_info(link).delivered >= n);
	info = harness_info(link);
	CHECK(harness_holds(&info));
	CHECK_EQ(info.accepted, n);
	CHECK_EQ(info.delivered, n);
	CHECK_EQ(info.queued, 0);
	CHECK_EQ(info.undelivered, 0);
}

/* ---- a thread that watches ----------------------------------------------- */

#define HARNESS_LINKS_MAX 16

struct harness_sampler {
	struct peal_link *link[HARNESS_LINKS_MAX];
	uint32_t n_links;
	uint64_t rings[HARNESS_LINKS_MAX]; /* most rings at one time */
	uint64_t samples;
	atomic_int stop;
	pthread_t thread;
};

/*
 * Compares a sample with the sample before it. By now each message accepted
 * before is handled or in a ring. Hence: accepted before <= handled now +
 * capacity of the rings. A larger number shows a message that is in no ring.
 */
static inline void harness_sample(const struct harness_sampler *s, uint32_t i,
				  struct peal_link_info *last)
{
	struct peal_link_info now = harness_info(s->link[i]);
	uint64_t done = now.delivered + harness_dead(&now);

	CHECK(harness_holds(&now));
	CHECK(now.accepted >= last->accepted);
	CHECK(now.delivered >= last->delivered);
	CHECK(last->accepted <= done + s->rings[i] * now.capacity);
	*last = now;
}

static inline void *harness_sampler_run(void *argument)
{
	struct harness_sampler *s = (struct harness_sampler *)argument;
	struct peal_link_info last[HARNESS_LINKS_MAX];
	uint32_t i;

	memset(last, 0, sizeof(last));
	do {
		for (i = 0; i < s->n_links; i++)
			harness_sample(s, i, &last[i]);
		s->samples++;
		identity_sleep_us(50);
	} while (!atomic_load(&s->stop));
	return NULL;
}

/* Starts the thread that samples the links of *s. */
static inline void harness_watch(struct harness_sampler *s)
{
	atomic_store(&s->stop, 0);
	CHECK(!pthread_create(&s->thread, NULL, harness_sampler_run, s));
}

static inline void harness_watch_add(struct harness_sampler *s,
				     struct peal_link *link, uint64_t rings)
{
	CHECK(s->n_links < HARNESS_LINKS_MAX);
	s->link[s->n_links] = link;
	s->rings[s->n_links++] = rings;
}

static inline void harness_watch_end(struct harness_sampler *s)
{
	atomic_store(&s->stop, 1);
	CHECK(!pthread_join(s->thread, NULL));
	CHECK(s->samples > 0);
}

#endif
