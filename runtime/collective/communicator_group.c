/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Communicators (struct peal_comm) of processes: creates them, checks the
 * other processes and closes the links.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "runtime/base/error.h"
#include "runtime/base/refusal.h"
#include "runtime/base/text.h"
#include "runtime/base/wait.h"
#include "runtime/collective/communicator.h"
#include "runtime/device/devices.h"
#include "runtime/ipc/process_group.h"
#include "runtime/kernel/kernel_control.h"
#include "runtime/link/link.h"
#include "runtime/link/remote.h"

#define CALL "peal_comm_create_group"
#define NAME_MAX 40 /* bytes with the final 0; export names append a suffix */
#define CREATE_NS 30000000000LL
#define EXCHANGE_SLOTS 8
#define LOOK_US 100

/* Wait for a worker's answer. */
#define ANSWER_NS 100000000
#define LOOK_NS 50000000LL

/* ---- members ------------------------------------------------------------- */

static int check_ranks(struct peal_process_group *set, const uint32_t *ranks,
		       uint32_t n, uint32_t *own_out)
{
	uint32_t i, j, own = n;

	if (!n || n > PEAL_COMM_MAX)
		return peali_refuse_range(CALL, "argument", "n", n, 1,
					  PEAL_COMM_MAX);
	for (i = 0; i < n; i++) {
		if (ranks[i] >= set->plan.ranks)
			return peali_refuse_index(CALL, "process group", NULL,
						  "rank", ranks[i],
						  set->plan.ranks, NULL);
		for (j = 0; j < i; j++)
			if (ranks[j] == ranks[i])
				return PEALI_REFUSE(
					PEAL_EINVAL, CALL,
					.object = PEALI_PRINT("rank %u",
							      ranks[i]),
					.problem = "is listed twice",
					.value = "2 times", .allowed = "1",
					.remedy = "list it once");
		if (ranks[i] == set->plan.rank)
			own = i;
	}
	if (own == n)
		return PEALI_REFUSE(PEAL_EINVAL, CALL, .object = "argument",
				    .name = "ranks",
				    .problem = "lacks the rank of the caller",
				    .value = "not listed",
				    .allowed = PEALI_PRINT("lists with rank %u",
							   set->plan.rank),
				    .remedy = "add this rank");
	*own_out = own;
	return 0;
}

static int check_here(struct peal_process_group *set, const uint32_t *ranks,
		      uint32_t n)
{
	uint32_t i;
	int result = 0;

	pthread_mutex_lock(&set->lock);
	for (i = 0; i < n && !result; i++) {
		const struct peali_peer *p = &set->peers[ranks[i]];

		if (p->state != PEAL_PROCESS_SELF &&
		    p->state != PEAL_PROCESS_ALIVE)
			result = peali_peer_gone(p, CALL);
	}
	pthread_mutex_unlock(&set->lock);
	return result;
}

/*
 * Hashes the ranks in their order, by FNV-1a (Fowler, Noll, Vo) on 32-bit
 * words.
 */
static uint64_t hash_ranks(const uint32_t *ranks, uint32_t n)
{
	uint64_t h = 0xcbf29ce484222325ULL ^ n;
	uint32_t i;

	for (i = 0; i < n; i++)
		h = (h ^ ranks[i]) * 0x100000001b3ULL;
	return h;
}

static int check_name(struct peal_process_group *set, const char *name)
{
	const struct peal_comm *g;

	pthread_mutex_lock(&set->rt->lock);
	for (g = set->rt->groups; g; g = g->next)
		if (g->set == set && !strcmp(g->name, name))
			break;
	pthread_mutex_unlock(&set->rt->lock);
	return g ? peali_fail(PEAL_EEXIST, CALL,
			      "this process has a group '%s' in the set "
			      "already",
			      name) :
		   0;
}

static void place_members(struct peal_comm *g, const uint32_t *ranks,
			  int device)
{
	uint32_t i;

	for (i = 0; i < g->n; i++) {
		g->members[i].rank = i;
		g->members[i].process = ranks[i];
		g->members[i].device = i == g->own ? device : -1;
		g->place_of[i] = i;
	}
	g->ranks = hash_ranks(ranks, g->n);
}

/* ---- actors and links ---------------------------------------------------- */

/**
 * Actors of the member here: one for each channel of the ring, then the
 * exchange.
 */
struct actors {
	uint64_t address[PEALI_CHANNELS_MAX + 1];
};

static void export_name(const struct peal_comm *g, uint32_t channel,
			char name[PEAL_PROCESS_NAME_BYTES])
{
	if (channel < g->channels)
		snprintf(name, PEAL_PROCESS_NAME_BYTES, "%.39s/%u", g->name,
			 channel % 100);
	else
		snprintf(name, PEAL_PROCESS_NAME_BYTES, "%.39s/x", g->name);
}

/*
 * Spawns the actors. The last channel comes first, because each actor needs the
 * address of the next one.
 */
static int make_actors(struct peal_comm *g, struct actors *a)
{
	uint64_t next = 0;
	uint32_t c;
	int result = 0;

	for (c = g->channels; c-- && !result; next = a->address[c]) {
		result = peali_comm_spawn(g, g->own, c, next, &a->address[c]);
		if (!result)
			result = peali_comm_connect_host(g, g->own, c,
							 a->address[c]);
	}
	c = g->channels;
	if (!result)
		result = peali_comm_spawn(g, g->own, c, next, &a->address[c]);
	return result ? result :
			peali_comm_connect_host(g, g->own, c, a->address[c]);
}

static int offer(struct peal_comm *g, const struct actors *a)
{
	char name[PEAL_PROCESS_NAME_BYTES];
	uint32_t c;
	int result = 0;

	for (c = 0; c <= g->channels && !result; c++) {
		export_name(g, c, name);
		result = peal_process_export(g->set, name, a->address[c]);
		g->n_exported += !result;
	}
	return result;
}

/*
 * Removes the exports, when all members have connected or the creation failed.
 */
static void withdraw(struct peal_comm *g)
{
	char name[PEAL_PROCESS_NAME_BYTES];

	while (g->n_exported) {
		export_name(g, --g->n_exported, name);
		peal_process_unexport(g->set, name);
	}
}

static int64_t left(uint64_t deadline)
{
	uint64_t now = peali_now_ns();

	if (deadline == UINT64_MAX)
		return -1;
	return now < deadline ? (int64_t)(deadline - now) : 0;
}

/* Checks that the processes of all members are in the process group. */
static int check_members(const struct peal_comm *g)
{
	uint32_t ranks[PEAL_COMM_MAX], i;

	for (i = 0; i < g->n; i++)
		ranks[i] = g->members[i].process;
	return check_here(g->set, ranks, g->n);
}

/*
 * Connects to an actor of another member. Checks all members for ended
 * processes every LOOK_NS. Without the check this call could wait for a member
 * that itself waits for an ended process.
 */
static int connect_to(struct peal_comm *g, uint32_t place, uint32_t channel,
		      uint64_t from, uint32_t port, struct peal_link_options o,
		      uint64_t deadline, struct peal_link **link_out)
{
	uint32_t process = g->members[place].process;
	char name[PEAL_PROCESS_NAME_BYTES];
	int64_t rest;
	int result;

	export_name(g, channel, name);
	do {
		rest = left(deadline);
		if (rest < 0 || rest > LOOK_NS)
			rest = LOOK_NS;
		result = check_members(g);
		if (!result)
			result = peal_process_connect(g->set, process, name,
						      from, port, &o, rest,
						      link_out);
	} while (result == PEAL_ENOENT && left(deadline));
	if (result == PEAL_ENOENT)
		return peali_fail(result, CALL,
				  "rank %u of the set does not create group "
				  "'%s'",
				  process, g->name);
	if (!result)
		peali_comm_own(g, *link_out);
	return result;
}

static int connect_exchanges(struct peal_comm *g, uint64_t from,
			     uint64_t deadline)
{
	struct peal_link_options o =
		peali_comm_link(EXCHANGE_SLOTS, PEALI_EXCHANGE_MESSAGE_BYTES);
	uint32_t i;
	int result = 0;

	for (i = 0; i < g->n && !result; i++)
		if (i != g->own)
			result = connect_to(g, i, g->channels, from,
					    i < g->own ? i : i - 1, o, deadline,
					    &g->members[i].exchange);
	return result;
}

static int connect_rings(struct peal_comm *g, const struct actors *a,
			 uint64_t deadline)
{
	struct peal_link_options o =
		peali_comm_link(PEALI_RING_SLOTS, peali_ring_message_bytes(g));
	uint32_t next = (g->own + 1) % g->n, c;
	struct peal_link *link;
	int result = 0;

	for (c = 0; c < g->channels && !result; c++)
		result = connect_to(g, next, c, a->address[c], 0, o, deadline,
				    &link);
	return result;
}

/*
 * Runs a barrier of the members. The barrier fails if their arguments differ.
 */
static int meet(struct peal_comm *g, uint64_t deadline)
{
	struct peal_collective c = { .size = sizeof(c),
				     .kind = PEAL_COMM_BARRIER };

	return peal_collective_run(g, &c, left(deadline));
}

/*
 * Creates actors and links:
 *
 * 1. Offer the actors. Connect the exchanges. By a barrier the members check
 *    that they create the same communicator.
 * 2. Connect the rings. After a second barrier all members have their links, so
 *    the exports are not needed any more.
 * 3. Remove the exports. After a third barrier the name may be used again.
 */
static int make(struct peal_comm *g, uint64_t deadline)
{
	struct actors a;
	int result = peali_comm_launch(g, CALL);

	if (!result)
		result = make_actors(g, &a);
	if (!result)
		result = offer(g, &a);
	if (!result)
		result = connect_exchanges(g, a.address[g->channels], deadline);
	if (!result)
		result = meet(g, deadline);
	if (!result)
		result = connect_rings(g, &a, deadline);
	if (!result)
		result = meet(g, deadline);
	if (result)
		return result;
	withdraw(g);
	return meet(g, deadline);
}

static int check_arguments(struct peal_process_group *set, const char *name,
			   struct peal_comm **comm_out)
{
	size_t n = name ? strnlen(name, NAME_MAX) : 0;

	if (!set || !comm_out)
		return peali_refuse_null(CALL, "group or comm_out");
	if (peali_foreign(&set->rt->owner, CALL))
		return PEAL_EFORKED;
	if (!n || n >= NAME_MAX)
		return peali_refuse_name(CALL, name, NAME_MAX - 1);
	return 0;
}

int peal_comm_create_group(struct peal_process_group *set, const char *name,
			   const uint32_t *ranks, uint32_t n, int device,
			   const struct peal_comm_options *options,
			   int64_t timeout_ns, struct peal_comm **comm_out)
{
	uint64_t deadline = peali_deadline(timeout_ns ? timeout_ns : CREATE_NS);
	uint32_t all[PEAL_PROCESS_GROUP_MAX], i, own = 0;
	struct peal_error_info failed;
	struct peal_comm *g;
	int result = check_arguments(set, name, comm_out);

	if (result)
		return result;
	for (i = 0; i < PEAL_PROCESS_GROUP_MAX; i++)
		all[i] = i;
	if (!ranks) {
		ranks = all;
		n = set->plan.ranks;
	}
	result = check_ranks(set, ranks, n, &own);
	if (!result)
		result = check_name(set, name);
	if (!result)
		result = peali_devices_check_ranks(&set->rt->devices, &device,
						   1, "a group", CALL);
	if (!result)
		result = check_here(set, ranks, n);
	if (result)
		return result;
	g = peali_comm_new(set->rt, n, options, CALL);
	if (!g)
		return peal_last_error()->code;
	g->set = set;
	g->own = own;
	snprintf(g->name, sizeof(g->name), "%s", name);
	place_members(g, ranks, device);
	result = n > 1 ? make(g, deadline) : 0;
	failed = *peal_last_error();
	withdraw(g);
	atomic_store(&g->ended, 0); /* without the three barriers */
	if (result)
		peali_fail(failed.code, failed.call, "%s", failed.text);
	return peali_comm_made(g, result, CALL, comm_out);
}

/* ---- checks of other processes ------------------------------------------- */

int peali_group_check_unused(struct peal_process_group *set, const char *call)
{
	const struct peal_comm *g;

	for (g = set->rt->groups; g && g->set != set; g = g->next)
		;
	if (!g)
		return 0;
	return peali_fail(PEAL_EBUSY, call,
			  "group '%s' has links of this set; call "
			  "peal_comm_destroy first",
			  g->name);
}

int peali_comm_was_called(const struct peal_comm *g, uint32_t place)
{
	const struct peal_collective_plan *p = g->plan;

	return peal_load_acquire_sys(
		       &p->called[p->sequence & 1][place].sequence) ==
	       p->sequence;
}

/*
 * Returns the first place with a process that is gone and that the current
 * collective needs. Returns g->n if there is none. A process that has left
 * because of another process is the last choice.
 */
static uint32_t find_gone(const struct peal_comm *g)
{
	uint32_t i, gone = g->n;

	for (i = 0; i < g->n; i++) {
		const struct peal_link *link = g->members[i].exchange;
		int error = link ? peali_remote_error(link) : 0;

		/* a process that leaves after its call is not needed */
		if (!error || (error == PEAL_ESTOPPED && g->waits_for &&
			       peali_comm_was_called(g, i)))
			continue;
		if (!peali_remote_blames(link))
			return i;
		gone = i;
	}
	return gone;
}

int peali_comm_check_processes(struct peal_comm *g, const char *call)
{
	uint32_t i = find_gone(g);
	const struct peal_link *link;
	int error;

	if (i == g->n)
		return 0;
	link = g->members[i].exchange;
	error = peali_remote_error(link);
	peali_remote_why(link, g->why);
	return peali_fail(error, call,
			  "%s (rank %u of group '%s'); the group can only be "
			  "destroyed",
			  g->why, g->members[i].rank, g->name);
}

static unsigned long long slice_bytes(const struct peal_member_call *c)
{
	return (unsigned long long)c->slice * peal_element_bytes(c->element);
}

/* Describes a member's call of a collective in words. */
static void describe(const struct peal_member_call *c, char *text, size_t size)
{
	static const char *const kinds[] = { "?",	  "all-reduce",
					     "reduce",	  "reduce-scatter",
					     "broadcast", "all-gather",
					     "gather",	  "scatter",
					     "barrier",	  "all-to-all" };
	static const char *const elements[] = { "?",   "i32", "i64", "f32",
						"f64", "f16", "bf16" };
	static const char *const reductions[] = { "",	      "sum ",
						  "product ", "minimum ",
						  "maximum ", "average " };
	static const char *const algorithms[] = { "?", "ring", "exchange",
						  "tree" };

	snprintf(text, size,
		 "%s, %s%llu %s, root %u, by %s, %u channels, slices of %llu "
		 "bytes",
		 kinds[c->kind < PEAL_COLLECTIVE_KINDS ? c->kind : 0],
		 reductions[c->reduction < PEAL_REDUCTIONS ? c->reduction : 0],
		 (unsigned long long)c->count,
		 elements[c->element < PEAL_ELEMENTS ? c->element : 0], c->root,
		 algorithms[c->algorithm < PEAL_ALGORITHMS ? c->algorithm : 0],
		 c->channels, slice_bytes(c));
}

int peali_comm_differs(const struct peal_comm *g, const char *call)
{
	const struct peal_member_call *all =
		g->plan->called[g->plan->sequence & 1];
	char own[160], other[160];
	uint32_t i;

	for (i = 0;
	     i + 1 < g->n && !memcmp(&all[i], &all[g->own], sizeof(all[i]));
	     i++)
		;
	if (all[i].ranks != all[g->own].ranks)
		return peali_fail(PEAL_EINVAL, call,
				  "rank %u creates group '%s' of other "
				  "processes, or in another order",
				  i, g->name);
	if (!strcmp(call, "peal_comm_create_group"))
		return peali_fail(
			PEAL_EINVAL, call,
			"rank %u creates group '%s' with other options: %u "
			"channels, slices of %llu bytes; this one, rank %u, "
			"with %u and %llu",
			i, g->name, all[i].channels, slice_bytes(&all[i]),
			g->own, all[g->own].channels,
			slice_bytes(&all[g->own]));
	describe(&all[g->own], own, sizeof(own));
	describe(&all[i], other, sizeof(other));
	return peali_fail(PEAL_EINVAL, call,
			  "rank %u of group '%s' differs: %s; this one, rank "
			  "%u, calls: %s",
			  i, g->name, other, g->own, own);
}

/* ---- destruction --------------------------------------------------------- */

/* Returns whether other processes have yet to take messages of this process. */
static int is_awaited(const struct peal_comm *g)
{
	struct peal_link_info info;
	uint32_t i;

	for (i = 0; i < g->n_links; i++)
		if (peali_remote_sends(g->links[i]) &&
		    !peali_remote_error(g->links[i]) &&
		    !peal_link_info(g->links[i], &info) && info.queued)
			return 1;
	return 0;
}

/*
 * Returns whether a link leads from the member here to another process, or
 * back.
 */
static int is_of(const struct peal_comm *g, const struct peal_link *link)
{
	const struct peal_kernel *kernel = g->members[g->own].kernel;

	return kernel && link->remote &&
	       (link->from.kernel == kernel || link->to.kernel == kernel);
}

/* Waits until the workers here that send to other processes have published their
 * counts. A GPU counts its messages late. */
static void await_counts(const struct peal_comm *g)
{
	const struct peal_control_reclaim fence = { .step = PEAL_RECLAIM_FENCE };
	uint32_t i;

	for (i = 0; i < g->n_links; i++) {
		const struct peal_link *link = g->links[i];

		if (peali_remote_sends(link) && peali_link_sent_lags(link))
			peali_kernel_try(link->from.kernel, link->from.worker,
					 PEAL_CONTROL_RECLAIM, &fence,
					 sizeof(fence),
					 peali_deadline(ANSWER_NS));
	}
}

void peali_comm_leave(struct peal_comm *g, uint64_t deadline)
{
	int error = g->waits_for ? PEAL_EABORTED : PEAL_ESTOPPED;
	struct peal_link *link;

	if (!g->waits_for)
		await_counts(g);
	while (!g->waits_for && is_awaited(g) && !peali_late(deadline))
		usleep(LOOK_US);
	pthread_mutex_lock(&g->rt->lock);
	for (link = g->rt->links; link; link = link->next)
		if (is_of(g, link))
			peali_remote_tell_why(link, error, g->why);
	pthread_mutex_unlock(&g->rt->lock);
}

int peali_comm_close_links(struct peal_comm *g)
{
	struct peal_link *link;
	int result = 0;

	pthread_mutex_lock(&g->rt->lock);
	do {
		for (link = g->rt->links; link && !is_of(g, link);
		     link = link->next)
			;
		if (link)
			result =
				peali_link_take_down(link, "peal_comm_destroy");
	} while (link && !result);
	pthread_mutex_unlock(&g->rt->lock);
	return result;
}
