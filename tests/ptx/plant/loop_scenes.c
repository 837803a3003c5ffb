/* SPDX-License-Identifier: Apache-2.0 */
#include "plant.h"

#include <string.h>

#include <peal/abi/event.h>

#include "item.h"
#include "loop.h"
#include "tests/ptx/cost/scene.h"

/*
 * Scenes of the resident loop. The host sends messages to worker 0 by a link.
 * Worker 0 tells them to worker 1, and worker 1 emits them to the host. The host suspends,
 * resumes and ends the kernel, and checks the words that the workers publish.
 */

#define LANES 4
#define LANES_OF_TWO_WARPS 36
#define WORKERS 2
#define SLOTS 16
#define MESSAGES 24
#define MANY 120 /* of a busy worker, which looks at the control words then */
#define STOP_BEFORE 20 /* messages that a stop may lose */
#define EVERY 5 /* messages between two requests of the host */
#define LEASE_STEPS 3 /* steps of the host between two changes of the lease */
/* Bits of the seed. A change of the lease or a control message brings orders that
 * could hide the lack of others. */
#define BUSY 4 /* one of so many seeds has busy workers, and neither of these */
#define WITH_LEASE 1
#define WITH_CONTROL 2
#define EPOCH_NS 4000 /* 40 reads of the clock */
#define CLOCK_STORES 7 /* of a publication, and some without a store */

enum loop_end { END_STOP, END_DRAIN };

struct loop_scene {
	struct plant_run *run;
	struct scene kernel;
	struct peal_link_producer input;
	struct peal_link_consumer output;
	enum loop_end end;
	uint32_t messages;
	uint32_t sent, received;
	uint32_t asked; /* requests of the host */
	uint64_t phases[WORKERS]; /* as seen last */
	uint64_t *state; /* of actor 0: the number, or whether a lane waits */
	uint64_t controls; /* control messages to worker 0 */
	uint32_t steps, stores; /* stores: of clocks */
	uint64_t lease_at; /* the device's clock at the change of the lease */
	int closed, ended; /* the input, the output */
};

static void wrong(struct loop_scene *s, const char *text)
{
	plant_found(s->run, "content", "the host sees %s", text);
}

static uint64_t look(const uint64_t *word)
{
	return peal_load_acquire_sys(word);
}

static void set(uint64_t *word, uint64_t value)
{
	peal_store_release_sys(word, value);
}

/* Takes a message or a mark. Returns 1 if there was one. */
static int receive(struct loop_scene *s)
{
	struct peal_message m;

	if (peal_link_peek(&s->output, &m)) {
		peal_link_flush_credit(&s->output);
		return 0;
	}
	if (peali_kind_is_mark(m.kind)) {
		s->ended = 1;
		peal_link_release_mark(&s->output, m.kind);
		return 1;
	}
	if (!item_is(m.data, m.length, LOOP_SENDER, s->received))
		wrong(s, "a wrong message");
	s->received++;
	peal_link_release(&s->output, &m);
	return 1;
}

/* ---- requests of the host ------------------------------------------------ */

static uint32_t n_in(const struct loop_scene *s, uint64_t phase)
{
	uint32_t i, n = 0;

	for (i = 0; i < WORKERS; i++)
		n += look(&s->kernel.status[i].phase) == phase;
	return n;
}

static int all_in(const struct loop_scene *s, uint64_t phase)
{
	return n_in(s, phase) == WORKERS;
}

/* Checks a worker that handles nothing: its phase says so. Its counters are those
 * of the links. All messages that worker 1 has emitted have arrived. */
static void check_counters(struct loop_scene *s, uint32_t worker)
{
	const struct peal_worker_status *status = &s->kernel.status[worker];

	while (worker == 1 && receive(s))
		;
	if (worker == 0 && status->handled != s->input.counts->delivered)
		wrong(s, "old counters of worker 0");
	if (worker == 1 &&
	    (status->handled != s->received || status->emitted != s->received ||
	     s->output.counts->accepted != s->received))
		wrong(s, "old counters of worker 1");
}

/* Checks each worker as soon as it says that it handles nothing. */
static void check_phases(struct loop_scene *s)
{
	uint32_t i;

	for (i = 0; i < WORKERS; i++) {
		uint64_t phase = look(&s->kernel.status[i].phase);

		if (phase != s->phases[i] && phase > PEAL_WORKER_RUNNING)
			check_counters(s, i);
		s->phases[i] = phase;
	}
}

/* Makes store i of a publication of the clock, as runtime/kernel/clock.c. */
static void store_clock(struct peal_kernel_control *c, uint32_t i)
{
	uint64_t turn = c->clock_turn / 2 * 2 + 2;
	struct {
		uint64_t *word, value;
	} const stores[] = {
		{ &c->clock_turn, turn - 1 },
		{ &c->clock_at, LOOP_CLOCK_AT(turn) },
		{ &c->clock_low, LOOP_CLOCK_LOW(turn) },
		{ &c->clock_high, LOOP_CLOCK_HIGH(turn) },
		{ &c->clock_turn, turn },
	};

	if (i < sizeof(stores) / sizeof(*stores))
		set(stores[i].word, stores[i].value);
}

/* Goes on with publications. Makes one store, or several at once. */
static void publish_clock(struct loop_scene *s)
{
	uint32_t n = s->steps % 5 ? 1 : 4;

	while (n--)
		store_clock(s->kernel.control, s->stores++ % CLOCK_STORES);
}

static void check_clock(struct loop_scene *s)
{
	const struct peal_kernel_control *c = s->kernel.control;
	uint32_t i;

	for (i = 0; s->lease_at && i < WORKERS; i++)
		if (look(&s->kernel.status[i].clock_seen) == c->lease &&
		    s->kernel.status[i].clock_first <= s->lease_at)
			wrong(s, "a clock from before the lease");
}

/* The worker takes the bounds when the lease changes. */
static void change_lease(struct loop_scene *s)
{
	check_clock(s);
	publish_clock(s);
	if (++s->steps % LEASE_STEPS)
		return;
	s->lease_at = s->run->clock;
	set(&s->kernel.control->lease, s->kernel.control->lease + 1);
}

/* Sends a control message that the worker refuses. */
static void send_wrong_control(struct loop_scene *s)
{
	uint64_t none = 0;

	scene_control(&s->kernel, 0, 999, &none, sizeof(none));
	s->controls++;
}

static void check_control(struct loop_scene *s)
{
	const struct peal_worker_status *status = s->kernel.status;
	uint64_t done = look(&status->control_done);

	if (s->controls > 1 && done >= s->controls &&
	    peal_load_relaxed_sys(&status->control_result) >> 16 != done)
		wrong(s, "no result of a control message");
}

/* ---- messages ------------------------------------------------------------ */

static void send(struct loop_scene *s)
{
	uint32_t bytes = item_bytes(LOOP_SENDER, s->sent, LOOP_MOST);
	struct item item;

	if (s->sent == s->messages && s->kernel.control->suspend)
		return; /* a worker that ends is never suspended */
	if (s->sent == s->messages) {
		set(&s->kernel.control->drain,
		    s->end == END_DRAIN ? PEAL_DRAIN_INPUTS : 0);
		s->closed |= s->end == END_DRAIN &&
			     !peal_link_push_mark(&s->input, PEAL_KIND_END);
		return;
	}
	item_fill(item.word, LOOP_SENDER, s->sent, bytes);
	if (!peal_link_push(&s->input,
			    (struct peal_header){ 0, (uint16_t)s->asked, 0 },
			    item.word, bytes))
		s->sent++;
}

/* Suspends the workers, checks their words, and resumes them. Returns 1 while
 * the request is open. */
static int suspend(struct loop_scene *s)
{
	struct peal_kernel_control *c = s->kernel.control;

	if (c->suspend) {
		if (!all_in(s, PEAL_WORKER_SUSPENDED))
			return s->messages < MANY; /* else goes on to send */
		*s->state = ++s->asked;
		set(&c->suspend, 0);
		return 1;
	}
	if (s->received >= (s->asked + 1) * EVERY && s->sent < s->messages &&
	    all_in(s, PEAL_WORKER_RUNNING)) {
		set(&c->suspend, 1);
		if (s->run->options.seed & WITH_CONTROL)
			send_wrong_control(s);
		return 1;
	}
	return 0;
}

static int step(void *context)
{
	struct loop_scene *s = context;

	check_control(s);
	if (s->run->options.seed & WITH_LEASE)
		change_lease(s);
	check_phases(s);
	if (!suspend(s)) {
		send(s);
		receive(s);
	}
	if (s->end == END_STOP && s->received >= s->messages - STOP_BEFORE)
		set(&s->kernel.control->stop, PEAL_STOP_STOP);
	return !s->run->found;
}

/* ---- the kernel ---------------------------------------------------------- */

static void make_kernel(struct loop_scene *s, struct plant_run *run)
{
	memset(s, 0, sizeof(*s));
	s->run = run;
	s->kernel.workers = WORKERS;
	s->kernel.lanes = run->options.seed % 4 == 2 ? LANES_OF_TWO_WARPS :
						       LANES;
	s->kernel.slots = SLOTS;
	s->kernel.message_bytes = LOOP_MOST;
	s->kernel.actors = 2;
	s->kernel.putters = WORKERS;
	s->kernel.barriers = 1;
	scene_make(&s->kernel);
	if (s->run->options.seed % 2) /* the tables stay in device memory */
		s->kernel.params->hot_bytes = 0;
}

static void run_kernel(struct loop_scene *s, int (*host)(void *context))
{
	uint64_t params = (uintptr_t)s->kernel.params;
	const struct plant_grid grid = { .entry = "peal_entry_plant",
					 .params = &params,
					 .blocks = WORKERS,
					 .lanes = s->kernel.lanes,
					 .shared_bytes =
						 s->kernel.params->hot_bytes };

	plant_run_grids(s->run, &grid, 1, host, s);
}

/* Runs the kernel, and again after each epoch. A suspended worker stays suspended
 * over the epoch. */
static void run_epochs(struct loop_scene *s)
{
	do {
		run_kernel(s, step);
		check_phases(s);
	} while (!s->run->found && (n_in(s, PEAL_WORKER_EPOCH) ||
				    n_in(s, PEAL_WORKER_SUSPENDED)));
}

/* epoch_ns: 0: no epochs. */
static void relay(struct plant_run *run, enum loop_end end, uint64_t epoch_ns)
{
	struct loop_scene s;
	struct peal_actor_entry *actors;

	make_kernel(&s, run);
	s.kernel.params->epoch_ns = epoch_ns;
	s.end = end;
	s.messages = run->options.seed % BUSY ? MESSAGES : MANY;
	actors = s.kernel.actor;
	actors[0].location = PEAL_ENTRY(0, 0, LOOP_RELAY);
	actors[0].tells = 1;
	s.state = cost_alloc(PTX_MEMORY_GLOBAL, sizeof(*s.state));
	actors[0].state = (uintptr_t)s.state;
	actors[LOOP_NEXT].location = PEAL_ENTRY(0, 1, LOOP_FINISH);
	actors[LOOP_NEXT].ports = actors[LOOP_NEXT].emits = 1;
	actors[LOOP_NEXT].port_base = PEAL_PORTS_FIRST;
	s.input = scene_input(&s.kernel, 0, PTX_MEMORY_HOST);
	s.output = scene_output(&s.kernel, 1, PTX_MEMORY_HOST);
	s.controls = 1;
	run_epochs(&s);
	while (!run->found && receive(&s))
		;
	if (s.received != s.messages && end == END_DRAIN)
		plant_found(run, "content", "the host gets %u of %u messages",
			    s.received, s.messages);
	if (!all_in(&s, end == END_STOP ? PEAL_WORKER_STOPPED :
					  PEAL_WORKER_DRAINED))
		wrong(&s, "a wrong last phase");
	check_counters(&s, 0);
	check_counters(&s, 1);
}

static void loop_stops(struct plant_run *run)
{
	relay(run, END_STOP, 0);
}

static void loop_drains(struct plant_run *run)
{
	relay(run, END_DRAIN, 0);
}

static void loop_epochs(struct plant_run *run)
{
	relay(run, END_DRAIN, EPOCH_NS);
}

/* ---- barrier and event in handlers --------------------------------------- */

#define MEETINGS 8

struct meet_scene {
	struct loop_scene loop;
	struct peal_link_producer inputs[WORKERS];
	uint64_t words, event;
	uint64_t sent[WORKERS];
	struct peal_event_cell cell; /* as read last */
};

static void make_barrier(struct meet_scene *s)
{
	uint64_t *arrays =
		cost_alloc(PTX_MEMORY_GLOBAL, WORKERS * sizeof(*arrays));
	uint64_t stop = (uintptr_t)cost_alloc(PTX_MEMORY_HOST, 8);
	uint32_t i;

	for (i = 0; i < WORKERS; i++) {
		struct peal_barrier_view view = { .arrays = (uintptr_t)arrays,
						  .abort = stop,
						  .participants = WORKERS,
						  .self = i };

		arrays[i] = (uintptr_t)cost_alloc(
			PTX_MEMORY_GLOBAL,
			WORKERS * sizeof(struct peal_barrier_word));
		view.state = (uintptr_t)cost_alloc(
			PTX_MEMORY_GLOBAL, sizeof(struct peal_barrier_state));
		scene_control(&s->loop.kernel, i, PEAL_CONTROL_BARRIER, &view,
			      sizeof(view));
	}
}

static void make_event(struct meet_scene *s)
{
	struct peal_event_record *r = cost_alloc(PTX_MEMORY_GLOBAL, sizeof(*r));

	r->n_cells = 2;
	r->cell[0] = (uintptr_t)cost_alloc(PTX_MEMORY_HOST,
					   sizeof(struct peal_event_cell));
	r->cell[1] = (uintptr_t)&r->own;
	s->event = (uintptr_t)r;
}

/* Reads the host's cell as runtime/collective/event.c. All reads of a count find
 * equal times. */
static void check_cell(struct meet_scene *s)
{
	const struct peal_event_record *r =
		(const struct peal_event_record *)(uintptr_t)s->event;
	const struct peal_event_cell *c =
		(const struct peal_event_cell *)(uintptr_t)r->cell[0];
	struct peal_event_cell now = { .count = look(&c->count) };

	now.device_ns = look(&c->device_ns);
	now.host_ns = look(&c->host_ns);
	now.uncertainty_ns = look(&c->uncertainty_ns);
	now.begun = peal_load_relaxed_sys(&c->begun);
	if (now.begun != now.count)
		return;
	if (now.count == s->cell.count &&
	    memcmp(&now, &s->cell, sizeof(now)) != 0)
		wrong(&s->loop, "two times of a record");
	s->cell = now;
}

static int meet_step(void *context)
{
	struct meet_scene *s = context;
	struct peal_worker_status *status = s->loop.kernel.status;
	uint32_t i;

	check_cell(s);
	if (s->loop.run->options.seed & WITH_LEASE)
		change_lease(&s->loop);
	for (i = 0; i < WORKERS; i++) {
		struct loop_meeting m = { s->sent[i], i, s->words, s->event };

		if (s->sent[i] < MEETINGS &&
		    !peal_link_push(&s->inputs[i],
				    (struct peal_header){ i, 7, 0 }, &m,
				    sizeof(m)))
			s->sent[i]++;
	}
	if (look(&status[0].handled) == MEETINGS &&
	    look(&status[1].handled) == MEETINGS)
		set(&s->loop.kernel.control->stop, PEAL_STOP_STOP);
	return !s->loop.run->found;
}

static void loop_meets(struct plant_run *run)
{
	struct meet_scene s;
	uint32_t i;

	memset(&s, 0, sizeof(s));
	make_kernel(&s.loop, run);
	s.words = (uintptr_t)cost_alloc(PTX_MEMORY_GLOBAL, 32);
	make_barrier(&s);
	make_event(&s);
	for (i = 0; i < WORKERS; i++) {
		s.loop.kernel.actor[i].location = PEAL_ENTRY(0, i, LOOP_MEET);
		s.inputs[i] = scene_input(&s.loop.kernel, i, PTX_MEMORY_HOST);
	}
	run_kernel(&s.loop, meet_step);
	if (!run->found && !all_in(&s.loop, PEAL_WORKER_STOPPED))
		wrong(&s.loop, "a wrong last phase");
}

/* ---- actors that the host makes ------------------------------------------ */

#define SPAWNS 6 /* times that two actors are made */
#define ACTORS 2

enum spawn_step {
	SPAWN_MAKE,
	SPAWN_TELL,
	SPAWN_END,
	SPAWN_AWAIT,
	SPAWN_SUSPEND /* the host writes the states of suspended workers */
};

struct spawn_scene {
	struct loop_scene loop;
	enum spawn_step step;
	uint64_t number;
	uint64_t *states; /* LOOP_STATE_WORDS of each actor */
	uint32_t told; /* messages of this number */
};

static struct peal_control_spawn spawn_of(const struct spawn_scene *s)
{
	struct peal_control_spawn c = {
		.entry = { .state = (uintptr_t)s->states,
			   .location = PEAL_ENTRY(0, 0, LOOP_STATE),
			   .state_bytes = 8 * LOOP_STATE_WORDS },
		.count = ACTORS,
		.state_step = 8 * LOOP_STATE_WORDS,
		.init_bytes = s->number % 4 ? PEAL_CONTROL_WRITTEN :
					      8 * LOOP_STATE_INIT,
	};
	uint64_t init[LOOP_STATE_INIT];
	uint32_t i;

	for (i = 0; i < LOOP_STATE_INIT; i++)
		init[i] = LOOP_STATE_WORD(s->number, i);
	memcpy(c.init, init, sizeof(init));
	return c;
}

static void control_actors(struct spawn_scene *s, uint16_t type)
{
	struct peal_control_spawn c = spawn_of(s);

	scene_control(&s->loop.kernel, 0, type, &c, sizeof(c));
	s->loop.controls++;
}

static void write_states(struct spawn_scene *s)
{
	uint64_t i;

	for (i = 0; i < ACTORS * LOOP_STATE_WORDS; i++)
		s->states[i] = LOOP_STATE_WORD(s->number, i % LOOP_STATE_WORDS);
}

/* Returns 1 if all actors have got the number. */
static int tell_actors(struct spawn_scene *s)
{
	const struct peal_header header = { s->told, 7, 0 };

	if (s->told < ACTORS && !peal_link_push(&s->loop.input, header,
						&s->number, sizeof(s->number)))
		s->told++;
	return look(&s->loop.kernel.status[0].handled) ==
	       (s->number + 1) * ACTORS;
}

static int controls_done(const struct spawn_scene *s)
{
	return look(&s->loop.kernel.status[0].control_done) == s->loop.controls;
}

static void next_number(struct spawn_scene *s, enum spawn_step step)
{
	s->step = step;
	s->told = 0;
	if (++s->number == SPAWNS)
		set(&s->loop.kernel.control->stop, PEAL_STOP_STOP);
}

/* After a number that the host has written, it writes the next one, too. */
static void end_number(struct spawn_scene *s)
{
	if (s->number % 2 == 0) {
		next_number(s, SPAWN_SUSPEND);
		set(&s->loop.kernel.control->suspend, 1);
		return;
	}
	control_actors(s, PEAL_CONTROL_RETIRE);
	s->step = SPAWN_AWAIT;
}

static void resume(struct spawn_scene *s)
{
	if (!all_in(&s->loop, PEAL_WORKER_SUSPENDED))
		return;
	write_states(s);
	set(&s->loop.kernel.control->suspend, 0);
	s->step = SPAWN_TELL;
}

static int spawn_step(void *context)
{
	struct spawn_scene *s = context;

	if (s->number == SPAWNS)
		return 1;
	if (s->step == SPAWN_MAKE) {
		write_states(s);
		control_actors(s, PEAL_CONTROL_SPAWN);
		s->step = SPAWN_TELL;
	} else if (s->step == SPAWN_TELL) {
		if (controls_done(s) && tell_actors(s))
			s->step = SPAWN_END;
	} else if (s->step == SPAWN_END) {
		end_number(s);
	} else if (s->step == SPAWN_SUSPEND) {
		resume(s);
	} else if (controls_done(s)) {
		next_number(s, SPAWN_MAKE);
	}
	return 1;
}

static void loop_spawns(struct plant_run *run)
{
	struct spawn_scene s;

	memset(&s, 0, sizeof(s));
	make_kernel(&s.loop, run);
	s.states = cost_alloc(PTX_MEMORY_GLOBAL, 8 * ACTORS * LOOP_STATE_WORDS);
	s.loop.input = scene_input(&s.loop.kernel, 0, PTX_MEMORY_HOST);
	s.loop.controls = 1;
	run_kernel(&s.loop, spawn_step);
	if (!run->found && s.loop.kernel.status[0].failed)
		wrong(&s.loop, "a handler that failed");
	if (!run->found && !all_in(&s.loop, PEAL_WORKER_STOPPED))
		wrong(&s.loop, "a wrong last phase");
}

/* ---- lanes that fail ------------------------------------------------------ */

static int spoil_step(void *context)
{
	struct loop_scene *s = context;
	uint64_t number = s->sent;

	if (s->sent <= LOOP_SPOILED &&
	    !peal_link_push(&s->input, (struct peal_header){ 0, 7, 0 }, &number,
			    sizeof(number)))
		s->sent++;
	if (look(s->state))
		set(&s->kernel.control->stop, PEAL_STOP_ABORT);
	return !s->run->found;
}

static void loop_spoils(struct plant_run *run)
{
	struct loop_scene s;

	make_kernel(&s, run);
	s.state = cost_alloc(PTX_MEMORY_HOST, sizeof(*s.state));
	s.kernel.actor[0].location = PEAL_ENTRY(0, 0, LOOP_SPOIL);
	s.kernel.actor[0].state = (uintptr_t)s.state;
	s.input = scene_input(&s.kernel, 0, PTX_MEMORY_HOST);
	run_kernel(&s, spoil_step);
	if (!run->found &&
	    s.input.counts->dead[PEAL_REASON_HANDLER] != LOOP_SPOILED / 2)
		plant_found(run, "content", "%llu of %u messages have failed",
			    (unsigned long long)
				    s.input.counts->dead[PEAL_REASON_HANDLER],
			    LOOP_SPOILED / 2);
	if (!run->found && !all_in(&s, PEAL_WORKER_STOPPED))
		wrong(&s, "a wrong last phase");
}

const struct plant_scene plant_loop_scenes[] = {
	{ "loop that stops", "loop", loop_stops },
	{ "loop that drains", "loop", loop_drains },
	{ "loop with epochs", "loop", loop_epochs },
	{ "barrier and event in handlers", "loop", loop_meets },
	{ "actors that the host makes", "loop", loop_spawns },
	{ "lanes that fail", "loop", loop_spoils },
};
const uint32_t plant_n_loop_scenes =
	sizeof(plant_loop_scenes) / sizeof(*plant_loop_scenes);
