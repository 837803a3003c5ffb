/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Links between devices of two processes that see each other's windows. Shows
 * that no message is staged and that parts of a window are used again. A link
 * without windows is staged and gives the reason.
 */
#include <fcntl.h>
#include <sys/socket.h>

#include <peal/event.h>

#include "runtime/process_fixture.h"
#include "runtime/both_lanes.h"
#include "runtime/ipc/process_group.h"
#include "runtime/base/socket.h"

#define N IDENTITY_COUNT(20000)
#define WIDE 3000 /* bytes of a message that lies in the slab */

static const struct peal_link_options wide = { .capacity = 32,
					       .message_bytes = WIDE };

/*
 * Returns 1 if devices have windows: their driver must share memory by
 * descriptors.
 */
static int have_windows(void)
{
	const char *backends = getenv("PEAL_BACKENDS");

	return backends && !strcmp(backends, "cuda");
}

/* A process: an actor on its device, and an endpoint. */
struct side {
	struct peal_runtime *rt;
	struct peal_process_group *set;
	struct peal_endpoint *e;
	struct peal_kernel *k;
	uint64_t actor;
};

static struct side open_side(int rank, int n, const char *links)
{
	struct peal_kernel_options o = { .lanes = lanes, .max_inputs = 64 };
	struct side s;

	s.rt = harness_open(n, links);
	s.set = procs_enter(s.rt);
	s.e = harness_endpoint(s.rt);
	s.k = harness_launch_with(s.rt, rank % n, o);
	s.actor = harness_spawn(s.k, "echo", -1);
	CHECK_OK(peal_process_export(s.set, "actor", s.actor));
	return s;
}

/*
 * Makes the chain: endpoint of rank 0 -> its actor -> actor of rank 1 -> its
 * endpoint. `o` is for the link between the actors.
 */
static void make_chain(const struct side *s, int rank,
		       struct peal_link_options o)
{
	if (rank == 0) {
		procs_connect(s->set, 1, "actor", s->actor, 0, o);
		harness_from(s->rt, s->e, 0, s->actor, wide);
	} else {
		harness_to(s->rt, s->actor, s->e, wide);
	}
	procs_meet(0);
}

static void close_side(struct side *s)
{
	CHECK_OK(peal_process_group_leave(s->set, MAX_WAIT));
	CHECK_OK(peal_runtime_shutdown(s->rt));
}

/* Returns the link to (sends: 1) or from (0) another process, or NULL. */
static struct peal_link *outer_link(struct peal_runtime *rt, int sends)
{
	struct peal_link *all[16];
	int n = peal_link_list(rt, all, 16), i;

	CHECK(n <= 16);
	for (i = 0; i < n; i++) {
		struct peal_link_info info = harness_info(all[i]);

		if (peal_process_rank_of(sends ? info.to : info.from) >= 0)
			return all[i];
	}
	return NULL;
}

/* ---- messages ------------------------------------------------------------ */

static void send_wide(struct peal_endpoint *e, uint64_t i)
{
	uint8_t data[WIDE];
	uint64_t n = 24 + i * 37 % (WIDE - 24);

	harness_fill(data, n, 5, i);
	CHECK_OK(peal_send(e, 0, (uint16_t)i, data, n, MAX_WAIT, NULL));
}

static void receive_wide(struct peal_endpoint *e, uint64_t i)
{
	uint8_t data[WIDE];
	struct peal_received r;

	CHECK_OK(peal_receive(e, data, sizeof(data), &r, MAX_WAIT));
	CHECK_EQ(r.type, (uint16_t)i);
	CHECK_EQ(r.length, 24 + i * 37 % (WIDE - 24));
	CHECK(harness_intact(data, r.length, 5, i));
}

static void by_windows(int rank)
{
	struct side s = open_side(rank, 2, "");
	struct peal_link_info info;
	uint64_t i;

	make_chain(&s, rank, wide);
	info = harness_info(outer_link(s.rt, rank == 0));
	CHECK_EQ(info.route, PEAL_ROUTE_PROCESS);
	if (have_windows())
		CHECK_CONTAINS(info.route_reason, "see each other's windows");
	for (i = 0; i < N; i++)
		if (rank == 0)
			send_wide(s.e, i);
		else
			receive_wide(s.e, i);
	procs_meet(1);
	/* each rank counts its end and gets the other count a bit later */
	EVENTUALLY(harness_info(outer_link(s.rt, rank == 0)).delivered == N &&
		   harness_info(outer_link(s.rt, rank == 0)).accepted == N);
	info = harness_info(outer_link(s.rt, rank == 0));
	CHECK_EQ(info.queued, 0);
	CHECK_EQ(info.error, 0);
	if (have_windows())
		CHECK_EQ(info.staged, 0);
	CHECK_OK(peal_device_sync(s.rt, PEAL_ALL_DEVICES, MAX_WAIT));
	procs_meet(2);
	close_side(&s);
}

PEAL_TEST(devices_of_two_processes_write_each_others_memory)
{
	PROCS(2, by_windows);
}

/* ---- parts of a window --------------------------------------------------- */

/* A window of 2 MiB has memory for one such link. */
static const struct peal_link_options large = { .capacity = 2048,
						.slot_bytes = 960 };

/*
 * The receiver has destroyed its end, but the sender may still write to the
 * window. So that part of the window is not free yet.
 */
static void one_end_is_left(int rank)
{
	struct peal_link *first = NULL, *other;
	struct side s;
	int tries;

	setenv("PEAL_PROCESS_MEMORY", "2M", 1);
	s = open_side(rank, 2, "");
	procs_meet(0);
	if (rank == 0)
		first = procs_connect(s.set, 1, "actor", s.actor, 0, large);
	procs_meet(1);
	if (rank == 1)
		CHECK_OK(peal_link_destroy(outer_link(s.rt, 0)));
	procs_meet(2);
	if (rank == 0) {
		other = procs_connect(s.set, 1, "actor",
				      harness_spawn(s.k, "echo", -1), 0, large);
		if (have_windows())
			CHECK_CONTAINS(
				harness_info(other).route_reason,
				"the window of rank 1 for device 1 is full");
		CHECK_OK(peal_link_destroy(first));
		/* the other process learns of this a little later */
		for (tries = 0; tries < 40 && have_windows(); tries++) {
			other = procs_connect(s.set, 1, "actor",
					      harness_spawn(s.k, "echo", -1), 0,
					      large);
			if (strstr(harness_info(other).route_reason, "windows"))
				break;
			identity_sleep_us(20000);
		}
		CHECK(tries < 40);
	}
	procs_meet(3);
	close_side(&s);
}

PEAL_TEST(window_range_is_free_after_both_ends_close)
{
	PROCS(2, one_end_is_left);
}

/*
 * Makes more links in turn than a window can hold. A part of the window is free
 * once both ends are destroyed.
 */
static void again_and_again(int rank)
{
	const struct peal_link_options o = { .capacity = 1024,
					     .slot_bytes = 512 };
	struct side s;
	struct peal_link *link;
	int i;

	setenv("PEAL_PROCESS_MEMORY", "2M", 1);
	s = open_side(rank, 2, "");
	procs_meet(0);
	for (i = 0; i < 12; i++) {
		if (rank == 0)
			procs_connect(s.set, 1, "actor", s.actor, 0, o);
		procs_meet(1 + 4 * i);
		link = outer_link(s.rt, rank == 0);
		if (have_windows())
			CHECK_CONTAINS(harness_info(link).route_reason,
				       "windows");
		procs_meet(2 + 4 * i);
		if (rank == i % 2)
			CHECK_OK(peal_link_destroy(link));
		procs_meet(3 + 4 * i);
		if (rank != i % 2) {
			/* the remaining end keeps its part of the window */
			EVENTUALLY(harness_info(link).error == PEAL_ESTOPPED);
			CHECK_OK(peal_link_destroy(link));
		}
		procs_meet(4 + 4 * i);
		/* the other rank learns of this */
		identity_sleep_us(2000);
	}
	close_side(&s);
}

PEAL_TEST(freed_window_space_is_reused)
{
	PROCS(2, again_and_again);
}

/* A new ring must not contain data of an earlier link. */
static void used_before(int rank)
{
	struct side s;
	int turn;
	uint64_t i;

	setenv("PEAL_PROCESS_MEMORY", "2M", 1);
	s = open_side(rank, 2, "");
	if (rank == 0)
		harness_from(s.rt, s.e, 0, s.actor, wide);
	else
		harness_to(s.rt, s.actor, s.e, wide);
	for (turn = 0; turn < 6; turn++) {
		struct peal_link_options o = wide;

		o.capacity = 16u << turn % 3;
		if (rank == 0)
			procs_connect(s.set, 1, "actor", s.actor, 0, o);
		procs_meet(4 * turn);
		for (i = 0; i < 300; i++)
			if (rank == 0)
				send_wide(s.e, i);
			else
				receive_wide(s.e, i);
		procs_meet(4 * turn + 1);
		CHECK_OK(peal_link_destroy(outer_link(s.rt, rank == 0)));
		procs_meet(4 * turn + 2);
	}
	close_side(&s);
}

PEAL_TEST(ring_in_reused_window_starts_empty)
{
	PROCS(2, used_before);
}

/* ---- links without windows ----------------------------------------------- */

static const char *memory, *topology, *why_not;
static int kernel_before;

static void without(int rank)
{
	struct peal_link_options o = { .capacity = 1024,
				       .slot_bytes = 4096,
				       .message_bytes = WIDE };
	struct peal_link_info info;
	struct side s;
	uint64_t i;

	if (memory)
		setenv("PEAL_PROCESS_MEMORY", memory, 1);
	if (kernel_before && rank == 1) {
		s.rt = harness_open(2, topology);
		harness_launch(s.rt, 0);
		s.set = procs_enter(s.rt);
		s.e = harness_endpoint(s.rt);
		s.k = harness_launch(s.rt, 1);
		s.actor = harness_spawn(s.k, "echo", -1);
		CHECK_OK(peal_process_export(s.set, "actor", s.actor));
	} else {
		s = open_side(rank, 2, topology);
	}
	make_chain(&s, rank, o);
	info = harness_info(outer_link(s.rt, rank == 0));
	if (have_windows())
		CHECK_CONTAINS(info.route_reason, why_not);
	for (i = 0; i < 100; i++)
		if (rank == 0)
			send_wide(s.e, i);
		else
			receive_wide(s.e, i);
	if (have_windows())
		EVENTUALLY(harness_info(outer_link(s.rt, rank == 0)).staged ==
			   100);
	procs_meet(1);
	close_side(&s);
}

PEAL_TEST(link_without_window_is_staged_with_reason)
{
	topology = "";
	memory = "0";
	why_not = "has no window (PEAL_PROCESS_MEMORY is 0)";
	PROCS(2, without);
	memory = "2M"; /* the ring needs 4 MiB */
	why_not = "the window of rank 1 for device 1 is full";
	PROCS(2, without);
	memory = NULL;
	why_not = "do not see each other's windows";
	topology = "0-1:none";
	PROCS(2, without);
	topology = "0>1:none"; /* the sender does not see the ring */
	PROCS(2, without);
	topology = "1>0:none"; /* the receiver does not see the credit */
	PROCS(2, without);
	topology = "";
	setenv("PEAL_PROBE", "off", 1); /* no pair is probed */
	PROCS(2, without);
	unsetenv("PEAL_PROBE");
	kernel_before = 1;
	why_not =
		"has no window (a kernel was running when its process joined)";
	PROCS(2, without);
	kernel_before = 0;
}

/* ---- no memory ----------------------------------------------------------- */

/*
 * The device has no memory, not even for the header of a ring. The asking rank
 * gets the error, and no link is left.
 */
static void heap_is_full(int rank)
{
	struct peal_link *link = NULL;
	struct side s;
	uint64_t bytes = 64 << 20, at;

	setenv("PEAL_GPU_MEMORY", "64M", 1);
	s = open_side(rank, 2, "");
	if (rank == 1)
		for (; bytes >= 64; bytes /= 2)
			while (!peal_memory_alloc(s.rt, 1, bytes, &at))
				;
	procs_meet(0);
	if (rank == 0) {
		int result = peal_process_connect(s.set, 1, "actor", s.actor, 0,
						  &wide, MAX_WAIT, &link);

		CHECK_EQ(result, PEAL_ENOMEM);
		CHECK_CONTAINS(peal_last_error()->text, "rank 1 (pid ");
		CHECK(!link);
	}
	procs_meet(1);
	close_side(&s);
}

PEAL_TEST(link_to_device_with_full_heap_is_refused)
{
	HOST_CASE("its memory is the harness's");
	if (have_windows()) /* without windows a link may need none */
		PROCS(2, heap_is_full);
}

/* More windows than a socket takes at a time. The probe is off. */
static void many(int rank)
{
	struct peal_process_group *set;
	struct peal_runtime *rt;

	(void)rank;
	setenv("PEAL_PROBE", "off", 1);
	setenv("PEAL_PROCESS_MEMORY", "2M", 1);
	rt = harness_open(48, "");
	set = procs_enter(rt);
	procs_meet(0);
	CHECK_OK(peal_process_group_leave(set, MAX_WAIT));
	CHECK_OK(peal_runtime_close(rt));
}

PEAL_TEST(many_devices_have_windows)
{
	PROCS(3, many);
}

/* ---- killed processes ---------------------------------------------------- */

/*
 * 1: rank 0 destroys the link before rank 1 dies. Afterwards the window of rank
 * 0 must have memory for the link of rank 2.
 */
static int is_left_early;

static void killed(int rank)
{
	struct relay_message m = { 0, 0, 0 };
	struct peal_link *link;
	struct side s;
	uint64_t i;

	setenv("PEAL_PROCESS_MEMORY", "2M", 1);
	s = open_side(rank, 2, "");
	if (rank == 2) {
		procs_meet(0);
		procs_meet(1);
	} else if (rank == 1) {
		link = procs_connect(s.set, 0, "actor", s.actor, 0, large);
		harness_from(s.rt, s.e, 0, s.actor, large);
		procs_meet(0);
		for (i = 0;; i++) {
			harness_fill(&m, sizeof(m), 1, i);
			peal_send(s.e, 0, 1, &m, sizeof(m), MS, NULL);
			if (i >= 2000 &&
			    (!is_left_early || harness_info(link).error))
				raise(SIGKILL);
		}
	} else {
		procs_meet(0);
		link = outer_link(s.rt, 0);
		if (!is_left_early)
			EVENTUALLY(harness_info(link).error == PEAL_EDIED);
		CHECK_OK(peal_link_destroy(link));
		CHECK_OK(peal_device_sync(s.rt, PEAL_ALL_DEVICES, MAX_WAIT));
		EVENTUALLY(procs_info(s.set, 1).state == PEAL_PROCESS_DEAD);
		/* for rank 1, which is dead */
		atomic_fetch_add(&procs_board->word[1], 1);
		procs_meet(1);
	}
	if (rank == 2)
		procs_connect(s.set, 0, "actor", s.actor, 0, large);
	atomic_fetch_add(&procs_board->word[2], rank == 2);
	procs_meet(2);
	if (rank == 0 && have_windows())
		CHECK_CONTAINS(harness_info(outer_link(s.rt, 0)).route_reason,
			       "windows");
	atomic_fetch_add(&procs_board->word[3], rank == 0);
	procs_meet(3);
	close_side(&s);
}

PEAL_TEST(window_ranges_of_killed_process_are_freed)
{
	struct procs c;

	for (is_left_early = 0; is_left_early < 2; is_left_early++) {
		procs_start(&c, 3, killed);
		procs_await(&c, 0);
		procs_await(&c, 1);
		procs_await(&c, 2);
		CHECK(WIFSIGNALED(c.status[1]));
		CHECK_EQ(c.status[0], 0);
		CHECK_EQ(c.status[2], 0);
		procs_tidy(&c);
	}
}

/*
 * Rank 1 dies right after it has received many messages. It may not have
 * counted the last messages, but its credit tells their number.
 */
static void taker_dies(int rank)
{
	const struct peal_link_options small = { .capacity = 32 };
	struct relay_message m = { 0, 0, 0 };
	struct peal_link_info info;
	struct peal_received r;
	struct peal_link *link;
	struct side s = open_side(rank, 2, "");
	uint64_t i;

	if (rank == 1) {
		harness_to(s.rt, s.actor, s.e, small);
		procs_meet(0);
		for (i = 0; i < 500; i++)
			CHECK_OK(
				peal_receive(s.e, &m, sizeof(m), &r, MAX_WAIT));
		raise(SIGKILL);
	}
	link = procs_connect(s.set, 1, "actor", s.actor, 0, small);
	harness_from(s.rt, s.e, 0, s.actor, small);
	procs_meet(0);
	for (i = 0; !harness_info(link).error; i++) {
		harness_fill(&m, sizeof(m), 0, i);
		peal_send(s.e, 0, 1, &m, sizeof(m), MS, NULL);
	}
	info = harness_info(link);
	CHECK_EQ(info.error, PEAL_EDIED);
	if (have_windows()) {
		CHECK(info.delivered + info.undelivered <= info.accepted);
		CHECK(info.delivered >= 500 - 64);
		/* the watchdog counts queued ones as undelivered later */
		CHECK(info.queued + info.undelivered <= 32);
		CHECK_EQ(info.undelivered_first, info.delivered);
	}
	close_side(&s);
}

PEAL_TEST(messages_taken_by_killed_process_are_counted)
{
	struct procs c;

	procs_start(&c, 2, taker_dies);
	procs_await(&c, 0);
	procs_await(&c, 1);
	CHECK(WIFSIGNALED(c.status[1]));
	CHECK_EQ(c.status[0], 0);
	procs_tidy(&c);
}

/* ---- invalid windows ----------------------------------------------------- */

/* The invalid windows that rank 1 sends: a case of send_invalid_windows(). */
static int lie;

static void send_window(int to, uint32_t type, uint32_t device, int fd,
			size_t bytes)
{
	struct peali_peer p = { .fd = to };
	struct peali_record r = peali_record((enum peali_record_type)type);

	r.window_device = device;
	r.window_bytes = 2 << 20;
	strcpy(r.name, "cuda");
	if (bytes == sizeof(r))
		CHECK_OK(peali_peer_send(&p, &r, fd));
	else
		CHECK(send(to, &r, bytes, MSG_NOSIGNAL) > 0);
}

static void send_invalid_windows(int to)
{
	const size_t all = sizeof(struct peali_record);
	int fd = open("/dev/zero", O_RDWR | O_CLOEXEC);

	switch (lie) {
	case 0:
		send_window(to, PEALI_RECORD_LEAVE, 1, -1, all);
		break;
	case 1:
		send_window(to, PEALI_RECORD_WINDOW, 0, fd, all);
		break;
	case 2:
		send_window(to, PEALI_RECORD_WINDOW, 65, fd, all);
		break;
	case 3: /* this memory is not checked, but the second window is wrong */
		send_window(to, PEALI_RECORD_WINDOW, 1, fd, all);
		send_window(to, PEALI_RECORD_WINDOW, 1, fd, all);
		break;
	case 4:
		send_window(to, PEALI_RECORD_WINDOW, 1, -1, 100);
		break;
	case 5:
		close(to);
		exit(0);
	default:
		break; /* no window comes */
	}
	close(fd);
}

/* Joins as rank 1 without a runtime, and sends an invalid window. */
static void speaks(void)
{
	struct peal_process_group_options o = { .size = sizeof(o) };
	struct peali_record h = peali_record(PEALI_RECORD_HELLO), got;
	struct peali_rendezvous r = { 0 };
	struct peali_launcher_env plan;
	struct sockaddr_un at;
	socklen_t bytes;
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	CHECK_OK(peali_launcher_env(&o, &plan));
	EVENTUALLY(peali_rendezvous_enter(&plan, &r) == 0);
	bytes = peali_socket_name(&at, "peal-%s-0", r.id);
	EVENTUALLY(!connect(fd, (struct sockaddr *)&at, bytes));
	memcpy(h.id, r.id, sizeof(h.id));
	h.rank = 1;
	h.ranks = 2;
	h.start = procs_start_time();
	h.windows = lie == 3 ? 2 : 1;
	CHECK(send(fd, &h, sizeof(h), MSG_NOSIGNAL) == sizeof(h));
	CHECK(recv(fd, &got, sizeof(got), 0) == sizeof(got));
	CHECK_EQ(got.type, PEALI_RECORD_HELLO);
	CHECK_EQ(got.windows, have_windows() ? 2 : 0);
	send_invalid_windows(fd);
	procs_meet(0); /* rank 0 has given up */
	exit(0);
}

static void gets_invalid_windows(int rank)
{
	static const struct {
		int error;
		const char *text;
	} due[] = {
		{ PEAL_EPROTO, "sent an invalid window" },
		{ PEAL_EPROTO, "sent an invalid window" },
		{ PEAL_EPROTO, "sent an invalid window" },
		{ PEAL_EPROTO, "sent a window twice" },
		{ PEAL_EPROTO, "sent a record of a wrong length" },
		{ PEAL_EDIED, "has ended before all ranks had connected" },
		{ PEAL_ETIMEDOUT, "does not send its windows in time" },
	};
	struct peal_process_group_options o = {
		.size = sizeof(o), .timeout_ns = lie == 6 ? 500 * MS : MAX_WAIT
	};
	struct peal_process_group *set = NULL;
	struct peal_runtime *rt;
	int before;

	if (rank == 1)
		speaks();
	rt = harness_open(2, "");
	before = procs_descriptors();
	CHECK_FAILS(peal_process_group_join(rt, &o, &set), due[lie].error,
		    due[lie].text);
	CHECK_CONTAINS(peal_last_error()->text, "rank 1 (pid ");
	if (lie != 5)
		procs_meet(0);
	/* library threads open and close descriptors, also before the join */
	EVENTUALLY(procs_descriptors() <= before);
	CHECK_OK(peal_runtime_close(rt));
}

PEAL_TEST(invalid_windows_fail_the_bootstrap)
{
	for (lie = 0; lie < 7; lie++)
		PROCS(2, gets_invalid_windows);
}

PEAL_TEST_MAIN(RUN_LANES(devices_of_two_processes_write_each_others_memory);
	       RUN(window_range_is_free_after_both_ends_close);
	       RUN(freed_window_space_is_reused);
	       RUN(ring_in_reused_window_starts_empty);
	       RUN(link_without_window_is_staged_with_reason);
	       RUN(link_to_device_with_full_heap_is_refused);
	       RUN(many_devices_have_windows);
	       RUN(window_ranges_of_killed_process_are_freed);
	       RUN(messages_taken_by_killed_process_are_counted);
	       RUN(invalid_windows_fail_the_bootstrap);)
