/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEALI_PATIENCE_H
#define PEALI_PATIENCE_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

#include <peal/device/host.h>
#include <peal/errors.h>

/* How threads of the host wait: the clock, deadlines, bells, polling. */

/* Now, and whether a deadline of peali_deadline has passed. */
uint64_t peali_now_ns(void);
uint64_t peali_deadline(int64_t timeout_ns);
int peali_late(uint64_t deadline);
/* A condition whose timed waits go by that clock, not by the time of day. */
void peali_cond_init(pthread_cond_t *cond);

/* One turn of waiting for something that the host polls: longer and longer. */
void peali_poll_pause(uint32_t *turns);

/* How long a host thread sleeps that waits for who cannot ring its bell: at
 * first, and twice as long each time, up to this. */
#define PEALI_SILENT_US_FIRST 50
#define PEALI_SILENT_US 1000

/* A wait at a bell, with the timeout of a public call. */
struct peali_patience {
	struct peal_bell *bell;
	uint32_t most_us; /* of one sleep */
	int silent; /* nobody rings: short sleeps, then longer ones */
	int64_t timeout_ns;
	uint64_t deadline; /* 0: not yet made */
	uint64_t left_us; /* until then, when it was last looked at */
	uint32_t turns; /* so far: the clock is looked at in some of them */
	int waited; /* a turn was taken */
};

/*
 * The caller looks, then takes a turn, then looks again: a turn that announces
 * sleep returns so that there is a last look. The bell is the calling thread's
 * for as long.
 */
void peali_patience_begin(struct peali_patience *wait, struct peal_bell *bell,
			  int silent, int64_t timeout_ns);
/* 0 look again; PEAL_EAGAIN (timeout 0) or PEAL_ETIMEDOUT give up. */
int peali_patience_turn(struct peali_patience *wait);
void peali_patience_end(struct peali_patience *wait);

/*
 * Copies the options of a caller who may know fewer of them: a struct whose
 * first member is its size, a uint32_t. Fields that it does not know are 0, all
 * of them where `options` is NULL. 0; PEAL_EINVAL with text, `out` is unchanged.
 *
 * The struct's size is a multiple of its alignment in each of its versions, and
 * no field is longer than that: so no size that is let pass cuts a field.
 */
#define peali_options_copy(out, bytes, options, call)                          \
	peali_options_take(out, bytes, _Alignof(__typeof__(*(out))), options,  \
			   call)
int peali_options_take(void *out, size_t bytes, size_t alignment,
		       const void *options, const char *call);

#endif
