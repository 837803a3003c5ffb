/* SPDX-License-Identifier: Apache-2.0 */
/* Actors that migrate and send to each other. */
#include <peal/device/kernel.h>

#include "../guest.h"

#define HANDLERS(X)                                                            \
	X(player, sizeof(struct player), PEAL_TELLS(1))                        \
	X(gossip, sizeof(struct player), PEAL_TELLS(2))
PEAL_HANDLERS(HANDLERS);

/* Passes the ball on. */
static PEAL_DEV int player(struct peal_worker *w)
{
	struct player *p = (struct player *)peal_state(w);
	struct ball b = *(const struct ball *)peal_data(w);
	uint64_t *next = &p->next[b.sender % BALL_SENDERS][b.hops % BALL_HOPS];

	if (peal_is_leader(w)) {
		p->balls++;
		p->disorder += b.number != *next;
		*next = b.number + 1;
	}
	if (!b.hops--)
		return 0;
	return peal_tell(w, (uint32_t)p->partner, GUEST_BALL, &b, sizeof(b), 0);
}

/* Tells its partner about each ball, and itself the ball with a hop less. */
static PEAL_DEV int gossip(struct peal_worker *w)
{
	struct player *p = (struct player *)peal_state(w);
	struct ball b = *(const struct ball *)peal_data(w), news = { 0, 0, 0 };
	int result;

	news.number = p->balls;
	result = peal_tell(w, (uint32_t)p->partner, GUEST_BALL, &news,
			   sizeof(news), 0);
	if (peal_is_leader(w))
		p->balls++;
	if (result || !b.hops--)
		return result;
	return peal_tell(w, peal_self(w), GUEST_BALL, &b, sizeof(b), 0);
}

PEAL_PROGRAM(players, HANDLERS);
