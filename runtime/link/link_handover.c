/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Moves a live link to another route, by a hand-over in five steps.
 *
 * 1. The host tells the receiver where the next ring is.
 * 2. The host tells the sender to switch to the next ring.
 * 3. The sender writes a SEAL into the old ring, then continues in the next
 *    ring.
 * 4. The receiver reads the old ring up to the SEAL, then continues in the next
 *    ring.
 * 5. The host frees the old ring.
 *
 * The receiver knows the next ring before the sender writes there, so no
 * message is lost. The SEAL keeps the messages in order.
 */
#include <stdio.h>
#include <string.h>

#include "runtime/base/error.h"
#include "runtime/base/log.h"
#include "runtime/base/refusal.h"
#include "runtime/base/text.h"
#include "runtime/base/wait.h"
#include "runtime/kernel/kernel_control.h"
#include "runtime/link/endpoint.h"
#include "runtime/link/link.h"
#include "runtime/link/route.h"
#include "runtime/link/stager.h"
#include "runtime/runtime.h"

#define CALL "peal_link_set_route"

/* Returns 1 if the kernel of an end has ended. An endpoint has none. */
static int kernel_ended(const struct peali_link_end *end)
{
	return end->kernel && peali_kernel_ended(end->kernel);
}

/*
 * Returns 1 if neither end accesses the old ring any more. A receiver that has
 * ended does not. But its sender may still wait in the old ring for a free slot
 * for the SEAL. An endpoint has also read its view of the new ring.
 */
static int old_is_left(struct peal_link *link)
{
	uint64_t seals;

	if (peali_endpoint_hands_over(link))
		return 0;
	if (peal_load_acquire_sys(&link->counts->switches) >= link->n_handovers)
		return 1;
	if (!kernel_ended(&link->to))
		return 0;
	seals = peal_load_acquire_sys(&link->counts->seals);
	return kernel_ended(&link->from) || seals >= link->n_handovers;
}

/* Frees the old ring if both ends have left it. Returns 0, or PEAL_EBUSY if
 * they have not. */
static int finish_old(struct peal_link *link)
{
	struct peali_route_path old;

	if (!link->old.n_segments)
		return 0;
	if (!old_is_left(link))
		return PEAL_EBUSY;
	pthread_mutex_lock(&link->path_lock);
	if (link->old.staged)
		atomic_fetch_add(&link->staged,
				 peali_stager_carried(link->old.staged));
	old = link->old;
	memset(&link->old, 0, sizeof(link->old));
	pthread_mutex_unlock(&link->path_lock);
	peali_route_path_free(link, &old);
	return 0;
}

static int check(struct peal_link *link, enum peal_route route)
{
	if (!link)
		return peali_refuse_null(CALL, "link");
	if (peali_foreign(&link->rt->owner, CALL))
		return PEAL_EFORKED;
	if (route & (route - 1) || route <= PEAL_ROUTE_NONE ||
	    route > PEAL_ROUTE_STAGED)
		return PEALI_REFUSE(
			PEAL_EINVAL, CALL, .object = "argument",
			.name = "route",
			.problem = "is not one route of enum peal_route",
			.value = PEALI_PRINT("%#x", (unsigned)route),
			.allowed = "0x1, 0x2, 0x4 or 0x8",
			.remedy = "use PEAL_ROUTE_STAGED");
	if (link->remote)
		return peali_fail(PEAL_ENOTSUP, CALL,
				  "an end of link %llu is in another "
				  "process, so it has no other route",
				  (unsigned long long)link->id);
	return 0;
}

static int check_ends(struct peal_link *link)
{
	if (kernel_ended(&link->from) || link->counts->ended)
		return peali_fail(PEAL_ESTOPPED, CALL,
				  "the sender of link %llu has ended",
				  (unsigned long long)link->id);
	if (kernel_ended(&link->to))
		return peali_fail(PEAL_ESTOPPED, CALL,
				  "the receiver of link %llu has ended",
				  (unsigned long long)link->id);
	return 0;
}

static int tell_receiver(struct peal_link *link,
			 const struct peali_route_path *next)
{
	const struct peali_link_end *to = &link->to;
	struct peal_link_view view = peali_link_receiver_view(link, next);

	if (to->kernel)
		return peali_kernel_tell(to->kernel, to->worker,
					 PEAL_CONTROL_NEXT_RING, &view,
					 sizeof(view), CALL);
	peali_endpoint_next_ring(to->endpoint, to->index, &view);
	return 0;
}

static int tell_sender(struct peal_link *link,
		       const struct peali_route_path *next)
{
	const struct peali_link_end *from = &link->from;
	struct peal_link_view view = peali_link_sender_view(link, next);

	if (from->kernel)
		return peali_kernel_tell(from->kernel, from->worker,
					 PEAL_CONTROL_SWITCH_PORT, &view,
					 sizeof(view), CALL);
	peali_endpoint_switch_port(from->endpoint, from->index, &view);
	return 0;
}

/* Tells the receiver, then the sender. The caller holds rt->lock. */
static int tell_ends(struct peal_link *link,
		     const struct peali_route_path *next)
{
	int result = tell_receiver(link, next);

	if (result)
		return result;
	result = tell_sender(link, next);
	if (result && result != PEAL_EHUNG && link->to.endpoint)
		peali_endpoint_next_ring(link->to.endpoint, link->to.index,
					 NULL);
	return result;
}

/* Begins the hand-over. The caller holds rt->lock. */
static int begin(struct peal_link *link, enum peal_route route)
{
	enum peal_route chosen = PEAL_ROUTE_NONE;
	struct peali_route_path next;
	char why[160];
	int result = check_ends(link);

	if (!result && link->path.route == route)
		result = peali_fail(PEAL_EALREADY, CALL,
				    "link %llu has the route %s already",
				    (unsigned long long)link->id,
				    peal_route_name(route));
	if (!result && finish_old(link))
		result = peali_fail(PEAL_EBUSY, CALL,
				    "link %llu is in a handover already",
				    (unsigned long long)link->id);
	if (!result)
		result = peali_route_choose(link->rt, link->from.device,
					    link->to.device, route, 0,
					    link->spec.policy, &chosen, why,
					    "argument 'route'", CALL);
	if (!result)
		result = peali_route_path_make(link, route, &next, CALL);
	if (result)
		return result;
	result = tell_ends(link, &next);
	if (result && result != PEAL_EHUNG) {
		peali_route_path_free(link, &next);
		return result;
	}
	/* after PEAL_EHUNG both rings stay: the workers may still switch */
	pthread_mutex_lock(&link->path_lock);
	link->old = link->path;
	link->path = next;
	link->n_handovers++;
	snprintf(link->why, sizeof(link->why), "handed over");
	peali_log(2, "link %llu: route %s: %s", (unsigned long long)link->id,
		  peal_route_name(link->path.route), link->why);
	pthread_mutex_unlock(&link->path_lock);
	return result;
}

/* Returns the name of an end that has ended too early, or NULL. The hand-over
 * then never completes. Both rings stay until the link is destroyed. */
static const char *ended_end(struct peal_link *link)
{
	if ((kernel_ended(&link->from) || peali_endpoint_has_ended(link)) &&
	    peal_load_relaxed_sys(&link->counts->seals) < link->n_handovers)
		return "sender";
	return kernel_ended(&link->to) ? "receiver" : NULL;
}

/* Fails with PEAL_ETIMEDOUT. The text names the end that must do something. */
static int say_late(const struct peal_link *link)
{
	const struct peal_endpoint *e = link->from.endpoint;
	int sender = e && peal_load_relaxed_sys(&link->counts->seals) <
				  link->n_handovers;

	if (sender)
		return peali_fail(PEAL_ETIMEDOUT, CALL,
				  "the sender of link %llu has not left the "
				  "old ring; the handover continues when "
				  "endpoint '%s' sends at port %u",
				  (unsigned long long)link->id, e->name,
				  link->from_port);
	return peali_fail(PEAL_ETIMEDOUT, CALL,
			  "the receiver of link %llu has not finished the old "
			  "ring; the handover continues",
			  (unsigned long long)link->id);
}

int peal_link_set_route(struct peal_link *link, enum peal_route route,
			int64_t timeout_ns)
{
	uint64_t deadline = peali_deadline(timeout_ns);
	uint32_t turns = 0;
	int result = check(link, route);
	const char *ended;

	if (result)
		return result;
	pthread_mutex_lock(&link->rt->lock);
	result = begin(link, route);
	pthread_mutex_unlock(&link->rt->lock);
	while (!result) {
		pthread_mutex_lock(&link->rt->lock);
		result = finish_old(link);
		ended = result ? ended_end(link) : NULL;
		pthread_mutex_unlock(&link->rt->lock);
		if (!result)
			return 0;
		if (ended)
			return peali_fail(PEAL_ESTOPPED, CALL,
					  "the %s of link %llu has ended "
					  "before the old ring was sealed",
					  ended, (unsigned long long)link->id);
		if (peali_late(deadline))
			return say_late(link);
		peali_poll_pause(&turns);
		result = 0;
	}
	return result;
}
