/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The benchmark `collectives`, timed by the host. Rows `all-reduce` measure an
 * all-reduce of a group from the host's call to its return. All members have
 * the result then. Their baselines:
 *
 * - A barrier of the same group, for small messages.
 * - The same sums and copies in a plain loop per core, for large messages.
 * - MPI_Allreduce of Open MPI, with a process per member.
 *
 * Rows `send` measure a message from a host buffer to an actor and back to
 * another buffer. They report half of the time. Baseline: MPI_Send and MPI_Recv
 * between two processes.
 */
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include <peal/abi/collective.h>
#include <peal/communicator.h>
#include <peal/memory.h>
#include <peal/peer.h>

#include "bench/bench.h"
#include "bench/runner.h"
#include "bench/baseline/mpi.h"
#include "bench/options.h"
#include "bench/report.h"
#include "bench/samples.h"
#include "bench/fixture.h"

#define SECONDS 16
#define DEVICES 4
#define CORES_MOST 16
#define BATCH 16 /* small collectives in a round */

enum { BARRIER, PLAIN, MPI, MPI_SEND };

struct row {
	uint64_t bytes;
	int peer;
	uint32_t algorithm;
};

static const struct row rows[] = {
	{ 4, BARRIER, PEAL_ALGORITHM_EXCHANGE },
	{ 4, BARRIER, PEAL_ALGORITHM_TREE },
	{ PEAL_EXCHANGE_BYTES, BARRIER, PEAL_ALGORITHM_EXCHANGE },
	{ PEAL_EXCHANGE_BYTES, BARRIER, PEAL_ALGORITHM_TREE },
	{ 1 << 20, PLAIN, PEAL_ALGORITHM_RING },
	{ 64 << 20, PLAIN, PEAL_ALGORITHM_RING },
	{ 8, MPI, 0 },
	{ PEAL_EXCHANGE_BYTES, MPI, 0 },
	{ 64 << 10, MPI, 0 },
	{ 1 << 20, MPI, 0 },
	{ 64 << 20, MPI, 0 },
	{ 8, MPI_SEND, 0 },
	{ PEAL_EXCHANGE_BYTES, MPI_SEND, 0 },
	{ 64 << 10, MPI_SEND, 0 },
	{ 1 << 20, MPI_SEND, 0 },
	{ 64 << 20, MPI_SEND, 0 },
};
#define ROWS (int)(sizeof(rows) / sizeof(rows[0]))

struct collectives {
	struct peali_bench_options options;
	struct peali_report report;
	struct peali_fixture fixture;
	uint64_t row_ns;
	int n_rows;
	const struct row *row; /* current row */
	uint64_t bytes; /* bytes of the row */
	uint32_t n; /* members */
	struct peali_mpi *mpi; /* MPI processes; NULL: no_mpi has the reason */
	const char *no_mpi;
	struct peal_comm *group;
	uint64_t in[DEVICES], out[DEVICES]; /* addresses on the members */
	/* host buffers: elements and results */
	uint32_t *from[DEVICES], *to[DEVICES];
	int port; /* port of the host that leads to the actor `bounce` */
	uint32_t round;
};

static int is_small(const struct collectives *c)
{
	return c->bytes <= PEAL_EXCHANGE_BYTES;
}

static int is_send(const struct collectives *c)
{
	return c->row->peer == MPI_SEND;
}

/* Returns 1 if the current row has a baseline. */
static int has_peer(const struct collectives *c)
{
	if (c->row->peer == MPI || is_send(c))
		return c->mpi != NULL;
	return c->row->peer == BARRIER || c->fixture.on_host;
}

/* ---- baselines ----------------------------------------------------------- */

struct share {
	const struct collectives *c;
	uint64_t first, end; /* elements */
	pthread_t thread;
};

/*
 * Adds up a share of the elements and copies the sums to all results. Works in
 * blocks, so that the copies read from the cache.
 */
static void *sum_share(void *argument)
{
	const struct share *s = argument;
	const struct collectives *c = s->c;
	uint64_t at, n, i;

	for (at = s->first; at < s->end; at += n) {
		uint32_t *to = c->to[0] + at;

		n = s->end - at < 4096 ? s->end - at : 4096;
		memcpy(to, c->from[0] + at, 4 * n);
		for (uint32_t d = 1; d < c->n; d++) {
			const uint32_t *from = c->from[d] + at;

			for (i = 0; i < n; i++)
				to[i] += from[i];
		}
		for (uint32_t d = 1; d < c->n; d++)
			memcpy(c->to[d] + at, to, 4 * n);
	}
	return NULL;
}

/*
 * Returns ns of the sums and copies in plain loops, or a negative value after
 * an error.
 */
static double run_plain(struct collectives *c)
{
	struct share shares[CORES_MOST];
	uint64_t count = c->bytes / 4, began = peali_bench_now_ns();
	int cores = peali_report_cores(), i, n = 0;

	if (cores > CORES_MOST)
		cores = CORES_MOST;
	for (i = 0; i < cores; i++) {
		struct share *s = &shares[i];

		s->c = c;
		s->first = count * (uint64_t)i / (uint64_t)cores;
		s->end = count * (uint64_t)(i + 1) / (uint64_t)cores;
		if (i + 1 == cores)
			sum_share(s);
		else if (pthread_create(&s->thread, NULL, sum_share, s))
			break;
		else
			n++;
	}
	while (n-- > 0)
		pthread_join(shares[n].thread, NULL);
	return i < cores ? -1 : (double)(peali_bench_now_ns() - began);
}

/* ---- ours ---------------------------------------------------------------- */

/* Runs one collective. Returns ns, or a negative value after an error. */
static double run_one(struct collectives *c, uint32_t kind)
{
	const struct peal_collective one = {
		.size = sizeof(one),
		.kind = kind,
		.element = PEAL_I32,
		.reduction = kind == PEAL_ALL_REDUCE ? PEAL_SUM : 0,
		.count = c->bytes / 4,
		.algorithm = c->row->algorithm,
		.in = c->in,
		.out = c->out,
	};
	uint64_t began = peali_bench_now_ns();

	if (peal_collective_run(c->group, &one, PEALI_FIXTURE_WAIT_NS) < 0)
		return -peali_say_error("run a collective");
	return (double)(peali_bench_now_ns() - began);
}

/*
 * Sends a message and receives it back. Returns half of the ns, or a negative
 * value after an error.
 */
static double run_send(struct collectives *c)
{
	uint64_t began = peali_bench_now_ns();
	struct peal_received got;

	if (peal_send(c->fixture.host, (uint32_t)c->port, PEALI_BENCH_DATA,
		      c->from[0], c->bytes, PEALI_FIXTURE_WAIT_NS, NULL) < 0 ||
	    peal_receive(c->fixture.host, c->to[0], c->bytes, &got,
			 PEALI_FIXTURE_WAIT_NS) < 0)
		return -peali_say_error("send a message and receive it back");
	return (double)(peali_bench_now_ns() - began) / 2;
}

/* Returns a member's element i in this round. */
static uint32_t word(const struct collectives *c, uint32_t rank, uint64_t i)
{
	return (uint32_t)(i * 2654435761u) + c->round * 97 + rank * 1299709;
}

/*
 * Copies a member's input from a host buffer, or its output to a host buffer.
 */
static int copy(struct collectives *c, uint32_t rank, int out, uint32_t *host)
{
	uint64_t there = out ? c->out[rank] : c->in[rank];
	uint64_t here = (uint64_t)(uintptr_t)host;
	int device = (int)rank,
	    result = out ? peal_peer_copy(c->fixture.runtime, PEAL_HOST_MEMORY,
					  here, device, there, c->bytes) :
			   peal_peer_copy(c->fixture.runtime, device, there,
					  PEAL_HOST_MEMORY, here, c->bytes);

	return result < 0 ? -peali_say_error("copy elements") : 0;
}

/* Makes new elements for all members and for the baseline. */
static int fill_in(struct collectives *c)
{
	uint64_t count = c->bytes / 4, i;

	c->round++;
	for (uint32_t d = 0; d < c->n; d++) {
		for (i = 0; i < count; i++)
			c->from[d][i] = word(c, d, i);
		if (!is_send(c) && copy(c, d, 0, c->from[d]))
			return -1;
	}
	return 0;
}

/* Returns the correct result of element i. */
static uint32_t due(const struct collectives *c, uint64_t i)
{
	uint32_t sum = 0, d;

	if (is_send(c)) /* the actor inverts all bits */
		return ~word(c, 0, i);
	for (d = 0; d < c->n; d++)
		sum += word(c, d, i);
	return sum;
}

/* Checks all elements in to[0]. `name` names them in the error text. */
static int check_all(const struct collectives *c, const char *name)
{
	uint64_t count = c->bytes / 4, i;

	for (i = 0; i < count; i++)
		if (c->to[0][i] != due(c, i)) {
			peali_say("element %llu of %s is wrong",
				  (unsigned long long)i, name);
			return -1;
		}
	return 0;
}

/*
 * Checks every element of every member. The copies from the members overwrite
 * the result of the plain loop, so checks that first.
 */
static int check(struct collectives *c)
{
	uint32_t m;

	if (is_send(c))
		return check_all(c, "received messages");
	if (c->row->peer == PLAIN && has_peer(c) &&
	    check_all(c, "the plain loop"))
		return -1;
	for (m = 0; m < c->n; m++)
		if (copy(c, m, 1, c->to[0]) || check_all(c, "a member"))
			return -1;
	return 0;
}

/* Runs the baseline n times and adds its samples. */
static int run_peer(struct collectives *c, int n, struct peali_samples *peer)
{
	double ns[BATCH];
	int i;

	if (c->row->peer == MPI || is_send(c)) {
		if (peali_mpi_run(c->mpi,
				  is_send(c) ? PEALI_MPI_SEND :
					       PEALI_MPI_ALL_REDUCE,
				  c->bytes, (uint32_t)n, ns))
			return -1;
	} else {
		for (i = 0; i < n; i++) {
			ns[i] = c->row->peer == BARRIER ?
					run_one(c, PEAL_COMM_BARRIER) :
					run_plain(c);
			if (ns[i] < 0)
				return -1;
		}
	}
	for (i = 0; i < n; i++)
		peali_samples_add(peer, ns[i]);
	return 0;
}

static int run_round(void *context, struct peali_samples *ours,
		     struct peali_samples *peer)
{
	struct collectives *c = context;
	int n = is_small(c) ? BATCH : c->bytes <= 1 << 20 ? 4 : 1, i;
	double ns = 0, other = NAN;

	if (fill_in(c) || (has_peer(c) && run_peer(c, n, peer)))
		return -1;
	for (i = 0; i < n; i++) {
		ns = is_send(c) ? run_send(c) : run_one(c, PEAL_ALL_REDUCE);
		if (ns < 0)
			return -1;
		peali_samples_add(ours, ns);
	}
	ns = peali_samples_open_median(ours);
	if (has_peer(c))
		other = peali_samples_open_median(peer);
	peali_samples_close(peer, 0, other / ns);
	peali_samples_close(ours, 0, NAN);
	return check(c);
}

/* ---- rows ---------------------------------------------------------------- */

static int build_send(struct collectives *c)
{
	const struct peal_link_options options = {
		.size = sizeof(options),
		.capacity = 4,
		.message_bytes = c->bytes,
		.slab_bytes = 2 * PEAL_SLAB_ROUND(c->bytes),
	};
	int kernel = peali_fixture_launch(&c->fixture, 0,
					  &peal_program_peal_bench, 1);
	uint64_t bounce = kernel < 0 ? 0 :
				       peali_fixture_spawn(&c->fixture, kernel,
							   "bounce", 0);

	if (!bounce)
		return -1;
	c->port = peali_fixture_from_host_by(&c->fixture, bounce, &options);
	if (c->port < 0 ||
	    peali_fixture_connect(&c->fixture, bounce, 0,
				  peal_endpoint_address(c->fixture.host),
				  &options) < 0)
		return -1;
	return fill_in(c) || run_send(c) < 0 ? -1 : 0;
}

static int build_comm(struct collectives *c)
{
	const struct peal_comm_options options = {
		.size = sizeof(options),
		.lanes = c->fixture.lanes,
	};
	int devices[DEVICES];

	for (uint32_t i = 0; i < c->n; i++) {
		devices[i] = (int)i;
		if (peal_memory_alloc(c->fixture.runtime, (int)i, c->bytes,
				      &c->in[i]) < 0 ||
		    peal_memory_alloc(c->fixture.runtime, (int)i, c->bytes,
				      &c->out[i]) < 0)
			return -peali_say_error("allocate memory of a device");
	}
	if (peal_comm_create(c->fixture.runtime, devices, c->n, &options,
			     &c->group) < 0)
		return -peali_say_error("create a group");
	/* the first collective touches its memory first, which is slower */
	return fill_in(c) || run_one(c, PEAL_ALL_REDUCE) < 0 ? -1 : 0;
}

static int build(void *context)
{
	struct collectives *c = context;
	uint32_t all = (uint32_t)c->fixture.n_devices;

	if (all > DEVICES)
		all = DEVICES;
	c->n = is_send(c) ? 1 : all;
	if ((c->row->peer == MPI || is_send(c)) && !c->mpi && !c->no_mpi &&
	    c->fixture.on_host)
		peali_mpi_open(all, &c->mpi, &c->no_mpi);
	for (uint32_t i = 0; i < c->n; i++) {
		c->from[i] = malloc(c->bytes);
		c->to[i] = malloc(c->bytes);
		if (!c->from[i] || !c->to[i]) {
			peali_say("no memory for %llu bytes",
				  (unsigned long long)c->bytes);
			return -1;
		}
		memset(c->to[i], 0, c->bytes);
	}
	return is_send(c) ? build_send(c) : build_comm(c);
}

static int take_down(void *context)
{
	struct collectives *c = context;
	int failed = 0;

	if (peal_comm_destroy(c->group) < 0)
		failed = peali_say_error("destroy a group");
	c->group = NULL;
	for (uint32_t i = 0; i < c->n; i++) {
		if (c->in[i] &&
		    peal_memory_free(c->fixture.runtime, (int)i, c->in[i]) < 0)
			failed = peali_say_error("free memory");
		if (c->out[i] &&
		    peal_memory_free(c->fixture.runtime, (int)i, c->out[i]) < 0)
			failed = peali_say_error("free memory");
		free(c->from[i]);
		free(c->to[i]);
		c->from[i] = c->to[i] = NULL;
		c->in[i] = c->out[i] = 0;
	}
	return failed ? -1 : 0;
}

static const char *const algorithms[] = { "default", "ring", "exchange",
					  "tree" };
static const char *const peers[] = { "a barrier of the group",
				     "the sums and copies, a loop per core",
				     "MPI_Allreduce of Open MPI",
				     "MPI_Send, MPI_Recv of Open MPI" };

static void fill(void *context, const struct peali_samples *ours,
		 const struct peali_samples *peer)
{
	struct collectives *c = context;
	json_t *cells = peali_report_row(&c->report,
					 is_send(c) ? "send" : "all-reduce");
	const char *why = c->no_mpi ? c->no_mpi : "no baseline yet";

	peali_row_uint(cells, "devices", c->n);
	peali_row_uint(cells, "bytes", c->bytes);
	peali_row_text(cells, "algorithm", "%s", algorithms[c->row->algorithm]);
	peali_row_text(cells, "timed_by", "host");
	peali_fixture_cells(&c->fixture, 1, cells);
	peali_samples_row_durations(ours, cells, "collective_ns");
	if (has_peer(c)) {
		peali_row_real(cells, "versus_ns_p50",
			       peali_samples_spread(peer).median);
		peali_samples_row_versus(peer, cells, peers[c->row->peer],
					 NULL);
	} else {
		peali_row_null(cells, "versus_ns_p50", "%s", why);
		peali_samples_row_versus(peer, cells, NULL, why);
	}
}

static int run_row(struct collectives *c, const struct row *row)
{
	char label[64];
	const struct peali_runner_row runner = {
		.benchmark = "collectives",
		.label = label,
		.options = &c->options,
		.fixture = &c->fixture,
		.for_ns = c->row_ns,
		.bytes = (uint32_t)row->bytes,
		.alone = c->n_rows == 1,
		.build = build,
		.round = run_round,
		.fill = fill,
		.close = take_down,
		.context = c,
	};

	c->row = row;
	c->bytes = row->bytes;
	snprintf(label, sizeof(label), "%s-%llu-%s%s",
		 is_send(c) ? "send" : "all-reduce",
		 (unsigned long long)row->bytes, algorithms[row->algorithm],
		 row->peer == MPI || is_send(c) ? "-mpi" : "");
	return peali_runner_row(&runner);
}

/* Runs the selected rows, or only counts them. Returns their number, or -1. */
static int each_row(void *context, int count_only)
{
	struct collectives *c = context;
	int n = 0;

	for (int i = 0; i < ROWS; i++) {
		if (!peali_bench_wanted(&c->options, PEAL_ROUTE_NONE,
					rows[i].bytes))
			continue;
		/* processes of Open MPI are no baseline for GPUs */
		if (!count_only && rows[i].peer >= MPI && !c->fixture.on_host)
			continue;
		if (!count_only && run_row(c, &rows[i]))
			return -1;
		n++;
	}
	return n;
}

static const struct peali_column columns[] = {
	{ "subject", "subject", 0 },
	{ "devices", "devices", 0 },
	{ "bytes", "size", PEALI_AS_SIZE },
	{ "algorithm", "algorithm", 0 },
	{ "collective_ns_p50", "p50", PEALI_AS_NS },
	{ "collective_ns_p90", "p90", PEALI_AS_NS },
	{ "collective_ns_max", "max", PEALI_AS_NS },
	{ "n_samples", "samples", 0 },
	PEALI_COLUMNS_VERSUS("versus_ns_p50", "its p50", PEALI_AS_NS),
};

static int run(int argc, char **argv, int json)
{
	struct collectives c = { 0 };
	const struct peali_runner runner = {
		.benchmark = "collectives",
		.title = "an all-reduce of a group, by the host's clock; "
			 "ratio above 1: faster than the baseline",
		.columns = columns,
		.devices = DEVICES,
		PEALI_RUNNER_STATE(c),
		.about = "All-reduces of a group of devices, small and large.",
		.seconds = SECONDS,
		.each_row = each_row,
	};
	int status = peali_runner_main(&runner, argc, argv, json);

	peali_mpi_close(c.mpi);
	return status;
}

const struct peali_bench peali_bench_collectives = {
	.name = "collectives",
	.help = "all-reduces of a group of devices",
	.run = run,
};
