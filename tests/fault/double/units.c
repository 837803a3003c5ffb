/* SPDX-License-Identifier: Apache-2.0 */
#include "units.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "ptx.h"

/* See units.h. */

#define DEVICES 64
#define UNITS 1024 /* most multiprocessors of a device */

/** What the blocks of a multiprocessor have taken. */
struct unit {
	uint32_t blocks;
	struct double_need taken;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct unit units[DEVICES][UNITS];
static uint8_t reserved[DEVICES][UNITS]; /* 1: of a part of the device */

/* Returns the most blocks of a multiprocessor, and its threads. */
static uint32_t limits(uint32_t *threads_out)
{
	int turing = atoi(double_arch() + 3) < 80;

	*threads_out = turing && double_ptx_chosen() ? 1024 : 2048;
	if (!double_ptx_chosen())
		return DOUBLE_BLOCKS_PER_UNIT;
	return turing ? 16 : 32;
}

uint32_t double_registers(uint32_t of_thread, uint32_t threads)
{
	uint32_t warps = (threads + 31) / 32;

	return warps * ((32 * of_thread + 255) / 256 * 256);
}

/* Returns 1 if one more block fits. */
static int has_space(const struct unit *u, const struct double_need *need)
{
	uint32_t threads, blocks = limits(&threads);

	if (u->blocks && need->carveout && u->taken.carveout &&
	    need->carveout != u->taken.carveout)
		return 0;
	return u->blocks < blocks &&
	       u->taken.threads + need->threads <= threads &&
	       u->taken.registers + need->registers <= DOUBLE_REGISTERS &&
	       u->taken.shared_bytes + need->shared_bytes <= DOUBLE_SHARED_UNIT;
}

static void add(struct unit *u, const struct double_need *need)
{
	u->blocks++;
	if (need->carveout)
		u->taken.carveout = need->carveout;
	u->taken.threads += need->threads;
	u->taken.registers += need->registers;
	u->taken.shared_bytes += need->shared_bytes;
}

static void subtract(struct unit *u, const struct double_need *need)
{
	if (--u->blocks == 0)
		u->taken.carveout = 0;
	u->taken.threads -= need->threads;
	u->taken.registers -= need->registers;
	u->taken.shared_bytes -= need->shared_bytes;
}

uint32_t double_unit_blocks(const struct double_need *need)
{
	struct unit empty = { 0, { 0, 0, 0, 0 } };

	while (has_space(&empty, need))
		add(&empty, need);
	return empty.blocks;
}

/* Returns the multiprocessor for the next block; -1: none has space. */
static int next(const struct unit *of_device, struct double_range range,
		const struct double_need *need)
{
	uint32_t i, end = range.first + range.n;
	int best = -1;

	for (i = range.first; i < end && i < UNITS; i++)
		if (has_space(&of_device[i], need) &&
		    (best < 0 || of_device[i].blocks < of_device[best].blocks))
			best = (int)i;
	return best;
}

int double_units_take(int device, struct double_range range,
		      const struct double_need *need, uint32_t blocks,
		      uint16_t *unit_out)
{
	struct unit *of_device = units[device];
	uint32_t i;
	int unit = 0;

	if (!range.n)
		range = (struct double_range){ 0, double_units() };
	pthread_mutex_lock(&lock);
	for (i = 0; i < blocks; i++) {
		unit = next(of_device, range, need);
		if (unit < 0)
			break;
		add(&of_device[unit], need);
		unit_out[i] = (uint16_t)unit;
	}
	while (unit < 0 && i > 0)
		subtract(&of_device[unit_out[--i]], need);
	pthread_mutex_unlock(&lock);
	return unit >= 0;
}

void double_unit_give(int device, uint16_t unit, const struct double_need *need)
{
	pthread_mutex_lock(&lock);
	subtract(&units[device][unit], need);
	pthread_mutex_unlock(&lock);
}

/* Returns the number of free neighbours from a multiprocessor on. */
static uint32_t free_from(const uint8_t *of_device, uint32_t first)
{
	uint32_t i = first;

	while (i < double_units() && i < UNITS && !of_device[i])
		i++;
	return i - first;
}

int double_units_reserve(int device, uint32_t n)
{
	uint8_t *of_device = reserved[device];
	uint32_t first;

	pthread_mutex_lock(&lock);
	for (first = 0; first < double_units() && first < UNITS; first++)
		if (free_from(of_device, first) >= n)
			break;
	if (first < double_units() && first < UNITS)
		memset(of_device + first, 1, n);
	pthread_mutex_unlock(&lock);
	return first < double_units() && first < UNITS ? (int)first : -1;
}

void double_units_release(int device, struct double_range range)
{
	pthread_mutex_lock(&lock);
	memset(reserved[device] + range.first, 0, range.n);
	pthread_mutex_unlock(&lock);
}
