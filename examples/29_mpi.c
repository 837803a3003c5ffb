/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shows buffers of devices in calls of MPI. Two or more ranks send numbers
 * around in a ring, then add up their parts by an all-reduce. The memory of an
 * emulated device is memory of the process, so MPI gets its address. An MPI
 * library with CUDA support gets addresses of CUDA devices. Everything else
 * passes through a copy on the host.
 *
 *	mpirun -n 2 29_mpi [staged]
 *
 * The argument `staged` uses the copy for all buffers.
 */
#include <string.h>

#include <mpi.h>
#if defined(OPEN_MPI) && __has_include(<mpi-ext.h>)
#include <mpi-ext.h>
#endif

#include <peal/buffer.h>

#include "example.h"

#define NUMBERS 4096
#define BYTES (NUMBERS * sizeof(int64_t))

static int rank, ranks, staged;

/* MPI's default handler ends all ranks after an error of a call. */
static int has_cuda_support(void)
{
#if defined(MPIX_CUDA_AWARE_SUPPORT)
	return MPIX_Query_cuda_support();
#else
	return 0;
#endif
}

/*
 * Returns the address of a buffer if MPI can use it, else NULL. The rule: MPI
 * can use memory of the host and of emulated devices (backend "host"). It can
 * use memory of a CUDA device if MPIX_Query_cuda_support says so.
 */
static void *address_for_mpi(struct peal_runtime *runtime,
			     struct peal_buffer *buffer)
{
	struct peal_buffer_info of;
	struct peal_device_info on;
	uint64_t address;

	check(peal_buffer_info(buffer, &of), "read the buffer");
	if (of.device != PEAL_HOST_MEMORY) {
		check(peal_device_info(runtime, of.device, &on), "read device");
		if (strcmp(on.backend, "host") != 0 &&
		    (strcmp(on.backend, "cuda") != 0 || !has_cuda_support()))
			return NULL;
	}
	if (staged)
		return NULL;
	check(peal_buffer_address(peal_buffer_full_range(buffer), of.device,
				  &address),
	      "take the address");
	return (void *)(uintptr_t)address;
}

/* A buffer in a call of MPI: its own address, or that of a copy. */
struct operand {
	struct peal_buffer *buffer;
	void *address;
	int is_copy;
};

static struct operand begin(struct peal_runtime *runtime,
			    struct peal_buffer *buffer)
{
	struct operand o = { buffer, address_for_mpi(runtime, buffer), 0 };

	if (o.address)
		return o;
	o.is_copy = 1;
	o.address = malloc(BYTES);
	expect(o.address != NULL, "memory for a copy");
	check(peal_buffer_read(peal_buffer_full_range(buffer), o.address),
	      "copy from the device");
	return o;
}

static void end(struct operand *o)
{
	if (!o->is_copy)
		return;
	check(peal_buffer_write(peal_buffer_full_range(o->buffer), o->address),
	      "copy to the device");
	free(o->address);
}

/* Creates a buffer with number i of rank r: r * NUMBERS + i. */
static struct peal_buffer *create(struct peal_runtime *runtime, int device)
{
	const struct peal_buffer_options options = { .size = sizeof(options),
						     .device = device,
						     .bytes = BYTES };
	static int64_t numbers[NUMBERS];
	struct peal_buffer *buffer;
	int i;

	for (i = 0; i < NUMBERS; i++)
		numbers[i] = (int64_t)rank * NUMBERS + i;
	check(peal_buffer_create(runtime, &options, &buffer), "make a buffer");
	check(peal_buffer_write(peal_buffer_full_range(buffer), numbers),
	      "write the buffer");
	return buffer;
}

/* Reads the buffer by Peal. Number i has to be first + step * i. */
static void compare(struct peal_buffer *buffer, int64_t first, int64_t step,
		    const char *what)
{
	static int64_t numbers[NUMBERS];
	int i;

	check(peal_buffer_read(peal_buffer_full_range(buffer), numbers),
	      "read the buffer");
	for (i = 0; i < NUMBERS; i++)
		expect(numbers[i] == first + step * i, what);
}

/* Sends `own` to the next rank and receives `other` from the rank before. */
static void send_around(struct operand *own, struct operand *other)
{
	int next = (rank + 1) % ranks, before = (rank + ranks - 1) % ranks;

	if (rank == 0)
		MPI_Send(own->address, NUMBERS, MPI_INT64_T, next, 0,
			 MPI_COMM_WORLD);
	MPI_Recv(other->address, NUMBERS, MPI_INT64_T, before, 0,
		 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	if (rank > 0)
		MPI_Send(own->address, NUMBERS, MPI_INT64_T, next, 0,
			 MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
	struct peal_buffer *own_buffer, *other_buffer;
	struct operand own, other;
	struct peal_runtime *runtime;
	int device;

	staged = has_option(argc, argv, "staged");
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	expect(ranks >= 2, "number of ranks; start it by mpirun -n 2");
	check(peal_runtime_open(NULL, &runtime), "open the runtime");
	device = rank % peal_device_count(runtime);
	own_buffer = create(runtime, device);
	other_buffer = create(runtime, device);
	own = begin(runtime, own_buffer);
	other = begin(runtime, other_buffer);
	if (rank == 0)
		printf("%d ranks, buffers %s\n", ranks,
		       own.is_copy ? "by copies" : "by their addresses");
	send_around(&own, &other);
	MPI_Allreduce(MPI_IN_PLACE, own.address, NUMBERS, MPI_INT64_T, MPI_SUM,
		      MPI_COMM_WORLD);
	end(&own);
	end(&other);
	compare(other_buffer, (int64_t)((rank + ranks - 1) % ranks) * NUMBERS,
		1, "numbers of the rank before");
	compare(own_buffer, (int64_t)ranks * (ranks - 1) / 2 * NUMBERS, ranks,
		"sums of all ranks");
	if (rank == 0)
		printf("received and summed up %d numbers\n", NUMBERS);
	check(peal_buffer_destroy(own_buffer), "destroy the buffer");
	check(peal_buffer_destroy(other_buffer), "destroy the buffer");
	check(peal_runtime_shutdown(runtime), "shut down");
	return MPI_Finalize();
}
