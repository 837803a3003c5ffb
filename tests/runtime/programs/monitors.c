/* SPDX-License-Identifier: Apache-2.0 */
/* Actors that monitor each other, and fail on demand. */
#include <peal/device/kernel.h>

#include "../monitors.h"

/* Sets or cancels a monitor, and emits the order with the result. */
static PEAL_DEV int obey(struct peal_worker *w)
{
	struct monitors_order o = *(const struct monitors_order *)peal_data(w);

	if (peal_type(w) == MONITORS_SET)
		o.result = peal_monitor_set(w, o.actor, o.flags,
					    (uint16_t)o.type, o.tag,
					    &o.monitor);
	else
		o.result = peal_monitor_cancel(w, o.monitor);
	return peal_emit(w, 0, peal_type(w), &o, sizeof(o), 0);
}

/* Sets up to `tag` monitors, and emits their number. */
static PEAL_DEV int obey_often(struct peal_worker *w)
{
	struct monitors_order o = *(const struct monitors_order *)peal_data(w);
	uint64_t i;

	for (i = 0; i < o.tag; i++)
		if (peal_monitor_set(w, o.actor, 0, MONITORS_DOWN, 0, 0))
			break;
	o.tag = i;
	return peal_emit(w, 0, MONITORS_SET_MANY, &o, sizeof(o), 0);
}

/* Tells another actor to count, then fails. */
static PEAL_DEV int tell_and_fail(struct peal_worker *w)
{
	const struct monitors_order *o =
		(const struct monitors_order *)peal_data(w);
	uint32_t i;
	int result = 0;

	for (i = 0; i < MONITORS_TELLS && !result; i++)
		result = peal_tell(w, o->actor, MONITORS_COUNT, o, sizeof(*o),
				   0);
	return result ? result : MONITORS_ERROR;
}

static PEAL_DEV int note_down(struct peal_worker *w, struct monitors_state *s)
{
	const struct peal_down *down = peal_down_current(w);
	struct peal_down copy;

	if (!down)
		return PEAL_EINVAL;
	copy = *down;
	if (peal_is_leader(w)) {
		s->downs++;
		s->counted_before = s->count;
		s->down = copy;
	}
	peal_sync(w);
	if (peal_type(w) == MONITORS_LOUD_DOWN)
		return peal_emit(w, 0, MONITORS_LOUD_DOWN, &copy, sizeof(copy),
				 0);
	return 0;
}

static PEAL_DEV int member(struct peal_worker *w)
{
	struct monitors_state *s = (struct monitors_state *)peal_state(w);
	uint16_t type = peal_type(w);

	if (type == MONITORS_DOWN || type == MONITORS_LOUD_DOWN)
		return note_down(w, s);
	if (type == MONITORS_SET || type == MONITORS_CANCEL)
		return obey(w);
	if (type == MONITORS_SET_MANY)
		return obey_often(w);
	if (type == MONITORS_TELL_AND_FAIL)
		return tell_and_fail(w);
	if (type == MONITORS_FAIL)
		return MONITORS_ERROR;
	if (type == MONITORS_ASK || type == MONITORS_EMIT)
		return peal_emit(w, 0, type, s, sizeof(*s), 0);
	if (peal_is_leader(w))
		s->count++;
	return 0;
}

/* A member without ports, so that it can be retired. */
static PEAL_DEV int mute(struct peal_worker *w)
{
	struct monitors_state *s = (struct monitors_state *)peal_state(w);

	if (peal_down_current(w))
		return note_down(w, s);
	if (peal_type(w) == MONITORS_FAIL)
		return MONITORS_ERROR;
	if (peal_is_leader(w))
		s->count++;
	return 0;
}

#define HANDLERS(X)                                                            \
	X(member, sizeof(struct monitors_state),                               \
	  PEAL_LIMITS(1, 1, MONITORS_TELLS, 0, 0))                             \
	X(mute, sizeof(struct monitors_state), PEAL_SINK)
PEAL_PROGRAM(monitors, HANDLERS);
