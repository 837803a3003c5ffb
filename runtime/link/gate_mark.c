/* SPDX-License-Identifier: Apache-2.0 */
/* Endpoints: GATE marks before messages that wait for an event. */
#include <peal/device/link_producer.h>
#include "runtime/device/devices.h"
#include "runtime/link/endpoint.h"
#include "runtime/link/link.h"
#include "runtime/runtime.h"

/* Writes a GATE mark, and notes its place. Returns 0, or PEAL_EAGAIN without a
 * free slot or with too many closed gates in the link. */
static int put_mark(struct peal_endpoint *e, struct peali_endpoint_port *p,
		    int device, uint64_t gate)
{
	struct peali_gate_mark *m = &p->mark[p->n_marks % PEALI_GATE_MARKS];
	int result;

	if (peali_gate_is_closed(&e->rt->devices, device,
				 atomic_load(&m->gate)))
		return PEAL_EAGAIN;
	atomic_store(&m->gate, 0);
	atomic_store(&m->accepted, peali_link_accepted(&p->producer));
	atomic_store(&m->gate, gate); /* before the messages behind it */
	result = peali_link_push_mark(&p->producer, PEAL_KIND_GATE,
				      (uint32_t)gate);
	if (result)
		atomic_store(&m->gate, 0);
	else
		p->n_marks++;
	return result;
}

uint64_t peali_endpoint_before_gate(const struct peal_link *link, uint64_t n,
				    uint64_t gate)
{
	const struct peali_endpoint_port *p;
	uint32_t i;

	if (!link->from.endpoint || !link->to.kernel || gate == UINT64_MAX)
		return n;
	p = &link->from.endpoint->ports[link->from_port];
	for (i = 0; i < PEALI_GATE_MARKS; i++) {
		uint64_t number = atomic_load(&p->mark[i].gate);
		uint64_t before = atomic_load(&p->mark[i].accepted);

		if (number > gate && before < n &&
		    number == atomic_load(&p->mark[i].gate) &&
		    peali_gate_is_closed(&link->rt->devices, link->to.device,
					 number))
			n = before;
	}
	return n;
}

int peali_endpoint_meet_gate(struct peal_endpoint *e,
			     struct peali_endpoint_port *p,
			     const struct peal_link *link)
{
	const struct peali_devices *devices = &e->rt->devices;
	uint64_t made = atomic_load(&devices->gates_made), gate = 0;
	int result = 0;

	if (link->to.kernel && !e->passes_gates)
		gate = peali_gate_of(devices, link->to.device);
	if (gate > p->gate)
		result = put_mark(e, p, link->to.device, gate);
	if (result)
		return result;
	p->gate = gate > p->gate ? gate : p->gate;
	p->gates_seen = made;
	return 0;
}
