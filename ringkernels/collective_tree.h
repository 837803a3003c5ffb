/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_RINGKERNELS_COLLECTIVE_TREE_H
#define PEAL_RINGKERNELS_COLLECTIVE_TREE_H

/*
 * The tree, by the actor of the exchange. See programs/collective.c. A number
 * `v` is a place, counted from the root.
 */

#include "ringkernels/collective_exchange.h"

enum { UP = 1, DOWN = 2 };

/* Returns the place of v. */
static PEAL_DEV uint32_t behind(const struct peal_collective_plan *p,
				uint32_t v)
{
	v += p->root;
	return v < p->members ? v : v - p->members;
}

/* Returns 1 if v has a k-th child, v + 2^k. */
static PEAL_DEV int has_child(const struct peal_collective_plan *p, uint32_t v,
			      uint32_t k)
{
	return !(v & ((2u << k) - 1)) && v + (1u << k) < p->members;
}

/* Return 1 if messages go up, or down. */
static PEAL_DEV int goes_up(const struct peal_collective_plan *p)
{
	return p->kind != PEAL_BROADCAST;
}

static PEAL_DEV int goes_down(const struct peal_collective_plan *p)
{
	return p->kind != PEAL_REDUCE;
}

static PEAL_DEV void enter_tree(struct peal_worker *w, struct member *m,
				const struct peal_collective_plan *p)
{
	uint32_t v = way(p, p->root, m->init.place), k = 0;

	while (has_child(p, v, k))
		k++;
	enter(w, m, goes_up(p) ? k : v != 0);
}

/*
 * Reduces the member's own elements and those of its children to `to`. At the
 * root this ends the reduction.
 */
static PEAL_DEV void fold_children(struct peal_worker *w, struct exchange *e,
				   const struct peal_collective_plan *p,
				   uint32_t v, void *to)
{
	const void *before =
		(const void *)(uintptr_t)p->in[e->member.init.place];
	uint32_t k;

	if (!p->count)
		return;
	if (!has_child(p, v, 0))
		copy(w, p, to, before, p->count);
	for (k = 0; has_child(p, v, k); k++) {
		void *sum = has_child(p, v, k + 1) ? e->data[0] : to;

		if (!v && sum == to)
			fold_last(w, p, sum, before, e->data[1 + k], p->count);
		else
			fold(w, p, sum, before, e->data[1 + k], p->count);
		before = sum;
	}
}

static PEAL_DEV int send_down(struct peal_worker *w, const struct exchange *e,
			      const struct peal_collective_plan *p, uint32_t v,
			      const void *from)
{
	uint32_t k = 0;
	int result = 0;

	while (has_child(p, v, k))
		k++;
	while (k-- && !result) /* largest subtree first */
		result = send_to(w, e, p, behind(p, v + (1u << k)), DOWN, from,
				 p->count);
	return result;
}

/*
 * Collective: called once the host's BEGIN and all messages of children have
 * arrived. If nothing goes up, called once the parent's message has arrived.
 */
static PEAL_DEV int tree_ready(struct peal_worker *w, struct exchange *e,
			       const struct peal_collective_plan *p)
{
	uint32_t place = e->member.init.place, v = way(p, p->root, place);
	void *to = (void *)(uintptr_t)p->out[place];
	int result = 0;

	if (v && goes_up(p)) {
		uint32_t up = behind(p, v & (v - 1));

		result = reserve_to(w, e, p, up, UP, p->count, &to);
		if (result)
			return result;
		fold_children(w, e, p, v, to);
		commit_to(w, e, p, up, p->count);
		if (goes_down(p))
			return 0;
	} else if (!v) {
		if (goes_up(p))
			fold_children(w, e, p, v, to);
		else
			to = (void *)(uintptr_t)p->in[place];
		if (goes_down(p))
			result = send_down(w, e, p, v, to);
	}
	return result ? result : say_done(w, &e->member, p->members - 1, 0);
}

static PEAL_DEV int tree_data(struct peal_worker *w, struct exchange *e,
			      const struct peal_collective_plan *p,
			      const struct peal_member_head *head)
{
	uint32_t place = e->member.init.place, v = way(p, p->root, place);
	uint32_t k = 0;
	int result;

	if (peal_length(w) !=
	    sizeof(*head) + p->count * peal_element_bytes(p->element))
		return PEAL_EPROTO;
	if (head->hop == UP) {
		while (has_child(p, v, k) &&
		       head->owner != behind(p, v + (1u << k)))
			k++;
		if (!has_child(p, v, k))
			return PEAL_EPROTO;
		copy(w, p, e->data[1 + k], head + 1, p->count);
		return count(w, &e->member, 1, 0) ? tree_ready(w, e, p) : 0;
	}
	copy(w, p, (void *)(uintptr_t)p->out[place], head + 1, p->count);
	result = send_down(w, e, p, v, head + 1);
	if (result || (!goes_up(p) && !count(w, &e->member, 1, 0)))
		return result;
	return say_done(w, &e->member, p->members - 1, 0);
}

#endif
