/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A process of a set sends invalid records and corrupts shared memory. Shows
 * that its peers close the connection or link with an error that names this
 * process, and go on. Wrong options are refused.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>

#include <peal/device/link_consumer.h>
#include "runtime/process_fixture.h"
#include "runtime/short_timeout.h"
#include "runtime/ipc/process_group.h"
#include "runtime/link/endpoint.h"
#include "runtime/link/link.h"

static const struct peal_link_options plain = { .capacity = 16 };

/* The attack of rank 1, the hostile rank. */
static void (*mischief)(struct peal_process_group *set);

/* Sends `bytes` bytes of a record to rank 0, with n_fds descriptors. */
static void send_record(struct peal_process_group *set, struct peali_record r,
			size_t bytes, const int *fds, int n_fds)
{
	char control[CMSG_SPACE(8 * sizeof(int))];
	struct iovec part = { &r, bytes };
	struct msghdr m = { .msg_iov = &part, .msg_iovlen = 1 };
	struct cmsghdr *c;

	if (n_fds) {
		memset(control, 0, sizeof(control));
		m.msg_control = control;
		m.msg_controllen = CMSG_SPACE((size_t)n_fds * sizeof(int));
		c = CMSG_FIRSTHDR(&m);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN((size_t)n_fds * sizeof(int));
		memcpy(CMSG_DATA(c), fds, (size_t)n_fds * sizeof(int));
	}
	CHECK(sendmsg(set->peers[0].fd, &m, MSG_NOSIGNAL) >= 0);
}

/* ---- invalid records ----------------------------------------------------- */

static void bad_magic(struct peal_process_group *set)
{
	struct peali_record r = peali_record(PEALI_RECORD_LEAVE);

	r.magic++;
	send_record(set, r, sizeof(r), NULL, 0);
}

static void bad_version(struct peal_process_group *set)
{
	struct peali_record r = peali_record(PEALI_RECORD_LEAVE);

	r.version = 77;
	send_record(set, r, sizeof(r), NULL, 0);
}

static void bad_kind(struct peal_process_group *set)
{
	send_record(set, peali_record((enum peali_record_type)99),
		    sizeof(struct peali_record), NULL, 0);
}

static void second_hello(struct peal_process_group *set)
{
	send_record(set, peali_record(PEALI_RECORD_HELLO),
		    sizeof(struct peali_record), NULL, 0);
}

static void too_short(struct peal_process_group *set)
{
	send_record(set, peali_record(PEALI_RECORD_CLOSE), 100, NULL, 0);
}

static void descriptors(struct peal_process_group *set)
{
	int fds[8] = { 0, 1, 2, 0, 1, 2, 0, 1 };

	send_record(set, peali_record(PEALI_RECORD_ACCEPT),
		    sizeof(struct peali_record), fds, 8);
}

static void unasked_descriptor(struct peal_process_group *set)
{
	int fd = 1;

	send_record(set, peali_record(PEALI_RECORD_CONNECT),
		    sizeof(struct peali_record), &fd, 1);
}

static void flood(struct peal_process_group *set)
{
	struct peali_record r = peali_record(PEALI_RECORD_CONNECT);
	int i;

	/* stops the reader of rank 1: the refusals of rank 0 stay unread */
	atomic_store(&set->quit, 1);
	for (i = 0; i < 200000; i++) {
		r.number = (uint64_t)i;
		if (send(set->peers[0].fd, &r, sizeof(r), MSG_NOSIGNAL) < 0 &&
		    errno != EAGAIN)
			break;
	}
	CHECK(i < 200000);
}

static int closes; /* 1: rank 1 may also have closed the link */

static int is_told(int error)
{
	return (error == PEAL_EPROTO || (closes && error == PEAL_ESTOPPED) ||
		/* rank 1 did not read for a second */
		(mischief == flood && error == PEAL_EDIED)) &&
	       strstr(peal_last_error()->text, "rank 1 (pid ") != NULL;
}

/*
 * Checks that rank 0 has lost only the connection to rank 1. Links with rank 2
 * still work.
 */
static void goes_on(struct peal_process_group *set, struct peal_endpoint *e,
		    struct peal_endpoint *f)
{
	struct peal_process_info info;
	struct peal_received r;
	uint8_t data[4096];
	int result;

	EVENTUALLY(procs_info(set, 1).state == PEAL_PROCESS_LOST);
	info = procs_info(set, 1);
	CHECK_CONTAINS(info.reason, "rank 1 (pid ");
	if (!closes)
		printf("    %s\n", info.reason);
	CHECK_EQ(procs_info(set, 2).state, PEAL_PROCESS_ALIVE);
	/* links with rank 1 report the error, too; those with rank 2 work */
	CHECK(is_told(peal_send(e, 1, 0, NULL, 0, MAX_WAIT, NULL)));
	result = peal_receive(e, data, sizeof(data), &r, MAX_WAIT);
	CHECK(is_told(result));
	harness_send(f, 2, 0, 0, 40);
	harness_receive(f, 2, 0, 40);
}

/* Rank 0 has an endpoint for each other rank, the others one for rank 0. */
static void nonsense(int rank)
{
	struct peal_runtime *rt = harness_open(1, "");
	struct peal_process_group *set = procs_enter(rt);
	struct peal_endpoint *e = harness_endpoint(rt);
	struct peal_endpoint *f = harness_endpoint(rt);
	int before = procs_descriptors();
	int64_t most = MAX_WAIT;

	CHECK_OK(peal_process_export(set, "in1", peal_endpoint_address(e)));
	CHECK_OK(peal_process_export(set, "in2", peal_endpoint_address(f)));
	if (rank == 0) {
		procs_connect(set, 1, "in1", peal_endpoint_address(e), 1,
			      plain);
		procs_connect(set, 2, "in1", peal_endpoint_address(f), 2,
			      plain);
	} else {
		procs_connect(set, 0, rank == 1 ? "in1" : "in2",
			      peal_endpoint_address(e), 0, plain);
	}
	procs_meet(0);
	if (rank == 0) {
		goes_on(set, e, f);
		EVENTUALLY(procs_descriptors() == before);
	} else if (rank == 1) {
		mischief(set);
	} else {
		harness_receive(e, 0, 0, 40);
		harness_send(e, 0, 2, 0, 40);
	}
	atomic_fetch_add(&procs_board->word[1], 1);
	EVENTUALLY(atomic_load(&procs_board->word[1]) == 3);
	/* rank 1 gets no answer, and after a flood it reads no more */
	if (rank == 1)
		most = mischief == flood ? 20 * MS : SECOND;
	CHECK_OK(peal_process_group_leave(set, most));
	CHECK_OK(peal_endpoint_destroy(e));
	CHECK_OK(peal_endpoint_destroy(f));
	CHECK_OK(peal_runtime_close(rt));
}

#define NONSENSE(what)                                                         \
	do {                                                                   \
		mischief = what;                                               \
		PROCS(3, nonsense);                                            \
	} while (0)

PEAL_TEST(invalid_record_ends_only_its_connection)
{
	NONSENSE(bad_magic);
	NONSENSE(bad_version);
	NONSENSE(bad_kind);
	NONSENSE(second_hello);
	NONSENSE(too_short);
	NONSENSE(descriptors);
	NONSENSE(unasked_descriptor);
	NONSENSE(flood);
}

/* Sends random records, most of them of a known type. */
static void noise(struct peal_process_group *set)
{
	unsigned long long seed = (unsigned long long)getpid();
	struct peali_record r;
	size_t i, n;

	for (n = 0; n < 2000; n++) {
		for (i = 0; i < sizeof(r) / 8; i++)
			((uint64_t *)(void *)&r)[i] = test_random(&seed);
		r.magic = PEALI_RECORD_MAGIC;
		r.version = PEALI_RECORD_VERSION;
		r.type = 2 + (uint32_t)(test_random(&seed) % 4);
		if (r.type == PEALI_RECORD_LEAVE)
			r.type = PEALI_RECORD_CONNECT;
		if (n % 16 == 5)
			r.type = PEALI_RECORD_FREED;
		r.number %= 16;
		if (n % 2) {
			r.window_device %= 4;
			r.window_offset &= 0xffff80;
			strcpy(r.name, "in1");
			r.policies = ~0u;
			r.policy %= 4;
			r.slab_bytes %= 1 << 20;
			r.message_bytes %= 1 << 12;
			r.capacity = 1u << r.capacity % 8;
			r.slot_bytes = r.slot_bytes % 8 * 16;
			r.emits %= 4;
			r.handler_bytes = 0;
		}
		if (send(set->peers[0].fd, &r, sizeof(r), MSG_NOSIGNAL) < 0)
			break;
		identity_sleep_us(20);
	}
	/* an invalid type ends the connection */
	r = peali_record((enum peali_record_type)99);
	send(set->peers[0].fd, &r, sizeof(r), MSG_NOSIGNAL);
}

PEAL_TEST(random_records_are_harmless)
{
	closes = 1;
	NONSENSE(noise);
	closes = 0;
}

/* ---- invalid shared memory ----------------------------------------------- */

static struct peal_link *link_that(struct peal_runtime *rt, int sends)
{
	struct peal_link *links[8];
	int n = peal_link_list(rt, links, 8), i;

	for (i = 0; i < n; i++)
		if (links[i]->remote->sends == sends)
			return links[i];
	CHECK(!"no such link");
	return NULL;
}

/* Fills all shared memory of a link that a peer can write. */
static void scribble(struct peal_link *link, uint8_t with)
{
	uint8_t *from = (uint8_t *)(link->remote->ring + 1);

	memset(from, with,
	       (size_t)(link->remote->base + link->remote->bytes - from));
}

static uint8_t ink;

static void memory(int rank)
{
	struct peal_runtime *rt = harness_open(1, "");
	struct peal_process_group *set = procs_enter(rt);
	struct peal_endpoint *e = harness_endpoint(rt);
	struct peal_received r;
	struct peal_link_info info;
	uint8_t data[48] = { 0 };
	int i, result;

	CHECK_OK(peal_process_export(set, "in", peal_endpoint_address(e)));
	procs_connect(set, 1 - rank, "in", peal_endpoint_address(e), 0, plain);
	procs_meet(0);
	if (rank == 1) {
		scribble(link_that(rt, 1), ink);
		scribble(link_that(rt, 0), ink);
	}
	procs_meet(1);
	if (rank == 0) {
		/*
		 * a call succeeds or fails with one of these errors; it neither
		 * hangs nor accesses memory out of bounds
		 */
		for (i = 0; i < 1000; i++) {
			result = peal_receive(e, data, sizeof(data), &r, 0);
			if (!result)
				CHECK(r.length <= 48);
			result =
				peal_send(e, 0, 0, data, sizeof(data), 0, NULL);
			CHECK(!result || result == PEAL_EAGAIN ||
			      result == PEAL_EPROTO);
			if (result == PEAL_EPROTO)
				CHECK_CONTAINS(peal_last_error()->text,
					       "violated the protocol");
		}
		CHECK_OK(peal_link_info(link_that(rt, 1), &info));
		CHECK_OK(peal_link_info(link_that(rt, 0), &info));
		CHECK_EQ(info.capacity, 16);
		CHECK_EQ(procs_info(set, 1).state, PEAL_PROCESS_ALIVE);
	}
	procs_meet(2);
	CHECK_OK(peal_process_group_leave(set, MAX_WAIT));
	CHECK_OK(peal_endpoint_destroy(e));
	CHECK_OK(peal_runtime_close(rt));
}

PEAL_TEST(corrupt_shared_memory_is_detected)
{
	static const uint8_t inks[] = { 0xff, 0x01, 0x80, 0x7f, 0x55, 0x20 };
	size_t i;

	for (i = 0; i < sizeof(inks); i++) {
		ink = inks[i];
		PROCS(2, memory);
	}
}

/* A credit that gives back more than was sent closes the sender's end. */
static void credit(int rank)
{
	struct peal_runtime *rt = harness_open(1, "");
	struct peal_process_group *set = procs_enter(rt);
	struct peal_endpoint *e = harness_endpoint(rt);
	struct relay_message m = { 0, 0, 0 };

	if (rank == 1) {
		CHECK_OK(peal_process_export(set, "in",
					     peal_endpoint_address(e)));
		procs_meet(0);
		peal_store_release_sys(&link_that(rt, 0)->remote->credit->slots,
				       1000);
		procs_meet(1);
	} else {
		procs_connect(set, 1, "in", peal_endpoint_address(e), 0, plain);
		harness_send(e, 0, 0, 0, 16);
		procs_meet(0);
		procs_meet(1);
		CHECK_FAILS(peal_send(e, 0, 0, &m, sizeof(m), MAX_WAIT, NULL),
			    PEAL_EPROTO, "violated the protocol");
	}
	procs_meet(2);
	CHECK_OK(peal_process_group_leave(set, MAX_WAIT));
	CHECK_OK(peal_runtime_shutdown(rt));
}

PEAL_TEST(credit_for_unsent_messages_closes_the_link)
{
	PROCS(2, credit);
}

/*
 * A message is too long for its slot. The receiver closes the link, and the
 * sender gets the error.
 */
static void slot(int rank)
{
	struct peal_runtime *rt = harness_open(1, "");
	struct peal_process_group *set = procs_enter(rt);
	struct peal_endpoint *e = harness_endpoint(rt);
	struct relay_message m = { 0, 0, 0 };
	struct peal_link *link;
	struct peal_received r;

	if (rank == 0) {
		CHECK_OK(peal_process_export(set, "in",
					     peal_endpoint_address(e)));
		procs_meet(0);
		CHECK_FAILS(peal_receive(e, &m, sizeof(m), &r, MAX_WAIT),
			    PEAL_EPROTO, "violated the protocol");
		CHECK_EQ(harness_info(link_that(rt, 0)).error, PEAL_EPROTO);
		procs_meet(1);
	} else {
		link = procs_connect(set, 0, "in", peal_endpoint_address(e), 0,
				     plain);
		peal_slot_publish(e->ports[0].producer.slot, 1, PEAL_KIND_DATA,
				  60000);
		procs_meet(0);
		procs_meet(1);
		CHECK_EQ(peal_send(e, 0, 0, &m, sizeof(m), MAX_WAIT, NULL),
			 PEAL_EPROTO);
		CHECK_EQ(harness_info(link).error, PEAL_EPROTO);
	}
	procs_meet(2);
	CHECK_OK(peal_process_group_leave(set, MAX_WAIT));
	CHECK_OK(peal_runtime_shutdown(rt));
}

PEAL_TEST(message_beyond_its_slot_closes_the_link)
{
	PROCS(2, slot);
}

/* ---- invalid answers ----------------------------------------------------- */

/* The invalid answer of rank 1 to a connect record: a case of answer(). */
static int answers;

static int memory_of(uint64_t bytes, int seals)
{
	int fd = memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	CHECK(fd >= 0 && !ftruncate(fd, (off_t)bytes));
	CHECK(!fcntl(fd, F_ADD_SEALS, seals));
	return fd;
}

static void answer(struct peal_process_group *set, const struct peali_record *q)
{
	static const int sealed = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
	struct peali_record r = peali_record(PEALI_RECORD_ACCEPT);
	int fd = -1;

	r.number = q->number;
	r.capacity = 16;
	r.message_bytes = 48;
	r.slot_bytes = 64;
	r.policy = PEAL_POLICY_SEQUENCE;
	r.memory_bytes = 4096;
	switch (answers) {
	case 0: /* memory that can shrink */
		fd = memory_of(4096, F_SEAL_SEAL);
		break;
	case 1: /* too short */
		fd = memory_of(128, sealed);
		break;
	case 2: /* no memory, but a device file */
		fd = open("/dev/null", O_RDWR);
		break;
	case 3: /* a ring that is larger than its memory */
		r.capacity = 1 << 20;
		fd = memory_of(4096, sealed);
		break;
	case 4: /* a message_bytes that differs from the request */
		r.message_bytes = 32;
		fd = memory_of(4096, sealed);
		break;
	case 5: /* an invalid slot_bytes */
		r.slot_bytes = 17;
		fd = memory_of(4096, sealed);
		break;
	case 6:
		break; /* no memory */
	case 7: /* a window that does not exist */
		r.window_device = 1;
		r.window_bytes = 16 * 64;
		fd = memory_of(4096, sealed);
		break;
	default: /* a refusal with an invalid error and text */
		r = peali_record(PEALI_RECORD_REFUSE);
		r.number = q->number;
		r.error = 77;
		memset(r.text, '\a', sizeof(r.text));
	}
	send_record(set, r, sizeof(r), &fd, fd >= 0);
	if (fd >= 0)
		close(fd);
}

static void asks(int rank)
{
	static const char *const parts[] = { "not sealed",
					     "not sealed",
					     "not sealed",
					     "other sizes",
					     "other sizes",
					     "other sizes",
					     "accepts a link without memory",
					     "by an unknown window",
					     "\\x07\\x07" };
	struct peal_runtime *rt = harness_open(1, "");
	struct peal_process_group *set = procs_enter(rt);
	struct peal_endpoint *e = harness_endpoint(rt);
	struct peal_link_options o = plain;
	struct peali_record q;
	int before = procs_descriptors();

	o.size = sizeof(o);
	o.message_bytes = 48;
	/* stops the threads of rank 1, which would answer */
	if (rank == 1) {
		peali_service_stop(set);
		procs_meet(0);
		CHECK_EQ(recv(set->peers[0].fd, &q, sizeof(q), 0), sizeof(q));
		CHECK_EQ(q.type, PEALI_RECORD_CONNECT);
		answer(set, &q);
		procs_meet(1);
		peali_peers_close(set);
		exit(0);
	}
	procs_meet(0);
	CHECK_FAILS(peal_process_connect(set, 1, "in", peal_endpoint_address(e),
					 0, &o, 0, NULL),
		    PEAL_EPROTO, parts[answers]);
	CHECK_CONTAINS(peal_last_error()->text, "rank 1");
	CHECK_EQ(procs_descriptors(), before);
	procs_meet(1);
	CHECK_OK(peal_process_group_leave(set, MAX_WAIT));
	CHECK_OK(peal_endpoint_destroy(e));
	CHECK_OK(peal_runtime_close(rt));
}

PEAL_TEST(invalid_answers_are_refused)
{
	for (answers = 0; answers < 9; answers++)
		PROCS(2, asks);
}

/* Rank 1 lives, but never answers. The calls of rank 0 still end. */
static void silent(int rank)
{
	struct peal_runtime *rt = harness_open(1, "");
	struct peal_process_group *set = procs_enter(rt);
	struct peal_endpoint *e = harness_endpoint(rt);

	if (rank == 1) {
		peali_service_stop(set);
		procs_meet(0);
		procs_meet(1);
		peali_peers_close(set);
		exit(0);
	}
	procs_meet(0);
	CHECK_TIMES_OUT(rt,
			peal_process_connect(set, 1, "in",
					     peal_endpoint_address(e), 0, NULL,
					     0, NULL),
			PEAL_ETIMEDOUT, "rank 1 (pid ");
	CHECK_OK(peal_process_group_leave(set, 10 * MS));
	CHECK_OK(peal_endpoint_destroy(e));
	CHECK_OK(peal_runtime_close(rt));
	procs_meet(1);
}

PEAL_TEST(wait_for_silent_process_is_bounded)
{
	PROCS(2, silent);
}

/* ---- wrong options ------------------------------------------------------- */

#define REFUSED(error, part, to, name, port, ...)                              \
	do {                                                                   \
		struct peal_link_options o_ = { .size = sizeof(o_),            \
						__VA_ARGS__ };                 \
		CHECK_FAILS(peal_process_connect(set, to, name, from, port,    \
						 &o_, 0, NULL),                \
			    error, part);                                      \
	} while (0)

static void wrong(int rank)
{
	struct peal_runtime *rt = harness_open(1, "");
	struct peal_process_group *set = procs_enter(rt);
	struct peal_endpoint_options narrow = { .size = sizeof(narrow),
						.max_inputs = 1,
						.max_ports = 4 };
	struct peal_endpoint *e;
	uint64_t from;

	CHECK_OK(peal_endpoint_create(rt, &narrow, &e));
	from = peal_endpoint_address(e);
	CHECK_OK(peal_process_export(set, "in", from));
	procs_meet(0);
	if (rank == 0) {
		REFUSED(PEAL_ENOENT, "rank 1 (pid ", 1, "out", 0, 0);
		CHECK_CONTAINS(peal_last_error()->text,
			       "'out' is not exported");
		REFUSED(PEAL_EINVAL, "'': is empty (0 bytes, allowed 1..47)", 1,
			"", 0, 0);
		REFUSED(PEAL_ENOENT,
			"'endpoint': has no such port (9, allowed "
			"0..3)",
			1, "in", 9, 0);
		REFUSED(PEAL_EINVAL, "rank 1 (pid ", 1, "in", 0,
			.capacity = 33);
		CHECK_CONTAINS(peal_last_error()->text, "capacity");
		REFUSED(PEAL_EINVAL, "slot_bytes", 1, "in", 0,
			.slot_bytes = 17);
		REFUSED(PEAL_EINVAL, "message_bytes", 1, "in", 0,
			.message_bytes = 1ULL << 30);
		REFUSED(PEAL_EINVAL, "policy", 1, "in", 0, .policy = 9);
		REFUSED(PEAL_EINVAL,
			"'priority': is out of range (1, allowed "
			"0)",
			1, "in", 0, .priority = 1);
		REFUSED(PEAL_ENOPEER, "rule out", 1, "in", 0,
			.require = PEAL_ROUTE_PEER);
		REFUSED(PEAL_ENOPEER, "rule out", 1, "in", 0,
			.forbid = PEAL_ROUTE_PROCESS);
		CHECK_FAILS(peal_process_connect(set, 1, "in", 12345, 0, NULL,
						 0, NULL),
			    PEAL_ENOENT, "no actor or endpoint");
		CHECK_FAILS(peal_process_connect(set, 1, "later", from, 0, NULL,
						 20 * MS, NULL),
			    PEAL_ENOENT, "'later' is not exported");
		procs_connect(set, 1, "in", from, 0,
			      (struct peal_link_options){
				      .require = PEAL_ROUTE_PROCESS });
		REFUSED(PEAL_EEXIST, "is connected already", 1, "in", 0, 0);
		REFUSED(PEAL_ENOSPC, "max_inputs", 1, "in", 1, 0);
		CHECK_FAILS(
			peal_connect(rt, from, 1, from,
				     &(struct peal_link_options){
					     .size = sizeof(plain),
					     .require = PEAL_ROUTE_PROCESS },
				     NULL),
			PEAL_EINVAL, "'require': has unknown bits");
	}
	procs_meet(1);
	CHECK_OK(peal_process_group_leave(set, MAX_WAIT));
	CHECK_OK(peal_endpoint_destroy(e));
	CHECK_OK(peal_runtime_close(rt));
}

PEAL_TEST(invalid_options_are_refused_by_the_peer)
{
	PROCS(2, wrong);
}

/* Dead letters cannot leave the process, nor links lead to ended kernels. */
static void letters(int rank)
{
	struct peal_runtime *rt = harness_open(1, "");
	struct peal_process_group *set = procs_enter(rt);
	struct peal_endpoint *e = harness_endpoint(rt);
	struct peal_kernel *k = harness_launch(rt, 0);
	uint64_t actor = harness_spawn(k, "sink", -1);

	CHECK_OK(peal_process_export(set, "gone", actor));
	CHECK_OK(peal_kernel_stop(k, MAX_WAIT));
	procs_meet(0);
	if (rank == 0) {
		CHECK_FAILS(peal_process_connect(set, 1, "gone",
						 peal_dead_letter_address(k), 0,
						 NULL, 0, NULL),
			    PEAL_ESTOPPED, "has ended");
		CHECK_FAILS(peal_process_connect(set, 1, "gone",
						 peal_endpoint_address(e), 0,
						 NULL, 0, NULL),
			    PEAL_ESTOPPED, "rank 1 (pid ");
		k = harness_launch(rt, 0);
		CHECK_FAILS(peal_process_connect(set, 1, "gone",
						 peal_dead_letter_address(k), 0,
						 NULL, 0, NULL),
			    PEAL_ENOTSUP, "dead letters");
	}
	procs_meet(1);
	CHECK_OK(peal_process_group_leave(set, MAX_WAIT));
	CHECK_OK(peal_runtime_shutdown(rt));
}

PEAL_TEST(unlinkable_ends_are_named)
{
	PROCS(2, letters);
}

PEAL_TEST_MAIN(RUN(invalid_record_ends_only_its_connection);
	       RUN(random_records_are_harmless);
	       RUN(corrupt_shared_memory_is_detected);
	       RUN(credit_for_unsent_messages_closes_the_link);
	       RUN(message_beyond_its_slot_closes_the_link);
	       RUN(invalid_answers_are_refused);
	       RUN(wait_for_silent_process_is_bounded);
	       RUN(invalid_options_are_refused_by_the_peer);
	       RUN(unlinkable_ends_are_named);)
