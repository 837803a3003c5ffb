/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The set-up of the probe: see probe_setup.h. The kernels are in
 * ringkernels/programs/probe.c.
 */
#include "p2p/probe_setup.h"

#include "p2p/peer_internal.h"
#include "p2p/probe.h"
#include "runtime/base/env.h"
#include "runtime/base/error.h"
#include "runtime/device/backend.h"

#include <string.h>

#include <peal/abi/program.h>
#include <peal/device/impl/base/host_support.h>

extern const struct peal_program peal_program_peal_probe;

#define MESSAGES 10240u /* stamps of a verification */
#define PATTERN_BYTES PEALI_SETUP_PATTERN_BYTES
/* The system maps each new page of an emulated device when a thread touches the
 * page first. Many pages would take most of the time of a verification. */
#define PATTERN_BYTES_EMULATED (PATTERN_BYTES / 16)
#define LANES_MAX 256u
/* Changes of the slot under pressure, about 1 us each on a GPU (estimate). An
 * emulated device takes a core from other work, and cannot tear. */
#define CHANGES 1024u
#define CHANGES_EMULATED 32u

/*
 * Time for a store to become visible in a peer's memory. Working pairs need
 * microseconds. The time is short because many pairs may be broken.
 */
#define VISIBLE_LIMIT_NS 25000000u
/* Least extra wait beyond the time limit that the kernels apply themselves. */
#define SLACK_MIN_NS 5000000000u
/* Time to wait for one kernel before a check of the other kernel. */
#define TURN_NS 10000000u

#define CALL "peal_topology_pair"

const struct peal_program *peali_probe_program(void)
{
	return &peal_program_peal_probe;
}

/*
 * The block of each side: parameters of the jobs (there, back), two scratch
 * words per job, the pong word.
 */
#define BACK_OFFSET PEAL_SHARED_LINE
#define SCRATCH_OFFSET (2 * PEAL_SHARED_LINE)
#define SCRATCH_BYTES 16
#define PONG_OFFSET (3 * PEAL_SHARED_LINE)
#define BLOCK_BYTES (4 * PEAL_SHARED_LINE)
/* The host memory: words (there, back), the bells of all workers, the area. */
#define WORDS_BYTES (3 * PEAL_SHARED_LINE)
#define BELLS_OFFSET (2 * WORDS_BYTES)
#define HOST_AREA_OFFSET 4096
#define AREA_BYTES PEAL_PROBE_AREA_BYTES(PATTERN_BYTES)

_Static_assert(sizeof(struct peal_probe_params) <= BACK_OFFSET, "block");
_Static_assert(sizeof(struct peal_probe_words) <= WORDS_BYTES, "host block");
_Static_assert(BELLS_OFFSET + 4 * sizeof(struct peal_bell) <= HOST_AREA_OFFSET,
	       "host block");
_Static_assert(MESSAGES % PEAL_PROBE_SLOTS == 0 && MESSAGES >= 10000, "laps");

/**
 * Directions and sides of a set-up. In direction THERE, side 0 (`from`) writes.
 */
enum { THERE, BACK };

/* ---- open and close ------------------------------------------------------ */

static int take(struct peali_probe_setup *setup, enum peali_memory_kind kind,
		int local, uint64_t bytes, struct peali_memory *out)
{
	int r = setup->backend->ops->alloc(setup->backend, kind, local, bytes,
					   out);

	if (!r)
		setup->taken[setup->n_taken++] = out;
	return r;
}

static int take_memory(struct peali_probe_setup *setup)
{
	uint64_t host_bytes = HOST_AREA_OFFSET;
	int side, r = 0;

	if (setup->needs & PEALI_SETUP_HOST)
		host_bytes += AREA_BYTES;
	for (side = 0; side < 2 && !r; side++)
		r = take(setup, PEALI_MEMORY_DEVICE, setup->local[side],
			 BLOCK_BYTES, &setup->block[side]);
	if (!r)
		r = take(setup, PEALI_MEMORY_DEVICE, setup->local[1],
			 AREA_BYTES, &setup->area[THERE]);
	if (!r && (setup->needs & PEALI_SETUP_BOTH))
		r = take(setup, PEALI_MEMORY_DEVICE, setup->local[0],
			 AREA_BYTES, &setup->area[BACK]);
	if (!r)
		r = take(setup, PEALI_MEMORY_HOST, PEALI_HOST, host_bytes,
			 &setup->host);
	return r;
}

/* Loads the program on both devices, before either has a resident kernel. */
static int load_program(struct peali_probe_setup *setup)
{
	int side, r = 0;

	for (side = 0; side < 2 && !r; side++)
		r = setup->backend->ops->load(setup->backend,
					      setup->local[side],
					      &peal_program_peal_probe);
	return r;
}

static int take_access(struct peali_probe_setup *setup)
{
	struct peali_peers *peers = setup->peers;
	int r, back = 0;

	pthread_mutex_lock(&peers->lock);
	r = peali_pair_take(peers, setup->from, setup->to, PEALI_USE_PROBE,
			    CALL);
	setup->held = !r;
	if (!r && (setup->needs & (PEALI_SETUP_PONG | PEALI_SETUP_BOTH))) {
		back = peali_pair_take(peers, setup->to, setup->from,
				       PEALI_USE_PROBE, CALL);
		setup->held_back = !back;
	}
	pthread_mutex_unlock(&peers->lock);
	/* Without access back, answers go through the host. */
	return !r && (setup->needs & PEALI_SETUP_BOTH) ? back : r;
}

static uint64_t view_of(const struct peali_probe_setup *setup, int viewer,
			const struct peali_memory *memory)
{
	return setup->backend->ops->view(setup->backend, viewer, memory);
}

/* The policy of links, and the widest atoms that they can have. */
static void choose_policies(struct peali_probe_setup *setup)
{
	const struct peali_backend_ops *ops = setup->backend->ops;

	setup->policy = (uint32_t)ops->default_policy(setup->backend);
	setup->atom_policy = ops->policies(setup->backend) &
					     1u << PEAL_POLICY_ATOM16 ?
				     PEAL_POLICY_ATOM16 :
				     PEAL_POLICY_ATOM8;
}

void peali_probe_setup_narrow(struct peali_probe_setup *setup)
{
	setup->atom_policy = PEAL_POLICY_ATOM8;
	if (setup->policy == PEAL_POLICY_ATOM16)
		setup->policy = PEAL_POLICY_ATOM8;
}

int peali_probe_setup_open(struct peali_peers *peers, int from, int to,
			   uint32_t needs, struct peali_probe_setup *setup)
{
	const struct peali_device *device = peers->devices->device;
	struct peal_device_info info;
	uint64_t host;
	int r;

	memset(setup, 0, sizeof(*setup));
	setup->peers = peers;
	setup->from = from;
	setup->to = to;
	setup->needs = needs;
	setup->backend = device[from].backend;
	setup->local[0] = device[from].local;
	setup->local[1] = device[to].local;
	setup->seed = peal_clock_ns();
	choose_policies(setup);
	memset(&info, 0, sizeof(info));
	r = setup->backend->ops->device_info(setup->backend, device[from].local,
					     &info);
	if (r < 0)
		return r;
	/* Emulated devices use one lane, not as many fibers. */
	setup->emulated = info.emulated;
	setup->lanes = info.emulated		  ? 1 :
		       info.max_lanes < LANES_MAX ? info.max_lanes :
						    LANES_MAX;
	r = load_program(setup);
	if (!r)
		r = take_access(setup);
	if (!r)
		r = take_memory(setup);
	if (r < 0) {
		peali_probe_setup_close(setup);
		return r;
	}
	host = view_of(setup, PEALI_HOST, &setup->host);
	setup->words = (void *)(uintptr_t)host;
	setup->words_back = (void *)(uintptr_t)(host + WORDS_BYTES);
	return 0;
}

void peali_probe_setup_close(struct peali_probe_setup *setup)
{
	struct peali_peers *peers = setup->peers;

	if (setup->hung)
		return;
	while (setup->n_taken)
		setup->backend->ops->free(setup->backend,
					  setup->taken[--setup->n_taken]);
	pthread_mutex_lock(&peers->lock);
	if (setup->held_back)
		peali_pair_give(peers, setup->to, setup->from, PEALI_USE_PROBE);
	if (setup->held)
		peali_pair_give(peers, setup->from, setup->to, PEALI_USE_PROBE);
	pthread_mutex_unlock(&peers->lock);
}

/* ---- parameters ---------------------------------------------------------- */

/* Returns the bell of a side's worker for a direction. */
static uint64_t bell_of(const struct peali_probe_setup *setup, int viewer,
			int side, int way)
{
	return view_of(setup, viewer, &setup->host) + BELLS_OFFSET +
	       (uint64_t)(2 * side + way) * sizeof(struct peal_bell);
}

/* Clears the last job's data in the memory of a side: block, ping, slots. */
static int wipe_side(struct peali_probe_setup *setup, int side)
{
	static const uint8_t zero[PEAL_PROBE_PATTERN_OFFSET];
	const struct peali_backend_ops *ops = setup->backend->ops;
	struct peali_place to, from = { PEALI_HOST, (uintptr_t)zero };
	const struct peali_memory *area = &setup->area[!side];
	int r;

	to.device = setup->local[side];
	to.address = view_of(setup, to.device, &setup->block[side]);
	r = ops->copy(setup->backend, to, from, BLOCK_BYTES);
	if (r < 0 || !area->bytes)
		return r;
	to.address = view_of(setup, to.device, area);
	return ops->copy(setup->backend, to, from, sizeof(zero));
}

/* Clears the last job's data. New memory is zero already. */
static int wipe(struct peali_probe_setup *setup)
{
	uint64_t bytes = HOST_AREA_OFFSET;
	int side, r = 0;

	if (setup->needs & PEALI_SETUP_HOST)
		bytes += PEAL_PROBE_PATTERN_OFFSET;
	if (setup->used)
		memset(setup->words, 0, bytes);
	for (side = 0; side < 2 && !r && setup->used; side++)
		r = wipe_side(setup, side);
	setup->used = 1;
	return r;
}

static void fill_params(const struct peali_probe_setup *setup, int side,
			int way, struct peali_probe_routes ways,
			struct peal_probe_params *p)
{
	int viewer = setup->local[side];
	uint64_t host = view_of(setup, viewer, &setup->host);
	uint64_t block = view_of(setup, viewer, &setup->block[side]);

	p->magic = PEAL_PROBE_MAGIC;
	p->role = side == way ? PEAL_PROBE_WRITER : PEAL_PROBE_READER;
	p->words = host + (uint64_t)way * WORDS_BYTES;
	p->area = ways.area_in_host ? host + HOST_AREA_OFFSET :
				      view_of(setup, viewer, &setup->area[way]);
	p->pong = p->words + offsetof(struct peal_probe_words, pong);
	if (ways.pong_in_peer)
		p->pong =
			view_of(setup, viewer, &setup->block[0]) + PONG_OFFSET;
	p->scratch = block + SCRATCH_OFFSET + (uint64_t)way * SCRATCH_BYTES;
	p->bell = bell_of(setup, viewer, side, way);
	p->partner_bell = bell_of(setup, viewer, !side, way);
	p->seed = setup->seed + (uint64_t)way;
	p->visible_limit_ns = VISIBLE_LIMIT_NS;
	p->n_messages = MESSAGES;
	p->batch = PEALI_SETUP_BATCH;
	p->lanes = setup->lanes;
	p->policy = setup->policy;
	p->atom_policy = (uint16_t)setup->atom_policy;
	p->n_changes = setup->emulated ? CHANGES_EMULATED : CHANGES;
}

/* ---- running ------------------------------------------------------------- */

/** A job for both kernels. */
struct order {
	enum peal_probe_job job;
	struct peali_probe_routes ways;
	uint64_t limit_ns;
};

/* Returns the bytes that a job writes at a time. */
static uint64_t pattern_bytes(const struct peali_probe_setup *setup,
			      const struct order *order)
{
	return setup->emulated && order->job == PEAL_PROBE_VERIFY ?
		       PATTERN_BYTES_EMULATED :
		       PATTERN_BYTES;
}

/* Returns the directions that an order covers, and the workers of a kernel. */
static int n_ways(const struct peali_probe_setup *setup,
		  const struct order *order)
{
	return order->job == PEAL_PROBE_VERIFY &&
			       (setup->needs & PEALI_SETUP_BOTH) ?
		       2 :
		       1;
}

/* Copies the parameters of a side's workers to the side's block. */
static int send_params(struct peali_probe_setup *setup, int side,
		       const struct order *order, uint64_t block)
{
	uint8_t image[SCRATCH_OFFSET] = { 0 };
	struct peali_place to = { setup->local[side], block };
	struct peali_place from = { PEALI_HOST, (uintptr_t)image };
	struct peal_probe_params p;
	int way, n = n_ways(setup, order);

	for (way = THERE; way < n; way++) {
		memset(&p, 0, sizeof(p));
		fill_params(setup, side, way, order->ways, &p);
		p.job = (uint32_t)order->job;
		p.limit_ns = order->limit_ns;
		p.pattern_bytes = pattern_bytes(setup, order);
		if (way + 1 < n)
			p.next = block + BACK_OFFSET;
		memcpy(image + way * BACK_OFFSET, &p, sizeof(p));
	}
	return setup->backend->ops->copy(setup->backend, to, from,
					 sizeof(image));
}

static int launch(struct peali_probe_setup *setup, int side,
		  const struct order *order, struct peali_launch **out)
{
	struct peali_launch_desc desc;
	int r;

	memset(&desc, 0, sizeof(desc));
	desc.device = setup->local[side];
	desc.program = &peal_program_peal_probe;
	desc.params = view_of(setup, desc.device, &setup->block[side]);
	desc.n_workers = (uint32_t)n_ways(setup, order);
	desc.lanes = setup->lanes;
	r = send_params(setup, side, order, desc.params);
	if (r < 0)
		return r;
	return setup->backend->ops->launch(setup->backend, &desc, out);
}

static int set_stalled(struct peali_probe_setup *setup)
{
	setup->hung = 1;
	return peali_fail(PEAL_EHUNG, CALL,
			  "device %d -> device %d: a kernel of the probe "
			  "does not return; its memory is not freed",
			  setup->from, setup->to);
}

/* Tells both kernels that a kernel has failed, so that neither waits for it. */
static void set_alone(struct peali_probe_setup *setup)
{
	peal_store_relaxed_sys(&setup->words->alone, 1);
	peal_store_relaxed_sys(&setup->words_back->alone, 1);
}

/*
 * Waits at most most_ns for a kernel, and frees the launch after its end.
 * Returns 0 and leaves *kernel if the kernel still runs. At `until` sets
 * setup->hung.
 */
static int finish(struct peali_probe_setup *setup, struct peali_launch **kernel,
		  uint64_t until, uint64_t most_ns)
{
	const struct peali_backend_ops *ops = setup->backend->ops;
	uint64_t now = peal_clock_ns(), left = until > now ? until - now : 0;
	int r, f;

	r = ops->launch_wait(*kernel,
			     (int64_t)(most_ns < left ? most_ns : left));
	if (r == PEAL_ETIMEDOUT && most_ns < left)
		return 0;
	if (r == PEAL_ETIMEDOUT) {
		*kernel = NULL;
		return set_stalled(setup);
	}
	f = ops->launch_free(*kernel);
	*kernel = NULL;
	return r < 0 ? r : f;
}

/* Returns the extra wait: as long as for the answer of a worker. */
static uint64_t slack_ns(void)
{
	uint64_t ms = 0;

	peali_env_number(PEALI_ENV_CONTROL_TIMEOUT_MS, &ms);
	return ms * 1000000 > SLACK_MIN_NS ? ms * 1000000 : SLACK_MIN_NS;
}

/*
 * Waits until both kernels have ended. When one kernel fails, the host tells
 * the other kernel that it is alone. `failed` is 0, or the error of an earlier
 * step.
 */
static int finish_both(struct peali_probe_setup *setup,
		       struct peali_launch *kernel[2], uint64_t limit_ns,
		       int failed)
{
	uint64_t until = peal_clock_ns() + limit_ns + slack_ns();
	int side, r;

	while (kernel[0] || kernel[1])
		for (side = 0; side < 2; side++) {
			if (!kernel[side])
				continue;
			if (failed)
				set_alone(setup);
			/* after a failure, wait until the deadline */
			r = finish(setup, &kernel[side], until,
				   failed ? ~0ULL : TURN_NS);
			if (!failed)
				failed = r;
		}
	return failed;
}

int peali_probe_setup_run(struct peali_probe_setup *setup,
			  enum peal_probe_job job,
			  struct peali_probe_routes ways, uint64_t limit_ns)
{
	struct order order = { job, ways, limit_ns };
	struct peali_launch *kernel[2] = { NULL, NULL };
	int side, r;

	r = wipe(setup);
	setup->seed += 2;
	/*
	 * The reader first: the reader must run before the first store arrives.
	 */
	for (side = 1; side >= 0 && !r; side--)
		r = launch(setup, side, &order, &kernel[side]);
	return finish_both(setup, kernel, 2 * limit_ns, r);
}
