/* SPDX-License-Identifier: Apache-2.0 */
#include "function.h"
#include "queues.h"
#include "stall.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <peal/abi/control.h>
#include <peal/abi/probe.h>
#include <peal/abi/program.h>
#include <peal/device/impl/worker/worker.h>
#include "runtime/host_support/cluster.h"
#include "runtime/host_support/fibers.h"

/*
 * Streams and kernels of a double. A kernel's blocks are threads. They
 * run the program's host entry, or its PTX by the PTX machine. The executable
 * has the host entry and the engine of the host backend.
 */

/* The engine of the host backend, exported by the executable. */
static struct {
	struct peali_fibers *(*create)(uint32_t lanes);
	void (*destroy)(struct peali_fibers *fibers);
	int (*run)(struct peali_fibers *fibers, peali_lane_fn fn,
		   void *context);
	void (*enter)(int cores);
	void (*leave)(void);
	void (*unrung)(void);
	void (*join)(const struct peali_host_cluster *cluster);
	void (*shift)(struct peali_clock_skew clock);
	uint64_t (*clock)(void);
} engine;

static void find_engine(void)
{
	static const char *const names[] = {
		"peali_fibers_create", "peali_fibers_destroy",
		"peali_fibers_run",    "peali_wait_enter",
		"peali_wait_leave",    "peali_wait_unrung",
		"peali_cluster_join",  "peali_clock_skew_set",
		"peal_host_clock_ns",
	};
	void *found[9];
	int i;

	for (i = 0; i < 9; i++)
		found[i] = double_exported(names[i]);
	memcpy(&engine, found, sizeof(found));
}

static pthread_once_t engine_once = PTHREAD_ONCE_INIT;

uint64_t double_clock_ns(void)
{
	return engine.clock();
}

/* ---- kernels ------------------------------------------------------------- */

struct kernel;

struct block {
	struct kernel *kernel;
	struct peali_fibers *fibers;
	uint32_t index;
	pthread_t thread;
};

struct kernel {
	peal_host_entry_fn entry;
	const struct peal_kernel_params *params;
	int device;
	uint32_t n_blocks;
	atomic_uint running;
	atomic_uint inside; /* blocks that have not reached their end */
	struct block *block;
	void *scratch; /* gets the stores of a faulty pair */
	struct double_clusters *clusters; /* NULL: none */
	struct ptx_grid *grid; /* NULL: runs host code */
	struct double_need need; /* of each block */
	struct peali_clock_skew clock;
	uint16_t *unit; /* by block; NULL: not placed */
	struct double_turn turn; /* in the hardware queue of its stream */
	struct double_watched watched;
	struct double_stream *stream;
	pthread_t watchdog; /* of a kernel with a time limit */
	int has_watchdog;
};

struct double_stream {
	struct double_stream *next;
	struct kernel *kernel; /* the latest; NULL: none */
	int device;
	int number; /* of the device's streams */
	struct double_turn copied; /* after its latest copy */
	struct double_range units; /* that its kernels use */
	atomic_int failed; /* error of its kernel, kept; 0: none */
	atomic_int dying; /* 1: its kernel is being killed, is not ready */
	struct double_graph *capture; /* records launches; NULL: they run */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct double_stream *streams;
static atomic_int resident[64]; /* number of kernels, by device */
/* local memory of a lane, by device; 0: 1024 bytes, the default of CUDA */
static atomic_int local_limit[64];
static atomic_int lost[64]; /* error of a lost device, by device */

int double_lost(int device)
{
	return device >= 0 ? atomic_load(&lost[device]) : 0;
}

int double_resident(int device)
{
	int i, n = 0;

	if (device >= 0)
		return atomic_load(&resident[device]);
	for (i = 0; i < 64; i++)
		n += atomic_load(&resident[i]);
	return n;
}

static int run_lane(void *context, uint32_t lane)
{
	struct block *b = context;

	b->kernel->entry(b->kernel->params, b->index, lane);
	return 0;
}

/* Runs a block by the engine of the host backend. */
static void run_host_code(struct block *b)
{
	struct kernel *k = b->kernel;

	engine.enter((int)sysconf(_SC_NPROCESSORS_ONLN));
	engine.unrung();
	if (k->clusters)
		engine.join(double_clusters_of(k->clusters, b->index));
	if (b->fibers)
		engine.run(b->fibers, run_lane, b);
	else
		run_lane(b, 0);
	if (k->clusters)
		double_clusters_left(k->clusters, b->index);
	engine.leave();
}

static void *block_main(void *argument)
{
	struct block *b = argument;
	struct kernel *k = b->kernel;

	pthread_setname_np(pthread_self(), "double");
	engine.shift(k->clock);
	while (!double_queue_is_turn(&k->turn))
		usleep(100);
	if (k->grid)
		ptx_grid_run_block(k->grid, b->index);
	else
		run_host_code(b);
	if (k->unit)
		double_unit_give(k->device, k->unit[b->index], &k->need);
	/* first not resident, then ended: the caller relies on this order */
	if (atomic_fetch_sub(&k->inside, 1) == 1) {
		if (k->grid) {
			double_ptx_ended(k->grid);
			double_stall_leave(&k->watched);
		}
		double_queue_leave(&k->turn);
		atomic_fetch_sub(&resident[k->device], 1);
	}
	atomic_fetch_sub(&k->running, 1);
	return NULL;
}

/* Ends the kernel at its time limit. A GPU then loses its context. */
static void *watchdog_main(void *argument)
{
	struct kernel *k = argument;
	uint64_t limit = double_clock_ns() + 1000000ull * double_watchdog_ms();

	while (atomic_load(&k->running) && double_clock_ns() < limit)
		usleep(500);
	if (!atomic_load(&k->running))
		return NULL;
	if (k->grid) {
		double_fault(k->device, DOUBLE_TIMEOUT);
	} else {
		double_kill(k->stream, DOUBLE_TIMEOUT);
		atomic_store(&lost[k->device], DOUBLE_TIMEOUT);
	}
	return NULL;
}

static int is_running(const struct double_stream *s)
{
	return s->kernel && atomic_load(&s->kernel->running) > 0;
}

static void free_kernel(struct kernel *k)
{
	uint32_t i;

	if (!k)
		return;
	for (i = 0; i < k->n_blocks; i++) {
		pthread_join(k->block[i].thread, NULL);
		if (k->block[i].fibers)
			engine.destroy(k->block[i].fibers);
	}
	if (k->has_watchdog)
		pthread_join(k->watchdog, NULL);
	double_clusters_free(k->clusters);
	if (k->grid)
		ptx_grid_destroy(k->grid);
	double_scratch_free(k->scratch);
	free(k->unit);
	free(k->block);
	free(k);
}

/* Returns the lowest number that no stream of the device has. */
static int free_number(int device)
{
	const struct double_stream *s;
	uint64_t taken = 0;
	int number = 0;

	for (s = streams; s; s = s->next)
		if (s->device == device)
			taken |= 1ull << s->number;
	while (taken & 1ull << number)
		number++;
	return number;
}

int double_stream_create(struct double_stream **out, struct double_range units)
{
	struct double_stream *s = calloc(1, sizeof(*s)), *other;
	int n = 1;

	if (!s)
		return DOUBLE_NO_MEMORY;
	s->device = double_current();
	s->units = units;
	pthread_mutex_lock(&lock);
	for (other = streams; other; other = other->next)
		n += other->device == s->device;
	if (n > double_queues())
		double_broken("%d streams on device %d: some of them wait for "
			      "each other",
			      n, s->device);
	s->number = free_number(s->device);
	s->copied = double_queue_end(s->device, double_queue_of(s->number));
	s->next = streams;
	streams = s;
	pthread_mutex_unlock(&lock);
	*out = s;
	double_count(DOUBLE_STREAM, 1);
	return 0;
}

int double_stream_destroy(struct double_stream *stream)
{
	struct double_stream **p;

	if (is_running(stream))
		double_broken("a stream is destroyed while its kernel runs");
	pthread_mutex_lock(&lock);
	for (p = &streams; *p && *p != stream; p = &(*p)->next)
		;
	if (*p)
		*p = stream->next;
	pthread_mutex_unlock(&lock);
	free_kernel(stream->kernel);
	free(stream);
	double_count(DOUBLE_STREAM, -1);
	return 0;
}

int double_stream_query(struct double_stream *stream)
{
	if (!stream)
		double_broken("the default stream waits for all others");
	if (stream->capture)
		double_broken("a question to a stream that is recorded");
	if (stream->dying)
		return DOUBLE_NOT_READY;
	if (stream->failed)
		return stream->failed;
	if (is_running(stream)) /* on a lost device, it is about to end */
		return DOUBLE_NOT_READY;
	if (!double_queue_is_turn(&stream->copied))
		return DOUBLE_NOT_READY;
	return double_lost(stream->device);
}

void double_stream_copied(struct double_stream *stream)
{
	stream->copied = double_queue_end(stream->device,
					  double_queue_of(stream->number));
}

int double_stream_wait(struct double_stream *stream)
{
	int error = double_stream_query(stream);

	if (error == DOUBLE_NOT_READY)
		double_broken("waiting for a stream whose kernel is resident");
	return error;
}

/* ---- launches ------------------------------------------------------------ */

/*
 * Applies the fault of a pair to the probe. The stores of its writer go to
 * another place, or arrive in two parts. Other kernels do not use such a pair,
 * or store no atoms of 16 bytes there. The PTX machine tears stores itself.
 */
static void mislead(struct kernel *k, struct peal_probe_params *p)
{
	int owner, fault;

	for (; p && p->magic == PEAL_PROBE_MAGIC;
	     p = (struct peal_probe_params *)(uintptr_t)p->next) {
		owner = p->role == PEAL_PROBE_WRITER ? double_owner(p->area) :
						       -1;
		if (owner < 0 || owner == k->device)
			continue;
		fault = double_link(k->device, owner).fault;
		if (fault == PEALI_LINK_LOST) {
			k->scratch = double_scratch(
				PEAL_PROBE_AREA_BYTES(p->pattern_bytes));
			p->area = (uintptr_t)k->scratch;
		} else if (fault == PEALI_LINK_SWAPPED) {
			p->area += 4096;
		} else if (fault == PEALI_LINK_TORN && !k->grid) {
			p->tears = 1;
		}
	}
}

/* Starts a thread that gets no signals of the process. */
static int start_thread(pthread_t *thread, void *(*run)(void *), void *argument)
{
	sigset_t blocked, before;
	int error;

	sigfillset(&blocked);
	sigdelset(&blocked, SIGSEGV);
	sigdelset(&blocked, SIGBUS);
	sigdelset(&blocked, SIGABRT);
	sigdelset(&blocked, SIGILL);
	sigdelset(&blocked, SIGFPE);
	sigdelset(&blocked, SIGTRAP);
	pthread_sigmask(SIG_SETMASK, &blocked, &before);
	error = pthread_create(thread, NULL, run, argument);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return error;
}

/* Prepares a kernel to run host code. */
static void use_host_code(struct kernel *k, struct double_function *function,
			  const struct double_shape *shape)
{
	uint32_t i;

	k->entry = shape->threads == 1 && function->single ? function->single :
							     function->entry;
	if (shape->cluster > 1)
		k->clusters = double_clusters_create(shape);
	for (i = 0; shape->threads > 1 && i < k->n_blocks; i++) {
		k->block[i].fibers = engine.create(shape->threads);
		if (!k->block[i].fibers)
			double_broken("no memory for %u lanes", shape->threads);
	}
}

/* Returns the clock that the code of a function reads on a device. A wrong number
 * of ns per tick makes it fast or slow. */
static struct peali_clock_skew clock_of(int device,
					const struct double_function *function)
{
	struct peali_clock_skew clock = double_clock(device);
	double ns;

	if (function->scale) {
		ns = (double)function->scale[0] +
		     (double)function->scale[1] / 18446744073709551616.0;
		clock.ppm += (int32_t)(ns * double_clock_khz() - 1e6);
	}
	return clock;
}

static struct kernel *new_kernel(struct double_function *function,
				 const struct double_shape *shape,
				 uint64_t params)
{
	struct kernel *k = calloc(1, sizeof(*k));
	uint32_t i;

	if (!k)
		return NULL;
	k->params = (const struct peal_kernel_params *)(uintptr_t)params;
	k->device = double_current();
	k->clock = clock_of(k->device, function);
	k->n_blocks = shape->blocks;
	atomic_init(&k->running, k->n_blocks);
	atomic_init(&k->inside, k->n_blocks);
	k->block = calloc(k->n_blocks, sizeof(*k->block));
	if (!k->block)
		double_broken("no memory for %u blocks", k->n_blocks);
	for (i = 0; i < k->n_blocks; i++) {
		k->block[i].kernel = k;
		k->block[i].index = i;
	}
	if (function->ptx)
		k->grid = double_ptx_grid(function->ptx, shape, params);
	else
		use_host_code(k, function, shape);
	return k;
}

/* Checks the policy of rings and mailboxes. GPU code knows one policy per
 * vendor. The host code that runs in its place knows all. */
static void check_policy(const struct peal_kernel_params *p)
{
	uint32_t wanted = double_vendor.is_cuda ? PEAL_POLICY_ATOM16 :
						  PEAL_POLICY_ATOM8;
	const struct peal_worker_state *state;
	const struct peal_mailbox *box;
	const struct peal_ring *ring;
	uint32_t i;

	for (i = 0; p->magic == PEAL_CONTROL_MAGIC && i < p->n_workers; i++) {
		state = (const struct peal_worker_state
				 *)(uintptr_t)(p->workers +
					       i * p->worker_stride);
		ring = (const struct peal_ring *)(uintptr_t)
			       state->control.view.ring;
		box = (const struct peal_mailbox
			       *)(uintptr_t)(p->mailboxes +
					     i * p->mailbox_stride);
		if (ring->policy != wanted ||
		    (p->mailboxes && box->policy != wanted))
			double_broken("worker %u has a control ring or a "
				      "mailbox that its device cannot read",
				      i);
	}
}

/* Places the blocks of a kernel. */
static void place(struct kernel *k, struct double_range units)
{
	k->unit = calloc(k->n_blocks, sizeof(*k->unit));
	if (!k->unit)
		double_broken("no memory for %u blocks", k->n_blocks);
	if (!double_units_take(k->device, units, &k->need, k->n_blocks,
			       k->unit))
		double_broken(
			"some of %u blocks on device %d wait for resident "
			"kernels: no multiprocessor has %u threads, %u "
			"registers and %u bytes of shared memory free",
			k->n_blocks, k->device, k->need.threads,
			k->need.registers, k->need.shared_bytes);
}

/*
 * Returns 1 if the grid fits the empty device. A driver checks no more: blocks
 * that find no space beside resident kernels wait.
 */
static int fits(const struct double_stream *stream,
		const struct double_need *need,
		const struct double_shape *shape)
{
	uint32_t units = stream->units.n ? stream->units.n : double_units();

	return shape->blocks <= (uint64_t)units * double_unit_blocks(need);
}

int double_limit_local(int device, size_t bytes)
{
	atomic_store(&local_limit[device], (int)bytes);
	return 0;
}

size_t double_local(int device)
{
	int limit = atomic_load(&local_limit[device]);

	return limit ? (size_t)limit : 1024;
}

/* A launch with more local memory than ever allocates it on an idle device. */
static void take_local(const struct double_function *function, int device)
{
	if ((size_t)function->local_bytes <= double_local(device))
		return;
	if (double_resident(device))
		double_broken("a launch on device %d waits for resident "
			      "kernels: it allocates %d bytes of local memory "
			      "per lane",
			      device, function->local_bytes);
	double_limit_local(device, (size_t)function->local_bytes);
}

/* A graph of one launch, or of several equal ones. The backend records no other
 * graphs. */
struct double_graph {
	struct double_function *function; /* NULL: no launch yet */
	struct double_shape shape;
	uint64_t params; /* at the time of the recording */
	int n; /* launches, one after another */
	int device;
	int executable;
};

static int note_launch(struct double_stream *stream,
		       struct double_function *function,
		       const struct double_shape *shape, void **arguments)
{
	struct double_graph *g = stream->capture;
	uint64_t params;

	memcpy(&params, arguments[0], sizeof(params));
	if (g->n++ && (g->function != function || g->params != params))
		double_broken("another launch in a graph");
	g->function = function;
	g->shape = *shape;
	g->params = params;
	return 0;
}

int double_launch(struct double_function *function,
		  const struct double_shape *shape,
		  struct double_stream *stream, void **arguments)
{
	struct double_need need;
	uint64_t params;
	struct kernel *k;
	unsigned i;

	pthread_once(&engine_once, find_engine);
	if (!stream)
		double_broken("a launch on the default stream");
	if (is_running(stream))
		double_broken("a launch behind a kernel that is resident");
	if (!shape->blocks || !shape->threads || shape->threads > 1024 ||
	    shape->shared_bytes > function->shared_most)
		return DOUBLE_INVALID;
	if (stream->capture)
		return note_launch(stream, function, shape, arguments);
	need = double_need_of(function, shape->threads, shape->shared_bytes);
	if (!fits(stream, &need, shape))
		return DOUBLE_TOO_LARGE;
	if (stream->failed || double_lost(stream->device))
		return stream->failed ? stream->failed :
					double_lost(stream->device);
	memcpy(&params, arguments[0], sizeof(params));
	free_kernel(stream->kernel);
	stream->kernel = NULL;
	k = new_kernel(function, shape, params);
	if (!k)
		return DOUBLE_NO_MEMORY;
	k->need = need;
	take_local(function, k->device);
	place(k, stream->units);
	check_policy(k->params);
	k->turn = double_queue_enter(stream->device,
				     double_queue_of(stream->number),
				     k->params->magic == PEAL_CONTROL_MAGIC);
	if (function->is_probe)
		mislead(k, (struct peal_probe_params *)(uintptr_t)params);
	atomic_fetch_add(&resident[k->device], 1);
	stream->kernel = k;
	k->watched.grid = k->grid;
	k->watched.params = k->params;
	if (k->grid)
		double_stall_watch(&k->watched);
	for (i = 0; i < k->n_blocks; i++)
		if (start_thread(&k->block[i].thread, block_main, &k->block[i]))
			double_broken("block %u of %u has no thread", i,
				      k->n_blocks);
	k->stream = stream;
	k->has_watchdog = double_watchdog_ms() &&
			  !start_thread(&k->watchdog, watchdog_main, k);
	return 0;
}

/* ---- graphs -------------------------------------------------------------- */

static struct double_graph *new_graph(void)
{
	struct double_graph *g = calloc(1, sizeof(*g));

	if (g) {
		g->device = double_current();
		double_count(DOUBLE_GRAPH, 1);
	}
	return g;
}

int double_capture_begin(struct double_stream *stream)
{
	if (!stream || stream->capture || is_running(stream))
		double_broken("a recording on the default stream, in another "
			      "one or behind a kernel");
	stream->capture = new_graph();
	return stream->capture ? 0 : DOUBLE_NO_MEMORY;
}

int double_capture_end(struct double_stream *stream, struct double_graph **out)
{
	if (!stream->capture)
		double_broken("the end of a recording that did not begin");
	*out = stream->capture;
	stream->capture = NULL;
	return 0;
}

int double_graph_instantiate(struct double_graph **out,
			     const struct double_graph *graph)
{
	struct double_graph *g;

	if (graph->executable || !graph->function)
		return DOUBLE_INVALID;
	g = new_graph();
	if (!g)
		return DOUBLE_NO_MEMORY;
	*g = *graph;
	g->executable = 1;
	*out = g;
	return 0;
}

int double_graph_destroy(struct double_graph *graph)
{
	free(graph);
	double_count(DOUBLE_GRAPH, -1);
	return 0;
}

int double_graph_launch(struct double_graph *executable,
			struct double_stream *stream)
{
	void *arguments[] = { &executable->params };
	int error = 0, i;

	if (!executable->executable || executable->device != double_current())
		double_broken("a graph that is not executable here");
	for (i = 0; i < executable->n && !error; i++) {
		while (i && is_running(stream)) /* a stream runs one */
			usleep(1);
		error = double_launch(executable->function, &executable->shape,
				      stream, arguments);
	}
	return error;
}

/* ---- a kernel that dies -------------------------------------------------- */

/* Ends a kernel of the probe: sets its time limit to 0. */
static void end_probe(struct double_stream *stream, struct peal_probe_params *p)
{
	for (; p && p->magic == PEAL_PROBE_MAGIC;
	     p = (struct peal_probe_params *)(uintptr_t)p->next)
		peal_store_relaxed_sys(&p->limit_ns, 0);
	while (is_running(stream))
		usleep(200);
}

/* Ends the kernel's threads, and restores the phases that they reported. */
static void end_workers(struct double_stream *stream,
			const struct peal_kernel_params *p)
{
	struct peal_kernel_control *control =
		(struct peal_kernel_control *)(uintptr_t)p->control;
	struct peal_worker_status *status =
		(struct peal_worker_status *)(uintptr_t)p->status;
	uint64_t *phase = calloc(p->n_workers, sizeof(*phase));
	uint32_t i;

	for (i = 0; i < p->n_workers; i++)
		phase[i] = peal_load_relaxed_sys(&status[i].phase);
	peal_store_release_sys(&control->stop, PEAL_STOP_ABORT);
	while (is_running(stream))
		usleep(200);
	for (i = 0; i < p->n_workers; i++)
		peal_store_release_sys(&status[i].phase, phase[i]);
	free(phase);
}

/* Ends the kernel's threads where they are, as a GPU does. */
static void end_grid(struct double_stream *stream)
{
	ptx_grid_stop(stream->kernel->grid);
	while (is_running(stream))
		usleep(200);
}

void double_kill(struct double_stream *stream, int error)
{
	const struct peal_kernel_params *p =
		stream->kernel ? stream->kernel->params : NULL;

	stream->dying = 1;
	if (is_running(stream) && stream->kernel->grid)
		end_grid(stream);
	else if (is_running(stream) && p->magic == PEAL_CONTROL_MAGIC)
		end_workers(stream, p);
	else if (is_running(stream))
		end_probe(stream, (struct peal_probe_params *)(uintptr_t)p);
	stream->failed = error;
	stream->dying = 0;
}

void double_fault(int device, int error)
{
	struct double_stream *s;

	atomic_store(&lost[device], error);
	pthread_mutex_lock(&lock);
	for (s = streams; s; s = s->next)
		if (s->device == device && s->kernel && s->kernel->grid)
			ptx_grid_stop(s->kernel->grid);
	pthread_mutex_unlock(&lock);
}

/* For tests: a device and all its kernels are lost. error 0: none is lost. */
__attribute__((visibility("default"))) void peal_driver_double_lose(int device,
								    int error);
void peal_driver_double_lose(int device, int error)
{
	struct double_stream *s;

	pthread_mutex_lock(&lock);
	for (s = streams; s; s = s->next)
		if (s->device == device && is_running(s))
			double_kill(s, error);
	pthread_mutex_unlock(&lock);
	atomic_store(&lost[device], error);
}
