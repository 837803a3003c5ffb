/* SPDX-License-Identifier: Apache-2.0 */
/* labels: double */
/*
 * Shows that copies beside a kernel that fills the device end. HIP copies small
 * pieces by kernels, unless variables of the driver forbid it. Peal sets them.
 * The double reads them when it is loaded, so each case has a process of its
 * own.
 */
#include <signal.h>

#include <peal/memory.h>
#include <peal/peer.h>
#include "fault/own_process.h"
#include "runtime/harness.h"

#define LIMIT "GPU_FORCE_BLIT_COPY_SIZE"

static int is_hip(void)
{
	return !strcmp(getenv("PEAL_BACKENDS"), "hip");
}

/* Copies a word and back while no multiprocessor has space. */
static void copy_beside_full_device(void)
{
	struct peal_kernel_options o = { .size = sizeof(o),
					 .workers = 2,
					 .lanes = 1024 };
	struct peal_kernel *k = NULL;
	uint64_t address = 0, word = 7, back = 0;
	struct peal_runtime *rt;

	setenv("PEAL_DOUBLE_UNITS", "1", 1);
	setenv("PEAL_GPU_MEMORY", "32M", 1);
	setenv("PEAL_PINNED_MEMORY", "32M", 1);
	rt = harness_open(1, "");
	CHECK_OK(peal_memory_alloc(rt, 0, sizeof(word), &address));
	CHECK_OK(peal_kernel_launch(rt, 0, &peal_program_relay, &o, &k));
	CHECK_OK(peal_peer_copy(rt, 0, address, PEAL_HOST_MEMORY,
				(uintptr_t)&word, sizeof(word)));
	CHECK_OK(peal_peer_copy(rt, PEAL_HOST_MEMORY, (uintptr_t)&back, 0,
				address, sizeof(word)));
	CHECK_EQ(back, 7);
	CHECK_OK(peal_memory_free(rt, 0, address));
	CHECK_OK(peal_runtime_shutdown(rt));
}

PEAL_TEST(copies_need_no_space_beside_kernels)
{
	char text[1024];

	unsetenv(LIMIT);
	CHECK_EQ(own_process(copy_beside_full_device, text, sizeof(text)), 0);
}

/* The negative control: the user wants kernels that copy. */
PEAL_TEST(limit_that_the_user_sets_is_kept)
{
	char text[1024];
	int status;

	setenv(LIMIT, "16", 1);
	status = own_process(copy_beside_full_device, text, sizeof(text));
	unsetenv(LIMIT);
	if (!is_hip()) {
		CHECK_EQ(status, 0);
		return;
	}
	CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
	CHECK_CONTAINS(text, "a copy of 8 bytes waits for resident kernels");
}

PEAL_TEST_MAIN(RUN(copies_need_no_space_beside_kernels);
	       RUN(limit_that_the_user_sets_is_kept);)
