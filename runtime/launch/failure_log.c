/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Logs the failures that workers report (abi/failure_log.h).
 *
 * The first failure of an actor is logged at once. Later failures of the actor
 * are counted and logged every REPEAT_NS. A kernel writes at most LINES lines
 * per second, and then the number of the failures in no line.
 */
#include "runtime/launch/failure_log.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <peal/abi/actor_slot.h>

#include "runtime/base/error.h"
#include "runtime/base/log.h"
#include "runtime/base/text.h"
#include "runtime/kernel/address.h"
#include "runtime/kernel/kernel.h"
#include "runtime/kernel/name_table.h"

#define REPEAT_NS 10000000000ULL
#define LINES 20
#define SECOND_NS 1000000000ULL

/* An entry of a worker's failure log, as it was logged. */
struct shown {
	uint64_t failure;
	uint64_t at_ns;
	uint32_t count;
};

struct worker_shown {
	struct shown entry[PEAL_FAILURES];
	uint64_t spawned, retired;
	uint64_t replaced; /* failures of replaced entries that a line or
			    * `left_out` has counted */
};

struct peali_logged {
	uint64_t second_ns; /* begin of the second that `lines` counts */
	uint64_t left_out; /* failures in no line */
	uint32_t lines;
	struct worker_shown worker[]; /* n_workers */
};

int peali_failures_open(struct peal_kernel *k)
{
	k->logged = calloc(1, sizeof(*k->logged) +
				      k->params.n_workers *
					      sizeof(*k->logged->worker));
	return k->logged ? 0 : PEAL_ENOMEM;
}

/* Begins a new second, and logs the number of failures that the last one left
 * out. */
static void next_second(const struct peal_kernel *k, uint64_t now, int last)
{
	struct peali_logged *l = k->logged;

	if (now - l->second_ns < SECOND_NS && !last)
		return;
	if (l->left_out)
		peali_log(1,
			  "kernel '%s': %llu further failure%s %s not listed",
			  k->name, (unsigned long long)l->left_out,
			  peali_s(l->left_out),
			  l->left_out == 1 ? "is" : "are");
	l->second_ns = now;
	l->left_out = 0;
	l->lines = 0;
}

/* Returns the name of an actor's handler. */
static const char *handler_of(const struct peal_kernel *k, uint32_t actor)
{
	uint32_t handler = PEAL_NO_HANDLER;

	if (PEAL_ACTOR_INDEX(actor) < k->params.max_actors)
		handler = peali_actor_look(k, PEAL_ACTOR_INDEX(actor)).handler;
	return handler < k->program->n_handlers ?
		       k->program->handlers[handler].name :
		       "?";
}

static const char *kind_text(uint32_t kind)
{
	switch (kind) {
	case PEAL_FAILED_INIT:
		return "its init hook has failed";
	case PEAL_FAILED_EXIT:
		return "its exit hook has failed";
	case PEAL_FAILED_LETTER:
		return "a dead letter about a message to it is lost";
	default:
		return "its handler has failed";
	}
}

/* Writes the line of a supervisor that has given up. */
static void supervisor_line(const struct peal_kernel *k, uint64_t failure,
			    uint32_t member, uint32_t times)
{
	char name[PEAL_NAME_BYTES + 3], text[PEALI_ERROR_LABEL];

	peali_log(1,
		  "supervisor %u of kernel '%s' has given up after %s of actor "
		  "%u%s, times: %u; its actors get no messages until "
		  "peal_supervisor_restart",
		  PEAL_FAILURE_ACTOR(failure), k->name,
		  peali_error_label(PEAL_FAILURE_ERROR(failure), text),
		  PEAL_ACTOR_INDEX(member),
		  peali_name_text(k->rt, k->params.address | member, name),
		  times);
}

/* Writes one line. `times`: failures since the last line about them. */
static void line(const struct peal_kernel *k, uint64_t failure, uint32_t member,
		 uint32_t times)
{
	uint32_t actor = PEAL_FAILURE_ACTOR(failure),
		 kind = PEAL_FAILURE_KIND(failure);
	int error = PEAL_FAILURE_ERROR(failure);
	char name[PEAL_NAME_BYTES + 3], text[PEALI_ERROR_LABEL];

	if (kind == PEAL_FAILED_SUPERVISOR) {
		supervisor_line(k, failure, member, times);
		return;
	}
	peali_log(1,
		  "actor %u%s of kernel '%s', handler '%s': %s, first with %s, "
		  "times: %u",
		  PEAL_ACTOR_INDEX(actor),
		  peali_name_text(k->rt, k->params.address | actor, name),
		  k->name, handler_of(k, actor), kind_text(kind),
		  kind == PEAL_FAILED_LETTER ? "no free slot in its link" :
					       peali_error_label(error, text),
		  times);
}

/* Logs an entry if it is new, or if its count has grown for long. */
static void look_at_entry(struct peal_kernel *k, const struct peal_failure *f,
			  struct worker_shown *w, struct shown *s, uint64_t now,
			  int last)
{
	/* A33: pairs with R33 in peali_failure_note. */
	uint64_t failure = peal_load_acquire_sys(&f->failure);
	uint64_t word = peal_load_relaxed_sys(&f->count);
	uint32_t count = PEAL_FAILURE_TIMES(word);
	int is_new = failure != s->failure || count < s->count;

	if (!failure || (!is_new && (count == s->count ||
				     (!last && now - s->at_ns < REPEAT_NS))))
		return;
	if (is_new) {
		w->replaced += s->count;
		s->count = 0;
	}
	if (k->logged->lines++ < LINES)
		line(k, failure, PEAL_FAILURE_MEMBER(word), count - s->count);
	else
		k->logged->left_out += count - s->count;
	s->failure = failure;
	s->count = count;
	s->at_ns = now;
}

/* Logs the actors that handlers of a worker have made and retired. */
static void look_at_actors(const struct peal_kernel *k, uint32_t i)
{
	struct worker_shown *s = &k->logged->worker[i];
	uint64_t spawned = peal_load_relaxed_sys(&k->status[i].spawned);
	uint64_t retired = peal_load_relaxed_sys(&k->status[i].retired);

	if (spawned != s->spawned)
		peali_log(3,
			  "handlers of worker %u of kernel '%s' have "
			  "spawned actors: %llu",
			  i, k->name,
			  (unsigned long long)(spawned - s->spawned));
	if (retired != s->retired)
		peali_log(2,
			  "actors that handlers of worker %u of kernel '%s' "
			  "had spawned are retired: %llu",
			  i, k->name,
			  (unsigned long long)(retired - s->retired));
	s->spawned = spawned;
	s->retired = retired;
}

/* Counts the failures of entries that were replaced before a line had them. A
 * look can see a new entry without the failures that it replaced. Then the
 * difference is negative, and the next look counts them. */
static void look_at_replaced(struct peal_kernel *k, struct worker_shown *w,
			     uint64_t replaced)
{
	if ((int64_t)(replaced - w->replaced) <= 0)
		return;
	k->logged->left_out += replaced - w->replaced;
	w->replaced = replaced;
}

/* Logs the failures that a worker has reported. */
static void look_at_failures(struct peal_kernel *k, uint32_t i, uint64_t now,
			     int last)
{
	const struct peal_failure_log *log = &k->failures[i];
	struct worker_shown *w = &k->logged->worker[i];
	uint64_t replaced;
	uint32_t n;

	if (!peal_load_relaxed_sys(&log->next))
		return;
	replaced = peal_load_relaxed_sys(&log->replaced);
	for (n = 0; n < PEAL_FAILURES; n++)
		look_at_entry(k, &log->entry[n], w, &w->entry[n], now, last);
	look_at_replaced(k, w, replaced);
}

void peali_failures_log(struct peal_kernel *k, uint64_t now, int last)
{
	uint32_t i;

	next_second(k, now, last);
	for (i = 0; i < k->params.n_workers; i++) {
		look_at_actors(k, i);
		look_at_failures(k, i, now, last);
	}
	if (last)
		next_second(k, now, last);
}
