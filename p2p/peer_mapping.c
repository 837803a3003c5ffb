/* SPDX-License-Identifier: Apache-2.0 */
/* Mappings of peal_peer_map. */
#include <peal/peer.h>

#include <stdlib.h>
#include <string.h>

#include "p2p/peer.h"
#include "p2p/peer_internal.h"
#include "runtime/base/error.h"
#include "runtime/base/refusal.h"
#include "runtime/base/text.h"
#include "runtime/device/devices.h"

/* The search is linear: there are few mappings at a time. */

const struct peali_mapping *peali_mapping_find(const struct peali_peers *peers,
					       int remote, uint64_t address,
					       uint64_t bytes)
{
	const struct peali_mapping *m;
	size_t i;

	for (i = 0; i < peers->n_mappings; i++) {
		m = &peers->mapping[i];
		if (m->remote == remote &&
		    peali_range_inside(address, bytes, m->address, m->bytes))
			return m;
	}
	return NULL;
}

/* Returns the mapping that begins at the address, or NULL. */
static struct peali_mapping *begins_at(struct peali_peers *peers, int remote,
				       uint64_t address)
{
	size_t i;

	for (i = 0; i < peers->n_mappings; i++) {
		if (peers->mapping[i].remote == remote &&
		    peers->mapping[i].address == address)
			return &peers->mapping[i];
	}
	return NULL;
}

static int grow_table(struct peali_peers *peers, const char *call)
{
	size_t most = peers->max_mappings ? 2 * peers->max_mappings : 16;
	struct peali_mapping *grown;

	if (peers->n_mappings < peers->max_mappings)
		return 0;
	grown = realloc(peers->mapping, most * sizeof(*grown));
	if (!grown)
		return peali_fail(PEAL_ENOMEM, call,
				  "no host memory for the record of a mapping");
	peers->mapping = grown;
	peers->max_mappings = most;
	return 0;
}

static int refuse_range(int device, uint64_t address, uint64_t bytes,
			const char *call)
{
	return PEALI_REFUSE(
		PEAL_EFAULT, call,
		.object = PEALI_PRINT("range of device %d", device),
		.problem = "is in no allocation of the device",
		.value = PEALI_PRINT("%llu bytes at 0x%llx",
				     (unsigned long long)bytes,
				     (unsigned long long)address),
		.allowed = "one allocation",
		.remedy = "pass an address of peal_memory_alloc on that "
			  "device");
}

/* Finds the allocation that contains the range, by record or in the backend. */
static int find_memory(struct peali_peers *peers, int device, uint64_t address,
		       uint64_t bytes, struct peali_allocation **record_out,
		       struct peali_memory *out)
{
	const struct peali_device *d = &peers->devices->device[device];
	struct peali_allocation *record =
		peali_allocation_find(peers, device, address);
	const char *call = "peal_peer_map";

	*record_out = record;
	if (record) {
		*out = record->memory;
		if (peali_range_inside(address, bytes, record->address,
				       record->bytes))
			return 0;
		return refuse_range(device, address, bytes, call);
	}
	if (address + bytes < address ||
	    d->backend->ops->find(d->backend, d->local, address, bytes, out) <
		    0)
		return refuse_range(device, address, bytes, call);
	return 0;
}

/*
 * Adds a mapping and returns the remote's address of it. The pair is enabled.
 */
static int enter(struct peali_peers *peers, const struct peali_mapping *wanted,
		 const struct peali_memory *memory, uint64_t *address_out)
{
	const struct peali_devices *devices = peers->devices;
	uint64_t own = peali_devices_view(devices, wanted->owner, wanted->owner,
					  memory);
	uint64_t view = peali_devices_view(devices, wanted->remote,
					   wanted->owner, memory);
	struct peali_mapping *m;

	if (!view)
		return peali_fail(PEAL_EDRIVER, "peal_peer_map",
				  "device %d -> device %d: access is "
				  "enabled, but the backend returns no "
				  "address",
				  wanted->remote, wanted->owner);
	view += wanted->owner_address - own;
	m = begins_at(peers, wanted->remote, view);
	if (!m) {
		m = &peers->mapping[peers->n_mappings++];
		*m = *wanted;
		m->address = view;
	}
	if (m->bytes < wanted->bytes)
		m->bytes = wanted->bytes;
	m->count++;
	if (m->record)
		m->record->n_maps++;
	*address_out = view;
	return 0;
}

static int map(struct peali_peers *peers, struct peali_mapping *wanted,
	       uint64_t *address_out)
{
	const char *call = "peal_peer_map";
	struct peali_memory memory;
	int r = find_memory(peers, wanted->owner, wanted->owner_address,
			    wanted->bytes, &wanted->record, &memory);

	if (!r)
		r = grow_table(peers, call);
	if (!r)
		r = peali_pair_take(peers, wanted->remote, wanted->owner,
				    PEALI_USE_MAP, call);
	if (r < 0)
		return r;
	r = enter(peers, wanted, &memory, address_out);
	if (r < 0)
		peali_pair_give(peers, wanted->remote, wanted->owner,
				PEALI_USE_MAP);
	return r;
}

int peali_map_check(struct peali_peers *peers, int device, uint64_t address,
		    int remote, uint64_t bytes, const char *call)
{
	int r = peali_devices_check(peers->devices, device, call);

	if (!r)
		r = peali_devices_check(peers->devices, remote, call);
	if (r < 0)
		return r;
	if (device == remote)
		return PEALI_REFUSE(
			PEAL_EINVAL, call,
			.object = PEALI_PRINT("device %d -> device %d", remote,
					      device),
			.problem = "is a device and itself",
			.value = PEALI_PRINT("%d", device),
			.allowed = "another device",
			.remedy = "use its own memory without a mapping");
	if (!bytes)
		return PEALI_REFUSE(
			PEAL_EINVAL, call, .object = "argument",
			.name = "bytes",
			.problem = PEALI_PRINT(
				"is too small for a mapping of device "
				"%d",
				device),
			.value = "0", .allowed = "1 or more",
			.remedy = "map at least 1 byte");
	if (address % 16)
		return PEALI_REFUSE(
			PEAL_EINVAL, call, .object = "argument",
			.name = "address",
			.problem = PEALI_PRINT(
				"must be a multiple of 16 on device %d",
				device),
			.value = PEALI_PRINT("0x%llx",
					     (unsigned long long)address),
			.allowed = "multiples of 16",
			.remedy = PEALI_PRINT("use 0x%llx",
					      (unsigned long long)(address &
								   ~15ULL)));
	return 0;
}

int peali_peer_map(struct peali_peers *peers, int device, uint64_t address,
		   int remote, uint64_t bytes, uint64_t *address_out)
{
	struct peali_mapping wanted;
	int r = peali_map_check(peers, device, address, remote, bytes,
				"peal_peer_map");

	if (r < 0)
		return r;
	memset(&wanted, 0, sizeof(wanted));
	wanted.remote = remote;
	wanted.owner = device;
	wanted.owner_address = address;
	wanted.bytes = bytes;
	pthread_mutex_lock(&peers->lock);
	r = map(peers, &wanted, address_out);
	pthread_mutex_unlock(&peers->lock);
	return r;
}

/*
 * Removes one use of a mapping. The last use removes the mapping. The caller
 * holds peers->lock.
 */
static void give_back(struct peali_peers *peers, struct peali_mapping *m)
{
	int remote = m->remote, owner = m->owner;

	if (m->record)
		m->record->n_maps--;
	if (!--m->count)
		*m = peers->mapping[--peers->n_mappings];
	peali_pair_give(peers, remote, owner, PEALI_USE_MAP);
}

int peali_peer_unmap(struct peali_peers *peers, int remote, uint64_t address)
{
	const char *call = "peal_peer_unmap";
	struct peali_mapping *m;
	int r = peali_devices_check(peers->devices, remote, call);

	if (r < 0)
		return r;
	pthread_mutex_lock(&peers->lock);
	m = begins_at(peers, remote, address);
	if (m)
		give_back(peers, m);
	else
		r = PEALI_REFUSE(PEAL_EFAULT, call, .object = "argument",
				 .name = "address",
				 .problem = PEALI_PRINT(
					 "is the start of no mapping on device "
					 "%d",
					 remote),
				 .value = PEALI_PRINT(
					 "0x%llx", (unsigned long long)address),
				 .allowed = "an address of peal_peer_map",
				 .remedy = "pass it once for each call");
	pthread_mutex_unlock(&peers->lock);
	return r;
}

void peali_mappings_clear(struct peali_peers *peers)
{
	while (peers->n_mappings)
		give_back(peers, &peers->mapping[peers->n_mappings - 1]);
}

/* ---- public -------------------------------------------------------------- */

int peal_peer_map(struct peal_runtime *runtime, int device, uint64_t address,
		  int remote, uint64_t bytes, int64_t timeout_ns,
		  uint64_t *address_out)
{
	const char *call = "peal_peer_map";
	struct peali_peers *peers = peali_peers_of(runtime, call);
	int r;

	if (!peers)
		return peal_last_error()->code;
	if (!address_out)
		return peali_refuse_null(call, "address_out");
	r = peali_map_check(peers, device, address, remote, bytes, call);
	if (!r)
		r = peali_changes_await(peers, remote, timeout_ns, call);
	return r < 0 ? r :
		       peali_peer_map(peers, device, address, remote, bytes,
				      address_out);
}

int peal_peer_unmap(struct peal_runtime *runtime, int remote, uint64_t address,
		    int64_t timeout_ns)
{
	const char *call = "peal_peer_unmap";
	struct peali_peers *peers = peali_peers_of(runtime, call);
	int r;

	if (!peers)
		return peal_last_error()->code;
	r = peali_devices_check(peers->devices, remote, call);
	if (!r)
		r = peali_changes_await(peers, remote, timeout_ns, call);
	return r < 0 ? r : peali_peer_unmap(peers, remote, address);
}
