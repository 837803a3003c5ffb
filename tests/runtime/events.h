/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_TESTS_EVENTS_H
#define PEAL_TESTS_EVENTS_H

#include <peal/device/platform.h>

/* Messages of programs/events.c and its tests. */

#define EVENTS_WORDS 96 /* more than a worker has lanes */

/** Message to `duet`: takes turns with another device for `rounds` rounds. */
struct events_duet {
	uint64_t mine, theirs; /* addresses of events */
	uint64_t words; /* address; one device writes, the other reads */
	uint64_t rounds;
	uint64_t begins; /* 1: begins and writes; 0: reads */
};

/** Message to `await` and `linger`. */
struct events_await {
	uint64_t mine; /* event to record before the wait */
	uint64_t event, count;
	int64_t timeout_ns;
};

/** Report of `duet` and `await`. */
struct events_report {
	uint64_t rounds, wrong, count;
	int64_t result;
};

#endif
