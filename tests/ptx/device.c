/* SPDX-License-Identifier: Apache-2.0 */
#include "weak.h"

#include <pthread.h>

/*
 * Late stores of a device. All of its blocks see them. Other devices and the
 * host do not: a release of scope .sys delivers them to memory. Blocks run on
 * threads of their own, so that a lock protects the stores.
 */

#define N_DEVICES 64

static struct device {
	pthread_mutex_t lock;
	_Atomic uint32_t n; /* late.n, for readers without the lock */
	struct ptx_late late;
} devices[N_DEVICES] = { [0 ... N_DEVICES -
			  1] = { .lock = PTHREAD_MUTEX_INITIALIZER } };

static struct device *device_of(const struct ptx_lane *lane)
{
	int number = lane->block->grid->launch.device;

	return &devices[(uint32_t)number % N_DEVICES];
}

static void lock(struct device *d)
{
	pthread_mutex_lock(&d->lock);
}

static void unlock(struct device *d)
{
	atomic_store(&d->n, d->late.n);
	pthread_mutex_unlock(&d->lock);
}

int ptx_store_is_freed(const struct ptx_lane *lane,
		       const struct ptx_store *store)
{
	const struct ptx_launch *launch = &lane->block->grid->launch;
	const struct ptx_host *host = &launch->host;
	uint64_t from, bytes;

	return host->generation && !store->is_variable &&
	       store->generation != host->generation(host->context) &&
	       (!host->range || !host->range(host->context, launch->device,
					     store->at, &from, &bytes));
}

/* Delivers store i, or a store that must go before it. Returns 1 if the store
 * passes others. */
static int deliver(struct ptx_lane *lane, struct device *d, uint32_t i)
{
	struct ptx_store store;
	int passed = ptx_stores_take(&d->late, i, &store);

	if (!ptx_store_is_freed(lane, &store))
		ptx_copy_out((void *)(uintptr_t)store.at, store.data,
			     store.bytes);
	return passed;
}

static int deliver_some(struct ptx_lane *lane, struct device *d)
{
	return deliver(lane, d,
		       (uint32_t)(ptx_random(lane->block) % d->late.n));
}

static void deliver_bytes(struct ptx_lane *lane, struct device *d, uint64_t at,
			  uint32_t bytes)
{
	int i;

	while ((i = ptx_stores_find(&d->late, at, bytes)) >= 0)
		deliver(lane, d, (uint32_t)i);
}

void ptx_device_add(struct ptx_lane *lane, const struct ptx_store *store)
{
	struct device *d = device_of(lane);

	lock(d);
	while (d->late.n == PTX_N_LATE)
		deliver_some(lane, d);
	d->late.stores[d->late.n++] = *store;
	unlock(d);
}

int ptx_device_read(struct ptx_lane *lane, uint64_t at, uint32_t bytes,
		    uint8_t *data)
{
	struct device *d = device_of(lane);
	int found;

	if (!atomic_load(&d->n))
		return 0;
	lock(d);
	found = ptx_stores_read(&d->late, at, bytes, data);
	if (!found)
		deliver_bytes(lane, d, at, bytes);
	unlock(d);
	return found;
}

void ptx_device_fill(struct ptx_lane *lane, struct ptx_sector *sector)
{
	const uint8_t *from =
		(const uint8_t *)(uintptr_t)(sector->tag * PTX_SECTOR);
	struct device *d = device_of(lane);
	uint32_t i;

	/* with the lock: a store is in memory or in the list */
	lock(d);
	for (i = 0; i < PTX_SECTOR; i += 8)
		ptx_copy_in(sector->data + i, from + i, 8);
	ptx_stores_cover(&d->late, sector);
	unlock(d);
}

void ptx_device_flush(struct ptx_lane *lane, uint64_t at, uint32_t bytes)
{
	struct device *d = device_of(lane);

	if (!atomic_load(&d->n))
		return;
	lock(d);
	deliver_bytes(lane, d, at, bytes);
	unlock(d);
}

/* Delivers one store. Gives other threads the lock and time after it. */
static void deliver_one(struct ptx_lane *lane, struct device *d)
{
	int passed;

	lock(d);
	passed = d->late.n && deliver_some(lane, d);
	unlock(d);
	if (passed)
		ptx_let_others_see(lane);
}

void ptx_device_drain(struct ptx_lane *lane)
{
	struct device *d = device_of(lane);

	while (atomic_load(&d->n))
		deliver_one(lane, d);
}

int ptx_device_step(struct ptx_lane *lane)
{
	struct device *d = device_of(lane);

	if (!atomic_load(&d->n))
		return 0;
	deliver_one(lane, d);
	return 1;
}

void ptx_device_tick(struct ptx_lane *lane)
{
	struct device *d = device_of(lane);

	if (atomic_load(&d->n) && ptx_is_shown(lane))
		deliver_one(lane, d);
}
