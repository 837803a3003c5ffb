/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Endpoints: the ends of a link hand-over at the host (link_handover.c). The
 * thread of peal_link_set_route stores the next ring and sets a flag. The
 * thread that sends or receives at the endpoint continues in that ring, and
 * clears the flag. So only this thread uses the producer or the consumer.
 */
#include <peal/device/link_consumer.h>
#include <peal/device/link_producer.h>
#include "runtime/link/endpoint.h"
#include "runtime/link/link.h"

void peali_endpoint_switch_port(struct peal_endpoint *e, uint32_t port,
				const struct peal_link_view *next)
{
	struct peali_endpoint_port *p = &e->ports[port];

	p->next = *next;
	atomic_store_explicit(&p->switches, 1, memory_order_release);
}

void peali_endpoint_next_ring(struct peal_endpoint *e, uint32_t input,
			      const struct peal_link_view *next)
{
	struct peali_endpoint_input *in = &e->inputs[input];

	if (next)
		in->next = *next;
	atomic_store_explicit(&in->has_next, next != NULL,
			      memory_order_release);
}

int peali_endpoint_seal(struct peali_endpoint_port *p)
{
	int result;

	if (!atomic_load_explicit(&p->switches, memory_order_acquire))
		return 0;
	result = peal_link_push_mark(&p->producer, PEAL_KIND_SEAL);
	if (result)
		return result;
	peal_link_producer_init(&p->producer, &p->next);
	/* release: later hand-overs write `next` */
	atomic_store_explicit(&p->switches, 0, memory_order_release);
	return 0;
}

int peali_endpoint_follow(struct peali_endpoint_input *in)
{
	if (!atomic_load_explicit(&in->has_next, memory_order_acquire))
		return peali_link_fail(&in->consumer);
	peal_link_release_mark(&in->consumer, PEAL_KIND_SEAL);
	peal_link_consumer_init(&in->consumer, &in->next);
	atomic_store_explicit(&in->has_next, 0, memory_order_release);
	return 0;
}

int peali_endpoint_hands_over(const struct peal_link *link)
{
	const struct peal_endpoint *from = link->from.endpoint;
	const struct peal_endpoint *to = link->to.endpoint;

	if (from &&
	    atomic_load_explicit(&from->ports[link->from.index].switches,
				 memory_order_acquire))
		return 1;
	return to && atomic_load_explicit(&to->inputs[link->to.index].has_next,
					  memory_order_acquire);
}

int peali_endpoint_has_ended(const struct peal_link *link)
{
	const struct peal_endpoint *from = link->from.endpoint;

	return from &&
	       atomic_load_explicit(&from->ports[link->from.index].ended,
				    memory_order_acquire);
}
