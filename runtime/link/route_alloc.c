/* SPDX-License-Identifier: Apache-2.0 */
/* Routes: chooses the route of a link and allocates its memory. */
#include <stdio.h>
#include <string.h>

#include "p2p/peer.h"
#include "p2p/probe.h"
#include "queues/publication.h"
#include "queues/ring.h"
#include "runtime/base/error.h"
#include "runtime/base/refusal.h"
#include "runtime/base/text.h"
#include "runtime/device/backend.h"
#include "runtime/device/devices.h"
#include "runtime/device/memory_block.h"
#include "runtime/device/range_alloc.h"
#include "runtime/kernel/kernel_control.h"
#include "runtime/kernel/kernel.h"
#include "runtime/link/endpoint.h"
#include "runtime/link/endpoint_ref.h"
#include "runtime/link/end_number.h"
#include "runtime/link/link.h"
#include "runtime/link/remote.h"
#include "runtime/link/route.h"
#include "runtime/link/stager.h"
#include "runtime/runtime.h"

/* ---- choice -------------------------------------------------------------- */

#define ALL_ROUTES                                                             \
	((uint32_t)PEAL_ROUTE_LOCAL | PEAL_ROUTE_PEER |                        \
	 PEAL_ROUTE_MAPPED_HOST | PEAL_ROUTE_STAGED)

/* Returns the name of a device or of the host, for texts. */
static const char *place_name(int device, char text[24])
{
	if (device == PEALI_HOST)
		return "the host";
	snprintf(text, 24, "device %d", device);
	return text;
}

/* Returns the best route of a mask: the one with the fewest copies and hops. */
static enum peal_route best_of(uint32_t mask)
{
	static const enum peal_route order[] = { PEAL_ROUTE_LOCAL,
						 PEAL_ROUTE_PEER,
						 PEAL_ROUTE_MAPPED_HOST,
						 PEAL_ROUTE_STAGED };
	size_t i;

	for (i = 0; i < sizeof(order) / sizeof(order[0]); i++)
		if (mask & order[i])
			return order[i];
	return PEAL_ROUTE_NONE;
}

/* Takes the peer route from a pair that does not carry the policy. */
static void check_policy(struct peal_pair_info *pair, uint32_t policy)
{
	if (pair->route != PEAL_ROUTE_PEER || pair->policies & 1u << policy)
		return;
	pair->route = PEAL_ROUTE_MAPPED_HOST;
	snprintf(pair->reason, sizeof(pair->reason),
		 "16-byte stores arrive torn, and the link has policy %s",
		 peali_publication_name(policy));
}

/*
 * Returns the mask of all routes of a pair, or 0 on error. Sets *best to the
 * best route and `why` to its reason.
 */
static uint32_t routes_of(struct peal_runtime *rt, int from, int to,
			  uint32_t wanted, uint32_t policy,
			  enum peal_route *best, char why[160])
{
	uint32_t routes = PEAL_ROUTE_MAPPED_HOST | PEAL_ROUTE_STAGED;
	struct peal_pair_info pair;
	int result;

	if (from == PEALI_HOST || to == PEALI_HOST) {
		snprintf(why, 160, "one end is the host");
		*best = PEAL_ROUTE_MAPPED_HOST;
		return routes;
	}
	if (!peali_devices_same_backend(&rt->devices, from, to))
		routes = PEAL_ROUTE_STAGED;
	else if (from == to)
		routes |= PEAL_ROUTE_LOCAL;
	/* the probe takes time: skip it if the peer route is not wanted */
	if (from == to || (wanted & PEAL_ROUTE_PEER)) {
		result = peali_probe_verify(rt->peers, from, to, &pair);
		if (result)
			return 0;
		check_policy(&pair, policy);
		*best = pair.route;
		peali_text_fit(why, 160, pair.reason);
		return routes | (uint32_t)pair.route;
	}
	*best = best_of(routes);
	snprintf(why, 160, "%s",
		 peali_devices_same_backend(&rt->devices, from, to) ?
			 "the options exclude the peer route" :
			 "the devices are of two backends");
	return routes;
}

/* Writes the names of a mask's routes, such as "peer or staged". */
static void name_mask(uint32_t mask, char *text, size_t size)
{
	size_t used = 0;
	uint32_t bit;

	text[0] = 0;
	for (bit = 1; bit <= PEAL_ROUTE_STAGED && used < size; bit <<= 1)
		if (mask & bit)
			used += (size_t)snprintf(
				text + used, size - used, "%s%s",
				used ? " or " : "",
				peal_route_name((enum peal_route)bit));
}

/* Returns the reason why a pair has none of the wanted routes. */
static const char *why_not(uint32_t wanted, int from, int to, const char *why)
{
	if (from == PEALI_HOST || to == PEALI_HOST)
		return "one end is the host";
	if (from == to)
		return "both ends are on one device";
	if (wanted & PEAL_ROUTE_PEER)
		return why; /* the reason of the probe */
	return "the ends are on two devices";
}

/* Refuses `what`, the required routes. The pair has other routes. */
static int refuse_require(int from, int to, uint32_t require, uint32_t routes,
			  const char *why, const char *what, const char *call)
{
	char a[24], b[24], names[64], allowed[64];

	name_mask(require, names, sizeof(names));
	name_mask(routes, allowed, sizeof(allowed));
	return PEALI_REFUSE(
		PEAL_ENOPEER, call, .object = what,
		.problem = PEALI_PRINT(
			"has no route from %s to %s, as %s",
			place_name(from, a), place_name(to, b),
			PEALI_CUT(72, why_not(require, from, to, why))),
		.value = names, .allowed = allowed,
		.remedy = PEALI_PRINT("use %s",
				      peal_route_name(best_of(routes))));
}

/* Refuses option forbid, without which the pair has the routes `left`. */
static int refuse_forbid(uint32_t wanted, int from, int to, uint32_t forbid,
			 uint32_t left, const char *call)
{
	char a[24], b[24], names[64];

	name_mask(left, names, sizeof(names));
	return PEALI_REFUSE(
		wanted ? PEAL_ENOPEER : PEAL_EINVAL, call, .object = "option",
		.name = "forbid",
		.problem = PEALI_PRINT("leaves no route from %s to %s",
				       place_name(from, a), place_name(to, b)),
		.value = PEALI_PRINT("0x%x", forbid),
		.allowed = PEALI_PRINT("masks without %s", names),
		.remedy = PEALI_PRINT("use 0x%x", forbid & ~best_of(left)));
}

int peali_route_choose(struct peal_runtime *rt, int from, int to,
		       uint32_t require, uint32_t forbid, uint32_t policy,
		       enum peal_route *route_out, char why[160],
		       const char *what, const char *call)
{
	uint32_t asked = require ? require : ALL_ROUTES;
	uint32_t wanted = asked & ~forbid;
	enum peal_route best = PEAL_ROUTE_NONE;
	uint32_t routes;

	routes = routes_of(rt, from, to, wanted ? wanted : asked, policy, &best,
			   why);
	if (!routes)
		return peal_last_error()->code;
	if (wanted & best) {
		*route_out = best;
		return 0;
	}
	*route_out = best_of(routes & wanted);
	if (*route_out) {
		snprintf(why, 160, "%s",
			 require ? "option 'require' demands the route" :
				   "option 'forbid' excludes better routes");
		return 0;
	}
	if (asked & routes)
		return refuse_forbid(wanted, from, to, forbid, asked & routes,
				     call);
	return refuse_require(from, to, require, routes, why, what, call);
}

uint32_t peali_route_policies(struct peal_runtime *rt, int from, int to,
			      uint32_t require, uint32_t forbid)
{
	uint32_t wanted = (require ? require : ALL_ROUTES) & ~forbid;
	struct peal_pair_info pair;

	if (from == to || from == PEALI_HOST || to == PEALI_HOST ||
	    !(wanted & PEAL_ROUTE_PEER) ||
	    !peali_devices_same_backend(&rt->devices, from, to) ||
	    peali_probe_verify(rt->peers, from, to, &pair) ||
	    pair.route != PEAL_ROUTE_PEER)
		return ~0u;
	return pair.policies;
}

/* ---- memory -------------------------------------------------------------- */

static int ring_header(struct peal_link *link,
		       const struct peali_ring_spec *spec,
		       const struct peali_segment *s)
{
	struct peal_ring header;

	peali_ring_header(&header, spec, link->id);
	header.cluster_place = s->cluster_place;
	return peali_block_write(link->rt, &s->ring, 0, &header,
				 sizeof(header));
}

/*
 * Places the slots of a ring between two workers of a cluster in the receiver's
 * part of cluster memory. Requires enough free bytes there. The slots in the
 * ring itself then stay unused.
 */
static void place_in_cluster(const struct peal_link *link,
			     const struct peali_ring_spec *spec,
			     struct peali_segment *s)
{
	struct peal_kernel *k = link->to.kernel;
	uint32_t n = k ? k->params.cluster_workers : 0;
	uint64_t bytes = (uint64_t)spec->capacity * spec->slot_bytes;
	struct peali_suballoc *space;
	struct peali_piece piece;

	if (!n || link->from.kernel != k ||
	    link->from.worker / n != link->to.worker / n)
		return;
	space = &k->workers[link->to.worker].cluster;
	if (peali_suballoc_largest(space) < bytes ||
	    peali_suballoc_take(space, bytes, &piece))
		return;
	s->cluster = space;
	s->cluster_place =
		PEAL_CLUSTER_PLACE(link->to.worker % n, piece.offset);
}

/*
 * Returns the bytes of the mirror of a ring; 0: none. If the ring lies in host
 * memory, a GPU keeps a mirror in its own memory. The GPU reads host memory
 * over a bus.
 */
static uint64_t mirror_bytes(const struct peal_link *link,
			     const struct peali_ring_spec *spec, int ring_owner,
			     int consumer)
{
	if (ring_owner != PEALI_HOST || consumer == PEALI_HOST ||
	    peali_backend_is_host(link->rt->devices.device[consumer].backend))
		return 0;
	return peali_ring_mirror_bytes(spec, link->to.kernel->params.lanes);
}

/* Allocates one segment. Ring and credit lie where their readers poll them. */
static int make_segment(struct peal_link *link,
			const struct peali_ring_spec *spec, int ring_owner,
			int credit_owner, int producer, int consumer,
			struct peali_segment *s)
{
	struct peal_runtime *rt = link->rt;
	uint64_t stage = peali_ring_stage_bytes(spec);
	uint64_t mirror = mirror_bytes(link, spec, ring_owner, consumer);
	int result;

	s->mirror = mirror != 0;
	if (ring_owner == consumer)
		place_in_cluster(link, spec, s);
	result = peali_block_alloc(rt, ring_owner, peali_ring_bytes(spec),
				   &s->ring);
	if (!result)
		result = peali_block_alloc(rt, credit_owner,
					   sizeof(struct peal_credit),
					   &s->credit);
	if (!result && stage)
		result = peali_block_alloc(rt, producer, stage,
					   &s->stage_producer);
	if (!result && stage)
		result = peali_block_alloc(rt, consumer,
					   mirror ? mirror : stage,
					   &s->stage_consumer);
	if (!result)
		result = ring_header(link, spec, s);
	return result;
}

static void free_segment(struct peal_runtime *rt, struct peali_segment *s)
{
	struct peali_piece piece;

	if (s->cluster_place)
		peali_suballoc_give(s->cluster,
				    PEAL_CLUSTER_OFFSET(s->cluster_place),
				    &piece);
	peali_block_free(rt, &s->ring);
	peali_block_free(rt, &s->credit);
	peali_block_free(rt, &s->stage_producer);
	peali_block_free(rt, &s->stage_consumer);
}

/* Holds both directions: messages go one way, credit the other way. */
static int hold_peers(struct peal_link *link)
{
	int from = link->from.device, to = link->to.device;
	int result = peali_peer_hold(link->rt->peers, from, to);

	if (result)
		return result;
	result = peali_peer_hold(link->rt->peers, to, from);
	if (result)
		peali_peer_release(link->rt->peers, from, to);
	return result;
}

static void release_peers(struct peal_link *link)
{
	int from = link->from.device, to = link->to.device;

	peali_peer_release(link->rt->peers, from, to);
	peali_peer_release(link->rt->peers, to, from);
}

/*
 * Allocates the memory of a link with one end in another process. The shared
 * ring and its credit exist already.
 *
 * 1. The end here needs a stage for the shared ring.
 * 2. If its device does not see the shared ring, the path is staged. Then the
 *    stager uses that stage, and the device needs a local ring.
 */
static int make_remote_segments(struct peal_link *link,
				struct peali_route_path *path)
{
	struct peali_segment *s = path->segment;
	uint64_t stage = peali_remote_stage_bytes(link);
	int sends = peali_remote_sends(link),
	    staged = peali_remote_staged(link);
	int device = sends ? link->from.device : link->to.device;
	int at = staged ? PEALI_HOST : device, result = 0;

	path->n_segments = staged ? 2 : 1;
	if (stage && sends)
		result = peali_block_alloc(link->rt, at, stage,
					   &s[staged].stage_producer);
	else if (stage)
		result = peali_block_alloc(link->rt, at, stage,
					   &s[0].stage_consumer);
	if (result || !staged)
		return result;
	return sends ? make_segment(link, &link->spec, PEALI_HOST, PEALI_HOST,
				    device, PEALI_HOST, &s[0]) :
		       make_segment(link, &link->last_spec, PEALI_HOST,
				    PEALI_HOST, PEALI_HOST, device, &s[1]);
}

static int make_segments(struct peal_link *link, struct peali_route_path *path)
{
	int from = link->from.device, to = link->to.device;
	int result;

	switch (path->route) {
	case PEAL_ROUTE_LOCAL:
	case PEAL_ROUTE_PEER:
		path->n_segments = 1;
		return make_segment(link, &link->spec, to, from, from, to,
				    &path->segment[0]);
	case PEAL_ROUTE_PROCESS:
		return make_remote_segments(link, path);
	case PEAL_ROUTE_STAGED:
		path->n_segments = 2;
		result = make_segment(link, &link->spec, PEALI_HOST, PEALI_HOST,
				      from, PEALI_HOST, &path->segment[0]);
		if (result)
			return result;
		return make_segment(link, &link->last_spec, PEALI_HOST,
				    PEALI_HOST, PEALI_HOST, to,
				    &path->segment[1]);
	default:
		path->n_segments = 1;
		return make_segment(link, &link->spec, PEALI_HOST, PEALI_HOST,
				    from, to, &path->segment[0]);
	}
}

void peali_route_path_free(struct peal_link *link,
			   struct peali_route_path *path)
{
	uint32_t i;

	if (path->staged)
		peali_stager_remove(link, path);
	for (i = 0; i < 2; i++)
		free_segment(link->rt, &path->segment[i]);
	if (path->held)
		release_peers(link);
	memset(path, 0, sizeof(*path));
}

int peali_route_path_make(struct peal_link *link, enum peal_route route,
			  struct peali_route_path *out, const char *call)
{
	int result = 0;

	memset(out, 0, sizeof(*out));
	out->route = route;
	if (route == PEAL_ROUTE_PEER) {
		result = hold_peers(link);
		out->held = !result;
	}
	if (!result)
		result = make_segments(link, out);
	if (!result &&
	    (route == PEAL_ROUTE_STAGED || peali_remote_staged(link)))
		result = peali_stager_add(link, out, call);
	if (result)
		peali_route_path_free(link, out);
	return result;
}

/* ---- views --------------------------------------------------------------- */

uint64_t peali_link_end_bell(const struct peali_link_end *end, int receiving)
{
	if (peali_link_end_is_remote(end))
		return 0;
	if (end->kernel)
		return peali_kernel_bell(end->kernel, end->worker);
	return (uint64_t)(uintptr_t)(receiving ? end->endpoint->receive_bell :
						 end->endpoint->send_bell);
}

/* Returns the bell that an end rings, or 0 if it cannot ring. */
static uint64_t bell_for(const struct peal_link *link,
			 const struct peali_route_path *path,
			 const struct peali_link_end *end,
			 const struct peali_link_end *other)
{
	if (!peali_devices_ring(&link->rt->devices, end->device))
		return 0;
	if (path->staged)
		return peali_stager_bell(link->rt);
	return peali_link_end_bell(other, other == &link->to);
}

static struct peal_link_view view_of(const struct peal_link *link,
				     const struct peali_segment *s,
				     const struct peali_link_end *end)
{
	struct peal_link_view view;

	memset(&view, 0, sizeof(view));
	view.ring = peali_block_view(link->rt, end->device, &s->ring);
	view.credit = peali_block_view(link->rt, end->device, &s->credit);
	view.counts =
		peali_block_view(link->rt, end->device, &link->counts_block);
	if (peali_remote_direct(link))
		peali_remote_view(link, &view);
	view.message_bytes = (uint32_t)link->spec.message_bytes;
	if (!link->to.endpoint) /* the actor as connected: slots are reused */
		view.actor = (uint32_t)link->to.address;
	view.index = end->index;
	return view;
}

struct peal_link_view
peali_link_sender_view(const struct peal_link *link,
		       const struct peali_route_path *path)
{
	const struct peali_segment *s = &path->segment[0];
	struct peal_link_view view = view_of(link, s, &link->from);

	view.stage = peali_block_view(link->rt, link->from.device,
				      &s->stage_producer);
	view.far_end = peali_end_number(&link->to);
	view.bell = bell_for(link, path, &link->from, &link->to);
	return view;
}

struct peal_link_view
peali_link_receiver_view(const struct peal_link *link,
			 const struct peali_route_path *path)
{
	const struct peali_segment *s = &path->segment[path->n_segments - 1];
	struct peal_link_view view = view_of(link, s, &link->to);

	view.stage =
		peali_block_view(link->rt, link->to.device, &s->stage_consumer);
	view.mirror = (uint8_t)s->mirror;
	view.priority = (uint8_t)link->priority;
	view.far_end = peali_end_number(&link->from);
	view.bell = bell_for(link, path, &link->to, &link->from);
	return view;
}

int peali_link_silent(const struct peal_link *link)
{
	const struct peali_devices *devices = &link->rt->devices;

	if (link->remote) /* the other process cannot ring */
		return 1;
	return !peali_devices_ring(devices, link->from.device) ||
	       !peali_devices_ring(devices, link->to.device);
}

uint64_t peali_link_memory(const struct peal_link *link)
{
	uint64_t sum = link->counts_block.bytes + peali_remote_memory(link);
	uint32_t i;

	for (i = 0; i < 2; i++) {
		const struct peali_segment *s = &link->path.segment[i];
		const struct peali_segment *o = &link->old.segment[i];

		sum += s->ring.bytes + s->credit.bytes +
		       s->stage_producer.bytes + s->stage_consumer.bytes;
		sum += o->ring.bytes + o->credit.bytes +
		       o->stage_producer.bytes + o->stage_consumer.bytes;
	}
	return sum;
}
