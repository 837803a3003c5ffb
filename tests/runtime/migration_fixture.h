/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_TESTS_MIGRATION_FIXTURE_H
#define PEAL_TESTS_MIGRATION_FIXTURE_H

#include <peal/migration.h>
#include <peal/topic.h>

#include "runtime/both_lanes.h"
#include "runtime/guest.h"

/* A guest that migrates between three kernels on two devices. Links, tells,
 * timers and a topic send to it. */

PEAL_DECLARE_PROGRAM(guest);
PEAL_DECLARE_PROGRAM(pools);

#define KERNELS 3
#define DEVICES 2
#define WORKERS 2
#ifndef ACTORS /* a test may need more */
#define ACTORS 12
#endif
#define STATE ((sizeof(struct guest) + 15) / 16 * 16)
#define ID 0x1d1d1d1dULL

/* Senders of notes to the guest, and the ports by which the host drives
 * them. */
enum sender {
	BY_LINK, /* a link to the guest */
	BY_OTHER_LINK, /* a link to an actor of another worker */
	BY_TELL, /* a tell of a herald on worker 0, where the guest begins */
	BY_OTHER_TELL, /* a tell of a herald on worker 1 */
	BY_TIMER, /* a timer of a herald on worker 0 */
	BY_TOPIC,
	SENDERS
};

struct fixture {
	struct peal_runtime *rt;
	struct peal_endpoint *e;
	struct peal_kernel *k[KERNELS]; /* on devices 0, 1, 0 */
	uint64_t guest; /* its first address: kernel 0, worker 0 */
	uint64_t newest;
	uint64_t herald[SENDERS];
	uint64_t sent[SENDERS];
	uint64_t *gate; /* of the worker that open_hung() holds */
};

static const struct peal_link_options plain = { .capacity = 0 };

static inline void open_fixture(struct fixture *s)
{
	struct peal_kernel_options o = { .size = sizeof(o),
					 .workers = WORKERS,
					 .lanes = lanes,
					 .max_actors = ACTORS,
					 .max_ports = 4,
					 .arena_bytes = ACTORS * STATE,
					 .mailbox.slots = 16,
					 .max_timers = 256,
					 .max_supervisors = 1,
					 .max_asks = 4,
					 .max_monitors = 4 };
	int i;

	memset(s, 0, sizeof(*s));
	s->rt = harness_open(DEVICES, "");
	CHECK_OK(peal_program_add(s->rt, &peal_program_pools));
	s->e = harness_endpoint(s->rt);
	for (i = 0; i < KERNELS; i++)
		CHECK_OK(peal_kernel_launch(s->rt, i % DEVICES,
					    &peal_program_guest, &o, &s->k[i]));
}

static inline uint64_t spawn_with(struct peal_kernel *k, const char *handler,
				  uint32_t worker, uint64_t share_ports_with,
				  struct peal_supervisor *supervisor)
{
	struct guest init = { .id = ID };
	struct peal_actor_options o = { .size = sizeof(o),
					.worker = PEAL_WORKER(worker),
					.init = &init,
					.init_bytes = sizeof(init),
					.share_ports_with = share_ports_with,
					.supervisor = supervisor };
	uint64_t address = 0;

	CHECK_OK(peal_actor_spawn(k, handler, &o, &address));
	return address;
}

static inline uint64_t spawn(struct peal_kernel *k, const char *handler,
			     uint32_t worker)
{
	return spawn_with(k, handler, worker, 0, NULL);
}

static inline void spawn_herald(struct fixture *s, enum sender sender,
				uint32_t worker)
{
	struct herald init = { .guest = (uint32_t)s->guest, .sender = sender };
	struct peal_actor_options o = { .size = sizeof(o),
					.worker = PEAL_WORKER(worker),
					.init = &init,
					.init_bytes = sizeof(init) };

	CHECK_OK(peal_actor_spawn(s->k[0], "herald", &o, &s->herald[sender]));
	harness_from(s->rt, s->e, sender, s->herald[sender], plain);
}

/* Opens the street: the guest on worker 0 of kernel 0, and all senders. */
static inline void open_full(struct fixture *s)
{
	struct peal_topic_options t = { .size = sizeof(t) };
	uint64_t topic, crier;

	open_fixture(s);
	s->newest = s->guest = spawn(s->k[0], "guest", 0);
	harness_from(s->rt, s->e, BY_LINK, s->guest, plain);
	spawn_herald(s, BY_OTHER_LINK, 1);
	spawn_herald(s, BY_TELL, 0);
	spawn_herald(s, BY_OTHER_TELL, 1);
	spawn_herald(s, BY_TIMER, 0);
	CHECK_OK(peal_topic_create(s->rt, 0, &t, &topic));
	crier = harness_spawn(s->k[0], "crier", 1);
	CHECK_OK(peal_publish(s->rt, crier, 0, topic));
	CHECK_OK(peal_subscribe(s->rt, topic, s->guest, 0));
	harness_from(s->rt, s->e, BY_TOPIC, crier, plain);
}

/* Sends the next note of a sender, or orders a herald to send it. */
static inline void send_note(struct fixture *s, enum sender by)
{
	static const uint16_t types[SENDERS] = { GUEST_NOTE, GUEST_NOTE,
						 GUEST_TELL, GUEST_TELL,
						 GUEST_TIME, GUEST_NOTE };
	struct guest_note n = { .sender = by, .number = s->sent[by]++ };

	if (by == BY_OTHER_LINK)
		CHECK_OK(peal_send_to(s->e, by, s->guest, types[by], &n,
				      sizeof(n), MAX_WAIT, NULL));
	else
		CHECK_OK(peal_send(s->e, by, types[by], &n, sizeof(n), MAX_WAIT,
				   NULL));
}

static inline int move_to(struct fixture *s, uint64_t address, int kernel,
			  uint32_t worker, uint64_t share_ports_with)
{
	struct peal_migration_options o = { .size = sizeof(o),
					    .worker = PEAL_WORKER(worker),
					    .share_ports_with =
						    share_ports_with,
					    .kernel = s->k[kernel] };

	return peal_actor_migrate(s->rt, address, &o, &s->newest);
}

static inline uint64_t notes_sent(const struct fixture *s)
{
	uint64_t sum = 0;
	uint32_t i;

	for (i = 0; i < SENDERS; i++)
		sum += s->sent[i];
	return sum;
}

/* Waits until the guest has had all notes. Returns its state. The guest is in
 * `kernel`. Its workers run longer before each further look. */
static inline struct guest settle(struct fixture *s, uint64_t address,
				  int kernel)
{
	uint64_t until = harness_now_ns() + MAX_WAIT;
	unsigned pause_us = 0;
	struct guest g;

	do {
		identity_sleep_us(pause_us);
		pause_us = pause_us < 50000 ? 2 * pause_us + 50 : pause_us;
		CHECK_OK(peal_kernel_suspend(s->k[kernel], MAX_WAIT));
		CHECK_OK(peal_actor_state(s->rt, address, &g, sizeof(g)));
		CHECK_OK(peal_kernel_resume(s->k[kernel]));
		CHECK(harness_now_ns() < until);
	} while (g.notes < notes_sent(s));
	return g;
}

static inline void close_fixture(struct fixture *s)
{
	int i;

	for (i = 0; i < KERNELS; i++)
		harness_stop_quiet(s->k[i]);
	harness_conserved(s->rt);
	CHECK_OK(peal_runtime_shutdown(s->rt));
}

#endif
