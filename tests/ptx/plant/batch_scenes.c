/* SPDX-License-Identifier: Apache-2.0 */
#include "plant.h"

#include <string.h>

#include "batch.h"
#include "item.h"
#include "tests/ptx/cost/scene.h"

/*
 * Scenes of batch handlers. The host sends messages to a worker by a link, several
 * at a time. The worker returns them by another link. All its actors share the
 * port. The host checks that each message comes once and in its order, and the
 * counts of both links.
 */

#define LANES 4
#define TWO_WARPS 40 /* lanes; these use no instructions of a warp */
#define SLOTS 8
#define MESSAGES 60
#define MOST_AT_ONCE 7 /* messages that the host sends in a step */
#define ACTORS 3 /* of `each` */

struct batch_scene {
	struct plant_run *run;
	struct scene kernel;
	struct peal_link_producer input;
	struct peal_link_consumer output;
	uint32_t actors;
	uint32_t sent, steps;
	uint32_t next; /* number of the next message from the worker */
	struct batch_state *states;
};

static void wrong(struct batch_scene *s, const char *text)
{
	plant_found(s->run, "content", "the host sees %s", text);
}

/* Returns the first number from `number` on that does not fail. */
static uint32_t next_good(uint32_t number)
{
	while (batch_fails(number))
		number++;
	return number;
}

static int send(struct batch_scene *s)
{
	uint32_t bytes = item_bytes(BATCH_SENDER, s->sent, BATCH_MOST);
	struct peal_header header = { s->sent % s->actors, (uint16_t)s->sent,
				      0 };
	struct item item;

	if (s->sent == MESSAGES)
		return 0;
	item_fill(item.word, BATCH_SENDER, s->sent, bytes);
	if (peal_link_push(&s->input, header, item.word, bytes))
		return 0;
	s->sent++;
	return 1;
}

static int receive(struct batch_scene *s)
{
	struct peal_message m;

	if (peal_link_peek(&s->output, &m)) {
		peal_link_flush_credit(&s->output);
		return 0;
	}
	s->next = next_good(s->next);
	if (!item_is(m.data, m.length, BATCH_SENDER, s->next) ||
	    m.header.type != (uint16_t)s->next)
		wrong(s, "a wrong message");
	s->next++;
	peal_link_release(&s->output, &m);
	return 1;
}

static int step(void *context)
{
	struct batch_scene *s = context;
	uint32_t n = 1 + s->steps++ * 5 % MOST_AT_ONCE;

	while (n-- && send(s))
		;
	while (receive(s))
		;
	if (s->sent == MESSAGES && next_good(s->next) >= MESSAGES)
		peal_store_release_sys(&s->kernel.control->stop,
				       PEAL_STOP_STOP);
	return !s->run->found;
}

/* Makes actors with a handler. They share the port. */
static void make_actors(struct batch_scene *s, enum batch_handler handler)
{
	struct peal_actor_entry *a = s->kernel.actor;
	uint32_t i;

	s->states =
		cost_alloc(PTX_MEMORY_GLOBAL, s->actors * sizeof(*s->states));
	for (i = 0; i < s->actors; i++) {
		a[i].location = PEAL_ENTRY(0, 0, handler);
		a[i].state = (uintptr_t)&s->states[i];
		a[i].ports = a[i].emits = 1;
		a[i].port_base = PEAL_PORTS_FIRST;
	}
}

static void check_end(struct batch_scene *s)
{
	const struct peal_link_counts *in = s->input.counts;
	uint64_t handled = 0, failed = 0;
	uint32_t i;

	for (i = 0; i < MESSAGES; i++)
		failed += (uint64_t)batch_fails(i);
	for (i = 0; i < s->actors; i++)
		handled += s->states[i].messages;
	if (handled != MESSAGES || s->kernel.status->handled != MESSAGES)
		wrong(s, "a message that no handler got");
	if (in->dead[PEAL_REASON_HANDLER] != failed ||
	    in->delivered != MESSAGES - failed ||
	    s->output.counts->accepted != MESSAGES - failed ||
	    s->output.counts->accepted_bytes != s->output.delivered_bytes)
		wrong(s, "wrong counts of a link");
	if (s->kernel.status->phase != PEAL_WORKER_STOPPED)
		wrong(s, "a wrong last phase");
}

static void run_batches(struct plant_run *run, enum batch_handler handler,
			uint32_t actors, uint32_t lanes)
{
	const enum ptx_memory memory =
		run->options.seed % 2 ? PTX_MEMORY_HOST : PTX_MEMORY_GLOBAL;
	struct batch_scene s = { .run = run, .actors = actors };
	uint64_t params;
	struct plant_grid grid = { .entry = "peal_entry_plant_batch",
				   .params = &params,
				   .blocks = 1,
				   .lanes = lanes };

	s.kernel.workers = 1;
	s.kernel.lanes = lanes;
	s.kernel.slots = SLOTS;
	s.kernel.message_bytes = BATCH_MOST;
	s.kernel.actors = actors;
	s.kernel.putters = 1;
	scene_make(&s.kernel);
	make_actors(&s, handler);
	s.input = scene_input(&s.kernel, 0, memory);
	s.output = scene_output(&s.kernel, 0, memory);
	params = (uintptr_t)s.kernel.params;
	grid.shared_bytes = s.kernel.params->hot_bytes;
	plant_run_grids(run, &grid, 1, step, &s);
	if (!run->found)
		check_end(&s);
}

static void batches_shared(struct plant_run *run)
{
	run_batches(run, BATCH_SHARED, 1, LANES);
}

static void batches_each(struct plant_run *run)
{
	run_batches(run, BATCH_EACH, ACTORS, LANES);
}

static void batches_of_two_warps(struct plant_run *run)
{
	run_batches(run, run->options.seed % 4 < 2 ? BATCH_SHARED : BATCH_EACH,
		    run->options.seed % 4 < 2 ? 1 : ACTORS, TWO_WARPS);
}

const struct plant_scene plant_batch_scenes[] = {
	{ "batches for one actor", "batch", batches_shared },
	{ "batches for several actors", "batch", batches_each },
	{ "batches of two warps", "batch", batches_of_two_warps },
};
const uint32_t plant_n_batch_scenes =
	sizeof(plant_batch_scenes) / sizeof(*plant_batch_scenes);
