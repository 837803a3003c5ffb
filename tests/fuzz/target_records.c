/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records of another process. There is a link with number 7, and an open
 * request with number 9. The input is a row of records. In front of each is a
 * byte: 1 sends it cut, else its first words are right.
 */
#include "fuzz/peer_fixture.h"

#define RECORDS 16

static void make_link(struct fuzz_peer *p)
{
	struct peali_record r = peali_record(PEALI_RECORD_CONNECT);
	int fd = -1;

	r.number = 7;
	r.policies = ~0u;
	r.emits = 1;
	strcpy(r.name, "in");
	peali_remote_answer(p->peer, &r);
	FUZZ_CHECK(fuzz_peer_receive(p, &r, &fd) && fd >= 0);
	close(fd);
}

/* Sends a record, and lets the reader handle it. Returns 0 at the end. */
static int send_one(struct fuzz_peer *p, struct fuzz_input *in)
{
	int cut = fuzz_u8(in) == 1, result;
	struct peali_record r;
	size_t bytes = sizeof(r);

	fuzz_take(in, &r, sizeof(r));
	if (cut)
		bytes = r.number % sizeof(r);
	else
		r.magic = PEALI_RECORD_MAGIC;
	if (!cut)
		r.version = PEALI_RECORD_VERSION;
	FUZZ_CHECK(send(p->fd, &r, bytes, MSG_NOSIGNAL) == (ssize_t)bytes);
	result = peali_peer_read(p->peer);
	if (p->peer->state != PEAL_PROCESS_ALIVE) {
		FUZZ_CHECK(p->peer->error < 0 && p->peer->why[0]);
		FUZZ_CHECK(strlen(p->peer->why) < sizeof(p->peer->why));
	}
	return result > 0;
}

static void check_links(struct fuzz_peer *p)
{
	struct peal_link *links[8];
	struct peal_link_info info;
	int i, n = peal_link_list(p->set->rt, links, 8);

	for (i = 0; i < n; i++)
		FUZZ_CHECK(!peal_link_info(links[i], &info));
}

FUZZ_TARGET(records)
{
	struct fuzz_input in = { data, size };
	struct fuzz_peer *p = fuzz_peer_open();
	struct peali_question question = { .peer = p->peer,
					   .number = 9,
					   .fd = -1 };
	int i;

	make_link(p);
	p->set->questions = &question;
	for (i = 0; in.left && i < RECORDS; i++)
		if (!send_one(p, &in))
			break;
	check_links(p);
	p->set->questions = NULL;
	if (question.fd >= 0)
		close(question.fd);
	fuzz_peer_close(p);
	return 0;
}
