/* SPDX-License-Identifier: Apache-2.0 */
/* No participant of a barrier passes before all have arrived. The participants
 * are workers of two devices, with and without the host. */

#include <peal/barrier.h>
#include <peal/memory.h>
#include "runtime/harness.h"

#define WORKERS 4 /* two on each of two devices */
#define PHASES (IDENTITY_SANITIZED ? 200 : 1000)

/* Two kernels with actors that pass phases. The endpoint starts each phase. */
struct phases {
	struct peal_runtime *rt;
	struct peal_endpoint *e;
	struct peal_kernel *k[2];
	struct peal_barrier *barrier;
	uint64_t actor[WORKERS];
	uint64_t words; /* each participant writes one and checks all */
	uint32_t participants;
};

static void open_phases(struct phases *p, const char *links, uint32_t host)
{
	struct peal_barrier_options b = { .size = sizeof(b),
					  .host_participants = host };
	struct peal_kernel_options o = { .workers = 2,
					 .drain_when_inputs_end = 1 };
	struct peal_link_options none = { .capacity = 0 };
	static const int devices[] = { 0, 1 };
	int i;

	p->rt = harness_open(2, links);
	p->e = harness_endpoint(p->rt);
	p->participants = WORKERS + host;
	CHECK_OK(peal_memory_alloc(p->rt, PEAL_HOST_MEMORY,
				   2 * RELAY_PHASE_MAX * sizeof(uint64_t),
				   &p->words));
	CHECK_OK(peal_barrier_create(p->rt, devices, 2, 2, &b, &p->barrier));
	for (i = 0; i < 2; i++)
		p->k[i] = harness_launch_with(p->rt, i, o);
	for (i = 0; i < WORKERS; i++) {
		struct peal_kernel *k = p->k[i / 2];

		p->actor[i] = harness_spawn(k, "phase", i % 2);
		CHECK_EQ(peal_barrier_join(p->barrier, k, (uint32_t)i % 2), 0);
		harness_from(p->rt, p->e, (uint32_t)i, p->actor[i], none);
	}
}

/* Makes participant i pass one more phase. */
static void step(struct phases *p, uint32_t i, int64_t timeout_ns)
{
	struct relay_phase m = { p->words, i, p->participants, timeout_ns };

	CHECK_OK(peal_send(p->e, i, 0, &m, sizeof(m), MAX_WAIT, NULL));
}

static struct relay_phases state_of(struct phases *p, uint32_t i)
{
	struct relay_phases state;

	CHECK_OK(peal_actor_state(p->rt, p->actor[i], &state, sizeof(state)));
	return state;
}

static struct peal_barrier_info info_of(struct phases *p)
{
	struct peal_barrier_info info;

	CHECK_OK(peal_barrier_info(p->barrier, &info));
	return info;
}

/* Ends the kernels with their inputs. */
static void end_phases(struct phases *p)
{
	uint32_t i;

	for (i = 0; i < WORKERS; i++)
		CHECK_OK(peal_send_end(p->e, i, MAX_WAIT));
	for (i = 0; i < 2; i++)
		CHECK_OK(peal_kernel_wait(p->k[i], MAX_WAIT));
	harness_conserved(p->rt);
}

static void close_phases(struct phases *p)
{
	CHECK_OK(peal_barrier_destroy(p->barrier));
	CHECK_OK(peal_memory_free(p->rt, PEAL_HOST_MEMORY, p->words));
	CHECK_OK(peal_runtime_shutdown(p->rt));
}

/* The host's own phases, with the same check as the handler's. */
static void *host_part(void *argument)
{
	struct phases *p = argument;
	uint64_t *words = (uint64_t *)(uintptr_t)p->words, phase;
	uint32_t i;

	for (phase = 1; phase <= PHASES; phase++) {
		uint64_t *row = words + ((phase - 1) & 1) * RELAY_PHASE_MAX;

		row[WORKERS] = phase;
		CHECK_OK(peal_barrier_arrive(p->barrier, 0));
		CHECK_OK(peal_barrier_wait(p->barrier, 0, MAX_WAIT));
		for (i = 0; i < p->participants; i++)
			CHECK_EQ(row[i], phase);
	}
	return NULL;
}

static void pass(const char *links, uint32_t host)
{
	struct relay_phases state;
	struct phases p;
	pthread_t thread;
	uint32_t i, n;

	open_phases(&p, links, host);
	CHECK_EQ(info_of(&p).participants, WORKERS + host);
	CHECK_EQ(info_of(&p).joined, WORKERS);
	if (host)
		CHECK(!pthread_create(&thread, NULL, host_part, &p));
	for (n = 0; n < PHASES; n++)
		for (i = 0; i < WORKERS; i++)
			step(&p, i, MAX_WAIT);
	end_phases(&p);
	if (host)
		CHECK(!pthread_join(thread, NULL));
	for (i = 0; i < WORKERS; i++) {
		state = state_of(&p, i);
		CHECK_EQ(state.result, 0);
		CHECK_EQ(state.passed, PHASES);
		CHECK_EQ(state.early, 0);
	}
	CHECK_EQ(info_of(&p).generation, PHASES);
	CHECK_EQ(info_of(&p).arrived, 0);
	close_phases(&p);
}

PEAL_TEST(no_worker_passes_before_all_arrive)
{
	pass("", 0);
}

PEAL_TEST(pairs_without_access_use_host_memory)
{
	pass("0-1:none", 0);
	pass("0>1:none", 0);
}

PEAL_TEST(host_participates_if_configured)
{
	pass("", 1);
}

static uint64_t handled(struct phases *p)
{
	struct peal_kernel_info a, b;

	CHECK_OK(peal_kernel_info(p->k[0], &a));
	CHECK_OK(peal_kernel_info(p->k[1], &b));
	return a.handled + b.handled;
}

PEAL_TEST(wait_for_missing_participant_times_out)
{
	struct phases p;
	uint32_t i;

	open_phases(&p, "", 1);
	for (i = 0; i < 3; i++)
		step(&p, i, 30 * MS);
	EVENTUALLY(info_of(&p).arrived == 3);
	CHECK_EQ(info_of(&p).generation, 0);
	CHECK_FAILS(peal_barrier_wait(p.barrier, 0, 0), PEAL_EINVAL,
		    "has not arrived");
	((uint64_t *)(uintptr_t)p.words)[WORKERS] = 1;
	CHECK_OK(peal_barrier_arrive(p.barrier, 0)); /* and does not wait */
	CHECK_FAILS(peal_barrier_wait(p.barrier, 0, 0), PEAL_ETIMEDOUT, "5");
	CHECK_EQ(peal_barrier_wait(p.barrier, 0, 20 * MS), PEAL_ETIMEDOUT);
	CHECK_EQ(info_of(&p).arrived, 4);
	EVENTUALLY(handled(&p) == 3);
	step(&p, 3, MAX_WAIT); /* the last participant arrives */
	CHECK_OK(peal_barrier_wait(p.barrier, 0, -1));
	CHECK_EQ(peal_barrier_wait(p.barrier, 0, -1), PEAL_EINVAL);
	end_phases(&p);
	for (i = 0; i < 3; i++)
		CHECK_EQ(state_of(&p, i).result, PEAL_ETIMEDOUT);
	CHECK_EQ(state_of(&p, 3).result, 0);
	CHECK_EQ(state_of(&p, 3).early, 0);
	close_phases(&p);
}

PEAL_TEST(abort_ends_current_and_future_waits)
{
	struct phases p;
	uint32_t i;

	open_phases(&p, "", 1);
	for (i = 0; i < 3; i++)
		step(&p, i, -1);
	EVENTUALLY(info_of(&p).arrived == 3);
	CHECK_OK(peal_barrier_arrive(p.barrier, 0));
	CHECK_OK(peal_barrier_abort(p.barrier));
	CHECK_EQ(info_of(&p).aborted, 1);
	CHECK_FAILS(peal_barrier_wait(p.barrier, 0, -1), PEAL_EABORTED,
		    "aborted");
	CHECK_EQ(peal_barrier_arrive(p.barrier, 0), PEAL_EABORTED);
	end_phases(&p); /* their handlers have ended */
	for (i = 0; i < 3; i++)
		CHECK_EQ(state_of(&p, i).result, PEAL_EABORTED);
	close_phases(&p);
}

PEAL_TEST(stop_ends_a_wait_inside_a_handler)
{
	struct phases p;
	uint32_t i;

	open_phases(&p, "0-1:none", 0);
	for (i = 0; i < 3; i++)
		step(&p, i, -1);
	EVENTUALLY(info_of(&p).arrived == 3);
	CHECK_FAILS(peal_barrier_destroy(p.barrier), PEAL_EBUSY, "relay");
	for (i = 0; i < 2; i++)
		CHECK_OK(peal_kernel_stop(p.k[i], MAX_WAIT));
	for (i = 0; i < 3; i++)
		CHECK_EQ(state_of(&p, i).result, PEAL_ESTOPPED);
	harness_conserved(p.rt);
	CHECK_FAILS(peal_kernel_destroy(p.k[0]), PEAL_EBUSY, "relay");
	close_phases(&p);
}

/* A receiver normally returns slots after a quarter of the capacity. After 10
 * of 64 messages, a wait in a handler returns the slots. */
PEAL_TEST(wait_in_handler_returns_freed_slots)
{
	struct relay_phase m = { 0, 0, WORKERS + 1, -1 };
	struct phases p;
	uint32_t i, n;

	open_phases(&p, "", 1);
	m.words = p.words;
	CHECK_OK(peal_kernel_suspend(p.k[0], MAX_WAIT));
	CHECK_OK(peal_kernel_suspend(p.k[1], MAX_WAIT));
	for (i = 0; i < WORKERS; i++)
		for (n = 0; n < 64; n++)
			step(&p, i, -1);
	CHECK_EQ(peal_send(p.e, 0, 0, &m, sizeof(m), 0, NULL), PEAL_EAGAIN);
	CHECK_OK(peal_kernel_resume(p.k[0]));
	CHECK_OK(peal_kernel_resume(p.k[1]));
	for (n = 0; n < 10; n++) {
		CHECK_OK(peal_barrier_arrive(p.barrier, 0));
		CHECK_OK(peal_barrier_wait(p.barrier, 0, MAX_WAIT));
	}
	EVENTUALLY(peal_send(p.e, 0, 0, &m, sizeof(m), 0, NULL) == 0);
	for (i = 0; i < 2; i++)
		CHECK_OK(peal_kernel_stop(p.k[i], MAX_WAIT));
	close_phases(&p);
}

/* A caller with an older header has a smaller `size`. It lacks newer
 * options. */
PEAL_TEST(options_beyond_their_size_are_not_read)
{
	struct peal_barrier_options o = { .size = sizeof(o.size),
					  .host_participants = 3 };
	static const int devices[] = { 0 };
	struct peal_barrier *b = NULL;
	struct peal_barrier_info info;
	struct peal_runtime *rt = harness_open(1, "");

	CHECK_OK(peal_barrier_create(rt, devices, 1, 2, &o, &b));
	CHECK_OK(peal_barrier_info(b, &info));
	CHECK_EQ(info.participants, 2);
	CHECK_OK(peal_barrier_destroy(b));
	CHECK_OK(peal_runtime_close(rt));
}

PEAL_TEST(barrier_errors_name_the_argument)
{
	static const int twice[] = { 1, 1 }, there[] = { 0 }, not [] = { 0, 9 };
	struct peal_barrier_options o = { .size = 4096 };
	struct peal_barrier_options host = { .host_participants = 0 };
	struct peal_barrier_info info;
	struct peal_barrier *b = NULL;
	struct peal_kernel *k;
	struct phases p;

	open_phases(&p, "", 0);
	k = harness_launch(p.rt, 1);
	CHECK_FAILS(peal_barrier_create(p.rt, twice, 2, 1, NULL, &b),
		    PEAL_EINVAL, "device 1: is listed twice (2 times");
	CHECK_FAILS(peal_barrier_create(p.rt, not, 2, 1, NULL, &b), PEAL_ENODEV,
		    "9");
	CHECK_FAILS(peal_barrier_create(p.rt, there, 0, 1, NULL, &b),
		    PEAL_EINVAL,
		    "'n_devices': is out of range (0, allowed 1..256); use 1");
	CHECK_EQ(peal_barrier_create(p.rt, there, 1, 0, NULL, &b), PEAL_EINVAL);
	CHECK_FAILS(peal_barrier_create(p.rt, there, 2, 129, NULL, &b),
		    PEAL_EINVAL,
		    "'participants_per_device': is out of range (129, allowed "
		    "1..128); use 128");
	host.size = sizeof(host);
	host.host_participants = 57;
	CHECK_FAILS(peal_barrier_create(p.rt, there, 1, 200, &host, &b),
		    PEAL_EINVAL,
		    "option 'host_participants': is out of range (57, allowed "
		    "0..56); use 56");
	CHECK_EQ(peal_barrier_create(p.rt, there, 1, 1, &o, &b), PEAL_EINVAL);
	CHECK_EQ(peal_barrier_create(NULL, there, 1, 1, NULL, &b), PEAL_EINVAL);
	CHECK_EQ(peal_barrier_create(p.rt, NULL, 1, 1, NULL, &b), PEAL_EINVAL);
	CHECK_EQ(peal_barrier_create(p.rt, there, 1, 1, NULL, NULL),
		 PEAL_EINVAL);
	CHECK(!b);
	CHECK_FAILS(peal_barrier_join(p.barrier, p.k[0], 0), PEAL_EALREADY,
		    "worker 0");
	CHECK_FAILS(peal_barrier_join(p.barrier, p.k[0], 2), PEAL_ENOENT,
		    "'relay': has no such worker (2, allowed 0..1)");
	CHECK_FAILS(peal_barrier_join(p.barrier, k, 0), PEAL_ENOSPC,
		    "device 1");
	CHECK_OK(peal_barrier_create(p.rt, there, 1, 8, NULL, &b));
	CHECK_FAILS(peal_barrier_join(b, k, 0), PEAL_ENOENT, "device 1");
	CHECK_EQ(peal_barrier_join(b, p.k[0], 0), 1);
	CHECK_EQ(peal_barrier_join(NULL, k, 0), PEAL_EINVAL);
	CHECK_EQ(peal_barrier_join(b, NULL, 0), PEAL_EINVAL);
	CHECK_EQ(peal_barrier_arrive(NULL, 0), PEAL_EINVAL);
	CHECK_FAILS(peal_barrier_arrive(b, 0), PEAL_ENOENT,
		    "barrier: has no "
		    "such host participant (0, allowed none); create the "
		    "barrier with host_participants");
	CHECK_EQ(peal_barrier_wait(b, 3, 0), PEAL_ENOENT);
	CHECK_EQ(peal_barrier_wait(NULL, 0, 0), PEAL_EINVAL);
	CHECK_EQ(peal_barrier_info(b, NULL), PEAL_EINVAL);
	CHECK_EQ(peal_barrier_info(NULL, &info), PEAL_EINVAL);
	CHECK_EQ(peal_barrier_abort(NULL), PEAL_EINVAL);
	CHECK_OK(peal_barrier_destroy(NULL));
	CHECK_OK(peal_kernel_stop(k, MAX_WAIT));
	CHECK_OK(peal_kernel_stop(p.k[0], MAX_WAIT));
	CHECK_FAILS(peal_barrier_join(b, p.k[0], 1), PEAL_ESTOPPED, "relay");
	CHECK_OK(peal_runtime_shutdown(p.rt));
}

PEAL_TEST(worker_joins_up_to_max_barriers)
{
	struct peal_kernel_options o = { .max_barriers = 2 };
	struct peal_runtime *rt = harness_open(1, "");
	struct peal_kernel *k = harness_launch_with(rt, 0, o);
	struct peal_barrier *b[3];
	static const int device[] = { 0 };
	int i;

	for (i = 0; i < 3; i++)
		CHECK_OK(peal_barrier_create(rt, device, 1, 1, NULL, &b[i]));
	CHECK_EQ(peal_barrier_join(b[0], k, 0), 0);
	CHECK_EQ(peal_barrier_join(b[1], k, 0), 1);
	CHECK_FAILS(peal_barrier_join(b[2], k, 0), PEAL_ENOSPC,
		    "'relay': has joined too many barriers (3, allowed 0..2)");
	CHECK_OK(peal_runtime_shutdown(rt));
}

PEAL_TEST_MAIN(RUN(no_worker_passes_before_all_arrive);
	       RUN(pairs_without_access_use_host_memory);
	       RUN(host_participates_if_configured);
	       RUN(wait_for_missing_participant_times_out);
	       RUN(abort_ends_current_and_future_waits);
	       RUN(stop_ends_a_wait_inside_a_handler);
	       RUN(wait_in_handler_returns_freed_slots);
	       RUN(options_beyond_their_size_are_not_read);
	       RUN(barrier_errors_name_the_argument);
	       RUN(worker_joins_up_to_max_barriers);)
