/* SPDX-License-Identifier: Apache-2.0 */
/* A worker records an event of its device. Workers of another device and the
 * host wait for the record and read its time. */

#include <peal/abi/event.h>
#include <peal/clock.h>
#include <peal/event.h>
#include <peal/memory.h>
#include "runtime/both_lanes.h"
#include "runtime/events.h"

PEAL_DECLARE_PROGRAM(events);

#define ROUNDS 200

static const struct peal_link_options plain = { .capacity = 0 };

struct stage {
	struct peal_runtime *rt;
	struct peal_endpoint *e;
	struct peal_kernel *k[2];
	struct peal_event *event[2]; /* recorded on 0 and on 1 */
	uint64_t actor[4]; /* by port of the endpoint */
	uint32_t n_ports;
};

static struct stage s;

static void open_stage(const char *links)
{
	static const int one = 1, none = 0;
	struct peal_kernel_options o = { .size = sizeof(o), .lanes = lanes };
	struct peal_event_options named = { .size = sizeof(named),
					    .name = "there" };
	int i;

	memset(&s, 0, sizeof(s));
	s.rt = harness_open(2, links);
	s.e = harness_endpoint(s.rt);
	for (i = 0; i < 2; i++)
		CHECK_OK(peal_kernel_launch(s.rt, i, &peal_program_events, &o,
					    &s.k[i]));
	CHECK_OK(peal_event_create(s.rt, 0, &one, 1, NULL, &s.event[0]));
	CHECK_OK(peal_event_create(s.rt, 1, &none, 1, &named, &s.event[1]));
}

static void close_stage(void)
{
	int i;

	CHECK_OK(peal_device_sync(s.rt, PEAL_ALL_DEVICES, MAX_WAIT));
	for (i = 0; i < 2; i++)
		CHECK_OK(peal_kernel_stop(s.k[i], MAX_WAIT));
	harness_conserved(s.rt);
	CHECK_OK(peal_runtime_shutdown(s.rt));
}

/* Spawns an actor with a link from the host and, if `answers`, a link to the
 * host. Returns the host's port. */
static uint32_t actor(int device, const char *handler, int answers)
{
	uint64_t a = harness_spawn(s.k[device], handler, -1);

	harness_from(s.rt, s.e, s.n_ports, a, plain);
	if (answers)
		harness_link(s.rt, a, 0, peal_endpoint_address(s.e), plain);
	s.actor[s.n_ports] = a;
	return s.n_ports++;
}

static uint64_t address(int event, int device)
{
	uint64_t address;

	CHECK_OK(peal_event_address(s.event[event], device, &address));
	return address;
}

static struct events_report report(void)
{
	struct events_report r;
	struct peal_received got;

	CHECK_OK(peal_receive(s.e, &r, sizeof(r), &got, MAX_WAIT));
	CHECK_EQ(got.length, sizeof(r));
	return r;
}

static struct peal_event_info info_of(int event)
{
	struct peal_event_info info;

	CHECK_OK(peal_event_info(s.event[event], &info));
	return info;
}

/* ---- two devices --------------------------------------------------------- */

static void play_duet(const char *links, uint32_t in_host_memory)
{
	struct events_duet d = { .rounds = ROUNDS };
	uint64_t words;
	uint32_t port[2];
	int i;

	open_stage(links);
	CHECK_OK(peal_memory_alloc(s.rt, PEAL_HOST_MEMORY,
				   EVENTS_WORDS * sizeof(uint64_t), &words));
	d.words = words;
	for (i = 0; i < 2; i++)
		port[i] = actor(i, "duet", 1);
	for (i = 0; i < 2; i++) {
		d.mine = address(i, i);
		d.theirs = address(1 - i, i);
		d.begins = i == 0;
		CHECK_OK(peal_send(s.e, port[i], 0, &d, sizeof(d), MAX_WAIT,
				   NULL));
	}
	CHECK_OK(peal_event_wait(s.event[1], ROUNDS / 2, MAX_WAIT));
	CHECK_OK(peal_event_wait(s.event[1], ROUNDS, MAX_WAIT));
	for (i = 0; i < 2; i++) {
		struct events_report r = report();

		CHECK_EQ(r.rounds, ROUNDS);
		CHECK_EQ(r.count, ROUNDS);
		CHECK_EQ(r.wrong, 0);
		CHECK_EQ(r.result, 0);
		CHECK_EQ(info_of(i).count, ROUNDS);
		CHECK_EQ(info_of(i).device, i);
		CHECK_EQ(info_of(i).watchers, 1);
		CHECK_EQ(info_of(i).in_host_memory, in_host_memory);
	}
	close_stage();
}

PEAL_TEST(devices_wait_for_each_other_without_the_host)
{
	play_duet("", 0);
}

PEAL_TEST(devices_without_access_use_host_memory)
{
	HOST_CASE("the topology is of emulated devices");
	play_duet("0-1:none", 1);
}

/* ---- the host ------------------------------------------------------------ */

PEAL_TEST(host_wait_returns_the_record_count)
{
	uint64_t there;
	uint32_t port;

	open_stage("");
	port = actor(1, "mark", 0);
	there = address(1, 1);
	CHECK_EQ(info_of(1).count, 0);
	CHECK_EQ(info_of(1).device_ns, 0);
	CHECK(!strcmp(info_of(1).name, "there"));
	CHECK(!strcmp(info_of(0).name, "event"));
	CHECK_OK(peal_event_wait(s.event[1], 0, 0));
	CHECK_EQ(peal_event_wait(s.event[1], 1, 0), PEAL_EAGAIN);
	CHECK_OK(
		peal_send(s.e, port, 0, &there, sizeof(there), MAX_WAIT, NULL));
	CHECK_OK(peal_event_wait(s.event[1], 1, -1));
	CHECK_EQ(peal_event_wait(s.event[1], 2, 20 * MS), PEAL_ETIMEDOUT);
	CHECK(strstr(peal_last_error()->text,
		     "'there' was recorded 1 time, not 2"));
	CHECK_EQ(info_of(1).count, 1);
	CHECK(info_of(1).device_ns);
	close_stage();
}

PEAL_TEST(elapsed_time_between_records_is_measured)
{
	struct peal_event_info first[2], second[2];
	uint64_t uncertainty = 1, own[2];
	uint32_t port[2];
	int64_t ns, back;
	int i, turn;

	open_stage("");
	for (i = 0; i < 2; i++) {
		port[i] = actor(i, "mark", 0);
		own[i] = address(i, i);
	}
	first[0] = info_of(0);
	CHECK_EQ(peal_event_elapsed(&first[0], &first[0], &ns, NULL),
		 PEAL_EAGAIN);
	/* the host sees each record before it asks for the next one */
	for (turn = 1; turn <= 2; turn++)
		for (i = 0; i < 2; i++) {
			CHECK_OK(peal_send(s.e, port[i], 0, &own[i],
					   sizeof(own[i]), MAX_WAIT, NULL));
			CHECK_OK(peal_event_wait(s.event[i], (uint64_t)turn,
						 MAX_WAIT));
			*(turn == 1 ? &first[i] : &second[i]) = info_of(i);
		}
	for (i = 0; i < 2; i++) {
		CHECK_OK(peal_event_elapsed(&first[i], &second[i], &ns,
					    &uncertainty));
		CHECK(ns > 0 && ns < MAX_WAIT);
		CHECK_EQ(ns,
			 (int64_t)(second[i].device_ns - first[i].device_ns));
		CHECK_EQ(uncertainty, 0);
		CHECK_OK(
			peal_event_elapsed(&second[i], &first[i], &back, NULL));
		CHECK_EQ(back, -ns);
		CHECK(first[i].host_ns);
	}
	CHECK_OK(peal_event_elapsed(&first[0], &second[1], &ns, &uncertainty));
	CHECK_EQ(ns, (int64_t)(second[1].host_ns - first[0].host_ns));
	CHECK_EQ(uncertainty,
		 first[0].uncertainty_ns + second[1].uncertainty_ns);
	CHECK(ns + (int64_t)uncertainty > 0);
	/* host time is the time of the host's clock */
	CHECK(second[1].host_ns < peal_clock_host_ns() + uncertainty);
	first[0].host_ns = 0;
	CHECK_EQ(peal_event_elapsed(&first[0], &second[1], &ns, NULL),
		 PEAL_EAGAIN);
	CHECK_EQ(peal_event_elapsed(NULL, &second[1], &ns, NULL), PEAL_EINVAL);
	CHECK_EQ(peal_event_elapsed(&first[0], &second[1], NULL, NULL),
		 PEAL_EINVAL);
	close_stage();
}

/* ---- waits that end early ------------------------------------------------ */

PEAL_TEST(handler_wait_ends_by_timeout_and_kernel_stop)
{
	struct events_await a = { .count = 1 };
	struct events_report r;
	int64_t result = 0;
	uint32_t port;

	open_stage("");
	port = actor(0, "await", 1);
	a.mine = address(0, 0);
	a.event = address(1, 0);
	CHECK_OK(peal_send(s.e, port, 0, &a, sizeof(a), MAX_WAIT, NULL));
	r = report();
	CHECK_EQ(r.result, PEAL_ETIMEDOUT);
	CHECK_EQ(r.count, 0);
	a.timeout_ns = 5 * MS;
	CHECK_OK(peal_send(s.e, port, 0, &a, sizeof(a), MAX_WAIT, NULL));
	CHECK_EQ(report().result, PEAL_ETIMEDOUT);
	a.timeout_ns = -1;
	CHECK_OK(peal_send(s.e, port, 0, &a, sizeof(a), MAX_WAIT, NULL));
	CHECK_OK(peal_event_wait(s.event[0], 3, MAX_WAIT));
	CHECK_OK(peal_kernel_stop(s.k[0], MAX_WAIT));
	CHECK_OK(
		peal_actor_state(s.rt, s.actor[port], &result, sizeof(result)));
	CHECK_EQ(result, PEAL_ESTOPPED);
	CHECK_EQ(report().result, PEAL_ESTOPPED);
	close_stage();
}

/* ---- refused calls ------------------------------------------------------- */

PEAL_TEST(invalid_arguments_return_einval)
{
	static const int twice[] = { 1, 1 }, own[] = { 0 }, none[] = { 7 };
	struct peal_event_options o = { .size = sizeof(o), .by_host = 2 };
	struct peal_event *e = NULL;
	struct peal_event_info info;
	uint64_t at;

	open_stage("");
	CHECK_EQ(peal_event_create(NULL, 0, NULL, 0, NULL, &e), PEAL_EINVAL);
	CHECK_EQ(peal_event_create(s.rt, 0, NULL, 1, NULL, &e), PEAL_EINVAL);
	CHECK_EQ(peal_event_create(s.rt, 0, NULL, 0, NULL, NULL), PEAL_EINVAL);
	CHECK_EQ(peal_event_create(s.rt, 0, NULL, 0, &o, &e), PEAL_EINVAL);
	CHECK_EQ(peal_event_create(s.rt, 0, twice, 2, NULL, &e), PEAL_EINVAL);
	CHECK(strstr(peal_last_error()->text, "device 1: is listed twice"));
	CHECK_EQ(peal_event_create(s.rt, 0, own, 1, NULL, &e), PEAL_EINVAL);
	CHECK_EQ(peal_event_create(s.rt, 0, twice, PEAL_EVENT_DEVICES_MAX, NULL,
				   &e),
		 PEAL_EINVAL);
	CHECK(strstr(peal_last_error()->text,
		     "'n': is out of range (64, allowed 0..63)"));
	CHECK_EQ(peal_event_create(s.rt, 0, none, 1, NULL, &e), PEAL_ENODEV);
	CHECK_EQ(peal_event_create(s.rt, 9, NULL, 0, NULL, &e), PEAL_ENODEV);
	CHECK(!e);
	CHECK_OK(peal_event_create(s.rt, 0, NULL, 0, NULL, &e));
	CHECK_EQ(peal_event_address(e, 1, &at), PEAL_ENODEV);
	CHECK(strstr(peal_last_error()->text,
		     "is not for the device (1, allowed 0)"));
	CHECK_EQ(peal_event_address(NULL, 0, &at), PEAL_EINVAL);
	CHECK_EQ(peal_event_address(e, 0, NULL), PEAL_EINVAL);
	CHECK_EQ(peal_event_wait(NULL, 1, 0), PEAL_EINVAL);
	CHECK_EQ(peal_event_info(NULL, &info), PEAL_EINVAL);
	CHECK_EQ(peal_event_info(e, NULL), PEAL_EINVAL);
	CHECK_OK(peal_event_destroy(e));
	CHECK_OK(peal_event_destroy(NULL));
	close_stage();
}

PEAL_TEST(live_event_blocks_runtime_close)
{
	struct peal_runtime_info info;
	int i;

	open_stage("");
	CHECK_OK(peal_runtime_info(s.rt, &info));
	CHECK_EQ(info.n_events, 2);
	for (i = 0; i < 2; i++) {
		CHECK_OK(peal_kernel_stop(s.k[i], MAX_WAIT));
		CHECK_OK(peal_kernel_destroy(s.k[i]));
	}
	CHECK_OK(peal_endpoint_destroy(s.e));
	CHECK_OK(peal_event_destroy(s.event[0]));
	CHECK_EQ(peal_runtime_close(s.rt), PEAL_EBUSY);
	CHECK(strstr(peal_last_error()->text, "1 event"));
	CHECK_OK(peal_event_destroy(s.event[1]));
	CHECK_OK(peal_runtime_close(s.rt));
}

PEAL_TEST_MAIN(RUN_LANES(devices_wait_for_each_other_without_the_host);
	       RUN_LANES(devices_without_access_use_host_memory);
	       RUN_LANES(host_wait_returns_the_record_count);
	       RUN_LANES(elapsed_time_between_records_is_measured);
	       RUN_LANES(handler_wait_ends_by_timeout_and_kernel_stop);
	       RUN_LANES(invalid_arguments_return_einval);
	       RUN_LANES(live_event_blocks_runtime_close);)
