/* SPDX-License-Identifier: Apache-2.0 */
/* Streams through kernels: every message once, in order, and counted. */
#include <pthread.h>

#include <peal/device/kernel.h>
#include <peal/peal.h>
#include "peal_test.h"
#include "runtime/relay.h"

PEAL_DECLARE_PROGRAM(relay);

static struct peal_runtime *rt;

static struct peal_kernel *launch(int device, uint32_t lanes)
{
	struct peal_kernel_options o = { .size = sizeof(o),
					 .lanes = lanes,
					 .end_with_inputs = 1 };
	struct peal_kernel *k = NULL;

	CHECK_OK(peal_kernel_launch(rt, device, &peal_program_relay, &o, &k));
	return k;
}

PEAL_TEST(hello)
{
	struct peal_kernel *k;
	struct peal_endpoint *e;
	uint64_t actor;
	struct peal_received r;
	char buffer[64];

	CHECK_OK(peal_runtime_open(NULL, &rt));
	k = launch(0, 1);
	CHECK_OK(peal_endpoint_create(rt, NULL, &e));
	CHECK_OK(peal_actor_spawn(k, "echo", NULL, &actor));
	CHECK_OK(peal_connect(rt, peal_endpoint_address(e), 0, actor, NULL,
			      NULL));
	CHECK_OK(peal_connect(rt, actor, 0, peal_endpoint_address(e), NULL,
			      NULL));
	CHECK_OK(peal_send(e, 0, 7, "hello", 6, -1));
	CHECK_OK(peal_receive(e, buffer, sizeof(buffer), &r, 1000000000));
	CHECK_EQ(r.type, 7);
	CHECK_CONTAINS(buffer, "hello");
	CHECK_OK(peal_send_end(e, 0, -1));
	CHECK_EQ(peal_receive(e, buffer, sizeof(buffer), &r, 1000000000),
		 PEAL_EEND);
	CHECK_OK(peal_kernel_wait(k, 1000000000));
	CHECK_OK(peal_runtime_shutdown(rt));
}

PEAL_TEST_MAIN(RUN(hello);)
