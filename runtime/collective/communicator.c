/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Groups: kernels, links, destruction. collective.c runs the
 * collectives. Public texts call a group a communicator.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "p2p/probe.h"
#include "runtime/base/error.h"
#include "runtime/base/refusal.h"
#include "runtime/base/wait.h"
#include "runtime/collective/communicator.h"
#include "runtime/collective/ring_order.h"
#include "runtime/device/backend.h"
#include "runtime/device/devices.h"
#include "runtime/device/memory_block.h"
#include "runtime/kernel/kernel_control.h"
#include "runtime/launch/kernel_fit.h"
#include "runtime/link/endpoint.h"

#define CALL "peal_comm_create"
#define SLICE_BYTES (256u << 10)
#define SLICE_BYTES_MAX (16u << 20)
#define LANES_MAX 1024 /* of a kernel */
#define ENDPOINT_PORTS_MAX 4096
#define MAIL_SLOTS 256 /* groups of processes: a channel tells the next */

extern const struct peal_program peal_program_peal_collective;

/* ---- the ring ------------------------------------------------------------ */

/* Rates the route from one device to another: 0 (worst) to 4 (NVLink). */
static uint32_t worth(struct peal_runtime *rt, int from, int to)
{
	struct peal_pair_info pair;

	if (peali_probe_verify(rt->peers, from, to, &pair))
		return 0;
	if (pair.route == PEAL_ROUTE_PEER)
		return strcmp(pair.kind, "nvlink") ? 3 : 4;
	return pair.route == PEAL_ROUTE_MAPPED_HOST ? 1 : 0;
}

/* Arranges 2 members or more. */
static int search_ring(struct peal_comm *g, const int *devices,
		       uint32_t *ring_out)
{
	uint32_t way[PEAL_COMM_MAX][PEAL_COMM_MAX] = { { 0 } }, i, j;

	for (i = 0; i < g->n; i++)
		for (j = 0; j < g->n; j++)
			if (i != j)
				way[i][j] =
					worth(g->rt, devices[i], devices[j]);
	return peali_ring_order(g->n, way, ring_out, CALL);
}

static int lay_ring(struct peal_comm *g, const int *devices)
{
	uint32_t ring[PEAL_COMM_MAX] = { 0 }, i;
	int result = g->n > 1 ? search_ring(g, devices, ring) : 0;

	if (result)
		return result;
	for (i = 0; i < g->n; i++) {
		g->members[i].rank = ring[i];
		g->members[i].device = devices[ring[i]];
		g->place_of[ring[i]] = i;
	}
	return 0;
}

/* ---- kernels and links --------------------------------------------------- */

static int launch(struct peal_comm *g, struct peali_comm_member *m)
{
	struct peal_kernel_options o = { .size = sizeof(o),
					 .workers = g->channels,
					 .max_inputs = g->n + 2,
					 .max_ports = g->n + 2,
					 .max_actors = g->channels + 1,
					 .mailbox.slots = g->set ? MAIL_SLOTS :
								   0,
					 .name = "group" };

	o.lanes = g->lanes ? g->lanes :
			     peali_kernel_lanes(g->rt, m->device, 256);
	return peal_kernel_launch(g->rt, m->device,
				  &peal_program_peal_collective, &o,
				  &m->kernel);
}

int peali_comm_launch(struct peal_comm *g, const char *call)
{
	uint32_t ends = g->n * (g->channels + 1), i;
	struct peal_endpoint_options o = { .size = sizeof(o),
					   .max_ports = ends,
					   .max_inputs = ends,
					   .name = "group" };
	int result = peali_block_alloc(g->rt, PEALI_HOST, sizeof(*g->plan),
				       &g->plan_block);

	if (result)
		return result;
	g->plan = (struct peal_collective_plan *)(uintptr_t)peali_block_view(
		g->rt, PEALI_HOST, &g->plan_block);
	g->max_links = 2 * ends + g->n * (g->channels + g->n);
	g->links = calloc(g->max_links, sizeof(*g->links));
	if (!g->links)
		return peali_fail(PEAL_ENOMEM, call, "no memory for a group");
	result =
		peali_endpoint_create_for(g->rt, &o, PEAL_WAIT_KINDS, &g->host);
	for (i = 0; i < g->n && !result; i++)
		if (peali_comm_is_here(g, i))
			result = launch(g, &g->members[i]);
	return result;
}

int peali_comm_spawn(struct peal_comm *g, uint32_t place, uint32_t channel,
		     uint64_t next, uint64_t *address_out)
{
	struct peali_comm_member *m = &g->members[place];
	struct peal_member_init init = {
		.plan = peali_block_view(g->rt, m->device, &g->plan_block),
		.place = place,
		.channel = channel % g->channels,
		.members = g->n,
		.next = (uint32_t)next,
		.has_next = next != 0,
		.processes = g->set != NULL,
	};
	struct peal_actor_options o = { .size = sizeof(o),
					.worker = 1 + channel % g->channels,
					.init = &init,
					.init_bytes = sizeof(init) };
	char exchange[24];

	snprintf(exchange, sizeof(exchange), "exchange_%u", g->n);
	return peal_actor_spawn(m->kernel,
				channel < g->channels ? "ring" : exchange, &o,
				address_out);
}

struct peal_link_options peali_comm_link(uint32_t capacity, uint64_t bytes)
{
	struct peal_link_options o = { .size = sizeof(o),
				       .capacity = capacity,
				       .message_bytes = bytes };

	/* enough for the longest message in each slot */
	o.slab_bytes = (capacity + 1) * PEAL_SLAB_ROUND(bytes);
	return o;
}

void peali_comm_own(struct peal_comm *g, struct peal_link *link)
{
	struct peal_link_info info;

	if (!peal_link_info(link, &info))
		g->link_bytes += info.memory_bytes;
	g->links[g->n_links++] = link;
}

static int connect_two(struct peal_comm *g, uint64_t from, uint32_t port,
		       uint64_t to, uint32_t capacity, uint64_t bytes)
{
	struct peal_link_options o = peali_comm_link(capacity, bytes);
	struct peal_link *link;
	int result = peal_connect(g->rt, from, port, to, &o, &link);

	if (!result)
		peali_comm_own(g, link);
	return result;
}

int peali_comm_connect_host(struct peal_comm *g, uint32_t place,
			    uint32_t channel, uint64_t actor)
{
	uint64_t host = peal_endpoint_address(g->host);
	uint32_t last = channel < g->channels ? 1 : g->n - 1;
	int result = 0;

	if (!g->set || channel == g->channels)
		result = connect_two(g, host,
				     peali_comm_port(g, place, channel), actor,
				     4, 16);
	return result ? result :
			connect_two(g, actor, last, host, 8,
				    sizeof(struct peal_member_done));
}

/* Spawns and connects the actors of one channel of the ring. */
static int connect_ring(struct peal_comm *g, uint32_t channel)
{
	uint64_t actor[PEAL_COMM_MAX];
	uint32_t i;
	int result = 0;

	for (i = 0; i < g->n && !result; i++) {
		result = peali_comm_spawn(g, i, channel, 0, &actor[i]);
		if (!result)
			result = peali_comm_connect_host(g, i, channel,
							 actor[i]);
	}
	for (i = 0; i < g->n && !result; i++) {
		result = connect_two(g, actor[i], 0, actor[(i + 1) % g->n],
				     PEALI_RING_SLOTS,
				     peali_ring_message_bytes(g));
		if (!result && !channel)
			g->members[i].next = g->links[g->n_links - 1];
	}
	return result;
}

static int connect_exchange(struct peal_comm *g)
{
	uint64_t actor[PEAL_COMM_MAX];
	uint32_t i, j;
	int result = 0;

	for (i = 0; i < g->n && !result; i++) {
		result = peali_comm_spawn(g, i, g->channels, 0, &actor[i]);
		if (!result)
			result = peali_comm_connect_host(g, i, g->channels,
							 actor[i]);
	}
	for (i = 0; i < g->n && !result; i++)
		for (j = 0; j < g->n && !result; j++)
			if (i != j)
				result = connect_two(
					g, actor[i], j < i ? j : j - 1,
					actor[j], 4,
					PEALI_EXCHANGE_MESSAGE_BYTES);
	return result;
}

static int start_members(struct peal_comm *g)
{
	uint32_t i;
	int result = peali_comm_launch(g, CALL);

	for (i = 0; i < g->channels && !result; i++)
		result = connect_ring(g, i);
	return result ? result : connect_exchange(g);
}

struct peal_comm *peali_comm_next(struct peal_comm *g)
{
	return g->next;
}

/* ---- create, destroy ----------------------------------------------------- */

/*
 * Checks the options of n members. The host endpoint has a port to each actor:
 * one per channel, and the exchange.
 */
static int check_options(const struct peal_comm_options *o, uint32_t n,
			 const char *call)
{
	uint32_t most = ENDPOINT_PORTS_MAX / n - 1;

	if (most > PEALI_CHANNELS_MAX)
		most = PEALI_CHANNELS_MAX;
	if (o->channels > most)
		return peali_refuse_option(call, "channels", o->channels, 0,
					   most);
	if (o->lanes > LANES_MAX)
		return peali_refuse_option(call, "lanes", o->lanes, 0,
					   LANES_MAX);
	if (o->slice_bytes % 8 || o->slice_bytes > SLICE_BYTES_MAX)
		return PEALI_REFUSE(PEAL_EINVAL, call, .object = "option",
				    .name = "slice_bytes",
				    .number = o->slice_bytes,
				    .most = SLICE_BYTES_MAX, .multiple = 8);
	return 0;
}

static int check_devices(struct peal_runtime *rt, const int *devices,
			 uint32_t n)
{
	if (!n || n > PEAL_COMM_MAX)
		return peali_refuse_range(CALL, "argument", "n", n, 1,
					  PEAL_COMM_MAX);
	return peali_devices_check_ranks(&rt->devices, devices, n, "a group",
					 CALL);
}

/*
 * Ends the kernels and links of a group, also of a half made one, and frees it.
 * After an error such as PEAL_EHUNG the group still exists.
 */
static int take_down(struct peal_comm *g)
{
	uint64_t deadline = peali_deadline(g->rt->stop_ns);
	uint32_t i;
	int result = 0;

	if (g->set)
		peali_comm_leave(g, deadline);
	for (i = 0; i < g->n; i++)
		if (g->members[i].kernel)
			peal_kernel_stop(g->members[i].kernel, 0);
	for (i = 0; i < g->n; i++)
		if (g->members[i].kernel &&
		    peali_kernel_end(g->members[i].kernel, deadline))
			result = PEAL_EHUNG;
	if (result)
		return result;
	peali_collective_let_go(g);
	while (g->n_links)
		peal_link_destroy(g->links[--g->n_links]);
	if (g->set)
		result = peali_comm_close_links(g);
	for (i = 0; i < g->n; i++)
		if (!result && g->members[i].kernel) {
			result = peal_kernel_destroy(g->members[i].kernel);
			if (!result)
				g->members[i].kernel = NULL;
		}
	if (result)
		return result;
	peal_endpoint_destroy(g->host);
	peali_block_free(g->rt, &g->plan_block);
	free(g->links);
	free(g->members);
	free(g);
	return 0;
}

static void enlist(struct peal_comm *g)
{
	pthread_mutex_lock(&g->rt->lock);
	g->next = g->rt->groups;
	g->rt->groups = g;
	pthread_mutex_unlock(&g->rt->lock);
}

static void unlist(struct peal_comm *g)
{
	struct peal_comm **at;

	pthread_mutex_lock(&g->rt->lock);
	for (at = &g->rt->groups; *at && *at != g; at = &(*at)->next)
		;
	if (*at)
		*at = g->next;
	pthread_mutex_unlock(&g->rt->lock);
}

struct peal_comm *peali_comm_new(struct peal_runtime *rt, uint32_t n,
				 const struct peal_comm_options *options,
				 const char *call)
{
	struct peal_comm_options o;
	struct peal_comm *g;

	if (peali_options_copy(&o, sizeof(o), options, call) ||
	    check_options(&o, n, call))
		return NULL;
	g = calloc(1, sizeof(*g));
	if (g)
		g->members = calloc(n, sizeof(*g->members));
	if (!g || !g->members) {
		free(g);
		peali_fail(PEAL_ENOMEM, call, "no memory for a group");
		return NULL;
	}
	g->rt = rt;
	g->n = n;
	g->channels = o.channels ? o.channels : 1;
	g->lanes = o.lanes;
	g->slice_bytes = o.slice_bytes ? o.slice_bytes : SLICE_BYTES;
	return g;
}

int peali_comm_made(struct peal_comm *g, int result, const char *call,
		    struct peal_comm **comm_out)
{
	struct peal_error_info failed = *peal_last_error();

	if (!result) {
		enlist(g);
		*comm_out = g;
		return 0;
	}
	if (take_down(g))
		enlist(g); /* peal_runtime_close reports it */
	return peali_fail(failed.code, call, "%s", failed.text);
}

int peal_comm_create(struct peal_runtime *rt, const int *devices, uint32_t n,
		     const struct peal_comm_options *options,
		     struct peal_comm **comm_out)
{
	struct peal_comm *g;
	int result;

	if (!rt || !devices || !comm_out)
		return peali_refuse_null(CALL, "runtime, devices or comm_out");
	if (peali_foreign(&rt->owner, CALL))
		return PEAL_EFORKED;
	result = check_devices(rt, devices, n);
	if (result)
		return peali_fail_in(result, "peal_comm_create");
	g = peali_comm_new(rt, n, options, CALL);
	if (!g)
		return peal_last_error()->code;
	result = lay_ring(g, devices);
	if (!result && n > 1)
		result = start_members(g);
	return peali_comm_made(g, result, CALL, comm_out);
}

int peal_comm_destroy(struct peal_comm *g)
{
	int result;

	if (!g)
		return 0;
	if (peali_foreign(&g->rt->owner, "peal_comm_destroy"))
		return PEAL_EFORKED;
	unlist(g);
	result = take_down(g);
	if (result)
		enlist(g);
	return result;
}

/* ---- info ---------------------------------------------------------------- */

int peal_comm_info(struct peal_comm *g, struct peal_comm_info *info_out)
{
	struct peal_link_info link;
	struct peal_kernel_info kernel;
	uint32_t i;

	if (!g || !info_out)
		return peali_refuse_null("peal_comm_info", "comm or info_out");
	if (peali_foreign(&g->rt->owner, "peal_comm_info"))
		return PEAL_EFORKED;
	memset(info_out, 0, sizeof(*info_out));
	info_out->members = g->n;
	info_out->channels = g->channels;
	info_out->slice_bytes = (uint32_t)g->slice_bytes;
	info_out->memory_bytes = g->link_bytes;
	info_out->done = atomic_load(&g->ended);
	for (i = 0; i < g->n; i++) {
		info_out->device[g->members[i].rank] = g->members[i].device;
		info_out->ring[i] = g->members[i].rank;
		if (g->n == 1)
			continue;
		if (g->set)
			info_out->route[i] = PEAL_ROUTE_PROCESS;
		else if (!peal_link_info(g->members[i].next, &link))
			info_out->route[i] = link.route;
		if (g->members[i].kernel &&
		    !peal_kernel_info(g->members[i].kernel, &kernel))
			info_out->lanes = kernel.lanes;
	}
	return 0;
}
