/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The handlers of 15_timers.c. A peer sends beats by a periodic timer. The
 * watcher has a timeout for each peer. It fires if the peer is silent for
 * PATIENCE_NS.
 */
#include <peal/device/kernel.h>

#include "../heartbeat.h"

#define TIMEOUT_NS 50000000

struct peer {
	struct peal_timer timer;
};

/* Starts or stops the beats, as the message says. */
static PEAL_DEV int peer(struct peal_worker *w)
{
	struct peer *self = (struct peer *)peal_state(w);
	const struct begin *in = begin_data(w);
	struct peal_send_options options = PEAL_SEND_OPTIONS;
	struct peal_timer timer = { 0, 0, 0 };
	struct beat beat = { 0, 0 };
	int result;

	if (!in)
		return PEAL_EPROTO;
	result = peal_timer_cancel(w, self->timer);
	if (result == PEAL_ENOENT)
		result = 0; /* there was no timer */
	beat.peer = in->peer;
	options.period_ns = in->period_ns;
	options.timer_out = &timer;
	if (!result && in->period_ns)
		result = beat_tell(w, in->watcher, &beat, &options);
	if (peal_is_leader(w))
		self->timer = timer;
	return result;
}

/* The watcher's data of a peer. */
struct watched {
	struct peal_timer timer;
	uint64_t beats;
	uint32_t silent, reserved;
};

/*
 * Handles a beat: restarts the timeout of its peer. Reports a peer that was
 * silent.
 */
static PEAL_DEV int heard_of(struct peal_worker *w, struct watched *peers,
			     uint32_t number)
{
	struct watched *p = &peers[number];
	struct late late = { p->beats + 1, number, 0 };
	struct report report = { number, 0 };
	struct peal_send_options options = PEAL_SEND_OPTIONS;
	struct peal_timer timer = { 0, 0, 0 };
	int was_silent = p->silent || !p->beats, result;

	/*
	 * If the timeout has fired already, its message has an older count of
	 * beats. The watcher then ignores it.
	 */
	peal_timer_cancel(w, p->timer);
	options.delay_ns = TIMEOUT_NS;
	options.timer_out = &timer;
	result = late_tell(w, peal_self(w), &late, &options);
	if (peal_is_leader(w)) {
		p->timer = timer;
		p->beats++;
		p->silent = 0;
	}
	if (!result && was_silent)
		result = report_emit(w, 0, &report, 0);
	return result;
}

/* Handles the beats of all peers, and the timeouts that it has set. */
static PEAL_DEV int watcher(struct peal_worker *w)
{
	struct watched *peers = (struct watched *)peal_state(w);
	const struct beat *beat = beat_data(w);
	const struct late *late = late_data(w);
	struct report report = { 0, 1 };

	if (beat && beat->peer < PEERS)
		return heard_of(w, peers, beat->peer);
	if (!late || late->peer >= PEERS)
		return PEAL_EPROTO;
	if (peers[late->peer].beats != late->beats)
		return 0; /* a beat has arrived since */
	/* all lanes have read the state before the leader writes */
	peal_sync(w);
	if (peal_is_leader(w))
		peers[late->peer].silent = 1;
	report.peer = late->peer;
	return report_emit(w, 0, &report, 0);
}

#define HANDLERS(X)                                                            \
	X(peer, sizeof(struct peer), PEAL_SINK)                                \
	X(watcher, PEERS * sizeof(struct watched), PEAL_EMITS(1, 1))
PEAL_PROGRAM(heartbeat, HANDLERS);
