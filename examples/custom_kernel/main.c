/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shows a program outside of Peal's source tree, in C. Runs the handler of
 * scale.c on a device: sends three numbers to an actor and prints the products.
 */
#include <stdio.h>

#include <peal/device/kernel.h>
#include <peal/peal.h>

PEAL_DECLARE_PROGRAM(scaler);

#define SECOND INT64_C(1000000000)

/*
 * Links the host with an actor in both directions, sends three numbers, and
 * prints the answer. Returns 0 or a negative error code.
 */
static int run(struct peal_runtime *runtime, struct peal_endpoint *host)
{
	/* The state of the actor starts with the factor. */
	const struct peal_actor_options options = {
		.size = sizeof(options),
		.init = &(const float){ 2.5f },
		.init_bytes = sizeof(float),
	};
	uint64_t here = peal_endpoint_address(host), actor;
	const float in[3] = { 1, 2, 3 };
	float out[3] = { 0, 0, 0 };
	struct peal_received received;
	struct peal_kernel *kernel;
	int r;

	r = peal_kernel_launch(runtime, 0, &peal_program_scaler, NULL, &kernel);
	if (!r)
		r = peal_actor_spawn(kernel, "scale", &options, &actor);
	if (!r)
		r = peal_connect(runtime, here, 0, actor, NULL, NULL);
	if (!r)
		r = peal_connect(runtime, actor, 0, here, NULL, NULL);
	if (!r)
		r = peal_send(host, 0, 0, in, sizeof(in), SECOND, NULL);
	if (!r)
		r = peal_receive(host, out, sizeof(out), &received, SECOND);
	if (r)
		return r;
	printf("%g %g %g times 2.5 is %g %g %g\n", (double)in[0], (double)in[1],
	       (double)in[2], (double)out[0], (double)out[1], (double)out[2]);
	return out[0] == 2.5f && out[1] == 5 && out[2] == 7.5f ? 0 : PEAL_EIO;
}

int main(void)
{
	struct peal_runtime *runtime = NULL;
	struct peal_endpoint *host;
	struct peal_device_info info;
	int r = peal_runtime_open(NULL, &runtime);

	if (!r)
		r = peal_device_info(runtime, 0, &info);
	if (!r)
		r = peal_endpoint_create(runtime, NULL, &host);
	if (!r) {
		printf("device 0: %s%s\n", info.name,
		       info.emulated ? " (emulated by CPU threads)" : "");
		r = run(runtime, host);
	}
	if (r)
		fprintf(stderr, "custom_kernel: %s (%s)\n",
			r == PEAL_EIO ? "wrong numbers" :
					peal_last_error()->text,
			peal_error_name(r));
	if (runtime && peal_runtime_shutdown(runtime))
		r = PEAL_EIO;
	return r ? 1 : 0;
}
