/* SPDX-License-Identifier: Apache-2.0 */
/* The fast paths, one kernel each, for check_opcodes and check_amd_waits. */
#include <peal/device/kernel.h>
#include <peal/device/topic_subscriber.h>
#include <peal/device/work_consumer.h>

PEAL_KERNEL void fast_push(struct peal_link_producer *p, const void *data,
			   uint64_t bytes, int *out)
{
	struct peal_header header = { 1, 2, 0 };

	*out = peal_link_push(p, header, data, bytes);
}

PEAL_KERNEL void fast_peek(struct peal_link_consumer *c, struct peal_message *m,
			   int *out)
{
	*out = peal_link_peek(c, m);
}

PEAL_KERNEL void fast_release(struct peal_link_consumer *c,
			      const struct peal_message *m)
{
	peal_link_release(c, m);
}

PEAL_KERNEL void fast_put(struct peal_mailbox *m,
			  struct peal_mailbox_lease *lease, const void *data,
			  uint64_t bytes, int *out)
{
	struct peal_header header = { 1, 2, 0 };

	*out = peal_mailbox_put(m, lease, header, data, bytes);
}

PEAL_KERNEL void fast_take(struct peal_mailbox *m, struct peal_slot_view *view,
			   int *out)
{
	*out = peal_mailbox_peek(m, view);
	if (*out)
		peal_mailbox_release(m);
}

PEAL_KERNEL void fast_work_push(struct peal_work *q,
				struct peal_work_producer *p, const void *data,
				uint64_t bytes, int *out)
{
	struct peal_header header = { 1, 2, 0 };

	*out = peal_work_push(q, p, header, data, bytes);
}

PEAL_KERNEL void fast_work_pop(struct peal_work *q,
			       struct peal_work_consumer *c, void *to,
			       struct peal_work_received *got, int *out)
{
	*out = peal_work_pop_burst(q, c, to, 48, 32, got);
}

PEAL_KERNEL void fast_publish(struct peal_topic *t,
			      struct peal_topic_publisher *p, const void *data,
			      uint64_t bytes, int *out)
{
	struct peal_header header = { 0, 2, 0 };

	*out = peal_topic_publish(t, p, header, data, bytes);
}

PEAL_KERNEL void fast_topic_take(struct peal_topic *t,
				 struct peal_topic_subscriber *s, void *to,
				 struct peal_topic_received *got, int *out)
{
	*out = peal_topic_take_burst(t, s, to, 48, 32, got);
}

/* The resident loop with a handler that does nothing. */
static PEAL_DEV int nothing(struct peal_worker *w)
{
	(void)w;
	return 0;
}

#define POLL_HANDLERS(X) X(nothing, 0, PEAL_SINK)
PEAL_PROGRAM(poll, POLL_HANDLERS);

/* The resident loop with a handler that emits and tells a message. */
static PEAL_DEV int pass(struct peal_worker *w)
{
	int result = peal_emit(w, 0, peal_type(w), peal_data(w), 8, 0);

	return result ? result : peal_tell(w, 1, 2, peal_data(w), 8, 0);
}

#define PASS_HANDLERS(X) X(pass, 0, PEAL_LIMITS(1, 1, 1, 8, 8))
PEAL_PROGRAM(pass, PASS_HANDLERS);
