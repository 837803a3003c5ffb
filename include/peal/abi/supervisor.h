/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_ABI_SUPERVISOR_H
#define PEAL_ABI_SUPERVISOR_H

#include <peal/device/platform.h>

/*
 * Supervisors in a kernel's memory (impl/loop/supervision.h). An actor that
 * must restart has RESTART_PENDING in its entry. Any worker can set it. The
 * actor's worker clears it.
 */

/** Members that restart with a member that fails. */
enum peal_strategy {
	PEAL_ONE_FOR_ONE = 0, /* no others */
	PEAL_ONE_FOR_ALL = 1, /* all members of the supervisor */
	PEAL_REST_FOR_ONE = 2 /* the members created after it */
};

/** Largest number of restarts within a period. */
#define PEAL_RESTARTS_MAX 30u

/** As `max_restarts`: no limit. The supervisor never gives up. */
#define PEAL_RESTARTS_UNLIMITED 0xfffffffeu

/** The effect of an actor's restart on the timers that the actor has set. */
enum peal_restart_timers {
	PEAL_RESTART_KEEPS_TIMERS = 0, /* they continue */
	PEAL_RESTART_ENDS_TIMERS = 1 /* they send no further message */
};

/** Longest chain of supervisors. */
#define PEAL_SUPERVISOR_DEPTH 8u

/** A supervisor. */
struct peal_supervisor_record {
	/* written by one worker before the others learn of the supervisor */
	uint32_t strategy; /* enum peal_strategy */
	uint32_t restarts; /* most within a period; PEAL_RESTARTS_UNLIMITED */
	uint64_t period_ns;
	uint64_t member; /* PEAL_MEMBER, of its parent; 0: no parent */
	uint32_t timers; /* enum peal_restart_timers */
	uint8_t made_reserved[PEAL_SHARED_LINE - 28];
	/* written by any worker */
	uint64_t range; /* entries of all actors below it: last + 1 << 32 |
			 * first; 0: none */
	uint64_t failures; /* all counted failures */
	uint64_t restarted; /* actors that have restarted */
	uint64_t given_up; /* 1: actors below it get no messages */
	uint64_t last; /* the last counted failure: error << 32 | actor */
	uint64_t when[PEAL_RESTARTS_MAX]; /* times of the latest failures, used
					   * in turn; 0: unused */
	uint64_t gate; /* increased by each giving up and each restart: the
			* later one sees the earlier one */
	uint64_t workers_reserved[12];
};

PEAL_STATIC_ASSERT(sizeof(struct peal_supervisor_record) ==
			   4 * PEAL_SHARED_LINE,
		   "supervisor size");
PEAL_STATIC_ASSERT(offsetof(struct peal_supervisor_record, range) ==
			   PEAL_SHARED_LINE,
		   "supervisor layout");

/** The supervision record of an actor, one for each entry. Only writer: the
 * actor's worker. */
struct peal_supervision {
	uint64_t member; /* PEAL_MEMBER; others read it. 0: no supervisor */
	uint64_t init; /* address of its init bytes, for a restart */
	uint64_t init_bytes; /* the rest of the state is 0 */
	uint64_t restarts; /* of the actor; others read it */
};

PEAL_STATIC_ASSERT(sizeof(struct peal_supervision) == 32, "supervision size");

/** A membership of an actor or a supervisor: 1 + the index of its supervisor,
 * and the order of its creation. */
#define PEAL_MEMBER(supervisor, order)                                         \
	(((uint64_t)(supervisor) + 1) << 32 | (uint32_t)(order))
#define PEAL_MEMBER_OF(member) ((uint32_t)((member) >> 32))
#define PEAL_MEMBER_ORDER(member) ((uint32_t)(member))

/** Control message: supervision records of the actors that SPAWN makes next. */
struct peal_control_supervise {
	uint64_t member; /* of the first; each next one has 1 more */
	uint64_t init; /* of the first */
	uint32_t init_bytes;
	uint32_t init_stride; /* bytes between inits; 0: all use `init` */
	uint32_t actor; /* number of the first */
	uint32_t count; /* of actors */
};

PEAL_STATIC_ASSERT(sizeof(struct peal_control_supervise) == 32, "care message");

/** Actions of a control message for a supervisor. */
enum peal_supervisor_action {
	PEAL_SUPERVISOR_MAKE = 0, /* one worker writes the record */
	PEAL_SUPERVISOR_ANNOUNCE = 1, /* the other workers learn of it */
	PEAL_SUPERVISOR_RESTART = 2, /* all actors below it restart */
	PEAL_SUPERVISOR_REPORT = 3 /* write the counters to `report` */
};

/** The counters of a supervisor, as in its record. */
struct peal_supervisor_report {
	uint64_t failures, restarted, exhausted, last;
};

/** Control message for a supervisor. */
struct peal_control_supervisor {
	uint32_t index;
	uint32_t action; /* enum peal_supervisor_action */
	uint64_t report; /* address of a struct peal_supervisor_report */
	/* as in the record */
	uint32_t strategy, restarts;
	uint64_t period_ns, member;
	uint32_t timers, reserved;
};

PEAL_STATIC_ASSERT(sizeof(struct peal_control_supervisor) == 48,
		   "supervisor message");

#endif
