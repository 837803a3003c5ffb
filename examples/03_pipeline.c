/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shows a pipeline of three stages on two devices. The stages double each
 * float, take its square root and add one. A full link makes its sender wait,
 * so no batch is lost. The host writes and reads payloads in place. The
 * handlers are in programs/pipeline.c.
 *
 * Prints the routes, then the number of batches after all values were compared.
 */
#include <math.h>

#include <peal/device/kernel.h>

#include "example.h"

PEAL_DECLARE_PROGRAM(pipeline);

#define BATCHES 1000
#define FLOATS 256
#define BYTES (FLOATS * sizeof(float))

static float input(int batch, int i)
{
	return (float)(batch * FLOATS + i) / 7;
}

/*
 * Writes a batch into the memory of the first link and sends it. Returns 1, or
 * 0 if the link is full.
 */
static int try_send(struct peal_endpoint *host, int batch)
{
	void *place;
	int result = peal_send_reserve(host, 0, BYTES, 0, &place);

	if (result == PEAL_EAGAIN)
		return 0;
	check(result, "send");
	for (int i = 0; i < FLOATS; i++)
		((float *)place)[i] = input(batch, i);
	check(peal_send_commit(host, 0, 0), "send");
	return 1;
}

/*
 * Takes the next result from the last link and checks it in place. Returns 1,
 * or 0 if no result arrives within timeout_ns (0: does not wait).
 */
static int try_receive(struct peal_endpoint *host, int batch,
		       int64_t timeout_ns)
{
	struct peal_received received;
	const float *values;
	int result = peal_receive_peek(host, &received, timeout_ns);

	if (result == PEAL_EAGAIN || result == PEAL_ETIMEDOUT)
		return 0;
	check(result, "receive");
	values = received.data;
	expect(received.sequence == (uint64_t)batch, "the order of batches");
	expect(received.length == BYTES, "the length of a batch");
	for (int i = 0; i < FLOATS; i++)
		expect(values[i] == sqrtf(input(batch, i) * 2) + 1, "a value");
	check(peal_receive_release(host), "receive");
	return 1;
}

int main(void)
{
	struct peal_runtime *runtime = open_runtime(2);
	struct peal_kernel *kernels[2] = {
		launch(runtime, 0, &peal_program_pipeline),
		launch(runtime, 1, &peal_program_pipeline),
	};
	/* Spawn one actor for each stage. */
	uint64_t twice = spawn(kernels[0], "double_it");
	uint64_t root = spawn(kernels[1], "take_root");
	uint64_t add = spawn(kernels[0], "add_one");
	struct peal_endpoint *host;
	int sent = 0, received = 0;

	check(peal_endpoint_create(runtime, NULL, &host), "make an endpoint");
	/* Link the stages: host, device 0, device 1, device 0, host. */
	link_up(runtime, "host to x2 on device 0", peal_endpoint_address(host),
		0, twice, BYTES);
	link_up(runtime, "x2 to sqrt on device 1", twice, 0, root, BYTES);
	link_up(runtime, "sqrt to +1 on device 0", root, 0, add, BYTES);
	link_up(runtime, "+1 to host", add, 0, peal_endpoint_address(host),
		BYTES);

	/*
	 * Send while the first link has free slots. Wait for a result only if
	 * no batch could be sent.
	 */
	while (received < BATCHES) {
		int more = sent < BATCHES && try_send(host, sent);

		sent += more;
		received += try_receive(host, received, more ? 0 : 10 * SECOND);
	}
	printf("%d batches of %d floats, all right and in order\n", received,
	       FLOATS);

	check(peal_runtime_shutdown(runtime), "shut down");
	return 0;
}
