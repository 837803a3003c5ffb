/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_TESTS_FUZZ_PEER_FIXTURE_H
#define PEAL_TESTS_FUZZ_PEER_FIXTURE_H

/*
 * A process group of two processes. The fuzz target acts as rank 1. It writes
 * records to the socket and words to the shared memory. No thread of the group
 * runs, so a target is deterministic.
 */

#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <peal/process_group.h>

#include "fuzz/runtime_fixture.h"
#include "runtime/base/wait.h"
#include "runtime/ipc/process_group.h"
#include "runtime/link/remote.h"

#define FUZZ_SHARED_BYTES (1u << 20) /* most bytes of a link that are mapped */

struct fuzz_peer {
	struct peal_process_group *set;
	struct peal_endpoint *endpoint; /* of rank 0, exported as "in" */
	struct peali_peer *peer; /* rank 1 as rank 0 sees it */
	int fd; /* the socket of rank 1 */
};

/* Makes the group at the first call. */
static inline struct fuzz_peer *fuzz_group(void)
{
	static struct fuzz_peer one;
	struct peal_process_group *set;
	uint32_t rank;

	if (one.set)
		return &one;
	set = calloc(1, sizeof(*set));
	FUZZ_CHECK(set);
	set->rt = fuzz_runtime();
	set->plan.ranks = 2;
	set->last_job = &set->jobs;
	set->event_fd = -1;
	pthread_mutex_init(&set->lock, NULL);
	peali_cond_init(&set->changed);
	for (rank = 0; rank < PEAL_PROCESS_GROUP_MAX; rank++) {
		set->peers[rank].set = set;
		set->peers[rank].rank = rank;
		set->peers[rank].fd = set->peers[rank].pidfd = -1;
	}
	FUZZ_CHECK(!peal_endpoint_create(set->rt, NULL, &one.endpoint));
	FUZZ_CHECK(!peal_process_export(set, "in",
					peal_endpoint_address(one.endpoint)));
	one.set = set;
	one.peer = &set->peers[1];
	one.fd = -1;
	return &one;
}

static inline struct fuzz_peer *fuzz_peer_open(void)
{
	struct fuzz_peer *p = fuzz_group();
	struct peali_peer *peer = p->peer;
	int fds[2];

	FUZZ_CHECK(!socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds));
	peer->fd = fds[0];
	p->fd = fds[1];
	FUZZ_CHECK(!peali_member_self(&peer->member));
	peer->state = PEAL_PROCESS_ALIVE;
	peer->error = 0;
	peer->heard = 0;
	peer->broken_ns = 0;
	peer->n_jobs = 0;
	peer->over = peer->hung = 0;
	atomic_store(&peer->dropped, NULL);
	return p;
}

/* Destroys all links and closes the connection. */
static inline void fuzz_peer_close(struct fuzz_peer *p)
{
	struct peal_link *links[8];
	struct peali_job *job;
	int n;

	while ((n = peal_link_list(p->set->rt, links, 8)) > 0)
		FUZZ_CHECK(!peal_link_destroy(links[0]));
	while ((job = p->set->jobs)) {
		p->set->jobs = job->next;
		free(job);
	}
	p->set->last_job = &p->set->jobs;
	FUZZ_CHECK(!p->peer->links);
	peali_peers_close(p->set);
	close(p->fd);
}

/* Receives a record of rank 0, with a descriptor or -1. Returns 1, or 0. */
static inline int fuzz_peer_receive(struct fuzz_peer *p,
				    struct peali_record *out, int *fd)
{
	const char *wrong;

	if (peali_record_receive(p->fd, out, fd, &wrong) != 1)
		return 0;
	FUZZ_CHECK(!wrong);
	return 1;
}

/* Takes a record from the input. Its first words are right. */
static inline struct peali_record fuzz_record(struct fuzz_input *in,
					      enum peali_record_type type)
{
	struct peali_record r;

	fuzz_take(in, &r, sizeof(r));
	r.magic = PEALI_RECORD_MAGIC;
	r.version = PEALI_RECORD_VERSION;
	r.type = (uint32_t)type;
	r.name[sizeof(r.name) - 1] = 0;
	r.text[sizeof(r.text) - 1] = 0;
	return r;
}

/* A record of rank 0 about a failure has a known error and a text. */
static inline void fuzz_check_refusal(const struct peali_record *r)
{
	FUZZ_CHECK(r->type == PEALI_RECORD_REFUSE);
	FUZZ_CHECK(strcmp(peal_error_name(r->error), "PEAL_E?"));
	FUZZ_CHECK(r->error < 0 && r->text[0]);
}

/* Writes bytes of the input to shared memory: 8 bytes for the place each. */
static inline void fuzz_write_shared(struct fuzz_input *in, uint8_t *shared,
				     uint64_t bytes)
{
	uint64_t place = fuzz_u64(in) % bytes, n = 1 + fuzz_u8(in) % 64;

	fuzz_take(in, shared + place, n < bytes - place ? n : bytes - place);
}

/* Maps the memory of a link; NULL: it is too large. */
static inline uint8_t *fuzz_map(int fd, uint64_t bytes)
{
	void *at;

	if (fd < 0 || !bytes || bytes > FUZZ_SHARED_BYTES)
		return NULL;
	at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	FUZZ_CHECK(at != MAP_FAILED);
	return at;
}

#endif
