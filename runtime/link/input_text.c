/* SPDX-License-Identifier: Apache-2.0 */
/* Describes inputs and ports in texts about kernels that do not end. */
#include "runtime/link/input_text.h"

#include "runtime/base/text.h"
#include "runtime/kernel/kernel.h"
#include "runtime/link/endpoint.h"
#include "runtime/link/link.h"
#include "runtime/link/remote.h"
#include "runtime/link/topic.h"

/* Returns 1 if a link is an input of the worker, and its sender may end it. */
static int is_open_link(struct peal_link *link, const struct peal_kernel *k,
			uint32_t worker)
{
	struct peal_link_info info;

	if (link->to.kernel != k || link->to.worker != worker ||
	    link->from.kernel == k || atomic_load(&link->sender_gone) ||
	    atomic_load(&link->receiver_gone))
		return 0;
	peal_link_info(link, &info);
	return !info.ended;
}

static void describe_link(const struct peal_link *link, char *text)
{
	const struct peal_kernel *from = link->from.kernel;

	peali_text_format(text, PEALI_INPUT_TEXT_BYTES,
			  "link %llu from '%s' port %u%s",
			  (unsigned long long)link->id,
			  from		      ? from->name :
			  link->from.endpoint ? link->from.endpoint->name :
						"another process",
			  link->from_port,
			  from && (from->draining || from->stopping) ?
				  ", which has not ended either" :
				  "");
}

/* Returns 1 if a topic is an input of the worker, and has not ended. */
static int is_open_topic(const struct peali_topic *t,
			 const struct peal_kernel *k, uint32_t worker)
{
	struct peal_subscriber_info info;
	uint32_t i;

	for (i = 0; i < t->spec.n_subscribers; i++) {
		const struct peali_link_end *end = &t->subscribers[i].end;

		if (end->kernel != k || end->worker != worker)
			continue;
		peali_subscriber_read(t, i, &info);
		if (!info.ended && !info.gone)
			return 1;
	}
	return 0;
}

static void describe_topic(const struct peali_topic *t, char *text)
{
	if (t->publisher.kernel)
		peali_text_format(text, PEALI_INPUT_TEXT_BYTES,
				  "topic '%s', its publisher is in kernel '%s'",
				  t->name, t->publisher.kernel->name);
	else
		peali_text_format(text, PEALI_INPUT_TEXT_BYTES,
				  "topic '%s', which has no publisher; call "
				  "peal_unsubscribe",
				  t->name);
}

int peali_input_describe(const struct peal_kernel *k, uint32_t worker,
			 char text[PEALI_INPUT_TEXT_BYTES])
{
	const struct peali_topic *t;
	struct peal_link *link;

	for (link = k->rt->links; link; link = link->next)
		if (is_open_link(link, k, worker)) {
			describe_link(link, text);
			return 1;
		}
	for (t = k->rt->topics; t; t = t->next)
		if (is_open_topic(t, k, worker)) {
			describe_topic(t, text);
			return 1;
		}
	return 0;
}

const struct peal_link *peali_endpoint_lost(const struct peal_endpoint *e,
					    int error)
{
	uint32_t n = atomic_load(&e->n_inputs), i;
	const struct peal_link *link;

	for (i = 0; i < n; i++) {
		link = atomic_load(&e->inputs[i].link);
		if (link && e->inputs[i].done == error &&
		    peali_remote_error(link) == error)
			return link;
	}
	return NULL;
}
