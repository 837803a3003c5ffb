/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEALI_WAIT_H
#define PEALI_WAIT_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

#include <peal/device/impl/base/host_support.h>
#include <peal/errors.h>

/* How host threads wait: the clock, deadlines, bells and polling. */

/*
 * The clock in ns, the deadline `timeout_ns` from now (negative: none), and a
 * test whether a deadline has passed. UINT64_MAX is the deadline that never
 * passes.
 */
uint64_t peali_now_ns(void);
uint64_t peali_deadline(int64_t timeout_ns);
int peali_late(uint64_t deadline);
/* Initialises a condition with timed waits by CLOCK_MONOTONIC. */
void peali_cond_init(pthread_cond_t *cond);

/* Pauses between two polls. *turns counts the pauses, which grow longer. */
void peali_poll_pause(uint32_t *turns);
/* As peali_poll_pause. Sets *began, if it is 0, to the time in ns: the wait begins
 * with its first pause. */
void peali_poll_pause_since(uint32_t *turns, uint64_t *began);

/*
 * Sleep of a host thread that waits for a side that does not ring its bell. The
 * first sleep takes PEALI_SILENT_US_FIRST us. Each next sleep doubles, up to
 * PEALI_SILENT_US.
 */
#define PEALI_SILENT_US_FIRST 50
#define PEALI_SILENT_US 1000

/* Allocates a bell, for free(3). Returns NULL without memory. */
struct peal_bell *peali_bell_new(void);

/* State of a wait at a bell, with the timeout of a public call. */
struct peali_bell_wait {
	struct peal_bell *bell;
	uint32_t most_us; /* longest duration of one sleep, us */
	/* 1: the other side does not ring, so sleeps are short at first */
	int silent;
	int64_t timeout_ns;
	uint64_t deadline; /* 0: not computed yet */
	/* us until the deadline, when the clock was last read */
	uint64_t left_us;
	uint32_t turns; /* turns so far: only some turns read the clock */
	int waited; /* 1: the caller has taken a turn */
	uint64_t slept_ns; /* time at which it stopped to spin; 0: it has not */
};

/*
 * Begins a wait. The caller checks its condition, takes a turn, and checks
 * again. A turn that announces sleep returns before it sleeps, for one last
 * check. The calling thread owns the bell until peali_bell_wait_end.
 */
void peali_bell_wait_begin(struct peali_bell_wait *wait, struct peal_bell *bell,
			   int silent, int64_t timeout_ns);
/*
 * Takes one turn. Returns 0: check again. PEAL_EAGAIN (timeout 0) or
 * PEAL_ETIMEDOUT: stop waiting.
 */
int peali_bell_wait_turn(struct peali_bell_wait *wait);
void peali_bell_wait_end(struct peali_bell_wait *wait);

/*
 * Copies options of a caller, which may use an older version of the struct. The
 * first member of the struct is its size, a uint32_t. Fields beyond that size
 * are set to 0. `options` NULL: all fields are 0. Returns 0, or PEAL_EINVAL
 * with `out` unchanged.
 *
 * In each version, the size of the struct is a multiple of its alignment. No
 * field is longer than the alignment. So an accepted size never cuts a field.
 */
#define peali_options_copy(out, bytes, options, call)                          \
	peali_options_take(out, bytes, _Alignof(__typeof__(*(out))), options,  \
			   call)
int peali_options_take(void *out, size_t bytes, size_t alignment,
		       const void *options, const char *call);

#endif
