/* SPDX-License-Identifier: Apache-2.0 */
/* labels: fast alone */
/*
 * Processes are killed at random moments. Shows that all survivors learn of the
 * death by links and the process group, even in a blocked call. Messages that
 * had arrived as a whole are delivered.
 */
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include <peal/process_group.h>

#include "runtime/process_fixture.h"

#define ROUNDS (IDENTITY_SANITIZED || test_on_gpu() ? 12 : 40)
#define DEAD 40 /* word of shared memory: 1 + rank of the killed process */
#define WHEN 41 /* word of shared memory: time of the kill, in ns */
#define LATE                                                                   \
	42 /* word of shared memory: longest time from kill to detection, in ns */
#define NOTICED 43 /* word of shared memory: number of detections */

static const struct peal_link_options small = { .capacity = 8,
						.message_bytes = 300 };

/* ---- survivors ----------------------------------------------------------- */

/*
 * One process. Endpoint e[i] receives from rank i. It sends to an endpoint and
 * an actor of rank i. link[i] leads to that endpoint.
 */
struct member {
	struct peal_runtime *rt;
	struct peal_process_group *set;
	struct peal_kernel *k;
	struct peal_endpoint *e[PROCS_MAX];
	struct peal_link *link[PROCS_MAX];
	uint64_t sent[PROCS_MAX], got[PROCS_MAX];
	int done_sending[PROCS_MAX], done_receiving[PROCS_MAX];
};

static void set_up(struct member *m, int rank)
{
	struct peal_kernel_options o = { .drain_when_inputs_end = 0 };
	char name[32];
	int other;

	memset(m, 0, sizeof(*m));
	m->rt = harness_open(1, "");
	m->k = harness_launch_with(m->rt, 0, o);
	m->set = procs_enter(m->rt);
	for (other = 0; other < procs_ranks; other++) {
		if (other == rank)
			continue;
		m->e[other] = harness_endpoint(m->rt);
		snprintf(name, sizeof(name), "from %d", other);
		CHECK_OK(peal_process_export(
			m->set, name, peal_endpoint_address(m->e[other])));
		snprintf(name, sizeof(name), "actor %d", other);
		CHECK_OK(peal_process_export(m->set, name,
					     harness_spawn(m->k, "sink", -1)));
	}
	snprintf(name, sizeof(name), "from %d", rank);
	for (other = 0; other < procs_ranks; other++)
		if (other != rank)
			m->link[other] = procs_connect(
				m->set, other, name,
				peal_endpoint_address(m->e[other]), 0, small);
	snprintf(name, sizeof(name), "actor %d", rank);
	for (other = 0; other < procs_ranks; other++)
		if (other != rank)
			procs_connect(m->set, other, name,
				      peal_endpoint_address(m->e[other]), 1,
				      small);
}

/* Checks that rank `other` counts as dead and that the error names it. */
static void is_dead(struct member *m, int other, int error)
{
	int dead = (int)atomic_load(&procs_board->word[DEAD]) - 1;
	struct peal_process_info info = procs_info(m->set, other);
	char name[32];

	CHECK_EQ(error, PEAL_EDIED);
	CHECK_EQ(other, dead);
	snprintf(name, sizeof(name), "rank %d (pid %d)", other, info.pid);
	CHECK_CONTAINS(peal_last_error()->text, name);
	CHECK_EQ(info.state, PEAL_PROCESS_DEAD);
	CHECK_CONTAINS(info.reason, "has died");
}

/*
 * Sends one message if the link has free slots. Returns 1 if it has sent a
 * message, or if the link has ended.
 */
static int send_some(struct member *m, int rank, int other)
{
	uint8_t data[300];
	uint64_t n = 24 + m->sent[other] % 276;
	int result, port;

	if (m->done_sending[other])
		return 0;
	harness_fill(data, n, (uint64_t)rank, m->sent[other]);
	result = peal_send(m->e[other], 0, 1, data, n, 0, NULL);
	if (!result) {
		m->sent[other]++;
		peal_send(m->e[other], 1, 1, data, n, 0,
			  NULL); /* to the actor */
	}
	if (!result || result == PEAL_EAGAIN)
		return !result;
	is_dead(m, other, result);
	for (port = 0; port < 2; port++) {
		result = peal_send(m->e[other], (uint32_t)port, 1, data, 24,
				   MAX_WAIT, NULL);
		is_dead(m, other, result);
	}
	CHECK_EQ(harness_info(m->link[other]).error, PEAL_EDIED);
	m->done_sending[other] = 1;
	return 1;
}

static int receive_some(struct member *m, int other, int64_t timeout_ns)
{
	uint8_t data[300];
	struct peal_received r;
	int result;

	if (m->done_receiving[other])
		return 0;
	result = peal_receive(m->e[other], data, sizeof(data), &r, timeout_ns);
	if (result == PEAL_EAGAIN || result == PEAL_ETIMEDOUT)
		return 0;
	if (!result) { /* whole, in order, each once */
		CHECK_EQ(r.length, 24 + m->got[other] % 276);
		CHECK(harness_intact(data, r.length, (uint64_t)other,
				     m->got[other]));
		m->got[other]++;
		return 1;
	}
	is_dead(m, other, result);
	CHECK_EQ(peal_receive(m->e[other], data, sizeof(data), &r, MAX_WAIT),
		 PEAL_EDIED);
	m->done_receiving[other] = 1;
	return 1;
}

/* Records the time from the kill to this survivor's detection. */
static void note(struct member *m, int dead)
{
	uint64_t at = procs_info(m->set, dead).gone_ns, when, most;

	EVENTUALLY(atomic_load(&procs_board->word[WHEN]));
	when = atomic_load(&procs_board->word[WHEN]);
	atomic_fetch_add(&procs_board->word[NOTICED], 1);
	if (at <= when)
		return;
	most = atomic_load(&procs_board->word[LATE]);
	while (at - when > most &&
	       !atomic_compare_exchange_weak(&procs_board->word[LATE], &most,
					     at - when))
		;
}

/* Sends and receives until one rank is dead in both directions. */
static void survive(int rank)
{
	struct peal_process_group_info info;
	struct member m;
	int other, dead = -1, moved;

	set_up(&m, rank);
	procs_meet(0);
	while (dead < 0) {
		moved = 0;
		for (other = 0; other < procs_ranks; other++) {
			if (other == rank)
				continue;
			moved += send_some(&m, rank, other);
			moved += receive_some(&m, other, 0);
			if (m.done_sending[other] && m.done_receiving[other])
				dead = other;
		}
		if (!moved)
			identity_sleep_us(50);
	}
	CHECK_OK(peal_process_group_info(m.set, &info));
	CHECK_EQ(info.n_dead, 1);
	CHECK_EQ(info.n_lost, 0);
	CHECK_FAILS(peal_process_connect(m.set, (uint32_t)dead, "x",
					 peal_endpoint_address(m.e[dead]), 7,
					 NULL, MAX_WAIT, NULL),
		    PEAL_EDIED, "has died");
	note(&m, dead);
	/* a rank that leaves earlier would look like another dead rank */
	atomic_fetch_add(&procs_board->word[1], 1);
	EVENTUALLY(atomic_load(&procs_board->word[1]) >=
		   (uint64_t)procs_ranks - 1);
	CHECK_OK(peal_process_group_leave(m.set, MAX_WAIT));
	CHECK_OK(peal_runtime_shutdown(m.rt));
}

/* ---- rounds -------------------------------------------------------------- */

static unsigned long long seed = 1;

/* Results of all rounds. Times are in ns. */
struct sum {
	uint64_t noticed; /* number of detections */
	uint64_t late; /* longest time from kill to detection */
	uint64_t over; /* rounds with a detection after more than 100 ms */
	uint64_t behind; /* longest time from process end to detection */
};

static void say(const struct sum *s, int rounds)
{
	printf("    %d rounds, noticed %llu times, the latest %.3f ms after the "
	       "kill, %.3f ms after the process was gone; %llu rounds over 100 "
	       "ms\n",
	       rounds, (unsigned long long)s->noticed, (double)s->late / 1e6,
	       (double)s->behind / 1e6, (unsigned long long)s->over);
}

static void one_round(int n, procs_fn run, struct sum *s)
{
	uint64_t ended, latest;
	int dead = (int)(test_random(&seed) % (unsigned)n), rank;
	struct procs c;

	procs_start(&c, n, run);
	EVENTUALLY(atomic_load(&c.board->word[0]) == (uint64_t)n);
	identity_sleep_us((unsigned)(test_random(&seed) % 4000));
	atomic_store(&c.board->word[DEAD], (uint64_t)dead + 1);
	kill(c.pid[dead], SIGKILL);
	atomic_store(&c.board->word[WHEN], harness_now_ns());
	CHECK(WIFSIGNALED(procs_await(&c, dead)));
	ended = harness_now_ns();
	for (rank = 0; rank < n; rank++)
		if (rank != dead && procs_await(&c, rank)) {
			fprintf(stderr, "rank %d of %d: status %#x\n", rank, n,
				(unsigned)c.status[rank]);
			exit(1);
		}
	latest = atomic_load(&c.board->word[LATE]);
	if (latest > s->late)
		s->late = latest;
	s->over += latest > 100000000;
	if (atomic_load(&c.board->word[WHEN]) + latest > ended + s->behind)
		s->behind = atomic_load(&c.board->word[WHEN]) + latest - ended;
	s->noticed += atomic_load(&c.board->word[NOTICED]);
	procs_tidy(&c);
}

PEAL_TEST(survivors_name_the_killed_process)
{
	struct sum sum = { 0 };
	int i, rounds = ROUNDS;

	for (i = 0; i < rounds; i++)
		one_round(i % 4 == 3 ? 4 : 2, survive, &sum);
	say(&sum, i);
	CHECK(sum.noticed >= (uint64_t)i);
	CHECK(sum.late < 5000000000u); /* 5 s, also on a busy machine */
}

/* ---- blocked calls ------------------------------------------------------- */

/*
 * Rank 0 waits for a message and rank 2 for a free slot, without a timeout.
 * There is no kernel, so no worker checks the links.
 */
static void waits_for_ever(int rank)
{
	struct peal_runtime *rt = harness_open(1, "");
	struct member me = { .set = procs_enter(rt) };
	struct peal_endpoint *e = harness_endpoint(rt);
	struct relay_message m = { 0, 0, 0 };
	struct peal_received r;
	int result;

	CHECK_OK(peal_process_export(me.set, "in", peal_endpoint_address(e)));
	if (rank != 0) /* to rank 0 from rank 1, to rank 1 from rank 2 */
		procs_connect(me.set, rank - 1, "in", peal_endpoint_address(e),
			      0, small);
	procs_meet(0);
	if (rank == 0) {
		is_dead(&me, 1, peal_receive(e, &m, sizeof(m), &r, -1));
	} else if (rank == 2) {
		do {
			result = peal_send(e, 0, 1, &m, sizeof(m), -1, NULL);
		} while (!result);
		is_dead(&me, 1, result);
	} else {
		for (;;)
			pause();
	}
	note(&me, 1);
	CHECK_OK(peal_process_group_leave(me.set, MAX_WAIT));
	CHECK_OK(peal_runtime_shutdown(rt));
}

PEAL_TEST(endless_wait_ends_when_peer_process_dies)
{
	struct procs c;

	procs_start(&c, 3, waits_for_ever);
	EVENTUALLY(atomic_load(&c.board->word[0]) == 3);
	identity_sleep_us(200000); /* by now the calls most likely block */
	atomic_store(&c.board->word[DEAD], 2);
	kill(c.pid[1], SIGKILL);
	atomic_store(&c.board->word[WHEN], harness_now_ns());
	CHECK(WIFSIGNALED(procs_await(&c, 1)));
	CHECK_EQ(procs_await(&c, 0), 0);
	CHECK_EQ(procs_await(&c, 2), 0);
	procs_tidy(&c);
}

/* A kernel with drain_when_inputs_end also ends if the sending process dies. */
static void ends_with_inputs(int rank)
{
	struct peal_runtime *rt = harness_open(1, "");
	struct peal_process_group *set = procs_enter(rt);
	struct peal_kernel *k = harness_launch(rt, 0);
	uint64_t actor = harness_spawn(k, "sink", -1);
	struct peal_endpoint *e = harness_endpoint(rt);
	struct relay_sink sink;
	struct peal_link *links[4];

	if (rank == 1) {
		procs_connect(set, 0, "sink", peal_endpoint_address(e), 0,
			      small);
		harness_send(e, 0, 1, 0, 5);
		procs_meet(0);
		for (;;)
			pause();
	}
	CHECK_OK(peal_process_export(set, "sink", actor));
	procs_meet(0);
	CHECK_OK(peal_kernel_wait(k, MAX_WAIT));
	CHECK_OK(peal_actor_state(rt, actor, &sink, sizeof(sink)));
	CHECK_EQ(sink.received, 5);
	CHECK_EQ(sink.damaged + sink.misordered, 0);
	CHECK_EQ(peal_link_list(rt, links, 4), 1);
	EVENTUALLY(harness_info(links[0]).delivered == 5);
	CHECK_EQ(harness_info(links[0]).error, PEAL_EDIED);
	harness_conserved(rt);
	CHECK_OK(peal_process_group_leave(set, MAX_WAIT));
	CHECK_OK(peal_runtime_shutdown(rt));
}

PEAL_TEST(kernel_ends_after_its_senders_died)
{
	struct procs c;

	procs_start(&c, 2, ends_with_inputs);
	EVENTUALLY(atomic_load(&c.board->word[0]) == 2);
	kill(c.pid[1], SIGKILL);
	CHECK(WIFSIGNALED(procs_await(&c, 1)));
	CHECK_EQ(procs_await(&c, 0), 0);
	procs_tidy(&c);
}

/* ---- old kernels --------------------------------------------------------- */

/* Makes pidfd_open fail, as before Linux 5.3. */
static void forbid_pidfd(void)
{
#ifdef SYS_pidfd_open
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_pidfd_open, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | 38 /* ENOSYS */),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { 4, filter };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program)) {
		printf("    no seccomp here: pidfd_open stays\n");
		return;
	}
	CHECK(syscall(SYS_pidfd_open, getpid(), 0) < 0);
#endif
}

static void survive_without(int rank)
{
	forbid_pidfd();
	survive(rank);
}

PEAL_TEST(death_is_detected_without_pidfd)
{
	struct sum sum = { 0 };
	int i;

	for (i = 0; i < 4; i++)
		one_round(2 + i / 2, survive_without, &sum);
	say(&sum, i);
}

PEAL_TEST_MAIN(RUN(survivors_name_the_killed_process);
	       RUN(endless_wait_ends_when_peer_process_dies);
	       RUN(kernel_ends_after_its_senders_died);
	       RUN(death_is_detected_without_pidfd);)
