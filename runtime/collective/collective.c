/* SPDX-License-Identifier: Apache-2.0 */
/* Starts the collectives of a group, and waits for their end. */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "p2p/peer.h"
#include "runtime/base/collect_reports.h"
#include "runtime/base/error.h"
#include "runtime/base/refusal.h"
#include "runtime/base/text.h"
#include "runtime/base/wait.h"
#include "runtime/collective/communicator.h"
#include "runtime/kernel/kernel_control.h"
#include "runtime/kernel/counters.h"
#include "runtime/link/endpoint.h"

#define START "peal_collective_start"
#define WAIT "peal_collective_wait"

/* ---- state --------------------------------------------------------------- */

/* Returns 1 if the group uses a device, and none of its kernels has ended. */
static int is_live_on(const struct peal_comm *g, int device)
{
	uint32_t i;
	int found = 0;

	for (i = 0; i < g->n; i++) {
		const struct peali_comm_member *m = &g->members[i];

		if (m->kernel && peali_kernel_ended(m->kernel))
			return 0;
		found |= m->kernel &&
			 (device == PEAL_ALL_DEVICES || m->device == device);
	}
	return found;
}

int peali_comm_is_busy(const struct peal_comm *g, int device, uint64_t before)
{
	uint32_t left = atomic_load(&g->waits_for);

	return left && atomic_load(&g->submission) < before &&
	       is_live_on(g, device) && peali_endpoint_queued(g->host) < left;
}

/* ---- arguments ----------------------------------------------------------- */

static int has_root(const struct peal_collective *c)
{
	return c->kind == PEAL_REDUCE || c->kind == PEAL_BROADCAST ||
	       c->kind == PEAL_GATHER || c->kind == PEAL_SCATTER;
}

static int check(const struct peal_comm *g, const struct peal_collective *c)
{
	if (!c->kind || c->kind >= PEAL_COLLECTIVE_KINDS)
		return peali_refuse_option(START, "kind", c->kind, 1,
					   PEAL_COLLECTIVE_KINDS - 1);
	if (c->algorithm >= PEAL_ALGORITHMS)
		return peali_refuse_option(START, "algorithm", c->algorithm, 0,
					   PEAL_ALGORITHMS - 1);
	if (c->kind == PEAL_COMM_BARRIER)
		return 0;
	if (!c->element || c->element >= PEAL_ELEMENTS)
		return peali_refuse_option(START, "element", c->element, 1,
					   PEAL_ELEMENTS - 1);
	if (peali_kind_reduces(c->kind) ?
		    !c->reduction || c->reduction >= PEAL_REDUCTIONS :
		    c->reduction != 0)
		return peali_refuse_option(
			START, "reduction", c->reduction,
			peali_kind_reduces(c->kind),
			peali_kind_reduces(c->kind) ? PEAL_REDUCTIONS - 1 : 0);
	if (has_root(c) ? c->root >= g->n : c->root != 0)
		return peali_refuse_option(START, "root", c->root, 0,
					   has_root(c) ? g->n - 1 : 0);
	if (c->count > UINT64_MAX / 16)
		return PEALI_REFUSE(PEAL_EINVAL, START, .object = "option",
				    .name = "count",
				    .problem = "is too large for the memory",
				    .number = c->count,
				    .most = UINT64_MAX / 16);
	if (c->count && (!c->in || !c->out))
		return peali_refuse_null(START, c->in ? "out" : "in");
	return 0;
}

/* ---- memory of the members ----------------------------------------------- */

/** The memory that a member reads or writes. 0 and 0: none. */
struct span {
	uint64_t address, bytes;
};

/* Returns the bytes of a rank's part, and its byte offset in the whole. */
static uint64_t part_bytes(const struct peal_comm *g,
			   const struct peal_collective *c, uint32_t rank,
			   uint64_t *offset_out)
{
	uint64_t bytes = peal_element_bytes(c->element), length;

	*offset_out = peal_part(c->count, g->n, rank, &length) * bytes;
	return length * bytes;
}

static struct span in_of(const struct peal_comm *g,
			 const struct peal_collective *c, uint32_t rank)
{
	struct span s = { 0, c->count * peal_element_bytes(c->element) };
	uint64_t offset;

	if (peali_kind_takes_parts(c->kind))
		s.bytes = part_bytes(g, c, rank, &offset);
	else if ((c->kind == PEAL_BROADCAST || c->kind == PEAL_SCATTER) &&
		 rank != c->root)
		s.bytes = 0;
	if (s.bytes)
		s.address = c->in[rank];
	return s;
}

static struct span out_of(const struct peal_comm *g,
			  const struct peal_collective *c, uint32_t rank)
{
	struct span s = { 0, c->count * peal_element_bytes(c->element) };
	uint64_t offset;

	if (peali_kind_gives_parts(c->kind))
		s.bytes = part_bytes(g, c, rank, &offset);
	else if (c->kind == PEAL_ALL_TO_ALL)
		s.bytes = g->n * part_bytes(g, c, rank, &offset);
	else if ((c->kind == PEAL_REDUCE || c->kind == PEAL_GATHER) &&
		 rank != c->root)
		s.bytes = 0;
	if (s.bytes)
		s.address = c->out[rank];
	return s;
}

static int keep(struct peal_comm *g, const struct peal_collective *c,
		struct peali_comm_member *m, const char *what, struct span s,
		struct peali_range *kept)
{
	struct peali_place place = { m->device, s.address };

	if (s.address % peal_element_bytes(c->element))
		return PEALI_REFUSE(
			PEAL_EINVAL, START, .object = "option", .name = what,
			.problem =
				PEALI_PRINT("of rank %u is not aligned to its "
					    "elements",
					    m->rank),
			.value = PEALI_PRINT("0x%llx",
					     (unsigned long long)s.address),
			.allowed = PEALI_PRINT("multiples of %u",
					       peal_element_bytes(c->element)),
			.remedy = "pass another address");
	return peali_range_keep(g->rt->peers, place, s.bytes, START, kept);
}

static int overlap(const struct peali_range *a, const struct peali_range *b)
{
	return a->bytes && b->bytes && a->place.device == b->place.device &&
	       a->place.address < b->place.address + b->bytes &&
	       b->place.address < a->place.address + a->bytes;
}

/*
 * Returns 1 if `in` and `out` of a member begin at the same element, and the
 * collective allows that.
 */
static int is_in_place(const struct peal_comm *g,
		       const struct peal_collective *c,
		       const struct peali_comm_member *m)
{
	uint64_t offset, in = m->in.place.address, out = m->out.place.address;

	if (m->in.place.device != m->out.place.device ||
	    c->kind == PEAL_ALL_TO_ALL)
		return 0;
	part_bytes(g, c, m->rank, &offset);
	if (peali_kind_takes_parts(c->kind))
		return in == out + offset;
	if (peali_kind_gives_parts(c->kind))
		return out == in + offset;
	return in == out;
}

static int check_overlaps(const struct peal_comm *g,
			  const struct peal_collective *c)
{
	const struct peali_comm_member *a, *b, *end = g->members + g->n;

	for (a = g->members; a < end; a++)
		for (b = g->members; b < end; b++)
			if ((overlap(&a->out, &b->in) &&
			     !(a == b && is_in_place(g, c, a))) ||
			    (a != b && overlap(&a->out, &b->out)))
				return PEALI_REFUSE(
					PEAL_EINVAL, START, .object = "option",
					.name = "out",
					.problem = PEALI_PRINT(
						"overlaps a range of "
						"rank %u on device %d",
						b->rank, b->device),
					.value = PEALI_PRINT(
						"rank %u, device %d", a->rank,
						a->device),
					.allowed = "ranges apart",
					.remedy = "pass another address");
	return 0;
}

void peali_collective_let_go(struct peal_comm *g)
{
	uint32_t i;

	for (i = 0; i < g->n; i++) {
		peali_range_let_go(g->rt->peers, &g->members[i].in);
		peali_range_let_go(g->rt->peers, &g->members[i].out);
	}
}

static int keep_all(struct peal_comm *g, const struct peal_collective *c)
{
	uint32_t i;
	int result = 0;

	for (i = 0; i < g->n && !result; i++) {
		struct peali_comm_member *m = &g->members[i];

		if (!peali_comm_is_here(g, i))
			continue;
		result = keep(g, c, m, "in", in_of(g, c, m->rank), &m->in);
		if (!result)
			result = keep(g, c, m, "out", out_of(g, c, m->rank),
				      &m->out);
	}
	return result ? result : check_overlaps(g, c);
}

/* Returns 0 if the member's own share of the result is in place. Also returns 0
 * if the share is a reduction of values of several members. */
static int has_own_copy(const struct peal_comm *g,
			const struct peal_collective *c,
			const struct peali_comm_member *m)
{
	return in_of(g, c, m->rank).bytes && out_of(g, c, m->rank).bytes &&
	       !is_in_place(g, c, m) &&
	       (g->n == 1 || !peali_kind_reduces(c->kind));
}

/* Copies the member's own share of the result from `in` to `out`, if it has to be
 * copied. */
static int copy_own(struct peal_comm *g, const struct peal_collective *c,
		    const struct peali_comm_member *m)
{
	struct peali_place from = { m->device, 0 }, to = from;
	struct span in = in_of(g, c, m->rank), out = out_of(g, c, m->rank);
	uint64_t offset, bytes = part_bytes(g, c, m->rank, &offset);

	if (!has_own_copy(g, c, m))
		return 0;
	from.address = in.address;
	to.address = out.address;
	if (peali_kind_takes_parts(c->kind))
		to.address += offset;
	else if (peali_kind_gives_parts(c->kind))
		from.address += offset;
	else if (c->kind == PEAL_ALL_TO_ALL) {
		from.address += offset;
		to.address += m->rank * bytes;
	} else
		bytes = out.bytes;
	return peali_copy_sync_one(g->rt->peers, to, from, bytes);
}

/* ---- start --------------------------------------------------------------- */

static int check_members(struct peal_comm *g, const char *call)
{
	struct peal_kernel_info info;
	uint32_t i;

	for (i = 0; i < g->n; i++) {
		struct peali_comm_member *m = &g->members[i];

		if (!m->kernel || !peali_kernel_ended(m->kernel))
			continue;
		if (peal_kernel_info(m->kernel, &info) || !info.result)
			info.result = PEAL_ESTOPPED;
		return peali_fail(PEAL_EABORTED, call,
				  "the member of rank %u on device %d has "
				  "ended: %s; the group can only be destroyed",
				  m->rank, m->device,
				  peal_error_text(info.result));
	}
	return peali_comm_check_processes(g, call);
}

/* Returns the bytes of the longest message of an exchange or a tree. */
static uint64_t message_bytes(const struct peal_comm *g,
			      const struct peal_collective *c)
{
	uint64_t offset;

	if (c->kind == PEAL_COMM_BARRIER)
		return 0;
	if (c->kind == PEAL_ALL_REDUCE || c->kind == PEAL_REDUCE ||
	    c->kind == PEAL_BROADCAST)
		return c->count * peal_element_bytes(c->element);
	return part_bytes(g, c, 0, &offset);
}

/*
 * Chooses the algorithm: the caller's, or the default for the size. A barrier
 * uses a tree or an exchange. Returns 0, PEAL_EINVAL or PEAL_EMSGSIZE.
 */
static int choose(const struct peal_comm *g, const struct peal_collective *c,
		  uint32_t *algorithm_out)
{
	uint64_t bytes = message_bytes(g, c);
	uint32_t algorithm = c->algorithm;

	if (algorithm == PEAL_ALGORITHM_TREE && !peali_kind_has_tree(c->kind))
		return PEALI_REFUSE(
			PEAL_EINVAL, START, .object = "option",
			.name = "algorithm",
			.problem = "does not split elements, as this kind "
				   "needs",
			.value = "tree", .allowed = "another algorithm, or 0",
			.remedy = "use 0");
	if (c->kind == PEAL_COMM_BARRIER && algorithm != PEAL_ALGORITHM_TREE)
		algorithm = PEAL_ALGORITHM_EXCHANGE;
	if (!algorithm)
		algorithm = bytes <= PEAL_EXCHANGE_BYTES ?
				    PEAL_ALGORITHM_EXCHANGE :
				    PEAL_ALGORITHM_RING;
	if (algorithm != PEAL_ALGORITHM_RING && bytes > PEAL_EXCHANGE_BYTES)
		return PEALI_REFUSE(
			PEAL_EMSGSIZE, START, .object = "option",
			.name = "algorithm",
			.problem = "is an exchange or a tree, and the "
				   "messages are too long",
			.value = PEALI_PRINT("%llu bytes",
					     (unsigned long long)bytes),
			.allowed = PEALI_PRINT("0..%u", PEAL_EXCHANGE_BYTES),
			.remedy = "use PEAL_ALGORITHM_RING");
	*algorithm_out = algorithm;
	return 0;
}

static void write_plan(struct peal_comm *g, const struct peal_collective *c)
{
	struct peal_collective_plan *p = g->plan;
	uint32_t i;

	p->sequence++;
	g->differs = 0;
	p->kind = c->kind;
	p->element = c->kind == PEAL_COMM_BARRIER ? PEAL_I32 : c->element;
	p->reduction = c->reduction;
	p->count = c->kind == PEAL_COMM_BARRIER ? 0 : c->count;
	p->slice = g->slice_bytes / peal_element_bytes(p->element);
	p->members = g->n;
	p->channels = g->channels;
	p->root = has_root(c) ? g->place_of[c->root] : 0;
	p->algorithm = g->algorithm;
	p->processes = g->set != NULL;
	p->ranks = g->ranks;
	for (i = 0; i < g->n; i++) {
		struct peali_comm_member *m = &g->members[i];

		p->rank[i] = m->rank;
		if (!peali_comm_is_here(g, i))
			continue;
		p->in[i] = p->count ? in_of(g, c, m->rank).address : 0;
		p->out[i] = p->count ? out_of(g, c, m->rank).address : 0;
		m->done = 0;
	}
}

/*
 * Sends BEGIN to the actors of all members in this process. Their links have a
 * free slot, because a group runs one collective at a time. So a failed send
 * means that the member has ended.
 */
static int tell_members(struct peal_comm *g)
{
	int by_ring = g->algorithm == PEAL_ALGORITHM_RING;
	uint32_t first = by_ring && !g->set ? 0 : g->channels;
	uint32_t end = by_ring && !g->set ? g->channels : g->channels + 1;
	uint32_t place, channel;

	for (place = 0; place < g->n; place++)
		for (channel = peali_comm_is_here(g, place) ? first : end;
		     channel < end; channel++) {
			int result = peal_send(
				g->host, peali_comm_port(g, place, channel),
				PEAL_MEMBER_BEGIN, NULL, 0, 0, NULL);

			if (result)
				return check_members(g, START) ? PEAL_EABORTED :
								 result;
			g->waits_for++;
		}
	if (g->set && by_ring) /* the exchange starts the channels */
		g->waits_for = g->channels;
	return 0;
}

/*
 * Copies the members' own shares. If the device of such a member waits for an
 * event, the function returns PEAL_EBUSY and copies nothing.
 */
static int copy_all_own(struct peal_comm *g, const struct peal_collective *c)
{
	uint32_t i;
	int result = 0;

	for (i = 0; i < g->n && !result; i++) {
		const struct peali_comm_member *m = &g->members[i];

		if (has_own_copy(g, c, m) &&
		    peali_gate_of(&g->rt->devices, m->device))
			result = peali_fail(
				PEAL_EBUSY, START,
				"device %d waits for an event before it may "
				"copy its own part; wait for the event, or "
				"work in place",
				m->device);
	}
	for (i = 0; i < g->n && !result; i++)
		result = copy_own(g, c, &g->members[i]);
	return result;
}

static int begin(struct peal_comm *g, const struct peal_collective *c)
{
	int result = choose(g, c, &g->algorithm);

	if (!result && c->kind != PEAL_COMM_BARRIER)
		result = keep_all(g, c);
	if (!result)
		result = check_members(g, START);
	/* a group of processes has to agree first, and then calls copy_late */
	if (!result && c->kind != PEAL_COMM_BARRIER && (!g->set || g->n == 1))
		result = copy_all_own(g, c);
	if (!result && g->n > 1) {
		atomic_store(&g->submission,
			     atomic_fetch_add(&g->rt->devices.submissions, 1));
		write_plan(g, c);
		result = tell_members(g);
	}
	/*
	 * Members that have begun still use the memory. If the call fails, such
	 * a group is lost.
	 */
	if (!g->waits_for)
		peali_collective_let_go(g);
	if (!result && !g->waits_for)
		atomic_fetch_add(&g->ended, 1);
	return result;
}

int peal_collective_start(struct peal_comm *g,
			  const struct peal_collective *collective)
{
	struct peal_collective c;
	int result;

	if (!g || !collective)
		return peali_refuse_null(START, "comm or collective");
	if (peali_forked(&g->rt->owner, START))
		return PEAL_EFORKED;
	result = peali_options_copy(&c, sizeof(c), collective, START);
	if (!result)
		result = check(g, &c);
	if (result)
		return result;
	/* a collective with an ended member never ends */
	if (g->waits_for && check_members(g, START))
		return peal_last_error()->code;
	if (g->waits_for)
		return peali_fail(PEAL_EBUSY, START,
				  "%u reports of the previous collective are "
				  "pending; call peal_collective_wait first",
				  g->waits_for);
	/* a group of processes first compares the calls of all members */
	if (!c.count && c.kind != PEAL_COMM_BARRIER && !g->set) {
		atomic_fetch_add(&g->ended, 1);
		return 0;
	}
	return begin(g, &c);
}

/* ---- wait ---------------------------------------------------------------- */

/*
 * Takes one report of a member, and waits up to timeout_ns for it. Returns 0,
 * PEAL_EAGAIN if no report came, or an error.
 */
static int take(void *group, int64_t timeout_ns)
{
	struct peal_comm *g = group;
	struct peal_member_done done;
	struct peal_received got;
	int result =
		peal_receive(g->host, &done, sizeof(done), &got, timeout_ns);

	if (result)
		return result == PEAL_ETIMEDOUT ? PEAL_EAGAIN : result;
	if (got.length == sizeof(done) && done.place < g->n && done.error &&
	    done.error != PEAL_EINVAL)
		return peali_fail(PEAL_EPROTO, WAIT,
				  "member of rank %u received invalid data: "
				  "%s; the group can only be destroyed",
				  g->members[done.place].rank,
				  peal_error_text(done.error));
	if (got.length != sizeof(done) || done.place >= g->n ||
	    done.sequence != g->plan->sequence)
		return peali_fail(PEAL_EPROTO, WAIT,
				  "group: unexpected completion from a member");
	g->members[done.place].done |= 1ULL << done.channel;
	g->waits_for--;
	if (done.error) { /* the calls differ: no member does any work */
		g->differs = 1;
		g->waits_for = 0;
	}
	return 0;
}

/*
 * Returns 1 if a member has not finished the collective. In a group of
 * processes: if another process has not called the collective yet.
 */
static int is_late(const struct peal_comm *g, uint32_t place)
{
	uint64_t all = g->algorithm == PEAL_ALGORITHM_RING ?
			       UINT64_MAX >> (64 - g->channels) :
			       1;

	return g->set ? place != g->own && !peali_comm_was_called(g, place) :
			g->members[place].done != all;
}

/* Returns PEAL_ETIMEDOUT, and names the late members that fit the text. */
static int say_late(void *group, int64_t timeout_ns)
{
	const struct peal_comm *g = group;
	const char *what = g->set ? "not called by" : "not yet ended:";
	char text[160] = "";
	size_t at = 0;
	uint32_t i;

	for (i = 0; i < g->n && at < sizeof(text); i++) {
		const struct peali_comm_member *m = &g->members[i];

		if (!is_late(g, i))
			continue;
		at += (size_t)snprintf(text + at, sizeof(text) - at,
				       g->set ? "%s%u (process %u)" :
						"%s%u (device %d)",
				       at ? ", " : "", m->rank,
				       g->set ? (int)m->process : m->device);
	}
	if (!at)
		what = "called by all, in progress";
	return peali_fail(PEAL_ETIMEDOUT, WAIT,
			  "collective is incomplete after %lld ns, %s%s %s",
			  (long long)timeout_ns, what, at ? " ranks" : "",
			  text);
}

static int ended(void *group)
{
	return check_members(group, WAIT);
}

/* Calls copy_own in a group of processes, after the collective itself. */
static int copy_late(struct peal_comm *g)
{
	const struct peal_collective_plan *p = g->plan;
	struct peal_collective c = { .kind = p->kind,
				     .element = p->element,
				     .count = p->count,
				     .root = p->root,
				     .in = p->in,
				     .out = p->out };

	return p->kind == PEAL_COMM_BARRIER ?
		       0 :
		       copy_own(g, &c, &g->members[g->own]);
}

static int wait_for_all(struct peal_comm *g, int64_t timeout_ns, uint64_t began)
{
	const struct peali_reports reports = { g, &g->waits_for, take, ended,
					       say_late };
	int result = peali_reports_collect(&reports, timeout_ns, began);

	if (result)
		return result;
	result = g->set && !g->differs ? copy_late(g) : 0;
	peali_collective_let_go(g);
	if (g->differs)
		return peali_comm_differs(g, WAIT);
	if (result)
		return result;
	atomic_fetch_add(&g->ended, 1);
	return 0;
}

int peal_collective_wait(struct peal_comm *g, int64_t timeout_ns)
{
	uint64_t began = peal_clock_ns();
	int result;

	if (!g)
		return peali_refuse_null(WAIT, "comm");
	if (peali_forked(&g->rt->owner, WAIT))
		return PEAL_EFORKED;
	if (!g->waits_for)
		return 0;
	result = wait_for_all(g, timeout_ns, began);
	if (timeout_ns)
		peali_counters_waited(g->rt, PEAL_WAIT_COLLECTIVE, began);
	return result;
}

int peal_collective_run(struct peal_comm *g,
			const struct peal_collective *collective,
			int64_t timeout_ns)
{
	int result = peal_collective_start(g, collective);

	if (!result)
		result = peal_collective_wait(g, timeout_ns);
	return peali_fail_in(result, "peal_collective_run");
}
