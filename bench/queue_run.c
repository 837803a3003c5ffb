/* SPDX-License-Identifier: Apache-2.0 */
/* Threads on the two sides of a queue: see bench/queue_run.h. */
#include "bench/queue_run.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include <peal/device/impl/base/host_support.h>

#include "bench/fixture.h"

#define MEMBERS 3 /* most threads */
#define LOOK_EVERY 256 /* turns per reading of the clock */
#define LINE 64
#define CACHE (256 * 1024)
#define COUNTED 512 /* messages in a turn */
/* messages per turn of a thread with one end and its own core */
#define STEP_ALONE 256

struct gang;

/* A thread and its ends of the queue. */
struct member {
	struct gang *gang;
	struct peali_bench_queue_end *producer,
		*consumer; /* either may be NULL */
	int core;
	int failed;
	/* untimed: messages received before began_ns */
	uint64_t began_ns, ended_ns, untimed;
	pthread_t thread;
};

/* All threads of one run. */
struct gang {
	const struct peali_bench_queue_job *job;
	void *queues[2]; /* queues[1] is the way back of round trips */
	uint64_t messages; /* messages or round trips */
	uint64_t each; /* messages of one producer */
	struct member members[MEMBERS];
	uint32_t n_members;
	struct peali_bench_queue_end *producers[PEALI_BENCH_QUEUE_ENDS];
	struct peali_bench_queue_end *consumers[PEALI_BENCH_QUEUE_ENDS];
	uint32_t n_producers, n_consumers;
	uint64_t base[PEALI_BENCH_QUEUE_ENDS][PEALI_BENCH_WORDS];
	uint64_t arrived, stop; /* stop: 1 if a thread gave up */
	PEAL_ALIGNED(PEAL_SHARED_LINE) uint64_t over; /* 1: the time is over */
};

const char *
peali_bench_queue_placement_name(enum peali_bench_queue_placement placement)
{
	static const char *const names[] = { "a core each",
					     "producers consume too",
					     "producers on one core" };

	return names[placement];
}

const char *peali_bench_queue_gap_name(enum peali_bench_queue_gap gap)
{
	static const char *const names[] = { "none", "pause", "fences",
					     "yield" };

	return names[gap];
}

/* ---- functions that queues call ------------------------------------------ */

uint64_t peali_bench_queue_limit_ns = UINT64_C(10000000000);

void *peali_bench_queue_memory(uint64_t bytes)
{
	uint64_t whole = (bytes + PEAL_SHARED_LINE - 1) / PEAL_SHARED_LINE *
			 PEAL_SHARED_LINE;
	void *memory = aligned_alloc(PEAL_SHARED_LINE, whole);

	return memory ? memset(memory, 0, whole) : NULL;
}

void peali_bench_queue_yield(void)
{
	sched_yield();
}

int peali_bench_queue_give_up(struct peali_bench_queue_end *end)
{
	uint64_t now = peal_clock_ns(), moved = end->sent + end->taken;

	if (moved != end->moved_before)
		end->until_ns = now + end->limit_ns;
	else if (now > end->until_ns)
		peal_store_relaxed_sys(end->stop, 1);
	end->moved_before = moved;
	return peal_load_relaxed_sys(end->stop) != 0;
}

/* ---- setting up ---------------------------------------------------------- */

static void fill_base(struct gang *g)
{
	uint64_t seed = peali_bench_seed();

	for (uint32_t p = 0; p < PEALI_BENCH_QUEUE_ENDS; p++) {
		uint64_t *base = g->base[p];

		for (uint32_t i = 0; i < PEALI_BENCH_WORDS; i++)
			base[i] = peali_bench_word(seed + p, i);
		/* Numbers of messages never reach the producer's byte. */
		base[0] = base[0] << 16 >> 16;
		base[0] |= (uint64_t)p << PEALI_BENCH_QUEUE_PRODUCER_SHIFT;
	}
}

static struct peali_bench_queue_end *end_new(struct gang *g, uint32_t index)
{
	struct peali_bench_queue_end *end =
		peali_bench_queue_memory(sizeof(*end));

	if (!end)
		return NULL;
	end->shape = g->job->shape;
	end->index = index;
	end->gap = g->job->gap;
	end->stop = &g->stop;
	end->limit_ns = peali_bench_queue_limit_ns;
	end->until_ns = peal_clock_ns() + end->limit_ns;
	for (uint32_t p = 0; p < PEALI_BENCH_QUEUE_ENDS; p++)
		end->base[p] = g->base[p];
	return end;
}

static int add_producer(struct gang *g, struct member *m)
{
	struct peali_bench_queue_end *end = end_new(g, g->n_producers);

	if (!end)
		return -1;
	end->limit = g->each;
	g->producers[g->n_producers++] = end;
	m->producer = end;
	return 0;
}

static int add_consumer(struct gang *g, struct member *m)
{
	struct peali_bench_queue_end *end = end_new(g, g->n_consumers);

	if (!end)
		return -1;
	g->consumers[g->n_consumers++] = end;
	m->consumer = end;
	return 0;
}

static struct member *add_member(struct gang *g, int core)
{
	struct member *m = g->members + g->n_members++;

	m->gang = g;
	m->core = core;
	return m;
}

static void gang_free(struct gang *g)
{
	for (int i = 0; i < 2; i++)
		if (g->queues[i])
			g->job->kind->close(g->queues[i]);
	for (uint32_t i = 0; i < g->n_producers; i++)
		free(g->producers[i]);
	for (uint32_t i = 0; i < g->n_consumers; i++)
		free(g->consumers[i]);
	free(g);
}

static struct gang *gang_new(const struct peali_bench_queue_job *job,
			     uint32_t n_queues)
{
	struct gang *g = peali_bench_queue_memory(sizeof(*g));

	if (!g)
		goto fail;
	g->job = job;
	fill_base(g);
	for (uint32_t i = 0; i < n_queues; i++) {
		g->queues[i] = job->kind->open(&job->shape);
		if (!g->queues[i])
			goto fail;
	}
	return g;
fail:
	peali_say("cannot create a queue of kind '%s'", job->kind->name);
	if (g)
		gang_free(g);
	return NULL;
}

/* Runs all members, the first one on the calling thread. Returns 0 or -1. */
static int gang_run(struct gang *g, void *(*work)(void *))
{
	int result = 0;
	uint32_t n = 1;

	for (; n < g->n_members && !result; n++)
		result = pthread_create(&g->members[n].thread, NULL, work,
					g->members + n);
	if (result) {
		n--;
		peal_store_relaxed_sys(&g->stop, 1);
		peali_say("cannot start a thread for a queue");
	}
	work(g->members);
	peali_core_bind(-1);
	for (uint32_t i = 1; i < n; i++)
		pthread_join(g->members[i].thread, NULL);
	return result ? -1 : 0;
}

/* Waits for all members. Returns 0, or -1 if one of them did not start. */
static int arrive(struct member *m)
{
	struct gang *g = m->gang;

	peali_core_bind(m->core);
	peal_add_acqrel_dev(&g->arrived, 1);
	while (peal_load_acquire_dev(&g->arrived) < g->n_members) {
		if (peal_load_relaxed_sys(&g->stop))
			return -1;
		sched_yield();
	}
	return 0;
}

/* Prints an error about n received messages. Returns 0 if n is 0, else -1. */
static int complain(const struct gang *g, const char *what, uint64_t n)
{
	if (!n)
		return 0;
	peali_say("queue '%s', %u bytes, bursts of %u, %s: %llu messages %s",
		  g->job->kind->name, g->job->shape.bytes, g->job->shape.burst,
		  peali_bench_queue_placement_name(g->job->placement),
		  (unsigned long long)n, what);
	return -1;
}

/* ---- throughput ---------------------------------------------------------- */

/*
 * Returns 1 if the producer sends nothing more: it has sent all messages, or
 * the time is over. Publishes the number of its messages then.
 */
static int is_sent(const struct gang *g, struct peali_bench_queue_end *producer)
{
	if (producer->sent < producer->limit && peal_load_relaxed_dev(&g->over))
		producer->limit = producer->sent;
	if (producer->sent < producer->limit)
		return 0;
	peal_store_release_dev(&producer->told, producer->sent + 1);
	return 1;
}

/*
 * Returns the number of messages of all producers, or ~0 while it is not known.
 */
static uint64_t total(const struct gang *g)
{
	uint64_t n = 0;

	if (!peal_load_relaxed_dev(&g->over))
		return g->messages;
	for (uint32_t i = 0; i < g->n_producers; i++) {
		uint64_t told = peal_load_acquire_dev(&g->producers[i]->told);

		if (!told)
			return ~UINT64_C(0);
		n += told - 1;
	}
	return n;
}

/*
 * Returns 1 if all messages of this consumer have been received, by this
 * consumer or by another one.
 */
static int is_taken(const struct gang *g,
		    struct peali_bench_queue_end *consumer)
{
	uint64_t n = consumer->taken;

	if (g->n_consumers == 1 || g->job->shape.every)
		return n >= total(g);
	peal_store_relaxed_dev(&consumer->told, n);
	for (uint32_t i = 0; i < g->n_consumers; i++)
		if (g->consumers[i] != consumer)
			n += peal_load_relaxed_dev(&g->consumers[i]->told);
	return n >= total(g);
}

/*
 * Returns how many messages the consumer may ask for. A consumer that sleeps
 * must not wait for more messages than there will be. It takes the first
 * message alone, because the clock starts with it.
 */
static uint64_t to_take(const struct gang *g,
			const struct peali_bench_queue_end *consumer,
			uint64_t step)
{
	uint64_t left = step;

	if (!consumer->taken)
		return 1;
	if (g->n_consumers == 1 || g->job->shape.every)
		left = total(g) - consumer->taken;
	return left < step ? left : step;
}

/* Starts the clock at the first message. Sets `over` after the time budget. */
static void look_at_clock(struct member *m, uint64_t turn)
{
	struct gang *g = m->gang;

	if (!m->began_ns && m->consumer->taken) {
		m->untimed = m->consumer->taken;
		m->began_ns = peal_clock_ns();
	}
	if (turn % LOOK_EVERY == 0 && g->job->budget_ns && m->began_ns &&
	    peal_clock_ns() > m->began_ns + g->job->budget_ns)
		peal_store_relaxed_dev(&g->over, 1);
}

/* Runs in each thread: sends and receives until all messages have moved. */
static void *flow(void *argument)
{
	struct member *m = argument;
	struct gang *g = m->gang;
	const struct peali_bench_queue_kind *kind = g->job->kind;
	struct peali_bench_queue_end *p = m->producer, *c = m->consumer;
	/*
	 * A thread with both ends, or on a shared core, moves fewer messages
	 * per turn. On a shared core each message may wait for a time slice of
	 * the other thread.
	 */
	const uint64_t step =
		p && (c || g->job->placement == PEALI_PLACE_ONE_CORE) ?
			PEALI_BENCH_QUEUE_BURST :
			STEP_ALONE;
	int sent = !p, taken = !c;
	uint64_t watch;

	m->failed = arrive(m);
	watch = peali_core_watch();
	for (uint64_t turn = 1; !m->failed; turn++) {
		uint64_t moved = 0;

		if (!sent) {
			moved += kind->send(g->queues[0], p, step);
			sent = is_sent(g, p);
		}
		if (c) {
			moved += kind->take(g->queues[0], c,
					    to_take(g, c, step));
			taken = is_taken(g, c);
			if (m == g->members)
				look_at_clock(m, turn);
		}
		if (taken && sent)
			break;
		if (!moved)
			m->failed = peali_bench_queue_wait(c ? c : p);
	}
	m->ended_ns = peal_clock_ns();
	/* Producers on one core preempt each other, which is no disturbance. */
	if (c || g->job->placement != PEALI_PLACE_ONE_CORE)
		peali_core_watched(watch);
	return NULL;
}

/*
 * Returns 1 if the consumers have received each message of a producer exactly
 * once. Compares the sums of the numbers and of their squares.
 */
static int conserved(const struct gang *g, uint32_t producer, uint32_t first,
		     uint32_t n)
{
	uint64_t sent = g->producers[producer]->sent;
	uint64_t sum = 0, squares = 0;

	for (uint32_t i = first; i < first + n; i++) {
		sum += g->consumers[i]->sum[producer];
		squares += g->consumers[i]->squares[producer];
	}
	for (uint64_t i = 0; i < sent; i++) {
		sum -= i;
		squares -= i * i;
	}
	return !sum && !squares;
}

static int check_flow(const struct gang *g)
{
	const uint32_t copies = g->job->shape.every ? g->n_consumers : 1;
	uint64_t wanted = 0, taken = 0, wrong = 0, unbalanced = 0;

	for (uint32_t p = 0; p < g->n_producers; p++)
		wanted += g->producers[p]->sent * copies;
	for (uint32_t p = 0; p < g->n_producers; p++)
		if (g->producers[p]->sent < g->producers[p]->limit)
			return complain(g, "were not popped from a producer",
					1);
	for (uint32_t i = 0; i < g->n_consumers; i++) {
		taken += g->consumers[i]->taken;
		wrong += g->consumers[i]->wrong;
	}
	if (complain(g, "changed, or out of order", wrong))
		return -1;
	if (complain(g, "did not arrive",
		     taken < wanted ? wanted - taken : 0) ||
	    complain(g, "too many came", taken > wanted ? taken - wanted : 0))
		return -1;
	if (g->n_producers == 1 && g->n_consumers == 1)
		return 0; /* the order of messages was checked already */
	for (uint32_t p = 0; p < g->n_producers; p++)
		for (uint32_t k = 0; k < copies; k++)
			unbalanced +=
				!conserved(g, p, k, g->n_consumers / copies);
	return complain(g, "lost and others doubled: sums differ", unbalanced);
}

/*
 * Gives each of the two threads a consumer and a producer, up to the numbers of
 * the shape.
 */
static int cast_both(struct gang *g)
{
	int result = 0;

	for (uint32_t i = 0; i < 2; i++) {
		struct member *m =
			add_member(g, i ? g->job->cores.a : g->job->cores.b);

		if (i < g->job->shape.consumers)
			result = result || add_consumer(g, m);
		if (i < g->job->shape.producers)
			result = result || add_producer(g, m);
	}
	return result ? -1 : 0;
}

/* Adds the threads and their ends, as the placement says. Returns 0 or -1. */
static int cast(struct gang *g)
{
	struct member *m;
	int result;

	if (g->job->placement == PEALI_PLACE_BOTH)
		return cast_both(g);
	m = add_member(g, g->job->cores.b);
	result = add_consumer(g, m);
	for (uint32_t i = 0; i < g->job->shape.producers && !result; i++) {
		m = add_member(g, g->job->cores.a);
		result = add_producer(g, m);
		if (!result && g->job->placement == PEALI_PLACE_ONE_CORE)
			m->producer->gap = PEALI_GAP_YIELD;
	}
	return result;
}

static uint64_t delivered(const struct gang *g)
{
	uint64_t n = 0;

	for (uint32_t i = 0; i < g->n_consumers; i++)
		n += g->consumers[i]->taken;
	return n;
}

/*
 * Returns the rate of the messages after the clock has started, by the first
 * member's clock.
 */
static double rate_of(const struct gang *g)
{
	const struct member *m = g->members;
	const uint64_t ns = m->ended_ns - m->began_ns;

	return (double)(delivered(g) - m->untimed) * 1e9 /
	       (double)(ns ? ns : 1);
}

double peali_bench_queue_rate(const struct peali_bench_queue_job *job,
			      uint64_t messages)
{
	struct gang *g = gang_new(job, 1);
	double rate = -1;

	if (!g)
		return -1;
	g->messages = messages;
	g->each = messages / job->shape.producers;
	if (cast(g))
		peali_say("out of memory");
	else if (!gang_run(g, flow) && !check_flow(g))
		rate = rate_of(g);
	gang_free(g);
	return rate;
}

/* ---- round trips --------------------------------------------------------- */

/* Runs in the second thread: answers each message with a message. */
static void *answer(void *argument)
{
	struct member *m = argument;
	struct gang *g = m->gang;
	void *const queues[2] = { g->queues[1], g->queues[0] };
	uint64_t watch;

	m->failed = arrive(m);
	watch = peali_core_watch();
	if (!m->failed)
		g->job->kind->trips(queues, m->producer, m->consumer,
				    g->messages, 0);
	peali_core_watched(watch);
	return NULL;
}

/* The samples that ask() takes. */
struct asker {
	uint32_t batch, n_samples;
	struct peali_samples *samples;
};

/* Runs in the calling thread: sends messages and waits for the answers. */
static int ask(struct gang *g, const struct asker *asker)
{
	struct member *m = g->members;
	uint64_t watch = peali_core_watch();
	uint64_t began = peal_clock_ns();

	for (uint32_t k = 0; k < asker->n_samples; k++) {
		uint64_t now;

		if (g->job->kind->trips(g->queues, m->producer, m->consumer,
					asker->batch, 1) < asker->batch)
			return -1;
		now = peal_clock_ns();
		if (k >= asker->n_samples / 10)
			peali_samples_add(asker->samples,
					  (double)(now - began) / asker->batch);
		began = now;
	}
	peali_core_watched(watch);
	return 0;
}

static int check_trips(const struct gang *g)
{
	uint64_t taken = g->members[0].consumer->taken;
	uint64_t wrong =
		g->members[0].consumer->wrong + g->members[1].consumer->wrong;

	if (complain(g, "of round trips changed, or out of order", wrong))
		return -1;
	return complain(g, "of round trips did not arrive",
			g->messages - taken);
}

int peali_bench_queue_round_trips(const struct peali_bench_queue_job *job,
				  uint32_t batch, uint32_t n_samples,
				  struct peali_samples *samples)
{
	const struct asker asker = { batch, n_samples, samples };
	struct gang *g = gang_new(job, 2);
	struct member *m;
	int result = 0;

	if (!g)
		return -1;
	g->messages = g->each = (uint64_t)batch * n_samples;
	for (int i = 0; i < 2 && !result; i++) {
		m = add_member(g, i ? job->cores.b : job->cores.a);
		g->n_producers = g->n_consumers = 0;
		result = add_producer(g, m) || add_consumer(g, m);
	}
	m = g->members + 1;
	if (result || pthread_create(&m->thread, NULL, answer, m)) {
		peali_say("cannot start a thread for a queue");
		result = -1;
		goto free;
	}
	if (arrive(g->members) || ask(g, &asker))
		peal_store_relaxed_sys(&g->stop, 1);
	pthread_join(m->thread, NULL);
	peali_core_bind(-1);
	result = check_trips(g);
free:
	for (int i = 0; i < 2; i++) {
		free(g->members[i].producer);
		free(g->members[i].consumer);
	}
	g->n_producers = g->n_consumers = 0;
	gang_free(g);
	return result;
}

/* ---- counting ------------------------------------------------------------ */

/* As large as the first-level cache that baseline/cpu/count.py simulates. */
static volatile uint8_t cache[CACHE];

/*
 * The tool counts only inside of this function. Each call ends a part of its
 * report.
 */
PEAL_NOINLINE void peali_bench_queue_counted(
	uint64_t (*call)(void *queue, struct peali_bench_queue_end *end,
			 uint64_t n),
	void *queue, struct peali_bench_queue_end *end, uint64_t n,
	uint64_t *moved)
{
	*moved += call(queue, end, n);
}

/*
 * Removes the lines of the slots from the cache. The burst after it loads the
 * lines of the end again.
 */
static void forget(void)
{
	for (uint32_t i = 0; i < CACHE; i += LINE)
		cache[i] = 0; /* a write, because the tool drops unused reads */
}

/* Returns the number of messages that this consumer will find. */
static uint64_t waiting(const struct gang *g,
			const struct peali_bench_queue_end *consumer)
{
	uint64_t n = 0;

	for (uint32_t i = 0; i < g->n_producers; i++)
		n += g->producers[i]->sent;
	if (g->job->shape.every)
		return n - consumer->taken;
	for (uint32_t i = 0; i < g->n_consumers; i++)
		n -= g->consumers[i]->taken;
	return n;
}

/* Sends a burst outside of the counted function, then n messages inside. */
static void count_put(struct gang *g, struct peali_bench_queue_end *producer,
		      uint64_t *put)
{
	const struct peali_bench_queue_kind *kind = g->job->kind;
	const uint64_t n = COUNTED / g->n_producers;

	producer->limit += PEALI_BENCH_QUEUE_BURST + n;
	forget();
	kind->send(g->queues[0], producer, PEALI_BENCH_QUEUE_BURST);
	peali_bench_queue_counted(kind->send, g->queues[0], producer, n, put);
}

/*
 * Receives a burst outside of the counted function, then messages inside. Asks
 * for no more messages than there are, because a poll in vain would count, too.
 */
static void count_take(struct gang *g, struct peali_bench_queue_end *consumer,
		       uint64_t *taken)
{
	const struct peali_bench_queue_kind *kind = g->job->kind;
	const int last = consumer == g->consumers[g->n_consumers - 1];
	uint64_t n = COUNTED, left;

	forget();
	kind->take(g->queues[0], consumer, PEALI_BENCH_QUEUE_BURST);
	left = waiting(g, consumer);
	if (!g->job->shape.every && !last)
		n /= g->n_consumers;
	peali_bench_queue_counted(kind->take, g->queues[0], consumer,
				  left < n ? left : n, taken);
	if (g->job->shape.every || last)
		kind->take(g->queues[0], consumer, waiting(g, consumer));
}

int peali_bench_queue_count(const struct peali_bench_queue_job *job,
			    uint32_t turns, uint64_t *put_out,
			    uint64_t *taken_out)
{
	struct gang *g = gang_new(job, 1);
	uint64_t put = 0, taken = 0;
	int result = -1;

	if (!g)
		return -1;
	if (cast(g)) {
		peali_say("out of memory");
		goto free;
	}
	for (uint32_t turn = 0; turn < turns; turn++) {
		for (uint32_t i = 0; i < g->n_producers; i++)
			count_put(g, g->producers[i], &put);
		for (uint32_t i = 0; i < g->n_consumers; i++)
			count_take(g, g->consumers[i], &taken);
	}
	result = check_flow(g);
	if (!result) {
		*put_out = put;
		*taken_out = taken;
	}
free:
	gang_free(g);
	return result;
}
