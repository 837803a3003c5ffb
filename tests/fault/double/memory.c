/* SPDX-License-Identifier: Apache-2.0 */
#include "ptx.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* Memory of a double. One list has all pieces that the driver knows. */

enum kind { PLAIN, HOST, REGISTERED, MANAGED, RANGE, HANDLE, MAPPED };

struct piece {
	struct piece *next;
	enum kind kind;
	uint64_t address, bytes;
	int fd; /* of a HANDLE; else -1 */
	int device;
	int exportable, imported; /* HANDLE */
	uint64_t access; /* bit per device */
};

/* A prefetch or an advice of managed memory. */
struct request {
	uint64_t address, bytes;
	int device, advice;
};

#define REQUESTS 64 /* that the double remembers */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct piece *pieces;
static struct request requests[REQUESTS]; /* the newest, as a ring */
static uint64_t n_requests;
static _Atomic uint64_t generation; /* number of changes to what devices see */
static _Atomic uint64_t peers[64]; /* enabled, bit per device */

uint64_t double_generation(void)
{
	return generation;
}

/* Returns a piece, or NULL. The caller holds `lock`. */
static struct piece *find(enum kind kind, uint64_t address)
{
	struct piece *p;

	for (p = pieces; p; p = p->next)
		if (p->kind == kind && p->address == address)
			return p;
	return NULL;
}

static int enlist(enum kind kind, uint64_t address, uint64_t bytes, int fd,
		  int device)
{
	struct piece *p = calloc(1, sizeof(*p));

	if (!p)
		return DOUBLE_NO_MEMORY;
	p->kind = kind;
	p->address = address;
	p->bytes = bytes;
	p->fd = fd;
	p->device = device;
	pthread_mutex_lock(&lock);
	p->next = pieces;
	pieces = p;
	generation++;
	pthread_mutex_unlock(&lock);
	return 0;
}

/* Removes a piece from the list. DOUBLE_INVALID: there is none. */
static int delist(enum kind kind, uint64_t address, struct piece *out)
{
	struct piece **p, *found;

	pthread_mutex_lock(&lock);
	for (p = &pieces;
	     *p && ((*p)->kind != kind || (*p)->address != address);
	     p = &(*p)->next)
		;
	found = *p;
	if (found)
		*p = found->next;
	generation++;
	pthread_mutex_unlock(&lock);
	if (!found)
		return DOUBLE_INVALID;
	*out = *found;
	free(found);
	return 0;
}

static void *take(size_t bytes)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

/* Writes non-zero bytes to some pages, as a driver's memory is not zeroed. */
static void dirty(uint8_t *p, uint64_t bytes)
{
	uint64_t at;

	for (at = 0; at < bytes; at += (uint64_t)4 << 20)
		memset(p + at, 0xa5, bytes - at < 4096 ? bytes - at : 4096);
}

/* ---- plain and host memory ----------------------------------------------- */

int double_alloc(uint64_t *address, size_t bytes)
{
	uint8_t *p = bytes ? take(bytes) : NULL;

	if (!p)
		return bytes ? DOUBLE_NO_MEMORY : DOUBLE_INVALID;
	dirty(p, bytes);
	*address = (uintptr_t)p;
	double_ptx_allocated(*address, bytes);
	double_count(DOUBLE_MEMORY, 1);
	return enlist(PLAIN, *address, bytes, -1, double_current());
}

int double_free(uint64_t address)
{
	struct piece p;

	if (delist(PLAIN, address, &p) && delist(MANAGED, address, &p))
		return DOUBLE_INVALID;
	double_ptx_freed(p.address, p.bytes);
	munmap((void *)(uintptr_t)p.address, p.bytes);
	double_count(DOUBLE_MEMORY, -1);
	return 0;
}

int double_managed_alloc(uint64_t *address, size_t bytes, unsigned flags)
{
	uint8_t *p = bytes && flags == 1 ? take(bytes) : NULL;

	if (!p)
		return bytes && flags == 1 ? DOUBLE_NO_MEMORY : DOUBLE_INVALID;
	dirty(p, bytes);
	*address = (uintptr_t)p;
	double_count(DOUBLE_MEMORY, 1);
	return enlist(MANAGED, *address, bytes, -1, -1);
}

int double_host_alloc(void **address, size_t bytes)
{
	*address = take(bytes);
	if (!*address)
		return DOUBLE_NO_MEMORY;
	dirty(*address, bytes);
	double_count(DOUBLE_HOST, 1);
	return enlist(HOST, (uintptr_t)*address, bytes, -1, -1);
}

int double_host_free(void *address)
{
	struct piece p;

	if (delist(HOST, (uintptr_t)address, &p))
		return DOUBLE_INVALID;
	munmap(address, p.bytes);
	double_count(DOUBLE_HOST, -1);
	return 0;
}

int double_host_register(void *address, size_t bytes)
{
	double_count(DOUBLE_REGISTERED, 1);
	return enlist(REGISTERED, (uintptr_t)address, bytes, -1, -1);
}

int double_host_unregister(void *address)
{
	struct piece p;

	if (delist(REGISTERED, (uintptr_t)address, &p))
		return DOUBLE_INVALID;
	double_count(DOUBLE_REGISTERED, -1);
	return 0;
}

static int inside(const struct piece *p, uint64_t address, size_t bytes)
{
	return address - p->address < p->bytes &&
	       bytes <= p->bytes - (address - p->address);
}

static int is_managed(uint64_t address, size_t bytes)
{
	struct piece *p;
	int is = 0;

	pthread_mutex_lock(&lock);
	for (p = pieces; p && !is; p = p->next)
		is = p->kind == MANAGED && bytes && inside(p, address, bytes);
	pthread_mutex_unlock(&lock);
	return is;
}

int double_managed_request(uint64_t address, size_t bytes, int device,
			   int advice, int concurrent)
{
	if (!is_managed(address, bytes))
		return DOUBLE_INVALID;
	if (device < -1 || device >= double_n_devices() || !concurrent)
		return DOUBLE_BAD_DEVICE;
	pthread_mutex_lock(&lock);
	requests[n_requests++ % REQUESTS] =
		(struct request){ address, bytes, device, advice };
	pthread_mutex_unlock(&lock);
	return 0;
}

/*
 * For tests: returns how many of the last requests had this range, device and
 * advice. Advice 0 is a prefetch. Device -1 is the host.
 */
__attribute__((visibility("default"))) int
peal_driver_double_managed(uint64_t address, uint64_t bytes, int device,
			   int advice);
int peal_driver_double_managed(uint64_t address, uint64_t bytes, int device,
			       int advice)
{
	const struct request *r;
	int n = 0;

	pthread_mutex_lock(&lock);
	for (r = requests; r < requests + REQUESTS; r++)
		n += r->bytes && r->address == address && r->bytes == bytes &&
		     r->device == device && r->advice == advice;
	pthread_mutex_unlock(&lock);
	return n;
}

int double_is_host(uint64_t address, size_t bytes)
{
	struct piece *p;
	int is = 0;

	pthread_mutex_lock(&lock);
	for (p = pieces; p && !is; p = p->next)
		is = (p->kind == HOST || p->kind == REGISTERED) &&
		     inside(p, address, bytes);
	pthread_mutex_unlock(&lock);
	return is;
}

/* ---- virtual memory management ------------------------------------------- */

int double_reserve(uint64_t *address, size_t bytes)
{
	void *p = mmap(NULL, bytes, PROT_NONE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (p == MAP_FAILED)
		return DOUBLE_NO_MEMORY;
	*address = (uintptr_t)p;
	double_count(DOUBLE_RANGE, 1);
	return enlist(RANGE, *address, bytes, -1, -1);
}

int double_unreserve(uint64_t address, size_t bytes)
{
	struct piece p;

	if (delist(RANGE, address, &p) || p.bytes != bytes)
		return DOUBLE_INVALID;
	munmap((void *)(uintptr_t)address, bytes);
	double_count(DOUBLE_RANGE, -1);
	return 0;
}

/* Makes a handle for a descriptor's memory, of a device. */
static int hold(uint64_t *handle, size_t bytes, int fd, int device)
{
	static uint64_t next = 0x100;

	pthread_mutex_lock(&lock);
	*handle = next++;
	pthread_mutex_unlock(&lock);
	double_count(DOUBLE_MEMORY, 1);
	return enlist(HANDLE, *handle, bytes, fd, device);
}

/* Begin of the memory file's name. The device follows, for other processes. */
#define NAME "peal double "

int double_create(uint64_t *handle, size_t bytes, int device, int exportable)
{
	char name[32];
	int fd, error;

	if (!bytes || bytes % ((size_t)2 << 20) || device < 0 ||
	    device >= double_n_devices())
		return DOUBLE_INVALID;
	snprintf(name, sizeof(name), NAME "%d", device);
	fd = memfd_create(name, MFD_CLOEXEC);
	if (fd < 0 || ftruncate(fd, (off_t)bytes))
		return DOUBLE_NO_MEMORY;
	error = hold(handle, bytes, fd, device);
	if (!error) {
		pthread_mutex_lock(&lock);
		find(HANDLE, *handle)->exportable = exportable;
		pthread_mutex_unlock(&lock);
	}
	return error;
}

int double_export(int *out, uint64_t handle)
{
	struct piece *p;

	*out = -1;
	pthread_mutex_lock(&lock);
	p = find(HANDLE, handle);
	if (p && p->exportable)
		*out = fcntl(p->fd, F_DUPFD_CLOEXEC, 0);
	pthread_mutex_unlock(&lock);
	return *out < 0 ? DOUBLE_INVALID : 0;
}

int double_import(uint64_t *handle, int fd)
{
	char path[40], name[64] = "";
	struct stat is;
	int device = -1, error;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (readlink(path, name, sizeof(name) - 1) < 0 || fstat(fd, &is) ||
	    sscanf(name, "/memfd:" NAME "%d", &device) != 1 ||
	    device >= double_n_devices())
		return DOUBLE_INVALID;
	fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	if (fd < 0)
		return DOUBLE_NO_MEMORY;
	error = hold(handle, (size_t)is.st_size, fd, device);
	if (!error) {
		pthread_mutex_lock(&lock);
		find(HANDLE, *handle)->imported = 1;
		pthread_mutex_unlock(&lock);
	}
	return error;
}

int double_release(uint64_t handle)
{
	struct piece p;

	if (delist(HANDLE, handle, &p))
		return DOUBLE_INVALID;
	close(p.fd);
	double_count(DOUBLE_MEMORY, -1);
	return 0;
}

int double_map(uint64_t address, size_t bytes, uint64_t handle)
{
	struct piece *range, *memory;
	int device = -1, fd = -1, imported = 0, shared = 0;
	void *p;

	pthread_mutex_lock(&lock);
	for (range = pieces; range; range = range->next)
		if (range->kind == RANGE && inside(range, address, bytes))
			break;
	memory = find(HANDLE, handle);
	if (memory && memory->bytes == bytes) {
		device = memory->device;
		fd = memory->fd;
		imported = memory->imported;
		shared = imported || memory->exportable;
	}
	pthread_mutex_unlock(&lock);
	if (!range || fd < 0)
		return DOUBLE_INVALID;
	p = mmap((void *)(uintptr_t)address, bytes, PROT_READ | PROT_WRITE,
		 MAP_SHARED | MAP_FIXED | MAP_NORESERVE, fd, 0);
	if (p == MAP_FAILED)
		return DOUBLE_NO_MEMORY;
	if (!imported)
		dirty(p, bytes);
	if (!shared) /* other processes write it, too */
		double_ptx_allocated(address, bytes);
	mprotect(p, bytes, PROT_NONE);
	double_count(DOUBLE_MAPPING, 1);
	return enlist(MAPPED, address, bytes, -1, device);
}

int double_unmap(uint64_t address, size_t bytes)
{
	struct piece p;

	if (delist(MAPPED, address, &p) || p.bytes != bytes)
		return DOUBLE_INVALID;
	double_ptx_freed(address, bytes);
	mmap((void *)(uintptr_t)address, bytes, PROT_NONE,
	     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0);
	double_count(DOUBLE_MAPPING, -1);
	return 0;
}

int double_set_access(uint64_t address, size_t bytes, int device)
{
	struct piece *p;
	int owner = -1;

	pthread_mutex_lock(&lock);
	p = find(MAPPED, address);
	if (p && p->bytes == bytes) {
		owner = p->device;
		if (owner >= 0 && double_access(device, owner))
			p->access |= 1ull << device;
		else
			owner = -2;
		generation++;
	}
	pthread_mutex_unlock(&lock);
	if (owner < 0)
		return owner == -2 ? DOUBLE_NOT_SUPPORTED : DOUBLE_INVALID;
	return mprotect((void *)(uintptr_t)address, bytes,
			PROT_READ | PROT_WRITE) ?
		       DOUBLE_NO_MEMORY :
		       0;
}

int double_owner(uint64_t address)
{
	struct piece *p;
	int owner = -1;

	pthread_mutex_lock(&lock);
	for (p = pieces; p; p = p->next)
		if ((p->kind == MAPPED || p->kind == PLAIN) &&
		    inside(p, address, 1))
			owner = p->device;
	pthread_mutex_unlock(&lock);
	return owner;
}

void double_peers_set(int device, uint64_t enabled)
{
	peers[device] = enabled;
	generation++;
}

/* Returns 1 if kernels of the device can access the piece. */
static int kernels_see(const struct piece *p, int device)
{
	uint64_t owner = p->device < 0 ? 0 : 1ull << p->device;

	if (p->kind == HOST || p->kind == REGISTERED || p->kind == MANAGED)
		return 1;
	if (p->kind == PLAIN)
		return p->device == device || (peers[device] & owner) != 0;
	return p->kind == MAPPED && (p->access & 1ull << device) != 0;
}

int double_sees(int device, uint64_t address, uint64_t *from, uint64_t *bytes)
{
	struct piece *p;

	pthread_mutex_lock(&lock);
	for (p = pieces; p; p = p->next)
		if (inside(p, address, 1) && kernels_see(p, device))
			break;
	if (p) {
		*from = p->address;
		*bytes = p->bytes;
	}
	pthread_mutex_unlock(&lock);
	return p != NULL;
}

void *double_scratch(size_t bytes)
{
	void *p = take(bytes);

	if (!p || enlist(HOST, (uintptr_t)p, bytes, -1, -1))
		double_broken("no memory for %zu bytes of scratch", bytes);
	return p;
}

void double_scratch_free(void *scratch)
{
	struct piece p;

	if (scratch && !delist(HOST, (uintptr_t)scratch, &p))
		munmap(scratch, p.bytes);
}

/* ---- copies -------------------------------------------------------------- */

/* Returns 1 if the device's copy engine has access to the memory. */
static int reaches(int device, uint64_t address, size_t bytes)
{
	struct piece *p;
	int is = 0;

	pthread_mutex_lock(&lock);
	for (p = pieces; p && !is; p = p->next) {
		if (!inside(p, address, bytes))
			continue;
		is = p->kind == HOST || p->kind == REGISTERED ||
		     (p->kind == PLAIN && double_access(device, p->device)) ||
		     (p->kind == MAPPED && p->access & 1ull << device);
	}
	pthread_mutex_unlock(&lock);
	return is;
}

static void check_range(const char *what, uint64_t address, size_t bytes)
{
	if (!reaches(double_current(), address, bytes))
		double_broken("%s %zu bytes at 0x%llx, which device %d does "
			      "not see (pageable memory, or not mapped)",
			      what, bytes, (unsigned long long)address,
			      double_current());
}

/* Returns 1 for a copy between two devices. */
static int is_between(uint64_t to, uint64_t from)
{
	int a = double_owner(to), b = double_owner(from);

	return a >= 0 && b >= 0 && a != b;
}

/*
 * HIP copies small pieces by a kernel. It needs space on a multiprocessor, which
 * it has for the time of the copy.
 */
static void check_copy_kernel(size_t bytes)
{
	const struct double_need need = {
		DOUBLE_COPY_LANES,
		double_registers(DOUBLE_COPY_REGISTERS, DOUBLE_COPY_LANES), 0, 0
	};
	const struct double_range all = { 0, 0 };
	int device = double_current();
	uint16_t unit;

	if (!double_units_take(device, all, &need, 1, &unit))
		double_broken("a copy of %zu bytes waits for resident kernels: "
			      "it is a kernel of %u threads, unless "
			      "GPU_FORCE_BLIT_COPY_SIZE and "
			      "ROC_P2P_SDMA_SIZE are 0",
			      bytes, DOUBLE_COPY_LANES);
	double_unit_give(device, unit, &need);
}

int double_copy(uint64_t to, uint64_t from, size_t bytes,
		struct double_stream *stream)
{
	if (double_lost(double_current()))
		return double_lost(double_current());
	if (double_stream_query(stream))
		double_broken("a copy on a stream that a kernel runs on");
	check_range("a copy to", to, bytes);
	check_range("a copy from", from, bytes);
	if (to - from < bytes || from - to < bytes)
		double_broken("a copy of %zu bytes onto itself", bytes);
	if (!double_vendor.is_cuda &&
	    bytes < double_copy_kernel_bytes(is_between(to, from)))
		check_copy_kernel(bytes);
	double_stream_copied(stream);
	memcpy((void *)(uintptr_t)to, (const void *)(uintptr_t)from, bytes);
	double_ptx_copied(to, from, bytes);
	return 0;
}

int double_fill(uint64_t to, uint8_t value, size_t bytes,
		struct double_stream *stream)
{
	if (double_lost(double_current()))
		return double_lost(double_current());
	if (double_stream_query(stream))
		double_broken("a fill on a stream that a kernel runs on");
	check_range("a fill of", to, bytes);
	/* Frees whole pages of zeros, so that large heaps are cheap. The first
	 * call is for mapped memory, the second for anonymous memory. */
	if (value || to % 4096 || bytes % 4096 ||
	    (madvise((void *)(uintptr_t)to, bytes, MADV_REMOVE) &&
	     madvise((void *)(uintptr_t)to, bytes, MADV_DONTNEED)))
		memset((void *)(uintptr_t)to, value, bytes);
	double_ptx_filled(to, bytes);
	return 0;
}
