/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_TESTS_EVENTS_H
#define PEAL_TESTS_EVENTS_H

#include <peal/device/platform.h>

/* What the handlers of programs/events.c and the tests agree on. */

#define EVENTS_WORDS 96 /* more than lanes */

/** To `duet`: so many rounds with another device. */
struct events_duet {
	uint64_t mine, theirs; /* addresses of events */
	uint64_t words; /* that who begins writes and the other one reads */
	uint64_t rounds;
	uint64_t begins; /* 1: who begins */
};

/** To `await`. */
struct events_await {
	uint64_t mine; /* recorded before it waits */
	uint64_t event, count;
	int64_t timeout_ns;
};

/** What both report. */
struct events_report {
	uint64_t rounds, wrong, count;
	int64_t result;
};

#endif
