/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Words in the array of a participant of a barrier. Each step is one byte: a
 * word to write, or a call.
 */
#include "fuzz/fuzz.h"

#include <peal/device/impl/queue/barrier_signal.h>
#include <peal/errors.h>

#define PARTICIPANTS 3
#define STEPS 64

struct group {
	uint64_t *words[PARTICIPANTS]; /* the array of each participant */
	uint64_t addresses[PARTICIPANTS];
	uint64_t *abort;
	struct peal_barrier_state state;
	struct peal_barrier_view view; /* of participant 0 */
};

static const size_t array_bytes =
	PARTICIPANTS * sizeof(struct peal_barrier_word);

static void *memory(size_t bytes)
{
	void *at = NULL;

	FUZZ_CHECK(!posix_memalign(&at, 128, bytes));
	return memset(at, 0, bytes);
}

static void open_group(struct group *g)
{
	int i;

	memset(g, 0, sizeof(*g));
	for (i = 0; i < PARTICIPANTS; i++) {
		g->words[i] = memory(array_bytes);
		g->addresses[i] = (uintptr_t)g->words[i];
	}
	g->abort = memory(sizeof(*g->abort));
	g->view.arrays = (uintptr_t)g->addresses;
	g->view.abort = (uintptr_t)g->abort;
	g->view.state = (uintptr_t)&g->state;
	g->view.participants = PARTICIPANTS;
}

static void close_group(struct group *g)
{
	int i;

	for (i = 0; i < PARTICIPANTS; i++)
		free(g->words[i]);
	free(g->abort);
}

FUZZ_TARGET(barrier)
{
	struct fuzz_input in = { data, size };
	struct group g;
	int step, result;
	uint8_t n;

	open_group(&g);
	for (step = 0; in.left && step < STEPS; step++) {
		n = fuzz_u8(&in);
		switch (n % 4) {
		case 0:
			g.words[0][n / 4 % (array_bytes / 8)] = fuzz_u64(&in);
			break;
		case 1:
			peal_barrier_signal(&g.view);
			break;
		case 2:
			*g.abort = n / 4;
			break;
		default:
			result = peal_barrier_test(&g.view);
			FUZZ_CHECK(!result ||
				   strcmp(peal_error_name(result), "PEAL_E?"));
		}
	}
	close_group(&g);
	return 0;
}
