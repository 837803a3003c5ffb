/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A child of fork has no access to the runtime of its parent: each call fails
 * there. The exit of the child changes nothing. The child can open a runtime of
 * its own.
 */
#include <peal/balance.h>
#include <peal/barrier.h>
#include <peal/buffer.h>
#include <peal/collective.h>
#include <peal/communicator.h>
#include <peal/copy.h>
#include <peal/device_queue.h>
#include <peal/event.h>
#include <peal/executor_arrays.h>
#include <peal/graph.h>
#include <peal/memory.h>
#include <peal/metrics.h>
#include <peal/migration.h>
#include <peal/monitor.h>
#include <peal/name.h>
#include <peal/partition.h>
#include <peal/peer.h>
#include <peal/pipeline.h>
#include <peal/process_group.h>
#include <peal/proxy.h>
#include <peal/queue.h>
#include <peal/request.h>
#include <peal/stall.h>
#include <peal/topic.h>
#include <peal/work_share.h>
#include <peal/topology.h>
#include <peal/transfer.h>
#include <peal/worker.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "runtime/harness.h"

PEAL_DECLARE_PROGRAM(tasks);

extern char **environ;

#define CHILD_S 60 /* a child that hangs is ended */

/** One object of each kind, and the parent's stream of messages. */
static struct {
	struct peal_runtime *rt;
	struct peal_kernel *k;
	struct peal_endpoint *e;
	struct peal_link *link;
	struct peal_barrier *barrier;
	struct peal_buffer *buffer;
	struct peal_copy *copy;
	struct peal_comm *comm;
	struct peal_event *event;
	struct peal_executor *executor;
	struct peal_graph *graph;
	struct peal_pipeline *pipeline;
	struct peal_process_group *group;
	struct peal_requester *requester;
	struct peal_supervisor *supervisor;
	struct peal_work_share *share;
	struct peal_device_queue queues[2];
	uint64_t actor, sent;
} s;

static const int one_device[] = { 0 };

/* Work queues of two other devices, and their share. */
static void make_share(void)
{
	const struct peal_queue_options o = { .size = sizeof(o),
					      .kind = PEAL_QUEUE_WORK,
					      .max_producers = 2,
					      .max_consumers = 2 };
	const int devices[] = { 1, 2 };

	CHECK_OK(peal_device_queue_create(s.rt, 1, &o, &s.queues[0]));
	CHECK_OK(peal_device_queue_create(s.rt, 2, &o, &s.queues[1]));
	CHECK_OK(peal_work_share_create(s.rt, devices, s.queues, 2, NULL,
					&s.share));
}

static void make_groups(void)
{
	const struct peal_pipeline_stage stage = { .size = sizeof(stage),
						   .program =
							   &peal_program_relay,
						   .handler = "echo" };
	const struct peal_process_group_options alone = { .size = sizeof(alone),
							  .ranks = 1 };

	CHECK_OK(peal_comm_create(s.rt, one_device, 1, NULL, &s.comm));
	CHECK_OK(peal_executor_create(s.rt, one_device, 1, &peal_program_tasks,
				      NULL, &s.executor));
	CHECK_OK(peal_graph_create(s.rt, one_device, 1, &peal_program_tasks,
				   NULL, &s.graph));
	make_share();
	CHECK_OK(peal_pipeline_create(s.rt, &stage, 1, NULL, &s.pipeline));
	CHECK_OK(peal_process_group_join(s.rt, &alone, &s.group));
}

static void make_all(void)
{
	const struct peal_kernel_options o = { .max_supervisors = 1,
					       .mailbox.slots = 64,
					       .max_monitors = 4 };
	const struct peal_barrier_options host = { .size = sizeof(host),
						   .host_participants = 2 };
	const struct peal_buffer_options buffer = { .size = sizeof(buffer),
						    .bytes = 4096 };
	const struct peal_link_options any = { 0 };
	struct peal_range all;
	struct peal_transfer move;

	memset(&s, 0, sizeof(s));
	s.rt = harness_open(3, "");
	/* drivers load programs before the first launch only */
	CHECK_OK(peal_program_add(s.rt, &peal_program_relay));
	make_groups();
	s.k = harness_launch_with(s.rt, 0, o);
	s.e = harness_endpoint(s.rt);
	s.actor = harness_spawn(s.k, "echo", 0);
	s.link = harness_from(s.rt, s.e, 0, s.actor, any);
	harness_to(s.rt, s.actor, s.e, any);
	CHECK_OK(
		peal_barrier_create(s.rt, one_device, 1, 1, &host, &s.barrier));
	CHECK_OK(peal_buffer_create(s.rt, &buffer, &s.buffer));
	all = peal_buffer_full_range(s.buffer);
	CHECK_OK(peal_range_slice(all, 0, 2048, &move.to));
	CHECK_OK(peal_range_slice(all, 2048, 2048, &move.from));
	CHECK_OK(peal_transfer_start(s.rt, &move, 1, NULL, &s.copy));
	CHECK_OK(peal_event_create(s.rt, 0, NULL, 0, NULL, &s.event));
	CHECK_OK(peal_requester_create(s.rt, s.actor, NULL, &s.requester));
	CHECK_OK(peal_supervisor_create(s.k, NULL, &s.supervisor));
}

/* Sends a few messages through the parent's actor and back. */
static void stream(void)
{
	harness_send(s.e, 0, 7, s.sent, 4);
	harness_receive(s.e, 7, s.sent, 4);
	s.sent += 4;
}

static void close_all(void)
{
	stream();
	peal_copy_destroy(s.copy);
	CHECK_OK(peal_runtime_shutdown(s.rt));
}

/* ---- children ------------------------------------------------------------ */

/* LeakSanitizer asks this function at exit. A child of fork inherits the locks of its
 * allocator, also locks that other threads of the parent hold. The search for leaks
 * takes all of them, so a child must not search. */
int __lsan_is_turned_off(void);

static int is_child;

int __lsan_is_turned_off(void)
{
	return is_child;
}

/* Runs a function in a child of fork, or of the system call without fork. */
static void in_child_of(int raw, void (*run)(void))
{
	int status = 0;
	pid_t child;

	fflush(NULL);
	child = raw ? (pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, 0L) :
		      fork();
	CHECK(child >= 0);
	if (!child) {
		is_child = 1;
		harness_cache[0] = 0; /* the parent removes it */
		alarm(CHILD_S);
		run();
		exit(0);
	}
	CHECK_EQ(waitpid(child, &status, 0), child);
	CHECK_EQ(status, 0);
}

static void in_child(void (*run)(void))
{
	in_child_of(0, run);
}

#define FORKED(call) CHECK_FAILS(call, PEAL_EFORKED, "is a child of that")
/* For a call that returns a number or a pointer. */
#define FORKED_NONE(call)                                                      \
	do {                                                                   \
		CHECK(!(call));                                                \
		CHECK_EQ(peal_last_error()->code, PEAL_EFORKED);               \
	} while (0)

/* Calls that make an object. */
static void refuse_creation(void)
{
	const struct peal_buffer_options buffer = { .size = sizeof(buffer),
						    .bytes = 64 };
	const struct peal_job job = { .size = sizeof(job) };
	const struct peal_pipeline_stage stage = { .size = sizeof(stage) };
	const struct peal_program *program = &peal_program_tasks;
	struct peal_image_info image;
	struct peal_process_group *group;
	struct peal_executor *executor;
	struct peal_pipeline *pipeline;
	struct peal_work_share *share;
	struct peal_buffer *other;
	struct peal_graph *graph;
	struct peal_comm *comm;

	FORKED(peal_buffer_create(s.rt, &buffer, &other));
	FORKED(peal_comm_create_group(s.group, "a", NULL, 1, 0, NULL, -1,
				      &comm));
	FORKED(peal_executor_create(s.rt, one_device, 1, program, NULL,
				    &executor));
	FORKED(peal_executor_run_once(s.rt, one_device, 1, program, NULL, &job,
				      -1));
	FORKED(peal_graph_create(s.rt, one_device, 1, program, NULL, &graph));
	FORKED(peal_pipeline_create(s.rt, &stage, 1, NULL, &pipeline));
	FORKED(peal_process_group_join(s.rt, NULL, &group));
	FORKED(peal_work_share_create(s.rt, one_device, s.queues, 2, NULL,
				      &share));
	FORKED(peal_program_load_file(s.rt, "a", &program));
	FORKED(peal_program_compile(s.rt, program, "sm_90", &image));
}

static void refuse_runtime_calls(void)
{
	struct peal_actor_mailbox_info mailbox;
	struct peal_runtime_info info;
	struct peal_backend_info backend;
	struct peal_device_info device;
	struct peal_memory_info memory;
	struct peal_leak_report leaks;
	struct peal_pool_info pool;
	struct peal_endpoint *e;
	struct peal_kernel *k;
	struct peal_link *links[1];
	uint64_t number = 0;
	char name[PEAL_NAME_BYTES];

	FORKED(peal_runtime_close(s.rt));
	FORKED(peal_runtime_close_report(s.rt, &leaks));
	FORKED(peal_runtime_shutdown(s.rt));
	FORKED(peal_runtime_info(s.rt, &info));
	FORKED(peal_backend_info(s.rt, 0, &backend));
	FORKED(peal_device_count(s.rt));
	FORKED(peal_device_info(s.rt, 0, &device));
	FORKED(peal_device_select(s.rt, NULL));
	FORKED(peal_device_select_all(s.rt, NULL, 0, NULL));
	FORKED(peal_device_sync(s.rt, 0, 0));
	FORKED(peal_kernel_launch(s.rt, 0, &peal_program_relay, NULL, &k));
	FORKED(peal_endpoint_create(s.rt, NULL, &e));
	FORKED(peal_connect(s.rt, s.actor, 0, s.actor, NULL, NULL));
	FORKED(peal_link_list(s.rt, links, 1));
	FORKED(peal_actor_retire(s.rt, s.actor));
	FORKED(peal_actor_retire_many(s.rt, &s.actor, 1));
	FORKED(peal_actor_state(s.rt, s.actor, name, 1));
	FORKED(peal_actor_mailbox(s.rt, s.actor, &mailbox));
	FORKED(peal_actor_migrate(s.rt, s.actor, NULL, &number));
	FORKED(peal_pool_join(s.rt, s.actor, s.actor));
	FORKED(peal_pool_leave(s.rt, s.actor, s.actor));
	FORKED(peal_pool_destroy(s.rt, s.actor));
	FORKED(peal_pool_info(s.rt, s.actor, &pool));
	FORKED(peal_proxy_destroy(s.rt, s.actor));
	FORKED(peal_name_set(s.rt, s.actor, "a"));
	FORKED(peal_name_find(s.rt, "a", &number));
	FORKED(peal_name_of(s.rt, s.actor, name));
	FORKED(peal_name_clear(s.rt, "a"));
	FORKED(peal_memory_alloc(s.rt, 0, 64, &number));
	FORKED(peal_memory_free(s.rt, 0, 64));
	FORKED(peal_memory_info(s.rt, 0, &memory));
	FORKED(peal_memory_limit(s.rt, 0, 64));
	FORKED(peal_program_add(s.rt, &peal_program_relay));
	FORKED_NONE(peal_program_find(s.rt, "relay"));
	FORKED(peal_stall_report(s.rt, 0, NULL, 0));
}

static void refuse_other_calls_of_the_runtime(void)
{
	const struct peal_partition_memory parts = { .size = sizeof(parts) };
	static struct peal_metrics metrics = { .size = sizeof(metrics) };
	struct peal_peer_capability capability;
	struct peal_transfer_counts counts;
	struct peal_program_info program;
	struct peal_device_queue queue;
	struct peal_transfer move = { peal_buffer_full_range(s.buffer),
				      peal_buffer_full_range(s.buffer) };
	struct peal_pair_info pair;
	struct peal_topic_info topic;
	struct peal_copy *copy;
	uint64_t number = 0;

	FORKED(peal_topic_create(s.rt, 0, NULL, &number));
	FORKED(peal_topic_destroy(s.rt, 1));
	FORKED(peal_publish(s.rt, s.actor, 0, 1));
	FORKED(peal_unpublish(s.rt, 1));
	FORKED(peal_subscribe(s.rt, 1, s.actor, 0));
	FORKED(peal_unsubscribe(s.rt, 1, s.actor));
	FORKED(peal_topic_info(s.rt, 1, &topic));
	FORKED(peal_topic_subscribers(s.rt, 1, NULL, 0));
	FORKED(peal_topology_pair(s.rt, 0, 0, &pair));
	FORKED(peal_peer_can_access(s.rt, 0, 0));
	FORKED(peal_peer_enable(s.rt, 0, 0, -1));
	FORKED(peal_peer_disable(s.rt, 0, 0, -1));
	FORKED(peal_peer_map(s.rt, 0, 64, 0, 64, -1, &number));
	FORKED(peal_peer_unmap(s.rt, 0, 64, -1));
	FORKED(peal_peer_enable_async(s.rt, 0, 0, &copy));
	FORKED(peal_peer_disable_async(s.rt, 0, 0, &copy));
	FORKED(peal_peer_map_async(s.rt, 0, 64, 0, 64, &copy));
	FORKED(peal_peer_unmap_async(s.rt, 0, 64, &copy));
	FORKED(peal_peer_copy(s.rt, 0, 64, 0, 128, 64));
	FORKED(peal_peer_copy_async(s.rt, 0, 64, 0, 128, 64, &copy));
	FORKED(peal_peer_capability(s.rt, 0, 0, &capability));
	FORKED(peal_transfer_run(s.rt, &move, 1, NULL, NULL));
	FORKED(peal_transfer_start(s.rt, &move, 1, NULL, &copy));
	FORKED(peal_transfer_counts(s.rt, 0, 0, &counts));
	FORKED(peal_scatter(s.rt, &parts));
	FORKED(peal_gather(s.rt, &parts));
	FORKED(peal_metrics_snapshot(s.rt, &metrics));
	FORKED(peal_program_info(s.rt, 0, &program));
	FORKED(peal_device_queue_create(s.rt, 0, NULL, &queue));
	FORKED(peal_barrier_create(s.rt, one_device, 1, 1, NULL, &s.barrier));
	FORKED(peal_event_create(s.rt, 0, NULL, 0, NULL, &s.event));
	FORKED(peal_comm_create(s.rt, one_device, 1, NULL, &s.comm));
	FORKED(peal_requester_create(s.rt, s.actor, NULL, &s.requester));
}

static void refuse_kernel_calls(void)
{
	struct peal_supervisor_info supervisor;
	struct peal_kernel_info kernel;
	struct peal_worker_info worker;
	struct peal_clock clock;
	struct peal_supervisor *other;
	uint64_t number = 0;

	FORKED(peal_actor_spawn(s.k, "echo", NULL, &number));
	FORKED(peal_actor_spawn_many(s.k, "echo", NULL, 1, &number));
	FORKED(peal_kernel_suspend(s.k, 0));
	FORKED(peal_kernel_resume(s.k));
	FORKED(peal_kernel_drain(s.k, 0));
	FORKED(peal_kernel_drain_many(&s.k, 1, 0));
	FORKED(peal_kernel_stop(s.k, 0));
	FORKED(peal_kernel_abort(s.k, 0));
	FORKED(peal_kernel_wait(s.k, 0));
	FORKED(peal_kernel_destroy(s.k));
	FORKED(peal_kernel_info(s.k, &kernel));
	FORKED(peal_kernel_clock(s.k, &clock));
	FORKED(peal_kernel_tell_all(s.k, 0, NULL, 0, 0, NULL));
	FORKED(peal_kernel_balance(s.k, NULL, NULL));
	FORKED(peal_worker_info(s.k, 0, &worker));
	FORKED(peal_pool_create(s.k, NULL, &number));
	FORKED(peal_proxy_create(s.k, s.actor, NULL, &number));
	FORKED(peal_monitor(s.k, s.actor, s.actor, NULL, &number));
	FORKED(peal_unmonitor(s.k, 1));
	FORKED(peal_actor_bind(s.k, s.actor, s.actor, NULL));
	FORKED(peal_dead_letter_connect(s.k, s.actor, NULL));
	FORKED_NONE(peal_dead_letter_address(s.k));
	FORKED(peal_dead_letter_links(s.k, NULL, 0));
	FORKED(peal_supervisor_create(s.k, NULL, &other));
	FORKED(peal_supervisor_restart(s.supervisor));
	FORKED(peal_supervisor_info(s.supervisor, &supervisor));
	FORKED(peal_supervisor_destroy(s.supervisor));
	FORKED(peal_barrier_join(s.barrier, s.k, 0));
}

static void refuse_message_calls(void)
{
	struct peal_dead_letter letter = { 0 };
	struct peal_requester_info asked;
	struct peal_received got;
	struct peal_link_info link;
	uint64_t number = 0;
	void *place;

	FORKED(peal_send(s.e, 0, 0, &number, 8, -1, NULL));
	FORKED(peal_send_to(s.e, 0, s.actor, 0, &number, 8, -1, NULL));
	FORKED(peal_send_reserve(s.e, 0, 8, -1, &place));
	FORKED(peal_send_commit(s.e, 0, 0));
	FORKED(peal_send_end(s.e, 0, -1));
	FORKED(peal_receive(s.e, &number, 8, &got, -1));
	FORKED(peal_receive_peek(s.e, &got, -1));
	FORKED(peal_receive_release(s.e));
	FORKED_NONE(peal_endpoint_address(s.e));
	FORKED(peal_endpoint_destroy(s.e));
	FORKED(peal_dead_letter_replay(s.e, 0, 0, &letter, sizeof(letter), -1));
	FORKED(peal_link_info(s.link, &link));
	FORKED(peal_link_set_route(s.link, PEAL_ROUTE_LOCAL, -1));
	FORKED(peal_link_destroy(s.link));
	FORKED(peal_requester_listen(s.requester, s.actor, 0));
	FORKED(peal_request(s.requester, 0, NULL, 0, NULL, 0, NULL, -1));
	FORKED(peal_request_to(s.requester, s.actor, 0, NULL, 0, NULL, 0, NULL,
			       -1));
	FORKED(peal_request_start(s.requester, 0, NULL, 0, -1, &number));
	FORKED(peal_request_start_to(s.requester, s.actor, 0, NULL, 0, -1,
				     &number));
	FORKED(peal_request_wait(s.requester, 1, NULL, 0, NULL, -1));
	FORKED(peal_request_cancel(s.requester, 1));
	FORKED(peal_requester_info(s.requester, &asked));
	FORKED(peal_requester_links(s.requester, NULL, 0));
	FORKED(peal_requester_destroy(s.requester));
}

static void refuse_share_calls(void)
{
	struct peal_work_share_info info;

	FORKED(peal_work_share_info(s.share, 0, &info));
	FORKED(peal_work_share_destroy(s.share));
}

static void refuse_pipeline_calls(void)
{
	struct peal_pipeline_stage_info stage;
	struct peal_pipeline_info info;
	struct peal_received got;
	void *place;

	FORKED(peal_pipeline_push(s.pipeline, 0, NULL, 0, -1));
	FORKED(peal_pipeline_reserve(s.pipeline, 8, -1, &place));
	FORKED(peal_pipeline_commit(s.pipeline, 0));
	FORKED(peal_pipeline_pull(s.pipeline, NULL, 0, &got, -1));
	FORKED(peal_pipeline_peek(s.pipeline, &got, -1));
	FORKED(peal_pipeline_release(s.pipeline));
	FORKED(peal_pipeline_close(s.pipeline, -1));
	FORKED(peal_pipeline_drain(s.pipeline, -1));
	FORKED(peal_pipeline_stop(s.pipeline, -1));
	FORKED(peal_pipeline_info(s.pipeline, &info));
	FORKED(peal_pipeline_stage_info(s.pipeline, 0, &stage));
	FORKED_NONE(peal_pipeline_kernel(s.pipeline, 0));
	FORKED_NONE(peal_pipeline_actor(s.pipeline, 0, 0));
	FORKED_NONE(peal_pipeline_link(s.pipeline, 0, 0));
	FORKED(peal_pipeline_destroy(s.pipeline));
}

static void refuse_group_calls(void)
{
	const struct peal_collective what = { .size = sizeof(what) };
	const struct peal_graph_message message = { .size = sizeof(message) };
	const struct peal_graph_task task = { .size = sizeof(task) };
	const struct peal_executor_array array = { .element_bytes = 1 };
	struct peal_executor_report report;
	struct peal_executor_range range;
	struct peal_graph_node_info node;
	uint32_t number;
	struct peal_comm_info comm;
	const struct peal_job job = { .size = sizeof(job) };

	FORKED(peal_collective_start(s.comm, &what));
	FORKED(peal_collective_wait(s.comm, -1));
	FORKED(peal_collective_run(s.comm, &what, -1));
	FORKED(peal_comm_info(s.comm, &comm));
	FORKED(peal_comm_destroy(s.comm));
	FORKED(peal_executor_start(s.executor, &job));
	FORKED(peal_executor_wait(s.executor, -1));
	FORKED(peal_executor_wait_next(s.executor, -1, NULL));
	FORKED(peal_executor_run(s.executor, &job, -1));
	FORKED(peal_executor_cancel(s.executor));
	FORKED(peal_executor_report(s.executor, &report));
	FORKED(peal_executor_arrays_run(s.executor, &job, &array, 1, -1));
	FORKED(peal_executor_arrays_range(s.executor, 0, &range));
	FORKED(peal_executor_destroy(s.executor));
	FORKED(peal_graph_add_task(s.graph, &task, &number));
	FORKED(peal_graph_add_message(s.graph, &message, &number));
	FORKED(peal_graph_add_edge(s.graph, 0, 1));
	FORKED(peal_graph_start(s.graph));
	FORKED(peal_graph_wait(s.graph, -1));
	FORKED(peal_graph_run(s.graph, -1));
	FORKED(peal_graph_node_info(s.graph, 0, &node));
	FORKED(peal_graph_destroy(s.graph));
}

static void refuse_calls_of_other_objects(void)
{
	struct peal_range all = peal_buffer_full_range(s.buffer);
	struct peal_process_group_info group;
	struct peal_copy_progress progress;
	struct peal_copy_result result;
	struct peal_barrier_info barrier;
	struct peal_process_info process;
	struct peal_buffer_info buffer;
	struct peal_event_info event;
	struct peal_link *link;
	uint64_t number = 0;

	FORKED(peal_process_group_info(s.group, &group));
	FORKED(peal_process_info(s.group, 0, &process));
	FORKED(peal_process_export(s.group, "a", s.actor));
	FORKED(peal_process_unexport(s.group, "a"));
	FORKED(peal_process_connect(s.group, 0, "a", s.actor, 0, NULL, -1,
				    &link));
	FORKED(peal_process_group_leave(s.group, -1));
	FORKED(peal_barrier_arrive(s.barrier, 0));
	FORKED(peal_barrier_wait(s.barrier, 0, -1));
	FORKED(peal_barrier_abort(s.barrier));
	FORKED(peal_barrier_info(s.barrier, &barrier));
	FORKED(peal_barrier_destroy(s.barrier));
	FORKED(peal_buffer_info(s.buffer, &buffer));
	FORKED(peal_buffer_address(all, 0, &number));
	FORKED(peal_buffer_range(s.buffer, 0, 8, &all));
	FORKED(peal_buffer_view(s.buffer, 0, &all));
	FORKED(peal_range_slice(all, 0, 8, &all));
	FORKED(peal_buffer_write(all, &number));
	FORKED(peal_buffer_read(all, &number));
	FORKED(peal_buffer_fill(all, &number, 8));
	FORKED(peal_buffer_prefetch(all, 0));
	FORKED(peal_buffer_advise(all, PEAL_ADVICE_READ_MOSTLY, 0));
	FORKED(peal_buffer_destroy(s.buffer));
	FORKED(peal_copy_wait(s.copy, -1));
	FORKED(peal_copy_cancel(s.copy));
	FORKED(peal_copy_progress(s.copy, &progress));
	FORKED(peal_copy_result(s.copy, &result));
	FORKED(peal_peer_mapped(s.copy, &number));
	peal_copy_destroy(s.copy);
	FORKED(peal_event_address(s.event, 0, &number));
	FORKED(peal_event_wait(s.event, 1, -1));
	FORKED(peal_event_info(s.event, &event));
	FORKED(peal_event_record_behind(s.event));
	FORKED(peal_event_await_before(s.event, 1, 0));
	FORKED(peal_event_cancel(s.event));
	FORKED(peal_event_destroy(s.event));
}

static void refuse_all(void)
{
	refuse_creation();
	refuse_runtime_calls();
	refuse_kernel_calls();
	refuse_message_calls();
	refuse_pipeline_calls();
	refuse_share_calls();
	refuse_group_calls();
	refuse_calls_of_other_objects();
	refuse_other_calls_of_the_runtime(); /* replaces some pointers */
}

/* ---- cases --------------------------------------------------------------- */

PEAL_TEST(child_has_no_access_to_any_object_of_its_parent)
{
	make_all();
	stream();
	in_child(refuse_all);
	in_child_of(1, refuse_runtime_calls); /* runs no handler of fork */
	close_all();
}

static void shut_down_at_exit(void)
{
	int result = peal_runtime_shutdown(s.rt);

	if (result != PEAL_EFORKED)
		_exit(2);
}

static void end_with_a_handler(void)
{
	atexit(shut_down_at_exit);
}

PEAL_TEST(exit_of_a_child_ends_nothing_of_its_parent)
{
	int i;

	make_all();
	for (i = 0; i < 4; i++) {
		in_child(end_with_a_handler);
		stream();
	}
	close_all();
}

/* Opens a runtime, sends some messages, and closes the runtime. */
static void live_alone(void)
{
	make_all();
	stream();
	close_all();
}

/* The child forks again: no descendant has the objects of its ancestors. */
static void live_with_a_child(void)
{
	struct peal_runtime *first = s.rt;

	make_all();
	in_child(refuse_all);
	in_child(live_alone);
	FORKED(peal_device_count(first));
	close_all();
}

PEAL_TEST(child_opens_a_runtime_of_its_own)
{
	HOST_CASE("a child cannot use the parent's GPUs");
	if (PEAL_TSAN)
		return; /* TSan allows no new thread after such a fork */
	/* ASan's allocator keeps the locks of the parent's other threads. */
	if (!PEAL_ASAN) {
		make_all();
		in_child(live_with_a_child);
		stream();
		close_all();
	}
	in_child(live_alone); /* the parent has no open runtime now */
}

static uint64_t memory;

static void write_there(void)
{
	signal(SIGSEGV, SIG_DFL);
	*(volatile uint64_t *)(uintptr_t)memory = 2;
}

PEAL_TEST(child_cannot_write_to_device_memory)
{
	int status = 0;
	pid_t child;

	HOST_CASE("a driver's memory is the driver's affair");
	make_all();
	CHECK_OK(peal_memory_alloc(s.rt, 0, 64, &memory));
	*(uint64_t *)(uintptr_t)memory = 1;
	child = fork();
	CHECK(child >= 0);
	if (!child) {
		write_there();
		_exit(0);
	}
	CHECK_EQ(waitpid(child, &status, 0), child);
	CHECK(status);
	CHECK_EQ(*(uint64_t *)(uintptr_t)memory, 1);
	CHECK_OK(peal_memory_free(s.rt, 0, memory));
	close_all();
}

/* A child of vfork has the memory of its parent, which waits for its end. TSan
 * makes it a child of fork, so the exit status has the result. */
PEAL_TEST(child_of_vfork_has_no_access)
{
	char path[] = "/bin/true";
	char *arguments[] = { path, NULL };
	int status = 0;
	pid_t child;

	make_all();
	child = vfork();
	if (!child)
		_exit(peal_runtime_shutdown(s.rt) == PEAL_EFORKED ? 0 : 1);
	CHECK_EQ(waitpid(child, &status, 0), child);
	CHECK_EQ(status, 0);
	child = vfork();
	if (!child) {
		execv(path, arguments);
		_exit(1);
	}
	CHECK_EQ(waitpid(child, &status, 0), child);
	CHECK_EQ(status, 0);
	stream();
	close_all();
}

/* A program that is started has none of the library's descriptors. */
PEAL_TEST(started_program_inherits_no_descriptor)
{
	char shell[] = "/bin/sh", option[] = "-c";
	char script[] = "for f in /proc/self/fd/*; do readlink $f; done"
			" | grep -c 'memfd:peal\\|socket:\\|eventfd' >&2;"
			" test $? = 1";
	char *arguments[] = { shell, option, script, NULL };
	int status = 0;
	pid_t child;

	make_all();
	CHECK_EQ(posix_spawn(&child, shell, NULL, NULL, arguments, environ), 0);
	CHECK_EQ(waitpid(child, &status, 0), child);
	stream();
	CHECK_EQ(status, 0);
	close_all();
}

/* ---- queues of the host -------------------------------------------------- */

static struct peal_queue_end *producer, *consumer;

static void use_a_copy(void)
{
	uint64_t got = 0;

	CHECK_OK(peal_queue_pop(consumer, &got, sizeof(got), NULL, 0));
	CHECK_EQ(got, 41);
	got = 43;
	CHECK_OK(peal_queue_push(producer, &got, sizeof(got), 0));
	CHECK_OK(peal_queue_pop(consumer, &got, sizeof(got), NULL, 0));
	CHECK_EQ(got, 43);
	CHECK_OK(peal_queue_close(producer));
	CHECK_EQ(peal_queue_pop(consumer, &got, sizeof(got), NULL, -1),
		 PEAL_EEND);
}

PEAL_TEST(child_has_its_own_copy_of_a_queue_of_the_host)
{
	struct peal_queue *q = NULL;
	uint64_t message = 41;

	CHECK_OK(peal_queue_create(NULL, &q));
	CHECK_OK(peal_queue_open(q, PEAL_QUEUE_PRODUCER, &producer));
	CHECK_OK(peal_queue_open(q, PEAL_QUEUE_CONSUMER, &consumer));
	CHECK_OK(peal_queue_push(producer, &message, sizeof(message), 0));
	in_child(use_a_copy);
	message = 0;
	CHECK_OK(peal_queue_pop(consumer, &message, sizeof(message), NULL, 0));
	CHECK_EQ(message, 41);
	CHECK_EQ(peal_queue_pop(consumer, &message, sizeof(message), NULL, 0),
		 PEAL_EAGAIN);
	CHECK_OK(peal_queue_close(producer));
	CHECK_OK(peal_queue_close(consumer));
	CHECK_OK(peal_queue_destroy(q));
}

PEAL_TEST_MAIN(RUN(child_has_no_access_to_any_object_of_its_parent);
	       RUN(exit_of_a_child_ends_nothing_of_its_parent);
	       RUN(child_opens_a_runtime_of_its_own);
	       RUN(child_cannot_write_to_device_memory);
	       RUN(child_of_vfork_has_no_access);
	       RUN(started_program_inherits_no_descriptor);
	       RUN(child_has_its_own_copy_of_a_queue_of_the_host);)
