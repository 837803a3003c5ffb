/* SPDX-License-Identifier: Apache-2.0 */
/* Actors that get messages for all actors of their kernel. */
#include <peal/device/kernel.h>

#include "../crowd.h"
#include "../gate.h"

/* Counts a note. Returns an error if this member shall fail. */
static PEAL_DEV int count(struct peal_worker *w)
{
	struct crowd_member *s = (struct crowd_member *)peal_state(w);
	const struct crowd_note *n = (const struct crowd_note *)peal_data(w);
	int fails = n->fails == 1 + s->id;

	peal_sync(w); /* all lanes have read the state */
	if (peal_is_leader(w)) {
		s->seen++;
		s->sum += n->number;
		s->disorder += n->number < s->next[n->sender];
		s->next[n->sender] = n->number + 1;
	}
	return fails ? PEAL_EPROTO : 0;
}

static PEAL_DEV int member(struct peal_worker *w)
{
	return count(w);
}

/* A member with hooks: a note before the first init counts as disorder. */
static PEAL_DEV int hooked(struct peal_worker *w)
{
	struct crowd_member *s = (struct crowd_member *)peal_state(w);

	if (peal_is_exit(w))
		return 0;
	if (!peal_is_init(w)) {
		if (peal_is_leader(w))
			s->disorder += s->begun != 1;
		return count(w);
	}
	if (peal_is_leader(w))
		s->begun++;
	return 0;
}

/* A member that passes each note on by its port. */
static PEAL_DEV int echo(struct peal_worker *w)
{
	int result = count(w);

	return result ? result :
			peal_emit(w, 0, CROWD_NOTE, peal_data(w),
				  peal_length(w), 0);
}

/* A member that tells another actor each note. */
static PEAL_DEV int chatter(struct peal_worker *w)
{
	uint32_t to = (uint32_t)((struct crowd_member *)peal_state(w))->to;
	int result = count(w);

	return result ? result :
			peal_tell(w, to, CROWD_NOTE, peal_data(w),
				  peal_length(w), 0);
}

/* Counts messages without a look at their order. */
static PEAL_DEV int heap(struct peal_worker *w)
{
	if (peal_is_leader(w))
		((struct crowd_member *)peal_state(w))->seen++;
	return 0;
}

static PEAL_DEV int call(struct peal_worker *w, const struct crowd_note *n)
{
	struct peal_send_options o = PEAL_SEND_OPTIONS;
	struct crowd_note next = *n;
	int result;

	switch (peal_type(w)) {
	case CROWD_TOO_LONG:
		return peal_tell_all(w, CROWD_NOTE, n, CROWD_LONG, 0);
	case CROWD_BAD_OPTION:
		o.delay_ns = 1;
		return peal_tell_all(w, CROWD_NOTE, n, sizeof(*n), &o);
	case CROWD_CALL_HIGH:
		o.priority = PEAL_PRIORITY_HIGH;
		return peal_tell_all(w, CROWD_NOTE, n, sizeof(*n), &o);
	default:
		result = peal_tell_all(w, CROWD_NOTE, n, sizeof(*n), 0);
	}
	if (result || peal_type(w) == CROWD_CALL)
		return result;
	if (peal_type(w) == CROWD_TOO_OFTEN)
		return peal_tell_all(w, CROWD_NOTE, n, sizeof(*n), 0);
	next.number++;
	return peal_tell(w, (uint32_t)n->to, CROWD_NOTE, &next, sizeof(next),
			 0);
}

/* Tells all actors a note, and counts those that it gets. */
static PEAL_DEV int caller(struct peal_worker *w)
{
	struct crowd_member *s = (struct crowd_member *)peal_state(w);
	int result;

	if (peal_type(w) == CROWD_NOTE)
		return count(w);
	result = call(w, (const struct crowd_note *)peal_data(w));
	if (peal_is_leader(w))
		s->result = result;
	return 0;
}

/* A caller that does not declare that. */
static PEAL_DEV int poser(struct peal_worker *w)
{
	return caller(w);
}

/* Waits until a host word is not 0, except for notes. */
static PEAL_DEV int hold(struct peal_worker *w)
{
	const uint64_t *word =
		*(const uint64_t *const *)(const void *)peal_data(w);

	if (peal_type(w) == CROWD_NOTE)
		return count(w);
	while (!peal_load_acquire_sys(word) && !peal_aborting(w))
		gate_pause();
	return 0;
}

#define STATE sizeof(struct crowd_member)
#define HANDLERS(X)                                                            \
	X(member, STATE, PEAL_SINK)                                            \
	X(hooked, STATE, PEAL_WITH_HOOKS(PEAL_SINK))                           \
	X(echo, STATE, PEAL_EMITS(1, 1))                                       \
	X(chatter, STATE, PEAL_TELLS(1))                                       \
	X(heap, STATE, PEAL_SINK)                                              \
	X(caller, STATE, PEAL_TELLS(PEAL_TO_ALL | 1))                          \
	X(poser, STATE, PEAL_TELLS(1))                                         \
	X(hold, STATE, PEAL_SINK)
PEAL_PROGRAM(crowd, HANDLERS);
