/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/base/wait.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "runtime/base/refusal.h"
#include "runtime/base/text.h"
#include "runtime/host_support/idle.h"

#define SLEEP_US 50000 /* longest sleep where the other side rings the bell */

uint64_t peali_now_ns(void)
{
	return peal_host_clock_ns();
}

uint64_t peali_deadline(int64_t timeout_ns)
{
	uint64_t now = peali_now_ns();

	if (timeout_ns < 0 || (uint64_t)timeout_ns > UINT64_MAX - now)
		return UINT64_MAX;
	return now + (uint64_t)timeout_ns;
}

int peali_late(uint64_t deadline)
{
	return deadline != UINT64_MAX && peali_now_ns() >= deadline;
}

void peali_cond_init(pthread_cond_t *cond)
{
	pthread_condattr_t monotonic;

	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(cond, &monotonic);
	pthread_condattr_destroy(&monotonic);
}

void peali_poll_pause(uint32_t *turns)
{
	uint32_t n = (*turns)++;
	struct timespec nap = { 0, 0 };

	if (n < 16) {
		peal_pause();
	} else if (n < 64) {
		sched_yield();
	} else {
		nap.tv_nsec = n < 256 ? 50000 : 1000000;
		nanosleep(&nap, NULL);
	}
}

void peali_poll_pause_since(uint32_t *turns, uint64_t *began)
{
	if (!*began)
		*began = peali_now_ns();
	peali_poll_pause(turns);
}

struct peal_bell *peali_bell_new(void)
{
	struct peal_bell *bell = NULL;

	if (posix_memalign((void **)&bell, PEAL_SHARED_LINE, sizeof(*bell)))
		return NULL;
	memset(bell, 0, sizeof(*bell));
	return bell;
}

void peali_bell_wait_begin(struct peali_bell_wait *wait, struct peal_bell *bell,
			   int silent, int64_t timeout_ns)
{
	wait->bell = bell;
	wait->silent = silent;
	wait->most_us = silent ? PEALI_SILENT_US_FIRST : SLEEP_US;
	wait->timeout_ns = timeout_ns;
	wait->deadline = 0;
	wait->left_us = UINT64_MAX;
	wait->turns = 0;
	wait->waited = 0;
	wait->slept_ns = 0;
}

int peali_bell_wait_turn(struct peali_bell_wait *wait)
{
	uint64_t now;

	if (wait->timeout_ns == 0)
		return PEAL_EAGAIN;
	wait->waited = 1;
	if (wait->deadline == 0)
		wait->deadline = peali_deadline(wait->timeout_ns);
	wait->bell->max_sleep_us = wait->most_us;
	if (wait->deadline != UINT64_MAX &&
	    (wait->turns++ % 16 == 0 || !peali_wait_spins(wait->bell))) {
		now = peali_now_ns();
		if (now >= wait->deadline)
			return PEAL_ETIMEDOUT;
		wait->left_us = (wait->deadline - now) / 1000 + 1;
	}
	if (wait->deadline != UINT64_MAX && wait->left_us < wait->most_us)
		wait->bell->max_sleep_us = (uint32_t)wait->left_us;
	if (peal_load_relaxed_sys_u32(&wait->bell->asleep) && wait->silent &&
	    wait->most_us < PEALI_SILENT_US)
		wait->most_us *= 2; /* the next turn sleeps */
	if (!wait->slept_ns && !peali_wait_spins(wait->bell))
		wait->slept_ns = peali_now_ns();
	peal_host_idle(wait->bell, 1);
	return 0;
}

void peali_bell_wait_end(struct peali_bell_wait *wait)
{
	if (wait->waited)
		peal_bell_reset(wait->bell);
}

int peali_options_take(void *out, size_t bytes, size_t alignment,
		       const void *options, const char *call)
{
	uint32_t size = options ? *(const uint32_t *)options : 0;

	if (options && (!size || size > bytes))
		return PEALI_REFUSE(PEAL_EINVAL, call, .object = "option",
				    .name = "size",
				    .problem = "is 0, or of a newer version",
				    .number = size, .least = alignment,
				    .most = bytes,
				    .remedy = "set it to sizeof the struct");
	if (size % alignment)
		return PEALI_REFUSE(
			PEAL_EINVAL, call, .object = "option", .name = "size",
			.problem = "is of no version of the struct",
			.number = size,
			.allowed = PEALI_PRINT("multiples of %zu up to %zu",
					       alignment, bytes),
			.remedy = "set it to sizeof the struct");
	memset(out, 0, bytes);
	if (options)
		memcpy(out, options, size);
	return 0;
}
