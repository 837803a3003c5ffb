/* SPDX-License-Identifier: Apache-2.0 */
/* Actors of one handler in a row. Each tells random actors of the row. */
#include <peal/device/kernel.h>

#include "../full_mailbox.h"

/* Tells a random actor of the row. The type counts the hops that are left. */
static PEAL_DEV int random_hop(struct peal_worker *w)
{
	struct row_actor *s = (struct row_actor *)peal_state(w);
	uint64_t at = *(const uint64_t *)peal_data(w);

	if (peal_is_leader(w))
		s->seen++;
	if (!peal_type(w))
		return 0;
	at = at * 6364136223846793005ULL + 1442695040888963407ULL;
	return peal_tell(w, (uint32_t)((at >> 33) % s->next),
			 (uint16_t)(peal_type(w) - 1), &at, sizeof(at), 0);
}

/* As `random_hop`, but declares three tells. */
static PEAL_DEV int wander(struct peal_worker *w)
{
	return random_hop(w);
}

/* Tells two actors of the row with type 0: they tell no other actor. */
static PEAL_DEV int split(struct peal_worker *w)
{
	struct row_actor *s = (struct row_actor *)peal_state(w);
	uint64_t at = *(const uint64_t *)peal_data(w);
	int result;

	if (peal_is_leader(w))
		s->seen++;
	if (!peal_type(w))
		return 0;
	result = peal_tell(w, (uint32_t)(at % s->next), 0, &at, sizeof(at), 0);
	if (result)
		return result;
	return peal_tell(w, (uint32_t)(at / 8 % s->next), 0, &at, sizeof(at),
			 0);
}

/* As `random_hop`. One step in 16 also tells ROW_SHED actors with type 0. */
static PEAL_DEV int shed(struct peal_worker *w)
{
	struct row_actor *s = (struct row_actor *)peal_state(w);
	uint64_t at = *(const uint64_t *)peal_data(w);
	uint32_t i;
	int result = random_hop(w);

	for (i = 0; i < ROW_SHED && !result && peal_type(w) && at >> 60 == 5;
	     i++)
		result = peal_tell(w, (uint32_t)((at >> (20 + i)) % s->next), 0,
				   &at, sizeof(at), 0);
	return result;
}

#define HANDLERS(X)                                                            \
	X(random_hop, sizeof(struct row_actor), PEAL_TELLS(1))                 \
	X(wander, sizeof(struct row_actor), PEAL_TELLS(3))                     \
	X(shed, sizeof(struct row_actor), PEAL_TELLS(1 + ROW_SHED))            \
	X(split, sizeof(struct row_actor), PEAL_TELLS(2))
PEAL_PROGRAM(cross_traffic, HANDLERS);
