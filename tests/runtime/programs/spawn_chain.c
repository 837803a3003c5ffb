/* SPDX-License-Identifier: Apache-2.0 */
/* Each message spawns a child, tells it, and retires the child before. */
#include <peal/device/kernel.h>

struct spawner {
	uint64_t last; /* 1 + the last child's number */
	uint64_t made;
};

struct child {
	uint64_t inits, messages;
};

#define HANDLERS(X)                                                            \
	X(spawner, sizeof(struct spawner), PEAL_TELLS(2))                      \
	X(child, sizeof(struct child), PEAL_WITH_HOOKS(PEAL_TELLS(1)))         \
	X(door, 0, PEAL_SINK)
PEAL_HANDLERS(HANDLERS);

static PEAL_DEV int spawner(struct peal_worker *w)
{
	struct spawner *b = (struct spawner *)peal_state(w);
	uint64_t last = b->last, word = 1;
	uint32_t child = 0;
	int result = peal_spawn(w, PEAL_HANDLER(child), 0, 0, 0, &child);

	if (!result)
		result = peal_tell(w, child, 1, &word, sizeof(word), 0);
	if (!result && last)
		result = peal_retire(w, (uint32_t)last - 1);
	peal_sync(w);
	if (peal_is_leader(w)) {
		b->last = 1 + (uint64_t)child;
		b->made += !result;
	}
	return result;
}

/* Fails if the init is not the first run, or runs twice. */
static PEAL_DEV int child(struct peal_worker *w)
{
	struct child *c = (struct child *)peal_state(w);
	int wrong = peal_is_init(w) ? c->inits != 0 : c->inits != 1;

	peal_sync(w);
	if (peal_is_leader(w)) {
		c->inits += peal_is_init(w) != 0;
		c->messages += !peal_is_init(w);
	}
	return wrong ? PEAL_EPROTO : 0;
}

static PEAL_DEV int door(struct peal_worker *w)
{
	(void)w;
	return 0;
}

PEAL_PROGRAM(spawn_chain, HANDLERS);
