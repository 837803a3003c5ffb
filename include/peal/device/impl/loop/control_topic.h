/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_DEVICE_CONTROL_TOPIC_H
#define PEAL_DEVICE_CONTROL_TOPIC_H

#include <peal/device/impl/worker/mail.h>

/* Control messages that make an input or a port a topic's; see control.h. */

/* One of those: PEAL_CONTROL_SUBSCRIBE, _PUBLISH, _FORGET. */
static PEAL_DEV PEAL_UNUSED inline int
peali_control_topic(struct peal_worker *w, uint32_t type,
		    const struct peal_topic_view *view)
{
	struct peal_input *in = &w->inputs[view->index];
	struct peal_output *o = &w->outputs[view->index];
	int result;

	if (!PEALI_USES(TOPICS))
		return PEAL_ENOTSUP;
	if (view->index >= (type == PEAL_CONTROL_SUBSCRIBE ?
				    w->params->max_inputs :
				    PEAL_PORTS_FIRST + w->params->max_ports))
		return PEAL_EINVAL;
	if (type == PEAL_CONTROL_SUBSCRIBE) {
		in->topic = (struct peal_subscription *)(uintptr_t)view->own;
		result = peali_subscribe_begin(&in->link, in->topic, view);
		if (!result) {
			peali_input_begins(w, view->index);
			peali_input_set_priority(w, view->index,
						 view->priority);
		}
		return result;
	}
	if (type == PEAL_CONTROL_PUBLISH) {
		o->topic = (struct peal_publication *)(uintptr_t)view->own;
		peali_publish_begin(&o->link, o->topic, view);
		peali_port_begins(w, view->index);
	} else if (peali_is_topic(o->link.state)) {
		/* as its supervisor: see peal_topic_leave */
		peal_store_release_dev(&peali_topic_cursor(o->topic->topic,
							   view->cursor)
						->active,
				       0);
	}
	return 0;
}

#endif
