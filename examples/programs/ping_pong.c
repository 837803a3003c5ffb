/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The handlers of 02_ping_pong.c. `server` sends a counter to `returner`, which
 * increments it and sends it back. After the last round trip `server` sends the
 * counter to the host.
 */
#include <peal/device/kernel.h>

struct server {
	uint64_t until; /* number of round trips */
};

/* Port 0 leads to the returner, port 1 to the host. Type 1 starts a game. */
static PEAL_DEV int server(struct peal_worker *w)
{
	struct server *s = (struct server *)peal_state(w);
	uint64_t value = *(const uint64_t *)peal_data(w);

	if (peal_type(w) == 1) {
		if (peal_is_leader(w))
			s->until = value;
		value = 0;
		return peal_emit(w, 0, 0, &value, sizeof(value), 0);
	}
	return peal_emit(w, value >= s->until ? 1 : 0, 0, &value, sizeof(value),
			 0);
}

static PEAL_DEV int returner(struct peal_worker *w)
{
	uint64_t value = *(const uint64_t *)peal_data(w) + 1;

	return peal_emit(w, 0, 0, &value, sizeof(value), 0);
}

#define HANDLERS(X)                                                            \
	X(server, sizeof(struct server), PEAL_EMITS(2, 1))                     \
	X(returner, 0, PEAL_EMITS(1, 1))
PEAL_PROGRAM(ping_pong, HANDLERS);
