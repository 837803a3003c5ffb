/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Windows that another process announces. The first byte is their number. For
 * each there is a byte and a record: an even byte makes the record a WINDOW.
 */
#include "fuzz/peer_fixture.h"

#define WINDOWS 8

static void send_windows(struct fuzz_peer *p, struct fuzz_input *in, uint32_t n)
{
	struct peali_record r;
	uint32_t i;
	uint8_t as_is;

	for (i = 0; i < n && in->left; i++) {
		as_is = fuzz_u8(in) % 2;
		if (as_is)
			fuzz_take(in, &r, sizeof(r));
		else
			r = fuzz_record(in, PEALI_RECORD_WINDOW);
		FUZZ_CHECK(send(p->fd, &r, sizeof(r), MSG_NOSIGNAL) ==
			   sizeof(r));
	}
	shutdown(p->fd, SHUT_WR);
}

FUZZ_TARGET(windows)
{
	struct fuzz_input in = { data, size };
	struct fuzz_peer *p = fuzz_peer_open();
	uint32_t n = fuzz_u8(&in) % WINDOWS, i;
	int result;

	send_windows(p, &in, n);
	p->peer->n_windows = n;
	result = peali_windows_swap(p->set, 0);
	if (result)
		FUZZ_CHECK(result == PEAL_EPROTO || result == PEAL_EDIED);
	if (result)
		FUZZ_CHECK(strstr(peal_last_error()->text, "rank 1"));
	/* emulated devices have no windows, so no device sees one */
	for (i = 0; i < WINDOWS; i++)
		FUZZ_CHECK(!peali_window_remote(p->peer, i, 0, 0, 64));
	FUZZ_CHECK(!peali_windows_seen(p->peer, 0));
	peali_windows_close(p->set);
	fuzz_peer_close(p);
	return 0;
}
