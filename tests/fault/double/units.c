/* SPDX-License-Identifier: Apache-2.0 */
#include "units.h"

#include <pthread.h>
#include <stdlib.h>

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

	return u->blocks < blocks &&
	       u->taken.threads + need->threads <= threads &&
	       u->taken.registers + need->registers <= DOUBLE_REGISTERS &&
	       u->taken.shared_bytes + need->shared_bytes <= DOUBLE_SHARED_UNIT;
}

static void add(struct unit *u, const struct double_need *need)
{
	u->blocks++;
	u->taken.threads += need->threads;
	u->taken.registers += need->registers;
	u->taken.shared_bytes += need->shared_bytes;
}

static void subtract(struct unit *u, const struct double_need *need)
{
	u->blocks--;
	u->taken.threads -= need->threads;
	u->taken.registers -= need->registers;
	u->taken.shared_bytes -= need->shared_bytes;
}

uint32_t double_unit_blocks(const struct double_need *need)
{
	struct unit empty = { 0, { 0, 0, 0 } };

	while (has_space(&empty, need))
		add(&empty, need);
	return empty.blocks;
}

/* Returns the multiprocessor for the next block; -1: none has space. */
static int next(const struct unit *of_device, const struct double_need *need)
{
	int i, n = (int)double_units(), best = -1;

	for (i = 0; i < n && i < UNITS; i++)
		if (has_space(&of_device[i], need) &&
		    (best < 0 || of_device[i].blocks < of_device[best].blocks))
			best = i;
	return best;
}

int double_units_take(int device, const struct double_need *need,
		      uint32_t blocks, uint16_t *unit_out)
{
	struct unit *of_device = units[device];
	uint32_t i;
	int unit = 0;

	pthread_mutex_lock(&lock);
	for (i = 0; i < blocks; i++) {
		unit = next(of_device, need);
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
