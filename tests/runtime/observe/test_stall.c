/* SPDX-License-Identifier: Apache-2.0 */
/* Cases create stalls. peal_stall_report must name the cause of each stall and
 * the number of messages that wait for this cause. */
#include <sys/wait.h>

#include <peal/name.h>
#include <peal/pool.h>
#include <peal/stall.h>
#include <peal/topic.h>

#include "runtime/harness.h"
#include "runtime/load.h"
#include "runtime/runtime.h"

PEAL_DECLARE_PROGRAM(load);
PEAL_DECLARE_PROGRAM(pools);

#define CAUSES 8
#define CLOSINGS 20
#define WATCH_NS (30 * MS) /* the default watch is 100 ms */

static struct peal_stall cause[CAUSES];
static const struct peal_link_options four = { .capacity = 4 };

static int stalled_for(struct peal_runtime *rt, uint64_t watch_ns)
{
	int n;

	memset(cause, 0, sizeof(cause));
	n = peal_stall_report(rt, watch_ns, cause, CAUSES);
	CHECK(n >= 0);
	return n;
}

static int stuck(struct peal_runtime *rt)
{
	return stalled_for(rt, WATCH_NS);
}

/* Waits until `which` is the only cause and `messages` messages wait for it. At
 * first the workers may not have reached the stall yet. */
#define STUCK(rt, which, messages)                                             \
	do {                                                                   \
		EVENTUALLY(stuck(rt) == 1 && cause[0].cause == (which) &&      \
			   cause[0].held == (uint64_t)(messages));             \
		CHECK(cause[0].without_progress_ns >= WATCH_NS);               \
	} while (0)

/* Sends until the link stays full. Returns n plus the number of messages. */
static uint64_t send_more(struct peal_endpoint *e, uint32_t port, uint64_t n)
{
	struct relay_message m;

	for (;; n++) {
		harness_fill(&m, sizeof(m), 1, n);
		if (peal_send(e, port, (uint16_t)n, &m, sizeof(m), 20 * MS,
			      NULL))
			return n;
	}
}

/*
 * Returns 1 if peal_stall_report finds one cause, `which`, while the link is
 * full. The link is full before and after the call, and so in between. *n
 * counts the messages sent so far.
 */
static int is_full(struct peal_runtime *rt, struct peal_endpoint *e,
		   uint32_t port, uint32_t which, uint64_t *n)
{
	uint64_t before = *n = send_more(e, port, *n);
	int causes = stuck(rt);

	*n = send_more(e, port, before);
	return *n == before && causes == 1 && cause[0].cause == which;
}

/* Sends until the link is full and `messages` messages wait for the cause
 * `which`. Adds the number of messages sent to n. */
#define FILL(rt, e, n, which, messages)                                        \
	do {                                                                   \
		EVENTUALLY(is_full(rt, e, 0, which, &(n)) &&                   \
			   cause[0].held == (uint64_t)(messages));             \
		CHECK(cause[0].without_progress_ns >= WATCH_NS);               \
	} while (0)

static uint64_t queued(struct peal_link *link)
{
	return harness_info(link).queued;
}

static void end(struct peal_runtime *rt)
{
	CHECK_OK(peal_runtime_shutdown(rt));
}

PEAL_TEST(idle_links_report_no_stall)
{
	struct peal_runtime *rt = harness_open(2, "");
	struct peal_endpoint *e = harness_endpoint(rt);
	struct peal_kernel *k = harness_launch_with(
		rt, 1, (struct peal_kernel_options){ .workers = 2 });
	uint64_t echo = harness_spawn(k, "echo", 1);
	struct peal_stall one;

	CHECK_EQ(stalled_for(rt, 0), 0);
	harness_from(rt, e, 0, echo, four);
	harness_to(rt, echo, e, four);
	harness_send(e, 0, 1, 0, 4);
	harness_receive(e, 1, 0, 4);
	CHECK_EQ(stalled_for(rt, 0), 0);
	CHECK_EQ(peal_stall_report(NULL, 0, NULL, 0), PEAL_EINVAL);
	CHECK_EQ(peal_stall_report(rt, 0, NULL, 1), PEAL_EINVAL);
	CHECK_FAILS(peal_stall_report(rt, 11 * SECOND, &one, 1), PEAL_EINVAL,
		    "'watch_ns': is out of range (11000000000, allowed "
		    "0..10000000000)");
	CHECK_CONTAINS(peal_stall_cause_name(PEAL_STALL_CYCLE), "cycle");
	CHECK_CONTAINS(peal_stall_cause_name(PEAL_STALL_COUNT), "?");
	end(rt);
}

/* Returns 1 if workers of a device may count the last message late: on a GPU, or
 * on its double. */
static uint64_t counts_late(struct peal_runtime *rt, int device)
{
	struct peal_device_info info;

	CHECK_OK(peal_device_info(rt, device, &info));
	return strcmp(info.backend, "host") != 0;
}

/* host -> echo on device 0 -> moody on device 1. `moody` does not return. */
PEAL_TEST(endless_handler_is_the_cause_of_all_waits)
{
	struct peal_kernel_options o = { .workers = 2, .name = "deep" };
	struct peal_runtime *rt = harness_open(2, "");
	struct peal_endpoint *e = harness_endpoint(rt);
	struct peal_kernel *far = harness_launch_with(rt, 1, o);
	uint64_t echo = harness_spawn(harness_launch(rt, 0), "echo", 0);
	uint64_t idle = harness_spawn(far, "moody", 0);
	uint64_t moody = harness_spawn(far, "moody", 1);
	struct peal_link *first = harness_from(rt, e, 0, echo, four);
	struct peal_link *second = harness_link(rt, echo, 0, moody, four);
	struct peal_link *other = harness_from(rt, e, 1, idle, four);
	char on[96];
	uint64_t n = 0, late;

	CHECK_OK(peal_name_set(rt, moody, "deep one"));
	CHECK_OK(peal_send(e, 1, 0, "", 0, MAX_WAIT, NULL));
	harness_delivered(other, 1);
	CHECK_OK(peal_send(e, 0, 5, "", 0, MAX_WAIT, NULL));
	CHECK_OK(peal_send(e, 0, 2, "", 0, MAX_WAIT, NULL));
	FILL(rt, e, n, PEAL_STALL_HANDLER, n + 1);
	CHECK_EQ(queued(first) + queued(second), n + 1);
	CHECK_EQ(cause[0].n_links, 2);
	CHECK_EQ(cause[0].device, 1);
	CHECK_EQ(cause[0].worker, 1);
	CHECK_EQ(cause[0].address, moody);
	CHECK_CONTAINS(cause[0].text,
		       "worker 1 of kernel 'deep' on device 1 is in handler "
		       "'moody' of actor 1 'deep one', on message ");
	late = 1 - cause[0].inflight_message;
	CHECK(late <= counts_late(rt, 1));
	snprintf(on, sizeof(on), "%llu%s of link %llu, of type 2, for ",
		 (unsigned long long)cause[0].inflight_message,
		 counts_late(rt, 1) ? " or a later one" : "",
		 (unsigned long long)harness_info(second).id);
	CHECK_CONTAINS(cause[0].text, on);
	CHECK_EQ(cause[0].inflight_link, harness_info(second).id);
	CHECK_EQ(cause[0].inflight_type, 2);
	CHECK_CONTAINS(cause[0].text, "messages in 2 links wait for it");
	CHECK_OK(peal_kernel_abort(far, MAX_WAIT));
	EVENTUALLY(stuck(rt) == 0);
	end(rt);
}

PEAL_TEST(host_that_does_not_receive_is_a_cause)
{
	struct peal_kernel_options o = { .name = "near" };
	struct peal_runtime *rt = harness_open(1, "");
	struct peal_endpoint *e = harness_endpoint(rt);
	struct peal_kernel *k = harness_launch_with(rt, 0, o);
	uint64_t echo = harness_spawn(k, "echo", 0), n = 0;

	harness_from(rt, e, 0, echo, four);
	harness_to(rt, echo, e, four);
	FILL(rt, e, n, PEAL_STALL_RECEIVE, n);
	CHECK_EQ(cause[0].address, peal_endpoint_address(e));
	CHECK_EQ(cause[0].device, -1);
	CHECK_EQ(cause[0].n_links, 2);
	CHECK_EQ(cause[0].message, 0);
	CHECK_CONTAINS(cause[0].text, "does not receive at 'endpoint'; ");
	/* a drain that times out names this cause, too */
	CHECK_FAILS(peal_kernel_drain(k, 30 * MS), PEAL_ETIMEDOUT,
		    "its port 0 is full: the host does not receive");
	harness_receive(e, 1, 0, 2);
	EVENTUALLY(stuck(rt) >= 1 && cause[0].cause == PEAL_STALL_RECEIVE &&
		   cause[0].held == n - 2);
	CHECK_EQ(cause[0].message, 2);
	harness_receive(e, 1, 2, n - 2);
	end(rt);
}

PEAL_TEST(unconnected_port_is_named)
{
	struct peal_runtime *rt = harness_open(1, "");
	struct peal_endpoint *e = harness_endpoint(rt);
	struct peal_kernel_options o = { .name = "near" };
	struct peal_kernel *k = harness_launch_with(rt, 0, o);
	uint64_t echo = harness_spawn(k, "echo", 0);

	harness_from(rt, e, 0, echo, four);
	harness_send(e, 0, 1, 0, 3);
	STUCK(rt, PEAL_STALL_PORT, 3);
	CHECK_EQ(cause[0].address, echo);
	CHECK_CONTAINS(cause[0].text,
		       "actor 0: port 0 of the actor has no link");
	CHECK_OK(peal_name_set(rt, echo, "nymph"));
	CHECK_EQ(stalled_for(rt, 0), 1);
	CHECK(cause[0].without_progress_ns >= 100 * MS);
	CHECK_CONTAINS(cause[0].text, "actor 0 'nymph': port 0");
	harness_to(rt, echo, e, four);
	harness_receive(e, 1, 0, 3);
	EVENTUALLY(stuck(rt) == 0);
	end(rt);
}

/* Two actors forward all messages to each other, and the host sends more. */
PEAL_TEST(cycle_is_reported_as_one_cause)
{
	struct peal_kernel_options a = { .name = "a" }, b = { .name = "b" };
	struct peal_runtime *rt = harness_open(2, "");
	struct peal_endpoint *e = harness_endpoint(rt);
	uint64_t near = harness_spawn(harness_launch_with(rt, 0, a), "echo", 0);
	uint64_t far = harness_spawn(harness_launch_with(rt, 1, b), "echo", 0);
	uint64_t n = 0;

	harness_link(rt, near, 0, far, four);
	harness_link(rt, far, 0, near, four);
	harness_from(rt, e, 0, near, four);
	FILL(rt, e, n, PEAL_STALL_CYCLE, n);
	CHECK_EQ(cause[0].n_links, 3);
	CHECK_CONTAINS(cause[0].text,
		       "wait for free slots in a cycle: worker 0 of ");
	CHECK_CONTAINS(cause[0].text, " for worker 0 of ");
	CHECK_CONTAINS(cause[0].text, "of 'a'");
	CHECK_CONTAINS(cause[0].text, "of 'b'");
	end(rt);
}

/* The kernels have long names and mailboxes, but no message uses a mailbox. */
PEAL_TEST(long_cycle_has_a_complete_text)
{
	struct peal_kernel_options o = {
		.name = "a-kernel-with-a-name-of-forty-seven-bytes-000000",
		.mailbox.slots = 32
	};
	struct peal_runtime *rt = harness_open(3, "");
	struct peal_endpoint *e = harness_endpoint(rt);
	uint64_t actor[3], n = 0;
	int i;

	for (i = 0; i < 3; i++)
		actor[i] =
			harness_spawn(harness_launch_with(rt, i, o), "echo", 0);
	for (i = 0; i < 3; i++)
		harness_link(rt, actor[i], 0, actor[(i + 1) % 3], four);
	harness_from(rt, e, 0, actor[0], four);
	FILL(rt, e, n, PEAL_STALL_CYCLE, n);
	CHECK_CONTAINS(cause[0].text, ", 2 more for the first; ");
	CHECK_CONTAINS(cause[0].text, " wait for it, the first is number ");
	CHECK(!strstr(cause[0].text, "forward_slots"));
	end(rt);
}

PEAL_TEST(suspended_kernel_is_named)
{
	struct peal_kernel_options o = { .name = "asleep" };
	struct peal_runtime *rt = harness_open(1, "");
	struct peal_endpoint *e = harness_endpoint(rt);
	struct peal_kernel *k = harness_launch_with(rt, 0, o);
	struct peal_link *link =
		harness_from(rt, e, 0, harness_spawn(k, "sink", 0), four);

	CHECK_OK(peal_kernel_suspend(k, MAX_WAIT));
	CHECK_EQ(stuck(rt), 0);
	harness_send(e, 0, 1, 0, 3);
	STUCK(rt, PEAL_STALL_SUSPENDED, 3);
	CHECK_CONTAINS(cause[0].text, "kernel 'asleep' on device 0 is");
	CHECK_OK(peal_kernel_resume(k));
	harness_delivered(link, 3);
	CHECK_EQ(stuck(rt), 0);
	end(rt);
}

PEAL_TEST(open_input_of_draining_kernel_is_named)
{
	struct peal_kernel_options o = { .name = "drains" };
	struct peal_runtime *rt = harness_open(1, "");
	struct peal_endpoint *e = harness_endpoint(rt);
	struct peal_kernel *k = harness_launch_with(rt, 0, o);
	uint64_t sink = harness_spawn(k, "sink", 0);
	struct peal_link *done = harness_from(rt, e, 0, sink, four);
	struct peal_link *open = harness_from(rt, e, 5, sink, four);

	harness_send(e, 5, 1, 0, 3);
	harness_delivered(open, 3);
	CHECK_OK(peal_send_end(e, 0, MAX_WAIT));
	EVENTUALLY(harness_info(done).ended);
	CHECK_EQ(stuck(rt), 0); /* no drain waits for it */
	CHECK_FAILS(peal_kernel_drain(k, 30 * MS), PEAL_ETIMEDOUT,
		    "an input has not ended: kernel 'drains' drains, and link");
	STUCK(rt, PEAL_STALL_INPUT, 0);
	CHECK_EQ(cause[0].link, harness_info(open).id);
	CHECK_EQ(cause[0].message, 3);
	CHECK_EQ(cause[0].address, peal_endpoint_address(e));
	CHECK_CONTAINS(cause[0].text, "from 'endpoint' port 5, has not been");
	CHECK_OK(peal_send_end(e, 5, MAX_WAIT));
	CHECK_OK(peal_kernel_drain(k, MAX_WAIT));
	CHECK_EQ(stuck(rt), 0);
	end(rt);
}

/* `hop` tells `moody` until the mailbox is full. `moody` does not return. */
PEAL_TEST(full_mailbox_names_its_worker)
{
	struct peal_kernel_options o = { .workers = 3, .mailbox.slots = 64 };
	struct peal_runtime *rt = harness_open(1, "");
	struct peal_endpoint *e = harness_endpoint(rt);
	struct peal_kernel *k = harness_launch_with(rt, 0, o);
	uint64_t hop = harness_spawn(k, "hop", 0);
	uint64_t moody = harness_spawn(k, "moody", 2);
	struct peal_link *link = harness_from(rt, e, 0, hop, four);
	const struct relay_hop told = { 1, 2 };

	harness_from(rt, e, 1, moody, four);
	CHECK_OK(peal_send(e, 1, 2, "", 0, MAX_WAIT, NULL));
	EVENTUALLY(peal_send(e, 0, 0, &told, sizeof(told), 20 * MS, NULL) &&
		   stuck(rt) == 1 && cause[0].cause == PEAL_STALL_HANDLER &&
		   peal_send(e, 0, 0, &told, sizeof(told), 20 * MS, NULL));
	CHECK(queued(link) > 0);
	/* +1: the message that `moody` handles still counts at its link */
	STUCK(rt, PEAL_STALL_HANDLER, queued(link) + 1);
	CHECK_EQ(cause[0].address, moody);
	CHECK_EQ(cause[0].worker, 2);
	CHECK_OK(peal_kernel_abort(k, MAX_WAIT));
	end(rt);
}

/* The pool fills up. It has no member, so the chain of waits ends there. */
PEAL_TEST(pool_without_members_is_a_cause)
{
	struct peal_kernel_options o = { .size = sizeof(o), .name = "lazy" };
	struct peal_pool_options p = { .size = sizeof(p), .capacity = 8 };
	struct peal_runtime *rt = harness_open(1, "");
	struct peal_endpoint *e = harness_endpoint(rt);
	struct peal_kernel *k;
	struct peal_link *link;
	uint64_t pool, n = 0;

	CHECK_OK(peal_kernel_launch(rt, 0, &peal_program_pools, &o, &k));
	CHECK_OK(peal_pool_create(k, &p, &pool));
	link = harness_from(rt, e, 0, pool, four);
	FILL(rt, e, n, PEAL_STALL_MAILBOX, queued(link));
	CHECK(n >= 8 + 4);
	CHECK(queued(link) > 0);
	CHECK_CONTAINS(cause[0].text,
		       "of kernel 'lazy' on device 0 waits for space in "
		       "mailboxes or pools");
	end(rt);
}

/* The publisher of a topic waits for the slowest subscriber. */
PEAL_TEST(full_topic_names_the_slowest_subscriber)
{
	struct peal_topic_options o = { .size = sizeof(o), .capacity = 8 };
	struct peal_kernel_options two = { .workers = 2 };
	struct peal_runtime *rt = harness_open(1, "");
	struct peal_endpoint *e = harness_endpoint(rt);
	struct peal_kernel *k = harness_launch_with(rt, 0, two);
	struct peal_kernel *slow = harness_launch_with(rt, 0, two);
	uint64_t echo = harness_spawn(k, "echo", 0), topic, n = 0;
	uint64_t quick = harness_spawn(k, "sink", 1);
	uint64_t moody = harness_spawn(slow, "moody", 1);
	struct peal_link *link;

	CHECK_OK(peal_topic_create(rt, 0, &o, &topic));
	CHECK_OK(peal_publish(rt, echo, 0, topic));
	CHECK_OK(peal_subscribe(rt, topic, quick, 0));
	CHECK_OK(peal_subscribe(rt, topic, moody, 0));
	link = harness_from(rt, e, 0, echo, four);
	CHECK_OK(peal_send(e, 0, 2, "", 0, MAX_WAIT, NULL));
	FILL(rt, e, n, PEAL_STALL_HANDLER, queued(link));
	CHECK(queued(link) > 0);
	CHECK_EQ(cause[0].address, moody);
	CHECK_CONTAINS(cause[0].text,
		       counts_late(rt, 0) ?
			       "on message 0 or a later one of topic 'topic', "
			       "of type 2" :
			       "on message 0 of topic 'topic', of type 2");
	CHECK_EQ(cause[0].inflight_link, 0);
	CHECK_OK(peal_kernel_abort(slow, MAX_WAIT));
	harness_delivered(link, harness_info(link).accepted);
	end(rt);
}

struct mover {
	struct peal_endpoint *endpoint;
	atomic_int quit;
};

static void *send_always(void *argument)
{
	struct mover *m = argument;

	while (!atomic_load(&m->quit))
		peal_send(m->endpoint, 0, 0, "", 0, 10 * MS, NULL);
	return NULL;
}

static void *receive_slowly(void *argument)
{
	struct mover *m = argument;
	struct peal_received r;
	uint8_t buffer[64];

	while (!atomic_load(&m->quit)) {
		peal_receive(m->endpoint, buffer, sizeof(buffer), &r, 10 * MS);
		usleep(2000);
	}
	return NULL;
}

/* The links stay full, but the messages move. */
PEAL_TEST(slow_progress_is_no_stall)
{
	struct peal_runtime *rt = harness_open(1, "");
	struct mover m = { .endpoint = harness_endpoint(rt) };
	uint64_t echo = harness_spawn(harness_launch(rt, 0), "echo", 0);
	pthread_t sender, receiver;
	int in_a_row = 0;

	harness_from(rt, m.endpoint, 0, echo, four);
	harness_to(rt, echo, m.endpoint, four);
	CHECK(!pthread_create(&sender, NULL, send_always, &m));
	CHECK(!pthread_create(&receiver, NULL, receive_slowly, &m));
	EVENTUALLY((in_a_row = stuck(rt) ? 0 : in_a_row + 1) == 5);
	atomic_store(&m.quit, 1);
	CHECK(!pthread_join(sender, NULL));
	CHECK(!pthread_join(receiver, NULL));
	end(rt);
}

/*
 * Launches `record` on worker 0 and `tell` on worker 1. Port 0 leads to
 * `record`, port 1 to `tell`, which tells `record`. A message of type 1 keeps
 * `record` busy until the message's word is not 0.
 */
static struct peal_kernel *launch_load(struct peal_runtime *rt,
				       struct peal_endpoint *e,
				       uint64_t *record, uint64_t *teller)
{
	struct peal_kernel_options o = { .size = sizeof(o),
					 .workers = 2,
					 .mailbox.slots = 64 };
	struct peal_kernel *k;

	CHECK_OK(peal_kernel_launch(rt, 0, &peal_program_load, &o, &k));
	*record = harness_spawn(k, "record", 0);
	*teller = harness_spawn(k, "tell", 1);
	harness_from(rt, e, 0, *record, four);
	harness_from(rt, e, 1, *teller, four);
	return k;
}

PEAL_TEST(mailbox_message_is_named)
{
	struct peal_runtime *rt = harness_open(1, "");
	struct peal_endpoint *e = harness_endpoint(rt);
	uint64_t record, teller;
	struct peal_kernel *k = launch_load(rt, e, &record, &teller);
	struct load_note note = { (uint32_t)record,
				  harness_address(harness_gate(rt)), 0 };

	CHECK_OK(peal_send(e, 1, 1, &note, sizeof(note), MAX_WAIT, NULL));
	STUCK(rt, PEAL_STALL_HANDLER, 0);
	CHECK_EQ(cause[0].address, record);
	CHECK_CONTAINS(cause[0].text, "handler 'record' of actor 0, on a "
				      "message of its mailbox, of type 1, for");
	CHECK_EQ(cause[0].inflight_link, 0);
	CHECK_FAILS(peal_kernel_stop(k, 30 * MS), PEAL_ETIMEDOUT,
		    "is in handler 'record' of actor 0, on a message of its "
		    "mailbox, of type 1, for ");
	CHECK_OK(peal_kernel_abort(k, MAX_WAIT));
	end(rt);
}

/* Each message takes 30 ms. That is less than the default watch of 100 ms. */
PEAL_TEST(slow_worker_with_backlog_is_no_stall)
{
	uint64_t record, teller, i;
	struct peal_runtime *rt = harness_open(1, "");
	struct peal_endpoint *e = harness_endpoint(rt);
	struct peal_kernel *k = launch_load(rt, e, &record, &teller);
	uint64_t *gate = harness_gate(rt);
	struct load_note note = { (uint32_t)record, harness_address(gate),
				  30 * MS };
	int way, calm, n;

	peal_store_release_sys(gate, 1);
	CHECK_OK(peal_send(e, 0, 1, &note, sizeof(note), MAX_WAIT, NULL));
	for (way = 0; way < 2; way++) { /* by link, by mailbox */
		for (i = 0; i < 4; i++)
			CHECK_OK(peal_send(e, (uint32_t)way, 0, &note,
					   sizeof(note), MAX_WAIT, NULL));
		for (calm = n = 0; calm < 3 && n < 200; n++) {
			while (!peal_send(e, (uint32_t)way, 0, &note,
					  sizeof(note), 0, NULL))
				;
			calm = stalled_for(rt, 0) ? 0 : calm + 1;
		}
		CHECK_EQ(calm, 3);
	}
	CHECK_OK(peal_kernel_abort(k, MAX_WAIT));
	end(rt);
}

/* Returns the text in the file so far. */
static const char *written(FILE *f)
{
	static char text[8192];
	size_t n;

	fflush(stderr);
	rewind(f);
	n = fread(text, 1, sizeof(text) - 1, f);
	text[n] = 0;
	return text;
}

PEAL_TEST(timeout_logs_the_cause_of_the_stall)
{
	struct peal_kernel_options o = { .workers = 2, .name = "stuck" };
	struct peal_runtime *rt = harness_open(1, "");
	struct peal_endpoint *e = harness_endpoint(rt);
	struct peal_kernel *k = harness_launch_with(rt, 0, o);
	uint64_t moody = harness_spawn(k, "moody", 1);
	int keep = dup(STDERR_FILENO);
	FILE *f = tmpfile();
	char log[8192];

	harness_from(rt, e, 0, moody, four);
	CHECK_OK(peal_send(e, 0, 2, "", 0, MAX_WAIT, NULL));
	CHECK(f && keep >= 0);
	EVENTUALLY(stuck(rt) == 1 && cause[0].cause == PEAL_STALL_HANDLER);
	setenv("PEAL_LOG", "1", 1);
	dup2(fileno(f), STDERR_FILENO);
	peal_kernel_stop(k, 30 * MS);
	peal_kernel_stop(k, 30 * MS); /* has no second line of the cause */
	atomic_store(&rt->silent_ns, 30 * MS); /* until the watchdog logs */
	while (!strstr(written(f), "has been silent for"))
		identity_sleep_us(1000);
	snprintf(log, sizeof(log), "%s", written(f));
	dup2(keep, STDERR_FILENO);
	unsetenv("PEAL_LOG");
	CHECK_CONTAINS(log, "peal: stall: worker 1 of kernel 'stuck' on device "
			    "0 is in handler 'moody' of actor 0, on message 0");
	CHECK(!strstr(strstr(log, "peal: stall: ") + 1, "peal: stall: "));
	CHECK_CONTAINS(log, "ms: it is in handler 'moody' of actor 0, on ");
	fclose(f);
	close(keep);
	CHECK_OK(peal_kernel_abort(k, MAX_WAIT));
	end(rt);
}

static atomic_int held; /* 1: held_entry does not return */

/* Runs an epoch of the program `relay`, but first waits while `held` is 1. */
static int held_entry(const struct peal_kernel_params *params, uint32_t worker,
		      uint32_t lane)
{
	const struct timespec nap = { 0, 1000000 };

	while (atomic_load(&held))
		nanosleep(&nap, NULL);
	return peal_program_relay.host_entry(params, worker, lane);
}

/* The thread of the worker waits between two epochs, as if the system did not
 * run it. */
PEAL_TEST(worker_that_does_not_run_is_named)
{
	struct peal_kernel_options o = { .size = sizeof(o), .epoch_ns = MS };
	struct peal_program program = peal_program_relay;
	struct peal_worker_info worker;
	struct peal_kernel *k = NULL;
	struct peal_endpoint *e;
	struct peal_runtime *rt;
	struct peal_link *link;
	unsigned long long ms = 0;
	const char *text;

	HOST_CASE("the entry of a GPU's kernel is no function of the host");
	rt = harness_open(1, "");
	e = harness_endpoint(rt);
	program.host_entry = held_entry;
	program.host_entry_single = NULL;
	CHECK_OK(peal_kernel_launch(rt, 0, &program, &o, &k));
	link = harness_from(rt, e, 0, harness_spawn(k, "sink", 0), four);
	harness_send(e, 0, 1, 0, 1);
	harness_delivered(link, 1);
	EVENTUALLY(!peal_worker_info(k, 0, &worker) && worker.actor < 0);
	atomic_store(&held, 1);
	EVENTUALLY(!peal_worker_info(k, 0, &worker) &&
		   worker.phase == PEAL_WORKER_EPOCH);
	harness_send(e, 0, 1, 1, 2);
	/* the times grow while the stall lasts */
	EVENTUALLY(stuck(rt) == 1 && cause[0].cause == PEAL_STALL_WORKER &&
		   cause[0].held == 2 &&
		   cause[0].without_progress_ns > 10 * WATCH_NS);
	text = strstr(cause[0].text, "has not run for ");
	CHECK(text && sscanf(text, "has not run for %llu ms", &ms) == 1);
	CHECK(ms >= WATCH_NS / MS);
	atomic_store(&held, 0);
	harness_delivered(link, 3);
	EVENTUALLY(stuck(rt) == 0);
	end(rt);
}

/* Each kind of wait reports the time since its begin, not that of the watch. */
PEAL_TEST(time_without_progress_grows)
{
	struct peal_runtime *rt = harness_open(1, "");
	struct peal_endpoint *e = harness_endpoint(rt);
	struct peal_kernel *k = harness_launch(rt, 0);
	uint64_t echo = harness_spawn(k, "echo", 0);
	struct peal_received r;
	struct relay_message m;

	harness_from(rt, e, 0, echo, four);
	harness_send(e, 0, 1, 0, 3);
	EVENTUALLY(stuck(rt) == 1 && cause[0].cause == PEAL_STALL_PORT &&
		   cause[0].without_progress_ns > 5 * WATCH_NS);
	harness_to(rt, echo, e, four);
	EVENTUALLY(stuck(rt) == 1 && cause[0].cause == PEAL_STALL_RECEIVE &&
		   cause[0].without_progress_ns > 5 * WATCH_NS);
	/* a message that moves begins a new time */
	CHECK_OK(peal_receive(e, &m, sizeof(m), &r, MAX_WAIT));
	EVENTUALLY(stuck(rt) == 1 &&
		   cause[0].without_progress_ns > 5 * WATCH_NS);
	harness_receive(e, 1, 1, 2);
	EVENTUALLY(stuck(rt) == 0);
	CHECK_OK(peal_kernel_suspend(k, MAX_WAIT));
	harness_send(e, 0, 1, 3, 1);
	EVENTUALLY(stuck(rt) == 1 && cause[0].cause == PEAL_STALL_SUSPENDED &&
		   cause[0].without_progress_ns > 5 * WATCH_NS);
	CHECK_OK(peal_kernel_resume(k));
	harness_receive(e, 1, 3, 1);
	CHECK_EQ(peal_kernel_drain(k, 0), 0);
	EVENTUALLY(stuck(rt) == 1 && cause[0].cause == PEAL_STALL_INPUT &&
		   cause[0].without_progress_ns > 5 * WATCH_NS);
	CHECK_OK(peal_send_end(e, 0, MAX_WAIT));
	end(rt);
}

PEAL_TEST(cause_with_most_waiters_comes_first)
{
	struct peal_runtime *rt = harness_open(1, "");
	struct peal_endpoint *e = harness_endpoint(rt);
	struct peal_kernel *k = harness_launch_with(
		rt, 0, (struct peal_kernel_options){ .workers = 3 });
	uint64_t actor[3], i;

	for (i = 0; i < 3; i++) {
		actor[i] = harness_spawn(k, "echo", (int)i);
		harness_from(rt, e, (uint32_t)i, actor[i], four);
		harness_send(e, (uint32_t)i, 1, 0, i == 1 ? 3 : 1 + i / 2);
	}
	EVENTUALLY(stuck(rt) == 3 && cause[2].held == 1 &&
		   cause[0].cause == PEAL_STALL_PORT &&
		   cause[1].cause == PEAL_STALL_PORT &&
		   cause[2].cause == PEAL_STALL_PORT);
	CHECK_EQ(cause[0].address, actor[1]);
	CHECK_EQ(cause[0].held, 3);
	CHECK_EQ(cause[1].address, actor[2]);
	CHECK_EQ(cause[1].held, 2);
	CHECK_EQ(cause[2].address, actor[0]);
	/* a capacity of two still counts all three */
	CHECK_EQ(peal_stall_report(rt, 0, cause, 2), 3);
	CHECK_EQ(cause[1].address, actor[2]);
	end(rt);
}

/* A process of another user gets PEAL_ENOENT. */
static void ask_as_other_user(void)
{
	pid_t parent = getpid(), child = fork();
	int status = 0;

	CHECK(child >= 0);
	if (!child) {
		if (setgid(65534) || setuid(65534))
			_exit(2);
		_exit(peal_stall_report_pid((int)parent, 0, NULL, 0) !=
		      PEAL_ENOENT);
	}
	CHECK_EQ(waitpid(child, &status, 0), child);
	CHECK(WIFEXITED(status));
	CHECK_EQ(WEXITSTATUS(status), 0);
}

PEAL_TEST(process_reports_stalls_of_all_its_runtimes)
{
	struct peal_kernel_options o = { .name = "asleep" };
	struct peal_runtime *rt = harness_open(1, ""), *other = NULL;
	struct peal_endpoint *e = harness_endpoint(rt);
	struct peal_kernel *k = harness_launch_with(rt, 0, o);
	int pid = (int)getpid(), n;

	harness_from(rt, e, 0, harness_spawn(k, "echo", 0), four);
	harness_send(e, 0, 1, 0, 2);
	/* with GPUs of one vendor, a process has at most one runtime */
	n = peal_runtime_open(NULL, &other);
	CHECK(!n || n == PEAL_EBUSY);
	EVENTUALLY(peal_stall_report_pid(pid, WATCH_NS, cause, CAUSES) == 1 &&
		   cause[0].cause == PEAL_STALL_PORT && cause[0].held == 2);
	CHECK_CONTAINS(cause[0].text, "of kernel 'asleep'");
	CHECK_EQ(peal_stall_report_pid(pid, 0, NULL, 0), 1);
	CHECK_FAILS(peal_stall_report_pid(pid, 11 * SECOND, NULL, 0),
		    PEAL_EINVAL, "process");
	CHECK_FAILS(peal_stall_report_pid(0, 0, NULL, 0), PEAL_EINVAL,
		    "'pid': is no process (0, allowed 1..2147483647)");
	CHECK_EQ(peal_stall_report_pid(pid, 0, NULL, 1), PEAL_EINVAL);
	if (geteuid() == 0)
		ask_as_other_user();
	end(rt);
	if (other) {
		CHECK_EQ(peal_stall_report_pid(pid, WATCH_NS, NULL, 0), 0);
		end(other);
	}
	CHECK_FAILS(peal_stall_report_pid(pid, 0, NULL, 0), PEAL_ENOENT,
		    "can be queried; it has none");
}

static void *ask_always(void *argument)
{
	struct mover *m = argument;
	int result;

	while (!atomic_load(&m->quit)) {
		result = peal_stall_report_pid((int)getpid(), 1, NULL, 0);
		CHECK(result >= 0 || result == PEAL_ENOENT);
	}
	return NULL;
}

/* Objects must stay valid while a runtime answers another thread. */
PEAL_TEST(runtimes_close_during_stall_reports)
{
	struct peal_topic_options o = { .size = sizeof(o), .capacity = 8 };
	struct mover asker = { NULL, 0 };
	pthread_t thread;
	int round;

	CHECK_EQ(pthread_create(&thread, NULL, ask_always, &asker), 0);
	for (round = 0; round < CLOSINGS; round++) {
		struct peal_runtime *rt = harness_open(1, "");
		struct peal_endpoint *e = harness_endpoint(rt);
		struct peal_kernel *k = harness_launch(rt, 0);
		uint64_t echo = harness_spawn(k, "echo", 0), topic;
		int i;

		harness_from(rt, e, 0, echo, four);
		for (i = 0; i < 100; i++)
			CHECK_OK(peal_topic_create(rt, 0, &o, &topic));
		end(rt);
	}
	atomic_store(&asker.quit, 1);
	pthread_join(thread, NULL);
}

PEAL_TEST_MAIN(RUN(idle_links_report_no_stall);
	       RUN(endless_handler_is_the_cause_of_all_waits);
	       RUN(host_that_does_not_receive_is_a_cause);
	       RUN(unconnected_port_is_named);
	       RUN(cycle_is_reported_as_one_cause);
	       RUN(long_cycle_has_a_complete_text);
	       RUN(suspended_kernel_is_named);
	       RUN(open_input_of_draining_kernel_is_named);
	       RUN(full_mailbox_names_its_worker);
	       RUN(pool_without_members_is_a_cause);
	       RUN(full_topic_names_the_slowest_subscriber);
	       RUN(slow_progress_is_no_stall); RUN(mailbox_message_is_named);
	       RUN(slow_worker_with_backlog_is_no_stall);
	       RUN(timeout_logs_the_cause_of_the_stall);
	       RUN(worker_that_does_not_run_is_named);
	       RUN(time_without_progress_grows);
	       RUN(cause_with_most_waiters_comes_first);
	       RUN(process_reports_stalls_of_all_its_runtimes);
	       RUN(runtimes_close_during_stall_reports);)
