/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_TESTS_SWEEP_CHAIN_H
#define PEAL_TESTS_SWEEP_CHAIN_H

/* The kernels and links through which a scenario sends messages. */

#include "fault/sweep_step.h"

#define SWEEP_MESSAGES 50

/* Messages pass two workers of device 0, then one of device 1. The two workers
 * are a cluster if the device has clusters. */
#define SWEEP_LINKS 4
static const struct {
	int kernel;
	uint32_t worker;
} sweep_actors[] = { { 0, 0 }, { 0, 1 }, { 1, 0 } };

/* The objects that a scenario has built; NULL: not built. */
struct sweep_chain {
	struct peal_endpoint *e;
	struct peal_kernel *kernel[2];
	struct peal_link *link[SWEEP_LINKS];
};

static inline int sweep_build(struct peal_runtime *rt, struct sweep_chain *c)
{
	struct peal_kernel_options of[2] = {
		{ .size = sizeof(of[0]), .workers = 2, .cluster.workers = 2 },
		{ .size = sizeof(of[0]), .workers = 1 },
	};
	struct peal_actor_options o = { .size = sizeof(o) };
	uint64_t at[SWEEP_LINKS + 1] = { 0 };
	int i, good = STEP(peal_endpoint_create(rt, NULL, &c->e));

	at[0] = at[SWEEP_LINKS] = good ? peal_endpoint_address(c->e) : 0;
	for (i = 0; i < 2 && good; i++)
		good = STEP(peal_kernel_launch(rt, i, &peal_program_relay,
					       &of[i], &c->kernel[i]));
	for (i = 0; i + 1 < SWEEP_LINKS && good; i++) {
		o.worker = PEAL_WORKER(sweep_actors[i].worker);
		good = STEP(peal_actor_spawn(c->kernel[sweep_actors[i].kernel],
					     "echo", &o, &at[i + 1]));
	}
	for (i = 0; i < SWEEP_LINKS && good; i++)
		good = STEP(peal_connect(rt, at[i], 0, at[i + 1], NULL,
					 &c->link[i]));
	return good;
}

static inline struct peal_kernel *sweep_failed_kernel(struct sweep_chain *c)
{
	struct peal_kernel_info info;
	int i;

	for (i = 0; i < 2; i++)
		if (c->kernel[i] && !peal_kernel_info(c->kernel[i], &info) &&
		    info.state == PEAL_KERNEL_FAILED)
			return c->kernel[i];
	return NULL;
}

/* Waits for a message or a failed kernel. Messages in a failed kernel are lost,
 * and its neighbour goes on waiting. */
static inline int sweep_receive(struct sweep_chain *c, struct relay_message *m,
				struct peal_received *r)
{
	uint64_t until = harness_now_ns() + SWEEP_WAIT;
	int result;

	do
		result = peal_receive(c->e, m, sizeof(*m), r, SECOND / 4);
	while (result == PEAL_ETIMEDOUT && harness_now_ns() < until &&
	       !sweep_failed_kernel(c));
	return result;
}

static inline int sweep_messages(struct sweep_chain *c)
{
	struct peal_received r;
	struct relay_message m;
	uint64_t i;
	int good = 1;

	for (i = 0; i < SWEEP_MESSAGES && good; i++) {
		harness_fill(&m, sizeof(m), 3, i);
		good = STEP(peal_send(c->e, 0, (uint16_t)i, &m, sizeof(m),
				      SWEEP_WAIT, NULL));
	}
	for (i = 0; i < SWEEP_MESSAGES && good; i++) {
		good = STEP(sweep_receive(c, &m, &r));
		sweep->wrong += good && (r.length != sizeof(m) ||
					 r.type != (uint16_t)i ||
					 !harness_intact(&m, sizeof(m), 3, i));
	}
	return good;
}

/* Replaces a timeout or PEAL_ESTOPPED by the error of the failed kernel. */
static inline void sweep_ask_kernels(struct sweep_chain *c)
{
	uint64_t until = harness_now_ns() + SECOND;
	struct peal_kernel *failed = NULL;

	if (sweep->code != PEAL_ESTOPPED && sweep->code != PEAL_ETIMEDOUT)
		return;
	while (!failed && harness_now_ns() < until)
		failed = sweep_failed_kernel(c);
	if (!failed)
		return;
	sweep->failed = 0;
	STEP(peal_kernel_wait(failed, SWEEP_WAIT));
}

static inline void sweep_take_down(struct sweep_chain *c)
{
	int i;

	for (i = 0; i < 2; i++)
		if (c->kernel[i])
			STEP(peal_kernel_stop(c->kernel[i], SWEEP_WAIT));
	for (i = 0; i < SWEEP_LINKS; i++)
		STEP(peal_link_destroy(c->link[i]));
	for (i = 0; i < 2; i++)
		STEP(peal_kernel_destroy(c->kernel[i]));
	STEP(peal_endpoint_destroy(c->e));
}

#endif
