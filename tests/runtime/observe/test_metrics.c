/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shows that the metrics of a runtime are right: snapshots, differences and
 * derived values.
 */
#include <math.h>

#include <peal/abi/collective.h>
#include <peal/barrier.h>
#include <peal/communicator.h>
#include <peal/memory.h>
#include <peal/metrics.h>
#include <peal/peer.h>

#include "runtime/harness.h"

#define MESSAGES 100
#define LOOKS 8 /* samples of the watchdog that a case waits for */

static struct peal_metrics *snapshot(struct peal_runtime *rt)
{
	struct peal_metrics *m = calloc(1, sizeof(*m));

	CHECK(m);
	m->size = sizeof(*m);
	CHECK_OK(peal_metrics_snapshot(rt, m));
	return m;
}

/* Returns the difference to an earlier snapshot. Does not free `before`. */
static struct peal_metrics *since(struct peal_runtime *rt,
				  const struct peal_metrics *before)
{
	struct peal_metrics *after = snapshot(rt);

	CHECK_OK(peal_metrics_delta(before, after, after));
	return after;
}

/*
 * Returns the difference since the call, once the first n devices have
 * `how_often` samples each.
 */
static struct peal_metrics *looks(struct peal_runtime *rt, int n,
				  uint64_t how_often)
{
	struct peal_metrics *before = snapshot(rt), *m;
	uint64_t until = harness_now_ns() + MAX_WAIT;
	int i;

	for (;;) {
		m = since(rt, before);
		for (i = 0; i < n && m->device[i].samples >= how_often; i++)
			;
		if (i == n)
			break;
		CHECK(harness_now_ns() < until);
		free(m);
		identity_sleep_us(1000);
	}
	free(before);
	return m;
}

/* Returns the metrics of samples that all began after the call. */
static struct peal_metrics *looked(struct peal_runtime *rt, int n)
{
	/* the first sample may have begun before the call */
	free(looks(rt, n, 1));
	return looks(rt, n, LOOKS);
}

static int equal(double a, double b)
{
	return fabs(a - b) < 1e-9;
}

/* ---- workers ------------------------------------------------------------- */

static int in_a_handler(struct peal_kernel *k, uint32_t worker)
{
	struct peal_worker_info info;

	CHECK_OK(peal_worker_info(k, worker, &info));
	return info.actor >= 0;
}

static int is_blocked(struct peal_kernel *k)
{
	struct peal_worker_info info;

	CHECK_OK(peal_worker_info(k, 0, &info));
	return info.blocked_port >= 0;
}

/* Keeps worker 0 of a kernel in a handler until the word is set. */
static void close_gate(struct peal_runtime *rt, struct peal_endpoint *e,
		       uint32_t port, struct peal_kernel *k, uint64_t word)
{
	struct relay_gate gate = { word };
	struct peal_link_options o = { 0 };

	harness_from(rt, e, port, harness_spawn(k, "gate", 0), o);
	CHECK_OK(peal_send(e, port, 0, &gate, sizeof(gate), MAX_WAIT, NULL));
	EVENTUALLY(in_a_handler(k, 0));
}

PEAL_TEST(only_workers_in_handlers_count_as_busy)
{
	struct peal_runtime *rt = harness_open(3, "");
	struct peal_kernel_options two = { .workers = 2 };
	struct peal_endpoint *e = harness_endpoint(rt);
	struct peal_kernel *k[2] = { harness_launch_with(rt, 0, two),
				     harness_launch(rt, 1) };
	struct peal_metrics *m;
	uint64_t word = 0;
	int i;

	CHECK_OK(peal_memory_alloc(rt, PEAL_HOST_MEMORY, 64, &word));
	close_gate(rt, e, 0, k[0], word);
	for (i = 0; i < 2; i++) {
		m = looked(rt, 2);
		CHECK_EQ(m->n_devices, 3);
		CHECK_EQ(m->device[0].workers, 2);
		CHECK_EQ(m->device[0].kernels, 1);
		CHECK(m->device[0].worker_ns > 0);
		/* one of two workers of device 0; none or all of device 1 */
		CHECK(equal(peal_metrics_busy_share(&m->device[0]), 0.5));
		CHECK(equal(peal_metrics_busy_share(&m->device[1]), i));
		CHECK_EQ(m->device[2].samples, 0);
		CHECK(peal_metrics_busy_share(&m->device[2]) < 0);
		CHECK(equal(peal_metrics_imbalance(m), i ? 4.0 / 3 : 2));
		CHECK_EQ(m->compute_ns,
			 m->device[0].busy_ns + m->device[1].busy_ns);
		CHECK_EQ(m->total.busy_ns, m->compute_ns);
		CHECK_EQ(m->total.samples,
			 m->device[0].samples + m->device[1].samples);
		CHECK_EQ(m->total.blocked_ns, 0);
		free(m);
		if (!i)
			close_gate(rt, e, 1, k[1], word);
	}
	peal_store_release_sys((uint64_t *)(uintptr_t)word, 1);
	EVENTUALLY(!in_a_handler(k[0], 0) && !in_a_handler(k[1], 0));
	m = looked(rt, 2);
	CHECK_EQ(m->compute_ns, 0);
	CHECK(equal(peal_metrics_imbalance(m), 0));
	free(m);
	CHECK_OK(peal_runtime_shutdown(rt));
}

PEAL_TEST(worker_waiting_for_slots_counts_as_blocked)
{
	struct peal_runtime *rt = harness_open(1, "");
	struct peal_endpoint *e = harness_endpoint(rt);
	struct peal_kernel *k = harness_launch(rt, 0);
	struct peal_link_options o = { 0 };
	uint64_t echo = harness_spawn(k, "echo", 0);
	struct peal_metrics *m;

	harness_from(rt, e, 0, echo, o);
	harness_send(e, 0, 1, 0, 1); /* the port of `echo` has no link */
	EVENTUALLY(is_blocked(k));
	m = looked(rt, 1);
	CHECK(m->total.worker_ns > 0);
	CHECK_EQ(m->total.blocked_ns, m->total.worker_ns);
	CHECK_EQ(m->total.busy_ns, 0);
	free(m);
	harness_to(rt, echo, e, o);
	harness_receive(e, 1, 0, 1);
	EVENTUALLY(!is_blocked(k));
	m = looked(rt, 1);
	CHECK_EQ(m->total.blocked_ns, 0);
	free(m);
	CHECK_OK(peal_runtime_shutdown(rt));
}

/* Returns 1 if the watchdog takes no sample in 100 ms. */
static int is_quiet(struct peal_runtime *rt)
{
	struct peal_metrics *before = snapshot(rt), *m;
	int quiet;

	identity_sleep_us(100000);
	m = since(rt, before);
	quiet = !m->total.samples && !m->total.worker_ns;
	free(m);
	free(before);
	return quiet;
}

PEAL_TEST(worker_time_excludes_time_without_kernel)
{
	struct peal_runtime *rt = harness_open(1, "");
	struct peal_kernel *k = harness_launch(rt, 0);
	struct peal_metrics *m;

	free(looked(rt, 1));
	m = snapshot(rt);
	CHECK(m->total.worker_ns <= m->interval_ns);
	CHECK_EQ(m->total.kernels, 1);
	CHECK_EQ(m->total.workers, 1);
	free(m);
	CHECK_OK(peal_kernel_stop(k, MAX_WAIT));
	m = snapshot(rt);
	CHECK_EQ(m->total.kernels, 0);
	CHECK_EQ(m->total.workers, 0);
	free(m);
	EVENTUALLY(is_quiet(rt)); /* a sample may be in progress */
	CHECK_OK(peal_runtime_shutdown(rt));
}

/* ---- messages ------------------------------------------------------------ */

static void is_traffic(const struct peal_traffic *t)
{
	CHECK_EQ(t->messages, MESSAGES);
	CHECK_EQ(t->bytes, MESSAGES * sizeof(struct relay_message));
}

/* Checks the counters after device 1 has echoed MESSAGES messages. */
static void is_echoed(const struct peal_metrics *m)
{
	CHECK_EQ(m->device[1].handled, MESSAGES);
	CHECK_EQ(m->device[1].emitted, MESSAGES);
	CHECK_EQ(m->device[1].mailbox_sends, 0);
	CHECK_EQ(m->device[1].failed, 0);
	CHECK_EQ(m->device[0].handled, 0);
	CHECK_EQ(m->total.handled, MESSAGES);
	is_traffic(&m->device[1].sent);
	is_traffic(&m->device[1].received);
	is_traffic(&m->total.sent);
	is_traffic(&m->total.received);
	is_traffic(&m->host_sent);
	is_traffic(&m->host_received);
	CHECK_EQ(m->device[0].sent.messages, 0);
}

static uint64_t handled(struct peal_kernel *k)
{
	struct peal_kernel_info info;

	CHECK_OK(peal_kernel_info(k, &info));
	return info.handled;
}

PEAL_TEST(message_counts_survive_destroyed_kernels)
{
	struct peal_runtime *rt = harness_open(2, "");
	struct peal_metrics *before = NULL, *m;
	int round;

	for (round = 0; round < 2; round++) {
		struct peal_endpoint *e = harness_endpoint(rt);
		struct peal_kernel *k = harness_launch(rt, 1);
		uint64_t echo = harness_spawn(k, "echo", 0);
		struct peal_link_options o = { .capacity = 256 };
		struct peal_link *in, *out;

		in = harness_from(rt, e, 0, echo, o);
		out = harness_to(rt, echo, e, o);
		before = snapshot(rt);
		harness_send(e, 0, 1, 0, MESSAGES);
		harness_receive(e, 1, 0, MESSAGES);
		harness_conserved(rt);
		EVENTUALLY(handled(k) == MESSAGES);
		m = since(rt, before);
		is_echoed(m);
		free(m);
		CHECK_OK(peal_kernel_stop(k, MAX_WAIT));
		CHECK_OK(peal_link_destroy(in));
		CHECK_OK(peal_link_destroy(out));
		CHECK_OK(peal_kernel_destroy(k));
		CHECK_OK(peal_endpoint_destroy(e));
		m = since(rt, before);
		is_echoed(m);
		free(m);
		free(before);
	}
	m = snapshot(rt);
	CHECK_EQ(m->total.handled, 2 * MESSAGES);
	CHECK_EQ(m->host_received.messages, 2 * MESSAGES);
	free(m);
	CHECK_OK(peal_runtime_close(rt));
}

/* ---- copies -------------------------------------------------------------- */

static void is_copied(const struct peal_copy_counts *c, uint64_t copies,
		      uint64_t bytes)
{
	CHECK_EQ(c->copies, copies);
	CHECK_EQ(c->bytes, bytes);
	CHECK_EQ(c->failed, 0);
	CHECK((c->ns > 0) == (copies > 0));
	CHECK_EQ(peal_metrics_bandwidth(c) > 0, copies > 0);
}

static uint64_t to_host(struct peal_runtime *rt)
{
	struct peal_metrics *m = snapshot(rt);
	uint64_t n = m->copies[PEAL_COPY_TO_HOST].copies;

	free(m);
	return n;
}

PEAL_TEST(copies_are_counted_by_kind_and_device)
{
	struct peal_runtime *rt = harness_open(2, "");
	struct peal_metrics *before = snapshot(rt), *m;
	static uint8_t host[2][4096];
	struct peal_copy *copy;
	uint64_t at[2], there;
	int i;

	for (i = 0; i < 2; i++)
		CHECK_OK(peal_memory_alloc(rt, i, 8192, &at[i]));
	there = (uintptr_t)host[0];
	CHECK_OK(peal_peer_copy(rt, 0, at[0], PEAL_HOST_MEMORY, there, 1000));
	CHECK_OK(peal_peer_copy(rt, 1, at[1], 0, at[0], 2000));
	CHECK_OK(peal_peer_copy_async(rt, 1, at[1], 0, at[0], 500, &copy));
	CHECK_OK(peal_copy_wait(copy, MAX_WAIT));
	peal_copy_destroy(copy);
	CHECK_OK(peal_peer_copy(rt, 0, at[0] + 4096, 0, at[0], 3000));
	CHECK_OK(peal_peer_copy(rt, PEAL_HOST_MEMORY, there, 1, at[1], 4000));
	CHECK_OK(peal_peer_copy(rt, PEAL_HOST_MEMORY, (uintptr_t)host[1],
				PEAL_HOST_MEMORY, there, 100));
	/* 0 bytes: not counted */
	CHECK_OK(peal_peer_copy(rt, 1, at[1], 0, at[0], 0));
	/* a copy also counts before the host has asked for its state */
	CHECK_OK(peal_peer_copy_async(rt, PEAL_HOST_MEMORY, there, 1, at[1], 40,
				      &copy));
	EVENTUALLY(to_host(rt) == 2);
	m = since(rt, before);
	is_copied(&m->copies[PEAL_COPY_FROM_HOST], 1, 1000);
	is_copied(&m->copies[PEAL_COPY_DEVICES], 2, 2500);
	is_copied(&m->copies[PEAL_COPY_STAGED], 0, 0);
	is_copied(&m->copies[PEAL_COPY_LOCAL], 1, 3000);
	is_copied(&m->copies[PEAL_COPY_TO_HOST], 2, 4040);
	is_copied(&m->copies[PEAL_COPY_HOST], 1, 100);
	is_copied(&m->device[0].written[PEAL_COPY_FROM_HOST], 1, 1000);
	is_copied(&m->device[0].read[PEAL_COPY_DEVICES], 2, 2500);
	is_copied(&m->device[0].written[PEAL_COPY_DEVICES], 0, 0);
	is_copied(&m->device[1].written[PEAL_COPY_DEVICES], 2, 2500);
	is_copied(&m->device[1].read[PEAL_COPY_TO_HOST], 2, 4040);
	is_copied(&m->total.read[PEAL_COPY_LOCAL], 1, 3000);
	is_copied(&m->total.written[PEAL_COPY_DEVICES], 2, 2500);
	for (there = 0, i = 0; i < PEAL_COPY_KINDS; i++)
		there += m->copies[i].ns;
	CHECK_EQ(m->transfer_ns, there);
	free(m);
	free(before);
	peal_copy_destroy(copy);
	CHECK_OK(peal_runtime_shutdown(rt));
}

#define LONG_COPIES 6
#define LONG_BYTES ((uint64_t)8 << 20)

/*
 * Starts LONG_COPIES copies and cancels all but the first. Returns the number
 * of cancelled copies.
 */
static uint64_t cancel_some(struct peal_runtime *rt, const uint64_t at[2])
{
	struct peal_copy *copy[LONG_COPIES];
	uint64_t failed = 0;
	int i, r;

	for (i = 0; i < LONG_COPIES; i++)
		CHECK_OK(peal_peer_copy_async(rt, 1, at[1], 0, at[0],
					      LONG_BYTES, &copy[i]));
	for (i = 1; i < LONG_COPIES; i++)
		CHECK_OK(peal_copy_cancel(copy[i]));
	for (i = 0; i < LONG_COPIES; i++) {
		r = peal_copy_wait(copy[i], MAX_WAIT);
		CHECK(r == 0 || r == PEAL_ECANCELED);
		failed += r != 0;
		peal_copy_destroy(copy[i]);
	}
	return failed;
}

PEAL_TEST(cancelled_copy_counts_as_failed)
{
	struct peal_runtime *rt = harness_open(2, "");
	uint64_t at[2], failed = 0, begun = 0;
	struct peal_metrics *m;
	int i;

	for (i = 0; i < 2; i++)
		CHECK_OK(peal_memory_alloc(rt, i, LONG_BYTES, &at[i]));
	for (; !failed; begun += LONG_COPIES)
		failed = cancel_some(rt, at);
	m = snapshot(rt);
	CHECK_EQ(m->copies[PEAL_COPY_DEVICES].failed, failed);
	CHECK_EQ(m->copies[PEAL_COPY_DEVICES].copies, begun - failed);
	CHECK_EQ(m->copies[PEAL_COPY_DEVICES].bytes,
		 (begun - failed) * LONG_BYTES);
	CHECK_EQ(m->device[1].written[PEAL_COPY_DEVICES].failed, failed);
	free(m);
	CHECK_OK(peal_runtime_shutdown(rt));
}

PEAL_TEST(memory_metric_is_usage_at_interval_end)
{
	struct peal_runtime *rt = harness_open(2, "");
	struct peal_metrics *before = snapshot(rt), *m;
	uint64_t at;

	CHECK(before->device[1].memory_bytes > 0);
	CHECK_EQ(before->total.memory_bytes,
		 before->device[0].memory_bytes +
			 before->device[1].memory_bytes);
	CHECK_OK(peal_memory_alloc(rt, 1, 1 << 20, &at));
	m = since(rt, before);
	CHECK_EQ(m->device[1].memory_used_bytes,
		 before->device[1].memory_used_bytes + (1 << 20));
	CHECK_EQ(m->device[0].memory_used_bytes,
		 before->device[0].memory_used_bytes);
	CHECK_EQ(m->device[1].device, 1);
	CHECK_EQ(m->total.device, -1);
	free(m);
	free(before);
	CHECK_OK(peal_memory_free(rt, 1, at));
	CHECK_OK(peal_runtime_close(rt));
}

/* ---- waits --------------------------------------------------------------- */

/*
 * Makes a copy and waits for it. Returns the number of waits for copies so far:
 * a wait counts only if the copy has not ended yet.
 */
static uint64_t copy_waits(struct peal_runtime *rt, const uint64_t at[2])
{
	struct peal_copy *copy;
	struct peal_metrics *m;
	uint64_t n;

	CHECK_OK(peal_peer_copy_async(rt, 1, at[1], 0, at[0], 8 << 20, &copy));
	CHECK_OK(peal_copy_wait(copy, MAX_WAIT));
	peal_copy_destroy(copy);
	m = snapshot(rt);
	n = m->waits[PEAL_WAIT_COPY].waits;
	CHECK((m->waits[PEAL_WAIT_COPY].ns > 0) == (n > 0));
	free(m);
	return n;
}

PEAL_TEST(waits_are_counted_by_kind)
{
	static const int devices[2] = { 0, 1 };
	struct peal_collective meet = { .size = sizeof(meet),
					.kind = PEAL_COMM_BARRIER };
	struct peal_runtime *rt = harness_open(2, "");
	struct peal_metrics *before = snapshot(rt), *m;
	struct peal_barrier_options one = { .size = sizeof(one),
					    .host_participants = 1 };
	struct peal_barrier *barrier;
	struct peal_comm *group;
	struct peal_kernel *k;
	uint64_t at[2], ns = 0;
	int i;

	k = harness_launch(rt, 0);
	/* timeout 0: not a wait */
	CHECK_EQ(peal_kernel_wait(k, 0), PEAL_ETIMEDOUT);
	CHECK_EQ(peal_kernel_wait(k, 3 * MS), PEAL_ETIMEDOUT);
	CHECK_OK(peal_barrier_create(rt, devices, 1, 1, &one, &barrier));
	CHECK_OK(peal_barrier_arrive(barrier, 0));
	CHECK_EQ(peal_barrier_wait(barrier, 0, 0), PEAL_ETIMEDOUT);
	CHECK_EQ(peal_barrier_wait(barrier, 0, 2 * MS), PEAL_ETIMEDOUT);
	CHECK_OK(peal_comm_create(rt, devices, 2, NULL, &group));
	CHECK_OK(peal_collective_run(group, &meet, MAX_WAIT));
	/* no collective runs: not a wait */
	CHECK_OK(peal_collective_wait(group, MAX_WAIT));
	m = since(rt, before);
	CHECK_EQ(m->waits[PEAL_WAIT_KERNEL].waits, 1);
	CHECK(m->waits[PEAL_WAIT_KERNEL].ns >= 3 * MS);
	CHECK_EQ(m->waits[PEAL_WAIT_BARRIER].waits, 1);
	CHECK(m->waits[PEAL_WAIT_BARRIER].ns >= 2 * MS);
	CHECK_EQ(m->waits[PEAL_WAIT_COLLECTIVE].waits, 1);
	CHECK(m->waits[PEAL_WAIT_COLLECTIVE].ns > 0);
	CHECK_EQ(m->waits[PEAL_WAIT_COPY].waits, 0);
	for (i = 0; i < PEAL_WAIT_KINDS; i++)
		ns += m->waits[i].ns;
	CHECK_EQ(m->sync_ns, ns);
	CHECK(m->sync_ns <= m->interval_ns);
	free(m);
	for (i = 0; i < 2; i++)
		CHECK_OK(peal_memory_alloc(rt, i, 8 << 20, &at[i]));
	EVENTUALLY(copy_waits(rt, at) > 0);
	free(before);
	CHECK_OK(peal_comm_destroy(group));
	CHECK_OK(peal_runtime_shutdown(rt));
}

/* ---- concurrent snapshots ------------------------------------------------ */

struct observer {
	struct peal_runtime *rt;
	atomic_int stop;
	_Atomic uint64_t snapshots;
};

/* Checks that no counter of a device has decreased. */
static void only_grows(const struct peal_device_metrics *before,
		       const struct peal_device_metrics *after)
{
	const uint64_t *a = &before->handled, *b = &after->handled;
	size_t n = (sizeof(*before) -
		    offsetof(struct peal_device_metrics, handled)) /
		   sizeof(*a);
	size_t i;

	for (i = 0; i < n; i++)
		CHECK(b[i] >= a[i]);
	CHECK(after->busy_ns - before->busy_ns <=
	      after->worker_ns - before->worker_ns);
}

static void *observe(void *argument)
{
	struct observer *o = (struct observer *)argument;
	struct peal_metrics *last = snapshot(o->rt), *now;

	do {
		now = snapshot(o->rt);
		only_grows(&last->total, &now->total);
		only_grows(&last->device[0], &now->device[0]);
		only_grows(&last->device[1], &now->device[1]);
		CHECK(now->host_sent.messages >= now->device[0].handled);
		CHECK(now->host_sent.messages >= last->host_sent.messages);
		CHECK(now->transfer_ns >= last->transfer_ns);
		CHECK(now->at_ns >= last->at_ns);
		free(last);
		last = now;
		o->snapshots++;
	} while (!atomic_load(&o->stop));
	free(last);
	return NULL;
}

/*
 * The main thread makes and destroys kernels and links while two threads take
 * snapshots.
 */
PEAL_TEST(counters_are_monotonic_under_concurrent_reads)
{
	struct observer o = { .rt = harness_open(2, "") };
	struct peal_endpoint *e = harness_endpoint(o.rt);
	struct peal_link_options none = { 0 };
	pthread_t threads[2];
	uint64_t at;
	int i, round;

	CHECK_OK(peal_memory_alloc(o.rt, 1, 4096, &at));
	for (i = 0; i < 2; i++)
		CHECK(!pthread_create(&threads[i], NULL, observe, &o));
	for (round = 0; round < 12; round++) {
		struct peal_kernel *k = harness_launch(o.rt, round & 1);
		uint64_t echo = harness_spawn(k, "echo", 0);
		struct peal_link *in, *out;

		in = harness_from(o.rt, e, 0, echo, none);
		out = harness_to(o.rt, echo, e, none);
		harness_send(e, 0, 1, 0, 32);
		harness_receive(e, 1, 0, 32);
		CHECK_OK(peal_peer_copy(o.rt, 1, at + 2048, 1, at, 1024));
		harness_conserved(o.rt);
		CHECK_OK(peal_kernel_stop(k, MAX_WAIT));
		CHECK_OK(peal_link_destroy(in));
		CHECK_OK(peal_link_destroy(out));
		CHECK_OK(peal_kernel_destroy(k));
	}
	atomic_store(&o.stop, 1);
	for (i = 0; i < 2; i++)
		CHECK(!pthread_join(threads[i], NULL));
	CHECK(o.snapshots > 0);
	CHECK_OK(peal_runtime_shutdown(o.rt));
}

/* ---- errors -------------------------------------------------------------- */

PEAL_TEST(invalid_arguments_return_einval)
{
	struct peal_runtime *rt = harness_open(1, "");
	struct peal_metrics *a = snapshot(rt), *b, *d;

	identity_sleep_us(10);
	b = snapshot(rt);
	d = snapshot(rt);
	CHECK_FAILS(peal_metrics_snapshot(NULL, d), PEAL_EINVAL, "NULL");
	CHECK_FAILS(peal_metrics_snapshot(rt, NULL), PEAL_EINVAL, "NULL");
	d->size = 0;
	CHECK_FAILS(peal_metrics_snapshot(rt, d), PEAL_EINVAL, "sizeof");
	CHECK_FAILS(peal_metrics_delta(a, d, d), PEAL_EINVAL, "sizeof");
	CHECK_FAILS(peal_metrics_delta(d, a, d), PEAL_EINVAL, "sizeof");
	CHECK_FAILS(peal_metrics_delta(NULL, b, d), PEAL_EINVAL, "NULL");
	CHECK_FAILS(peal_metrics_delta(a, NULL, d), PEAL_EINVAL, "NULL");
	CHECK_FAILS(peal_metrics_delta(a, b, NULL), PEAL_EINVAL, "NULL");
	CHECK_FAILS(peal_metrics_delta(b, a, d), PEAL_EINVAL, "later");
	CHECK_EQ(d->size, 0); /* nothing was written */
	CHECK_OK(peal_metrics_delta(a, b, d));
	CHECK_EQ(d->size, sizeof(*d));
	CHECK_EQ(d->interval_ns, b->at_ns - a->at_ns);
	CHECK_FAILS(peal_metrics_delta(a, d, d), PEAL_EINVAL, "difference");
	CHECK_OK(peal_metrics_delta(a, b, a)); /* in place */
	CHECK_EQ(a->interval_ns, d->interval_ns);
	CHECK_OK(peal_runtime_close(rt));
	rt = harness_open(1, "");
	free(d);
	d = snapshot(rt);
	CHECK_FAILS(peal_metrics_delta(b, d, d), PEAL_EINVAL, "two runtimes");
	CHECK_EQ(peal_metrics_bandwidth(NULL), 0);
	CHECK(peal_metrics_busy_share(NULL) < 0);
	CHECK(equal(peal_metrics_imbalance(NULL), 0));
	CHECK(!strcmp(peal_copy_kind_name(PEAL_COPY_STAGED), "staged"));
	CHECK(!strcmp(peal_copy_kind_name(PEAL_COPY_KINDS), "?"));
	CHECK(!strcmp(peal_wait_kind_name(PEAL_WAIT_COPY), "copy"));
	CHECK(!strcmp(peal_wait_kind_name(PEAL_WAIT_KINDS), "?"));
	free(a);
	free(b);
	free(d);
	CHECK_OK(peal_runtime_close(rt));
}

PEAL_TEST_MAIN(RUN(only_workers_in_handlers_count_as_busy);
	       RUN(worker_waiting_for_slots_counts_as_blocked);
	       RUN(worker_time_excludes_time_without_kernel);
	       RUN(message_counts_survive_destroyed_kernels);
	       RUN(copies_are_counted_by_kind_and_device);
	       RUN(cancelled_copy_counts_as_failed);
	       RUN(memory_metric_is_usage_at_interval_end);
	       RUN(waits_are_counted_by_kind);
	       RUN(counters_are_monotonic_under_concurrent_reads);
	       RUN(invalid_arguments_return_einval);)
