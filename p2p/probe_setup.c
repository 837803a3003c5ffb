/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rig of the probe: see rig.h. The kernels are in
 * ringkernels/programs/probe.c.
 */
#include "p2p/probe_setup.h"

#include "p2p/peer_internal.h"
#include "p2p/probe.h"
#include "runtime/base/error.h"
#include "runtime/device/backend.h"

#include <string.h>

#include <peal/abi/program.h>
#include <peal/device/host.h>

extern const struct peal_program peal_program_peal_probe;

#define MESSAGES 10240u /* stamps of a verification */
#define PATTERN_BYTES PEALI_RIG_PATTERN_BYTES
#define LANES_MAX 256u

/*
 * Time for a store to become visible in a peer's memory. Working pairs need
 * microseconds. The time is short because many pairs may be broken.
 */
#define PATIENCE_NS 25000000u
/* Extra wait beyond the time limit that the kernels apply themselves. */
#define SLACK_NS 5000000000u
/* Time to wait for one kernel before a check of the other kernel. */
#define TURN_NS 10000000u

#define CALL "probe"

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
/* The host memory: words (there, back), the bells of both sides, the area. */
#define WORDS_BYTES (3 * PEAL_SHARED_LINE)
#define BELLS_OFFSET (2 * WORDS_BYTES)
#define HOST_AREA_OFFSET 4096
#define AREA_BYTES PEAL_PROBE_AREA_BYTES(PATTERN_BYTES)

_Static_assert(sizeof(struct peal_probe_params) <= BACK_OFFSET, "block");
_Static_assert(sizeof(struct peal_probe_words) <= WORDS_BYTES, "host block");
_Static_assert(BELLS_OFFSET + 2 * sizeof(struct peal_bell) <= HOST_AREA_OFFSET,
	       "host block");
_Static_assert(MESSAGES % PEAL_PROBE_SLOTS == 0 && MESSAGES >= 10000, "laps");

/**
 * Directions and sides of a rig. In direction THERE, side 0 (`from`) writes.
 */
enum { THERE, BACK };

/* ---- open and close ------------------------------------------------------ */

static int take(struct peali_rig *rig, enum peali_memory_kind kind, int local,
		uint64_t bytes, struct peali_memory *out)
{
	int r = rig->backend->ops->alloc(rig->backend, kind, local, bytes, out);

	if (!r)
		rig->taken[rig->n_taken++] = out;
	return r;
}

static int take_memory(struct peali_rig *rig)
{
	uint64_t host_bytes = HOST_AREA_OFFSET;
	int side, r = 0;

	if (rig->needs & PEALI_RIG_HOST)
		host_bytes += AREA_BYTES;
	for (side = 0; side < 2 && !r; side++)
		r = take(rig, PEALI_MEMORY_DEVICE, rig->local[side],
			 BLOCK_BYTES, &rig->block[side]);
	if (!r)
		r = take(rig, PEALI_MEMORY_DEVICE, rig->local[1], AREA_BYTES,
			 &rig->area[THERE]);
	if (!r && (rig->needs & PEALI_RIG_BOTH))
		r = take(rig, PEALI_MEMORY_DEVICE, rig->local[0], AREA_BYTES,
			 &rig->area[BACK]);
	if (!r)
		r = take(rig, PEALI_MEMORY_HOST, PEALI_HOST, host_bytes,
			 &rig->host);
	return r;
}

/* Loads the program on both devices, before either has a resident kernel. */
static int load_program(struct peali_rig *rig)
{
	int side, r = 0;

	for (side = 0; side < 2 && !r; side++)
		r = rig->backend->ops->load(rig->backend, rig->local[side],
					    &peal_program_peal_probe);
	return r;
}

static int take_access(struct peali_rig *rig)
{
	struct peali_peers *peers = rig->peers;
	int r, back = 0;

	pthread_mutex_lock(&peers->lock);
	r = peali_pair_take(peers, rig->from, rig->to, PEALI_USE_PROBE, CALL);
	rig->held = !r;
	if (!r && (rig->needs & (PEALI_RIG_PONG | PEALI_RIG_BOTH))) {
		back = peali_pair_take(peers, rig->to, rig->from,
				       PEALI_USE_PROBE, CALL);
		rig->held_back = !back;
	}
	pthread_mutex_unlock(&peers->lock);
	/* Without access back, answers go through the host. */
	return !r && (rig->needs & PEALI_RIG_BOTH) ? back : r;
}

static uint64_t view_of(const struct peali_rig *rig, int viewer,
			const struct peali_memory *memory)
{
	return rig->backend->ops->view(rig->backend, viewer, memory);
}

int peali_rig_open(struct peali_peers *peers, int from, int to, uint32_t needs,
		   struct peali_rig *rig)
{
	const struct peali_device *device = peers->devices->device;
	struct peal_device_info info;
	uint64_t host;
	int r;

	memset(rig, 0, sizeof(*rig));
	rig->peers = peers;
	rig->from = from;
	rig->to = to;
	rig->needs = needs;
	rig->backend = device[from].backend;
	rig->local[0] = device[from].local;
	rig->local[1] = device[to].local;
	rig->seed = peal_clock_ns();
	memset(&info, 0, sizeof(info));
	r = rig->backend->ops->device_info(rig->backend, device[from].local,
					   &info);
	if (r < 0)
		return r;
	/* Emulated devices use one lane, not as many fibers. */
	rig->emulated = info.emulated;
	rig->lanes = info.emulated		? 1 :
		     info.max_lanes < LANES_MAX ? info.max_lanes :
						  LANES_MAX;
	r = load_program(rig);
	if (!r)
		r = take_access(rig);
	if (!r)
		r = take_memory(rig);
	if (r < 0) {
		peali_rig_close(rig);
		return r;
	}
	host = view_of(rig, PEALI_HOST, &rig->host);
	rig->words = (void *)(uintptr_t)host;
	rig->words_back = (void *)(uintptr_t)(host + WORDS_BYTES);
	return 0;
}

void peali_rig_close(struct peali_rig *rig)
{
	struct peali_peers *peers = rig->peers;

	if (rig->stuck)
		return;
	while (rig->n_taken)
		rig->backend->ops->free(rig->backend,
					rig->taken[--rig->n_taken]);
	pthread_mutex_lock(&peers->lock);
	if (rig->held_back)
		peali_pair_give(peers, rig->to, rig->from, PEALI_USE_PROBE);
	if (rig->held)
		peali_pair_give(peers, rig->from, rig->to, PEALI_USE_PROBE);
	pthread_mutex_unlock(&peers->lock);
}

/* ---- parameters ---------------------------------------------------------- */

static uint64_t bell_of(const struct peali_rig *rig, int viewer, int side)
{
	return view_of(rig, viewer, &rig->host) + BELLS_OFFSET +
	       (uint64_t)side * sizeof(struct peal_bell);
}

/* Clears the last job's data in the memory of a side: block, ping, slots. */
static int wipe_side(struct peali_rig *rig, int side)
{
	static const uint8_t zero[PEAL_PROBE_PATTERN_OFFSET];
	const struct peali_backend_ops *ops = rig->backend->ops;
	struct peali_place to, from = { PEALI_HOST, (uintptr_t)zero };
	const struct peali_memory *area = &rig->area[!side];
	int r;

	to.device = rig->local[side];
	to.address = view_of(rig, to.device, &rig->block[side]);
	r = ops->copy(rig->backend, to, from, BLOCK_BYTES);
	if (r < 0 || !area->bytes)
		return r;
	to.address = view_of(rig, to.device, area);
	return ops->copy(rig->backend, to, from, sizeof(zero));
}

/* Clears the last job's data. New memory is zero already. */
static int wipe(struct peali_rig *rig)
{
	uint64_t bytes = HOST_AREA_OFFSET;
	int side, r = 0;

	if (rig->needs & PEALI_RIG_HOST)
		bytes += PEAL_PROBE_PATTERN_OFFSET;
	if (rig->used)
		memset(rig->words, 0, bytes);
	for (side = 0; side < 2 && !r && rig->used; side++)
		r = wipe_side(rig, side);
	rig->used = 1;
	return r;
}

static void fill_params(const struct peali_rig *rig, int side, int way,
			struct peali_rig_ways ways, struct peal_probe_params *p)
{
	int viewer = rig->local[side];
	uint64_t host = view_of(rig, viewer, &rig->host);
	uint64_t block = view_of(rig, viewer, &rig->block[side]);

	p->magic = PEAL_PROBE_MAGIC;
	p->role = side == way ? PEAL_PROBE_WRITER : PEAL_PROBE_READER;
	p->words = host + (uint64_t)way * WORDS_BYTES;
	p->area = ways.area_in_host ? host + HOST_AREA_OFFSET :
				      view_of(rig, viewer, &rig->area[way]);
	p->pong = p->words + offsetof(struct peal_probe_words, pong);
	if (ways.pong_in_peer)
		p->pong = view_of(rig, viewer, &rig->block[0]) + PONG_OFFSET;
	p->scratch = block + SCRATCH_OFFSET + (uint64_t)way * SCRATCH_BYTES;
	p->bell = bell_of(rig, viewer, side);
	p->partner_bell = bell_of(rig, viewer, !side);
	p->seed = rig->seed + (uint64_t)way;
	p->pattern_bytes = PATTERN_BYTES;
	p->patience_ns = PATIENCE_NS;
	p->n_messages = MESSAGES;
	p->batch = PEALI_RIG_BATCH;
	p->lanes = rig->lanes;
}

/* ---- running ------------------------------------------------------------- */

/** A job for both kernels. */
struct order {
	enum peal_probe_job job;
	struct peali_rig_ways ways;
	uint64_t limit_ns;
};

/* Copies the parameters of a side's jobs to the side's block. */
static int send_params(struct peali_rig *rig, int side,
		       const struct order *order, uint64_t block)
{
	uint8_t image[SCRATCH_OFFSET] = { 0 };
	struct peali_place to = { rig->local[side], block };
	struct peali_place from = { PEALI_HOST, (uintptr_t)image };
	int both = order->job == PEAL_PROBE_VERIFY &&
		   (rig->needs & PEALI_RIG_BOTH);
	struct peal_probe_params p;
	int way;

	for (way = THERE; way <= (both ? BACK : THERE); way++) {
		memset(&p, 0, sizeof(p));
		fill_params(rig, side, way, order->ways, &p);
		p.job = (uint32_t)order->job;
		p.limit_ns = order->limit_ns;
		if (both && way == THERE)
			p.next = block + BACK_OFFSET;
		memcpy(image + way * BACK_OFFSET, &p, sizeof(p));
	}
	return rig->backend->ops->copy(rig->backend, to, from, sizeof(image));
}

static int launch(struct peali_rig *rig, int side, const struct order *order,
		  struct peali_launch **out)
{
	struct peali_launch_desc desc;
	int r;

	memset(&desc, 0, sizeof(desc));
	desc.device = rig->local[side];
	desc.program = &peal_program_peal_probe;
	desc.params = view_of(rig, desc.device, &rig->block[side]);
	desc.n_workers = 1;
	desc.lanes = rig->lanes;
	r = send_params(rig, side, order, desc.params);
	if (r < 0)
		return r;
	return rig->backend->ops->launch(rig->backend, &desc, out);
}

static int set_stuck(struct peali_rig *rig)
{
	rig->stuck = 1;
	return peali_fail(PEAL_EHUNG, CALL,
			  "device %d -> device %d: a kernel of the "
			  "probe does not return; its memory stays "
			  "taken",
			  rig->from, rig->to);
}

/* Tells both kernels that a kernel has failed, so that neither waits for it. */
static void set_alone(struct peali_rig *rig)
{
	peal_store_relaxed_sys(&rig->words->alone, 1);
	peal_store_relaxed_sys(&rig->words_back->alone, 1);
}

/*
 * Waits at most most_ns for a kernel, and frees the launch after its end.
 * Returns 0 and leaves *kernel if the kernel still runs. At `until` sets
 * rig->stuck.
 */
static int finish(struct peali_rig *rig, struct peali_launch **kernel,
		  uint64_t until, uint64_t most_ns)
{
	const struct peali_backend_ops *ops = rig->backend->ops;
	uint64_t now = peal_clock_ns(), left = until > now ? until - now : 0;
	int r, f;

	r = ops->launch_wait(*kernel,
			     (int64_t)(most_ns < left ? most_ns : left));
	if (r == PEAL_ETIMEDOUT && most_ns < left)
		return 0;
	if (r == PEAL_ETIMEDOUT) {
		*kernel = NULL;
		return set_stuck(rig);
	}
	f = ops->launch_free(*kernel);
	*kernel = NULL;
	return r < 0 ? r : f;
}

/*
 * Waits until both kernels have ended. When one kernel fails, the host tells
 * the other kernel that it is alone. `failed` is 0, or the error of an earlier
 * step.
 */
static int finish_both(struct peali_rig *rig, struct peali_launch *kernel[2],
		       uint64_t limit_ns, int failed)
{
	uint64_t until = peal_clock_ns() + limit_ns + SLACK_NS;
	int side, r;

	while (kernel[0] || kernel[1])
		for (side = 0; side < 2; side++) {
			if (!kernel[side])
				continue;
			if (failed)
				set_alone(rig);
			/* after a failure, wait until the deadline */
			r = finish(rig, &kernel[side], until,
				   failed ? ~0ULL : TURN_NS);
			if (!failed)
				failed = r;
		}
	return failed;
}

int peali_rig_run(struct peali_rig *rig, enum peal_probe_job job,
		  struct peali_rig_ways ways, uint64_t limit_ns)
{
	struct order order = { job, ways, limit_ns };
	struct peali_launch *kernel[2] = { NULL, NULL };
	int side, r;

	r = wipe(rig);
	rig->seed += 2;
	/*
	 * The reader first: the reader must run before the first store arrives.
	 */
	for (side = 1; side >= 0 && !r; side--)
		r = launch(rig, side, &order, &kernel[side]);
	return finish_both(rig, kernel, 2 * limit_ns, r);
}
