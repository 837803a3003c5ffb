/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_TESTS_LIBC_SCENARIO_H
#define PEAL_TESTS_LIBC_SCENARIO_H

/* The ways in which the children of test_sweep_libc.c use a runtime. */

#include <peal/barrier.h>
#include <peal/buffer.h>
#include <peal/communicator.h>
#include <peal/event.h>
#include <peal/executor.h>
#include <peal/graph.h>
#include <peal/memory.h>
#include <peal/metrics.h>
#include <peal/migration.h>
#include <peal/monitor.h>
#include <peal/name.h>
#include <peal/pipeline.h>
#include <peal/request.h>
#include <peal/stall.h>
#include <peal/topic.h>
#include <peal/transfer.h>

#include "fault/sweep_chain.h"
#include "fault/sweep_copy.h"
#include "runtime/process_fixture.h"
#include "runtime/requests.h"
#include "runtime/tasks.h"

PEAL_DECLARE_PROGRAM(requests);
PEAL_DECLARE_PROGRAM(tasks);

/* ---- messages and requests ----------------------------------------------- */

static inline int scenario_ask(struct peal_requester *r)
{
	struct ask ask = { .number = 21, .what = ASK_TWICE };
	struct told told = { 0, 0, 0, 0 };
	int good = STEP(peal_request(r, 3, &ask, sizeof(ask), &told,
				     sizeof(told), NULL, SWEEP_WAIT));

	sweep->wrong += good && told.twice != 42;
	return good;
}

/* Asks an actor of a kernel of its own. */
static inline void scenario_requests(struct peal_runtime *rt)
{
	const struct peal_kernel_options of = { .size = sizeof(of),
						.mailbox.slots = 64 };
	const struct peal_actor_options o = { .size = sizeof(o) };
	struct peal_requester *r = NULL;
	struct peal_kernel *k = NULL;
	uint64_t server = 0;

	if (!STEP(peal_kernel_launch(rt, 1, &peal_program_requests, &of, &k)))
		return;
	if (STEP(peal_actor_spawn(k, "serve", &o, &server)) &&
	    STEP(peal_requester_create(rt, server, NULL, &r)) &&
	    STEP(peal_requester_listen(r, server, 0)))
		scenario_ask(r);
	STEP(peal_requester_destroy(r));
	STEP(peal_kernel_stop(k, SWEEP_WAIT));
	STEP(peal_kernel_destroy(k));
}

/* Messages between devices with a link, or through the host without one. */
static inline void scenario_devices(struct peal_runtime *rt)
{
	struct sweep_chain chain = { NULL, { NULL }, { NULL } };

	if (!sweep_copies(rt))
		return;
	if (!sweep_build(rt, &chain) || !sweep_messages(&chain))
		sweep_ask_kernels(&chain);
	sweep_take_down(&chain);
	if (!sweep->failed)
		scenario_requests(rt);
}

/* ---- other objects ------------------------------------------------------- */

static const int scenario_both[] = { 0, 1 };

static inline int scenario_sync_objects(struct peal_runtime *rt)
{
	const struct peal_barrier_options host = { .size = sizeof(host),
						   .host_participants = 2 };
	struct peal_barrier *barrier = NULL;
	struct peal_event *event = NULL;
	struct peal_comm *comm = NULL;

	return STEP(peal_barrier_create(rt, scenario_both, 2, 1, &host,
					&barrier)) &&
	       STEP(peal_event_create(rt, 0, scenario_both + 1, 1, NULL,
				      &event)) &&
	       STEP(peal_comm_create(rt, scenario_both, 2, NULL, &comm)) &&
	       STEP(peal_comm_destroy(comm));
}

static inline int scenario_buffers(struct peal_runtime *rt)
{
	const struct peal_buffer_options o = { .size = sizeof(o),
					       .device = 0,
					       .bytes = 4096 };
	struct peal_buffer *buffer = NULL;
	struct peal_copy *copy = NULL;
	struct peal_transfer move;
	struct peal_range all;
	int good;

	if (!STEP(peal_buffer_create(rt, &o, &buffer)))
		return 0;
	all = peal_buffer_full_range(buffer);
	good = STEP(peal_range_slice(all, 0, 2048, &move.to)) &&
	       STEP(peal_range_slice(all, 2048, 2048, &move.from)) &&
	       STEP(peal_transfer_start(rt, &move, 1, NULL, &copy)) &&
	       STEP(peal_copy_wait(copy, SWEEP_WAIT));
	peal_copy_destroy(copy);
	STEP(peal_buffer_destroy(buffer));
	return good;
}

static inline int scenario_compute(struct peal_runtime *rt)
{
	const struct peal_pipeline_stage stage = { .size = sizeof(stage),
						   .program =
							   &peal_program_relay,
						   .handler = "echo" };
	struct peal_executor *executor = NULL;
	struct peal_pipeline *pipeline = NULL;
	struct peal_graph *graph = NULL;

	return STEP(peal_executor_create(rt, scenario_both, 2,
					 &peal_program_tasks, NULL,
					 &executor)) &&
	       STEP(peal_executor_destroy(executor)) &&
	       STEP(peal_graph_create(rt, scenario_both, 2, &peal_program_tasks,
				      NULL, &graph)) &&
	       STEP(peal_graph_destroy(graph)) &&
	       STEP(peal_pipeline_create(rt, &stage, 1, NULL, &pipeline)) &&
	       STEP(peal_pipeline_destroy(pipeline));
}

static inline int scenario_actors(struct peal_runtime *rt)
{
	const struct peal_kernel_options o = { .size = sizeof(o),
					       .max_supervisors = 1,
					       .mailbox.slots = 64,
					       .max_monitors = 4 };
	struct peal_supervisor *supervisor = NULL;
	const struct peal_actor_options any = { .size = sizeof(any) };
	struct peal_kernel *k = NULL;
	struct peal_endpoint *e = NULL;
	uint64_t actor = 0, other = 0, topic = 0, monitor = 0, found = 0;

	return STEP(peal_kernel_launch(rt, 0, &peal_program_relay, &o, &k)) &&
	       STEP(peal_endpoint_create(rt, NULL, &e)) &&
	       STEP(peal_supervisor_create(k, NULL, &supervisor)) &&
	       STEP(peal_actor_spawn(k, "echo", &any, &actor)) &&
	       STEP(peal_name_set(rt, actor, "echo")) &&
	       STEP(peal_name_find(rt, "echo", &found)) &&
	       STEP(peal_monitor(k, peal_endpoint_address(e), actor, NULL,
				 &monitor)) &&
	       STEP(peal_topic_create(rt, 0, NULL, &topic)) &&
	       STEP(peal_publish(rt, actor, 0, topic)) &&
	       STEP(peal_actor_spawn(k, "echo", &any, &other)) &&
	       STEP(peal_subscribe(rt, topic, other, 0)) &&
	       STEP(peal_dead_letter_connect(k, peal_endpoint_address(e),
					     NULL)) &&
	       STEP(peal_unsubscribe(rt, topic, other)) &&
	       STEP(peal_actor_retire(rt, other));
}

static inline void scenario_objects(struct peal_runtime *rt)
{
	if (scenario_sync_objects(rt) && scenario_buffers(rt) &&
	    scenario_compute(rt))
		scenario_actors(rt);
}

/* ---- tasks, files, reports ----------------------------------------------- */

#define SCENARIO_ELEMENTS 64

/* A job on both devices, which counts a visit of each element. */
static inline void scenario_job(struct peal_runtime *rt, uint64_t memory)
{
	const uint64_t visits[] = { memory, memory };
	const uint64_t numbers[] = { memory + 4 * SCENARIO_ELEMENTS,
				     memory + 4 * SCENARIO_ELEMENTS };
	const struct peal_job_argument arguments[] = {
		{ .address = visits, .element_bytes = 4 },
		{ .address = numbers, .element_bytes = 8 },
	};
	const struct visit visit = { .gate_at = UINT64_MAX,
				     .fails_at = UINT64_MAX };
	const struct peal_job job = { .size = sizeof(job),
				      .handler = "visit",
				      .count = SCENARIO_ELEMENTS,
				      .n_arguments = 2,
				      .arguments = arguments,
				      .parameters = &visit,
				      .parameter_bytes = sizeof(visit) };
	struct peal_executor *e = NULL;
	const uint32_t *done = (const uint32_t *)(uintptr_t)memory;
	uint32_t i;

	memset((void *)(uintptr_t)memory, 0, 4 * SCENARIO_ELEMENTS);
	if (!STEP(peal_executor_create(rt, scenario_both, 2,
				       &peal_program_tasks, NULL, &e)))
		return;
	if (STEP(peal_executor_run(e, &job, SWEEP_WAIT)))
		for (i = 0; i < SCENARIO_ELEMENTS; i++)
			sweep->wrong += done[i] != 1;
	STEP(peal_executor_destroy(e));
}

/* A graph of two tasks, one after the other. */
static inline void scenario_graph(struct peal_runtime *rt, uint64_t memory)
{
	const struct visit visit = { .gate_at = UINT64_MAX,
				     .fails_at = UINT64_MAX };
	const struct peal_graph_argument arguments[] = {
		{ memory, 4, 0 },
		{ memory + 4 * SCENARIO_ELEMENTS, 8, 0 },
	};
	struct peal_graph_task task = { .size = sizeof(task),
					.handler = "visit",
					.count = SCENARIO_ELEMENTS,
					.n_arguments = 2,
					.arguments = arguments,
					.parameters = &visit,
					.parameter_bytes = sizeof(visit) };
	const uint32_t *done = (const uint32_t *)(uintptr_t)memory;
	struct peal_graph *g = NULL;
	uint32_t first = 0, second = 0, i;

	memset((void *)(uintptr_t)memory, 0, 4 * SCENARIO_ELEMENTS);
	if (!STEP(peal_graph_create(rt, scenario_both, 2, &peal_program_tasks,
				    NULL, &g)))
		return;
	if (STEP(peal_graph_add_task(g, &task, &first)) && (task.rank = 1) &&
	    STEP(peal_graph_add_task(g, &task, &second)) &&
	    STEP(peal_graph_add_edge(g, first, second)) &&
	    STEP(peal_graph_run(g, SWEEP_WAIT)))
		for (i = 0; i < SCENARIO_ELEMENTS; i++)
			sweep->wrong += done[i] != 2;
	STEP(peal_graph_destroy(g));
}

/* Moves an actor to another worker. */
static inline void scenario_migration(struct peal_runtime *rt)
{
	const struct peal_kernel_options of = { .size = sizeof(of),
						.workers = 2,
						.max_actors = 8,
						.mailbox.slots = 16 };
	struct peal_kernel *k = NULL;
	uint64_t actor = 0, moved = 0;

	if (!STEP(peal_kernel_launch(rt, 0, &peal_program_relay, &of, &k)))
		return;
	if (STEP(peal_actor_spawn(k, "echo", NULL, &actor)) &&
	    STEP(peal_actor_migrate(rt, actor, NULL, &moved)))
		STEP(peal_name_set(rt, moved, "moved"));
	STEP(peal_kernel_stop(k, SWEEP_WAIT));
	STEP(peal_kernel_destroy(k));
}

/* Reports on the runtime, from inside and as another process gets them. */
static inline void scenario_reports(struct peal_runtime *rt)
{
	static struct peal_metrics metrics;
	struct peal_stall causes[2];

	metrics.size = sizeof(metrics);
	STEP(peal_metrics_snapshot(rt, &metrics));
	STEP(peal_stall_report(rt, MS, causes, 2));
	STEP(peal_stall_report_pid((int)getpid(), MS, causes, 2));
}

static inline void scenario_file(struct peal_runtime *rt)
{
	const char *build = getenv("PEAL_BUILD_DIR");
	const struct peal_program *program = NULL;
	char path[512];

	if (!build) /* CTest sets it */
		return;
	snprintf(path, sizeof(path), "%s/tests/modules/one.so", build);
	STEP(peal_program_load_file(rt, path, &program));
}

static inline void scenario_services(struct peal_runtime *rt)
{
	uint64_t memory = 0;

	scenario_file(rt);
	if (!sweep->failed &&
	    STEP(peal_memory_alloc(rt, PEAL_HOST_MEMORY, 12 * SCENARIO_ELEMENTS,
				   &memory))) {
		scenario_job(rt, memory);
		if (!sweep->failed)
			scenario_graph(rt, memory);
		STEP(peal_memory_free(rt, PEAL_HOST_MEMORY, memory));
	}
	if (!sweep->failed)
		scenario_migration(rt);
	if (!sweep->failed)
		scenario_reports(rt);
}

/* ---- processes ----------------------------------------------------------- */

/* Waits until both ranks have come here. A rank that failed does not wait. */
static inline int scenario_meet(int place, int good)
{
	uint64_t until = harness_now_ns() + SWEEP_WAIT;

	atomic_fetch_add(&procs_board->word[place], 1);
	while (good && atomic_load(&procs_board->word[place]) < 2 &&
	       harness_now_ns() < until)
		identity_sleep_us(500);
	return good;
}

/* Sends a message to the other rank, and receives the other rank's. */
static inline int scenario_exchange(struct peal_process_group *group,
				    struct peal_endpoint *e, uint32_t other)
{
	struct peal_link *link = NULL;
	struct relay_message m;
	struct peal_received r;
	uint64_t own = peal_endpoint_address(e);
	int good;

	harness_fill(&m, sizeof(m), 3, 5);
	good = STEP(peal_process_export(group, "in", own)) &&
	       STEP(peal_process_connect(group, other, "in", own, 0, NULL,
					 SWEEP_WAIT, &link));
	good = scenario_meet(0, good) && /* each link has both ends */
	       STEP(peal_send(e, 0, 5, &m, sizeof(m), SWEEP_WAIT, NULL));
	memset(&m, 0, sizeof(m));
	good = good && STEP(peal_receive(e, &m, sizeof(m), &r, SWEEP_WAIT));
	sweep->wrong += good && !harness_intact(&m, sizeof(m), 3, 5);
	return good;
}

static inline void scenario_rank(struct peal_runtime *rt, uint32_t other)
{
	const struct peal_process_group_options o = {
		.size = sizeof(o), .timeout_ns = SWEEP_WAIT
	};
	struct peal_process_group *group = NULL;
	struct peal_process_group_info info;
	struct peal_endpoint *e = NULL;

	if (!STEP(peal_process_group_join(rt, &o, &group)))
		return;
	scenario_meet(1, STEP(peal_endpoint_create(rt, NULL, &e)) &&
				 scenario_exchange(group, e, other));
	if (STEP(peal_process_group_info(group, &info)))
		sweep->lost = (int)info.n_lost;
	STEP(peal_process_group_leave(group, SWEEP_WAIT));
}

static inline void scenario_rank_0(struct peal_runtime *rt)
{
	scenario_rank(rt, 1);
}

static inline void scenario_rank_1(struct peal_runtime *rt)
{
	scenario_rank(rt, 0);
}

/* ---- ways ---------------------------------------------------------------- */

struct scenario_way {
	const char *name, *links;
	void (*use)(struct peal_runtime *rt);
	void (*peer)(struct peal_runtime *rt); /* other rank; NULL: none */
	int rank;
	int shuts_down; /* 1: the shutdown destroys the objects */
};

static const struct scenario_way scenario_ways[] = {
	{ "linked devices", "", scenario_devices, NULL, 0, 0 },
	{ "staged links", "*:none", scenario_devices, NULL, 0, 0 },
	{ "other objects", "", scenario_objects, NULL, 0, 1 },
	{ "rank 0", "", scenario_rank_0, scenario_rank_1, 0, 1 },
	{ "rank 1", "", scenario_rank_1, scenario_rank_0, 1, 1 },
	{ "services", "", scenario_services, NULL, 0, 0 },
};
#define SCENARIO_RANK_0 3 /* its row */
#define SCENARIO_WAYS (sizeof(scenario_ways) / sizeof(scenario_ways[0]))

#endif
