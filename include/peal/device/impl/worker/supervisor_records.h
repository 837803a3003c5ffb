/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_DEVICE_SUPERVISOR_RECORDS_H
#define PEAL_DEVICE_SUPERVISOR_RECORDS_H

#include <peal/abi/supervisor.h>
#include <peal/device/lanes.h>

/*
 * The records of a kernel's supervisors, and the host's control messages for
 * them. See impl/loop/supervision.h for the restart of actors.
 */

static PEAL_DEV PEAL_INLINE struct peal_supervisor_record *
peali_supervisor(const struct peal_worker *w, uint32_t index)
{
	return (struct peal_supervisor_record *)(uintptr_t)
		       w->params->supervisors +
	       index;
}

static PEAL_DEV PEAL_INLINE struct peal_supervision *
peali_supervision(const struct peal_worker *w, uint32_t index)
{
	return (struct peal_supervision *)(uintptr_t)w->params->supervision +
	       index;
}

static PEAL_DEV PEAL_INLINE struct peal_actor_entry *
peali_entry(const struct peal_worker *w, uint32_t index)
{
	return (struct peal_actor_entry *)(uintptr_t)w->params->actors + index;
}

/* Returns the record of a member's supervisor, and sets *member to the
 * supervisor's own membership. Returns 0 if there is no supervisor. */
static PEAL_DEV PEAL_INLINE struct peal_supervisor_record *
peali_supervisor_above(const struct peal_worker *w, uint64_t *member)
{
	struct peal_supervisor_record *s;

	if (!PEAL_MEMBER_OF(*member))
		return 0;
	s = peali_supervisor(w, PEAL_MEMBER_OF(*member) - 1);
	*member = peal_load_relaxed_dev(&s->member);
	return s;
}

/* Whether a supervisor above a member has given up. */
static PEAL_DEV PEAL_UNUSED inline int
peali_is_given_up(const struct peal_worker *w, uint64_t member)
{
	struct peal_supervisor_record *s;
	uint32_t depth;

	for (depth = 0; depth < PEAL_SUPERVISOR_DEPTH; depth++) {
		s = peali_supervisor_above(w, &member);
		if (!s)
			return 0;
		/* A12: pairs with R12 in peali_escalate. A worker that later
		 * gives the supervisor up sees this worker's change to the
		 * mark. */
		peal_add_acqrel_dev(&s->gate, 1);
		if (peal_load_relaxed_dev(&s->given_up))
			return 1;
	}
	return 0;
}

/* ---- creation ------------------------------------------------------------ */

/* Widens the range of a supervisor. The loop repeats only after another worker
 * has changed the range: at most once for each worker. */
static PEAL_DEV PEAL_UNUSED inline void
peali_supervisor_widen(struct peal_supervisor_record *s, uint64_t first,
		       uint64_t behind)
{
	uint64_t old, range;

	do {
		old = peal_load_relaxed_dev(&s->range);
		range = old;
		if (!old || first < (uint32_t)old)
			range = (range >> 32 << 32) | first;
		if (behind > old >> 32)
			range = behind << 32 | (uint32_t)range;
	} while (range != old && !peal_cas_relaxed_dev(&s->range, old, range));
}

/* Handles PEAL_CONTROL_SUPERVISE: writes the supervision records of the actors
 * that SPAWN makes next. */
static PEAL_DEV PEAL_UNUSED inline int
peali_control_supervise(struct peal_worker *w,
			const struct peal_control_supervise *c)
{
	uint32_t first = PEAL_ACTOR_INDEX(c->actor), i;
	uint64_t member = c->member;
	struct peal_supervisor_record *s;

	if (!peali_has_supervision(w) || !c->count ||
	    first >= w->params->max_actors ||
	    c->count > w->params->max_actors - first ||
	    PEAL_MEMBER_OF(member) > w->params->max_supervisors)
		return PEAL_EINVAL;
	for (i = 0; i < c->count; i++) {
		struct peal_supervision *supervision =
			peali_supervision(w, first + i);

		supervision->init = c->init + (uint64_t)i * c->init_stride;
		supervision->init_bytes = c->init_bytes;
		peal_store_relaxed_dev(&supervision->member, member + i);
	}
	for (i = 0; i < PEAL_SUPERVISOR_DEPTH; i++) {
		s = peali_supervisor_above(w, &member);
		if (!s)
			break;
		peali_supervisor_widen(s, first, first + (uint64_t)c->count);
	}
	return 0;
}

/* Writes the record of a new supervisor. Only one worker does so. */
static PEAL_DEV PEAL_UNUSED inline void
peali_supervisor_make(struct peal_supervisor_record *s,
		      const struct peal_control_supervisor *c)
{
	uint32_t i;

	s->strategy = c->strategy;
	s->restarts = c->restarts;
	s->timers = c->timers;
	s->period_ns = c->period_ns;
	peal_store_relaxed_dev(&s->range, 0);
	peal_store_relaxed_dev(&s->failures, 0);
	peal_store_relaxed_dev(&s->restarted, 0);
	peal_store_relaxed_dev(&s->last, 0);
	for (i = 0; i < PEAL_RESTARTS_MAX; i++)
		peal_store_relaxed_dev(&s->when[i], 0);
	peal_store_relaxed_dev(&s->given_up, 0);
	peal_store_relaxed_dev(&s->member, c->member);
}

static PEAL_DEV PEAL_UNUSED inline void
peali_supervisor_report(struct peal_supervisor_record *s,
			struct peal_supervisor_report *report)
{
	peal_store_relaxed_sys(&report->failures,
			       peal_load_relaxed_dev(&s->failures));
	peal_store_relaxed_sys(&report->restarted,
			       peal_load_relaxed_dev(&s->restarted));
	peal_store_relaxed_sys(&report->exhausted,
			       peal_load_relaxed_dev(&s->given_up));
	peal_store_relaxed_sys(&report->last, peal_load_relaxed_dev(&s->last));
}

/* Handles PEAL_CONTROL_SUPERVISOR, except for a restart, which needs all
 * lanes. */
static PEAL_DEV PEAL_UNUSED inline int
peali_control_supervisor(struct peal_worker *w,
			 const struct peal_control_supervisor *c)
{
	struct peal_supervisor_record *s;

	if (c->index >= w->params->max_supervisors)
		return PEAL_EINVAL;
	s = peali_supervisor(w, c->index);
	if (c->action == PEAL_SUPERVISOR_MAKE)
		peali_supervisor_make(s, c);
	else if (c->action == PEAL_SUPERVISOR_REPORT)
		peali_supervisor_report(
			s,
			(struct peal_supervisor_report *)(uintptr_t)c->report);
	return 0;
}

#endif
