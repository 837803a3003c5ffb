/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_ABI_SUPERVISOR_H
#define PEAL_ABI_SUPERVISOR_H

#include <peal/device/platform.h>

/*
 * Supervisors in a kernel's memory: who restarts whom, and how often. An actor
 * that is to begin anew has a mark in its entry's place, which any worker may
 * set there and its own takes away: see device/supervise.h.
 */

/** Who is restarted with an actor that fails. */
enum peal_strategy {
	PEAL_ONE_FOR_ONE = 0, /* nobody */
	PEAL_ONE_FOR_ALL = 1, /* all that the same supervisor has */
	PEAL_REST_FOR_ONE = 2 /* those that were made after it */
};

/** Most restarts within a period that a supervisor can be asked for. */
#define PEAL_RESTARTS_MAX 30u

/** Supervisors above one another, at most. */
#define PEAL_SUPERVISOR_DEPTH 8u

/** A supervisor. */
struct peal_supervisor_record {
	/* written by one worker before the others hear of it */
	uint32_t strategy; /* enum peal_strategy */
	uint32_t restarts; /* most within a period */
	uint64_t period_ns;
	uint64_t member; /* PEAL_MEMBER: of its parent; 0: it has none */
	uint8_t made_reserved[PEAL_SHARED_LINE - 24];
	/* written by any worker */
	uint64_t range; /* entries of all actors below it: behind the last << 32
			 * | the first; 0: there are none */
	uint64_t failures; /* ever counted here */
	uint64_t restarted; /* actors that have begun anew */
	uint64_t given_up; /* 1: those below it get no messages */
	uint64_t last; /* the failure before now: error << 32 | actor */
	uint64_t when[PEAL_RESTARTS_MAX]; /* of the latest failures, in turn; 0:
					   * there were not so many */
	uint64_t gate; /* added to by who gives up, and who begins anew: the later
			* one knows of the other */
	uint64_t workers_reserved[12];
};

PEAL_STATIC_ASSERT(sizeof(struct peal_supervisor_record) ==
			   4 * PEAL_SHARED_LINE,
		   "supervisor size");
PEAL_STATIC_ASSERT(offsetof(struct peal_supervisor_record, range) ==
			   PEAL_SHARED_LINE,
		   "supervisor layout");

/** What a supervisor knows an actor by; beside each entry. Only writer: the
 * actor's worker. */
struct peal_care {
	uint64_t member; /* PEAL_MEMBER; read by others. 0: nobody's */
	uint64_t init; /* address of what its state begins with */
	uint64_t init_bytes; /* zeros behind it */
	uint64_t reserved;
};

PEAL_STATIC_ASSERT(sizeof(struct peal_care) == 32, "care size");

/** A member of a supervisor, an actor or another supervisor: 1 + the number of
 * the supervisor, and which of its members it is. */
#define PEAL_MEMBER(supervisor, order)                                         \
	(((uint64_t)(supervisor) + 1) << 32 | (uint32_t)(order))
#define PEAL_MEMBER_OF(member) ((uint32_t)((member) >> 32))
#define PEAL_MEMBER_ORDER(member) ((uint32_t)(member))

/** Control message: such actors are made next, and supervised. */
struct peal_control_care {
	uint64_t member; /* of the first; of the others one more each */
	uint64_t init; /* of the first */
	uint32_t init_bytes;
	uint32_t init_step; /* from one's to the next one's; 0: all alike */
	uint32_t actor; /* of the first */
	uint32_t count;
};

PEAL_STATIC_ASSERT(sizeof(struct peal_control_care) == 32, "care message");

/** What a control message wants with a supervisor. */
enum peal_supervisor_wish {
	PEAL_SUPERVISOR_MAKE = 0, /* one worker writes its record */
	PEAL_SUPERVISOR_THERE = 1, /* the others hear of that */
	PEAL_SUPERVISOR_RESTART = 2, /* all below it begin anew */
	PEAL_SUPERVISOR_REPORT = 3 /* what it has counted */
};

/** What a supervisor has counted, for the host. */
struct peal_supervisor_report {
	uint64_t failures, restarted, given_up, last;
};

/** Control message: about a supervisor. */
struct peal_control_supervisor {
	uint32_t index;
	uint32_t wish; /* enum peal_supervisor_wish */
	uint64_t report; /* address of a struct peal_supervisor_report */
	/* as in the record */
	uint32_t strategy, restarts;
	uint64_t period_ns, member;
};

PEAL_STATIC_ASSERT(sizeof(struct peal_control_supervisor) == 40,
		   "supervisor message");

#endif
