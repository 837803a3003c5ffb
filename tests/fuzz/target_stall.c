/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sockets of `peal doctor --stall`. The first byte selects the side: the
 * rest is a question to a runtime, or the answer of a runtime.
 */
#include "fuzz/runtime_fixture.h"

#include <sys/socket.h>
#include <unistd.h>

#include "runtime/cli/doctor.h"
#include "runtime/observe/stall.h"

/* Each cause that the caller receives has to be printable. */
static void check_causes(struct peal_stall *causes, int n)
{
	json_t *row;
	int i;

	FUZZ_CHECK(n <= PEAL_STALL_CAUSES_MAX);
	for (i = 0; i < n; i++) {
		FUZZ_CHECK(memchr(causes[i].text, 0, sizeof(causes[i].text)));
		FUZZ_CHECK(causes[i].device >= -1);
		FUZZ_CHECK(peal_stall_cause_name(
				   (uint32_t)causes[i].cause)[0] != '?');
		row = json_object();
		peali_doctor_cause(row, &causes[i]);
		json_decref(row);
	}
}

static void ask(int fd)
{
	struct peal_stall *causes =
		calloc(PEAL_STALL_CAUSES_MAX, sizeof(*causes));
	int n;

	FUZZ_CHECK(causes);
	n = peali_stall_ask(fd, (int)getpid(), 1, causes);
	if (n < 0)
		FUZZ_CHECK(strcmp(peal_error_name(n), "PEAL_E?") &&
			   peal_last_error()->text[0]);
	else
		check_causes(causes, n);
	free(causes);
}

FUZZ_TARGET(stall)
{
	struct fuzz_input in = { data, size };
	int asks = fuzz_u8(&in) % 2, fds[2];
	char answer[16];
	uint64_t watch = 0;

	if (in.left >= 16)
		memcpy(&watch, in.at + 8, sizeof(watch));
	/* a valid question may ask for a long watch */
	if (!asks && watch > 100000 && watch <= 10000000000ULL)
		return 0;
	FUZZ_CHECK(!socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds));
	if (in.left)
		send(fds[1], in.at, in.left, MSG_NOSIGNAL | MSG_DONTWAIT);
	shutdown(fds[1], SHUT_WR);
	if (asks)
		ask(fds[0]);
	else
		peali_stall_answer(fuzz_runtime(), fds[0], NULL);
	close(fds[0]);
	while (read(fds[1], answer, sizeof(answer)) > 0)
		;
	close(fds[1]);
	return 0;
}
