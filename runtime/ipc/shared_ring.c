/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Creates, checks and maps the shared memory of links between two processes.
 * Each process has a private header of the ring.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "queues/ring.h"
#include "runtime/base/error.h"
#include "runtime/base/math.h"
#include "runtime/base/owner.h"
#include "runtime/base/system_call.h"
#include "runtime/device/memory_block.h"
#include "runtime/ipc/process_group.h"

#define CALL "peal_process_connect"
#define SEALS (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)

static uint64_t page(void)
{
	return (uint64_t)sysconf(_SC_PAGESIZE);
}

/*
 * Returns the offset of the credit, behind slots and slab. The counts follow
 * it.
 */
static uint64_t credit_offset(const struct peali_ring_spec *spec)
{
	return peali_round_up(peali_ring_bytes(spec) - sizeof(struct peal_ring),
			      PEAL_SHARED_LINE);
}

uint64_t peali_remote_shared_bytes(const struct peali_ring_spec *spec,
				   int windows)
{
	return windows ? page() :
			 peali_round_up(credit_offset(spec) +
						sizeof(struct peal_credit) +
						sizeof(struct peal_link_counts),
					page());
}

uint64_t peali_remote_slot_bytes(const struct peali_ring_spec *spec)
{
	return peali_ring_bytes(spec) - sizeof(struct peal_ring);
}

/*
 * Maps the shared memory behind a private page. The last bytes of that page are
 * the ring's header. So each process reads sizes and offsets that the other
 * process cannot change.
 */
int peali_remote_map(struct peali_remote_link *remote, int fd, uint64_t link_id,
		     const char *call)
{
	uint64_t bytes =
		peali_remote_shared_bytes(&remote->spec, remote->windows);
	uint8_t *base, *shared;

	base = mmap(NULL, page() + bytes, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (base == MAP_FAILED)
		return peali_fail_system(errno, call,
					 "no address space for %llu bytes",
					 (unsigned long long)bytes);
	remote->base = base;
	remote->bytes = page() + bytes;
	shared = base + page();
	if (mmap(shared, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
		 fd, 0) != shared)
		return peali_fail_system(errno, call,
					 "cannot map %llu shared bytes",
					 (unsigned long long)bytes);
	peali_keep_from_children(shared, bytes);
	if (remote->windows) {
		remote->counts = (struct peal_link_counts *)(void *)shared;
		return 0;
	}
	remote->ring =
		(struct peal_ring *)(void *)(shared - sizeof(struct peal_ring));
	peali_ring_header(remote->ring, &remote->spec, link_id);
	remote->credit =
		(struct peal_credit *)(void *)(shared +
					       credit_offset(&remote->spec));
	remote->counts =
		(struct peal_link_counts *)(void *)(remote->credit + 1);
	return 0;
}

int peali_remote_make_memory(const struct peali_remote_link *remote)
{
	uint64_t bytes =
		peali_remote_shared_bytes(&remote->spec, remote->windows);
	int fd = memfd_create("peal link", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	int error;

	if (fd >= 0 && !peali_ftruncate(fd, (off_t)bytes) &&
	    !fcntl(fd, F_ADD_SEALS, SEALS))
		return fd;
	error = peali_fail_system(errno, CALL,
				  "cannot create shared memory of %llu bytes",
				  (unsigned long long)bytes);
	if (fd >= 0)
		close(fd);
	return error;
}

int peali_remote_check_memory(const struct peali_remote_link *remote,
			      uint32_t rank, int fd)
{
	uint64_t bytes =
		peali_remote_shared_bytes(&remote->spec, remote->windows);
	struct stat is;
	int seals = fcntl(fd, F_GET_SEALS);

	/* EINVAL: the file has no seals, so it is no such memory */
	if ((seals < 0 && errno != EINVAL) || fstat(fd, &is))
		return peali_fail_system(errno, CALL,
					 "cannot check the memory from rank %u",
					 rank);
	if (seals < 0 || (seals & SEALS) != SEALS ||
	    (uint64_t)is.st_size != bytes)
		return peali_fail(PEAL_EPROTO, CALL,
				  "rank %u sent memory that is not sealed, "
				  "or does not have %llu bytes",
				  rank, (unsigned long long)bytes);
	return 0;
}

/*
 * Creates a private header with the sizes and with offsets to slots and slab,
 * as the end's device sees them.
 */
int peali_remote_make_header(struct peali_remote_link *remote,
			     struct peal_runtime *rt, uint64_t link_id,
			     int device)
{
	struct peal_ring header;
	uint64_t at;
	int result =
		peali_block_alloc(rt, device, sizeof(header), &remote->header);

	if (result)
		return result;
	at = peali_block_view(rt, device, &remote->header);
	peali_ring_header(&header, &remote->spec, link_id);
	header.slab_offset += remote->ring_at - at - header.slots_offset;
	header.slots_offset = remote->ring_at - at;
	remote->ring_at = at;
	return peali_block_write(rt, &remote->header, 0, &header,
				 sizeof(header));
}
