/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rendezvous file of a group of four processes. The bytes behind a 0 are
 * the HELLO of a new connection.
 */
#include "fuzz/fuzz.h"

#include <peal/errors.h>

#include "runtime/ipc/process_group.h"
#include "runtime/ipc/rendezvous.h"

/* Writes the file as the processes do. */
static void print(const struct peali_rendezvous *r, char *text, size_t bytes)
{
	size_t n = (size_t)snprintf(
		text, bytes,
		"peal-rendezvous %d %s ranks %u uid %u namespaces %llu %llu "
		"%llu\n",
		PEALI_RENDEZVOUS_VERSION, r->id, r->ranks, r->uid,
		(unsigned long long)r->spaces.pid,
		(unsigned long long)r->spaces.time,
		(unsigned long long)r->spaces.net);
	uint32_t rank;

	for (rank = 0; rank < r->ranks; rank++)
		if (r->member[rank].pid)
			n += (size_t)snprintf(
				text + n, bytes - n,
				"rank %u pid %d start %llu socket @peal-%s-%u\n",
				rank, r->member[rank].pid,
				(unsigned long long)r->member[rank].start,
				r->id, rank);
}

/* A file with lines in another order than the ranks has an equal length. */
static void check_text(const struct peali_rendezvous *r, const char *text)
{
	char again[2048];

	print(r, again, sizeof(again));
	FUZZ_CHECK(strlen(text) == strlen(again));
	FUZZ_CHECK(!strncmp(text, again, strcspn(again, "\n")));
}

static void check_hello(struct fuzz_input *in, const struct peali_rendezvous *r)
{
	struct peali_record hello;
	size_t bytes = in->left;

	fuzz_take(in, &hello, sizeof(hello));
	if (peali_is_hello(&hello, (ssize_t)bytes, r))
		FUZZ_CHECK(bytes == sizeof(hello) && hello.rank < r->ranks);
}

FUZZ_TARGET(rendezvous)
{
	static const struct peali_launcher_env env = { .ranks = 4,
						       .path = "/tmp/meet" };
	const uint8_t *end = size ? memchr(data, 0, size) : NULL;
	size_t n = end ? (size_t)(end - data) : size;
	struct fuzz_input in = { data + n, size - n };
	char *text = fuzz_text(data, n), *copy = fuzz_text(data, n);
	struct peali_rendezvous r;
	int result = peali_rendezvous_parse(&env, text, &r);

	if (result) {
		FUZZ_CHECK(result == PEAL_EPROTO);
		FUZZ_CHECK(strstr(peal_last_error()->text, env.path));
	} else {
		FUZZ_CHECK(r.ranks == 4 && r.here >= 1 && r.here <= 4);
		FUZZ_CHECK(r.member[0].pid > 0);
		check_text(&r, copy);
		if (end)
			fuzz_u8(&in);
		check_hello(&in, &r);
	}
	free(copy);
	free(text);
	return 0;
}
