/* SPDX-License-Identifier: Apache-2.0 */
#include "p2p/rig.h"

#include <string.h>

#include <peal/abi/program.h>
#include <peal/device/host.h>

extern const struct peal_program peal_program_probe;

#define MESSAGES 16384u /* stamps of a verification */
#define PATTERN_BYTES PEALI_RIG_PATTERN_BYTES
#define LANES_MAX 256u

/* What is written is in a peer's memory within microseconds; this is far
 * beyond that, and short enough to find out about many broken pairs. */
#define PATIENCE_NS 25000000u
/* Over the limit that the kernels set themselves. */
#define SLACK_NS 5000000000u

#define CALL "probe"

/* In the block of each device. */
#define SCRATCH_OFFSET PEAL_SHARED_LINE
#define PONG_OFFSET (2 * PEAL_SHARED_LINE)
#define BLOCK_BYTES (3 * PEAL_SHARED_LINE)
/* In host memory. */
#define BELLS_OFFSET (3 * PEAL_SHARED_LINE)
#define HOST_AREA_OFFSET 4096
#define AREA_BYTES PEAL_PROBE_AREA_BYTES(PATTERN_BYTES)

_Static_assert(sizeof(struct peal_probe_params) <= SCRATCH_OFFSET, "block");
_Static_assert(sizeof(struct peal_probe_words) <= BELLS_OFFSET, "host block");
_Static_assert(MESSAGES % PEAL_PROBE_SLOTS == 0 && MESSAGES >= 10000, "laps");

/* ---- open and close -------------------------------------------------------- */

static int take(struct peali_rig *rig, enum peali_memory_kind kind, int local,
		uint64_t bytes, struct peali_memory *out)
{
	int r = rig->backend->ops->alloc(rig->backend, kind, local, bytes, out);

	if (!r)
		rig->n_memories++;
	return r;
}

static int take_memory(struct peali_rig *rig)
{
	int writer = rig->local[PEAL_PROBE_WRITER];
	int reader = rig->local[PEAL_PROBE_READER];
	int r;

	r = take(rig, PEALI_MEMORY_DEVICE, writer, BLOCK_BYTES, &rig->block[0]);
	if (!r)
		r = take(rig, PEALI_MEMORY_DEVICE, reader, BLOCK_BYTES,
			 &rig->block[1]);
	if (!r)
		r = take(rig, PEALI_MEMORY_DEVICE, reader, AREA_BYTES,
			 &rig->area);
	if (!r)
		r = take(rig, PEALI_MEMORY_HOST, PEALI_HOST,
			 HOST_AREA_OFFSET + AREA_BYTES, &rig->host);
	return r;
}

static int take_access(struct peali_rig *rig, int way_back)
{
	struct peali_peers *peers = rig->peers;
	int r;

	pthread_mutex_lock(&peers->lock);
	r = peali_pair_take(peers, rig->from, rig->to, PEALI_USE_PROBE, CALL);
	rig->held = !r;
	if (!r && way_back)
		/* Without it answers come by the host. */
		rig->held_back = !peali_pair_take(peers, rig->to, rig->from,
						  PEALI_USE_PROBE, CALL);
	pthread_mutex_unlock(&peers->lock);
	return r;
}

static uint64_t host_view(const struct peali_rig *rig, int viewer,
			  const struct peali_memory *memory)
{
	return rig->backend->ops->view(rig->backend, viewer, memory);
}

int peali_rig_open(struct peali_peers *peers, int from, int to, int way_back,
		   struct peali_rig *rig)
{
	const struct peali_device *device = peers->devices->device;
	struct peal_device_info info;
	int r;

	memset(rig, 0, sizeof(*rig));
	rig->peers = peers;
	rig->from = from;
	rig->to = to;
	rig->backend = device[from].backend;
	rig->local[PEAL_PROBE_WRITER] = device[from].local;
	rig->local[PEAL_PROBE_READER] = device[to].local;
	rig->seed = peal_clock_ns();
	memset(&info, 0, sizeof(info));
	r = rig->backend->ops->device_info(rig->backend, device[from].local,
					   &info);
	if (r < 0)
		return r;
	/* One thread stands for all lanes better than so many fibers. */
	rig->emulated = info.emulated;
	rig->lanes = info.emulated		? 1 :
		     info.max_lanes < LANES_MAX ? info.max_lanes :
						  LANES_MAX;
	r = take_access(rig, way_back);
	if (!r)
		r = take_memory(rig);
	if (r < 0) {
		peali_rig_close(rig);
		return r;
	}
	rig->words = (void *)(uintptr_t)host_view(rig, PEALI_HOST, &rig->host);
	return 0;
}

void peali_rig_close(struct peali_rig *rig)
{
	const struct peali_memory *memory[] = { &rig->block[0], &rig->block[1],
						&rig->area, &rig->host };
	struct peali_peers *peers = rig->peers;

	if (rig->stuck)
		return;
	while (rig->n_memories)
		rig->backend->ops->free(rig->backend,
					memory[--rig->n_memories]);
	pthread_mutex_lock(&peers->lock);
	if (rig->held_back)
		peali_pair_give(peers, rig->to, rig->from, PEALI_USE_PROBE);
	if (rig->held)
		peali_pair_give(peers, rig->from, rig->to, PEALI_USE_PROBE);
	pthread_mutex_unlock(&peers->lock);
}

/* ---- parameters ------------------------------------------------------------ */

static uint64_t bell_of(const struct peali_rig *rig, int viewer, int role)
{
	return host_view(rig, viewer, &rig->host) + BELLS_OFFSET +
	       (uint64_t)role * sizeof(struct peal_bell);
}

/* Fresh words, bells, ping and pong, so that nothing is left of the last job.
 */
static int wipe(struct peali_rig *rig)
{
	static const uint8_t zero[BLOCK_BYTES];
	static const uint8_t no_slots[PEAL_PROBE_PATTERN_OFFSET];
	const struct peali_backend_ops *ops = rig->backend->ops;
	struct peali_place to, from = { PEALI_HOST, (uintptr_t)zero };
	struct peal_bell *bell;
	uint8_t *host = (uint8_t *)rig->words;
	int role, r = 0;

	memset(host, 0, HOST_AREA_OFFSET + PEAL_PROBE_PATTERN_OFFSET);
	for (role = 0; role < 2 && !r; role++) {
		bell = (void *)(uintptr_t)bell_of(rig, PEALI_HOST, role);
		bell->max_sleep_ms = 1;
		to.device = rig->local[role];
		to.address = host_view(rig, to.device, &rig->block[role]);
		r = ops->copy(rig->backend, to, from, BLOCK_BYTES);
	}
	if (r < 0)
		return r;
	to.device = rig->local[PEAL_PROBE_READER];
	to.address = host_view(rig, to.device, &rig->area);
	from.address = (uintptr_t)no_slots;
	return ops->copy(rig->backend, to, from, sizeof(no_slots));
}

static void fill_params(const struct peali_rig *rig, int role,
			struct peali_rig_ways ways, struct peal_probe_params *p)
{
	int viewer = rig->local[role];
	uint64_t host = host_view(rig, viewer, &rig->host);

	p->magic = PEAL_PROBE_MAGIC;
	p->role = (uint32_t)role;
	p->words = host;
	p->area = ways.area_in_host ? host + HOST_AREA_OFFSET :
				      host_view(rig, viewer, &rig->area);
	p->pong = host + offsetof(struct peal_probe_words, pong);
	if (ways.pong_in_peer)
		p->pong = host_view(rig, viewer, &rig->block[0]) + PONG_OFFSET;
	p->scratch = host_view(rig, viewer, &rig->block[role]) + SCRATCH_OFFSET;
	p->bell = bell_of(rig, viewer, role);
	p->partner_bell = bell_of(rig, viewer, !role);
	p->seed = rig->seed;
	p->pattern_bytes = PATTERN_BYTES;
	p->patience_ns = PATIENCE_NS;
	p->n_messages = MESSAGES;
	p->batch = PEALI_RIG_BATCH;
	p->lanes = rig->lanes;
}

/* ---- running --------------------------------------------------------------- */

static int launch(struct peali_rig *rig, int role,
		  const struct peal_probe_params *params,
		  struct peali_launch **out)
{
	const struct peali_backend_ops *ops = rig->backend->ops;
	struct peali_launch_desc desc;
	struct peali_place to, from = { PEALI_HOST, (uintptr_t)params };
	int r;

	to.device = rig->local[role];
	to.address = host_view(rig, to.device, &rig->block[role]);
	r = ops->copy(rig->backend, to, from, sizeof(*params));
	if (r < 0)
		return r;
	memset(&desc, 0, sizeof(desc));
	desc.device = to.device;
	desc.program = &peal_program_probe;
	desc.params = to.address;
	desc.n_workers = 1;
	desc.lanes = rig->lanes;
	return ops->launch(rig->backend, &desc, out);
}

/* Waits for a kernel's end and frees the launch. */
static int finish(struct peali_rig *rig, struct peali_launch *kernel,
		  uint64_t limit_ns)
{
	const struct peali_backend_ops *ops = rig->backend->ops;
	int r, f;

	if (!kernel)
		return 0;
	r = ops->launch_wait(kernel, (int64_t)(limit_ns + SLACK_NS));
	if (r == PEAL_ETIMEDOUT) {
		rig->stuck = 1;
		return peali_fail(PEAL_EHUNG, CALL,
				  "device %d -> device %d: a kernel of the "
				  "probe does not return; its memory stays "
				  "taken",
				  rig->from, rig->to);
	}
	f = ops->launch_free(kernel);
	return r < 0 ? r : f;
}

int peali_rig_run(struct peali_rig *rig, enum peal_probe_job job,
		  struct peali_rig_ways ways, uint64_t limit_ns)
{
	struct peali_launch *kernel[2] = { NULL, NULL };
	struct peal_probe_params params;
	int role, r, f;

	r = wipe(rig);
	rig->seed++;
	/* The reader first: it is there when the first store comes. */
	for (role = PEAL_PROBE_READER; role >= PEAL_PROBE_WRITER && !r;
	     role--) {
		memset(&params, 0, sizeof(params));
		fill_params(rig, role, ways, &params);
		params.job = (uint32_t)job;
		params.limit_ns = limit_ns;
		r = launch(rig, role, &params, &kernel[role]);
	}
	for (role = 0; role < 2; role++) {
		f = finish(rig, kernel[role], limit_ns);
		if (!r)
			r = f;
	}
	return r;
}
