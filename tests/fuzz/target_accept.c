/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The answer of another process to a request for a link. Then the words that
 * the process writes to the memory of this link. The first byte selects the
 * descriptor that comes with the answer. The answer follows, struct
 * peali_record.
 */
#include "fuzz/peer_fixture.h"

#include <fcntl.h>

#define STEPS 32

struct answer {
	struct fuzz_peer *p;
	struct peali_record record;
	int fd; /* -1: none */
	int answered; /* 0: the call sent no request */
};

/* Makes memory for the answer. Its size and its seals may be wrong. */
static int make_memory(uint8_t choice, uint64_t bytes)
{
	int fd = memfd_create("fuzz", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	FUZZ_CHECK(fd >= 0);
	if (bytes > FUZZ_SHARED_BYTES)
		bytes = FUZZ_SHARED_BYTES;
	FUZZ_CHECK(!ftruncate(fd, (off_t)(choice & 2 ? bytes / 2 : bytes)));
	if (!(choice & 4))
		FUZZ_CHECK(!fcntl(fd, F_ADD_SEALS,
				  F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL));
	return fd;
}

/* The thread of rank 1. It also reads the answer in rank 0. */
static void *answer_request(void *argument)
{
	struct answer *a = argument;
	struct peali_record request;
	struct peali_peer from = { .fd = a->p->fd };

	if (recv(a->p->fd, &request, sizeof(request), 0) != sizeof(request))
		return NULL;
	a->answered = 1;
	a->record.number = request.number;
	peali_peer_send(&from, &a->record, a->fd);
	peali_peer_read(a->p->peer);
	return NULL;
}

static void use_link(struct fuzz_peer *p, struct fuzz_input *in,
		     struct peal_link *link, const struct answer *a)
{
	uint64_t bytes = a->record.memory_bytes;
	uint8_t *shared = fuzz_map(a->fd, bytes);
	static const uint8_t data[48];
	struct peal_link_info info;
	int step, result;

	for (step = 0; in->left && step < STEPS; step++) {
		if (fuzz_u8(in) % 2 && shared) {
			fuzz_write_shared(in, shared, bytes);
			continue;
		}
		result = peal_send(p->endpoint, 0, 1, data,
				   fuzz_u8(in) % sizeof(data), 0, NULL);
		FUZZ_CHECK(strcmp(peal_error_name(result), "PEAL_E?"));
		FUZZ_CHECK(!peal_link_info(link, &info));
	}
	if (shared)
		munmap(shared, bytes);
}

FUZZ_TARGET(accept)
{
	struct fuzz_input in = { data, size };
	uint8_t choice = fuzz_u8(&in);
	struct answer a = { .p = fuzz_peer_open(), .fd = -1 };
	struct peal_link *link = NULL;
	pthread_t thread;
	int result;

	a.record = fuzz_record(&in, choice & 8 ? PEALI_RECORD_REFUSE :
						 PEALI_RECORD_ACCEPT);
	if (!(choice & 1))
		a.fd = make_memory(choice, a.record.memory_bytes);
	FUZZ_CHECK(!pthread_create(&thread, NULL, answer_request, &a));
	result = peal_process_connect(a.p->set, 1, "out",
				      peal_endpoint_address(a.p->endpoint), 0,
				      NULL, 0, &link);
	pthread_join(thread, NULL);
	FUZZ_CHECK(a.answered);
	if (!result) {
		use_link(a.p, &in, link, &a);
	} else {
		FUZZ_CHECK(strcmp(peal_error_name(result), "PEAL_E?"));
		FUZZ_CHECK(strstr(peal_last_error()->text, "rank 1"));
	}
	if (a.fd >= 0)
		close(a.fd);
	fuzz_peer_close(a.p);
	return 0;
}
