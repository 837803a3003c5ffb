/* SPDX-License-Identifier: Apache-2.0 */
/* Dead letters that a full link has lost must be in the log. */
#include <peal/dead_letter.h>
#include <stdlib.h>
#include <unistd.h>

#include "runtime/harness.h"

/* Closes a runtime. The result is its log, which the caller frees. */
static char *log_of_shutdown(struct peal_runtime *rt)
{
	char path[] = "/tmp/peal-letters-XXXXXX";
	int saved = dup(STDERR_FILENO), file = mkstemp(path);
	char *text = calloc(1, 4096);

	CHECK(saved >= 0 && file >= 0 && text);
	unlink(path);
	dup2(file, STDERR_FILENO);
	setenv("PEAL_LOG", "1", 1);
	peal_runtime_shutdown(rt);
	unsetenv("PEAL_LOG");
	dup2(saved, STDERR_FILENO);
	CHECK(pread(file, text, 4095, 0) >= 0);
	close(saved);
	close(file);
	return text;
}

/* Lets n messages die, with 3 slots for their letters. */
static char *log_of(uint64_t n, uint64_t lost)
{
	struct peal_runtime *rt = harness_open(1, "");
	struct peal_endpoint *e = harness_endpoint(rt);
	struct peal_endpoint *out = harness_endpoint(rt);
	struct peal_kernel *k = harness_launch(rt, 0);
	uint64_t actor = harness_spawn(k, "moody", 0);
	struct peal_link_options in = { .capacity = 64 };
	uint64_t i;
	struct peal_link_options four = { .size = sizeof(four), .capacity = 4 };

	harness_from(rt, e, 0, actor, in);
	CHECK_OK(
		peal_dead_letter_connect(k, peal_endpoint_address(out), &four));
	for (i = 0; i < n; i++) /* the handler fails on type 1 */
		CHECK_OK(peal_send(e, 0, 1, &i, sizeof(i), MAX_WAIT, NULL));
	EVENTUALLY(harness_info(harness_letters(rt, k, 0)).accepted ==
		   n - lost);
	EVENTUALLY(
		harness_info(harness_letters(rt, k, 0)).dead_letters_dropped ==
		lost);
	CHECK_OK(peal_kernel_stop(k, MAX_WAIT));
	return log_of_shutdown(rt);
}

PEAL_TEST(lost_letters_are_in_the_log_with_their_number)
{
	char *text = log_of(20, 17);

	CHECK_CONTAINS(text, " lost 17 dead letters of worker 0 of its kernel");
	CHECK_CONTAINS(text, "raise option capacity of "
			     "peal_dead_letter_connect\n");
	free(text);
	text = log_of(3, 0);
	CHECK(!strstr(text, "dead letters"));
	free(text);
}

PEAL_TEST_MAIN(RUN(lost_letters_are_in_the_log_with_their_number);)
