/* SPDX-License-Identifier: Apache-2.0 */
/* Allocations of peal_memory_alloc and of buffers, with a record of each. */
#include <peal/memory.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "p2p/peer.h"
#include "p2p/peer_internal.h"
#include "runtime/base/error.h"
#include "runtime/base/refusal.h"
#include "runtime/base/text.h"
#include "runtime/device/devices.h"

/* The records are in one array, ordered by device and then by address. */

int peali_range_inside(uint64_t address, uint64_t bytes, uint64_t start,
		       uint64_t size)
{
	return address >= start && address - start <= size &&
	       bytes <= size - (address - start);
}

static int is_before(const struct peali_allocation *record, int device,
		     uint64_t address)
{
	if (record->device != device)
		return record->device < device;
	return record->address < address;
}

/* Returns the index of the first record at or behind the address. */
static size_t place_of(const struct peali_peers *peers, int device,
		       uint64_t address)
{
	size_t low = 0, high = peers->n_records;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (is_before(peers->record[middle], device, address))
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

struct peali_allocation *peali_allocation_find(struct peali_peers *peers,
					       int device, uint64_t address)
{
	size_t i = place_of(peers, device, address);
	struct peali_allocation *record;

	if (i < peers->n_records && peers->record[i]->device == device &&
	    peers->record[i]->address == address)
		return peers->record[i];
	if (!i)
		return NULL;
	record = peers->record[i - 1];
	if (record->device != device ||
	    !peali_range_inside(address, 1, record->address, record->bytes))
		return NULL;
	return record;
}

/* Grows the array if it is full. The caller holds peers->lock. */
static int grow_table(struct peali_peers *peers)
{
	size_t most = peers->max_records ? 2 * peers->max_records : 16;
	struct peali_allocation **grown;

	if (peers->n_records < peers->max_records)
		return 0;
	grown = realloc(peers->record, most * sizeof(*grown));
	if (!grown)
		return PEAL_ENOMEM;
	peers->record = grown;
	peers->max_records = most;
	return 0;
}

static int insert(struct peali_peers *peers, struct peali_allocation *record)
{
	size_t i;

	if (grow_table(peers) < 0)
		return peali_fail_system(ENOMEM, "peal_memory_alloc",
					 "no host memory for the record of an "
					 "allocation");
	i = place_of(peers, record->device, record->address);
	memmove(&peers->record[i + 1], &peers->record[i],
		(peers->n_records - i) * sizeof(*peers->record));
	peers->record[i] = record;
	peers->n_records++;
	return 0;
}

/* Allocates memory and adds its record. managed: as peali_buffer_alloc; NULL:
 * the memory of `device`. */
static int take(struct peali_peers *peers, int device, uint64_t bytes,
		int is_buffer, int *managed, uint64_t *address_out)
{
	struct peali_allocation *record = calloc(1, sizeof(*record));
	int r;

	if (!record)
		return peali_fail_system(ENOMEM, "peal_memory_alloc",
					 "no host memory for the record of an "
					 "allocation");
	r = managed && *managed ?
		    peali_devices_alloc_managed(peers->devices, bytes,
						&record->memory) :
		    peali_devices_alloc(peers->devices, device, bytes,
					&record->memory);
	if (r < 0) {
		free(record);
		return r;
	}
	record->device = device;
	record->bytes = bytes;
	record->is_buffer = is_buffer;
	record->address = peali_devices_view(peers->devices, device, device,
					     &record->memory);
	pthread_mutex_lock(&peers->lock);
	r = insert(peers, record);
	if (!r) {
		peers->n_buffers += (size_t)is_buffer;
		*address_out = record->address;
		if (managed)
			*managed = record->memory.kind == PEALI_MEMORY_MANAGED;
	}
	pthread_mutex_unlock(&peers->lock);
	if (r < 0) {
		peali_devices_free(peers->devices, device, &record->memory);
		free(record);
	}
	return r;
}

int peali_memory_alloc(struct peali_peers *peers, int device, uint64_t bytes,
		       uint64_t *address_out)
{
	const char *call = "peal_memory_alloc";
	int r = peali_devices_check_place(peers->devices, device, call);

	if (r < 0)
		return r;
	if (!bytes)
		return PEALI_REFUSE(PEAL_EINVAL, call, .object = "argument",
				    .name = "bytes",
				    .problem = PEALI_PRINT(
					    "is too small for an allocation on "
					    "device %d",
					    device),
				    .value = "0", .allowed = "1 or more",
				    .remedy = "allocate at least 1 byte");
	return take(peers, device, bytes, 0, NULL, address_out);
}

int peali_buffer_alloc(struct peali_peers *peers, int device, uint64_t bytes,
		       int *managed, uint64_t *address_out)
{
	return take(peers, device, bytes, 1, managed, address_out);
}

/* Removes a record if nothing uses the memory. The caller holds peers->lock. */
static int take_out(struct peali_peers *peers, int device, uint64_t address,
		    int is_buffer, struct peali_allocation **out)
{
	const char *call = is_buffer ? "peal_buffer_destroy" :
				       "peal_memory_free";
	struct peali_allocation *record =
		peali_allocation_find(peers, device, address);
	size_t i;

	if (!record || record->address != address ||
	    record->is_buffer != is_buffer)
		return PEALI_REFUSE(
			PEAL_EFAULT, call, .object = "argument",
			.name = "address",
			.problem =
				PEALI_PRINT("is the start of no allocation of "
					    "device %d",
					    device),
			.value = PEALI_PRINT("0x%llx",
					     (unsigned long long)address),
			.allowed = "an address of peal_memory_alloc",
			.remedy = record && record->is_buffer ?
					  "call peal_buffer_destroy, as "
					  "a buffer owns this memory" :
					  "pass each address once");
	if (record->n_copies)
		peali_copies_settle(peers);
	if (record->n_maps || record->n_copies)
		return peali_fail(
			PEAL_EBUSY, call,
			"0x%llx of device %d is in use by %u mapping%s and %u "
			"copies, jobs, tasks of graphs or shares; end them "
			"first (peal_peer_unmap, peal_copy_wait)",
			(unsigned long long)address, device, record->n_maps,
			peali_s(record->n_maps), record->n_copies);
	i = place_of(peers, device, address);
	peers->n_records--;
	peers->n_buffers -= (size_t)is_buffer;
	memmove(&peers->record[i], &peers->record[i + 1],
		(peers->n_records - i) * sizeof(*peers->record));
	*out = record;
	return 0;
}

static int give(struct peali_peers *peers, int device, uint64_t address,
		int is_buffer)
{
	struct peali_allocation *record = NULL;
	int r;

	pthread_mutex_lock(&peers->lock);
	r = take_out(peers, device, address, is_buffer, &record);
	pthread_mutex_unlock(&peers->lock);
	if (r < 0)
		return r;
	peali_devices_free(peers->devices, device, &record->memory);
	free(record);
	return 0;
}

int peali_memory_free(struct peali_peers *peers, int device, uint64_t address)
{
	int r = peali_devices_check_place(peers->devices, device,
					  "peal_memory_free");

	return r < 0 ? r : give(peers, device, address, 0);
}

int peali_buffer_free(struct peali_peers *peers, int device, uint64_t address)
{
	return give(peers, device, address, 1);
}

/* The caller holds peers->lock. */
static int view_take(struct peali_peers *peers, int viewer, int owner,
		     uint64_t address, uint64_t *view_out)
{
	const char *call = "peal_buffer_address";
	struct peali_allocation *record =
		peali_allocation_find(peers, owner, address);
	uint64_t view;
	int r = peali_pair_take(peers, viewer, owner, PEALI_USE_BUFFER, call);

	if (r < 0)
		return r;
	view = record ? peali_devices_view(peers->devices, viewer, owner,
					   &record->memory) :
			0;
	if (view) {
		*view_out = view;
		return 0;
	}
	peali_pair_give(peers, viewer, owner, PEALI_USE_BUFFER);
	return peali_fail(PEAL_EDRIVER, call,
			  "device %d -> device %d: access is enabled, but "
			  "the backend returns no address",
			  viewer, owner);
}

int peali_buffer_view_take(struct peali_peers *peers, int viewer, int owner,
			   uint64_t address, uint64_t *view_out)
{
	int r;

	pthread_mutex_lock(&peers->lock);
	r = view_take(peers, viewer, owner, address, view_out);
	pthread_mutex_unlock(&peers->lock);
	return r;
}

void peali_buffer_view_give(struct peali_peers *peers, int viewer, int owner)
{
	pthread_mutex_lock(&peers->lock);
	peali_pair_give(peers, viewer, owner, PEALI_USE_BUFFER);
	pthread_mutex_unlock(&peers->lock);
}

void peali_allocations_clear(struct peali_peers *peers)
{
	struct peali_allocation *record;

	while (peers->n_records) {
		record = peers->record[--peers->n_records];
		peali_devices_free(peers->devices, record->device,
				   &record->memory);
		free(record);
	}
	peers->n_buffers = 0;
}

/* ---- public -------------------------------------------------------------- */

int peal_memory_alloc(struct peal_runtime *runtime, int device, uint64_t bytes,
		      uint64_t *address_out)
{
	const char *call = "peal_memory_alloc";
	struct peali_peers *peers = peali_peers_of(runtime, call);

	if (!peers)
		return peal_last_error()->code;
	if (!address_out)
		return peali_refuse_null(call, "address_out");
	return peali_memory_alloc(peers, device, bytes, address_out);
}

int peal_memory_free(struct peal_runtime *runtime, int device, uint64_t address)
{
	struct peali_peers *peers = peali_peers_of(runtime, "peal_memory_free");

	return peers ? peali_memory_free(peers, device, address) :
		       peal_last_error()->code;
}
