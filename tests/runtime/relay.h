/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_TESTS_RELAY_H
#define PEAL_TESTS_RELAY_H

#include <peal/device/platform.h>

/* Messages and states of programs/relay.c and its tests. */

#define RELAY_BURST 16

/** A message with an identity: check depends on both numbers. */
struct relay_message {
	uint64_t producer, sequence, check;
};

/* splitmix64's finaliser over both numbers. */
static PEAL_HD PEAL_INLINE uint64_t relay_check(uint64_t producer,
						uint64_t sequence)
{
	uint64_t z = producer * 0x9e3779b97f4a7c15ULL + sequence;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
	return z ^ (z >> 31);
}

struct relay_sink {
	uint64_t received, next, damaged, misordered;
	uint64_t epochs, epoch_began_ns; /* epochs in which messages came */
	uint64_t missed; /* sum of peal_missed() */
};

/** Messages, and messages in slots of the receiver's part of cluster memory. */
struct relay_nearby {
	uint64_t received, in_cluster;
};

struct relay_source {
	uint64_t sent;
};

struct relay_order {
	uint64_t producer, count;
};

struct relay_hop {
	uint32_t left, actors;
};

struct relay_hops {
	uint64_t seen;
	int64_t result; /* of the latest tell */
};

/** Most participants of a barrier under test. */
#define RELAY_PHASE_MAX 16

/** A phase: words[2][RELAY_PHASE_MAX] in memory that all participants map. */
struct relay_phase {
	uint64_t words;
	uint32_t self, participants;
	int64_t timeout_ns;
};

struct relay_phases {
	uint64_t passed;
	uint64_t early; /* participants that had not arrived by then */
	int32_t result, reserved;
};

/** Holds the worker until the host word at that address is not 0. */
struct relay_gate {
	uint64_t word;
};

/** A message for actor 0, written when the gate opens. */
struct relay_linger {
	struct relay_gate gate;
	struct relay_message message;
};

struct relay_gates {
	uint64_t passed;
};

struct relay_lanes {
	uint64_t sum, last, leader;
	uint32_t any, all, none;
	int32_t elected;
	uint32_t lanes, mixed;
};

#endif
