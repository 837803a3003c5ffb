/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers of ends of links. */
#include "runtime/link/end_number.h"

#include <string.h>

#include "runtime/kernel/kernel.h"
#include "runtime/kernel/kernel_control.h"
#include "runtime/link/endpoint.h"
#include "runtime/link/reject_table.h"

/* Returns the word with the number of an end that can have one, or NULL. */
static uint16_t *number_of(const struct peali_link_end *end)
{
	if (end->endpoint)
		return &end->endpoint->end_number;
	if (!end->kernel || end->pool || end->dead_letters || end->fwd_link)
		return NULL;
	return &end->kernel->actors.entries[end->actor].end_number;
}

uint16_t peali_end_number(const struct peali_link_end *end)
{
	const uint16_t *number = number_of(end);

	if (end->endpoint && end->endpoint->reject_table)
		return (uint16_t)end->endpoint->reject_table->number;
	return number ? *number : 0;
}

/* ---- free numbers -------------------------------------------------------- */

#define NUMBERS ((uint32_t)PEAL_END_NUMBER_LAST + 1)

static void mark(struct peal_runtime *rt, uint32_t number)
{
	rt->end_numbers[number / 64] |= 1ULL << number % 64;
}

/* Marks the numbers of all ends that exist. Frees all others. */
static void sweep(struct peal_runtime *rt)
{
	const struct peal_endpoint *e;
	const struct peal_kernel *k;
	uint32_t i;

	memset(rt->end_numbers, 0, sizeof(rt->end_numbers));
	for (e = rt->endpoints; e; e = e->next)
		mark(rt, e->end_number);
	for (k = rt->kernels; k; k = k->next)
		for (i = 0; i < k->params.max_actors; i++)
			if (k->actors.entries[i].handler != PEAL_NO_HANDLER)
				mark(rt, k->actors.entries[i].end_number);
	rt->next_end_number = PEAL_END_NUMBER_FIRST;
}

/* Takes the next free number, up to the last one. Returns 0 if none is free. */
static uint32_t take_next(struct peal_runtime *rt)
{
	uint32_t n = rt->next_end_number;

	while (n < NUMBERS && rt->end_numbers[n / 64] >> n % 64 & 1)
		n++;
	rt->next_end_number = n + 1;
	if (n >= NUMBERS)
		return 0;
	mark(rt, n);
	return n;
}

/* Takes a number. A number returns only after all others were taken. So a late
 * message hardly meets a new end with the number of its sender. */
static uint32_t take(struct peal_runtime *rt)
{
	uint32_t n;

	if (!rt->next_end_number)
		rt->next_end_number = PEAL_END_NUMBER_FIRST;
	n = take_next(rt);
	if (n)
		return n;
	sweep(rt);
	return take_next(rt);
}

/* ---- giving -------------------------------------------------------------- */

/* Tells the receiver of a link the number of its sender. */
static int tell_number(const struct peal_link *link, uint16_t number,
		       const char *call)
{
	struct peal_link_view view;
	int result;

	if (!peali_link_end_is_live(&link->to))
		return 0;
	memset(&view, 0, sizeof(view));
	view.index = link->to.index;
	view.far_end = number;
	result = peali_kernel_tell(link->to.kernel, link->to.worker,
				   PEAL_CONTROL_FAR_END, &view, sizeof(view),
				   call);
	return result == PEAL_ESTOPPED ? 0 : result;
}

int peali_end_number_give(const struct peal_link *link, const char *call)
{
	const struct peali_link_end *end = &link->to;
	uint16_t *number = number_of(end);
	const struct peal_link *other;
	int result = 0;

	if (!link->from.kernel || link->from.dead_letters ||
	    link->from.fwd_link || !number || peali_end_number(end))
		return 0;
	*number = (uint16_t)take(link->rt);
	for (other = link->rt->links; other && *number && !result;
	     other = other->next)
		if (peali_end_number(&other->from) == *number)
			result = tell_number(other, *number, call);
	return result;
}
