/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A request of another process for a link, and the words that it writes to the
 * memory of this link. The input begins with the request, struct peali_record.
 */
#include "fuzz/peer_fixture.h"

#define STEPS 32

static void check_info(struct fuzz_peer *p, const struct peali_record *accept)
{
	struct peal_link *links[2];
	struct peal_link_info info;

	FUZZ_CHECK(peal_link_list(p->set->rt, links, 2) == 1);
	FUZZ_CHECK(!peal_link_info(links[0], &info));
	FUZZ_CHECK(info.capacity == accept->capacity);
	FUZZ_CHECK(strcmp(peal_error_name(info.error), "PEAL_E?"));
}

static void receive(struct fuzz_peer *p, const struct peali_record *accept)
{
	struct peal_received got;
	uint8_t *data = malloc(64);
	int result;

	FUZZ_CHECK(data);
	result = peal_receive(p->endpoint, data, 64, &got, 0);
	if (!result)
		FUZZ_CHECK(got.length <= 64 &&
			   got.length <= accept->message_bytes);
	else
		FUZZ_CHECK(strcmp(peal_error_name(result), "PEAL_E?"));
	free(data);
}

static void use_link(struct fuzz_peer *p, struct fuzz_input *in,
		     const struct peali_record *accept, int fd)
{
	uint8_t *shared = fuzz_map(fd, accept->memory_bytes);
	int step;

	for (step = 0; in->left && step < STEPS; step++)
		switch (fuzz_u8(in) % 4) {
		case 0:
		case 1:
			if (shared)
				fuzz_write_shared(in, shared,
						  accept->memory_bytes);
			break;
		case 2:
			receive(p, accept);
			break;
		default:
			check_info(p, accept);
		}
	if (shared)
		munmap(shared, accept->memory_bytes);
}

FUZZ_TARGET(connect)
{
	struct fuzz_input in = { data, size };
	struct peali_record request = fuzz_record(&in, PEALI_RECORD_CONNECT);
	struct fuzz_peer *p = fuzz_peer_open();
	struct peali_record answer;
	int fd = -1;

	peali_remote_answer(p->peer, &request);
	FUZZ_CHECK(fuzz_peer_receive(p, &answer, &fd));
	FUZZ_CHECK(answer.number == request.number);
	if (answer.type == PEALI_RECORD_ACCEPT)
		use_link(p, &in, &answer, fd);
	else
		fuzz_check_refusal(&answer);
	if (fd >= 0)
		close(fd);
	fuzz_peer_close(p);
	return 0;
}
