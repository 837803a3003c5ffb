/* SPDX-License-Identifier: Apache-2.0 */
/* Actors of one handler in a row. Each tells random actors of the row. */
#include <peal/device/kernel.h>

#include "../room.h"

/* Tells a random actor of the row. The type counts the hops that are left. */
static PEAL_DEV int roam(struct peal_worker *w)
{
	struct room_actor *s = (struct room_actor *)peal_state(w);
	uint64_t at = *(const uint64_t *)peal_data(w);

	if (peal_is_leader(w))
		s->seen++;
	if (!peal_type(w))
		return 0;
	at = at * 6364136223846793005ULL + 1442695040888963407ULL;
	return peal_tell(w, (uint32_t)((at >> 33) % s->next),
			 (uint16_t)(peal_type(w) - 1), &at, sizeof(at));
}

/* As `roam`, but declares three tells. */
static PEAL_DEV int wander(struct peal_worker *w)
{
	return roam(w);
}

/* Tells two actors of the row with type 0: they tell no other actor. */
static PEAL_DEV int split(struct peal_worker *w)
{
	struct room_actor *s = (struct room_actor *)peal_state(w);
	uint64_t at = *(const uint64_t *)peal_data(w);
	int result;

	if (peal_is_leader(w))
		s->seen++;
	if (!peal_type(w))
		return 0;
	result = peal_tell(w, (uint32_t)(at % s->next), 0, &at, sizeof(at));
	if (result)
		return result;
	return peal_tell(w, (uint32_t)(at / 8 % s->next), 0, &at, sizeof(at));
}

/* As `roam`. One step in 16 also tells ROOM_SHED actors with type 0. */
static PEAL_DEV int shed(struct peal_worker *w)
{
	struct room_actor *s = (struct room_actor *)peal_state(w);
	uint64_t at = *(const uint64_t *)peal_data(w);
	uint32_t i;
	int result = roam(w);

	for (i = 0; i < ROOM_SHED && !result && peal_type(w) && at >> 60 == 5;
	     i++)
		result = peal_tell(w, (uint32_t)((at >> (20 + i)) % s->next), 0,
				   &at, sizeof(at));
	return result;
}

#define HANDLERS(X)                                                            \
	X(roam, sizeof(struct room_actor), PEAL_TELLS(1))                      \
	X(wander, sizeof(struct room_actor), PEAL_TELLS(3))                    \
	X(shed, sizeof(struct room_actor), PEAL_TELLS(1 + ROOM_SHED))          \
	X(split, sizeof(struct room_actor), PEAL_TELLS(2))
PEAL_PROGRAM(roam, HANDLERS);
