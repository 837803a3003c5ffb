/* SPDX-License-Identifier: Apache-2.0 */
/* Handlers that the runtime's tests share. */
#include <peal/device/kernel.h>

#include "../gate.h"
#include "../relay.h"

/* Passes every message on, unchanged. */
static PEAL_DEV int echo(struct peal_worker *w)
{
	return peal_emit(w, 0, peal_type(w), peal_data(w), peal_length(w), 0);
}

/* Checks the identity and order of messages, and counts them in its state. */
static PEAL_DEV int sink(struct peal_worker *w)
{
	struct relay_sink *s = (struct relay_sink *)peal_state(w);
	const struct relay_message *m =
		(const struct relay_message *)peal_data(w);

	if (!peal_is_leader(w))
		return 0;
	s->missed += peal_missed(w);
	if (peal_length(w) < sizeof(*m) ||
	    m->check != relay_check(m->producer, m->sequence))
		s->damaged++;
	else if (m->sequence != s->next + peal_missed(w))
		s->misordered++;
	s->next = m->sequence + 1;
	s->received++;
	if (s->epoch_began_ns != w->state->epoch.began_ns) {
		s->epoch_began_ns = w->state->epoch.began_ns;
		s->epochs++;
	}
	return 0;
}

/* Counts messages, and messages with slots in the cluster's memory. */
static PEAL_DEV int nearby(struct peal_worker *w)
{
	struct relay_nearby *s = (struct relay_nearby *)peal_state(w);

	if (!peal_is_leader(w))
		return 0;
	s->received++;
#if PEAL_HAVE_CLUSTERS
	if (w->params->cluster_workers)
		s->in_cluster +=
			(uint64_t)(w->inputs[w->message.input].link.slots -
				   (uint8_t *)peali_cluster_own(w)) <
			w->params->cluster_bytes;
#endif
	return 0;
}

/* Emits `count` numbered messages for one order, RELAY_BURST in a run. */
static PEAL_DEV int burst(struct peal_worker *w)
{
	const struct relay_order *order =
		(const struct relay_order *)peal_data(w);
	struct relay_source *s = (struct relay_source *)peal_state(w);
	struct relay_message m;
	uint64_t i;

	for (i = 0; i < RELAY_BURST && s->sent < order->count; i++) {
		m.producer = order->producer;
		m.sequence = s->sent;
		m.check = relay_check(m.producer, m.sequence);
		if (peal_emit(w, 0, 0, &m, sizeof(m), 0))
			return PEAL_EHANDLER;
		peal_sync(w);
		if (peal_is_leader(w))
			s->sent++;
		peal_sync(w);
	}
	if (s->sent < order->count) /* port 1 leads to this actor: it goes on */
		return peal_emit(w, 1, 0, order, sizeof(*order), 0);
	return 0;
}

/* Fails on type 1. On type 2 waits until the kernel is aborted. */
static PEAL_DEV int moody(struct peal_worker *w)
{
	if (peal_type(w) == 1)
		return PEAL_EHANDLER;
	if (peal_type(w) == 2)
		while (!peal_aborting(w))
			gate_pause();
	return 0;
}

/* Waits until its word is not 0. Type 1 ignores an abort of the kernel. */
static PEAL_DEV int gate(struct peal_worker *w)
{
	const struct relay_gate *in = (const struct relay_gate *)peal_data(w);
	struct relay_gates *s = (struct relay_gates *)peal_state(w);
	const uint64_t *word = (const uint64_t *)(uintptr_t)in->word;

	while (!peal_load_acquire_sys(word) &&
	       (peal_type(w) == 1 || !peal_aborting(w)))
		gate_pause();
	if (peal_is_leader(w))
		s->passed++;
	return 0;
}

/* Counts the message, and tells the next actor while hops are left. */
static PEAL_DEV int hop(struct peal_worker *w)
{
	const struct relay_hop *in = (const struct relay_hop *)peal_data(w);
	struct relay_hops *s = (struct relay_hops *)peal_state(w);
	struct relay_hop out = *in;
	int result;

	if (peal_is_leader(w))
		s->seen++;
	if (in->left == 0)
		return 0;
	out.left--;
	result = peal_tell(w, (peal_self(w) + 1) % in->actors, 0, &out,
			   sizeof(out), 0);
	if (peal_is_leader(w))
		s->result = result;
	return result;
}

/* Tells actor 0 each message. */
static PEAL_DEV int forward(struct peal_worker *w)
{
	return peal_tell(w, 0, peal_type(w), peal_data(w), peal_length(w), 0);
}

/* Returns the worker of actor 0. */
static PEAL_DEV uint32_t receiver(struct peal_worker *w)
{
	const struct peal_actor_entry *entry =
		(const struct peal_actor_entry *)(uintptr_t)w->params->actors;

	return PEAL_ENTRY_WORKER(entry->location);
}

/* Control words and parameters by which `die` makes its worker end. */
struct death {
	struct peal_kernel_control control;
	struct peal_kernel_params params;
};

/*
 * Takes the ticket of a message to actor 0, then ends its worker before the
 * message is written. The worker finds that its lease has expired. For type 1
 * it finds a request to stop. Works with one lane only.
 */
static PEAL_DEV int die(struct peal_worker *w)
{
	struct death *d = (struct death *)peal_state(w);

	if (!w->state->mail.lease.granted)
		return PEAL_EHANDLER;
	peali_mail_ticket(w, receiver(w), &w->state->mail.lease);
	d->params = *w->params;
	d->params.lease_ns = 4;
	d->control.stop = peal_type(w) == 1 ? PEAL_STOP_STOP : PEAL_STOP_NONE;
	w->params = &d->params;
	w->control = &d->control;
	return 0;
}

/* Tells actor 0 in steps: takes a ticket, waits for a word, writes. */
static PEAL_DEV int linger(struct peal_worker *w)
{
	const struct relay_linger *in =
		(const struct relay_linger *)peal_data(w);
	const uint64_t *word = (const uint64_t *)(uintptr_t)in->gate.word;
	struct peal_header header = { 0, 0, 0 };
	uint64_t number;

	if (!w->state->mail.lease.granted)
		return PEAL_EHANDLER;
	number = peali_mail_ticket(w, receiver(w), &w->state->mail.lease);
	while (!peal_load_acquire_sys(word) && !peal_aborting(w))
		gate_pause();
	header.type = (uint16_t)in->message.sequence;
	peali_mailbox_write(peali_mailbox(w, receiver(w)), number, header,
			    &in->message, sizeof(in->message));
	return 0;
}

/* Each message is one phase: arrive, wait, check that all have arrived. */
static PEAL_DEV int phase(struct peal_worker *w)
{
	struct relay_phases *s = (struct relay_phases *)peal_state(w);
	const struct relay_phase *m = (const struct relay_phase *)peal_data(w);
	uint64_t *words = (uint64_t *)(uintptr_t)m->words;
	uint32_t i;
	int result;

	/*
	 * Plain stores and loads: the barrier orders them. Phases alternate
	 * between two rows. A participant that has passed may write while
	 * others still read.
	 */
	words += (s->passed & 1) * RELAY_PHASE_MAX;
	if (peal_is_leader(w))
		words[m->self] = s->passed + 1;
	result = peal_barrier_arrive_lanes(w, 0);
	if (!result)
		result = peal_barrier_wait_lanes(w, 0, m->timeout_ns);
	if (!peal_is_leader(w))
		return 0;
	s->result = result;
	if (result)
		return 0;
	for (i = 0; i < m->participants; i++)
		s->early += words[i] != s->passed + 1;
	s->passed++;
	return 0;
}

/* Emits the result of each collective of lanes, for the test to check. */
static PEAL_DEV int lanes(struct peal_worker *w)
{
	uint32_t lane = peal_lane(w), n = peal_lanes(w);
	struct relay_lanes out;

	out.sum = peal_sum(w, lane);
	out.last = peal_shuffle(w, lane * 3, n - 1);
	out.leader = peal_broadcast(w, 77 + lane);
	out.any = (uint32_t)peal_vote_any(w, lane == n - 1);
	out.all = (uint32_t)peal_vote_all(w, lane < n);
	out.none = (uint32_t)peal_vote_all(w, lane == 0);
	out.elected = peal_elect(w, lane * 2 >= n);
	out.lanes = n;
	out.mixed = (uint32_t)peal_xor(w, lane + 1);
	return peal_emit(w, 0, 0, &out, sizeof(out), 0);
}

#define HANDLERS(X)                                                            \
	X(echo, 0, PEAL_EMITS(1, 1))                                           \
	X(sink, sizeof(struct relay_sink), PEAL_SINK)                          \
	X(nearby, sizeof(struct relay_nearby), PEAL_SINK)                      \
	X(burst, sizeof(struct relay_source), PEAL_EMITS(2, RELAY_BURST))      \
	X(moody, 0, PEAL_SINK)                                                 \
	X(gate, sizeof(struct relay_gates), PEAL_SINK)                         \
	X(hop, sizeof(struct relay_hops), PEAL_TELLS(1))                       \
	X(forward, 0, PEAL_TELLS(1))                                           \
	X(die, sizeof(struct death), PEAL_TELLS(1))                            \
	X(linger, 0, PEAL_TELLS(1))                                            \
	X(phase, sizeof(struct relay_phases), PEAL_SINK)                       \
	X(lanes, 0, PEAL_LIMITS(1, 1, 0, 0, sizeof(struct relay_lanes)))
PEAL_PROGRAM(relay, HANDLERS);
