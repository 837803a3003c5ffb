/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shows a pipeline of three stages, which take the devices in turn. The stages
 * double each float, take its square root and add one. A full link makes its
 * sender wait, so no batch is lost. The host writes and reads payloads in place.
 * The handlers are in programs/pipeline.c.
 *
 * Prints the routes, then the number of batches after all values were compared.
 */
#include <math.h>

#include <peal/device/kernel.h>

#include "example.h"

PEAL_DECLARE_PROGRAM(pipeline);

#define STAGES 3
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

/*
 * Makes the stages and links them: host, the three stages, host. Each stage is
 * an actor of a kernel of its own.
 */
static void make_stages(struct peal_runtime *runtime,
			struct peal_endpoint *host)
{
	static const char *const handlers[STAGES] = { "double_it", "take_root",
						      "add_one" };
	uint64_t before = peal_endpoint_address(host), stage;

	for (int i = 0; i < STAGES; i++) {
		int device = device_of_part(runtime, i);
		char name[64];

		stage = spawn(launch(runtime, device, &peal_program_pipeline),
			      handlers[i]);
		snprintf(name, sizeof(name), "%s to %s on device %d",
			 i ? handlers[i - 1] : "host", handlers[i], device);
		link_up(runtime, name, before, 0, stage, BYTES);
		before = stage;
	}
	link_up(runtime, "add_one to host", before, 0,
		peal_endpoint_address(host), BYTES);
}

int main(void)
{
	struct peal_runtime *runtime = open_runtime(STAGES);
	struct peal_endpoint *host;
	int sent = 0, received = 0;

	check(peal_endpoint_create(runtime, NULL, &host), "make an endpoint");
	make_stages(runtime, host);

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
